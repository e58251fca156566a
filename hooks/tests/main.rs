//! Tests of the hooks, as one program: each is linked with everything.

mod common;
mod given;
mod hostile;
mod newer;
mod payload;
mod stop;
mod stuck;
