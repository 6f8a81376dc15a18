//! What holds for any schema and value, and for any bytes.

use super::*;
use data::{DAY_MS, SchemaBuilder, Type, Width};
use proptest::prelude::*;

/// Chance out of a seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 8] = ["a", "Zz", "é", "\"", "\\", "\n\u{1}", "\u{1f600}", "/~%"];
        (0..self.below(4)).map(|_| PARTS[self.below(8) as usize]).collect()
    }

    fn schema(&mut self, depth: u64) -> Arc<Schema> {
        let mut builder = match self.below(if depth == 0 { 14 } else { 19 }) {
            0 => SchemaBuilder::new(Type::Int8),
            1 => SchemaBuilder::new(Type::Int16),
            2 => SchemaBuilder::new(Type::Int32),
            3 => SchemaBuilder::new(Type::Int64),
            4 => SchemaBuilder::new(Type::Float32),
            5 => SchemaBuilder::new(Type::Float64),
            6 => SchemaBuilder::new(Type::Boolean),
            7 => SchemaBuilder::new(Type::Bytes),
            8 => SchemaBuilder::decimal(self.below(9) as i32),
            9 => SchemaBuilder::date(),
            10 => SchemaBuilder::time(),
            11 => SchemaBuilder::timestamp(),
            12 => SchemaBuilder::new(Type::String)
                .parameter(super::super::ENUM, "")
                .parameter("io.confluent.connect.json.Enum.a", "a")
                .parameter("io.confluent.connect.json.Enum.b", "b"),
            13 | 14 => SchemaBuilder::new(Type::String),
            15 => SchemaBuilder::array(self.schema(depth - 1)),
            16 => SchemaBuilder::map(Schema::required_of(Type::String), self.schema(depth - 1)),
            17 => SchemaBuilder::map(Schema::required_of(Type::Int64), self.schema(depth - 1)),
            _ => (0..self.below(6)).fold(SchemaBuilder::structure(), |builder, field| {
                let name = format!("{}{field}", self.text());
                builder.field(&name, self.schema(depth - 1))
            }),
        };
        if self.below(4) == 0 {
            builder = builder.doc(&format!("d{}", self.text()));
        }
        if self.below(6) == 0 {
            builder = builder.parameter(&format!("p{}", self.text()), &self.text());
        }
        let plain = builder.clone().build().unwrap();
        if plain.name().is_none() && self.below(3) == 0 {
            builder = builder.name(&format!("n{}", self.text())).version(self.below(9) as i32);
        }
        if self.below(5) == 0 && plain.is_primitive() {
            builder = builder.default(self.value(&plain));
        }
        if self.below(3) == 0 {
            builder = builder.optional();
        }
        Arc::new(builder.build().unwrap())
    }

    fn value(&mut self, schema: &Schema) -> Value {
        if schema.is_optional() && schema.default().is_none() && self.below(4) == 0 {
            return Value::Null;
        }
        let bits = self.next() as i64;
        let days = self.below(40_000) as i64 - 20_000;
        match (schema.logical(), schema.kind()) {
            (data::Logical::Decimal(Some(scale)), _) => {
                Value::Decimal { unscaled: bits.to_be_bytes().to_vec(), scale }
            }
            (data::Logical::Date, _) => Value::Instant(days * DAY_MS),
            (data::Logical::Time, _) => Value::Instant(days.rem_euclid(DAY_MS)),
            (data::Logical::Timestamp, _) => Value::Instant(days * 77_777_777),
            (_, Type::Int8) => Value::Int(i64::from(bits as i8), Width::W8),
            (_, Type::Int16) => Value::Int(i64::from(bits as i16), Width::W16),
            (_, Type::Int32) => Value::Int(i64::from(bits as i32), Width::W32),
            (_, Type::Int64) => Value::Int(bits, Width::W64),
            (_, Type::Float32) => Value::Float32(days as f32 / 7.0 + 0.5),
            (_, Type::Float64) => Value::Float(bits as f64 / 3.0 + 0.5),
            (_, Type::Boolean) => Value::Bool(bits > 0),
            (_, Type::Bytes) => Value::Bytes(bits.to_be_bytes()[..self.below(8) as usize].to_vec()),
            (_, Type::String) if schema.parameters().is_some() => Value::Text("a".into()),
            (_, Type::String) => Value::Text(self.text()),
            (_, Type::Array) => {
                let items = schema.value_schema().unwrap();
                Value::List((0..self.below(4)).map(|_| self.value(items)).collect())
            }
            (_, Type::Map) => {
                let values = schema.value_schema().unwrap();
                let text = schema.key_schema().unwrap().kind() == Type::String;
                let pairs = (0..self.below(4)).map(|key| {
                    let name = Value::Text(format!("{}{key}", self.text()));
                    let key = if text { name } else { Value::int(key as i64) };
                    (key, self.value(values))
                });
                Value::Map(pairs.collect())
            }
            (_, Type::Struct) => {
                let fields = schema.fields().iter();
                Value::fields(fields.map(|field| self.value(&field.schema)).collect())
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_schema_and_value_come_back_equal(seed in 1_u64.., numeric: bool, iso: bool) {
        let mut chance = Chance(seed);
        let schema = chance.schema(3);
        let value = chance.value(&schema).with_schema(&schema);
        let settings = [
            ("decimal.format", if numeric { "NUMERIC" } else { "BASE64" }),
            ("json.write.dates.iso8601", if iso { "true" } else { "false" }),
        ];
        let text = text_of(&schema, &settings);
        let plan = plan(&text, &settings);
        prop_assert_eq!(&*plan.schema, &*schema, "{}", text);
        let payload = written(&settings, &schema, &value);
        prop_assert!(payload.is_ok(), "{:?}", payload);
        let payload = payload.unwrap();
        // A required null that is left out is not a value of this schema.
        let back = read(&plan, payload.as_bytes());
        prop_assert_eq!(back, Ok(value), "{} {}", text, payload);
    }

    #[test]
    fn any_bytes_are_read_or_refused(seed in 1_u64.., at: u16, byte: u8, junk: Vec<u8>) {
        let mut chance = Chance(seed);
        let schema = chance.schema(3);
        let value = chance.value(&schema).with_schema(&schema);
        let mut text = text_of(&schema, &[]).into_bytes();
        let plan = plan(std::str::from_utf8(&text).unwrap(), &[]);
        let mut payload = written(&[], &schema, &value).unwrap().into_bytes();
        let _refused = read(&plan, &junk);
        for changed in [&mut payload, &mut text] {
            let place = usize::from(at) % changed.len().max(1);
            if let Some(slot) = changed.get_mut(place) {
                *slot = byte;
            }
        }
        let _refused = read(&plan, &payload);
        if let Ok(text) = std::str::from_utf8(&text)
            && let Ok(plan) = connect::compile(&options(&[]), &registered(text))
        {
            let _refused = read(&plan, &payload);
        }
    }
}
