//! Names of records, enums and fixed types: a simple name in a namespace.

use std::fmt;

/// A full name in its two parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Empty where there is none.
    pub(crate) namespace: String,
    pub(crate) simple: String,
}

impl Name {
    /// Splits at the last dot.
    pub(crate) fn new(full: &str) -> Name {
        let (namespace, simple) = full.rsplit_once('.').unwrap_or(("", full));
        Name { namespace: namespace.to_owned(), simple: simple.to_owned() }
    }

    /// A name as it stands in a schema: one with a dot is full; else it is in `own`, the namespace
    /// beside it, or in the enclosing one.
    pub(crate) fn within(text: &str, own: Option<&str>, enclosing: &str) -> Name {
        if text.contains('.') {
            return Name::new(text);
        }
        let namespace = own.unwrap_or(enclosing).to_owned();
        Name { namespace, simple: text.to_owned() }
    }

    /// `namespace.name`, or the simple name where there is no namespace.
    pub(crate) fn full(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.simple)
        } else {
            write!(f, "{}.{}", self.namespace, self.simple)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_full_where_they_have_a_dot() {
        let of = |text, own, enclosing| Name::within(text, own, enclosing).full();
        assert_eq!(of("A", None, "x.y"), "x.y.A");
        assert_eq!(of("A", Some("z"), "x.y"), "z.A");
        assert_eq!(of("A", Some(""), "x.y"), "A");
        assert_eq!(of("q.A", Some("z"), "x.y"), "q.A");
        assert_eq!(of(".A", Some("z"), "x.y"), "A");
    }
}
