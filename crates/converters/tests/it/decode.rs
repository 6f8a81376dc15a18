//! Reading JSON: envelopes known and unknown, records that are broken, large, deep or odd.

use crate::{JSON, batch, converter, json};
use api::Side;
use data::{Batch, Cell, Stage};

const SCHEMA: &str = r#"{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},{"type":"string","optional":true,"field":"note"},{"type":"double","optional":true,"default":1.5,"field":"amount"}],"optional":false,"name":"orders"}"#;

fn envelope(payload: &str) -> String {
    format!("{{\"schema\":{SCHEMA},\"payload\":{payload}}}")
}

fn decode(settings: &[(&str, &str)], values: &[&str]) -> Batch {
    let values: Vec<_> = values.iter().map(|value| Some(value.as_bytes())).collect();
    let mut batch = batch(&values);
    converter(JSON, settings).decode(Side::Value, &mut batch);
    assert_eq!(batch.values.len(), batch.len());
    batch
}

fn plain(values: &[&str]) -> Batch {
    decode(&[("schemas.enable", "false")], values)
}

/// The rows as JSON, `reject` for those that were refused.
fn seen(batch: &Batch) -> Vec<String> {
    let row = |row| match batch.alive.is_alive(row) {
        true => json(&batch.values, row),
        false => "reject".to_owned(),
    };
    (0..batch.len()).map(row).collect()
}

#[test]
fn truncated_envelope_is_rejected_at_every_byte_and_harms_no_neighbour() {
    let whole = envelope(r#"{"id":1,"note":"a\u00e9","amount":-2.5}"#);
    let mut values = Vec::new();
    for cut in 0..whole.len() {
        values.push(whole.as_str());
        values.push(&whole[..cut]);
        assert_eq!(seen(&decode(&[], &[&whole[..cut]])), ["reject"], "{cut}");
    }
    let batch = decode(&[], &values);
    for (row, seen) in seen(&batch).iter().enumerate() {
        let good = r#"{"id":1,"note":"aé","amount":-2.5}"#;
        assert_eq!(seen, if row % 2 == 0 { good } else { "reject" }, "{row}");
    }
    assert_eq!(batch.rejects.len(), whole.len());
    assert_eq!(batch.values.runs().len(), 1, "rejects do not cut a run");
}

#[test]
fn envelopes_of_many_producers_share_one_schema() {
    let payload = r#"{"id":7,"note":"\"payload\":{","amount":0.1}"#;
    let variants = [
        envelope(payload),
        format!(" {{ \"schema\" : {SCHEMA} ,\n\t\"payload\" : {payload} }}\r\n"),
        format!("{{\"payload\":{payload},\"schema\":{SCHEMA}}}"),
        format!("{{\"payload\" : {payload} , \"schema\":{SCHEMA} }} "),
        format!("{{\"sch\\u0065ma\":{SCHEMA},\"pa\\u0079load\":{payload}}}"),
        format!("\u{feff}{}", envelope(payload)),
        envelope(r#"{"amount":1e-1,"id":7.0,"extra":[{}],"note":"\u0022payload\u0022:{"}"#),
        envelope(r#"{ "note" : "x", "id":7 , "note":"\"payload\":{","amount" :0.10 }"#),
    ];
    let values: Vec<&str> = (0..64).map(|i| variants[i * 5 % variants.len()].as_str()).collect();
    let batch = decode(&[], &values);
    for seen in seen(&batch) {
        assert_eq!(seen, payload);
    }
    assert_eq!(batch.values.runs().len(), 1);
}

#[test]
fn repeated_members_of_an_envelope_take_the_last() {
    let good = envelope(r#"{"id":1}"#);
    let schema = format!("{{\"schema\":{SCHEMA},\"payload\":5,\"schema\":{{\"type\":\"int8\"}}}}");
    let payload = format!("{{\"schema\":{SCHEMA},\"payload\":\"x\",\"payload\":{{\"id\":2}}}}");
    let extra = format!("{{\"schema\":{SCHEMA},\"payload\":{{\"id\":3}},\"x\":null}}");
    let batch = decode(&[], &[&good, &schema, &payload, &extra, &good]);
    let row = |id| format!("{{\"id\":{id},\"note\":null,\"amount\":1.5}}");
    assert_eq!(seen(&batch), [row(1), "5".into(), row(2), "reject".into(), row(1)]);
    assert!(batch.rejects[0].message.starts_with("JsonConverter with schemas.enable requires"));
    assert_eq!(batch.values.runs().len(), 3);
}

#[test]
fn known_envelope_does_not_hide_what_follows_the_payload() {
    let good = envelope(r#"{"id":1}"#);
    for tail in ["x", "}", ",", "{}", "1", "\u{a0}"] {
        assert_eq!(seen(&decode(&[], &[&good, &format!("{good}{tail}")]))[1], "reject", "{tail}");
    }
    let last = format!("{{\"payload\":{{\"id\":1}},\"schema\":{SCHEMA}}}");
    let broken = format!("{{\"payload\":{{\"id\":1}} ,,\"schema\":{SCHEMA}}}");
    let spaced = format!("{{\"payload\":{{\"id\":1}} ,\"schema\":{SCHEMA}}}");
    let batch = decode(&[], &[&last, &broken, &spaced, &last]);
    assert_eq!(seen(&batch)[1], "reject");
    assert_eq!(batch.rejects.len(), 1);
}

#[test]
fn rejects_name_stage_class_and_field() {
    let schema = r#"{"type":"struct","fields":[{"field":"n","type":"struct","fields":[{"field":"b","type":"int32"}]}]}"#;
    let value = format!("{{\"schema\":{schema},\"payload\":{{\"n\":{{\"b\":\"x\"}}}}}}");
    let mut batch = batch(&[Some(value.as_bytes())]);
    converter(JSON, &[]).decode(Side::Key, &mut batch);
    let reject = &batch.rejects[0];
    assert_eq!(reject.stage, Stage::KeyConverter);
    assert_eq!(reject.class, JSON);
    assert_eq!(reject.exception, "org.apache.kafka.connect.errors.DataException");
    assert_eq!(reject.column.as_deref(), Some("n.b"));
    assert!(reject.message.contains("INT32") && reject.message.contains("STRING"));
    assert!(!reject.message.contains('x'), "no payload in messages: {}", reject.message);
}

#[test]
fn the_place_in_a_list_is_named_by_its_number() {
    let text = r#"{"schema":{"type":"struct","fields":[{"field":"lines","type":"array","items":
        {"type":"struct","fields":[{"field":"price","type":"int64"}]}}]},
        "payload":{"lines":[{"price":1},{"price":"x"}]}}"#;
    let batch = decode(&[], &[text]);
    let reject = batch.rejects.first().unwrap();
    assert_eq!(reject.column.as_deref(), Some("lines[1].price"));
}

#[test]
fn rows_that_are_dead_already_stay_null() {
    let value = envelope(r#"{"id":1}"#);
    let mut batch = batch(&[Some(value.as_bytes()), Some(b"broken"), None]);
    batch.alive.kill(1);
    converter(JSON, &[]).decode(Side::Value, &mut batch);
    assert!(batch.rejects.is_empty());
    assert_eq!(batch.values.root(1), Cell::Null);
    assert_eq!(batch.values.root(2), Cell::Null);
    assert!(batch.values.schema(2).is_none(), "a tombstone has no schema");
}

#[test]
fn text_without_escapes_is_not_copied() {
    let batch = plain(&[r#"{"a":"abcdefghij","b":"x\ny"}"#]);
    let Cell::Map(span) = batch.values.root(0) else { panic!("no map") };
    let arena = batch.raw.arena().as_ptr_range();
    let copied: Vec<bool> = batch
        .values
        .cells(span)
        .iter()
        .map(|cell| match cell {
            Cell::Text(span) => !arena.contains(&batch.values.bytes(*span).as_ptr()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(copied, [false, false, false, true]);
}

#[test]
fn nesting_of_1000_levels_is_read_and_of_1001_refused() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let object = |levels: usize| format!("{{\"a\":{}}}", nested(levels));
    let batch = plain(&[&nested(1000), &nested(1001), &object(999), &object(1000)]);
    let alive: Vec<bool> = (0..4).map(|row| batch.alive.is_alive(row)).collect();
    assert_eq!(alive, [true, false, true, false]);
    let in_envelope = |levels| format!("{{\"schema\":null,\"payload\":{}}}", nested(levels));
    let extra = |levels| envelope(&format!("{{\"id\":1,\"x\":{}}}", nested(levels)));
    let values = [in_envelope(999), in_envelope(1000), extra(998), extra(999)];
    for _warm in 0..2 {
        let batch = decode(&[], &values.iter().map(String::as_str).collect::<Vec<_>>());
        let alive: Vec<bool> = (0..4).map(|row| batch.alive.is_alive(row)).collect();
        assert_eq!(alive, [true, false, true, false]);
    }
    let open = "[".repeat(1_000_000);
    assert!(plain(&[&open]).rejects[0].message.contains("nesting deeper than 1000"));
    let schema = r#"{"type":"array","items":"#.repeat(300);
    let deep =
        format!("{{\"schema\":{schema}{{\"type\":\"int8\"}}{},\"payload\":[]}}", "}".repeat(300));
    assert!(decode(&[], &[&deep]).rejects[0].message.contains("nested deeper"));
}

#[test]
fn string_of_50_megabytes_is_read_in_place() {
    let long = "é123456789".repeat(50_000_000 / 11);
    let values = [envelope(&format!("{{\"id\":1,\"note\":\"{long}\"}}"))];
    let batch = decode(&[], &[&values[0]]);
    let Cell::Text(span) = batch.values.fields(batch.values.root(0))[1] else { panic!("no text") };
    assert_eq!(span.len as usize, long.len());
    assert!(batch.raw.arena().as_ptr_range().contains(&batch.values.bytes(span).as_ptr()));
}

#[test]
fn schemaless_members_keep_their_digits() {
    let text = r#"{"i":9223372036854775807,"b":9223372036854775808,"f":1.10,"e":-1E+400,"n":null,"t":true,"o":{"x":[1.0]},"l":[]}"#;
    let batch = plain(&[text, text]);
    assert_eq!(seen(&batch), [text, text]);
    let Cell::Map(span) = batch.values.root(1) else { panic!("no map") };
    let values: Vec<Cell> = batch.values.cells(span).iter().skip(1).step_by(2).copied().collect();
    assert!(matches!(values[0], Cell::Int(i64::MAX, data::Width::W64)));
    for number in &values[1..4] {
        assert!(matches!(number, Cell::Number(_)), "{number:?}");
    }
    assert!(matches!(values[6..], [Cell::Json(_), Cell::Json(_)]));
}

#[test]
fn leading_zeros_and_lone_surrogates_leave_strict_json() {
    let batch = plain(&[
        r#"{"a":007,"b":-00.50,"c":[01,"\ud800","\\ud800"],"d":"\udc00"}"#,
        "-007.5",
        "[-01]",
        r#""\ud83d""#,
    ]);
    assert_eq!(
        seen(&batch),
        [
            "{\"a\":7,\"b\":-0.50,\"c\":[1,\"\\ufffd\",\"\\\\ud800\"],\"d\":\"\u{fffd}\"}",
            "-7.5",
            "[-1]",
            "\"\u{fffd}\"",
        ]
    );
}

#[test]
fn repeated_names_take_the_last_value_in_the_first_place() {
    let many: Vec<String> = (0..300).map(|i| format!("\"k{i}\":{i}")).collect();
    let many = many.join(",");
    let batch = plain(&[
        r#"{"a":1,"b":2,"c":3}"#,
        r#"{"a":1,"c":3,"a":4}"#,
        r#"{"c":3,"a":1}"#,
        r#"{"\u0061":1,"a":2}"#,
        r#"{"a":1,"d":0,"a":null,"d":[],"a":5}"#,
        &format!("{{{many},{many},\"k299\":0}}"),
        r#"{"b":1,"b":2}"#,
    ]);
    let seen = seen(&batch);
    assert_eq!(seen[1], r#"{"a":4,"c":3}"#);
    assert_eq!(seen[2], r#"{"c":3,"a":1}"#);
    assert_eq!(seen[3], r#"{"a":2}"#);
    assert_eq!(seen[4], r#"{"a":5,"d":[]}"#);
    assert_eq!(seen[5], format!("{{{}}}", many.replace("299\":299", "299\":0")));
    assert_eq!(seen[6], r#"{"b":2}"#);
}

#[test]
fn maps_with_repeated_keys_take_the_last() {
    let object = r#"{"schema":{"type":"map","keys":{"type":"string"},"values":{"type":"int8"}},"payload":{"a":1,"b":2,"\u0061":3}}"#;
    let pairs = r#"{"schema":{"type":"map","keys":{"type":"int8"},"values":{"type":"int8"}},"payload":[[1,1],[2,2],[1,3]]}"#;
    let list =
        r#"{"schema":{"type":"array","items":{"type":"int8"}},"payload":{"a":1,"b":2,"a":3}}"#;
    let seen = seen(&decode(&[], &[object, pairs, list]));
    assert_eq!(seen, [r#"{"a":3,"b":2}"#, r#"{"1":3,"2":2}"#, "[3,2]"]);
}

#[test]
fn utf16_and_utf32_are_read_with_and_without_mark() {
    let text = envelope(r#"{"id":1,"note":"é😀","amount":2.5}"#);
    let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    let odd = be[..be.len() - 1].to_vec();
    let values = [
        be.clone(),
        le.clone(),
        [&[0xfe, 0xff], &be[..]].concat(),
        [&[0xff, 0xfe], &le[..]].concat(),
        wide.clone(),
        [&[0, 0, 0xfe, 0xff], &wide[..]].concat(),
        odd,
    ];
    let values: Vec<_> = values.iter().map(|value| Some(value.as_slice())).collect();
    let mut batch = batch(&values);
    converter(JSON, &[]).decode(Side::Value, &mut batch);
    let seen = seen(&batch);
    for seen in &seen[..6] {
        assert_eq!(seen, r#"{"id":1,"note":"é😀","amount":2.5}"#);
    }
    assert_eq!(seen[6], "reject");
    assert_eq!(batch.values.runs().len(), 1);
}

#[test]
fn wide_structs_are_read_in_any_order_with_gaps() {
    let field = |i| format!("{{\"field\":\"f{i}\",\"type\":\"int32\",\"optional\":true}}");
    let fields: Vec<String> = (0..200).map(field).collect();
    let schema = format!("{{\"type\":\"struct\",\"fields\":[{}]}}", fields.join(","));
    let value = |order: Vec<usize>| {
        let members: Vec<String> = order.iter().map(|i| format!("\"f{i}\":{i}")).collect();
        format!("{{\"schema\":{schema},\"payload\":{{{}}}}}", members.join(","))
    };
    let values = [
        value((0..200).collect()),
        value((0..200).rev().collect()),
        value((0..200).step_by(3).collect()),
        value((0..200).filter(|i| i % 7 != 0).rev().collect()),
    ];
    let batch = decode(&[], &values.iter().map(String::as_str).collect::<Vec<_>>());
    let present: [fn(usize) -> bool; 4] = [|_| true, |_| true, |i| i % 3 == 0, |i| i % 7 != 0];
    for (row, present) in present.iter().enumerate() {
        for (i, cell) in batch.values.fields(batch.values.root(row)).iter().enumerate() {
            let wanted = if present(i) { Some(i as i64) } else { None };
            let seen = match cell {
                Cell::Int(value, _) => Some(*value),
                _ => None,
            };
            assert_eq!(seen, wanted, "row {row}, field {i}");
        }
    }
}

#[test]
fn small_schema_cache_only_costs_time() {
    let values: Vec<String> = (0..100)
        .map(|i| {
            format!("{{\"schema\":{{\"type\":\"int32\",\"version\":{}}},\"payload\":{i}}}", i % 20)
        })
        .collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    for size in ["-1", "0", "1", "1000"] {
        let batch = decode(&[("schemas.cache.size", size)], &values);
        for (row, seen) in seen(&batch).iter().enumerate() {
            assert_eq!(*seen, row.to_string());
            let version = batch.values.schema(row).unwrap().version();
            assert_eq!(version, Some(row as i32 % 20));
        }
    }
}

#[test]
fn numbers_out_of_range_of_their_type_are_rejected() {
    let value = |kind: &str, payload: &str| {
        format!("{{\"schema\":{{\"type\":\"{kind}\"}},\"payload\":{payload}}}")
    };
    for (kind, good, bad) in [
        ("int8", "-128", "128"),
        ("int16", "32767", "-32769"),
        ("int32", "-2147483648", "2147483648"),
        ("int64", "9223372036854775807", "-9223372036854775809"),
        ("float", "3.4e38", "3.5e38"),
        ("double", "1.7e308", "1.8e308"),
        ("int32", "1E3", "1E-3"),
    ] {
        let batch = decode(&[], &[&value(kind, good), &value(kind, bad)]);
        assert_eq!((batch.alive.is_alive(0), batch.alive.is_alive(1)), (true, false), "{kind}");
    }
}

#[test]
fn limits_are_data_errors_that_say_which() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let ones = |n: usize| "1".repeat(n);
    for (good, bad, says) in [
        (nested(1000), nested(1001), "nesting deeper than 1000"),
        (nested(1000), "{\"a\":".repeat(1_000_000), "nesting deeper than 1000"),
        (ones(1000), ones(1001), "a number of more than 1000 digits"),
    ] {
        for settings in [&[("schemas.enable", "false")][..], &[]] {
            let wrap = |value: &str| match settings {
                [] => format!("{{\"schema\":null,\"payload\":{value}}}"),
                _ => value.to_owned(),
            };
            // An envelope is a level of its own.
            let good = if settings.is_empty() { good.replacen("[]", "", 1) } else { good.clone() };
            let batch = decode(settings, &[&wrap(&good), &wrap(&bad)]);
            assert!(batch.alive.is_alive(0), "{:?}", batch.rejects.first().map(|r| &r.message));
            let reject = batch.rejects.first().unwrap();
            assert_eq!(reject.row, 1);
            assert_eq!(reject.exception, "org.apache.kafka.connect.errors.DataException");
            assert!(reject.message.contains(says), "{}", reject.message);
        }
    }
}

/// What lets transforms compare the names of two records without a look at their bytes. A converter
/// forgets the places with the batch, since another batch has other bytes.
#[test]
fn names_are_where_the_first_record_of_the_batch_has_them() {
    let mut converter = converter(JSON, &[("schemas.enable", "false")]);
    let names = |batch: &Batch, row: usize| match batch.values.root(row) {
        Cell::Map(span) => batch.values.cells(span).iter().step_by(2).copied().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let (one, other) = (r#"{"a":1,"b":2}"#, r#"{"longer":0,"b":2,"a":1}"#);
    // The first time round the names are learnt.
    for (round, first) in [one, other, one, other].into_iter().enumerate() {
        let records = [first, r#"{"b":3,"a":4,"c":5}"#, first, r#"{"\u0061":6,"b":7}"#];
        let mut batch = batch(&records.map(|record| Some(record.as_bytes())));
        converter.decode(Side::Value, &mut batch);
        let read = [first, records[1], first, r#"{"a":6,"b":7}"#];
        assert_eq!(seen(&batch), read);
        assert_eq!(names(&batch, 0) == names(&batch, 2), round >= 2);
    }
}

#[test]
fn maps_of_one_order_are_said_to_be_alike_and_no_others() {
    let mut converter = converter(JSON, &[("schemas.enable", "false")]);
    let (one, other) = (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#);
    let broken = [r#"{"a":1,"b":}"#, r#"{"a":1,"b":2} 3"#];
    let repeated = r#"{"a":1,"b":2,"a":3}"#;
    let unknown = r#"{"a":1,"\u0062":2}"#;
    let cases: [(&[&str], &[usize]); 7] = [
        (&[one, one, other, one, one, one], &[3, 4, 5]),
        (&[one, one, one, broken[0], one, one], &[0, 1, 2]),
        (&[one, one, one, broken[1], one, one], &[0, 1, 2]),
        (&[one, broken[1], one, one, r#"{"a":1}"#, "5", r#"{"a":1,"b":2,"c":3}"#], &[2, 3]),
        (&[one, repeated, one, one, repeated], &[2, 3]),
        (&[unknown, one, one, "null", one, unknown], &[1, 2, 4]),
        (&[one, other, one, other], &[]),
    ];
    for (records, wanted) in cases {
        // The first time round the names are learnt.
        for round in 0..2 {
            let values: Vec<_> = records.iter().map(|record| Some(record.as_bytes())).collect();
            let mut batch = batch(&values);
            converter.decode(Side::Value, &mut batch);
            let alike = batch.values.alike();
            let has = |row: &usize| match batch.values.root(*row) {
                Cell::Map(span) => alike.has(span),
                _ => false,
            };
            let seen: Vec<usize> = (0..records.len()).filter(has).collect();
            assert!(round == 0 || seen == wanted, "{records:?} {seen:?}");
        }
    }
}

#[test]
fn rows_have_the_room_behind_them_that_those_before_were_asked_for() {
    let values = [r#"{"a":1}"#, "5", r#"{"b":{"c":1}}"#, "x"].map(|text| Some(text.as_bytes()));
    let mut converter = converter(JSON, &[("schemas.enable", "false")]);
    for round in 0..3 {
        let mut batch = batch(&values);
        converter.decode(Side::Value, &mut batch);
        let read = [r#"{"a":1}"#, "5", r#"{"b":{"c":1}}"#, "reject"];
        assert_eq!(seen(&batch), read);
        for row in [0, 2] {
            let Cell::Map(span) = batch.values.root(row) else { panic!() };
            let longer = batch.values.extended_here(span, 2);
            assert_eq!(longer.is_some(), round > 0, "{round} {row}");
            assert_eq!(seen(&batch), read);
        }
        batch.values.ask_room(2);
    }
}
