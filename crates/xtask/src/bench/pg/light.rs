//! Light load: from the call that produces a record until its row is visible.
//!
//! Rows of many topics tell by a trigger's notification. Where one record goes into several relations
//! they are looked for instead: transactions that notify are committed by PostgreSQL one after the
//! other, each with a flush of its own, which would be measured and not the worker.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use testkit::postgres::Database;

use super::{Bench, worker::Worker};
use crate::bench::process::pause;
use crate::bench::sink::{
    topics::{Outcomes, producer},
    write::{connect, say_pg, wait},
};
use crate::bench::table::{Goal, Section, Series};

const PATIENCE: Duration = Duration::from_secs(60);

/// How a load is made up.
struct Load {
    title: &'static str,
    topics: usize,
    partitions: i32,
    relations: usize,
    parallelism: usize,
    per_second: u32,
    seconds: u32,
    p99_ms: f64,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Section>> {
    let seconds = if bench.quick { 3 } else { 30 };
    let broadcast = Load {
        title: "One record at a time into 8 relations × parallelism 4",
        topics: 1,
        partitions: 4,
        relations: 8,
        parallelism: 4,
        per_second: 10,
        seconds,
        p99_ms: 10.0,
    };
    let topics = Load {
        title: "200 topics with one relation each",
        topics: if bench.quick { 20 } else { 200 },
        partitions: 1,
        relations: 1,
        parallelism: 1,
        per_second: 200,
        seconds,
        p99_ms: 20.0,
    };
    Ok(vec![measure(bench, &broadcast)?, measure(bench, &topics)?])
}

fn measure(bench: &Bench, load: &Load) -> Result<Section> {
    let database = bench.database()?;
    let names: Vec<String> =
        (0..load.topics).map(|_| testkit::kafka::topic("bench-light", load.partitions)).collect();
    define(&database, load, &names);
    let mut worker = Worker::start(bench, &database)?;
    let mut client = database.client();
    worker.wait(PATIENCE, "all consumers run", || {
        let sql = "SELECT count(*) FROM pipeline_kafka.consumers WHERE state <> 'running'";
        client.value(sql).as_deref() == Some("0")
    })?;
    pause(Duration::from_secs(1));
    let cpu = worker.cpu_s()?;
    let latencies = match load.relations {
        1 => exchange(bench, &database, load, &names)?,
        _ => looked_for(bench, &database, load, &names)?,
    };
    let cpu = worker.cpu_s()? - cpu;
    worker.runs()?;
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'copycat%' \
                       AND datname = current_database()";
    let connections: f64 = client.value(connections).unwrap_or_default().parse()?;
    let memory = worker.memory_mb()?.1;
    for name in &names {
        testkit::kafka::delete_topic(&bench.bootstrap, name);
    }
    let columns = ["p50", "p90", "p99", "max", "CPU", "peak memory", "connections"];
    let title = format!("{}, {} records/s for {} s", load.title, load.per_second, load.seconds);
    let mut section = Section::new(&title, &columns);
    let ms = |v: f64| format!("{v:.1} ms");
    section.row([
        ms(latencies.quantile(0.5)),
        ms(latencies.quantile(0.9)),
        Goal::AtMost(load.p99_ms).judge(latencies.quantile(0.99), ms),
        ms(latencies.max()),
        format!("{cpu:.2} s"),
        Goal::AtMost(96.0).judge(memory, |v| format!("{v:.0} MB")),
        Goal::AtMost(8.0).judge(connections, |v| format!("{v:.0}")),
    ]);
    Ok(section)
}

fn define(database: &Database, load: &Load, topics: &[String]) {
    database.execute(
        "CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         PERFORM pg_notify('seen', NEW.n::text); RETURN NEW; END $$",
    );
    for (t, topic) in topics.iter().enumerate() {
        for r in 0..load.relations {
            let trigger = match load.relations {
                1 => format!(
                    "CREATE TRIGGER seen AFTER INSERT ON light_{t}_{r} FOR EACH ROW \
                     EXECUTE FUNCTION seen();"
                ),
                _ => String::new(),
            };
            database.execute(&format!(
                "CREATE TABLE light_{t}_{r} (n bigint PRIMARY KEY, note text); {trigger} \
                 SELECT pipeline_kafka.consume_begin('{topic}', 'light_{t}_{r}', start => 'earliest', \
                 parallelism => {})",
                load.parallelism
            ));
        }
    }
}

fn send(producer: &BaseProducer<Outcomes>, topic: &str, partition: i32, n: i64) -> Result<()> {
    let value = format!("{{\"n\":{n},\"note\":\"light\"}}");
    let record: BaseRecord<'_, [u8], str> =
        BaseRecord::to(topic).partition(partition).payload(value.as_str());
    producer.send(record).map_err(|(error, _)| error)?;
    producer.poll(Duration::ZERO);
    Ok(())
}

/// How long a look for rows waits before the next one.
const LOOK: Duration = Duration::from_micros(200);

/// Produces one record after the other into the only topic and looks until each relation has its row;
/// milliseconds of each row.
fn looked_for(
    bench: &Bench,
    database: &Database,
    load: &Load,
    topics: &[String],
) -> Result<Series> {
    let topic = topics.first().context("a topic")?;
    let mut looking = connect(&database.url())?;
    let looks: Vec<String> =
        (0..load.relations).map(|r| format!("SELECT {r} FROM light_0_{r} WHERE n = $1")).collect();
    let prepare = format!("PREPARE look(bigint) AS {}", looks.join(" UNION ALL "));
    looking.execute(&prepare, wait()).map_err(say_pg)?;
    let producer = producer(&bench.bootstrap, 0)?;
    producer.client().fetch_metadata(Some(topic), PATIENCE)?;
    let mut latencies = Series::default();
    let every = Duration::from_secs(1) / load.per_second;
    let records = i64::from(load.per_second * load.seconds);
    let mut due = Instant::now();
    // One record a partition before the clock starts: connections are open, statements prepared.
    for n in -i64::from(load.partitions)..records {
        pause(due.saturating_duration_since(Instant::now()));
        due += every;
        let sent = Instant::now();
        send(&producer, topic, i32::try_from(n.rem_euclid(i64::from(load.partitions)))?, n)?;
        let mut seen = 0;
        while seen < load.relations {
            let rows = looking.query_text(&format!("EXECUTE look({n})"), wait()).map_err(say_pg)?;
            let now = sent.elapsed();
            ensure!(now < PATIENCE, "record {n} is in {seen} relations only");
            if n >= 0 {
                (seen..rows.len()).for_each(|_| latencies.push(now.as_secs_f64() * 1000.0));
            }
            seen = rows.len();
            if seen < load.relations {
                pause(LOOK);
            }
        }
    }
    producer.flush(PATIENCE).context("the last records")?;
    Ok(latencies)
}

/// Produces at an even pace and listens; milliseconds of each row.
fn exchange(bench: &Bench, database: &Database, load: &Load, topics: &[String]) -> Result<Series> {
    let mut listening = connect(&database.url())?;
    listening.execute("LISTEN seen", wait()).map_err(say_pg)?;
    let records = u64::from(load.per_second * load.seconds);
    let sent: Mutex<BTreeMap<u64, Instant>> = Mutex::default();
    let producer = producer(&bench.bootstrap, 0)?;
    for topic in topics {
        producer.client().fetch_metadata(Some(topic), PATIENCE)?;
    }
    // As above.
    for (topic, partition) in topics.iter().flat_map(|t| (0..load.partitions).map(move |p| (t, p)))
    {
        send(&producer, topic, partition, -1 - i64::from(partition))?;
        listening.notification(wait()).map_err(say_pg)?;
    }
    let every = Duration::from_secs(1) / load.per_second;
    std::thread::scope(|scope| {
        let producing = scope.spawn(|| -> Result<()> {
            let start = Instant::now();
            for n in 0..records {
                let due = start + every * u32::try_from(n)?;
                pause(due.saturating_duration_since(Instant::now()));
                let topic =
                    usize::try_from(n)?.checked_rem(topics.len()).and_then(|t| topics.get(t));
                let topic = topic.context("a topic")?;
                let partition = i32::try_from(n % u64::try_from(load.partitions)?)?;
                sent.lock().expect("no panic under the lock").insert(n, Instant::now());
                send(&producer, topic, partition, i64::try_from(n)?)?;
            }
            producer.flush(PATIENCE).context("the last records")
        });
        let mut latencies = Series::default();
        for _ in 0..records {
            let notification = listening.notification(wait()).map_err(say_pg)?;
            let now = Instant::now();
            let n = notification.payload.parse::<u64>().ok();
            let sent = sent.lock().expect("no panic under the lock");
            let at = n.and_then(|n| sent.get(&n)).context("a record that was not sent")?;
            latencies.push(now.duration_since(*at).as_secs_f64() * 1000.0);
        }
        producing.join().expect("the producing thread does not panic")?;
        ensure!(latencies.max() > 0.0, "nothing was measured");
        Ok(latencies)
    })
}
