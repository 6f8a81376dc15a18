//! Over the in-process broker.

use std::time::Duration;

use kafka::{
    Admin, ErrorKind, MockBroker, MockFailure, MockRequest, NoRebalance, PollLimits, Position,
    Producer, ProducerRecord, SinkConsumer, TransactionalProducer,
};

use crate::support::{DEADLINE, LIMITS, Recorder, poll_until, read, send, settings, tp, values};

fn producer(broker: &MockBroker) -> Producer {
    Producer::new(&settings(&broker.bootstrap(), &[])).unwrap()
}

fn consumer(broker: &MockBroker, group: &str) -> SinkConsumer {
    let settings = settings(&broker.bootstrap(), &[("group.id", group)]);
    SinkConsumer::new(&settings, Box::new(NoRebalance)).unwrap()
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[test]
fn records_come_in_batches_per_partition_up_to_the_end() {
    let broker = MockBroker::start(1, &[("t", 2)]).unwrap();
    let producer = producer(&broker);
    send(&producer, &tp("t", 0), 0..3000);
    send(&producer, &tp("t", 1), 5000..5100);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0), (tp("t", 1), 0)]).unwrap();
    let mut batches = Vec::new();
    let mut ends = Vec::new();
    poll_until(&mut consumer, |polled| {
        batches.extend(polled.batches);
        ends.extend(polled.ends);
        ends.len() == 2
    });
    ends.sort();
    assert_eq!(ends, [(tp("t", 0), 3000), (tp("t", 1), 100)]);
    assert_eq!(values(&batches, 0), numbers(0..3000));
    assert_eq!(values(&batches, 1), numbers(5000..5100));
    assert_eq!(consumer.position(&tp("t", 0)), Some(3000));
    consumer.close();
}

#[test]
fn one_poll_stays_within_rows_and_bytes() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    send(&producer(&broker), &tp("t", 0), 0..500);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    let mut rows = 0;
    while rows < 500 {
        let limits = PollLimits { rows_max: 7, bytes_max: 1 << 20 };
        let polled = consumer.poll(DEADLINE, limits).unwrap();
        let got: usize = polled.batches.iter().map(|b| b.len()).sum();
        assert!(got <= 7, "{got} rows");
        rows += got;
    }
    assert_eq!(consumer.position(&tp("t", 0)), Some(500));

    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    let mut rows = 0;
    while rows < 500 {
        let limits = PollLimits { rows_max: 500, bytes_max: 1000 };
        let polled = consumer.poll(DEADLINE, limits).unwrap();
        let bytes: usize = polled.batches.iter().map(|b| b.bytes()).sum();
        assert!(bytes <= 1500, "{bytes} bytes");
        rows += polled.batches.iter().map(|b| b.len()).sum::<usize>();
    }
    assert_eq!(rows, 500);
}

#[test]
fn nulls_empties_headers_and_timestamps_arrive_as_sent() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    let producer = producer(&broker);
    let headers: &[(&str, Option<&[u8]>)] = &[("h", Some(b"1")), ("h", None), ("x", Some(b""))];
    let record = ProducerRecord { topic: "t", partition: Some(0), ..ProducerRecord::default() };
    let records = [
        ProducerRecord { key: Some(b"k"), value: None, headers, timestamp: Some(1234), ..record },
        ProducerRecord { key: None, value: Some(b"v"), id: 1, ..record },
        ProducerRecord { key: Some(b""), value: Some(b""), id: 2, ..record },
    ];
    assert_eq!(producer.send_batch(&records).unwrap(), 3);
    producer.flush(DEADLINE).unwrap();
    let delivered = producer.poll(Duration::ZERO);
    let ids: Vec<_> = delivered.iter().map(|d| (d.id, d.result.clone().unwrap())).collect();
    assert_eq!(ids, [(0, (0, 0)), (1, (0, 1)), (2, (0, 2))]);
    assert_eq!(producer.in_flight(), 0);

    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    let batches = read(&mut consumer, 3);
    let rows: Vec<_> = batches.iter().flat_map(|b| (0..b.len()).map(move |r| (b, r))).collect();
    let keys: Vec<_> = rows.iter().map(|(b, r)| b.key(*r)).collect();
    assert_eq!(keys, [Some(&b"k"[..]), None, Some(&b""[..])]);
    let values: Vec<_> = rows.iter().map(|(b, r)| b.value(*r).map(|v| v.to_vec())).collect();
    assert_eq!(values, [None, Some(b"v".to_vec()), Some(Vec::new())]);
    let (first, row) = rows[0];
    assert_eq!(first.headers(row).collect::<Vec<_>>(), headers);
    assert_eq!(first.records()[row].timestamp, 1234);
    assert_eq!(first.records()[row].timestamp_type, data::TimestampType::CreateTime);
    let (second, row) = rows[1];
    assert_eq!(second.headers(row).count(), 0);
}

#[test]
fn a_large_record_passes_and_a_too_large_one_is_reported() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    let more = [("message.max.bytes", "3000000")];
    let producer = Producer::new(&settings(&broker.bootstrap(), &more)).unwrap();
    let large = vec![b'x'; 2_000_000];
    let too_large = vec![b'x'; 4_000_000];
    let record = ProducerRecord { topic: "t", partition: Some(0), ..ProducerRecord::default() };
    let records = [
        ProducerRecord { value: Some(&large), ..record },
        ProducerRecord { value: Some(&too_large), id: 1, ..record },
    ];
    assert_eq!(producer.send_batch(&records).unwrap(), 2);
    producer.flush(DEADLINE).unwrap();
    let mut outcomes = producer.poll(Duration::ZERO);
    outcomes.sort_by_key(|d| d.id);
    assert!(outcomes[0].result.is_ok());
    assert_eq!(outcomes[1].result.as_ref().unwrap_err().kind(), ErrorKind::TooLarge);

    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    let batches = read(&mut consumer, 1);
    assert_eq!(batches[0].value(0).map(|v| v.len()), Some(2_000_000));
}

#[test]
fn committed_positions_and_their_notes_survive_a_restart() {
    let broker = MockBroker::start(1, &[("t", 2)]).unwrap();
    let producer = producer(&broker);
    send(&producer, &tp("t", 0), 0..10);
    let mut first = consumer(&broker, "g");
    first.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    read(&mut first, 10);
    let done = Position::new(tp("t", 0), 4).with_metadata("mine");
    first.commit_sync(std::slice::from_ref(&done), DEADLINE).unwrap();
    drop(first);

    let mut second = consumer(&broker, "g");
    let asked = [tp("t", 1), tp("t", 0)];
    let committed = second.handle().committed(&asked, DEADLINE).unwrap();
    assert_eq!(committed, [None, Some(done)]);
    second.assign_manually(&[(tp("t", 0), 4)]).unwrap();
    let batches = read(&mut second, 6);
    assert_eq!(values(&batches, 0), numbers(4..10));

    second.commit_async(&[Position::new(tp("t", 0), 10)]).unwrap();
    poll_until(&mut second, |polled| match polled.commits.first() {
        Some(outcome) => {
            outcome.result.as_ref().unwrap();
            assert_eq!(outcome.positions[0].offset, 10);
            true
        }
        None => false,
    });
    let handle = second.handle().clone();
    second.close();
    let closed = handle.committed(&asked, DEADLINE).unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
}

/// The library's own position runs one too far after an end-of-partition event.
#[test]
fn pausing_at_the_end_skips_nothing() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    let producer = producer(&broker);
    send(&producer, &tp("t", 0), 0..5);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    let mut batches = Vec::new();
    poll_until(&mut consumer, |polled| {
        batches.extend(polled.batches);
        polled.ends.contains(&(tp("t", 0), 5))
    });
    for round in 1..4 {
        consumer.pause(&[tp("t", 0)]).unwrap();
        send(&producer, &tp("t", 0), round * 5..round * 5 + 5);
        let polled = consumer.poll(Duration::from_millis(20), LIMITS).unwrap();
        assert!(polled.batches.is_empty(), "read while paused");
        consumer.resume(&[tp("t", 0)]).unwrap();
        poll_until(&mut consumer, |polled| {
            batches.extend(polled.batches);
            polled.ends.contains(&(tp("t", 0), round as i64 * 5 + 5))
        });
    }
    assert_eq!(values(&batches, 0), numbers(0..20));
}

#[test]
fn a_position_out_of_range_is_reported_and_can_be_moved() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    send(&producer(&broker), &tp("t", 0), 0..5);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 99)]).unwrap();
    poll_until(&mut consumer, |polled| {
        assert!(polled.batches.is_empty());
        polled.errors.iter().any(|t| {
            t.error.kind() == ErrorKind::OffsetOutOfRange && t.at.as_ref() == Some(&tp("t", 0))
        })
    });
    let bounds = consumer.handle().watermarks(&tp("t", 0), DEADLINE).unwrap();
    assert_eq!((bounds.low, bounds.high), (0, 5));
    assert!(consumer.seat(&tp("t", 0), bounds.low).unwrap());
    assert_eq!(values(&read(&mut consumer, 5), 0), numbers(0..5));
    assert!(!consumer.seat(&tp("t", 7), 0).unwrap());
}

/// Records that are queued from the old position must not pass for records of the new one.
#[test]
fn moving_back_delivers_everything_again() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    send(&producer(&broker), &tp("t", 0), 0..200);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    for round in 0..20 {
        let limits = PollLimits { rows_max: 50, bytes_max: 1 << 20 };
        let mut rows = 0;
        while rows < 50 {
            rows += consumer
                .poll(DEADLINE, limits)
                .unwrap()
                .batches
                .iter()
                .map(|b| b.len())
                .sum::<usize>();
        }
        if round % 2 == 0 {
            assert!(consumer.seat(&tp("t", 0), 0).unwrap());
        } else {
            consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
        }
    }
    assert_eq!(values(&read(&mut consumer, 200), 0), numbers(0..200));
}

#[test]
fn a_group_member_is_assigned_seats_late_and_leaves() {
    for strategy in ["cooperative-sticky", "range"] {
        let broker = MockBroker::start(1, &[("t", 2)]).unwrap();
        let producer = producer(&broker);
        send(&producer, &tp("t", 0), 0..10);
        send(&producer, &tp("t", 1), 0..10);
        let recorder = Recorder::default();
        recorder.0.lock().unwrap().starts.insert(tp("t", 0), 3);
        recorder.0.lock().unwrap().later.push(tp("t", 1));
        let more = [("group.id", "g"), ("partition.assignment.strategy", strategy)];
        let settings = settings(&broker.bootstrap(), &more);
        let mut consumer = SinkConsumer::new(&settings, Box::new(recorder.clone())).unwrap();
        consumer.subscribe(&["t"]).unwrap();
        let batches = read(&mut consumer, 7);
        assert_eq!(values(&batches, 0), numbers(3..10), "{strategy}");
        assert_eq!(consumer.assignment(), [tp("t", 0), tp("t", 1)]);
        assert!(consumer.seat(&tp("t", 1), 8).unwrap());
        let batches = read(&mut consumer, 2);
        assert_eq!(values(&batches, 1), numbers(8..10), "{strategy}");
        consumer.leave();
        assert!(recorder.0.lock().unwrap().held.is_empty());
        assert_eq!(recorder.0.lock().unwrap().lost, 0);
    }
}

#[test]
fn topics_are_found_by_pattern_and_listed() {
    let broker = MockBroker::start(1, &[("orders.eu", 1), ("orders.us", 1), ("other", 3)]).unwrap();
    let producer = producer(&broker);
    for topic in ["orders.eu", "orders.us", "other"] {
        send(&producer, &tp(topic, 0), 0..1);
    }
    let settings = settings(&broker.bootstrap(), &[("group.id", "g")]);
    let mut consumer = SinkConsumer::new(&settings, Box::<Recorder>::default()).unwrap();
    consumer.subscribe_regex(&["orders\\..*"]).unwrap();
    let batches = read(&mut consumer, 2);
    let mut topics: Vec<_> = batches.iter().map(|b| b.topic().to_string()).collect();
    topics.sort();
    assert_eq!(topics, ["orders.eu", "orders.us"]);
    let mut all = consumer.handle().list_topics(DEADLINE).unwrap();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let all: Vec<_> = all.iter().map(|t| (t.name.as_str(), t.partitions)).collect();
    assert_eq!(all, [("orders.eu", 1), ("orders.us", 1), ("other", 3)]);
    let one = consumer.handle().topic("other", DEADLINE).unwrap();
    assert_eq!(one.partitions, 3);
}

#[test]
fn an_unreachable_broker_is_named_and_the_poll_goes_on() {
    // Nobody listens on port 1.
    let settings = settings("127.0.0.1:1", &[("group.id", "g")]);
    let mut consumer = SinkConsumer::new(&settings, Box::new(NoRebalance)).unwrap();
    consumer.subscribe(&["t"]).unwrap();
    poll_until(&mut consumer, |polled| {
        let named = polled.errors.iter().find(|t| t.error.to_string().contains("127.0.0.1:1"));
        named.is_some_and(|t| t.error.kind() == ErrorKind::Unreachable)
    });
    let asked = consumer.handle().committed(&[tp("t", 0)], Duration::from_millis(300));
    let error = asked.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    consumer.leave();
}

#[test]
fn a_broker_that_comes_back_is_read_on_without_gap() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    let producer = producer(&broker);
    send(&producer, &tp("t", 0), 0..10);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    let mut batches = read(&mut consumer, 10);
    broker.broker_down(1).unwrap();
    poll_until(&mut consumer, |polled| {
        polled.errors.iter().any(|t| t.error.kind() == ErrorKind::Unreachable)
    });
    broker.broker_up(1).unwrap();
    send(&producer, &tp("t", 0), 10..20);
    batches.extend(read(&mut consumer, 10));
    assert_eq!(values(&batches, 0), numbers(0..20));
}

#[test]
fn a_failed_commit_is_typed() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    send(&producer(&broker), &tp("t", 0), 0..1);
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    read(&mut consumer, 1);
    broker.fail(MockRequest::OffsetCommit, &[MockFailure::FencedInstance]).unwrap();
    let error = consumer.commit_sync(&[Position::new(tp("t", 0), 1)], DEADLINE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
}

#[test]
fn another_thread_can_end_the_wait() {
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    poll_until(&mut consumer, |polled| !polled.ends.is_empty());
    let waker = consumer.waker();
    std::thread::scope(|scope| {
        scope.spawn(move || waker.wake());
        let polled = consumer.poll(Duration::from_secs(3600), LIMITS).unwrap();
        assert!(polled.batches.is_empty());
    });
}

#[test]
fn a_transaction_carries_records_and_offsets() {
    let broker = MockBroker::start(1, &[("t", 1), ("out", 1)]).unwrap();
    let more = [("transactional.id", "x")];
    let producer = TransactionalProducer::new(&settings(&broker.bootstrap(), &more)).unwrap();
    producer.init(DEADLINE).unwrap();
    let mut consumer = consumer(&broker, "g");
    consumer.assign_manually(&[(tp("t", 0), 0)]).unwrap();
    producer.begin().unwrap();
    let record = ProducerRecord { topic: "out", value: Some(b"v"), ..ProducerRecord::default() };
    producer.send(&record).unwrap();
    let group = consumer.handle().group_metadata().unwrap();
    producer.send_offsets(&[Position::new(tp("t", 0), 1)], &group, DEADLINE).unwrap();
    producer.commit(DEADLINE).unwrap();
    assert!(producer.poll(Duration::ZERO)[0].result.is_ok());
    producer.begin().unwrap();
    producer.send(&record).unwrap();
    producer.abort(DEADLINE).unwrap();
    consumer.close();
}

#[test]
fn admin_questions_are_answered_as_far_as_the_mock_goes() {
    let broker = MockBroker::start(1, &[("t", 2)]).unwrap();
    send(&producer(&broker), &tp("t", 0), 0..5);
    let admin = Admin::new(&settings(&broker.bootstrap(), &[])).unwrap();
    assert!(admin.cluster_id(DEADLINE).is_some());
    let described = admin.describe_topics(&["t"], DEADLINE).unwrap().remove(0).unwrap();
    assert_eq!((described.name.as_str(), described.partitions), ("t", 2));
    let moved = [Position::new(tp("t", 0), 3).with_metadata("m")];
    admin.alter_group_offsets("g", &moved, DEADLINE).unwrap();
    let consumer = consumer(&broker, "g");
    let committed = consumer.handle().committed(&[tp("t", 0)], DEADLINE).unwrap();
    assert_eq!(committed, [Some(moved[0].clone())]);
    assert_eq!(admin.watermarks(&tp("t", 0), DEADLINE).unwrap().high, 5);
}

/// What stands in the way of a connection stays the reason while it lasts.
#[test]
fn an_unreachable_broker_is_explained() {
    let closing = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = closing.local_addr().unwrap().to_string();
    drop(closing);
    let broker = MockBroker::start(1, &[("t", 1)]).unwrap();
    let plain = broker.bootstrap();
    for (address, protocol, cause) in [
        (closed.as_str(), "plaintext", "Connection refused"),
        ("no-such-host.invalid:9092", "plaintext", "Failed to resolve"),
        (plain.as_str(), "ssl", "SSL handshake failed"),
    ] {
        let admin = Admin::new(&settings(address, &[("security.protocol", protocol)])).unwrap();
        let deadline = std::time::Instant::now() + DEADLINE;
        loop {
            assert_eq!(admin.cluster_id(Duration::from_millis(200)), None);
            let text = admin.why_silent().to_string();
            if text.contains(cause) {
                assert!(text.starts_with("cannot reach kafka broker"), "{text}");
                assert!(text.contains(address), "{text}");
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{address}: {text}");
        }
        admin.take_errors();
        assert!(admin.why_silent().to_string().contains(cause), "told once, known for good");
    }
}

/// A coordinator that has moved while it is asked is looked for again; the process lives.
#[test]
fn offsets_of_a_group_are_asked_of_a_coordinator_that_has_moved() {
    let broker = MockBroker::start(3, &[("t", 1)]).unwrap();
    let admin = Admin::new(&settings(&broker.bootstrap(), &[])).unwrap();
    broker.fail(MockRequest::OffsetFetch, &[MockFailure::NotCoordinator]).unwrap();
    let moved = admin.group_offsets("g", DEADLINE);
    assert!(moved.as_ref().is_ok_and(Vec::is_empty) || moved.is_err_and(|e| e.is_retriable()));
    assert_eq!(admin.group_offsets("g", DEADLINE).unwrap(), []);
}
