//! Recorded answers of Kafka Connect, and the same questions asked of Copycat's crates.
