//! A process of a test's own: started, signalled, and never left behind.
//!
//! A test that is killed cannot clean up. So each process is listed in a file below the state
//! folder, and `scripts/servers stop` ends what is still listed.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::Duration,
};

use crate::{eventually, shared::state, unique};

/// A running child process that is killed when dropped.
#[derive(Debug)]
pub(crate) struct Private {
    child: Child,
    listed: PathBuf,
}

impl Private {
    /// Starts `command` and lists it. `dir` must occur in its arguments: by that the process is
    /// known again.
    pub(crate) fn start(command: &mut Command, dir: &Path) -> Self {
        let list = state().join("private");
        std::fs::create_dir_all(&list).expect("the state folder is writable");
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let listed = list.join(unique("process"));
        std::fs::write(&listed, format!("{} {}\n", child.id(), dir.display()))
            .expect("the state folder is writable");
        Self { child, listed }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Waits until it has ended.
    #[track_caller]
    pub(crate) fn wait(&mut self, deadline: Duration, what: &str) -> ExitStatus {
        eventually(deadline, what, || self.ended())
    }

    /// Sends a signal, by its name without SIG.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Kills it at once (SIGKILL) and reaps it.
    pub(crate) fn kill(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(&self.listed);
    }
}

/// Sends a signal to a process, by its name without SIG; a process that has ended is no error.
pub(crate) fn signal(pid: u32, name: &str) {
    // The shell's own kill: sending a signal from here would need unsafe code, and minimal systems
    // have no program of that name.
    let script = format!("kill -s {name} {pid} 2>/dev/null || true");
    let status = Command::new("sh").arg("-c").arg(script).status().expect("sh runs");
    assert!(status.success(), "sh could not send SIG{name}");
}

/// The processes whose parent is `pid`.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().expect("ps runs");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| {
            let (child, parent) = line.trim().split_once(' ')?;
            (parent.trim().parse() == Ok(pid)).then(|| child.parse().ok())?
        })
        .collect()
}

/// The last lines of a log file.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(30)..).unwrap_or_default().join("\n")
}
