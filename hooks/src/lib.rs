//! The five hooks of Throughline, which Claude Code runs at a session's start, with each prompt, before and after tool
//! calls, and at each stop.
//!
//! A hook reads a [payload], converts it to an [event], recalls memories, and [prints](output) at most one JSON object.
//! It starts, answers and exits within one or two milliseconds, so each page access and each system call matters;
//! `scripts/bench hooks` measures this time.

pub mod append;
pub mod arena;
pub mod before_tool;
pub mod deadline;
pub mod event;
pub mod hook;
pub mod inbox;
pub mod inject;
pub mod notice;
pub mod output;
pub mod payload;
pub mod platform;
pub mod program;
pub mod prompt;
pub mod receipt;
pub mod reinject;
pub mod run;
pub mod session;
pub mod spawn_processor;
pub mod spelling;
pub mod start;
pub mod tool;
pub mod turn_end;
pub mod unknown_folder;
pub mod unreadable;
pub mod untrusted_tree;
pub mod wire;
