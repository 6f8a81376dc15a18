//! The broker of the run, in this process or the user's, with the topic of orders.

use super::interrupt::Interrupt;
use super::screen::number;
use crate::exit::Failure;
use kafka::{Admin, ClientSettings, ErrorKind, MockBroker, NewTopic};
use std::time::{Duration, Instant};

/// Orders go to a partition by their number.
pub(super) const PARTITIONS: i32 = 4;
/// The in-process broker drops the oldest records of a partition beyond 5 MB or 100,000 records.
/// With so many unread ones it stays far below both.
const UNREAD_MAX: u64 = 60_000;
/// A broker that does not answer within this is not there.
const REACH_WITHIN: Duration = Duration::from_secs(10);
/// Requests are cut into pieces of this, so that Ctrl-C is noticed.
const SLICE: Duration = Duration::from_millis(500);
const REQUEST: Duration = Duration::from_secs(15);

pub(super) enum Source {
    /// It ends with this value.
    InProcess {
        _broker: MockBroker,
        bootstrap: String,
        topic: String,
    },
    Kafka {
        admin: Admin,
        bootstrap: String,
        topic: String,
    },
}

impl Source {
    pub(super) fn in_process(topic: &str) -> Result<Source, Failure> {
        let partitions = usize::try_from(PARTITIONS).unwrap_or(1);
        let broker = MockBroker::start(1, &[(topic, partitions)]).map_err(|error| Failure {
            code: 1,
            message: format!("the in-process broker does not start: {error}"),
            hint: Some("use a broker of your own: --bootstrap-servers HOST:PORT".to_owned()),
        })?;
        let bootstrap = broker.bootstrap();
        Ok(Source::InProcess { _broker: broker, bootstrap, topic: topic.to_owned() })
    }

    /// Makes the topic on the user's broker.
    pub(super) fn kafka(
        bootstrap: &str,
        topic: &str,
        interrupt: &Interrupt,
    ) -> Result<Source, Failure> {
        let admin = Admin::new(&settings(bootstrap)).map_err(|error| {
            Failure::wrong_input(format!("--bootstrap-servers {bootstrap}: {error}"))
                .hint("write HOST:PORT, several of them with commas between")
        })?;
        reach(&admin, bootstrap, interrupt)?;
        let refused = |error: &kafka::Error| {
            let failure =
                Failure::unavailable(format!("cannot make a topic on {bootstrap}: {error}"));
            failure.hint(error.hint().unwrap_or("the user needs the right to create topics"))
        };
        let made = admin.create_topics(&[NewTopic::new(topic, PARTITIONS)], REQUEST);
        match made.map(|made| made.into_iter().next()) {
            Ok(Some(Err(error))) | Err(error) => return Err(refused(&error)),
            Ok(_) => {}
        }
        Ok(Source::Kafka { admin, bootstrap: bootstrap.to_owned(), topic: topic.to_owned() })
    }

    pub(super) fn bootstrap(&self) -> &str {
        match self {
            Source::InProcess { bootstrap, .. } | Source::Kafka { bootstrap, .. } => bootstrap,
        }
    }

    pub(super) fn topic(&self) -> &str {
        match self {
            Source::InProcess { topic, .. } | Source::Kafka { topic, .. } => topic,
        }
    }

    pub(super) fn is_in_process(&self) -> bool {
        matches!(self, Source::InProcess { .. })
    }

    /// Records that may be in the topic before the worker has stored them.
    pub(super) fn unread_max(&self) -> u64 {
        if self.is_in_process() { UNREAD_MAX } else { u64::MAX }
    }

    /// Where it is, for people.
    pub(super) fn describe(&self) -> String {
        let (bootstrap, topic) = (self.bootstrap(), self.topic());
        match self {
            Source::InProcess { .. } => format!(
                "in this process at {bootstrap}, topic {topic} (in memory, the last {} MB)",
                number(5 * u64::try_from(PARTITIONS).unwrap_or(1))
            ),
            Source::Kafka { .. } => format!("{bootstrap}, topic {topic}"),
        }
    }

    /// Settings of the producer.
    pub(super) fn producer(&self) -> ClientSettings {
        let mut settings = settings(self.bootstrap());
        settings.insert("client.id".to_owned(), "copycat-quickstart".to_owned());
        settings.insert("linger.ms".to_owned(), "5".to_owned());
        match self {
            // It knows no producer ids to speak of, and nothing is lost between two threads.
            Source::InProcess { .. } => {
                settings.insert("enable.idempotence".into(), "false".into())
            }
            Source::Kafka { .. } => settings.insert("compression.type".into(), "lz4".into()),
        };
        settings
    }

    /// Removes topic and group from the user's broker. The group must have been let go.
    pub(super) fn remove(&self, group: &str) -> Result<(), Failure> {
        let Source::Kafka { admin, bootstrap, topic } = self else { return Ok(()) };
        let deadline = Instant::now() + REACH_WITHIN;
        let gone = loop {
            match admin.delete_group(group, REQUEST) {
                Err(error)
                    if error.kind() == ErrorKind::GroupNotEmpty && Instant::now() < deadline =>
                {
                    std::thread::park_timeout(Duration::from_millis(100));
                }
                done => break done,
            }
        };
        let deleted = admin.delete_topics(&[topic], REQUEST);
        let deleted = deleted.and_then(|done| done.into_iter().next().unwrap_or(Ok(())));
        deleted.and(gone).map_err(|error| {
            Failure::unavailable(format!("{bootstrap} was not cleaned up: {error}"))
                .hint(format!("remove topic {topic} and group {group} yourself"))
        })
    }
}

fn settings(bootstrap: &str) -> ClientSettings {
    [("bootstrap.servers".to_owned(), bootstrap.to_owned())].into_iter().collect()
}

/// Waits for an answer of the broker.
fn reach(admin: &Admin, bootstrap: &str, interrupt: &Interrupt) -> Result<(), Failure> {
    let deadline = Instant::now() + REACH_WITHIN;
    // What happened to the connection tells more than the request that had no answer.
    let mut cause = None;
    loop {
        let Err(error) = admin.list_topics(SLICE) else { return Ok(()) };
        let tells = |error: &kafka::Error| !error.to_string().ends_with("brokers are down");
        cause = cause.or_else(|| admin.take_errors().into_iter().find(tells));
        if interrupt.is_set() {
            return Err(Failure::unavailable(format!("{bootstrap} has not answered yet")));
        }
        if !error.is_retriable() || Instant::now() >= deadline {
            let error = cause.unwrap_or(error);
            let hint = error.hint().unwrap_or("is it the address of a running Kafka broker?");
            let message = format!("no answer from Kafka: {error}");
            return Err(Failure::unavailable(message)
                .hint(format!("{hint}; without --bootstrap-servers none is needed")));
        }
    }
}
