//! A sink task over the in-process broker, with a destination whose failures are scripted.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the report")]

mod boundaries;
mod destination;
mod outside;
mod sink;
