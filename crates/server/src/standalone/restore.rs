//! Connectors of an earlier process, from `copycat.state.file`.
//!
//! What the command line names has the configuration of its file: that is what the operator wrote. It
//! stays paused or stopped if it was, unless its file says otherwise. The others come back as they were;
//! what is wrong with them now shows in their status and keeps nobody else from running.

use super::connector_file::ConnectorFile;
use crate::exit::Failure;
use herder::{Herder, Kept, StateFile, Target};
use std::collections::BTreeMap;

/// What was kept.
#[derive(Default)]
pub(super) struct Before {
    /// What the connectors of the command line did.
    pub(super) targets: BTreeMap<String, Target>,
    /// The others.
    pub(super) others: BTreeMap<String, Kept>,
}

/// Divides what was kept by what the command line names.
pub(super) fn split(
    kept: Option<StateFile>,
    connectors: &[ConnectorFile],
) -> (Before, Option<StateFile>) {
    let mut before = Before::default();
    let Some(file) = kept else { return (before, None) };
    for (name, kept) in file.connectors() {
        let Some(named) = connectors.iter().find(|connector| connector.name == *name) else {
            before.others.insert(name.clone(), kept.clone());
            continue;
        };
        if named.config != kept.config {
            tracing::info!(
                "connector {name}: its file takes the place of the configuration in {}",
                file.path().display()
            );
        }
        if named.target == Target::Started {
            before.targets.insert(name.clone(), kept.target);
        }
    }
    (before, Some(file))
}

/// # Errors
/// The worker is ending.
pub(super) async fn bring_back(
    herder: &Herder,
    others: BTreeMap<String, Kept>,
) -> Result<(), Failure> {
    for (name, Kept { config, target }) in others {
        let restored = herder.restore(name.clone(), config, target).await;
        restored.map_err(|error| Failure::unavailable(format!("connector {name}: {error}")))?;
        tracing::info!("connector {name} is back");
    }
    Ok(())
}
