//! Chance that is the same every time.

/// A row of numbers that its seed decides: splitmix64 (Steele, Lea and Flood 2014).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: &str) -> Self {
        Self(hash(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        ((u128::from(self.next()) * sides as u128) >> 64) as usize
    }

    pub fn pick<'a, T: AsRef<str>>(&mut self, of: &'a [T]) -> &'a str {
        of[self.roll(of.len())].as_ref()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.roll(at + 1));
        }
    }

    /// Near enough to a normal distribution for a random rotation.
    pub fn normal(&mut self) -> f64 {
        let sum: f64 = (0..12).map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64).sum();
        sum - 6.0
    }
}

pub fn hash(text: &str) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// At most `count` of the texts, in an order that only their words decide.
pub fn sample(mut texts: Vec<String>, count: usize) -> Vec<String> {
    texts.sort_by_cached_key(|text| (hash(text), text.clone()));
    texts.dedup();
    texts.truncate(count);
    texts
}
