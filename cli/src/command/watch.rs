//! `throughline watch`: learns from running sessions where hooks are not used.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use memory_store::background;
use memory_store::mode::Mode;
use processor::transcript::SOURCE;
use processor::watch::{self, Options, Pace, Waker};

use crate::exit;
use crate::failure::{Failure, Result};
use crate::setup::login_service;
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;

/// Learn from running sessions, without hooks
///
/// Reads the sessions of all projects at low priority until interrupted. Runs once for each user; a second instance
/// exits with 8.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WatchArgs {
    #[command(subcommand)]
    action: Option<WatchAction>,
    /// Poll instead of using file events, for example on network drives [default interval: 10
    /// seconds]
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    poll: Option<u64>,
    /// Report the changes without making them
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Subcommand)]
enum WatchAction {
    /// Write a systemd unit or launchd agent that starts `throughline watch` at login
    Install(WriteOptions),
}

impl WatchArgs {
    /// Returns whether the command makes a decision that only the person may make: installing a program that starts at
    /// each login.
    pub fn decides(&self, _: &World) -> bool {
        matches!(self.action, Some(WatchAction::Install(write)) if !write.dry_run)
    }
}

/// Runs the command.
pub fn run(args: &WatchArgs, world: &World, out: &mut dyn Write) -> Result {
    if let Some(WatchAction::Install(write)) = args.action {
        return login_service::install(write, world, out);
    }
    if world.mode != Mode::Full {
        return Err(Failure::new("nothing is learned here: THROUGHLINE, CI or a cloud session")
            .hint("Set THROUGHLINE=full to learn here."));
    }
    if args.dry_run {
        let folder = view::path(SOURCE.folder(&world.dirs.claude));
        let told = format!("learn from what is new in {folder}, until it is interrupted");
        return view::would(&[told], false, out);
    }
    let Some(_turn) = watch::take_turn(&world.dirs)? else {
        return Err(Failure::new("another `throughline watch` of yours is at work")
            .code(exit::RUNNING)
            .hint("One is enough for all projects."));
    };
    let waker = Waker::default();
    watch::stop_on_signals(&waker)?;
    watch::step_back();
    let mut pace = Pace::default();
    if let Some(seconds) = args.poll {
        pace.poll = Duration::from_secs(seconds);
    }
    let options = Options {
        dirs: world.dirs.clone(),
        processor: world.program(background::PROGRAM),
        polls: args.poll.is_some(),
        pace,
    };
    // A write error is ignored, so that the work continues if the output is closed.
    let mut say = |line: &str| {
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    };
    watch::run(&options, &waker, &mut say)?;
    say("Stopped.");
    Ok(())
}
