//! The worker's properties file.

use crate::exit::Failure;
use config::unknown::{WORKER_PREFIXES, unknown_keys};
use config::worker::StandaloneConfig;
use config::{Config, ConfigErrors, Props};
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

/// Reads a file of UTF-8 text, with a message that says what to do if that fails.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::wrong_input(format!("{}: byte {at} is not UTF-8 text", path.display()))
            .hint("save the file as UTF-8")
    })?;
    // Windows editors put it at the start.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    const BYTES_MAX: u64 = 16 << 20;
    let name = path.display();
    let wrong =
        |text: String, hint: &str| Failure::wrong_input(format!("{name}: {text}")).hint(hint);
    let unusable = |hint| wrong("cannot be read as a configuration file".to_owned(), hint);
    match std::fs::metadata(path) {
        Err(error) => Err(wrong(error.to_string(), "check the path and its permissions")),
        Ok(found) if found.is_dir() => Err(unusable("this is a folder; name a file in it")),
        Ok(found) if found.len() > BYTES_MAX => Err(unusable("no configuration is this large")),
        Ok(_) => std::fs::read(path)
            .map_err(|error| wrong(error.to_string(), "check the file's permissions")),
    }
}

/// Java reads these files as ISO-8859-1, newer tools write UTF-8: what is not UTF-8 is the former.
/// Anything with a zero byte is no text at all.
fn properties_text(path: &Path) -> Result<String, Failure> {
    let bytes = read_bytes(path)?;
    if bytes.contains(&0) {
        return Err(Failure::wrong_input(format!("{}: not a text file", path.display()))
            .hint("save the file as UTF-8 text"));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect()))
}

/// # Errors
/// The file cannot be read, or is no properties file.
pub(crate) fn read_properties(path: &Path) -> Result<Props, Failure> {
    let text = properties_text(path)?;
    config::properties::parse(&text)
        .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Props, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.properties");
        std::fs::write(&path, bytes).unwrap();
        read_properties(&path).map_err(|failure| failure.message)
    }

    #[test]
    fn properties_are_utf8_or_latin1_with_or_without_a_byte_order_mark() {
        for bytes in [
            "a=caf\u{e9} \u{20ac}\n".as_bytes(),
            "\u{feff}a=caf\u{e9} \u{20ac}\n".as_bytes(),
            b"a=caf\xe9 \\u20ac\n",
        ] {
            assert_eq!(read(bytes).unwrap().get("a"), Some("caf\u{e9} \u{20ac}"));
        }
        assert!(read(&[0xff, 0xfe, b'a', 0]).unwrap_err().contains("not a text file"));
    }
}
