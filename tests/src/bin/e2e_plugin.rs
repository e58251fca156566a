//! Tests the plugin in the real Claude Code client: without `init`, together with `init`, and without installed
//! programs. `scripts/e2e-claude-code` runs it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use journeys::checks::Checks;
use journeys::claude_code::{Begin, Client, Outcome};
use journeys::environment::TestEnvironment;
use journeys::injections::{injected, injections};
use journeys::ledger_project as ledger;
use journeys::messages_api::{MessagesApi, Request, Script};
use journeys::metadata::root;
use journeys::sample_project::snapshot;
use serde_json::{Value, json};

const BARE: &str = "11111111-aaaa-4111-8111-111111111111";
const ALONE: &str = "22222222-aaaa-4222-8222-222222222222";
const BESIDE: &str = "33333333-aaaa-4333-8333-333333333333";
const INSTALLED: &str = "44444444-aaaa-4444-8444-444444444444";

/// Name of the plugin with its marketplace.
const PLUGIN: &str = "throughline@throughline";
/// Settings of the user before the test, in the layout of the client.
const SETTINGS: &str = "{\n  \"cleanupPeriodDays\": 60\n}\n";
/// Folder of installed copies of the plugin, relative to the client's folder.
const CACHE: &str = "plugins/cache/throughline";
/// Lists of the client, which are empty at the end.
const LISTS: [&str; 2] = ["plugins/installed_plugins.json", "plugins/known_marketplaces.json"];

const DEPLOY: &str = "Deploys go through the staging server on Thursdays.";
const ASK: &str = "On which weekday does the staging server deploy?";
const RECALL: &str = "mcp__plugin_throughline_throughline__recall";
/// The client's message to the model about servers that fail to start.
const FAILED: &str = "failed to connect";
const PROGRAMS: [&str; 8] = [
    "throughline",
    "throughline-processor",
    "throughline-mcp",
    "throughline-session-start",
    "throughline-user-prompt-submit",
    "throughline-pre-tool-use",
    "throughline-post-tool-use",
    "throughline-stop",
];

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn main() -> ExitCode {
    let mut checks = Checks::default();
    if let Err(error) = journey(&mut checks) {
        checks.check("the journey runs to its end", false, error);
    }
    checks.finish()
}

fn journey(checks: &mut Checks) -> io::Result<()> {
    let environment = TestEnvironment::new()?;
    let world = PluginWorld {
        root: ledger::create(&environment)?,
        environment: &environment,
        api: MessagesApi::start()?,
    };
    fs::create_dir_all(environment.claude_dir())?;
    world.is_valid(checks)?;
    world.is_silent_without_programs(checks)?;
    world.brings_memory_alone(checks)?;
    world.comes_and_goes_by_the_marketplace(checks)?;
    world.gives_way_to_init(checks)
}

struct PluginWorld<'a> {
    environment: &'a TestEnvironment,
    api: MessagesApi,
    root: PathBuf,
}

impl PluginWorld<'_> {
    fn client(&self) -> io::Result<Client<'_>> {
        Ok(Client::new(self.environment, &self.api)?.with_plugin(plugin()))
    }

    /// Runs a session with [`ASK`] and returns its requests.
    fn session(&self, id: &str) -> io::Result<(Outcome, Vec<Request>)> {
        self.session_of(&self.client()?, id)
    }

    fn session_of(&self, client: &Client<'_>, id: &str) -> io::Result<(Outcome, Vec<Request>)> {
        self.api.script([Script::on(ASK)
            .calls(RECALL, json!({"query": ASK}))
            .answers("On the day that is written there.")]);
        self.api.take_requests();
        let outcome = client.session(&self.root, Begin::New(id), ASK)?;
        let requests = self.api.take_requests().into_iter().filter(Request::is_conversation);
        Ok((outcome, requests.collect()))
    }

    fn is_valid(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("`claude plugin validate` takes it");
        for folder in [plugin(), root()] {
            let folder = folder.canonicalize()?;
            let client = Client::new(self.environment, &self.api)?;
            let said =
                client.run(&self.root, &["plugin", "validate", &folder.display().to_string()])?;
            checks.contains(&folder.display().to_string(), &said, "Validation passed");
        }
        Ok(())
    }

    fn is_silent_without_programs(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Without programs a session is told once, and works");
        let (outcome, requests) = self.session(BARE)?;
        checks.contains("the session works", &outcome.result, "On the day");
        let given: Vec<_> = requests.iter().flat_map(injections).collect();
        checks.check("nothing reaches the model", given.is_empty(), format!("{given:#?}"));
        let hints = outcome.messages.iter().map(ToString::to_string);
        let hints: Vec<_> = hints.filter(|said| said.contains("its programs are not")).collect();
        checks.check("the user is told once", hints.len() == 1, format!("{hints:#?}"));
        let text = requests.iter().map(Request::text).collect::<String>();
        checks.check("the model is told of no failure", !text.contains(FAILED), "");
        Ok(())
    }

    fn brings_memory_alone(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("With programs, hooks and server come by the plugin alone");
        let folder = self.environment.home().join(".local/bin");
        fs::create_dir_all(&folder)?;
        for program in PROGRAMS {
            symlink(self.environment.binary(program), folder.join(program))?;
        }
        self.environment.throughline(&self.root, &["init", "--yes", "--no-register"])?;
        self.environment.throughline(&self.root, &["add", DEPLOY, "--kind", "convention"])?;
        self.environment.throughline(&self.root, &["sync"])?;
        let (outcome, requests) = self.session(ALONE)?;
        let first = requests.first().ok_or_else(|| io::Error::other("no request"))?;
        checks.contains(
            "the session begins with it",
            &injected(first, "SessionStart"),
            "Thursdays",
        );
        checks.contains(
            "and the names of the plugin's tools",
            &injected(first, "SessionStart"),
            RECALL,
        );
        let results = outcome.messages.iter().map(ToString::to_string);
        let answered = results.filter(|said| said.contains("\"tool_result\"")).collect::<String>();
        checks.contains("the server answers with it", &answered, "Thursdays");
        Ok(())
    }

    fn comes_and_goes_by_the_marketplace(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Installed from the marketplace and removed, it leaves what the client keeps");
        let folder = self.environment.claude_dir();
        let settings = folder.join("settings.json");
        fs::write(&settings, SETTINGS)?;
        let before = snapshot(&folder)?;
        let client = Client::new(self.environment, &self.api)?;
        let marketplace = root().canonicalize()?.display().to_string();
        client.run(&self.root, &["plugin", "marketplace", "add", &marketplace])?;
        client.run(&self.root, &["plugin", "install", PLUGIN])?;

        let installed = fs::read(&settings)?;
        let said = self.environment.throughline(&self.root, &["init", "--yes"])?;
        checks.contains(
            "`init` knows it",
            &said,
            "hooks       by the plugin throughline@throughline",
        );
        checks.check("and leaves the settings alone", fs::read(&settings)? == installed, said);
        let said = self.environment.throughline(&self.root, &["doctor"])?;
        checks.contains("`doctor` knows the hooks", &said, "ok    hooks        by the plugin");
        checks.contains("and the server", &said, "ok    MCP server   by the plugin");
        let (_, requests) = self.session_of(&client, INSTALLED)?;
        let first = requests.first().ok_or_else(|| io::Error::other("no request"))?;
        let given = injected(first, "SessionStart");
        checks.contains("a session begins with memories", &given, "Thursdays");

        client.run(&self.root, &["plugin", "uninstall", PLUGIN])?;
        client.run(&self.root, &["plugin", "marketplace", "remove", "throughline"])?;
        self.is_as_before(&before, checks)
    }

    /// Compares the client's folder with its previous state, ignoring files that the client itself writes.
    fn is_as_before(&self, before: &Files, checks: &mut Checks) -> io::Result<()> {
        let after = snapshot(&self.environment.claude_dir())?;
        let text = |name: &str| String::from_utf8_lossy(&after[Path::new(name)]).into_owned();
        let mut kept: Value = serde_json::from_str(&text("settings.json"))?;
        if let Some(kept) = kept.as_object_mut() {
            // The client keeps both keys, without entries.
            for key in ["enabledPlugins", "extraKnownMarketplaces"] {
                let value = kept.remove(key);
                let is_empty = value.as_ref().is_none_or(|value| *value == json!({}));
                checks.check(&format!("`{key}` is empty"), is_empty, format!("{value:?}"));
            }
        }
        let had: Value = serde_json::from_str(SETTINGS)?;
        checks.check("the other settings are as they were", kept == had, kept.to_string());
        for list in LISTS {
            let text = text(list);
            checks.check(&format!("{list} has no entry"), !text.contains("throughline"), text);
        }
        let is_copy = |name: &Path| name.starts_with(CACHE);
        let marked = after.keys().any(|name| is_copy(name) && name.ends_with(".orphaned_at"));
        let is_gone = !after.keys().any(|name| is_copy(name));
        checks.check("the copy is gone, or marked for removal", marked || is_gone, "");
        let named = after.iter().filter(|(name, bytes)| {
            let is_new = before.get(*name) != Some(*bytes);
            let is_log = name.starts_with("projects") || name.starts_with("backups");
            let says = |text: &str| text.contains(PLUGIN) || text.contains("throughline-stop");
            is_new && !is_log && !is_copy(name) && says(&String::from_utf8_lossy(bytes))
        });
        let named: Vec<_> = named.map(|(name, _)| name.display().to_string()).collect();
        checks.check("nothing else names it", named.is_empty(), format!("{named:?}"));
        let lost: Vec<_> = before.keys().filter(|name| !after.contains_key(*name)).collect();
        checks.check("no file is lost", lost.is_empty(), format!("{lost:?}"));
        Ok(())
    }

    fn gives_way_to_init(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("Beside `init` nothing comes twice");
        self.environment.throughline(&self.root, &["init", "--yes"])?;
        let (_, requests) = self.session(BESIDE)?;
        let first = requests.first().ok_or_else(|| io::Error::other("no request"))?;
        let starts: Vec<_> =
            injections(first).into_iter().filter(|given| given.event == "SessionStart").collect();
        checks.check("one block at the start", starts.len() == 1, format!("{starts:#?}"));
        checks.check("nor a failure", !first.text().contains(FAILED), first.text());
        let tools = first.tools();
        checks.check("and no second server", !tools.contains(&RECALL), format!("{tools:?}"));
        Ok(())
    }
}

fn plugin() -> PathBuf {
    root().join("plugin")
}
