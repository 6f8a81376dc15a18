//! Fetched bytes, asked for before they are read.
//!
//! Place in the data path: the walk of a converter over a batch. A processor fetches the next lines of a
//! page by itself while it goes over them, but not those of the next page, for which it would wait each
//! time. So the first lines of several pages are touched together: they come at the same time, while
//! there is one wait for all.

use std::hint::black_box;

/// Pages of memory begin at multiples of so many bytes.
const PAGE_BYTES: usize = 4096;

/// What comes from memory at a time.
const LINE_BYTES: usize = 64;

/// Lines of a page that are touched; the processor goes on by itself.
const LINES: usize = 8;

/// Bytes whose pages are touched together.
const WINDOW_BYTES: usize = 8 * PAGE_BYTES;

/// How far the bytes of one batch have been asked for.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    end: usize,
}

impl Ahead {
    /// Bytes from `start` on are read next.
    #[inline]
    pub(crate) fn reach(&mut self, bytes: &[u8], start: usize) {
        if start + WINDOW_BYTES / 2 > self.end {
            self.touch(bytes, start);
        }
    }

    #[inline(never)]
    fn touch(&mut self, bytes: &[u8], start: usize) {
        let from = self.end.max(start);
        self.end = from + WINDOW_BYTES;
        // Which places are beginnings of pages is known by their addresses.
        let of_page = (bytes.as_ptr() as usize).wrapping_add(from) % PAGE_BYTES;
        let first = from + (PAGE_BYTES - of_page) % PAGE_BYTES;
        let mut seen = 0;
        for page in (first..self.end).step_by(PAGE_BYTES) {
            for line in 0..LINES {
                seen |= bytes.get(page + line * LINE_BYTES).copied().unwrap_or_default();
            }
        }
        black_box(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_is_asked_for_once_and_nothing_behind_the_end() {
        let bytes = vec![0; 10 * WINDOW_BYTES + 1];
        let mut ahead = Ahead::default();
        let mut ends = Vec::new();
        for start in (0..bytes.len()).step_by(1000) {
            ahead.reach(&bytes, start);
            assert!(ahead.end >= start + WINDOW_BYTES / 2);
            if ends.last() != Some(&ahead.end) {
                ends.push(ahead.end);
            }
        }
        assert!(ends.windows(2).all(|pair| pair[1] - pair[0] == WINDOW_BYTES), "{ends:?}");
        ahead.reach(&[], usize::MAX / 2);
        let end = ahead.end;
        ahead.reach(&bytes, 0);
        assert_eq!(ahead.end, end, "what lies in front is not asked for again");
    }
}
