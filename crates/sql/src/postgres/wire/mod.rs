//! A blocking PostgreSQL client connection, made for pipelined transactions.
//!
//! Place in the data path: the last step of a batch. A [`Pipeline`] is filled with one transaction's
//! messages (up to and including `Sync`, so that PostgreSQL treats them as one implicit transaction),
//! sent in one write with [`Connection::start`], and its answers are read by [`Connection::finish`].
//! Two pipelines can be under way, so that the server never waits for the client.
//!
//! Invariants:
//! - A [`Connection`] belongs to one thread. [`CancelToken`] is the only part that may be used from
//!   another one.
//! - Every wait is made of short ticks, so that a deadline or a cancel function can end it.
//! - While bytes are written, readable answers are taken in; the two sides cannot block each other.
//! - Passwords appear in no error, `Debug` or `Display` text.

mod auth;
mod cancel;
mod channel;
mod config;
mod connect;
mod connection;
mod error;
mod messages;
mod params;
mod pipeline;
mod query;
mod reply;
mod session;
mod stream;
mod tls;
mod url;
mod wait;

pub use cancel::CancelToken;
pub use config::{ConnectConfig, Host, Secret, SslMode, TargetServer};
pub use connection::{Connection, Notification};
pub use error::{Class, PgError, ServerError};
pub use pipeline::{Format, Param, ParamWriter, Pipeline};
pub use reply::{
    Command, Failure, FieldInfo, Reply, Rows, StatementResult, Tag, TransactionStatus,
};
pub use session::SessionSettings;
pub use url::hide_passwords;
pub use wait::Wait;
