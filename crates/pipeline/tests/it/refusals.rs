//! Bad input: each is refused when it is given, with its SQLSTATE and a way out, and changes nothing.

use crate::consumers::with_orders;
use crate::psql::{psql, refused, results};
use std::collections::HashMap;
use testkit::postgres::Database;

/// Each call, the SQLSTATE, and a piece of the message, the detail or the hint.
fn all_refused(database: &Database, cases: &[(&str, &str, &str)]) {
    let lines: Vec<_> =
        cases.iter().map(|(call, ..)| format!("SELECT pipeline_kafka.{call};")).collect();
    let (_, said) = psql(&database.url(), &lines.join("\n"));
    // Everything that is said of a statement begins with its line.
    let mut of_line: HashMap<usize, String> = HashMap::new();
    for part in said.split("psql:<stdin>:").skip(1) {
        let (line, text) = part.split_once(": ").unwrap();
        of_line.entry(line.parse().unwrap()).or_default().push_str(text);
    }
    for (n, (call, code, text)) in cases.iter().enumerate() {
        let said = of_line.get(&(n + 1)).map_or("nothing", String::as_str);
        assert!(said.contains(&format!("ERROR:  {code}: ")), "{call}: {code}\n{said}");
        assert!(said.contains(text), "{call}: {text}\n{said}");
    }
    let left = "SELECT count(*) FROM pipeline_kafka.consumers WHERE topic <> 'there'";
    assert_eq!(results(database, left), "0");
}

#[test]
fn topics_and_relations() {
    let database = with_orders();
    results(
        &database,
        "CREATE SEQUENCE seq; CREATE TYPE composite AS (a int); CREATE INDEX ind ON orders (total); \
         CREATE MATERIALIZED VIEW mat AS SELECT 1 AS a; CREATE VIEW closed AS SELECT count(*) FROM orders; \
         CREATE VIEW open AS SELECT * FROM orders; SELECT pipeline_kafka.consume_begin('there', 'open')",
    );
    let long = format!("consume_begin('{}', 'orders')", "x".repeat(250));
    let temporary = "consume_begin('t', (SELECT 'pg_temp.temp'::regclass FROM \
                     (SELECT set_config('a.b', 'c', false)) AS x))";
    let said = refused(
        &database,
        &format!("CREATE TEMP TABLE temp (a int); SELECT pipeline_kafka.{temporary}"),
    );
    assert!(said.contains("0A000") && said.contains("temporary"), "{said}");
    all_refused(
        &database,
        &[
            ("consume_begin(NULL, 'orders')", "22023", "invalid topic name NULL"),
            ("consume_begin('', 'orders')", "22023", "1 to 249 characters"),
            ("consume_begin('..', 'orders')", "22023", "invalid topic name"),
            ("consume_begin('a b', 'orders')", "22023", "invalid topic name"),
            (&long, "22023", "invalid topic name"),
            ("consume_begin('t', 'missing')", "42P01", "missing"),
            ("consume_begin('t', 4294967295::oid::regclass)", "42P01", "does not exist"),
            ("consume_begin('t', NULL)", "22023", "relation is not given"),
            ("consume_begin('t', 'seq')", "42809", "It is a sequence"),
            ("consume_begin('t', 'composite')", "42809", "composite type"),
            ("consume_begin('t', 'ind')", "42809", "It is an index"),
            ("consume_begin('t', 'mat')", "42809", "materialized view"),
            ("consume_begin('t', 'closed')", "42809", "INSTEAD OF"),
            ("consume_begin('t', 'pipeline_kafka.errors')", "42809", "a table of your own"),
            ("consume_begin('t', 'pg_class')", "42809", "a table of your own"),
            ("consume_begin('t', 'orders', cluster => 'far')", "42704", "name => 'far'"),
            ("consume_end('t', 'orders')", "42704", "no consumer"),
            ("drop_consumer('t', 'orders')", "42704", "no consumer"),
            ("set_offsets('t', 'orders', 'earliest')", "42704", "no consumer"),
            ("consume_begin_stream_partitioned('t')", "22023", "relations => "),
            ("consume_begin_stream_partitioned('t', '{}')", "22023", "relations => "),
            ("consume_begin_stream_partitioned('t', '{orders}', 'value')", "22023", "field:NAME"),
            ("consume_begin_stream_partitioned('t', '{orders,seq}')", "42809", "seq"),
        ],
    );
}

#[test]
fn settings() {
    let database = with_orders();
    let call = |setting: &str| format!("consume_begin('t', 'orders', {setting})");
    let cases: Vec<(String, &str, &str)> = [
        ("format => 'xml'", "22023", "json, text, csv, bytea"),
        ("format => NULL, key_format => 'xml'", "22023", "json, text, bytea"),
        ("mode => 'merge'", "22023", "append, ignore, upsert"),
        ("on_error => 'skip'", "22023", "dead_letter, stop"),
        ("on_gap => 'latest'", "22023", "stop, earliest"),
        ("tombstones => 'null'", "22023", "ignore, delete"),
        ("unknown_fields => 'x'", "22023", "ignore, error"),
        ("delimiter => ','", "22023", "belong to the formats"),
        ("format => 'text', quote => '\"'", "22023", "csv"),
        ("format => 'csv', delimiter => '::'", "22023", "one byte"),
        ("format => 'csv', delimiter => 'é'", "22023", "one byte"),
        ("format => 'csv', delimiter => E'\\n'", "22023", "one byte"),
        ("format => 'csv', delimiter => '\"'", "22023", "the same"),
        ("format => 'text', delimiter => 'n'", "22023", "cannot have the delimiter"),
        ("format => 'bytea'", "22023", "mapping => "),
        ("batchsize => 0", "22023", "between 1 and"),
        ("maxbytes => -1", "22023", "between 1 and"),
        ("parallelism => 0", "22023", "between 1 and"),
        ("timeout => -1", "22023", "between 0 and"),
        ("error_limit => 1.5", "22023", "between 0 and 1"),
        ("error_limit => 'NaN'", "22023", "between 0 and 1"),
        ("group_id => ''", "22023", "group_id is empty"),
        ("tombstones => 'delete'", "22023", "mode => 'upsert'"),
        ("version_column => 'total'", "22023", "mode => 'upsert'"),
        ("conflict_columns => '{id}'", "22023", "mode => 'upsert'"),
        ("together => ''", "22023", "together is empty"),
        ("unknown_fields => 'error', mapping => '{\"id\": \"$\"}'", "22023", "with a mapping"),
        ("options => '{\"nonsense\": 1}'", "22023", "unknown option 'nonsense'"),
        ("options => '[]'", "22023", "an object"),
        ("options => '{\"mirror\": 1}'", "22023", "neither true nor false"),
    ]
    .into_iter()
    .map(|(setting, code, text)| (call(setting), code, text))
    .collect();
    let cases: Vec<_> = cases.iter().map(|(c, code, text)| (c.as_str(), *code, *text)).collect();
    all_refused(&database, &cases);
}

fn call(setting: &str) -> String {
    format!("consume_begin('t', 'orders', {setting})")
}

fn options(setting: &str, options: &str) -> String {
    call(&format!("{setting}, options => '{options}'"))
}

const AVRO: &str = "format => 'avro'";
const EVOLVING: &str = "format => 'avro', options => '{\"schema\": {}, \"auto_evolve\": true}'";

/// Schemas of a registry or of the definition.
#[test]
fn schemas() {
    let avro = AVRO;
    let cases = [
        (call(avro), "55000", "\"schema\""),
        (call("key_format => 'protobuf'"), "55000", "registry_url"),
        (
            options("format => 'json'", "{\"key_schema\": {}}"),
            "22023",
            "key_schema does not go with key_format",
        ),
        (
            options("format => 'json'", "{\"schema\": {}}"),
            "22023",
            "avro, protobuf and json_schema",
        ),
        (options(avro, "{\"schema\": \"{\"}"), "22023", "no JSON"),
        (options(avro, "{\"schema\": 7}"), "22023", "no schema"),
        (options("format => 'protobuf'", "{\"schema\": {}}"), "22023", ".proto"),
        (options(avro, "{\"schema\": {}, \"message\": \"m\"}"), "22023", "protobuf"),
        (
            options("format => 'protobuf'", "{\"schema\": \"\", \"message\": 1}"),
            "22023",
            "name of a message",
        ),
        (options("format => 'json'", "{\"framed\": true}"), "22023", "framed goes with"),
        (options(avro, "{\"schema\": {}, \"framed\": 1}"), "22023", "neither true nor false"),
        (
            options(
                "format => 'avro', mode => 'upsert', tombstones => 'delete'",
                "{\"schema\": {}}",
            ),
            "55000",
            "key_schema",
        ),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(call, code, text)| (call.as_str(), *code, *text)).collect();
    all_refused(&with_orders(), &cases);
}

/// What is done with fields without a column.
#[test]
fn fields_without_a_column() {
    let database = with_orders();
    let avro = AVRO;
    let cases = [
        (options("format => 'json'", "{\"auto_evolve\": true}"), "22023", "have types"),
        (options(avro, "{\"schema\": {}, \"auto_evolve\": 1}"), "22023", "neither true nor false"),
        (
            options(
                "format => 'avro', unknown_fields => 'error'",
                "{\"schema\": {}, \"auto_evolve\": true}",
            ),
            "22023",
            "have types",
        ),
        (call("unknown_fields => 'collect'"), "22023", "collect_column"),
        (options("format => 'json'", "{\"collect_column\": \"doc\"}"), "22023", "go together"),
        (
            options("unknown_fields => 'collect'", "{\"collect_column\": \"rest\"}"),
            "42703",
            "no column rest",
        ),
        (
            options("unknown_fields => 'collect'", "{\"collect_column\": \"total\"}"),
            "42804",
            "not jsonb",
        ),
        (
            options(
                "format => 'csv', unknown_fields => 'collect'",
                "{\"collect_column\": \"doc\"}",
            ),
            "22023",
            "by name",
        ),
    ];
    let cases: Vec<_> =
        cases.iter().map(|(call, code, text)| (call.as_str(), *code, *text)).collect();
    all_refused(&database, &cases);
    database.execute("CREATE VIEW seen AS SELECT * FROM orders");
    all_refused(
        &database,
        &[(&format!("consume_begin('t', 'seen', {EVOLVING})"), "22023", "needs a table")],
    );
}

#[test]
fn schemas_and_fields_that_are_right_are_not_refused() {
    let database = with_orders();
    let fine = [
        options(AVRO, "{\"schema\": {\"type\": \"int\"}, \"framed\": true}"),
        call("unknown_fields => 'collect', options => '{\"collect_column\": \"doc\"}'"),
        call(EVOLVING),
    ];
    for call in fine {
        results(&database, &format!("SELECT pipeline_kafka.{call}"));
    }
    results(
        &database,
        "SELECT pipeline_kafka.set_cluster('k:9092', registry_url => 'http://r:8081, https://s')",
    );
    for format in ["avro", "protobuf", "json_schema"] {
        let call = call(&format!(
            "format => '{format}', key_format => '{format}', mapping => \
            '{{\"id\": \"key.id\"}}'"
        ));
        results(&database, &format!("SELECT pipeline_kafka.{call}"));
    }
    // A call that moves the brokers only would take the registry from under the consumer.
    let said = refused(&database, "SELECT pipeline_kafka.set_cluster('other:9092')");
    assert!(said.contains("55000") && said.contains("the consumer of 't' into"), "{said}");
    results(
        &database,
        "SELECT pipeline_kafka.drop_consumer('t', 'orders'); SELECT pipeline_kafka.set_cluster('other:9092')",
    );
}

#[test]
fn properties_of_a_registry() {
    let database = with_orders();
    let token = |more: &str| {
        format!(
            "set_cluster('k:9092', registry_properties => '{{\"bearer.auth.token\": \"env:T\"}}'{more})"
        )
    };
    all_refused(&database, &[(&token(""), "22023", "without a registry_url")]);
    results(&database, &format!("SELECT pipeline_kafka.{}", token(", registry_url => 'http://r'")));
    // What a hint says is not warned of.
    let (_, said) = psql(
        &database.url(),
        "SELECT pipeline_kafka.set_cluster('k:9092', registry_url => 'http://r', registry_properties => \
         '{\"basic.auth.credentials.source\": \"USER_INFO\", \"basic.auth.user.info\": \"u:p\"}')",
    );
    assert!(said.contains("basic.auth.user.info looks like a secret"), "{said}");
    assert!(!said.contains("credentials.source"), "{said}");
}

#[test]
fn starts() {
    let database = with_orders();
    let call = |setting: &str| format!("consume_begin('t', 'orders', {setting})");
    let cases: Vec<(String, &str, &str)> = [
        ("start_offset => 50", "22023", "start => '{\"0\": 50}'"),
        ("start_offset => -3", "22023", "start => '-N'"),
        ("start_offset => -1, start => 'latest'", "22023", "both given"),
        ("start => 'soon'", "22007", "earliest, latest, group, -N, a time"),
        ("start => ''", "22023", "not given"),
        ("start => '50'", "22023", "one partition only"),
        ("start => '-0'", "22023", "one partition only"),
        ("start => '2999-01-01'", "22023", "in the future"),
        ("start => 'infinity'", "22023", "in the future"),
        ("start => '{\"-1\": 5}'", "22023", "is no partition"),
        ("start => '{\"a\": 5}'", "22023", "is no partition"),
        ("start => '{\"99999999999\": 5}'", "22023", "is no partition"),
        ("start => '{\"0\": -5}'", "22023", "is no offset"),
        ("start => '{\"0\": 1.5}'", "22023", "is no offset"),
        ("start => '{\"0\": \"5\"}'", "22023", "is no offset"),
        ("start => '{}'", "22023", "names no partition"),
        ("start => '{0: 5}'", "22023", "not a JSON map"),
    ]
    .into_iter()
    .map(|(setting, code, text)| (call(setting), code, text))
    .collect();
    let cases: Vec<_> = cases.iter().map(|(c, code, text)| (c.as_str(), *code, *text)).collect();
    all_refused(&database, &cases);
}

#[test]
fn keys_and_versions() {
    let database = with_orders();
    results(
        &database,
        "CREATE TABLE bare (a int, b int, p point); CREATE UNIQUE INDEX ON bare (a) WHERE b > 0; \
         CREATE UNIQUE INDEX ON bare (abs(b)); \
         CREATE TABLE deferred (a int PRIMARY KEY DEFERRABLE); \
         CREATE VIEW seen AS SELECT id, total FROM orders",
    );
    all_refused(
        &database,
        &[
            ("consume_begin('t', 'bare', mode => 'upsert')", "42P10", "CREATE UNIQUE INDEX"),
            ("consume_begin('t', 'deferred', mode => 'upsert')", "42P10", "no primary key"),
            (
                "consume_begin('t', 'bare', mode => 'upsert', conflict_columns => '{a}')",
                "42P10",
                "CREATE UNIQUE INDEX ON public.bare (a)",
            ),
            (
                "consume_begin('t', 'bare', mode => 'upsert', conflict_columns => '{b}')",
                "42P10",
                "no unique index",
            ),
            (
                "consume_begin('t', 'bare', mode => 'upsert', conflict_columns => '{c}')",
                "42703",
                "no column c",
            ),
            (
                "consume_begin('t', 'bare', mode => 'upsert', conflict_columns => '{}')",
                "22023",
                "no column",
            ),
            (
                "consume_begin('t', 'orders', mode => 'upsert', conflict_columns => '{id,total}')",
                "42P10",
                "(id, total)",
            ),
            (
                "consume_begin('t', 'seen', mode => 'upsert', conflict_columns => '{total}')",
                "42P10",
                "unique",
            ),
            (
                "consume_begin('t', 'orders', mode => 'upsert', version_column => 'v')",
                "42703",
                "no column v",
            ),
        ],
    );
    results(&database, "ALTER TABLE orders ADD place point");
    all_refused(
        &database,
        &[(
            "consume_begin('t', 'orders', mode => 'upsert', version_column => 'place')",
            "42883",
            "cannot be compared",
        )],
    );
    let fine = "SELECT pipeline_kafka.consume_begin('a', 'orders', mode => 'upsert', version_column => 'total'); \
                SELECT pipeline_kafka.consume_begin('b', 'seen', mode => 'upsert', conflict_columns => '{id}'); \
                CREATE UNIQUE INDEX ON bare (b, a) INCLUDE (p); \
                SELECT pipeline_kafka.consume_begin('c', 'bare', mode => 'upsert', conflict_columns => '{a,b}')";
    assert_eq!(results(&database, fine).lines().count(), 3);
}

#[test]
fn mappings_and_transforms() {
    let database = with_orders();
    results(
        &database,
        "CREATE TABLE wide (id int GENERATED ALWAYS AS IDENTITY, a int NOT NULL, b int NOT NULL DEFAULT 1, \
           c int GENERATED ALWAYS AS (b + 1) STORED, t text); \
         CREATE FUNCTION good(records jsonb) RETURNS SETOF wide LANGUAGE sql AS 'SELECT * FROM wide'; \
         CREATE FUNCTION other(records jsonb) RETURNS SETOF orders LANGUAGE sql AS 'SELECT * FROM orders'; \
         CREATE FUNCTION one(records jsonb) RETURNS wide LANGUAGE sql AS 'SELECT * FROM wide'; \
         CREATE FUNCTION late(records text) RETURNS SETOF wide LANGUAGE sql AS 'SELECT * FROM wide'",
    );
    let call = |setting: &str| format!("consume_begin('t', 'wide', {setting})");
    let cases: Vec<(String, &str, &str)> = [
        ("mapping => '{\"zz\": \"$\"}'", "42703", "no column zz"),
        ("mapping => '{\"c\": \"$\"}'", "428C9", "always generated"),
        ("mapping => '{\"id\": \"$\"}'", "428C9", "always generated"),
        ("mapping => '{}'", "22023", "not an object"),
        ("mapping => '[]'", "22023", "not an object"),
        ("mapping => '{\"a\": 5}'", "22023", "no source"),
        ("mapping => '{\"a\": \"value\"}'", "22023", "headers.NAME"),
        ("mapping => '{\"a\": \"$.a..b\"}'", "22023", "no source"),
        ("mapping => '{\"a\": \"key.id\"}'", "22023", "key_format => 'json'"),
        ("mapping => '{\"a\": \"$\"}', format => 'csv'", "22023", "csv"),
        ("mapping => '{\"a\": \"=nothing + 1\"}'", "42703", "expression for the column a"),
        ("mapping => '{\"a\": \"=nofunction(1)\"}'", "42883", "under their schema"),
        ("mapping => '{\"a\": \"=1 +\"}'", "42601", "expression for the column a"),
        ("mapping => '{\"a\": \"=1)) AS x; DROP TABLE orders; --\"}'", "42601", "expression"),
        ("mapping => '{\"a\": \"=b || t\", \"b\": \"$.b\", \"t\": \"$.t\"}', transform => 'good(jsonb)'", "22023", "transform"),
        ("transform => 'other(jsonb)'", "42883", "RETURNS SETOF public.wide"),
        ("transform => 'one(jsonb)'", "42883", "records jsonb"),
        ("transform => 'late(text)'", "42883", "records jsonb"),
    ]
    .into_iter()
    .map(|(setting, code, text)| (call(setting), code, text))
    .collect();
    let cases: Vec<_> = cases.iter().map(|(c, code, text)| (c.as_str(), *code, *text)).collect();
    all_refused(&database, &cases);
    assert_eq!(results(&database, "SELECT to_regclass('orders')"), "orders");
    let (fine, warned) = psql(
        &database.url(),
        "SELECT pipeline_kafka.consume_begin('a', 'wide', key_format => 'json', mapping => \
           '{\"b\": \"$.x.y[0]\", \"t\": \"=upper(key) || b\"}'); \
         SELECT pipeline_kafka.consume_begin('b', 'wide', key_format => 'json', mapping => \
           '{\"a\": \"=b * 2\", \"b\": \"$.x.y[0]\", \"t\": \"key.k\"}'); \
         SELECT pipeline_kafka.consume_begin('c', 'wide', transform => 'good'::regproc::oid::regprocedure)",
    );
    assert_eq!(fine.lines().count(), 2, "{warned}");
    assert!(
        warned.contains("column \"key\" does not exist"),
        "key is a source, no column: {warned}"
    );
    let said =
        results(&database, "SELECT transform FROM pipeline_kafka.consumers WHERE topic = 'c'");
    assert_eq!(said, "public.good(jsonb)");
}

#[test]
fn warnings_do_not_refuse() {
    let database = with_orders();
    let (_, said) = psql(
        &database.url(),
        "CREATE UNLOGGED TABLE u (a int NOT NULL, b int); \
         SELECT pipeline_kafka.consume_begin('t', 'u', mapping => '{\"b\": \"$.b\"}'); \
         SELECT pipeline_kafka.set_cluster('k:9092', '{\"sasl.password\": \"hunter2\"}'); \
         SELECT pipeline_kafka.set_cluster('k:9092', '{\"sasl.password\": \"env:KAFKA_PASSWORD\"}')",
    );
    assert!(said.contains("UNLOGGED") && said.contains("SET LOGGED"), "{said}");
    assert!(said.contains("have to have a value: a"), "{said}");
    assert_eq!(said.matches("looks like a secret").count(), 1, "{said}");
    assert!(!said.contains("hunter2") && !said.contains("ERROR"), "{said}");
    assert_eq!(results(&database, "SELECT count(*) FROM pipeline_kafka.consumers"), "1");
}

/// Where a server crash leaves less than the positions say, or a commit is not one with theirs.
#[test]
fn relations_that_are_not_exactly_once_are_told() {
    let database = with_orders();
    let (_, said) = psql(
        &database.url(),
        "CREATE TABLE p (a int) PARTITION BY RANGE (a); \
         CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9); \
         SELECT pipeline_kafka.consume_begin('well', 'p'); \
         CREATE UNLOGGED TABLE p2 PARTITION OF p FOR VALUES FROM (9) TO (99); \
         SELECT pipeline_kafka.consume_begin('partition', 'p'); \
         CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw; \
         CREATE FOREIGN TABLE f (a int) SERVER far; \
         SELECT pipeline_kafka.consume_begin('foreign', 'f')",
    );
    assert!(said.contains("ALTER TABLE public.p2 SET LOGGED"), "{said}");
    assert!(said.contains("public.f is a foreign table"), "{said}");
    assert_eq!(said.matches("WARNING").count(), 2, "{said}");
    assert!(!said.contains("ERROR"), "{said}");
}

#[test]
fn clusters() {
    let database = with_orders();
    all_refused(
        &database,
        &[
            ("set_cluster('')", "22023", "no address"),
            ("set_cluster('k 1')", "22023", "HOST:PORT"),
            ("set_cluster('k:9092', '[]')", "22023", "not an object"),
            ("set_cluster('k:9092', '{\"a\": {}}')", "22023", "neither a text"),
            ("set_cluster('k:9092', '{\"group.id\": \"g\"}')", "22023", "set by the worker"),
            ("set_cluster('k:9092', registry_url => 'registry:8081')", "22023", "http"),
            ("set_cluster('k:9092', registry_url => 'http://u:pass@r')", "22023", "env:"),
            ("set_cluster('k:9092', name => 'a b')", "22023", "invalid name"),
            ("add_broker('k1:9092')", "42710", "already"),
            ("remove_broker('k9:9092')", "42704", "k1:9092,k2:9092"),
            ("remove_broker('k9:9092', 'far')", "42704", "not defined"),
        ],
    );
    results(&database, "SELECT pipeline_kafka.consume_begin('there', 'orders')");
    let (_, said) = psql(
        &database.url(),
        "SELECT pipeline_kafka.remove_broker('k1:9092'); SELECT pipeline_kafka.remove_broker('k2:9092')",
    );
    assert!(said.contains("55000") && said.contains("last broker"), "{said}");
    let script = "SELECT pipeline_kafka.add_broker('[::1]:9092', 'far'); \
                  SELECT pipeline_kafka.remove_broker('[::1]:9092', 'far'); \
                  SELECT count(*) FROM pipeline_kafka.clusters";
    assert_eq!(results(&database, script), "[::1]:9092\n\n1");
}

#[test]
fn a_standby_or_a_read_only_transaction_is_told_by_postgresql() {
    let database = with_orders();
    let script = "BEGIN READ ONLY; SELECT pipeline_kafka.consume_begin('t', 'orders'); ROLLBACK";
    assert!(refused(&database, script).contains("25006"));
}
