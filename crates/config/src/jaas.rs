//! `sasl.jaas.config`: one login module, its flag and its options.
//!
//! The grammar is that of Java's `StreamTokenizer` as Kafka sets it up:
//! `MODULE FLAG key=value key="quoted \"value\"" ;` with `//`, `/* */` and `/` comments. An unquoted
//! number is accepted here, which Java refuses.
//!
//! Invariant: no error text contains an option's value.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use crate::password::Password;

/// A login module with its options.
#[derive(Debug, PartialEq, Eq)]
pub struct Login {
    /// The full class name.
    pub module: String,
    /// The options; any of them may be secret.
    pub options: BTreeMap<String, Password>,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Quoted(String),
    Sign(char),
}

const FLAGS: [&str; 4] = ["required", "requisite", "sufficient", "optional"];

/// Reads the value of `sasl.jaas.config`.
///
/// # Errors
/// What is missing or wrong, without any option's value.
pub fn parse(text: &str) -> Result<Login, String> {
    let mut tokens = tokens(text)?.into_iter().peekable();
    let login = login(&mut tokens)?;
    if tokens.peek().is_some() {
        return Err("JAAS config property contains more than one login module, should be 1".into());
    }
    Ok(login)
}

/// The login modules of a section of a JAAS file, `NAME { MODULE FLAG key=value …; … };`; none if there
/// is no such section.
///
/// # Errors
/// What is missing or wrong, without any option's value.
pub fn parse_section(text: &str, section: &str) -> Result<Vec<Login>, String> {
    let mut tokens = tokens(text)?.into_iter().peekable();
    let mut found = Vec::new();
    loop {
        let name = match tokens.next() {
            None => return Ok(found),
            Some(Token::Sign(';')) => continue,
            Some(Token::Word(name) | Token::Quoted(name)) => name,
            Some(Token::Sign(sign)) => {
                return Err(format!("a section's name is expected in place of {sign}"));
            }
        };
        if tokens.next() != Some(Token::Sign('{')) {
            return Err(format!("{{ is expected after the section's name {name}"));
        }
        while tokens.next_if_eq(&Token::Sign('}')).is_none() {
            let login = login(&mut tokens).map_err(|fault| format!("section {name}: {fault}"))?;
            if name == section {
                found.push(login);
            }
        }
    }
}

fn login(tokens: &mut Peekable<std::vec::IntoIter<Token>>) -> Result<Login, String> {
    let module = match tokens.next() {
        Some(Token::Word(module) | Token::Quoted(module)) => module,
        Some(Token::Sign(_)) | None => {
            return Err("Login module not specified in JAAS config".to_owned());
        }
    };
    match tokens.next() {
        Some(Token::Word(flag)) if FLAGS.contains(&flag.to_ascii_lowercase().as_str()) => {}
        Some(_) => {
            return Err(format!(
                "the login module {module} must be followed by one of: {}",
                FLAGS.join(", ")
            ));
        }
        None => return Err("Login module control flag not specified in JAAS config".to_owned()),
    }
    let mut options = BTreeMap::new();
    loop {
        let key = match tokens.next() {
            None => return Err("JAAS config entry not terminated by semi-colon".to_owned()),
            Some(Token::Sign(';')) => return Ok(Login { module, options }),
            Some(Token::Word(key) | Token::Quoted(key)) => key,
            Some(Token::Sign(sign)) => {
                return Err(format!("an option's name is expected in place of {sign}"));
            }
        };
        let equals = tokens.next();
        match (equals, tokens.next()) {
            (Some(Token::Sign('=')), Some(Token::Word(value) | Token::Quoted(value))) => {
                options.insert(key, Password::new(value));
            }
            _ => return Err(format!("Value not specified for key '{key}' in JAAS config")),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c <= ' ' => {}
            '"' | '\'' => tokens.push(Token::Quoted(quoted(&mut chars, c)?)),
            '/' => skip_comment(&mut chars)?,
            c if is_word(c) => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(|next| is_word(*next)) {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
            sign => tokens.push(Token::Sign(sign)),
        }
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$') || c >= '\u{a0}'
}

fn skip_comment(chars: &mut Peekable<Chars<'_>>) -> Result<(), String> {
    if chars.next_if_eq(&'*').is_none() {
        // `//`, and a single `/` too: the rest of the line.
        while chars.next_if(|c| !matches!(c, '\n' | '\r')).is_some() {}
        return Ok(());
    }
    while let Some(c) = chars.next() {
        if c == '*' && chars.next_if_eq(&'/').is_some() {
            return Ok(());
        }
    }
    Err("a comment that begins with /* does not end".to_owned())
}

/// The text up to the closing quote, with C's escapes.
fn quoted(chars: &mut Peekable<Chars<'_>>, quote: char) -> Result<String, String> {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        let decoded = match c {
            c if c == quote => return Ok(text),
            '\n' | '\r' => break,
            '\\' => match chars.next() {
                None => break,
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('a') => '\u{7}',
                Some('v') => '\u{b}',
                Some(first @ '0'..='7') => octal(chars, first),
                Some(other) => other,
            },
            other => other,
        };
        text.push(decoded);
    }
    Err(format!("a value that begins with {quote} does not end with {quote}"))
}

/// Up to three octal digits, of which the first is read already.
fn octal(chars: &mut Peekable<Chars<'_>>, first: char) -> char {
    let mut code = first.to_digit(8).unwrap_or_default();
    let more = if first <= '3' { 2 } else { 1 };
    for _ in 0..more {
        let Some(digit) = chars.next_if(|c| c.is_digit(8)) else { break };
        code = code * 8 + digit.to_digit(8).unwrap_or_default();
    }
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";

    fn password(options: &str) -> String {
        let login = parse(&format!("{PLAIN} required username=\"u\" {options};")).unwrap();
        assert_eq!(login.module, PLAIN);
        login.options.get("password").unwrap().expose().to_owned()
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(password(r#"password="a b;=c""#), "a b;=c");
        assert_eq!(password(r#"password="a\"b\\c""#), r#"a"b\c"#);
        assert_eq!(password(r"password='a\'b'"), "a'b");
        assert_eq!(password(r#"password="\101\7x\400""#), "A\u{7}x 0");
        assert_eq!(password("password=plain-word_1$"), "plain-word_1$");
        assert_eq!(password("password=12345"), "12345");
        assert_eq!(password("password = \"spaced\" x=\"y\""), "spaced");
        assert_eq!(password("/* c */ // d\n password=\"v\""), "v");
        assert_eq!(password("password=\"//no comment\""), "//no comment");
    }

    #[test]
    fn sections_of_a_file_are_told_apart() {
        let text = "/* who */ KafkaClient { a.B required x=\"1\"; };\n\
                    KafkaConnect {\n  c.D required file=\"/etc/p\";\n  e.F optional;\n};";
        let found = parse_section(text, "KafkaConnect").unwrap();
        let modules: Vec<&str> = found.iter().map(|login| login.module.as_str()).collect();
        assert_eq!(modules, ["c.D", "e.F"]);
        assert_eq!(found[0].options["file"].expose(), "/etc/p");
        assert!(parse_section(text, "Other").unwrap().is_empty());
        for bad in ["A", "A {", "A { b.C; };", "{", "A { b.C required x=\"hunter2\" };"] {
            let error = parse_section(bad, "A").unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_said_without_values() {
        for (text, expected) in [
            ("", "Login module not specified in JAAS config"),
            ("a.B", "Login module control flag not specified in JAAS config"),
            ("a.B needed;", "must be followed by one of"),
            ("a.B required password;", "Value not specified for key 'password' in JAAS config"),
            ("a.B required password=;", "Value not specified for key 'password' in JAAS config"),
            ("a.B required password=\"hunter2\"", "not terminated by semi-colon"),
            ("a.B required password=\"hunter2;", "does not end with"),
            ("a.B required; c.D required;", "contains more than one login module"),
            ("a.B required /* x", "does not end"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
