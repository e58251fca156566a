//! Descriptions of the memories and passages in receipts.

use std::collections::HashMap;

use memory_store::recall::{Hit, Recall};
use memory_store::{Kind, MemoryId};

use super::{passage, plural};
use crate::failure::Result;
use crate::receipts::InjectionReceipt;
use crate::stores::Stores;

/// Title for the id of an item that no longer exists.
pub const GONE: &str = "(gone since)";

/// An injected item.
#[derive(Debug)]
struct GivenText {
    title: String,
    kind: Kind,
    /// The passage; `None` for a memory.
    passage: Option<Hit>,
}

/// Injected memories and passages by id.
#[derive(Debug, Default)]
pub struct GivenItems(HashMap<MemoryId, GivenText>);

impl GivenItems {
    /// Looks up the items of receipts.
    pub fn of(stores: &Stores, receipts: &[InjectionReceipt]) -> Result<Self> {
        let memories = stores.list()?.memories.into_iter();
        let known = memories.map(|it| (it.memory.id, it.memory.kind, it.memory.title));
        Ok(Self::among(known, &stores.recall(), receipts))
    }

    /// Looks up the items of receipts among the given memories and in an index.
    pub fn among(
        memories: impl Iterator<Item = (MemoryId, Kind, String)>,
        recall: &Recall,
        receipts: &[InjectionReceipt],
    ) -> Self {
        let memories =
            memories.map(|(id, kind, title)| (id, GivenText { title, kind, passage: None }));
        let mut items: HashMap<MemoryId, GivenText> = memories.collect();
        for given in receipts.iter().flat_map(|receipt| &receipt.memories) {
            if !items.contains_key(&given.id)
                && let Some(hit) = recall.passage(given.id)
            {
                let title = passage::quotation(&hit);
                let kind = hit.kind;
                items.insert(given.id, GivenText { title, kind, passage: Some(hit) });
            }
        }
        Self(items)
    }

    /// Returns the title of a memory, or the name and the first line of a passage; `None` if it no longer exists.
    pub fn known_title(&self, id: MemoryId) -> Option<&str> {
        self.0.get(&id).map(|item| item.title.as_str())
    }

    /// Returns the kind; `None` if the item no longer exists.
    pub fn kind(&self, id: MemoryId) -> Option<Kind> {
        self.0.get(&id).map(|item| item.kind)
    }

    /// Returns the title, or a placeholder if the item no longer exists.
    pub fn title(&self, id: MemoryId) -> &str {
        self.known_title(id).unwrap_or(GONE)
    }

    /// Returns the passage with an id.
    pub fn passage(&self, id: MemoryId) -> Option<&Hit> {
        self.0.get(&id)?.passage.as_ref()
    }

    /// Returns the numbers of memories and passages in a receipt, as text. A receipt without memories and passages
    /// records the injection of a handoff.
    pub fn counted(&self, receipt: &InjectionReceipt) -> String {
        let is_passage = |id: MemoryId| self.passage(id).is_some();
        let passages = receipt.memories.iter().filter(|given| is_passage(given.id)).count();
        match (receipt.memories.len() - passages, passages) {
            (0, 0) => "where the work was left".to_owned(),
            (memories, 0) => plural(memories, "memory"),
            (0, passages) => plural(passages, "passage"),
            (memories, passages) => {
                format!("{} and {}", plural(memories, "memory"), plural(passages, "passage"))
            }
        }
    }
}
