//! Values: what is read back is what was sent, whichever way it went.

use super::pg::{Pg, batch, failed, name, numbered, of, pairs, schema};
use data::{Schema, SchemaBuilder, Type, Value};
use sql::config::Pooler;
use sql::database::{Database, DbErrorKind};
use sql::table::{NewColumn, NewTable};
use sql::write::WriteMode;
use std::sync::Arc;
use testkit::Rng;

fn optional(builder: SchemaBuilder) -> Schema {
    builder.optional().build().expect("a sound schema")
}

fn arc(kind: Type) -> Arc<Schema> {
    Arc::new(of(kind))
}

/// A field of each type with a binary form.
fn scalars() -> Arc<Schema> {
    schema(&[
        ("id", of(Type::Int64)),
        ("i8", of(Type::Int8)),
        ("i16", of(Type::Int16)),
        ("i32", of(Type::Int32)),
        ("i64", of(Type::Int64)),
        ("f32", of(Type::Float32)),
        ("f64", of(Type::Float64)),
        ("flag", of(Type::Boolean)),
        ("s", of(Type::String)),
        ("b", of(Type::Bytes)),
        ("dec", optional(SchemaBuilder::decimal(2))),
        ("day", optional(SchemaBuilder::date())),
        ("tod", optional(SchemaBuilder::time())),
        ("at", optional(SchemaBuilder::timestamp())),
    ])
}

/// Fields that travel as text.
fn nested() -> Arc<Schema> {
    let inner = SchemaBuilder::array(arc(Type::Int32)).optional().build().expect("a sound schema");
    let member = SchemaBuilder::structure()
        .field("x", arc(Type::Int32))
        .field("t", arc(Type::String))
        .optional();
    schema(&[
        ("id", of(Type::Int64)),
        ("ints", optional(SchemaBuilder::array(arc(Type::Int32)))),
        ("texts", optional(SchemaBuilder::array(arc(Type::String)))),
        ("grid", optional(SchemaBuilder::array(Arc::new(inner)))),
        ("map", optional(SchemaBuilder::map(arc(Type::String), arc(Type::Float64)))),
        ("member", optional(member)),
    ])
}

fn text(rng: &mut Rng) -> String {
    const PARTS: [&str; 9] = ["a", "\t", "\n", "\\", "\\N", "\"", "'{},", "ü€😀", "null"];
    (0..rng.below(5)).map(|_| *rng.pick(&PARTS)).collect()
}

fn float(rng: &mut Rng) -> f64 {
    const ODD: [f64; 6] = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310];
    if rng.chance(20) { *rng.pick(&ODD) } else { (rng.next_u64() as i64) as f64 / 1e7 }
}

fn decimal(rng: &mut Rng) -> Value {
    let bytes = rng.below(12) as usize;
    let unscaled = (0..bytes).map(|_| rng.below(256) as u8).collect();
    Value::Decimal { unscaled, scale: 2 }
}

/// A random value of a schema; null every tenth time.
fn value(schema: &Schema, rng: &mut Rng) -> Value {
    if rng.chance(10) {
        return Value::Null;
    }
    let between = |rng: &mut Rng, low: i64, high: i64| {
        Value::int(low + rng.below((high - low) as u64) as i64)
    };
    match schema.logical() {
        data::Logical::Decimal(_) => return decimal(rng),
        data::Logical::Date => return between(rng, -800_000, 2_000_000),
        data::Logical::Time => return between(rng, 0, 86_400_000),
        data::Logical::Timestamp => {
            return between(rng, -62_000_000_000_000, 250_000_000_000_000);
        }
        data::Logical::None => {}
    }
    match schema.kind() {
        Type::Int8 => between(rng, -128, 128),
        Type::Int16 => between(rng, -32_768, 32_768),
        Type::Int32 => between(rng, i64::from(i32::MIN), 1 << 31),
        Type::Int64 => Value::int(rng.next_u64() as i64),
        Type::Float32 => Value::Float(f64::from(float(rng) as f32)),
        Type::Float64 => Value::Float(float(rng)),
        Type::Boolean => Value::Bool(rng.chance(50)),
        Type::String => Value::Text(text(rng)),
        Type::Bytes => Value::Bytes((0..rng.below(9)).map(|_| rng.below(256) as u8).collect()),
        Type::Array => list(schema, rng),
        Type::Map => {
            let items = schema.value_schema().expect("elements");
            let entry = |n| (Value::Text(format!("k{n}")), value(items, rng));
            Value::Map((0..3).map(entry).collect())
        }
        Type::Struct => {
            Value::fields(schema.fields().iter().map(|f| value(&f.schema, rng)).collect())
        }
    }
}

/// Arrays of arrays must be rectangular.
fn list(schema: &Schema, rng: &mut Rng) -> Value {
    let items = schema.value_schema().expect("elements");
    if items.kind() == Type::Array {
        let inner = items.value_schema().expect("elements");
        let row = |rng: &mut Rng| Value::List((0..3).map(|_| value(inner, rng)).collect());
        return Value::List((0..2).map(|_| row(rng)).collect());
    }
    Value::List((0..rng.below(4)).map(|_| value(items, rng)).collect())
}

fn rows(schema: &Arc<Schema>, count: i64, rng: &mut Rng) -> Vec<Vec<Value>> {
    let fields = schema.fields();
    (0..count)
        .map(|id| {
            let rest = fields.iter().skip(1).map(|f| value(&f.schema, rng));
            std::iter::once(Value::int(id)).chain(rest).collect()
        })
        .collect()
}

/// Makes the table of `schema` and writes `rows` in transactions of `len` rows; a digest of what the
/// server then has.
fn digest(pooler: Pooler, schema: &Arc<Schema>, rows: &[Vec<Value>], len: usize) -> String {
    let mut pg = Pg::with("", |s| s.pooler = pooler);
    let columns = schema.fields().iter().map(|f| NewColumn {
        name: f.name.to_string(),
        schema: Some(f.schema.clone()),
        nullable: true,
    });
    let new = NewTable {
        name: name("made"),
        columns: columns.collect(),
        primary_key: Vec::new(),
        updates_expected: false,
    };
    pg.database.create_table(&new).expect("it can be made");
    let plan = pg.plan("made", schema, WriteMode::Insert, &[]);
    for (n, part) in rows.chunks(len).enumerate() {
        pg.store(&plan, &batch(schema, (n * len) as i64, part.to_vec())).expect("it is stored");
    }
    pg.server
        .query("SELECT made::text FROM made ORDER BY id")
        .into_iter()
        .map(|row| row.into_iter().next().flatten().expect("a row") + "\n")
        .collect()
}

fn same_by_every_way(schema: &Arc<Schema>) {
    let mut rng = Rng::new(testkit::seed());
    let rows = rows(schema, 1200, &mut rng);
    let copied = digest(Pooler::None, schema, &rows, 1200);
    let text = digest(Pooler::Transaction, schema, &rows, 1200);
    let arrays = digest(Pooler::None, schema, &rows, 400);
    for (way, other) in [("COPY text", &text), ("arrays", &arrays)] {
        for (a, b) in copied.lines().zip(other.lines()) {
            assert_eq!(a, b, "{way}");
        }
        assert_eq!(copied.len(), other.len(), "{way}");
    }
}

#[test]
fn scalars_are_the_same_by_copy_binary_copy_text_and_arrays() {
    same_by_every_way(&scalars());
}

#[test]
fn nested_values_are_the_same_by_copy_and_arrays() {
    same_by_every_way(&nested());
}

#[test]
fn values_are_read_back_as_they_were() {
    let fields = scalars();
    let row = vec![
        Value::int(0),
        Value::int(-128),
        Value::int(32_767),
        Value::int(i64::from(i32::MIN)),
        Value::int(i64::MAX),
        Value::Float(f64::from(0.1f32)),
        Value::Float(0.1),
        Value::Bool(true),
        Value::Text("tab\tüni".to_owned()),
        Value::Bytes(vec![0, 255]),
        Value::Decimal { unscaled: vec![0xff, 0x38], scale: 2 },
        Value::int(-1),
        Value::int(86_399_999),
        Value::int(-1),
    ];
    let expect = "(0,-128,32767,-2147483648,9223372036854775807,0.1,0.1,t,\"tab\tüni\",\
                  \"\\\\x00ff\",-2.00,1969-12-31,23:59:59.999,\"1969-12-31 23:59:59.999+00\")\n";
    assert_eq!(digest(Pooler::None, &fields, &[row], 1), expect);
}

/// B059: an existing table with types of its own takes text through their input functions.
#[test]
fn existing_columns_of_every_kind_take_text() {
    let columns: [(&str, &str, &str); 20] = [
        ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("json", "{\"a\": 1}", "{\"a\": 1}"),
        ("jsonb", "{\"b\":1,\"a\":[true]}", "{\"a\": [true], \"b\": 1}"),
        ("mood", "happy", "happy"),
        ("inet", "10.0.0.1/8", "10.0.0.1/8"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/8"),
        ("macaddr", "08:00:2b:01:02:03", "08:00:2b:01:02:03"),
        ("numeric(10,3)", "12.5", "12.500"),
        ("timestamptz", "2024-01-01T12:00:00+02:00", "2024-01-01 10:00:00+00"),
        ("timestamp", "2024-01-01 12:00:00.5", "2024-01-01 12:00:00.5"),
        ("date", "2024-02-29", "2024-02-29"),
        ("time", "24:00:00", "24:00:00"),
        ("interval", "P1DT2H", "1 day 02:00:00"),
        ("int4range", "[1,5)", "[1,5)"),
        ("text[]", "{a,\"b c\",NULL}", "{a,\"b c\",NULL}"),
        ("integer[]", "{{1,2},{3,4}}", "{{1,2},{3,4}}"),
        ("tsvector", "a fat cat", "'a' 'cat' 'fat'"),
        ("xml", "<a>1</a>", "<a>1</a>"),
        ("positive", "7", "7"),
        ("bit(3)", "101", "101"),
    ];
    let definition: Vec<String> =
        columns.iter().enumerate().map(|(n, (kind, ..))| format!("c{n} {kind}")).collect();
    let sql = format!(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); \
         CREATE DOMAIN positive AS integer CHECK (VALUE > 0); CREATE TABLE kinds ({})",
        definition.join(", ")
    );
    let names: Vec<String> = (0..columns.len()).map(|n| format!("c{n}")).collect();
    let fields: Vec<(&str, Schema)> =
        names.iter().map(|n| (n.as_str(), of(Type::String))).collect();
    let fields = schema(&fields);
    let row: Vec<Value> = columns.iter().map(|c| Value::Text(c.1.to_owned())).collect();
    for len in [3usize, 1100] {
        let mut pg = Pg::new(&sql);
        let plan = pg.plan("kinds", &fields, WriteMode::Insert, &[]);
        pg.store(&plan, &batch(&fields, 0, vec![row.clone(); len])).unwrap();
        let seen = pg.server.query("SELECT * FROM kinds LIMIT 1").remove(0);
        for ((kind, _, expect), seen) in columns.iter().zip(seen) {
            assert_eq!(seen.as_deref(), Some(*expect), "{kind}");
        }
        assert_eq!(pg.count("kinds"), len as i64);
    }
}

#[test]
fn composite_columns_take_structs_by_field_name() {
    let place = SchemaBuilder::structure()
        .field("y", arc(Type::Int32))
        .field("x", arc(Type::String))
        .optional();
    let fields = schema(&[("id", of(Type::Int64)), ("at", optional(place))]);
    let row = |n: i64| {
        let members = vec![Value::int(n), Value::Text("a, \"b\" \\".to_owned())];
        vec![Value::int(n), Value::fields(members)]
    };
    for len in [2, 1000] {
        let mut pg = Pg::new(
            "CREATE DOMAIN word AS text; CREATE TYPE spot AS (x word, y numeric); \
             CREATE TABLE places (id bigint, at spot)",
        );
        let plan = pg.plan("places", &fields, WriteMode::Insert, &[]);
        pg.store(&plan, &batch(&fields, 0, (0..len).map(row).collect())).unwrap();
        let right = r#"SELECT count(*) FROM places
            WHERE (at).x = 'a, "b" \' AND (at).y = id"#;
        assert_eq!(pg.value(right), Some(len.to_string()));
    }
}

#[test]
fn a_value_the_column_refuses_is_the_rows_fault() {
    for (kind, bad, state) in [
        ("uuid", "no uuid", "22P02"),
        ("varchar(3)", "abcd", "22001"),
        ("numeric(3,1)", "123.4", "22003"),
        ("date", "2024-02-30", "22008"),
        ("positive", "-1", "23514"),
        ("short", "abcd", "22001"),
        ("mood", "angry", "22P02"),
        ("text NOT NULL", "", "23502"),
        ("char(2)", "abc", "22001"),
        ("bit(3)", "10", "22026"),
    ] {
        let sql = format!(
            "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN short AS varchar(3); \
             CREATE DOMAIN positive AS integer CHECK (VALUE > 0); \
             CREATE TABLE kinds (id bigint, v {kind})"
        );
        for (len, bad_row) in [(3usize, 1usize), (1100, 1050)] {
            let mut pg = Pg::new(&sql);
            let plan = pg.plan("kinds", &pairs(), WriteMode::Insert, &[]);
            let good = match kind {
                "uuid" => "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "date" => "2024-02-29",
                "mood" => "sad",
                "bit(3)" => "101",
                "text NOT NULL" => "x",
                _ => "1",
            };
            let row = |n: usize| {
                let text = if n == bad_row { bad } else { good };
                let null = n == bad_row && kind == "text NOT NULL";
                let v = if null { Value::Null } else { Value::Text(text.to_owned()) };
                vec![Value::int(n as i64), v]
            };
            let error = failed(pg.store(&plan, &batch(&pairs(), 0, (0..len).map(row).collect())));
            assert_eq!(error.kind, DbErrorKind::Data, "{kind} {len}: {error}");
            assert_eq!(error.sqlstate.as_deref(), Some(state), "{kind} {len}: {error}");
            if len >= 1000 {
                assert_eq!(error.location.map(|l| l.row), Some(bad_row), "{kind}: {error}");
            }
            assert_eq!(pg.count("kinds"), 0);
        }
    }
}

#[test]
fn a_nul_in_text_is_that_rows_fault_before_anything_is_sent() {
    let mut pg =
        Pg::new("CREATE TABLE pairs (id bigint, v text); CREATE TABLE docs (id bigint, v jsonb)");
    for (table, bad) in [("pairs", "a\0b"), ("docs", "{\"a\":\"\\u0000\"}")] {
        let plan = pg.plan(table, &pairs(), WriteMode::Insert, &[]);
        for len in [3i64, 1100] {
            let row = |n: i64| {
                let text = if n == 2 { bad } else { "1" };
                vec![Value::int(n), Value::Text(text.to_owned())]
            };
            let error = failed(pg.store(&plan, &batch(&pairs(), 0, (0..len).map(row).collect())));
            assert_eq!(error.kind, DbErrorKind::Data, "{error}");
            assert_eq!(error.location.map(|l| l.row), Some(2), "{table} {len}: {error}");
        }
        assert_eq!(pg.count(table), 0);
    }
    let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
    pg.store(&plan, &numbered(0, 5)).unwrap();
}

#[test]
fn a_record_of_fifty_megabytes_is_stored() {
    let large = "x".repeat(50 << 20);
    for len in [1usize, 1000] {
        let mut pg = Pg::new("CREATE TABLE pairs (id bigint, v text)");
        let plan = pg.plan("pairs", &pairs(), WriteMode::Insert, &[]);
        let row = |n: usize| {
            let v = if n == 0 { large.clone() } else { String::new() };
            vec![Value::int(n as i64), Value::Text(v)]
        };
        pg.store(&plan, &batch(&pairs(), 0, (0..len).map(row).collect())).unwrap();
        let length = pg.value("SELECT length(v) FROM pairs WHERE id = 0");
        assert_eq!(length, Some(large.len().to_string()));
    }
}
