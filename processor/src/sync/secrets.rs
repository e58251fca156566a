//! Part of collecting that takes secrets that became known out of what was stored before.

use std::path::PathBuf;

use anyhow::Result;
use memory_store::redact::Redactor;

use super::context::SyncContext;
use crate::collect::archive::Entry;
use crate::collect::newest::in_order;
use crate::git;
use crate::mining;
use crate::state::State;
use crate::transcript::parts;
use crate::upkeep::audit;

/// Files that cannot be searched, and why.
type Unread = Vec<(PathBuf, anyhow::Error)>;

/// Outcome of hiding what became known.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// Sessions whose records change.
    pub changed: Vec<String>,
    /// Files that could not be cleaned, and a secret that git may still hold.
    pub warnings: Vec<String>,
}

/// Searches all that is stored where something became known since that was done last.
pub(super) fn hide_known(context: &SyncContext<'_>, state: &mut State) -> Result<Hidden> {
    if !context.secrets.is_unclean() {
        return Ok(Hidden::default());
    }
    context.secrets.save()?;
    let only = Redactor { only_known: true, ..context.redactor.clone() };
    let (unclean, unread) = sessions_with_known(context)?;
    if !unclean.is_empty() {
        // An index keeps the bytes of turns that were replaced until all of them are written again.
        state.all_turns = true;
        state.write(&context.home)?;
    }
    let cleaned = audit::clean_known(context.options, &only, &unclean)?;
    context.sessions.archive.forget_kept();
    // A cure is told with the failure at the end of the part before it.
    for after in unclean.iter().flat_map(|name| parts::after(name)) {
        mining::remove(&context.home, &after);
        if let Some(session) = state.sessions.get_mut(&after) {
            session.mined = None;
        }
    }
    let mut warnings = cleaned.failed;
    let in_git = |root| git::place(root).is_some();
    if cleaned.committed > 0 && context.trees.iter().any(|tree| in_git(&tree.root)) {
        warnings.push(format!(
            "a secret became known and was taken out of {} memory files that were written before; \
             the git history may still hold it: `throughline audit` says where. Change the secret",
            cleaned.committed
        ));
    }
    let mut left = cleaned.left;
    for (path, error) in unread {
        warnings.push(format!("{error:#}"));
        left.insert(path);
    }
    if !left.is_empty() {
        let named: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
        warnings.push(format!(
            "a secret became known that these may hold; each is searched and cleaned by the next sync \
             after it changed or can be read: {}",
            named.join(", ")
        ));
    }
    let aside = aside(context);
    if !aside.is_empty() {
        let named: Vec<_> = aside.iter().map(|path| path.display().to_string()).collect();
        warnings.push(format!(
            "a secret became known that these may hold, which were put aside because they are damaged and cannot be \
             searched; delete them once nothing in them is needed: {}",
            named.join(", ")
        ));
        left.extend(aside);
    }
    // As they are, they would fail again.
    context.secrets.note_clean(&left)?;
    Ok(Hidden { changed: unclean, warnings })
}

/// Files of the archive that were put aside: nobody can tell what is in them.
fn aside(context: &SyncContext<'_>) -> Vec<PathBuf> {
    let archive = &context.sessions.archive;
    let sessions = archive.aside().into_iter().map(|(_, path)| path);
    sessions.chain(archive.packs_aside()).collect()
}

/// The archived sessions whose records hold what is known, and the files that cannot be searched, and why.
fn sessions_with_known(context: &SyncContext<'_>) -> Result<(Vec<String>, Unread)> {
    let (secrets, redactor) = (&context.secrets, &context.redactor);
    let archive = &context.sessions.archive;
    let entries = archive.entries()?;
    let holds = |entry: &Entry| match archive.load(&entry.name) {
        Ok(Some(mut file)) => {
            let tasks = &mut [file.header.growth.tasks];
            let hidden = secrets.hide(tasks, redactor);
            let hidden =
                hidden.and_then(|any| Ok(secrets.hide(&mut file.records, redactor)? || any));
            hidden.unwrap_or(true).then(|| Ok(entry.name.clone()))
        }
        Ok(None) => None,
        Err(error) => Some(Err((entry.path.clone(), error))),
    };
    let (mut sessions, mut unread) = (Vec::new(), Vec::new());
    for found in in_order(&entries, holds).into_iter().flatten() {
        match found {
            Ok(name) => sessions.push(name),
            Err(failed) => unread.push(failed),
        }
    }
    let unreadable = archive.unreadable_packs().into_iter();
    unread.extend(unreadable.map(|(path, why)| (path, anyhow::Error::msg(why))));
    Ok((sessions, unread))
}
