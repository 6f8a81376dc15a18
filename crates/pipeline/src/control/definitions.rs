//! Clusters, consumers and replays as their tables say.
//!
//! Place in the data path: read at start and after each change; everything that a worker does follows
//! from them. A row that this program cannot read stops that consumer only.

use super::start::Start;
use serde::Deserialize;
use sql::table::TableName;
use std::collections::BTreeMap;

/// Everything that is to be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definitions {
    pub clusters: Vec<Cluster>,
    /// Enabled and paused ones, by id.
    pub consumers: Vec<Consumer>,
    /// Those that are not finished, by id.
    pub replays: Vec<Replay>,
    /// Rows that this program does not understand.
    pub unreadable: Vec<Unreadable>,
    /// Differs from the one before if anything above does.
    pub version: String,
}

/// A row made by something newer than this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// `clusters`, `consumers` or `replays`.
    pub table: &'static str,
    /// The key of the row, as text.
    pub key: String,
    /// What is not understood.
    pub reason: String,
}

/// A Kafka cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Cluster {
    pub name: String,
    pub bootstrap_servers: String,
    /// Kafka's own names; values `env:NAME` and `file:PATH` are not resolved yet.
    pub properties: BTreeMap<String, String>,
    pub registry_url: Option<String>,
    /// As `properties`.
    pub registry_properties: BTreeMap<String, String>,
    pub config_version: i64,
}

/// One (topic, relation).
#[derive(Clone, Debug, PartialEq)]
pub struct Consumer {
    pub id: i32,
    pub cluster: String,
    pub topic: String,
    pub target: Target,
    pub settings: Settings,
}

/// The settings of a consumer, each a column of `consumers`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Settings {
    /// Topic id when it was first read.
    pub topic_id: Option<String>,
    /// The role to write as.
    pub owner: String,
    /// The role of this connection may become the owner (or is it).
    pub owner_reachable: bool,
    /// The owner is a superuser, in whom membership is never proposed.
    pub owner_superuser: bool,
    pub group_id: Option<String>,
    pub format: Format,
    pub key_format: Option<Format>,
    /// The Schema Registry of the cluster; `None`: the row of the cluster is gone.
    pub registry: Option<Registry>,
    pub delimiter: Option<String>,
    pub quote: Option<String>,
    pub escape: Option<String>,
    /// Rows of a batch.
    pub batchsize: u32,
    /// Bytes of a batch.
    pub maxbytes: u32,
    pub parallelism: Option<u32>,
    /// Milliseconds that a batch may grow after its first record.
    pub timeout: u32,
    pub start: Start,
    /// The start was resolved for all partitions that existed then: see [`super::Questions::store_starts`].
    pub started: bool,
    /// Column to source; `None`: fields go to columns by name.
    pub mapping: Option<BTreeMap<String, String>>,
    pub mode: Mode,
    /// Columns of a unique index; `None`: the primary key of the relation.
    pub conflict_columns: Option<Vec<String>>,
    pub version_column: Option<String>,
    /// `tombstones = 'delete'`.
    pub tombstones_delete: bool,
    /// Signature of the function, schema-qualified and quoted: `"public"."f"(jsonb)`.
    pub transform: Option<String>,
    /// `on_error = 'stop'` instead of dead letters.
    pub stop_on_error: bool,
    /// Share of failed records that stops the consumer, 0 to 1.
    pub error_limit: f64,
    /// `on_gap = 'earliest'` instead of stopping.
    pub gap_earliest: bool,
    /// `unknown_fields = 'error'` instead of ignoring them.
    pub unknown_fields_error: bool,
    /// Name of the set that the consumer is committed with.
    pub together: Option<String>,
    pub options: BTreeMap<String, serde_json::Value>,
    pub enabled: bool,
    pub config_version: i64,
}

impl Settings {
    /// An option that is a text.
    pub fn option_text(&self, name: &str) -> Option<&str> {
        self.options.get(name)?.as_str()
    }

    /// Whether an option has this value.
    pub fn option_is(&self, name: &str, value: bool) -> bool {
        self.options.get(name) == Some(&serde_json::Value::Bool(value))
    }
}

/// How the Schema Registry of a cluster is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Registry {
    /// One address or several, separated by commas; `None`: there is no registry.
    pub url: Option<String>,
    /// Confluent's names; values `env:NAME` and `file:PATH` are not resolved yet.
    pub properties: BTreeMap<String, String>,
}

/// Form of values, or of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Json,
    /// COPY's text format: columns between delimiters, backslash escapes.
    Text,
    /// COPY's csv format.
    Csv,
    /// The bytes as they are, into the only column.
    Bytea,
    /// With a schema: of the registry, or given with the definition.
    Avro,
    Protobuf,
    JsonSchema,
}

impl Format {
    /// Whether messages are read by a schema.
    pub fn has_schema(self) -> bool {
        matches!(self, Format::Avro | Format::Protobuf | Format::JsonSchema)
    }
}

/// What happens where a row is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Rows are added.
    Append,
    /// A row whose key is there is left out.
    Ignore,
    /// It gets the new values.
    Upsert,
}

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Relation(Relation),
    /// A stream-partitioned consumer: each message names one of these.
    Routed {
        route: Route,
        relations: Vec<Relation>,
    },
    /// The relation was dropped.
    Dropped,
}

/// Where a message names its relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Key,
    Header(String),
    /// Path of a field of the value.
    Field(Vec<String>),
}

/// A relation under its present name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    pub oid: u32,
    /// Always with its schema.
    pub table: TableName,
    pub kind: RelationKind,
    /// Row-level security is enabled; whether it applies depends on the role.
    pub row_security: bool,
    /// A crash of the server empties it.
    pub unlogged: bool,
    /// Columns of the primary key, in its order; empty: there is none.
    pub primary_key: Vec<String>,
    /// Those that values may be given for, in their order.
    pub columns: Vec<Column>,
}

/// A column of a relation, as far as formats and mappings ask.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Column {
    pub name: String,
    /// The type, below domains, is bytea.
    pub bytea: bool,
    /// It is json or jsonb.
    pub json: bool,
    /// It has a value of its own where none is given: GENERATED BY DEFAULT AS IDENTITY.
    pub identity: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum RelationKind {
    #[serde(rename = "r")]
    Table,
    #[serde(rename = "p")]
    Partitioned,
    #[serde(rename = "v")]
    View,
    #[serde(rename = "f")]
    Foreign,
}

/// A range that is read once more.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    pub id: i64,
    pub consumer_id: i32,
    /// The role to write as.
    pub owner: String,
    pub owner_reachable: bool,
    pub owner_superuser: bool,
    pub start_at: Start,
    /// Exclusive. `Start::Latest`: the end when the replay begins.
    pub end_at: Start,
    /// `None`: it was dropped.
    pub into: Option<Relation>,
    pub mode: Mode,
    pub only_partitions: Option<Vec<i32>>,
    /// Starts and ends are in `replay_offsets`.
    pub started: bool,
    /// It runs in a client, which asked for it: workers leave it alone.
    pub in_client: bool,
    /// It tries dead letters again, instead of records of the topic.
    pub is_retry: bool,
    pub config_version: i64,
}

/// How a worker comes to act as a role that it may not act as.
pub(crate) fn way_to_act(owner: &str, superuser: bool, who: &str) -> String {
    if superuser {
        return format!(
            "{owner} is a superuser, whose rights are given to nobody for this: drop_consumer, SET \
             ROLE to the role that owns the relation, and consume_begin"
        );
    }
    format!("GRANT \"{}\" TO {who}", owner.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_in_a_superuser_is_not_proposed() {
        assert_eq!(way_to_act("a\"b", false, "the worker"), "GRANT \"a\"\"b\" TO the worker");
        assert!(!way_to_act("postgres", true, "the worker").contains("GRANT"));
    }
}
