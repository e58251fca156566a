//! Room: the share of a model's context for each part of a question.
//!
//! For a model with a small context, windows, the session's end and answers are shorter. If the settings name a context
//! below [`WHOLE_TOKENS_MIN`], the short instructions are used.

use memory_store::settings::Llm;

use super::ask;
use super::window::WINDOW_CHARS_MAX;
use crate::consolidate::{near, touched};

/// Default number of tokens for question and answer together. With Ollama's own default, a window would be truncated
/// without an error.
pub const CONTEXT_TOKENS: u32 = 14_336;
/// Maximum number of tokens of an answer.
const ANSWER_TOKENS_MAX: u32 = 2_048;
/// Divisor of the context size for the maximum length of an answer.
const ANSWER_SHARE: u32 = 4;
/// Minimum context in the settings for the full instructions. In a smaller context, they would take a sixth of it or
/// more.
const WHOLE_TOKENS_MIN: u32 = 16_000;
/// Number of tokens in addition to instructions and texts: the chat template, tags, the day, and the question itself.
const AROUND_TOKENS: u32 = 80;
/// Minimum number of characters per token in sessions. Prose has about four, code and logs fewer.
const TOKEN_CHARS_MIN: usize = 3;
/// Maximum number of tokens for ten characters of the instructions (2.7 with SmolLM2's tokeniser, including the
/// example).
const INSTRUCTION_TOKENS_PER_TEN: usize = 3;
/// Divisor of the room for texts for the maximum length of the session's end.
const ENDING_SHARE: usize = 4;
/// Maximum number of characters of the session's end. The limits of its parts have a lower sum.
const ENDING_CHARS_MAX: usize = 6_000;
/// Divisor of the room for texts for the length of the project's topics, and the maximum number of characters of the
/// topics.
const TOPICS_SHARE: usize = 24;
const TOPICS_CHARS_MAX: usize = 600;
/// Number of characters of a draft in the question about relations: a title, a text of about 60 words and a label.
const NOTE_CHARS: usize = 500;

/// Divisor of the room for texts for the length of a session's work in a question with drafts, and the maximum number
/// of characters of the work.
const WORK_SHARE: usize = 3;
const WORK_CHARS_MAX: usize = 5_000;

/// Maximum number of characters of the sources of a person's question.
const QUESTION_CHARS_MAX: usize = 12_000;

/// Limits for the parts of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelRoom {
    /// Maximum number of tokens of question and answer together.
    pub context_tokens: u32,
    /// Maximum number of tokens of an answer.
    pub answer_tokens: u32,
    /// Maximum number of characters of a window.
    pub window_chars: usize,
    /// Maximum number of characters of the session's end.
    pub ending_chars: usize,
    /// Maximum number of characters of the topics in a question about a window.
    pub topic_chars: usize,
    /// Whether the short instructions for a window are used.
    pub is_short: bool,
    /// Maximum number of drafts in a question about drafts that a session's work made invalid, and maximum number of
    /// characters of this work.
    pub overtaken_notes: usize,
    pub work_chars: usize,
    /// Maximum number of characters of the sources of a person's question.
    pub question_chars: usize,
    /// Maximum numbers of a session's drafts and of earlier drafts in one question about relations.
    pub notes: (usize, usize),
}

impl ModelRoom {
    /// Returns the limits for the context in the settings, or else for the usual context.
    pub fn of(llm: &Llm) -> Self {
        let is_short = llm.context.is_some_and(|tokens| tokens < WHOLE_TOKENS_MIN);
        Self::within(llm.context.unwrap_or(CONTEXT_TOKENS), is_short)
    }

    fn within(context_tokens: u32, is_short: bool) -> Self {
        let answer_tokens = ANSWER_TOKENS_MAX.min(context_tokens / ANSWER_SHARE);
        let asked = context_tokens.saturating_sub(answer_tokens + AROUND_TOKENS) as usize;
        let texts = |instructions: &str| {
            asked.saturating_sub(instruction_tokens(instructions)) * TOKEN_CHARS_MIN
        };
        let chars = texts(ask::window_instructions(is_short));
        let ending_chars = ENDING_CHARS_MAX.min(chars / ENDING_SHARE);
        let topic_chars = TOPICS_CHARS_MAX.min(chars / TOPICS_SHARE);
        let notes = texts(ask::RELATIONS) / NOTE_CHARS;
        let earlier = (notes / 2).clamp(near::NEAR_MAX, near::EARLIER_MAX);
        let new = notes.saturating_sub(earlier).clamp(1, near::NEW_MAX);
        let chars_overtaken = texts(ask::OVERTAKEN);
        let work_chars = WORK_CHARS_MAX.min(chars_overtaken / WORK_SHARE);
        let overtaken_notes = (chars_overtaken - work_chars) / NOTE_CHARS;
        Self {
            context_tokens,
            answer_tokens,
            window_chars: WINDOW_CHARS_MAX.min(chars - ending_chars - topic_chars),
            ending_chars,
            topic_chars,
            is_short,
            overtaken_notes: overtaken_notes.clamp(1, touched::NOTES_MAX),
            work_chars,
            question_chars: texts(ask::QUESTION).min(QUESTION_CHARS_MAX),
            notes: (new, earlier),
        }
    }

    /// Returns the number of windows of usual size that is equivalent to `windows` windows of this size.
    pub fn usual_windows(&self, windows: usize) -> usize {
        (windows * self.window_chars).div_ceil(WINDOW_CHARS_MAX)
    }

    /// Returns a suffix that distinguishes answers with this context from others; empty for the usual context.
    pub fn mark(&self) -> String {
        let usual =
            Self { context_tokens: self.context_tokens, ..Self::within(CONTEXT_TOKENS, false) };
        if *self == usual { String::new() } else { format!("@{}", self.context_tokens) }
    }
}

fn instruction_tokens(instructions: &str) -> usize {
    instructions.chars().count() * INSTRUCTION_TOKENS_PER_TEN / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_into_the_context_that_is_named() {
        for context in [4_096, 6_000, 8_191, 8_192, 14_336, 131_072] {
            let room = ModelRoom::of(&Llm { context: Some(context), ..Llm::default() });
            let instructions = instruction_tokens(ask::window_instructions(room.is_short));
            let chars = room.window_chars + room.ending_chars + room.topic_chars;
            let tokens = instructions + chars / TOKEN_CHARS_MIN;
            let all = u32::try_from(tokens).unwrap() + room.answer_tokens + AROUND_TOKENS;
            assert!(all <= context, "{all} of {context}: {room:?}");
            assert!(room.window_chars >= 1_000 && room.answer_tokens >= 512, "{room:?}");
        }
    }

    #[test]
    fn a_large_context_changes_nothing() {
        let usual = ModelRoom::of(&Llm::default());
        assert_eq!((usual.window_chars, usual.notes), (16_000, (8, 16)));
        assert_eq!((usual.ending_chars, usual.mark()), (ENDING_CHARS_MAX, String::new()));
        let of = |context| ModelRoom::of(&Llm { context: Some(context), ..Llm::default() });
        assert_eq!((of(131_072).mark(), of(16_000).is_short), (String::new(), false));
        // If the settings name the usual context, the short instructions are used, so the cached answers are separate.
        assert_eq!((of(14_336).mark(), of(4_096).mark()), ("@14336".into(), "@4096".into()));
        assert_eq!((usual.usual_windows(3), of(4_096).usual_windows(0)), (3, 0));
    }
}
