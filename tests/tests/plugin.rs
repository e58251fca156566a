//! Tests of the Claude Code plugin: its registrations, and its launcher in every situation.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use journeys::metadata::root;
use serde_json::{Value, json};

const HOOKS: [&str; 5] = [
    "throughline-session-start",
    "throughline-user-prompt-submit",
    "throughline-pre-tool-use",
    "throughline-post-tool-use",
    "throughline-stop",
];

fn parsed(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn its_files_name_what_exists_and_one_version() {
    let marketplace = parsed(".claude-plugin/marketplace.json");
    let source = marketplace["plugins"][0]["source"].as_str().unwrap();
    assert_eq!(source, "./plugin");
    let plugin = parsed("plugin/.claude-plugin/plugin.json");
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin["name"], marketplace["plugins"][0]["name"]);
    let hooks = parsed("plugin/hooks/hooks.json");
    let server = parsed("plugin/.mcp.json");
    let mut commands = vec![server["mcpServers"]["throughline"].clone()];
    for groups in hooks["hooks"].as_object().unwrap().values() {
        commands.push(groups[0]["hooks"][0].clone());
    }
    for command in commands {
        let launcher = command["command"].as_str().unwrap();
        let launcher = launcher.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap();
        assert!(root().join("plugin").join(launcher).is_file(), "{launcher}");
        let program = command["args"][0].as_str().unwrap();
        assert!(HOOKS.contains(&program) || program == "throughline-mcp", "{program}");
    }
}

#[test]
fn its_skill_is_the_one_of_init_with_the_names_of_a_plugins_tools() {
    let ours = fs::read_to_string(root().join("cli/assets/SKILL.md")).unwrap();
    let comment = ours.lines().find(|line| line.starts_with("<!-- written by")).unwrap();
    let wanted = ours
        .replace(&format!("{comment}\n\n"), "")
        .replace("mcp__throughline__", "mcp__plugin_throughline_throughline__");
    let skill = fs::read_to_string(root().join("plugin/skills/memory/SKILL.md")).unwrap();
    assert_eq!(skill, wanted);
}

/// A home in which some programs are installed. Each program prints its own name.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.path(".claude")).unwrap();
        fs::create_dir_all(home.path("work/.claude")).unwrap();
        home
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn installs(&self, folder: &str, program: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(folder).join(program);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho {folder} {program}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the launcher with each shell of this machine. All runs must succeed with the same output.
    fn run(&self, program: &str) -> String {
        self.run_with(program, &[])
    }

    fn run_with(&self, program: &str, variables: &[(&str, &Path)]) -> String {
        self.run_with_input(program, variables, "")
    }

    fn run_with_input(&self, program: &str, variables: &[(&str, &Path)], asked: &str) -> String {
        let launcher = root().join("plugin/scripts/run");
        let shells = ["/bin/sh", "/bin/dash", "/bin/bash"];
        let said = shells.iter().filter(|shell| Path::new(shell).exists()).map(|shell| {
            let mut command = Command::new(shell);
            command
                .arg(&launcher)
                .arg(program)
                .env_clear()
                .env("HOME", self.0.path())
                .env("PATH", format!("/usr/bin:/bin:{}", self.path("on path").display()))
                .env("CLAUDE_PROJECT_DIR", self.path("work"))
                .current_dir(self.path("work"));
            command.envs(variables.iter().copied());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            // An error is ignored, since a hook that does not read its input may have ended already.
            drop(child.stdin.take().unwrap().write_all(asked.as_bytes()));
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{shell}: {output:?}");
            assert!(output.stderr.is_empty(), "{shell}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        });
        let mut said: Vec<String> = said.collect();
        said.dedup();
        assert_eq!(said.len(), 1, "{said:?}");
        said.remove(0)
    }
}

#[test]
fn without_programs_a_session_shows_one_hint() {
    let home = Home::new();
    let hint: Value = serde_json::from_str(&home.run("throughline-session-start")).unwrap();
    assert!(hint["systemMessage"].as_str().unwrap().contains("not installed"), "{hint}");
    for program in [HOOKS[1], HOOKS[2], HOOKS[3], "throughline-mcp"] {
        assert_eq!(home.run(program), "", "{program}");
    }
}

/// The client reports a failing server to the model in each session. It does not report a server without tools.
#[test]
fn in_place_of_the_server_one_without_tools_answers() {
    let home = Home::new();
    let asked = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": "a-1", "method": "ping"}),
        json!({"method": "tools/list", "jsonrpc": "2.0", "id": 2}),
    ];
    let asked = asked.map(|line| format!("{line}\n")).concat();
    let answers: Vec<Value> = home
        .run_with_input("throughline-mcp", &[], &asked)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(answers[0]["id"], 0);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[0]["result"]["capabilities"], json!({}));
    assert_eq!((&answers[1]["id"], &answers[1]["result"]), (&json!("a-1"), &json!({})));
    assert_eq!(answers[2]["error"]["code"], -32601);
}

#[test]
fn programs_are_found_where_installers_put_them_and_in_path() {
    let home = Home::new();
    home.installs("on path", "throughline-stop");
    assert_eq!(home.run("throughline-stop"), "on path throughline-stop\n");
    home.installs(".local/bin", "throughline-stop");
    assert_eq!(home.run("throughline-stop"), ".local/bin throughline-stop\n");
}

/// Handlers of a hook, as `init` writes them for each client and scope.
const HANDLERS: [&str; 3] = [
    "{\"type\": \"command\", \"command\": \"/home/ada/.local/bin/throughline-stop\", \"args\": []}",
    "{\"type\": \"command\", \"command\": \"[ -x '/opt/bin/throughline-stop' ] || exit 0; exec '/opt/bin/throughline-stop'\"}",
    "{\"type\": \"command\", \"command\": \"command -v throughline-stop >/dev/null 2>&1 || exit 0; exec throughline-stop\"}",
];
/// Files of a project in which hooks can be registered.
const OF_PROJECT: [&str; 2] = ["work/.claude/settings.json", "work/.claude/settings.local.json"];
/// The record of insertions by `init`.
const RECORD: &str = ".local/share/throughline/installed.json";
const SERVERS: &str =
    "{\"mcpServers\": {\"throughline\": {\"command\": \"/opt/bin/throughline-mcp\"}}}\n";

impl Home {
    /// Creates a home with all programs installed.
    fn with_programs() -> Self {
        let home = Self::new();
        for program in HOOKS.iter().chain(["throughline-mcp"].iter()) {
            home.installs(".local/bin", program);
        }
        home
    }

    fn writes(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Records an insertion as `init` does.
    fn records(&self, file: &str, purpose: &str) {
        let insertion = json!({ "path": self.path(file), "purpose": purpose, "scope": "local" });
        let record = json!({ "insertions": [insertion] });
        self.writes(RECORD, &serde_json::to_string_pretty(&record).unwrap());
    }
}

fn stop_hook(handler: &str) -> String {
    format!("{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{handler}]}}]}}}}\n")
}

#[test]
fn what_init_registered_is_not_run_twice() {
    for handler in HANDLERS {
        let home = Home::with_programs();
        home.writes(".claude/settings.json", &stop_hook(handler));
        assert_eq!(home.run("throughline-stop"), "", "{handler}");
        for settings in OF_PROJECT {
            let home = Home::with_programs();
            home.writes(settings, &stop_hook(handler));
            home.records(settings, "hooks");
            assert_eq!(home.run("throughline-stop"), "", "{settings}: {handler}");
            // The hooks were removed by hand after `init`.
            home.writes(settings, "{}");
            assert_ne!(home.run("throughline-stop"), "", "{settings}");
        }
    }
    // Neither a program of another event counts, nor a word that contains the program's name.
    let home = Home::with_programs();
    home.writes(".claude/settings.json", "{\"x\": \"/bin/throughline-stop-watch\"}");
    assert_ne!(home.run("throughline-stop"), "");
}

#[test]
fn files_of_a_clone_do_not_silence_it() {
    for settings in OF_PROJECT {
        let home = Home::with_programs();
        home.writes(settings, &stop_hook(HANDLERS[2]));
        assert_ne!(home.run("throughline-stop"), "", "{settings}");
        // The record names another insertion into this file, or an insertion into another file.
        home.records(settings, "rules");
        assert_ne!(home.run("throughline-stop"), "", "{settings}");
        home.records("other/.claude/settings.json", "hooks");
        assert_ne!(home.run("throughline-stop"), "", "{settings}");
    }
    for servers in [SERVERS, "{\"mcpServers\":{\"docs\":{\"command\": \"./throughline-mcp\"}}}"] {
        let home = Home::with_programs();
        home.writes("work/.mcp.json", servers);
        assert_ne!(home.run("throughline-mcp"), "", "{servers}");
        home.records("work/.mcp.json", "server");
        assert_eq!(home.run("throughline-mcp"), "", "{servers}");
    }
    // If the project's settings name a folder of the user, the folder counts as the project's.
    let home = Home::with_programs();
    home.writes("work/mine/settings.json", &stop_hook(HANDLERS[0]));
    home.writes("work/mine/.claude.json", SERVERS);
    home.writes("work/mine/throughline/installed.json", "{}");
    let mine = Path::new("mine");
    let variables = [("CLAUDE_CONFIG_DIR", mine), ("XDG_DATA_HOME", mine)];
    assert_ne!(home.run_with("throughline-stop", &variables), "");
    assert_ne!(home.run_with("throughline-mcp", &variables), "");
}

#[test]
fn programs_come_from_absolute_folders_alone() {
    let home = Home::new();
    for program in ["grep", "throughline-stop"] {
        home.installs("work", program);
        home.installs("work/bin", program);
    }
    for path in
        [".:/usr/bin:/bin", ":/usr/bin:/bin", "/usr/bin:/bin:", "bin:/usr/bin", "./bin", "."]
    {
        let said = home.run_with("throughline-stop", &[("PATH", Path::new(path))]);
        assert_eq!(said, "", "{path}");
    }
}

#[test]
fn a_server_that_init_registered_is_not_started_twice() {
    let home = Home::with_programs();
    assert_ne!(home.run("throughline-mcp"), "");
    fs::write(home.path(".claude.json"), SERVERS).unwrap();
    assert_eq!(home.run("throughline-mcp"), "");
    // If the configuration folder is set, the client reads the file there.
    let other = home.path("other");
    fs::create_dir_all(&other).unwrap();
    let variables = [("CLAUDE_CONFIG_DIR", other.as_path())];
    assert_ne!(home.run_with("throughline-mcp", &variables), "");
    fs::write(other.join(".claude.json"), SERVERS).unwrap();
    assert_eq!(home.run_with("throughline-mcp", &variables), "");
}
