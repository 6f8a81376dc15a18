//! One consumer group of one cluster in this process: its thread, its destinations, its readers.

use super::fetch::{Fetch, GroupShared};
use super::properties::Clients;
use super::readers;
use super::router::Router;
use kafka::ClientSettings;
use runtime::Budget;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// Readers that catch up at the same time; each has a client of its own.
const READERS_MAX: usize = 4;

pub(super) struct Group {
    pub(super) router: Arc<Router>,
    pub(super) shared: Arc<GroupShared>,
    settings: ClientSettings,
    thread: Option<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
}

/// Whom a process is in a group.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) group: &'a str,
    /// A name that stays over restarts; `None`: a new member each time.
    pub(super) name: Option<&'a str>,
}

impl Group {
    /// Starts the group's thread; it subscribes once there are topics.
    /// # Errors
    /// What the client refuses; for the detail of blocked consumers.
    pub(super) fn start(
        clients: &Clients,
        member: &Member<'_>,
        budget: Arc<Budget>,
        budget_bytes_max: usize,
    ) -> Result<Group, String> {
        let mut settings = clients.consumer.clone();
        settings.insert("group.id".to_owned(), member.group.to_owned());
        settings.entry("client.id".to_owned()).or_insert_with(|| "copycat-pg".to_owned());
        let reading = settings.clone();
        if let Some(name) = member.name {
            settings.insert("group.instance.id".to_owned(), name.to_owned());
        }
        let router = Arc::new(Router::new(budget, budget_bytes_max));
        let shared = Arc::new(GroupShared::default());
        let fetch = Fetch::new(settings, router.clone(), shared.clone());
        let fetch = fetch.map_err(|error| runtime::kafka_error(error).report())?;
        let span = tracing::info_span!("group", id = %member.group);
        let thread = std::thread::Builder::new()
            .name("fetch".to_owned())
            .spawn(move || span.in_scope(|| fetch.run()))
            .map_err(|error| format!("a thread could not be started: {error}"))?;
        let thread = Some(thread);
        Ok(Group { router, shared, settings: reading, thread, readers: Vec::new() })
    }

    /// Starts readers for those who have to catch up, as far as there is room for more.
    pub(super) fn start_readers(&mut self) {
        self.readers.retain(|reader| !reader.is_finished());
        while self.readers.len() < READERS_MAX {
            let Some(errand) = self.router.next_errand() else { return };
            match readers::start(&self.settings, self.router.clone(), self.shared.clone(), errand) {
                Ok(reader) => self.readers.push(reader),
                Err(error) => {
                    tracing::warn!("no reader could be started: {error}");
                    return;
                }
            }
        }
    }

    /// Asks the group to end: partitions are given back after what is in flight has been settled.
    pub(super) fn stop(&self) {
        self.shared.stop();
        self.router.wake();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end, and then for that of the destinations, at most until `deadline`.
    pub(super) fn join(mut self, deadline: Instant) {
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
            && Instant::now() < deadline
        {
            std::thread::park_timeout(std::time::Duration::from_millis(5));
        }
        if let Some(thread) = self.thread.take_if(|thread| thread.is_finished())
            && thread.join().is_err()
        {
            tracing::error!("the thread of a group panicked; please report this");
        }
        let destinations = self.router.take_all();
        for destination in &destinations {
            destination.lane.stop();
        }
        for destination in destinations {
            if let Err(error) = destination.lane.join(deadline) {
                tracing::debug!("a lane ended: {}", error.report());
            }
        }
    }
}
