//! Rows about messages: nothing ends in silence.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use super::lab::Lab;

super::rows! {
    early_exits_drain: "A hook ends early on two megabytes of input: off, silenced, in CI, in an unknown project, without a home"
        => "All input is read; the client never sees a closed pipe";
    launcher_drains: "The plugin's launcher finds no programs, or finds that they are registered"
        => "The same";
    untrusted_folder: "A session starts in a clone with a memory folder that is not trusted"
        => "One line, once: `throughline trust`";
}

/// Writes two megabytes to a program and returns how many it took.
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
