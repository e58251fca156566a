//! The MCP server: memory for models, on request.
//!
//! [`backend`] defines requests and responses, and [`local`] answers them from this machine's stores. [`tools`] and
//! [`prompts`] are the interface for models and users. `request`, `arguments` and `printed` (ids) parse JSON into
//! requests. Only [`server`] uses the library of the MCP protocol.

mod arguments;
pub mod backend;
pub mod environment;
mod input;
pub mod local;
mod printed;
mod processor;
pub mod processor_starter;
pub mod prompts;
mod request;
pub mod server;
pub mod tools;
mod workers;

pub use workers::THREADS_MAX;
