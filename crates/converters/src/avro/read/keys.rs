//! Keys of maps that come more than once, and values of any shape.

use super::input::Failed;
use super::run::Run;
use data::{Cell, Rows, Width};
use std::hash::{BuildHasher, Hash, Hasher};

/// Pairs up to this number are compared each with each.
const SMALL: usize = 8;

impl Run<'_> {
    /// Of pairs on the stack with the same key, only the last stays, in the place of the first.
    pub(super) fn distinct(&mut self, mark: usize) {
        let pairs = self.scratch.stack_len().saturating_sub(mark) / 2;
        if pairs < 2 || (pairs > SMALL && !self.may_repeat(mark)) {
            return;
        }
        let (stack, rows) = (self.scratch.stack_from(mark), &*self.rows);
        let mut kept = 0;
        for at in 0..pairs {
            let (Some(key), Some(value)) = (stack.get(2 * at), stack.get(2 * at + 1)) else {
                break;
            };
            let (key, value) = (*key, *value);
            let same = (0..kept)
                .find(|old| stack.get(2 * old).is_some_and(|other| same_key(rows, *other, key)));
            let place = same.unwrap_or(kept);
            kept += usize::from(same.is_none());
            if let Some([slot, of]) = stack.get_mut(2 * place..2 * place + 2) {
                *slot = key;
                *of = value;
            }
        }
        self.scratch.truncate(mark + 2 * kept);
    }

    /// Whether two keys have the same hash.
    fn may_repeat(&mut self, mark: usize) -> bool {
        let mut hashes = std::mem::take(&mut self.scratch.hashes);
        hashes.clear();
        let rows = &*self.rows;
        let keys = self.scratch.stack_from(mark).chunks_exact(2).filter_map(|pair| pair.first());
        let state = foldhash::fast::FixedState::default();
        hashes.extend(keys.map(|key| hash(rows, *key, state.build_hasher())));
        hashes.sort_unstable();
        let repeats = hashes.windows(2).any(|pair| pair.first() == pair.get(1));
        self.scratch.hashes = hashes;
        repeats
    }

    /// A value of any shape: a record with a field a type, the first that is set.
    pub(super) fn anything(&mut self) -> Result<Cell, Failed> {
        self.deeper()?;
        let mut found = Cell::Null;
        for field in 0..9 {
            if self.input.choice(2, "the type of a union has")? == 0 {
                continue;
            }
            let cell = self.anything_of(field)?;
            if found.is_null() {
                found = cell;
            }
        }
        self.depth -= 1;
        Ok(found)
    }

    /// In the order of the record's fields.
    fn anything_of(&mut self, field: usize) -> Result<Cell, Failed> {
        Ok(match field {
            0 => Cell::Bool(self.input.boolean()?),
            1 => Cell::Bytes(self.bytes()?),
            2 => Cell::Float(self.input.double()?),
            3 => Cell::Float32(self.input.float()?),
            4 => Cell::Int(i64::from(self.input.int()?), Width::W32),
            5 => Cell::int(self.input.long()?),
            6 => Cell::Text(self.text()?),
            7 => {
                let mark = self.scratch.stack_len();
                self.blocks(false, |run, _| {
                    let cell = run.anything()?;
                    run.scratch.push(cell);
                    Ok(())
                })?;
                Cell::List(self.settled(mark))
            }
            _ => {
                let mark = self.scratch.stack_len();
                self.blocks(false, |run, _| {
                    let key = run.anything()?;
                    run.scratch.push(key);
                    let value = run.anything()?;
                    run.scratch.push(value);
                    Ok(())
                })?;
                self.distinct(mark);
                Cell::Map(self.settled(mark))
            }
        })
    }
}

/// Whether two keys are equal; keys with parts never are.
fn same_key(rows: &Rows, a: Cell, b: Cell) -> bool {
    match (a, b) {
        (Cell::Text(a), Cell::Text(b)) | (Cell::Bytes(a), Cell::Bytes(b)) => {
            rows.bytes(a) == rows.bytes(b)
        }
        (Cell::Float(a), Cell::Float(b)) => a.to_bits() == b.to_bits(),
        (Cell::Float32(a), Cell::Float32(b)) => a.to_bits() == b.to_bits(),
        (Cell::Null, Cell::Null)
        | (Cell::Bool(_), Cell::Bool(_))
        | (Cell::Int(..), Cell::Int(..))
        | (Cell::Instant(_), Cell::Instant(_)) => a == b,
        _ => false,
    }
}

fn hash(rows: &Rows, key: Cell, mut hasher: impl Hasher) -> u64 {
    std::mem::discriminant(&key).hash(&mut hasher);
    match key {
        Cell::Text(span) | Cell::Bytes(span) => rows.bytes(span).hash(&mut hasher),
        Cell::Int(value, width) => (value, width).hash(&mut hasher),
        Cell::Bool(value) => value.hash(&mut hasher),
        Cell::Instant(value) => value.hash(&mut hasher),
        Cell::Float(value) => value.to_bits().hash(&mut hasher),
        Cell::Float32(value) => value.to_bits().hash(&mut hasher),
        // Never equal to another: by its place, so that they do not look alike.
        Cell::List(span) | Cell::Map(span) | Cell::Struct(span) => span.start.hash(&mut hasher),
        _ => {}
    }
    hasher.finish()
}
