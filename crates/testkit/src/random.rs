//! Seeds that can be repeated, names that are unique, and the length of fault tests.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The seed of this test process: `COPYCAT_SEED`, else a new one. It is printed once, so that a
/// failed run can be repeated.
///
/// # Panics
///
/// When `COPYCAT_SEED` is not a whole number.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let seed = match std::env::var("COPYCAT_SEED") {
            Ok(text) => text.parse().expect("COPYCAT_SEED is a whole number below 2^64"),
            Err(_) => fresh(),
        };
        say(&format!("seed {seed}; repeat with COPYCAT_SEED={seed}"));
        seed
    })
}

/// True in `scripts/soak`: fault tests then run at full length.
pub fn soak() -> bool {
    std::env::var_os("COPYCAT_SOAK").is_some_and(|value| value != "0" && !value.is_empty())
}

/// A name that no other test, process or earlier run uses: `prefix-<random>-<count>`.
pub fn unique(prefix: &str) -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // Never from the seed: a repeated run must not meet the names of the first one.
    let process = PROCESS.get_or_init(fresh);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{:08x}-{count}", process & 0xffff_ffff)
}

/// A small, fast generator (xorshift64*); the same seed gives the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that continues from `seed`; any seed will do.
    pub fn new(seed: u64) -> Self {
        // One step of splitmix64, so that neighbouring seeds start far apart and none at zero.
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)) | 1)
    }

    /// The generator of this process's [`seed`]. `stream` keeps tests of one process apart.
    pub fn seeded(stream: &str) -> Self {
        // FNV-1a: the numbers of a stream must be the same in every build.
        let stream = stream.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        Self::new(seed() ^ stream)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from 0 up to, but without, `end`.
    ///
    /// # Panics
    ///
    /// When `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        assert!(end > 0, "no number is below 0");
        // The high half of the product: unlike a remainder it uses the generator's better bits.
        u64::try_from((u128::from(self.next_u64()) * u128::from(end)) >> 64).expect("below end")
    }

    /// A number from `start` up to, but without, `end`.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    pub fn range(&mut self, start: u64, end: u64) -> u64 {
        start + self.below(end - start)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`.
    ///
    /// # Panics
    ///
    /// When there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.below(choices.len() as u64);
        &choices[usize::try_from(index).expect("an index of a slice")]
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).expect("an index of a slice");
            items.swap(last, other);
        }
    }
}

fn fresh() -> u64 {
    // The standard library's hasher keys come from the system's random source.
    RandomState::new().build_hasher().finish()
}

#[expect(clippy::print_stderr, reason = "shown by the test harness when a test fails")]
fn say(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut a = Rng::new(7);
        let mut b = Rng::new(7);
        let mut c = Rng::new(8);
        let a: Vec<u64> = (0..100).map(|_| a.next_u64()).collect();
        assert_eq!(a, (0..100).map(|_| b.next_u64()).collect::<Vec<_>>());
        assert_ne!(a, (0..100).map(|_| c.next_u64()).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_below_cover_the_range_and_stay_in_it() {
        for seed in [0, 1, u64::MAX] {
            let mut rng = Rng::new(seed);
            let mut seen = [0_u32; 10];
            for _ in 0..10_000 {
                seen[usize::try_from(rng.below(10)).unwrap()] += 1;
            }
            assert!(seen.iter().all(|&n| n > 800 && n < 1_200), "{seen:?}");
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Rng::new(1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn unique_names_differ() {
        assert_ne!(unique("t"), unique("t"));
        assert!(unique("orders").starts_with("orders-"));
    }
}
