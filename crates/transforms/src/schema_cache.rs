//! What a transform worked out for a schema, kept for the next record of that schema.
//!
//! Invariants: a schema that is equal to one seen before gives the same result, hence the same new
//! schema, so that records of equal schemas stay one run; at most [`SCHEMAS_MAX`] are kept, the least
//! recently used goes.

use crate::fault::Fault;
use data::Schema;
use std::sync::Arc;

/// Schemas kept at a time; as many as Connect's transforms keep.
const SCHEMAS_MAX: usize = 16;

/// Results by schema, the latest first.
pub(crate) struct SchemaCache<T> {
    entries: Vec<(Arc<Schema>, T)>,
}

impl<T> Default for SchemaCache<T> {
    fn default() -> Self {
        SchemaCache { entries: Vec::new() }
    }
}

impl<T> SchemaCache<T> {
    /// What `make` gives for the schema, or gave for an equal one.
    #[inline]
    pub(crate) fn get(
        &mut self,
        schema: &Arc<Schema>,
        make: impl FnOnce(&Arc<Schema>) -> Result<T, Fault>,
    ) -> Result<&T, Fault> {
        let latest = self.entries.first().is_some_and(|(known, _)| Arc::ptr_eq(known, schema));
        if !latest {
            self.find(schema, make)?;
        }
        match self.entries.first() {
            Some((_, result)) => Ok(result),
            None => Err(Fault::data("no schema")),
        }
    }

    /// Sees to it that the schema's result is the first entry.
    #[cold]
    fn find(
        &mut self,
        schema: &Arc<Schema>,
        make: impl FnOnce(&Arc<Schema>) -> Result<T, Fault>,
    ) -> Result<(), Fault> {
        let by_address = self.entries.iter().position(|(known, _)| Arc::ptr_eq(known, schema));
        let place =
            by_address.or_else(|| self.entries.iter().position(|(known, _)| **known == **schema));
        let entry = match place {
            Some(place) => {
                let (_, result) = self.entries.remove(place);
                (schema.clone(), result)
            }
            None => (schema.clone(), make(schema)?),
        };
        self.entries.truncate(SCHEMAS_MAX - 1);
        self.entries.insert(0, entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::Type;

    #[test]
    fn equal_schemas_share_a_result_and_old_ones_go() {
        let mut cache = SchemaCache::default();
        let mut made = 0;
        let kinds = [Type::Int8, Type::Int8, Type::Int16, Type::Int8];
        for kind in kinds {
            let schema = Arc::new(Schema::new(kind));
            let seen = *cache
                .get(&schema, |s| {
                    made += 1;
                    Ok(s.kind())
                })
                .unwrap();
            assert_eq!(seen, kind);
        }
        assert_eq!(made, 2);
        for version in 0..100 {
            let schema = data::SchemaBuilder::new(Type::Int8).version(version).build().unwrap();
            cache.get(&Arc::new(schema), |s| Ok(s.kind())).unwrap();
        }
        assert_eq!(cache.entries.len(), SCHEMAS_MAX);
    }
}
