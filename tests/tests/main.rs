//! Journeys across the programs. They are one test program, because linking a program with all crates takes long.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

mod credentials;
mod damage;
mod dependencies;
mod documents;
mod end_to_end_scripts;
mod faults;
mod get;
mod golden_stores;
mod history;
mod hostile_input;
mod identity;
mod interrupted_sync;
mod kept;
mod language;
mod licences;
mod limits;
mod nothing_written;
mod packages;
mod plugin;
mod poisoned;
mod pulled;
mod scripts;
mod secrets_stored;
mod security;
mod selftest;
mod slow_model;
mod tried;
mod vanishing_files;
mod wrong_clock;
