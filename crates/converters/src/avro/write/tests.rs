//! Values of Connect schemas under Avro schemas: the bytes, and why there are none.

use super::super::attributes::{ENUM, RECURSIVE, UNION};
use super::super::options::AvroOptions;
use super::super::schema::AvroSchema;
use super::Writer;
use data::{DAY_MS, Rows, Schema, SchemaBuilder, Type, Value, Width};
use std::sync::Arc;

fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.build().unwrap())
}

fn required(kind: Type) -> Arc<Schema> {
    Schema::required_of(kind)
}

fn of(kind: Type) -> SchemaBuilder {
    SchemaBuilder::new(kind)
}

fn int(value: i64) -> Value {
    Value::Int(value, Width::W32)
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn written(writer: &Writer, schema: Option<&Schema>, value: &Value) -> Result<Vec<u8>, String> {
    let mut rows = Rows::default();
    let cell = rows.put_value(schema, value);
    let mut out = Vec::new();
    writer.write(&rows, cell, &mut out).map(|()| out)
}

fn with(options: &AvroOptions, schema: SchemaBuilder, value: &Value) -> Result<Vec<u8>, String> {
    let schema = schema.build().unwrap();
    let writer = Writer::new(Some(&schema), options).unwrap();
    written(&writer, Some(&schema), value)
}

fn write(schema: SchemaBuilder, value: &Value) -> Result<Vec<u8>, String> {
    with(&AvroOptions::default(), schema, value)
}

/// Under a schema that exists already.
fn under(avro: &str, schema: SchemaBuilder, value: &Value) -> Result<Vec<u8>, String> {
    let schema = schema.build().unwrap();
    let avro = Arc::new(AvroSchema::parse(avro).unwrap());
    let writer = Writer::under(Some(&schema), avro, &AvroOptions::default())?;
    written(&writer, Some(&schema), value)
}

#[test]
fn plain_values_have_avros_form() {
    for (schema, value, wanted) in [
        (of(Type::Int8), Value::Int(-1, Width::W8), &[1][..]),
        (of(Type::Int16), Value::Int(64, Width::W16), &[0x80, 1]),
        (of(Type::Int32), int(1), &[2]),
        (of(Type::Int64), Value::int(-64), &[0x7f]),
        (of(Type::Float32), Value::Float32(1.0), &[0, 0, 0x80, 0x3f]),
        (of(Type::Float64), Value::Float(1.0), &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        (of(Type::Boolean), Value::Bool(true), &[1]),
        (of(Type::String), text("né"), &[6, b'n', 0xc3, 0xa9]),
        (of(Type::Bytes), Value::Bytes(vec![0, 255]), &[4, 0, 255]),
        (of(Type::Int32).optional(), int(1), &[2, 2]),
        (of(Type::Int32).optional(), Value::Null, &[0]),
        (SchemaBuilder::date(), Value::Instant(-DAY_MS), &[1]),
        (SchemaBuilder::time(), Value::Instant(1), &[2]),
        (SchemaBuilder::timestamp(), Value::Instant(64), &[0x80, 1]),
        (
            SchemaBuilder::array(required(Type::Int32)),
            Value::List(vec![int(1), int(2)]),
            &[4, 2, 4, 0],
        ),
        (SchemaBuilder::array(required(Type::Int32)), Value::List(vec![]), &[0]),
        (
            SchemaBuilder::map(required(Type::String), required(Type::Int32)),
            Value::Map(vec![(text("k"), int(1))]),
            &[2, 2, b'k', 2, 0],
        ),
        (
            SchemaBuilder::map(required(Type::Int32), Schema::optional_of(Type::Int32)),
            Value::Map(vec![(int(1), Value::Null)]),
            &[2, 2, 0, 0],
        ),
        (
            SchemaBuilder::structure().field("a", required(Type::Int32)).optional(),
            Value::fields(vec![int(3)]),
            &[2, 6],
        ),
    ] {
        let shown = format!("{schema:?}");
        assert_eq!(write(schema, &value).as_deref(), Ok(wanted), "{shown}");
    }
}

#[test]
fn a_value_of_another_class_is_refused_with_its_place() {
    for (schema, value, wanted) in [
        (of(Type::Int32), Value::int(1), "Invalid type for INT32: class java.lang.Long"),
        (
            of(Type::Boolean).optional(),
            int(12),
            "Invalid type for BOOLEAN: class java.lang.Integer",
        ),
        (of(Type::Boolean), Value::Null, "Found null value for non-optional schema"),
        (of(Type::Float32), Value::Float(0.5), "Invalid type for FLOAT32: class java.lang.Double"),
        (
            SchemaBuilder::date(),
            Value::Int(5, Width::W32),
            "Invalid type for Date, expected Date but was class java.lang.Integer",
        ),
        (
            SchemaBuilder::date(),
            Value::Instant(5),
            "Kafka Connect Date type should not have any time fields set to non-zero values.",
        ),
        (
            SchemaBuilder::time(),
            Value::Instant(DAY_MS + 1),
            "Kafka Connect Time type should not have any date fields set to non-zero values.",
        ),
        (
            SchemaBuilder::array(required(Type::Boolean)),
            Value::List(vec![Value::Bool(true), int(12)]),
            "Invalid type for BOOLEAN: class java.lang.Integer (field [1])",
        ),
        (
            SchemaBuilder::map(required(Type::String), required(Type::Int32)),
            Value::Map(vec![(text("foo bar"), text("x"))]),
            "Invalid type for INT32: class java.lang.String (field [\"foo bar\"])",
        ),
        (
            SchemaBuilder::map(required(Type::String), required(Type::Int32)),
            Value::Map(vec![(Value::Bool(true), int(1))]),
            "Invalid type for a map's key: class java.lang.Boolean",
        ),
        (
            SchemaBuilder::map(required(Type::Int32), required(Type::Int32)),
            Value::Map(vec![(int(1), int(1)), (int(2), text("x"))]),
            "Invalid type for INT32: class java.lang.String (field [1].value)",
        ),
    ] {
        assert_eq!(write(schema, &value), Err(wanted.to_owned()));
    }
    let inner = SchemaBuilder::structure().field("id", required(Type::Int32)).optional();
    let list = built(SchemaBuilder::array(built(inner)));
    let schema = SchemaBuilder::structure().field("before", list);
    let rows = vec![Value::fields(vec![int(1)]), Value::fields(vec![Value::Null])];
    let wanted = "Found null value for non-optional schema (field before[1].id)";
    let value = Value::fields(vec![Value::List(rows)]);
    assert_eq!(write(schema.clone(), &value), Err(wanted.to_owned()));
    let many = Value::fields(vec![Value::Null, Value::Null]);
    assert_eq!(write(schema, &many), Err("Mismatching struct schema".to_owned()));
}

#[test]
fn b031_a_null_is_the_default_unless_nulls_are_kept() {
    let a = built(of(Type::String).optional().default(text("d")));
    let b = built(of(Type::Int32).optional().default(int(7)));
    let n = built(SchemaBuilder::structure().optional().field("b", b));
    let schema = SchemaBuilder::structure().field("a", a).field("n", n);
    let value = Value::fields(vec![Value::Null, Value::fields(vec![Value::Null])]);
    // [string, null] and [int, null]: the default comes first.
    assert_eq!(write(schema.clone(), &value).unwrap(), [0, 2, b'd', 2, 0, 14]);
    let kept = AvroOptions { ignore_default_for_nullables: true, ..AvroOptions::default() };
    assert_eq!(with(&kept, schema, &value).unwrap(), [2, 2, 2]);
}

#[test]
fn a_required_field_that_is_null_has_its_default() {
    let f = built(of(Type::Int32).default(int(7)));
    let schema = SchemaBuilder::structure().field("f", f);
    let null = Value::fields(vec![Value::Null]);
    assert_eq!(write(schema.clone(), &null).unwrap(), [14]);
    let kept = AvroOptions { ignore_default_for_nullables: true, ..AvroOptions::default() };
    let wanted = "Found null value for non-optional schema (field f)";
    assert_eq!(with(&kept, schema, &null), Err(wanted.to_owned()));
}

fn decimal(unscaled: &[u8], scale: i32) -> Value {
    Value::Decimal { unscaled: unscaled.to_vec(), scale }
}

#[test]
fn decimals_are_their_unscaled_bytes() {
    let of = || SchemaBuilder::decimal(2);
    assert_eq!(write(of(), &decimal(&[0x9c], 2)).unwrap(), [2, 0x9c]);
    assert_eq!(write(of(), &decimal(&[0, 0, 1], 2)).unwrap(), [2, 1]);
    assert_eq!(write(of(), &decimal(&[], 2)).unwrap(), [2, 0]);
    let wanted = "Decimal value has mismatching scale for given Decimal schema. Schema has scale 2, value has scale 3.";
    assert_eq!(write(of(), &decimal(&[1], 3)), Err(wanted.to_owned()));
    let fixed = |unscaled| {
        let schema = of().parameter("connect.decimal.precision", "4");
        write(schema.parameter("connect.fixed.size", "2"), &decimal(unscaled, 2))
    };
    assert_eq!(fixed(&[0]).unwrap(), [0, 0]);
    assert_eq!(fixed(&[0xff]).unwrap(), [0xff, 0xff]);
    let wanted = "Unscaled value byte array length 3 is greater than fixed size 2";
    assert_eq!(fixed(&[1, 0x86, 0xa0]), Err(wanted.to_owned()));
    let to = |scale: u32, value: &Value| {
        let avro =
            format!(r#"{{"type":"bytes","logicalType":"decimal","precision":9,"scale":{scale}}}"#);
        under(&avro, of(), value)
    };
    assert_eq!(to(4, &decimal(&[1], 2)).unwrap(), [2, 100]);
    assert_eq!(to(1, &decimal(&[100], 2)).unwrap(), [2, 10]);
    let wanted = "A Decimal of scale 2 would lose digits at the scale 1 of the Avro schema";
    assert_eq!(to(1, &decimal(&[101], 2)), Err(wanted.to_owned()));
}

#[test]
fn fixed_bytes_have_their_size() {
    let of = || of(Type::Bytes).name("a.F").parameter("connect.fixed.size", "2");
    assert_eq!(write(of(), &Value::Bytes(vec![1, 2])).unwrap(), [1, 2]);
    let wanted = "1 bytes where the schema has 2".to_owned();
    assert_eq!(write(of(), &Value::Bytes(vec![1])), Err(wanted));
}

#[test]
fn enums_are_the_places_of_their_symbols() {
    let schema = || {
        let schema = of(Type::String).name("a.E").parameter(ENUM, "a.E").optional();
        schema.parameter(&format!("{ENUM}.X"), "X").parameter(&format!("{ENUM}.Y"), "Y")
    };
    let enhanced = AvroOptions { enhanced: true, ..AvroOptions::default() };
    assert_eq!(with(&enhanced, schema(), &text("Y")).unwrap(), [2, 2]);
    let wanted = "\"Z\" is no symbol of the enum a.E".to_owned();
    assert_eq!(with(&enhanced, schema(), &text("Z")), Err(wanted));
    assert_eq!(write(schema(), &text("Z")).unwrap(), [2, 2, b'Z']);
}

fn union() -> SchemaBuilder {
    let record = SchemaBuilder::structure().name("io.Test").field("t", required(Type::Int32));
    SchemaBuilder::structure()
        .name(UNION)
        .field("int", Schema::optional_of(Type::Int32))
        .field("string", Schema::optional_of(Type::String))
        .field("Test", built(record.optional()))
}

#[test]
fn a_union_is_its_first_field_that_has_a_value() {
    let value = |at: usize, value: Value| {
        let mut values = vec![Value::Null; 3];
        values[at] = value;
        Value::fields(values)
    };
    let test = Value::fields(vec![int(5)]);
    assert_eq!(write(union(), &value(0, int(1))).unwrap(), [0, 2]);
    assert_eq!(write(union().optional(), &value(0, int(1))).unwrap(), [2, 2]);
    assert_eq!(write(union().optional(), &value(2, test.clone())).unwrap(), [6, 10]);
    assert_eq!(write(union().optional(), &value(0, Value::Null)).unwrap(), [0]);
    assert_eq!(write(union().optional(), &Value::Null).unwrap(), [0]);
    let none = write(union(), &value(0, Value::Null)).unwrap_err();
    assert_eq!(none, "Found null value for non-optional schema");
    let wrong = write(union(), &value(2, Value::fields(vec![Value::Null]))).unwrap_err();
    assert_eq!(wrong, "Found null value for non-optional schema (field Test.t)");
    // Elsewhere the branches stand in another order.
    let other = r#"["string",{"type":"record","name":"Test","namespace":"io","fields":[{"name":"t","type":"int"}]},"int"]"#;
    assert_eq!(under(other, union(), &value(0, int(1))).unwrap(), [4, 2]);
    assert_eq!(under(other, union(), &value(2, test)).unwrap(), [2, 10]);
}

#[test]
fn fields_go_to_the_fields_of_their_names() {
    let schema = || {
        let schema = SchemaBuilder::structure().name("a.R").field("a", required(Type::Int32));
        let schema = schema.field("b", Schema::optional_of(Type::String));
        schema.field("extra", required(Type::Boolean))
    };
    let value = Value::fields(vec![int(1), text("x"), Value::Bool(true)]);
    let record = |fields: &str| {
        let avro = format!(r#"{{"type":"record","name":"R","namespace":"a","fields":[{fields}]}}"#);
        under(&avro, schema(), &value)
    };
    let optional = r#"{"name":"b","type":["null","string"]}"#;
    assert_eq!(
        record(&format!(
            r#"{optional},{{"name":"new","type":"int","default":3}},{{"name":"a","type":"long"}}"#
        )),
        Ok(vec![2, 2, b'x', 6, 2])
    );
    // By an alias, widened, and as bytes.
    assert_eq!(
        record(r#"{"name":"c","type":"bytes","aliases":["b"]},{"name":"a","type":"float"}"#),
        Ok(vec![2, b'x', 0, 0, 0x80, 0x3f])
    );
    for (fields, wanted) in [
        (
            r#"{"name":"new","type":"int"}"#,
            "The values have no field new for the record a.R, which has no default for it",
        ),
        (r#"{"name":"a","type":"string"}"#, "INT32 cannot be written as string (field a)"),
        (
            r#"{"name":"b","type":["null","int"]}"#,
            "STRING cannot be written as any type of the union of null, int (field b)",
        ),
        (
            r#"{"name":"a","type":{"type":"fixed","name":"F","size":1}}"#,
            "INT32 cannot be written as fixed a.F (field a)",
        ),
    ] {
        assert_eq!(record(fields), Err(wanted.to_owned()));
    }
    let null = Value::fields(vec![int(1), Value::Null, Value::Bool(true)]);
    let avro = r#"{"type":"record","name":"R","fields":[{"name":"b","type":"string"}]}"#;
    let wanted = "Found null value for non-optional schema (field b)";
    assert_eq!(under(avro, schema(), &null), Err(wanted.to_owned()));
}

#[test]
fn the_branch_of_a_union_that_fits_best_is_taken() {
    for (avro, schema, value, wanted) in [
        (r#"["null","long","int"]"#, of(Type::Int32), int(1), &[4, 2][..]),
        (r#"["null","double","long"]"#, of(Type::Int32), int(1), &[4, 2]),
        (r#"["bytes","string"]"#, of(Type::String), text("x"), &[2, 2, b'x']),
        (
            r#"[{"type":"enum","name":"E","symbols":["x"]},"string"]"#,
            of(Type::String),
            text("x"),
            &[2, 2, b'x'],
        ),
        (
            r#"[{"type":"record","name":"A","fields":[]},{"type":"record","name":"B","fields":[]}]"#,
            SchemaBuilder::structure().name("x.B"),
            Value::fields(vec![]),
            &[2],
        ),
    ] {
        assert_eq!(under(avro, schema, &value).as_deref(), Ok(wanted), "{avro}");
    }
}

#[test]
fn points_in_time_are_counted_in_the_unit_of_the_type() {
    let long = |logical: &str| format!(r#"{{"type":"long","logicalType":"{logical}"}}"#);
    let timestamp =
        |logical: &str, ms| under(&long(logical), SchemaBuilder::timestamp(), &Value::Instant(ms));
    assert_eq!(timestamp("timestamp-micros", 1).unwrap(), [0xd0, 0x0f]);
    assert_eq!(timestamp("timestamp-millis", 1).unwrap(), [2]);
    let beyond = timestamp("timestamp-nanos", i64::MAX / 1000).unwrap_err();
    assert!(beyond.contains("beyond the range"), "{beyond}");
    let wall = timestamp("local-timestamp-millis", 1).unwrap_err();
    assert_eq!(wall, "a timestamp cannot be written as a local timestamp");
    let micros = || of(Type::Int64).parameter("avro.logicalType", "timestamp-micros");
    let to_millis = |value| under(&long("timestamp-millis"), micros(), &Value::int(value));
    assert_eq!(to_millis(2000).unwrap(), [4]);
    assert!(to_millis(2001).unwrap_err().contains("would lose digits"));
    assert_eq!(write(micros(), &Value::int(-1)).unwrap(), [1]);
    let time = under(&long("time-micros"), SchemaBuilder::time(), &Value::Instant(1));
    assert_eq!(time.unwrap(), [0xd0, 0x0f]);
}

#[test]
fn structs_of_one_name_have_one_record() {
    let row = |fields: &[&str]| {
        let schema = SchemaBuilder::structure().name("a.Row").optional();
        built(
            fields
                .iter()
                .fold(schema, |schema, name| schema.field(name, Schema::optional_of(Type::Int32))),
        )
    };
    let both = |one, other| {
        let schema = SchemaBuilder::structure().name("a.E").field("b", one).field("c", other);
        Writer::new(Some(&schema.build().unwrap()), &AvroOptions::default()).map(|_| ())
    };
    assert_eq!(both(row(&["x", "y"]), row(&["x", "y"])), Ok(()));
    // What the second one lacks has a default.
    assert_eq!(both(row(&["x", "y"]), row(&["x"])), Ok(()));
    let wanted = "Two different structs are named a.Row: the other one has no field y (field c)";
    assert_eq!(both(row(&["x"]), row(&["x", "y"])), Err(wanted.to_owned()));
}

#[test]
fn a_record_within_itself_is_written_from_what_describes_itself() {
    let node = SchemaBuilder::map_of(Some(required(Type::String)), None);
    let node = built(node.parameter(RECURSIVE, "a.Node").optional());
    let kind = r#"{"type":"record","name":"Node","namespace":"a","fields":[{"name":"id","type":"int"},{"name":"next","type":["null","Node"],"default":null}]}"#;
    let schema = SchemaBuilder::structure().name("a.Node").field("id", required(Type::Int32));
    let schema = schema.field("next", node);
    let map = |id: Value, next: Value| Value::Map(vec![(text("id"), id), (text("next"), next)]);
    let deep = map(int(2), map(int(3), Value::Null));
    let wanted = [2, 2, 4, 2, 6, 0];
    let value = Value::fields(vec![int(1), deep]);
    assert_eq!(write(schema.clone(), &value).unwrap(), wanted);
    assert_eq!(under(kind, schema.clone(), &value).unwrap(), wanted);
    let short = Value::fields(vec![int(1), Value::Map(vec![(text("id"), int(2))])]);
    assert_eq!(write(schema.clone(), &short).unwrap(), [2, 2, 4, 0]);
    let wrong = Value::fields(vec![int(1), map(int(2), map(text("x"), Value::Null))]);
    let wanted = "A value of class java.lang.String cannot be written as int (field next.next.id)";
    assert_eq!(write(schema, &wrong), Err(wanted.to_owned()));
}

fn anything(value: &Value) -> Result<Vec<u8>, String> {
    let writer = Writer::new(None, &AvroOptions::default()).unwrap();
    written(&writer, None, value)
}

#[test]
fn values_without_a_schema_say_their_type() {
    let of = |field: usize, value: &[u8]| {
        [&vec![0; field], &[2][..], value, &vec![0; 8 - field]].concat()
    };
    let twelve = of(4, &[24]);
    for (value, wanted) in [
        (Value::Null, vec![0; 9]),
        (Value::Bool(true), of(0, &[1])),
        (Value::Bytes(vec![7]), of(1, &[2, 7])),
        (Value::Float(1.0), of(2, &1_f64.to_le_bytes())),
        (Value::Float32(1.0), of(3, &1_f32.to_le_bytes())),
        (Value::Int(12, Width::W8), twelve.clone()),
        (int(12), twelve.clone()),
        (Value::int(12), of(5, &[24])),
        (text("x"), of(6, &[2, b'x'])),
        (Value::List(vec![int(12)]), of(7, &[&[2][..], &twelve, &[0]].concat())),
        (
            Value::Map(vec![(int(12), Value::Null)]),
            of(8, &[&[2][..], &twelve, &[0; 9], &[0]].concat()),
        ),
    ] {
        assert_eq!(anything(&value), Ok(wanted), "{value:?}");
    }
    let wanted =
        "Unknown Java type for schemaless data: class java.math.BigDecimal (field [\"k\"])";
    let wrong = Value::Map(vec![(text("k"), decimal(&[1], 0))]);
    assert_eq!(anything(&wrong), Err(wanted.to_owned()));
    let deep = (0..1100).fold(Value::Null, |inner, _| Value::List(vec![inner]));
    assert!(anything(&deep).unwrap_err().contains("nested deeper than 1000 levels"));
}

#[test]
fn json_that_nobody_looked_at_is_anything() {
    let writer = Writer::new(None, &AvroOptions::default()).unwrap();
    let mut rows = Rows::default();
    let json = rows.heap.put(br#"{"a":[1,2.5]}"#);
    let mut out = Vec::new();
    writer.write(&rows, data::Cell::Json(json), &mut out).unwrap();
    let list = Value::List(vec![Value::int(1), Value::Float(2.5)]);
    assert_eq!(Ok(out), anything(&Value::Map(vec![(text("a"), list)])));
}

#[test]
fn a_value_costs_no_allocation() {
    let map = SchemaBuilder::map(required(Type::String), Schema::optional_of(Type::Int64));
    let schema = SchemaBuilder::structure()
        .name("a.R")
        .field("id", required(Type::Int64))
        .field("name", Schema::optional_of(Type::String))
        .field("amount", built(SchemaBuilder::decimal(2).optional()))
        .field("at", Schema::timestamp())
        .field("tags", built(SchemaBuilder::array(required(Type::String))))
        .field("counts", built(map))
        .field("state", built(of(Type::String).optional().default(text("new"))))
        .field("of", built(union().optional()));
    let schema = schema.build().unwrap();
    let writer = Writer::new(Some(&schema), &AvroOptions::default()).unwrap();
    let value = Value::fields(vec![
        Value::int(1_000_000),
        text("a name"),
        decimal(&[0, 0x80, 1], 2),
        Value::Instant(1_700_000_000_000),
        Value::List(vec![text("a"), text("b")]),
        Value::Map(vec![(text("k"), Value::int(1)), (text("l"), Value::Null)]),
        Value::Null,
        Value::fields(vec![Value::Null, text("x"), Value::Null]),
    ]);
    let mut rows = Rows::default();
    let cell = rows.put_value(Some(&schema), &value);
    let mut out = Vec::with_capacity(1 << 16);
    let counted = allocation_counter::measure(|| {
        for _ in 0..100 {
            writer.write(&rows, cell, &mut out).unwrap();
        }
    });
    assert_eq!((counted.count_total, out.len() % 100), (0, 0));
}
