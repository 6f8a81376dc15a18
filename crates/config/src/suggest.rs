//! The nearest known name for a misspelt one.

/// The known name that is nearest to `name` by letters added, removed, changed or swapped; none
/// when even the nearest differs in more than a third of its letters. Case differences count half.
///
/// ```
/// let known = ["insert.mode", "batch.size"];
/// let nearest = config::suggest::nearest("insrt.mode", known.into_iter());
/// assert_eq!(nearest.as_deref(), Some("insert.mode"));
/// assert_eq!(config::suggest::nearest("colour", known.into_iter()), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known.filter(|candidate| *candidate != name) {
        let other: Vec<char> = candidate.chars().collect();
        // Twice the distance, because a case difference is half a change. A third of the letters
        // may differ, and one letter may in names of any length above two.
        let limit = 2 * (letters.len().max(other.len()) / 3).max(1);
        if 2 * letters.len().abs_diff(other.len()) > limit {
            continue;
        }
        let distance = doubled_distance(&letters, &other);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_owned())
}

/// Twice the optimal string alignment distance (Damerau-Levenshtein, no letter edited twice).
fn doubled_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).map(|column| 2 * column).collect();
    for (row, &x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(b.len() + 1);
        next.push(2 * (row + 1));
        for (column, &y) in b.iter().enumerate() {
            let change = match x {
                _ if x == y => 0,
                _ if x.eq_ignore_ascii_case(&y) => 1,
                _ => 2,
            };
            let at =
                |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX / 4);
            let mut least = (at(&last, column) + change)
                .min(at(&last, column + 1) + 2)
                .min(at(&next, column) + 2);
            let swapped = row > 0
                && column > 0
                && a.get(row - 1) == Some(&y)
                && b.get(column - 1) == Some(&x);
            if swapped {
                least = least.min(at(&before, column - 1) + 2);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_swaps_as_one_change() {
        let distance = |a: &str, b: &str| {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            doubled_distance(&a, &b)
        };
        assert_eq!(distance("tasks.max", "takss.max"), 2);
        assert_eq!(distance("a", "A"), 1);
        assert_eq!(distance("", "abc"), 6);
        assert_eq!(distance("kitten", "sitting"), 6);
    }

    #[test]
    fn finds_the_nearest_and_nothing_far() {
        let known = ["topics", "topics.regex", "tasks.max", "pk.mode"];
        let find = |name| nearest(name, known.into_iter());
        assert_eq!(find("topic").as_deref(), Some("topics"));
        assert_eq!(find("task.max").as_deref(), Some("tasks.max"));
        assert_eq!(find("pkmode").as_deref(), Some("pk.mode"));
        assert_eq!(find("connection.url"), None);
    }
}
