//! Tables as PostgreSQL's catalogue describes them.
//!
//! Place in the data path: read once per table and again after every change of a table that an error
//! has told us of. Three statements in one round trip; names are resolved by the server, so that the
//! search path is the connection's own.

use super::errors::server_error;
use super::names;
use super::session::Session;
use super::value::ColumnType;
use super::wire::{Format, Param, Pipeline, Reply, Rows};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::table::{Column, Table, TableName};
use std::sync::Arc;

/// What the encoders and statements need to know of a column beside [`Column`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PgColumn {
    /// The type under all domains.
    pub(super) base: PgType,
    /// The type's own oid, that of a domain where it is one.
    pub(super) declared: u32,
    /// `GENERATED ALWAYS AS IDENTITY`: can be inserted only by overriding, never updated.
    pub(super) identity_always: bool,
}

/// A type that is no domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PgType {
    /// What the encoders go by.
    pub(super) value: ColumnType,
    /// As it can be written in SQL, without a length: a cast to it cuts nothing.
    pub(super) sql: String,
    /// There is an array type over this one.
    pub(super) has_array: bool,
}

/// A table with the parts that only PostgreSQL has.
#[derive(Debug)]
pub(super) struct PgTable {
    pub(super) table: Arc<Table>,
    /// As many as [`Table::columns`].
    pub(super) columns: Vec<PgColumn>,
    /// Row-level security applies to this role: COPY is refused.
    pub(super) row_security: bool,
    /// The role may read it, which COPY BINARY and its guard depend on.
    pub(super) readable: bool,
    /// Has constraints or constraint triggers that may be deferred to the commit.
    pub(super) deferrable: bool,
    /// Rows that go in may make others write elsewhere: it has triggers, parts or rules.
    pub(super) triggers: bool,
}

const JSON_OID: u32 = 114;
const JSONB_OID: u32 = 3802;

const RELATION: &str = "SELECT c.oid, n.nspname, c.relname, c.relkind, \
    c.relrowsecurity AND row_security_active(c.oid), \
    EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t WHERE t.tgrelid = c.oid AND t.tgdeferrable), \
    EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND i.indisprimary), \
    c.relpersistence = 'u', has_table_privilege(c.oid, 'SELECT'), \
    c.relkind <> 'r' OR c.relhasrules OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger t \
      WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.oid = to_regclass($1)";

/// A domain is followed down to its base type; the innermost length counts.
const COLUMNS: &str = "WITH RECURSIVE walk AS ( \
      SELECT a.attnum, a.atttypid AS oid, a.atttypmod AS typmod, a.attnotnull AS required, \
        false AS defaulted \
      FROM pg_catalog.pg_attribute a \
      WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped \
    UNION ALL \
      SELECT w.attnum, t.typbasetype, t.typtypmod, w.required OR t.typnotnull, \
        w.defaulted OR t.typdefault IS NOT NULL \
      FROM walk w JOIN pg_catalog.pg_type t ON t.oid = w.oid WHERE t.typtype = 'd') \
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT w.required, \
      (a.atthasdef AND a.attgenerated = '') OR a.attidentity <> '' OR w.defaulted, \
      a.attgenerated <> '', a.attidentity = 'a', a.atttypid, b.oid, b.typname, \
      format_type(b.oid, -1), b.typtype, b.typarray, w.typmod, e.oid, e.typname, e.typtype \
    FROM walk w \
    JOIN pg_catalog.pg_attribute a ON a.attrelid = to_regclass($1) AND a.attnum = w.attnum \
    JOIN pg_catalog.pg_type b ON b.oid = w.oid AND b.typtype <> 'd' \
    LEFT JOIN pg_catalog.pg_type e ON e.oid = b.typelem AND b.typcategory = 'A' AND b.typlen = -1 \
    ORDER BY a.attnum";

/// Unique indexes that can serve ON CONFLICT, as positions among the columns that exist.
const KEYS: &str = "SELECT array_to_string(ARRAY( \
      SELECT (SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid \
        AND a.attnum > 0 AND a.attnum < k.attnum AND NOT a.attisdropped) \
      FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) \
      WHERE k.place <= i.indnkeyatts ORDER BY k.place), ',') \
    FROM pg_catalog.pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique \
    AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL \
    ORDER BY i.indisprimary DESC, i.indexrelid";

/// Appends the three questions about `name`, asked as the role that the statement `role` takes on,
/// and the end of the pipeline.
pub(super) fn ask(pipeline: &mut Pipeline, name: &TableName, role: Option<&str>) {
    if let Some(role) = role {
        pipeline.parse("", role, &[]).bind("", &[], Format::Text).execute(0);
    }
    let quoted = names::table(name);
    let param = [Param::Text(quoted.as_bytes())];
    for sql in [RELATION, COLUMNS, KEYS] {
        // The type is given, so that a text is compared and no regclass literal is made of it.
        pipeline.parse("", sql, &[25]).bind("", &param, Format::Text).execute(0);
    }
    pipeline.sync();
}

/// Reads the answers, which follow that about a role where there was one. `None`: there is no such
/// table.
pub(super) fn read(reply: &Reply, name: &TableName, role: bool) -> DbResult<Option<PgTable>> {
    if let Some(failure) = &reply.failure {
        return Err(server_error(&failure.error));
    }
    let answers = reply.statements.get(usize::from(role)..).unwrap_or_default();
    let [relation, columns, keys] = answers else {
        return Err(DbError::new(DbErrorKind::Bug, "the catalogue gave no answer"));
    };
    if relation.rows.is_empty() {
        return Ok(None);
    }
    let relation = &relation.rows;
    let kind = relation.text(0, 3).unwrap_or_default();
    if !matches!(kind, "r" | "p" | "v" | "f") {
        let text = format!("{name} is no table or view that rows can be written to");
        return Err(DbError::new(DbErrorKind::Config, text));
    }
    if relation.text(0, 7) == Some("t") {
        tracing::warn!(
            "the table {name} is UNLOGGED: a crash of the server empties it, and the positions stay"
        );
    }
    let mut common = Vec::with_capacity(columns.rows.len());
    let mut own = Vec::with_capacity(columns.rows.len());
    for row in 0..columns.rows.len() {
        let (column, pg) = column(&columns.rows, row)
            .ok_or_else(|| DbError::new(DbErrorKind::Bug, "a column cannot be read"))?;
        common.push(column);
        own.push(pg);
    }
    let unique_keys = (0..keys.rows.len())
        .filter_map(|row| keys.rows.text(row, 0))
        .map(|places| places.split(',').filter_map(|p| p.parse().ok()).collect())
        .collect();
    let table = Table {
        name: TableName {
            schema: relation.text(0, 1).map(str::to_owned),
            name: relation.text(0, 2).unwrap_or(&name.name).to_owned(),
        },
        columns: common,
        unique_keys,
        has_primary_key: relation.text(0, 6) == Some("t"),
        is_view: kind == "v",
    };
    Ok(Some(PgTable {
        table: Arc::new(table),
        columns: own,
        row_security: relation.text(0, 4) == Some("t"),
        readable: relation.text(0, 8) == Some("t"),
        deferrable: relation.text(0, 5) == Some("t"),
        triggers: relation.text(0, 9) == Some("t"),
    }))
}

/// Attributes of a composite type, domains followed down to their base types.
const ATTRIBUTES: &str = "WITH RECURSIVE walk AS ( \
      SELECT a.attnum, a.attname, a.atttypid AS oid \
      FROM pg_catalog.pg_type t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid \
      WHERE t.oid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped \
    UNION ALL \
      SELECT w.attnum, w.attname, t.typbasetype \
      FROM walk w JOIN pg_catalog.pg_type t ON t.oid = w.oid WHERE t.typtype = 'd') \
    SELECT w.attname, b.oid, b.typname, b.typtype, e.oid, e.typname, e.typtype \
    FROM walk w JOIN pg_catalog.pg_type b ON b.oid = w.oid AND b.typtype <> 'd' \
    LEFT JOIN pg_catalog.pg_type e ON e.oid = b.typelem AND b.typcategory = 'A' AND b.typlen = -1 \
    ORDER BY w.attnum";

/// Composite types within composite types are followed so far; deeper ones take text only.
const COMPOSITE_DEPTH_MAX: usize = 4;

/// Reads the attributes of the table's composite types; most tables have none.
pub(super) fn complete(session: &mut Session, table: &mut PgTable) -> DbResult<()> {
    table.columns.iter_mut().try_for_each(|c| describe(session, &mut c.base.value, 0))
}

fn describe(session: &mut Session, value: &mut ColumnType, depth: usize) -> DbResult<()> {
    if let Some(element) = &mut value.element {
        return describe(session, element, depth);
    }
    if value.kind != 'c' || depth == COMPOSITE_DEPTH_MAX {
        return Ok(());
    }
    let rows = session.query(ATTRIBUTES, &[Some(&value.oid.to_string())])?;
    for row in 0..rows.len() {
        let unreadable = || DbError::new(DbErrorKind::Bug, "a composite type cannot be read");
        let name = rows.text(row, 0).ok_or_else(unreadable)?.to_owned();
        let mut attribute = kind(&rows, row, [1, 2, 3], [4, 5, 6]).ok_or_else(unreadable)?;
        describe(session, &mut attribute, depth + 1)?;
        value.attributes.push((name, attribute));
    }
    Ok(())
}

/// A type and its elements: oid, name and kind are found at these places of a row.
fn kind(rows: &Rows, row: usize, own: [usize; 3], element: [usize; 3]) -> Option<ColumnType> {
    let read = |[oid, name, kind]: [usize; 3]| {
        let kind = rows.text(row, kind)?.chars().next()?;
        Some(ColumnType::scalar(rows.parsed(row, oid)?, rows.text(row, name)?, kind))
    };
    let mut value = read(own)?;
    value.element = read(element).map(Box::new);
    Some(value)
}

fn column(rows: &Rows, row: usize) -> Option<(Column, PgColumn)> {
    let flag = |at: usize| rows.text(row, at) == Some("t");
    let value = kind(rows, row, [7, 8, 10], [13, 14, 15])?;
    let sql = rows.text(row, 9)?.to_owned();
    let base = PgType { value, sql, has_array: rows.parsed::<u32>(row, 11)? != 0 };
    let column = Column {
        name: rows.text(row, 0)?.to_owned(),
        type_name: rows.text(row, 1)?.to_owned(),
        nullable: flag(2),
        has_default: flag(3),
        generated: flag(4),
        json: matches!(base.value.oid, JSON_OID | JSONB_OID),
    };
    let pg = PgColumn { base, declared: rows.parsed(row, 6)?, identity_always: flag(5) };
    Some((column, pg))
}
