//! A running sink task: two threads, one handle.

mod cluster;
mod context;
mod deliver;
mod fetch;
mod lane;
mod mailbox;
mod mirror;
mod rebalance;
mod renewal;
mod settings;
mod shared;
mod start;
mod stop;

pub use lane::{Closing, Lane, LaneSettings};
pub use mailbox::Limits;
pub use mirror::Mirror;
pub use renewal::{Again, Renewal};
pub use settings::{DeadLetterSettings, SinkTaskSettings, Topics};
pub use start::{MIRROR, Starts, kafka_error};
pub use stop::StopMode;

use crate::chain::Chain;
use crate::errors::Breaker;
use crate::errors::dead_letter_topic::DeadLetterTopic;
use crate::metrics::{About, Lags};
use crate::status::{State, StatusCell, TaskStatus};
use api::{Error, SinkTask};
use cluster::Cluster;
use context::Context;
use deliver::Deliver;
use fetch::Fetch;
use shared::Shared;
use start::GroupStarts;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use stop::StopSignal;

/// What to do when the breaker of a connector has tripped.
const BREAKER_ADVICE: &str = "correct the converter or the table, then stop and resume the connector; \
    errors.tolerance.max.ratio=1 reports every such record instead";

/// A task that runs until it is stopped or fails. Dropping the handle does not stop it.
pub struct SinkTaskHandle {
    shared: Arc<Shared>,
    stop: StopSignal,
    ended: crossbeam_channel::Receiver<()>,
}

impl SinkTaskHandle {
    /// The handle of a task that could not be started; its status says why.
    pub(crate) fn failed(error: &Error, status: StatusCell) -> SinkTaskHandle {
        let limits = Limits { batch_rows_max: 0, batch_bytes_max: 0, queue_bytes_max: 0 };
        let shared = Arc::new(Shared::new(limits, None, status, None));
        shared.status.fail(error);
        SinkTaskHandle {
            shared,
            stop: StopSignal::default(),
            ended: crossbeam_channel::bounded(0).1,
        }
    }

    pub fn status(&self) -> TaskStatus {
        self.shared.status.get()
    }

    /// Asks the task to end; see [`SinkTaskHandle::wait`].
    pub fn stop(&self, mode: StopMode) {
        self.stop.stop(mode);
    }

    /// Waits until the task has ended. False if it has not within `timeout`.
    pub fn wait(&self, timeout: Duration) -> bool {
        let ended = self.ended.recv_timeout(timeout);
        !matches!(ended, Err(crossbeam_channel::RecvTimeoutError::Timeout))
    }

    /// Ends waits for the destination: what is in flight is rolled back or found out about later.
    pub fn cancel(&self) {
        self.shared.cancel();
    }
}

/// Makes the task once the id of the Kafka cluster is known.
pub type TaskMaker = Box<dyn FnOnce(&str) -> Result<Box<dyn SinkTask>, Error> + Send>;

/// Starts a task on two threads of its own. Trouble of any kind shows in the status; a start that
/// cannot work (settings) ends in FAILED, one that finds no broker goes on trying.
pub fn spawn_sink_task(
    settings: SinkTaskSettings,
    make_task: TaskMaker,
    chain: Chain,
    status: StatusCell,
) -> SinkTaskHandle {
    let limits = Limits {
        batch_rows_max: settings.batch_rows_max,
        batch_bytes_max: settings.batch_bytes_max,
        queue_bytes_max: settings.queue_bytes_max,
    };
    let client_id = settings.consumer.get("client.id").cloned().unwrap_or_default();
    status.metrics().is(About { sink: true, client_id, transactional: false });
    let shared = Arc::new(Shared::new(limits, None, status, None));
    let stop = StopSignal::default();
    let (ending, ended) = crossbeam_channel::bounded::<()>(0);
    let handle = SinkTaskHandle { shared: shared.clone(), stop: stop.clone(), ended };
    let name = format!("sink-{}-{}", settings.connector, settings.task);
    let threads = Threads { settings, shared: shared.clone(), stop };
    let span = tracing::info_span!(parent: None, "task", connector = %threads.settings.connector,
        task = threads.settings.task);
    let body = move || {
        let _entered = span.clone().entered();
        threads.run(make_task, chain, &span);
        // Dropping the only sender tells waiters.
        drop(ending);
    };
    if let Err(error) = std::thread::Builder::new().name(name).spawn(body) {
        let error = Error::bug("a thread could not be started").source(error);
        shared.status.fail(&error);
    }
    handle
}

struct Threads {
    settings: SinkTaskSettings,
    shared: Arc<Shared>,
    stop: StopSignal,
}

impl Threads {
    /// The fetch thread's body: starts the deliver thread, fetches, and waits for it at the end.
    fn run(self, make_task: TaskMaker, chain: Chain, span: &tracing::Span) {
        let result = self.run_both(make_task, chain, span);
        let shared = &self.shared;
        shared.mailbox.clear();
        shared.metrics().report(Lags::default());
        match result {
            Ok(()) => shared.status.update(|status| {
                status.retrying = None;
                if status.state != State::Failed {
                    status.state = State::Unassigned;
                }
            }),
            Err(error) => {
                let renewal = self.settings.renewal.as_ref().filter(|_| Renewal::helps(&error));
                shared.status.fail(&self.settings.error_log.failure(error));
                if let Some(renewal) = renewal {
                    let notice = Some(renewal::NOTICE.to_owned());
                    shared.status.update(|status| status.notice = notice);
                    renewal.watch(&self.stop);
                }
            }
        }
    }

    fn run_both(
        &self,
        make_task: TaskMaker,
        chain: Chain,
        span: &tracing::Span,
    ) -> Result<(), Error> {
        let settings = &self.settings;
        self.shared.status.update(|status| status.state = State::Running);
        // The cluster that records come from: asked with the consumer's own settings.
        let cluster = Arc::new(Cluster::new(&settings.consumer, settings.topic_ids)?);
        let Some(cluster_id) = cluster.wait_for_id(&self.shared.status, &self.stop)? else {
            return Ok(());
        };
        let mut settings = settings.clone();
        // Unknown topics come to the same as none: the seat is only a little slower to find.
        let topics = settings.topics.select(|| cluster.topics()).unwrap_or_default();
        settings.take_seat(&topics);
        let task = make_task(&cluster_id)?;
        let breaker = Breaker::new(settings.tolerance_ratio_max);
        let log = settings.error_log.clone();
        let context = Context::new(self.shared.clone(), breaker, log, BREAKER_ADVICE);
        let dead_letters = settings.dead_letters.clone().map(|topic| {
            let (admin, log) = (settings.admin.clone(), &settings.error_log);
            let metrics = self.shared.status.metrics().clone();
            DeadLetterTopic::new(topic, admin, log, self.stop.clone(), metrics)
        });
        let (reset, group) = (settings.reset, settings.group.clone());
        let starts = GroupStarts { reset, group, cluster };
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        let fetch = Fetch::new(settings.clone(), shared, stop, starts.clone())?;
        let deliver = Deliver::new(
            task,
            chain,
            context,
            self.shared.clone(),
            Box::new(starts),
            dead_letters,
            settings.retry_backoff_max,
        );
        let name = format!("deliver-{}-{}", settings.connector, settings.task);
        let lane = Lane::spawn(deliver, name, span.clone(), |_, _| {})?;
        let fetched = fetch.run();
        lane.stop();
        let delivered = lane.join(Instant::now() + settings.shutdown_timeout);
        // The destination's reason tells more than the client's.
        delivered.and(fetched)
    }
}
