//! Tokens of an identity provider: fetched with client credentials, kept until shortly before their end.

use super::{Trouble, fault, run};
use crate::bounds::Bounds;
use crate::settings::OAuth;
use api::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use config::Password;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::Agent;
use ureq::http::Request;

const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Where the provider does not say how long a token holds.
const LIFETIME: Duration = Duration::from_secs(300);

/// The token in use. Whoever fetches one holds the lock, so that one is fetched for all.
#[derive(Default)]
pub(super) struct Tokens(Mutex<Option<Held>>);

struct Held {
    header: Password,
    until: Option<Instant>,
}

impl Tokens {
    /// The value of the header Authorization.
    pub(super) fn get(
        &self,
        agent: &Agent,
        oauth: &OAuth,
        bounds: &Bounds,
    ) -> Result<Password, Trouble> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = &*held
            && held.until.is_some_and(|until| Instant::now() < until)
        {
            return Ok(held.header.clone());
        }
        let fetched = fetch(agent, oauth, bounds)?;
        let header = fetched.header.clone();
        *held = Some(fetched);
        Ok(header)
    }

    /// Drops the token; false where there is none.
    pub(super) fn forget(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }
}

fn fetch(agent: &Agent, oauth: &OAuth, bounds: &Bounds) -> Result<Held, Trouble> {
    let login = format!("{}:{}", oauth.client_id, oauth.client_secret.expose());
    let mut form = "grant_type=client_credentials".to_owned();
    if let Some(scope) = &oauth.scope {
        form.push_str("&scope=");
        form.push_str(&crate::settings::encode(scope));
    }
    let base = &oauth.endpoint.base;
    let wrong = |why: String| {
        Trouble::Wrong(Error::config(format!("the identity provider {base}: {why}")).hint(
            "see bearer.auth.issuer.endpoint.url, bearer.auth.client.id, bearer.auth.client.secret \
             and bearer.auth.scope, under the converter's prefix",
        ))
    };
    let request = Request::builder()
        .method("POST")
        .uri(base)
        .header("Authorization", format!("Basic {}", STANDARD.encode(login)))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Accept", "application/json")
        .body(form)
        .map_err(|_| wrong("no request can be made of the settings".to_owned()))?;
    let away = |trouble| match trouble {
        Trouble::Away(why, wait) => {
            Trouble::Away(format!("the identity provider {base}: {why}"), wait)
        }
        wrong @ Trouble::Wrong(_) => wrong,
    };
    let transport = |error: &ureq::Error| away(fault::of_transport(&oauth.endpoint, error));
    let mut response = run(agent, request, bounds).map_err(|error| transport(&error))?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
    let body = body.map_err(|error| transport(&error))?;
    match status {
        200..=299 => {}
        408 | 425 | 429 | 500.. => return Err(away(Trouble::Away(format!("HTTP {status}"), None))),
        _ => {
            let json: Option<Value> = serde_json::from_str(&body).ok();
            let said = json.as_ref().and_then(|json| json.get("error")?.as_str());
            let said = said.map(|said| format!(", {said}")).unwrap_or_default();
            return Err(wrong(format!("HTTP {status}{said}")));
        }
    }
    let json: Value = serde_json::from_str(&body).unwrap_or_default();
    let Some(token) = json.get("access_token").and_then(Value::as_str) else {
        return Err(wrong("the answer has no access_token".to_owned()));
    };
    let lifetime = json.get("expires_in").and_then(Value::as_u64).map(Duration::from_secs);
    let lifetime = lifetime.unwrap_or(LIFETIME);
    // A buffer that is longer than the token lives would mean a token a request.
    let kept =
        lifetime.checked_sub(oauth.buffer).filter(|kept| !kept.is_zero()).unwrap_or(lifetime);
    Ok(Held {
        header: Password::new(format!("Bearer {token}")),
        until: Instant::now().checked_add(kept),
    })
}
