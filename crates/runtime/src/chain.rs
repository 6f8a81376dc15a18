//! The way of a batch between Kafka and the task: converters of key, value and headers, transforms.
//!
//! Headers are decoded only where a step or the task looks at them, or where their converter might
//! refuse one; else they stay in the raw batch.
//!
//! Invariant: a row that was dropped or rejected by a step is not shown to the steps behind it.

use crate::errors::explain_all;
use api::{Cancel, Converter, Predicate, Result, Side, Transform};
use data::{Batch, Mask, RawBatch};
use std::sync::Arc;

/// A transform and the rows it is for.
pub struct Step {
    /// Its name in `transforms`.
    pub alias: String,
    pub transform: Box<dyn Transform>,
    /// Which rows it is applied to; all without.
    pub condition: Option<Condition>,
}

/// A predicate as a step uses it.
pub struct Condition {
    /// Its name in `predicates`.
    pub alias: String,
    pub predicate: Box<dyn Predicate>,
    /// The step is for the rows that do not match instead.
    pub negate: bool,
}

impl Step {
    /// Applies the transform to the rows that are alive and that its condition chooses; gives the
    /// rows that were chosen, dead ones among them.
    pub fn apply(&mut self, batch: &mut Batch) -> Mask {
        let selected = self.condition.as_mut().map_or_else(
            || Mask::all(batch.len()),
            |condition| selection(condition.predicate.as_mut(), condition.negate, batch),
        );
        self.transform.apply(batch, &selected);
        selected
    }
}

/// The converters and transforms of one task. Rows that fail anywhere are rejected in the batch.
pub struct Chain {
    pub key: Box<dyn Converter>,
    pub value: Box<dyn Converter>,
    pub header: Box<dyn Converter>,
    pub steps: Vec<Step>,
    headers_used: bool,
    content_shown: bool,
}

impl Chain {
    pub fn new(
        key: Box<dyn Converter>,
        value: Box<dyn Converter>,
        header: Box<dyn Converter>,
        steps: Vec<Step>,
    ) -> Chain {
        let of_predicate = |step: &Step| {
            step.condition.as_ref().is_some_and(|condition| condition.predicate.uses_headers())
        };
        let headers_used =
            steps.iter().any(|step| step.transform.uses_headers() || of_predicate(step));
        Chain { key, value, header, steps, headers_used, content_shown: false }
    }

    /// Whether messages may quote values of records: `errors.log.include.messages`.
    #[must_use]
    pub fn show_content(mut self, shown: bool) -> Chain {
        self.content_shown = shown;
        self
    }

    /// Headers are decoded from now on: the task looks at them.
    pub(crate) fn use_headers(&mut self) {
        self.headers_used = true;
    }

    /// Waits of the converters for what lies outside end soon after this turns true.
    pub fn set_cancel(&mut self, cancelled: &Cancel) {
        for converter in [&mut self.key, &mut self.value, &mut self.header] {
            converter.set_cancel(cancelled.clone());
        }
    }

    /// Decodes a fetched batch, which was prepared, and runs the transforms over it.
    pub fn run(&mut self, raw: RawBatch) -> Batch {
        let mut batch = self.decode(raw);
        self.transform(&mut batch);
        batch
    }

    /// Runs the transforms alone.
    pub(crate) fn transform(&mut self, batch: &mut Batch) {
        for step in &mut self.steps {
            if batch.alive.count() == 0 {
                break;
            }
            step.apply(batch);
        }
        explain_all(batch, self.content_shown);
    }

    /// Gets from outside what decoding these records needs: before [`decode`](Chain::decode).
    ///
    /// # Errors
    /// As [`Converter::prepare`]: nothing is known to be wrong with a record.
    pub fn prepare(&mut self, raw: &RawBatch) -> Result<()> {
        if raw.is_empty() {
            return Ok(());
        }
        self.key.prepare(Side::Key, raw)?;
        self.value.prepare(Side::Value, raw)?;
        if self.decodes_headers(raw) {
            self.header.prepare(Side::Header, raw)?;
        }
        Ok(())
    }

    fn decodes_headers(&self, raw: &RawBatch) -> bool {
        self.headers_used || (raw.has_headers() && self.header.refuses())
    }

    /// Runs the converters alone.
    pub fn decode(&mut self, raw: RawBatch) -> Batch {
        let mut batch = Batch::new(Arc::new(raw));
        if !batch.is_empty() {
            self.key.decode(Side::Key, &mut batch);
            self.value.decode(Side::Value, &mut batch);
            if self.decodes_headers(&batch.raw) {
                self.header.decode(Side::Header, &mut batch);
            }
        }
        batch
    }
}

fn selection(predicate: &mut dyn Predicate, negate: bool, batch: &Batch) -> Mask {
    let all = Mask::all(batch.len());
    let mut matching = all.clone();
    predicate.select(batch, &mut matching);
    if !negate {
        return matching;
    }
    let mut others = all;
    for row in (0..batch.len()).filter(|row| matching.is_alive(*row)) {
        others.kill(row);
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::{EncodeError, Encoded, Topics};
    use data::{RawBatchBuilder, Reject, Rows, Stage, TimestampType, TopicPartition};

    /// Reads nothing; refuses headers if it may.
    struct Stub {
        refuses: bool,
    }

    impl Converter for Stub {
        fn class(&self) -> &'static str {
            "Stub"
        }

        fn refuses(&self) -> bool {
            self.refuses
        }

        fn decode(&mut self, side: Side, batch: &mut Batch) {
            if side == Side::Header {
                batch.headers.begin(batch.len());
                if self.refuses {
                    let text = "no".to_owned();
                    batch.reject(Reject::data(0, Stage::HeaderConverter, "Stub", text));
                }
            }
        }

        fn encode(&mut self, _: Topics<'_>, _: &Rows, _: &mut Encoded) -> Result<Vec<EncodeError>> {
            Ok(Vec::new())
        }
    }

    /// Drops what it is applied to.
    struct Drop {
        headers: bool,
    }

    impl Transform for Drop {
        fn class(&self) -> &'static str {
            "Drop"
        }

        fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
            for row in (0..batch.len()).filter(|row| selected.is_alive(*row)) {
                batch.alive.kill(row);
            }
        }

        fn uses_headers(&self) -> bool {
            self.headers
        }
    }

    /// The first row.
    struct First {
        headers: bool,
    }

    impl Predicate for First {
        fn class(&self) -> &'static str {
            "First"
        }

        fn select(&mut self, batch: &Batch, mask: &mut Mask) {
            (1..batch.len()).for_each(|row| mask.kill(row));
        }

        fn uses_headers(&self) -> bool {
            self.headers
        }
    }

    fn raw(headers: bool) -> RawBatch {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
        for offset in 0..3 {
            if headers {
                builder.header("h", Some(b"x"));
            }
            builder.push(offset, 0, TimestampType::None, None, Some(b"v"));
        }
        builder.finish(3)
    }

    fn chain(refuses: bool, steps: Vec<Step>) -> Chain {
        let quiet = || Box::new(Stub { refuses: false });
        Chain::new(quiet(), quiet(), Box::new(Stub { refuses }), steps)
    }

    fn drop_first(of_transform: bool, of_predicate: bool, negate: bool) -> Step {
        let predicate = Box::new(First { headers: of_predicate });
        Step {
            alias: "d".to_owned(),
            transform: Box::new(Drop { headers: of_transform }),
            condition: Some(Condition { alias: "p".to_owned(), predicate, negate }),
        }
    }

    fn alive(batch: &Batch) -> Vec<usize> {
        (0..batch.len()).filter(|row| batch.alive.is_alive(*row)).collect()
    }

    #[test]
    fn a_condition_chooses_rows_or_the_others() {
        for (negate, left) in [(false, vec![1, 2]), (true, vec![0])] {
            let mut chain = chain(false, vec![drop_first(false, false, negate)]);
            assert_eq!(alive(&chain.run(raw(false))), left);
        }
    }

    #[test]
    fn headers_are_decoded_where_somebody_looks_at_them() {
        for (of_transform, of_predicate) in [(false, false), (true, false), (false, true)] {
            let mut chain = chain(false, vec![drop_first(of_transform, of_predicate, false)]);
            let decoded = chain.run(raw(true)).headers.is_decoded();
            assert_eq!(decoded, of_transform || of_predicate);
        }
        let mut of_task = chain(false, Vec::new());
        assert!(!of_task.run(raw(true)).headers.is_decoded());
        of_task.use_headers();
        assert!(of_task.run(raw(false)).headers.is_decoded());
    }

    #[test]
    fn a_converter_that_may_refuse_headers_is_asked() {
        let mut chain = chain(true, Vec::new());
        assert_eq!(alive(&chain.run(raw(false))), [0, 1, 2], "there are none");
        let batch = chain.run(raw(true));
        assert_eq!(alive(&batch), [1, 2]);
        assert_eq!(batch.rejects[0].stage, Stage::HeaderConverter);
    }
}
