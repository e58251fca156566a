//! For any input and any state of the disk, a hook exits with 0 in time, and prints only JSON.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{
    BEFORE_TOOL, ERROR, HOOKS, PROMPT, SESSION_START, STOP, SearchMode, TOOL, World,
    in_each_search_mode, run,
};
use memory_store::fs::tree_fingerprint::{TreeFingerprint, UntrustedTree};
use serde_json::{Value, json};

in_each_search_mode! {
    a_damaged_index,
}

/// Returns the events for which each hook is registered, with a payload that requires work.
fn payloads(world: &World, session: &str) -> Vec<(&'static str, Vec<u8>)> {
    let file = world.root.join("src/rounding.rs");
    let read =
        json!({"tool_name": "Read", "tool_input": {"file_path": file}, "tool_response": "x"});
    let failed =
        json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": ERROR});
    let bash =
        json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "tool_response": {}});
    let prompt = json!({"prompt": "Where are invoices archived, in Postgres?"});
    vec![
        (SESSION_START, world.payload("SessionStart", session, json!({"source": "startup"}))),
        (PROMPT, world.payload("UserPromptSubmit", session, prompt)),
        (BEFORE_TOOL, world.payload("PreToolUse", session, bash.clone())),
        (TOOL, world.payload("PostToolUse", session, read)),
        (TOOL, world.payload("PostToolUse", session, bash)),
        (TOOL, world.payload("PostToolUseFailure", session, failed)),
        (SESSION_START, world.payload("SessionStart", session, json!({"source": "resume"}))),
        (SESSION_START, world.payload("SessionStart", session, json!({"source": "compact"}))),
        (STOP, world.payload("Stop", session, json!({"stop_hook_active": false}))),
        (STOP, world.payload("SubagentStop", session, json!({"agent_id": "a", "agent_type": "E"}))),
        (STOP, world.payload("PreCompact", session, json!({"trigger": "auto"}))),
        (STOP, world.payload("SessionEnd", session, json!({"reason": "other"}))),
    ]
}

/// Checks that a hook printed nothing or one JSON object.
#[track_caller]
fn check(said: &str) {
    if !said.is_empty() {
        let said: Value = serde_json::from_str(said).unwrap();
        assert!(said.is_object());
    }
}

#[test]
fn input_that_is_no_event_of_ours() {
    let world = World::with_memories();
    let unknown = world.payload("EventOfTheFuture", "s", json!({"prompt": "invoices"}));
    let half = world.payload("UserPromptSubmit", "s", json!({"prompt": "invoices in Postgres"}));
    let inputs: [&[u8]; 9] = [
        b"",
        b"\n",
        b"not json",
        b"{\"hook_event_name\":",
        b"[1,2,3]",
        b"{}",
        b"\xff\xfe\x00",
        &unknown,
        &half[..half.len() / 3],
    ];
    for hook in HOOKS {
        for input in inputs {
            world.run_silently(hook, input);
        }
    }
    assert_eq!(world.notes().len(), 0);
}

#[test]
fn an_event_of_another_hook_is_silence() {
    let world = World::with_memories();
    for (owner, payload) in payloads(&world, "s") {
        for hook in HOOKS.into_iter().filter(|hook| *hook != owner) {
            world.run_silently(hook, &payload);
        }
    }
    assert_eq!(world.notes().len(), 0);
}

#[test]
fn fifty_megabytes() {
    let world = World::with_memories();
    let long = "0123456789 abcdef\\n".repeat((50 << 20) / 19);
    for hook in HOOKS {
        let payloads = payloads(&world, "s");
        let payload = &payloads.iter().find(|(owner, _)| *owner == hook).unwrap().1;
        let payload = str::from_utf8(payload).unwrap();
        let after = format!("{},\"tool_response\":\"{long}\"}}", &payload[..payload.len() - 1]);
        check(&world.run(hook, after.as_bytes()).stdout());
        let before = format!("{{\"tool_response\":\"{long}\",{}", &payload[1..]);
        check(&world.run(hook, before.as_bytes()).stdout());
    }
    // The payload consists of numbers and brackets, which are scanned byte by byte.
    let dense = format!("{{\"tool_response\":[{}0]}}", "[1],".repeat((50 << 20) / 4));
    world.run_silently(TOOL, dense.as_bytes());
}

#[test]
fn a_long_response_does_not_hide_what_is_known() {
    let world = World::with_memories();
    let more = json!({
        "tool_response": {"type": "text", "file": {"content": "x".repeat(300 << 10)}},
        "tool_name": "Read",
        "tool_input": {"file_path": world.root.join("src/rounding.rs")},
    });
    let payload = world.payload("PostToolUse", "s", more);
    assert!(world.run(TOOL, &payload).stdout().contains("edits there are lost"));
}

#[test]
fn a_writer_that_never_ends() {
    let world = World::with_memories();
    for hook in HOOKS {
        let mut child = world.command(hook).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"{\"session_id\":\"s\",").unwrap();
        // The pipe stays open, so a hook that continues to read would never end.
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(0));
        drop(stdin);
    }
}

#[test]
fn a_reader_that_is_gone() {
    let world = World::with_memories();
    for (hook, payload) in payloads(&world, "s") {
        let mut child = world.command(hook).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(run(child, &payload).output.status.code(), Some(0), "{hook}");
    }
}

#[test]
fn a_file_that_may_not_grow() {
    let world = World::with_memories();
    for (hook, payload) in payloads(&world, "s") {
        let mut command = world.command("/bin/sh");
        command.args(["-c", "ulimit -f 0 && exec \"$0\"", hook]);
        check(&run(command.spawn().unwrap(), &payload).stdout());
    }
}

#[test]
fn what_was_claimed_is_printed_after_the_hard_limit_too() {
    let world = World::with_memories();
    world.start("s", "startup");
    // The receipt is written after the claim, and a pipe without a reader blocks it.
    let receipts = world.state().receipts("2026-10-02");
    fs::remove_file(&receipts).unwrap();
    assert!(Command::new("mkfifo").arg(&receipts).status().unwrap().success());
    let reader = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(600));
        fs::read(receipts).unwrap()
    });
    let ran = world.prompt("s", "Where are invoices archived, in Postgres?");
    let given = ran.context("UserPromptSubmit");
    let claimed = fs::read_to_string(world.state().session("s", None)).unwrap();
    assert!(given.contains("Invoices are archived in Postgres"), "{given}{claimed}");
    assert!(!reader.join().unwrap().is_empty());
}

#[test]
fn closed_standard_streams() {
    let world = World::with_memories();
    for (hook, payload) in payloads(&world, "s") {
        for close in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let mut shell = world.command("/bin/sh");
            shell.args(["-c", &format!("exec \"$0\" {close}"), hook]);
            let ran = run(shell.spawn().unwrap(), &payload);
            assert_eq!(ran.output.status.code(), Some(0), "{hook} {close}");
        }
    }
    assert_eq!(world.notes().len(), 0, "with a stream missing nothing is touched");
}

#[test]
fn a_missing_store_and_an_untrusted_one() {
    let missing = World::trusted();
    for (hook, payload) in payloads(&missing, "s") {
        assert_eq!(missing.run(hook, &payload).stdout(), "", "{hook}");
    }

    // The folder is not trusted, although it contains a store from a repository and even has an index.
    let untrusted = World::with_memories();
    fs::remove_file(untrusted.dirs.by_path(&untrusted.root)).unwrap();
    let root = untrusted.root.to_string_lossy().into_owned();
    let untrusted = untrusted.with("CLAUDE_PROJECT_DIR", &root);
    // The person is informed once how to trust the folder, and nothing of the store is printed.
    let mut told = Vec::new();
    for (hook, payload) in payloads(&untrusted, "s").into_iter().chain(payloads(&untrusted, "t")) {
        let ran = untrusted.run(hook, &payload);
        assert!(!ran.stdout().contains("hookSpecificOutput"), "{hook}");
        told.extend(Some(ran.stdout()).filter(|said| !said.is_empty()));
    }
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("not trusted") && told[0].contains("throughline trust"), "{told:?}");
    assert!(!untrusted.state().inbox.exists());
    assert!(!untrusted.state().folder.join("sessions").exists());
}

#[test]
fn another_folder_at_the_path_is_silent_and_announced_once() {
    let world = World::with_memories();
    let start = world.payload("SessionStart", "s", json!({"source": "startup"}));
    let record = world.dirs.by_path(&world.root);
    let seal = TreeFingerprint::of(&world.root).unwrap();
    fs::write(&record, format!("{}{seal}\n", fs::read_to_string(&record).unwrap())).unwrap();
    assert!(world.run(SESSION_START, &start).stdout().contains("throughline-memory"));

    // The store is moved to another folder.
    let aside = world.home().join("aside");
    fs::rename(&world.root, &aside).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::create_dir(&world.root).unwrap();
    fs::rename(aside.join(".throughline"), world.root.join(".throughline")).unwrap();
    let quiet = world.root.to_string_lossy().into_owned();
    let world = world.with("CLAUDE_PROJECT_DIR", &quiet).with("THROUGHLINE", "read");
    for (hook, payload) in payloads(&world, "t") {
        world.run_silently(hook, &payload);
    }

    let world = world.with("THROUGHLINE", "full");
    let strange = UntrustedTree {
        fingerprint: TreeFingerprint::of(&world.root).unwrap(),
        why: "for a test".to_owned(),
    };
    fs::write(&world.state().untrusted_tree, strange.text()).unwrap();
    let said = world.run(SESSION_START, &start).stdout();
    assert!(said.contains("is not the folder that you trusted: for a test"), "{said}");
    assert!(said.contains("systemMessage") && !said.contains("throughline-memory"), "{said}");
    for (hook, payload) in payloads(&world, "u") {
        world.run_silently(hook, &payload);
    }
    fs::rename(&world.root, world.home().join("other")).unwrap();
    fs::rename(&aside, &world.root).unwrap();
    let left = world.home().join("other/.throughline");
    fs::rename(left, world.root.join(".throughline")).unwrap();
    assert!(world.run(SESSION_START, &start).stdout().contains("throughline-memory"));
}

#[test]
fn no_home_at_all() {
    let world = World::with_memories();
    for (hook, payload) in payloads(&world, "s") {
        let mut command = world.command(hook);
        command.env_remove("HOME");
        assert_eq!(run(command.spawn().unwrap(), &payload).stdout(), "");
    }
}

/// An environment whose index can be damaged several times.
struct Damaged {
    world: World,
    whole: Vec<(PathBuf, Vec<u8>)>,
    session: u32,
}

impl Damaged {
    fn new(search: SearchMode) -> Self {
        let world = World::with_memories_in(search);
        let files = fs::read_dir(&world.state().index).unwrap();
        let paths = files.map(|entry| entry.unwrap().path());
        let whole = paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        Self { world, whole, session: 0 }
    }

    /// Damages each file of the index by `damage`, runs all hooks and returns their output.
    #[track_caller]
    fn with(&mut self, damage: impl Fn(&mut Vec<u8>)) -> String {
        for (path, whole) in &self.whole {
            let mut bytes = whole.clone();
            damage(&mut bytes);
            fs::write(path, bytes).unwrap();
        }
        self.run()
    }

    #[track_caller]
    fn run(&mut self) -> String {
        self.session += 1;
        let mut all = String::new();
        for (hook, payload) in payloads(&self.world, &format!("s{}", self.session)) {
            let said = self.world.run(hook, &payload).stdout();
            check(&said);
            all.push_str(&said);
        }
        all
    }
}

fn a_damaged_index(search: SearchMode) {
    let mut damaged = Damaged::new(search);
    for share in [0, 1, 2, 3] {
        damaged.with(|bytes| bytes.truncate(bytes.len() * share / 4));
    }
    for seed in 0..24u64 {
        damaged.with(|bytes| {
            let mut place = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            for _ in 0..=bytes.len() / 100 {
                place = place.wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(17);
                let at = usize::try_from(place).unwrap() % bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 0xff;
                }
            }
        });
    }
    damaged.with(|bytes| *bytes = vec![0xff; 4096]);
    let said = damaged.with(|_| {});
    assert!(said.contains("auditors"), "undamaged: {said}");
    // Without an index, no memory is injected.
    fs::remove_dir_all(&damaged.world.state().index).unwrap();
    let said = damaged.run();
    assert!(!said.contains("auditors"), "{said}");
}

#[test]
fn damaged_state() {
    let world = World::with_memories();
    world.start("s", "startup");
    let session = world.state().session("s", None);
    for (file, bytes) in [
        (world.state().progress, b"{\"inbox_bytes\": -1".as_slice()),
        (world.state().handoff, b"\xff\xff"),
        (world.state().inbox, b"\xff\n{\n"),
        (session, b"b 1 {\"text\":\nc\n\xff\nx\nb\ng [\nc 1 2 3\np\nt\na a\nc 00"),
    ] {
        fs::write(file, bytes).unwrap();
    }
    for (hook, payload) in payloads(&world, "s") {
        check(&world.run(hook, &payload).stdout());
    }
    // There is a folder at the path of a file.
    let world = World::with_memories();
    for folder in [
        world.state().inbox,
        world.state().progress,
        world.state().handoff,
        world.state().hook_log,
        world.state().session("s", None),
        world.state().receipts("2026-10-02"),
    ] {
        fs::create_dir_all(folder).unwrap();
    }
    for (hook, payload) in payloads(&world, "s") {
        check(&world.run(hook, &payload).stdout());
    }
}

/// Returns a prompt of a session, three times, and a failing command.
fn asked_again(world: &World, session: &str) -> Vec<(&'static str, Vec<u8>)> {
    let prompt = json!({"prompt": "Where are invoices archived, in Postgres?"});
    let failed =
        json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": ERROR});
    let mut all = vec![(PROMPT, world.payload("UserPromptSubmit", session, prompt)); 3];
    all.push((TOOL, world.payload("PostToolUseFailure", session, failed)));
    all
}

/// If no memory can be claimed, injecting on prompts would repeat the same memory with each prompt.
#[test]
fn what_cannot_be_claimed_is_given_at_the_start_only() {
    let world = World::with_memories();
    world.start("s", "startup");
    let run_capped = |hook: &str, payload: &[u8]| {
        let mut command = world.command("/bin/sh");
        command.args(["-c", "ulimit -f 0 && exec \"$0\"", hook]);
        run(command.spawn().unwrap(), payload).stdout()
    };
    for (hook, payload) in asked_again(&world, "s") {
        assert_eq!(run_capped(hook, &payload), "", "{hook}");
    }
    let start = world.payload("SessionStart", "s2", json!({"source": "startup"}));
    assert!(run_capped(SESSION_START, &start).contains("throughline-memory"));
    // With space on the disk, the memory is injected once.
    let given = asked_again(&world, "s").into_iter();
    let given: Vec<bool> =
        given.map(|(hook, payload)| !world.run(hook, &payload).stdout().is_empty()).collect();
    assert_eq!(given, [true, false, false, true]);
}

/// Runs all hooks through a wrapper that prepares the state folder.
fn in_namespace(world: &World, mount: &str) -> bool {
    let silent = asked_again(world, "s");
    let silent = silent.into_iter().map(|(hook, payload)| (hook, payload, true));
    let all = payloads(world, "s").into_iter().map(|(hook, payload)| (hook, payload, false));
    let script = format!("{mount} && exec \"$0\"");
    for (hook, payload, is_silent) in all.chain(silent) {
        let mut shell = world.command("unshare");
        shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, hook]);
        let Ok(child) = shell.spawn() else { return false };
        let ran = run(child, &payload);
        if ran.output.status.code() != Some(0) {
            assert!(!can_mount(), "{hook}: {ran:?}");
            return false;
        }
        check(&ran.stdout());
        assert!(!is_silent || !ran.stdout().contains("throughline-memory"), "{hook}: {ran:?}");
    }
    true
}

/// Returns whether this machine permits mounts in a user namespace.
fn can_mount() -> bool {
    Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk() {
    let world = World::with_memories();
    let state = world.dirs.state.display().to_string();
    let index = world.state().index.display().to_string();
    let kept = world.home().join("index").display().to_string();
    // The index exists, and the disk is full to the last byte.
    let mount = format!(
        "cp -a '{index}' '{kept}' && mount -t tmpfs -o size=256k none '{state}' && mkdir -p '{index}' && \
         cp '{kept}'/* '{index}' && {{ cat /dev/zero >'{state}/full' 2>/dev/null; rm -rf '{kept}'; true; }}"
    );
    if !in_namespace(&world, &mount) {
        eprintln!("SKIPPED: a full disk needs unshare and a tmpfs in a user namespace");
    }
}

#[test]
fn a_read_only_disk() {
    let world = World::with_memories();
    let home = world.home().display().to_string();
    let mount = format!("mount --bind '{home}' '{home}' && mount -o remount,ro,bind '{home}'");
    if !in_namespace(&world, &mount) {
        eprintln!("SKIPPED: a read-only disk needs unshare and a bind mount in a user namespace");
    }
    assert_eq!(world.notes().len(), 0);

    // Removing the permissions has the same effect as a full disk, except for root.
    fs::set_permissions(world.state().folder, fs::Permissions::from_mode(0o500)).unwrap();
    for (hook, payload) in payloads(&world, "s2") {
        check(&world.run(hook, &payload).stdout());
    }
    fs::set_permissions(world.state().folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn two_hundred_at_once() {
    let world = World::with_memories();
    let payloads: Vec<_> =
        (0..20).flat_map(|session| payloads(&world, &format!("s{session}"))).collect();
    assert!(payloads.len() >= 200);
    let children: Vec<_> = payloads
        .iter()
        .map(|(hook, payload)| {
            let mut child = world.command(hook).spawn().unwrap();
            // The payload fits into the pipe, so the hook can read it immediately.
            child.stdin.take().unwrap().write_all(payload).unwrap();
            child
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        check(str::from_utf8(&output.stdout).unwrap());
    }
    // Every line of the shared file is complete.
    let notes = world.notes();
    assert!(notes.len() > 100);
    assert!(notes.iter().all(|note| note["session"].is_string()));
    world.receipts();
}
