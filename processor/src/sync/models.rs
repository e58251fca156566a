//! Models of a sync. Each model is opened when it is first needed.

use std::path::PathBuf;

use memory_store::index::build::Vectors;

use super::context::SyncContext;
use crate::llm::{self, LanguageModel, Surroundings};
use crate::publish::embed::Embedding;

/// Models of one sync.
#[derive(Default)]
pub(super) struct Models {
    /// The models that embed texts; the outer `None` means that they were not opened yet.
    embedding: Option<Option<Embedding>>,
    /// The language model in the settings; the outer `None` means that it was not opened yet.
    language: Option<Option<LanguageModel>>,
}

impl Models {
    /// Opens the embedder if it was not opened before. A problem is added to the warnings.
    pub fn open_embedding(&mut self, context: &SyncContext<'_>, warnings: &mut Vec<String>) {
        if self.embedding.is_none() {
            let opened = Embedding::open(context.dirs(), &context.home);
            let opened = opened.unwrap_or_else(|error| {
                warnings.push(format!("recall goes by words alone: {error:#}"));
                None
            });
            self.embedding = Some(opened);
        }
    }

    /// Returns the embedder as a source of vectors for indexes; `None` if it is not open.
    pub fn vectors(&self) -> Option<&dyn Vectors> {
        let embedding = self.embedding.as_ref().and_then(Option::as_ref);
        embedding.map(|embedding| embedding as &dyn Vectors)
    }

    /// Returns the embedder; `None` if it is not open.
    pub fn embedding(&mut self) -> Option<&mut Embedding> {
        self.embedding.as_mut().and_then(Option::as_mut)
    }

    /// Returns the language model in the settings; `None` if there is none or it cannot be used. Then only rules are
    /// applied.
    pub fn language(
        &mut self,
        context: &SyncContext<'_>,
        warnings: &mut Vec<String>,
    ) -> Option<&mut LanguageModel> {
        self.language.get_or_insert_with(|| open_language(context, warnings)).as_mut()
    }
}

fn open_language(context: &SyncContext<'_>, warnings: &mut Vec<String>) -> Option<LanguageModel> {
    let roots: Vec<PathBuf> = context.trees.iter().map(|tree| tree.root.clone()).collect();
    let surroundings = Surroundings {
        ollama_host: context.options.ollama_host,
        cache_dir: &context.home.llm,
        ledger: Some(llm::usage::ledger(context.dirs())),
        roots: &roots,
        now: context.options.now,
    };
    match LanguageModel::open(&context.settings, &surroundings) {
        Ok(mut model) => {
            if let (Some(model), Some(machine)) = (&mut model, context.options.machine) {
                model.pause_for(machine, context.pause());
            }
            model
        }
        Err(reason) => {
            warnings.push(format!("{reason}. The rules do it alone."));
            None
        }
    }
}
