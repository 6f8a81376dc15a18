//! A source of made-up records, to try a pipeline without a source of its own.
//!
//! Every record follows from a seed and its number, so that one that is given again is the same.

mod generator;
mod random;
mod settings;
mod shapes;
mod task;
mod template;
#[cfg(test)]
mod tests;

use api::{
    Connector, ConnectorPlugin, Error, ExactlyOnce, Result, SourceConnector, SourceMap, SourceTask,
    TaskContext,
};
use config::{ConfigDef, ConfigError, Props};
use settings::{CONFLUENT_CLASSES, Settings, TASKS};
use task::{DatagenTask, Share};

const CLASS: &str = "io.copycat.DatagenSourceConnector";

/// The registry entry.
pub static PLUGIN: ConnectorPlugin = ConnectorPlugin {
    class: CLASS,
    aliases: &[
        "datagen",
        "DatagenSourceConnector",
        "DatagenSource",
        CONFLUENT_CLASSES[0],
        CONFLUENT_CLASSES[1],
        CONFLUENT_CLASSES[2],
    ],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Makes up records: orders, users, clicks, sensor readings, or by a template",
    claims: |_| true,
    make: || Connector::Source(Box::new(Datagen)),
};

struct Datagen;

fn tasks_of(props: &Props) -> i64 {
    props.get(TASKS).and_then(|n| n.parse().ok()).unwrap_or(1).max(1)
}

impl SourceConnector for Datagen {
    fn config_def(&self, class: &str) -> ConfigDef {
        settings::def(class)
    }

    fn has_references(&self, key: &str) -> bool {
        key == "template"
    }

    fn validate(&self, props: &Props) -> Vec<ConfigError> {
        Settings::read(props, 1).err().unwrap_or_default()
    }

    fn exactly_once(&self, _props: &Props) -> ExactlyOnce {
        ExactlyOnce::Supported
    }

    fn task_configs(&self, props: &Props, tasks_max: u32) -> Result<Vec<Props>> {
        let tasks = tasks_max.max(1);
        let mut config = props.clone();
        config.insert(TASKS, tasks.to_string());
        Ok(vec![config; tasks as usize])
    }

    fn task(&self, context: &TaskContext, props: &Props) -> Result<Box<dyn SourceTask>> {
        let tasks = tasks_of(props);
        let settings = Settings::read(props, tasks).map_err(|errors| {
            let each = errors.iter().map(|error| format!("{}: {}", error.key, error.message));
            Error::config(each.collect::<Vec<_>>().join("; "))
        })?;
        let share = Share { task: i64::from(context.task), tasks };
        Ok(Box::new(DatagenTask::new(&context.connector, settings, share)?))
    }

    fn check_offsets(
        &self,
        _props: &Props,
        offsets: &[(SourceMap, Option<SourceMap>)],
    ) -> Result<()> {
        for (partition, offset) in offsets {
            let Some(offset) = offset else { continue };
            let index = offset.get("index").and_then(serde_json::Value::as_i64);
            let of = |name: &str| partition.get(name).and_then(serde_json::Value::as_i64);
            let (Some(task), Some(tasks)) = (of("task"), of("tasks").filter(|n| *n > 0)) else {
                return Err(Error::config(
                    "a partition has the members connector, task and tasks, as GET offsets shows",
                ));
            };
            if index.is_none_or(|index| index < 0 || index % tasks != task) {
                return Err(Error::config(format!(
                    "index: the next record of task {task} of {tasks} has a number of the form \
                     {tasks} * n + {task}"
                )));
            }
        }
        Ok(())
    }
}
