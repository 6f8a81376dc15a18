//! The rules of TimestampConverter, each on a record of its own.

use super::*;
use crate::testing::{apply, apply_all, apply_to, config_error, made, map_value, record, text};
use data::Value;

const CLASS: &str = "TimestampConverter$Value";
const PATTERN: (&str, &str) = ("format", "yyyy-MM-dd HH:mm:ss.SSS");

fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.build().unwrap())
}

#[test]
fn every_form_becomes_every_other() {
    let long = Schema::required_of(Type::Int64);
    let string = Schema::required_of(Type::String);
    let timestamp = built(SchemaBuilder::timestamp());
    let forms = [
        (long, Value::int(1_700_000_000_123)),
        (string, text("2023-11-14 22:13:20.123")),
        (timestamp, Value::Instant(1_700_000_000_123)),
    ];
    let date = (built(SchemaBuilder::date()), Value::Instant(1_699_920_000_000));
    let time = (built(SchemaBuilder::time()), Value::Instant(80_000_123));
    for (schema, value) in &forms {
        for (target, (wanted_schema, wanted)) in ["unix", "string", "Timestamp", "Date", "Time"]
            .iter()
            .zip(forms.iter().chain([&date, &time]))
        {
            let settings = [("target.type", *target), PATTERN];
            let (seen, converted) =
                apply(CLASS, &settings, record(Some(schema), value.clone())).unwrap();
            assert_eq!((&seen.unwrap(), &converted), (wanted_schema, wanted), "{target}");
            let bare = apply_to(CLASS, &settings, value.clone()).unwrap();
            assert_eq!(bare, converted, "{target}");
        }
    }
    let settings = [("target.type", "string"), PATTERN];
    for ((schema, value), wanted) in
        [(date, "2023-11-14 00:00:00.000"), (time, "1970-01-01 22:13:20.123")]
    {
        let (_, seen) = apply(CLASS, &settings, record(Some(&schema), value)).unwrap();
        assert_eq!(seen, text(wanted));
    }
}

#[test]
fn days_before_1970_are_cut_down_and_not_towards_zero() {
    for (target, wanted) in [("Date", -86_400_000), ("Time", 86_399_999), ("Timestamp", -1)] {
        let seen = apply_to(CLASS, &[("target.type", target)], Value::int(-1)).unwrap();
        assert_eq!(seen, Value::Instant(wanted));
    }
}

/// B036: microseconds were cut to milliseconds.
#[test]
fn digits_below_the_millisecond_are_kept() {
    let micros = ("unix.precision", "microseconds");
    let pattern = ("format", "yyyy-MM-dd HH:mm:ss.SSSSSS");
    let value = || Value::int(1_731_508_712_229_224);
    for (target, value, wanted) in [
        ("string", value(), text("2024-11-13 14:38:32.229224")),
        ("unix", value(), value()),
        ("Timestamp", value(), Value::Instant(1_731_508_712_229)),
        ("unix", text("2025-08-28 15:01:00.123456"), Value::int(1_756_393_260_123_456)),
        ("string", text("2025-08-28 15:01:00.123456"), text("2025-08-28 15:01:00.123456")),
        ("string", Value::int(-1500), text("1969-12-31 23:59:59.998500")),
        ("Timestamp", Value::int(-1500), Value::Instant(-1)),
    ] {
        let settings = [("target.type", target), micros, pattern];
        assert_eq!(apply_to(CLASS, &settings, value).unwrap(), wanted);
    }
    let settings = [("target.type", "unix"), ("unix.precision", "nanoseconds")];
    assert_eq!(apply_to(CLASS, &settings, Value::int(i64::MAX)).unwrap(), Value::int(i64::MAX));
}

/// B035: a null field failed.
#[test]
fn a_null_field_stays_null_under_the_new_schema() {
    let schema = built(
        SchemaBuilder::structure()
            .field("id", Schema::required_of(Type::Int64))
            .field("ts", built(SchemaBuilder::timestamp().optional())),
    );
    let value = Value::fields(vec![Value::int(1), Value::Null]);
    let settings = [("field", "ts"), ("target.type", "string"), ("format", "yyyy-MM-dd")];
    let (seen, value) = apply(CLASS, &settings, record(Some(&schema), value)).unwrap();
    let wanted = SchemaBuilder::structure()
        .field("id", Schema::required_of(Type::Int64))
        .field("ts", Schema::optional_of(Type::String));
    assert_eq!(*seen.unwrap(), wanted.build().unwrap());
    let Value::Struct(fields) = value else { panic!() };
    assert_eq!(fields.values, [Value::int(1), Value::Null]);
}

#[test]
fn a_struct_keeps_its_optional_flag_and_its_default_is_converted() {
    let of =
        |ts: SchemaBuilder| SchemaBuilder::structure().name("F").optional().field("ts", built(ts));
    let field = SchemaBuilder::timestamp().optional().default(Value::Instant(1000));
    let schema = built(of(field).default(Value::fields(vec![Value::Instant(86_400_001)])));
    let settings = [("field", "ts"), ("target.type", "unix")];
    let (seen, value) =
        apply(CLASS, &settings, record(Some(&schema), Value::fields(vec![Value::Null]))).unwrap();
    let wanted = of(SchemaBuilder::new(Type::Int64).optional());
    let wanted = wanted.default(Value::fields(vec![Value::int(86_400_001)])).build().unwrap();
    assert_eq!(*seen.unwrap(), wanted, "the field's default goes");
    let Value::Struct(fields) = value else { panic!() };
    assert_eq!(fields.values, [Value::int(1000)], "the field's default is used");
    let (seen, value) = apply(CLASS, &settings, record(Some(&schema), Value::Null)).unwrap();
    assert_eq!((&*seen.unwrap(), value), (&wanted, Value::Null));
}

#[test]
fn members_are_converted_and_a_missing_one_is_null() {
    let settings = [("field", "ts"), ("target.type", "Timestamp")];
    let value = map_value(&[("x", text("y")), ("ts", Value::int(5))]);
    let wanted = map_value(&[("x", text("y")), ("ts", Value::Instant(5))]);
    assert_eq!(apply_to(CLASS, &settings, value).unwrap(), wanted);
    let seen = apply_to(CLASS, &settings, map_value(&[])).unwrap();
    assert_eq!(seen, map_value(&[("ts", Value::Null)]));
    assert_eq!(apply_to(CLASS, &settings, Value::Null).unwrap(), Value::Null);
}

#[test]
fn what_is_no_timestamp_is_refused() {
    let unix = [("target.type", "unix")];
    let boolean = Schema::required_of(Type::Boolean);
    let of = SchemaBuilder::structure().field("ts", Schema::optional_of(Type::Boolean));
    let no_format =
        "DataException: Schema Schema{BOOLEAN} does not correspond to a known timestamp \
                     type format"
            .replace("Data", "Connect");
    let one = record(Some(&boolean), Value::Bool(true));
    assert_eq!(apply(CLASS, &unix, one).unwrap_err(), no_format);
    let field = [("target.type", "unix"), ("field", "ts")];
    let one = record(Some(&built(of)), Value::fields(vec![Value::Null]));
    let seen = apply_all(made(CLASS, &field).as_mut(), &[one]);
    assert_eq!(seen, [Err(no_format)], "also of a null");
    for (value, wanted) in [
        (Value::Int(1, data::Width::W32), "class java.lang.Integer objects"),
        (Value::Float(1.0), "class java.lang.Double objects"),
        (text("2024"), "set 'format'"),
    ] {
        let refused = apply_to(CLASS, &unix, value).unwrap_err();
        assert!(refused.starts_with("DataException: ") && refused.contains(wanted), "{refused}");
    }
    let settings = [("target.type", "unix"), ("format", "yyyy-MM")];
    assert_eq!(
        apply_to(CLASS, &settings, text("x")).unwrap_err(),
        "DataException: Could not parse timestamp: value (x) does not match pattern (yyyy-MM)"
    );
    let refused = apply_to(CLASS, &field, text("x")).unwrap_err();
    assert!(refused.contains("[converting timestamp formats], found: java.lang.String"));
}

#[test]
fn what_the_configuration_lacks_is_told_at_once() {
    for (settings, wanted) in [
        (&[][..], "Missing required configuration \"target.type\" which has no default value."),
        (
            &[("target.type", "epoch")],
            "Invalid value epoch for configuration target.type: String must be one of: string, unix, \
             Date, Time, Timestamp",
        ),
        (
            &[("target.type", "string"), ("format", " ")],
            "TimestampConverter requires format option to be specified when using string timestamps",
        ),
        (
            &[("target.type", "unix"), ("format", "yyyy'T")],
            "Invalid value yyyy'T for configuration format: Unterminated quote",
        ),
        (
            &[("target.type", "unix"), ("unix.precision", "Seconds")],
            "Invalid value Seconds for configuration unix.precision: String must be one of: \
             nanoseconds, microseconds, milliseconds, seconds",
        ),
    ] {
        assert_eq!(config_error(CLASS, settings), wanted);
    }
}
