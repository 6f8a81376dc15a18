//! Errors of the Kafka client, typed by what has to be done about them.
//!
//! Every failure that librdkafka reports is classified here, once. A caller decides by
//! [`ErrorKind`] (retry, abort, fix the configuration, give up) and never by text or code; the
//! message says what happened, the hint says what to do.

use std::fmt;

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

pub type Result<T> = std::result::Result<T, Error>;

/// What the operator or the caller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No broker answers: keep trying, tell the operator which address.
    Unreachable,
    /// Passes by itself (leader election, coordinator loading, throttling): try again.
    Retriable,
    /// The deadline passed; whether the request took effect is unknown.
    TimedOut,
    /// Wrong or expired credentials, or a TLS failure: the configuration must change.
    Authentication,
    /// The principal lacks an ACL.
    Authorization,
    /// The topic or partition does not exist.
    UnknownTopic,
    /// The topic exists already.
    TopicExists,
    /// The position is outside of the log: retention or truncation has removed it.
    OffsetOutOfRange,
    /// A newer process has taken over this identity (group.instance.id, transactional.id or
    /// generation): stop without writing.
    Fenced,
    /// The transaction must be aborted; the producer stays usable.
    Abortable,
    /// The consumer group has members and cannot be changed.
    GroupNotEmpty,
    /// The record or request is larger than the broker or the client allows.
    TooLarge,
    /// The producer's buffer is full: poll, then send again.
    QueueFull,
    /// A setting or an argument is wrong.
    Configuration,
    /// The broker is too old for this, or has it switched off.
    Unsupported,
    /// The client was closed.
    Closed,
    /// The client cannot be used any more.
    Fatal,
    /// Anything else; treat it as a failed operation.
    Other,
}

impl ErrorKind {
    /// Whether waiting and trying again can succeed without anybody changing anything.
    pub fn is_retriable(self) -> bool {
        matches!(self, Self::Unreachable | Self::Retriable | Self::TimedOut | Self::QueueFull)
    }
}

/// One failure: kind, what happened, what to do, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Parts>);

/// Kept apart, so that the many outcomes that are no error are small.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    code: i32,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// An error of the caller's own, found while it uses a client.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Parts { kind, message: message.into(), hint: None, code: 0 }))
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn closed() -> Error {
        Error::new(ErrorKind::Closed, "the kafka client is closed")
    }

    /// Classifies a librdkafka or broker error code. `what` says what was tried; `detail` is the
    /// library's own text and replaces the generic description of the code.
    pub(crate) fn from_code(code: i32, what: &str, detail: Option<&str>) -> Error {
        let kind = classify(code);
        let detail = detail.map(str::trim).filter(|d| !d.is_empty());
        let text = detail.map_or_else(|| describe(code), str::to_owned);
        let message = if what.is_empty() { text } else { format!("{what}: {text}") };
        Error(Box::new(Parts { kind, message, hint: hint(kind).map(str::to_owned), code }))
    }

    /// Classifies an error of the rdkafka crate.
    pub(crate) fn from_kafka(error: &KafkaError, what: &str) -> Error {
        match error {
            KafkaError::Transaction(e) => {
                let mut mapped = Error::from_code(e.code() as i32, what, Some(&e.string()));
                if e.txn_requires_abort() {
                    mapped.0.kind = ErrorKind::Abortable;
                } else if e.is_fatal() && mapped.0.kind != ErrorKind::Fenced {
                    mapped.0.kind = ErrorKind::Fatal;
                } else if e.is_retriable() && !mapped.0.kind.is_retriable() {
                    mapped.0.kind = ErrorKind::Retriable;
                }
                mapped.0.hint = hint(mapped.0.kind).map(str::to_owned);
                mapped
            }
            KafkaError::MessageConsumptionFatal(code) => {
                let mut mapped = Error::from_code(*code as i32, what, None);
                if mapped.0.kind != ErrorKind::Fenced {
                    mapped.0.kind = ErrorKind::Fatal;
                }
                mapped
            }
            KafkaError::ClientConfig(_, text, key, _) => {
                Error::new(ErrorKind::Configuration, format!("{what}: setting '{key}': {text}"))
                    .with_hint("correct or remove this setting")
            }
            KafkaError::ClientCreation(text) => {
                Error::new(ErrorKind::Configuration, format!("{what}: {text}"))
                    .with_hint("correct the client settings")
            }
            other => match other.rdkafka_error_code() {
                Some(code) => Error::from_code(code as i32, what, None),
                None => Error::new(ErrorKind::Other, format!("{what}: {other}")),
            },
        }
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// librdkafka's code (negative) or the broker's (positive); 0 where the error is our own.
    pub fn code(&self) -> i32 {
        self.0.code
    }

    pub fn is_retriable(&self) -> bool {
        self.0.kind.is_retriable()
    }

    /// Whether the principal lacks a right, whatever else is to be done about the error: one that spoils
    /// a transaction is of the kind [`ErrorKind::Abortable`].
    pub fn is_forbidden(&self) -> bool {
        self.0.kind == ErrorKind::Authorization || classify(self.0.code) == ErrorKind::Authorization
    }

    /// Whether the client dropped a record because its transaction can only be aborted: the cause is
    /// another one.
    pub fn is_purged(&self) -> bool {
        const PURGED: [i32; 2] = [
            rdkafka::error::RDKafkaErrorCode::PurgeQueue as i32,
            rdkafka::error::RDKafkaErrorCode::PurgeInflight as i32,
        ];
        PURGED.contains(&self.0.code)
    }

    /// The same error, said to concern `subject`.
    pub fn about(mut self, subject: impl fmt::Display) -> Error {
        self.0.message = format!("{subject}: {}", self.0.message);
        self
    }

    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Error {
        self.0.kind = kind;
        self.0.hint = hint(kind).map(str::to_owned);
        self
    }
}

/// The code's generic description.
fn describe(code: i32) -> String {
    match rdkafka::types::RDKafkaRespErr::try_from(code) {
        Ok(e) => {
            let text = Code::from(e).to_string();
            // "Name (Broker: description)": the description alone reads better.
            match text.split_once('(') {
                Some((_, rest)) => rest.trim_end_matches(')').to_owned(),
                None => text,
            }
        }
        Err(_) => format!("error code {code}"),
    }
}

fn classify(code: i32) -> ErrorKind {
    use ErrorKind::*;
    // Codes younger than the crate's names for them.
    const UNKNOWN_TOPIC_ID: i32 = 100;
    const FENCED_MEMBER_EPOCH: i32 = 110;
    const UNRELEASED_INSTANCE_ID: i32 = 111;
    const TRANSACTION_ABORTABLE: i32 = 120;
    match code {
        UNKNOWN_TOPIC_ID => return UnknownTopic,
        FENCED_MEMBER_EPOCH | UNRELEASED_INSTANCE_ID => return Fenced,
        TRANSACTION_ABORTABLE => return Abortable,
        _ => {}
    }
    let Ok(code) = rdkafka::types::RDKafkaRespErr::try_from(code) else { return Other };
    let code = Code::from(code);
    match code {
        Code::BrokerTransportFailure | Code::AllBrokersDown | Code::Resolve => Unreachable,
        Code::OperationTimedOut | Code::MessageTimedOut | Code::TimedOutQueue => TimedOut,
        Code::Authentication
        | Code::SSL
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState => Authentication,
        Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed
        | Code::SecurityDisabled => Authorization,
        Code::UnknownTopic | Code::UnknownPartition | Code::UnknownTopicOrPartition => UnknownTopic,
        Code::TopicAlreadyExists => TopicExists,
        Code::OffsetOutOfRange | Code::AutoOffsetReset | Code::LogTruncation => OffsetOutOfRange,
        Code::FencedInstanceId
        | Code::Fenced
        | Code::ProducerFenced
        | Code::InvalidProducerEpoch
        | Code::TransactionCoordinatorFenced
        | Code::IllegalGeneration => Fenced,
        Code::NonEmptyGroup | Code::UnknownMemberId | Code::GroupSubscribedToTopic => GroupNotEmpty,
        Code::MessageSizeTooLarge
        | Code::InvalidMessageSize
        | Code::MessageBatchTooLarge
        | Code::OffsetMetadataTooLarge => TooLarge,
        Code::QueueFull => QueueFull,
        Code::InvalidConfig
        | Code::InvalidTopic
        | Code::InvalidPartitions
        | Code::InvalidReplicationFactor
        | Code::InvalidGroupId
        | Code::InvalidSessionTimeout
        | Code::InvalidTransactionTimeout
        | Code::InconsistentGroupProtocol
        | Code::InvalidArgument
        | Code::NotConfigured
        | Code::PolicyViolation => Configuration,
        Code::UnsupportedFeature | Code::UnsupportedVersion | Code::NotImplemented => Unsupported,
        Code::Fatal | Code::GaplessGuarantee | Code::Inconsistent => Fatal,
        other if is_transient(other) => Retriable,
        _ => Other,
    }
}

fn is_transient(code: Code) -> bool {
    matches!(
        code,
        Code::LeaderNotAvailable
            | Code::NotLeaderForPartition
            | Code::RequestTimedOut
            | Code::BrokerNotAvailable
            | Code::ReplicaNotAvailable
            | Code::NetworkException
            | Code::CoordinatorLoadInProgress
            | Code::CoordinatorNotAvailable
            | Code::NotCoordinator
            | Code::NotEnoughReplicas
            | Code::NotEnoughReplicasAfterAppend
            | Code::RebalanceInProgress
            | Code::NotController
            | Code::ConcurrentTransactions
            | Code::KafkaStorageError
            | Code::FencedLeaderEpoch
            | Code::UnknownLeaderEpoch
            | Code::OffsetNotAvailable
            | Code::PreferredLeaderNotAvailable
            | Code::UnstableOffsetCommit
            | Code::ThrottlingQuotaExceeded
            | Code::WaitingForCoordinator
            | Code::InProgress
            | Code::PreviousInProgress
            | Code::WaitCache
            | Code::Retry
            | Code::Outdated
            | Code::ISRInsufficient
            | Code::AssignmentLost
            | Code::PollExceeded
            | Code::DestroyBroker
            | Code::BadMessage
    )
}

fn hint(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Unreachable => {
            "check bootstrap.servers, the broker's advertised.listeners and security.protocol"
        }
        ErrorKind::Authentication => {
            "check security.protocol, sasl.mechanism, sasl.jaas.config and the ssl.* settings"
        }
        ErrorKind::Authorization => "grant the missing ACL to the client's principal",
        ErrorKind::UnknownTopic => "create the topic or correct its name",
        ErrorKind::OffsetOutOfRange => {
            "the records were removed by retention; auto.offset.reset decides where to go on"
        }
        ErrorKind::Fenced => "another process runs with the same identity; stop one of them",
        ErrorKind::GroupNotEmpty => "stop every member of the consumer group first",
        ErrorKind::TooLarge => "raise max.request.size and the topic's max.message.bytes",
        ErrorKind::Unsupported => "upgrade the broker or switch the feature on",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_classified_by_what_to_do() {
        let kind = |c: Code| Error::from_code(c as i32, "x", None).kind();
        assert_eq!(kind(Code::AllBrokersDown), ErrorKind::Unreachable);
        assert_eq!(kind(Code::FencedInstanceId), ErrorKind::Fenced);
        assert_eq!(kind(Code::AutoOffsetReset), ErrorKind::OffsetOutOfRange);
        assert_eq!(kind(Code::UnknownMemberId), ErrorKind::GroupNotEmpty);
        assert_eq!(kind(Code::CoordinatorNotAvailable), ErrorKind::Retriable);
        assert_eq!(Error::from_code(9999, "x", None).kind(), ErrorKind::Other);
        assert_eq!(Error::from_code(111, "x", None).kind(), ErrorKind::Fenced);
    }

    #[test]
    fn message_has_what_was_tried_and_the_description() {
        let e = Error::from_code(Code::UnknownTopicOrPartition as i32, "read topic 'a'", None);
        assert_eq!(e.to_string(), "read topic 'a': Broker: Unknown topic or partition");
        assert!(e.hint().is_some());
        let e = Error::from_code(-195, "", Some(" 1.2.3.4:9092: refused "));
        assert_eq!(e.to_string(), "1.2.3.4:9092: refused");
    }
}
