//! Who asks: a user with a password, a token, or a token from an identity provider.

use super::Url;
use api::{Error, Result};
use config::{Config, Password, Props, jaas};
use std::time::Duration;

const BASIC: &str = "basic.auth.credentials.source";
const BEARER: &str = "bearer.auth.credentials.source";
const JAAS: &str = "sasl.jaas.config";

config::config_enum! {
    /// Where user and password come from.
    enum BasicSource {
        Url = "URL",
        UserInfo = "USER_INFO",
        SaslInherit = "SASL_INHERIT",
    }
}

config::config_enum! {
    /// Where a token comes from.
    enum BearerSource {
        Static = "STATIC_TOKEN",
        OAuth = "OAUTHBEARER",
        SaslInherit = "SASL_OAUTHBEARER_INHERIT",
    }
}

/// Keys as they are written.
#[derive(Config, Debug)]
#[config(group = "Login at the Schema Registry", importance = medium)]
pub(super) struct Keys {
    /// Where user and password come from: URL (they stand in schema.registry.url), USER_INFO
    /// (basic.auth.user.info) or SASL_INHERIT (the login module of sasl.jaas.config).
    #[config(key = "basic.auth.credentials.source", default = "URL", case_insensitive)]
    basic_source: BasicSource,
    /// User and password as user:password, with basic.auth.credentials.source=USER_INFO.
    #[config(key = "basic.auth.user.info", default = "")]
    user_info: Password,
    /// An old name of basic.auth.user.info, which goes before it.
    #[config(key = "schema.registry.basic.auth.user.info", default = "", importance = low)]
    old_user_info: Password,
    /// A Kafka login module with username and password, for SASL_INHERIT; or with clientId,
    /// clientSecret and scope, for SASL_OAUTHBEARER_INHERIT.
    #[config(key = "sasl.jaas.config", importance = low)]
    jaas: Option<Password>,
    /// Where a token comes from: STATIC_TOKEN (bearer.auth.token), OAUTHBEARER (the identity provider
    /// at bearer.auth.issuer.endpoint.url, with client credentials) or SASL_OAUTHBEARER_INHERIT
    /// (the provider at sasl.oauthbearer.token.endpoint.url, with the login module of sasl.jaas.config).
    #[config(key = "bearer.auth.credentials.source", default = "STATIC_TOKEN", case_insensitive)]
    bearer_source: BearerSource,
    /// The token that is sent with each request.
    #[config(key = "bearer.auth.token", default = "")]
    token: Password,
    /// Where the identity provider gives tokens.
    #[config(key = "bearer.auth.issuer.endpoint.url")]
    issuer: Option<String>,
    /// The client id at the identity provider.
    #[config(key = "bearer.auth.client.id")]
    client_id: Option<String>,
    /// The client's secret at the identity provider.
    #[config(key = "bearer.auth.client.secret")]
    client_secret: Option<Password>,
    /// The scope of tokens.
    #[config(key = "bearer.auth.scope")]
    scope: Option<String>,
    /// How many seconds before its end a token is renewed.
    #[config(
        key = "bearer.auth.cache.expiry.buffer.seconds",
        default = 300,
        range(0, 3600),
        importance = low
    )]
    expiry_buffer_sec: i16,
    /// The logical cluster, as Confluent Cloud asks for it, sent as target-sr-cluster.
    #[config(key = "bearer.auth.logical.cluster")]
    cluster: Option<String>,
    /// The identity pool, as Confluent Cloud asks for it, sent as Confluent-Identity-Pool-Id.
    #[config(key = "bearer.auth.identity.pool.id")]
    pool: Option<String>,
    /// Where the identity provider of Kafka's own clients gives tokens, for SASL_OAUTHBEARER_INHERIT.
    #[config(key = "sasl.oauthbearer.token.endpoint.url", importance = low)]
    sasl_issuer: Option<String>,
}

/// How a request says who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// By what stands in the URL that is asked, if anything.
    Url,
    Basic(String, Password),
    Token(Token, Vec<(&'static str, String)>),
}

/// A token, and the headers that go with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Static(Password),
    OAuth(OAuth),
}

/// Client credentials at an identity provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OAuth {
    pub(crate) endpoint: Url,
    pub(crate) client_id: String,
    pub(crate) client_secret: Password,
    pub(crate) scope: Option<String>,
    /// A token is renewed so long before its end.
    pub(crate) buffer: Duration,
}

impl Login {
    pub(super) fn new(keys: &Keys, props: &Props) -> Result<Login> {
        let bearer = props.contains(BEARER) || !keys.token.is_empty();
        if bearer && props.contains(BASIC) {
            return Err(Error::config(format!("{BASIC} and {BEARER} cannot be set together"))
                .hint("a request carries one login: take out the keys of one of them"));
        }
        if bearer {
            return token(keys);
        }
        match keys.basic_source {
            BasicSource::Url => Ok(Login::Url),
            BasicSource::UserInfo => user_info(keys),
            BasicSource::SaslInherit => {
                let options = options(keys, BASIC)?;
                let (user, password) = (options.get("username"), options.get("password"));
                match (user, password) {
                    (Some(user), Some(password)) => {
                        Ok(Login::Basic(user.expose().to_owned(), password.clone()))
                    }
                    _ => Err(Error::config(format!(
                        "{JAAS} has no username and password, which \
                                                    {BASIC}=SASL_INHERIT needs"
                    ))),
                }
            }
        }
    }
}

fn user_info(keys: &Keys) -> Result<Login> {
    let info = if keys.old_user_info.is_empty() { &keys.user_info } else { &keys.old_user_info };
    match info.expose().split_once(':') {
        Some((user, password)) => Ok(Login::Basic(user.to_owned(), Password::new(password))),
        None => Err(Error::config(format!(
            "basic.auth.user.info must be user:password when {BASIC} is USER_INFO"
        ))),
    }
}

fn token(keys: &Keys) -> Result<Login> {
    let headers =
        [("target-sr-cluster", &keys.cluster), ("Confluent-Identity-Pool-Id", &keys.pool)];
    let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    let need = |key: &str, value: &Option<String>| {
        let filled = value.clone().filter(|value| !value.is_empty());
        let source = keys.bearer_source;
        filled.ok_or_else(|| Error::config(format!("{key} must be set when {BEARER} is {source}")))
    };
    let buffer = Duration::from_secs(keys.expiry_buffer_sec.unsigned_abs().into());
    let token = match keys.bearer_source {
        BearerSource::Static if keys.token.is_empty() => {
            return Err(Error::config(format!(
                "bearer.auth.token must be set when {BEARER} is STATIC_TOKEN"
            )));
        }
        BearerSource::Static => Token::Static(keys.token.clone()),
        BearerSource::OAuth => {
            const URL: &str = "bearer.auth.issuer.endpoint.url";
            let secret = keys.client_secret.as_ref().map(|secret| secret.expose().to_owned());
            Token::OAuth(OAuth {
                endpoint: Url::parse(URL, &need(URL, &keys.issuer)?)?,
                client_id: need("bearer.auth.client.id", &keys.client_id)?,
                client_secret: need("bearer.auth.client.secret", &secret)?.into(),
                scope: keys.scope.clone(),
                buffer,
            })
        }
        BearerSource::SaslInherit => {
            const URL: &str = "sasl.oauthbearer.token.endpoint.url";
            let options = options(keys, BEARER)?;
            let option = |name: &str| options.get(name).map(|value| value.expose().to_owned());
            Token::OAuth(OAuth {
                endpoint: Url::parse(URL, &need(URL, &keys.sasl_issuer)?)?,
                client_id: need("clientId in sasl.jaas.config", &option("clientId"))?,
                client_secret: need("clientSecret in sasl.jaas.config", &option("clientSecret"))?
                    .into(),
                scope: option("scope"),
                buffer,
            })
        }
    };
    Ok(Login::Token(token, headers.collect()))
}

/// The options of the login module.
fn options(keys: &Keys, source: &str) -> Result<std::collections::BTreeMap<String, Password>> {
    let Some(text) = keys.jaas.as_ref().filter(|text| !text.is_empty()) else {
        return Err(Error::config(format!("{JAAS} must be set, as {source} inherits from it"))
            .hint("give it to the converter: value.converter.sasl.jaas.config=…"));
    };
    let login = jaas::parse(text.expose());
    login.map(|login| login.options).map_err(|why| Error::config(format!("{JAAS}: {why}")))
}
