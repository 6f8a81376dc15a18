//! What really runs, and what is told of it: the workers' own logs say when each of them began and ended to
//! run a task; whoever listens writes down what every worker answers meanwhile. The two are compared
//! afterwards.

use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::process::{Worker, request};

/// Microseconds since 1970.
pub(crate) type Moment = u64;
const SECOND: Moment = 1_000_000;
/// What makes workers tell of the tasks that they start and end.
pub(crate) const LOGS: [(&str, &str); 2] = [
    ("COPYCAT_LOG_FORMAT", "json"),
    ("COPYCAT_LOG_LEVEL", "info,herder::hands=debug,runtime::status=debug"),
];
/// How often each worker is asked.
const ASKED_EVERY: Duration = Duration::from_millis(200);
/// Answers that took longer tell of no moment.
const ANSWER_MAX: Moment = SECOND;
/// After it has gone on, a worker that stood still may run what others run by now for as long as it takes to
/// be told by Kafka, and its task to end.
const WAKING: Moment = 3 * SECOND;
/// What a worker that is gone has run nobody else runs before its session is over.
const UNNOTICED: Moment = 9 * SECOND;

pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    Moment::try_from(since.as_micros()).expect("a moment")
}

/// Connector and number.
type Task = (String, u64);

/// From when until when a worker had a task; no end: it still does.
#[derive(Clone, Debug)]
struct Run {
    worker: String,
    from: Moment,
    /// Since when it was RUNNING; none: it never was.
    runs: Option<Moment>,
    /// When it was told to stop.
    stops: Option<Moment>,
    until: Option<Moment>,
}

impl Run {
    fn overlaps(&self, from: Moment, until: Moment) -> bool {
        self.from <= until && self.until.is_none_or(|end| end >= from)
    }

    /// Since when it was RUNNING, if it was nothing else all the time.
    fn covers(&self, from: Moment, until: Moment) -> Option<Moment> {
        let end = self.stops.or(self.until);
        self.runs.filter(|runs| *runs <= from && end.is_none_or(|end| end >= until))
    }
}

/// A time in which somebody asked for another state or configuration of a connector.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) connector: String,
    pub(crate) from: Moment,
    pub(crate) until: Moment,
}

/// A time in which a worker was dead, or stood still, or in which brokers were not all there.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    /// None: brokers.
    pub(crate) worker: Option<String>,
    pub(crate) killed: bool,
    pub(crate) from: Moment,
    pub(crate) until: Moment,
}

/// What one worker answered at one moment: the state of each task, and the worker that has it.
#[derive(Debug)]
struct Sample {
    teller: String,
    asked: Moment,
    answered: Moment,
    told: BTreeMap<Task, (String, String)>,
}

/// Asks every worker all the time.
pub(crate) struct Listeners {
    over: Arc<AtomicBool>,
    samples: Arc<Mutex<Vec<Sample>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Listeners {
    pub(crate) fn start(addresses: impl Iterator<Item = String>) -> Listeners {
        let over = Arc::new(AtomicBool::new(false));
        let samples = Arc::<Mutex<Vec<Sample>>>::default();
        let listen = |address: String| {
            let (over, samples) = (over.clone(), Arc::clone(&samples));
            std::thread::spawn(move || {
                while !over.load(Ordering::Acquire) {
                    let sample = ask(&address);
                    let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
                    samples.extend(sample);
                    drop(samples);
                    std::thread::park_timeout(ASKED_EVERY);
                }
            })
        };
        let threads = addresses.map(listen).collect();
        Listeners { over, samples, threads }
    }

    fn finish(mut self) -> Vec<Sample> {
        self.over.store(true, Ordering::Release);
        self.threads.drain(..).for_each(|thread| thread.join().expect("it listens"));
        std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

/// What a worker tells now; none where it does not answer, or is not ready.
fn ask(address: &str) -> Option<Sample> {
    let asked = now();
    if request(address, "GET", "/health", None).ok()?.status != 200 {
        return None;
    }
    let answer = request(address, "GET", "/connectors?expand=status", None).ok()?;
    let body: Value = serde_json::from_str(&answer.body).ok().filter(|_| answer.status == 200)?;
    let mut told = BTreeMap::new();
    for (name, connector) in body.as_object()? {
        for task in connector["status"]["tasks"].as_array()? {
            let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
            told.insert((name.clone(), task["id"].as_u64()?), (text("state"), text("worker_id")));
        }
    }
    Some(Sample { teller: address.to_owned(), asked, answered: now(), told })
}

/// Everything that ran, by task, in order.
pub(crate) struct Truth {
    runs: BTreeMap<Task, Vec<Run>>,
    outages: Vec<Outage>,
}

/// Something that was told and was not so, as often as one worker told it in one go.
pub(crate) struct Late {
    /// How long before it had been true, or after it came true, whichever is less; the longest.
    pub(crate) by: Duration,
    pub(crate) times: usize,
    text: String,
}

impl std::fmt::Debug for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Late { by, times, text } = self;
        write!(f, "{by:?} late, {times} times: {text}")
    }
}

impl Truth {
    /// Reads the logs of workers that are still there, or have ended.
    pub(crate) fn read(workers: &[Worker], outages: &[Outage]) -> Truth {
        let mut runs: BTreeMap<Task, Vec<Run>> = BTreeMap::new();
        for worker in workers {
            for (task, mut run) in runs_of(worker) {
                let died = |outage: &&Outage| {
                    let own = outage.worker.as_deref() == Some(worker.address());
                    own && outage.killed && outage.from >= run.from
                };
                let death = outages.iter().filter(died).map(|outage| outage.from).min();
                run.until = [run.until, death].into_iter().flatten().min();
                runs.entry(task).or_default().push(run);
            }
        }
        runs.values_mut().for_each(|runs| runs.sort_by_key(|run| run.from));
        Truth { runs, outages: outages.to_vec() }
    }

    /// Who runs each task of a connector now.
    pub(crate) fn running(&self, connector: &str) -> BTreeMap<u64, Vec<&str>> {
        let of = self.runs.iter().filter(|((name, _), _)| name == connector);
        let now = of.map(|((_, task), runs)| {
            let runs = runs.iter().filter(|run| run.until.is_none());
            (*task, runs.map(|run| run.worker.as_str()).collect::<Vec<_>>())
        });
        now.filter(|(_, runs)| !runs.is_empty()).collect()
    }

    /// How often tasks were started.
    pub(crate) fn starts(&self) -> usize {
        self.runs.values().map(Vec::len).sum()
    }

    /// No task ran on two workers; one that stood still may not know yet that it has lost its own. Gives the
    /// longest time for which such a one ran after it went on.
    #[track_caller]
    pub(crate) fn expect_nothing_twice(&self) -> Duration {
        let mut longest = 0;
        for (task, runs) in &self.runs {
            for (index, later) in runs.iter().enumerate() {
                for earlier in runs.iter().take(index) {
                    let until = earlier.until.unwrap_or(Moment::MAX);
                    if until > later.from {
                        let over = self.unaware(earlier, later).unwrap_or_else(|| {
                            let outages = self.outages_at(later.from);
                            panic!("{task:?} ran twice: {earlier:?} and {later:?}; {outages:#?}")
                        });
                        longest = longest.max(over);
                    }
                }
            }
        }
        Duration::from_micros(longest)
    }

    /// For how long one of two that overlap ran after its worker could know of the other; none: neither of
    /// them was away.
    fn unaware(&self, one: &Run, other: &Run) -> Option<Moment> {
        self.unaware_of(one, other).or_else(|| self.unaware_of(other, one))
    }

    /// One that was away may go on with its task, and may begin it then, until it has read that it is another's.
    fn unaware_of(&self, run: &Run, other: &Run) -> Option<Moment> {
        let began = run.from.max(other.from);
        let own = self.outages.iter().filter(|outage| {
            outage.worker.as_deref() == Some(run.worker.as_str()) || outage.worker.is_none()
        });
        let mut during = own.filter(|outage| {
            !outage.killed && outage.from <= began && began <= outage.until + WAKING
        });
        let end = run.until?;
        let outage = during.find(|outage| end <= outage.until.max(began) + WAKING)?;
        Some(end.saturating_sub(outage.until.max(began)))
    }

    /// What was amiss around a moment, for people.
    fn outages_at(&self, at: Moment) -> Vec<&Outage> {
        let near =
            |outage: &&Outage| outage.from <= at + 10 * SECOND && outage.until + 10 * SECOND >= at;
        self.outages.iter().filter(near).collect()
    }

    /// How late what was told was, worst first. What nobody can know is left out: what was `asked` for
    /// since a task began makes it one of a former configuration, which is not told to run.
    pub(crate) fn lateness(&self, listeners: Listeners, asked: &[Asked]) -> Vec<Late> {
        let samples = listeners.finish();
        let mut late: BTreeMap<_, Late> = BTreeMap::new();
        for sample in samples.iter().filter(|s| s.answered - s.asked <= ANSWER_MAX) {
            for (task, runs) in &self.runs {
                let Some(by) = self.late(sample, task, runs, asked).filter(|by| *by > 0) else {
                    continue;
                };
                let by = Duration::from_micros(by);
                let last = runs.iter().rposition(|run| run.from <= sample.answered);
                let told = sample.told.get(task);
                let new = || Late { by: Duration::ZERO, times: 0, text: String::new() };
                let known = late.entry((task, &sample.teller, told, last)).or_insert_with(new);
                known.times += 1;
                if by > known.by {
                    let near: Vec<&Run> = runs
                        .iter()
                        .filter(|run| {
                            run.overlaps(sample.asked - 20 * SECOND, sample.asked + 10 * SECOND)
                        })
                        .collect();
                    known.by = by;
                    known.text = format!(
                        "{} at {} of {task:?}: {told:?}; {near:#?}; {:#?}",
                        sample.teller,
                        sample.asked,
                        self.outages_at(sample.asked)
                    );
                }
            }
        }
        let mut late: Vec<Late> = late.into_values().collect();
        late.sort_by_key(|late| std::cmp::Reverse(late.by));
        late
    }

    fn late(&self, sample: &Sample, task: &Task, runs: &[Run], all: &[Asked]) -> Option<Moment> {
        let (asked, answered) = (sample.asked, sample.answered);
        match sample.told.get(task) {
            // That a worker is gone others find out by themselves.
            Some((state, worker)) if state == "RUNNING" => {
                if self.is_blind(sample, &[]) {
                    return None;
                }
                let own = || runs.iter().filter(|run| run.worker == *worker);
                let before = own().filter(|run| run.runs.is_some_and(|runs| runs <= answered));
                let last = before.map(|run| run.until.unwrap_or(Moment::MAX)).max();
                let next = own().filter_map(|run| run.runs).filter(|runs| *runs > answered).min();
                let since = asked.saturating_sub(last.unwrap_or(0));
                Some(next.map_or(since, |next| since.min(next - answered)))
            }
            _ if self.is_blind(sample, runs) => None,
            _ => {
                let covers = |run: &&Run| run.covers(asked, answered).is_some();
                let run = runs.iter().find(covers)?;
                let changed = |change: &&Asked| {
                    change.connector == task.0
                        && change.until >= run.from
                        && change.from <= answered
                };
                match all.iter().find(changed) {
                    Some(_) => None,
                    None => Some(asked - run.runs?),
                }
            }
        }
    }

    /// Whoever could tell has been away.
    fn is_blind(&self, sample: &Sample, runs: &[Run]) -> bool {
        let tellers =
            runs.iter().filter(|run| run.overlaps(sample.asked - UNNOTICED, sample.answered));
        let tellers: Vec<&str> = tellers.map(|run| run.worker.as_str()).collect();
        self.outages.iter().any(|outage| {
            let concerns = match outage.worker.as_deref() {
                None => true,
                Some(worker) => worker == sample.teller || tellers.contains(&worker),
            };
            let noticed = match outage.worker {
                None => outage.until + 4 * SECOND,
                Some(_) => (outage.from + UNNOTICED).max(outage.until) + SECOND,
            };
            concerns && outage.from <= sample.answered && sample.asked <= noticed
        })
    }
}

/// What a worker says that it ran.
fn runs_of(worker: &Worker) -> Vec<(Task, Run)> {
    let mut open: BTreeMap<(Task, u64), Run> = BTreeMap::new();
    let mut runs = Vec::new();
    for line in worker.logs().lines().filter(|line| line.contains("the task ")) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let (Some(name), Some(task)) = (line["connector"].as_str(), line["task"].as_u64()) else {
            continue;
        };
        let Some(at) = line["timestamp"].as_str().and_then(moment) else { continue };
        let key = ((name.to_owned(), task), line["token"].as_u64().unwrap_or_default());
        match line["message"].as_str() {
            Some("the task is started") => {
                let worker = worker.address().to_owned();
                let run = Run { worker, from: at, runs: None, stops: None, until: None };
                runs.extend(open.insert(key.clone(), run).map(|former| (key.0, former)));
            }
            // The task does not know its token: it is the last one that was started.
            Some("the task runs") => {
                let own = open.range_mut((key.0.clone(), 0)..=(key.0, u64::MAX));
                own.last().into_iter().for_each(|(_, run)| run.runs = run.runs.or(Some(at)));
            }
            Some("the task is told to stop") => {
                open.get_mut(&key).into_iter().for_each(|run| run.stops = run.stops.or(Some(at)));
            }
            Some("the task has ended") => {
                let ended = open.remove(&key);
                runs.extend(ended.map(|run| (key.0, Run { until: Some(at), ..run })));
            }
            _ => {}
        }
    }
    runs.extend(open.into_iter().map(|((task, _), run)| (task, run)));
    runs
}

/// `2026-01-31T10:20:30.123456Z` as microseconds since 1970.
fn moment(text: &str) -> Option<Moment> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    // Days of a calendar that begins in March, so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    Some((days * 86_400 + seconds) * SECOND + number(20, 26).unwrap_or(0))
}

#[test]
fn moments_are_read_as_logs_write_them() {
    assert_eq!(moment("1970-01-01T00:00:00.000001Z"), Some(1));
    assert_eq!(moment("2024-02-29T12:00:00.500000Z"), Some(1_709_208_000_500_000));
    assert_eq!(moment("soon"), None);
}
