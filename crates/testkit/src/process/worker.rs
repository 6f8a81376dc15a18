//! One worker process.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::http::{Answer, FullAnswer, request, send};
use crate::{
    eventually, free_port,
    private::{Private, tail},
};

/// A worker that is up may take this long to say so.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// A worker that is told to stop must have drained within this.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// What a worker is started with.
#[derive(Debug)]
pub struct WorkerSetup {
    binary: PathBuf,
    /// The command that starts it.
    mode: &'static str,
    worker: Vec<(String, String)>,
    connectors: Vec<(String, Vec<(String, String)>)>,
    env: Vec<(String, String)>,
}

impl WorkerSetup {
    /// A property of the worker. A repeated key is written again, as a user's mistake would be.
    #[must_use]
    pub fn worker(mut self, key: &str, value: &str) -> Self {
        self.worker.push((key.to_owned(), value.to_owned()));
        self
    }

    /// A property that is there already, with another value.
    ///
    /// # Panics
    ///
    /// When it is not.
    #[must_use]
    pub fn replace(mut self, key: &str, value: &str) -> Self {
        let found = self.worker.iter_mut().find(|(name, _)| name == key);
        found.unwrap_or_else(|| panic!("there is no {key}")).1 = value.to_owned();
        self
    }

    /// A connector in a properties file of its own; `name` is added to its properties.
    #[must_use]
    pub fn connector(mut self, name: &str, properties: &[(&str, &str)]) -> Self {
        let named = [("name", name)].into_iter().chain(properties.iter().copied());
        let owned = named.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        self.connectors.push((name.to_owned(), owned));
        self
    }

    /// An environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the worker and waits until `GET /health` is answered with 200.
    ///
    /// # Panics
    ///
    /// When it ends or does not come up; the message has its log.
    pub fn start(self) -> Worker {
        let mut worker = self.launch();
        worker.wait_healthy();
        worker
    }

    /// Starts the worker and returns at once, for one that is expected to fail or to wait.
    pub fn launch(self) -> Worker {
        let dir = tempfile::Builder::new().prefix("copycat-worker-").tempdir().expect("a folder");
        let mut worker = Worker {
            address: format!("127.0.0.1:{}", free_port()),
            log: dir.path().join("log"),
            setup: self,
            dir,
            process: None,
        };
        worker.write_files();
        worker.launch();
        worker
    }

    fn has(&self, key: &str) -> bool {
        self.worker.iter().any(|(name, _)| name == key)
    }
}

/// A worker in a folder of its own, killed with this value. Its REST port, offsets and
/// log stay the same over restarts.
#[derive(Debug)]
pub struct Worker {
    setup: WorkerSetup,
    dir: TempDir,
    address: String,
    log: PathBuf,
    process: Option<Private>,
}

impl Worker {
    /// Prepares `copycat standalone`. `binary` is `env!("CARGO_BIN_EXE_copycat")`, which only the
    /// tests of the crate with the binary know.
    pub fn standalone(binary: &str) -> WorkerSetup {
        Worker::of("standalone", binary)
    }

    /// Prepares `copycat distributed`, one worker of a cluster whose topics are named after it.
    pub fn distributed(binary: &str, cluster: &str) -> WorkerSetup {
        let topics = ["config", "offset", "status"];
        topics.iter().fold(
            Worker::of("distributed", binary).worker("group.id", cluster),
            |setup, topic| {
                let factor = format!("{topic}.storage.replication.factor");
                let named =
                    setup.worker(&format!("{topic}.storage.topic"), &format!("{cluster}-{topic}"));
                // As often as brokers have it: once where there is one.
                named.worker(&factor, "-1")
            },
        )
    }

    fn of(mode: &'static str, binary: &str) -> WorkerSetup {
        let (worker, connectors, env) = (Vec::new(), Vec::new(), Vec::new());
        WorkerSetup { binary: binary.into(), mode, worker, connectors, env }
    }

    /// Starts it again, with the same files, and waits until it is healthy.
    ///
    /// # Panics
    ///
    /// When it still runs or does not come up.
    pub fn restart(&mut self) {
        self.launch();
        self.wait_healthy();
    }

    /// Starts it again and returns at once.
    ///
    /// # Panics
    ///
    /// When it still runs.
    pub fn launch(&mut self) {
        assert!(self.process.is_none(), "the worker still runs");
        let log = fs::File::options().create(true).append(true).open(&self.log);
        let log = log.expect("the folder is writable");
        let mut command = Command::new(&self.setup.binary);
        command.arg(self.setup.mode).arg(self.file("worker"));
        for (name, _) in &self.setup.connectors {
            command.arg(self.file(name));
        }
        for (name, value) in &self.setup.env {
            command.env(name, value);
        }
        command
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log);
        self.process = Some(Private::start(&mut command, self.dir.path()));
    }

    /// Waits until `GET /health` is answered with 200.
    #[track_caller]
    pub fn wait_healthy(&mut self) {
        eventually(START_DEADLINE, "the worker is healthy", || {
            let process = self.process.as_mut().expect("the worker was started");
            if let Some(status) = process.ended() {
                panic!("the worker ended ({status}):\n{}", read(&self.log));
            }
            let answer = request(&self.address, "GET", "/health", None).ok()?;
            (answer.status == 200).then_some(())
        });
    }

    /// Kills it (SIGKILL) and reaps it. A no-op when it does not run.
    pub fn kill9(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Tells it to stop (SIGTERM) and waits until it has ended.
    ///
    /// # Panics
    ///
    /// When it does not end.
    #[track_caller]
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait_exit(STOP_DEADLINE)
    }

    /// Sends a signal, by its name without SIG (`STOP` and `CONT` make it stand still and go on).
    pub fn signal(&self, name: &str) {
        self.process.as_ref().expect("the worker runs").signal(name);
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    ///
    /// When it has not after `deadline`; the message has its log.
    #[track_caller]
    pub fn wait_exit(&mut self, deadline: Duration) -> ExitStatus {
        let mut process = self.process.take().expect("the worker runs");
        process.wait(deadline, "the worker ends")
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.ended().is_none())
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.as_ref().expect("the worker runs").id()
    }

    /// Everything it has logged, over all its starts.
    pub fn logs(&self) -> String {
        read(&self.log)
    }

    /// `host:port` of its REST API.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The folder with its properties files, offsets and log.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `GET path`.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, None)
    }

    /// `GET path` with just these headers; what is answered comes with its headers.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    #[track_caller]
    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> FullAnswer {
        match send(&self.address, "GET", path, headers, None) {
            Ok(answer) => answer,
            Err(error) => panic!("GET {path}: {error}; the log:\n{}", self.logs()),
        }
    }

    /// `PUT path` with a body in JSON, or none.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    #[track_caller]
    pub fn put(&self, path: &str, body: Option<&str>) -> Answer {
        self.request("PUT", path, body)
    }

    /// Any request; see [`request`].
    ///
    /// # Panics
    ///
    /// When it does not answer.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        match request(&self.address, method, path, body) {
            Ok(answer) => answer,
            Err(error) => panic!("{method} {path}: {error}; the log:\n{}", self.logs()),
        }
    }

    fn write_files(&self) {
        let mut worker = self.setup.worker.clone();
        for (_, value) in &mut worker {
            *value = value.replace("{address}", &self.address);
        }
        if !self.setup.has("listeners") {
            worker.push(("listeners".to_owned(), format!("http://{}", self.address)));
        }
        if self.setup.mode == "standalone" && !self.setup.has("offset.storage.file.filename") {
            let offsets = self.dir.path().join("offsets").display().to_string();
            worker.push(("offset.storage.file.filename".to_owned(), offsets));
        }
        write(&self.file("worker"), &worker);
        for (name, properties) in &self.setup.connectors {
            write(&self.file(name), properties);
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.properties"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // One that does not run any more, or stands still, has no status.
            let path = "/connectors?expand=status";
            let status = match self.runs().then(|| request(&self.address, "GET", path, None)) {
                Some(Ok(answer)) => answer.body,
                Some(Err(error)) => error.to_string(),
                None => "it does not run".to_owned(),
            };
            say(&format!("the worker's status: {status}\nits log:\n{}", tail(&self.log)));
        }
    }
}

#[expect(clippy::print_stderr, reason = "shown by the test harness when a test fails")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn write(path: &Path, properties: &[(String, String)]) {
    let mut text = String::new();
    for (key, value) in properties {
        text.push_str(&format!("{}={}\n", escape(key, true), escape(value, false)));
    }
    fs::write(path, text).expect("the folder is writable");
}

/// As Java's properties files want it.
fn escape(text: &str, key: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, c) in text.char_indices() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' ' if key || index == 0 => out.push_str("\\ "),
            '=' | ':' | '#' | '!' if key => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

fn read(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_escaped_as_java_reads_them() {
        assert_eq!(escape("a b=c", true), "a\\ b\\=c");
        assert_eq!(escape(" C:\\dir\nnext=1", false), "\\ C:\\\\dir\\nnext=1");
    }
}
