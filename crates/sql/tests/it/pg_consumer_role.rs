//! Rows written as the owner of a consumer: its grants, its row-level security, its triggers.

use super::pg::numbered;
use super::pg_consumer::{Told, define, installed, open, plain, put, target};
use api::ErrorKind;
use sql::postgres::{PoolSettings, SessionPool, consumer_sink};
use sql::table::TableName;
use std::sync::Arc;
use testkit::postgres;

/// A role that owns consumers and cannot log in, and one that workers log in as; both are gone with
/// this value.
pub(crate) struct Roles {
    pub(crate) owner: String,
    pub(crate) worker: String,
    pub(crate) server: postgres::Database,
}

impl Roles {
    /// `{owner}` and `{worker}` in `sql` are the roles' names.
    pub(crate) fn new(sql: &str) -> Roles {
        let name = |of: &str| testkit::unique(of).replace('-', "_");
        let (owner, worker) = (name("owner"), name("worker"));
        let server = installed(&format!(
            "CREATE ROLE {owner}; CREATE ROLE {worker} LOGIN; GRANT {owner} TO {worker}; \
             SELECT pipeline_kafka.grant_worker('{worker}'); GRANT CREATE ON SCHEMA public TO {owner}"
        ));
        server.execute(&sql.replace("{owner}", &owner).replace("{worker}", &worker));
        Roles { owner, worker, server }
    }

    pub(crate) fn pool(&self) -> Arc<SessionPool> {
        let mut settings = PoolSettings::new(&self.server.url());
        settings.database.user = Some(self.worker.clone());
        SessionPool::new(settings).expect("the URL is right")
    }
}

impl Drop for Roles {
    fn drop(&mut self) {
        let (owner, worker) = (&self.owner, &self.worker);
        let sql = format!("DROP OWNED BY {owner}, {worker} CASCADE; DROP ROLE {owner}, {worker}");
        // Of a server that is gone nothing is left.
        let _gone = self.server.client().try_query(&sql);
    }
}

#[test]
fn rows_are_written_as_the_owner_and_positions_as_the_worker() {
    let roles = Roles::new(
        "SET ROLE {owner}; CREATE TABLE pairs (id bigint CHECK (id <> 7), v text, \
         who name DEFAULT current_user)",
    );
    let consumer = define(&roles.server, "pairs");
    let pool = roles.pool();
    let mut told = Told::default();
    let mut ours = target(consumer, "pairs");
    ours.role = Some(roles.owner.clone());
    let mut sink = consumer_sink(&pool, ours, plain());
    open(&mut sink, &mut told).unwrap();
    // By arrays, then by COPY; with a letter, and without rows.
    for (first, len) in [(0, 5), (5, 10), (15, 3000), (3015, 0)] {
        put(&mut sink, numbered(first, len), &mut told).unwrap();
    }
    let seen = "SELECT count(*) || ' ' || bool_and(who = '{owner}') FROM pairs";
    let seen = roles.server.value(&seen.replace("{owner}", &roles.owner));
    assert_eq!(seen.as_deref(), Some("3014 true"));
    let kept = "SELECT next_offset || ' ' || (SELECT count(*) FROM pipeline_kafka.errors) \
                FROM pipeline_kafka.offsets";
    assert_eq!(roles.server.value(kept).as_deref(), Some("3015 1"));
}

#[test]
fn row_level_security_of_the_owner_applies_in_every_way_of_writing() {
    let roles = Roles::new(
        "CREATE TABLE pairs (id bigint PRIMARY KEY, v text); \
         ALTER TABLE pairs ENABLE ROW LEVEL SECURITY; \
         GRANT SELECT, INSERT, UPDATE ON pairs TO {owner}; \
         CREATE POLICY small ON pairs TO {owner} USING (id < 5000) WITH CHECK (id < 5000)",
    );
    let consumer = define(&roles.server, "pairs");
    let pool = roles.pool();
    let mut told = Told::default();
    let mut ours = target(consumer, "pairs");
    ours.role = Some(roles.owner.clone());
    let mut sink = consumer_sink(&pool, ours, plain());
    open(&mut sink, &mut told).unwrap();
    put(&mut sink, numbered(0, 3000), &mut told).unwrap();
    // What a policy refuses is the row, and nothing that a grant would give.
    put(&mut sink, numbered(3000, 2005), &mut told).unwrap();
    let count = "SELECT count(*) || ' ' || (SELECT next_offset FROM pipeline_kafka.offsets) \
                 || ' ' || (SELECT count(*) FROM pipeline_kafka.errors WHERE sqlstate = '42501') \
                 FROM pairs";
    assert_eq!(roles.server.value(count).as_deref(), Some("5000 5005 5"));
}

#[test]
fn a_role_without_rights_is_named_with_what_it_lacks() {
    let roles = Roles::new("CREATE TABLE pairs (id bigint, v text)");
    let consumer = define(&roles.server, "pairs");
    let pool = roles.pool();
    let mut told = Told::default();
    let mut try_as = |role: &str| {
        let mut ours = target(consumer, "pairs");
        ours.role = Some(role.to_owned());
        let mut sink = consumer_sink(&pool, ours, plain());
        let at = open(&mut sink, &mut told).unwrap()[0];
        put(&mut sink, numbered(at, 10), &mut told)
    };
    let error = try_as(&roles.owner).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.message.contains(&format!("the role {} needs INSERT", roles.owner)), "{error}");
    let grant = format!("GRANT INSERT ON \"public\".\"pairs\" TO \"{}\"", roles.owner);
    assert!(error.hint.unwrap().contains(&grant));
    let error = try_as("postgres").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(error.message.contains("may not act as postgres"), "{error}");
    let hint = error.hint.unwrap();
    assert!(hint.contains(&roles.worker) && !hint.contains("GRANT"), "{hint}");
    let error = try_as("nobody at all").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    assert!(
        error.message.contains("nobody at all") && error.message.contains("not exist"),
        "{error}"
    );
    let server = &roles.server;
    server.execute("CREATE SCHEMA hidden; CREATE TABLE hidden.pairs (id bigint)");
    let name = TableName { schema: Some("hidden".to_owned()), name: "pairs".to_owned() };
    let error = pool.relation(Some(&roles.owner), &name).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config, "{error}");
    let grant = format!("GRANT USAGE ON SCHEMA \"hidden\" TO \"{}\"", roles.owner);
    assert_eq!(error.hint.as_deref(), Some(grant.as_str()));
    server.execute(&format!("GRANT INSERT ON pairs TO {}", roles.owner));
    try_as(&roles.owner).unwrap();
    assert_eq!(roles.server.value("SELECT count(*) FROM pairs").as_deref(), Some("10"));
}

#[test]
fn deferred_constraints_are_checked_as_the_owner_and_find_their_row() {
    let roles = Roles::new(
        "SET ROLE {owner}; CREATE TABLE parents (id bigint PRIMARY KEY); \
         INSERT INTO parents SELECT n FROM generate_series(0, 4999) n WHERE n <> 1234; \
         CREATE TABLE pairs (id bigint REFERENCES parents DEFERRABLE INITIALLY DEFERRED, v text); \
         CREATE TABLE seen (who name); \
         CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \
           $$BEGIN INSERT INTO seen VALUES (current_user); RETURN NULL; END$$; \
         CREATE CONSTRAINT TRIGGER note AFTER INSERT ON pairs DEFERRABLE INITIALLY DEFERRED \
           FOR EACH ROW EXECUTE FUNCTION note()",
    );
    let consumer = define(&roles.server, "pairs");
    let pool = roles.pool();
    let mut told = Told::default();
    let mut ours = target(consumer, "pairs");
    ours.role = Some(roles.owner.clone());
    let mut sink = consumer_sink(&pool, ours, plain());
    open(&mut sink, &mut told).unwrap();
    put(&mut sink, numbered(0, 5000), &mut told).unwrap();
    let offsets: Vec<_> = told.reported.iter().map(|(at, r)| (*at, r.sqlstate.clone())).collect();
    assert_eq!(offsets, [(1234, Some("23503".to_owned()))]);
    let stage = roles.server.value("SELECT string_agg(stage, ',') FROM pipeline_kafka.errors");
    assert_eq!(stage.as_deref(), Some("commit"));
    let seen = format!("SELECT count(*) || ' ' || bool_and(who = '{}') FROM seen", roles.owner);
    assert_eq!(roles.server.value(&seen).as_deref(), Some("4999 true"));
    let kept = "SELECT count(*) || ' ' || (SELECT next_offset FROM pipeline_kafka.offsets) \
                FROM pairs";
    assert_eq!(roles.server.value(kept).as_deref(), Some("4999 5000"));
}
