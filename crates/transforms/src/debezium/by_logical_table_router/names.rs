//! Schema names that Avro's rules allow.

config::config_enum! {
    /// What becomes of characters that Avro does not take in names.
    pub(super) enum Adjustment {
        /// They stay.
        None = "none",
        /// Each becomes an underscore.
        Avro = "avro",
        /// Each, the underscore too, becomes `_uxxxx`.
        AvroUnicode = "avro_unicode",
    }
}

/// The name under these rules.
pub(super) fn adjusted(name: &str, adjustment: Adjustment) -> String {
    let mut out = String::with_capacity(name.len());
    for (place, unit) in name.encode_utf16().enumerate() {
        let known = u8::try_from(unit).ok().filter(u8::is_ascii);
        let letter = known.filter(|c| c.is_ascii_alphabetic() || *c == b'_');
        let inner = known.filter(|c| c.is_ascii_digit() || *c == b'.');
        let kept = match (adjustment, letter, inner) {
            (Adjustment::AvroUnicode, Some(b'_'), _) => None,
            (_, Some(c), _) => Some(c),
            (_, None, Some(c)) if place > 0 => Some(c),
            _ => None,
        };
        match (adjustment, kept) {
            (Adjustment::None, _) => return name.to_owned(),
            (_, Some(c)) => out.push(char::from(c)),
            (Adjustment::AvroUnicode, None) => out.push_str(&format!("_u{unit:04x}")),
            // A digit in front is no letter, but it is one behind an underscore.
            (Adjustment::Avro, None) => {
                out.push('_');
                out.extend(known.filter(u8::is_ascii_digit).map(char::from));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_avro() {
        for (adjustment, name, wanted) in [
            (Adjustment::None, "a_b-c.1d", "a_b-c.1d"),
            (Adjustment::Avro, "a_b-c.1d \u{e9}$x", "a_b_c.1d___x"),
            (Adjustment::Avro, "1ab", "_1ab"),
            (Adjustment::AvroUnicode, "a_b-c", "a_u005fb_u002dc"),
            (Adjustment::AvroUnicode, "1ab", "_u0031ab"),
            (Adjustment::AvroUnicode, "\u{e9}.1", "_u00e9.1"),
        ] {
            assert_eq!(adjusted(name, adjustment), wanted, "{name}");
        }
    }
}
