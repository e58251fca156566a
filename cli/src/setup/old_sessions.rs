//! Sessions that, before they are read for the first time, are already older than the retention limit of turns. They
//! are reported and exempted from the limit: otherwise the sync that learns from them would remove them again.

use std::io::Write;

use memory_store::identity;
use memory_store::layout::Tree;
use processor::collect::discover::Transcript;
use processor::upkeep::retention::OldSessions;

use crate::failure::Result;
use crate::view::style::{CARE, paint};
use crate::view::{self, clock};
use crate::world::World;

/// Reports the sessions among `transcripts` that are older than the settings allow, and exempts them from removal.
pub fn keep(world: &World, tree: &Tree, transcripts: &[Transcript], out: &mut dyn Write) -> Result {
    let found = OldSessions::look(&world.dirs, tree.project, transcripts, world.now)?;
    let Some(old) = found else { return Ok(()) };
    let OldSessions { count, days, setting, before } = old;
    let (sessions, are) = (view::plural(count, "session"), view::are(count));
    let limit = view::plural(usize::try_from(days).unwrap_or_default(), "day");
    let date = clock::date(before);
    writeln!(
        out,
        "  {} {sessions} {are} older than {limit} (`{setting}`). Their turns are kept, and all that is read now; \
         `throughline purge --before {date}` removes them for good.",
        paint(CARE, "!")
    )?;
    Ok(identity::keep_turns(&world.dirs, tree.project, world.now)?)
}
