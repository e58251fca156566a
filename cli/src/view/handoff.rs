//! Formats the handoff of a session as Markdown, for a colleague or the next session.

use std::io::Write;

use memory_store::handoff::LeftSession;

use crate::failure::Result;
use crate::view::{clock, plain};

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
    Ok(writeln!(out, "Session {}\n", plain(&session.session))?)
}

fn list(out: &mut dyn Write, heading: &str, items: &[String]) -> Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "**{heading}:**\n")?;
    for item in items {
        writeln!(out, "- {}", plain(item))?;
    }
    Ok(writeln!(out)?)
}
