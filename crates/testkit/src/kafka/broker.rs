//! A broker of a test's own, to be stopped, killed and started again.

use std::{
    fs,
    net::TcpStream,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::{
    eventually, free_port,
    private::{Private, tail},
    shared::shared,
};

const CONFIG: &str = include_str!("../../../../scripts/kafka/server.properties");

/// The controller's listener in that file.
const CONTROLLER: &str = "CONTROLLER://127.0.0.1:@CONTROLLER_PORT@";

/// After a kill the controller takes the broker back only when its old session has run out: 9 s by
/// default.
const QUICK_RETURN: [(&str, &str); 2] =
    [("broker.session.timeout.ms", "3000"), ("broker.heartbeat.interval.ms", "500")];

/// One Apache Kafka node with the settings of the shared one. Its port and its data stay the same
/// for its life, however often it is restarted; it goes when this value is dropped.
#[derive(Debug)]
pub struct Broker {
    dir: TempDir,
    port: u16,
    process: Option<Private>,
}

impl Broker {
    /// Starts one, and waits until it answers. Takes a few seconds and 400 MB.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has the end of its log.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with more broker settings, which win over the usual ones.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_listening(settings, &[], &[])
    }

    /// Starts one with listeners beside the plain one, by name and port, and with more arguments for
    /// the tool that formats its storage.
    pub(super) fn start_listening(
        settings: &[(&str, &str)],
        listeners: &[(&str, u16)],
        format: &[&str],
    ) -> Self {
        let dir = tempfile::Builder::new().prefix("copycat-kafka-").tempdir().expect("a folder");
        let port = free_port();
        let more: String =
            listeners.iter().map(|(name, port)| format!(",{name}://127.0.0.1:{port}")).collect();
        let mut config = CONFIG
            // The controller's is the last of both lists of listeners.
            .replace(CONTROLLER, &format!("{CONTROLLER}{more}"))
            .replace("@PORT@", &port.to_string())
            .replace("@CONTROLLER_PORT@", &free_port().to_string())
            .replace("@DIR@", &dir.path().display().to_string());
        for (key, value) in QUICK_RETURN.iter().chain(settings) {
            config.push_str(&format!("{key}={value}\n"));
        }
        fs::write(dir.path().join("server.properties"), config).expect("the folder is writable");
        let mut broker = Self { dir, port, process: None };
        broker.format(format);
        broker.launch();
        broker
    }

    /// `host:port`, the same for the life of this value.
    pub fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Stops it in order (SIGTERM) and waits until it has gone. A no-op on a stopped one.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal("TERM");
            process.wait(Duration::from_secs(60), "the broker stops");
        }
    }

    /// Kills it (SIGKILL). A no-op on a stopped one.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Starts it again with the same port and data, and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it still runs, or does not come up; the message has the end of its log.
    pub fn launch(&mut self) {
        assert!(self.process.is_none(), "the broker still runs");
        let mut command = self.java();
        command.arg("-Xmx512m").arg("kafka.Kafka").arg(self.config());
        let mut process = Private::start(&mut command, self.dir.path());
        // A Java machine needs seconds of computing to start, which a busy computer gives it late.
        let deadline = Duration::from_secs(240);
        eventually(deadline, "the broker listens", || {
            if let Some(status) = process.ended() {
                panic!("the broker ended ({status}):\n{}", self.log_tail());
            }
            TcpStream::connect(("127.0.0.1", self.port)).ok()
        });
        self.process = Some(process);
    }

    /// Stops it in order and starts it again.
    pub fn restart(&mut self) {
        self.stop();
        self.launch();
    }

    /// Makes it stand still (SIGSTOP): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets a paused one go on (SIGCONT).
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        self.process.as_ref().expect("the broker runs").signal(name);
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("server.properties")
    }

    fn format(&self, more: &[&str]) {
        // Any 16 bytes in URL-safe base64 will do; clusters are told apart by it.
        let id: String = format!("{}aaaaaaaaaaaaaaaaaaaaaa", crate::unique("T"))
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(21)
            .chain(['A'])
            .collect();
        let mut command = self.java();
        command.args(["kafka.tools.StorageTool", "format", "--standalone", "-t", &id, "-c"]);
        let status = command.arg(self.config()).args(more).status().expect("java runs");
        assert!(status.success(), "formatting the broker's storage failed:\n{}", self.log_tail());
    }

    fn java(&self) -> Command {
        let log = fs::File::options().create(true).append(true).open(self.dir.path().join("log"));
        let log = log.expect("the folder is writable");
        let mut command = Command::new(&shared().java);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log)
            // Lives for seconds: the quick compiler and the small collector halve its start.
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"])
            .arg("-cp")
            .arg(shared().kafka_libs.join("*"))
            .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
        command
    }

    fn log_tail(&self) -> String {
        tail(&self.dir.path().join("log"))
    }
}
