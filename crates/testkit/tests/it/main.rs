//! The kit against real servers: what tests rely on when they look at Kafka and PostgreSQL.

mod kafka;
mod postgres;
mod process;
