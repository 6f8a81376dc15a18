//! Where in a batch values, or keys, begin otherwise than those before them.
//!
//! Place in the data path: noted while the fetched bytes are copied. So who wants to know which schemas a
//! batch's records name need not go over all its bytes first, which would cost more than reading them.
//!
//! Invariant: from one noted row to the next, all that are not null begin with the same bytes. Where
//! more change than are noted, each may begin as it likes.

/// So many bytes are compared.
const HEAD: usize = 5;
/// Rows that are noted at most.
const CHANGES_MAX: usize = 32;

#[derive(Clone, Debug, Default)]
pub(crate) struct Heads {
    changes: Vec<u32>,
    last: Option<[u8; HEAD]>,
    unknown: bool,
}

impl Heads {
    /// Of the next row that is not null.
    #[inline]
    pub(crate) fn note(&mut self, row: usize, bytes: &[u8]) {
        let head = bytes.first_chunk::<HEAD>();
        if self.unknown || (head.is_some() && head == self.last.as_ref()) {
            return;
        }
        self.last = head.copied();
        self.push(row as u32);
    }

    /// From here on nothing is known.
    pub(crate) fn give_up(&mut self) {
        *self = Heads { unknown: true, ..Heads::default() };
    }

    fn push(&mut self, row: u32) {
        match self.changes.len() < CHANGES_MAX {
            true => self.changes.push(row),
            false => self.give_up(),
        }
    }

    /// The first row behind this one, which is not null, that may begin otherwise.
    pub(crate) fn next_change(&self, row: usize) -> Option<usize> {
        if self.unknown {
            return Some(row + 1);
        }
        let next = self.changes.partition_point(|change| *change as usize <= row);
        self.changes.get(next).map(|change| *change as usize)
    }

    /// Takes those of `rows` rows more behind the first `len`.
    pub(crate) fn append(&mut self, next: &Heads, len: usize) {
        if next.unknown {
            self.give_up();
        }
        for change in &next.changes {
            if !self.unknown {
                self.push(change + len as u32);
            }
        }
    }

    /// Those of the rows before this one.
    pub(crate) fn head(&self, to: usize) -> Heads {
        let before = self.changes.iter().filter(|change| (**change as usize) < to);
        Heads { changes: before.copied().collect(), ..*self }
    }

    /// Those of the rows from this one on.
    pub(crate) fn tail(&self, from: usize) -> Heads {
        let changes = self.changes.iter().filter_map(|change| change.checked_sub(from as u32));
        Heads { changes: changes.collect(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(rows: &[Option<&[u8]>]) -> Heads {
        let mut heads = Heads::default();
        for (row, bytes) in rows.iter().enumerate() {
            if let Some(bytes) = bytes {
                heads.note(row, bytes);
            }
        }
        heads
    }

    fn changes(heads: &Heads) -> Vec<Option<usize>> {
        (0..7).map(|row| heads.next_change(row)).collect()
    }

    #[test]
    fn rows_that_begin_otherwise_are_noted() {
        let (a, b): (&[u8], &[u8]) = (b"aaaaa1", b"aaaab");
        let heads = noted(&[None, Some(a), None, Some(a), Some(b), Some(b"aa"), Some(b"aa")]);
        let all = [Some(1), Some(4), Some(4), Some(4), Some(5), Some(6), None];
        assert_eq!(changes(&heads), all, "what is too short is like nothing");
        let tail = heads.tail(2);
        assert_eq!(changes(&tail)[..4], [Some(2), Some(2), Some(3), Some(4)]);
        let mut both = noted(&[Some(a), None, Some(b)]).head(2);
        both.append(&noted(&[None, Some(a), Some(a)]), 2);
        assert_eq!(changes(&both)[..5], [Some(3), Some(3), Some(3), None, None]);
    }

    #[test]
    fn more_changes_than_are_noted_leave_nothing_known() {
        let some: Vec<[u8; 1]> = (0..CHANGES_MAX as u8).map(|byte| [byte]).collect();
        let rows: Vec<Option<&[u8]>> = some.iter().map(|byte| Some(&byte[..])).collect();
        let mut heads = noted(&rows);
        assert_eq!(heads.next_change(CHANGES_MAX), None);
        let mut joined = heads.clone();
        heads.note(CHANGES_MAX, b"aaaaa");
        joined.append(&noted(&[Some(b"aaaaa")]), CHANGES_MAX);
        for heads in [&heads, &joined, &heads.tail(2)] {
            assert_eq!(changes(heads), (1..8).map(Some).collect::<Vec<_>>());
        }
        let mut known = noted(&[]);
        known.append(&heads, 0);
        assert_eq!(known.next_change(0), Some(1));
    }
}
