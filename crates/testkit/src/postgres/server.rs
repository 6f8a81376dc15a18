//! A PostgreSQL server of a test's own, to be stopped, killed, paused and started again.

use std::{
    fs,
    io::Write as _,
    os::unix::{fs::chown, process::CommandExt as _},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::Client;
use crate::{
    eventually, free_port,
    private::{Private, children, signal, tail},
    shared::shared,
};

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Open transactions are rolled back, clients are told (SIGINT).
    Fast,
    /// As in a crash: nothing is rolled back or written, the next start recovers (SIGQUIT).
    Immediate,
}

/// One server with the settings of the shared one: fsync on, trust for everybody on 127.0.0.1. Its
/// port and data stay the same for its life; it goes when this value is dropped.
#[derive(Debug)]
pub struct Server {
    dir: TempDir,
    port: u16,
    settings: Vec<String>,
    process: Option<Private>,
}

impl Server {
    /// Starts one and waits until it takes connections. Takes about two seconds.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has the end of its log.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with more settings, each as `name=value`.
    pub fn start_with(settings: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("copycat-postgres-").tempdir().expect("a folder");
        if let Some((user, group)) = owner() {
            chown(dir.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut server = Self { dir, port: free_port(), settings, process: None };
        let mut command = server.command("initdb");
        command.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"]);
        let status = command.arg(server.data()).status().expect("initdb runs");
        assert!(status.success(), "initdb failed:\n{}", server.log_tail());
        server.launch();
        server
    }

    /// A streaming replica of it, which commits do not wait for, with a port and data of its own.
    ///
    /// # Panics
    ///
    /// When the copy cannot be made or does not start; the message has the end of its log.
    pub fn standby(&self) -> Self {
        let dir = tempfile::Builder::new().prefix("copycat-postgres-").tempdir().expect("a folder");
        if let Some((user, group)) = owner() {
            chown(dir.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        let settings = self.settings.clone();
        let mut standby = Self { dir, port: free_port(), settings, process: None };
        let mut command = standby.command("pg_basebackup");
        command.args(["-R", "-X", "stream", "-c", "fast", "-d", &self.url(), "-D"]);
        let status = command.arg(standby.data()).status().expect("pg_basebackup runs");
        assert!(status.success(), "pg_basebackup failed:\n{}", standby.log_tail());
        standby.launch();
        standby
    }

    /// Cuts a replica off from its primary: it stays as it is and answers reads.
    pub fn cut_off(&self) {
        self.client().execute("ALTER SYSTEM SET primary_conninfo = ''");
        self.client().execute("SELECT pg_reload_conf()");
        eventually(Duration::from_secs(60), "the replica is cut off", || {
            let receivers = self.client().value("SELECT count(*) FROM pg_stat_wal_receiver");
            (receivers.as_deref() == Some("0")).then_some(())
        });
    }

    /// Makes a replica a server that takes writes, with what has arrived there.
    pub fn promote(&self) {
        self.client().execute("SELECT pg_promote()");
    }

    /// `postgres://…` of its maintenance database, the same for the life of this value.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The folder of its unix socket.
    pub fn socket_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// A new connection to its maintenance database.
    pub fn client(&self) -> Client {
        Client::connect(&self.url())
    }

    /// Starts it again with the same port and data, and waits until it takes connections.
    ///
    /// # Panics
    ///
    /// When it still runs, or does not come up; the message has the end of its log.
    pub fn launch(&mut self) {
        assert!(self.process.is_none(), "the server still runs");
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        command.arg("-k").arg(self.dir.path());
        let usual = [
            "listen_addresses=127.0.0.1",
            "fsync=on",
            "wal_level=logical",
            "max_connections=200",
            "max_prepared_transactions=10",
            "shared_buffers=32MB",
        ];
        let settings = self.settings.iter().map(String::as_str);
        for setting in usual.into_iter().chain(settings) {
            command.arg("-c").arg(setting);
        }
        let mut process = Private::start(&mut command, self.dir.path());
        eventually(Duration::from_secs(60), "PostgreSQL takes connections", || {
            if let Some(status) = process.ended() {
                panic!("PostgreSQL ended ({status}):\n{}", self.log_tail());
            }
            Client::try_connect(&self.url()).ok()
        });
        self.process = Some(process);
    }

    /// Stops it and waits until it has gone. A no-op on a stopped one.
    pub fn stop(&mut self, how: Stop) {
        let Some(mut process) = self.process.take() else { return };
        process.signal(match how {
            Stop::Fast => "INT",
            Stop::Immediate => "QUIT",
        });
        process.wait(Duration::from_secs(60), "PostgreSQL stops");
    }

    /// Stops it and starts it again.
    pub fn restart(&mut self, how: Stop) {
        self.stop(how);
        self.launch();
    }

    /// Makes the server and all its backends stand still (SIGSTOP): connections stay open and
    /// nothing is answered.
    pub fn pause(&self) {
        self.signal_all("STOP");
    }

    /// Lets a paused one go on (SIGCONT).
    pub fn resume(&self) {
        self.signal_all("CONT");
    }

    /// Ends every client's backend but the caller's, as an administrator does. Returns how many.
    pub fn terminate_backends(&self) -> usize {
        let ended = self.client().query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        );
        ended.iter().filter(|row| row.first().is_some_and(|v| v.as_deref() == Some("t"))).count()
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        tail(&self.log())
    }

    fn signal_all(&self, name: &str) {
        let pid = self.process.as_ref().expect("the server runs").id();
        // The postmaster first: it would start new backends meanwhile.
        signal(pid, name);
        for backend in children(pid) {
            signal(backend, name);
        }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn command(&self, program: &str) -> Command {
        let mut log = fs::File::options().create(true).append(true).open(self.log());
        let log = log.as_mut().expect("the folder is writable");
        writeln!(log, "-- {program}").expect("the log is writable");
        let mut command = Command::new(shared().pg_bin.join(program));
        command
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log.try_clone().expect("a second handle of the log"));
        if let Some((user, group)) = owner() {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A killed postmaster leaves backends behind until they notice; this one takes them along.
        if self.process.is_some() {
            self.signal_all("CONT");
        }
        if !std::thread::panicking() {
            self.stop(Stop::Immediate);
        }
    }
}

/// The user and group that run the server where this process is root: PostgreSQL refuses root.
pub(super) fn owner() -> Option<(u32, u32)> {
    if id(&["-u"])? != 0 {
        return None;
    }
    Some((
        id(&["-u", "postgres"]).expect("root needs a user postgres to run the server"),
        id(&["-g", "postgres"]).expect("the user postgres has a group"),
    ))
}

fn id(args: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(args).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
