//! Sessions that are older than the limit of archived turns before they are read. They are reported, and kept unless
//! the user decides otherwise. Without that, the sync that learns from them would remove them again.

use std::io::Write;

use memory_store::identity;
use memory_store::layout::Tree;
use processor::collect::discover::Transcript;
use processor::upkeep::retention::OldSessions;

use super::{ask, view};
use crate::clock;
use crate::failure::Result;
use crate::style::{CARE, paint};
use crate::world::World;

/// Decision about old sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All sessions are kept, without a question.
    All,
    /// The person decides.
    Ask,
}

/// Reports the sessions among `transcripts` that are older than the settings allow, and keeps them if `keep` or the
/// person decides so.
pub fn decide(
    world: &World,
    tree: &Tree,
    transcripts: &[Transcript],
    keep: Keep,
    out: &mut dyn Write,
) -> Result {
    let found = OldSessions::look(&world.dirs, tree.project, transcripts, world.now)?;
    let Some(old) = found else { return Ok(()) };
    let OldSessions { count, days, setting, before } = old;
    let (sessions, are) = (view::plural(count, "session"), view::are(count));
    let limit = view::plural(usize::try_from(days).unwrap_or_default(), "day");
    let told = format!("{sessions} {are} older than {limit} (`{setting}`)");
    if keep == Keep::Ask {
        writeln!(out, "  {} {told}.", paint(CARE, "!"))?;
        out.flush()?;
        if !ask::confirm(
            world,
            "Keep their turns, and all that is read now, whatever their age?",
            true,
        )? {
            writeln!(out, "Their turns are removed once they were learned from; memories stay.")?;
            return Ok(());
        }
    } else {
        let date = clock::date(before);
        writeln!(
            out,
            "  {} {told}. Their turns are kept, and all that is read now; `throughline purge --before {date}` removes \
             them for good.",
            paint(CARE, "!")
        )?;
    }
    Ok(identity::keep_turns(&world.dirs, tree.project, world.now)?)
}
