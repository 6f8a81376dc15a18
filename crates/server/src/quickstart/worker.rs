//! The worker: this program as a child process, which can really be killed.

use super::folder::Folder;
use crate::exit::Failure;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

pub(super) const WORKER_FILE: &str = "worker.properties";
pub(super) const CONNECTOR_FILE: &str = "orders.properties";
const LOG_FILE: &str = "worker.log";
/// Lines of the log that a failure shows, at most.
const TAIL_LINES: usize = 15;

/// A worker that is killed with this value.
pub(super) struct Worker {
    folder: PathBuf,
    log: PathBuf,
    port: u16,
    child: Option<Child>,
}

impl Worker {
    /// Nothing is started yet. `port` is that of its REST interface.
    pub(super) fn new(folder: &Folder, port: u16) -> Worker {
        let log = folder.file(LOG_FILE);
        Worker { folder: folder.path().to_owned(), log, port, child: None }
    }

    /// Starts it and returns its process id.
    pub(super) fn start(&mut self) -> Result<u32, Failure> {
        let failed = |error: io::Error| Failure {
            code: 1,
            message: format!("the worker cannot be started: {error}"),
            hint: None,
        };
        let log = OpenOptions::new().create(true).append(true).open(&self.log).map_err(failed)?;
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["standalone", "--stop-at-end-of-input", WORKER_FILE, CONNECTOR_FILE])
            .current_dir(&self.folder)
            .env_remove("COPYCAT_LOG_FORMAT")
            // Ends when we end, even by kill -9; then the worker ends too.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            // Ctrl-C in the terminal is for us: we decide what happens to the worker.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let id = child.id();
        self.child = Some(child);
        Ok(id)
    }

    /// Kills it (SIGKILL) and waits until it is gone.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // An error means that it has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    /// Lets a connector go through the REST interface, so that its consumer group is empty at once.
    pub(super) fn stop_connector(&self, name: &str) -> io::Result<()> {
        self.ask("PUT", &format!("/connectors/{name}/stop")).map(drop)
    }

    /// Why the connector's task has failed, if it has.
    pub(super) fn task_failure(&self, name: &str) -> Option<String> {
        let answer = self.ask("GET", &format!("/connectors/{name}/status")).ok()?;
        failure_in(answer.split_once("\r\n\r\n")?.1)
    }

    /// One request to the REST interface, and the whole answer.
    fn ask(&self, method: &str, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The end of its log, indented.
    pub(super) fn log_tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
        tail.iter().map(|line| format!("    {line}\n")).collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The first line of a failed task's trace.
fn failure_in(status: &str) -> Option<String> {
    let status: serde_json::Value = serde_json::from_str(status).ok()?;
    let task = status["tasks"].as_array()?.iter().find(|task| task["state"] == "FAILED")?;
    let trace = task["trace"].as_str().unwrap_or("no reason is given");
    trace.lines().next().map(str::to_owned)
}

/// A port of this machine that nobody listens on. Below the range of outgoing connections, one of
/// which could take it before the worker does.
pub(super) fn free_port() -> Result<u16, Failure> {
    let first = 18_083 + u16::try_from(std::process::id() % 10_000).unwrap_or_default();
    (first..first.saturating_add(1_000))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .ok_or_else(|| {
            Failure::unavailable("no free port on 127.0.0.1 for the worker's REST interface")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_task_is_found_in_a_status() {
        let failed =
            r#"{"tasks":[{"state":"RUNNING"},{"state":"FAILED","trace":"no table\n at"}]}"#;
        assert_eq!(failure_in(failed).as_deref(), Some("no table"));
        assert_eq!(failure_in(r#"{"tasks":[{"state":"RUNNING","trace":"old"}]}"#), None);
        assert_eq!(failure_in("not found"), None);
    }
}
