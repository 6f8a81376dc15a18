//! The worker's properties file.

use super::interface::Interface;
use crate::exit::Failure;
use config::unknown::{WORKER_PREFIXES, unknown_keys};
use config::worker::StandaloneConfig;
use config::{Config, ConfigErrors, Props};
use connector_files::read_properties;
use kafka::settings::{ClientKind, is_known_key};
use std::path::{Path, PathBuf};

/// A worker file that was read and checked.
pub(super) struct WorkerFile {
    path: PathBuf,
    pub(super) props: Props,
    pub(super) interface: Interface,
    address: String,
}

impl WorkerFile {
    /// # Errors
    /// The file cannot be read or has something wrong in it.
    pub(super) fn read(path: &Path) -> Result<WorkerFile, Failure> {
        let props = read_properties(path)?;
        let wrong =
            |errors: &ConfigErrors| Failure::wrong_input(format!("{}: {errors}", path.display()));
        let resolved = config::providers::from_worker(&props);
        let resolved = resolved.and_then(|providers| providers.resolve(&props));
        let resolved = resolved.map_err(|errors| wrong(&errors))?.props;
        let config = StandaloneConfig::parse(&resolved).map_err(|errors| wrong(&errors))?;
        let rest = &config.worker.rest;
        let interface = Interface::read(rest, &props).map_err(|errors| wrong(&errors))?;
        let address = interface.advertised(rest).unwrap_or_else(host_name);
        let file = WorkerFile { path: path.to_owned(), props, interface, address };
        file.name_unknown_keys();
        Ok(file)
    }

    /// `host:port` under which others reach this worker; also part of sink tasks' member ids.
    pub(super) fn address(&self) -> String {
        self.address.clone()
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

/// This machine's name.
pub(super) fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "localhost".to_owned())
}
