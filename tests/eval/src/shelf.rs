//! A shelf: a temporary home in which each group of a labelled set has its own project. The memories are indexed in the
//! usual way: written as memory files, listed, embedded if there is a model, and published.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use memory_store::custom_embedder::Ask;
use memory_store::error::At as _;
use memory_store::file::{MemoryFile, file_name};
use memory_store::identity::{self, Mode, Observed};
use memory_store::index::build::{Vectors, document};
use memory_store::index::document::Document;
use memory_store::index::vectors::Embedded;
use memory_store::layout::{ProjectDir, Tree, UserDirs};
use memory_store::memory::{Memory, Source};
use memory_store::recall::Recall;
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored};
use memory_store::{Kind, MemoryId, Timestamp};
use processor::progress::ProgressReport;
use processor::publish::claude_md::GivenTexts;
use processor::publish::custom_embedder::{Asker, Update, update as update_second};
use processor::publish::embed::{EmbeddedTexts, Embedding};
use processor::publish::{self, Publication};
use rayon::prelude::*;

use crate::home::TemporaryHome;
use crate::set::SetMemory;

/// Maximum characters of a title in the file format.
const TITLE_CHARS_MAX: usize = 300;

/// Time limit for embedding a group. It is long, because a measurement need not be quick.
const EMBEDDING: Duration = Duration::from_secs(24 * 60 * 60);

/// The temporary home.
pub struct Shelf {
    home: TemporaryHome,
    embedding: Option<Embedding>,
    /// Folder that caches the vectors of the second space.
    caches: PathBuf,
    second: Option<Second>,
}

/// The embedder of the second space.
pub struct Second {
    /// The settings that name the embedder.
    pub settings: Settings,
    /// The variable `OLLAMA_HOST`.
    pub ollama_host: Option<String>,
    /// Reason why the embedder returned no vector for a query. A search continues without the vector; a measurement
    /// fails.
    pub problem: Arc<Mutex<Option<String>>>,
}

/// Calls the embedder of the second space, and records its errors.
#[derive(Debug)]
struct Strict {
    asker: Asker,
    problem: Arc<Mutex<Option<String>>>,
}

impl Ask for Strict {
    fn vector(&self, text: &str) -> std::result::Result<Vec<f32>, String> {
        self.asker.vector(text).inspect_err(|problem| {
            if let Ok(mut known) = self.problem.lock() {
                known.get_or_insert_with(|| problem.clone());
            }
        })
    }
}

/// The project of a group.
pub struct Shelved<'a> {
    dirs: &'a UserDirs,
    tree: Tree,
    second: Option<&'a Second>,
}

impl Shelf {
    /// Creates the home. `models` is the folder of the embedder's files; without it, memories have no vectors. `cache`
    /// is a folder in which vectors of the transformer are stored.
    pub fn new(models: Option<PathBuf>, cache: Option<&Path>) -> Result<Self> {
        let home = TemporaryHome::new(models)?;
        let cache = ProjectDir::at(cache.map_or_else(|| home.path.join("cache"), Path::to_owned));
        let embedding = Embedding::open(&home.dirs, &cache)?;
        Ok(Self { home, embedding, caches: cache.vectors.clone(), second: None })
    }

    /// Sets the embedder that computes vectors of the second space for memories.
    pub fn with_second(self, second: Second) -> Self {
        Self { second: Some(second), ..self }
    }

    /// Creates the project of a group with its memories. `number` identifies the group; `now` is the publication time
    /// of the index.
    pub fn put(
        &mut self,
        number: usize,
        items: &[SetMemory],
        now: Timestamp,
        progress: &dyn ProgressReport,
    ) -> Result<Shelved<'_>> {
        let (tree, _) = self.fill(number, items, progress)?;
        let settings = self.second.as_ref().map_or_else(Settings::default, |second| Settings {
            embedder: second.settings.embedder.clone(),
            ..Settings::default()
        });
        let publication = Publication {
            dirs: &self.home.dirs,
            settings: &settings,
            vectors: self.embedding.as_ref().map(|embedding| embedding as &dyn Vectors),
            anchors: None,
            distrusted: &std::collections::BTreeSet::new(),
            names: &std::collections::BTreeSet::new(),
            now,
        };
        let listing = publish::tree(&publication, &tree, None, &GivenTexts::default())?;
        if let Some(error) = listing.broken.first() {
            bail!("{error}");
        }
        if let Some(second) = &self.second {
            let update = Update {
                settings: &second.settings,
                ollama_host: second.ollama_host.as_deref(),
                caches: &self.caches,
                afresh: false,
                until: Instant::now() + EMBEDDING,
                progress,
            };
            let updated = update_second(&update, &[self.home.dirs.tree(&tree.root)])?;
            if let Some(problem) = updated.problem {
                bail!("the second space: {problem}");
            }
        }
        Ok(Shelved { dirs: &self.home.dirs, tree, second: self.second.as_ref() })
    }

    /// Returns the memories of a group as they are indexed, with their vectors, in the order of the group.
    pub fn documents(
        &mut self,
        number: usize,
        items: &[SetMemory],
        progress: &dyn ProgressReport,
    ) -> Result<Vec<Document>> {
        let (tree, store) = self.fill(number, items, progress)?;
        let ready = |stored: &Stored| {
            let mut document = document(stored, &tree.root);
            document.read();
            document.vector = self.embedding.as_ref().and_then(|embedding| {
                let (encoder, vector) = embedding.of(&document.record.embedding_text())?;
                Some(Embedded { space: embedding.space(), encoder, vector })
            });
            document
        };
        let mut documents: Vec<Document> = store.list()?.memories.iter().map(ready).collect();
        documents.sort_by_key(|document| document.entry.id);
        Ok(documents)
    }

    /// Creates the project of a group, and computes the vectors of its memories.
    fn fill(
        &mut self,
        number: usize,
        items: &[SetMemory],
        progress: &dyn ProgressReport,
    ) -> Result<(Tree, Store)> {
        let root = self.home.path.join(format!("group-{number}"));
        fs::create_dir(&root).at(&root)?;
        let root = root.canonicalize().at(&root)?;
        let mut project = [0; 16];
        project[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let observed = Observed { root, ..Observed::default() };
        let tree = identity::vouch(
            &self.home.dirs,
            &observed,
            Some(Mode::Private),
            project,
            Timestamp(0),
        )?;
        let store = Store::open(&self.home.dirs, &tree)?;
        store.create()?;
        items
            .par_iter()
            .enumerate()
            .try_for_each(|(place, item)| write(&store.folder, &memory(place, item)))?;
        if let Some(embedding) = &mut self.embedding {
            let listed = store.list()?.memories;
            let text = |stored| document(stored, &tree.root).record.embedding_text();
            let texts =
                EmbeddedTexts { memories: listed.iter().map(text).collect(), turns: Vec::new() };
            embedding.learn(&texts, Instant::now() + EMBEDDING, progress)?;
        }
        Ok((tree, store))
    }
}

impl Shelved<'_> {
    /// Opens recall of the group. The returned value cannot be shared between threads.
    pub fn recall(&self) -> Recall {
        let recall = Recall::open(self.dirs, &self.tree, None);
        let strict = self.second.and_then(|second| {
            let asker = Asker::new(&second.settings, second.ollama_host.as_deref())?;
            Some(Strict { asker, problem: Arc::clone(&second.problem) })
        });
        match strict {
            Some(strict) => recall.with_second(Box::new(strict)),
            None => recall,
        }
    }
}

/// Returns the index of a memory in the group.
pub fn place(id: MemoryId) -> usize {
    usize::try_from(u128::from_be_bytes(id.0)).unwrap_or(usize::MAX)
}

/// Converts a text into a memory as if a person had added it: the first line is the title, and the rest is the body.
/// The id is the index in the group, so that memories of the same session are adjacent in the index, as in practice.
fn memory(place: usize, item: &SetMemory) -> Memory {
    let id = MemoryId((place as u128).to_be_bytes());
    let (title, body) = title_and_body(&item.text);
    let created = item.time.unwrap_or_default();
    let memory = Memory::new(id, Kind::Fact, title, body, created);
    let source = Source { session: item.session(), ..memory.source.clone() };
    Memory { occurred: item.time, source, ..memory }
}

fn title_and_body(text: &str) -> (&str, &str) {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    let end = match line.char_indices().nth(TITLE_CHARS_MAX) {
        // A first line that is too long for a title is divided at white space.
        Some((end, _)) => line[..end].rfind(char::is_whitespace).unwrap_or(end),
        None => line.len(),
    };
    (&text[..end], text[end..].trim_start_matches(['\r', '\n']))
}

fn write(folder: &Path, memory: &Memory) -> Result<()> {
    let file = MemoryFile::new(memory.clone())?;
    let path = folder.join(file_name(memory));
    Ok(fs::write(&path, file.text().as_bytes()).at(&path)?)
}

#[cfg(test)]
mod tests {
    use processor::progress::Silent;

    use super::*;

    #[test]
    fn no_part_of_a_text_is_lost_or_repeated() {
        assert_eq!(title_and_body("\none line "), ("one line", ""));
        assert_eq!(title_and_body("first\n\n  second\nthird"), ("first", "  second\nthird"));
        let long = "word ".repeat(100);
        let (title, body) = title_and_body(&long);
        assert_eq!(title.chars().count(), 299);
        assert_eq!(format!("{title}{body}"), long.trim());
        assert_eq!(title_and_body(&"x".repeat(301)).1, "x");
    }

    #[test]
    fn a_group_is_found_by_the_names_of_its_set() {
        let text = r#"[{"id": "a", "text": "The parser keeps comments.", "group": "g"},
            {"id": "b", "text": "Releases go out on Tuesday.", "group": "g", "time": "2026-03-01"}]"#;
        let items: Vec<SetMemory> = serde_json::from_str(text).unwrap();
        let mut shelf = Shelf::new(None, None).unwrap();
        let now = Timestamp::parse("2026-04-01").unwrap();
        let recall = shelf.put(0, &items, now, &Silent).unwrap().recall();
        let found = recall.ranked("when is the release?", now, 10);
        let places: Vec<usize> = found.hits.iter().map(|hit| place(hit.id)).collect();
        assert_eq!(places, [1]);
        assert_eq!(found.hits[0].date.date(), "2026-03-01");
        let before = Timestamp::parse("2026-02-01").unwrap();
        let recall = shelf.put(1, &items, now, &Silent).unwrap().recall().as_of(before);
        assert_eq!(recall.ranked("when is the release?", now, 10).hits, []);
    }
}
