//! The rules of `include.list` and `exclude.list`: which fields of which events are converted.

/// The parts of an event that have times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
    Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Match {
    Table(String),
    Topic(String),
    Either(String),
}

/// One rule.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    of: Match,
    /// A field, and the part it must be in; none: every field.
    field: Option<(Option<Side>, String)>,
}

/// All rules.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    All,
    Only(Vec<Rule>),
    Except(Vec<Rule>),
}

/// Reads a list.
///
/// # Errors
/// The item that is no rule.
pub(super) fn parse(list: &[String]) -> Result<Vec<Rule>, String> {
    list.iter().map(|text| rule(text).ok_or_else(|| text.clone())).collect()
}

fn rule(text: &str) -> Option<Rule> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty() || part.contains(';')) {
        return None;
    }
    let (of, field) = match parts.as_slice() {
        ["source", table] => (Match::Table((*table).to_owned()), None),
        ["topic", topic] => (Match::Topic((*topic).to_owned()), None),
        ["source", table, field] => (Match::Table((*table).to_owned()), Some(*field)),
        ["topic", topic, field] => (Match::Topic((*topic).to_owned()), Some(*field)),
        [name, field] => (Match::Either((*name).to_owned()), Some(*field)),
        _ => return None,
    };
    let field = field.map(|field| match field.split_once('.') {
        Some(("before", name)) => (Some(Side::Before), name.to_owned()),
        Some(("after", name)) => (Some(Side::After), name.to_owned()),
        Some(("source", name)) => (Some(Side::Source), name.to_owned()),
        _ => (None, field.to_owned()),
    });
    Some(Rule { of, field })
}

impl Rule {
    fn is_about(&self, table: &str, topic: &str, side: Side, name: &str) -> bool {
        let matches = match &self.of {
            Match::Table(wanted) => wanted == table,
            Match::Topic(wanted) => wanted == topic,
            Match::Either(wanted) => wanted == table || wanted == topic,
        };
        matches
            && match &self.field {
                None => side != Side::Source,
                Some((None, field)) => side != Side::Source && field == name,
                Some((Some(of), field)) => *of == side && field == name,
            }
    }
}

impl Rules {
    /// Whether a field of an event is converted.
    pub(super) fn take(&self, table: &str, topic: &str, side: Side, name: &str) -> bool {
        let any = |rules: &[Rule]| rules.iter().any(|rule| rule.is_about(table, topic, side, name));
        match self {
            Rules::All => side != Side::Source,
            Rules::Only(rules) => any(rules),
            Rules::Except(rules) => side != Side::Source && !any(rules),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<Rule> {
        parse(&text.split(',').map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn rules_match_by_table_topic_side_and_field() {
        for (rule, side, name, wanted) in [
            ("source:t", Side::After, "a", true),
            ("source:x", Side::After, "a", false),
            ("topic:s.t", Side::Before, "a", true),
            ("source:t:a", Side::Before, "a", true),
            ("source:t:a", Side::Before, "b", false),
            ("source:t:after.a", Side::Before, "a", false),
            ("source:t:source.a", Side::Source, "a", true),
            ("source:t", Side::Source, "a", false),
            ("t:a", Side::After, "a", true),
            ("s.t:a", Side::After, "a", true),
            ("x:a,t:a", Side::After, "a", true),
        ] {
            let seen = Rules::Only(list(rule)).take("t", "s.t", side, name);
            assert_eq!(seen, wanted, "{rule} {side:?} {name}");
            if side != Side::Source {
                assert_eq!(Rules::Except(list(rule)).take("t", "s.t", side, name), !wanted);
            }
        }
        assert!(!Rules::All.take("t", "s.t", Side::Source, "a"));
    }

    #[test]
    fn other_texts_are_no_rules() {
        for bad in ["a", "a:b:c", "source:", "source:a:b:c", "t:a;b", ""] {
            assert!(parse(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
