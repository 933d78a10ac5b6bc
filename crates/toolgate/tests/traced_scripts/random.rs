//! A seeded pseudo-random number generator.

/// A splitmix64 generator.
pub(crate) struct ScriptRng(pub(crate) u64);

impl ScriptRng {
    /// Returns a number below `end`.
    pub(crate) fn number_below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end.max(1) as u64).expect("it is below a usize")
    }

    /// Returns true with this probability in percent.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.number_below(100) < percent
    }

    /// Returns one of the items.
    pub(crate) fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.number_below(of.len())]
    }
}
