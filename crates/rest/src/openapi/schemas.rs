//! The schemas of bodies.

use crate::codes::Code;
use serde_json::{Map, Value, json};

/// Every schema, by name.
pub(super) fn all() -> Value {
    let groups = [worker(), connectors(), offsets(), plugins(), workers(), loggers()];
    let all: Map<String, Value> = groups
        .into_iter()
        .flat_map(|group| match group {
            Value::Object(members) => members,
            _ => Map::new(),
        })
        .collect();
    Value::Object(all)
}

fn of(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn map(values: Value) -> Value {
    json!({ "type": "object", "additionalProperties": values })
}

/// An object with these members, all of them required, and others where `open`.
fn object(members: Value, optional: Value) -> Value {
    let required: Vec<String> =
        members.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect();
    let mut properties = members;
    if let (Some(all), Value::Object(optional)) = (properties.as_object_mut(), optional) {
        all.extend(optional);
    }
    json!({ "type": "object", "required": required, "properties": properties })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn text_or_null() -> Value {
    json!({ "type": ["string", "null"] })
}

fn number() -> Value {
    json!({ "type": "integer" })
}

/// Numbers and booleans are taken as the text they are written with.
fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

fn worker() -> Value {
    let codes: Vec<&str> = Code::all().map(|(word, ..)| word).collect();
    json!({
        "Error": object(
            json!({
                "error_code": { "type": "integer", "description": "The HTTP status" },
                "message": { "type": "string", "description": "What happened" },
                "code": {
                    "type": "string",
                    "enum": codes,
                    "description": "The kind of error; there may be more in later releases",
                },
            }),
            json!({
                "hint": { "type": "string", "description": "What to do" },
                "path": { "type": "string", "description": "Where in the body, as a JSON pointer" },
            }),
        ),
        "Worker": object(
            json!({ "version": text(), "commit": text(), "kafka_cluster_id": text_or_null() }),
            json!({}),
        ),
        "Health": object(
            json!({
                "status": { "type": "string", "enum": ["healthy", "starting", "unhealthy"] },
                "message": text(),
            }),
            json!({}),
        ),
        "Document": object(
            json!({ "openapi": text(), "info": { "type": "object" }, "paths": { "type": "object" } }),
            json!({}),
        ),
        "Message": object(json!({ "message": text() }), json!({})),
        "Names": list(text()),
    })
}

fn connectors() -> Value {
    let task_id = object(json!({ "connector": text(), "task": number() }), json!({}));
    let state = json!({
        "type": "string",
        "enum": ["UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED", "DESTROYED"],
    });
    let states = json!({ "state": state, "worker_id": text(), "version": text_or_null() });
    let trace = json!({ "trace": text() });
    let mut task_states = states.clone();
    task_states["id"] = number();
    let direction = json!({ "type": "string", "enum": ["source", "sink", "unknown"] });
    let mut task_more = trace.clone();
    task_more["copycat"] = json!({ "type": "object" });
    json!({
        "Config": map(scalar()),
        "StoredConfig": map(text()),
        "NewConnector": {
            "type": "object",
            "required": ["config"],
            "additionalProperties": false,
            "properties": {
                "name": scalar(),
                "config": of("Config"),
                "initial_state": {
                    "type": ["string", "null"],
                    "enum": ["RUNNING", "PAUSED", "STOPPED", null],
                },
            },
        },
        "ConnectorInfo": object(
            json!({
                "name": text(),
                "config": of("StoredConfig"),
                "tasks": list(task_id.clone()),
                "type": direction,
            }),
            json!({}),
        ),
        "ConnectorStatus": object(
            json!({
                "name": text(),
                "connector": object(states, trace),
                "tasks": list(of("TaskStatus")),
                "type": direction,
            }),
            json!({}),
        ),
        "TaskStatus": object(task_states, task_more),
        "Connectors": {
            "anyOf": [
                of("Names"),
                map(object(
                    json!({}),
                    json!({ "status": of("ConnectorStatus"), "info": of("ConnectorInfo") }),
                )),
            ],
        },
        "Tasks": list(object(json!({ "id": task_id, "config": of("StoredConfig") }), json!({}))),
        "Topics": map(object(json!({ "topics": list(text()) }), json!({}))),
    })
}

fn offsets() -> Value {
    let partition = json!({ "type": ["object", "null"] });
    json!({
        "Offsets": object(
            json!({
                "offsets": list(object(
                    json!({ "partition": partition, "offset": partition }),
                    json!({}),
                )),
            }),
            json!({}),
        ),
        "NewOffsets": {
            "type": "object",
            "required": ["offsets"],
            "additionalProperties": false,
            "properties": {
                "offsets": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "properties": { "partition": partition, "offset": partition },
                    },
                },
            },
        },
    })
}

fn plugins() -> Value {
    let key = object(
        json!({
            "name": text(),
            "type": text(),
            "required": { "type": "boolean" },
            "default_value": text_or_null(),
            "importance": text(),
            "documentation": text_or_null(),
            "group": text_or_null(),
            "order": number(),
            "order_in_group": number(),
            "width": text(),
            "display_name": text_or_null(),
            "dependents": list(text()),
        }),
        json!({}),
    );
    let value = object(
        json!({
            "name": text(),
            "value": text_or_null(),
            "recommended_values": list(text_or_null()),
            "errors": list(text()),
            "visible": { "type": "boolean" },
        }),
        json!({}),
    );
    let definition = json!({ "anyOf": [of("ConfigKey"), { "type": "null" }] });
    json!({
        "Plugins": list(object(
            json!({ "class": text(), "type": text(), "version": text_or_null() }),
            json!({}),
        )),
        "ConfigKey": key,
        "ConfigKeys": list(of("ConfigKey")),
        "ConfigInfos": object(
            json!({
                "name": text(),
                "error_count": number(),
                "groups": list(text()),
                "configs": list(object(json!({ "definition": definition, "value": value }), json!({}))),
            }),
            json!({ "copycat": { "type": "object" } }),
        ),
    })
}

fn workers() -> Value {
    let task = object(
        json!({
            "connector": text(),
            "task": number(),
            "state": text(),
            "leaving": {
                "type": "boolean",
                "description": "The worker has been told to stop it; another one starts it then",
            },
        }),
        json!({}),
    );
    let state = json!({
        "type": "string",
        "enum": ["ACTIVE", "DRAINING", "ENDING", "RESTARTING", "LEFT", "LOST", "WAITING"],
        "description": "LOST: no member any more, without a word; WAITING: the cluster has as many \
                        workers as it may (copycat.members.max)",
    });
    json!({
        "Workers": list(object(
            json!({
                "id": { "type": "string", "description": "host:port, as it is advertised" },
                "url": { "type": "string", "description": "Where other workers reach it" },
                "version": text(),
                "run": {
                    "type": ["string", "null"],
                    "description": "Another one at every start; null for a standalone worker",
                },
                "state": state,
                "leader": { "type": "boolean" },
                "here": { "type": "boolean", "description": "It is the one that answers" },
                "partitions": list(number()),
                "troubles": {
                    "type": "array",
                    "items": text(),
                    "description": "What keeps it from working with the others",
                },
                "last_heard": {
                    "type": ["integer", "null"],
                    "description": "When it last said something of itself, which it does when \
                                    something changes; milliseconds since 1970",
                },
                "tasks": list(task),
            }),
            json!({}),
        )),
    })
}

fn loggers() -> Value {
    let levels = ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"];
    json!({
        "Logger": object(
            json!({ "level": text_or_null(), "last_modified": { "type": ["integer", "null"] } }),
            json!({}),
        ),
        "Loggers": map(of("Logger")),
        "Level": {
            "type": "object",
            "required": ["level"],
            "properties": { "level": { "type": "string", "enum": levels } },
            "additionalProperties": scalar(),
        },
    })
}
