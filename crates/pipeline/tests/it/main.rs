//! The control schema and its worker against real servers.

#![allow(clippy::unwrap_used, reason = "tests")]

mod bench;
mod consumers;
mod failover;
mod formats;
mod installation;
mod manual;
mod nested;
mod outbox;
mod psql;
mod reading;
mod refusals;
mod registry_faults;
mod replaying;
mod replays;
mod reported;
mod reports;
mod retrying;
mod rights;
mod schemas;
mod sending;
mod together;
mod views;
mod worker;
mod worker_changes;
mod worker_outages;
