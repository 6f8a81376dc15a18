//! Debezium's Filter and ContentBasedRouter, which run scripts. There is no script engine here, and a
//! transform that quietly did nothing would change data: they refuse every configuration and say what
//! to use instead.

use api::TransformPlugin;
use config::{ConfigDef, ConfigErrors};

pub(crate) static FILTER: TransformPlugin = TransformPlugin {
    class: "io.debezium.transforms.Filter",
    aliases: &[],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Not available: it needs a script engine. Use \
              `org.apache.kafka.connect.transforms.Filter` with a predicate.",
    config_def: ConfigDef::new,
    make: |_| {
        Err(ConfigErrors::one(
            "type",
            "io.debezium.transforms.Filter runs scripts, which is not supported: use \
             org.apache.kafka.connect.transforms.Filter with a predicate (TopicNameMatches, \
             HasHeaderKey, RecordIsTombstone)",
        ))
    },
};

pub(crate) static ROUTER: TransformPlugin = TransformPlugin {
    class: "io.debezium.transforms.ContentBasedRouter",
    aliases: &["ContentBasedRouter"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Not available: it needs a script engine. Use \
              `io.confluent.connect.transforms.ExtractTopic` or `route.by.field` of \
              ExtractNewRecordState.",
    config_def: ConfigDef::new,
    make: |_| {
        Err(ConfigErrors::one(
            "type",
            "io.debezium.transforms.ContentBasedRouter runs scripts, which is not supported: use \
             io.confluent.connect.transforms.ExtractTopic, route.by.field of ExtractNewRecordState, \
             or RegexRouter with a predicate",
        ))
    },
};

#[cfg(test)]
mod tests {
    #[test]
    fn every_configuration_is_refused_with_the_way_out() {
        let props = config::Props::new();
        for plugin in [&super::FILTER, &super::ROUTER] {
            let errors = (plugin.make)(&props).err().unwrap();
            assert!(errors.errors[0].message.contains("use "), "{}", plugin.class);
        }
    }
}
