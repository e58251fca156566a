//! `throughline doctor`: looks at every link of the chain and says what helps.

pub(super) mod checks;
pub(super) mod custom_embedder;
pub(super) mod folders;
pub(super) mod meaning;
pub(super) mod ollama;
mod plugin_checks;
pub(super) mod programs;

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::view;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::style::{BAD, CARE, GOOD, NAME, paint};
use crate::world::World;

/// Checks every part, from Claude Code's settings to the index, and says how to mend what is broken.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One link of the chain.
#[derive(Debug, Serialize)]
pub struct Check {
    /// The link.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// Observation.
    pub seen: String,
    /// Remedy, where something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// As it should be.
    Good,
    /// It works, but somebody should know.
    Care,
    /// The chain is broken here.
    Bad,
}

impl Check {
    /// A link that is as it should be.
    pub fn good(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: State::Good, seen: seen.into(), remedy: None }
    }

    /// A link that works, with something to know.
    pub fn care(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: State::Care, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// A broken link.
    pub fn bad(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, state: State::Bad, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    /// A link that could not be looked at; what helps is what the failure says, if it does.
    pub fn failed(name: &'static str, failure: &Failure) -> Self {
        Self { name, state: State::Bad, seen: failure.to_string(), remedy: failure.hint.clone() }
    }
}

/// Runs the command.
pub fn run(args: &Doctor, world: &World, out: &mut dyn Write) -> Result {
    tell(&checks::all(world, world.tree()), args.json, out)
}

/// Prints checks; fails where one is bad.
pub fn tell(checks: &[Check], json: bool, out: &mut dyn Write) -> Result {
    if json {
        view::json(&checks, out)?;
    } else {
        checks.iter().try_for_each(|check| show(check, out))?;
    }
    let broken = checks.iter().filter(|check| check.state == State::Bad).count();
    if broken == 0 {
        return Ok(());
    }
    out.flush()?;
    let noun = if broken == 1 { "part is" } else { "parts are" };
    Err(Failure::new(format!("{broken} {noun} broken"))
        .code(exit::UNHEALTHY)
        .hint("Each line above says what helps."))
}

fn show(check: &Check, out: &mut dyn Write) -> Result {
    let mark = match check.state {
        State::Good => paint(GOOD, "ok   "),
        State::Care => paint(CARE, "care "),
        State::Bad => paint(BAD, "bad  "),
    };
    writeln!(out, "{mark} {:<12} {}", check.name, view::plain(&check.seen))?;
    if let Some(remedy) = &check.remedy {
        writeln!(out, "{:18} -> {}", "", paint(NAME, view::plain(remedy)))?;
    }
    Ok(())
}
