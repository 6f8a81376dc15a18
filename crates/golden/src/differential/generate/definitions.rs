//! Cases of configuration definitions: keys of a plugin with texts that are values, or are not.

use super::super::dice::Dice;
use super::{steps, texts};
use serde_json::{Map, Value as Json, json};

const CONVERTERS: [&str; 9] = [
    "json.JsonConverter",
    "storage.StringConverter",
    "converters.ByteArrayConverter",
    "converters.ShortConverter",
    "converters.IntegerConverter",
    "converters.LongConverter",
    "converters.FloatConverter",
    "converters.DoubleConverter",
    "converters.BooleanConverter",
];

/// Every key that a plugin has, and one that none has.
const KEYS: [&str; 38] = [
    "spec",
    "replace.null.with.default",
    "headers",
    "field",
    "field.syntax.version",
    "predicate",
    "delimiter",
    "fields",
    "operation",
    "topic.field",
    "partition.field",
    "offset.field",
    "timestamp.field",
    "static.field",
    "static.value",
    "header",
    "value.literal",
    "replacement",
    "regex",
    "include",
    "exclude",
    "renames",
    "schema.name",
    "schema.version",
    "target.type",
    "format",
    "unix.precision",
    "topic.format",
    "timestamp.format",
    "name",
    "pattern",
    "schemas.enable",
    "schemas.cache.size",
    "decimal.format",
    "schema.content",
    "converter.type",
    "converter.encoding",
    "unknown.key",
];

const TEXTS: [&str; 30] = [
    "",
    " ",
    "a",
    "a,b",
    "a,a",
    ",",
    "a,,b",
    " a , b ",
    "true",
    "FALSE",
    " false ",
    "nope",
    "1",
    "-1",
    "2147483648",
    "1.5",
    "V1",
    "v2",
    "V3",
    "move",
    "copy",
    "MOVE",
    "string",
    "unix",
    "Timestamp",
    "a:int8",
    "a:b,c:d",
    "key",
    "header",
    "seconds",
];

pub(super) fn case(dice: &mut Dice) -> (String, Json) {
    let class = match dice.below(5) {
        0 => format!("org.apache.kafka.connect.{}", dice.pick(&CONVERTERS)),
        1 => {
            let name = dice.pick(&steps::PREDICATES);
            format!("org.apache.kafka.connect.transforms.predicates.{name}")
        }
        _ => steps::class(dice),
    };
    let name = class.rsplit('.').next().unwrap_or_default();
    let name = name.split('$').next().unwrap_or_default();
    let mut config = match steps::config(name, dice) {
        Json::Object(config) => config,
        _ => Map::new(),
    };
    for key in KEYS {
        if dice.percent(12) {
            config.insert(key.to_owned(), text(dice));
        }
    }
    ("configdef.validate".to_owned(), json!({"class": class, "config": config}))
}

fn text(dice: &mut Dice) -> Json {
    match dice.below(10) {
        0 => Json::Null,
        1 => json!(texts::text(dice)),
        2 => json!(dice.pick(&["[", "(a", "a{2", "*", "(?<n>a", "\\", "a|b", "[a-z", "(?x"])),
        _ => json!(dice.pick(&TEXTS)),
    }
}
