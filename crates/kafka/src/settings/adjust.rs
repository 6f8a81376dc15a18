//! Rules between settings that librdkafka checks when a client is made: kept here, so that the
//! message names the keys the user knows.

use super::draft::Draft;
use super::{ClientKind, NoticeKind};

/// The transaction timeout of both clients when none is given.
const TRANSACTION_TIMEOUT_MS: i64 = 60_000;
/// The defaults of this crate's clients, which librdkafka's checks compare with.
const RECONNECT_MS: i64 = 50;
const RECONNECT_MAX_MS: i64 = 1000;
const SESSION_MS: i64 = 10_000;
const MAX_POLL_MS: i64 = 300_000;
/// librdkafka's own defaults, for the same reason.
const DELIVERY_TIMEOUT_MS: i64 = 300_000;
const MESSAGE_MAX_BYTES: i64 = 1_000_000;
const RECEIVE_MAX_BYTES: i64 = 100_000_000;
/// Room for the frame around a fetch answer.
const FRAME_BYTES: i64 = 512;

/// Brings settings together that exclude each other.
pub(super) fn adjust(draft: &mut Draft) {
    backoffs(draft);
    match draft.kind {
        ClientKind::Consumer => consumer(draft),
        ClientKind::Producer => producer(draft),
        ClientKind::Admin => {}
    }
}

fn backoffs(draft: &mut Draft) {
    let least = draft.number("reconnect.backoff.ms");
    let most = draft.number("reconnect.backoff.max.ms");
    // Java waits for the longer of the two.
    match (least, most) {
        (Some(least), most) if least > most.unwrap_or(RECONNECT_MAX_MS) => {
            draft.set("reconnect.backoff.max.ms", least.to_string());
        }
        (None, Some(most)) if most < RECONNECT_MS => {
            draft.set("reconnect.backoff.ms", most.to_string());
        }
        _ => {}
    }
}

fn consumer(draft: &mut Draft) {
    // The runtime follows the reset itself; librdkafka has to say when an offset is out of range.
    draft.set("auto.offset.reset", "error");
    if draft.value("isolation.level").is_none() {
        draft.set("isolation.level", "read_committed");
    }
    if let Some(most) = draft.number("fetch.max.bytes") {
        if most < draft.number("message.max.bytes").unwrap_or(MESSAGE_MAX_BYTES) {
            draft.set("message.max.bytes", most.max(1000).to_string());
        }
        if most < 1000 {
            let most = draft.clamp("fetch.max.bytes", most, (1000, i64::MAX));
            draft.set("fetch.max.bytes", most.to_string());
        }
        if most + FRAME_BYTES > RECEIVE_MAX_BYTES {
            draft.set("receive.message.max.bytes", (most + FRAME_BYTES).to_string());
        }
    }
    let session = draft.number("session.timeout.ms");
    match (session, draft.number("max.poll.interval.ms")) {
        (Some(session), Some(poll)) if poll < session => {
            let text = format!("must not be lower than session.timeout.ms, which is {session}");
            draft.reject("max.poll.interval.ms", &poll.to_string(), &text);
        }
        (Some(session), None) if session > MAX_POLL_MS => {
            draft.set("max.poll.interval.ms", session.to_string());
        }
        (None, Some(poll)) if poll < SESSION_MS => {
            draft.set("session.timeout.ms", poll.to_string());
        }
        _ => {}
    }
    let heartbeat = draft.number("heartbeat.interval.ms");
    if let (Some(session), Some(heartbeat)) = (session, heartbeat)
        && heartbeat >= session
    {
        let text = format!("must be lower than session.timeout.ms, which is {session}");
        draft.reject("heartbeat.interval.ms", &heartbeat.to_string(), &text);
    }
}

fn producer(draft: &mut Draft) {
    if draft.value("partitioner").is_none() {
        // Java's own choice for records with a key.
        draft.set("partitioner", "murmur2_random");
    }
    let transactional = draft.value("transactional.id").is_some();
    if transactional && draft.value("enable.idempotence") == Some("false") {
        draft.reject("enable.idempotence", "false", "must be true when transactional.id is set");
    }
    let conflict = idempotence_conflict(draft);
    match (conflict, draft.value("enable.idempotence")) {
        (Some((key, value, text)), enabled) if transactional || enabled == Some("true") => {
            draft.reject(key, &value, text);
        }
        // As in Java: what is only a default gives way.
        (Some((key, ..)), None) => {
            draft.notice(NoticeKind::Adjusted, key, "turns enable.idempotence off");
            draft.set("enable.idempotence", "false");
        }
        _ => {}
    }
    if transactional {
        transaction_timeouts(draft);
    }
    delivery_timeout(draft, transactional);
}

/// A setting that an idempotent producer cannot have: its key, its value and what is accepted.
fn idempotence_conflict(draft: &Draft) -> Option<(&'static str, String, &'static str)> {
    if let Some(acks) = draft.value("acks").filter(|acks| !["-1", "all"].contains(acks)) {
        let text = "Must set acks to all in order to use the idempotent producer";
        return Some(("acks", acks.to_owned(), text));
    }
    const FLIGHT: &str = "max.in.flight.requests.per.connection";
    if let Some(flight) = draft.number(FLIGHT).filter(|flight| *flight > 5) {
        let text = "must be at most 5 to use the idempotent producer";
        return Some((FLIGHT, flight.to_string(), text));
    }
    let retries = draft.number("retries").filter(|retries| *retries == 0)?;
    let text = "must be at least 1 to use the idempotent producer";
    Some(("retries", retries.to_string(), text))
}

fn transaction_timeouts(draft: &mut Draft) {
    let timeout = draft.number("transaction.timeout.ms").unwrap_or(TRANSACTION_TIMEOUT_MS);
    for (own, key, most) in [
        ("delivery.timeout.ms", "delivery.timeout.ms", timeout),
        ("socket.timeout.ms", "request.timeout.ms", timeout + 100),
    ] {
        if let Some(given) = draft.number(own).filter(|given| *given > most) {
            let text = format!("{given} becomes {most}, to fit transaction.timeout.ms={timeout}");
            draft.notice(NoticeKind::Adjusted, key, text);
            draft.set(own, most.to_string());
        }
    }
}

fn delivery_timeout(draft: &mut Draft, transactional: bool) {
    let Some(linger) = draft.number("linger.ms") else { return };
    let given = draft.number("delivery.timeout.ms");
    let default = match transactional {
        true => draft.number("transaction.timeout.ms").unwrap_or(TRANSACTION_TIMEOUT_MS),
        false => DELIVERY_TIMEOUT_MS,
    };
    let delivery = given.unwrap_or(default);
    if delivery > linger {
        return;
    }
    if given.is_some() {
        let text = format!("must be greater than linger.ms, which is {linger}");
        draft.reject("delivery.timeout.ms", &delivery.to_string(), &text);
    } else {
        let text = format!("must be lower than delivery.timeout.ms, which is {delivery}");
        draft.reject("linger.ms", &linger.to_string(), &text);
    }
}
