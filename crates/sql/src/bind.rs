//! Rows of batches to writes by table: every row finds its plan, or the reason why it has none.
//!
//! Place in the data path: between decoding and the database. Rows are not copied; a write lists
//! which rows of which batch go through its plan. In steady state a row costs a look at its form
//! and one entry in a list.

mod place;

use crate::config::PkMode;
use crate::database::DbResult;
use crate::envelope::{Events, Happened};
use crate::evolve::Sample;
use crate::group::{Group, delete_asked, key_lacks, push_key_of, writes_of};
use crate::plan::{Catalog, NO_VALUE, NOT_NULL, Planned, Planner, Target};
use crate::reduce::Reducer;
use crate::settings::SinkSettings;
use crate::shape::{SchemaId, Shape};
use crate::table::TableName;
use crate::unavailable::{has_placeholder, unavailable};
use crate::write::{RefusedBy, RejectRow, RowRef, TableWrite, WriteMode, WritePlan};
use data::{Batch, Reject, Rows, Stage};
use foldhash::HashMap;
use place::Origins;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The class that Connect users know as the place of such errors.
pub(crate) const SINK_TASK: &str = "org.apache.kafka.connect.sink.SinkTask";

/// Rows of one batch, and the move of its partition's position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub batch: u32,
    pub rows: Range<u32>,
    pub from: i64,
    pub to: i64,
}

/// Rows that the database has refused before, by batch and row.
pub(crate) type BadRows = BTreeMap<(u32, u32), RejectRow>;

/// What there is to bind.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub batches: &'a [Batch],
    /// One a batch, or none at all.
    pub events: &'a [Option<Events>],
    pub bad: &'a BadRows,
}

/// What a transaction writes.
#[derive(Debug, Default)]
pub(crate) struct Bound {
    /// Tables to empty first.
    pub truncates: Vec<TableName>,
    pub writes: Vec<TableWrite>,
    /// By batch, then row.
    pub rejects: Vec<RejectRow>,
    /// Records whose effect is in `writes`.
    pub rows: u64,
    /// Values and records left out on purpose.
    pub ignored: Vec<(String, u64)>,
}

/// Binds batches; keeps plans and buffers from one transaction to the next.
#[derive(Debug)]
pub(crate) struct Binder {
    pub planner: Planner,
    reducer: Reducer,
    origins: Origins,
}

impl Binder {
    pub(crate) fn new(settings: Arc<SinkSettings>) -> Binder {
        Binder {
            planner: Planner::new(settings),
            reducer: Reducer::default(),
            origins: Origins::new(),
        }
    }

    /// Binds the parts of a transaction.
    ///
    /// # Errors
    /// The database's; `Config`: a table that is missing or does not fit the options.
    pub(crate) fn bind(
        &mut self,
        given: Given<'_>,
        parts: &[Part],
        catalog: &mut dyn Catalog,
    ) -> DbResult<Bound> {
        self.planner.begin(catalog)?;
        self.reducer.clear();
        let settings = self.planner.settings.clone();
        let mode = settings.mode();
        let ordered = matches!(mode, WriteMode::Upsert | WriteMode::Update) || settings.deletes();
        let mut pass = Pass {
            settings: &settings,
            planner: &mut self.planner,
            reducer: &mut self.reducer,
            origins: (settings.config.pk_mode == PkMode::Kafka).then_some(&mut self.origins),
            catalog,
            given,
            ordered,
            keys: settings.looks_at_keys(),
            partial: settings.config.change_events != crate::config::ChangeEvents::Off,
            groups: Vec::new(),
            by_plan: HashMap::default(),
            out: Bound::default(),
            skipped: BTreeMap::new(),
        };
        for part in parts {
            pass.part(part)?;
        }
        let Pass { groups, mut out, skipped, .. } = pass;
        out.ignored.extend(skipped.into_iter().map(|(name, count)| (name.to_string(), count)));
        let reducer = ordered.then_some(&mut self.reducer);
        out.writes = writes_of(groups, reducer);
        out.rejects.sort_by_key(|r| (r.batch, r.reject.row));
        Ok(out)
    }
}

/// One pass over the parts of a transaction.
struct Pass<'a> {
    settings: &'a SinkSettings,
    planner: &'a mut Planner,
    reducer: &'a mut Reducer,
    /// Where records are told apart by where they come from.
    origins: Option<&'a mut Origins>,
    catalog: &'a mut dyn Catalog,
    given: Given<'a>,
    /// Operations on one key depend on each other.
    ordered: bool,
    /// The form of record keys matters.
    keys: bool,
    /// Debezium's placeholders are no values.
    partial: bool,
    groups: Vec<Group>,
    by_plan: HashMap<u64, u32>,
    out: Bound,
    skipped: BTreeMap<Arc<str>, u64>,
}

/// Rows between two changes of schema.
struct Segment<'a> {
    number: u32,
    batch: &'a Batch,
    events: Option<&'a Events>,
    rows: Range<usize>,
    /// The schemas of keys and values.
    run: (SchemaId, SchemaId),
    /// `None`: the table depends on the record, or its topic does.
    place: Option<u32>,
}

/// What was found for the form of the row before.
struct Current {
    place: u32,
    key: Shape,
    value: Shape,
    planned: Planned,
    group: u32,
    delete_group: Option<u32>,
    /// Columns that the last row without all of its values lacked, and its group.
    partial: (Vec<usize>, u32),
    rows: u64,
}

impl<'a> Pass<'a> {
    fn part(&mut self, part: &Part) -> DbResult<()> {
        let Some(batch) = self.given.batches.get(part.batch as usize) else { return Ok(()) };
        let events = self.given.events.get(part.batch as usize).and_then(Option::as_ref);
        let range = part.rows.start as usize..part.rows.end as usize;
        let place = match batch.is_routed() {
            true => None,
            false => self.fixed_place(batch, batch.raw.topic())?,
        };
        let table = place.and_then(|place| self.planner.place_table(place)).cloned();
        let from = batch.rejects.partition_point(|r| r.row < part.rows.start);
        let known = batch.rejects.iter().skip(from).take_while(|r| r.row < part.rows.end);
        self.out.rejects.extend(known.map(|reject| RejectRow {
            batch: part.batch,
            reject: reject.clone(),
            by: RefusedBy::Decoding,
            table: table.clone(),
        }));
        for value_run in runs(&batch.values, &range) {
            let value_schema = self.planner.shapes.schema_id(value_run.1);
            let key_runs = match self.keys {
                true => runs(&batch.keys, &value_run.0).collect(),
                false => vec![(value_run.0, None)],
            };
            for (rows, key_schema) in key_runs {
                let key_schema = self.planner.shapes.schema_id(key_schema);
                let number = part.batch;
                let run = (key_schema, value_schema);
                self.segment(&Segment { number, batch, events, rows, run, place })?;
            }
        }
        Ok(())
    }

    fn segment(&mut self, segment: &Segment<'_>) -> DbResult<()> {
        let batch = segment.batch;
        let mut current: Option<Current> = None;
        let mut routed = None;
        for row in segment.rows.clone() {
            if !batch.alive.is_alive(row) {
                continue;
            }
            if !self.given.bad.is_empty()
                && let Some(bad) = self.given.bad.get(&(segment.number, row as u32))
            {
                self.out.rejects.push(bad.clone());
                continue;
            }
            let fixed = self.routed_place(segment, row, &mut routed)?;
            let Some(place) = self.place_of(segment, row, fixed)? else { continue };
            let shapes = &mut self.planner.shapes;
            let key = match self.keys {
                true => shapes.of(0, &batch.keys, segment.run.0, batch.keys.root(row)),
                false => Shape::Null,
            };
            let value = shapes.of(1, &batch.values, segment.run.1, batch.values.root(row));
            let same =
                current.as_ref().is_some_and(|c| (c.place, c.key, c.value) == (place, key, value));
            if !same {
                self.close(current.take());
                current = Some(self.open(place, key, value, Sample { batch, row })?);
            }
            if let Some(current) = &mut current {
                self.row(segment, row, current);
            }
        }
        self.close(current);
        Ok(())
    }

    /// The place of a row; `None`: it has none, and what is to be said of it is said.
    fn place_of(
        &mut self,
        segment: &Segment<'_>,
        row: usize,
        fixed: Option<u32>,
    ) -> DbResult<Option<u32>> {
        let batch = segment.batch;
        let topic = batch.topic(row);
        let happened = segment.events.map_or(Happened::Row, |events| events.happened(row));
        let truncates = happened == Happened::Truncate;
        if happened == Happened::Message {
            self.skip("change events that are messages", topic);
            return Ok(None);
        }
        if truncates && !self.settings.config.truncate_enabled {
            self.skip("change events that empty a table", topic);
            return Ok(None);
        }
        let place = match fixed {
            Some(place) => place,
            None => match self.table_of(segment, row) {
                Ok(name) => self.planner.place(topic, name),
                // The event before it said what it says, and named its table.
                Err(_) if batch.values.root(row).is_null() && self.settings.tables_of_events() => {
                    self.skip("records without a value, which name no table", topic);
                    return Ok(None);
                }
                Err(lost) => {
                    self.reject(segment, row, (lost.text, lost.sqlstate), None);
                    return Ok(None);
                }
            },
        };
        if truncates {
            self.truncate(topic, place)?;
            return Ok(None);
        }
        Ok(Some(place))
    }

    /// Empties a table: what the transaction has done to it so far does not matter any more.
    fn truncate(&mut self, topic: &str, place: u32) -> DbResult<()> {
        let Some(table) = self.planner.existing(place, self.catalog)? else {
            self.skip("change events that empty a table that does not exist", topic);
            return Ok(());
        };
        for group in self.groups.iter_mut().filter(|g| g.plan.table.name == table.name) {
            self.reducer.forget_table(group.table);
            group.clear();
        }
        if !self.out.truncates.contains(&table.name) {
            self.out.truncates.push(table.name.clone());
        }
        self.out.rows += 1;
        Ok(())
    }

    fn skip(&mut self, what: &str, topic: &str) {
        let what = format!("{what}, topic {topic}");
        *self.skipped.entry(what.into()).or_default() += 1;
    }

    fn open(
        &mut self,
        place: u32,
        key: Shape,
        value: Shape,
        sample: Sample<'_>,
    ) -> DbResult<Current> {
        let planned = self.planner.find(place, key, value, sample, self.catalog)?;
        let (mut group, mut delete_group) = (0, None);
        if let Planned::Write(target) = &planned {
            group = self.group(&target.plan, target);
            delete_group = target.delete.as_ref().map(|plan| self.group(plan, target));
        }
        let partial = (Vec::new(), group);
        Ok(Current { place, key, value, planned, group, delete_group, partial, rows: 0 })
    }

    fn group(&mut self, plan: &Arc<WritePlan>, target: &Target) -> u32 {
        let next = self.groups.len() as u32;
        let number = *self.by_plan.entry(plan.id).or_insert(next);
        if number == next {
            self.groups.push(Group::new(plan.clone(), target.table, target.extras.clone()));
        }
        number
    }

    /// The group of a row whose value lacks columns; `None`: it has nothing else.
    fn partial_group(
        &mut self,
        batch: &Batch,
        row: usize,
        target: &Target,
        current: &mut Current,
    ) -> Option<u32> {
        let absent = unavailable(&target.plan, batch, row);
        if absent.is_empty() || target.plan.mode == WriteMode::Delete {
            return Some(current.group);
        }
        if absent.len() == target.plan.columns.len() {
            return None;
        }
        if current.partial.0 != absent {
            let plan = self.planner.without(&target.plan, &absent);
            current.partial = (absent, self.group(&plan, target));
        }
        Some(current.partial.1)
    }

    /// Counts what the rows of a form left out.
    fn close(&mut self, current: Option<Current>) {
        let Some(current) = current else { return };
        let topic = self.planner.place_topic(current.place).unwrap_or_default();
        match &current.planned {
            Planned::Write(target) if current.rows > 0 => {
                for name in &target.ignored {
                    let what = format!("field {name} of topic {topic}, which has no column");
                    *self.skipped.entry(what.into()).or_default() += current.rows;
                }
            }
            Planned::Skip(what) => {
                let what = format!("{what}, topic {topic}");
                *self.skipped.entry(what.into()).or_default() += current.rows;
            }
            _ => {}
        }
    }

    fn row(&mut self, segment: &Segment<'_>, row: usize, current: &mut Current) {
        let target = match &current.planned {
            Planned::Write(target) => target,
            Planned::Skip(_) => {
                current.rows += 1;
                return;
            }
            Planned::Reject(text, sqlstate) => {
                let (text, place) = (text.to_string(), Some(current.place));
                self.reject(segment, row, (text, *sqlstate), place);
                return;
            }
        };
        let marked =
            target.marker.as_ref().is_some_and(|marker| delete_asked(segment.batch, row, marker));
        let number = match current.delete_group {
            Some(group) if marked => group,
            _ if self.partial && has_placeholder(segment.batch, row) => {
                let target = target.clone();
                let Some(group) = self.partial_group(segment.batch, row, &target, current) else {
                    let text = "the record has no value for any column, only placeholders";
                    self.reject(segment, row, (text.to_owned(), NO_VALUE), Some(current.place));
                    return;
                };
                group
            }
            _ => current.group,
        };
        let Some(group) = self.groups.get_mut(number as usize) else { return };
        let index = group.rows.len() as u32;
        group.push(segment.batch, RowRef { batch: segment.number, row: row as u32 });
        if !group.plan.key.is_empty() {
            if let Some(column) = key_lacks(group, segment.batch, row) {
                group.pop();
                let text = format!("key column {column} would be null: the record lacks it");
                self.reject(segment, row, (text, NOT_NULL), Some(current.place));
                return;
            }
            if self.ordered {
                let (table, batch) = (group.table, segment.batch);
                self.reducer.push(table, number, index, |out| push_key_of(group, batch, row, out));
            }
        }
        current.rows += 1;
        self.out.rows += 1;
    }

    fn reject(
        &mut self,
        segment: &Segment<'_>,
        row: usize,
        (text, sqlstate): (String, &str),
        place: Option<u32>,
    ) {
        let table = place.and_then(|place| self.planner.place_table(place)).cloned();
        let text = segment.batch.about(row, text);
        let mut reject = Reject::data(row, Stage::TaskPut, SINK_TASK, text);
        reject.sqlstate = Some(sqlstate.to_owned());
        let batch = segment.number;
        self.out.rejects.push(RejectRow { batch, reject, by: RefusedBy::Binding, table });
    }
}

/// The runs of a row set within a range of rows.
fn runs<'a>(
    rows: &'a Rows,
    range: &Range<usize>,
) -> impl Iterator<Item = (Range<usize>, Option<&'a Arc<data::Schema>>)> + use<'a> {
    let (start, end) = (range.start, range.end);
    let first = rows.runs().partition_point(move |run| run.range().end <= start);
    let runs = rows.runs().get(first..).unwrap_or_default().iter();
    runs.take_while(move |run| run.range().start < end).map(move |run| {
        let run_range = run.range();
        (run_range.start.max(start)..run_range.end.min(end), run.schema.as_ref())
    })
}
