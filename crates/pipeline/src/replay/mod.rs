//! Replays: a range of a topic is read once more, into the consumer's relation or another one.
//!
//! Place in the data path: beside the live flow. One process at a time runs a replay, under a lease in
//! the database: a worker ([`crate::worker`]) or the command `copycat pg replay` ([`client`]). It reads
//! by itself, without a group, and writes through lanes of its own: partitions are dealt out to them, as
//! many as the consumer's parallelism allows.
//!
//! Invariants: the range is resolved once and stored before the first record is read; positions are
//! the replay's own and move with the rows, so that whoever goes on after a crash goes on exactly
//! there; whoever was cancelled or lost the lease is fenced by the epochs.

mod ask;
pub mod client;
mod lane;
mod letters;
mod range;
mod run;

pub use run::Progress;
pub(crate) use run::{End, Run};

use crate::control::{Cluster, Consumer, Replay};

/// Everything that a replay follows from.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) cluster: Cluster,
    pub(crate) consumer: Consumer,
    pub(crate) replay: Replay,
}

impl Definition {
    /// The definition of a replay among all of them; `None`: its consumer or cluster is gone.
    pub(crate) fn find(
        definitions: &crate::control::Definitions,
        replay: &Replay,
    ) -> Option<Definition> {
        let consumers = &definitions.consumers;
        let consumer = consumers.iter().find(|consumer| consumer.id == replay.consumer_id)?;
        let clusters = &definitions.clusters;
        let cluster = clusters.iter().find(|cluster| cluster.name == consumer.cluster)?;
        Some(Definition {
            cluster: cluster.clone(),
            consumer: consumer.clone(),
            replay: replay.clone(),
        })
    }
}
