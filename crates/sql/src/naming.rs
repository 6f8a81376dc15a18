//! From a record to its table's name: formats, dots, normalisation, length, case.
//!
//! Place in the data path: once a topic where the name depends on the topic alone, else once a
//! record. Invariant: two different names never become one by truncation.

use crate::config::{Dots, Overflow, Quote, SqlSinkConfig};
use crate::table::TableName;

/// A piece of a table name format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Topic,
    /// The part number `n` of the topic between dots.
    TopicPart(usize),
    /// A path into the key; empty for the whole.
    Key(Vec<String>),
    /// A path into the value.
    Value(Vec<String>),
    Header(String),
}

/// A parsed `table.name.format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameFormat {
    pub pieces: Vec<Piece>,
}

impl NameFormat {
    /// # Errors
    /// A placeholder that does not exist, with the list of those that do.
    pub fn parse(text: &str) -> Result<NameFormat, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let Some((inner, tail)) = after.split_once('}') else {
                return Err(format!("${{{after} is not closed by }}"));
            };
            pieces.push(placeholder(inner)?);
            rest = tail;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(NameFormat { pieces })
    }

    /// Whether the name follows from the topic alone.
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|p| matches!(p, Piece::Text(_) | Piece::Topic | Piece::TopicPart(_)))
    }

    /// Whether it is one name whatever the topic.
    pub fn is_fixed(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)))
    }

    /// Whether the name has a part from the value's `source`.
    pub(crate) fn asks_source(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Value(path) => path.first().is_some_and(|first| first == "source"),
            _ => false,
        })
    }

    /// Puts the name together; `value` looks up the pieces that depend on the record. With
    /// `underscores` the dots of what fills the placeholders become underscores.
    ///
    /// # Errors
    /// What the record, or the topic, does not have.
    fn render(
        &self,
        topic: &str,
        underscores: bool,
        mut value: impl FnMut(&Piece) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut name = String::new();
        for piece in &self.pieces {
            let start = name.len();
            match piece {
                Piece::Text(text) => {
                    name.push_str(text);
                    continue;
                }
                Piece::Topic => name.push_str(topic),
                Piece::TopicPart(n) => match topic.split('.').nth(*n) {
                    Some(part) => name.push_str(part),
                    None => return Err(format!("topic {topic} has no part number {n}")),
                },
                other => name.push_str(&value(other)?),
            }
            if underscores {
                let filled = name.split_off(start).replace('.', "_");
                name.push_str(&filled);
            }
        }
        Ok(name)
    }
}

fn placeholder(inner: &str) -> Result<Piece, String> {
    let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
    if inner == "topic" {
        return Ok(Piece::Topic);
    }
    if let Some(part) = inner.strip_prefix("topic[").and_then(|t| t.strip_suffix(']')) {
        return part.parse().map(Piece::TopicPart).map_err(|_| format!("{part} is not a number"));
    }
    match inner.split_once('.') {
        Some(("key", rest)) if !rest.is_empty() => Ok(Piece::Key(path(rest))),
        Some(("value", rest)) if !rest.is_empty() => Ok(Piece::Value(path(rest))),
        Some(("source", rest)) if !rest.is_empty() => Ok(Piece::Value(path(inner))),
        Some(("header", rest)) if !rest.is_empty() => Ok(Piece::Header(rest.to_owned())),
        _ if inner == "key" => Ok(Piece::Key(Vec::new())),
        _ => Err(format!(
            "${{{inner}}} does not exist; there are ${{topic}}, ${{topic[n]}}, ${{key}}, \
             ${{key.FIELD}}, ${{value.FIELD}}, ${{source.FIELD}} and ${{header.NAME}}"
        )),
    }
}

/// How names become the names of tables and columns.
#[derive(Clone, Debug)]
pub struct NameRules {
    pub format: NameFormat,
    /// Tables of single topics.
    pub mapping: Vec<(String, String)>,
    pub normalize: bool,
    pub dots: Dots,
    /// Whether tables lie in schemas.
    pub schemas: bool,
    pub overflow: Overflow,
    /// Names are folded to lower case, as SQL does without quotes.
    pub fold: bool,
    /// The longest name in bytes that the database keeps whole; `None`: no limit.
    pub bytes_max: Option<usize>,
}

impl NameRules {
    /// `schemas`: whether the database has schemas; `bytes_max`: its longest name.
    ///
    /// # Errors
    /// What is wrong with the format; validation finds it first.
    pub fn new(
        config: &SqlSinkConfig,
        schemas: bool,
        bytes_max: Option<usize>,
    ) -> Result<NameRules, String> {
        let mapping = config.topics_to_tables.iter().filter_map(|entry| entry.split_once(':'));
        let dots = match config.table_name_dots {
            Dots::Split if !schemas => Dots::Underscore,
            dots => dots,
        };
        Ok(NameRules {
            format: NameFormat::parse(&config.table_name_format)?,
            mapping: mapping.map(|(t, n)| (t.trim().to_owned(), n.trim().to_owned())).collect(),
            normalize: config.table_name_normalize,
            dots,
            schemas,
            overflow: config.table_name_overflow,
            fold: config.quote_identifiers == Quote::Never,
            bytes_max,
        })
    }

    /// The table of a topic that has one of its own.
    pub fn mapped(&self, topic: &str) -> Option<&str> {
        self.mapping.iter().find(|(t, _)| t == topic).map(|(_, name)| name.as_str())
    }

    /// Puts the name together; `value` looks up the pieces that depend on the record. Where dots
    /// become underscores those of topics and values do, here; those of the format itself separate.
    ///
    /// # Errors
    /// What the record, or the topic, does not have.
    pub fn render(
        &self,
        topic: &str,
        value: impl FnMut(&Piece) -> Result<String, String>,
    ) -> Result<String, String> {
        let name = self.format.render(topic, self.dots == Dots::Underscore, value)?;
        // Before it is split: dots are replaced as well.
        Ok(if self.normalize { normalize(&name) } else { name })
    }

    /// The name of a new column for a field.
    pub fn column(&self, field: &str) -> String {
        if self.fold { field.to_ascii_lowercase() } else { field.to_owned() }
    }

    /// Turns a rendered name into the table's exact name.
    ///
    /// # Errors
    /// An empty name, or one that is too long.
    pub fn table(&self, rendered: &str) -> Result<TableName, String> {
        let mut parts: Vec<String> = match self.dots {
            Dots::Split => rendered.split('.').map(str::to_owned).collect(),
            Dots::Underscore if self.schemas => rendered.split('.').map(str::to_owned).collect(),
            Dots::Underscore => vec![rendered.replace('.', "_")],
            Dots::Literal => vec![rendered.to_owned()],
        };
        for part in &mut parts {
            if self.fold {
                part.make_ascii_lowercase();
            }
            if part.is_empty() {
                return Err(format!("table name {rendered:?} has an empty part"));
            }
            *part = self.fit(part)?;
        }
        let name = parts.pop().unwrap_or_default();
        Ok(TableName { schema: parts.pop(), name })
    }

    fn fit(&self, name: &str) -> Result<String, String> {
        let Some(max) = self.bytes_max.filter(|max| name.len() > *max) else {
            return Ok(name.to_owned());
        };
        match self.overflow {
            Overflow::Fail => Err(format!(
                "table name {name} has {} bytes, the database allows {max}; set \
                 table.name.overflow=hash, table.name.format or topics.to.tables.mapping",
                name.len()
            )),
            Overflow::Hash => {
                let hash = format!("_{:016x}", fnv1a(name.as_bytes()));
                let mut cut = max.saturating_sub(hash.len());
                while !name.is_char_boundary(cut) {
                    cut -= 1;
                }
                Ok(format!("{}{hash}", name.get(..cut).unwrap_or_default()))
            }
        }
    }
}

/// The table name of a setting such as `offsets.table`: `table` or `schema.table`.
pub fn setting_table(text: &str) -> TableName {
    match text.split_once('.') {
        Some((schema, name)) => {
            TableName { schema: Some(schema.to_owned()), name: name.to_owned() }
        }
        None => TableName { schema: None, name: text.to_owned() },
    }
}

fn normalize(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// FNV-1a of 64 bits: the hash is part of table names, so it must never change.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(format: &str, dots: Dots) -> NameRules {
        NameRules {
            format: NameFormat::parse(format).unwrap(),
            mapping: vec![("a".to_owned(), "b".to_owned())],
            normalize: false,
            dots,
            schemas: true,
            overflow: Overflow::Fail,
            fold: false,
            bytes_max: Some(63),
        }
    }

    fn name(rules: &NameRules, topic: &str) -> Result<String, String> {
        let text = rules.render(topic, |_| Ok("x".to_owned()))?;
        rules.table(&text).map(|name| name.to_string())
    }

    #[test]
    fn dots_mean_what_the_setting_says() {
        let split = rules("${topic}", Dots::Split);
        assert_eq!(name(&split, "server1.public.Orders").unwrap(), "public.Orders");
        assert_eq!(name(&split, "my-topic.v1").unwrap(), "my-topic.v1");
        assert!(name(&split, "a..b").is_err());
        let underscore = rules("${topic}", Dots::Underscore);
        assert_eq!(name(&underscore, "my-topic.v1").unwrap(), "my-topic_v1");
        let mut mixed = rules("s.${topic}", Dots::Underscore);
        assert_eq!(name(&mixed, "a.b").unwrap(), "s.a_b");
        mixed.schemas = false;
        assert_eq!(name(&mixed, "a.b").unwrap(), "s_a_b");
        let literal = rules("${topic}", Dots::Literal).table("a.b").unwrap();
        assert_eq!(literal, TableName { schema: None, name: "a.b".to_owned() });
    }

    #[test]
    fn formats_take_topic_parts_and_fields() {
        let parts = rules("s.${topic[2]}_${value.kind}", Dots::Split);
        assert_eq!(name(&parts, "a.b.c").unwrap(), "s.c_x");
        assert!(name(&parts, "a.b").unwrap_err().contains("no part number 2"));
        assert!(NameFormat::parse("${topics}").unwrap_err().contains("${topic[n]}"));
        assert!(NameFormat::parse("${topic").is_err());
        let source = NameFormat::parse("${source.table}").unwrap().pieces;
        assert_eq!(source, [Piece::Value(vec!["source".to_owned(), "table".to_owned()])]);
    }

    #[test]
    fn normalized_names_have_no_dots_and_mapped_ones_are_left() {
        let mut normal = rules("s.${topic}", Dots::Split);
        normal.normalize = true;
        assert_eq!(name(&normal, "server1.public.é-x").unwrap(), "s_server1_public___x");
        assert_eq!(normal.table("s.my-table").unwrap().to_string(), "s.my-table");
    }

    #[test]
    fn long_names_are_refused_or_hashed_never_cut() {
        let mut long = rules("${topic}", Dots::Literal);
        let (a, b) = (format!("{}a", "ü".repeat(40)), format!("{}b", "ü".repeat(40)));
        assert!(name(&long, &a).unwrap_err().contains("81 bytes"));
        long.overflow = Overflow::Hash;
        let (a, b) = (name(&long, &a).unwrap(), name(&long, &b).unwrap());
        assert!(a.len() <= 63 && a != b);
    }

    #[test]
    fn folding_and_normalising_change_every_part() {
        let mut fold = rules("${topic}", Dots::Split);
        fold.fold = true;
        assert_eq!(name(&fold, "Server-1.Public.My Orders").unwrap(), "public.my orders");
        fold.normalize = true;
        assert_eq!(name(&fold, "Public.My Orders").unwrap(), "public_my_orders");
        assert_eq!(fold.mapped("a"), Some("b"));
    }
}
