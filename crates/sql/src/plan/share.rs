//! Plans by content: forms of record that fill the same columns have one plan, and one statement.

use super::{Planner, next_plan};
use crate::table::Table;
use crate::wanted::Wanted;
use crate::write::{PlanColumn, Special, WriteMode, WritePlan};
use data::Rows;
use std::sync::Arc;

impl Planner {
    /// The plan with these columns, made if there is none yet.
    pub(super) fn share(
        &mut self,
        table: &Arc<Table>,
        columns: &[(usize, Wanted)],
        mode: WriteMode,
        special: Option<Arc<Special>>,
    ) -> Arc<WritePlan> {
        let known = self.shared.iter().find(|plan| {
            plan.mode == mode
                && plan.special == special
                && Arc::ptr_eq(&plan.table, table)
                && plan.columns.len() == columns.len()
                && plan.columns.iter().zip(columns).all(|(a, (target, b))| {
                    a.target == *target && a.source == b.source && a.schema == b.schema
                })
        });
        if let Some(plan) = known {
            return plan.clone();
        }
        let mut defaults = Rows::default();
        let replace = self.settings.config.replace_null_with_default;
        let plan_columns = columns.iter().map(|(target, wanted)| {
            let default = wanted.schema.as_ref().filter(|_| replace).and_then(|s| s.default());
            PlanColumn {
                target: *target,
                source: wanted.source.clone(),
                schema: wanted.schema.clone(),
                null_default: default
                    .map(|value| defaults.put_value(wanted.schema.as_deref(), value)),
            }
        });
        let plan_columns = plan_columns.collect();
        let keys = columns.iter().enumerate().filter(|(_, (_, w))| w.key).map(|(i, _)| i);
        let plan = Arc::new(WritePlan {
            id: next_plan(),
            table: table.clone(),
            mode,
            columns: plan_columns,
            key: keys.collect(),
            defaults,
            skip_unchanged: self.settings.config.skip_unchanged,
            special,
        });
        self.shared.push(plan.clone());
        plan
    }
}
