//! What a worker reads from the schema `pipeline_kafka`, and what it writes there beside positions.
//!
//! Place in the data path: beside the connections that write rows. [`Control`] has one for definitions
//! and reports, [`Questions`] one for what lanes and replays ask; both open it again after every
//! failure, so that callers only have to try again.
//!
//! Invariant: nothing here moves a position, except that the starts of a new consumer are stored.

use sql::postgres::wire::{Connection, Wait};
use std::time::Duration;

mod connection;
mod definitions;
mod error;
mod identity;
mod questions;
mod read;
mod report;
mod start;

pub use connection::{Change, Control, ControlOptions};
pub(crate) use definitions::way_to_act;
pub use definitions::{
    Cluster, Column, Consumer, Definitions, Format, Mode, Registry, Relation, RelationKind, Replay,
    Route, Settings, Target, Unreadable,
};
pub use error::{Error, ErrorKind};
pub(crate) use identity::SYSTEM_IDENTIFIER;
pub use questions::Questions;
pub(crate) use questions::Stored;
pub use report::{BlockedRecord, Observed, State, Worker};
pub use start::Start;

/// The channel of all changes; the payload says of what: `consumers`, `clusters`, `replays`, `errors`
/// or `outbox`.
pub const CHANNEL: &str = "pipeline_kafka";

/// How long a look at the schema may take.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// The definitions, over a connection of another kind.
pub(crate) fn read_definitions(connection: &mut Connection) -> Result<Definitions, Error> {
    read::definitions(connection, Wait::at_most(LOOK_MAX))
}

/// Whether this is the database that the schema was installed into.
pub(crate) fn check_identity(connection: &mut Connection) -> Result<(), Error> {
    identity::check(connection, Wait::at_most(LOOK_MAX))
}
