//! Texts that say the same: JSON in another order of members, floats with other digits.

use serde_json::Value as Json;

/// The floats that texts may hold: their digits are compared as numbers of that width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Floats {
    None,
    Double,
    /// Of 32 bits, whose digits do not tell doubles apart.
    Single,
}

impl Floats {
    /// The floats that an input has.
    pub fn of(input: &Json) -> Floats {
        match input {
            Json::Object(members) => {
                let own = |name: &str| match name {
                    "f32" => Floats::Single,
                    "f64" => Floats::Double,
                    _ => Floats::None,
                };
                let of = |(name, node): (&String, &Json)| own(name).max(Floats::of(node));
                members.iter().map(of).max().unwrap_or(Floats::None)
            }
            Json::Array(items) => items.iter().map(Floats::of).max().unwrap_or(Floats::None),
            _ => Floats::None,
        }
    }
}

/// Whether two texts say the same. `json`: where both are JSON, the order of members does not matter.
pub fn same_text(wanted: &str, seen: &str, floats: Floats, json: bool) -> bool {
    if wanted == seen {
        return true;
    }
    let (wanted_parts, seen_parts) = (parts(wanted), parts(seen));
    let in_order = wanted_parts.len() == seen_parts.len()
        && wanted_parts.iter().zip(&seen_parts).all(|(a, b)| same_part(a, b, floats));
    in_order || json && same_json(wanted, seen, floats)
}

/// Numbers and what is between them.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = number_length(rest).unwrap_or_else(|| first.len_utf8());
        let (part, next) = rest.split_at(len);
        parts.push(part);
        rest = next;
    }
    parts
}

/// The length in bytes of the number that a text begins with.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = digits(0);
    if whole == 0 {
        return None;
    }
    let mut len = whole;
    if bytes.get(len) == Some(&b'.') && digits(len + 1) > 0 {
        len += 1 + digits(len + 1);
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    Some(len)
}

fn same_part(a: &str, b: &str, floats: Floats) -> bool {
    a == b || same_number(a, b, floats)
}

/// Equal as numbers of the width; whole numbers are compared by their digits.
fn same_number(a: &str, b: &str, floats: Floats) -> bool {
    let is_float = |text: &str| text.contains(['.', 'e', 'E']);
    if floats == Floats::None || !is_float(a) || !is_float(b) {
        return false;
    }
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || floats == Floats::Single && a as f32 == b as f32,
        _ => false,
    }
}

fn same_json(wanted: &str, seen: &str, floats: Floats) -> bool {
    let parse = |text: &str| serde_json::from_str::<Json>(text).ok();
    let (Some(a), Some(b)) = (parse(wanted), parse(seen)) else { return false };
    // The parser rounds numbers beyond 64 bits, so the digits are looked at as well.
    same_node(&a, &b, floats) && (floats != Floats::None || same_digits(wanted, seen))
}

fn same_digits(wanted: &str, seen: &str) -> bool {
    let numbers = |text| {
        let mut numbers = parts(text);
        numbers.retain(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        numbers.sort_unstable();
        numbers.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    numbers(wanted) == numbers(seen)
}

fn same_node(a: &Json, b: &Json, floats: Floats) -> bool {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            let same = |(name, a)| b.get(name).is_some_and(|b| same_node(a, b, floats));
            a.len() == b.len() && a.iter().all(same)
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_node(a, b, floats))
        }
        (Json::Number(x), Json::Number(y)) => {
            x == y || same_number(&x.to_string(), &y.to_string(), floats)
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_numbers_and_everything_else_is_text() {
        assert!(same_text("[9.0071993E15, x]", "[9.007199E15, x]", Floats::Single, false));
        assert!(!same_text("[9.0071993E15, x]", "[9.007199E15, x]", Floats::Double, false));
        assert!(same_text(
            "{\"a\":1.0E10,\"b\":[2]}",
            "{\"b\":[2],\"a\":1.00E10}",
            Floats::Single,
            true
        ));
        assert!(!same_text("1.5", "1.6", Floats::Single, true));
        assert!(!same_text("12345678901234567890", "12345678901234567891", Floats::Single, true));
        assert!(!same_text("{\"a\":1}", "{\"a\":2}", Floats::Single, true));
        assert!(!same_text("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", Floats::Single, false));
        assert!(!same_text("\u{e9}1", "e1", Floats::Single, true));
    }
}
