//! What a rejected record's message says: where in the record the trouble is, and nothing of what is
//! written there unless that was asked for.

use data::{Batch, Reject, Stage};

/// Connect's texts that quote a value, as what stands before and behind it.
const QUOTES: [(&str, &str); 2] = [
    ("Value (", ") was out of range for requested data type"),
    ("value (", ") does not match pattern ("),
];

/// Completes the messages of converters and transforms; to be called once a batch. Without `content`
/// quoted values give way to their shape.
pub(crate) fn explain_all(batch: &mut Batch, content: bool) {
    let mut rejects = std::mem::take(&mut batch.rejects);
    for reject in &mut rejects {
        explain(reject, content);
        // Converters have said it already.
        if reject.stage == Stage::Transformation {
            let message = std::mem::take(&mut reject.message);
            reject.message = batch.about(reject.row as usize, message);
        }
    }
    batch.rejects = rejects;
}

/// The same for one reject.
pub fn explain(reject: &mut Reject, content: bool) {
    let of_converter = matches!(
        reject.stage,
        Stage::KeyConverter | Stage::ValueConverter | Stage::HeaderConverter
    );
    if let Some(path) = reject.column.as_ref().filter(|_| of_converter) {
        reject.message.push_str(&format!(" (at {path})"));
    }
    if content || reject.stage != Stage::Transformation {
        return;
    }
    for (before, behind) in QUOTES {
        let Some((start, rest)) = reject.message.split_once(before) else { continue };
        let Some((value, end)) = rest.rsplit_once(behind) else { continue };
        let shape = match value.chars().count() {
            1 => "text of 1 character".to_owned(),
            count => format!("text of {count} characters"),
        };
        reject.message = format!("{start}{before}{shape}{behind}{end}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(stage: Stage, message: &str, column: Option<&str>, content: bool) -> String {
        let mut reject = Reject::data(0, stage, "C", message.to_owned());
        reject.column = column.map(str::to_owned);
        explain(&mut reject, content);
        reject.message
    }

    #[test]
    fn values_are_not_quoted_unless_asked_for() {
        let range = "Value (my) secret) was out of range for requested data type";
        let pattern = "Could not parse timestamp: value (x) does not match pattern (yyyy)";
        let of_step = |text, content| explained(Stage::Transformation, text, None, content);
        assert_eq!(
            [of_step(range, false), of_step(pattern, false)],
            [
                "Value (text of 10 characters) was out of range for requested data type",
                "Could not parse timestamp: value (text of 1 character) does not match pattern \
                 (yyyy)",
            ]
        );
        assert_eq!(of_step(range, true), range);
        assert_eq!(of_step("Unknown field: id", false), "Unknown field: id");
    }

    #[test]
    fn a_converters_message_says_where() {
        let text = "Invalid value for INT8 field: found JSON STRING";
        let told = explained(Stage::ValueConverter, text, Some("a.b"), false);
        assert_eq!(told, format!("{text} (at a.b)"));
        assert_eq!(explained(Stage::TaskPut, text, Some("a"), false), text);
    }
}
