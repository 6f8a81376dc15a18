//! The file sink as the runtime drives it: lines, positions, and what cannot be written.

use crate::rig::{FromZero, Told, json};
use api::{Connector, ErrorKind, Result, Seat, SinkTask, TaskContext, Tolerance};
use config::Props;
use data::{Batch, Cell, RawBatchBuilder, Reject, Stage, TimestampType, TopicPartition};
use std::path::PathBuf;
use std::sync::Arc;

struct Rig {
    dir: tempfile::TempDir,
    task: Box<dyn SinkTask>,
    told: Told,
}

fn make(props: &Props, tolerance: Tolerance) -> Result<Box<dyn SinkTask>> {
    let plugin = connectors::find("FileStreamSink", props).expect("a connector");
    let Connector::Sink(sink) = (plugin.make)() else { panic!("a sink") };
    let context = TaskContext {
        connector: "c".to_owned(),
        task: 0,
        cluster_id: String::new(),
        group_id: String::new(),
        tolerance,
    };
    sink.task(&context, props)
}

fn seats(topics: &[&str]) -> Vec<Seat> {
    let seat = |topic: &&str| Seat { tp: TopicPartition::new(*topic, 0), topic_id: None };
    topics.iter().map(seat).collect()
}

impl Rig {
    fn new(pairs: &[(&str, &str)], tolerance: Tolerance) -> Rig {
        let dir = tempfile::tempdir().expect("a folder");
        let mut props: Props = pairs.iter().copied().collect();
        props.insert("file", dir.path().join("out.txt").to_str().expect("UTF-8"));
        let task = make(&props, tolerance).expect("a task");
        let mut rig = Rig { dir, task, told: Told::default() };
        let starts = rig.task.open(&seats(&["a", "b"]), &mut FromZero, &mut rig.told);
        assert_eq!(starts.expect("it opens"), [0, 0]);
        rig
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("out.txt")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("a file")
    }

    fn put(&mut self, batches: Vec<Batch>) -> Result<()> {
        self.task.put(batches, &mut self.told)
    }

    fn durable(&mut self) -> Vec<(String, i64)> {
        let told = std::mem::take(&mut self.told.durable);
        told.into_iter().map(|(tp, offset)| (tp.topic.to_string(), offset)).collect()
    }
}

fn told(pairs: &[(&str, i64)]) -> Vec<(String, i64)> {
    pairs.iter().map(|(topic, offset)| ((*topic).to_owned(), *offset)).collect()
}

/// Text values from an offset on; those that begin with `!` are rejected by the converter.
fn batch(topic: &str, from: i64, values: &[&str]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new(topic, 0));
    for (offset, value) in (from..).zip(values) {
        raw.header("h", Some(b"v"));
        raw.push(offset, 5, TimestampType::CreateTime, Some(b"k"), Some(value.as_bytes()));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(from + values.len() as i64)));
    for value in values {
        let text = batch.values.heap.put(value.as_bytes());
        batch.values.push(None, Cell::Text(text));
        batch.keys.push(None, Cell::Null);
    }
    for (row, _) in values.iter().enumerate().filter(|(_, value)| value.starts_with('!')) {
        batch.reject(Reject::data(row, Stage::ValueConverter, "C", "not like this".to_owned()));
    }
    batch
}

const ALL: (&str, &str) = ("errors.tolerance", "all");
const TOPIC: (&str, &str) = ("errors.deadletterqueue.topic.name", "dead");

#[test]
fn lines_are_written_before_positions_are_told() {
    let mut rig = Rig::new(&[], Tolerance::None);
    assert!(!rig.task.keeps_positions());
    let rows = json("a", 0, &[(None, Some(r#"{"x":[1,{"y":null}],"z":"t"}"#)), (None, None)]);
    rig.put(vec![rows, batch("b", 0, &["one", "two"])]).expect("it is written");
    assert_eq!(rig.text(), "{x=[1, {y=null}], z=t}\nnull\none\ntwo\n");
    assert_eq!(rig.durable(), told(&[("a", 2), ("b", 2)]));
    assert_eq!(rig.told.stored, 4);
    rig.put(vec![batch("b", 2, &[])]).expect("nothing to write");
    rig.put(vec![batch("b", 2, &["three"])]).expect("it is written");
    assert_eq!(rig.durable(), told(&[("b", 3)]), "only what has moved");
    rig.put(vec![batch("c", 0, &["foreign"])]).expect("it is left out");
    assert!(rig.text().ends_with("two\nthree\n"));
}

#[test]
fn what_comes_before_a_poison_record_is_written_and_nothing_behind_it() {
    let mut rig = Rig::new(&[], Tolerance::None);
    let error = rig.put(vec![batch("a", 7, &["x", "!bad", "y"])]).expect_err("it ends");
    assert_eq!(error.kind, ErrorKind::Data);
    assert!(error.report().contains("not like this"), "{}", error.report());
    assert!(error.report().contains("topic a, partition 0, offset 8"), "{}", error.report());
    assert_eq!((rig.text(), rig.durable()), ("x\n".to_owned(), told(&[("a", 8)])));
}

#[test]
fn tolerated_records_are_reported_and_hold_up_nothing_without_a_topic() {
    let mut rig = Rig::new(&[ALL], Tolerance::All);
    rig.put(vec![batch("a", 0, &["x", "!bad", "y"])]).expect("it goes on");
    assert_eq!((rig.text(), rig.durable()), ("x\ny\n".to_owned(), told(&[("a", 3)])));
    assert_eq!((rig.told.rejects.len(), rig.told.stored), (1, 2));
    assert!(rig.task.outbox(10).expect("letters").is_empty());
}

#[test]
fn positions_wait_for_the_letters_before_them() {
    let mut rig = Rig::new(&[ALL, TOPIC], Tolerance::All);
    assert!(!rig.task.keeps_letters());
    rig.put(vec![batch("a", 0, &["x", "!bad", "y", "!worse"]), batch("b", 0, &["z"])])
        .expect("it goes on");
    assert_eq!(rig.durable(), told(&[("a", 1), ("b", 1)]));
    let letters = rig.task.outbox(10).expect("letters");
    let [first, second] = letters.as_slice() else { panic!("{letters:?}") };
    assert_eq!((first.offset, second.offset, &*first.topic), (1, 3, "a"));
    assert_eq!(first.value.as_deref(), Some(&b"!bad"[..]));
    assert_eq!((first.key.as_deref(), first.timestamp), (Some(&b"k"[..]), 5));
    assert_eq!(first.headers, [("h".to_owned(), Some(b"v".to_vec()))]);
    assert_eq!((&*first.stage, &*first.message), ("VALUE_CONVERTER", "not like this"));
    rig.task.forwarded(&[first.id]).expect("noted");
    rig.task.flush(&mut rig.told).expect("it tells");
    assert_eq!(rig.durable(), told(&[("a", 3)]));
    rig.task.forwarded(&[second.id]).expect("noted");
    rig.task.flush(&mut rig.told).expect("it tells");
    assert_eq!(rig.durable(), told(&[("a", 4)]));
}

#[test]
fn letters_of_a_partition_that_is_given_back_are_somebody_elses() {
    let mut rig = Rig::new(&[ALL, TOPIC], Tolerance::All);
    rig.put(vec![batch("a", 0, &["!bad"]), batch("b", 0, &["!bad"])]).expect("it goes on");
    rig.task.close(&[TopicPartition::new("a", 0)], false, &mut rig.told);
    let letters = rig.task.outbox(10).expect("letters");
    assert_eq!(letters.iter().map(|letter| &*letter.topic).collect::<Vec<_>>(), ["b"]);
    assert_eq!(rig.durable(), []);
}

#[test]
fn bytes_have_no_text_and_are_refused() {
    let bytes = |topic: &str| {
        let mut batch = batch(topic, 0, &["text", "bytes"]);
        let span = batch.values.heap.put(b"\x00\xff");
        let mut roots = data::Roots::default();
        roots.push(None, batch.values.root(0));
        roots.push(None, Cell::Bytes(span));
        batch.values.swap_roots(roots).expect("as many");
        batch
    };
    let mut rig = Rig::new(&[ALL], Tolerance::All);
    rig.put(vec![bytes("a")]).expect("it goes on");
    assert_eq!((rig.text(), rig.durable()), ("text\n".to_owned(), told(&[("a", 2)])));
    assert_eq!(rig.told.rejects[0].stage, Stage::TaskPut);
    let mut rig = Rig::new(&[], Tolerance::None);
    let error = rig.put(vec![bytes("a")]).expect_err("it ends");
    assert!(error.message.contains("bytes have no text form"), "{}", error.message);
    assert_eq!((rig.text(), rig.durable()), ("text\n".to_owned(), told(&[("a", 1)])));
}

#[test]
fn a_disk_that_is_full_is_waited_for() {
    let props: Props = [("file", "/dev/full")].into_iter().collect();
    let mut task = make(&props, Tolerance::None).expect("a task");
    let mut told = Told::default();
    task.open(&seats(&["a"]), &mut FromZero, &mut told).expect("it opens");
    for attempt in 0..3 {
        let done = match attempt {
            0 => task.put(vec![batch("a", 0, &["x"])], &mut told),
            _ => task.flush(&mut told),
        };
        let error = done.expect_err("there is no room");
        assert_eq!(error.kind, ErrorKind::Retriable);
        assert!(error.report().contains("/dev/full"), "{}", error.report());
        assert!(error.hint.is_some() && told.durable.is_empty());
    }
}

#[test]
fn a_file_that_cannot_be_is_a_matter_of_configuration() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().to_str().expect("UTF-8").to_owned();
    for (file, hint) in
        [(folder.clone(), "name a file"), (folder + "/no/out.txt", "make the folder")]
    {
        let props: Props = [("file", &*file)].into_iter().collect();
        let mut task = make(&props, Tolerance::None).expect("a task");
        let error = task.open(&seats(&["a"]), &mut FromZero, &mut Told::default());
        let error = error.expect_err("it cannot be opened");
        assert_eq!(error.kind, ErrorKind::Config);
        assert!(error.report().contains(hint), "{}", error.report());
    }
}

#[test]
fn with_file_sync_positions_are_told_after_the_disk() {
    let mut rig = Rig::new(&[("file.sync", "true")], Tolerance::None);
    rig.put(vec![batch("a", 0, &["x"])]).expect("it is written");
    rig.task.flush(&mut rig.told).expect("it is on the disk");
    assert_eq!((rig.text(), rig.durable()), ("x\n".to_owned(), told(&[("a", 1)])));
}
