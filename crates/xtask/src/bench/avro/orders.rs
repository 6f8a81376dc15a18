//! The orders as messages with the id of a schema, in three languages of schemas.

use serde_json::json;
use testkit::{
    avro::Avro,
    registry::{Asked, Proxy, Reply},
};

use crate::bench::{
    data::records::Fetched,
    sink::topics::avro,
    workload::{Generation, Order},
};

/// An order with `terms`, its eighth field.
pub(super) const AVRO: &str = concat!(
    r#"{"type":"record","name":"orders","fields":["#,
    r#"{"name":"id","type":"long"},"#,
    r#"{"name":"customer","type":"string"},"#,
    r#"{"name":"amount","type":"double"},"#,
    r#"{"name":"currency","type":"string"},"#,
    r#"{"name":"created","type":{"type":"long","logicalType":"timestamp-millis"}},"#,
    r#"{"name":"note","type":"string"},"#,
    r#"{"name":"paid","type":"boolean"},"#,
    r#"{"name":"terms","type":"string"}]}"#,
);

const JSON: &str = concat!(
    r#"{"type":"object","title":"orders","properties":{"#,
    r#""id":{"type":"integer","connect.type":"int64","connect.index":0},"#,
    r#""customer":{"type":"string","connect.index":1},"#,
    r#""amount":{"type":"number","connect.type":"float64","connect.index":2},"#,
    r#""currency":{"type":"string","connect.index":3},"#,
    r#""created":{"type":"integer","title":"org.apache.kafka.connect.data.Timestamp","#,
    r#""connect.version":1,"connect.type":"int64","connect.index":4},"#,
    r#""note":{"type":"string","connect.index":5},"#,
    r#""paid":{"type":"boolean","connect.index":6},"#,
    r#""terms":{"type":"string","connect.index":7}},"#,
    r#""required":["id","customer","amount","currency","created","note","paid","terms"]}"#,
);

const PROTOBUF: &str = "syntax = \"proto3\";\n\
    import \"google/protobuf/timestamp.proto\";\n\
    message orders {\n  int64 id = 1;\n  string customer = 2;\n  double amount = 3;\n  \
    string currency = 4;\n  google.protobuf.Timestamp created = 5;\n  string note = 6;\n  \
    bool paid = 7;\n  string terms = 8;\n}\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Avro,
    Json,
    Protobuf,
}

impl Language {
    const ALL: [Language; 3] = [Language::Avro, Language::Json, Language::Protobuf];

    pub(super) fn converter(self) -> &'static str {
        match self {
            Language::Avro => "io.confluent.connect.avro.AvroConverter",
            Language::Json => "io.confluent.connect.json.JsonSchemaConverter",
            Language::Protobuf => "io.confluent.connect.protobuf.ProtobufConverter",
        }
    }

    fn schema(self) -> (&'static str, &'static str) {
        match self {
            Language::Avro => ("AVRO", AVRO),
            Language::Json => ("JSON", JSON),
            Language::Protobuf => ("PROTOBUF", PROTOBUF),
        }
    }

    fn id(self) -> i32 {
        match self {
            Language::Avro => 1,
            Language::Json => 2,
            Language::Protobuf => 3,
        }
    }
}

/// A registry in this process that has these schemas and nothing else.
pub(super) fn registry() -> Proxy {
    Proxy::answering(|asked: &Asked| {
        if asked.method == "POST" {
            return Reply::json(200, &json!({"id": Language::Avro.id()}));
        }
        let path = asked.path.split('?').next().unwrap_or_default();
        for language in Language::ALL {
            let (kind, text) = language.schema();
            if path == format!("/schemas/ids/{}", language.id()) {
                return Reply::json(200, &json!({"schemaType": kind, "schema": text}));
            }
        }
        match path.ends_with("/versions") {
            true => Reply::json(200, &json!([])),
            false => Reply::json(404, &json!({"error_code": 40403, "message": "not found"})),
        }
    })
}

/// Orders of eight fields; with `framed` behind the id of their schema.
pub(super) fn fetched(language: Language, records: usize, framed: bool) -> Fetched {
    Fetched::of(records, None, |id, out| {
        let order = Order::new(id, Generation::First);
        if framed {
            out.push(0);
            out.extend_from_slice(&language.id().to_be_bytes());
        }
        match language {
            Language::Avro => {
                let value = avro(Avro::default(), &order).text(&order.terms());
                out.extend_from_slice(&value.done());
            }
            Language::Json => {
                let mut text = String::new();
                order.plain(&mut text);
                text.pop();
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(format!(",\"terms\":\"{}\"}}", order.terms()).as_bytes());
            }
            Language::Protobuf => protobuf(&order, framed, out),
        }
    })
}

/// `framed`: the first message of the file, which is one zero.
fn protobuf(order: &Order, framed: bool, out: &mut Vec<u8>) {
    if framed {
        out.push(0);
    }
    let Order { id, customer, amount, currency, created_ms, note, paid } = order;
    let (seconds, ms) = (created_ms.div_euclid(1000), created_ms.rem_euclid(1000));
    let mut created = Vec::new();
    number(1, seconds, &mut created);
    number(2, ms * 1_000_000, &mut created);
    number(1, *id, out);
    bytes(2, customer.as_bytes(), out);
    if *amount != 0.0 {
        out.push(3 << 3 | 1);
        out.extend_from_slice(&amount.to_le_bytes());
    }
    bytes(4, currency.as_bytes(), out);
    bytes(5, &created, out);
    bytes(6, note.as_bytes(), out);
    number(7, i64::from(*paid), out);
    bytes(8, order.terms().as_bytes(), out);
}

/// A field of fewer than 16; a zero is left out, as proto3 has it.
fn number(field: u8, value: i64, out: &mut Vec<u8>) {
    if value != 0 {
        out.push(field << 3);
        varint(value as u64, out);
    }
}

fn bytes(field: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(field << 3 | 2);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn varint(mut rest: u64, out: &mut Vec<u8>) {
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use api::Side;
    use config::Props;

    use super::*;

    #[test]
    fn the_three_languages_say_the_same() {
        let registry = registry();
        let read = |language: Language| {
            let plugin = converters::find(language.converter()).unwrap();
            let url = registry.url();
            let props: Props = [("schema.registry.url", url.as_str())].into_iter().collect();
            let mut converter = (plugin.make)(&props, Side::Value).unwrap();
            let mut batch = fetched(language, 3, true).fresh().next().unwrap();
            converter.prepare(Side::Value, &batch.raw).unwrap();
            converter.decode(Side::Value, &mut batch);
            let row = |row: usize| {
                let rows = &batch.values;
                let mut out = Vec::new();
                let schema = rows.schema(row).map(AsRef::as_ref);
                data::write_json(rows, schema, rows.root(row), &mut out);
                String::from_utf8(out).unwrap()
            };
            assert_eq!(batch.alive.count(), 3, "{language:?}");
            [row(0), row(1), row(2)]
        };
        let avro = read(Language::Avro);
        assert!(avro[1].contains("\"terms\":\"net 01 days; carriage is paid.\""), "{avro:?}");
        assert_eq!(read(Language::Json), avro);
        assert_eq!(read(Language::Protobuf), avro);
    }
}
