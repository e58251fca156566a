//! The empty program, with which `scripts/bench hooks` compares the hooks.
fn main() {}
