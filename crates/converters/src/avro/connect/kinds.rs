//! What each Avro type is in Connect, before the attributes that all types have.

use super::super::attributes::{
    ANYTHING, AVRO_PREFIX, AVRO_RECORD_DOC, DECIMAL_PRECISION, DECIMAL_PRECISION_DEFAULT, ENUM,
    ENUM_DEFAULT_PREFIX, ENUM_DOC, ENUM_DOC_PREFIX, FIELD_DOC_PREFIX, FIXED_SIZE, INTERNAL_TYPE,
    KEY_FIELD, LOGICAL_TYPE, MAP_ENTRY, NAMESPACE, PARAMETERS, RECORD_DOC, SUM_ENUM,
    SUM_FIELD_PREFIX, SUM_UNION, SUM_UNION_PREFIX, TYPE, UNION, VALUE_FIELD,
};
use super::super::schema::{
    AvroSchema, Enum, Field, Id, Kind, Logical as AvroLogical, Node, Record,
};
use super::{Mapping, State, Use};
use data::{Logical, Schema, SchemaBuilder, Type};
use serde_json::{Map, Value as Json};
use std::collections::HashSet;
use std::sync::Arc;

/// Schemas of the types within a type; `None` for values of any shape.
pub(super) type Children = Vec<Option<Arc<Schema>>>;

impl<'a> Mapping<'a> {
    /// The schemas of the types within a type, in their order: of the fields, of the elements, of key
    /// and value where these are elements, of the branches that are not null.
    ///
    /// What recurses holds as little as it can: schemas may be deep and stacks are not.
    pub(super) fn children(&mut self, id: Id, depth: usize) -> Result<Children, String> {
        let of = Use::default();
        match &self.avro.node(id).kind {
            Kind::Record(record) => {
                let mut children = Vec::with_capacity(record.fields.len());
                for field in &record.fields {
                    self.path.push(field.name.clone());
                    children.push(Some(self.field(field, depth)?));
                    self.path.pop();
                }
                Ok(children)
            }
            Kind::Array(items) if self.is_map(*items) => self.entry(*items, depth),
            Kind::Array(inner) | Kind::Map(inner) => Ok(vec![self.element(*inner, depth + 1)?]),
            Kind::Union(branches) => {
                let mut children = Vec::with_capacity(branches.len());
                for branch in branches {
                    if !matches!(self.avro.kind(*branch), Kind::Null) {
                        let of = Use { optional: true, ..of };
                        children.push(Some(self.schema(*branch, of, depth + 1)?));
                    }
                }
                Ok(children)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn field(&mut self, field: &'a Field, depth: usize) -> Result<Arc<Schema>, String> {
        let (default, doc) = (field.default.as_ref(), field.doc.as_deref());
        let of = Use { default, doc, ..Use::default() };
        let schema = self.schema(field.schema, of, depth + 1)?;
        match field.props.get(PARAMETERS) {
            Some(Json::Object(list)) if self.options.connect_meta_data => {
                with_parameters(&schema, list)
            }
            _ => Ok(schema),
        }
    }

    /// Whether an array of these is a map. Not where such entries are within themselves.
    fn is_map(&self, items: Id) -> bool {
        let open = matches!(self.states.get(items.index()), Some(State::Open));
        is_map_entry(self.avro.node(items)) && !open
    }

    fn entry(&mut self, entry: Id, depth: usize) -> Result<Children, String> {
        let Some((key, value)) = map_entry(self.avro, entry) else {
            let what = "An array of map entries has elements that are not a key and a value";
            return Err(what.to_owned());
        };
        self.set(entry, State::Open);
        let key = self.element(key, depth + 2)?;
        let value = self.element(value, depth + 2)?;
        self.set(entry, State::New);
        Ok(vec![key, value])
    }

    /// The schema of what lists and maps are of; `None` for values of any shape.
    fn element(&mut self, id: Id, depth: usize) -> Result<Option<Arc<Schema>>, String> {
        match is_anything(self.avro, id) {
            true => Ok(None),
            false => self.schema(id, Use::default(), depth).map(Some),
        }
    }

    /// The schema of a type with these children, without the attributes that all types have.
    pub(super) fn typed(
        &mut self,
        node: &'a Node,
        mut children: Children,
    ) -> Result<SchemaBuilder, String> {
        match &node.kind {
            Kind::Array(_) | Kind::Map(_) => {
                let last = children.pop().flatten();
                let key = match &node.kind {
                    Kind::Map(_) => Some(Some(Schema::required_of(Type::String))),
                    _ => children.pop(),
                };
                Ok(match key {
                    Some(key) => SchemaBuilder::map_of(key, last),
                    None => SchemaBuilder::array_of(last),
                })
            }
            Kind::Record(record) => Ok(self.record(record, children.into_iter().flatten())),
            Kind::Union(branches) => self.union(branches, children.into_iter().flatten()),
            Kind::Enum(of) => Ok(self.enumeration(of)),
            _ => leaf(node),
        }
    }

    fn record(
        &self,
        record: &Record,
        children: impl Iterator<Item = Arc<Schema>>,
    ) -> SchemaBuilder {
        let docs = self.options.connect_meta_data && !self.options.discard_type_doc_default;
        let mut builder = SchemaBuilder::structure();
        if self.options.connect_meta_data
            && let Some(doc) = &record.doc
        {
            builder = builder.parameter(if docs { AVRO_RECORD_DOC } else { RECORD_DOC }, doc);
        }
        for (field, schema) in record.fields.iter().zip(children) {
            if let Some(doc) = field.doc.as_ref().filter(|_| docs) {
                builder = builder.parameter(&format!("{FIELD_DOC_PREFIX}{}", field.name), doc);
            }
            builder = builder.field(&field.name, schema);
        }
        builder
    }

    fn union(
        &mut self,
        branches: &[Id],
        mut children: impl Iterator<Item = Arc<Schema>>,
    ) -> Result<SchemaBuilder, String> {
        let mut builder = SchemaBuilder::structure();
        if self.options.generalized_sum_types {
            let name = format!("{SUM_UNION_PREFIX}{}", self.unions);
            self.unions += 1;
            builder = builder.name(&name).parameter(SUM_UNION, &name);
        } else {
            builder = builder.name(UNION);
        }
        let mut seen = HashSet::new();
        for (place, branch) in branches.iter().enumerate() {
            if matches!(self.avro.kind(*branch), Kind::Null) {
                builder = builder.optional();
                continue;
            }
            let name = self.branch_name(*branch, place);
            if !seen.insert(name.clone()) {
                return Err(format!("Two types of a union have the same name in Connect: {name}"));
            }
            if let Some(schema) = children.next() {
                builder = builder.field(&name, schema);
            }
        }
        Ok(builder)
    }

    fn branch_name(&self, id: Id, place: usize) -> String {
        let node = self.avro.node(id);
        if self.options.generalized_sum_types {
            return format!("{SUM_FIELD_PREFIX}{place}");
        }
        match node.name() {
            Some(name) if self.options.enhanced => name.full(),
            Some(name) => name.simple.clone(),
            None => node.kind.type_name().to_owned(),
        }
    }

    fn enumeration(&self, of: &Enum) -> SchemaBuilder {
        let mut builder = SchemaBuilder::new(Type::String);
        let discard = self.options.discard_type_doc_default;
        if self.options.connect_meta_data {
            if let Some(doc) = &of.doc {
                let own = format!("{ENUM_DOC_PREFIX}{}", of.name.simple);
                builder = builder.parameter(if discard { ENUM_DOC } else { &own }, doc);
            }
            if let Some(default) = of.default.as_ref().filter(|_| !discard) {
                let name = format!("{ENUM_DEFAULT_PREFIX}{}", of.name.simple);
                builder = builder.parameter(&name, default);
            }
        }
        let general = self.options.generalized_sum_types;
        let prefix = if general { SUM_ENUM } else { ENUM };
        builder = builder.parameter(prefix, &of.name.full());
        for (place, symbol) in of.symbols.iter().enumerate() {
            let value = if general { place.to_string() } else { symbol.clone() };
            builder = builder.parameter(&format!("{prefix}.{symbol}"), &value);
        }
        builder
    }
}

/// Types without children.
fn leaf(node: &Node) -> Result<SchemaBuilder, String> {
    let builder = match (logical(node), &node.kind) {
        (Logical::Decimal(scale), _) => decimal(node, scale.unwrap_or(0))?,
        (Logical::Date, _) => SchemaBuilder::date(),
        (Logical::Time, _) => SchemaBuilder::time(),
        (Logical::Timestamp, _) => SchemaBuilder::timestamp(),
        (Logical::None, Kind::Int) => SchemaBuilder::new(int_type(node)?),
        (Logical::None, Kind::Long) => SchemaBuilder::new(Type::Int64),
        (Logical::None, Kind::Float) => SchemaBuilder::new(Type::Float32),
        (Logical::None, Kind::Double) => SchemaBuilder::new(Type::Float64),
        (Logical::None, Kind::Boolean) => SchemaBuilder::new(Type::Boolean),
        (Logical::None, Kind::String) => SchemaBuilder::new(Type::String),
        (Logical::None, Kind::Bytes | Kind::Fixed(_)) => SchemaBuilder::new(Type::Bytes),
        _ => return Err("The converter does not support null as a type of its own".to_owned()),
    };
    Ok(match &node.kind {
        Kind::Fixed(of) => builder.parameter(FIXED_SIZE, &of.size.to_string()),
        _ => builder,
    })
}

fn decimal(node: &Node, scale: i32) -> Result<SchemaBuilder, String> {
    let builder = SchemaBuilder::decimal(scale);
    let Some(precision) = node.props.get("precision") else { return Ok(builder) };
    let digits = precision.as_f64().map(|digits| digits as i64);
    match digits.ok_or_else(|| format!("The precision of a decimal is no number: {precision}"))? {
        DECIMAL_PRECISION_DEFAULT => Ok(builder),
        digits => Ok(builder.parameter(DECIMAL_PRECISION, &digits.to_string())),
    }
}

/// The Connect type with a meaning of its own that an Avro type becomes. More lenient than Avro, as
/// Confluent's converter is: a decimal needs no precision that fits.
pub(crate) fn logical(node: &Node) -> Logical {
    let Some(name) = node.prop("logicalType") else { return Logical::None };
    let is = |wanted: &str| name.eq_ignore_ascii_case(wanted);
    match node.kind {
        Kind::Bytes | Kind::Fixed(_) if is("decimal") => {
            let scale = node.props.get("scale").and_then(Json::as_f64);
            Logical::Decimal(Some(scale.unwrap_or(0.0) as i32))
        }
        Kind::Int if is("date") => Logical::Date,
        Kind::Int if is("time-millis") => Logical::Time,
        Kind::Long if is("timestamp-millis") => Logical::Timestamp,
        _ => Logical::None,
    }
}

/// The Connect type of an int without a logical type.
///
/// # Errors
/// `connect.type` names none that is written as an int.
pub(crate) fn int_type(node: &Node) -> Result<Type, String> {
    match node.prop(TYPE).filter(|_| node.prop("logicalType").is_none()) {
        None => Ok(Type::Int32),
        Some("int8") => Ok(Type::Int8),
        Some("int16") => Ok(Type::Int16),
        Some(other) => Err(format!("{TYPE} of an int is neither int8 nor int16: {other}")),
    }
}

/// Whether this is the record of a key and a value that arrays of are maps in Connect.
pub(crate) fn is_map_entry(node: &Node) -> bool {
    let Kind::Record(record) = &node.kind else { return false };
    (record.name.namespace == NAMESPACE && record.name.simple == MAP_ENTRY)
        || node.prop(INTERNAL_TYPE) == Some(MAP_ENTRY)
}

/// Whether this is the record that values without a schema are written as: a field for each type,
/// null or that.
pub(crate) fn is_anything(avro: &AvroSchema, id: Id) -> bool {
    let Kind::Record(record) = avro.kind(id) else { return false };
    if record.name.full() != ANYTHING || record.fields.len() != ANYTHING_FIELDS.len() {
        return false;
    }
    record.fields.iter().zip(ANYTHING_FIELDS).all(|(field, (name, kind))| {
        let Kind::Union(branches) = avro.kind(field.schema) else { return false };
        let [null, of] = branches[..] else { return false };
        let inner = match avro.kind(of) {
            Kind::Array(items) if name == "map" => {
                let key_first = match avro.kind(*items) {
                    Kind::Record(entry) => entry.fields.first().map(|field| &*field.name),
                    _ => None,
                };
                key_first == Some(KEY_FIELD) && map_entry(avro, *items) == Some((id, id))
            }
            Kind::Array(items) => *items == id,
            _ => true,
        };
        let fits = matches!(avro.kind(null), Kind::Null) && avro.kind(of).type_name() == kind;
        field.name == name && fits && inner
    })
}

/// The fields of that record and their types.
const ANYTHING_FIELDS: [(&str, &str); 9] = [
    ("boolean", "boolean"),
    ("bytes", "bytes"),
    ("double", "double"),
    ("float", "float"),
    ("int", "int"),
    ("long", "long"),
    ("string", "string"),
    ("array", "array"),
    ("map", "array"),
];

/// The types of the key and the value of a map's entries.
pub(crate) fn map_entry(avro: &AvroSchema, id: Id) -> Option<(Id, Id)> {
    let Kind::Record(record) = avro.kind(id) else { return None };
    let of = |name: &str| record.fields.iter().find(|field| field.name == name);
    match record.fields.len() {
        2 => Some((of(KEY_FIELD)?.schema, of(VALUE_FIELD)?.schema)),
        _ => None,
    }
}

/// Attributes of Avro that are kept as parameters: those of its own, and logical types that Connect
/// does not have.
pub(super) fn avro_parameters(node: &Node, mut builder: SchemaBuilder) -> SchemaBuilder {
    for (name, value) in node.props.iter().filter(|(name, _)| name.starts_with(AVRO_PREFIX)) {
        builder = builder.parameter(name, &text(value));
    }
    let kept = match node.logical() {
        Some(
            AvroLogical::Uuid
            | AvroLogical::TimeMicros
            | AvroLogical::TimestampMicros
            | AvroLogical::TimestampNanos
            | AvroLogical::LocalTimestampMillis
            | AvroLogical::LocalTimestampMicros
            | AvroLogical::LocalTimestampNanos
            | AvroLogical::Duration,
        ) => node.prop("logicalType"),
        _ => None,
    };
    match kept {
        Some(name) => builder.parameter(LOGICAL_TYPE, name),
        None => builder,
    }
}

/// A field's schema with the parameters that the field says itself.
fn with_parameters(schema: &Schema, list: &Map<String, Json>) -> Result<Arc<Schema>, String> {
    let mut builder = SchemaBuilder::copy(schema);
    for (name, value) in list {
        builder = builder.parameter(name, &text(value));
    }
    super::built(builder)
}

/// Text as it is, other JSON as its text.
fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
