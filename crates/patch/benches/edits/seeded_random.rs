//! A seeded random number generator.

/// A random number generator (splitmix64).
pub(crate) struct CaseRandom(u64);

impl CaseRandom {
    /// Creates the generator of `seed` for the case `number`.
    pub(crate) fn new(seed: u64, number: usize) -> Self {
        let mut chance = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number as u64);
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or(0)
    }

    /// Returns true with a probability of one in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Picks one of `things`.
    pub(crate) fn pick<T: Clone>(&mut self, things: &[T]) -> Option<T> {
        things.get(self.below(things.len())).cloned()
    }
}
