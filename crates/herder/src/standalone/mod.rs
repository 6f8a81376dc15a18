//! The standalone driver: one thread that steps the state machine and carries its actions out.
//!
//! Everything that may block (checks, connector code, starting and stopping tasks) runs on threads of
//! its own, which send their outcome back as events.

mod driver;
mod state_file;

use crate::command::{Command, EVENTS_MAX, Herder};
use driver::{Driver, Message};
use runtime::Worker;
pub use state_file::{Kept, StateFile, StateFileError};
use std::sync::Arc;

impl Herder {
    /// Starts a driver whose connectors are this worker's alone.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(worker: Arc<Worker>) -> std::io::Result<Herder> {
        Self::start_with(worker, None)
    }

    /// The same, keeping every change of connectors in a file before it is answered.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_with(worker: Arc<Worker>, file: Option<StateFile>) -> std::io::Result<Herder> {
        let (events, inbox) = crossbeam_channel::bounded(EVENTS_MAX);
        let commands = events.clone();
        let give = move |command: Command| commands.send(Message::Command(command)).is_ok();
        let (herder, ending) = Herder::new(worker.clone(), Arc::new(give));
        let driver = Driver::new(worker, events, herder.shared_view(), file);
        std::thread::Builder::new().name("herder".to_owned()).spawn(move || {
            driver.run(&inbox);
            drop(ending);
        })?;
        Ok(herder)
    }
}
