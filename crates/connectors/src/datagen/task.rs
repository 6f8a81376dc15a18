//! The task: its share of the numbered records, as fast as it may.
//!
//! Record `i` belongs to task `i` modulo the number of tasks, and follows from the seed and `i` alone;
//! the offset is the number of the task's next record. So what is given again is the same.

use super::random::Random;
use crate::clock::now_ms;
use super::settings::Settings;
use super::template::Moment;
use api::{
    Error, PollLimits, Polled, Result, SourceBatch, SourceMap, SourceOffsets, SourceTask,
    StoredOffsets,
};
use data::{ArenaPool, Batch, Cell, RawBatch, Roots, Schema, SchemaBuilder, Type};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Records of one batch, at most: enough that what a batch costs does not count.
const ROWS_MAX: usize = 2_000;
/// A task that was held up catches up with so much of its time.
const CATCH_UP: Duration = Duration::from_secs(1);
/// The shortest and the longest time between two looks at the clock.
const LOOK_MIN: Duration = Duration::from_millis(5);
const LOOK_MAX: Duration = Duration::from_secs(1);
const POOL_BYTES_MAX: usize = 8 << 20;
/// Sets what is poison apart from what is in the records.
const POISON_SEED: u64 = 0x706F_6973_6F6E;

pub(super) struct Share {
    pub(super) task: i64,
    pub(super) tasks: i64,
}

pub(super) struct DatagenTask {
    settings: Settings,
    share: Share,
    topic: Arc<str>,
    partition: Arc<SourceMap>,
    offset_name: Arc<str>,
    poison: Poison,
    key_schema: Option<Arc<Schema>>,
    pool: ArenaPool,
    /// The number of the next record.
    next: i64,
    started: Instant,
    /// Records given since then.
    given: f64,
}

/// What the records are like that are not as the others.
struct Poison {
    /// The member whose place a text takes.
    member: Option<usize>,
    /// Of a record with a text there.
    schema: Option<Arc<Schema>>,
    /// Of a text instead of a record.
    text: Option<Arc<Schema>>,
}

impl Poison {
    fn new(settings: &Settings) -> Result<Poison> {
        let member = settings.template.first_number(settings.key);
        let Some(schema) = &settings.template.schema else {
            return Ok(Poison { member, schema: None, text: None });
        };
        let text = Arc::new(Schema::new(Type::String));
        let mut builder = SchemaBuilder::structure();
        if let Some(name) = schema.name() {
            builder = builder.name(name);
        }
        for (at, field) in schema.fields().iter().enumerate() {
            let own = if Some(at) == member { &text } else { &field.schema };
            builder = builder.field(&field.name, own.clone());
        }
        let schema = builder.build().map_err(|error| Error::bug(error.to_string()))?;
        Ok(Poison { member, schema: Some(Arc::new(schema)), text: Some(text) })
    }
}

impl DatagenTask {
    pub(super) fn new(connector: &str, settings: Settings, share: Share) -> Result<DatagenTask> {
        let partition = SourceMap::from_iter([
            ("connector".to_owned(), connector.into()),
            ("task".to_owned(), share.task.into()),
            ("tasks".to_owned(), share.tasks.into()),
        ]);
        let schema = settings.template.schema.as_ref();
        let key_schema = settings
            .key
            .and_then(|key| schema?.fields().get(key).map(|field| field.schema.clone()));
        Ok(DatagenTask {
            poison: Poison::new(&settings)?,
            topic: settings.topic.as_str().into(),
            partition: Arc::new(partition),
            offset_name: "index".into(),
            key_schema,
            pool: ArenaPool::new(POOL_BYTES_MAX),
            next: share.task,
            started: Instant::now(),
            given: 0.0,
            share,
            settings,
        })
    }

    /// Of this task, a second.
    fn rate(&self) -> f64 {
        self.settings.rate / self.share.tasks as f64
    }

    /// How many records are due, and when the next one is.
    fn due(&mut self) -> (usize, Option<Duration>) {
        let left = self.left();
        if self.settings.rate == 0.0 {
            return (left, None);
        }
        let rate = self.rate();
        let planned = self.started.elapsed().as_secs_f64() * rate;
        let most = (CATCH_UP.as_secs_f64() * rate).max(1.0);
        if planned - self.given > most {
            self.given = planned - most;
        }
        let due = (planned - self.given).max(0.0).floor();
        let next = (self.given + due + 1.0 - planned) / rate;
        let wait = Duration::from_secs_f64(next.clamp(LOOK_MIN.as_secs_f64(), LOOK_MAX.as_secs_f64()));
        (left.min(due as usize), Some(wait))
    }

    fn left(&self) -> usize {
        if self.settings.count == 0 {
            return usize::MAX;
        }
        let left = self.settings.count.saturating_sub(self.next).max(0);
        ((left + self.share.tasks - 1) / self.share.tasks) as usize
    }

    fn batch(&mut self, rows: usize) -> SourceBatch {
        let mut arena = self.pool.take();
        arena.extend_from_slice(&self.settings.template.shared);
        let now = now_ms();
        let mut records = Batch::made(RawBatch::made(self.topic.clone(), arena, rows, now));
        let (mut keys, mut values) = (Roots::default(), Roots::default());
        keys.reserve(rows);
        values.reserve(rows);
        let mut after = Vec::with_capacity(rows);
        for _ in 0..rows {
            self.record(now, &mut records, &mut keys, &mut values);
            self.next = self.next.saturating_add(self.share.tasks);
            after.push(self.next);
        }
        records.keys.set_roots(keys);
        records.values.set_roots(values);
        let offsets = SourceOffsets::Number { name: self.offset_name.clone(), after };
        SourceBatch { records, partition: self.partition.clone(), offsets }
    }

    fn record(&self, now: i64, records: &mut Batch, keys: &mut Roots, values: &mut Roots) {
        let Settings { template, seed, .. } = &self.settings;
        let index = self.next;
        let mut random = Random::of(*seed, index as u64);
        let mut moment = Moment { index, random: &mut random, now, shared: &template.shared };
        let rows = &mut records.values;
        let (mut root, place) = template.make(&mut moment, rows);
        match self.settings.key {
            None => keys.push(None, Cell::Null),
            Some(key) => {
                let cell = rows.cells(place).get(template.cell_at(key));
                let cell = cell.copied().unwrap_or(Cell::Null);
                keys.push(self.key_schema.as_ref(), records.keys.adopt(rows, cell));
            }
        }
        let mut schema = template.schema.as_ref();
        if let Some(how) = self.poisoned(index) {
            let text = rows.heap.put_with(|out| {
                data::java_text::put(out, format_args!("poison {index}"));
            });
            match self.poison.member.filter(|_| how) {
                Some(member) => {
                    rows.set(place, template.cell_at(member), Cell::Text(text));
                    schema = self.poison.schema.as_ref();
                }
                None => {
                    root = Cell::Text(text);
                    schema = self.poison.text.as_ref();
                }
            }
        }
        values.push(schema, root);
    }

    /// Whether a record is poison, and of which kind: true for a text in place of a number.
    fn poisoned(&self, index: i64) -> Option<bool> {
        if self.settings.poison_share == 0.0 {
            return None;
        }
        let mut random = Random::of(self.settings.seed ^ POISON_SEED, index as u64);
        (random.unit() < self.settings.poison_share).then(|| random.next() & 1 == 1)
    }
}

impl SourceTask for DatagenTask {
    fn start(&mut self, stored: &dyn StoredOffsets) -> Result<()> {
        let offset = stored.offset(&self.partition)?;
        self.next = match offset.as_ref().and_then(|offset| offset.get("index")) {
            None => self.share.task,
            Some(index) => {
                let own = |index: &i64| *index >= 0 && index % self.share.tasks == self.share.task;
                index.as_i64().filter(own).ok_or_else(|| {
                    let Share { task, tasks } = self.share;
                    Error::config(format!("index: {index} is no record of task {task} of {tasks}"))
                        .hint(format!("store a number of the form {tasks} * n + {task}"))
                })?
            }
        };
        self.started = Instant::now();
        self.given = 0.0;
        Ok(())
    }

    fn poll(&mut self, limits: &PollLimits) -> Result<Polled> {
        let (due, wait) = self.due();
        let rows_max = limits.bytes_max / self.settings.template.row_bytes.max(1);
        let rows = due.min(limits.rows_max).min(ROWS_MAX).min(rows_max.max(1));
        if rows == 0 {
            return Ok(Polled { idle: wait.or(Some(LOOK_MAX)), ..Polled::default() });
        }
        let batch = self.batch(rows);
        self.given += rows as f64;
        let idle = wait.filter(|_| rows == due);
        Ok(Polled { batches: vec![batch], idle, ..Polled::default() })
    }

    fn notice(&self) -> Option<String> {
        let over = self.settings.count > 0 && self.left() == 0;
        over.then(|| format!("count: all {} records have been given", self.settings.count))
    }
}
