//! What would become of one connector: its classes, what is refused, what differs, where it starts.

use super::differences;
use super::site::Site;
use api::SourceMap;
use config::{Given, Props};
use data::TopicPartition;
use herder::Target;
use herder::distributed::topics::ConnectorState;
use herder::takeover::Contents;
use runtime::source::offsets::OffsetStore;
use runtime::{ConfigInfos, Direction, SinkStanding};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

const ASK_TIMEOUT: Duration = Duration::from_secs(10);
const CLASS: &str = "connector.class";

/// A class that a connector names, and what stands for it here.
pub(super) struct Part {
    /// The key that names it.
    pub(super) key: String,
    pub(super) class: String,
    /// None: there is nothing for it.
    pub(super) here: Option<&'static str>,
}

/// Why a connector cannot run.
pub(super) struct Refused {
    pub(super) key: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Where a partition would start.
pub(super) struct Start {
    pub(super) partition: SourceMap,
    pub(super) offset: SourceMap,
    /// Records behind the end, of sinks.
    pub(super) lag: Option<i64>,
}

/// What would become of a connector.
pub(super) struct ConnectorPlan {
    pub(super) name: String,
    pub(super) config: Props,
    pub(super) class: String,
    pub(super) direction: Option<Direction>,
    pub(super) target: Target,
    pub(super) task_class: Option<String>,
    pub(super) parts: Vec<Part>,
    pub(super) refused: Vec<Refused>,
    pub(super) differs: Vec<String>,
    pub(super) delivery: Option<String>,
    /// The consumer group, of sinks.
    pub(super) group: Option<String>,
    pub(super) starts: Vec<Start>,
    /// What else there is to say about the start.
    pub(super) notes: Vec<String>,
}

impl ConnectorPlan {
    pub(super) fn can_run(&self) -> bool {
        self.refused.is_empty()
    }

    /// Looks at a connector that is there.
    pub(super) fn of(
        site: &Site,
        contents: &Contents,
        name: &str,
        state: &ConnectorState,
    ) -> ConnectorPlan {
        let given = state.config().map(|config| config.to_given()).unwrap_or_default();
        let config = given.props.clone();
        let class = config.get(CLASS).unwrap_or_default().trim().to_owned();
        let direction = site.worker.direction(&config).or_else(|| guessed(&config));
        let (refused, notices) = judged(site, &given);
        let mut differs = differences::of_connector(direction, &class, &config);
        differs.extend(notices);
        let task = state.tasks().next();
        let mut plan = ConnectorPlan {
            name: name.to_owned(),
            target: state.target().unwrap_or(Target::Started),
            task_class: task.and_then(|(_, task)| task.get("task.class").map(str::to_owned)),
            parts: parts(site, &config, &class),
            delivery: differences::delivery(direction, false, &site.worker),
            config,
            class,
            direction,
            refused,
            differs,
            group: None,
            starts: Vec::new(),
            notes: Vec::new(),
        };
        match direction {
            Some(Direction::Sink) => plan.look_at_sink(site),
            _ => plan.look_at_source(site, contents),
        }
        plan
    }

    fn look_at_source(&mut self, site: &Site, contents: &Contents) {
        let own = self.config.get("offsets.storage.topic").map(str::trim);
        let found = match own.filter(|own| !own.is_empty()) {
            None => contents.list(&self.name),
            // Looking at one that is missing would make it.
            Some(own) if site.admin.topic(own, ASK_TIMEOUT).is_err() => {
                self.notes.push(format!("its own offsets topic {own} is not there"));
                contents.list(&self.name)
            }
            Some(own) => {
                self.notes.push(format!("its offsets are in its own topic {own}"));
                site.worker.offsets(&self.name, &self.config)
            }
        };
        match found {
            Ok(found) => {
                let start = |(partition, offset)| Start { partition, offset, lag: None };
                self.starts = found.into_iter().map(start).collect();
                if self.starts.is_empty() {
                    self.notes.push("no offset is stored: it starts at the beginning".to_owned());
                }
            }
            Err(error) => {
                self.notes.push(format!("its offsets could not be read: {}", error.report()));
            }
        }
    }

    fn look_at_sink(&mut self, site: &Site) {
        match site.worker.sink_standing(&self.name, &self.config, false) {
            Ok(standing) => self.of_standing(site, standing),
            Err(error) => {
                let text = format!("where its group stands could not be seen: {}", error.report());
                self.notes.push(text);
            }
        }
    }

    fn of_standing(&mut self, site: &Site, mut standing: SinkStanding) {
        standing.committed.retain(|committed| reads(&self.config, &committed.tp.topic));
        self.delivery = differences::delivery(self.direction, standing.keeps, &site.worker);
        let places: Vec<TopicPartition> =
            standing.committed.iter().map(|committed| committed.tp.clone()).collect();
        let ends = site.admin.ends(&places, ASK_TIMEOUT).unwrap_or_default();
        let ends = ends.into_iter().chain(std::iter::repeat(None));
        for (committed, end) in standing.committed.iter().zip(ends) {
            let (partition, offset) = sink_entry(&committed.tp, committed.offset);
            let lag = end.map(|end| (end - committed.offset).max(0));
            self.starts.push(Start { partition, offset, lag });
        }
        self.notes.extend(self.without_offset(site, &places));
        if standing.keeps {
            let told = "its first start is at the group's offsets; from then on the destination keeps the \
                        positions, and the group's are a mirror. Where it has some of an earlier take-over \
                        that Kafka Connect has moved on from, `takeover start` has it forget those";
            self.notes.push(told.to_owned());
        }
        if standing.committed.iter().any(|committed| committed.mirror) {
            let told = "its group has offsets of an earlier run of Copycat that was not handed back by \
                        `takeover rollback`: where the destination has its positions still, these count";
            self.notes.push(told.to_owned());
        }
        self.group = Some(standing.group);
    }

    /// Topics of which some partitions have no offset.
    fn without_offset(&self, site: &Site, known: &[TopicPartition]) -> Vec<String> {
        let topics = self.config.get("topics").unwrap_or_default().split(',').map(str::trim);
        let reset = self.config.get("consumer.override.auto.offset.reset").unwrap_or("earliest");
        let told = topics.filter(|topic| !topic.is_empty()).filter_map(|topic| {
            let all = match site.admin.topic(topic, ASK_TIMEOUT) {
                Ok(found) => found.partitions,
                Err(error) => return Some(format!("topic {topic}: {error}")),
            };
            let have = known.iter().filter(|tp| &*tp.topic == topic).count();
            let lack = all.saturating_sub(have);
            (lack > 0).then(|| format!("{lack} of {all} partitions of topic {topic} have no offset and start at {reset}"))
        });
        told.collect()
    }
}

/// Whether a sink reads a topic, as far as its configuration names them: a group keeps offsets of
/// topics that its connector had once.
pub(super) fn reads(config: &Props, topic: &str) -> bool {
    let topics = config.get("topics").unwrap_or_default();
    topics.trim().is_empty() || topics.split(',').any(|named| named.trim() == topic)
}

/// Which way the records of a class go that is not known here.
fn guessed(config: &Props) -> Option<Direction> {
    let is_sink = ["topics", "topics.regex"].iter().any(|key| config.get(key).is_some());
    is_sink.then_some(Direction::Sink)
}

/// What validation says: why it cannot run, what is worth saying.
fn judged(site: &Site, given: &Given) -> (Vec<Refused>, Vec<String>) {
    match site.worker.describe_config(given) {
        Ok(infos) => refusals(infos),
        Err(message) => (vec![Refused { key: CLASS.to_owned(), message, hint: None }], Vec::new()),
    }
}

fn refusals(infos: ConfigInfos) -> (Vec<Refused>, Vec<String>) {
    let hints: BTreeMap<&str, &str> =
        infos.hints.iter().map(|hint| (hint.key.as_str(), hint.message.as_str())).collect();
    let of_keys = infos.configs.iter().flat_map(|info| {
        let key = info.value.name.as_str();
        info.value.errors.iter().map(move |message| (key, message.as_str()))
    });
    let own = infos.refused.iter().map(|error| (error.key.as_str(), error.message.as_str()));
    let refused = of_keys.chain(own).map(|(key, message)| Refused {
        key: key.to_owned(),
        message: message.to_owned(),
        hint: hints.get(key).map(|hint| (*hint).to_owned()),
    });
    (refused.collect(), infos.notices)
}

/// The classes that a connector names, with what it has of the worker.
fn parts(site: &Site, config: &Props, class: &str) -> Vec<Part> {
    let here = connectors::find(class, config).ok().map(|plugin| plugin.class);
    let mut parts = vec![Part { key: CLASS.to_owned(), class: class.to_owned(), here }];
    for key in ["key.converter", "value.converter", "header.converter"] {
        let named = config.get(key).or_else(|| site.file.props.get(key)).map(str::trim);
        if let Some(class) = named.filter(|class| !class.is_empty()) {
            let here = converters::find(class).map(|plugin| plugin.class);
            parts.push(Part { key: key.to_owned(), class: class.to_owned(), here });
        }
    }
    for (list, find) in [
        (
            "transforms",
            (|class| transforms::find(class).map(|p| p.class)) as fn(&str) -> Option<&'static str>,
        ),
        ("predicates", |class| transforms::find_predicate(class).map(|p| p.class)),
    ] {
        let aliases = config.get(list).unwrap_or_default().split(',').map(str::trim);
        for alias in aliases.filter(|alias| !alias.is_empty()) {
            let key = format!("{list}.{alias}.type");
            let class = config.get(&key).unwrap_or_default().trim().to_owned();
            parts.push(Part { here: find(&class), key, class });
        }
    }
    parts
}

/// A sink's position, as the REST interface tells it.
pub(super) fn sink_entry(tp: &TopicPartition, offset: i64) -> (SourceMap, SourceMap) {
    let partition = [
        ("kafka_topic".to_owned(), json!(&*tp.topic)),
        ("kafka_partition".to_owned(), json!(tp.partition)),
    ];
    let offset = [("kafka_offset".to_owned(), json!(offset))];
    (SourceMap::from_iter(partition), SourceMap::from_iter(offset))
}
