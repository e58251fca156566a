//! `throughline handoff`: prints the handoff for a colleague or the next session.

use std::io::Write;

use clap::Args;
use memory_store::handoff::{self, LeftSession};
use processor::handoff::FORGOTTEN_DAYS;

use crate::failure::Result;
use crate::view::{self, clock, plain};
use crate::world::World;

/// Says where the work was left, as Markdown.
#[derive(Debug, Args)]
pub struct HandoffArgs {
    /// How many sessions
    #[arg(long, short = 'n', default_value_t = 3, value_name = "COUNT")]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &HandoffArgs, world: &World, out: &mut dyn Write) -> Result {
    let tree = world.tree()?;
    let mut left = handoff::Handoff::read(&world.dirs.tree(&tree.root).handoff);
    left.sessions.truncate(args.limit);
    if args.json {
        return view::json(&left, out);
    }
    if left.sessions.is_empty() {
        view::remark(format_args!(
            "No session of the last {FORGOTTEN_DAYS} days changed or left anything open here. `throughline sync` reads \
             new transcripts, `throughline timeline` shows all sessions."
        ));
    }
    left.sessions.iter().try_for_each(|session| show(session, out))
}

/// Prints the handoff of a session.
pub fn show(session: &LeftSession, out: &mut dyn Write) -> Result {
    let branch =
        if session.branch.is_empty() { String::new() } else { format!(" on `{}`", session.branch) };
    let merged = if session.merged { ", merged since" } else { "" };
    writeln!(out, "## {}{}{merged}\n", clock::date(session.last), plain(&branch))?;
    if let Some(about) = &session.about {
        writeln!(out, "**About:** {}\n", plain(about))?;
    }
    writeln!(out, "**Asked:** {}\n", plain(&session.goal))?;
    list(out, "Done", &session.done)?;
    list(out, "Not done", &session.not_done)?;
    if let Some(question) = &session.question {
        writeln!(out, "**Open question:** {}\n", plain(question))?;
    }
    if let Some(next) = &session.next {
        writeln!(out, "**Interrupted at:** {}\n", plain(next))?;
    }
    if let Some(failing) = &session.failing {
        writeln!(out, "**Failing:** `{}`\n", plain(failing))?;
    }
    list(out, "Changed", &session.files)?;
    list(out, "Uncommitted", &session.uncommitted)?;
    writeln!(out, "Session {}\n", plain(&session.session))?;
    Ok(())
}

fn list(out: &mut dyn Write, heading: &str, items: &[String]) -> Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "**{heading}:**\n")?;
    for item in items {
        writeln!(out, "- {}", plain(item))?;
    }
    writeln!(out)?;
    Ok(())
}
