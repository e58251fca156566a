//! `throughline purge`: permanently removes archived sessions, and verifies the removal.

use std::io::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use memory_store::Timestamp;
use memory_store::id::is_abbreviation;
use memory_store::layout::Tree;
use processor::progress::Silent;
use processor::upkeep::purge::{
    PurgePreview, PurgeReport, PurgeTarget, PurgedMemory, preview, purge,
};

use super::sync::may_learn;
use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::typed::{self, WriteOptions};
use crate::view::style::{GOOD, NAME, paint};
use crate::view::{self, clock, plain, plural};
use crate::world::World;

/// Maximum memories or files that a message names.
const NAMED_MAX: usize = 20;

/// Delete archived turns and everything derived from them
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct PurgeArgs {
    /// Delete the turns of this session (its id, or the start or end of its id)
    #[arg(long, value_name = "ID", group = "what", add = crate::complete::sessions())]
    session: Option<String>,
    /// Delete turns before this date, such as 2026-10-01, 90d or "last month"
    #[arg(long, value_name = "DATE", group = "what")]
    before: Option<String>,
    /// Delete all turns and private data of the project on this machine
    #[arg(long, group = "what")]
    everything: bool,
    #[command(flatten)]
    write: WriteOptions,
}

impl PurgeArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// Runs the command.
pub fn run(args: &PurgeArgs, world: &World, out: &mut dyn Write) -> Result {
    may_learn(world).map_err(|failure| failure.during("nothing was removed"))?;
    let tree = world.tree()?;
    let mut what = args.what(world.now)?;
    let options = world.sync_options(&tree, &Silent);
    // The preview fails if the session does not exist, before the user is asked any question.
    let preview = preview(&options, &what)?;
    if let PurgeTarget::Session(id) = &mut what
        && let Some(whole) = preview.sessions.iter().find(|session| is_abbreviation(id, session))
    {
        id.clone_from(whole);
    }
    if args.write.dry_run {
        return view::would(&planned_actions(&what, &preview), args.write.json, out);
    }
    if !args.write.yes && !ask::confirm(world, &question(&what, &preview), false)? {
        return Err(ask::declined(world, "nothing was removed"));
    }
    let report = purge(&options, &what)?.ok_or_else(|| {
        Failure::new("a sync is at work; nothing was removed")
            .code(exit::LOCKED)
            .hint("Try again when it is done.")
    })?;
    if args.write.json {
        view::json(&report, out)?;
    } else {
        show(&report, &tree, out)?;
    }
    proven(&report, &what, &tree)
}

fn show(report: &PurgeReport, tree: &Tree, out: &mut dyn Write) -> Result {
    writeln!(
        out,
        "Removed {}, {}, {}.",
        plural(report.sessions, "session"),
        plural(report.records, "record"),
        plural(report.receipts, "receipt")
    )?;
    let (forgotten, learned) = (&report.forgotten, &report.learned);
    list("Forgotten, since nothing else says so", forgotten, out)?;
    if forgotten.iter().any(|named| named.path.starts_with(&tree.root)) {
        writeln!(
            out,
            "Their files are gone from the working tree; what was committed stays in git's history."
        )?;
    }
    list("Learned again from the sessions that stay", learned, out)?;
    list(
        "Kept without their evidence, since they were written or changed after they were learned",
        &report.stripped,
        out,
    )?;
    if report.left.is_empty() {
        let besides = if report.say.is_empty() { "" } else { " besides these memories" };
        let proof = match report.sought {
            0 => format!("Nothing of it is archived, and no memory refers to it{besides}."),
            _ => format!("Nothing of it is left in {}{besides}.", plural(report.scanned, "file")),
        };
        writeln!(out, "{}", paint(GOOD, proof))?;
    }
    list(
        "Kept as they are, though they say some of what was purged word for word",
        &report.say,
        out,
    )?;
    if !report.say.is_empty() {
        writeln!(
            out,
            "`throughline edit ID` changes one, `throughline forget ID --delete` removes it."
        )?;
    }
    Ok(())
}

/// Prints the names of at most [`NAMED_MAX`] memories.
fn list(what: &str, memories: &[PurgedMemory], out: &mut dyn Write) -> Result {
    if memories.is_empty() {
        return Ok(());
    }
    writeln!(out, "{what}: {}", memories.len())?;
    for PurgedMemory { id, title, .. } in memories.iter().take(NAMED_MAX) {
        writeln!(out, "  {}  {}", paint(NAME, id.short()), plain(title))?;
    }
    if memories.len() > NAMED_MAX {
        writeln!(out, "  and {} more; --json names all", memories.len() - NAMED_MAX)?;
    }
    Ok(())
}

fn proven(report: &PurgeReport, what: &PurgeTarget, tree: &Tree) -> Result {
    if report.left.is_empty() {
        return Ok(());
    }
    let store = tree.store();
    // A damaged pack that was kept aside may be the only copy of other sessions.
    let (packs, rest): (Vec<&PathBuf>, Vec<&PathBuf>) =
        report.left.iter().partition(|path| path.extension().is_some_and(|it| it == "damaged"));
    let (theirs, ours): (Vec<&PathBuf>, Vec<&PathBuf>) =
        rest.iter().partition(|path| path.starts_with(&store));
    let names = |paths: &[&PathBuf]| {
        let names = paths.iter().take(NAMED_MAX).map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut failure = Failure::new(match report.left.len() {
        1 if rest.is_empty() => "1 file may still hold some of it".to_owned(),
        1 => "1 file still holds some of it".to_owned(),
        count => format!("{count} files may still hold some of it"),
    });
    failure.causes.extend(report.refused.iter().map(|why| plain(why)));
    if rest.is_empty() {
        let remedy = format!(
            "Nobody can tell what is in {}, which is damaged: remove it once you need no other session of it.",
            names(&packs)
        );
        return Err(failure.hint(remedy));
    }
    Err(match (theirs.is_empty(), ours.is_empty()) {
        (false, _) => failure.hint(format!(
            "Look at {}: what you remove from there is gone.",
            names(&theirs)
        )),
        (true, _) => failure.hint(format!(
            "Leave {} in place: it is Throughline's own. Run {} when nothing else is at work here, neither git nor a \
             session.",
            names(&ours),
            match what {
                // Only the whole id still names the session after its removal.
                PurgeTarget::Session(id) => format!("`throughline purge --session {}`", plain(id)),
                PurgeTarget::Before(_) | PurgeTarget::Project => "this again".to_owned(),
            }
        )),
    })
}

impl PurgeArgs {
    fn what(&self, now: Timestamp) -> Result<PurgeTarget> {
        Ok(match (&self.session, &self.before) {
            (Some(session), _) => PurgeTarget::Session(session.clone()),
            (None, Some(before)) => PurgeTarget::Before(typed::first_moment_of_days(before, now)?),
            (None, None) => PurgeTarget::Project,
        })
    }
}

/// Returns sentences about the planned actions, for a dry run.
fn planned_actions(what: &PurgeTarget, preview: &PurgePreview) -> Vec<String> {
    let removed = format!("remove {}", removal(what, preview));
    let learned = format!("forget memories that were learned from it: {}", preview.learned);
    let stripped = format!("take the evidence out of memories that stay: {}", preview.stripped);
    vec![removed, learned, stripped]
}

fn question(what: &PurgeTarget, preview: &PurgePreview) -> String {
    let question = format!("Remove {}?", removal(what, preview));
    let PurgePreview { learned, stripped, .. } = preview;
    if (*learned, *stripped) == (0, 0) {
        return question;
    }
    format!(
        "Memory files that go, since they were learned from it: {learned} (what other sessions say as well is learned \
         again). Memories that stay without their evidence, since somebody wrote or changed them: {stripped}. {question}"
    )
}

fn removal(what: &PurgeTarget, preview: &PurgePreview) -> String {
    let sessions = plural(preview.sessions.len(), "session");
    match what {
        PurgeTarget::Session(session) => format!("session {} for good", plain(session)),
        PurgeTarget::Before(before) => {
            format!("everything archived before {}, of {sessions}", clock::time(*before))
        }
        PurgeTarget::Project => format!("this project's archive of {sessions}, and its state"),
    }
}
