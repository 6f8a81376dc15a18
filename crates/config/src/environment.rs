//! A worker's keys from environment variables, as container images for Kafka Connect have them.
//!
//! `CONNECT_GROUP_ID` is `group.id`: behind the prefix a single underscore is a dot, two are an
//! underscore, three a dash, and letters become small.

use crate::props::Props;

const PREFIX: &str = "CONNECT_";
/// Of those images' logging; no keys of a worker.
const LOGGING: &str = "CONNECT_LOG4J_";
/// Settings of a JVM.
const OF_JVM: [&str; 8] = [
    "KAFKA_HEAP_OPTS",
    "KAFKA_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_PORT",
    "KAFKA_JMX_HOSTNAME",
];

/// What the environment has for a worker.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The worker's keys.
    pub props: Props,
    /// Variables that mean something to a JVM alone, sorted.
    pub without_effect: Vec<String>,
}

/// Reads variables, given as names and values.
pub fn read(variables: impl IntoIterator<Item = (String, String)>) -> Environment {
    let mut found = Environment::default();
    for (name, value) in variables {
        let logging = name.starts_with(LOGGING);
        if OF_JVM.contains(&name.as_str()) || logging {
            found.without_effect.push(name);
        } else if let Some(rest) = name.strip_prefix(PREFIX).filter(|rest| !rest.is_empty()) {
            found.props.insert(key(rest), value);
        }
    }
    found.without_effect.sort();
    found
}

fn key(name: &str) -> String {
    name.to_ascii_lowercase()
        .replace("___", "-")
        .replace("__", "\0")
        .replace('_', ".")
        .replace('\0', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Environment {
        read(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn names_become_keys() {
        for (name, expected) in [
            ("GROUP_ID", "group.id"),
            ("REST_ADVERTISED_HOST_NAME", "rest.advertised.host.name"),
            ("CONSUMER_SASL_JAAS_CONFIG", "consumer.sasl.jaas.config"),
            ("CONFIG_PROVIDERS_F_PARAM_A__B", "config.providers.f.param.a_b"),
            ("PRODUCER_X___Y", "producer.x-y"),
            ("A____B", "a-.b"),
            ("A_____B", "a-_b"),
            ("plugin_path", "plugin.path"),
        ] {
            assert_eq!(key(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_for_a_jvm_is_set_apart_and_the_rest_left_alone() {
        let found = of(&[
            ("KAFKA_OPTS", "-Dx"),
            ("CONNECT_LOG4J_LOGGERS", "org=WARN"),
            ("CONNECT_GROUP_ID", "g"),
            ("CONNECT_", "x"),
            ("CONNECTION", "x"),
            ("KAFKA_HEAP_OPTS", "-Xmx1g"),
            ("CONNECT_KEY_CONVERTER", " C = d\n"),
        ]);
        assert_eq!(
            found.props.iter().collect::<Vec<_>>(),
            [("group.id", "g"), ("key.converter", " C = d\n")]
        );
        let without = ["CONNECT_LOG4J_LOGGERS", "KAFKA_HEAP_OPTS", "KAFKA_OPTS"];
        assert_eq!(found.without_effect, without);
    }
}
