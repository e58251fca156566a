//! Guards of a project in a compact form, and the tool calls to which they apply.
//!
//! The processor compiles the guards that the user accepted into one text, which the hook before a tool call scans. A
//! guard is a line with seven fields, separated by tabs: the program of its command pattern (`*` if there is none), the
//! memory's id, the action, and the conditions on command, path, content and branch. A missing condition is empty.

mod command;
mod line;

use memory_store_base::MemoryId;
use memory_store_base::memory::{Guard, GuardAction};

use crate::glob::{path_matches, text_matches};
use crate::signature::program_name;
use command::{Call, Pattern};

/// First field of a guard that applies to any program.
const ANY: &str = "*";

/// The parts of a tool call that guards examine.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardedCall<'a> {
    /// The command line, of a tool that runs one.
    pub command: Option<&'a str>,
    /// Path of the file that is written, relative to the root, with `/` as separator.
    pub file: Option<&'a str>,
    /// The text that is written to the file.
    pub text: Option<&'a str>,
}

/// A guard that applies to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedGuard {
    /// The memory that contains the guard.
    pub memory: MemoryId,
    /// Effect on the call.
    pub action: GuardAction,
}

/// Returns guards in the compact form, with at most `bytes_max` bytes. Guards with a fault are omitted.
pub fn compile<'a>(
    guards: impl IntoIterator<Item = (MemoryId, &'a Guard)>,
    bytes_max: usize,
) -> String {
    let mut text = String::new();
    for (id, guard) in guards.into_iter().filter(|(_, guard)| guard.fault().is_none()) {
        let [command, path, content, branch] = guard.conditions();
        let program = command.split_whitespace().next().unwrap_or(ANY);
        let program = if program.contains(['*', '?']) { ANY } else { program_name(program) };
        let (id, action) = (id.to_string(), guard.action.name());
        let line = [program, &id, action, command, path, content, branch].join("\t");
        if text.len() + line.len() < bytes_max {
            text.extend([line.as_str(), "\n"]);
        }
    }
    text
}

/// Returns whether a pattern of a command matches the command that it describes, so that it can match any.
pub fn is_matchable(pattern: &str) -> bool {
    let example = pattern.replace(['*', '?'], "x");
    let pattern = Pattern::new(pattern);
    Call::all(&example).iter().any(|call| pattern.matches(call))
}

/// Returns the guard with the strongest action among those that apply to a call, the first of several; `None` if none
/// applies. `branch` returns the name of the checked-out branch, and is called only if the answer depends on it.
pub fn strongest(
    compiled: &str,
    call: &GuardedCall<'_>,
    branch: &dyn Fn() -> Option<String>,
) -> Option<AppliedGuard> {
    let calls: Vec<Call> = call.command.map(Call::all).unwrap_or_default();
    let mut found: Option<AppliedGuard> = None;
    for line in compiled.lines() {
        let Some((program, rest)) = line.split_once('\t') else { continue };
        if program != ANY && !calls.iter().any(|call| call.program == program) {
            continue;
        }
        let Some(guard) = Line::read(rest) else { continue };
        let is_stronger = found.is_none_or(|found| found.action < guard.action);
        if is_stronger && guard.applies(call, &calls, branch) {
            found = Some(AppliedGuard { memory: guard.memory, action: guard.action });
        }
    }
    found
}

/// A guard in the compact form, without its first field.
struct Line<'a> {
    memory: MemoryId,
    action: GuardAction,
    command: &'a str,
    path: &'a str,
    content: &'a str,
    branch: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        Some(Self {
            memory: next()?.parse().ok()?,
            action: GuardAction::from_name(next()?)?,
            command: next()?,
            path: next()?,
            content: next()?,
            branch: next()?,
        })
    }

    fn applies(
        &self,
        call: &GuardedCall<'_>,
        calls: &[Call],
        branch: &dyn Fn() -> Option<String>,
    ) -> bool {
        if !self.command.is_empty() {
            let pattern = Pattern::new(self.command);
            if !calls.iter().any(|call| pattern.matches(call)) {
                return false;
            }
        } else if !call.file.is_some_and(|file| self.path.is_empty() || is_at(self.path, file))
            || !(self.content.is_empty()
                || call.text.is_some_and(|text| contains(self.content, text)))
        {
            return false;
        }
        self.branch.is_empty() || branch().is_some_and(|name| text_matches(self.branch, &name))
    }
}

/// Returns whether a path is the named file, in the named folder, or matches the glob.
fn is_at(pattern: &str, path: &str) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let folder = pattern.trim_end_matches('/');
    path_matches(pattern, path)
        || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        || (!pattern.contains('/')
            && path.rsplit('/').next().is_some_and(|name| path_matches(pattern, name)))
}

/// Returns whether a line of a text contains the words of a pattern. A pattern that begins or ends with a letter or a
/// digit matches only at the edge of a word.
fn contains(pattern: &str, text: &str) -> bool {
    let pieces: Vec<&str> = pattern.split('*').collect();
    text.lines().any(|line| contains_pieces(&pieces, line))
}

/// Returns whether a line contains pieces of text in this order. The first possible place of each piece leaves most room
/// for the next ones, so no other place is tried, except for the last piece.
fn contains_pieces(pieces: &[&str], line: &str) -> bool {
    let before = |at: usize| line[..at].chars().next_back();
    let after = |at: usize| line[at..].chars().next();
    let [first, middle @ ..] = pieces else { return false };
    let is_end = |piece: &str, at: usize| is_edge(piece.chars().next_back(), after(at));
    let mut starts = line.match_indices(first).map(|(at, _)| at);
    let mut starts = starts.by_ref().filter(|&at| is_edge(first.chars().next(), before(at)));
    let Some((last, middle)) = middle.split_last() else {
        return starts.any(|at| is_end(first, at + first.len()));
    };
    let Some(mut at) = starts.next().map(|at| at + first.len()) else { return false };
    for piece in middle {
        let Some(found) = line[at..].find(piece) else { return false };
        at += found + piece.len();
    }
    line[at..].match_indices(last).any(|(found, _)| is_end(last, at + found + last.len()))
}

/// Returns whether a word ends between two adjacent characters.
fn is_edge(inner: Option<char>, outer: Option<char>) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !(is_word(inner) && is_word(outer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(action: GuardAction, command: &str, path: &str, content: &str, branch: &str) -> Guard {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let (command, path, content) = (some(command), some(path), some(content));
        Guard { action, command, path, content, branch: some(branch) }
    }

    fn applied(guards: &[Guard], call: &GuardedCall<'_>) -> Option<GuardAction> {
        let id = MemoryId([7; 16]);
        let compiled = compile(guards.iter().map(|guard| (id, guard)), usize::MAX);
        strongest(&compiled, call, &|| Some("main".to_owned())).map(|found| found.action)
    }

    #[test]
    fn the_strongest_guard_applies() {
        let guards = [
            guard(GuardAction::Warn, "git push", "", "", ""),
            guard(GuardAction::Deny, "git push --force*", "", "", ""),
            guard(GuardAction::Ask, "git push", "", "", "release/*"),
        ];
        let of =
            |line| applied(&guards, &GuardedCall { command: Some(line), ..Default::default() });
        assert_eq!(of("git push --force"), Some(GuardAction::Deny));
        assert_eq!(of("git push origin main"), Some(GuardAction::Warn));
        assert_eq!(of("git pull"), None);
    }

    #[test]
    fn a_branch_is_a_further_condition() {
        let on = |branch: &str| {
            let guards = [guard(GuardAction::Pause, "git commit", "", "", branch)];
            applied(
                &guards,
                &GuardedCall { command: Some("git commit -m x"), ..Default::default() },
            )
        };
        assert_eq!(on("main"), Some(GuardAction::Pause));
        assert_eq!(on("ma*"), Some(GuardAction::Pause));
        assert_eq!(on("feature/*"), None);
    }

    #[test]
    fn edits_are_matched_by_path_and_words() {
        let edit = |file, text| GuardedCall { file: Some(file), text: Some(text), command: None };
        let migrations = [guard(GuardAction::Pause, "", "db/migrations/", "", "")];
        assert!(applied(&migrations, &edit("db/migrations/1.sql", "x")).is_some());
        assert!(applied(&migrations, &edit("db/migrations.md", "x")).is_none());
        let lock = [guard(GuardAction::Pause, "", "*.lock", "", "")];
        assert!(applied(&lock, &edit("web/yarn.lock", "x")).is_some());
        let words = [guard(GuardAction::Warn, "", "src/**/*.rs", "unwrap(*)", "")];
        assert!(applied(&words, &edit("src/a/b.rs", "let a = b.unwrap();")).is_some());
        assert!(applied(&words, &edit("src/a/b.rs", "let a = b.rewrap();")).is_none());
        assert!(applied(&words, &edit("docs/b.rs", "b.unwrap()")).is_none());
        let name = [guard(GuardAction::Warn, "", "", "moment", "")];
        assert!(applied(&name, &edit("a.ts", "import moment from 'moment'")).is_some());
        assert!(applied(&name, &edit("a.ts", "a momentary lapse, momentjs")).is_none());
        let import = [guard(GuardAction::Warn, "", "", "import*moment", "")];
        assert!(applied(&import, &edit("a.ts", "import momentary from 'moment'")).is_some());
        let long = "unwrap(".repeat(2_000);
        assert!(
            applied(&[guard(GuardAction::Warn, "", "", "*unwrap(*x", "")], &edit("a", &long))
                .is_none()
        );
    }

    #[test]
    fn a_guard_with_a_fault_is_omitted() {
        for faulty in [
            guard(GuardAction::Deny, "", "", "", "main"),
            guard(GuardAction::Deny, "* --force", "", "", ""),
            guard(GuardAction::Deny, "git\tpush", "", "", ""),
            guard(GuardAction::Deny, &"x".repeat(201), "", "", ""),
        ] {
            assert!(faulty.fault().is_some());
            assert_eq!(compile([(MemoryId([7; 16]), &faulty)], usize::MAX), "");
        }
        assert_eq!(strongest("git\tbroken\n\nx", &GuardedCall::default(), &|| None), None);
    }

    /// 100 dangerous command lines and 100 harmless ones, written without knowledge of the code.
    #[test]
    fn spellings_of_dangerous_commands_are_caught() {
        let lines = include_str!("lines.tsv").lines().map(|line| {
            let mut fields = line.splitn(3, '\t');
            let mut next = || fields.next().unwrap();
            (next() == "D", next(), next().replace("\\n", "\n"))
        });
        let lines: Vec<(bool, &str, String)> = lines.collect();
        let patterns: std::collections::BTreeSet<&str> =
            lines.iter().filter(|it| it.0).map(|it| it.1).collect();
        let guards: Vec<Guard> =
            patterns.iter().map(|pattern| guard(GuardAction::Deny, pattern, "", "", "")).collect();
        let wrong = lines.iter().filter(|(is_dangerous, _, line)| {
            let call = GuardedCall { command: Some(line), ..GuardedCall::default() };
            applied(&guards, &call).is_some() != *is_dangerous
        });
        let (missed, stopped): (Vec<_>, Vec<_>) = wrong.partition(|it| it.0);
        assert!(missed.len() <= 10 && stopped.len() <= 2, "{missed:#?} {stopped:#?}");
        assert_eq!((lines.len(), guards.len()), (200, 10));
    }
}
