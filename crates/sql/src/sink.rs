//! The sink task: accepted batches become transactions, each of which moves its partitions'
//! positions, writes the rows and keeps the rejects.
//!
//! Place in the data path: the last step. Transactions are pipelined; what goes wrong is the
//! business of `recover`. Invariants: nothing is written for a partition that is not ours; a batch
//! is kept until everything in it is durable; positions told to the runtime only ascend.

use crate::bind::{Bound, Part};
use crate::database::{ClaimError, Database, DbError, DbErrorKind};
use crate::member::key;
use crate::outcome::Owned;
use crate::pipeline::{Flight, Pipeline};
use crate::recover::{Tries, Trouble, api_error};
use crate::set::Binders;
use crate::settings::SinkSettings;
use crate::work::{Accepted, Narrow, cut_before};
use crate::write::{Advance, RejectRow};
use api::{
    Cancel, DeadLetter, Error, ErrorKind, Result, Seat, SinkContext, SinkTask, StartResolver,
};
use data::{Batch, TopicPartition};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// A sink task over any database.
pub struct SqlSink {
    pub(crate) settings: Arc<SinkSettings>,
    pub(crate) pipe: Pipeline,
    pub(crate) binders: Binders,
    /// By key, where there are several members.
    pub(crate) owned: BTreeMap<TopicPartition, Owned>,
    /// Oldest first; at most as many as transactions in flight and one.
    pub(crate) queue: VecDeque<Accepted>,
    /// The number of the first in the queue.
    pub(crate) first: u64,
    /// The first in the queue failed and is done again in smaller parts.
    pub(crate) narrow: Option<Narrow>,
    /// Positions must be read again before anything is written.
    pub(crate) suspect: bool,
    pub(crate) tries: Tries,
    /// The accepted batches for which tables have been compared after an error of a row.
    pub(crate) checked: Option<u64>,
    /// When the attempt under way began.
    pub(crate) began: Instant,
}

impl SqlSink {
    pub fn new(database: Box<dyn Database>, settings: SinkSettings) -> SqlSink {
        SqlSink::of(database, Arc::new(settings), Vec::new())
    }

    /// A task that writes for several members: what the first and the others have in common are the
    /// limits of a transaction, and that their positions are kept in the database.
    pub(crate) fn of(
        database: Box<dyn Database>,
        settings: Arc<SinkSettings>,
        others: Vec<Arc<SinkSettings>>,
    ) -> SqlSink {
        let members: Vec<_> = std::iter::once(settings.clone()).chain(others).collect();
        SqlSink {
            binders: Binders::new(&members),
            settings,
            pipe: Pipeline::new(database),
            owned: BTreeMap::new(),
            queue: VecDeque::new(),
            first: 0,
            narrow: None,
            suspect: true,
            tries: Tries::default(),
            checked: None,
            began: Instant::now(),
        }
    }

    /// Writes what is accepted; with `drain` until all of it is durable.
    fn drive(&mut self, context: &mut dyn SinkContext, drain: bool) -> Result<()> {
        let driven = self.drive_on(context, drain || self.pipe.db.is_wanted());
        self.pipe.db.rest();
        driven
    }

    fn drive_on(&mut self, context: &mut dyn SinkContext, drain: bool) -> Result<()> {
        loop {
            if context.cancelled() {
                return Err(Error::cancelled());
            }
            self.began = Instant::now();
            let result = self.step(context, drain);
            self.land(context);
            match result {
                Ok(()) => return Ok(()),
                Err(trouble) => self.recover(trouble, context)?,
            }
        }
    }

    fn step(&mut self, context: &mut dyn SinkContext, drain: bool) -> Result<(), Trouble> {
        if self.suspect {
            self.resync(context)?;
        }
        while let Some((index, parts)) = self.next_parts()? {
            self.send(index, parts, context)?;
        }
        if drain {
            self.pipe.settle_all()?;
        }
        Ok(())
    }

    /// The next transaction's parts and the place of their batches in the queue.
    fn next_parts(&mut self) -> Result<Option<(usize, Vec<Part>)>, Trouble> {
        if let Some(narrow) = &mut self.narrow {
            let parts = self.queue.front().map(|accepted| narrow.next(accepted));
            match parts.filter(|parts| !parts.is_empty()) {
                Some(parts) => return Ok(Some((0, parts))),
                None => self.narrow = None,
            }
        }
        let rows_max = self.settings.config.batch_size;
        let found = self.queue.iter().enumerate().find(|(_, accepted)| !accepted.is_sent());
        Ok(found.map(|(index, accepted)| (index, accepted.next_parts(rows_max))))
    }

    /// Binds the parts and starts their transaction.
    fn send(
        &mut self,
        index: usize,
        mut parts: Vec<Part>,
        context: &mut dyn SinkContext,
    ) -> Result<(), Trouble> {
        let Some(accepted) = self.queue.get(index) else { return Ok(()) };
        let mut bound = self.binders.bind(accepted, &parts, &mut self.pipe)?;
        let mut stop = None;
        let fatal = self.binders.fatal(accepted, &bound.rejects);
        if let Some(first) = fatal.first() {
            let rejects: Vec<_> = fatal.iter().map(|r| (r.batch, r.reject.row)).collect();
            stop = Some(poison(&self.settings, accepted, first));
            parts = cut_before(&accepted.batches, &parts, &rejects);
            bound = self.binders.bind(accepted, &parts, &mut self.pipe)?;
        }
        if !parts.is_empty() {
            self.start(index, parts, bound, context)?;
        }
        match stop {
            None => Ok(()),
            Some(error) => {
                // What comes before the record is stored, then the task ends.
                self.pipe.settle_all()?;
                Err(Trouble::Api(error))
            }
        }
    }

    fn start(
        &mut self,
        index: usize,
        parts: Vec<Part>,
        bound: Bound,
        context: &mut dyn SinkContext,
    ) -> Result<(), Trouble> {
        let Some(accepted) = self.queue.get_mut(index) else { return Ok(()) };
        let mut advances = Vec::with_capacity(parts.len());
        let mut ends = Vec::with_capacity(parts.len());
        for part in &parts {
            let Some(tp) = accepted.tp(part) else { continue };
            ends.push((tp.clone(), part.to));
            if let Some(own) = self.owned.get(tp).filter(|_| self.settings.exactly_once()) {
                let (batch, epoch) = (part.batch, own.epoch);
                let (from, to) = (part.from, part.to);
                advances.push(Advance { batch, tp: tp.clone(), epoch, from, to });
            }
        }
        if let Some(first) = bound.rejects.first() {
            let records: usize = parts.iter().map(|part| part.rows.len()).sum();
            let (failed, reason) = (bound.rejects.len() as u64, &first.reject.message);
            context.tolerate(records as u64, failed, reason).map_err(Trouble::Api)?;
        }
        let Bound { truncates, writes, rejects, rows, ignored } = bound;
        let flight = Flight {
            accepted: self.first + index as u64,
            parts,
            ends,
            truncates,
            writes,
            rejects,
            rows,
            ignored,
        };
        let sent: Vec<_> = flight.parts.iter().map(|part| (part.batch, part.to)).collect();
        self.pipe
            .start(flight, &accepted.batches, &advances)
            .map_err(|(error, flight)| Trouble::Database { error, flight })?;
        for (batch, to) in sent {
            if let Some(line) = accepted.lines.get_mut(batch as usize) {
                line.sent = to;
            }
        }
        if self.narrow.is_some() {
            self.pipe.settle_all()?;
            self.land(context);
        }
        Ok(())
    }

    /// Tells the runtime what has become durable and lets go of it.
    pub(crate) fn land(&mut self, context: &mut dyn SinkContext) {
        for flight in std::mem::take(&mut self.pipe.landed) {
            self.tries = Tries::default();
            let index = flight.accepted.checked_sub(self.first);
            let accepted = index.and_then(|index| self.queue.get_mut(index as usize));
            let records: usize = flight.parts.iter().map(|part| part.rows.len()).sum();
            context.settled(records as u64, flight.rejects.len() as u64);
            if let Some(accepted) = accepted {
                for part in &flight.parts {
                    if let Some(line) = accepted.lines.get_mut(part.batch as usize) {
                        line.done = line.done.max(part.to);
                        line.sent = line.sent.max(part.to);
                    }
                }
                report_rejects(&accepted.batches, &flight, context);
            }
            context.stored(flight.rows);
            for (what, count) in &flight.ignored {
                context.ignored(what, *count);
            }
            for (tp, to) in &flight.ends {
                if let Some(own) = self.owned.get_mut(tp).filter(|own| own.durable < *to) {
                    own.durable = *to;
                    context.durable(tp, *to);
                }
            }
        }
        while self.queue.front().is_some_and(Accepted::is_done) {
            self.queue.pop_front();
            self.first += 1;
            self.narrow = None;
        }
    }

    /// Forgets everything accepted of a partition.
    pub(crate) fn drop_partition(&mut self, tp: &TopicPartition) {
        self.owned.remove(tp);
        // Where it stands later says nothing about what was done under this epoch.
        for flight in &mut self.pipe.unknown {
            flight.ends.retain(|(other, _)| other != tp);
        }
        self.pipe.unknown.retain(|flight| !flight.ends.is_empty());
        for accepted in &mut self.queue {
            for line in accepted.lines.iter_mut().filter(|line| line.tp == *tp) {
                line.drop_rest();
            }
        }
    }

    /// Brings what is in flight to an end, or leaves it to be asked about.
    fn quiesce(&mut self) {
        if self.pipe.settle_all().is_err() {
            self.pipe.abandon();
            self.suspect = true;
        }
    }

    /// Writes batches of members, each by the member's number.
    pub(crate) fn put_of(
        &mut self,
        batches: Vec<(usize, Batch)>,
        context: &mut dyn SinkContext,
    ) -> Result<()> {
        let accepted = self.accept(batches);
        self.drive(context, false)?;
        accepted
    }

    fn accept(&mut self, batches: Vec<(usize, Batch)>) -> Result<()> {
        let mut foreign = None;
        let mut accepted = Vec::with_capacity(batches.len());
        for (member, batch) in batches {
            let known = member < self.binders.len();
            let own = self.owned.get_mut(&key(batch.tp(), member)).filter(|_| known);
            let Some(own) = own else {
                foreign.get_or_insert_with(|| batch.tp().clone());
                continue;
            };
            if batch.next_offset() > own.accepted {
                let from = std::mem::replace(&mut own.accepted, batch.next_offset());
                accepted.push((member, batch, from));
            }
        }
        accepted.sort_by(|(m, a, _), (n, b, _)| a.tp().cmp(b.tp()).then(m.cmp(n)));
        if !accepted.is_empty() {
            let which = |member| self.binders.change_events(member);
            self.queue.push_back(Accepted::new(accepted).open_events(which));
        }
        match foreign {
            None => Ok(()),
            Some(tp) => {
                Err(Error::fenced(format!("partition {tp} is not open in this task"))
                    .record(tp, -1))
            }
        }
    }
}

/// The error of a task that tolerates none: the first record, in the order of offsets.
fn poison(settings: &SinkSettings, accepted: &Accepted, first: &RejectRow) -> Error {
    let (reject, batches) = (&first.reject, &accepted.batches);
    let mut error = Error::data(reject.message.clone()).hint(match settings.consumer {
        Some(_) => {
            "correct the relation or the definition, or have such records kept in \
             pipeline_kafka.errors: alter_consumer with on_error => 'dead_letter'"
        }
        None => {
            "correct the record's source or the table, or set errors.tolerance=all to keep such \
             records in the dead-letter table and go on"
        }
    });
    error.member = Some(accepted.member(first.batch));
    if let Some(state) = &reject.sqlstate {
        error = error.sqlstate(state);
    }
    let Some(batch) = batches.get(first.batch as usize) else { return error };
    let offset = batch.raw.records().get(reject.row as usize).map_or(-1, |record| record.offset);
    error.record(batch.tp().clone(), offset)
}

fn report_rejects(batches: &[Batch], flight: &Flight, context: &mut dyn SinkContext) {
    for chunk in flight.rejects.chunk_by(|a, b| a.batch == b.batch) {
        let batch = chunk.first().and_then(|first| batches.get(first.batch as usize));
        if let Some(batch) = batch {
            let rejects: Vec<_> = chunk.iter().map(|r| r.reject.clone()).collect();
            context.reported(batch, &rejects);
        }
    }
}

impl SinkTask for SqlSink {
    fn open(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
        context: &mut dyn SinkContext,
    ) -> Result<Vec<i64>> {
        let opened = self.claim(seats, resolver, context);
        self.pipe.db.rest();
        opened
    }

    fn put(&mut self, batches: Vec<Batch>, context: &mut dyn SinkContext) -> Result<()> {
        self.put_of(batches.into_iter().map(|batch| (0, batch)).collect(), context)
    }

    fn flush(&mut self, context: &mut dyn SinkContext) -> Result<()> {
        self.drive(context, true)
    }

    fn close(&mut self, partitions: &[TopicPartition], lost: bool, context: &mut dyn SinkContext) {
        let touched = self
            .pipe
            .flights
            .iter()
            .any(|flight| flight.ends.iter().any(|(tp, _)| partitions.contains(tp)));
        if touched && lost {
            // The new owner's epoch keeps it out, whatever becomes of it.
            self.pipe.abandon();
            self.suspect = true;
        } else if touched {
            self.quiesce();
        }
        self.land(context);
        for tp in partitions {
            self.drop_partition(tp);
        }
        self.land(context);
        self.pipe.db.rest();
    }

    fn set_cancel(&mut self, cancelled: Cancel) {
        self.pipe.db.set_cancel(cancelled);
    }

    fn keeps_positions(&self) -> bool {
        self.settings.exactly_once()
    }

    fn outbox(&mut self, letters_max: usize) -> Result<Vec<DeadLetter>> {
        self.quiesce();
        let db = &mut self.pipe.db;
        let letters = db.connect().and_then(|()| db.outbox(letters_max));
        db.rest();
        letters.map_err(|error| self.outside(error))
    }

    fn forwarded(&mut self, ids: &[i64]) -> Result<()> {
        self.quiesce();
        let db = &mut self.pipe.db;
        let done = db.connect().and_then(|()| db.forwarded(ids));
        db.rest();
        done.map_err(|error| self.outside(error))
    }
}

impl SqlSink {
    fn claim(
        &mut self,
        seats: &[Seat],
        resolver: &mut dyn StartResolver,
        context: &mut dyn SinkContext,
    ) -> Result<Vec<i64>> {
        self.quiesce();
        self.land(context);
        for seat in seats {
            self.drop_partition(&seat.tp);
        }
        self.land(context);
        let positions: Vec<Owned> = if self.settings.exactly_once() {
            let claimed = self
                .pipe
                .db
                .connect()
                .map_err(ClaimError::Database)
                .and_then(|()| self.pipe.db.claim(seats, resolver));
            match claimed {
                Ok(positions) => positions
                    .iter()
                    .map(|p| Owned {
                        epoch: p.epoch,
                        durable: p.next_offset,
                        accepted: p.next_offset,
                    })
                    .collect(),
                Err(ClaimError::Resolve(error)) => return Err(error),
                Err(ClaimError::Database(error)) => {
                    self.suspect = true;
                    self.give_up_connection(&error);
                    return Err(self.count_retry(api_error(error)));
                }
            }
        } else {
            let tps: Vec<_> = seats.iter().map(|seat| seat.tp.clone()).collect();
            let starts = resolver.resolve(&tps)?;
            let owned = |start: &api::ResolvedStart| Owned {
                epoch: 0,
                durable: start.offset,
                accepted: start.offset,
            };
            starts.iter().map(owned).collect()
        };
        if positions.len() != seats.len() {
            return Err(Error::bug("not every partition that was asked for has been opened"));
        }
        // Nothing else is ours: there is nothing that could be otherwise than just read.
        self.suspect &= !self.owned.is_empty();
        for (seat, own) in seats.iter().zip(&positions) {
            self.owned.insert(seat.tp.clone(), *own);
        }
        Ok(positions.iter().map(|own| own.durable).collect())
    }

    /// The error of a call that has nothing to do with what is accepted.
    fn outside(&mut self, error: DbError) -> Error {
        self.suspect = true;
        self.give_up_connection(&error);
        let mut error = api_error(error);
        if error.kind == ErrorKind::Data || error.kind == ErrorKind::Fenced {
            error.kind = ErrorKind::Bug;
        }
        error
    }

    pub(crate) fn give_up_connection(&mut self, error: &DbError) {
        if error.kind == DbErrorKind::Connection {
            self.pipe.db.disconnect();
        }
    }
}
