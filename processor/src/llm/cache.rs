//! Cached answers. Each window is sent only once for each model and question.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::answer::ANSWER_BYTES_MAX;
use super::ask::VERSION;
use crate::private_files::create_private;

/// Extension of the file with the hash of the session's end that was sent with a window.
const END: &str = "end";

/// A folder with one file for each answer, named by a hash of the question.
#[derive(Debug)]
pub struct AnswerCache(PathBuf);

impl AnswerCache {
    /// Opens the cache in this folder. The first answer creates the folder.
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Returns the cached answer of this model to this window.
    pub fn get(&self, model: &str, window: &str) -> Option<String> {
        read(&self.path(model, window))
    }

    /// Returns the recorded hash of the session's end that this model received with this window.
    pub fn end(&self, model: &str, window: &str) -> Option<String> {
        read(&self.path(model, window).with_extension(END))
    }

    /// Stores the hash of the session's end that this model received with this window.
    pub fn put_end(&self, model: &str, window: &str, end: &str) -> std::io::Result<()> {
        self.write(&self.path(model, window).with_extension(END), end)
    }

    /// Stores an answer.
    pub fn put(&self, model: &str, window: &str, answer: &str) -> std::io::Result<()> {
        self.write(&self.path(model, window), answer)
    }

    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        create_private(&self.0).map_err(std::io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Returns the file name of a question, derived from model and text.
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

fn read(path: &Path) -> Option<String> {
    let bytes = std::fs::metadata(path).ok()?.len();
    if bytes > ANSWER_BYTES_MAX as u64 {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
