//! A worker as a process, and what is seen of it.

use std::{
    fs::File,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use testkit::postgres::{Client, Database};

use super::Bench;
use crate::bench::process::{cpu_seconds, memory, pause};

/// `copycat pg run` on one database.
pub(super) struct Worker {
    child: Child,
    log: PathBuf,
}

impl Worker {
    pub(super) fn start(bench: &Bench, database: &Database) -> Result<Worker> {
        let name = testkit::unique("bench-pg");
        let log = std::env::temp_dir().join(format!("{name}.log"));
        let file = File::create(&log)?;
        let child = Command::new(&bench.binary)
            .args(["pg", "run", "--database-url", &database.url(), "--group", &name])
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .context("the worker does not start")?;
        Ok(Worker { child, log })
    }

    /// # Errors
    /// It has ended; with its log.
    pub(super) fn runs(&mut self) -> Result<()> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        ensure!(self.child.try_wait()?.is_none(), "the worker has ended:\n{log}");
        Ok(())
    }

    pub(super) fn cpu_s(&self) -> Result<f64> {
        cpu_seconds(self.child.id())
    }

    /// Megabytes now and at most.
    pub(super) fn memory_mb(&self) -> Result<(f64, f64)> {
        let memory = memory(self.child.id())?;
        Ok((memory.now, memory.peak))
    }

    /// Waits until `done`, which is asked again and again.
    pub(super) fn wait(
        &mut self,
        patience: Duration,
        what: &str,
        mut done: impl FnMut() -> bool,
    ) -> Result<()> {
        let start = Instant::now();
        while !done() {
            self.runs()?;
            let log = || std::fs::read_to_string(&self.log).unwrap_or_default();
            ensure!(start.elapsed() < patience, "{what}: not in {patience:?}; the log:\n{}", log());
            pause(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
        let _gone = std::fs::remove_file(&self.log);
    }
}

/// Runs a subcommand of `copycat pg` to its end.
pub(super) fn command(bench: &Bench, args: &[&str]) -> Result<()> {
    let output = Command::new(&bench.binary).arg("pg").args(args).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "pg {args:?}: {text}");
    Ok(())
}

/// The sum of all positions.
pub(super) fn positions(client: &mut Client) -> u64 {
    let sql = "SELECT coalesce(sum(next_offset), 0) FROM pipeline_kafka.offsets";
    client.value(sql).and_then(|text| text.parse().ok()).unwrap_or(0)
}
