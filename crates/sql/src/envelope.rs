//! Change events of Debezium: the row in the event takes the place of the event.
//!
//! Place in the data path: once a batch, before binding. Roots and schemas are replaced, cells and
//! bytes are not touched, so that everything behind sees plain structs and, for deletes, records
//! without a value. The events' own roots are kept for table names that ask for `source`.
//!
//! Invariant: an event never becomes a delete unless its `op` says so.

use crate::bind::SINK_TASK;
use crate::config::ChangeEvents;
use data::{Batch, Cell, Reject, Roots, Rows, Run, Schema, Span, Stage, Width};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// What a row of a batch is, beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// Nothing but the value it has.
    Row,
    /// The source table was emptied.
    Truncate,
    /// A message that belongs to no row.
    Message,
}

/// What a batch was before its events were opened.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    whole: Roots,
    happened: Vec<Happened>,
}

impl Events {
    /// The record's own value.
    pub(crate) fn whole(&self, row: usize) -> (Option<&Arc<Schema>>, Cell) {
        (self.whole.schema(row), self.whole.get(row))
    }

    pub(crate) fn happened(&self, row: usize) -> Happened {
        self.happened.get(row).copied().unwrap_or(Happened::Row)
    }
}

/// Where an envelope has what is needed.
struct Form {
    op: usize,
    after: usize,
    row: Arc<Schema>,
}

/// Opens the events of a batch; `None` where it has none. Events that cannot be read are rejected.
pub(crate) fn open(batch: &mut Batch, which: ChangeEvents) -> Option<Events> {
    if which == ChangeEvents::Off {
        return None;
    }
    let any = which == ChangeEvents::Any;
    let forms: Vec<_> = batch.values.runs().iter().map(|run| form(run, any)).collect();
    let schemaless = |run: &Run| {
        any && run.schema.is_none() && run.range().any(|row| is_event(&batch.values, row))
    };
    let found = batch.values.runs().iter().zip(&forms);
    if !found.into_iter().any(|(run, form)| form.is_some() || schemaless(run)) {
        return None;
    }
    let runs: Vec<_> = batch.values.runs().iter().cloned().zip(forms).collect();
    let mut opened = Roots::default();
    opened.reserve(batch.values.len());
    let mut happened = Vec::with_capacity(batch.values.len());
    for (run, form) in &runs {
        for row in run.range() {
            let event = match form {
                Some(form) => of_struct(&batch.values, row, form),
                None if any && run.schema.is_none() => of_object(&mut batch.values, row),
                None => None,
            };
            let schema = match (&event, form) {
                (Some(_), Some(form)) => Some(&form.row),
                _ => run.schema.as_ref(),
            };
            let (root, what) = match event {
                None => (batch.values.root(row), Happened::Row),
                Some(Ok(opened)) => opened,
                Some(Err(text)) => {
                    let text = batch.about(row, text);
                    let mut reject = Reject::data(row, Stage::TaskPut, SINK_TASK, text);
                    reject.sqlstate = Some("22023".to_owned());
                    batch.reject(reject);
                    (Cell::Null, Happened::Row)
                }
            };
            opened.push(schema, root);
            happened.push(what);
        }
    }
    let whole = batch.values.swap_roots(opened).ok()?;
    Some(Events { whole, happened })
}

fn form(run: &Run, any: bool) -> Option<Form> {
    let schema = run.schema.as_ref()?;
    let (op, after) = (schema.field("op")?, schema.field("after")?);
    let named = schema.name().is_some_and(|name| name.ends_with(".Envelope"));
    let known = named || (any && schema.field("source").is_some());
    if !known {
        return None;
    }
    let row = schema.fields().get(after)?.schema.clone();
    Some(Form { op, after, row })
}

/// The row of an event, and what happened; the reason where it cannot be read.
type Opened = Result<(Cell, Happened), String>;

/// `None` for a record without a value.
fn of_struct(values: &Rows, row: usize, form: &Form) -> Option<Opened> {
    let root = values.root(row);
    if root.is_null() {
        return None;
    }
    let fields = values.fields(root);
    let field = |index: usize| fields.get(index).copied().unwrap_or(Cell::Null);
    let after = field(form.after);
    Some(judge(values, field(form.op), after.is_null()).map(|what| match what {
        None => (Cell::Null, Happened::Row),
        Some(Happened::Row) => (after, Happened::Row),
        Some(other) => (Cell::Null, other),
    }))
}

/// What happened by the event's `op`; `Ok(None)`: the row was deleted.
fn judge(values: &Rows, op: Cell, no_row: bool) -> Result<Option<Happened>, String> {
    let Cell::Text(op) = op else { return Err("the change event has no op".to_owned()) };
    match values.bytes(op) {
        b"c" | b"r" | b"u" if no_row => {
            Err(format!("the change event has op {} and no after", values.text(op)))
        }
        b"c" | b"r" | b"u" => Ok(Some(Happened::Row)),
        b"d" => Ok(None),
        b"t" => Ok(Some(Happened::Truncate)),
        b"m" => Ok(Some(Happened::Message)),
        _ => Err(format!("the change event has op {:?}, which is not known", values.text(op))),
    }
}

/// Whether a value without a schema has the members of an event.
fn is_event(values: &Rows, row: usize) -> bool {
    let root = values.root(row);
    ["op", "after", "source"].iter().all(|name| member(values, root, name).is_some())
}

/// The value of an object's member, the last one of that name.
fn member(values: &Rows, root: Cell, name: &str) -> Option<Cell> {
    let Cell::Map(span) = root else { return None };
    values.cells(span).chunks_exact(2).rev().find_map(|entry| match entry {
        [Cell::Text(key), value] if values.bytes(*key) == name.as_bytes() => Some(*value),
        _ => None,
    })
}

/// `None` for what is no event.
fn of_object(values: &mut Rows, row: usize) -> Option<Opened> {
    if !is_event(values, row) {
        return None;
    }
    let root = values.root(row);
    let op = member(values, root, "op")?;
    let after = member(values, root, "after")?;
    Some(match judge(values, op, after.is_null()) {
        Err(text) => Err(text),
        Ok(None) => Ok((Cell::Null, Happened::Row)),
        Ok(Some(Happened::Row)) => match after {
            Cell::Json(span) => match object(values, span) {
                Some(object) => Ok((object, Happened::Row)),
                None => Err("the change event's after is no object".to_owned()),
            },
            after => Ok((after, Happened::Row)),
        },
        Ok(Some(other)) => Ok((Cell::Null, other)),
    })
}

/// Text within JSON text.
enum Piece {
    /// From `start`, so many bytes.
    At(usize, usize),
    /// Without its escapes.
    Own(String),
}

/// The members of an object, names and values, in its order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key::<&RawValue>()? {
                    let name = unescaped(name.get()).unwrap_or_default();
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

/// The text of a JSON string.
fn unescaped(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    match inner.contains('\\') {
        true => serde_json::from_str(json).ok().map(Cow::Owned),
        false => Some(Cow::Borrowed(inner)),
    }
}

/// JSON text as an object whose members are cells; nested values stay text. `None`: it is no object.
fn object(rows: &mut Rows, span: Span) -> Option<Cell> {
    let text = rows.text(span);
    let members: Members<'_> = serde_json::from_str(text).ok()?;
    let base = text.as_ptr() as usize;
    let place = |part: &str| Piece::At((part.as_ptr() as usize).saturating_sub(base), part.len());
    let piece = |part: Cow<'_, str>| match part {
        Cow::Borrowed(part) => place(part),
        Cow::Owned(part) => Piece::Own(part),
    };
    // Places first: cells can only be added once nothing borrows the rows any more.
    let mut found = Vec::with_capacity(members.0.len());
    for (name, value) in members.0 {
        let json = value.get();
        let cell = match json.as_bytes().first()? {
            b'n' => Ok(Cell::Null),
            b't' => Ok(Cell::Bool(true)),
            b'f' => Ok(Cell::Bool(false)),
            b'"' => Err((piece(unescaped(json)?), Cell::Text as fn(Span) -> Cell)),
            b'{' | b'[' => Err((place(json), Cell::Json as fn(Span) -> Cell)),
            _ => match json.parse() {
                Ok(value) => Ok(Cell::Int(value, Width::W64)),
                Err(_) => Err((place(json), Cell::Number as fn(Span) -> Cell)),
            },
        };
        found.push((piece(name), cell));
    }
    let put = |rows: &mut Rows, piece: Piece| match piece {
        Piece::At(start, len) => span.slice(start as u32, len as u32),
        Piece::Own(text) => rows.heap.put(text.as_bytes()),
    };
    let mut cells = Vec::with_capacity(found.len() * 2);
    for (name, value) in found {
        cells.push(Cell::Text(put(rows, name)));
        cells.push(match value {
            Ok(cell) => cell,
            Err((piece, make)) => make(put(rows, piece)),
        });
    }
    Some(Cell::Map(rows.alloc_from(&cells)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{RawBatchBuilder, SchemaBuilder, TimestampType, TopicPartition, Type, Value};

    fn batch(rows: usize) -> Batch {
        let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for offset in 0..rows {
            raw.push(offset as i64, 0, TimestampType::CreateTime, None, Some(b"x"));
        }
        Batch::new(Arc::new(raw.finish(rows as i64)))
    }

    fn envelope(name: Option<&str>) -> Arc<Schema> {
        let text = Arc::new(SchemaBuilder::new(Type::String).optional().build().unwrap());
        let row = SchemaBuilder::structure().field("v", text.clone()).optional();
        let row = Arc::new(row.build().unwrap());
        let builder = SchemaBuilder::structure()
            .field("before", row.clone())
            .field("after", row)
            .field("source", text.clone())
            .field("op", text);
        let builder = name.into_iter().fold(builder, SchemaBuilder::name);
        Arc::new(builder.build().unwrap())
    }

    fn event(op: &str, after: Option<&str>) -> Value {
        let row = |v: &str| Value::fields(vec![Value::Text(v.to_owned())]);
        let after = after.map_or(Value::Null, row);
        Value::fields(vec![row("old"), after, Value::Text("s".into()), Value::Text(op.into())])
    }

    fn structs(schema: &Arc<Schema>, events: &[Value]) -> Batch {
        let mut batch = batch(events.len());
        for event in events {
            let root = batch.values.put_value(None, event);
            batch.values.push(Some(schema), root);
        }
        batch
    }

    #[test]
    fn events_become_rows_and_nulls() {
        let schema = envelope(Some("s.t.Envelope"));
        let events = [
            event("c", Some("a")),
            event("u", Some("b")),
            event("d", None),
            Value::Null,
            event("t", None),
            event("m", None),
        ];
        let mut batch = structs(&schema, &events);
        let opened = open(&mut batch, ChangeEvents::Named).unwrap();
        let values = &batch.values;
        for (row, text) in [(0, "a"), (1, "b")] {
            let [Cell::Text(span)] = values.fields(values.root(row)) else { panic!("a row") };
            assert_eq!(values.text(*span), text);
        }
        assert_eq!(values.schema(0).map(|s| s.fields().len()), Some(1));
        assert!((2..6).all(|row| values.root(row).is_null()));
        use Happened::{Message, Row, Truncate};
        let happened: Vec<_> = (0..6).map(|row| opened.happened(row)).collect();
        assert_eq!(happened, [Row, Row, Row, Row, Truncate, Message]);
        assert_eq!(opened.whole(2).0, Some(&schema));
        assert!(matches!(opened.whole(2).1, Cell::Struct(_)) && opened.whole(3).1.is_null());
        assert!(batch.rejects.is_empty());
    }

    #[test]
    fn an_event_without_its_row_is_no_delete() {
        let schema = envelope(Some("s.t.Envelope"));
        let mut batch = structs(&schema, &[event("u", None), event("x", Some("a"))]);
        open(&mut batch, ChangeEvents::Named).unwrap();
        let texts: Vec<_> = batch.rejects.iter().map(|r| r.message.as_str()).collect();
        assert_eq!(texts[0], "the change event has op u and no after");
        assert!(texts[1].contains("\"x\", which is not known") && batch.alive.count() == 0);
    }

    #[test]
    fn what_is_no_event_stays() {
        for (name, which, is) in [
            (Some("s.t.Envelope"), ChangeEvents::Named, true),
            (Some("s.t.Envelope"), ChangeEvents::Off, false),
            (Some("s.t.Value"), ChangeEvents::Named, false),
            (None, ChangeEvents::Named, false),
            (None, ChangeEvents::Any, true),
        ] {
            let mut batch = structs(&envelope(name), &[event("c", Some("a"))]);
            let before = batch.values.root(0);
            assert_eq!(open(&mut batch, which).is_some(), is, "{name:?} {which:?}");
            assert_eq!(batch.values.root(0) != before, is);
        }
    }

    fn json(text: &str) -> Batch {
        let mut batch = batch(1);
        let members: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).unwrap();
        let mut cells = Vec::new();
        for (name, value) in &members {
            cells.push(Cell::Text(batch.values.heap.put(name.as_bytes())));
            cells.push(match value {
                serde_json::Value::String(s) => Cell::Text(batch.values.heap.put(s.as_bytes())),
                serde_json::Value::Null => Cell::Null,
                other => Cell::Json(batch.values.heap.put(other.to_string().as_bytes())),
            });
        }
        let root = Cell::Map(batch.values.alloc_from(&cells));
        batch.values.push(None, root);
        batch
    }

    #[test]
    fn objects_without_a_schema_are_opened() {
        let text = r#"{"before":null,"after":{"id":7,"n":-1.50,"a\nb":"x\"y","o":{"k":[1]},"t":true,
            "z":null,"big":123456789012345678901},"source":{"table":"t"},"op":"c"}"#;
        let mut batch = json(text);
        // The order of members and the digits are the test's business, not serde's.
        assert!(open(&mut json(text), ChangeEvents::Named).is_none());
        let opened = open(&mut batch, ChangeEvents::Any).unwrap();
        let mut out = Vec::new();
        data::write_json(&batch.values, None, batch.values.root(0), &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.starts_with(r#"{"id":7,"n":-1.5,"a\nb":"x\"y","o":{"k":[1]},"t":true,"z":null"#),
            "{out}"
        );
        assert!(matches!(opened.whole(0).1, Cell::Map(span) if span.len == 8));
        assert!(matches!(member(&batch.values, batch.values.root(0), "id"), Some(Cell::Int(7, _))));
        for text in
            [r#"{"op":"c","after":[1],"source":{}}"#, r#"{"op":"u","after":null,"source":1}"#]
        {
            let mut batch = json(text);
            open(&mut batch, ChangeEvents::Any).unwrap();
            assert_eq!(batch.rejects.len(), 1, "{text}");
        }
    }
}
