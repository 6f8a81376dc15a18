//! ReplaceField: leaves fields out and renames others.
//!
//! A field stays if `exclude` does not have it and `include`, unless empty, has it; both speak of old
//! names. A null stays as it is, its schema too. A renaming onto the name of a field that stays is a
//! data error; Connect overwrites a map's member in silence.

use api::Transform;
use config::{Config, ConfigErrors, Props};
use data::{Batch, Cell, Mask, Schema, SchemaBuilder};

use crate::fault::Fault;
use crate::kept::{KeptFields, KeptMembers};
use crate::layout_cache::{Key, Latest, LayoutCache};
use crate::part::{Part, rewrite_apart};
use crate::plugin::key_and_value;
use crate::schema_cache::SchemaCache;
use crate::shape::{map_only, struct_only, with_basics};
use renames::Renames;

mod renames;

#[cfg(test)]
mod tests;

const PURPOSE: &str = "field replacement";

/// The settings.
#[derive(Clone, Debug, Config)]
struct ReplaceFieldConfig {
    /// Fields to leave out.
    #[config(default = "", importance = medium)]
    exclude: Vec<String>,
    /// Fields to keep, and only these. Empty: all that are not excluded.
    #[config(default = "", importance = medium)]
    include: Vec<String>,
    /// Fields to rename, `old:new` each.
    #[config(
        default = "",
        importance = medium,
        validator = config::Validator::custom(Renames::check)
    )]
    renames: Vec<String>,
    /// Whether a field that is null and has a default in its schema is copied as the default (true) or
    /// as null.
    #[config(default = true, importance = medium)]
    replace_null_with_default: bool,
}

key_and_value!(
    "org.apache.kafka.connect.transforms",
    "ReplaceField",
    ReplaceFieldConfig,
    ReplaceField::make,
    "Leaves fields of the key or value out, keeps only some, or renames them.",
    &["ReplaceField$Key", "io.confluent.connect.transforms.ReplaceField$Key"],
    &["ReplaceField$Value", "io.confluent.connect.transforms.ReplaceField$Value"]
);

/// Which fields stay, and under what name.
struct Rules {
    exclude: Vec<String>,
    include: Vec<String>,
    renames: Renames,
}

impl Rules {
    fn keeps(&self, name: &str) -> bool {
        let is = |other: &String| other == name;
        !self.exclude.iter().any(is) && (self.include.is_empty() || self.include.iter().any(is))
    }

    /// The name a field gets, and the number of that name if it is new; `None` for one that goes.
    fn name<'a>(&'a self, name: &'a str) -> Option<(&'a str, Option<u32>)> {
        if !self.keeps(name) {
            return None;
        }
        Some(match self.renames.of(name) {
            Some((number, new)) => (new, Some(number)),
            None => (name, None),
        })
    }

    /// # Errors
    /// A field that would get the name of another that stays.
    fn check_clash<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), Fault> {
        for name in names.clone() {
            if !self.keeps(name) || self.renames.of(name).is_some() {
                continue;
            }
            if let Some(old) = self.renames.old_of(name)
                && names.clone().any(|other| other == old && self.keeps(old))
            {
                return Err(Fault::data(format!(
                    "Cannot rename field {old} to {name}: there is a field {name} already"
                )));
            }
        }
        Ok(())
    }

    fn of_struct(&self, schema: &Schema) -> Result<KeptFields, Fault> {
        let names = schema.fields().iter().map(|field| &*field.name);
        self.check_clash(names.clone())?;
        for name in names {
            // Connect looks a field up by the old name of its new name, if there is one.
            if let Some((name, None)) = self.name(name)
                && let Some(old) =
                    self.renames.old_of(name).filter(|old| schema.field(old).is_none())
            {
                return Err(Fault::data(format!(
                    "{old} is not a valid field name: it would become {name}, and the record has a \
                     field {name} instead"
                )));
            }
        }
        let builder = with_basics(SchemaBuilder::structure(), schema);
        KeptFields::new(builder, schema, |name| self.name(name).map(|(name, _)| name))
    }

    fn of_map(&self, keys: &[Key]) -> Result<KeptMembers, Fault> {
        let names = keys.iter().map(Key::name).collect::<Result<Vec<_>, _>>()?;
        self.check_clash(names.into_iter())?;
        Ok(KeptMembers::new(keys, |key| {
            let (_, number) = self.name(key.name().ok()?)?;
            Some(number)
        }))
    }
}

struct ReplaceField {
    class: &'static str,
    part: Part,
    rules: Rules,
    replace: bool,
    fields: SchemaCache<KeptFields>,
    members: LayoutCache<KeptMembers>,
}

impl ReplaceField {
    fn make(
        class: &'static str,
        part: Part,
        props: &Props,
    ) -> Result<Box<dyn Transform>, ConfigErrors> {
        let config = ReplaceFieldConfig::parse_plugin(props)?;
        let renames =
            Renames::parse(&config.renames).map_err(|fault| ConfigErrors::one("renames", fault))?;
        Ok(Box::new(ReplaceField {
            class,
            part,
            rules: Rules { exclude: config.exclude, include: config.include, renames },
            replace: config.replace_null_with_default,
            fields: SchemaCache::default(),
            members: LayoutCache::default(),
        }))
    }
}

impl Transform for ReplaceField {
    fn class(&self) -> &'static str {
        self.class
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        let ReplaceField { class, part, rules, replace, fields, members } = self;
        let mut names = None;
        let mut latest = Latest::default();
        rewrite_apart(class, *part, batch, selected, |rows, _, row, roots| {
            if row.cell.is_null() {
                roots.push(row.schema, Cell::Null);
                return Ok(());
            }
            let Some(schema) = row.schema else {
                let map = map_only(PURPOSE, rows, &row.cell)?;
                let names = names.get_or_insert_with(|| {
                    let put = |name: &str| rows.heap.put(name.as_bytes());
                    rules.renames.new_names().map(put).collect::<Vec<_>>()
                });
                let kept = members.get(&mut latest, rows, map, |keys| rules.of_map(keys))?;
                roots.push(None, Cell::Map(kept.take(rows, map, names)));
                return Ok(());
            };
            let span = struct_only(PURPOSE, schema, &row.cell)?;
            let kept = fields.get(schema, |schema| rules.of_struct(schema))?;
            let left = kept.take(rows, span, *replace)?;
            roots.push(Some(kept.schema()), Cell::Struct(left));
            Ok(())
        });
    }
}
