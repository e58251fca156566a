//! Consolidation: from all drafts of a project to its memories.
//!
//! Consolidation is a pure function of the complete set of drafts. It first sorts the drafts, so the result depends
//! neither on the order in which sessions were processed nor on the number of runs.

mod distinct;
mod draft_entry;
mod importance;
pub mod near;
pub mod relation;
mod same;
mod supersede;
pub mod synthesis;
pub mod touched;

use memory_store::memory::{PathRef, Source, Status};
use memory_store::neighbour::CONTRADICTS;
use memory_store::settings::Settings;
use memory_store::{Kind, Memory, MemoryId, ProjectId};

use crate::extract::draft::Draft;
use draft_entry::{DraftEntry, is_of_model};

pub use draft_entry::memory_id;
pub use relation::{DraftRelation, Relations};

/// Drafts mined from one session; those of its subagents may be included or separate.
#[derive(Clone, Debug, Default)]
pub struct Mined {
    /// Id of the session.
    pub session: String,
    /// Number of windows about which a model was asked; 0 without a model.
    pub windows: usize,
    /// Drafts of the session.
    pub drafts: Vec<Draft>,
}

/// Returns the drafts of a project without duplicates, ordered by time. Drafts of kinds that the settings exclude are
/// omitted.
pub fn ordered<'a>(mined: &'a [Mined], settings: &Settings) -> Vec<&'a Draft> {
    let mut drafts: Vec<&Draft> = mined.iter().flat_map(|mined| &mined.drafts).collect();
    if !settings.kinds.is_empty() {
        drafts.retain(|draft| settings.kinds.contains(&draft.kind));
    }
    drafts.sort_by(|a, b| order(a).cmp(&order(b)));
    drafts.dedup_by(|a, b| order(a) == order(b));
    drafts
}

/// Returns the memories derived from all drafts of a project, ordered by time. `relations` are the relations of drafts
/// according to a model.
pub fn consolidate(
    project: ProjectId,
    mined: &[Mined],
    settings: &Settings,
    relations: &Relations,
) -> Vec<Memory> {
    let drafts = ordered(mined, settings).into_iter().cloned();
    let windows = mined.iter().map(|mined| mined.windows).sum();
    let entries = relations.unite(project, drafts.map(DraftEntry::new).collect());
    let mut entries = same::merge(project, entries);
    relations.leave_out_kept(project, &mut entries);
    relations.leave_out_overtaken(project, &mut entries);
    let (of_model, of_rules): (Vec<DraftEntry>, Vec<DraftEntry>) =
        entries.into_iter().partition(|entry| is_of_model(&entry.draft));
    let mut entries = of_rules;
    entries.extend(importance::choose(of_model, windows));
    entries.sort_by(|a, b| order(&a.draft).cmp(&order(&b.draft)));
    supersede::mark(project, &mut entries, &relations.asked);
    relations.mark(project, &mut entries);
    distinct::titles(&mut entries);
    memories(project, entries)
}

/// Returns the sort key of a draft. It is unique, so the result does not depend on the previous order.
fn order(draft: &Draft) -> (i64, &str, &str, Kind, u32, &str) {
    let first = draft.turns.first().map_or("", String::as_str);
    (
        draft.occurred.0,
        draft.session.as_str(),
        first,
        draft.kind,
        draft.ordinal,
        draft.extractor.as_str(),
    )
}

fn memories(project: ProjectId, entries: Vec<DraftEntry>) -> Vec<Memory> {
    let ids: Vec<MemoryId> = entries.iter().map(|entry| memory_id(project, &entry.draft)).collect();
    let mut memories: Vec<Memory> =
        entries.into_iter().zip(&ids).map(|(entry, &id)| memory(id, entry, &ids)).collect();
    let links: Vec<(MemoryId, MemoryId)> =
        memories.iter().filter_map(|memory| Some((memory.id, memory.superseded_by?))).collect();
    for (old, new) in links {
        if let Some(newer) = memories.iter_mut().find(|memory| memory.id == new) {
            newer.supersedes.push(old);
        }
    }
    memories
}

fn memory(id: MemoryId, entry: DraftEntry, ids: &[MemoryId]) -> Memory {
    let draft = entry.draft;
    Memory {
        id,
        kind: draft.kind,
        title: draft.title,
        body: draft.body,
        scope: draft.scope,
        created: draft.occurred,
        occurred: Some(draft.occurred),
        valid_from: None,
        valid_until: None,
        // Two digits: confidence is not more precise, and files contain only two.
        confidence: (draft.confidence * 100.0).round() / 100.0,
        source: Source {
            session: Some(draft.session),
            turns: draft.turns,
            quote: Some(draft.quote).filter(|quote| !quote.is_empty()),
            said_by: Some(draft.said_by),
            extractor: Some(draft.extractor),
        },
        paths: draft.paths.into_iter().map(|path| PathRef { path, seen: None }).collect(),
        topic: draft.topic,
        agent: None,
        tags: draft.tags,
        cues: draft.cues,
        entities: draft.entities,
        facts: draft.facts,
        relations: entry
            .contradicts
            .into_iter()
            .map(|to| memory_store::memory::Relation { kind: CONTRADICTS.to_owned(), to })
            .collect(),
        guards: Vec::new(),
        supersedes: Vec::new(),
        superseded_by: entry.superseded_by.and_then(|index| ids.get(index).copied()),
        pinned: false,
        status: Status::Active,
        held_for: None,
        author: None,
        signatures: draft.signatures,
        command: None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
