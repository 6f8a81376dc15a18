//! A header's value as text: in names of tables and for key columns.
//!
//! Invariant: a header that no transform asked for is the text that the record carries; one that was
//! decoded is the text of what it was read as, or was changed to.

use data::{Batch, Cell, write_json};
use std::borrow::Cow;

/// The last header of that name; `None` for one that is absent, null, or no text.
pub(crate) fn header_text<'a>(batch: &'a Batch, row: usize, name: &str) -> Option<Cow<'a, str>> {
    if !batch.headers.is_decoded() {
        let bytes = batch.raw.header(row, name).flatten()?;
        return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
    }
    let header = batch.headers.last(row, name)?;
    let values = &batch.headers.values;
    match header.value {
        Cell::Null => None,
        Cell::Text(span) => Some(Cow::Borrowed(values.text(span))),
        Cell::Bytes(span) => std::str::from_utf8(values.bytes(span)).ok().map(Cow::Borrowed),
        cell => {
            let mut out = Vec::new();
            write_json(values, header.schema.as_deref(), cell, &mut out);
            let text = String::from_utf8(out).ok()?;
            // Times are strings in JSON.
            let bare = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            Some(Cow::Owned(bare.map(str::to_owned).unwrap_or(text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{
        Header, RawBatchBuilder, Schema, SchemaBuilder, TimestampType, TopicPartition, Type, Value,
    };
    use std::sync::Arc;

    fn batch() -> Batch {
        let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
        raw.header("h", Some(b"007"));
        raw.header("n", None);
        raw.header("x", Some(b"\xff"));
        raw.push(0, 0, TimestampType::CreateTime, None, None);
        Batch::new(Arc::new(raw.finish(1)))
    }

    #[test]
    fn what_the_record_carries_or_what_it_was_read_as() {
        let mut batch = batch();
        let text = |batch: &Batch, name: &str| header_text(batch, 0, name).map(Cow::into_owned);
        assert_eq!(text(&batch, "h").as_deref(), Some("007"));
        assert_eq!(["n", "x", "none"].map(|name| text(&batch, name)), [None, None, None]);
        batch.headers.begin(1);
        let int = Arc::new(Schema::new(Type::Int8));
        let time = Arc::new(SchemaBuilder::timestamp().build().unwrap());
        let string = Arc::new(Schema::new(Type::String));
        for (name, schema, value) in [
            ("h", &int, Value::int(7)),
            ("t", &time, Value::Instant(5)),
            ("s", &string, Value::Text("a\"b".to_owned())),
            ("n", &string, Value::Null),
        ] {
            let value = batch.headers.values.put_value(Some(schema), &value);
            let header = Header { name: name.into(), schema: Some(schema.clone()), value };
            batch.headers.push(0, header);
        }
        let seen = ["h", "t", "s", "n", "x"].map(|name| text(&batch, name));
        let some = |text: &str| Some(text.to_owned());
        let time = "1970-01-01T00:00:00.005Z";
        assert_eq!(seen, [some("7"), some(time), some("a\"b"), None, None]);
    }
}
