use std::fs;

use super::*;

/// Writes the files of a process into a folder like `/proc`.
fn process(folder: &Path, pid: u32, parent: u32, program: &str, rest: (&[&str], &[&str])) {
    let folder = folder.join(pid.to_string());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("stat"), format!("{pid} (a (b) c) S {parent} 1 1 0 -1")).unwrap();
    std::os::unix::fs::symlink(program, folder.join("exe")).unwrap();
    fs::write(folder.join("cmdline"), rest.0.join("\0")).unwrap();
    fs::write(folder.join("environ"), rest.1.join("\0")).unwrap();
}

fn caller(above: &[(&str, &[&str], &[&str])], is_marked: bool) -> Caller {
    let folder = tempfile::tempdir().unwrap();
    for (pid, (program, arguments, environment)) in (0..).map(|n| 99 - n).zip(above) {
        process(folder.path(), pid, pid - 1, program, (arguments, environment));
    }
    Caller::of(99, is_marked, &Processes::Folder(folder.path().to_owned()))
}

#[test]
fn a_command_below_the_client_is_claudes_whatever_its_environment() {
    let shell: (&str, &[&str], &[&str]) = ("/usr/bin/bash", &["/bin/bash", "-c", "x"], &[]);
    let marked: (&str, &[&str], &[&str]) = (shell.0, shell.1, &["A=1", "CLAUDECODE=1"]);
    let clients: [(&str, &[&str]); 6] = [
        ("/opt/x/claude", &["claude"]),
        ("/home/a/.local/share/claude/versions/2.1.330", &["claude", "--resume"]),
        ("/home/a/.local/share/claude/versions/2.1.330 (deleted)", &["x"]),
        ("/usr/bin/node", &["claude"]),
        ("/usr/bin/node", &["node", "--x", "/l/@anthropic-ai/claude-code/cli.js", "-p"]),
        ("/usr/bin/node", &["node", "/m/@anthropic-ai/claude-agent-sdk/cli.mjs"]),
    ];
    for (program, arguments) in clients {
        let client: (&str, &[&str], &[&str]) = (program, arguments, &[]);
        for is_marked in [false, true] {
            assert_eq!(caller(&[shell, client], is_marked), Caller::Claude, "{program}");
            assert_eq!(caller(&[shell, marked, client, shell], is_marked), Caller::Claude);
        }
    }
    assert_eq!(caller(&[shell, marked, shell], false), Caller::Claude);
    assert_eq!(caller(&[shell], true), Caller::Claude);
    for (program, arguments) in [
        ("/usr/bin/bash", vec!["/bin/bash", "/home/a/bin/claude"]),
        ("/usr/bin/vim", vec!["vim", "/src/claude-code/cli.js.md"]),
        ("/usr/bin/claude-desktop-x", vec!["claude-desktop-x"]),
    ] {
        let other: (&str, &[&str], &[&str]) = (program, &arguments, &["CLAUDE_CODE_USE_BEDROCK=1"]);
        assert_eq!(caller(&[shell, other], false), Caller::Person, "{program}");
    }
}

#[test]
fn a_circle_of_processes_or_none_ends() {
    let folder = tempfile::tempdir().unwrap();
    let processes = Processes::Folder(folder.path().to_owned());
    assert_eq!(Caller::of(100, false, &processes), Caller::Person);
    process(folder.path(), 100, 99, "/usr/bin/sh", (&[], &[]));
    process(folder.path(), 99, 100, "/usr/bin/sh", (&[], &[]));
    assert_eq!(Caller::of(100, false, &processes), Caller::Person);
    assert_eq!(Caller::of(100, true, &processes), Caller::Claude);
}

#[test]
fn lines_of_ps_are_read() {
    let of = |line: &str| {
        ps::process(line).map(|(pid, it)| (pid, it.parent, it.is_client, it.is_marked))
    };
    assert_eq!(of("  501   1 /sbin/launchd"), Some((501, 1, false, false)));
    assert_eq!(of("77 501 claude --resume HOME=/Users/a"), Some((77, 501, true, false)));
    assert_eq!(of("78 77 /bin/zsh -c ls HOME=/Users/a CLAUDECODE=1"), Some((78, 77, false, true)));
    assert_eq!(of("not a line"), None);
}
