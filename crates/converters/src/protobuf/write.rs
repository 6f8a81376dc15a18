//! Cells into the bytes of a message, by their plan.
//!
//! Invariants: fields that are null, and zeros where they mean the same as nothing, are not written; a
//! value that does not fit its field exactly is refused, never changed; on an error the caller takes
//! back what was written.

use super::fault::Fault;
use super::plan::Known;
use super::wire::{BYTES, DEPTH_MAX, FIXED32, FIXED64, VARINT, put_part, put_varint, zigzag};
use super::write_plan::{Root, Symbols, WriteField, WriteOp, WritePlan};
use data::{Cell, DAY_MS, Rows, Span};
use prost_reflect::Kind;

/// Writes one record.
pub(super) struct Writer<'a> {
    pub(super) plan: &'a WritePlan,
    pub(super) rows: &'a Rows,
}

impl Writer<'_> {
    /// Appends the message of a value that is not null.
    ///
    /// # Errors
    /// What does not fit, with its path.
    pub(super) fn record(&self, cell: Cell, out: &mut Vec<u8>) -> Result<(), Fault> {
        match (&self.plan.root, cell) {
            (Root::Struct(fields), Cell::Struct(cells)) => self.structure(fields, cells, 0, out),
            (Root::Wrapper(field), cell) => self.field(field, cell, 0, out),
            (Root::Struct(_), _) => Err(Fault::new("the value is no struct".to_owned())),
        }
    }

    fn structure(
        &self,
        fields: &[WriteField],
        cells: Span,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let cells = self.rows.cells(cells);
        for (index, field) in fields.iter().enumerate() {
            let cell = *cells.get(index).unwrap_or(&Cell::Null);
            self.field(field, cell, depth, out).map_err(|fault| fault.within(&field.name))?;
        }
        Ok(())
    }

    fn field(
        &self,
        field: &WriteField,
        cell: Cell,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if cell.is_null() {
            return self.null(field, depth, out);
        }
        match (&field.op, cell) {
            (WriteOp::Missing, _) => Err(Fault::new("the schema has no such field".to_owned())),
            (WriteOp::Union(members), Cell::Struct(cells)) => {
                self.union(members, cells, depth, out)
            }
            (WriteOp::Entry(entry), Cell::Map(cells)) => {
                for pair in self.rows.cells(cells).chunks_exact(2) {
                    let [key, value] = *pair else { continue };
                    put_tag(field.number, BYTES, out);
                    put_part(out, |out| {
                        self.field(&entry.0, key, depth + 1, out)?;
                        self.field(&entry.1, value, depth + 1, out)
                    })?;
                }
                Ok(())
            }
            (_, Cell::List(items)) if field.repeated => self.list(field, items, depth, out),
            _ if field.repeated => Err(mismatch(cell, "a list")),
            _ if !field.presence && is_zero(cell) => Ok(()),
            (op, cell) => self.tagged(op, field, cell, depth, out),
        }
    }

    fn null(&self, field: &WriteField, depth: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        match &field.default {
            Some(default) if !default.1.is_null() => {
                let (rows, cell) = &**default;
                Writer { plan: self.plan, rows }.field(field, *cell, depth, out)
            }
            _ if field.required => Err(Fault::new("null for a required value".to_owned())),
            _ => Ok(()),
        }
    }

    /// The one member that is set.
    fn union(
        &self,
        members: &[WriteField],
        cells: Span,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let cells = self.rows.cells(cells);
        let mut set = members.iter().zip(cells).filter(|(_, cell)| !cell.is_null());
        let Some((member, cell)) = set.next() else {
            return Err(Fault::new("no member of the union is set".to_owned()));
        };
        if set.next().is_some() {
            return Err(Fault::new("more than one member of the union is set".to_owned()));
        }
        self.field(member, *cell, depth, out).map_err(|fault| fault.within(&member.name))
    }

    fn list(
        &self,
        field: &WriteField,
        items: Span,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let items = self.rows.cells(items);
        if items.iter().any(|item| item.is_null()) {
            return Err(Fault::new("a list in Protobuf has no nulls".to_owned()));
        }
        if field.packed && !items.is_empty() {
            put_tag(field.number, BYTES, out);
            return put_part(out, |out| {
                items.iter().try_for_each(|item| self.plain(&field.op, *item, out))
            });
        }
        items.iter().try_for_each(|item| self.tagged(&field.op, field, *item, depth, out))
    }

    /// A number, or a symbol's, without a tag.
    fn plain(&self, op: &WriteOp, cell: Cell, out: &mut Vec<u8>) -> Result<(), Fault> {
        match op {
            WriteOp::Scalar(kind) => self.scalar(kind, cell, out),
            WriteOp::Enum(symbols) => {
                put_varint(i64::from(self.number(symbols, cell)?) as u64, out);
                Ok(())
            }
            _ => Err(mismatch(cell, "a number")),
        }
    }

    /// One value with its tag.
    fn tagged(
        &self,
        op: &WriteOp,
        field: &WriteField,
        cell: Cell,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if depth >= DEPTH_MAX {
            let text = format!("the value is nested deeper than {DEPTH_MAX} levels");
            return Err(Fault::new(text));
        }
        let number = field.number;
        match (op, cell) {
            (WriteOp::Scalar(kind), cell) => {
                put_tag(number, wire_of(kind), out);
                self.scalar(kind, cell, out)
            }
            (WriteOp::Enum(symbols), cell) => {
                let value = self.number(symbols, cell)?;
                if value != 0 || field.presence {
                    put_tag(number, VARINT, out);
                    put_varint(i64::from(value) as u64, out);
                }
                Ok(())
            }
            (WriteOp::Struct(fields), Cell::Struct(cells)) => {
                put_tag(number, BYTES, out);
                put_part(out, |out| self.structure(fields, cells, depth + 1, out))
            }
            (WriteOp::Known(known), cell) => {
                put_tag(number, BYTES, out);
                put_part(out, |out| self.known(*known, cell, out))
            }
            (WriteOp::Wrapper(kind), cell) => {
                put_tag(number, BYTES, out);
                put_part(out, |out| {
                    if is_zero(cell) {
                        return Ok(());
                    }
                    put_tag(1, wire_of(kind), out);
                    self.scalar(kind, cell, out)
                })
            }
            (WriteOp::Loose(index), Cell::Map(cells)) => {
                put_tag(number, BYTES, out);
                put_part(out, |out| self.loose(*index, cells, depth + 1, out))
            }
            _ => Err(mismatch(cell, "a message")),
        }
    }

    /// A map of names to values as the message of that index.
    fn loose(
        &self,
        index: usize,
        cells: Span,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let Some(fields) = self.plan.loose.get(index) else { return Ok(()) };
        for pair in self.rows.cells(cells).chunks_exact(2) {
            let [Cell::Text(name), value] = *pair else {
                return Err(Fault::new("a key that is no name of a field".to_owned()));
            };
            let name = self.rows.text(name);
            let Some(field) = fields.get(name) else {
                return Err(Fault::new("the message has no such field".to_owned()).within(name));
            };
            self.field(field, value, depth, out).map_err(|fault| fault.within(name))?;
        }
        Ok(())
    }

    /// The number of an enum's symbol, or of a number itself.
    fn number(&self, symbols: &Symbols, cell: Cell) -> Result<i32, Fault> {
        match cell {
            Cell::Text(span) => {
                let symbol = self.rows.text(span);
                let unknown = || {
                    let rest = symbol.strip_prefix("UNKNOWN_ENUM_VALUE_")?;
                    rest.strip_prefix(&*symbols.name)?.strip_prefix('_')?.parse().ok()
                };
                let number = symbols.numbers.get(symbol).copied().or_else(unknown);
                let name = &symbols.name;
                number.ok_or_else(|| Fault::new(format!("{symbol:?} is no symbol of {name}")))
            }
            Cell::Int(value, _) => i32::try_from(value).map_err(|_| out_of_range(value, "int32")),
            cell => Err(mismatch(cell, "an enum")),
        }
    }

    fn scalar(&self, kind: &Kind, cell: Cell, out: &mut Vec<u8>) -> Result<(), Fault> {
        match (kind, cell) {
            (_, Cell::Int(value, _)) => integer(kind, value, out),
            (_, Cell::Instant(value)) => integer(kind, value, out),
            (Kind::Float, Cell::Float(value)) => put_float(value as f32, out),
            (Kind::Float, Cell::Float32(value)) => put_float(value, out),
            (Kind::Double, Cell::Float(value)) => put_double(value, out),
            (Kind::Double, Cell::Float32(value)) => put_double(value.into(), out),
            (Kind::Bool, Cell::Bool(value)) => {
                out.push(u8::from(value));
                Ok(())
            }
            (Kind::String, Cell::Text(span)) | (Kind::Bytes, Cell::Bytes(span)) => {
                let bytes = self.rows.bytes(span);
                put_varint(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
                Ok(())
            }
            (kind, cell) => Err(mismatch(cell, &format!("a {kind:?}"))),
        }
    }

    fn known(&self, known: Known, cell: Cell, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut put = |number: u32, value: i64| {
            if value != 0 {
                put_tag(number, VARINT, out);
                put_varint(value as u64, out);
            }
        };
        match (known, cell) {
            (Known::Decimal, Cell::Decimal { unscaled, scale }) => {
                let unscaled = shortest(self.rows.bytes(unscaled));
                let mut digits = Vec::new();
                data::decimal_to_text(unscaled, 0, &mut digits);
                let precision = digits.iter().filter(|byte| byte.is_ascii_digit()).count();
                put_tag(1, BYTES, out);
                put_varint(unscaled.len() as u64, out);
                out.extend_from_slice(unscaled);
                put_tag(2, VARINT, out);
                put_varint(precision as u64, out);
                if scale != 0 {
                    put_tag(3, VARINT, out);
                    put_varint(i64::from(scale) as u64, out);
                }
            }
            (Known::Timestamp, Cell::Int(ms, _) | Cell::Instant(ms)) => {
                put(1, ms.div_euclid(1000));
                put(2, ms.rem_euclid(1000) * 1_000_000);
            }
            (Known::Date, Cell::Int(..) | Cell::Instant(_)) => {
                let days = match cell {
                    Cell::Int(days, _) => days,
                    Cell::Instant(ms) if ms.rem_euclid(DAY_MS) == 0 => ms.div_euclid(DAY_MS),
                    _ => return Err(Fault::new("a date with a time of day".to_owned())),
                };
                let (year, month, day) = data::civil_date(days);
                if !(1..=9999).contains(&year) {
                    return Err(Fault::new(format!("the year {year} is none of google.type.Date")));
                }
                put(1, year);
                put(2, month);
                put(3, day);
            }
            (Known::Time, Cell::Int(ms, _) | Cell::Instant(ms)) if (0..DAY_MS).contains(&ms) => {
                put(1, ms / 3_600_000);
                put(2, ms / 60_000 % 60);
                put(3, ms / 1000 % 60);
                put(4, ms % 1000 * 1_000_000);
            }
            (Known::Time, Cell::Int(ms, _) | Cell::Instant(ms)) => {
                return Err(Fault::new(format!("{ms} ms is no time of day")));
            }
            (_, cell) => return Err(mismatch(cell, &format!("a {known:?}"))),
        }
        Ok(())
    }
}

/// Two's complement without bytes that say nothing.
fn shortest(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && let Some(next) = rest.first()
        && (*first == 0 && next & 0x80 == 0 || *first == 0xff && next & 0x80 != 0)
    {
        bytes = rest;
    }
    if bytes.is_empty() { &[0] } else { bytes }
}

fn integer(kind: &Kind, value: i64, out: &mut Vec<u8>) -> Result<(), Fault> {
    let narrow = || i32::try_from(value).map_err(|_| out_of_range(value, "int32"));
    let unsigned = || u32::try_from(value).map_err(|_| out_of_range(value, "uint32"));
    match kind {
        Kind::Int32 => put_varint(i64::from(narrow()?) as u64, out),
        // Numbers beyond 63 bits are negative on our side.
        Kind::Int64 | Kind::Uint64 => put_varint(value as u64, out),
        Kind::Uint32 => put_varint(u64::from(unsigned()?), out),
        Kind::Sint32 => put_varint(zigzag(narrow()?.into()), out),
        Kind::Sint64 => put_varint(zigzag(value), out),
        Kind::Sfixed32 => out.extend_from_slice(&narrow()?.to_le_bytes()),
        Kind::Fixed32 => out.extend_from_slice(&unsigned()?.to_le_bytes()),
        Kind::Fixed64 | Kind::Sfixed64 => out.extend_from_slice(&value.to_le_bytes()),
        kind => return Err(mismatch(Cell::int(value), &format!("a {kind:?}"))),
    }
    Ok(())
}

fn put_float(value: f32, out: &mut Vec<u8>) -> Result<(), Fault> {
    out.extend_from_slice(&value.to_le_bytes());
    Ok(())
}

fn put_double(value: f64, out: &mut Vec<u8>) -> Result<(), Fault> {
    out.extend_from_slice(&value.to_le_bytes());
    Ok(())
}

fn put_tag(number: u32, wire: u8, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | u64::from(wire), out);
}

fn wire_of(kind: &Kind) -> u8 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => FIXED64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => FIXED32,
        Kind::String | Kind::Bytes | Kind::Message(_) => BYTES,
        _ => VARINT,
    }
}

/// Whether a value is what a field without one is read as. A negative zero is not.
fn is_zero(cell: Cell) -> bool {
    match cell {
        Cell::Int(value, _) => value == 0,
        Cell::Bool(value) => !value,
        Cell::Float(value) => value.to_bits() == 0,
        Cell::Float32(value) => value.to_bits() == 0,
        Cell::Text(span) | Cell::Bytes(span) => span.len == 0,
        _ => false,
    }
}

#[cold]
fn out_of_range(value: i64, kind: &str) -> Fault {
    Fault::new(format!("{value} is out of the range of {kind}"))
}

#[cold]
fn mismatch(cell: Cell, wanted: &str) -> Fault {
    let found = match cell {
        Cell::Null => "a null",
        Cell::Bool(_) => "a boolean",
        Cell::Int(..) => "an integer",
        Cell::Float(_) | Cell::Float32(_) | Cell::Number(_) => "a number",
        Cell::Text(_) => "text",
        Cell::Bytes(_) => "bytes",
        Cell::Decimal { .. } => "a decimal",
        Cell::Instant(_) => "a point in time",
        Cell::List(_) => "a list",
        Cell::Map(_) | Cell::Json(_) => "a map",
        Cell::Struct(_) => "a struct",
    };
    Fault::new(format!("{found} where the schema wants {wanted}"))
}
