//! The file of contexts: where workers are and who asks there. Its form is kcctl's, so that the file of
//! kcctl can be read, and is until there is one of our own. Only its user may read it.

use crate::exit::Failure;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const CURRENT: &str = "currentContext";

/// All contexts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contexts {
    pub(crate) current: Option<String>,
    /// By name, in the file's order.
    pub(crate) all: Map<String, Value>,
}

impl Contexts {
    /// Our own file's, else kcctl's, else none.
    ///
    /// # Errors
    /// A file is there and cannot be read.
    pub(crate) fn load() -> Result<Contexts, Failure> {
        let own = own_file()?;
        if let Some(contexts) = read(&own)? {
            return Ok(contexts);
        }
        match std::env::home_dir() {
            Some(home) => Ok(read(&home.join(".kcctl"))?.unwrap_or_default()),
            None => Ok(Contexts::default()),
        }
    }

    /// Writes our own file; gives its name.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn save(&self) -> Result<PathBuf, Failure> {
        let path = own_file()?;
        let mut members = Map::new();
        members.insert(CURRENT.to_owned(), json!(self.current));
        members.extend(self.all.clone());
        let text = format!("{:#}\n", Value::Object(members));
        write(&path, &text).map_err(|error| {
            Failure::unavailable(format!("{}: {error}", path.display()))
                .hint("COPYCAT_CONFIG names another file")
        })?;
        Ok(path)
    }

    /// A text of a context.
    pub(crate) fn text(&self, context: &str, member: &str) -> Option<&str> {
        self.all.get(context)?.get(member)?.as_str().filter(|text| !text.is_empty())
    }

    /// # Errors
    /// There is no such context.
    pub(crate) fn check(&self, name: &str) -> Result<(), Failure> {
        if self.all.contains_key(name) {
            return Ok(());
        }
        let known = self.all.keys().map(String::as_str);
        let hint = match config::suggest::nearest(name, known) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("copycat config set-context {name} --cluster URL makes one"),
        };
        Err(Failure::wrong_input(format!("there is no context {name}")).hint(hint))
    }
}

fn own_file() -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = set("COPYCAT_CONFIG") {
        return Ok(path.into());
    }
    let folder = match set("XDG_CONFIG_HOME") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => std::env::home_dir().map(|home| home.join(".config")),
    };
    let folder = folder.ok_or_else(|| {
        Failure::wrong_input("there is no home folder to keep contexts in")
            .hint("set COPYCAT_CONFIG")
    })?;
    Ok(folder.join("copycat").join("contexts.json"))
}

fn read(path: &Path) -> Result<Option<Contexts>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Failure::wrong_input(format!("{}: {error}", path.display()))
                .hint("COPYCAT_CONFIG names another file"));
        }
    };
    let wrong = |what: &str| {
        Failure::wrong_input(format!("{}: {what}", path.display()))
            .hint("remove the file and make the contexts anew: copycat config set-context")
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| wrong(&format!("JSON: {error}")))?;
    let Value::Object(mut members) = value else {
        return Err(wrong("not an object of contexts"));
    };
    let current = match members.remove(CURRENT) {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(wrong("currentContext must be the name of a context")),
    };
    // Without a URL another worker would be asked than is meant.
    let lacking = |context: &Value| !context.get("cluster").is_some_and(Value::is_string);
    if let Some((name, _)) = members.iter().find(|(_, context)| lacking(context)) {
        return Err(wrong(&format!("the context {name} must be an object with the text cluster")));
    }
    Ok(Some(Contexts { current, all: members }))
}

/// Written beside and then moved over, so that nobody sees half of it.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_kcctl_is_understood() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let text = r#"{"currentContext": "local", "local": {"cluster": "http://h:1",
            "bootstrapServers": "b:9092", "username": "u", "password": "p", "clientConfig": {}}}"#;
        std::fs::write(&path, text).unwrap();
        let contexts = read(&path).unwrap().unwrap();
        assert_eq!(contexts.current.as_deref(), Some("local"));
        assert_eq!(contexts.text("local", "cluster"), Some("http://h:1"));
        assert_eq!(contexts.text("local", "clientConfig"), None);
        assert!(contexts.check("locol").unwrap_err().hint.unwrap().contains("local"));
    }

    #[test]
    fn what_is_written_is_for_its_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new").join("contexts.json");
        write(&path, "{}").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_broken_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        for text in
            ["{", "[]", r#"{"a": 1}"#, r#"{"a": {"cluster": 7}}"#, r#"{"currentContext": 5}"#]
        {
            std::fs::write(&path, text).unwrap();
            let failure = read(&path).unwrap_err();
            assert!(failure.message.contains(&path.display().to_string()), "{}", failure.message);
        }
        assert!(read(&dir.path().join("none")).unwrap().is_none());
    }
}
