//! `copycat standalone`: one worker, Kafka Connect's own files, REST on port 8083.
//!
//! Everything in the files is checked before anything starts. Afterwards trouble outside (Kafka, the
//! database) is shown in the status and retried; it does not end the worker.

#[cfg(test)]
mod access;
mod certificates;
#[cfg(test)]
mod chain_checks;
#[cfg(test)]
mod checks;
mod connector_file;
#[cfg(test)]
mod definitions;
#[cfg(test)]
mod examples;
mod interface;
mod restore;
mod users;
mod worker_file;

use crate::exit::Failure;
use crate::logging::Levels;
use connector_file::ConnectorFile;
use herder::{Herder, HerderError, StateFile};
use runtime::{Plugins, Worker};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};
pub(crate) use worker_file::{Mode, WorkerFile};

pub(crate) use connector_file::read_config;
pub(crate) use connector_files::read_properties;

/// Beyond the tasks' own time to stop.
pub(crate) const SHUTDOWN_MARGIN: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The worker's properties file, laid over by CONNECT_* variables (CONNECT_GROUP_ID is group.id);
    /// - or nothing if these have everything
    worker: Option<PathBuf>,
    /// Files of connectors to create: properties, JSON or YAML
    connectors: Vec<PathBuf>,
    /// Stop when standard input ends: for a parent that must not leave a worker behind, however
    /// it ends itself
    #[arg(long, hide = true)]
    stop_at_end_of_input: bool,
}

/// The plugins that are built in.
pub(crate) fn plugins() -> Plugins {
    Plugins {
        connector: connectors::find,
        connectors: connectors::names,
        connector_plugins: connectors::plugins,
        converter_plugins: converters::plugins,
        converter: converters::find,
        converters: || converters::plugins().iter().map(|plugin| plugin.class).collect(),
        transform: transforms::find,
        transforms: transforms::transforms,
        predicate: transforms::find_predicate,
        predicates: transforms::predicates,
    }
}

pub(crate) fn run(args: Args, levels: Arc<Levels>) -> ExitCode {
    match start(args, levels) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn start(args: Args, levels: Arc<Levels>) -> Result<ExitCode, Failure> {
    let file = WorkerFile::read(args.worker.as_deref(), Mode::Standalone)?;
    let connectors = connector_file::read_all(&args.connectors)?;
    let worker = Worker::new(file.props.clone(), plugins(), file.address())
        .map_err(|errors| file.wrong(&errors))?;
    for notice in worker.check().map_err(|errors| file.wrong(&errors))? {
        tracing::warn!("{}: {notice}", file.source);
    }
    for connector in &connectors {
        if let Err(errors) = worker.validate(&connector.config) {
            return Err(connector.wrong(&errors));
        }
    }
    let kept = file.state_file.as_ref().map(StateFile::open).transpose();
    let kept = kept.map_err(|error| Failure::wrong_input(error.to_string()))?;
    on_rest_threads(async {
        // Before anything runs, so that a signal during the start is not missed.
        let signals = Signals::listen(args.stop_at_end_of_input)?;
        serve(file, Arc::new(worker), kept, connectors, levels, signals).await
    })
}

/// The threads of the REST interface.
pub(crate) fn on_rest_threads(
    work: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .thread_name("rest")
        .build();
    let threads = threads
        .map_err(|error| Failure::unavailable(format!("threads cannot be started: {error}")))?;
    let outcome = threads.block_on(work);
    // Whoever waits there for the answer of another worker does not keep the process.
    threads.shutdown_background();
    outcome
}

async fn serve(
    file: WorkerFile,
    worker: Arc<Worker>,
    kept: Option<StateFile>,
    connectors: Vec<ConnectorFile>,
    levels: Arc<Levels>,
    signals: Signals,
) -> Result<ExitCode, Failure> {
    let sockets = file.interface.open().await?;
    let (before, kept) = restore::split(kept, &connectors);
    let herder = Herder::start_with(worker.clone(), kept)
        .map_err(|error| Failure::unavailable(format!("threads cannot be started: {error}")))?;
    let (tell_cluster, cluster) = watch::channel(None);
    let server = announce(&file, sockets, &herder, cluster, levels);
    look_for_cluster(worker.clone(), tell_cluster);
    restore::bring_back(&herder, before.others).await?;
    for mut connector in connectors {
        connector.target = before.targets.get(&connector.name).copied().unwrap_or(connector.target);
        create(&herder, connector).await?;
    }
    herder.set_ready();
    until_stopped(file, &worker, herder, server, signals).await
}

/// Serves until a signal comes, and ends in order.
pub(crate) async fn until_stopped(
    file: WorkerFile,
    worker: &Worker,
    herder: Herder,
    server: rest::Server,
    mut signals: Signals,
) -> Result<ExitCode, Failure> {
    let name = loop {
        match signals.next().await {
            RENEW => file.interface.renew(),
            name => break name,
        }
    };
    tracing::info!("{name}: writing what was read, then leaving (again: leave at once)");
    herder.shutdown();
    let graceful = Duration::from_millis(worker.config().task_shutdown_graceful_timeout_ms);
    let waiting = tokio::task::spawn_blocking(move || herder.wait(graceful + SHUTDOWN_MARGIN));
    tokio::select! {
        ended = waiting => {
            if !ended.unwrap_or(false) {
                tracing::warn!("not everything ended in time");
            }
            // Everything was answered when the tasks had ended; this is for clients that are slow.
            if !server.stop(SHUTDOWN_MARGIN).await {
                tracing::warn!("some clients did not take their answers in time");
            }
            tracing::info!("stopped");
            Ok(ExitCode::SUCCESS)
        }
        second = signals.again() => {
            tracing::warn!("{second} again: leaving at once");
            std::process::exit(if second == "SIGINT" { 130 } else { 143 })
        }
    }
}

pub(crate) fn announce(
    file: &WorkerFile,
    sockets: Vec<rest::Socket>,
    herder: &Herder,
    cluster: watch::Receiver<Option<String>>,
    levels: Arc<Levels>,
) -> rest::Server {
    let facts = rest::Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("COPYCAT_COMMIT").unwrap_or("unknown").to_owned(),
        worker_id: file.address(),
        kafka_cluster_id: cluster,
    };
    let schemes: Vec<&str> =
        sockets.iter().map(|s| if s.tls.is_some() { "https" } else { "http" }).collect();
    let users = file.interface.users.clone();
    if users.as_ref().is_some_and(|users| users.admit_everybody()) {
        tracing::warn!("the file of passwords is empty: the REST interface admits everybody");
    }
    let limits = rest::Limits::of(herder.worker().config());
    let server = rest::serve(rest::Setup {
        sockets,
        herder: herder.clone(),
        facts,
        loggers: levels,
        users,
        limits,
        peers: file.interface.peers(),
    });
    for (address, scheme) in server.addresses().iter().zip(schemes) {
        tracing::info!("REST interface on {scheme}://{address}");
    }
    server
}

/// The cluster's id is for `GET /` only; tasks ask for it themselves.
pub(crate) fn look_for_cluster(worker: Arc<Worker>, cluster: watch::Sender<Option<String>>) {
    let body = move || {
        cluster.send_replace(worker.wait_for_cluster_id());
    };
    if let Err(error) = std::thread::Builder::new().name("cluster-id".to_owned()).spawn(body) {
        tracing::warn!("thread cluster-id could not be started: {error}");
    }
}

async fn create(herder: &Herder, connector: ConnectorFile) -> Result<(), Failure> {
    let ConnectorFile { name, config, target, source } = connector;
    match herder.create(name.clone(), config, target).await {
        Ok(_) => {
            tracing::info!("connector {name} created from {source}");
            Ok(())
        }
        Err(HerderError::Conflict(message) | HerderError::Invalid(message)) => {
            Err(Failure::wrong_input(format!("{source}: {message}")))
        }
        Err(error) => Err(Failure::unavailable(format!("{source}: {error}"))),
    }
}

/// The signal at which files of certificates and users are read again.
pub(crate) const RENEW: &str = "SIGHUP";

/// SIGTERM, SIGINT and SIGHUP; the end of standard input where that was asked for.
pub(crate) struct Signals {
    terminate: Signal,
    renew: Signal,
    interrupt: Signal,
    input_end: Option<oneshot::Receiver<()>>,
}

impl Signals {
    pub(crate) fn listen(to_input: bool) -> Result<Signals, Failure> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Failure::unavailable(format!("signals cannot be caught: {error}")))
        };
        let (terminate, interrupt) =
            (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        let renew = listen(SignalKind::hangup())?;
        let input_end = to_input.then(input_end).transpose().map_err(|error| {
            Failure::unavailable(format!("standard input cannot be watched: {error}"))
        })?;
        Ok(Signals { terminate, renew, interrupt, input_end })
    }

    /// A signal that is meant as a second one: process managers often send the first twice.
    pub(crate) async fn again(&mut self) -> &'static str {
        const SAME_SIGNAL: Duration = Duration::from_millis(500);
        let first = tokio::time::Instant::now();
        loop {
            let signal = self.next().await;
            if signal != RENEW && first.elapsed() > SAME_SIGNAL {
                return signal;
            }
        }
    }

    pub(crate) async fn next(&mut self) -> &'static str {
        let input_end = async {
            match self.input_end.as_mut() {
                // Whatever it answers, the input is over.
                Some(end) => drop(end.await),
                None => std::future::pending().await,
            }
        };
        let name = tokio::select! {
            _ = self.terminate.recv() => return "SIGTERM",
            _ = self.interrupt.recv() => return "SIGINT",
            _ = self.renew.recv() => return RENEW,
            () = input_end => "end of input",
        };
        self.input_end = None;
        name
    }
}

/// Answers when standard input ends. A thread of its own reads it: the runtime would wait for a
/// blocking read when it ends.
fn input_end() -> std::io::Result<oneshot::Receiver<()>> {
    let (told, end) = oneshot::channel();
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let _ended = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        // Nobody listens any more if the worker is leaving.
        let _ = told.send(());
    })?;
    Ok(end)
}
