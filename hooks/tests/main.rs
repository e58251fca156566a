//! Tests of the hooks, as one program: each is linked with everything.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

mod common;
mod given;
mod hostile;
mod payload;
mod stop;
mod stuck;
