//! Ports for servers of a test's own.

use std::net::TcpListener;

use crate::random::{Rng, unique};

/// A port of 127.0.0.1 that nobody listens on.
///
/// It lies below the range from which the system takes the ports of outgoing connections: a server
/// may be stopped and come back on it, and a client that keeps trying meanwhile can neither take
/// the port nor be connected to itself.
///
/// # Panics
///
/// When none is found.
pub fn free_port() -> u16 {
    let name = unique("port");
    let mut rng = Rng::new(name.bytes().fold(17, |h: u64, b| h.wrapping_mul(31) + u64::from(b)));
    for _ in 0..10_000 {
        let port = u16::try_from(rng.range(12_000, 32_000)).expect("below 2^16");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between 12000 and 32000 on 127.0.0.1");
}
