//! InsertField: adds the record's topic, partition, offset or timestamp, or a fixed text, as fields.
//!
//! A record without a value (or key, for `$Key`) passes unchanged, so tombstones stay tombstones.
//! What a record does not know, a source's partition or a timestamp, is left out of a map and null in
//! a struct.

#[cfg(test)]
mod tests;

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask, Origin, Roots, Rows, Schema, SchemaBuilder, Span, Type, Width};
use std::sync::Arc;

use crate::copied::{MapCopy, Names, copy_struct};
use crate::fault::Fault;
use crate::layout_cache::{Key, Latest, LayoutCache};
use crate::part::{Part, Row, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only, with_basics};

const PURPOSE: &str = "field insertion";

/// The settings.
#[derive(Clone, Debug, Config)]
struct InsertFieldConfig {
    /// Field name for Kafka topic. Suffix with `!` to make this a required field, or `?` to keep it
    /// optional (the default).
    #[config(key = "topic.field", importance = medium)]
    topic_field: Option<String>,
    /// Field name for Kafka partition. Suffix with `!` to make this a required field, or `?` to keep
    /// it optional (the default).
    #[config(key = "partition.field", importance = medium)]
    partition_field: Option<String>,
    /// Field name for Kafka offset, which only records that were read from Kafka have. Suffix with
    /// `!` to make this a required field, or `?` to keep it optional (the default).
    #[config(key = "offset.field", importance = medium)]
    offset_field: Option<String>,
    /// Field name for record timestamp. Suffix with `!` to make this a required field, or `?` to
    /// keep it optional (the default).
    #[config(key = "timestamp.field", importance = medium)]
    timestamp_field: Option<String>,
    /// Field name for static data field. Suffix with `!` to make this a required field, or `?` to
    /// keep it optional (the default).
    #[config(key = "static.field", importance = medium)]
    static_field: Option<String>,
    /// Static field value, if field name configured.
    #[config(key = "static.value", importance = medium)]
    static_value: Option<String>,
    /// Whether to replace fields that have a default value and that are null to the default value.
    /// When set to true, the default value is used, otherwise null is used.
    #[config(key = "replace.null.with.default", default = true, importance = medium)]
    replace_null_with_default: bool,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "InsertField",
    InsertFieldConfig,
    InsertField::make,
    "Inserts fields with attributes of the record (topic, partition, offset, timestamp) or a configured \
     text into the struct or map that is the record's key or value."
);

/// What a field is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Topic,
    Partition,
    Offset,
    Timestamp,
    Static,
}

/// A field to insert.
struct Insertion {
    what: What,
    name: String,
    required: bool,
    schema: Arc<Schema>,
}

impl Insertion {
    fn new(what: What, spec: &str) -> Result<Insertion, ConfigErrors> {
        let required = spec.ends_with('!');
        let name = spec.strip_suffix(['!', '?']).unwrap_or(spec).to_owned();
        let builder = match what {
            What::Topic | What::Static => SchemaBuilder::new(Type::String),
            What::Partition => SchemaBuilder::new(Type::Int32),
            What::Offset => SchemaBuilder::new(Type::Int64),
            What::Timestamp => SchemaBuilder::timestamp(),
        };
        let builder = if required { builder } else { builder.optional() };
        let schema = builder.build().map_err(|error| ConfigErrors::one("", error.to_string()))?;
        Ok(Insertion { what, name, required, schema: Arc::new(schema) })
    }
}

struct InsertField {
    class: &'static str,
    part: Part,
    insertions: Vec<Insertion>,
    static_value: String,
    replace: bool,
    schemas: SchemaCache<Arc<Schema>>,
    /// Where a map has members of the insertions' names; nothing if it has none and they differ.
    places: LayoutCache<Vec<Option<usize>>>,
    /// Whether two insertions have one name.
    repeats: bool,
}

impl InsertField {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = InsertFieldConfig::parse_plugin(props)?;
        let mut insertions = Vec::new();
        for (what, spec) in [
            (What::Topic, &config.topic_field),
            (What::Partition, &config.partition_field),
            (What::Offset, &config.offset_field),
            (What::Timestamp, &config.timestamp_field),
            (What::Static, &config.static_field),
        ] {
            if let Some(spec) = spec {
                insertions.push(Insertion::new(what, spec)?);
            }
        }
        if insertions.is_empty() {
            return Err(ConfigErrors::one("topic.field", "No field insertion configured"));
        }
        if let (Some(spec), None) = (&config.static_field, &config.static_value) {
            let fault = format!("No value specified for static field: {spec}");
            let text = config::invalid("static.value", &config::Value::Null, &fault);
            return Err(ConfigErrors::one("static.value", text));
        }
        let mut names: Vec<&str> = insertions.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        let repeats = names.windows(2).any(|pair| pair.first() == pair.last());
        Ok(Box::new(InsertField {
            class,
            part,
            insertions,
            static_value: config.static_value.unwrap_or_default(),
            replace: config.replace_null_with_default,
            schemas: SchemaCache::default(),
            places: LayoutCache::default(),
            repeats,
        }))
    }
}

/// Texts that are put into a batch's heap once and used for many rows.
#[derive(Default)]
struct Texts {
    topic: Option<(Arc<str>, Span)>,
    fixed: Option<Span>,
    /// The names of the insertions, for maps.
    names: Names,
    latest: Latest,
}

impl Texts {
    /// Sees to it that the text of what is inserted is in the heap.
    #[inline(always)]
    fn prepare(&mut self, rows: &mut Rows, what: What, topic: &Arc<str>, fixed: &str) {
        match what {
            What::Topic => {
                if !self.topic.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, topic)) {
                    self.topic = Some((topic.clone(), rows.heap.put(topic.as_bytes())));
                }
            }
            What::Static => {
                self.fixed.get_or_insert_with(|| rows.heap.put(fixed.as_bytes()));
            }
            What::Partition | What::Offset | What::Timestamp => {}
        }
    }
}

impl Transform for InsertField {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let (class, part) = (self.class, self.part);
        let mut texts = Texts::default();
        rewrite_apart(class, part, batch, selected, |rows, batch, row, roots| {
            if row.cell.is_null() {
                roots.push(row.schema, row.cell);
                return Ok(());
            }
            match row.schema {
                Some(schema) => self.extend_struct(rows, batch, row, schema, &mut texts, roots),
                None => self.extend_map(rows, batch, row, &mut texts, roots),
            }
        });
    }
}

impl InsertField {
    fn extend_struct(
        &mut self,
        rows: &mut Rows,
        batch: &Batch,
        row: Row<'_>,
        schema: &Arc<Schema>,
        texts: &mut Texts,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let span = struct_only(PURPOSE, schema, &row.cell)?;
        let insertions = &self.insertions;
        let extended = self.schemas.get(schema, |schema| extend(schema, insertions))?;
        let record = (batch, row.number);
        for insertion in insertions {
            texts.prepare(rows, insertion.what, batch.topic(row.number), &self.static_value);
        }
        let copy = copy_struct(rows, schema, span, insertions.len(), self.replace)?;
        let slots = rows.cells_mut(copy).iter_mut().skip(schema.fields().len());
        for (insertion, slot) in insertions.iter().zip(slots) {
            let what = insertion.what;
            what.insert(slot, record, texts)?;
            if insertion.required && what == What::Timestamp && !what.is_known(batch, row.number) {
                return Err(Fault::data(format!(
                    "The record has no timestamp for the required field: {}",
                    insertion.name
                )));
            }
        }
        roots.push(Some(extended), Cell::Struct(copy));
        Ok(())
    }

    fn extend_map(
        &mut self,
        rows: &mut Rows,
        batch: &Batch,
        row: Row<'_>,
        texts: &mut Texts,
        roots: &mut Roots,
    ) -> Result<(), Fault> {
        let span = map_only(PURPOSE, rows, &row.cell)?;
        let InsertField { insertions, places, static_value, repeats, .. } = self;
        let places = places.get(&mut texts.latest, rows, span, |keys| {
            let is = |key: &Key, name: &str| key.name().is_ok_and(|key| key == name);
            let place = |one: &Insertion| keys.iter().position(|key| is(key, &one.name));
            let places = insertions.iter().map(|one| place(one).map(|pair| pair * 2 + 1));
            let places: Vec<Option<usize>> = places.collect();
            let fresh = !*repeats && places.iter().all(Option::is_none);
            Ok(if fresh { Vec::new() } else { places })
        })?;
        let record = (batch, row.number);
        let mut all_known = true;
        for insertion in &*insertions {
            texts.prepare(rows, insertion.what, batch.topic(row.number), static_value);
            all_known &= insertion.what.is_known(batch, row.number);
        }
        let names = |rows: &mut Rows, index: usize, texts: &mut Texts| {
            texts.names.get(rows, index, insertions.iter().map(|one| one.name.as_str()))
        };
        if places.is_empty() && all_known && rows.is_apart() {
            names(rows, 0, texts);
            rows.ask_room(insertions.len() * 2);
            if let Some((longer, free)) = rows.extended_by(span, insertions.len() * 2) {
                let pairs = free.chunks_exact_mut(2).zip(texts.names.all());
                for (insertion, (pair, name)) in insertions.iter().zip(pairs) {
                    let [key, value] = pair else { continue };
                    *key = Cell::Text(*name);
                    insertion.what.insert(value, record, texts)?;
                }
                roots.push(None, Cell::Map(longer));
                return Ok(());
            }
        }
        let mut copy = MapCopy::new(rows, span, insertions.len());
        for (index, insertion) in insertions.iter().enumerate() {
            if !insertion.what.is_known(batch, row.number) {
                continue;
            }
            let place = places.get(index).copied().flatten();
            // What is there already is replaced, also what was inserted just now.
            let place = match place
                .or_else(|| repeats.then(|| copy.find_added(rows, &insertion.name)).flatten())
            {
                Some(place) => place,
                None => {
                    let name = names(rows, index, texts);
                    let (longer, place) = copy.add(rows, name);
                    copy = longer;
                    place
                }
            };
            let mut cell = Cell::Null;
            insertion.what.insert(&mut cell, record, texts)?;
            rows.set(copy.cells(), place, cell);
        }
        roots.push(None, copy.finish());
        Ok(())
    }
}

fn extend(schema: &Schema, insertions: &[Insertion]) -> Result<Arc<Schema>, Fault> {
    let mut builder = with_basics(SchemaBuilder::structure(), schema);
    for field in schema.fields() {
        builder = builder.field(&field.name, field.schema.clone());
    }
    for insertion in insertions {
        builder = builder.field(&insertion.name, insertion.schema.clone());
    }
    builder.build().map(Arc::new).map_err(Fault::from_schema)
}

impl What {
    /// Whether the record has it; an offset that it cannot have is refused where it is inserted.
    #[inline]
    fn is_known(self, batch: &Batch, row: usize) -> bool {
        match self {
            What::Partition => batch.partition(row).is_some(),
            What::Timestamp => batch.timestamp(row).is_some(),
            What::Topic | What::Offset | What::Static => true,
        }
    }

    /// Writes the value to insert into its place; nothing where the record does not know it. Its text is
    /// prepared.
    #[inline(always)]
    fn insert(
        self,
        slot: &mut Cell,
        (batch, row): (&Batch, usize),
        texts: &Texts,
    ) -> Result<(), Fault> {
        match self {
            What::Topic => {
                let topic = texts.topic.as_ref().map_or(Span::EMPTY, |(_, span)| *span);
                *slot = Cell::Text(topic);
            }
            What::Partition => {
                if let Some(partition) = batch.partition(row) {
                    *slot = Cell::Int(partition.into(), Width::W32);
                }
            }
            What::Offset => match (batch.origin, batch.offset(row)) {
                (Origin::Sink, Some(offset)) => *slot = Cell::int(offset),
                _ => return Err(no_offset()),
            },
            What::Timestamp => {
                if let Some(timestamp) = batch.timestamp(row) {
                    *slot = Cell::int(timestamp);
                }
            }
            What::Static => *slot = Cell::Text(texts.fixed.unwrap_or(Span::EMPTY)),
        }
        Ok(())
    }
}

#[cold]
fn no_offset() -> Fault {
    Fault::data(format!(
        "Only SinkRecord supported for [{PURPOSE}], found: \
         org.apache.kafka.connect.source.SourceRecord"
    ))
}
