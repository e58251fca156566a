//! Texts for measurements: lines of this project's own sources and documents, combined differently for each text.

use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::index::document::Passage;

/// Lines from which texts are made.
pub struct Corpus(Vec<String>);

impl Corpus {
    /// Reads the lines that contain some words.
    pub fn read() -> Result<Self> {
        let is_ours = |entry: &walkdir::DirEntry| {
            let name = entry.file_name().to_string_lossy();
            !(name.starts_with('.') && entry.depth() > 0) && name != "target"
        };
        let mut lines = Vec::new();
        for entry in
            walkdir::WalkDir::new(root()).sort_by_file_name().into_iter().filter_entry(is_ours)
        {
            let entry = entry?;
            let ending = entry.path().extension().unwrap_or_default();
            if ending == "rs" || ending == "md" {
                let text = std::fs::read_to_string(entry.path())?;
                let words = |line: &&str| line.split_whitespace().count() > 3;
                lines.extend(text.lines().filter(words).map(|line| line.trim().to_owned()));
            }
        }
        Ok(Self(lines))
    }

    /// Returns the passage with this number. A session contains `session` consecutive passages, and each passage has
    /// `lines` lines.
    pub fn passage(&self, number: u32, session: u32, lines: usize) -> Passage {
        Passage {
            session: format!("session {}", number / session),
            turn: number % session,
            at: Timestamp(i64::from(number) * 60_000),
            text: self.text(u64::from(number), lines),
            ..Passage::default()
        }
    }

    /// Returns some lines. The same seed always results in the same lines.
    pub fn text(&self, seed: u64, lines: usize) -> String {
        let mut state = seed;
        let line = |_| {
            // The splitmix64 generator.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            self.0[((mixed ^ mixed >> 31) % self.0.len() as u64) as usize].as_str()
        };
        (0..lines).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
