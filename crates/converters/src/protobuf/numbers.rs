//! The numbers of the fields of a message that is made from a Connect schema.
//!
//! Invariant: no number is given twice in a message.

use super::fault::Fault;
use super::options::names;
use super::to_proto::is_union;
use super::wire::NUMBER_MAX;
use data::Schema;
use std::collections::HashSet;

/// The numbers of a message's fields: those that are given, and others counted.
pub(super) struct FieldNumbers {
    used: HashSet<u32>,
    next: u32,
}

impl FieldNumbers {
    /// # Errors
    /// A number that is given twice, or is none.
    pub(super) fn new(schema: &Schema) -> Result<FieldNumbers, Fault> {
        let mut used = HashSet::new();
        for field in schema.fields() {
            let members = if is_union(&field.schema) { field.schema.fields() } else { &[] };
            for field in std::iter::once(field).chain(members) {
                if let Some(number) = given_number(&field.schema)?
                    && !used.insert(number)
                {
                    let fault = Fault::new(format!("two fields have the number {number}"));
                    return Err(fault.within(&field.name));
                }
            }
        }
        Ok(FieldNumbers { used, next: 1 })
    }

    /// The number of the next field.
    ///
    /// # Errors
    /// The one that is given is none.
    pub(super) fn of(&mut self, schema: &Schema) -> Result<u32, Fault> {
        if let Some(number) = given_number(schema)? {
            return Ok(number);
        }
        loop {
            let number = self.next;
            self.next += 1;
            // The range is Protobuf's own.
            if !self.used.contains(&number) && !(19_000..20_000).contains(&number) {
                return Ok(number);
            }
        }
    }
}

fn given_number(schema: &Schema) -> Result<Option<u32>, Fault> {
    let Some(text) = schema.parameter(names::TAG) else { return Ok(None) };
    let number = text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number));
    let fault = || Fault::new(format!("the parameter {} is no field number: {text}", names::TAG));
    number.map(Some).ok_or_else(fault)
}
