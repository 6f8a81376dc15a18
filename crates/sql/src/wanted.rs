//! The columns that a record of some form would fill, before anyone has looked at the table.

use crate::config::PkMode;
use crate::settings::SinkSettings;
use crate::shape::{Shape, Shapes};
use crate::write::Source;
use data::{Schema, SchemaBuilder, Type};
use std::sync::Arc;

/// The names that pk.mode=kafka gives its columns unless others are set.
pub(crate) const COORDINATES: [&str; 3] =
    ["__connect_topic", "__connect_partition", "__connect_offset"];

/// The column for values that are no objects, where neither an option nor the table names one.
pub(crate) const VALUE_COLUMN: &str = "record_value";

/// A value beside key and value of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    Topic,
    Partition,
    Offset,
    /// The last header of that name, as text.
    Header(Arc<str>),
    /// The members of the value but these, as a JSON object.
    Rest(Arc<[Arc<str>]>),
}

/// A column that a record would fill.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The field's name; `None`: whichever column the table has for it.
    pub name: Option<Arc<str>>,
    pub source: Source,
    pub schema: Option<Arc<Schema>>,
    /// Part of the row's key.
    pub key: bool,
    /// The record says that there is such a column: one that is missing is an error, or made. Else
    /// it is left out and counted.
    pub certain: bool,
}

/// Everything a form of record would fill.
#[derive(Debug, Default)]
pub(crate) struct WantedRow {
    pub columns: Vec<Wanted>,
    pub extras: Vec<Extra>,
    /// Where the delete marker is.
    pub marker: Option<Source>,
    /// The schema of the whole value.
    pub value_schema: Option<Arc<Schema>>,
}

/// What a record's form lacks; it concerns every record of the form.
pub(crate) type Lack = String;

/// Collects the wanted columns of one form.
pub(crate) struct Collector<'a> {
    pub settings: &'a SinkSettings,
    pub shapes: &'a Shapes,
    pub topic: &'a str,
    /// What the key is made of, as `pk.fields` says.
    pub fields: &'a [String],
}

impl Collector<'_> {
    /// The columns of the key alone, as deletes need them.
    ///
    /// # Errors
    /// What the record lacks.
    pub(crate) fn key_columns(&self, key: Shape, value: Shape) -> Result<WantedRow, Lack> {
        let mut row = WantedRow::default();
        let fields = self.fields;
        match self.settings.config.pk_mode {
            PkMode::None => {}
            PkMode::Kafka => coordinates(fields, &mut row),
            PkMode::RecordHeader => headers(fields, &mut row),
            PkMode::RecordKey => self.record_key(key, &mut row)?,
            PkMode::RecordValue => self.record_value(value, &mut row)?,
        }
        Ok(row)
    }

    /// The columns of key and value.
    ///
    /// # Errors
    /// What the record lacks.
    pub(crate) fn all_columns(&self, key: Shape, value: Shape) -> Result<WantedRow, Lack> {
        let mut row = self.key_columns(key, value)?;
        row.value_schema = self.schema_of(value).cloned();
        let marker = self.settings.config.delete_marker_field.as_str();
        if !matches!(value, Shape::Struct(_) | Shape::Members(..)) {
            let column = self.settings.config.value_column.as_str();
            row.columns.push(Wanted {
                name: (!column.is_empty()).then(|| Arc::from(column)),
                source: Source::ValueRoot,
                schema: self.schema_of(value).cloned(),
                key: false,
                certain: true,
            });
            return Ok(row);
        }
        for member in self.members(value, false, false) {
            let Some(name) = member.name.clone() else { continue };
            if !marker.is_empty() && *name == *marker {
                row.marker = Some(member.source);
                continue;
            }
            let taken = row.columns.iter().any(|c| c.key && c.name.as_deref() == Some(&*name));
            if !taken && self.settings.writes_field(self.topic, &name) {
                row.columns.push(member);
            }
        }
        Ok(row)
    }

    /// The columns that say which row a record without a value deletes: members of its key, or the key
    /// itself.
    ///
    /// # Errors
    /// What the record lacks.
    pub(crate) fn deleted(&self, key: Shape) -> Result<WantedRow, Lack> {
        let mut row = WantedRow::default();
        self.record_key(key, &mut row)?;
        Ok(row)
    }

    fn record_key(&self, key: Shape, row: &mut WantedRow) -> Result<(), Lack> {
        let fields = self.fields;
        match key {
            Shape::Null => {
                let needs = match self.settings.consumer {
                    Some(_) => "tombstones => 'delete'".to_owned(),
                    None => format!("{}=record_key", self.settings.names.name("pk.mode")),
                };
                Err(format!("the record has no key, which {needs} needs"))
            }
            Shape::Struct(_) | Shape::Members(..) => {
                row.columns = self.choose(self.members(key, true, true), "key")?;
                Ok(())
            }
            Shape::Whole(_) => {
                let name = match fields {
                    [] => None,
                    [name] => Some(Arc::from(name.as_str())),
                    _ => {
                        return Err(format!(
                            "{} names {} columns, but the record's key is a single value",
                            self.settings.names.name("pk.fields"),
                            fields.len()
                        ));
                    }
                };
                let schema = self.schema_of(key).cloned();
                let source = Source::KeyRoot;
                row.columns.push(Wanted { name, source, schema, key: true, certain: true });
                Ok(())
            }
        }
    }

    fn record_value(&self, value: Shape, row: &mut WantedRow) -> Result<(), Lack> {
        match value {
            Shape::Struct(_) | Shape::Members(..) => {
                let mut members = self.members(value, true, false);
                let marker = &self.settings.config.delete_marker_field;
                members.retain(|m| m.name.as_deref() != Some(marker.as_str()));
                row.columns = self.choose(members, "value")?;
                Ok(())
            }
            _ => {
                let needs = match self.settings.consumer {
                    Some(_) => "mode => 'upsert' or 'ignore'".to_owned(),
                    None => format!("{}=record_value", self.settings.names.name("pk.mode")),
                };
                Err(format!("{needs} needs a value with fields"))
            }
        }
    }

    /// The members that pk.fields names, in its order; all where it is empty.
    fn choose(&self, members: Vec<Wanted>, side: &str) -> Result<Vec<Wanted>, Lack> {
        let fields = self.fields;
        if fields.is_empty() {
            return match members.is_empty() {
                true => Err(format!("the record's {side} has no fields to make a key of")),
                false => Ok(members),
            };
        }
        let find = |field: &String| {
            let found = members.iter().rfind(|m| m.name.as_deref() == Some(field.as_str()));
            found.cloned().ok_or_else(|| {
                let key = self.settings.names.name("pk.fields");
                format!("the record's {side} has no field {field}, which {key} names")
            })
        };
        fields.iter().map(find).collect()
    }

    /// The fields of a struct, or the members of an object; of the record's key, or of its value.
    fn members(&self, shape: Shape, key: bool, of_key: bool) -> Vec<Wanted> {
        let left_out = !key && self.settings.leaves_out_fields();
        let refused = self.settings.refuses_members();
        match shape {
            Shape::Struct(_) => {
                let fields = self.schema_of(shape).map(|s| s.fields()).unwrap_or_default();
                let fields = fields.iter().enumerate().map(|(index, field)| Wanted {
                    name: Some(field.name.clone()),
                    source: match of_key {
                        true => Source::KeyField(index),
                        false => Source::ValueField(index),
                    },
                    schema: self.typed(&field.name, Some(&field.schema)),
                    key,
                    certain: !left_out,
                });
                fields.collect()
            }
            Shape::Members(list, _) => {
                let schema = self.schema_of(shape).and_then(|s| s.value_schema()).cloned();
                let names = self.shapes.members(list).iter().map(|name| Wanted {
                    name: Some(name.clone()),
                    source: match of_key {
                        true => Source::KeyMember(name.clone()),
                        false => Source::ValueMember(name.clone()),
                    },
                    schema: self.typed(name, schema.as_ref()),
                    key,
                    certain: key || refused,
                });
                names.collect()
            }
            Shape::Null | Shape::Whole(_) => Vec::new(),
        }
    }

    /// The schema of a field, which is another for one that is listed as a timestamp.
    fn typed(&self, name: &str, schema: Option<&Arc<Schema>>) -> Option<Arc<Schema>> {
        match self.settings.timestamps.has(self.topic, name) {
            true => crate::epoch::listed(schema, self.settings.config.timestamp_unit),
            false => schema.cloned(),
        }
    }

    pub(crate) fn schema_of(&self, shape: Shape) -> Option<&Arc<Schema>> {
        match shape {
            Shape::Null => None,
            Shape::Struct(id) | Shape::Members(_, id) | Shape::Whole(id) => self.shapes.schema(id),
        }
    }
}

fn coordinates(fields: &[String], row: &mut WantedRow) {
    let extras = [Extra::Topic, Extra::Partition, Extra::Offset];
    let kinds = [Type::String, Type::Int32, Type::Int64];
    let names = COORDINATES.iter().enumerate();
    for ((index, default), kind) in names.zip(kinds) {
        let name = fields.get(index).map_or(*default, String::as_str);
        row.columns.push(Wanted {
            name: Some(Arc::from(name)),
            source: Source::Extra(index),
            schema: Some(Arc::new(Schema::new(kind))),
            key: true,
            certain: true,
        });
    }
    row.extras.extend(extras);
}

fn headers(fields: &[String], row: &mut WantedRow) {
    // Headers are text that the column's type reads; there is nothing that says more of them.
    let text = SchemaBuilder::new(Type::String).build().map(Arc::new).ok();
    for (index, field) in fields.iter().enumerate() {
        let name: Arc<str> = Arc::from(field.as_str());
        row.extras.push(Extra::Header(name.clone()));
        row.columns.push(Wanted {
            name: Some(name),
            source: Source::Extra(index),
            schema: text.clone(),
            key: true,
            certain: true,
        });
    }
}
