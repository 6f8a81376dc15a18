//! `copycat quickstart`: orders go from Kafka into a database while the worker is killed on the way,
//! and everything is counted afterwards.
//!
//! Without options nothing needs to be installed: the broker runs in this process and the database is
//! a SQLite file. The worker is this program as a child process, started with the two files that
//! `copycat standalone` takes. What is reported is read back from the database; the worker is not
//! asked.
//!
//! Invariants: nothing of an earlier run and nothing of the user's own is changed; whatever way it
//! ends, no process is left behind.

mod destination;
mod folder;
mod interrupt;
mod orders;
mod production;
mod report;
mod run;
mod screen;
mod source;
mod tally;
mod worker;

use crate::exit::Failure;
use destination::{Destination, Place, Tables};
use folder::Folder;
use interrupt::INTERRUPTED;
pub(crate) use interrupt::Interrupt;
use orders::{Orders, RECORDS_MIN};
use run::{Outcome, Run};
use screen::Screen;
use source::Source;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use worker::{CONNECTOR_FILE, WORKER_FILE, Worker};

/// The SQLite file of a run without a database of the user's own.
const DATABASE_FILE: &str = "orders.db";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A Kafka broker to use instead of the one that runs in this process
    #[arg(long, value_name = "HOST:PORT")]
    bootstrap_servers: Option<String>,

    /// A database to use instead of a new SQLite file: jdbc:postgresql://HOST:PORT/DATABASE?user=NAME
    /// or jdbc:sqlite:/path/to/file
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,

    /// Orders to produce, at least 100; some of them are made to be refused
    #[arg(long, value_name = "N", default_value_t = 100_000,
        value_parser = clap::value_parser!(u64).range(RECORDS_MIN..=1_000_000_000))]
    records: u64,

    /// Keep the worker's configuration and log, and on Kafka and PostgreSQL the topic and the tables
    #[arg(long)]
    keep: bool,
}

pub(crate) fn run(args: Args) -> ExitCode {
    let ended = Interrupt::listen()
        .map_err(|error| Failure {
            code: 1,
            message: format!("signals cannot be taken: {error}"),
            hint: None,
        })
        .and_then(|interrupt| Quickstart::prepare(&args, interrupt)?.go());
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(),
    }
}

/// Everything that the run needs, and that has to be cleaned up after it.
struct Quickstart {
    // In the order in which they end.
    worker: Worker,
    destination: Destination,
    source: Source,
    folder: Folder,
    interrupt: Interrupt,
    orders: Orders,
    connector: String,
    /// The database is a file in `folder`.
    own_file: bool,
    keep: bool,
}

impl Quickstart {
    /// Makes folder, tables and topic; nothing runs yet.
    fn prepare(args: &Args, interrupt: Interrupt) -> Result<Quickstart, Failure> {
        let place = args.database_url.as_deref().map(Place::parse).transpose()?;
        let folder = Folder::create()?;
        let made = Quickstart::prepare_in(args, place, &folder, &interrupt);
        let (destination, source, worker, connector) = match made {
            Ok(made) => made,
            Err(failure) => {
                folder.remove_all_but(&[]);
                return Err(failure);
            }
        };
        Ok(Quickstart {
            worker,
            destination,
            source,
            folder,
            interrupt,
            orders: Orders { records: args.records },
            connector,
            own_file: args.database_url.is_none(),
            keep: args.keep,
        })
    }

    fn prepare_in(
        args: &Args,
        place: Option<Place>,
        folder: &Folder,
        interrupt: &Interrupt,
    ) -> Result<(Destination, Source, Worker, String), Failure> {
        let name = run_name();
        let tables = if place.is_some() { Tables::of_run(&name) } else { Tables::plain() };
        let place = place.unwrap_or_else(|| Place::file(&folder.file(DATABASE_FILE)));
        // Kafka first: what cannot be reached must leave nothing in the other.
        let source = match &args.bootstrap_servers {
            None => Source::in_process("orders")?,
            Some(bootstrap) => Source::kafka(bootstrap, &name, interrupt)?,
        };
        let opened = Destination::open(&place, tables, interrupt);
        let prepared = opened.and_then(|destination| {
            let port = worker::free_port()?;
            let worker = Worker::new(folder, port);
            write_files(folder, port, &source, &place, &destination, &name)?;
            Ok((destination, worker))
        });
        match prepared {
            Ok((destination, worker)) => Ok((destination, source, worker, name)),
            Err(failure) => {
                // The first failure is the one to tell.
                let _ = source.remove(&group(&name));
                Err(failure)
            }
        }
    }

    fn go(mut self) -> Result<u8, Failure> {
        let mut screen = Screen::new();
        report::opening(&mut screen, &self);
        let ran = Run::new(&mut self, &mut screen).and_then(Run::drive);
        screen.finish();
        match ran {
            Ok(Some(outcome)) => self.conclude(&mut screen, &outcome),
            Ok(None) => {
                screen.say("  interrupted");
                self.clean_up(&mut screen, Rest::Nothing);
                Ok(INTERRUPTED)
            }
            Err(failure) => {
                let tail = self.worker.log_tail();
                if !tail.is_empty() {
                    screen.say(&format!("\nthe end of the worker's log\n{tail}"));
                }
                self.clean_up(&mut screen, Rest::Everything);
                screen.say(&format!("  {} is left for a look at it", self.folder.shown()));
                Err(failure)
            }
        }
    }

    /// Counts, tells, and cleans up.
    fn conclude(mut self, screen: &mut Screen, outcome: &Outcome) -> Result<u8, Failure> {
        let mut tally = tally::Tally::new(self.orders);
        let counted = self.destination.count(&mut tally);
        let letters = counted.and_then(|()| self.destination.letters(report::LETTERS_SHOWN));
        let letters = match letters {
            Ok(letters) => letters,
            Err(failure) => {
                self.clean_up(screen, Rest::Everything);
                return Err(failure);
            }
        };
        let verdict = tally.verdict();
        report::result(screen, &verdict, outcome);
        report::letters(screen, &letters, verdict.dead_lettered);
        report::what_next(screen, &self);
        let right = verdict.is_right();
        let rest = if right && !self.keep { Rest::Database } else { Rest::Everything };
        self.clean_up(screen, rest);
        if right {
            return Ok(0);
        }
        let message = "the tally is wrong: orders were lost, stored twice or in the wrong place";
        Err(Failure { code: 1, message: message.to_owned(), hint: None }
            .hint(format!("this is a bug; please report it with {}", self.folder.path().display())))
    }

    /// Ends the worker and removes what need not stay.
    fn clean_up(&mut self, screen: &mut Screen, rest: Rest) {
        let keep_shared = self.keep && rest != Rest::Nothing;
        let mut removed = Ok(());
        if !keep_shared && !self.source.is_in_process() {
            // The group must be let go first. A worker that does not answer is killed all the same.
            let _ = self.worker.stop_connector(&self.connector);
            removed = self.source.remove(&group(&self.connector));
        }
        self.worker.kill();
        let dropped = if keep_shared { Ok(()) } else { self.destination.drop_tables() };
        for failure in [removed, dropped].into_iter().filter_map(Result::err) {
            let Failure { message, hint, .. } = failure;
            screen.say(&format!("  {message}; {}", hint.unwrap_or_default()));
        }
        match rest {
            Rest::Everything => {}
            Rest::Database => self.folder.remove_all_but(&[DATABASE_FILE, ".gitignore"]),
            Rest::Nothing => self.folder.remove_all_but(&[]),
        }
        if rest == Rest::Database && !self.own_file {
            self.folder.remove_all_but(&[]);
        }
    }
}

/// What stays in the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Everything,
    Database,
    Nothing,
}

/// The consumer group of a connector.
fn group(connector: &str) -> String {
    format!("connect-{connector}")
}

/// A name that no other run has: of the topic, the connector and the tables.
fn run_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (now.as_nanos(), std::process::id()).hash(&mut hasher);
    format!("quickstart_{:06x}", hasher.finish() & 0xff_ffff)
}

const WORKER_TITLE: &str = "The worker of copycat quickstart";
const FETCH_WAIT: &str = "consumer.fetch.max.wait.ms";

/// What to change in the worker file of a run with the broker in this process.
fn for_other_brokers() -> String {
    format!(
        "The broker of that run ended with it. For another one set bootstrap.servers and remove\n\
         {} and {FETCH_WAIT}: they are for the broker in that process alone.",
        runtime::SELF_ASSIGN
    )
}

/// The two files that a user of `copycat standalone` writes.
fn write_files(
    folder: &Folder,
    port: u16,
    source: &Source,
    place: &Place,
    destination: &Destination,
    connector: &str,
) -> Result<(), Failure> {
    let mut worker = vec![
        ("bootstrap.servers", source.bootstrap().to_owned()),
        ("listeners", format!("http://127.0.0.1:{port}")),
        ("offset.storage.file.filename", folder.file("offsets").display().to_string()),
        ("key.converter", "org.apache.kafka.connect.storage.StringConverter".to_owned()),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter".to_owned()),
        ("value.converter.schemas.enable", "false".to_owned()),
    ];
    if source.is_in_process() {
        // That broker knows no static members; without groups a restart is as quick as with them.
        worker.push((runtime::SELF_ASSIGN, "true".to_owned()));
        // Nor does it answer a waiting fetch when records come in.
        worker.push((FETCH_WAIT, "5".to_owned()));
    }
    let title = match source.is_in_process() {
        true => format!("{WORKER_TITLE}\n{}", for_other_brokers()),
        false => WORKER_TITLE.to_owned(),
    };
    folder.properties(WORKER_FILE, &title, &worker)?;
    let class = match place {
        Place::Sqlite { .. } => "io.copycat.SqliteSinkConnector",
        Place::Postgres { .. } => "io.copycat.PostgresSinkConnector",
    };
    let mut properties = vec![
        ("name", connector.to_owned()),
        ("connector.class", class.to_owned()),
        ("tasks.max", "1".to_owned()),
        ("topics", source.topic().to_owned()),
        ("errors.tolerance", "all".to_owned()),
    ];
    properties.extend(destination.connection());
    folder.properties(CONNECTOR_FILE, "Orders from Kafka into a table", &properties)
}
