//! The part of collecting that removes newly known secrets from stored data. Files of a person are not changed: the
//! change is proposed and announced instead.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use memory_store::exchange::secret_notice::SecretNotice;
use memory_store::redact::Redactor;
use memory_store::store::Store;

use super::context::SyncContext;
use crate::collect::archive::ArchiveEntry;
use crate::collect::newest::in_order;
use crate::mining;
use crate::private_files::write_json;
use crate::project_texts::Committed;
use crate::secrets::clean::clean_known;
use crate::state::State;
use crate::transcript::parts;

/// Files that cannot be searched, with the errors.
type Unread = Vec<(PathBuf, anyhow::Error)>;

/// Outcome of hiding newly known secrets.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// Sessions whose records were changed.
    pub changed: Vec<String>,
    /// Messages about files that could not be cleaned, and about secrets that git may still contain.
    pub warnings: Vec<String>,
}

/// Searches all stored data if a secret was learned since the last search.
pub(super) fn hide_known(context: &SyncContext<'_>, state: &mut State) -> Result<Hidden> {
    let is_news = context.secrets.known().revision() > 0;
    let mut hidden = Hidden::default();
    let mut counts = SecretNotice { at: context.options.now, ..SecretNotice::default() };
    if context.secrets.is_unclean() {
        counts.cleaned = clean(context, state, &mut hidden)?;
    } else if is_news {
        context.secrets.save()?;
    }
    if is_news || counts.cleaned > 0 {
        counts.proposed = proposals(context)?;
        if let Some(told) = counts.message() {
            hidden.warnings.push(told);
            announce(context, &counts)?;
        }
    }
    Ok(hidden)
}

/// Removes known secrets from all data except a person's files. Returns the number of cleaned files.
fn clean(context: &SyncContext<'_>, state: &mut State, hidden: &mut Hidden) -> Result<usize> {
    context.secrets.save()?;
    let only = Redactor { only_known: true, ..context.redactor.clone() };
    let (unclean, unread) = sessions_with_known(context)?;
    if !unclean.is_empty() {
        // The index contains the bytes of replaced turns until all turns are rewritten.
        state.all_turns = true;
        state.write(&context.home)?;
    }
    let cleaned = clean_known(context.dirs(), context.options.tree, &only, &unclean)?;
    context.sessions.archive.forget_kept();
    // The next parts are mined again, because a cure may be for a failure at the end of the previous part.
    for after in unclean.iter().flat_map(|name| parts::after(name)) {
        mining::remove(&context.home, &after);
        if let Some(session) = state.sessions.get_mut(&after) {
            session.mined = None;
        }
    }
    let warnings = &mut hidden.warnings;
    warnings.extend(cleaned.failed);
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
    // These files are tried again only after they have changed, because they would fail again.
    context.secrets.note_clean(&left)?;
    hidden.changed = unclean;
    Ok(cleaned.cleaned)
}

/// Returns the number of a person's memories for which a change is proposed.
fn proposals(context: &SyncContext<'_>) -> Result<usize> {
    let mut only = Redactor { only_known: true, ..context.redactor.clone() };
    only.options.known = context.secrets.known().as_given();
    if only.options.known.hides_nothing() {
        return Ok(0);
    }
    let mut proposed = BTreeSet::new();
    for tree in &context.trees {
        let store = Store::open(context.dirs(), tree)?;
        let committed = Committed::of(&tree.root);
        let proposals = store.proposals(&only, &|path| committed.has(path))?;
        proposed.extend(proposals.into_iter().map(|proposal| proposal.stored.memory.id));
    }
    let own = Store::user(context.dirs())?.proposals(&only, &|_| false)?;
    proposed.extend(own.into_iter().map(|proposal| proposal.stored.memory.id));
    Ok(proposed.len())
}

/// Stores a notice of cleaned and proposed files for the next session start in each working tree.
fn announce(context: &SyncContext<'_>, notice: &SecretNotice) -> Result<()> {
    for tree in &context.trees {
        write_json(&context.dirs().tree(&tree.root).secret_notice, notice)?;
    }
    Ok(())
}

/// Returns the archive files that were kept aside because of damage. Their content cannot be searched.
fn aside(context: &SyncContext<'_>) -> Vec<PathBuf> {
    let archive = &context.sessions.archive;
    let sessions = archive.aside().into_iter().map(|(_, path)| path);
    sessions.chain(archive.packs_aside()).collect()
}

/// Returns the archived sessions whose records contain known secrets, and the files that cannot be searched, with the
/// errors.
fn sessions_with_known(context: &SyncContext<'_>) -> Result<(Vec<String>, Unread)> {
    let (secrets, redactor) = (&context.secrets, &context.redactor);
    let archive = &context.sessions.archive;
    let entries = archive.entries()?;
    let holds = |entry: &ArchiveEntry| match archive.load_kept(&entry.name) {
        Ok(Some(file)) => {
            let mut file = Arc::unwrap_or_clone(file);
            let tasks = &mut [file.header.growth.tasks];
            let known = secrets.known();
            let hidden = secrets.hide(known.clone(), tasks, redactor);
            let records = &mut file.records;
            let hidden =
                hidden.and_then(|any| Ok(secrets.hide(known.clone(), records, redactor)? || any));
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
