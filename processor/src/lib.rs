//! The path from Claude Code's transcripts to memories: collecting, redacting, archiving, mining, consolidation,
//! reconciliation and publishing.

pub mod anchors;
pub mod background_run;
pub mod claude_files;
pub mod collect;
pub mod consolidate;
pub mod extract;
pub mod file_listing_stamp;
#[cfg(test)]
mod for_tests;
pub mod git;
pub mod handoff;
pub mod llm;
pub mod lock;
pub mod log;
pub mod machine;
pub mod mining;
pub mod passages;
pub mod private_files;
pub mod programs;
pub mod progress;
pub mod project_texts;
pub mod publish;
pub mod secrets;
pub mod session_records;
pub mod state;
pub mod sync;
pub mod tool_calls;
pub mod transcript;
pub mod trust;
pub mod typed_commands;
pub mod upkeep;
pub mod watch;
