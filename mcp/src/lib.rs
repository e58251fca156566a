//! The MCP server: memory for a model that asks for it.
//!
//! [`backend`] says what can be asked, [`local`] answers from this machine's stores, [`schema`]
//! turns JSON into requests, and [`server`] alone knows the protocol's library.

pub mod backend;
pub mod background;
pub mod environment;
mod input;
pub mod local;
pub mod schema;
mod second;
pub mod server;
