//! Cases that are measured against each other in turn.

use std::time::Duration;

use allocation_counter::measure;

use crate::bench::process::thread_cpu;
use crate::bench::table::{Goal, Section, Series, paired_ratio};

/// What is done to every record, under a name.
pub(in crate::bench) struct Case {
    name: String,
    /// Bytes a record.
    bytes: usize,
    records: usize,
    /// At most so many ns a record.
    ns_goal: Option<f64>,
    kind: Kind,
    pass: Box<dyn FnMut(&mut Meter)>,
    series: Series,
    allocations: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Ours, with at most so many times what the fastest yardstick of the group takes.
    Ours(Option<f64>),
    /// What ours are compared with.
    Yardstick,
    /// Told beside it, compared with nothing.
    Aside,
}

impl Case {
    /// `pass` goes once over `records` records of `bytes` bytes each.
    pub(in crate::bench) fn new(
        name: impl Into<String>,
        bytes: usize,
        records: usize,
        mut pass: impl FnMut() + 'static,
    ) -> Case {
        Case::in_parts(name, bytes, records, move |meter| meter.over(&mut pass))
    }

    /// The same where only what the meter is given counts.
    pub(in crate::bench) fn in_parts(
        name: impl Into<String>,
        bytes: usize,
        records: usize,
        pass: impl FnMut(&mut Meter) + 'static,
    ) -> Case {
        Case {
            name: name.into(),
            bytes,
            records,
            ns_goal: None,
            kind: Kind::Ours(None),
            pass: Box::new(pass),
            series: Series::default(),
            allocations: f64::NAN,
        }
    }

    pub(in crate::bench) fn wanted_ns(self, at_most: f64) -> Case {
        Case { ns_goal: Some(at_most), ..self }
    }

    pub(in crate::bench) fn wanted_ratio(self, at_most: f64) -> Case {
        Case { kind: Kind::Ours(Some(at_most)), ..self }
    }

    pub(in crate::bench) fn yardstick(self) -> Case {
        Case { kind: Kind::Yardstick, ..self }
    }

    pub(in crate::bench) fn aside(self) -> Case {
        Case { kind: Kind::Aside, ..self }
    }

    fn run(&mut self) {
        let mut meter = Meter::default();
        (self.pass)(&mut meter);
        self.series.push(meter.spent.as_nanos() as f64 / self.records as f64);
    }

    /// A pass that is not timed: it warms up, or is counted.
    fn rehearse(&mut self) {
        (self.pass)(&mut Meter::default());
        let mut meter = Meter { counts: true, ..Meter::default() };
        (self.pass)(&mut meter);
        self.allocations = meter.allocations as f64 / self.records as f64;
    }

    fn row(&self, yardstick: Option<&Case>) -> [String; 5] {
        let ns = match self.ns_goal {
            Some(goal) => {
                let judged = Goal::AtMost(goal).judge(self.series.median(), whole);
                let spread = self.series.spread(whole);
                judged.replacen(&whole(self.series.median()), &spread, 1)
            }
            None => self.series.spread(whole),
        };
        let ratio = yardstick.map(|other| paired_ratio(&self.series, &other.series));
        let ratio = match (self.kind, ratio) {
            (Kind::Ours(Some(goal)), Some(ratio)) => Goal::AtMost(goal).judge(ratio, hundredths),
            (Kind::Aside, _) | (_, None) => String::new(),
            (_, Some(ratio)) => hundredths(ratio),
        };
        let allocations = format!("{:.4}", self.allocations);
        [self.name.clone(), self.bytes.to_string(), ns, allocations, ratio]
    }
}

/// What the parts of a pass that count have used.
#[derive(Default)]
pub(in crate::bench) struct Meter {
    /// Allocations are counted, which takes time, and no time is taken.
    counts: bool,
    allocations: u64,
    /// Of the processor, in this thread.
    spent: Duration,
}

impl Meter {
    /// A part that counts.
    pub(in crate::bench) fn over(&mut self, part: impl FnOnce()) {
        if self.counts {
            self.allocations += measure(part).count_total;
            return;
        }
        let start = thread_cpu();
        part();
        self.spent += thread_cpu().saturating_sub(start);
    }
}

/// Cases in one table.
pub(in crate::bench) struct Group {
    title: String,
    cases: Vec<Case>,
    notes: Vec<String>,
}

impl Group {
    pub(in crate::bench) fn new(title: &str, cases: Vec<Case>) -> Group {
        Group { title: title.to_owned(), cases, notes: Vec::new() }
    }

    pub(in crate::bench) fn note(mut self, note: &str) -> Group {
        self.notes.push(note.to_owned());
        self
    }

    pub(in crate::bench) fn measure(&mut self, passes: usize) -> Section {
        for case in &mut self.cases {
            case.rehearse();
        }
        for _ in 0..passes {
            for case in &mut self.cases {
                case.run();
            }
        }
        self.section()
    }

    fn section(&self) -> Section {
        let of_yardsticks = self.cases.iter().filter(|case| case.kind == Kind::Yardstick);
        let yardstick =
            of_yardsticks.min_by(|a, b| a.series.median().total_cmp(&b.series.median()));
        let mut columns = vec!["case", "bytes a record", "ns a record", "allocations a record"];
        if yardstick.is_some() {
            columns.push("of the fastest yardstick");
        }
        let mut section = Section::new(&self.title, &columns);
        for case in &self.cases {
            section.row(case.row(yardstick).into_iter().take(columns.len()));
        }
        for note in &self.notes {
            section.note(note);
        }
        section
    }
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, hint::black_box, rc::Rc};

    use super::*;

    #[test]
    fn every_case_takes_its_turn_and_ratios_are_of_the_fastest_yardstick() {
        let mut group = Group::new("T", Vec::new());
        let passes = Rc::new(Cell::new(0));
        for name in ["ours", "slow", "fast", "aside"] {
            let passes = passes.clone();
            group.cases.push(Case::in_parts(name, 1, 2, move |meter| {
                passes.set(passes.get() + 1);
                let other = vec![name; 3];
                meter.over(|| drop(black_box(vec![name; 3])));
                drop(black_box(other));
            }));
        }
        group.measure(3);
        assert_eq!(passes.get(), 4 * (2 + 3));
        for (case, ns) in group.cases.iter_mut().zip([10.0, 20.0, 5.0, 1.0]) {
            assert_eq!(case.allocations, 0.5);
            case.series = Series::default();
            case.series.push(ns);
        }
        let mut cases = group.cases.into_iter();
        let mut next = || cases.next().unwrap();
        let cases = vec![
            next().wanted_ns(9.0).wanted_ratio(2.0),
            next().yardstick(),
            next().yardstick(),
            next().aside(),
        ];
        let text = Group::new("T", cases).note("n").section().markdown();
        for row in [
            "| ours | 1 | 10, wanted ≤ 9: MISSED | 0.5000 | 2.00, wanted ≤ 2.00: met |",
            "| slow | 1 | 20 | 0.5000 | 4.00 |",
            "| fast | 1 | 5 | 0.5000 | 1.00 |",
            "| aside | 1 | 1 | 0.5000 |  |",
        ] {
            assert!(text.contains(row), "{text}");
        }
        assert!(text.ends_with("\nn\n"));
    }
}
