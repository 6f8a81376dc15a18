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

fn unknown(class: &str) -> String {
    let classes: Vec<&str> = plugins().iter().map(|plugin| plugin.class).collect();
    let names =
        plugins().iter().flat_map(|p| std::iter::once(p.class).chain(p.aliases.iter().copied()));
    let nearest = config::suggest::nearest(class, names);
    let guess = nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
    format!("connector class {class} does not exist{guess} There are: {}", classes.join(", "))
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
        assert!(error.contains("io.copycat.SqliteSinkConnector"), "{error}");
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
