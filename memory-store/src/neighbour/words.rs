//! Sets of words that are compared many times.

use crate::text::{self, term_hash};

/// Words of a text in lower case, without stop words, as sorted hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<u64>);

/// Minimum number of words in the smaller of two sets for a share to be meaningful.
pub const SHARE_WORDS_MIN: usize = 3;

impl Words {
    /// Returns the words of a text.
    pub fn of(text: &str) -> Self {
        text::words(text).iter().map(String::as_str).collect()
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of words that both sets contain.
    pub(crate) fn shared(&self, other: &Self) -> usize {
        let (mut at, mut other_at, mut shared) = (0, 0, 0);
        while let (Some(one), Some(another)) = (self.0.get(at), other.0.get(other_at)) {
            shared += usize::from(one == another);
            at += usize::from(one <= another);
            other_at += usize::from(another <= one);
        }
        shared
    }

    /// Returns the share of the smaller set that the larger set contains, from 0 to 1. For sets with fewer than
    /// `SHARE_WORDS_MIN` words, the result is 1 if the sets are equal, or else 0.
    pub fn overlap(&self, other: &Self) -> f32 {
        self.overlap_of(other, || self.shared(other))
    }

    /// Like [`Self::overlap`]; `shared` returns the number of common words.
    pub fn overlap_of(&self, other: &Self, shared: impl FnOnce() -> usize) -> f32 {
        let smaller = self.len().min(other.len());
        if smaller < SHARE_WORDS_MIN {
            return f32::from(u8::from(self == other && !self.is_empty()));
        }
        shared() as f32 / smaller as f32
    }

    /// Returns the hashes of the words, sorted.
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }

    /// Returns whether another set contains all words of this one.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.shared(other) == self.len()
    }

    /// Returns the words of this set that another set does not contain.
    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|word| other.0.binary_search(word).is_err()).copied().collect())
    }
}

impl<'a> FromIterator<&'a str> for Words {
    fn from_iter<I: IntoIterator<Item = &'a str>>(words: I) -> Self {
        let mut hashes: Vec<u64> = words.into_iter().map(term_hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sets_of_hashes_compare_as_the_sets_do(
            a in prop::collection::btree_set("[a-f]{1,2}", 0..12),
            b in prop::collection::btree_set("[a-f]{1,2}", 0..12),
        ) {
            let words = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Words>();
            let (one, other) = (words(&a), words(&b));
            let shared = a.intersection(&b).count();
            prop_assert_eq!(one.shared(&other), shared);
            prop_assert_eq!(one.is_within(&other), a.is_subset(&b));
            prop_assert_eq!(one.without(&other), words(&a.difference(&b).cloned().collect()));
            let smaller = a.len().min(b.len());
            let share = match smaller {
                0..3 => f32::from(u8::from(a == b && smaller > 0)),
                _ => shared as f32 / smaller as f32,
            };
            prop_assert_eq!(one.overlap(&other), share);
        }
    }
}
