//! Cuts bytes into lines, as Kafka Connect's file source does: a line ends at `\n`, `\r` or `\r\n`.
//!
//! Pure. Invariant: a line is complete or not given; a `\r` at the end of the bytes is not the end of
//! a line yet, since a `\n` may follow that belongs to it.

/// A line: where its text lies in the bytes, and where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next: usize,
}

/// The complete lines of some bytes, in order.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Lines<'a> {
        Lines { bytes, at: 0 }
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let rest = self.bytes.get(self.at..)?;
        let length = memchr::memchr2(b'\n', b'\r', rest)?;
        let end = self.at + length;
        let next = match (self.bytes.get(end), self.bytes.get(end + 1)) {
            (Some(b'\r'), Some(b'\n')) => end + 2,
            (Some(b'\r'), None) => return None,
            _ => end + 1,
        };
        let line = Line { start: self.at, end, next };
        self.at = next;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        Lines::new(text.as_bytes()).map(|line| &text[line.start..line.end]).collect()
    }

    #[test]
    fn all_three_ends_and_empty_lines() {
        assert_eq!(lines("a\r\n\nb\n\r\nc\r\r\nd\n"), ["a", "", "b", "", "c", "", "d"]);
        assert_eq!(lines("\n\n\n"), ["", "", ""]);
        assert_eq!(lines("one\rtwo\rthree\r"), ["one", "two"], "the last may be half of an end");
        assert_eq!(lines("whole\npart"), ["whole"]);
        assert_eq!(lines(""), Vec::<&str>::new());
    }

    #[test]
    fn a_text_in_two_parts_gives_the_same_lines() {
        let text = "a\r\nb\rc\n\r\n\r\rend\n";
        for cut in 0..=text.len() {
            let first: Vec<Line> = Lines::new(&text.as_bytes()[..cut]).collect();
            let read = first.last().map_or(0, |line| line.next);
            let mut seen: Vec<&str> = first.iter().map(|l| &text[l.start..l.end]).collect();
            seen.extend(lines(&text[read..]));
            assert_eq!(seen, lines(text), "cut at {cut}");
        }
    }
}
