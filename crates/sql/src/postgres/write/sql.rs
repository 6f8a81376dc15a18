//! The statements that write rows of one plan.
//!
//! Place in the data path: made once per plan. Rows reach a statement as one array per column, so one
//! prepared statement serves every number of rows. A type with a tested binary form travels as an
//! array of itself, any other as `text[]` with a cast, which is the type's own input function.
//!
//! Casts name types without a length: an explicit cast to one with a length would cut values in
//! silence, where the assignment to the column refuses them.

use crate::postgres::catalog::PgColumn;
use crate::postgres::names;
use std::fmt::Write;

/// A column as statements see it.
pub(super) struct StatementColumn<'a> {
    pub(super) name: &'a str,
    pub(super) pg: &'a PgColumn,
    /// Travels in binary form.
    pub(super) binary: bool,
    pub(super) key: bool,
}

/// What all statements of a plan share.
pub(super) struct Statement<'a> {
    /// Quoted.
    pub(super) table: String,
    pub(super) columns: Vec<StatementColumn<'a>>,
    /// Columns that the rows do not fill and that must have a value.
    pub(super) required: Vec<&'a str>,
    pub(super) skip_unchanged: bool,
    /// The column that tells newer rows from older ones.
    pub(super) version: Option<&'a str>,
    /// Columns and the expressions that fill them.
    pub(super) computed: Vec<(&'a str, &'a str)>,
    /// The table's other columns, for expressions: null in each row. Names and types.
    pub(super) others: Vec<(&'a str, &'a str)>,
}

impl Statement<'_> {
    fn names(&self) -> String {
        let computed = self.computed.iter().map(|(name, _)| *name);
        let all = self.columns.iter().map(|c| c.name).chain(computed);
        names::list(all, names::push_ident)
    }

    /// `SELECT` of typed columns `c0, c1, …`, those that are computed behind the others.
    fn rows(&self) -> String {
        let mut rows = self.given();
        if let Some(version) = self.version {
            rows = self.newest(version);
        }
        if self.computed.is_empty() {
            return rows;
        }
        let named = self.columns.iter().enumerate().map(|(n, c)| (format!("r.c{n}"), c.name));
        let others = self.others.iter().map(|(name, kind)| (format!("NULL::{kind}"), *name));
        let inner = names::list(named.chain(others), |out, (value, name)| {
            out.push_str(&value);
            out.push_str(" AS ");
            names::push_ident(out, name);
        });
        let plain = self.columns.iter().map(|c| format!("m.{}", names::ident(c.name)));
        let computed = self.computed.iter().map(|(_, sql)| format!("({sql})"));
        let outer = names::list(plain.chain(computed).enumerate(), |out, (n, value)| {
            let _ok = write!(out, "{value} AS c{n}");
        });
        format!("SELECT {outer} FROM (SELECT {inner} FROM ({rows}) AS r) AS m")
    }

    /// One row a key: the first of those with the greatest version, in the order they were given in.
    fn newest(&self, version: &str) -> String {
        let all = |prefix: &str| {
            names::list(0..self.columns.len(), |out, n| {
                let _ok = write!(out, "{prefix}c{n}");
            })
        };
        let keys =
            names::list(self.columns.iter().enumerate().filter(|(_, c)| c.key), |out, (n, _)| {
                let _ok = write!(out, "v.c{n}");
            });
        let at = self.columns.iter().position(|c| c.name == version).unwrap_or_default();
        format!(
            "SELECT {} FROM (SELECT DISTINCT ON ({keys}) {}, v.place FROM (SELECT {}, \
             row_number() OVER () AS place FROM ({}) AS g) AS v \
             ORDER BY {keys}, v.c{at} DESC NULLS LAST, v.place) AS d ORDER BY d.place",
            all("d."),
            all("v."),
            all("g."),
            self.given()
        )
    }

    /// Typed columns `c0, c1, …` out of the parameters.
    fn given(&self) -> String {
        let columns = names::list(self.columns.iter().enumerate(), |out, (n, c)| {
            // Writing to a string cannot fail, here and below.
            let _ok = if c.binary {
                write!(out, "u.c{n} AS c{n}")
            } else {
                write!(out, "CAST(u.c{n} AS {}) AS c{n}", c.pg.base.sql)
            };
        });
        let arrays = names::list(self.columns.iter().enumerate(), |out, (n, c)| {
            let kind = if c.binary { c.pg.base.sql.as_str() } else { "text" };
            let _ok = write!(out, "${}::{kind}[]", n + 1);
        });
        let aliases = names::list(0..self.columns.len(), |out, n| {
            let _ok = write!(out, "c{n}");
        });
        format!("SELECT {columns} FROM unnest({arrays}) AS u({aliases})")
    }

    /// `INSERT … SELECT` without a conflict clause.
    pub(super) fn insert(&self) -> String {
        let overriding = self.overriding();
        format!("INSERT INTO {} AS t ({}){overriding} {}", self.table, self.names(), self.rows())
    }

    fn overriding(&self) -> &'static str {
        match self.columns.iter().any(|c| c.pg.identity_always) {
            true => " OVERRIDING SYSTEM VALUE",
            false => "",
        }
    }

    /// The insert of an upsert. NOT NULL is checked before the conflict is found, so a row that is
    /// there lends the values that it keeps; a row that is not there lacks them, as it should.
    fn insert_over(&self) -> String {
        if self.required.is_empty() {
            return self.insert();
        }
        let required = |prefix: &str| {
            names::list(&self.required, |out, name| {
                out.push_str(prefix);
                names::push_ident(out, name);
            })
        };
        let mut on = String::new();
        for (n, key) in self.columns.iter().enumerate().filter(|(_, c)| c.key) {
            let and = if on.is_empty() { "" } else { " AND " };
            let _ok = write!(on, "{and}o.{} = s.c{n}", names::ident(key.name));
        }
        format!(
            "INSERT INTO {} AS t ({}, {}){} SELECT s.*, {} FROM ({}) AS s LEFT JOIN {} AS o ON {on}",
            self.table,
            self.names(),
            required(""),
            self.overriding(),
            required("o."),
            self.rows(),
            self.table,
        )
    }

    /// A row whose key is there is left alone. Without key columns any conflict is.
    pub(super) fn insert_ignore(&self) -> String {
        format!("{} ON CONFLICT{} DO NOTHING", self.insert(), self.target())
    }

    /// A row whose key is there gets the new values.
    pub(super) fn upsert(&self) -> String {
        let computed = self.computed.iter().map(|(name, _)| *name);
        let changed = self.changed().map(|(_, c)| c.name).chain(computed);
        let set = names::list(changed, |out, name| {
            names::push_ident(out, name);
            out.push_str(" = EXCLUDED.");
            names::push_ident(out, name);
        });
        if set.is_empty() {
            return self.insert_ignore();
        }
        let (insert, target) = (self.insert_over(), self.target());
        let mut sql = format!("{insert} ON CONFLICT{target} DO UPDATE SET {set}");
        let version = self.version.map(newer);
        let differs = self
            .skip_unchanged
            .then(|| self.differs(|c, _| format!("EXCLUDED.{}", names::ident(c.name))));
        let conditions: Vec<String> = version.into_iter().chain(differs).collect();
        match conditions.as_slice() {
            [] => {}
            [one] => {
                let _ok = write!(sql, " WHERE {one}");
            }
            all => {
                let _ok = write!(sql, " WHERE ({})", all.join(") AND ("));
            }
        }
        sql
    }

    /// `None` where there is nothing to change.
    pub(super) fn update(&self) -> Option<String> {
        let set = names::list(self.changed(), |out, (n, c)| {
            names::push_ident(out, c.name);
            let _ok = write!(out, " = s.c{n}");
        });
        if set.is_empty() {
            return None;
        }
        let mut sql = format!(
            "UPDATE {} AS t SET {set} FROM ({}) AS s WHERE {}",
            self.table,
            self.rows(),
            self.same_key()
        );
        if self.skip_unchanged {
            let _ok = write!(sql, " AND ({})", self.differs(|_, n| format!("s.c{n}")));
        }
        Some(sql)
    }

    pub(super) fn delete(&self) -> String {
        format!(
            "DELETE FROM {} AS t USING ({}) AS s WHERE {}",
            self.table,
            self.rows(),
            self.same_key()
        )
    }

    /// Fails by a division by zero if any of the keys exists. Its parameters are the key's columns.
    pub(super) fn probe(&self) -> Option<String> {
        let keys: Vec<&StatementColumn<'_>> = self.columns.iter().filter(|c| c.key).collect();
        if let [key] = keys.as_slice() {
            return Some(format!(
                "SELECT 1 / (count(*) = 0)::int4 FROM {} AS t WHERE t.{} = ANY($1::{}[])",
                self.table,
                names::ident(key.name),
                key.pg.base.sql
            ));
        }
        let arrays = names::list(keys.iter().enumerate(), |out, (n, c)| {
            let _ok = write!(out, "${}::{}[]", n + 1, c.pg.base.sql);
        });
        let aliases = names::list(0..keys.len(), |out, n| {
            let _ok = write!(out, "c{n}");
        });
        let mut on = String::new();
        for (n, key) in keys.iter().enumerate() {
            let and = if n > 0 { " AND " } else { "" };
            let _ok = write!(on, "{and}t.{} = u.c{n}", names::ident(key.name));
        }
        (!keys.is_empty()).then(|| {
            format!(
                "SELECT 1 / (count(*) = 0)::int4 FROM unnest({arrays}) AS u({aliases}) \
                 JOIN {} AS t ON {on}",
                self.table
            )
        })
    }

    /// Fixes the columns' types for the COPY behind it, in the same transaction. The types are part of
    /// its text, so that a plan that knows other types has another statement.
    pub(super) fn guard(&self) -> String {
        let types = names::list(&self.columns, |out, c| {
            let _ok = write!(out, "{}", c.pg.base.value.oid);
        });
        format!("SELECT {} FROM {} LIMIT 0 /* {types} */", self.names(), self.table)
    }

    /// Fails by a division by zero if a column's type is not the one the plan was made for. Behind the
    /// guard, which holds the table as it is.
    pub(super) fn types(&self) -> String {
        let columns = names::list(&self.columns, |out, c| {
            let _ok = write!(out, "({}, {}::oid)", names::literal(c.name), c.pg.declared);
        });
        format!(
            "SELECT 1 / (count(*) = {})::int4 FROM pg_catalog.pg_attribute \
             WHERE attrelid = {}::pg_catalog.regclass AND attnum > 0 AND NOT attisdropped \
             AND (attname::text, atttypid) IN ({columns})",
            self.columns.len(),
            names::literal(&self.table)
        )
    }

    pub(super) fn copy(&self, binary: bool) -> String {
        let format = if binary { " (FORMAT binary)" } else { "" };
        format!("COPY {} ({}) FROM STDIN{format}", self.table, self.names())
    }

    fn target(&self) -> String {
        let keys = names::list(self.columns.iter().filter(|c| c.key), |out, c| {
            names::push_ident(out, c.name);
        });
        if keys.is_empty() { keys } else { format!(" ({keys})") }
    }

    /// Columns that an existing row gets, by their place. Identity columns cannot be updated.
    fn changed(&self) -> impl Iterator<Item = (usize, &StatementColumn<'_>)> {
        self.columns.iter().enumerate().filter(|(_, c)| !c.key && !c.pg.identity_always)
    }

    fn same_key(&self) -> String {
        let mut sql = String::new();
        for (n, key) in self.columns.iter().enumerate().filter(|(_, c)| c.key) {
            let and = if sql.is_empty() { "" } else { " AND " };
            let _ok = write!(sql, "{and}t.{} = s.c{n}", names::ident(key.name));
        }
        if sql.is_empty() { "false".to_owned() } else { sql }
    }

    fn differs(&self, new: impl Fn(&StatementColumn<'_>, usize) -> String) -> String {
        let mut sql = String::new();
        for (n, column) in self.changed() {
            let or = if sql.is_empty() { "" } else { " OR " };
            let cast = if compares(column.pg) { "" } else { "::text" };
            let (old, new) = (names::ident(column.name), new(column, n));
            let _ok = write!(sql, "{or}t.{old}{cast} IS DISTINCT FROM {new}{cast}");
        }
        sql
    }
}

/// Whether the new row is newer than the one that is there.
pub(super) fn newer(version: &str) -> String {
    let version = names::ident(version);
    format!("t.{version} IS NULL OR t.{version} < EXCLUDED.{version}")
}

/// Whether the type's `=` says that nothing has changed. Some have none, some compare only areas or
/// ignore case: those are compared as text.
fn compares(column: &PgColumn) -> bool {
    const FIRST_OF_USERS: u32 = 16_384;
    const NO: [&str; 9] =
        ["json", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle"];
    let value = &column.base.value;
    let value = value.element.as_deref().unwrap_or(value);
    let of_users = value.kind == 'b' && value.oid >= FIRST_OF_USERS;
    !(NO.contains(&value.name.as_str()) || value.kind == 'c' || of_users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::catalog::PgType;
    use crate::postgres::value::ColumnType;

    fn pg(name: &str, sql: &str) -> PgColumn {
        let value = ColumnType::scalar(1, name, 'b');
        let base = PgType { value, sql: sql.to_owned(), has_array: true };
        PgColumn { base, declared: 1, identity_always: false }
    }

    fn statement<'a>(id: &'a PgColumn, doc: &'a PgColumn) -> Statement<'a> {
        Statement {
            table: "\"t\"".to_owned(),
            columns: vec![
                StatementColumn { name: "id", pg: id, binary: true, key: true },
                StatementColumn { name: "doc", pg: doc, binary: false, key: false },
            ],
            required: Vec::new(),
            skip_unchanged: false,
            version: None,
            computed: Vec::new(),
            others: Vec::new(),
        }
    }

    #[test]
    fn each_mode_has_its_statement() {
        let (id, doc) = (pg("int8", "bigint"), pg("json", "json"));
        let mut s = statement(&id, &doc);
        let rows = "SELECT u.c0 AS c0, CAST(u.c1 AS json) AS c1 \
                    FROM unnest($1::bigint[], $2::text[]) AS u(c0, c1)";
        let insert = format!("INSERT INTO \"t\" AS t (\"id\", \"doc\") {rows}");
        assert_eq!(s.insert(), insert);
        assert_eq!(s.insert_ignore(), format!("{insert} ON CONFLICT (\"id\") DO NOTHING"));
        let upsert =
            format!("{insert} ON CONFLICT (\"id\") DO UPDATE SET \"doc\" = EXCLUDED.\"doc\"");
        assert_eq!(s.upsert(), upsert);
        assert_eq!(
            s.update().unwrap(),
            format!(
                "UPDATE \"t\" AS t SET \"doc\" = s.c1 FROM ({rows}) AS s WHERE t.\"id\" = s.c0"
            )
        );
        s.skip_unchanged = true;
        assert_eq!(
            s.upsert(),
            format!("{upsert} WHERE t.\"doc\"::text IS DISTINCT FROM EXCLUDED.\"doc\"::text")
        );
        s.columns.truncate(1);
        assert!(s.upsert().ends_with("ON CONFLICT (\"id\") DO NOTHING"));
        assert_eq!(s.update(), None);
        assert!(s.delete().ends_with("AS s WHERE t.\"id\" = s.c0"));
    }

    #[test]
    fn identity_columns_are_overridden_and_never_updated() {
        let (mut id, mut doc) = (pg("int8", "bigint"), pg("int4", "integer"));
        id.identity_always = true;
        doc.identity_always = true;
        let s = statement(&id, &doc);
        assert!(s.insert().contains(") OVERRIDING SYSTEM VALUE SELECT"));
        assert!(s.upsert().ends_with("DO NOTHING"));
    }

    #[test]
    fn the_newest_version_of_a_key_is_chosen_and_compared() {
        let (id, doc) = (pg("int8", "bigint"), pg("int4", "integer"));
        let mut s = statement(&id, &doc);
        s.version = Some("doc");
        let upsert = s.upsert();
        let choice = "SELECT DISTINCT ON (v.c0) v.c0, v.c1, v.place";
        assert!(upsert.contains(choice), "{upsert}");
        assert!(upsert.contains("ORDER BY v.c0, v.c1 DESC NULLS LAST, v.place"), "{upsert}");
        let guard = "WHERE t.\"doc\" IS NULL OR t.\"doc\" < EXCLUDED.\"doc\"";
        assert!(upsert.ends_with(guard), "{upsert}");
        s.skip_unchanged = true;
        assert!(s.upsert().contains("EXCLUDED.\"doc\") AND (t.\"doc\" IS DISTINCT"));
    }

    #[test]
    fn expressions_see_every_column_by_its_name() {
        let (id, doc) = (pg("int8", "bigint"), pg("json", "json"));
        let mut s = statement(&id, &doc);
        s.computed = vec![("sum", "id + other")];
        s.others = vec![("sum", "integer"), ("other", "integer")];
        assert_eq!(
            s.insert(),
            "INSERT INTO \"t\" AS t (\"id\", \"doc\", \"sum\") SELECT m.\"id\" AS c0, \
             m.\"doc\" AS c1, (id + other) AS c2 FROM (SELECT r.c0 AS \"id\", r.c1 AS \"doc\", \
             NULL::integer AS \"sum\", NULL::integer AS \"other\" FROM (SELECT u.c0 AS c0, \
             CAST(u.c1 AS json) AS c1 FROM unnest($1::bigint[], $2::text[]) AS u(c0, c1)) AS r) AS m"
        );
        assert!(s.upsert().ends_with("\"doc\" = EXCLUDED.\"doc\", \"sum\" = EXCLUDED.\"sum\""));
    }

    #[test]
    fn a_probe_asks_for_the_key_alone() {
        let (id, doc) = (pg("int8", "bigint"), pg("int4", "integer"));
        let mut s = statement(&id, &doc);
        assert!(s.probe().unwrap().ends_with("WHERE t.\"id\" = ANY($1::bigint[])"));
        for column in &mut s.columns {
            column.key = true;
        }
        assert!(s.probe().unwrap().ends_with("ON t.\"id\" = u.c0 AND t.\"doc\" = u.c1"));
    }
}
