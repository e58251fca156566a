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

/// Maximum number of characters of a failure in a notice.
const TROUBLE_CHARS_MAX: usize = 200;

/// Minimum age of unread notes, in milliseconds, at which they count as stuck.
const STUCK_MS: i64 = 3_600_000;
/// See [`STUCK_MS`]: the age must also exceed this multiple of the processor's interval.
const STUCK_WAITS: i64 = 12;

/// Prepares for [`of_injection`]: what it will have to claim is claimed with the memories.
pub fn expect_injection(hook: &Hook, session: &mut HookSession, notice: Notice) {
    if notice == Notice::First && hook.may_write() {
        session.want_notice();
    }
}

/// Returns the notice of an injection of this many memories and passages, if the settings require one.
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
        // Without permission to write, the first injection cannot be determined.
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

/// Returns the announcement that background work fails, or that the index cannot be read. It is made once per failure;
/// the progress file contains a mark until a run has succeeded.
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

/// Returns the announcement that a later version of the program has written the project's private state. Without
/// permission to write it cannot be marked, so every start repeats it.
pub fn of_newer(hook: &Hook) -> Option<String> {
    hook.newer.as_ref().map(|newer| format!("Throughline: {newer}."))
}

/// Returns the announcement of memories that were pulled, once for each pull. Without any it costs one failing call.
pub fn of_arrival(hook: &Hook) -> Option<String> {
    if !hook.may_write() {
        return None;
    }
    mark_announced(hook, &hook.state.arrived, &hook.state.arrived_told)?;
    Arrived::last(&hook.state).map(|arrived| format!("Throughline: {arrived}"))
}

/// Returns the announcement of newly known secrets, once for each time.
pub fn of_secrets(hook: &Hook) -> Option<String> {
    if !hook.may_write() {
        return None;
    }
    mark_announced(hook, &hook.state.secret_notice, &hook.state.secret_notice_told)?;
    let told = SecretNotice::announced(&hook.state)?.message()?;
    Some(format!("Throughline: {told}."))
}

/// Returns the announcements of pending changes by Claude, in this project and among the user's own memories, once for
/// each time.
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

/// Marks a notice as announced; `None` if there is none. Of concurrent hooks only one succeeds.
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

/// Returns the time of the oldest unread note if hooks have since written more, and so started the processor, for much
/// longer than its interval. `None` while a processor runs.
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
