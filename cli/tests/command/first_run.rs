//! The first run: a plan on one screen, at most three questions, a backfill with a first glance, lines for packages, and
//! the plugin of Claude Code.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Machine, files, strip};
use crate::styles::STYLES;

const TRANSCRIPT: &str =
    "home/.claude/projects/-home-work/11111111-1111-4111-8111-111111111111.jsonl";
const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const SETTINGS: &str = "home/.claude/settings.json";
const ESCAPE: &str = "\x1b";
const DOWN: &str = "\x1b[B";
const ENTER: &str = "\r";

fn with_transcript() -> Machine {
    let machine = Machine::new();
    machine.transcript(TRANSCRIPT, SESSION, "2026-10-01");
    machine
}

/// As above, with a Claude Code that could read sessions.
fn with_client() -> Machine {
    let machine = with_transcript();
    machine.write("home/.local/bin/claude", "#!/bin/sh\nexit 1\n");
    executable(&machine.path("home/.local/bin/claude"));
    machine
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// All files of the user, and which of our own folders are there.
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
    machine.write("home/work/Dockerfile", "FROM scratch\n");
    machine.write("home/work/package.json", "{}\n");
    machine.write("home/work/Cargo.toml", "[package]\nname = \"a\"\n");
    let before = everything(&machine);
    let said = machine.ok(&["init", "--dry-run", "--yes"]);
    let (found, plan) = said.split_once("  memories").unwrap();
    let of_today = "  found       1 session of this project (0.0 MiB)\n";
    assert!(found.starts_with(&format!("Throughline for ~/work\n{of_today}")), "{found}");
    insta::assert_snapshot!(plan, @r#"
        ~/work/.throughline; nothing is committed for you
      hooks       for 8 events, in ~/.claude/settings.json; a copy is kept beside it
      MCP server  in ~/.claude.json
      read by     no model (`throughline config llm` chooses one)
      then        these sessions are read, the newest first
      undo        `throughline uninstall` takes it out again
      packages    npm packages, Docker images and crates made here would contain the memories;
                  one line more in each of these files leaves them out:
        .throughline/.npmignore  *
        .dockerignore            .throughline
        Cargo.toml               exclude = ["/.throughline/"]
                  `--no-ignore-lines` leaves these files as they are
    Nothing was written yet.
    "#);
    let shown = strip(&machine.on_screen(&["init", "--dry-run"], 80));
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let plan = machine.json(&["init", "--dry-run", "--private", "--llm", "rules", "--json"]);
    assert_eq!(plan["memories"], "private", "{plan:#}");
    assert_eq!(plan["sessions"], 1, "{plan:#}");
    assert_eq!(plan["hooks"], "/home/.claude/settings.json");
    assert_eq!(plan["ignore_lines"], json!([]));
    assert_eq!(everything(&machine), before);
}

#[test]
fn three_questions_are_asked_before_anything_is_written() {
    let machine = with_client();
    let before = everything(&machine);
    let unwritten = || assert_eq!(everything(&machine), before);
    let answers = [
        ("1 session of this project", ""),
        ("Nothing was written yet", ""),
        ("Sessions are read by", ""),
        ("No model", ENTER),
        ("Private: into your data", ENTER),
        ("which you commit", ENTER),
    ];
    let shown = strip(&machine.at_terminal_while(&["init"], &answers, &unwritten));
    assert!(shown.contains("1 session: ") && shown.contains("`throughline review`"), "{shown}");
    assert!(shown.contains("is set up"), "{shown}");
    assert!(machine.read(SETTINGS).contains("throughline-stop"));
    // They are asked once.
    let again = strip(&machine.at_terminal(&["init", "--llm", "rules"], &[]));
    assert!(!again.contains('?') && again.contains("is set up"), "{again}");
}

#[test]
fn whoever_leaves_a_question_has_set_up_nothing() {
    for (stays, leaves) in [
        (&[][..], "Sessions are read by"),
        (&[("No model", ENTER)], "Private: into your data"),
        (&[("No model", ENTER), ("Private: into your data", ENTER)], "which you commit"),
    ] {
        let machine = with_client();
        let before = everything(&machine);
        let answers: Vec<_> = stays.iter().copied().chain([(leaves, ESCAPE)]).collect();
        let (code, shown) = machine.declined_at_terminal(&["init"], &answers);
        assert_eq!(code, Some(1), "{shown}");
        assert!(shown.contains("nothing was set up"), "{shown}");
        assert_eq!(everything(&machine), before, "{shown}");
    }
}

#[test]
fn sessions_that_are_too_old_to_be_kept_are_asked_about() {
    let flags = ["init", "--private", "--settings", "user", "--llm", "rules", "--earlier", "take"];
    let question = "Keep their turns";
    for (answer, kept) in [(("", ""), 1), ((question, "n"), 0), ((question, "y"), 1)] {
        let machine = with_client();
        machine.transcript(TRANSCRIPT, SESSION, "2024-03-01");
        let keeps_all = answer.0.is_empty();
        let shown = match keeps_all {
            true => machine.at_terminal(&[&flags[..], &["--keep-all"]].concat(), &[]),
            false => machine.at_terminal(&flags, &[answer]),
        };
        let shown = strip(&shown);
        assert_eq!(shown.contains(question), !keeps_all, "{shown}");
        assert!(shown.contains("1 session is older than 365 days (`retention_days`)"), "{shown}");
        assert_eq!(shown.contains("Turns of 1 session were removed"), kept == 0, "{shown}");
        for _ in 0..2 {
            machine.ok(&["sync"]);
            let turns = machine.run(&["search", "--turns", "--json", "f64"]).stdout;
            let turns: Value = serde_json::from_str(&turns).unwrap_or_default();
            assert_eq!(turns.to_string().contains("2024-03-01"), kept == 1, "{turns:#}");
        }
    }
}

#[test]
fn who_reads_sessions_is_a_question_with_a_flag() {
    let machine = with_client();
    let flags = ["init", "--private", "--settings", "user", "--no-sync"];
    let asked = ("Sessions are read by", "");
    let shown = machine.at_terminal(&flags, &[asked, ("No model", ENTER)]);
    assert!(shown.contains("read by     no model"), "{shown}");
    assert!(!machine.ok(&["config"]).contains("haiku"));
    let machine = with_client();
    let shown = machine.at_terminal(&flags, &[asked, ("No model", "\x1b[A\r")]);
    assert!(shown.contains("read by     Claude Code (haiku)"), "{shown}");
    assert!(machine.ok(&["config"]).contains("haiku"));
    // Where no model can be had, nobody is asked.
    let machine = with_transcript();
    let shown = machine.at_terminal(&flags, &[]);
    assert!(shown.contains("read by     no model"), "{shown}");
    // A reader that cannot be had is told before anything is written.
    let machine = with_transcript();
    let before = everything(&machine);
    let said = machine.run(&["init", "--yes", "--llm", "claude"]);
    assert!(said.code == 1 && said.stdout.is_empty(), "{}", said.whole());
    assert_eq!(everything(&machine), before);
}

#[test]
fn where_memories_are_kept_is_a_question_with_flags() {
    let project = |flags: &[&str], keys: &str| {
        let machine = with_transcript();
        let fixed = ["init", "--llm", "rules", "--settings", "user"];
        let args: Vec<&str> = fixed.iter().chain(flags).copied().collect();
        let answers = [("Private: into your data", keys)];
        machine.at_terminal(&args, if keys.is_empty() { &[] } else { &answers });
        let status = machine.json(&["status", "--json"]);
        let waiting = status["waiting_for_review"].as_u64().unwrap() > 0;
        (status["mode"].as_str().unwrap().to_owned(), waiting)
    };
    for (flag, keys, mode, waits) in [
        // Wishes wait wherever memories are kept.
        ("--committed", ENTER.to_owned(), "committed", true),
        ("--drafts", format!("{DOWN}{ENTER}"), "committed", true),
        ("--private", format!("{DOWN}{DOWN}{ENTER}"), "private", true),
    ] {
        assert_eq!(project(&[flag], ""), (mode.to_owned(), waits), "{flag}");
        assert_eq!(project(&[], &keys), (mode.to_owned(), waits), "{flag}");
    }
}

#[test]
fn whom_the_hooks_are_for_is_a_question_with_a_flag() {
    for (scope, keys, below) in [
        ("user", ENTER.to_owned(), SETTINGS),
        ("local", format!("{DOWN}{ENTER}"), "home/work/.claude/settings.local.json"),
        ("project", format!("{DOWN}{DOWN}{ENTER}"), "home/work/.claude/settings.json"),
    ] {
        let fixed = ["init", "--llm", "rules", "--private", "--no-sync"];
        let machine = Machine::new();
        machine.at_terminal(&fixed, &[("which you commit", &keys)]);
        assert!(machine.read(below).contains("throughline-stop"), "{scope}");
        // Setting it up again leaves them there.
        machine.ok(&["init", "--yes", "--no-sync"]);
        assert!(!machine.run(&["doctor"]).stdout.contains("each hook runs twice"), "{scope}");
        let machine = Machine::new();
        machine.at_terminal(&[&fixed[..], &["--settings", scope]].concat(), &[]);
        assert!(machine.read(below).contains("throughline-stop"), "{scope}");
    }
}

#[test]
fn the_first_glance_counts_and_shows_the_best() {
    let machine = with_transcript();
    let done = machine.json(&["init", "--yes", "--json"]);
    let glance = &done["glance"];
    assert_eq!(glance["sessions"], 1, "{done:#}");
    let listed = machine.json(&["list", "--json"]);
    let counted = ["worth", "fixes", "commands", "more"].map(|name| glance[name].as_u64().unwrap());
    assert_eq!(counted.iter().sum::<u64>(), listed.as_array().unwrap().len() as u64, "{done:#}");
    let best = glance["best"].as_array().unwrap();
    assert!((1..=3).contains(&best.len()), "{done:#}");
    assert!(
        best.iter().all(|one| !machine.ok(&["show", one["short"].as_str().unwrap()]).is_empty())
    );
    // Embedding has no models here, so that nothing is left to do.
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
    // Words find it at once.
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
    let (_, last) = shown.split_once("1 session: ").unwrap();
    assert!(last.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for said in ["CLAUDE.md", "auto memory", "Next: work as usual."] {
        assert!(shown.contains(said), "{shown}");
    }
    let again = machine.ok(&["init", "--yes"]);
    assert!(!again.contains("auto memory") && again.contains("Next: "), "{again}");
}

/// Files of packages, each lacking its line.
const PACKAGES: [(&str, &str); 5] = [
    ("home/work/package.json", "{\"name\": \"a\"}\n"),
    ("home/work/Dockerfile", "FROM scratch\nCOPY . .\n"),
    ("home/work/.dockerignore", "target\r\nbuild"),
    (
        "home/work/Cargo.toml",
        "[package]\nname = \"a\"\nexclude = [\n    \"a\",\n]\n\n[dependencies]\n",
    ),
    ("home/work/.gitignore", "target\n"),
];

#[test]
fn lines_for_packages_are_part_of_the_plan_and_taken_out() {
    let machine = Machine::new();
    for (file, text) in PACKAGES {
        machine.write(file, text);
    }
    let before = files(&machine.path("home"));
    machine.ok(&["init", "--yes", "--no-register", "--no-ignore-lines"]);
    let flags = ["init", "--no-register", "--no-sync"];
    let said = strip(&machine.at_terminal(&flags, &[("these lines", "n")]));
    for line in [
        "npm packages, Docker images and crates made here would contain the memories;",
        "you are asked before they are added",
        ".throughline/.npmignore  *",
        ".dockerignore            .throughline",
        "Cargo.toml               exclude = [\"/.throughline/\"]",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert_eq!(files(&machine.path("home")), before, "nothing is written unasked");
    let both = ["init", "--yes", "--with", "ignore-lines", "--no-ignore-lines"];
    assert_eq!(machine.run(&both).code, 2);
    let set_up = machine.json(&["init", "--yes", "--no-register", "--json"]);
    assert_eq!(set_up["ignore_lines"].as_array().unwrap().len(), 3, "{set_up:#}");
    // A line that somebody deletes stays deleted, until it is asked for by name.
    machine.write("home/work/.dockerignore", "target\r\nbuild\r\n");
    machine.ok(&["init", "--yes", "--no-register"]);
    assert_eq!(machine.read("home/work/.dockerignore"), "target\r\nbuild\r\n");
    machine.write("home/work/.dockerignore", "target\r\nbuild");
    for _ in 0..2 {
        let said = machine.ok(&["init", "--yes", "--no-register", "--with", "ignore-lines"]);
        assert!(said.contains("ignore line"), "{said}");
    }
    let would = machine.ok(&["uninstall", "--dry-run"]);
    assert_eq!(would.matches("ignore line out of /home/work/Cargo.toml").count(), 1, "{would}");
    // One that was deleted and added again is noted twice.
    assert_eq!(would.matches("ignore line out of /home/work/.dockerignore").count(), 1, "{would}");
    assert_eq!(machine.read("home/work/.dockerignore"), "target\r\nbuild\r\n.throughline\r\n");
    assert!(!machine.path("home/work/.throughline").exists(), "it comes with the first memory");
    machine.ok(&["add", "Bread is baked at night"]);
    assert_eq!(machine.read("home/work/.throughline/.npmignore"), "*\n");
    assert!(machine.read("home/work/Cargo.toml").contains("    \"/.throughline/\",\n]\n"));
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("ok    memories"), "{doctor}");
    // Somebody goes on with one of the files.
    let cargo = machine.read("home/work/Cargo.toml").replace("\"a\"\n", "\"b\"\n");
    machine.write("home/work/Cargo.toml", &cargo);
    machine.ok(&["uninstall"]);
    machine.write(
        "home/work/Cargo.toml",
        &machine.read("home/work/Cargo.toml").replace("\"b\"\n", "\"a\"\n"),
    );
    assert_eq!(files(&machine.path("home")), before);
    assert!(!machine.path("home/work/.throughline/.npmignore").exists());
    assert!(machine.path("home/work/.throughline").exists());
}

#[test]
fn lines_for_packages_come_with_an_answer_at_the_terminal() {
    let line = |flags: &[&str], answers: &[(&str, &str)]| {
        let machine = with_transcript();
        machine.write("home/work/Dockerfile", "FROM scratch\n");
        let fixed = ["init", "--llm", "rules", "--settings", "user", "--no-sync"];
        let args: Vec<&str> = fixed.iter().chain(flags).copied().collect();
        machine.at_terminal(&args, answers);
        machine.path("home/work/.dockerignore").exists()
    };
    let memories = "in the repository: with the lines above";
    assert!(line(&[], &[(memories, ""), ("Private: into your data", ENTER)]));
    let private = format!("{DOWN}{DOWN}{ENTER}");
    assert!(!line(&[], &[("Private: into your data", &private)]));
    let asked = "so that packages are made without memories";
    assert!(line(&["--committed"], &[(asked, "y")]));
    assert!(!line(&["--committed"], &[(asked, "n")]));
    assert!(!line(&["--committed", "--no-ignore-lines"], &[]));
}

#[test]
fn private_memories_need_no_lines() {
    let machine = Machine::new();
    machine.write("home/work/package.json", "{}\n");
    let said = machine.ok(&["init", "--yes", "--private", "--with", "ignore-lines"]);
    assert!(said.contains("none is needed") && !said.contains("npmignore"), "{said}");
    assert!(!machine.path("home/work/.throughline").exists());
}

/// Claude Code with the plugin, as 2.1.330 writes it down.
fn install_plugin(machine: &Machine, settings: &str, is_on: bool, list: &Value) {
    let name = "throughline@throughline";
    machine.write(settings, &format!("{}\n", json!({"enabledPlugins": {name: is_on}})));
    machine.write(
        "home/.claude/plugins/installed_plugins.json",
        &json!({"version": 2, "plugins": {name: list}}).to_string(),
    );
    std::fs::create_dir_all(machine.path("home/.claude/plugins/cache/throughline")).unwrap();
    // Where the plugin's launcher looks.
    for program in ["session-start", "user-prompt-submit", "post-tool-use", "stop", "mcp"] {
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
    // Rules name the plugin's tools, and its skill is there.
    let said = machine.ok(&["init", "--yes", "--with", "skill,rules"]);
    assert!(said.contains("skill       by the plugin"), "{said}");
    assert!(machine.read(SETTINGS).contains("mcp__plugin_throughline_throughline__recall"));
    // It is turned off with the rest; the client keeps what it installed.
    machine.ok(&["uninstall"]);
    assert_eq!(machine.read(SETTINGS), "{}\n");
    install_plugin(&machine, SETTINGS, true, &for_user(&machine));
    assert_eq!(files(&machine.path("home")), before);
    // An option that names the settings decides; the plugin gives way.
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

    // On, but the files are of another project, or gone.
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
    // Its launcher finds no program.
    std::fs::remove_file(machine.path("home/.local/bin/throughline-stop")).unwrap();
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("is silent: it does not find throughline-stop"), "{doctor}");
}
