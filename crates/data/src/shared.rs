//! The schemas that everybody uses, made once: by address they are equal at once, too.

use crate::builder::SchemaBuilder;
use crate::schema::{Schema, Type};
use std::array;
use std::sync::{Arc, LazyLock};

static REQUIRED: LazyLock<[Arc<Schema>; Type::ALL.len()]> =
    LazyLock::new(|| array::from_fn(|at| Arc::new(Schema::new(Type::ALL[at]))));

static OPTIONAL: LazyLock<[Arc<Schema>; Type::ALL.len()]> =
    LazyLock::new(|| array::from_fn(|at| built(SchemaBuilder::new(Type::ALL[at]).optional())));

static DATE: LazyLock<Arc<Schema>> = LazyLock::new(|| built(SchemaBuilder::date()));
static TIME: LazyLock<Arc<Schema>> = LazyLock::new(|| built(SchemaBuilder::time()));
static TIMESTAMP: LazyLock<Arc<Schema>> = LazyLock::new(|| built(SchemaBuilder::timestamp()));

/// For builders with nothing in them that could be refused.
fn built(builder: SchemaBuilder) -> Arc<Schema> {
    Arc::new(builder.partial().build().expect("nothing here is refused"))
}

impl Schema {
    /// The required schema of a type with nothing else set. Of ARRAY and MAP: with unknown elements.
    pub fn required_of(kind: Type) -> Arc<Schema> {
        Arc::clone(&REQUIRED[kind as usize])
    }

    /// The optional schema of a type with nothing else set.
    pub fn optional_of(kind: Type) -> Arc<Schema> {
        Arc::clone(&OPTIONAL[kind as usize])
    }

    /// Connect's Date, required.
    pub fn date() -> Arc<Schema> {
        Arc::clone(&DATE)
    }

    /// Connect's Time, required.
    pub fn time() -> Arc<Schema> {
        Arc::clone(&TIME)
    }

    /// Connect's Timestamp, required.
    pub fn timestamp() -> Arc<Schema> {
        Arc::clone(&TIMESTAMP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_both() {
        for kind in Type::ALL {
            assert_eq!(Schema::required_of(kind).kind(), kind);
            assert_eq!(Schema::optional_of(kind).kind(), kind);
            assert!(Schema::optional_of(kind).is_optional());
        }
        assert!(Arc::ptr_eq(&Schema::date(), &Schema::date()));
    }
}
