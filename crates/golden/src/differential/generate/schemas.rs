//! Schemas of every type, changed schemas, and cases of schemas, structs, notation and projection.

use super::super::dice::Dice;
use super::values::{self, DEPTH_MAX};
use super::{records, texts};
use serde_json::{Value as Json, json};

const PRIMITIVES: [&str; 9] =
    ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "bytes"];
pub(super) const FIELDS: [&str; 6] = ["a", "b", "c", "n", "a.b", "x y"];

pub(super) fn case(dice: &mut Dice) -> (String, Json) {
    match dice.below(10) {
        0 => ("schema.build".to_owned(), json!({"schema": maybe_broken(dice)})),
        1 => {
            let a = any(dice, 0);
            let b = if dice.percent(50) { a.clone() } else { changed(&a, dice) };
            ("schema.equals".to_owned(), json!({"a": a, "b": b}))
        }
        2..6 => {
            let schema = any(dice, 0);
            let value = match dice.below(3) {
                0 => values::any(dice, 1),
                1 => values::of(&changed(&schema, dice), dice),
                _ => values::of(&schema, dice),
            };
            let mut input = json!({"schema": schema, "value": own_schemas(value)});
            if dice.percent(30) {
                input["name"] = json!("f");
            }
            ("schema.validate".to_owned(), input)
        }
        6 => ("record.echo".to_owned(), json!({"record": records::any(dice)})),
        7 => ("struct".to_owned(), calls(dice)),
        8 => ("value.echo".to_owned(), json!({"schema": null, "value": values::any(dice, 0)})),
        _ => {
            let schema = any(dice, 0);
            ("value.echo".to_owned(), json!({"value": values::of(&schema, dice), "schema": schema}))
        }
    }
}

/// Structs under a schema of another shape do not fit: such values are left out.
fn own_schemas(value: Json) -> Json {
    if value.to_string().contains("\"struct\"") { Json::Null } else { value }
}

fn calls(dice: &mut Dice) -> Json {
    const GETTERS: [&str; 10] = [
        "get",
        "getWithoutDefault",
        "getInt8",
        "getInt32",
        "getInt64",
        "getString",
        "getFloat64",
        "getBytes",
        "getArray",
        "getMap",
    ];
    let schema = structure(dice, DEPTH_MAX - 1);
    let mut calls = Vec::new();
    for _ in 0..dice.below(12) {
        let fields = schema["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
        let field = fields.get(dice.below(fields.len() + 1));
        let name = field.map_or("zz", |field| field["name"].as_str().unwrap_or_default());
        calls.push(match dice.below(6) {
            0 => json!(["validate"]),
            1..4 => {
                let value = match field {
                    Some(field) if dice.percent(70) => values::of(&field["schema"], dice),
                    _ => own_schemas(values::any(dice, 2)),
                };
                json!(["put", name, value])
            }
            _ => json!([dice.pick(&GETTERS), name]),
        });
    }
    json!({"schema": schema, "calls": calls})
}

pub(super) fn projection(dice: &mut Dice) -> (String, Json) {
    let source = any(dice, 0);
    let target = match dice.below(5) {
        0 => source.clone(),
        1 => any(dice, 1),
        2 => changed(&changed(&source, dice), dice),
        _ => changed(&source, dice),
    };
    let value = values::of(&source, dice);
    ("schema.project".to_owned(), json!({"source": source, "target": target, "value": value}))
}

/// A primitive schema, optional or with a default now and then.
pub(super) fn plain(kind: &str, dice: &mut Dice) -> Json {
    adorned(json!({"type": kind}), dice)
}

/// Any schema.
pub(super) fn any(dice: &mut Dice, depth: usize) -> Json {
    let inner = depth < DEPTH_MAX;
    match dice.below(20) {
        0..3 => logical(dice),
        3..5 if inner => adorned(json!({"type": "array", "values": any(dice, depth + 1)}), dice),
        5..7 if inner => {
            let keys = if dice.percent(80) {
                json!("string")
            } else {
                plain(dice.pick(&PRIMITIVES), dice)
            };
            adorned(json!({"type": "map", "keys": keys, "values": any(dice, depth + 1)}), dice)
        }
        7..12 if inner => structure(dice, depth),
        _ => plain(dice.pick(&PRIMITIVES), dice),
    }
}

/// A logical schema of Connect's own.
fn logical(dice: &mut Dice) -> Json {
    let (kind, name) = match dice.below(4) {
        0 => ("int32", "Date"),
        1 => ("int32", "Time"),
        2 => ("int64", "Timestamp"),
        _ => ("bytes", "Decimal"),
    };
    let mut schema = json!({
        "type": kind, "name": format!("org.apache.kafka.connect.data.{name}"), "version": 1,
    });
    if name == "Decimal" {
        schema["parameters"] = json!({"scale": (dice.below(7) as i64 - 1).to_string()});
    }
    optional_or_default(schema, dice)
}

/// A struct of a few fields, which share their names with those of other structs.
pub(super) fn structure(dice: &mut Dice, depth: usize) -> Json {
    let mut fields: Vec<Json> = Vec::new();
    for name in FIELDS {
        if dice.percent(55) {
            fields.push(json!({"name": name, "schema": any(dice, depth + 1)}));
        }
    }
    adorned(json!({"type": "struct", "fields": fields}), dice)
}

fn optional_or_default(mut schema: Json, dice: &mut Dice) -> Json {
    if dice.percent(40) {
        schema["optional"] = json!(true);
    }
    if dice.percent(15) && takes_default(&schema) {
        // Not null: a null default is none.
        schema["default"] = values::present(&schema, dice);
    }
    schema
}

/// The notation has no way to say a default of structs in a list or map.
fn takes_default(schema: &Json) -> bool {
    schema["type"] == "struct" || !schema.to_string().contains("\"struct\"")
}

fn adorned(mut schema: Json, dice: &mut Dice) -> Json {
    if dice.percent(8) {
        schema["name"] = json!(dice.pick(&["N", "org.example.Thing", ""]));
    }
    if dice.percent(8) {
        schema["version"] = json!(dice.below(3));
    }
    if dice.percent(5) {
        schema["doc"] = json!(texts::text(dice));
    }
    if dice.percent(5) {
        schema["parameters"] = json!({"p": "1", "q": texts::text(dice)});
    }
    optional_or_default(schema, dice)
}

/// A schema that differs in one place.
pub(super) fn changed(schema: &Json, dice: &mut Dice) -> Json {
    let mut schema = match schema {
        Json::String(kind) => json!({"type": kind}),
        schema => schema.clone(),
    };
    match dice.below(8) {
        0 => schema["optional"] = json!(schema["optional"] != true),
        1 => {
            schema["name"] = json!("M");
            drop_default(&mut schema);
        }
        2 => schema["version"] = json!(9),
        3 if schema["default"].is_null() && takes_default(&schema) => {
            schema["default"] = values::present(&schema, dice);
        }
        3 => drop_default(&mut schema),
        4 | 5 if schema["fields"].is_array() => {
            drop_default(&mut schema);
            change_fields(&mut schema, dice);
        }
        4 | 5 if !schema["values"].is_null() => {
            drop_default(&mut schema);
            schema["values"] = changed(&schema["values"].clone(), dice);
        }
        6 => schema["doc"] = json!("other"),
        _ => return plain(dice.pick(&PRIMITIVES), dice),
    }
    schema
}

fn drop_default(schema: &mut Json) {
    if let Some(members) = schema.as_object_mut() {
        members.remove("default");
    }
}

fn change_fields(schema: &mut Json, dice: &mut Dice) {
    let Some(fields) = schema["fields"].as_array_mut() else { return };
    let at = dice.below(fields.len());
    match dice.below(3) {
        0 => fields.push(json!({"name": "new", "schema": plain(dice.pick(&PRIMITIVES), dice)})),
        1 if !fields.is_empty() => {
            fields.remove(at);
        }
        _ => {
            if let Some(field) = fields.get_mut(at) {
                field["schema"] = changed(&field["schema"].clone(), dice);
            }
        }
    }
}

/// A schema that a builder may refuse.
fn maybe_broken(dice: &mut Dice) -> Json {
    let mut schema = any(dice, 1);
    match dice.below(6) {
        0 => schema["default"] = values::class(dice.pick(&["i8", "str", "bytes", "date"]), dice),
        1 if schema["fields"].is_array() => {
            let field = json!({"name": dice.pick(&["a", "b", ""]), "schema": "int8"});
            if let Some(fields) = schema["fields"].as_array_mut() {
                fields.push(field);
            }
        }
        2 if !schema["values"].is_null() => schema["values"] = Json::Null,
        _ => {}
    }
    schema
}
