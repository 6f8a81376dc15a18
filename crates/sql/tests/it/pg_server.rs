//! A server that stops, crashes and stands still under a transaction.

use super::pg::{FromZero, failed, name, numbered, pairs, plan, seat, write};
use sql::config::DatabaseSettings;
use sql::database::{Database, DbErrorKind};
use sql::postgres::PostgresDatabase;
use sql::write::{Advance, Transaction, WriteMode};
use std::time::Duration;
use testkit::eventually;
use testkit::postgres::{Server, Stop};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_server_that_restarts_or_stands_still_loses_nothing() {
    let mut server = Server::start();
    server.client().execute("CREATE TABLE pairs (id bigint, v text)");
    let mut settings = DatabaseSettings::new(&server.url(), "c/g");
    settings.statement_timeout = Duration::from_secs(2);
    settings.connect_timeout = Duration::from_millis(500);
    let mut database = PostgresDatabase::new(settings).unwrap();
    let seats = [seat("t", 0)];
    let tps = [seats[0].tp.clone()];
    let mut at = database.claim(&seats, &mut FromZero).unwrap()[0];
    let table = database.table(&name("pairs")).unwrap().unwrap();
    let plan = plan(&table, &pairs(), WriteMode::Insert, &[], false);
    for round in 0..3 {
        let batch = numbered(at.next_offset, 1500);
        let advance = Advance {
            batch: 0,
            tp: tps[0].clone(),
            epoch: at.epoch,
            from: at.next_offset,
            to: batch.next_offset(),
        };
        let transaction = Transaction {
            batches: std::slice::from_ref(&batch),
            advances: std::slice::from_ref(&advance),
            writes: &[write(&plan, &batch)],
            truncates: &[],
            rejects: &[],
        };
        // Held up, so that it is under way when the server goes.
        let mut other = server.client();
        other.execute("BEGIN; LOCK TABLE pairs");
        database.start(&transaction).unwrap();
        match round {
            0 => server.restart(Stop::Fast),
            1 => server.restart(Stop::Immediate),
            _ => server.pause(),
        }
        match database.settle() {
            Err(error) => {
                assert_eq!(error.kind, DbErrorKind::Connection, "round {round}: {error}");
                database.abandon();
            }
            // A server that goes ends its sessions one by one: ours may commit once the lock's is gone.
            Ok(()) => assert!(round < 2, "a server that stands still answers nothing"),
        }
        if round == 2 {
            assert_eq!(failed(database.positions(&tps)).kind, DbErrorKind::Connection);
            server.resume();
            drop(other);
        }
        let seen = eventually(LIMIT, "positions are read", || database.positions(&tps).ok());
        at = seen[0].unwrap();
        if at.next_offset == advance.from {
            database.start(&transaction).unwrap();
            database.settle().unwrap();
            at.next_offset = advance.to;
        }
        let count = server.client().value("SELECT count(*) FROM pairs").unwrap();
        assert_eq!(count, at.next_offset.to_string(), "round {round}");
    }
}
