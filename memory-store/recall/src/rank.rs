//! Ranked lists as a prompt would find them, for measuring.

use super::{Asked, Recall, Recalled};
use memory_store_base::time::Timestamp;

impl Recall {
    /// Ranks memories for a prompt as [`Recall::prompt`] does, and returns the best `places` of
    /// them whether or not they help: neither the gate nor the cut behind the best is applied.
    pub fn ranked(&self, text: &str, now: Timestamp, places: usize) -> Recalled {
        let (query, found) = self.asked(text);
        let query = self.with_vector(query, &self.sources);
        let candidates = self.for_prompt(&query, found, now);
        let asked = Asked { places, gated: false, is_open: true, now, skip: &|_| false };
        self.answer(candidates, &query, &asked)
    }
}
