//! ByLogicalTableRouter: sends the records of many physical tables to the topic of one logical
//! table.
//!
//! Keys get a field that says which table a record is from, so that equal keys of two tables stay two
//! records; the schemas of keys and change events get the new topic's name. Values and their cells are
//! not touched.

mod names;
#[cfg(test)]
mod tests;

use ::config::{Config, ConfigError, ConfigErrors, JavaRegex, JavaReplacement, Props};
use api::{Transform, TransformPlugin};
use data::{Batch, Cell, Mask, Schema, SchemaBuilder, Type};
use std::collections::HashMap;
use std::sync::Arc;

use self::names::{Adjustment, adjusted};
use super::envelope::{AFTER, BEFORE, is_envelope};
use crate::fault::Fault;
use crate::part::{Part, chosen, refuse, rewrite};
use crate::schema_cache::SchemaCache;

const CLASS: &str = "io.debezium.transforms.ByLogicalTableRouter";

/// Topics whose way is kept.
const TOPICS_MAX: usize = 4096;

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["ByLogicalTableRouter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Sends the change events of tables whose topics match a pattern, such as shards, to \
              one topic, and marks their keys with the table they are from.",
    config_def: ByLogicalTableRouterConfig::def,
    make: |props| Ok(Box::new(ByLogicalTableRouter::new(props)?)),
};

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(importance = low, check = complete)]
struct ByLogicalTableRouterConfig {
    /// Topics that match as a whole are sent on; records of others stay as they are.
    #[config(key = "topic.regex", regex, width = long)]
    topic_regex: String,
    /// The new topic, with the groups of `topic.regex` as `$1` or `${name}`.
    #[config(key = "topic.replacement", non_empty, width = long)]
    topic_replacement: String,
    /// Whether keys get a field with the table's name.
    #[config(key = "key.enforce.uniqueness", default = true, width = short)]
    key_enforce_uniqueness: bool,
    /// The name of that field.
    #[config(key = "key.field.name", default = "__dbz__physicalTableIdentifier", width = long)]
    key_field_name: String,
    /// Matched against the old topic to make that field's value, which is the old topic otherwise.
    #[config(key = "key.field.regex", regex, width = long)]
    key_field_regex: Option<String>,
    /// That field's value, with the groups of `key.field.regex`. Needed where that is set.
    #[config(key = "key.field.replacement", width = long)]
    key_field_replacement: Option<String>,
    /// What becomes of characters in schema names that Avro does not take: `none` keeps them, `avro`
    /// makes underscores of them, `avro_unicode` writes them as `_uxxxx`.
    #[config(key = "schema.name.adjustment.mode", default = "none", case_insensitive,
        importance = medium, width = medium)]
    schema_name_adjustment_mode: Adjustment,
    /// Schemas that Debezium keeps for each cache. What is kept here is bounded by itself: nothing
    /// reads it.
    #[config(key = "logical.table.cache.size", default = 16, width = long)]
    _logical_table_cache_size: i32,
}

fn complete(config: &ByLogicalTableRouterConfig) -> Vec<ConfigError> {
    let replacement = config.key_field_replacement.as_deref().unwrap_or_default();
    if config.key_field_regex.is_some() && replacement.is_empty() {
        let text = "must be set where key.field.regex is";
        return vec![ConfigError::new("key.field.replacement", text)];
    }
    Vec::new()
}

/// Where the records of a topic go.
struct Way {
    topic: String,
    /// What keys are marked with.
    mark: String,
    keys: SchemaCache<Arc<Schema>>,
    values: SchemaCache<Arc<Schema>>,
}

struct ByLogicalTableRouter {
    config: ByLogicalTableRouterConfig,
    regex: JavaRegex,
    replacement: JavaReplacement,
    key: Option<(JavaRegex, JavaReplacement)>,
    /// By old topic; `None`: it does not match.
    ways: HashMap<Arc<str>, Option<Way>>,
}

impl ByLogicalTableRouter {
    fn new(props: &Props) -> Result<ByLogicalTableRouter, ConfigErrors> {
        let config = ByLogicalTableRouterConfig::parse(props)?;
        let compiled = |key: &str, text: &str| {
            JavaRegex::new(text).map_err(|error| ConfigErrors::one(key, error))
        };
        let regex = compiled("topic.regex", &config.topic_regex)?;
        let replacement = JavaReplacement::new(&config.topic_replacement);
        let key = match (&config.key_field_regex, &config.key_field_replacement) {
            (Some(regex), Some(replacement)) if !regex.is_empty() => {
                Some((compiled("key.field.regex", regex)?, JavaReplacement::new(replacement)))
            }
            _ => None,
        };
        Ok(ByLogicalTableRouter { config, regex, replacement, key, ways: HashMap::new() })
    }

    /// Finds the way of a topic that was not met before.
    fn way(&self, topic: &str) -> Result<Option<Way>, Fault> {
        let replaced = |regex: &JavaRegex, replacement: &JavaReplacement| {
            regex.replace_first_if_whole_match(topic, replacement).map_err(|fault| Fault {
                exception: fault.java_class(),
                message: fault.to_string().into(),
            })
        };
        let Some(new) = replaced(&self.regex, &self.replacement)? else { return Ok(None) };
        let mark = match &self.key {
            Some((regex, replacement)) => replaced(regex, replacement)?,
            None => None,
        };
        Ok(Some(Way {
            topic: new,
            mark: mark.unwrap_or_else(|| topic.to_owned()),
            keys: SchemaCache::default(),
            values: SchemaCache::default(),
        }))
    }

    /// Makes sure that the ways of the batch's topics are known; refuses what has none.
    fn find_ways(&mut self, batch: &mut Batch, selected: &Mask) {
        let mut last: Option<Arc<str>> = None;
        for row in chosen(batch, selected) {
            let topic = batch.topic(row);
            if last.as_ref().is_some_and(|last| Arc::ptr_eq(last, topic)) {
                continue;
            }
            let topic = topic.clone();
            if !self.ways.contains_key(&topic) {
                match self.way(&topic) {
                    Ok(way) => {
                        if self.ways.len() >= TOPICS_MAX {
                            self.ways.clear();
                        }
                        self.ways.insert(topic.clone(), way);
                    }
                    Err(fault) => {
                        refuse(CLASS, batch, row, fault);
                        continue;
                    }
                }
            }
            last = Some(topic);
        }
    }
}

impl Way {
    fn key_schema(
        &mut self,
        schema: &Arc<Schema>,
        config: &ByLogicalTableRouterConfig,
    ) -> Result<Arc<Schema>, Fault> {
        let name = adjusted(&format!("{}.Key", self.topic), config.schema_name_adjustment_mode);
        let made = self.keys.get(schema, |schema| {
            let mut builder = SchemaBuilder::copy(schema).name(&name);
            if config.key_enforce_uniqueness {
                let mark = Arc::new(Schema::new(Type::String));
                builder = builder.field(&config.key_field_name, mark);
            }
            builder.build().map(Arc::new).map_err(|error| Fault::builder(error.0))
        })?;
        Ok(made.clone())
    }

    /// The event's schema, and those of its rows, under the new topic's name.
    fn value_schema(
        &mut self,
        schema: &Arc<Schema>,
        config: &ByLogicalTableRouterConfig,
    ) -> Result<Arc<Schema>, Fault> {
        let (topic, adjustment) = (&self.topic, config.schema_name_adjustment_mode);
        let made = self.values.get(schema, |schema| {
            let name = |last: &str| adjusted(&format!("{topic}.{last}"), adjustment);
            if schema.field(AFTER).is_none() {
                return Err(Fault {
                    exception: "java.lang.NullPointerException",
                    message: "The change event has no field after".into(),
                });
            }
            let mut builder = SchemaBuilder::like(schema, Type::Struct).name(&name("Envelope"));
            if schema.is_optional() {
                builder = builder.optional();
            }
            for field in schema.fields() {
                let mut inner = field.schema.clone();
                if matches!(&*field.name, BEFORE | AFTER) {
                    let renamed = SchemaBuilder::copy(&inner).name(&name("Value")).build();
                    inner = Arc::new(renamed.map_err(|error| Fault::builder(error.0))?);
                }
                builder = builder.field(&field.name, inner);
            }
            builder.build().map(Arc::new).map_err(|error| Fault::builder(error.0))
        })?;
        Ok(made.clone())
    }
}

impl Transform for ByLogicalTableRouter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        self.find_ways(batch, selected);
        let ByLogicalTableRouter { config, ways, .. } = self;
        rewrite(CLASS, Part::Key, batch, selected, |rows, batch, row, roots| {
            let way = ways.get_mut(batch.topic(row.number)).and_then(Option::as_mut);
            let (Some(way), false) = (way, row.cell.is_null()) else {
                roots.push(row.schema, row.cell);
                return Ok(());
            };
            let (Some(schema), Cell::Struct(span)) = (row.schema, row.cell) else {
                let schema = row.schema.map(|schema| &**schema);
                return Err(Fault::not_a_struct("Updating schema", schema, row.cell));
            };
            let schema = way.key_schema(schema, config)?;
            let mut cell = row.cell;
            if config.key_enforce_uniqueness {
                let mark = Cell::Text(rows.heap.put(way.mark.as_bytes()));
                let copy = rows.copy(span, 1);
                rows.set(copy, span.len as usize, mark);
                cell = Cell::Struct(copy);
            }
            roots.push(Some(&schema), cell);
            Ok(())
        });
        rewrite(CLASS, Part::Value, batch, selected, |_, batch, row, roots| {
            let way = ways.get_mut(batch.topic(row.number)).and_then(Option::as_mut);
            match (way, row.schema) {
                (Some(way), Some(schema)) if !row.cell.is_null() && is_envelope(row.schema) => {
                    roots.push(Some(&way.value_schema(schema, config)?), row.cell);
                }
                _ => roots.push(row.schema, row.cell),
            }
            Ok(())
        });
        for row in chosen(batch, selected) {
            if let Some(Some(way)) = ways.get(batch.topic(row)) {
                batch.set_topic(row, &way.topic);
            }
        }
    }
}
