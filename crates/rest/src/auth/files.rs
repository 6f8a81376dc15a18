//! Our own file of users: `name:hash:role` a line, as `htpasswd -B` writes it with the role added.

use super::Role;
use std::collections::BTreeMap;

/// What is wrong with a file of users. No line is quoted: it has a password's hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{message}\n  hint: a line is NAME:HASH:ROLE, where `htpasswd -nB NAME` prints NAME:HASH and \
         ROLE is admin or read-only"
)]
pub struct UsersError {
    message: String,
}

impl UsersError {
    fn at(line: usize, what: &str) -> UsersError {
        UsersError { message: format!("line {line}: {what}") }
    }

    pub(super) fn no_randomness() -> UsersError {
        UsersError { message: "the system gives no random numbers".to_owned() }
    }
}

/// A user's hash and role.
pub(super) type Hash = (String, Role);

/// Higher costs let a few wrong passwords keep a processor busy.
const COST_MAX: u32 = 14;

/// # Errors
/// The first line that is none.
pub(super) fn hashes(text: &str) -> Result<BTreeMap<String, Hash>, UsersError> {
    let mut users = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fault = |what: &str| UsersError::at(number, what);
        let mut parts = line.rsplitn(3, ':');
        let (role, hash, name) = (parts.next(), parts.next(), parts.next());
        let (Some(role), Some(hash), Some(name)) = (role, hash, name) else {
            return Err(fault("a name, a hash and a role are expected, with colons between them"));
        };
        let role = match role.trim() {
            "admin" => Role::Admin,
            "read-only" => Role::ReadOnly,
            _ => return Err(fault("the role is neither admin nor read-only")),
        };
        let parts: bcrypt::HashParts =
            hash.parse().map_err(|_| fault("the hash is not one of bcrypt ($2y$…)"))?;
        if parts.get_cost() > COST_MAX {
            return Err(fault("the hash has a cost above 14, so that each request would be slow"));
        }
        if name.is_empty() || name.contains(':') {
            return Err(fault("a name has letters, and no colon"));
        }
        if users.insert(name.to_owned(), (hash.to_owned(), role)).is_some() {
            return Err(fault("the name is there already"));
        }
    }
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_line_is_named_and_not_quoted() {
        let hash = bcrypt::hash("hunter2", 4).unwrap();
        let dear = format!("$2y$31${}", &hash[7..]);
        for (line, part) in [
            (format!("ann:{hash}"), "a name, a hash and a role"),
            (format!("ann:{hash}:root"), "neither admin nor"),
            ("ann".to_owned(), "a name, a hash and a role"),
            ("ann:hunter2:admin".to_owned(), "not one of bcrypt"),
            (format!(":{hash}:admin"), "a name has letters"),
            (format!("ann:{hash}:admin\nann:{hash}:admin"), "there already"),
            (format!("ann:{dear}:admin"), "a cost above 14"),
        ] {
            let error = hashes(&format!("\n{line}")).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(error.contains("line ") && !error.contains("hunter2"), "{error}");
            assert!(!error.contains(&hash[10..]), "{error}");
        }
    }
}
