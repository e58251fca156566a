//! The MCP server: memory for a model that asks for it.
//!
//! [`backend`] says what can be asked, [`local`] answers from this machine's stores, [`tools`] and
//! [`prompts`] are what a model and a person see, `request`, `arguments` and `printed` (ids) turn JSON into
//! requests, and [`server`] alone knows the protocol's library.

mod arguments;
pub mod backend;
pub mod background;
pub mod environment;
mod input;
pub mod local;
mod printed;
mod processor;
pub mod prompts;
mod request;
pub mod server;
pub mod tools;
mod workers;

pub use workers::THREADS_MAX;
