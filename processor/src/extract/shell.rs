//! Parses shell command lines: the commands in a line with their folders, and the commit message.

use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};
use super::roots::Roots;
use super::words;
use crate::transcript::session::{Call, Input, Step, StepKind, Turn};
use memory_store::signature::{CommandClass, classify, normalise_command, shell};

/// One command of a line in normal form, with the folder in which it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct FolderCommand {
    /// The command without redirections, variables and filters.
    pub line: String,
    /// The short variable assignments before the command, each followed by a space.
    pub variables: String,
    /// The folder in which the command runs, relative to the folder at the start of the line; empty if both are the
    /// same.
    pub directory: String,
    /// Class of the command, such as build or test, if it is a task of a project.
    pub class: Option<CommandClass>,
}

/// Returns the commands of a line in their order. Commands that read from a pipe are omitted.
pub fn commands(line: &str) -> Vec<FolderCommand> {
    let mut found: Vec<FolderCommand> = Vec::new();
    let mut directory = String::new();
    for simple in shell::split(line) {
        if let ["cd" | "pushd", to, ..] =
            simple.words.iter().map(String::as_str).collect::<Vec<_>>()[..]
        {
            directory = join(&directory, to.trim_matches(['"', '\'']));
            continue;
        }
        let written = simple.words.join(" ");
        let variables = words::VARIABLES.find(&written).map_or("", |found| found.as_str());
        let line = normalise_command(&written);
        if !simple.piped && !line.is_empty() && !matches!(line.as_str(), "true" | "false" | ":") {
            let class = classify(&line);
            let variables = variables.to_owned();
            found.push(FolderCommand { line, variables, directory: directory.clone(), class });
        }
    }
    found
}

/// Maximum size of a folder's path in bytes, as on Linux (`PATH_MAX`, `limits.h`).
const FOLDER_BYTES_MAX: usize = 4096;

/// A shell command of a turn.
pub struct ShellCall<'a> {
    /// The step that contains the call.
    pub step: &'a Step,
    /// The call.
    pub call: &'a Call,
    /// The command line.
    pub command: &'a str,
    /// The working directory of the shell before the command.
    at: String,
    /// The working directory at the beginning of the turn.
    first: &'a str,
}

impl ShellCall<'_> {
    /// Returns the folder, relative to the root, in which a command of the line ran; `None` outside of the working
    /// trees. `inner` is the folder that the line contains for the command.
    pub fn folder(&self, inner: &str, roots: &Roots) -> Option<String> {
        roots.directory(start(&self.at, self.first, inner), inner)
    }
}

/// Returns the shell commands of a turn in their order. If a command changed the working directory, this affects the
/// following commands.
pub fn calls(turn: &Turn) -> impl Iterator<Item = ShellCall<'_>> {
    let mut folder = turn.cwd.clone();
    turn.steps.iter().filter_map(move |step| {
        let StepKind::Call(call) = &step.what else { return None };
        let Input::Shell { command, .. } = &call.input else { return None };
        let at = folder.clone();
        if !call.failed && !call.denied {
            folder = went(&folder, &turn.cwd, command);
        }
        Some(ShellCall { step, call, command, at, first: &turn.cwd })
    })
}

/// Returns the folder of a shell after it ran a command line in `folder`.
fn went(folder: &str, first: &str, line: &str) -> String {
    // A command in parentheses does not change the folder of the shell.
    if line.contains('(') {
        return folder.to_owned();
    }
    let mut at = folder.to_owned();
    for simple in shell::split(line) {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        if let ["cd" | "pushd", to, ..] = words[..] {
            let to = to.trim_matches(['"', '\'']);
            at = join(start(&at, first, to), to);
            // Repeated changes to a folder and back would lengthen the path without limit.
            if at.len() > FOLDER_BYTES_MAX {
                first.clone_into(&mut at);
            }
        }
    }
    at
}

/// Returns the folder in which a shell was before `cd to`. The recorded folder is `at`. If `at` already ends with `to`,
/// the client had reset the shell to the session's `first` folder.
fn start<'a>(at: &'a str, first: &'a str, to: &str) -> &'a str {
    let there = !to.is_empty()
        && !to.starts_with("..")
        && at.ends_with(&format!("/{}", to.trim_end_matches('/')));
    if there { first } else { at }
}

fn join(base: &str, to: &str) -> String {
    let drive = to.get(1..2) == Some(":");
    if drive || to.starts_with(['/', '~', '$']) || base.is_empty() {
        to.trim_end_matches('/').to_owned()
    } else {
        format!("{base}/{}", to.trim_end_matches('/'))
    }
}

/// A commit message: the subject line and the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The first line.
    pub subject: String,
    /// The message after the subject, without trailers.
    pub body: String,
}

static HEREDOC: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r#"(?s)<<-?\s*['"]?(\w+)['"]?\n(.*?)\n\s*(\w+)\s*(?:\n|$|\))"#));
static MESSAGE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r#"(?s)(?:\s-[a-z]*m\s*|\s--message[= ])(?:"((?:[^"\\]|\\.)*)"|'([^']*)')"#)
});
static COMMIT: LazyLock<Pattern> = LazyLock::new(|| pattern(r"\bgit\s+(?:-\S+\s+\S+\s+)*commit\b"));

/// Returns the commit message in a command line; `None` if there is none.
pub fn commit_message(line: &str) -> Option<Message> {
    let at = COMMIT.find(line)?.start();
    let rest = &line[at..];
    let text = match HEREDOC.captures(rest) {
        Some(found) if found[1] == found[3] => found[2].to_owned(),
        _ => MESSAGE
            .captures_iter(rest)
            .filter_map(|found| found.get(1).or_else(|| found.get(2)))
            .map(|part| part.as_str().replace("\\\"", "\"").replace("\\`", "`").replace("\\$", "$"))
            .collect::<Vec<_>>()
            .join("\n\n"),
    };
    if text.contains("$(") {
        return None;
    }
    let mut lines = text.lines().map(str::trim_end).filter(|line| !words::TRAILER.is_match(line));
    let subject = lines.by_ref().find(|line| !line.trim().is_empty())?.trim().to_owned();
    let body = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
    Some(Message { subject, body })
}

/// All patterns of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[&HEREDOC, &MESSAGE, &COMMIT];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let lines =
            |line: &str| commands(line).into_iter().map(|found| found.line).collect::<Vec<_>>();
        assert_eq!(lines("cd web && CI=1 npm run build 2>&1 | tail -5"), ["npm run build"]);
        assert_eq!(commands("cd web && npm test")[0].directory, "web");
        assert_eq!(commands("npm test")[0].class, Some(CommandClass::Test));
        assert_eq!(lines("make test; make lint > out.txt || true"), ["make test", "make lint"]);
    }

    #[test]
    fn commit_messages_are_read_in_each_form() {
        let expected = Message { subject: "Keep the lock".into(), body: "It was lost.".into() };
        for line in [
            "git add a && git commit -m \"Keep the lock\" -m \"It was lost.\"",
            "git commit -m \"$(cat <<'EOF'\nKeep the lock\n\nIt was lost.\n\nCo-Authored-By: A <a@b.c>\nEOF\n)\"",
            "git commit -am 'Keep the lock\n\nIt was lost.'",
        ] {
            assert_eq!(commit_message(line), Some(expected.clone()), "{line}");
        }
        assert_eq!(commit_message("git log -m \"x\""), None);
    }
}
