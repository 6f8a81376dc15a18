//! The OpenAPI 3.1 document, written from the table of routes: a route that is dispatched is in it, and
//! one that is not is not. Only the two routes that workers use among themselves are left out.

mod operations;
mod schemas;

use crate::codes::Code;
use crate::routes::{PLACES, Part, Place};
use operations::{Description, describe};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(crate) use operations::describe as description;

/// Errors that every request may come to.
const EVERYWHERE: [Code; 6] = [
    Code::BadPath,
    Code::RouteNotFound,
    Code::NotAcceptable,
    Code::TimedOut,
    Code::ShuttingDown,
    Code::Internal,
];
/// Errors that requests with a body may come to.
const WITH_BODY: [Code; 6] = [
    Code::UnsupportedMediaType,
    Code::BodyTooLarge,
    Code::BodyTooSlow,
    Code::BodyBroken,
    Code::BodyNotJson,
    Code::BodyInvalid,
];

/// The document of a worker of this version; `secured` if it asks for passwords.
pub(crate) fn document(version: &str, secured: bool) -> Value {
    let mut paths = Map::new();
    for place in &PLACES {
        let operations = place.operations.iter().filter_map(|(method, operation)| {
            let described = describe(*operation)?;
            Some((method.to_ascii_lowercase(), operation_object(place, &described, secured)))
        });
        let operations: Map<String, Value> = operations.collect();
        if !operations.is_empty() {
            paths.insert(place.path.to_owned(), Value::Object(operations));
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Copycat",
            "summary": "Kafka Connect's REST interface",
            "description": "Errors have Kafka Connect's error_code and message, and a code that stays \
                            the same between releases. Additions to other answers are in the member \
                            copycat.",
            "version": version,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "tags": tags(),
        "paths": paths,
        "components": { "schemas": schemas::all() },
    });
    if secured {
        document["security"] = json!([{ "basic": [] }]);
        document["components"]["securitySchemes"] =
            json!({ "basic": { "type": "http", "scheme": "basic" } });
    }
    document
}

fn tags() -> Value {
    let tag = |name: &str, text: &str| json!({ "name": name, "description": text });
    json!([
        tag("worker", "The worker itself"),
        tag("connectors", "Connectors, their tasks and topics"),
        tag("offsets", "Where connectors are"),
        tag("plugins", "What connectors can be made of"),
        tag("workers", "The workers of the cluster"),
        tag("admin", "Log levels"),
    ])
}

fn operation_object(place: &Place, described: &Description, secured: bool) -> Value {
    let mut parameters: Vec<Value> = path_parameters(place.path);
    parameters.extend(described.query.iter().map(|query| {
        json!({
            "name": query.name,
            "in": "query",
            "description": query.text,
            "schema": query.schema(),
        })
    }));
    let mut object = json!({
        "operationId": described.id,
        "tags": [described.tag],
        "summary": described.summary,
        "responses": responses(described, secured && place.part == Part::Main),
    });
    if !parameters.is_empty() {
        object["parameters"] = Value::Array(parameters);
    }
    if let Some(schema) = described.body {
        object["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference(schema) } },
        });
    }
    object
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let schema = match name {
            "task" => json!({ "type": "integer", "format": "int32" }),
            _ => json!({ "type": "string", "minLength": 1 }),
        };
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    };
    names.map(parameter).collect()
}

fn responses(described: &Description, secured: bool) -> Value {
    let mut responses = BTreeMap::new();
    for answer in described.answers {
        let mut response = json!({ "description": answer.text });
        if answer.schema == Some(operations::TEXT) {
            let text = json!({ "schema": { "type": "string" } });
            response["content"] =
                json!({ "text/plain": text, "application/openmetrics-text": text });
        } else if let Some(schema) = answer.schema {
            response["content"] = json!({ "application/json": { "schema": reference(schema) } });
        }
        if answer.status == 201 {
            response["headers"] = json!({
                "Location": {
                    "description": "Where the connector is",
                    "schema": { "type": "string" },
                },
            });
        }
        responses.insert(answer.status.to_string(), response);
    }
    let mut codes: Vec<Code> = described.errors.to_vec();
    codes.extend(EVERYWHERE);
    if described.body.is_some() {
        codes.extend(WITH_BODY);
    }
    if secured {
        codes.push(Code::ReadOnly);
        responses.insert(
            "401".to_owned(),
            json!({
                "description": "No password, or a wrong one",
                "content": { "text/plain": { "schema": { "type": "string" } } },
            }),
        );
    }
    let mut by_status: BTreeMap<u16, Vec<(&str, &str)>> = BTreeMap::new();
    for (word, status, text) in codes.into_iter().map(Code::facts) {
        by_status.entry(status).or_default().push((word, text));
    }
    for (status, meanings) in by_status {
        let lines: Vec<String> =
            meanings.iter().map(|(word, text)| format!("{word}: {text}")).collect();
        let errors = json!({
            "description": lines.join("; "),
            "content": { "application/json": { "schema": reference("Error") } },
        });
        // The health of a worker that is not healthy has a body of its own.
        responses.entry(status.to_string()).or_insert(errors);
    }
    json!(responses)
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_is_in_the_document_and_nothing_else() {
        let document = document("1", false);
        let mut dispatched = BTreeSet::new();
        let mut internal = Vec::new();
        for place in &PLACES {
            for (method, operation) in place.operations {
                let route = (place.path.to_owned(), method.to_ascii_lowercase());
                if operation.is_internal() {
                    internal.push(route);
                } else {
                    dispatched.insert(route);
                }
            }
        }
        let mut documented = BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            let methods = operations.as_object().unwrap().keys();
            documented.extend(methods.map(|method| (path.clone(), method.clone())));
        }
        assert_eq!(documented, dispatched);
        assert_eq!(internal.len(), 2, "{internal:?}");
        for route in internal {
            assert!(!documented.contains(&route), "{route:?}");
        }
    }

    #[test]
    fn references_lead_somewhere_and_ids_are_used_once() {
        let document = document("1", true);
        let mut ids = BTreeSet::new();
        let mut work = vec![&document];
        while let Some(value) = work.pop() {
            if let Some(id) = value.get("operationId") {
                assert!(ids.insert(id.as_str().unwrap()), "{id}");
            }
            if let Some(target) = value.get("$ref").and_then(Value::as_str) {
                let pointer = target.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{target}");
            }
            match value {
                Value::Object(members) => work.extend(members.values()),
                Value::Array(items) => work.extend(items),
                _ => {}
            }
        }
        assert!(ids.len() > 25, "{ids:?}");
    }
}
