//! Transforms over rows: what one costs a record.
//!
//! A pass gives every batch to the transform and then puts the batch back as it was, which the first
//! case of each group does alone. A new transform is a line in [`STRUCTS`] and [`MAPS`].

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use api::Transform;
use config::Props;
use data::{Batch, Cell, Mask, RawBatch, Roots, Rows};
use std::sync::Arc;

use super::Args;
use super::case::{Case, Group};
use super::reading::json;
use super::records::Form;
use super::writing::decoded;

/// What a transform may take, in ns a record.
const NS_MAX: f64 = 30.0;

/// A class and its settings.
type Line = (&'static str, &'static [(&'static str, &'static str)]);

/// Over structs of 7 fields.
const STRUCTS: &[Line] = &[
    ("ExtractField$Value", &[("field", "customer")]),
    ("ReplaceField$Value", &[("exclude", "amount,note")]),
    ("ReplaceField$Value", &[("renames", "id:key,note:text")]),
    ("Flatten$Value", &[]),
    ("HoistField$Value", &[("field", "order")]),
    ("ValueToKey", &[("fields", "id,customer")]),
    ("HeaderFrom$Value", &[("fields", "currency"), ("headers", "h"), ("operation", "move")]),
    ("InsertHeader", &[("header", "h"), ("value.literal", "1")]),
    ("RegexRouter", &[("regex", "(.*)"), ("replacement", "new-$1")]),
    ("Filter", &[]),
    ("Cast$Value", &[("spec", "id:int32")]),
    ("Cast$Value", &[("spec", "id:string")]),
    ("InsertField$Value", &[("topic.field", "source"), ("offset.field", "place")]),
    ("MaskField$Value", &[("fields", "customer,amount")]),
    ("MaskField$Value", &[("fields", "customer"), ("replacement", "***")]),
    ("TimestampConverter$Value", &[("field", "created"), ("target.type", "Timestamp")]),
    (
        "TimestampConverter$Value",
        &[("field", "created"), ("target.type", "string"), ("format", "yyyy-MM-dd HH:mm:ss.SSS")],
    ),
    ("TimestampRouter", &[]),
    ("SetSchemaMetadata$Value", &[("schema.name", "orders2"), ("schema.version", "2")]),
];

/// Over maps of 8 members.
const MAPS: &[Line] = &[
    ("ExtractField$Value", &[("field", "customer")]),
    ("ReplaceField$Value", &[("exclude", "amount,note")]),
    ("ReplaceField$Value", &[("renames", "id:key,note:text")]),
    ("Flatten$Value", &[]),
    ("HoistField$Value", &[("field", "order")]),
    ("ValueToKey", &[("fields", "id,customer")]),
    ("HeaderFrom$Value", &[("fields", "currency"), ("headers", "h"), ("operation", "move")]),
    ("Cast$Value", &[("spec", "id:int32")]),
    ("Cast$Value", &[("spec", "id:string")]),
    ("InsertField$Value", &[("topic.field", "source"), ("offset.field", "place")]),
    ("MaskField$Value", &[("fields", "customer,amount")]),
    ("MaskField$Value", &[("fields", "customer"), ("replacement", "***")]),
    ("TimestampConverter$Value", &[("field", "created"), ("target.type", "Timestamp")]),
    (
        "TimestampConverter$Value",
        &[("field", "created"), ("target.type", "string"), ("format", "yyyy-MM-dd HH:mm:ss.SSS")],
    ),
    ("TimestampRouter", &[]),
];

pub(super) fn groups(args: &Args) -> Result<Vec<Group>> {
    let of = |title: &str, schemas: bool, form: Form, lines: &[Line]| {
        let rows = decoded(json(schemas)?, form, args.effort.records());
        let mut cases = vec![case("nothing", None, &rows).aside()];
        for line in lines {
            cases.push(transform(line, &rows)?.wanted_ns(NS_MAX));
        }
        anyhow::Ok(Group::new(title, cases).note(
            "\"nothing\" is what each case has on top: the batch is made and put back as it was.",
        ))
    };
    Ok(vec![
        of("Transforms of structs of 7 fields", true, Form::Envelope, STRUCTS)?,
        of("Transforms of maps of 8 members", false, Form::Plain, MAPS)?,
    ])
}

fn transform(line: &Line, batches: &[Batch]) -> Result<Case> {
    let (class, settings) = line;
    let plugin = transforms::find(class).with_context(|| format!("there is no {class}"))?;
    let props: Props = settings.iter().copied().collect();
    let mut transform = (plugin.make)(&props)?;
    let said: Vec<&str> = settings.iter().map(|(_, value)| *value).collect();
    let name = format!("{class} {}", said.join(" "));
    for prepared in &mut prepare(batches.get(..1).unwrap_or_default()) {
        let batch = prepared.apply(Some(&mut *transform));
        let first = batch.rejects.first();
        ensure!(first.is_none(), "{name}: {}", first.map_or("", |reject| &reject.message));
    }
    Ok(case(&name, Some(transform), batches))
}

fn case(name: &str, mut transform: Option<Box<dyn Transform>>, batches: &[Batch]) -> Case {
    let mut prepared = prepare(batches);
    let records = batches.iter().map(Batch::len).sum();
    Case::new(name, 0, records, move || {
        for one in &mut prepared {
            let batch = match &mut transform {
                Some(transform) => one.apply(Some(&mut **transform)),
                None => one.apply(None),
            };
            one.put_back(batch);
        }
    })
}

/// The rows of a batch, and what they are when nothing has touched them.
struct Prepared {
    raw: Arc<RawBatch>,
    selected: Mask,
    values: Rows,
    keys: Rows,
    value_roots: Roots,
    key_roots: Roots,
    cells: usize,
}

fn prepare(batches: &[Batch]) -> Vec<Prepared> {
    let of = |batch: &Batch| {
        let mut values = batch.values.clone();
        let value_roots = values.take_roots();
        let mut key_roots = Roots::default();
        for _ in 0..batch.len() {
            key_roots.push(None, Cell::Null);
        }
        Prepared {
            raw: batch.raw.clone(),
            selected: Mask::all(batch.len()),
            cells: values.cell_mark(),
            keys: Rows::over(batch.raw.arena().clone()),
            values,
            value_roots,
            key_roots,
        }
    };
    batches.iter().map(of).collect()
}

impl Prepared {
    fn apply(&mut self, transform: Option<&mut dyn Transform>) -> Batch {
        let mut batch = Batch::new(self.raw.clone());
        batch.values = std::mem::take(&mut self.values);
        batch.keys = std::mem::take(&mut self.keys);
        batch.values.set_roots(self.value_roots.clone());
        batch.keys.set_roots(self.key_roots.clone());
        batch.headers.begin(batch.len());
        if let Some(transform) = transform {
            transform.apply(&mut batch, &self.selected);
        }
        black_box(batch)
    }

    fn put_back(&mut self, mut batch: Batch) {
        self.values = std::mem::take(&mut batch.values);
        self.keys = std::mem::take(&mut batch.keys);
        self.values.truncate_cells(self.cells);
        self.keys.truncate_cells(0);
    }
}
