//! Kafka Connect's REST interface over a herder.
//!
//! The routes hold no state: reads come from the herder's view, writes are requests to it. Bodies and
//! messages are Connect's; our own additions are the members `hint` and `path` (errors) and `copycat`
//! (others). Mistakes of clients are answered with 4xx, where Connect's own worker sometimes says 500.

mod body;
mod connectors;
mod definitions;
mod errors;
mod loggers;
mod metrics;
mod offsets;
mod plugins;
mod request;
mod resource;
mod root;
mod server;
mod status;
mod tasks;

pub use loggers::{LoggerLevel, Loggers};
pub use server::{Facts, Listener, ServeError, bind, serve};
