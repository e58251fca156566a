//! Backups: the bytes that files had before a run of migrations changed them.
//!
//! A backup is a folder in `backups` in the store's private folder. It contains a manifest and a copy of each file.
//! Until the run is finished, the folder has a fixed name, by which the next run finds it. Files are restored one by
//! one, and only if they still have bytes that the run wrote, so a file that a person changed since is not restored.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Stop};
use super::plan::{FileChange, put};
use super::site::Site;
use crate::error::{At, Error, Result};
use crate::format_version;
use crate::fs::disk::{self, Privacy, read_if_there, refused};
use crate::layout::ProjectDir;
use crate::redact::Redactor;
use crate::time::{DAY_MS, Timestamp};

/// Folder of backups in a private folder.
const DIR: &str = "backups";

/// File in a backup that lists the backup's other files.
const MANIFEST: &str = "manifest.json";

/// Prefix of the name of a backup whose run is not finished.
const UNFINISHED: &str = "unfinished-";

/// Maximum size of a manifest in bytes.
const MANIFEST_BYTES_MAX: usize = 64 << 20;

/// Maximum total size in bytes of the copies of one run. A step that would exceed this size fails before it changes a
/// file.
const COPIES_BYTES_MAX: u64 = 256 << 20;

/// Maximum number of backups in one private folder. Older backups are removed.
const BACKUPS_MAX: usize = 5;

/// Number of days for which a backup is kept.
const BACKUP_DAYS: i64 = 90;

/// A backup in the private folder of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBackup {
    /// Name of the backup, by which a person restores it.
    pub name: String,
    /// Path of the backup.
    pub path: PathBuf,
    /// The folder of the store.
    pub folder: PathBuf,
    /// Time at which the run began.
    pub at: Timestamp,
    /// Format of the store before the run.
    pub from: u32,
    /// Format of the store after the run.
    pub to: u32,
    /// Number of files that the run changed.
    pub files: usize,
    /// True if the run was killed and has not been continued yet.
    pub is_unfinished: bool,
}

/// Result of restoring a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredFiles {
    /// Number of files that have their former bytes again.
    pub files: usize,
    /// Files that were not restored, because a person changed them since.
    pub left: Vec<PathBuf>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct BackupManifest {
    /// Name that the backup gets when its run is finished.
    name: String,
    folder: PathBuf,
    at: Timestamp,
    from: u32,
    to: u32,
    entries: Vec<CopiedFile>,
}

/// A file that a run changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CopiedFile {
    path: PathBuf,
    /// Name of the copy; `None` if the file did not exist.
    before: Option<String>,
    /// Hash of the bytes before the run.
    before_hash: Option<String>,
    /// Hashes of the bytes that the run writes, step by step; `None` if it removes the file.
    written: Vec<Option<String>>,
}

impl CopiedFile {
    /// Returns whether one of the run's steps writes bytes with this hash.
    fn is_of_run(&self, hash: &Option<String>) -> bool {
        self.written.contains(hash)
    }
}

/// The backup of a run.
pub(super) struct Backup {
    path: PathBuf,
    manifest: BackupManifest,
    bytes: u64,
}

impl Backup {
    /// Returns the backup of a killed run of this store, if there is one.
    ///
    /// # Errors
    /// If the manifest cannot be read.
    pub(super) fn unfinished(site: &Site) -> Result<Option<Self>> {
        let path = unfinished_path(site);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let Some(manifest) = read_manifest(&path)? else {
            // The run was killed while it made the first copies, so no file was changed yet.
            fs::remove_dir_all(&path).at(&path)?;
            return Ok(None);
        };
        Ok(Some(Self { bytes: bytes_in(&path), path, manifest }))
    }

    /// Chooses a name for the backup of a new run, without writing anything.
    pub(super) fn begin(site: &Site, from: u32, now: Timestamp) -> Self {
        let time: String = now.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
        let base = format!("{time}-{}-from-{from}", site.key().replace(' ', "-"));
        let folder = site.home.folder.join(DIR);
        let names = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
        let mut free = names.filter(|name| fs::symlink_metadata(folder.join(name)).is_err());
        let name = free.next().unwrap_or(base);
        let manifest = BackupManifest {
            name,
            folder: site.folder(),
            at: now,
            from,
            to: from,
            entries: Vec::new(),
        };
        Self { path: unfinished_path(site), manifest, bytes: 0 }
    }

    /// Returns the name of the backup after its run is finished.
    pub(super) fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the path of the backup after its run is finished.
    pub(super) fn final_path(&self) -> PathBuf {
        self.path.with_file_name(self.name())
    }

    /// Returns the format of the store before the run.
    pub(super) fn from(&self) -> u32 {
        self.manifest.from
    }

    /// Returns the format of the store after the run.
    pub(super) fn to(&self) -> u32 {
        self.manifest.to
    }

    /// Returns the number of files that the run changes.
    pub(super) fn files(&self) -> usize {
        self.manifest.entries.len()
    }

    /// Copies the present bytes of the files that a step will change. If an earlier step of the run changed a file, the
    /// earlier copy is kept. The caller must not change the files before this function returns.
    pub(super) fn add(
        &mut self,
        changes: &[FileChange],
        to: u32,
        budget: &mut Budget,
    ) -> Result<(), Stop> {
        self.manifest.to = to;
        for change in changes {
            let (before_hash, after_hash) = (hashed(&change.before), hashed(&change.after));
            let known = self.manifest.entries.iter().position(|entry| entry.path == change.path);
            // Bytes that the run itself wrote, in an earlier step or before it was killed, are not copied, because
            // restoring them would not restore the state before the run.
            let is_kept = known.is_some_and(|known| {
                let entry = &self.manifest.entries[known];
                before_hash == entry.before_hash || entry.is_of_run(&before_hash)
            });
            match known {
                Some(known) if is_kept => self.manifest.entries[known].written.push(after_hash),
                Some(_) | None => {
                    let before = self.copy(change.before.as_deref(), budget)?;
                    let path = change.path.clone();
                    self.manifest.entries.retain(|entry| entry.path != path);
                    let written = vec![after_hash];
                    self.manifest.entries.push(CopiedFile { path, before, before_hash, written });
                }
            }
        }
        budget.spend()?;
        self.write_manifest()?;
        Ok(())
    }

    /// Copies the bytes of a file and returns the name of the copy; `None` if there is no file.
    fn copy(&mut self, bytes: Option<&[u8]>, budget: &mut Budget) -> Result<Option<String>, Stop> {
        let Some(bytes) = bytes else { return Ok(None) };
        self.bytes += bytes.len() as u64;
        self.refuse_too_much()?;
        let names = (0..).map(|number: usize| number.to_string());
        let is_free = |name: &String| fs::symlink_metadata(self.path.join(name)).is_err();
        let Some(name) = names.into_iter().find(is_free) else { return Ok(None) };
        budget.spend()?;
        disk::replace(&self.path.join(&name), bytes, Privacy::Private)?;
        Ok(Some(name))
    }

    fn refuse_too_much(&self) -> Result<()> {
        if self.bytes <= COPIES_BYTES_MAX {
            return Ok(());
        }
        let message = format!(
            "the copies of what a migration changes would have more than {} MiB",
            COPIES_BYTES_MAX >> 20
        );
        Err(refused(&self.path, &message, "Report this, please; nothing was changed."))
    }

    fn write_manifest(&self) -> Result<()> {
        let path = self.path.join(MANIFEST);
        let bytes = serde_json::to_vec_pretty(&self.manifest)
            .map_err(|error| Error::Io { path: path.clone(), source: error.into() })?;
        disk::replace(&path, &bytes, Privacy::Private)
    }

    /// Restores the files that the run changed, beginning with the last change. An error for one file does not prevent
    /// the restoration of the other files.
    ///
    /// `is_ours` returns whether the program wrote these bytes after the run, without a person's decision.
    pub(super) fn put_back(
        &self,
        site: &Site,
        is_ours: &dyn Fn(&[u8]) -> bool,
        budget: &mut Budget,
    ) -> Result<RestoredFiles, Stop> {
        let (mut done, mut failure) = (RestoredFiles::default(), None);
        let mark = format_version::path(&site.folder());
        for entry in self.manifest.entries.iter().rev() {
            // A path that cannot be read as a file does not contain bytes that the run wrote.
            let Ok(now) = site.read(&entry.path) else {
                done.left.push(entry.path.clone());
                continue;
            };
            let hash = hashed(&now);
            if hash == entry.before_hash {
                continue;
            }
            if !entry.is_of_run(&hash) && !now.as_deref().is_some_and(is_ours) {
                done.left.push(entry.path.clone());
                continue;
            }
            budget.spend()?;
            match self.put_back_one(site, entry) {
                // The version file is not one of the person's files, so it is not counted.
                Ok(()) => done.files += usize::from(entry.path != mark),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(done), |error| Err(Stop::Failed(error)))
    }

    fn put_back_one(&self, site: &Site, entry: &CopiedFile) -> Result<()> {
        let copy = entry.before.as_ref().map(|name| self.path.join(name));
        let read = |copy: PathBuf| disk::read(&copy, COPIES_BYTES_MAX as usize);
        let before = copy.map(read).transpose()?.map(|(bytes, _)| bytes);
        put(site, &entry.path, before.as_deref())
    }

    /// Renames the backup of a finished run to its final name.
    pub(super) fn close(self) -> Result<()> {
        let path = self.final_path();
        fs::rename(&self.path, &path).at(&path)
    }

    /// Removes the backup of a run that changed nothing.
    pub(super) fn discard(self) -> Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(&self.path),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Finds a backup by its name.
///
/// # Errors
/// [`Error::Refused`] if no backup has this name, or the run is not finished.
pub(super) fn find(site: &Site, name: &str) -> Result<Backup> {
    let kept = list(&site.home).into_iter().find(|kept| kept.name == name && !kept.is_unfinished);
    let found = kept.map(|kept| read_manifest(&kept.path).map(|manifest| (kept.path, manifest)));
    match found.transpose()? {
        Some((path, Some(manifest))) if manifest.folder == site.folder() => {
            Ok(Backup { path, manifest, bytes: 0 })
        }
        _ => Err(refused(
            &site.home.folder.join(DIR).join(name),
            "there is no finished backup of this name",
            "`throughline doctor --migrations` lists them.",
        )),
    }
}

/// Returns whether a run of a store was killed and has not been continued yet.
pub(super) fn is_unfinished(site: &Site) -> bool {
    fs::symlink_metadata(unfinished_path(site)).is_ok()
}

/// Lists the backups of a private folder, oldest first.
pub(super) fn list(home: &ProjectDir) -> Vec<KeptBackup> {
    let folder = home.folder.join(DIR);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut kept: Vec<KeptBackup> = entries
        .filter_map(|entry| {
            let (path, name) = (entry.path(), entry.file_name().to_str()?.to_owned());
            let manifest = read_manifest(&path).ok()??;
            Some(KeptBackup {
                is_unfinished: name.starts_with(UNFINISHED),
                path,
                name: manifest.name,
                folder: manifest.folder,
                at: manifest.at,
                from: manifest.from,
                to: manifest.to,
                files: manifest.entries.len(),
            })
        })
        .collect();
    kept.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
    kept
}

/// Removes backups in a private folder that are older than `BACKUP_DAYS` or not among the newest `BACKUPS_MAX`. Backups
/// of unfinished runs are kept.
///
/// # Errors
/// If a backup cannot be removed.
pub fn prune(home: &ProjectDir, now: Timestamp) -> Result<()> {
    let folder = home.folder.join(DIR);
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    // The names of backups begin with the time, so no manifest must be read.
    let names = entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned));
    let mut names: Vec<String> = names.filter(|name| time_of(name).is_some()).collect();
    names.sort_unstable();
    let beyond = names.len().saturating_sub(BACKUPS_MAX);
    let oldest = now.0 - BACKUP_DAYS * DAY_MS;
    for (number, name) in names.iter().enumerate() {
        if number < beyond || time_of(name).is_some_and(|at| at.0 < oldest) {
            let path = folder.join(name);
            fs::remove_dir_all(&path).at(&path)?;
        }
    }
    Ok(())
}

/// Returns the day on which the run of a finished backup began, from its name.
fn time_of(name: &str) -> Option<Timestamp> {
    let digits = name.get(..8).filter(|start| start.bytes().all(|byte| byte.is_ascii_digit()))?;
    Timestamp::parse(&format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..]))
}

/// Removes all backups in a private folder, so that no copy of permanently deleted content remains.
///
/// # Errors
/// If the backups cannot be removed.
pub fn remove_backups(home: &ProjectDir) -> Result<()> {
    let folder = home.folder.join(DIR);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(&folder),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Redacts secrets in the copies of a private folder's backups. A backup whose manifest contains a secret is removed.
/// Returns the number of copies and backups that contained secrets.
///
/// # Errors
/// If a copy cannot be read or written.
pub(crate) fn redact_all(home: &ProjectDir, redactor: &Redactor) -> Result<usize> {
    let mut changed = 0;
    for kept in list(home) {
        if read_text(&kept.path.join(MANIFEST))?.is_some_and(|text| redactor.redact(&text) != text)
        {
            fs::remove_dir_all(&kept.path).at(&kept.path)?;
            changed += 1;
            continue;
        }
        for entry in fs::read_dir(&kept.path).at(&kept.path)?.flatten() {
            let path = entry.path();
            let Some(text) = read_text(&path)?.filter(|_| entry.file_name() != MANIFEST) else {
                continue;
            };
            let clean = redactor.redact(&text);
            if clean != text {
                disk::replace(&path, clean.as_bytes(), Privacy::Private)?;
                changed += 1;
            }
        }
    }
    Ok(changed)
}

/// Returns the text of a file in a backup; `None` if the file is missing or not UTF-8.
fn read_text(path: &Path) -> Result<Option<String>> {
    let bytes = read_if_there(path, COPIES_BYTES_MAX as usize)?;
    Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
}

fn unfinished_path(site: &Site) -> PathBuf {
    let name = format!("{UNFINISHED}{}", site.key().replace(' ', "-"));
    site.home.folder.join(DIR).join(name)
}

fn read_manifest(folder: &Path) -> Result<Option<BackupManifest>> {
    let path = folder.join(MANIFEST);
    let Some(bytes) = read_if_there(&path, MANIFEST_BYTES_MAX)? else { return Ok(None) };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::Refused {
        path,
        message: format!("the manifest of a backup cannot be read: {error}"),
        remedy: "Move its folder away, after looking at the copies in it.",
    })
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
}

/// Returns the hash of a file's bytes; `None` if the file does not exist.
fn hashed(bytes: &Option<Vec<u8>>) -> Option<String> {
    bytes.as_deref().map(|bytes| blake3::hash(bytes).to_hex().to_string())
}
