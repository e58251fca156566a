//! Names of people in a text, found by a model on this machine.
//!
//! Only names that occur in the text are used. The answer is cached, so that each text is sent only once. A name that
//! the model overlooks is not hidden.

use std::path::Path;

use memory_store::redact::Names;
use memory_store::settings::{NameFinder, Settings};
use serde::Deserialize;

use super::ask;
use super::cache::AnswerCache;
use super::host::ModelServer;
use super::ollama::{Ollama, seconds};

/// Maximum number of names in one text.
const NAMES_MAX: usize = 100;
/// Minimum and maximum number of characters of a name.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 2..=60;
/// Version of the instructions. It must be changed with them, because cached answers to other instructions are not
/// used.
const VERSION: &str = "names-1";

/// A model that finds names.
pub struct Finder {
    ollama: Ollama,
    cache: AnswerCache,
    name: String,
    /// Reason why the model gets no more questions.
    down: Option<String>,
}

/// The JSON format of an answer.
#[derive(Deserialize)]
struct NamesAnswer {
    /// The names.
    names: Vec<String>,
}

impl Finder {
    /// Prepares the model named in the settings; `None` if they name none. `Err` contains the reason as text.
    pub fn open(
        settings: &Settings,
        ollama_host: Option<&str>,
        cache_dir: &Path,
    ) -> Result<Option<Self>, String> {
        let Some(NameFinder { model, host, timeout_s }) = &settings.names else { return Ok(None) };
        if model.trim().is_empty() {
            return Err("`names` in config.toml cannot be read".to_owned());
        }
        let server = ModelServer::named(host, ollama_host)?;
        if !server.is_local() {
            let name = server.name();
            return Err(format!("{name} is another machine; names are found on this one only"));
        }
        let most = (seconds(*timeout_s), "names.timeout_s");
        let ollama = Ollama::new(server, model.trim(), most)?;
        let name = format!("{VERSION}/{}", model.trim());
        Ok(Some(Self { ollama, cache: AnswerCache::new(cache_dir), name, down: None }))
    }

    /// Returns the names of people in a text. `Err` contains the reason as text.
    pub fn find(&mut self, text: &str) -> Result<Names, String> {
        if let Some(names) = self.cache.get(&self.name, text).and_then(|given| read(&given, text)) {
            return Ok(names);
        }
        if let Some(down) = &self.down {
            return Err(down.clone());
        }
        let given = self.ollama.chat(&ask::names(text));
        let given = given.map_err(|fault| fault.to_string()).inspect_err(|fault| {
            self.down = Some(fault.clone());
        })?;
        let names =
            read(&given, text).ok_or("the answer cannot be used: it is no list of names")?;
        // If caching fails, the text is sent again next time, which only costs time.
        drop(self.cache.put(&self.name, text, &given));
        Ok(names)
    }
}

/// Returns the names in an answer that occur in the text; `None` if the answer cannot be parsed.
fn read(given: &str, text: &str) -> Option<Names> {
    let start = given.find('{')?;
    let end = given.rfind('}')?;
    let answer: NamesAnswer = serde_json::from_str(given.get(start..=end)?).ok()?;
    let names = answer.names.into_iter().map(|name| name.trim().to_owned());
    let names = names
        .filter(|name| NAME_CHARS.contains(&name.chars().count()) && text.contains(name.as_str()));
    Some(Names::new(names.take(NAMES_MAX).collect()))
}
