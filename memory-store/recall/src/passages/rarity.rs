//! Rarity of a query's words in technical text in general, and the share of it that a passage covers.

use crate::query::Query;
use crate::rank::lexical::FoundTerms;

/// Squared rarities of a query's counted terms. Squaring gives one rare word more weight than several common ones.
pub(crate) struct Rarity<'a> {
    query: &'a Query,
    found: &'a FoundTerms<'a>,
    all: f32,
}

impl<'a> Rarity<'a> {
    pub(crate) fn new(query: &'a Query, found: &'a FoundTerms<'a>) -> Self {
        let rarity = Self { query, found, all: 0.0 };
        let all = rarity.terms().map(|number| rarity.squared(number)).sum();
        Self { all, ..rarity }
    }

    /// Returns the numbers of the counted terms.
    pub(crate) fn terms(&self) -> impl Iterator<Item = usize> {
        (0..self.query.terms.len()).filter(|&number| !self.found.uncounted[number])
    }

    /// Returns those of a passage's terms that are counted.
    pub(crate) fn counted(&self, shared: &[u16]) -> impl Iterator<Item = usize> {
        let numbers = shared.iter().map(|&number| usize::from(number));
        numbers.filter(|&number| !self.found.uncounted[number])
    }

    /// Returns the rarity of a term.
    pub(crate) fn of(&self, number: usize) -> f32 {
        self.query.terms[number].background
    }

    /// Returns the share of the query's rarity that these distinct terms cover, 0 to 1.
    pub(crate) fn share(&self, shared: &[u16]) -> f32 {
        let some: f32 = self.counted(shared).map(|number| self.squared(number)).sum();
        if self.all > 0.0 { some / self.all } else { 0.0 }
    }

    fn squared(&self, number: usize) -> f32 {
        self.of(number).powi(2)
    }
}
