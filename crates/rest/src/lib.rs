//! Kafka Connect's REST interface over a herder.
//!
//! The routes hold no state: reads come from the herder's view, writes are requests to it. Bodies and
//! messages are Connect's; our own additions are the members `hint` (errors) and `copycat` (others).

mod connectors;
mod errors;
mod root;
mod server;
mod status;

pub use server::{Facts, Listener, ServeError, bind, serve};
