//! Roles: who may do what, and what is said to those who may not.

use crate::consumers::with_orders;
use crate::psql::{psql, results};
use crate::reports::control;
use pipeline::control::{Control, ControlOptions, Questions, State};
use std::sync::Arc;
use testkit::postgres::{Database, url};
use testkit::unique;

/// A role that is dropped with this value; it needs its database for as long as that.
struct Role<'a> {
    database: &'a Database,
    name: String,
}

impl<'a> Role<'a> {
    fn create(database: &'a Database, what: &str) -> Role<'a> {
        let name = unique(what).replace('-', "_");
        database.execute(&format!("CREATE ROLE {name} LOGIN"));
        Role { database, name }
    }

    fn url(&self) -> String {
        self.database.url().replace("postgres@", &format!("{}@", self.name))
    }

    fn run(&self, script: &str) -> (String, String) {
        psql(&self.url(), script)
    }

    /// Results of a script without an error.
    fn results(&self, script: &str) -> String {
        let (results, rest) = self.run(script);
        assert!(!rest.contains("ERROR:"), "{script}\n{rest}");
        results.trim_end().to_owned()
    }

    fn refused(&self, script: &str, code: &str, text: &str) {
        let (_, said) = self.run(script);
        assert!(
            said.contains(&format!("ERROR:  {code}: ")) && said.contains(text),
            "{script}\n{said}"
        );
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        self.database.execute(&format!("DROP OWNED BY {name} CASCADE; DROP ROLE {name}"));
    }
}

fn with_role(database: &Database) -> Role<'_> {
    let app = Role::create(database, "app");
    database.execute(&format!("GRANT USAGE ON SCHEMA pipeline_kafka TO {}", app.name));
    app
}

#[test]
fn usage_of_the_schema_is_what_it_takes() {
    let database = with_orders();
    let app = Role::create(&database, "app");
    app.refused("SELECT * FROM pipeline_kafka.status", "42501", "schema pipeline_kafka");
    database.execute(&format!("GRANT USAGE ON SCHEMA pipeline_kafka TO {}", app.name));
    app.refused(
        "SELECT pipeline_kafka.consume_begin('t', 'orders')",
        "42501",
        "privilege INSERT on public.orders",
    );
    database.execute(&format!("GRANT INSERT ON orders TO {}", app.name));
    let upsert = "SELECT pipeline_kafka.consume_begin('t', 'orders', mode => 'upsert', tombstones => 'delete')";
    app.refused(upsert, "42501", "GRANT INSERT, SELECT, UPDATE, DELETE ON public.orders");
    database.execute(&format!("GRANT SELECT, UPDATE ON orders TO {}", app.name));
    app.refused(upsert, "42501", "privilege DELETE");
    database.execute(&format!("GRANT DELETE ON orders TO {}", app.name));
    assert_eq!(app.results(upsert), "(1,t,orders,waiting)");
    assert_eq!(app.results("SELECT owner FROM pipeline_kafka.consumers"), app.name);
    let script = "SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 3}'); \
        SELECT pipeline_kafka.skip('t', 'orders', 0, 3); SELECT pipeline_kafka.consume_end(); \
        SELECT pipeline_kafka.consume_begin(); \
        SELECT pipeline_kafka.alter_consumer('t', 'orders', '{\"timeout\": 1}'); \
        SELECT pipeline_kafka.replay('t', 'orders', 'earliest', 'latest', force => true); \
        SELECT pipeline_kafka.replay_cancel(1); SELECT pipeline_kafka.retry_errors('t', 'orders'); \
        SELECT pipeline_kafka.produce_message('o', 'x'); SELECT * FROM pipeline_kafka.topic_watermarks('t'); \
        SELECT count(*) FROM pipeline_kafka.status; SELECT count(*) FROM pipeline_kafka.error_summary; \
        SELECT pipeline_kafka.drop_consumer('t', 'orders')";
    app.results(script);
}

#[test]
fn clusters_and_their_properties_stay_with_the_owner_of_the_schema() {
    let database = with_orders();
    let app = with_role(&database);
    let grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON pipeline_kafka.clusters TO ";
    for call in ["set_cluster('evil:9092')", "add_broker('evil:9092')", "remove_broker('k:9092')"] {
        app.refused(&format!("SELECT pipeline_kafka.{call}"), "42501", grant);
    }
    app.refused("SELECT properties FROM pipeline_kafka.clusters", "42501", "clusters");
    app.refused("SELECT * FROM pipeline_kafka.outbox", "42501", "outbox");
    assert_eq!(app.results("SELECT name FROM pipeline_kafka.clusters"), "default");
    database.execute(&format!("{grant}{}", app.name));
    app.results("SELECT pipeline_kafka.set_cluster('k:9092')");
}

#[test]
fn consumers_of_others_can_be_seen_and_not_touched() {
    let database = with_orders();
    let app = with_role(&database);
    results(
        &database,
        "SELECT pipeline_kafka.consume_begin('t', 'orders'); \
         SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 3}'); \
         INSERT INTO pipeline_kafka.errors (consumer_id, topic, partition, \"offset\", stage, message, value) \
         VALUES (1, 't', 0, 0, 'write', 'a secret', 'a secret')",
    );
    database.execute(&format!("GRANT ALL ON orders TO {}", app.name));
    for call in [
        "consume_begin('t', 'orders')",
        "consume_end('t', 'orders')",
        "drop_consumer('t', 'orders')",
        "alter_consumer('t', 'orders', '{}')",
        "set_offsets('t', 'orders', 'latest')",
        "skip('t', 'orders', 0, 3)",
        "replay('t', 'orders', 'earliest', 'latest', force => true)",
        "retry_errors('t', 'orders')",
    ] {
        app.refused(
            &format!("SELECT pipeline_kafka.{call}"),
            "42501",
            "belongs to the role postgres",
        );
    }
    let script = "SELECT topic, last_error FROM pipeline_kafka.status; \
        SELECT * FROM pipeline_kafka.error_summary; SELECT * FROM pipeline_kafka.errors; \
        SELECT * FROM pipeline_kafka.consume_end(); \
        UPDATE pipeline_kafka.consumers SET owner = current_user; \
        UPDATE pipeline_kafka.offsets SET next_offset = 99; DELETE FROM pipeline_kafka.consumers; \
        SELECT enabled FROM pipeline_kafka.consumers; SELECT next_offset FROM pipeline_kafka.offsets";
    assert_eq!(app.results(script), "t|\nt\n3");
    app.refused(
        "INSERT INTO pipeline_kafka.consumers (topic, relation, owner) VALUES ('u', 'orders', 'postgres')",
        "42501",
        "row-level security",
    );
    // A role that was dropped does not keep the others from their own.
    database.execute("UPDATE pipeline_kafka.consumers SET owner = 'nobody at all'");
    assert_eq!(app.results("SELECT topic FROM pipeline_kafka.consume_begin('v', 'orders')"), "v");
    // Nobody is told to give the rights of a superuser away.
    database.execute("UPDATE pipeline_kafka.consumers SET owner = 'postgres'");
    app.refused("SELECT pipeline_kafka.drop_consumer('v', 'orders')", "42501", "Ask its owner.");
    let way = database.value("SELECT pipeline_kafka._way_to_act('postgres', 'w')").unwrap();
    assert!(way.contains("SET ROLE") && !way.contains("GRANT"), "{way}");
}

#[test]
fn a_worker_has_to_be_able_to_write_as_the_owner() {
    let database = with_orders();
    let app = with_role(&database);
    let worker = Role::create(&database, "worker");
    database.execute(&format!(
        "GRANT INSERT ON orders TO {app}; UPDATE pipeline_kafka.installation SET worker_role = '{worker}'; \
         SELECT pipeline_kafka.grant_worker('{worker}'); SELECT pipeline_kafka.grant_worker('{worker}')",
        app = app.name,
        worker = worker.name
    ));
    let begin = "SELECT pipeline_kafka.consume_begin('t', 'orders')";
    app.refused(begin, "42501", &format!("GRANT {} TO {};", app.name, worker.name));
    let (_, said) = psql(&database.url(), begin);
    assert!(said.contains("SET ROLE to the role that owns"), "{said}");
    database.execute(&format!("GRANT {} TO {}", app.name, worker.name));
    app.results(begin);
    app.results("SELECT pipeline_kafka.set_offsets('t', 'orders', '{\"0\": 3}')");
    let mut control = Control::connect(ControlOptions {
        database_url: worker.url(),
        pooler: false,
        accept_database: false,
        stop: Arc::new(|| false),
    })
    .unwrap();
    control.register("here", "1", "g", 1).unwrap();
    let consumer = control.definitions().unwrap().consumers.remove(0);
    assert!(consumer.settings.owner_reachable);
    let version = consumer.settings.config_version;
    assert!(control.set_state(consumer.id, version, State::Running, None, None).unwrap());
    assert!(
        Questions::new(&worker.url())
            .unwrap()
            .store_starts((consumer.id, version), None, &[(0, 9), (1, 9)])
            .unwrap()
    );
    let script = "SELECT state, live_workers FROM pipeline_kafka.status; \
                  SELECT next_offset FROM pipeline_kafka.offsets ORDER BY partition";
    assert_eq!(results(&database, script), "running|1\n3\n9");
    let moved = psql(
        &worker.url(),
        "UPDATE pipeline_kafka.offsets SET next_offset = 10 RETURNING next_offset; \
         INSERT INTO pipeline_kafka.errors (consumer_id, topic, partition, \"offset\", stage, message) \
         VALUES (1, 't', 0, 1, 'write', 'bad') RETURNING stage; \
         EXPLAIN (COSTS OFF) UPDATE pipeline_kafka.offsets SET next_offset = 11",
    );
    assert!(moved.0.starts_with("10\n10\nwrite\n") && !moved.0.contains("Filter"), "{moved:?}");
    control.leave().unwrap();
    drop(control);
    database.execute("DROP SCHEMA pipeline_kafka CASCADE");
}

#[test]
fn a_role_without_superuser_installs() {
    let owner = unique("owner").replace('-', "_");
    let mut server = testkit::postgres::Client::connect(&url());
    server.execute(&format!("CREATE ROLE {owner} LOGIN"));
    let database = testkit::postgres::database();
    let own = database.url().replace("postgres@", &format!("{owner}@"));
    let install = || pipeline::install::Installer::connect(&own).unwrap().install(None, false);
    let error = install().unwrap_err();
    assert_eq!(error.sqlstate.as_deref(), Some("42501"));
    assert!(error.hint.unwrap().contains("CREATE SCHEMA pipeline_kafka AUTHORIZATION"));
    database.execute(&format!("CREATE SCHEMA pipeline_kafka AUTHORIZATION {owner}"));
    install().unwrap();
    let (state, said) =
        psql(&own, "SELECT pipeline_kafka.set_cluster('k:9092'); CREATE SCHEMA mine; ");
    assert!(said.contains("permission denied for database"), "{state}{said}");
    database.execute(&format!("CREATE SCHEMA mine AUTHORIZATION {owner}"));
    let (state, said) = psql(
        &own,
        "CREATE TABLE mine.t (a int); SELECT state FROM pipeline_kafka.consume_begin('t', 'mine.t')",
    );
    assert_eq!(state.trim(), "waiting", "{said}");
    control(&database).definitions().unwrap();
    drop(database);
    server.execute(&format!("DROP ROLE {owner}"));
}
