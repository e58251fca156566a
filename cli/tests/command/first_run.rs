//! The first run: a plan on one screen, at most one question, a backfill with titles, and the Claude Code plugin.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Machine, files, strip};
use crate::styles::STYLES;

const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";
const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const SETTINGS: &str = "home/.claude/settings.json";
const ESCAPE: &str = "\x1b";
const UP: &str = "\x1b[A";
const ENTER: &str = "\r";

fn with_transcript() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine
}

/// The question of `init`.
const QUESTION: &str = "Who reads your sessions?";

/// Like [`with_transcript`], with a Claude Code that can read sessions.
fn with_client() -> Machine {
    with_client_of("2.1.332 (Claude Code)")
}

/// Like [`with_client`], with the given version of Claude Code.
fn with_client_of(version: &str) -> Machine {
    let machine = with_transcript();
    let script = format!("#!/bin/sh\n[ \"$1\" = --version ] || exit 1\necho '{version}'\n");
    machine.write("home/.local/bin/claude", &script);
    executable(&machine.path("home/.local/bin/claude"));
    machine
}

/// Starts a server that answers like an Ollama with these models; returns its address.
fn ollama(models: &[&str]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let models: Vec<Value> = models
        .iter()
        .map(|name| json!({"name": name, "modified_at": "2026-10-01T00:00:00Z", "size": 1}))
        .collect();
    let body = json!({ "models": models }).to_string();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    address
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns all files of the user, and which of Throughline's folders exist.
fn everything(machine: &Machine) -> (Vec<(PathBuf, Vec<u8>)>, Vec<bool>) {
    let ours = [
        "home/.local/share/throughline",
        "home/.local/state",
        "home/.config",
        "home/work/.throughline",
    ];
    (files(&machine.path("home")), ours.map(|below| machine.path(below).exists()).into())
}

#[test]
fn init_and_uninstall_leave_settings_of_every_style_byte_for_byte() {
    for (scope, below) in [
        ("user", SETTINGS),
        ("local", "home/work/.claude/settings.local.json"),
        ("project", "home/work/.claude/settings.json"),
    ] {
        for (style, text) in STYLES {
            let machine = Machine::new();
            machine.write(below, text);
            let servers =
                if scope == "project" { "home/work/.mcp.json" } else { "home/.claude.json" };
            machine.write(servers, text);
            let before = files(&machine.path("home"));
            machine.ok(&["init", "--yes", "--no-sync", "--settings", scope, "--with", "rules"]);
            assert!(machine.read(below).contains("throughline-stop"), "{scope}, {style}");
            assert!(machine.read(below).contains("mcp__throughline__recall"), "{scope}, {style}");
            assert!(machine.read(servers).contains("throughline-mcp"), "{scope}, {style}");
            machine.ok(&["uninstall"]);
            assert_eq!(files(&machine.path("home")), before, "{scope}, {style}");
        }
    }
}

#[test]
fn a_dry_run_shows_the_plan_on_one_screen_and_does_nothing() {
    let machine = with_transcript();
    machine.write(SETTINGS, "{}\n");
    let before = everything(&machine);
    let said = machine.ok(&["init", "--dry-run", "--yes"]);
    let (found, plan) = said.split_once("  memories").unwrap();
    let of_today = "  found       1 session of this project (0.0 MiB)\n";
    assert!(found.starts_with(&format!("Throughline for ~/work\n{of_today}")), "{found}");
    insta::assert_snapshot!(plan, @r#"
        in ~/work/.throughline (`--private` keeps them elsewhere)
      hooks       for 9 events, in ~/.claude/settings.json; a copy is kept beside it
      MCP server  in ~/.claude.json
      read by     nobody (`throughline config llm` chooses a model)
      then        these sessions are read, the newest first
      undo        `throughline uninstall` takes it out again
    Nothing was written yet.
    "#);
    let shown = strip(&machine.on_screen(&["init", "--dry-run"], 80));
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let plan = machine.json(&["init", "--dry-run", "--private", "--llm", "rules", "--json"]);
    assert_eq!(plan["memories"], "private", "{plan:#}");
    assert_eq!(plan["sessions"], 1, "{plan:#}");
    assert_eq!(plan["hooks"], "/home/.claude/settings.json");
    assert_eq!(everything(&machine), before);
}

#[test]
fn one_question_is_asked_before_anything_is_written() {
    let machine = with_client();
    let before = everything(&machine);
    let unwritten = || assert_eq!(everything(&machine), before);
    let answers = [
        ("1 session of this project", ""),
        ("Nothing was written yet", ""),
        (QUESTION, ""),
        ("Nobody", ENTER),
    ];
    let shown = strip(&machine.at_terminal_while(&["init"], &answers, &unwritten));
    assert!(shown.contains("Read 1 session") && shown.contains("`throughline review`"), "{shown}");
    assert!(
        shown.contains("is set up") && shown.contains("somebody uses `throughline add`"),
        "{shown}"
    );
    assert!(machine.read(SETTINGS).contains("throughline-stop"));
    // There is no question if there is only one reader.
    let again = strip(&machine.at_terminal(&["init", "--llm", "rules"], &[]));
    assert!(!again.contains('?') && again.contains("is set up"), "{again}");
    let machine = with_transcript();
    let shown = strip(&machine.at_terminal(&["init"], &[]));
    assert!(!shown.contains('?') && shown.contains("Claude Code cannot be asked: "), "{shown}");
    assert!(shown.contains("is set up"), "{shown}");
}

#[test]
fn plan_and_question_fit_one_screen() {
    let machine = with_client().with("OLLAMA_HOST", ollama(&["qwen3:8b"]));
    machine.write("home/work/Cargo.toml", "[package]\nname = \"a\"\n");
    let shown = machine.at_terminal_of(80, &["init"], &[(QUESTION, ""), ("Nobody", ENTER)]);
    let (plan, _) = shown.split_once(QUESTION).unwrap();
    let plan = strip(plan);
    // The question and three readers are printed below the plan.
    assert!(plan.lines().count() + 4 <= 24, "{plan}");
    assert!(plan.lines().all(|line| line.chars().count() <= 80), "{plan}");
    for told in [
        "- qwen3:8b by Ollama: ",
        "- Claude Code's small model (haiku): about $",
        "- Nobody: nothing is written",
    ] {
        assert!(plan.contains(told), "{told}\n{plan}");
    }
}

#[test]
fn whoever_leaves_the_question_has_set_up_nothing() {
    let machine = with_client();
    let before = everything(&machine);
    let (code, shown) = machine.declined_at_terminal(&["init"], &[(QUESTION, ESCAPE)]);
    assert_eq!(code, Some(130), "{shown}");
    assert_eq!(everything(&machine), before, "{shown}");
}

#[test]
fn sessions_that_are_too_old_to_be_kept_are_named_and_kept() {
    let machine = with_transcript();
    machine.transcript(TRANSCRIPT, SESSION, "2024-03-01");
    let shown = strip(&machine.at_terminal(&["init", "--private", "--earlier", "take"], &[]));
    assert!(shown.contains("1 session is older than 365 days (`retention_days`)"), "{shown}");
    assert!(shown.contains("`throughline purge --before "), "{shown}");
    for _ in 0..2 {
        machine.ok(&["sync"]);
        let turns = machine.json(&["search", "--turns", "--json", "f64"]);
        assert!(turns.to_string().contains("2024-03-01"), "{turns:#}");
    }
}

#[test]
fn who_reads_sessions_is_a_question_with_a_flag() {
    let flags = ["init", "--private", "--settings", "user", "--no-sync"];
    let ollama = ollama(&["qwen3:8b", "other"]);
    for (keys, told, model) in [
        // Enter without a choice selects a model on this machine, which costs nothing.
        (ENTER.to_owned(), "qwen3:8b by Ollama", Some("qwen3:8b")),
        (format!("\x1b[B{ENTER}"), "Claude Code (haiku)", Some("haiku")),
        (format!("{UP}{ENTER}"), "nobody", None),
    ] {
        let machine = with_client().with("OLLAMA_HOST", &*ollama);
        let shown = machine.at_terminal(&flags, &[(QUESTION, ""), ("Nobody", &keys)]);
        assert!(shown.contains(&format!("read by     {told}")), "{shown}");
        let config = machine.ok(&["config"]);
        assert_eq!(model.is_some_and(|model| config.contains(model)), model.is_some(), "{config}");
    }
    // If there is no model on this machine, Enter without a choice selects no reader.
    let machine = with_client();
    let shown = machine.at_terminal(&flags, &[(QUESTION, ""), ("Nobody", ENTER)]);
    assert!(shown.contains("read by     nobody"), "{shown}");
    assert!(!machine.ok(&["config"]).contains("haiku"));
    // An unavailable reader is reported before anything is written.
    let machine = with_transcript();
    let before = everything(&machine);
    let said = machine.run(&["init", "--yes", "--llm", "claude"]);
    assert!(said.code == 1 && said.stdout.is_empty(), "{}", said.whole());
    assert_eq!(everything(&machine), before);
}

#[test]
fn nobody_pays_or_sends_unasked() {
    let machine = with_client().with("OLLAMA_HOST", "http://models.example:11434");
    let said = machine.ok(&["init", "--yes"]);
    assert!(said.contains("read by     nobody"), "{said}");
    assert!(said.contains("nothing is written into the repository until"), "{said}");
    assert!(said.contains("`throughline config llm`"), "{said}");
    assert!(!machine.ok(&["config"]).contains("haiku"));
}

#[test]
fn the_price_is_that_of_the_installed_client_for_all_sessions() {
    let price = |version: &str| {
        let machine = with_client_of(version);
        for number in 2..=400 {
            let session = format!("{number:08}-1111-4111-8111-111111111111");
            let below = format!("home/.claude/projects/-home-work/{session}.jsonl");
            machine.transcript(&below, &session, "2026-10-01");
        }
        let (_, shown) = machine.declined_at_terminal(&["init"], &[(QUESTION, ESCAPE)]);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, told) = shown.split_once("(haiku)").unwrap();
        let (_, usd) = told.split_once("about $").unwrap();
        let (usd, rest) = usd.split_once(" for 400 sessions ($").unwrap();
        (usd.parse::<f64>().unwrap(), rest.to_owned())
    };
    let (cheap, told) = price("2.1.332 (Claude Code)");
    assert!(told.contains("each, by the prices of client 2.1.332), at most $"), "{told}");
    let (dear, told) = price("2.1.197 (Claude Code)");
    assert!(told.contains("by the prices of client 2.1.197"), "{told}");
    assert!(cheap > 0.0 && (dear / cheap - 10.0).abs() < 0.5, "{cheap} {dear}");
    let (unknown, told) = price("something else");
    assert!(told.contains("by the highest prices known"), "{told}");
    assert!((unknown - dear).abs() < 1e-9, "{unknown} {dear}");
}

#[test]
fn the_storage_of_memories_is_reported_and_has_flags() {
    for (flag, mode) in
        [("--committed", "committed"), ("--drafts", "committed"), ("--private", "private")]
    {
        let machine = with_transcript();
        machine.at_terminal(&["init", "--llm", "rules", flag], &[]);
        let status = machine.json(&["status", "--json"]);
        assert_eq!(status["mode"], mode, "{flag}");
        // Wishes are pending, whatever the storage mode of memories.
        assert!(status["waiting_for_review"].as_u64().unwrap() > 0, "{flag}");
    }
    let machine = with_transcript();
    machine.at_terminal(&["init", "--llm", "rules"], &[]);
    assert_eq!(machine.json(&["status", "--json"])["mode"], "committed");
}

#[test]
fn whom_the_hooks_are_for_has_a_flag() {
    for (flags, below) in [
        (&[][..], SETTINGS),
        (&["--settings", "user"], SETTINGS),
        (&["--settings", "local"], "home/work/.claude/settings.local.json"),
        (&["--settings", "project"], "home/work/.claude/settings.json"),
    ] {
        let fixed = ["init", "--llm", "rules", "--private", "--no-sync"];
        let machine = Machine::new();
        machine.at_terminal(&[&fixed[..], flags].concat(), &[]);
        assert!(machine.read(below).contains("throughline-stop"), "{flags:?}");
        // A second setup does not move the registrations.
        machine.ok(&["init", "--yes", "--no-sync"]);
        assert!(!machine.run(&["doctor"]).stdout.contains("each hook runs twice"), "{flags:?}");
    }
}

#[test]
fn the_backfill_shows_titles_of_what_was_learned() {
    let machine = with_transcript();
    let done = machine.json(&["init", "--yes", "--json"]);
    assert_eq!(done["learned"]["sessions"], 1, "{done:#}");
    let titles = done["titles"].as_array().unwrap();
    assert!((1..=3).contains(&titles.len()), "{done:#}");
    for one in titles {
        let shown = machine.ok(&["show", one["short"].as_str().unwrap()]);
        assert!(shown.contains(one["title"].as_str().unwrap()), "{shown}");
    }
    // The test has no embedding models, so no work continues in the background.
    assert_eq!(done["goes_on"], false, "{done:#}");
}

#[test]
fn embedding_is_left_to_the_background() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/assets");
    let machine = with_transcript().with("THROUGHLINE_MODELS", models.to_str().unwrap());
    let started = machine.path("started");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != --version ] || exec echo throughline-processor {}\necho \"$@\" > {}.new\nmv {}.new {}\n",
        env!("CARGO_PKG_VERSION"),
        started.display(),
        started.display(),
        started.display(),
    );
    machine.program("throughline-processor", &script);
    let done = machine.json(&["init", "--yes", "--json"]);
    assert_eq!(done["learned"]["embedded"], 0, "{done:#}");
    assert_eq!(done["learned"]["embedding_waits"], true, "{done:#}");
    assert_eq!(done["goes_on"], true, "{done:#}");
    // The new memories can be found by words immediately.
    assert!(machine.ok(&["search", "floats money"]).to_lowercase().contains("floats"));
    while !started.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let project = done["project"].as_str().unwrap();
    assert_eq!(machine.read("started"), format!("sync --project {project} --background\n"));
}

#[test]
fn the_last_lines_fit_the_screen_and_say_how_memories_live_together() {
    let machine = with_transcript();
    let shown = strip(&machine.on_screen(&["init", "--yes"], 80));
    let (_, last) = shown.split_once("Read 1 session").unwrap();
    assert!(last.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for said in ["CLAUDE.md", "auto memory", "Next: work as usual."] {
        assert!(shown.contains(said), "{shown}");
    }
    let again = machine.ok(&["init", "--yes"]);
    assert!(!again.contains("auto memory") && again.contains("Next: "), "{again}");
}

/// Installs the plugin in Claude Code's files, in the format of Claude Code 2.1.330.
fn install_plugin(machine: &Machine, settings: &str, is_on: bool, list: &Value) {
    let name = "throughline@throughline";
    machine.write(settings, &format!("{}\n", json!({"enabledPlugins": {name: is_on}})));
    machine.write(
        "home/.claude/plugins/installed_plugins.json",
        &json!({"version": 2, "plugins": {name: list}}).to_string(),
    );
    std::fs::create_dir_all(machine.path("home/.claude/plugins/cache/throughline")).unwrap();
    // Folders searched by the plugin's launcher.
    for program in
        ["session-start", "user-prompt-submit", "pre-tool-use", "post-tool-use", "stop", "mcp"]
    {
        let name = format!("throughline-{program}");
        let link = machine.path("home/.local/bin").join(&name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        drop(std::fs::remove_file(&link));
        std::os::unix::fs::symlink(machine.path("bin").join(&name), link).unwrap();
    }
}

fn for_user(machine: &Machine) -> Value {
    json!([{"scope": "user", "installPath": machine.path("home/.claude/plugins/cache/throughline")}])
}

#[test]
fn with_the_plugin_nothing_is_registered_and_nothing_is_missing() {
    let machine = Machine::new();
    install_plugin(&machine, SETTINGS, true, &for_user(&machine));
    let before = files(&machine.path("home"));
    let said = machine.ok(&["init", "--yes"]);
    assert!(said.contains("hooks       by the plugin throughline@throughline"), "{said}");
    assert_eq!(files(&machine.path("home")), before);
    let doctor = machine.run(&["doctor"]);
    for good in
        ["ok    hooks        by the plugin", "ok    MCP server   by the plugin", "ok    plugin"]
    {
        assert!(doctor.stdout.contains(good), "{good}\n{}", doctor.whole());
    }
    assert_eq!(doctor.code, 0, "{}", doctor.whole());
    for command in [&["status"][..], &[]] {
        assert!(!machine.ok(command).contains("throughline init"), "{command:?}");
    }
    let shown = machine.json(&["init", "--dry-run", "--json"]);
    assert_eq!(
        (&shown["plugin"], &shown["hooks"]),
        (&json!("throughline@throughline"), &json!(null))
    );
    // With the plugin, rules name the plugin's tools, and the skill is that of the plugin.
    let said = machine.ok(&["init", "--yes", "--with", "skill,rules"]);
    assert!(said.contains("skill       by the plugin"), "{said}");
    assert!(machine.read(SETTINGS).contains("mcp__plugin_throughline_throughline__recall"));
    // `uninstall` turns the plugin off; the client keeps the installation.
    machine.ok(&["uninstall"]);
    assert_eq!(machine.read(SETTINGS), "{}\n");
    install_plugin(&machine, SETTINGS, true, &for_user(&machine));
    assert_eq!(files(&machine.path("home")), before);
    // An option for the settings file takes precedence over the plugin.
    machine.ok(&["init", "--yes", "--settings", "user"]);
    let doctor = machine.run(&["doctor"]);
    assert!(doctor.stdout.contains("the plugin gives way to them"), "{}", doctor.whole());
    assert_eq!(doctor.code, 0, "{}", doctor.whole());
}

#[test]
fn a_plugin_that_is_off_or_not_installed_brings_nothing() {
    let local = "home/work/.claude/settings.local.json";
    let machine = Machine::new();
    install_plugin(&machine, SETTINGS, true, &for_user(&machine));
    machine
        .write(local, &json!({"enabledPlugins": {"throughline@throughline": false}}).to_string());
    machine.ok(&["init", "--yes", "--no-register"]);
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("bad   hooks        not registered"), "{doctor}");
    assert!(machine.ok(&["status"]).contains("The hooks are not registered"));

    // The plugin is on, but its installation belongs to another project, or its files are missing.
    let elsewhere = json!([{"scope": "project", "projectPath": "/elsewhere", "installPath": machine.path("home")}]);
    let gone = json!([{"scope": "user", "installPath": "/gone"}]);
    std::fs::remove_file(machine.path(local)).unwrap();
    for list in [elsewhere, gone, json!([])] {
        install_plugin(&machine, SETTINGS, true, &list);
        let doctor = machine.run(&["doctor"]).stdout;
        assert!(doctor.contains("but Claude Code has not installed it"), "{doctor}");
        assert!(doctor.contains("claude plugin install throughline@throughline"), "{doctor}");
    }
    let here = json!([{"scope": "local", "projectPath": machine.work(), "installPath": machine.path("home")}]);
    install_plugin(&machine, local, true, &here);
    assert!(machine.run(&["doctor"]).stdout.contains("ok    hooks        by the plugin"));
    // The plugin's launcher does not find one of the programs.
    std::fs::remove_file(machine.path("home/.local/bin/throughline-stop")).unwrap();
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("is silent: it does not find throughline-stop"), "{doctor}");
}
