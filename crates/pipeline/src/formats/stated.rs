//! A converter whose refusals get the SQLSTATE that the server gives to such input.
//!
//! Place in the data path: around the converters that connectors use too, which know of no SQLSTATE.

use api::{Cancel, Check, Checking, Converter, EncodeError, Encoded, Result, Side, Topics};
use data::{Batch, RawBatch, Rows};
use std::sync::Arc;

/// Text that is not what it has to be.
const TEXT: &str = "22P02";
/// Bytes that are not what they have to be, or that name a schema that is not there.
const BINARY: &str = "22P03";

pub(crate) struct Stated {
    inner: Box<dyn Converter>,
    sqlstate: &'static str,
}

impl Stated {
    /// Messages are text.
    pub(crate) fn text(inner: Box<dyn Converter>) -> Stated {
        Stated { inner, sqlstate: TEXT }
    }

    /// Messages are anything else.
    pub(crate) fn binary(inner: Box<dyn Converter>) -> Stated {
        Stated { inner, sqlstate: BINARY }
    }
}

impl Converter for Stated {
    fn class(&self) -> &'static str {
        self.inner.class()
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        self.inner.set_cancel(cancelled);
    }

    fn check(&mut self, side: Side, asked: &Checking) -> Vec<Check> {
        self.inner.check(side, asked)
    }

    fn prepare(&mut self, side: Side, raw: &RawBatch) -> Result<()> {
        self.inner.prepare(side, raw)
    }

    fn decode(&mut self, side: Side, batch: &mut Batch) {
        let before = batch.rejects.len();
        self.inner.decode(side, batch);
        if batch.rejects.len() > before {
            for reject in batch.rejects.iter_mut().filter(|reject| reject.sqlstate.is_none()) {
                reject.sqlstate = Some(self.sqlstate.to_owned());
            }
        }
    }

    fn refuses(&self) -> bool {
        self.inner.refuses()
    }

    fn value_prefix(&self) -> Option<Arc<[u8]>> {
        self.inner.value_prefix()
    }

    fn encode(
        &mut self,
        topics: Topics<'_>,
        rows: &Rows,
        out: &mut Encoded,
    ) -> Result<Vec<EncodeError>> {
        self.inner.encode(topics, rows, out)
    }
}
