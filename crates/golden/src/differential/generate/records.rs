//! Records: structs and maps that share the names of their fields, and anything else now and then.

use super::super::dice::Dice;
use super::{schemas, values};
use serde_json::{Value as Json, json};

/// Any record.
pub(super) fn any(dice: &mut Dice) -> Json {
    let mut record = json!({"key": part(dice), "value": part(dice)});
    if dice.percent(60) {
        record["topic"] = json!(dice.pick(&["t", "orders", "a.b-1", "", "T_9"]));
    }
    if dice.percent(40) {
        record["partition"] = json!(dice.below(5));
    }
    if dice.percent(70) {
        record["timestamp"] = json!(values::instant(dice).abs());
    }
    if dice.percent(30) {
        record["kind"] = json!("source");
    } else if dice.percent(50) {
        record["offset"] = json!(dice.below(1000));
    }
    if dice.percent(50) {
        let headers: Vec<Json> = (0..dice.below(4)).map(|_| header(dice)).collect();
        record["headers"] = json!(headers);
    }
    record
}

fn header(dice: &mut Dice) -> Json {
    let mut header = if dice.percent(60) {
        let schema = schemas::any(dice, 2);
        json!({"value": values::of(&schema, dice), "schema": schema})
    } else {
        json!({"schema": null, "value": values::any(dice, 2)})
    };
    header["key"] = json!(dice.pick(&["h", "h2", "a", ""]));
    header
}

/// A key or a value.
pub(super) fn part(dice: &mut Dice) -> Json {
    match dice.below(12) {
        0 => json!({"schema": null, "value": null}),
        1 => json!({"schema": null, "value": values::any(dice, 0)}),
        2 | 3 => {
            let schema = schemas::any(dice, 0);
            json!({"value": values::of(&schema, dice), "schema": schema})
        }
        4..8 => json!({"schema": null, "value": map(dice)}),
        _ => {
            let schema = schemas::structure(dice, 1);
            json!({"value": values::of(&schema, dice), "schema": schema})
        }
    }
}

/// A map as plain JSON gives it.
fn map(dice: &mut Dice) -> Json {
    let mut entries = Vec::new();
    for name in schemas::FIELDS {
        if dice.percent(60) {
            entries.push(json!([{"str": name}, values::any(dice, 1)]));
        }
    }
    json!({"map": entries})
}
