//! Auditing: looks for secrets in all that is stored about a project, and in the git history of its
//! memory folder. What is found is told by file, line and rule, never by its text. Files can be
//! cleaned; history is never rewritten here, only said how.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use memory_store::layout::Tree;
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings::Settings;
use memory_store::settings_file;
use memory_store::store::Store;
use serde::Serialize;
use walkdir::WalkDir;

use crate::archive::Archive;
use crate::git;
use crate::lock::Lock;
use crate::state::write_whole;
use crate::sync::{SyncOptions, sync_locked};
use crate::transcript::record::Record;
use crate::trees;

/// Bytes of one file that are read, unpacked.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Bytes of one line that are looked at together.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Places that are told.
const FOUND_MAX: usize = 1_000;

/// A secret in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Found {
    /// The file; in history, relative to the working tree.
    pub path: PathBuf,
    /// The commit that brought it, when it is in history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Counted from 1; 0 in history.
    pub line: usize,
    /// The rule that found it.
    pub rule: &'static str,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AuditReport {
    /// Files that were looked through.
    pub files: usize,
    /// Commits that were looked through.
    pub commits: usize,
    /// Secrets in files, after cleaning when that was asked for.
    pub found: Vec<Found>,
    /// Secrets in the history of the memory folder.
    pub history: Vec<Found>,
    /// Files that were cleaned.
    pub cleaned: usize,
}

/// Looks through everything; with `fix` cleans files first. `None` when a sync is at work.
pub fn audit(options: &SyncOptions<'_>, fix: bool) -> Result<Option<AuditReport>> {
    let home = options.dirs.project(options.tree.project);
    let (settings, _) = settings_file::load(options.dirs, Some(options.tree));
    let private = Redactor::new(&RedactOptions::for_store(&settings, false));
    let mut audit = Audit { private: &private, report: AuditReport::default() };
    if fix {
        let Some(lock) = Lock::take(&home.sync_lock(), options.busy)? else { return Ok(None) };
        audit.clean(options, &settings)?;
        // What was made of the cleaned files is made again of them.
        let afresh = SyncOptions { afresh: true, from: None, ..*options };
        sync_locked(&afresh, &lock)?;
    }
    audit.scan(options, &settings)?;
    Ok(Some(audit.report))
}

struct Audit<'a> {
    private: &'a Redactor,
    report: AuditReport,
}

/// Notes the secrets of a text that stands at a place.
fn note(
    found: &mut Vec<Found>,
    redactor: &Redactor,
    text: &str,
    at: impl Fn(&'static str) -> Found,
) {
    let room = FOUND_MAX.saturating_sub(found.len());
    found.extend(redactor.findings(text).iter().take(room).map(|finding| at(finding.rule)));
}

impl Audit<'_> {
    fn scan(&mut self, options: &SyncOptions<'_>, settings: &Settings) -> Result<()> {
        let home = options.dirs.project(options.tree.project);
        self.folder(&home.0, self.private)?;
        self.folder(&options.dirs.user_dir().0, self.private)?;
        self.folder(&options.dirs.user_state().0, self.private)?;
        for tree in trees::present(options.dirs, options.tree) {
            self.folder(&options.dirs.tree(&tree.root).0, self.private)?;
            let store = Store::open(options.dirs, &tree)?;
            if store.root().is_some() {
                let committed = Redactor::new(&RedactOptions::for_store(settings, true));
                self.folder(&tree.store(), &committed)?;
                self.history(&tree, &committed)?;
            }
        }
        self.report.found.sort();
        self.report.found.dedup();
        self.report.history.sort();
        self.report.history.dedup();
        Ok(())
    }

    fn folder(&mut self, folder: &Path, redactor: &Redactor) -> Result<()> {
        for entry in WalkDir::new(folder)
            .follow_root_links(false)
            .into_iter()
            .filter_map(std::result::Result::ok)
        {
            if !entry.file_type().is_file() || is_numbers(entry.path()) {
                continue;
            }
            self.file(entry.path(), redactor)
                .with_context(|| entry.path().display().to_string())?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, redactor: &Redactor) -> Result<()> {
        self.report.files += 1;
        let file = File::open(path)?;
        let is_packed = path.extension().is_some_and(|extension| extension == "gz");
        let reader: Box<dyn Read> =
            if is_packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
        let mut reader = BufReader::new(reader.take(FILE_BYTES_MAX));
        let mut line = Vec::new();
        let mut number = 0;
        // A damaged archive is the business of `doctor`.
        while let Ok(1..) = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            number += 1;
            let at = |rule| Found { path: path.to_owned(), commit: None, line: number, rule };
            note(&mut self.report.found, redactor, &String::from_utf8_lossy(&line), at);
            line.clear();
        }
        Ok(())
    }

    /// What commits added to the memory folder, on all branches.
    fn history(&mut self, tree: &Tree, redactor: &Redactor) -> Result<()> {
        let Some(mut child) = git::added(&tree.root, &tree.store()) else { return Ok(()) };
        let Some(output) = child.stdout.take() else { return Ok(()) };
        let (mut commit, mut path) = (String::new(), PathBuf::new());
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while let Ok(1..) = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            if let Some(hash) = text.strip_prefix("commit ") {
                commit = hash.to_owned();
                self.report.commits += 1;
            } else if let Some(name) = text.strip_prefix("+++ b/") {
                path = PathBuf::from(name);
            } else if let Some(added) = text.strip_prefix('+') {
                let commit = || Some(commit.clone());
                let at = |rule| Found { path: path.clone(), commit: commit(), line: 0, rule };
                note(&mut self.report.history, redactor, added, at);
            }
            line.clear();
        }
        child.wait().context("git log")?;
        Ok(())
    }

    fn clean(&mut self, options: &SyncOptions<'_>, settings: &Settings) -> Result<()> {
        let mut stores = vec![Store::user(options.dirs)?];
        for tree in trees::present(options.dirs, options.tree) {
            stores.push(Store::open(options.dirs, &tree)?);
            self.clean_state(&options.dirs.tree(&tree.root).0)?;
        }
        self.clean_state(&options.dirs.user_state().0)?;
        for store in &stores {
            self.clean_store(store, settings)?;
        }
        self.clean_archive(&Archive::open(&options.dirs.project(options.tree.project)))
    }

    /// Memories change as by `throughline edit`, so that the ledger knows of it.
    fn clean_store(&mut self, store: &Store, settings: &Settings) -> Result<()> {
        let options_of = RedactOptions::for_store(settings, store.root().is_some());
        let redactor = Redactor::new(&options_of);
        for stored in store.list()?.memories.into_iter().chain(store.drafts()?.memories) {
            let mut memory = stored.memory.clone();
            if redactor.redact_memory(&mut memory) > 0 {
                let id = stored.memory.id.to_string();
                store.edit(&id, |stored| *stored = memory)?;
                self.report.cleaned += 1;
            }
        }
        Ok(())
    }

    fn clean_archive(&mut self, archive: &Archive) -> Result<()> {
        for entry in archive.entries()? {
            let Some(mut file) = archive.load(&entry.name)? else { continue };
            let mut changed = false;
            for record in &mut file.records {
                let mut value = serde_json::to_value(&*record)?;
                if self.clean_value(&mut value)
                    && let Ok(clean) = serde_json::from_value::<Record>(value)
                {
                    *record = clean;
                    changed = true;
                }
            }
            if changed {
                archive.store(&file)?;
                self.report.cleaned += 1;
            }
        }
        Ok(())
    }

    /// Cleans the texts of a value; whether there was something.
    fn clean_value(&self, value: &mut serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => {
                let clean = self.private.redact(text).into_owned();
                let changed = clean != *text;
                *text = clean;
                changed
            }
            serde_json::Value::Array(values) => {
                values.iter_mut().fold(false, |changed, value| self.clean_value(value) | changed)
            }
            serde_json::Value::Object(fields) => fields
                .iter_mut()
                .fold(false, |changed, (_, value)| self.clean_value(value) | changed),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
                false
            }
        }
    }

    /// Cleans receipts and logs: lines of JSON by their texts, others as text.
    fn clean_state(&mut self, folder: &Path) -> Result<()> {
        for entry in WalkDir::new(folder)
            .follow_root_links(false)
            .into_iter()
            .filter_map(std::result::Result::ok)
        {
            let path = entry.path();
            let is_lines =
                path.extension().is_some_and(|end| end == "jsonl" || end == "log" || end == "json");
            if !entry.file_type().is_file() || !is_lines {
                continue;
            }
            let text = String::from_utf8_lossy(
                &fs::read(path).with_context(|| path.display().to_string())?,
            )
            .into_owned();
            let lines: Vec<String> = text.lines().map(|line| self.clean_line(line)).collect();
            let clean = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            if clean.trim_end() != text.trim_end() {
                write_whole(path, clean.as_bytes())?;
                self.report.cleaned += 1;
            }
        }
        Ok(())
    }

    fn clean_line(&self, line: &str) -> String {
        let Ok(mut value) = serde_json::from_str::<serde_json::Value>(line) else {
            return self.private.redact(line).into_owned();
        };
        if self.clean_value(&mut value) { value.to_string() } else { line.to_owned() }
    }
}

/// Whether a file holds numbers only, in which any pattern may occur by chance.
fn is_numbers(path: &Path) -> bool {
    path.iter().any(|part| part == "vectors")
}
