//! Which schema a record was written with, and what is compiled from it.
//!
//! A batch is of one topic, so what is found for an id stays right for the whole batch.

use super::asking::Asking;
use super::format::Format;
use super::options::Options;
use api::{Result, Side};
use data::RawBatch;
use registry::SchemaId;
use registry::framing::{self, KEY_HEADER, Unframed, VALUE_HEADER};
use registry::subject::Strategy;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Ids without a schema that are kept, at most, where nobody reads what is prepared.
const MISSING_MAX: usize = 10_000;

/// A record's bytes, told apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) id: SchemaId,
    /// What follows the id in a header.
    pub(super) head: &'a [u8],
    pub(super) payload: &'a [u8],
}

/// The record's header that may have its schema's id.
pub(super) fn header(side: Side, raw: &RawBatch, row: usize) -> Option<&[u8]> {
    let name = if side == Side::Key { KEY_HEADER } else { VALUE_HEADER };
    raw.header(row, name).flatten()
}

/// # Errors
/// Neither the header nor the bytes name a schema.
#[inline]
pub(super) fn split<'a>(header: Option<&'a [u8]>, bytes: &'a [u8]) -> Result<Named<'a>, Unframed> {
    match header {
        None => {
            let (id, payload) = framing::read(bytes)?;
            Ok(Named { id, head: &[], payload })
        }
        Some(header) => {
            let (id, head) = framing::read(header)?;
            Ok(Named { id, head, payload: bytes })
        }
    }
}

/// The id that a record names; none for a null, and where it names none.
pub(super) fn id_of(options: &Options, side: Side, raw: &RawBatch, row: usize) -> Option<SchemaId> {
    let bytes: Cow<'_, [u8]> = match side {
        Side::Key => Cow::Borrowed(raw.key(row)?),
        Side::Value => match raw.value_parts(row)? {
            parts if parts.prefix.is_none() => Cow::Borrowed(parts.rest),
            _ => raw.value(row)?,
        },
        Side::Header => return None,
    };
    let header = match options.side(side == Side::Key).id_from_header && raw.has_headers() {
        true => header(side, raw, row),
        false => None,
    };
    split(header, &bytes).ok().map(|named| named.id)
}

/// The next row that may name another schema than this one, which names one by its number.
pub(super) fn next_other(side: Side, raw: &RawBatch, row: usize) -> usize {
    match side {
        Side::Key => raw.next_key_change(row),
        Side::Value => raw.next_value_change(row),
        Side::Header => raw.len(),
    }
}

/// What is known of an id in a topic.
pub(super) struct Known<R> {
    /// Or why it cannot be used.
    pub(super) reader: Result<R, String>,
    /// For messages: `schema id 7, subject t-value`.
    pub(super) name: Arc<str>,
}

impl<R> Known<R> {
    fn new(reader: Result<R, String>, id: SchemaId, subject: Option<&str>) -> Known<R> {
        let subject = subject.map(|subject| format!(", subject {subject}")).unwrap_or_default();
        Known { reader, name: format!("schema id {id}{subject}").into() }
    }
}

/// Asks the registry for a schema and compiles it. `None`: there is none, and why.
pub(super) fn learn<F: Format>(
    format: &F,
    registry: &Asking,
    options: &Options,
    (topic, key): (&str, bool),
    id: SchemaId,
) -> Result<Result<Known<F::Reader>, String>> {
    let strategy = options.side(key).strategy;
    let by_topic = match strategy {
        Strategy::Topic => strategy.subject(topic, key, None).ok(),
        Strategy::Record | Strategy::TopicRecord => None,
    };
    let schema = match registry.fetch(&id, by_topic.as_deref())? {
        Ok(schema) => schema,
        Err(missing) => return Ok(Err(missing.0)),
    };
    if schema.kind != F::KIND {
        let text = format!("schema {id} is {}, not {}", schema.kind, F::KIND);
        return Ok(Ok(Known::new(Err(text), id, by_topic.as_deref())));
    }
    if let Some(rule) = schema.rules.iter().find(|rule| rule.reads) {
        let text =
            format!("schema {id} has the rule {rule} for what is read, and rules are not run");
        return Ok(Ok(Known::new(Err(text), id, by_topic.as_deref())));
    }
    let name = by_topic.is_none().then(|| format.record_name(&schema)).flatten();
    let by_name = name.and_then(|name| strategy.subject(topic, key, Some(&name)).ok());
    let schema = match &by_name {
        None => schema,
        // The same schema, with its version there.
        Some(subject) => match registry.fetch(&id, Some(subject))? {
            Ok(schema) => schema,
            Err(missing) => return Ok(Err(missing.0)),
        },
    };
    let reader = format.reader(&schema).map_err(|why| format!("the schema cannot be read: {why}"));
    Ok(Ok(Known::new(reader, id, by_topic.or(by_name).as_deref())))
}

/// The schema of the record before, in the same batch.
#[derive(Clone, Copy)]
pub(super) struct Last {
    id: SchemaId,
    place: usize,
}

impl Last {
    /// What the next record begins with if it is of the same schema, where that is told in front of it.
    pub(super) fn head(self) -> Option<[u8; 5]> {
        match self.id {
            SchemaId::Id(id) => Some(framing::head(id)),
            SchemaId::Guid(_) => None,
        }
    }
}

struct Slot<R> {
    key: (SchemaId, Arc<str>),
    /// The batch it was used for last.
    batch: u64,
    known: Known<R>,
}

/// Compiled schemas of ids.
pub(super) struct Readers<R> {
    max: usize,
    batch: u64,
    slots: Vec<Slot<R>>,
    places: HashMap<(SchemaId, Arc<str>), usize>,
    /// Ids without a schema, and why; the batch they were asked for in.
    missing: HashMap<SchemaId, (u64, String)>,
    /// Of the batches that are prepared and not read yet, the first.
    unread: u64,
    /// Something was read since the last batch was prepared.
    read: bool,
}

impl<R> Readers<R> {
    /// Keeps so many; more only while batches that are prepared need them.
    pub(super) fn new(max: usize) -> Readers<R> {
        Readers {
            max: max.max(1),
            batch: 0,
            slots: Vec::new(),
            places: HashMap::new(),
            missing: HashMap::new(),
            unread: 0,
            read: true,
        }
    }

    /// A new batch: what is missing is asked for again. Several may be prepared before the first is read,
    /// and what is known for one of them stays until then.
    pub(super) fn begin(&mut self) {
        self.batch += 1;
        if std::mem::take(&mut self.read) {
            self.unread = self.batch;
            self.missing.clear();
        } else if self.missing.len() > MISSING_MAX {
            self.missing.clear();
        }
    }

    /// Whether it is known what an id is; what is known stays until the batch is read.
    pub(super) fn touch(&mut self, id: SchemaId, topic: &Arc<str>) -> bool {
        match self.places.get(&(id, topic.clone())).and_then(|at| self.slots.get_mut(*at)) {
            Some(slot) => {
                slot.batch = self.batch;
                true
            }
            None => self.missing.get(&id).is_some_and(|(batch, _)| *batch == self.batch),
        }
    }

    pub(super) fn insert(
        &mut self,
        id: SchemaId,
        topic: &Arc<str>,
        known: Result<Known<R>, String>,
    ) {
        let known = match known {
            Ok(known) => known,
            Err(why) => {
                self.missing.insert(id, (self.batch, why));
                return;
            }
        };
        let key = (id, topic.clone());
        let slot = Slot { key: key.clone(), batch: self.batch, known };
        let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.batch);
        let place = match oldest {
            Some((at, old)) if self.slots.len() >= self.max && old.batch < self.unread => at,
            _ => self.slots.len(),
        };
        match self.slots.get_mut(place) {
            Some(old) => {
                self.places.remove(&old.key);
                *old = slot;
            }
            None => self.slots.push(slot),
        }
        self.places.insert(key, place);
    }

    /// What is known of an id, and its place; or why nothing is known. `last` is asked before all else.
    pub(super) fn get(
        &mut self,
        id: SchemaId,
        topic: &Arc<str>,
        last: Option<Last>,
    ) -> Result<(Last, &mut Known<R>), String> {
        self.read = true;
        let place = match last {
            Some(last) if last.id == id => Some(last.place),
            _ => self.places.get(&(id, topic.clone())).copied(),
        };
        match place.and_then(|place| Some((place, self.slots.get_mut(place)?))) {
            Some((place, slot)) => Ok((Last { id, place }, &mut slot.known)),
            None => Err(match self.missing.get(&id) {
                Some((_, why)) => why.clone(),
                None => format!("schema {id} was not asked for before the record was read"),
            }),
        }
    }

    /// What is known of the schema of the record before.
    #[inline]
    pub(super) fn at(&mut self, last: Last) -> Option<&mut Known<R>> {
        self.slots.get_mut(last.place).map(|slot| &mut slot.known)
    }
}
