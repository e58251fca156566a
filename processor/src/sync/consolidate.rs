//! The step of a sync that makes memories of the drafts of all sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory_store::embed::Table;
use memory_store::knowledge::{Knowledge, KnowledgeOptions};
use memory_store::ledger::Ledger;
use memory_store::memory::Status;
use memory_store::reviewed::Reviewed;
use memory_store::succession::superseded;
use memory_store::trust::Trust;
use memory_store::{Kind, Memory, MemoryId};

use super::context::SyncContext;
use super::kept;
use super::mine::SessionQuestions;
use super::models::Models;
use crate::consolidate::touched::Work;
use crate::consolidate::{self, Mined, Relations, memory_id, ordered, synthesis};
use crate::extract::draft::Draft;
use crate::llm::AskWhen;
use crate::mining::{LATER, MinedFile};
use crate::session_records;

/// Outcome of consolidation.
#[derive(Debug, Default)]
pub(super) struct Consolidated {
    /// Memories made of the drafts.
    pub memories: Vec<Memory>,
    /// Number of questions about relations of drafts that a model answered.
    pub questions: usize,
    /// Number of questions that were postponed for lack of time.
    pub relations_later: usize,
    /// Whether a question must be sent again because the model did not answer it.
    pub relations_wait: bool,
    /// Problems that did not stop the step.
    pub warnings: Vec<String>,
}

/// Makes memories of the drafts of all sessions. If a model is set, it determines the relations of drafts; `asked` is
/// the outcome of its questions about sessions.
pub(super) fn consolidate(
    context: &SyncContext<'_>,
    mined: &[MinedFile],
    asked: SessionQuestions,
    models: &mut Models,
) -> Consolidated {
    context.options.progress.stage("writing", 0);
    let all: Vec<Mined> = mined
        .iter()
        .map(|file| Mined {
            session: file.session.clone(),
            windows: file.windows,
            drafts: file.drafts.clone(),
        })
        .collect();
    let mut outcome = Consolidated::default();
    let relations = relations(context, &all, &works(mined), asked, models, &mut outcome);
    outcome.relations_later = relations.later;
    outcome.relations_wait = relations.missing > 0;
    let project = context.options.tree.project;
    outcome.memories = consolidate::consolidate(project, &all, &context.settings, &relations);
    end_facts(context, &mut outcome.memories);
    add_syntheses(context, &mut outcome.memories);
    if relations.missing == 0 && !relations.asked.is_empty() {
        let there = outcome.memories.iter().map(|memory| memory.id).chain(relations.kept.clone());
        let links = relations.links(&there.collect());
        if let Err(error) = Reviewed::change(&context.home, |reviewed| reviewed.propose(links)) {
            outcome
                .warnings
                .push(format!("proposed links of memories could not be noted: {error}"));
        }
    }
    outcome
}

/// Sets the end date of facts in derived memories if a newer fact excludes them. The newer fact may be in a derived
/// memory or in one by a person or Claude. Files of people are not changed; `throughline review` proposes the end date
/// for them.
fn end_facts(context: &SyncContext<'_>, memories: &mut [Memory]) {
    if memories.iter().all(|memory| memory.facts.is_empty()) {
        return;
    }
    let Some(store) = kept::store(context) else { return };
    let written = kept::memories(&store, context);
    let table = Table::installed(context.dirs());
    let reviewed = Reviewed::read(&context.home);
    let options = KnowledgeOptions {
        settings: &context.settings.knowledge,
        confirmed: &store.names().0,
        embed: &|text| table.as_ref()?.embed(text).ok().flatten(),
        hold_both: &|one, other| reviewed.hold_both(one, other),
    };
    let all: Vec<&Memory> = memories.iter().chain(&written).collect();
    let statements = Knowledge::of(&all, &options).book.statements;
    let places: HashMap<MemoryId, usize> =
        memories.iter().enumerate().map(|(at, memory)| (memory.id, at)).collect();
    for statement in statements {
        let (Some((end, _)), Some(&at)) = (statement.closed, places.get(&statement.memory)) else {
            continue;
        };
        if let Some(fact) = memories[at].facts.get_mut(statement.place) {
            fact.to.get_or_insert(end);
        }
    }
}

/// Adds syntheses of the memories of each name. Of a memory whose file was edited, the file counts; one that a person
/// removed or turned down does not count, nor does one of the repository.
fn add_syntheses(context: &SyncContext<'_>, memories: &mut Vec<Memory>) {
    let settings = &context.settings;
    if !settings.kinds.is_empty() && !settings.kinds.contains(&Kind::Synthesis) {
        return;
    }
    let Some(store) = kept::store(context) else { return };
    let (Ok(trust), Ok(ledger), Ok(listing)) =
        (Trust::of(&store, settings), Ledger::open(&context.home), store.list())
    else {
        return;
    };
    let redactor = store.redactor(settings);
    let of_files: BTreeMap<MemoryId, Option<Memory>> = listing
        .memories
        .iter()
        .map(|stored| {
            let is_own = !trust.is_from_repository(stored);
            (stored.memory.id, is_own.then(|| redactor.redacted(&stored.memory)))
        })
        .collect();
    let derived = memories.iter().filter(|memory| {
        !of_files.contains_key(&memory.id) && ledger.tombstone(memory.id).is_none()
    });
    let all: Vec<&Memory> = of_files.values().flatten().chain(derived).collect();
    let replaced = superseded(all.iter().copied(), context.options.now);
    let counts = |memory: &&&Memory| synthesis::counts(memory) && !replaced.contains(&memory.id);
    let parts: Vec<&Memory> = all.iter().filter(counts).copied().collect();
    let is_accepted =
        |memory: &&&Memory| memory.kind == Kind::Synthesis && memory.status == Status::Active;
    let accepted: Vec<&Memory> = all.iter().filter(is_accepted).copied().collect();
    let table = Table::installed(context.dirs());
    let options = KnowledgeOptions {
        settings: &settings.knowledge,
        confirmed: &store.names().0,
        embed: &|text| table.as_ref()?.embed(text).ok().flatten(),
        hold_both: &|_, _| false,
    };
    let entities = Knowledge::of(&parts, &options).entities;
    let project = context.options.tree.project;
    let made = synthesis::syntheses(project, &parts, &accepted, &entities);
    memories.extend(made);
}

/// Returns the work of sessions, in the order of their time. A session that a model has not read to its end is left
/// out: it may continue, and each end would be another question.
fn works(mined: &[MinedFile]) -> Vec<Work> {
    let waiting: BTreeSet<&str> = mined
        .iter()
        .filter(|file| file.key.starts_with(LATER))
        .map(|file| file.session.as_str())
        .collect();
    let read = mined.iter().filter(|file| !waiting.contains(file.session.as_str()));
    let records = session_records::united(read.map(|file| (file.name.as_str(), file)));
    let mut works: Vec<Work> = records.iter().filter_map(Work::of).collect();
    works.sort_by(|a, b| (a.at, &a.session).cmp(&(b.at, &b.session)));
    works
}

/// Returns the relations of the drafts of all sessions to one another and to later work, as determined by the model.
/// Without a model there are none.
fn relations(
    context: &SyncContext<'_>,
    mined: &[Mined],
    works: &[Work],
    asked: SessionQuestions,
    models: &mut Models,
    outcome: &mut Consolidated,
) -> Relations {
    let drafts = ordered(mined, &context.settings);
    let drafts: Vec<&Draft> =
        drafts.into_iter().filter(|draft| draft.importance.is_some()).collect();
    let kept = kept::notes(context);
    if drafts.is_empty() && kept.is_empty() {
        return Relations::default();
    }
    let Some(model) = models.language(context, &mut outcome.warnings) else {
        return Relations::default();
    };
    context.options.progress.stage("comparing", 0);
    let table = Table::installed(context.dirs());
    let embed = |text: &str| table.as_ref()?.embed(text).ok().flatten();
    let project = context.options.tree.project;
    // While questions about sessions wait, questions about relations get the remaining time.
    model.ask(match asked.until {
        Some(until) if asked.later == 0 => AskWhen::OnceUntil(until),
        Some(until) => AskWhen::Until(until),
        None => AskWhen::Always,
    });
    let before = model.questions();
    let warnings = &mut outcome.warnings;
    let mut noted: Vec<&Draft> = drafts.iter().copied().chain(&kept).collect();
    noted.sort_by_key(|draft| draft.occurred);
    let name = |draft: &Draft| kept::id(draft).unwrap_or_else(|| memory_id(project, draft));
    let mut relations = model.relations(&name, &noted, &embed, warnings);
    relations.kept = kept.iter().filter_map(kept::id).collect();
    if relations.missing == 0
        && let Err(error) = Reviewed::change(&context.home, |reviewed| {
            reviewed.note_differing(relations.kept_differing());
        })
    {
        warnings.push(format!("pairs of memories that differ could not be noted: {error}"));
    }
    model.overtaken(project, &drafts, works, &embed, &mut relations, warnings);
    outcome.questions += model.questions() - before;
    relations
}
