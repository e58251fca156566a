//! From Claude Code's transcripts to memories: collect, parse, redact, archive, mine, extract,
//! consolidate, write, index.

pub mod anchors;
pub mod archive;
pub mod audit;
pub mod background;
pub mod collect;
pub mod consolidate;
pub mod discover;
pub mod embed;
pub mod expired;
pub mod extract;
pub mod git;
pub mod graph;
pub mod housekeeping;
pub mod ignore;
pub mod inbox;
pub mod known;
pub mod left;
pub mod listed;
pub mod llm;
pub mod lock;
pub mod log;
pub mod mine;
pub mod newest;
pub mod ownership;
pub mod progress;
pub mod publish;
pub mod purge;
pub mod purged;
pub mod replay;
pub mod retention;
pub mod second;
pub mod secrets;
pub mod stamp;
pub mod start;
pub mod state;
pub mod stored;
pub mod sync;
#[cfg(test)]
mod testing;
pub mod transcript;
pub mod trees;
pub mod trust;
pub mod turns;
pub mod watch;
