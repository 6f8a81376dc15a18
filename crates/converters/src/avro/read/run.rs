//! Runs a program over the bytes of one value.
//!
//! Cells of a record are put where they stay; those of a list or map, and of a record that is not read as
//! it was written, are gathered on a stack and moved to the rows when it is complete.
//! The path to a fault is put together while the calls return, so that a value without one costs
//! nothing for it.

use super::Malformed;
use super::input::{Failed, Input};
use super::ops::{Adjusted, Branch, Items, Op, Program, Step, Union};
use data::{Cell, Rows, Span, Width};
use std::sync::Arc;

/// Records, lists and maps within each other in one value.
const DEPTH_MAX: usize = 500;
/// Items without bytes in one list or map.
const EMPTY_ITEMS_MAX: u64 = 100_000;
/// Cells of one value: some for every byte, and as many beside those.
const CELLS_PER_BYTE_MAX: usize = 64;
const CELLS_FREE_MAX: usize = 1_000_000;
/// Characters of a key in a path.
const KEY_SHOWN_MAX: usize = 40;

/// Memory that is used again for every value.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    stack: Vec<Cell>,
    pub(super) hashes: Vec<u64>,
    trail: Vec<Place>,
}

impl Scratch {
    pub(super) fn push(&mut self, cell: Cell) {
        self.stack.push(cell);
    }

    pub(super) fn stack_len(&self) -> usize {
        self.stack.len()
    }

    pub(super) fn stack_from(&mut self, mark: usize) -> &mut [Cell] {
        self.stack.get_mut(mark..).unwrap_or_default()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.stack.truncate(len);
    }
}

/// A part of the path to a fault, innermost first.
#[derive(Debug)]
enum Place {
    Name(Arc<str>),
    Index(u64),
    Key(String),
}

pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) input: Input<'a>,
    /// Where the payload is in the rows' heap.
    pub(super) base: Span,
    pub(super) rows: &'a mut Rows,
    pub(super) scratch: &'a mut Scratch,
    pub(super) depth: usize,
    /// Cells that the rows and the stack may have together.
    cells_max: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        program: &'a Program,
        payload: &'a [u8],
        base: Span,
        rows: &'a mut Rows,
        scratch: &'a mut Scratch,
    ) -> Run<'a> {
        scratch.stack.clear();
        let room = payload.len().saturating_mul(CELLS_PER_BYTE_MAX).saturating_add(CELLS_FREE_MAX);
        let cells_max = rows.cell_mark().saturating_add(room);
        Run { program, input: Input::new(payload), base, rows, scratch, depth: 0, cells_max }
    }

    /// The value that takes all of the bytes.
    pub(super) fn whole(mut self, root: Op) -> Result<Cell, Malformed> {
        match self.value(root) {
            Ok(cell) if self.input.left() == 0 => Ok(cell),
            Ok(_) => {
                let left = self.input.left();
                self.input.fail(format!("{left} bytes more than the value has"));
                Err(self.malformed())
            }
            Err(Failed) => Err(self.malformed()),
        }
    }

    #[cold]
    fn malformed(&mut self) -> Malformed {
        let mut path = String::new();
        for place in self.scratch.trail.drain(..).rev() {
            match place {
                Place::Name(name) if path.is_empty() => path.push_str(&name),
                Place::Name(name) => path.extend([".", &*name]),
                Place::Index(index) => path.push_str(&format!("[{index}]")),
                Place::Key(key) => path.push_str(&format!("[{key:?}]")),
            }
        }
        let fault = self.input.take_fault();
        let (what, at) = fault.map(|fault| (fault.what, fault.at)).unwrap_or_default();
        let path = (!path.is_empty()).then_some(path);
        Malformed { message: format!("at byte {at}: {what}"), path }
    }

    #[cold]
    fn trail(&mut self, place: Place) -> Failed {
        self.scratch.trail.push(place);
        Failed
    }

    /// One value without parts, or whatever [`Run::called`] reads.
    #[inline(always)]
    pub(super) fn value(&mut self, op: Op) -> Result<Cell, Failed> {
        let op = match op {
            Op::Optional { null, inner } => {
                if self.input.choice(2, "the type of a union has")? == usize::from(null) {
                    return Ok(Cell::Null);
                }
                self.op(inner)
            }
            other => other,
        };
        Ok(match op {
            Op::Int(Width::W32) => Cell::Int(i64::from(self.input.int()?), Width::W32),
            Op::Long => Cell::Int(self.input.long()?, Width::W64),
            Op::Text => Cell::Text(self.text()?),
            Op::Double => Cell::Float(self.input.double()?),
            Op::Float => Cell::Float(f64::from(self.input.float()?)),
            Op::Bool => Cell::Bool(self.input.boolean()?),
            Op::Bytes => Cell::Bytes(self.bytes()?),
            other => return self.called(other),
        })
    }

    fn op(&self, at: u32) -> Op {
        self.program.ops.get(at as usize).copied().unwrap_or(Op::Null)
    }

    // From here on what calls itself has small frames: values may be deep and stacks are not.
    #[inline(never)]
    fn called(&mut self, op: Op) -> Result<Cell, Failed> {
        match op {
            Op::Record { first, len } => {
                self.record(first, len).map(|start| Cell::Struct(Span { start, len }))
            }
            Op::List(items) => self.list(items),
            Op::Map(items) => self.map(items),
            Op::Entries { adjusted, empty } => self.entries(adjusted, empty),
            Op::Adjusted(at) => self.adjusted(at),
            Op::Plain(at) => self.plain(at),
            Op::Union(at) => self.union(at),
            Op::Wrapped(at) => self.wrapped(at),
            Op::Call(at) => self.called(self.callee(at)),
            Op::Anything => self.anything(),
            other => self.leaf(other),
        }
    }

    fn callee(&self, at: u32) -> Op {
        self.program.calls.get(at as usize).copied().unwrap_or(Op::Null)
    }

    pub(super) fn deeper(&mut self) -> Result<(), Failed> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.input.fail(format!("a value nested deeper than {DEPTH_MAX} levels")));
        }
        Ok(())
    }

    /// Puts what is on the stack since `mark` into the rows.
    pub(super) fn settled(&mut self, mark: usize) -> Span {
        let span = self.rows.alloc_from(self.scratch.stack.get(mark..).unwrap_or_default());
        self.scratch.stack.truncate(mark);
        span
    }

    /// The same as [`Run::value`], for callers whose frames are to stay small.
    #[inline(never)]
    fn optional(&mut self, op: Op) -> Result<Cell, Failed> {
        match op {
            Op::Optional { null, inner } => {
                match self.input.choice(2, "the type of a union has")? == usize::from(null) {
                    true => Ok(Cell::Null),
                    false => self.called(self.op(inner)),
                }
            }
            other => self.called(other),
        }
    }

    /// Where a record's cells begin.
    #[inline(never)]
    fn record(&mut self, first: u32, len: u32) -> Result<u32, Failed> {
        self.deeper()?;
        let program = self.program;
        let (first, len) = (first as usize, len as usize);
        let ops = program.ops.get(first..first + len).unwrap_or_default();
        self.room_for(ops.len())?;
        // The cells of a record need not wait on the stack: it is known how many they are.
        let span = self.rows.alloc(ops.len());
        let mut at = 0;
        loop {
            at += self.plain_fields(ops, at, span);
            let Some(op) = ops.get(at) else { break };
            match self.optional(*op) {
                Ok(cell) => self.rows.set(span, at, cell),
                Err(Failed) => return Err(self.named(program.names.get(first + at))),
            }
            at += 1;
        }
        self.depth -= 1;
        Ok(span.start)
    }

    /// Demands that a value's bytes are worth so many cells more.
    #[inline(always)]
    fn room_for(&mut self, more: usize) -> Result<(), Failed> {
        if self.rows.cell_mark() + self.scratch.stack.len() + more > self.cells_max {
            return Err(self.input.fail("a value with too many parts for its bytes"));
        }
        Ok(())
    }

    #[cold]
    fn named(&mut self, name: Option<&Arc<str>>) -> Failed {
        self.trail(Place::Name(name.cloned().unwrap_or_default()))
    }

    /// Puts the cells of an adjusted record on the stack.
    fn fields(&mut self, adjusted: &Adjusted) -> Result<(), Failed> {
        self.deeper()?;
        let mark = self.scratch.stack.len();
        self.scratch.stack.resize(mark + adjusted.len, Cell::Null);
        for step in &adjusted.steps {
            match *step {
                Step::Skip(skip) => self.skip(skip)?,
                Step::Read { op, slot } => match self.optional(op) {
                    Ok(cell) => self.put(mark + slot as usize, cell),
                    Err(Failed) => return Err(self.named(adjusted.names.get(slot as usize))),
                },
            }
        }
        for (slot, schema, value) in &adjusted.defaults {
            let cell = self.rows.put_value(schema.as_deref(), value);
            self.put(mark + slot, cell);
        }
        self.depth -= 1;
        Ok(())
    }

    fn put(&mut self, at: usize, cell: Cell) {
        if let Some(slot) = self.scratch.stack.get_mut(at) {
            *slot = cell;
        }
    }

    fn adjusted(&mut self, at: u32) -> Result<Cell, Failed> {
        let program = self.program;
        let mark = self.scratch.stack.len();
        if let Some(adjusted) = program.adjusted.get(at as usize) {
            self.fields(adjusted)?;
        }
        Ok(Cell::Struct(self.settled(mark)))
    }

    /// A record as a map of its fields.
    fn plain(&mut self, at: u32) -> Result<Cell, Failed> {
        let program = self.program;
        let mark = self.scratch.stack.len();
        let Some(adjusted) = program.adjusted.get(at as usize) else { return Ok(Cell::Null) };
        self.fields(adjusted)?;
        let values = self.scratch.stack.len() - mark;
        self.scratch.stack.resize(mark + 2 * values, Cell::Null);
        // From behind, so that no value is overwritten before it has moved.
        for (at, name) in adjusted.names.iter().enumerate().take(values).rev() {
            let value = self.scratch.stack.get(mark + at).copied().unwrap_or(Cell::Null);
            let name = Cell::Text(self.rows.heap.put(name.as_bytes()));
            self.put(mark + 2 * at + 1, value);
            self.put(mark + 2 * at, name);
        }
        Ok(Cell::Map(self.settled(mark)))
    }

    fn union(&mut self, at: u32) -> Result<Cell, Failed> {
        let program = self.program;
        let Some(union) = program.unions.get(at as usize) else { return Ok(Cell::Null) };
        let choice = self.input.choice(union.branches.len(), "the type of a union has")?;
        self.branch(union, choice)
    }

    fn wrapped(&mut self, at: u32) -> Result<Cell, Failed> {
        let program = self.program;
        program.unions.get(at as usize).map_or(Ok(Cell::Null), |union| self.branch(union, 0))
    }

    fn branch(&mut self, union: &Union, choice: usize) -> Result<Cell, Failed> {
        match union.branches.get(choice).copied() {
            None | Some(Branch::Null) => Ok(Cell::Null),
            Some(Branch::Value(op)) => self.called(op),
            Some(Branch::Field { op, slot }) => {
                let cell = self.called(op)?;
                let span = self.rows.alloc(union.len);
                self.rows.set(span, slot as usize, cell);
                Ok(Cell::Struct(span))
            }
        }
    }

    /// Reads the items of a list or map, block by block.
    pub(super) fn blocks(
        &mut self,
        empty: bool,
        mut item: impl FnMut(&mut Self, u64) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let mut index = 0;
        self.deeper()?;
        loop {
            let start = self.input.pos();
            let (count, end) = self.input.items(empty)?;
            if count == 0 {
                self.depth -= 1;
                return Ok(());
            }
            if empty && count > EMPTY_ITEMS_MAX.saturating_sub(index) {
                let what =
                    format!("{count} items without bytes, more than {EMPTY_ITEMS_MAX} in all");
                return Err(self.input.fail_at(start, what));
            }
            for _ in 0..count {
                item(self, index)?;
                self.room_for(0)?;
                index += 1;
            }
            self.input.ended(end)?;
        }
    }

    fn list(&mut self, items: Items) -> Result<Cell, Failed> {
        let mark = self.scratch.stack.len();
        let op = self.op(items.inner);
        self.blocks(items.empty, |run, index| match run.optional(op) {
            Ok(cell) => {
                run.scratch.stack.push(cell);
                Ok(())
            }
            Err(Failed) => Err(run.trail(Place::Index(index))),
        })?;
        Ok(Cell::List(self.settled(mark)))
    }

    fn map(&mut self, items: Items) -> Result<Cell, Failed> {
        let mark = self.scratch.stack.len();
        let op = self.op(items.inner);
        self.blocks(false, |run, index| {
            let key = match run.text() {
                Ok(key) => key,
                Err(Failed) => return Err(run.trail(Place::Index(index))),
            };
            match run.optional(op) {
                Ok(cell) => {
                    run.scratch.stack.extend([Cell::Text(key), cell]);
                    Ok(())
                }
                Err(Failed) => Err(run.keyed(key)),
            }
        })?;
        self.distinct(mark);
        Ok(Cell::Map(self.settled(mark)))
    }

    #[cold]
    fn keyed(&mut self, key: Span) -> Failed {
        let key = self.rows.text(key).chars().take(KEY_SHOWN_MAX).collect();
        self.trail(Place::Key(key))
    }

    fn entries(&mut self, at: u32, empty: bool) -> Result<Cell, Failed> {
        let program = self.program;
        let mark = self.scratch.stack.len();
        let Some(adjusted) = program.adjusted.get(at as usize) else { return Ok(Cell::Null) };
        self.blocks(empty, |run, index| match run.fields(adjusted) {
            Ok(()) => Ok(()),
            Err(Failed) => Err(run.trail(Place::Index(index))),
        })?;
        self.distinct(mark);
        Ok(Cell::Map(self.settled(mark)))
    }
}
