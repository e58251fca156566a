//! The tests of the hooks are one program, so that it is linked only once.

mod before_tool;
mod common;
mod given;
mod hostile;
mod newer;
mod payload;
mod stop;
mod stuck;
mod version;
