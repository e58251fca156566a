//! Notices for the person, about injections and failures of background work.

use std::path::Path;

use memory_store_base::Timestamp;
use memory_store_base::background::{inbox_bytes, is_running};
use memory_store_base::exchange::claim_notice::ClaimNotice;
use memory_store_base::exchange::pull_notice::Arrived;
use memory_store_base::exchange::secret_notice::SecretNotice;
use memory_store_base::layout::ProjectDir;
use memory_store_base::progress::Progress;
use memory_store_base::settings::Notice;

use crate::hook::Hook;
use crate::session::HookSession;
use crate::{append, inbox};

/// Maximum number of characters of a failure message in a notice.
const TROUBLE_CHARS_MAX: usize = 200;

/// Minimum time in milliseconds between the oldest and the newest unread note at which background work counts as stuck.
const STUCK_MS: i64 = 3_600_000;
/// Minimum value of the same time, in multiples of the processor's interval.
const STUCK_WAITS: i64 = 12;

/// Prepares for [`of_injection`]: if a notice has to be claimed, the claim is written together with the claims of
/// memories.
pub fn expect_injection(hook: &Hook, session: &mut HookSession, notice: Notice) {
    if notice == Notice::First && hook.may_write() {
        session.want_notice();
    }
}

/// Returns the notice about an injection with these numbers of memories and passages (`counts`); `None` if the settings
/// require no notice.
pub fn of_injection(
    hook: &Hook,
    session: &mut HookSession,
    notice: Notice,
    counts: (usize, usize),
    tokens: u32,
) -> Option<String> {
    let wanted = match notice {
        Notice::Off => false,
        Notice::Each => true,
        // In a mode without writing, it is unknown which injection is the first.
        Notice::First if !hook.may_write() => false,
        Notice::First => hook.attempt("notice", session.claim_notice()) == Some(true),
    };
    wanted.then(|| {
        let memories = match counts.0 {
            1 => "1 memory".to_owned(),
            memories => format!("{memories} memories"),
        };
        let passages = match counts.1 {
            1 => "1 passage".to_owned(),
            passages => format!("{passages} passages"),
        };
        let what = match counts {
            (0, 0) => "where the work was left".to_owned(),
            (_, 0) => memories,
            (0, _) => passages,
            (_, _) => format!("{memories}, {passages}"),
        };
        format!("{what}, {tokens} tokens: throughline why")
    })
}

/// Returns the announcement that background work fails, or that the index cannot be read; `None` if there is no
/// failure. Each failure is announced once: a mark in the progress file prevents repetition until a run succeeds.
pub fn of_trouble(hook: &Hook) -> Option<String> {
    let mut progress = Progress::read(&hook.state.progress);
    if progress.announced || !hook.may_write() {
        return None;
    }
    let trouble = trouble(hook, &progress)?;
    progress.announced = true;
    let marked = serde_json::to_vec(&progress)
        .map_err(std::io::Error::other)
        .and_then(|bytes| append::replace(&hook.state.progress, &bytes));
    // A notice that cannot be marked as announced would be repeated at every start.
    hook.attempt("announcement", marked)?;
    Some(format!("Throughline: {trouble}. Try `throughline doctor`."))
}

/// Returns the announcement that a later version of the program has written the project's private state. Writing is not
/// permitted then, so it cannot be marked as announced and is repeated at every start.
pub fn of_newer(hook: &Hook) -> Option<String> {
    hook.newer.as_ref().map(|newer| format!("Throughline: {newer}."))
}

/// Returns the announcement of memories that a pull added, once for each pull; `None` if there are none. Without such
/// memories, it takes only one failing system call.
pub fn of_arrival(hook: &Hook) -> Option<String> {
    if !hook.may_write() {
        return None;
    }
    mark_announced(hook, &hook.state.arrived, &hook.state.arrived_told)?;
    Arrived::last(&hook.state).map(|arrived| format!("Throughline: {arrived}"))
}

/// Returns the announcement of newly known secrets, once for each event; `None` if there are none.
pub fn of_secrets(hook: &Hook) -> Option<String> {
    if !hook.may_write() {
        return None;
    }
    mark_announced(hook, &hook.state.secret_notice, &hook.state.secret_notice_told)?;
    let told = SecretNotice::announced(&hook.state)?.message()?;
    Some(format!("Throughline: {told}."))
}

/// Returns the announcements of Claude's pending changes to memories of this project and to the user's own memories,
/// once for each event.
pub fn of_claims(hook: &Hook) -> Vec<String> {
    if !hook.may_write() {
        return Vec::new();
    }
    let homes = [hook.dirs.project(hook.tree.project), hook.dirs.user_dir()];
    let announce = |home: &ProjectDir| {
        mark_announced(hook, &home.claim_notice, &home.claim_notice_told)?;
        let told = ClaimNotice::read(&home.claim_notice_told)?.message()?;
        Some(format!("Throughline: {told}."))
    };
    homes.iter().filter_map(announce).collect()
}

/// Marks a notice as announced. Returns `None` if there is no notice, or if a concurrent hook has marked it first.
fn mark_announced(hook: &Hook, untold: &Path, told: &Path) -> Option<()> {
    match std::fs::rename(untold, told) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        renamed => hook.attempt("announcement", renamed),
    }
}

fn trouble(hook: &Hook, progress: &Progress) -> Option<String> {
    if progress.failures > 0 {
        let failure = progress.failure.as_deref().unwrap_or("for an unknown reason");
        let times = if progress.failures == 1 { "once" } else { "repeatedly" };
        return Some(format!("background work failed {times}: {}", shortened(failure)));
    }
    if let Some(since) = stuck_since(hook, progress) {
        let since = since.date();
        return Some(format!("background work was started and has done nothing since {since}"));
    }
    hook.degraded().map(|degraded| format!("{}; it is being rebuilt", shortened(&degraded)))
}

fn shortened(text: &str) -> String {
    text.chars().take(TROUBLE_CHARS_MAX).collect()
}

/// Returns the time of the oldest unread note if background work is stuck: hooks have been writing notes, and starting
/// the processor, for much longer than its interval. Returns `None` otherwise, and while a processor is running.
fn stuck_since(hook: &Hook, progress: &Progress) -> Option<Timestamp> {
    if !progress.leaves(inbox_bytes(&hook.state)) {
        return None;
    }
    let (oldest, newest) = inbox::unprocessed(&hook.state, progress)?;
    let stuck_ms = STUCK_MS.max(STUCK_WAITS * progress.due_ms());
    let is_stuck =
        newest.0 - oldest.0 > stuck_ms && !is_running(&hook.dirs.project(hook.tree.project));
    is_stuck.then_some(oldest)
}
