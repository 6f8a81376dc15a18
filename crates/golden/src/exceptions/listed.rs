//! The list in `docs/compatibility.md`: the rows of the tables under one heading, whose first cell has
//! the ids in backticks.

use std::collections::BTreeSet;

/// The heading of the chapter, without the marks.
const HEADING: &str = "Recorded answers that Copycat does not give";

/// The ids that a page lists.
pub(super) fn ids(page: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut ids = BTreeSet::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            inside = heading.trim() == HEADING;
        }
        let row = line.strip_prefix('|').filter(|_| inside);
        let cell = row.and_then(|row| row.split('|').next()).unwrap_or_default();
        ids.extend(cell.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_the_first_cells_of_one_chapter() {
        let page = "## A\n\n| `no` | x |\n\n## Recorded answers that Copycat does not give\n\n\
                    | vectors | why |\n|---|---|\n| `a-1`, `b-2` | `code` |\n| `c` | x |\n\n## B\n| `d` |\n";
        assert_eq!(ids(page).into_iter().collect::<Vec<_>>(), ["a-1", "b-2", "c"]);
    }
}
