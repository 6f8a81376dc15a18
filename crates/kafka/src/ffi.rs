//! Every call into librdkafka that the safe `rdkafka` crate does not offer, and all unsafe code of
//! the project: queues of our own, batch consume, waiting on queues, commits with a deadline, the
//! mock broker's rebalance delay, admin requests.
//!
//! Invariants the callers keep: a [`Queue`] is dropped before the client it belongs to, and partition
//! queues stop being routed to it before that. Nothing here outlives the call except `Queue`.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::time::Duration;

use data::{TimestampType, TopicPartition};
use rdkafka::TopicPartitionList;
use rdkafka::client::NativeClient;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka_sys as sys;

use crate::admin::{AdminCall, Item};
use crate::lists::{Entry, c_string};
use crate::wake::millis;

/// A reference to a librdkafka queue; dropping the reference to a queue of our own discards it.
pub(crate) struct Queue(NonNull<sys::rd_kafka_queue_t>);

// SAFETY: librdkafka's queues are internally locked and may be used from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    /// A new empty queue.
    pub(crate) fn new(client: &NativeClient) -> Queue {
        // SAFETY: the client is alive; rd_kafka_queue_new never returns null.
        let ptr = unsafe { sys::rd_kafka_queue_new(client.ptr()) };
        Queue(NonNull::new(ptr).expect("rd_kafka_queue_new allocates or aborts"))
    }

    /// The consumer's queue of events; `None` without a group.
    pub(crate) fn of_consumer(client: &NativeClient) -> Option<Queue> {
        // SAFETY: the client is alive.
        NonNull::new(unsafe { sys::rd_kafka_queue_get_consumer(client.ptr()) }).map(Queue)
    }

    /// The client's main queue: delivery reports, logs, errors.
    pub(crate) fn main(client: &NativeClient) -> Queue {
        // SAFETY: the client is alive; its main queue exists as long as it does.
        let ptr = unsafe { sys::rd_kafka_queue_get_main(client.ptr()) };
        Queue(NonNull::new(ptr).expect("every client has a main queue"))
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: the queue is alive as long as self.
        unsafe { sys::rd_kafka_queue_length(self.0.as_ptr()) }
    }

    /// Writes one byte to `fd` when the queue stops being empty; `None` switches that off. The
    /// descriptor must stay open until then.
    pub(crate) fn wake_on(&self, fd: Option<BorrowedFd<'_>>) {
        let byte = b"1";
        let fd = fd.map_or(-1, |fd| fd.as_raw_fd());
        // SAFETY: the payload is copied by the call; the queue is alive.
        unsafe { sys::rd_kafka_queue_io_event_enable(self.0.as_ptr(), fd, byte.as_ptr().cast(), 1) }
    }

    /// Fetches up to `max` messages without waiting, hands each to `each` and destroys it.
    /// `buffer` is scratch space that is reused between calls. Returns the number of messages.
    pub(crate) fn drain(
        &self,
        max: usize,
        buffer: &mut MessageBuffer,
        mut each: impl FnMut(&Message<'_>),
    ) -> usize {
        buffer.0.clear();
        buffer.0.reserve(max);
        // SAFETY: the buffer has room for `max` pointers; the queue is alive.
        let (queue, into) = (self.0.as_ptr(), buffer.0.as_mut_ptr());
        let n = unsafe { sys::rd_kafka_consume_batch_queue(queue, 0, into, max) };
        let n = usize::try_from(n).unwrap_or(0).min(max);
        // SAFETY: the call has written n pointers.
        unsafe { buffer.0.set_len(n) };
        for &message in &buffer.0 {
            // SAFETY: the pointer is a live message that we own until destroyed below.
            unsafe {
                each(&Message(&*message));
                sys::rd_kafka_message_destroy(message);
            }
        }
        buffer.0.clear();
        n
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: this reference is ours and is given back once.
        unsafe { sys::rd_kafka_queue_destroy(self.0.as_ptr()) }
    }
}

/// Scratch space of [`Queue::drain`]; empty between calls.
#[derive(Default)]
pub(crate) struct MessageBuffer(Vec<*mut sys::rd_kafka_message_t>);

// SAFETY: it holds no pointers outside of `drain`.
unsafe impl Send for MessageBuffer {}

/// A fetched message or a partition's event (`code() != 0`).
pub(crate) struct Message<'a>(&'a sys::rd_kafka_message_t);

impl Message<'_> {
    /// 0 for a record, else librdkafka's or the broker's code. Read as an integer: a broker newer
    /// than the bindings may send codes the enum does not have.
    pub(crate) fn code(&self) -> i32 {
        // SAFETY: the field is a C int.
        unsafe { (&raw const self.0.err).cast::<i32>().read() }
    }

    /// Identifies the topic among messages of one [`Queue::drain`] call.
    pub(crate) fn topic_key(&self) -> usize {
        self.0.rkt as usize
    }

    pub(crate) fn topic(&self) -> Cow<'_, str> {
        if self.0.rkt.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: the topic is alive as long as the message; its name is a C string.
        unsafe { text(sys::rd_kafka_topic_name(self.0.rkt)) }
    }

    pub(crate) fn partition(&self) -> i32 {
        self.0.partition
    }

    pub(crate) fn offset(&self) -> i64 {
        self.0.offset
    }

    pub(crate) fn key(&self) -> Option<&[u8]> {
        // SAFETY: pointer and length describe the message's own memory.
        unsafe { bytes(self.0.key, self.0.key_len) }
    }

    pub(crate) fn value(&self) -> Option<&[u8]> {
        // SAFETY: as above.
        unsafe { bytes(self.0.payload, self.0.len) }
    }

    /// The library's text of an event.
    pub(crate) fn error_text(&self) -> String {
        // SAFETY: returns a C string that lives as long as the message.
        unsafe { text(sys::rd_kafka_message_errstr(self.0)).into_owned() }
    }

    /// Milliseconds since the epoch, -1 without.
    pub(crate) fn timestamp(&self) -> (i64, TimestampType) {
        use sys::rd_kafka_timestamp_type_t::*;
        let mut kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: the message is alive.
        let at = unsafe { sys::rd_kafka_message_timestamp(self.0, &mut kind) };
        match kind {
            RD_KAFKA_TIMESTAMP_CREATE_TIME => (at, TimestampType::CreateTime),
            RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME => (at, TimestampType::LogAppendTime),
            RD_KAFKA_TIMESTAMP_NOT_AVAILABLE => (-1, TimestampType::None),
        }
    }

    /// Calls `each` with every header in order.
    pub(crate) fn headers(&self, mut each: impl FnMut(&str, Option<&[u8]>)) {
        use sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR as OK;
        let (mut all, mut name, mut value, mut size) =
            (ptr::null_mut(), ptr::null(), ptr::null(), 0);
        // SAFETY: the message is alive and owns the headers; names are C strings and values are
        // described by pointer and size.
        unsafe {
            let mut index = 0;
            let mut left = sys::rd_kafka_message_headers(self.0, &mut all) == OK;
            while left {
                left = sys::rd_kafka_header_get_all(all, index, &mut name, &mut value, &mut size)
                    == OK;
                if left {
                    each(&text(name), bytes(value.cast_mut(), size));
                }
                index += 1;
            }
        }
    }
}

/// Reads a C string; null is empty, invalid UTF-8 is replaced.
unsafe fn text<'a>(ptr: *const c_char) -> Cow<'a, str> {
    if ptr.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: the caller passes a C string that lives long enough.
    unsafe { CStr::from_ptr(ptr) }.to_string_lossy()
}

unsafe fn bytes<'a>(ptr: *mut c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: the caller passes memory of that length.
    (!ptr.is_null()).then(|| unsafe { std::slice::from_raw_parts(ptr.cast::<u8>(), len) })
}

/// Sends a partition's messages to `to`, or with `None` back to where they belong. What has piled up
/// in the partition's queue moves along. Unknown partitions are ignored.
pub(crate) fn route(client: &NativeClient, tp: &TopicPartition, to: Option<&Queue>) {
    let topic = c_string(&tp.topic);
    // SAFETY: the client and `to` are alive; the partition queue's reference is given back.
    unsafe {
        let queue = sys::rd_kafka_queue_get_partition(client.ptr(), topic.as_ptr(), tp.partition);
        if queue.is_null() {
            return;
        }
        let to = to.map_or(ptr::null_mut(), |q| q.0.as_ptr());
        sys::rd_kafka_queue_forward(queue, to);
        sys::rd_kafka_queue_destroy(queue);
    }
}

/// The offset behind a partition's last record, as far as the client knows from its last fetch.
pub(crate) fn known_end(client: &NativeClient, tp: &TopicPartition) -> Option<i64> {
    let (topic, mut low, mut high) = (c_string(&tp.topic), -1, -1);
    let (rk, name, partition) = (client.ptr(), topic.as_ptr(), tp.partition);
    // SAFETY: the client and the name are alive, the numbers are written before the call returns.
    unsafe { sys::rd_kafka_get_watermark_offsets(rk, name, partition, &mut low, &mut high) };
    (high >= 0).then_some(high)
}

/// Waits until `fd` is readable or `timeout` has passed.
pub(crate) fn wait_readable(fd: BorrowedFd<'_>, timeout: Duration) {
    let millis = millis(timeout);
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry; an interrupted wait returns early, which callers allow for.
    unsafe { libc::poll(&mut entry, 1, millis) };
}

/// The entries of a list; metadata that is not UTF-8 is replaced, not refused.
pub(crate) fn entries(list: &TopicPartitionList) -> Vec<Entry> {
    // SAFETY: the list is alive.
    unsafe { read_entries(list.ptr()) }
}

unsafe fn read_entries(list: *const sys::rd_kafka_topic_partition_list_t) -> Vec<Entry> {
    // SAFETY: the caller passes a live list or none; cnt elements are initialised.
    unsafe {
        let Some(list) = list.as_ref() else { return Vec::new() };
        let entry = |e: *const sys::rd_kafka_topic_partition_t| Entry {
            tp: TopicPartition::new(text((*e).topic), (*e).partition),
            offset: (*e).offset,
            metadata: String::from_utf8_lossy(
                bytes((*e).metadata, (*e).metadata_size).unwrap_or_default(),
            )
            .into_owned(),
            code: (&raw const (*e).err).cast::<i32>().read(),
        };
        (0..usize::try_from(list.cnt).unwrap_or(0)).map(|i| entry(list.elems.add(i))).collect()
    }
}

/// Commits; the outcome arrives as an event on the consumer's own queue. (The plain asynchronous
/// commit reports its outcome to a callback only.)
pub(crate) fn commit_async(client: &NativeClient, offsets: &TopicPartitionList) -> i32 {
    match Queue::of_consumer(client) {
        Some(queue) => commit_to(client, offsets, &queue),
        None => sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__UNKNOWN_GROUP as i32,
    }
}

fn commit_to(client: &NativeClient, offsets: &TopicPartitionList, queue: &Queue) -> i32 {
    let (rk, list, queue) = (client.ptr(), offsets.ptr(), queue.0.as_ptr());
    // SAFETY: client, list and queue are alive; the list is copied.
    unsafe { sys::rd_kafka_commit_queue(rk, list, queue, None, ptr::null_mut()) as i32 }
}

/// Commits and waits for the coordinator's answer, at most `timeout`. Returns the overall code and
/// the entries with their own codes; `None` when no answer came in time.
pub(crate) fn commit(
    client: &NativeClient,
    offsets: &TopicPartitionList,
    timeout: Duration,
) -> Option<(i32, Vec<Entry>)> {
    let queue = Queue::new(client);
    let code = commit_to(client, offsets, &queue);
    if code != 0 {
        return Some((code, Vec::new()));
    }
    // SAFETY: the queue is alive; the event is destroyed after it was read.
    unsafe {
        let event = sys::rd_kafka_queue_poll(queue.0.as_ptr(), millis(timeout));
        if event.is_null() {
            return None;
        }
        let code = sys::rd_kafka_event_error(event) as i32;
        let answer = (code, read_entries(sys::rd_kafka_event_topic_partition_list(event)));
        sys::rd_kafka_event_destroy(event);
        Some(answer)
    }
}

/// The generation of a member's group; `None` without a group.
pub(crate) fn generation(client: &NativeClient) -> Option<i32> {
    // SAFETY: the client is alive; what it gives is ours, used here and destroyed.
    unsafe {
        let metadata = NonNull::new(sys::rd_kafka_consumer_group_metadata(client.ptr()))?;
        let generation = sys::rd_kafka_consumer_group_metadata_generation_id(metadata.as_ptr());
        sys::rd_kafka_consumer_group_metadata_destroy(metadata.as_ptr());
        Some(generation)
    }
}

/// Sets how long the mock broker's groups wait for more members. False if `client` has no mock.
pub(crate) fn mock_rebalance_delay(client: &NativeClient, delay_ms: i32) -> bool {
    // SAFETY: the client is alive and owns its mock cluster.
    unsafe {
        let cluster = NonNull::new(sys::rd_kafka_handle_mock_cluster(client.ptr()));
        let set = |c: NonNull<_>| {
            sys::rd_kafka_mock_group_initial_rebalance_delay_ms(c.as_ptr(), delay_ms);
        };
        cluster.map(set).is_some()
    }
}

/// Destroys a consumer with a fatal error. The plain destructor waits for ever: it asks the group to
/// close, which is refused after such an error, and then waits for it. The wrapper's own memory is
/// leaked, since its destructor would do just that.
pub(crate) fn destroy_after_fatal_error<C: ConsumerContext>(client: BaseConsumer<C>) {
    let native = client.client().native_ptr();
    // SAFETY: the client is owned and forgotten, so nobody uses or destroys it again.
    unsafe { sys::rd_kafka_destroy_flags(native, sys::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) };
    std::mem::forget(client);
}

/// Sends an admin request for one group and destroys the objects made for it.
macro_rules! group_call {
    ($rk:expr, $queue:expr, $options:expr, $call:ident, $destroy:ident, $new:expr) => {{
        let mut one = $new;
        sys::$call($rk, &mut one, 1, $options, $queue);
        sys::$destroy(one);
    }};
}

/// An admin request that was sent; its answer arrives on a queue of its own.
pub(crate) struct AdminPending(Queue);

impl AdminPending {
    /// Sends `call`, which the broker has `timeout` to answer: the one of that id, else the
    /// controller or coordinator as the request demands.
    pub(crate) fn send(
        client: &NativeClient,
        call: AdminCall<'_>,
        broker: Option<i32>,
        timeout: Duration,
    ) -> Self {
        use sys::rd_kafka_admin_op_t::*;
        let queue = Queue::new(client);
        let (rk, q) = (client.ptr(), queue.0.as_ptr());
        let (op, group) = match call {
            AdminCall::DescribeTopics(_) => (RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, ""),
            AdminCall::ListOffsets(g) => (RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, g),
            AdminCall::AlterOffsets(g, _) => (RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, g),
            AdminCall::DeleteOffsets(g, _) => (RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS, g),
        };
        let group = c_string(group);
        // SAFETY: client, queue, names and lists are alive during the calls, which copy them; each
        // object made here is destroyed once; an error buffer of size 0 is allowed.
        unsafe {
            let options = sys::rd_kafka_AdminOptions_new(rk, op);
            let ms = millis(timeout);
            sys::rd_kafka_AdminOptions_set_request_timeout(options, ms, ptr::null_mut(), 0);
            if let Some(broker) = broker {
                sys::rd_kafka_AdminOptions_set_broker(options, broker, ptr::null_mut(), 0);
            }
            match call {
                AdminCall::DescribeTopics(names) => {
                    let names: Vec<_> = names.iter().map(|n| c_string(n)).collect();
                    let mut names: Vec<_> = names.iter().map(|n| n.as_ptr()).collect();
                    let (ptr, n) = (names.as_mut_ptr(), names.len());
                    let topics = sys::rd_kafka_TopicCollection_of_topic_names(ptr, n);
                    // Null: it is no error to ask what the principal may do.
                    sys::rd_kafka_AdminOptions_set_include_authorized_operations(options, 1);
                    sys::rd_kafka_DescribeTopics(rk, topics, options, q);
                    sys::rd_kafka_TopicCollection_destroy(topics);
                }
                AdminCall::ListOffsets(_) => group_call!(
                    rk,
                    q,
                    options,
                    rd_kafka_ListConsumerGroupOffsets,
                    rd_kafka_ListConsumerGroupOffsets_destroy,
                    sys::rd_kafka_ListConsumerGroupOffsets_new(group.as_ptr(), ptr::null())
                ),
                AdminCall::AlterOffsets(_, list) => group_call!(
                    rk,
                    q,
                    options,
                    rd_kafka_AlterConsumerGroupOffsets,
                    rd_kafka_AlterConsumerGroupOffsets_destroy,
                    sys::rd_kafka_AlterConsumerGroupOffsets_new(group.as_ptr(), list.ptr())
                ),
                AdminCall::DeleteOffsets(_, list) => group_call!(
                    rk,
                    q,
                    options,
                    rd_kafka_DeleteConsumerGroupOffsets,
                    rd_kafka_DeleteConsumerGroupOffsets_destroy,
                    sys::rd_kafka_DeleteConsumerGroupOffsets_new(group.as_ptr(), list.ptr())
                ),
            }
            sys::rd_kafka_AdminOptions_destroy(options);
        }
        AdminPending(queue)
    }

    /// The answer if it comes within `timeout`: its items, or the code and text of its failure.
    pub(crate) fn poll(&self, timeout: Duration) -> Option<Result<Vec<Item>, (i32, String)>> {
        // SAFETY: the queue is alive; the event is destroyed after everything was copied out of it.
        unsafe {
            let event = sys::rd_kafka_queue_poll(self.0.0.as_ptr(), millis(timeout));
            if event.is_null() {
                return None;
            }
            let code = sys::rd_kafka_event_error(event) as i32;
            let failed = || text(sys::rd_kafka_event_error_string(event)).into_owned();
            let answer = if code == 0 { Ok(read_answer(event)) } else { Err((code, failed())) };
            sys::rd_kafka_event_destroy(event);
            Some(answer)
        }
    }
}

unsafe fn read_answer(event: *mut sys::rd_kafka_event_t) -> Vec<Item> {
    let mut n = 0;
    // SAFETY: the event is alive; each accessor is called on an event of its own type, and returns
    // an array of n live objects.
    unsafe {
        let groups = match sys::rd_kafka_event_type(event) {
            sys::RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT => {
                let result = sys::rd_kafka_event_DescribeTopics_result(event);
                let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &mut n);
                return (0..n).map(|i| read_topic(*topics.add(i))).collect();
            }
            sys::RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT => {
                let result = sys::rd_kafka_event_ListConsumerGroupOffsets_result(event);
                sys::rd_kafka_ListConsumerGroupOffsets_result_groups(result, &mut n)
            }
            sys::RD_KAFKA_EVENT_ALTERCONSUMERGROUPOFFSETS_RESULT => {
                let result = sys::rd_kafka_event_AlterConsumerGroupOffsets_result(event);
                sys::rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &mut n)
            }
            sys::RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT => {
                let result = sys::rd_kafka_event_DeleteConsumerGroupOffsets_result(event);
                sys::rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, &mut n)
            }
            _ => return Vec::new(),
        };
        let groups = (0..n).map(|i| *groups.add(i));
        groups
            .map(|g| Item {
                name: text(sys::rd_kafka_group_result_name(g)).into_owned(),
                offsets: read_entries(sys::rd_kafka_group_result_partitions(g)),
                ..read_error(sys::rd_kafka_group_result_error(g))
            })
            .collect()
    }
}

unsafe fn read_topic(topic: *const sys::rd_kafka_TopicDescription_t) -> Item {
    // SAFETY: the caller passes a live description.
    unsafe {
        let (mut partitions, mut n) = (0, 0);
        sys::rd_kafka_TopicDescription_partitions(topic, &mut partitions);
        let rights = sys::rd_kafka_TopicDescription_authorized_operations(topic, &mut n);
        let rights = (0..n).map(|i| *rights.add(i) as i32).collect();
        let id = sys::rd_kafka_TopicDescription_topic_id(topic);
        let id = id.as_ref().map_or((0, 0), |id| {
            let most = sys::rd_kafka_Uuid_most_significant_bits(id);
            (most as u64, sys::rd_kafka_Uuid_least_significant_bits(id) as u64)
        });
        let name = text(sys::rd_kafka_TopicDescription_name(topic)).into_owned();
        let error = sys::rd_kafka_TopicDescription_error(topic);
        Item { name, id, partitions, rights, ..read_error(error) }
    }
}

unsafe fn read_error(error: *const sys::rd_kafka_error_t) -> Item {
    if error.is_null() {
        return Item::default();
    }
    // SAFETY: the caller passes a live error.
    unsafe {
        let code = sys::rd_kafka_error_code(error) as i32;
        let text = text(sys::rd_kafka_error_string(error)).into_owned();
        Item { code, text, ..Item::default() }
    }
}
