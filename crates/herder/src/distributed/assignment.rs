//! Which worker gets which task: sticky, balanced by weight, and nothing moves that need not.
//!
//! Pure and blind: it knows tasks, weights and workers, not why a task has no worker.
//!
//! Invariants: every task without a worker gets one if there is any; a task is moved only if that makes
//! the fullest worker less full than it is; loads differ by less than the weight of a task that could be
//! moved; the same input gives the same answer.

use super::cluster::{TaskKey, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// A task, how much it weighs, and who runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub task: TaskKey,
    pub weight: u32,
    pub at: At,
    /// Grows with every assignment: of tasks that are alike the one leaves that came last, for it may not
    /// have begun yet.
    pub since: u64,
}

/// Where a task is, for the balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// On a worker that may keep it.
    Worker(WorkerId),
    /// Nowhere: it can be given away now.
    Nowhere,
    /// Leaves its worker and will be given away: it counts, where it will probably go.
    Leaving,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    pub give: Vec<(TaskKey, WorkerId)>,
    /// Tasks that leave their worker, for another one has less to do.
    pub leave: Vec<TaskKey>,
}

/// An item and the place of its connector among those there are.
#[derive(Clone, Copy)]
struct Placed<'a> {
    item: &'a Item,
    connector: usize,
}

/// Numbers the connectors of items; how many there are. Those of one connector mostly stand together.
fn placed(items: &[Item]) -> (Vec<Placed<'_>>, usize) {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut placed: Vec<Placed<'_>> = Vec::with_capacity(items.len());
    for item in items {
        let name = &*item.task.0;
        let same = placed.last().filter(|last| *last.item.task.0 == *name);
        let connector = same.map(|last| last.connector).unwrap_or_else(|| {
            let next = numbers.len();
            *numbers.entry(name).or_insert(next)
        });
        placed.push(Placed { item, connector });
    }
    (placed, numbers.len())
}

/// Tasks that may leave, by weight: the one that came last is the last.
type Movable<'a> = BTreeMap<u32, BTreeSet<(u64, &'a TaskKey)>>;

/// What a worker has.
struct Load<'a> {
    worker: &'a WorkerId,
    weight: u64,
    /// Tasks of each connector, so that they are spread.
    of: Vec<u32>,
    /// Those that may leave again.
    settled: Vec<Placed<'a>>,
    /// The same by connector: once somebody asks.
    movable: BTreeMap<usize, Movable<'a>>,
    /// The connectors of `movable` by weight and by how many tasks they have here.
    ranked: BTreeMap<u32, BTreeSet<(u32, usize)>>,
}

impl<'a> Load<'a> {
    fn new(worker: &'a WorkerId, connectors: usize) -> Load<'a> {
        let (movable, ranked) = (BTreeMap::new(), BTreeMap::new());
        let of = vec![0; connectors];
        Load { worker, weight: 0, of, settled: Vec::new(), movable, ranked }
    }

    fn take(&mut self, placed: Placed<'a>) {
        self.weight += u64::from(placed.item.weight);
        self.count(placed.connector, |count| count + 1);
    }

    /// The same for one that may leave again.
    fn settle(&mut self, placed: Placed<'a>) {
        self.take(placed);
        self.settled.push(placed);
    }

    fn of(&self, connector: usize) -> u32 {
        self.of.get(connector).copied().unwrap_or(0)
    }

    fn rank(&mut self) {
        for Placed { item, connector } in std::mem::take(&mut self.settled) {
            let of_connector = self.movable.entry(connector).or_default();
            of_connector.entry(item.weight).or_default().insert((item.since, &item.task));
        }
        for (connector, weights) in &self.movable {
            let count = self.of(*connector);
            for weight in weights.keys() {
                self.ranked.entry(*weight).or_default().insert((count, *connector));
            }
        }
    }

    fn count(&mut self, connector: usize, change: impl Fn(u32) -> u32) {
        let Some(count) = self.of.get_mut(connector) else { return };
        let before = std::mem::replace(count, change(*count));
        for weight in self.movable.get(&connector).into_iter().flat_map(BTreeMap::keys) {
            if let Some(connectors) = self.ranked.get_mut(weight)
                && connectors.remove(&(before, connector))
            {
                connectors.insert((*count, connector));
            }
        }
    }

    /// The task whose leaving evens a gap out best, and of those one of the connector that has most here.
    fn best(&self, gap: u64) -> Option<Leaver<'a>> {
        let half = gap / 2;
        let bound = |weight: u64| u32::try_from(weight).unwrap_or(u32::MAX);
        let (middle, most) = (bound(half + 1), bound(gap.max(half + 1)));
        let below = self.ranked.range(1..middle).next_back();
        let above = self.ranked.range(middle..most).next();
        let task = |(weight, connectors): (&u32, &BTreeSet<(u32, usize)>)| {
            let (count, connector) = *connectors.last()?;
            let (since, task) = *self.movable.get(&connector)?.get(weight)?.last()?;
            let off = half.abs_diff(u64::from(*weight));
            let leaver = Leaver { task, since, connector, weight: *weight };
            Some(((std::cmp::Reverse(off), count, since, task), leaver))
        };
        let found = [below, above].into_iter().flatten().filter_map(task);
        found.max_by_key(|(order, _)| *order).map(|(_, leaver)| leaver)
    }

    /// Gives up a task that [`Load::best`] has found.
    fn drop(&mut self, leaver: &Leaver<'a>) {
        let Leaver { task, since, connector, weight } = *leaver;
        self.weight = self.weight.saturating_sub(u64::from(weight));
        if let Some(weights) = self.movable.get_mut(&connector)
            && let Some(tasks) = weights.get_mut(&weight)
        {
            tasks.remove(&(since, task));
            if tasks.is_empty() {
                weights.remove(&weight);
                let count = self.of(connector);
                if let Some(connectors) = self.ranked.get_mut(&weight) {
                    connectors.remove(&(count, connector));
                    if connectors.is_empty() {
                        self.ranked.remove(&weight);
                    }
                }
            }
        }
        self.count(connector, |count| count.saturating_sub(1));
    }

    /// Takes one that another has given up; it stays here for now.
    fn receive(&mut self, leaver: &Leaver<'a>) {
        self.weight += u64::from(leaver.weight);
        self.count(leaver.connector, |count| count + 1);
    }
}

/// A task that leaves its worker.
struct Leaver<'a> {
    task: &'a TaskKey,
    since: u64,
    connector: usize,
    weight: u32,
}

/// Balances the tasks over the workers; nothing where there are none.
pub fn balance(workers: &[WorkerId], items: &[Item]) -> Moves {
    let mut moves = Moves::default();
    let (placed, connectors) = placed(items);
    let mut loads: Vec<Load<'_>> =
        workers.iter().map(|worker| Load::new(worker, connectors)).collect();
    for placed in &placed {
        if let At::Worker(worker) = &placed.item.at
            && let Ok(index) = workers.binary_search(worker)
            && let Some(load) = loads.get_mut(index)
        {
            load.settle(*placed);
        }
    }
    for at in [At::Nowhere, At::Leaving] {
        let mut waiting: Vec<Placed<'_>> =
            placed.iter().filter(|placed| placed.item.at == at).copied().collect();
        waiting.sort_by(|a, b| {
            let (a, b) = (a.item, b.item);
            b.weight.cmp(&a.weight).then_with(|| a.task.cmp(&b.task))
        });
        for placed in waiting {
            let Some(least) = loads.iter().map(|load| load.weight).min() else { continue };
            let ties = loads.iter_mut().filter(|load| load.weight == least);
            let Some(load) = ties.min_by_key(|load| load.of(placed.connector)) else { continue };
            if at == At::Nowhere {
                moves.give.push((placed.item.task.clone(), load.worker.clone()));
            }
            load.take(placed);
        }
    }
    even_out(&mut loads, &mut moves);
    moves
}

/// Takes tasks from the fullest worker for the emptiest one, as long as that makes them more even.
fn even_out(loads: &mut [Load<'_>], moves: &mut Moves) {
    let mut ranked = false;
    loop {
        let fullest = loads.iter().enumerate().max_by_key(|(_, load)| load.weight);
        let emptiest = loads.iter().enumerate().min_by_key(|(_, load)| load.weight);
        let Some(((from, fullest), (to, emptiest))) = fullest.zip(emptiest) else { return };
        let gap = fullest.weight - emptiest.weight;
        // Mostly they are even, and nothing has to be ranked.
        if gap < 2 {
            return;
        }
        if !std::mem::replace(&mut ranked, true) {
            loads.iter_mut().for_each(Load::rank);
        }
        let Some(leaver) = loads.get(from).and_then(|load| load.best(gap)) else { return };
        moves.leave.push(leaver.task.clone());
        if let Some(load) = loads.get_mut(from) {
            load.drop(&leaver);
        }
        if let Some(load) = loads.get_mut(to) {
            load.receive(&leaver);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn worker(n: u8) -> WorkerId {
        WorkerId { name: format!("w{n}").into(), run: 0 }
    }

    fn item(connector: &str, task: u32, weight: u32, at: At) -> Item {
        Item { task: (Arc::from(connector), task), weight, at, since: 0 }
    }

    /// Carries the moves out, those that leave as well.
    fn settled(workers: &[WorkerId], mut items: Vec<Item>) -> (Vec<Item>, usize) {
        let mut moved = 0;
        for _round in 0..6 {
            let moves = balance(workers, &items);
            moved += moves.leave.len();
            for (task, to) in moves.give {
                let given = items.iter_mut().find(|item| item.task == task).unwrap();
                given.at = At::Worker(to);
            }
            for task in moves.leave {
                let left = items.iter_mut().find(|item| item.task == task).unwrap();
                left.at = At::Nowhere;
            }
        }
        (items, moved)
    }

    fn loads(workers: &[WorkerId], items: &[Item]) -> Vec<u64> {
        let of = |worker: &WorkerId| {
            let own = items.iter().filter(|item| item.at == At::Worker(worker.clone()));
            own.map(|item| u64::from(item.weight)).sum()
        };
        workers.iter().map(of).collect()
    }

    #[test]
    fn a_newcomer_gets_its_share_and_nothing_else_moves() {
        let workers: Vec<WorkerId> = (0..3).map(worker).collect();
        let at = |n: u32| At::Worker(worker((n % 2) as u8));
        let items: Vec<Item> = (0..12).map(|n| item("c", n, 1, at(n))).collect();
        let (items, moved) = settled(&workers, items);
        assert_eq!((loads(&workers, &items), moved), (vec![4, 4, 4], 4));
    }

    #[test]
    fn the_tasks_of_the_dead_are_spread_and_the_others_stay() {
        let workers: Vec<WorkerId> = (1..3).map(worker).collect();
        let at = |n: u32| {
            if n.is_multiple_of(3) { At::Nowhere } else { At::Worker(worker((n % 3) as u8)) }
        };
        let items: Vec<Item> = (0..12).map(|n| item("c", n, 1, at(n))).collect();
        let (items, moved) = settled(&workers, items);
        assert_eq!((loads(&workers, &items), moved), (vec![6, 6], 0));
    }

    #[test]
    fn the_task_leaves_that_came_last() {
        let workers: Vec<WorkerId> = (0..2).map(worker).collect();
        let since = [4, 9, 7, 2];
        let items = since.iter().zip(0..).map(|(since, n)| {
            let at = if n < 3 { 0 } else { 1 };
            Item { since: *since, ..item("c", n, 1, At::Worker(worker(at))) }
        });
        let items: Vec<Item> = items.collect();
        assert_eq!(balance(&workers, &items).leave, [items[1].task.clone()]);
    }

    #[test]
    fn tasks_on_their_way_count_where_they_will_go() {
        let workers: Vec<WorkerId> = (0..2).map(worker).collect();
        let mut items: Vec<Item> = (0..4).map(|n| item("c", n, 1, At::Worker(worker(0)))).collect();
        items.extend((4..6).map(|n| item("c", n, 1, At::Leaving)));
        assert_eq!(balance(&workers, &items).leave.len(), 1, "two come to the other anyway");
    }

    #[test]
    fn a_connectors_tasks_are_spread_and_weights_count() {
        let workers: Vec<WorkerId> = (0..2).map(worker).collect();
        let heavy = item("heavy", 0, 3, At::Nowhere);
        let light = (0..3).map(|n| item("light", n, 1, At::Nowhere));
        let (items, _) = settled(&workers, light.chain([heavy]).collect());
        assert_eq!(loads(&workers, &items), [3, 3]);
        let two = ["a", "b"].iter().flat_map(|c| (0..2).map(|n| item(c, n, 1, At::Nowhere)));
        let (items, _) = settled(&workers, two.collect());
        let of = |w: u8| items.iter().filter(move |i| i.at == At::Worker(worker(w)));
        let names: Vec<&str> = of(0).map(|item| &*item.task.0).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn without_workers_nothing_is_done() {
        assert_eq!(balance(&[], &[item("c", 0, 1, At::Nowhere)]), Moves::default());
    }

    proptest! {
        #[test]
        fn any_cluster_comes_to_rest_in_balance(
            workers in 1u8..8,
            tasks in prop::collection::vec((0u8..5, 0u8..10, prop::sample::select(vec![1u32, 1, 1, 2, 5])), 0..60),
        ) {
            let ids: Vec<WorkerId> = (0..workers).map(worker).collect();
            let items: Vec<Item> = (0..).zip(&tasks).map(|(n, (connector, at, weight))| {
                let at = match at {
                    8 => At::Nowhere,
                    9 => At::Leaving,
                    at if *at < workers => At::Worker(worker(*at)),
                    _ => At::Nowhere,
                };
                item(&format!("c{connector}"), n, *weight, at)
            }).collect();
            let landed: Vec<Item> = items.into_iter().map(|mut item| {
                if item.at == At::Leaving { item.at = At::Nowhere; }
                item
            }).collect();
            let (rested, _) = settled(&ids, landed);
            prop_assert!(rested.iter().all(|item| matches!(item.at, At::Worker(_))));
            let moves = balance(&ids, &rested);
            prop_assert_eq!(&moves, &Moves::default(), "it rests");
            let of = loads(&ids, &rested);
            let (least, most) = (of.iter().min().unwrap(), of.iter().max().unwrap());
            let heaviest = tasks.iter().map(|(_, _, weight)| u64::from(*weight)).max().unwrap_or(0);
            prop_assert!(most - least <= heaviest.max(1), "{:?}", of);
        }
    }
}
