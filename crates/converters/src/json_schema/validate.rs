//! `json.fail.invalid.schema`: values against everything that their schema says.
//!
//! Off the usual way, and slow: a value is parsed once more. The validator is a crate's; it gets one
//! document in which every `$ref` is a pointer, so that it never looks for anything elsewhere.

use super::documents::Documents;
use super::options::Options;
use super::stack::{deep, nesting};
use super::tree::Json;
use jsonschema::Draft;
use registry::Registered;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A schema ready to check values.
pub(super) struct Validator(jsonschema::Validator);

/// Why a value is not valid, and where: `outer.list[3]`.
pub(super) struct Invalid {
    pub(super) message: String,
    pub(super) column: Option<String>,
}

/// Where the other documents are in the one.
const OTHERS: &str = "copycat:documents";

/// Members that say what a part is called, which nobody asks any more.
const NAMES: [&str; 5] = ["$id", "id", "$anchor", "$dynamicAnchor", "$schema"];

/// Members whose values are no schemas.
const VALUES: [&str; 5] = ["enum", "const", "default", "examples", "connect.parameters"];

impl Validator {
    /// # Errors
    /// Why the schema cannot be used to check anything.
    pub(super) fn new(options: &Options, schema: &Registered) -> Result<Validator, String> {
        deep(nesting(schema), || Validator::new_here(options, schema))
    }

    fn new_here(options: &Options, schema: &Registered) -> Result<Validator, String> {
        let documents = Documents::new(schema)?;
        let root = documents.root().ok_or("it is empty")?;
        let mut bundle =
            Bundle { places: HashMap::new(), anchors: documents.anchors(), documents: &documents };
        for index in 0..documents.len() {
            let start = if index == 0 { "#".to_owned() } else { format!("#/{OTHERS}/{index}") };
            if let Some(at) = documents.at(index) {
                bundle.place(at.node, start);
            }
        }
        let mut whole = bundle.copy(0, root.node)?;
        let mut others = Map::new();
        for index in 1..documents.len() {
            if let Some(at) = documents.at(index) {
                others.insert(index.to_string(), bundle.copy(index, at.node)?);
            }
        }
        if let Value::Object(members) = &mut whole
            && !others.is_empty()
        {
            members.insert(OTHERS.to_owned(), Value::Object(others));
        }
        let draft = draft(options, root.node);
        let validator = jsonschema::options().with_draft(draft).build(&whole);
        validator.map(Validator).map_err(|error| error.masked().to_string())
    }

    /// # Errors
    /// The first thing that is wrong with a value.
    pub(super) fn check(&self, value: &[u8]) -> Result<(), Invalid> {
        let wrong = |message: String| Invalid { message, column: None };
        let value: Value = serde_json::from_slice(value)
            .map_err(|error| wrong(format!("the JSON text: {error}")))?;
        self.0.validate(&value).map_err(|error| {
            let column = column(&error.instance_path().to_string());
            let message = format!("Validation error in JSON: {}", error.masked());
            Invalid { message, column }
        })
    }
}

/// A pointer as the path that errors have.
fn column(pointer: &str) -> Option<String> {
    let mut path = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{step}]"));
            continue;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&step);
    }
    (!path.is_empty()).then_some(path)
}

fn draft(options: &Options, root: &Json) -> Draft {
    let url = root.text("$schema").unwrap_or_default();
    match url {
        url if url.contains("draft-04") => Draft::Draft4,
        url if url.contains("draft-06") => Draft::Draft6,
        url if url.contains("2019-09") && !options.ignore_modern => Draft::Draft201909,
        url if url.contains("2020-12") && !options.ignore_modern => Draft::Draft202012,
        _ => Draft::Draft7,
    }
}

struct Bundle<'t> {
    documents: &'t Documents,
    anchors: super::documents::Anchors<'t>,
    /// Pointers to parts, by where these are in memory.
    places: HashMap<*const Json, String>,
}

impl<'t> Bundle<'t> {
    fn place(&mut self, node: &'t Json, pointer: String) {
        for member in node.members() {
            let step = member.name.replace('~', "~0").replace('/', "~1").replace('%', "%25");
            self.place(&member.value, format!("{pointer}/{step}"));
        }
        for (index, item) in node.items().iter().enumerate() {
            self.place(item, format!("{pointer}/{index}"));
        }
        self.places.insert(node, pointer);
    }

    fn copy(&self, document: usize, node: &'t Json) -> Result<Value, String> {
        Ok(match node {
            Json::Object(members) => {
                let mut copied = Map::new();
                for member in members {
                    let name = member.name.as_str();
                    let is_text = matches!(member.value, Json::Text(_));
                    let value = match &member.value {
                        Json::Text(reference) if name == "$ref" => {
                            Value::String(self.pointer(document, node, reference)?)
                        }
                        _ if is_text && NAMES.contains(&name) => continue,
                        value if VALUES.contains(&name) => plain(value)?,
                        value => self.copy(document, value)?,
                    };
                    copied.insert(name.to_owned(), value);
                }
                Value::Object(copied)
            }
            Json::List(items) => {
                let items = items.iter().map(|item| self.copy(document, item));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            scalar => plain(scalar)?,
        })
    }

    fn pointer(&self, document: usize, node: &'t Json, reference: &str) -> Result<String, String> {
        let at = super::documents::At { document, node };
        let found = self.documents.find(&self.anchors, at, reference);
        let place = found.and_then(|found| self.places.get(&std::ptr::from_ref(found.node)));
        place.cloned().ok_or_else(|| format!("$ref \"{reference}\" leads nowhere"))
    }
}

fn plain(node: &Json) -> Result<Value, String> {
    let mut text = Vec::new();
    node.write(&mut text);
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}
