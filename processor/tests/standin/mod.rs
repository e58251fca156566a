//! Stand-ins for the servers that the processor calls.

pub mod ollama;
pub mod openai;
