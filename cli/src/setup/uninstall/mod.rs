//! The parts that `uninstall` removes, and the parts that it reports for removal by hand.

pub mod account;
pub mod by_hand;
pub mod parts;
