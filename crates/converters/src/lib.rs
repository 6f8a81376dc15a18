//! converters
