//! The registry as converters see it: what is known already, and what is asked for.

use crate::bounds::Bounds;
use crate::cache::{Cache, Holds};
use crate::http::Http;
use crate::references::resolve;
use crate::rest::{self, Line, Plain, Version};
use crate::{Draft, Missing, Refused, Registered, SchemaId, Settings, Stored};
use api::{Cancel, Result, SCHEMA_LOOKUPS};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Clients of this process; beyond that the one made first that nobody uses goes.
const CLIENTS_MAX: usize = 64;

/// A client of one registry; a clone is the same client.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
    bounds: Bounds,
}

/// A schema, or why there is none.
type Found = Result<Arc<Registered>, Missing>;
/// By id and subject.
type ViewKey = (SchemaId, Option<String>);
/// By subject, schema and normalisation.
type DraftKey = (String, Draft, bool);
/// By subject and version.
type VersionKey = (String, i32);

pub(crate) struct Inner {
    http: Http,
    settings: Settings,
    /// As they were answered.
    plain: Cache<SchemaId, Result<Plain, Missing>>,
    /// Versions of subjects, which never change.
    versions: Cache<VersionKey, Result<Plain, Missing>>,
    /// Where a schema is registered, as far as it was asked.
    places: Cache<i32, Arc<Vec<(String, i32)>>>,
    /// With what they refer to, and as a version of a subject.
    views: Cache<ViewKey, Found>,
    registered: Cache<DraftKey, Result<Stored, Refused>>,
    looked_up: Cache<DraftKey, Result<Stored, Refused>>,
    /// Subjects without a newest version.
    latest: Cache<String, Result<Arc<Registered>, Refused>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({})", self.inner.http.shown())
    }
}

impl Registry {
    /// The process's client of these settings. Does no I/O but for files of certificates, which are read
    /// anew, so that changed ones make another client.
    ///
    /// # Errors
    /// `Config`: certificates or keys cannot be read.
    pub fn shared(settings: &Settings) -> Result<Registry> {
        static CLIENTS: Mutex<Vec<(u64, Registry)>> = Mutex::new(Vec::new());
        let tls = settings.stores.read(settings.asked())?;
        let fingerprint = tls.fingerprint;
        let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(print, client): &&(u64, Registry)| {
            *print == fingerprint && client.inner.settings == *settings
        };
        if let Some((_, client)) = clients.iter().find(same) {
            return Ok(client.clone());
        }
        let client = Registry {
            inner: Arc::new(Inner::new(settings, Http::new(settings, tls)?)),
            bounds: Bounds::default(),
        };
        if clients.len() >= CLIENTS_MAX {
            let unused =
                clients.iter().position(|(_, client)| Arc::strong_count(&client.inner) == 1);
            unused.map(|place| clients.remove(place));
        }
        clients.push((fingerprint, client.clone()));
        Ok(client)
    }

    /// The same client for a caller who waits no longer than this. Its calls end with `Cancelled` then.
    #[must_use]
    pub fn bounded(&self, cancelled: Option<Cancel>, deadline: Option<Instant>) -> Registry {
        Registry { inner: self.inner.clone(), bounds: Bounds { cancelled, deadline } }
    }

    /// The addresses that are asked, without logins.
    pub fn addresses(&self) -> String {
        self.inner.http.shown()
    }

    /// What is known about an id without asking. `None`: [`fetch`](Registry::fetch) it.
    pub fn cached(
        &self,
        id: &SchemaId,
        subject: Option<&str>,
    ) -> Option<Result<Arc<Registered>, Missing>> {
        let known = self.inner.views.peek(&(*id, subject.map(str::to_owned)));
        if known.is_some() {
            SCHEMA_LOOKUPS.known();
        }
        known
    }

    /// The schema of an id, references included; asks at most once, whoever else waits for it. The
    /// subject is that of the topic, if there is one: it gives the version.
    ///
    /// # Errors
    /// `Retriable`: the registry is away; `Config`: it refuses us.
    pub fn fetch(
        &self,
        id: &SchemaId,
        subject: Option<&str>,
    ) -> Result<Result<Arc<Registered>, Missing>> {
        let (inner, bounds) = (&*self.inner, &self.bounds);
        inner.views.get_or(&(*id, subject.map(str::to_owned)), bounds, || {
            let plain = match inner.plain(id, bounds)? {
                Ok(plain) => plain,
                Err(missing) => return Ok((Err(missing), inner.missing_id())),
            };
            let version = match subject {
                Some(subject) => inner.version_in(id, &plain, subject, bounds)?,
                None => None,
            };
            let found =
                resolve(*id, &plain, subject.map(str::to_owned), version, &|subject, version| {
                    inner.referred(subject, version, bounds)
                })?;
            let holds = if found.is_ok() { Holds::ForGood } else { inner.missing_id() };
            Ok((found, holds))
        })
    }

    /// Registers a schema, or finds it where it is registered already.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn register(
        &self,
        subject: &str,
        draft: &Draft,
        normalize: bool,
    ) -> Result<Result<Stored, Refused>> {
        let (inner, bounds) = (&*self.inner, &self.bounds);
        let key = (subject.to_owned(), draft.clone(), normalize);
        inner.registered.get_or(&key, bounds, || {
            let stored = rest::register(&inner.line(bounds), subject, draft, normalize)?;
            Ok(inner.holding(stored))
        })
    }

    /// Finds a schema in a subject.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn lookup(
        &self,
        subject: &str,
        draft: &Draft,
        normalize: bool,
    ) -> Result<Result<Stored, Refused>> {
        let (inner, bounds) = (&*self.inner, &self.bounds);
        let key = (subject.to_owned(), draft.clone(), normalize);
        inner.looked_up.get_or(&key, bounds, || {
            let stored = rest::lookup(&inner.line(bounds), subject, draft, normalize)?;
            Ok(inner.holding(stored))
        })
    }

    /// The newest version of a subject. Asked each time, unless there was none a moment ago.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn latest(&self, subject: &str) -> Result<Result<Arc<Registered>, Refused>> {
        let (inner, bounds) = (&*self.inner, &self.bounds);
        inner.latest.get_or(&subject.to_owned(), bounds, || {
            let found = inner.in_subject(subject, Version::Latest, bounds)?;
            let ttl = if found.is_ok() { Default::default() } else { inner.missing_version() };
            Ok((found, Holds::For(ttl)))
        })
    }

    /// One version of a subject.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn version(&self, subject: &str, version: i32) -> Result<Result<Arc<Registered>, Refused>> {
        self.inner.in_subject(subject, Version::Number(version), &self.bounds)
    }

    /// The guid of a schema; none where the registry has no guids.
    ///
    /// # Errors
    /// As [`fetch`](Registry::fetch).
    pub fn guid(&self, id: i32) -> Result<Option<[u8; 16]>> {
        Ok(self.inner.plain(&SchemaId::Id(id), &self.bounds)?.ok().and_then(|plain| plain.guid))
    }
}

impl Inner {
    fn new(settings: &Settings, http: Http) -> Inner {
        let max = settings.limits.schemas_per_subject;
        Inner {
            http,
            settings: settings.clone(),
            plain: Cache::new(usize::MAX, |_, _| false),
            versions: Cache::new(max, |a, b| a.0 == b.0),
            places: Cache::new(usize::MAX, |_, _| false),
            views: Cache::new(max, |a, b| a.1 == b.1 && a.1.is_some()),
            registered: Cache::new(max, |a, b| a.0 == b.0),
            looked_up: Cache::new(max, |a, b| a.0 == b.0),
            latest: Cache::new(usize::MAX, |_, _| false),
        }
    }

    fn missing_id(&self) -> Holds {
        Holds::For(self.settings.limits.missing_id_ttl)
    }

    fn missing_version(&self) -> Duration {
        self.settings.limits.missing_version_ttl
    }

    /// A refusal holds for a while: somebody may change the subject's rules.
    fn holding(&self, stored: Result<Stored, Refused>) -> (Result<Stored, Refused>, Holds) {
        let holds = match &stored {
            Ok(_) => Holds::ForGood,
            Err(_) => Holds::For(self.settings.limits.missing_schema_ttl),
        };
        (stored, holds)
    }

    fn line<'a>(&'a self, bounds: &'a Bounds) -> Line<'a> {
        Line { http: &self.http, bounds }
    }

    fn plain(&self, id: &SchemaId, bounds: &Bounds) -> Result<Result<Plain, Missing>> {
        self.plain.get_or(id, bounds, || {
            Ok(match rest::schema(&self.line(bounds), id)? {
                Ok(plain) => (Ok(plain), Holds::ForGood),
                Err(refused) => {
                    let base = self.http.shown();
                    let text = format!("schema {id} is not in the registry {base}: {refused}");
                    (Err(Missing(text)), self.missing_id())
                }
            })
        })
    }

    /// The version that a schema is in a subject, if the registry tells.
    fn version_in(
        &self,
        id: &SchemaId,
        plain: &Plain,
        subject: &str,
        bounds: &Bounds,
    ) -> Result<Option<i32>> {
        let number = match id {
            SchemaId::Id(number) => Some(*number),
            SchemaId::Guid(_) if plain.id.is_some() => plain.id,
            SchemaId::Guid(_) => rest::id_of_guid(&self.line(bounds), id)?,
        };
        let Some(number) = number else { return Ok(None) };
        let newest = |places: &[(String, i32)]| {
            places.iter().filter(|(name, _)| name == subject).map(|(_, version)| *version).max()
        };
        if let Some(version) = self.places.peek(&number).and_then(|places| newest(&places)) {
            return Ok(Some(version));
        }
        // It may be in this subject since.
        let places = rest::versions(&self.line(bounds), number)?;
        let version = newest(&places);
        self.places.put(number, Arc::new(places));
        Ok(version)
    }

    /// A version that a schema refers to.
    fn referred(
        &self,
        subject: &str,
        version: i32,
        bounds: &Bounds,
    ) -> Result<Result<Plain, Missing>> {
        let ask = || {
            let asked = if version > 0 { Version::Number(version) } else { Version::Latest };
            Ok(match rest::version(&self.line(bounds), subject, asked)? {
                // The newest one changes.
                Ok(plain) if version <= 0 => (Ok(plain), self.missing_id()),
                Ok(plain) => (Ok(plain), Holds::ForGood),
                Err(refused) => {
                    let text = format!(
                        "it refers to version {version} of subject {subject}, which is not in the \
                         registry: {refused}"
                    );
                    (Err(Missing(text)), Holds::For(self.missing_version()))
                }
            })
        };
        self.versions.get_or(&(subject.to_owned(), version), bounds, ask)
    }

    fn in_subject(
        &self,
        subject: &str,
        version: Version,
        bounds: &Bounds,
    ) -> Result<Result<Arc<Registered>, Refused>> {
        let plain = match rest::version(&self.line(bounds), subject, version)? {
            Ok(plain) => plain,
            Err(refused) => return Ok(Err(refused)),
        };
        let unreadable = |message: String| Refused { status: 200, code: 0, message };
        let Some(id) = plain.id else {
            return Ok(Err(unreadable("the answer has no id".to_owned())));
        };
        let (id, name, number) = (SchemaId::Id(id), Some(subject.to_owned()), plain.version);
        let found = resolve(id, &plain, name, number, &|subject, version| {
            self.referred(subject, version, bounds)
        })?;
        Ok(found.map_err(|missing| unreadable(missing.0)))
    }
}
