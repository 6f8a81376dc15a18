//! What breaks under a connection: restarts, terminated backends, servers that stand still, and our
//! own wish to stop.

use crate::wire::{open, patience};
use sql::postgres::wire::{Class, Format, PgError, Pipeline, Wait};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::postgres::{Server, Stop};

fn copy(rows: usize) -> Pipeline {
    let mut p = Pipeline::new();
    p.parse("", "COPY t FROM STDIN", &[]).bind("", &[], Format::Text).execute(0);
    for n in 0..rows {
        p.copy_data(format!("{n}\t{}\n", "x".repeat(1000)).as_bytes());
    }
    p.copy_done().sync();
    p
}

#[test]
fn a_restart_in_the_middle_of_a_copy_is_a_lost_connection() {
    let mut server = Server::start();
    server.client().execute("CREATE TABLE t (id int, pad text)");
    for how in [Stop::Fast, Stop::Immediate] {
        let mut c = open(&server.url());
        // The lock makes the COPY wait, so that the server certainly is in the middle of it.
        let mut locker = server.client();
        locker.execute("BEGIN; LOCK TABLE t");
        let mut p = copy(20_000);
        let started = std::thread::scope(|scope| {
            let sender = scope.spawn(|| c.start(&mut p, patience()));
            testkit::eventually(Duration::from_secs(30), "the copy waits for the lock", || {
                let waiting = server
                    .client()
                    .value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
                (waiting.as_deref() == Some("1")).then_some(())
            });
            server.restart(how);
            sender.join().expect("the sender does not panic")
        });
        let error = match started {
            Err(error) => error,
            Ok(()) => c.finish(patience()).unwrap_err(),
        };
        assert_eq!(error.classify(), Class::Connection, "{how:?}: {error}");
        assert!(c.is_broken());
        assert!(matches!(c.query_text("SELECT 1", patience()), Err(PgError::Closed(_))));
        let mut c = open(&server.url());
        let rows = c.query_text("SELECT count(*) FROM t", patience()).unwrap();
        assert_eq!(rows.text(0, 0), Some("0"));
    }
}

#[test]
fn a_terminated_backend_is_noticed() {
    let server = Server::start();
    let mut idle = open(&server.url());
    let mut busy = open(&server.url());
    assert!(idle.is_alive());
    let mut p = Pipeline::new();
    p.query("SELECT pg_sleep(60)");
    busy.start(&mut p, patience()).unwrap();
    testkit::eventually(Duration::from_secs(30), "the statement runs", || {
        let running = server
            .client()
            .value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
        (running.as_deref() == Some("1")).then_some(())
    });
    assert!(server.terminate_backends() >= 2);
    let error = busy.finish(patience()).unwrap_err();
    assert_eq!((error.code(), error.classify()), (Some("57P01"), Class::Connection));
    testkit::eventually(Duration::from_secs(30), "the idle one is noticed", || {
        (!idle.is_alive()).then_some(())
    });
    assert!(idle.is_broken());
    // Without the look, the next statement notices it.
    let mut third = open(&server.url());
    server.terminate_backends();
    let error = third.query_text("SELECT 1", patience()).unwrap_err();
    assert_eq!(error.classify(), Class::Connection, "{error}");
}

#[test]
fn a_deadline_and_a_cancel_end_a_wait_and_the_reply_can_still_be_fetched() {
    let database = testkit::postgres::database();
    let mut c = open(&database.url());
    let mut p = Pipeline::new();
    p.query("SELECT pg_sleep(120)");
    c.start(&mut p, patience()).unwrap();
    let begun = Instant::now();
    let late = c.finish(Wait::at_most(Duration::from_millis(50)));
    assert!(matches!(late, Err(PgError::Timeout(_))));
    let stop = AtomicBool::new(false);
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| stop.store(true, Ordering::Release));
        c.finish(patience().or_cancelled(&|| stop.load(Ordering::Acquire)))
    });
    assert!(matches!(stopped, Err(PgError::Cancelled)));
    assert!(!c.is_broken());
    let token = c.cancel_token();
    // The request may overtake the statement, so it is repeated until the statement has ended.
    let reply = testkit::eventually(Duration::from_secs(60), "the statement is cancelled", || {
        token.cancel(patience()).expect("the request is taken");
        c.finish(Wait::at_most(Duration::from_secs(1))).ok()
    });
    assert!(begun.elapsed() < Duration::from_secs(120));
    let error = reply.check().unwrap_err();
    assert_eq!((error.code(), error.classify()), (Some("57014"), Class::Resource));
    // A repeated request may hit the next statement instead.
    testkit::eventually(Duration::from_secs(60), "the session goes on", || {
        c.query_text("SELECT 1", patience()).ok()
    });
}

#[test]
fn a_server_that_stands_still_is_left_in_time() {
    let server = Server::start();
    server.client().execute("CREATE TABLE t (id int, pad text)");
    let mut reader = open(&server.url());
    let mut writer = open(&server.url());
    let mut silent = open(&format!("{}?socketTimeout=1", server.url()));
    server.pause();
    let mut p = Pipeline::new();
    p.query("SELECT 1");
    reader.start(&mut p, patience()).unwrap();
    let read = reader.finish(Wait::at_most(Duration::from_millis(100)));
    // More than any socket buffer holds.
    let mut big = copy(50_000);
    let written = writer.start(&mut big, Wait::at_most(Duration::from_millis(200)));
    let heard = silent.query_text("SELECT 1", patience());
    server.resume();
    assert!(matches!(read, Err(PgError::Timeout(_))), "{read:?}");
    assert!(matches!(written, Err(PgError::Timeout(_))), "{written:?}");
    let heard = heard.unwrap_err();
    assert!(heard.to_string().contains("socketTimeout"), "{heard}");
    assert_eq!(heard.classify(), Class::Connection);
    assert!(writer.is_broken() && silent.is_broken());
    assert!(reader.finish(patience()).unwrap().failure.is_none());
}
