//! The parts that `uninstall` removes, and those that it names for removal by hand.

pub mod account;
pub mod by_hand;
pub mod parts;
