//! The servers that all tests of a run share, as `scripts/servers` started them.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context as _, Result, bail};

/// Where the shared servers and the programs behind them are.
#[derive(Debug)]
pub(crate) struct Shared {
    /// `host:port` of the broker.
    pub(crate) kafka: String,
    /// `postgres://…` of the server's maintenance database.
    pub(crate) postgres: String,
    /// A `java` of version 17 or newer.
    pub(crate) java: PathBuf,
    /// The folder of the broker's jars.
    pub(crate) kafka_libs: PathBuf,
    /// The folder of `initdb` and `postgres`.
    pub(crate) pg_bin: PathBuf,
}

/// The shared servers; the first call of a process outside `scripts/test` starts them.
///
/// # Panics
///
/// When they cannot be started; the message has the script's own words.
pub(crate) fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| match find() {
        Ok(shared) => shared,
        Err(error) => panic!(
            "the test needs Kafka and PostgreSQL; run it with scripts/test, or see: {error:#}"
        ),
    })
}

/// The folder in which processes are listed, so that `scripts/servers stop` finds what a killed test
/// left running. Needs no servers.
pub(crate) fn state() -> PathBuf {
    std::env::var_os("COPYCAT_TEST_STATE").map_or_else(|| root().join(".dev/servers"), Into::into)
}

/// What `scripts/servers` prints, with these words.
pub(crate) fn script(words: &[&str]) -> Result<String> {
    Ok(run(&root().join("scripts/servers"), words)?.trim().to_owned())
}

fn find() -> Result<Shared> {
    if std::env::var_os("COPYCAT_TEST_KAFKA").is_some() {
        return build(|name| std::env::var(name).ok());
    }
    // `scripts/servers start` takes a lock and keeps servers that run, so any number of test
    // processes may ask at once. They are left running for the next run: starting takes seconds.
    let script = root().join("scripts/servers");
    run(&script, &["start"])?;
    let settings: HashMap<String, String> = run(&script, &["env"])?
        .lines()
        .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    say("the shared test servers stay up; end them with: scripts/servers stop");
    build(|name| settings.get(name).cloned())
}

fn build(get: impl Fn(&str) -> Option<String>) -> Result<Shared> {
    let need = |name: &str| get(name).with_context(|| format!("{name} is not set"));
    Ok(Shared {
        kafka: need("COPYCAT_TEST_KAFKA")?,
        postgres: need("COPYCAT_TEST_POSTGRES")?,
        java: need("COPYCAT_TEST_JAVA")?.into(),
        kafka_libs: need("COPYCAT_TEST_KAFKA_LIBS")?.into(),
        pg_bin: need("COPYCAT_TEST_PG_BIN")?.into(),
    })
}

fn run(script: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new(script)
        .args(words)
        .output()
        .with_context(|| format!("{} does not run", script.display()))?;
    if !output.status.success() {
        let words = words.join(" ");
        bail!("scripts/servers {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The top folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[expect(clippy::print_stderr, reason = "a person who runs cargo test must learn of it")]
fn say(line: &str) {
    eprintln!("{line}");
}
