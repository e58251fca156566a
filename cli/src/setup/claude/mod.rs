//! Claude Code's own files: where they are, and how Throughline's hooks and MCP server are inserted and removed without
//! any other change.

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
