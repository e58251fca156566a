//! The empty program that `scripts/bench hooks` compares with.
fn main() {}
