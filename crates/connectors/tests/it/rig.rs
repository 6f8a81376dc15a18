//! A task of a connector, driven as the runtime drives it, and batches to give it.

use api::{
    ResolvedStart, Result, Seat, SinkContext, SinkTask, StartResolver, TaskContext, Tolerance,
};
use config::Props;
use data::{
    Batch, Cell, RawBatchBuilder, Reject, Rows, Schema, TimestampType, TopicPartition, Value,
};
use std::sync::Arc;

/// A record: key and value as JSON text, `None` for a Kafka null.
pub(crate) type Record<'a> = (Option<&'a str>, Option<&'a str>);

/// What the task told.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) durable: Vec<(TopicPartition, i64)>,
    pub(crate) stored: u64,
    pub(crate) rejects: Vec<Reject>,
    pub(crate) ignored: Vec<(String, u64)>,
}

impl SinkContext for Told {
    fn durable(&mut self, tp: &TopicPartition, next_offset: i64) {
        self.durable.push((tp.clone(), next_offset));
    }

    fn stored(&mut self, rows: u64) {
        self.stored += rows;
    }

    fn tolerate(&self, _: u64, _: u64, _: &str) -> Result<()> {
        Ok(())
    }

    fn settled(&mut self, _: u64, _: u64) {}

    fn reported(&mut self, _: &Batch, rejects: &[Reject]) {
        self.rejects.extend_from_slice(rejects);
    }

    fn ignored(&mut self, what: &str, count: u64) {
        self.ignored.push((what.to_owned(), count));
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// Starts every partition at 0.
pub(crate) struct FromZero;

impl StartResolver for FromZero {
    fn resolve(&mut self, partitions: &[TopicPartition]) -> Result<Vec<ResolvedStart>> {
        Ok(vec![ResolvedStart { offset: 0 }; partitions.len()])
    }
}

/// One task.
pub(crate) struct Rig {
    pub(crate) task: Box<dyn SinkTask>,
    pub(crate) told: Told,
}

impl Rig {
    /// A task of our own class for the address, or of `connector.class` where it is set.
    pub(crate) fn new(url: &str, pairs: &[(&str, &str)], tolerance: Tolerance) -> Rig {
        let mut props: Props = pairs.iter().copied().collect();
        if !props.contains("connector.class") {
            let class = if url.contains("sqlite") { "sqlite-sink" } else { "postgres-sink" };
            props.insert("connector.class", class);
        }
        props.insert("connection.url", url);
        let class = props.get("connector.class").expect("a class").to_owned();
        let plugin = connectors::find(&class, &props).expect("a connector");
        let connector = (plugin.make)();
        let errors = connector.validate(&props);
        assert!(errors.is_empty(), "{errors:?}");
        let context = TaskContext {
            connector: "test".to_owned(),
            task: 0,
            cluster_id: "cluster".to_owned(),
            group_id: "group".to_owned(),
            tolerance,
        };
        let api::Connector::Sink(sink) = connector else { panic!("a sink") };
        Rig { task: sink.task(&context, &props).expect("a task"), told: Told::default() }
    }

    /// Opens partition 0 of each topic.
    pub(crate) fn open(&mut self, topics: &[&str]) -> Vec<i64> {
        let seats: Vec<_> = topics
            .iter()
            .map(|topic| Seat { tp: TopicPartition::new(*topic, 0), topic_id: None })
            .collect();
        self.task.open(&seats, &mut FromZero, &mut self.told).expect("the task opens")
    }

    /// Puts batches and waits until they are durable.
    pub(crate) fn write(&mut self, batches: Vec<Batch>) -> Result<()> {
        self.task.put(batches, &mut self.told)?;
        self.task.flush(&mut self.told)
    }

    /// The same where nothing may go wrong.
    pub(crate) fn store(&mut self, batches: Vec<Batch>) {
        if let Err(error) = self.write(batches) {
            panic!("{:?}: {}", error.kind, error.report());
        }
    }
}

/// A batch of partition 0 as the converters leave schemaless JSON; offsets count from `from`.
pub(crate) fn json(topic: &str, from: i64, records: &[Record<'_>]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new(topic, 0));
    for (index, (key, value)) in records.iter().enumerate() {
        let (key, value) = (key.map(str::as_bytes), value.map(str::as_bytes));
        raw.header("h", Some(format!("h{index}").as_bytes()));
        raw.push(from + index as i64, 1000, TimestampType::CreateTime, key, value);
    }
    let mut batch = Batch::new(Arc::new(raw.finish(from + records.len() as i64)));
    for (key, value) in records {
        push_json(&mut batch.keys, *key);
        push_json(&mut batch.values, *value);
    }
    batch
}

fn push_json(rows: &mut Rows, text: Option<&str>) {
    let value = text.map(|text| serde_json::from_str(text).expect("JSON"));
    let root = match value {
        Some(serde_json::Value::Object(members)) => {
            let mut cells = Vec::new();
            for (name, value) in &members {
                cells.push(Cell::Text(rows.heap.put(name.as_bytes())));
                cells.push(json_cell(rows, value));
            }
            Cell::Map(rows.alloc_from(&cells))
        }
        Some(value) => json_cell(rows, &value),
        None => Cell::Null,
    };
    rows.push(None, root);
}

fn json_cell(rows: &mut Rows, value: &serde_json::Value) -> Cell {
    match value {
        serde_json::Value::Null => Cell::Null,
        serde_json::Value::Bool(value) => Cell::Bool(*value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(value) => Cell::int(value),
            None => Cell::Number(rows.heap.put(number.to_string().as_bytes())),
        },
        serde_json::Value::String(text) => Cell::Text(rows.heap.put(text.as_bytes())),
        nested => Cell::Json(rows.heap.put(nested.to_string().as_bytes())),
    }
}

/// A batch of partition 0 with a schema for the values, and one for the keys.
pub(crate) fn typed(
    topic: &str,
    from: i64,
    keys: Option<&Arc<Schema>>,
    values: &Arc<Schema>,
    records: &[(Value, Value)],
) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new(topic, 0));
    for (index, (_, value)) in records.iter().enumerate() {
        let value = (*value != Value::Null).then_some(&b"{}"[..]);
        raw.push(from + index as i64, 1000, TimestampType::CreateTime, Some(b"k"), value);
    }
    let mut batch = Batch::new(Arc::new(raw.finish(from + records.len() as i64)));
    for (key, value) in records {
        let cell = batch.keys.put_value(None, key);
        batch.keys.push(keys, cell);
        let cell = batch.values.put_value(None, value);
        batch.values.push(Some(values), cell);
    }
    batch
}

/// Text as a column of a query's result.
pub(crate) fn texts(rows: &[Vec<Option<String>>]) -> Vec<Vec<&str>> {
    rows.iter()
        .map(|row| row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect())
        .collect()
}
