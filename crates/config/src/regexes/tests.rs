//! The dialect, case by case; what Java says to each was asked of it.

use super::*;

fn regex(pattern: &str) -> JavaRegex {
    JavaRegex::new(pattern).unwrap_or_else(|fault| panic!("{fault}"))
}

fn all(pattern: &str, text: &str, replacement: &str) -> String {
    regex(pattern).replace_all(text, &JavaReplacement::new(replacement)).unwrap()
}

#[test]
fn matches_the_whole_text() {
    assert!(regex("a|bc").matches("bc") && !regex("a|bc").matches("abc"));
}

#[test]
fn faults_have_javas_words() {
    let cases = [
        ("(", "Unclosed group near index 1\n("),
        ("[a", "Unclosed character class near index 1\n[a\n ^"),
        ("\\", "Unexpected internal error near index 1\n\\"),
        ("*", "Dangling meta character '*' near index 0\n*\n^"),
        ("a**", "Dangling meta character '*' near index 2\na**\n  ^"),
        ("a)", "Unmatched closing ')' near index 0\na)\n^"),
        (")", "Unmatched closing ')'\n)"),
        ("a{x}", "Illegal repetition near index 2\na{x}\n  ^"),
        ("a{2,1}", "Illegal repetition range near index 5\na{2,1}\n     ^"),
        ("[b-a]", "Illegal character range near index 3\n[b-a]\n   ^"),
        ("\\y", "Illegal/unsupported escape sequence near index 1\n\\y\n ^"),
        ("\\p{Foo}", "Unknown character property name {Foo} near index 6\n\\p{Foo}\n      ^"),
        ("(?P<n>a)", "Unknown inline modifier near index 2\n(?P<n>a)\n  ^"),
        ("\\k<n>", "named capturing group <n> does not exist near index 4\n\\k<n>\n    ^"),
        ("\\Q.\\E(", "Unclosed group near index 3\n\\Q.\\E(\n   ^"),
    ];
    for (pattern, text) in cases {
        assert_eq!(invalid_regex_text(pattern).as_deref(), Some(text), "{pattern}");
    }
}

#[test]
fn what_only_a_backtracking_engine_knows() {
    for (pattern, yes, no) in [
        (r"(?!__).*", "orders", "__consumer_offsets"),
        (r"(?<=^db\.)?.*(?<!\.dlq)", "db.orders", "db.orders.dlq"),
        (r"(\w)\1", "aa", "ab"),
        (r"(?<first>\w)-\k<first>", "a-a", "a-b"),
        (r"a*+b", "aab", "aac"),
        (r"(?>a|ab)c", "ac", "abc"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"(?<=(?:ab|c){0,2})x", "x", "y"),
    ] {
        assert!(regex(pattern).matches(yes), "{pattern} {yes}");
        assert!(!regex(pattern).matches(no), "{pattern} {no}");
    }
}

#[test]
fn sets_and_flags() {
    for (pattern, yes, no) in [
        (r"[a-z&&[^b]]+", "ac", "ab"),
        (r"[a-c[x-z]&&[^y]]+", "ax", "ay"),
        (r"[^a&&b]", "a", ""),
        (r"\p{javaLowerCase}\p{Lu}\p{IsAlphabetic}\p{Digit}", "aAé1", "aaé1"),
        (r"\w\d", "a1", "é1"),
        (r"(?U)\w\d", "é٣", ".1"),
        (r"(?i)straße", "STRAßE", "STRASSE"),
        (r"(?i)é", "é", "É"),
        (r"(?iu)é", "É", "e"),
        (r"a.b", "a\tb", "a\u{85}b"),
        (r"(?d)a.b", "a\u{85}b", "a\nb"),
        (r"(?s)a.b", "a\nb", "ab"),
        ("(?x) a b # comment", "ab", "a b"),
        (r"\x41\u0042\x{43}\0104\cA", "ABCD\u{1}", "ABCD"),
        (r"\uD83D\uDE00", "😀", "\u{fffd}"),
        (r"a\Rb\h\v", "a\r\nb\u{a0}\n", "a b"),
    ] {
        assert!(regex(pattern).matches(yes), "{pattern} {yes}");
        assert!(!regex(pattern).matches(no), "{pattern} {no}");
    }
}

#[test]
fn a_dollar_stands_before_the_last_line_terminator_too() {
    assert_eq!(all("b$", "ab\n", "x"), "ax\n");
    assert_eq!(all("(?d)b$", "ab\r\n", "x"), "ab\r\n");
    assert_eq!(all("(?m)^", "a\r\nb\n", "> "), "> a\r\n> b\n");
    assert_eq!(all("(?m)^", "", "> "), "");
    assert_eq!(all("(?m)$", "a\r\nb", ";"), "a;\r\nb;");
    assert_eq!(all(r"\z", "a\n", ";"), "a\n;");
}

#[test]
fn replacements_name_groups() {
    assert_eq!(all(r"(?<n>[a-z]+)(\d)", "ab1-c2", "$2${n}"), "1ab-2c");
    assert_eq!(all("(a)", "a", r"\$1\\$11"), r"$1\a1");
    assert_eq!(all("(a)|(b)", "b", "[$1$2]"), "[b]");
    // An empty match directly behind another one counts.
    assert_eq!(all("a*", "baaac", "x"), "xbxxcx");
    assert_eq!(
        regex("a|ab").replace_first_if_whole_match("ab", &JavaReplacement::new("x")),
        Ok(Some("xb".to_owned()))
    );
    assert_eq!(
        regex("a").replace_first_if_whole_match("ab", &JavaReplacement::new("$9")),
        Ok(None)
    );
}

#[test]
fn faults_in_replacements_have_javas_words() {
    use RegexFault::{IllegalArgument, IndexOutOfBounds};
    let illegal = |text: &str| IllegalArgument(text.to_owned());
    for (replacement, fault) in [
        ("$3", IndexOutOfBounds("No group 3".to_owned())),
        ("$", illegal("Illegal group reference: group index is missing")),
        ("$x", illegal("Illegal group reference")),
        ("\\", illegal("character to be escaped is missing")),
        ("${}", illegal("named capturing group has 0 length name")),
        ("${n", illegal("named capturing group is missing trailing '}'")),
        ("${1a}", illegal("capturing group name {1a} starts with digit character")),
        ("${z}", illegal("No group with name {z}")),
    ] {
        let replacement = JavaReplacement::new(replacement);
        assert_eq!(regex("(?<n>a)").replace_first("a", &replacement), Err(fault.clone()));
        assert_eq!(replacement.check(&regex("(?<n>a)")), Err(fault));
        assert_eq!(regex("(?<n>a)").replace_first("b", &replacement), Ok("b".to_owned()));
    }
}

#[test]
fn too_much_backtracking_is_an_error() {
    let regex = regex(r"(?:(a|aa)(?=a|b))+\1c");
    let text = "a".repeat(200);
    assert!(matches!(regex.try_matches(&text), Err(RegexFault::Limit(_))));
    assert!(!regex.matches(&text));
    assert!(regex.is_found(&text).is_err());
    assert!(regex.try_matches(&text).unwrap_err().to_string().contains("backtracks"));
}

#[test]
fn oversized_patterns_are_errors() {
    assert!(JavaRegex::new("((a{1000}){1000}){1000}").is_err());
    assert!(JavaRegex::new(&"(".repeat(10_000)).is_err());
    assert!(JavaRegex::new(&"[".repeat(10_000)).is_err());
    assert!(JavaRegex::new(&format!("{}a{}", "(?:".repeat(40), ")".repeat(40))).is_ok());
}

proptest::proptest! {
    /// Whatever stands in a config, reading it ends with a pattern or a message.
    #[test]
    fn any_text_is_a_pattern_or_a_fault(
        pattern in r"(\\[a-zA-Z0-9{}]|[\[\](){}?*+|^$.&\-<>=!:#a-c0-9,\n é]){0,12}",
        text in "[a-c\n é]{0,8}",
    ) {
        if let Ok(regex) = JavaRegex::new(&pattern) {
            let _ = regex.replace_all(&text, &JavaReplacement::new("<$0>"));
            regex.matches(&text);
        }
    }
}
