//! Bodies of requests: JSON read leniently where Connect is lenient (numbers and booleans are taken as
//! the text they are written with), with the place of a mistake named.

use crate::codes::Code;
use crate::errors::RestError;
use config::{Given, Props};
use runtime::{Change, OffsetsChange};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The body of `POST /connectors`.
pub(crate) struct NewConnector {
    pub(crate) name: String,
    pub(crate) config: Given,
    pub(crate) initial_state: Option<String>,
}

/// # Errors
/// Anything that is no such body.
pub(crate) fn new_connector(bytes: &[u8]) -> Result<NewConnector, RestError> {
    const FORM: &str = r#"send {"name": "…", "config": {"connector.class": "…", …}}"#;
    let members = object(bytes, FORM)?;
    let mut new =
        NewConnector { name: String::new(), config: Given::default(), initial_state: None };
    let mut has_config = false;
    for (key, raw) in &members {
        let path = format!("/{key}");
        match key.as_str() {
            "name" => new.name = scalar(raw, &path)?.unwrap_or_default().trim().to_owned(),
            "config" if raw.get() == "null" => {}
            "config" => {
                new.config = given(raw.get().as_bytes(), &path)?;
                has_config = true;
            }
            "initial_state" => new.initial_state = scalar(raw, &path)?,
            _ => {
                let known = "name, config, initial_state";
                let text = format!("{key} is no member of a new connector; there are {known}");
                return Err(invalid(text).path(path));
            }
        }
    }
    if !has_config {
        return Err(invalid("config is missing").path("/config").hint(FORM));
    }
    Ok(new)
}

/// A configuration that stands alone.
///
/// # Errors
/// Anything that is none.
pub(crate) fn config(bytes: &[u8]) -> Result<Given, RestError> {
    given(bytes, "")
}

fn given(bytes: &[u8], path: &str) -> Result<Given, RestError> {
    let members = object(bytes, r#"send {"key": "value", …}"#).map_err(|error| match path {
        "" => error,
        _ => error.path(path),
    })?;
    let mut given = Given::default();
    for (key, raw) in members {
        let value = scalar(raw, &format!("{path}/{key}"))?;
        given.insert(key, value);
    }
    Ok(given)
}

/// The body of `POST /connectors/{name}/tasks`.
///
/// # Errors
/// Anything that is no list of configurations.
pub(crate) fn task_configs(bytes: &[u8]) -> Result<Vec<Props>, RestError> {
    const FORM: &str = r#"send [{"key": "value", …}, …]"#;
    let raw = serde_json::from_slice::<&RawValue>(bytes).map_err(|error| {
        RestError::new(Code::BodyNotJson, format!("the body is not JSON: {error}")).hint(FORM)
    })?;
    let list = serde_json::from_str::<Vec<&RawValue>>(raw.get());
    let list = list.map_err(|_| wrong(raw, "a list", "").hint(FORM))?;
    let task = |(index, raw): (usize, &&RawValue)| {
        given(raw.get().as_bytes(), &format!("/{index}")).map(|given| given.props)
    };
    list.iter().enumerate().map(task).collect()
}

/// The level of a logger.
///
/// # Errors
/// No level, or no such body.
pub(crate) fn level(bytes: &[u8]) -> Result<String, RestError> {
    let given = given(bytes, "")?;
    given.props.get("level").map(str::to_owned).ok_or_else(|| {
        invalid("Desired 'level' parameter was not specified in request.")
            .path("/level")
            .hint(r#"send {"level": "DEBUG"}"#)
    })
}

/// The body of `PATCH /connectors/{name}/offsets`.
///
/// # Errors
/// Anything that is no such body, or one without offsets.
pub(crate) fn offsets(bytes: &[u8]) -> Result<OffsetsChange, RestError> {
    const FORM: &str = r#"send {"offsets": [{"partition": {…}, "offset": {…}}, …]}"#;
    let members = object(bytes, FORM)?;
    let mut list: Vec<&RawValue> = Vec::new();
    for (key, raw) in &members {
        if key != "offsets" {
            let text = format!("{key} is no member of a change of offsets; there is offsets");
            return Err(invalid(text).path(format!("/{key}")).hint(FORM));
        }
        if raw.get() != "null" {
            let read = serde_json::from_str::<Vec<&RawValue>>(raw.get());
            list = read.map_err(|_| wrong(raw, "a list", "/offsets").hint(FORM))?;
        }
    }
    if list.is_empty() {
        let text = "Partitions / offsets need to be provided for an alter offsets request";
        return Err(invalid(text).path("/offsets").hint(FORM));
    }
    let changes = list.into_iter().enumerate();
    let changes = changes.map(|(index, raw)| change(raw, &format!("/offsets/{index}")));
    Ok(OffsetsChange::Alter(changes.collect::<Result<_, _>>()?))
}

fn change(raw: &RawValue, path: &str) -> Result<Change, RestError> {
    let members = serde_json::from_str::<Members<'_>>(raw.get());
    let members = members.map_err(|_| wrong(raw, "an object", path))?;
    let mut change = Change::default();
    for (key, raw) in members {
        let path = format!("{path}/{key}");
        let map = || match serde_json::from_str::<Option<Map<String, Value>>>(raw.get()) {
            Ok(map) => Ok(map),
            Err(_) => Err(wrong(raw, "an object", &path)),
        };
        match key.as_str() {
            "partition" => change.partition = map()?,
            "offset" => change.offset = map()?,
            _ => {
                let text = format!("{key} is no member of an offset; there are partition, offset");
                return Err(invalid(text).path(path));
            }
        }
    }
    Ok(change)
}

fn object<'a>(bytes: &'a [u8], form: &str) -> Result<Members<'a>, RestError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(RestError::new(Code::BodyNotJson, "the body is empty").hint(form));
    }
    let raw = serde_json::from_slice::<&RawValue>(bytes).map_err(|error| {
        RestError::new(Code::BodyNotJson, format!("the body is not JSON: {error}")).hint(form)
    })?;
    let read = serde_json::from_str::<Members<'a>>(raw.get());
    read.map_err(|_| wrong(raw, "an object", "").hint(form))
}

/// The text of a text, number or boolean; `None` for null.
fn scalar(raw: &RawValue, path: &str) -> Result<Option<String>, RestError> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'n') => Ok(None),
        Some(b'"') => serde_json::from_str(text)
            .map(Some)
            .map_err(|error| invalid(format!("not JSON: {error}")).path(path)),
        Some(b'{' | b'[') => Err(wrong(raw, "text", path)),
        _ => Ok(Some(text.to_owned())),
    }
}

fn invalid(message: impl Into<String>) -> RestError {
    RestError::new(Code::BodyInvalid, message)
}

fn wrong(raw: &RawValue, wanted: &str, path: &str) -> RestError {
    let found = match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "text",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    };
    let place = if path.is_empty() { "the body" } else { path };
    let error = invalid(format!("{place} is {found}, and must be {wanted}"));
    if path.is_empty() { error } else { error.path(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_taken_as_they_are_written() {
        let given = config(br#"{"a":1.50,"b":true,"c":"x\ty","d":null,"e":1e3}"#).unwrap();
        let read = ["a", "b", "c", "d", "e", "f"].map(|key| given.entry(key));
        let wanted = [Some(Some("1.50")), Some(Some("true")), Some(Some("x\ty")), Some(None)];
        assert_eq!(read[..4], wanted);
        assert_eq!(read[4..], [Some(Some("1e3")), None]);
    }

    #[test]
    fn mistakes_name_their_place() {
        let told = |error: RestError| (error.code.facts().1, error.message);
        for (body, part) in [
            ("", "empty"),
            ("{", "not JSON"),
            ("[]", "the body is a list, and must be an object"),
            ("null", "the body is null"),
            (r#"{"name":"x"}"#, "config is missing"),
            (r#"{"name":"x","config":{"a":{"b":1}}}"#, "/config/a is an object, and must be text"),
            (r#"{"name":"x","config":{},"foo":1}"#, "foo is no member"),
            (r#"{"name":["x"],"config":{}}"#, "/name is a list"),
        ] {
            let (status, message) = told(new_connector(body.as_bytes()).err().unwrap());
            assert_eq!(status, 400);
            assert!(message.contains(part), "{body}: {message}");
        }
        for (body, part) in [
            (r#"{"offsets":[]}"#, "need to be provided"),
            ("{}", "need to be provided"),
            (r#"{"key":[]}"#, "key is no member"),
            (r#"{"offsets":{}}"#, "/offsets is an object"),
            (r#"{"offsets":[123]}"#, "/offsets/0 is a number"),
            (r#"{"offsets":[{"key":"v"}]}"#, "key is no member"),
            (r#"{"offsets":[{"partition":[]}]}"#, "/offsets/0/partition is a list"),
        ] {
            let (status, message) = told(offsets(body.as_bytes()).err().unwrap());
            assert_eq!(status, 400);
            assert!(message.contains(part), "{body}: {message}");
        }
    }
}
