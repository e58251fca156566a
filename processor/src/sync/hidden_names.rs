//! The part of a sync that hides names of people in committed files.

use memory_store::Memory;
use memory_store::layout::ProjectDir;
use memory_store::redact::Redactor;
use memory_store::settings::Settings;

use crate::llm::person_names::Finder;

/// Hides names of people in memories. If the search for names in a memory fails, the memory becomes pending: it is
/// stored in the private drafts folder and recalled as usual, and a later sync commits it.
#[derive(Default)]
pub(super) struct HiddenNames {
    finder: Option<Result<Finder, String>>,
    /// Number of memories that became pending.
    pub waiting: usize,
    /// Reason why the first search failed.
    problem: Option<String>,
}

impl HiddenNames {
    /// Prepares the model that finds names, if the settings name one.
    pub fn open(settings: &Settings, ollama_host: Option<&str>, home: &ProjectDir) -> Self {
        let finder = Finder::open(settings, ollama_host, &home.llm).transpose();
        Self { finder, ..Self::default() }
    }

    /// Hides the names in a memory. Returns `false` if the search failed.
    pub fn hide(&mut self, memory: &mut Memory, redactor: &Redactor) -> bool {
        let Some(finder) = &mut self.finder else { return true };
        let quote = memory.source.quote.as_deref().unwrap_or_default();
        let text = format!("{}\n{}\n{quote}", memory.title, memory.body);
        let found = finder.as_mut().map_err(|problem| problem.clone());
        match found.and_then(|finder| finder.find(&text)) {
            Ok(names) => {
                let mut redactor = redactor.clone();
                redactor.options.names = names;
                redactor.redact_memory(memory);
                true
            }
            Err(problem) => {
                self.problem.get_or_insert(problem);
                self.waiting += 1;
                false
            }
        }
    }

    /// Returns the warning about pending memories; `None` if there are none.
    pub fn warning(&self) -> Option<String> {
        let problem = self.problem.as_ref()?;
        Some(format!(
            "{} memories are pending, private and recalled, because they could not be searched for names: {problem}",
            self.waiting
        ))
    }
}
