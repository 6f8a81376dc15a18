//! The SQL of a write plan: one statement for one row, made once per plan.
//!
//! Parameter `?n` is column `n - 1` of the plan, whatever the mode, so that binding is the same for
//! all. A one-row statement is as fast as one of a hundred rows, and its errors name their row.

use super::catalogue::{quote, quote_table};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::write::{WriteMode, WritePlan};
use std::fmt::Write;

/// The statement; `None` where the mode has nothing to do (an update of key columns alone).
pub(super) fn sql(plan: &WritePlan) -> DbResult<Option<String>> {
    let names = names(plan)?;
    let is_key = |index: &usize| plan.key.contains(index);
    let others: Vec<usize> = (0..names.len()).filter(|i| !is_key(i)).collect();
    let keys: Vec<usize> = plan.key.iter().copied().filter(|i| *i < names.len()).collect();
    let table = quote_table(&plan.table.name);
    let name = |i: &usize| names.get(*i).map_or("", String::as_str);
    let equals = |list: &[usize], glue: &str| {
        list.iter().map(|i| format!("{} = ?{}", name(i), i + 1)).collect::<Vec<_>>().join(glue)
    };
    let target = || keys.iter().map(name).collect::<Vec<_>>().join(", ");
    if keys.is_empty() && matches!(plan.mode, WriteMode::Upsert | WriteMode::Update) {
        return Err(no_key(plan));
    }
    Ok(match plan.mode {
        WriteMode::Insert => Some(insert(&table, &names)),
        WriteMode::InsertIgnore if keys.is_empty() => {
            Some(insert(&table, &names) + " ON CONFLICT DO NOTHING")
        }
        WriteMode::InsertIgnore => {
            Some(format!("{} ON CONFLICT ({}) DO NOTHING", insert(&table, &names), target()))
        }
        WriteMode::Upsert if others.is_empty() => {
            Some(format!("{} ON CONFLICT ({}) DO NOTHING", insert(&table, &names), target()))
        }
        WriteMode::Upsert => {
            let list = |form: fn(&str) -> String, glue: &str| {
                others.iter().map(|i| form(name(i))).collect::<Vec<_>>().join(glue)
            };
            let set = list(|n| format!("{n} = excluded.{n}"), ", ");
            let mut sql = insert_over(plan, &table, &names, &keys);
            // Writing to a string cannot fail.
            let _ok = write!(sql, " ON CONFLICT ({}) DO UPDATE SET {set}", target());
            if plan.skip_unchanged {
                let changed = list(|n| format!("{n} IS NOT excluded.{n}"), " OR ");
                let _ok = write!(sql, " WHERE {changed}");
            }
            Some(sql)
        }
        WriteMode::Update if others.is_empty() => None,
        WriteMode::Update => Some(format!(
            "UPDATE {table} SET {} WHERE {}",
            equals(&others, ", "),
            equals(&keys, " AND ")
        )),
        WriteMode::Delete => {
            let all: Vec<usize> = (0..names.len()).collect();
            if all.is_empty() {
                return Err(no_key(plan));
            }
            Some(format!("DELETE FROM {table} WHERE {}", equals(&all, " AND ")))
        }
    })
}

fn insert(table: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("INSERT INTO {table} DEFAULT VALUES");
    }
    let values: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", "))
}

/// The insert of an upsert. NOT NULL is checked before the conflict is found, so a row that is there
/// lends the values that it keeps; a row that is not there lacks them, as it should.
fn insert_over(plan: &WritePlan, table: &str, names: &[String], keys: &[usize]) -> String {
    let required: Vec<String> = plan.required().map(quote).collect();
    if required.is_empty() {
        return insert(table, names);
    }
    let values: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let lent: Vec<String> = required.iter().map(|name| format!("o.{name}")).collect();
    let on = keys.iter().filter_map(|i| names.get(*i).map(|name| format!("o.{name} = ?{}", i + 1)));
    // Without WHERE the parser would take ON CONFLICT for a condition of the join.
    format!(
        "INSERT INTO {table} ({}, {}) SELECT {}, {} FROM (SELECT 1) LEFT JOIN {table} AS o ON {} \
         WHERE true",
        names.join(", "),
        required.join(", "),
        values.join(", "),
        lent.join(", "),
        on.collect::<Vec<_>>().join(" AND ")
    )
}

fn names(plan: &WritePlan) -> DbResult<Vec<String>> {
    let name = |column| plan.target(column).map(|c| quote(&c.name));
    plan.columns.iter().map(name).collect::<Option<Vec<_>>>().ok_or_else(|| {
        DbError::new(DbErrorKind::Bug, "a plan names a column that its table does not have")
    })
}

/// Without a key, `UPDATE` and `DELETE` would touch every row.
fn no_key(plan: &WritePlan) -> DbError {
    let (mode, table) = (plan.mode, &plan.table.name);
    DbError::new(DbErrorKind::Bug, format!("the {mode:?} plan for {table} has no key"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Table, TableName};
    use crate::write::{PlanColumn, Source};
    use data::Rows;
    use std::sync::Arc;

    fn plan(mode: WriteMode, columns: usize, key: &[usize], skip_unchanged: bool) -> WritePlan {
        let column = |name: &str| Column {
            name: name.to_owned(),
            type_name: String::new(),
            nullable: true,
            has_default: false,
            generated: false,
            json: false,
        };
        let source = |target| PlanColumn {
            target,
            source: Source::ValueField(target),
            schema: None,
            null_default: None,
        };
        WritePlan {
            id: 1,
            table: Arc::new(Table {
                name: TableName { schema: None, name: "t".to_owned() },
                columns: ["a", "b\"", "c"].map(column).to_vec(),
                unique_keys: Vec::new(),
                has_primary_key: false,
                is_view: false,
            }),
            mode,
            columns: (0..columns).map(source).collect(),
            key: key.to_vec(),
            defaults: Rows::default(),
            skip_unchanged,
            special: None,
        }
    }

    #[test]
    fn each_mode_has_its_statement() {
        let of = |mode, columns, key: &[usize], skip| sql(&plan(mode, columns, key, skip)).unwrap();
        assert_eq!(
            of(WriteMode::Insert, 2, &[], false).unwrap(),
            r#"INSERT INTO "t" ("a", "b""") VALUES (?1, ?2)"#
        );
        assert_eq!(
            of(WriteMode::InsertIgnore, 1, &[0], false).unwrap(),
            r#"INSERT INTO "t" ("a") VALUES (?1) ON CONFLICT ("a") DO NOTHING"#
        );
        assert_eq!(
            of(WriteMode::Upsert, 3, &[1], true).unwrap(),
            "INSERT INTO \"t\" (\"a\", \"b\"\"\", \"c\") VALUES (?1, ?2, ?3) ON CONFLICT (\"b\"\"\") \
             DO UPDATE SET \"a\" = excluded.\"a\", \"c\" = excluded.\"c\" \
             WHERE \"a\" IS NOT excluded.\"a\" OR \"c\" IS NOT excluded.\"c\""
        );
        assert_eq!(
            of(WriteMode::Update, 3, &[0], false).unwrap(),
            r#"UPDATE "t" SET "b""" = ?2, "c" = ?3 WHERE "a" = ?1"#
        );
        assert_eq!(of(WriteMode::Update, 1, &[0], false), None);
        assert_eq!(
            of(WriteMode::Delete, 1, &[0], false).unwrap(),
            r#"DELETE FROM "t" WHERE "a" = ?1"#
        );
    }

    #[test]
    fn a_row_that_is_there_lends_what_it_must_have() {
        let mut plan = plan(WriteMode::Upsert, 2, &[0], false);
        let mut table = (*plan.table).clone();
        table.columns[2].nullable = false;
        plan.table = Arc::new(table);
        assert_eq!(
            sql(&plan).unwrap().unwrap(),
            "INSERT INTO \"t\" (\"a\", \"b\"\"\", \"c\") SELECT ?1, ?2, o.\"c\" FROM (SELECT 1) \
             LEFT JOIN \"t\" AS o ON o.\"a\" = ?1 WHERE true ON CONFLICT (\"a\") \
             DO UPDATE SET \"b\"\"\" = excluded.\"b\"\"\""
        );
    }

    #[test]
    fn changes_without_a_key_are_refused() {
        for mode in [WriteMode::Upsert, WriteMode::Update] {
            assert_eq!(sql(&plan(mode, 2, &[], false)).unwrap_err().kind, DbErrorKind::Bug);
        }
        assert!(sql(&plan(WriteMode::Delete, 0, &[], false)).is_err());
    }
}
