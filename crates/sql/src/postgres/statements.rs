//! The prepared statements of one connection.
//!
//! Place in the data path: between the plans, which know SQL text, and the pipeline, which binds
//! names. A statement is parsed in the pipeline that first needs it.
//!
//! Invariants: a name is never used twice, because a failed pipeline leaves open which of its
//! statements exist; names that are not needed any more are closed with the next pipeline, which is
//! no error for those that do not exist. Behind a transaction pooler nothing has a name.

use super::wire::Pipeline;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// Statements kept on the server; each plan has one to three.
const STATEMENTS_MAX: usize = 256;

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    used: u64,
}

/// Names by SQL text.
#[derive(Debug)]
pub(super) struct Statements {
    named: bool,
    /// Part of every name: behind a pooler that nobody told us of, another session's statement must
    /// never be taken for ours.
    token: u64,
    entries: HashMap<Arc<str>, Entry>,
    /// Also the source of names.
    clock: u64,
    doomed: Vec<Arc<str>>,
}

impl Statements {
    pub(super) fn new(named: bool) -> Statements {
        let token = RandomState::new().build_hasher().finish();
        Statements { named, token, entries: HashMap::new(), clock: 0, doomed: Vec::new() }
    }

    /// False behind a transaction pooler.
    pub(super) fn named(&self) -> bool {
        self.named
    }

    /// Closes what is not needed any more; first of all in a pipeline.
    pub(super) fn close_doomed(&mut self, pipeline: &mut Pipeline) {
        for name in self.doomed.drain(..) {
            pipeline.close_statement(&name);
        }
    }

    /// The name to bind; parses the statement where it is new, and then adds it to `parsed`.
    pub(super) fn prepare(
        &mut self,
        pipeline: &mut Pipeline,
        sql: &Arc<str>,
        parsed: &mut Vec<Arc<str>>,
    ) -> Arc<str> {
        if !self.named {
            pipeline.parse("", sql, &[]);
            return Arc::from("");
        }
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(sql) {
            entry.used = self.clock;
            return entry.name.clone();
        }
        self.make_room();
        let name: Arc<str> = format!("copycat_{:x}_{}", self.token, self.clock).into();
        pipeline.parse(&name, sql, &[]);
        self.entries.insert(sql.clone(), Entry { name: name.clone(), used: self.clock });
        parsed.push(sql.clone());
        name
    }

    /// The oldest statement that no pipeline of the moment uses: two pipelines are far fewer.
    fn make_room(&mut self) {
        if self.entries.len() < STATEMENTS_MAX {
            return;
        }
        let oldest = self.entries.iter().min_by_key(|(_, e)| e.used).map(|(sql, _)| sql.clone());
        if let Some(entry) = oldest.and_then(|sql| self.entries.remove(&sql)) {
            self.doomed.push(entry.name);
        }
    }

    /// Statements whose pipeline failed, or was never sent: whether they exist is not known.
    pub(super) fn forget(&mut self, parsed: &[Arc<str>]) {
        for sql in parsed {
            if let Some(entry) = self.entries.remove(sql) {
                self.doomed.push(entry.name);
            }
        }
    }

    /// All statements, as their tables may have changed.
    pub(super) fn forget_all(&mut self) {
        self.doomed.extend(self.entries.drain().map(|(_, entry)| entry.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_parsed_once_and_never_again_under_its_old_name() {
        let mut statements = Statements::new(true);
        let (mut pipeline, mut parsed) = (Pipeline::new(), Vec::new());
        let sql: Arc<str> = "SELECT 1".into();
        let first = statements.prepare(&mut pipeline, &sql, &mut parsed);
        assert_eq!(statements.prepare(&mut pipeline, &sql, &mut parsed), first);
        assert_eq!(parsed.len(), 1);
        statements.forget(&parsed);
        assert_ne!(statements.prepare(&mut pipeline, &sql, &mut parsed), first);
        assert_eq!(statements.doomed, [first]);
    }

    #[test]
    fn the_number_of_statements_is_limited() {
        let mut statements = Statements::new(true);
        let (mut pipeline, mut parsed) = (Pipeline::new(), Vec::new());
        for n in 0..STATEMENTS_MAX + 10 {
            let sql: Arc<str> = format!("SELECT {n}").into();
            statements.prepare(&mut pipeline, &sql, &mut parsed);
        }
        assert_eq!(statements.entries.len(), STATEMENTS_MAX);
        assert_eq!(statements.doomed.len(), 10);
        statements.close_doomed(&mut pipeline);
        assert!(statements.doomed.is_empty());
    }

    #[test]
    fn sessions_never_share_a_name() {
        let sql: Arc<str> = "SELECT 1".into();
        let name = || {
            let (mut pipeline, mut parsed) = (Pipeline::new(), Vec::new());
            Statements::new(true).prepare(&mut pipeline, &sql, &mut parsed)
        };
        assert_ne!(name(), name());
    }

    #[test]
    fn nothing_has_a_name_behind_a_pooler() {
        let mut statements = Statements::new(false);
        let (mut pipeline, mut parsed) = (Pipeline::new(), Vec::new());
        assert_eq!(&*statements.prepare(&mut pipeline, &"SELECT 1".into(), &mut parsed), "");
        assert!(parsed.is_empty());
    }
}
