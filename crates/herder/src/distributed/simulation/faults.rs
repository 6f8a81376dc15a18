//! What goes wrong, one thing after the other, until the faults end.

use super::world::{FAULTS_MS, Happening, World};
use crate::distributed::member::Event;

impl World {
    /// One fault, and the next one planned.
    pub(super) fn strike(&mut self) {
        if !self.faulty() {
            return;
        }
        let next = self.random.between(200, 6_000);
        if self.now + next < FAULTS_MS {
            self.after(next, Happening::Fault);
        }
        let ids: Vec<u64> = self.processes.keys().copied().collect();
        let Some(&id) = self.random.pick(&ids) else { return };
        let (short, long) = (self.random.between(50, 3_000), self.random.between(3_000, 20_000));
        let span = if self.random.one_in(2) { short } else { long };
        // Everything is mended when the faults end.
        let span = span.min(FAULTS_MS.saturating_sub(self.now));
        let kind = self.random.between(0, 10);
        self.tell(|| format!("fault {kind} at process {id} for {span} ms"));
        let until = self.now + span;
        match kind {
            0 | 1 => self.kill(id, span),
            2 => self.shut_down(id, span),
            3 | 4 => {
                if let Some(process) = self.processes.get_mut(&id) {
                    process.paused_until = process.paused_until.max(until);
                }
            }
            5 => {
                if let Some(process) = self.processes.get_mut(&id) {
                    process.cut_until = process.cut_until.max(until);
                }
            }
            6 => {
                let skew = self.random.between(0, 200_000);
                if let Some(process) = self.processes.get_mut(&id) {
                    process.skew_ms = skew;
                }
                let before = self.random.between(0, self.kafka.log.len() as u64 + 1) as usize;
                let read = self.processes.values().map(|process| process.position).min();
                self.kafka.compact(before, read.unwrap_or(before));
            }
            7 | 8 => {
                if let Some(process) = self.processes.get_mut(&id) {
                    let late = if kind == 7 {
                        &mut process.config_until
                    } else {
                        &mut process.claims_until
                    };
                    *late = until;
                }
            }
            _ => {
                self.step(id, Event::Drain(true));
                self.after(span, Happening::To { process: id, event: Event::Drain(false) });
            }
        }
    }
}
