//! The empty program with which `scripts/bench hooks` compares.
fn main() {}
