//! What a prompt would bring, and what became of everything else: the answer to "why not that
//! one".

use std::io::Write;

use memory_store::recall::{Fate, Reason, Recall, Recalled, Traced};
use serde::Serialize;

use super::stores::Stores;
use super::view::{self, plain};
use crate::failure::Result;
use crate::style::{CARE, NAME, QUIET, paint};
use crate::world::World;

/// Candidates that are shown to a person.
const SHOWN_MAX: usize = 20;

#[derive(Serialize)]
struct TraceView {
    injected: Vec<String>,
    silent: Option<&'static str>,
    degraded: Option<String>,
    candidates: Vec<CandidateView>,
}

#[derive(Serialize)]
struct CandidateView {
    id: String,
    title: String,
    lexical: f32,
    fused: f32,
    gate: f32,
    threshold: f32,
    fate: &'static str,
}

impl From<&Traced> for CandidateView {
    fn from(traced: &Traced) -> Self {
        Self {
            id: traced.id.to_string(),
            title: traced.title.clone(),
            lexical: traced.lexical,
            fused: traced.fused,
            gate: traced.gate,
            threshold: traced.threshold,
            fate: fate(traced.fate),
        }
    }
}

/// Tries a prompt without injecting anything.
pub fn run(query: &str, json: bool, world: &World, stores: &Stores, out: &mut dyn Write) -> Result {
    let recall = Recall::open(&world.dirs, &stores.tree).with_traces();
    let recalled = recall.prompt(query, world.now, &|_| false);
    if json {
        return view::json(&view_of(&recalled), out);
    }
    show(&recalled, out)
}

fn view_of(recalled: &Recalled) -> TraceView {
    TraceView {
        injected: recalled.hits.iter().map(|hit| hit.id.to_string()).collect(),
        silent: recalled.silent.map(reason),
        degraded: recalled.degraded.clone(),
        candidates: recalled.trace.iter().map(CandidateView::from).collect(),
    }
}

fn show(recalled: &Recalled, out: &mut dyn Write) -> Result {
    if let Some(degraded) = &recalled.degraded {
        writeln!(out, "{} {}", paint(CARE, "degraded:"), plain(degraded))?;
    }
    for hit in &recalled.hits {
        writeln!(out, "{}  {}", paint(NAME, hit.id.short()), plain(&hit.title))?;
        writeln!(out, "        {}", paint(QUIET, plain(&hit.why)))?;
    }
    if let Some(silent) = recalled.silent {
        writeln!(out, "Silent: {}.", reason(silent))?;
    }
    let others = || recalled.trace.iter().filter(|traced| traced.fate != Fate::Hit);
    if others().next().is_some() {
        writeln!(out, "\nNot these:")?;
    }
    for traced in others().take(SHOWN_MAX) {
        writeln!(
            out,
            "{}  {}  {}",
            paint(NAME, traced.id.short()),
            plain(&traced.title),
            paint(
                QUIET,
                format_args!(
                    "{} (score {:.2}, gate {:.2} of {:.2})",
                    fate(traced.fate),
                    traced.fused,
                    traced.gate,
                    traced.threshold
                )
            )
        )?;
    }
    Ok(())
}

/// Why nothing was given, in words.
pub fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Empty => "there are no memories",
        Reason::NoWords => "it has no words to look for",
        Reason::Acknowledgement => "it only acknowledges",
        Reason::NoCandidate => "nothing shares a word with it",
        Reason::Gate => "nothing answers it well enough",
        Reason::Skipped => "what answers it has been shown, or its file changed",
    }
}

/// What became of a candidate, in words.
pub fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Hit => "injected",
        Fate::Gate => "does not answer it well enough",
        Fate::Superseded => "replaced by a newer one",
        Fate::Duplicate => "says what a better one says",
        Fate::Cut => "far behind the best",
        Fate::Full => "no place left",
        Fate::Skipped => "shown already",
        Fate::Stale => "its file is gone or changed: run `throughline sync`",
        Fate::Said => "said in CLAUDE.md or Claude Code's own memory",
        Fate::Expired => "does not hold now",
    }
}
