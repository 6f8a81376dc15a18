//! PostgreSQL for tests: a database of a test's own on the shared server, a whole server of its
//! own, and a small blocking client.

mod bouncer;
mod client;
mod proxy;
mod server;

pub use bouncer::Bouncer;
pub use client::{Client, Failure, Rows};
pub use proxy::{Fault, Point, Proxy};
pub use server::{Server, Stop};

use crate::{shared::shared, unique};

/// `postgres://…` of the maintenance database of the server that all tests of a run share.
///
/// # Panics
///
/// When it does not run and cannot be started.
pub fn url() -> String {
    shared().postgres.clone()
}

/// Creates a database of a unique name on the shared server.
pub fn database() -> Database {
    Database::create(&url())
}

/// A database that is dropped, connections and all, with this value.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    /// Creates one on the server with this `postgres://…/database`.
    pub fn create(server: &str) -> Self {
        let name = unique("copycat_test").replace('-', "_");
        Client::connect(server).execute(&format!("CREATE DATABASE {name}"));
        Self { server: server.to_owned(), name }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its `postgres://…`.
    pub fn url(&self) -> String {
        let (base, _) = self.server.rsplit_once('/').expect("the server's url names a database");
        format!("{base}/{}", self.name)
    }

    /// Its `jdbc:postgresql://…`, as connectors are configured.
    pub fn jdbc_url(&self) -> String {
        let url = self.url();
        let (_, place) = url.rsplit_once('@').expect("the url names a user");
        format!("jdbc:postgresql://{place}?user={}", Client::parts(&url).user)
    }

    /// A new connection to it.
    pub fn client(&self) -> Client {
        Client::connect(&self.url())
    }

    /// Runs a query on a connection of its own; see [`Client::query`].
    pub fn query(&self, sql: &str) -> Rows {
        self.client().query(sql)
    }

    /// Runs statements on a connection of its own; see [`Client::execute`].
    pub fn execute(&self, sql: &str) -> u64 {
        self.client().execute(sql)
    }

    /// The one value of a query, null as `None`; see [`Client::value`].
    pub fn value(&self, sql: &str) -> Option<String> {
        self.client().value(sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server that a test has stopped takes its databases with it.
        if let Ok(mut client) = Client::try_connect(&self.server) {
            let _ = client.try_query(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}
