//! The first glance after a backfill: how much was learned, and the best of it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::Write;

use memory_store::layout::Tree;
use memory_store::memory::{Memory, Source, Status};
use memory_store::recall::start_rank::{Standing, worth};
use memory_store::{Kind, MemoryId};
use serde::Serialize;

use super::stores::Stores;
use super::view;
use crate::failure::Result;
use crate::style::{NAME, QUIET, STRONG, paint};
use crate::world::World;
use crate::wrap;

/// Confidence from which on a memory is worth keeping; others may be.
const WORTH_CONFIDENCE: f32 = 0.7;
/// Memories that are shown.
const BEST_MAX: usize = 3;

/// Counts of what was learned, and the best of it.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Glance {
    /// Sessions in the archive.
    sessions: usize,
    /// Memories worth keeping, apart from fixes and commands.
    worth: usize,
    /// Errors with their cure.
    fixes: usize,
    /// Commands that work.
    commands: usize,
    /// Others.
    more: usize,
    /// Memories that wait for a review before they come into the repository.
    waiting: usize,
    best: Vec<Shown>,
}

/// One of the best.
#[derive(Debug, PartialEq, Serialize)]
struct Shown {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: String,
}

impl Glance {
    /// Looks at what was learned in a project from so many sessions.
    pub fn of(world: &World, tree: &Tree, sessions: usize) -> Result<Self> {
        let stores = Stores::at(world, tree.clone())?;
        let held = stores.held()?;
        let held: BTreeSet<MemoryId> = held.iter().map(|held| held.stored.memory.id).collect();
        let memories: Vec<Memory> = stores
            .project
            .list()?
            .memories
            .into_iter()
            .map(|stored| stored.memory)
            .filter(|memory| is_learned(memory) && !held.contains(&memory.id))
            .collect();
        let worth = |memory: &Memory| worth(&Standing::from(memory), &stores.settings, world.now);
        Ok(Self::over(memories, sessions, worth))
    }

    /// Counts memories, and picks the best: those worth keeping before fixes, fixes before commands, each by its worth,
    /// and what waits after all others.
    fn over(mut memories: Vec<Memory>, sessions: usize, worth: impl Fn(&Memory) -> f32) -> Self {
        let mut glance = Self { sessions, ..Self::default() };
        for memory in &memories {
            let counted = match Rank::of(memory) {
                Rank::Worth => &mut glance.worth,
                Rank::Fix => &mut glance.fixes,
                Rank::Command => &mut glance.commands,
                Rank::More => &mut glance.more,
            };
            *counted += 1;
            glance.waiting += usize::from(memory.waits());
        }
        memories.sort_by(|one, other| {
            (one.waits(), Rank::of(one))
                .cmp(&(other.waits(), Rank::of(other)))
                .then(worth(other).total_cmp(&worth(one)))
                .then(Reverse(one.confidence.to_bits()).cmp(&Reverse(other.confidence.to_bits())))
                .then(one.id.cmp(&other.id))
        });
        glance.best = memories.into_iter().take(BEST_MAX).map(Shown::of).collect();
        glance
    }

    /// Prints it.
    pub fn show(&self, millis: u64, out: &mut dyn Write) -> Result {
        let Self { sessions, worth, fixes, commands, more, .. } = self;
        let parts = [
            (*worth, if *worth == 1 { "memory worth keeping" } else { "memories worth keeping" }),
            (*fixes, if *fixes == 1 { "known fix" } else { "known fixes" }),
            (*commands, if *commands == 1 { "command" } else { "commands" }),
            (
                *more,
                match (*worth, *more) {
                    (0, 1) => "memory to look at",
                    (0, _) => "memories to look at",
                    _ => "more",
                },
            ),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let found = if parts.is_empty() {
            "nothing worth keeping yet".to_owned()
        } else {
            parts.join(", ")
        };
        let sessions = view::plural(*sessions, "session");
        let took = paint(QUIET, format_args!("({:.1} s)", millis as f64 / 1e3));
        writeln!(out, "\n{} {took}", paint(STRONG, format!("{sessions}: {found}")))?;
        let widest =
            self.best.iter().map(|shown| shown.kind.name().len()).max().unwrap_or_default();
        for Shown { short, kind, title, .. } in &self.best {
            let room = wrap::room().saturating_sub(short.len() + widest + 6);
            let title = wrap::cut(&view::plain(title), room);
            let kind = paint(QUIET, format_args!("{:<widest$}", kind.name()));
            writeln!(out, "  {}  {kind}  {title}", paint(NAME, short))?;
        }
        match (self.waiting, self.best.len()) {
            (0, 0) => {}
            (0, _) => writeln!(
                out,
                "`throughline review` shows them all and asks about each with one key."
            )?,
            (waiting, _) => writeln!(
                out,
                "{waiting} {} pending: given to sessions, but private until accepted in `throughline review`.",
                view::are(waiting)
            )?,
        }
        Ok(())
    }
}

impl Shown {
    fn of(memory: Memory) -> Self {
        Self { short: memory.id.short(), id: memory.id, kind: memory.kind, title: memory.title }
    }
}

/// Groups of memories in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Worth,
    Fix,
    Command,
    More,
}

impl Rank {
    fn of(memory: &Memory) -> Self {
        match memory.kind {
            Kind::Fix => Self::Fix,
            Kind::Command => Self::Command,
            // A session's digest is no knowledge of the project.
            Kind::Session => Self::More,
            Kind::Decision
            | Kind::Convention
            | Kind::Preference
            | Kind::Fact
            | Kind::Procedure
            | Kind::Gotcha
            | Kind::FailedApproach
            | Kind::Task
            | Kind::Synthesis => match memory.confidence >= WORTH_CONFIDENCE {
                true => Self::Worth,
                false => Self::More,
            },
        }
    }
}

/// Whether a memory comes from sessions and stands, or waits to.
fn is_learned(memory: &Memory) -> bool {
    memory.superseded_by.is_none()
        && memory.source.extractor.as_deref().is_some_and(|by| by != Source::TYPED)
        && matches!(memory.status, Status::Active | Status::Held)
}
