//! The registry as converters see it.

use crate::{Draft, Missing, Refused, Registered, SchemaId, Settings, Stored};
use api::{Error, Result};
use std::sync::Arc;

/// A client of one registry; a clone is the same client.
#[derive(Clone, Debug)]
pub struct Registry {
    settings: Arc<Settings>,
}

impl Registry {
    /// The process's client of these settings. Does no I/O but for files of certificates.
    ///
    /// # Errors
    /// `Config`: certificates or keys cannot be read.
    pub fn shared(settings: &Settings) -> Result<Registry> {
        Ok(Registry { settings: Arc::new(settings.clone()) })
    }

    /// What is known about an id without asking. `None`: [`fetch`](Registry::fetch) it.
    pub fn cached(
        &self,
        _id: &SchemaId,
        _subject: Option<&str>,
    ) -> Option<Result<Arc<Registered>, Missing>> {
        None
    }

    /// The schema of an id, references included; asks at most once, whoever else waits for it. The
    /// subject is that of the topic, if there is one: some registries keep ids by subject, and it gives
    /// the version.
    ///
    /// # Errors
    /// `Retriable`: the registry is away; `Config`: it refuses us.
    pub fn fetch(
        &self,
        _id: &SchemaId,
        _subject: Option<&str>,
    ) -> Result<Result<Arc<Registered>, Missing>> {
        Err(self.unbuilt())
    }

    /// Registers a schema, or finds it where it is registered already.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn register(
        &self,
        _subject: &str,
        _draft: &Draft,
        _normalize: bool,
    ) -> Result<Result<Stored, Refused>> {
        Err(self.unbuilt())
    }

    /// Finds a schema in a subject.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn lookup(
        &self,
        _subject: &str,
        _draft: &Draft,
        _normalize: bool,
    ) -> Result<Result<Stored, Refused>> {
        Err(self.unbuilt())
    }

    /// The newest version of a subject.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn latest(&self, _subject: &str) -> Result<Result<Arc<Registered>, Refused>> {
        Err(self.unbuilt())
    }

    /// One version of a subject.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn version(
        &self,
        _subject: &str,
        _version: i32,
    ) -> Result<Result<Arc<Registered>, Refused>> {
        Err(self.unbuilt())
    }

    /// The guid of a schema; none where the registry has no guids.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn guid(&self, _id: i32) -> Result<Option<[u8; 16]>> {
        Err(self.unbuilt())
    }

    fn unbuilt(&self) -> Error {
        Error::bug(format!("the client of {:?} is not built", self.settings.urls))
    }
}
