//! What a configuration asks to cast.

use data::Type;

/// Nothing to cast.
pub(super) const EMPTY: &str = "Must specify at least one field to cast.";

const TARGETS: [Type; 8] = [
    Type::Int8,
    Type::Int16,
    Type::Int32,
    Type::Int64,
    Type::Float32,
    Type::Float64,
    Type::Boolean,
    Type::String,
];

/// The types of fields by name, or of the whole value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spec {
    Whole(Type),
    Fields(Vec<(String, Type)>),
}

impl Spec {
    /// Reads the items of the key.
    ///
    /// # Errors
    /// The whole error text.
    pub(super) fn parse(key: &str, items: &[String]) -> Result<Spec, String> {
        let mut fields: Vec<(String, Type)> = Vec::new();
        let mut whole = None;
        for item in items {
            // As Java splits: empty parts at the end do not count.
            let mut parts: Vec<&str> = item.split(':').collect();
            while parts.last().is_some_and(|part| part.is_empty()) && parts.len() > 1 {
                parts.pop();
            }
            match parts[..] {
                [kind] => whole = Some(target(key, item, kind)?),
                [field, kind] => {
                    let kind = target(key, item, kind)?;
                    let field = field.trim();
                    if field.is_empty() {
                        let fault = "A type for a field without a name";
                        return Err(config::invalid(key, item, fault));
                    }
                    fields.retain(|(known, _)| known != field);
                    fields.push((field.to_owned(), kind));
                }
                _ => return Err(two_colons(items, item)),
            }
        }
        match whole {
            None if fields.is_empty() => Err(EMPTY.to_owned()),
            None => Ok(Spec::Fields(fields)),
            Some(_) if items.len() > 1 => Err(
                "Cast transformations that specify a type to cast the entire value to may only \
                 specify a single cast in their spec"
                    .to_owned(),
            ),
            Some(target) => Ok(Spec::Whole(target)),
        }
    }

    pub(super) fn fields(&self) -> &[(String, Type)] {
        match self {
            Spec::Whole(_) => &[],
            Spec::Fields(fields) => fields,
        }
    }

    /// The type that a field is cast to.
    pub(super) fn target(&self, field: &str) -> Option<Type> {
        self.fields().iter().find(|(name, _)| name == field).map(|(_, target)| *target)
    }
}

/// Connect's text, which speaks of renames.
fn two_colons(items: &[String], item: &str) -> String {
    let all = config::Value::List(items.to_vec());
    config::invalid("renames", &all, &format!("Invalid rename mapping: {item}"))
}

fn target(key: &str, item: &str, word: &str) -> Result<Type, String> {
    let word = word.trim();
    let Some(kind) = Type::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word))
    else {
        let fault = format!("Invalid type found in casting spec: {word}");
        return Err(config::invalid(key, &item, &fault));
    };
    if !TARGETS.contains(&kind) {
        let targets = TARGETS.map(Type::name).join(", ");
        return Err(format!(
            "Cast transformation does not support casting to {}; supported types are [{targets}]",
            kind.name()
        ));
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Spec, String> {
        let items: Vec<String> = text.split(',').map(str::to_owned).collect();
        Spec::parse("spec", &items)
    }

    #[test]
    fn types_in_any_case_for_fields_or_the_whole() {
        let fields = vec![("a".to_owned(), Type::String), ("b".to_owned(), Type::Int8)];
        assert_eq!(parse("a:int64,a : STRING , b:Int8:"), Ok(Spec::Fields(fields)));
        assert_eq!(parse("float32"), Ok(Spec::Whole(Type::Float32)));
    }

    #[test]
    fn what_is_wrong_is_told_with_key_and_value() {
        for (text, wanted) in [
            (
                "a:int9",
                "Invalid value a:int9 for configuration spec: Invalid type found in casting spec: int9",
            ),
            (
                "a:",
                "Invalid value a: for configuration spec: Invalid type found in casting spec: a",
            ),
            (":", "Invalid value : for configuration spec: Invalid type found in casting spec: "),
            (
                ":int8",
                "Invalid value :int8 for configuration spec: A type for a field without a name",
            ),
            (
                "a:int8,",
                "Invalid value  for configuration spec: Invalid type found in casting spec: ",
            ),
            (
                "b:int8,a:int8:b",
                "Invalid value [b:int8, a:int8:b] for configuration renames: Invalid rename mapping: a:int8:b",
            ),
            (
                "a:bytes",
                "Cast transformation does not support casting to BYTES; supported types are [INT8, INT16, \
                 INT32, INT64, FLOAT32, FLOAT64, BOOLEAN, STRING]",
            ),
            (
                "int8,a:int8",
                "Cast transformations that specify a type to cast the entire value to may only specify a \
                 single cast in their spec",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), wanted);
        }
        assert_eq!(Spec::parse("spec", &[]).unwrap_err(), EMPTY);
    }
}
