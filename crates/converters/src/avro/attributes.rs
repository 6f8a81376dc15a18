//! The names under which a Connect schema travels in an Avro schema, and the other way.
//!
//! Source: the documentation and the public sources of Confluent's Avro converter.

/// Attributes of Avro types that say what the Connect schema was.
pub(crate) const NAME: &str = "connect.name";
pub(crate) const DOC: &str = "connect.doc";
pub(crate) const VERSION: &str = "connect.version";
pub(crate) const DEFAULT: &str = "connect.default";
pub(crate) const PARAMETERS: &str = "connect.parameters";
/// `int8` or `int16`, on an int.
pub(crate) const TYPE: &str = "connect.type";
/// [`MAP_ENTRY`], on the record of a map's entries that has a name of its own.
pub(crate) const INTERNAL_TYPE: &str = "connect.internal.type";
/// Parameters with the docs of types, where `discard.type.doc.default` is set.
pub(crate) const RECORD_DOC: &str = "connect.record.doc";
pub(crate) const ENUM_DOC: &str = "connect.enum.doc";

/// Parameters of Connect schemas.
pub(crate) const FIXED_SIZE: &str = "connect.fixed.size";
pub(crate) const DECIMAL_PRECISION: &str = "connect.decimal.precision";
/// The precision that is not written down.
pub(crate) const DECIMAL_PRECISION_DEFAULT: i64 = 64;

pub(crate) const NAMESPACE: &str = "io.confluent.connect.avro";
/// Records without a name of their own; a number follows from the second one on.
pub(crate) const CONNECT_DEFAULT: &str = "io.confluent.connect.avro.ConnectDefault";
pub(crate) const MAP_ENTRY: &str = "MapEntry";
pub(crate) const KEY_FIELD: &str = "key";
pub(crate) const VALUE_FIELD: &str = "value";
/// The record that values without a schema are written as.
pub(crate) const ANYTHING: &str = "io.confluent.connect.avro.Anything";
/// The name of a struct that stands for a union.
pub(crate) const UNION: &str = "io.confluent.connect.avro.Union";
/// The parameter with the full name of an enum; with a dot and a symbol behind it, that of a symbol.
pub(crate) const ENUM: &str = "io.confluent.connect.avro.Enum";
pub(crate) const AVRO_RECORD_DOC: &str = "io.confluent.connect.avro.record.doc";
/// A field's name follows.
pub(crate) const FIELD_DOC_PREFIX: &str = "io.confluent.connect.avro.field.doc.";
/// An enum's simple name follows.
pub(crate) const ENUM_DOC_PREFIX: &str = "io.confluent.connect.avro.enum.doc.";
pub(crate) const ENUM_DEFAULT_PREFIX: &str = "io.confluent.connect.avro.enum.default.";
/// `true`: the default came from a field of Avro, not from [`DEFAULT`].
pub(crate) const FIELD_DEFAULT_FLAG: &str = "io.confluent.connect.avro.field.default";

/// With `generalized.sum.type.support`: parameters of unions and enums, names of unions (a number
/// follows) and of their fields (the place of the branch follows).
pub(crate) const SUM_UNION: &str = "org.apache.kafka.connect.data.Union";
pub(crate) const SUM_ENUM: &str = "org.apache.kafka.connect.data.Enum";
pub(crate) const SUM_UNION_PREFIX: &str = "connect_union_";
pub(crate) const SUM_FIELD_PREFIX: &str = "connect_union_field_";

/// Attributes that begin like this are parameters, too.
pub(crate) const AVRO_PREFIX: &str = "avro";

/// Ours: the parameter with the name of a record that stands within itself here. The schema is a
/// MAP of STRING to unknown, and the values describe themselves.
pub(crate) const RECURSIVE: &str = "io.confluent.connect.avro.recursive";
/// Ours: the parameter with a logical type that Connect has none for, as `timestamp-micros` or
/// `uuid`, on a schema of its base type.
pub(crate) const LOGICAL_TYPE: &str = "avro.logicalType";
