//! The formats of COPY, compared with the server's own COPY of the same bytes.

use api::{Converter, Side};
use data::{Batch, Cell, RawBatchBuilder, TimestampType, TopicPartition};
use pipeline::formats::{Column, CopyConverter, Csv, Text};
use std::sync::Arc;
use testkit::Rng;
use testkit::postgres::{Client, database};

type Row = Vec<Option<String>>;

/// What a message becomes: the fields, bytea as hexadecimal digits, or the SQLSTATE.
type Outcome = Result<Row, String>;

fn columns() -> Vec<Column> {
    let column =
        |name: &str, bytea| Column { name: name.to_owned(), bytea, json: false, identity: false };
    vec![column("a", false), column("b", false), column("c", true)]
}

fn ours(converter: &mut CopyConverter, message: &[u8]) -> Outcome {
    let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
    builder.push(0, 0, TimestampType::None, None, Some(message));
    let mut batch = Batch::new(Arc::new(builder.finish(1)));
    converter.decode(Side::Value, &mut batch);
    if let Some(reject) = batch.rejects.first() {
        return Err(reject.sqlstate.clone().unwrap());
    }
    let rows = &batch.values;
    let field = |cell: &Cell| match *cell {
        Cell::Null => None,
        Cell::Text(span) => Some(rows.text(span).to_owned()),
        Cell::Bytes(span) => {
            Some(rows.bytes(span).iter().map(|byte| format!("{byte:02x}")).collect())
        }
        other => panic!("{other:?}"),
    };
    let row: Row = rows.fields(rows.root(0)).iter().map(field).collect();
    // The server's text has no NUL, which the sink sees to.
    match row.iter().flatten().any(|text| text.contains('\0')) {
        true => Err("22021".to_owned()),
        false => Ok(row),
    }
}

/// A server's COPY out of a file.
struct Theirs {
    client: Client,
    file: tempfile::NamedTempFile,
    options: String,
}

impl Theirs {
    fn rows(&mut self, message: &[u8]) -> Result<Vec<Row>, String> {
        std::fs::write(self.file.path(), message).unwrap();
        let path = self.file.path().display();
        let copy = format!("DELETE FROM t; COPY t FROM '{path}' ({})", self.options);
        self.client.try_query(&copy).map_err(|failure| failure.sqlstate)?;
        Ok(self.client.query("SELECT a, b, encode(c, 'hex') FROM t"))
    }
}

/// Bytes that matter to COPY, and some that do not.
const PIECES: [&[u8]; 30] = [
    b"\t",
    b",",
    b";",
    b"\"",
    b"'",
    b"\\",
    b"\\\\",
    b"\n",
    b"\r",
    b"\r\n",
    b"\\N",
    b"N",
    b"\\x41",
    b"\\x4",
    b"\\101",
    b"\\7",
    b"\\b",
    b"\\t",
    b"\\n",
    b"\\q",
    b"a",
    b"bc",
    b" ",
    "é".as_bytes(),
    b"\\303\\251",
    b"\\377",
    b"\xff",
    b"",
    b"1",
    b"\\x",
];

fn message(rng: &mut Rng, delimiter: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    let fields = if rng.below(8) == 0 { rng.below(5) } else { 3 };
    for field in 0..fields {
        if field > 0 {
            message.extend_from_slice(delimiter);
        }
        let quoted = rng.below(3) == 0;
        message.extend_from_slice(if quoted { b"\"" } else { b"" });
        for _ in 0..rng.below(4) {
            message.extend_from_slice(PIECES[rng.below(PIECES.len() as u64) as usize]);
        }
        message.extend_from_slice(if quoted { b"\"" } else { b"" });
    }
    let end: [&[u8]; 4] = [b"", b"\n", b"\r\n", b"\r"];
    message.extend_from_slice(end[rng.below(4) as usize]);
    message
}

fn compare(name: &str, converter: CopyConverter, options: &str, delimiter: &[u8]) {
    let database = database();
    let mut client = database.client();
    client.execute("CREATE UNLOGGED TABLE t (a text, b text, c bytea)");
    // The server reads it as another user.
    let file = tempfile::NamedTempFile::new().unwrap();
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(file.path(), readable).unwrap();
    let mut theirs = Theirs { client, file, options: options.to_owned() };
    let (mut converter, mut rng) = (converter, Rng::seeded(name));
    let (mut read, mut refused) = (0, 0);
    for _ in 0..if testkit::soak() { 100_000 } else { 600 } {
        let message = message(&mut rng, delimiter);
        let shown = message.escape_ascii().to_string();
        let ours = ours(&mut converter, &message);
        match theirs.rows(&message).map(|mut rows| (rows.len(), rows.pop())) {
            Ok((1, Some(row))) => {
                assert_eq!(ours, Ok(row), "{shown}");
                read += 1;
            }
            // A message is a row; an empty one is an empty line.
            Ok((0, _)) => assert!(message.is_empty(), "{shown}"),
            Ok(_) => assert_eq!(ours, Err("22P04".to_owned()), "{shown}"),
            Err(sqlstate) => {
                // Where there are several reasons, COPY goes line by line.
                assert!(ours.is_err(), "{shown}: {ours:?}");
                let ends = [&b"\r\n"[..], b"\n", b"\r"];
                let line = ends.iter().find_map(|end| message.strip_suffix(*end));
                let line = line.unwrap_or(&message);
                let several = line.iter().any(|b| matches!(b, b'\n' | b'\r'))
                    || std::str::from_utf8(&message).is_err();
                assert!(several || ours == Err(sqlstate.clone()), "{shown}: {ours:?}, {sqlstate}");
                refused += 1;
            }
        }
    }
    assert!(read > 50 && refused > 50, "{read} read, {refused} refused");
}

#[test]
fn text_is_read_as_copy_reads_it() {
    let converter = CopyConverter::text(Text::default(), columns());
    compare("text", converter, "FORMAT text", b"\t");
    let converter = CopyConverter::text(Text { delimiter: b';' }, columns());
    compare("text;", converter, "FORMAT text, DELIMITER ';'", b";");
}

#[test]
fn csv_is_read_as_copy_reads_it() {
    compare("csv", CopyConverter::csv(Csv::default(), columns()), "FORMAT csv", b",");
    let csv = Csv { delimiter: b';', quote: b'"', escape: b'\\' };
    let options = "FORMAT csv, DELIMITER ';', ESCAPE '\\'";
    compare("csv;", CopyConverter::csv(csv, columns()), options, b";");
    let csv = Csv { delimiter: b',', quote: b'\'', escape: b'"' };
    let options = "FORMAT csv, QUOTE '''', ESCAPE '\"'";
    compare("csv'", CopyConverter::csv(csv, columns()), options, b",");
}

#[test]
fn a_message_with_several_lines_says_so() {
    for message in ["1\t2\t3\n4\t5\t6", "1\t2\t3\n\n"] {
        let mut builder = RawBatchBuilder::new(TopicPartition::new("t", 0));
        builder.push(0, 0, TimestampType::None, None, Some(message.as_bytes()));
        let mut batch = Batch::new(Arc::new(builder.finish(1)));
        CopyConverter::text(Text::default(), columns()).decode(Side::Value, &mut batch);
        let reject = batch.rejects.first().unwrap();
        assert!(reject.message.contains("more than one line"), "{}", reject.message);
    }
}
