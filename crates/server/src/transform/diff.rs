//! What a step changed, path by path.
//!
//! Records are spread into leaves: a path, what is there, and of what type. Two lists of leaves are
//! compared by path; what is only in one was removed or added.

use super::json::{Tree, quoted};
use super::record::{Datum, Record};
use data::{Logical, Rows, Schema, Struct, Type, Value, Width};

/// What is at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) path: String,
    /// The value as it is shown; empty for a struct, list or map that has its own leaves.
    pub(super) text: String,
    /// Empty where nothing is to be said.
    pub(super) kind: String,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Removed(Leaf),
    Added(Leaf),
    Changed(Leaf, Leaf),
}

/// The differences, in the order of the second list; what is missing there comes where it was.
pub(super) fn changes(before: &[Leaf], after: &[Leaf]) -> Vec<Change> {
    let place = |leaves: &[Leaf], path: &str| leaves.iter().position(|leaf| leaf.path == path);
    let mut found = Vec::new();
    let mut told = 0;
    let tell_removed = |upto: usize, told: &mut usize, found: &mut Vec<Change>| {
        let gone = before.get(*told..upto).unwrap_or_default();
        let gone = gone.iter().filter(|leaf| place(after, &leaf.path).is_none());
        found.extend(gone.map(|leaf| Change::Removed(leaf.clone())));
        *told = upto.max(*told);
    };
    for leaf in after {
        match place(before, &leaf.path) {
            None => found.push(Change::Added(leaf.clone())),
            Some(at) => {
                if at >= told {
                    tell_removed(at, &mut told, &mut found);
                }
                if let Some(old) = before.get(at).filter(|old| *old != leaf) {
                    found.push(Change::Changed(old.clone(), leaf.clone()));
                }
            }
        }
    }
    tell_removed(before.len(), &mut told, &mut found);
    found
}

/// The leaves of a record.
pub(super) fn leaves(record: &Record) -> Vec<Leaf> {
    let mut out = Vec::new();
    let mut plain = |path: &str, text: String| {
        out.push(Leaf { path: path.to_owned(), text, kind: String::new() });
    };
    let number = |value: Option<i64>| value.map_or_else(|| "none".to_owned(), |n| n.to_string());
    plain("topic", record.topic.to_string());
    plain("partition", number(record.partition.map(i64::from)));
    plain("timestamp", number(record.timestamp));
    spread("key", &record.key, &mut out);
    spread("value", &record.value, &mut out);
    for (index, (name, datum)) in record.headers.iter().enumerate() {
        let earlier = record.headers.iter().take(index).filter(|(other, _)| other == name).count();
        let path = match earlier {
            0 => format!("header {name}"),
            _ => format!("header {name} ({})", earlier + 1),
        };
        spread(&path, datum, &mut out);
    }
    out
}

fn spread(path: &str, datum: &Datum, out: &mut Vec<Leaf>) {
    inner(path, datum.schema.as_deref(), &datum.value, out);
}

fn inner(path: &str, schema: Option<&Schema>, value: &Value, out: &mut Vec<Leaf>) {
    let kind = match schema {
        Some(schema) => type_of(schema, value.is_null()),
        None => class_of(value).to_owned(),
    };
    let mut own = |text: String| out.push(Leaf { path: path.to_owned(), text, kind: kind.clone() });
    match value {
        Value::Struct(Struct { schema: of_value, values }) => {
            own(String::new());
            let fields = of_value.as_deref().or(schema).map(Schema::fields).unwrap_or_default();
            for (field, value) in fields.iter().zip(values) {
                let path = format!("{path}{}", step(&field.name));
                inner(&path, Some(&field.schema), value, out);
            }
        }
        Value::Map(entries) if !entries.is_empty() => {
            own(String::new());
            let of_values = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            for (key, value) in entries {
                let name = match key {
                    Value::Text(name) => step(name),
                    other => format!("[{}]", text_of(None, other)),
                };
                inner(&format!("{path}{name}"), of_values, value, out);
            }
        }
        Value::List(items) if !items.is_empty() => {
            own(String::new());
            let of_items = schema.and_then(Schema::value_schema).map(AsRef::as_ref);
            for (index, value) in items.iter().enumerate() {
                inner(&format!("{path}[{index}]"), of_items, value, out);
            }
        }
        Value::Map(_) => own("{}".to_owned()),
        Value::List(_) => own("[]".to_owned()),
        other => own(text_of(schema, other)),
    }
}

/// A member's name behind its parent's path.
fn step(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@');
    match !name.is_empty() && name.chars().all(plain) {
        true => format!(".{name}"),
        false => format!("[{}]", quoted(name)),
    }
}

/// A single value as it is shown: as JSON, times as ISO 8601 text.
fn text_of(schema: Option<&Schema>, value: &Value) -> String {
    match value {
        Value::Float(v) => format!("{v:?}"),
        Value::Float32(v) => format!("{v:?}"),
        Value::Bytes(bytes) => {
            let mut text = String::from("0x");
            for byte in bytes {
                text += &format!("{byte:02x}");
            }
            text
        }
        other => {
            let mut rows = Rows::default();
            let cell = rows.put_value(schema, other);
            let mut out = Vec::new();
            data::write_json(&rows, schema, cell, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    }
}

/// A schema in a few words: all that another schema could differ in, except the schemas of fields,
/// which have their own leaves unless the value is null.
fn type_of(schema: &Schema, whole: bool) -> String {
    let mut text = match (schema.logical(), schema.kind()) {
        (Logical::Decimal(Some(scale)), _) => format!("Decimal({scale})"),
        (Logical::Date, _) => "Date".to_owned(),
        (Logical::Time, _) => "Time".to_owned(),
        (Logical::Timestamp, _) => "Timestamp".to_owned(),
        (_, Type::Array) => format!("array<{}>", child(schema.value_schema())),
        (_, Type::Map) => {
            format!("map<{}, {}>", child(schema.key_schema()), child(schema.value_schema()))
        }
        (_, Type::Struct) if whole => {
            let field = |f: &data::Field| format!("{} {}", f.name, type_of(&f.schema, true));
            format!("struct<{}>", schema.fields().iter().map(field).collect::<Vec<_>>().join(", "))
        }
        (_, kind) => kind.name().to_ascii_lowercase(),
    };
    if schema.is_optional() {
        text.push('?');
    }
    if schema.logical() == Logical::None {
        if let Some(name) = schema.name() {
            text += &format!(" {name}");
        }
        if let Some(version) = schema.version() {
            text += &format!(" version {version}");
        }
        for (name, value) in schema.parameters().unwrap_or_default() {
            text += &format!(" {name}={value}");
        }
    }
    if let Some(default) = schema.default() {
        text += &format!(" default {}", text_of(Some(schema), default));
    }
    if let Some(doc) = schema.doc() {
        text += &format!(" doc {}", quoted(doc));
    }
    text
}

fn child(schema: Option<&std::sync::Arc<Schema>>) -> String {
    schema.map(|schema| type_of(schema, true)).unwrap_or_default()
}

/// The class of a value that has no schema.
fn class_of(value: &Value) -> &'static str {
    match value {
        // The value says it all.
        Value::Null => "",
        Value::Bool(_) => "boolean",
        Value::Int(_, Width::W8) => "int8",
        Value::Int(_, Width::W16) => "int16",
        Value::Int(_, Width::W32) => "int32",
        Value::Int(_, Width::W64) => "int64",
        Value::Float32(_) => "float32",
        Value::Float(_) => "float64",
        Value::Text(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Decimal { .. } => "decimal",
        Value::BigInteger(_) => "big integer",
        Value::Instant(_) => "time",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Struct(_) => "struct",
    }
}

/// The leaves of JSON, for comparing expected with actual output.
pub(super) fn json_leaves(tree: &Tree) -> Vec<Leaf> {
    let mut out = Vec::new();
    json_inner("", tree, &mut out);
    out
}

fn json_inner(path: &str, tree: &Tree, out: &mut Vec<Leaf>) {
    match tree {
        Tree::Object(members) if !members.is_empty() => {
            for (name, tree) in members {
                let path = format!("{path}{}", step(name));
                json_inner(path.trim_start_matches('.'), tree, out);
            }
        }
        Tree::List(items) if !items.is_empty() => {
            for (index, tree) in items.iter().enumerate() {
                json_inner(&format!("{path}[{index}]"), tree, out);
            }
        }
        other => {
            out.push(Leaf { path: path.to_owned(), text: other.to_string(), kind: String::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::SchemaBuilder;
    use std::sync::Arc;

    fn told(before: &Datum, after: &Datum) -> Vec<String> {
        let leaves = |datum: &Datum| {
            let mut out = Vec::new();
            spread("value", datum, &mut out);
            out
        };
        let line = |change: &Change| match change {
            Change::Removed(l) => format!("- {} {} {}", l.path, l.text, l.kind),
            Change::Added(l) => format!("+ {} {} {}", l.path, l.text, l.kind),
            Change::Changed(a, b) => {
                format!("~ {} {} {} -> {} {}", a.path, a.text, a.kind, b.text, b.kind)
            }
        };
        changes(&leaves(before), &leaves(after)).iter().map(line).collect()
    }

    #[test]
    fn changes_come_in_order_and_the_rest_is_left_out() {
        let text = |text: &str| Value::Text(text.to_owned());
        let map = |members: &[(&str, Value)]| Datum {
            schema: None,
            value: Value::Map(members.iter().map(|(k, v)| (text(k), v.clone())).collect()),
        };
        let before = map(&[("a", Value::int(1)), ("b", text("x")), ("c d", Value::Null)]);
        let after =
            map(&[("a", Value::Int(1, Width::W32)), ("c d", Value::Null), ("e", text("y"))]);
        assert_eq!(
            told(&before, &after),
            ["~ value.a 1 int64 -> 1 int32", "- value.b \"x\" string", "+ value.e \"y\" string"]
        );
        assert_eq!(told(&before, &before), Vec::<String>::new());
    }

    #[test]
    fn schemas_differ_though_values_do_not() {
        let field = |builder: SchemaBuilder| Arc::new(builder.build().unwrap());
        let of = |name: &str, builder: SchemaBuilder| Datum {
            schema: Some(field(SchemaBuilder::structure().name(name).field("a", field(builder)))),
            value: Value::fields(vec![Value::Instant(0)]),
        };
        let before = of("N", SchemaBuilder::timestamp());
        let after = of("M", SchemaBuilder::timestamp().optional().doc("d"));
        let day = "\"1970-01-01T00:00:00.000Z\"";
        assert_eq!(
            told(&before, &after),
            [
                "~ value  struct N ->  struct M".to_owned(),
                format!("~ value.a {day} Timestamp -> {day} Timestamp? doc \"d\""),
            ]
        );
    }
}
