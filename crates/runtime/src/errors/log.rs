//! The error log: one line a rejected record where `errors.log.enable` asks for it, else one line for
//! all of some seconds. Every line says where the record is: in Connect's words with `errors.log.include.messages`,
//! else at its end.

use super::Repeats;
use config::connector::ConnectorConfig;
use data::{Batch, RawBatch, Reject, Stage, TimestampType};
use std::borrow::Cow;

/// What to log of rejected records.
#[derive(Clone, Debug)]
pub struct ErrorLog {
    pub connector: String,
    pub task: u32,
    /// `errors.log.enable`
    pub each_record: bool,
    /// `errors.log.include.messages`
    pub coordinates: bool,
}

impl ErrorLog {
    /// As a connector's configuration asks for it.
    pub(crate) fn new(connector: &str, task: u32, config: &ConnectorConfig) -> ErrorLog {
        ErrorLog {
            connector: connector.to_owned(),
            task,
            each_record: config.errors_log_enable,
            coordinates: config.errors_log_include_messages,
        }
    }

    /// Gives the number of records that got a line of their own.
    pub(crate) fn rejects(&self, raw: &RawBatch, rejects: &[Reject], repeats: &mut Repeats) -> u64 {
        if self.each_record {
            for reject in rejects {
                tracing::error!("{}", self.line(raw, reject));
            }
            return rejects.len() as u64;
        }
        if let Some(first) = rejects.first() {
            let offset = raw.records().get(first.row as usize).map_or(-1, |r| r.offset);
            repeats.warn(rejects.len() as u64, || {
                let (tp, message) = (raw.tp(), self.message(first));
                format!(
                    "reported to the dead letters, the first of {tp} at offset {offset}: {message}"
                )
            });
        }
        0
    }

    /// A record of a source that could not be sent.
    pub(crate) fn source_reject(
        &self,
        records: &Batch,
        partition: &api::SourceMap,
        reject: &Reject,
        repeats: &mut Repeats,
    ) {
        if !self.each_record {
            repeats.warn(1, || format!("could not be sent: {}", reject.message));
            return;
        }
        let ErrorLog { connector, task, coordinates, .. } = self;
        let mut line = format!(
            "Error encountered in task {connector}-{task}. Executing stage '{}' with class '{}'",
            reject.stage.name(),
            reject.class
        );
        if *coordinates {
            let topic = records.topic(reject.row as usize);
            let partition = serde_json::Value::Object(partition.clone());
            line += &format!(
                ", where source record is {{sourcePartition={partition}, topic='{topic}'}}"
            );
        }
        tracing::error!("{line}. {}: {}", reject.exception, reject.message);
    }

    /// The reason, without what databases quote of the record unless contents are asked for.
    fn message<'a>(&self, reject: &'a Reject) -> Cow<'a, str> {
        if self.coordinates || reject.stage != Stage::TaskPut {
            return Cow::Borrowed(&reject.message);
        }
        without_values(&reject.message, reject.sqlstate.as_deref().unwrap_or_default())
    }

    /// What a task is FAILED with for a record's sake, under the same rule.
    pub(crate) fn failure(&self, mut error: api::Error) -> api::Error {
        if !self.coordinates && error.kind == api::ErrorKind::Data {
            let sqlstate = error.sqlstate.as_deref().unwrap_or_default();
            error.message = without_values(&error.message, sqlstate).into_owned();
        }
        error
    }

    /// Connect's line, then the reason.
    fn line(&self, raw: &RawBatch, reject: &Reject) -> String {
        let ErrorLog { connector, task, .. } = self;
        let stage = reject.stage.name();
        let mut line = format!(
            "Error encountered in task {connector}-{task}. Executing stage '{stage}' with class '{}'",
            reject.class
        );
        if let Some(record) = raw.records().get(reject.row as usize) {
            let (topic, partition, offset) = (raw.topic(), raw.partition(), record.offset);
            if !self.coordinates {
                let (exception, message) = (&reject.exception, self.message(reject));
                return format!(
                    "{line}. {exception}: {message} (topic {topic}, partition {partition}, offset \
                     {offset})"
                );
            }
            let timestamp = match record.timestamp_type {
                TimestampType::None => String::new(),
                TimestampType::CreateTime => {
                    format!(", timestamp={}, timestampType=CreateTime", record.timestamp)
                }
                TimestampType::LogAppendTime => {
                    format!(", timestamp={}, timestampType=LogAppendTime", record.timestamp)
                }
            };
            line += &format!(
                ", where consumed record is {{topic='{topic}', partition={partition}, \
                 offset={offset}{timestamp}}}"
            );
        }
        format!("{line}. {}: {}", reject.exception, reject.message)
    }
}

/// A database's message without the values that it quotes: the text behind the class 22 of
/// SQLSTATEs (data exceptions), and the details that PostgreSQL gives of a row or a key.
fn without_values<'a>(message: &'a str, sqlstate: &str) -> Cow<'a, str> {
    let between = |from: &str, to: char| {
        let start = message.find(from)? + from.len();
        let len = message.get(start..)?.rfind(to)?;
        Some((start, start + len))
    };
    let detail = ["Failing row contains (", ")=("].into_iter().find_map(|from| between(from, ')'));
    let quoted = || between("\"", '"').filter(|_| sqlstate.starts_with("22"));
    let Some((start, end)) = detail.or_else(quoted) else { return Cow::Borrowed(message) };
    let part = |range| message.get::<std::ops::Range<usize>>(range).unwrap_or_default();
    let (before, value, after) = (part(0..start), part(start..end), part(end..message.len()));
    Cow::Owned(format!("{before}{} characters{after}", value.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::{RawBatchBuilder, TopicPartition};

    #[test]
    fn the_line_is_connects_with_the_reason_behind() {
        let mut b = RawBatchBuilder::new(TopicPartition::new("t", 0));
        b.push(5, 1, TimestampType::CreateTime, None, Some(b"x"));
        let raw = b.finish(6);
        let reject = Reject::data(0, Stage::ValueConverter, "J", "bad".to_owned());
        let mut log =
            ErrorLog { connector: "c".to_owned(), task: 0, each_record: true, coordinates: true };
        let exception = "org.apache.kafka.connect.errors.DataException";
        assert_eq!(
            log.line(&raw, &reject),
            format!(
                "Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class 'J', \
                 where consumed record is {{topic='t', partition=0, offset=5, timestamp=1, \
                 timestampType=CreateTime}}. {exception}: bad"
            )
        );
        log.coordinates = false;
        assert_eq!(
            log.line(&raw, &reject),
            format!(
                "Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class 'J'. \
                 {exception}: bad (topic t, partition 0, offset 5)"
            )
        );
    }

    #[test]
    fn values_that_a_database_quotes_are_not_logged() {
        for (sqlstate, message, shown) in [
            (
                "22P02",
                "column id: invalid input: \"a \"b\"\"",
                "column id: invalid input: \"5 characters\"",
            ),
            (
                "22003",
                "column n: \"é\" is out of range",
                "column n: \"1 characters\" is out of range",
            ),
            (
                "23502",
                "null value in column \"id\". Failing row contains (1, (x)).",
                "null value in column \"id\". Failing row contains (6 characters).",
            ),
            (
                "23505",
                "\"pk\". Key (id)=(abc) already exists.",
                "\"pk\". Key (id)=(3 characters) already exists.",
            ),
            ("23514", "violates \"positive\"", "violates \"positive\""),
            ("22000", "\"", "\""),
        ] {
            assert_eq!(without_values(message, sqlstate), shown, "{message}");
        }
    }

    #[test]
    fn a_task_fails_without_telling_values_unless_asked() {
        let log = |coordinates| ErrorLog {
            connector: "c".to_owned(),
            task: 0,
            each_record: false,
            coordinates,
        };
        let error = || api::Error::data("column n: \"secret\" is no number").sqlstate("22P02");
        assert_eq!(log(false).failure(error()).message, "column n: \"6 characters\" is no number");
        assert_eq!(log(true).failure(error()).message, error().message);
        let config = || api::Error::config("no table \"t\"").sqlstate("22000");
        assert_eq!(log(false).failure(config()).message, config().message);
    }
}
