//! Claude Code's own files: where they are, and how our hooks and our MCP server get into them
//! and out again without touching anything else.

pub mod client;
pub mod document;
pub mod guide;
pub mod hooks;
pub mod places;
pub mod plugin;
pub mod record;
pub mod register;
pub mod replace;
pub mod rules;
pub mod server;
pub mod status_line;
pub mod text_change;
pub mod upgrade;

#[cfg(test)]
mod tests;
