//! Cases of converters, both ways.

use super::super::dice::Dice;
use super::{schemas, texts, values};
use serde_json::{Value as Json, json};

const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";
const NUMBERS: [&str; 6] = ["Short", "Integer", "Long", "Float", "Double", "Boolean"];

pub(super) fn case(dice: &mut Dice) -> (String, Json) {
    let mut input = match dice.below(10) {
        0..6 => json!({"class": JSON, "config": json_config(dice)}),
        6 => json!({"class": "org.apache.kafka.connect.storage.StringConverter",
            "config": string_config(dice)}),
        7 => json!({"class": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            "config": {}, "use": "header"}),
        _ => {
            let name = if dice.percent(20) { "ByteArray" } else { dice.pick(&NUMBERS) };
            let class = format!("org.apache.kafka.connect.converters.{name}Converter");
            json!({"class": class, "config": {}})
        }
    };
    if input["use"].is_null() && dice.percent(15) {
        input["use"] = json!(dice.pick(&["key", "header"]));
    }
    if dice.percent(50) { to_connect(input, dice) } else { from_connect(input, dice) }
}

fn json_config(dice: &mut Dice) -> Json {
    let mut config = json!({});
    if dice.percent(60) {
        config["schemas.enable"] = json!(dice.pick(&["false", "true", "FALSE"]));
    }
    if dice.percent(30) {
        config["decimal.format"] = json!(dice.pick(&["NUMERIC", "base64", "numeric"]));
    }
    if dice.percent(30) {
        config["replace.null.with.default"] = json!(dice.pick(&["false", "true"]));
    }
    config
}

fn string_config(dice: &mut Dice) -> Json {
    match dice.below(3) {
        0 => {
            json!({"converter.encoding": dice.pick(&["UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16", "utf8"])})
        }
        _ => json!({}),
    }
}

fn from_connect(mut input: Json, dice: &mut Dice) -> (String, Json) {
    if dice.percent(25) {
        input["schema"] = Json::Null;
        input["value"] = values::any(dice, 0);
    } else {
        let class = input["class"].as_str().unwrap_or_default();
        let own = NUMBERS.iter().find(|name| class.ends_with(&format!(".{name}Converter")));
        let own = own.filter(|_| dice.percent(70)).map(|name| match *name {
            "Short" => "int16",
            "Integer" => "int32",
            "Long" => "int64",
            "Float" => "float32",
            "Double" => "float64",
            _ => "boolean",
        });
        let schema = match own {
            Some(kind) => schemas::plain(kind, dice),
            None => schemas::any(dice, 0),
        };
        input["value"] = values::of(&schema, dice);
        input["schema"] = schema;
    }
    ("converter.fromConnectData".to_owned(), input)
}

fn to_connect(mut input: Json, dice: &mut Dice) -> (String, Json) {
    if input["class"] == JSON {
        let text = json_text(dice);
        input["text"] = json!(if dice.percent(90) { text } else { broken(&text, dice) });
    } else if dice.percent(50) {
        input["text"] = json!(texts::text(dice));
    } else if dice.percent(90) {
        input["bytes"] = json!(values::bytes(dice));
    } else {
        input["bytes"] = Json::Null;
    }
    ("converter.toConnectData".to_owned(), input)
}

fn broken(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = dice.below(chars.len() + 1);
    if dice.percent(50) {
        chars.truncate(at);
    } else {
        let extra = ['{', '}', '[', ']', '"', ',', ':', '\\', '0', 'e', ' ', '\u{1}'];
        chars.insert(at, extra.get(dice.below(extra.len())).copied().unwrap_or(' '));
    }
    chars.into_iter().collect()
}

/// An envelope, or JSON as it is.
fn json_text(dice: &mut Dice) -> String {
    if dice.percent(30) {
        return plain(dice, 0);
    }
    let schema = schemas::any(dice, 1);
    let payload = payload(&schema, dice);
    let mut envelope = json!({"schema": json_schema(&schema), "payload": payload});
    match dice.below(30) {
        0 => envelope["extra"] = json!(1),
        1 => envelope["schema"] = Json::Null,
        2 => envelope["schema"]["type"] = json!(dice.pick(&["int", "float64", ""])),
        _ => {}
    }
    envelope.to_string()
}

fn plain(dice: &mut Dice, depth: usize) -> String {
    match dice.below(14) {
        0 | 1 if depth < values::DEPTH_MAX => {
            let items: Vec<String> = (0..dice.below(4)).map(|_| plain(dice, depth + 1)).collect();
            format!("[{}]", items.join(","))
        }
        2..5 if depth < values::DEPTH_MAX => {
            let members: Vec<String> = (0..dice.below(4))
                .map(|_| {
                    let name = dice.pick(&["a", "b", "schema", "payload", "\u{e9}", ""]);
                    format!("{}: {}", json!(name), plain(dice, depth + 1))
                })
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        5 => (*dice.pick(&["null", "true", "false", "-0", "1E5", "1e-7", "0.10", "-1.5e300"]))
            .to_owned(),
        6..8 => values::integer(64, dice).to_string(),
        8 => json!(values::double(dice)).to_string(),
        _ => json!(texts::text(dice)).to_string(),
    }
}

/// A schema of the notation as the converter's JSON.
fn json_schema(schema: &Json) -> Json {
    let schema = match schema {
        Json::String(kind) => json!({"type": kind}),
        schema => schema.clone(),
    };
    let Json::Object(members) = schema else { return schema };
    let mut written = serde_json::Map::new();
    for (name, node) in &members {
        let (name, node) = match name.as_str() {
            "type" => {
                let kind = match node.as_str() {
                    Some("float32") => "float",
                    Some("float64") => "double",
                    other => other.unwrap_or_default(),
                };
                ("type", json!(kind))
            }
            "keys" => ("keys", json_schema(node)),
            "values" if members["type"] == "array" => ("items", json_schema(node)),
            "values" => ("values", json_schema(node)),
            "fields" => {
                let fields = node.as_array().into_iter().flatten().map(|field| {
                    let mut written = json_schema(&field["schema"]);
                    written["field"] = field["name"].clone();
                    written
                });
                ("fields", fields.collect())
            }
            // A default is in the payload's form.
            "default" => ("default", json_value(&Json::Object(members.clone()), node)),
            other => (other, node.clone()),
        };
        written.insert(name.to_owned(), node);
    }
    Json::Object(written)
}

/// A payload of the schema, or now and then of another.
fn payload(schema: &Json, dice: &mut Dice) -> Json {
    if dice.percent(10) {
        let other = schemas::changed(schema, dice);
        let value = values::of(&other, dice);
        return json_value(&other, &value);
    }
    let value = values::of(schema, dice);
    let mut payload = json_value(schema, &value);
    if let Some(members) = payload.as_object_mut()
        && dice.percent(20)
    {
        let name = members.keys().next().cloned();
        name.and_then(|name| members.remove(&name));
    }
    payload
}

/// A value of the notation as the converter's JSON, decimals as base64 or number.
fn json_value(schema: &Json, value: &Json) -> Json {
    let Some((tag, content)) = value.as_object().and_then(|members| members.iter().next()) else {
        return Json::Null;
    };
    match tag.as_str() {
        "f32" | "f64" if content.is_string() => content.clone(),
        "decimal" => json!(content[0].as_str().and_then(|digits| digits.parse::<i64>().ok())),
        "date" if schema["name"].as_str().is_some_and(|name| name.ends_with(".Date")) => {
            json!(content.as_i64().unwrap_or(0).div_euclid(86_400_000))
        }
        "list" => {
            let items = content.as_array().into_iter().flatten();
            items.map(|item| json_value(&schema["values"], item)).collect()
        }
        "map" => {
            let entries = content.as_array().into_iter().flatten();
            let pairs = entries.map(|entry| {
                (json_value(&schema["keys"], &entry[0]), json_value(&schema["values"], &entry[1]))
            });
            if schema["keys"] == "string" {
                let members =
                    pairs.map(|(key, value)| (key.as_str().unwrap_or_default().to_owned(), value));
                Json::Object(members.collect())
            } else {
                pairs.map(|(key, value)| json!([key, value])).collect()
            }
        }
        "struct" => {
            let fields = schema["fields"].as_array().into_iter().flatten();
            let members = fields.map(|field| {
                let name = field["name"].as_str().unwrap_or_default();
                (name.to_owned(), json_value(&field["schema"], &content[name]))
            });
            Json::Object(members.collect())
        }
        _ => content.clone(),
    }
}
