//! A message's descriptor to a Connect schema, and the plan that reads values of it.
//!
//! Both are made in one walk, so that a plan's slots are the schema's fields. A message that contains
//! itself is unfolded down to where it would begin again: there the schema is a map of text to values
//! that say themselves what they are, with the parameter [`names::RECURSIVE`].
//!
//! Invariant: an unfolded schema has at most [`FIELDS_MAX`] fields and [`LEVELS_MAX`] levels.

use super::deep::deep;
use super::field_type::{FieldType, default_of};
use super::meta::Meta;
use super::options::{Options, names};
use super::plan::{EnumPlan, Fallback, FieldPlan, Interned, MessagePlan, Op, Plan, Root};
use super::wire::DEPTH_MAX;
use data::{Cell, Schema, SchemaBuilder, Span, Type};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Fields of a schema, those of nested messages included each time they occur.
const FIELDS_MAX: usize = 50_000;

/// Messages inside one another in a schema.
const LEVELS_MAX: usize = DEPTH_MAX;

/// Makes the plan, and the schema with it, of a message; `version` is the schema's.
///
/// # Errors
/// A schema that is too large or too deep when unfolded, or that Connect has no form for.
pub(super) fn unfold(
    options: &Options,
    message: &MessageDescriptor,
    version: Option<i32>,
) -> Result<Plan, String> {
    deep(|| match Unfold::new(options, false).root(message, version) {
        Err(Stop::Size) => Unfold::new(options, true).root(message, version).map_err(Stop::text),
        other => other.map_err(Stop::text),
    })
}

/// Why no schema was made.
pub(super) enum Stop {
    /// More than [`FIELDS_MAX`] fields.
    Size,
    Other(String),
}

impl Stop {
    fn text(self) -> String {
        match self {
            Stop::Size => {
                format!("the schema has more than {FIELDS_MAX} fields when it is unfolded")
            }
            Stop::Other(text) => text,
        }
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Other(text)
    }
}

pub(super) struct Unfold<'o> {
    pub(super) options: &'o Options,
    pub(super) messages: Vec<MessagePlan>,
    pub(super) enums: Vec<EnumPlan>,
    pub(super) enum_places: HashMap<String, usize>,
    /// The messages around the current place.
    ancestors: Vec<String>,
    /// Messages that contain themselves are unfolded once in the whole schema, not once a path.
    once: bool,
    unfolded: HashSet<String>,
    cyclic: HashMap<String, bool>,
    loose: HashMap<String, usize>,
    fields: usize,
}

impl<'o> Unfold<'o> {
    fn new(options: &'o Options, once: bool) -> Unfold<'o> {
        Unfold {
            options,
            messages: Vec::new(),
            enums: Vec::new(),
            enum_places: HashMap::new(),
            ancestors: Vec::new(),
            once,
            unfolded: HashSet::new(),
            cyclic: HashMap::new(),
            loose: HashMap::new(),
            fields: 0,
        }
    }

    fn root(mut self, message: &MessageDescriptor, version: Option<i32>) -> Result<Plan, Stop> {
        let wrapped = self.options.wrapper_for_raw_primitives.then(|| wrapped(message)).flatten();
        let (builder, root) = match wrapped {
            Some(field) => {
                let (builder, scalar) = self.wrapper(&field)?;
                (builder, Root::Wrapper(scalar))
            }
            None => {
                let (builder, index) = self.structure(message)?;
                (builder, Root::Message(index))
            }
        };
        let meta = Meta::of_message(message);
        let builder = meta.apply(builder);
        // What the writer said goes before the registry's count.
        let builder = match version.filter(|_| !meta.has_version()) {
            Some(version) => builder.version(version),
            None => builder,
        };
        let schema = build(builder)?;
        Ok(Plan { schema, root, messages: self.messages, enums: self.enums })
    }

    /// A message as a struct: its schema, not finished, and the index of its plan.
    pub(super) fn structure(
        &mut self,
        message: &MessageDescriptor,
    ) -> Result<(SchemaBuilder, usize), Stop> {
        if self.ancestors.len() >= LEVELS_MAX {
            return Err(Stop::Other(format!(
                "messages are nested deeper than {LEVELS_MAX} levels in the schema"
            )));
        }
        self.ancestors.push(message.full_name().to_owned());
        self.unfolded.insert(message.full_name().to_owned());
        let name = if self.options.enhanced { message.full_name() } else { message.name() };
        let mut builder = SchemaBuilder::structure().name(name);
        let mut plan = MessagePlan::default();
        for (index, oneof) in message.oneofs().enumerate().filter(|(_, o)| !o.is_synthetic()) {
            builder = self.oneof(index, &oneof, builder, &mut plan)?;
        }
        for field in declared(message) {
            if real_oneof(&field).is_none() {
                builder = self.field(&field, builder, &mut plan)?;
            }
        }
        self.ancestors.pop();
        self.messages.push(plan);
        Ok((builder, self.messages.len() - 1))
    }

    fn oneof(
        &mut self,
        index: usize,
        oneof: &OneofDescriptor,
        mut builder: SchemaBuilder,
        plan: &mut MessagePlan,
    ) -> Result<SchemaBuilder, Stop> {
        let members: Vec<FieldDescriptor> = by_declaration(oneof);
        if self.options.flatten_unions {
            let first = plan.template.len() as u32;
            let slots = first..first + members.len() as u32;
            for (slot, field) in slots.clone().zip(&members) {
                let (schema, op) = self.member(field)?;
                builder = builder.field(field.name(), schema);
                let siblings = slots.clone().filter(|other| *other != slot).collect();
                plan.template.push(Cell::Null);
                add(plan, field, FieldPlan { siblings, ..field_plan(field, op, slot, false) });
            }
            return Ok(builder);
        }
        let mut union = SchemaBuilder::structure().optional();
        union = if self.options.generalized_sum_types {
            union.name(oneof.name()).parameter(names::GENERAL_UNION, oneof.name())
        } else {
            let name = if self.options.enhanced { oneof.full_name() } else { oneof.name() };
            union.name(&format!("{}.{name}", names::UNION))
        };
        let slot = plan.template.len() as u32;
        for (inner, field) in members.iter().enumerate() {
            let (schema, op) = self.member(field)?;
            union = union.field(field.name(), schema);
            let union = Some((inner as u32, members.len() as u32));
            add(plan, field, FieldPlan { union, ..field_plan(field, op, slot, false) });
        }
        plan.template.push(Cell::Null);
        let name = if self.options.generate_index_for_unions {
            format!("{}_{index}", oneof.name())
        } else {
            oneof.name().to_owned()
        };
        Ok(builder.field(&name, build(union)?))
    }

    /// A member of a oneof: null unless it is the one that is set.
    fn member(&mut self, field: &FieldDescriptor) -> Result<(Arc<Schema>, Op), Stop> {
        let FieldType { builder, op } = self.field_type(field)?;
        let builder = builder.optional().parameter(names::TAG, &field.number().to_string());
        Ok((build(Meta::of_field(field).apply(builder))?, op))
    }

    fn field(
        &mut self,
        field: &FieldDescriptor,
        builder: SchemaBuilder,
        plan: &mut MessagePlan,
    ) -> Result<SchemaBuilder, Stop> {
        let FieldType { builder: own, op } = self.field_type(field)?;
        let is_map = matches!(op, Op::Entry(_));
        let repeated = field.is_list() || field.is_map();
        let schema = self.finish(field, own, &op)?;
        let slot = plan.template.len() as u32;
        plan.template.push(match (repeated, is_map) {
            (true, true) => Cell::Map(Span::EMPTY),
            (true, false) => Cell::List(Span::EMPTY),
            _ => Cell::Null,
        });
        if !repeated {
            self.absent(field, &op, slot, plan);
        }
        add(plan, field, field_plan(field, op, slot, repeated));
        Ok(builder.field(field.name(), schema))
    }

    /// Completes the schema of a field that is in no oneof.
    fn finish(
        &self,
        field: &FieldDescriptor,
        mut builder: SchemaBuilder,
        op: &Op,
    ) -> Result<Arc<Schema>, Stop> {
        let meta = Meta::of_field(field);
        let is_map = matches!(op, Op::Entry(_));
        if field.is_list() && !is_map {
            builder = SchemaBuilder::array(build(meta.apply(builder.optional()))?).optional();
        } else {
            builder = meta.apply(builder);
        }
        let optional = if self.options.optional_for_nullables {
            has_optional_keyword(field)
        } else {
            !self.options.wrapper_for_nullables || has_optional_keyword(field)
        };
        if optional || is_map || !matches!(op, Op::Scalar(_)) {
            builder = builder.optional();
        }
        build(builder.parameter(names::TAG, &field.number().to_string()))
    }

    /// What a field that is not there becomes.
    fn absent(&mut self, field: &FieldDescriptor, op: &Op, slot: u32, plan: &mut MessagePlan) {
        if field.is_required() {
            plan.required.push((slot, field.name().into()));
            return;
        }
        let all = self.options.generate_struct_for_nulls;
        let is_message = matches!(field.kind(), Kind::Message(_));
        let presence = is_proto3_optional(field)
            || (self.options.optional_for_proto2 && has_optional_keyword(field));
        match op {
            Op::Message(index) if all && !self.is_loose(*index) => {
                plan.fill.push((slot, Fallback::Message(*index)));
            }
            Op::Wrapper(scalar) if all => plan.fill.push((slot, Fallback::Cell(scalar.zero()))),
            _ if is_message || (presence && !all) => {}
            op => match default_of(field, op) {
                Fallback::Cell(cell) => {
                    if let Some(place) = plan.template.get_mut(slot as usize) {
                        *place = cell;
                    }
                }
                late => plan.late.push((slot, late)),
            },
        }
    }

    fn is_loose(&self, index: usize) -> bool {
        self.messages.get(index).is_none_or(|plan| plan.keys.is_some())
    }

    /// Counts a field.
    pub(super) fn count(&mut self) -> Result<(), Stop> {
        self.fields += 1;
        if self.fields > FIELDS_MAX { Err(Stop::Size) } else { Ok(()) }
    }

    /// Whether a message is not unfolded here, since it has been around this place.
    pub(super) fn is_cut(&mut self, message: &MessageDescriptor) -> bool {
        let name = message.full_name();
        self.ancestors.iter().any(|ancestor| ancestor == name)
            || (self.once && self.unfolded.contains(name) && self.contains_itself(message))
    }

    fn contains_itself(&mut self, message: &MessageDescriptor) -> bool {
        let name = message.full_name();
        if let Some(known) = self.cyclic.get(name) {
            return *known;
        }
        let mut seen = HashSet::new();
        let mut rest = vec![message.clone()];
        while let Some(next) = rest.pop() {
            let inner = next.fields().filter_map(|field| field.kind().as_message().cloned());
            rest.extend(inner.filter(|inner| seen.insert(inner.full_name().to_owned())));
        }
        let found = seen.contains(name);
        self.cyclic.insert(name.to_owned(), found);
        found
    }

    /// A message as a map that says itself what is in it. All that is nested in it is so, too.
    pub(super) fn loose(&mut self, message: &MessageDescriptor) -> Result<usize, Stop> {
        if let Some(index) = self.loose.get(message.full_name()) {
            return Ok(*index);
        }
        if self.loose.len() >= FIELDS_MAX / 10 || self.ancestors.len() >= LEVELS_MAX {
            return Err(Stop::Size);
        }
        let index = self.messages.len();
        self.loose.insert(message.full_name().to_owned(), index);
        // Kept in its place while it is made: it may contain itself.
        self.messages.push(MessagePlan { keys: Some(Vec::new()), ..MessagePlan::default() });
        self.ancestors.push(message.full_name().to_owned());
        let mut plan = MessagePlan::default();
        let mut keys = Vec::new();
        for field in declared(message) {
            let op = self.loose_type(&field)?;
            let slot = plan.template.len() as u32;
            let oneof = real_oneof(&field);
            let repeated = field.is_list() || field.is_map();
            plan.template.push(Cell::Null);
            if oneof.is_none() && !repeated && !has_optional_keyword(&field) {
                self.absent(&field, &op, slot, &mut plan);
            }
            let position = |other: &FieldDescriptor| {
                declared(message).position(|field| field.number() == other.number())
            };
            let siblings = oneof.iter().flat_map(by_declaration).filter_map(|f| position(&f));
            let siblings = siblings.map(|place| place as u32).filter(|place| *place != slot);
            let siblings = siblings.collect();
            keys.push(Interned::new(field.name().as_bytes()));
            add(
                &mut plan,
                &field,
                FieldPlan { siblings, ..field_plan(&field, op, slot, repeated) },
            );
        }
        self.ancestors.pop();
        plan.keys = Some(keys);
        if let Some(place) = self.messages.get_mut(index) {
            *place = plan;
        }
        Ok(index)
    }
}

fn field_plan(field: &FieldDescriptor, op: Op, slot: u32, repeated: bool) -> FieldPlan {
    FieldPlan {
        name: field.name().into(),
        op,
        repeated,
        slot,
        union: None,
        siblings: Box::default(),
    }
}

fn add(plan: &mut MessagePlan, field: &FieldDescriptor, planned: FieldPlan) {
    plan.numbers.insert(field.number(), plan.fields.len());
    plan.fields.push(planned);
}

/// The fields of a message in the order of its text.
pub(super) fn declared(message: &MessageDescriptor) -> impl Iterator<Item = FieldDescriptor> + '_ {
    let numbers = message.descriptor_proto().field.iter().map(|field| field.number());
    numbers.filter_map(|number| message.get_field(u32::try_from(number).ok()?))
}

fn by_declaration(oneof: &OneofDescriptor) -> Vec<FieldDescriptor> {
    let ours = |field: &FieldDescriptor| {
        field.containing_oneof().is_some_and(|other| other.full_name() == oneof.full_name())
    };
    declared(oneof.parent_message()).filter(ours).collect()
}

/// The oneof that a field is a member of; none for the one that the keyword `optional` makes.
pub(super) fn real_oneof(field: &FieldDescriptor) -> Option<OneofDescriptor> {
    field.containing_oneof().filter(|oneof| !oneof.is_synthetic())
}

pub(super) fn is_proto3_optional(field: &FieldDescriptor) -> bool {
    field.field_descriptor_proto().proto3_optional()
}

/// Whether the field has the keyword `optional`.
pub(super) fn has_optional_keyword(field: &FieldDescriptor) -> bool {
    let proto2 = field.parent_file().syntax() == prost_reflect::Syntax::Proto2;
    is_proto3_optional(field)
        || (proto2
            && !field.is_required()
            && !field.is_list()
            && !field.is_map()
            && field.containing_oneof().is_none())
}

/// The field of a wrapper message.
pub(super) fn wrapped(message: &MessageDescriptor) -> Option<FieldDescriptor> {
    const WRAPPERS: [&str; 9] = [
        "DoubleValue",
        "FloatValue",
        "Int64Value",
        "UInt64Value",
        "Int32Value",
        "UInt32Value",
        "BoolValue",
        "StringValue",
        "BytesValue",
    ];
    let name = message.full_name().strip_prefix("google.protobuf.")?;
    if !WRAPPERS.contains(&name) {
        return None;
    }
    message.get_field(1).filter(|field| !field.is_list())
}

/// The fields of a message that is a map's entry: so marked, or named and made like one.
pub(super) fn map_entry(field: &FieldDescriptor) -> Option<(FieldDescriptor, FieldDescriptor)> {
    let Kind::Message(message) = field.kind() else { return None };
    if !(field.is_list() || field.is_map()) || !message.name().ends_with("Entry") {
        return None;
    }
    let mut fields = declared(&message);
    let (key, value) = (fields.next()?, fields.next()?);
    let plain = |field: &FieldDescriptor| !field.is_list() && !field.is_map();
    let named = key.name() == "key" && value.name() == "value";
    (named && fields.next().is_none() && plain(&key) && plain(&value)).then_some((key, value))
}

pub(super) fn build(builder: SchemaBuilder) -> Result<Arc<Schema>, Stop> {
    builder.build().map(Arc::new).map_err(|error| Stop::Other(error.0))
}

/// The schema of a message at the place where it would contain itself again.
pub(super) fn recursive(message: &MessageDescriptor) -> SchemaBuilder {
    let keys = Arc::new(Schema::new(Type::String));
    SchemaBuilder::map_of(Some(keys), None).parameter(names::RECURSIVE, message.full_name())
}
