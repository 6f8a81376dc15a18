//! The keys of the generator, in our own words and in Confluent's, and what they come to.

use super::shapes;
use super::template::Template;
use config::{Config, ConfigDef, ConfigError, ConfigErrors, Props};

/// Confluent's class, whose keys are taken too.
pub(super) const CONFLUENT_CLASSES: [&str; 3] = [
    "io.confluent.kafka.connect.datagen.DatagenConnector",
    "DatagenConnector",
    "Datagen",
];
/// How many tasks share the work; set by the connector in the configs of its tasks.
pub(super) const TASKS: &str = "datagen.tasks";

/// Our own keys.
#[derive(Config, Clone, Debug)]
struct DatagenConfig {
    /// The topic that the records go to.
    #[config(importance = high, non_empty)]
    topic: String,

    /// What the records are about: `orders`, `users`, `clicks` or `sensors`.
    #[config(default = "orders", importance = high, one_of("orders", "users", "clicks", "sensors"))]
    shape: String,

    /// A JSON object that every record looks like, instead of a named shape. Texts in it may hold
    /// generators, such as `${int:1:9}`.
    #[config(default = "", importance = high)]
    template: String,

    /// Whether records have a schema. Off: they are objects without one, times numbers of
    /// milliseconds.
    #[config(key = "schema.enable", default = true)]
    schema_enable: bool,

    /// The field whose value is the record's key. Empty: the shape's own; with a template none.
    #[config(key = "key.field", default = "")]
    key_field: String,

    /// Records a second, of all tasks together; 0 is as many as can be.
    #[config(default = 10.0, range(0.0, 1e12), importance = high)]
    rate: f64,

    /// After how many records it is over, of all tasks together; 0 is never.
    #[config(default = 0, at_least(0), importance = high)]
    count: i64,

    /// Other seeds, other values. The same seed gives the same records again.
    #[config(default = 1)]
    seed: i64,

    /// The share of records, from 0 to 1, that are not as the others: in turn by chance a text instead
    /// of an object, and an object with a text in place of its first number.
    #[config(key = "poison.share", default = 0.0, range(0.0, 1.0))]
    poison_share: f64,
}

/// The keys of Confluent's generator.
#[derive(Config, Clone, Debug)]
struct ConfluentConfig {
    /// The topic that the records go to.
    #[config(key = "kafka.topic", importance = high, non_empty)]
    topic: String,

    /// What the records are about: `orders`, `users`, `pageviews`, `ratings`, `stock_trades` or
    /// `inventory`.
    #[config(default = "", importance = high)]
    quickstart: String,

    /// The longest time between two records of a task, in milliseconds; half of it is what it comes to.
    /// 0 and less: as fast as can be.
    #[config(key = "max.interval", default = 500, importance = high)]
    max_interval: i64,

    /// How many records each task gives; -1 is no end.
    #[config(default = -1, importance = high)]
    iterations: i64,

    /// Other seeds, other values.
    #[config(key = "random.seed")]
    random_seed: Option<i64>,

    /// The field whose value is the record's key. Empty: the quickstart's own.
    #[config(key = "schema.keyfield", default = "")]
    key_field: String,

    /// Not supported: use `template` under the class io.copycat.DatagenSourceConnector.
    #[config(key = "schema.string", default = "", importance = low)]
    schema_string: String,

    /// Not supported: use `template` under the class io.copycat.DatagenSourceConnector.
    #[config(key = "schema.filename", default = "", importance = low)]
    schema_filename: String,

    /// Without effect: making a record takes no time to speak of.
    #[config(key = "generate.timeout", importance = low)]
    _generate_timeout: Option<i64>,
}

/// What either comes to.
pub(super) struct Settings {
    pub(super) topic: String,
    pub(super) template: Template,
    pub(super) key: Option<usize>,
    /// A second, of all tasks; 0 is no limit.
    pub(super) rate: f64,
    /// Of all tasks; 0 is no end.
    pub(super) count: i64,
    pub(super) seed: u64,
    pub(super) poison_share: f64,
}

fn is_confluent(class: &str) -> bool {
    CONFLUENT_CLASSES.contains(&class.trim())
}

pub(super) fn def(class: &str) -> ConfigDef {
    let def = if is_confluent(class) { ConfluentConfig::def() } else { DatagenConfig::def() };
    def.completed("Data")
}

impl Settings {
    /// # Errors
    /// Keys that cannot be as they are.
    pub(super) fn read(props: &Props, tasks: i64) -> Result<Settings, Vec<ConfigError>> {
        if is_confluent(props.get("connector.class").unwrap_or_default()) {
            let config = ConfluentConfig::parse(props).map_err(errors)?;
            confluent(config, tasks).map_err(|error| vec![error])
        } else {
            let config = DatagenConfig::parse(props).map_err(errors)?;
            own(config).map_err(|error| vec![error])
        }
    }
}

fn errors(errors: ConfigErrors) -> Vec<ConfigError> {
    errors.errors
}

fn own(config: DatagenConfig) -> Result<Settings, ConfigError> {
    let named = config.template.trim().is_empty();
    let (template, schema, own_key) = if named {
        let shape = shapes::find(&shapes::OWN, &config.shape);
        let shape = shape.map_err(|fault| ConfigError::new("shape", fault))?;
        (shape.template, shape.schema, shape.key)
    } else {
        (config.template.as_str(), "", "")
    };
    let template = Template::new(template, config.schema_enable, schema)
        .map_err(|fault| ConfigError::new("template", fault))?;
    let key = key(&template, "key.field", &config.key_field, own_key)?;
    Ok(Settings {
        topic: config.topic,
        template,
        key,
        rate: config.rate,
        count: config.count,
        seed: config.seed as u64,
        poison_share: config.poison_share,
    })
}

fn confluent(config: ConfluentConfig, tasks: i64) -> Result<Settings, ConfigError> {
    for (key, value) in
        [("schema.string", &config.schema_string), ("schema.filename", &config.schema_filename)]
    {
        if !value.trim().is_empty() {
            return Err(ConfigError::new(
                key,
                "schemas of Confluent's generator are not supported; set \
                 connector.class=io.copycat.DatagenSourceConnector and describe the records in \
                 template",
            ));
        }
    }
    let shape = shapes::find(&shapes::CONFLUENT, &config.quickstart)
        .map_err(|fault| ConfigError::new("quickstart", fault))?;
    let template = Template::new(shape.template, true, shape.schema)
        .map_err(|fault| ConfigError::new("quickstart", fault))?;
    let key = key(&template, "schema.keyfield", &config.key_field, shape.key)?;
    let rate = if config.max_interval > 0 { 2_000.0 / config.max_interval as f64 } else { 0.0 };
    // There each task has these to itself.
    Ok(Settings {
        topic: config.topic,
        template,
        key,
        rate: rate * tasks as f64,
        count: config.iterations.max(0).saturating_mul(tasks),
        seed: config.random_seed.unwrap_or(1) as u64,
        poison_share: 0.0,
    })
}

fn key(
    template: &Template,
    name: &str,
    wanted: &str,
    own: &str,
) -> Result<Option<usize>, ConfigError> {
    let field = if wanted.is_empty() { own } else { wanted };
    if field.is_empty() {
        return Ok(None);
    }
    let position = template.position(field);
    let unknown = || {
        let names = template.names();
        ConfigError::new(name, format!("records have no field {field}; they have {names}"))
    };
    position.map(Some).ok_or_else(unknown)
}
