//! A running source task: one thread, one handle.

use super::encode::Encoder;
use super::settings::SourceTaskSettings;
use super::work::Work;
use crate::chain::Step;
use crate::metrics::About;
use crate::sink::{StopMode, StopSignal};
use crate::status::{State, StatusCell, TaskStatus};
use api::{Converter, Error, SourceTask};
use std::time::Duration;

/// A task that runs until it is stopped or fails. Dropping the handle does not stop it.
pub struct SourceTaskHandle {
    status: StatusCell,
    stop: StopSignal,
    ended: crossbeam_channel::Receiver<()>,
}

/// What turns the rows of a source into records.
pub struct SourceChain {
    pub steps: Vec<Step>,
    pub key: Box<dyn Converter>,
    pub value: Box<dyn Converter>,
    pub header: Box<dyn Converter>,
}

impl SourceTaskHandle {
    pub fn status(&self) -> TaskStatus {
        self.status.get()
    }

    /// Asks the task to end; see [`SourceTaskHandle::wait`].
    pub fn stop(&self) {
        self.stop.stop(StopMode::Stay);
    }

    /// Waits until the task has ended. False if it has not within `timeout`.
    pub fn wait(&self, timeout: Duration) -> bool {
        let ended = self.ended.recv_timeout(timeout);
        !matches!(ended, Err(crossbeam_channel::RecvTimeoutError::Timeout))
    }
}

/// Starts a task on a thread of its own. Trouble of any kind shows in the status.
pub fn spawn_source_task(
    settings: SourceTaskSettings,
    task: Box<dyn SourceTask>,
    chain: SourceChain,
    status: StatusCell,
) -> SourceTaskHandle {
    let stop = StopSignal::default();
    let (ending, ended) = crossbeam_channel::bounded::<()>(0);
    let handle = SourceTaskHandle { status: status.clone(), stop: stop.clone(), ended };
    let client_id = settings.producer.get("client.id").cloned().unwrap_or_default();
    let transactional = settings.is_transactional();
    status.metrics().is(About { sink: false, client_id, transactional });
    let name = format!("source-{}-{}", settings.connector, settings.task);
    let span = tracing::info_span!(parent: None, "task", connector = %settings.connector, task = settings.task);
    let watched = status.clone();
    let body = move || {
        let _entered = span.entered();
        let SourceChain { steps, key, value, header } = chain;
        let encoder = Encoder::new(key, value, header);
        let work = Work::new(task, steps, encoder, settings, watched.clone(), stop);
        end(&watched, work.run());
        // Dropping the only sender tells waiters.
        drop(ending);
    };
    if let Err(error) = std::thread::Builder::new().name(name).spawn(body) {
        end(&status, Err(Error::bug("a thread could not be started").source(error)));
    }
    handle
}

fn end(status: &StatusCell, result: Result<(), Error>) {
    match result {
        Ok(()) => status.update(|status| {
            status.retrying = None;
            status.state = State::Unassigned;
        }),
        Err(error) => status.fail(&error),
    }
}
