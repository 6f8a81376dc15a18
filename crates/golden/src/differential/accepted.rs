//! Deliberate differences, one rule each. A rule knows the case and both answers, never an id.
//!
//! `docs/compatibility.md` says the same for users; a rule here is as narrow as its reason.

use crate::compare::{Verdict, compare};
use crate::notation::read_value;
use data::{Value, values};
use serde_json::{Value as Json, json};

/// A case with Connect's answer, and ours.
struct Answers<'a> {
    op: &'a str,
    input: &'a Json,
    wanted: &'a Json,
    seen: &'a Json,
}

impl Answers<'_> {
    fn class_is(&self, name: &str) -> bool {
        let class = self.input["class"].as_str().unwrap_or_default();
        class.rsplit('.').next() == Some(name)
    }

    fn wanted_message(&self) -> &str {
        self.wanted["error"]["message"].as_str().unwrap_or_default()
    }

    fn seen_message(&self) -> &str {
        self.seen["error"]["message"].as_str().unwrap_or_default()
    }

    fn connect_answers(&self) -> bool {
        self.wanted.get("error").is_none()
    }

    fn we_answer(&self) -> bool {
        self.seen.get("error").is_none()
    }

    fn reads_json(&self) -> bool {
        self.op == "converter.toConnectData" && self.class_is("JsonConverter")
    }
}

/// A deliberate difference.
struct Rule {
    name: &'static str,
    covers: fn(&Answers<'_>) -> bool,
}

const RULES: [Rule; 25] = [
    // Connect drops what follows a literal, and lets dates that do not exist roll over.
    Rule {
        name: "text that is not wholly a literal stays text",
        covers: |answers| {
            let reads =
                answers.op == "values.parseString" || answers.class_is("SimpleHeaderConverter");
            reads
                && answers.connect_answers()
                && given_text(answers.input)
                    .is_some_and(|text| answers.seen["value"]["str"] == text)
        },
    },
    Rule {
        name: "a header's literal that is not wholly one is text",
        covers: |answers| {
            uses(answers, "InsertHeader")
                && answers.we_answer()
                && literals(answers.input).into_iter().any(stays_text)
        },
    },
    Rule {
        name: "text that is not wholly a literal is no number, date, list or map",
        covers: |answers| {
            answers.op.starts_with("values.convertTo")
                && !answers.we_answer()
                && answers.input["value"]["str"].as_str().is_some_and(stays_text)
        },
    },
    // To Connect two byte arrays in a list are two objects.
    Rule {
        name: "schemas with the same bytes inside a default are equal",
        covers: |answers| {
            let text = answers.input.to_string();
            let nested = ["\"default\":{\"list\":", "\"default\":{\"map\":"];
            answers.op == "schema.equals"
                && answers.seen["result"] == true
                && text.contains("{\"bytes\":")
                && nested.iter().any(|part| text.contains(part))
        },
    },
    // Java 17 prints more digits of some doubles than are needed to tell them apart.
    Rule { name: "the shortest digits of a double", covers: is_same_double },
    Rule {
        name: "a list or map of nulls has no schema, instead of a failure",
        covers: |answers| {
            answers.op == "values.inferSchema"
                && answers.wanted_message() == "type cannot be null"
                && answers.seen["schema"].is_null()
        },
    },
    Rule { name: "the default of a struct is one of its schema", covers: has_struct_default },
    // Connect reads 0, false or null, and cuts or wraps numbers.
    Rule {
        name: "JSON of another kind than its schema, or a number out of its range, is refused",
        covers: |answers| {
            answers.reads_json() && answers.seen_message().starts_with("Invalid value for ")
        },
    },
    Rule {
        name: "bytes after the first JSON value are refused",
        covers: |answers| {
            answers.reads_json()
                && answers.connect_answers()
                && answers.seen_message().contains("expected the end")
        },
    },
    Rule {
        name: "integers beyond 64 bits are read and written exactly",
        covers: |answers| {
            let has = |node: &Json| node.to_string().contains("\"bigint\"");
            let reads = answers.reads_json() && has(answers.seen);
            let writes = answers.op == "converter.fromConnectData"
                && has(answers.input)
                && answers.wanted_message().contains("java.math.BigInteger");
            answers.we_answer() && (reads || writes)
        },
    },
    Rule {
        name: "a decimal takes its schema's scale",
        covers: |answers| {
            answers.reads_json()
                && answers.we_answer()
                && answers.seen["schema"].to_string().contains("data.Decimal")
                && same_but(answers, &["decimal"])
        },
    },
    // Connect takes the number's own scale, and cannot write the value again.
    Rule {
        name: "a decimal whose schema has no scale is refused",
        covers: |answers| {
            answers.reads_json()
                && answers.connect_answers()
                && answers.seen_message().starts_with("Invalid Decimal schema: ")
        },
    },
    // Connect's dates have milliseconds.
    Rule {
        name: "digits below the millisecond are kept",
        covers: |answers| {
            let precision = answers.input.to_string();
            let fine = ["microseconds", "nanoseconds"].iter().any(|unit| precision.contains(unit));
            uses(answers, "TimestampConverter") && fine && same_but(answers, &["i64", "str"])
        },
    },
    // Connect's calendar wraps around: the day of the first millisecond is one of the far future.
    Rule {
        name: "the first day of all is no later one",
        covers: |answers| {
            uses(answers, "TimestampConverter")
                && answers.input.to_string().contains(&i64::MIN.to_string())
                && same_but(answers, &["date"])
        },
    },
    // Connect writes the identity of a Java object.
    Rule {
        name: "bytes have no text form",
        covers: |answers| {
            answers.class_is("StringConverter")
                && answers.connect_answers()
                && answers.seen_message().starts_with("bytes have no text form")
        },
    },
    Rule {
        name: "an absent field takes its default, whatever is set for nulls",
        covers: |answers| {
            answers.reads_json()
                && answers.input["config"]["replace.null.with.default"] == "false"
                && answers.input["text"].as_str().is_some_and(|text| text.contains("\"default\""))
                && answers.we_answer()
        },
    },
    // Connect's calendar keeps the era, and the time of a day before Christ is out of its range.
    Rule {
        name: "a timestamp before the year 1 has a time of day",
        covers: |answers| {
            const YEAR_1_MS: i64 = -62_135_596_800_000;
            answers.op == "values.convertToTime"
                && answers.we_answer()
                && answers.input["value"]["date"].as_i64().is_some_and(|ms| ms < YEAR_1_MS)
        },
    },
    // Connect's validation refuses it too; the plugin itself drops the repetition with a warning.
    Rule {
        name: "a list with an item twice is refused by the plugin as by the validation",
        covers: |answers| {
            answers.seen["error"]["at"] == "configure"
                && answers.seen_message().ends_with("values must not be duplicated.")
        },
    },
    Rule {
        name: "renames onto each other, or of one field twice, are refused",
        covers: |answers| {
            let by_config = answers.seen_message().contains("Invalid rename mapping: ");
            let by_record = answers.seen_message().starts_with("Cannot rename field ");
            uses(answers, "ReplaceField") && (by_config || by_record)
        },
    },
    Rule {
        name: "SetSchemaMetadata works on any schema",
        covers: |answers| {
            uses(answers, "SetSchemaMetadata")
                && answers.wanted_message() == "Cannot list fields on non-struct type"
        },
    },
    Rule {
        name: "a required field that InsertField cannot fill is refused",
        covers: |answers| {
            uses(answers, "InsertField")
                && answers.seen["error"]["class"] == crate::fault::DATA
                && answers.input.to_string().contains("!\"")
        },
    },
    Rule {
        name: "Flatten keeps leaves of any class",
        covers: |answers| {
            let message = answers.wanted_message();
            uses(answers, "Flatten")
                && message.starts_with("Flatten transformation was passed a value of type class ")
        },
    },
    Rule {
        name: "errors of definitions name value and key, no null pointer, and repeated renames",
        covers: |answers| {
            answers.op == "configdef.validate"
                && differing_errors(answers).is_some_and(|all| {
                    all.into_iter().all(|(wanted, seen)| {
                        let named = ["No enum constant", "this.pattern"];
                        let stumbles = named.iter().any(|part| wanted.contains(part));
                        stumbles && !seen.is_empty() || seen.contains("Invalid rename mapping: ")
                    })
                })
        },
    },
    Rule {
        name: "a null in a configuration is no null pointer",
        covers: |answers| {
            answers.op == "configdef.validate"
                && answers.we_answer()
                && answers.wanted["error"]["class"] == "java.lang.NullPointerException"
        },
    },
    Rule {
        name: "a masked decimal has its schema's scale",
        covers: |answers| {
            let unfit = answers.seen_message().contains(" does not fit the scale ");
            uses(answers, "MaskField") && (unfit || same_but(answers, &["decimal"]))
        },
    },
];

/// The rule that a difference falls under.
pub(super) fn rule(case: &Json, seen: &Json) -> Option<&'static str> {
    let (input, wanted) = (&case["input"], &case["output"]);
    let answers = Answers { op: case["op"].as_str()?, input, wanted, seen };
    RULES.iter().find(|rule| (rule.covers)(&answers)).map(|rule| rule.name)
}

/// The errors of keys that differ, wanted and seen; `None` where more than errors does.
fn differing_errors(answers: &Answers<'_>) -> Option<Vec<(String, String)>> {
    let (wanted, seen) =
        (answers.wanted["configs"].as_array()?, answers.seen["configs"].as_array()?);
    let mut differing = Vec::new();
    for (wanted, seen) in wanted.iter().zip(seen) {
        if wanted["name"] != seen["name"] || wanted["value"] != seen["value"] {
            return None;
        }
        if wanted["errors"] != seen["errors"] {
            let text = |errors: &Json| {
                errors.as_array().into_iter().flatten().map(Json::to_string).collect()
            };
            differing.push((text(&wanted["errors"]), text(&seen["errors"])));
        }
    }
    (wanted.len() == seen.len()).then_some(differing)
}

/// The text that a case gives, as text or as bytes.
fn given_text(input: &Json) -> Option<String> {
    let bytes = crate::text::read_bytes(input).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a text is read as itself.
fn stays_text(text: &str) -> bool {
    let whole = |(_, value)| value == Value::Text(text.to_owned());
    values::parse_string(text).is_some_and(whole)
}

/// The literals that headers are inserted with.
fn literals(input: &Json) -> Vec<&str> {
    let steps = input["chain"].as_array().map_or(std::slice::from_ref(input), Vec::as_slice);
    steps.iter().filter_map(|step| step["config"]["value.literal"].as_str()).collect()
}

/// Whether the transform of this name is among the steps.
fn uses(answers: &Answers<'_>, name: &str) -> bool {
    let is = |node: &Json| {
        let class = node["class"].as_str().and_then(|class| class.rsplit('.').next());
        class.and_then(|class| class.split('$').next()) == Some(name)
    };
    let chain = answers.input["chain"].as_array();
    answers.op == "transform"
        && chain.map_or_else(|| is(answers.input), |steps| steps.iter().any(is))
}

fn is_same_double(answers: &Answers<'_>) -> bool {
    let number = |node: &Json| match read_value(&node["value"], None) {
        Ok(Value::Decimal { unscaled, scale }) => {
            let mut text = Vec::new();
            data::decimal_to_text(&unscaled, 0, &mut text);
            let text = String::from_utf8(text).ok()?;
            format!("{text}e{}", -i64::from(scale)).parse::<f64>().ok()
        }
        _ => None,
    };
    answers.op == "values.convertToDecimal"
        && number(answers.wanted).is_some_and(|wanted| number(answers.seen) == Some(wanted))
}

/// A default made with its schema's builder is, to Connect, a struct of another schema: schemas with
/// such a default are not equal to themselves, and converters refuse it.
fn has_struct_default(answers: &Answers<'_>) -> bool {
    let text = answers.input.to_string();
    if answers.reads_json() {
        return text.contains("default") && answers.wanted_message() == "Invalid default value";
    }
    if !text.contains("\"default\":{\"struct\"") {
        return false;
    }
    const REFUSALS: [&str; 3] =
        ["Mismatching schema.", "Invalid default value", "Struct schemas do not match."];
    let cast = answers.wanted_message().contains("does not support casting from STRUCT");
    let refused = REFUSALS.contains(&answers.wanted_message()) || cast && uses(answers, "Cast");
    let projected = answers.op == "schema.project" && refused;
    let unequal = answers.op == "schema.equals" && answers.seen["result"] == true;
    // Ours goes on, and may fail at a later step.
    let chained = refused && answers.input["chain"].is_array();
    // Or at a field behind it.
    const NO_TIME: &str = "does not correspond to a known timestamp type";
    let later =
        refused && uses(answers, "TimestampConverter") && answers.seen_message().contains(NO_TIME);
    projected
        || chained
        || later
        || refused && answers.we_answer()
        || unequal
        || same_but(answers, &["struct"])
}

/// Whether the answers are the same but for the schemas that structs repeat, or what decimals say.
fn same_but(answers: &Answers<'_>, tags: &[&str]) -> bool {
    let (wanted, seen) = (without(answers.wanted, tags), without(answers.seen, tags));
    compare(answers.input, &wanted, &seen) != Verdict::Different
}

fn without(node: &Json, tags: &[&str]) -> Json {
    match node {
        Json::Object(members) if members.contains_key("struct") && tags.contains(&"struct") => {
            json!({"struct": without(&members["struct"], tags)})
        }
        Json::Object(members)
            if members.len() == 1 && members.keys().all(|tag| tags.contains(&tag.as_str())) =>
        {
            Json::Null
        }
        Json::Object(members) => {
            let members = members.iter().map(|(name, node)| (name.clone(), without(node, tags)));
            Json::Object(members.collect())
        }
        Json::Array(items) => items.iter().map(|node| without(node, tags)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_its_reason_and_no_more() {
        let case = |op: &str, input: Json, output: Json| json!({"op": op, "input": input, "output": output});
        let read = case(
            "values.parseString",
            json!({"text": "1 x"}),
            json!({"schema": "int8", "value": {"i8": 1}}),
        );
        let whole = |text: &str| json!({"schema": "string", "value": {"str": text}});
        assert!(rule(&read, &whole("1 x")).is_some());
        assert!(rule(&read, &whole("1")).is_none());
        let decimal = |digits: &str, scale: i32| json!({"value": {"decimal": [digits, scale]}});
        let double = case("values.convertToDecimal", json!({}), decimal("34792292157096351", -2));
        assert!(rule(&double, &decimal("3479229215709635", -3)).is_some());
        assert!(rule(&double, &decimal("3479229215709636", -3)).is_none());
    }
}
