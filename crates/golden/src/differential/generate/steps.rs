//! Cases of transforms and predicates: a configuration of one of them, and records.

use super::super::dice::Dice;
use super::{records, texts, values};
use serde_json::{Map, Value as Json, json};

const PACKAGE: &str = "org.apache.kafka.connect.transforms";

/// The names of transforms; `$` marks those with a form for keys and one for values.
const TRANSFORMS: [&str; 16] = [
    "Cast$",
    "DropHeaders",
    "ExtractField$",
    "Filter",
    "Flatten$",
    "HeaderFrom$",
    "HoistField$",
    "InsertField$",
    "InsertHeader",
    "MaskField$",
    "RegexRouter",
    "ReplaceField$",
    "SetSchemaMetadata$",
    "TimestampConverter$",
    "TimestampRouter",
    "ValueToKey",
];

pub(super) const PREDICATES: [&str; 3] = ["HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"];

pub(super) fn transform(dice: &mut Dice) -> (String, Json) {
    let mut input = json!({});
    if dice.percent(8) {
        let steps: Vec<Json> = (0..1 + dice.below(3)).map(|_| chained(dice)).collect();
        input["chain"] = json!(steps);
    } else {
        input = step(dice);
    }
    if dice.percent(15) {
        let records: Vec<Json> = (0..2 + dice.below(3)).map(|_| records::any(dice)).collect();
        input["records"] = json!(records);
    } else {
        input["record"] = records::any(dice);
    }
    ("transform".to_owned(), input)
}

fn chained(dice: &mut Dice) -> Json {
    let mut step = step(dice);
    if dice.percent(50) {
        step["predicate"] = condition(dice);
        step["negate"] = json!(dice.percent(50));
    }
    step
}

pub(super) fn predicate(dice: &mut Dice) -> (String, Json) {
    let mut input = condition(dice);
    input["record"] = records::any(dice);
    ("predicate".to_owned(), input)
}

fn condition(dice: &mut Dice) -> Json {
    let name = dice.pick(&PREDICATES);
    let class = format!("{PACKAGE}.predicates.{name}");
    json!({"class": class, "config": config(name, dice)})
}

fn step(dice: &mut Dice) -> Json {
    let class = class(dice);
    let name = class.rsplit('.').next().unwrap_or_default();
    let name = name.split('$').next().unwrap_or_default();
    json!({"config": config(name, dice), "class": class})
}

/// The class of a transform.
pub(super) fn class(dice: &mut Dice) -> String {
    let name = dice.pick(&TRANSFORMS);
    match name.strip_suffix('$') {
        Some(name) => format!("{PACKAGE}.{name}${}", dice.pick(&["Key", "Value", "Value"])),
        None => format!("{PACKAGE}.{name}"),
    }
}

/// The name of a field; most records have those of these names.
fn field(dice: &mut Dice) -> String {
    (*dice.pick(&["a", "b", "c", "n", "a", "b", "n", "a.b", "x y", "zz", "n.a", "new"])).to_owned()
}

fn list(dice: &mut Dice, item: impl Fn(&mut Dice) -> String) -> String {
    let len = 1 + dice.below(3);
    (0..len).map(|_| item(dice)).collect::<Vec<_>>().join(",")
}

fn set(config: &mut Map<String, Json>, key: &str, value: impl Into<String>) {
    config.insert(key.to_owned(), Json::String(value.into()));
}

/// A configuration that is right more often than not.
pub(super) fn config(name: &str, dice: &mut Dice) -> Json {
    let mut config = Map::new();
    let c = &mut config;
    match name {
        "Cast" => set(c, "spec", cast_spec(dice)),
        "DropHeaders" => {
            set(c, "headers", list(dice, |dice| (*dice.pick(&["h", "h2", "zz"])).to_owned()));
        }
        "ExtractField" | "HoistField" => set(c, "field", field(dice)),
        "Flatten" if dice.percent(60) => set(c, "delimiter", dice.pick(&[".", "_", "", "--"])),
        "HeaderFrom" => header_from(c, dice),
        "InsertField" => insert_field(c, dice),
        "InsertHeader" => {
            set(c, "header", dice.pick(&["h", "new"]));
            set(c, "value.literal", texts::literal(dice));
        }
        "MaskField" => {
            set(c, "fields", list(dice, field));
            if dice.percent(50) {
                set(c, "replacement", dice.pick(&["x", "0", "7", "1.5", "-1", "300", "****"]));
            }
        }
        "RegexRouter" => {
            set(c, "regex", pattern(dice));
            set(
                c,
                "replacement",
                dice.pick(&["new", "$1", "p-$1-s", "$0", "\\$x", "${n}", "", "$2", "a$"]),
            );
        }
        "ReplaceField" => replace_field(c, dice),
        "SetSchemaMetadata" => {
            if dice.percent(70) {
                set(c, "schema.name", dice.pick(&["N2", "", "a.b.C"]));
            }
            if dice.percent(50) {
                set(c, "schema.version", values::integer(8, dice).to_string());
            }
        }
        "TimestampConverter" => timestamp_converter(c, dice),
        "TimestampRouter" => {
            if dice.percent(70) {
                set(
                    c,
                    "topic.format",
                    dice.pick(&["${topic}-${timestamp}", "${timestamp}", "x", "${topic}"]),
                );
            }
            if dice.percent(70) {
                set(c, "timestamp.format", date_pattern(dice));
            }
        }
        "ValueToKey" => set(c, "fields", list(dice, field)),
        "HasHeaderKey" => set(c, "name", dice.pick(&["h", "h2", "zz", "a"])),
        "TopicNameMatches" => set(c, "pattern", pattern(dice)),
        _ => {}
    }
    if matches!(name, "ExtractField" | "ValueToKey") && dice.percent(30) {
        set(c, "field.syntax.version", dice.pick(&["V1", "V2", "v2"]));
    }
    if dice.percent(25) {
        set(c, "replace.null.with.default", dice.pick(&["false", "true"]));
    }
    Json::Object(config)
}

fn header_from(c: &mut Map<String, Json>, dice: &mut Dice) {
    let len = 1 + dice.below(2);
    let names = |prefix: &str, dice: &mut Dice| {
        (0..len).map(|_| format!("{prefix}{}", field(dice))).collect::<Vec<_>>().join(",")
    };
    set(c, "fields", names("", dice));
    set(c, "headers", names("h_", dice));
    set(c, "operation", dice.pick(&["move", "copy"]));
}

fn cast_spec(dice: &mut Dice) -> String {
    let kind = |dice: &mut Dice| {
        dice.pick(&[
            "int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "string",
        ])
    };
    if dice.percent(40) {
        return kind(dice).to_owned();
    }
    list(dice, |dice| format!("{}:{}", field(dice), kind(dice)))
}

fn insert_field(config: &mut Map<String, Json>, dice: &mut Dice) {
    for key in ["topic.field", "partition.field", "offset.field", "timestamp.field", "static.field"]
    {
        if dice.percent(35) {
            let mark = dice.pick(&["", "!", "?"]);
            set(config, key, format!("{}{mark}", field(dice)));
        }
    }
    if config.contains_key("static.field") && dice.percent(90) {
        set(config, "static.value", texts::text(dice));
    }
}

fn replace_field(config: &mut Map<String, Json>, dice: &mut Dice) {
    if dice.percent(50) {
        set(config, "exclude", list(dice, field));
    }
    if dice.percent(30) {
        set(config, "include", list(dice, field));
    }
    if dice.percent(40) {
        set(config, "renames", list(dice, |dice| format!("{}:r_{}", field(dice), field(dice))));
    }
}

fn timestamp_converter(config: &mut Map<String, Json>, dice: &mut Dice) {
    let target = dice.pick(&["string", "unix", "Date", "Time", "Timestamp"]);
    set(config, "target.type", target);
    if dice.percent(60) {
        set(config, "field", field(dice));
    }
    if target == "string" || dice.percent(50) {
        set(config, "format", date_pattern(dice));
    }
    if dice.percent(40) {
        let precision = dice.pick(&["seconds", "milliseconds", "microseconds", "nanoseconds"]);
        set(config, "unix.precision", precision);
    }
}

fn date_pattern(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        "yyyyMMdd",
        "yyyy-MM-dd HH:mm:ss.SSS",
        "yyyy-MM-dd'T'HH:mm:ss'Z'",
        "EEE, d MMM yyyy",
        "HH:mm",
        "yy-M-d",
        "D",
        "hh:mm a",
        "yyyy-MM-dd HH:mm:ss Z",
        "w W u",
        "G yyyy",
        "YYYY-'W'ww",
        "k:K",
        "z",
        "\u{58}XX",
    ])
}

fn pattern(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        ".*",
        "orders",
        "t|orders",
        "(.*)",
        "(or)(.*)",
        "[a-z]+",
        "a\\.b.*",
        "(?i)T_\\d",
        "(?<n>[a-z])(.*)",
        "^t$",
        "\\w+",
        "",
        "[^o].*",
        "o{1}.*",
        "(?:o|t).*",
        "[a-z&&[^t]]+",
        "\\p{L}+",
    ])
}
