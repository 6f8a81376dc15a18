//! The files that say who may use the REST interface: Connect's, which the JAAS file names, and our own.

use config::ConfigErrors;
use config::files::{BYTES_MAX, read_text_bounded};
use config::jaas::{Login, parse_section};
use config::rest::RestConfig;
use rest::UserFiles;
use std::path::Path;

const EXTENSION: &str =
    "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension";
const MODULE: &str = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule";
const SECTION: &str = "KafkaConnect";
const CLASSES: &str = "rest.extension.classes";
const JAAS_FILE: &str = "copycat.rest.jaas.file";
const USERS_FILE: &str = "copycat.rest.users.file";
/// The JVM's option, in KAFKA_OPTS.
const JVM_OPTION: &str = "-Djava.security.auth.login.config=";

/// What the files say; `None` if no password is asked for.
///
/// # Errors
/// A file is missing or wrong.
pub(super) fn read(config: &RestConfig) -> Result<Option<UserFiles>, ConfigErrors> {
    let mut asked = false;
    for class in &config.extension_classes {
        match class.rsplit('.').next() {
            _ if class == EXTENSION => asked = true,
            Some("BasicAuthSecurityRestExtension") if !class.contains('.') => asked = true,
            _ => tracing::warn!("{CLASSES}: {class} is not built in and has no effect"),
        }
    }
    let properties = asked.then(|| properties(config)).transpose()?;
    let hashes = config.users_file.as_deref().map(|path| text(USERS_FILE, path)).transpose()?;
    if properties.is_none() && hashes.is_none() {
        return Ok(None);
    }
    Ok(Some(UserFiles { properties, hashes }))
}

fn properties(config: &RestConfig) -> Result<config::Props, ConfigErrors> {
    let from_jvm = || jaas_of_jvm(&std::env::var("KAFKA_OPTS").unwrap_or_default());
    let jaas = config.jaas_file.clone().or_else(from_jvm).ok_or_else(|| {
        let what = format!(
            "must be set where {CLASSES} asks for passwords: the file with the section {SECTION} \
             (or name it in KAFKA_OPTS: {JVM_OPTION}FILE)"
        );
        ConfigErrors::one(JAAS_FILE, what)
    })?;
    let fault = |what: String| ConfigErrors::one(JAAS_FILE, format!("{jaas}: {what}"));
    let logins = parse_section(&text(JAAS_FILE, &jaas)?, SECTION).map_err(fault)?;
    let login = match logins.as_slice() {
        [one] => one,
        [] => return Err(fault(format!("there is no section {SECTION} with a login module"))),
        _ => return Err(fault(format!("the section {SECTION} has more than one login module"))),
    };
    let path = passwords(login).map_err(fault)?;
    let text = text(JAAS_FILE, path)?;
    // The fault's own text may quote a line, and that has a password.
    config::properties::parse(&text)
        .map_err(|_| fault(format!("{path} is no file of NAME=PASSWORD lines")))
}

fn passwords(login: &Login) -> Result<&str, String> {
    let Login { module, options } = login;
    if module != MODULE {
        return Err(format!("the login module {module} is not built in; there is {MODULE}"));
    }
    let file = options.get("file").ok_or("the login module has no option file")?;
    Ok(file.expose())
}

/// What the JVM's option in these options names.
fn jaas_of_jvm(options: &str) -> Option<String> {
    let mut words = options.split_whitespace();
    let path = words.find_map(|word| word.trim_matches(['"', '\'']).strip_prefix(JVM_OPTION))?;
    Some(path.trim_matches(['"', '\'']).to_owned())
}

fn text(key: &str, path: &str) -> Result<String, ConfigErrors> {
    let fault = |what: String| ConfigErrors::one(key, format!("{path}: {what}"));
    read_text_bounded(Path::new(path), BYTES_MAX).map_err(|error| fault(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config as _;

    fn config(pairs: &[(&str, &str)]) -> RestConfig {
        RestConfig::parse(&pairs.iter().copied().collect()).unwrap()
    }

    #[test]
    fn the_jvms_option_is_found_among_others() {
        let of = |options: &str| jaas_of_jvm(options);
        assert_eq!(of("-Xmx1g -Djava.security.auth.login.config=/j -ea").as_deref(), Some("/j"));
        let quoted = "\"-Djava.security.auth.login.config=/j\"";
        assert_eq!(of(quoted).as_deref(), Some("/j"));
        assert_eq!(of("-Xmx1g"), None);
    }

    #[test]
    fn what_is_wrong_is_named_without_passwords() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        write("users", "ann=hunter2\nbob=\\u12\n");
        let asked = |jaas: &str| {
            write("jaas", jaas);
            let config = config(&[(CLASSES, EXTENSION), (JAAS_FILE, &path("jaas"))]);
            read(&config).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let module = format!("{SECTION} {{ {MODULE} required");
        for (jaas, part) in [
            ("Other { a.B required; };".to_owned(), "no section KafkaConnect"),
            (format!("{SECTION} {{ a.B required; }};"), "a.B is not built in"),
            (format!("{module}; }};"), "no option file"),
            (format!("{module} file=\"/nowhere\"; }};"), "/nowhere"),
            (format!("{module} file=\"{}\"; }};", path("users")), "NAME=PASSWORD"),
        ] {
            let error = asked(&jaas);
            assert!(error.contains(part) && !error.contains("hunter2"), "{jaas}: {error}");
        }
        write("users", "ann=hunter2\n");
        assert_eq!(asked(&format!("{module} file=\"{}\"; }};", path("users"))), "");
        assert!(read(&config(&[])).unwrap().is_none());
        let error = read(&config(&[(USERS_FILE, "/nowhere")])).err().unwrap().to_string();
        assert!(error.starts_with("copycat.rest.users.file: /nowhere"), "{error}");
    }
}
