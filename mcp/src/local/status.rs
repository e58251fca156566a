//! Counts and health of the stores, from the index, the journal and the processor's notes.

use memory_store::background::has_unprocessed;
use memory_store::index::health::{Depth, Health, inspect};
use memory_store::mode::Mode;
use memory_store::progress::Progress;
use memory_store::recall::{Collection, render};
use memory_store::store::Store;
use memory_store::{Kind, format_version, settings_file};

use super::Local;
use crate::backend::{KindCount, StatusResponse, ToolError};

/// Maximum invalid files that a status lists.
const BROKEN_MAX: usize = 10;
/// Maximum number of files that are checked; more would exceed the time limit of an answer.
const LOOKED_AT_MAX: usize = 1_500;

impl Local {
    /// Returns counts and health of the store.
    ///
    /// # Errors
    /// Returns an error if the project may not be read.
    pub fn status(&self) -> Result<StatusResponse, ToolError> {
        let tree = self.tree()?;
        let dirs = &self.environment.dirs;
        let recall = self.indexed(&tree);
        let counts = recall.counts();
        let store = Store::open(dirs, &tree)?;
        // Without an index, all files are read: either there are few, or the status should report their errors.
        let broken = match recall.has_index() {
            // A store with too many files is detected by the counts in the index, before any file is looked up.
            true if counts.kinds.iter().sum::<usize>() > LOOKED_AT_MAX => None,
            true => recall
                .files(&[Collection::Memories], LOOKED_AT_MAX)
                .and_then(|known| store.broken_beside(&known, LOOKED_AT_MAX)),
            false => Some(store.list()?.broken),
        };
        let state = dirs.tree(&tree.root);
        let indexes = [state.index, state.thinking, dirs.user_state().index];
        let there = indexes.iter().filter(|index| index.exists());
        let damage = there.map(|index| inspect(index, Depth::Headers)).find_map(Health::damage);
        let degraded = damage.map(|damage| damage.to_string());
        let newer = format_version::check_project(dirs, tree.project).err();
        let degraded = newer.map(|newer| newer.to_string()).or(degraded);
        let progress = Progress::read(&dirs.tree(&tree.root).progress);
        let (settings, _) = settings_file::load(dirs, Some(&tree));
        let of_kind = |kind: Kind| counts.kinds.get(kind as usize).copied().unwrap_or_default();
        Ok(StatusResponse {
            root: tree.root.display().to_string(),
            mode: match self.environment.mode() {
                Mode::Off => "off",
                Mode::Read => "read",
                Mode::Full => "full",
            }
            .to_owned(),
            memories: counts.kinds.iter().sum(),
            kinds: Kind::ALL
                .into_iter()
                .map(|kind| KindCount { kind: kind.name().to_owned(), count: of_kind(kind) })
                .filter(|kind| kind.count > 0)
                .collect(),
            drafts: counts.drafts,
            replaced: counts.superseded,
            held_back: counts.held,
            user_memories: counts.user,
            broken_count: broken.as_ref().map(Vec::len),
            broken: broken
                .iter()
                .flatten()
                .take(BROKEN_MAX)
                .map(|broken| render::clean(&broken.to_string()))
                .collect(),
            unprocessed: has_unprocessed(&dirs.tree(&tree.root)),
            last_run: (progress.last_run.0 > 0).then(|| progress.last_run.to_string()),
            failure: progress.failure.as_deref().map(render::clean),
            degraded: degraded.as_deref().or(recall.degraded()).map(render::clean),
            llm: settings.llm.map(|llm| format!("{}/{}", llm.provider, llm.model)),
        })
    }
}

impl StatusResponse {
    /// Returns the status as text.
    pub fn text(&self) -> String {
        let of_kind = |kind: &KindCount| Some(Kind::from_name(&kind.kind)?.counted(kind.count));
        let kinds: Vec<String> = self.kinds.iter().filter_map(of_kind).collect();
        let memories = if self.memories == 1 { "memory" } else { "memories" };
        let mut text = format!("{} {memories} of {}", self.memories, render::clean(&self.root));
        if !kinds.is_empty() {
            text.push_str(&format!(" ({})", kinds.join(", ")));
        }
        text.push_str(&format!("; {} of the user for every project.", self.user_memories));
        let mut line = |line: String| {
            text.push('\n');
            text.push_str(&line);
        };
        if self.drafts > 0 {
            line(format!("{} wait for the user's `throughline review`.", self.drafts));
        }
        if self.held_back > 0 {
            let held = self.held_back;
            line(format!("Held back: {held} of them; `throughline review` shows the user why."));
        }
        if self.replaced > 0 {
            line(format!(
                "{} of them are replaced by others (recall with history).",
                self.replaced
            ));
        }
        match &self.last_run {
            Some(last) => line(format!("Transcripts were last processed at {last}.")),
            None => line("Transcripts were never processed.".to_owned()),
        }
        if self.unprocessed {
            line("Finished turns wait to be processed.".to_owned());
        }
        if let Some(failure) = &self.failure {
            line(format!("The last background run failed: {failure}"));
        }
        if let Some(degraded) = &self.degraded {
            let degraded = degraded.trim_end_matches('.');
            line(format!("The index: {degraded}. The next `throughline sync` mends it."));
        }
        for broken in &self.broken {
            line(format!("Broken file: {broken}"));
        }
        match self.broken_count {
            Some(count) if count > self.broken.len() => {
                let more = count - self.broken.len();
                line(format!("{more} more files cannot be read: `throughline doctor`."));
            }
            Some(_) => {}
            None => line(
                "There are too many files to look at each here: `throughline doctor` names those that cannot be \
                 read."
                    .to_owned(),
            ),
        }
        if let Some(llm) = &self.llm {
            line(format!("{} helps to extract memories.", render::clean(llm)));
        }
        if self.mode == "read" {
            line("Memory is read-only here.".to_owned());
        }
        text
    }
}
