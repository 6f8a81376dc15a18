//! How a consumer fares, in the words of the control schema. Pure.

use super::fetch::KafkaTrouble;
use super::observer::Silence;
use super::router::{Failure, Report};
use super::words::in_sql;
use crate::control::{BlockedRecord, State};
use sql::table::TableName;

/// What is told of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) state: State,
    pub(super) detail: Option<String>,
    pub(super) record: Option<BlockedRecord>,
}

impl Standing {
    pub(super) fn new(state: State) -> Standing {
        Standing { state, detail: None, record: None }
    }

    pub(super) fn blocked(detail: impl Into<String>) -> Standing {
        Standing { detail: Some(in_sql(&detail.into())), ..Standing::new(State::Blocked) }
    }

    /// The same for one that is committed together with the consumer into `relation`, whose it is.
    pub(super) fn because_of(self, relation: Option<&str>) -> Standing {
        let relation = relation.unwrap_or("several relations");
        let why =
            |detail| format!("committed together with the consumer into {relation}: {detail}");
        Standing { detail: self.detail.map(why), record: None, ..self }
    }

    fn backing_off(detail: impl Into<String>) -> Standing {
        Standing { detail: Some(in_sql(&detail.into())), ..Standing::new(State::BackingOff) }
    }
}

/// Topic and relation as they are written in a call; a stream-partitioned consumer has no relation.
pub(super) type Names<'a> = (&'a str, Option<&'a str>);

/// A consumer whose lanes run. `None`: other workers have its partitions.
pub(super) fn standing(
    report: &Report,
    trouble: Option<&KafkaTrouble>,
    silence: Option<&Silence>,
    names: Names<'_>,
) -> Option<Standing> {
    if let Some(failure) = &report.failure {
        return Some(failed(failure, names));
    }
    if let Some(silence) = silence {
        return Some(waiting(&silence.reason, silence.needs_change));
    }
    if let Some(trouble) = trouble {
        return Some(waiting(&trouble.reason, trouble.needs_change));
    }
    if let Some(reason) = &report.retrying {
        return Some(Standing::backing_off(reason));
    }
    if report.partitions == 0 {
        return None;
    }
    Some(Standing::new(match report {
        report if report.opening > 0 => State::Starting,
        report if report.behind > 0 => State::CatchingUp,
        _ => State::Running,
    }))
}

fn waiting(reason: &str, needs_change: bool) -> Standing {
    if needs_change { Standing::blocked(reason) } else { Standing::backing_off(reason) }
}

fn failed(failure: &Failure, (topic, relation): Names<'_>) -> Standing {
    let (topic, relation) = (quoted(topic), relation.map_or("NULL".to_owned(), quoted));
    let call = |function: &str, more: &str| {
        format!("SELECT pipeline_kafka.{function}({topic}, {relation}, {more});")
    };
    // It restarts the consumer and changes no setting.
    let again = call("alter_consumer", "'{}'");
    let mut detail = failure.message.clone();
    let record = failure.record.as_ref().filter(|(_, offset)| *offset >= 0);
    let Some((tp, offset)) = record else {
        if let Some(hint) = &failure.hint {
            detail.push_str("\n  hint: ");
            detail.push_str(hint);
        }
        detail.push_str("\n  then: ");
        detail.push_str(&again);
        return Standing::blocked(detail);
    };
    let partition = tp.partition;
    let skip = call("skip", &format!("{partition}, {offset}"));
    detail.push_str(&format!(
        "\n  at offset {offset} of partition {partition}\n  to leave this record out: {skip}\n  \
         after correcting the relation: {again}"
    ));
    let record = Some(BlockedRecord { partition, offset: *offset });
    Standing { record, ..Standing::blocked(detail) }
}

/// The name of a relation as regclass reads it, with quotes only where it needs them.
pub(super) fn called(table: &TableName) -> String {
    let plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let one = |name: &str| {
        if plain(name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
    };
    match &table.schema {
        Some(schema) => format!("{}.{}", one(schema), one(&table.name)),
        None => one(&table.name),
    }
}

/// A text literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::TopicPartition;
    use std::time::Instant;

    const NAMES: Names<'_> = ("orders", Some("public.orders"));

    fn state(report: &Report) -> Option<State> {
        standing(report, None, None, NAMES).map(|s| s.state)
    }

    #[test]
    fn a_relation_is_called_by_a_name_that_can_be_pasted() {
        let table = |schema: &str, name: &str| TableName {
            schema: Some(schema.to_owned()),
            name: name.to_owned(),
        };
        assert_eq!(called(&table("public", "orders_2")), "public.orders_2");
        assert_eq!(called(&table("Shop", "my \"table\"")), r#""Shop"."my ""table""""#);
    }

    #[test]
    fn the_gravest_of_what_is_known_is_told() {
        let mut report = Report { partitions: 2, ..Report::default() };
        assert_eq!(state(&report), Some(State::Running));
        report.behind = 1;
        assert_eq!(state(&report), Some(State::CatchingUp));
        report.opening = 1;
        assert_eq!(state(&report), Some(State::Starting));
        report.retrying = Some("no connection".to_owned());
        assert_eq!(state(&report), Some(State::BackingOff));
        let now = Instant::now();
        let trouble = KafkaTrouble { reason: "login".to_owned(), needs_change: true, at: now };
        let told = standing(&report, Some(&trouble), None, NAMES).unwrap();
        assert_eq!((told.state, told.detail.as_deref()), (State::Blocked, Some("login")));
        assert_eq!(state(&Report::default()), None, "others have its partitions");
    }

    #[test]
    fn a_blocked_consumer_is_told_with_the_call_that_resolves_it() {
        let at = (TopicPartition::new("orders", 3), 42);
        let failure =
            |record| Failure { message: "m".to_owned(), hint: None, record, consumer: None };
        let report = Report { failure: Some(failure(Some(at))), ..Report::default() };
        let told = standing(&report, None, None, NAMES).unwrap();
        assert_eq!(told.record, Some(BlockedRecord { partition: 3, offset: 42 }));
        let detail = told.detail.unwrap();
        assert!(
            detail.contains("pipeline_kafka.skip('orders', 'public.orders', 3, 42)"),
            "{detail}"
        );
        let report = Report { failure: Some(failure(None)), ..Report::default() };
        let detail = |names| standing(&report, None, None, names).unwrap().detail.unwrap();
        let again = "SELECT pipeline_kafka.alter_consumer('orders', 'public.orders', '{}');";
        assert!(detail(NAMES).contains(again), "{}", detail(NAMES));
        let routed = detail(("orders", None));
        assert!(routed.contains("alter_consumer('orders', NULL, '{}');"), "{routed}");
    }
}
