//! The command as people and scripts use it, in a sealed environment.

mod common;
mod configuration;
mod daily;
mod damaged;
mod first_run;
mod guide;
mod habits;
mod learned;
mod learning;
mod memories;
mod neighbours;
mod newcomer;
mod resume;
mod secrets;
mod setup;
mod styles;
mod trust;
mod watch;
