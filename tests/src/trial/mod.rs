//! Trials: each program writes to a store while a fault is injected, and then the invariants of the store are checked.
//!
//! A result is *acknowledged* if it was reported: by a successful command, an answer of the server, or the output of a
//! hook. A trial records the acknowledged results and compares them with the store.

mod check;
pub mod crowd;
pub mod kept;
pub mod storm;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use memory_store::layout::{Tree, UserDirs};
use memory_store::store::{Store, Stored};
use memory_store::{MemoryId, ProjectId};

use crate::fault::{self, Plan, Run};
use crate::sample_project::Sample;
use crate::story::Story;
pub use check::Violation as Invalid;
pub use writer::Writer;
use writer::{Claim, Task};

/// Pseudo-random numbers, the same in every run (xorshift64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a generator with a seed; a seed of 0 counts as 1.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// Returns a random number that is at least 0 and less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 1) % end.max(1)
    }

    /// Returns a random element.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(usize::try_from(self.below(all.len() as u64)).ok()?)
    }
}

/// Acknowledged result for a memory that the trial wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledged {
    /// The memory was saved.
    Kept,
    /// The memory was archived.
    Gone,
}

/// A store that is tested.
pub struct Trial {
    /// The project and its environment.
    pub sample: Sample,
    dirs: UserDirs,
    tree: Tree,
    acknowledged: BTreeMap<String, (MemoryId, Acknowledged)>,
    purged: Vec<String>,
    /// Number of memories that the trial has archived.
    forgotten: usize,
    number: u32,
}

impl Trial {
    /// Creates the sample project with its history, and syncs it.
    pub fn new() -> io::Result<Self> {
        let sample = Sample::with_history()?;
        sample.sync()?;
        sample.git(&["add", "--all"])?;
        sample.git(&["commit", "--quiet", "--message", "Keep what was learned"])?;
        Self::of(sample)
    }

    fn of(sample: Sample) -> io::Result<Self> {
        let home = sample.environment.home().into_os_string();
        let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| home.clone()))
            .ok_or(io::ErrorKind::NotFound)?;
        let tree = Tree::find(&dirs, &sample.root).ok_or(io::ErrorKind::NotFound)?;
        let (acknowledged, purged) = Default::default();
        Ok(Self { sample, dirs, tree, acknowledged, purged, forgotten: 0, number: 0 })
    }

    /// Runs a writer under a plan with a fault, and records its result if it was acknowledged.
    pub fn run(&mut self, writer: Writer, plan: impl FnOnce(Plan) -> Plan) -> io::Result<Run> {
        self.number += 1;
        let Task { mut command, input, program, claim } = self.task(writer, self.number)?;
        let mut counting = Plan::counting(&self.sample.environment.path());
        counting.program = program;
        let run = fault::run(&mut command, &input, plan(counting))?;
        self.tidy()?;
        self.note(&claim, writer.is_acknowledged(&run));
        Ok(run)
    }

    /// Removes the lock files that a killed git leaves behind; git's messages ask users to do so.
    fn tidy(&self) -> io::Result<()> {
        for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
            match std::fs::remove_file(self.sample.root.join(".git").join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Records the claim of a writer. If it was not acknowledged, the change may or may not have happened, so the trial
    /// adopts the state of the store.
    fn note(&mut self, claim: &Claim, is_acknowledged: bool) {
        match claim {
            Claim::Nothing => {}
            Claim::Purged(session) if is_acknowledged => self.purged.push(session.clone()),
            Claim::Purged(_) => {}
            Claim::Kept { title, replaces } => {
                let found = self.find(title);
                if let Some(old) = replaces
                    && (is_acknowledged || found.is_some())
                {
                    self.acknowledged.remove(old);
                }
                let id = found.map(|stored| stored.memory.id);
                if is_acknowledged {
                    // If there is no id, an unused id is recorded, and the check reports the memory as lost.
                    let id = id.unwrap_or(MemoryId([0xff; 16]));
                    self.acknowledged.insert(title.clone(), (id, Acknowledged::Kept));
                } else if let Some(id) = id {
                    self.acknowledged.insert(title.clone(), (id, Acknowledged::Kept));
                }
            }
            Claim::Gone { title } => {
                self.forgotten += 1;
                let is_there = self.find(title).is_some();
                match self.acknowledged.get_mut(title) {
                    Some((_, outcome)) if is_acknowledged || !is_there => {
                        *outcome = Acknowledged::Gone
                    }
                    _ => {}
                }
            }
        }
    }

    fn store(&self) -> io::Result<Store> {
        Store::open(&self.dirs, &self.tree).map_err(io::Error::other)
    }

    fn memories(&self) -> Vec<Stored> {
        let listing = self.store().and_then(|store| store.list().map_err(io::Error::other));
        listing.map(|listing| listing.memories).unwrap_or_default()
    }

    fn find(&self, title: &str) -> Option<Stored> {
        self.memories().into_iter().find(|stored| stored.memory.title == title)
    }

    /// Returns the titles of memories with this acknowledged result.
    fn titles(&self, outcome: Acknowledged) -> Vec<String> {
        let all = self.acknowledged.iter().filter(|(_, (_, found))| *found == outcome);
        all.map(|(title, _)| title.clone()).collect()
    }

    /// Writes the transcript of another session that resembles one of the sample.
    fn write_session(&self, number: u32) -> io::Result<()> {
        let stories = crate::sample_project::stories()?;
        let mut story: Story = stories[number as usize % stories.len()].clone();
        story.session = format!("{number:08x}-{}", &story.session[9..]);
        for step in &mut story.steps {
            if let Some(text) = step["user"].as_str() {
                step["user"] = format!("{text} (round {number})").into();
            }
        }
        story.write(&self.sample.environment.claude_dir(), &self.sample.root)?;
        Ok(())
    }

    /// Returns the project's id.
    pub fn project(&self) -> ProjectId {
        self.tree.project
    }

    /// Returns the folder of the trial.
    pub fn path(&self) -> &Path {
        &self.sample.root
    }
}
