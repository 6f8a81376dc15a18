//! The built `copycat` binary as a process: started with properties files, killed, terminated,
//! restarted, asked over REST. And a worker of Kafka Connect itself.

mod http;
mod site;
mod worker;

pub use http::{Answer, FullAnswer, request, send};
pub use site::Site;
pub use worker::{Worker, WorkerSetup};
