//! Relations between drafts: the same content, content included in another draft, replacement, completion,
//! contradiction, or invalidation by a commit. A model determines the relations (see `llm/relations.rs` and
//! `llm/overtaken.rs`). For pairs that the model has not examined, the rules of `same` and `supersede` decide.

use std::collections::{BTreeMap, BTreeSet};

use memory_store::memory::{Relation, SaidBy};
use memory_store::{Kind, MemoryId, ProjectId, Timestamp};

use super::draft_entry::{DraftEntry, memory_id};

/// Relation of one draft (the first) to another (the second).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DraftRelation {
    /// Both drafts have the same content.
    Same,
    /// The second draft has all useful content of the first, and more.
    Within,
    /// The first draft is now valid instead of the second.
    Replaces,
    /// The first draft reports that the subject of the second, a task or a failure, is completed.
    Finishes,
    /// The first draft has another value for the same property, without describing a change.
    NewerValue,
    /// The drafts contradict each other.
    Contradicts,
    /// The first draft gives evidence for the second.
    Supports,
    /// The first draft makes the second more precise.
    Refines,
    /// The first draft is a consequence of the second.
    CausedBy,
    /// The first draft is a step or a part of the second.
    PartOf,
}

impl DraftRelation {
    /// All relations.
    pub const ALL: [Self; 10] = [
        Self::Same,
        Self::Within,
        Self::Replaces,
        Self::Finishes,
        Self::NewerValue,
        Self::Contradicts,
        Self::Supports,
        Self::Refines,
        Self::CausedBy,
        Self::PartOf,
    ];

    /// Returns the name of the relation in answers of a model.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Within => "within",
            Self::Replaces => "replaces",
            Self::Finishes => "finishes",
            Self::NewerValue => "newer-value",
            Self::Contradicts => "contradicts",
            Self::Supports => "supports",
            Self::Refines => "refines",
            Self::CausedBy => "caused-by",
            Self::PartOf => "part-of",
        }
    }

    /// Whether the relation changes neither of the two memories. Such a relation is proposed as a link between them.
    pub const fn is_link(self) -> bool {
        matches!(self, Self::Supports | Self::Refines | Self::CausedBy | Self::PartOf)
    }

    /// Whether at most one of the two drafts is probably true.
    const fn differs(self) -> bool {
        matches!(self, Self::Replaces | Self::NewerValue | Self::Contradicts)
    }
}

/// Relations determined for the drafts of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relations {
    /// The relation of the first draft of each pair to the second. The ids are those of the memories that would be made
    /// of the drafts.
    pub told: BTreeMap<(MemoryId, MemoryId), DraftRelation>,
    /// Drafts invalidated by a commit of a later session, with the time of the last such commit.
    pub overtaken: BTreeMap<MemoryId, Timestamp>,
    /// Memories written by people and Claude that were included in questions about the drafts. They are never changed.
    /// A draft whose content is in one of them is removed, and a draft that contradicts one of them is linked to it.
    pub kept: BTreeSet<MemoryId>,
    /// Drafts included in questions. Rules do not decide about these drafts.
    pub asked: BTreeSet<MemoryId>,
    /// Number of unanswered questions. They are sent again in a later run.
    pub missing: usize,
    /// Number of questions that were not answered for lack of time.
    pub later: usize,
}

impl Relations {
    /// Merges drafts with equal content, and removes drafts that the same session retracted.
    pub(super) fn unite(&self, project: ProjectId, entries: Vec<DraftEntry>) -> Vec<DraftEntry> {
        if self.told.is_empty() {
            return entries;
        }
        let places: BTreeMap<MemoryId, usize> = entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (memory_id(project, &entry.draft), at))
            .collect();
        let mut entries: Vec<Option<DraftEntry>> = entries.into_iter().map(Some).collect();
        // Maps the index of a merged entry to the index of the remaining entry.
        let mut merged: BTreeMap<usize, usize> = BTreeMap::new();
        for (&(note, other), &relation) in &self.told {
            let (Some(&note), Some(&other)) = (places.get(&note), places.get(&other)) else {
                continue;
            };
            let (note, other) = (last(&merged, note), last(&merged, other));
            if note == other || entries[note].is_none() || entries[other].is_none() {
                continue;
            }
            match relation {
                DraftRelation::Same | DraftRelation::Within => {
                    let is_wish = |at: usize| entries[at].as_ref().is_some_and(is_users_wish);
                    let (keep, give, is_bound) = match (is_wish(note), is_wish(other)) {
                        // The wording of a user's wish is never replaced, and the wish is never merged into a draft
                        // that is not a wish.
                        (true, false) if relation == DraftRelation::Within => continue,
                        (true, false) => (note, other, true),
                        (false, true) => (other, note, true),
                        _ => (note.min(other), note.max(other), false),
                    };
                    if let (Some(given), Some(kept)) = (entries[give].take(), &mut entries[keep]) {
                        // Relations of the merged draft also apply to the remaining one.
                        kept.merged.push(memory_id(project, &given.draft));
                        let retells = !is_bound
                            && match relation {
                                DraftRelation::Within => give == other,
                                _ => kept.is_retold_by(&given),
                            };
                        kept.unite(given, retells);
                        merged.insert(give, keep);
                    }
                }
                DraftRelation::Replaces | DraftRelation::Finishes => {
                    let session =
                        |at: usize| entries[at].as_ref().map(|entry| &entry.draft.session);
                    let is_told_off = session(note) == session(other)
                        && entries[other].as_ref().is_some_and(|entry| {
                            entry.draft.kind != Kind::FailedApproach && entry.sessions.len() == 1
                        });
                    if is_told_off {
                        entries[other] = None;
                    }
                }
                DraftRelation::NewerValue
                | DraftRelation::Contradicts
                | DraftRelation::Supports
                | DraftRelation::Refines
                | DraftRelation::CausedBy
                | DraftRelation::PartOf => {}
            }
        }
        entries.into_iter().flatten().collect()
    }

    /// Removes entries whose content is already in a memory that a person or Claude wrote.
    pub(super) fn leave_out_kept(&self, project: ProjectId, entries: &mut Vec<DraftEntry>) {
        let is_kept = |id: &MemoryId| self.kept.contains(id);
        let contained = self.told.iter().filter_map(|((note, other), relation)| match relation {
            DraftRelation::Same if is_kept(note) && !is_kept(other) => Some(*other),
            DraftRelation::Same | DraftRelation::Within if is_kept(other) && !is_kept(note) => {
                Some(*note)
            }
            _ => None,
        });
        let contained: BTreeSet<MemoryId> = contained.collect();
        entries.retain(|entry| {
            let own = memory_id(project, &entry.draft);
            !std::iter::once(&own).chain(&entry.merged).any(|id| contained.contains(id))
        });
    }

    /// Returns the pairs of memories by people and Claude that contradict each other or have different values.
    pub fn kept_differing(&self) -> impl Iterator<Item = (MemoryId, MemoryId)> {
        let differing = self.told.iter().filter(|(_, relation)| relation.differs());
        let kept = |(note, other): &(MemoryId, MemoryId)| {
            self.kept.contains(note) && self.kept.contains(other)
        };
        differing.map(|(pair, _)| *pair).filter(kept)
    }

    /// Returns the proposed links between the memories in `there`. A person may add them to the memories' files.
    pub fn links(&self, there: &BTreeSet<MemoryId>) -> Vec<(MemoryId, Relation)> {
        let links = self.told.iter().filter(|((note, other), relation)| {
            relation.is_link() && there.contains(note) && there.contains(other)
        });
        let link = |relation: DraftRelation, to| Relation { kind: relation.name().to_owned(), to };
        links.map(|(&(note, other), &relation)| (note, link(relation, other))).collect()
    }

    /// Removes drafts that a commit invalidated. A draft is kept if it was repeated after that commit. It is also kept
    /// if it has a known replacement, because a query for the earlier state then finds the replacement.
    pub(super) fn leave_out_overtaken(&self, project: ProjectId, entries: &mut Vec<DraftEntry>) {
        let replaces = |relation: &DraftRelation| {
            matches!(relation, DraftRelation::Replaces | DraftRelation::Finishes)
        };
        let replaced = self.told.iter().filter(|(_, relation)| replaces(relation));
        let replaced: BTreeSet<MemoryId> = replaced.map(|((_, other), _)| *other).collect();
        entries.retain(|entry| {
            let own = memory_id(project, &entry.draft);
            let ids = || std::iter::once(own).chain(entry.merged.iter().copied());
            let Some(at) = ids().filter_map(|id| self.overtaken.get(&id)).max() else {
                return true;
            };
            ids().any(|id| id.time() > *at || replaced.contains(&id))
        });
    }

    /// Marks entries that another entry replaces, and records contradictions.
    pub(super) fn mark(&self, project: ProjectId, entries: &mut [DraftEntry]) {
        let places: BTreeMap<MemoryId, usize> = entries
            .iter()
            .enumerate()
            .flat_map(|(at, entry)| {
                let merged = entry.merged.iter().map(move |id| (*id, at));
                std::iter::once((memory_id(project, &entry.draft), at)).chain(merged)
            })
            .collect();
        for (&(note, other), &relation) in &self.told {
            let (note, other) = match (places.get(&note), places.get(&other)) {
                (Some(&note), Some(&other)) if note != other => (note, other),
                (Some(&at), None) if self.kept.contains(&other) && relation.differs() => {
                    entries[at].contradicts.push(other);
                    continue;
                }
                (None, Some(&at)) if self.kept.contains(&note) && relation.differs() => {
                    entries[at].contradicts.push(note);
                    continue;
                }
                _ => continue,
            };
            match relation {
                DraftRelation::Replaces | DraftRelation::Finishes => {
                    // A cycle of replacements would leave no valid entry.
                    if !leads_to(entries, note, other) {
                        entries[other].superseded_by = Some(note);
                    }
                }
                DraftRelation::NewerValue | DraftRelation::Contradicts => {
                    let name = memory_id(project, &entries[other].draft);
                    if !entries[note].contradicts.contains(&name) {
                        entries[note].contradicts.push(name);
                    }
                }
                DraftRelation::Same
                | DraftRelation::Within
                | DraftRelation::Supports
                | DraftRelation::Refines
                | DraftRelation::CausedBy
                | DraftRelation::PartOf => {}
            }
        }
    }
}

fn is_users_wish(entry: &DraftEntry) -> bool {
    entry.draft.kind.is_wish() && entry.draft.said_by == SaidBy::User
}

fn last(merged: &BTreeMap<usize, usize>, mut at: usize) -> usize {
    while let Some(&next) = merged.get(&at) {
        at = next;
    }
    at
}

/// Whether the chain of replacements that starts at `from` reaches `to`.
fn leads_to(entries: &[DraftEntry], from: usize, to: usize) -> bool {
    let mut at = Some(from);
    for _ in 0..=entries.len() {
        match at {
            Some(place) if place == to => return true,
            Some(place) => at = entries[place].superseded_by,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use memory_store::settings::Settings;

    use super::*;
    use crate::consolidate::tests::draft;
    use crate::consolidate::{Mined, consolidate};
    use crate::extract::draft::Draft;

    #[test]
    fn a_relation_of_a_draft_applies_to_the_one_it_was_united_with() {
        let project = ProjectId([1; 16]);
        let of_model = |session: &str, at, title: &str| Draft {
            importance: Some(0.7),
            standing: true,
            ..draft(session, at, Kind::Decision, title, "")
        };
        let helm = of_model("a", 1_000, "Releases are rolled out with Helm");
        let again = of_model("b", 2_000, "The chart in deploy/ is how we ship");
        let kustomize = of_model("c", 3_000, "Kustomize overlays roll the services out");
        let [first, second, third] = [&helm, &again, &kustomize].map(|it| memory_id(project, it));
        let told = BTreeMap::from([
            ((second, first), DraftRelation::Same),
            ((third, second), DraftRelation::Replaces),
        ]);
        let mined = [helm, again, kustomize].map(|draft| Mined {
            session: draft.session.clone(),
            windows: 1,
            drafts: vec![draft],
        });
        let asked = BTreeSet::from([first, second, third]);
        let relations = Relations { told, asked, ..Relations::default() };
        let memories = consolidate(project, &mined, &Settings::default(), &relations);
        let of = |id| memories.iter().find(|memory| memory.id == id);
        assert_eq!(memories.len(), 2);
        assert_eq!(of(first).and_then(|it| it.superseded_by), Some(third));
        assert_eq!(of(third).map(|it| it.superseded_by), Some(None));
    }

    #[test]
    fn a_draft_beside_what_a_person_wrote_is_left_out_or_linked() {
        let project = ProjectId([1; 16]);
        let of_model = |session: &str, at, title: &str| Draft {
            importance: Some(0.7),
            standing: true,
            ..draft(session, at, Kind::Decision, title, "")
        };
        let drafts = [
            of_model("a", 1_000, "We ship on Thursdays"),
            of_model("b", 2_000, "Our releases go out on Fridays"),
            of_model("c", 3_000, "Releases are tagged"),
        ];
        let [same, newer, contained] = drafts.each_ref().map(|it| memory_id(project, it));
        let [note, other_note] = [7, 8].map(|number| MemoryId([number; 16]));
        let relations = Relations {
            told: BTreeMap::from([
                ((note, same), DraftRelation::Same),
                ((newer, note), DraftRelation::NewerValue),
                ((contained, note), DraftRelation::Within),
                ((other_note, note), DraftRelation::Contradicts),
            ]),
            kept: BTreeSet::from([note, other_note]),
            asked: BTreeSet::from([same, newer, contained]),
            ..Relations::default()
        };
        let mined = drafts.map(|draft| Mined {
            session: draft.session.clone(),
            windows: 1,
            drafts: vec![draft],
        });
        let memories = consolidate(project, &mined, &Settings::default(), &relations);
        let [memory] = &memories[..] else { panic!("{memories:?}") };
        assert_eq!(memory.id, newer);
        assert_eq!(memory.relations.iter().map(|link| link.to).collect::<Vec<_>>(), [note]);
        assert_eq!(relations.kept_differing().collect::<Vec<_>>(), [(other_note, note)]);
    }

    #[test]
    fn an_overtaken_draft_is_omitted_unless_it_was_repeated_or_is_replaced() {
        let project = ProjectId([1; 16]);
        let drafts: Vec<Draft> = ["gone", "said again", "repeated", "replaced", "holds"]
            .into_iter()
            .zip(1..)
            .map(|(title, at)| draft(&format!("s{at}"), at * 1_000, Kind::Decision, title, ""))
            .collect();
        let names: Vec<MemoryId> = drafts.iter().map(|draft| memory_id(project, draft)).collect();
        let commit = |at: usize| (names[at], Timestamp(2_500));
        let relations = Relations {
            told: BTreeMap::from([
                ((names[2], names[1]), DraftRelation::Same),
                ((names[4], names[3]), DraftRelation::Replaces),
            ]),
            overtaken: BTreeMap::from([commit(0), commit(1), (names[3], Timestamp(9_000))]),
            ..Relations::default()
        };
        let entries = drafts.into_iter().map(DraftEntry::new).collect();
        let mut entries = relations.unite(project, entries);
        relations.leave_out_overtaken(project, &mut entries);
        let left: Vec<MemoryId> =
            entries.iter().map(|entry| memory_id(project, &entry.draft)).collect();
        assert_eq!(left, [names[1], names[3], names[4]]);
    }

    #[test]
    fn of_one_that_is_within_another_the_fuller_words_stand() {
        let project = ProjectId([1; 16]);
        let full = "Both copies change together, and the test that compares them.";
        for (bodies, (note, other)) in [(["", full], (0, 1)), ([full, ""], (1, 0))] {
            let drafts = [("a", 1_000), ("b", 2_000)].map(|(session, at)| Draft {
                importance: Some(0.7),
                ..draft(session, at, Kind::Gotcha, "The prompt stands in two files", "")
            });
            let mut entries = drafts.clone().map(DraftEntry::new).to_vec();
            entries.iter_mut().zip(bodies).for_each(|(entry, body)| entry.draft.body = body.into());
            let [note, other] = [note, other].map(|at: usize| memory_id(project, &drafts[at]));
            let relations = Relations {
                told: BTreeMap::from([((note, other), DraftRelation::Within)]),
                ..Relations::default()
            };
            let united = relations.unite(project, entries);
            assert_eq!(united.len(), 1);
            assert_eq!(united[0].draft.body, full);
            assert_eq!(
                memory_id(project, &united[0].draft),
                memory_id(project, &drafts[0]),
                "the first id"
            );
        }
    }

    #[test]
    fn what_the_user_asked_for_keeps_its_words_and_its_speaker() {
        let project = ProjectId([1; 16]);
        let wish = |session: &str, at| {
            draft(session, at, Kind::Preference, "Name amounts in cents", "Never as floats.")
        };
        let tool = |session: &str, at| Draft {
            said_by: SaidBy::Tool,
            ..draft(
                session,
                at,
                Kind::Gotcha,
                "Amounts are cents, says the page",
                "Run its script.",
            )
        };
        let pairs =
            [([wish("a", 1_000), tool("b", 2_000)], 0), ([tool("a", 1_000), wish("b", 2_000)], 1)];
        for (drafts, of_user) in pairs {
            let names = [&drafts[0], &drafts[1]].map(|it| memory_id(project, it));
            let united = |note: usize, other: usize, relation| {
                let told = BTreeMap::from([((names[note], names[other]), relation)]);
                let entries = drafts.clone().map(DraftEntry::new).to_vec();
                Relations { told, ..Relations::default() }.unite(project, entries)
            };
            for (note, other) in [(0, 1), (1, 0)] {
                let united = united(note, other, DraftRelation::Same);
                let [entry] = &united[..] else { panic!("{united:?}") };
                assert_eq!(entry.draft.body, "Never as floats.");
                assert_eq!(
                    (entry.draft.kind, entry.draft.said_by),
                    (Kind::Preference, SaidBy::User)
                );
            }
            assert_eq!(united(of_user, 1 - of_user, DraftRelation::Within).len(), 2);
            let within = united(1 - of_user, of_user, DraftRelation::Within);
            assert_eq!(within.len(), 1);
            assert_eq!(within[0].draft.body, "Never as floats.");
        }
    }

    #[test]
    fn of_two_that_say_the_same_the_later_words_stand_unless_they_leave_something_out() {
        let project = ProjectId([1; 16]);
        let body =
            |of: &str| format!("Remove the folder {of} and commit again; no flag is needed.");
        for (later, stands) in [(body("tmp/clones"), true), (String::new(), false)] {
            let of_model = |session: &str, at, body: String| Draft {
                importance: Some(0.7),
                ..draft(session, at, Kind::Gotcha, "Old clones break the hook", &body)
            };
            let drafts =
                [of_model("a", 1_000, body("clones")), of_model("b", 2_000, later.clone())];
            let [first, second] = [&drafts[0], &drafts[1]].map(|it| memory_id(project, it));
            let relations = Relations {
                told: BTreeMap::from([((second, first), DraftRelation::Same)]),
                ..Relations::default()
            };
            let entries = drafts.clone().map(DraftEntry::new).to_vec();
            let united = relations.unite(project, entries);
            assert_eq!(united.len(), 1);
            let told = if stands { &later } else { &drafts[0].body };
            assert_eq!(&united[0].draft.body, told);
        }
    }

    #[test]
    fn links_of_memories_that_are_there_are_proposed() {
        let [one, other, gone] = [1, 2, 3].map(|number| MemoryId([number; 16]));
        let relations = Relations {
            told: BTreeMap::from([
                ((one, other), DraftRelation::Refines),
                ((other, one), DraftRelation::NewerValue),
                ((one, gone), DraftRelation::CausedBy),
            ]),
            ..Relations::default()
        };
        let there = BTreeSet::from([one, other]);
        let refines = Relation { kind: "refines".to_owned(), to: other };
        assert_eq!(relations.links(&there), [(one, refines)]);
    }
}
