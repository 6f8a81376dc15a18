//! Messages straight into cells, by their plan.
//!
//! This is the hot path: per record it allocates nothing once its vectors have grown, text and bytes
//! stay where they were fetched. Elements of repeated fields may come in any number of pieces, and a
//! message's fields in any number of parts; so a list is a chain of nodes until the whole record has
//! been read, and a message that comes again goes on in the cells it has.
//!
//! Invariants: each step consumes bytes or goes one level deeper, up to a limit; what was opened first
//! is closed last, so that a value is complete before what contains it.

use super::fault::Fault;
use super::finish::Place;
use super::plan::{Entry, Fallback, FieldPlan, Op, Plan, Root, Scalar};
use super::wire::{
    BYTES, Cursor, DEPTH_MAX, FIXED64, GROUP_END, GROUP_START, VARINT, stray_end, too_deep,
    unzigzag,
};
use data::{Cell, Rows, Span, Width};

/// The end of a chain of nodes.
pub(super) const NONE: u32 = u32::MAX;

/// Vectors that are kept from record to record.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) nodes: Vec<Node>,
    pub(super) open: Vec<Open>,
    pub(super) cells: Vec<Cell>,
    pub(super) order: Vec<u32>,
}

/// An element of a list whose end has not been seen.
pub(super) struct Node {
    pub(super) cell: Cell,
    pub(super) next: u32,
}

/// What is done when the whole record has been read.
pub(super) enum Open {
    /// A chain of nodes becomes a list, or a map.
    List { cells: Span, slot: u32, head: u32, tail: u32, len: u32, map: bool },
    /// A struct becomes a map.
    Loose { place: Place, plan: usize },
    /// A message is checked, and filled up.
    End { place: Place, cells: Span, plan: usize },
}

/// Reads one record.
pub(super) struct Reader<'a> {
    pub(super) plan: &'a Plan,
    /// Where the payload is in the heap of `rows`.
    pub(super) base: Span,
    pub(super) rows: &'a mut Rows,
    pub(super) scratch: &'a mut Scratch,
}

impl Reader<'_> {
    /// Reads the message that begins at byte `pos` of the payload.
    ///
    /// # Errors
    /// What is wrong with it. Cells may have been appended, which the caller cuts off.
    pub(super) fn record(&mut self, payload: &[u8], pos: usize) -> Result<Cell, Fault> {
        self.scratch.nodes.clear();
        self.scratch.open.clear();
        let mut cursor = Cursor::new(payload, pos);
        match self.plan.root {
            Root::Wrapper(scalar) => {
                let value = self.wrapper(scalar, &mut cursor, 0)?;
                Ok(value.unwrap_or(scalar.zero()))
            }
            Root::Message(index) => {
                let root = self.scratch.nodes.len() as u32;
                self.scratch.nodes.push(Node { cell: Cell::Null, next: NONE });
                let cells = self.begin(index, Place::Node(root));
                self.message(index, cells, &mut cursor, None, 0)?;
                self.finish()?;
                Ok(self.get(Place::Node(root)))
            }
        }
    }

    /// Reads fields until the end of the message, or of the group of that number.
    fn message(
        &mut self,
        index: usize,
        cells: Span,
        cursor: &mut Cursor<'_>,
        group: Option<u32>,
        depth: usize,
    ) -> Result<(), Fault> {
        if depth >= DEPTH_MAX {
            return Err(too_deep(cursor.pos()));
        }
        let Some(plan) = self.plan.messages.get(index) else { return Ok(()) };
        while !cursor.at_end() {
            let start = cursor.pos();
            let (number, wire) = cursor.tag()?;
            if wire == GROUP_END {
                return if group == Some(number) { Ok(()) } else { Err(stray_end(start)) };
            }
            let Some(field) = plan.numbers.get(number).and_then(|at| plan.fields.get(at)) else {
                cursor.skip(number, wire, depth)?;
                continue;
            };
            let read = match (&field.op, field.union) {
                (Op::Scalar(scalar), None) if !field.repeated && scalar.wire() == wire => {
                    for sibling in &field.siblings {
                        self.rows.set(cells, *sibling as usize, Cell::Null);
                    }
                    self.scalar(*scalar, cursor)
                        .map(|cell| self.rows.set(cells, field.slot as usize, cell))
                }
                _ if field.repeated => self.repeated(field, cells, cursor, (number, wire), depth),
                _ => {
                    let place = self.place(field, cells);
                    self.value(&field.op, place, cursor, (number, wire), depth)
                }
            };
            read.map_err(|fault| fault.within(&field.name))?;
        }
        match group {
            None => Ok(()),
            Some(_) => Err(Fault::at("the message ends within a group", cursor.pos())),
        }
    }

    /// Where a field's value goes; the other members of its oneof become null.
    fn place(&mut self, field: &FieldPlan, cells: Span) -> Place {
        for sibling in &field.siblings {
            self.rows.set(cells, *sibling as usize, Cell::Null);
        }
        let Some((inner, width)) = field.union else { return Place::Slot(cells, field.slot) };
        let union = match self.rows.cell(cells, field.slot as usize) {
            Cell::Struct(union) => union,
            _ => {
                let union = self.rows.alloc(width as usize);
                self.rows.set(cells, field.slot as usize, Cell::Struct(union));
                union
            }
        };
        for member in (0..width).filter(|member| *member != inner) {
            self.rows.set(union, member as usize, Cell::Null);
        }
        Place::Slot(union, inner)
    }

    /// Reads a value into its place. A message that is there already is gone on with.
    fn value(
        &mut self,
        op: &Op,
        place: Place,
        cursor: &mut Cursor<'_>,
        (number, wire): (u32, u8),
        depth: usize,
    ) -> Result<(), Fault> {
        let found = match op {
            Op::Message(index) if wire == BYTES || wire == GROUP_START => {
                let cells = match self.get(place) {
                    Cell::Struct(cells) => cells,
                    _ => self.begin(*index, place),
                };
                return if wire == BYTES {
                    let mut part = cursor.part()?;
                    self.message(*index, cells, &mut part, None, depth + 1)
                } else {
                    self.message(*index, cells, cursor, Some(number), depth + 1)
                };
            }
            Op::Scalar(scalar) if scalar.wire() == wire => Some(self.scalar(*scalar, cursor)?),
            Op::Enum(index) if wire == VARINT => {
                let value = cursor.varint()?;
                self.symbol(*index, value as i32)
            }
            Op::Known(known, loose) if wire == BYTES => {
                let part = cursor.part()?;
                Some(self.known(*known, *loose, part, depth)?)
            }
            Op::Exact(exact, loose) if wire == BYTES => {
                let part = cursor.part()?;
                Some(self.exact(*exact, *loose, part, depth)?)
            }
            Op::Wrapper(scalar) if wire == BYTES => {
                let value = self.wrapper(*scalar, &mut cursor.part()?, depth)?;
                // A wrapper that says nothing adds nothing to one before it.
                value.or_else(|| self.get(place).is_null().then(|| scalar.zero()))
            }
            _ => return Err(wrong_wire(op, wire, cursor.pos())),
        };
        if let Some(cell) = found {
            self.put(place, cell);
        }
        Ok(())
    }

    fn repeated(
        &mut self,
        field: &FieldPlan,
        cells: Span,
        cursor: &mut Cursor<'_>,
        (number, wire): (u32, u8),
        depth: usize,
    ) -> Result<(), Fault> {
        let list = self.list(field, cells);
        match &field.op {
            Op::Entry(entry) if wire == BYTES => {
                let key = self.push(list, Cell::Null);
                let value = self.push(list, Cell::Null);
                let mut part = cursor.part()?;
                self.entry(entry, (Place::Node(key), Place::Node(value)), &mut part, depth + 1)
            }
            Op::Scalar(scalar) if wire == BYTES && scalar.wire() != BYTES => {
                let mut part = cursor.part()?;
                while !part.at_end() {
                    let cell = self.scalar(*scalar, &mut part)?;
                    self.push(list, cell);
                }
                Ok(())
            }
            Op::Enum(index) if wire == BYTES => {
                let mut part = cursor.part()?;
                while !part.at_end() {
                    let value = part.varint()?;
                    if let Some(cell) = self.symbol(*index, value as i32) {
                        self.push(list, cell);
                    }
                }
                Ok(())
            }
            Op::Enum(index) if wire == VARINT => {
                let value = cursor.varint()?;
                if let Some(cell) = self.symbol(*index, value as i32) {
                    self.push(list, cell);
                }
                Ok(())
            }
            op => {
                let node = self.push(list, Cell::Null);
                self.value(op, Place::Node(node), cursor, (number, wire), depth)
            }
        }
    }

    /// The open list of a repeated field. Until it is closed, its slot holds its number.
    fn list(&mut self, field: &FieldPlan, cells: Span) -> usize {
        if let Cell::Int(list, Width::W8) = self.rows.cell(cells, field.slot as usize) {
            return list as usize;
        }
        let list = self.scratch.open.len();
        let map = matches!(field.op, Op::Entry(_));
        let open = Open::List { cells, slot: field.slot, head: NONE, tail: NONE, len: 0, map };
        self.scratch.open.push(open);
        self.rows.set(cells, field.slot as usize, Cell::Int(list as i64, Width::W8));
        list
    }

    fn push(&mut self, list: usize, cell: Cell) -> u32 {
        let node = self.scratch.nodes.len() as u32;
        self.scratch.nodes.push(Node { cell, next: NONE });
        if let Some(Open::List { head, tail, len, .. }) = self.scratch.open.get_mut(list) {
            let last = std::mem::replace(tail, node);
            *len += 1;
            match self.scratch.nodes.get_mut(last as usize) {
                Some(last) => last.next = node,
                None => *head = node,
            }
        }
        node
    }

    fn entry(
        &mut self,
        entry: &Entry,
        (key, value): (Place, Place),
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<(), Fault> {
        if depth >= DEPTH_MAX {
            return Err(too_deep(cursor.pos()));
        }
        while !cursor.at_end() {
            match cursor.tag()? {
                (1, wire) => self.value(&entry.key, key, cursor, (1, wire), depth)?,
                (2, wire) => self.value(&entry.value, value, cursor, (2, wire), depth)?,
                (number, wire) => cursor.skip(number, wire, depth)?,
            }
        }
        for (place, default) in [(key, &entry.key_default), (value, &entry.value_default)] {
            if self.get(place).is_null() {
                self.fall_back(default, place);
            }
        }
        Ok(())
    }

    /// The last value in a wrapper message, if there is one.
    fn wrapper(
        &mut self,
        scalar: Scalar,
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Result<Option<Cell>, Fault> {
        let mut value = None;
        while !cursor.at_end() {
            match cursor.tag()? {
                (1, wire) if wire == scalar.wire() => value = Some(self.scalar(scalar, cursor)?),
                (1, wire) => return Err(wrong_wire(&Op::Scalar(scalar), wire, cursor.pos())),
                (number, wire) => cursor.skip(number, wire, depth)?,
            }
        }
        Ok(value)
    }

    /// An enum's cell; none for a number that is no value of it.
    fn symbol(&mut self, index: usize, number: i32) -> Option<Cell> {
        let plan = self.plan.enums.get(index)?;
        let symbol = plan.symbol(number);
        if symbol.is_none() && plan.closed {
            return None;
        }
        Some(match symbol {
            _ if plan.as_int => Cell::Int(number.into(), Width::W32),
            Some(symbol) => Cell::Text(symbol.span(self.rows)),
            None => {
                let text = format!("UNKNOWN_ENUM_VALUE_{}_{number}", plan.name);
                Cell::Text(self.rows.heap.put(text.as_bytes()))
            }
        })
    }

    #[inline]
    fn scalar(&mut self, scalar: Scalar, cursor: &mut Cursor<'_>) -> Result<Cell, Fault> {
        let wide = |value: i64| Ok(Cell::Int(value, Width::W64));
        match scalar {
            Scalar::Int32(width) => narrow(cursor.varint()? as i32, width, cursor),
            Scalar::Int64 | Scalar::Uint64 => wide(cursor.varint()? as i64),
            Scalar::Text => self.text(cursor),
            Scalar::Double => Ok(Cell::Float(f64::from_bits(cursor.fixed64()?))),
            Scalar::Bool => Ok(Cell::Bool(cursor.varint()? != 0)),
            Scalar::Bytes => {
                let part = cursor.part()?;
                Ok(Cell::Bytes(self.span(&part)))
            }
            Scalar::Sint32(width) => {
                narrow(unzigzag(u64::from(cursor.varint()? as u32)) as i32, width, cursor)
            }
            Scalar::Sfixed32(width) => narrow(cursor.fixed32()? as i32, width, cursor),
            Scalar::Uint32 => wide(i64::from(cursor.varint()? as u32)),
            Scalar::Fixed32 => wide(i64::from(cursor.fixed32()?)),
            Scalar::Sint64 => wide(unzigzag(cursor.varint()?)),
            Scalar::Fixed64 | Scalar::Sfixed64 => wide(cursor.fixed64()? as i64),
            Scalar::LooseUint64 => {
                let value = cursor.varint()?;
                Ok(self.unsigned(value))
            }
            Scalar::LooseFixed64 => {
                let value = cursor.fixed64()?;
                Ok(self.unsigned(value))
            }
            Scalar::Float => Ok(Cell::Float(f32::from_bits(cursor.fixed32()?).into())),
            Scalar::LooseFloat => Ok(Cell::Float32(f32::from_bits(cursor.fixed32()?))),
        }
    }

    #[inline]
    fn text(&mut self, cursor: &mut Cursor<'_>) -> Result<Cell, Fault> {
        let part = cursor.part()?;
        if let Err(error) = std::str::from_utf8(part.rest()) {
            let at = part.pos() + error.valid_up_to();
            return Err(Fault::at("a string has bytes that are not UTF-8", at));
        }
        Ok(Cell::Text(self.span(&part)))
    }

    /// The place in the heap of what is left of a part.
    #[inline]
    pub(super) fn span(&self, part: &Cursor<'_>) -> Span {
        self.base.slice(part.pos() as u32, part.rest().len() as u32)
    }

    /// Begins a message in its place: cells with its defaults.
    pub(super) fn begin(&mut self, index: usize, place: Place) -> Span {
        let Some(plan) = self.plan.messages.get(index) else { return Span::EMPTY };
        let cells = self.rows.alloc_from(&plan.template);
        for (slot, late) in &plan.late {
            self.fall_back(late, Place::Slot(cells, *slot));
        }
        self.put(place, Cell::Struct(cells));
        if plan.keys.is_some() {
            self.scratch.open.push(Open::Loose { place, plan: index });
        }
        if plan.has_end() {
            self.scratch.open.push(Open::End { place, cells, plan: index });
        }
        cells
    }

    /// Puts the value of what is not set.
    pub(super) fn fall_back(&mut self, fallback: &Fallback, place: Place) {
        let cell = match fallback {
            Fallback::Cell(cell) => *cell,
            Fallback::Text(text) => Cell::Text(text.span(self.rows)),
            Fallback::Bytes(bytes) => Cell::Bytes(bytes.span(self.rows)),
            Fallback::Symbol(index, number) => self.symbol(*index, *number).unwrap_or(Cell::Null),
            Fallback::Message(index) => {
                self.begin(*index, place);
                return;
            }
        };
        self.put(place, cell);
    }

    pub(super) fn get(&self, place: Place) -> Cell {
        match place {
            Place::Slot(cells, slot) => self.rows.cell(cells, slot as usize),
            Place::Node(node) => {
                self.scratch.nodes.get(node as usize).map_or(Cell::Null, |node| node.cell)
            }
        }
    }

    pub(super) fn put(&mut self, place: Place, cell: Cell) {
        match place {
            Place::Slot(cells, slot) => self.rows.set(cells, slot as usize, cell),
            Place::Node(node) => {
                if let Some(node) = self.scratch.nodes.get_mut(node as usize) {
                    node.cell = cell;
                }
            }
        }
    }
}

/// An integer of at most 32 bits; less where the schema says so.
#[inline]
fn narrow(value: i32, width: Width, cursor: &Cursor<'_>) -> Result<Cell, Fault> {
    let fits = match width {
        Width::W8 => i8::try_from(value).is_ok(),
        Width::W16 => i16::try_from(value).is_ok(),
        Width::W32 | Width::W64 => true,
    };
    if fits {
        return Ok(Cell::Int(value.into(), width));
    }
    let bits = if width == Width::W8 { 8 } else { 16 };
    Err(Fault::at(&format!("{value} is out of the range of INT{bits}"), cursor.pos()))
}

#[cold]
fn wrong_wire(op: &Op, wire: u8, at: usize) -> Fault {
    let wanted = match op {
        Op::Scalar(scalar) => scalar.wire(),
        Op::Enum(_) => VARINT,
        _ => BYTES,
    };
    let name = |wire| match wire {
        VARINT => "a varint",
        FIXED64 => "8 bytes",
        BYTES => "a length and bytes",
        GROUP_START => "a group",
        _ => "4 bytes",
    };
    let (found, wanted) = (name(wire), name(wanted));
    Fault::at(&format!("the field is {found} where the schema says {wanted}"), at)
}
