//! Kafka Connect's REST interface over a herder.
//!
//! The routes hold no state: reads come from the herder's view, writes are requests to it. Bodies and
//! messages are Connect's; our own additions are the members `code`, `hint` and `path` (errors) and
//! `copycat` (others). Mistakes of clients are answered with 4xx, where Connect's own worker sometimes says 500.

mod auth;
mod body;
mod codes;
mod connectors;
mod definitions;
mod dispatch;
mod errors;
mod forward;
mod internal;
mod loggers;
mod metrics;
mod offsets;
mod openapi;
mod peers;
mod plugins;
mod reference;
mod request;
mod root;
mod routes;
mod server;
mod status;
mod tasks;
mod workers;

pub use auth::{UserFiles, Users, UsersError};
pub use dispatch::Offer;
pub use loggers::{LoggerLevel, Loggers};
pub use peers::{ClientTls, PeerSettings, Peers};
pub use reference::page as reference_page;
pub use server::{
    ClientCertificate, Facts, Limits, Listener, Material, Scheme, ServeError, Server, Setup,
    Socket, Tls, bind, serve,
};
