//! The form of a record, from a JSON object whose texts may hold generators.
//!
//! `"${int:1:9}"` alone gives a number; among other text it becomes part of the text. Everything else
//! in the object stands for itself. Names and constant texts lie in bytes that all records share.
//!
//! Invariant: every record has the members of the template in its order, and the types of its schema.

use super::generator::{Generator, Kind, Made};
use super::random::Random;
use data::{Cell, DAY_MS, Rows, Schema, SchemaBuilder, Span, Type, civil_date, java_text};
use serde_json::Value;
use std::sync::Arc;

/// A compiled template.
pub(super) struct Template {
    root: Members,
    /// Names, constants and choices: the start of every batch's bytes.
    pub(super) shared: Vec<u8>,
    /// Of a record; `None` where records have none.
    pub(super) schema: Option<Arc<Schema>>,
    /// Bytes of a record, about.
    pub(super) row_bytes: usize,
}

struct Members {
    names: Vec<Span>,
    nodes: Vec<Node>,
}

enum Node {
    Constant(Cell),
    One { generator: Generator, texts: Vec<Span> },
    Text(Vec<Piece>),
    Object(Members),
    List(Vec<Node>),
}

/// A part of a text.
enum Piece {
    Constant(Span),
    Generated { generator: Generator, texts: Vec<Span> },
}

/// What a record is made from.
pub(super) struct Moment<'a> {
    pub(super) index: i64,
    pub(super) random: &'a mut Random,
    pub(super) now: i64,
    /// [`Template::shared`].
    pub(super) shared: &'a [u8],
}

impl Template {
    /// Compiles a template; `name` is the schema's.
    ///
    /// # Errors
    /// It is no JSON object, a generator is wrong, or under a schema a list has elements of several
    /// types; with the place.
    pub(super) fn new(text: &str, schema: bool, name: &str) -> Result<Template, String> {
        let json: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let Value::Object(object) = json else {
            return Err("a JSON object is expected, such as {\"id\": \"${sequence}\"}".to_owned());
        };
        if object.is_empty() {
            return Err("the object has no members".to_owned());
        }
        let mut compiler = Compiler::default();
        let root = compiler.members(&object, "")?;
        let schema = if schema { Some(root.schema(&compiler.shared, name)?) } else { None };
        let row_bytes = compiler.row_bytes;
        Ok(Template { root, shared: compiler.shared, schema: schema.map(Arc::new), row_bytes })
    }

    /// The place of a member at the top.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        let is = |span: &Span| text(&self.shared, *span) == name;
        self.root.names.iter().position(is)
    }

    /// The names of the members at the top.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.root.names.iter().map(|span| text(&self.shared, *span)).collect();
        names.join(", ")
    }

    /// The first number, truth value or time at the top that is not the member `except`.
    pub(super) fn first_number(&self, except: Option<usize>) -> Option<usize> {
        let is_number = |node: &Node| match node {
            Node::One { generator, .. } => generator.kind() != Kind::Text,
            Node::Constant(cell) => !matches!(cell, Cell::Text(_) | Cell::Null),
            _ => false,
        };
        let mut nodes = self.root.nodes.iter().enumerate();
        nodes.find(|(at, node)| Some(*at) != except && is_number(node)).map(|(at, _)| at)
    }

    /// Makes a record; its root cell and the place of its members. `rows` lies over bytes that begin
    /// with the shared ones.
    pub(super) fn make(&self, moment: &mut Moment<'_>, rows: &mut Rows) -> (Cell, Span) {
        self.root.make(self.schema.is_some(), moment, rows)
    }

    /// The place of a member's cell, counted from the start of the place that [`Template::make`] gave.
    pub(super) fn cell_at(&self, member: usize) -> usize {
        if self.schema.is_some() { member } else { member * 2 + 1 }
    }
}

fn text(shared: &[u8], span: Span) -> &str {
    let range = span.start as usize..(span.start + span.len) as usize;
    shared.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

#[derive(Default)]
struct Compiler {
    shared: Vec<u8>,
    row_bytes: usize,
}

impl Compiler {
    fn put(&mut self, text: &str) -> Span {
        let start = self.shared.len() as u32;
        self.shared.extend_from_slice(text.as_bytes());
        Span { start, len: text.len() as u32 }
    }

    fn members(
        &mut self,
        object: &serde_json::Map<String, Value>,
        path: &str,
    ) -> Result<Members, String> {
        let mut members = Members { names: Vec::new(), nodes: Vec::new() };
        for (name, value) in object {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            members.names.push(self.put(name));
            self.row_bytes += name.len();
            members.nodes.push(self.node(value, &path)?);
        }
        Ok(members)
    }

    fn node(&mut self, value: &Value, path: &str) -> Result<Node, String> {
        self.row_bytes += 24;
        Ok(match value {
            Value::Null => Node::Constant(Cell::Null),
            Value::Bool(value) => Node::Constant(Cell::Bool(*value)),
            Value::Number(number) => Node::Constant(match number.as_i64() {
                Some(value) => Cell::int(value),
                None => Cell::Float(number.as_f64().unwrap_or_default()),
            }),
            Value::String(value) => self.text(value, path)?,
            Value::Array(items) => {
                let each = items.iter().enumerate();
                let nodes = each.map(|(at, item)| self.node(item, &format!("{path}[{at}]")));
                Node::List(nodes.collect::<Result<_, _>>()?)
            }
            Value::Object(object) => Node::Object(self.members(object, path)?),
        })
    }

    fn text(&mut self, value: &str, path: &str) -> Result<Node, String> {
        let mut pieces = Vec::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inner, after)) = after.split_once('}') else {
                return Err(format!("{path}: a }} is missing after ${{"));
            };
            if !before.is_empty() {
                pieces.push(Piece::Constant(self.put(before)));
            }
            let generator =
                Generator::parse(inner).map_err(|fault| format!("{path}: ${{{inner}}}: {fault}"))?;
            self.row_bytes += generator.text_bytes();
            let texts = generator.texts().into_iter().map(|text| self.put(text)).collect();
            pieces.push(Piece::Generated { generator, texts });
            rest = after;
        }
        if pieces.is_empty() {
            return Ok(Node::Constant(Cell::Text(self.put(value))));
        }
        if !rest.is_empty() {
            pieces.push(Piece::Constant(self.put(rest)));
        }
        Ok(match <[Piece; 1]>::try_from(pieces) {
            Ok([Piece::Generated { generator, texts }]) => Node::One { generator, texts },
            Ok([Piece::Constant(span)]) => Node::Constant(Cell::Text(span)),
            Err(pieces) => Node::Text(pieces),
        })
    }
}

impl Members {
    fn schema(&self, shared: &[u8], name: &str) -> Result<Schema, String> {
        let mut builder = SchemaBuilder::structure();
        if !name.is_empty() {
            builder = builder.name(name);
        }
        for (name, node) in self.names.iter().zip(&self.nodes) {
            let name = text(shared, *name);
            builder = builder.field(name, Arc::new(node.schema(shared, name)?));
        }
        builder.build().map_err(|error| error.to_string())
    }

    fn make(&self, schema: bool, moment: &mut Moment<'_>, rows: &mut Rows) -> (Cell, Span) {
        if schema {
            let place = rows.alloc(self.nodes.len());
            for (at, node) in self.nodes.iter().enumerate() {
                let cell = node.make(schema, moment, rows);
                rows.set(place, at, cell);
            }
            return (Cell::Struct(place), place);
        }
        let place = rows.alloc(self.nodes.len() * 2);
        for (at, (name, node)) in self.names.iter().zip(&self.nodes).enumerate() {
            rows.set(place, at * 2, Cell::Text(*name));
            let cell = node.make(schema, moment, rows);
            rows.set(place, at * 2 + 1, cell);
        }
        (Cell::Map(place), place)
    }
}

impl Node {
    fn schema(&self, shared: &[u8], path: &str) -> Result<Schema, String> {
        let of = |kind| Ok(Schema::new(kind));
        let built = match self {
            Node::Constant(Cell::Bool(_)) => return of(Type::Boolean),
            Node::Constant(Cell::Int(..)) => return of(Type::Int64),
            Node::Constant(Cell::Float(_)) => return of(Type::Float64),
            Node::Constant(Cell::Null) => SchemaBuilder::new(Type::String).optional().build(),
            Node::Constant(_) | Node::Text(_) => return of(Type::String),
            Node::One { generator, .. } => match generator.kind() {
                Kind::Int => return of(Type::Int64),
                Kind::Float => return of(Type::Float64),
                Kind::Bool => return of(Type::Boolean),
                Kind::Text => return of(Type::String),
                Kind::Time => SchemaBuilder::timestamp().build(),
            },
            Node::Object(members) => return members.schema(shared, ""),
            Node::List(items) => {
                let mut schemas = items.iter().map(|item| item.schema(shared, path));
                let first = schemas.next().unwrap_or_else(|| of(Type::String))?;
                for other in schemas {
                    if other? != first {
                        return Err(format!(
                            "{path}: the elements have several types; a schema has one for all \
                             (schema.enable=false allows it)"
                        ));
                    }
                }
                SchemaBuilder::array(Arc::new(first)).build()
            }
        };
        built.map_err(|error| format!("{path}: {error}"))
    }

    fn make(&self, schema: bool, moment: &mut Moment<'_>, rows: &mut Rows) -> Cell {
        match self {
            Node::Constant(cell) => *cell,
            Node::One { generator, texts } => {
                let mut made = Made::Text;
                let own = rows.heap.put_with(|out| {
                    made = generator.make(moment.index, moment.random, moment.now, out);
                });
                match made {
                    Made::Int(value) | Made::Time(value) => Cell::int(value),
                    Made::Float(value) => Cell::Float(value),
                    Made::Bool(value) => Cell::Bool(value),
                    Made::Picked(at) => texts.get(at).map_or(Cell::Null, |span| Cell::Text(*span)),
                    Made::Text => Cell::Text(own),
                }
            }
            Node::Text(pieces) => Cell::Text(join(pieces, moment, rows)),
            Node::Object(members) => members.make(schema, moment, rows).0,
            Node::List(items) => {
                let place = rows.alloc(items.len());
                for (at, item) in items.iter().enumerate() {
                    let cell = item.make(schema, moment, rows);
                    rows.set(place, at, cell);
                }
                Cell::List(place)
            }
        }
    }
}

fn join(pieces: &[Piece], moment: &mut Moment<'_>, rows: &mut Rows) -> Span {
    let shared = moment.shared;
    let bytes = |span: Span| text(shared, span).as_bytes();
    rows.heap.put_with(|out| {
        for piece in pieces {
            let (generator, texts) = match piece {
                Piece::Constant(span) => {
                    out.extend_from_slice(bytes(*span));
                    continue;
                }
                Piece::Generated { generator, texts } => (generator, texts),
            };
            match generator.make(moment.index, moment.random, moment.now, out) {
                Made::Int(value) => java_text::put(out, format_args!("{value}")),
                Made::Float(value) => java_text::put(out, format_args!("{value}")),
                Made::Bool(value) => java_text::put(out, format_args!("{value}")),
                Made::Time(ms) => write_time(ms, out),
                Made::Picked(at) => {
                    let picked = texts.get(at).map_or(&[][..], |span| bytes(*span));
                    out.extend_from_slice(picked);
                }
                Made::Text => {}
            }
        }
    })
}

/// A time in a text: `2024-01-01T00:00:00.000Z`.
fn write_time(ms: i64, out: &mut Vec<u8>) {
    let (days, ms) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = civil_date(days);
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    java_text::put(
        out,
        format_args!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(template: &str, schema: bool, index: i64) -> String {
        let template = Template::new(template, schema, "").unwrap();
        let mut rows = Rows::over(Arc::new(template.shared.clone().into()));
        let mut random = Random::of(1, index as u64);
        let mut moment =
            Moment { index, random: &mut random, now: 0, shared: &template.shared };
        let (cell, _) = template.make(&mut moment, &mut rows);
        let mut out = Vec::new();
        data::write_json(&rows, template.schema.as_deref(), cell, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn generators_keep_their_types_and_texts_are_joined() {
        let template = r#"{"id": "${sequence:5}", "who": "user ${sequence}: ${choice:a}!", "at":
            "on ${timestamp:1970-01-02}", "n": {"x": [1, "${int:2:2}"], "y": null, "z": 1.5}}"#;
        let wanted = r#"{"id":7,"who":"user 2: a!","at":"on 1970-01-02T00:00:02.000Z","n":{"x":[1,2],"y":null,"z":1.5}}"#;
        assert_eq!(record(template, true, 2), wanted);
        assert_eq!(record(template, false, 2), wanted);
    }

    #[test]
    fn the_schema_has_the_types_of_the_generators() {
        let template = r#"{"i": "${int}", "f": "${float}", "b": "${bool}", "t": "${timestamp}",
            "c": "${choice:a,b}", "l": ["${word}"], "k": 1}"#;
        let template = Template::new(template, true, "io.Name").unwrap();
        let schema = template.schema.unwrap();
        let kinds: Vec<_> =
            schema.fields().iter().map(|f| (&*f.name, f.schema.kind().json_name())).collect();
        let wanted = [
            ("i", "int64"), ("f", "double"), ("b", "boolean"), ("t", "int64"), ("c", "string"),
            ("l", "array"), ("k", "int64"),
        ];
        assert_eq!((kinds.as_slice(), schema.name()), (&wanted[..], Some("io.Name")));
    }

    #[test]
    fn a_bad_template_names_the_place() {
        for (template, wanted) in [
            ("", "no JSON"),
            ("[1]", "a JSON object is expected"),
            ("{}", "no members"),
            (r#"{"a": {"b": ["x", "${wrod}"]}}"#, "a.b[1]: ${wrod}: there is no generator wrod; did you mean word?"),
            (r#"{"a": "${int"}"#, "a: a } is missing"),
            (r#"{"a": [1, "x"]}"#, "a: the elements have several types"),
        ] {
            let error = Template::new(template, true, "").err().unwrap();
            assert!(error.contains(wanted), "{template}: {error}");
        }
        assert!(Template::new(r#"{"a": [1, "x"]}"#, false, "").is_ok());
    }
}
