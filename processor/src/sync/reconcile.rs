//! The step of a sync that reconciles the memory files with the derived memories.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::layout::Tree;
use memory_store::ledger::Ledger;
use memory_store::memory::{HeldFor, SaidBy, Status};
use memory_store::migrate::{self, Site};
use memory_store::reconcile::{self, Desired, GitState, Outcome, SourceState};
use memory_store::settings::Settings;
use memory_store::store::Store;
use memory_store::trust::Trust;
use memory_store::{Kind, Memory};

use super::context::SyncContext;
use super::fingerprint::{Around, of_trees};
use super::hidden_names::HiddenNames;
use super::{left_out, lost, postponed_changes, same_texts};
use crate::llm::is_current_reader;
use crate::mining::MinedFile;
use crate::state::State;
use crate::{claude_files, git, trust};

/// Name in the log of migrations for archiving memories that rules of earlier versions wrote.
const PUT_ASIDE_STEP: &str = "rules-memories";

/// Outcome of reconciling.
#[derive(Debug)]
pub(super) struct Reconciled {
    /// Numbers of memory files, by kind of change.
    pub files: Outcome,
    /// State of all inputs except sessions when the files were written.
    pub around: Around,
    /// Problems that did not stop the step.
    pub warnings: Vec<String>,
}

/// Brings memory files to the state of `memories`, which were derived from `mined`.
pub(super) fn reconcile(
    context: &SyncContext<'_>,
    state: &State,
    memories: Vec<Memory>,
    mined: &[MinedFile],
) -> Result<Reconciled> {
    let mut warnings = Vec::new();
    let options = context.options;
    let main = context.trees.first().unwrap_or(options.tree);
    let store = Store::open(options.dirs, main)?;
    let settings = &context.settings;
    let store = store.clone().judged(Trust::of(&store, settings)?, settings);
    // Committed files are redacted by stricter rules than the archive, because other people read them.
    let redactor = store.redactor_for_writing(settings)?;
    let mut names = HiddenNames::default();
    if store.root.is_some() {
        names = HiddenNames::open(settings, options.ollama_host, &context.home);
    }
    if store.mend_private()? > 0 {
        warnings
            .push("waiting memories were cut off on the disk; they were written again".to_owned());
    }
    let mut memories = memories;
    for memory in &mut memories {
        redactor.redact_memory(memory);
        let has_no_names = names.hide(memory, &redactor);
        // This check is before the others, because `Memory::hold` keeps an existing reason. If there are several
        // reasons to make a memory pending, a likely credential matters most: the user must examine the marked part of
        // the text.
        store.gate(memory, &redactor);
        if settings.review || !has_no_names || memory.source.is_of_rules() {
            memory.hold(HeldFor::Review);
        }
    }
    same_texts::take_ids(&store, &mut memories)?;
    // All memories are written to the main tree, because git refuses to remove a linked worktree that contains our
    // files.
    let desired = |memory: Memory| Desired { root: main.root.clone(), memory };
    let desired = memories.into_iter().map(desired).collect();
    warnings.extend(names.warning());
    // Git's state is read before the scan, so that changes by git during the scan are detected.
    let mut states = git_states(context, &mut warnings)?;
    if let (Some(_), Some(state)) = (&store.root, states.first()) {
        left_out::copy(&store, state, &mut warnings)?;
    }
    let removed = claude_files::look(options.dirs, &context.trees, options.now)?;
    for state in &mut states {
        // A private project has one store, which does not belong to a tree.
        let names = removed.get(&state.root).or_else(|| removed.get(Path::new("")));
        state.removed_by_tools = names.cloned().unwrap_or_default();
    }
    trust::look(options.dirs, &context.trees, settings, options.now)?;
    let lost = RefCell::default();
    let source_state =
        |memory: &Memory| match lost::source_state(context, state, (memory, mined), &lost) {
            SourceState::Read if is_wish_of_another_reader(memory, settings) => SourceState::Lost,
            // One that a person accepted stays when there are more memories.
            SourceState::Read
                if memory.kind == Kind::Synthesis && memory.status == Status::Active =>
            {
                SourceState::Lost
            }
            state => state,
        };
    let files = reconcile::reconcile(
        &store,
        &redactor,
        desired,
        &states,
        options.now,
        &source_state,
        options.replacing,
    )?;
    postponed_changes::note(&context.home, &files.postponed)?;
    warnings.extend(lost::mark_lost(context, lost.into_inner())?);
    let trees = if files.unsettled { String::new() } else { of_trees(context) };
    warnings.extend(files.refused.iter().cloned());
    if files.returned > 0 {
        warnings.push(format!(
            "untracked memory files were gone, as after `git clean`, and were written again: {}; to drop one, delete it \
             once more or use `throughline forget`",
            files.returned
        ));
    }
    if files.put_aside > 0 {
        let site = Site::project(options.dirs, context.home.clone(), Vec::new());
        migrate::note_step(&site, PUT_ASIDE_STEP, files.put_aside, options.now)?;
        warnings.push(format!(
            "memories that rules of an earlier version wrote and nobody edited were archived: {}; `throughline list \
             --forgotten` lists them, `throughline restore ID` restores one",
            files.put_aside
        ));
    }
    let around = Around { trees: Some(trees), names_wait: names.waiting > 0, stays: false };
    Ok(Reconciled { files, around, warnings })
}

/// Returns whether a memory is a wish of the user that another reader found, or that the current reader may not find
/// because of the settings. The current reader then does not decide whether the wish is still valid.
fn is_wish_of_another_reader(memory: &Memory, settings: &Settings) -> bool {
    let is_wish = memory.kind.is_wish() && memory.source.said_by == Some(SaidBy::User);
    let is_kept_kind = settings.kinds.is_empty() || settings.kinds.contains(&memory.kind);
    is_wish && !(is_kept_kind && is_current_reader(memory, settings))
}

fn git_states(context: &SyncContext<'_>, warnings: &mut Vec<String>) -> Result<Vec<GitState>> {
    let ledger = Ledger::open(&context.home)?;
    // A crash can leave one torn line, which is not reported.
    if ledger.damaged > 1 {
        let (path, count) = (context.home.ledger.clone(), ledger.damaged);
        warnings.push(format!(
            "{}: {count} lines are damaged; what they said is lost, such as that a memory was deleted",
            path.display()
        ));
    }
    let heads: BTreeMap<PathBuf, String> = ledger.heads().into_iter().collect();
    let state_of = |tree: &Tree| {
        let head = heads.get(&tree.root).map(String::as_str);
        let state = git::state(&tree.root, head);
        // Branch names are only compared with each other, so secrets in them are replaced by hashes in the ledger.
        let clean = |branch: String| context.secrets.comparable(&branch, &context.redactor);
        let branch = state.branch.map(clean).transpose()?;
        let last = fs::metadata(&context.home.ledger).and_then(|ledger| ledger.modified()).ok();
        let has_untracked = last
            .filter(|_| ledger.misses_loose(&tree.root))
            .and_then(|last| git::has_untracked_since(&tree.root, last));
        Ok(GitState { branch, has_untracked, ..state })
    };
    context.trees.iter().map(state_of).collect()
}
