//! What a process has used, as the kernel counts it.

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context as _, Result};
use rustix::time::{ClockId, clock_gettime};

/// Clock ticks a second in /proc; the same on every Linux that Rust supports.
const TICKS: f64 = 100.0;

/// User and system time of the process so far, in seconds.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse_cpu(&stat).with_context(|| format!("{path} has an unknown form"))
}

/// The second field may hold anything, also blanks and parentheses.
fn parse_cpu(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

/// The processor time of this thread: what others do on the machine counts less than on a clock.
pub(super) fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

/// CPU time of each live thread so far, in seconds, by the threads' names without their numbers.
pub(super) fn thread_seconds(pid: u32) -> Result<BTreeMap<String, f64>> {
    let mut threads = BTreeMap::new();
    let folder = format!("/proc/{pid}/task");
    for entry in fs::read_dir(&folder).with_context(|| folder.clone())? {
        let path = entry?.path();
        // A thread may have ended meanwhile.
        let (Ok(name), Ok(stat)) =
            (fs::read_to_string(path.join("comm")), fs::read_to_string(path.join("schedstat")))
        else {
            continue;
        };
        let ns = stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
        *threads.entry(kind(&name)).or_default() += ns.unwrap_or(0.0) / 1e9;
    }
    Ok(threads)
}

/// "rdk:broker1" and "rdk:broker2" are of one kind, as are "deliver-a" and "deliver-b".
fn kind(name: &str) -> String {
    let name = name.trim();
    let name = name.split_once('-').map_or(name, |(kind, _)| kind);
    name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()
}

/// Resident memory in MB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) now: f64,
    pub(super) peak: f64,
}

pub(super) fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| path.clone())?;
    parse_memory(&status).with_context(|| format!("{path} has an unknown form"))
}

fn parse_memory(status: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|kb| kb / 1024.0)
    };
    Some(Memory { now: field("VmRSS:")?, peak: field("VmHWM:")? })
}

/// Waits a while between two looks.
pub(super) fn pause(time: Duration) {
    std::thread::park_timeout(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_of_processes_do_not_matter() {
        let stat = "1 (a) b) S 1 1 1 0 -1 4 5 6 7 8 150 25 0 0 20 0 4 0 9";
        assert_eq!(parse_cpu(stat), Some(1.75));
        assert_eq!(parse_cpu("1 (a"), None);
    }

    #[test]
    fn memory_is_in_megabytes() {
        let status = "Name:\ta\nVmHWM:\t  20480 kB\nVmRSS:\t  10240 kB\n";
        assert_eq!(parse_memory(status), Some(Memory { now: 10.0, peak: 20.0 }));
        assert_eq!(parse_memory(""), None);
    }

    #[test]
    fn threads_of_one_kind_are_added_up() {
        assert_eq!(kind("rdk:broker1\n"), "rdk:broker");
        assert_eq!(kind("deliver-bench-0"), "deliver");
        assert_eq!(kind("copycat\n"), "copycat");
    }

    #[test]
    fn this_process_can_be_read() {
        let pid = std::process::id();
        assert!(cpu_seconds(pid).unwrap() >= 0.0);
        assert!(memory(pid).unwrap().peak > 0.0);
        assert!(!thread_seconds(pid).unwrap().is_empty());
    }
}
