//! The worker's properties file, and the environment variables laid over it.

use super::interface::Interface;
use crate::exit::Failure;
use config::distributed::DistributedConfig;
use config::environment::Environment;
use config::unknown::{WORKER_PREFIXES, unknown_keys};
use config::worker::{StandaloneConfig, WorkerConfig};
use config::{Config, ConfigErrors, Props};
use connector_files::read_properties;
use kafka::settings::{ClientKind, is_known_key};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Standalone,
    Distributed,
}

impl Mode {
    /// The command, and an example of it.
    fn example(self) -> &'static str {
        match self {
            Mode::Standalone => "copycat standalone worker.properties [CONNECTOR_FILE...]",
            Mode::Distributed => "copycat distributed worker.properties",
        }
    }
}

/// The keys that only one mode has.
struct OfMode {
    worker: WorkerConfig,
    state_file: Option<String>,
    cluster: Option<DistributedConfig>,
}

impl Mode {
    fn parse(self, props: &Props) -> Result<OfMode, ConfigErrors> {
        Ok(match self {
            Mode::Standalone => {
                let config = StandaloneConfig::parse(props)?;
                OfMode { worker: config.worker, state_file: config.state_file, cluster: None }
            }
            Mode::Distributed => {
                let config = DistributedConfig::of(props)?;
                let worker = config.worker.clone();
                OfMode { worker, state_file: None, cluster: Some(config) }
            }
        })
    }
}

/// Only standalone workers have one.
const OFFSET_FILE: &str = "offset.storage.file.filename";

/// A worker file that was read and checked.
pub(crate) struct WorkerFile {
    /// Where its keys are from, for messages.
    pub(crate) source: String,
    /// References to secrets are as they were written.
    pub(crate) props: Props,
    /// Where connectors are kept.
    pub(super) state_file: Option<PathBuf>,
    /// The keys of a distributed worker.
    pub(crate) cluster: Option<DistributedConfig>,
    mode: Mode,
    pub(crate) interface: Interface,
    address: String,
}

impl WorkerFile {
    /// The file at `path`, `-` for none, and over it what the environment has.
    ///
    /// # Errors
    /// The file cannot be read, or something is wrong in it or in the environment.
    pub(crate) fn read(path: Option<&Path>, mode: Mode) -> Result<WorkerFile, Failure> {
        let variables = std::env::vars_os();
        let variables =
            variables.filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        let environment = config::environment::read(variables);
        let (source, mut props) = merged(path, environment, mode)?;
        if mode == Mode::Distributed && props.remove(OFFSET_FILE).is_some() {
            tracing::warn!("{source}: {OFFSET_FILE} is for standalone workers and has no effect");
        }
        let wrong = |errors: &ConfigErrors| Failure::wrong_input(format!("{source}: {errors}"));
        let resolved = config::providers::from_worker(&props);
        let resolved = resolved.and_then(|providers| providers.resolve(&props));
        let resolved = resolved.map_err(|errors| wrong(&errors))?;
        let config = mode.parse(&resolved.props).map_err(|errors| {
            let failure = wrong(&resolved.hide_errors(&props, errors));
            match props.get("config.storage.topic") {
                Some(_) if mode == Mode::Standalone => failure.hint(
                    "these are keys of a distributed worker, and this is a standalone one: start \
                     it with copycat distributed",
                ),
                _ => failure,
            }
        })?;
        let rest = &config.worker.rest;
        let interface = Interface::read(rest, &props)
            .map_err(|errors| wrong(&resolved.hide_errors(&props, errors)))?;
        let address = interface.advertised(rest).unwrap_or_else(host_name);
        let state_file = config.state_file.as_deref().map(str::trim);
        let state_file = state_file.filter(|path| !path.is_empty()).map(PathBuf::from);
        let cluster = config.cluster;
        let file = WorkerFile { source, props, state_file, cluster, mode, interface, address };
        file.name_unknown_keys();
        Ok(file)
    }

    /// `host:port` under which others reach this worker; also part of sink tasks' member ids.
    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn wrong(&self, errors: &ConfigErrors) -> Failure {
        Failure::wrong_input(format!("{}: {errors}", self.source))
    }

    fn name_unknown_keys(&self) {
        let own = [runtime::SELF_ASSIGN];
        let def = match self.mode {
            Mode::Standalone => StandaloneConfig::def(),
            Mode::Distributed => DistributedConfig::def(),
        };
        for key in unknown_keys(&self.props, &[&def], &WORKER_PREFIXES) {
            // Unprefixed client settings are meant for the worker's own clients.
            let of_clients = is_known_key(ClientKind::Admin, &key.key);
            if self.mode == Mode::Standalone && is_of_distributed(&key.key) {
                tracing::warn!(
                    "{}: {} is for distributed workers and has no effect: this one keeps its \
                     connectors in copycat.state.file",
                    self.source,
                    key.key
                );
            } else if !own.contains(&key.key.as_str()) && !of_clients {
                tracing::warn!("{}: {key}", self.source);
            }
        }
    }
}

/// Keys that only distributed workers of Kafka Connect have.
fn is_of_distributed(key: &str) -> bool {
    const ALL: [&str; 8] = [
        "config.storage.",
        "status.storage.",
        "inter.worker.",
        "scheduled.rebalance.max.delay.ms",
        "rebalance.timeout.ms",
        "worker.sync.timeout.ms",
        "worker.unsync.backoff.ms",
        "connect.protocol",
    ];
    ALL.iter().any(|prefix| key.starts_with(prefix))
}

/// The worker's keys, and what messages call the place they are from.
fn merged(
    path: Option<&Path>,
    environment: Environment,
    mode: Mode,
) -> Result<(String, Props), Failure> {
    const VARIABLES: &str = "CONNECT_* variables";
    let Environment { props: set, without_effect } = environment;
    if !without_effect.is_empty() {
        let names = without_effect.join(", ");
        tracing::warn!(
            "{names}: without effect, there is no JVM; log levels are COPYCAT_LOG_LEVEL"
        );
    }
    let path = path.filter(|path| *path != Path::new("-"));
    let missing =
        |path: &Path| std::fs::metadata(path).is_err_and(|e| e.kind() == ErrorKind::NotFound);
    let path = match path {
        Some(path) if missing(path) && !set.is_empty() => {
            tracing::warn!("{}: there is no such file; {VARIABLES} alone are read", path.display());
            None
        }
        other => other,
    };
    let Some(path) = path else {
        if set.is_empty() {
            return Err(Failure::wrong_input(
                "no worker file is named, and no CONNECT_* variable is set",
            )
            .hint(mode.example()));
        }
        return Ok((VARIABLES.to_owned(), set));
    };
    let mut props = read_properties(path)?;
    let shown = path.display();
    if set.is_empty() {
        return Ok((shown.to_string(), props));
    }
    // Names alone: values may be secret.
    let names: Vec<&str> = set.keys().collect();
    tracing::info!("keys from {VARIABLES}: {}", names.join(", "));
    props.extend(set);
    Ok((format!("{shown} and {VARIABLES}"), props))
}

/// This machine's name.
pub(super) fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "localhost".to_owned())
}
