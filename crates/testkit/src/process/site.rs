//! A place where a worker of a cluster runs: one properties file, one address, and either of two
//! programs, Kafka Connect itself or ours.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::http::{Answer, request};
use crate::{
    eventually, free_port,
    private::{Private, tail},
    shared::root,
};

/// A Java machine needs seconds of computing to start, which a busy computer gives it late.
const START_DEADLINE: Duration = Duration::from_secs(240);
const STOP_DEADLINE: Duration = Duration::from_secs(90);

/// A folder with a worker's file; what runs there is killed with this value.
#[derive(Debug)]
pub struct Site {
    dir: TempDir,
    address: String,
    process: Option<Private>,
}

impl Site {
    /// A place for a worker of this cluster, whose topics are named after it, with more properties.
    pub fn new(bootstrap: &str, cluster: &str, more: &[(&str, &str)]) -> Site {
        let dir = tempfile::Builder::new().prefix("copycat-site-").tempdir().expect("a folder");
        let address = format!("127.0.0.1:{}", free_port());
        let mut file = format!(
            "bootstrap.servers={bootstrap}\ngroup.id={cluster}\nlisteners=http://{address}\n\
             offset.storage.partitions=2\nstatus.storage.partitions=1\n"
        );
        for topic in ["config", "offset", "status"] {
            file.push_str(&format!("{topic}.storage.topic={cluster}-{topic}\n"));
            file.push_str(&format!("{topic}.storage.replication.factor=1\n"));
        }
        for (key, value) in more {
            file.push_str(&format!("{key}={value}\n"));
        }
        fs::write(dir.path().join("worker.properties"), file).expect("the folder is writable");
        Site { dir, address, process: None }
    }

    /// Starts a worker of Kafka Connect, and waits until it answers.
    ///
    /// # Panics
    ///
    /// When something runs here already, or it does not come up; the message has the end of its log.
    pub fn start_java(&mut self) {
        let command = Command::new(root().join("scripts/connect/run"));
        self.start_with(command);
    }

    /// Starts a worker of ours, and waits until it answers. `binary` is `env!("CARGO_BIN_EXE_copycat")`.
    ///
    /// # Panics
    ///
    /// As [`Site::start_java`].
    pub fn start(&mut self, binary: &str) {
        let mut command = Command::new(binary);
        command.arg("distributed");
        self.start_with(command);
    }

    fn start_with(&mut self, mut command: Command) {
        assert!(self.process.is_none(), "something runs here already");
        let log = fs::File::options().create(true).append(true).open(self.log());
        let log = log.expect("the folder is writable");
        command
            .arg(self.file())
            .current_dir(self.dir())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log);
        let mut process = Private::start(&mut command, self.dir());
        eventually(START_DEADLINE, "the worker is healthy", || {
            if let Some(status) = process.ended() {
                panic!("the worker ended ({status}):\n{}", tail(&self.log()));
            }
            let answer = request(&self.address, "GET", "/health", None).ok()?;
            (answer.status == 200).then_some(())
        });
        self.process = Some(process);
    }

    /// Tells what runs here to stop (SIGTERM) and waits until it has ended.
    ///
    /// # Panics
    ///
    /// When nothing runs here, or it does not end.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        let mut process = self.process.take().expect("something runs here");
        process.signal("TERM");
        process.wait(STOP_DEADLINE, "the worker ends")
    }

    /// Any request.
    ///
    /// # Panics
    ///
    /// When it is not answered; the message has the end of the log.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        match request(&self.address, method, path, body) {
            Ok(answer) => answer,
            Err(error) => panic!("{method} {path}: {error}; the log:\n{}", tail(&self.log())),
        }
    }

    /// `host:port` of what runs here.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The folder with the file and the log.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `worker.properties` there.
    pub fn file(&self) -> PathBuf {
        self.dir().join("worker.properties")
    }

    /// Everything that was logged here.
    pub fn logs(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log()).unwrap_or_default()).into_owned()
    }

    fn log(&self) -> PathBuf {
        self.dir().join("log")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() {
            say(&format!("the end of the worker's log:\n{}", tail(&self.log())));
        }
    }
}

#[expect(clippy::print_stderr, reason = "shown by the test harness when a test fails")]
fn say(text: &str) {
    eprintln!("{text}");
}
