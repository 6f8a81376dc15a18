//! What a schema refers to, all the way down.
//!
//! Invariant: the result is a tree of finite depth; a circle and a tree that is too deep or too large
//! are reasons why the schema cannot be read.

use crate::rest::Plain;
use crate::{Missing, Reference, Registered, SchemaId};
use api::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// A schema refers to one that refers to another … this often.
const DEPTH_MAX: usize = 64;
/// Schemas that one refers to, all the way down.
const SCHEMAS_MAX: usize = 1000;

/// Gives the schema of a subject's version.
type Look<'a> = &'a dyn Fn(&str, i32) -> Result<Result<Plain, Missing>>;

/// The schema with everything that it refers to.
///
/// # Errors
/// Those of `look`. The inner one: something it refers to is missing.
pub(crate) fn resolve(
    id: SchemaId,
    plain: &Plain,
    subject: Option<String>,
    version: Option<i32>,
    look: Look<'_>,
) -> Result<Result<Arc<Registered>, Missing>> {
    let mut walk = Walk { look, known: HashMap::new(), path: Vec::new() };
    let found = walk.one(id, plain, subject, version)?;
    Ok(found.map_err(|missing| Missing(format!("schema {id} cannot be read: {missing}"))))
}

struct Walk<'a> {
    look: Look<'a>,
    known: HashMap<(String, i32), Arc<Registered>>,
    /// From the schema that is asked for to the one looked at.
    path: Vec<(String, i32)>,
}

impl Walk<'_> {
    fn one(
        &mut self,
        id: SchemaId,
        plain: &Plain,
        subject: Option<String>,
        version: Option<i32>,
    ) -> Result<Result<Arc<Registered>, Missing>> {
        let kind = match &plain.kind {
            Ok(kind) => *kind,
            Err(name) => return Ok(Err(Missing(format!("its type {name} is not known here")))),
        };
        let mut references = Vec::with_capacity(plain.references.len());
        for reference in &plain.references {
            match self.reference(reference)? {
                Ok(found) => references.push((reference.clone(), found)),
                Err(missing) => return Ok(Err(missing)),
            }
        }
        let (text, rules) = (plain.text.clone(), plain.rules.clone());
        Ok(Ok(Arc::new(Registered { id, kind, text, subject, version, references, rules })))
    }

    fn reference(&mut self, reference: &Reference) -> Result<Result<Arc<Registered>, Missing>> {
        let key = (reference.subject.clone(), reference.version);
        if let Some(known) = self.known.get(&key) {
            return Ok(Ok(known.clone()));
        }
        let refuse = |text: String| Ok(Err(Missing(text)));
        if self.path.contains(&key) {
            let step = |(subject, version): &(String, i32)| format!("{subject} {version}");
            let steps: Vec<String> = self.path.iter().chain([&key]).map(step).collect();
            return refuse(format!("its references go round in a circle: {}", steps.join(" → ")));
        }
        if self.path.len() == DEPTH_MAX {
            return refuse(format!("its references are more than {DEPTH_MAX} deep"));
        }
        if self.known.len() == SCHEMAS_MAX {
            return refuse(format!("it refers to more than {SCHEMAS_MAX} schemas"));
        }
        let plain = match (self.look)(&reference.subject, reference.version)? {
            Ok(plain) => plain,
            Err(missing) => return Ok(Err(missing)),
        };
        self.path.push(key.clone());
        let id = SchemaId::Id(plain.id.unwrap_or(-1));
        let (subject, version) = (Some(reference.subject.clone()), plain.version);
        let found = self.one(id, &plain, subject, version)?;
        self.path.pop();
        if let Ok(found) = &found {
            self.known.insert(key, found.clone());
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn plain(references: &[(&str, i32)]) -> Plain {
        let one = |(subject, version): &(&str, i32)| Reference {
            name: format!("{subject}.avsc"),
            subject: (*subject).to_owned(),
            version: *version,
        };
        Plain {
            kind: Ok(Kind::Avro),
            text: "s".into(),
            references: references.iter().map(one).collect(),
            id: Some(9),
            guid: None,
            version: Some(1),
            rules: Vec::new(),
        }
    }

    fn top(
        references: &[(&str, i32)],
        look: impl Fn(&str, i32) -> Result<Result<Plain, Missing>>,
    ) -> Result<Arc<Registered>, String> {
        let found = resolve(SchemaId::Id(1), &plain(references), None, None, &look).unwrap();
        found.map_err(|missing| missing.0)
    }

    #[test]
    fn a_schema_that_two_refer_to_is_one() {
        let asked = std::cell::RefCell::new(Vec::new());
        let found = top(&[("a", 1), ("b", 1)], |subject, version| {
            asked.borrow_mut().push((subject.to_owned(), version));
            Ok(Ok(if subject == "c" { plain(&[]) } else { plain(&[("c", 2)]) }))
        })
        .unwrap();
        assert_eq!(asked.into_inner().len(), 3);
        let inner = |at: usize| found.references[at].1.references[0].1.clone();
        assert!(Arc::ptr_eq(&inner(0), &inner(1)));
        assert_eq!(inner(0).subject.as_deref(), Some("c"));
    }

    #[test]
    fn circles_and_depths_end() {
        let circle = top(&[("a", 1)], |subject, _| {
            Ok(Ok(plain(&[(if subject == "a" { "b" } else { "a" }, 1)])))
        });
        let text = circle.unwrap_err();
        assert!(text.contains("a 1 → b 1 → a 1") && text.contains("schema 1"), "{text}");
        let deep = top(&[("a", 1)], |_, version| Ok(Ok(plain(&[("a", version + 1)]))));
        assert!(deep.unwrap_err().contains("64 deep"));
        let wide = top(&[("a", 1)], |subject, _| {
            // The first refers to a long list.
            let list: Vec<(&str, i32)> = (0..1100).map(|n| ("leaf", n)).collect();
            Ok(Ok(if subject == "a" { plain(&list) } else { plain(&[]) }))
        });
        assert!(wide.unwrap_err().contains("1000 schemas"));
    }

    #[test]
    fn what_is_missing_below_is_named() {
        let missing = top(&[("a", 1)], |_, _| Ok(Err(Missing("a 1 is lost".to_owned()))));
        assert_eq!(missing.unwrap_err(), "schema 1 cannot be read: a 1 is lost");
        let away = resolve(SchemaId::Id(1), &plain(&[("a", 1)]), None, None, &|_, _| {
            Err(api::Error::retriable("away"))
        });
        assert!(away.is_err());
    }
}
