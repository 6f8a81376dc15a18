//! The connectors, each through its plugin, as a worker would use it.

mod dialects;
mod examples;
mod file_sink;
mod file_source;
mod manual;
mod postgres_errors;
mod postgres_events;
mod postgres_keys;
mod postgres_values;
mod rig;
mod sqlite;
