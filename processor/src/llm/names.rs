//! Names of people in a text, as a model on this machine sees them.
//!
//! Its answer is believed only so far as it stands in the text, and kept, so that a text is asked
//! about once. A name that it overlooks is not found.

use std::path::Path;

use memory_store::redact::Names;
use memory_store::settings::{NameFinder, Settings};
use serde::Deserialize;

use super::ask;
use super::cache::AnswerCache;
use super::host::ModelServer;
use super::ollama::{Ollama, seconds};

/// Names of one text.
const NAMES_MAX: usize = 100;
/// Characters of a name.
const NAME_CHARS: std::ops::RangeInclusive<usize> = 2..=60;
/// Changes with the instructions, so that answers to others are not taken for answers to these.
const VERSION: &str = "names-1";

/// A model that finds names.
pub struct Finder {
    ollama: Ollama,
    cache: AnswerCache,
    name: String,
    /// Why it is asked no more.
    down: Option<String>,
}

/// The form of an answer.
#[derive(Deserialize)]
struct NamesAnswer {
    /// The names.
    names: Vec<String>,
}

impl Finder {
    /// Prepares the model that the settings name; `None` when they name none. `Err` says in words what
    /// stands in the way.
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

    /// The names of people in a text. `Err` says in words why they are not known.
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
        // Without a cache the model is asked again next time, which costs time only.
        drop(self.cache.put(&self.name, text, &given));
        Ok(names)
    }
}

/// The names of an answer that stand in the text.
fn read(given: &str, text: &str) -> Option<Names> {
    let start = given.find('{')?;
    let end = given.rfind('}')?;
    let answer: NamesAnswer = serde_json::from_str(given.get(start..=end)?).ok()?;
    let names = answer.names.into_iter().map(|name| name.trim().to_owned());
    let names = names
        .filter(|name| NAME_CHARS.contains(&name.chars().count()) && text.contains(name.as_str()));
    Some(Names::new(names.take(NAMES_MAX).collect()))
}
