//! How rows of one plan are written: encoders, statements, and the choice among the ways.
//!
//! Place in the data path: made when a plan is first used on a connection's catalogue, kept until
//! tables are forgotten. The choice is made per transaction and depends on the number of rows and on
//! what earlier transactions met.

use super::append::Append;
use super::sql::{Statement, StatementColumn};
use super::transform;
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::postgres::catalog::PgTable;
use crate::postgres::names;
use crate::postgres::value::{Encoder, ValueSettings};
use crate::write::{Special, WriteMode, WritePlan};
use std::sync::Arc;

/// Fewer rows are not faster by COPY, which costs about a microsecond for each of the first 500 rows.
pub(super) const COPY_ROWS_MIN: usize = 1000;

/// After an array statement failed without naming its row, so many inserts go by COPY, which names
/// row and column: bad rows come in company.
const LOCATING_INSERTS: u32 = 16;

/// A way to write rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Nothing to do: an update without columns that it could change.
    Nothing,
    /// The mode's own statement over arrays.
    Arrays,
    CopyText,
    CopyBinary,
    /// "None of the keys exists", then COPY BINARY: an upsert of new keys only.
    Append,
}

/// One column's encoder and the form that its values travel in.
pub(super) struct ColumnEncoder {
    pub(super) encoder: Encoder,
    pub(super) binary: bool,
    /// The type of an array's elements in binary form.
    pub(super) oid: u32,
}

/// A plan, made ready for the server.
pub(in crate::postgres) struct PlanState {
    pub(super) plan: Arc<WritePlan>,
    pub(super) pg: Arc<PgTable>,
    /// As many as the plan's columns.
    pub(super) encoders: Vec<ColumnEncoder>,
    all_binary: bool,
    /// `None`: there is nothing to do.
    pub(super) arrays_sql: Option<Arc<str>>,
    pub(super) copy_text_sql: Arc<str>,
    pub(super) copy_binary_sql: Arc<str>,
    pub(super) guard_sql: Arc<str>,
    pub(super) types_sql: Arc<str>,
    pub(super) probe_sql: Option<Arc<str>>,
    pub(super) settings: Arc<ValueSettings>,
    /// COPY is refused: a view, row-level security, or something that the server computes.
    copy_refused: bool,
    /// Inserts still to go by COPY because an error is to be located.
    locating: u32,
    pub(super) append: Append,
}

impl PlanState {
    /// # Errors
    /// `Drift`: the plan's columns are not those of the table.
    pub(in crate::postgres) fn new(
        plan: &Arc<WritePlan>,
        pg: &Arc<PgTable>,
        settings: &Arc<ValueSettings>,
    ) -> DbResult<PlanState> {
        let special = plan.special.as_deref().cloned().unwrap_or_default();
        let mut encoders = Vec::with_capacity(plan.columns.len());
        let mut columns = Vec::with_capacity(plan.columns.len());
        for (n, column) in plan.columns.iter().enumerate() {
            let target = pg.table.columns.get(column.target).zip(pg.columns.get(column.target));
            let Some((common, own)) = target else {
                let text = format!("the table {} has fewer columns than planned", plan.table.name);
                return Err(DbError::new(DbErrorKind::Drift, text));
            };
            let encoder = Encoder::new(column.schema.as_ref(), &own.base.value, settings);
            let binary = encoder.has_binary() && own.base.has_array;
            columns.push(StatementColumn {
                name: &common.name,
                pg: own,
                binary,
                key: plan.key.contains(&n),
            });
            let oid = own.base.value.oid;
            encoders.push(ColumnEncoder { encoder, binary, oid });
        }
        let statement = Statement {
            table: names::table(&pg.table.name),
            columns,
            required: plan.required().collect(),
            skip_unchanged: plan.skip_unchanged,
            version: special.version.and_then(|at| name_of(pg, at)),
            computed: special
                .computed
                .iter()
                .filter_map(|(at, sql)| Some((name_of(pg, *at)?, &**sql)))
                .collect(),
            others: others(plan, pg, &special),
        };
        let transform = special.transform.as_ref().map(|t| transform::sql(t, plan, pg, &special));
        let arrays = match plan.mode {
            _ if transform.is_some() => transform,
            WriteMode::Insert => Some(statement.insert()),
            WriteMode::InsertIgnore => Some(statement.insert_ignore()),
            WriteMode::Upsert => Some(statement.upsert()),
            WriteMode::Update => statement.update(),
            WriteMode::Delete => Some(statement.delete()),
        };
        let merges = matches!(plan.mode, WriteMode::Upsert | WriteMode::InsertIgnore);
        let all_binary = encoders.iter().all(|e| e.binary);
        // What the server computes it computes in a statement.
        let plain = special.computed.is_empty() && special.transform.is_none();
        let appends = merges && all_binary && plain && key_is_unique(plan, pg);
        Ok(PlanState {
            arrays_sql: arrays.map(Arc::from),
            copy_text_sql: statement.copy(false).into(),
            copy_binary_sql: statement.copy(true).into(),
            guard_sql: statement.guard().into(),
            types_sql: statement.types().into(),
            probe_sql: statement.probe().filter(|_| appends).map(Arc::from),
            copy_refused: pg.table.is_view || pg.row_security || !plain,
            settings: settings.clone(),
            all_binary,
            locating: 0,
            append: Append::default(),
            plan: plan.clone(),
            pg: pg.clone(),
            encoders,
        })
    }

    /// How the next `rows` rows are written. `named`: statements keep their names.
    pub(super) fn way(&self, rows: usize, named: bool) -> Way {
        if self.arrays_sql.is_none() {
            return Way::Nothing;
        }
        let locate = self.locating > 0 && self.plan.mode == WriteMode::Insert;
        if self.copy_refused || (rows < COPY_ROWS_MIN && !locate) {
            return Way::Arrays;
        }
        // The guard reads the table, and is a named statement: only that remembers its types.
        let binary = self.all_binary && named && self.pg.readable;
        match self.plan.mode {
            WriteMode::Insert if binary => Way::CopyBinary,
            WriteMode::Insert => Way::CopyText,
            WriteMode::Upsert | WriteMode::InsertIgnore
                if binary && self.probe_sql.is_some() && self.append.is_due() =>
            {
                Way::Append
            }
            _ => Way::Arrays,
        }
    }

    /// The records go to a function.
    pub(super) fn transforms(&self) -> bool {
        self.plan.special.as_ref().is_some_and(|special| special.transform.is_some())
    }

    pub(super) fn function(&self) -> &str {
        let special = self.plan.special.as_ref();
        let transform = special.and_then(|special| special.transform.as_ref());
        transform.map_or("a function", |transform| &transform.function)
    }

    /// COPY does not work on this table; the arrays do.
    pub(in crate::postgres) fn refuse_copy(&mut self) {
        self.copy_refused = true;
    }

    /// A row is wrong, and which one is not known: the next inserts go by COPY.
    pub(in crate::postgres) fn locate_errors(&mut self) {
        self.locating = LOCATING_INSERTS;
    }

    pub(super) fn wrote(&mut self) {
        self.locating = self.locating.saturating_sub(1);
    }

    pub(in crate::postgres) fn append_failed(&mut self) {
        self.append.failed();
    }

    pub(in crate::postgres) fn append_succeeded(&mut self) {
        self.append.succeeded();
    }

    /// The texts of its statements.
    pub(in crate::postgres) fn statements(&self) -> Vec<Arc<str>> {
        let common = [&self.copy_text_sql, &self.copy_binary_sql, &self.guard_sql];
        let some = self.arrays_sql.iter().chain(&self.probe_sql);
        some.chain(common).cloned().collect()
    }

    /// The table has constraints that would otherwise be checked by the commit.
    pub(in crate::postgres) fn deferrable(&self) -> bool {
        self.pg.deferrable
    }

    /// What the rows make others write may have such constraints.
    pub(in crate::postgres) fn writes_elsewhere(&self) -> bool {
        self.pg.triggers || self.plan.special.is_some()
    }

    pub(in crate::postgres) fn plan(&self) -> &WritePlan {
        &self.plan
    }

    pub(in crate::postgres) fn table(&self) -> &PgTable {
        &self.pg
    }
}

fn name_of(pg: &PgTable, at: usize) -> Option<&str> {
    pg.table.columns.get(at).map(|column| column.name.as_str())
}

/// Columns that the records do not fill, for expressions that name them.
fn others<'a>(plan: &WritePlan, pg: &'a PgTable, special: &Special) -> Vec<(&'a str, &'a str)> {
    if special.computed.is_empty() {
        return Vec::new();
    }
    let filled = |at: usize| plan.columns.iter().any(|column| column.target == at);
    let others = pg.table.columns.iter().zip(&pg.columns).enumerate();
    let others = others.filter(|(at, _)| !filled(*at));
    others.map(|(_, (column, own))| (column.name.as_str(), own.base.sql.as_str())).collect()
}

/// Whether an index keeps the plan's key unique: without it COPY would store keys twice that others
/// write at the same time.
fn key_is_unique(plan: &WritePlan, pg: &PgTable) -> bool {
    let mut key: Vec<usize> =
        plan.key.iter().filter_map(|k| plan.columns.get(*k)).map(|c| c.target).collect();
    key.sort_unstable();
    pg.table.unique_keys.iter().any(|unique| {
        let mut unique = unique.clone();
        unique.sort_unstable();
        unique == key
    })
}
