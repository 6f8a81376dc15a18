//! Why a value is not written, with the path to it.

use std::fmt;

/// Built while the walk is left: the innermost part of the path comes first.
#[derive(Debug)]
pub(super) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    message: String,
    path: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Field(String),
    /// Of an array.
    Item(usize),
    /// Of a map.
    Key(String),
}

impl Fault {
    #[cold]
    pub(super) fn new(message: impl Into<String>) -> Fault {
        Fault(Box::new(Inner { message: message.into(), path: Vec::new() }))
    }

    /// A null where the schema has none.
    #[cold]
    pub(super) fn null() -> Fault {
        Fault::new("Found null value for non-optional schema")
    }

    #[cold]
    pub(super) fn field(self, name: &str) -> Fault {
        self.part(Part::Field(name.to_owned()))
    }

    #[cold]
    pub(super) fn item(self, index: usize) -> Fault {
        self.part(Part::Item(index))
    }

    #[cold]
    pub(super) fn key(self, key: &str) -> Fault {
        const SHOWN_MAX: usize = 40;
        self.part(Part::Key(key.chars().take(SHOWN_MAX).collect()))
    }

    fn part(mut self, part: Part) -> Fault {
        self.0.path.push(part);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if self.0.path.is_empty() {
            return Ok(());
        }
        f.write_str(" (field ")?;
        for (at, part) in self.0.path.iter().rev().enumerate() {
            match part {
                Part::Field(name) if at == 0 => f.write_str(name)?,
                Part::Field(name) => write!(f, ".{name}")?,
                Part::Item(index) => write!(f, "[{index}]")?,
                Part::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_from_outside() {
        let fault = Fault::new("no").key("k").item(3).field("b").field("a");
        assert_eq!(fault.to_string(), "no (field a.b[3][\"k\"])");
        assert_eq!(Fault::new("no").to_string(), "no");
    }
}
