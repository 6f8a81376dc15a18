//! Taking a cluster of Kafka Connect over, with its topics as they are, and handing it back.
//!
//! Workers of both kinds read and write the same records ([`topics`](crate::distributed::topics)), so
//! that there is little to do: to see who is alive ([`Company`]), to read what the topics hold
//! ([`Contents`]), to note how everything was ([`TakeOver`], [`Was`]), and to leave nothing behind that
//! a Java worker would trip over ([`hand_back`]).
//!
//! Invariants: reading makes and changes nothing; what is written to the config topic is written in one
//! transaction, so that whoever is killed on the way has done nothing or everything; what is done
//! twice is done once.

mod back;
mod company;
mod contents;
mod note;
mod write;

pub use back::{Back, hand_back};
pub use company::{Company, JavaWorker, no_java_workers};
pub use contents::{Contents, TopicSeen, Topics};
pub use note::{OFFSETS_MAX, TakeOver, Was};
pub use write::{at_once, plainly};
