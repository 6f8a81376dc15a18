//! Looks at paths before they are opened: is there something, may this process use it.
//!
//! Place: validation alone. Nothing is opened or made, so that a pipe that nobody writes holds nothing
//! up.

use api::Check;
use rustix::fs::{Access, access};
use std::path::Path;

const NAME: &str = "file";

/// A file to be read, which may come later.
pub(crate) fn look_to_read(key: &str, path: &str) -> Check {
    let file = Path::new(path);
    match std::fs::metadata(file) {
        Ok(found) if found.is_dir() => folder(key, path),
        Ok(_) if access(file, Access::READ_OK).is_err() => {
            Check::failed(NAME, format!("{path} may not be read"))
                .hint("give the user of this process access to the file")
                .key(key)
        }
        Ok(_) => Check::ok(NAME, format!("{path} may be read")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Check::failed(NAME, format!("{path} is not there"))
                .hint("correct the path; the connector waits until the file is there")
                .key(key)
        }
        Err(error) => unusable(key, path, &error),
    }
}

/// A file to be written, which is made where it is missing.
pub(crate) fn look_to_write(key: &str, path: &str) -> Check {
    let file = Path::new(path);
    match std::fs::metadata(file) {
        Ok(found) if found.is_dir() => folder(key, path),
        Ok(_) if access(file, Access::WRITE_OK).is_err() => closed(key, path),
        Ok(_) => Check::ok(NAME, format!("{path} may be written")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            if !parent.is_dir() {
                let text = format!("the folder {} is not there", parent.display());
                return Check::failed(NAME, text)
                    .hint("make the folder, or correct the path")
                    .key(key);
            }
            match access(parent, Access::WRITE_OK) {
                Ok(()) => Check::ok(NAME, format!("{path} is not there and may be created")),
                Err(_) => closed(key, &parent.display().to_string()),
            }
        }
        Err(error) => unusable(key, path, &error),
    }
}

fn folder(key: &str, path: &str) -> Check {
    Check::failed(NAME, format!("{path} is a folder")).hint("name a file in it").key(key)
}

fn closed(key: &str, path: &str) -> Check {
    Check::failed(NAME, format!("{path} may not be written"))
        .hint("give the user of this process write access to it")
        .key(key)
}

fn unusable(key: &str, path: &str, error: &std::io::Error) -> Check {
    Check::failed(NAME, format!("{path}: {error}"))
        .hint("check the path and the permissions of its folders")
        .key(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_by_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("there"), "x").unwrap();
        for (check, failed, part) in [
            (look_to_read("file", &at("there")), false, "may be read"),
            (look_to_read("file", &at("absent")), true, "is not there"),
            (look_to_read("file", &at("")), true, "is a folder"),
            (look_to_read("file", &at("there/x")), true, "there/x"),
            (look_to_write("file", &at("there")), false, "may be written"),
            (look_to_write("file", &at("absent")), false, "may be created"),
            (look_to_write("file", &at("no/absent")), true, "the folder"),
            (look_to_write("file", &at("")), true, "is a folder"),
        ] {
            assert_eq!(check.is_failed(), failed, "{check:?}");
            assert!(check.what.contains(part), "{check:?}");
            assert_eq!(check.key.is_some() && check.hint.is_some(), failed, "{check:?}");
        }
        assert!(!Path::new(&at("absent")).try_exists().unwrap(), "nothing is made");
    }
}
