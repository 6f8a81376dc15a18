//! The codes of errors: a stable word for each kind of mistake, beside Connect's `error_code`, which is
//! the HTTP status. Messages may be worded anew in any release; programs look at the code.

/// A kind of error. Codes are added, never renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BadPath,
    RouteNotFound,
    MethodNotAllowed,
    NotAcceptable,
    UnsupportedMediaType,
    BodyTooLarge,
    BodyTooSlow,
    BodyBroken,
    BodyNotJson,
    BodyInvalid,
    NameMismatch,
    ConfigInvalid,
    OffsetsInvalid,
    ConnectorNotStopped,
    ConnectorExists,
    ConnectorNotFound,
    TaskNotFound,
    PluginNotFound,
    PluginInvalid,
    LoggerNotFound,
    LevelUnknown,
    TopicTrackingDisabled,
    ReadOnly,
    Unsupported,
    OutsideFailed,
    TimedOut,
    ShuttingDown,
    Starting,
    NoLeader,
    LeaderUnreached,
    WorkersDiffer,
    SignatureMissing,
    SignatureUnusable,
    SignatureInvalid,
    NoSessionKey,
    FencingFailed,
    WorkerNotFound,
    WorkerUnreached,
    NoTaker,
    Internal,
}

/// The word of a code, its status, its meaning.
type Facts = (&'static str, u16, &'static str);

const INTERNAL: Facts = ("internal", 500, "a mistake of this program");

/// Every code.
const TABLE: [(Code, Facts); 40] = [
    (Code::BadPath, ("bad_path", 400, "the path has an empty part, or is not encoded UTF-8")),
    (Code::RouteNotFound, ("route_not_found", 404, "there is no such path")),
    (
        Code::MethodNotAllowed,
        ("method_not_allowed", 405, "the path exists, but not with this method"),
    ),
    (Code::NotAcceptable, ("not_acceptable", 406, "the header Accept refuses JSON")),
    (
        Code::UnsupportedMediaType,
        ("unsupported_media_type", 415, "the body is not said to be JSON"),
    ),
    (Code::BodyTooLarge, ("body_too_large", 413, "the body is larger than the limit")),
    (Code::BodyTooSlow, ("body_too_slow", 408, "the body did not arrive in time")),
    (Code::BodyBroken, ("body_broken", 400, "the body ended early")),
    (Code::BodyNotJson, ("body_not_json", 400, "the body is empty or no JSON")),
    (
        Code::BodyInvalid,
        ("body_invalid", 400, "a member of the body is unknown, missing or of another kind"),
    ),
    (
        Code::NameMismatch,
        ("name_mismatch", 400, "the configuration has another name than the request"),
    ),
    (Code::ConfigInvalid, ("config_invalid", 400, "the configuration has errors")),
    (Code::OffsetsInvalid, ("offsets_invalid", 400, "these offsets cannot be set")),
    (
        Code::ConnectorNotStopped,
        ("connector_not_stopped", 400, "offsets change while the connector is stopped"),
    ),
    (Code::ConnectorExists, ("connector_exists", 409, "there is a connector of this name already")),
    (Code::ConnectorNotFound, ("connector_not_found", 404, "there is no such connector")),
    (Code::TaskNotFound, ("task_not_found", 404, "the connector has no such task")),
    (Code::PluginNotFound, ("plugin_not_found", 404, "there is no such plugin")),
    (
        Code::PluginInvalid,
        ("plugin_invalid", 400, "the plugin has no such version, or is of another kind"),
    ),
    (Code::LoggerNotFound, ("logger_not_found", 404, "there is no such logger")),
    (Code::LevelUnknown, ("level_unknown", 404, "there is no such log level")),
    (
        Code::TopicTrackingDisabled,
        ("topic_tracking_disabled", 403, "the worker's settings turn this off"),
    ),
    (Code::ReadOnly, ("read_only", 403, "this user may read, and change nothing")),
    (Code::Unsupported, ("unsupported", 500, "a standalone worker does not do this")),
    (
        Code::OutsideFailed,
        ("outside_failed", 500, "Kafka, a database or a file did not answer as needed"),
    ),
    (Code::TimedOut, ("timed_out", 500, "there is no answer yet; what was asked goes on")),
    (Code::ShuttingDown, ("shutting_down", 503, "the worker is about to end")),
    (
        Code::Starting,
        ("starting", 503, "the worker does not know the connectors of its cluster yet"),
    ),
    (
        Code::NoLeader,
        ("no_leader", 503, "nothing was done: no worker of the cluster leads at the moment"),
    ),
    (
        Code::LeaderUnreached,
        ("leader_unreached", 503, "nothing was done: the leader's address does not answer"),
    ),
    (
        Code::WorkersDiffer,
        ("workers_differ", 503, "nothing was done: the leader's settings or keys are others"),
    ),
    (
        Code::SignatureMissing,
        ("signature_missing", 400, "only workers ask this of each other, and sign it"),
    ),
    (
        Code::SignatureUnusable,
        ("signature_unusable", 400, "the signature cannot be read, or its algorithm is not taken"),
    ),
    (
        Code::SignatureInvalid,
        ("signature_invalid", 403, "this was not signed with the key of the cluster"),
    ),
    (
        Code::NoSessionKey,
        ("no_session_key", 503, "the worker has not read the key of the cluster yet"),
    ),
    (
        Code::FencingFailed,
        ("fencing_failed", 409, "the tasks of the connector became others meanwhile"),
    ),
    (Code::WorkerNotFound, ("worker_not_found", 404, "the cluster has no such worker")),
    (
        Code::WorkerUnreached,
        ("worker_unreached", 503, "nothing was done: the worker that is meant does not answer"),
    ),
    (Code::NoTaker, ("no_taker", 409, "no other worker could take the tasks")),
    (Code::Internal, INTERNAL),
];

impl Code {
    /// The word, the status it comes with, and what it means.
    pub(crate) fn facts(self) -> Facts {
        let found = TABLE.iter().find(|(code, _)| *code == self);
        // A test finds every code in the table.
        found.map_or(INTERNAL, |(_, facts)| *facts)
    }

    /// Every code's facts.
    pub(crate) fn all() -> impl Iterator<Item = Facts> {
        TABLE.iter().map(|(_, facts)| *facts)
    }

    /// The word.
    pub(crate) fn word(self) -> &'static str {
        self.facts().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_are_snake_case_and_each_is_used_once() {
        let words: BTreeSet<&str> = Code::all().map(|(word, ..)| word).collect();
        assert_eq!(words.len(), TABLE.len());
        // The last one: there are no more than the table has.
        assert_eq!(Code::Internal as usize + 1, TABLE.len());
        for word in words {
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{word}");
        }
    }
}
