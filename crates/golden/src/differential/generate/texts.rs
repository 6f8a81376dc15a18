//! Texts: of any kind, and such as `Values` reads as something else.

use super::super::dice::Dice;
use super::values;

const WORDS: [&str; 24] = [
    "",
    " ",
    "a",
    "abc",
    "null",
    "true",
    "FALSE",
    "0",
    "1",
    "-1",
    "1.5",
    "1e3",
    "x,y",
    "\"q\"",
    "\\",
    "\n",
    "\u{e9}\u{1f600}",
    "\u{0}",
    "\u{1}\u{7f}",
    "[1]",
    "{}",
    "2024-02-29",
    "12:30:45.678Z",
    "a.b\u{2028}c",
];

/// Any text.
pub(super) fn text(dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => {
            let len = dice.below(12);
            (0..len).filter_map(|_| char::from_u32(dice.below(0x500) as u32)).collect()
        }
        1 => literal(dice),
        _ => (*dice.pick(&WORDS)).to_owned(),
    }
}

/// A literal, whole or with a slip of the keyboard.
pub(super) fn literal(dice: &mut Dice) -> String {
    let text = nested(dice, 0);
    if dice.percent(75) { text } else { slipped(&text, dice) }
}

fn nested(dice: &mut Dice, depth: usize) -> String {
    const DEPTH_MAX: usize = 3;
    let blank = if dice.percent(20) { " " } else { "" };
    match dice.below(12) {
        0..2 if depth < DEPTH_MAX => {
            let len = dice.below(4);
            let items: Vec<String> = (0..len).map(|_| nested(dice, depth + 1)).collect();
            format!("[{blank}{}{blank}]", items.join(","))
        }
        2..4 if depth < DEPTH_MAX => {
            let len = dice.below(4);
            let entries: Vec<String> = (0..len)
                .map(|_| {
                    let key = if dice.percent(80) { quoted(dice) } else { number(dice) };
                    format!("{key}{blank}:{}", nested(dice, depth + 1))
                })
                .collect();
            format!("{{{}{blank}}}", entries.join(","))
        }
        4 | 5 => quoted(dice),
        6..9 => format!("{blank}{}{blank}", number(dice)),
        9 => temporal(dice),
        10 => (*dice.pick(&["true", "false", "null", "TRUE", "False", "nul", "truer"])).to_owned(),
        _ => (*dice.pick(&WORDS)).to_owned(),
    }
}

fn quoted(dice: &mut Dice) -> String {
    let word = dice.pick(&[
        "",
        "a",
        "b c",
        "1",
        "true",
        "x\\\"y",
        "\u{e9}",
        "2024-01-01",
        "a,b",
        "[",
        "}",
    ]);
    format!("\"{word}\"")
}

fn number(dice: &mut Dice) -> String {
    match dice.below(9) {
        0 => values::integer(8, dice).to_string(),
        1 => values::integer(16, dice).to_string(),
        2 => values::integer(32, dice).to_string(),
        3 => values::integer(64, dice).to_string(),
        4 => format!("{}{}", values::integer(64, dice), dice.below(1000)),
        5 => format!("{}.{}", values::integer(16, dice), dice.below(100_000)),
        6 => format!("{}e{}", values::integer(8, dice), dice.below(80) as i64 - 40),
        7 => format!("{:?}", values::double(dice)),
        _ => (*dice.pick(&[
            "+1",
            "-0",
            "0.0",
            "-0.0",
            ".5",
            "5.",
            "1f",
            "1d",
            "0x10",
            "00",
            "1_0",
            "NaN",
            "1e400",
            "-",
            "3.4028236e38",
            "128",
            "32768",
            "2147483648",
            "9223372036854775808",
        ]))
        .to_owned(),
    }
}

pub(super) fn temporal(dice: &mut Dice) -> String {
    let (year, month, day) = (1900 + dice.below(300), 1 + dice.below(12), 1 + dice.below(31));
    let (hour, minute, second, ms) =
        (dice.below(25), dice.below(61), dice.below(61), dice.below(1000));
    match dice.below(6) {
        0 => format!("{year}-{month:02}-{day:02}"),
        1 => format!("{hour:02}:{minute:02}:{second:02}.{ms:03}Z"),
        2 => format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"),
        3 => format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{ms}+0{}00", dice.below(9)),
        4 => format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"),
        _ => format!("{hour:02}\\:{minute:02}\\:{second:02}.{ms:03}Z"),
    }
}

fn slipped(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = dice.below(chars.len() + 1);
    match dice.below(3) {
        0 if at < chars.len() => {
            chars.remove(at);
        }
        1 if at < chars.len() => chars.truncate(at),
        _ => {
            let extra =
                ['[', ']', '{', '}', ':', ',', '"', '\\', ' ', '.', '-', 'e', '1', 'T', 'Z', 'n'];
            chars.insert(at, extra.get(dice.below(extra.len())).copied().unwrap_or(' '));
        }
    }
    chars.into_iter().collect()
}
