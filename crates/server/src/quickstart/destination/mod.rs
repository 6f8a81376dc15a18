//! The database of the run: the table is made here, the worker fills it, and the result is read back.

mod postgres;
mod sqlite;

use super::interrupt::Interrupt;
use super::tally::Tally;
use crate::exit::Failure;
use postgres::Postgres;
use sqlite::Sqlite;
use std::path::{Path, PathBuf};

/// How far the worker has come, as its positions in the database say. They are written in the rows'
/// own transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Orders that are visible: as rows, or as dead letters.
    pub(super) done: u64,
    /// Grows when a worker takes the partitions over.
    pub(super) epoch: u64,
}

/// Tables of the run.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) orders: String,
    pub(super) offsets: String,
    pub(super) letters: String,
}

impl Tables {
    /// For a database of the run's own.
    pub(super) fn plain() -> Tables {
        Tables {
            orders: "orders".to_owned(),
            offsets: "copycat_offsets".to_owned(),
            letters: "copycat_dead_letters".to_owned(),
        }
    }

    /// For a database that others use as well.
    pub(super) fn of_run(name: &str) -> Tables {
        Tables {
            orders: name.to_owned(),
            offsets: format!("{name}_offsets"),
            letters: format!("{name}_dead_letters"),
        }
    }
}

/// An order that was set aside, for the summary.
pub(super) struct Letter {
    pub(super) order: String,
    pub(super) reason: String,
}

/// Where `--database-url` points.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Sqlite { url: String, path: PathBuf },
    Postgres { url: String, config: Box<sql::postgres::wire::ConnectConfig> },
}

impl Place {
    /// # Errors
    /// The URL is of no database that there is a connector for, or not well formed.
    pub(super) fn parse(url: &str) -> Result<Place, Failure> {
        let lower = url.trim().to_ascii_lowercase();
        if ["jdbc:sqlite:", "sqlite:", "file:"].iter().any(|prefix| lower.starts_with(prefix)) {
            let location = sql::sqlite::url::Location::parse(url)
                .map_err(|error| wrong(error.message).hint(error.hint.unwrap_or_default()))?;
            let path = std::path::absolute(&location.path)
                .map_err(|error| wrong(format!("{}: {error}", location.path.display())))?;
            // The worker runs in another folder, so a relative path would be another file there.
            let query = url.split_once('?').map_or("", |(_, query)| query);
            let query = if query.is_empty() { String::new() } else { format!("?{query}") };
            let url = format!("jdbc:sqlite:{}{query}", path.display());
            return Ok(Place::Sqlite { url, path });
        }
        let config = sql::postgres::wire::ConnectConfig::parse(url)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(Place::Postgres { url: url.to_owned(), config: Box::new(config) })
    }

    /// A file of the run's own.
    pub(super) fn file(path: &Path) -> Place {
        Place::Sqlite { url: format!("jdbc:sqlite:{}", path.display()), path: path.to_owned() }
    }
}

fn wrong(message: String) -> Failure {
    Failure::wrong_input(format!("--database-url: {message}"))
        .hint("write jdbc:postgresql://HOST:PORT/DATABASE?user=NAME or jdbc:sqlite:/path/to/file")
}

/// The database with the run's tables in it.
pub(super) struct Destination {
    pub(super) tables: Tables,
    url: String,
    store: Store,
}

enum Store {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Destination {
    /// Connects and makes the table of orders. The worker makes the other two.
    pub(super) fn open(
        place: &Place,
        tables: Tables,
        interrupt: &Interrupt,
    ) -> Result<Destination, Failure> {
        let (url, store) = match place {
            Place::Sqlite { url, path } => (url, Store::Sqlite(Sqlite::open(path, &tables)?)),
            Place::Postgres { url, config } => {
                (url, Store::Postgres(Box::new(Postgres::open(config, &tables, interrupt)?)))
            }
        };
        Ok(Destination { tables, url: url.clone(), store })
    }

    /// The connector's properties for this database.
    pub(super) fn connection(&self) -> Vec<(&'static str, String)> {
        vec![
            ("connection.url", self.url.clone()),
            ("table.name.format", self.tables.orders.clone()),
            ("offsets.table", self.tables.offsets.clone()),
            ("dead.letters.table", self.tables.letters.clone()),
        ]
    }

    /// Where it is, for people; never with a password.
    pub(super) fn name(&self) -> String {
        match &self.store {
            Store::Sqlite(sqlite) => sqlite.name(),
            Store::Postgres(postgres) => postgres.name(),
        }
    }

    pub(super) fn progress(&mut self) -> Result<Progress, Failure> {
        let offsets = &self.tables.offsets;
        match &mut self.store {
            Store::Sqlite(sqlite) => sqlite.progress(offsets),
            Store::Postgres(postgres) => postgres.progress(offsets),
        }
    }

    /// Counts every row and every dead letter.
    pub(super) fn count(&mut self, tally: &mut Tally) -> Result<(), Failure> {
        match &mut self.store {
            Store::Sqlite(sqlite) => sqlite.count(&self.tables, tally),
            Store::Postgres(postgres) => postgres.count(&self.tables, tally),
        }
    }

    /// The first dead letters.
    pub(super) fn letters(&mut self, limit: usize) -> Result<Vec<Letter>, Failure> {
        match &mut self.store {
            Store::Sqlite(sqlite) => sqlite.letters(&self.tables, limit),
            Store::Postgres(postgres) => postgres.letters(&self.tables, limit),
        }
    }

    /// The shell command that runs a query.
    pub(super) fn shell(&self, query: &str) -> String {
        match &self.store {
            Store::Sqlite(sqlite) => sqlite.shell(query),
            Store::Postgres(postgres) => postgres.shell(query),
        }
    }

    /// A dead letter's key as text.
    pub(super) fn key_as_text(&self) -> &'static str {
        match &self.store {
            Store::Sqlite(_) => "CAST(key AS TEXT)",
            Store::Postgres(_) => "convert_from(key, 'UTF8')",
        }
    }

    /// Whether the tables are removed at the end unless the user wants to keep them.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.store, Store::Postgres(_))
    }

    /// Removes the run's tables from a shared database.
    pub(super) fn drop_tables(&mut self) -> Result<(), Failure> {
        match &mut self.store {
            Store::Sqlite(_) => Ok(()),
            Store::Postgres(postgres) => postgres.drop_tables(&self.tables),
        }
    }
}

/// A name as SQL has it in quotes.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A word as a shell takes it.
pub(super) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    // In double quotes where these have no meaning there, because that is easier to read.
    if text.contains('\'') && !text.chars().any(|c| "\"$`\\!".contains(c)) {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(shell_word("orders.db"), "orders.db");
        assert_eq!(shell_word("my file"), "'my file'");
        assert_eq!(shell_word("it's"), "\"it's\"");
        assert_eq!(shell_word("it's $5"), r"'it'\''s $5'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn urls_say_which_database() {
        let parse = |url: &str| Place::parse(url);
        assert!(
            matches!(parse("jdbc:sqlite:x.db"), Ok(Place::Sqlite { path, .. }) if path.is_absolute())
        );
        let query = parse("sqlite:x.db?synchronous=full");
        assert!(
            matches!(query, Ok(Place::Sqlite { url, .. }) if url.ends_with("/x.db?synchronous=full"))
        );
        assert!(matches!(parse("jdbc:postgresql://h/d"), Ok(Place::Postgres { .. })));
        for bad in ["jdbc:mysql://h/d", "orders.db", "jdbc:sqlite::memory:"] {
            let failure = parse(bad).unwrap_err();
            assert_eq!(failure.code, crate::exit::WRONG_INPUT, "{bad}");
            assert!(failure.hint.is_some(), "{bad}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let failure = parse_failure("jdbc:mysql://u:secret@h/d?password=secret");
        assert!(!failure.message.contains("secret"), "{}", failure.message);
    }

    fn parse_failure(url: &str) -> Failure {
        Place::parse(url).unwrap_err()
    }
}
