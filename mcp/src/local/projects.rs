//! Memories of the user's other projects that the user shares.

use std::time::Instant;

use memory_store::Timestamp;
use memory_store::identity;
use memory_store::layout::Tree;
use memory_store::recall::render::Rendered;
use memory_store::recall::{Asker, Collection, Hit, Tier, render};

use super::given::GivenAnswer;
use super::recall::FoundHits;
use super::{ANSWER_TOKENS_MAX, Local};
use crate::backend::{Page, RecallRequest};

/// Maximum projects that are searched.
const PROJECTS_MAX: usize = 16;
/// Maximum memories that are returned for each project.
const HITS_MAX: usize = 4;
/// Maximum tokens of each project's text.
const TOKENS_MAX: u32 = 800;

/// Memories of another project.
pub(super) struct Other {
    pub name: String,
    pub tree: Tree,
    pub hits: Vec<Hit>,
    pub rendered: Rendered,
}

impl Other {
    /// Keeps only the hits that are contained in the rendered text.
    fn new(name: String, tree: Tree, mut hits: Vec<Hit>, rendered: Rendered) -> Self {
        hits.retain(|hit| rendered.pieces.iter().any(|piece| piece.id == hit.id));
        Self { name, tree, hits, rendered }
    }
}

/// Appends the text of other projects to a text.
pub(super) fn with_others(own: String, own_is_empty: bool, others: &[Other]) -> String {
    if others.is_empty() {
        return own;
    }
    let own = if own_is_empty { "Nothing found in this project.".to_owned() } else { own };
    let others = others
        .iter()
        .map(|other| format!("Of the project {}:\n{}", other.name, other.rendered.text));
    std::iter::once(own).chain(others).collect::<Vec<_>>().join("\n")
}

/// Removes the user's own memories from the hits, since they are found in the current project already.
fn of_project(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.retain(|hit| hit.collection != Collection::User);
    hits
}

impl Local {
    /// Searches the other shared projects with the filters of the request. Returns the hits by project. Sets
    /// `held_back` if a memory was withheld.
    pub(super) fn of_other_projects(
        &self,
        request: &RecallRequest,
        own: &Tree,
        notes: &mut Vec<String>,
        held_back: &mut bool,
    ) -> Vec<Other> {
        if !request.is_search() {
            notes.push(
                "Other projects were not searched, since their files differ: pass query, kinds or a time."
                    .to_owned(),
            );
            return Vec::new();
        }
        let shared = self.shared_trees(own);
        if shared.is_empty() {
            notes.push(
                "No other project is shared: the user can share a project with `throughline share on` in it."
                    .to_owned(),
            );
            return Vec::new();
        }
        let names: Vec<String> = shared.iter().map(name).collect();
        notes.push(format!("Also searched: {}.", names.join(", ")));
        let asked = RecallRequest {
            paths: Vec::new(),
            page: Page { limit: HITS_MAX.min(request.page.limit), ..Page::default() },
            ..request.clone()
        };
        let (mut others, mut room, mut left_out) = (Vec::new(), ANSWER_TOKENS_MAX, Vec::new());
        // All projects together return at most as many hits as a page of this project.
        let mut hits_left = request.page.limit;
        for tree in shared {
            let name = name(&tree);
            let found = self.recall_for(&asked, &tree).and_then(|(recall, now)| {
                // Passages are not shared between projects.
                self.by_words(&asked, &recall, &tree, Tier::Memories, now)
            });
            let Ok(FoundHits { recalled, .. }) = found else { continue };
            *held_back |= recalled.held_back;
            let mut hits = of_project(recalled.hits);
            if hits.is_empty() {
                continue;
            }
            hits.truncate(HITS_MAX.min(hits_left));
            hits_left -= hits.len();
            let tokens = room.min(TOKENS_MAX);
            let rendered = match request.titles() {
                true => render::titles("search", &hits, tokens),
                false => render::injection("search", &hits, tokens),
            };
            room = room.saturating_sub(render::tokens(&rendered.text));
            match rendered.pieces.is_empty() {
                true => left_out.push(name),
                false => others.push(Other::new(name, tree, hits, rendered)),
            }
        }
        if !left_out.is_empty() {
            notes.push(format!(
                "Results of these projects exceed the answer: {}.",
                left_out.join(", ")
            ));
        }
        others
    }

    /// Finds memories of other shared projects by their ids, with their whole texts. `missing` then contains only the
    /// ids that were not found.
    pub(super) fn of_other_projects_by_id(
        &self,
        missing: &mut Vec<&str>,
        own: &Tree,
        now: Timestamp,
    ) -> Vec<Other> {
        let mut others = Vec::new();
        for tree in self.shared_trees(own) {
            let mut recall = self.indexed(&tree);
            recall.asker = Asker::Session;
            recall.expired = true;
            let mut hits = Vec::new();
            missing.retain(|id| {
                let ids = recall.ids_ending(id);
                let found = ids.first().and_then(|id| recall.listed(*id, now));
                let found = of_project(
                    found.filter(|hit| ids.len() == 1 && !hit.held).into_iter().collect(),
                );
                let is_missing = found.is_empty();
                hits.extend(found);
                is_missing
            });
            let rendered = render::whole(&hits, ANSWER_TOKENS_MAX);
            if !rendered.pieces.is_empty() {
                others.push(Other::new(name(&tree), tree, hits, rendered));
            }
        }
        others
    }

    /// Writes a receipt into each project of which memories were returned.
    pub(super) fn record_given_of_others(&self, others: &[Other], started: Instant) {
        let (event, query, found) = ("recall", None, true);
        for Other { tree, hits, rendered, .. } in
            others.iter().filter(|other| self.may_note(&other.tree))
        {
            let answer = GivenAnswer { tree, event, query, hits, rendered, found, started };
            // An error is ignored, since only a receipt is lost.
            drop(self.leave_receipt(&answer));
        }
    }

    /// Returns a working tree of each other project that may be queried from this one.
    fn shared_trees(&self, own: &Tree) -> Vec<Tree> {
        let dirs = &self.environment.dirs;
        let is_asked =
            |tree: &Tree| tree.project != own.project && dirs.project(tree.project).shared.exists();
        let known = identity::list(dirs).unwrap_or_default().into_iter();
        let mut trees: Vec<Tree> =
            known.filter_map(|known| known.trees.into_iter().next()).filter(is_asked).collect();
        trees.sort_by(|a, b| a.root.cmp(&b.root));
        trees.truncate(PROJECTS_MAX);
        trees
    }
}

fn name(tree: &Tree) -> String {
    let name = tree.main_root.file_name().unwrap_or(tree.main_root.as_os_str());
    render::clean(&name.to_string_lossy())
}
