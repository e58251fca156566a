//! Passages of sessions: what was said or done, word for word, or what the model thought.
//!
//! Passages are many and nobody judged them. So one decision is made for each query ([`gate`]) before the best few are
//! given, as dated quotations; an error brings what cured it before ([`error`]); and who asks explicitly gets what fits
//! best ([`search`]).

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
