//! What every command that talks to a worker takes: which worker, who asks, how the answer looks.

use crate::client::{Address, Client, Login};
use crate::contexts::{Contexts, secret};
use crate::exit::Failure;
use crate::names;
use crate::show::{Look, Out};
use clap_complete::ArgValueCandidates;
use std::path::PathBuf;
use std::time::Duration;

/// Where a worker is that nobody has named.
pub(crate) const DEFAULT_URL: &str = "http://localhost:8083";

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Server {
    /// URL of a worker, instead of the current context's; it may hold a login
    #[arg(
        long,
        visible_alias = "cluster",
        value_name = "URL",
        global = true,
        env = "COPYCAT_URL",
        help_heading = "Worker"
    )]
    url: Option<String>,
    /// The context to use instead of the current one
    #[arg(long, value_name = "NAME", global = true, env = "COPYCAT_CONTEXT",
        help_heading = "Worker", add = ArgValueCandidates::new(names::contexts))]
    context: Option<String>,
    /// User name for basic authentication
    #[arg(
        long,
        alias = "user",
        value_name = "NAME",
        global = true,
        env = "COPYCAT_USERNAME",
        help_heading = "Worker"
    )]
    username: Option<String>,
    /// Password for basic authentication: env:NAME or file:PATH says where it is, anything else is it
    #[arg(
        long,
        value_name = "PASSWORD",
        global = true,
        env = "COPYCAT_PASSWORD",
        hide_env_values = true,
        help_heading = "Worker"
    )]
    password: Option<String>,
    /// PEM file of the authorities that sign workers' certificates, instead of the system's
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        env = "COPYCAT_CA_FILE",
        help_heading = "Worker"
    )]
    ca_file: Option<PathBuf>,
    /// Seconds to wait for an answer
    #[arg(long, value_name = "SECONDS", global = true, env = "COPYCAT_REQUEST_TIMEOUT",
        default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=3600),
        help_heading = "Worker")]
    request_timeout: u64,
}

/// The arguments of a command that asks a worker.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Ask {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) look: Look,
}

/// A worker to ask, and where answers go.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) out: Out,
}

impl Ask {
    /// # Errors
    /// The worker, the context or the login cannot be understood.
    pub(crate) fn open(&self) -> Result<Session, Failure> {
        Ok(Session { client: self.server.client()?, out: self.look.out() })
    }
}

impl Server {
    /// # Errors
    /// The worker, the context or the login cannot be understood.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        // A URL makes contexts needless, so a broken file of them does not matter then.
        let contexts = match (&self.url, &self.context) {
            (Some(_), None) => Contexts::default(),
            _ => Contexts::load()?,
        };
        let name = self.context.as_deref().or(contexts.current.as_deref());
        if let Some(name) = name {
            contexts.check(name)?;
        }
        let of_context = |member| name.and_then(|name| contexts.text(name, member));
        let given = |flag: &Option<String>, member| {
            flag.clone().or_else(|| of_context(member).map(str::to_owned))
        };
        let url = given(&self.url, "cluster").unwrap_or_else(|| DEFAULT_URL.to_owned());
        let address = Address::parse(&url)?;
        let password = given(&self.password, "password");
        // The URL may have the name alone.
        let in_url = address.login.as_ref().map(|login| login.username.clone());
        let username = given(&self.username, "username");
        let username = username.or(in_url.filter(|_| self.password.is_some()));
        let login = match (username, password) {
            (Some(username), password) => {
                let password = secret(password.as_deref().unwrap_or_default())?;
                Some(Login { username, password })
            }
            (None, Some(_)) if self.password.is_some() => {
                return Err(Failure::wrong_input("a password needs a user name")
                    .hint("add --username NAME"));
            }
            (None, _) => None,
        };
        let ca_file = self.ca_file.clone().or_else(|| of_context("caFile").map(PathBuf::from));
        let timeout = Duration::from_secs(self.request_timeout);
        Client::new(&address, login, ca_file.as_deref(), timeout)
    }

    /// A client for completions: what nobody answers at once has none.
    pub(crate) fn impatient() -> Result<Client, Failure> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Server {
            url: set("COPYCAT_URL"),
            context: set("COPYCAT_CONTEXT"),
            username: set("COPYCAT_USERNAME"),
            password: set("COPYCAT_PASSWORD"),
            ca_file: set("COPYCAT_CA_FILE").map(PathBuf::from),
            request_timeout: 2,
        }
        .client()
    }
}
