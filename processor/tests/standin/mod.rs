//! Stand-ins for what the processor talks to.

#![expect(dead_code, reason = "each test program uses its part")]

pub mod ollama;
pub mod openai;
