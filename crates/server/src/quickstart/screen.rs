//! What the user sees: one live line on a terminal, a few plain lines elsewhere.
//!
//! A standard output that is gone (a closed pipe) is no reason to stop.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::time::{Duration, Instant};

/// How often the live line is drawn.
const REDRAW: Duration = Duration::from_millis(40);
/// How often a line about progress is printed where there is no terminal.
const REPORT: Duration = Duration::from_secs(5);
const BAR: u64 = 30;
/// Columns of a terminal whose width is not told.
const COLUMNS: usize = 80;
/// Keeps a line that is too long after all from going on in the next one, and undoes that.
const NO_WRAP: (&str, &str) = ("\x1b[?7l", "\x1b[?7h");

pub(super) struct Screen {
    live: bool,
    columns: usize,
    /// A live line is on the screen.
    drawn: bool,
    last: Instant,
}

impl Screen {
    pub(super) fn new() -> Screen {
        let told = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
        Screen {
            live: stdout().is_terminal(),
            columns: told.filter(|columns| *columns > 0).unwrap_or(COLUMNS),
            drawn: false,
            last: Instant::now(),
        }
    }

    /// A line that stays.
    pub(super) fn say(&mut self, line: &str) {
        let clear = self.clear();
        let _ = writeln!(stdout().lock(), "{clear}{line}");
    }

    /// How far it is. Cheap where nothing has to be drawn.
    pub(super) fn progress(&mut self, done: u64, total: u64, since: Instant) {
        let every = if self.live { REDRAW } else { REPORT };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        let rate = rate(done, since.elapsed());
        if self.live {
            let clear = self.clear();
            let line = format!(
                "  [{}] {:>3} %  {} orders  {rate} a second",
                bar(done, total),
                percent(done, total),
                number(done)
            );
            let line = fitted(&line, self.columns);
            let (start, end) = NO_WRAP;
            let mut out = stdout().lock();
            let _ = write!(out, "{clear}{start}{line}{end}").and_then(|()| out.flush());
            self.drawn = true;
        } else {
            self.say(&format!("  {} of {} orders, {rate} a second", number(done), number(total)));
        }
    }

    fn clear(&mut self) -> &'static str {
        if std::mem::take(&mut self.drawn) { "\r\x1b[2K" } else { "" }
    }

    /// Takes the live line away.
    pub(super) fn finish(&mut self) {
        let clear = self.clear();
        let mut out = stdout().lock();
        let _ = write!(out, "{clear}").and_then(|()| out.flush());
    }
}

/// The start of a line of ASCII that leaves the last column free.
fn fitted(line: &str, columns: usize) -> &str {
    line.get(..columns.saturating_sub(1)).unwrap_or(line)
}

fn percent(done: u64, total: u64) -> u64 {
    done * 100 / total.max(1)
}

fn bar(done: u64, total: u64) -> String {
    let full = (done * BAR / total.max(1)).min(BAR);
    "#".repeat(full as usize) + &".".repeat((BAR - full) as usize)
}

/// Orders a second, with two significant digits.
pub(super) fn rate(done: u64, elapsed: Duration) -> String {
    let rate = (done as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let unit = 10u64.pow(rate.checked_ilog10().unwrap_or(0).saturating_sub(1));
    number(rate / unit * unit)
}

/// A number with its thousands apart.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration in the unit that people would use.
pub(super) fn duration(time: Duration) -> String {
    match time.as_millis() {
        ms @ ..1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1000), "1,000");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(rate(123_456, Duration::from_secs(1)), "120,000");
        assert_eq!(rate(7, Duration::from_secs(1)), "7");
        assert_eq!(rate(0, Duration::ZERO), "0");
        assert_eq!(duration(Duration::from_millis(87)), "87 ms");
        assert_eq!(duration(Duration::from_millis(1234)), "1.2 s");
    }

    #[test]
    fn a_line_is_shorter_than_the_screen_is_wide() {
        assert_eq!(fitted("abcdef", 4), "abc");
        assert_eq!(fitted("abcdef", 7), "abcdef");
        assert_eq!(fitted("abcdef", 80), "abcdef");
        assert_eq!(fitted("abcdef", 1), "");
    }

    #[test]
    fn the_bar_never_leaves_its_frame() {
        for (done, total) in [(0, 10), (5, 10), (10, 10), (11, 10), (1, 0)] {
            assert_eq!(bar(done, total).len(), BAR as usize);
        }
    }
}
