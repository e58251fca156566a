//! Tests of the hooks in one program, to link only once.

mod before_tool;
mod common;
mod given;
mod hostile;
mod newer;
mod payload;
mod stop;
mod stuck;
mod version;
