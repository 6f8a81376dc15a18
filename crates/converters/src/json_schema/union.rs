//! Values of `oneOf` and `anyOf`: a struct with a field for each alternative, one of them set.
//!
//! As Confluent's converter chooses: the first alternative of a simple type that fits the value's
//! kind, else the struct that has most of the object's members, nested structs counted. Where that
//! finds nothing, what could be read after all: binary text, an empty object, a union in the union.
//!
//! Invariant: to choose looks ahead on a scanner of its own; the reader stays where it is.

use super::read::{Anything, Free, Iso, Symbol};
use crate::json::fault::Fault;
use crate::json::plan::{Custom, Plan, Read};
use crate::json::read::{Reader, raw};
use crate::json::scan::{Kind, Scanner};
use crate::json::strings::unescape;
use data::Cell;
use std::any::Any;

#[derive(Debug)]
pub(super) struct Union {
    /// In the order of the fields.
    pub(super) branches: Vec<Plan>,
}

impl Custom for Union {
    fn read(&self, reader: &mut Reader<'_>, _: &Plan) -> Result<Cell, Fault> {
        let ahead = Ahead::new(reader)?;
        let chosen =
            self.choose(&ahead)?.and_then(|index| Some((index, self.branches.get(index)?)));
        let Some((index, branch)) = chosen else {
            reader.scan.skip(reader.depth)?;
            return Err(Fault::data("Did not find matching oneof field for data"));
        };
        let cells = reader.rows.alloc(self.branches.len());
        let cell = reader.value(branch)?;
        reader.rows.set(cells, index, cell);
        Ok(Cell::Struct(cells))
    }

    fn wanted(&self) -> &'static str {
        "Did not find matching oneof field for data"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Union {
    fn choose(&self, ahead: &Ahead<'_>) -> Result<Option<usize>, Fault> {
        let structs = self.branches.iter().filter(|branch| is_struct(branch)).count();
        let mut best: Option<(usize, usize)> = None;
        for (index, branch) in self.branches.iter().enumerate() {
            if ahead.is_simple(branch) {
                return Ok(Some(index));
            }
            if ahead.kind != Kind::Object || !is_struct(branch) {
                continue;
            }
            // A struct without rivals need not be counted.
            let score = if structs == 1 { 1 } else { ahead.score(branch)? };
            if score > best.map_or(0, |(score, _)| score) {
                best = Some((score, index));
            }
        }
        if let Some((_, index)) = best {
            return Ok(Some(index));
        }
        for (index, branch) in self.branches.iter().enumerate() {
            if ahead.could_be(branch)? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// The value that is to be read, looked at without reading it.
struct Ahead<'a> {
    bytes: &'a [u8],
    pos: usize,
    depth: usize,
    kind: Kind,
    /// A number without point and exponent.
    integral: bool,
}

impl<'a> Ahead<'a> {
    fn new(reader: &Reader<'a>) -> Result<Ahead<'a>, Fault> {
        let (bytes, pos) = (reader.scan.bytes(), reader.scan.pos());
        let kind = reader.scan.kind()?;
        let integral = kind == Kind::Number && {
            let number = Scanner::new(bytes, pos).number()?;
            !number.has_point && !number.has_exponent
        };
        Ok(Ahead { bytes, pos, depth: reader.depth, kind, integral })
    }

    /// Whether the value's kind is the one of a simple type.
    fn is_simple(&self, plan: &Plan) -> bool {
        match &plan.read {
            Read::Integer { .. } | Read::Instant { .. } => self.integral,
            Read::Float32 | Read::Float64 => self.kind == Kind::Number,
            Read::Boolean => self.kind == Kind::Boolean,
            Read::Text => self.kind == Kind::String,
            Read::Decimal(_) => self.kind == Kind::Number && !self.integral,
            Read::List(_) => self.kind == Kind::Array,
            Read::Object(_) => self.kind == Kind::Object,
            Read::Pairs(..) => self.kind == Kind::Array,
            Read::Bytes | Read::Struct(_) | Read::Nothing(_) => false,
            Read::Custom(custom) => {
                let custom = custom.as_any();
                self.kind == Kind::String && (custom.is::<Symbol>() || custom.is::<Iso>())
                    || self.kind == Kind::Array && custom.is::<super::read::Entries>()
            }
        }
    }

    /// Whether it can be read, where no alternative fits better.
    fn could_be(&self, plan: &Plan) -> Result<bool, Fault> {
        Ok(match &plan.read {
            Read::Bytes => self.kind == Kind::String,
            Read::Decimal(_) => matches!(self.kind, Kind::String | Kind::Number),
            // An integer that is written as a fraction.
            Read::Integer { .. } => self.kind == Kind::Number,
            Read::Struct(_) => self.kind == Kind::Object,
            Read::Custom(custom) => {
                let custom = custom.as_any();
                if let Some(union) = custom.downcast_ref::<Union>() {
                    return Ok(union.choose(self)?.is_some());
                }
                custom.is::<Anything>()
                    || custom.is::<Free>() && self.kind == Kind::Object
                    || custom.is::<Symbol>() && matches!(self.kind, Kind::Number | Kind::Boolean)
                    || custom.is::<Iso>() && self.integral
            }
            _ => false,
        })
    }

    /// How many of the object's members the struct knows, nested structs counted as well.
    fn score(&self, plan: &Plan) -> Result<usize, Fault> {
        let mut scan = Scanner::new(self.bytes, self.pos);
        score(&mut scan, plan, self.depth)
    }
}

fn is_struct(plan: &Plan) -> bool {
    match &plan.read {
        Read::Struct(_) => true,
        Read::Custom(custom) => custom.as_any().is::<Free>(),
        _ => false,
    }
}

/// Passes a value and counts.
fn score(scan: &mut Scanner<'_>, plan: &Plan, depth: usize) -> Result<usize, Fault> {
    let free = match &plan.read {
        Read::Custom(custom) => custom.as_any().downcast_ref::<Free>(),
        _ => None,
    };
    let fields = match &plan.read {
        Read::Struct(fields) => Some(fields),
        _ => None,
    };
    if scan.kind()? != Kind::Object || (free.is_none() && fields.is_none()) {
        scan.skip(depth)?;
        return Ok(0);
    }
    let mut seen = vec![false; fields.map_or(0, |fields| fields.list.len())];
    let mut score_of_all = 0;
    let mut more = scan.open(b'}', depth)?;
    let mut unescaped = Vec::new();
    while more {
        let name = scan.name()?;
        let mut bytes = raw(scan, name);
        if name.escaped {
            unescaped.clear();
            unescape(bytes, &mut unescaped);
            bytes = &unescaped;
        }
        let index = fields.and_then(|fields| fields.find(bytes));
        let fresh = index.and_then(|index| seen.get_mut(index)).filter(|seen| !**seen);
        let field = index.and_then(|index| fields?.list.get(index));
        match (fresh, field) {
            (Some(fresh), Some(field)) => {
                *fresh = true;
                score_of_all += 1 + score(scan, &field.plan, depth + 1)?;
            }
            _ => {
                let known = std::str::from_utf8(bytes).ok();
                let named = free.is_some_and(|free| known.is_some_and(|n| free.names.contains(n)));
                score_of_all += usize::from(named);
                scan.skip(depth + 1)?;
            }
        }
        more = scan.more(b'}')?;
    }
    Ok(score_of_all)
}
