//! config-derive
