//! The machine and the programs of a run, without anything that names the machine.

use std::{fs, process::Command};

use rdkafka::util::get_rdkafka_version;

/// Lines of a list, in Markdown, for runs with a broker and a database.
pub(super) fn describe(postgres: &str) -> Vec<String> {
    let (_, librdkafka) = get_rdkafka_version();
    let mut lines = hardware();
    lines.extend([
        format!("Apache Kafka {}, one KRaft node; PostgreSQL {postgres}", kafka_version()),
        format!("librdkafka {librdkafka}; {}", rustc()),
        format!("commit {}", commit()),
    ]);
    lines
}

/// The same for runs with a broker alone.
pub(super) fn describe_broker() -> Vec<String> {
    let (_, librdkafka) = get_rdkafka_version();
    let mut lines = hardware();
    lines.extend([
        format!("Apache Kafka {}, one KRaft node", kafka_version()),
        format!("librdkafka {librdkafka}; {}", rustc()),
        format!("commit {}", commit()),
    ]);
    lines
}

/// The same for runs within one process.
pub(super) fn describe_process() -> Vec<String> {
    let mut lines = hardware();
    lines.extend([rustc(), format!("commit {}", commit())]);
    lines
}

/// What else the machine was doing in the last minute, as a number of busy cores.
pub(super) fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()
}

fn hardware() -> Vec<String> {
    vec![
        format!("processor: {}, {} cores", cpu_model(), cores()),
        format!("memory: {:.0} GB", memory_gb()),
        format!("kernel: Linux {}", read("/proc/sys/kernel/osrelease")),
    ]
}

/// Today, in UTC.
pub(super) fn date() -> String {
    output("date", &["-u", "+%Y-%m-%d"])
}

fn cpu_model() -> String {
    let info = read("/proc/cpuinfo");
    let line = info.lines().find(|line| line.starts_with("model name"));
    let model = line.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim());
    model.unwrap_or("unknown").to_owned()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

fn memory_gb() -> f64 {
    let info = read("/proc/meminfo");
    let kb = info.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    kb.split_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1048576.0
}

fn kafka_version() -> String {
    let script = fs::read_to_string(super::root().join("scripts/lib.sh")).unwrap_or_default();
    let version = script.lines().find_map(|line| line.strip_prefix("KAFKA_VERSION="));
    version.unwrap_or("of an unknown version").to_owned()
}

fn rustc() -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = output(&rustc, &["--version"]);
    version.split(" (").next().unwrap_or_default().to_owned()
}

fn commit() -> String {
    let root = super::root().display().to_string();
    let dirty = !output("git", &["-C", &root, "status", "--porcelain", "--", "crates"]).is_empty();
    let commit = output("git", &["-C", &root, "rev-parse", "--short", "HEAD"]);
    if dirty { format!("{commit} with changes") } else { commit }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map_or_else(|_| String::new(), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
}
