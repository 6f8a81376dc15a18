//! The file sink of Kafka Connect: the text of every value is a line of a file, or of the standard
//! output.
//!
//! Where it differs from Apache's: bytes, which have no text form, are refused instead of printed as
//! the address of an object; a line that a killed worker left unfinished is ended; and a file that was
//! moved away is made anew.

mod letters;
mod output;
mod task;

use crate::paths::look_to_write;
use api::{Check, Checking, Connector, ConnectorPlugin, Error, Result, SinkConnector, SinkTask, TaskContext};
use config::{Config, ConfigDef, ConfigError, Props};
use output::Output;
use task::{FileTask, Settings};

const CLASS: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";

/// The registry entry.
pub static PLUGIN: ConnectorPlugin = ConnectorPlugin {
    class: CLASS,
    aliases: &["file-sink", "FileStreamSinkConnector", "FileStreamSink"],
    // The release of Apache Kafka whose connector it stands for.
    version: "4.4.0",
    summary: "Appends the text of records to a file, or to the standard output",
    claims: |_| true,
    make: || Connector::Sink(Box::new(FileStreamSink)),
};

/// The settings.
#[derive(Config, Clone, Debug)]
struct FileStreamSinkConfig {
    /// Destination filename. If not specified, the standard output will be used.
    #[config(importance = high)]
    file: Option<String>,

    /// Whether a position is committed only when the lines before it are on the disk, so that a power
    /// cut loses none. Off: when the operating system has them, which is enough for a worker that ends
    /// or is killed.
    #[config(key = "file.sync", default = false, importance = low, since = "0.1")]
    sync: bool,
}

struct FileStreamSink;

impl SinkConnector for FileStreamSink {
    fn config_def(&self, _class: &str) -> ConfigDef {
        FileStreamSinkConfig::def()
    }

    fn validate(&self, _props: &Props) -> Vec<ConfigError> {
        Vec::new()
    }

    fn check(&self, _asked: &Checking, props: &Props) -> Vec<Check> {
        let file = props.get("file").filter(|file| !file.is_empty());
        file.map(|file| look_to_write("file", file)).into_iter().collect()
    }

    fn notices(&self, _props: &Props) -> Vec<String> {
        Vec::new()
    }

    fn task_configs(&self, props: &Props, tasks_max: u32) -> Result<Vec<Props>> {
        Ok(vec![props.clone(); tasks_max.max(1) as usize])
    }

    fn task(&self, context: &TaskContext, props: &Props) -> Result<Box<dyn SinkTask>> {
        let config = FileStreamSinkConfig::parse(props)
            .map_err(|errors| Error::config(errors.to_string()))?;
        let tasks = props.get("tasks.max").map_or(Ok(1), |n| n.trim().parse::<u32>());
        let output = match config.file.filter(|file| !file.is_empty()) {
            // Where others append as well, an unfinished line may be one that is being written.
            Some(file) => Output::file(&file, tasks.is_ok_and(|tasks| tasks <= 1)),
            None => Output::stdout(),
        };
        let topic = props.get("errors.deadletterqueue.topic.name").unwrap_or_default();
        let settings = Settings {
            tolerance: context.tolerance,
            sync: config.sync,
            letters: !topic.trim().is_empty(),
        };
        Ok(Box::new(FileTask::new(output, settings)))
    }
}
