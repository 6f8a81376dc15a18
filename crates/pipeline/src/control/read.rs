//! Reads the definitions: three statements in one round trip, each row as a JSON object.
//!
//! Place in the data path: called by `connection.rs`. What changes without being a definition (states)
//! is left out, so that the version stays the same.

use super::definitions::{
    Cluster, Column, Consumer, Definitions, Mode, Relation, RelationKind, Replay, Route, Settings,
    Target, Unreadable,
};
use super::error::{Error, ErrorKind};
use super::start::Start;
use serde::Deserialize;
use sql::postgres::wire::{Connection, Format, Param, Pipeline, Rows, Wait};
use sql::table::TableName;
use std::hash::{DefaultHasher, Hash, Hasher};

const CLUSTERS: &str = "SELECT c.name, jsonb_build_object('name', c.name, \
    'bootstrap_servers', c.bootstrap_servers, \
    'properties', (SELECT coalesce(jsonb_object_agg(key, value), '{}') \
      FROM pg_catalog.jsonb_each_text(c.properties)), \
    'registry_url', c.registry_url, \
    'registry_properties', (SELECT coalesce(jsonb_object_agg(key, value), '{}') \
      FROM pg_catalog.jsonb_each_text(c.registry_properties)), \
    'config_version', c.config_version) FROM pipeline_kafka.clusters c ORDER BY c.name";

/// A relation as an object; null where it does not exist any more.
const RELATION: &str = "(SELECT jsonb_build_object('oid', r.oid::int8, 'schema', n.nspname, \
    'name', r.relname, 'kind', r.relkind, 'row_security', r.relrowsecurity, \
    'unlogged', r.relpersistence = 'u', 'columns', (SELECT coalesce(jsonb_agg(\
      jsonb_build_object('name', a.attname, 'identity', a.attidentity <> '', \
      'json', coalesce(nullif(t.typbasetype, 0), t.oid) IN (114, 3802), \
      'bytea', coalesce(nullif(t.typbasetype, 0), t.oid) = 'pg_catalog.bytea'::pg_catalog.regtype) \
      ORDER BY a.attnum), '[]') FROM pg_catalog.pg_attribute a \
      JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE a.attrelid = r.oid AND a.attnum > 0 \
      AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a'), 'primary_key', coalesce((SELECT jsonb_agg(a.attname \
      ORDER BY k.place) FROM pg_catalog.pg_index i \
      CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) \
      JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum \
      WHERE i.indrelid = r.oid AND i.indisprimary AND k.place <= i.indnkeyatts), '[]')) FROM pg_catalog.pg_class r \
    JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace WHERE r.oid = ";

const REACHABLE: &str = "coalesce((SELECT pg_has_role(o.oid, CASE WHEN \
    current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END) \
    FROM pg_catalog.pg_roles o WHERE o.rolname = c.owner), false)";

const SUPERUSER: &str = "coalesce((SELECT o.rolsuper FROM pg_catalog.pg_roles o \
    WHERE o.rolname = c.owner), false)";

/// How the registry of a consumer's cluster is reached.
const REGISTRY: &str = "(SELECT jsonb_build_object('url', k.registry_url, 'properties', \
    (SELECT coalesce(jsonb_object_agg(key, value), '{}') \
     FROM pg_catalog.jsonb_each_text(k.registry_properties))) \
    FROM pipeline_kafka.clusters k WHERE k.name = c.cluster)";

fn consumers_sql() -> String {
    format!(
        "SELECT c.id, to_jsonb(c) - {VOLATILE} || jsonb_build_object('owner_reachable', {REACHABLE}, \
         'owner_superuser', {SUPERUSER}, \
         'started', c.started_at IS NOT NULL, 'tombstones_delete', c.tombstones = 'delete', \
         'stop_on_error', c.on_error = 'stop', 'gap_earliest', c.on_gap = 'earliest', \
         'unknown_fields_error', c.unknown_fields = 'error', 'registry', {REGISTRY}, \
         'the_relation', {RELATION} c.relation), \
         'the_relations', (SELECT jsonb_agg({RELATION} u.relation) ORDER BY u.place) \
           FROM unnest(c.relations) WITH ORDINALITY AS u(relation, place))) \
         FROM pipeline_kafka.consumers c ORDER BY c.id"
    )
}

fn replays_sql() -> String {
    format!(
        "SELECT c.id, to_jsonb(c) - {VOLATILE} || jsonb_build_object('owner_reachable', {REACHABLE}, \
         'owner_superuser', {SUPERUSER}, \
         'started', c.started_at IS NOT NULL, 'the_relation', {RELATION} c.into_relation)) \
         FROM pipeline_kafka.replays c WHERE c.state NOT IN ('done', 'cancelled') ORDER BY c.id"
    )
}

const VOLATILE: &str = "'{state,state_detail,state_since,blocked_partition,blocked_offset,lease_owner,lease_until}'::text[]";

/// Everything as it is now.
pub(super) fn definitions(
    connection: &mut Connection,
    wait: Wait<'_>,
) -> Result<Definitions, Error> {
    let none: [Param<'_>; 0] = [];
    let mut pipeline = Pipeline::new();
    for sql in [CLUSTERS, &consumers_sql(), &replays_sql()] {
        pipeline.parse("", sql, &[]).bind("", &none, Format::Text).execute(0);
    }
    pipeline.sync();
    let reply = connection.run(&mut pipeline, wait)?.check()?;
    let [clusters, consumers, replays] = reply.statements.as_slice() else {
        return Err(Error::new(ErrorKind::Bug, "the definitions gave no answer"));
    };
    let mut out = Definitions::default();
    let mut hasher = DefaultHasher::new();
    out.clusters = read("clusters", &clusters.rows, &mut hasher, &mut out.unreadable, parsed);
    out.consumers = read("consumers", &consumers.rows, &mut hasher, &mut out.unreadable, consumer);
    out.replays = read("replays", &replays.rows, &mut hasher, &mut out.unreadable, replay);
    out.version = format!("{:016x}", hasher.finish());
    Ok(out)
}

fn read<T>(
    table: &'static str,
    rows: &Rows,
    hasher: &mut DefaultHasher,
    unreadable: &mut Vec<Unreadable>,
    parse: fn(&str) -> Result<T, serde_json::Error>,
) -> Vec<T> {
    let mut out = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let text = rows.text(row, 1).unwrap_or("null");
        text.hash(hasher);
        match parse(text) {
            Ok(item) => out.push(item),
            Err(error) => unreadable.push(Unreadable {
                table,
                key: rows.text(row, 0).unwrap_or_default().to_owned(),
                reason: error.to_string(),
            }),
        }
    }
    out
}

fn parsed(text: &str) -> Result<Cluster, serde_json::Error> {
    serde_json::from_str(text)
}

#[derive(Deserialize)]
struct RelationRow {
    oid: u32,
    schema: String,
    name: String,
    kind: RelationKind,
    row_security: bool,
    unlogged: bool,
    primary_key: Vec<String>,
    columns: Vec<Column>,
}

impl From<RelationRow> for Relation {
    fn from(row: RelationRow) -> Relation {
        Relation {
            oid: row.oid,
            table: TableName { schema: Some(row.schema), name: row.name },
            kind: row.kind,
            row_security: row.row_security,
            unlogged: row.unlogged,
            columns: row.columns,
            primary_key: row.primary_key,
        }
    }
}

#[derive(Deserialize)]
struct ConsumerRow {
    id: i32,
    cluster: String,
    topic: String,
    route: Option<String>,
    the_relation: Option<RelationRow>,
    the_relations: Option<Vec<Option<RelationRow>>>,
    #[serde(flatten)]
    settings: Settings,
}

fn consumer(text: &str) -> Result<Consumer, serde_json::Error> {
    let row: ConsumerRow = serde_json::from_str(text)?;
    let target = match (row.route, row.the_relation) {
        (Some(route), _) => Target::Routed {
            route: parse_route(&route).ok_or_else(|| serde::de::Error::custom("the route"))?,
            // A relation that was dropped takes no more rows; its messages become dead letters.
            relations: row.the_relations.into_iter().flatten().flatten().map(Into::into).collect(),
        },
        (None, Some(relation)) => Target::Relation(relation.into()),
        (None, None) => Target::Dropped,
    };
    let ConsumerRow { id, cluster, topic, settings, .. } = row;
    Ok(Consumer { id, cluster, topic, target, settings })
}

fn parse_route(text: &str) -> Option<Route> {
    match text.split_once(':') {
        None if text == "key" => Some(Route::Key),
        Some(("header", name)) => Some(Route::Header(name.to_owned())),
        Some(("field", path)) => Some(Route::Field(path.split('.').map(str::to_owned).collect())),
        _ => None,
    }
}

#[derive(Deserialize)]
struct ReplayRow {
    id: i64,
    consumer_id: i32,
    owner: String,
    owner_reachable: bool,
    owner_superuser: bool,
    start_at: Start,
    end_at: Start,
    the_relation: Option<RelationRow>,
    mode: Mode,
    only_partitions: Option<Vec<i32>>,
    started: bool,
    in_client: bool,
    is_retry: bool,
    config_version: i64,
}

fn replay(text: &str) -> Result<Replay, serde_json::Error> {
    let row: ReplayRow = serde_json::from_str(text)?;
    Ok(Replay {
        id: row.id,
        consumer_id: row.consumer_id,
        owner: row.owner,
        owner_reachable: row.owner_reachable,
        owner_superuser: row.owner_superuser,
        start_at: row.start_at,
        end_at: row.end_at,
        into: row.the_relation.map(Into::into),
        mode: row.mode,
        only_partitions: row.only_partitions,
        started: row.started,
        in_client: row.in_client,
        is_retry: row.is_retry,
        config_version: row.config_version,
    })
}
