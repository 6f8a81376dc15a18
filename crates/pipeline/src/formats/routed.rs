//! The converter of formats that go by the places of columns, where each message names its relation.
//!
//! Place in the data path: at the start of a lane of a stream-partitioned consumer. It reads the name
//! where the sink will read it, to know the columns; what names none of the relations is refused here
//! as the sink would refuse it.

use super::{Fault, Read, decode, no_encoding};
use crate::control::Route;
use api::{Converter, EncodeError, Encoded, Result, Side, Topics};
use data::{Batch, RawBatch, Rows};
use std::sync::Arc;

/// Characters of a name that a dead letter shows.
const NAME_CHARS_SHOWN: usize = 64;

/// Reads values as rows of the relations that they name.
pub struct Routed {
    /// The header with the name; none: the key is the name.
    header: Option<String>,
    /// Name, and the place of what reads it. A relation may have several names.
    names: Vec<(String, usize)>,
    reads: Vec<Box<dyn Read>>,
}

impl Routed {
    /// # Errors
    /// A route that looks into values, which have no fields yet.
    pub(crate) fn new(
        route: &Route,
        names: Vec<(String, usize)>,
        reads: Vec<Box<dyn Read>>,
    ) -> Result<Routed, String> {
        let header = match route {
            Route::Key => None,
            Route::Header(name) => Some(name.clone()),
            Route::Field(_) => {
                return Err("values whose columns go by their places have no fields to name the \
                            relation by; take the route key or header:NAME"
                    .to_owned());
            }
        };
        Ok(Routed { header, names, reads })
    }
}

impl Converter for Routed {
    fn class(&self) -> &'static str {
        self.reads.first().map_or("text", |read| read.class())
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let class = self.class();
        let columns = self.reads.iter().map(|read| read.columns()).max().unwrap_or(0);
        let raw = Arc::clone(&batch.raw);
        let Routed { header, names, reads } = self;
        decode(side, class, batch, columns, |row, bytes, place, rows| {
            let name = named(&raw, row, header.as_deref())?;
            let found = names.iter().find(|(known, _)| known == name);
            match found.and_then(|(_, place)| reads.get_mut(*place)) {
                Some(read) => read.read(bytes, place, rows),
                None => {
                    let shown: String = name.chars().take(NAME_CHARS_SHOWN).collect();
                    Err(lost(format!(
                        "the record names {shown:?}, which is none of the consumer's relations"
                    )))
                }
            }
        });
    }

    fn encode(
        &mut self,
        _: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        Ok(no_encoding(rows, out, self.class()))
    }
}

fn named<'a>(raw: &'a RawBatch, row: usize, header: Option<&str>) -> Result<&'a str, Fault> {
    let bytes = match header {
        None => raw.key(row),
        Some(name) => raw.header(row, name).flatten(),
    };
    bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or_else(|| {
        lost(match header {
            None => "the record has no key of text".to_owned(),
            Some(name) => format!("the record has no header {name} of text"),
        })
    })
}

fn lost(text: String) -> Fault {
    Fault::new("42501", text)
}
