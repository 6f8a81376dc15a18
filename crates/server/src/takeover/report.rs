//! How answers are written: lines for people, or one JSON document.

use herder::Target;
use herder::takeover::{Company, TopicSeen};
use serde_json::{Value, json};

/// Lines of a text, deeper ones two blanks further in.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    /// What stands in configurations may have anything in it; a line stays a line.
    pub(super) fn add(&mut self, depth: usize, text: &str) {
        for (number, line) in text.lines().enumerate() {
            // What goes on is further in than what it belongs to.
            let depth = if number == 0 { depth } else { depth + 2 };
            self.0.push_str(&"  ".repeat(depth));
            self.0.extend(
                line.trim_start()
                    .chars()
                    .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }),
            );
            self.0.push('\n');
        }
    }
}

/// The answer of a command.
#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(super) fn print(lines: Lines) {
    print!("{}", lines.0);
}

/// The same for programs.
#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(super) fn print_json(json: &Value) {
    println!("{json:#}");
}

/// Kafka Connect's word.
pub(super) fn word(target: Target) -> &'static str {
    match target {
        Target::Started => "STARTED",
        Target::Paused => "PAUSED",
        Target::Stopped => "STOPPED",
    }
}

/// Who is alive.
pub(super) fn company_json(company: &Company) -> Value {
    match company {
        Company::Nobody => json!({ "kind": "none", "members": [] }),
        Company::Java(workers) => {
            let worker = |worker: &herder::takeover::JavaWorker| json!({ "id": worker.id, "host": worker.host, "url": worker.url });
            json!({ "kind": "kafka-connect", "members": workers.iter().map(worker).collect::<Vec<_>>() })
        }
        Company::Ours(members) => {
            let worker =
                |member: &kafka::GroupMember| json!({ "id": member.id, "host": member.host });
            json!({ "kind": "copycat", "members": members.iter().map(worker).collect::<Vec<_>>() })
        }
        Company::Others { protocol_type, members } => {
            json!({ "kind": protocol_type, "members": members })
        }
    }
}

pub(super) fn company_lines(company: &Company, lines: &mut Lines) {
    match company {
        Company::Nobody => lines.add(0, "workers alive: none"),
        Company::Java(workers) => {
            lines.add(0, &format!("workers of Kafka Connect alive: {}", workers.len()));
            for worker in workers {
                lines.add(1, &worker.to_string());
            }
        }
        Company::Ours(members) => {
            lines.add(0, &format!("workers of Copycat alive: {}", members.len()));
            for member in members {
                lines.add(1, &format!("from {}, member {}", member.host, member.id));
            }
        }
        Company::Others { protocol_type, members } => {
            let text = format!("{members} members of another kind have the group: {protocol_type}");
            lines.add(0, &text);
        }
    }
}

pub(super) fn topic_json(topic: &TopicSeen) -> Value {
    let trouble = topic.trouble.as_ref();
    json!({
        "name": topic.name,
        "for": topic.what,
        "partitions": topic.partitions,
        "fit": trouble.is_none(),
        "problem": trouble.map(|error| &error.message),
        "hint": trouble.and_then(|error| error.hint.as_ref()),
    })
}

pub(super) fn topic_lines(topic: &TopicSeen, lines: &mut Lines) {
    let TopicSeen { name, what, partitions, trouble } = topic;
    match (trouble, partitions) {
        (Some(error), _) => lines.add(1, &format!("not fit: {name} ({what}): {}", error.report())),
        (None, None) => lines.add(1, &format!("missing: {name} ({what}); workers make it")),
        (None, Some(1)) => lines.add(1, &format!("ok: {name} ({what}), 1 partition")),
        (None, Some(n)) => lines.add(1, &format!("ok: {name} ({what}), {n} partitions")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_configuration_stays_in_its_line() {
        let mut lines = Lines::default();
        lines.add(1, "a\u{1b}[2J\nb");
        assert_eq!(lines.0, "  a\u{fffd}[2J\n      b\n");
    }
}
