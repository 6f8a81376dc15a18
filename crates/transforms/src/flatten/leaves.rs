//! The leaves of nested structs, worked out once per schema.
//!
//! Invariant: a plan's leaves are in the order of the flat schema's fields, and a struct that is null
//! leaves as many of them unset as lie below it.

use std::sync::Arc;

use crate::copied::has_null;
use crate::fault::Fault;
use crate::part::with_default;
use crate::shape::{rebuilt, with_basics};
use data::{Cell, Rows, Schema, SchemaBuilder, Span, Type, Value};

/// How a struct of one schema becomes a flat one.
pub(super) struct Leaves {
    schema: Arc<Schema>,
    nodes: Vec<Node>,
    /// Whether no field is a struct: then the struct is its own flat form, but for defaults.
    flat: bool,
}

/// One field of a struct.
enum Node {
    /// Copied; its schema if it has a default.
    Leaf(Option<Arc<Schema>>),
    /// Gone into.
    Inner { nodes: Vec<Node>, leaves: usize },
}

impl Leaves {
    pub(super) fn new(schema: &Schema, delimiter: &str) -> Result<Leaves, Fault> {
        let builder = with_basics(SchemaBuilder::structure(), schema);
        let mut plan = Plan { delimiter, builder, leaves: 0 };
        let around =
            Around { prefix: None, optional: schema.is_optional(), default: schema.default() };
        let nodes = plan.nodes(schema, &around)?;
        let schema = plan.builder.build().map_err(|error| Fault::builder(error.0))?;
        let flat = nodes.iter().all(|node| matches!(node, Node::Leaf(_)));
        Ok(Leaves { schema: Arc::new(schema), nodes, flat })
    }

    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The flat struct's cells.
    #[inline(always)]
    pub(super) fn take(&self, rows: &mut Rows, fields: Span, scratch: &mut Vec<Cell>) -> Span {
        if self.flat && fields.len as usize == self.nodes.len() && !has_null(rows.cells(fields)) {
            return fields;
        }
        scratch.clear();
        copy(&self.nodes, rows, fields, scratch);
        rows.alloc_from(scratch)
    }
}

fn copy(nodes: &[Node], rows: &mut Rows, fields: Span, scratch: &mut Vec<Cell>) {
    for (index, node) in nodes.iter().enumerate() {
        let cell = rows.cell(fields, index);
        match (node, cell) {
            (Node::Leaf(Some(schema)), Cell::Null) => {
                scratch.push(with_default(rows, Some(schema), cell, true));
            }
            (Node::Leaf(_), _) => scratch.push(cell),
            (Node::Inner { nodes, .. }, Cell::Struct(inner)) => copy(nodes, rows, inner, scratch),
            // A default of the struct itself is not looked at, as in Connect.
            (Node::Inner { leaves, .. }, _) => {
                scratch.extend(std::iter::repeat_n(Cell::Null, *leaves));
            }
        }
    }
}

/// What a field's place says about it.
struct Around<'a> {
    prefix: Option<&'a str>,
    /// Some struct around it is optional.
    optional: bool,
    /// The default of the struct around it.
    default: Option<&'a Value>,
}

struct Plan<'a> {
    delimiter: &'a str,
    builder: SchemaBuilder,
    leaves: usize,
}

impl Plan<'_> {
    fn nodes(&mut self, schema: &Schema, around: &Around<'_>) -> Result<Vec<Node>, Fault> {
        let mut nodes = Vec::with_capacity(schema.fields().len());
        for (index, field) in schema.fields().iter().enumerate() {
            let name = match around.prefix {
                Some(prefix) => format!("{prefix}{}{}", self.delimiter, field.name),
                None => field.name.to_string(),
            };
            let inherited = || match around.default? {
                Value::Struct(fields) => fields.values.get(index).filter(|value| !value.is_null()),
                _ => None,
            };
            let inner = Around {
                prefix: Some(&name),
                optional: around.optional || field.schema.is_optional(),
                default: field.schema.default().or_else(inherited),
            };
            nodes.push(match field.schema.kind() {
                Type::Struct => {
                    let before = self.leaves;
                    let nodes = self.nodes(&field.schema, &inner)?;
                    Node::Inner { nodes, leaves: self.leaves - before }
                }
                Type::Map => {
                    // A name that came twice before this field is found first, as in Connect.
                    let builder = std::mem::replace(&mut self.builder, SchemaBuilder::structure());
                    builder.build().map_err(|error| Fault::builder(error.0))?;
                    return Err(Fault::data(format!(
                        "Flatten transformation does not support MAP for record with schemas (for \
                         field {name})."
                    )));
                }
                _ => {
                    self.leaf(&name, &field.schema, &inner)?;
                    Node::Leaf(field.schema.default().map(|_| field.schema.clone()))
                }
            });
        }
        Ok(nodes)
    }

    fn leaf(&mut self, name: &str, old: &Arc<Schema>, around: &Around<'_>) -> Result<(), Fault> {
        let same = old.is_optional() == around.optional && old.default() == around.default;
        let schema = if same {
            old.clone()
        } else {
            let mut builder = rebuilt(old);
            if around.optional {
                builder = builder.optional();
            }
            if let Some(default) = around.default {
                builder = builder.default(default.clone());
            }
            Arc::new(builder.build().map_err(|error| Fault::builder(error.0))?)
        };
        let builder = std::mem::replace(&mut self.builder, SchemaBuilder::structure());
        self.builder = builder.field(name, schema);
        self.leaves += 1;
        Ok(())
    }
}
