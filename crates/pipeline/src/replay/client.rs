//! A replay in the process that asks for it: `copycat pg replay`.
//!
//! Place in the data path: as a worker's replay, with the same code. Workers leave it alone; it can be
//! gone on with after an interruption, by this command or, when it is handed over, by any worker.

use super::run::{End, Progress, Run};
use super::{Definition, ask::LEASE_SECONDS};
use crate::control::{self, CHANNEL, Error, ErrorKind, Mode, Questions};
use crate::worker::lanes::lanes_of;
use runtime::Budget;
use sql::postgres::{PoolSettings, SessionPool, wire};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sessions beside one for each lane: what is looked up meanwhile goes over one of its own.
const SESSIONS_BESIDE: usize = 1;
const RETRY: Duration = Duration::from_secs(2);
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// Where the database is.
#[derive(Clone, Debug)]
pub struct Connection {
    pub database_url: String,
    pub pooler: bool,
}

/// What is to be replayed, as the function `replay` takes it.
#[derive(Clone, Debug)]
pub struct Request {
    pub topic: String,
    pub relation: String,
    pub start: String,
    pub end: String,
    pub into: Option<String>,
    pub mode: Option<Mode>,
    pub force: bool,
    pub partitions: Option<Vec<i32>>,
    pub cluster: Option<String>,
}

/// How it ended.
#[derive(Debug)]
pub enum Outcome {
    Done(Progress),
    /// It was told to stop, and can be gone on with.
    Stopped(Progress),
    /// Somebody cancelled it.
    Cancelled(Progress),
    /// It cannot go on until somebody acts; afterwards it can be gone on with.
    Blocked(api::Error),
    /// Another process runs it.
    Taken,
}

const REQUEST: &str = "WITH asked AS MATERIALIZED (SELECT pipeline_kafka.replay($1::text, \
    $2::text::regclass, $3::text, $4::text, into_relation => $5::text::regclass, mode => $6::text, \
    force => $7::bool, only_partitions => $8::text::int4[], cluster => $9::text) AS id) \
    SELECT id FROM asked";

fn connect(connection: &Connection) -> Result<Questions, Error> {
    Questions::new(&connection.database_url)
}

/// A session with the database, which has been found to be the right one.
fn session(connection: &Connection) -> Result<wire::Connection, Error> {
    let mut config = wire::ConnectConfig::parse(&connection.database_url)?;
    config.application_name.get_or_insert_with(|| "copycat pg".to_owned());
    let wait = wire::Wait::at_most(CONNECT_MAX);
    let mut session = wire::Connection::connect(&config, wait)?;
    control::check_identity(&mut session)?;
    Ok(session)
}

/// Asks for a replay; gives its number. `here`: this process will run it, no worker does.
///
/// # Errors
/// What the function `replay` refuses, with its hint.
pub fn ask(connection: &Connection, request: &Request, here: bool) -> Result<i64, Error> {
    let mut session = session(connection)?;
    let wait = wire::Wait::at_most(CONNECT_MAX);
    let partitions = request.partitions.as_ref().map(|list| {
        let list: Vec<String> = list.iter().map(i32::to_string).collect();
        format!("{{{}}}", list.join(","))
    });
    let params = [
        Some(request.topic.as_str()),
        Some(&request.relation),
        Some(&request.start),
        Some(&request.end),
        request.into.as_deref(),
        request.mode.map(mode_name),
        Some(if request.force { "true" } else { "false" }),
        partitions.as_deref(),
        request.cluster.as_deref(),
    ];
    // Workers hear of it with the commit, when it is marked already.
    session.execute("BEGIN", wait)?;
    let rows = session.query_params(REQUEST, &params, wait)?;
    let id: i64 =
        rows.parsed(0, 0).ok_or_else(|| Error::new(ErrorKind::Bug, "no replay number"))?;
    if here {
        let sql = "UPDATE pipeline_kafka.replays SET in_client = true WHERE id = $1::int8";
        session.execute_params(sql, &[Some(&id.to_string())], wait)?;
    }
    session.execute("COMMIT", wait)?;
    Ok(id)
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Append => "append",
        Mode::Ignore => "ignore",
        Mode::Upsert => "upsert",
    }
}

/// Leaves a replay to the workers.
///
/// # Errors
/// The database's; a replay that is not there or over.
pub fn hand_over(connection: &Connection, id: i64) -> Result<(), Error> {
    let sql = "WITH left_over AS (UPDATE pipeline_kafka.replays SET in_client = false, \
               lease_until = NULL WHERE id = $1::int8 AND state NOT IN ('done', 'cancelled') \
               RETURNING id), told AS (SELECT pg_notify($2::text, 'replays') FROM left_over) \
               SELECT count(*) FROM told";
    let questions = connect(connection)?;
    let params = [Some(&*id.to_string()), Some(CHANNEL)];
    match questions.ask(sql, &params, |rows| rows.parsed::<i64>(0, 0))? {
        Some(1) => Ok(()),
        _ => Err(not_there(id)),
    }
}

fn not_there(id: i64) -> Error {
    Error::new(ErrorKind::Refused, format!("there is no replay {id} that could go on"))
        .hint("SELECT id, state, state_detail FROM pipeline_kafka.replays;")
}

/// Runs a replay in this process until it is done, or told to stop.
///
/// # Errors
/// At the start only: the database, and a replay that is not there.
pub fn run(
    connection: &Connection,
    id: i64,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    let questions = connect(connection)?;
    let owner = questions.ask("SELECT gen_random_uuid()", &[], |rows| {
        rows.text(0, 0).unwrap_or_default().to_owned()
    })?;
    let take = "UPDATE pipeline_kafka.replays SET in_client = true WHERE id = $1::int8 \
                AND NOT in_client AND (lease_until IS NULL OR lease_until < clock_timestamp())";
    questions.ask(take, &[Some(&id.to_string())], |_| ())?;
    let mut settings = PoolSettings::new(&connection.database_url);
    let parallelism = definition(connection, id)?.and_then(|d| d.consumer.settings.parallelism);
    // The partitions may be fewer; sessions are opened when they are used.
    settings.sessions_max = lanes_of(parallelism, usize::MAX) as usize + SESSIONS_BESIDE;
    settings.worker = Some(owner.clone());
    if connection.pooler {
        settings.database.pooler = sql::config::Pooler::Transaction;
    }
    let refused = |error: api::Error| Error {
        hint: error.hint,
        ..Error::new(ErrorKind::Refused, error.message)
    };
    let pool = SessionPool::new(settings).map_err(refused)?;
    let budget = Arc::new(Budget::default());
    let mut last = Progress::default();
    loop {
        let Some(definition) = definition(connection, id)? else {
            return if last == Progress::default() {
                Err(not_there(id))
            } else {
                Ok(Outcome::Cancelled(last))
            };
        };
        let run = Run {
            definition: &definition,
            owner: &owner,
            questions: &questions,
            pool: &pool,
            budget: &budget,
            stop,
        };
        let end = run.run(&mut |progress| {
            last.clone_from(progress);
            tell(progress);
        });
        match end {
            End::Done => return Ok(Outcome::Done(last)),
            End::Stopped => return Ok(Outcome::Stopped(last)),
            End::Taken => return Ok(Outcome::Taken),
            End::Blocked(error) => return Ok(Outcome::Blocked(error)),
            End::Over => {}
            End::Away(error) => {
                last.trouble = Some(error.report());
                tell(&last);
                wait(stop);
            }
        }
        if stop() {
            return Ok(Outcome::Stopped(last));
        }
    }
}

/// Less than a lease lasts.
fn wait(stop: &dyn Fn() -> bool) {
    debug_assert!(RETRY < Duration::from_secs(LEASE_SECONDS as u64));
    let until = Instant::now() + RETRY;
    while Instant::now() < until && !stop() {
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn definition(connection: &Connection, id: i64) -> Result<Option<Definition>, Error> {
    let mut session = session(connection)?;
    let definitions = control::read_definitions(&mut session)?;
    let replay = definitions.replays.iter().find(|replay| replay.id == id);
    Ok(replay.and_then(|replay| Definition::find(&definitions, replay)))
}
