//! Tests of single values without a server; what a server makes of them: `tests/it/value.rs`.

use super::*;
use data::{SchemaBuilder, Type, Value, Width};
use proptest::prelude::*;

pub(super) fn settings(change: impl FnOnce(&mut DatabaseSettings)) -> Arc<ValueSettings> {
    let mut settings = DatabaseSettings::new("postgresql://localhost/x", "owner");
    change(&mut settings);
    Arc::new(ValueSettings::new(&settings))
}

pub(super) fn plain() -> Arc<ValueSettings> {
    settings(|_| {})
}

pub(super) fn column(name: &str) -> ColumnType {
    let oid = match name {
        "bool" => 16,
        "bytea" => 17,
        "int8" => 20,
        "int2" => 21,
        "int4" => 23,
        "text" => 25,
        "oid" => 26,
        "json" => 114,
        "float4" => 700,
        "float8" => 701,
        "money" => 790,
        "date" => 1082,
        "time" => 1083,
        "timestamp" => 1114,
        "timestamptz" => 1184,
        "interval" => 1186,
        "timetz" => 1266,
        "varbit" => 1562,
        "numeric" => 1700,
        "uuid" => 2950,
        "jsonb" => 3802,
        _ => 90_000,
    };
    match name.strip_suffix("[]") {
        Some(element) => ColumnType::array(0, name, column(element)),
        None => ColumnType::scalar(oid, name, 'b'),
    }
}

fn schema(kind: Type) -> Option<Arc<Schema>> {
    Some(Arc::new(Schema::new(kind)))
}

pub(super) fn built(builder: SchemaBuilder) -> Option<Arc<Schema>> {
    Some(Arc::new(builder.build().unwrap()))
}

/// The text form of a value, or the SQLSTATE of its fault.
pub(super) fn form(
    schema: Option<&Arc<Schema>>,
    value: &Value,
    to: &str,
    settings: &Arc<ValueSettings>,
) -> Result<String, &'static str> {
    let mut rows = Rows::default();
    let cell = rows.put_value(None, value);
    let mut out = b"before".to_vec();
    let encoder = Encoder::new(schema, &column(to), settings);
    match encoder.text(cell, &rows, &mut out) {
        Ok(_) => Ok(String::from_utf8(out.split_off(6)).unwrap()),
        Err(fault) => {
            assert_eq!(out, b"before", "a fault leaves the output as it was");
            Err(fault.sqlstate)
        }
    }
}

fn text(schema: Option<Arc<Schema>>, value: Value, to: &str) -> Result<String, &'static str> {
    form(schema.as_ref(), &value, to, &plain())
}

fn decimal(digits: &str) -> Value {
    let (unscaled, scale) = data::decimal_from_text(digits).unwrap();
    Value::Decimal { unscaled, scale }
}

#[test]
fn integers_are_checked_against_the_column() {
    let int = |v, to| text(schema(Type::Int64), Value::int(v), to);
    assert_eq!(int(-32_768, "int2").as_deref(), Ok("-32768"));
    assert_eq!(int(32_768, "int2"), Err("22003"));
    assert_eq!(int(1 << 31, "int4"), Err("22003"));
    assert_eq!(int(i64::MIN, "int8").as_deref(), Ok("-9223372036854775808"));
    assert_eq!(int(-1, "oid"), Err("22003"));
    assert_eq!(int(u32::MAX.into(), "oid").as_deref(), Ok("4294967295"));
    assert_eq!(int(1, "bool").as_deref(), Ok("t"));
    assert_eq!(int(2, "bool"), Err("22P02"));
    for to in ["numeric", "float8", "float4", "text", "money", "jsonb"] {
        assert_eq!(int(7, to).as_deref(), Ok("7"), "{to}");
    }
    for to in ["timestamp", "date", "interval", "uuid", "int4[]", "bytea"] {
        assert_eq!(int(7, to), Err("42804"), "{to}");
    }
}

#[test]
fn decimals_keep_their_digits_or_are_refused() {
    let to = |digits: &str, to| text(built(SchemaBuilder::decimal(2)), decimal(digits), to);
    let long = "-123456789012345678901234567890123456789012.10";
    for (digits, expect) in [("12.50", "12.50"), ("-0.05", "-0.05"), ("0.00", "0.00"), (long, long)]
    {
        assert_eq!(to(digits, "numeric").as_deref(), Ok(expect));
        assert_eq!(to(digits, "text").as_deref(), Ok(expect));
    }
    assert_eq!(to("12.00", "int4").as_deref(), Ok("12"));
    assert_eq!(to("12.50", "int4"), Err("22P02"));
    assert_eq!(to("3000000000.00", "int4"), Err("22003"));
    assert_eq!(to(long, "int8"), Err("22P02"));
    assert_eq!(to("12345678901234567890123456789012345678901.00", "int8"), Err("22003"));
    let broken = Value::Decimal { unscaled: vec![1], scale: i32::MAX };
    assert_eq!(text(built(SchemaBuilder::decimal(2)), broken.clone(), "numeric"), Err("22003"));
    assert_eq!(text(None, broken, "int4"), Err("22003"));
    let zeros = Value::Decimal { unscaled: vec![5], scale: -3 };
    assert_eq!(text(None, zeros.clone(), "int4").as_deref(), Ok("5000"));
    assert_eq!(text(None, zeros, "numeric").as_deref(), Ok("5000"));
}

#[test]
fn floats_are_the_shortest_digits() {
    let double = |v, to| text(schema(Type::Float64), Value::Float(v), to);
    assert_eq!(double(0.1, "float8").as_deref(), Ok("0.1"));
    assert_eq!(double(1e300, "float4"), Err("22003"));
    assert_eq!(double(1e-300, "float4"), Err("22003"));
    assert_eq!(double(f64::NAN, "float4").as_deref(), Ok("NaN"));
    assert_eq!(double(f64::NEG_INFINITY, "numeric").as_deref(), Ok("-Infinity"));
    assert_eq!(double(f64::INFINITY, "jsonb").as_deref(), Ok("\"Infinity\""));
    assert_eq!(double(3.0, "int4").as_deref(), Ok("3"));
    assert_eq!(double(3.5, "int4"), Err("22P02"));
    assert_eq!(double(9.3e18, "int8"), Err("22003"));
    assert_eq!(double(f64::NAN, "int8"), Err("22P02"));
    assert_eq!(double(1e20, "money").as_deref(), Ok("100000000000000000000"));
    let single = |v: f32, to| text(schema(Type::Float32), Value::Float(f64::from(v)), to);
    assert_eq!(single(0.1, "float4").as_deref(), Ok("0.1"));
    assert_eq!(single(0.1, "text").as_deref(), Ok("0.1"));
}

#[test]
fn booleans_are_zero_and_one_to_numbers() {
    let boolean = |to| text(schema(Type::Boolean), Value::Bool(true), to);
    for (to, expect) in [
        ("bool", "t"),
        ("int2", "1"),
        ("numeric", "1"),
        ("varbit", "1"),
        ("text", "true"),
        ("json", "true"),
    ] {
        assert_eq!(boolean(to).as_deref(), Ok(expect), "{to}");
    }
    assert_eq!(boolean("date"), Err("42804"));
}

#[test]
fn dates_and_times_cover_the_whole_range() {
    let date = |v, to| text(built(SchemaBuilder::date()), Value::int(v), to);
    assert_eq!(date(19_783, "date").as_deref(), Ok("2024-03-01"));
    assert_eq!(date(-719_162, "date").as_deref(), Ok("0001-01-01"));
    assert_eq!(date(-719_163, "date").as_deref(), Ok("0001-12-31 BC"));
    assert_eq!(date(-2_440_588, "date").as_deref(), Ok("4714-11-24 BC"));
    assert_eq!(date(-2_440_589, "date"), Err("22008"));
    assert_eq!(date(2_145_042_905, "date").as_deref(), Ok("5874897-12-31"));
    assert_eq!(date(2_145_042_906, "date"), Err("22008"));
    assert_eq!(date(i64::MAX, "timestamp"), Err("22008"));
    assert_eq!(date(19_783, "timestamp").as_deref(), Ok("2024-03-01 00:00:00"));
    assert_eq!(date(19_783, "timestamptz").as_deref(), Ok("2024-03-01 00:00:00+00"));
    assert_eq!(date(19_783, "text").as_deref(), Ok("2024-03-01"));
    assert_eq!(date(19_783, "jsonb").as_deref(), Ok("\"2024-03-01\""));
    assert_eq!(date(1, "int4"), Err("42804"));
    let time = |v, to| text(built(SchemaBuilder::time()), Value::int(v), to);
    assert_eq!(time(86_400_000, "time").as_deref(), Ok("24:00:00"));
    assert_eq!(time(86_400_001, "time"), Err("22008"));
    assert_eq!(time(-1, "time"), Err("22008"));
    assert_eq!(time(1, "timetz").as_deref(), Ok("00:00:00.001+00"));
    assert_eq!(time(-90_061_001, "interval").as_deref(), Ok("-25:01:01.001"));
    assert_eq!(time(3_723_004, "text").as_deref(), Ok("01:02:03.004"));
}

#[test]
fn timestamps_follow_the_time_zone_only_without_one_of_their_own() {
    let berlin = settings(|s| s.timezone = jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    let stamp = built(SchemaBuilder::timestamp());
    let at = |ms, to, settings: &_| form(stamp.as_ref(), &Value::int(ms), to, settings);
    let summer = 1_719_874_800_500; // 2024-07-01T23:00:00.500Z
    assert_eq!(at(summer, "timestamptz", &berlin).as_deref(), Ok("2024-07-01 23:00:00.500+00"));
    assert_eq!(at(summer, "timestamp", &berlin).as_deref(), Ok("2024-07-02 01:00:00.500"));
    assert_eq!(at(summer, "date", &berlin).as_deref(), Ok("2024-07-02"));
    assert_eq!(at(summer, "timestamp", &plain()).as_deref(), Ok("2024-07-01 23:00:00.500"));
    assert_eq!(at(summer, "int8", &berlin).as_deref(), Ok("1719874800500"));
    assert_eq!(at(summer, "text", &berlin).as_deref(), Ok("2024-07-01T23:00:00.500Z"));
    assert_eq!(at(summer, "int4", &berlin), Err("42804"));
    assert_eq!(
        at(-62_135_596_800_001, "timestamptz", &plain()).as_deref(),
        Ok("0001-12-31 23:59:59.999+00 BC")
    );
    assert_eq!(at(9_223_372_036_825_200_000, "timestamp", &berlin).as_deref(), Ok("infinity"));
    assert_eq!(at(-9_223_372_036_832_400, "date", &berlin).as_deref(), Ok("-infinity"));
    assert_eq!(at(i64::MAX, "timestamp", &berlin), Err("22008"));
    assert_eq!(at(i64::MIN, "timestamptz", &plain()), Err("22008"));
}

#[test]
fn times_of_day_follow_the_time_zone_under_confluents_name_alone() {
    let mut with = settings(|s| s.timezone = jiff::tz::TimeZone::get("America/New_York").unwrap());
    for (moves_times, expect) in [(false, "01:00:00.500"), (true, "20:00:00.500")] {
        Arc::get_mut(&mut with).unwrap().moves_times = moves_times;
        let at =
            |to| form(built(SchemaBuilder::time()).as_ref(), &Value::int(3_600_500), to, &with);
        assert_eq!(at("time").as_deref(), Ok(expect));
        assert_eq!(at("timetz").as_deref(), Ok("01:00:00.500+00"));
    }
}

#[test]
fn nul_characters_are_refused_stripped_or_replaced() {
    let with = |nul| settings(|s| s.nul_handling = nul);
    let (fail, strip, replace) =
        (with(NulHandling::Fail), with(NulHandling::Strip), with(NulHandling::Replace));
    let string = schema(Type::String);
    let put =
        |v: &str, to, settings: &_| form(string.as_ref(), &Value::Text(v.into()), to, settings);
    assert_eq!(put("a\0b\0", "text", &fail), Err("22021"));
    assert_eq!(put("a\0b\0", "text", &strip).as_deref(), Ok("ab"));
    assert_eq!(put("a\0b\0", "text", &replace).as_deref(), Ok("a\u{fffd}b\u{fffd}"));
    let json = r#"{"a":"x\u0000y\\u0000"}"#;
    assert_eq!(put(json, "jsonb", &fail), Err("22P05"));
    assert_eq!(put(json, "jsonb", &strip).as_deref(), Ok(r#"{"a":"xy\\u0000"}"#));
    assert_eq!(put(json, "jsonb", &replace).as_deref(), Ok("{\"a\":\"x\u{fffd}y\\\\u0000\"}"));
    assert_eq!(put(json, "json", &fail).as_deref(), Ok(json));
    let list = built(SchemaBuilder::array(Arc::new(Schema::new(Type::String))));
    let value = Value::List(vec![Value::Text("x\0".into())]);
    assert_eq!(form(list.as_ref(), &value, "jsonb", &fail), Err("22P05"));
    assert_eq!(form(list.as_ref(), &value, "jsonb", &strip).as_deref(), Ok("[\"x\"]"));
    assert_eq!(form(list.as_ref(), &value, "text[]", &fail), Err("22021"));
}

#[test]
fn bytes_and_the_texts_that_stand_for_them() {
    let base64 = settings(|s| s.bytes_encoding = BytesEncoding::Base64);
    let bytes = schema(Type::Bytes);
    let value = Value::Bytes(vec![0, 0xab, 0xff]);
    assert_eq!(form(bytes.as_ref(), &value, "bytea", &plain()).as_deref(), Ok("\\x00abff"));
    assert_eq!(form(bytes.as_ref(), &value, "text", &plain()).as_deref(), Ok("00abff"));
    assert_eq!(form(bytes.as_ref(), &value, "text", &base64).as_deref(), Ok("AKv/"));
    assert_eq!(
        form(bytes.as_ref(), &value, "varbit", &plain()).as_deref(),
        Ok("000000001010101111111111")
    );
    assert_eq!(form(bytes.as_ref(), &value, "uuid", &plain()), Err("22P02"));
    assert_eq!(form(bytes.as_ref(), &value, "jsonb", &plain()), Err("22021"));
    let uuid = Value::Bytes((0..16).collect());
    assert_eq!(
        text(bytes.clone(), uuid, "uuid").as_deref(),
        Ok("00010203-0405-0607-0809-0a0b0c0d0e0f")
    );
    let json = Value::Bytes(b"{\"a\":1}".to_vec());
    assert_eq!(text(bytes, json, "jsonb").as_deref(), Ok("{\"a\":1}"));
    let string = schema(Type::String);
    let put =
        |v: &str, settings: &_| form(string.as_ref(), &Value::Text(v.into()), "bytea", settings);
    assert_eq!(put("00ABff", &plain()).as_deref(), Ok("\\x00abff"));
    assert_eq!(put("\\x00ab", &plain()).as_deref(), Ok("\\x00ab"));
    assert_eq!(put("0", &plain()), Err("22P02"));
    assert_eq!(put("zz", &plain()), Err("22P02"));
    assert_eq!(put("AKv/", &base64).as_deref(), Ok("\\x00abff"));
    assert_eq!(put("A", &base64), Err("22P02"));
}

#[test]
fn schemaless_numbers_keep_their_digits() {
    let number = |digits: &str, to: &str| {
        let mut rows = Rows::default();
        let cell = Cell::Number(rows.heap.put(digits.as_bytes()));
        let mut out = Vec::new();
        let encoder = Encoder::new(None, &column(to), &plain());
        let done = encoder.text(cell, &rows, &mut out);
        done.map(|_| String::from_utf8(out).unwrap()).map_err(|f| f.sqlstate)
    };
    let long = "123456789012345678901234567890.123456789012345678901";
    for to in ["numeric", "text", "jsonb", "json", "float8"] {
        assert_eq!(number(long, to).as_deref(), Ok(long), "{to}");
    }
    assert_eq!(number("1.50e2", "int2").as_deref(), Ok("150"));
    assert_eq!(number("40000", "int2"), Err("22003"));
    assert_eq!(number("1.5", "int8"), Err("22P02"));
    assert_eq!(number("1e400", "int8"), Err("22003"));
    assert_eq!(number("1e999999999", "int8"), Err("22003"));
    assert_eq!(number("1.5e3", "money").as_deref(), Ok("1500"));
    assert_eq!(number("1", "bool").as_deref(), Ok("t"));
}

#[test]
fn schemaless_text_is_a_json_string_and_a_string_with_a_schema_is_json() {
    let value = || Value::Text("{\"a\":1}".into());
    assert_eq!(text(schema(Type::String), value(), "jsonb").as_deref(), Ok("{\"a\":1}"));
    assert_eq!(text(None, value(), "jsonb").as_deref(), Ok("\"{\\\"a\\\":1}\""));
}

#[test]
fn arrays_keep_nulls_quotes_and_dimensions() {
    let string = Arc::new(Schema::new(Type::String));
    let list = || built(SchemaBuilder::array(string.clone()));
    let texts =
        |items: &[&str]| Value::List(items.iter().map(|t| Value::Text((*t).into())).collect());
    assert_eq!(text(list(), texts(&[]), "text[]").as_deref(), Ok("{}"));
    assert_eq!(
        text(list(), texts(&["", "NULL", "a\"b\\c", "x,y{}"]), "text[]").as_deref(),
        Ok("{\"\",\"NULL\",\"a\\\"b\\\\c\",\"x,y{}\"}")
    );
    let nulls = Value::List(vec![Value::Null, Value::Text("a".into())]);
    assert_eq!(text(list(), nulls, "text[]").as_deref(), Ok("{NULL,\"a\"}"));
    assert_eq!(text(list(), texts(&["a"]), "jsonb").as_deref(), Ok("[\"a\"]"));
    assert_eq!(text(list(), texts(&["a"]), "text").as_deref(), Ok("[\"a\"]"));
    assert_eq!(text(list(), texts(&["7"]), "int4[]").as_deref(), Ok("{\"7\"}"));
    let row = Arc::new(SchemaBuilder::array(Arc::new(Schema::new(Type::Int32))).build().unwrap());
    let grid = built(SchemaBuilder::array(row));
    let ints = |v: &[i64]| Value::List(v.iter().map(|n| Value::int(*n)).collect());
    let value = Value::List(vec![ints(&[1, 2]), ints(&[3, 4])]);
    assert_eq!(text(grid.clone(), value, "int4[]").as_deref(), Ok("{{1,2},{3,4}}"));
    let wide = Value::List(vec![ints(&[1, 1 << 40])]);
    assert_eq!(text(grid, wide, "int4[]"), Err("22003"));
    assert_eq!(text(list(), texts(&["a"]), "int4"), Err("42804"));
    let deep = (0..8).fold(Value::int(1), |inner, _| Value::List(vec![inner]));
    assert_eq!(text(None, deep, "int4[]"), Err("54000"));
}

#[test]
fn arrays_of_plain_json_are_taken_apart() {
    let json = |json: &str, to: &str| {
        let mut rows = Rows::default();
        let cell = Cell::Json(rows.heap.put(json.as_bytes()));
        let mut out = Vec::new();
        let encoder = Encoder::new(None, &column(to), &plain());
        let done = encoder.text(cell, &rows, &mut out);
        done.map(|_| String::from_utf8(out).unwrap()).map_err(|f| f.sqlstate)
    };
    assert_eq!(json("[1, null, 2.0]", "int4[]").as_deref(), Ok("{1,NULL,2}"));
    assert_eq!(json(r#"["a\nb", "\""]"#, "text[]").as_deref(), Ok("{\"a\nb\",\"\\\"\"}"));
    assert_eq!(json("[[1],[2]]", "int8[]").as_deref(), Ok("{{1},{2}}"));
    assert_eq!(json(r#"[{"a":1},[2]]"#, "jsonb[]").as_deref(), Ok("{\"{\\\"a\\\":1}\",\"[2]\"}"));
    assert_eq!(json("[true,false]", "bool[]").as_deref(), Ok("{t,f}"));
    assert_eq!(json("{}", "int4[]"), Err("42804"));
    assert_eq!(json("[99999999999]", "int4[]"), Err("22003"));
    assert_eq!(json("{\"a\":1}", "jsonb").as_deref(), Ok("{\"a\":1}"));
    assert_eq!(json("{\"a\":1}", "int4"), Err("42804"));
}

#[test]
fn structs_become_records_and_json() {
    let address = SchemaBuilder::structure()
        .field("city", Arc::new(Schema::new(Type::String)))
        .field("zip", Arc::new(Schema::new(Type::Int32)));
    let schema = built(address);
    let mut composite = ColumnType::scalar(90_001, "address", 'c');
    composite.attributes = vec![
        ("zip".into(), column("int4")),
        ("street".into(), column("text")),
        ("city".into(), column("text")),
    ];
    let mut rows = Rows::default();
    let cell =
        rows.put_value(None, &Value::fields(vec![Value::Text("a \"b\"".into()), Value::int(7)]));
    let mut out = Vec::new();
    let encoder = Encoder::new(schema.as_ref(), &composite, &plain());
    assert!(encoder.accepts().is_ok());
    encoder.text(cell, &rows, &mut out).unwrap();
    assert_eq!(out, b"(7,,\"a \\\"b\\\"\")");
    out.clear();
    Encoder::new(schema.as_ref(), &column("jsonb"), &plain()).text(cell, &rows, &mut out).unwrap();
    assert_eq!(out, br#"{"city":"a \"b\"","zip":7}"#);
    let wrong = Encoder::new(schema.as_ref(), &column("int4"), &plain());
    assert_eq!(wrong.accepts().unwrap_err().sqlstate, "42804");
    assert!(wrong.accepts().unwrap_err().message.contains("STRUCT"));
}

#[test]
fn maps_become_hstore() {
    let string = Arc::new(Schema::new(Type::String));
    let schema = built(SchemaBuilder::map(string.clone(), string));
    let value = Value::Map(vec![
        (Value::Text("a\"".into()), Value::Text("1".into())),
        (Value::Text("b".into()), Value::Null),
    ]);
    assert_eq!(text(schema, value, "hstore").as_deref(), Ok("\"a\\\"\"=>\"1\",\"b\"=>NULL"));
}

#[test]
fn copy_escapes_what_copy_would_misread() {
    let string = schema(Type::String);
    let copy = |v: Option<&str>, to: &str| {
        let mut rows = Rows::default();
        let cell = v.map_or(Cell::Null, |v| Cell::Text(rows.heap.put(v.as_bytes())));
        let mut out = Vec::new();
        Encoder::new(string.as_ref(), &column(to), &plain())
            .copy_text(cell, &rows, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(copy(None, "text"), "\\N");
    assert_eq!(copy(Some("\\N"), "text"), "\\\\N");
    assert_eq!(copy(Some("a\tb\nc\rd\\"), "text"), "a\\tb\\nc\\rd\\\\");
    assert_eq!(copy(Some(""), "text"), "");
    assert_eq!(copy(Some("ab"), "bytea"), "\\\\xab");
    assert_eq!(copy(Some("\u{1}ä"), "text"), "\u{1}ä");
}

#[test]
fn only_tested_pairs_have_a_binary_form() {
    let has = |schema: Option<Arc<Schema>>, to: &str| {
        Encoder::new(schema.as_ref(), &column(to), &plain()).has_binary()
    };
    assert!(has(schema(Type::Int32), "int8"));
    assert!(has(built(SchemaBuilder::decimal(2)), "numeric"));
    assert!(has(schema(Type::String), "uuid"));
    assert!(has(None, "jsonb"));
    assert!(!has(schema(Type::String), "int4"));
    assert!(!has(None, "int4"));
    assert!(!has(schema(Type::Int32), "money"));
    assert!(!has(schema(Type::Struct), "int4"));
    assert!(!has(built(SchemaBuilder::array(Arc::new(Schema::new(Type::Int32)))), "int4[]"));
}

/// What COPY's text format makes of a field.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = field.iter();
    while let Some(b) = bytes.next() {
        match (b, b) {
            (b'\\', _) => out.push(match bytes.next().unwrap() {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => *other,
            }),
            _ => out.push(*b),
        }
    }
    out
}

fn any_cell() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::int),
        any::<f64>().prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
        ".*".prop_map(Value::Text),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
        (prop::collection::vec(any::<u8>(), 0..20), -50..60i32)
            .prop_map(|(unscaled, scale)| Value::Decimal { unscaled, scale }),
        prop::collection::vec(".*".prop_map(Value::Text), 0..3).prop_map(Value::List),
    ]
}

proptest! {
    #[test]
    fn copy_text_is_read_back(text in "[a-z\t\n\r\\\\\u{1}ä]*") {
        let mut rows = Rows::default();
        let cell = Cell::Text(rows.heap.put(text.as_bytes()));
        let mut out = b"x\t".to_vec();
        let string = schema(Type::String);
        let encoder = Encoder::new(string.as_ref(), &column("text"), &plain());
        encoder.copy_text(cell, &rows, &mut out).unwrap();
        prop_assert!(!out[2..].iter().any(|b| b"\t\n\r".contains(b)));
        prop_assert_eq!(unescape(&out[2..]), text.into_bytes());
    }

    #[test]
    fn no_value_panics_in_any_column(value in any_cell(), ms in any::<i64>()) {
        let mut rows = Rows::default();
        let cell = rows.put_value(None, &value);
        let cells = [cell, Cell::Instant(ms), Cell::Int(ms, Width::W64)];
        let schemas =
            [None, built(SchemaBuilder::date()), built(SchemaBuilder::time()), built(SchemaBuilder::timestamp())];
        for to in [
            "bool", "bytea", "int2", "int8", "text", "oid", "json", "float4", "float8", "money", "date",
            "time", "timestamp", "timestamptz", "interval", "timetz", "varbit", "numeric", "uuid",
            "jsonb", "hstore", "vector", "geometry", "other", "int4[]", "text[]",
        ] {
            for schema in &schemas {
                let encoder = Encoder::new(schema.as_ref(), &column(to), &plain());
                for cell in cells {
                    let mut out = Vec::new();
                    let done = encoder.copy_text(cell, &rows, &mut out);
                    prop_assert!(done.is_ok() || out.is_empty());
                    out.clear();
                    let done = encoder.copy_binary(cell, &rows, &mut out);
                    prop_assert!(done.is_ok() || out.is_empty());
                }
            }
        }
    }
}
