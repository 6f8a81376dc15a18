//! Values without a schema: a top-level object becomes a map of cells, whatever is nested in it
//! stays JSON text that has been checked and not looked at.
//!
//! Invariants: integers of 64 bits are numbers, all other numbers keep their digits as text; JSON
//! text in a cell is strict JSON, so what only Connect's parser accepts is written anew; the last
//! of repeated members wins.

use super::fault::Fault;
use super::number::Number;
use super::read::{Reader, raw};
use super::repair::repair;
use super::scan::Kind;
use super::token::Token;
use data::{Alike, Cell, Span, Width};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Names that producers have been seen to write. A record whose names are all found in it, none
/// twice, needs no search for repeats.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// Each name as it stands in a record, quoted and with its colon, in the order of the first
    /// record that had it.
    tokens: Vec<Token>,
    /// The places of the names in `tokens`.
    places: HashMap<Box<[u8]>, usize, RandomState>,
    /// Where a record of this batch has each name of `tokens`, so far as one was seen: records that
    /// share the places of their names are known to be alike without a look at the names.
    seen: Vec<Option<Span>>,
    /// Names that were not kept since there was no room.
    strangers: usize,
    order: Order,
}

/// The names of the record before, and which records of a batch have the same in the same order.
#[derive(Debug, Default)]
struct Order {
    /// Places of the names in `tokens`; those that the record at work has in common with the one before
    /// come first.
    places: Vec<usize>,
    /// Maps that have these names.
    latest: Alike,
    /// The most maps of one order before.
    most: Alike,
}

impl Order {
    /// Notes the name of member `number`, none where it is not one of the shape's. True as long as the
    /// record has the names of the one before.
    #[inline]
    fn note(&mut self, number: usize, place: usize) -> bool {
        if self.places.get(number) == Some(&place) {
            return true;
        }
        self.places.truncate(number);
        self.places.push(place);
        false
    }

    /// Notes where the record's map is; `same` if its names were those of the one before.
    #[inline]
    fn end(&mut self, same: bool, map: Span) {
        if !(same && self.places.len() * 2 == map.len as usize && self.latest.extend(map)) {
            self.begin(map);
        }
    }

    #[inline(never)]
    fn begin(&mut self, map: Span) {
        self.places.truncate(map.len as usize / 2);
        if self.latest.maps() > self.most.maps() {
            self.most = self.latest;
        }
        self.latest = match self.places.len() * 2 == map.len as usize {
            true => Alike::of(map),
            false => Alike::default(),
        };
    }
}

/// Names a shape may hold.
const SHAPE_MAX: usize = 256;

/// A longer name is not kept.
const NAME_BYTES_MAX: usize = 256;

/// After so many names without room a full shape starts anew: names that are ids would otherwise
/// cost each record what learning costs.
const STRANGERS_MAX: usize = 100 * SHAPE_MAX;

/// Names of a shape that a record may leave out in one place before they are looked up.
const GAP_MAX: usize = 4;

impl Shape {
    /// Forgets what is true of one batch only.
    pub(crate) fn begin_batch(&mut self) {
        self.seen.clear();
        self.seen.resize(self.tokens.len(), None);
        self.order = Order::default();
    }

    /// The record before, whose cells were to lie from `mark` on, failed: the next one has nothing in
    /// common with it.
    pub(crate) fn forget_order(&mut self, mark: usize) {
        self.order.latest.truncate(mark);
        self.order.begin(Span::EMPTY);
    }

    /// Most of this batch's maps that have the same names in the same order.
    pub(crate) fn alike(&self) -> Alike {
        let Order { latest, most, .. } = &self.order;
        if latest.maps() > most.maps() { *latest } else { *most }
    }

    /// The place of a name that has no escapes; `None` where it was not known.
    fn place(&mut self, name: &[u8]) -> Option<usize> {
        let place = self.places.get(name).copied();
        if place.is_none() {
            self.learn(name);
        }
        place
    }

    /// Where the batch's first record had the name, which this one has at `own`.
    #[inline]
    fn shared(&mut self, place: usize, own: Span) -> Span {
        match self.seen.get_mut(place) {
            Some(seen) => *seen.get_or_insert(own),
            None => own,
        }
    }

    #[cold]
    fn learn(&mut self, name: &[u8]) {
        if name.len() > NAME_BYTES_MAX {
            return;
        }
        if self.tokens.len() >= SHAPE_MAX {
            self.strangers += 1;
            if self.strangers < STRANGERS_MAX {
                return;
            }
            *self = Shape::default();
        }
        self.places.insert(name.into(), self.tokens.len());
        self.seen.push(None);
        self.tokens.push(Token::new(&[b"\"", name, b"\":"].concat()));
    }
}

/// The places of a shape that one record has used.
#[derive(Default)]
struct Used([u64; SHAPE_MAX.div_ceil(64)]);

impl Used {
    /// Notes a place; false if it was used before.
    #[inline]
    fn first(&mut self, place: usize) -> bool {
        let bit = 1 << (place % 64);
        let Some(word) = self.0.get_mut(place / 64) else { return false };
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

impl Reader<'_> {
    /// Reads the value that begins here.
    pub(crate) fn plain(&mut self, shape: &mut Shape) -> Result<Cell, Fault> {
        match self.scan.peek() {
            Some(b'{') => self.plain_object(shape),
            Some(b'[') => self.json(),
            _ => self.plain_scalar(),
        }
    }

    fn plain_object(&mut self, shape: &mut Shape) -> Result<Cell, Fault> {
        let mark = self.scratch.cells.len();
        let mut expected = 0;
        let mut used = Used::default();
        let mut certain = true;
        let (mut members, mut same) = (0, true);
        let mut more = self.scan.open(b'}', self.depth)?;
        self.depth += 1;
        while more {
            let ahead = shape.tokens.iter().enumerate().skip(expected).take(GAP_MAX);
            let at = self.scan.pos();
            let known = ahead.into_iter().find(|(_, token)| self.scan.eat_token(token));
            let key = match known {
                Some((place, token)) => {
                    expected = place + 1;
                    certain &= used.first(place);
                    same &= shape.order.note(members, place);
                    let own = self.base.slice(at as u32 + 1, token.len() as u32 - 3);
                    shape.shared(place, own)
                }
                None => {
                    let name = self.scan.name()?;
                    let text = raw(&self.scan, name);
                    let place = if name.escaped { None } else { shape.place(text) };
                    let own = self.text(name);
                    match place {
                        Some(place) => {
                            expected = place + 1;
                            certain &= used.first(place);
                            same &= shape.order.note(members, place);
                            shape.shared(place, own)
                        }
                        None => {
                            (certain, same) = (false, false);
                            shape.order.places.clear();
                            own
                        }
                    }
                }
            };
            self.scan.blank();
            self.scratch.cells.push(Cell::Text(key));
            self.plain_member()?;
            members += 1;
            more = self.scan.more(b'}')?;
        }
        self.depth -= 1;
        if !certain {
            shape.order.places.clear();
            self.drop_repeated(mark);
        }
        let span = self.take(mark);
        shape.order.end(same, span);
        Ok(Cell::Map(span))
    }

    /// Reads an object whose members no schema describes, without what other records taught.
    pub(crate) fn plain_map(&mut self) -> Result<Cell, Fault> {
        let mark = self.scratch.cells.len();
        let mut more = self.scan.open(b'}', self.depth)?;
        self.depth += 1;
        while more {
            let name = self.scan.name()?;
            let key = Cell::Text(self.text(name));
            self.scratch.cells.push(key);
            self.plain_member()?;
            more = self.scan.more(b'}')?;
        }
        self.depth -= 1;
        self.drop_repeated(mark);
        Ok(Cell::Map(self.take(mark)))
    }

    /// Reads a member's value onto the scratch cells; the usual kinds go there at once, as a
    /// struct's fields do.
    #[inline]
    fn plain_member(&mut self) -> Result<(), Fault> {
        match self.scan.peek() {
            Some(b'"') => {
                let span = self.string()?;
                self.scratch.cells.push(Cell::Text(span));
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = self.scan.number()?;
                match number.integer() {
                    Some(value) => self.scratch.cells.push(Cell::Int(value, Width::W64)),
                    None => {
                        let span = self.digits(&number);
                        self.scratch.cells.push(Cell::Number(span));
                    }
                }
            }
            Some(b'{' | b'[') => {
                let cell = self.json()?;
                self.scratch.cells.push(cell);
            }
            _ => {
                let cell = self.plain_scalar()?;
                self.scratch.cells.push(cell);
            }
        }
        Ok(())
    }

    fn plain_scalar(&mut self) -> Result<Cell, Fault> {
        Ok(match self.scan.kind()? {
            Kind::Null => {
                self.scan.literal(b"null")?;
                Cell::Null
            }
            Kind::Boolean => Cell::Bool(self.scan.boolean()?),
            Kind::String => Cell::Text(self.string()?),
            Kind::Number => {
                let number = self.scan.number()?;
                match number.integer() {
                    Some(value) => Cell::Int(value, Width::W64),
                    None => Cell::Number(self.digits(&number)),
                }
            }
            Kind::Array | Kind::Object | Kind::Missing => self.json()?,
        })
    }

    /// A number's text, without superfluous zeros in front.
    fn digits(&mut self, number: &Number) -> Span {
        let from = number.digits_start;
        let len = (number.end - from) as u32;
        if number.negative && from > number.start + 1 {
            let digits = self.scan.bytes().get(from..number.end).unwrap_or_default();
            return self.rows.heap.put_with(|out| {
                out.push(b'-');
                out.extend_from_slice(digits);
            });
        }
        let sign = u32::from(number.negative);
        self.base.slice(from as u32 - sign, len + sign)
    }

    /// A nested value as checked JSON text.
    pub(crate) fn json(&mut self) -> Result<Cell, Fault> {
        self.unread().map(Cell::Json)
    }

    /// The text of a value, checked and made strict.
    pub(crate) fn unread(&mut self) -> Result<Span, Fault> {
        let start = self.scan.pos();
        self.scan.lenient = false;
        self.scan.skip(self.depth)?;
        let end = self.scan.pos();
        if !self.scan.lenient {
            return Ok(self.base.slice(start as u32, (end - start) as u32));
        }
        let text = self.scan.bytes().get(start..end).unwrap_or_default();
        Ok(self.rows.heap.put_with(|out| repair(text, out)))
    }
}
