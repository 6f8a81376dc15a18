//! Write plans: which columns of which table the records of one form fill, and from where.
//!
//! A plan is made once for a table and a form of key and value, and looked up a run of rows at a
//! time. Tables are read, made and extended here, through [`Catalog`], which first brings what is
//! in flight to an end. Invariant: a plan names columns of the table it holds, never of another.

mod consumer;
mod share;

use crate::config::NullValues;
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::ddl::plain_table;
use crate::evolve::{Sample, check_unique, new_columns, new_table, not_created, refusal};
use crate::resolve::{Resolved, resolve};
use crate::settings::SinkSettings;
use crate::shape::{Shape, Shapes};
use crate::table::{NewColumn, NewTable, Table, TableName};
use crate::wanted::{Collector, Extra, WantedRow};
use crate::write::{Source, WriteMode, WritePlan};
use consumer::lacks_version;
use foldhash::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What planning asks of a database; nothing is in flight while it answers.
pub(crate) trait Catalog {
    /// # Errors
    /// The database's; also of what was in flight.
    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>>;
    /// Whether the table cannot be there because its schema is not.
    ///
    /// # Errors
    /// The database's; also of what was in flight.
    fn lacks_schema(&mut self, _name: &TableName) -> DbResult<bool> {
        Ok(false)
    }
    /// # Errors
    /// Those of what was in flight.
    fn forget_tables(&mut self) -> DbResult<()>;
    fn create_table_sql(&self, table: &NewTable) -> String;
    /// # Errors
    /// The database's; also of what was in flight.
    fn create_table(&mut self, table: &NewTable) -> DbResult<()>;
    /// # Errors
    /// The database's; also of what was in flight.
    fn add_columns(&mut self, table: &Table, columns: &[NewColumn]) -> DbResult<()>;
}

/// Where records of one form go.
#[derive(Debug)]
pub(crate) struct Target {
    pub plan: Arc<WritePlan>,
    /// For a record whose delete marker is set.
    pub delete: Option<Arc<WritePlan>>,
    pub marker: Option<Source>,
    pub extras: Vec<Extra>,
    /// The table's number, for as long as nothing is forgotten.
    pub table: u32,
    /// Members that the table has no column for.
    pub ignored: Vec<Arc<str>>,
}

/// The SQLSTATE of records that have no value where they must have one.
pub(crate) const NO_VALUE: &str = "22004";
/// Of those that lack what a key or a column needs.
pub(crate) const NOT_NULL: &str = "23502";
/// Of those whose fields have no column.
pub(crate) const NO_COLUMN: &str = "42703";

/// What is to be done with records of one form.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    Write(Arc<Target>),
    /// Each is an error, for this reason and of this SQLSTATE.
    Reject(Arc<str>, &'static str),
    /// Nothing; it is counted under this name.
    Skip(&'static str),
}

impl Planned {
    /// Whether a column may be missing that would have been filled.
    fn lacks(&self) -> bool {
        match self {
            Planned::Write(target) => !target.ignored.is_empty(),
            Planned::Reject(..) => true,
            Planned::Skip(_) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PlanKey {
    place: u32,
    key: Shape,
    value: Shape,
}

#[derive(Debug)]
struct KnownTable {
    name: TableName,
    table: Arc<Table>,
    round: u64,
    read_at: Instant,
}

/// The plans of a task.
#[derive(Debug)]
pub(crate) struct Planner {
    pub settings: Arc<SinkSettings>,
    pub shapes: Shapes,
    /// Topics and their tables; a place is an index into it.
    places: Vec<(Arc<str>, TableName)>,
    tables: Vec<KnownTable>,
    plans: HashMap<PlanKey, (Planned, u64)>,
    /// Plans by content, so that forms that fill the same columns share one.
    pub(crate) shared: Vec<Arc<WritePlan>>,
    /// A field has been met since the tables were looked at that has no column.
    lacking: bool,
    /// How long a table without such a column is trusted.
    pub recheck: Duration,
    /// Counts the transactions bound; reasons to reject hold for one of them.
    round: u64,
}

/// Someone may add the column that is missing: so often at most it is looked for.
const RECHECK: Duration = Duration::from_secs(5);

static NEXT_PLAN: AtomicU64 = AtomicU64::new(1);

/// A number that no plan has had.
pub(crate) fn next_plan() -> u64 {
    NEXT_PLAN.fetch_add(1, Ordering::Relaxed)
}

impl Planner {
    const PLACES_MAX: usize = 10_000;

    pub(crate) fn new(settings: Arc<SinkSettings>) -> Planner {
        Planner {
            settings,
            shapes: Shapes::default(),
            places: Vec::new(),
            tables: Vec::new(),
            plans: HashMap::default(),
            shared: Vec::new(),
            lacking: false,
            recheck: RECHECK,
            round: 0,
        }
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Those of what is in flight, where a table is due to be read again.
    pub(crate) fn begin(&mut self, catalog: &mut dyn Catalog) -> DbResult<()> {
        self.round += 1;
        let max_age = self.settings.metadata_max_age();
        let old = self.tables.iter().any(|t| t.read_at.elapsed() >= max_age && !max_age.is_zero());
        if self.shapes.trim() || self.places.len() > Self::PLACES_MAX {
            self.places.clear();
            self.forget();
        } else if old {
            catalog.forget_tables()?;
            self.forget();
        } else if self.lacking && self.tables.iter().any(|t| t.read_at.elapsed() >= self.recheck) {
            self.refresh(catalog)?;
        }
        Ok(())
    }

    /// Reads every known table again. True: one is not what it was.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn refresh(&mut self, catalog: &mut dyn Catalog) -> DbResult<bool> {
        catalog.forget_tables()?;
        let known: Vec<_> = self.tables.iter().map(|t| (t.name.clone(), t.table.clone())).collect();
        let mut changed = false;
        for (name, before) in known {
            match catalog.table(&name)? {
                Some(table) if *table == *before => {}
                _ => changed = true,
            }
        }
        self.lacking = false;
        self.tables.iter_mut().for_each(|t| t.read_at = Instant::now());
        if changed {
            self.forget();
        }
        Ok(changed)
    }

    /// Forgets tables and plans, after signs that a table is not what it was.
    pub(crate) fn forget(&mut self) {
        self.tables.clear();
        self.plans.clear();
        self.shared.clear();
    }

    /// The number of a topic's table.
    pub(crate) fn place(&mut self, topic: &Arc<str>, name: TableName) -> u32 {
        let known = self.places.iter().position(|(t, n)| t == topic && *n == name);
        let place = known.unwrap_or_else(|| {
            self.places.push((topic.clone(), name));
            self.places.len() - 1
        });
        place as u32
    }

    pub(crate) fn place_table(&self, place: u32) -> Option<&TableName> {
        self.places.get(place as usize).map(|(_, name)| name)
    }

    pub(crate) fn place_topic(&self, place: u32) -> Option<&str> {
        self.places.get(place as usize).map(|(topic, _)| &**topic)
    }

    /// The table of a place, where it exists.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn existing(
        &mut self,
        place: u32,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Option<Arc<Table>>> {
        let Some(name) = self.place_table(place).cloned() else { return Ok(None) };
        match self.tables.iter().find(|t| t.name == name) {
            Some(known) => Ok(Some(known.table.clone())),
            None => self.read(&name, catalog),
        }
    }

    /// What to do with records of a form.
    ///
    /// # Errors
    /// The database's; `Config`: a table that is missing or does not fit the options.
    pub(crate) fn find(
        &mut self,
        place: u32,
        key: Shape,
        value: Shape,
        sample: Sample<'_>,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Planned> {
        let plan_key = PlanKey { place, key, value };
        if let Some((planned, round)) = self.plans.get(&plan_key)
            && (!matches!(planned, Planned::Reject(..)) || *round == self.round)
        {
            self.lacking |= planned.lacks();
            return Ok(planned.clone());
        }
        let planned = self.make(place, key, value, sample, catalog)?;
        self.lacking |= planned.lacks();
        self.plans.insert(plan_key, (planned.clone(), self.round));
        Ok(planned)
    }

    fn make(
        &mut self,
        place: u32,
        key: Shape,
        value: Shape,
        sample: Sample<'_>,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Planned> {
        let Some((topic, name)) = self.places.get(place as usize).cloned() else {
            return Err(DbError::new(DbErrorKind::Bug, "a plan for a place nobody named"));
        };
        let settings = self.settings.clone();
        if let Some(rules) = &settings.consumer {
            return self.consumed(rules, (&topic, &name), key, value, catalog);
        }
        let fields = &settings.config.pk_fields;
        let collect =
            Collector { settings: &settings, shapes: &self.shapes, topic: &topic, fields };
        let (wanted, mode) = if value == Shape::Null {
            match settings.null_values() {
                NullValues::Delete => (collect.key_columns(key, value), WriteMode::Delete),
                NullValues::Fail => {
                    let text = "the record has no value, and behavior.on.null.values is fail";
                    return Ok(Planned::Reject(text.into(), NO_VALUE));
                }
                NullValues::Auto | NullValues::Ignore => {
                    return Ok(Planned::Skip("records without a value"));
                }
            }
        } else {
            (collect.all_columns(key, value), settings.mode())
        };
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(lack) => return Ok(Planned::Reject(lack.into(), NOT_NULL)),
        };
        let Some(table) = self.table_for(&name, &wanted, mode, sample, catalog)? else {
            return Ok(Planned::Skip("deletes in a table that does not exist"));
        };
        self.fit(&name, table, wanted, mode, catalog)
    }

    /// The table, made where it is missing and may be. `None`: missing, and there is nothing to
    /// make it for.
    fn table_for(
        &mut self,
        name: &TableName,
        wanted: &WantedRow,
        mode: WriteMode,
        sample: Sample<'_>,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Option<Arc<Table>>> {
        if let Some(known) = self.tables.iter().find(|t| t.name == *name) {
            return Ok(Some(known.table.clone()));
        }
        if let Some(table) = self.read(name, catalog)? {
            return Ok(Some(table));
        }
        let shown = plain_table(name);
        let new = new_table(&self.settings, name, wanted);
        if mode == WriteMode::Delete && self.settings.config.auto_create {
            return Ok(None);
        }
        if let Some(error) = not_created(&self.settings, &new, wanted, sample, catalog)? {
            return Err(error);
        }
        tracing::info!("creating table {shown}");
        catalog.create_table(&new)?;
        catalog.forget_tables()?;
        match self.read(name, catalog)? {
            Some(table) => Ok(Some(table)),
            None => {
                let text = format!("table {shown} was created and is not there");
                Err(DbError::new(DbErrorKind::Config, text))
            }
        }
    }

    /// Reads a table from the catalogue; plans of an older form of it are forgotten.
    fn read(
        &mut self,
        name: &TableName,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Option<Arc<Table>>> {
        let Some(table) = catalog.table(name)? else { return Ok(None) };
        let views = self.settings.config.table_types.iter().any(|t| t.eq_ignore_ascii_case("view"));
        if table.is_view && !views {
            let text = format!("{} is a view; table.types does not list VIEW", plain_table(name));
            return Err(DbError::new(DbErrorKind::Config, text)
                .hint("set table.types=TABLE,PARTITIONED TABLE,VIEW to write to views"));
        }
        let (round, read_at) = (self.round, Instant::now());
        match self.tables.iter_mut().find(|t| t.name == *name) {
            Some(known) => {
                (known.round, known.read_at) = (round, read_at);
                if *known.table != *table {
                    known.table = table.clone();
                    self.plans.clear();
                    self.shared.clear();
                }
            }
            None => {
                let table = table.clone();
                self.tables.push(KnownTable { name: name.clone(), table, round, read_at });
            }
        }
        Ok(Some(table))
    }

    /// Finds the columns of the table, adding what is missing and may be added.
    fn fit(
        &mut self,
        name: &TableName,
        mut table: Arc<Table>,
        wanted: WantedRow,
        mode: WriteMode,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Planned> {
        let mut evolved = false;
        let resolved = loop {
            let resolved = match resolve(&table, &wanted, &self.settings.names) {
                Ok(resolved) => resolved,
                Err(lack) => return Ok(Planned::Reject(lack.into(), NO_COLUMN)),
            };
            if resolved.missing.is_empty() {
                break resolved;
            }
            // Someone may have added the columns since the table was read.
            let fresh = self.tables.iter().any(|t| t.name == *name && t.round == self.round);
            if !fresh {
                catalog.forget_tables()?;
                let Some(again) = self.read(name, catalog)? else {
                    let text = format!("table {} has gone", plain_table(name));
                    return Err(DbError::new(DbErrorKind::Drift, text));
                };
                table = again;
                continue;
            }
            let columns = new_columns(&self.settings, &resolved.missing);
            if let Some(refusal) =
                refusal(&self.settings, &table, &resolved, &columns, evolved, catalog)?
            {
                return Ok(Planned::Reject(refusal.into(), NO_COLUMN));
            }
            let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
            tracing::info!("adding to table {}: {}", plain_table(name), names.join(", "));
            catalog.add_columns(&table, &columns)?;
            catalog.forget_tables()?;
            evolved = true;
            let Some(again) = self.read(name, catalog)? else {
                let text = format!("table {} has gone", plain_table(name));
                return Err(DbError::new(DbErrorKind::Drift, text));
            };
            table = again;
        };
        let (mut wanted, mut resolved) = (wanted, resolved);
        self.collect(&table, &mut wanted, &mut resolved, mode)?;
        self.finish(name, table, wanted, resolved, mode)
    }

    fn finish(
        &mut self,
        name: &TableName,
        table: Arc<Table>,
        wanted: WantedRow,
        resolved: Resolved,
        mode: WriteMode,
    ) -> DbResult<Planned> {
        let special = self.special(&table, mode)?;
        let Resolved { columns, ignored, .. } = resolved;
        let has_values = columns.iter().any(|(_, wanted)| !wanted.key);
        if mode == WriteMode::Update && !has_values {
            return Ok(Planned::Skip("updates without a column to change"));
        }
        if columns.is_empty() {
            let shown = plain_table(name);
            let text = format!("no member of the record is a column of table {shown}");
            return Ok(Planned::Reject(text.into(), NO_COLUMN));
        }
        if let Some(lack) = lacks_version(&table, special.as_deref(), &columns) {
            return Ok(Planned::Reject(lack.into(), NOT_NULL));
        }
        if mode == WriteMode::Upsert && !(table.is_view && self.settings.consumer.is_some()) {
            check_unique(&self.settings, &table, &columns)?;
        }
        let number = self.tables.iter().position(|t| t.name == *name).unwrap_or_default() as u32;
        let plan = self.share(&table, &columns, mode, special);
        let deletes = mode != WriteMode::Delete && wanted.marker.is_some();
        let delete = deletes.then(|| {
            let keys: Vec<_> = columns.iter().filter(|(_, w)| w.key).cloned().collect();
            self.share(&table, &keys, WriteMode::Delete, None)
        });
        Ok(Planned::Write(Arc::new(Target {
            plan,
            delete,
            marker: wanted.marker,
            extras: wanted.extras,
            table: number,
            ignored,
        })))
    }
}
