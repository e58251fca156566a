//! A transformer that several threads ask: opened at the first question, and again after it was let go.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Transformer;
use super::model::EmbedderModel;
use memory_store_base::error::Result;

/// The transformer of a process that answers many questions.
#[derive(Debug, Default)]
pub struct SharedTransformer(Mutex<Option<(PathBuf, Arc<Transformer>)>>);

impl SharedTransformer {
    /// Returns the transformer of the model in `dir`; who asks while it is being opened waits for it. One that was
    /// replaced since is opened anew.
    ///
    /// # Errors
    /// As [`Transformer::open`].
    pub(crate) fn get(&self, dir: &Path) -> Result<Arc<Transformer>> {
        let path = dir.join(EmbedderModel::read(dir)?.transformer);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, transformer)) = &*open
            && *known == path
        {
            return Ok(Arc::clone(transformer));
        }
        let transformer = Arc::new(Transformer::open_file(&path)?);
        *open = Some((path, Arc::clone(&transformer)));
        Ok(transformer)
    }

    /// Lets it go, and returns whether it was open; who still uses it keeps it until then.
    pub fn release(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }
}
