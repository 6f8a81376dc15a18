//! Tests of the message builder: what is on the wire, and what is refused.

use super::*;

/// Types and body lengths of the messages in a buffer.
fn messages(mut bytes: &[u8]) -> Vec<(char, usize)> {
    let mut out = Vec::new();
    while let [tag, a, b, c, d, rest @ ..] = bytes {
        let len = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        out.push((char::from(*tag), len));
        bytes = &rest[len..];
    }
    assert!(bytes.is_empty());
    out
}

#[test]
fn copy_rows_become_chunks_at_row_ends() {
    let mut p = Pipeline::new();
    p.bind("copy", &[], Format::Text).execute(0);
    for _ in 0..3000 {
        p.copy_row(|buf| {
            buf.extend([b'x'; 50]);
            Ok::<_, ()>(())
        })
        .unwrap();
    }
    p.copy_done().sync();
    let (bytes, steps) = p.finished().unwrap();
    let seen = messages(bytes);
    let chunks: Vec<usize> = seen.iter().filter(|(t, _)| *t == 'd').map(|(_, n)| *n).collect();
    assert_eq!(chunks.iter().sum::<usize>(), 150_000);
    assert_eq!(chunks.len(), 3);
    assert!(chunks.iter().all(|n| n % 50 == 0 && *n < COPY_CHUNK_BYTES + 50));
    assert_eq!(seen.last(), Some(&('S', 0)));
    assert!(steps[1].copies && !steps[0].copies);
}

#[test]
fn a_row_that_cannot_be_written_leaves_nothing() {
    let mut p = Pipeline::new();
    p.bind("copy", &[], Format::Text).execute(0);
    let ok = |text: &'static [u8]| {
        move |buf: &mut Vec<u8>| {
            buf.extend(text);
            Ok::<_, &str>(())
        }
    };
    p.copy_row(ok(b"one\n")).unwrap();
    let failed = p.copy_row(|buf| {
        buf.extend(b"half");
        Err("no")
    });
    assert_eq!(failed, Err("no"));
    p.copy_row(ok(b"two\n")).unwrap();
    p.copy_done().sync();
    let (bytes, _) = p.finished().unwrap();
    assert!(bytes.windows(8).any(|w| w == b"one\ntwo\n"));
    assert_eq!(messages(bytes).iter().filter(|(t, _)| *t == 'd').count(), 1);
}

#[test]
fn parameters_are_written_in_place() {
    let mut p = Pipeline::new();
    p.bind("s", &[Param::Null, Param::Text(b"ab"), Param::Binary(&[1])], Format::Binary).sync();
    let (bytes, _) = p.finished().unwrap();
    let expect =
        b"\0s\0\0\x03\0\0\0\0\0\x01\0\x03\xff\xff\xff\xff\0\0\0\x02ab\0\0\0\x01\x01\0\x01\0\x01";
    assert_eq!(&bytes[5..5 + expect.len()], expect);
    assert_eq!(messages(bytes).len(), 2);
}

#[test]
fn mistakes_are_refused_before_anything_is_sent() {
    let refused = |build: &dyn Fn(&mut Pipeline)| {
        let mut p = Pipeline::new();
        build(&mut p);
        p.finished().unwrap_err().to_string()
    };
    assert!(refused(&|p| _ = p.parse("a\0b", "select 1", &[]).sync()).contains("NUL"));
    assert!(refused(&|p| _ = p.parse("", "select 1", &[])).contains("sync"));
    assert!(refused(&|p| _ = p.sync().execute(0)).contains("end of the pipeline"));
    assert!(refused(&|p| _ = p.parse("", "x", &[]).query("y")).contains("of its own"));
    assert!(refused(&|p| _ = p.copy_data(b"x").sync()).contains("copy data"));
    let many = vec![0; 70_000];
    assert!(refused(&|p| _ = p.parse("", "x", &many).sync()).contains("65535"));
    let short = |p: &mut Pipeline| {
        p.bind_with("", &[Format::Text; 2], Format::Text, |w| w.null()).sync();
    };
    assert!(refused(&short).contains("1 parameters"));
}

#[test]
fn clear_makes_a_pipeline_usable_again() {
    let mut p = Pipeline::new();
    p.parse("a\0", "x", &[]);
    p.clear();
    assert!(p.is_empty());
    p.query("select 1");
    assert!(p.finished().is_ok());
}
