//! What the runner of a replay asks the control schema, and what it tells it.
//!
//! Place in the data path: beside it. Nothing here moves a position.

use super::range::Range;
use crate::control::Error;
use crate::control::Questions;

/// A lease that is not kept ends after this time.
pub(super) const LEASE_SECONDS: i32 = 15;

const OFFSETS: &str = "SELECT partition, start_offset, next_offset, end_offset \
    FROM pipeline_kafka.replay_offsets WHERE replay_id = $1::int8 ORDER BY partition";
const LEASE: &str = "SELECT pipeline_kafka._lease_replay($1::int8, $2::int8, $3::uuid, $4::int4)";
const STORE: &str = "SELECT pipeline_kafka._store_replay($1::int8, $2::int8, $3::uuid, \
    ARRAY(SELECT (e->>0)::int4 FROM jsonb_array_elements($4::jsonb) AS e), \
    ARRAY(SELECT (e->>1)::int8 FROM jsonb_array_elements($4::jsonb) AS e), \
    ARRAY(SELECT (e->>2)::int8 FROM jsonb_array_elements($4::jsonb) AS e))";
const STATE: &str =
    "SELECT pipeline_kafka._set_replay_state($1::int8, $2::int8, $3::text, $4::text)";

/// What became of a wish to run a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease {
    /// Its range is to be resolved.
    New,
    Started,
    /// Another process runs it.
    Taken,
    /// It is done, was cancelled, or is another one now.
    Over,
}

/// A replay in the words of the schema.
pub(super) struct Asking<'a> {
    pub(super) questions: &'a Questions,
    pub(super) replay: i64,
    pub(super) version: i64,
    pub(super) owner: &'a str,
}

impl Asking<'_> {
    /// Takes the replay, or keeps it; zero seconds give it back.
    pub(super) fn lease(&self, seconds: i32) -> Result<Lease, Error> {
        let (replay, version) = (self.replay.to_string(), self.version.to_string());
        let seconds = seconds.to_string();
        let params = [Some(&*replay), Some(&*version), Some(self.owner), Some(&*seconds)];
        self.questions.ask(LEASE, &params, |rows| match rows.text(0, 0) {
            Some("new") => Lease::New,
            Some("started") => Lease::Started,
            Some("taken") => Lease::Taken,
            _ => Lease::Over,
        })
    }

    /// Stores the range; whoever was first stays.
    pub(super) fn store(&self, topic_id: Option<&str>, ranges: &[Range]) -> Result<(), Error> {
        let (replay, version) = (self.replay.to_string(), self.version.to_string());
        let list: serde_json::Value =
            ranges.iter().map(|r| serde_json::json!([r.partition, r.start, r.end])).collect();
        let list = list.to_string();
        let params = [Some(&*replay), Some(&*version), topic_id, Some(&*list)];
        self.questions.ask(STORE, &params, |_| ())
    }

    pub(super) fn ranges(&self) -> Result<Vec<Range>, Error> {
        let replay = self.replay.to_string();
        self.questions.ask(OFFSETS, &[Some(&replay)], |rows| {
            let range = |row| {
                Some(Range {
                    partition: rows.parsed(row, 0)?,
                    start: rows.parsed(row, 1)?,
                    next: rows.parsed(row, 2)?,
                    end: rows.parsed(row, 3)?,
                })
            };
            (0..rows.len()).filter_map(range).collect()
        })
    }

    /// Settles the dead letters of a retry.
    pub(super) fn end_retry(&self) -> Result<(), Error> {
        let replay = self.replay.to_string();
        let sql = "SELECT pipeline_kafka._end_retry($1::int8)";
        self.questions.ask(sql, &[Some(&replay)], |_| ())
    }

    pub(super) fn state(&self, state: &str, detail: Option<&str>) -> Result<(), Error> {
        let (replay, version) = (self.replay.to_string(), self.version.to_string());
        let params = [Some(&*replay), Some(&*version), Some(state), detail];
        self.questions.ask(STATE, &params, |_| ())
    }
}
