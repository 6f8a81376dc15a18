//! Whether an answer is the one that is expected.

use crate::process::FullAnswer;
use serde_json::Value;

/// Members that an answer may have beside the recorded ones: the older name of `order_in_group`, and
/// what is ours.
const MORE: [&str; 5] = ["order", "code", "hint", "path", "copycat"];

/// How lists and objects are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Exact,
    /// Lists are sets.
    Unordered,
    /// There may be more.
    Contains,
}

/// What is wrong with an answer.
pub(super) fn compare(expect: &Value, answer: &FullAnswer, how: How) -> Vec<String> {
    let mut wrong = Vec::new();
    if expect["status"] != answer.status {
        wrong.push(format!("status: want {}, got {}", expect["status"], answer.status));
    }
    for (name, want) in expect["headers"].as_object().into_iter().flatten() {
        let own = name.to_ascii_lowercase();
        let got = answer.headers.iter().find(|(name, _)| *name == own);
        header(name, want.as_str(), got.map(|(_, value)| value.as_str()), &mut wrong);
    }
    if let Some(want) = expect.get("body") {
        let got = if answer.body.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&answer.body).unwrap_or_else(|_| answer.body.clone().into())
        };
        diff(want, &got, "body", how, &mut wrong);
    }
    wrong
}

fn header(name: &str, want: Option<&str>, got: Option<&str>, wrong: &mut Vec<String>) {
    let right = match (want, got) {
        (None, None) => true,
        (Some(want), Some(got)) if name.eq_ignore_ascii_case("allow") => {
            let set = |text: &str| {
                let mut methods: Vec<String> =
                    text.split(',').map(|method| method.trim().to_owned()).collect();
                methods.sort();
                methods
            };
            set(want) == set(got)
        }
        (Some(want), Some(got)) => fits(want, got),
        _ => false,
    };
    if !right {
        wrong.push(format!("header {name}: want {want:?}, got {got:?}"));
    }
}

fn diff(want: &Value, got: &Value, place: &str, how: How, wrong: &mut Vec<String>) {
    match (want, got) {
        (Value::String(want), got) if is_placeholder(want) => {
            let right = match want.as_str() {
                "<<number>>" => got.is_number(),
                "<<text>>" => got.as_str().is_some_and(|text| !text.is_empty()),
                _ => true,
            };
            if !right {
                wrong.push(format!("{place}: want {want}, got {got}"));
            }
        }
        (Value::Object(want), Value::Object(got)) => {
            for (key, want) in want {
                match got.get(key) {
                    Some(got) => diff(want, got, &format!("{place}.{key}"), how, wrong),
                    None => wrong.push(format!("{place}.{key}: missing")),
                }
            }
            let more = got.keys().filter(|key| !want.contains_key(*key));
            let more = more.filter(|key| how != How::Contains && !MORE.contains(&key.as_str()));
            wrong.extend(more.map(|key| format!("{place}.{key}: unexpected")));
        }
        (Value::Array(want), Value::Array(got)) if how == How::Exact => {
            if want.len() != got.len() {
                let (want, got) = (want.len(), got.len());
                wrong.push(format!("{place}: want {want} elements, got {got}"));
            }
            for (index, (want, got)) in want.iter().zip(got).enumerate() {
                diff(want, got, &format!("{place}[{index}]"), how, wrong);
            }
        }
        (Value::Array(want), Value::Array(got)) => sets(want, got, place, how, wrong),
        (Value::String(want), Value::String(got)) => {
            if !fits(want, got) {
                wrong.push(format!("{place}: want {want:?}\n     got {got:?}"));
            }
        }
        (Value::Number(want), Value::Number(got)) if want.as_f64() == got.as_f64() => {}
        (want, got) if want == got => {}
        (want, got) => wrong.push(format!("{place}: want {want}, got {got}")),
    }
}

/// Each wanted element takes the one that is most like it.
fn sets(want: &[Value], got: &[Value], place: &str, how: How, wrong: &mut Vec<String>) {
    let mut left: Vec<&Value> = got.iter().collect();
    for (index, want) in want.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let compared = left.iter().enumerate().map(|(at, got)| {
            let mut wrong = Vec::new();
            diff(want, got, &place, how, &mut wrong);
            (at, wrong)
        });
        match compared.min_by_key(|(_, wrong)| wrong.len()) {
            Some((at, more)) => {
                wrong.extend(more);
                left.remove(at);
            }
            None => wrong.push(format!("{place}: missing {want}")),
        }
    }
    if how == How::Unordered {
        wrong.extend(left.iter().map(|got| format!("{place}: unexpected {got}")));
    }
}

/// A placeholder alone: `<<` letters and `-` `>>`.
fn is_placeholder(text: &str) -> bool {
    let name = text.strip_prefix("<<").and_then(|rest| rest.strip_suffix(">>"));
    name.is_some_and(is_name)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// Whether a text is the wanted one, where placeholders stand for anything.
fn fits(want: &str, got: &str) -> bool {
    let mut pieces = vec![String::new()];
    let mut rest = want;
    while let Some(at) = rest.find("<<") {
        let (before, from) = rest.split_at(at);
        let end = from.find(">>").filter(|end| is_name(&from[2..*end]));
        let last = pieces.last_mut().expect("there is always one");
        last.push_str(before);
        match end {
            Some(end) => {
                pieces.push(String::new());
                rest = &from[end + 2..];
            }
            None => {
                last.push_str("<<");
                rest = &from[2..];
            }
        }
    }
    pieces.last_mut().expect("there is always one").push_str(rest);
    let (first, others) = pieces.split_first().expect("there is always one");
    let Some((last, middle)) = others.split_last() else { return want == got };
    let Some(mut got) = got.strip_prefix(first.as_str()) else { return false };
    for piece in middle {
        let Some(at) = got.find(piece.as_str()) else { return false };
        got = &got[at + piece.len()..];
    }
    got.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differences(want: Value, got: Value, how: How) -> usize {
        let mut wrong = Vec::new();
        diff(&want, &got, "body", how, &mut wrong);
        wrong.len()
    }

    #[test]
    fn placeholders_stand_for_anything_of_their_kind() {
        for (want, got, right) in [
            ("a <<b>> c", "a x y c", true),
            ("a <<b>> c", "a x y d", false),
            ("<<b>>z", "z", true),
            ("a<<1>>", "a<<1>>", true),
            ("x<<a>>y<<b>>z", "xyyz", true),
            ("plain", "plain", true),
            ("plain", "plainer", false),
        ] {
            assert_eq!(fits(want, got), right, "{want} {got}");
        }
        assert_eq!(differences(json!("<<number>>"), json!("1"), How::Exact), 1);
        assert_eq!(differences(json!("<<text>>"), json!(""), How::Exact), 1);
        assert_eq!(differences(json!("<<any>>"), json!([1]), How::Exact), 0);
    }

    #[test]
    fn lists_and_objects_are_compared_as_asked() {
        let both = |want: Value, got: Value| {
            [How::Exact, How::Unordered, How::Contains]
                .map(|how| differences(want.clone(), got.clone(), how) == 0)
        };
        assert_eq!(both(json!([1, 2]), json!([2, 1])), [false, true, true]);
        assert_eq!(both(json!([1]), json!([2, 1])), [false, false, true]);
        assert_eq!(both(json!([1, 1]), json!([1])), [false, false, false]);
        assert_eq!(both(json!({"a": 1}), json!({"a": 1.0, "copycat": {}})), [true, true, true]);
        assert_eq!(both(json!({"a": 1}), json!({"a": 1, "b": 2})), [false, false, true]);
        assert_eq!(both(json!({"a": 1}), json!({})), [false, false, false]);
        assert_eq!(both(json!(null), json!(false)), [false, false, false]);
    }
}
