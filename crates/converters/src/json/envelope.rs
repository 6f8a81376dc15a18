//! The envelope `{"schema":…,"payload":…}`: where its parts are, and how not to read the schema
//! again for every record.
//!
//! A producer writes the same bytes in front of each payload. They are remembered up to the first
//! byte of the payload, with the schema they said; a record that begins with exactly these bytes
//! brings a deterministic parser into the same state there, whatever the whitespace, so only the
//! payload is read. Where the schema comes last, the bytes behind the payload are remembered too.
//!
//! Invariants: `"payload"` is never searched for; a record that takes the short way has exactly the
//! two members; whatever is odd takes the long way, which reads everything.

use super::fault::Fault;
use super::plan::Plan;
use super::scan::{Kind, Scanner};
use super::schema_read::read_schema;
use super::strings::unescape;
use data::Schema;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Producers of one topic whose envelopes are remembered at a time.
const KNOWN_MAX: usize = 4;

/// What is around a payload, and the schema it says; none for `"schema":null`.
#[derive(Debug)]
pub(super) struct Known {
    head: Arc<[u8]>,
    /// Everything behind the payload, where the schema is there.
    tail: Option<Box<[u8]>>,
    pub(super) plan: Option<Arc<Plan>>,
}

impl Known {
    /// A scanner at the payload, that ends where the payload must end at the latest.
    #[inline]
    pub(super) fn payload<'a>(&self, record: &'a [u8]) -> Option<Scanner<'a>> {
        if !record.starts_with(&self.head) {
            return None;
        }
        let end = match &self.tail {
            None => record.len(),
            Some(tail) if record.ends_with(tail) => record.len() - tail.len(),
            Some(_) => return None,
        };
        let inner = record.get(..end).filter(|inner| inner.len() > self.head.len())?;
        Some(Scanner::new(inner, self.head.len()))
    }

    /// A scanner at the payload of a record that is kept without its head; `None` if that is not all
    /// there is around the payload.
    #[inline]
    pub(super) fn rest<'a>(&self, head: &Arc<[u8]>, rest: &'a [u8]) -> Option<Scanner<'a>> {
        let mine = Arc::ptr_eq(&self.head, head) && self.tail.is_none() && !rest.is_empty();
        mine.then(|| Scanner::new(rest, 0))
    }

    /// Demands that the record ends well behind its payload.
    #[inline]
    pub(super) fn end(&self, scan: &mut Scanner<'_>) -> Result<(), Fault> {
        if self.tail.is_some() {
            return if scan.peek().is_none() { Ok(()) } else { Err(scan.expected("'}'")) };
        }
        scan.blank();
        if !scan.eat(b'}') {
            return Err(scan.expected("'}'"));
        }
        scan.end()
    }
}

/// The envelopes seen last, the latest first.
#[derive(Debug, Default)]
pub(super) struct Recent {
    list: Vec<Known>,
    /// The head that records may come without.
    shared: Option<Arc<[u8]>>,
}

/// A shorter head is not worth the comparison.
const SHARED_MIN_BYTES: usize = 32;

impl Recent {
    pub(super) fn list(&self) -> &[Known] {
        &self.list
    }

    /// Moves an entry to the front.
    pub(super) fn touch(&mut self, index: usize) {
        if index > 0
            && let Some(head) = self.list.get_mut(..=index)
        {
            head.rotate_right(1);
        }
    }

    pub(super) fn learn(&mut self, record: &[u8], parts: &Parts, plan: Option<&Arc<Plan>>) {
        let Some(head) = record.get(..parts.payload.start) else { return };
        let tail = (parts.schema.start > parts.payload.start)
            .then(|| record.get(parts.payload.end..).unwrap_or_default().into());
        self.list.truncate(KNOWN_MAX - 1);
        self.list.insert(0, Known { head: head.into(), tail, plan: plan.cloned() });
        // It is kept while it is known: records of two producers in turn would otherwise make it
        // change all the time, and batches of different heads cannot be joined.
        let known = |head: &Arc<[u8]>| self.list.iter().any(|k| Arc::ptr_eq(&k.head, head));
        if !self.shared.as_ref().is_some_and(known) {
            let long = |k: &&Known| k.tail.is_none() && k.head.len() >= SHARED_MIN_BYTES;
            self.shared = self.list.iter().find(long).map(|k| k.head.clone());
        }
    }

    pub(super) fn shared(&self) -> Option<&Arc<[u8]>> {
        self.shared.as_ref()
    }
}

/// The two members of an envelope.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) schema: Range<usize>,
    pub(super) payload: Range<usize>,
    /// There are the two members and no repeats, so that the envelope can be remembered.
    pub(super) plain: bool,
}

/// Finds the members of the record, which must be valid JSON as a whole.
///
/// # Errors
/// A syntax error anywhere; a value that is no object of exactly these two members.
pub(super) fn split(record: &[u8]) -> Result<Parts, Fault> {
    let mut scan = Scanner::new(record, 0);
    scan.blank();
    if scan.peek() != Some(b'{') {
        if scan.peek().is_some() {
            scan.skip(0)?;
            scan.end()?;
        }
        return Err(no_envelope());
    }
    let (mut schema, mut payload, mut others, mut members) = (None, None, false, 0);
    let mut name_text = Vec::new();
    let mut more = scan.open(b'}', 0)?;
    while more {
        let name = scan.name()?;
        name_text.clear();
        unescape(super::read::raw(&scan, name), &mut name_text);
        let start = scan.pos();
        scan.skip(1)?;
        let place = Some(start..scan.pos());
        match name_text.as_slice() {
            b"schema" => schema = place,
            b"payload" => payload = place,
            _ => others = true,
        }
        members += 1;
        more = scan.more(b'}')?;
    }
    scan.end()?;
    match (schema, payload) {
        (Some(schema), Some(payload)) if !others => {
            Ok(Parts { schema, payload, plain: members == 2 })
        }
        _ => Err(no_envelope()),
    }
}

#[cold]
fn no_envelope() -> Fault {
    Fault::data(
        "JsonConverter with schemas.enable requires \"schema\" and \"payload\" fields and may not \
         contain additional fields. If you are trying to deserialize plain JSON data, set \
         schemas.enable=false in your converter configuration.",
    )
}

/// Schemas by the bytes that said them. Equal schemas share one `Arc`, however they are written.
#[derive(Debug)]
pub(super) struct Schemas {
    by_bytes: HashMap<Box<[u8]>, Arc<Plan>>,
    by_schema: HashMap<Arc<Schema>, Arc<Plan>>,
    max: usize,
    /// See [`read_schema`].
    replace_null: bool,
}

impl Schemas {
    /// Keeps up to `max` texts; then it starts anew.
    pub(super) fn new(max: usize, replace_null: bool) -> Schemas {
        let max = max.max(KNOWN_MAX);
        Schemas { by_bytes: HashMap::new(), by_schema: HashMap::new(), max, replace_null }
    }

    /// The schema of this text; `None` for the text `null`.
    ///
    /// # Errors
    /// A text that is no schema.
    pub(super) fn get(&mut self, text: &[u8]) -> Result<Option<Arc<Plan>>, Fault> {
        if let Some(plan) = self.by_bytes.get(text) {
            return Ok(Some(Arc::clone(plan)));
        }
        if Scanner::new(text, 0).kind()? == Kind::Null {
            return Ok(None);
        }
        let schema = read_schema(text, self.replace_null)?;
        if self.by_bytes.len() >= self.max {
            self.by_bytes.clear();
            self.by_schema.clear();
        }
        let plan = match self.by_schema.get(&schema) {
            Some(plan) => Arc::clone(plan),
            None => {
                let plan = Arc::new(Plan::new(&schema, 0)?);
                self.by_schema.insert(schema, Arc::clone(&plan));
                plan
            }
        };
        self.by_bytes.insert(text.into(), Arc::clone(&plan));
        Ok(Some(plan))
    }
}
