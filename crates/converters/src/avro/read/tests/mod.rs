//! Bytes of Avro to rows: by hand, against another implementation, and against nonsense.

mod differential;
mod malformed;
mod resolved;

use super::*;
use data::{Arena, Cell, Value, Width};

/// Zig-zag.
pub(super) fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    let mut out = Vec::new();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

pub(super) fn text(text: &str) -> Vec<u8> {
    [long(text.len() as i64), text.as_bytes().to_vec()].concat()
}

pub(super) fn plan(schema: &str) -> Plan {
    let avro = AvroSchema::parse(schema).unwrap_or_else(|fault| panic!("{fault}: {schema}"));
    Plan::new(&avro, &AvroOptions::default(), None)
        .unwrap_or_else(|fault| panic!("{fault}: {schema}"))
}

/// The rows of values that lie one behind the other in a batch.
pub(super) fn rows(plan: &Plan, payloads: &[&[u8]]) -> Result<Rows, Malformed> {
    let arena: Arena = payloads.concat().into();
    let mut rows = Rows::over(Arc::new(arena));
    let mut scratch = Scratch::default();
    let mut start = 0;
    for payload in payloads {
        let place = Span { start, len: payload.len() as u32 };
        plan.read(payload, place, &mut rows, &mut scratch)?;
        start += place.len;
    }
    Ok(rows)
}

pub(super) fn read_by(plan: &Plan, payload: &[u8]) -> Result<Value, Malformed> {
    // Something before it, so that places are not positions.
    let arena: Arena = [b"xyz", payload].concat().into();
    let mut rows = Rows::over(Arc::new(arena));
    let place = Span { start: 3, len: payload.len() as u32 };
    plan.read(payload, place, &mut rows, &mut Scratch::default())?;
    Ok(rows.value(rows.schema(0), rows.root(0)))
}

pub(super) fn read(schema: &str, payload: &[u8]) -> Value {
    let read = read_by(&plan(schema), payload);
    bare(read.unwrap_or_else(|fault| panic!("{fault:?}: {schema}")))
}

/// Without the schemas of structs.
pub(super) fn bare(value: Value) -> Value {
    match value {
        Value::Struct(of) => Value::fields(of.values.into_iter().map(bare).collect()),
        Value::List(items) => Value::List(items.into_iter().map(bare).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.into_iter().map(|(key, value)| (bare(key), bare(value))).collect())
        }
        other => other,
    }
}

pub(super) fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

pub(super) fn int(value: i64) -> Value {
    Value::Int(value, Width::W32)
}

pub(super) fn record(fields: &str) -> String {
    format!(r#"{{"type":"record","name":"R","fields":[{fields}]}}"#)
}

#[test]
fn every_type_is_read() {
    let decimal = Value::Decimal { unscaled: vec![4, 210], scale: 2 };
    for (schema, bytes, wanted) in [
        (r#""boolean""#, vec![1], Value::Bool(true)),
        (r#""int""#, long(-65), int(-65)),
        (r#""int""#, long(i64::from(i32::MIN)), int(i64::from(i32::MIN))),
        (r#""long""#, long(i64::MIN), Value::int(i64::MIN)),
        (r#""float""#, 1.5f32.to_le_bytes().to_vec(), Value::Float32(1.5)),
        (r#""double""#, (-2.5f64).to_le_bytes().to_vec(), Value::Float(-2.5)),
        (r#""bytes""#, vec![4, 0xff, 0], Value::Bytes(vec![0xff, 0])),
        (r#""string""#, text("añ"), word("añ")),
        (r#"{"type":"int","connect.type":"int8"}"#, long(-128), Value::Int(-128, Width::W8)),
        (r#"{"type":"int","connect.type":"int16"}"#, long(300), Value::Int(300, Width::W16)),
        (r#"{"type":"fixed","name":"F","size":2}"#, vec![1, 2], Value::Bytes(vec![1, 2])),
        (r#"{"type":"enum","name":"E","symbols":["A","B"]}"#, vec![2], word("B")),
        (r#"{"type":"int","logicalType":"date"}"#, long(1), Value::Instant(86_400_000)),
        (r#"{"type":"int","logicalType":"time-millis"}"#, long(5), Value::Instant(5)),
        (r#"{"type":"long","logicalType":"timestamp-millis"}"#, long(-5), Value::Instant(-5)),
        (r#"{"type":"long","logicalType":"timestamp-micros"}"#, long(7), Value::int(7)),
        (
            r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#,
            vec![4, 4, 210],
            decimal.clone(),
        ),
        (
            r#"{"type":"fixed","name":"F","size":4,"logicalType":"decimal","precision":9,"scale":2}"#,
            vec![0, 0, 4, 210],
            decimal,
        ),
        (r#"["null","int"]"#, vec![0], Value::Null),
        (r#"["null","int"]"#, vec![2, 4], int(2)),
        (r#"["int","null"]"#, vec![0, 4], int(2)),
        (r#"["int","null"]"#, vec![2], Value::Null),
        (r#"["int"]"#, vec![0, 4], int(2)),
        (r#"{"type":"array","items":"int"}"#, vec![0], Value::List(vec![])),
        (
            r#"{"type":"array","items":"int"}"#,
            vec![4, 2, 4, 1, 2, 6, 0],
            Value::List(vec![int(1), int(2), int(3)]),
        ),
        (
            r#"{"type":"map","values":"boolean"}"#,
            [vec![1, 6], text("k"), vec![1], vec![2], text("k"), vec![0, 0]].concat(),
            Value::Map(vec![(word("k"), Value::Bool(false))]),
        ),
        (
            r#"["int","null",{"type":"array","items":"long"},"string"]"#,
            [vec![6], text("z")].concat(),
            Value::fields(vec![Value::Null, Value::Null, word("z")]),
        ),
    ] {
        assert_eq!(read(schema, &bytes), wanted, "{schema}");
    }
}

#[test]
fn records_are_structs_and_text_stays_where_it_was_fetched() {
    let fields = r#"{"name":"a","type":"string"},{"name":"b","type":{"type":"record","name":"S","fields":[{"name":"c","type":["null","long"]}]}}"#;
    let plan = plan(&record(fields));
    let payload = [text("hello"), vec![2], long(1 << 40)].concat();
    let rows = rows(&plan, &[&payload, &payload]).unwrap();
    assert_eq!(rows.runs().len(), 1, "one schema");
    let [a, b] = rows.fields(rows.root(1)) else { panic!() };
    assert_eq!(*a, Cell::Text(Span { start: payload.len() as u32 + 1, len: 5 }));
    assert_eq!(rows.fields(*b), [Cell::int(1 << 40)]);
}

#[test]
fn arrays_of_entries_are_maps_of_any_key() {
    let schema = |first: &str, second: &str| {
        format!(
            r#"{{"type":"array","items":{{"type":"record","name":"io.confluent.connect.avro.MapEntry","fields":[{first},{second}]}}}}"#
        )
    };
    let (key, value) = (r#"{"name":"key","type":"int"}"#, r#"{"name":"value","type":"string"}"#);
    let wanted = Value::Map(vec![(int(1), word("b")), (int(2), word("c"))]);
    let items = |pairs: [(i64, &str); 3]| {
        let pair = |(key, value): (i64, &str)| [long(key), text(value)].concat();
        [vec![6], pairs.map(pair).concat(), vec![0]].concat()
    };
    let bytes = items([(1, "a"), (2, "c"), (1, "b")]);
    assert_eq!(read(&schema(key, value), &bytes), wanted);
    let reversed: Vec<u8> =
        [vec![6], [text("a"), long(1), text("c"), long(2), text("b"), long(1)].concat(), vec![0]]
            .concat();
    assert_eq!(read(&schema(value, key), &reversed), wanted);
}

#[test]
fn of_many_keys_the_last_of_each_stays() {
    let schema = r#"{"type":"map","values":"int"}"#;
    let pairs: Vec<u8> =
        (0..40).flat_map(|at| [text(&format!("k{}", at % 30)), long(at)].concat()).collect();
    let Value::Map(map) = read(schema, &[long(40), pairs, vec![0]].concat()) else { panic!() };
    assert_eq!(map.len(), 30);
    assert_eq!(map[0], (word("k0"), int(30)));
    assert_eq!(map[29], (word("k29"), int(29)));
}

const NODE: &str = r#"{"type":"record","name":"Node","fields":[
    {"name":"v","type":{"type":"int","logicalType":"date"}},
    {"name":"f","type":"float"},
    {"name":"next","type":["null","Node"]}]}"#;

fn node(levels: usize) -> Vec<u8> {
    let one = |at: usize| [long(at as i64), 0.5f32.to_le_bytes().to_vec()].concat();
    let inner: Vec<u8> = (1..levels).flat_map(|at| [vec![2], one(at)].concat()).collect();
    [one(0), inner, vec![0]].concat()
}

#[test]
fn a_record_within_itself_describes_itself() {
    let inner = |at: i64, next| {
        Value::Map(vec![
            (word("v"), Value::Instant(at * 86_400_000)),
            (word("f"), Value::Float32(0.5)),
            (word("next"), next),
        ])
    };
    let wanted = Value::fields(vec![
        Value::Instant(0),
        Value::Float32(0.5),
        inner(1, inner(2, Value::Null)),
    ]);
    assert_eq!(read(NODE, &node(3)), wanted);
    let plan = plan(NODE);
    let values = rows(&plan, &[&node(500)]).unwrap();
    assert_eq!(values.len(), 1);
    let fault = rows(&plan, &[&node(501)]).unwrap_err();
    assert!(fault.message.contains("a value nested deeper than 500 levels"), "{fault:?}");
}

#[test]
fn lists_and_maps_count_for_the_depth_of_a_value() {
    let tree = record(
        r#"{"name":"m","type":{"type":"map","values":{"type":"array","items":["null","string","R"]}}}"#,
    );
    let bytes = |levels: usize| {
        let mut inner = vec![0];
        for _ in 0..levels {
            let ends = vec![0, 0];
            inner = [vec![2], text("k"), vec![2, 4], inner, ends].concat();
        }
        inner
    };
    let plan = plan(&tree);
    assert!(read_by(&plan, &bytes(166)).is_ok());
    let fault = read_by(&plan, &bytes(167)).unwrap_err();
    assert!(fault.message.contains("a value nested deeper than 500 levels"), "{fault:?}");
    assert_eq!(fault.path.unwrap().matches("m[\"k\"][0]").count(), 166);
}

#[test]
fn records_that_contain_each_other_are_read() {
    let schema = r#"{"type":"record","name":"A","fields":[
        {"name":"b","type":["null",{"type":"record","name":"B","fields":[
            {"name":"a","type":["null","A"]},{"name":"bs","type":{"type":"array","items":"B"}}]}]},
        {"name":"n","type":"int"}]}"#;
    let b = |a: Vec<u8>, bs: Vec<u8>| [a, bs].concat();
    let leaf = b(vec![0], vec![0]);
    let inner_a = [vec![2, 2], leaf.clone(), long(7)].concat();
    let bytes = [vec![2], b(inner_a, [vec![2], leaf, vec![0]].concat()), long(9)].concat();
    let plain_b = Value::Map(vec![(word("a"), Value::Null), (word("bs"), Value::List(vec![]))]);
    let wanted = Value::fields(vec![
        Value::fields(vec![
            Value::Map(vec![(word("b"), plain_b.clone()), (word("n"), int(7))]),
            Value::List(vec![plain_b]),
        ]),
        int(9),
    ]);
    assert_eq!(read(schema, &bytes), wanted);
}

/// The record for values of any shape, as Confluent's converter registers it.
pub(super) fn anything() -> String {
    let of = |name: &str, kind: &str| {
        format!(r#"{{"name":"{name}","type":["null",{kind}],"default":null}}"#)
    };
    let scalars = ["boolean", "bytes", "double", "float", "int", "long", "string"];
    let mut fields = scalars.map(|kind| of(kind, &format!("{kind:?}"))).to_vec();
    fields.push(of("array", r#"{"type":"array","items":"Anything"}"#));
    let entry = r#"{"type":"record","name":"MapEntry","fields":[{"name":"key","type":"Anything"},{"name":"value","type":"Anything"}]}"#;
    fields.push(of("map", &format!(r#"{{"type":"array","items":{entry}}}"#)));
    format!(
        r#"{{"type":"record","name":"Anything","namespace":"io.confluent.connect.avro","fields":[{}]}}"#,
        fields.join(",")
    )
}

fn shaped(field: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; field];
    out.push(2);
    out.extend(bytes);
    out.extend(vec![0; 8 - field]);
    out
}

#[test]
fn values_of_any_shape_say_their_class() {
    let key = shaped(4, &long(3));
    let list =
        shaped(7, &[vec![6], shaped(6, &text("x")), vec![0; 9], shaped(0, &[1]), vec![0]].concat());
    let bytes = shaped(8, &[vec![2], key, list, vec![0]].concat());
    let wanted =
        Value::Map(vec![(int(3), Value::List(vec![word("x"), Value::Null, Value::Bool(true)]))]);
    assert_eq!(read(&anything(), &bytes), wanted);
    for (field, bytes, wanted) in [
        (1, vec![2, 9], Value::Bytes(vec![9])),
        (2, 1.5f64.to_le_bytes().to_vec(), Value::Float(1.5)),
        (3, 1.5f32.to_le_bytes().to_vec(), Value::Float32(1.5)),
        (5, long(5), Value::int(5)),
    ] {
        assert_eq!(read(&anything(), &shaped(field, &bytes)), wanted);
    }
    let list = format!(r#"{{"type":"array","items":{}}}"#, anything());
    assert_eq!(
        read(&list, &[vec![2], shaped(4, &[2]), vec![0]].concat()),
        Value::List(vec![int(1)])
    );
    let cell = rows(&plan(&anything()), &[&[0; 9]]).unwrap();
    assert!(cell.root(0).is_null() && cell.schema(0).is_none());
}

#[test]
fn five_hundred_fields_and_two_hundred_levels_are_read() {
    let fields: Vec<String> =
        (0..500).map(|at| format!(r#"{{"name":"f{at}","type":["null","int"]}}"#)).collect();
    let bytes: Vec<u8> = (0..500).flat_map(|at| [vec![2], long(at)].concat()).collect();
    let Value::Struct(wide) = read(&record(&fields.join(",")), &bytes) else { panic!() };
    assert_eq!((wide.values.len(), &wide.values[499]), (500, &int(499)));
    let open: String = (0..200)
        .map(|at| format!(r#"{{"type":"record","name":"R{at}","fields":[{{"name":"f","type":"#))
        .collect();
    let schema = format!("{open}\"int\"{}", "}]}".repeat(200));
    let mut value = read(&schema, &long(7));
    for _ in 0..200 {
        let Value::Struct(of) = value else { panic!() };
        value = of.values.into_iter().next().unwrap();
    }
    assert_eq!(value, int(7));
}

#[test]
fn a_value_costs_no_allocation() {
    let fields = r#"{"name":"a","type":"string"},{"name":"b","type":["null","long"]},
        {"name":"c","type":{"type":"array","items":{"type":"map","values":"double"}}},
        {"name":"d","type":{"type":"enum","name":"E","symbols":["X"]}},{"name":"e","type":["int","string"]}"#;
    let plan = plan(&record(fields));
    let map = [vec![2], text("k"), 1.0f64.to_le_bytes().to_vec(), vec![0]].concat();
    let payload =
        [text("t"), vec![2], long(5), vec![2], map, vec![0], vec![0], vec![2], text("u")].concat();
    let mut rows = Rows::over(Arc::new(payload.clone().into()));
    let place = Span { start: 0, len: payload.len() as u32 };
    let mut scratch = Scratch::default();
    rows.reserve(2000, 40_000);
    let mut run = |count: usize| {
        for _ in 0..count {
            plan.read(&payload, place, &mut rows, &mut scratch).unwrap();
        }
    };
    run(500);
    let info = allocation_counter::measure(|| run(1000));
    // The heap of symbols may double once or twice.
    assert!(info.count_total <= 2, "{info:?}");
}
