//! Tests of the promises in SECURITY.md about this machine: private files stay private, the network is not used, no
//! secret is stored, and names that strangers chose do no harm.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use journeys::environment::{TestEnvironment, printed};
use journeys::hook_run::Moment;
use journeys::sample_project::Sample;
use journeys::story::transcript_path;
use serde_json::json;

/// Returns all files and folders below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

fn moments(sample: &Sample, words: &str) -> [Moment; 6] {
    [
        Moment::start("startup"),
        Moment::prompt(words),
        Moment::read(&sample.root.join("src/times.rs")),
        Moment::failure("cargo test", &format!("error: {words}")),
        Moment::stop(),
        Moment::end(),
    ]
}

#[test]
fn what_is_private_is_for_its_owner_alone() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    for moment in moments(&sample, "Should the archive import insert from several threads?") {
        moment.run(&sample.environment, &sample.root, "s1").unwrap();
    }
    sample.environment.wait_until_quiet();
    sample.run(&["add", "Ask before the archive is deleted", "--user"]).unwrap();
    let environment = &sample.environment;
    let mut seen = 0;
    for root in [environment.data_dir(), environment.state_dir()] {
        for path in [root.clone()].into_iter().chain(below(&root)) {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o777;
            let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, wanted, "{}: {mode:o}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} files and folders");
}

#[test]
fn a_private_folder_that_was_open_to_others_is_closed() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    let environment = &sample.environment;
    let outer = [environment.data_dir(), environment.state_dir()];
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let opened = |folders: &[PathBuf]| {
        for folder in folders {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        }
    };
    opened(&outer);
    Moment::stop().run(environment, &sample.root, "s1").unwrap();
    environment.wait_until_quiet();
    assert_eq!(outer.each_ref().map(|folder| mode(folder)), [0o700; 2], "by a hook");
    opened(&outer);
    sample.run(&["list"]).unwrap();
    assert_eq!(outer.each_ref().map(|folder| mode(folder)), [0o700; 2], "by a command");
    let mut server = environment.command(environment.binary("throughline-mcp"));
    opened(&outer);
    fed(server.current_dir(&sample.root).env("THROUGHLINE", "full"), "");
    assert_eq!(outer.each_ref().map(|folder| mode(folder)), [0o700; 2], "by the server");
    // A sync has enough time to check all of them.
    let inner = outer.iter().flat_map(|folder| below(folder)).filter(|path| path.is_dir());
    let all: Vec<PathBuf> = inner.chain(outer.clone()).collect();
    assert!(all.len() > 8, "{all:?}");
    opened(&all);
    sample.sync().unwrap();
    for folder in &all {
        assert!(!folder.exists() || mode(folder) == 0o700, "{}", folder.display());
    }
}

/// Makes the kernel kill the process, and each of its child processes, when it opens a non-local socket.
#[cfg(all(target_os = "linux", target_endian = "little"))]
fn deny_network(command: &mut Command) {
    const LOAD: u16 = 0x20;
    const EQUALS: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ARGUMENT: u32 = 16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let denied = u32::try_from(libc::SYS_socket).unwrap();
    let local = u32::try_from(libc::AF_UNIX).unwrap();
    let filter = [
        step(LOAD, 0, 0, 0),
        step(EQUALS, 0, 3, denied),
        step(LOAD, 0, 0, ARGUMENT),
        step(EQUALS, 1, 0, local),
        step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let deny = move || {
        let program =
            libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: prctl(2) reads the filter, which is valid during the call; nothing is allocated.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
        };
        if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure only calls prctl(2), which is permitted between fork and exec.
    unsafe { command.pre_exec(deny) };
}

#[test]
#[cfg(all(target_os = "linux", target_endian = "little"))]
fn no_program_opens_a_network_socket() {
    let sample = Sample::with_history().unwrap();
    let environment = &sample.environment;
    let mut asks = environment.command("bash");
    deny_network(asks.args(["-c", "exec 3<>/dev/tcp/127.0.0.1/9"]));
    assert!(printed(&mut asks).unwrap_err().to_string().contains("signal"), "the filter works");

    // No model is configured, since the stand-in for a model is reached over a socket.
    fs::remove_file(environment.home().join(".config/throughline/config.toml")).unwrap();
    // Of all commands, only `status` and `doctor` check for a language model on this machine.
    let throughline = environment.binary("throughline");
    for arguments in [
        &["sync"][..],
        &["search", "archive import"],
        &["add", "The archive is imported in one transaction"],
        &["list"],
        &["why"],
        &["pack"],
        &["doctor", "--secrets"],
        &["projects"],
        &["sync", "--rebuild"],
    ] {
        let mut command = environment.command(&throughline);
        deny_network(command.current_dir(&sample.root).env("THROUGHLINE", "full").args(arguments));
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.code().is_some(), "{arguments:?}: {output:?}");
    }
    for moment in moments(&sample, "Should the archive import insert from several threads?") {
        let payload = moment.payload(environment, &sample.root, "s1").to_string();
        let mut command = environment.command(environment.binary(moment.program()));
        deny_network(command.env("THROUGHLINE", "full"));
        let output = fed(&mut command, &payload);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    // Processes that hooks start have the filter too.
    assert_eq!(environment.wait_until_quiet(), Vec::<String>::new());

    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let recall = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "recall", "arguments": {"query": "archive import"},
    }});
    let mut command = environment.command(environment.binary("throughline-mcp"));
    deny_network(command.current_dir(&sample.root).env("THROUGHLINE", "full"));
    let output = fed(&mut command, &format!("{initialize}\n{ready}\n{recall}\n"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("\"id\":1") && output.status.code().is_some(), "{output:?}");
}

fn fed(command: &mut Command, input: &str) -> std::process::Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An error is ignored, since a program may stop reading early.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

/// Returns the content of a file, unpacked if it is compressed with gzip.
fn content(environment: &TestEnvironment, path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let unpacked = environment.command("gzip").args(["-dc"]).arg(path).output().unwrap();
    assert!(unpacked.status.success(), "{}: {unpacked:?}", path.display());
    unpacked.stdout
}

#[test]
fn no_secret_reaches_a_file_of_ours() {
    let sample = Sample::with_history().unwrap();
    let environment = &sample.environment;
    // The tokens are invented, and assembled here so that scanners do not report this file.
    let token = |n: u32| format!("gh{}_{}{n:04}", "p", "a8Kd93LmQz72NfXw01PvRtYc54HsBe6GjU12");
    let record = |uuid: &str, kind: &str, content: serde_json::Value| {
        json!({
            "type": kind, "uuid": uuid, "parentUuid": null, "sessionId": "leaky",
            "timestamp": "2026-10-01T10:00:00Z", "cwd": sample.root, "version": "2.1.330",
            "isSidechain": false, "userType": "external", "gitBranch": "main",
            "message": {"role": kind, "id": format!("m{uuid}"), "model": "m", "content": content},
        })
        .to_string()
    };
    let lines = [
        record(
            "u1",
            "user",
            json!(format!(
                "From now on always use **{}**{} as the token, never another one.",
                &token(1)[..8],
                &token(1)[8..]
            )),
        ),
        record(
            "a1",
            "assistant",
            json!([{"type": "thinking", "signature": "",
            "thinking": format!("The token is {}.", token(2))}]),
        ),
        record(
            "a2",
            "assistant",
            json!([{"type": "tool_use", "id": "toolu_9", "name": "Bash",
            "input": {"command": format!("curl -H 'X: {}' host", token(3)), "description": "Ask"}}]),
        ),
        record(
            "u2",
            "user",
            json!([{"type": "tool_result", "tool_use_id": "toolu_9",
            "content": format!("error: {} was refused\npassword is hunter2hunter2", token(4)),
            "is_error": true}]),
        ),
        record(
            "a3",
            "assistant",
            json!([{"type": "text", "text": format!(
            "We decided to keep the archive token {} because it works. The remote is \
             https://me:{}@host.example.org/a.git", token(5), token(6))}]),
        ),
    ];
    let path = transcript_path(&environment.claude_dir(), &sample.root, "leaky");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    sample.sync().unwrap();
    // The file is written as if by a teammate or with an editor.
    let planted = format!(
        "---\nid: 01k6h8m3v0c9f4t2r7x5n1b6qd\nkind: fact\n---\n# Archive token\n\nIt is {}.\n",
        token(7)
    );
    fs::write(sample.memories_dir().join("archive-token.md"), planted).unwrap();
    sample.sync().unwrap();
    let mut printed = String::new();
    for words in ["What is the archive token?", &format!("Is {} still good?", token(8))] {
        for moment in moments(&sample, words) {
            let run = moment.run(environment, &sample.root, "leaky").unwrap();
            printed += &String::from_utf8_lossy(&run.output.stdout);
        }
        environment.wait_until_quiet();
    }
    sample.sync().unwrap();
    let mut secrets: Vec<String> = (1..=8).map(token).collect();
    secrets.push("hunter2hunter2".to_owned());
    let mut files = below(&environment.data_dir());
    files.extend(below(&environment.state_dir()));
    files.extend(below(&sample.memories_dir()));
    files.retain(|path| path.is_file() && !path.ends_with("archive-token.md"));
    assert!(files.len() > 20, "{files:#?}");
    for secret in &secrets {
        assert!(!printed.contains(secret.as_str()), "{printed}");
        for file in &files {
            let content = content(environment, file);
            let found = content.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.display());
        }
    }
}

#[test]
fn names_chosen_by_strangers_are_refused_and_reported() {
    let sample = Sample::without_history().unwrap();
    let memory = |id: &str| {
        format!("---\nid: 01k6h8m3v0c9f4t2r7x5n1b6{id}\nkind: fact\n---\n# T {id}\n\nB.\n")
    };
    let folder = sample.memories_dir();
    fs::create_dir_all(folder.join("sub. ")).unwrap();
    let names =
        ["nul.md", "a\u{202e}b.md", "a\u{7}.md", "sub. /x.md", "b\\c.md", "twin.md", "TWIN.md"];
    for (name, id) in names.iter().zip(["q1", "q2", "q3", "q4", "q5", "q6", "q7"]) {
        fs::write(folder.join(name), memory(id)).unwrap();
    }
    fs::write(folder.join("fine.md"), memory("q8")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.md")).unwrap();
    let pipe = std::ffi::CString::new(folder.join("pipe.md").to_str().unwrap()).unwrap();
    // SAFETY: the name is a valid C string.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    fs::write(folder.join("huge.md"), vec![b'x'; 8 << 20]).unwrap();

    sample.sync().unwrap();
    let list = sample.run(&["list"]).unwrap();
    assert!(list.contains("T q8"), "{list}");
    assert_eq!(["T q6", "T q7"].iter().filter(|twin| list.contains(**twin)).count(), 1, "{list}");
    for id in ["q1", "q2", "q3", "q4", "q5"] {
        assert!(!list.contains(&format!("T {id}")), "{list}");
    }
    let doctor = sample
        .environment
        .command(sample.environment.binary("throughline"))
        .current_dir(&sample.root)
        .env("THROUGHLINE", "full")
        .arg("doctor")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout);
    for name in ["nul.md", "link.md", "pipe.md", "huge.md"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    assert!(!told.contains(['\u{202e}', '\u{7}']), "{told:?}");
    for moment in moments(&sample, "T q1") {
        let run = moment.run(&sample.environment, &sample.root, "s1").unwrap();
        assert_eq!(run.output.status.code(), Some(0));
    }
}

#[test]
fn each_promise_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let table = fs::read_to_string(root.join("tests/promises.md")).unwrap();
    let mut proven = BTreeSet::new();
    let mut named = 0;
    for row in table.lines().filter(|line| line.starts_with("| ") && line.contains(".rs::")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, promise, test, _] = cells.as_slice() else { panic!("{row}") };
        let (file, test) = test.trim_matches('`').split_once(".rs::").unwrap();
        let source = fs::read_to_string(root.join(format!("{file}.rs")))
            .unwrap_or_else(|error| panic!("{file}.rs: {error}"));
        assert!(source.contains(&format!("fn {test}(")), "{file}.rs has no test {test}");
        proven.insert((*promise).to_owned());
        named += 1;
    }
    assert!(named >= 150, "{named} tests are named");
    let text = fs::read_to_string(root.join("SECURITY.md")).unwrap();
    let numbered = text.lines().filter_map(|line| Some(line.split_once(". **")?.0));
    let promises: BTreeSet<String> = numbered.map(str::to_owned).collect();
    assert_eq!(promises, proven, "promises of SECURITY.md and those that have tests");
}
