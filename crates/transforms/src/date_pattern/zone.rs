//! Time zones of date patterns: offsets, and the names that `z` writes and reads.
//!
//! Place in the data path: formatting and parsing; UTC and fixed offsets cost nothing.
//!
//! The rules of named zones come from `jiff`. As in Java, the zone's present standard offset holds
//! before 1900, and moments beyond the rules' reach repeat in cycles of 400 years.

use data::DAY_MS;
use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, TimeZone};
use std::fmt::Write as _;

/// The start of 1900 in UTC: before it Java knows no changes of offset.
const RULES_START_MS: i64 = -2_208_988_800_000;
/// The start of year 9000, before which `jiff` knows every moment.
const RULES_END_MS: i64 = 221_845_392_000_000;
/// The Gregorian calendar repeats after 400 years.
const CYCLE_MS: i64 = 146_097 * DAY_MS;

/// January and July of 2024, in seconds since the epoch.
const SEASONS_S: [i64; 2] = [1_704_067_200, 1_719_792_000];

/// A time zone.
#[derive(Clone, Debug)]
pub enum DateZone {
    /// Coordinated Universal Time.
    Utc,
    /// Seconds east of UTC.
    Fixed(i32),
    /// A zone with rules.
    Named {
        /// The rules.
        rules: TimeZone,
        /// A recent moment without summer time.
        standard: Timestamp,
        /// Seconds east of UTC at that moment.
        standard_s: i32,
    },
}

impl DateZone {
    /// The zone of a name: `UTC`, `GMT`, `Z`, `Europe/Paris`, `+02:00`, `-0330`, `GMT+2`,
    /// `UTC+02:00`. None if there is no such zone (Java's `TimeZone` would silently take GMT).
    pub fn named(name: &str) -> Option<DateZone> {
        if matches!(name, "UTC" | "GMT" | "Z" | "UT" | "Etc/UTC" | "Etc/GMT" | "Universal" | "Zulu")
        {
            return Some(DateZone::Utc);
        }
        let offset = ["UTC", "GMT", "UT"].into_iter().find_map(|start| name.strip_prefix(start));
        if let Some(seconds) = offset_seconds(offset.unwrap_or(name)) {
            return Some(if seconds == 0 { DateZone::Utc } else { DateZone::Fixed(seconds) });
        }
        let rules = TimeZone::get(name).ok()?;
        // Of January and July of a recent year, the one without summer time.
        let standard = SEASONS_S
            .into_iter()
            .filter_map(|second| Timestamp::from_second(second).ok())
            .find(|moment| !rules.to_offset_info(*moment).dst().is_dst())
            .unwrap_or_default();
        let standard_s = rules.to_offset(standard).seconds();
        Some(DateZone::Named { rules, standard, standard_s })
    }

    /// Seconds east of UTC at a moment.
    pub(super) fn offset_at(&self, epoch_ms: i64) -> i32 {
        match self {
            DateZone::Utc => 0,
            DateZone::Fixed(seconds) => *seconds,
            DateZone::Named { standard_s, .. } if epoch_ms < RULES_START_MS => *standard_s,
            DateZone::Named { rules, standard_s, .. } => within_rules(epoch_ms)
                .map_or(*standard_s, |moment| rules.to_offset(moment).seconds()),
        }
    }

    /// Seconds east of UTC when clocks show this time. A time that clocks skip is read as if they
    /// had not; of a time that they show twice the second one counts.
    pub(super) fn offset_of_wall(&self, local_ms: i64) -> i32 {
        let (rules, standard_s) = match self {
            DateZone::Utc => return 0,
            DateZone::Fixed(seconds) => return *seconds,
            DateZone::Named { rules, standard_s, .. } => (rules, *standard_s),
        };
        if local_ms.saturating_sub(i64::from(standard_s) * 1_000) < RULES_START_MS {
            return standard_s;
        }
        let Some(wall) = within_rules(local_ms) else { return standard_s };
        let wall = TimeZone::UTC.to_datetime(wall);
        match rules.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
            AmbiguousOffset::Gap { before, .. } => before.seconds(),
            AmbiguousOffset::Fold { after, .. } => after.seconds(),
        }
    }

    /// Appends the zone's name.
    pub(super) fn write_name(&self, epoch_ms: i64, offset_s: i32, long: bool, out: &mut String) {
        let known = |short: &str, out: &mut String| {
            let long_name = LONG_NAMES
                .iter()
                .find(|(name, minutes, _)| *name == short && minutes * 60 == offset_s);
            match long_name {
                Some((_, _, name)) if long => out.push_str(name),
                _ => out.push_str(short),
            }
        };
        match self {
            DateZone::Utc => known("UTC", out),
            DateZone::Named { rules, standard, .. } => {
                let ruled = within_rules(epoch_ms).filter(|_| epoch_ms >= RULES_START_MS);
                let info = rules.to_offset_info(ruled.unwrap_or(*standard));
                let short = info.abbreviation();
                if short.bytes().all(|b| b.is_ascii_alphabetic()) {
                    known(short, out);
                } else {
                    write_offset(offset_s, out);
                }
            }
            DateZone::Fixed(_) => write_offset(offset_s, out),
        }
    }

    /// Reads a zone's name: its offset in seconds, and the bytes it takes. The zone's own names come
    /// first: `IST` is India's in India.
    pub(super) fn parse_name(&self, text: &str) -> Option<(i32, usize)> {
        let fits = |name: &str| {
            text.as_bytes()
                .get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        if let DateZone::Named { rules, .. } = self {
            for second in SEASONS_S {
                let info = rules.to_offset_info(Timestamp::from_second(second).ok()?);
                if fits(info.abbreviation()) {
                    return Some((info.offset().seconds(), info.abbreviation().len()));
                }
            }
        }
        let long = LONG_NAMES.iter().map(|(_, minutes, name)| (*name, *minutes));
        let short = SHORT_NAMES.split_ascii_whitespace().filter_map(|entry| {
            let (name, minutes) = entry.split_once('=')?;
            Some((name, minutes.parse().ok()?))
        });
        let found = long.chain(short).filter(|(name, _)| fits(name));
        found.max_by_key(|(name, _)| name.len()).map(|(name, minutes)| (minutes * 60, name.len()))
    }
}

/// A moment of the same place in the calendar that the rules reach.
fn within_rules(epoch_ms: i64) -> Option<Timestamp> {
    let ms = if epoch_ms >= RULES_END_MS {
        RULES_END_MS - CYCLE_MS + (epoch_ms - RULES_END_MS).rem_euclid(CYCLE_MS)
    } else {
        epoch_ms
    };
    Timestamp::from_millisecond(ms).ok()
}

fn write_offset(offset_s: i32, out: &mut String) {
    let minutes = offset_s.abs() / 60;
    let sign = if offset_s < 0 { '-' } else { '+' };
    let _ = write!(out, "GMT{sign}{:02}:{:02}", minutes / 60, minutes % 60);
}

/// Reads `+h`, `+hh`, `+hmm`, `+hhmm` or `+hh:mm`.
fn offset_seconds(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let number = |text: &str, most: i32| {
        let plain = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i32>().ok().filter(|number| plain && *number <= most)
    };
    Some(sign * (number(hours, 23)? * 60 + number(minutes, 59)?) * 60)
}

/// Short names with their offsets in minutes, as Java resolves them.
const SHORT_NAMES: &str = "UTC=0 GMT=0 PST=-480 PDT=-420 MST=-420 MDT=-360 CST=-360 CDT=-300 EST=-300 EDT=-240 \
    HST=-600 HDT=-600 AKST=-540 AKDT=-480 AST=-240 ADT=-180 NST=-210 NDT=-150 CET=60 CEST=120 \
    IST=120 IDT=180 JST=540 JDT=540 EET=120 EEST=180 ACST=570 AEST=600 AEDT=660 BRT=-180 \
    BDT=360 CAT=120 EAT=180 AMT=240 NZST=720 NZDT=780 PKT=300 AZT=240 GST=240 KST=540 ICT=420 \
    WAT=60 PET=-300 KGT=360 IRKT=480 WIB=420 MYT=480 MMT=390 GET=240 MSK=180 MSD=180 SAST=120 \
    ART=-180 TMT=300 TJT=300 WIT=540 NPT=345 WITA=480 UZT=300 VLAT=600 BST=60 WET=0 WEST=60 \
    COT=-300 BOT=-240 HKT=480 SGT=480 RET=240 SST=-660 VET=-240 AZOT=-60 AWST=480 CHAST=765 \
    CHADT=825 PYT=-240 CLT=-240 CLST=-180 KRAT=420 NOVT=420 MUT=240 ECT=-300 UYT=-180 \
    YEKT=300 LHST=630 LHDT=660 TRT=180 MET=60 MEST=120 AFT=270 IRST=210 IRDT=210 YAKT=540 \
    OMST=360 SAMT=240 MAGT=660 PETT=-300";

/// Short name, offset in minutes, long name.
const LONG_NAMES: [(&str, i32, &str); 36] = [
    ("UTC", 0, "Coordinated Universal Time"),
    ("GMT", 0, "Greenwich Mean Time"),
    ("EST", -300, "Eastern Standard Time"),
    ("EDT", -240, "Eastern Daylight Time"),
    ("CST", -360, "Central Standard Time"),
    ("CDT", -300, "Central Daylight Time"),
    ("MST", -420, "Mountain Standard Time"),
    ("MDT", -360, "Mountain Daylight Time"),
    ("PST", -480, "Pacific Standard Time"),
    ("PDT", -420, "Pacific Daylight Time"),
    ("AKST", -540, "Alaska Standard Time"),
    ("AKDT", -480, "Alaska Daylight Time"),
    ("HST", -600, "Hawaii-Aleutian Standard Time"),
    ("AST", -240, "Atlantic Standard Time"),
    ("ADT", -180, "Atlantic Daylight Time"),
    ("NST", -210, "Newfoundland Standard Time"),
    ("NDT", -150, "Newfoundland Daylight Time"),
    ("BST", 60, "British Summer Time"),
    ("WET", 0, "Western European Standard Time"),
    ("WEST", 60, "Western European Summer Time"),
    ("CET", 60, "Central European Standard Time"),
    ("CEST", 120, "Central European Summer Time"),
    ("EET", 120, "Eastern European Standard Time"),
    ("EEST", 180, "Eastern European Summer Time"),
    ("MSK", 180, "Moscow Standard Time"),
    ("IST", 330, "India Standard Time"),
    ("IST", 120, "Israel Standard Time"),
    ("IDT", 180, "Israel Daylight Time"),
    ("CST", 480, "China Standard Time"),
    ("HKT", 480, "Hong Kong Standard Time"),
    ("JST", 540, "Japan Standard Time"),
    ("KST", 540, "Korean Standard Time"),
    ("AEST", 600, "Australian Eastern Standard Time"),
    ("AEDT", 660, "Australian Eastern Daylight Time"),
    ("NZST", 720, "New Zealand Standard Time"),
    ("NZDT", 780, "New Zealand Daylight Time"),
];
