//! Which table a record's topic stands for: once a batch, or once a record where transforms have sent
//! records of a batch to several topics, or where the name asks for more than the topic.

use super::{Pass, Segment};
use crate::consumer::{ConsumerRules, RouteBy};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::header::header_text;
use crate::naming::Piece;
use crate::path::text_at;
use crate::table::TableName;
use data::Batch;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The topic that the records of each topic, as transforms left it, were fetched from.
pub(super) type Origins = BTreeMap<Arc<str>, Arc<str>>;

/// A name that a record gives is shown no longer than this.
const NAME_CHARS_SHOWN: usize = 80;

/// Why a record has no table.
pub(super) struct Lost {
    pub(super) text: String,
    pub(super) sqlstate: &'static str,
}

impl From<String> for Lost {
    fn from(text: String) -> Lost {
        Lost { text, sqlstate: "22023" }
    }
}

/// A topic, and its table if that depends on nothing else.
pub(super) type Routed = Option<(Arc<str>, Option<u32>)>;

impl Pass<'_> {
    /// The place of a topic whose table depends on nothing else.
    pub(super) fn fixed_place(&mut self, batch: &Batch, topic: &Arc<str>) -> DbResult<Option<u32>> {
        self.check_origin(topic, batch.raw.topic())?;
        if let Some(relation) = &self.settings.relation {
            return Ok(Some(self.planner.place(topic, relation.clone())));
        }
        if self.settings.consumer.as_ref().is_some_and(|rules| rules.routes.is_some()) {
            return Ok(None);
        }
        let rules = &self.settings.rules;
        let rendered = match rules.mapped(topic) {
            Some(name) => name.to_owned(),
            None if !rules.format.is_constant() => return Ok(None),
            None => rules.render(topic, |_| Ok(String::new())).map_err(config)?,
        };
        let name = rules.table(&rendered).map_err(config)?;
        Ok(Some(self.planner.place(topic, name)))
    }

    /// Records of two topics that transforms send to one have the same partitions and offsets.
    pub(super) fn check_origin(&mut self, topic: &Arc<str>, own: &Arc<str>) -> DbResult<()> {
        let Some(origins) = &mut self.origins else { return Ok(()) };
        match origins.get(topic) {
            Some(known) if known != own => Err(config(format!(
                "transforms send the records of topics {known} and {own} to {topic}, and \
                 pk.mode=kafka cannot tell them apart: use another pk.mode, or keep the topics apart"
            ))),
            Some(_) => Ok(()),
            None => {
                origins.insert(topic.clone(), own.clone());
                Ok(())
            }
        }
    }

    /// The place of a row whose topic may differ from that of the row before.
    pub(super) fn routed_place(
        &mut self,
        segment: &Segment<'_>,
        row: usize,
        routed: &mut Routed,
    ) -> DbResult<Option<u32>> {
        if segment.place.is_some() || !segment.batch.is_routed() {
            return Ok(segment.place);
        }
        let topic = segment.batch.topic(row);
        match routed {
            Some((known, place)) if known == topic => Ok(*place),
            _ => {
                let place = self.fixed_place(segment.batch, topic)?;
                *routed = Some((topic.clone(), place));
                Ok(place)
            }
        }
    }

    pub(super) fn table_of(&self, segment: &Segment<'_>, row: usize) -> Result<TableName, Lost> {
        let (rules, batch) = (&self.settings.rules, segment.batch);
        if let Some(consumer) = &self.settings.consumer
            && let Some(routes) = &consumer.routes
        {
            return self.route(consumer, &routes.by, segment, row);
        }
        let (keys, values) = (&batch.keys, &batch.values);
        let (schema, root) = match segment.events {
            Some(events) => events.whole(row),
            None => (values.schema(row), values.root(row)),
        };
        let rendered = rules.render(batch.topic(row), |piece| match piece {
            Piece::Key(path) => text_at(keys, keys.schema(row).map(|s| &**s), keys.root(row), path),
            Piece::Value(path) => text_at(values, schema.map(|s| &**s), root, path),
            Piece::Header(name) => header_text(batch, row, name)
                .map(Cow::into_owned)
                .ok_or_else(|| format!("the record has no header {name} of text")),
            Piece::Text(_) | Piece::Topic | Piece::TopicPart(_) => Ok(String::new()),
        });
        let rendered = rendered.map_err(|e| format!("the table's name needs more: {e}"))?;
        Ok(rules.table(&rendered)?)
    }

    /// The relation that a record names, out of those that it may name.
    fn route(
        &self,
        rules: &ConsumerRules,
        by: &RouteBy,
        segment: &Segment<'_>,
        row: usize,
    ) -> Result<TableName, Lost> {
        let batch = segment.batch;
        let lost = |text: String| Lost { text, sqlstate: "42501" };
        let name = match by {
            RouteBy::Key => {
                let key = batch.raw.key(row).and_then(|key| std::str::from_utf8(key).ok());
                key.map(Cow::Borrowed).ok_or_else(|| lost("the record has no key of text".into()))
            }
            RouteBy::Header(name) => header_text(batch, row, name)
                .ok_or_else(|| lost(format!("the record has no header {name} of text"))),
            RouteBy::Field(path) => {
                let schema = batch.values.schema(row).map(|schema| &**schema);
                text_at(&batch.values, schema, batch.values.root(row), path)
                    .map(Cow::Owned)
                    .map_err(lost)
            }
        };
        let name = name?;
        rules.routed(&name).cloned().ok_or_else(|| {
            let shown: String = name.chars().take(NAME_CHARS_SHOWN).collect();
            lost(format!("the record names {shown:?}, which is none of the consumer's relations"))
        })
    }
}

fn config(text: String) -> DbError {
    DbError::new(DbErrorKind::Config, text)
}
