//! The connector as the runtime drives it.

use super::*;
use api::{PollLimits, SourceBatch, StoredOffsets, Tolerance};
use data::write_json;

struct At(Option<SourceMap>);

impl StoredOffsets for At {
    fn offset(&self, _: &SourceMap) -> Result<Option<SourceMap>> {
        Ok(self.0.clone())
    }
}

const LIMITS: PollLimits = PollLimits { rows_max: 10_000, bytes_max: 1 << 20 };

fn task(pairs: &[(&str, &str)], number: u32, tasks: u32) -> Box<dyn SourceTask> {
    let mut props: Props = pairs.iter().copied().collect();
    for (key, value) in [("connector.class", "datagen"), ("topic", "t"), ("rate", "0")] {
        if !props.contains(key) {
            props.insert(key, value);
        }
    }
    assert_eq!(Datagen.validate(&props), []);
    let context = TaskContext {
        connector: "c".to_owned(),
        task: number,
        cluster_id: String::new(),
        group_id: String::new(),
        tolerance: Tolerance::None,
    };
    let configs = Datagen.task_configs(&props, tasks).unwrap();
    let mut task = Datagen.task(&context, &configs[number as usize]).unwrap();
    task.start(&At(None)).unwrap();
    task
}

/// Key and value of every record as JSON.
fn texts(batches: &[SourceBatch]) -> Vec<(String, String)> {
    let text = |rows: &data::Rows, row| {
        let mut out = Vec::new();
        write_json(rows, rows.schema(row).map(AsRef::as_ref), rows.root(row), &mut out);
        String::from_utf8(out).unwrap()
    };
    let of = |batch: &SourceBatch| {
        let records = &batch.records;
        let pair = |row| (text(&records.keys, row), text(&records.values, row));
        (0..records.len()).map(pair).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// Everything a task gives, and where it stands.
fn all(task: &mut dyn SourceTask) -> (Vec<(String, String)>, Option<SourceMap>) {
    let mut records = Vec::new();
    let mut offset = None;
    loop {
        let polled = task.poll(&LIMITS).unwrap();
        let Some(last) = polled.batches.last() else { return (records, offset) };
        offset = last.offsets.after(last.records.len() - 1);
        records.extend(texts(&polled.batches));
    }
}

#[test]
fn a_restart_goes_on_with_the_record_that_would_have_come() {
    let props = [("count", "5000"), ("shape", "orders")];
    let (whole, end) = all(task(&props, 0, 1).as_mut());
    assert_eq!(whole.len(), 5_000);
    assert_eq!(end, Some(SourceMap::from_iter([("index".to_owned(), 5_000.into())])));
    let mut again = task(&props, 0, 1);
    again.start(&At(Some(SourceMap::from_iter([("index".to_owned(), 4_321.into())])))).unwrap();
    assert_eq!(all(again.as_mut()).0, whole[4_321..]);
    assert_eq!(again.notice().as_deref(), Some("count: all 5000 records have been given"));
    assert!(whole[0].1.starts_with("{\"order_id\":1,"), "{:?}", whole[0]);
    assert_eq!(whole[0].0, "1");
}

#[test]
fn tasks_share_the_records() {
    let props = [("count", "101"), ("shape", "users")];
    let whole = all(task(&props, 0, 1).as_mut()).0;
    let mut parts: Vec<_> = (0..3).map(|n| all(task(&props, n, 3).as_mut()).0.into_iter()).collect();
    let mut joined = Vec::new();
    for index in 0..101 {
        joined.extend(parts[index % 3].next());
    }
    assert_eq!(joined, whole);
    assert!(parts.iter_mut().all(|part| part.next().is_none()));
}

#[test]
fn another_seed_gives_other_records_and_a_template_its_own() {
    let of = |seed| all(task(&[("count", "3"), ("seed", seed), ("shape", "clicks")], 0, 1).as_mut()).0;
    assert_eq!(of("7"), of("7"));
    assert_ne!(of("7"), of("8"));
    let template = ("template", r#"{"a": "${sequence}", "b": "x"}"#);
    for schema in ["true", "false"] {
        let seen = all(task(&[("count", "2"), template, ("schema.enable", schema)], 0, 1).as_mut()).0;
        let pair = |value: &str| ("null".to_owned(), value.to_owned());
        assert_eq!(seen, [pair(r#"{"a":0,"b":"x"}"#), pair(r#"{"a":1,"b":"x"}"#)]);
    }
    let keyed = all(task(&[("count", "1"), template, ("key.field", "b")], 0, 1).as_mut()).0;
    assert_eq!(keyed[0].0, "\"x\"");
}

#[test]
fn a_share_of_the_records_is_poison_and_the_others_stay_the_same() {
    let clean = all(task(&[("count", "2000")], 0, 1).as_mut()).0;
    for schema in ["true", "false"] {
        let props = [("count", "2000"), ("poison.share", "0.1"), ("schema.enable", schema)];
        let seen = all(task(&props, 0, 1).as_mut()).0;
        let (mut texts, mut fields) = (0, 0);
        for (index, (seen, clean)) in seen.iter().zip(&clean).enumerate() {
            assert_eq!(seen.0, clean.0, "keys are right");
            let poison = format!("\"poison {index}\"");
            if seen.1 == poison {
                texts += 1;
            } else if seen.1.contains(&format!("\"customer_id\":{poison}")) {
                fields += 1;
            } else if schema == "true" {
                assert_eq!(seen, clean);
            }
        }
        assert!(texts > 60 && fields > 60 && texts + fields < 260, "{texts} {fields}");
    }
}

#[test]
fn a_rate_is_kept_and_says_when_to_ask_again() {
    let mut slow = task(&[("rate", "0.001")], 0, 1);
    let polled = slow.poll(&LIMITS).unwrap();
    assert!(polled.batches.is_empty());
    assert_eq!(polled.idle, Some(std::time::Duration::from_secs(1)));
}

#[test]
fn what_cannot_be_is_refused_with_its_key() {
    let confluent = "io.confluent.kafka.connect.datagen.DatagenConnector";
    for (pairs, key, wanted) in [
        (&[("topic", "t"), ("template", "{")][..], "template", "no JSON"),
        (&[("topic", "t"), ("key.field", "nix")], "key.field", "they have order_id, "),
        (&[("topic", "t"), ("rate", "-1")], "rate", ""),
        (&[("topic", "t"), ("poison.share", "2")], "poison.share", ""),
        (&[("shape", "users")], "topic", ""),
        (
            &[("connector.class", confluent), ("kafka.topic", "t"), ("quickstart", "credit_cards")],
            "quickstart",
            "there are orders, users, pageviews",
        ),
        (
            &[("connector.class", confluent), ("kafka.topic", "t"), ("schema.string", "{}")],
            "schema.string",
            "template",
        ),
    ] {
        let errors = Datagen.validate(&pairs.iter().copied().collect());
        let [error] = errors.as_slice() else { panic!("{pairs:?}: {errors:?}") };
        assert_eq!(error.key, key, "{pairs:?}");
        assert!(error.message.contains(wanted), "{pairs:?}: {}", error.message);
    }
}

#[test]
fn confluents_keys_are_taken() {
    let props = [
        ("connector.class", "io.confluent.kafka.connect.datagen.DatagenConnector"),
        ("kafka.topic", "views"),
        ("quickstart", "PAGEVIEWS"),
        ("max.interval", "0"),
        ("iterations", "3"),
    ];
    let mut task = task(&props, 0, 1);
    let polled = task.poll(&LIMITS).unwrap();
    assert_eq!(&**polled.batches[0].records.topic(0), "views");
    let seen = texts(&polled.batches);
    let keys: Vec<&str> = seen.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["1", "11", "21"]);
}

#[test]
fn only_offsets_of_the_tasks_own_records_are_taken() {
    let map = |text: &str| serde_json::from_str::<SourceMap>(text).unwrap();
    let partition = map(r#"{"connector": "c", "task": 1, "tasks": 3}"#);
    let check = |offset: Option<&str>| {
        Datagen.check_offsets(&Props::new(), &[(partition.clone(), offset.map(map))])
    };
    assert!(check(None).is_ok() && check(Some(r#"{"index": 7}"#)).is_ok());
    for bad in [r#"{"index": 6}"#, r#"{"index": -2}"#, r#"{"index": "7"}"#, "{}"] {
        assert!(check(Some(bad)).is_err(), "{bad}");
    }
}
