//! Configurations of the other connectors, as their users have them.

use super::*;
use crate::config::{Dots, InsertMode, PkMode, Quote};

fn read(class: &str, pairs: &[(&str, &str)]) -> Translated {
    let mut props: Props = pairs.iter().copied().collect();
    props.insert("connection.url", "jdbc:postgresql://localhost/d");
    Dialect::of(class).translate(&props)
}

#[test]
fn a_confluent_configuration_means_the_same() {
    let read = read(
        "io.confluent.connect.jdbc.JdbcSinkConnector",
        &[
            ("insert.mode", "UPSERT"),
            ("pk.mode", "record_key"),
            ("pk.fields", "id"),
            ("fields.whitelist", "a,b"),
            ("quote.sql.identifiers", "never"),
            ("dialect.name", "PostgreSqlDatabaseDialect"),
            ("max.retries", "3"),
            ("mssql.use.merge.holdlock", "true"),
            ("jdbc.credentials.provider.region", "eu"),
        ],
    );
    let config = read.parse().unwrap();
    assert_eq!((config.insert_mode, config.pk_mode), (InsertMode::Upsert, PkMode::RecordKey));
    assert_eq!(config.fields_include, ["a", "b"]);
    assert_eq!(config.quote_identifiers, Quote::Never);
    assert!(config.replace_null_with_default);
    for part in ["replace.null", "max.retries has", "mssql.", "provider.region"] {
        assert!(read.notices.iter().any(|n| n.contains(part)), "{part}: {:?}", read.notices);
    }
}

#[test]
fn an_aiven_configuration_means_the_same() {
    let read = read(
        AIVEN_CLASS,
        &[
            ("insert.mode", "multi"),
            ("sql.quote.identifiers", "false"),
            ("table.name.normalize", "true"),
            ("topics.to.tables.mapping", "a:b"),
        ],
    );
    let config = read.parse().unwrap();
    assert_eq!(config.insert_mode, InsertMode::Insert);
    assert_eq!(config.quote_identifiers, Quote::Never);
    assert!(config.table_name_normalize && !config.replace_null_with_default);
    assert_eq!(config.topics_to_tables, ["a:b"]);
}

#[test]
fn a_debezium_configuration_means_the_same() {
    let read = read(
        DEBEZIUM_CLASS,
        &[
            ("connection.username", "me"),
            ("primary.key.mode", "record_key"),
            ("primary.key.fields", "id"),
            ("insert.mode", "upsert"),
            ("schema.evolution", "basic"),
            ("collection.name.format", "x_${topic}"),
            ("use.time.zone", "Europe/Berlin"),
            ("field.exclude.list", "t:secret"),
            ("hibernate.c3p0.max", "3"),
        ],
    );
    let config = read.parse().unwrap();
    assert_eq!(config.connection_user.as_deref(), Some("me"));
    assert!(config.auto_create && config.auto_evolve);
    assert_eq!(config.table_name_dots, Dots::Underscore);
    assert_eq!(config.quote_identifiers, Quote::Never);
    assert_eq!(config.table_name_format, "x_${topic}");
    assert_eq!(config.db_timezone, "Europe/Berlin");
}

#[test]
fn errors_name_the_key_that_the_user_wrote() {
    let errors = read(DEBEZIUM_CLASS, &[("use.time.zone", "Mars/Base")]).parse().unwrap_err();
    assert_eq!(errors[0].key, "use.time.zone");
    let errors = read(DEBEZIUM_CLASS, &[("insert.mode", "upsert")]).parse().unwrap_err();
    assert_eq!(errors[0].key, "primary.key.mode");
    let errors = read("JdbcSink", &[("quote.sql.identifiers", "maybe")]).parse().unwrap_err();
    assert_eq!(errors[0].key, "quote.sql.identifiers");
    assert!(errors[0].message.contains("configuration quote.sql.identifiers"));
}

#[test]
fn what_would_change_data_is_refused() {
    for (class, key, value) in [
        ("JdbcSink", "timestamp.precision.mode", "seconds"),
        ("JdbcSink", "dialect.name", "OracleDatabaseDialect"),
        ("JdbcSink", "jdbc.credentials.provider.class", "com.example.Iam"),
        (DEBEZIUM_CLASS, "column.naming.strategy", "com.example.Upper"),
        (DEBEZIUM_CLASS, "schema.evolution", "full"),
    ] {
        let errors = read(class, &[(key, value)]).parse().unwrap_err();
        assert_eq!((errors.len(), errors[0].key.as_str()), (1, key), "{errors:?}");
    }
    let both = read(DEBEZIUM_CLASS, &[("use.time.zone", "UTC"), ("database.time_zone", "CET")]);
    assert!(both.parse().unwrap_err()[0].message.contains("mean the same"));
}

#[test]
fn every_definition_has_the_users_names_and_every_target_exists() {
    let ours = SqlSinkConfig::def();
    for class in ["JdbcSink", AIVEN_CLASS, DEBEZIUM_CLASS, "other"] {
        let dialect = Dialect::of(class);
        let def = dialect.def();
        for key in dialect.keys {
            assert!(def.get(key.name).is_some(), "{class} {}", key.name);
            if let Rule::Map(target) | Rule::Turn { into: target, .. } = key.rule {
                assert!(ours.get(target).is_some(), "{class} {target}");
            }
        }
        for (key, _) in dialect.defaults {
            assert!(ours.get(key).is_some(), "{class} {key}");
        }
        assert!(def.get("connection.url").is_some_and(ConfigKey::is_required), "{class}");
    }
    assert!(Dialect::of(DEBEZIUM_CLASS).def().get("connection.username").is_some());
}
