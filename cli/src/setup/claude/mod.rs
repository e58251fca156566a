//! Claude Code's own files: their locations, and how our hooks and MCP server are inserted and removed without
//! changing anything else.

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
