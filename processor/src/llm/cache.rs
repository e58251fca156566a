//! Answers that were given before: a window is asked about once for each model and question.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::answer::ANSWER_BYTES_MAX;
use super::ask::VERSION;

/// A folder of answers, one file each, named by what was asked.
#[derive(Debug)]
pub struct Cache(PathBuf);

impl Cache {
    /// The cache in this folder, which is made when the first answer is kept.
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The answer of this model to this window, if it was asked before.
    pub fn get(&self, model: &str, window: &str) -> Option<String> {
        let path = self.path(model, window);
        let bytes = std::fs::metadata(&path).ok()?.len();
        if bytes > ANSWER_BYTES_MAX as u64 {
            return None;
        }
        std::fs::read_to_string(path).ok()
    }

    /// Keeps an answer.
    pub fn put(&self, model: &str, window: &str, answer: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(&self.0)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        file.write_all(answer.as_bytes())?;
        file.persist(self.path(model, window)).map_err(|error| error.error)?;
        Ok(())
    }

    /// What a question is called here.
    pub fn id(model: &str, window: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        hasher.update(&(model.len() as u64).to_le_bytes());
        hasher.update(model.as_bytes());
        hasher.update(window.as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }

    fn path(&self, model: &str, window: &str) -> PathBuf {
        self.0.join(format!("{}.json", Self::id(model, window)))
    }
}
