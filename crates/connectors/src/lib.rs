//! The built-in connectors. One folder and one line each.
//!
//! A connector is a [`ConnectorPlugin`]: its class, the other names that configs may carry, and how
//! to make it. Nothing else knows connectors by name.

mod clock;
mod paths;
mod registry;
mod sql_connector;

/// Declares the modules and the list of plugins.
macro_rules! connectors {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// Every connector, in the order of their names.
        pub fn plugins() -> &'static [&'static api::ConnectorPlugin] {
            static PLUGINS: &[&api::ConnectorPlugin] = &[$(&$name::PLUGIN),+];
            PLUGINS
        }

        /// The connectors with the names of their folders, for what goes through the folders.
        pub fn folders() -> impl Iterator<Item = (&'static str, &'static api::ConnectorPlugin)> {
            [$(stringify!($name)),+].into_iter().zip(plugins().iter().copied())
        }
    };
}

connectors! {
    datagen,
    file_stream_sink,
    file_stream_source,
    postgres,
    sqlite,
}

pub use registry::{find, names};
