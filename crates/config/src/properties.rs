//! Java property files: `key=value` lines with continuations, escapes and comments.
//!
//! The rules are those of `java.util.Properties`, with one exception: a key that is set twice is
//! refused, because Java silently keeps the last one.

use std::collections::BTreeMap;

use crate::props::Props;

/// A property file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct PropertiesError {
    /// The line where it is wrong, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

/// Reads a property file.
///
/// # Errors
/// A malformed `\u` escape, or a key that is set twice.
pub fn parse(text: &str) -> Result<Props, PropertiesError> {
    let mut props = Props::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (line, logical) in logical_lines(text) {
        let (key, value) = split(&logical);
        let fault = |message| PropertiesError { line, message };
        let key = unescape(key).map_err(fault)?;
        let value = unescape(value).map_err(fault)?;
        if let Some(first) = seen.insert(key.clone(), line) {
            return Err(fault(format!(
                "the key {key} is set twice, first on line {first}; remove one of the two"
            )));
        }
        props.insert(key, value);
    }
    Ok(props)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// Lines joined over continuations, without comments and blank lines, each with its first number.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, raw) in natural_lines(text.strip_prefix('\u{feff}').unwrap_or(text)).enumerate() {
        let content = raw.trim_start_matches(is_blank);
        // As in Java, a line of nothing but a backslash does not begin anything yet.
        let begun = open.as_ref().is_some_and(|(_, joined)| !joined.is_empty());
        if !begun && (content.is_empty() || content.starts_with(['#', '!'])) {
            open = None;
            continue;
        }
        let slashes = content.chars().rev().take_while(|c| *c == '\\').count();
        let continues = slashes % 2 == 1;
        let kept = if continues { content.strip_suffix('\\').unwrap_or(content) } else { content };
        let (_, joined) = open.get_or_insert_with(|| (index + 1, String::new()));
        joined.push_str(kept);
        if !continues {
            lines.extend(open.take());
        }
    }
    // A file may end in the middle of a continuation.
    lines.extend(open);
    lines.retain(|(_, line)| !line.is_empty());
    lines
}

/// Lines ended by `\n`, `\r` or `\r\n`.
fn natural_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| {
        // A `\r` before the `\n` is part of the same line end.
        line.strip_suffix('\r').unwrap_or(line).split('\r')
    })
}

/// Splits at the first unescaped `=`, `:` or blank.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let mut end = line.len();
    for (at, c) in line.char_indices() {
        if !escaped && (is_blank(c) || c == '=' || c == ':') {
            end = at;
            break;
        }
        escaped = c == '\\' && !escaped;
    }
    let (key, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(is_blank))
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut high: Option<u32> = None;
    while let Some(c) = chars.next() {
        let decoded = match c {
            '\\' => match chars.next() {
                Some('u') => {
                    let unit = unicode_unit(&mut chars)?;
                    match (high.take(), unit) {
                        (None, 0xD800..=0xDBFF) => {
                            high = Some(unit);
                            continue;
                        }
                        (Some(first), 0xDC00..=0xDFFF) => {
                            char::from_u32(0x10000 + ((first - 0xD800) << 10) + (unit - 0xDC00))
                        }
                        (None, _) => char::from_u32(unit),
                        (Some(_), _) => None,
                    }
                    .ok_or_else(|| "half of a \\u surrogate pair; write both halves".to_owned())?
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        if high.is_some() {
            return Err("half of a \\u surrogate pair; write both halves".to_owned());
        }
        out.push(decoded);
    }
    if high.is_some() {
        return Err("half of a \\u surrogate pair; write both halves".to_owned());
    }
    Ok(out)
}

fn unicode_unit(chars: &mut std::str::Chars<'_>) -> Result<u32, String> {
    let digits: String = chars.take(4).collect();
    if digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return u32::from_str_radix(&digits, 16).map_err(|error| error.to_string());
    }
    Err(format!(
        "malformed escape \\u{digits}; \\u takes four hexadecimal digits, and a backslash is written \\\\"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().collect()
    }

    fn pair(text: &str) -> (String, String) {
        let pairs = pairs(text);
        assert_eq!(pairs.len(), 1, "{text:?} {pairs:?}");
        pairs.into_iter().next().unwrap()
    }

    #[test]
    fn separators() {
        for text in ["k=v", "k:v", "k v", " k \t = v", "k\t:v", "k  v", "\u{feff}k=v", "k=v\r\n"] {
            assert_eq!(pair(text), ("k".to_owned(), "v".to_owned()), "{text:?}");
        }
        assert_eq!(pair("k"), ("k".to_owned(), String::new()));
        assert_eq!(pair("k=:v"), ("k".to_owned(), ":v".to_owned()));
        assert_eq!(pair("k = v "), ("k".to_owned(), "v ".to_owned()));
        assert_eq!(pair("=v"), (String::new(), "v".to_owned()));
        assert_eq!(pair("a\\=b\\:c\\ d=v"), ("a=b:c d".to_owned(), "v".to_owned()));
    }

    #[test]
    fn comments_and_blank_lines() {
        assert_eq!(pairs("# a=b\n  ! c=d\n\n \t\nk=v#w\n").len(), 1);
        assert_eq!(pair("k=v#w"), ("k".to_owned(), "v#w".to_owned()));
    }

    #[test]
    fn continuation() {
        assert_eq!(pair("k=a,\\\n   b,\\\r\n\tc").1, "a,b,c");
        // A comment sign on a continuation line is part of the value; so is an even backslash.
        assert_eq!(pair("k=a\\\n#b").1, "a#b");
        assert_eq!(pair("\\\n#c\nk=v"), ("k".to_owned(), "v".to_owned()));
        assert_eq!(pairs("k=a\\\\\nl=b").len(), 2);
        assert_eq!(pair("k=a\\").1, "a");
        assert_eq!(pair("k\\\n=v"), ("k".to_owned(), "v".to_owned()));
    }

    #[test]
    fn escapes() {
        assert_eq!(pair(r"k=\t\n\r\f\\\q\u00e9\uD83D\uDE00").1, "\t\n\r\u{c}\\q\u{e9}\u{1F600}");
        for text in [r"k=\u12", r"k=\u12g4", r"k=\uD83D", r"k=\uD83Dx", r"k=\uDE00"] {
            assert_eq!(parse(text).unwrap_err().line, 1, "{text}");
        }
    }

    /// What `java.util.Properties` of JDK 17 made of these texts.
    #[test]
    fn edges_are_read_as_java_reads_them() {
        let table: [(&str, &[(&str, &str)]); 27] = [
            ("k=v\\\n", &[("k", "v")]),
            ("k=a\\\n\\\nb", &[("k", "ab")]),
            ("k=a\\\n\n b", &[("b", ""), ("k", "a")]),
            ("#c\\\nk=v", &[("k", "v")]),
            ("k\\\r\nx=1", &[("kx", "1")]),
            ("k\\u003d=1", &[("k=", "1")]),
            ("k = a \\\n   b ", &[("k", "a b ")]),
            ("\\ k=1", &[(" k", "1")]),
            ("k\\:x:y", &[("k:x", "y")]),
            ("k==v", &[("k", "=v")]),
            ("k : = v", &[("k", "= v")]),
            ("k\\", &[("k", "")]),
            ("\\=v", &[("=v", "")]),
            (" \\\n k=v", &[("k", "v")]),
            ("k=v\rl=w", &[("k", "v"), ("l", "w")]),
            ("k=\\\\", &[("k", "\\")]),
            ("k=\\\\\\\n x", &[("k", "\\x")]),
            ("!a=b\nk=c", &[("k", "c")]),
            ("k=v\u{c}x", &[("k", "v\u{c}x")]),
            ("\u{c}k=v", &[("k", "v")]),
            ("k\t\tv", &[("k", "v")]),
            ("a\\\n   b=c", &[("ab", "c")]),
            ("a\\\n#b=c", &[("a#b", "c")]),
            ("=", &[("", "")]),
            ("k=\0x", &[("k", "\0x")]),
            ("k=#v", &[("k", "#v")]),
            ("k=\\ v", &[("k", " v")]),
        ];
        for (text, expected) in table {
            let props = parse(text).unwrap();
            assert_eq!(props.iter().collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    fn escape(text: &str) -> String {
        text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_an_answer(text in "[\\x00-\\x7fé\u{1F600}]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_escaped_comes_back(key in ".{1,10}", value in ".{0,20}") {
            let props = parse(&format!("{} = {}", escape(&key), escape(&value))).unwrap();
            proptest::prop_assert_eq!(props.get(&key), Some(value.as_str()));
        }
    }

    #[test]
    fn a_key_set_twice_names_both_lines() {
        let error = parse("a=1\n# c\nb=2\\\n3\na=4").unwrap_err();
        assert_eq!(error.line, 5);
        assert_eq!(
            error.to_string(),
            "line 5: the key a is set twice, first on line 1; remove one of the two"
        );
    }
}
