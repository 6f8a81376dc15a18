//! Integration tests of configuration: recorded answers of Kafka Connect 4.4, and the derive macro.

mod definitions;
mod derived;
mod variables;
