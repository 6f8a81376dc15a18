//! What each operation takes and answers, in words and schemas.

use crate::codes::Code;
use crate::routes::Operation;
use serde_json::{Value, json};

/// In place of a schema: the answer is text for Prometheus.
pub(super) const TEXT: &str = "text";

/// A query parameter.
pub(crate) struct Query {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// Whether it may be given several times.
    many: bool,
}

impl Query {
    /// Whatever is given is taken, and means what `text` says.
    pub(super) fn schema(&self) -> Value {
        let text = json!({ "type": "string" });
        if self.many { json!({ "type": "array", "items": text }) } else { text }
    }
}

/// An answer that is no error.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(super) text: &'static str,
    /// Nothing: there is no body.
    pub(super) schema: Option<&'static str>,
}

/// An operation in words.
pub(crate) struct Description {
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) query: &'static [Query],
    /// The schema of the body it takes.
    pub(super) body: Option<&'static str>,
    pub(crate) answers: &'static [Answer],
    /// Besides those that every request may come to.
    pub(crate) errors: &'static [Code],
}

const fn ok(text: &'static str, schema: &'static str) -> Answer {
    Answer { status: 200, text, schema: Some(schema) }
}

const fn done(status: u16, text: &'static str) -> Answer {
    Answer { status, text, schema: None }
}

const fn query(name: &'static str, text: &'static str) -> Query {
    Query { name, text, many: false }
}

const NOT_FOUND: &[Code] = &[Code::ConnectorNotFound];
const NEW_CONFIG: &[Code] = &[Code::ConfigInvalid, Code::NameMismatch];
const UNTRACKED: &[Code] = &[Code::TopicTrackingDisabled];

const INFO: Answer = ok("The connector", "ConnectorInfo");
const CREATED: Answer =
    Answer { status: 201, text: "The connector, which is new", schema: Some("ConnectorInfo") };

/// An operation without query and body.
const fn plain(
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    answers: &'static [Answer],
    errors: &'static [Code],
) -> Description {
    Description { id, tag, summary, query: &[], body: None, answers, errors }
}

/// What there is to say of an operation; `None` for those of workers among themselves.
pub(crate) fn describe(operation: Operation) -> Option<Description> {
    use Operation as O;
    Some(match operation {
        O::Root | O::Health | O::OpenApi | O::Metrics => worker(operation),
        O::ListConnectors
        | O::CreateConnector
        | O::GetConnector
        | O::DeleteConnector
        | O::GetConfig
        | O::PutConfig
        | O::PatchConfig => connectors(operation),
        O::GetStatus | O::Restart | O::Pause | O::Resume | O::Stop => running(operation),
        O::ListTasks | O::GetTaskStatus | O::RestartTask | O::GetTopics | O::ResetTopics => {
            tasks(operation)
        }
        O::GetOffsets | O::AlterOffsets | O::ResetOffsets => offsets(operation),
        O::ListPlugins | O::GetPluginConfig | O::Validate => plugins(operation),
        O::ListWorkers | O::Drain | O::Undrain => workers(operation),
        O::ListLoggers | O::GetLogger | O::SetLogger => loggers(operation),
        O::SetTasks | O::Fence => return None,
    })
}

fn worker(operation: Operation) -> Description {
    match operation {
        Operation::Root => plain(
            "getWorker",
            "worker",
            "Version, and the id of the Kafka cluster",
            const { &[ok("The worker", "Worker")] },
            &[],
        ),
        Operation::Health => plain(
            "getHealth",
            "worker",
            "Whether the worker is ready",
            const {
                &[
                    ok("It is", "Health"),
                    Answer { status: 503, text: "It starts", schema: Some("Health") },
                ]
            },
            &[],
        ),
        Operation::Metrics => plain(
            "getMetrics",
            "worker",
            "Everything that is measured, for Prometheus",
            const { &[ok("The metrics as text", TEXT)] },
            &[],
        ),
        _ => plain(
            "getOpenApi",
            "worker",
            "This document",
            const { &[ok("The document", "Document")] },
            &[],
        ),
    }
}

fn connectors(operation: Operation) -> Description {
    match operation {
        Operation::ListConnectors => Description {
            query: const {
                &[Query {
                    name: "expand",
                    text: "status or info, or both, given twice: an object by name in place of names",
                    many: true,
                }]
            },
            ..plain(
                "listConnectors",
                "connectors",
                "All connectors",
                const { &[ok("Names, or what was asked for by name", "Connectors")] },
                &[],
            )
        },
        Operation::CreateConnector => Description {
            body: Some("NewConnector"),
            ..plain(
                "createConnector",
                "connectors",
                "Create a connector",
                const { &[CREATED] },
                const { &[Code::ConfigInvalid, Code::NameMismatch, Code::ConnectorExists] },
            )
        },
        Operation::GetConnector => {
            plain("getConnector", "connectors", "A connector", const { &[INFO] }, NOT_FOUND)
        }
        Operation::DeleteConnector => Description {
            query: const { &[query("offsets", "true, in any case: its offsets are reset as well")] },
            ..plain(
                "deleteConnector",
                "connectors",
                "Delete a connector; its offsets are kept unless asked otherwise",
                const { &[done(204, "It is gone")] },
                const { &[Code::ConnectorNotFound, Code::OffsetsInvalid, Code::OutsideFailed] },
            )
        },
        Operation::GetConfig => plain(
            "getConnectorConfig",
            "connectors",
            "The configuration, as it was given",
            const { &[ok("The configuration", "StoredConfig")] },
            NOT_FOUND,
        ),
        Operation::PutConfig => Description {
            body: Some("Config"),
            ..plain(
                "putConnectorConfig",
                "connectors",
                "Set the configuration; creates the connector if there is none",
                const { &[INFO, CREATED] },
                NEW_CONFIG,
            )
        },
        _ => Description {
            body: Some("Config"),
            ..plain(
                "patchConnectorConfig",
                "connectors",
                "Change single keys of the configuration; null takes a key out",
                const { &[INFO] },
                const { &[Code::ConnectorNotFound, Code::ConfigInvalid, Code::NameMismatch] },
            )
        },
    }
}

fn running(operation: Operation) -> Description {
    match operation {
        Operation::GetStatus => plain(
            "getConnectorStatus",
            "connectors",
            "How a connector and its tasks do",
            const { &[ok("The status", "ConnectorStatus")] },
            NOT_FOUND,
        ),
        Operation::Restart => Description {
            query: const {
                &[
                    query("includeTasks", "true, in any case: its tasks too"),
                    query("onlyFailed", "true, in any case: only what has FAILED"),
                ]
            },
            ..plain(
                "restartConnector",
                "connectors",
                "Restart a connector, with its tasks if asked to",
                const {
                    &[
                        Answer {
                            status: 202,
                            text: "Begun, with RESTARTING where something restarts",
                            schema: Some("ConnectorStatus"),
                        },
                        done(204, "The connector alone was restarted"),
                    ]
                },
                NOT_FOUND,
            )
        },
        Operation::Pause => plain(
            "pauseConnector",
            "connectors",
            "Pause a connector: its tasks are kept and do nothing",
            const { &[done(202, "It is paused")] },
            NOT_FOUND,
        ),
        Operation::Resume => plain(
            "resumeConnector",
            "connectors",
            "Let a paused or stopped connector go on",
            const { &[done(202, "It goes on")] },
            NOT_FOUND,
        ),
        _ => plain(
            "stopConnector",
            "connectors",
            "Stop a connector: it has no tasks, and its offsets can be changed",
            const { &[done(204, "It is stopped")] },
            NOT_FOUND,
        ),
    }
}

fn tasks(operation: Operation) -> Description {
    match operation {
        Operation::ListTasks => plain(
            "listTasks",
            "connectors",
            "The tasks of a connector and their configurations",
            const { &[ok("The tasks", "Tasks")] },
            NOT_FOUND,
        ),
        Operation::GetTaskStatus => plain(
            "getTaskStatus",
            "connectors",
            "How a task does",
            const { &[ok("The status", "TaskStatus")] },
            const { &[Code::TaskNotFound] },
        ),
        Operation::RestartTask => plain(
            "restartTask",
            "connectors",
            "Restart a task",
            const { &[done(204, "It was restarted")] },
            const { &[Code::ConnectorNotFound, Code::TaskNotFound] },
        ),
        Operation::GetTopics => plain(
            "getConnectorTopics",
            "connectors",
            "The topics that a connector has used; none for an unknown one",
            const { &[ok("The topics", "Topics")] },
            UNTRACKED,
        ),
        _ => plain(
            "resetConnectorTopics",
            "connectors",
            "Forget the topics that a connector has used",
            const { &[done(202, "They are forgotten")] },
            UNTRACKED,
        ),
    }
}

fn offsets(operation: Operation) -> Description {
    match operation {
        Operation::GetOffsets => plain(
            "getOffsets",
            "offsets",
            "Where a connector is",
            const { &[ok("The offsets", "Offsets")] },
            const { &[Code::ConnectorNotFound, Code::OffsetsInvalid, Code::OutsideFailed] },
        ),
        Operation::AlterOffsets => Description {
            body: Some("NewOffsets"),
            ..plain(
                "alterOffsets",
                "offsets",
                "Move a stopped connector; null forgets an offset",
                const { &[ok("It was moved", "Message")] },
                const {
                    &[
                        Code::ConnectorNotFound,
                        Code::ConnectorNotStopped,
                        Code::OffsetsInvalid,
                        Code::OutsideFailed,
                    ]
                },
            )
        },
        _ => plain(
            "resetOffsets",
            "offsets",
            "Forget all offsets of a stopped connector",
            const { &[ok("They are forgotten", "Message")] },
            const {
                &[
                    Code::ConnectorNotFound,
                    Code::ConnectorNotStopped,
                    Code::OffsetsInvalid,
                    Code::OutsideFailed,
                ]
            },
        ),
    }
}

fn plugins(operation: Operation) -> Description {
    match operation {
        Operation::ListPlugins => Description {
            query: const {
                &[query(
                    "connectorsOnly",
                    "true, in any case, or not given: connectors; anything else: all plugins",
                )]
            },
            ..plain(
                "listPlugins",
                "plugins",
                "The plugins",
                const { &[ok("The plugins", "Plugins")] },
                &[],
            )
        },
        Operation::GetPluginConfig => Description {
            query: const { &[query("version", "The version of the plugin")] },
            ..plain(
                "getPluginConfig",
                "plugins",
                "The keys of a plugin",
                const { &[ok("The keys", "ConfigKeys")] },
                const { &[Code::PluginNotFound, Code::PluginInvalid] },
            )
        },
        _ => Description {
            query: const {
                &[query(
                    "copycat.validate.connect",
                    "true, in any case: also look whether the other side can be reached and used",
                )]
            },
            body: Some("Config"),
            ..plain(
                "validateConfig",
                "plugins",
                "Check a configuration, key by key, and create nothing",
                const { &[ok("What there is to say of each key", "ConfigInfos")] },
                NEW_CONFIG,
            )
        },
    }
}

fn workers(operation: Operation) -> Description {
    match operation {
        Operation::ListWorkers => plain(
            "listWorkers",
            "workers",
            "The workers of the cluster and their tasks; a standalone worker is the only one",
            const { &[ok("The workers", "Workers")] },
            &[],
        ),
        Operation::Drain => Description {
            query: const {
                &[query(
                    "force",
                    "true, in any case: even where no other worker could take its tasks",
                )]
            },
            ..plain(
                "drainWorker",
                "workers",
                "Let a worker give its tasks to the others and take no new ones, until it restarts",
                const { &[done(202, "It drains; its tasks leave one after the other")] },
                const { &[Code::WorkerNotFound, Code::WorkerUnreached, Code::NoTaker] },
            )
        },
        _ => plain(
            "undrainWorker",
            "workers",
            "Let a worker that drains take tasks again",
            const { &[done(202, "It takes part again")] },
            const { &[Code::WorkerNotFound, Code::WorkerUnreached, Code::NoTaker] },
        ),
    }
}

fn loggers(operation: Operation) -> Description {
    match operation {
        Operation::ListLoggers => plain(
            "listLoggers",
            "admin",
            "All loggers that are known",
            const { &[ok("The loggers", "Loggers")] },
            &[],
        ),
        Operation::GetLogger => plain(
            "getLogger",
            "admin",
            "The level of a logger",
            const { &[ok("The level", "Logger")] },
            const { &[Code::LoggerNotFound] },
        ),
        _ => Description {
            query: const { &[query("scope", "cluster, in any case: nothing is answered; else worker")] },
            body: Some("Level"),
            ..plain(
                "setLogger",
                "admin",
                "Set the level of a logger and of those below it",
                const {
                    &[
                        ok("The loggers whose level has changed", "Names"),
                        done(204, "Set, with the scope cluster"),
                    ]
                },
                const { &[Code::LevelUnknown] },
            )
        },
    }
}
