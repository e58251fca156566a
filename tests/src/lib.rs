//! Helpers of the journeys: a sealed environment, the real Claude Code client, a stand-in for the API that the client
//! uses, a small project, and cargo's metadata of the workspace.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

pub mod bench;
pub mod chat_server;
pub mod checks;
pub mod claude_code;
pub mod command_lines;
pub mod environment;
#[cfg(target_os = "linux")]
pub mod fault;
pub mod golden_store;
pub mod hook_run;
pub mod injections;
pub mod ledger_project;
pub mod long_history;
pub mod mcp_server;
pub mod messages_api;
pub mod metadata;
pub mod recorded_model;
pub mod sample_project;
pub mod story;
#[cfg(target_os = "linux")]
pub mod trial;
