//! The built `copycat` binary as a process: started with properties files, killed, terminated,
//! restarted, asked over REST.

mod http;
mod worker;

pub use http::{Answer, FullAnswer, request, send};
pub use worker::{Worker, WorkerSetup};
