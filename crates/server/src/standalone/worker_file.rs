//! The worker's properties file.

use crate::exit::Failure;
use config::unknown::{WORKER_PREFIXES, unknown_keys};
use config::worker::StandaloneConfig;
use config::{Config, ConfigErrors, Props};
use connector_files::read_properties;
use kafka::settings::{ClientKind, is_known_key};
use rest::Listener;
use std::path::{Path, PathBuf};

/// A worker file that was read and checked.
pub(super) struct WorkerFile {
    path: PathBuf,
    pub(super) props: Props,
    pub(super) listeners: Vec<Listener>,
    advertised: Option<String>,
}

impl WorkerFile {
    /// # Errors
    /// The file cannot be read or has something wrong in it.
    pub(super) fn read(path: &Path) -> Result<WorkerFile, Failure> {
        let props = read_properties(path)?;
        let mut file =
            WorkerFile { path: path.to_owned(), props, listeners: Vec::new(), advertised: None };
        let config = StandaloneConfig::parse(&file.props).map_err(|errors| file.wrong(&errors))?;
        for listener in &config.worker.listeners {
            let parsed = listener.parse::<Listener>();
            let parsed = parsed
                .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))?;
            file.listeners.push(parsed);
        }
        file.advertised = advertised(&config, &file.listeners);
        file.name_unknown_keys();
        Ok(file)
    }

    /// `host:port` under which others reach this worker; also part of sink tasks' member ids.
    pub(super) fn address(&self) -> String {
        self.advertised.clone().unwrap_or_else(host_name)
    }

    pub(super) fn wrong(&self, errors: &ConfigErrors) -> Failure {
        Failure::wrong_input(format!("{}: {errors}", self.path.display()))
    }

    fn name_unknown_keys(&self) {
        let own = [runtime::SELF_ASSIGN];
        for key in unknown_keys(&self.props, &[&StandaloneConfig::def()], &WORKER_PREFIXES) {
            // Unprefixed client settings are meant for the worker's own clients.
            let of_clients = is_known_key(ClientKind::Admin, &key.key);
            if !own.contains(&key.key.as_str()) && !of_clients {
                tracing::warn!("{}: {key}", self.path.display());
            }
        }
    }
}

fn advertised(config: &StandaloneConfig, listeners: &[Listener]) -> Option<String> {
    let worker = &config.worker;
    let first = listeners.first()?;
    let host = match &worker.rest_advertised_host_name {
        Some(host) => host.clone(),
        None if first.host.is_empty() => host_name(),
        None => first.host.clone(),
    };
    let port = worker.rest_advertised_port.unwrap_or(first.port);
    Some(format!("{host}:{port}"))
}

fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "localhost".to_owned())
}
