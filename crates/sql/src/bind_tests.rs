//! Binding against a catalogue in memory: plans, evolution, what is left out.

use crate::bind::{BadRows, Binder, Bound, Given, Part};
use crate::database::{DbErrorKind, DbResult};
use crate::plan::Catalog;
use crate::settings::{DatabaseForm, SinkSettings};
use crate::table::{Column, NewColumn, NewTable, Table, TableName};
use crate::write::WriteMode;
use api::Tolerance;
use config::Props;
use data::{
    Batch, Cell, RawBatchBuilder, Schema, SchemaBuilder, TimestampType, TopicPartition, Type, Value,
};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
struct Memory {
    tables: BTreeMap<String, Table>,
    reads: usize,
}

fn column(name: &str) -> Column {
    Column {
        name: name.to_owned(),
        type_name: "text".to_owned(),
        nullable: true,
        has_default: false,
        generated: false,
        json: false,
    }
}

impl Memory {
    fn with(name: &str, columns: &[&str]) -> Memory {
        let mut memory = Memory::default();
        memory.add(name, columns);
        memory
    }

    fn add(&mut self, name: &str, columns: &[&str]) {
        let table = Table {
            name: TableName { schema: None, name: name.to_owned() },
            columns: columns.iter().map(|name| column(name)).collect(),
            unique_keys: vec![vec![0]],
            has_primary_key: true,
            is_view: false,
        };
        self.tables.insert(name.to_owned(), table);
    }
}

impl Catalog for Memory {
    fn table(&mut self, name: &TableName) -> DbResult<Option<Arc<Table>>> {
        self.reads += 1;
        Ok(self.tables.get(&name.name).cloned().map(Arc::new))
    }

    fn forget_tables(&mut self) -> DbResult<()> {
        Ok(())
    }

    fn create_table_sql(&self, table: &NewTable) -> String {
        let columns: Vec<_> =
            table.columns.iter().map(|c| format!("\"{}\" text", c.name)).collect();
        format!("CREATE TABLE \"{}\" ({})", table.name.name, columns.join(", "))
    }

    fn create_table(&mut self, table: &NewTable) -> DbResult<()> {
        let names: Vec<_> = table.columns.iter().map(|c| c.name.as_str()).collect();
        self.add(&table.name.name, &names);
        Ok(())
    }

    fn add_columns(&mut self, table: &Table, columns: &[NewColumn]) -> DbResult<()> {
        let table = self.tables.get_mut(&table.name.name).unwrap();
        table.columns.extend(columns.iter().map(|c| column(&c.name)));
        Ok(())
    }
}

fn binder(pairs: &[(&str, &str)]) -> Binder {
    let mut props: Props = pairs.iter().copied().collect();
    props.insert("connection.url", "postgresql://h/d");
    let settings = SinkSettings::from_props(&props, Tolerance::All, DatabaseForm::POSTGRES);
    Binder::new(Arc::new(settings.unwrap()))
}

/// Schemaless objects of whole numbers; an empty list is a null.
fn objects(rows: &[&[(&str, i64)]]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for offset in 0..rows.len() {
        raw.push(offset as i64, 0, TimestampType::CreateTime, None, Some(b"x"));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(rows.len() as i64)));
    for row in rows {
        let mut cells = Vec::new();
        for (name, value) in *row {
            cells.push(Cell::Text(batch.values.heap.put(name.as_bytes())));
            cells.push(Cell::int(*value));
        }
        let root = match row.is_empty() {
            true => Cell::Null,
            false => Cell::Map(batch.values.alloc_from(&cells)),
        };
        batch.keys.push(None, Cell::int(1));
        batch.values.push(None, root);
    }
    batch
}

fn structs(schema: &Arc<Schema>, rows: &[Value]) -> Batch {
    let mut raw = RawBatchBuilder::new(TopicPartition::new("t", 0));
    for offset in 0..rows.len() {
        raw.push(offset as i64, 0, TimestampType::CreateTime, None, Some(b"x"));
    }
    let mut batch = Batch::new(Arc::new(raw.finish(rows.len() as i64)));
    for row in rows {
        batch.keys.push(None, Cell::Null);
        let root = batch.values.put_value(None, row);
        batch.values.push(Some(schema), root);
    }
    batch
}

fn text_schema(names: &[&str]) -> Arc<Schema> {
    let text = Arc::new(SchemaBuilder::new(Type::String).optional().build().unwrap());
    let builder = SchemaBuilder::structure();
    let builder = names.iter().fold(builder, |b, name| b.field(name, text.clone()));
    Arc::new(builder.build().unwrap())
}

fn bind(binder: &mut Binder, memory: &mut Memory, batch: &Batch) -> DbResult<Bound> {
    let rows = 0..batch.len() as u32;
    let part = Part { batch: 0, rows, from: 0, to: batch.next_offset() };
    let batches = std::slice::from_ref(batch);
    binder.bind(Given { batches, events: &[], bad: &BadRows::new() }, &[part], memory)
}

fn sizes(bound: &Bound) -> Vec<(WriteMode, usize, usize)> {
    let each = bound.writes.iter();
    each.map(|w| (w.plan.mode, w.plan.columns.len(), w.rows.len())).collect()
}

#[test]
fn rows_are_grouped_by_the_columns_they_fill() {
    let (mut binder, mut memory) = (binder(&[]), Memory::with("t", &["a", "b"]));
    let batch = objects(&[
        &[("a", 1), ("b", 2)],
        &[("b", 2), ("a", 1)],
        &[("a", 1)],
        &[("a", 1), ("x", 3)],
        &[("x", 3)],
    ]);
    let bound = bind(&mut binder, &mut memory, &batch).unwrap();
    let mut found = sizes(&bound);
    found.sort_by_key(|(_, columns, _)| *columns);
    assert_eq!(found, [(WriteMode::Insert, 1, 2), (WriteMode::Insert, 2, 2)]);
    assert_eq!(bound.rejects.len(), 1);
    assert!(bound.rejects[0].reject.message.contains("no member of the record"));
    assert_eq!(bound.ignored, [("field x of topic t, which has no column".to_owned(), 1)]);
}

#[test]
fn plans_are_made_once() {
    let (mut binder, mut memory) = (binder(&[]), Memory::with("t", &["a", "b"]));
    let mut ids = Vec::new();
    for _ in 0..3 {
        // Each batch comes with a schema of its own, equal to the others.
        let row = Value::fields(vec![Value::Text("1".to_owned()), Value::Null]);
        let batch = structs(&text_schema(&["a", "b"]), &[row]);
        let bound = bind(&mut binder, &mut memory, &batch).unwrap();
        ids.extend(bound.writes.iter().map(|w| w.plan.id));
    }
    ids.dedup();
    assert_eq!((ids.len(), memory.reads), (1, 1));
}

#[test]
fn a_missing_column_is_looked_for_again_and_then_added_or_told() {
    let row = Value::fields(vec![Value::Null, Value::Null]);
    let batch = structs(&text_schema(&["a", "b"]), &[row]);
    let mut memory = Memory::with("t", &["a"]);
    let mut strict = binder(&[]);
    for _ in 0..2 {
        let bound = bind(&mut strict, &mut memory, &batch).unwrap();
        let [reject] = bound.rejects.as_slice() else { panic!("{bound:?}") };
        let text = &reject.reject.message;
        assert!(text.ends_with("ALTER TABLE t ADD COLUMN \"b\" text"), "{text}");
    }
    memory.add("t", &["a", "b"]);
    let bound = bind(&mut strict, &mut memory, &batch).unwrap();
    assert_eq!((bound.rejects.len(), sizes(&bound).len()), (0, 1), "someone added it");
    let mut memory = Memory::with("t", &["a"]);
    let mut evolving = binder(&[("auto.evolve", "true")]);
    let bound = bind(&mut evolving, &mut memory, &batch).unwrap();
    assert_eq!(sizes(&bound), [(WriteMode::Insert, 2, 1)]);
    assert_eq!(memory.tables["t"].columns.len(), 2);
}

#[test]
fn a_missing_table_is_created_or_its_statement_told() {
    let batch = structs(&text_schema(&["a"]), &[Value::fields(vec![Value::Null])]);
    let mut memory = Memory::default();
    let error = bind(&mut binder(&[]), &mut memory, &batch).unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Config);
    assert!(error.hint.unwrap().ends_with("CREATE TABLE \"t\" (\"a\" text)"));
    let mut creating = binder(&[("auto.create", "true")]);
    let bound = bind(&mut creating, &mut memory, &batch).unwrap();
    assert_eq!(sizes(&bound), [(WriteMode::Insert, 1, 1)]);
    let error = bind(&mut creating, &mut Memory::default(), &objects(&[&[("a", 1)]]));
    creating.planner.forget();
    assert!(error.is_ok(), "the table is known");
    let error = bind(&mut creating, &mut Memory::default(), &objects(&[&[("a", 1)]])).unwrap_err();
    assert!(error.message.contains("without a schema"), "{}", error.message);
}

#[test]
fn a_view_needs_to_be_allowed() {
    let mut memory = Memory::with("t", &["a"]);
    memory.tables.get_mut("t").unwrap().is_view = true;
    let batch = objects(&[&[("a", 1)]]);
    let error = bind(&mut binder(&[]), &mut memory, &batch).unwrap_err();
    assert!(error.message.contains("is a view"), "{}", error.message);
    let mut views = binder(&[("table.types", "TABLE,VIEW")]);
    assert_eq!(sizes(&bind(&mut views, &mut memory, &batch).unwrap()).len(), 1);
}

#[test]
fn a_key_that_is_null_is_told_for_its_row() {
    let mut memory = Memory::with("t", &["id", "v"]);
    let mut upserts =
        binder(&[("insert.mode", "upsert"), ("pk.mode", "record_value"), ("pk.fields", "id")]);
    let schema = text_schema(&["id", "v"]);
    let text = |t: &str| Value::Text(t.to_owned());
    let rows = [
        Value::fields(vec![text("b"), text("1")]),
        Value::fields(vec![Value::Null, text("2")]),
        Value::fields(vec![text("a"), text("3")]),
    ];
    let bound = bind(&mut upserts, &mut memory, &structs(&schema, &rows)).unwrap();
    let [write] = bound.writes.as_slice() else { panic!("{bound:?}") };
    let order: Vec<u32> = write.rows.iter().map(|r| r.row).collect();
    assert_eq!(order, [2, 0], "sorted by key");
    assert_eq!((bound.rejects.len(), bound.rejects[0].reject.row), (1, 1));
}

#[test]
fn updates_without_a_column_to_change_do_nothing() {
    let mut memory = Memory::with("t", &["id", "v"]);
    let mut updates =
        binder(&[("insert.mode", "update"), ("pk.mode", "record_value"), ("pk.fields", "id")]);
    let batch = objects(&[&[("id", 1)], &[("id", 2), ("v", 3)]]);
    let bound = bind(&mut updates, &mut memory, &batch).unwrap();
    assert_eq!(sizes(&bound), [(WriteMode::Update, 2, 1)]);
    assert!(bound.ignored.iter().any(|(what, n)| what.contains("updates without") && *n == 1));
}

/// Structs without a name that are change events.
fn events(rows: &[(&str, Option<i64>)]) -> Batch {
    let number = Arc::new(Schema::new(Type::Int64));
    let row = SchemaBuilder::structure().field("id", number).optional().build().unwrap();
    let text = Arc::new(Schema::new(Type::String));
    let schema = SchemaBuilder::structure()
        .field("op", text.clone())
        .field("after", Arc::new(row))
        .field("source", text);
    let text = |t: &str| Value::Text(t.to_owned());
    let after = |id: &Option<i64>| id.map_or(Value::Null, |id| Value::fields(vec![Value::int(id)]));
    let values: Vec<_> =
        rows.iter().map(|(op, id)| Value::fields(vec![text(op), after(id), text("s")])).collect();
    structs(&Arc::new(schema.build().unwrap()), &values)
}

#[test]
fn an_emptied_table_keeps_what_comes_behind() {
    for (mode, kept) in [("upsert", 2), ("insert", 3)] {
        let mut binder = binder(&[
            ("insert.mode", mode),
            ("pk.mode", "record_value"),
            ("pk.fields", "id"),
            ("change.events", "any"),
            ("truncate.enabled", "true"),
        ]);
        let rows = [
            ("c", Some(1)),
            ("c", Some(2)),
            ("t", None),
            ("c", Some(1)),
            ("u", Some(1)),
            ("c", Some(3)),
        ];
        let mut batch = events(&rows);
        let events = [crate::envelope::open(&mut batch, crate::config::ChangeEvents::Any)];
        let mut memory = Memory::with("t", &["id"]);
        let part = Part { batch: 0, rows: 0..6, from: 0, to: 6 };
        let batches = std::slice::from_ref(&batch);
        let given = Given { batches, events: &events, bad: &BadRows::new() };
        let bound = binder.bind(given, &[part], &mut memory).unwrap();
        assert_eq!(bound.truncates.len(), 1);
        let rows: Vec<_> = bound.writes.iter().flat_map(|w| &w.rows).map(|r| r.row).collect();
        assert_eq!(rows.len(), kept, "{mode}");
        assert!(rows.iter().all(|row| *row > 2), "{mode}: {rows:?}");
        assert_eq!((bound.rows, bound.rejects.len()), (6, 0));
    }
}

#[test]
fn debezium_placeholders_are_no_values() {
    let options = [("insert.mode", "upsert"), ("pk.mode", "record_value"), ("pk.fields", "id")];
    let mut memory = Memory::with("t", &["id", "a", "doc"]);
    let text = |text: &str| Value::Text(text.to_owned());
    let absent = || text("__debezium_unavailable_value");
    let rows = [
        Value::fields(vec![text("1"), text("x"), text("large")]),
        Value::fields(vec![text("2"), text("x"), absent()]),
        Value::fields(vec![text("3"), absent(), absent()]),
        Value::fields(vec![absent(), text("x"), text("y")]),
    ];
    let batch = structs(&text_schema(&["id", "a", "doc"]), &rows);
    for (which, expect) in [("named", &[(1, 1), (2, 1), (3, 2)][..]), ("off", &[(3, 4)])] {
        let mut all = options.to_vec();
        all.push(("change.events", which));
        let mut binder = binder(&all);
        for _ in 0..2 {
            let bound = bind(&mut binder, &mut memory, &batch).unwrap();
            let mut found: Vec<_> =
                sizes(&bound).iter().map(|(_, columns, rows)| (*columns, *rows)).collect();
            found.sort_unstable();
            assert_eq!(found, expect, "{which}");
        }
    }
    let only = structs(&text_schema(&["a"]), &[Value::fields(vec![absent()])]);
    let bound = bind(&mut binder(&[]), &mut memory, &only).unwrap();
    assert!(bound.rejects[0].reject.message.contains("placeholders"), "{bound:?}");
}

#[test]
fn a_column_that_someone_adds_for_a_member_is_found_before_long() {
    let (mut binder, mut memory) = (binder(&[]), Memory::with("t", &["a"]));
    let batch = objects(&[&[("a", 1), ("b", 2)]]);
    for _ in 0..3 {
        assert_eq!(bind(&mut binder, &mut memory, &batch).unwrap().ignored.len(), 1);
    }
    assert_eq!(memory.reads, 1, "not for every transaction");
    binder.planner.recheck = std::time::Duration::ZERO;
    assert_eq!(bind(&mut binder, &mut memory, &batch).unwrap().ignored.len(), 1);
    memory.add("t", &["a", "b"]);
    let bound = bind(&mut binder, &mut memory, &batch).unwrap();
    assert_eq!((sizes(&bound), bound.ignored.len()), (vec![(WriteMode::Insert, 2, 1)], 0));
    let reads = memory.reads;
    bind(&mut binder, &mut memory, &batch).unwrap();
    assert_eq!(memory.reads, reads, "nothing is missing any more");
}

#[test]
fn records_that_transforms_send_elsewhere_go_to_the_tables_of_their_topics() {
    let (mut binder, mut memory) = (binder(&[]), Memory::with("t", &["a"]));
    memory.add("u", &["a"]);
    let mut batch = objects(&[&[("a", 1)], &[("a", 2)], &[("a", 3)], &[("a", 4)]]);
    batch.set_topic(1, "u");
    batch.set_topic(3, "u");
    let bound = bind(&mut binder, &mut memory, &batch).unwrap();
    let rows_of = |name: &str| -> Vec<u32> {
        let of_table = bound.writes.iter().filter(|w| w.plan.table.name.name == name);
        of_table.flat_map(|w| w.rows.iter().map(|row| row.row)).collect()
    };
    assert_eq!((rows_of("t"), rows_of("u")), (vec![0, 2], vec![1, 3]));
    assert_eq!(bound.rows, 4);
    // A topic without a table is told as one whose records come from it.
    batch.set_topic(0, "none");
    let error = bind(&mut binder, &mut memory, &batch).unwrap_err();
    assert!(error.message.contains("none"), "{error:?}");
}

#[test]
fn coordinates_are_the_new_topic_with_the_old_partition_and_offset() {
    let kafka = [("pk.mode", "kafka"), ("auto.evolve", "true"), ("insert.mode", "upsert")];
    let mut binder = binder(&kafka);
    let columns = ["__connect_topic", "__connect_partition", "__connect_offset", "a"];
    let mut memory = Memory::with("u", &columns);
    memory.tables.get_mut("u").unwrap().unique_keys = vec![vec![0, 1, 2]];
    let mut batch = objects(&[&[("a", 1)], &[("a", 2)]]);
    batch.set_topic(0, "u");
    batch.set_topic(1, "u");
    batch.set_partition(1, Some(9));
    let bound = bind(&mut binder, &mut memory, &batch).unwrap();
    let [write] = bound.writes.as_slice() else { panic!("{bound:?}") };
    let [Cell::Text(topic), Cell::Int(0, _), Cell::Int(0, _), _, Cell::Int(0, _), Cell::Int(1, _)] =
        write.extras.as_slice()
    else {
        panic!("{:?}", write.extras)
    };
    assert_eq!(write.extra_rows.text(*topic), "u");
    // Records of another topic would get the same keys.
    let mut raw = RawBatchBuilder::new(TopicPartition::new("v", 0));
    raw.push(0, 0, TimestampType::CreateTime, None, Some(b"x"));
    let mut other = Batch::new(Arc::new(raw.finish(1)));
    other.keys.push(None, Cell::Null);
    other.values = objects(&[&[("a", 1)]]).values;
    other.set_topic(0, "u");
    let error = bind(&mut binder, &mut memory, &other).unwrap_err();
    assert_eq!(error.kind, DbErrorKind::Config);
    assert!(error.message.contains("topics t and v to u"), "{error:?}");
}
