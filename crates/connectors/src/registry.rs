//! From the class name in a config to the connector that serves it.

use crate::plugins;
use api::ConnectorPlugin;
use config::Props;

/// The connector of a class name or alias; `props` tells connectors apart that share an alias.
///
/// # Errors
/// There is no such class: names the nearest and all that exist.
pub fn find(class: &str, props: &Props) -> Result<&'static ConnectorPlugin, String> {
    let class = class.trim();
    let named =
        |plugin: &&&ConnectorPlugin| plugin.class == class || plugin.aliases.contains(&class);
    let mut candidates = plugins().iter().filter(named).copied().peekable();
    let Some(first) = candidates.peek().copied() else { return Err(unknown(class)) };
    // Where none wants it, the first one's validation says what is wrong.
    Ok(candidates.find(|plugin| (plugin.claims)(props)).unwrap_or(first))
}

/// Every connector as messages name it: the short name and the class.
pub fn names() -> Vec<String> {
    let name = |plugin: &&ConnectorPlugin| match plugin.aliases.first() {
        Some(short) => format!("{short} ({})", plugin.class),
        None => plugin.class.to_owned(),
    };
    plugins().iter().map(name).collect()
}

fn unknown(class: &str) -> String {
    let all = names().join(", ");
    let names =
        plugins().iter().flat_map(|p| std::iter::once(p.class).chain(p.aliases.iter().copied()));
    // A source is no misspelt sink, nor the other way round.
    let names = names.filter(|name| is_source(name) == is_source(class));
    let nearest = config::suggest::nearest(class, names);
    let guess = nearest.map_or_else(|| ".".to_owned(), |name| format!("; did you mean {name}?"));
    format!("connector class {class} does not exist{guess} There are: {all}")
}

/// Whether a class name says that it is a source, in any spelling Connect takes.
fn is_source(class: &str) -> bool {
    let simple = class.rsplit('.').next().unwrap_or(class);
    let simple = simple.strip_suffix("Connector").unwrap_or(simple);
    simple.to_ascii_lowercase().ends_with("source")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(class: &str, url: &str) -> &'static str {
        let props: Props = [("connection.url", url)].into_iter().collect();
        find(class, &props).unwrap().class
    }

    #[test]
    fn shared_names_are_told_apart_by_the_url() {
        let (postgres, sqlite) = (crate::postgres::PLUGIN.class, crate::sqlite::PLUGIN.class);
        for class in ["JdbcSink", "io.aiven.connect.jdbc.JdbcSinkConnector"] {
            assert_eq!(found(class, "jdbc:postgresql://h/d"), postgres);
            assert_eq!(found(class, "jdbc:sqlite:/tmp/x.db"), sqlite);
            assert_eq!(found(class, "jdbc:mysql://h/d"), postgres);
        }
        assert_eq!(found("postgres-sink", "jdbc:sqlite:x"), postgres);
        assert_eq!(found("sqlite-sink", ""), sqlite);
    }

    #[test]
    fn an_unknown_class_is_told_what_exists() {
        let error = find("PostgresSnk", &Props::new()).err().unwrap();
        assert!(error.contains("did you mean PostgresSink?"), "{error}");
        assert!(error.contains("sqlite-sink (io.copycat.SqliteSinkConnector)"), "{error}");
    }

    #[test]
    fn a_source_is_not_mistaken_for_a_sink() {
        for class in
            ["io.confluent.connect.jdbc.JdbcSourceConnector", "JdbcSource", "postgres-source"]
        {
            let error = find(class, &Props::new()).err().unwrap();
            assert!(!error.contains("Sink?") && !error.contains("sink?"), "{error}");
        }
    }

    #[test]
    fn no_two_connectors_have_one_class() {
        for (index, plugin) in plugins().iter().enumerate() {
            for other in plugins().iter().skip(index + 1) {
                assert_ne!(plugin.class, other.class);
                assert!(!other.aliases.contains(&plugin.class));
            }
        }
    }
}
