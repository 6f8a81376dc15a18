//! Settings whose value or meaning differs between the two clients.

use super::draft::Draft;
use super::{ClientKind, IsolationLevel, NoticeKind, Reset};

const INT: i64 = i32::MAX as i64;

pub(super) fn acks(draft: &mut Draft, key: &str, value: &str) {
    match value {
        "all" | "-1" => draft.set("acks", "-1"),
        "0" | "1" => draft.set("acks", value),
        _ => draft.reject(key, value, "String must be one of: all, -1, 0, 1"),
    }
}

pub(super) fn auto_offset_reset(draft: &mut Draft, key: &str, value: &str) {
    draft.runtime.auto_offset_reset = match value.to_ascii_lowercase().as_str() {
        "earliest" | "smallest" | "beginning" => Reset::Earliest,
        "latest" | "largest" | "end" => Reset::Latest,
        "none" | "error" => Reset::None,
        _ => {
            let text =
                "String must be one of: earliest, latest, none (by_duration is not supported)";
            return draft.reject(key, value, text);
        }
    };
}

pub(super) fn isolation_level(draft: &mut Draft, key: &str, value: &str) {
    draft.runtime.isolation_level = match value {
        "read_committed" => IsolationLevel::ReadCommitted,
        "read_uncommitted" => IsolationLevel::ReadUncommitted,
        _ => {
            return draft.reject(
                key,
                value,
                "String must be one of: read_committed, read_uncommitted",
            );
        }
    };
    draft.set("isolation.level", value);
}

pub(super) fn bootstrap_servers(draft: &mut Draft, key: &str, value: &str) {
    let servers: Vec<&str> =
        value.split(',').map(str::trim).filter(|server| !server.is_empty()).collect();
    if servers.is_empty() {
        return draft.reject(key, value, "a list of host:port is expected");
    }
    for server in &servers {
        let address = server.rsplit_once("://").map_or(*server, |(_, address)| address);
        // The colons inside the brackets of an IPv6 address do not separate a port.
        let after_host = address.rsplit_once(']').map_or(address, |(_, rest)| rest);
        let Some((_, port)) = after_host.rsplit_once(':') else { continue };
        if !port.parse::<u16>().is_ok_and(|port| port > 0) {
            let text = format!("{server} has no valid port; host:port is expected");
            draft.reject(key, value, &text);
        }
    }
    draft.set("bootstrap.servers", servers.join(","));
}

pub(super) fn buffer_memory(draft: &mut Draft, key: &str, value: &str) {
    if let Some(bytes) = draft.whole(key, value, (0, i64::MAX)) {
        let kbytes = draft.clamp(key, bytes / 1024, (1, INT));
        draft.set("queue.buffering.max.kbytes", kbytes.to_string());
    }
}

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

pub(super) fn compression_type(draft: &mut Draft, key: &str, value: &str) {
    if CODECS.contains(&value) {
        draft.set("compression.type", value);
    } else {
        let text = format!("String must be one of: {}", CODECS.join(", "));
        draft.reject(key, value, &text);
    }
}

/// `compression.CODEC.level`: only that of the codec in use is taken.
pub(super) fn compression_level(draft: &mut Draft, key: &str, value: &str) {
    let codec = key.split('.').nth(1).unwrap_or_default();
    // librdkafka's greatest level of each codec; 12 is the most its setting takes.
    let (java, own) = match codec {
        "gzip" => ((-1, 9), (-1, 9)),
        "lz4" => ((1, 17), (1, 12)),
        _ => ((-131_072, 22), (-1, 12)),
    };
    let Some(level) = draft.whole(key, value, java) else { return };
    let used = draft.filled("compression.type").unwrap_or("none");
    if used != codec {
        let text = format!("has no effect here: compression.type is {used}");
        return draft.notice(NoticeKind::NoEffect, key, text);
    }
    let level = draft.clamp(key, level, own);
    draft.set("compression.level", level.to_string());
}

pub(super) fn connections_max_idle(draft: &mut Draft, key: &str, value: &str) {
    if let Some(ms) = draft.whole(key, value, (i64::MIN, i64::MAX)) {
        // Java's "never" is any negative number, librdkafka's is 0.
        let ms = draft.clamp(key, ms.max(0), (0, INT));
        draft.set("connections.max.idle.ms", ms.to_string());
    }
}

pub(super) fn default_api_timeout(draft: &mut Draft, key: &str, value: &str) {
    let ms = draft.whole(key, value, (0, INT));
    draft.runtime.default_api_timeout_ms = ms.and_then(|ms| u64::try_from(ms).ok());
}

pub(super) fn max_block(draft: &mut Draft, key: &str, value: &str) {
    let ms = draft.whole(key, value, (0, i64::MAX));
    draft.runtime.max_block_ms = ms.and_then(|ms| u64::try_from(ms).ok());
}

pub(super) fn max_poll_records(draft: &mut Draft, key: &str, value: &str) {
    let records = draft.whole(key, value, (1, INT));
    draft.runtime.max_poll_records = records.and_then(|records| u32::try_from(records).ok());
}

pub(super) fn enable_auto_commit(draft: &mut Draft, key: &str, value: &str) {
    if draft.boolean(key, value) == Some(true) {
        let text = "stays false: offsets are committed when their records are durable";
        draft.notice(NoticeKind::Adjusted, key, text);
    }
}

pub(super) fn group_instance_id(draft: &mut Draft, key: &str, value: &str) {
    if value.is_empty() {
        return draft.reject(key, value, "String must be non-empty");
    }
    draft.set("group.instance.id", value);
}

pub(super) fn transactional_id(draft: &mut Draft, key: &str, value: &str) {
    if value.is_empty() {
        return draft.reject(key, value, "String must be non-empty");
    }
    draft.set("transactional.id", value);
}

pub(super) fn group_protocol(draft: &mut Draft, key: &str, value: &str) {
    match value.to_ascii_lowercase().as_str() {
        "classic" => {}
        "consumer" => {
            let text = "stays classic: a restarted task takes its seat again through static \
                        membership of the classic protocol";
            draft.notice(NoticeKind::Adjusted, key, text);
        }
        _ => {
            let text = "String must be one of (case insensitive): CONSUMER, CLASSIC";
            draft.reject(key, value, text);
        }
    }
}

pub(super) fn metadata_max_age(draft: &mut Draft, key: &str, value: &str) {
    if let Some(ms) = draft.whole(key, value, (0, i64::MAX)) {
        // librdkafka's key of the same name is how long it trusts what it has; three intervals is
        // its own default.
        let ms = draft.clamp(key, ms, (1, 3_600_000));
        draft.set("topic.metadata.refresh.interval.ms", ms.to_string());
        draft.set("metadata.max.age.ms", (ms * 3).to_string());
    }
}

/// Java's classes and librdkafka's names; the second says whether the group rebalances step by
/// step.
const ASSIGNORS: [(&str, &str, bool); 3] = [
    ("RangeAssignor", "range", false),
    ("RoundRobinAssignor", "roundrobin", false),
    ("CooperativeStickyAssignor", "cooperative-sticky", true),
];

pub(super) fn assignment_strategy(draft: &mut Draft, key: &str, value: &str) {
    let mut chosen: Vec<(&str, bool)> = Vec::new();
    for class in value.split(',').map(str::trim).filter(|class| !class.is_empty()) {
        let simple = class.rsplit('.').next().unwrap_or(class);
        let found = ASSIGNORS.iter().find(|(java, own, _)| *java == simple || *own == class);
        let Some((_, own, cooperative)) = found else {
            let text = format!(
                "{class} is not supported; supported are RangeAssignor, RoundRobinAssignor and \
                 CooperativeStickyAssignor of org.apache.kafka.clients.consumer"
            );
            return draft.reject(key, value, &text);
        };
        chosen.push((own, *cooperative));
    }
    let eager: Vec<_> = chosen.iter().filter(|(_, cooperative)| !cooperative).copied().collect();
    if !eager.is_empty() && eager.len() < chosen.len() {
        // A group that also has eager members rebalances eagerly, in Java too.
        let text = "cooperative-sticky is left out: it cannot be mixed with eager assignors";
        draft.notice(NoticeKind::Adjusted, key, text);
        chosen = eager;
    }
    if chosen.is_empty() {
        return draft.reject(key, value, "at least one assignor class is expected");
    }
    let names: Vec<&str> = chosen.iter().map(|(own, _)| *own).collect();
    draft.set("partition.assignment.strategy", names.join(","));
}

pub(super) fn partitioner_class(draft: &mut Draft, key: &str, value: &str) {
    let simple = value.rsplit('.').next().unwrap_or(value);
    match simple {
        "" | "null" | "DefaultPartitioner" | "BuiltInPartitioner" => {}
        "RoundRobinPartitioner" | "UniformStickyPartitioner" => {
            let text = "becomes librdkafka's random partitioner, which spreads records alike";
            draft.notice(NoticeKind::Adjusted, key, text);
            draft.set("partitioner", "random");
        }
        _ => {
            let text = "classes of the JVM cannot be used; remove the key for Java's default \
                        partitioner, or set librdkafka's partitioner";
            draft.reject(key, value, text);
        }
    }
}

pub(super) fn partitioner_ignore_keys(draft: &mut Draft, key: &str, value: &str) {
    if draft.boolean(key, value) == Some(true) {
        draft.set("partitioner", "random");
    }
}

pub(super) fn socket_buffer(draft: &mut Draft, key: &str, value: &str) {
    if let Some(bytes) = draft.whole(key, value, (-1, INT)) {
        // The operating system's default is -1 in Java and 0 in librdkafka.
        let bytes = draft.clamp(key, bytes.max(0), (0, 100_000_000));
        draft.set(&format!("socket.{key}"), bytes.to_string());
    }
}

pub(super) fn request_timeout(draft: &mut Draft, key: &str, value: &str) {
    let Some(ms) = draft.whole(key, value, (0, INT)) else { return };
    if draft.kind == ClientKind::Producer {
        // How long the broker waits for its replicas; the socket timeout is how long we wait.
        draft.set("request.timeout.ms", ms.clamp(1, 900_000).to_string());
    }
    let ms = draft.clamp(key, ms, (10, 300_000));
    draft.set("socket.timeout.ms", ms.to_string());
}

pub(super) fn retries(draft: &mut Draft, key: &str, value: &str) {
    let Some(retries) = draft.whole(key, value, (0, INT)) else { return };
    if draft.kind == ClientKind::Producer {
        draft.set("retries", retries.to_string());
    } else {
        let text = "has no effect here: a call is tried again until its timeout";
        draft.notice(NoticeKind::NoEffect, key, text);
    }
}

pub(super) fn two_phase_commit(draft: &mut Draft, key: &str, value: &str) {
    if draft.boolean(key, value) == Some(true) {
        let text = "two-phase commit is not supported; false is accepted";
        draft.reject(key, value, text);
    }
}
