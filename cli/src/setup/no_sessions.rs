//! Reasons why a project has no sessions: its sessions may belong to other projects, or there are no transcripts in the
//! folders that were searched.

use memory_store::layout::Tree;
use processor::collect::discover::Discovery;
use processor::collect::{configurations, discover};

use super::elsewhere::{self, Elsewhere, MovedFolder};
use crate::failure::Result;
use crate::view::{self, plural};
use crate::world::World;

/// Returns the reasons why a project has no session, each with the command that can change it, except those that are
/// printed already.
pub fn reasons(world: &World, tree: &Tree, printed: &[&[String]]) -> Result<Vec<String>> {
    let found = discover::transcripts(&world.dirs, tree)?;
    let mut reasons = found.unclaimed.messages();
    reasons.extend(found.warnings.iter().cloned());
    reasons.extend(
        elsewhere::history(&world.dirs, &tree.main_root).iter().map(Elsewhere::description),
    );
    reasons.extend(
        elsewhere::moved(&world.dirs, &tree.main_root).iter().map(MovedFolder::description),
    );
    if reasons.is_empty() {
        reasons.push(match found.transcripts.len() {
            0 => nothing_found(world, &found),
            count => format!(
                "{} of this project, with nothing to keep: no prompt yet, or purged, or left out by `ignore_paths`. \
                 `throughline sync --rebuild` reads all again.",
                plural(count, "transcript")
            ),
        });
    }
    reasons.retain(|reason| printed.iter().all(|printed| !printed.contains(reason)));
    Ok(reasons)
}

fn nothing_found(world: &World, found: &Discovery) -> String {
    const FROM: &str = "`throughline sync --from DIR` takes all transcripts of a folder";
    let folders = configurations::transcript_folders(&world.dirs);
    let listed: Vec<String> = folders.iter().map(|it| view::folder(it, &world.home)).collect();
    let listed = listed.join(" and ");
    if !folders.iter().any(|folder| folder.is_dir()) {
        return format!(
            "No folder {listed}: Claude Code has written no transcript there. CLAUDE_CONFIG_DIR names its folder if it \
             is another one; {FROM}."
        );
    }
    match found.others {
        0 => format!("No transcript in {listed} yet: use Claude Code here. {FROM}."),
        others => format!(
            "{} in {listed}, and none was recorded in this project's folders. {FROM}.",
            plural(others, "transcript")
        ),
    }
}
