//! Moving offset rows: the first statements of every transaction.
//!
//! Place in the data path: one statement per partition, in the order that all transactions use, so
//! that a competing owner waits or fails before it has written anything. A row that is not where we
//! left it makes the statement divide by zero, which ends the whole pipeline in the server; only a
//! row that is missing passes, so the counts are checked afterwards as well.

use super::building::{Building, Step};
use super::names;
use super::wire::{Format, Param, Reply};
use crate::database::{DbError, DbErrorKind};
use crate::table::TableName;
use crate::write::Advance;
use std::sync::Arc;

/// `1/(epoch-epoch)` cannot be computed before the row is read; a plain `1/0` would be.
pub(super) fn sql(offsets: &TableName) -> String {
    format!(
        "UPDATE {} SET next_offset = CASE WHEN next_offset = $4::int8 AND epoch = $5::int8 \
         THEN $6::int8 ELSE 1 / (epoch - epoch) END, updated_at = now() \
         WHERE owner = $1::text AND topic = $2::text AND partition = $3::int4",
        names::table(offsets)
    )
}

/// Adds the statements for all partitions.
pub(super) fn push(building: &mut Building<'_>, sql: &Arc<str>, owner: &str, advances: &[Advance]) {
    for (n, advance) in advances.iter().enumerate() {
        let name = building.prepare(sql);
        let params = [
            Param::Text(owner.as_bytes()),
            Param::Text(advance.tp.topic.as_bytes()),
            Param::Binary(&advance.tp.partition.to_be_bytes()),
            Param::Binary(&advance.from.to_be_bytes()),
            Param::Binary(&advance.epoch.to_be_bytes()),
            Param::Binary(&advance.to.to_be_bytes()),
        ];
        building.pipeline.bind(&name, &params, Format::Binary).execute(0);
        building.steps.push(Step::Advance(n));
    }
}

/// The error of an advance that found another offset or epoch.
pub(super) fn stale(advance: Option<&Advance>) -> DbError {
    let text = match advance {
        Some(a) => format!(
            "the stored position of {} is not {} under epoch {}: another owner or a reset has \
             moved it",
            a.tp, a.from, a.epoch
        ),
        None => "a stored position has moved".to_owned(),
    };
    DbError::new(DbErrorKind::Stale, text)
}

/// A row that is not there passes the server; rows are never deleted, so someone else did.
pub(super) fn check(reply: &Reply, first: usize, advances: &[Advance]) -> Result<(), DbError> {
    let missing = advances.iter().enumerate().find(|(n, _)| reply.row_count(first + n) != 1);
    match missing {
        None => Ok(()),
        Some((_, a)) => Err(DbError::new(
            DbErrorKind::Stale,
            format!("the stored position of {} is missing: its row was deleted", a.tp),
        )
        .hint("set next_offset to null and raise epoch to reset a position; never delete the row")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_division_depends_on_the_row() {
        let sql = sql(&TableName { schema: Some("s".to_owned()), name: "o".to_owned() });
        assert!(sql.starts_with("UPDATE \"s\".\"o\" SET"));
        assert!(sql.contains("1 / (epoch - epoch)"));
    }
}
