//! Passages of sessions: verbatim statements and actions, or the model's thinking.
//!
//! Passages are numerous and unreviewed, so one decision is made for each query ([`gate`]) before the best few are
//! returned as dated quotations. For an error, the earlier cure of the same error is returned ([`error`]); explicit
//! search returns the best matches ([`search`]).

pub(crate) mod error;
pub(crate) mod gate;
mod given;
pub(crate) mod passage;
mod rank;
mod rarity;
pub(crate) mod search;

pub use gate::{FEATURES, PassageJudgement, calibrated};
pub use given::{Already, MEMORIES_ENOUGH};
pub use passage::may_be_given;
pub use rank::{RankedPassage, RankedPassages};
