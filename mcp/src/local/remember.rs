//! Saves or changes a memory at the model's request, and reports its neighbours.

use std::path::{Component, Path};

use memory_store::field_lines::put_fact;
use memory_store::index::journal;
use memory_store::layout::Tree;
use memory_store::ledger::{Asked, PendingChange};
use memory_store::memory::{
    Fact, HeldFor, Memory, PathRef, Relation, SaidBy, Scope, Source, Status,
};
use memory_store::neighbour::{self, CONTRADICTS, Neighbour, Statement, Verdict};
use memory_store::recall::{Collection, Hit, Recall, render};
use memory_store::redact::Redactor;
use memory_store::reviewed::Reviewed;
use memory_store::settings::Settings;
use memory_store::store::{By, Change, Saved, Store, Stored, places, read_below};
use memory_store::text::folded_title;
use memory_store::time::DAY_MS;
use memory_store::trust::Trust;
use memory_store::{Kind, MemoryId, Timestamp, settings_file};

use super::find::{FoundMemory, judged};
use super::recall::speaker;
use super::statements::{add_links, facts, kept_links};
use super::{ANSWER_TOKENS_MAX, Local, relative};
use crate::backend::{NeighbourHit, RememberRequest, RememberResponse, ToolError};
use crate::request::Reach;

/// Confidence of a memory that a model chose to save.
const CONFIDENCE: f32 = 0.9;
/// Maximum bytes of a file whose content is hashed to detect later changes.
const HASHED_BYTES_MAX: usize = 4 << 20;

/// Answer to a request to save a memory for all projects, which only the user may do.
const OF_THIS_PROJECT: &str = "Saved for this project only, as a note by Claude: the user can add a memory for \
                               every project with `throughline add --user`.";

/// The project that a call changes, with the data that is read once.
pub(super) struct ProjectStore {
    pub tree: Tree,
    pub settings: Settings,
    pub recall: Recall,
}

/// A memory that a call has written, with the memories to which it relates.
struct WrittenFile {
    saved: Saved,
    trust: Trust,
    redactor: Redactor,
    scope: Scope,
    replaced: Vec<FoundMemory>,
    /// Statements of the user that this memory replaces if the user agrees.
    asked: Vec<FoundMemory>,
    both_hold: bool,
}

/// The change of a memory that was named by its id.
struct MemoryEdit<'a> {
    request: &'a RememberRequest,
    paths: Vec<PathRef>,
    until: Option<Timestamp>,
    replaced: Vec<MemoryId>,
    /// Time of the change, if the text of the memory changes.
    said: Option<Timestamp>,
    /// New relations, if the text was compared again.
    relations: Option<Vec<Relation>>,
    /// Facts in the request.
    facts: Vec<Fact>,
    /// Links in the request.
    links: Vec<Relation>,
}

impl Local {
    /// Saves or changes a memory.
    ///
    /// # Errors
    /// Returns an error if memory is read-only, or the request is invalid.
    pub fn remember(&self, request: RememberRequest) -> Result<RememberResponse, ToolError> {
        if let Some(outcome) = &request.outcome {
            return self.save_outcome(outcome, &request);
        }
        match &request.id {
            Some(id) => self.change(id, &request),
            None if request.title.is_empty() => self.only_end(&request, &self.project()?),
            None => self.save(request),
        }
    }

    /// Saves a memory. The memories that it replaces are looked up before any change, so that a mistyped id changes
    /// nothing.
    fn save(&self, request: RememberRequest) -> Result<RememberResponse, ToolError> {
        let project = self.project()?;
        let ProjectStore { tree, settings, recall } = &project;
        let now = self.now();
        let both_hold = request.both_hold;
        let asked_tags = request.tags.clone();
        let (links, supersedes) = self.links(&request, None, &project)?;
        let replaced = self.replaced(&supersedes, &project)?;
        let (asked, mut replaced) = users_words(replaced, None)?;
        let until = valid_until(&request)?;
        let (paths, mut notes) = read_paths(&request, until, tree, now);
        let ends = RememberRequest { title: String::new(), ..request.clone() };
        let mut memory = self.memory(request, paths, until, settings)?;
        let same = recall.of_title(memory.kind, &memory.title, now);
        let near = self.near(&memory, &project, &same, both_hold);
        if !both_hold {
            replaced.extend(self.united(&near, &same, &project)?);
        }
        memory.supersedes = ids(&replaced);
        if !both_hold {
            let settled = [ids(&replaced), ids(&asked)].concat();
            memory.relations = neighbour::contradictions(&near, &settled);
        }
        add_links(&mut memory, &links);
        if ends.check {
            return self.checked(&memory, &ends, (&replaced, &asked), near, &project, notes);
        }
        let (store, trust) = judged(Store::open(&self.environment.dirs, tree)?, settings)?;
        let redactor = store.redactor_for_writing(settings)?;
        let scope = memory.scope;
        let saved = if recall.has_index() {
            let same: Vec<_> = same.into_iter().map(|hit| tree.own_file(&hit.file)).collect();
            store.save_beside(memory, &same, &redactor, now)?
        } else {
            store.save(memory, &redactor, now)?
        };
        notes.extend(left_out_of(&asked_tags, &saved));
        let file = WrittenFile { saved, trust, redactor, scope, replaced, asked, both_hold };
        let near = self.finish(&file, near, &project, &mut notes)?;
        notes.extend(self.fact_notes(&file.saved.stored.memory, &project)?);
        notes.extend(self.end_facts(&ends, &project)?.1);
        self.record_saved(file.saved.stored.memory.id, tree);
        Ok(self.response(&file.saved, &project, &near, &notes))
    }

    /// Reports the effect of saving a memory, without saving it.
    fn checked(
        &self,
        memory: &Memory,
        request: &RememberRequest,
        (replaced, asked): (&[FoundMemory], &[FoundMemory]),
        mut near: Vec<Neighbour>,
        project: &ProjectStore,
        mut notes: Vec<String>,
    ) -> Result<RememberResponse, ToolError> {
        notes.insert(0, "Nothing was saved.".to_owned());
        let word = |found: &FoundMemory| found.stored.memory.id.short();
        notes.extend(replaced.iter().map(|it| format!("It would replace {}.", word(it))));
        notes.extend(
            asked
                .iter()
                .map(|it| format!("The user would be asked whether it replaces {}.", word(it))),
        );
        notes.extend(near.iter().filter(|near| near.asks()).map(|near| {
            format!(
                "It {} {} ({}).",
                near.verdict.words(),
                near.id.short(),
                render::clean(&near.title)
            )
        }));
        notes.extend(self.fact_notes(memory, project)?);
        notes.extend(self.end_facts(request, project)?.1);
        near.retain(|near| replaced.iter().all(|older| older.stored.memory.id != near.id));
        let response = self.described(memory, project, &near, &notes);
        let change = format!("checked [{}] {}", response.kind, response.title);
        Ok(RememberResponse { id: String::new(), change, ..response })
    }

    /// Changes the memory with an id.
    fn change(&self, id: &str, request: &RememberRequest) -> Result<RememberResponse, ToolError> {
        let project = self.project()?;
        let ProjectStore { tree, settings, .. } = &project;
        let FoundMemory { store, trust, stored, scope } = self.find(id, &project)?;
        let before = &stored.memory;
        if trust.judgement(&stored, &store.redactor(settings)).held.is_some() {
            let short = before.id.short();
            return Err(ToolError::Request(format!("{short} is held back and cannot be changed")));
        }
        let now = self.now();
        let facts = facts(&request.facts, "facts", now)?;
        let (links, mut replaces) = self.links(request, Some(before.id), &project)?;
        if let Some(by) = before.superseded_by.filter(|_| !replaces.is_empty()) {
            // The memory becomes active again, and replaces the memory that had superseded it.
            replaces.push(by.to_string());
        }
        let replaced = self.replaced(&replaces, &project)?;
        let (asked, replaced) = users_words(replaced, Some(before.id))?;
        let until = valid_until(request)?;
        let restates = changes_statement(before, request);
        let from_repository = trust.is_from_repository(&stored);
        if from_repository {
            check_repository_text(before, request, restates)?;
        } else {
            check_persons(before, scope, store.is_persons(&stored)?, request, restates)?;
        }
        let (paths, mut notes) = read_paths(request, until, tree, now);
        let (said, relations, both_hold) = (restates.then_some(now), None, request.both_hold);
        let in_place = ids(&replaced);
        let mut edit =
            MemoryEdit { request, paths, until, replaced: in_place, said, relations, facts, links };
        // A changed text is compared with its neighbours again; `both_hold` requests the comparison explicitly.
        let mut near = Vec::new();
        if restates || both_hold {
            let mut after = before.clone();
            edit.apply(&mut after);
            near = self.near(&after, &project, &[], both_hold);
            edit.relations = Some(new_relations(before, &near, &edit));
        }
        if request.check {
            let mut after = before.clone();
            edit.apply(&mut after);
            return self.checked(&after, request, (&replaced, &asked), near, &project, notes);
        }
        let redactor = store.redactor_for_writing(settings)?;
        let by = if from_repository { By::Link } else { By::Model };
        let change = |memory: &mut Memory| edit.apply(memory);
        let saved = store.edit_at(&stored.path, before.id, by, &redactor, change)?;
        let file = WrittenFile { saved, trust, redactor, scope, replaced, asked, both_hold };
        let near = self.finish(&file, near, &project, &mut notes)?;
        if !request.facts.is_empty() {
            notes.extend(self.fact_notes(&file.saved.stored.memory, &project)?);
        }
        let (ended, ends) = self.end_facts(request, &project)?;
        notes.extend(ends);
        // The call itself contained the text, so no hook needs to inject the memory into this session.
        if !request.text.is_empty() {
            self.record_saved(before.id, tree);
        }
        self.note_reviewed(before, request, tree, &mut notes)?;
        let is_same = file.saved.change == Change::Unchanged
            && ids(&file.replaced).iter().all(|id| *id == before.id)
            && file.asked.is_empty()
            && ended.is_empty();
        let is_confirmed = request.still_true || both_hold || request.helpful.is_some();
        if is_same && !is_confirmed {
            notes.push(
                "Nothing changed: with `id`, text, title, kind, tags, paths, pin, still_true, valid_until, \
                 supersedes, facts, ends, relations, topic, agent, helpful and both_hold change it."
                    .to_owned(),
            );
        }
        let mut response = self.response(&file.saved, &project, &near, &notes);
        if is_same && is_confirmed {
            response.change = "confirmed".to_owned();
        }
        Ok(response)
    }

    pub(super) fn project(&self) -> Result<ProjectStore, ToolError> {
        let tree = self.writable_tree()?;
        let (settings, _) = settings_file::load(&self.environment.dirs, Some(&tree));
        let recall = self.recall_in(&tree);
        Ok(ProjectStore { tree, settings, recall })
    }

    /// Records that a memory was confirmed as still true, and which other memories are valid together with it.
    fn note_reviewed(
        &self,
        memory: &Memory,
        request: &RememberRequest,
        tree: &Tree,
        notes: &mut Vec<String>,
    ) -> Result<(), ToolError> {
        let contradicted = memory.relations.iter().filter(|link| link.kind == CONTRADICTS);
        let beside: Vec<MemoryId> =
            contradicted.filter(|_| request.both_hold).map(|link| link.to).collect();
        if request.still_true || request.helpful.is_some() || !beside.is_empty() {
            let now = self.now();
            Reviewed::change(&self.environment.dirs.project(tree.project), |reviewed| {
                // The date of the statement does not change. From now on, the memory's files are compared with their
                // current state. A confirmation by the model does not count as one by a person.
                if request.still_true {
                    reviewed.confirmed.insert(memory.id, now);
                }
                beside.iter().for_each(|&other| reviewed.note_both(memory.id, other));
                if let Some(helped) = request.helpful {
                    reviewed.note_use(memory.id, helped);
                }
            })?;
        }
        if let Some(helped) = request.helpful {
            let word = if helped { "helped" } else { "did not help" };
            notes.push(format!("It is noted privately that it {word}."));
        }
        if request.still_true {
            notes.push("It is noted that it still holds; its date stays.".to_owned());
        }
        Ok(())
    }

    /// Adds a written memory to the index, marks the memories that it replaces, and returns the neighbours to report.
    fn finish(
        &self,
        file: &WrittenFile,
        mut near: Vec<Neighbour>,
        project: &ProjectStore,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Neighbour>, ToolError> {
        let WrittenFile { saved, asked, .. } = file;
        let memory = &saved.stored.memory;
        let judgement = file.trust.judgement_now(&saved.stored, &file.redactor);
        let change = journal::Change::Saved(&saved.stored, &judgement);
        let noted = journal::note(&self.environment.dirs, &project.tree, file.scope, change);
        if let Some(held) = &judgement.held {
            notes.push(format!(
                "It is saved but held back: {held}. The user can release it with `throughline review --release {}`.",
                memory.id.short()
            ));
        }
        if let Err(error) = noted {
            notes.push(format!("It is saved, but recalled so only after the next sync: {error}"));
        }
        let waits = memory.status == Status::Held;
        if !saved.suspects.is_empty() {
            notes.push(format!(
                "It is held and not in the repository, because it contains something that looks like a credential: {}. \
                 Sessions are given it without that part. The user sees the place in `throughline review` and may accept it \
                 there; to keep the rest, save it again without the value.",
                places(&saved.suspects)
            ));
        } else if waits {
            notes.push("It waits for the user's `throughline review`.".to_owned());
        }
        // A withheld memory must not replace an active one. A draft only contains the link, which disappears with the
        // draft if it is rejected.
        if judgement.held.is_none() && !waits {
            for older in &file.replaced {
                let id = older.stored.memory.id;
                if id == memory.id {
                    notes.push(format!(
                        "{} is this memory itself, which replaces nothing.",
                        id.short()
                    ));
                    continue;
                }
                self.mark_replaced(older, Some(memory.id), project)?;
                notes.push(format!("{} is marked as replaced.", id.short()));
            }
        }
        for FoundMemory { store, stored, .. } in asked {
            let (id, session) = (stored.memory.id, self.environment.session.clone());
            let change = Asked::Replace(memory.id);
            store.ask(PendingChange::new(id, change, session, self.now()))?;
            let id = id.short();
            notes.push(format!(
                "{id} is what the user said, wrote or kept, so it stays in force until the user agrees: they are asked at the \
                 next start of a session, and decide with `throughline review`."
            ));
        }
        near.retain(|near| {
            let mut settled =
                asked.iter().chain(&file.replaced).map(|older| older.stored.memory.id);
            near.id != memory.id && settled.all(|id| id != near.id)
        });
        self.settle(near, memory, file.both_hold, project, notes)
    }

    /// Returns the neighbours to report, and adds questions about those that need a decision. With `both_hold`, the
    /// pairs are recorded as decided, as in `throughline review`, and no question is added.
    fn settle(
        &self,
        mut near: Vec<Neighbour>,
        memory: &Memory,
        both_hold: bool,
        project: &ProjectStore,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Neighbour>, ToolError> {
        let own = memory.id;
        let title = folded_title(&memory.title);
        for near in &mut near {
            // A memory of the same kind and title was not updated, for example because it is the user's, so the two
            // texts contradict each other.
            if near.kind == memory.kind && folded_title(&near.title) == title && !near.asks() {
                near.verdict = Verdict::Contradiction;
            }
        }
        let asking: Vec<&Neighbour> = near.iter().filter(|near| near.asks()).collect();
        if !both_hold {
            let is_users = |near: &Neighbour| {
                let hit = project.recall.listed(near.id, self.now());
                hit.is_some_and(|hit| {
                    hit.collection == Collection::User && hit.said_by != Some(SaidBy::Assistant)
                })
            };
            notes.extend(asking.iter().map(|near| question(near, own, is_users(near))));
        } else if !asking.is_empty() {
            let home = self.environment.dirs.project(project.tree.project);
            Reviewed::change(&home, |reviewed| {
                asking.iter().for_each(|near| reviewed.note_both(own, near.id));
            })?;
            asking.iter().map(|near| near.id).chain([own]).for_each(|id| self.refresh(id, project));
            let named: Vec<String> = asking.iter().map(|near| near.id.short()).collect();
            notes.push(format!("It is noted that it holds beside {}.", named.join(", ")));
        }
        // A pair that was just decided is no longer reported.
        near.retain(|near| !(both_hold && near.asks()));
        Ok(near)
    }

    fn response(
        &self,
        saved: &Saved,
        project: &ProjectStore,
        near: &[Neighbour],
        notes: &[String],
    ) -> RememberResponse {
        let change = match saved.change {
            Change::Created => "created",
            Change::Updated => "updated",
            Change::Unchanged => "unchanged",
        };
        RememberResponse {
            change: change.to_owned(),
            file: self.shown(&saved.stored.path, &project.tree),
            redacted: saved.hidden,
            ..self.described(&saved.stored.memory, project, near, notes)
        }
    }

    /// Describes a memory and its neighbours.
    fn described(
        &self,
        memory: &Memory,
        project: &ProjectStore,
        near: &[Neighbour],
        notes: &[String],
    ) -> RememberResponse {
        let recall = &project.recall;
        let now = self.now();
        let near: Vec<(Hit, &Neighbour)> =
            near.iter().filter_map(|near| Some((recall.listed(near.id, now)?, near))).collect();
        let neighbours = near.iter().map(|(hit, near)| NeighbourHit {
            id: near.id.short(),
            kind: near.kind.name().to_owned(),
            title: render::clean(&near.title),
            relation: near.verdict.name(),
            said_by: speaker(hit),
            from_repository: hit.from_repository,
        });
        let neighbours = neighbours.collect();
        let hits: Vec<Hit> = near.into_iter().map(|(hit, _)| hit).collect();
        RememberResponse {
            id: memory.id.short(),
            kind: memory.kind.name().to_owned(),
            title: render::clean(&memory.title),
            neighbours,
            near: render::titles("near", &hits, ANSWER_TOKENS_MAX).text,
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            ..RememberResponse::default()
        }
    }

    /// Finds the memories to replace. A withheld memory cannot be replaced, since the user has not released its text.
    fn replaced(
        &self,
        ids: &[String],
        project: &ProjectStore,
    ) -> Result<Vec<FoundMemory>, ToolError> {
        let mut replaced: Vec<FoundMemory> = Vec::new();
        for id in ids {
            let found = self.find(id, project)?;
            let redactor = found.store.redactor(&project.settings);
            if found.trust.judgement(&found.stored, &redactor).held.is_some() {
                return Err(ToolError::Request(format!(
                    "{id} is held back and cannot be replaced: nothing was saved"
                )));
            }
            if found.is_users_everywhere() {
                return Err(ToolError::Request(format!(
                    "{id} is the user's own and holds in every project, so only the user replaces it \
                     (`throughline edit {id}`): nothing was saved"
                )));
            }
            if replaced.iter().all(|known| known.stored.memory.id != found.stored.memory.id) {
                replaced.push(found);
            }
        }
        Ok(replaced)
    }

    /// Finds the neighbours of a memory that is being saved. Unless `both_hold` is set, pairs that a person or the
    /// model decided to keep, with this memory or with `same`, are omitted.
    fn near(
        &self,
        memory: &Memory,
        project: &ProjectStore,
        same: &[Hit],
        both_hold: bool,
    ) -> Vec<Neighbour> {
        let ProjectStore { tree, recall, .. } = project;
        let mut near =
            neighbour::find(recall, &Statement::from(memory), Some(memory.id), self.now());
        // Memories of different subagents neither repeat nor replace each other.
        near.retain(|near| {
            recall
                .indexed(near.id)
                .is_none_or(|hit| hit.agent.as_deref() == memory.agent.as_deref())
        });
        if !both_hold {
            let reviewed = Reviewed::read(&self.environment.dirs.project(tree.project));
            let own: Vec<MemoryId> = same.iter().map(|hit| hit.id).chain([memory.id]).collect();
            near.retain(|near| !own.iter().any(|&own| reviewed.hold_both(own, near.id)));
        }
        near
    }

    /// Returns the neighbours that a new memory covers completely and therefore replaces. Memories that the user
    /// stated, wrote or confirmed are excluded, and so is `same`, which is updated.
    fn united(
        &self,
        near: &[Neighbour],
        same: &[Hit],
        project: &ProjectStore,
    ) -> Result<Vec<FoundMemory>, ToolError> {
        let contained = near.iter().filter(|near| {
            matches!(near.verdict, Verdict::Duplicate | Verdict::Covers)
                && same.iter().all(|hit| hit.id != near.id)
        });
        let mut united = Vec::new();
        for near in contained {
            let found = self.find(&near.id.to_string(), project)?;
            let is_own = !found.is_users_everywhere() && !found.store.is_persons(&found.stored)?;
            if is_own && !found.trust.is_from_repository(&found.stored) {
                united.push(found);
            }
        }
        Ok(united)
    }

    /// Marks a memory as replaced by another one, or removes the mark if `by` is `None`.
    pub(super) fn mark_replaced(
        &self,
        older: &FoundMemory,
        by: Option<MemoryId>,
        project: &ProjectStore,
    ) -> Result<(), ToolError> {
        let FoundMemory { store, trust, stored, scope } = older;
        let redactor = store.redactor_for_writing(&project.settings)?;
        let saved = store.supersede(&stored.path, stored.memory.id, by, &redactor)?;
        // If this fails, the index still contains the link, since it is also in the file of the newer memory.
        self.note_again(&saved.stored, (trust, &redactor), *scope, &project.tree);
        Ok(())
    }

    /// Writes the current state of a memory to the journal. An error is ignored, since the next sync reads the file.
    pub(super) fn note_again(
        &self,
        stored: &Stored,
        (trust, redactor): (&Trust, &Redactor),
        scope: Scope,
        tree: &Tree,
    ) {
        let judgement = trust.judgement_now(stored, redactor);
        let change = journal::Change::Saved(stored, &judgement);
        drop(journal::note(&self.environment.dirs, tree, scope, change));
    }

    /// Writes a memory to the journal again after a decision about it.
    fn refresh(&self, id: MemoryId, project: &ProjectStore) {
        let ProjectStore { tree, settings, .. } = project;
        let Ok(Some(found)) = self.find_by_id(&id.to_string(), project) else { return };
        let FoundMemory { store, trust, stored, scope } = found;
        self.note_again(&stored, (&trust, &store.redactor(settings)), scope, tree);
    }

    /// Builds the memory to save, before redaction.
    fn memory(
        &self,
        request: RememberRequest,
        paths: Vec<PathRef>,
        valid_until: Option<Timestamp>,
        settings: &Settings,
    ) -> Result<Memory, ToolError> {
        let now = self.now();
        let mut random = [0; 10];
        getrandom::fill(&mut random)
            .map_err(|error| ToolError::Request(format!("no random numbers: {error}")))?;
        let id = MemoryId::new(now, random);
        let kind = request.kind.unwrap_or(Kind::Fact);
        let mut memory = Memory {
            occurred: Some(now),
            confidence: CONFIDENCE,
            source: Source {
                session: self.environment.session.clone(),
                said_by: Some(SaidBy::Assistant),
                extractor: Some(Source::NOTED.to_owned()),
                ..Source::default()
            },
            paths,
            pinned: request.pin.unwrap_or_default(),
            valid_until,
            tags: request.tags,
            topic: request.topic,
            agent: request.agent,
            facts: facts(&request.facts, "facts", now)?,
            ..Memory::new(id, kind, request.title, request.text, now)
        };
        if settings.review {
            memory.hold(HeldFor::Review);
        }
        Ok(memory)
    }
}

impl MemoryEdit<'_> {
    fn apply(&self, memory: &mut Memory) {
        let request = self.request;
        if is_other(&memory.title, &request.title) {
            memory.title.clone_from(&request.title);
        }
        if is_other(&memory.body, &request.text) {
            memory.body.clone_from(&request.text);
        }
        memory.kind = request.kind.unwrap_or(memory.kind);
        if let Some(relations) = &self.relations {
            memory.relations.clone_from(relations);
        }
        add_links(memory, &self.links);
        self.facts.iter().for_each(|fact| put_fact(memory, fact));
        memory.topic = request.topic.clone().or_else(|| memory.topic.take());
        memory.agent = request.agent.clone().or_else(|| memory.agent.take());
        if !self.paths.is_empty() {
            memory.paths.clone_from(&self.paths);
        }
        memory.occurred = self.said.or(memory.occurred);
        memory.pinned = request.pin.unwrap_or(memory.pinned);
        memory.valid_until = self.until.or(memory.valid_until);
        for tag in &request.tags {
            if !memory.tags.contains(tag) {
                memory.tags.push(tag.clone());
            }
        }
        for &older in &self.replaced {
            if older != memory.id && !memory.supersedes.contains(&older) {
                memory.supersedes.push(older);
            }
        }
        memory.superseded_by = memory.superseded_by.filter(|by| !self.replaced.contains(by));
    }
}

/// Returns whether a new text is given and differs from the old one.
fn is_other(old: &str, new: &str) -> bool {
    !new.is_empty() && new.trim() != old.trim()
}

/// Returns whether a request changes the statement of a memory.
fn changes_statement(before: &Memory, request: &RememberRequest) -> bool {
    is_other(&before.title, &request.title)
        || is_other(&before.body, &request.text)
        || request.kind.is_some_and(|kind| kind != before.kind)
}

/// Returns whether a request changes how a memory is classified: its files, tags, topic or subagent.
fn rearranges(request: &RememberRequest) -> bool {
    !(request.paths.is_empty() && request.tags.is_empty())
        || request.topic.is_some()
        || request.agent.is_some()
}

/// Rejects changes to the user's memories, except pins and links.
fn check_persons(
    memory: &Memory,
    scope: Scope,
    is_users: bool,
    request: &RememberRequest,
    restates: bool,
) -> Result<(), ToolError> {
    let rewrites = restates || request.valid_until.is_some() || !request.facts.is_empty();
    let rearranges = rearranges(request) || request.pin == Some(false);
    let relinks =
        request.pin.is_some() || !(request.supersedes.is_empty() && request.relations.is_empty());
    let short = memory.id.short();
    if is_users && scope == Scope::User && (rewrites || rearranges || relinks) {
        return Err(ToolError::Request(format!(
            "{short} is the user's own and holds in every project, so only the user changes it: \
             `throughline edit {short}`"
        )));
    }
    match is_users {
        true if rewrites => Err(ToolError::Request(format!(
            "{short} is in the user's words, or one that the user kept, so it is not rewritten: save what holds now \
             as a memory of its own with supersedes [\"{short}\"], or let the user run `throughline edit {short}`"
        ))),
        true if rearranges => Err(ToolError::Request(format!(
            "{short} is in the user's words, or one that the user kept, so its paths, tags, topic and pin are the user's to \
             change: `throughline edit {short}`"
        ))),
        true | false => Ok(()),
    }
}

/// Rejects changes to memories from the repository, except links to other memories: a changed file would count as
/// written on this machine.
fn check_repository_text(
    memory: &Memory,
    request: &RememberRequest,
    restates: bool,
) -> Result<(), ToolError> {
    let is_changed = restates
        || rearranges(request)
        || !request.facts.is_empty()
        || request.pin.is_some()
        || request.valid_until.is_some();
    if !is_changed {
        return Ok(());
    }
    let short = memory.id.short();
    Err(ToolError::Request(format!(
        "{short} is from the repository, so it is not changed here: save what holds now as a memory of its own with \
         supersedes [\"{short}\"], or let the user take it over with `throughline edit {short}`"
    )))
}

/// Returns the links of a memory that is compared again: those to what it contradicts are made anew.
fn new_relations(before: &Memory, near: &[Neighbour], edit: &MemoryEdit<'_>) -> Vec<Relation> {
    let mut relations = kept_links(before);
    if !edit.request.both_hold {
        relations.extend(neighbour::contradictions(near, &edit.replaced));
    }
    relations
}

/// Divides the memories to replace into those that the user stated or wrote, and the others. `own` is the id of the
/// replacing memory if it already exists.
fn users_words(
    replaced: Vec<FoundMemory>,
    own: Option<MemoryId>,
) -> Result<(Vec<FoundMemory>, Vec<FoundMemory>), ToolError> {
    let (mut users, mut others) = (Vec::new(), Vec::new());
    for found in replaced {
        let is_own = own == Some(found.stored.memory.id);
        let is_users = !is_own && found.store.is_persons(&found.stored)?;
        if is_users { users.push(found) } else { others.push(found) }
    }
    Ok((users, others))
}

fn ids(found: &[FoundMemory]) -> Vec<MemoryId> {
    found.iter().map(|found| found.stored.memory.id).collect()
}

/// Returns the paths of a request that are inside the project, and notes about the request.
fn read_paths(
    request: &RememberRequest,
    until: Option<Timestamp>,
    tree: &Tree,
    now: Timestamp,
) -> (Vec<PathRef>, Vec<String>) {
    let mut notes: Vec<String> = is_over(until, now).into_iter().collect();
    if request.scope == Some(Reach::User) {
        notes.push(OF_THIS_PROJECT.to_owned());
    }
    let paths: Vec<PathRef> =
        request.paths.iter().filter_map(|path| path_ref(path, tree)).collect();
    let left_out = request.paths.len() - paths.len();
    if left_out > 0 {
        notes.push(format!("{left_out} path(s) outside of the project were left out."));
    }
    (paths, notes)
}

/// Parses the last day of validity in a request; returns the end of this day.
fn valid_until(request: &RememberRequest) -> Result<Option<Timestamp>, ToolError> {
    let Some(words) = &request.valid_until else { return Ok(None) };
    // Words such as "last week" describe the past, so a day in the future must be written as a date.
    match Timestamp::parse(words) {
        Some(at) if words.contains(':') => Ok(Some(at)),
        Some(at) => Ok(Some(Timestamp(at.0 + DAY_MS - 1))),
        None => Err(ToolError::Request(format!(
            "`valid_until` takes a day such as 2027-03-31, and not `{words}`"
        ))),
    }
}

/// Returns a note that names the tags that were not saved.
fn left_out_of(asked: &[String], saved: &Saved) -> Option<String> {
    let tags = &saved.stored.memory.tags;
    let missing: Vec<String> = asked
        .iter()
        .filter(|tag| !tags.iter().any(|known| known.eq_ignore_ascii_case(tag)))
        .map(|tag| render::clean(tag))
        .collect();
    (!missing.is_empty()).then(|| format!("These tags were not kept: {}.", missing.join(", ")))
}

/// Returns a question to the model about the relation of two memories.
fn question(near: &Neighbour, own: MemoryId, is_users: bool) -> String {
    let (id, own) = (near.id.short(), own.short());
    if is_users {
        return format!(
            "It {} {id}, which is the user's for every project: ask which holds. If both do, call `remember` with id \
             \"{own}\" and both_hold true; if not, `forget` {own}, or the user runs `throughline edit {id}`.",
            near.verdict.words()
        );
    }
    format!(
        "It {} {id}. If it replaces {id}, call `remember` with id \"{own}\" and supersedes [\"{id}\"]; if both hold, \
         with id \"{own}\" and both_hold true.",
        near.verdict.words()
    )
}

/// Returns a note if the last day of validity has passed.
fn is_over(until: Option<Timestamp>, now: Timestamp) -> Option<String> {
    let until = until.filter(|until| *until < now)?;
    Some(format!(
        "`valid_until` {} has passed: it is recalled with `history` or `as_of` alone.",
        until.date()
    ))
}

/// Returns a path relative to the project's root, with the current hash of its content; `None` if the path is outside
/// the project.
fn path_ref(path: &str, tree: &Tree) -> Option<PathRef> {
    let path = relative(path, tree);
    let inside = Path::new(&path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (inside && !path.is_empty())
        .then(|| PathRef { seen: content_hash(&tree.root, &tree.root.join(&path)), path })
}

/// Returns the first digits of the hash of a file's content. Symbolic links are not followed.
fn content_hash(root: &Path, path: &Path) -> Option<String> {
    let (bytes, _) = read_below(root, path, HASHED_BYTES_MAX).ok()?;
    Some(blake3::hash(&bytes).to_hex()[..16].to_owned())
}
