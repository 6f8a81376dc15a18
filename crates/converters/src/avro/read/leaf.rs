//! Values without parts that are rarer than those read in place.

use super::input::Failed;
use super::ops::{Op, Out, Wire};
use super::run::Run;
use crate::utf8::is_utf8;
use data::{Cell, DAY_MS, Span, Width};

impl Run<'_> {
    #[inline(never)]
    pub(super) fn leaf(&mut self, op: Op) -> Result<Cell, Failed> {
        match op {
            Op::Null => Ok(Cell::Null),
            Op::Enum(at) => self.symbol(at),
            Op::Time => self.time(),
            Op::Decimal(scale) => self.decimal(scale),
            Op::FixedDecimal { size, scale } => {
                let unscaled = self.fixed(size)?;
                Ok(Cell::Decimal { unscaled, scale })
            }
            Op::Fixed(size) => Ok(Cell::Bytes(self.fixed(size)?)),
            Op::Int(width) if width != Width::W32 => self.narrow(width),
            Op::Number { wire, out } => self.number(wire, out),
            Op::Refused(at) => Err(self.refused(at)),
            other => self.value(other),
        }
    }

    #[cold]
    fn refused(&mut self, at: u32) -> Failed {
        let why = self.program.refusals.get(at as usize).cloned().unwrap_or_default();
        self.input.fail(why)
    }

    #[inline(always)]
    pub(super) fn bytes(&mut self) -> Result<Span, Failed> {
        let len = self.input.block()?.len() as u32;
        let end = self.input.pos() as u32;
        Ok(self.base.slice(end - len, len))
    }

    #[inline(always)]
    pub(super) fn text(&mut self) -> Result<Span, Failed> {
        let bytes = self.input.block()?;
        let len = bytes.len() as u32;
        let start = self.input.pos() as u32 - len;
        if !is_utf8(bytes) {
            return Err(self.no_text(bytes, start));
        }
        Ok(self.base.slice(start, len))
    }

    #[cold]
    fn no_text(&mut self, bytes: &[u8], start: u32) -> Failed {
        let valid = std::str::from_utf8(bytes).err().map_or(0, |fault| fault.valid_up_to());
        self.input.fail_at(start as usize + valid, "a text that is no UTF-8")
    }

    fn fixed(&mut self, size: u32) -> Result<Span, Failed> {
        self.input.take(size as usize)?;
        let end = self.input.pos() as u32;
        Ok(self.base.slice(end - size, size))
    }

    fn decimal(&mut self, scale: i32) -> Result<Cell, Failed> {
        let unscaled = self.bytes()?;
        if unscaled.len == 0 {
            return Err(self.input.fail("a decimal without bytes"));
        }
        Ok(Cell::Decimal { unscaled, scale })
    }

    fn time(&mut self) -> Result<Cell, Failed> {
        let start = self.input.pos();
        match self.input.int()? {
            ms if (0..=DAY_MS).contains(&i64::from(ms)) => Ok(Cell::Int(i64::from(ms), Width::W32)),
            ms => Err(self.input.fail_at(start, format!("{ms} ms is no time of a day"))),
        }
    }

    fn narrow(&mut self, width: Width) -> Result<Cell, Failed> {
        let start = self.input.pos();
        let value = self.input.int()?;
        let (fits, bits) = match width {
            Width::W8 => (i8::try_from(value).is_ok(), 8),
            Width::W16 => (i16::try_from(value).is_ok(), 16),
            Width::W32 | Width::W64 => (true, 32),
        };
        match fits {
            true => Ok(Cell::Int(i64::from(value), width)),
            false => Err(self.input.fail_at(start, format!("{value} is no number of {bits} bits"))),
        }
    }

    fn number(&mut self, wire: Wire, out: Out) -> Result<Cell, Failed> {
        let whole = match wire {
            Wire::Int => i64::from(self.input.int()?),
            Wire::Long => self.input.long()?,
            Wire::Float => {
                let value = self.input.float()?;
                return Ok(if out == Out::Float32 {
                    Cell::Float32(value)
                } else {
                    Cell::Float(f64::from(value))
                });
            }
            Wire::Double => return Ok(Cell::Float(self.input.double()?)),
        };
        Ok(match out {
            Out::Long => Cell::Int(whole, Width::W64),
            Out::Float => Cell::Float(f64::from(whole as f32)),
            Out::Float32 => Cell::Float32(whole as f32),
            Out::Double => Cell::Float(whole as f64),
            Out::Days => Cell::Instant(whole.saturating_mul(DAY_MS)),
            Out::MillisOfDay | Out::Millis => Cell::Instant(whole),
        })
    }

    fn symbol(&mut self, at: u32) -> Result<Cell, Failed> {
        let program = self.program;
        let Some(symbols) = program.symbols.get(at as usize) else { return Ok(Cell::Null) };
        let start = self.input.pos();
        let choice = self.input.choice(symbols.read.len(), "a symbol of an enum has")?;
        match symbols.read.get(choice) {
            Some(Some(symbol)) => Ok(Cell::Text(self.rows.heap.put(symbol.as_bytes()))),
            _ => {
                let name = symbols.written.get(choice).map(AsRef::as_ref).unwrap_or_default();
                let what = format!("the symbol {name} of an enum, which the reader does not have");
                Err(self.input.fail_at(start, what))
            }
        }
    }
}
