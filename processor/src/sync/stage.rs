//! The part of publishing that stages passages that are missing in the indexes, in portions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use anyhow::Result;
use memory_store::Timestamp;
use memory_store::index::build::{SEGMENT_PASSAGES_MAX, Staged, Vectors};
use memory_store::index::document::Passage;

use super::context::SyncContext;
use crate::collect::forks::Ownership;
use crate::collect::newest::in_order;
use crate::mining::Miner;
use crate::passages;
use crate::state::State;
use crate::transcript::parts;

/// Maximum number of passages in memory during staging, which is the number in one segment.
pub(super) const PASSAGES_AT_ONCE: usize = SEGMENT_PASSAGES_MAX as usize;

/// Number of sessions that are read in one group, before their passages are counted.
const SESSIONS_AT_ONCE: usize = 64;

/// Staged data for the indexes of a working tree; `None` for an unchanged index.
#[derive(Debug, Default)]
pub(super) struct StagedTree {
    /// Passages.
    pub passages: Option<Staged>,
    /// The model's thinking in the turns, for a separate index.
    pub thoughts: Option<Staged>,
}

/// Staged parts for the indexes of all working trees, by their roots.
#[derive(Debug, Default)]
pub(super) struct StagedTrees(BTreeMap<PathBuf, StagedTree>);

impl StagedTrees {
    /// Removes and returns the staged data for one working tree.
    pub fn take(&mut self, root: &Path) -> StagedTree {
        self.0.remove(root).unwrap_or_default()
    }
}

/// Outcome of staging.
#[derive(Debug, Default)]
pub(super) struct StagingOutcome {
    /// Staged data for the indexes.
    pub staged: StagedTrees,
    /// Sessions that cannot be read now. The next run stages their turns.
    pub unread: BTreeSet<String>,
    /// Reasons why these cannot be read.
    pub warnings: Vec<String>,
}

/// Inputs of staging.
#[derive(Clone, Copy)]
pub(super) struct Staging<'a> {
    pub context: &'a SyncContext<'a>,
    pub state: &'a State,
    pub ownership: &'a Ownership,
    pub vectors: Option<&'a dyn Vectors>,
}

impl Staging<'_> {
    /// Stages the passages that are missing in the indexes, in portions of limited size. They are not visible until a
    /// manifest names all of them. Sessions that cannot be read now are returned in the outcome.
    pub fn stage(self, at_once: usize) -> Result<StagingOutcome> {
        let mut outcome = StagingOutcome::default();
        let mut lacking = VecDeque::from(self.lacking());
        self.context.options.progress.stage("indexing", lacking.len());
        if self.state.all_turns {
            // This portion is staged even if there are no turns, so that the index is replaced.
            self.stage_portion(&Lacking::default(), &mut outcome.staged)?;
        }
        while !lacking.is_empty() {
            let portion = self.take_portion(&mut lacking, at_once, &mut outcome);
            self.stage_portion(&portion, &mut outcome.staged)?;
        }
        Ok(outcome)
    }

    fn stage_portion(self, portion: &Lacking, staged: &mut StagedTrees) -> Result<()> {
        let all = self.state.all_turns;
        let add =
            |staged: &mut Option<Staged>, folder: PathBuf, passages: &[Passage]| -> Result<()> {
                if passages.is_empty() && !all {
                    return Ok(());
                }
                let mut begun = match staged.take() {
                    Some(begun) => begun,
                    None => Staged::begin(&folder, all)?,
                };
                begun.add(self.vectors, &mut passages.iter().cloned())?;
                *staged = Some(begun);
                Ok(())
            };
        for tree in &self.context.trees {
            let folders = self.context.dirs().tree(&tree.root);
            let staged = staged.0.entry(tree.root.clone()).or_default();
            add(&mut staged.passages, folders.index, &portion.passages)?;
            if self.context.thinks(tree) {
                add(&mut staged.thoughts, folders.thinking, &portion.thoughts)?;
            }
        }
        Ok(())
    }

    /// Returns the sessions with turns that are missing in the index, the oldest first.
    fn lacking(self) -> Vec<String> {
        let sessions = self.state.sessions.iter();
        let mut lacking: Vec<(Timestamp, &String)> = sessions
            .filter(|(name, _)| self.state.all_turns || self.state.pending.contains(*name))
            .map(|(name, session)| (session.first, name))
            .collect();
        lacking.sort();
        self.context.sessions.archive.by_pack(&mut lacking, |(_, name)| name);
        lacking.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// Returns the number of turns in the earlier parts of a session.
    fn turns_before(self, name: &str) -> usize {
        let (session, number) = parts::of_name(name);
        let before = self.state.sessions.range(parts::name(session, 1)..);
        let before = before.take_while(|(other, _)| {
            let (of, other) = parts::of_name(other);
            of == session && (number == 0 || other < number)
        });
        before.filter_map(|(_, state)| Some(state.mined.as_ref()?.turns)).sum()
    }

    /// Removes sessions from the queue and reads their passages, until there are enough.
    fn take_portion(
        self,
        sessions: &mut VecDeque<String>,
        at_once: usize,
        outcome: &mut StagingOutcome,
    ) -> Lacking {
        let mut portion = Lacking::default();
        while portion.passages.len() + portion.thoughts.len() < at_once && !sessions.is_empty() {
            let names: Vec<String> =
                sessions.drain(..sessions.len().min(SESSIONS_AT_ONCE).min(at_once)).collect();
            let counted: Vec<usize> = names.iter().map(|name| self.turns_before(name)).collect();
            let miner = self.context.miner(self.state, self.ownership);
            let counted: Vec<(&String, usize)> = names.iter().zip(counted).collect();
            let found = in_order(&counted, |(name, before)| {
                let found = Lacking::of(&miner, name, *before);
                self.context.options.progress.step();
                found
            });
            for (name, found) in names.into_iter().zip(found) {
                match found {
                    Ok(Lacking { passages, thoughts }) => {
                        portion.passages.extend(passages);
                        portion.thoughts.extend(thoughts);
                    }
                    Err(error) => {
                        outcome.warnings.push(format!("{error:#}"));
                        outcome.unread.insert(name);
                    }
                }
            }
        }
        portion
    }
}

/// Passages and thinking that are missing in the indexes.
#[derive(Debug, Default)]
struct Lacking {
    /// Passages.
    passages: Vec<Passage>,
    /// The model's thinking in the turns.
    thoughts: Vec<Passage>,
}

impl Lacking {
    fn of(miner: &Miner<'_>, name: &str, before: usize) -> Result<Self> {
        let sessions = miner.sessions(name)?;
        let roots = miner.roots();
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        let counted = |mut passage: Passage| {
            passage.turn = passage.turn.saturating_add(before);
            // Only the first part of a session has the title.
            if before > 0 {
                passage.title.clear();
            }
            // Text that resembles a credential is removed, because hooks print passages unchanged.
            for text in [&mut passage.text, &mut passage.title] {
                if let Cow::Owned(clean) = miner.redact.withhold(text.as_str()) {
                    *text = clean;
                }
            }
            passage
        };
        let passages = sessions.iter().flat_map(|it| passages::of_session(it, &roots));
        let thoughts = sessions.iter().flat_map(|it| passages::thoughts_of_session(it, &roots));
        Ok(Self {
            passages: passages.map(counted).collect(),
            thoughts: thoughts.map(counted).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use memory_store::identity::Mode;
    use memory_store::index::Index;
    use memory_store::index::segment::Segment;

    use crate::collect::archive::{SessionFile, SessionHeader};
    use crate::for_tests::Project;
    use crate::transcript::record::{Record, RecordWhat};
    use crate::transcript::session::PromptBy;

    use super::super::SyncOptions;
    use super::super::collect::match_archive;
    use super::super::heal::Distrusted;
    use super::super::mine::note_pending;
    use super::super::models::Models;
    use super::super::publish::publish_memories;
    use super::*;

    /// Returns a session of two turns, with thinking in the first.
    fn session(number: i64, root: &str) -> SessionFile {
        let id = format!("session-{number}");
        let record = |step: i64, what: RecordWhat| Record {
            uuid: format!("{id}-{step}"),
            part: 0,
            parent: if step == 0 { String::new() } else { format!("{id}-{}", step - 1) },
            at: Timestamp(1_790_000_000_000 + number * 100_000 + step * 1_000),
            side: false,
            what,
        };
        let prompt = |text: &str| RecordWhat::Prompt {
            cwd: root.to_owned(),
            branch: String::new(),
            text: format!("{text} of {number}"),
            by: PromptBy::User,
            images: 0,
        };
        let message = |text: &str| (format!("{id}-{text}"), format!("{text} of {number}"));
        let said = |(message, text)| RecordWhat::Text { message, text };
        let thought = |(message, text)| RecordWhat::Thinking { message, text };
        let records = vec![
            record(0, prompt("What is the first")),
            record(1, thought(message("A thought that says enough to become a passage"))),
            record(2, said(message("The first answer"))),
            record(3, prompt("What is the second")),
            record(4, said(message("The second answer"))),
        ];
        SessionFile { header: SessionHeader { session: id, ..SessionHeader::default() }, records }
    }

    /// A project without a published index, with a context for its steps.
    struct Bench<'a> {
        context: SyncContext<'a>,
        state: State,
    }

    impl<'a> Bench<'a> {
        fn open(options: &'a SyncOptions<'a>) -> Self {
            let (context, _) = SyncContext::open(options).unwrap();
            let mut state = State::read(&context.home);
            state.all_turns = true;
            Self { context, state }
        }

        fn archive(&mut self, files: impl Iterator<Item = SessionFile>) {
            let archive = &self.context.sessions.archive;
            files.for_each(|file| drop(archive.store(&file).unwrap()));
            let entries = archive.entries().unwrap();
            match_archive(&self.context, &mut self.state, &entries).unwrap();
        }

        fn ownership(&self) -> Ownership {
            self.context.holders(&self.state).ownership()
        }

        fn staging<'b>(&'b self, ownership: &'b Ownership) -> Staging<'b> {
            Staging { context: &self.context, state: &self.state, ownership, vectors: None }
        }

        fn stage(&self, at_once: usize) -> StagingOutcome {
            self.staging(&self.ownership()).stage(at_once).unwrap()
        }

        fn publish(&self, staged: StagedTrees) {
            let models = Models::default();
            let distrusted = &mut Distrusted::new();
            publish_memories(&self.context, &self.state, &models, staged, distrusted).unwrap();
        }
    }

    #[test]
    fn turns_whose_words_were_cut_otherwise_are_read_again() {
        let project = Project::new(Mode::Private);
        let options = project.sync();
        let mut bench = Bench::open(&options);
        bench.archive([session(1, project.root().to_str().unwrap())].into_iter());
        bench.publish(bench.stage(3).staged);
        bench.state.all_turns = false;

        for (terms, all_turns) in
            [(memory_store::text::VERSION, false), (memory_store::text::VERSION - 1, true)]
        {
            (bench.state.terms, bench.state.passages) = (terms, passages::version());
            let Bench { context, state } = &mut bench;
            note_pending(context, state, &[], &BTreeSet::new()).unwrap();
            assert_eq!(bench.state.all_turns, all_turns);
        }
    }

    #[test]
    fn portions_are_seen_once_all_of_them_are_there() {
        let project = Project::new(Mode::Private);
        memory_store::thinking::want(&project.dirs.tree(project.root())).unwrap();
        let (dirs, root) = (&project.dirs, project.root());
        let options = project.sync();
        let mut bench = Bench::open(&options);
        bench.archive((0..5).map(|number| session(number, root.to_str().unwrap())));
        let seen = || {
            let state = dirs.tree(root);
            let docs = |folder: PathBuf| match Index::open(&folder).unwrap() {
                Some(index) => index.passages().0.iter().map(Segment::docs).sum(),
                None => 0,
            };
            (docs(state.index.clone()), docs(state.thinking.clone()))
        };

        let staged = bench.stage(3).staged;
        assert_eq!(seen(), (0, 0));
        bench.publish(staged);
        assert_eq!(seen(), (20, 5));

        // An unreadable session is reported and omitted. It is published when it can be read again.
        let unreadable = bench.context.sessions.archive.path("session-2");
        let bytes = std::fs::read(&unreadable).unwrap();
        std::fs::write(&unreadable, &bytes[..bytes.len() / 2]).unwrap();
        let StagingOutcome { staged, unread, warnings } = bench.stage(3);
        bench.publish(staged);
        assert_eq!(seen(), (16, 4));
        assert_eq!(unread, ["session-2".to_owned()].into());
        assert_eq!(warnings.len(), 1);
        std::fs::write(&unreadable, bytes).unwrap();
        (bench.state.all_turns, bench.state.pending) = (false, unread);
        bench.publish(bench.stage(1).staged);
        assert_eq!(seen(), (20, 5));

        // After a failure between two portions, the old index is still in use, without any of the new portions.
        bench.state.all_turns = true;
        let state = dirs.tree(root);
        let files = |folder: &Path| -> BTreeSet<OsString> {
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name()).collect()
        };
        let before = (files(&state.index), files(&state.thinking));
        let (thinking, aside) = (state.thinking.clone(), state.thinking.with_extension("aside"));
        let ownership = bench.ownership();
        let staging = bench.staging(&ownership);
        let mut outcome = StagingOutcome::default();
        let mut lacking = VecDeque::from(staging.lacking());
        let portion = staging.take_portion(&mut lacking, 1, &mut outcome);
        staging.stage_portion(&portion, &mut outcome.staged).unwrap();
        assert_ne!(files(&state.index), before.0);
        std::fs::rename(&thinking, &aside).unwrap();
        std::fs::write(&thinking, "no folder").unwrap();
        let portion = staging.take_portion(&mut lacking, 1, &mut outcome);
        assert!(staging.stage_portion(&portion, &mut outcome.staged).is_err());
        drop(outcome);
        std::fs::remove_file(&thinking).unwrap();
        std::fs::rename(&aside, &thinking).unwrap();
        assert_eq!(seen(), (20, 5));
        assert_eq!(files(&state.index), before.0);
        // A file that could not be removed is removed by the next attempt.
        assert_ne!(files(&thinking), before.1);
        drop(bench.stage(3));
        assert_eq!((files(&state.index), files(&thinking)), before);
        assert_eq!(seen(), (20, 5));
    }
}
