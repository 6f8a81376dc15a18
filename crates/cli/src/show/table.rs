//! Tables without borders: columns as wide as their widest cell, two blanks between.

use std::fmt::Write as _;

/// What a cell's colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Waiting,
    Bad,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Control characters would spoil more than the table.
    pub(crate) fn of(text: &str) -> Cell {
        let text = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Cell { text, tone: Tone::Plain }
    }

    /// A state of Connect's, of ours, or a result: its colour is that of the worst in it.
    pub(crate) fn state(text: &str) -> Cell {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let tone = if has(&["FAILED", "failed", "ERROR", "FATAL", "LOST"]) {
            Tone::Bad
        } else if has(&[
            "PAUSED",
            "STOPPED",
            "RETRYING",
            "RESTARTING",
            "UNASSIGNED",
            "DRAINING",
            "ENDING",
            "WAITING",
            "WARN",
            "warn",
        ]) {
            Tone::Waiting
        } else if has(&["RUNNING", "ACTIVE", "ok", "healthy"]) {
            Tone::Good
        } else {
            Tone::Plain
        };
        Cell { tone, ..Cell::of(text) }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    pub(crate) fn tinted(&self, color: bool) -> String {
        let code = match self.tone {
            Tone::Good => "32",
            Tone::Waiting => "33",
            Tone::Bad => "31",
            Tone::Plain => return self.text.clone(),
        };
        if color { format!("\x1b[{code}m{}\x1b[0m", self.text) } else { self.text.clone() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Table {
        Table { head: head.iter().map(|name| Cell::of(name)).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Lines, the last column without blanks behind it.
    pub(crate) fn render(&self, color: bool) -> String {
        let mut widths: Vec<usize> = self.head.iter().map(Cell::width).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let mut text = String::new();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let mut line = String::new();
            let mut gap = 0;
            for (cell, width) in row.iter().zip(&widths) {
                if cell.width() > 0 {
                    // Writing to a string cannot fail.
                    let _ok = write!(line, "{:gap$}{}", "", cell.tinted(color));
                    gap = 0;
                }
                gap += width.saturating_sub(cell.width()) + 2;
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_and_without_colour() {
        let mut table = Table::new(&["NAME", "STATE", "TASKS"]);
        table.row([Cell::of("orders-sink"), Cell::state("RUNNING"), Cell::of("0")]);
        table.row([Cell::of("é"), Cell::of(""), Cell::of("a\nb")]);
        let plain =
            "NAME         STATE    TASKS\norders-sink  RUNNING  0\né                     a b\n";
        assert_eq!(table.render(false), plain);
        let colored = table.render(true);
        assert!(colored.contains("\x1b[32mRUNNING\x1b[0m  0"), "{colored:?}");
        assert_eq!(colored.replace("\x1b[32m", "").replace("\x1b[0m", ""), plain);
    }

    #[test]
    fn the_worst_word_gives_the_colour() {
        assert_eq!(Cell::state("0: RUNNING, 1: FAILED").tone, Tone::Bad);
        assert_eq!(Cell::state("0: RETRYING, 1: RUNNING").tone, Tone::Waiting);
        assert_eq!(Cell::state("other").tone, Tone::Plain);
    }
}
