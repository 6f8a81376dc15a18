//! Values of every class, and cases of `Values`.

use super::super::dice::Dice;
use super::{schemas, texts};
use crate::notation::write_float;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// Levels of lists, maps and structs inside each other.
pub(super) const DEPTH_MAX: usize = 3;

pub(super) fn case(dice: &mut Dice) -> (String, Json) {
    match dice.below(10) {
        0..4 => ("values.parseString".to_owned(), json!({"text": texts::literal(dice)})),
        4 => ("values.inferSchema".to_owned(), json!({"value": any(dice, 0)})),
        _ => {
            const TARGETS: [&str; 15] = [
                "Boolean",
                "Byte",
                "Short",
                "Integer",
                "Long",
                "Float",
                "Double",
                "String",
                "Date",
                "Time",
                "Timestamp",
                "List",
                "Map",
                "Struct",
                "Decimal",
            ];
            let target = dice.pick(&TARGETS);
            let mut input = pair(dice);
            if target == "Decimal" {
                input["scale"] = json!(dice.below(5));
            }
            (format!("values.convertTo{target}"), input)
        }
    }
}

/// A value with its schema or without one; text more often than anything else.
fn pair(dice: &mut Dice) -> Json {
    match dice.below(10) {
        0..3 => {
            json!({"schema": schemas::plain("string", dice), "value": {"str": texts::literal(dice)}})
        }
        3 => json!({"schema": null, "value": {"str": texts::literal(dice)}}),
        4..6 => json!({"schema": null, "value": any(dice, 0)}),
        _ => {
            let schema = schemas::any(dice, 1);
            json!({"value": of(&schema, dice), "schema": schema})
        }
    }
}

/// An integer of so many bits, corners first.
pub(super) fn integer(bits: u32, dice: &mut Dice) -> i64 {
    let (min, max) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
    match dice.below(9) {
        0 => min,
        1 => max,
        2 => 0,
        3 => 1,
        4 => -1,
        5 => dice.below(100) as i64,
        6 => min.wrapping_add(dice.below(3) as i64),
        _ => (dice.bits() as i64) >> (64 - bits),
    }
}

pub(super) fn double(dice: &mut Dice) -> f64 {
    const CORNERS: [f64; 20] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        1.5,
        -2.5,
        1e7,
        9_999_999.0,
        1e-3,
        1e-4,
        1e300,
        5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        9_223_372_036_854_775_807.0,
        16_777_217.0,
    ];
    match dice.below(4) {
        0 => f64::from_bits(dice.bits()),
        1 => (dice.bits() as i64 >> 40) as f64 / 1000.0,
        _ => CORNERS.get(dice.below(CORNERS.len())).copied().unwrap_or(0.0),
    }
}

fn single(dice: &mut Dice) -> f32 {
    const CORNERS: [f32; 6] =
        [f32::MAX, f32::MIN_POSITIVE, 1.4e-45, 16_777_216.0, 3.402_823_3e38, 0.1];
    match dice.below(4) {
        0 => f32::from_bits(dice.bits() as u32),
        1 => CORNERS.get(dice.below(CORNERS.len())).copied().unwrap_or(0.0),
        _ => double(dice) as f32,
    }
}

/// Milliseconds since the epoch within the years that formats can write, mostly.
pub(super) fn instant(dice: &mut Dice) -> i64 {
    const CORNERS: [i64; 8] = [
        0,
        -1,
        1,
        86_399_999,
        86_400_000,
        1_709_210_096_007,
        -62_135_596_800_000,
        253_402_300_799_999,
    ];
    match dice.below(3) {
        0 => CORNERS.get(dice.below(CORNERS.len())).copied().unwrap_or(0),
        _ => (dice.bits() as i64) % 100_000_000_000_000,
    }
}

fn digits(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => integer(64, dice).to_string(),
        1 => format!("{}{:019}", integer(64, dice), dice.bits() >> 2),
        _ => (dice.below(2_000_000) as i64 - 1_000_000).to_string(),
    }
}

pub(super) fn bytes(dice: &mut Dice) -> String {
    let len = dice.below(10);
    let bytes: Vec<u8> = (0..len).map(|_| dice.bits() as u8).collect();
    STANDARD.encode(bytes)
}

/// A value of this class.
pub(super) fn class(tag: &str, dice: &mut Dice) -> Json {
    match tag {
        "i8" => json!({"i8": integer(8, dice)}),
        "i16" => json!({"i16": integer(16, dice)}),
        "i32" => json!({"i32": integer(32, dice)}),
        "i64" => json!({"i64": integer(64, dice)}),
        "f32" => json!({"f32": write_float(f64::from(single(dice)))}),
        "f64" => json!({"f64": write_float(double(dice))}),
        "bool" => json!({"bool": dice.percent(50)}),
        "bytes" => json!({"bytes": bytes(dice)}),
        "decimal" => json!({"decimal": [digits(dice), dice.below(8) as i64 - 2]}),
        "bigint" => json!({"bigint": digits(dice)}),
        "date" => json!({"date": instant(dice)}),
        _ => json!({"str": texts::text(dice)}),
    }
}

/// A value without a schema.
pub(super) fn any(dice: &mut Dice, depth: usize) -> Json {
    const TAGS: [&str; 12] = [
        "i8", "i16", "i32", "i64", "f32", "f64", "bool", "bytes", "decimal", "bigint", "date",
        "str",
    ];
    match dice.below(20) {
        0..2 => Json::Null,
        2..4 if depth < DEPTH_MAX => {
            let len = dice.below(4);
            let tag = dice.pick(&TAGS);
            let one_class = dice.percent(50);
            let item =
                |dice: &mut Dice| if one_class { class(tag, dice) } else { any(dice, depth + 1) };
            json!({"list": (0..len).map(|_| item(dice)).collect::<Vec<_>>()})
        }
        4..6 if depth < DEPTH_MAX => {
            let len = dice.below(4);
            let entries: Vec<Json> = (0..len)
                .map(|number| {
                    let key = match dice.below(8) {
                        0 => json!({"i32": number}),
                        _ => json!({"str": format!("k{number}")}),
                    };
                    json!([key, any(dice, depth + 1)])
                })
                .collect();
            json!({"map": entries})
        }
        6..10 => class("str", dice),
        _ => class(dice.pick(&TAGS), dice),
    }
}

/// A value of this schema; null now and then where it may be.
pub(super) fn of(schema: &Json, dice: &mut Dice) -> Json {
    if schema["optional"] == true && dice.percent(20) {
        return Json::Null;
    }
    present(schema, dice)
}

/// A value of this schema, not null.
pub(super) fn present(schema: &Json, dice: &mut Dice) -> Json {
    let name = schema["name"].as_str().and_then(|name| name.rsplit('.').next());
    match (name, schema["type"].as_str().or(schema.as_str()).unwrap_or_default()) {
        (Some("Decimal"), _) => {
            let scale = schema["parameters"]["scale"].as_str().and_then(|scale| scale.parse().ok());
            json!({"decimal": [digits(dice), scale.unwrap_or(0i64)]})
        }
        (Some("Date"), _) => json!({"date": instant(dice).div_euclid(86_400_000) * 86_400_000}),
        (Some("Time"), _) => json!({"date": dice.below(86_400_000)}),
        (Some("Timestamp"), _) => json!({"date": instant(dice)}),
        (_, "array") => {
            let len = dice.below(4);
            json!({"list": (0..len).map(|_| of(&schema["values"], dice)).collect::<Vec<_>>()})
        }
        (_, "map") => {
            let len = dice.below(4);
            let mut entries: Vec<Json> = Vec::new();
            for _ in 0..len {
                let key = of(&schema["keys"], dice);
                if entries.iter().all(|entry| entry[0] != key) {
                    entries.push(json!([key, of(&schema["values"], dice)]));
                }
            }
            json!({"map": entries})
        }
        (_, "struct") => {
            let fields = schema["fields"].as_array().into_iter().flatten();
            let members = fields.map(|field| {
                let name = field["name"].as_str().unwrap_or_default().to_owned();
                (name, of(&field["schema"], dice))
            });
            json!({"struct": members.collect::<serde_json::Map<_, _>>()})
        }
        (_, kind) => {
            let tag = match kind {
                "int8" => "i8",
                "int16" => "i16",
                "int32" => "i32",
                "int64" => "i64",
                "float32" => "f32",
                "float64" => "f64",
                "boolean" => "bool",
                "bytes" => "bytes",
                _ => "str",
            };
            class(tag, dice)
        }
    }
}
