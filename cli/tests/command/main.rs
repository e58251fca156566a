//! Tests of the command in a sealed environment, as people and scripts use it.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

mod ask;
mod browse;
mod claude;
mod common;
mod configuration;
mod conventions;
mod counts;
mod daily;
mod damaged;
mod decisions;
mod evidence;
mod first_run;
mod following;
mod foreign_programs;
mod guard;
mod guide;
mod habits;
mod knowledge;
mod learned;
mod learning;
mod memories;
mod messages;
mod migrations;
mod neighbours;
mod newcomer;
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "../../../processor/tests/standin/ollama.rs"]
mod ollama;
mod relations;
mod report;
mod resume;
mod secrets;
mod setup;
mod styles;
mod team;
mod trust;
mod uninstall;
mod watch;
