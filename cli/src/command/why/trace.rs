//! Trace of a prompt, a file or an error: which candidates would be injected, and why others would not.

use std::io::Write;

use memory_store::MemoryId;
use memory_store::recall::passages::{Already, MEMORIES_ENOUGH};
use memory_store::recall::{CandidateOutcome, Hit, QueryShape, Recalled, SilenceReason, Traced};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::reasons::{self, InjectionOccasion};
use crate::failure::Result;
use crate::stores::Stores;
use crate::view::style::{CARE, NAME, QUIET, paint};
use crate::view::{self, passage, plain};

/// A candidate.
#[derive(Serialize)]
struct CandidateView<'a> {
    short: String,
    #[serde(flatten, with = "CandidateFields")]
    traced: &'a Traced,
}

impl<'a> CandidateView<'a> {
    fn of(traced: &'a Traced) -> Self {
        Self { short: traced.id.short(), traced }
    }
}

/// The fields of a candidate, in the order in which they are printed.
#[derive(Serialize)]
#[serde(remote = "Traced")]
struct CandidateFields {
    id: MemoryId,
    title: String,
    why: String,
    #[serde(rename = "fate", serialize_with = "obstacle")]
    outcome: CandidateOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<MemoryId>,
    fused: f32,
    lexical: f32,
    beside: f32,
    words: f32,
    cosine: Option<f32>,
    meaning: Option<f32>,
    trust: f32,
    more: f32,
    named: bool,
    gate: f32,
    /// `null` if the gate was not evaluated, since JSON cannot represent infinity.
    threshold: f32,
}

fn obstacle<S: Serializer>(
    outcome: &CandidateOutcome,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(reasons::obstacle(*outcome))
}

/// Type of the text to trace.
#[derive(Clone, Copy, Debug)]
pub enum Trial {
    /// The text is a prompt.
    Prompt,
    /// The text is the path of a file that is read or edited.
    File,
    /// The text is the output of a failed command.
    Error,
}

impl Trial {
    const fn occasion(self) -> InjectionOccasion {
        match self {
            Self::Prompt => InjectionOccasion::Prompt,
            Self::File => InjectionOccasion::File,
            Self::Error => InjectionOccasion::Error,
        }
    }
}

/// Amount of detail in the output.
#[derive(Clone, Copy, Debug)]
pub struct TraceDetail {
    /// Maximum memories shown that would not be injected.
    pub others: usize,
    /// Whether scores are shown.
    pub scores: bool,
}

/// Description of a candidate that the query names by its path, title or error.
const NAMED: &str = "named, so the gate is open";

/// Traces a text without injecting anything.
pub fn run(
    query: &str,
    trial: Trial,
    detail: TraceDetail,
    as_json: bool,
    stores: &Stores,
    out: &mut dyn Write,
) -> Result {
    let mut recall = stores.recall();
    recall.traces = true;
    let mut recalled = match trial {
        Trial::Prompt => recall.prompt(query, None, stores.world.now, &|_| false),
        Trial::File => recall.file(query, None, stores.world.now, &|_| false),
        Trial::Error => recall.error("", query, stores.world.now, &|_| false),
    };
    let (now, nothing) = (stores.world.now, &Already::NOTHING);
    if matches!(trial, Trial::Prompt) {
        recalled.shape = QueryShape::of(query, now);
    }
    let passages = match trial {
        Trial::Prompt if recalled.hits.len() < MEMORIES_ENOUGH => {
            recall.passages(query, now, nothing)
        }
        Trial::File if recalled.hits.is_empty() => {
            recall.passage_of_file(query, now, nothing).into_iter().collect()
        }
        Trial::Error if recalled.hits.is_empty() => {
            recall.passage_of_error("", query, now, nothing).into_iter().collect()
        }
        Trial::Prompt | Trial::File | Trial::Error => Vec::new(),
    };
    if as_json {
        let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>();
        let view = json!({
            "injected": ids(&recalled.hits),
            "passages": ids(&passages),
            "silent": recalled.silent.map(reason),
            "degraded": recalled.degraded,
            "shape": recalled.shape.as_ref().map(QueryShape::name),
            "candidates": recalled.trace.iter().map(CandidateView::of).collect::<Vec<_>>(),
        });
        view::json(&view, out)
    } else {
        show(&recalled, &passages, (query, trial), detail, out)
    }
}

fn show(
    recalled: &Recalled,
    passages: &[Hit],
    (query, trial): (&str, Trial),
    detail: TraceDetail,
    out: &mut dyn Write,
) -> Result {
    if let Some(degraded) = &recalled.degraded {
        writeln!(out, "{} {}", paint(CARE, "degraded:"), plain(degraded))?;
    }
    let occasion = trial.occasion();
    let traced = |hit: &Hit| recalled.trace.iter().find(|traced| traced.id == hit.id);
    for hit in &recalled.hits {
        writeln!(out, "{}  {}", paint(NAME, hit.id.short()), plain(&hit.title))?;
        writeln!(out, "        {}", plain(&reasons::given(&hit.why, occasion, query)))?;
        let Some(traced) = traced(hit) else { continue };
        if is_beside(traced) {
            writeln!(
                out,
                "        It would not be given alone: it comes beside one that answers."
            )?;
        }
        show_scores(traced, detail, out)?;
    }
    for hit in passages {
        passage::show(hit, 0, out)?;
        writeln!(out, "        {}", plain(&reasons::given(&hit.why, occasion, query)))?;
    }
    if let Some(silent) = recalled.silent.filter(|_| passages.is_empty()) {
        writeln!(out, "Nothing would be given: {}.", reason(silent))?;
    }
    let others = || recalled.trace.iter().filter(|traced| traced.outcome != CandidateOutcome::Hit);
    let shown = others().count().min(detail.others);
    if shown > 0 {
        writeln!(out, "\nNot given:")?;
    }
    for traced in others().take(shown) {
        writeln!(out, "{}  {}", paint(NAME, traced.id.short()), plain(&traced.title))?;
        let instead = traced.instead.map(|id| id.short());
        let told =
            reasons::left_out(&traced.why, occasion, query, (traced.outcome, instead.as_deref()));
        writeln!(out, "        {}", plain(&told))?;
        show_scores(traced, detail, out)?;
    }
    if let Some(shape) = &recalled.shape {
        let told = format!("In `throughline search` this asks for {shape}.");
        writeln!(out, "{}", paint(QUIET, plain(&told)))?;
    }
    if !detail.scores && !recalled.trace.is_empty() {
        writeln!(out, "{}", paint(QUIET, "`--scores` shows the numbers behind it."))?;
    }
    Ok(())
}

fn show_scores(traced: &Traced, detail: TraceDetail, out: &mut dyn Write) -> Result {
    if detail.scores {
        writeln!(out, "        {}", paint(QUIET, sums(traced)))?;
    }
    Ok(())
}

/// Formats the score of a candidate with its components, and the result of the gate.
fn sums(traced: &Traced) -> String {
    let Traced { fused, words, trust, more, gate, threshold, .. } = traced;
    let mut text = format!("score {fused:.2} = words {words:.2}");
    if let (Some(meaning), Some(cosine)) = (traced.meaning, traced.cosine) {
        text.push_str(&format!(" + meaning {trust:.2} x {meaning:.2} (cosine {cosine:.2})"));
    }
    text.push_str(&format!(" + more {more:.2}; "));
    match (traced.named, threshold.is_finite()) {
        (true, _) => text.push_str(NAMED),
        (false, true) => {
            text.push_str(&format!("gate {gate:.2}, needed {threshold:.2}"));
            text.extend(let_through(traced).map(|other| format!("; {other}")));
        }
        (false, false) => text.push_str("the gate is closed to it"),
    }
    text
}

/// Returns the reason for which a hit is injected although its own gate value is below the threshold.
pub fn let_through(traced: &Traced) -> Option<&'static str> {
    if traced.outcome != CandidateOutcome::Hit || traced.gate >= traced.threshold {
        return None;
    }
    Some(match traced.named {
        true => NAMED,
        false => "given beside a memory that opened the gate",
    })
}

/// Returns whether a hit is injected only because another hit matches.
pub fn is_beside(traced: &Traced) -> bool {
    !traced.named && let_through(traced).is_some()
}

/// Returns the reason why nothing was injected, in words.
pub fn reason(reason: SilenceReason) -> &'static str {
    match reason {
        SilenceReason::Empty => "there are no memories",
        SilenceReason::NoWords => "it has no words to look for",
        SilenceReason::Acknowledgement => "it only acknowledges",
        SilenceReason::NoCandidate => "nothing shares a word with it",
        SilenceReason::Gate => "nothing answers it well enough",
        SilenceReason::LeftOut(CandidateOutcome::Superseded) => {
            "what answers it was replaced by what is not given"
        }
        SilenceReason::LeftOut(CandidateOutcome::Held) => {
            "what answers it is withheld (`throughline review` prints the reason)"
        }
        SilenceReason::LeftOut(CandidateOutcome::Said) => {
            "CLAUDE.md or Claude Code's own memory says what answers it"
        }
        SilenceReason::LeftOut(CandidateOutcome::Stale) => {
            "the file of what answers it is gone or changed (run `throughline sync`)"
        }
        SilenceReason::LeftOut(CandidateOutcome::Expired) => "what answers it is not valid now",
        SilenceReason::LeftOut(CandidateOutcome::OtherAgent) => {
            "what answers it belongs to a subagent"
        }
        SilenceReason::LeftOut(_) => "what answers it was shown already",
    }
}
