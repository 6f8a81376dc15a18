//! What can be checked of a better behaviour that is only described.

use crate::compare::{Verdict, compare};
use serde_json::{Value as Json, json};

/// Whether our answer can be what `better` says.
pub(super) fn is_met(better: &str, input: &Json, recorded: &Json, seen: &Json) -> bool {
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
    if refused {
        return true;
    }
    // "…, else data error" and the like leave an answer open; one that is refused outright does not.
    let must_be_refused =
        ["data error", "config error"].iter().any(|word| better.starts_with(word));
    !must_be_refused && compare(input, recorded, seen) != Verdict::Same
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
        let met = |better: &str, seen: &Json| is_met(better, &input, &recorded, seen);
        assert!(met("data error that names it", &data));
        assert!(!met("data error that names it", &other) && !met("data error", &config));
        assert!(met("config error", &config) && !met("config error", &data));
        assert!(met("config error where it shows, else data error", &data));
        assert!(met("STRING with the whole text", &whole));
        assert!(!met("STRING with the whole text", &other));
        assert!(met("set the scale where that is exact, else data error", &other));
        assert!(met("keep them", &other) && !met("keep them", &recorded));
    }
}
