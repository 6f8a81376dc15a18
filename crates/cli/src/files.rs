//! The connectors of the files that a command is given.

use crate::exit::Failure;
use crate::show::Out;
use connector_files::{Connector, Content};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Input larger than this is no configuration.
const INPUT_BYTES_MAX: u64 = 16 << 20;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Files {
    /// Files of connectors: JSON, properties or YAML, also Strimzi's; folders of such; - is standard input
    #[arg(short, long, value_name = "FILE", required = true, num_args = 1..,
        value_hint = clap::ValueHint::AnyPath)]
    file: Vec<PathBuf>,
    /// The connector's name, where the file has none
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
    /// Folders inside folders too
    #[arg(short = 'R', long)]
    recursive: bool,
}

/// A connector that a file names.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) connector: Connector,
}

impl Files {
    /// All connectors, in the order of the files; what was passed over is told.
    ///
    /// # Errors
    /// A file cannot be read or understood, a connector has no name, or two have the same.
    pub(crate) fn read(&self, out: &Out) -> Result<Vec<Named>, Failure> {
        let (mut all, mut wrong) = (Content::default(), Vec::new());
        for path in &self.file {
            let before = all.connectors.len() + all.notices.len() + wrong.len();
            self.read_one(path, &mut all, &mut wrong);
            if wrong.len() + all.connectors.len() + all.notices.len() == before {
                all.notices.push(format!("{}: there is no connector in it", path.display()));
            }
        }
        for notice in &all.notices {
            out.note(notice);
        }
        // All at once, so that nobody has to come back for each.
        if let Some(first) = wrong.first() {
            let messages: Vec<&str> = wrong.iter().map(|wrong| wrong.message.as_str()).collect();
            let (code, hint) = (first.code, first.hint.clone());
            return Err(Failure { code, message: messages.join("\n"), hint });
        }
        if all.connectors.is_empty() {
            return Err(Failure::wrong_input("there is no connector in what was given"));
        }
        named(all.connectors, self.name.as_deref())
    }

    fn read_one(&self, path: &Path, all: &mut Content, wrong: &mut Vec<Failure>) {
        let mut add = |read: Result<Content, Failure>| match read {
            Ok(content) => {
                all.connectors.extend(content.connectors);
                all.notices.extend(content.notices);
            }
            Err(failure) => wrong.push(failure),
        };
        if path == Path::new("-") {
            let text = read_text_or_input(path);
            add(text.and_then(|text| Ok(connector_files::parse("standard input", &text)?)));
        } else if path.is_dir() {
            match connector_files::in_folder(path, self.recursive) {
                Ok(files) => files.iter().for_each(|file| add(read_file(file))),
                Err(error) => add(Err(error.into())),
            }
        } else {
            add(read_file(path));
        }
    }
}

fn read_file(path: &Path) -> Result<Content, Failure> {
    Ok(connector_files::read(path)?)
}

fn named(connectors: Vec<Connector>, name: Option<&str>) -> Result<Vec<Named>, Failure> {
    if let (Some(_), [_, second, ..]) = (name, connectors.as_slice()) {
        let text = format!("--name is for one connector, and {} has another", second.source);
        return Err(Failure::wrong_input(text).hint("write the names into the files"));
    }
    let mut all: Vec<Named> = Vec::new();
    for mut connector in connectors {
        let source = &connector.source;
        let name = match (connector.name.as_deref(), name) {
            (Some(own), Some(given)) if own != given => {
                let text = format!("{source}: the connector is named {own}, not {given}");
                return Err(Failure::wrong_input(text).hint("leave --name out"));
            }
            (Some(name), _) | (None, Some(name)) => name.to_owned(),
            (None, None) => {
                return Err(Failure::wrong_input(format!("{source}: the connector has no name"))
                    .hint("add name=…, or use --name"));
            }
        };
        if let Some(other) = all.iter().find(|other| other.name == name) {
            let other = &other.connector.source;
            let text = format!("{source}: a connector named {name} is already in {other}");
            return Err(Failure::wrong_input(text).hint("give each connector its own name"));
        }
        connector.config.insert("name", name.as_str());
        all.push(Named { name, connector });
    }
    Ok(all)
}

/// The text of a file, or of standard input for `-`.
///
/// # Errors
/// It cannot be read, is too long or no text.
pub(crate) fn read_text_or_input(path: &Path) -> Result<String, Failure> {
    let wrong = |error: std::io::Error| {
        Failure::wrong_input(format!("{}: {error}", path.display())).hint("is it UTF-8 text?")
    };
    let mut text = String::new();
    if path == Path::new("-") {
        let input = std::io::stdin().lock();
        input.take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(wrong)?;
    } else {
        let file = std::fs::File::open(path).map_err(wrong)?;
        file.take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(wrong)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connector(source: &str, name: Option<&str>) -> Connector {
        let name = name.map(str::to_owned);
        Connector { source: source.to_owned(), name, config: Default::default(), state: None }
    }

    #[test]
    fn every_file_that_is_wrong_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("a.json", "{"), ("b.yaml", "a: ["), ("c.properties", "name=c")] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let of = |file| Files { file: vec![file], name: None, recursive: false };
        let out = Out::plain(true);
        let failure = of(dir.path().to_owned()).read(&out).unwrap_err();
        for (name, is_told) in [("a.json", true), ("b.yaml", true), ("c.properties", false)] {
            assert_eq!(failure.message.contains(name), is_told, "{}", failure.message);
        }
        let empty = dir.path().join("empty.properties");
        std::fs::write(&empty, "# nothing\n").unwrap();
        let failure = of(empty).read(&out).unwrap_err();
        assert!(failure.message.starts_with("there is no connector"), "{}", failure.message);
    }

    #[test]
    fn names_come_from_the_file_or_the_command() {
        let of = |connectors: &[Connector], name| named(connectors.to_vec(), name);
        let (a, b, none) =
            (connector("f", Some("a")), connector("g", Some("b")), connector("h", None));
        let given = of(std::slice::from_ref(&none), Some("c")).unwrap();
        assert_eq!(given[0].connector.config.get("name"), Some("c"));
        assert_eq!(of(&[a.clone(), b.clone()], None).unwrap().len(), 2);
        for (connectors, name, part) in [
            (vec![none], None, "h: the connector has no name"),
            (vec![a.clone()], Some("b"), "named a, not b"),
            (vec![a.clone(), b], Some("c"), "g has another"),
            (vec![a.clone(), a], None, "is already in f"),
        ] {
            let failure = of(&connectors, name).unwrap_err();
            assert!(failure.message.contains(part), "{}", failure.message);
            assert!(failure.hint.is_some());
        }
    }
}
