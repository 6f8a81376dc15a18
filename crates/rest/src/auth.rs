//! Who may ask: users with passwords (HTTP basic authentication), in Connect's properties file or in a
//! file of our own with bcrypt hashes and roles.
//!
//! Invariants: no password and no part of one is kept in an error or a log line; what is compared is
//! compared in a time that does not depend on it; an unknown name takes as long as a wrong password.

mod files;
mod hashed;

use crate::codes::Code;
use crate::errors::RestError;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hashed::Hashed;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

pub use files::UsersError;

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything.
    Admin,
    /// Ask, and change nothing.
    ReadOnly,
}

/// Why somebody is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No name, an unknown one, or a wrong password.
    Unknown,
    /// A change by somebody who may read.
    ReadOnly,
}

/// The contents of the files of users.
#[derive(Default)]
pub struct UserFiles {
    /// Connect's: `name=password` lines. An empty file admits everybody, as there.
    pub properties: Option<config::Props>,
    /// Ours: `name:bcrypt hash:role` lines.
    pub hashes: Option<String>,
}

/// The users of the interface.
pub struct Users {
    known: RwLock<Arc<Known>>,
}

struct Known {
    /// Everybody may do everything.
    everybody: bool,
    plain: BTreeMap<String, config::Password>,
    hashed: Hashed,
    /// New in each process: what is compared are digests under it.
    key: aws_lc_rs::hmac::Key,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Users")
    }
}

impl Users {
    /// # Errors
    /// A line of our own file is none.
    pub fn new(files: UserFiles) -> Result<Users, UsersError> {
        Ok(Users { known: RwLock::new(Arc::new(Known::new(files)?)) })
    }

    /// Takes new contents.
    ///
    /// # Errors
    /// As for [`Users::new`]; nothing has changed then.
    pub fn renew(&self, files: UserFiles) -> Result<(), UsersError> {
        let known = Arc::new(Known::new(files)?);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// Whether everybody is admitted, since Connect's file is empty.
    pub fn admit_everybody(&self) -> bool {
        self.known().everybody
    }

    fn known(&self) -> Arc<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Checks the header `Authorization` of somebody who wants to read, or to change something.
    pub(crate) async fn check(
        &self,
        header: Option<&HeaderValue>,
        changes: bool,
    ) -> Result<(), Refused> {
        let known = self.known();
        if known.everybody {
            return Ok(());
        }
        let (name, password) = header.and_then(credentials).ok_or(Refused::Unknown)?;
        match known.role(name, password).await {
            Some(Role::Admin) => Ok(()),
            Some(Role::ReadOnly) if changes => Err(Refused::ReadOnly),
            Some(Role::ReadOnly) => Ok(()),
            None => Err(Refused::Unknown),
        }
    }
}

impl Known {
    fn new(files: UserFiles) -> Result<Known, UsersError> {
        let everybody =
            files.properties.as_ref().is_some_and(|props| props.keys().next().is_none());
        let props = files.properties.unwrap_or_default();
        let plain = props
            .iter()
            .map(|(name, password)| (name.to_owned(), config::Password::new(password.to_owned())));
        let hashed = files::hashes(files.hashes.as_deref().unwrap_or_default())?;
        let random = aws_lc_rs::rand::SystemRandom::new();
        let key = aws_lc_rs::hmac::Key::generate(aws_lc_rs::hmac::HMAC_SHA256, &random);
        let key = key.map_err(|_| UsersError::no_randomness())?;
        Ok(Known { everybody, plain: plain.collect(), hashed: Hashed::new(hashed), key })
    }

    async fn role(&self, name: String, password: config::Password) -> Option<Role> {
        if let Some(own) = self.plain.get(&name) {
            return self.same(own, &password).then_some(Role::Admin);
        }
        if self.hashed.is_empty() {
            // As long as for a name that there is.
            let _different = self.same(&password, &config::Password::new(name));
            return None;
        }
        self.hashed.role(&self.key, name, password).await
    }

    /// Digests have one length, so that not even that of a password shows in the time.
    fn same(&self, own: &config::Password, given: &config::Password) -> bool {
        let digest =
            |of: &config::Password| aws_lc_rs::hmac::sign(&self.key, of.expose().as_bytes());
        let (own, given) = (digest(own), digest(given));
        aws_lc_rs::constant_time::verify_slices_are_equal(own.as_ref(), given.as_ref()).is_ok()
    }
}

/// Name and password of `Basic …`; `None` for anything else.
fn credentials(header: &HeaderValue) -> Option<(String, config::Password)> {
    let (scheme, rest) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    let known = !name.is_empty();
    known.then(|| (name.to_owned(), config::Password::new(password.to_owned())))
}

/// Connect's answer to somebody it does not know.
pub(crate) fn unauthorized() -> Response {
    let mut response =
        (StatusCode::UNAUTHORIZED, "User cannot access the resource.").into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

pub(crate) fn read_only() -> RestError {
    RestError::new(Code::ReadOnly, "this user may read, and change nothing")
        .hint("ask as a user whose line in the users file ends in :admin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(text: &str) -> HeaderValue {
        HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(text))).unwrap()
    }

    async fn ask(users: &Users, text: &str, changes: bool) -> Result<(), Refused> {
        users.check(Some(&basic(text)), changes).await
    }

    #[tokio::test]
    async fn connects_file_has_passwords_and_an_empty_one_admits_everybody() {
        let props = [("ann", "a:b"), ("bob", "")].into_iter().collect();
        let files = UserFiles { properties: Some(props), hashes: None };
        let users = Users::new(files).unwrap();
        assert_eq!(ask(&users, "ann:a:b", true).await, Ok(()));
        assert_eq!(ask(&users, "bob:", true).await, Ok(()));
        for wrong in ["ann:a", "ann:", "eve:a:b", ":a:b", "ann"] {
            assert_eq!(ask(&users, wrong, false).await, Err(Refused::Unknown), "{wrong}");
        }
        assert_eq!(users.check(None, false).await, Err(Refused::Unknown));
        for header in ["Bearer x", "Basic", "Basic !!", "basic /w=="] {
            let header = HeaderValue::from_static(header);
            assert_eq!(users.check(Some(&header), false).await, Err(Refused::Unknown));
        }
        let nobody = UserFiles { properties: Some(config::Props::new()), hashes: None };
        users.renew(nobody).unwrap();
        assert!(users.admit_everybody());
        assert_eq!(users.check(None, true).await, Ok(()));
    }

    #[tokio::test]
    async fn our_file_has_hashes_and_roles() {
        let hash = |password: &str| bcrypt::hash(password, 4).unwrap();
        let text =
            format!("# who\n\nann:{}:admin\nread er:{}:read-only\n", hash("a:b"), hash("secret"));
        let users = Users::new(UserFiles { properties: None, hashes: Some(text) }).unwrap();
        // Twice: the second time from memory.
        for _ in 0..2 {
            assert_eq!(ask(&users, "ann:a:b", true).await, Ok(()));
            assert_eq!(ask(&users, "read er:secret", false).await, Ok(()));
            assert_eq!(ask(&users, "read er:secret", true).await, Err(Refused::ReadOnly));
            assert_eq!(ask(&users, "ann:secret", false).await, Err(Refused::Unknown));
            assert_eq!(ask(&users, "eve:secret", false).await, Err(Refused::Unknown));
        }
    }
}
