//! PgBouncer in transaction mode in front of a server: each transaction may meet another session.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::{Client, server::owner};
use crate::{
    eventually, free_port,
    private::{Private, tail},
};

/// A PgBouncer of a test's own; it ends when this value is dropped.
#[derive(Debug)]
pub struct Bouncer {
    port: u16,
    _process: Private,
    _dir: TempDir,
}

impl Bouncer {
    /// Starts one in front of the server of this `postgres://…`, with so many sessions for each
    /// database.
    ///
    /// # Panics
    ///
    /// When it is not installed or does not start; the message has the end of its log.
    pub fn start(server: &str, sessions: usize) -> Self {
        let dir = tempfile::Builder::new().prefix("copycat-bouncer-").tempdir().expect("a folder");
        let port = free_port();
        let parts = Client::parts(server);
        let (host, server_port) = parts.address.rsplit_once(':').expect("an address has a port");
        let path = dir.path();
        let users = path.join("users");
        fs::write(&users, format!("\"{}\" \"\"\n", parts.user)).expect("the folder is writable");
        let config = format!(
            "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {sessions}\nmax_client_conn = 500\n\
             ignore_startup_parameters = extra_float_digits\nlogfile = {}\n",
            users.display(),
            path.join("log").display()
        );
        let file = path.join("pgbouncer.ini");
        fs::write(&file, config).expect("the folder is writable");
        let mut command = Command::new(program());
        command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = owner() {
            for path in [path, &users, &file] {
                chown(path, Some(user), Some(group)).expect("root may give a file away");
            }
            command.uid(user).gid(group);
        }
        let mut process = Private::start(&mut command, path);
        let url = format!("postgres://{}@127.0.0.1:{port}/{}", parts.user, parts.database);
        eventually(Duration::from_secs(30), "PgBouncer takes connections", || {
            if let Some(status) = process.ended() {
                panic!("PgBouncer ended ({status}):\n{}", log(path));
            }
            Client::try_connect(&url).ok()
        });
        Self { port, _process: process, _dir: dir }
    }

    /// The same `postgres://…` through the pooler.
    pub fn url(&self, server: &str) -> String {
        let parts = Client::parts(server);
        format!("postgres://{}@127.0.0.1:{}/{}", parts.user, self.port, parts.database)
    }
}

fn log(dir: &Path) -> String {
    tail(&dir.join("log"))
}

/// Debian keeps it where only root looks.
fn program() -> PathBuf {
    let found = std::env::var_os("PATH")
        .and_then(|path| {
            std::env::split_paths(&path)
                .map(|dir| dir.join("pgbouncer"))
                .find(|file| file.is_file())
        })
        .unwrap_or_else(|| PathBuf::from("/usr/sbin/pgbouncer"));
    assert!(found.is_file(), "PgBouncer is not installed; scripts/servers start installs it");
    found
}
