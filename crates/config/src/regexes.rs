//! Regular expressions in configuration: Java patterns, read with our own engine.
//!
//! Invariant: a pattern matches the whole text, as Java's `matches` does.

use regex::Regex;

/// Compiles a pattern that must match the whole text.
///
/// # Errors
/// What is wrong with the pattern; in Java's words where they are known.
pub fn compile_full_match(pattern: &str) -> Result<Regex, String> {
    match invalid_regex_text(pattern) {
        Some(fault) => Err(fault),
        None => Regex::new(&format!("^(?:{pattern})$")).map_err(|error| error.to_string()),
    }
}

/// What is wrong with the pattern, or none.
pub fn invalid_regex_text(pattern: &str) -> Option<String> {
    let error = Regex::new(pattern).err()?.to_string();
    let last = error.lines().last().unwrap_or_default();
    let text = last.strip_prefix("error: ").unwrap_or(last);
    let length = pattern.encode_utf16().count();
    Some(match text {
        "unclosed group" => java_text("Unclosed group", length, pattern),
        "unclosed character class" => {
            java_text("Unclosed character class", length.saturating_sub(1), pattern)
        }
        _ => format!("{text}\n{pattern}"),
    })
}

/// Java's layout: what, where, the pattern, and a mark under the place if it is inside.
fn java_text(what: &str, index: usize, pattern: &str) -> String {
    let mut text = format!("{what} near index {index}\n{pattern}");
    if index < pattern.encode_utf16().count() {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', index));
        text.push('^');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_whole_text() {
        let regex = compile_full_match("a|bc").unwrap();
        assert!(regex.is_match("bc") && !regex.is_match("abc"));
    }

    #[test]
    fn faults_have_javas_words() {
        assert_eq!(invalid_regex_text("(").unwrap(), "Unclosed group near index 1\n(");
        assert_eq!(
            invalid_regex_text("[a").unwrap(),
            "Unclosed character class near index 1\n[a\n ^"
        );
        assert!(invalid_regex_text("(?=x)").unwrap().contains("look-around"));
    }
}
