//! The run itself: start, watch, kill -9 in the middle, start again, until everything is visible.

use super::Quickstart;
use super::destination::Progress;
use super::production::Production;
use super::screen::{Screen, duration, number};
use super::source::PARTITIONS;
use crate::exit::Failure;
use std::time::{Duration, Instant};

/// How often the database is asked.
const TICK: Duration = Duration::from_millis(1);
/// Without progress for so long the worker is asked for the reason, and again each time.
const ASK_AFTER: Duration = Duration::from_secs(1);
/// Without any progress for so long something is wrong.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// From the worker's first start until the last order was visible, kill and restart included.
    pub(super) elapsed: Duration,
    /// From the kill to the first order that the restarted worker made visible.
    pub(super) recovery: Duration,
}

/// Where the run stands.
enum Phase {
    First,
    /// Killed and started again; nothing new is visible yet.
    Restarted {
        killed: Instant,
        before: Progress,
    },
    Second {
        recovery: Duration,
    },
}

pub(super) struct Run<'a> {
    quickstart: &'a mut Quickstart,
    screen: &'a mut Screen,
    production: Production,
    started: Instant,
    phase: Phase,
    /// The last progress that was seen, and when.
    seen: Progress,
    moved: Instant,
    /// When the worker was last asked for its status.
    asked: Instant,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        quickstart: &'a mut Quickstart,
        screen: &'a mut Screen,
    ) -> Result<Run<'a>, Failure> {
        let (source, orders) = (&quickstart.source, quickstart.orders);
        let production = Production::start(orders, source.topic(), PARTITIONS, source.producer())?;
        production.open_to(open_to(source.unread_max(), orders.records, 0, false));
        let started = Instant::now();
        let id = quickstart.worker.start()?;
        screen.say(&format!("  worker    process {id}, copycat standalone\n"));
        Ok(Run {
            quickstart,
            screen,
            production,
            started,
            phase: Phase::First,
            seen: Progress::default(),
            moved: started,
            asked: started,
        })
    }

    /// To the end. `None`: the user has interrupted it.
    pub(super) fn drive(mut self) -> Result<Option<Outcome>, Failure> {
        let total = self.quickstart.orders.records;
        loop {
            if self.quickstart.interrupt.is_set() {
                return Ok(None);
            }
            match self.step(total) {
                Ok(Some(outcome)) => return Ok(Some(outcome)),
                Ok(None) => std::thread::park_timeout(TICK),
                // A wait that was cut short by Ctrl-C is no failure.
                Err(_) if self.quickstart.interrupt.is_set() => return Ok(None),
                Err(failure) => return Err(failure),
            }
        }
    }

    fn step(&mut self, total: u64) -> Result<Option<Outcome>, Failure> {
        let progress = self.quickstart.destination.progress()?;
        if progress != self.seen {
            self.moved = Instant::now();
        }
        self.production.check()?;
        self.check_worker()?;
        match self.phase {
            Phase::First if progress.done * 10 >= total * 4 => self.kill()?,
            Phase::First | Phase::Second { .. } => {}
            Phase::Restarted { killed, before } => {
                if progress.epoch == before.epoch {
                    // The killed worker's last transaction may have become visible late.
                    self.phase = Phase::Restarted { killed, before: progress };
                } else if progress.done > before.done {
                    self.recovered(killed.elapsed());
                }
            }
        }
        self.seen = progress;
        let killed = !matches!(self.phase, Phase::First);
        let unread_max = self.quickstart.source.unread_max();
        self.production.open_to(open_to(unread_max, total, progress.done, killed));
        self.screen.progress(progress.done, total, self.started);
        match self.phase {
            Phase::Second { recovery } if progress.done >= total => {
                Ok(Some(Outcome { elapsed: self.started.elapsed(), recovery }))
            }
            _ => Ok(None),
        }
    }

    fn kill(&mut self) -> Result<(), Failure> {
        self.quickstart.worker.kill();
        let killed = Instant::now();
        let before = self.quickstart.destination.progress()?;
        let id = self.quickstart.worker.start()?;
        self.screen.say(&format!(
            "  {} orders are visible: kill -9; started again as process {id}",
            number(before.done)
        ));
        self.phase = Phase::Restarted { killed, before };
        Ok(())
    }

    fn recovered(&mut self, recovery: Duration) {
        self.screen.say(&format!("  first new order {} after the kill\n", duration(recovery)));
        self.phase = Phase::Second { recovery };
    }

    fn check_worker(&mut self) -> Result<(), Failure> {
        if let Some(status) = self.quickstart.worker.ended() {
            return Err(Failure {
                code: 1,
                message: format!("the worker has ended by itself ({status}); its log says why"),
                hint: None,
            });
        }
        if self.moved.elapsed() >= ASK_AFTER && self.asked.elapsed() >= ASK_AFTER {
            self.asked = Instant::now();
            let quickstart = &self.quickstart;
            if let Some(reason) = quickstart.worker.task_failure(&quickstart.connector) {
                let message = format!("the worker's task has failed: {reason}");
                return Err(Failure { code: 1, message, hint: None });
            }
        }
        if self.moved.elapsed() < STUCK_AFTER {
            return Ok(());
        }
        let message = format!(
            "nothing has moved for {} s: {} of {} orders produced, {} visible",
            STUCK_AFTER.as_secs(),
            number(self.production.acknowledged()),
            number(self.quickstart.orders.records),
            number(self.seen.done)
        );
        Err(Failure::unavailable(message).hint("the worker's log says what it is waiting for"))
    }
}

/// How many orders may have been produced: the last ones wait until the worker was killed, so that it
/// is killed in the middle of its work.
fn open_to(unread_max: u64, total: u64, done: u64, killed: bool) -> u64 {
    let limit = if killed { total } else { total / 10 * 8 };
    limit.min(done.saturating_add(unread_max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_orders_wait_for_the_kill() {
        assert_eq!(open_to(u64::MAX, 100_000, 0, false), 80_000);
        assert_eq!(open_to(60_000, 100_000, 0, false), 60_000);
        assert_eq!(open_to(60_000, 100_000, 30_000, false), 80_000);
        assert_eq!(open_to(60_000, 100_000, 40_000, true), 100_000);
        assert_eq!(open_to(u64::MAX, 100_000, 40_000, true), 100_000);
    }
}
