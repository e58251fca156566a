//! The programs that write to a store.

use std::io;
use std::process::Command;

use serde_json::{Value, json};

use super::{Acknowledged, Trial};
use crate::fault::Run;
use crate::hook_run::Moment;

/// A program with one of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Writer {
    /// The session-start hook, in a new session.
    Start,
    /// The prompt hook, for a prompt that a memory answers.
    Prompt,
    /// The tool hook, after a file was read.
    Read,
    /// The tool hook, after a command failed.
    Failure,
    /// The stop hook, which starts the processor.
    Stop,
    /// `throughline sync`, after another session was written.
    Sync,
    /// `throughline add`.
    Add,
    /// `throughline edit`.
    Edit,
    /// `throughline forget`.
    Forget,
    /// `throughline restore`.
    Restore,
    /// The tool `remember` of the MCP server.
    Remember,
    /// The tool `forget` of the MCP server.
    ServerForget,
    /// `throughline purge` of a session.
    Purge,
    /// `throughline doctor --secrets --fix`.
    Audit,
    /// `throughline config`.
    Config,
    /// `throughline init`, run a second time.
    Init,
    /// `git commit` of the memories.
    Commit,
}

/// The claim of a writer that has succeeded.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    /// No claim that can be checked.
    Nothing,
    /// A memory with this title exists. A memory with the replaced title may no longer exist.
    Kept { title: String, replaces: Option<String> },
    /// No memory with this title exists.
    Gone { title: String },
    /// No data of this session exists.
    Purged(String),
}

/// A writer that is ready to run.
pub(super) struct Task {
    pub command: Command,
    pub input: Vec<u8>,
    /// File name of the program whose calls are counted, if only one program is.
    pub program: Option<&'static str>,
    pub claim: Claim,
}

impl Writer {
    /// All writers.
    pub const ALL: [Self; 17] = [
        Self::Start,
        Self::Prompt,
        Self::Read,
        Self::Failure,
        Self::Stop,
        Self::Sync,
        Self::Add,
        Self::Edit,
        Self::Forget,
        Self::Restore,
        Self::Remember,
        Self::ServerForget,
        Self::Purge,
        Self::Audit,
        Self::Config,
        Self::Init,
        Self::Commit,
    ];

    /// The hooks.
    pub const HOOKS: [Self; 5] = [Self::Start, Self::Prompt, Self::Read, Self::Failure, Self::Stop];

    /// Returns whether the writer is a hook.
    pub fn is_hook(self) -> bool {
        Self::HOOKS.contains(&self)
    }

    /// Returns whether the run acknowledged the writer's claim.
    pub(super) fn is_acknowledged(self, run: &Run) -> bool {
        match self {
            Self::Remember | Self::ServerForget => {
                let lines = run.stdout.split(|&byte| byte == b'\n');
                let answers = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
                let mut answers = answers.filter(|answer| answer["id"] == 2);
                // A memory that the user stated stays active until the user agrees, so it is not archived.
                answers.any(|answer| {
                    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
                    answer["result"]["isError"] == false
                        && (self == Self::Remember || text.contains(" is archived."))
                })
            }
            _ => run.status.success(),
        }
    }
}

impl Trial {
    /// Returns the task of this number.
    pub(super) fn task(&self, writer: Writer, number: u32) -> io::Result<Task> {
        match writer {
            Writer::Start => self.hook(&Moment::start("startup"), &format!("start-{number}")),
            Writer::Prompt => {
                let text = "Should the archive import insert from several threads in parallel?";
                self.hook(&Moment::prompt(text), &format!("prompt-{}", number % 7))
            }
            Writer::Read => {
                let moment = Moment::read(&self.sample.root.join("src/times.rs"));
                self.hook(&moment, &format!("prompt-{}", number % 7))
            }
            Writer::Failure => {
                let error = "error[E0277]: the trait bound `Tide: Copy` is not satisfied";
                self.hook(&Moment::failure("cargo build", error), &format!("start-{number}"))
            }
            Writer::Stop => {
                self.write_session(number)?;
                self.hook(&Moment::stop(), &format!("prompt-{}", number % 7))
            }
            Writer::Sync => {
                self.write_session(number)?;
                Ok(self.throughline(&["sync"], Claim::Nothing))
            }
            Writer::Add => {
                let title = title(number);
                let claim = Claim::Kept { title: title.clone(), replaces: None };
                let body = format!("Measured on the {number}th of the trial.");
                Ok(self.throughline(&["add", &title, "--body", &body, "--tag", "berth"], claim))
            }
            Writer::Edit => {
                let Some((old, id)) = self.pick(Acknowledged::Kept, number) else {
                    return self.task(Writer::Add, number);
                };
                let title = title(number);
                let claim = Claim::Kept { title: title.clone(), replaces: Some(old) };
                Ok(self.throughline(&["edit", &id, "--title", &title], claim))
            }
            Writer::Forget => {
                let Some((title, id)) = self.pick(Acknowledged::Kept, number) else {
                    return self.task(Writer::Add, number);
                };
                Ok(self.throughline(&["forget", &id], Claim::Gone { title }))
            }
            Writer::Restore => {
                let Some((title, id)) = self.pick(Acknowledged::Gone, number) else {
                    return self.task(Writer::Add, number);
                };
                let claim = Claim::Kept { title, replaces: None };
                Ok(self.throughline(&["restore", &id], claim))
            }
            Writer::Remember => {
                let title = title(number);
                let arguments = json!({
                    "kind": "fact", "title": title, "text": "Said by the model in a trial.",
                });
                Ok(self.server("remember", &arguments, Claim::Kept { title, replaces: None }))
            }
            Writer::ServerForget => {
                let Some((title, id)) = self.pick(Acknowledged::Kept, number) else {
                    return self.task(Writer::Remember, number);
                };
                Ok(self.server("forget", &json!({"id": id}), Claim::Gone { title }))
            }
            Writer::Purge => {
                self.write_session(number)?;
                self.sample.sync()?;
                let stories = crate::sample_project::stories()?;
                let story = &stories[number as usize % stories.len()];
                let session = format!("{number:08x}-{}", &story.session[9..]);
                let arguments = ["purge", "--session", &session, "--yes"];
                Ok(self.throughline(&arguments, Claim::Purged(session.clone())))
            }
            Writer::Audit => {
                Ok(self.throughline(&["doctor", "--secrets", "--fix"], Claim::Nothing))
            }
            Writer::Config => Ok(self.throughline(&["config", "llm", "rules"], Claim::Nothing)),
            Writer::Init => {
                let arguments = ["init", "--yes", "--no-register", "--no-sync"];
                Ok(self.throughline(&arguments, Claim::Nothing))
            }
            Writer::Commit => {
                self.sample.git(&["add", "--all", ".throughline"])?;
                let mut command = self.sample.environment.command("git");
                command
                    .current_dir(&self.sample.root)
                    .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
                    .args(["-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty"])
                    .args(["--message", "Keep what was learned"]);
                let (input, claim) = (Vec::new(), Claim::Nothing);
                Ok(Task { command, input, program: Some("git"), claim })
            }
        }
    }

    /// Returns a memory with this acknowledged result, as title and id.
    fn pick(&self, outcome: Acknowledged, number: u32) -> Option<(String, String)> {
        let titles = self.titles(outcome);
        let title = titles.get(number as usize % titles.len().max(1))?;
        let (id, _) = self.acknowledged.get(title)?;
        Some((title.clone(), id.short()))
    }

    fn hook(&self, moment: &Moment, session: &str) -> io::Result<Task> {
        let environment = &self.sample.environment;
        let payload = moment.payload(environment, &self.sample.root, session);
        let mut command = environment.command(environment.binary(moment.program()));
        command.env("THROUGHLINE", "full").current_dir(&self.sample.root);
        let input = payload.to_string().into_bytes();
        Ok(Task { command, input, program: None, claim: Claim::Nothing })
    }

    fn throughline(&self, arguments: &[&str], claim: Claim) -> Task {
        let environment = &self.sample.environment;
        let mut command = environment.command(environment.binary("throughline"));
        command.env("THROUGHLINE", "full").current_dir(&self.sample.root).args(arguments);
        Task { command, input: Vec::new(), program: None, claim }
    }

    fn server(&self, tool: &str, arguments: &Value, claim: Claim) -> Task {
        let environment = &self.sample.environment;
        let mut command = environment.command(environment.binary("throughline-mcp"));
        command.env("THROUGHLINE", "full").current_dir(&self.sample.root);
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "trial", "version": "1"},
        });
        let call = json!({"name": tool, "arguments": arguments});
        let messages = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
        ];
        let input = messages.iter().map(|message| format!("{message}\n")).collect::<String>();
        Task { command, input: input.into_bytes(), program: None, claim }
    }
}

fn title(number: u32) -> String {
    format!("The quay of trial {number} has {} berths", number * 7 + 3)
}
