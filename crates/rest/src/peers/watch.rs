//! Looks from time to time whether this worker would be reached under the address that it advertises,
//! whether it reaches the leader and is believed there, and which others it reaches: before somebody's
//! request finds out.

use super::{Failed, Peers, REACH_HINT, Trouble, presence};
use crate::server::{App, ended};
use crate::workers::urls_of_others;
use axum::http::StatusCode;
use axum::response::Response;
use herder::Leader;
use herder::distributed::keys::SessionKey;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// While all is well.
const PAUSE: Duration = Duration::from_secs(30);
/// While something is not.
const SHORT_PAUSE: Duration = Duration::from_secs(2);
/// For so long a worker is new, and how often it looks then whether there are others that it has not met.
const EARLY: Duration = Duration::from_secs(30);
const MEET_PAUSE: Duration = Duration::from_millis(500);
/// So often something fails before it is told of: names and routes may come a little later than a worker.
const FAILURES: u32 = 3;

/// Looks until `end` says so.
pub(crate) async fn watch(app: App, peers: Arc<Peers>, mut end: watch::Receiver<bool>) {
    let mut failures = [0; 2];
    let begin = Instant::now();
    loop {
        let own = ask(&peers, peers.url.clone(), None).await;
        let own = own_trouble(&peers, own);
        let own_fails = settle(&app, Trouble::Own, own, &mut failures[0]).await;
        let leader_fails = look_at_leader(&app, &peers, &mut failures[1]).await;
        let others_new = look_at_others(&app, &peers).await;
        let pause = if own_fails || leader_fails || others_new { SHORT_PAUSE } else { PAUSE };
        tokio::select! {
            () = pause_and_meet(&app, &peers, pause, begin + EARLY) => {}
            () = ended(&mut end) => return,
        }
    }
}

/// Passes the time of a pause. While this worker is new it meets the others as it hears of them, so that
/// it notices when one is gone.
async fn pause_and_meet(app: &App, peers: &Arc<Peers>, pause: Duration, early: Instant) {
    let end = Instant::now() + pause;
    while Instant::now() < end.min(early) {
        tokio::time::sleep(MEET_PAUSE).await;
        if let Ok(Some(workers)) = app.herder.workers().await {
            presence::meet(peers, &urls_of_others(&workers));
        }
    }
    tokio::time::sleep_until(end).await;
}

/// Notes how something is; whether it fails.
async fn settle(app: &App, which: Trouble, what: Option<String>, failures: &mut u32) -> bool {
    *failures = if what.is_some() { *failures + 1 } else { 0 };
    let fails = *failures > 0;
    if !fails || *failures >= FAILURES {
        note(app, which, what).await;
    }
    fails
}

/// Notes a trouble or its end, and tells the others.
pub(crate) async fn note(app: &App, which: Trouble, what: Option<String>) {
    let news = app.peers.as_ref().and_then(|peers| peers.note(which, what));
    if let Some(troubles) = news {
        // The driver has ended otherwise.
        let _gone = app.herder.tell_troubles(troubles).await;
    }
}

async fn look_at_leader(app: &App, peers: &Arc<Peers>, failures: &mut u32) -> bool {
    let url = match app.herder.leader() {
        // At its own address it led itself before it was started again; another one leads soon.
        Leader::At(url) if *url != *peers.url => url,
        Leader::At(_) | Leader::Here | Leader::Nobody => {
            for which in [Trouble::Leader, Trouble::Signature] {
                note(app, which, None).await;
            }
            *failures = 0;
            peers.no_other_leads();
            return false;
        }
    };
    let keys = app.herder.session_keys();
    let Some(key) = keys.current().cloned() else { return true };
    let (way, signature) = match ask(peers, url.to_string(), Some(key)).await {
        Err(failed) => (Some(unreached(peers, &url, failed.why())), None),
        Ok(response) if peers.is_me(&response) => {
            let why = "this worker itself answers there";
            (Some(unreached(peers, &url, why)), None)
        }
        Ok(response) => {
            // A key that was replaced just now is no trouble.
            let differs = response.status() == StatusCode::BAD_REQUEST;
            let refused = Peers::is_not_believed(&response) && differs;
            (None, refused.then(|| not_taken(&url)))
        }
    };
    // So that whoever asks for a change later is told at once that waiting does not help.
    peers.reached(&url, way.is_none());
    let fails = signature.is_some();
    note(app, Trouble::Signature, signature).await;
    settle(app, Trouble::Leader, way, failures).await || fails
}

/// Whether one of the others has never answered.
async fn look_at_others(app: &App, peers: &Arc<Peers>) -> bool {
    // The driver has ended otherwise.
    let Ok(Some(workers)) = app.herder.workers().await else { return false };
    presence::look(peers, &urls_of_others(&workers)).await
}

pub(super) async fn ask(
    peers: &Arc<Peers>,
    url: String,
    key: Option<SessionKey>,
) -> Result<Response, Failed> {
    let peers = peers.clone();
    let asking = tokio::task::spawn_blocking(move || peers.probe(&url, key.as_ref()));
    asking.await.unwrap_or_else(|error| Err(Failed::Lost(error.to_string())))
}

fn own_trouble(peers: &Peers, answered: Result<Response, Failed>) -> Option<String> {
    let url = &peers.url;
    match answered {
        Ok(response) if peers.is_me(&response) => None,
        Ok(_) => Some(format!(
            "this worker advertises {url}, and somebody else answers there; {REACH_HINT}"
        )),
        Err(failed) => Some(format!(
            "this worker advertises {url}, and does not reach itself there ({}); {REACH_HINT}",
            failed.why()
        )),
    }
}

/// What is said of a leader that cannot be reached.
pub(crate) fn unreached(peers: &Peers, url: &str, why: &str) -> String {
    match peers.presence.has_answered(url) {
        true => format!(
            "the leader does not answer at {url} any more ({why}); if it is gone, another worker leads when its \
             session with Kafka is over"
        ),
        false => format!(
            "the leader cannot be reached at {url}, which it advertises ({why}); {REACH_HINT}"
        ),
    }
}

/// What is said of a leader whose settings are others.
pub(crate) fn not_taken(url: &str) -> String {
    format!(
        "the leader at {url} does not take what this worker signs; set the same \
         inter.worker.signature.algorithm and inter.worker.verification.algorithms on all workers"
    )
}
