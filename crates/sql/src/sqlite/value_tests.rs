//! Tests of [`super::value`]: each kind of value in each kind of column.

use super::value::{Encoder, Form, Target, target};
use crate::config::{BytesEncoding, DatabaseSettings, NulHandling};
use crate::table::Column;
use data::{Cell, Rows, Schema, SchemaBuilder, Type, Value, Width, decimal_from_text};

fn settings() -> DatabaseSettings {
    DatabaseSettings::new("sqlite:x.db", "cluster/group")
}

fn encode(
    settings: &DatabaseSettings,
    declared: &str,
    schema: Option<&Schema>,
    make: impl FnOnce(&mut Rows) -> Cell,
) -> Result<String, String> {
    let mut rows = Rows::default();
    let cell = make(&mut rows);
    let mut encoder = Encoder::new(settings);
    let column = Column {
        name: "c".to_owned(),
        type_name: declared.to_owned(),
        nullable: true,
        has_default: false,
        generated: false,
        json: declared == "JSON",
    };
    match encoder.encode(target(&column), schema, cell, &rows) {
        Ok(Form::Null) => Ok("null".to_owned()),
        Ok(Form::Integer(v)) => Ok(format!("i{v}")),
        Ok(Form::Real(v)) => Ok(format!("r{v}")),
        Ok(Form::Text(v)) => Ok(format!("t{}", String::from_utf8_lossy(v))),
        Ok(Form::Blob(v)) => Ok(format!("b{v:?}")),
        Ok(Form::Buffer) => Ok(format!("t{}", String::from_utf8_lossy(&encoder.buffer))),
        Err(fault) => Err(fault.sqlstate.to_owned()),
    }
}

fn check(declared: &str, schema: Option<&Schema>, value: &Value, expected: Result<&str, &str>) {
    let got = encode(&settings(), declared, schema, |rows| rows.put_value(None, value));
    let got = got.as_ref().map(String::as_str).map_err(String::as_str);
    assert_eq!(got, expected, "{value:?} into {declared}");
}

fn number(declared: &str, text: &str, expected: Result<&str, &str>) {
    let got =
        encode(&settings(), declared, None, |rows| Cell::Number(rows.heap.put(text.as_bytes())));
    let got = got.as_ref().map(String::as_str).map_err(String::as_str);
    assert_eq!(got, expected, "{text} into {declared}");
}

#[test]
fn columns_are_taken_for_what_people_mean() {
    for (declared, expected) in [
        ("BIGINT", Target::Integer),
        ("POINT", Target::Numeric),
        ("interval", Target::Numeric),
        ("TIMESTAMP", Target::Temporal),
        ("NUMERIC", Target::Numeric),
        ("varchar(3)", Target::Text),
        ("", Target::Any),
        ("ANY", Target::Any),
    ] {
        let column = Column {
            name: String::new(),
            type_name: declared.to_owned(),
            nullable: true,
            has_default: false,
            generated: false,
            json: false,
        };
        assert_eq!(target(&column), expected, "{declared}");
    }
}

#[test]
fn integers_and_booleans() {
    check("INTEGER", None, &Value::int(i64::MIN), Ok("i-9223372036854775808"));
    check("REAL", None, &Value::int(1 << 53), Ok("i9007199254740992"));
    check("REAL", None, &Value::int((1 << 53) + 1), Err("22003"));
    check("INTEGER", None, &Value::Bool(true), Ok("i1"));
    check("BOOLEAN", None, &Value::Bool(false), Ok("i0"));
    check("TEXT", None, &Value::Bool(true), Ok("ttrue"));
    check("TEXT", None, &Value::Null, Ok("null"));
}

#[test]
fn floats_keep_their_digits_and_nan_is_never_null() {
    let float32 = Schema::new(Type::Float32);
    check("REAL", None, &Value::Float(0.1), Ok("r0.1"));
    check("TEXT", None, &Value::Float(0.1 + 0.2), Ok("t0.30000000000000004"));
    check("TEXT", Some(&float32), &Value::Float(f64::from(0.1_f32)), Ok("t0.1"));
    check("REAL", None, &Value::Float(f64::NAN), Err("22003"));
    check("TEXT", None, &Value::Float(f64::NAN), Ok("tNaN"));
    check("REAL", None, &Value::Float(f64::INFINITY), Ok("rinf"));
    check("TEXT", None, &Value::Float(f64::NEG_INFINITY), Ok("t-Infinity"));
    check("INTEGER", None, &Value::Float(2.0), Ok("i2"));
    check("INTEGER", None, &Value::Float(2.5), Err("22P02"));
}

#[test]
fn json_numbers_beyond_64_bits_are_never_rounded() {
    let u64_max = "18446744073709551615";
    number("INTEGER", u64_max, Err("22003"));
    number("REAL", u64_max, Err("22003"));
    number("REAL", "18446744073709551616", Ok("r18446744073709552000"));
    number("NUMERIC", u64_max, Err("22003"));
    number("TEXT", u64_max, Ok("t18446744073709551615"));
    number("", u64_max, Ok("t18446744073709551615"));
    number("INTEGER", "1e3", Ok("i1000"));
    number("INTEGER", "1.5", Err("22P02"));
    number("REAL", "1e999", Err("22003"));
    number("TEXT", "1.10", Ok("t1.10"));
    number("NUMERIC", "1.10", Ok("r1.1"));
}

#[test]
fn decimals_are_exact_or_refused() {
    let schema = SchemaBuilder::decimal(2).build().unwrap();
    let decimal = |text: &str| {
        let (unscaled, scale) = decimal_from_text(text).unwrap();
        Value::Decimal { unscaled, scale }
    };
    let long = "12345678901234567890.12";
    check("TEXT", Some(&schema), &decimal("12.50"), Ok("t12.50"));
    for scale in [i32::MIN, -20_001, 20_001, i32::MAX] {
        let far = Value::Decimal { unscaled: vec![1], scale };
        check("TEXT", Some(&schema), &far, Err("22003"));
    }
    check("TEXT", Some(&schema), &decimal(long), Ok("t12345678901234567890.12"));
    check("DECIMAL(10,2)", Some(&schema), &decimal("12.50"), Ok("r12.5"));
    check("DECIMAL(10,2)", Some(&schema), &decimal("12.00"), Ok("i12"));
    check("DECIMAL(10,2)", Some(&schema), &decimal(long), Err("22003"));
    check("INTEGER", Some(&schema), &decimal("12.50"), Err("22P02"));
    check("INTEGER", Some(&schema), &decimal("-7.00"), Ok("i-7"));
    check("REAL", Some(&schema), &decimal("0.000000000123"), Ok("r0.000000000123"));
}

#[test]
fn dates_follow_the_declared_type() {
    let date = SchemaBuilder::date().build().unwrap();
    let time = SchemaBuilder::time().build().unwrap();
    let timestamp = SchemaBuilder::timestamp().build().unwrap();
    check("DATE", Some(&date), &Value::int(19_783), Ok("t2024-03-01"));
    check("NUMERIC", Some(&date), &Value::int(1), Ok("i86400000"));
    check("TEXT", Some(&time), &Value::int(86_400_000), Ok("t24:00:00.000"));
    check("TEXT", Some(&time), &Value::int(-1), Err("22008"));
    check("DATETIME", Some(&timestamp), &Value::int(-1), Ok("t1969-12-31 23:59:59.999"));
    check("INTEGER", Some(&timestamp), &Value::int(-1), Ok("i-1"));
    check("TEXT", Some(&timestamp), &Value::int(i64::MAX), Err("22008"));
    check("TEXT", Some(&date), &Value::int(i64::MAX), Err("22008"));
    check("BIGINT", Some(&date), &Value::int(i64::MAX), Err("22008"));
}

#[test]
fn timestamps_are_wall_clock_of_the_set_zone() {
    let mut settings = settings();
    settings.timezone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
    let schema = SchemaBuilder::timestamp().build().unwrap();
    let make = |_: &mut Rows| Cell::Int(0, Width::W64);
    let got = encode(&settings, "TEXT", Some(&schema), make);
    assert_eq!(got.as_deref(), Ok("t1970-01-01 02:00:00.000"));
    assert_eq!(encode(&settings, "INTEGER", Some(&schema), make).as_deref(), Ok("i0"));
}

#[test]
fn times_of_day_follow_the_set_zone_under_confluents_name_alone() {
    let mut settings = settings();
    settings.timezone = jiff::tz::TimeZone::fixed(jiff::tz::offset(-2));
    let schema = SchemaBuilder::time().build().unwrap();
    let make = |_: &mut Rows| Cell::Int(3_600_000, Width::W32);
    let got = encode(&settings, "TEXT", Some(&schema), make);
    assert_eq!(got.as_deref(), Ok("t01:00:00.000"));
    settings.types = crate::config::TypeDialect::CJdbc;
    let got = encode(&settings, "TEXT", Some(&schema), make);
    assert_eq!(got.as_deref(), Ok("t23:00:00.000"));
    assert_eq!(encode(&settings, "INTEGER", Some(&schema), make).as_deref(), Ok("i3600000"));
}

#[test]
fn text_must_fit_the_column() {
    let text = |s: &str| Value::Text(s.to_owned());
    check("INTEGER", None, &text(" 12 "), Ok("i12"));
    check("INTEGER", None, &text("abc"), Err("22P02"));
    check("INTEGER", None, &text(""), Err("22P02"));
    check("REAL", None, &text("1.5"), Ok("r1.5"));
    check("UUID", None, &text("0b2e"), Ok("t0b2e"));
    check("NUMERIC", None, &text("12345678901234567890"), Err("22003"));
    check("NUMERIC", None, &text("2024-03-01 00:00:00"), Ok("t2024-03-01 00:00:00"));
    check("TEXT", None, &text("12345678901234567890"), Ok("t12345678901234567890"));
}

#[test]
fn nul_characters_follow_the_option() {
    let value = Value::Text("a\0b".to_owned());
    check("TEXT", None, &value, Err("22021"));
    let mut settings = settings();
    for (handling, expected) in [(NulHandling::Strip, "tab"), (NulHandling::Replace, "ta\u{fffd}b")]
    {
        settings.nul_handling = handling;
        let got = encode(&settings, "TEXT", None, |rows| rows.put_value(None, &value));
        assert_eq!(got.as_deref(), Ok(expected));
    }
}

#[test]
fn bytes_and_nested_values() {
    let bytes = Value::Bytes(vec![0, 255]);
    check("BLOB", None, &bytes, Ok("b[0, 255]"));
    check("TEXT", None, &bytes, Ok("t00ff"));
    check("INTEGER", None, &bytes, Err("22P02"));
    let mut settings = settings();
    settings.bytes_encoding = BytesEncoding::Base64;
    let got = encode(&settings, "TEXT", None, |rows| rows.put_value(None, &bytes));
    assert_eq!(got.as_deref(), Ok("tAP8="));
    let list = Value::List(vec![Value::int(1), Value::Null]);
    check("TEXT", None, &list, Ok("t[1,null]"));
    check("JSON", None, &list, Ok("t[1,null]"));
    check("REAL", None, &list, Err("22P02"));
}
