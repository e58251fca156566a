//! Importance: selects the drafts of a model, and computes the confidence of their memories.

use super::draft_entry::DraftEntry;

/// Minimum importance of a draft after calibration.
const IMPORTANCE_MIN: f32 = 0.4;
/// Typical median of a model's importance values in a project. Values of other models are shifted to it.
const MEDIAN: f32 = 0.6;
/// Minimum number of drafts for estimating a model's scale.
const CALIBRATED_MIN: usize = 20;
/// Steps in which the scale is shifted. They are coarse, so that a new session seldom changes all files.
const SHIFT_STEP: f32 = 0.05;
/// Reduction of importance for a draft that is useful only for its session's task.
const PASSING_LOSS: f32 = 0.15;
/// Increase of importance for a draft that another session repeats.
const REPEAT_GAIN: f32 = 0.1;
/// Maximum number of a project's memories for one window. The limit grows with the square root of the number of
/// windows: with four times as many windows it is twice as high.
const ROOM: f32 = 14.0;
/// Intercept and slope of the logistic function that computes the confidence. Confidence is the probability that a
/// reader rates a memory as useful; the intercept is for an importance of [`MEDIAN`]. The values were fitted to ratings
/// by four readers of one project (`scripts/fit-confidence`). Ratings by four other readers of two projects gave (.32,
/// 4): these readers rated more memories as useful, but in the same order.
const USEFUL: (f32, f32) = (-0.3, 7.5);

/// Returns the entries by a model that are worth keeping, with their confidence. `windows` is the number of windows
/// from which they were derived.
pub fn choose(mut entries: Vec<DraftEntry>, windows: usize) -> Vec<DraftEntry> {
    let shift = shift(&entries);
    let calibrated = |entry: &DraftEntry| -> f32 {
        let passing = if entry.draft.standing { 0.0 } else { PASSING_LOSS };
        let repeat = if entry.sessions.len() > 1 { REPEAT_GAIN } else { 0.0 };
        (entry.draft.importance.unwrap_or_default() - shift - passing + repeat).clamp(0.0, 1.0)
    };
    // A wish that applies only within a task is part of that task.
    let is_task = |entry: &DraftEntry| !entry.draft.standing && entry.draft.kind.is_wish();
    entries.retain(|entry| calibrated(entry) >= IMPORTANCE_MIN && !is_task(entry));
    for entry in &mut entries {
        let share = calibrated(entry);
        entry.draft.worth = share;
        entry.draft.confidence = chance(share);
    }
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|&a, &b| {
        entries[b].draft.worth.total_cmp(&entries[a].draft.worth).then(b.cmp(&a))
    });
    order.truncate(room(windows));
    order.sort_unstable();
    let mut place = 0..;
    entries.retain(|_| place.next().is_some_and(|at| order.binary_search(&at).is_ok()));
    entries
}

/// Returns the probability that a reader rates a memory of this calibrated importance as useful, 0 to 1.
fn chance(importance: f32) -> f32 {
    1.0 / (1.0 + (-(USEFUL.0 + USEFUL.1 * (importance - MEDIAN))).exp())
}

/// Returns the maximum number of memories by a model in a project.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small counts"
)]
pub fn room(windows: usize) -> usize {
    (ROOM * (windows.max(1) as f32).sqrt()).round() as usize
}

/// Returns the difference between the median of a model's importance values and the typical one, rounded to steps.
fn shift(entries: &[DraftEntry]) -> f32 {
    let mut given: Vec<f32> = entries.iter().filter_map(|entry| entry.draft.importance).collect();
    if given.len() < CALIBRATED_MIN {
        return 0.0;
    }
    given.sort_by(f32::total_cmp);
    ((given[given.len() / 2] - MEDIAN) / SHIFT_STEP).round() * SHIFT_STEP
}
