//! The resources there are, and what can be done with each: the table of routes.

/// A place that a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Root,
    Health,
    Connectors,
    Connector(String),
    Config(String),
    Status(String),
    Restart(String),
    Pause(String),
    Resume(String),
    Stop(String),
    Tasks(String),
    TaskStatus(String, i64),
    TaskRestart(String, i64),
    Topics(String),
    TopicsReset(String),
    Offsets(String),
    Fence(String),
    Plugins,
    PluginConfig(String),
    PluginValidate(String),
    Loggers,
    Logger(String),
}

impl Resource {
    /// The resource of a path; `None` if there is none.
    pub(crate) fn find(path: &[String]) -> Option<Resource> {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        let number = |text: &str| text.parse::<i32>().ok().map(i64::from);
        let own = str::to_owned;
        Some(match parts.as_slice() {
            [] => Resource::Root,
            ["health"] => Resource::Health,
            ["connectors"] => Resource::Connectors,
            ["connectors", name] => Resource::Connector(own(name)),
            ["connectors", name, "config"] => Resource::Config(own(name)),
            ["connectors", name, "status"] => Resource::Status(own(name)),
            ["connectors", name, "restart"] => Resource::Restart(own(name)),
            ["connectors", name, "pause"] => Resource::Pause(own(name)),
            ["connectors", name, "resume"] => Resource::Resume(own(name)),
            ["connectors", name, "stop"] => Resource::Stop(own(name)),
            ["connectors", name, "tasks"] => Resource::Tasks(own(name)),
            ["connectors", name, "tasks", task, "status"] => {
                Resource::TaskStatus(own(name), number(task)?)
            }
            ["connectors", name, "tasks", task, "restart"] => {
                Resource::TaskRestart(own(name), number(task)?)
            }
            ["connectors", name, "topics"] => Resource::Topics(own(name)),
            ["connectors", name, "topics", "reset"] => Resource::TopicsReset(own(name)),
            ["connectors", name, "offsets"] => Resource::Offsets(own(name)),
            ["connectors", name, "fence"] => Resource::Fence(own(name)),
            ["connector-plugins"] => Resource::Plugins,
            ["connector-plugins", name, "config"] => Resource::PluginConfig(own(name)),
            ["connector-plugins", name, "config", "validate"] => {
                Resource::PluginValidate(own(name))
            }
            ["admin", "loggers"] => Resource::Loggers,
            ["admin", "loggers", name] => Resource::Logger(own(name)),
            _ => return None,
        })
    }

    /// What can be done, as the header `Allow` says it.
    pub(crate) fn allow(&self) -> &'static str {
        match self {
            Resource::Root
            | Resource::Health
            | Resource::Status(_)
            | Resource::TaskStatus(..)
            | Resource::Topics(_)
            | Resource::Plugins
            | Resource::PluginConfig(_)
            | Resource::Loggers => "HEAD,GET,OPTIONS",
            Resource::Connectors | Resource::Tasks(_) => "HEAD,GET,POST,OPTIONS",
            Resource::Connector(_) => "HEAD,GET,DELETE,OPTIONS",
            Resource::Config(_) => "HEAD,GET,PUT,PATCH,OPTIONS",
            Resource::Offsets(_) => "HEAD,GET,PATCH,DELETE,OPTIONS",
            Resource::Logger(_) => "HEAD,GET,PUT,OPTIONS",
            Resource::Restart(_) | Resource::TaskRestart(..) => "POST,OPTIONS",
            Resource::Pause(_)
            | Resource::Resume(_)
            | Resource::Stop(_)
            | Resource::TopicsReset(_)
            | Resource::Fence(_)
            | Resource::PluginValidate(_) => "PUT,OPTIONS",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(path: &str) -> Option<Resource> {
        let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        Resource::find(&parts)
    }

    #[test]
    fn paths_name_resources_and_tasks_have_numbers() {
        assert_eq!(Resource::find(&[]), Some(Resource::Root));
        assert_eq!(find("Connectors"), None);
        assert_eq!(find("connectors/status"), Some(Resource::Connector("status".to_owned())));
        let task = Resource::TaskStatus("c".to_owned(), -1);
        assert_eq!(find("connectors/c/tasks/-1/status"), Some(task));
        assert_eq!(find("connectors/c/tasks/x/status"), None);
        assert_eq!(find("connectors/c/tasks/99999999999/status"), None);
        assert_eq!(find("connectors/c/tasks-config"), None);
        assert_eq!(find("connector-plugins/c"), None);
    }
}
