//! The session-start hook: injects the handoff, planned memories (pinned ones, rules, decisions, commands, and warnings
//! about recently changed files), and the names of the recall tools.
//!
//! Claude Code stores the injections of a session and replays them on resume. It drops a text that is identical to an
//! earlier one, and adds any other text. Therefore the block depends only on the state of the store, its text is stored
//! in the session file, and on resume exactly this text is printed.

use std::path::Path;
use std::thread;
use std::time::Duration;

use memory_store_base::MemoryId;
use memory_store_base::background::{inbox_bytes, is_running};
use memory_store_base::handoff::Handoff;
use memory_store_base::layout::ProjectDir;
use memory_store_base::progress::Progress;
use memory_store_recall::{Hit, Recall, render};

use crate::event::{EventKind, StartSource};
use crate::hook::Hook;
use crate::inject::{self, Injection};
use crate::output::HookOutput;
use crate::reinject;
use crate::session::{GivenBlock, GivenMemory, HookSession, PendingChanges};
use crate::unreadable::{self, is_denied};
use crate::{inbox, notice, turn_end};

/// Last line of the block, for each name that Claude Code may assign to the MCP server; see [`more`].
const MORE: [&str; 2] = [
    "More: tools mcp__throughline__recall (query, or paths of a task's files) and mcp__throughline__search_sessions, or `throughline search WORDS`.",
    "More: tools mcp__plugin_throughline_throughline__recall (query, or paths of a task's files) and mcp__plugin_throughline_throughline__search_sessions, or `throughline search WORDS`.",
];

/// Returns the last line of the block. If the MCP server belongs to a plugin, its tool names contain the plugin's name.
#[expect(clippy::disallowed_methods, reason = "set by Claude Code for a plugin's hook")]
fn more() -> &'static str {
    MORE[usize::from(std::env::var_os("CLAUDE_PLUGIN_ROOT").is_some())]
}

/// Maximum number of tokens of the changes since the block was printed.
const CHANGED_TOKENS: u32 = 100;

/// Maximum number of tokens injected again after a compaction. It is far below Claude Code's limit for one text.
const AGAIN_TOKENS: u32 = 2000;

/// Maximum number of tokens of a handoff that was not ready in time for the block.
const LATE_TOKENS: u32 = 250;

/// Number of tokens of a line in addition to its text.
const LINE_TOKENS: u32 = 1;

/// Number of tokens of the delimiters and the first line.
const FRAME_TOKENS: u32 = 30;

/// Maximum number of tokens that settings can permit. A block of this size and the memories for a prompt together stay
/// below Claude Code's limit.
const BUDGET_TOKENS_MAX: u32 = 1600;

/// Interval between checks whether the processor has written the handoff.
const POLL: Duration = Duration::from_millis(1);

/// Part of the soft limit reserved for the work after waiting for the handoff.
const AFTER_WAIT: Duration = Duration::from_millis(15);

/// Returns the output for the start of a session.
pub fn answer(hook: &Hook) -> HookOutput {
    let EventKind::SessionStart(source) = hook.event.what else { return HookOutput::default() };
    // A subagent has its own task, so it needs no handoff.
    if hook.event.agent.is_some() {
        return HookOutput::default();
    }
    let Some(mut session) = hook.session() else {
        // This case is reported on screen, because the log is in the same folder and a start without output would look
        // like one without memories.
        let opened = std::fs::File::open(hook.state.session(&hook.event.session, None));
        let message = is_denied(&opened).then(|| unreadable::message(&hook.dirs.state));
        return HookOutput { message, ..HookOutput::default() };
    };
    let awaited = start_processor(hook);
    let mut output = match source {
        StartSource::Startup => fresh(hook, &mut session, awaited),
        StartSource::Clear => {
            if hook.may_write() {
                hook.attempt("clear", session.clear());
            }
            fresh(hook, &mut session, awaited)
        }
        StartSource::Resume | StartSource::Fork => resumed(hook, &mut session, awaited),
        StartSource::Compact => compacted(hook, &mut session),
    };
    let is_due = hook.is_moved || hook.index_is_due() || files_came(hook);
    if awaited.is_none() && is_due && hook.may_write() {
        hook.attempt("processor", turn_end::start_processor(hook));
    }
    let notices = [
        notice::of_newer(hook),
        notice::of_trouble(hook),
        notice::of_arrival(hook),
        notice::of_secrets(hook),
    ];
    let mut told: Vec<String> = notices.into_iter().flatten().collect();
    told.extend(notice::of_claims(hook));
    told.extend(output.message);
    output.message = (!told.is_empty()).then(|| told.join("\n"));
    output
}

/// Returns the part of the start block that a prompt must inject: the whole block if SessionStart did not run,
/// otherwise the changes since the block.
pub fn with_prompt(hook: &Hook, recall: &Recall, session: &mut HookSession) -> Injection {
    // Without a mark that the block was injected, it would be repeated with every prompt.
    if !hook.may_write() {
        return Injection::default();
    }
    if !session.is_started() {
        return begin(hook, recall, session, StartOccasion::Prompt).unwrap_or_default();
    }
    let budget_tokens = match session.pending() {
        None => return Injection::default(),
        // The handoff is not ready, or no processor is running. The next prompt checks again.
        Some(PendingChanges::Late(awaited)) if !wait_for_handoff(hook, awaited, is_running) => {
            return Injection::default();
        }
        Some(PendingChanges::Late(_)) => LATE_TOKENS,
        Some(PendingChanges::Resumed) => CHANGED_TOKENS,
    };
    let start = compose(hook, recall);
    if hook.may_claim() && hook.attempt("changes", session.take_pending()) == Some(true) {
        return changed(hook, start, session, budget_tokens);
    }
    Injection::default()
}

/// Starts the processor if there are new notes. Returns the number of bytes of the inbox that it will process; `None`
/// if it was not started.
fn start_processor(hook: &Hook) -> Option<u64> {
    if !hook.may_write() {
        return None;
    }
    let noted_bytes = inbox_bytes(&hook.state);
    if !Progress::read(&hook.state.progress).leaves(noted_bytes) {
        return None;
    }
    hook.attempt("processor", turn_end::start_processor(hook)).map(|()| noted_bytes)
}

/// Returns whether files were added to the memory folder since the processor last ran, for example by a pull. The index
/// does not contain such files, so the check for changed files does not find them.
fn files_came(hook: &Hook) -> bool {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    let looked = modified(&hook.state.progress);
    let folder = modified(&hook.tree.store().join("memories"));
    looked.is_some_and(|looked| folder.is_some_and(|folder| folder > looked))
}

/// Waits until the processor has written the handoff, as long as the soft limit allows and `is_of_use` returns true.
/// Returns whether the handoff is written.
fn wait_for_handoff(hook: &Hook, awaited: u64, is_of_use: impl Fn(&ProjectDir) -> bool) -> bool {
    let project = hook.dirs.project(hook.tree.project);
    loop {
        // An inbox shorter than `awaited` is a new one, so the old one was processed.
        if Handoff::read(&hook.state.handoff).inbox_bytes >= awaited
            || inbox_bytes(&hook.state) < awaited
        {
            return true;
        }
        if hook.deadline.remaining() < AFTER_WAIT + POLL || !is_of_use(&project) {
            return false;
        }
        thread::sleep(POLL);
    }
}

/// The event with which a block is injected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StartOccasion {
    SessionStart,
    Prompt,
}

/// Returns the block of a new session.
fn fresh(hook: &Hook, session: &mut HookSession, awaited: Option<u64>) -> HookOutput {
    // The processor was started just now and may not hold its lock yet, so the lock is not checked.
    let late = awaited.filter(|&awaited| !wait_for_handoff(hook, awaited, |_| true));
    let recall = Recall::open(&hook.dirs, &hook.tree, None);
    notice::expect_injection(hook, session, recall.settings().notice);
    hook.note_files(&recall);
    let Some(block) = begin(hook, &recall, session, StartOccasion::SessionStart) else {
        // The session has its block already: some versions of Claude Code start a session twice.
        return stored(session);
    };
    if let Some(awaited) = late {
        hook.attempt("changes", session.expect_changes(PendingChanges::Late(awaited)));
    }
    block.into_output(hook, session, None, recall.settings())
}

/// Marks the session as started and composes its block. Returns `None` if another hook has marked it first, or if no
/// mark can be written for a prompt: the block would then be repeated with every prompt.
fn begin(
    hook: &Hook,
    recall: &Recall,
    session: &mut HookSession,
    occasion: StartOccasion,
) -> Option<Injection> {
    let start = compose(hook, recall);
    if !hook.may_write() {
        return Some(start.block);
    }
    if !hook.may_claim() {
        return None;
    }
    let marked = hook
        .attempt("start mark", session.begin(&start.kept(occasion == StartOccasion::SessionStart)));
    match marked {
        Some(true) => Some(start.block),
        None if occasion == StartOccasion::SessionStart => Some(start.block),
        Some(false) | None => None,
    }
}

/// Start block of a session, composed at a given time.
struct StartBlock {
    /// The block as an injection.
    block: Injection,
    /// The session of the handoff, and the time at which that session was last active. If both are unchanged, only work
    /// of the present session can have changed the text of the handoff.
    left: String,
    /// Text of the handoff; empty if there is none.
    text: String,
    /// The memories in the block.
    hits: Vec<Hit>,
}

impl StartBlock {
    /// Returns the block in the form that is stored in the session file.
    fn kept(&self, printed: bool) -> GivenBlock {
        let text = self.block.text.clone();
        GivenBlock { text, ids: self.block.ids(), left: self.left.clone(), printed }
    }
}

/// Composes the start block of a session that starts now.
fn compose(hook: &Hook, recall: &Recall) -> StartBlock {
    let left = Handoff::read(&hook.state.handoff);
    let (own, branch) = (&hook.event.session, hook.tree.branch().unwrap_or_default());
    let text = left.text(own, &branch, hook.now);
    let shown = left.shown(own, &branch, hook.now);
    let budget_tokens = recall.settings().start_tokens.min(BUDGET_TOKENS_MAX);
    let hits = inject::hits(hook, recall.start(hook.now, budget_tokens));
    let block = Injection::that_fits("", budget_tokens, |budget_tokens| {
        Injection::new(render::start(text.as_deref(), &hits, more(), budget_tokens), &hits)
    });
    StartBlock {
        block,
        left: shown.map(|left| format!("{} {}", left.session, left.last)).unwrap_or_default(),
        text: text.unwrap_or_default(),
        hits,
    }
}

/// Returns the output for a resumed or forked session. Its context already contains its earlier injections.
fn resumed(hook: &Hook, session: &mut HookSession, awaited: Option<u64>) -> HookOutput {
    if !hook.may_write() {
        return if session.is_started() { stored(session) } else { fresh(hook, session, awaited) };
    }
    if !session.is_started() && !inherit(hook, session) {
        return fresh(hook, session, awaited);
    }
    hook.attempt("changes", session.expect_changes(PendingChanges::Resumed));
    stored(session)
}

/// Copies the records of the session from which this one was forked. Returns whether there were any.
fn inherit(hook: &Hook, session: &mut HookSession) -> bool {
    let Some(parent) = parent(hook).filter(HookSession::is_started) else { return false };
    hook.attempt("inheritance", session.inherit(&parent)).is_some()
}

/// Returns the session from which this one was forked; `None` if it is unknown. No payload names this session. It is
/// assumed to be the session that was active last, since a person forks the session in use.
fn parent(hook: &Hook) -> Option<HookSession> {
    let last = inbox::last_session_but(&hook.state, &hook.event.session)?;
    hook.other_session(&last)
}

/// Returns the last text that SessionStart printed, byte for byte.
fn stored(session: &HookSession) -> HookOutput {
    HookOutput { context: session.printed(), ..HookOutput::default() }
}

/// Returns the changes of the block since it was printed, and stores them in the session file.
fn changed(
    hook: &Hook,
    start: StartBlock,
    session: &mut HookSession,
    budget_tokens: u32,
) -> Injection {
    let StartBlock { block, left, text, mut hits } = start;
    let visible = block.ids();
    hits.retain(|hit| visible.contains(&hit.id) && !session.has(hit.id));
    let told = session.blocks().iter().any(|block| block.left == left);
    let news = Some(text.as_str()).filter(|_| !told);
    let block = Injection::new(render::start(news, &hits, "", budget_tokens), &hits);
    if block.text.is_empty() {
        return block;
    }
    let changed = StartBlock { block, left, text, hits };
    hook.attempt("changes", session.append_block(&changed.kept(false)));
    changed.block
}

/// Returns the output after a compaction. The compaction removed all earlier injections from the context, so they are
/// injected again.
fn compacted(hook: &Hook, session: &mut HookSession) -> HookOutput {
    if !session.is_started() {
        return fresh(hook, session, None);
    }
    let recall = Recall::open(&hook.dirs, &hook.tree, None);
    let exists = |id| recall.is_still_there(id, hook.now);
    let injection = compose_again(&session.blocks(), &session.given(), exists);
    if hook.may_write() {
        if !hook.may_claim() {
            return HookOutput::default();
        }
        hook.attempt("again", session.append_again(&injection.text));
    }
    injection.into_output(hook, session, None, recall.settings())
}

/// Combines earlier injections up to the token limit: the block of the session's start, the changes since then, and
/// single memories. Later memories take precedence.
fn compose_again(
    blocks: &[GivenBlock],
    given: &[GivenMemory],
    exists: impl Fn(MemoryId) -> bool,
) -> Injection {
    let blocks = join_blocks(blocks);
    let mut room = AGAIN_TOKENS.saturating_sub(render::tokens(&blocks.text) + FRAME_TOKENS);
    let mut kept: Vec<&GivenMemory> = Vec::new();
    for memory in given.iter().rev() {
        let tokens = render::tokens(&memory.text) + LINE_TOKENS;
        let is_new = kept.iter().all(|kept| kept.id != memory.id);
        if tokens <= room && is_new && exists(memory.id) {
            room -= tokens;
            kept.push(memory);
        }
    }
    let mut memories = reinject::memories(&kept);
    // The budget counts characters, of which some take two UTF-16 units, so the text may still be too long.
    while !memories.fits_below(&blocks.text) && kept.pop().is_some() {
        memories = reinject::memories(&kept);
    }
    blocks.then(memories)
}

/// Joins the first block and as many of the latest other blocks as fit below it, in their order.
fn join_blocks(blocks: &[GivenBlock]) -> Injection {
    let Some((first, others)) = blocks.split_first() else { return Injection::default() };
    let mut kept: Vec<Injection> = Vec::new();
    let joined = |kept: &[Injection]| {
        kept.iter().rev().cloned().fold(reinject::block(first), Injection::then)
    };
    for block in others.iter().rev() {
        kept.push(reinject::block(block));
        if !joined(&kept).fits_below("") {
            kept.pop();
            break;
        }
    }
    joined(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fits;

    fn block(name: &str, characters: usize) -> GivenBlock {
        let text = format!("{name} {}", "x".repeat(characters));
        GivenBlock { text, ..GivenBlock::default() }
    }

    #[test]
    fn what_is_given_again_reaches_the_model_whole() {
        let mut blocks = vec![block("first", 5000)];
        blocks.extend((0..20).map(|number| block(&format!("change{number}."), 900)));
        let memory =
            |number: u8| GivenMemory { id: MemoryId([number; 16]), text: "😀".repeat(300) };
        let given: Vec<GivenMemory> = (0..30).map(memory).collect();
        let again = compose_again(&blocks, &given, |_| true);
        assert!(fits(&again.text), "{}", again.text.len());
        assert!(again.text.starts_with("first "));
        for (name, is_there) in
            [("change19.", true), ("change16.", true), ("change2.", false), ("change0.", false)]
        {
            assert_eq!(again.text.contains(name), is_there, "{name}");
        }
        assert!(again.text.find("change18.") < again.text.find("change19."));

        let again = compose_again(&blocks[..1], &given, |_| true);
        assert!(fits(&again.text) && again.text.contains('😀'));
        let latest = MemoryId([29; 16]);
        assert!(again.ids().contains(&latest) && !again.ids().contains(&MemoryId([0; 16])));
        let alone = compose_again(&[], &given, |_| true);
        assert!(fits(&alone.text) && alone.ids().contains(&latest));
    }
}
