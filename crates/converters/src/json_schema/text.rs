//! A Connect schema as the text of a JSON Schema: the very text that Confluent's converter registers,
//! so that a subject that it has written to gets no second version of the same schema.
//!
//! Invariant: what is read back from the text is the schema, for every schema that JSON Schema can
//! say; a map of unknown values with the parameter [`ID`] becomes a `$ref` to the struct around it
//! that has the same.

use super::connect::LEVELS_MAX;
use super::hash_order::{DEFAULT, for_copy, for_size, order};
use super::options::{Draft, Options};
use super::stack::deep;
use super::tree::{Json, Member};
use super::{ANY, CONNECT_ENUM, ENUM, ID, NULL_SYMBOL, is_union, iso, write};
use crate::json::options::DecimalFormat;
use data::java_json::write_json_text;
use data::java_text::{put, write_decimal};
use data::{Logical, Rows, Schema, Type};

/// Appends the text of a schema.
///
/// # Errors
/// What JSON Schema cannot say, or nesting that is too deep.
pub(super) fn write_schema(options: &Options, schema: &Schema) -> Result<String, String> {
    let mut out = deep(levels(schema) * 4, || {
        let mut text = Text { options, ids: Vec::new(), out: Vec::new(), levels: 0 };
        text.schema(schema, Place::default()).map(|()| text.out)
    })?;
    if let Some(url) = options.draft.url() {
        let comma = if out.len() > 2 { "," } else { "" };
        out.splice(1..1, format!("\"$schema\":\"{url}\"{comma}").into_bytes());
    }
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// How deep a schema is, so far as that matters.
fn levels(schema: &Schema) -> usize {
    fn within(schema: &Schema, around: usize) -> usize {
        if around > LEVELS_MAX {
            return around;
        }
        let fields = schema.fields().iter().map(|field| &field.schema);
        let parts = fields.chain(schema.key_schema()).chain(schema.value_schema());
        parts.map(|part| within(part, around + 1)).fold(around, usize::max)
    }
    within(schema, 0)
}

/// Where a schema stands.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The index of the field.
    index: Option<usize>,
    /// Written as required, whatever it is: the null is said around it.
    required: bool,
}

struct Text<'a> {
    options: &'a Options,
    /// The ids of the structs around.
    ids: Vec<String>,
    out: Vec<u8>,
    levels: usize,
}

/// The members of one object so far.
struct Members {
    any: bool,
}

type Written = Result<(), String>;

impl Text<'_> {
    fn open(&mut self) -> Members {
        self.out.push(b'{');
        Members { any: false }
    }

    fn name(&mut self, members: &mut Members, name: &str) {
        if members.any {
            self.out.push(b',');
        }
        members.any = true;
        write_json_text(name, &mut self.out);
        self.out.push(b':');
    }

    fn text(&mut self, members: &mut Members, name: &str, value: &str) {
        self.name(members, name);
        write_json_text(value, &mut self.out);
    }

    fn schema(&mut self, schema: &Schema, place: Place) -> Written {
        let optional = schema.is_optional() && !place.required;
        if is_union(schema) {
            self.union(schema, place, optional)
        } else if optional && schema.parameter(ANY).is_none() {
            self.optional(schema, place)
        } else {
            self.plain(schema, place)
        }
    }

    /// Demands that what is in a schema is not too deep.
    fn descend(&mut self) -> Written {
        self.levels += 1;
        if self.levels > LEVELS_MAX {
            return Err(format!("the schema is nested deeper than {LEVELS_MAX} levels"));
        }
        Ok(())
    }

    /// Null or the schema.
    fn optional(&mut self, schema: &Schema, place: Place) -> Written {
        let mut members = self.open();
        self.index(&mut members, place);
        self.name(&mut members, "oneOf");
        self.out.extend_from_slice(b"[{\"type\":\"null\"},");
        self.schema(schema, Place { index: None, required: true })?;
        self.out.extend_from_slice(b"]}");
        Ok(())
    }

    fn union(&mut self, schema: &Schema, place: Place, optional: bool) -> Written {
        let mut members = self.open();
        self.index(&mut members, place);
        self.name(&mut members, "oneOf");
        self.out.push(b'[');
        if optional {
            self.out.extend_from_slice(b"{\"type\":\"null\"}");
        }
        self.descend()?;
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 || optional {
                self.out.push(b',');
            }
            self.schema(&field.schema, Place { index: Some(index), required: true })?;
        }
        self.levels -= 1;
        self.out.extend_from_slice(b"]}");
        Ok(())
    }

    fn index(&mut self, members: &mut Members, place: Place) {
        if let Some(index) = place.index {
            self.name(members, "connect.index");
            put(&mut self.out, format_args!("{index}"));
        }
    }

    fn plain(&mut self, schema: &Schema, place: Place) -> Written {
        if let Some(id) = self.reference(schema) {
            let mut members = self.open();
            self.index(&mut members, place);
            let modern = matches!(self.options.draft, Draft::Draft2019 | Draft::Draft2020);
            // An anchor has no sign of its own; the older form of an id has.
            let id = if modern { format!("#{}", anchor(&id)) } else { id };
            self.text(&mut members, "$ref", &id);
            self.out.push(b'}');
            return Ok(());
        }
        let mut members = self.open();
        let iso = self.options.iso_dates && schema.logical().is_temporal();
        let (kind, connect_type) = match schema.kind() {
            _ if schema.parameter(ANY).is_some() => ("", None),
            _ if iso => ("string", None),
            Type::Int8 => ("integer", Some("int8")),
            Type::Int16 => ("integer", Some("int16")),
            Type::Int32 => ("integer", Some("int32")),
            Type::Int64 => ("integer", Some("int64")),
            Type::Float32 => ("number", Some("float32")),
            Type::Float64 => ("number", Some("float64")),
            Type::Boolean => ("", None),
            Type::String if self.symbols(schema).is_some() => ("", None),
            Type::String => ("string", None),
            Type::Bytes => {
                let numeric = self.options.decimals == DecimalFormat::Numeric;
                let is_number = matches!(schema.logical(), Logical::Decimal(_)) && numeric;
                (if is_number { "number" } else { "string" }, Some("bytes"))
            }
            Type::Array => ("array", None),
            Type::Map if is_object_map(schema) => ("object", Some("map")),
            Type::Map => ("array", Some("map")),
            Type::Struct => ("object", None),
        };
        if !kind.is_empty() {
            self.text(&mut members, "type", kind);
        }
        if schema.kind() == Type::Struct && !self.options.additional_properties {
            self.name(&mut members, "additionalProperties");
            self.out.extend_from_slice(b"false");
        }
        if iso && let Some(format) = iso::format(schema.logical()) {
            self.text(&mut members, "format", format);
        }
        if schema.kind() == Type::String
            && let Some(symbols) = self.symbols(schema)
        {
            self.name(&mut members, "enum");
            Json::List(symbols).write(&mut self.out);
        }
        let entered = self.annotations(&mut members, schema, place, connect_type)?;
        if schema.kind() == Type::Boolean {
            self.text(&mut members, "type", "boolean");
        }
        self.children(&mut members, schema)?;
        if entered {
            self.ids.pop();
        }
        self.out.push(b'}');
        Ok(())
    }

    /// The id of the struct around that a map of unknown values stands for.
    fn reference(&self, schema: &Schema) -> Option<String> {
        let id = schema.parameter(ID).filter(|_| schema.kind() == Type::Map)?;
        self.ids.iter().any(|known| known == id).then(|| id.to_owned())
    }

    /// The words of an enum; none for other text.
    fn symbols(&self, schema: &Schema) -> Option<Vec<Json>> {
        let (first, second) =
            if self.options.generalized { (CONNECT_ENUM, ENUM) } else { (ENUM, CONNECT_ENUM) };
        let name = [first, second].into_iter().find(|name| schema.parameter(name).is_some())?;
        let symbols = schema.parameters().unwrap_or_default().iter().filter_map(|(key, _)| {
            let symbol = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((symbol != NULL_SYMBOL).then_some(symbol))
        });
        let mut seen: Vec<Option<&str>> = Vec::new();
        for symbol in symbols {
            if !seen.contains(&symbol) {
                seen.push(symbol);
            }
        }
        let ordered = order(DEFAULT, seen, |symbol| *symbol);
        let of =
            |symbol: Option<&str>| symbol.map_or(Json::Null, |text| Json::Text(text.to_owned()));
        Some(ordered.into_iter().map(of).collect())
    }

    /// Title, description, default, id and what is Connect's own. True if the schema has an id now.
    fn annotations(
        &mut self,
        members: &mut Members,
        schema: &Schema,
        place: Place,
        connect_type: Option<&str>,
    ) -> Result<bool, String> {
        let any = schema.parameter(ANY).is_some();
        if let Some(name) = schema.name().filter(|_| !any) {
            self.text(members, "title", name);
        }
        if let Some(doc) = schema.doc() {
            self.text(members, "description", doc);
        }
        self.default(members, schema)?;
        let id = schema.parameter(ID).filter(|_| schema.kind() == Type::Struct);
        if let Some(id) = id {
            self.ids.push(id.to_owned());
            match self.options.draft {
                Draft::Draft2019 | Draft::Draft2020 => self.text(members, "$anchor", anchor(id)),
                Draft::Draft6 => self.text(members, "$id", id),
                Draft::Draft4 | Draft::Draft7 => self.text(members, "id", id),
            }
        }
        self.attributes(members, schema, place, connect_type);
        Ok(id.is_some())
    }

    fn attributes(
        &mut self,
        members: &mut Members,
        schema: &Schema,
        place: Place,
        connect_type: Option<&str>,
    ) {
        let parameters = schema.parameters().unwrap_or_default().iter();
        let own = |key: &str| key.starts_with("io.confluent.connect.json");
        let parameters: Vec<(&str, &str)> = parameters
            .filter(|(key, _)| !own(key))
            .map(|(key, value)| (&**key, &**value))
            .collect();
        let mut attributes: Vec<(&str, Vec<u8>)> = Vec::new();
        if let Some(name) = connect_type {
            attributes.push(("connect.type", format!("\"{name}\"").into_bytes()));
        }
        if let Some(version) = schema.version() {
            attributes.push(("connect.version", version.to_string().into_bytes()));
        }
        if !parameters.is_empty() {
            let collected = order(DEFAULT, parameters, |(key, _)| Some(key));
            let capacity = for_size(collected.len());
            let printed = order(capacity, collected, |(key, _)| Some(key)).into_iter();
            let of = |(name, value): (&str, &str)| member(name, Json::Text(value.to_owned()));
            let mut text = Vec::new();
            Json::Object(printed.map(of).collect()).write(&mut text);
            attributes.push(("connect.parameters", text));
        }
        if let Some(index) = place.index {
            attributes.push(("connect.index", index.to_string().into_bytes()));
        }
        let held = order(DEFAULT, attributes, |(key, _)| Some(key));
        let capacity = for_copy(held.len());
        for (name, text) in order(capacity, held, |(key, _)| Some(key)) {
            self.name(members, name);
            self.out.extend_from_slice(&text);
        }
    }

    /// The default as it would be written as a value, printed as Java's libraries print it.
    fn default(&mut self, members: &mut Members, schema: &Schema) -> Written {
        let Some(default) = schema.default() else { return Ok(()) };
        let mut rows = Rows::default();
        let cell = rows.put_value(Some(schema), default);
        let mut text = Vec::new();
        write::value(self.options, &rows, schema, cell, &mut text)?;
        let tree = Json::parse(&text).map_err(|fault| fault.message().to_owned())?;
        self.name(members, "default");
        printed(tree).write(&mut self.out);
        Ok(())
    }

    fn children(&mut self, members: &mut Members, schema: &Schema) -> Written {
        self.descend()?;
        match schema.kind() {
            Type::Array => {
                self.name(members, "items");
                self.child(schema.value_schema(), None)?;
            }
            Type::Map if is_object_map(schema) => self.additional(members, schema)?,
            Type::Map => {
                self.name(members, "items");
                self.out.extend_from_slice(b"{\"type\":\"object\",\"properties\":{\"value\":");
                self.child(schema.value_schema(), Some(1))?;
                self.out.extend_from_slice(b",\"key\":");
                self.child(schema.key_schema(), Some(0))?;
                self.out.extend_from_slice(b"}}");
            }
            Type::Struct if !schema.fields().is_empty() => {
                self.name(members, "properties");
                let mut inner = self.open();
                let fields = schema.fields().iter().enumerate().collect();
                for (index, field) in order(DEFAULT, fields, |(_, field)| Some(&field.name)) {
                    self.name(&mut inner, &field.name);
                    self.schema(&field.schema, Place { index: Some(index), required: false })?;
                }
                self.out.push(b'}');
            }
            _ => {}
        }
        self.levels -= 1;
        Ok(())
    }

    /// The values of a map that is an object.
    fn additional(&mut self, members: &mut Members, schema: &Schema) -> Written {
        let Some(values) = schema.value_schema() else { return Ok(()) };
        self.name(members, "additionalProperties");
        self.schema(values, Place::default())
    }

    fn child(&mut self, schema: Option<&std::sync::Arc<Schema>>, index: Option<usize>) -> Written {
        match schema {
            Some(schema) => self.schema(schema, Place { index, required: false }),
            None => {
                let mut members = self.open();
                self.index(&mut members, Place { index, required: false });
                self.out.push(b'}');
                Ok(())
            }
        }
    }
}

/// Whether a map is written as an object.
pub(super) fn is_object_map(schema: &Schema) -> bool {
    schema.key_schema().is_some_and(|key| key.kind() == Type::String && !key.is_optional())
}

fn anchor(id: &str) -> &str {
    id.strip_prefix('#').unwrap_or(id)
}

fn member(name: &str, value: Json) -> Member {
    Member { name: name.to_owned(), value, raw: 0..0 }
}

/// A value with its objects in Java's order and its numbers in Java's form.
fn printed(value: Json) -> Json {
    match value {
        Json::Number(digits) => Json::Number(printed_number(digits)),
        Json::List(items) => Json::List(items.into_iter().map(printed).collect()),
        Json::Object(members) => {
            let members =
                members.into_iter().map(|old| member(&old.name, printed(old.value))).collect();
            Json::Object(order(DEFAULT, members, |member| Some(&member.name)))
        }
        other => other,
    }
}

/// Zeros at the end of a fraction go; an exponent is that of a decimal.
fn printed_number(digits: String) -> String {
    if digits.contains(['e', 'E']) {
        let Some((unscaled, scale)) = data::decimal_from_text(&digits) else { return digits };
        let mut out = Vec::new();
        write_decimal(&unscaled, scale, &mut out);
        return String::from_utf8(out).unwrap_or(digits);
    }
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    }
}
