//! A schema and those that it refers to, and what a `$ref` in one of them means.
//!
//! Source: JSON Schema (`$ref`, `$id`, `$anchor`, `$defs`) and the registry's references, whose
//! names are what a `$ref` says before its `#`. Nothing is ever fetched.

use super::tree::Json;
use registry::Registered;
use std::collections::HashMap;

/// Documents that are read for one schema; more are refused.
const DOCUMENTS_MAX: usize = 1000;

/// One schema's text, and where its named parts are.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) text: Vec<u8>,
    pub(super) root: Json,
    /// The names that `$ref`s of other documents call it by.
    names: Vec<String>,
}

/// The schema itself first.
#[derive(Debug)]
pub(super) struct Documents {
    list: Vec<Document>,
}

/// A part of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'t> {
    pub(super) document: usize,
    pub(super) node: &'t Json,
}

impl At<'_> {
    pub(super) fn is(&self, other: &At<'_>) -> bool {
        std::ptr::eq(self.node, other.node)
    }
}

/// The parts of each document that a fragment other than a pointer names.
#[derive(Default)]
pub(super) struct Anchors<'t> {
    fragments: HashMap<(usize, &'t str), &'t Json>,
    ids: HashMap<String, At<'t>>,
}

impl Documents {
    /// # Errors
    /// A text that is no JSON, or too many of them.
    pub(super) fn new(schema: &Registered) -> Result<Documents, String> {
        let mut documents = Documents { list: Vec::new() };
        documents.add(String::new(), schema)?;
        Ok(documents)
    }

    fn add(&mut self, name: String, schema: &Registered) -> Result<(), String> {
        if let Some(known) =
            self.list.iter_mut().find(|known| *known.text == *schema.text.as_bytes())
        {
            known.names.push(name);
            return Ok(());
        }
        if self.list.len() >= DOCUMENTS_MAX {
            return Err(format!("it refers to more than {DOCUMENTS_MAX} schemas"));
        }
        let text = schema.text.as_bytes().to_vec();
        let root = Json::parse(&text).map_err(|fault| {
            let place = if name.is_empty() { String::new() } else { format!("{name}: ") };
            format!("{place}{}", fault.message())
        })?;
        self.list.push(Document { text, root, names: vec![name] });
        for (reference, schema) in &schema.references {
            self.add(reference.name.clone(), schema)?;
        }
        Ok(())
    }

    pub(super) fn root(&self) -> Option<At<'_>> {
        self.at(0)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn at(&self, index: usize) -> Option<At<'_>> {
        self.list.get(index).map(|document| At { document: index, node: &document.root })
    }

    /// The bytes of a member's value.
    pub(super) fn bytes(&self, document: usize, raw: std::ops::Range<usize>) -> &[u8] {
        self.list.get(document).and_then(|document| document.text.get(raw)).unwrap_or_default()
    }

    /// Collects the anchors and ids of all documents.
    pub(super) fn anchors(&self) -> Anchors<'_> {
        let mut anchors = Anchors::default();
        for (index, document) in self.list.iter().enumerate() {
            let base = id(&document.root).unwrap_or_default();
            for name in &document.names {
                let at = At { document: index, node: &document.root };
                anchors.ids.entry(name.clone()).or_insert(at);
                let root = self.list.first().and_then(|root| id(&root.root)).unwrap_or_default();
                anchors.ids.entry(resolve(root, name)).or_insert(at);
            }
            collect(At { document: index, node: &document.root }, base, &mut anchors);
        }
        anchors
    }

    /// The part that a `$ref` found in `from`'s document means.
    pub(super) fn find<'t>(
        &'t self,
        anchors: &Anchors<'t>,
        from: At<'t>,
        reference: &str,
    ) -> Option<At<'t>> {
        let (place, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let own = self.list.get(from.document)?;
        let start = if place.is_empty() {
            At { document: from.document, node: &own.root }
        } else {
            let base = id(&own.root).unwrap_or_default();
            *anchors.ids.get(place).or_else(|| anchors.ids.get(&resolve(base, place)))?
        };
        let fragment = unescape_percent(fragment);
        if fragment.is_empty() {
            return Some(start);
        }
        let node = match fragment.strip_prefix('/') {
            Some(pointer) => point(start.node, pointer)?,
            None => *anchors.fragments.get(&(start.document, fragment.as_str()))?,
        };
        Some(At { document: start.document, node })
    }
}

fn id(node: &Json) -> Option<&str> {
    node.text("$id").or_else(|| node.text("id"))
}

fn collect<'t>(at: At<'t>, base: &str, anchors: &mut Anchors<'t>) {
    let At { document, node } = at;
    for key in ["$anchor", "$dynamicAnchor", "$id", "id"] {
        let Some(name) = node.text(key) else { continue };
        match name.strip_prefix('#') {
            Some(fragment) => {
                anchors.fragments.entry((document, fragment)).or_insert(node);
            }
            None if key.ends_with("nchor") => {
                anchors.fragments.entry((document, name)).or_insert(node);
            }
            None => {
                anchors.ids.entry(name.to_owned()).or_insert(at);
                anchors.ids.entry(resolve(base, name)).or_insert(at);
            }
        }
    }
    for member in node.members() {
        collect(At { document, node: &member.value }, base, anchors);
    }
    for item in node.items() {
        collect(At { document, node: item }, base, anchors);
    }
}

/// Follows a JSON pointer without its first slash. What is looked for in one of the two members that
/// hold definitions may be in the other.
fn point<'t>(root: &'t Json, pointer: &str) -> Option<&'t Json> {
    let mut node = root;
    for (index, step) in pointer.split('/').enumerate() {
        let step = step.replace("~1", "/").replace("~0", "~");
        let found = match node {
            Json::List(items) => step.parse::<usize>().ok().and_then(|place| items.get(place)),
            _ => node.get(&step),
        };
        node = match (index, step.as_str()) {
            (0, "$defs") if found.is_none() => node.get("definitions")?,
            (0, "definitions") if found.is_none() => node.get("$defs")?,
            _ => found?,
        };
    }
    Some(node)
}

/// A reference that is not absolute, seen from the address of a document.
fn resolve(base: &str, reference: &str) -> String {
    let absolute = reference.split(['/', '#']).next().is_some_and(|head| head.contains(':'));
    if absolute || base.is_empty() {
        return reference.to_owned();
    }
    let authority = base.find("://").map_or(0, |at| {
        let path = base.get(at + 3..).and_then(|rest| rest.find('/'));
        path.map_or(base.len(), |path| at + 3 + path)
    });
    let (host, path) = base.split_at(authority);
    let folder = match (reference.starts_with('/'), path.rfind('/')) {
        (true, _) => "",
        (false, Some(end)) => path.get(..=end).unwrap_or_default(),
        (false, None) if authority > 0 => "/",
        (false, None) => "",
    };
    let mut steps: Vec<&str> = Vec::new();
    let whole = format!("{folder}{reference}");
    for step in whole.split('/') {
        match step {
            "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("{host}{}", steps.join("/"))
}

fn unescape_percent(fragment: &str) -> String {
    if !fragment.contains('%') {
        return fragment.to_owned();
    }
    let mut out = Vec::with_capacity(fragment.len());
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry::{Kind, Reference, SchemaId};
    use std::sync::Arc;

    fn registered(text: &str, references: Vec<(Reference, Arc<Registered>)>) -> Registered {
        Registered {
            id: SchemaId::Id(1),
            kind: Kind::Json,
            text: text.into(),
            subject: None,
            version: None,
            references,
            rules: Vec::new(),
        }
    }

    #[test]
    fn every_form_of_a_reference_is_found() {
        let other = registered(
            r##"{"$id":"http://h/other.json","definitions":{"x":{"title":"other x"}},"title":"other"}"##,
            Vec::new(),
        );
        let reference = Reference { name: "lib/other".into(), subject: "other".into(), version: 1 };
        let schema = registered(
            r##"{"$id":"http://h/dir/root.json","definitions":{"a/b":{"title":"ab"},"c":{"$anchor":"see","title":"c"},
            "d":{"id":"#old","title":"d"},"e":{"$id":"part.json","title":"e"}},"title":"root"}"##,
            vec![(reference, Arc::new(other))],
        );
        let documents = Documents::new(&schema).unwrap();
        let anchors = documents.anchors();
        let find = |reference: &str| {
            let found = documents.find(&anchors, documents.root().unwrap(), reference);
            found.and_then(|at| at.node.text("title")).map(str::to_owned)
        };
        for (reference, title) in [
            ("#", "root"),
            ("#/definitions/a~1b", "ab"),
            ("#/definitions/a%7E1b", "ab"),
            ("#/$defs/c", "c"),
            ("#see", "c"),
            ("#old", "d"),
            ("part.json", "e"),
            ("http://h/dir/part.json", "e"),
            ("lib/other", "other"),
            ("lib/other#/definitions/x", "other x"),
            ("http://h/dir/lib/other", "other"),
            ("../other.json#/$defs/x", "other x"),
            ("/other.json", "other"),
        ] {
            assert_eq!(find(reference).as_deref(), Some(title), "{reference}");
        }
        for missing in ["#/definitions/zz", "#zz", "zz.json", "#/definitions/c/0"] {
            assert_eq!(find(missing), None, "{missing}");
        }
    }
}
