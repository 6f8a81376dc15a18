//! The task as the runtime drives it: what is read, where it goes on, and what can go wrong.

use super::input::Input;
use super::task::FileTask;
use super::*;
use api::{ErrorKind, PollLimits, SourceBatch, StoredOffsets};
use std::io::Write;
use std::path::{Path, PathBuf};

struct At(Option<i64>);

impl StoredOffsets for At {
    fn offset(&self, partition: &SourceMap) -> Result<Option<SourceMap>> {
        assert!(partition.contains_key("filename"));
        Ok(self.0.map(|position| SourceMap::from_iter([("position".to_owned(), position.into())])))
    }
}

const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 1 << 20 };

/// A file in a folder of its own, and a task on it.
struct Rig {
    dir: tempfile::TempDir,
    task: FileTask,
}

impl Rig {
    fn new(text: Option<&[u8]>, batch_size: usize) -> Rig {
        Rig::at(text, batch_size, None)
    }

    fn at(text: Option<&[u8]>, batch_size: usize, position: Option<i64>) -> Rig {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.txt");
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let name = path.to_str().unwrap().to_owned();
        let mut task = FileTask::new(Some(name), "t", batch_size);
        task.start(&At(position)).unwrap();
        Rig { dir, task }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("in.txt")
    }

    fn append(&self, text: &[u8]) {
        append(&self.path(), text);
    }

    /// Every line that is there at the moment, with the position after it.
    fn read(&mut self) -> Vec<(String, i64)> {
        let mut lines = Vec::new();
        loop {
            let polled = self.task.poll(&LIMITS).unwrap();
            for batch in &polled.batches {
                lines.extend(texts(batch));
            }
            if polled.batches.is_empty() && polled.idle != Some(std::time::Duration::ZERO) {
                return lines;
            }
        }
    }

    fn lines(&mut self) -> Vec<String> {
        self.read().into_iter().map(|(line, _)| line).collect()
    }

    fn wait_no_longer(&mut self) {
        if let Some(Input::File(file)) = self.task.input() {
            file.wait_no_longer();
        }
    }
}

fn append(path: &Path, text: &[u8]) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text).unwrap();
}

fn texts(batch: &SourceBatch) -> Vec<(String, i64)> {
    let values = &batch.records.values;
    let of = |row| {
        let data::Cell::Text(span) = values.root(row) else { panic!("text") };
        let offset = batch.offsets.after(row).unwrap();
        (values.text(span).to_owned(), offset.get("position").and_then(Value::as_i64).unwrap())
    };
    (0..batch.records.len()).map(of).collect()
}

#[test]
fn a_missing_file_is_waited_for_and_said_so() {
    let mut rig = Rig::new(None, 10);
    for _ in 0..3 {
        assert_eq!(rig.lines(), Vec::<String>::new());
        let notice = rig.task.notice().unwrap();
        assert!(notice.ends_with("in.txt is not there, waiting for it"), "{notice}");
    }
    rig.append(b"here\n");
    assert_eq!(rig.lines(), ["here"]);
    assert_eq!(rig.task.notice(), None);
}

#[test]
fn a_folder_in_its_place_ends_the_task() {
    let mut rig = Rig::new(None, 10);
    std::fs::create_dir(rig.path()).unwrap();
    let error = rig.task.poll(&LIMITS).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
    assert!(error.message.contains("in.txt is a folder"), "{}", error.message);
    assert!(error.hint.unwrap().contains("`file`"));
}

#[test]
fn what_is_not_utf_8_is_replaced_and_positions_count_bytes() {
    let mut rig = Rig::new(Some(b"a\xff\xfeb\n\xc3\xa4\nok\n\xe2\x82\n"), 10);
    let seen = rig.read();
    let wanted = [("a\u{fffd}\u{fffd}b", 5), ("\u{e4}", 8), ("ok", 11), ("\u{fffd}", 14)];
    assert_eq!(seen, wanted.map(|(line, at)| (line.to_owned(), at)));
}

#[test]
fn reading_goes_on_where_it_was() {
    let text = "\u{e4}\u{f6}\nzwei\ndrei\n".as_bytes();
    let mut rig = Rig::at(Some(text), 10, Some(5));
    assert_eq!(rig.read(), [("zwei".to_owned(), 10), ("drei".to_owned(), 15)]);
    rig.append(b"vier\n");
    assert_eq!(rig.read(), [("vier".to_owned(), 20)]);
}

#[test]
fn lines_beyond_the_batch_size_do_not_wait_for_the_file_to_grow() {
    let mut rig = Rig::new(Some(b"1\n2\n3\n4\n5\n"), 2);
    let first = rig.task.poll(&LIMITS).unwrap();
    assert_eq!(texts(&first.batches[0]).len(), 2);
    assert_eq!(rig.lines(), ["3", "4", "5"]);
}

#[test]
fn an_end_of_a_line_may_come_in_two_reads() {
    let mut rig = Rig::new(Some(b"one\r"), 10);
    assert_eq!(rig.lines(), Vec::<String>::new(), "a \\n may follow");
    rig.append(b"\ntwo\r");
    assert_eq!(rig.read(), [("one".to_owned(), 5)]);
    rig.append(b"three");
    assert_eq!(rig.read(), [("two".to_owned(), 9)]);
    rig.append(b"\n");
    assert_eq!(rig.read(), [("three".to_owned(), 15)]);
}

#[test]
fn a_line_of_100_mb_is_one_record_and_its_memory_is_given_back() {
    let mut text = vec![b'x'; 100 << 20];
    text.extend_from_slice(b"\nshort\n");
    let mut rig = Rig::new(Some(&text), 10);
    let seen = rig.read();
    assert_eq!((seen.len(), seen[0].0.len(), seen[0].1), (2, 100 << 20, (100 << 20) + 1));
    assert_eq!(seen[1].0, "short");
    assert!(rig.task.buffered() < 8 << 20, "{}", rig.task.buffered());
}

/// As `logrotate` does with `copytruncate`.
#[test]
fn a_file_that_was_cut_is_read_from_its_start() {
    let mut rig = Rig::new(Some(b"one\ntwo\nhal"), 10);
    assert_eq!(rig.lines(), ["one", "two"]);
    let file = std::fs::OpenOptions::new().write(true).open(rig.path()).unwrap();
    file.set_len(0).unwrap();
    rig.append(b"new\n");
    assert_eq!(rig.read(), [("new".to_owned(), 4)]);
}

#[test]
fn a_file_that_is_shorter_than_the_stored_position_is_read_from_its_start() {
    let mut rig = Rig::at(Some(b"new\n"), 10, Some(1_000));
    assert_eq!(rig.read(), [("new".to_owned(), 4)]);
}

/// As `logrotate` does without it: who writes the old file notices later.
#[test]
fn a_file_that_was_replaced_is_read_to_its_end_first() {
    let mut rig = Rig::new(Some(b"one\n"), 10);
    assert_eq!(rig.lines(), ["one"]);
    let old = rig.dir.path().join("in.txt.1");
    std::fs::rename(rig.path(), &old).unwrap();
    append(&old, b"two\n");
    assert_eq!(rig.lines(), ["two"], "nothing has taken its place yet");
    rig.append(b"new\n");
    append(&old, b"three\n");
    assert_eq!(rig.lines(), ["three"]);
    append(&old, b"four\nunfinished");
    assert_eq!(rig.read(), [("four".to_owned(), 19)]);
    rig.wait_no_longer();
    let wanted = [("unfinished", 30), ("new", 4)];
    assert_eq!(rig.read(), wanted.map(|(line, at)| (line.to_owned(), at)));
}

/// It holds nobody up while nobody writes it, and gives what is written once; nothing can be read again.
#[test]
fn a_pipe_is_read_while_somebody_writes_it() {
    let mut rig = Rig::new(None, 10);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, rig.path(), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(rig.lines(), Vec::<String>::new(), "nobody writes it");
    for text in ["one\n", "two\n"] {
        let mut writer = std::fs::OpenOptions::new().write(true).open(rig.path()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        assert_eq!(rig.lines(), [text.trim_end()]);
        assert_eq!(rig.lines(), Vec::<String>::new(), "it is open and has no more");
    }
    let path = rig.path().to_str().unwrap().to_owned();
    let props: Props = [("file", &*path)].into_iter().collect();
    assert_eq!(FileStreamSource.exactly_once(&props), ExactlyOnce::Unsupported);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let of = |pairs: &[(&str, &str)]| {
        let props: Props = pairs.iter().copied().collect();
        FileStreamSourceConfig::parse(&props).err().map(|errors| errors.errors[0].key.clone())
    };
    let base = [("topic", "t"), ("file", "f")];
    assert_eq!(of(&base), None);
    assert_eq!(of(&[("topic", "t")]), None, "the standard input");
    assert_eq!(of(&[("topic", "t"), ("batch.size", "0")]).as_deref(), Some("batch.size"));
    assert_eq!(of(&[("topic", ""), ("file", "f")]).as_deref(), Some("topic"));
    assert_eq!(of(&[("file", "f")]).as_deref(), Some("topic"));
}

#[test]
fn stored_positions_are_checked() {
    let map = |text: &str| serde_json::from_str::<SourceMap>(text).unwrap();
    let file: Props = [("file", "f")].into_iter().collect();
    let check = |props: &Props, offset: Option<&str>| {
        let partition = map(r#"{"filename": "f"}"#);
        FileStreamSource.check_offsets(props, &[(partition, offset.map(map))])
    };
    assert!(check(&file, Some(r#"{"position": 3}"#)).is_ok() && check(&file, None).is_ok());
    for bad in ["{}", r#"{"position": -1}"#, r#"{"position": "3"}"#, r#"{"position": 1.5}"#] {
        assert!(check(&file, Some(bad)).is_err(), "{bad}");
    }
    assert!(check(&Props::new(), None).is_err(), "nothing is stored of the standard input");
    let mut task = FileTask::new(Some("f".to_owned()), "t", 1);
    assert_eq!(task.start(&At(Some(-1))).unwrap_err().kind, ErrorKind::Config);
}
