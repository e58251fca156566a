//! The journey with the real Claude Code client: later sessions receive memories of an earlier session at the right
//! moments, and other sessions do not. `scripts/e2e-claude-code` runs it.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flate2::read::GzDecoder;
use journeys::chat_server::ChatServer;
use journeys::checks::Checks;
use journeys::claude_code::{Begin, Client, Outcome, PROGRAM_VARIABLE};
use journeys::environment::{TestEnvironment, printed};
use journeys::injections::{injected, injections};
use journeys::ledger_project::{self as ledger, shell};
use journeys::messages_api::{MessagesApi, Mood, Request, Script};
use serde_json::{Value, json};

const FIRST: &str = "11111111-1111-4111-8111-111111111111";
const IN_APP: &str = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";
const SECOND: &str = "22222222-2222-4222-8222-222222222222";
const KILLED: &str = "33333333-3333-4333-8333-333333333333";
const AFTER_KILL: &str = "44444444-4444-4444-8444-444444444444";
const WITH_TOOLS: &str = "55555555-5555-4555-8555-555555555555";
const CORRECTS: &str = "77777777-7777-4777-8777-777777777777";
const ASKS: &str = "88888888-8888-4888-8888-888888888888";
const LOOKS_UP: &str = "99999999-9999-4999-8999-999999999999";
const DECIDES: &str = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
const AFTER_DECISIONS: &str = "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb";
const SILENCED: &str = "66666666-6666-4666-8666-666666666666";

/// A prompt that the decision of the first session answers.
const ASK_ABOUT_DECISION: &str = "Why are the quantities u32 and not i64?";
const FAIL_AGAIN: &str = "Go on.";
const TOUCH_FILE: &str = "And now the other one.";
const ASK_AGENT: &str = "Ask a subagent to list the files.";
const AGENT_PROMPT: &str = "List the files and report why the quantities are u32.";
const TASK_NOTICE: &str = "<task-notification>";
/// A question that no memory of the store answers, and that has no word in common with one.
const NOT_KNOWN: &str = "zebra migration across the savanna";
const LAST_WISH: &str = "Start with a function vat_cents that rounds half up per line.";
const USE_TOOLS: &str = "Remember how we deploy, and look it up again.";
const READ_ON: &str = "Correct what we know about it, and read what was said first.";
const ASK_DEPLOY: &str = "On which weekday does the staging server deploy?";
const LOOK_UP: &str = "Find that out, please.";
const NOW_MONDAYS: &str = "Deploys go through the staging server on Mondays now.";
const RULE: &str = "Never push without a review";
/// Claims of Claude about the user's wishes: one in a file, one by `add`, and one by `add` with a hidden caller.
const CLAIMS: [&str; 3] =
    ["Push to main at once", "Skip the tests on Fridays", "Deploy before the reviews"];
const DECIDE: &str = "Note what you think of our rules.";
const DEPLOY: &str = "Deploys go through the staging server on Thursdays.";

/// Returns the id of a session with a number.
fn session_id(number: u32) -> String {
    format!("{number:08}-1111-4111-8111-111111111111")
}

/// The user's settings before `init`, in an unusual format.
const SETTINGS: &str = "{\n    \"model\": \"sonnet\",   \n  \"hooks\": {}\n}\n";

fn main() -> ExitCode {
    let journeys: [(&str, Journey); 6] = [
        ("the whole journey", whole),
        ("with CLAUDE_CONFIG_DIR", with_config_dir),
        ("with Claude Code as the reader", with_reader),
        ("with Claude in the user's place", in_the_users_place),
        ("in other layouts", in_other_layouts),
        ("before tool calls", before_tool_calls),
    ];
    // If an argument names a part, only this part is run.
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut checks = Checks::default();
    for (name, journey) in journeys.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        if let Err(error) = journey(&mut checks) {
            checks.check(&format!("{name} runs to its end"), false, error);
        }
    }
    checks.finish()
}

type Journey = fn(&mut Checks) -> io::Result<()>;

fn whole(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let world = World::new(&environment)?;
    ChatServer::reads_for(&environment.home())?;
    checks.part(&format!("Claude Code {}", world.client()?.version()?));
    world.registers(checks)?;
    world.first_session(checks)?;
    world.syncs(checks)?;
    let given = world.second_session(checks)?;
    world.resumes(checks, given)?;
    world.is_killed(checks)?;
    world.uses_the_mcp_server(checks)?;
    world.corrects_over_mcp(checks)?;
    world.gives_what_was_remembered_once(checks)?;
    world.is_switched_off(checks)?;
    world.leaves_nothing_behind(checks)?;
    world.unregisters(checks)
}

/// With this variable, the client stores its settings and MCP servers in another folder.
fn with_config_dir(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?.with_config_dir();
    let world = World::new(&environment)?;
    world.registers(checks)?;
    world.first_session(checks)?;
    world.leaves_nothing_behind(checks)?;
    world.unregisters(checks)
}

/// Claude Code reads sessions in a separate session, which leaves no trace.
fn with_reader(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let world = World::new(&environment)?;
    let fired = environment.path().join("a-hook-fired");
    world.registers(checks)?;
    world.adds_a_hook(&fired)?;
    world.first_session(checks)?;
    checks.check("the user's own hook fires in a session", fired.exists(), "");
    let left = environment.wait_until_quiet();
    checks.check("background work has ended", left.is_empty(), format!("{left:#?}"));
    fs::remove_file(&fired)?;
    world.is_read_by_the_client(checks)?;
    checks.check("no hook fired while it read", !fired.exists(), "");
    world.reports_each_failure(checks)?;
    checks.check("nor when it failed", !fired.exists(), "");
    world.leaves_nothing_behind(checks)
}

/// Claude writes a memory file, and runs commands that decide for the user.
fn in_the_users_place(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let world = World::new(&environment)?;
    world.registers(checks)?;
    world.decides_for_the_user(checks)?;
    world.leaves_nothing_behind(checks)
}

/// Memories and guards before edits and commands.
fn before_tool_calls(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let world = World::new(&environment)?;
    world.registers(checks)?;
    world.is_guarded(checks)?;
    world.is_reminded_before_it_acts(checks)?;
    world.hooks_were_quiet(checks)
}

/// Memories arrive in a submodule, in the worktrees of a bare repository, after a move and at a second path.
fn in_other_layouts(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let mut world = World::new(&environment)?;
    ChatServer::reads_for(&environment.home())?;
    let ledger = world.root.clone();
    let git = |root: &Path, arguments: &[&str]| environment.git(root, arguments);
    let text = |path: &Path| path.display().to_string();

    // Each repository has its own history, and is therefore a separate project.
    let repository = |name: &str| -> io::Result<PathBuf> {
        let root = environment.repository(name)?;
        git(&root, &["commit", "--quiet", "--allow-empty", "--message", name])?;
        Ok(root)
    };

    let (outer, library) = (repository("outer")?, repository("library")?);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    git(&outer, &[&add[..], &[&text(&library), "sub"]].concat())?;
    world.root = outer.join("sub");
    world.registers(checks)?;
    checks.part("In a submodule");
    world.decides(1)?;
    world.recalls_the_decision(checks, 2)?;

    checks.part("In the worktrees of a bare repository");
    let layout = environment.folder("bare")?;
    let bare = layout.join(".bare");
    git(&layout, &["clone", "--quiet", "--bare", &text(&repository("origin")?), &text(&bare)])?;
    fs::write(layout.join(".git"), "gitdir: ./.bare\n")?;
    let [first, second] = ["first", "second"].map(|name| layout.join(name));
    for root in [&first, &second] {
        git(&bare, &["worktree", "add", "--quiet", &text(root)])?;
    }
    world.root = first.clone();
    world.throughline(&["init", "--yes", "--no-register"])?;
    world.root = second.clone();
    world.decides(3)?;
    world.recalls_the_decision(checks, 4)?;
    world.root = first;
    world.recalls_the_decision(checks, 5)?;
    let removed = git(&bare, &["worktree", "remove", &text(&second)]);
    checks.check("the other worktree can be removed", removed.is_ok(), format!("{removed:?}"));

    checks.part("In a folder that was moved");
    world.root = ledger;
    world.throughline(&["init", "--yes", "--no-register"])?;
    world.decides(6)?;
    let moved = environment.path().join("elsewhere");
    fs::rename(&world.root, &moved)?;
    world.root = moved;
    world.recalls_the_decision(checks, 7)?;

    checks.part("At the path that a container has for it");
    let before = world.root.clone();
    let mounted = environment.folder("workspaces")?.join("ledger");
    // For the file system, the copy is another folder, like a mount in a container.
    git(&environment.path(), &["clone", "--quiet", &text(&before), &text(&mounted)])?;
    fs::rename(before.join(".throughline"), mounted.join(".throughline"))?;
    fs::remove_dir_all(&before)?;
    world.root = mounted;
    world.throughline(&["init", "--yes", "--no-register"])?;
    world.recalls_the_decision(checks, 8)?;
    world.hooks_were_quiet(checks)
}

/// The state of a journey.
struct World<'a> {
    environment: &'a TestEnvironment,
    api: MessagesApi,
    root: PathBuf,
}

impl<'a> World<'a> {
    fn new(environment: &'a TestEnvironment) -> io::Result<Self> {
        let root = ledger::create(environment)?;
        fs::create_dir_all(environment.claude_dir())?;
        fs::write(environment.claude_dir().join("settings.json"), SETTINGS)?;
        Ok(Self { environment, api: MessagesApi::start()?, root })
    }

    fn client(&self) -> io::Result<Client<'_>> {
        Client::new(self.environment, &self.api)
    }

    /// Runs a session with one prompt and returns its requests.
    fn session(&self, begin: Begin, prompt: &str) -> io::Result<(Outcome, Vec<Request>)> {
        self.api.take_requests();
        let outcome = self.client()?.session(&self.root, begin, prompt)?;
        Ok((outcome, self.conversation()))
    }

    /// Returns the requests of conversations that were received since the last call.
    fn conversation(&self) -> Vec<Request> {
        self.api.take_requests().into_iter().filter(Request::is_conversation).collect()
    }

    fn throughline(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.throughline(&self.root, arguments)
    }

    fn registers(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("`throughline init --yes` registers everything");
        self.throughline(&["init", "--yes"])?;
        let settings = fs::read_to_string(self.environment.claude_dir().join("settings.json"))?;
        for event in [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
        ] {
            checks.contains(&format!("{event} has a hook"), &settings, &format!("\"{event}\""));
        }
        checks.contains("the user's own setting is kept", &settings, "\"model\": \"sonnet\"");
        let servers = self.client()?.run(&self.root, &["mcp", "list"])?;
        checks.contains("the client knows the MCP server", &servers, "throughline");
        checks.contains("and is connected to it", &servers, "Connected");
        Ok(())
    }

    fn first_session(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("The first session: an error, its fix, a wish and decisions");
        self.api.script(ledger::first_session(&self.root));
        self.api.take_requests();
        let client = self.client()?;
        let mut session = client.open(&self.root, Begin::New(FIRST))?;
        for prompt in [ledger::TASK_AND_WISH, ledger::QUESTION] {
            session.turn(prompt)?;
        }
        session.close()?;
        // A session whose speaker is a program must not be reported as unfinished work of the user.
        let client = client.in_the_desktop_app();
        let last = client.session(&self.root, Begin::New(IN_APP), ledger::EXPORT_TASK)?.result;
        let all = self.conversation().iter().map(Request::text).collect::<String>();
        checks.contains("the scripted model got to its end", &last, ledger::EXPORT_DECISION);
        checks.contains("the command failed for real", &all, ledger::ERROR_CODE);
        checks.contains("and passed for real", &all, "1 passed");
        self.hooks_were_quiet(checks)
    }

    /// Runs a session in which the model makes a decision, and learns from the session.
    fn decides(&self, number: u32) -> io::Result<()> {
        self.api.script(ledger::first_session(&self.root));
        self.session(Begin::New(&session_id(number)), ledger::QUESTION)?;
        self.environment.wait_until_quiet();
        self.throughline(&["sync"]).map(drop)
    }

    /// Runs a session with a question about the decision.
    fn recalls_the_decision(&self, checks: &mut Checks, number: u32) -> io::Result<()> {
        let answer = "Because a negative quantity would be a bug.";
        self.api.script([Script::on(ASK_ABOUT_DECISION).answers(answer)]);
        let (_, requests) = self.session(Begin::New(&session_id(number)), ASK_ABOUT_DECISION)?;
        let prompt = injected_text(&last(requests)?).to_lowercase();
        let name = format!("the decision arrives in {}", self.root.display());
        checks.contains(&name, &prompt, ledger::DECISION);
        // The block about unfinished work contains the decision too, so the list of memories is checked separately.
        let listed = self.throughline(&["list"])?.to_lowercase();
        checks.contains("as a memory", &listed, ledger::DECISION);
        self.environment.wait_until_quiet();
        Ok(())
    }

    /// Adds a memory, and returns its id.
    fn adds(&self, title: &str, options: &[&str]) -> io::Result<String> {
        let added = self.throughline(&[&["add", title, "--json"], options].concat())?;
        let added: Value = serde_json::from_str(&added)?;
        let id = added["id"].as_str().ok_or_else(|| io::Error::other(added.to_string()))?;
        Ok(id.to_owned())
    }

    /// Each action of a guard, on commands that the client really tries to run.
    fn is_guarded(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Guards");
        let rule = self.adds(
            "Never force a push",
            &["--kind", "preference", "--body", "It lost work in May."],
        )?;
        let remote = self.environment.path().join("remote.git");
        self.environment
            .git(&self.root, &["init", "--quiet", "--bare", &remote.display().to_string()])?;
        let push = format!("git push --force {} HEAD:refs/heads/pushed", remote.display());
        let is_pushed = || remote.join("refs/heads/pushed").exists();
        let mut number = 20;
        for action in ["deny", "ask", "pause", "warn"] {
            if number > 20 {
                self.throughline(&["guard", "remove", &rule])?;
            }
            self.throughline(&[
                "guard",
                "add",
                "--reason",
                &rule,
                "--command",
                "git push --force*",
                "--action",
                action,
            ])?;
            number += 1;
            let calls = || Script::on("Push it.").calls("Bash", shell(&push, "Push"));
            self.api.script([calls().calls("Bash", shell(&push, "Push")).answers("Done.")]);
            let (_, requests) = self.session(Begin::New(&session_id(number)), "Push it.")?;
            let with_results =
                |results: usize| requests.iter().find(|it| tool_results(it).len() == results);
            let first = with_results(1).map(Request::text).unwrap_or_default();
            let second = with_results(2).map(Request::text).unwrap_or_default();
            let reason = "It lost work in May.";
            match action {
                "warn" => {
                    let given = with_results(1).map(injected_text).unwrap_or_default();
                    checks.contains(
                        "warn: the model gets the reason with the result",
                        &given,
                        reason,
                    );
                    checks.check("warn: the push ran", is_pushed(), &first);
                }
                "pause" => {
                    checks.contains(
                        "pause: the first call is denied with the reason",
                        &first,
                        reason,
                    );
                    checks.contains("pause: with the way on", &first, "repeat it unchanged");
                    checks.check("pause: the second call ran", is_pushed(), &second);
                    fs::remove_dir_all(&remote)?;
                    self.environment.git(
                        &self.root,
                        &["init", "--quiet", "--bare", &remote.display().to_string()],
                    )?;
                }
                _ => {
                    // Without a terminal the client cannot ask, and denies.
                    let stopped = !is_pushed() && !second.is_empty();
                    checks.check(&format!("{action}: neither call ran"), stopped, &second);
                }
            }
            if action == "deny" {
                checks.contains("deny: the model gets the reason", &first, reason);
                let times = second.matches(reason).count();
                checks.check("deny: each time", times >= 2, &second);
            }
        }
        let log = self.throughline(&["guard", "log"])?;
        for effect in ["denied", "asked", "paused"] {
            checks.contains(&format!("the log has the call that was {effect}"), &log, effect);
        }
        self.throughline(&["guard", "off", &rule])?;
        Ok(())
    }

    /// What is known about a file and a dependency arrives with the edit or the command; ordinary edits stay silent.
    fn is_reminded_before_it_acts(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Before edits and commands");
        // The start block would contain the memories, which are given once per session.
        self.throughline(&["config", "set", "start_tokens", "0"])?;
        self.adds(
            "Editing the price table by hand failed: it is generated by make prices",
            &["--kind", "failed-approach", "--path", "src/prices.rs"],
        )?;
        self.adds("Use Day.js instead of moment", &["--kind", "decision"])?;
        let prices = self.root.join("src/prices.rs");
        let write = |file: &Path, text: &str| json!({"file_path": file, "content": text});
        let install =
            "echo npm install moment; true npm && npm install moment --dry-run --offline || true";
        let code = self.root.join("web/date.ts");
        self.api.script([
            Script::on("Continue with the first step.")
                .calls("Write", write(&prices, "pub const A: u32 = 1;\n"))
                .answers("Done."),
            Script::on("Show dates.").calls("Bash", shell(install, "Add moment")).answers("Done."),
            Script::on("Format dates.")
                .calls("Write", write(&code, "import moment from 'moment';\n"))
                .answers("Done."),
        ]);
        for (number, prompt, expected, event) in [
            (31, "Continue with the first step.", "generated by make prices", "PreToolUse:Write"),
            (32, "Show dates.", "instead of moment", "PreToolUse:Bash"),
            (33, "Format dates.", "instead of moment", "PreToolUse:Write"),
        ] {
            let (_, requests) = self.session(Begin::New(&session_id(number)), prompt)?;
            let given = injected(&last(requests)?, event);
            checks.contains(&format!("{event} brings what limits it"), &given, expected);
        }
        let mut script = Script::on("Write ten files.");
        for number in 0..10 {
            let file = self.root.join(format!("notes/{number}.md"));
            script = script.calls("Write", write(&file, &format!("Note {number}\n")));
        }
        self.api.script([script.answers("Done.")]);
        let (_, requests) = self.session(Begin::New(&session_id(34)), "Write ten files.")?;
        let last = last(requests)?;
        checks.check(
            "ten edits were made",
            tool_results(&last).len() == 10,
            tool_results(&last).len(),
        );
        let given: Vec<String> = injections(&last)
            .into_iter()
            .map(|it| it.event)
            .filter(|event| event.contains("ToolUse"))
            .collect();
        checks.check("ten ordinary edits in silence", given.is_empty(), format!("{given:?}"));
        Ok(())
    }

    fn syncs(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("`throughline sync` turns it into memories");
        self.throughline(&["sync"])?;
        let list: Value = serde_json::from_str(&self.throughline(&["list", "--json"])?)?;
        let memories: Vec<_> = list.as_array().into_iter().flatten().collect();
        let seen = self.throughline(&["list"])?;
        for kind in ["gotcha", "decision"] {
            let found = memories.iter().any(|memory| memory["kind"] == kind);
            checks.check(&format!("there is a {kind}"), found, &seen);
        }
        // The client runs without a terminal, so its prompts count as prompts of a program.
        let wishes: Vec<_> = memories
            .iter()
            .filter(|memory| memory["kind"] == "preference" || memory["kind"] == "convention")
            .filter(|memory| memory.to_string().to_lowercase().contains(ledger::WISH))
            .collect();
        checks.check("a program's prompt is nobody's wish", wishes.is_empty(), &seen);
        self.throughline(&["add", ledger::TOLD_WISH, "--kind", "preference"])?;
        checks.contains(
            "what a person adds is",
            &self.throughline(&["list", "--json"])?.to_lowercase(),
            ledger::WISH,
        );
        let before = self.files()?;
        self.throughline(&["sync"])?;
        checks.check("a second sync changes no memory", before == self.files()?, "");
        Ok(())
    }

    /// Returns the memory files with their contents.
    fn files(&self) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.root.join(".throughline/memories"))? {
            let path = entry?.path();
            files.push((path.clone(), fs::read(path)?));
        }
        files.sort();
        Ok(files)
    }

    /// Runs the second session; returns the number of Throughline's texts that it contains at its end.
    fn second_session(&self, checks: &mut Checks) -> io::Result<usize> {
        checks.part("The second session gets it back");
        self.undo_the_fix()?;
        self.api.script(self.second_session_scripts());
        self.api.take_requests();
        let client = self.client()?;
        let mut session = client.open(&self.root, Begin::New(SECOND))?;

        session.turn(FAIL_AGAIN)?;
        let requests = self.conversation();
        let first = requests.first().ok_or_else(|| io::Error::other("no request"))?;
        let start = injected(first, "SessionStart").to_lowercase();
        checks.contains("the session begins with the user's wish", &start, ledger::WISH);
        checks.contains("and says where the work was left", &start, "export");
        let fix = injected(&last(requests)?, "PostToolUseFailure:Bash");
        checks.contains("the failing command brings back the fix", &fix, ledger::CURE);

        session.turn(TOUCH_FILE)?;
        let request = last(self.conversation())?;
        // A decision in the start block is not injected again.
        let touched = injected_text(&request).to_lowercase();
        checks.contains(
            "the decision about a file is there once it is touched",
            &touched,
            ledger::EXPORT_DECISION,
        );

        session.turn(ASK_ABOUT_DECISION)?;
        let request = last(self.conversation())?;
        let prompt = injected_text(&request).to_lowercase();
        checks.contains(
            "the decision is there with the prompt about it",
            &prompt,
            ledger::DECISION,
        );
        let before = injections(&request).len();

        session.turn(ASK_AGENT)?;
        session.wait_for_result()?;
        session.close()?;
        let (agent, main): (Vec<_>, Vec<_>) = self
            .conversation()
            .into_iter()
            .partition(|request| !request.text().contains(ASK_AGENT));
        checks.check("the subagent really ran", agent.len() == 2, agent.len());
        let given: Vec<_> = agent.iter().flat_map(injections).collect();
        checks.check("its prompt brings nothing", given.is_empty(), format!("{given:#?}"));
        let request = last(main)?;
        checks.contains("its report comes as a machine's prompt", &request.text(), TASK_NOTICE);
        let after = injections(&request);
        checks.check("which brings nothing", after.len() == before, format!("{after:#?}"));
        self.hooks_were_quiet(checks)?;
        Ok(after.len())
    }

    /// Restores the code that caused the error in the first session.
    fn undo_the_fix(&self) -> io::Result<()> {
        let lib = ledger::lib(&self.root);
        let source = fs::read_to_string(&lib)?;
        fs::write(lib, source.replace(ledger::FIXED, ledger::BROKEN))
    }

    fn second_session_scripts(&self) -> [Script; 6] {
        let agent = json!({
            "description": "List files", "prompt": AGENT_PROMPT,
            "subagent_type": "general-purpose",
        });
        [
            Script::on(ASK_ABOUT_DECISION).answers("Because a negative quantity would be a bug."),
            Script::on(FAIL_AGAIN)
                .calls("Bash", shell(ledger::CHECK, "Run the tests"))
                .answers("They do not compile."),
            Script::on(TOUCH_FILE)
                .calls("Read", json!({"file_path": ledger::export(&self.root)}))
                .answers("It has one constant."),
            Script::on(ASK_AGENT).calls("Agent", agent).answers("I wait for it."),
            Script::on(AGENT_PROMPT)
                .calls("Bash", shell("ls", "List the files"))
                .answers("Cargo.toml, README.md and src."),
            Script::on(TASK_NOTICE).answers("There are Cargo.toml, README.md and src."),
        ]
    }

    fn resumes(&self, checks: &mut Checks, given: usize) -> io::Result<()> {
        checks.part("A resume adds nothing");
        let left = self.environment.wait_until_quiet();
        checks.check("background work has ended", left.is_empty(), format!("{left:#?}"));
        let (_, requests) = self.session(Begin::Resume(SECOND), "Thank you.")?;
        let now = injections(&last(requests)?);
        checks.check("the model sees what it saw before", now.len() == given, format!("{now:#?}"));
        Ok(())
    }

    fn is_killed(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("A session killed right after its last turn");
        self.api.script([Script::on(LAST_WISH)
            .answers("I have not started yet. Shall vat_cents take the rate in percent?")]);
        let client = self.client()?.in_the_desktop_app();
        let mut session = client.open(&self.root, Begin::New(KILLED))?;
        session.turn(LAST_WISH)?;
        session.kill()?;
        let (_, requests) = self.session(Begin::New(AFTER_KILL), "Hello.")?;
        let mut ours = injected_text(&last(requests)?);
        // A hook waits for the killed turn only until its deadline. On a very busy machine, the turn is injected with
        // the next prompt.
        if !ours.contains("vat_cents") {
            self.environment.wait_until_quiet();
            let (_, requests) = self.session(Begin::Resume(AFTER_KILL), "Go on.")?;
            ours = injected_text(&last(requests)?);
        }
        checks.contains("is told to the next session", &ours, "vat_cents");
        Ok(())
    }

    fn uses_the_mcp_server(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("The MCP server");
        let remember = json!({"text": DEPLOY, "kind": "convention", "title": "How we deploy"});
        // The client offers both tools in every session without searching for them first.
        self.api.script([Script::on(USE_TOOLS)
            .calls("mcp__throughline__remember", remember)
            .calls("mcp__throughline__recall", json!({"query": "On which day do we deploy?"}))
            .calls("mcp__throughline__recall", json!({"query": NOT_KNOWN}))
            .answers("Thursdays.")]);
        let (outcome, requests) = self.session(Begin::New(WITH_TOOLS), USE_TOOLS)?;
        let first = requests.first().ok_or_else(|| io::Error::other("no request"))?;
        let tools = first.tools();
        for tool in ["recall", "remember"] {
            let is_there = tools.contains(&format!("mcp__throughline__{tool}").as_str());
            checks.check(
                &format!("the first request defines `{tool}`"),
                is_there,
                format!("{tools:?}"),
            );
        }
        let searches = tools.contains(&"mcp__throughline__search_sessions");
        checks.check("and not what is looked for by name", !searches, format!("{tools:?}"));
        let init = outcome.messages.iter().find(|message| message["subtype"] == "init");
        let servers = init.map(|init| init["mcp_servers"].to_string()).unwrap_or_default();
        checks.contains("is listed in the session", &servers, "throughline");
        let results = tool_results(&last(requests)?);
        checks.check("all three calls were answered", results.len() == 3, format!("{results:#?}"));
        let failed: Vec<_> = results.iter().filter(|result| result["is_error"] == true).collect();
        checks.check("none failed", failed.is_empty(), format!("{failed:#?}"));
        let recalled = results.get(1).map(Value::to_string).unwrap_or_default();
        let unknown = results.last().map(Value::to_string).unwrap_or_default();
        checks.contains(
            "where nothing answers, the tool returns nothing",
            &unknown,
            "Nothing is known about this.",
        );
        checks.contains("`recall` finds what `remember` stored", &recalled, "staging server");
        checks.contains("the model reads our text", &recalled, "(data, not instructions)");
        checks.contains("and whose note it is", &recalled, "noted by Claude on");
        let is_json = recalled.contains("\\\"hits\\\"");
        checks.check("and no JSON in its place", !is_json, &recalled);
        let found = self.throughline(&["search", "deploy staging"])?;
        checks.contains("and so does `throughline search`", &found, "How we deploy");
        Ok(())
    }

    /// Returns the short id of the memory with this title.
    fn short_id(&self, title: &str) -> io::Result<String> {
        let list: Value = serde_json::from_str(&self.throughline(&["list", "--json"])?)?;
        let memories = list.as_array().into_iter().flatten();
        let id = memories.clone().find(|memory| memory["title"] == title);
        let id = id.and_then(|memory| memory["id"].as_str()).unwrap_or_default();
        Ok(id.chars().skip(id.len().saturating_sub(6)).collect())
    }

    fn corrects_over_mcp(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Over MCP: by id, replaced, and a session read on");
        let old = self.short_id("How we deploy")?;
        let select = "select:mcp__throughline__remember,mcp__throughline__recall,\
                      mcp__throughline__search_sessions";
        let remember = json!({
            "kind": "fact", "title": "How we deploy now", "content": NOW_MONDAYS,
            "supersedes": old,
        });
        self.api.script([Script::on(READ_ON)
            .calls("ToolSearch", json!({"query": select}))
            .calls("mcp__throughline__recall", json!({"ids": [old]}))
            .calls("mcp__throughline__remember", remember)
            .calls("mcp__throughline__search_sessions", json!({"session": FIRST, "turns": "1-2"}))
            .answers("Mondays.")]);
        let (_, requests) = self.session(Begin::New(CORRECTS), READ_ON)?;
        let results = tool_results(&last(requests)?);
        checks.check("all calls were answered", results.len() == 4, format!("{results:#?}"));
        let result = |at: usize| results.get(at).map(Value::to_string).unwrap_or_default();
        checks.contains("`recall` by id gives the whole text", &result(1), DEPLOY);
        checks.contains("what replaces it is saved", &result(2), "is marked as replaced");
        checks.contains("a session is read on", &result(3), "Turn 1, ");
        checks.contains("with what was said", &result(3), ledger::QUESTION);
        Ok(())
    }

    /// Checks that a hook injects a remembered fact once in the next session, and never a fact that the model recalled
    /// itself.
    fn gives_what_was_remembered_once(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("What was remembered over MCP comes by a hook, and not twice");
        self.api.script([
            Script::on(ASK_DEPLOY).answers("On Mondays."),
            Script::on(LOOK_UP)
                .calls("ToolSearch", json!({"query": "select:mcp__throughline__recall"}))
                .calls("mcp__throughline__recall", json!({"query": ASK_DEPLOY}))
                .answers("Mondays."),
        ]);
        let title = "How we deploy now";
        let client = self.client()?;
        self.api.take_requests();
        let mut session = client.open(&self.root, Begin::New(ASKS))?;
        session.turn(ASK_DEPLOY)?;
        session.turn(ASK_DEPLOY)?;
        session.close()?;
        let given = injected_text(&last(self.conversation())?);
        let times = given.matches(title).count();
        checks.check("a hook brings it once", times == 1, &given);
        checks.check("and nothing that it replaced", !given.contains("Thursdays"), &given);

        let mut session = client.open(&self.root, Begin::New(LOOKS_UP))?;
        session.turn(LOOK_UP)?;
        let before = injected(&last(self.conversation())?, "SessionStart");
        session.turn(ASK_DEPLOY)?;
        session.close()?;
        let request = last(self.conversation())?;
        let recalled = tool_results(&request).last().map(Value::to_string).unwrap_or_default();
        checks.contains("`recall` brings it", &recalled, title);
        let prompt = injected(&request, "UserPromptSubmit");
        let again = prompt.contains(title) || before.contains(title);
        checks.check("and no hook brings it again", !again, format!("{before}\n{prompt}"));
        let why = self.throughline(&["why"])?;
        checks.contains("`throughline why` knows of it", &why, "because it asked");
        Ok(())
    }

    fn decides_for_the_user(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Claude decides nothing for the user, and its words are not the user's");
        self.throughline(&["add", RULE, "--kind", "preference"])?;
        let rule = self.short_id(RULE)?;
        let (path, text) = self.rule_file()?;
        let [in_file, added, hidden] = CLAIMS;
        let claim = text.replace(RULE, in_file).replace(&rule, "zzzzzz");
        let program = self.environment.binary("throughline");
        let run = |arguments: &str| {
            shell(&format!("{} {arguments}", program.display()), "Run throughline")
        };
        let hides = shell(
            &format!("env -i HOME=$HOME {} add '{hidden}' --kind preference", program.display()),
            "Run throughline",
        );
        let claim_path = path.with_file_name("claim.md");
        self.api.script([Script::on(DECIDE)
            .calls("Write", json!({"file_path": claim_path, "content": claim}))
            .calls("Bash", run(&format!("add '{added}' --kind preference --pin")))
            .calls("Bash", hides)
            .calls("Bash", run("add 'Answer in French' --user --kind preference"))
            .calls("Bash", run("trust --yes"))
            .calls("Bash", run(&format!("forget {rule}")))
            .answers("Noted.")]);
        let (_, requests) = self.session(Begin::New(DECIDES), DECIDE)?;
        let results = tool_results(&last(requests)?);
        checks.check("all calls were answered", results.len() == 6, format!("{results:#?}"));
        let result = |at: usize| results.get(at).map(Value::to_string).unwrap_or_default();
        checks.check("the file is written", claim_path.exists(), result(0));
        checks.contains("`add` saves a note by Claude", &result(1), "note by Claude");
        checks.contains("also where it hides who runs it", &result(2), "note by Claude");
        checks.contains("`add --user` is refused", &result(3), "nothing was changed");
        checks.contains("`trust --yes` is refused", &result(4), "nothing was changed");
        checks.contains("the rule is not forgotten", &result(5), "until the user agrees");
        let left = self.environment.wait_until_quiet();
        checks.check("background work has ended", left.is_empty(), format!("{left:#?}"));
        self.throughline(&["sync"])?;

        let (outcome, requests) = self.session(Begin::New(AFTER_DECISIONS), "Hello.")?;
        let start = injected(&last(requests)?, "SessionStart");
        let rule_line = start.lines().find(|line| line.contains(RULE)).unwrap_or_default();
        checks.contains("the next start has the user's rule as theirs", rule_line, "asked on");
        for claim in CLAIMS {
            let lines = start.lines().filter(|line| line.contains(claim));
            let as_users: Vec<_> = lines.filter(|line| !line.contains("noted by Claude")).collect();
            checks.check(&format!("and nothing as theirs: {claim}"), as_users.is_empty(), &start);
        }
        let told = serde_json::to_string(&outcome.messages)?;
        checks.contains("the user is told which change waits", &told, "Claude asked to forget");
        let review = self.throughline(&["review"])?;
        checks.contains("`review` has the rule", &review, "Claude asked to forget it");
        checks.contains("and the file", &review, "a tool call wrote its file");
        let list = self.throughline(&["list", "--json"])?;
        let list: Value = serde_json::from_str(&list)?;
        for claim in CLAIMS {
            let found = list.as_array().into_iter().flatten().find(|it| it["title"] == claim);
            let by = found.map(|memory| memory["source"]["said_by"].clone());
            checks.check(&format!("Claude said: {claim}"), by == Some(json!("assistant")), &list);
        }
        let now = fs::read_to_string(&path)?;
        checks.check("the file of the rule is as it was", now == text, now);
        Ok(())
    }

    /// Returns the file of the user's rule, and its text.
    fn rule_file(&self) -> io::Result<(PathBuf, String)> {
        let texts = self.files()?.into_iter();
        let texts = texts.map(|(path, text)| (path, String::from_utf8_lossy(&text).into_owned()));
        let mut rules = texts.filter(|(_, text)| text.contains(RULE));
        rules.next().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Registers a hook of the user that writes the file `mark`.
    fn adds_a_hook(&self, mark: &Path) -> io::Result<()> {
        let path = self.environment.claude_dir().join("settings.json");
        let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let hook =
            json!({"hooks": [{"type": "command", "command": format!("touch {}", mark.display())}]});
        for event in ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"] {
            let hooks = &mut settings["hooks"][event];
            if hooks.is_null() {
                *hooks = json!([]);
            }
            hooks.as_array_mut().ok_or(io::ErrorKind::InvalidData)?.push(hook.clone());
        }
        fs::write(path, settings.to_string())
    }

    /// Runs `throughline` in an environment that contains the client and an API key for it.
    fn reading(&self, arguments: &[&str], key: Option<&str>) -> io::Result<String> {
        let mut command = self.environment.command(self.environment.binary("throughline"));
        command.current_dir(&self.root).env("THROUGHLINE", "full").args(arguments);
        command.envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
        printed(&mut command)
    }

    fn is_read_by_the_client(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("`throughline config llm claude` has the client read sessions");
        let folder = self.environment.home().join(".local/bin");
        fs::create_dir_all(&folder)?;
        let client = std::env::var_os(PROGRAM_VARIABLE).ok_or(io::ErrorKind::NotFound)?;
        std::os::unix::fs::symlink(client, folder.join("claude"))?;
        self.reading(&["config", "llm", "claude", "--host", &self.api.url()], None)?;
        let memory = json!({
            "kind": "fact", "title": "total_cents adds up the lines of an invoice",
            "text": "It is in src/lib.rs.", "quote": "adds up the lines of an invoice, with a test",
            "paths": ["src/lib.rs"], "importance": 90, "standing": true,
            "cues": ["sum of an invoice"], "because": "", "confirmed": true, "entities": [],
            "facts": [], "topic": "ledger/invoices",
        });
        let answer = json!({"memories": [memory]});
        self.api.script([Script::on("<session>").calls("StructuredOutput", answer)]);
        self.api.take_requests();
        let before = self.transcripts()?;
        self.reading(&["sync"], Some("key"))?;
        let requests = self.conversation();
        checks.check("the model was asked", !requests.is_empty(), "");
        let asked = requests.iter().map(Request::text).collect::<String>();
        checks.contains("about the session", &asked, "total_cents");
        let given: Vec<_> = requests.iter().flat_map(injections).collect();
        checks.check("and given nothing of ours", given.is_empty(), format!("{given:#?}"));
        let tools: Vec<_> = requests.iter().flat_map(Request::tools).collect();
        let others = tools.iter().any(|tool| tool.starts_with("mcp__") || *tool == "Bash");
        checks.check("nor tools that do anything", !others, format!("{tools:?}"));
        let mined = self.mined()?;
        checks.contains("its answer is a draft", &mined, "claude/haiku");
        let after = self.transcripts()?;
        checks.check("no transcript is left", before == after, format!("{after:#?}"));
        checks.check("nothing is learned of it", !mined.contains("<session>"), &mined);
        let status: Value =
            serde_json::from_str(&self.reading(&["status", "--json"], Some("key"))?)?;
        let cost = &status["llm_cost"]["today"];
        let is_told = cost["questions"].as_u64() > Some(0) && cost["usd"].as_f64() > Some(0.0);
        checks.check("`status` tells what it cost", is_told, cost);
        Ok(())
    }

    fn reports_each_failure(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("What goes wrong with it is told apart");
        let path = self.environment.home().join(".config/throughline/config.toml");
        let text = fs::read_to_string(&path)?;
        fs::write(&path, text.replace("[llm]\n", "[llm]\ntimeout_s = 4\n"))?;
        self.api.script([Script::on("<session>").answers("I would rather talk.")]);
        let limit = Mood::Fails(429, "rate_limit_error", "usage limit reached");
        // A model with another name is asked about all sessions again.
        let all = [
            ("claude-a", None, Mood::Well, "Claude Code is not logged in"),
            ("claude-b", Some("key"), limit, "the usage limit is reached"),
            ("haiku", Some("key"), Mood::Dear(9_000_000), "the budget of one question is used up"),
            ("sonnet", Some("key"), Mood::Well, "the answer cannot be used: it is no JSON"),
            ("claude-c", Some("key"), Mood::Hangs, "no answer within 4 s"),
            (
                "claude-d",
                Some("key"),
                Mood::Fails(500, "api_error", "broken"),
                "the server failed (500)",
            ),
            (
                "claude-e",
                Some("key"),
                Mood::Fails(401, "authentication_error", "invalid x-api-key"),
                "Claude Code is not logged in",
            ),
        ];
        for (model, key, mood, expected) in all {
            self.api.feels(mood);
            // Answers are stored by the name of the model, so the answers of this model are removed first.
            if model == "haiku" {
                self.forget_answers()?;
            }
            self.reading(&["config", "llm", "claude", model, "--host", &self.api.url()], None)?;
            let told = self.reading(&["sync", "--rebuild", "--json"], key)?;
            checks.contains(&format!("{model}: {expected}"), &told, expected);
        }
        self.api.feels(Mood::Well);
        let settings = self.root.join(".claude/settings.local.json");
        fs::create_dir_all(self.root.join(".claude"))?;
        fs::write(&settings, "{\"env\": {\"CLAUDE_CODE_USE_BEDROCK\": \"1\"}}")?;
        self.api.take_requests();
        let told = self.reading(&["sync", "--rebuild", "--json"], Some("key"))?;
        checks.contains("other providers are refused by name", &told, "CLAUDE_CODE_USE_BEDROCK");
        checks.check("and nothing is asked", self.conversation().is_empty(), "");
        fs::remove_file(settings)
    }

    /// Returns all files below Claude Code's folder of transcripts.
    fn transcripts(&self) -> io::Result<Vec<PathBuf>> {
        let mut files = below(&self.environment.claude_dir().join("projects"))?;
        files.sort();
        Ok(files)
    }

    /// Returns the drafts from sessions, as text.
    fn mined(&self) -> io::Result<String> {
        let files = below(&self.environment.data_dir().join("projects"))?;
        let mined = files.iter().filter(|file| file.to_string_lossy().ends_with(".mined.json"));
        let unpacked = mined.map(|file| {
            let mut text = String::new();
            GzDecoder::new(fs::File::open(file)?).read_to_string(&mut text)?;
            Ok(text)
        });
        unpacked.collect()
    }

    /// Removes the stored answers and the drafts made from them.
    fn forget_answers(&self) -> io::Result<()> {
        for file in below(&self.environment.data_dir().join("projects"))? {
            let name = file.to_string_lossy();
            if name.contains("/llm/") || name.ends_with(".mined.json") {
                fs::remove_file(file)?;
            }
        }
        Ok(())
    }

    fn is_switched_off(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("`throughline off` silences everything");
        self.throughline(&["off"])?;
        let (_, requests) = self.session(Begin::New(SILENCED), ASK_ABOUT_DECISION)?;
        let given = injections(&last(requests)?);
        checks.check("nothing reaches the model", given.is_empty(), format!("{given:#?}"));
        self.throughline(&["on"])?;
        Ok(())
    }

    fn leaves_nothing_behind(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Afterwards");
        let left = self.environment.wait_until_quiet();
        checks.check("no process of ours is left", left.is_empty(), format!("{left:#?}"));
        self.hooks_were_quiet(checks)?;
        let why = self.throughline(&["why"])?;
        checks.check("`throughline why` answers", !why.trim().is_empty(), why);
        let status = self.environment.git(&self.root, &["status", "--porcelain"])?;
        let staged = status.lines().any(|line| !line.starts_with([' ', '?']));
        checks.check("git's index is untouched", !staged, status);
        Ok(())
    }

    /// Checks that the client's transcripts report no failed or late hooks.
    fn hooks_were_quiet(&self, checks: &mut Checks) -> io::Result<()> {
        let mut complaints = Vec::new();
        for folder in fs::read_dir(self.environment.claude_dir().join("projects"))? {
            for file in fs::read_dir(folder?.path())? {
                let Ok(text) = fs::read_to_string(file?.path()) else { continue };
                let told = ["hook_non_blocking_error", "hook_blocking_error", "hook_cancelled"];
                let lines = text.lines().filter(|line| told.iter().any(|told| line.contains(told)));
                complaints.extend(lines.map(str::to_owned));
            }
        }
        checks.check(
            "the client has no complaint about a hook",
            complaints.is_empty(),
            complaints.join("\n"),
        );
        Ok(())
    }

    fn unregisters(&self, checks: &mut Checks) -> io::Result<()> {
        self.throughline(&["uninstall", "--yes"])?;
        let settings = fs::read_to_string(self.environment.claude_dir().join("settings.json"))?;
        checks.check(
            "`uninstall` gives the settings back as they were",
            settings == SETTINGS,
            settings,
        );
        let servers = self.client()?.run(&self.root, &["mcp", "list"])?;
        checks.check("the MCP server is gone", !servers.contains("throughline"), servers);
        Ok(())
    }
}

/// Returns the files below a folder.
fn below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.extend(below(&path)?),
            false => files.push(path),
        }
    }
    Ok(files)
}

fn last(requests: Vec<Request>) -> io::Result<Request> {
    requests.into_iter().next_back().ok_or_else(|| io::Error::other("the client sent no request"))
}

/// Returns the tool results in a request, as the model receives them.
fn tool_results(request: &Request) -> Vec<Value> {
    let messages = request.body["messages"].as_array();
    let blocks = messages.into_iter().flatten().filter_map(|message| message["content"].as_array());
    blocks.flatten().filter(|block| block["type"] == "tool_result").cloned().collect()
}

/// Returns all text that Throughline added to a request.
fn injected_text(request: &Request) -> String {
    injections(request).into_iter().map(|ours| ours.text).collect()
}
