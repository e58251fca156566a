//! Ranking: scores of the candidates for a query, and the gate that decides whether the best of them are injected.

pub(crate) mod background_prompts;
pub(crate) mod calibration;
pub(crate) mod candidate;
pub(crate) mod exact;
pub(crate) mod gate;
pub(crate) mod lexical;
pub(crate) mod near_duplicates;
pub(crate) mod nearest;
pub(crate) mod posting_window;
pub(crate) mod rejected;
pub(crate) mod score;
pub(crate) mod second_space;
pub(crate) mod session_context;
pub mod staleness;
pub mod start_rank;
pub(crate) mod trace;
