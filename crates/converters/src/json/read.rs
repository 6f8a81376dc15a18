//! Payloads with a schema: JSON text straight into cells.
//!
//! This is the hot path: per record it allocates nothing, copies no text that has no escapes, and
//! looks at each byte of the payload once. Members are expected in the order of the schema; any
//! other order costs a look-up.
//!
//! Invariants: a value that does not fit its schema exactly is a fault, never another value; the
//! last of repeated members wins; a fault leaves cells behind, which the caller cuts off.

use super::fault::Fault;
use super::number::Number;
use super::plan::{Absent, Fields, Plan, Read};
use super::scan::{Kind, Scanner};
use super::strings::{Text, unescape};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use data::{Cell, Rows, Schema, Span};

/// Standard base64 with padding; like Connect's reader it does not look at the bits left over.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Vectors that are kept from record to record.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Elements of open lists and maps.
    pub(crate) cells: Vec<Cell>,
    /// Which fields of open structs have been seen, once their order is not the schema's.
    seen: Vec<bool>,
    bytes: Vec<u8>,
}

impl Scratch {
    /// Forgets what a record that failed midway has left.
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.seen.clear();
        self.bytes.clear();
    }
}

/// Reads one record.
pub(crate) struct Reader<'a> {
    pub(crate) scan: Scanner<'a>,
    /// Where the record's bytes are in the heap of `rows`.
    pub(crate) base: Span,
    pub(crate) rows: &'a mut Rows,
    pub(crate) scratch: &'a mut Scratch,
    /// `replace.null.with.default`
    pub(crate) replace_null: bool,
    /// Arrays and objects around the current place.
    pub(crate) depth: usize,
}

impl Reader<'_> {
    /// Reads the value that begins here.
    pub(crate) fn value(&mut self, plan: &Plan) -> Result<Cell, Fault> {
        match (&plan.read, self.scan.peek()) {
            (Read::Integer { min, max, width }, Some(b'-' | b'0'..=b'9')) => {
                let value = self.integer(plan, *min, *max)?;
                Ok(Cell::Int(value, *width))
            }
            (Read::Text, Some(b'"')) => self.string().map(Cell::Text),
            (Read::Float64, Some(b'-' | b'0'..=b'9')) => self.double(plan).map(Cell::Float),
            (Read::Boolean, Some(b't' | b'f')) => self.scan.boolean().map(Cell::Bool),
            (Read::Struct(fields), Some(b'{')) => self.structure(fields, &plan.schema),
            (_, Some(b'n')) => {
                self.scan.literal(b"null")?;
                self.null(plan)
            }
            _ => self.other(plan),
        }
    }

    /// The same into its place. The usual kinds are written there at once: a cell that is passed
    /// through a result is put together in memory and read back before its parts have arrived.
    #[inline]
    fn field(&mut self, plan: &Plan, cells: Span, index: usize) -> Result<(), Fault> {
        match (&plan.read, self.scan.peek()) {
            (Read::Integer { min, max, width }, Some(b'-' | b'0'..=b'9')) => {
                let value = self.integer(plan, *min, *max)?;
                self.rows.set(cells, index, Cell::Int(value, *width));
            }
            (Read::Text, Some(b'"')) => {
                let span = self.string()?;
                self.rows.set(cells, index, Cell::Text(span));
            }
            (Read::Float64, Some(b'-' | b'0'..=b'9')) => {
                let value = self.double(plan)?;
                self.rows.set(cells, index, Cell::Float(value));
            }
            (Read::Boolean, Some(b't' | b'f')) => {
                let value = self.scan.boolean()?;
                self.rows.set(cells, index, Cell::Bool(value));
            }
            _ => {
                let cell = self.value(plan)?;
                self.rows.set(cells, index, cell);
            }
        }
        Ok(())
    }

    #[inline]
    fn integer(&mut self, plan: &Plan, min: i64, max: i64) -> Result<i64, Fault> {
        let number = self.scan.number()?;
        let value = match number.integer() {
            Some(value) => value,
            None => self.odd_integer(plan, &number)?,
        };
        if value < min || value > max {
            return Err(plan.unfit("the number is out of range"));
        }
        Ok(value)
    }

    #[cold]
    fn odd_integer(&self, plan: &Plan, number: &Number) -> Result<i64, Fault> {
        let exact = number.exact_integer(self.scan.bytes());
        // Connect asks dates and times for integers that are written as such.
        exact
            .filter(|_| !plan.is_temporal())
            .ok_or_else(|| plan.unfit("the number is out of range or has a fraction"))
    }

    #[inline]
    fn double(&mut self, plan: &Plan) -> Result<f64, Fault> {
        let value = self.scan.number()?.double(self.scan.bytes());
        value.ok_or_else(|| plan.unfit("the number is out of range"))
    }

    /// Passes a string and gives its place. Inlined, so that the place stays in registers.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Result<Span, Fault> {
        let text = self.scan.string()?;
        Ok(self.text(text))
    }

    /// The kinds that are less common, and everything that does not fit.
    fn other(&mut self, plan: &Plan) -> Result<Cell, Fault> {
        let kind = self.scan.kind()?;
        match (&plan.read, kind) {
            (Read::Float32, Kind::Number) => {
                let value = self.scan.number()?.float(self.scan.bytes());
                value
                    .map(|value| Cell::Float(f64::from(value)))
                    .ok_or_else(|| plan.unfit("the number is out of range"))
            }
            (Read::Bytes, Kind::String) => {
                let span = self.base64("Invalid bytes field")?;
                Ok(Cell::Bytes(span))
            }
            (Read::Decimal(scale), Kind::String) => {
                let unscaled = self.base64("Invalid bytes for Decimal field")?;
                if unscaled.len == 0 {
                    return Err(Fault::data("Invalid bytes for Decimal field"));
                }
                Ok(Cell::Decimal { unscaled, scale: *scale })
            }
            (Read::Decimal(scale), Kind::Number) => self.decimal(*scale),
            (Read::Instant { unit_ms, min, max }, Kind::Number) => {
                let value = self.integer(plan, *min, *max)?;
                Ok(Cell::Instant(value.saturating_mul(*unit_ms)))
            }
            (Read::List(items), Kind::Array) => self.list(items),
            (Read::List(items), Kind::Object) => self.object_as_list(items),
            (Read::Object(values), Kind::Object) => {
                let mark = self.members(values)?;
                Ok(Cell::Map(self.take(mark)))
            }
            (Read::Pairs(keys, values), Kind::Array) => self.pairs(keys, values),
            (Read::Custom(custom), _) => custom.read(self, plan),
            _ => {
                // A syntax error in the value goes before its wrong kind.
                self.scan.skip(self.depth)?;
                Err(plan.mismatch(kind))
            }
        }
    }

    /// An explicit null.
    fn null(&mut self, plan: &Plan) -> Result<Cell, Fault> {
        let schema = &plan.schema;
        match schema.default() {
            Some(default) if self.replace_null => Ok(self.rows.put_value(Some(schema), default)),
            _ if schema.is_optional() => Ok(Cell::Null),
            _ => {
                let kind = schema.kind().name();
                Err(Fault::data(format!("Invalid null value for required {kind} field")))
            }
        }
    }

    /// A member that is not there: its default even where explicit nulls are kept.
    fn absent(&mut self, plan: &Plan, absent: Absent) -> Result<Cell, Fault> {
        let schema = &plan.schema;
        match (schema.default(), absent) {
            (Some(default), _) => Ok(self.rows.put_value(Some(schema), default)),
            (None, Absent::AsNull) => self.null(plan),
            (None, Absent::Null) => Ok(Cell::Null),
            (None, Absent::Fault) => Err(Fault::data("the schema requires this member")),
        }
    }

    /// The place of a string's text: in the record, or unescaped in the heap.
    #[inline(always)]
    pub(crate) fn text(&mut self, text: Text) -> Span {
        if text.escaped {
            return self.unescaped(text);
        }
        self.base.slice(text.start as u32, text.len as u32)
    }

    #[inline(never)]
    fn unescaped(&mut self, text: Text) -> Span {
        let raw = raw(&self.scan, text);
        self.rows.heap.put_with(|out| unescape(raw, out))
    }

    fn structure(&mut self, fields: &Fields, schema: &Schema) -> Result<Cell, Fault> {
        let len = fields.list.len();
        let cells = self.rows.alloc(len);
        // Fields 0..next have been seen, as long as the order is the schema's.
        let mut next = 0;
        let mut expected = 0;
        let mut tracked: Option<usize> = None;
        let mut more = self.scan.open(b'}', self.depth)?;
        self.depth += 1;
        while more {
            let index = match fields.list.get(expected) {
                Some(field) if self.scan.eat_token(&field.token) => Some(expected),
                _ => self.find(fields)?,
            };
            self.scan.blank();
            let Some((index, field)) = index.and_then(|i| Some((i, fields.list.get(i)?))) else {
                self.scan.skip(self.depth)?;
                more = self.scan.more(b'}')?;
                continue;
            };
            if let Err(fault) = self.field(&field.plan, cells, index) {
                return Err(fault.within(Fields::name(schema, index)));
            }
            expected = index + 1;
            if index == next && tracked.is_none() {
                next += 1;
            } else {
                self.track(&mut tracked, next, len, index);
            }
            more = self.scan.more(b'}')?;
        }
        self.depth -= 1;
        if tracked.is_some() || next < len {
            self.fill_absent(fields, schema, cells, tracked, next)?;
        }
        Ok(Cell::Struct(cells))
    }

    /// Notes a field out of order; the marks of fields 0..next are made up for at the first one.
    fn track(&mut self, tracked: &mut Option<usize>, next: usize, len: usize, index: usize) {
        let seen = &mut self.scratch.seen;
        let mark = *tracked.get_or_insert_with(|| {
            let mark = seen.len();
            seen.extend((0..len).map(|field| field < next));
            mark
        });
        if let Some(slot) = seen.get_mut(mark + index) {
            *slot = true;
        }
    }

    fn fill_absent(
        &mut self,
        fields: &Fields,
        schema: &Schema,
        cells: Span,
        tracked: Option<usize>,
        next: usize,
    ) -> Result<(), Fault> {
        for (index, field) in fields.list.iter().enumerate() {
            let seen = match tracked {
                Some(mark) => self.scratch.seen.get(mark + index).copied().unwrap_or(false),
                None => index < next,
            };
            if !seen {
                let cell = self.absent(&field.plan, field.absent);
                let cell = cell.map_err(|fault| fault.within(Fields::name(schema, index)))?;
                self.rows.set(cells, index, cell);
            }
        }
        if let Some(mark) = tracked {
            self.scratch.seen.truncate(mark);
        }
        Ok(())
    }

    /// Passes a member's name and looks it up.
    fn find(&mut self, fields: &Fields) -> Result<Option<usize>, Fault> {
        let name = self.scan.name()?;
        let raw = raw(&self.scan, name);
        if !name.escaped {
            return Ok(fields.find(raw));
        }
        self.scratch.bytes.clear();
        unescape(raw, &mut self.scratch.bytes);
        Ok(fields.find(&self.scratch.bytes))
    }

    fn list(&mut self, items: &Plan) -> Result<Cell, Fault> {
        let mark = self.scratch.cells.len();
        let mut more = self.scan.open(b']', self.depth)?;
        self.depth += 1;
        while more {
            let index = self.scratch.cells.len() - mark;
            let cell = self.value(items).map_err(|fault| fault.within_item(index))?;
            self.scratch.cells.push(cell);
            more = self.scan.more(b']')?;
        }
        self.depth -= 1;
        Ok(Cell::List(self.take(mark)))
    }

    /// An object where an array is wanted gives its values, as in Connect.
    fn object_as_list(&mut self, items: &Plan) -> Result<Cell, Fault> {
        let mark = self.members(items)?;
        let pairs = self.scratch.cells.split_off(mark);
        self.scratch.cells.extend(pairs.chunks_exact(2).filter_map(|pair| pair.last()));
        Ok(Cell::List(self.take(mark)))
    }

    /// Reads an object as key and value cells onto the scratch cells, from the mark returned on.
    pub(crate) fn members(&mut self, values: &Plan) -> Result<usize, Fault> {
        let mark = self.scratch.cells.len();
        let mut more = self.scan.open(b'}', self.depth)?;
        self.depth += 1;
        while more {
            let name = self.scan.name()?;
            let key = Cell::Text(self.text(name));
            let value = self.value(values)?;
            self.scratch.cells.extend([key, value]);
            more = self.scan.more(b'}')?;
        }
        self.depth -= 1;
        self.drop_repeated(mark);
        Ok(mark)
    }

    fn pairs(&mut self, keys: &Plan, values: &Plan) -> Result<Cell, Fault> {
        let mark = self.scratch.cells.len();
        let mut more = self.scan.open(b']', self.depth)?;
        self.depth += 1;
        while more {
            let at = self.scan.pos();
            let kind = self.scan.kind()?;
            if kind != Kind::Array {
                self.scan.skip(self.depth)?;
                let found = kind.name();
                return Err(Fault::data(format!(
                    "Found invalid map entry instead of array tuple: {found}"
                )));
            }
            let len = self.count(at)?;
            if len != 2 {
                return Err(Fault::data(format!(
                    "Found invalid map entry, expected length 2 but found :{len}"
                )));
            }
            self.scan.open(b']', self.depth)?;
            self.depth += 1;
            let key = self.value(keys)?;
            self.scan.more(b']')?;
            let value = self.value(values)?;
            self.scan.more(b']')?;
            self.depth -= 1;
            self.scratch.cells.extend([key, value]);
            more = self.scan.more(b']')?;
        }
        self.depth -= 1;
        self.drop_repeated(mark);
        Ok(Cell::Map(self.take(mark)))
    }

    /// The number of elements of the array that begins at `at`, without moving.
    fn count(&self, at: usize) -> Result<usize, Fault> {
        let mut ahead = Scanner::new(self.scan.bytes(), at);
        let mut more = ahead.open(b']', self.depth)?;
        let mut len = 0;
        while more {
            ahead.skip(self.depth + 1)?;
            len += 1;
            more = ahead.more(b']')?;
        }
        Ok(len)
    }

    /// Moves the scratch cells from `mark` on into the row set.
    pub(crate) fn take(&mut self, mark: usize) -> Span {
        let span = self.rows.alloc_from(self.scratch.cells.get(mark..).unwrap_or_default());
        self.scratch.cells.truncate(mark);
        span
    }

    pub(crate) fn base64(&mut self, fault: &'static str) -> Result<Span, Fault> {
        let text = self.scan.string()?;
        let raw = raw(&self.scan, text);
        let bytes = &mut self.scratch.bytes;
        bytes.clear();
        if text.escaped {
            unescape(raw, bytes);
        } else {
            bytes.extend_from_slice(raw);
        }
        // Blanks and line ends between each four digits are passed over, as Connect's reader does.
        let mut digits = 0;
        bytes.retain(|byte| {
            let passed = *byte <= b' ' && digits % 4 == 0;
            digits += usize::from(!passed);
            !passed
        });
        let mut failed = false;
        let span = self.rows.heap.put_with(|out| {
            failed = BASE64.decode_vec(&*bytes, out).is_err();
        });
        if failed { Err(Fault::data(fault)) } else { Ok(span) }
    }

    fn decimal(&mut self, scale: i32) -> Result<Cell, Fault> {
        let number = self.scan.number()?;
        let bytes = self.scan.bytes();
        let mut found = None;
        let unscaled = self.rows.heap.put_with(|out| {
            found = number.decimal(bytes, Some(scale), out);
        });
        match found {
            Some(scale) => Ok(Cell::Decimal { unscaled, scale }),
            None => Err(Fault::data(format!(
                "Invalid value for Decimal field: the number has more digits than scale {scale} \
                 can hold"
            ))),
        }
    }
}

/// The contents of a string as they stand in the record.
pub(crate) fn raw<'a>(scan: &Scanner<'a>, text: Text) -> &'a [u8] {
    scan.bytes().get(text.start..text.start + text.len).unwrap_or_default()
}
