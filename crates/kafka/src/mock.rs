//! The in-process broker: for the quickstart, fast tests and fault injection.
//!
//! It keeps about 5 MB a partition in memory and listens on a loopback port, so that other processes
//! can connect. It knows no static members, no fencing, no topic creation by clients, no control
//! records; use `SinkConsumer::assign_manually` against it where restarts must be quick.

use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, DeliveryResult, Producer as _, ProducerContext};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::error::{Error, ErrorKind, Result};
use crate::ffi;
use crate::report::Reporter;

/// A request that [`MockBroker::fail`] makes fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MockRequest {
    Produce,
    Fetch,
    ListOffsets,
    Metadata,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    JoinGroup,
    Heartbeat,
    InitProducerId,
    EndTransaction,
}

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MockFailure {
    /// The connection is closed.
    Disconnect,
    NotLeader,
    CoordinatorNotAvailable,
    /// The group's coordinator is another broker now.
    NotCoordinator,
    /// The group's members have changed meanwhile.
    StaleGeneration,
    TimedOut,
    OffsetOutOfRange,
    UnknownTopic,
    TopicNotAuthorized,
    FencedInstance,
    FencedProducer,
    TooLarge,
}

impl MockRequest {
    fn key(self) -> RDKafkaApiKey {
        match self {
            MockRequest::Produce => RDKafkaApiKey::Produce,
            MockRequest::Fetch => RDKafkaApiKey::Fetch,
            MockRequest::ListOffsets => RDKafkaApiKey::ListOffsets,
            MockRequest::Metadata => RDKafkaApiKey::Metadata,
            MockRequest::OffsetCommit => RDKafkaApiKey::OffsetCommit,
            MockRequest::OffsetFetch => RDKafkaApiKey::OffsetFetch,
            MockRequest::FindCoordinator => RDKafkaApiKey::FindCoordinator,
            MockRequest::JoinGroup => RDKafkaApiKey::JoinGroup,
            MockRequest::Heartbeat => RDKafkaApiKey::Heartbeat,
            MockRequest::InitProducerId => RDKafkaApiKey::InitProducerId,
            MockRequest::EndTransaction => RDKafkaApiKey::EndTxn,
        }
    }
}

impl MockFailure {
    fn code(self) -> RDKafkaRespErr {
        use RDKafkaRespErr::*;
        match self {
            MockFailure::Disconnect => RD_KAFKA_RESP_ERR__TRANSPORT,
            MockFailure::NotLeader => RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
            MockFailure::CoordinatorNotAvailable => RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE,
            MockFailure::NotCoordinator => RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
            MockFailure::StaleGeneration => RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
            MockFailure::TimedOut => RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
            MockFailure::OffsetOutOfRange => RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE,
            MockFailure::UnknownTopic => RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
            MockFailure::TopicNotAuthorized => RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
            MockFailure::FencedInstance => RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID,
            MockFailure::FencedProducer => RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
            MockFailure::TooLarge => RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
        }
    }
}

struct MockContext(Reporter);

impl ClientContext for MockContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(&error, reason);
    }
}

impl ProducerContext for MockContext {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

/// A running in-process cluster; it ends with this value.
pub struct MockBroker {
    client: BaseProducer<MockContext>,
}

impl MockBroker {
    /// Starts `brokers` brokers with these topics (name, partitions).
    pub fn start(brokers: usize, topics: &[(&str, usize)]) -> Result<MockBroker> {
        let mut config = ClientConfig::new();
        config.set_log_level(RDKafkaLogLevel::Warning);
        config.set("test.mock.num.brokers", brokers.to_string());
        let context = MockContext(Reporter::new("mock broker".to_owned(), None));
        let client: BaseProducer<MockContext> = config
            .create_with_context(context)
            .map_err(|e| Error::from_kafka(&e, "start the in-process broker"))?;
        // Without this the first member of a group waits three seconds for others.
        if !ffi::mock_rebalance_delay(client.client().native_client(), 0) {
            return Err(Error::new(ErrorKind::Other, "the in-process broker did not start"));
        }
        let broker = MockBroker { client };
        for (name, partitions) in topics {
            broker.create_topic(name, *partitions)?;
        }
        Ok(broker)
    }

    fn cluster(&self) -> Result<MockCluster<'_, MockContext>> {
        let none = || Error::new(ErrorKind::Other, "the in-process broker is gone");
        self.client.client().mock_cluster().ok_or_else(none)
    }

    /// `bootstrap.servers` for its clients.
    pub fn bootstrap(&self) -> String {
        self.cluster().map(|c| c.bootstrap_servers()).unwrap_or_default()
    }

    pub fn create_topic(&self, name: &str, partitions: usize) -> Result<()> {
        let partitions = i32::try_from(partitions).unwrap_or(i32::MAX);
        let done = self.cluster()?.create_topic(name, partitions, 1);
        done.map_err(|e| Error::from_kafka(&e, &format!("create topic '{name}'")))
    }

    /// Makes the next requests of this kind fail, one failure each.
    pub fn fail(&self, request: MockRequest, failures: &[MockFailure]) -> Result<()> {
        let codes: Vec<RDKafkaRespErr> = failures.iter().map(|f| f.code()).collect();
        self.cluster()?.request_errors(request.key(), &codes);
        Ok(())
    }

    /// Takes back what [`MockBroker::fail`] has left.
    pub fn heal(&self, request: MockRequest) -> Result<()> {
        self.cluster()?.clear_request_errors(request.key());
        Ok(())
    }

    /// Closes a broker's connections and lets nobody in; brokers count from 1.
    pub fn broker_down(&self, id: i32) -> Result<()> {
        self.cluster()?.broker_down(id).map_err(|e| Error::from_kafka(&e, "stop a broker"))
    }

    pub fn broker_up(&self, id: i32) -> Result<()> {
        self.cluster()?.broker_up(id).map_err(|e| Error::from_kafka(&e, "start a broker"))
    }

    /// Delays every answer of a broker.
    pub fn round_trip(&self, id: i32, delay: Duration) -> Result<()> {
        let done = self.cluster()?.broker_round_trip_time(id, delay);
        done.map_err(|e| Error::from_kafka(&e, "delay a broker"))
    }
}
