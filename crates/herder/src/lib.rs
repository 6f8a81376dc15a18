//! Decides what runs: which connectors exist, what they should do, which tasks follow from that.
//!
//! The decisions are a pure state machine ([`State::step`]): events in, actions out, no I/O, no clock,
//! no randomness. A driver carries the actions out and feeds the events back; connector code never
//! runs on its thread. Reads are answered from a view the driver publishes.

mod command;
pub mod distributed;
mod error;
mod hands;
mod standalone;
mod state;
mod step;
pub mod takeover;
mod view;

pub use command::Herder;
pub use error::{Answer, HerderError};
pub use standalone::{Kept, StateFile, StateFileError};
pub use state::{Action, Done, Event, OffsetsRefused, Request, State, Target};
pub use view::{
    At, ConnectorView, HeldTask, Leader, Standing, TaskView, View, WorkerState, WorkerView,
};
