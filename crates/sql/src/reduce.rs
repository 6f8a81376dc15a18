//! Many operations on one key become the few that leave the same row behind.
//!
//! Within a transaction the last operation on a key decides, deletes included, so the number of
//! statements does not depend on how operations alternate, and no statement meets a key twice.
//! What is kept is sorted by the bytes of the key.
//!
//! Invariant (property test): the outcome is that of the operations one after the other.

use crate::key::prefix;
use crate::write::WriteMode;
use std::ops::Range;

/// One operation on a key. Operations are given in the order of the records.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    /// The number of the table; keys of different tables have nothing to do with each other.
    pub table: u32,
    /// The number of the group (rows of one plan) and the row's place in it.
    pub group: u32,
    pub index: u32,
    /// Place in the order of the records.
    seq: u32,
    prefix: u64,
    key: Range<u32>,
}

/// What the reduction must know of a group.
#[derive(Clone, Debug)]
pub(crate) struct GroupForm<'a> {
    pub mode: WriteMode,
    /// The columns it writes, ascending.
    pub targets: &'a [usize],
    /// Nothing of an older row is left after an upsert.
    pub whole_row: bool,
    /// The database chooses among upserts of a key: all of them are kept.
    pub versioned: bool,
}

/// Rows of a group to write in a phase; phases are carried out in order, deletes are phase 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub phase: u32,
    pub group: u32,
    /// Places in the group.
    pub rows: Vec<u32>,
}

/// Collects operations; its buffers are used again for the next transaction.
#[derive(Debug, Default)]
pub(crate) struct Reducer {
    ops: Vec<Op>,
    keys: Vec<u8>,
}

impl Reducer {
    pub(crate) fn clear(&mut self) {
        self.ops.clear();
        self.keys.clear();
    }

    /// Adds an operation whose key bytes `write` appends.
    pub(crate) fn push(
        &mut self,
        table: u32,
        group: u32,
        index: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.keys.len();
        write(&mut self.keys);
        let prefix = prefix(self.keys.get(start..).unwrap_or_default());
        let key = start as u32..self.keys.len() as u32;
        // Not the number of operations: some may have been forgotten.
        let seq = self.ops.last().map_or(0, |op| op.seq + 1);
        self.ops.push(Op { table, group, index, seq, prefix, key });
    }

    /// Forgets what has been done to a table so far, because the table is emptied.
    pub(crate) fn forget_table(&mut self, table: u32) {
        self.ops.retain(|op| op.table != table);
    }

    /// What to write, in phases. `forms` is indexed by group.
    pub(crate) fn reduce(&mut self, forms: &[GroupForm<'_>]) -> Vec<Kept> {
        let keys = &self.keys;
        let bytes = |op: &Op| keys.get(op.key.start as usize..op.key.end as usize);
        self.ops.sort_unstable_by(|a, b| {
            (a.table, a.prefix)
                .cmp(&(b.table, b.prefix))
                .then_with(|| bytes(a).cmp(&bytes(b)).then_with(|| a.seq.cmp(&b.seq)))
        });
        let mut out = Output::default();
        let same =
            |a: &Op, b: &Op| (a.table, a.prefix) == (b.table, b.prefix) && bytes(a) == bytes(b);
        let mut survivors = Vec::new();
        for run in self.ops.chunk_by(same) {
            match run {
                // The common case: one operation on the key.
                [op] => out.add(u32::from(!is_delete(forms, op)), op),
                _ => reduce_key(run, forms, &mut survivors, &mut out),
            }
        }
        out.finish(forms)
    }
}

fn is_delete(forms: &[GroupForm<'_>], op: &Op) -> bool {
    mode(forms, op) == WriteMode::Delete
}

fn is_versioned(forms: &[GroupForm<'_>], op: &Op) -> bool {
    forms.get(op.group as usize).is_some_and(|form| form.versioned)
}

fn mode(forms: &[GroupForm<'_>], op: &Op) -> WriteMode {
    forms.get(op.group as usize).map_or(WriteMode::Insert, |form| form.mode)
}

/// All operations on one key, in order, at least two.
fn reduce_key<'a>(
    run: &'a [Op],
    forms: &[GroupForm<'_>],
    survivors: &mut Vec<&'a Op>,
    out: &mut Output,
) {
    survivors.clear();
    let last_delete = run.iter().rposition(|op| is_delete(forms, op));
    let after = last_delete.map_or(0, |at| at + 1);
    let rest = run.get(after..).unwrap_or_default();
    match rest.first().map(|op| mode(forms, op)) {
        // After a delete there is no row to update.
        Some(WriteMode::Update) if last_delete.is_some() => {}
        Some(WriteMode::Upsert) if rest.iter().any(|op| is_versioned(forms, op)) => {
            survivors.extend(rest);
        }
        Some(WriteMode::Upsert | WriteMode::Update) => {
            for op in rest.iter().rev() {
                if !survivors.iter().any(|later| covers(forms, later, op)) {
                    survivors.push(op);
                }
            }
            survivors.reverse();
        }
        Some(WriteMode::InsertIgnore) => survivors.extend(rest.first()),
        _ => survivors.extend(rest),
    }
    if let Some(delete) = last_delete.and_then(|at| run.get(at)) {
        let replaced = survivors.first().is_some_and(|op| {
            forms.get(op.group as usize).is_some_and(|form| {
                form.mode == WriteMode::Upsert && form.whole_row && !form.versioned
            })
        });
        if !replaced {
            out.add(0, delete);
        }
    }
    let (mut place, mut before) = (0, None);
    for op in survivors.iter() {
        let in_order = matches!(mode(forms, op), WriteMode::Upsert | WriteMode::Update);
        // Statements that choose by version may meet a key more than once.
        let together = is_versioned(forms, op) && before == Some(op.group);
        place += u32::from(before.is_some() && !together);
        before = Some(op.group);
        out.add(if in_order { 1 + place } else { 1 }, op);
    }
}

/// Whether `later` writes every column that `op` writes.
fn covers(forms: &[GroupForm<'_>], later: &Op, op: &Op) -> bool {
    if later.group == op.group {
        return true;
    }
    let targets = |op: &Op| forms.get(op.group as usize).map_or(&[][..], |form| form.targets);
    let wide = targets(later);
    targets(op).iter().all(|target| wide.binary_search(target).is_ok())
}

#[derive(Default)]
struct Output {
    kept: Vec<Kept>,
    last: usize,
}

impl Output {
    fn add(&mut self, phase: u32, op: &Op) {
        let fits = |kept: &Kept| kept.phase == phase && kept.group == op.group;
        if !self.kept.get(self.last).is_some_and(fits) {
            self.last = self.kept.iter().position(fits).unwrap_or(self.kept.len());
            if self.last == self.kept.len() {
                self.kept.push(Kept { phase, group: op.group, rows: Vec::new() });
            }
        }
        if let Some(kept) = self.kept.get_mut(self.last) {
            kept.rows.push(op.index);
        }
    }

    fn finish(mut self, forms: &[GroupForm<'_>]) -> Vec<Kept> {
        for kept in &mut self.kept {
            let form = forms.get(kept.group as usize);
            if form.is_some_and(|f| matches!(f.mode, WriteMode::Insert | WriteMode::InsertIgnore)) {
                // Inserts go in the order of the records, as if nothing had been reduced.
                kept.rows.sort_unstable();
            }
        }
        self.kept.sort_by_key(|kept| (kept.phase, kept.group));
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Row = [Option<u32>; 3];
    type Tables = BTreeMap<u8, Row>;

    /// Groups: 0 deletes; 1.. write columns {0,1,2}, {0}, {1}, {0,1}.
    const TARGETS: [&[usize]; 5] = [&[], &[0, 1, 2], &[0], &[1], &[0, 1]];

    fn forms(mode: WriteMode) -> Vec<GroupForm<'static>> {
        TARGETS
            .iter()
            .enumerate()
            .map(|(group, targets)| GroupForm {
                mode: if group == 0 { WriteMode::Delete } else { mode },
                targets,
                whole_row: group == 1,
                versioned: false,
            })
            .collect()
    }

    /// Applies one operation; a repeated key of a plain insert is told by the result.
    fn apply(tables: &mut Tables, mode: WriteMode, key: u8, targets: &[usize], value: u32) -> bool {
        let there = tables.contains_key(&key);
        match mode {
            WriteMode::Delete => {
                tables.remove(&key);
                return true;
            }
            WriteMode::Update if !there => return true,
            WriteMode::InsertIgnore if there => return true,
            WriteMode::Insert if there => return false,
            _ => {}
        }
        let row = tables.entry(key).or_default();
        for target in targets {
            row[*target] = Some(value);
        }
        true
    }

    fn check(mode: WriteMode, start: &[u8], ops: &[(u8, usize)]) {
        let forms = forms(mode);
        let mut expected: Tables = start.iter().map(|k| (*k, [Some(999); 3])).collect();
        let mut reduced = expected.clone();
        let mut reducer = Reducer::default();
        let mut groups: Vec<Vec<(u8, u32)>> = vec![Vec::new(); TARGETS.len()];
        let mut ok = true;
        for (value, (key, group)) in ops.iter().enumerate() {
            ok &= apply(&mut expected, forms[*group].mode, *key, TARGETS[*group], value as u32);
            let index = groups[*group].len() as u32;
            groups[*group].push((*key, value as u32));
            reducer.push(0, *group as u32, index, |out| out.push(*key));
        }
        let kept = reducer.reduce(&forms);
        let mut reduced_ok = true;
        for part in &kept {
            let group = part.group as usize;
            let mut keys = Vec::new();
            for row in &part.rows {
                let (key, value) = groups[group][*row as usize];
                keys.push(key);
                reduced_ok &= apply(&mut reduced, forms[group].mode, key, TARGETS[group], value);
            }
            if !matches!(forms[group].mode, WriteMode::Insert | WriteMode::InsertIgnore) {
                assert!(keys.is_sorted_by(|a, b| a < b), "once a key, in order: {keys:?}");
            }
        }
        assert!(kept.is_sorted_by_key(|part| part.phase));
        // A repeated key fails either way; then the transaction is narrowed, not compared.
        if ok {
            assert!(reduced_ok);
            assert_eq!(reduced, expected);
        }
    }

    proptest! {
        #[test]
        fn the_outcome_is_that_of_one_after_the_other(
            mode in prop_oneof![
                Just(WriteMode::Upsert), Just(WriteMode::Update),
                Just(WriteMode::InsertIgnore), Just(WriteMode::Insert),
            ],
            start in proptest::collection::vec(0u8..5, 0..4),
            ops in proptest::collection::vec((0u8..5, 0usize..5), 0..40),
        ) {
            check(mode, &start, &ops);
        }
    }

    #[test]
    fn b048_alternating_deletes_and_upserts_are_two_statements() {
        let forms = forms(WriteMode::Upsert);
        let mut reducer = Reducer::default();
        for n in 0..250u32 {
            reducer.push(0, 0, n, |out| out.extend_from_slice(&n.to_be_bytes()));
            reducer.push(0, 1, n, |out| out.extend_from_slice(&(n + 1000).to_be_bytes()));
        }
        let kept = reducer.reduce(&forms);
        let sizes: Vec<_> = kept.iter().map(|k| (k.phase, k.group, k.rows.len())).collect();
        assert_eq!(sizes, [(0, 0, 250), (1, 1, 250)]);
    }

    #[test]
    fn tables_do_not_share_keys() {
        let forms = forms(WriteMode::Upsert);
        let mut reducer = Reducer::default();
        for table in 0..2 {
            reducer.push(table, 1, table, |out| out.push(7));
        }
        assert_eq!(reducer.reduce(&forms), [Kept { phase: 1, group: 1, rows: vec![0, 1] }]);
    }
}
