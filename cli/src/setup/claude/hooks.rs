//! Throughline's hooks in a settings file: their events, their form, and how they are recognised.

use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstArray, CstObject};
use serde_json::{Value, json};

use super::client::ClaudeCodeVersion;
use super::document::{JsonDocument, input, remove_from, remove_if_empty};
use crate::failure::Result;

/// Seconds after which Claude Code kills a hook. The hooks end by themselves after a fifth of a second; the limit is
/// longer for machines that start programs slowly.
const TIMEOUT_S: u32 = 5;

/// Tools after whose use the hook runs, because their use triggers recall or is evidence.
const TOOLS: &str = "Read|Edit|Write|MultiEdit|NotebookEdit|Bash";

/// Tools whose calls are checked before they run.
const GUARDED: &str = "Edit|Write|MultiEdit|NotebookEdit|Bash";

/// An event with the program that it runs.
#[derive(Debug)]
pub struct HookEvent {
    /// The event.
    pub event: &'static str,
    /// Tools to match, for tool events.
    pub matcher: Option<&'static str>,
    /// File name of the program.
    pub program: &'static str,
    /// The first version of Claude Code that supports the event. An older version may reject the whole settings file
    /// because of the unknown event.
    pub since: ClaudeCodeVersion,
}

/// All events that we handle.
pub const HOOKS: [HookEvent; 9] = [
    hook("SessionStart", None, "throughline-session-start", ClaudeCodeVersion(1, 0, 62)),
    hook("UserPromptSubmit", None, "throughline-user-prompt-submit", ClaudeCodeVersion(1, 0, 54)),
    hook("PreToolUse", Some(GUARDED), "throughline-pre-tool-use", ClaudeCodeVersion(2, 1, 9)),
    hook("PostToolUse", Some(TOOLS), "throughline-post-tool-use", ClaudeCodeVersion(1, 0, 38)),
    hook(
        "PostToolUseFailure",
        Some("Bash"),
        "throughline-post-tool-use",
        ClaudeCodeVersion(2, 1, 10),
    ),
    hook("Stop", None, "throughline-stop", ClaudeCodeVersion(1, 0, 38)),
    hook("SubagentStop", None, "throughline-stop", ClaudeCodeVersion(1, 0, 41)),
    hook("PreCompact", None, "throughline-stop", ClaudeCodeVersion(1, 0, 48)),
    hook("SessionEnd", None, "throughline-stop", ClaudeCodeVersion(1, 0, 85)),
];

const fn hook(
    event: &'static str,
    matcher: Option<&'static str>,
    program: &'static str,
    since: ClaudeCodeVersion,
) -> HookEvent {
    HookEvent { event, matcher, program, since }
}

/// The hook programs, each once.
pub const PROGRAMS: [&str; 5] = [
    "throughline-session-start",
    "throughline-user-prompt-submit",
    "throughline-pre-tool-use",
    "throughline-post-tool-use",
    "throughline-stop",
];

/// Form of the commands in a settings file.
#[derive(Clone, Debug)]
pub enum ProgramForm {
    /// The program is executed directly by its absolute path, without a shell or quoting.
    Exec(PathBuf),
    /// A shell executes the program by its absolute path. Clients before 2.1.139 support only this form.
    Shell(PathBuf),
    /// A shell searches `PATH` for the program, and succeeds without output if it is not installed. This form is for
    /// committed files. It requires a POSIX shell, which on Windows is Git Bash; in other shells the hook fails, which
    /// the client reports before it continues.
    ByName,
}

impl ProgramForm {
    /// Returns the form for a settings file of this machine. `client` is the client's version, if known.
    pub fn absolute(bin_dir: &Path, client: Option<ClaudeCodeVersion>) -> Self {
        // Earlier versions of the client ignore `args`.
        if client.is_some_and(|version| version < ClaudeCodeVersion(2, 1, 139)) {
            Self::Shell(bin_dir.to_owned())
        } else {
            Self::Exec(bin_dir.to_owned())
        }
    }

    fn handler(&self, program: &str) -> Value {
        let command = match self {
            Self::Exec(dir) => dir.join(program).display().to_string(),
            Self::Shell(dir) => {
                let path = shell_quoted(&dir.join(program).display().to_string());
                format!("[ -x {path} ] || exit 0; exec {path}")
            }
            // A missing program counts as success, so that teammates who have not installed it see no error.
            Self::ByName => {
                format!("command -v {program} >/dev/null 2>&1 || exit 0; exec {program}")
            }
        };
        match self {
            Self::Exec(_) => {
                json!({"type": "command", "command": command, "args": [], "timeout": TIMEOUT_S})
            }
            _ => json!({"type": "command", "command": command, "timeout": TIMEOUT_S}),
        }
    }
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Inserts Throughline's hooks into the document. Correct hooks are kept, outdated ones are replaced, and hooks of
/// other programs are not changed. Returns whether the document changed.
pub fn insert(
    document: &JsonDocument,
    form: &ProgramForm,
    client: Option<ClaudeCodeVersion>,
) -> Result<bool> {
    let mut changed = false;
    for event in events(document).iter().filter(|event| HOOKS.iter().all(|it| it.event != **event))
    {
        // This version does not handle the event.
        changed |= remove_from_event(document, event);
    }
    for hook in &HOOKS {
        let known = client.is_none_or(|version| version >= hook.since);
        changed |= if known {
            insert_one(document, hook, form)?
        } else {
            remove_from_event(document, hook.event)
        };
    }
    Ok(changed)
}

fn insert_one(document: &JsonDocument, hook: &HookEvent, form: &ProgramForm) -> Result<bool> {
    let mut group = json!({"hooks": [form.handler(hook.program)]});
    if let Some(matcher) = hook.matcher {
        group = json!({"matcher": matcher, "hooks": group["hooks"]});
    }
    if ours_in(document, hook.event) == [group.clone()] {
        return Ok(false);
    }
    remove_from_event(document, hook.event);
    let hooks = document.object_in(&document.object()?, "hooks")?;
    let groups = hooks
        .array_value_or_create(hook.event)
        .ok_or_else(|| document.unexpected(&format!("hooks.{}", hook.event), "a list"))?;
    groups.ensure_multiline();
    groups.append(input(&group));
    Ok(true)
}

/// Returns the groups of an event that contain a hook of ours.
fn ours_in(document: &JsonDocument, event: &str) -> Vec<Value> {
    groups(document, event)
        .into_iter()
        .flat_map(|groups| groups.elements())
        .filter_map(|group| group.to_serde_value())
        .filter(|group| handlers(group).any(is_ours))
        .collect()
}

/// Returns the Throughline handlers in the document, each with its event.
pub fn registered(document: &JsonDocument) -> Vec<(&'static HookEvent, Value)> {
    let handlers_of = |hook: &'static HookEvent| {
        let groups = ours_in(document, hook.event);
        groups
            .into_iter()
            .flat_map(|group| {
                handlers(&group).filter(|found| is_ours(found)).cloned().collect::<Vec<_>>()
            })
            .map(move |handler| (hook, handler))
            .collect::<Vec<_>>()
    };
    HOOKS.iter().flat_map(handlers_of).collect()
}

/// Removes all Throughline hooks, and the objects that are empty without them. Returns whether the document changed.
pub fn remove(document: &JsonDocument) -> bool {
    // All events are searched, since other versions of the program may use other events.
    let events = events(document);
    events.iter().fold(false, |changed, event| remove_from_event(document, event) | changed)
}

/// Returns all events for which the document contains hooks of any program.
fn events(document: &JsonDocument) -> Vec<String> {
    let hooks = document.object().ok().and_then(|root| root.object_value("hooks"));
    let events = hooks.iter().flat_map(CstObject::properties);
    events.filter_map(|event| event.decoded_name()).collect()
}

fn remove_from_event(document: &JsonDocument, event: &str) -> bool {
    let Some(groups) = groups(document, event) else { return false };
    let mut changed = false;
    for group in groups.elements() {
        let Some(group) = group.as_object() else { continue };
        let is_changed = remove_from(&group, "hooks", |_, handler| is_ours(handler));
        if is_changed && group.get("hooks").is_none() {
            group.remove();
        }
        changed |= is_changed;
    }
    if changed
        && let Ok(root) = document.object()
        && let Some(hooks) = root.object_value("hooks")
    {
        remove_if_empty(&hooks, event);
        remove_if_empty(&root, "hooks");
    }
    changed
}

fn groups(document: &JsonDocument, event: &str) -> Option<CstArray> {
    document.object().ok()?.object_value("hooks")?.array_value(event)
}

fn handlers(group: &Value) -> impl Iterator<Item = &Value> {
    group.get("hooks").and_then(Value::as_array).into_iter().flatten()
}

/// Returns whether a handler calls a Throughline program, by its path or by its name.
fn is_ours(handler: &Value) -> bool {
    let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
    command
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .any(|word| PROGRAMS.contains(&word))
}

/// Returns the path by which a handler calls its program; `None` if the handler calls the program by its name.
pub fn program_path(handler: &Value) -> Option<PathBuf> {
    let command = handler.get("command")?.as_str()?;
    let path = match handler.get("args") {
        Some(_) => PathBuf::from(command),
        None => shell_path(command)?,
    };
    path.is_absolute().then_some(path)
}

/// Returns the path in a command of the form [`ProgramForm::Shell`].
fn shell_path(command: &str) -> Option<PathBuf> {
    let quoted = command.split_once("; exec '")?.1.strip_suffix('\'')?;
    Some(PathBuf::from(quoted.replace(r"'\''", "'")))
}
