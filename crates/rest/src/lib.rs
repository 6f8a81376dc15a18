//! rest
