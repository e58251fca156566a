//! Cleaning: removes secrets from stored data in place. Derived data is rebuilt by the next sync.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memory_store::layout::{Tree, TreeDir, UserDirs};
use memory_store::redact::Redactor;
use memory_store::settings::Settings;
use memory_store::store::Store;

use super::clean_texts;
use super::files;
use super::mask::mask;
use super::search::{AuditReport, SecretSearch, holds};
use crate::collect::archive::Archive;
use crate::collect::expired::Expired;
use crate::collect::trees;
use crate::project_texts::Committed;
use crate::state::State;

/// Removes known secrets from all stored data except a person's files, and from the archived records of these sessions.
/// Nothing else is removed. The caller must hold the project's lock and must have recorded that all turns are indexed
/// again.
pub fn clean_known(
    dirs: &UserDirs,
    tree: &Tree,
    known: &Redactor,
    sessions: &[String],
) -> Result<AuditReport> {
    let mut audit = SecretSearch::new(known);
    audit.clean_all(dirs, tree, Whose::Unowned, |_| known.clone())?;
    let archive = Archive::open(&dirs.project(tree.project));
    audit.clean_archive(&archive, sessions, &roots(dirs, tree));
    Ok(audit.report)
}

/// Memory files from which secrets are removed.
#[derive(Clone, Copy)]
enum Whose {
    /// All files, at a person's request.
    All,
    /// Files that no person owns.
    Unowned,
}

/// Returns the roots of the project's working trees.
fn roots(dirs: &UserDirs, tree: &Tree) -> Vec<PathBuf> {
    let trees = trees::present(dirs, tree);
    trees.into_iter().map(|tree| tree.root).collect()
}

impl SecretSearch<'_> {
    /// Removes secrets from all stored data. A file that cannot be cleaned is reported, and the other files are still
    /// cleaned. The caller must hold the project's lock.
    pub fn clean(&mut self, dirs: &UserDirs, tree: &Tree, settings: &Settings) -> Result<()> {
        let home = dirs.project(tree.project);
        // An index may contain the bytes of replaced turns until all turns are rewritten.
        let mut state = State::read(&home);
        state.all_turns = true;
        state.write(&home)?;
        self.clean_all(dirs, tree, Whose::All, |store| store.redactor(settings))?;
        let archive = Archive::open(&home);
        let (aside, faults) = archive.take_stale_apart(|_| true);
        // The content of these damaged files cannot be checked.
        self.report.left.extend(aside);
        for (_, fault) in faults {
            self.report.failed.push(format!("{fault:#}"));
        }
        let sessions: Vec<String> =
            archive.entries()?.into_iter().map(|entry| entry.name).collect();
        self.clean_archive(&archive, &sessions, &roots(dirs, tree));
        Ok(())
    }

    fn clean_all(
        &mut self,
        dirs: &UserDirs,
        tree: &Tree,
        whose: Whose,
        redactor: impl Fn(&Store) -> Redactor,
    ) -> Result<()> {
        let home = dirs.project(tree.project);
        let mut stores = vec![Store::user(dirs)?];
        self.clean_state(&dirs.user_state());
        for tree in trees::present(dirs, tree) {
            stores.push(Store::open(dirs, &tree)?);
            self.clean_state(&dirs.tree(&tree.root));
        }
        for store in &stores {
            let redactor = redactor(store);
            let cleaned = match whose {
                Whose::All => store.clean(&redactor, None)?,
                Whose::Unowned => {
                    let committed = store.root.as_deref().map(Committed::of).unwrap_or_default();
                    store.clean(&redactor, Some(&|path| committed.has(path)))?
                }
            };
            self.report.kept.extend(cleaned.kept);
            self.report.cleaned += cleaned.files;
            self.report.committed += if store.root.is_some() { cleaned.memories } else { 0 };
            for error in cleaned.refused {
                self.report.left.extend(error.path().map(PathBuf::from));
                self.report.failed.push(error.to_string());
            }
        }
        self.clean_expired(&Expired::open(&home));
        for file in files::files(&home.llm) {
            self.clean_file(&home.folder, file, drop_answer);
        }
        Ok(())
    }

    fn clean_archive(&mut self, archive: &Archive, sessions: &[String], roots: &[PathBuf]) {
        for name in sessions {
            // For a session in a pack, the pack must be searched again.
            let place = archive.entry(name).map(|entry| entry.path);
            self.clean_file(archive.folder(), place, |_, private| {
                let Some(mut file) = archive.load(name)? else { return Ok(false) };
                let mut changed = clean_texts(private, &mut file.header.growth.tasks, roots)?;
                for record in &mut file.records {
                    changed |= clean_texts(private, record, roots)?;
                }
                if changed {
                    archive.store(&file)?;
                }
                Ok(changed)
            });
        }
    }

    /// Cleans the remains of sessions whose turns were removed.
    fn clean_expired(&mut self, expired: &Expired) {
        for name in expired.names() {
            let Some(mut remains) = expired.load(&name) else {
                // If the remains are damaged, their file is reported if it contains a secret.
                for path in expired.paths(&name) {
                    self.clean_file(expired.folder(), Ok(path), |path, private| {
                        anyhow::ensure!(
                            !holds(path, private)?,
                            "{}: it is damaged",
                            path.display()
                        );
                        Ok(false)
                    });
                }
                continue;
            };
            let path = expired.path(&name, remains.lost);
            self.clean_file(expired.folder(), Ok(path), |_, private| {
                let changed = clean_texts(private, &mut remains.drafts, &[])?;
                if changed {
                    expired.store(&name, &remains)?;
                }
                Ok(changed)
            });
        }
    }

    /// Cleans files to which hooks append, and the last report. A sync rebuilds all other files in the folder.
    fn clean_state(&mut self, state: &TreeDir) {
        let logs = [state.hook_log.clone(), state.log.clone()];
        let old = logs.clone().map(|log| log.with_extension("log.old"));
        let named =
            [state.inbox.clone(), state.report.clone()].into_iter().chain(logs).chain(old).map(Ok);
        let receipts = state.receipts("any").parent().map(PathBuf::from);
        let listed = [receipts, Some(state.sessions.clone()), Some(state.edits.clone())];
        let listed = listed.into_iter().flatten().flat_map(|folder| files::files(&folder));
        for file in named.chain(listed) {
            self.clean_file(&state.folder, file, mask);
        }
    }

    /// Cleans a file of a folder with `clean`, and records the result.
    fn clean_file(
        &mut self,
        folder: &Path,
        file: Result<PathBuf>,
        clean: impl FnOnce(&Path, &Redactor) -> Result<bool>,
    ) {
        let (path, cleaned) = match file {
            Ok(file) => (file.clone(), clean(&file, self.private)),
            Err(error) => (folder.to_owned(), Err(error)),
        };
        match cleaned {
            Ok(cleaned) => self.report.cleaned += usize::from(cleaned),
            Err(error) => {
                self.report.left.insert(path);
                self.report.failed.push(format!("{error:#}"));
            }
        }
    }
}

/// Removes a model's cached answer if it contains a secret. The question was cleaned, so the answer no longer belongs
/// to it.
fn drop_answer(file: &Path, private: &Redactor) -> Result<bool> {
    let found = holds(file, private)?;
    if found {
        fs::remove_file(file).with_context(|| file.display().to_string())?;
    }
    Ok(found)
}
