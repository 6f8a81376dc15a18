//! The dialect, case by case; what Java says to each was asked of it.

use super::*;

fn pattern(text: &str) -> DatePattern {
    DatePattern::new(text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn in_zone(text: &str, zone: &str) -> DatePattern {
    DatePattern::with_zone(text, DateZone::named(zone).unwrap()).unwrap()
}

fn formatted(pattern: &DatePattern, epoch_ms: i64) -> String {
    let mut out = String::new();
    pattern.format(epoch_ms, &mut out);
    out
}

fn parsed(text: &str, date: &str) -> Option<i64> {
    pattern(text).parse(date).ok().map(|found| found.epoch_ms)
}

#[test]
fn faults_have_javas_words() {
    for (text, fault) in [
        ("yyyy-MM-ddb", "Illegal pattern character 'b'"),
        ("Q", "Illegal pattern character 'Q'"),
        ("yyyy'T", "Unterminated quote"),
        ("XXXX", "invalid ISO 8601 format: length=4"),
    ] {
        assert_eq!(DatePattern::new(text).unwrap_err(), fault);
    }
    assert_eq!(pattern("yyyy").parse("x").unwrap_err(), "Unparseable date: \"x\"");
    assert_eq!(pattern("").parse("x").unwrap_err(), "Unparseable date: \"x\"");
}

#[test]
fn every_letter_is_written() {
    for (text, written) in [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-02-29T12:34:56.007Z"),
        ("EEE, d MMM yyyy HH:mm:ss z", "Thu, 29 Feb 2024 12:34:56 UTC"),
        ("yy/M/d h:mm a", "24/2/29 12:34 PM"),
        ("YY-ww W D u F", "24-09 5 60 4 5"),
        ("kk:mm K:ss", "12:34 0:56"),
        ("G yyyyy MMMM L EEEE", "AD 02024 February 2 Thursday"),
        ("HH 'o''clock' yyyy''MM", "12 o'clock 2024'02"),
        ("zzzz Z X XX X\u{58}X", "Coordinated Universal Time +0000 Z Z Z"),
        ("S SS SSS é ddd", "7 07 007 é 029"),
        ("", ""),
    ] {
        assert_eq!(formatted(&pattern(text), 1_709_210_096_007), written, "{text}");
    }
}

#[test]
fn far_dates_are_those_of_java() {
    let text = pattern("yyyy-MM-dd G HH:mm:ss.SSS");
    for (epoch_ms, written) in [
        (-12_219_292_800_000, "1582-10-15 AD 00:00:00.000"),
        (-12_219_292_800_001, "1582-10-04 AD 23:59:59.999"),
        (-62_135_769_600_000, "0001-01-01 AD 00:00:00.000"),
        (-62_135_769_600_001, "0001-12-31 BC 23:59:59.999"),
        (i64::MAX, "292278994-08-17 AD 07:12:55.807"),
        (i64::MIN, "292269055-12-02 BC 16:47:04.192"),
    ] {
        assert_eq!(formatted(&text, epoch_ms), written);
        assert_eq!(text.parse(written).unwrap().epoch_ms, epoch_ms);
    }
    let weeks = pattern("YYYY yyyy G ww W D F");
    for (epoch_ms, written) in [
        (-62_135_769_600_001, "0001 0001 BC 01 5 366 5"),
        (-62_170_329_600_000, "-0001 0002 BC 48 5 332 4"),
        (-12_219_292_800_000, "1582 1582 AD 40 1 278 1"),
        (-12_212_640_000_000, "1583 1582 AD 01 5 355 5"),
        (-12_212_380_800_000, "1583 1583 AD 02 2 3 1"),
    ] {
        assert_eq!(formatted(&weeks, epoch_ms), written);
    }
}

#[test]
fn parsing_is_lenient() {
    for (text, date, epoch_ms) in [
        ("yyyy-MM-dd", "2024-2-3", 1_706_918_400_000),
        ("yyyy-MM-dd", "2024-02-30", 1_709_251_200_000),
        ("yyyy-MM-dd", " 2024-02-03 and more", 1_706_918_400_000),
        ("yyyy-MM-dd", "24-02-03", -61_407_158_400_000),
        ("yyyyMMdd", "20240203", 1_706_918_400_000),
        ("yyyyMMM", "12024Feb", 317_276_265_600_000),
        ("yyyyMMddHHmmssSSS", "20240203040506007", 1_706_933_106_007),
        ("HH:mm:ss.SSS", "12:34:56.7", 45_296_007),
        ("yyyy-MM-dd HH:mm", "2024-02-03 25:61", 1_707_012_060_000),
        ("h:mm a", "13:05 PM", 90_300_000),
        ("EEE MMM dd yyyy", "mon FEBRUARY 03 2024", 1_706_918_400_000),
        ("yyyy D", "2024 60", 1_709_164_800_000),
        ("Y w u", "2024 5 9", 1_707_177_600_000),
        ("YYYY G", "5 BC", -62_294_140_800_000),
        ("yyyy", "-5", -62_325_158_400_000),
        ("y", "4294967297", -62_135_769_600_000),
        ("H", "1E1", 36_000_000),
        ("yyyy G", "2024 Anno Domini", 1_704_067_200_000),
    ] {
        assert_eq!(parsed(text, date), Some(epoch_ms), "{text} {date}");
    }
    for (text, date) in [
        ("yyyyMMdd", "202402"),
        ("yyyy-MM-dd", "2024-02"),
        ("yyyy MMM", "2024  Feb"),
        ("yyyy-MM-dd", "2024/02/03"),
        ("H", "+5"),
        ("H", ""),
    ] {
        assert_eq!(parsed(text, date), None, "{text} {date}");
    }
}

#[test]
fn offsets_and_names_of_zones_are_read() {
    let at = |text: &str, zone: &str| parsed(text, &format!("2024-02-03 04:05:06 {zone}"));
    for (letter, zone, hours) in [
        ("X\u{58}X", "+02:00", 2),
        ("X", "+02", 2),
        ("X", "Z", 0),
        ("Z", "-0300", -3),
        ("z", "GMT+5:00", 5),
        ("z", "gmt", 0),
        ("z", "EST", -5),
        ("z", "pacific standard time", -8),
        ("Z", "CEST", 2),
    ] {
        let text = format!("yyyy-MM-dd HH:mm:ss {letter}");
        assert_eq!(at(&text, zone), Some(1_706_933_106_000 - hours * 3_600_000), "{zone}");
    }
    for (letter, zone) in [("X\u{58}X", "+0200"), ("X", "z"), ("Z", "+5:30"), ("z", "XYZ")] {
        assert_eq!(at(&format!("yyyy-MM-dd HH:mm:ss {letter}"), zone), None, "{zone}");
    }
    // The name holds for this text alone.
    let text = pattern("yyyy-MM-dd HH:mm:ss z");
    assert_eq!(text.parse("1970-01-01 00:00:00 EST").unwrap().epoch_ms, 18_000_000);
    assert_eq!(text.parse("1970-01-01 00:00:00 UTC").unwrap().epoch_ms, 0);
}

#[test]
fn zones_have_their_rules() {
    let text = "yyyy-MM-dd HH:mm:ss Z z zzzz";
    let paris = in_zone(text, "Europe/Paris");
    for (epoch_ms, written) in [
        (1_720_000_000_123, "2024-07-03 11:46:40 +0200 CEST Central European Summer Time"),
        (0, "1970-01-01 01:00:00 +0100 CET Central European Standard Time"),
        (-62_135_769_600_000, "0001-01-01 01:00:00 +0100 CET Central European Standard Time"),
    ] {
        assert_eq!(formatted(&paris, epoch_ms), written);
    }
    assert_eq!(formatted(&in_zone("HH:mm z X\u{58}X", "GMT+05:30"), 0), "05:30 GMT+05:30 +05:30");
    // 02:30 was skipped, 01:30 came twice: the second one counts.
    let york = in_zone("yyyy-MM-dd HH:mm", "America/New_York");
    assert_eq!(york.parse("2024-03-10 02:30").unwrap().epoch_ms, 1_710_055_800_000);
    assert_eq!(york.parse("2024-11-03 01:30").unwrap().epoch_ms, 1_730_615_400_000);
    assert!(DateZone::named("Nowhere/Land").is_none());
}

#[test]
fn two_digit_years_lie_around_now() {
    let mut text = pattern("yy-MM-dd");
    text.set_century(1_709_210_096_007);
    for (date, epoch_ms) in [
        ("24-02-03", 1_706_918_400_000),
        ("70-02-03", 2_851_200_000),
        ("2024-02-03", 1_706_918_400_000),
        // 1944-02-29 12:34:56.007 is 80 years before: the day before that is in 2044.
        ("44-02-28", 2_340_230_400_000),
        ("44-03-01", -815_356_800_000),
    ] {
        assert_eq!(text.parse(date).unwrap().epoch_ms, epoch_ms, "{date}");
    }
}

/// B036: Java cuts to milliseconds, and pads them on the left.
#[test]
fn more_than_three_s_are_a_fraction_of_a_second() {
    let text = pattern("yyyy-MM-dd HH:mm:ss.SSSSSS");
    let mut out = String::new();
    text.format_micros(1_731_508_712_229_224, &mut out);
    assert_eq!(out, "2024-11-13 14:38:32.229224");
    out.clear();
    text.format_micros(-1, &mut out);
    assert_eq!(out, "1969-12-31 23:59:59.999999");
    assert_eq!(formatted(&pattern("SSSSSS SSSSSSSSSSS"), 7), "007000 00700000000");
    out.clear();
    pattern("SSSSSSSSS").format_nanos(-1, 999_999, &mut out);
    assert_eq!(out, "999999999");
    let date = text.parse("2025-08-28 15:01:00.123456").unwrap();
    assert_eq!(date, ParsedDate { epoch_ms: 1_756_393_260_123, nanos: 456_000 });
    let date = pattern("HH:mm:ss.SSSSSS").parse("00:00:01.5").unwrap();
    assert_eq!(date, ParsedDate { epoch_ms: 1_500, nanos: 0 });
}

proptest::proptest! {
    /// What is written is read again.
    #[test]
    fn round_trip(epoch_ms: i64) {
        for text in [
            "G yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
            "YYYY-ww-u G HH:mm:ss.SSS",
            "G yyyyDDD HH:mm:ss.SSS",
            "G d MMMM yyyy EEE K:mm:ss,S a zzzz",
        ] {
            let near = epoch_ms % 60_000_000_000_000;
            let text = pattern(text);
            let written = formatted(&text, near);
            proptest::prop_assert_eq!(text.parse(&written).map(|date| date.epoch_ms), Ok(near));
        }
    }

    /// Any text is a pattern or a fault, and reads any text or refuses it.
    #[test]
    fn nothing_panics(
        text in "[GyMdkHmsSEDFwWahKzZYuXL' ,:é-]{0,12}",
        date in "[0-9A-Za-z+: é.-]{0,24}",
        epoch_ms: i64,
        zone in "UTC|Europe/Paris|[+]05:30|Australia/Lord_Howe",
    ) {
        let zone = DateZone::named(&zone).unwrap();
        if let Ok(text) = DatePattern::with_zone(&text, zone) {
            let written = formatted(&text, epoch_ms);
            let _ = text.parse(&written);
            let _ = text.parse(&date);
        }
    }
}
