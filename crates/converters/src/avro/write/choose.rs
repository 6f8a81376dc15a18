//! Which branch of a union a value is written as.

use super::compile::Compiler;
use crate::avro::attributes::NAME;
use crate::avro::markers;
use crate::avro::schema::{Id, Kind};
use crate::avro::to_avro::{enum_of, fixed_size, is_union, scrubbed_full};
use data::{Logical, Schema, Type};

/// How well a branch fits: the lower the better.
type Rank = u8;

const EXACT: Rank = 0;
/// Of the same type, under another name.
const RENAMED: Rank = 4;
/// As a reader would be allowed to widen it.
const WIDENED: Rank = 8;

impl Compiler<'_> {
    /// The branch, other than null, that values of a schema are written as; of two that fit alike
    /// the first.
    pub(super) fn branch_for(&self, schema: &Schema, branches: &[Id]) -> Result<usize, String> {
        let ranked = branches.iter().enumerate();
        let ranked = ranked.filter_map(|(at, id)| Some((self.rank(schema, *id)?, at)));
        ranked.min().map(|(_, at)| at).ok_or_else(|| {
            let names = branches.iter().map(|id| self.avro.kind(*id).type_name());
            let names: Vec<&str> = names.collect();
            let kind = schema.kind().name();
            format!("{kind} cannot be written as any type of the union of {}", names.join(", "))
        })
    }

    /// `None`: it does not fit at all.
    pub(super) fn rank(&self, schema: &Schema, id: Id) -> Option<Rank> {
        if is_union(schema) {
            return None;
        }
        if let Some(name) = markers::recursive_name(schema) {
            let same = self.avro.node(id).name().is_some_and(|own| own.full() == name);
            return same.then_some(EXACT);
        }
        Some(match (schema.kind(), self.avro.kind(id)) {
            (Type::Boolean, Kind::Boolean)
            | (Type::Int8 | Type::Int16 | Type::Int32, Kind::Int)
            | (Type::Int64, Kind::Long)
            | (Type::Float32, Kind::Float)
            | (Type::Float64, Kind::Double)
            | (Type::Array, Kind::Array(_))
            | (Type::Map, Kind::Map(_)) => EXACT,
            (Type::Int8 | Type::Int16 | Type::Int32, Kind::Long)
            | (Type::Float32, Kind::Double) => WIDENED,
            (kind, Kind::Float) if kind.is_integer() => WIDENED + 1,
            (kind, Kind::Double) if kind.is_integer() => WIDENED + 2,
            (Type::Map, Kind::Array(_)) => RENAMED,
            (Type::Struct, Kind::Record(_)) => self.names(schema.name(), id),
            (Type::String, Kind::Enum(_)) => {
                let name = enum_of(schema, self.options.generalized_sum_types);
                match name.map(|(_, name)| self.names(Some(name), id)) {
                    Some(EXACT) => EXACT,
                    _ => RENAMED + 1,
                }
            }
            (Type::String, Kind::String) => 1,
            (Type::String, Kind::Bytes) => WIDENED,
            (Type::Bytes, Kind::Fixed(fixed)) if fixed_size(schema).is_some() => {
                let size = fixed_size(schema).and_then(|size| size.parse().ok());
                if size != Some(fixed.size) {
                    return None;
                }
                self.names(schema.name(), id)
            }
            (Type::Bytes, Kind::Bytes | Kind::Fixed(_)) => {
                let decimal = matches!(schema.logical(), Logical::Decimal(_));
                match decimal == self.avro.node(id).logical().is_some() {
                    true => 1,
                    false => RENAMED,
                }
            }
            (Type::Bytes, Kind::String) => WIDENED,
            _ => return None,
        })
    }

    /// How well the name of a type fits that of a schema.
    fn names(&self, name: Option<&str>, id: Id) -> Rank {
        let node = self.avro.node(id);
        let (Some(name), Some(own)) = (name, node.name()) else { return RENAMED };
        let scrubbed = scrubbed_full(name, self.options.scrub_invalid_names);
        if node.prop(NAME) == Some(name) || own.full() == scrubbed {
            EXACT
        } else if scrubbed.rsplit('.').next() == Some(&own.simple) {
            1
        } else {
            RENAMED
        }
    }
}
