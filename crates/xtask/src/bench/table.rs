//! Figures as people read them: medians with their spread, and tables in Markdown.

use std::fmt::Write as _;

/// Some runs of one thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Series(Vec<f64>);

impl Series {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The middle one, or the mean of the two in the middle; NaN where there is none.
    pub(super) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let (upper, lower) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
        match (sorted.get(lower), sorted.get(upper)) {
            (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
            _ => f64::NAN,
        }
    }

    pub(super) fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// The nearest value; NaN where there is none.
    pub(super) fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * q).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// "median (least–most)".
    pub(super) fn spread(&self, form: impl Fn(f64) -> String) -> String {
        let (least, most) = (self.quantile(0.0), self.quantile(1.0));
        if self.0.len() < 2 {
            return form(self.median());
        }
        format!("{} ({}–{})", form(self.median()), form(least), form(most))
    }
}

/// The median of the ratios of runs that belong together.
pub(super) fn paired_ratio(ours: &Series, theirs: &Series) -> f64 {
    let ratios = ours.0.iter().zip(&theirs.0).map(|(ours, theirs)| ours / theirs);
    Series(ratios.collect()).median()
}

/// 123,456 as 123k.
pub(super) fn thousands(value: f64) -> String {
    match value {
        v if v >= 999_500.0 => format!("{:.2}M", v / 1e6),
        v if v >= 1000.0 => format!("{:.0}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

/// Whether a figure is what was wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// "1.13, wanted ≥ 1.10: met".
    pub(super) fn judge(self, value: f64, form: impl Fn(f64) -> String) -> String {
        let (sign, goal, met) = match self {
            Goal::AtLeast(goal) => ('≥', goal, value >= goal),
            Goal::AtMost(goal) => ('≤', goal, value <= goal),
        };
        let word = if met { "met" } else { "MISSED" };
        format!("{}, wanted {sign} {}: {word}", form(value), form(goal))
    }
}

/// One subject's table.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) notes: Vec<String>,
}

impl Section {
    pub(super) fn new(title: &str, columns: &[&'static str]) -> Section {
        let columns = columns.to_vec();
        Section { title: title.to_owned(), columns, rows: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn markdown(&self) -> String {
        let mut out = format!("## {}\n\n| {} |\n", self.title, self.columns.join(" | "));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "|{}", "---|".repeat(self.columns.len()));
        for row in &self.rows {
            let _ = writeln!(out, "| {} |", row.join(" | "));
        }
        for note in &self.notes {
            let _ = write!(out, "\n{note}\n");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series(values.to_vec())
    }

    #[test]
    fn a_series_is_told_by_its_median_and_spread() {
        let runs = series(&[3.0, 1.0, 2.0]);
        assert_eq!(runs.median(), 2.0);
        assert_eq!(runs.spread(|v| format!("{v:.1}")), "2.0 (1.0–3.0)");
        assert_eq!(series(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(series(&[7.0]).spread(|v| v.to_string()), "7");
        assert!(series(&[]).median().is_nan());
        assert_eq!(paired_ratio(&series(&[2.0, 9.0, 4.0]), &series(&[1.0, 3.0, 4.0])), 2.0);
    }

    #[test]
    fn goals_are_judged_in_their_direction() {
        let plain = |v: f64| format!("{v}");
        assert_eq!(Goal::AtLeast(1.0).judge(1.5, plain), "1.5, wanted ≥ 1: met");
        assert_eq!(Goal::AtMost(1.0).judge(1.5, plain), "1.5, wanted ≤ 1: MISSED");
        assert!(Goal::AtLeast(1.0).judge(f64::NAN, plain).ends_with("MISSED"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(thousands(512.4), "512");
        assert_eq!(thousands(621_499.0), "621k");
        assert_eq!(thousands(999_999.0), "1.00M");
    }

    #[test]
    fn a_section_is_a_table() {
        let mut section = Section::new("T", &["a", "b"]);
        section.row(["1".to_owned(), "2".to_owned()]);
        section.note("n");
        assert_eq!(section.markdown(), "## T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nn\n");
    }
}
