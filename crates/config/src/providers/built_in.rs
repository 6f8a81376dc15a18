//! The providers of Kafka's own distribution: a property file, a folder, the environment.
//!
//! Invariant: with `allowed.paths`, nothing outside of these folders is opened, neither by `..` nor by a link.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::ConfigProvider;
use crate::files::{BYTES_MAX, read_text_bounded};
use crate::properties;
use crate::props::Props;
use crate::regexes::JavaRegex;

/// The folders that a provider may read below; all of them if there is no list.
#[derive(Clone, Debug, Default)]
struct AllowedPaths(Option<Vec<PathBuf>>);

impl AllowedPaths {
    fn read(params: &Props) -> Result<AllowedPaths, String> {
        let text = params.get("allowed.paths").unwrap_or_default().trim();
        if text.is_empty() {
            return Ok(AllowedPaths(None));
        }
        let mut paths = Vec::new();
        for item in text.split(',').map(str::trim) {
            let path = Path::new(item);
            if !path.is_absolute() {
                return Err(format!("Path {item} is not absolute"));
            }
            if !path.try_exists().map_err(|error| format!("Path {item}: {error}"))? {
                return Err(format!("Path {item} does not exist"));
            }
            paths.push(normalise(path));
        }
        Ok(AllowedPaths(Some(paths)))
    }

    /// The path to open.
    ///
    /// # Errors
    /// It is not allowed: why.
    fn admit(&self, path: &Path) -> Result<PathBuf, String> {
        let Some(allowed) = &self.0 else { return Ok(path.to_owned()) };
        let path = normalise(path);
        if !allowed.iter().any(|folder| path.starts_with(folder)) {
            return Err(format!("{} is not below allowed.paths", path.display()));
        }
        // What is not there leads nowhere, and what cannot be followed fails when it is opened.
        let Ok(real) = path.canonicalize() else { return Ok(path) };
        let mut folders = allowed.iter().filter_map(|folder| folder.canonicalize().ok());
        if folders.any(|folder| real.starts_with(folder)) {
            return Ok(path);
        }
        Err(format!("{} is a link to something that is not below allowed.paths", path.display()))
    }
}

/// Folds `.` and `..` without looking at links, as Java's `normalize` does.
fn normalise(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if folded.parent().is_some() => {
                folded.pop();
            }
            other => folded.push(other),
        }
    }
    folded
}

/// `FileConfigProvider`: the path is a property file, read at every look-up.
#[derive(Debug)]
pub struct FileProvider(AllowedPaths);

impl FileProvider {
    /// Reads `allowed.paths`.
    ///
    /// # Errors
    /// A path that is not absolute or does not exist.
    pub fn new(params: &Props) -> Result<FileProvider, String> {
        AllowedPaths::read(params).map(FileProvider)
    }
}

impl ConfigProvider for FileProvider {
    fn get(&self, path: &str, keys: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
        let Some(file) = self.0.admit(Path::new(path)).ok().filter(|_| !path.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        let fault = |why: String| format!("Could not read properties from file {path}: {why}");
        let text = read_text_bounded(&file, BYTES_MAX).map_err(|error| fault(error.to_string()))?;
        // The line itself may be a secret, and so may a part of it.
        let props = properties::parse(&text).map_err(|error| {
            let line = error.line;
            fault(format!("line {line} sets a key a second time, or has a malformed \\u escape"))
        })?;
        Ok(keys.iter().filter_map(|key| Some((key.clone(), props.get(key)?.to_owned()))).collect())
    }

    fn refuses(&self, path: &str, _key: &str) -> Option<String> {
        self.0.admit(Path::new(path)).err()
    }
}

/// `DirectoryConfigProvider`: the path is a folder, the key a file in it, the value its content.
#[derive(Debug)]
pub struct DirectoryProvider(AllowedPaths);

impl DirectoryProvider {
    /// Reads `allowed.paths`.
    ///
    /// # Errors
    /// A path that is not absolute or does not exist.
    pub fn new(params: &Props) -> Result<DirectoryProvider, String> {
        AllowedPaths::read(params).map(DirectoryProvider)
    }
}

impl ConfigProvider for DirectoryProvider {
    fn get(&self, path: &str, keys: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
        let Some(folder) = self.0.admit(Path::new(path)).ok().filter(|_| !path.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        if !folder.is_dir() {
            return Err(format!("The path {path} is not a directory"));
        }
        let mut values = BTreeMap::new();
        // A key is a plain file name: nothing outside of the folder is opened.
        let plain = |key: &&String| Path::new(key.as_str()).file_name() == Some(key.as_ref());
        for key in keys.iter().filter(plain) {
            let file = folder.join(key);
            if !file.is_file() || self.0.admit(&file).is_err() {
                continue;
            }
            let text = read_text_bounded(&file, BYTES_MAX)
                .map_err(|error| format!("Could not read file {}: {error}", file.display()))?;
            values.insert(key.clone(), text);
        }
        Ok(values)
    }

    fn refuses(&self, path: &str, key: &str) -> Option<String> {
        self.0.admit(Path::new(path)).and_then(|folder| self.0.admit(&folder.join(key))).err()
    }
}

/// `EnvVarConfigProvider`: the key is an environment variable, the path is empty.
#[derive(Debug)]
pub struct EnvProvider(Option<JavaRegex>);

impl EnvProvider {
    /// Reads `allowlist.pattern`, which must match the whole name of a variable.
    ///
    /// # Errors
    /// A pattern that is not valid.
    pub fn new(params: &Props) -> Result<EnvProvider, String> {
        let Some(pattern) = params.get("allowlist.pattern") else { return Ok(EnvProvider(None)) };
        let regex = JavaRegex::new(pattern)
            .map_err(|fault| format!("allowlist.pattern: Invalid regex: {fault}"))?;
        Ok(EnvProvider(Some(regex)))
    }
}

impl ConfigProvider for EnvProvider {
    fn get(&self, path: &str, keys: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
        if !path.is_empty() {
            return Err(format!(
                "Path is not supported for EnvVarConfigProvider, but is '{path}'; \
                 write ${{env:NAME}}"
            ));
        }
        let allowed = |name: &&String| self.0.as_ref().is_none_or(|regex| regex.matches(name));
        let read = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
        // The names that an environment cannot have would make the look-up panic.
        let possible = |name: &&String| !name.is_empty() && !name.contains(['=', '\0']);
        Ok(keys.iter().filter(possible).filter(allowed).filter_map(read).collect())
    }

    fn refuses(&self, _path: &str, key: &str) -> Option<String> {
        let allowed = self.0.as_ref().is_none_or(|regex| regex.matches(key));
        (!allowed).then(|| format!("{key} does not match allowlist.pattern"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(provider: &dyn ConfigProvider, path: &str, key: &str) -> Option<String> {
        let keys = BTreeSet::from([key.to_owned()]);
        provider.get(path, &keys).unwrap().remove(key)
    }

    #[test]
    fn file_and_directory_stay_below_allowed_paths() {
        let root = tempfile::tempdir().unwrap();
        let inside = root.path().join("in");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(inside.join("s.properties"), "k=v\n").unwrap();
        std::fs::write(inside.join("secret"), "word\n").unwrap();
        std::fs::write(root.path().join("o.properties"), "k=outside\n").unwrap();
        let params: Props = [("allowed.paths", inside.to_str().unwrap())].into_iter().collect();
        let file = FileProvider::new(&params).unwrap();
        let at = |name: &str| inside.join(name).to_str().unwrap().to_owned();
        assert_eq!(one(&file, &at("s.properties"), "k").as_deref(), Some("v"));
        assert_eq!(one(&file, &at("s.properties"), "z"), None);
        assert_eq!(one(&file, &at("../o.properties"), "k"), None);
        assert_eq!(one(&file, "", "k"), None);
        let folder = DirectoryProvider::new(&params).unwrap();
        assert_eq!(one(&folder, &at(""), "secret").as_deref(), Some("word\n"));
        assert_eq!(one(&folder, &at(""), "../o.properties"), None);
        assert_eq!(one(&folder, &at(".."), "o.properties"), None);
        for provider in [&file as &dyn ConfigProvider, &folder] {
            assert_eq!(provider.refuses(&at("s.properties"), ""), None);
            let told = provider.refuses(&at("../o.properties"), "").unwrap();
            assert!(told.ends_with("o.properties is not below allowed.paths"), "{told}");
        }
    }

    #[test]
    fn links_lead_no_further_than_allowed_paths() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let text = |name: &str| at(name).to_str().unwrap().to_owned();
        // As Kubernetes mounts secrets, below a folder that is a link itself.
        std::fs::create_dir_all(at("mount/..2026")).unwrap();
        std::fs::write(at("mount/..2026/s"), "k=v").unwrap();
        std::fs::write(at("outside"), "k=outside").unwrap();
        symlink("..2026", at("mount/..data")).unwrap();
        symlink("..data/s", at("mount/s")).unwrap();
        symlink("../outside", at("mount/out")).unwrap();
        symlink("..", at("mount/up")).unwrap();
        symlink("mount", at("in")).unwrap();
        let params: Props = [("allowed.paths", text("in").as_str())].into_iter().collect();
        let file = FileProvider::new(&params).unwrap();
        let folder = DirectoryProvider::new(&params).unwrap();
        assert_eq!(one(&file, &text("in/s"), "k").as_deref(), Some("v"));
        assert_eq!(one(&folder, &text("in"), "s").as_deref(), Some("k=v"));
        for path in ["in/out", "in/up/outside"] {
            assert_eq!(one(&file, &text(path), "k"), None, "{path}");
            let told = file.refuses(&text(path), "k").unwrap();
            assert!(told.contains("is a link to something"), "{told}");
        }
        assert_eq!(one(&folder, &text("in"), "out"), None);
        assert_eq!(one(&folder, &text("in/up"), "outside"), None);
        assert!(folder.refuses(&text("in"), "out").unwrap().contains("is a link"));
    }

    #[test]
    fn an_unreadable_file_is_an_error_that_names_it() {
        let file = FileProvider::new(&Props::new()).unwrap();
        let error = file.get("/nowhere/x.properties", &BTreeSet::new()).unwrap_err();
        assert!(
            error.starts_with("Could not read properties from file /nowhere/x.properties: "),
            "{error}"
        );
    }

    #[test]
    fn devices_are_no_files_of_secrets() {
        let file = FileProvider::new(&Props::new()).unwrap();
        let error = file.get("/dev/zero", &BTreeSet::new()).unwrap_err();
        assert!(error.ends_with("it is no regular file"), "{error}");
    }

    #[test]
    fn a_malformed_file_of_secrets_is_told_by_its_line_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.properties").display().to_string();
        let file = FileProvider::new(&Props::new()).unwrap();
        for text in ["a=1\nb=x\\uhush", "a=1\nhush=1\nhush=2"] {
            std::fs::write(&path, text).unwrap();
            let error = file.get(&path, &BTreeSet::new()).unwrap_err();
            assert!(error.contains(": line ") && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn relative_and_missing_allowed_paths_are_refused() {
        for path in ["secrets", "/nowhere/secrets"] {
            let params: Props = [("allowed.paths", path)].into_iter().collect();
            assert!(FileProvider::new(&params).is_err(), "{path}");
        }
    }

    #[test]
    fn environment_is_read_by_allowed_name() {
        let any = EnvProvider::new(&Props::new()).unwrap();
        assert_eq!(one(&any, "", "PATH"), std::env::var("PATH").ok());
        assert_eq!(one(&any, "", "A=B"), None);
        assert!(any.get("p", &BTreeSet::new()).is_err());
        let params: Props = [("allowlist.pattern", "PA")].into_iter().collect();
        let some = EnvProvider::new(&params).unwrap();
        assert_eq!(one(&some, "", "PATH"), None);
        assert_eq!((any.refuses("", "PATH"), some.refuses("", "PA")), (None, None));
        assert!(some.refuses("", "PATH").unwrap().contains("allowlist.pattern"));
    }
}
