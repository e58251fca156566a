//! Finds damaged private files of a project, for `status` and `doctor`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use memory_store::Error;
use memory_store::index::health::{Depth, Health, inspect};
use memory_store::layout::{ProjectDir, Tree};
use processor::collect::archive::Archive;
use processor::collect::expired::Expired;

use super::check::HealthCheck;
use crate::world::World;

/// Finds the first damage in the existing indexes: the project's, the index of its thinking, and the user's.
pub fn of_indexes(world: &World, tree: &Tree, depth: Depth) -> Option<Error> {
    let state = world.dirs.tree(&tree.root);
    let folders = [state.index, state.thinking, world.dirs.user_state().index];
    let there = folders.iter().filter(|folder| folder.exists());
    there.map(|folder| inspect(folder, depth)).find_map(Health::damage)
}

/// Returns the archive files of sessions whose turns are lost, with the ids of the sessions.
pub fn lost(home: &ProjectDir) -> Vec<(PathBuf, String)> {
    let archive = Archive::open(home);
    let lost = Expired::open(home).lost().into_iter();
    lost.map(|(name, remains)| (archive.path(&name), remains.header.session)).collect()
}

/// Returns the reasons why packs of the archive cannot be listed.
pub fn unlisted_packs(home: &ProjectDir) -> Vec<String> {
    Archive::open(home).unlisted_packs()
}

/// Returns the results of `doctor` for the archive: a warning for each lost session and for each file that was kept
/// aside, and an error for each unreadable file.
pub fn archive(home: &ProjectDir) -> Vec<HealthCheck> {
    const NAME: &str = "archive";
    let lost = lost(home);
    let mut checks: Vec<HealthCheck> = lost
        .iter()
        .map(|(path, session)| {
            let seen = format!(
                "{}: this session is lost, and so is its transcript; memories of it stay",
                path.display()
            );
            let remedy = format!(
                "Put the file back from a backup, or let its memories go, too: `throughline purge --session {session}`."
            );
            HealthCheck::care(NAME, seen, remedy)
        })
        .collect();
    let archive = Archive::open(home);
    let names = archive.names().unwrap_or_default();
    // The set removes duplicates, since one damaged pack contains several sessions.
    let damaged: BTreeSet<String> =
        names.iter().filter_map(|name| Some(archive.check(name).err()?.to_string())).collect();
    checks.extend(damaged.into_iter().map(|seen| {
        let remedy =
            "Run `throughline sync`, which puts aside what is damaged and reads its transcript again.";
        HealthCheck::bad(NAME, seen, remedy)
    }));
    checks.extend(unlisted_packs(home).into_iter().map(|why| {
        let remedy =
            "Make it readable, or put it back from a backup. Without it its sessions are lost.";
        HealthCheck::bad(NAME, why, remedy)
    }));
    checks.extend(archive.packs_aside().into_iter().map(|path| {
        let seen = format!("{} is damaged and was put aside", path.display());
        let remedy = "What can be read of it was written again. Put it back from a backup where a session is lost, else \
                      remove it.";
        HealthCheck::care(NAME, seen, remedy)
    }));
    checks.extend(archive.aside().into_iter().map(|(name, path)| {
        let was_read = archive.path(&name).exists();
        let seen = format!("{} is damaged and was put aside", path.display());
        match was_read {
            true => HealthCheck::care(
                NAME,
                seen,
                "Its session was read again; the file can be removed.",
            ),
            false => HealthCheck::care(
                NAME,
                seen,
                "What can be had of it is not read yet; keep the file.",
            ),
        }
    }));
    checks
}
