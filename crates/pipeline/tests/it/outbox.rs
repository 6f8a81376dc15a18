//! Messages that leave with the transaction.

use crate::consumers::with_orders;
use crate::psql::{refused, results};
use crate::reports::control;
use std::time::Duration;
use testkit::postgres::Database;

fn messages(database: &Database) -> String {
    results(
        database,
        "SELECT topic, partition, convert_from(key, 'UTF8'), convert_from(value, 'UTF8'), headers \
         FROM pipeline_kafka.outbox ORDER BY id; DELETE FROM pipeline_kafka.outbox",
    )
}

#[test]
fn a_message_is_there_after_the_commit_and_never_for_a_rollback() {
    let database = with_orders();
    let mut control = control(&database);
    control.wait_for_change(Duration::ZERO).unwrap();
    results(&database, "BEGIN; SELECT pipeline_kafka.produce_message('t', 'never'); ROLLBACK");
    assert_eq!(messages(&database), "");
    results(
        &database,
        "SELECT pipeline_kafka.produce_message('t', 'text', 3, 'key', '{\"a\": \"b\"}'); \
         SELECT pipeline_kafka.produce_message('t', NULL, key => 'gone')",
    );
    testkit::eventually(crate::consumers::MINUTE, "told", || {
        control.wait_for_change(Duration::from_secs(1)).unwrap().outbox.then_some(())
    });
    assert_eq!(messages(&database), "t|3|key|text|{\"a\": \"b\"}\nt||gone||");
}

#[test]
fn messages_that_kafka_could_not_take_are_refused() {
    let database = with_orders();
    for (call, code) in [
        ("'a b', 'x'", "22023"),
        ("'t', 'x', -1", "22023"),
        ("'t', 'x', headers => '[]'", "22023"),
        ("'t', 'x', headers => '{\"a\": 1}'", "22023"),
        ("'t', 'x', cluster => 'far'", "42704"),
    ] {
        let said = refused(&database, &format!("SELECT pipeline_kafka.produce_message({call})"));
        assert!(said.contains(code), "{call}: {said}");
    }
}

#[test]
fn rows_become_messages() {
    let database = with_orders();
    let trigger = |arguments: &str| {
        format!(
            "DROP TRIGGER IF EXISTS e ON orders; CREATE TRIGGER e AFTER INSERT OR UPDATE OR DELETE ON orders \
             FOR EACH ROW EXECUTE PROCEDURE pipeline_kafka.emit_tuple({arguments});"
        )
    };
    let changes = "INSERT INTO orders (id, doc) VALUES (1, '{\"a\": [1, null]}'); \
                   UPDATE orders SET total = 1.50; UPDATE orders SET id = 2; DELETE FROM orders";
    results(&database, &format!("{}{changes}", trigger("'o', '-1', 'id'")));
    let row = |id, total: &str| {
        format!("{{\"id\":{id},\"customer\":null,\"total\":{total},\"doc\":{{\"a\": [1, null]}}}}")
    };
    let (first, second, third) = (row(1, "null"), row(1, "1.50"), row(2, "1.50"));
    assert_eq!(
        messages(&database),
        format!("o||1|{first}|\no||1|{second}|\no||1||\no||2|{third}|\no||2||")
    );
    // As pipeline_kafka had it: a topic and a partition.
    results(&database, &format!("{}INSERT INTO orders (id) VALUES (1)", trigger("'o', '4'")));
    assert!(messages(&database).starts_with("o|4||{\"id\":1,"));
    assert!(refused(&database, "DELETE FROM orders").contains("needs a key"));
    for (arguments, code) in
        [("'o', 'x'", "22023"), ("'o', '-1', 'nothing'", "42703"), ("", "22023")]
    {
        let script = format!("{}UPDATE orders SET id = 5", trigger(arguments));
        assert!(refused(&database, &script).contains(code), "{arguments}");
    }
    let statement = "DROP TRIGGER e ON orders; CREATE TRIGGER e AFTER INSERT ON orders \
        FOR EACH STATEMENT EXECUTE FUNCTION pipeline_kafka.emit_tuple('o'); INSERT INTO orders VALUES (9)";
    assert!(refused(&database, statement).contains("39P01"));
}
