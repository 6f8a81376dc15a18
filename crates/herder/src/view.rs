//! What the driver publishes for readers: a copy of the state, with live task statuses.

use crate::state::Target;
use config::Props;
use runtime::{Direction, StatusCell};
use std::collections::BTreeMap;

/// A task as readers see it.
#[derive(Clone)]
pub struct TaskView {
    pub config: Props,
    /// Live: read it for the task's state of this moment.
    pub status: StatusCell,
}

/// A connector as readers see it.
#[derive(Clone)]
pub struct ConnectorView {
    /// As the user wrote it, references to secrets included.
    pub config: Props,
    /// Which way its records go.
    pub direction: Direction,
    pub target: Target,
    pub failure: Option<String>,
    pub tasks: Vec<TaskView>,
}

/// Everything a reader may ask for.
#[derive(Clone, Default)]
pub struct View {
    pub connectors: BTreeMap<String, ConnectorView>,
    /// The connectors given at the start have been created.
    pub ready: bool,
}
