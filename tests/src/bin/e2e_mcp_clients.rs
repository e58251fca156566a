//! Tests real MCP clients with the built MCP server. Each client makes the same journey in a separate project, and the
//! text that it receives is checked. `scripts/e2e-mcp-clients` installs the clients and runs this program.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use journeys::checks::Checks;
use journeys::environment::printed;
use journeys::sample_project::{NOW, Sample};
use serde_json::{Value, json};

const TOOLS: [&str; 5] = ["recall", "remember", "forget", "search_sessions", "status"];
const PROMPTS: [&str; 4] = ["brief", "decided", "handoff", "tidy"];
const NOT_INSTRUCTIONS: &str = "data, not instructions";
/// Query about a subject that is not in the sample.
const UNKNOWN: &str = "which violin concerto did Brahms write for Joachim";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (Some(node), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: e2e-mcp-clients NODE FOLDER [CLIENT]");
        return ExitCode::from(2);
    };
    let wanted = arguments.next().unwrap_or_default();
    let wanted = wanted.to_string_lossy();
    let npm =
        |sdk: &'static str| How::Bridge(vec![node.clone(), folder.join("npm.mjs"), sdk.into()]);
    let python = folder.join("python/bin/python");
    let pypi = |mode: &'static str| {
        // The client's warning is suppressed: it reports that the new version of the protocol has no ping.
        let quiet = ["-W", "ignore"].map(PathBuf::from);
        How::Bridge(
            [std::slice::from_ref(&python), &quiet[..], &[folder.join("pypi.py"), mode.into()]]
                .concat(),
        )
    };
    let inspector = "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js";
    let clients = [
        ("npm SDK v1", npm("v1")),
        ("npm SDK v2-auto", npm("v2-auto")),
        ("npm SDK v2-legacy", npm("v2-legacy")),
        ("PyPI mcp (pypi-auto)", pypi("auto")),
        ("PyPI mcp (pypi-legacy)", pypi("legacy")),
        (
            "the inspector's command line",
            How::Inspector(vec![node.clone(), folder.join(inspector)]),
        ),
    ];
    let mut checks = Checks::default();
    for (name, how) in clients.iter().filter(|(name, _)| name.contains(&*wanted)) {
        checks.part(name);
        if let Err(error) = journey(&mut checks, how) {
            checks.check(&format!("the journey of {name} runs to its end"), false, error);
        }
    }
    checks.finish()
}

/// How a client is run.
enum How {
    /// A program that reads questions as lines, and keeps one connection for all of them.
    Bridge(Vec<PathBuf>),
    /// A program that is started for each question.
    Inspector(Vec<PathBuf>),
}

fn journey(checks: &mut Checks, how: &How) -> io::Result<()> {
    let sample = Sample::with_history()?;
    sample.sync()?;
    let mut client = match how {
        How::Bridge(words) => McpClient::Bridge(Bridge::start(&sample, words)?),
        How::Inspector(words) => McpClient::Inspector { sample: &sample, words },
    };
    if let McpClient::Bridge(bridge) = &mut client {
        let hello = bridge.ask(&json!({"do": "connect"}))?;
        checks.check("it connects", hello["name"] == "throughline", &hello);
        let era = if bridge.asks_in_the_new_way { "2026-07-28" } else { "2025-11-25" };
        checks.check(&format!("in the way of {era}"), hello["protocol"] == era, &hello);
        checks.contains("and reads what the server is for", &hello.to_string(), "recall");
    }
    lists(checks, &mut client)?;
    asks_and_saves(checks, &mut client)?;
    reads_sessions(checks, &mut client)?;
    refuses_invalid_arguments(checks, &mut client)?;
    if let McpClient::Bridge(mut bridge) = client {
        overtakes(checks, &mut bridge, &sample)?;
        let closed = bridge.close()?;
        checks.check("its client closes and ends well", closed, "");
    }
    let left = sample.environment.wait_until_quiet();
    checks.check("and no server is left", left.is_empty(), format!("{left:#?}"));
    Ok(())
}

/// Checks the lists of tools, prompts and resources.
fn lists(checks: &mut Checks, client: &mut McpClient<'_>) -> io::Result<()> {
    let tools = client.ask(&json!({"do": "tools"}))?;
    checks.check("it lists five tools", names(&tools["tools"], "name") == TOOLS, &tools);
    let structured = tools.to_string().contains("outputSchema");
    checks.check("none of which promises a structured answer", !structured, &tools);
    let prompts = client.ask(&json!({"do": "prompts"}))?;
    checks.check("four prompts", names(&prompts["prompts"], "name") == PROMPTS, &prompts);
    let resources = client.ask(&json!({"do": "resources"}))?;
    let uris = names(&resources["resources"], "uri");
    let wanted = ["throughline://brief", "throughline://handoff"];
    checks.check("and two resources", uris == wanted, &resources);
    let brief = client.ask(&json!({"do": "read", "uri": "throughline://brief"}))?;
    checks.contains("it reads the brief", &brief.to_string(), NOT_INSTRUCTIONS);
    let decided =
        json!({"do": "prompt", "name": "decided", "arguments": {"subject": "the import"}});
    let decided = client.ask(&decided)?;
    checks.contains("and runs a prompt", &decided.to_string(), "one transaction per file");
    Ok(())
}

/// Tests a query, and memories from their creation to their removal.
fn asks_and_saves(checks: &mut Checks, client: &mut McpClient<'_>) -> io::Result<()> {
    let known = client
        .call_tool("recall", &json!({"query": "why one transaction per file in the import"}))?;
    checks.contains(
        "recall: what is known arrives",
        &known,
        "retried when an import is interrupted",
    );
    checks.contains("as data", &known, NOT_INSTRUCTIONS);
    let unknown = client.call_tool("recall", &json!({"query": UNKNOWN}))?;
    let nothing = "Nothing is known about this.";
    checks.contains("recall: what nothing answers gets no memories", &unknown, nothing);

    let helm = json!({"kind": "decision", "title": "We deploy with Helm", "text": "The charts are in deploy/."});
    let helm = client.call_tool("remember", &helm)?;
    checks.contains("remember: saves", &helm, "created [decision ");
    let older = id_in(&helm)?;
    let newer = json!({
        "kind": "decision", "title": "We deploy with Kustomize",
        "text": "Overlays for each station were easier to read.", "supersedes": [older],
    });
    let newer = client.call_tool("remember", &newer)?;
    checks.contains("and replaces", &newer, &format!("{older} is marked as replaced."));
    let id = id_in(&newer)?;
    let whole = client.call_tool("recall", &json!({"ids": [id]}))?;
    checks.contains(
        "recall by id: gives the whole text",
        &whole,
        "Overlays for each station were easier to read.",
    );
    let now = client.call_tool("recall", &json!({"query": "what do we deploy with"}))?;
    checks.contains("recall: gives what holds", &now, "We deploy with Kustomize");
    checks.check("and not what was replaced", !now.contains("We deploy with Helm"), &now);
    let gone = client.call_tool("forget", &json!({"id": id}))?;
    checks.contains("forget: puts aside", &gone, &format!("{id} is archived"));
    checks.contains("and what it had replaced holds again", &gone, &format!("replaced {older}"));
    let again = client.call_tool("forget", &json!({"id": id}))?;
    checks.contains("and twice says so", &again, &format!("{id} was archived before"));
    let after = client.call_tool("recall", &json!({"query": "deploy with Kustomize overlays"}))?;
    checks.check("what was forgotten is not found", !after.contains("Overlays for each"), &after);
    let status = client.call_tool("status", &json!({}))?;
    checks.contains("status: counts", &status, "memories of ");
    Ok(())
}

/// Tests a search in sessions, and reading from its result.
fn reads_sessions(checks: &mut Checks, client: &mut McpClient<'_>) -> io::Result<()> {
    let found =
        client.call_tool("search_sessions", &json!({"query": "parallel inserts rayon slower"}))?;
    let session = "a1000003-0000-4000-8000-000000000000";
    checks.contains("search_sessions: names session and turn", &found, "a1000003 turn 1");
    let turns = json!({"session": session, "turns": "1-2"});
    let turns = client.call_tool("search_sessions", &turns)?;
    checks.contains("and reads on from there", &turns, "Turn 2, 2026-10-20");
    checks.contains("what the user asked first", &turns, "Importing the archive takes 40 minutes");
    let outline =
        client.call_tool("search_sessions", &json!({"session": session, "outline": true}))?;
    checks.contains("in outline", &outline, "- turn 2, 2026-10-20");
    Ok(())
}

/// Tests invalid arguments that schemas do not prevent.
fn refuses_invalid_arguments(checks: &mut Checks, client: &mut McpClient<'_>) -> io::Result<()> {
    for (arguments, wanted) in [
        (json!({"query": "import", "kinds": ["bug"]}), "`kinds` takes some of decision"),
        (json!({"query": "import", "as_of": "some day"}), "`as_of` takes a day such as"),
        (json!({}), "`query`, `ids`, `paths` or `about` is required"),
    ] {
        let answer =
            client.ask(&json!({"do": "call", "name": "recall", "arguments": arguments}))?;
        let text = text_of(&answer);
        let told = answer["isError"] == true && text.contains(wanted);
        checks.check(&format!("recall {arguments}: is refused in words that help"), told, &answer);
    }
    let query = json!({"query": "one transaction per file", "verbose": true});
    let unknown = client.call_tool("recall", &query)?;
    checks.contains(
        "an unknown argument is named",
        &unknown,
        "`recall` has no such argument: `verbose`",
    );
    Ok(())
}

/// Tests that a ping, or its replacement in the new version of the protocol, is answered while a call waits for the
/// lock of the store.
fn overtakes(checks: &mut Checks, bridge: &mut Bridge, sample: &Sample) -> io::Result<()> {
    let projects = sample.environment.data_dir().join("projects");
    let project = fs::read_dir(projects)?.next().ok_or(io::ErrorKind::NotFound)??;
    let lock = fs::File::options().write(true).open(project.path().join("store.lock"))?;
    lock.lock()?;
    let slow = json!({"kind": "fact", "title": "It had to wait for the lock"});
    let slow = bridge.send(&json!({"do": "call", "name": "remember", "arguments": slow}))?;
    let ping = bridge.send(&json!({"do": "ping"}))?;
    let (first, answer) = bridge.receive()?;
    let overtook = first == ping && answer.is_ok();
    checks.check("a ping overtakes a call that waits", overtook, format!("{answer:?}"));
    drop(lock);
    let (second, answer) = bridge.receive()?;
    let text = text_of(&answer.map_err(io::Error::other)?);
    let saved = second == slow && text.contains("created [fact ");
    checks.check("which is answered in its turn", saved, text);
    Ok(())
}

fn names(list: &Value, member: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item[member].as_str().map(str::to_owned)).collect()
}

/// Returns all text of an answer, as the client passes it to a model.
fn text_of(answer: &Value) -> String {
    names(&answer["content"], "text").join("\n")
}

/// Returns the short id in a text such as `created [decision k3v9qa] ...`.
fn id_in(text: &str) -> io::Result<String> {
    let id = text.split_once(']').and_then(|(before, _)| before.rsplit(' ').next());
    id.map(str::to_owned).ok_or_else(|| io::Error::other(format!("no id in {text}")))
}

enum McpClient<'a> {
    Bridge(Bridge),
    Inspector { sample: &'a Sample, words: &'a [PathBuf] },
}

impl McpClient<'_> {
    /// Sends a question; returns the server's answer, as the client passes it on.
    fn ask(&mut self, question: &Value) -> io::Result<Value> {
        match self {
            Self::Bridge(bridge) => bridge.ask(question),
            Self::Inspector { sample, words } => inspect(sample, words, question),
        }
    }

    /// Calls a tool; returns the text of the answer, which must contain only text and not be an error.
    fn call_tool(&mut self, tool: &str, arguments: &Value) -> io::Result<String> {
        let answer = self.ask(&json!({"do": "call", "name": tool, "arguments": arguments}))?;
        let failed = answer["isError"] == true;
        if failed || !answer["structuredContent"].is_null() {
            return Err(io::Error::other(format!("{tool} {arguments}: {answer}")));
        }
        Ok(text_of(&answer))
    }
}

/// Sends a question with the command line of the inspector, which starts and ends a server for each question.
fn inspect(sample: &Sample, words: &[PathBuf], question: &Value) -> io::Result<Value> {
    let mut command = client_command(sample, words);
    for variable in ["THROUGHLINE=full".to_owned(), format!("THROUGHLINE_NOW={NOW}")] {
        command.arg("-e").arg(variable);
    }
    command.arg("--cli").arg(sample.environment.binary("throughline-mcp")).arg("--method");
    let name = question["name"].as_str().unwrap_or_default();
    let given = |command: &mut Command, flag: &str| {
        for (name, value) in question["arguments"].as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            command.arg(flag).arg(format!("{name}={value}"));
        }
    };
    match question["do"].as_str().unwrap_or_default() {
        "call" => {
            command.args(["tools/call", "--tool-name", name]);
            given(&mut command, "--tool-arg");
        }
        "prompt" => {
            command.args(["prompts/get", "--prompt-name", name]);
            given(&mut command, "--prompt-args");
        }
        "read" => {
            let uri = question["uri"].as_str().unwrap_or_default();
            command.args(["resources/read", "--uri", uri]);
        }
        list => {
            command.arg(format!("{list}/list"));
        }
    }
    Ok(serde_json::from_str(&printed(&mut command)?)?)
}

fn client_command(sample: &Sample, words: &[PathBuf]) -> Command {
    let mut words = words.iter();
    let program: &Path = words.next().map_or(Path::new("node"), PathBuf::as_path);
    let mut command = sample.environment.command(program);
    command.args(words).current_dir(&sample.root).env("THROUGHLINE", "full");
    command
}

/// A client that reads questions as lines and prints each answer as a line.
struct Bridge {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
    /// Whether the client uses the new version of the protocol by itself.
    asks_in_the_new_way: bool,
}

impl Bridge {
    fn start(sample: &Sample, words: &[PathBuf]) -> io::Result<Self> {
        let mut child = client_command(sample, words)
            .arg(sample.environment.binary("throughline-mcp"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        let mode = words.last().map(|word| word.to_string_lossy());
        let asks_in_the_new_way = mode.is_some_and(|mode| mode.ends_with("auto"));
        Ok(Self { child, stdin, stdout: BufReader::new(stdout), next: 0, asks_in_the_new_way })
    }

    /// Sends a question; returns its number, which the answer repeats.
    fn send(&mut self, question: &Value) -> io::Result<u64> {
        self.next += 1;
        let mut question = question.clone();
        question["id"] = self.next.into();
        writeln!(self.stdin, "{question}")?;
        Ok(self.next)
    }

    /// Returns the next answer and the number of its question.
    fn receive(&mut self) -> io::Result<(u64, Result<Value, String>)> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the client ended"));
        }
        let answer: Value = serde_json::from_str(&line)?;
        let id = answer["id"].as_u64().unwrap_or_default();
        match answer["error"].as_str() {
            Some(error) => Ok((id, Err(error.to_owned()))),
            None => Ok((id, Ok(answer["result"].clone()))),
        }
    }

    fn ask(&mut self, question: &Value) -> io::Result<Value> {
        let asked = self.send(question)?;
        let (id, answer) = self.receive()?;
        if id != asked {
            return Err(io::Error::other(format!("{question} was answered as {id}: {answer:?}")));
        }
        answer.map_err(|error| io::Error::other(format!("{question}: {error}")))
    }

    /// Closes the client's connection and ends it; returns whether both succeeded.
    fn close(mut self) -> io::Result<bool> {
        self.ask(&json!({"do": "close"}))?;
        drop(self.stdin);
        Ok(self.child.wait()?.success())
    }
}
