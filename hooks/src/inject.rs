//! Injection of memories into a session: each memory once, with a receipt.

use std::ops::Range;

use memory_store_base::MemoryId;
use memory_store_base::settings::Settings;
use memory_store_recall::index::document::session_bits;
use memory_store_recall::passages::Already;
use memory_store_recall::{Collection, Hit, Recalled, render};

use crate::hook::Hook;
use crate::notice;
use crate::output::{HookOutput, UNITS_MAX, units};
use crate::receipt::{self, HookReceipt, ReceiptQuery};
use crate::session::{GivenMemory, HookSession};

/// Separator of two texts.
const BETWEEN: &str = "\n\n";

/// A text for the model and the memories in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Injection {
    /// The text.
    pub text: String,
    /// The memories in the text, in order.
    pub memories: Vec<Placed>,
}

/// A memory in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Id of the memory.
    pub id: MemoryId,
    /// Reason why the memory was returned.
    pub why: String,
    /// Score of the hit.
    pub score: f32,
    /// Byte range of the memory in the text.
    pub place: Range<usize>,
    /// True if this is a passage of a session, not a memory.
    pub is_passage: bool,
}

/// Treatment of memories that cannot be claimed because the mode does not permit writing, so that earlier injections
/// are unknown. If a claim fails for another reason, such as a full or read-only disk, memories are always withheld,
/// because they would otherwise be injected with every prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnclaimedHits {
    /// Memories are injected, even if that repeats an earlier injection.
    Give,
    /// Memories are not injected, because they would be repeated at each access to a file.
    Withhold,
}

/// Settings of an injection.
#[derive(Clone, Copy, Debug)]
pub struct AskedPrompt<'a> {
    /// Why the memories are injected, in the renderer's wording.
    pub with: &'a str,
    /// Maximum number of tokens of the memories' text.
    pub budget_tokens: u32,
    /// The text below which the memories are placed.
    pub below: &'a str,
    /// What to do with memories that cannot be claimed.
    pub unclaimed: UnclaimedHits,
}

impl Injection {
    /// Creates an injection from the rendered text of hits.
    pub fn new(rendered: render::Rendered, hits: &[Hit]) -> Self {
        let memories = rendered.pieces.into_iter().filter_map(|piece| {
            let hit = hits.iter().find(|hit| hit.id == piece.id)?;
            Some(Placed {
                id: hit.id,
                why: hit.why.clone(),
                score: hit.score,
                place: piece.range,
                is_passage: hit.collection == Collection::Passages,
            })
        });
        Self { memories: memories.collect(), text: rendered.text }
    }

    /// Renders with an ever smaller token budget until the result fits below another text. Returns the first result
    /// that fits.
    pub fn that_fits(below: &str, mut budget_tokens: u32, render: impl Fn(u32) -> Self) -> Self {
        loop {
            let injection = render(budget_tokens);
            if budget_tokens == 0 || injection.fits_below(below) {
                return injection;
            }
            budget_tokens /= 2;
        }
    }

    /// Returns whether the model would receive both this text and the text above it completely.
    pub fn fits_below(&self, above: &str) -> bool {
        let bytes = above.len() + BETWEEN.len() + self.text.len();
        bytes <= UNITS_MAX || units(above) + BETWEEN.len() + units(&self.text) <= UNITS_MAX
    }

    /// Returns this text with another one below it.
    pub fn then(mut self, other: Self) -> Self {
        if self.text.is_empty() {
            return other;
        }
        if other.text.is_empty() {
            return self;
        }
        self.text.push_str(BETWEEN);
        let other = other.shifted(self.text.len());
        self.text.push_str(&other.text);
        self.memories.extend(other.memories);
        self
    }

    /// Returns this text between the delimiters of injections.
    pub fn wrapped(mut self) -> Self {
        let wrapped = render::wrap(&self.text);
        let offset = wrapped.find(&self.text).unwrap_or_default();
        self.text = wrapped;
        self.shifted(offset)
    }

    /// Shifts the byte ranges of the memories.
    fn shifted(mut self, offset: usize) -> Self {
        for placed in &mut self.memories {
            placed.place = placed.place.start + offset..placed.place.end + offset;
        }
        self
    }

    /// Returns the ids of the memories in the text.
    pub fn ids(&self) -> Vec<MemoryId> {
        self.memories.iter().map(|placed| placed.id).collect()
    }

    /// Returns the memories in the text, each with its part of the text.
    fn given(&self) -> Vec<GivenMemory> {
        let texts = self.memories.iter().filter_map(|placed| {
            let text = self.text.get(placed.place.clone())?.to_owned();
            Some(GivenMemory { id: placed.id, text })
        });
        texts.collect()
    }

    /// Converts the injection to the hook's output, with a receipt and, depending on the settings, a notice for the
    /// person.
    pub fn into_output(
        self,
        hook: &Hook,
        session: &mut HookSession,
        query: Option<&str>,
        settings: &Settings,
    ) -> HookOutput {
        if self.text.is_empty() {
            return HookOutput::default();
        }
        let tokens = render::tokens(&self.text);
        let passages = self.memories.iter().filter(|placed| placed.is_passage).count();
        let counts = (self.memories.len() - passages, passages);
        let message = notice::of_injection(hook, session, settings.notice, counts, tokens);
        if hook.may_write() {
            hook.attempt("receipt", self.receipt(hook, query, tokens).leave(&hook.state));
        }
        HookOutput { context: Some(self.text), message, ..HookOutput::default() }
    }

    fn receipt<'a>(&'a self, hook: &'a Hook, query: Option<&str>, tokens: u32) -> HookReceipt<'a> {
        HookReceipt {
            at: hook.now,
            event: hook.event.what.name(),
            session: &hook.event.session,
            agent: hook.event.agent.as_deref(),
            query: query.map(ReceiptQuery::of),
            memories: self
                .memories
                .iter()
                .map(|placed| {
                    receipt::InjectedMemory::at(placed.id, &placed.why, placed.score, &placed.place)
                })
                .collect(),
            tokens,
            micros: hook.deadline.micros(),
            text_bytes: self.text.len(),
        }
    }
}

/// Returns the hits of a recall, and records its read errors.
pub fn hits(hook: &Hook, recalled: Recalled) -> Vec<Hit> {
    hook.note_index(&recalled);
    recalled.notes.iter().for_each(|note| hook.log(note));
    recalled.hits
}

/// Maximum number of tokens of all injected passages.
pub const PASSAGE_TOKENS: u32 = 300;

/// Calls `find` with the memories and passages that the session has already received, including `memories`, which it
/// receives now. Returns the result of `find`.
pub fn with_already<T>(
    hook: &Hook,
    session: &HookSession,
    memories: &[Hit],
    find: impl FnOnce(&Already<'_>) -> T,
) -> T {
    let given = session.given().into_iter().map(|given| given.id);
    let given: Vec<MemoryId> = given.chain(memories.iter().map(|hit| hit.id)).collect();
    find(&Already {
        has: &|id| session.has(id),
        memories: &given,
        // Text of this session is still in the context, so it is not injected.
        own: session_bits(&hook.event.session, hook.event.agent.as_deref()),
    })
}

/// Renders hits and claims those that fit. Returns the injection; it omits memories that another hook of the session
/// claimed first.
pub fn memories(
    hook: &Hook,
    session: &mut HookSession,
    mut hits: Vec<Hit>,
    asked: &AskedPrompt<'_>,
) -> Injection {
    let render = |hits: &[Hit]| {
        Injection::that_fits(asked.below, asked.budget_tokens, |budget_tokens| {
            Injection::new(render::injection(asked.with, hits, budget_tokens), hits)
        })
    };
    let injection = render(&hits);
    if injection.memories.is_empty() {
        return Injection::default();
    }
    if !hook.may_write() {
        return match asked.unclaimed {
            UnclaimedHits::Give => injection,
            UnclaimedHits::Withhold => Injection::default(),
        };
    }
    if !hook.may_claim() {
        return Injection::default();
    }
    let Some(won) = hook.attempt("claim", session.give(&injection.given())) else {
        return Injection::default();
    };
    if won.iter().all(|&won| won) {
        return injection;
    }
    // Only the memories that were claimed are rendered again. Those that did not fit before were not claimed.
    let ours = injection.ids().into_iter().zip(won).filter(|(_, won)| *won);
    let ours: Vec<MemoryId> = ours.map(|(id, _)| id).collect();
    hits.retain(|hit| ours.contains(&hit.id));
    render(&hits)
}
