//! Transforms over rows: what one costs a record.
//!
//! A pass decodes every batch, as a task does before its transforms, and gives it to the transform. That
//! alone counts, and letting go of the batch, which the first case of each group does alone. A new
//! transform is a line in [`STRUCTS`] and [`MAPS`].

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use api::{Side, Transform};
use config::Props;
use data::{Batch, Cell, Mask};

use super::Args;
use super::case::{Case, Group};
use super::reading::json;
use super::records::{Fetched, Form};

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
        let fetched = Fetched::new(form, args.effort.records(), None);
        let mut cases = vec![case("nothing", None, schemas, &fetched)?.aside()];
        for line in lines {
            cases.push(transform(line, schemas, &fetched)?.wanted_ns(NS_MAX));
        }
        anyhow::Ok(Group::new(title, cases).note(
            "A batch is decoded and goes through the transform at once, as in a task; the decoding does not \
             count. \"nothing\" is what each case has on top: the batch is let go of.",
        ))
    };
    Ok(vec![
        of("Transforms of structs of 7 fields", true, Form::Envelope, STRUCTS)?,
        of("Transforms of maps of 8 members", false, Form::Plain, MAPS)?,
    ])
}

fn transform(line: &Line, schemas: bool, fetched: &Fetched) -> Result<Case> {
    let (class, settings) = line;
    let plugin = transforms::find(class).with_context(|| format!("there is no {class}"))?;
    let props: Props = settings.iter().copied().collect();
    let said: Vec<&str> = settings.iter().map(|(_, value)| *value).collect();
    let name = format!("{class} {}", said.join(" "));
    case(&name, Some((plugin.make)(&props)?), schemas, fetched)
}

fn case(
    name: &str,
    mut transform: Option<Box<dyn Transform>>,
    schemas: bool,
    fetched: &Fetched,
) -> Result<Case> {
    let mut converter = json(schemas)?;
    let mut decoded = move |batch: &mut Batch| {
        converter.decode(Side::Value, batch);
        for _ in 0..batch.len() {
            batch.keys.push(None, Cell::Null);
        }
        batch.headers.begin(batch.len());
    };
    if let (Some(transform), Some(mut batch)) = (&mut transform, fetched.fresh().next()) {
        decoded(&mut batch);
        let all = Mask::all(batch.len());
        transform.apply(&mut batch, &all);
        let first = batch.rejects.first();
        ensure!(first.is_none(), "{name}: {}", first.map_or("", |reject| &reject.message));
    }
    let fetched = fetched.clone();
    Ok(Case::in_parts(name, 0, fetched.records, move |meter| {
        for mut batch in fetched.fresh() {
            decoded(&mut batch);
            let all = Mask::all(batch.len());
            meter.over(|| {
                if let Some(transform) = &mut transform {
                    transform.apply(&mut batch, &all);
                }
                drop(black_box(batch));
            });
        }
    }))
}
