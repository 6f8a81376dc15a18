//! The connectors, each through its plugin, as a worker would use it.

mod examples;
mod manual;
