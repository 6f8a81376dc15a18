//! What stands in `${…}`: generators of single values, as text and as code.
//!
//! Pure. Invariant: a value follows from the record's number and its random numbers, except for
//! [`Generator::Now`].

use super::random::Random;
use data::{DAY_MS, java_day};
use std::ops::Range;

const FIRST_NAMES: [&str; 24] = [
    "Ada", "Alan", "Barbara", "Chen", "Claude", "Dennis", "Edsger", "Fatima", "Grace", "Hedy",
    "Ines", "Jun", "Katherine", "Linus", "Margaret", "Niklaus", "Olga", "Priya", "Radia", "Sofia",
    "Tim", "Uma", "Wei", "Yusuf",
];
const LAST_NAMES: [&str; 24] = [
    "Allen", "Bauer", "Costa", "Diaz", "Eriksen", "Fischer", "Garcia", "Haddad", "Ivanova",
    "Jensen", "Kim", "Liskov", "Moreau", "Nguyen", "Okafor", "Patel", "Quist", "Rossi", "Sato",
    "Tanaka", "Ueda", "Varga", "Wang", "Young",
];
const CITIES: [&str; 16] = [
    "Amsterdam", "Bogota", "Cairo", "Delhi", "Edinburgh", "Fukuoka", "Geneva", "Hanoi", "Istanbul",
    "Jakarta", "Kyoto", "Lagos", "Madrid", "Nairobi", "Oslo", "Prague",
];
const WORDS: [&str; 16] = [
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "juniper",
    "kelp", "lichen", "meadow", "nectar", "opal", "pine",
];
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz012345";
/// The first time of `${timestamp}`: 2024-01-01T00:00:00Z.
const TIME_START_MS: i64 = 1_704_067_200_000;
const TEXT_LEN_MAX: usize = 100 << 20;
/// How far floats may be apart and still be rounded.
const DIGITS_MAX: u32 = 15;

/// The generators by name, as messages list them.
const NAMES: &str = "sequence, int, float, bool, choice, uuid, name, first_name, last_name, city, \
                     word, text, timestamp, now";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Generator {
    Sequence { start: i64, step: i64 },
    Int { min: i64, max: i64 },
    Float { min: f64, max: f64, digits: Option<u32> },
    Bool { share: f64 },
    Choice(Vec<String>),
    Words(&'static [&'static str]),
    Uuid,
    Name,
    Text { len: usize },
    Timestamp { start: i64, step: i64 },
    /// The time at which it is generated.
    Now,
}

/// What a generator gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Int,
    Float,
    Bool,
    Text,
    Time,
}

/// One generated value. Text was appended to the caller's bytes, or is number so and so of the
/// generator's own texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Made {
    Int(i64),
    Float(f64),
    Bool(bool),
    Time(i64),
    Picked(usize),
    Text,
}

impl Generator {
    /// Reads `name:argument:argument`.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Generator, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        match name {
            "choice" if rest.is_empty() => {
                return Err("the texts to choose from are missing: ${choice:a,b,c}".to_owned());
            }
            "choice" => {
                let all = rest.split(',').map(|text| text.trim().to_owned());
                return Ok(Generator::Choice(all.collect()));
            }
            // Times may have a colon too.
            "timestamp" => return timestamp(rest),
            _ => {}
        }
        let arguments = Arguments(if rest.is_empty() { Vec::new() } else { rest.split(':').collect() });
        let generator = match name {
            "uuid" => Generator::Uuid,
            "name" => Generator::Name,
            "first_name" => Generator::Words(&FIRST_NAMES),
            "last_name" => Generator::Words(&LAST_NAMES),
            "city" => Generator::Words(&CITIES),
            "word" => Generator::Words(&WORDS),
            "now" => Generator::Now,
            _ => Generator::with_arguments(name, &arguments)?,
        };
        let allowed = generator.arguments_max();
        if arguments.0.len() > allowed {
            return Err(format!("{name} takes {allowed} arguments at most"));
        }
        Ok(generator)
    }

    fn with_arguments(name: &str, arguments: &Arguments<'_>) -> Result<Generator, String> {
        Ok(match name {
            "sequence" | "index" => {
                Generator::Sequence { start: arguments.number(0, 0)?, step: arguments.number(1, 1)? }
            }
            "int" => {
                let (min, max) = (arguments.number(0, 0)?, arguments.number(1, 1_000_000)?);
                ordered(min <= max)?;
                Generator::Int { min, max }
            }
            "float" => {
                let (min, max) = (arguments.number(0, 0.0)?, arguments.number(1, 1.0)?);
                ordered(min <= max && f64::is_finite(max - min))?;
                let digits = arguments.number(2, u32::MAX)?;
                let digits = Some(digits).filter(|digits| *digits != u32::MAX);
                if digits.is_some_and(|digits| digits > DIGITS_MAX) {
                    return Err(format!("at most {DIGITS_MAX} digits"));
                }
                Generator::Float { min, max, digits }
            }
            "bool" => {
                let share = arguments.number(0, 0.5)?;
                if !(0.0..=1.0).contains(&share) {
                    return Err("the share of true is a number from 0 to 1".to_owned());
                }
                Generator::Bool { share }
            }
            "text" => {
                let len: usize = arguments.number(0, 16)?;
                if len > TEXT_LEN_MAX {
                    return Err(format!("at most {TEXT_LEN_MAX} characters"));
                }
                Generator::Text { len }
            }
            other => {
                let near = config::suggest::nearest(other, NAMES.split(", "));
                let near = near.map_or_else(|| ".".to_owned(), |n| format!("; did you mean {n}?"));
                return Err(format!("there is no generator {other}{near} There are: {NAMES}"));
            }
        })
    }

    fn arguments_max(&self) -> usize {
        match self {
            Generator::Float { .. } => 3,
            Generator::Sequence { .. } | Generator::Int { .. } => 2,
            Generator::Bool { .. } | Generator::Text { .. } => 1,
            _ => 0,
        }
    }

    /// Bytes of its text, about.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Generator::Text { len } => *len,
            Generator::Uuid => 36,
            _ => 16,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Generator::Sequence { .. } | Generator::Int { .. } => Kind::Int,
            Generator::Float { .. } => Kind::Float,
            Generator::Bool { .. } => Kind::Bool,
            Generator::Timestamp { .. } | Generator::Now => Kind::Time,
            _ => Kind::Text,
        }
    }

    /// The texts that [`Made::Picked`] is one of.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Generator::Choice(all) => all.iter().map(String::as_str).collect(),
            Generator::Words(all) => all.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The value of a record; text that is not one of the generator's is appended.
    pub(super) fn make(&self, index: i64, random: &mut Random, now: i64, out: &mut Vec<u8>) -> Made {
        match self {
            Generator::Sequence { start, step } => {
                Made::Int(start.wrapping_add(step.wrapping_mul(index)))
            }
            Generator::Int { min, max } => Made::Int(random.between(*min, *max)),
            Generator::Float { min, max, digits } => {
                let value = min + (max - min) * random.unit();
                Made::Float(digits.map_or(value, |digits| rounded(value, digits)))
            }
            Generator::Bool { share } => Made::Bool(random.unit() < *share),
            Generator::Choice(all) => Made::Picked(random.below(all.len() as u64) as usize),
            Generator::Words(all) => Made::Picked(random.below(all.len() as u64) as usize),
            Generator::Timestamp { start, step } => {
                Made::Time(start.wrapping_add(step.wrapping_mul(index)))
            }
            Generator::Now => Made::Time(now),
            Generator::Uuid => {
                write_uuid(random, out);
                Made::Text
            }
            Generator::Name => {
                out.extend_from_slice(pick(&FIRST_NAMES, random).as_bytes());
                out.push(b' ');
                out.extend_from_slice(pick(&LAST_NAMES, random).as_bytes());
                Made::Text
            }
            Generator::Text { len } => {
                write_text(random, *len, out);
                Made::Text
            }
        }
    }
}

fn pick(all: &'static [&'static str], random: &mut Random) -> &'static str {
    all.get(random.below(all.len() as u64) as usize).copied().unwrap_or_default()
}

fn rounded(value: f64, digits: u32) -> f64 {
    let scale = 10_f64.powi(digits as i32);
    let scaled = (value * scale).round();
    if scaled.is_finite() { scaled / scale } else { value }
}

fn write_uuid(random: &mut Random, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    // Version 4, variant 1.
    let high = (random.next() & !0xF000) | 0x4000;
    let low = (random.next() & !(0b11 << 62)) | (0b10 << 62);
    let bits = (u128::from(high) << 64) | u128::from(low);
    let digit = |at: usize| HEX[((bits >> (124 - 4 * at)) & 0xF) as usize];
    let part = |out: &mut Vec<u8>, range: Range<usize>| out.extend(range.map(digit));
    part(out, 0..8);
    for range in [8..12, 12..16, 16..20, 20..32] {
        out.push(b'-');
        part(out, range);
    }
}

fn write_text(random: &mut Random, len: usize, out: &mut Vec<u8>) {
    let mut left = len;
    while left > 0 {
        let mut bits = random.next();
        let count = left.min(12);
        for _ in 0..count {
            out.push(LETTERS[(bits & 31) as usize]);
            bits >>= 5;
        }
        left -= count;
    }
}

/// The first time and the step between records, each of which may be left out.
fn timestamp(rest: &str) -> Result<Generator, String> {
    let (start, step) = rest.split_once(':').unwrap_or((rest, ""));
    let step = Arguments(vec![step]).number(0, 1_000)?;
    let start = match start.trim() {
        "" => TIME_START_MS,
        text => time_ms(text).ok_or_else(|| {
            format!("{text} is no date such as 2024-01-01, nor a number of milliseconds since 1970")
        })?,
    };
    Ok(Generator::Timestamp { start, step })
}

fn time_ms(text: &str) -> Option<i64> {
    if let Ok(ms) = text.parse() {
        return Some(ms);
    }
    let mut parts = text.splitn(3, '-').map(str::parse);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    java_day(year, month, day)?.checked_mul(DAY_MS)
}

/// What stands behind the name, between colons.
struct Arguments<'a>(Vec<&'a str>);

impl Arguments<'_> {
    /// A number; what is left out is the default.
    fn number<T: std::str::FromStr>(&self, at: usize, default: T) -> Result<T, String> {
        match self.0.get(at).map_or("", |text| text.trim()) {
            "" => Ok(default),
            text => text.parse().map_err(|_| format!("{text} is no number that is allowed here")),
        }
    }
}

fn ordered(is: bool) -> Result<(), String> {
    let fault = "the first number is the least, the second the greatest";
    if is { Ok(()) } else { Err(fault.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(generator: &str, index: i64) -> String {
        let generator = Generator::parse(generator).unwrap();
        let mut out = Vec::new();
        let made = generator.make(index, &mut Random::of(1, index as u64), 0, &mut out);
        match made {
            Made::Text => String::from_utf8(out).unwrap(),
            Made::Picked(at) => generator.texts()[at].to_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn generators_take_their_arguments() {
        assert_eq!(text("sequence:10:5", 3), "Int(25)");
        assert_eq!(text("sequence", 3), "Int(3)");
        assert_eq!(text("int:4:4", 0), "Int(4)");
        assert_eq!(text("float:2:2:1", 0), "Float(2.0)");
        assert_eq!(text("bool:1", 0), "Bool(true)");
        assert_eq!(text("choice: only ", 0), "only");
        assert_eq!(text("timestamp:1970-01-02:10", 1), "Time(86400010)");
        assert_eq!(text("timestamp::10", 1), format!("Time({})", TIME_START_MS + 10));
        assert_eq!(text("text:20", 5).len(), 20);
        let uuid = text("uuid", 1);
        let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!((parts, &uuid[14..15]), (vec![8, 4, 4, 4, 12], "4"));
        assert!(text("name", 1).contains(' '));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (generator, wanted) in [
            ("intt:1:2", "did you mean int?"),
            ("int:5:1", "the first number is the least"),
            ("int:a:1", "a is no number"),
            ("int:1:2:3", "int takes 2 arguments at most"),
            ("choice", "${choice:a,b,c}"),
            ("bool:2", "from 0 to 1"),
            ("timestamp:yesterday", "2024-01-01"),
            ("text:999999999999", "at most"),
        ] {
            let error = Generator::parse(generator).unwrap_err();
            assert!(error.contains(wanted), "{generator}: {error}");
        }
    }
}
