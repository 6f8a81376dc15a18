//! Random schemas and values, written by another implementation of Avro, read equal.

use super::*;
use apache_avro::types::Value as Theirs;
use apache_avro::writer::datum::GenericDatumWriter;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Shape {
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    Date,
    TimeMillis,
    Millis,
    Micros,
    Decimal,
    Fixed(usize),
    Enum(usize),
    Array(Box<Shape>),
    Map(Box<Shape>),
    /// Where null is.
    Nullable(bool, Box<Shape>),
    /// Null, a text, a list and a record or not.
    Union(Box<Shape>, bool),
    Record(Vec<Shape>),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        Just(Shape::Boolean),
        Just(Shape::Int),
        Just(Shape::Long),
        Just(Shape::Float),
        Just(Shape::Double),
        Just(Shape::Bytes),
        Just(Shape::Text),
        Just(Shape::Date),
        Just(Shape::TimeMillis),
        Just(Shape::Millis),
        Just(Shape::Micros),
        Just(Shape::Decimal),
        (0usize..5).prop_map(Shape::Fixed),
        (1usize..4).prop_map(Shape::Enum),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let nullable = |shape: &Shape| !matches!(shape, Shape::Nullable(..) | Shape::Union(..));
        let bare = inner.clone().prop_filter("a union is in no union", nullable);
        prop_oneof![
            inner.clone().prop_map(|of| Shape::Array(Box::new(of))),
            inner.clone().prop_map(|of| Shape::Map(Box::new(of))),
            (any::<bool>(), bare).prop_map(|(first, of)| Shape::Nullable(first, Box::new(of))),
            (inner.clone(), any::<bool>()).prop_map(|(of, null)| Shape::Union(Box::new(of), null)),
            prop::collection::vec(inner, 0..6).prop_map(Shape::Record),
        ]
    })
}

/// The schema's text; `names` counts the types with names.
fn schema(shape: &Shape, names: &mut usize) -> String {
    let mut name = || {
        *names += 1;
        format!("T{names}")
    };
    let logical = |base: &str, of: &str| format!(r#"{{"type":"{base}","logicalType":"{of}"}}"#);
    match shape {
        Shape::Boolean => "\"boolean\"".to_owned(),
        Shape::Int => "\"int\"".to_owned(),
        Shape::Long => "\"long\"".to_owned(),
        Shape::Float => "\"float\"".to_owned(),
        Shape::Double => "\"double\"".to_owned(),
        Shape::Bytes => "\"bytes\"".to_owned(),
        Shape::Text => "\"string\"".to_owned(),
        Shape::Date => logical("int", "date"),
        Shape::TimeMillis => logical("int", "time-millis"),
        Shape::Millis => logical("long", "timestamp-millis"),
        Shape::Micros => logical("long", "timestamp-micros"),
        Shape::Decimal => {
            r#"{"type":"bytes","logicalType":"decimal","precision":20,"scale":3}"#.to_owned()
        }
        Shape::Fixed(size) => {
            format!(r#"{{"type":"fixed","name":"{}","size":{size}}}"#, name())
        }
        Shape::Enum(len) => {
            let symbols: Vec<String> = (0..*len).map(|at| format!("\"S{at}\"")).collect();
            format!(r#"{{"type":"enum","name":"{}","symbols":[{}]}}"#, name(), symbols.join(","))
        }
        Shape::Array(of) => format!(r#"{{"type":"array","items":{}}}"#, schema(of, names)),
        Shape::Map(of) => format!(r#"{{"type":"map","values":{}}}"#, schema(of, names)),
        Shape::Nullable(true, of) => format!(r#"["null",{}]"#, schema(of, names)),
        Shape::Nullable(false, of) => format!(r#"[{},"null"]"#, schema(of, names)),
        Shape::Union(of, null) => {
            let record = name();
            let items = schema(of, names);
            let null = if *null { "\"null\"," } else { "" };
            format!(
                r#"["string",{null}{{"type":"array","items":{items}}},{{"type":"record","name":"{record}","fields":[{{"name":"x","type":"int"}}]}}]"#
            )
        }
        Shape::Record(fields) => {
            let own = name();
            let fields: Vec<String> = fields
                .iter()
                .enumerate()
                .map(|(at, of)| format!(r#"{{"name":"f{at}","type":{}}}"#, schema(of, names)))
                .collect();
            format!(r#"{{"type":"record","name":"{own}","fields":[{}]}}"#, fields.join(","))
        }
    }
}

/// A source of numbers, small ones among them.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mixed = self.0 ^ (self.0 >> 29);
        if mixed.is_multiple_of(3) { (mixed >> 8) % 200 } else { mixed }
    }

    fn below(&mut self, len: usize) -> usize {
        (self.next() % len as u64) as usize
    }

    fn text(&mut self) -> String {
        let letters = ["a", "é", "\u{1F600}", "", "xyz"];
        (0..self.below(5)).map(|_| letters[self.below(5)]).collect()
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// A value in their form and in ours.
fn value(shape: &Shape, numbers: &mut Numbers) -> (Theirs, Value) {
    match shape {
        Shape::Boolean => both(numbers.next().is_multiple_of(2), Theirs::Boolean, Value::Bool),
        Shape::Int => both(numbers.next() as i32, Theirs::Int, |v| int(i64::from(v))),
        Shape::Long => both(numbers.next() as i64, Theirs::Long, Value::int),
        Shape::Float => both(numbers.next() as f32 / 7.0, Theirs::Float, Value::Float32),
        Shape::Double => both(numbers.next() as f64 / 7.0, Theirs::Double, Value::Float),
        Shape::Text => both(numbers.text(), Theirs::String, Value::Text),
        Shape::Bytes => {
            let len = numbers.below(9);
            both(numbers.bytes(len), Theirs::Bytes, Value::Bytes)
        }
        Shape::Date => both(numbers.next() as i32, Theirs::Date, |days| {
            Value::Instant(i64::from(days) * 86_400_000)
        }),
        Shape::TimeMillis => both((numbers.next() % 86_400_000) as i32, Theirs::TimeMillis, |ms| {
            Value::Instant(i64::from(ms))
        }),
        Shape::Millis => both(numbers.next() as i64, Theirs::TimestampMillis, Value::Instant),
        Shape::Micros => both(numbers.next() as i64, Theirs::TimestampMicros, Value::int),
        Shape::Decimal => {
            let len = 1 + numbers.below(8);
            both(
                numbers.bytes(len),
                |bytes| Theirs::Decimal(bytes.into()),
                |unscaled| Value::Decimal { unscaled, scale: 3 },
            )
        }
        Shape::Fixed(size) => {
            both(numbers.bytes(*size), |bytes| Theirs::Fixed(*size, bytes), Value::Bytes)
        }
        Shape::Enum(len) => {
            let at = numbers.below(*len);
            let symbol = format!("S{at}");
            (Theirs::Enum(at as u32, symbol.clone()), Value::Text(symbol))
        }
        Shape::Array(of) => {
            let items = (0..numbers.below(4)).map(|_| value(of, numbers)).unzip();
            (Theirs::Array(items.0), Value::List(items.1))
        }
        Shape::Map(of) => {
            let (mut theirs, mut ours) = (std::collections::HashMap::new(), Vec::new());
            for at in 0..numbers.below(4) {
                let (key, (one, other)) = (format!("k{at}"), value(of, numbers));
                theirs.insert(key.clone(), one);
                ours.push((Value::Text(key), other));
            }
            (Theirs::Map(theirs), Value::Map(ours))
        }
        Shape::Nullable(first, of) => {
            if numbers.below(3) == 0 {
                let at = u32::from(!first);
                return (Theirs::Union(at, Box::new(Theirs::Null)), Value::Null);
            }
            let (theirs, ours) = value(of, numbers);
            (Theirs::Union(u32::from(*first), Box::new(theirs)), ours)
        }
        Shape::Union(of, null) => union(of, *null, numbers),
        Shape::Record(fields) => {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for (at, of) in fields.iter().enumerate() {
                let (one, other) = value(of, numbers);
                theirs.push((format!("f{at}"), one));
                ours.push(other);
            }
            (Theirs::Record(theirs), Value::fields(ours))
        }
    }
}

fn both<T: Clone>(
    value: T,
    theirs: impl FnOnce(T) -> Theirs,
    ours: impl FnOnce(T) -> Value,
) -> (Theirs, Value) {
    (theirs(value.clone()), ours(value))
}

fn union(of: &Shape, null: bool, numbers: &mut Numbers) -> (Theirs, Value) {
    let shift = u32::from(null);
    let branch = |at: u32, theirs| Theirs::Union(at, Box::new(theirs));
    let mut fields = vec![Value::Null, Value::Null, Value::Null];
    let theirs = match numbers.below(4) {
        0 if null => return (branch(1, Theirs::Null), Value::Null),
        0 | 1 => {
            let text = numbers.text();
            fields[0] = Value::Text(text.clone());
            branch(0, Theirs::String(text))
        }
        2 => {
            let (theirs, ours) = value(&Shape::Array(Box::new(of.clone())), numbers);
            fields[1] = ours;
            branch(1 + shift, theirs)
        }
        _ => {
            fields[2] = Value::fields(vec![int(5)]);
            branch(2 + shift, Theirs::Record(vec![("x".to_owned(), Theirs::Int(5))]))
        }
    };
    (theirs, Value::fields(fields))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_others_write_reads_equal(shape in shapes(), seed in any::<u64>()) {
        let text = schema(&shape, &mut 0);
        let theirs = apache_avro::Schema::parse_str(&text).unwrap();
        let writer = GenericDatumWriter::builder(&theirs).build().unwrap();
        let plan = plan(&text);
        let mut numbers = Numbers(seed);
        for _ in 0..4 {
            let (value, wanted) = value(&shape, &mut numbers);
            let bytes = writer.write_value_to_vec(value).unwrap();
            prop_assert_eq!(bare(read_by(&plan, &bytes).unwrap()), wanted, "{}", &text);
            // Cut short, it is a fault, and never a panic.
            for len in 0..bytes.len().min(40) {
                prop_assert!(read_by(&plan, &bytes[..len]).is_err());
            }
        }
    }

    /// Fields left out, in another order, and new ones with defaults.
    #[test]
    fn what_others_write_is_resolved(
        fields in prop::collection::vec((shapes(), any::<bool>()), 1..6),
        seed in any::<u64>(),
    ) {
        let of = |fields: &[(usize, &Shape)], more: &str| {
            // Names by the place in the writer, so that both sides have the same.
            let list: Vec<String> = fields.iter().map(|(at, shape)| {
                let text = schema(shape, &mut (at * 100));
                format!(r#"{{"name":"f{at}","type":{text}}}"#)
            }).collect();
            let more = if more.is_empty() { Vec::new() } else { vec![more.to_owned()] };
            record(&[list, more].concat().join(","))
        };
        let all: Vec<(usize, &Shape)> =
            fields.iter().enumerate().map(|(at, (shape, _))| (at, shape)).collect();
        let kept: Vec<(usize, &Shape)> =
            all.iter().rev().filter(|(at, _)| fields[*at].1).copied().collect();
        let (from, to) = (of(&all, ""), of(&kept, r#"{"name":"z","type":"long","default":7}"#));
        let theirs = apache_avro::Schema::parse_str(&from).unwrap();
        let [ours, to] = [&from, &to].map(|text| AvroSchema::parse(text).unwrap());
        let plan = Plan::resolved(&ours, &to, &AvroOptions::default(), None).unwrap();
        let shape = Shape::Record(fields.iter().map(|(shape, _)| shape.clone()).collect());
        let (value, whole) = value(&shape, &mut Numbers(seed));
        let writer = GenericDatumWriter::builder(&theirs).build().unwrap();
        let bytes = writer.write_value_to_vec(value).unwrap();
        let Value::Struct(whole) = whole else { panic!() };
        let mut wanted: Vec<Value> =
            kept.iter().map(|(at, _)| whole.values[*at].clone()).collect();
        wanted.push(Value::int(7));
        prop_assert_eq!(bare(read_by(&plan, &bytes).unwrap()), Value::fields(wanted), "{} {}", &from, seed);
    }
}
