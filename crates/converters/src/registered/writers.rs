//! Which schema a row is written with: its own or another one, registered or found in the registry
//! the first time it is written to a topic.

use super::asking::Asking;
use super::format::{Format, Written};
use super::options::{Choice, Options};
use api::{EncodeError, Encoded, IdHeader, Result, Topics};
use data::{Rows, Schema, Span};
use registry::framing::{self, KEY_HEADER, VALUE_HEADER};
use registry::{Draft, Refused, Registered, SchemaId};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// What is needed to choose a schema.
pub(super) struct Asked<'a> {
    pub(super) registry: &'a Asking,
    pub(super) options: &'a Options,
    /// A key's schema or a value's.
    pub(super) key: bool,
}

/// How rows of one schema are written to one topic.
struct Ready<W> {
    writer: W,
    /// What each value begins with.
    prefix: Vec<u8>,
    /// The header that names the schema instead.
    header: Option<Arc<[u8]>>,
    /// When the choice has to be made again.
    expires: Option<Instant>,
}

/// Why rows of a schema cannot be written to a topic.
struct Refusal {
    message: String,
    /// It lies in the schema alone.
    for_good: bool,
}

struct Slot<W> {
    /// Keeps the address that it is found by.
    schema: Option<Arc<Schema>>,
    topic: String,
    /// The call it was used in last.
    call: u64,
    outcome: Result<Ready<W>, Refusal>,
}

/// Compiled schemas, by Connect schema and topic.
pub(super) struct Writers<W> {
    max: usize,
    call: u64,
    slots: Vec<Slot<W>>,
    /// By the address of the schema, 0 for none, then by topic.
    places: HashMap<usize, HashMap<String, usize>>,
}

impl<W> Writers<W> {
    /// Keeps so many; more only while one call needs them.
    pub(super) fn new(max: usize) -> Writers<W> {
        Writers { max: max.max(1), call: 0, slots: Vec::new(), places: HashMap::new() }
    }

    /// See [`api::Converter::encode`].
    pub(super) fn encode<F: Format<Writer = W>>(
        &mut self,
        format: &mut F,
        asked: &Asked<'_>,
        topics: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        self.call += 1;
        let header_name = if asked.key { KEY_HEADER } else { VALUE_HEADER };
        let mut errors = Vec::new();
        for run in rows.runs() {
            let schema = run.schema.as_ref();
            let mut last: Option<(&str, usize)> = None;
            for row in run.range() {
                let cell = rows.root(row);
                if cell.is_null() && format.is_tombstone(schema) {
                    out.spans.push(Span::NULL);
                    continue;
                }
                let topic = topics.of(row);
                let place = match last {
                    // Mostly it is the very same text.
                    Some((same, place)) if std::ptr::eq(same, topic) || same == topic => place,
                    _ => self.place(format, asked, schema, topic)?,
                };
                last = Some((topic, place));
                let Some(slot) = self.slots.get_mut(place) else { continue };
                let start = out.bytes.len();
                let written = match &mut slot.outcome {
                    Ok(ready) => {
                        match ready.prefix.as_array::<5>() {
                            // Of a known length, which is no call.
                            Some(id) => out.bytes.extend_from_slice(id),
                            None => out.bytes.extend_from_slice(&ready.prefix),
                        }
                        format.write(&mut ready.writer, rows, schema, cell, &mut out.bytes)
                    }
                    Err(refusal) => Err(refusal.message.clone()),
                };
                match written {
                    Ok(Written::Value) => {
                        out.end_row(start);
                        if let Ok(Ready { header: Some(value), .. }) = &slot.outcome {
                            let (row, name) = (row as u32, header_name);
                            out.headers.push(IdHeader { row, name, value: value.clone() });
                        }
                        continue;
                    }
                    Ok(Written::Null) => {}
                    Err(message) => errors.push(EncodeError { row: row as u32, message }),
                }
                out.bytes.truncate(start);
                out.spans.push(Span::NULL);
            }
        }
        Ok(errors)
    }

    /// Where it is kept how rows of this schema are written to this topic; found out if need be.
    fn place<F: Format<Writer = W>>(
        &mut self,
        format: &F,
        asked: &Asked<'_>,
        schema: Option<&Arc<Schema>>,
        topic: &str,
    ) -> Result<usize> {
        let address = schema.map_or(0, |schema| Arc::as_ptr(schema) as usize);
        let place = self.places.get(&address).and_then(|topics| topics.get(topic)).copied();
        if let Some(place) = place
            && let Some(slot) = self.slots.get_mut(place)
        {
            let stale = slot.call != self.call && slot.outcome.is_stale();
            slot.call = self.call;
            if stale {
                slot.outcome = choose(format, asked, schema, topic)?;
            }
            return Ok(place);
        }
        let outcome = choose(format, asked, schema, topic)?;
        let slot =
            Slot { schema: schema.cloned(), topic: topic.to_owned(), call: self.call, outcome };
        Ok(self.insert(address, slot))
    }

    fn insert(&mut self, address: usize, slot: Slot<W>) -> usize {
        let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.call);
        let place = match oldest {
            Some((at, old)) if self.slots.len() >= self.max && old.call < self.call => at,
            _ => self.slots.len(),
        };
        self.places.entry(address).or_default().insert(slot.topic.clone(), place);
        let Some(old) = self.slots.get_mut(place) else {
            self.slots.push(slot);
            return place;
        };
        let old = std::mem::replace(old, slot);
        let address = old.schema.as_ref().map_or(0, |schema| Arc::as_ptr(schema) as usize);
        if let Some(topics) = self.places.get_mut(&address) {
            topics.remove(&old.topic);
            if topics.is_empty() {
                self.places.remove(&address);
            }
        }
        place
    }
}

trait Stale {
    /// Whether another answer may be had by now.
    fn is_stale(&self) -> bool;
}

impl<W> Stale for Result<Ready<W>, Refusal> {
    fn is_stale(&self) -> bool {
        match self {
            Ok(ready) => ready.expires.is_some_and(|expires| expires <= Instant::now()),
            Err(refusal) => !refusal.for_good,
        }
    }
}

/// Compiles a schema and finds the id that its values are written under.
fn choose<F: Format>(
    format: &F,
    asked: &Asked<'_>,
    schema: Option<&Arc<Schema>>,
    topic: &str,
) -> Result<Result<Ready<F::Writer>, Refusal>> {
    let for_good = |message| Ok(Err(Refusal { message, for_good: true }));
    let (writer, draft, name) = match format.writer(schema) {
        Ok(compiled) => compiled,
        Err(why) => {
            return for_good(format!("the schema of the record has no form in {}: {why}", F::KIND));
        }
    };
    let side = asked.options.side(asked.key);
    let subject = match side.strategy.subject(topic, asked.key, name.as_deref()) {
        Ok(subject) => subject,
        Err(why) => return for_good(why),
    };
    let chosen = match asked.options.choice {
        Choice::Register | Choice::Lookup => own(asked, &subject, &draft)?.map(|ids| (writer, ids)),
        Choice::Latest { .. } | Choice::Id { .. } => {
            other(format, asked, schema, &subject, &draft)?
        }
    };
    let (writer, (id, guid)) = match chosen {
        Ok(chosen) => chosen,
        Err(message) => return Ok(Err(Refusal { message, for_good: false })),
    };
    let expires = match asked.options.choice {
        Choice::Latest { ttl: Some(ttl), .. } => Instant::now().checked_add(ttl),
        _ => None,
    };
    let mut frame = Vec::new();
    if !side.id_to_header {
        framing::write(SchemaId::Id(id), &mut frame);
        frame.extend_from_slice(F::head(&writer));
        return Ok(Ok(Ready { writer, prefix: frame, header: None, expires }));
    }
    let guid = match guid {
        Some(guid) => Some(guid),
        None => asked.registry.guid(id)?,
    };
    let Some(guid) = guid else {
        return for_good(format!(
            "the registry gives no guid for schema {id} (subject {subject}): a schema can be named \
             in a header only by its guid"
        ));
    };
    framing::write(SchemaId::Guid(guid), &mut frame);
    frame.extend_from_slice(F::head(&writer));
    Ok(Ok(Ready { writer, prefix: Vec::new(), header: Some(frame.into()), expires }))
}

type Ids = (i32, Option<[u8; 16]>);

/// The id of the record's own schema.
fn own(asked: &Asked<'_>, subject: &str, draft: &Draft) -> Result<Result<Ids, String>> {
    let Asked { registry, options, .. } = asked;
    let (stored, what) = if options.choice == Choice::Register {
        (registry.register(subject, draft, options.normalize)?, "refuses the schema for")
    } else {
        (registry.lookup(subject, draft, options.normalize)?, "does not have the schema in")
    };
    Ok(stored.map(|stored| (stored.id, stored.guid)).map_err(|refused| {
        let hint = if options.choice == Choice::Lookup {
            "; register it, or set auto.register.schemas=true"
        } else {
            ""
        };
        format!("the registry {what} subject {subject}: {}{hint}", reason(&refused))
    }))
}

/// A schema that was not made from the record's, and how the record is written with it.
fn other<F: Format>(
    format: &F,
    asked: &Asked<'_>,
    schema: Option<&Arc<Schema>>,
    subject: &str,
    draft: &Draft,
) -> Result<Result<(F::Writer, Ids), String>> {
    let (target, strict) = match asked.options.choice {
        Choice::Id { id, strict } => {
            let found = asked.registry.fetch(&SchemaId::Id(id), Some(subject))?;
            let missing = |missing| format!("use.schema.id={id} (subject {subject}): {missing}");
            (found.map_err(missing), strict)
        }
        Choice::Latest { strict, .. } => {
            let found = asked.registry.latest(subject)?;
            let found = found.map_err(|refused| {
                format!("there is no newest schema of subject {subject}: {}", reason(&refused))
            });
            (found, strict)
        }
        Choice::Register | Choice::Lookup => return Ok(Err(String::new())),
    };
    Ok(target.and_then(|target| {
        let SchemaId::Id(id) = target.id else {
            return Err(format!("schema {} (subject {subject}) has no number", target.id));
        };
        let writer = writer_of(format, schema, draft, &target, strict);
        let writer = writer.map_err(|why| {
            format!("the record cannot be written with schema {id} (subject {subject}): {why}")
        })?;
        Ok((writer, (id, None)))
    }))
}

fn writer_of<F: Format>(
    format: &F,
    schema: Option<&Arc<Schema>>,
    draft: &Draft,
    target: &Registered,
    strict: bool,
) -> Result<F::Writer, String> {
    if target.kind != F::KIND {
        return Err(format!("it is {}, not {}", target.kind, F::KIND));
    }
    if let Some(rule) = target.rules.iter().find(|rule| rule.writes) {
        return Err(format!("it has the rule {rule} for what is written, and rules are not run"));
    }
    if strict {
        format.compatible(draft, target)?;
    }
    format.writer_for(schema, target)
}

/// The registry's reason, with its number.
fn reason(refused: &Refused) -> String {
    match refused.code {
        0 => format!("{} (HTTP {})", refused.message, refused.status),
        code => format!("{} ({code})", refused.message),
    }
}
