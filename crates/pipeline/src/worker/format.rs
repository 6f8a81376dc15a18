//! From the format and the mapping of a consumer to its chain.
//!
//! Place in the data path: at the start of a lane. The one place that knows which converter reads
//! which format.

use super::schemas;
use super::writes::names;
use crate::control::{Column, Format, Settings, Target};
use crate::formats::{CopyConverter, Csv, OneColumn, Read, Routed, Stated, Text, WholeText};
use crate::mapping::Mapping;
use api::{Converter, Side};
use config::Props;
use runtime::{Chain, Step};
use std::collections::BTreeMap;

/// The chain that decodes the records of a consumer.
///
/// # Errors
/// A definition that does not go with the relations as they are now; for the detail of a blocked
/// consumer.
pub(crate) fn chain_to(settings: &Settings, target: &Target) -> Result<Chain, String> {
    match target {
        Target::Relation(relation) => chain(settings, Some(&relation.columns)),
        Target::Routed { route, relations } if by_place(settings) => {
            let read = |relation| by_places(settings, relation);
            let reads = relations.iter().map(|relation| read(&relation.columns));
            let value = Routed::new(route, names(relations), reads.collect::<Result<_, _>>()?)?;
            chain_of(settings, Box::new(value), None)
        }
        Target::Routed { .. } | Target::Dropped => chain(settings, None),
    }
}

/// The chain that decodes records for a relation with these columns; none where the records themselves
/// say which relation they are for.
///
/// # Errors
/// As [`chain_to`].
pub(crate) fn chain(settings: &Settings, columns: Option<&[Column]>) -> Result<Chain, String> {
    let value: Box<dyn Converter> = match (settings.format, columns) {
        (Format::Json, _) => json(Side::Value)?,
        (format, _) if format.has_schema() => schemas::converter(settings, format, Side::Value)?,
        // The function takes messages apart itself: the columns are those that it makes.
        (Format::Text | Format::Csv, _) if settings.transform.is_some() => {
            Box::new(WholeText::default())
        }
        (_, Some(columns)) if by_place(settings) => by_places(settings, columns)?,
        (_, None) if by_place(settings) => {
            return Err("fields that go to columns by their places need a relation".to_owned());
        }
        _ => built_in("ByteArrayConverter", Side::Value, &Props::new())?,
    };
    chain_of(settings, value, columns)
}

fn chain_of(
    settings: &Settings,
    value: Box<dyn Converter>,
    columns: Option<&[Column]>,
) -> Result<Chain, String> {
    let key = key(settings)?;
    let header = built_in("SimpleHeaderConverter", Side::Header, &Props::new())?;
    let whole = whole(settings, columns.unwrap_or_default());
    let mapping = settings.mapping.as_ref().or(whole.as_ref());
    let mapping = mapping.map(|sources| Mapping::new(sources, columns.unwrap_or_default()));
    let step = |mapping| Step {
        alias: "mapping".to_owned(),
        transform: Box::new(mapping),
        condition: None,
    };
    Ok(Chain::new(key, value, header, mapping.transpose()?.map(step).into_iter().collect()))
}

/// Documents go whole into the only column, if that is one of JSON.
fn whole(settings: &Settings, columns: &[Column]) -> Option<BTreeMap<String, String>> {
    let plain = settings.mapping.is_none() && settings.transform.is_none();
    let mut open = columns.iter().filter(|column| !column.identity);
    match (open.next(), open.next()) {
        (Some(only), None) if only.json && plain && settings.format == Format::Json => {
            Some(BTreeMap::from([(only.name.clone(), "$".to_owned())]))
        }
        _ => None,
    }
}

/// Whether fields go to columns by their places.
fn by_place(settings: &Settings) -> bool {
    match settings.format {
        _ if settings.transform.is_some() => false,
        Format::Json | Format::Avro | Format::Protobuf | Format::JsonSchema => false,
        Format::Text | Format::Csv => true,
        Format::Bytea => settings.mapping.is_none(),
    }
}

/// How keys are read; `None`: not at all. Tombstones are keys and nothing else; keys that nobody asks
/// for must not fail.
fn key_format(settings: &Settings) -> Option<Format> {
    settings.key_format.or_else(|| settings.tombstones_delete.then_some(settings.format))
}

/// Whether messages begin with the id of a schema.
pub(crate) fn is_framed(settings: &Settings) -> bool {
    let sides = [(Some(settings.format), "schema"), (key_format(settings), "key_schema")];
    let framed = |(format, given): (Option<Format>, &str)| {
        format.is_some_and(Format::has_schema)
            && (!settings.options.contains_key(given) || settings.option_is("framed", true))
    };
    sides.into_iter().any(framed)
}

/// What values are read by, where that depends on nothing but these words.
pub(crate) fn read_alike(settings: &Settings) -> Option<String> {
    match settings.format {
        Format::Json => Some("json".to_owned()),
        format if format.has_schema() => {
            let options = ["schema", "message", "framed"].map(|name| settings.options.get(name));
            Some(format!("{format:?} {options:?}"))
        }
        _ => None,
    }
}

fn key(settings: &Settings) -> Result<Box<dyn Converter>, String> {
    match key_format(settings) {
        Some(format) if format.has_schema() => schemas::converter(settings, format, Side::Key),
        Some(Format::Json) => json(Side::Key),
        Some(Format::Text | Format::Csv) => Ok(Box::new(WholeText::default())),
        _ => built_in("ByteArrayConverter", Side::Key, &Props::new()),
    }
}

/// What reads a message as a row with these columns, for formats that go [`by_place`].
fn by_places(settings: &Settings, columns: &[Column]) -> Result<Box<dyn Read>, String> {
    let byte = |text: &Option<String>| text.as_ref().and_then(|text| text.bytes().next());
    let delimiter = byte(&settings.delimiter);
    match settings.format {
        Format::Text => {
            let form = Text { delimiter: delimiter.unwrap_or(Text::default().delimiter) };
            Ok(Box::new(CopyConverter::text(form, columns.to_vec())))
        }
        Format::Csv => {
            let usual = Csv::default();
            let quote = byte(&settings.quote).unwrap_or(usual.quote);
            let form = Csv {
                delimiter: delimiter.unwrap_or(usual.delimiter),
                quote,
                escape: byte(&settings.escape).unwrap_or(quote),
            };
            Ok(Box::new(CopyConverter::csv(form, columns.to_vec())))
        }
        _ => {
            let mut open = columns.iter().filter(|column| !column.identity);
            match (open.next(), open.next()) {
                (Some(only), None) => Ok(Box::new(OneColumn::new(only))),
                _ => Err("the format bytea fills one column, and the relation has another number \
                     of them; say which: alter_consumer with mapping => {\"COLUMN\": \"$\"}"
                    .to_owned()),
            }
        }
    }
}

fn json(side: Side) -> Result<Box<dyn Converter>, String> {
    let plain: Props = [("schemas.enable", "false")].into_iter().collect();
    Ok(Box::new(Stated::text(built_in("JsonConverter", side, &plain)?)))
}

fn built_in(class: &str, side: Side, props: &Props) -> Result<Box<dyn Converter>, String> {
    let plugin = converters::find(class).ok_or_else(|| format!("no converter {class}"))?;
    (plugin.make)(props, side).map_err(|error| error.to_string())
}
