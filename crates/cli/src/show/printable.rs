//! Words of others at a terminal: what a worker, a file or a record says must not move the cursor, write a
//! title or turn letters around. Invariant: whatever is for people goes through here as the last thing.

use std::borrow::Cow;

/// The colours that we put in ourselves.
const OWN: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// The text with a replacement character for every control character but line ends, tabs and, where there
/// are colours, ours.
pub(crate) fn printable(text: &str, color: bool) -> Cow<'_, str> {
    if !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let own = OWN.iter().filter(|_| color).find(|own| rest.starts_with(**own));
        let length = match own {
            Some(own) => {
                clean.push_str(own);
                own.len()
            }
            None => {
                // A line may end as on Windows.
                if !rest.starts_with("\r\n") {
                    clean.push(if is_hostile(next) { char::REPLACEMENT_CHARACTER } else { next });
                }
                next.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(clean)
}

/// Control characters, and those that change the direction of what follows.
fn is_hostile(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_cannot_steer_a_terminal() {
        let text = "a\x1b]0;title\x07\tb\r\nc\rd\u{9b}31m\u{202e}\x1b[31mred\x1b[0m ü";
        let plain = "a\u{fffd}]0;title\u{fffd}\tb\nc\u{fffd}d\u{fffd}31m\u{fffd}";
        let red = "\u{fffd}[31mred\u{fffd}[0m ü";
        assert_eq!(printable(text, false), format!("{plain}{red}"));
        assert_eq!(printable(text, true), format!("{plain}\x1b[31mred\x1b[0m ü"));
        assert!(matches!(printable("a\n\tü", false), Cow::Borrowed(_)));
    }
}
