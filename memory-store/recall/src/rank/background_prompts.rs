//! Background prompts: prompts about foreign subjects, for the calibration of gates.

use super::nearest::Probe;
use crate::embed::Vectors;
use crate::query::Query;

/// Prompts about various subjects, one on each line, grouped by kind. A line that begins with `## ` starts the next
/// kind; other lines that begin with `#` are comments.
pub(crate) const PROMPTS: &str = include_str!("../../../assets/background-prompts.txt");

/// Returns the background prompts by kind.
pub(crate) fn kinds() -> impl Iterator<Item = impl Iterator<Item = &'static str>> {
    PROMPTS.split("\n## ").skip(1).map(|kind| {
        let lines = kind.lines().skip(1);
        lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
    })
}

/// Returns the background prompts, which are run on every store when it is published.
pub fn background_prompts() -> impl Iterator<Item = &'static str> {
    kinds().flatten()
}

/// Returns the query of a background prompt, with its vector as computed in a hook.
pub(crate) fn asked(prompt: &str, vectors: Option<&dyn Vectors>) -> Query {
    let query = Query::prompt(prompt);
    let probe = vectors.and_then(|vectors| {
        Some(Probe { space: vectors.space(), vector: vectors.asked(&query.text)? })
    });
    Query { probe, ..query }
}

/// Returns the score that a fraction `alpha` of the scores exceeds; `None` if there are no scores.
pub(crate) fn exceeded_by(mut scores: Vec<f32>, alpha: f32) -> Option<f32> {
    scores.sort_by(f32::total_cmp);
    let at = ((scores.len() as f32 * (1.0 - alpha)).ceil() as usize).max(1) - 1;
    scores.get(at).copied()
}
