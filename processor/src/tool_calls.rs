//! Claude's tool calls that wrote or removed memory files, and commands that a person typed with `!`. Both are read
//! from the transcripts of all projects. A file that a tool call wrote counts as Claude's, regardless of its front
//! matter.
//!
//! The archive is not sufficient: a session of one project may write into the memory folder of another, and the archive
//! lacks sessions that are ignored or purged.

use std::cmp::Reverse;
use std::fs::{self, File, Metadata};
use std::io::BufReader;
use std::path::Path;

use memory_store::Timestamp;
use memory_store::fs::file_stamp::{modified_ns, status_changed_ns};
use memory_store::layout::UserDirs;
use serde_json::Value;

use crate::collect::configurations;
use crate::collect::discover::{self, Transcript};
use crate::transcript::Redact;
use crate::transcript::claude_code::prompt_by;
use crate::transcript::record::{Record, RecordWhat};
use crate::transcript::session::{Input, PromptBy};
use crate::transcript::{self, SOURCE};

/// Maximum number of bytes read from transcripts in one pass. The most recently written transcripts are read first.
const BYTES_MAX: u64 = 512 << 20;

/// Maximum difference in milliseconds between the clock of a transcript and the clock of a file.
const SLACK_MS: i64 = 2_000;

/// Maximum difference in milliseconds between a transcript's last record and its file time. If it is larger, the
/// transcript was copied or its clock is wrong, and the times of its calls are ignored.
const STALE_MS: i64 = 600_000;

/// Maximum duration of a typed command in milliseconds if its end is not recorded.
const TYPED_MS: i64 = 60_000;

/// Maximum number of milliseconds between the last write of a transcript and a later write of a memory file by one of
/// its calls.
const BEFORE_MS: i64 = 60_000;

/// Words in a command line that indicate a write: programs, subcommands and options.
const WRITERS: [&str; 43] = [
    "tee", "mv", "cp", "rm", "touch", "sed", "perl", "python", "python3", "node", "ruby", "php",
    "install", "rsync", "ln", "dd", "truncate", "patch", "ed", "ex", "vi", "vim", "awk", "gawk",
    "unlink", "bash", "sh", "zsh", "make", "npm", "cargo", "xargs", "checkout", "restore", "stash",
    "reset", "apply", "revert", "clean", "unzip", "-delete", "shred", "trash",
];

/// Programs, at any place in a command line, that let a command run on after the tool call.
const DETACHERS: [&str; 6] = ["nohup", "setsid", "disown", "daemonize", "tmux", "systemd-run"];

/// Further such programs. Their names are ordinary words, so they count only at the beginning of a command.
const DETACHERS_FIRST: [&str; 4] = ["at", "batch", "screen", "crontab"];

/// Part of the names of our own tools. Calls of these are skipped, because the ledger contains the texts that they
/// write.
const OWN_TOOL: &str = "throughline";

/// Redactor that changes nothing. It is sufficient because the texts read here are not stored.
struct Unredacted;

impl Redact for Unredacted {
    fn redact<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        text.into()
    }
}

/// Files that a tool call may have written.
#[derive(Debug)]
enum Target {
    /// The file at this path.
    File(String),
    /// Any file that this command line may write.
    Command(String),
    /// Any file that a tool with this input may write.
    Other(String),
}

/// A tool call that may write files.
#[derive(Debug)]
struct WritingCall {
    session: String,
    id: String,
    target: Target,
    start: Timestamp,
    end: Option<Timestamp>,
    /// Whether the call may run on after its result.
    is_detached: bool,
    /// Time of the last record of its session.
    last: Timestamp,
    /// Whether the times of the call can be compared with file times.
    has_times: bool,
}

/// A command that a person typed with `!`.
#[derive(Debug)]
struct Typed {
    session: String,
    command: String,
    start: Timestamp,
    end: Option<Timestamp>,
}

/// Tool calls and typed commands of the transcripts that were written recently.
#[derive(Debug, Default)]
pub struct ToolCalls {
    calls: Vec<WritingCall>,
    typed: Vec<Typed>,
}

impl ToolCalls {
    /// Reads the transcripts that were written since a time.
    pub fn read(dirs: &UserDirs, since: Timestamp) -> Self {
        let since = since.0.saturating_sub(BEFORE_MS);
        let mut transcripts = Vec::new();
        for folder in configurations::transcript_folders(dirs) {
            // A folder that cannot be read is skipped.
            let Ok(found) = discover::transcripts_in(&folder) else { continue };
            transcripts.extend(found.transcripts);
        }
        transcripts.retain(|transcript| transcript.modified().0 >= since);
        transcripts.sort_by_key(|transcript| Reverse(transcript.modified_ns));
        let mut found = Self::default();
        let mut bytes = 0;
        for transcript in transcripts {
            bytes += transcript.len;
            if bytes > BYTES_MAX {
                break;
            }
            found.read_one(&transcript);
        }
        found
    }

    fn read_one(&mut self, transcript: &Transcript) {
        let Ok(file) = File::open(&transcript.path) else { return };
        let session = transcript.name.session.clone();
        let first_call = self.calls.len();
        let mut lines = transcript::lines(BufReader::with_capacity(256 << 10, file));
        let mut last = Timestamp::default();
        let mut records = Vec::new();
        while let Ok(Some(line)) = lines.next_whole() {
            last = last.max(timestamp(line).unwrap_or_default());
            let has = |word: &str| memchr::memmem::find(line, word.as_bytes()).is_some();
            let is_persons = transcript.name.agent.is_none();
            if is_persons && (has("<bash-input>") || has("<bash-stdout>")) {
                self.read_typed(line, &session);
            }
            if !(has("\"tool_use\"") || has("\"tool_result\"")) {
                continue;
            }
            records.clear();
            SOURCE.convert(line, &Unredacted, &mut records);
            for record in records.drain(..) {
                self.add(record, &session, first_call);
            }
            if has("run_in_background") || has("backgroundTaskId") {
                self.detach(line, first_call);
            }
        }
        let has_times = (transcript.modified().0 - last.0).abs() <= STALE_MS;
        for call in &mut self.calls[first_call..] {
            (call.has_times, call.last) = (has_times, last);
        }
    }

    /// Marks the calls in a line that run in the background, either by request or because Claude Code moved them there.
    fn detach(&mut self, line: &[u8], first: usize) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return };
        let was_moved = value["toolUseResult"]["backgroundTaskId"].is_string();
        let blocks = value["message"]["content"].as_array().map_or(&[][..], Vec::as_slice);
        for block in blocks {
            let id = match block["input"]["run_in_background"].as_bool() {
                Some(true) => &block["id"],
                Some(false) | None if was_moved => &block["tool_use_id"],
                Some(false) | None => continue,
            };
            let is_it = |call: &&mut WritingCall| id == call.id.as_str();
            self.calls[first..].iter_mut().filter(is_it).for_each(|call| call.is_detached = true);
        }
    }

    fn add(&mut self, record: Record, session: &str, first: usize) {
        let at = record.at;
        match record.what {
            RecordWhat::Call { id, tool, what, .. } => {
                if let Some(target) = target(&tool, what) {
                    let session = session.to_owned();
                    let is_detached = matches!(&target, Target::Command(line) if detaches(line));
                    self.calls.push(WritingCall {
                        session,
                        id,
                        target,
                        start: at,
                        end: None,
                        is_detached,
                        last: at,
                        has_times: false,
                    });
                }
            }
            RecordWhat::Result(result) => {
                let of_result = |call: &&mut WritingCall| call.id == result.id;
                if let Some(call) = self.calls[first..].iter_mut().rev().find(of_result) {
                    call.end = Some(at);
                }
            }
            _ => {}
        }
    }

    fn read_typed(&mut self, line: &[u8], session: &str) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return };
        let Some(text) = value["message"]["content"].as_str().filter(|_| value["type"] == "user")
        else {
            return;
        };
        // The same line may be from a program (`claude -p`), from another agent, or from Claude.
        let is_meta = value["isMeta"].as_bool().unwrap_or_default();
        if is_meta || prompt_by(&value) != PromptBy::User {
            return;
        }
        let at = value["timestamp"].as_str().and_then(Timestamp::parse).unwrap_or_default();
        if let Some(command) = text.trim_start().strip_prefix("<bash-input>") {
            let command = command.split("</bash-input>").next().unwrap_or_default().to_owned();
            let session = session.to_owned();
            self.typed.push(Typed { session, command, start: at, end: None });
        } else if text.trim_start().starts_with("<bash-stdout>")
            && let Some(typed) = self.typed.last_mut().filter(|typed| typed.session == session)
        {
            typed.end = Some(at);
        }
    }

    /// Returns the session of the tool call that wrote the current content of a file. `was_brought` is whether git may
    /// have written the file. If so, only calls that name the file count.
    pub fn writer(&self, file: &Path, was_brought: bool) -> Option<&str> {
        let times = fs::symlink_metadata(file).map(|metadata| change_times(&metadata)).ok()?;
        let wrote = |call: &&WritingCall| {
            let names = call.names(file);
            let is_at = |at: &i64| call.covers(*at, call.end(), SLACK_MS);
            // The end of a background command is not recorded. A command that does not name the file is assumed to run
            // until the last record of its session.
            let end = if call.is_detached { Some(call.last) } else { call.end };
            match call.has_times {
                true if names => times.iter().any(is_at),
                // A call that does not name the file counts if it ran at the file's time and git cannot have written
                // the file.
                true => {
                    !was_brought
                        && times.iter().any(|at| call.covers(*at, end, 0))
                        && call.is_open_ended()
                }
                false => names,
            }
        };
        self.calls.iter().rev().find(wrote).map(|call| call.session.as_str())
    }

    /// Returns the session of the tool call that removed a file between the last check and now. A command that does not
    /// name the file counts if it may write, because a variable or a pattern may expand to the name. `was_brought` is
    /// whether git may have removed the file; if so, only calls that name the file count.
    pub fn remover(
        &self,
        file: &Path,
        (looked, now): (Timestamp, Timestamp),
        was_brought: bool,
    ) -> Option<&str> {
        let removed = |call: &&WritingCall| {
            if call.has_times && call.start.0 > now.0 + SLACK_MS {
                return false;
            }
            let is_since = call.end().is_none_or(|end| end.0 + SLACK_MS >= looked.0);
            let may_remove = match &call.target {
                Target::File(_) => false,
                Target::Command(_) if call.names(file) => true,
                Target::Command(line) => call.has_times && !was_brought && may_write(line),
                Target::Other(_) => call.names(file),
            };
            may_remove && (!call.has_times || is_since)
        };
        self.calls.iter().rev().find(removed).map(|call| call.session.as_str())
    }

    /// Whether a person typed a command with `!` that contains these words and ran at this time.
    pub fn is_typed(&self, words: &[&str], at: Timestamp) -> bool {
        self.typed.iter().any(|typed| {
            let end = typed.end.map_or(typed.start.0 + TYPED_MS, |end| end.0);
            let is_then = at.0 + SLACK_MS >= typed.start.0 && at.0 <= end + SLACK_MS;
            is_then && words.iter().all(|word| typed.command.contains(word))
        })
    }
}

impl WritingCall {
    /// Returns the end of the call; `None` if it is not recorded or the call may run on in the background.
    fn end(&self) -> Option<Timestamp> {
        self.end.filter(|_| !self.is_detached)
    }

    /// Whether the time `at` is between the start of the call and `end`, with a tolerance of `slack` milliseconds.
    fn covers(&self, at: i64, end: Option<Timestamp>, slack: i64) -> bool {
        at >= self.start.0 - slack && end.is_none_or(|end| at <= end.0 + slack)
    }

    /// Whether the call may also write files that it does not name.
    fn is_open_ended(&self) -> bool {
        match &self.target {
            Target::File(_) => false,
            Target::Command(_) | Target::Other(_) => true,
        }
    }

    /// Whether the call names a file or its folder, and may write there.
    fn names(&self, file: &Path) -> bool {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = file.parent().and_then(Path::to_str).unwrap_or_default();
        let shown = folder.find("/.throughline/").map_or(folder, |at| &folder[at + 1..]);
        match &self.target {
            Target::File(path) => {
                let is_same =
                    |path: &Path| path == file || path.ends_with(Path::new(shown).join(name));
                is_same(Path::new(path)) || fs::canonicalize(path).is_ok_and(|path| is_same(&path))
            }
            Target::Command(command) => {
                may_write(command) && (command.contains(name) || command.contains(shown))
            }
            Target::Other(input) => input.contains(name) || input.contains(shown),
        }
    }
}

/// Returns the timestamp of a line of a transcript, found without parsing the line.
fn timestamp(line: &[u8]) -> Option<Timestamp> {
    const KEY: &[u8] = b"\"timestamp\":\"";
    let at = memchr::memmem::rfind(line, KEY)? + KEY.len();
    let end = memchr::memchr(b'"', &line[at..])?;
    Timestamp::parse(std::str::from_utf8(&line[at..at + end]).ok()?)
}

/// Returns the files that a tool call may write; `None` if the tool only reads or queries.
fn target(tool: &str, input: Input) -> Option<Target> {
    match input {
        Input::Edit { path, .. } => Some(Target::File(path)),
        Input::Shell { command, .. } => Some(Target::Command(command)),
        Input::Other { json } if tool.starts_with("mcp__") && !tool.contains(OWN_TOOL) => {
            Some(Target::Other(json))
        }
        Input::Unknown if tool.starts_with("mcp__") && !tool.contains(OWN_TOOL) => {
            Some(Target::Other(String::new()))
        }
        Input::Read { .. }
        | Input::Search { .. }
        | Input::Question { .. }
        | Input::Plan { .. }
        | Input::Todos { .. }
        | Input::Agent { .. }
        | Input::Other { .. }
        | Input::Unknown => None,
    }
}

/// Whether a command line may write a file, by a redirection or by one of [`WRITERS`].
fn may_write(command: &str) -> bool {
    let redirects =
        command.replace("2>&1", "").replace(">/dev/null", "").replace("> /dev/null", "");
    let is_writer = |word: &str| WRITERS.contains(&word.rsplit('/').next().unwrap_or(word));
    redirects.contains('>')
        || command
            .split(|c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`'))
            .any(is_writer)
}

/// Whether a command line may start a process that runs on after the line has ended.
fn detaches(command: &str) -> bool {
    let is_one_of = |list: &[&str], word: &str| {
        let word = word.trim_matches(|c: char| matches!(c, '\'' | '"' | '(' | ')'));
        list.contains(&word.rsplit('/').next().unwrap_or(word))
    };
    let mut commands = command.split([';', '|', '&', '(', '`', '\n']);
    command.split_whitespace().any(|word| is_one_of(&DETACHERS, word))
        || commands.any(|command| {
            let first = command.split_whitespace().next().unwrap_or_default();
            is_one_of(&DETACHERS_FIRST, first)
        })
        || has_background_sign(command.as_bytes())
}

/// Whether a command line has a `&` that runs a command in the background. A `&&`, a redirection and a `&` inside a
/// word do not count.
fn has_background_sign(command: &[u8]) -> bool {
    memchr::memchr_iter(b'&', command).any(|at| {
        let before = at.checked_sub(1).map_or(b' ', |before| command[before]);
        let after = command.get(at + 1).copied().unwrap_or(b' ');
        let is_other = matches!(before, b'&' | b'>' | b'<' | b'|') || matches!(after, b'&' | b'>');
        let is_apart = |byte: u8| byte.is_ascii_whitespace() || b")}'\";".contains(&byte);
        !is_other && (is_apart(before) || is_apart(after))
    })
}

/// Returns the time of the last change of a file's content, and of its last change of any kind, such as a rename.
/// Claude can set the first time, but not the second.
fn change_times(metadata: &Metadata) -> [i64; 2] {
    [modified_ms(metadata), milliseconds(status_changed_ns(metadata))]
}

fn modified_ms(metadata: &Metadata) -> i64 {
    milliseconds(modified_ns(metadata))
}

fn milliseconds(ns: Option<i64>) -> i64 {
    ns.map_or(i64::MAX, |ns| ns.div_euclid(1_000_000))
}

/// Returns the earliest time of change of these files; `None` if none of them exists.
pub fn earliest_change(files: &[&Path]) -> Option<Timestamp> {
    let times = files.iter().filter_map(|file| fs::symlink_metadata(file).ok());
    times.flat_map(|metadata| change_times(&metadata)).min().map(Timestamp)
}
