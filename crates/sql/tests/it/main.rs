//! Tests of crate `sql` against real databases.

mod wire;
mod wire_faults;
mod wire_login;
mod wire_pipeline;
mod wire_tls;
