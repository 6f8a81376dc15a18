//! The built `copycat` binary as a process: started with properties files, killed, terminated,
//! restarted, asked over REST.

mod http;
mod worker;

pub(crate) use http::send;
pub use http::{Answer, FullAnswer, request};
pub use worker::{Worker, WorkerSetup};
