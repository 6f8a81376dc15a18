//! What a test runs: the chain of a configuration, and converters for samples.

use crate::exit::Failure;
use crate::standalone::{plugins, read_config, read_properties};
use api::{Converter, Side};
use config::{ConfigErrors, Props};
use runtime::Step;
use std::path::Path;

/// The converter of headers where a configuration names none.
const HEADER_CONVERTER: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";
const JSON_CONVERTER: &str = "org.apache.kafka.connect.json.JsonConverter";

/// A configuration that can be tested.
pub(super) struct Setup {
    pub(super) connector: Props,
    pub(super) worker: Props,
    pub(super) steps: Vec<Step>,
    pub(super) decoders: Decoders,
    /// What is worth saying about the configuration.
    pub(super) notices: Vec<String>,
}

impl Setup {
    /// # Errors
    /// A file cannot be read; everything that is wrong with the chain.
    pub(super) fn read(config: &Path, worker: Option<&Path>) -> Result<Setup, Failure> {
        let worker = match worker {
            Some(path) => resolved(path, &read_properties(path)?, None)?,
            None => Props::new(),
        };
        let connector = resolved(config, &read_config(config)?, Some(&worker))?;
        let plugins = plugins();
        let found = plugins.check_chain(&connector);
        let mut notices: Vec<String> = found.unknown.iter().map(ToString::to_string).collect();
        notices.extend(found.unused.into_iter().map(|error| error.message));
        let steps = plugins.steps(&connector).map_err(|errors| wrong(config, &errors))?;
        if steps.is_empty() {
            notices.push("there are no transforms; only the converters are run".to_owned());
        }
        let decoders = Decoders::new(&connector, &worker);
        Ok(Setup { connector, worker, steps, decoders, notices })
    }

    /// The topic of samples that name none: the first the connector reads.
    pub(super) fn topic(&self) -> String {
        let topics = self.connector.get("topics").unwrap_or_default();
        let first = topics.split(',').map(str::trim).find(|topic| !topic.is_empty());
        first.unwrap_or("topic").to_owned()
    }
}

fn wrong(path: &Path, errors: &ConfigErrors) -> Failure {
    Failure::wrong_input(format!("{}: {errors}", path.display()))
}

/// The properties with their secrets, by the providers that the worker (itself without one) names.
fn resolved(path: &Path, props: &Props, worker: Option<&Props>) -> Result<Props, Failure> {
    let providers = config::providers::from_worker(worker.unwrap_or(props));
    let resolved = providers.and_then(|providers| providers.resolve(props));
    resolved.map(|resolved| resolved.props).map_err(|errors| wrong(path, &errors))
}

/// The converters of samples; those of the configuration are made when a sample needs them.
pub(super) struct Decoders {
    connector: Props,
    worker: Props,
    sides: [BySide; 3],
}

#[derive(Default)]
struct BySide {
    plain: Option<Box<dyn Converter>>,
    envelope: Option<Box<dyn Converter>>,
    configured: Option<Box<dyn Converter>>,
}

impl Decoders {
    fn new(connector: &Props, worker: &Props) -> Decoders {
        let sides = Default::default();
        Decoders { connector: connector.clone(), worker: worker.clone(), sides }
    }

    /// The converter for a part of a sample.
    ///
    /// # Errors
    /// It is the configuration's, which has none or a wrong one.
    pub(super) fn of(
        &mut self,
        side: Side,
        part: &super::sample::Part,
    ) -> Result<&mut dyn Converter, Failure> {
        use super::sample::Part;
        let own = match side {
            Side::Key => 0,
            Side::Value => 1,
            Side::Header => 2,
        };
        let [key, value, header] = &mut self.sides;
        let by_side = [key, value, header].into_iter().nth(own).expect("one of three sides");
        let slot = match part {
            Part::Null | Part::Plain(_) => &mut by_side.plain,
            Part::Envelope(_) => &mut by_side.envelope,
            Part::Wire(_) => &mut by_side.configured,
        };
        if slot.is_none() {
            *slot = Some(match part {
                Part::Null | Part::Plain(_) => json(side, false)?,
                Part::Envelope(_) => json(side, true)?,
                Part::Wire(_) => configured(side, &self.connector, &self.worker)?,
            });
        }
        Ok(slot.as_deref_mut().expect("made above"))
    }
}

/// A JSON converter of data in samples and answers, not of the configuration.
///
/// # Errors
/// Never in practice: its settings are right.
pub(super) fn json(side: Side, schemas: bool) -> Result<Box<dyn Converter>, Failure> {
    let enabled = if schemas { "true" } else { "false" };
    let settings = [
        ("c", JSON_CONVERTER),
        ("c.schemas.enable", enabled),
        ("c.decimal.format", "NUMERIC"),
        ("c.replace.null.with.default", "false"),
    ];
    let made = plugins().make_converter("c", side, &settings.into_iter().collect());
    made.map_err(|error| Failure::wrong_input(error.report()))
}

fn configured(
    side: Side,
    connector: &Props,
    worker: &Props,
) -> Result<Box<dyn Converter>, Failure> {
    let key = match side {
        Side::Key => "key.converter",
        Side::Value => "value.converter",
        Side::Header => "header.converter",
    };
    let default: Props = [("header.converter", HEADER_CONVERTER)].into_iter().collect();
    let source = [connector, worker, &default].into_iter().find(|props| props.contains(key));
    let source = source.ok_or_else(|| {
        Failure::wrong_input(format!("a record comes as bytes, and there is no {key} to read them"))
            .hint(format!("set {key} in the configuration, or name the worker's file by --worker"))
    })?;
    let made = plugins().make_converter(key, side, source);
    made.map_err(|error| Failure::wrong_input(format!("{key}: {}", error.report())))
}
