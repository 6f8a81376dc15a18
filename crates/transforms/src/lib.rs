//! The single-message transforms and predicates that are built in.
