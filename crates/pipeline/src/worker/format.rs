//! From the format and the mapping of a consumer to its chain.
//!
//! Place in the data path: at the start of a lane. The one place that knows which converter reads
//! which format.

use crate::control::{Column, Format, Settings};
use crate::formats::{CopyConverter, Csv, OneColumn, Text, WholeText};
use crate::mapping::Mapping;
use api::{Converter, Side};
use config::Props;
use runtime::{Chain, Step};

/// The chain that decodes a consumer's records for a relation with these columns; none where the
/// records themselves say which relation they are for.
///
/// # Errors
/// A format that needs to know one relation's columns; for the detail of a blocked consumer.
pub(crate) fn chain(settings: &Settings, columns: Option<&[Column]>) -> Result<Chain, String> {
    let key = key(settings.key_format)?;
    let value = value(settings, columns)?;
    let header = built_in("SimpleHeaderConverter", Side::Header, &Props::new())?;
    let mapping = settings.mapping.as_ref();
    let mapping = mapping.map(|sources| Mapping::new(sources, columns.unwrap_or_default()));
    let step = |mapping| Step {
        alias: "mapping".to_owned(),
        transform: Box::new(mapping),
        condition: None,
    };
    Ok(Chain::new(key, value, header, mapping.transpose()?.map(step).into_iter().collect()))
}

fn key(format: Option<Format>) -> Result<Box<dyn Converter>, String> {
    match format {
        Some(Format::Json) => json(Side::Key),
        Some(Format::Text | Format::Csv) => Ok(Box::new(WholeText::default())),
        // A key that nobody asks for must not fail.
        Some(Format::Bytea) | None => built_in("ByteArrayConverter", Side::Key, &Props::new()),
    }
}

fn value(settings: &Settings, columns: Option<&[Column]>) -> Result<Box<dyn Converter>, String> {
    let known = || {
        columns.map(<[Column]>::to_vec).ok_or_else(|| {
            "formats whose fields go to columns by their places need one relation".to_owned()
        })
    };
    let byte = |text: &Option<String>| text.as_ref().and_then(|text| text.bytes().next());
    let delimiter = byte(&settings.delimiter);
    match settings.format {
        Format::Json => json(Side::Value),
        Format::Text => {
            let form = Text { delimiter: delimiter.unwrap_or(Text::default().delimiter) };
            Ok(Box::new(CopyConverter::text(form, known()?)))
        }
        Format::Csv => {
            let usual = Csv::default();
            let quote = byte(&settings.quote).unwrap_or(usual.quote);
            let form = Csv {
                delimiter: delimiter.unwrap_or(usual.delimiter),
                quote,
                escape: byte(&settings.escape).unwrap_or(quote),
            };
            Ok(Box::new(CopyConverter::csv(form, known()?)))
        }
        Format::Bytea if settings.mapping.is_none() && settings.transform.is_none() => {
            let columns = known()?;
            let mut open = columns.iter().filter(|column| !column.identity);
            match (open.next(), open.next()) {
                (Some(only), None) => Ok(Box::new(OneColumn::new(only))),
                _ => Err("the format bytea fills one column, and the relation has another number \
                     of them; say which: alter_consumer with mapping => {\"COLUMN\": \"$\"}"
                    .to_owned()),
            }
        }
        Format::Bytea => built_in("ByteArrayConverter", Side::Value, &Props::new()),
    }
}

fn json(side: Side) -> Result<Box<dyn Converter>, String> {
    let plain: Props = [("schemas.enable", "false")].into_iter().collect();
    built_in("JsonConverter", side, &plain)
}

fn built_in(class: &str, side: Side, props: &Props) -> Result<Box<dyn Converter>, String> {
    let plugin = converters::find(class).ok_or_else(|| format!("no converter {class}"))?;
    (plugin.make)(props, side).map_err(|error| error.to_string())
}
