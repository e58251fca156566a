//! A transformer shared by several threads. It is opened for the first query, and again after it was released.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Transformer;
use super::model::EmbedderModel;
use memory_store_base::error::Result;

/// The transformer of a long-running process.
#[derive(Debug, Default)]
pub struct SharedTransformer(Mutex<Option<(PathBuf, Arc<Transformer>)>>);

impl SharedTransformer {
    /// Returns the transformer of the model in `dir`. Callers wait while it is being opened. If the model was replaced,
    /// it is opened again.
    ///
    /// # Errors
    /// Those of [`Transformer::open`].
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

    /// Releases the transformer and returns whether it was open. Current users keep their reference.
    pub fn release(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }
}
