//! Estimates the cost of Claude Code's small model from the existing sessions.

use std::fs::File;
use std::io::BufReader;

use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings::{Llm, Settings};

use super::ending::Ending;
use super::prices::Prices;
use super::room::ModelRoom;
use super::usage::Usage;
use super::{TOKEN_CHARS, ask, window};
use crate::collect::discover::Transcript;
use crate::transcript::SessionBuilder;

/// Maximum number of sessions from which the cost is estimated. The newest are used.
const SESSIONS_MAX: usize = 5;
/// Maximum size in bytes of a transcript in the estimate. Longer ones are skipped.
const TRANSCRIPT_BYTES_MAX: u64 = 8 << 20;
/// Number of tokens that Claude Code adds to a question (2.6 kB, measured with version 2.1.330).
const AROUND_TOKENS: u64 = 700;
/// Number of tokens of an answer with the maximum number of memories.
const ANSWER_TOKENS: u64 = 800;

/// Estimated cost of reading this project's sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of sessions from which the cost is estimated.
    pub seen: usize,
    /// Number of all sessions.
    pub sessions: usize,
    /// Average tokens and US dollars for one session.
    pub each: Usage,
}

impl Estimate {
    /// Returns the cost of all sessions in US dollars.
    pub fn usd(&self) -> f64 {
        self.each.usd.unwrap_or_default() * self.sessions as f64
    }
}

/// Computes the estimate from the newest transcripts; `None` if none of them is readable.
pub fn estimate(
    settings: &Settings,
    transcripts: &[Transcript],
    prices: Prices,
) -> Option<Estimate> {
    let redactor = Redactor::new(&RedactOptions::for_store(settings, false));
    let room = ModelRoom::of(settings.llm.as_ref().unwrap_or(&Llm::default()));
    let mut newest: Vec<&Transcript> =
        transcripts.iter().filter(|one| one.name.agent.is_none()).collect();
    let sessions = newest.len();
    newest.retain(|one| one.len <= TRANSCRIPT_BYTES_MAX);
    newest.sort_by_key(|one| std::cmp::Reverse(one.modified_ns));
    let (mut seen, mut tokens_in, mut tokens_out) = (0, 0, 0);
    for one in newest.into_iter().take(SESSIONS_MAX) {
        let Ok(file) = File::open(&one.path) else { continue };
        let mut builder = SessionBuilder::new(&redactor);
        if builder.read(BufReader::new(file)).is_err() {
            continue;
        }
        seen += 1;
        for session in builder.sessions(&one.name.session, None) {
            let ending = Ending::of(&session).text_within(room.ending_chars);
            for window in window::windows(&session, room.window_chars) {
                let question = ask::window(&window.text(), &ending, "", room.is_short);
                let chars = question.instructions.len() + question.text.len();
                tokens_in += chars as u64 / TOKEN_CHARS + AROUND_TOKENS;
                tokens_out += ANSWER_TOKENS;
            }
        }
    }
    let count = u64::try_from(seen).ok().filter(|count| *count > 0)?;
    let (tokens_in, tokens_out) = (tokens_in / count, tokens_out / count);
    let usd = Some(prices.usd(tokens_in, tokens_out));
    let each = Usage { tokens_in, tokens_out, usd, millis: 0 };
    Some(Estimate { seen, sessions, each })
}
