//! Fixes: a call failed, something was changed, the same call passed. Or a command failed because
//! it was put wrongly, and another one did what it was for.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use memory_store::memory::{SaidBy, Scope};
use memory_store::signature::{
    CommandClass, classify, error_signature, normalise_command, shell::split, telling_lines,
};
use memory_store::{Kind, text};

use super::clean::{cut, plain, without_filler};
use super::commands::has_outcome;
use super::draft::{Draft, Effect};
use super::paths::touched;
use super::sets::{join, overlap, subject_of, word_set};
use super::{
    EXTRACTOR, QUOTE_CHARS_MAX, SessionMiner, TAGS_MAX, TEXT_CHARS_MAX, paths, prose, shell, title,
    words,
};
use crate::transcript::session::{Call, Input, Session, Step, StepKind};

/// Confidence in a cure that was explained or used instead, and in one that was only seen.
const EXPLAINED_SURE: f32 = 0.4;
const SEEN_SURE: f32 = 0.3;

/// Steps after a failure in which its cure is looked for.
pub const REACH_STEPS: usize = 60;

/// Calls after a wrongly put command in which the right one is looked for.
const REACH_CALLS: usize = 4;

/// Fixes of one session.
const FIXES_MAX: usize = 12;

/// Characters of an error line in a title, of a command line, and sentences told.
const ERROR_CHARS_MAX: usize = 90;
const LINE_CHARS_MAX: usize = 90;
const SENTENCES_MAX: usize = 2;
const SENTENCE_CHARS_MAX: usize = 200;

/// Steps of a session. The key of a call is made once, because each failure is compared with all calls.
struct Steps<'a> {
    all: Vec<&'a Step>,
    keys: Vec<OnceCell<Option<String>>>,
}

impl<'a> Steps<'a> {
    fn new(steps: impl Iterator<Item = &'a Step>) -> Self {
        let all: Vec<&Step> = steps.collect();
        Self { keys: vec![OnceCell::new(); all.len()], all }
    }

    /// Returns the key of the call at a place; `None` where there is none, or nothing identifies it.
    fn key(&self, at: usize) -> Option<&str> {
        let StepKind::Call(call) = &self.all.get(at)?.what else { return None };
        self.keys.get(at)?.get_or_init(|| key(call)).as_deref()
    }
}

/// A failed call with what is needed to tell of it.
struct FailedCall<'a> {
    at: usize,
    step: &'a Step,
    call: &'a Call,
    /// Identity of the call: a normalised command, or tool and file.
    key: String,
    signature: String,
    error: String,
}

/// Cure of a failure.
#[derive(Default)]
struct Cure<'a> {
    /// The step that passed.
    at: usize,
    /// Files changed in between.
    files: Vec<&'a str>,
    /// The command run in between, or instead.
    command: Option<String>,
    /// The mistaken call, as a title names them, where another command was run instead.
    wrong: Option<String>,
    /// Whether the file of the call was read in between.
    read: bool,
    /// The line that the last edit wrote, where it is one.
    change: Option<String>,
}

/// Whether a call failed near the end of a session and did not pass since: its cure may stand in the part after it.
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

/// Returns the fixes of a session. Of those that failed in the part before it, the ones that are cured in it.
pub fn mine(miner: &SessionMiner<'_>) -> Vec<Draft> {
    let own = miner.session.turns.iter().flat_map(|turn| &turn.steps);
    let steps = Steps::new(miner.session.before.iter().chain(own));
    let first = miner.session.before.len();
    let (mut drafts, mut fixes) = (Vec::new(), 0);
    for at in 0..steps.all.len() {
        let Some(failure) = failure(&steps, at) else { continue };
        // A failure that repeats before its cure counts once.
        let again = drafts.iter().any(|known: &Draft| {
            matches!(&known.effect, Effect::Confirms { key } if key.contains(&failure.signature))
                || known.signatures.contains(&failure.signature)
        });
        drafts.extend(refuted(miner, &steps, first, &failure));
        if again || fixes == FIXES_MAX {
            continue;
        }
        let cure = cure(miner, &steps, &failure).filter(|cure| cure.at >= first);
        if let Some(cure) = cure {
            drafts.push(draft(miner, &steps, &failure, &cure));
            fixes += 1;
        }
    }
    drafts
}

/// A command that was run after a failure and did not cure it: what says that it does is withdrawn.
fn refuted(
    miner: &SessionMiner<'_>,
    steps: &Steps<'_>,
    first: usize,
    failed: &FailedCall<'_>,
) -> Option<Draft> {
    let mut tried: Option<String> = None;
    for (at, step) in steps.all.iter().enumerate().skip(failed.at + 1).take(REACH_STEPS) {
        let StepKind::Call(call) = &step.what else { continue };
        let Input::Shell { command, .. } = &call.input else {
            // An edit in between may have broken it again.
            if matches!(call.input, Input::Edit { .. }) {
                return None;
            }
            continue;
        };
        if steps.key(at) == Some(failed.key.as_str()) {
            let again = failure(steps, at).is_some_and(|again| again.signature == failed.signature);
            let line = tried.filter(|_| again && at >= first)?;
            let effect = Effect::Refutes { key: cured_by(&failed.key, &line) };
            let cure = Cure { at, command: Some(line), ..Cure::default() };
            let draft = draft(miner, steps, failed, &cure);
            return Some(Draft { effect, ..draft });
        }
        if !call.failed && changes(command) {
            tried = Some(one_line(command));
        }
    }
    None
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
    // A tool repeats what it was given; its first line is the error.
    let told = if matches!(call.input, Input::Shell { .. }) { output } else { line.as_str() };
    let signature = error_signature(told)?;
    if words::TOOL_HABIT.is_match(&line) || words::MISTYPED.is_match(&line) {
        return None;
    }
    let error = cut(&plain(&line), ERROR_CHARS_MAX);
    Some(FailedCall { at, step, call, key, signature, error })
}

/// A wrongly put command whose status a pipe hid: all it printed is how it is put.
fn is_hidden(call: &Call) -> bool {
    let short =
        call.output.lines().count() <= HIDDEN_LINES_MAX && call.output.len() <= HIDDEN_BYTES_MAX;
    let shell = matches!(&call.input, Input::Shell { command, .. } if command.contains('|'));
    shell && short && !call.failed && words::USAGE.is_match(&call.output)
}

/// An output longer than this is a result, not a complaint.
const HIDDEN_LINES_MAX: usize = 4;
const HIDDEN_BYTES_MAX: usize = 300;

/// The line that says what went wrong: of a tool its first, of a command its most telling one.
fn error_line(call: &Call, output: &str, known: &BTreeSet<&str>) -> Option<String> {
    if !matches!(call.input, Input::Shell { .. }) {
        let first = output.lines().map(str::trim).find(|line| !line.is_empty())?;
        return Some(first.replace("</tool_use_error>", ""));
    }
    let marked = output.lines().find_map(|line| words::MARKED_ERROR.captures(line));
    if let Some(found) = marked.filter(|found| !words::GENERIC_ERROR.is_match(&found[1])) {
        return Some(found[1].trim_end_matches(':').to_owned());
    }
    // Lines that the command also prints when it passes are not the error.
    let mut lines = telling_lines(output, TELLING_LINES_MAX + known.len());
    lines.retain(|line| !known.contains(line.as_str()));
    lines
        .iter()
        .find(|line| !words::GENERIC_ERROR.is_match(line))
        .or_else(|| lines.first())
        .cloned()
}

/// The lines that look like errors in runs of the same call that passed.
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

/// Lines of passing runs that are compared with.
const PASSING_LINES_MAX: usize = 200;

/// Lines of an output among which the telling one is looked for.
const TELLING_LINES_MAX: usize = 6;

/// A call that was cancelled because one beside it failed says nothing itself.
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

/// Returns the key that identifies a call across runs.
fn key(call: &Call) -> Option<String> {
    match &call.input {
        Input::Shell { command, .. } => {
            Some(normalise_command(command)).filter(|key| !key.is_empty())
        }
        Input::Edit { path, .. } | Input::Read { path } => Some(format!("{} {path}", call.tool)),
        _ => Some(call.tool.clone()),
    }
}

fn cure<'a>(
    miner: &SessionMiner<'_>,
    steps: &Steps<'a>,
    failure: &FailedCall<'a>,
) -> Option<Cure<'a>> {
    let mut cure = Cure::default();
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
            // Something else broke: what passed later may be due to its cure.
            let unrelated =
                matches!(call.input, Input::Shell { .. }) && !same && !related(failure, key);
            if unrelated && !is_sibling(call) {
                return None;
            }
            continue;
        }
        if calls <= REACH_CALLS
            && let Some((wrong, right)) = instead(miner, failure, call)
        {
            return Some(Cure { command: Some(right), wrong: Some(wrong), change: None, ..cure });
        }
        cure.take(failure, call);
    }
    None
}

impl<'a> Cure<'a> {
    /// Whether anything was done that may have made the call pass.
    fn changed(&self, failure: &FailedCall<'_>) -> bool {
        let retried = matches!(failure.call.input, Input::Edit { .. });
        retried || !self.files.is_empty() || self.command.is_some()
    }

    /// Takes note of what a call did.
    fn take(&mut self, failure: &FailedCall<'_>, call: &'a Call) {
        match &call.input {
            Input::Read { path } => {
                self.read |= touched(failure.call).is_some_and(|(file, _)| file == path);
            }
            Input::Edit { path, old, new } => {
                self.change = changed_line(old, new);
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

/// The only line that an edit wrote anew, when it is one and short.
fn changed_line(old: &str, new: &str) -> Option<String> {
    let known: Vec<&str> = old.lines().map(str::trim).collect();
    let mut written =
        new.lines().map(str::trim).filter(|line| !line.is_empty() && !known.contains(line));
    let line = written.next()?;
    let short = line.chars().count() <= CHANGE_CHARS_MAX && !line.contains('`');
    (short && written.next().is_none() && !old.is_empty()).then(|| line.to_owned())
}

/// Characters of a changed line, and files of a change, that are told.
const CHANGE_CHARS_MAX: usize = 100;
const FILES_MAX: usize = 3;

/// A command line as it is told: relative to the working tree, and short.
fn told_line(miner: &SessionMiner<'_>, line: &str) -> String {
    cut(&miner.roots.strip(line), LINE_CHARS_MAX)
}

/// Whether a command line changes something, rather than looking or checking.
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

/// Share of the words of two command lines from which one is another spelling of the other. Set by hand.
const RELATED_SHARE: f32 = 0.5;

fn related(failure: &FailedCall<'_>, key: &str) -> bool {
    overlap(&word_set(&failure.key), &word_set(key)) >= RELATED_SHARE
}

/// Returns the mistaken call and the command that did their work.
fn instead(
    miner: &SessionMiner<'_>,
    failure: &FailedCall<'_>,
    call: &Call,
) -> Option<(String, String)> {
    let Input::Shell { command: right, .. } = &call.input else { return None };
    // A mistyped path is nobody's lesson.
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
            if is_long(miner, &failure.call.input) || is_long(miner, &call.input) {
                return None;
            }
            let known = word_set(right);
            let shared = word_set(&wrong.words.join(" "))
                .into_iter()
                .filter(|word| word.len() > 2 && known.contains(word));
            (shared.count() >= 2).then(|| (named(miner, failure.call), one_line(right)))
        }
        // Another tool was asked for something it does not have; the shell did it.
        Input::Other { .. } | Input::Unknown => {
            let asked = word_set(&failure.call.output);
            let right = shell::commands(right).into_iter();
            let mut heads = right.filter_map(|simple| head(&simple.line, &asked));
            heads.next().map(|right| (named(miner, failure.call), right))
        }
        _ => None,
    }
}

/// A simple command of a line.
struct Blamed {
    words: Vec<String>,
    /// Whether it is the only one.
    alone: bool,
}

/// The simple command that an error is about: the only one of its line, or the one whose program the error names.
fn blamed(line: &str, error: &str) -> Option<Blamed> {
    let mut commands = split(line);
    commands.retain(|simple| simple.words.first().is_some_and(|program| program != "cd"));
    if commands.len() == 1 {
        return commands.pop().map(|simple| Blamed { words: simple.words, alone: true });
    }
    let program = error.split(':').next()?.rsplit('/').next()?.trim();
    let mut named =
        commands.into_iter().filter(|it| it.words.first().is_some_and(|it| it == program));
    named.next().map(|simple| Blamed { words: simple.words, alone: false })
}

/// The program and the options of a simple command.
fn put(words: &[String]) -> String {
    let mut told = words.iter().enumerate().filter(|(at, word)| *at == 0 || word.starts_with('-'));
    let first = told.next().map_or(String::new(), |(_, word)| word.clone());
    told.fold(first, |line, (_, word)| format!("{line} {word}"))
}

/// The first words of a command line, up to one of `asked`.
fn head(line: &str, asked: &BTreeSet<String>) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().take(HEAD_WORDS_MAX).collect();
    let at = words.iter().position(|word| asked.contains(*word))?;
    (at > 0).then(|| words[..=at].join(" "))
}

/// Words in which a command line says what it is to do.
const HEAD_WORDS_MAX: usize = 4;

/// Whether a call is a command line that cannot be told whole.
fn is_long(miner: &SessionMiner<'_>, input: &Input) -> bool {
    matches!(input, Input::Shell { command, .. }
        if miner.roots.strip(&one_line(command)).chars().count() > LINE_CHARS_MAX
            || command.trim().contains('\n'))
}

fn one_line(command: &str) -> String {
    let line = command.lines().next().unwrap_or_default().trim();
    words::OUTPUT_ONLY.replace_all(line, "").trim().replace('`', "'")
}

fn draft(
    miner: &SessionMiner<'_>,
    steps: &Steps<'_>,
    failure: &FailedCall<'_>,
    cure: &Cure<'_>,
) -> Draft {
    let name = cure.wrong.clone().unwrap_or_else(|| named(miner, failure.call));
    let mut said = said_between(&steps.all, failure, cure);
    if !explains(&said) {
        said.extend(said_at_end(miner, failure, &steps.all[cure.at].uuid));
    }
    let mut parts: Vec<String> =
        said.iter().map(|sentence| cut(sentence, SENTENCE_CHARS_MAX)).collect();
    let files: Vec<String> =
        cure.files.iter().filter_map(|file| miner.roots.relative(file)).collect();
    let told = outcome(miner, failure, cure, &files);
    if cure.wrong.is_some() {
        parts.insert(0, told);
    } else {
        parts.push(told);
    }
    let explained = explains(&said);
    let worth = worth(failure, cure, explained);
    let title = title(&format!("{name} failed: {}", failure.error));
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count());
    // Where both do not fit, the explanation matters more than the changed line.
    if join(&parts).chars().count() > room && cure.wrong.is_none() && cure.change.is_some() {
        parts.pop();
    }
    let body = cut(&join(&parts), room);
    let mut paths = files;
    if let Input::Shell { command, .. } = &failure.call.input {
        for path in paths::named(miner.roots, &miner.roots.strip(command)) {
            if paths.len() < FILES_MAX && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    if let Some((path, _)) = touched(failure.call) {
        paths.extend(miner.roots.relative(path).filter(|path| !paths.contains(path)));
    }
    let tags = text::keywords(&format!("{title}\n{body}"), TAGS_MAX);
    Draft {
        kind: Kind::Fix,
        title,
        body,
        scope: Scope::Project,
        occurred: failure.step.at,
        confidence: if cure.wrong.is_some() || explained { EXPLAINED_SURE } else { SEEN_SURE },
        session: miner.session.id.clone(),
        turns: vec![failure.step.uuid.clone(), steps.all[cure.at].uuid.clone()],
        ordinal: 0,
        quote: failure.error_quote(),
        said_by: SaidBy::Tool,
        paths,
        tags,
        signatures: Some(failure.signature.clone())
            .filter(|it| is_telling(it))
            .into_iter()
            .collect(),
        command: None,
        extractor: EXTRACTOR.to_owned(),
        worth,
        importance: None,
        standing: false,
        cues: cue(miner, failure.call).into_iter().collect(),
        effect: Effect::Confirms { key: cure_key(failure, cure) },
    }
}

/// The command line that failed: the next one is put alike.
fn cue(miner: &SessionMiner<'_>, call: &Call) -> Option<String> {
    let Input::Shell { command, .. } = &call.input else { return None };
    let cue = super::cues::short(&miner.roots.strip(&one_line(command)));
    (!cue.is_empty() && !super::unit::names_machine(&cue)).then_some(cue)
}

/// Whether a signature tells one error from others: by a name, or by enough words.
fn is_telling(signature: &str) -> bool {
    let terms = subject_of(signature);
    terms.len() >= TELLING_TERMS_MIN || terms.iter().any(|term| term.contains(['.', '/', '_']))
}

/// Words by which an error is known again.
const TELLING_TERMS_MIN: usize = 3;

/// Returns the key by which a fix is recognised when it is seen again: the command with its cure, or the error.
fn cure_key(failure: &FailedCall<'_>, cure: &Cure<'_>) -> String {
    match &cure.command {
        Some(line) if cure.wrong.is_none() => cured_by(&failure.key, line),
        Some(_) | None => format!("fix {}", failure.signature),
    }
}

fn cured_by(key: &str, line: &str) -> String {
    format!("fix {key} by {}", normalise_command(line))
}

/// Describes the change that made the failed call pass, or the command that did its work instead.
fn outcome(
    miner: &SessionMiner<'_>,
    failure: &FailedCall<'_>,
    cure: &Cure<'_>,
    files: &[String],
) -> String {
    match (&cure.command, cure.wrong.is_some()) {
        (Some(line), true) => format!("`{}` worked instead.", told_line(miner, line)),
        (Some(line), false) => format!("Cured by `{}`; then it passed.", told_line(miner, line)),
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

/// How much a fix is worth: a wrongly put command most, since it will be put so again; a check that
/// failed on work in progress least, unless it was explained.
fn worth(failure: &FailedCall<'_>, cure: &Cure<'_>, explained: bool) -> f32 {
    if cure.wrong.is_some() {
        return 1.6;
    }
    // The program itself says so each time, and how to go on.
    if !explained && cure.read && matches!(failure.call.input, Input::Edit { .. }) {
        return MISTAKE_WORTH;
    }
    let gain = if explained { 0.5 } else { 0.0 };
    let check = matches!(&failure.call.input, Input::Shell { command, .. }
        if matches!(classify(&normalise_command(command)), Some(CommandClass::Test | CommandClass::Lint | CommandClass::Build | CommandClass::Format)));
    match (&cure.command, check) {
        (Some(line), _)
            if line.chars().count() > LINE_CHARS_MAX || words::SCRATCH.is_match(line) =>
        {
            UNTOLD_WORTH
        }
        (Some(_), _) => COMMAND_CURE_WORTH + gain,
        (None, true) if only_tests(cure) => MISTAKE_WORTH,
        (None, true) if !explained => UNTOLD_WORTH,
        (None, true) => gain,
        (None, false) if !explained => UNTOLD_WORTH,
        (None, false) => 0.6 + gain,
    }
}

/// Whether only tests were changed: then the test was wrong, and is right now. What sets tests up is
/// none: where it is wrong, all of them fail, and will again on another machine.
fn only_tests(cure: &Cure<'_>) -> bool {
    let is_test = |file: &&str| {
        words::TEST_PATH.is_match(file)
            && (!words::TEST_SETUP.is_match(file) || words::ONE_TEST.is_match(file))
    };
    !cure.files.is_empty() && cure.files.iter().all(is_test)
}

/// A mistake of the moment is nobody's fix, however often: a test that was wrong and is right now, an edit of lines that
/// were not there.
const MISTAKE_WORTH: f32 = -4.0;

/// Minimum worth of a cure by a command.
pub const COMMAND_CURE_WORTH: f32 = 1.1;

/// A fix that nobody explained is kept only when it is seen again.
const UNTOLD_WORTH: f32 = -0.5;

impl FailedCall<'_> {
    /// The line of the output that says what went wrong, word for word.
    fn error_quote(&self) -> String {
        let output = without_status(&self.call.output);
        let start = self.error.trim_end_matches('…');
        let line = output
            .lines()
            .find(|line| line.contains(start))
            .or_else(|| output.lines().find(|line| words::LOG_ERROR.is_match(line)));
        line.unwrap_or(output).trim().chars().take(QUOTE_CHARS_MAX).collect()
    }
}

/// Characters of a command in a title.
const NAME_CHARS_MAX: usize = 60;

/// How a call is called in a title.
fn named(miner: &SessionMiner<'_>, call: &Call) -> String {
    match &call.input {
        Input::Shell { command, .. } => {
            let line = normalise_command(&miner.roots.strip(command));
            let line = format!("{}{line}", variables(command));
            format!("`{}`", cut(&line, NAME_CHARS_MAX).replace('`', "'"))
        }
        _ => match touched(call).and_then(|(path, _)| path.rsplit(['/', '\\']).next()) {
            Some(file) => format!("{} of `{file}`", call.tool),
            None => call.tool.clone(),
        },
    }
}

/// Short settings in front of a command: without them it may not fail.
fn variables(command: &str) -> String {
    words::VARIABLES.find(command).map_or(String::new(), |found| found.as_str().to_owned())
}

/// Returns the sentences between a failure and its cure, the explaining ones first.
fn said_between(steps: &[&Step], failure: &FailedCall<'_>, cure: &Cure<'_>) -> Vec<String> {
    let mut told: Vec<(u8, usize, String)> = Vec::new();
    let mut about = word_set(without_status(&failure.call.output));
    about.extend(word_set(&failure.key));
    let is_shell = matches!(failure.call.input, Input::Shell { .. });
    for step in &steps[failure.at + 1..cure.at.min(steps.len())] {
        let StepKind::Text { text } = &step.what else { continue };
        let mut before: Option<String> = None;
        for sentence in prose::sentences(text) {
            let Some(text) = telling(&sentence.text) else {
                before = None;
                continue;
            };
            let explains = words::CAUSE.is_match(&text) || words::SURPRISE.is_match(&text);
            // Where nothing was changed, the talk between the two may be about something else.
            if is_shell && cure.files.is_empty() && word_set(&text).is_disjoint(&about) {
                before = None;
                continue;
            }
            // A sentence that points at the one before it is told together with that one.
            let points = words::POINTS_BACK.is_match(&text);
            let whole = match before.take().filter(|_| points) {
                Some(before) => {
                    told.pop();
                    format!("{before} {text}")
                }
                None => text,
            };
            told.push((u8::from(!explains), told.len(), whole.clone()));
            before = Some(whole);
        }
    }
    told.sort();
    told.truncate(SENTENCES_MAX);
    told.sort_by_key(|(_, order, _)| *order);
    told.into_iter().map(|(.., text)| super::clean::capital(&text)).collect()
}

/// Whether one of some sentences gives a reason.
fn explains(said: &[String]) -> bool {
    said.iter()
        .any(|sentence| words::CAUSE.is_match(sentence) || words::SURPRISE.is_match(sentence))
}

/// The sentence at the end of the turn of a cure that gives the reason of its failure, in words of the error.
fn said_at_end(miner: &SessionMiner<'_>, failure: &FailedCall<'_>, cured: &str) -> Option<String> {
    let mut turns = miner.session.turns.iter();
    let turn = turns.find(|turn| turn.steps.iter().any(|step| step.uuid == cured))?;
    let StepKind::Text { text } = &turn.steps.last()?.what else { return None };
    let error = telling_lines(without_status(&failure.call.output), TELLING_LINES_MAX).join(" ");
    let error = word_set(&error);
    prose::sentences(text).iter().filter_map(|sentence| telling(&sentence.text)).find(|sentence| {
        let shared = word_set(sentence).intersection(&error).count();
        words::CAUSE.is_match(sentence) && shared >= ERROR_WORDS_MIN
    })
}

/// Words of an error in a sentence that is about it.
const ERROR_WORDS_MIN: usize = 2;

/// A sentence without the words that introduce it; `None` when it only accompanies the work.
fn telling(sentence: &str) -> Option<String> {
    let text = without_filler(sentence);
    let bare = words::NARRATION.is_match(text) && !words::SEEN.is_match(text);
    let says = !bare
        && !words::BOOKKEEPING.is_match(text)
        && !words::GUESSES.is_match(text)
        && !words::STATUS.is_match(text)
        && !text.ends_with(':')
        && text.split_whitespace().count() >= SENTENCE_WORDS_MIN
        && !words::QUESTION.is_match(text);
    says.then(|| words::SEEN.replace(text, "").trim().to_owned())
}

/// Words of a sentence that may explain something.
const SENTENCE_WORDS_MIN: usize = 5;
