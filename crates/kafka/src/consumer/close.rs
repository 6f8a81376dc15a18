//! How a consumer ends: leaving the group, keeping its place, or after a fatal error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};

use super::SinkConsumer;
use super::context::SinkContext;
use crate::ffi;

impl SinkConsumer {
    /// Leaves the group at once, so that others take over without waiting for the session to end, and
    /// closes. For a task that is stopped, deleted or moved.
    pub fn leave(mut self) {
        // There is no group to leave for one that has assigned its partitions itself.
        if let Some(client) = self.client.clone().filter(|_| !self.manual)
            && client.client().fatal_error().is_none()
        {
            client.unsubscribe();
            serve_until_unassigned(&client, Duration::from_secs(5));
        }
        self.shut();
    }

    /// Closes. A static member (`group.instance.id`) keeps its place in the group until its session
    /// ends: for a task that is expected back.
    pub fn close(mut self) {
        self.shut();
    }

    pub(super) fn shut(&mut self) {
        let Some(client) = self.client.take() else { return };
        let context = client.context();
        let native = client.client().native_client();
        for tp in context.seats().all() {
            ffi::route(native, &tp, None);
        }
        if let Some(own) = context.own().take() {
            own.wake_on(None);
        }
        if let Some(events) = self.events.take() {
            events.wake_on(None);
        }
        let fatal = client.client().fatal_error().is_some();
        // After a fatal error the library refuses to close.
        if !fatal && client.close_queue().is_ok() {
            let deadline = Instant::now() + Duration::from_secs(10);
            while !client.closed() && Instant::now() < deadline {
                let _ = client.poll(Duration::from_millis(10));
            }
        }
        if self.manual {
            context.seats().clear();
        }
        context.finish(fatal);
        if client.client().fatal_error().is_some() {
            destroy_after_fatal_error(client);
        }
    }
}

/// Waits until no other thread is inside a call of the client any more, then destroys it.
fn destroy_after_fatal_error(mut client: Arc<BaseConsumer<SinkContext>>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        match Arc::try_unwrap(client) {
            Ok(client) => return ffi::destroy_after_fatal_error(client),
            Err(shared) => client = shared,
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    // The plain destructor would block whoever lets go last.
    tracing::warn!(target: "kafka", "a fenced consumer is still in use and stays in memory");
    std::mem::forget(client);
}

fn serve_until_unassigned(client: &BaseConsumer<SinkContext>, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    while client.assignment().is_ok_and(|list| list.count() > 0) && Instant::now() < deadline {
        let _ = client.poll(Duration::from_millis(10));
    }
}
