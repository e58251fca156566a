//! Provides the transcripts of one session at a time: the files of each session are copied into a separate folder, as
//! if only this session were new.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use memory_store::error::At as _;
use processor::collect::discover;
use serde::Deserialize;

use crate::gold::Gold;

/// The transcripts of a gold file.
pub struct Stage {
    folder: PathBuf,
    /// The transcripts of each session, with those of its subagents.
    files: BTreeMap<String, Vec<PathBuf>>,
    /// The longest common folder of all working directories in the transcripts.
    pub recorded_root: Option<PathBuf>,
}

/// The field of a record that contains the working directory.
#[derive(Deserialize)]
struct RecordPlace {
    cwd: Option<String>,
}

impl Stage {
    /// Finds the transcripts of all sessions.
    pub fn open(gold: &Gold) -> Result<Self> {
        let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for transcript in discover::transcripts_in(&gold.transcripts)?.transcripts {
            let session = match transcript.name.session.is_empty() {
                true => discover::session_of(&transcript.path),
                false => Some(transcript.name.session),
            };
            files.entry(session.unwrap_or_default()).or_default().push(transcript.path);
        }
        for session in &gold.sessions {
            if !files.contains_key(&session.id) {
                let folder = gold.transcripts.display();
                let id = &session.id;
                bail!("session {id} is not in {folder}: check `transcripts` in the gold file");
            }
        }
        let cwds = gold.sessions.iter().filter_map(|session| files.get(&session.id));
        let mut recorded = BTreeSet::new();
        for file in cwds.flatten() {
            recorded.extend(cwds_of(file)?);
        }
        let root = discover::common_root(recorded.iter().map(String::as_str));
        Ok(Self { folder: gold.transcripts.clone(), files, recorded_root: root.map(PathBuf::from) })
    }

    /// Copies the transcripts of a session into the folder `target`; returns the folder.
    pub fn put(&self, target: &Path, session: &str) -> Result<PathBuf> {
        for file in self.files.get(session).into_iter().flatten() {
            let below = file.strip_prefix(&self.folder).unwrap_or(file);
            let copy = target.join(below);
            let parent = copy.parent().unwrap_or(target);
            fs::create_dir_all(parent).at(parent)?;
            fs::copy(file, &copy).at(file)?;
        }
        Ok(target.to_owned())
    }
}

/// Returns the working directories in a transcript's records.
fn cwds_of(file: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for line in BufReader::new(File::open(file).at(file)?).split(b'\n') {
        // Lines that are not records are skipped here; the processor reports them.
        if let Ok(RecordPlace { cwd: Some(cwd) }) = serde_json::from_slice(&line.at(file)?) {
            found.insert(cwd);
        }
    }
    Ok(found)
}
