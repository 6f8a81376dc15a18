//! Kafka Connect itself, where Java and Maven are there: its standalone worker with the file
//! connectors.
//!
//! It is the newest version whose file connectors are published: those of one version do not load in
//! the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::bench::say;

const VERSION: &str = "4.3.1";
/// As the start script of Kafka Connect has it.
const JVM: [&str; 6] = [
    "-server",
    "-Xms256M",
    "-Xmx2G",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:+ExplicitGCInvokesConcurrent",
];

/// The jars of Kafka Connect.
pub(super) struct Connect {
    libs: PathBuf,
}

impl Connect {
    /// Fetches Kafka Connect once; `None` where there is no Java or no Maven.
    pub(super) fn find() -> Result<Option<Connect>> {
        if !is_there() {
            return Ok(None);
        }
        let libs = cache().join(format!("connect-{VERSION}"));
        if !libs.join("complete").is_file() {
            fetch(&libs)?;
        }
        Ok(Some(Connect { libs }))
    }

    /// Starts a standalone worker.
    pub(super) fn start(&self, worker: &Path, connector: &Path, log: &Path) -> Result<Child> {
        let log = fs::File::create(log)?;
        Command::new("java")
            .args(JVM)
            .arg("-cp")
            .arg(self.libs.join("*"))
            .arg("org.apache.kafka.connect.cli.ConnectStandalone")
            .args([worker, connector])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("java does not start")
    }
}

/// Whether there are Java and Maven; says so where there are not.
pub(in crate::bench) fn is_there() -> bool {
    let there = |program: &str, argument: &str| {
        let run = Command::new(program).arg(argument).output();
        run.is_ok_and(|output| output.status.success())
    };
    let both = there("java", "-version") && there("mvn", "--version");
    if !both {
        say("there is no Java, or no Maven: Kafka Connect is not measured");
    }
    both
}

fn cache() -> PathBuf {
    let named = std::env::var_os("COPYCAT_TEST_CACHE").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into()));
    let usual = || {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        cache.unwrap_or_else(|| home().join(".cache")).join("copycat-test")
    };
    named.unwrap_or_else(usual)
}

fn fetch(libs: &Path) -> Result<()> {
    say(&format!("fetching Kafka Connect {VERSION}"));
    let folder = tempfile::tempdir()?;
    let dependency = |artifact: &str, version: &str| {
        format!(
            "<dependency><groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId>\
             <version>{version}</version></dependency>"
        )
    };
    let dependencies = [
        dependency("connect-runtime", VERSION),
        dependency("connect-json", VERSION),
        dependency("connect-transforms", VERSION),
        dependency("connect-file", VERSION),
        "<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId>\
         <version>1.7.36</version></dependency>"
            .to_owned(),
    ];
    let pom = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>bench</groupId>\
         <artifactId>bench</artifactId><version>1</version><dependencies>{}</dependencies></project>",
        dependencies.concat()
    );
    fs::write(folder.path().join("pom.xml"), pom)?;
    fs::create_dir_all(libs)?;
    let status = Command::new("mvn")
        .args(["-q", "-B", "dependency:copy-dependencies"])
        .arg(format!("-DoutputDirectory={}", libs.display()))
        .current_dir(folder.path())
        .status()
        .context("mvn does not start")?;
    ensure!(status.success(), "Maven could not fetch Kafka Connect {VERSION}");
    fs::write(libs.join("complete"), "")?;
    Ok(())
}
