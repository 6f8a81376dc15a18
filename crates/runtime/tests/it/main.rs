//! A sink task over the in-process broker, with a destination whose failures are scripted.

mod destination;
mod sink;
