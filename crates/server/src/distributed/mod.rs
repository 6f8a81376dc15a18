//! `copycat distributed`: one of any number of workers with one `group.id`, which share their
//! connectors through Kafka alone.
//!
//! Everything in the file is checked before anything starts; so are the topics, once brokers answer.

mod cluster;

use crate::exit::Failure;
use crate::failures::failure;
use crate::logging::Levels;
use crate::standalone::{self, Mode, Signals, WorkerFile};
pub(crate) use cluster::writer;
use config::distributed::DistributedConfig;
use herder::Herder;
use herder::distributed::log::{LogSettings, OffsetLog, Store};
use herder::distributed::run_number;
use herder::takeover::no_java_workers;
use runtime::Worker;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The worker's properties file, laid over by CONNECT_* variables (CONNECT_GROUP_ID is group.id);
    /// - or nothing if these have everything
    worker: Option<PathBuf>,
}

pub(crate) fn run(args: Args, levels: Arc<Levels>) -> ExitCode {
    match start(&args, levels) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn start(args: &Args, levels: Arc<Levels>) -> Result<ExitCode, Failure> {
    let file = WorkerFile::read(args.worker.as_deref(), Mode::Distributed)?;
    let Some(cluster) = file.cluster.clone() else {
        return Err(Failure::wrong_input("these are not the keys of a distributed worker"));
    };
    // A sink task keeps its seat in its group wherever in the cluster it runs.
    let seats = cluster.worker.group_id.clone().unwrap_or_default();
    let worker = Worker::new(file.props.clone(), standalone::plugins(), seats);
    let worker = worker.map_err(|errors| file.wrong(&errors))?;
    for notice in worker.check().map_err(|errors| file.wrong(&errors))? {
        tracing::warn!("{}: {notice}", file.source);
    }
    standalone::on_rest_threads(async {
        let signals = Signals::listen(false)?;
        serve(file, cluster, Arc::new(worker), levels, signals).await
    })
}

async fn serve(
    file: WorkerFile,
    cluster: DistributedConfig,
    worker: Arc<Worker>,
    levels: Arc<Levels>,
    mut signals: Signals,
) -> Result<ExitCode, Failure> {
    let run = run_number();
    let peers = cluster::peers(&cluster, &file, run);
    file.interface.set_peers(peers).map_err(|errors| file.wrong(&errors))?;
    let sockets = file.interface.open().await?;
    let settings = cluster::settings(&worker, &cluster, &file, &levels, run);
    let settings = settings.map_err(|e| failure(&e))?;
    let stopped = Arc::new(AtomicBool::new(false));
    let (of_driver, own) = (stopped.clone(), worker.clone());
    let starting = tokio::task::spawn_blocking(move || {
        let stopped = || of_driver.load(Ordering::Relaxed);
        let group = own.config().group_id.clone().unwrap_or_default();
        no_java_workers(&settings.config.admin, &group, &stopped)?;
        let offsets = LogSettings::of_worker(own.props(), Store::Offsets)?;
        settings.look(&offsets.topic, &stopped)?;
        own.keep_offsets_in(Arc::new(OffsetLog::open(offsets, &stopped)?));
        Herder::start_distributed(own, settings, &stopped)
    });
    let herder = tokio::select! {
        started = starting => match started {
            Ok(Ok(herder)) => herder,
            Ok(Err(error)) => return Err(failure(&error)),
            Err(error) => return Err(Failure::unavailable(error.to_string())),
        },
        name = signals.next() => {
            stopped.store(true, Ordering::Relaxed);
            tracing::info!("{name}: leaving before the worker was ready");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let (tell_cluster, id) = watch::channel(None);
    let server = standalone::announce(&file, sockets, &herder, id, levels);
    standalone::look_for_cluster(worker.clone(), tell_cluster);
    standalone::until_stopped(file, &worker, herder, server, signals).await
}
