//! `internal.*`: records of the three topics that workers share, and what a worker that reads them
//! comes to.

use herder::Target;
use herder::distributed::topics::{
    ConfigEvent, ConfigRecord, ConfigState, ConnectorState, Properties, ReadRecord, Status,
    StatusRecord, Statuses,
};
use runtime::source::offsets::{OffsetEntries, OffsetKey};
use serde_json::{Map, Value as Json, json};

/// A record of a case: JSON stands for its text, text for itself.
fn bytes(node: &Json) -> Option<Vec<u8>> {
    super::text_of(node).map(String::into_bytes)
}

fn read(input: &Json, mut take: impl FnMut(usize, &ReadRecord<'_>)) {
    for (index, record) in input["records"].as_array().into_iter().flatten().enumerate() {
        let (key, value) = (bytes(&record["key"]), bytes(&record["value"]));
        let (key, value) = (key.as_deref(), value.as_deref());
        take(
            index,
            &ReadRecord {
                partition: 0,
                offset: i64::try_from(index).unwrap_or(i64::MAX),
                key,
                value,
            },
        );
    }
}

/// The names that are known, and those that were asked for.
fn names<'a>(known: impl Iterator<Item = &'a str>, input: &'a Json) -> Vec<&'a str> {
    let asked = input["ask"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let mut names: Vec<&str> = known.chain(asked).collect();
    names.sort_unstable();
    names.dedup();
    names
}

pub(super) fn configs(input: &Json) -> Json {
    use base64::Engine;
    let live_from = input["live"].as_u64().and_then(|live| usize::try_from(live).ok());
    let live_from = live_from.unwrap_or(usize::MAX);
    let mut state = ConfigState::default();
    let mut events = Vec::new();
    read(input, |index, record| {
        // Skipped ones are told, which is no part of the answer.
        if let Ok(Some(event)) = state.apply(record, index >= live_from) {
            events.push(callback(&event));
        }
    });
    let nothing = ConnectorState::default();
    let names = names(state.connectors().map(|(name, _)| name), input);
    let of = |name: &str| connector(state.get(name).unwrap_or(&nothing));
    let connectors: Map<String, Json> =
        names.into_iter().map(|name| (name.to_owned(), of(name))).collect();
    let offset = state.next_offset().unwrap_or(-1);
    let mut answer = json!({"offset": offset, "connectors": connectors, "events": events});
    if let Some(key) = state.session_key() {
        let text = base64::engine::general_purpose::STANDARD.encode(&key.key);
        answer["sessionKey"] = json!({
            "key": text, "algorithm": key.algorithm, "creationTimestamp": key.created_ms
        });
    }
    answer
}

fn connector(state: &ConnectorState) -> Json {
    let target = state.target().map(|target| match target {
        Target::Started => "STARTED",
        Target::Paused => "PAUSED",
        Target::Stopped => "STOPPED",
    });
    let tasks = state.tasks().map(|(task, config)| json!({"task": task, "config": texts(config)}));
    json!({
        "known": state.exists(),
        "config": state.config().map(texts),
        "targetState": target,
        "taskCount": state.task_count(),
        "tasks": tasks.collect::<Vec<_>>(),
        "taskCountRecord": state.fencing(),
        "generation": state.generation(),
        "pendingFencing": state.is_pending_fencing(),
        "inconsistent": state.is_inconsistent(),
    })
}

fn texts(config: &Properties) -> Json {
    Json::Object(config.iter().map(|(key, value)| (key.to_owned(), json!(value))).collect())
}

/// The call that Connect makes for an event.
fn callback(event: &ConfigEvent) -> Json {
    match event {
        ConfigEvent::ConnectorUpdated(name) => json!(["onConnectorConfigUpdate", name]),
        ConfigEvent::ConnectorRemoved(name) => json!(["onConnectorConfigRemove", name]),
        ConfigEvent::TargetChanged(name) => json!(["onConnectorTargetStateChange", name]),
        ConfigEvent::TasksUpdated { connector, tasks } => {
            let tasks: Vec<String> =
                tasks.iter().map(|task| format!("{connector}-{task}")).collect();
            json!(["onTaskConfigUpdate", format!("[{}]", tasks.join(", "))])
        }
        ConfigEvent::RestartRequested(request) => {
            let text = format!(
                "restart request for {{connectorName='{}', onlyFailed={}, includeTasks={}}}",
                request.connector, request.only_failed, request.include_tasks
            );
            json!(["onRestartRequest", text])
        }
        ConfigEvent::SessionKeyUpdated => json!(["onSessionKeyUpdate", "session-key"]),
        ConfigEvent::LogLevelChanged { logger, level } => {
            json!(["onLoggingLevelUpdate", logger, level])
        }
    }
}

pub(super) fn statuses(input: &Json) -> Json {
    let mut statuses = Statuses::default();
    read(input, |_, record| {
        // Skipped ones are told, which is no part of the answer.
        let _skipped = statuses.apply(record);
    });
    let known = statuses.iter().filter(|(_, of)| of.own.is_some()).map(|(name, _)| name);
    let names = names(known, input);
    let answers = names.into_iter().map(|name| {
        let of = statuses.get(name).cloned().unwrap_or_default();
        let tasks = of.tasks.iter().map(|(task, found)| {
            let mut answer = status(found);
            answer["task"] = json!(task);
            answer
        });
        let topics = of.topics.values();
        let mut topics: Vec<String> =
            topics.map(|t| format!("{} task {} at {}", t.topic, t.task, t.discovered_ms)).collect();
        topics.sort();
        let own = of.own.as_ref().map(status);
        let tasks: Vec<Json> = tasks.collect();
        (name.to_owned(), json!({"connector": own, "tasks": tasks, "topics": topics}))
    });
    Json::Object(answers.collect())
}

fn status(status: &Status) -> Json {
    json!({
        "state": status.state.name(),
        "trace": status.trace,
        "workerId": status.worker_id,
        "generation": status.generation,
    })
}

pub(super) fn offsets(input: &Json) -> Json {
    let mut entries = OffsetEntries::default();
    read(input, |_, record| {
        // What is of no use is told, which is no part of the answer.
        let _useless = entries.apply(record.key, record.value, record.offset);
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut raw: Vec<(String, String)> =
        entries.raw().map(|(key, value)| (text(key), text(value))).collect();
    raw.sort();
    let raw: Vec<Json> =
        raw.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    let partitions = names([].into_iter(), input).into_iter().map(|name| {
        let partitions = entries.partitions(name).map(|(partition, _)| Json::Object(partition));
        let mut partitions: Vec<Json> = partitions.map(|node| notation(&node)).collect();
        partitions.sort_by_key(Json::to_string);
        (name.to_owned(), Json::Array(partitions))
    });
    json!({"entries": raw, "partitions": Json::Object(partitions.collect())})
}

/// JSON data in the notation of values.
fn notation(node: &Json) -> Json {
    match node {
        Json::Null => Json::Null,
        Json::Bool(value) => json!({"bool": value}),
        Json::Number(value) if value.is_f64() => json!({"f64": value}),
        Json::Number(value) => json!({"i64": value}),
        Json::String(text) => json!({"str": text}),
        Json::Array(items) => json!({"list": items.iter().map(notation).collect::<Vec<_>>()}),
        Json::Object(members) => {
            let mut entries: Vec<(&String, &Json)> = members.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            let entries =
                entries.into_iter().map(|(name, node)| json!([{"str": name}, notation(node)]));
            json!({"map": entries.collect::<Vec<_>>()})
        }
    }
}

/// What stands in recorded texts for what differs from run to run, and texts that can stand there.
const PLACEHOLDERS: [(&str, &str); 6] = [
    ("<<base64-32-bytes>>", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
    ("<<number>>", "170017"),
    ("<<worker-id>>", "127.0.0.1:8083"),
    ("<<version>>", "4.4.0-sample"),
    ("<<text>>", "java.lang.Sample: é \\\"x\\\"\\n\\tat y\\n"),
    ("<<prefix>>", "sample-prefix"),
];

/// The record as it was recorded, read and written again.
pub(super) fn record(case: &Json) -> Json {
    let output = &case["output"];
    let filled = |node: &Json| {
        let text = node["text"].as_str()?.to_owned();
        Some(PLACEHOLDERS.iter().fold(text, |text, (name, sample)| text.replace(name, sample)))
    };
    let (key, value) = (filled(&output["key"]), filled(&output["value"]));
    let (key, value) = (key.unwrap_or_default().into_bytes(), value.map(String::into_bytes));
    let read = ReadRecord { partition: 0, offset: 0, key: Some(&key), value: value.as_deref() };
    let written = match case["input"]["topic"].as_str().unwrap_or_default() {
        "configs" => ConfigRecord::decode(&read).ok().map(|record| match record {
            ConfigRecord::Task { name, task, config } => {
                ConfigRecord::Task { name, task, config: config.in_map_order() }.written()
            }
            record => record.written(),
        }),
        "status" => StatusRecord::decode(&read).ok().map(|record| record.written()),
        "offsets" => offset(&read),
        _ => None,
    };
    let Some(written) = written else { return json!({"unreadable": true}) };
    let unfilled = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        PLACEHOLDERS.iter().fold(text, |text, (name, sample)| text.replace(sample, name))
    };
    let shown = match &written.1 {
        Some(bytes) => json!({"text": unfilled(bytes)}),
        None => json!({"bytes": null}),
    };
    let mut answer = json!({"key": {"text": unfilled(&written.0)}, "value": shown, "headers": []});
    if written != (key, value) {
        // Members in another order compare as the same JSON; here they are not.
        answer["other bytes"] = json!(true);
    }
    answer
}

fn offset(read: &ReadRecord<'_>) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let OffsetKey { connector, partition } = OffsetKey::parse(read.key?)?;
    let offset = match read.value.map(serde_json::from_slice) {
        None => None,
        Some(Ok(Json::Object(offset))) => Some(offset),
        Some(_) => return None,
    };
    OffsetEntries::default().records(&connector, &partition, offset.as_ref()).pop()
}
