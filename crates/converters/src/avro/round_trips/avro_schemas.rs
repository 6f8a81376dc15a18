//! Random Avro schemas that Connect can express without loss, and the bytes of their values.

use super::super::schema::{AvroSchema, Id, Kind};
use super::super::write::put_long;
use super::random::Random;
use serde_json::{Value as Json, json};

const DEPTH_MAX: usize = 4;

const PRIMITIVES: [&str; 7] = ["boolean", "int", "long", "float", "double", "bytes", "string"];

const LOGICAL: [(&str, &str); 10] = [
    ("int", "date"),
    ("int", "time-millis"),
    ("long", "time-micros"),
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "timestamp-nanos"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
    ("long", "local-timestamp-nanos"),
    ("string", "uuid"),
];

struct Maker<'a> {
    random: &'a mut Random,
    count: u32,
    /// Full names of complete types.
    known: Vec<String>,
    /// Full names of the records around.
    around: Vec<String>,
    /// Records may contain themselves; then unions are of null and one type, since what describes
    /// itself does not say which of several it is.
    recursive: bool,
}

/// A record.
pub(super) fn any(random: &mut Random) -> Json {
    let recursive = random.one_in(3);
    let (known, around) = (Vec::new(), Vec::new());
    let mut maker = Maker { random, count: 0, known, around, recursive };
    maker.record(0)
}

impl Maker<'_> {
    /// The simple name, the namespace and both.
    fn name(&mut self) -> (String, &'static str, String) {
        self.count += 1;
        let space = self.random.pick(&["a", "a.b"]);
        let name = format!("N{}", self.count);
        let full = format!("{space}.{name}");
        (name, space, full)
    }

    fn named(&mut self, kind: &str, rest: Json) -> Json {
        let (name, space, full) = self.name();
        let mut json = json!({"type": kind, "name": name, "namespace": space});
        if self.random.one_in(3) && kind != "fixed" {
            json["doc"] = Json::from("of the type");
        }
        for (name, value) in rest.as_object().unwrap() {
            json[name] = value.clone();
        }
        self.known.push(full);
        json
    }

    fn schema(&mut self, depth: usize) -> Json {
        match self.random.below(if depth < DEPTH_MAX { 18 } else { 8 }) {
            0..=2 => json!(self.random.pick(&PRIMITIVES)),
            3 => {
                let (kind, logical) = self.random.pick(&LOGICAL);
                json!({"type": kind, "logicalType": logical})
            }
            4 => {
                let (precision, scale) = (6 + self.random.below(20), self.random.below(6));
                json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
            }
            5 => json!({"type": "string", "avro.java.string": "String"}),
            6 => match self.random.below(3) {
                0 => self.named("fixed", json!({"size": 12, "logicalType": "duration"})),
                1 => self.named("fixed", json!({"size": 16, "logicalType": "uuid"})),
                _ => {
                    let size = self.random.below(5);
                    self.named("fixed", json!({"size": size}))
                }
            },
            7 if self.random.one_in(2) => {
                self.named("enum", json!({"symbols": ["A", "B", "c_1"], "default": "B"}))
            }
            7 => self.named("enum", json!({"symbols": ["A", "B"]})),
            8 | 9 => json!({"type": "array", "items": self.schema(depth + 1)}),
            10 => json!({"type": "map", "values": self.schema(depth + 1)}),
            11 | 12 => self.nullable(depth),
            13 if !self.recursive => self.union(depth),
            13 => self.itself(),
            14 | 15 if !self.known.is_empty() => {
                let at = self.random.below(self.known.len());
                Json::from(self.known[at].clone())
            }
            _ => self.record(depth),
        }
    }

    fn nullable(&mut self, depth: usize) -> Json {
        match self.schema(depth + 1) {
            Json::Array(union) => Json::Array(union),
            other => json!(["null", other]),
        }
    }

    /// A place where one of the records around stands once more.
    fn itself(&mut self) -> Json {
        let at = self.random.below(self.around.len());
        let name = self.around[at].clone();
        match self.random.below(3) {
            0 => json!({"type": "array", "items": name}),
            1 => json!({"type": "map", "values": name}),
            _ => json!(["null", name]),
        }
    }

    fn union(&mut self, depth: usize) -> Json {
        let mut branches = vec![json!("string")];
        if self.random.one_in(2) {
            branches.insert(0, json!("null"));
        }
        branches.push(
            self.random.pick(&[json!("int").to_string().as_str(), "\"long\""]).parse().unwrap(),
        );
        if self.random.one_in(2) {
            branches.push(json!({"type": "array", "items": self.schema(depth + 1)}));
        }
        if self.random.one_in(2) {
            branches.push(self.record(depth));
        }
        if self.random.one_in(2) {
            branches.push(self.named("fixed", json!({"size": 3})));
        }
        if self.random.one_in(2) {
            branches.push(self.named("enum", json!({"symbols": ["A", "B"]})));
        }
        Json::Array(branches)
    }

    fn record(&mut self, depth: usize) -> Json {
        let (name, space, full) = self.name();
        self.around.push(full.clone());
        let mut fields = Vec::new();
        for at in 0..1 + self.random.below(4) {
            let schema = self.schema(depth + 1);
            let mut field = json!({"name": format!("f{at}"), "type": schema});
            if self.random.one_in(4) {
                field["doc"] = Json::from("of the field");
            }
            let is_nullable = schema.as_array().is_some_and(|union| union[0] == "null");
            if is_nullable {
                field["default"] = Json::Null;
            } else if let Some(default) = self.default(&schema) {
                field["default"] = default;
            }
            fields.push(field);
        }
        self.around.pop();
        self.known.push(full);
        let mut json =
            json!({"type": "record", "name": name, "namespace": space, "fields": fields});
        if self.random.one_in(3) {
            json["doc"] = Json::from("of the record");
        }
        json
    }

    fn default(&mut self, schema: &Json) -> Option<Json> {
        if self.random.one_in(2) {
            return None;
        }
        Some(match schema.as_str()? {
            "int" => json!(self.random.long() as i32),
            "long" => json!(self.random.long()),
            "double" => json!(0.1),
            "float" => json!(12.2),
            "boolean" => json!(true),
            "string" => json!(self.random.text()),
            "bytes" => json!("\u{ff}\u{0}"),
            _ => return None,
        })
    }
}

/// Appends a value of a type.
pub(super) fn value(
    random: &mut Random,
    avro: &AvroSchema,
    id: Id,
    depth: usize,
    out: &mut Vec<u8>,
) {
    // Where records contain themselves, there is an end.
    let many = if depth < 8 { 3 } else { 1 };
    match avro.kind(id) {
        Kind::Null => {}
        Kind::Boolean => out.push(u8::from(random.one_in(2))),
        Kind::Int => put_long(int(random, avro, id), out),
        Kind::Long => put_long(random.long(), out),
        Kind::Float => out.extend((random.double() as f32).to_le_bytes()),
        Kind::Double => out.extend(random.double().to_le_bytes()),
        Kind::Bytes if avro.node(id).logical().is_some() => {
            let bytes = random.long().to_be_bytes();
            block(crate::json::shortest(&bytes), out);
        }
        Kind::Bytes => {
            let len = random.below(5);
            block(&random.bytes(len), out);
        }
        Kind::String if avro.node(id).logical().is_some() => {
            block(b"123e4567-e89b-12d3-a456-426614174000", out);
        }
        Kind::String => block(random.text().as_bytes(), out),
        Kind::Fixed(fixed) => out.extend(random.bytes(fixed.size)),
        Kind::Enum(of) => put_long(random.below(of.symbols.len()) as i64, out),
        Kind::Array(items) => {
            let len = random.below(many);
            begin(len, out);
            (0..len).for_each(|_| value(random, avro, *items, depth + 1, out));
            out.push(0);
        }
        Kind::Map(values) => {
            let len = random.below(many);
            begin(len, out);
            for at in 0..len {
                block(format!("k{at}").as_bytes(), out);
                value(random, avro, *values, depth + 1, out);
            }
            out.push(0);
        }
        Kind::Union(branches) => {
            let null = *avro.kind(branches[0]) == Kind::Null && depth >= 8;
            let at = if null { 0 } else { random.below(branches.len()) };
            put_long(at as i64, out);
            value(random, avro, branches[at], depth + 1, out);
        }
        Kind::Record(record) => {
            for field in &record.fields {
                value(random, avro, field.schema, depth + 1, out);
            }
        }
    }
}

/// Times are within a day.
fn int(random: &mut Random, avro: &AvroSchema, id: Id) -> i64 {
    match avro.node(id).prop("logicalType") {
        Some("time-millis") => random.below(86_400_000) as i64,
        _ => i64::from(random.long() as i32),
    }
}

fn block(bytes: &[u8], out: &mut Vec<u8>) {
    put_long(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

fn begin(len: usize, out: &mut Vec<u8>) {
    if len > 0 {
        put_long(len as i64, out);
    }
}
