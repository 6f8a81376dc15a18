//! Values on a real server: the text form and the binary form store the same, and what was meant.

use crate::wire::{open, patience};
use data::{Cell, Rows, Schema, SchemaBuilder, Type, Value, Width};
use sql::config::{BytesEncoding, DatabaseSettings};
use sql::postgres::value::{ColumnType, Encoder, ValueSettings};
use sql::postgres::wire::{Connection, Format, Pipeline};
use std::sync::Arc;

pub(crate) type Kind = Option<Arc<Schema>>;

fn kind(kind: Type) -> Kind {
    Some(Arc::new(Schema::new(kind)))
}

pub(crate) fn built(builder: SchemaBuilder) -> Kind {
    Some(Arc::new(builder.build().expect("the schema is complete")))
}

pub(crate) fn settings(base64: bool) -> Arc<ValueSettings> {
    let mut settings = DatabaseSettings::new("postgresql://localhost/x", "owner");
    if base64 {
        settings.bytes_encoding = BytesEncoding::Base64;
    }
    Arc::new(ValueSettings::new(&settings))
}

/// A column type as the catalogue describes it.
fn describe(c: &mut Connection, sql_type: &str) -> ColumnType {
    let rows = c
        .query_params(
            "SELECT t.oid, t.typname, t.typtype, e.oid, e.typname, e.typtype, t.typrelid \
             FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A' \
             WHERE t.oid = $1::regtype",
            &[Some(sql_type)],
            patience(),
        )
        .expect("the type can be looked up");
    let one = |from: usize| {
        let kind = rows.text(0, from + 2).and_then(|k| k.chars().next()).expect("a kind");
        let oid = rows.parsed(0, from).expect("an oid");
        ColumnType::scalar(oid, rows.text(0, from + 1).expect("a name"), kind)
    };
    let mut found = one(0);
    if rows.get(0, 3).is_some() {
        found.element = Some(Box::new(one(3)));
    }
    if found.kind == 'c' {
        let relation = rows.text(0, 6).map(str::to_owned);
        let attributes = c
            .query_params(
                "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute \
                 WHERE attrelid = $1::oid AND attnum > 0 ORDER BY attnum",
                &[relation.as_deref()],
                patience(),
            )
            .expect("the attributes can be looked up");
        for row in 0..attributes.len() {
            let text = |at| attributes.text(row, at).expect("a text").to_owned();
            found.attributes.push((text(0), describe(c, &text(1))));
        }
    }
    found
}

/// What the server shows after COPY of one value, in the text format or the binary one.
fn stored(
    c: &mut Connection,
    encoder: &Encoder,
    sql_type: &str,
    (cell, rows): (Cell, &Rows),
    format: Format,
) -> Result<Option<String>, String> {
    c.execute("DROP TABLE IF EXISTS v", patience()).expect("the table goes");
    c.execute(&format!("CREATE TABLE v (a {sql_type})"), patience()).expect("the table comes");
    let mut p = Pipeline::new();
    let binary = format == Format::Binary;
    p.query(if binary { "COPY v FROM STDIN (FORMAT binary)" } else { "COPY v FROM STDIN" });
    p.copy_row(|buf| {
        if binary {
            buf.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x01");
            encoder.copy_binary(cell, rows, buf)?;
            buf.extend_from_slice(&(-1i16).to_be_bytes());
        } else {
            encoder.copy_text(cell, rows, buf)?;
            buf.push(b'\n');
        }
        Ok(())
    })
    .map_err(|fault: sql::postgres::value::Fault| fault.message)?;
    p.copy_done();
    let reply = c.run(&mut p, patience()).expect("the connection lives");
    reply.check().map_err(|e| e.to_string())?;
    let rows = c.query_text("SELECT a::text FROM v", patience()).expect("it can be read");
    assert_eq!(rows.len(), 1);
    Ok(rows.text(0, 0).map(str::to_owned))
}

/// One value of a schema in a column of a type, and what the server must then show.
pub(crate) struct Case<'a> {
    pub(crate) schema: &'a Kind,
    pub(crate) value: Value,
    pub(crate) sql_type: &'a str,
    pub(crate) expect: Option<&'a str>,
}

pub(crate) fn check(c: &mut Connection, settings: &Arc<ValueSettings>, case: &Case<'_>) {
    let Case { schema, value, sql_type, expect } = case;
    let mut rows = Rows::default();
    let cell = rows.put_value(None, value);
    check_cell(c, settings, (schema, cell, &rows), sql_type, *expect);
}

fn check_cell(
    c: &mut Connection,
    settings: &Arc<ValueSettings>,
    (schema, cell, rows): (&Kind, Cell, &Rows),
    sql_type: &str,
    expect: Option<&str>,
) {
    let encoder = Encoder::new(schema.as_ref(), &describe(c, sql_type), settings);
    let accepted = encoder.accepts();
    assert!(accepted.is_ok(), "{cell:?} into {sql_type}: {accepted:?}");
    let text = stored(c, &encoder, sql_type, (cell, rows), Format::Text);
    assert_eq!(text.as_ref().map(|t| t.as_deref()), Ok(expect), "{cell:?} into {sql_type}");
    if encoder.has_binary() {
        let binary = stored(c, &encoder, sql_type, (cell, rows), Format::Binary);
        assert_eq!(binary, text, "{cell:?} into {sql_type}, binary");
    }
}

fn decimal(digits: &str) -> Value {
    let (unscaled, scale) = data::decimal_from_text(digits).expect("a decimal");
    Value::Decimal { unscaled, scale }
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

pub(crate) fn connection() -> (testkit::postgres::Database, Connection) {
    let database = testkit::postgres::database();
    let c = open(&database.url());
    (database, c)
}

#[test]
fn numbers_are_stored_as_they_are() {
    let (_database, mut c) = connection();
    let s = settings(false);
    let int = kind(Type::Int64);
    for v in [0, 1, -1, 12_345, -32_768, 32_767] {
        let shown = v.to_string();
        for to in ["int2", "int4", "int8", "numeric", "float4", "float8", "text", "json", "jsonb"] {
            check(
                &mut c,
                &s,
                &Case { schema: &int, value: Value::int(v), sql_type: to, expect: Some(&shown) },
            );
        }
    }
    for v in [i64::MIN, i64::MAX, 10_000, 99_999_999, 100_000_000_000] {
        let shown = v.to_string();
        for to in ["int8", "numeric", "varchar(30)", "jsonb"] {
            check(
                &mut c,
                &s,
                &Case { schema: &int, value: Value::int(v), sql_type: to, expect: Some(&shown) },
            );
        }
    }
    let double = kind(Type::Float64);
    let single = kind(Type::Float32);
    let boolean = kind(Type::Boolean);
    for (schema, value, to, expect) in [
        (&int, Value::int(1), "bool", "true"),
        (&int, Value::int(1), "bit(1)", "1"),
        (&int, Value::int(4_294_967_295), "oid", "4294967295"),
        (&int, Value::int(12), "money", "$12.00"),
        (&int, Value::Null, "int4", ""),
        (&double, Value::Float(0.1), "float8", "0.1"),
        (&double, Value::Float(1e-7), "numeric", "0.0000001"),
        (&double, Value::Float(1.5e20), "numeric", "150000000000000000000"),
        (&double, Value::Float(-12_345.678_9), "numeric(10,2)", "-12345.68"),
        (&double, Value::Float(f64::NAN), "numeric", "NaN"),
        (&double, Value::Float(f64::NAN), "float8", "NaN"),
        (&double, Value::Float(f64::NEG_INFINITY), "float4", "-Infinity"),
        (&double, Value::Float(f64::INFINITY), "jsonb", "\"Infinity\""),
        (&double, Value::Float(16_777_217.0), "float4", "1.6777216e+07"),
        (&double, Value::Float(3.0), "int4", "3"),
        (&single, Value::Float(f64::from(0.1f32)), "float4", "0.1"),
        (&single, Value::Float(f64::from(0.1f32)), "text", "0.1"),
        (&boolean, Value::Bool(true), "bool", "true"),
        (&boolean, Value::Bool(false), "int8", "0"),
        (&boolean, Value::Bool(true), "bit(1)", "1"),
        (&boolean, Value::Bool(true), "text", "true"),
        (&boolean, Value::Bool(true), "numeric", "1"),
    ] {
        let expect = (value != Value::Null).then_some(expect);
        check(&mut c, &s, &Case { schema, value, sql_type: to, expect });
    }
}

#[test]
fn decimals_keep_every_digit() {
    let (_database, mut c) = connection();
    let s = settings(false);
    let schema = built(SchemaBuilder::decimal(0));
    for digits in [
        "0",
        "0.00",
        "1",
        "-1",
        "9999",
        "10000",
        "10001",
        "0.1",
        "0.0001",
        "0.00001",
        "-0.00012300",
        "12345678.9",
        "100000000",
        "99999999.99999999",
        "123456789012345678901234567890.123456789",
        "-170141183460469231731687303715884105729.1",
        "0.000000000000000000000000000000000000000001",
    ] {
        for to in ["numeric", "text", "json"] {
            let value = decimal(digits);
            check(&mut c, &s, &Case { schema: &schema, value, sql_type: to, expect: Some(digits) });
        }
    }
    for (digits, to, expect) in [
        ("12.00", "int2", "12"),
        ("-5", "int8", "-5"),
        ("0.1", "float8", "0.1"),
        ("0.1", "float4", "0.1"),
        ("12.345", "numeric(10,2)", "12.35"),
        ("12.5", "money", "$12.50"),
    ] {
        let value = decimal(digits);
        check(&mut c, &s, &Case { schema: &schema, value, sql_type: to, expect: Some(expect) });
    }
}

#[test]
fn json_numbers_without_a_schema_keep_every_digit() {
    let (_database, mut c) = connection();
    let s = settings(false);
    let long = "123456789012345678901234567890.123456789012345678901";
    for (digits, to, expect) in [
        (long, "numeric", long),
        (long, "text", long),
        (long, "jsonb", long),
        ("1.50e2", "int4", "150"),
        ("1e-5", "numeric", "0.00001"),
        ("0.1", "float4", "0.1"),
        ("1E+2", "float8", "100"),
        ("1.5e3", "money", "$1,500.00"),
    ] {
        let mut rows = Rows::default();
        let cell = Cell::Number(rows.heap.put(digits.as_bytes()));
        check_cell(&mut c, &s, (&None, cell, &rows), to, Some(expect));
    }
}

#[test]
fn dates_and_times_are_stored_as_they_are() {
    let (_database, mut c) = connection();
    let s = settings(false);
    let date = built(SchemaBuilder::date());
    let time = built(SchemaBuilder::time());
    let stamp = built(SchemaBuilder::timestamp());
    let infinite = 9_223_372_036_825_200_000;
    for (schema, value, to, expect) in [
        (&date, 19_783, "date", "2024-03-01"),
        (&date, 0, "date", "1970-01-01"),
        (&date, -719_163, "date", "0001-12-31 BC"),
        (&date, -2_440_588, "date", "4714-11-24 BC"),
        (&date, 2_932_897, "date", "10000-01-01"),
        (&date, 2_145_042_905, "date", "5874897-12-31"),
        (&date, 19_783, "timestamp", "2024-03-01 00:00:00"),
        (&date, 19_783, "timestamptz", "2024-03-01 00:00:00+00"),
        (&date, 19_783, "text", "2024-03-01"),
        (&date, 19_783, "jsonb", "\"2024-03-01\""),
        (&time, 0, "time", "00:00:00"),
        (&time, 86_399_999, "time", "23:59:59.999"),
        (&time, 86_400_000, "time", "24:00:00"),
        (&time, 3_600_000, "timetz", "01:00:00+00"),
        (&time, 90_061_001, "interval", "25:01:01.001"),
        (&time, -1_000, "interval", "-00:00:01"),
        (&time, 5, "text", "00:00:00.005"),
        (&stamp, 1_719_874_800_500, "timestamptz", "2024-07-01 23:00:00.5+00"),
        (&stamp, 1_719_874_800_500, "timestamp(0)", "2024-07-01 23:00:01"),
        (&stamp, 1_719_874_800_500, "date", "2024-07-01"),
        (&stamp, 1_719_874_800_500, "int8", "1719874800500"),
        (&stamp, 1_719_874_800_500, "text", "2024-07-01T23:00:00.500Z"),
        (&stamp, -1, "timestamp", "1969-12-31 23:59:59.999"),
        (&stamp, -62_135_596_800_001, "timestamp", "0001-12-31 23:59:59.999 BC"),
        (&stamp, -62_135_596_800_001, "timestamptz", "0001-12-31 23:59:59.999+00 BC"),
        (&stamp, 253_402_300_800_000, "timestamptz", "10000-01-01 00:00:00+00"),
        (&stamp, -210_866_803_200_000, "timestamp", "4714-11-24 00:00:00 BC"),
        (&stamp, 9_224_318_015_999_999, "timestamp", "294276-12-31 23:59:59.999"),
        (&stamp, infinite, "timestamp", "infinity"),
        (&stamp, infinite, "date", "infinity"),
        (&stamp, -9_223_372_036_832_400, "timestamptz", "-infinity"),
    ] {
        check(
            &mut c,
            &s,
            &Case { schema, value: Value::int(value), sql_type: to, expect: Some(expect) },
        );
    }
}

#[test]
fn text_goes_into_every_type_through_its_input_function() {
    let (_database, mut c) = connection();
    let s = settings(false);
    c.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0); \
         CREATE EXTENSION IF NOT EXISTS hstore; CREATE EXTENSION IF NOT EXISTS citext",
        patience(),
    )
    .unwrap();
    let string = kind(Type::String);
    let uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    for (value, to, expect) in [
        ("a\tb\nc\\d\r\u{1}ä", "text", "a\tb\nc\\d\r\u{1}ä"),
        ("\\N", "varchar(5)", "\\N"),
        ("\\.", "text", "\\."),
        ("", "text", ""),
        ("ab", "char(4)", "ab"),
        ("Ab", "citext", "Ab"),
        ("ab", "name", "ab"),
        ("7", "int4", "7"),
        ("1.50", "numeric", "1.50"),
        ("NAN", "numeric", "NaN"),
        ("POSITIVE_INFINITY", "float8", "Infinity"),
        ("NEGATIVE_INFINITY", "float4", "-Infinity"),
        ("yes", "bool", "true"),
        (uuid, "uuid", uuid),
        ("{000102030405060708090A0B0C0D0E0F}", "uuid", uuid),
        ("{\"b\": [1, 2.50]}", "json", "{\"b\": [1, 2.50]}"),
        ("{\"b\": [1, 2.50]}", "jsonb", "{\"b\": [1, 2.50]}"),
        ("happy", "mood", "happy"),
        ("5", "positive", "5"),
        ("192.168.0.1/24", "inet", "192.168.0.1/24"),
        ("08:00:2b:01:02:03", "macaddr", "08:00:2b:01:02:03"),
        ("1 day 02:00:00", "interval", "1 day 02:00:00"),
        ("[1,5)", "int4range", "[1,5)"),
        ("infinity", "date", "infinity"),
        ("24:00:00", "time", "24:00:00"),
        ("2024-02-30 BC", "text", "2024-02-30 BC"),
        ("{1,NULL,3}", "int4[]", "{1,NULL,3}"),
        ("a=>1", "hstore", "\"a\"=>\"1\""),
        ("00ABff", "bytea", "\\x00abff"),
        ("101", "bit(3)", "101"),
        ("<a/>", "xml", "<a/>"),
        ("'a' & 'b'", "tsquery", "'a' & 'b'"),
        ("(1,2)", "point", "(1,2)"),
    ] {
        check(
            &mut c,
            &s,
            &Case { schema: &string, value: text(value), sql_type: to, expect: Some(expect) },
        );
    }
    let base64 = settings(true);
    check(
        &mut c,
        &base64,
        &Case {
            schema: &string,
            value: text("AKv/"),
            sql_type: "bytea",
            expect: Some("\\x00abff"),
        },
    );
}

#[test]
fn bytes_are_stored_as_they_are() {
    let (_database, mut c) = connection();
    let bytes = kind(Type::Bytes);
    let value = || Value::Bytes(vec![0, b'\n', b'\\', 0xff]);
    for (base64, to, expect) in [
        (false, "bytea", "\\x000a5cff"),
        (true, "bytea", "\\x000a5cff"),
        (false, "text", "000a5cff"),
        (true, "text", "AApc/w=="),
        (false, "bit varying", "00000000000010100101110011111111"),
    ] {
        check(
            &mut c,
            &settings(base64),
            &Case { schema: &bytes, value: value(), sql_type: to, expect: Some(expect) },
        );
    }
    let uuid = Value::Bytes((0..16).collect());
    let expect = Some("00010203-0405-0607-0809-0a0b0c0d0e0f");
    check(
        &mut c,
        &settings(false),
        &Case { schema: &bytes, value: uuid, sql_type: "uuid", expect },
    );
    let json = Value::Bytes(b"[1]".to_vec());
    check(
        &mut c,
        &settings(false),
        &Case { schema: &bytes, value: json, sql_type: "jsonb", expect: Some("[1]") },
    );
}

#[test]
fn nested_values_are_stored_as_they_are() {
    let (_database, mut c) = connection();
    let s = settings(false);
    c.execute(
        "CREATE EXTENSION IF NOT EXISTS hstore; CREATE TYPE address AS (zip int, street text, city text)",
        patience(),
    )
    .unwrap();
    let array = |items: Schema| built(SchemaBuilder::array(Arc::new(items)));
    let strings = array(Schema::new(Type::String));
    let ints = array(Schema::new(Type::Int32));
    let stamps = array(SchemaBuilder::timestamp().build().unwrap());
    let bytes = array(Schema::new(Type::Bytes));
    let decimals = array(SchemaBuilder::decimal(2).build().unwrap());
    let grid = array(SchemaBuilder::array(Arc::new(Schema::new(Type::Int32))).build().unwrap());
    let list = |items: Vec<Value>| Value::List(items);
    let odd = || vec![text(""), Value::Null, text("NULL"), text("a\"b\\c,{}\t\n")];
    let member = Arc::new(Schema::new(Type::String));
    let map = built(SchemaBuilder::map(member.clone(), member.clone()));
    let entry = |k: &str, v: Value| (text(k), v);
    let pairs = || Value::Map(vec![entry("a\"\\", text("x\t")), entry("n", Value::Null)]);
    let person = built(
        SchemaBuilder::structure()
            .field("city", member)
            .field("zip", Arc::new(Schema::new(Type::Int32))),
    );
    let home = || Value::fields(vec![text("a \"b\" (c)\\"), Value::int(7)]);
    for (schema, value, to, expect) in [
        (&strings, list(odd()), "text[]", "{\"\",NULL,\"NULL\",\"a\\\"b\\\\c,{}\t\n\"}"),
        (&strings, list(vec![]), "text[]", "{}"),
        (&strings, list(odd()), "jsonb", "[\"\", null, \"NULL\", \"a\\\"b\\\\c,{}\\t\\n\"]"),
        (&strings, list(vec![text("7")]), "int4[]", "{7}"),
        (&strings, list(vec![text("a")]), "text", "[\"a\"]"),
        (&ints, list(vec![Value::int(1), Value::Null]), "int8[]", "{1,NULL}"),
        (&ints, list(vec![Value::int(1)]), "text[]", "{1}"),
        (&stamps, list(vec![Value::int(0)]), "timestamptz[]", "{\"1970-01-01 00:00:00+00\"}"),
        (&bytes, list(vec![Value::Bytes(vec![1, 255])]), "bytea[]", "{\"\\\\x01ff\"}"),
        (&decimals, list(vec![decimal("1.50")]), "numeric[]", "{1.50}"),
        (
            &grid,
            list(vec![list(vec![Value::int(1)]), list(vec![Value::int(2)])]),
            "int4[]",
            "{{1},{2}}",
        ),
        (&map, pairs(), "hstore", "\"n\"=>NULL, \"a\\\"\\\\\"=>\"x\t\""),
        (&map, pairs(), "jsonb", "{\"n\": null, \"a\\\"\\\\\": \"x\\t\"}"),
        (&person, home(), "address", "(7,,\"a \"\"b\"\" (c)\\\\\")"),
        (&person, home(), "jsonb", "{\"zip\": 7, \"city\": \"a \\\"b\\\" (c)\\\\\"}"),
        (&person, home(), "text", "{\"city\":\"a \\\"b\\\" (c)\\\\\",\"zip\":7}"),
    ] {
        check(&mut c, &s, &Case { schema, value, sql_type: to, expect: Some(expect) });
    }
    let mut rows = Rows::default();
    let cell = Cell::Json(rows.heap.put(br#"[1, null, 2.5]"#));
    check_cell(&mut c, &s, (&None, cell, &rows), "numeric[]", Some("{1,NULL,2.5}"));
    let cell = Cell::Json(rows.heap.put(br#"{"a": [1.50, "\u00e4"]}"#));
    check_cell(&mut c, &s, (&None, cell, &rows), "jsonb", Some("{\"a\": [1.50, \"ä\"]}"));
    check_cell(&mut c, &s, (&None, Cell::Int(5, Width::W64), &rows), "jsonb", Some("5"));
}
