//! The run's tables in a PostgreSQL database.

use super::{Letter, Progress, Tables, quoted, shell_word};
use crate::exit::Failure;
use crate::quickstart::interrupt::Interrupt;
use crate::quickstart::tally::Tally;
use sql::postgres::wire::{ConnectConfig, Connection, Host, PgError, Rows, Wait};
use std::time::Duration;

/// A server that does not answer within this is not there.
const REACH_WITHIN: Duration = Duration::from_secs(10);
/// Rows fetched at a time when the table is read back.
const FETCH: usize = 50_000;

pub(super) struct Postgres {
    connection: Connection,
    config: ConnectConfig,
    interrupt: Interrupt,
}

impl Postgres {
    pub(super) fn open(
        config: &ConnectConfig,
        tables: &Tables,
        interrupt: &Interrupt,
    ) -> Result<Postgres, Failure> {
        let config =
            ConnectConfig { application_name: Some("copycat quickstart".into()), ..config.clone() };
        let interrupted = || interrupt.is_set();
        let wait = Wait::at_most(REACH_WITHIN).or_cancelled(&interrupted);
        let connection = Connection::connect(&config, wait).map_err(|error| {
            Failure::unavailable(format!("cannot use PostgreSQL at {config}: {error}"))
                .hint("check host, port, database, user and password of --database-url")
        })?;
        let mut postgres = Postgres { connection, config, interrupt: interrupt.clone() };
        postgres.execute(&create(&tables.orders)).map_err(|failure| {
            failure.hint("the user of --database-url needs the right to create tables")
        })?;
        Ok(postgres)
    }

    fn with<T>(
        &mut self,
        run: impl FnOnce(&mut Connection, Wait<'_>) -> Result<T, PgError>,
    ) -> Result<T, PgError> {
        let interrupt = self.interrupt.clone();
        let interrupted = move || interrupt.is_set();
        run(&mut self.connection, Wait::at_most(Duration::from_secs(60)).or_cancelled(&interrupted))
    }

    fn broken(&self, error: &PgError) -> Failure {
        Failure::unavailable(format!("PostgreSQL at {}: {error}", self.config))
    }

    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        let done = self.with(|connection, wait| connection.execute(sql, wait));
        done.map(drop).map_err(|e| self.broken(&e))
    }

    fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        let done = self.with(|connection, wait| connection.query_text(sql, wait));
        done.map_err(|e| self.broken(&e))
    }

    pub(super) fn name(&self) -> String {
        self.config.to_string()
    }

    pub(super) fn progress(&mut self, offsets: &str) -> Result<Progress, Failure> {
        let sql = format!(
            "SELECT coalesce(sum(next_offset), 0)::bigint, coalesce(sum(epoch), 0)::bigint FROM {}",
            quoted(offsets)
        );
        match self.with(|connection, wait| connection.query_text(&sql, wait)) {
            Ok(rows) => Ok(Progress {
                done: rows.parsed(0, 0).unwrap_or_default(),
                epoch: rows.parsed(0, 1).unwrap_or_default(),
            }),
            // The worker has not made it yet.
            Err(error) if error.code() == Some("42P01") => Ok(Progress::default()),
            Err(error) => Err(self.broken(&error)),
        }
    }

    pub(super) fn count(&mut self, tables: &Tables, tally: &mut Tally) -> Result<(), Failure> {
        self.execute(&format!(
            "BEGIN; DECLARE found CURSOR FOR SELECT id FROM {}",
            quoted(&tables.orders)
        ))?;
        loop {
            let rows = self.query(&format!("FETCH {FETCH} FROM found"))?;
            for row in 0..rows.len() {
                tally.row(rows.parsed(row, 0).unwrap_or(-1));
            }
            if rows.len() < FETCH {
                break;
            }
        }
        self.execute("COMMIT")?;
        let letters = self.query(&format!(
            "SELECT convert_from(\"key\", 'UTF8') FROM {}",
            quoted(&tables.letters)
        ))?;
        for row in 0..letters.len() {
            tally.letter(letters.get(row, 0).unwrap_or_default());
        }
        Ok(())
    }

    pub(super) fn letters(
        &mut self,
        tables: &Tables,
        limit: usize,
    ) -> Result<Vec<Letter>, Failure> {
        let rows = self.query(&format!(
            "SELECT convert_from(\"key\", 'UTF8'), reason FROM {} \
             ORDER BY length(\"key\"), \"key\" LIMIT {limit}",
            quoted(&tables.letters)
        ))?;
        let text = |row, column| rows.text(row, column).unwrap_or_default().to_owned();
        Ok((0..rows.len())
            .map(|row| Letter { order: text(row, 0), reason: text(row, 1) })
            .collect())
    }

    pub(super) fn shell(&self, query: &str) -> String {
        let database = self.config.database_or_default();
        let mut words = vec!["psql".to_owned()];
        match self.config.hosts.first() {
            Some(Host::Tcp { host, port }) => {
                words.push(format!("-h {} -p {port}", shell_word(host)));
            }
            Some(Host::Unix { dir, port }) => {
                words.push(format!("-h {} -p {port}", shell_word(dir)));
            }
            None => {}
        }
        words.push(format!("-U {}", shell_word(&self.config.user_or_default())));
        words.push(shell_word(&database));
        words.push(format!("-c {}", shell_word(query)));
        words.join(" ")
    }

    /// On a connection of its own: the run's may be broken, or in the middle of something.
    pub(super) fn drop_tables(&mut self, tables: &Tables) -> Result<(), Failure> {
        let wait = Wait::at_most(REACH_WITHIN);
        let names = [&tables.orders, &tables.offsets, &tables.letters].map(|name| quoted(name));
        let sql = format!("DROP TABLE IF EXISTS {}", names.join(", "));
        Connection::connect(&self.config, wait)
            .and_then(|mut connection| connection.execute(&sql, wait))
            .map(drop)
            .map_err(|e| self.broken(&e).hint(format!("remove them yourself: {sql}")))
    }
}

fn create(table: &str) -> String {
    format!(
        "CREATE TABLE {} (\n  id bigint NOT NULL,\n  customer text NOT NULL,\n  item text NOT NULL,\n  \
         quantity integer NOT NULL CHECK (quantity > 0),\n  amount numeric(10,2) NOT NULL,\n  \
         created timestamptz NOT NULL,\n  paid boolean NOT NULL\n)",
        quoted(table)
    )
}
