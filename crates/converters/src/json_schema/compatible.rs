//! Whether values that are written by one schema can be read by another, where the other is taken
//! as it is (`use.latest.version`, `use.schema.id`).
//!
//! Compared is what becomes of the schemas, so the same type written in two ways is the same.

use crate::json::plan::{Absent, Fields, Plan, Read};
use data::{Logical, Schema, Type};
use std::sync::Arc;

/// # Errors
/// What of the written values has no place, with the path there.
pub(super) fn check(written: &Plan, target: &Plan) -> Result<(), String> {
    at(written, target, "")
}

fn at(written: &Plan, target: &Plan, path: &str) -> Result<(), String> {
    let told = if path.is_empty() { "the value" } else { path };
    let (from, to) = (&written.schema, &target.schema);
    if is_anything(to) {
        return Ok(());
    }
    if from.is_optional() && !to.is_optional() && to.default().is_none() {
        return Err(format!("{told} may be null, which the registered schema does not allow"));
    }
    match (&written.read, &target.read) {
        (Read::Struct(from_fields), Read::Struct(to_fields)) => {
            structs((from, from_fields), (to, to_fields), path)
        }
        (Read::List(from), Read::List(to)) => at(from, to, &format!("{path}[]")),
        (Read::Object(from), Read::Object(to)) => at(from, to, &format!("{path}[]")),
        _ if fits(from, to) => Ok(()),
        _ => {
            Err(format!("{told} is {} where the registered schema has {}", named(from), named(to)))
        }
    }
}

fn structs(
    (from, from_fields): (&Arc<Schema>, &Fields),
    (to, to_fields): (&Arc<Schema>, &Fields),
    path: &str,
) -> Result<(), String> {
    let within = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    for (field, plan) in from.fields().iter().zip(&from_fields.list) {
        let path = within(&field.name);
        match to.field(&field.name).and_then(|index| to_fields.list.get(index)) {
            Some(known) => at(&plan.plan, &known.plan, &path)?,
            None if to_fields.closed => {
                return Err(format!(
                    "{path} is not in the registered schema, which allows no others"
                ));
            }
            None => {}
        }
    }
    for (field, plan) in to.fields().iter().zip(&to_fields.list) {
        let missing = from.field(&field.name).is_none();
        if missing && plan.absent == Absent::Fault && field.schema.default().is_none() {
            let path = within(&field.name);
            return Err(format!("{path} is missing, which the registered schema requires"));
        }
    }
    Ok(())
}

/// Whether every value of one schema is one of the other; structs and lists are looked into before.
fn fits(from: &Schema, to: &Schema) -> bool {
    let bare = |logical: Logical| matches!(logical, Logical::None);
    if from.logical() != to.logical() && !(bare(from.logical()) && bare(to.logical())) {
        return false;
    }
    match (from.kind().number_rank(), to.kind().number_rank()) {
        (Some(from), Some(to)) => from <= to,
        // Unions and maps of other keys: of one kind is all that is asked.
        _ => from.kind() == to.kind() && (from.kind() != Type::Struct || from.name() == to.name()),
    }
}

fn is_anything(schema: &Schema) -> bool {
    schema.parameter(super::ANY).is_some()
}

fn named(schema: &Schema) -> String {
    match (schema.logical(), schema.name()) {
        (Logical::None, _) | (_, None) => schema.kind().name().to_owned(),
        (_, Some(name)) => name.rsplit('.').next().unwrap_or(name).to_owned(),
    }
}
