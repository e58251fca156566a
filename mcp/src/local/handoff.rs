//! Where the work was left, and which memories a person should look at: what the prompts of the server begin with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use memory_store::handoff::Left;
use memory_store::layout::Tree;
use memory_store::memory::Status;
use memory_store::neighbour::{CONTRADICTS, Statement, Verdict, judge};
use memory_store::recall::{Recall, render};
use memory_store::reviewed::Reviewed;
use memory_store::store::{Store, Stored};
use memory_store::{MemoryId, settings_file};
use serde::Deserialize;

use super::Local;
use super::find::judged;
use crate::backend::Failure;

/// Memories of which duplicates are looked for, the latest first: each is compared with each.
const COMPARED_MAX: usize = 400;
/// Memories that are named for one reason.
const NAMED_MAX: usize = 8;
/// Days after which a memory that was never given counts as unused.
const UNUSED_DAYS: i64 = 90;
/// Bytes of one day's receipts that are read.
const DAY_BYTES_MAX: u64 = 8 << 20;
/// Days of receipts that are read, the latest first.
const DAYS_MAX: usize = 60;

impl Local {
    /// Says where the work was left.
    pub(super) fn left(&self) -> Result<String, Failure> {
        let tree = self.tree()?;
        let left = Left::read(&self.environment.dirs.tree(&tree.root).left());
        let own = self.environment.session.as_deref().unwrap_or_default();
        let branch = tree.branch().unwrap_or_default();
        let text = left.text(own, &branch, self.now());
        Ok(match text {
            Some(text) => {
                let lines: Vec<String> = text.lines().map(render::clean).collect();
                render::wrap(&lines.join("\n"))
            }
            None => "Nothing is known of where the work was left.".to_owned(),
        })
    }

    /// Names memories that a person should look at, and why.
    pub(super) fn untidy(&self) -> Result<String, Failure> {
        let tree = self.tree()?;
        let dirs = &self.environment.dirs;
        let (settings, _) = settings_file::load(dirs, Some(&tree));
        let (store, trust) = judged(Store::open(dirs, &tree)?, &settings)?;
        // All are asked about.
        let trust = trust.asking_at_once();
        let redactor = store.redactor(&settings);
        let mut memories = store.list()?.memories;
        memories.retain(|stored| {
            stored.memory.superseded_by.is_none()
                && stored.memory.status == Status::Active
                && trust.held(stored, &redactor).is_none()
        });
        memories.sort_by_key(|stored| std::cmp::Reverse((stored.memory.when(), stored.memory.id)));
        let recall = Recall::open(dirs, &tree);
        let line = |stored: &Stored| {
            let memory = &stored.memory;
            let title = render::clean(&redactor.redact(&memory.title));
            format!(
                "{} {} ({}): {title}",
                memory.kind.name(),
                memory.id.short(),
                memory.when().date()
            )
        };
        let stale = memories.iter().filter_map(|stored| {
            let staleness = recall.staleness(stored.memory.id)?;
            Some(format!("{} [{}]", line(stored), staleness.mark()))
        });
        let parts = [
            ("Their files changed much since they were learned", stale.take(NAMED_MAX).collect()),
            ("Only one of each pair can be true", contradicting(&memories, &store, &line)),
            ("They say the same", duplicates(&memories, &line)),
            ("Nobody needed them in a long time", self.unused(&memories, &tree, &line)),
        ];
        let mut text = String::new();
        for (title, lines) in parts {
            let lines: Vec<String> = lines;
            if !lines.is_empty() {
                text.push_str(&format!("{title}:\n"));
                lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
            }
        }
        Ok(match text.is_empty() {
            true => "There is nothing to tidy up.".to_owned(),
            false => render::wrap(text.trim_end()),
        })
    }

    /// Memories that no receipt names and that are old.
    fn unused(
        &self,
        memories: &[Stored],
        tree: &Tree,
        line: &dyn Fn(&Stored) -> String,
    ) -> Vec<String> {
        let given = self.given_lately(tree);
        let old = memories.iter().rev().filter(|stored| {
            !stored.memory.pinned
                && !given.contains(&stored.memory.id)
                && stored.memory.when().days_until(self.now()) > UNUSED_DAYS
        });
        old.take(NAMED_MAX).map(line).collect()
    }

    fn given_lately(&self, tree: &Tree) -> BTreeSet<MemoryId> {
        let folder = self.environment.dirs.tree(&tree.root).receipts("any");
        let Some(Ok(files)) = folder.parent().map(std::fs::read_dir) else {
            return BTreeSet::new();
        };
        let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
        files.sort();
        let read = |path| Some(BufReader::new(File::open(path).ok()?.take(DAY_BYTES_MAX)));
        let lines = files.into_iter().rev().take(DAYS_MAX).filter_map(read);
        lines
            .flat_map(|file| file.split(b'\n').map_while(Result::ok))
            .filter_map(|line| serde_json::from_slice::<Receipt>(&line).ok())
            .flat_map(|receipt| receipt.memories)
            .map(|given| given.id)
            .collect()
    }
}

/// Fields of a receipt that count here.
#[derive(Deserialize)]
struct Receipt {
    #[serde(default)]
    memories: Vec<GivenReceipt>,
}

#[derive(Deserialize)]
struct GivenReceipt {
    id: MemoryId,
}

/// Pairs that contradict each other, and that no person settled.
fn contradicting(
    memories: &[Stored],
    store: &Store,
    line: &dyn Fn(&Stored) -> String,
) -> Vec<String> {
    let reviewed = Reviewed::read(store.home());
    let by_id: BTreeMap<MemoryId, &Stored> =
        memories.iter().map(|stored| (stored.memory.id, stored)).collect();
    let mut pairs: Vec<(&Stored, &Stored)> = Vec::new();
    for newer in memories {
        let links = newer.memory.relations.iter().filter(|link| link.kind == CONTRADICTS);
        pairs.extend(links.filter_map(|link| Some((newer, *by_id.get(&link.to)?))));
    }
    pairs
        .into_iter()
        .filter(|(newer, older)| !reviewed.hold_both(newer.memory.id, older.memory.id))
        .take(NAMED_MAX)
        .map(|(newer, older)| format!("{} | {}", line(newer), line(older)))
        .collect()
}

/// Pairs of which one says what the other says.
fn duplicates(memories: &[Stored], line: &dyn Fn(&Stored) -> String) -> Vec<String> {
    let statements: Vec<(Statement, &Stored)> = memories
        .iter()
        .take(COMPARED_MAX)
        .map(|stored| (Statement::from(&stored.memory), stored))
        .collect();
    let mut lines = Vec::new();
    for (number, (newer, stored)) in statements.iter().enumerate() {
        for (older, other) in &statements[number + 1..] {
            if judge(newer, older) == Some(Verdict::Duplicate) {
                lines.push(format!("{} | {}", line(stored), line(other)));
            }
            if lines.len() == NAMED_MAX {
                return lines;
            }
        }
    }
    lines
}
