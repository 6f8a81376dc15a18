//! Avro as a format of the converters with a registry.

use super::options::AvroOptions;
use super::read::{self, Plan, Scratch};
use super::schema::{AvroSchema, Kind as SchemaKind, Parser};
use super::write::Writer;
use crate::batch::Rejection;
use crate::registered::{Format, INLINE, Written};
use crate::settings::wrong;
use api::Result as ApiResult;
use config::{ConfigDef, Props};
use data::{Cell, Rows, Schema, Span};
use registry::{Draft, Kind, Registered};
use std::sync::Arc;

pub(super) const CLASS: &str = "io.confluent.connect.avro.AvroConverter";

pub(crate) struct Avro {
    options: AvroOptions,
    scratch: Scratch,
}

/// The schema with what it refers to.
fn parse(schema: &Registered) -> Result<AvroSchema, String> {
    let mut parser = Parser::default();
    refer(&mut parser, schema)?;
    parser.parse(&schema.text)
}

/// Makes known what a schema refers to, innermost first. The registry's client refuses cycles.
fn refer(parser: &mut Parser, schema: &Registered) -> Result<(), String> {
    for (reference, of) in &schema.references {
        refer(parser, of)?;
        parser
            .refer(&of.text)
            .map_err(|why| format!("in the reference {}: {why}", reference.name))?;
    }
    Ok(())
}

/// A plan for the records of one schema.
pub(crate) struct Reader {
    plan: Plan,
    /// Records are the bytes themselves, without Avro's length in front.
    raw: bool,
}

/// Whether records of a schema are bytes and nothing else. Confluent's serializers leave out the length
/// that Avro has in front of them: the end of the record says it. What has no id in front is plain Avro.
fn is_raw(schema: &AvroSchema) -> bool {
    matches!(schema.kind(schema.root()), SchemaKind::Bytes)
}

/// Bytes as Avro has them, put in the heap.
fn with_length(payload: &[u8], rows: &mut Rows) -> (Vec<u8>, Span) {
    let mut bytes = Vec::with_capacity(payload.len() + 10);
    let mut length = (payload.len() as u64) << 1;
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(payload);
    let place = rows.heap.put(&bytes);
    (bytes, place)
}

/// Takes the length away that stands at `start`.
fn without_length(start: usize, out: &mut Vec<u8>) {
    let written = out.get(start..).unwrap_or_default();
    let end = written.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
    out.drain(start..start + end);
}

/// The name of a record that is the whole of a schema. Subjects are named after nothing else: not
/// after an enum or a fixed, nor after the branches of a union.
fn record_name(schema: &AvroSchema) -> Option<String> {
    match schema.kind(schema.root()) {
        SchemaKind::Record(record) => Some(record.name.full()),
        _ => None,
    }
}

impl Format for Avro {
    const CLASS: &'static str = CLASS;
    const KIND: Kind = Kind::Avro;
    type Reader = Reader;
    type Writer = Writer;

    fn config_def() -> ConfigDef {
        AvroOptions::config_def()
    }

    fn new(props: &Props) -> ApiResult<Avro> {
        let parsed = AvroOptions::config_def().parse(props).into_result().map_err(wrong)?;
        Ok(Avro { options: AvroOptions::from_parsed(&parsed), scratch: Scratch::default() })
    }

    fn reader(&self, schema: &Registered) -> Result<Reader, String> {
        let parsed = parse(schema)?;
        let raw = is_raw(&parsed) && schema.id != INLINE;
        Ok(Reader { plan: Plan::new(&parsed, &self.options, schema.version)?, raw })
    }

    fn record_name(&self, schema: &Registered) -> Option<String> {
        parse(schema).ok().as_ref().and_then(record_name)
    }

    fn read(
        &mut self,
        reader: &mut Reader,
        payload: &[u8],
        place: Span,
        rows: &mut Rows,
    ) -> Result<(), Rejection> {
        let framed;
        let (payload, place) = if reader.raw {
            framed = with_length(payload, rows);
            (framed.0.as_slice(), framed.1)
        } else {
            (payload, place)
        };
        reader.plan.read(payload, place, rows, &mut self.scratch).map_err(|malformed| Rejection {
            message: format!("The bytes are no value of the Avro schema: {}", malformed.message),
            exception: "org.apache.kafka.connect.errors.DataException",
            class: CLASS,
            column: malformed.path,
        })
    }

    fn writer(
        &self,
        schema: Option<&Arc<Schema>>,
    ) -> Result<(Writer, Draft, Option<String>), String> {
        let writer = Writer::new(schema.map(AsRef::as_ref), &self.options)?;
        let (text, name) = (writer.schema().text(), record_name(writer.schema()));
        Ok((writer, Draft { kind: Kind::Avro, text, references: Vec::new() }, name))
    }

    fn writer_for(
        &self,
        schema: Option<&Arc<Schema>>,
        target: &Registered,
    ) -> Result<Writer, String> {
        Writer::under(schema.map(AsRef::as_ref), Arc::new(parse(target)?), &self.options)
    }

    fn compatible(&self, draft: &Draft, target: &Registered) -> Result<(), String> {
        read::compatible(&AvroSchema::parse(&draft.text)?, &parse(target)?, &self.options)
    }

    fn write(
        &mut self,
        writer: &mut Writer,
        rows: &Rows,
        _: Option<&Arc<Schema>>,
        cell: Cell,
        out: &mut Vec<u8>,
    ) -> Result<Written, String> {
        if cell.is_null() {
            return Ok(Written::Null);
        }
        let start = out.len();
        writer.write(rows, cell, out)?;
        if is_raw(writer.schema()) {
            without_length(start, out);
        }
        Ok(Written::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::Value;
    use registry::{Reference, SchemaId};

    fn registered(text: &str, references: &[(&str, &Arc<Registered>)]) -> Registered {
        let refer = |(name, of): &(&str, &Arc<Registered>)| {
            let subject = (*name).to_owned();
            let reference = Reference { name: (*name).to_owned(), subject, version: 1 };
            (reference, Arc::clone(of))
        };
        Registered {
            id: SchemaId::Id(7),
            kind: Kind::Avro,
            text: text.into(),
            subject: Some("t-value".to_owned()),
            version: Some(3),
            references: references.iter().map(refer).collect(),
            rules: Vec::new(),
        }
    }

    const INNER: &str =
        r#"{"type":"record","name":"n.In","fields":[{"name":"x","type":["null","boolean"]}]}"#;

    #[test]
    fn records_that_are_bytes_alone_have_no_length() {
        let mut avro = Avro::new(&Props::new()).unwrap();
        for value in [vec![], vec![7u8; 3], vec![9u8; 300]] {
            let mut rows = Rows::default();
            let schema = Schema::required_of(data::Type::Bytes);
            let cell = rows.put_value(Some(&schema), &Value::Bytes(value.clone()));
            let (mut writer, draft, _) = avro.writer(Some(&schema)).unwrap();
            let mut out = vec![1, 2];
            avro.write(&mut writer, &rows, Some(&schema), cell, &mut out).unwrap();
            assert_eq!(out[2..], value);
            let mut reader = avro.reader(&registered(&draft.text, &[])).unwrap();
            let mut read = Rows::default();
            let place = read.heap.put(&value);
            avro.read(&mut reader, &value, place, &mut read).map_err(|f| f.message).unwrap();
            assert_eq!(read.value(read.schema(0), read.root(0)), Value::Bytes(value));
        }
        let inline = Registered { id: INLINE, ..registered(r#""bytes""#, &[]) };
        let mut reader = avro.reader(&inline).unwrap();
        let mut read = Rows::default();
        let place = read.heap.put(&[2, 5]);
        avro.read(&mut reader, &[2, 5], place, &mut read).map_err(|f| f.message).unwrap();
        assert_eq!(read.value(read.schema(0), read.root(0)), Value::Bytes(vec![5]));
    }

    #[test]
    fn a_schema_with_references_is_read_and_its_faults_name_field_and_byte() {
        let inner = Arc::new(registered(INNER, &[]));
        let middle = r#"{"type":"record","name":"n.Mid","fields":[{"name":"in","type":"In"}]}"#;
        let middle = Arc::new(registered(middle, &[("n.In", &inner)]));
        let text = r#"{"type":"record","name":"n.Out","fields":[
            {"name":"a","type":"n.In"},{"name":"b","type":"n.Mid"}]}"#;
        let outer = registered(text, &[("n.In", &inner), ("n.Mid", &middle)]);
        let mut avro = Avro::new(&Props::new()).unwrap();
        let mut plan = avro.reader(&outer).unwrap();
        let mut rows = Rows::default();
        let place = rows.heap.put(&[2, 1, 0]);
        avro.read(&mut plan, &[2, 1, 0], place, &mut rows).map_err(|fault| fault.message).unwrap();
        let schema = rows.schema(0).unwrap();
        assert_eq!((schema.name(), schema.version()), (Some("n.Out"), Some(3)));
        let Value::Struct(of) = rows.value(Some(schema), rows.root(0)) else { panic!() };
        let Value::Struct(a) = &of.values[0] else { panic!() };
        assert_eq!(a.values, [Value::Bool(true)]);
        let fault = avro.read(&mut plan, &[0, 2, 9], place, &mut rows).err().unwrap();
        assert_eq!(fault.column.as_deref(), Some("b.in.x"));
        assert_eq!(
            fault.message,
            "The bytes are no value of the Avro schema: at byte 2: the byte 9 is no boolean"
        );
        assert_eq!(rows.len(), 1);
        assert_eq!(avro.record_name(&outer).as_deref(), Some("n.Out"));
        let unnamed = [
            r#""int""#,
            r#"{"type":"enum","name":"n.E","symbols":["A"]}"#,
            r#"{"type":"fixed","name":"n.F","size":2}"#,
            r#"["null",{"type":"record","name":"n.R","fields":[]}]"#,
        ];
        for text in unnamed {
            assert_eq!(avro.record_name(&registered(text, &[])), None, "{text}");
        }
        let error = r#"{"type":"error","name":"n.E","fields":[]}"#;
        assert_eq!(avro.record_name(&registered(error, &[])).as_deref(), Some("n.E"));
        let lacking = avro.reader(&registered(text, &[])).err().unwrap();
        assert!(lacking.contains("does not define: n.In"), "{lacking}");
    }

    #[test]
    fn what_was_read_is_written_with_the_same_bytes() {
        let mut avro = Avro::new(&Props::new()).unwrap();
        let schema = registered(INNER, &[]);
        let mut plan = avro.reader(&schema).unwrap();
        let mut rows = Rows::default();
        let place = rows.heap.put(&[2, 1]);
        avro.read(&mut plan, &[2, 1], place, &mut rows).map_err(|fault| fault.message).unwrap();
        let (mut writer, draft, name) = avro.writer(rows.schema(0)).unwrap();
        assert_eq!((draft.kind, name.as_deref()), (Kind::Avro, Some("n.In")));
        let mut under = avro.writer_for(rows.schema(0), &schema).unwrap();
        for writer in [&mut writer, &mut under] {
            let mut out = Vec::new();
            let written = avro.write(writer, &rows, rows.schema(0), rows.root(0), &mut out);
            assert_eq!((written, out), (Ok(Written::Value), vec![2, 1]));
        }
        let null = avro.write(&mut writer, &rows, rows.schema(0), Cell::Null, &mut Vec::new());
        assert_eq!(null, Ok(Written::Null));
        assert_eq!(avro.compatible(&draft, &schema), Ok(()));
        let other = registered(&INNER.replace("\"x\"", "\"y\""), &[]);
        assert!(avro.compatible(&draft, &other).unwrap_err().contains("no field y"));
    }

    #[test]
    fn a_wrong_setting_is_told() {
        let props: Props = [("connect.meta.data", "maybe")].into_iter().collect();
        let fault = Avro::new(&props).err().unwrap().to_string();
        assert!(fault.contains("connect.meta.data"), "{fault}");
    }
}
