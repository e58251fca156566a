//! Contexts: the text around a value that identifies it as a secret. The rows are in `data/contexts.toml` and
//! `data/rules.toml`.

pub(crate) mod asked;
pub(crate) mod assignment;
pub(crate) mod block;
pub(crate) mod column;
pub(crate) mod command;
pub(crate) mod cookie;
pub(crate) mod cue;
pub(crate) mod encoded;
pub(crate) mod joined;
pub(crate) mod printed;
pub(crate) mod rows;
pub(crate) mod rule;
