//! One form for answers that mean the same.

use serde_json::{Map, Value as Json, json};

/// An answer in canonical form: schemas as objects, floats as numbers of their width, maps sorted,
/// nulls of structs left out, no answer and null without a schema as one.
pub fn canonical(answer: &Json) -> Json {
    if answer.get("none").is_some() {
        return json!({"schema": null, "value": null});
    }
    match answer {
        Json::Object(members) => Json::Object(
            members.iter().map(|(name, node)| (name.clone(), member(name, node))).collect(),
        ),
        Json::Array(items) => Json::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

/// A member of an answer by its name: wherever a schema or a value can stand, it is called so.
fn member(name: &str, node: &Json) -> Json {
    match name {
        "schema" => schema(node),
        "value" if node.is_object() => value(node),
        "sourcePartition" | "sourceOffset" => value(node),
        "record" | "records" | "results" | "headers" | "key" | "original" | "value" => {
            canonical(node)
        }
        _ => node.clone(),
    }
}

fn schema(node: &Json) -> Json {
    let node = match node {
        Json::String(name) => json!({"type": name}),
        node => node.clone(),
    };
    let Json::Object(members) = node else { return node };
    let part = |(name, node): (String, Json)| {
        let node = match name.as_str() {
            "keys" | "values" => schema(&node),
            "default" => value(&node),
            "parameters" => sorted(&node),
            "fields" => {
                let fields = node.as_array().into_iter().flatten();
                let fields =
                    fields.map(|f| json!({"name": f["name"], "schema": schema(&f["schema"])}));
                Json::Array(fields.collect())
            }
            _ => node,
        };
        (name, node)
    };
    let kept = |(name, node): &(String, Json)| match name.as_str() {
        "optional" => node == true,
        // An empty list of fields is a struct without fields.
        "fields" => node.as_array().is_some_and(|fields| !fields.is_empty()),
        "keys" | "values" => true,
        _ => !node.is_null(),
    };
    sorted(&Json::Object(members.into_iter().map(part).filter(kept).collect()))
}

fn sorted(node: &Json) -> Json {
    let Json::Object(members) = node else { return node.clone() };
    let mut members: Vec<(String, Json)> =
        members.iter().map(|(name, node)| (name.clone(), node.clone())).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    Json::Object(members.into_iter().collect())
}

/// A value, or a pair (which has members of these names too).
fn value(node: &Json) -> Json {
    let Json::Object(members) = node else { return node.clone() };
    let is_pair =
        members.len() == 2 && members.contains_key("schema") && members.contains_key("value");
    if is_pair {
        return canonical(node);
    }
    let Some((tag, content)) = members.iter().next() else { return node.clone() };
    let of_list = |node: &Json| node.as_array().into_iter().flatten().map(value).collect();
    match tag.as_str() {
        "f32" => json!({"f32": number(content, |value| f64::from(value as f32))}),
        "f64" => json!({"f64": number(content, |value| value)}),
        "bytes" | "bytebuffer" => json!({"bytes": content}),
        "list" => json!({"list": Json::Array(of_list(content))}),
        "map" => {
            let entries = content.as_array().into_iter().flatten();
            let mut entries: Vec<Json> = entries.map(|entry| Json::Array(of_list(entry))).collect();
            entries.sort_by_key(ToString::to_string);
            json!({"map": entries})
        }
        "struct" => {
            let fields = content.as_object().into_iter().flatten();
            let fields = fields.filter(|(_, node)| !node.is_null());
            let fields: Map<_, _> =
                fields.map(|(name, node)| (name.clone(), value(node))).collect();
            let mut written = json!({"struct": sorted(&Json::Object(fields))});
            if let Some(own) = members.get("schema") {
                written["schema"] = schema(own);
            }
            written
        }
        _ => node.clone(),
    }
}

fn number(node: &Json, width: impl Fn(f64) -> f64) -> Json {
    let value = match node {
        Json::String(text) => text.parse().ok(),
        node => node.as_f64(),
    };
    value.map_or_else(|| node.clone(), |value| crate::notation::write_float(width(value)))
}
