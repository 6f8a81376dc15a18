//! Tests of crate `sql` against real databases.

mod pg;
mod pg_advice;
mod pg_consumer;
mod pg_consumer_modes;
mod pg_faults;
mod pg_insert;
mod pg_letters;
mod pg_modes;
mod pg_partial;
mod pg_server;
mod pg_sink;
mod pg_store;
mod pg_tables;
mod pg_types;
mod semantic;
mod sqlite_file;
mod sqlite_files;
mod sqlite_positions;
mod sqlite_writes;
mod value;
mod wire;
mod wire_faults;
mod wire_login;
mod wire_pipeline;
mod wire_tls;
