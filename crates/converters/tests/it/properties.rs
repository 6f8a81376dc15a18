//! What holds for any input: nothing panics, whatever another parser reads is read alike, and what
//! was written is read back.

use crate::{JSON, batch, converter, json};
use api::{Encoded, Side, Topics};
use data::{Rows, Schema, SchemaBuilder, Type, Value as Owned};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::sync::Arc;

const PLAIN: &[(&str, &str)] = &[("schemas.enable", "false")];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has none", |f| f.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value of one record as another parser sees what was read.
fn read(settings: &[(&str, &str)], text: &[u8]) -> Option<Value> {
    let mut batch = batch(&[Some(text), Some(text)]);
    converter(JSON, settings).decode(Side::Value, &mut batch);
    assert_eq!(batch.values.len(), 2);
    assert_eq!(json(&batch.values, 0), json(&batch.values, 1), "the second time is as the first");
    let seen = json(&batch.values, 0);
    batch.alive.is_alive(0).then(|| serde_json::from_str(&seen).unwrap())
}

/// A schema without default, as flat or deep as the budget allows.
fn any_schema() -> impl Strategy<Value = Arc<Schema>> {
    let leaf = prop_oneof![
        proptest::sample::select(vec![
            Type::Int8,
            Type::Int16,
            Type::Int32,
            Type::Int64,
            Type::Float32,
            Type::Float64,
            Type::Boolean,
            Type::String,
            Type::Bytes,
        ])
        .prop_map(SchemaBuilder::new),
        (-3_i32..20).prop_map(SchemaBuilder::decimal),
        Just(SchemaBuilder::date()),
        Just(SchemaBuilder::time()),
        Just(SchemaBuilder::timestamp()),
    ];
    let finished = |builder: BoxedStrategy<SchemaBuilder>| {
        (builder, any::<bool>(), any::<Option<String>>(), any::<Option<i32>>(), any::<bool>())
            .prop_map(|(builder, optional, doc, version, parameter)| {
                // Logical types have a version already.
                let mut builder = SchemaBuilder::copy(&builder.build().unwrap());
                if optional {
                    builder = builder.optional();
                }
                if let Some(doc) = doc {
                    builder = builder.doc(&doc).parameter("doc", &doc);
                }
                if let Some(version) = version {
                    builder = builder.version(version);
                }
                if parameter {
                    builder = builder.parameter("a\"b", "\u{1f600}");
                }
                Arc::new(builder.build().unwrap())
            })
            .boxed()
    };
    finished(leaf.boxed()).prop_recursive(3, 24, 5, move |inner| {
        let fields = btree_map("[a-zé\"]{1,3}", inner.clone(), 0..5).prop_map(|fields| {
            fields.iter().fold(SchemaBuilder::structure(), |builder, (name, schema)| {
                builder.field(name, Arc::clone(schema))
            })
        });
        let string = Arc::new(Schema::new(Type::String));
        let number = Arc::new(Schema::new(Type::Int64));
        let keys = proptest::sample::select(vec![string, number]);
        finished(
            prop_oneof![
                fields,
                inner.clone().prop_map(SchemaBuilder::array),
                (keys, inner).prop_map(|(keys, values)| SchemaBuilder::map(keys, values)),
            ]
            .boxed(),
        )
    })
}

fn owned_integer(logical: data::Logical, kind: Type, value: i64) -> Owned {
    match (logical, kind) {
        (data::Logical::Date, _) => Owned::Instant(value * data::DAY_MS),
        (data::Logical::Time | data::Logical::Timestamp, _) => Owned::Instant(value),
        (_, Type::Int8) => Owned::Int(value, data::Width::W8),
        (_, Type::Int16) => Owned::Int(value, data::Width::W16),
        (_, Type::Int32) => Owned::Int(value, data::Width::W32),
        _ => Owned::int(value),
    }
}

/// A value of the schema; its floats are finite and not a negative zero, which JSON has not.
fn value_of(schema: &Schema) -> BoxedStrategy<Owned> {
    let (logical, kind) = (schema.logical(), schema.kind());
    let integer = move |min: i64, max: i64| {
        (min..=max).prop_map(move |value| owned_integer(logical, kind, value)).boxed()
    };
    let part = |part: Option<&Arc<Schema>>| value_of(part.unwrap());
    let some = match (schema.logical(), schema.kind()) {
        (data::Logical::Decimal(Some(scale)), _) => any::<i128>()
            .prop_map(move |unscaled| {
                let (unscaled, _) = data::decimal_from_text(&unscaled.to_string()).unwrap();
                Owned::Decimal { unscaled, scale }
            })
            .boxed(),
        (data::Logical::Time, _) => integer(0, 86_400_000),
        (_, Type::Int8) => integer(i8::MIN.into(), i8::MAX.into()),
        (_, Type::Int16) => integer(i16::MIN.into(), i16::MAX.into()),
        (_, Type::Int32) => integer(i32::MIN.into(), i32::MAX.into()),
        (_, Type::Int64) => integer(i64::MIN, i64::MAX),
        (_, Type::Float32) => any::<f32>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(|f| Owned::Float32(f + 0.0))
            .boxed(),
        (_, Type::Float64) => any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(|f| Owned::Float(f + 0.0))
            .boxed(),
        (_, Type::Boolean) => any::<bool>().prop_map(Owned::Bool).boxed(),
        (_, Type::String) => any::<String>().prop_map(Owned::Text).boxed(),
        (_, Type::Bytes) => vec(any::<u8>(), 0..20).prop_map(Owned::Bytes).boxed(),
        (_, Type::Array) => vec(part(schema.value_schema()), 0..4).prop_map(Owned::List).boxed(),
        (_, Type::Map) => {
            let text = schema.key_schema().unwrap().kind() == Type::String;
            btree_map(any::<i64>(), part(schema.value_schema()), 0..4)
                .prop_map(move |entries| {
                    let key =
                        |k: i64| if text { Owned::Text(format!("{k}")) } else { Owned::int(k) };
                    Owned::Map(entries.into_iter().map(|(k, v)| (key(k), v)).collect())
                })
                .boxed()
        }
        (_, Type::Struct) => {
            let fields: Vec<_> = schema.fields().iter().map(|f| value_of(&f.schema)).collect();
            fields.prop_map(Owned::fields).boxed()
        }
    };
    if schema.is_optional() {
        return prop_oneof![1 => Just(Owned::Null), 3 => some].boxed();
    }
    some
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_read_as_another_parser_reads_it(value in any_json(), pretty: bool) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        // Read once more, because the other parser rounds some doubles otherwise than it writes.
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read(PLAIN, text.as_bytes()), Some(value.clone()));
        let enveloped = format!("{{\"schema\":null,\"payload\":{text}}}");
        prop_assert_eq!(read(&[], enveloped.as_bytes()), Some(value));
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..60)) {
        read(PLAIN, &bytes);
        read(&[], &bytes);
    }

    #[test]
    fn near_json_never_panics_and_what_is_accepted_is_strict(
        parts in vec(proptest::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"a\":", "\\", "\\u12", "\\ud83d", "0", "01",
            "-", "1.5", "e", "e9", "null", "true", "fals", " ", "\n", "\u{1}", "é", "\"schema\":",
            "\"payload\":", "{\"type\":\"int8\"}", "{\"schema\":null,\"payload\":",
        ]), 0..14)
    ) {
        let text = parts.concat();
        let accepted = read(PLAIN, text.as_bytes()).is_some();
        read(&[], text.as_bytes());
        if serde_json::from_str::<IgnoredAny>(&text).is_ok() {
            prop_assert!(accepted, "{}", text);
        }
    }

    #[test]
    fn one_changed_byte_never_panics(at in 0_usize..400, byte: u8) {
        let good = r#"{"schema":{"type":"struct","fields":[{"type":"int64","field":"id"},{"type":"map","keys":{"type":"int8"},"values":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}},"field":"m"},{"type":"string","optional":true,"default":"d","field":"s"}]},"payload":{"id":-12,"m":[[1,1.25],[2,"AJY="]],"s":"a\u00e9"}}"#;
        let mut bytes = good.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let mut batch = batch(&[Some(good.as_bytes()), Some(&bytes), Some(good.as_bytes())]);
        converter(JSON, &[]).decode(Side::Value, &mut batch);
        prop_assert!(batch.alive.is_alive(0) && batch.alive.is_alive(2));
        prop_assert_eq!(json(&batch.values, 0), json(&batch.values, 2));
    }

    #[test]
    fn what_was_written_is_read_back(
        (schema, value) in any_schema().prop_flat_map(|schema| {
            let value = value_of(&schema);
            (Just(schema), value)
        }),
        numeric: bool,
    ) {
        let format = if numeric { "NUMERIC" } else { "BASE64" };
        let settings = [("decimal.format", format), ("replace.null.with.default", "false")];
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(&schema), &value);
        rows.push(Some(&schema), cell);
        let mut out = Encoded::default();
        let mut converter = converter(JSON, &settings);
        let errors = converter.encode(Topics::One("t"), &rows, &mut out).unwrap();
        prop_assert!(errors.is_empty(), "{:?}", errors);
        let mut batch = batch(&[out.get(0), out.get(0)]);
        converter.decode(Side::Value, &mut batch);
        prop_assert!(batch.rejects.is_empty(), "{:?}", batch.rejects);
        let wanted = rows.value(Some(&schema), cell);
        for row in 0..2 {
            let read_schema = batch.values.schema(row).unwrap();
            prop_assert_eq!(read_schema, &schema);
            let seen = batch.values.value(Some(read_schema), batch.values.root(row));
            prop_assert_eq!(&seen, &wanted);
        }
    }
}
