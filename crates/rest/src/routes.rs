//! The table of routes: the one place that says which paths there are and what can be done with each.
//!
//! Requests are dispatched by it, the header `Allow` is read from it, and the OpenAPI document and the
//! reference page are written from it, so that none of them can name a route that another does not.

/// A part of the interface, which may have addresses of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Main,
    /// What `admin.listeners` is about.
    Admin,
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Root,
    Health,
    OpenApi,
    /// Answers text, whatever else there is.
    Metrics,
    ListConnectors,
    CreateConnector,
    GetConnector,
    DeleteConnector,
    GetConfig,
    PutConfig,
    PatchConfig,
    GetStatus,
    Restart,
    Pause,
    Resume,
    Stop,
    ListTasks,
    GetTaskStatus,
    RestartTask,
    GetTopics,
    ResetTopics,
    GetOffsets,
    AlterOffsets,
    ResetOffsets,
    ListPlugins,
    GetPluginConfig,
    Validate,
    ListWorkers,
    Drain,
    Undrain,
    ListLoggers,
    GetLogger,
    SetLogger,
    /// Of workers among themselves.
    SetTasks,
    /// Of workers among themselves.
    Fence,
}

impl Operation {
    /// Whether it changes what only the leader of a cluster may change.
    pub(crate) fn is_of_leader(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::CreateConnector
                | O::DeleteConnector
                | O::PutConfig
                | O::PatchConfig
                | O::Restart
                | O::Pause
                | O::Resume
                | O::Stop
                | O::RestartTask
                | O::AlterOffsets
                | O::ResetOffsets
                | O::SetTasks
                | O::Fence
        )
    }

    /// Whether only the worker that it names can do it.
    pub(crate) fn is_of_worker(self) -> bool {
        matches!(self, Operation::Drain | Operation::Undrain)
    }

    /// Whether only workers ask it of each other: it is in no document, and needs no password.
    pub(crate) fn is_internal(self) -> bool {
        matches!(self, Operation::SetTasks | Operation::Fence)
    }
}

/// A path, and what can be done there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Pieces in braces are parameters: a task's number, or a name.
    pub(crate) path: &'static str,
    pub(crate) part: Part,
    /// As the header `Allow` has it.
    pub(crate) allow: &'static str,
    /// In the order of `allow`.
    pub(crate) operations: &'static [(&'static str, Operation)],
}

impl Place {
    /// What a method does here; `HEAD` is as `GET`.
    pub(crate) fn operation(&self, method: &str) -> Option<Operation> {
        let method = if method == "HEAD" { "GET" } else { method };
        self.operations.iter().find(|(known, _)| *known == method).map(|(_, operation)| *operation)
    }

    /// Whether it is about the connectors that there are.
    pub(crate) fn is_of_connectors(&self) -> bool {
        self.path.starts_with("/connectors")
    }

    const fn of(
        path: &'static str,
        allow: &'static str,
        operations: &'static [(&'static str, Operation)],
    ) -> Place {
        Place { path, part: Part::Main, allow, operations }
    }

    const fn admin(
        path: &'static str,
        allow: &'static str,
        operations: &'static [(&'static str, Operation)],
    ) -> Place {
        Place { path, part: Part::Admin, allow, operations }
    }
}

/// The piece of a path that is a task's number.
const TASK: &str = "{task}";

/// Every path there is.
pub(crate) static PLACES: [Place; 26] = {
    use Operation as O;
    const GET: &str = "HEAD,GET,OPTIONS";
    const POST: &str = "POST,OPTIONS";
    const PUT: &str = "PUT,OPTIONS";
    [
        Place::of("/", GET, &[("GET", O::Root)]),
        Place::of("/health", GET, &[("GET", O::Health)]),
        Place::of("/openapi.json", GET, &[("GET", O::OpenApi)]),
        Place::of("/metrics", GET, &[("GET", O::Metrics)]),
        Place::of(
            "/connectors",
            "HEAD,GET,POST,OPTIONS",
            &[("GET", O::ListConnectors), ("POST", O::CreateConnector)],
        ),
        Place::of(
            "/connectors/{connector}",
            "HEAD,GET,DELETE,OPTIONS",
            &[("GET", O::GetConnector), ("DELETE", O::DeleteConnector)],
        ),
        Place::of(
            "/connectors/{connector}/config",
            "HEAD,GET,PUT,PATCH,OPTIONS",
            &[("GET", O::GetConfig), ("PUT", O::PutConfig), ("PATCH", O::PatchConfig)],
        ),
        Place::of("/connectors/{connector}/status", GET, &[("GET", O::GetStatus)]),
        Place::of("/connectors/{connector}/restart", POST, &[("POST", O::Restart)]),
        Place::of("/connectors/{connector}/pause", PUT, &[("PUT", O::Pause)]),
        Place::of("/connectors/{connector}/resume", PUT, &[("PUT", O::Resume)]),
        Place::of("/connectors/{connector}/stop", PUT, &[("PUT", O::Stop)]),
        Place::of(
            "/connectors/{connector}/tasks",
            "HEAD,GET,POST,OPTIONS",
            &[("GET", O::ListTasks), ("POST", O::SetTasks)],
        ),
        Place::of("/connectors/{connector}/tasks/{task}/status", GET, &[("GET", O::GetTaskStatus)]),
        Place::of(
            "/connectors/{connector}/tasks/{task}/restart",
            POST,
            &[("POST", O::RestartTask)],
        ),
        Place::of("/connectors/{connector}/topics", GET, &[("GET", O::GetTopics)]),
        Place::of("/connectors/{connector}/topics/reset", PUT, &[("PUT", O::ResetTopics)]),
        Place::of(
            "/connectors/{connector}/offsets",
            "HEAD,GET,PATCH,DELETE,OPTIONS",
            &[("GET", O::GetOffsets), ("PATCH", O::AlterOffsets), ("DELETE", O::ResetOffsets)],
        ),
        Place::of("/connectors/{connector}/fence", PUT, &[("PUT", O::Fence)]),
        Place::of("/connector-plugins", GET, &[("GET", O::ListPlugins)]),
        Place::of("/connector-plugins/{plugin}/config", GET, &[("GET", O::GetPluginConfig)]),
        Place::of("/connector-plugins/{plugin}/config/validate", PUT, &[("PUT", O::Validate)]),
        Place::of("/workers", GET, &[("GET", O::ListWorkers)]),
        Place::of(
            "/workers/{worker}/drain",
            "PUT,DELETE,OPTIONS",
            &[("PUT", O::Drain), ("DELETE", O::Undrain)],
        ),
        Place::admin("/admin/loggers", GET, &[("GET", O::ListLoggers)]),
        Place::admin(
            "/admin/loggers/{logger}",
            "HEAD,GET,PUT,OPTIONS",
            &[("GET", O::GetLogger), ("PUT", O::SetLogger)],
        ),
    ]
};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) place: &'static Place,
    /// The connector, plugin, worker or logger; empty where the path has none.
    pub(crate) name: String,
    /// 0 where the path has none.
    pub(crate) task: i64,
}

/// The place of a path, given in its decoded pieces; `None` if there is none.
pub(crate) fn find(path: &[String]) -> Option<Found> {
    PLACES.iter().find_map(|place| matches(place, path))
}

fn matches(place: &'static Place, path: &[String]) -> Option<Found> {
    let mut found = Found { place, name: String::new(), task: 0 };
    let mut pieces = place.path.split('/').filter(|piece| !piece.is_empty());
    for given in path {
        let piece = pieces.next()?;
        if piece == TASK {
            found.task = i64::from(given.parse::<i32>().ok()?);
        } else if piece.starts_with('{') {
            found.name.clone_from(given);
        } else if piece != given {
            return None;
        }
    }
    pieces.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<(&'static str, String, i64)> {
        let parts: Vec<String> =
            path.split('/').filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
        find(&parts).map(|found| (found.place.path, found.name, found.task))
    }

    #[test]
    fn paths_name_places_and_tasks_have_numbers() {
        assert_eq!(found("/"), Some(("/", String::new(), 0)));
        assert_eq!(found("/Connectors"), None);
        assert_eq!(found("/connectors/config/x"), None);
        let of = |path| Some((path, "status".to_owned(), 0));
        assert_eq!(found("/connectors/status"), of("/connectors/{connector}"));
        let task = "/connectors/{connector}/tasks/{task}/status";
        assert_eq!(found("/connectors/c/tasks/-1/status"), Some((task, "c".to_owned(), -1)));
        for none in [
            "/connectors/c/tasks/x/status",
            "/connectors/c/tasks/99999999999/status",
            "/connectors/c/tasks-config",
            "/connector-plugins/c",
        ] {
            assert_eq!(found(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_allowed_is_what_is_done() {
        for place in &PLACES {
            let done: Vec<&str> = place.operations.iter().map(|(method, _)| *method).collect();
            let head = if done.contains(&"GET") { vec!["HEAD"] } else { Vec::new() };
            let wanted: Vec<&str> = head.into_iter().chain(done).chain(["OPTIONS"]).collect();
            assert_eq!(place.allow, wanted.join(","), "{}", place.path);
        }
    }
}
