//! Names of people. No pattern distinguishes them from other words, but a caller that has a list of the names in a
//! text, for example from a language model, can have them hidden.

use std::sync::Arc;

use memchr::memmem;

use crate::finding::{Finding, NAME};

/// Names that are hidden as whole words. The set is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Names(Arc<[String]>);

impl Names {
    /// Creates a set of names. Longer names are searched first, so that hiding a surname does not break a full name.
    pub fn new(mut names: Vec<String>) -> Self {
        names.retain(|name| name.chars().any(char::is_alphabetic));
        names.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        names.dedup();
        Self(names.into())
    }

    /// Returns the occurrences of the names.
    pub(crate) fn find(&self, text: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        for name in self.0.iter() {
            for start in memmem::find_iter(text.as_bytes(), name.as_bytes()) {
                let end = start + name.len();
                let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                let before = text.get(..start).and_then(|before| before.chars().next_back());
                let after = text.get(end..).and_then(|after| after.chars().next());
                if !is_part(before) && !is_part(after) {
                    found.push(Finding { rule: NAME, range: start..end });
                }
            }
        }
        found
    }
}
