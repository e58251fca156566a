//! Explains whether a memory was injected and why: prints its receipts, and tests the last prompts with the current
//! index.

use std::io::Write;

use memory_store::recall::{CandidateOutcome, Traced};
use memory_store::store::Stored;
use memory_store::{MemoryId, Timestamp, short_session};
use serde::Serialize;

use super::reasons::{self, InjectionOccasion};
use super::trace::{self, TraceDetail};
use crate::failure::Result;
use crate::receipts::{self, InjectionReceipt};
use crate::sessions::{self, TypedPrompt};
use crate::stores::Stores;
use crate::view::style::{NAME, QUIET, STRONG, paint};
use crate::view::{self, MemoryView, clock, plain, wrap};

/// Maximum number of sessions whose prompts are tested; the latest sessions are used.
const SESSIONS_MAX: usize = 8;
/// Maximum receipts that are read.
const RECEIPTS_MAX: usize = 2_000;
/// Columns of the date before a prompt.
const DATE_COLUMNS: usize = 14;

#[derive(Serialize)]
struct WhyMemoryView<'a> {
    #[serde(flatten)]
    memory: MemoryView<'a>,
    given: Vec<GivenAt>,
    prompts: Vec<TriedPrompt>,
}

/// An injection of the memory.
#[derive(Serialize)]
struct GivenAt {
    at: Timestamp,
    event: String,
    session: String,
    why: String,
    score: f32,
}

/// A tested prompt, with the result for the memory.
#[derive(Serialize)]
struct TriedPrompt {
    at: Timestamp,
    prompt: String,
    /// Sentence that describes the result.
    fate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<f32>,
    /// Reason for the injection, if the memory's gate value is below the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    let_through: Option<&'static str>,
}

impl TriedPrompt {
    /// Returns the scores of the memory in words: the gate value, the threshold, and other reasons that opened the
    /// gate.
    fn scores(&self) -> String {
        match (self.score, self.gate, self.threshold) {
            (Some(score), Some(gate), Some(threshold)) => {
                let by = self.let_through.map(|by| format!("; {by}")).unwrap_or_default();
                format!(" (score {score:.2}, gate {gate:.2}, needed {threshold:.2}{by})")
            }
            (Some(score), Some(_), None) => match self.let_through {
                Some(by) => format!(" (score {score:.2}; {by})"),
                None => format!(" (score {score:.2}; the gate is closed to it)"),
            },
            _ => String::new(),
        }
    }
}

/// Prints the last injections of a memory and its results for the last prompts, at most `detail.others` of each.
pub fn run(
    stored: &Stored,
    detail: TraceDetail,
    json: bool,
    stores: &Stores,
    out: &mut dyn Write,
) -> Result {
    let id = stored.memory.id;
    let mut recall = stores.recall();
    recall.traces = true;
    let count = detail.others;
    let archive = sessions::archive(stores);
    let prompts = sessions::typed_prompts(&archive, SESSIONS_MAX, count)?;
    let view = WhyMemoryView {
        memory: MemoryView::from(stored)
            .held(stores.held_as(stored)?.is_some())
            .labelled(stores.labels()?(stored))
            .stale(recall.staleness(id).as_ref())
            .aged(recall.age(id, stores.world.now).unwrap_or_default()),
        given: given(stores, id, count),
        prompts: prompts
            .into_iter()
            .map(|TypedPrompt { at, text: prompt, .. }| {
                let recalled = recall.prompt(&prompt, None, stores.world.now, &|_| false);
                let traced = recalled.trace.iter().find(|traced| traced.id == id);
                let silent = recalled.silent.map(trace::reason);
                asked(at, prompt, traced, silent)
            })
            .collect(),
    };
    if json { view::json(&view, out) } else { show(&view, stored, detail.scores, out) }
}

fn asked(
    at: Timestamp,
    prompt: String,
    traced: Option<&Traced>,
    silent: Option<&str>,
) -> TriedPrompt {
    let fate = match (traced, silent) {
        (Some(traced), _) => fate(traced, &prompt),
        (None, Some(silent)) => format!("Nothing is given with it: {silent}."),
        (None, None) => "It has nothing in common with this prompt.".to_owned(),
    };
    TriedPrompt {
        at,
        prompt,
        fate,
        score: traced.map(|traced| traced.fused),
        gate: traced.map(|traced| traced.gate),
        // An infinite threshold is omitted, since JSON cannot represent infinity.
        threshold: traced.map(|traced| traced.threshold).filter(|it| it.is_finite()),
        let_through: traced.and_then(trace::let_through),
    }
}

/// Returns a sentence that explains whether a candidate is injected and why.
fn fate(traced: &Traced, prompt: &str) -> String {
    let occasion = InjectionOccasion::Prompt;
    let instead = traced.instead.map(|id| id.short());
    match traced.outcome {
        CandidateOutcome::Hit => {
            let beside = if trace::is_beside(traced) { " beside one that answers" } else { "" };
            format!("It is given{beside}. {}", reasons::given(&traced.why, occasion, prompt))
        }
        outcome => reasons::left_out(&traced.why, occasion, prompt, (outcome, instead.as_deref())),
    }
}

fn given(stores: &Stores, id: MemoryId, count: usize) -> Vec<GivenAt> {
    let has = |receipt: &InjectionReceipt| receipt.memories.iter().any(|given| given.id == id);
    let found = receipts::last(&stores.state(), RECEIPTS_MAX, has);
    found
        .into_iter()
        .take(count)
        .filter_map(|receipt| {
            let given = receipt.memories.iter().find(|given| given.id == id)?;
            Some(GivenAt {
                at: receipt.at,
                why: given.why.clone(),
                score: given.score,
                event: receipt.event,
                session: receipt.session,
            })
        })
        .collect()
}

fn show(view: &WhyMemoryView<'_>, stored: &Stored, scores: bool, out: &mut dyn Write) -> Result {
    let (short, title) = (stored.memory.id.short(), &stored.memory.title);
    writeln!(out, "{}  {}", paint(NAME, short), paint(STRONG, plain(title)))?;
    if view.given.is_empty() {
        writeln!(out, "It was not given yet.")?;
    }
    for given in &view.given {
        let occasion = InjectionOccasion::of_event(&given.event);
        let session = short_session(&given.session);
        let score = match scores {
            true => paint(QUIET, format_args!(" (score {:.2})", given.score)),
            false => String::new(),
        };
        writeln!(
            out,
            "  given {}  {} in session {}. {}{score}",
            clock::time(given.at),
            occasion.when(),
            plain(session),
            plain(&reasons::given(&given.why, occasion, title)),
        )?;
    }
    if !view.prompts.is_empty() {
        writeln!(out, "\nWith the last prompts, as recall answers now:")?;
    }
    for asked in &view.prompts {
        let prompt = wrap::cut(&plain(&asked.prompt), wrap::room().saturating_sub(DATE_COLUMNS));
        writeln!(out, "  {}  {prompt}", paint(QUIET, clock::date(asked.at)))?;
        let numbers = if scores { paint(QUIET, asked.scores()) } else { String::new() };
        writeln!(out, "              {}{numbers}", plain(&asked.fate))?;
    }
    if !scores && !view.prompts.is_empty() {
        writeln!(out, "{}", paint(QUIET, "`--scores` shows the numbers behind it."))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use memory_store::recall::{CandidateOutcome, Features};

    use super::*;

    /// Returns the text about a candidate with this gate value and threshold. `named` is whether the prompt names the
    /// candidate.
    fn candidate_text(gate: f32, threshold: f32, named: bool, outcome: CandidateOutcome) -> String {
        let traced = Traced {
            id: MemoryId([1; 16]),
            title: "Berths are counted".to_owned(),
            why: "words: berth".to_owned(),
            lexical: 0.0,
            beside: 0.0,
            words: 0.0,
            cosine: None,
            meaning: None,
            trust: 0.0,
            more: 0.0,
            fused: 0.75,
            features: Features::default(),
            gate,
            threshold,
            named,
            outcome,
            instead: None,
        };
        let asked = asked(Timestamp(0), "where?".to_owned(), Some(&traced), None);
        format!("{}{}", asked.fate, asked.scores())
    }

    #[test]
    fn a_gate_that_the_score_did_not_open_is_reported_with_its_reason() {
        use CandidateOutcome::{Gate, Hit};
        const WHY: &str = "It shares the word \"berth\" with the prompt";
        for (told, expected) in [
            (
                candidate_text(3.0, 2.0, false, Hit),
                format!("It is given. {WHY}. (score 0.75, gate 3.00, needed 2.00)"),
            ),
            (
                candidate_text(1.0, 2.0, false, Hit),
                format!(
                    "It is given beside one that answers. {WHY}. (score 0.75, gate 1.00, needed 2.00; given beside a \
                     memory that opened the gate)"
                ),
            ),
            (
                candidate_text(1.0, 2.0, true, Hit),
                format!(
                    "It is given. {WHY}. (score 0.75, gate 1.00, needed 2.00; named, so the gate is open)"
                ),
            ),
            (
                candidate_text(1.0, f32::INFINITY, true, Hit),
                format!("It is given. {WHY}. (score 0.75; named, so the gate is open)"),
            ),
            (
                candidate_text(1.0, 2.0, false, Gate),
                format!(
                    "{WHY}, but it does not answer well enough. (score 0.75, gate 1.00, needed 2.00)"
                ),
            ),
            (
                candidate_text(1.0, f32::INFINITY, false, Gate),
                format!(
                    "{WHY}, but it does not answer well enough. (score 0.75; the gate is closed to it)"
                ),
            ),
        ] {
            assert_eq!(told, expected);
        }
    }
}
