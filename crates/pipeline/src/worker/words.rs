//! What the parts of connectors say, in the words of SQL.
//!
//! Clients of Kafka, of registries and of the database name the keys of connectors and workers in their
//! hints. Whoever defines consumers by SQL has other names for them, and other places to set them.
//! Place in the data path: before a state or an end of a replay is told.

use api::Error;

/// What stands for what; the longer first where one has the other in it.
const WORDS: [(&str, &str); 7] = [
    (
        "give it to the converter: value.converter.sasl.jaas.config=…",
        "give it in registry_properties of pipeline_kafka.set_cluster: {\"sasl.jaas.config\": …}",
    ),
    (
        "basic.auth.credentials.source=USER_INFO and basic.auth.user.info=user:password, or \
         bearer.auth.token, under the converter's prefix",
        "{\"basic.auth.credentials.source\": \"USER_INFO\", \"basic.auth.user.info\": \
         \"env:REGISTRY_LOGIN\"} or bearer.auth.token in registry_properties of \
         pipeline_kafka.set_cluster, with user:password in the worker's environment",
    ),
    ("under the converter's prefix", "in registry_properties of pipeline_kafka.set_cluster"),
    ("schema.registry.url", "registry_url"),
    (
        "set user and password: connection.user, connection.password",
        "set user and password in --database-url",
    ),
    ("connection.url", "--database-url"),
    ("bootstrap.servers", "bootstrap_servers"),
];

/// A text in the words of SQL.
pub(crate) fn in_sql(text: &str) -> String {
    let words = WORDS.iter().filter(|(theirs, _)| text.contains(theirs));
    words.fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// An error in the words of SQL.
pub(crate) fn error_in_sql(mut error: Error) -> Error {
    error.message = in_sql(&error.message);
    error.hint = error.hint.as_deref().map(in_sql);
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry::{Registry, SchemaId, Settings};
    use testkit::registry::{Proxy, Reply};

    /// What nobody can set in SQL.
    const FOREIGN: [&str; 6] = [
        "schema.registry.url",
        "converter",
        "connector",
        "errors.tolerance",
        "connection.u",
        "bootstrap.servers",
    ];

    #[track_caller]
    fn is_of_sql(error: Error, part: &str) {
        let report = error_in_sql(error).report();
        assert!(report.contains(part), "{report}");
        for word in FOREIGN {
            assert!(!report.contains(word), "{word}: {report}");
        }
    }

    /// The client's error at an answer of this status, or with these settings.
    fn asked(answer: Reply, more: &[(&str, &str)]) -> Error {
        let proxy = Proxy::answering(move |_| answer.clone());
        let url = proxy.url();
        let mut props: config::Props =
            [("schema.registry.url", url.as_str()), ("max.retries", "0")].into_iter().collect();
        for (key, value) in more {
            props.insert(*key, *value);
        }
        let found = Settings::from_props(&props).and_then(|settings| Registry::shared(&settings));
        match found.and_then(|registry| registry.fetch(&SchemaId::Id(1), None)) {
            Err(error) => error,
            Ok(found) => panic!("{found:?}"),
        }
    }

    #[test]
    fn hints_of_a_registry_name_what_sql_has() {
        let page = || Reply::Answer(200, &[], "<html>".to_owned());
        let json = |status| Reply::json(status, &serde_json::json!({"message": "no"}));
        is_of_sql(asked(page(), &[]), "registry_url not the address of a Schema Registry?");
        is_of_sql(asked(json(200), &[]), "is registry_url the address");
        is_of_sql(asked(json(401), &[]), "registry_properties of pipeline_kafka.set_cluster");
        for status in [302, 403, 404, 406, 418, 500] {
            is_of_sql(asked(json(status), &[]), "");
        }
        is_of_sql(asked(page(), &[("schema.registry.url", "ftp://h")]), "registry_url: ");
        let inherit = [("basic.auth.credentials.source", "SASL_INHERIT")];
        is_of_sql(asked(page(), &inherit), "registry_properties");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        assert_eq!(in_sql("column n is of type int"), "column n is of type int");
    }
}
