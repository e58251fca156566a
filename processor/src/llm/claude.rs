//! Claude Code as a provider. Each question is a separate call of `claude -p`, without the user's hooks, settings, MCP
//! servers and history.
//!
//! Nothing is learned from the call itself: it runs in a new empty folder without our hooks, and writes no transcript.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use memory_store::mode;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::ask::ModelQuestion;
use super::elsewhere::{ACCOUNTS, BASE_URL, ClientEnvironment};
use super::fault::ModelFault;
use super::host::ModelServer;
use super::http::line;
use super::prices::ClientVersion;
use super::program::{self, NoOutput, Printed};
use super::provider::{ModelReply, Provider};
use super::usage::Usage;
use crate::programs;

/// Name of the program.
const PROGRAM: &str = "claude";

/// The default model, which is the cheapest.
pub const MODEL: &str = "haiku";
/// Maximum cost of one question in US dollars.
const QUESTION_USD_MAX: f64 = 0.25;
/// Maximum size in bytes of the program's output, which is one result.
const RESULT_BYTES_MAX: u64 = 1 << 20;

/// Time limit for the program to report its version.
const VERSION_WAIT: Duration = Duration::from_secs(5);
/// Maximum size of the version report in bytes. The report is one line.
const VERSION_BYTES_MAX: u64 = 1 << 10;

/// Variables that limit the program's network use to the question and its actions to answering it.
const QUIET: [(&str, &str); 5] = [
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    // The program would retry for minutes. This program makes its own retries.
    ("CLAUDE_CODE_MAX_RETRIES", "0"),
    (mode::VARIABLE, "off"),
];

/// Environment variables that are passed on to Claude Code: for its configuration folder, and for the model.
const KEPT: [&str; 2] = ["CLAUDE_CONFIG_DIR", "ANTHROPIC_DEFAULT_HAIKU_MODEL"];

/// Claude Code as a provider.
pub struct Claude {
    program: PathBuf,
    model: String,
    /// The endpoint, if the user named one.
    server: Option<ModelServer>,
    /// Time limit for an answer, and the name of the setting.
    most: (Duration, &'static str),
    environment: ClientEnvironment,
    folder: TempDir,
}

impl fmt::Debug for Claude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.model, self.program.display())
    }
}

/// The program's output with `--output-format json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeOutput {
    is_error: bool,
    subtype: String,
    result: Option<Value>,
    structured_output: Option<Value>,
    errors: Vec<Value>,
    api_error_status: Option<u16>,
    total_cost_usd: Option<f64>,
    #[serde(rename = "modelUsage")]
    models: std::collections::BTreeMap<String, ModelUsage>,
}

/// Number of tokens of one model.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
}

impl Claude {
    /// Prepares requests to `model` without starting a program. Returns a fault if sessions at `roots` use an endpoint
    /// that differs from the question's, or if Claude Code is not installed.
    pub fn new(
        environment: ClientEnvironment,
        roots: &[PathBuf],
        server: Option<ModelServer>,
        model: &str,
        most: (Duration, &'static str),
    ) -> Result<Self, ModelFault> {
        if let Some(told) = environment.leads_elsewhere(roots, server.as_ref()) {
            return Err(ModelFault::Elsewhere(told));
        }
        let program = program_of(&environment).ok_or(ModelFault::NotInstalled)?;
        let folder = tempfile::Builder::new().prefix("throughline-question-").tempdir();
        let folder = folder.map_err(|error| ModelFault::NoFolder(error.to_string()))?;
        Ok(Self { program, model: model.to_owned(), server, most, environment, folder })
    }

    fn command(&self, question: &ModelQuestion, usd_max: Option<f64>) -> Command {
        let usd = usd_max.unwrap_or(QUESTION_USD_MAX).min(QUESTION_USD_MAX);
        let mut command = Command::new(&self.program);
        command
            .args(["-p", "--no-session-persistence", "--restricted", "--strict-mcp-config"])
            .args(["--tools", "", "--disable-slash-commands", "--setting-sources", ""])
            .args(["--system-prompt", question.instructions])
            .args(["--json-schema", &question.form.as_value().to_string()])
            .args(["--output-format", "json", "--model", &self.model])
            .args(["--max-budget-usd", &format!("{usd:.4}")])
            .current_dir(self.folder.path())
            .env_clear()
            .envs(self.environment.all().filter(|(name, _)| is_passed_on(name)))
            .envs(QUIET);
        if let Some(server) = &self.server {
            command.env(BASE_URL, server.url.as_str().trim_end_matches('/'));
        }
        command
    }

    fn fault(&self, outcome: &ClaudeOutput) -> ModelFault {
        let told = outcome.result.as_ref().and_then(Value::as_str).map(str::to_owned);
        let told = told.filter(|told| !told.trim().is_empty());
        let errors =
            || outcome.errors.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
        let told = line(&told.unwrap_or_else(errors));
        let low = told.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|words| low.contains(words));
        if outcome.subtype == "error_max_budget_usd" {
            return ModelFault::Budget(told);
        }
        // Some errors are recognisable only by their text, because there is a status only if a request was made.
        if matches!(outcome.api_error_status, Some(401 | 403))
            || says(&["not logged in", "/login", "invalid api key", "oauth token"])
        {
            return ModelFault::NotLoggedIn(told);
        }
        if says(&["usage limit", "limit reached", "hit your", "spend limit", "credit balance"]) {
            return ModelFault::Limit(told);
        }
        match outcome.api_error_status {
            Some(404) => {
                let (model, server) = (self.model.clone(), "Claude Code".to_owned());
                ModelFault::NoModel {
                    model,
                    server,
                    hint: "name another in `llm.model`".to_owned(),
                }
            }
            Some(429) => ModelFault::Busy { message: told, wait: None },
            Some(status @ (408 | 500..)) => {
                ModelFault::Server { status: Some(status), message: told }
            }
            None if says(&["unable to connect", "connection error", "timed out", "socket"]) => {
                ModelFault::Broken(told)
            }
            _ => ModelFault::Answer(told),
        }
    }

    /// Reads the program's output.
    fn read(&self, printed: &Printed) -> ModelReply {
        let Some(outcome) = outcome(&printed.stdout) else {
            let told = line(&String::from_utf8_lossy(&printed.stderr));
            let is_old = told.contains("unknown option") || told.contains("unknown argument");
            return ModelReply::failed(match (is_old, told.is_empty()) {
                (true, _) => ModelFault::Old(told),
                (false, true) => ModelFault::Answer("Claude Code printed no result".to_owned()),
                (false, false) => ModelFault::Answer(told),
            });
        };
        let mut usage = Usage { usd: outcome.total_cost_usd, ..Usage::default() };
        for counted in outcome.models.values() {
            let asked = [counted.cache_read_input_tokens, counted.cache_creation_input_tokens];
            usage.tokens_in += asked.iter().sum::<u64>() + counted.input_tokens;
            usage.tokens_out += counted.output_tokens;
        }
        let answer = match (&outcome.structured_output, &outcome.result) {
            _ if outcome.is_error => Err(self.fault(&outcome)),
            (Some(answer), _) => Ok(answer.to_string()),
            // The model answered with text, which may contain JSON.
            (None, Some(Value::String(text))) => Ok(text.clone()),
            (None, _) => Err(self.fault(&outcome)),
        };
        ModelReply { answer, usage }
    }
}

impl Provider for Claude {
    fn name(&self) -> String {
        format!("claude/{}", self.model)
    }

    fn is_local(&self) -> bool {
        false
    }

    fn ask(&self, question: &ModelQuestion, usd_max: Option<f64>) -> ModelReply {
        let (wait, setting) = self.most;
        let mut command = self.command(question, usd_max);
        match program::run(&mut command, &question.text, wait, RESULT_BYTES_MAX) {
            Ok(printed) => self.read(&printed),
            Err(NoOutput::Late) => ModelReply::failed(ModelFault::Slow { wait, setting }),
            Err(NoOutput::Long) => ModelReply::failed(super::http::long(
                usize::try_from(RESULT_BYTES_MAX).unwrap_or_default(),
            )),
            Err(NoOutput::Start(error)) if error.kind() == ErrorKind::NotFound => {
                ModelReply::failed(ModelFault::NotInstalled)
            }
            Err(NoOutput::Start(error)) => ModelReply::failed(ModelFault::Start {
                program: self.program.clone(),
                message: error.to_string(),
            }),
        }
    }
}

/// Returns the result: the whole output, or its last line that is a result.
fn outcome(stdout: &[u8]) -> Option<ClaudeOutput> {
    let text = String::from_utf8_lossy(stdout);
    let mut lines = text.lines().rev().filter(|line| line.trim_start().starts_with('{'));
    lines.find_map(|line| {
        let value: Value = serde_json::from_str(line).ok()?;
        (value["type"] == "result").then(|| serde_json::from_value(value).ok())?
    })
}

/// Returns whether an environment variable is passed to Claude Code. Variables of the session that started this process
/// are not passed, because the program would act as a part of that session.
fn is_passed_on(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let is_its_own = name.starts_with("CLAUDE") || name.starts_with("ANTHROPIC_");
    !is_its_own || KEPT.contains(&&*name) || ACCOUNTS.contains(&&*name)
}

/// Returns the version of Claude Code; `None` if the program does not report it.
pub fn version(environment: &ClientEnvironment) -> Option<ClientVersion> {
    let mut command = Command::new(program_of(environment)?);
    command
        .arg("--version")
        .current_dir("/")
        .env_clear()
        .envs(environment.all().filter(|(name, _)| is_passed_on(name)))
        .envs(QUIET);
    let printed = program::run(&mut command, "", VERSION_WAIT, VERSION_BYTES_MAX).ok()?;
    ClientVersion::parse(&String::from_utf8_lossy(&printed.stdout))
}

/// Returns the path of Claude Code: in `PATH`, or in the folders of its installers; `None` if it is missing.
pub fn program_of(environment: &ClientEnvironment) -> Option<PathBuf> {
    let in_path = programs::find(environment.get("PATH").map(OsString::as_os_str), PROGRAM);
    let home = environment.get("HOME").map(PathBuf::from);
    let own = home.map(|home| [home.join(".local/bin"), home.join(".claude/local")]);
    in_path.or_else(|| programs::find(Some(&std::env::join_paths(own?).ok()?), PROGRAM))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::ask;
    use super::*;

    /// A stand-in for the program that runs a given script.
    struct Fake {
        folder: TempDir,
    }

    impl Fake {
        fn new(script: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("claude");
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, memory_store::fs::disk::permissions(0o755)).unwrap();
            Self { folder }
        }

        /// Creates a stand-in that prints this result.
        fn printing(result: &Value) -> Self {
            Self::new(&format!("cat >/dev/null\ncat <<'EOF'\n{result}\nEOF\nexit 1"))
        }

        fn environment(&self, more: &[(&str, &str)]) -> ClientEnvironment {
            let path = format!("{}:/usr/bin:/bin", self.folder.path().display());
            let home = self.folder.path().to_str().unwrap();
            ClientEnvironment::of(&[&[("PATH", path.as_str()), ("HOME", home)], more].concat())
        }

        fn ask_within(&self, more: &[(&str, &str)], wait: Duration) -> ModelReply {
            let environment = self.environment(more);
            let claude =
                Claude::new(environment, &[], None, MODEL, (wait, "llm.timeout_s")).unwrap();
            claude.ask(&ask::window("[user] Hello.\n", "", "", true), Some(0.1))
        }

        fn ask(&self) -> ModelReply {
            self.ask_within(&[], Duration::from_secs(20))
        }
    }

    fn result(fields: Value) -> Value {
        let mut result =
            serde_json::json!({"type": "result", "is_error": true, "subtype": "success"});
        result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        result
    }

    #[test]
    fn it_is_asked_apart_from_everything_of_the_user() {
        let fake = Fake::new(
            "printf '%s\\n' \"$@\" >\"$HOME/args\"; env >\"$HOME/env\"; pwd >\"$HOME/cwd\"; ls -a | wc -l >>\"$HOME/cwd\"\n\
             cat >\"$HOME/stdin\"\n\
             echo 'a remark'\n\
             echo '{\"type\":\"result\",\"is_error\":false,\"structured_output\":{\"memories\":[]},\"total_cost_usd\":0.5,\
             \"modelUsage\":{\"m\":{\"inputTokens\":7,\"cacheReadInputTokens\":3,\"outputTokens\":2}}}'",
        );
        let session =
            [("CLAUDECODE", "1"), ("CLAUDE_CODE_ENTRYPOINT", "cli"), ("ANTHROPIC_API_KEY", "k")];
        let reply = fake.ask_within(&session, Duration::from_secs(20));
        assert_eq!(reply.answer, Ok("{\"memories\":[]}".to_owned()));
        assert_eq!(reply.usage, Usage { tokens_in: 10, tokens_out: 2, usd: Some(0.5), millis: 0 });
        let read = |name: &str| fs::read_to_string(fake.folder.path().join(name)).unwrap();
        let args = read("args");
        for wanted in [
            "-p\n",
            "--no-session-persistence",
            "--restricted",
            "--strict-mcp-config",
            "haiku",
            "0.1000",
        ] {
            assert!(args.contains(wanted), "{wanted}: {args}");
        }
        assert!(!args.contains("Hello.") && read("stdin").contains("[user] Hello."));
        let env = read("env");
        assert!(
            env.contains("THROUGHLINE=off\n") && env.contains("ANTHROPIC_API_KEY=k\n"),
            "{env}"
        );
        assert!(!env.contains("CLAUDECODE") && !env.contains("ENTRYPOINT"), "{env}");
        let cwd = read("cwd");
        let mut lines = cwd.lines();
        assert!(lines.next().unwrap().contains("throughline-question-"), "{cwd}");
        assert_eq!(lines.next().unwrap().trim(), "2", "the folder is empty");
    }

    #[test]
    fn failures_of_claude_code_are_distinguished() {
        let error = |fields| Fake::printing(&result(fields)).ask().answer.unwrap_err();
        let text = |text: &str| serde_json::json!({"result": text});
        let status = |status: u16, text: &str| serde_json::json!({"result": text, "api_error_status": status});
        let login = "Not logged in · Please run /login";
        assert_eq!(error(text(login)), ModelFault::NotLoggedIn(login.to_owned()));
        assert!(matches!(error(status(401, "Invalid API key")), ModelFault::NotLoggedIn(_)));
        assert!(matches!(error(text("Claude usage limit reached")), ModelFault::Limit(_)));
        assert!(matches!(
            error(status(429, "You've hit your session limit")),
            ModelFault::Limit(_)
        ));
        assert!(matches!(error(status(400, "Credit balance is too low")), ModelFault::Limit(_)));
        assert!(matches!(error(status(429, "Request rejected")), ModelFault::Busy { .. }));
        assert!(matches!(
            error(status(529, "Overloaded")),
            ModelFault::Server { status: Some(529), .. }
        ));
        assert!(matches!(error(status(404, "the selected model")), ModelFault::NoModel { .. }));
        let budget = serde_json::json!({
            "subtype": "error_max_budget_usd", "errors": ["Reached maximum budget ($0.1)"],
            "total_cost_usd": 0.2,
        });
        let reply = Fake::printing(&result(budget)).ask();
        assert_eq!(
            reply.answer,
            Err(ModelFault::Budget("Reached maximum budget ($0.1)".to_owned()))
        );
        assert_eq!(reply.usage.usd, Some(0.2), "it cost all the same");
        // The model answered with text instead of the requested form.
        let words = serde_json::json!({"is_error": false, "result": "I would rather talk."});
        let reply = Fake::printing(&result(words)).ask();
        assert_eq!(reply.answer, Ok("I would rather talk.".to_owned()));
        let garbage = Fake::new("cat >/dev/null; echo garbage; echo 'no result' >&2").ask();
        assert_eq!(garbage.answer, Err(ModelFault::Answer("no result".to_owned())));
        let old = Fake::new("echo \"error: unknown option '--restricted'\" >&2; exit 1").ask();
        assert!(matches!(old.answer, Err(ModelFault::Old(_))));
        let barred = Fake::new("");
        let program = barred.folder.path().join("claude");
        // The script's interpreter cannot be run.
        fs::write(&program, "#!/etc/passwd\n").unwrap();
        assert!(
            matches!(barred.ask().answer, Err(ModelFault::Start { program: it, .. }) if it == program)
        );
        let long = Fake::new("cat >/dev/null; head -c 2000000 /dev/zero").ask();
        assert!(matches!(long.answer, Err(ModelFault::Answer(told)) if told.contains("1024 KiB")));
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let fake = Fake::new("echo $$ >\"$HOME/pid\"; sleep 300 & echo $! >>\"$HOME/pid\"; wait");
        let reply = fake.ask_within(&[], Duration::from_secs(2));
        assert!(matches!(reply.answer, Err(ModelFault::Slow { .. })));
        let pids = fs::read_to_string(fake.folder.path().join("pid")).unwrap();
        assert_eq!(pids.lines().count(), 2);
        for pid in pids.lines().map(|pid| pid.parse::<i32>().unwrap()) {
            // The operating system removes the orphaned process after an unspecified time.
            let gone = (0..500).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.is_empty() || stat.contains(") Z ")
            });
            assert!(gone, "{pid} is still there");
        }
    }

    #[test]
    fn without_a_client_or_with_other_endpoints_nothing_is_started() {
        let empty = tempfile::tempdir().unwrap();
        let most = (Duration::from_secs(1), "llm.timeout_s");
        let home = empty.path().to_str().unwrap();
        let environment = ClientEnvironment::of(&[("PATH", home), ("HOME", home)]);
        let refused = Claude::new(environment, &[], None, MODEL, most);
        assert_eq!(refused.unwrap_err(), ModelFault::NotInstalled);
        let fake = Fake::new("touch \"$HOME/ran\"");
        let environment = fake.environment(&[("CLAUDE_CODE_USE_BEDROCK", "1")]);
        let refused = Claude::new(environment, &[], None, MODEL, most).unwrap_err();
        assert!(
            matches!(&refused, ModelFault::Elsewhere(told) if told.contains("BEDROCK")),
            "{refused}"
        );
        assert!(!fake.folder.path().join("ran").exists());
    }
}
