//! A strict reader of what `/metrics` says: the text format of Prometheus, version 0.0.4, and OpenMetrics
//! 1.0. Anything that these do not allow is a failed test.

use std::collections::{BTreeMap, BTreeSet};

/// The metrics of one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) kind: String,
    help: Option<String>,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// Everything a worker told at one moment.
#[derive(Debug)]
pub(crate) struct Exposition(pub(crate) Vec<Family>);

impl Exposition {
    /// Reads a whole answer.
    #[track_caller]
    pub(crate) fn read(text: &str, open_metrics: bool) -> Exposition {
        let mut text = text;
        assert!(text.ends_with('\n'), "the last line has no end");
        if open_metrics {
            text = text.strip_suffix("# EOF\n").expect("OpenMetrics ends with EOF");
        }
        let mut families: Vec<Family> = Vec::new();
        let mut seen = BTreeSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# ") {
                comment(rest, open_metrics, &mut families);
                continue;
            }
            assert!(!line.starts_with('#') && !line.is_empty(), "{line:?}");
            let sample = sample(line);
            assert!(seen.insert((sample.name.clone(), sample.labels.clone())), "twice: {line}");
            let family = families.last_mut().expect("a type comes before samples");
            assert!(!family.kind.is_empty() && family.help.is_some(), "{line}");
            let total = open_metrics && family.kind == "counter";
            let wanted = if total { format!("{}_total", family.name) } else { family.name.clone() };
            assert_eq!(sample.name, wanted, "samples of a metric stand together");
            if family.kind == "counter" {
                assert!(sample.value >= 0.0, "{line}");
                assert!(sample.name.ends_with("_total"), "{line}");
            }
            family.samples.push(sample);
        }
        let names: BTreeSet<&str> = families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names.len(), families.len(), "a metric has one place");
        Exposition(families)
    }

    /// The value of the only sample that has these labels among its own.
    #[track_caller]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let found = self.find(name, labels);
        assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
        found[0].value
    }

    pub(crate) fn find(&self, name: &str, labels: &[(&str, &str)]) -> Vec<&Sample> {
        let has = |sample: &&Sample| {
            labels.iter().all(|(k, v)| sample.labels.get(*k).map(String::as_str) == Some(*v))
        };
        let all = self.0.iter().flat_map(|family| &family.samples);
        all.filter(|sample| sample.name == name).filter(has).collect()
    }
}

#[track_caller]
fn comment(rest: &str, open_metrics: bool, families: &mut Vec<Family>) {
    let (what, rest) = rest.split_once(' ').expect("a comment has a kind");
    let (name, text) = rest.split_once(' ').expect("a comment has a text");
    assert_name(name, true);
    if families.last().is_none_or(|family| family.name != name) {
        families.push(Family { name: name.to_owned(), ..Family::default() });
    }
    let family = families.last_mut().expect("just made");
    assert!(family.samples.is_empty(), "a comment on {name} comes after samples");
    match what {
        "HELP" => {
            assert!(family.help.replace(text.to_owned()).is_none(), "a second HELP of {name}");
            let mut rest = text.chars();
            while let Some(c) = rest.next() {
                let escape = c != '\\' || matches!(rest.next(), Some('\\' | 'n'));
                assert!(escape, "{text}");
            }
        }
        "TYPE" => {
            let none = if open_metrics { "unknown" } else { "untyped" };
            assert!(["counter", "gauge", none].contains(&text), "{text}");
            assert!(family.kind.is_empty(), "a second TYPE of {name}");
            family.kind = text.to_owned();
        }
        other => panic!("# {other}"),
    }
}

#[track_caller]
fn assert_name(name: &str, colons: bool) {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || (colons && c == ':');
    let rest = |c: char| letter(c) || c.is_ascii_digit();
    assert!(name.starts_with(letter) && name.chars().all(rest), "{name:?} is no name");
}

#[track_caller]
fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a sample has a value");
    let (name, mut rest) = line.split_at(end);
    assert_name(name, true);
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label has a value");
            assert_name(label, false);
            let (value, after) = quoted(after);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{label} twice: {line}");
            if let Some(after) = after.strip_prefix(',') {
                rest = after;
                continue;
            }
            rest = after.strip_prefix('}').expect("labels end");
            break;
        }
    }
    let value = rest.strip_prefix(' ').expect("one space before the value");
    let number = match value {
        "NaN" => f64::NAN,
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        digits => {
            let plain = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
            assert!(digits.chars().all(plain), "{line}");
            digits.parse().unwrap_or_else(|_| panic!("{line}"))
        }
    };
    Sample { name: name.to_owned(), labels, value: number }
}

/// The text up to the closing quote, and what is behind that.
#[track_caller]
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next().expect("a quote closes") {
            (at, '"') => return (value, &text[at + 1..]),
            (_, '\\') => match chars.next().expect("an escape has a second character").1 {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                other => panic!("\\{other} is no escape"),
            },
            (_, c) => value.push(c),
        }
    }
}
