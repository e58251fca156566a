//! Stand-ins for what the processor talks to.

pub mod ollama;
pub mod openai;
