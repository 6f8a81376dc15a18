//! Administration: topics, offsets by time, group offsets.
//!
//! Calls block the calling thread until the brokers have answered or the timeout has passed; they
//! belong on a thread of their own. Every answer is read down to its innermost error: for group
//! offsets the partition's error is the one that tells of live members.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::Thread;
use std::time::{Duration, Instant};

use data::TopicPartition;
use rdkafka::TopicPartitionList;
use rdkafka::admin::{
    AdminClient, AdminOptions, NewTopic as NativeTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::{ClientContext, DefaultClientContext};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};

use crate::consumer::Watermarks;
use crate::error::{Error, ErrorKind, Result};
use crate::ffi::AdminPending;
use crate::lists::{self, Entry, Position};
use crate::metadata::{self, Topic};
use crate::options::{self, ClientSettings};
use crate::report::Reporter;
use crate::wake::deadline;

/// A topic to create; `partitions` or `replication` -1 is the broker's default.
#[derive(Clone, Debug)]
pub struct NewTopic {
    pub name: String,
    pub partitions: i32,
    pub replication: i32,
    /// Topic settings, for example `cleanup.policy`.
    pub configs: Vec<(String, String)>,
}

impl NewTopic {
    /// A topic with the broker's default replication.
    pub fn new(name: impl Into<String>, partitions: i32) -> NewTopic {
        NewTopic { name: name.into(), partitions, replication: -1, configs: Vec::new() }
    }

    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> NewTopic {
        self.configs.push((key.into(), value.into()));
        self
    }
}

/// A topic's identity, which a topic of the same name created later does not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TopicId(pub u128);

impl std::fmt::Display for TopicId {
    /// As a UUID, for example `f3a1…-…`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = format!("{:032x}", self.0);
        let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
        let parts = parts.map(|(from, to)| hex.get(from..to).unwrap_or_default());
        f.write_str(&parts.join("-"))
    }
}

/// A topic as `describe_topics` finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    pub name: String,
    pub partitions: usize,
    /// `None` where the broker does not say: unknown, never "different".
    pub id: Option<TopicId>,
}

/// The admin requests that the safe crate lacks.
#[derive(Clone, Copy)]
pub(crate) enum AdminCall<'a> {
    DescribeTopics(&'a [&'a str]),
    ListOffsets(&'a str),
    AlterOffsets(&'a str, &'a TopicPartitionList),
    DeleteOffsets(&'a str, &'a TopicPartitionList),
}

/// One topic or group of an admin answer.
#[derive(Default)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) code: i32,
    pub(crate) text: String,
    /// A group's partitions, each with a code of its own: the one that tells of live members.
    pub(crate) offsets: Vec<Entry>,
    /// A topic's id, most significant half first; zero where the broker has none.
    pub(crate) id: (u64, u64),
    pub(crate) partitions: usize,
    /// What the principal may do with a topic, in Kafka's numbers; none where that is not told.
    pub(crate) rights: Vec<i32>,
}

pub(super) struct AdminContext(Reporter);

impl ClientContext for AdminContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.log(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(&error, reason);
    }

    fn stats_raw(&self, _: &[u8]) {}
}

impl ConsumerContext for AdminContext {}

/// The admin client.
pub struct Admin {
    pub(super) client: BaseConsumer<AdminContext>,
    settings: ClientSettings,
}

impl Admin {
    /// Creates the client; connects in the background.
    pub fn new(settings: &ClientSettings) -> Result<Admin> {
        let bootstrap = settings.get("bootstrap.servers").map(String::as_str);
        let context = AdminContext(Reporter::new("admin client".to_owned(), bootstrap));
        let client = options::admin(settings)
            .create_with_context(context)
            .map_err(|e| Error::from_kafka(&e, "create kafka admin client"))?;
        Ok(Admin { client, settings: settings.clone() })
    }

    /// A client that is of a group, though it never joins: where the group's coordinator has moved,
    /// librdkafka (2.12.1, `rd_kafka_handle_OffsetFetch`) looks for it through the client's own group, and
    /// a client without one crashes the process.
    fn of_group(&self, group: &str, what: &str) -> Result<Admin> {
        let bootstrap = self.settings.get("bootstrap.servers").map(String::as_str);
        let context = AdminContext(Reporter::new("admin client".to_owned(), bootstrap));
        let mut config = options::admin(&self.settings);
        config.set("group.id", group);
        let client =
            config.create_with_context(context).map_err(|e| Error::from_kafka(&e, what))?;
        Ok(Admin { client, settings: self.settings.clone() })
    }

    pub(super) fn explain(&self, error: Error) -> Error {
        self.serve();
        self.client.context().0.explain(error)
    }

    /// Serves log lines and errors, which explain failures. Bounded: they may keep coming.
    fn serve(&self) {
        for _ in 0..64 {
            let _ = self.client.poll(Duration::ZERO);
        }
    }

    /// Connection and other global errors since the last call.
    pub fn take_errors(&self) -> VecDeque<Error> {
        self.serve();
        self.client.context().0.take()
    }

    /// Why no broker answers, as far as that is known; names the broker's address.
    pub fn why_silent(&self) -> Error {
        self.serve();
        self.client.context().0.why_silent()
    }

    /// Every topic the principal may see.
    pub fn list_topics(&self, timeout: Duration) -> Result<Vec<Topic>> {
        metadata::list_topics(self.client.client(), timeout).map_err(|e| self.explain(e))
    }

    /// One topic; `ErrorKind::UnknownTopic` if it does not exist.
    pub fn topic(&self, name: &str, timeout: Duration) -> Result<Topic> {
        metadata::topic(self.client.client(), name, timeout).map_err(|e| self.explain(e))
    }

    /// The cluster's id; `None` if no broker answers in time or the broker has none.
    pub fn cluster_id(&self, timeout: Duration) -> Option<String> {
        metadata::cluster_id(self.client.client(), timeout)
    }

    pub fn watermarks(&self, tp: &TopicPartition, timeout: Duration) -> Result<Watermarks> {
        match self.client.fetch_watermarks(&tp.topic, tp.partition, timeout) {
            Ok((low, high)) => Ok(Watermarks { low, high }),
            Err(e) => {
                let what = format!("read the first and last offset of {tp}");
                Err(self.explain(Error::from_kafka(&e, &what)))
            }
        }
    }

    /// The first offset at or after each timestamp (milliseconds since the epoch), in the order
    /// asked; `None` where no record is that young.
    pub fn offsets_for_times(
        &self,
        times: &[(TopicPartition, i64)],
        timeout: Duration,
    ) -> Result<Vec<Option<i64>>> {
        metadata::offsets_for_times(&self.client, times, timeout).map_err(|e| self.explain(e))
    }

    /// The offset behind the last record of each partition, in the order asked; with the setting
    /// `isolation.level=read_uncommitted` also behind transactions that are open.
    pub fn ends(
        &self,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Result<Vec<Option<i64>>> {
        metadata::ends(&self.client, partitions, timeout).map_err(|e| self.explain(e))
    }

    /// Creates topics; the outcome of each in the order asked. `ErrorKind::TopicExists` is one.
    pub fn create_topics(&self, topics: &[NewTopic], timeout: Duration) -> Result<Vec<Result<()>>> {
        self.create(topics, timeout, false)
    }

    /// Whether these topics could be created; the outcome of each in the order asked. Nothing is
    /// created.
    pub fn try_create_topics(
        &self,
        topics: &[NewTopic],
        timeout: Duration,
    ) -> Result<Vec<Result<()>>> {
        self.create(topics, timeout, true)
    }

    fn create(
        &self,
        topics: &[NewTopic],
        timeout: Duration,
        only_try: bool,
    ) -> Result<Vec<Result<()>>> {
        let native: Vec<NativeTopic<'_>> = topics.iter().map(native_topic).collect();
        let what = "create topics";
        let answer = self.with_admin(what, timeout, |admin, _| {
            let options = AdminOptions::new()
                .request_timeout(Some(timeout))
                .operation_timeout(Some(timeout))
                .validate_only(only_try);
            block_on(admin.create_topics(&native, &options), timeout)
        })?;
        let names = topics.iter().map(|t| t.name.as_str());
        Ok(names.map(|name| outcome(&answer, name, &format!("create topic '{name}'"))).collect())
    }

    /// A topic's settings, defaults included.
    pub fn topic_settings(
        &self,
        name: &str,
        timeout: Duration,
    ) -> Result<Vec<(String, Option<String>)>> {
        let what = format!("read the settings of topic '{name}'");
        let topic = ResourceSpecifier::Topic(name);
        let answer = self.with_admin(&what, timeout, |admin, options| {
            block_on(admin.describe_configs([&topic], options), timeout)
        })?;
        let missing = || Error::from_code(Code::UnknownTopicOrPartition as i32, &what, None);
        let found = answer.into_iter().next().ok_or_else(missing)?;
        let found = found.map_err(|code| Error::from_code(code as i32, &what, None))?;
        Ok(found.entries.into_iter().map(|entry| (entry.name, entry.value)).collect())
    }

    /// Deletes topics; the outcome of each in the order asked.
    pub fn delete_topics(&self, names: &[&str], timeout: Duration) -> Result<Vec<Result<()>>> {
        let answer = self.with_admin("delete topics", timeout, |admin, options| {
            block_on(admin.delete_topics(names, options), timeout)
        })?;
        let names = names.iter();
        Ok(names.map(|name| outcome(&answer, name, &format!("delete topic '{name}'"))).collect())
    }

    /// Deletes a group with its offsets; it must have no members.
    pub fn delete_group(&self, group: &str, timeout: Duration) -> Result<()> {
        let answer = self.with_admin("delete a group", timeout, |admin, options| {
            block_on(admin.delete_groups(&[group], options), timeout)
        })?;
        outcome(&answer, group, &format!("delete group '{group}'"))
    }

    /// The id and partitions of topics, in the order asked.
    pub fn describe_topics(
        &self,
        names: &[&str],
        timeout: Duration,
    ) -> Result<Vec<Result<TopicInfo>>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let items = self.call(AdminCall::DescribeTopics(names), "describe topics", timeout)?;
        let of = |name: &&str| {
            let what = format!("describe topic '{name}'");
            let missing = || Error::from_code(Code::UnknownTopicOrPartition as i32, &what, None);
            let item = items.iter().find(|i| i.name == **name).ok_or_else(missing)?;
            check(item.code, &item.text, &what)?;
            let id = (u128::from(item.id.0) << 64) | u128::from(item.id.1);
            let id = (id != 0).then_some(TopicId(id));
            Ok(TopicInfo { name: item.name.clone(), partitions: item.partitions, id })
        };
        Ok(names.iter().map(of).collect())
    }

    /// Every position the group has committed. Makes a client of its own for each call.
    pub fn group_offsets(&self, group: &str, timeout: Duration) -> Result<Vec<Position>> {
        let what = format!("list the offsets of group '{group}'");
        let asking = self.of_group(group, &what)?;
        let items = asking.call(AdminCall::ListOffsets(group), &what, timeout)?;
        let mut out = Vec::new();
        for entry in items.into_iter().flat_map(|item| item.offsets) {
            check(entry.code, "", &what).map_err(|e| e.about(&entry.tp))?;
            if entry.offset >= 0 {
                out.push(Position::new(entry.tp, entry.offset).with_metadata(entry.metadata));
            }
        }
        Ok(out)
    }

    /// Sets the group's positions. The group must have no members (`ErrorKind::GroupNotEmpty`).
    pub fn alter_group_offsets(
        &self,
        group: &str,
        positions: &[Position],
        timeout: Duration,
    ) -> Result<()> {
        if positions.is_empty() {
            return Ok(());
        }
        let list = lists::with_metadata(positions)?;
        let what = format!("set the offsets of group '{group}'");
        self.call(AdminCall::AlterOffsets(group, &list), &what, timeout).map(drop)
    }

    /// Forgets the group's positions of these partitions. No member may subscribe to their topics.
    pub fn delete_group_offsets(
        &self,
        group: &str,
        partitions: &[TopicPartition],
        timeout: Duration,
    ) -> Result<()> {
        if partitions.is_empty() {
            return Ok(());
        }
        let list = lists::partitions(partitions);
        let what = format!("delete offsets of group '{group}'");
        self.call(AdminCall::DeleteOffsets(group, &list), &what, timeout).map(drop)
    }

    fn any_broker(&self, what: &str, timeout: Duration) -> Result<i32> {
        // The topic is one that no cluster has: the answer is short and has the brokers all the same.
        let answer = self.client.client().fetch_metadata(Some("-"), timeout);
        let answer = answer.map_err(|e| self.explain(Error::from_kafka(&e, what)))?;
        let first = answer.brokers().first().map(|b| b.id());
        first.ok_or_else(|| Error::new(ErrorKind::Unreachable, format!("{what}: no broker is up")))
    }

    /// Sends a call, waits, and reads errors down to the partition.
    pub(super) fn call(
        &self,
        call: AdminCall<'_>,
        what: &str,
        timeout: Duration,
    ) -> Result<Vec<Item>> {
        const SLICE: Duration = Duration::from_millis(100);
        let deadline = deadline(timeout);
        // Any broker describes topics; the controller, which is the default, may be one that clients
        // cannot reach.
        let broker = match call {
            AdminCall::DescribeTopics(_) => Some(self.any_broker(what, timeout)?),
            _ => None,
        };
        let native = self.client.client().native_client();
        let pending = AdminPending::send(native, call, broker, timeout);
        let answer = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(answer) = pending.poll(left.min(SLICE)) {
                break answer;
            }
            self.serve();
            if left.is_zero() {
                break Err((Code::OperationTimedOut as i32, String::new()));
            }
        };
        let items = answer
            .map_err(|(code, text)| self.explain(Error::from_code(code, what, Some(&text))))?;
        if !matches!(call, AdminCall::DescribeTopics(_)) {
            for item in &items {
                check(item.code, &item.text, what)?;
                for entry in &item.offsets {
                    check(entry.code, "", what).map_err(|e| e.about(&entry.tp))?;
                }
            }
        }
        Ok(items)
    }

    /// Runs a call of the safe admin client, which has a thread of its own and lives for one call.
    fn with_admin<T>(
        &self,
        what: &str,
        timeout: Duration,
        call: impl FnOnce(&AdminClient<DefaultClientContext>, &AdminOptions) -> KafkaResult<T>,
    ) -> Result<T> {
        let options =
            AdminOptions::new().request_timeout(Some(timeout)).operation_timeout(Some(timeout));
        let failed = |e: KafkaError| {
            let timed_out = matches!(e, KafkaError::Canceled);
            let code = match &e {
                KafkaError::AdminOp(code) => *code as i32,
                _ if timed_out => Code::OperationTimedOut as i32,
                _ => return self.explain(Error::from_kafka(&e, what)),
            };
            self.explain(Error::from_code(code, what, None))
        };
        let admin: AdminClient<DefaultClientContext> =
            options::admin(&self.settings).create().map_err(|e| Error::from_kafka(&e, what))?;
        call(&admin, &options).map_err(failed)
    }
}

fn native_topic(topic: &NewTopic) -> NativeTopic<'_> {
    let mut new =
        NativeTopic::new(&topic.name, topic.partitions, TopicReplication::Fixed(topic.replication));
    for (key, value) in &topic.configs {
        new = new.set(key, value);
    }
    new
}

fn outcome(
    answer: &[std::result::Result<String, (String, Code)>],
    name: &str,
    what: &str,
) -> Result<()> {
    for one in answer {
        match one {
            Ok(n) if n == name => return Ok(()),
            Err((n, code)) if n == name => return Err(Error::from_code(*code as i32, what, None)),
            _ => {}
        }
    }
    Err(Error::new(ErrorKind::Other, format!("{what}: the broker's answer does not name it")))
}

pub(super) fn check(code: i32, text: &str, what: &str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error::from_code(code, what, Some(text))) }
}

struct Unpark(Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for an admin future on this thread. Somewhat longer than `timeout`, within which the library
/// itself ends the request; beyond that it counts as cancelled.
fn block_on<T>(future: impl Future<Output = KafkaResult<T>>, timeout: Duration) -> KafkaResult<T> {
    let deadline = deadline(timeout) + Duration::from_secs(2);
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(KafkaError::Canceled);
        }
        std::thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_ids_are_written_as_uuids() {
        let id = TopicId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0123-456789abcdef");
    }

    #[test]
    fn outcomes_are_found_by_name() {
        let answer = [Ok("a".to_owned()), Err(("b".to_owned(), Code::TopicAlreadyExists))];
        assert!(outcome(&answer, "a", "create").is_ok());
        assert_eq!(outcome(&answer, "b", "create").unwrap_err().kind(), ErrorKind::TopicExists);
        assert_eq!(outcome(&answer, "c", "create").unwrap_err().kind(), ErrorKind::Other);
    }
}
