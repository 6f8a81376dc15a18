//! What a validation looks at in a database file, before anything is written.
//!
//! Place: the control plane. A file that is there is opened for reading only; one that is not there is
//! not made.

use super::catalogue;
use super::connection::{look as look_at_path, open_to_read};
use super::url::{Location, OpenMode};
use crate::look::{DATABASE, TableLook, URL, failed, missing};
use api::Check;
use rustix::fs::{Access, access};
use std::path::Path;

const FILE: &str = "database file";

pub(super) fn look(location: &Location, tables: &[TableLook]) -> Vec<Check> {
    let shown = location.path.display();
    if let Err(error) = look_at_path(&location.path, location.mode) {
        return vec![failed(FILE, error, URL)];
    }
    if location.mode == OpenMode::ReadOnly {
        let line = Check::failed(FILE, format!("{shown} is opened for reading only"))
            .hint("leave mode=ro out of the URL");
        return vec![line.key(URL)];
    }
    let parent = location.path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new("."));
    let there = location.path.try_exists().unwrap_or_default();
    // Journals lie beside the file.
    let places = [folder, location.path.as_path()];
    let places = places.iter().take(if there { 2 } else { 1 });
    let closed = places.copied().find(|path| access(*path, Access::WRITE_OK).is_err());
    if let Some(closed) = closed {
        let line = Check::failed(FILE, format!("{} may not be written", closed.display()))
            .hint("give the user of this process write access to the file and its directory");
        return vec![line.key(URL)];
    }
    if !there {
        let text = format!("{shown} is not there and may be created");
        let mut checks = vec![Check::ok(FILE, text)];
        checks.extend(tables.iter().map(|look| {
            if look.may_create {
                Check::ok(&look.label, "it is not there and may be created")
            } else {
                missing(look)
            }
        }));
        return checks;
    }
    let connection = match open_to_read(&location.path) {
        Ok(connection) => connection,
        Err(error) => return vec![failed(DATABASE, error, URL)],
    };
    let mut checks = vec![Check::ok(FILE, format!("{shown} may be read and written"))];
    for look in tables {
        checks.push(match catalogue::read(&connection, &look.table) {
            Ok(Some(_)) => Check::ok(&look.label, "it is there"),
            Ok(None) if look.may_create => {
                Check::ok(&look.label, "it is not there and may be created")
            }
            Ok(None) => missing(look),
            Err(error) => failed(&look.label, error, look.key),
        });
    }
    checks
}
