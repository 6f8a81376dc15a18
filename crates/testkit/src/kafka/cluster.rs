//! Three brokers that are one cluster, to be stopped, killed and started again one by one.

use std::net::TcpStream;

use super::topic::settled;
use crate::shared::script;

/// The three brokers of a run, as `scripts/servers cluster` starts them: controllers too, everything
/// replicated three times, writes acknowledged by two. Who disturbs them has them for itself: one test a
/// process.
#[derive(Debug)]
pub struct Brokers {
    bootstrap: String,
}

impl Brokers {
    /// Their number; each is known by a number from 1.
    pub const COUNT: u64 = 3;

    /// Those of this run, started by the first test that asks. Those that a test before has left stopped are
    /// started.
    ///
    /// # Panics
    ///
    /// When they cannot be started; the message has the script's own words.
    pub fn start() -> Self {
        Self { bootstrap: call(&["cluster"]) }
    }

    /// The addresses of all, with commas.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Stops one in order (SIGTERM): its partitions are led elsewhere before it goes.
    pub fn stop(&self, number: u64) {
        call(&["broker", &number.to_string(), "stop"]);
    }

    /// Kills one (SIGKILL): the others miss it after 3 s.
    pub fn kill(&self, number: u64) {
        call(&["broker", &number.to_string(), "kill"]);
    }

    /// Starts one again, with its data, and waits until it answers. A no-op on one that runs.
    pub fn launch(&self, number: u64) {
        call(&["broker", &number.to_string(), "start"]);
    }

    /// Waits until every partition has all its replicas: then the next broker can go.
    ///
    /// # Panics
    ///
    /// When they do not come.
    pub fn settle(&self) {
        settled(&self.bootstrap);
    }

    /// Whether one takes connections.
    pub fn answers(&self, number: u64) -> bool {
        let mut addresses = self.bootstrap.split(',');
        let index = usize::try_from(number).unwrap_or(0).saturating_sub(1);
        addresses.nth(index).is_some_and(|address| TcpStream::connect(address).is_ok())
    }
}

fn call(words: &[&str]) -> String {
    script(words).unwrap_or_else(|error| panic!("the test needs three brokers: {error:#}"))
}
