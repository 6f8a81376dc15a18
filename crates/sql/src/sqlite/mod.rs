//! SQLite: the embedded destination.
