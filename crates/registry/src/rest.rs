//! The questions that are asked, and what their answers look like.
//!
//! Invariant: an answer that is not of the expected form is no answer about a schema.

use crate::bounds::Bounds;
use crate::http::{Answer, Ask, Http};
use crate::settings::encode;
use crate::{Draft, Kind, Reference, Refused, Rule, SchemaId, Stored};
use api::{Error, Result};
use serde_json::{Value, json};
use std::sync::Arc;

/// A schema as it is answered: its references are only named.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    pub(crate) kind: Result<Kind, String>,
    pub(crate) text: Arc<str>,
    pub(crate) references: Vec<Reference>,
    pub(crate) id: Option<i32>,
    pub(crate) guid: Option<[u8; 16]>,
    pub(crate) version: Option<i32>,
    pub(crate) rules: Vec<Rule>,
}

/// A version of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    Number(i32),
    Latest,
}

/// The way to the registry, and how long the caller waits.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) http: &'a Http,
    pub(crate) bounds: &'a Bounds,
}

/// A schema by its id or guid. A registry without guids has no schema of any.
pub(crate) fn schema(line: &Line<'_>, id: &SchemaId) -> Result<Result<Plain, Refused>> {
    if let SchemaId::Id(id) = id {
        return get(line, &format!("/schemas/ids/{id}"), plain);
    }
    let ask = Ask { path: &format!("/schemas/guids/{id}"), body: None, optional: true };
    let found = answer(line, &ask, plain)?;
    if found.as_ref().is_err_and(|refused| refused.code == 0) {
        // Any bytes may begin like a guid. Nothing is said about them where nothing of a registry answers
        // under the address: this fails then.
        let _known = get(line, "/schemas/ids/1", plain)?;
    }
    Ok(found)
}

/// The subjects that a schema is registered in, with its versions there. Empty where the registry does
/// not tell.
pub(crate) fn versions(line: &Line<'_>, id: i32) -> Result<Vec<(String, i32)>> {
    let list = get(line, &format!("/schemas/ids/{id}/versions"), |json| {
        let one = |json: &Value| Some((text(json, "subject")?, number(json, "version")?));
        json.as_array()?.iter().map(one).collect::<Option<Vec<_>>>()
    });
    match list {
        Ok(list) => Ok(list.unwrap_or_default()),
        // A registry without this question, or a login that may read schemas only.
        Err(error) if error.kind == api::ErrorKind::Config => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The number of the schema of a guid; none where the registry does not tell.
pub(crate) fn id_of_guid(line: &Line<'_>, guid: &SchemaId) -> Result<Option<i32>> {
    let ids = get(line, &format!("/schemas/guids/{guid}/ids"), |json| {
        Some(json.as_array()?.iter().find_map(|json| number(json, "id")))
    });
    match ids {
        Ok(ids) => Ok(ids.ok().flatten()),
        Err(error) if error.kind == api::ErrorKind::Config => Ok(None),
        Err(error) => Err(error),
    }
}

/// A version of a subject, also one that was deleted: schemas that refer to it still do.
pub(crate) fn version(
    line: &Line<'_>,
    subject: &str,
    version: Version,
) -> Result<Result<Plain, Refused>> {
    let subject = encode(subject);
    let path = match version {
        Version::Number(number) => format!("/subjects/{subject}/versions/{number}?deleted=true"),
        Version::Latest => format!("/subjects/{subject}/versions/latest"),
    };
    get(line, &path, plain)
}

/// Registers a schema.
pub(crate) fn register(
    line: &Line<'_>,
    subject: &str,
    draft: &Draft,
    normalize: bool,
) -> Result<Result<Stored, Refused>> {
    let query = if normalize { "?normalize=true" } else { "" };
    let path = format!("/subjects/{}/versions{query}", encode(subject));
    post(line, &path, draft)
}

/// Finds a schema in a subject.
pub(crate) fn lookup(
    line: &Line<'_>,
    subject: &str,
    draft: &Draft,
    normalize: bool,
) -> Result<Result<Stored, Refused>> {
    let query = if normalize { "?normalize=true" } else { "" };
    post(line, &format!("/subjects/{}{query}", encode(subject)), draft)
}

fn post(line: &Line<'_>, path: &str, draft: &Draft) -> Result<Result<Stored, Refused>> {
    let mut body = json!({"schema": draft.text});
    if draft.kind != Kind::Avro {
        body["schemaType"] = draft.kind.name().into();
    }
    if !draft.references.is_empty() {
        let one = |each: &Reference| json!({"name": each.name, "subject": each.subject, "version": each.version});
        body["references"] = draft.references.iter().map(one).collect();
    }
    let stored = |json: &Value| {
        let (guid, version) = (guid(json), number(json, "version"));
        Some(Stored { id: number(json, "id")?, guid, version })
    };
    answer(line, &Ask { path, body: Some(&body), optional: false }, stored)
}

fn get<T>(
    line: &Line<'_>,
    path: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Result<T, Refused>> {
    answer(line, &Ask { path, body: None, optional: false }, read)
}

fn answer<T>(
    line: &Line<'_>,
    ask: &Ask<'_>,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Result<T, Refused>> {
    match line.http.send(ask, line.bounds)? {
        Answer::Refusal(refused) => Ok(Err(refused)),
        Answer::Success(json) => match read(&json) {
            Some(read) => Ok(Ok(read)),
            None => {
                let text = format!(
                    "{}{}: the answer has another form than a Schema Registry's",
                    line.http.shown(),
                    ask.path
                );
                Err(Error::config(text)
                    .hint("is schema.registry.url the address of a Schema Registry?"))
            }
        },
    }
}

fn plain(json: &Value) -> Option<Plain> {
    let kind = match json.get("schemaType").and_then(Value::as_str) {
        None | Some("") => Ok(Kind::Avro),
        Some(name) => Kind::parse(name).ok_or_else(|| name.to_owned()),
    };
    let one = |json: &Value| {
        let (name, subject) = (text(json, "name")?, text(json, "subject")?);
        Some(Reference { name, subject, version: number(json, "version")? })
    };
    let references = match json.get("references") {
        None | Some(Value::Null) => Vec::new(),
        Some(list) => list.as_array()?.iter().map(one).collect::<Option<_>>()?,
    };
    Some(Plain {
        kind,
        text: json.get("schema")?.as_str()?.into(),
        references,
        id: number(json, "id"),
        guid: guid(json),
        version: number(json, "version"),
        rules: rules(json),
    })
}

/// The rules for values, those switched off left out. What a rule is for is told by its mode; those for the
/// step from one version to another are for neither.
fn rules(json: &Value) -> Vec<Rule> {
    let of = |name| json.get("ruleSet")?.get(name)?.as_array();
    let one = |json: &Value| {
        let mode = text(json, "mode").unwrap_or_default();
        Rule {
            name: text(json, "name").unwrap_or_default(),
            executor: text(json, "type").unwrap_or_default(),
            reads: ["READ", "WRITEREAD"].contains(&&*mode),
            writes: ["WRITE", "WRITEREAD"].contains(&&*mode),
        }
    };
    let all = ["domainRules", "encodingRules"].into_iter().filter_map(of).flatten();
    all.filter(|rule| rule.get("disabled") != Some(&Value::Bool(true))).map(one).collect()
}

fn text(json: &Value, name: &str) -> Option<String> {
    json.get(name)?.as_str().map(str::to_owned)
}

fn number(json: &Value, name: &str) -> Option<i32> {
    json.get(name)?.as_i64().and_then(|number| i32::try_from(number).ok())
}

fn guid(json: &Value) -> Option<[u8; 16]> {
    let digits: String = json.get("guid")?.as_str()?.chars().filter(|c| *c != '-').collect();
    u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32).map(u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_every_kind_and_what_is_none() {
        let avro = plain(&json!({"schema": "\"int\""})).unwrap();
        assert_eq!((avro.kind, avro.references.len()), (Ok(Kind::Avro), 0));
        let guid = "89791762-2336-4186-9674-299b90a802e2";
        let full = json!({"schema": "s", "schemaType": "PROTOBUF", "id": 7, "version": 2, "guid": guid,
            "references": [{"name": "a.proto", "subject": "a", "version": 1}]});
        let full = plain(&full).unwrap();
        assert_eq!((full.kind, full.id, full.version), (Ok(Kind::Protobuf), Some(7), Some(2)));
        assert_eq!(SchemaId::Guid(full.guid.unwrap()).to_string(), guid);
        assert_eq!(full.references[0].subject, "a");
        assert_eq!(
            plain(&json!({"schema": "s", "schemaType": "XML"})).unwrap().kind,
            Err("XML".into())
        );
        let rule = |name: &str, mode: &str, off: bool| json!({"name": name, "type": "CEL", "mode": mode, "disabled": off});
        let rules = json!({"schema": "s", "ruleSet": {
            "domainRules": [rule("a", "READ", false), rule("b", "WRITEREAD", true)],
            "encodingRules": [rule("c", "WRITEREAD", false)],
            "migrationRules": [rule("d", "UPGRADE", false)]}});
        let rules = plain(&rules).unwrap().rules;
        let told = rules.iter().map(|rule| (rule.to_string(), rule.reads, rule.writes));
        let wanted = [("a (CEL)".to_owned(), true, false), ("c (CEL)".to_owned(), true, true)];
        assert!(told.eq(wanted), "{rules:?}");
        assert_eq!(plain(&json!({"schema": "s", "ruleSet": null})).unwrap().rules, []);
        for other in [json!({}), json!({"schema": 1}), json!({"schema": "s", "references": [{}]})] {
            assert!(plain(&other).is_none(), "{other}");
        }
    }
}
