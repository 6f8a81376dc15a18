//! What can be checked of a better behaviour that is only described.
//!
//! Ids are listed by the group, and now and then Connect's own answer to one of a group is right. Of
//! conversions from JSON that is decided by writing the value again: an answer that gives the input
//! back has lost nothing, so there is no better one.

use crate::compare::{Verdict, compare};
use crate::operations::{Surroundings, answer};
use serde_json::{Value as Json, json};

/// Whether our answer can be what `better` says.
pub(super) fn is_met(better: &str, case: &Json, seen: &Json) -> bool {
    let (input, recorded) = (&case["input"], &case["output"]);
    let at = seen["error"]["at"].as_str();
    let is_answer = seen["error"]["class"].as_str().is_none_or(|class| class.contains('.'));
    if !is_answer {
        return false;
    }
    let whole = json!({"schema": "string", "value": {"str": input["text"]}});
    if better.starts_with("STRING with the whole text") {
        return compare(input, &whole, seen) == Verdict::Same;
    }
    let refused = match (better.contains("data error"), better.contains("config error")) {
        (true, true) => at.is_some(),
        (true, false) => at == Some("apply"),
        (false, true) => at == Some("configure"),
        (false, false) => false,
    };
    let missing = "Missing required configuration";
    let names_missing = better == missing && seen.to_string().contains(missing);
    if refused || names_missing || loses_nothing(case, seen) {
        return true;
    }
    // "data error; without a schema …" and the like leave an answer open.
    let outright = ["data error", "config error"].iter().any(|word| better.starts_with(word));
    let must_be_refused = outright && !better.contains(';');
    !must_be_refused && compare(input, recorded, seen) != Verdict::Same
}

/// Whether what was read from JSON is written as the same JSON again.
fn loses_nothing(case: &Json, seen: &Json) -> bool {
    let input = &case["input"];
    if case["op"] != "converter.toConnectData" || seen.get("value").is_none() {
        return false;
    }
    let again = json!({"op": "converter.fromConnectData", "input": {
        "class": input["class"], "config": input["config"], "use": input["use"],
        "schema": seen["schema"], "value": seen["value"],
    }});
    let written = answer(&again, &Surroundings::default());
    let text = written.as_ref().and_then(|written| written["text"].as_str());
    let payload = |text: Option<&str>| {
        let node: Json = serde_json::from_str(text?).ok()?;
        let is_envelope = node.get("schema").is_some() && node.get("payload").is_some();
        Some(if is_envelope { node["payload"].clone() } else { node })
    };
    let read = payload(input["text"].as_str());
    read.is_some() && read == payload(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{At, Fault};

    #[test]
    fn prose_decides_as_far_as_it_can() {
        let input = json!({"text": "1 x"});
        let recorded = json!({"schema": "int8", "value": {"i8": 1}});
        let data = Fault::data("m").answer(At::Apply);
        let config = Fault::new(crate::fault::CONFIG, "m").answer(At::Configure);
        let whole = json!({"schema": "string", "value": {"str": "1 x"}});
        let other = json!({"schema": "int16", "value": {"i16": 1}});
        let case = json!({"op": "values.parseString", "input": input, "output": recorded});
        let met = |better: &str, seen: &Json| is_met(better, &case, seen);
        assert!(met("data error that names it", &data));
        assert!(!met("data error that names it", &other) && !met("data error", &config));
        assert!(met("config error", &config) && !met("config error", &data));
        assert!(met("config error where it shows, else data error", &data));
        assert!(met("STRING with the whole text", &whole));
        assert!(!met("STRING with the whole text", &other));
        assert!(met("set the scale where that is exact, else data error", &other));
        assert!(met("keep them", &other) && !met("keep them", &recorded));
    }

    #[test]
    fn an_answer_that_can_be_written_again_needs_no_better_one() {
        let read = |payload: &str, value: Json| {
            let text = format!("{{\"schema\":{{\"type\":\"boolean\"}},\"payload\":{payload}}}");
            let class = "org.apache.kafka.connect.json.JsonConverter";
            let output = json!({"schema": "boolean", "value": value});
            let case = json!({
                "op": "converter.toConnectData",
                "input": {"class": class, "config": {}, "text": text},
                "output": output,
            });
            is_met("data error that names it", &case, &output)
        };
        assert!(read("true", json!({"bool": true})));
        assert!(!read("\"x\"", json!({"bool": false})));
    }
}
