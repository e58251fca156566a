//! Fixes: a call failed, something was changed, and the same call passed; or a command was used wrongly and failed, and
//! another command did its work.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use memory_store::signature::{
    CommandClass, classify, error_signature, normalise_command, shell::split, telling_lines,
};

use super::clean::{cut, plain};
use super::commands::has_outcome;
use super::paths::touched;
use super::session_record::Cure;
use super::sets::{overlap, subject_of, word_set};
use super::words::names_machine;
use super::{Roots, paths, shell, words};
use crate::transcript::session::{Call, Input, Session, Step, StepKind};

/// Maximum number of steps after a failure in which its cure is searched for.
pub const REACH_STEPS: usize = 60;

/// Maximum number of calls after a wrongly used command in which the correct command is searched for.
const REACH_CALLS: usize = 4;

/// Maximum number of cures of one session.
const CURES_MAX: usize = 12;

/// Maximum number of characters of an error line, and of a command line.
const ERROR_CHARS_MAX: usize = 90;
const LINE_CHARS_MAX: usize = 90;

/// Steps of a session. The key of each call is computed only once, because each failure is compared with all calls.
struct Steps<'a> {
    all: Vec<&'a Step>,
    keys: Vec<OnceCell<Option<String>>>,
}

impl<'a> Steps<'a> {
    fn new(steps: impl Iterator<Item = &'a Step>) -> Self {
        let all: Vec<&Step> = steps.collect();
        Self { keys: vec![OnceCell::new(); all.len()], all }
    }

    /// Returns the key of the call at an index; `None` if there is no call, or the call has no key.
    fn key(&self, at: usize) -> Option<&str> {
        let StepKind::Call(call) = &self.all.get(at)?.what else { return None };
        self.keys.get(at)?.get_or_init(|| key(call)).as_deref()
    }
}

/// A failed call with the data for its description.
struct FailedCall<'a> {
    at: usize,
    step: &'a Step,
    call: &'a Call,
    /// Key of the call: a normalised command, or the tool and the file.
    key: String,
    signature: String,
    error: String,
}

/// Cure of a failure, as found in the steps after it.
#[derive(Default)]
struct SeenCure<'a> {
    /// Index of the step that passed.
    at: usize,
    /// Files that were changed between failure and success.
    files: Vec<&'a str>,
    /// The command that was run between failure and success, or instead of the failed call.
    command: Option<String>,
    /// The failed call, worded for a title, if another command was run instead.
    wrong: Option<String>,
    /// Whether the file of the call was read between failure and success.
    read: bool,
    /// The line that the last edit wrote, if it wrote a single line.
    change: Option<String>,
}

/// Returns whether a call failed near the end of a part and did not pass later in it. Its cure may be in the next part.
pub fn fails_at_end(session: &Session) -> bool {
    let steps = Steps::new(session.turns.iter().flat_map(|turn| &turn.steps));
    let count = steps.all.len();
    let passes = |at: usize, failed: &FailedCall<'_>| match &steps.all[at].what {
        StepKind::Call(call) => {
            !call.failed
                && has_outcome(call)
                && !is_hidden(call)
                && steps.key(at) == Some(failed.key.as_str())
        }
        StepKind::Text { .. } | StepKind::Thinking { .. } | StepKind::Queued { .. } => false,
    };
    (count.saturating_sub(REACH_STEPS)..count).any(|at| {
        failure(&steps, at)
            .is_some_and(|failed| !(at + 1..count).any(|later| passes(later, &failed)))
    })
}

/// Returns the failed calls of a session with their cures. Calls that failed in the previous part are included if they
/// were cured in this one.
pub fn mine<'a>(session: &'a Session, roots: &Roots) -> Vec<(&'a Call, Cure)> {
    let own = session.turns.iter().flat_map(|turn| &turn.steps);
    let steps = Steps::new(session.before.iter().chain(own));
    let first = session.before.len();
    let mut cures: Vec<(&Call, Cure)> = Vec::new();
    let mut cured: BTreeSet<String> = BTreeSet::new();
    for at in 0..steps.all.len() {
        let Some(failure) = failure(&steps, at) else { continue };
        // A failure that is repeated before its cure is counted only once.
        if cures.len() == CURES_MAX || cured.contains(&failure.signature) {
            continue;
        }
        let seen = seen_cure(roots, &steps, &failure).filter(|seen| seen.at >= first);
        let cure = seen.and_then(|seen| cure(roots, &steps, &failure, &seen));
        if let Some(cure) = cure {
            cured.insert(failure.signature);
            cures.push((failure.call, cure));
        }
    }
    cures
}

/// Returns the cure as a record; `None` if one of its texts contains a path of this machine.
fn cure(
    roots: &Roots,
    steps: &Steps<'_>,
    failure: &FailedCall<'_>,
    seen: &SeenCure<'_>,
) -> Option<Cure> {
    let files: Vec<String> = seen.files.iter().filter_map(|file| roots.relative(file)).collect();
    let cure = outcome(roots, failure, seen, &files);
    let mut paths = files;
    if let Input::Shell { command, .. } = &failure.call.input {
        for path in paths::named(roots, &roots.strip(command)) {
            if paths.len() < FILES_MAX && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    if let Some(path) = touched(failure.call) {
        paths.extend(roots.relative(path).filter(|path| !paths.contains(path)));
    }
    let cure = Cure {
        at: failure.step.at,
        turns: vec![failure.step.uuid.clone(), steps.all[seen.at].uuid.clone()],
        call: seen.wrong.clone().unwrap_or_else(|| named(roots, failure.call)),
        error: roots.strip(&failure.error),
        signature: Some(failure.signature.clone()).filter(|signature| is_telling(signature)),
        cure,
        paths,
        steps: seen.at - failure.at,
    };
    let texts = [&cure.call, &cure.error, &cure.cure];
    let names_machine = texts.into_iter().chain(&cure.paths).any(|text| names_machine(text));
    (!names_machine && !cure.cure.is_empty()).then_some(cure)
}

fn failure<'a>(steps: &Steps<'a>, at: usize) -> Option<FailedCall<'a>> {
    let step = *steps.all.get(at)?;
    let StepKind::Call(call) = &step.what else { return None };
    if !(call.failed || is_hidden(call)) || !has_outcome(call) || is_sibling(call) {
        return None;
    }
    let key = steps.key(at)?.to_owned();
    let output = without_status(&call.output);
    let known = passing_lines(steps, &key);
    let line = error_line(call, output, &known)?;
    // Tools repeat their input in the output, so only the first line of the output counts as the error.
    let told = if matches!(call.input, Input::Shell { .. }) { output } else { line.as_str() };
    let signature = error_signature(told)?;
    if words::TOOL_HABIT.is_match(&line) || words::MISTYPED.is_match(&line) {
        return None;
    }
    let error = cut(&plain(&line), ERROR_CHARS_MAX);
    Some(FailedCall { at, step, call, key, signature, error })
}

/// Returns whether a call printed only a usage message although it has no error status. A pipe can hide the exit status
/// of a wrongly used command.
fn is_hidden(call: &Call) -> bool {
    let short =
        call.output.lines().count() <= HIDDEN_LINES_MAX && call.output.len() <= HIDDEN_BYTES_MAX;
    let shell = matches!(&call.input, Input::Shell { command, .. } if command.contains('|'));
    shell && short && !call.failed && words::USAGE.is_match(&call.output)
}

/// Maximum number of lines and bytes of such an output. A longer output is probably a result.
const HIDDEN_LINES_MAX: usize = 4;
const HIDDEN_BYTES_MAX: usize = 300;

/// Returns the line that describes the failure: for a tool the first line, for a command the most specific one.
fn error_line(call: &Call, output: &str, known: &BTreeSet<&str>) -> Option<String> {
    if !matches!(call.input, Input::Shell { .. }) {
        let first = output.lines().map(str::trim).find(|line| !line.is_empty())?;
        return Some(first.replace("</tool_use_error>", ""));
    }
    let marked = output.lines().find_map(|line| words::MARKED_ERROR.captures(line));
    if let Some(found) = marked.filter(|found| !words::GENERIC_ERROR.is_match(&found[1])) {
        return Some(found[1].trim_end_matches(':').to_owned());
    }
    // Lines that the command also prints when it passes do not describe the failure.
    let mut lines = telling_lines(output, TELLING_LINES_MAX + known.len());
    lines.retain(|line| !known.contains(line.as_str()));
    lines
        .iter()
        .find(|line| !words::GENERIC_ERROR.is_match(line))
        .or_else(|| lines.first())
        .cloned()
}

/// Returns the lines that look like errors in the outputs of passed runs of the same call.
fn passing_lines<'a>(steps: &Steps<'a>, key: &str) -> BTreeSet<&'a str> {
    let passing = steps.all.iter().enumerate().filter_map(|(at, step)| match &step.what {
        StepKind::Call(call) if !call.failed => Some((at, call.as_ref())),
        _ => None,
    });
    passing
        .filter(|(_, call)| matches!(call.input, Input::Shell { .. }))
        .filter(|(at, _)| steps.key(*at) == Some(key))
        .flat_map(|(_, call)| call.output.lines().map(str::trim))
        .filter(|line| words::LOG_ERROR.is_match(line))
        .take(PASSING_LINES_MAX)
        .collect()
}

/// Maximum number of lines of passed runs that are compared.
const PASSING_LINES_MAX: usize = 200;

/// Maximum number of lines of an output from which the most specific one is selected.
const TELLING_LINES_MAX: usize = 6;

/// Returns whether a call was cancelled because a parallel call failed. Its output then does not contain a cause.
pub fn is_sibling(call: &Call) -> bool {
    call.output.contains("Sibling tool call errored")
        || call.output.contains("parallel tool call") && call.output.contains("errored")
}

fn without_status(output: &str) -> &str {
    let rest = output.trim_start().trim_start_matches("<tool_use_error>");
    match rest.strip_prefix("Exit code ") {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start(),
        None => rest,
    }
}

/// Returns a key that is equal for all runs of a call.
fn key(call: &Call) -> Option<String> {
    match &call.input {
        Input::Shell { command, .. } => {
            Some(normalise_command(command)).filter(|key| !key.is_empty())
        }
        Input::Edit { path, .. } | Input::Read { path } => Some(format!("{} {path}", call.tool)),
        _ => Some(call.tool.clone()),
    }
}

fn seen_cure<'a>(
    roots: &Roots,
    steps: &Steps<'a>,
    failure: &FailedCall<'a>,
) -> Option<SeenCure<'a>> {
    let mut cure = SeenCure::default();
    let mut calls = 0;
    for (at, step) in steps.all.iter().enumerate().skip(failure.at + 1).take(REACH_STEPS) {
        let StepKind::Call(call) = &step.what else { continue };
        if !has_outcome(call) {
            continue;
        }
        calls += 1;
        cure.at = at;
        let key = steps.key(at).unwrap_or_default();
        let same = key == failure.key;
        if same && !call.failed && !is_hidden(call) {
            return cure.changed(failure).then_some(cure);
        }
        if call.failed {
            // If an unrelated call fails as well, something done to cure that failure may be the reason for a later
            // success.
            let unrelated =
                matches!(call.input, Input::Shell { .. }) && !same && !related(failure, key);
            if unrelated && !is_sibling(call) {
                return None;
            }
            continue;
        }
        if calls <= REACH_CALLS
            && let Some((wrong, right)) = instead(roots, failure, call)
        {
            return Some(SeenCure {
                command: Some(right),
                wrong: Some(wrong),
                change: None,
                ..cure
            });
        }
        cure.take(failure, call);
    }
    None
}

impl<'a> SeenCure<'a> {
    /// Returns whether a step since the failure may be the reason for the success.
    fn changed(&self, failure: &FailedCall<'_>) -> bool {
        let retried = matches!(failure.call.input, Input::Edit { .. });
        retried || !self.files.is_empty() || self.command.is_some()
    }

    /// Records the effects of a call.
    fn take(&mut self, failure: &FailedCall<'_>, call: &'a Call) {
        match &call.input {
            Input::Read { path } => {
                self.read |= touched(failure.call).is_some_and(|file| file == path);
            }
            Input::Edit { path, old, new } => {
                let is_short = |line: &&str| line.chars().count() <= CHANGE_CHARS_MAX;
                self.change = changed_line(old, new).filter(is_short).map(str::to_owned);
                if !self.files.contains(&path.as_str()) {
                    self.files.push(path);
                }
            }
            Input::Shell { command, .. }
                if changes(command) && !words::ASSIGNS.is_match(command) =>
            {
                self.command = Some(one_line(command));
            }
            _ => {}
        }
    }
}

/// Returns the only new line of an edit; `None` if there are several or if the line contains a backtick.
fn changed_line<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    let mut written =
        new.lines().map(str::trim).filter(|line| !line.is_empty() && !known.contains(line));
    let line = written.next()?;
    (written.next().is_none() && !old.is_empty() && !line.contains('`')).then_some(line)
}

/// Maximum number of characters of a changed line, and maximum number of changed files, in a description.
const CHANGE_CHARS_MAX: usize = 100;
const FILES_MAX: usize = 3;

/// Returns a command line for a description: truncated, and with paths relative to the working tree.
fn short_line(roots: &Roots, line: &str) -> String {
    cut(&roots.strip(line), LINE_CHARS_MAX)
}

/// Returns whether a call is a command that passed and changes something.
pub fn has_changed(call: &Call) -> bool {
    let Input::Shell { command, .. } = &call.input else { return false };
    !call.failed && has_outcome(call) && changes(command)
}

/// Returns whether a command line may change something. A command that only reads or checks does not.
fn changes(line: &str) -> bool {
    let normal = normalise_command(line);
    match classify(&normal) {
        Some(
            CommandClass::Format
            | CommandClass::Build
            | CommandClass::Install
            | CommandClass::Migrate
            | CommandClass::Generate,
        ) => true,
        Some(
            CommandClass::Test | CommandClass::Bench | CommandClass::Run | CommandClass::Deploy,
        ) => false,
        Some(CommandClass::Lint) | None => words::CHANGES.is_match(&normal),
    }
}

/// Minimum share of common words for two command lines to count as variants of the same command. The value was set by
/// hand.
const RELATED_SHARE: f32 = 0.5;

fn related(failure: &FailedCall<'_>, key: &str) -> bool {
    overlap(&word_set(&failure.key), &word_set(key)) >= RELATED_SHARE
}

/// Returns the wrongly used call, and the command that was used instead; `None` if there is none.
fn instead(roots: &Roots, failure: &FailedCall<'_>, call: &Call) -> Option<(String, String)> {
    let Input::Shell { command: right, .. } = &call.input else { return None };
    // The correction of a mistyped path is not useful later.
    if !words::WRONG_USE.is_match(&failure.call.output)
        || failure.key == normalise_command(right)
        || call.output.trim().is_empty() && matches!(failure.call.input, Input::Shell { .. })
    {
        return None;
    }
    match &failure.call.input {
        Input::Shell { command: wrong, .. } => {
            let wrong = blamed(wrong, &failure.error)?;
            let program = wrong.words.first()?;
            if !wrong.alone {
                let right =
                    split(right).into_iter().find(|it| it.words.first() == Some(program))?;
                let (wrong, right) = (put(&wrong.words), put(&right.words));
                return (wrong != right).then(|| (format!("`{wrong}`"), right));
            }
            if is_long(roots, &failure.call.input) || is_long(roots, &call.input) {
                return None;
            }
            let known = word_set(right);
            let shared = word_set(&wrong.words.join(" "))
                .into_iter()
                .filter(|word| word.len() > 2 && known.contains(word));
            (shared.count() >= 2).then(|| (named(roots, failure.call), one_line(right)))
        }
        // Another tool did not support the purpose, and a command was used instead.
        Input::Other { .. } | Input::Unknown => {
            let asked = word_set(&failure.call.output);
            let right = shell::commands(right).into_iter();
            let mut heads = right.filter_map(|simple| head(&simple.line, &asked));
            heads.next().map(|right| (named(roots, failure.call), right))
        }
        _ => None,
    }
}

/// One command of a line that may contain several.
struct SimpleCommand {
    words: Vec<String>,
    /// Whether it is the only command of the line.
    alone: bool,
}

/// Returns the command of a line that an error is about: the only command, or the one whose program the error names.
fn blamed(line: &str, error: &str) -> Option<SimpleCommand> {
    let mut commands = split(line);
    commands.retain(|simple| simple.words.first().is_some_and(|program| program != "cd"));
    if commands.len() == 1 {
        return commands.pop().map(|simple| SimpleCommand { words: simple.words, alone: true });
    }
    let program = error.split(':').next()?.rsplit('/').next()?.trim();
    let mut named =
        commands.into_iter().filter(|it| it.words.first().is_some_and(|it| it == program));
    named.next().map(|simple| SimpleCommand { words: simple.words, alone: false })
}

/// Returns the program and the options of a command.
fn put(words: &[String]) -> String {
    let mut told = words.iter().enumerate().filter(|(at, word)| *at == 0 || word.starts_with('-'));
    let first = told.next().map_or(String::new(), |(_, word)| word.clone());
    told.fold(first, |line, (_, word)| format!("{line} {word}"))
}

/// Returns the beginning of a command line up to the first word that is in `asked`; `None` if there is no such word.
fn head(line: &str, asked: &BTreeSet<String>) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().take(HEAD_WORDS_MAX).collect();
    let at = words.iter().position(|word| asked.contains(*word))?;
    (at > 0).then(|| words[..=at].join(" "))
}

/// Maximum number of words of a command line that name its action.
const HEAD_WORDS_MAX: usize = 4;

/// Returns whether a call is a command line that is too long for a title.
fn is_long(roots: &Roots, input: &Input) -> bool {
    matches!(input, Input::Shell { command, .. }
        if roots.strip(&one_line(command)).chars().count() > LINE_CHARS_MAX
            || command.trim().contains('\n'))
}

fn one_line(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default().trim();
    words::OUTPUT_ONLY.replace_all(line, "").trim().replace('`', "'")
}

/// Returns whether a signature is specific to its error: it contains a name, or enough words.
fn is_telling(signature: &str) -> bool {
    let terms = subject_of(signature);
    terms.len() >= TELLING_TERMS_MIN || terms.iter().any(|term| term.contains(['.', '/', '_']))
}

/// Minimum number of words in a specific signature that contains no name.
const TELLING_TERMS_MIN: usize = 3;

/// Returns a description of the cure: the change after which the call passed, or the command that was used instead.
fn outcome(
    roots: &Roots,
    failure: &FailedCall<'_>,
    cure: &SeenCure<'_>,
    files: &[String],
) -> String {
    match (&cure.command, cure.wrong.is_some()) {
        (Some(line), true) => format!("`{}` worked instead.", short_line(roots, line)),
        (Some(line), false) => format!("Cured by `{}`; then it passed.", short_line(roots, line)),
        (None, _) if matches!(failure.call.input, Input::Edit { .. }) && cure.read => {
            "The edit passed after the exact lines were read again.".to_owned()
        }
        (None, _) if !files.is_empty() => {
            let files = files[..files.len().min(FILES_MAX)].join(", ");
            match &cure.change {
                Some(line) => format!("It passed after a change in {files}: `{line}`."),
                None => format!("It passed after a change in {files}."),
            }
        }
        (None, _) => String::new(),
    }
}

/// Maximum number of characters of a command in a title.
const NAME_CHARS_MAX: usize = 60;

/// Returns the name of a call in a title.
fn named(roots: &Roots, call: &Call) -> String {
    match &call.input {
        Input::Shell { command, .. } => {
            let line = normalise_command(&roots.strip(command));
            let line = format!("{}{line}", variables(command));
            format!("`{}`", cut(&line, NAME_CHARS_MAX).replace('`', "'"))
        }
        _ => match touched(call).and_then(|path| path.rsplit(['/', '\\']).next()) {
            Some(file) => format!("{} of `{file}`", call.tool),
            None => call.tool.clone(),
        },
    }
}

/// Returns the short variable assignments at the beginning of a command. They are kept because the failure may depend
/// on them.
fn variables(command: &str) -> String {
    words::VARIABLES.find(command).map_or(String::new(), |found| found.as_str().to_owned())
}
