//! The second space: vectors of memories by a model that the user runs, for explicit search.
//!
//! The embedded text is the same as in the index, so that each vector belongs to a search result. Texts are sent in
//! portions, and the vectors of each portion are stored immediately, so a run that is killed loses at most one portion.
//! Each text is embedded only once, even if indexes are rebuilt.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memory_store::MemoryId;
use memory_store::custom_embedder::{Ask, BYTES_MAX, Direction, Given, Second, TextHash, encode};
use memory_store::index::Index;
use memory_store::layout::TreeDir;
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings::{Embedder, Settings};
use memory_store::store::{Privacy, remove, replace};

use crate::llm::ModelFault;
use crate::llm::host::ModelServer;
use crate::llm::ollama::{Ollama, seconds};
use crate::progress::ProgressReport;
use crate::publish::embed::records::{HEADER, Records};

/// Number of texts in one request.
const PORTION: usize = 16;
/// Maximum number of bytes of a text that are sent. Embedding models read at most a few thousand words.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Maximum number of bytes of a query that are sent.
const QUERY_BYTES_MAX: usize = 2 << 10;
/// File name of the cache, in the folder of the project's vectors.
const CACHE: &str = "second.cache";
/// First bytes of a cache, with the version of its format. The hash of the model (12 bytes) and the number of
/// components (4 bytes) follow.
const CACHE_MAGIC: [u8; 8] = *b"TLSECV\0\x01";

/// Inputs and limits of an update.
pub struct Update<'a> {
    /// The settings in effect.
    pub settings: &'a Settings,
    /// The value of the variable `OLLAMA_HOST`, used if the settings name no host.
    pub ollama_host: Option<&'a str>,
    /// The folder of the caches of vectors.
    pub caches: &'a Path,
    /// Whether to verify that the model still returns the same vectors.
    pub afresh: bool,
    /// No request is started after this time.
    pub until: Instant,
    /// Receives the progress.
    pub progress: &'a dyn ProgressReport,
}

/// Result of an update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Number of texts that were embedded by this update.
    pub embedded: usize,
    /// Number of texts for a later update.
    pub waiting: usize,
    /// Whether any file was changed.
    pub changed: bool,
    /// Problem that ended the update.
    pub problem: Option<String>,
}

/// An index whose memories need vectors.
struct WantedIndex<'a> {
    state: &'a TreeDir,
    digest: [u8; 16],
    old: Option<Second>,
    memories: Vec<(MemoryId, TextHash)>,
}

/// Updates the vectors of some indexes, or removes them if the settings name no model.
///
/// # Errors
/// If our own files cannot be read or written. Errors of the model are returned in [`Updated::problem`].
pub fn update(what: &Update<'_>, states: &[TreeDir]) -> Result<Updated> {
    let Some(embedder) = &what.settings.embedder else { return take_away(states) };
    let mut texts = HashMap::new();
    let mut wanted = Vec::new();
    for state in states {
        wanted.extend(look(state, embedder, what.afresh, &mut texts)?);
    }
    if wanted.is_empty() {
        return Ok(Updated::default());
    }
    let mut known = KnownVectors::open(embedder, &what.caches.join(CACHE))?;
    wanted.iter().filter_map(|wanted| wanted.old.as_ref()).for_each(|old| known.add_file(old));
    let mut updated = embed(what, embedder, &texts, &mut known)?;
    for wanted in &wanted {
        updated.changed |= known.write(wanted, embedder)?;
    }
    Ok(updated)
}

fn take_away(states: &[TreeDir]) -> Result<Updated> {
    let mut updated = Updated::default();
    for path in states.iter().map(|state| &state.second) {
        if path.exists() {
            remove(path)?;
            updated.changed = true;
        }
    }
    Ok(updated)
}

/// Returns the memories of an index whose vectors must be written, and adds their texts to `texts`. `None` if all
/// memories have vectors, or if there is no readable index.
fn look<'a>(
    state: &'a TreeDir,
    embedder: &Embedder,
    afresh: bool,
    texts: &mut HashMap<TextHash, String>,
) -> Result<Option<WantedIndex<'a>>> {
    let Ok(Some(index)) = Index::open(&state.index) else { return Ok(None) };
    let digest = index.manifest.digest;
    // A damaged file of vectors is rebuilt.
    let old = Second::open(&state.second).ok().flatten();
    let old = old.filter(|old| old.model == embedder.space());
    let is_done = |old: &Second| old.complete && old.digest == digest;
    if old.as_ref().is_some_and(is_done) && !afresh {
        return Ok(None);
    }
    let mut memories = Vec::new();
    if let Some(segment) = &index.memories {
        for doc in 0..segment.docs() {
            let entry = segment.entry(doc)?;
            let text = segment.record(&entry)?.embedding_text();
            let hash = TextHash::of(&text);
            memories.push((entry.id, hash));
            texts.insert(hash, text);
        }
    }
    Ok(Some(WantedIndex { state, digest, old, memories }))
}

/// Embeds the texts that have no known vector, until the time limit.
fn embed(
    what: &Update<'_>,
    embedder: &Embedder,
    texts: &HashMap<TextHash, String>,
    known: &mut KnownVectors,
) -> Result<Updated> {
    let mut missing = known.missing(texts);
    let mut updated = Updated { waiting: missing.len(), ..Updated::default() };
    if missing.is_empty() {
        if !what.afresh {
            return Ok(updated);
        }
        missing = texts.keys().copied().min().into_iter().collect();
    }
    let most = (seconds(embedder.timeout_s), "embedder.timeout_s");
    let model = match UserModel::open(what.settings, embedder, what.ollama_host, most) {
        Ok(model) => model,
        Err(problem) => return Ok(Updated { problem: Some(problem), ..updated }),
    };
    what.progress.stage("embedding for the second space", missing.len());
    let mut done = HashSet::new();
    while let Some(portion) = missing.get(..PORTION.min(missing.len())).filter(|p| !p.is_empty()) {
        if Instant::now() >= what.until {
            break;
        }
        let given = portion.iter().map(|hash| texts[hash].as_str());
        let made = match model.documents(embedder, given) {
            Ok(made) => made,
            Err(fault) => {
                updated.problem = Some(fault.to_string());
                break;
            }
        };
        known.take(portion, made)?;
        done.extend(portion.iter().copied());
        portion.iter().for_each(|_| what.progress.step());
        // If the number of components changed, the known vectors were dropped, so their texts are embedded again.
        missing = known.missing(texts);
        missing.retain(|hash| !done.contains(hash));
    }
    updated.embedded = done.len();
    updated.waiting = missing.len();
    Ok(updated)
}

/// The vectors in the cache and in the indexes' files.
struct KnownVectors {
    cache: Option<Records>,
    /// The path of the cache, and the first bytes of its header.
    place: (std::path::PathBuf, [u8; HEADER]),
    /// Number of components of a vector.
    dimensions: Option<usize>,
    files: HashMap<TextHash, Direction>,
}

impl KnownVectors {
    fn open(embedder: &Embedder, path: &Path) -> Result<Self> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&CACHE_MAGIC);
        let space = TextHash::of(&embedder.space());
        header[8..20].copy_from_slice(&space.0[..12]);
        let mut known = Self {
            cache: None,
            place: (path.to_owned(), header),
            dimensions: None,
            files: HashMap::new(),
        };
        if let Some(found) = Records::header(path).filter(|found| found[..20] == header[..20]) {
            let [.., a, b, c, d] = found;
            known.of_dimensions(u32::from_le_bytes([a, b, c, d]) as usize)?;
        }
        Ok(known)
    }

    /// Prepares the cache for vectors with this number of components. Other vectors are dropped.
    fn of_dimensions(&mut self, dimensions: usize) -> Result<()> {
        if self.cache.is_some() && self.dimensions == Some(dimensions) {
            return Ok(());
        }
        self.files.retain(|_, direction| direction.components().len() == dimensions);
        let (path, mut header) = self.place.clone();
        header[20..].copy_from_slice(&(dimensions as u32).to_le_bytes());
        self.cache = Some(Records::open(&path, header, dimensions)?);
        self.dimensions = Some(dimensions);
        Ok(())
    }

    fn add_file(&mut self, file: &Second) {
        if *self.dimensions.get_or_insert(file.dimensions) == file.dimensions {
            let vectors = (0..file.count).map(|at| (file.memory(at).1, file.direction(at)));
            self.files.extend(vectors.filter_map(|(text, direction)| Some((text, direction?))));
        }
    }

    fn get(&self, text: TextHash) -> Option<Direction> {
        let cached = || {
            let components = self.cache.as_ref()?.get(text)?;
            Direction::of_components(components.into_iter().map(u8::cast_signed).collect())
        };
        self.files.get(&text).cloned().or_else(cached)
    }

    fn missing(&self, texts: &HashMap<TextHash, String>) -> Vec<TextHash> {
        let is_cached = |text| self.cache.as_ref().is_some_and(|cache| cache.has(text));
        let mut missing: Vec<TextHash> = texts
            .keys()
            .copied()
            .filter(|&text| !self.files.contains_key(&text) && !is_cached(text))
            .collect();
        missing.sort_unstable();
        missing
    }

    /// Stores the vectors of some texts. A text without a vector is skipped.
    fn take(&mut self, texts: &[TextHash], made: Vec<Option<Direction>>) -> Result<()> {
        let Some(dimensions) = made.iter().flatten().next().map(|first| first.components().len())
        else {
            return Ok(());
        };
        self.of_dimensions(dimensions)?;
        let bytes: Vec<(TextHash, Vec<u8>)> = texts
            .iter()
            .zip(made)
            .filter_map(|(text, direction)| {
                let components =
                    direction?.components().iter().map(|c| c.cast_unsigned()).collect();
                Some((*text, components))
            })
            .collect();
        match &mut self.cache {
            Some(cache) => cache.add(bytes.iter().map(|(text, bytes)| (*text, &bytes[..]))),
            None => Ok(()),
        }
    }

    /// Writes the file of vectors of an index, if its content changed. Returns whether it did.
    fn write(&self, wanted: &WantedIndex<'_>, embedder: &Embedder) -> Result<bool> {
        let vector = |&(id, text): &(MemoryId, TextHash)| Some((id, text, self.get(text)?));
        let vectors: Vec<_> = wanted.memories.iter().filter_map(vector).collect();
        let complete = vectors.len() == wanted.memories.len();
        let says_so = |old: &Second| {
            let same = |(at, (id, text, direction)): (usize, &(MemoryId, TextHash, Direction))| {
                old.memory(at) == (*id, *text) && direction.components().len() == old.dimensions
            };
            old.digest == wanted.digest
                && old.complete == complete
                && old.count == vectors.len()
                && vectors.iter().enumerate().all(same)
        };
        let has_nothing = wanted.old.is_none() && vectors.is_empty();
        if has_nothing || wanted.old.as_ref().is_some_and(says_so) {
            return Ok(false);
        }
        let model = embedder.space();
        let given = Given { model: &model, digest: wanted.digest, complete, vectors: &vectors };
        let path = &wanted.state.second;
        let bytes = encode(&given).with_context(|| {
            let most = BYTES_MAX >> 20;
            format!("{}: vectors of more than {most} MiB are not written", path.display())
        })?;
        replace(path, &bytes, Privacy::Private)?;
        Ok(true)
    }
}

/// The user's model, with the redactor for its input.
#[derive(Debug)]
struct UserModel {
    ollama: Ollama,
    redactor: Redactor,
}

impl UserModel {
    /// Prepares the model. `most` contains the timeout and the name of its setting.
    fn open(
        settings: &Settings,
        embedder: &Embedder,
        ollama_host: Option<&str>,
        most: (Duration, &'static str),
    ) -> Result<Self, String> {
        let Embedder { host, consented_hosts, model, .. } = embedder;
        let server = ModelServer::agreed(host, ollama_host, consented_hosts, "embedder")?;
        // Text for another machine is redacted by the same rules as files that other people read.
        let options = RedactOptions::for_store(settings, !server.is_local());
        let ollama = Ollama::new(server, model, most)?;
        Ok(Self { ollama, redactor: Redactor::new(&options) })
    }

    fn documents<'t>(
        &self,
        embedder: &Embedder,
        texts: impl Iterator<Item = &'t str>,
    ) -> Result<Vec<Option<Direction>>, ModelFault> {
        let texts = texts.map(|text| embedder.document(&self.sent(text, TEXT_BYTES_MAX)));
        let vectors = self.ollama.embed(texts.collect())?;
        Ok(vectors.iter().map(|vector| Direction::of(vector)).collect())
    }

    /// Returns the redacted beginning of a text, as sent to the model.
    fn sent(&self, text: &str, bytes_max: usize) -> String {
        self.redactor.redact(&text[..text.floor_char_boundary(bytes_max)]).into_owned()
    }
}

/// Computes vectors of queries with the user's model.
#[derive(Debug)]
pub struct Asker {
    embedder: Embedder,
    model: Result<UserModel, String>,
}

impl Asker {
    /// Prepares requests; `None` if the settings name no model.
    pub fn new(settings: &Settings, ollama_host: Option<&str>) -> Option<Self> {
        let embedder = settings.embedder.clone()?;
        let most = Duration::from_millis(u64::from(embedder.search_ms.max(1)));
        let most = (most, "embedder.search_ms");
        let model = UserModel::open(settings, &embedder, ollama_host, most);
        Some(Self { embedder, model })
    }
}

impl Ask for Asker {
    fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let model = self.model.as_ref().map_err(Clone::clone)?;
        let text = self.embedder.query(&model.sent(text, QUERY_BYTES_MAX));
        let mut vectors = model.ollama.embed(vec![text]).map_err(|fault| fault.to_string())?;
        vectors.pop().ok_or_else(|| "the model gave no vector".to_owned())
    }
}

/// Returns the number of memories in an index that have vectors, and the number of all memories; `None` without an
/// index.
pub fn standing(state: &TreeDir, embedder: &Embedder) -> Option<(usize, usize)> {
    let index = Index::open(&state.index).ok().flatten()?;
    let all = index.memories.map_or(0, |segment| segment.docs() as usize);
    let file = Second::open(&state.second).ok().flatten();
    let file = file.filter(|file| file.model == embedder.space());
    Some((file.map_or(0, |file| file.count).min(all), all))
}
