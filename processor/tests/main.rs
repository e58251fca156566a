//! All tests of the processor in one program, because each program links all libraries.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

mod audit;
mod background;
mod claude_files;
mod embed;
mod growing;
mod healing;
mod killed;
mod llm;
mod lost;
mod migrations;
mod names;
mod notes;
mod overtaken;
mod ownership;
mod packs;
mod parts;
mod passages;
mod providers;
mod purge;
mod question;
mod scripts;
mod second;
mod secrets;
mod session_records;
mod slow_model;
mod speakers;
mod standin;
mod sync;
mod thinking;
mod transcript;
mod untrusted_tree;
mod waiting;
mod watch;
mod worktrees;
