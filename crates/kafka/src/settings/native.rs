//! Settings under librdkafka's own names: they pass through.

/// What becomes of one of librdkafka's own names.
pub(super) enum Native {
    /// Given to librdkafka as it is.
    Passed,
    /// Must not be set; the reason.
    Refused(&'static str),
}

const CALLBACK: &str = "is set by code, not by configuration; remove it";
const OWNED: &str = "is set by the worker, whose exactly-once delivery depends on it; remove it";
const PLUGIN: &str = "libraries cannot be loaded into the worker; remove it";

/// What becomes of `key`; none where librdkafka has no such name, or where it has the same name as
/// a setting of the Java clients, whose meaning counts.
pub(super) fn find(key: &str) -> Option<Native> {
    if !NAMES.contains(&key) {
        return None;
    }
    Some(match key {
        "enable.auto.offset.store"
        | "enable.partition.eof"
        | "offset.store.method"
        | "enabled_events"
        | "group.protocol.type"
        | "auto.commit.enable" => Native::Refused(OWNED),
        "plugin.library.paths" => Native::Refused(PLUGIN),
        "opaque" | "default_topic_conf" | "interceptors" | "builtin.features" => {
            Native::Refused(CALLBACK)
        }
        _ if key.ends_with("_cb") => Native::Refused(CALLBACK),
        _ => Native::Passed,
    })
}

/// All of librdkafka's names that are not names of the Java clients.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied().filter(|name| matches!(find(name), Some(Native::Passed)))
}

#[rustfmt::skip]
const NAMES: &[&str] = &[
    "api.version.fallback.ms", "api.version.request", "api.version.request.timeout.ms",
    "auto.commit.enable", "background_event_cb", "batch.num.messages", "broker.address.family",
    "broker.address.ttl", "broker.version.fallback", "builtin.features", "closesocket_cb",
    "compression.codec", "compression.level", "connect_cb", "consume.callback.max.messages",
    "consume_cb", "coordinator.query.interval.ms", "debug", "default_topic_conf",
    "delivery.report.only.error", "dr_cb", "dr_msg_cb", "enable.auto.offset.store",
    "enable.gapless.guarantee", "enable.partition.eof", "enable.random.seed",
    "enable.sasl.oauthbearer.unsecure.jwt", "enable.ssl.certificate.verification",
    "enabled_events", "error_cb", "fetch.error.backoff.ms", "fetch.message.max.bytes",
    "fetch.queue.backoff.ms", "fetch.wait.max.ms", "group.protocol.type", "https.ca.location",
    "https.ca.pem", "interceptors", "internal.termination.signal", "log.connection.close",
    "log.queue", "log.thread.name", "log_cb", "log_level", "max.in.flight",
    "message.copy.max.bytes", "message.max.bytes", "message.send.max.retries",
    "message.timeout.ms", "metadata.broker.list", "msg_order_cmp", "oauthbearer_token_refresh_cb",
    "offset.store.method", "offset.store.path", "offset.store.sync.interval.ms",
    "offset_commit_cb", "opaque", "open_cb", "partitioner", "partitioner_cb",
    "plugin.library.paths", "produce.offset.report", "queue.buffering.backpressure.threshold",
    "queue.buffering.max.kbytes", "queue.buffering.max.messages", "queue.buffering.max.ms",
    "queued.max.messages.kbytes", "queued.min.messages", "queuing.strategy", "rebalance_cb",
    "receive.message.max.bytes", "reconnect.backoff.jitter.ms", "request.required.acks",
    "resolve_cb", "sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.mechanisms",
    "sasl.oauthbearer.assertion.jwt.template.file", "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config",
    "sasl.oauthbearer.extensions", "sasl.oauthbearer.grant.type",
    "sasl.oauthbearer.metadata.authentication.type", "sasl.oauthbearer.method", "sasl.password",
    "sasl.username", "socket.blocking.max.ms", "socket.keepalive.enable", "socket.max.fails",
    "socket.nagle.disable", "socket.receive.buffer.bytes", "socket.send.buffer.bytes",
    "socket.timeout.ms", "socket_cb", "ssl.ca.certificate.stores", "ssl.ca.location", "ssl.ca.pem",
    "ssl.certificate.location", "ssl.certificate.pem", "ssl.certificate.verify_cb",
    "ssl.crl.location", "ssl.curves.list", "ssl.engine.id", "ssl.engine.location",
    "ssl.key.location", "ssl.key.pem", "ssl.providers", "ssl.sigalgs.list", "ssl_ca",
    "ssl_certificate", "ssl_engine_callback_data", "ssl_key", "statistics.interval.ms", "stats_cb",
    "sticky.partitioning.linger.ms", "throttle_cb", "topic.blacklist",
    "topic.metadata.propagation.max.ms", "topic.metadata.refresh.fast.cnt",
    "topic.metadata.refresh.fast.interval.ms", "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
];
