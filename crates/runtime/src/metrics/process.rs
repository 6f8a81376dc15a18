//! What the system says of this process. On other systems than Linux nothing.

use super::page::Page;
use super::table::Metric;
use std::fs;

/// The unit of processor times in /proc, the same on every Linux that runs us.
const TICKS_A_SECOND: f64 = 100.0;

/// Adds what there is to know.
pub fn write_process(page: &mut Page) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let mut add = |metric, value: Option<f64>| {
        if let Some(value) = value {
            page.add(metric, &[], value);
        }
    };
    add(Metric::ProcessMemory, number("VmRSS:").map(|kib| kib * 1024.0));
    add(Metric::ProcessThreads, number("Threads:"));
    let files = fs::read_dir("/proc/self/fd").ok().map(|files| files.count().saturating_sub(1));
    add(Metric::ProcessFiles, files.map(|count| count as f64));
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything: the state, then fields from number 4 on.
    let fields: Vec<&str> =
        stat.rsplit_once(") ").map_or_else(Vec::new, |(_, rest)| rest.split(' ').collect());
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let used = field(14).zip(field(15)).map(|(user, system)| (user + system) / TICKS_A_SECOND);
    add(Metric::ProcessCpu, used);
    let booted = fs::read_to_string("/proc/stat").unwrap_or_default();
    let booted = booted.lines().find_map(|line| line.strip_prefix("btime ")?.parse::<f64>().ok());
    let started = booted.zip(field(22)).map(|(booted, ticks)| booted + ticks / TICKS_A_SECOND);
    add(Metric::ProcessStart, started);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Format;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_is_described() {
        let mut page = Page::new(Format::Text);
        write_process(&mut page);
        let text = page.finish();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse::<f64>().unwrap()
        };
        assert!(value("process_resident_memory_bytes ") > 1e6);
        assert!(value("process_open_fds ") >= 3.0 && value("process_threads ") >= 1.0);
        let since_1970 = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let age = since_1970 - value("process_start_time_seconds ");
        assert!((-2.0..1e6).contains(&age), "{age}");
        assert!(value("process_cpu_seconds_total ") >= 0.0);
    }
}
