//! What became of every order, counted from what the database holds and from nothing else.
//!
//! The table has no key that would swallow a second copy, so a duplicate shows; every order that was
//! produced is asked for, so a lost one shows.

use super::orders::Orders;

/// What was found of each order. A byte an order for each list; counts stop at 255.
pub(super) struct Tally {
    orders: Orders,
    rows: Vec<u8>,
    letters: Vec<u8>,
    /// Rows and letters of orders that were never produced.
    strangers: u64,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) produced: u64,
    /// Orders with a row.
    pub(super) stored: u64,
    /// Orders with a dead letter.
    pub(super) dead_lettered: u64,
    /// Rows and letters beyond the first of an order.
    pub(super) duplicates: u64,
    /// Orders without any.
    pub(super) lost: u64,
    /// Good orders in the dead letters, flawed ones in the table, and what was never produced.
    pub(super) misplaced: u64,
}

impl Verdict {
    pub(super) fn is_right(&self) -> bool {
        (self.duplicates, self.lost, self.misplaced) == (0, 0, 0)
    }
}

impl Tally {
    pub(super) fn new(orders: Orders) -> Tally {
        let length = usize::try_from(orders.records).unwrap_or(usize::MAX);
        Tally { orders, rows: vec![0; length], letters: vec![0; length], strangers: 0 }
    }

    /// A row of the table.
    pub(super) fn row(&mut self, id: i64) {
        count(&mut self.rows, Some(id), &mut self.strangers);
    }

    /// A dead letter, known by its key.
    pub(super) fn letter(&mut self, key: &[u8]) {
        let id = std::str::from_utf8(key).ok().and_then(|text| text.parse().ok());
        count(&mut self.letters, id, &mut self.strangers);
    }

    pub(super) fn verdict(&self) -> Verdict {
        let mut verdict = Verdict {
            produced: self.orders.records,
            misplaced: self.strangers,
            ..Verdict::default()
        };
        for ((rows, letters), id) in self.rows.iter().zip(&self.letters).zip(0..) {
            let (rows, letters) = (u64::from(*rows), u64::from(*letters));
            verdict.stored += rows.min(1);
            verdict.dead_lettered += letters.min(1);
            match rows + letters {
                0 => verdict.lost += 1,
                copies => verdict.duplicates += copies - 1,
            }
            let wrong = if self.orders.flaw(id).is_some() { rows } else { letters };
            verdict.misplaced += wrong.min(1);
        }
        verdict
    }
}

fn count(counts: &mut [u8], id: Option<i64>, strangers: &mut u64) {
    let place = id.and_then(|id| usize::try_from(id).ok());
    match place.and_then(|place| counts.get_mut(place)) {
        Some(count) => *count = count.saturating_add(1),
        None => *strangers += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: Orders = Orders { records: 1000 };

    /// Everything as it should be, except that `change` may say how often an order is stored.
    fn tally(change: impl Fn(u64) -> Option<u32>) -> Tally {
        let mut tally = Tally::new(ORDERS);
        for id in 0..ORDERS.records {
            let copies = change(id).unwrap_or(1);
            for _ in 0..copies {
                match ORDERS.flaw(id) {
                    Some(_) => tally.letter(id.to_string().as_bytes()),
                    None => tally.row(id as i64),
                }
            }
        }
        tally
    }

    #[test]
    fn each_order_once_is_right() {
        let verdict = tally(|_| None).verdict();
        assert!(verdict.is_right(), "{verdict:?}");
        assert_eq!((verdict.produced, verdict.stored, verdict.dead_lettered), (1000, 994, 6));
    }

    #[test]
    fn a_duplicate_row_is_noticed() {
        let verdict = tally(|id| (id == 5).then_some(3)).verdict();
        assert_eq!((verdict.duplicates, verdict.lost, verdict.misplaced), (2, 0, 0));
        assert!(!verdict.is_right());
    }

    #[test]
    fn a_lost_row_is_noticed_even_when_another_makes_up_the_number() {
        let verdict =
            tally(|id| [(7, 0), (8, 2)].iter().find(|c| c.0 == id).map(|c| c.1)).verdict();
        assert_eq!((verdict.duplicates, verdict.lost), (1, 1));
        assert_eq!(verdict.stored, 993);
    }

    #[test]
    fn a_duplicate_or_lost_letter_is_noticed() {
        let flawed = (0..ORDERS.records).find(|id| ORDERS.flaw(*id).is_some()).unwrap();
        assert_eq!(tally(|id| (id == flawed).then_some(0)).verdict().lost, 1);
        assert_eq!(tally(|id| (id == flawed).then_some(2)).verdict().duplicates, 1);
    }

    #[test]
    fn orders_in_the_wrong_place_are_noticed() {
        let mut tally = tally(|id| (id == 3).then_some(0));
        tally.letter(b"3");
        assert_eq!(tally.verdict().misplaced, 1);
        let mut both = Tally::new(ORDERS);
        both.row(-1);
        both.row(1000);
        both.letter(b"\xff");
        assert_eq!(both.verdict().misplaced, 3);
        assert_eq!(both.verdict().lost, 1000);
    }
}
