//! Numbers that look random and follow from a seed and a record's number alone.
//!
//! Invariant: the same seed and number give the same numbers, on every machine and in every version:
//! a record that is generated again is the same.

/// The numbers of one record. The method is SplitMix64.
pub(super) struct Random {
    state: u64,
}

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl Random {
    /// Of the record with this number.
    pub(super) fn of(seed: u64, index: u64) -> Random {
        Random { state: mix(mix(seed.wrapping_add(STEP)) ^ index.wrapping_mul(STEP)) }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Below `bound`; 0 where that is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// From `min` to `max`, both included.
    pub(super) fn between(&mut self, min: i64, max: i64) -> i64 {
        let width = max.wrapping_sub(min) as u64;
        let step = match width.checked_add(1) {
            Some(bound) => self.below(bound),
            None => self.next(),
        };
        min.wrapping_add(step as i64)
    }

    /// From 0 to below 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_record_has_the_same_numbers_for_ever() {
        let mut random = Random::of(42, 7);
        let seen = [random.next(), random.next()];
        let mut again = Random::of(42, 7);
        assert_eq!(seen, [again.next(), again.next()]);
        assert_ne!(seen[0], Random::of(42, 8).next());
        assert_ne!(seen[0], Random::of(43, 7).next());
    }

    #[test]
    fn numbers_stay_in_their_range_and_fill_it() {
        let mut seen = [0_u32; 5];
        for index in 0..10_000 {
            let mut random = Random::of(1, index);
            let at = random.between(-2, 2) + 2;
            seen[at as usize] += 1;
            let unit = random.unit();
            assert!((0.0..1.0).contains(&unit));
        }
        assert!(seen.iter().all(|count| (1_800..2_200).contains(count)), "{seen:?}");
        let mut random = Random::of(1, 1);
        random.between(i64::MIN, i64::MAX);
        assert_eq!(random.between(3, 3), 3);
    }
}
