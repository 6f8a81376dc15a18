//! From the format of a consumer to the converters of its chain.
//!
//! Place in the data path: at the start of a lane. The one place that knows which converter reads
//! which format.

use crate::control::{Format, Settings};
use api::{Converter, Side};
use config::Props;
use runtime::Chain;

/// The chain that decodes a consumer's records.
/// # Errors
/// A format without a converter, for the detail of a blocked consumer.
pub(super) fn chain(settings: &Settings) -> Result<Chain, String> {
    // A key that nobody asks for must not fail.
    let key = settings.key_format.map_or_else(raw, |format| converter(format, Side::Key))?;
    let value = converter(settings.format, Side::Value)?;
    let header = built_in("SimpleHeaderConverter", Side::Header, &Props::new())?;
    Ok(Chain::new(key, value, header, Vec::new()))
}

fn raw() -> Result<Box<dyn Converter>, String> {
    built_in("ByteArrayConverter", Side::Key, &Props::new())
}

fn converter(format: Format, side: Side) -> Result<Box<dyn Converter>, String> {
    match format {
        Format::Json => {
            let plain: Props = [("schemas.enable", "false")].into_iter().collect();
            built_in("JsonConverter", side, &plain)
        }
        Format::Bytea => built_in("ByteArrayConverter", side, &Props::new()),
        Format::Text | Format::Csv => Err("this worker cannot read the format yet".to_owned()),
    }
}

fn built_in(class: &str, side: Side, props: &Props) -> Result<Box<dyn Converter>, String> {
    let plugin = converters::find(class).ok_or_else(|| format!("no converter {class}"))?;
    (plugin.make)(props, side).map_err(|error| error.to_string())
}
