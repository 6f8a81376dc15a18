//! Users with bcrypt hashes. A hash takes tens of milliseconds of a processor on purpose, so passwords
//! that were right are remembered as keyed digests, and one hash at a time is worked out: a flood of
//! wrong passwords slows new users down, and nobody else.

use super::Role;
use super::files::Hash;
use aws_lc_rs::hmac;
use config::Password;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Remembered digests. There is one for each user unless a file is changed; more are dropped.
const REMEMBERED_MAX: usize = 1000;
/// bcrypt looks at no more; a longer password would be cut off in silence.
const PASSWORD_BYTES_MAX: usize = 72;

pub(super) struct Hashed {
    users: BTreeMap<String, Hash>,
    /// Digests of name and password that were right.
    right: Mutex<BTreeSet<Vec<u8>>>,
    turn: Arc<Semaphore>,
}

impl Hashed {
    pub(super) fn new(users: BTreeMap<String, Hash>) -> Hashed {
        Hashed { users, right: Mutex::default(), turn: Arc::new(Semaphore::new(1)) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// The role of a user; `None` for a wrong password and an unknown name, which takes as long.
    pub(super) async fn role(
        &self,
        key: &hmac::Key,
        name: String,
        password: Password,
    ) -> Option<Role> {
        let digest = digest(key, &name, &password);
        let user = self.users.get(&name);
        if let Some((_, role)) = user
            && self.right.lock().unwrap_or_else(PoisonError::into_inner).contains(&digest)
        {
            return Some(*role);
        }
        let any = self.users.values().next();
        let (hash, role) = user.or(any)?.clone();
        let turn = self.turn.clone().acquire_owned().await.ok()?;
        let checking = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let short = password.expose().len() <= PASSWORD_BYTES_MAX;
            bcrypt::verify(password.expose(), &hash).unwrap_or(false) && short
        });
        if !checking.await.unwrap_or(false) || user.is_none() {
            return None;
        }
        let mut right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
        if right.len() >= REMEMBERED_MAX {
            right.clear();
        }
        right.insert(digest);
        Some(role)
    }
}

fn digest(key: &hmac::Key, name: &str, password: &Password) -> Vec<u8> {
    let mut context = hmac::Context::with_key(key);
    // A name has no colon.
    for part in [name, ":", password.expose()] {
        context.update(part.as_bytes());
    }
    context.sign().as_ref().to_vec()
}
