//! Lines that were written into files of packages, so that each can be taken out again exactly.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use memory_store::layout::{ProjectDir, STORE_DIR, Tree, UserDirs};
use memory_store::store::{self, Privacy, put_off};
use serde::{Deserialize, Serialize};

use super::{IgnoreLine, Maker};
use crate::change::TextChange;
use crate::claude::replace::{self, Next, Run, check_inside, remove_folders, replace};
use crate::failure::{At as _, Failure, Result};

/// The record, below the data folder.
const FILE: &str = "ignore-lines.json";

/// A line that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Written {
    /// Root of the project.
    root: PathBuf,
    /// Maker of the package.
    maker: Maker,
    /// The file below the root.
    file: PathBuf,
    /// The line.
    line: String,
    /// Whether the file existed before.
    existed: bool,
    /// Folders that were created for it.
    created: Vec<PathBuf>,
    /// The changed part of the file.
    #[serde(flatten)]
    change: TextChange,
}

/// Writes a line into its file below `root`, and notes that. A file in a memory folder that is not there yet comes with
/// the first memory. Returns the file.
///
/// # Errors
/// When the file leads out of the project, is a symbolic link, cannot be understood, or cannot be written.
pub fn put(dirs: &UserDirs, home: &ProjectDir, root: &Path, line: &IgnoreLine) -> Result<PathBuf> {
    let path = root.join(&line.file);
    check_inside(&path, root)?;
    let folder = root.join(STORE_DIR);
    if let Ok(name) = line.file.strip_prefix(STORE_DIR)
        && !folder.exists()
    {
        let text = line.put_into(&path, "")?;
        put_off::add(home, &name.to_string_lossy(), &text)?;
        note(dirs, root, line, (None, &text), vec![folder])?;
        return Ok(path);
    }
    // The line would stand in another file than the one that is named.
    if fs::symlink_metadata(&path).is_ok_and(|file| file.is_symlink()) {
        return Err(Failure::new(format!("{} is a symbolic link", path.display()))
            .hint("Add the line by hand to the file that it is meant for."));
    }
    let mut before = None;
    let replaced = replace(&path, None, |path, text| {
        before = text.map(str::to_owned);
        Ok(Next::Write(line.put_into(path, text.unwrap_or_default())?))
    })?;
    let Some(replaced) = replaced else { return Ok(path) };
    let after = replaced.after.as_deref().unwrap_or_default();
    note(dirs, root, line, (before.as_deref(), after), replaced.created.clone())?;
    Ok(path)
}

/// Notes a line by the text of its file before and after.
fn note(
    dirs: &UserDirs,
    root: &Path,
    line: &IgnoreLine,
    (before, after): (Option<&str>, &str),
    created: Vec<PathBuf>,
) -> Result {
    let mut record = read(dirs);
    record.push(Written {
        root: root.to_owned(),
        maker: line.maker,
        file: line.file.clone(),
        line: line.line.clone(),
        existed: before.is_some(),
        created,
        change: TextChange::of(before.unwrap_or_default(), after),
    });
    write(dirs, &record)
}

/// Returns whether a line was written below `root` before, so that one which a person deleted is not written again.
pub fn was_written(dirs: &UserDirs, root: &Path, line: &IgnoreLine) -> bool {
    let is_it = |written: &Written| {
        written.root == root
            && written.maker == line.maker
            && written.file == line.file
            && written.line == line.line
    };
    read(dirs).iter().any(is_it)
}

/// Takes all lines out that were noted, the last one first, each with the file and the folders that were made for it.
/// Returns the files that changed, and the failures: a line whose file cannot be read or written stays noted, and keeps
/// no other one.
pub fn take_out(dirs: &UserDirs, run: Run) -> (Vec<PathBuf>, Vec<Failure>) {
    let (mut changed, mut failures) = (BTreeSet::new(), Vec::new());
    let mut rest = read(dirs);
    for at in (0..rest.len()).rev() {
        match rest[at].take_out(dirs, run) {
            Ok(path) => {
                changed.extend(path);
                rest.remove(at);
                if run == Run::Real {
                    failures.extend(write(dirs, &rest).err());
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    (changed.into_iter().collect(), failures)
}

impl Written {
    fn line(&self) -> IgnoreLine {
        IgnoreLine { maker: self.maker, file: self.file.clone(), line: self.line.clone() }
    }

    /// Returns a text of the file without the line.
    fn without(&self, text: &str) -> String {
        let line = self.line();
        match self.maker {
            // In a text that was edited since, the inserted part may be the end of another line.
            Maker::Npm | Maker::Docker if !self.change.is_untouched(text) => line.take_from(text),
            Maker::Npm | Maker::Docker | Maker::Cargo => {
                self.change.undo(text).unwrap_or_else(|| line.take_from(text))
            }
        }
    }

    fn take_out(&self, dirs: &UserDirs, run: Run) -> Result<Option<PathBuf>> {
        let path = self.root.join(&self.file);
        if run == Run::Real
            && let Ok(name) = self.file.strip_prefix(STORE_DIR)
            && let Some(tree) = Tree::find(dirs, &self.root)
        {
            put_off::take_back(&dirs.project(tree.project), &name.to_string_lossy())?;
        }
        // The file lay inside when the line was written; another one may have taken its place.
        if !path.exists() || check_inside(&path, &self.root).is_err() {
            return Ok(None);
        }
        let replaced = replace::change(&path, run, |_, text| {
            let Some(text) = text else { return Ok(Next::Keep) };
            let undone = self.without(text);
            Ok(if undone.is_empty() && !self.existed { Next::Remove } else { Next::Write(undone) })
        })?;
        let Some(replaced) = replaced else { return Ok(None) };
        if replaced.after.is_none() && run == Run::Real {
            remove_folders(&self.created);
        }
        Ok(Some(path))
    }
}

/// Reads the record; of a missing or damaged one nothing is known.
fn read(dirs: &UserDirs) -> Vec<Written> {
    let text = replace::read(&dirs.data.join(FILE)).ok().flatten();
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn write(dirs: &UserDirs, record: &[Written]) -> Result {
    let path = dirs.data.join(FILE);
    if record.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(&path),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    let text = serde_json::to_string_pretty(record)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(store::replace(&path, text.as_bytes(), Privacy::Private)?)
}
