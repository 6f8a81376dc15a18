//! The file source of Kafka Connect: every line of a file, or of the standard input, is a record.
//!
//! Where it differs from Apache's: positions count bytes, lines beyond `batch.size` do not wait for the
//! file to grow, and a file that was cut or replaced is noticed and read from its start.

mod input;
mod lines;
mod task;
#[cfg(test)]
mod tests;

use crate::paths::look_to_read;
use api::{
    Check, Checking, Connector, ConnectorPlugin, Error, ExactlyOnce, Result, SourceConnector, SourceMap, SourceTask,
    TaskContext,
};
use config::{Config, ConfigDef, Props};
use serde_json::Value;
use task::FileTask;

const CLASS: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";

/// The registry entry.
pub static PLUGIN: ConnectorPlugin = ConnectorPlugin {
    class: CLASS,
    aliases: &["file-source", "FileStreamSourceConnector", "FileStreamSource"],
    // The release of Apache Kafka whose connector it stands for.
    version: "4.4.0",
    summary: "Writes the lines of a file, or of the standard input, into a topic",
    claims: |_| true,
    make: || Connector::Source(Box::new(FileStreamSource)),
};

/// The settings.
#[derive(Config, Clone, Debug)]
struct FileStreamSourceConfig {
    /// Source filename. If not specified, the standard input will be used.
    #[config(importance = high)]
    file: Option<String>,

    /// The topic to publish data to.
    #[config(importance = high, non_empty)]
    topic: String,

    /// The maximum number of records the source task can read from the file each time it is polled.
    #[config(key = "batch.size", default = 2000, importance = low,
        validator = config::Validator::OrNull(Box::new(config::Validator::range(Some(1.into()), None))))]
    batch_size: i32,
}

struct FileStreamSource;

fn file_of(props: &Props) -> Option<String> {
    props.get("file").filter(|file| !file.is_empty()).map(str::to_owned)
}

impl SourceConnector for FileStreamSource {
    fn config_def(&self, _class: &str) -> ConfigDef {
        FileStreamSourceConfig::def()
    }

    fn check(&self, _asked: &Checking, props: &Props) -> Vec<Check> {
        let file = props.get("file").filter(|file| !file.is_empty());
        file.map(|file| look_to_read("file", file)).into_iter().collect()
    }

    fn exactly_once(&self, props: &Props) -> ExactlyOnce {
        // What came from the standard input, or a pipe, cannot be read again.
        match file_of(props) {
            Some(file) if std::fs::metadata(&file).is_ok_and(|meta| !meta.is_file()) => {
                ExactlyOnce::Unsupported
            }
            Some(_) => ExactlyOnce::Supported,
            None => ExactlyOnce::Unsupported,
        }
    }

    fn notices(&self, props: &Props) -> Vec<String> {
        let tasks: u32 = props.get("tasks.max").and_then(|n| n.trim().parse().ok()).unwrap_or(1);
        let mut notices = Vec::new();
        if tasks > 1 {
            notices.push("tasks.max: a file has one reader, so there is one task".to_owned());
        }
        notices
    }

    fn task_configs(&self, props: &Props, _tasks_max: u32) -> Result<Vec<Props>> {
        Ok(vec![props.clone()])
    }

    fn task(&self, _context: &TaskContext, props: &Props) -> Result<Box<dyn SourceTask>> {
        let config = FileStreamSourceConfig::parse(props)
            .map_err(|errors| Error::config(errors.to_string()))?;
        let file = config.file.filter(|file| !file.is_empty());
        Ok(Box::new(FileTask::new(file, &config.topic, config.batch_size.max(1) as usize)))
    }

    fn check_offsets(
        &self,
        props: &Props,
        offsets: &[(SourceMap, Option<SourceMap>)],
    ) -> Result<()> {
        if file_of(props).is_none() {
            return Err(Error::config(
                "Offsets cannot be modified if the 'file' configuration is unspecified. This is \
                 because stdin is used for input and offsets are not tracked.",
            ));
        }
        for (partition, offset) in offsets {
            let Some(offset) = offset else { continue };
            let fault = match offset.get("position") {
                None => Some("Offset objects should either be null or contain the key 'position'"),
                Some(Value::Number(position)) if position.as_i64().is_none() => {
                    Some("The value for the 'position' key in the offset is expected to be a Long value")
                }
                Some(Value::Number(position)) if position.as_i64().is_some_and(|n| n < 0) => {
                    Some("The value for the 'position' key in the offset should be a non-negative value")
                }
                Some(Value::Number(_)) => None,
                Some(_) => {
                    Some("The value for the 'position' key in the offset is expected to be a Long value")
                }
            };
            let fault = fault.or_else(|| {
                let missing = !partition.contains_key("filename");
                missing.then_some("Partition objects should contain the key 'filename'")
            });
            if let Some(fault) = fault {
                return Err(Error::config(fault));
            }
        }
        Ok(())
    }
}
