//! The binders of a task's members: one each, because they have rules of their own.
//!
//! Place in the data path: between what was accepted and the transaction. What the members write is
//! one transaction; a task of one member has one binder.

use crate::bind::{Binder, Bound, Given, Part};
use crate::config::ChangeEvents;
use crate::database::DbResult;
use crate::plan::Catalog;
use crate::settings::SinkSettings;
use crate::work::Accepted;
use crate::write::RejectRow;
use api::Tolerance;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Binders(Vec<Binder>);

impl Binders {
    pub(crate) fn new(members: &[Arc<SinkSettings>]) -> Binders {
        Binders(members.iter().map(|settings| Binder::new(settings.clone())).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Which change events a member opens.
    pub(crate) fn change_events(&self, member: usize) -> ChangeEvents {
        let binder = self.0.get(member);
        binder.map_or(ChangeEvents::Off, |binder| binder.planner.settings.config.change_events)
    }

    /// Binds the parts of a transaction, each by the rules of its member.
    ///
    /// # Errors
    /// As [`Binder::bind`].
    pub(crate) fn bind(
        &mut self,
        accepted: &Accepted,
        parts: &[Part],
        catalog: &mut dyn Catalog,
    ) -> DbResult<Bound> {
        let Accepted { batches, events, bad, .. } = accepted;
        let given = Given { batches, events, bad };
        if let [only] = self.0.as_mut_slice() {
            return only.bind(given, parts, catalog);
        }
        let mut all = Bound::default();
        for (member, binder) in self.0.iter_mut().enumerate() {
            let own = parts.iter().filter(|part| accepted.member(part.batch) == member);
            let own: Vec<Part> = own.cloned().collect();
            if own.is_empty() {
                continue;
            }
            let bound = binder.bind(given, &own, catalog)?;
            all.truncates.extend(bound.truncates);
            all.writes.extend(bound.writes);
            all.rejects.extend(bound.rejects);
            all.rows += bound.rows;
            all.ignored.extend(bound.ignored);
        }
        all.rejects.sort_by_key(|reject| (reject.batch, reject.reject.row));
        Ok(all)
    }

    /// The rejects that end the task: those of members that tolerate none.
    pub(crate) fn fatal<'a>(
        &self,
        accepted: &Accepted,
        rejects: &'a [RejectRow],
    ) -> Vec<&'a RejectRow> {
        let strict = |reject: &&RejectRow| {
            let binder = self.0.get(accepted.member(reject.batch));
            binder.is_some_and(|binder| binder.planner.settings.tolerance == Tolerance::None)
        };
        rejects.iter().filter(strict).collect()
    }

    /// Reads tables again; true: one is not what it was when plans were made.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn refresh(&mut self, catalog: &mut dyn Catalog) -> DbResult<bool> {
        let mut changed = false;
        for binder in &mut self.0 {
            changed |= binder.planner.refresh(catalog)?;
        }
        Ok(changed)
    }

    /// Forgets all plans.
    pub(crate) fn forget(&mut self) {
        self.0.iter_mut().for_each(|binder| binder.planner.forget());
    }
}
