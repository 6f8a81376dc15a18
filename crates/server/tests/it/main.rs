//! The `copycat` binary against a real Apache Kafka and a real PostgreSQL.
//!
//! Tests whose names begin with `fault` have a longer form in `scripts/soak`.

mod bad_files;
mod bad_records;
mod chaos;
mod checks;
mod cli;
mod cli_secured;
mod clients;
mod dead_letters;
mod distributed;
mod exposition;
mod files;
mod foreign;
mod groups;
mod harness;
mod kills;
mod logs;
mod metrics;
mod monitoring;
mod outages;
mod pg;
mod pg_kills;
mod pg_replay;
mod poison;
mod positions;
mod quickstart;
mod refusals;
mod registry;
mod reports;
mod rest;
mod rest_distributed;
mod rest_load;
mod rest_tls;
mod routes;
mod schemas;
mod secrets;
mod security;
mod source_offsets;
mod sources;
mod state;
mod tables;
mod topics;
mod transforms;
