//! The providers that a worker's own file declares.

use super::{ConfigProvider, DirectoryProvider, EnvProvider, FileProvider, Providers};
use crate::error::{ConfigError, ConfigErrors};
use crate::props::Props;
use crate::suggest::nearest;
use crate::value::java_trim;

/// The providers there are, by the full name of their Java class.
pub const PROVIDER_CLASSES: [&str; 3] = [
    "org.apache.kafka.common.config.provider.FileConfigProvider",
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
];

/// Makes the providers of `config.providers=a,b`, `config.providers.a.class=…`,
/// `config.providers.a.param.p=…`.
///
/// # Errors
/// A declared provider without a class, of an unknown class, or with wrong parameters; each names
/// the key.
pub fn from_worker(worker: &Props) -> Result<Providers, ConfigErrors> {
    let mut providers = Providers::new();
    let mut errors = ConfigErrors::default();
    let names = java_trim(worker.get("config.providers").unwrap_or_default());
    for name in names.split(',').map(java_trim).filter(|name| !name.is_empty()) {
        let key = format!("config.providers.{name}.class");
        let params = worker.with_prefix(&format!("config.providers.{name}.param."));
        let made = match worker.get(&key).map(java_trim) {
            None => Err(ConfigError::missing(&key)),
            Some(class) => make(class, &params).map_err(|fault| {
                let text = format!("Invalid value {class} for configuration {key}: {fault}");
                ConfigError::new(&key, text)
            }),
        };
        match made {
            Ok(provider) => providers.register(name, provider),
            Err(error) => errors.errors.push(error),
        }
    }
    errors.into_result().map(|()| providers)
}

fn make(class: &str, params: &Props) -> Result<Box<dyn ConfigProvider>, String> {
    let simple = |full: &str| full.rsplit('.').next().unwrap_or_default().to_owned();
    let known = PROVIDER_CLASSES.iter().position(|full| {
        let short = simple(full);
        class == *full || class == short || Some(class) == short.strip_suffix("ConfigProvider")
    });
    Ok(match known {
        Some(0) => Box::new(FileProvider::new(params)?),
        Some(1) => Box::new(DirectoryProvider::new(params)?),
        Some(_) => Box::new(EnvProvider::new(params)?),
        None => {
            let names: Vec<String> = PROVIDER_CLASSES.iter().map(|full| simple(full)).collect();
            let near = nearest(&simple(class), names.iter().map(String::as_str));
            let near = near.map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
            return Err(format!(
                "Class {class} could not be found. Available: {}.{near}",
                names.join(", ")
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_providers_are_made_with_their_parameters() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.properties");
        std::fs::write(&file, "k=v").unwrap();
        let file = file.to_str().unwrap();
        let worker: Props = [
            ("config.providers", "f, env"),
            ("config.providers.f.class", PROVIDER_CLASSES[0]),
            ("config.providers.f.param.allowed.paths", dir.path().to_str().unwrap()),
            ("config.providers.env.class", "EnvVarConfigProvider"),
        ]
        .into_iter()
        .collect();
        let providers = from_worker(&worker).unwrap();
        let mut props = Props::new();
        props.insert("password", format!("${{f:{file}:k}}"));
        props.insert("other", "${f:/etc/hostname:k}${zz:k}");
        let resolved = providers.resolve(&props).unwrap();
        assert_eq!(resolved.props.get("password"), Some("v"));
        assert_eq!(resolved.props.get("other"), props.get("other"));
        let reasons = resolved.unresolved.iter().map(|left| left.reason.as_str());
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [
                "secret provider f may not look there: /etc/hostname is not below allowed.paths",
                "no secret provider is named zz; config.providers declares: env, f",
            ]
        );
    }

    #[test]
    fn wrong_declarations_name_the_key_and_what_there_is() {
        let worker: Props = [
            ("config.providers", "a,b,c"),
            ("config.providers.a.class", "com.x.FileConfigProvidr"),
            ("config.providers.c.class", "FileConfigProvider"),
            ("config.providers.c.param.allowed.paths", "relative"),
        ]
        .into_iter()
        .collect();
        let text = from_worker(&worker).err().unwrap().to_string();
        assert!(text.contains("Did you mean FileConfigProvider?"), "{text}");
        assert!(text.contains("Missing required configuration \"config.providers.b.class\""));
        assert!(text.contains("config.providers.c.class: Path relative is not absolute"), "{text}");
    }
}
