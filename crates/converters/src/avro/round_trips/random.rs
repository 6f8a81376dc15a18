//! Numbers that look random and follow from a seed.

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Small ones are as likely as large ones.
    pub(super) fn long(&mut self) -> i64 {
        let shift = self.below(64);
        self.next() as i64 >> shift
    }

    pub(super) fn double(&mut self) -> f64 {
        let value = f64::from_bits(self.next());
        if value.is_nan() { 0.5 } else { value }
    }

    pub(super) fn text(&mut self) -> String {
        let len = self.below(6);
        (0..len)
            .map(|_| self.pick(&['a', 'Z', '0', ' ', '"', '\\', '\n', 'é', '😀', '\0']))
            .collect()
    }

    pub(super) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
