//! Subjects: the names under which a registry keeps the versions of a schema.

/// How the subject of a schema is made; Confluent's subject name strategies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// `<topic>-key` or `<topic>-value`.
    #[default]
    Topic,
    /// The full name of the record.
    Record,
    /// `<topic>-<full name of the record>`.
    TopicRecord,
}

impl Strategy {
    /// The strategy of a class name: Confluent's, with or without its package.
    pub fn parse(class: &str) -> Option<Strategy> {
        let name = class.strip_prefix("io.confluent.kafka.serializers.subject.").unwrap_or(class);
        match name {
            "TopicNameStrategy" => Some(Strategy::Topic),
            "RecordNameStrategy" => Some(Strategy::Record),
            "TopicRecordNameStrategy" => Some(Strategy::TopicRecord),
            _ => None,
        }
    }

    /// The subject of a record of that name, if it has one, in that topic.
    ///
    /// # Errors
    /// The strategy needs a name, and the schema has none.
    pub fn subject(self, topic: &str, key: bool, record: Option<&str>) -> Result<String, String> {
        let named = || {
            record.ok_or_else(|| {
                "the subject name strategy asks for a record, and the schema is none: in this \
                 case use TopicNameStrategy"
                    .to_owned()
            })
        };
        Ok(match self {
            Strategy::Topic => format!("{topic}-{}", if key { "key" } else { "value" }),
            Strategy::Record => named()?.to_owned(),
            Strategy::TopicRecord => format!("{topic}-{}", named()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_of_every_strategy() {
        let subject = |class: &str, key, record| {
            let class = format!("io.confluent.kafka.serializers.subject.{class}");
            Strategy::parse(&class).unwrap().subject("orders", key, record)
        };
        assert_eq!(subject("TopicNameStrategy", true, None).as_deref(), Ok("orders-key"));
        assert_eq!(subject("TopicNameStrategy", false, Some("a.B")).as_deref(), Ok("orders-value"));
        assert_eq!(subject("RecordNameStrategy", false, Some("a.B")).as_deref(), Ok("a.B"));
        assert_eq!(
            subject("TopicRecordNameStrategy", false, Some("a.B")).as_deref(),
            Ok("orders-a.B")
        );
        assert!(subject("RecordNameStrategy", false, None).is_err());
        assert!(Strategy::parse("com.acme.Own").is_none());
    }
}
