//! Random Connect schemas that Avro can express without loss, and their values.

use super::super::attributes::{
    ENUM, FIELD_DEFAULT_FLAG, SUM_ENUM, SUM_FIELD_PREFIX, SUM_UNION, UNION,
};
use super::super::options::AvroOptions;
use super::super::to_avro::is_union;
use super::random::Random;
use data::{DAY_MS, Logical, Schema, SchemaBuilder, Type, Value, Width};
use std::sync::Arc;

const PRIMITIVES: [Type; 9] = [
    Type::Int8,
    Type::Int16,
    Type::Int32,
    Type::Int64,
    Type::Float32,
    Type::Float64,
    Type::Boolean,
    Type::String,
    Type::Bytes,
];

const DEPTH_MAX: usize = 3;

struct Maker<'a> {
    random: &'a mut Random,
    options: &'a AvroOptions,
    /// For names.
    count: u32,
    /// Structs that may stand in other places once more.
    structs: Vec<Arc<Schema>>,
    unions: u32,
}

/// A struct or something else.
pub(super) fn any(random: &mut Random, options: &AvroOptions) -> Arc<Schema> {
    let mut maker = Maker { random, options, count: 0, structs: Vec::new(), unions: 0 };
    if maker.random.one_in(4) { maker.schema(0) } else { built(maker.structure(0)) }
}

fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.build().unwrap())
}

impl Maker<'_> {
    fn name(&mut self) -> String {
        self.count += 1;
        let space = self.random.pick(&["a.", "a.b."]);
        format!("{space}N{}", self.count)
    }

    fn schema(&mut self, depth: usize) -> Arc<Schema> {
        let choice = self.random.below(if depth < DEPTH_MAX { 15 } else { 8 });
        let mut plain = true;
        let builder = match choice {
            0..=3 => SchemaBuilder::new(self.random.pick(&PRIMITIVES)),
            4 => self.decimal(),
            5 => self.random.pick(&[
                SchemaBuilder::date,
                SchemaBuilder::time,
                SchemaBuilder::timestamp,
            ])(),
            6 => {
                plain = false;
                self.enumeration()
            }
            7 => {
                plain = false;
                let name = self.name();
                let size = self.random.below(4).to_string();
                SchemaBuilder::new(Type::Bytes).name(&name).parameter("connect.fixed.size", &size)
            }
            8 | 9 => SchemaBuilder::array(self.schema(depth + 1)),
            10 => SchemaBuilder::map(Schema::required_of(Type::String), self.schema(depth + 1)),
            11 => {
                let keys = match self.random.below(3) {
                    0 => Schema::optional_of(Type::String),
                    1 => Schema::required_of(Type::Int32),
                    _ => self.schema(DEPTH_MAX),
                };
                // Keys of Avro's maps are text and nothing else.
                let bare = keys.kind() == Type::String && !keys.is_optional();
                let keys = if bare { Schema::required_of(Type::String) } else { keys };
                let map = SchemaBuilder::map(keys, self.schema(depth + 1));
                if self.random.one_in(2) { map.name(&self.name()) } else { map }
            }
            12 => return self.union(depth),
            13 if !self.structs.is_empty() => {
                let at = self.random.below(self.structs.len());
                return self.structs[at].clone();
            }
            _ => {
                let schema = built(self.structure(depth));
                if schema.name().is_some() {
                    self.structs.push(schema.clone());
                }
                return schema;
            }
        };
        self.decorated(builder, plain)
    }

    /// Optional, with metadata and a default: what named types share is not said of one place.
    fn decorated(&mut self, mut builder: SchemaBuilder, plain: bool) -> Arc<Schema> {
        if self.random.one_in(3) {
            builder = builder.optional();
        }
        if plain && self.random.one_in(6) {
            builder = builder.doc(&self.random.text());
        }
        if plain && self.random.one_in(6) {
            builder = builder.parameter("p", &self.random.text());
        }
        let schema = built(builder.clone());
        if plain && schema.is_primitive() && self.random.one_in(4) {
            let value = match schema.kind() {
                // JSON has none that are infinite, and other digits might be read as the double beside.
                Type::Float64 => Value::Float(0.1),
                Type::Float32 => Value::Float32(12.2),
                _ => value(self.random, &schema),
            };
            if !value.is_null() {
                return built(builder.default(value));
            }
        }
        if plain && schema.version().is_none() && self.random.one_in(6) {
            builder = builder.version(self.random.below(9) as i32);
        }
        built(builder)
    }

    fn decimal(&mut self) -> SchemaBuilder {
        let builder = SchemaBuilder::decimal(self.random.below(6) as i32);
        let precision = "connect.decimal.precision";
        match self.random.below(3) {
            0 => builder,
            1 => builder.parameter(precision, "9"),
            _ => builder.parameter(precision, "18").parameter("connect.fixed.size", "9"),
        }
    }

    fn enumeration(&mut self) -> SchemaBuilder {
        let name = self.name();
        let general = self.options.generalized_sum_types;
        let prefix = if general { SUM_ENUM } else { ENUM };
        let mut builder = SchemaBuilder::new(Type::String).name(&name).parameter(prefix, &name);
        for (at, symbol) in ["A", "B", "c_1"].into_iter().enumerate() {
            let value = if general { at.to_string() } else { symbol.to_owned() };
            builder = builder.parameter(&format!("{prefix}.{symbol}"), &value);
        }
        builder
    }

    fn structure(&mut self, depth: usize) -> SchemaBuilder {
        let mut builder = SchemaBuilder::structure();
        if !self.random.one_in(4) {
            builder = builder.name(&self.name());
        }
        if self.random.one_in(6) {
            builder = builder.version(self.random.below(9) as i32).doc("of the struct");
        }
        if self.random.one_in(6) {
            builder = builder.parameter("io.confluent.connect.avro.record.doc", "of the record");
        }
        if self.random.one_in(3) {
            builder = builder.optional();
        }
        for at in 0..self.random.below(5) {
            let name = format!("f{at}");
            if self.random.one_in(8) {
                let doc = format!("io.confluent.connect.avro.field.doc.{name}");
                builder = builder.parameter(&doc, "of the field");
            }
            let mut schema = self.schema(depth + 1);
            if is_union(&schema) && schema.is_optional() {
                // Reading says that a field has a default, null, as Confluent's converter does.
                schema = built(SchemaBuilder::copy(&schema).parameter(FIELD_DEFAULT_FLAG, "true"));
            }
            builder = builder.field(&name, schema);
        }
        builder
    }

    fn union(&mut self, depth: usize) -> Arc<Schema> {
        let named = built(SchemaBuilder::structure().name(&self.name()).optional());
        let array = built(SchemaBuilder::array(self.schema(depth + 1)).optional());
        let of = Schema::optional_of;
        let optional = self.random.one_in(2);
        let record = named.name().unwrap_or_default().rsplit('.').next().unwrap_or_default();
        let record = match self.options.enhanced {
            true => named.name().unwrap_or_default().to_owned(),
            false => record.to_owned(),
        };
        let branches = [
            ("int".to_owned(), of(Type::Int32)),
            ("long".to_owned(), of(Type::Int64)),
            ("double".to_owned(), of(Type::Float64)),
            ("string".to_owned(), of(Type::String)),
            ("bytes".to_owned(), of(Type::Bytes)),
            ("array".to_owned(), array),
            (record, named),
        ];
        let first = self.random.below(branches.len() - 2);
        let general = self.options.generalized_sum_types;
        let mut builder = SchemaBuilder::structure();
        builder = match general {
            true => {
                let name = format!("connect_union_{}", self.unions);
                builder.name(&name).parameter(SUM_UNION, &name)
            }
            false => builder.name(UNION),
        };
        self.unions += 1;
        for (at, (name, schema)) in branches.into_iter().skip(first).enumerate() {
            let place = at + usize::from(optional);
            let name = if general { format!("{SUM_FIELD_PREFIX}{place}") } else { name };
            builder = builder.field(&name, schema);
        }
        built(if optional { builder.optional() } else { builder })
    }
}

/// A value of a schema. Where there is a default it is no null, which would become the default.
pub(super) fn value(random: &mut Random, schema: &Schema) -> Value {
    if schema.is_optional() && schema.default().is_none() && random.one_in(4) {
        return Value::Null;
    }
    match schema.logical() {
        Logical::Date => return Value::Instant(i64::from(random.long() as i16) * DAY_MS),
        Logical::Time => return Value::Instant(random.below(86_400_001) as i64),
        Logical::Timestamp => return Value::Instant(random.long()),
        Logical::Decimal(scale) => {
            let unscaled = (random.long() >> 8).to_be_bytes();
            let unscaled = crate::json::shortest(&unscaled).to_vec();
            return Value::Decimal { unscaled, scale: scale.unwrap_or(0) };
        }
        Logical::None => {}
    }
    let symbols = [ENUM, SUM_ENUM].iter().any(|prefix| schema.parameter(prefix).is_some());
    match schema.kind() {
        Type::Int8 => Value::Int(i64::from(random.long() as i8), Width::W8),
        Type::Int16 => Value::Int(i64::from(random.long() as i16), Width::W16),
        Type::Int32 => Value::Int(i64::from(random.long() as i32), Width::W32),
        Type::Int64 => Value::int(random.long()),
        Type::Float32 => Value::Float32(random.double() as f32),
        Type::Float64 => Value::Float(random.double()),
        Type::Boolean => Value::Bool(random.one_in(2)),
        Type::String if symbols => Value::Text(random.pick(&["A", "B", "c_1"]).to_owned()),
        Type::String => Value::Text(random.text()),
        Type::Bytes => {
            let size = schema.parameter("connect.fixed.size").and_then(|size| size.parse().ok());
            let len = size.unwrap_or_else(|| random.below(5));
            Value::Bytes(random.bytes(len))
        }
        Type::Array => {
            let items = schema.value_schema().unwrap();
            Value::List((0..random.below(4)).map(|_| value(random, items)).collect())
        }
        Type::Map => Value::Map(entries(random, schema)),
        Type::Struct => fields(random, schema),
    }
}

fn entries(random: &mut Random, schema: &Schema) -> Vec<(Value, Value)> {
    let (keys, values) = (schema.key_schema().unwrap(), schema.value_schema().unwrap());
    let mut entries: Vec<(Value, Value)> = Vec::new();
    for _ in 0..random.below(4) {
        let key = value(random, keys);
        if entries.iter().all(|(other, _)| *other != key) {
            entries.push((key, value(random, values)));
        }
    }
    entries
}

fn fields(random: &mut Random, schema: &Schema) -> Value {
    if !is_union(schema) {
        return Value::fields(schema.fields().iter().map(|f| value(random, &f.schema)).collect());
    }
    let chosen = random.below(schema.fields().len());
    let of = |(at, field): (usize, &data::Field)| match at == chosen {
        true => loop {
            let value = value(random, &field.schema);
            if !value.is_null() {
                return value;
            }
        },
        false => Value::Null,
    };
    Value::fields(schema.fields().iter().enumerate().map(of).collect())
}

/// A value without a schema, of the classes that come back as they were.
pub(super) fn plain(random: &mut Random, depth: usize) -> Value {
    let list = |random: &mut Random| random.below(4);
    match random.below(if depth < 4 { 10 } else { 8 }) {
        0 if depth > 0 => Value::Null,
        0 | 1 => Value::Bool(random.one_in(2)),
        2 => Value::Int(i64::from(random.long() as i32), Width::W32),
        3 => Value::int(random.long()),
        4 => Value::Float32(random.double() as f32),
        5 => Value::Float(random.double()),
        6 => Value::Text(random.text()),
        7 => {
            let len = random.below(5);
            Value::Bytes(random.bytes(len))
        }
        8 => Value::List((0..list(random)).map(|_| plain(random, depth + 1)).collect()),
        _ => {
            let mut entries: Vec<(Value, Value)> = Vec::new();
            for _ in 0..list(random) {
                let key = plain(random, 9);
                if entries.iter().all(|(other, _)| *other != key) {
                    entries.push((key, plain(random, depth + 1)));
                }
            }
            Value::Map(entries)
        }
    }
}
