//! What becomes of each setting of Kafka's Java clients.
//!
//! The table has every key of the consumer, producer and admin client of Kafka 4.4; a test holds
//! it against the list of them.

use super::ClientKind;
use super::draft::Draft;
use super::special as s;

/// What becomes of a key.
pub(super) enum Action {
    /// Taken over as text, under this name.
    Text(&'static str),
    /// `true` or `false`, under this name.
    Bool(&'static str),
    /// One of Java's values, with librdkafka's value for each.
    Choice(&'static str, &'static [(&'static str, &'static str)]),
    /// A whole number: Java's bounds refuse, librdkafka's bounds adjust.
    Number { to: &'static str, java: (i64, i64), own: (i64, i64) },
    /// A function of its own.
    Special(fn(&mut Draft, &str, &str)),
    /// Treated together with its neighbours, after all others.
    Later,
    /// Known, but there is nothing it could do here; the reason.
    NoEffect(&'static str),
    /// Must not be set; the reason and what to do.
    Refused(&'static str),
}

/// One key.
pub(super) struct Rule {
    pub(super) key: &'static str,
    clients: u8,
    pub(super) action: Action,
}

const C: u8 = 1;
const P: u8 = 2;
const A: u8 = 4;
const ALL: u8 = C | P | A;

const INT: i64 = i32::MAX as i64;
const LONG: i64 = i64::MAX;
const HOUR_MS: i64 = 3_600_000;

/// Keys below these are known to have no effect.
pub(super) const SILENT_PREFIXES: [&str; 1] = ["metrics.context."];

impl Rule {
    pub(super) fn is_for(&self, kind: ClientKind) -> bool {
        let bit = match kind {
            ClientKind::Consumer => C,
            ClientKind::Producer => P,
            ClientKind::Admin => A,
        };
        self.clients & bit != 0
    }

    /// The clients that have the key, in words.
    pub(super) fn owners(&self) -> String {
        let kinds = [ClientKind::Consumer, ClientKind::Producer, ClientKind::Admin];
        let names: Vec<&str> =
            kinds.into_iter().filter(|kind| self.is_for(*kind)).map(ClientKind::name).collect();
        format!("the {}", names.join(" and "))
    }
}

/// The rule of a key.
pub(super) fn find(key: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.key == key)
}

/// The keys of a client.
pub(super) fn names(kind: ClientKind) -> impl Iterator<Item = &'static str> {
    RULES.iter().filter(move |rule| rule.is_for(kind)).map(|rule| rule.key)
}

const fn rule(key: &'static str, clients: u8, action: Action) -> Rule {
    Rule { key, clients, action }
}

/// A number of the same name in librdkafka.
const fn same(key: &'static str, clients: u8, java: (i64, i64), own: (i64, i64)) -> Rule {
    rule(key, clients, Action::Number { to: key, java, own })
}

const fn other(
    key: &'static str,
    clients: u8,
    to: &'static str,
    java: (i64, i64),
    own: (i64, i64),
) -> Rule {
    rule(key, clients, Action::Number { to, java, own })
}

const fn text(key: &'static str, clients: u8) -> Rule {
    rule(key, clients, Action::Text(key))
}

const fn flag(key: &'static str, clients: u8) -> Rule {
    rule(key, clients, Action::Bool(key))
}

const fn special(key: &'static str, clients: u8, function: fn(&mut Draft, &str, &str)) -> Rule {
    rule(key, clients, Action::Special(function))
}

const fn later(key: &'static str) -> Rule {
    rule(key, ALL, Action::Later)
}

const fn none(key: &'static str, clients: u8, reason: &'static str) -> Rule {
    rule(key, clients, Action::NoEffect(reason))
}

const JVM: &str = "it names classes of the JVM";
const METRICS: &str = "it configures metrics of the JVM";
const BYTES: &str = "records are always read and written as bytes, converters do the rest";
const KERBEROS: &str = "it belongs to Kerberos, which this program is built without";
const OAUTH: &str = "it belongs to OAUTHBEARER, which this program is built without";
const SHARE: &str = "it belongs to share groups, which connectors do not use";
const PARTITIONER: &str = "librdkafka chooses partitions for records without a key in its own way";

const DNS: [(&str, &str); 3] = [
    ("use_all_dns_ips", "use_all_dns_ips"),
    ("resolve_canonical_bootstrap_servers_only", "resolve_canonical_bootstrap_servers_only"),
    // Kafka before 3.0; the present default does the same and more.
    ("default", "use_all_dns_ips"),
];
const RECOVERY: [(&str, &str); 2] = [("none", "none"), ("rebootstrap", "rebootstrap")];

#[rustfmt::skip]
static RULES: &[Rule] = &[
    special("acks", P, s::acks),
    flag("allow.auto.create.topics", C),
    none("auto.commit.interval.ms", C, "offsets are committed when their records are durable"),
    special("auto.offset.reset", C, s::auto_offset_reset),
    same("batch.size", P, (0, INT), (1, INT)),
    rule("bootstrap.controllers", A, Action::Refused(
        "controllers are not talked to; name brokers in bootstrap.servers")),
    none("bootstrap.resolve.timeout.ms", ALL, "names are resolved again until they answer"),
    special("bootstrap.servers", ALL, s::bootstrap_servers),
    special("buffer.memory", P, s::buffer_memory),
    none("buffer.memory.allocation.strategy", P, "memory is taken as it is needed"),
    flag("check.crcs", C),
    rule("client.dns.lookup", ALL, Action::Choice("client.dns.lookup", &DNS)),
    text("client.id", ALL),
    text("client.rack", ALL),
    special("compression.gzip.level", P, s::compression_level),
    special("compression.lz4.level", P, s::compression_level),
    special("compression.zstd.level", P, s::compression_level),
    special("compression.type", P, s::compression_type),
    none("config.providers", ALL, "references are resolved by the worker's own providers"),
    special("connections.max.idle.ms", ALL, s::connections_max_idle),
    special("default.api.timeout.ms", C | A, s::default_api_timeout),
    same("delivery.timeout.ms", P, (0, INT), (1, INT)),
    special("enable.auto.commit", C, s::enable_auto_commit),
    flag("enable.idempotence", P),
    flag("enable.metrics.push", ALL),
    none("exclude.internal.topics", C, "topics.regex never matches internal topics"),
    same("fetch.max.bytes", C, (0, INT), (0, 2_147_483_135)),
    other("fetch.max.wait.ms", C, "fetch.wait.max.ms", (0, INT), (0, 300_000)),
    same("fetch.min.bytes", C, (0, INT), (1, 100_000_000)),
    text("group.id", C),
    special("group.instance.id", C, s::group_instance_id),
    special("group.protocol", C, s::group_protocol),
    none("group.remote.assignor", C, "groups are joined with the classic protocol"),
    same("heartbeat.interval.ms", C, (1, INT), (1, HOUR_MS)),
    none("interceptor.classes", C | P, JVM),
    none("internal.throw.on.fetch.stable.offset.unsupported", C, "it is internal to the JVM"),
    special("isolation.level", C, s::isolation_level),
    none("key.deserializer", C, BYTES),
    none("key.serializer", P, BYTES),
    same("linger.ms", P, (0, LONG), (0, 900_000)),
    special("max.block.ms", P, s::max_block),
    same("max.in.flight.requests.per.connection", P, (1, INT), (1, 1_000_000)),
    same("max.partition.fetch.bytes", C, (0, INT), (1, 1_000_000_000)),
    same("max.poll.interval.ms", C, (1, INT), (1, 86_400_000)),
    special("max.poll.records", C, s::max_poll_records),
    other("max.request.size", P, "message.max.bytes", (0, INT), (1000, 1_000_000_000)),
    none("metadata.cluster.check.enable", ALL, "the cluster is checked when a task opens"),
    special("metadata.max.age.ms", ALL, s::metadata_max_age),
    none("metadata.max.idle.ms", P, "topics are forgotten when they are no longer used"),
    same("metadata.recovery.rebootstrap.trigger.ms", ALL, (0, LONG), (0, INT)),
    rule("metadata.recovery.strategy", ALL,
        Action::Choice("metadata.recovery.strategy", &RECOVERY)),
    none("metric.reporters", ALL, METRICS),
    none("metrics.num.samples", ALL, METRICS),
    none("metrics.recording.level", ALL, METRICS),
    none("metrics.sample.window.ms", ALL, METRICS),
    special("partition.assignment.strategy", C, s::assignment_strategy),
    none("partitioner.adaptive.partitioning.enable", P, PARTITIONER),
    none("partitioner.availability.timeout.ms", P, PARTITIONER),
    special("partitioner.class", P, s::partitioner_class),
    special("partitioner.ignore.keys", P, s::partitioner_ignore_keys),
    none("partitioner.rack.aware", P, PARTITIONER),
    special("receive.buffer.bytes", ALL, s::socket_buffer),
    same("reconnect.backoff.max.ms", ALL, (0, LONG), (0, HOUR_MS)),
    same("reconnect.backoff.ms", ALL, (0, LONG), (0, HOUR_MS)),
    special("request.timeout.ms", ALL, s::request_timeout),
    special("retries", P | A, s::retries),
    same("retry.backoff.max.ms", ALL, (0, LONG), (1, 300_000)),
    same("retry.backoff.ms", ALL, (0, LONG), (1, 300_000)),
    later("sasl.client.callback.handler.class"),
    later("sasl.jaas.config"),
    none("sasl.kerberos.kinit.cmd", ALL, KERBEROS),
    none("sasl.kerberos.min.time.before.relogin", ALL, KERBEROS),
    none("sasl.kerberos.service.name", ALL, KERBEROS),
    none("sasl.kerberos.ticket.renew.jitter", ALL, KERBEROS),
    none("sasl.kerberos.ticket.renew.window.factor", ALL, KERBEROS),
    later("sasl.login.callback.handler.class"),
    later("sasl.login.class"),
    none("sasl.login.connect.timeout.ms", ALL, OAUTH),
    none("sasl.login.read.timeout.ms", ALL, OAUTH),
    none("sasl.login.refresh.buffer.seconds", ALL, OAUTH),
    none("sasl.login.refresh.min.period.seconds", ALL, OAUTH),
    none("sasl.login.refresh.window.factor", ALL, OAUTH),
    none("sasl.login.refresh.window.jitter", ALL, OAUTH),
    none("sasl.login.retry.backoff.max.ms", ALL, OAUTH),
    none("sasl.login.retry.backoff.ms", ALL, OAUTH),
    later("sasl.mechanism"),
    none("sasl.oauthbearer.allow.unverified.audience", ALL, OAUTH),
    none("sasl.oauthbearer.allow.unverified.issuer", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.algorithm", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.claim.aud", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.claim.exp.seconds", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.claim.iss", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.claim.jti.include", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.claim.nbf.seconds", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.claim.sub", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.file", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.private.key.file", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.private.key.passphrase", ALL, OAUTH),
    none("sasl.oauthbearer.assertion.template.file", ALL, OAUTH),
    none("sasl.oauthbearer.client.credentials.client.id", ALL, OAUTH),
    none("sasl.oauthbearer.client.credentials.client.secret", ALL, OAUTH),
    none("sasl.oauthbearer.clock.skew.seconds", ALL, OAUTH),
    none("sasl.oauthbearer.expected.audience", ALL, OAUTH),
    none("sasl.oauthbearer.expected.issuer", ALL, OAUTH),
    none("sasl.oauthbearer.header.urlencode", ALL, OAUTH),
    none("sasl.oauthbearer.jwks.endpoint.refresh.ms", ALL, OAUTH),
    none("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", ALL, OAUTH),
    none("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", ALL, OAUTH),
    none("sasl.oauthbearer.jwks.endpoint.url", ALL, OAUTH),
    none("sasl.oauthbearer.jwt.retriever.class", ALL, OAUTH),
    none("sasl.oauthbearer.jwt.validator.class", ALL, OAUTH),
    none("sasl.oauthbearer.scope", ALL, OAUTH),
    none("sasl.oauthbearer.scope.claim.name", ALL, OAUTH),
    none("sasl.oauthbearer.sub.claim.name", ALL, OAUTH),
    none("sasl.oauthbearer.token.endpoint.url", ALL, OAUTH),
    later("security.protocol"),
    none("security.providers", ALL, JVM),
    special("send.buffer.bytes", ALL, s::socket_buffer),
    same("session.timeout.ms", C, (1, INT), (1, HOUR_MS)),
    none("share.acknowledgement.mode", C, SHARE),
    none("share.acquire.mode", C, SHARE),
    none("socket.connection.setup.timeout.max.ms", ALL, "the timeout does not grow"),
    same("socket.connection.setup.timeout.ms", ALL, (0, LONG), (1000, INT)),
    later("ssl.cipher.suites"),
    later("ssl.enabled.protocols"),
    later("ssl.endpoint.identification.algorithm"),
    rule("ssl.engine.factory.class", ALL, Action::Refused(
        "classes of the JVM cannot be used; configure certificates with ssl.truststore.* and \
         ssl.keystore.*")),
    later("ssl.key.password"),
    none("ssl.keymanager.algorithm", ALL, JVM),
    later("ssl.keystore.certificate.chain"),
    later("ssl.keystore.key"),
    later("ssl.keystore.location"),
    later("ssl.keystore.password"),
    later("ssl.keystore.type"),
    later("ssl.protocol"),
    none("ssl.provider", ALL, JVM),
    none("ssl.secure.random.implementation", ALL, JVM),
    none("ssl.trustmanager.algorithm", ALL, JVM),
    later("ssl.truststore.certificates"),
    later("ssl.truststore.location"),
    later("ssl.truststore.password"),
    later("ssl.truststore.type"),
    same("transaction.timeout.ms", P, (0, INT), (1000, INT)),
    special("transaction.two.phase.commit.enable", P, s::two_phase_commit),
    special("transactional.id", P, s::transactional_id),
    none("value.deserializer", C, BYTES),
    none("value.serializer", P, BYTES),
];
