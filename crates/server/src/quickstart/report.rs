//! The words around the run: what it is made of, what came out, and what to look at next.

use super::Quickstart;
use super::destination::{Letter, shell_word};
use super::run::Outcome;
use super::screen::{Screen, duration, number, rate};
use super::tally::Verdict;
use super::worker::{CONNECTOR_FILE, WORKER_FILE};

/// Dead letters that are shown.
pub(super) const LETTERS_SHOWN: usize = 10;
/// A reason is cut to this many characters.
const REASON_MAX: usize = 90;

pub(super) fn opening(screen: &mut Screen, quickstart: &Quickstart) {
    let Quickstart { source, destination, orders, .. } = quickstart;
    screen.say(&format!(
        "{} orders from Kafka into a table, each exactly once, through a kill -9\n",
        number(orders.records)
    ));
    screen.say(&format!("  kafka     {}", source.describe()));
    screen.say(&format!(
        "  database  {}, table {} (without a key, so that a duplicate would show)",
        destination.name(),
        destination.tables.orders
    ));
}

pub(super) fn result(screen: &mut Screen, verdict: &Verdict, outcome: &Outcome) {
    let Verdict { produced, stored, dead_lettered, duplicates, lost, misplaced } = *verdict;
    screen.say("read back from the database");
    screen.say(&format!("  produced       {:>13}", number(produced)));
    screen.say(&format!("  stored         {:>13}", number(stored)));
    screen.say(&format!("  dead-lettered  {:>13}", number(dead_lettered)));
    screen.say(&format!("  duplicates: {}", number(duplicates)));
    screen.say(&format!("  lost: {}", number(lost)));
    if misplaced > 0 {
        screen.say(&format!("  in the wrong place: {}", number(misplaced)));
    }
    screen.say(&format!(
        "\n{} rows a second: {} in all, of which {} from the kill to the first new row\n",
        rate(stored, outcome.elapsed),
        duration(outcome.elapsed),
        duration(outcome.recovery)
    ));
}

pub(super) fn letters(screen: &mut Screen, letters: &[Letter], all: u64) {
    if letters.is_empty() {
        return;
    }
    screen.say("set aside, with the reason");
    for letter in letters {
        screen.say(&format!("  order {:<9} {}", letter.order, cut(&letter.reason)));
    }
    let more = all.saturating_sub(letters.len() as u64);
    if more > 0 {
        screen.say(&format!("  and {} more", number(more)));
    }
    screen.say("");
}

/// One line of a reason that may be long.
fn cut(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    match line.char_indices().nth(REASON_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

pub(super) fn what_next(screen: &mut Screen, quickstart: &Quickstart) {
    let Quickstart { destination, source, folder, keep, own_file, .. } = quickstart;
    let tables = &destination.tables;
    let orders = format!("SELECT * FROM {} LIMIT 10", tables.orders);
    let letters =
        format!("SELECT {} AS order_id, reason FROM {}", destination.key_as_text(), tables.letters);
    if *keep || !destination.is_shared() {
        screen.say("look at the table and at what was set aside");
        screen.say(&format!("  {}", destination.shell(&orders)));
        screen.say(&format!("  {}", destination.shell(&letters)));
    } else {
        screen.say("the tables are removed now; with --keep they stay");
    }
    let shown = folder.shown();
    if *keep || *own_file {
        screen.say(&format!("the folder {shown} may be deleted at any time"));
    }
    if !keep {
        return;
    }
    screen.say(&format!("\nthe worker's files are in {shown}: {WORKER_FILE}, {CONNECTOR_FILE}"));
    if source.is_in_process() {
        for line in super::for_other_brokers().lines() {
            screen.say(&format!("  {line}"));
        }
    } else {
        screen.say(&format!("  topic {} is left, too", source.topic()));
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "copycat".into());
    screen.say(&format!(
        "  (cd {} && {} standalone {WORKER_FILE} {CONNECTOR_FILE})",
        shell_word(&shown),
        shell_word(&program.to_string_lossy())
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        assert_eq!(cut("short\nsecond line"), "short");
        let long = "ä".repeat(REASON_MAX + 1);
        assert_eq!(cut(&long).chars().count(), REASON_MAX + 1);
        assert!(cut(&long).ends_with('…'));
    }
}
