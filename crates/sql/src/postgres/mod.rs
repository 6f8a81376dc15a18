//! PostgreSQL: the first-class destination.
//!
//! Place in the data path: the end of it. [`PostgresDatabase`] puts one transaction into one write
//! (offset rows, rows, rejects) and keeps two of them under way; `wire` carries them, `value` gives
//! cells their form.

mod advance;
mod array;
mod building;
mod catalog;
mod consumer;
mod database;
mod ddl;
mod dead_letters;
mod errors;
mod explain;
mod ledger;
mod look;
mod names;
mod pool;
mod queue;
mod rights;
mod session;
mod settings;
mod statements;
mod store;
mod transact;
pub mod value;
pub mod wire;
mod write;

pub use consumer::{ConsumerTarget, Gap, GapReason, SetMember, consumer_sink, together_sink};
pub use database::PostgresDatabase;
pub use pool::{PoolSettings, SessionPool};
