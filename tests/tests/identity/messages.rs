//! Rows of the matrix about messages: every failure is reported.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use super::lab::{LEARNED, Lab, Session};

super::rows! {
    early_exits_drain: "A hook exits early on two megabytes of input: off, paused, in CI, in an unknown project, without a home"
        => "All input is read, so the client never gets a closed pipe";
    launcher_drains: "The plugin's launcher finds no programs, or they are already registered"
        => "The same";
    untrusted_folder: "A session starts in a clone with a memory folder that is not trusted"
        => "One line is printed once: `throughline trust`";
    no_sessions: "A sync finds no session of the project"
        => "It prints the folders searched, their content, and the command that reads other transcripts; so do `init` and `doctor`";
    old_sessions: "Sessions are older than `retention_days` when `init`, or `sync --from`, reads them first"
        => "They are listed and their turns kept; a person is asked; turns that expire later are removed and counted";
    client_writes_its_file_back: "A running client writes its `.claude.json` back, without our server"
        => "`doctor` reports it, `init` registers it again, and other keys are preserved";
}

/// Writes two megabytes to a program, and returns how many bytes it has read.
fn taken(
    lab: &Lab,
    program: &std::path::Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> usize {
    let payload = json!({
        "session_id": "s", "cwd": lab.root, "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "x"}, "tool_response": {"stdout": "y".repeat(2 << 20)},
    })
    .to_string();
    let mut command = lab.environment.command(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null());
    for (name, value) in variables {
        match value.is_empty() {
            true => command.env_remove(name),
            false => command.env(name, value),
        };
    }
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut taken = 0;
    for piece in payload.as_bytes().chunks(4096) {
        match stdin.write_all(piece) {
            Ok(()) => taken += piece.len(),
            Err(_) => break,
        }
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    payload.len() - taken
}

fn early_exits_drain(lab: &Lab) {
    let hooks = [
        "throughline-post-tool-use",
        "throughline-pre-tool-use",
        "throughline-session-start",
        "throughline-stop",
        "throughline-user-prompt-submit",
    ];
    for hook in hooks {
        let program = lab.environment.binary(hook);
        for variables in [
            &[("THROUGHLINE", "off")][..],
            &[("THROUGHLINE", "read")],
            &[("CI", "true")],
            &[("THROUGHLINE", "full")],
            &[("HOME", "")],
            &[("CLAUDE_CODE_REMOTE", "true")],
        ] {
            assert_eq!(taken(lab, &program, &[], variables), 0, "{hook} with {variables:?}");
        }
    }
    lab.project();
    lab.run(&lab.root, &["off"]).ok();
    assert_eq!(taken(lab, &lab.environment.binary(hooks[0]), &[], &[("THROUGHLINE", "full")]), 0);
}

fn launcher_drains(lab: &Lab) {
    let launcher = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin/scripts/run");
    let arguments = |hook: &'static str| [launcher.to_str().unwrap().to_owned(), hook.to_owned()];
    let shell = std::path::Path::new("/bin/sh");
    for hook in ["throughline-post-tool-use", "throughline-session-start"] {
        let arguments = arguments(hook);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let bare = [("PATH", "/usr/bin:/bin")];
        assert_eq!(taken(lab, shell, &arguments, &bare), 0, "{hook}");
        let settings = lab.environment.claude_dir().join("settings.json");
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        fs::write(&settings, format!("{{\"command\": \"/x/{hook}\"}}")).unwrap();
        assert_eq!(taken(lab, shell, &arguments, &bare), 0, "{hook}, registered");
        fs::remove_file(settings).unwrap();
    }
}

fn untrusted_folder(lab: &Lab) {
    lab.project();
    lab.run(&lab.root, &["add", "--kind", "fact", "The staging host is called heron"]).ok();
    lab.git(&lab.root, &["add", "-A"]);
    lab.git(&lab.root, &["commit", "-qm", "memories"]);
    let clone = lab.at("clone");
    lab.git(&lab.at(""), &["clone", "-q", "w", "clone"]);
    let start = lab.start_as(&clone, "one");
    assert!(start.notice().contains("throughline trust"), "{:?}", start.output);
    assert_eq!(start.context(), "");
    assert_eq!(lab.start_as(&clone, "two").notice(), "");
}

fn no_sessions(lab: &Lab) {
    lab.project();
    let check = |words: &[&str]| {
        lab.run(&lab.root, &["sync"])
            .assert_contains(words)
            .assert_contains(&["throughline sync --from DIR"])
            .ok();
        lab.run(&lab.root, &["init", "--yes", "--no-register"]).assert_contains(words).ok();
        lab.run(&lab.root, &["doctor"]).assert_contains(words);
    };
    check(&["No folder ~/.claude/projects"]);
    let projects = lab.environment.claude_dir().join("projects");
    fs::create_dir_all(&projects).unwrap();
    check(&["No transcript in ~/.claude/projects yet"]);
    lab.session(1, &lab.at("elsewhere"));
    lab.session(2, &lab.at("elsewhere"));
    check(&[
        "2 transcripts in ~/.claude/projects, and none was recorded in this project's folders",
    ]);
    // A session of the project that contains nothing to learn from.
    let record = json!({"type": "system", "cwd": lab.root, "sessionId": "x", "uuid": "y"});
    fs::write(lab.file(3), format!("{record}\n")).unwrap();
    lab.run(&lab.root, &["sync"])
        .assert_contains(&["1 transcript of this project", "nothing to keep"])
        .ok();
    for command in ["timeline", "resume"] {
        lab.run(&lab.root, &[command]).assert_contains(&["`throughline sync` says where"]);
    }
    // If the project has a session, no explanation is printed.
    lab.session(4, &lab.root);
    let synced = lab.sync(&lab.root);
    assert!(!synced.contains("--from"), "{synced}");
}

fn old_sessions(lab: &Lab) {
    let old =
        |number, root: &std::path::Path| Session::new(number, root).begins("2024-03-01T10:00:00Z");
    let turns =
        |root: &std::path::Path| lab.run(root, &["search", "--turns", "make fixtures"]).text;
    fs::create_dir_all(&lab.root).unwrap();
    old(1, &lab.root).write(&lab.file(1));
    lab.session(2, &lab.root);
    let words = ["1 session is older than 365 days (`retention_days`)", "kept", "purge --before"];
    lab.run(&lab.root, &["init", "--yes", "--no-register"]).assert_contains(&words).ok();
    for _ in 0..2 {
        lab.sync(&lab.root);
        lab.run(&lab.root, &["status"]).assert_contains(&["2 sessions"]).ok();
        assert!(turns(&lab.root).contains("2024-03-01"), "{}", turns(&lab.root));
    }
    // The sessions are already kept, so they are not reported again.
    let again = lab.run(&lab.root, &["init", "--yes", "--no-register"]).ok();
    assert!(!again.contains("older than"), "{again}");
    // The next background sync reads these sessions too.
    let waiting = lab.at("waiting");
    lab.repository(&waiting);
    old(3, &waiting).write(&lab.file(3));
    lab.run(&waiting, &["init", "--yes", "--no-register", "--no-sync", "--earlier", "take"])
        .assert_contains(&words)
        .ok();
    lab.sync(&waiting);
    lab.run(&waiting, &["status"]).assert_contains(&["1 session"]).ok();
    // If the user requests to keep all sessions, nothing is reported.
    let asked = lab.at("asked");
    lab.repository(&asked);
    old(6, &asked).write(&lab.file(6));
    let asked_for = ["init", "--yes", "--no-register", "--earlier", "take", "--keep-all"];
    let kept = lab.run(&asked, &asked_for).ok();
    assert!(!kept.contains("older than"), "{kept}");
    lab.sync(&asked);
    lab.run(&asked, &["status"]).assert_contains(&["1 session"]).ok();
    // Sessions that the user imports explicitly are kept too.
    let handed = lab.at("handed");
    lab.repository(&handed);
    lab.init(&handed).ok();
    old(4, &handed).write(&lab.at("export").join("00000004-0000-4000-8000-000000000000.jsonl"));
    lab.run(&handed, &["sync", "--from", lab.at("export").to_str().unwrap()])
        .assert_contains(&words)
        .ok();
    lab.sync(&handed);
    lab.run(&handed, &["status"]).assert_contains(&["1 session"]).ok();
    // The sync removes and counts a session that is not marked as kept; its memories stay.
    let later = lab.at("later");
    lab.repository(&later);
    lab.init(&later).ok();
    old(5, &later).write(&lab.file(5));
    lab.run(&later, &["sync"]).assert_contains(&["Turns of 1 session were removed"]).ok();
    assert!(lab.list(&later).contains(LEARNED));
}

fn client_writes_its_file_back(lab: &Lab) {
    lab.repository(&lab.root);
    lab.run(&lab.root, &["init", "--yes", "--no-sync"]).ok();
    let file = lab.environment.home().join(".claude.json");
    assert!(fs::read_to_string(&file).unwrap().contains("throughline-mcp"));
    lab.run(&lab.root, &["doctor"]).assert_contains(&["MCP server   registered in"]);
    fs::write(&file, "{\"numStartups\":4}").unwrap();
    lab.run(&lab.root, &["doctor"])
        .assert_contains(&["MCP server   not registered", "throughline init"]);
    lab.run(&lab.root, &["init", "--yes", "--no-sync"]).ok();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"numStartups\":4") && text.contains("throughline-mcp"), "{text}");
    lab.run(&lab.root, &["doctor"]).assert_contains(&["MCP server   registered in"]);
}
