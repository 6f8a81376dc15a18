//! What a request comes to, for whoever asked.

use crate::state::{Done, Refusal};

/// The outcome of a request.
pub type Answer = Result<Done, HerderError>;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HerderError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    Invalid(String),
    /// Something outside does not answer.
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Unavailable(String),
    /// A worker cannot give its tasks away.
    #[error("{0}")]
    NoTaker(String),
    /// Nothing was done: another worker leads, or nobody.
    #[error("another worker leads the cluster")]
    Elsewhere,
}

impl From<Refusal> for HerderError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unknown { message } => HerderError::NotFound(message),
            Refusal::Exists { name } => {
                HerderError::Conflict(format!("Connector {name} already exists"))
            }
            Refusal::Invalid { message } => HerderError::Invalid(message),
            Refusal::Failed { message } => HerderError::Failed(message),
            Refusal::ShuttingDown => HerderError::Unavailable("Worker is shutting down".to_owned()),
        }
    }
}
