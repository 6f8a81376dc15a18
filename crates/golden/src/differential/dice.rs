//! Chance from a seed: the same seed gives the same cases on every machine.

/// A sequence of numbers that look random (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The sequence of a seed; `salt` tells the sequences of one seed apart.
    pub(crate) fn new(seed: u64, salt: &str) -> Dice {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Dice(salt.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix))
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 for 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// Whether a thing of so many in a hundred happens.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of the items; the first that is there is always a choice.
    ///
    /// # Panics
    /// There are none.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        let at = self.below(items.len());
        items.get(at).expect("there is something to pick from")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_sequence() {
        let of = |seed, salt| {
            let mut dice = Dice::new(seed, salt);
            [0; 4].map(|_| dice.below(1000))
        };
        assert_eq!(of(1, "a"), of(1, "a"));
        assert!(of(1, "a") != of(2, "a") && of(1, "a") != of(1, "b"));
        assert_eq!(Dice::new(1, "").below(0), 0);
    }
}
