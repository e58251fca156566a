//! Tests of the stop hook: its notes, and the processor that it starts when a run is due, and that shares nothing with
//! the session.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{
    ERROR, NOW, PROJECT, PROMPT, SESSION_START, STOP, SearchMode, TOOL, World, in_each_search_mode,
    memories,
};
use memory_store::background::inbox_bytes;
use memory_store::fs::file_stamp::Stamp;
use memory_store::index::document::Passage;
use memory_store::settings::Settings;
use memory_store::{Kind, Memory};
use serde_json::json;

in_each_search_mode! {
    a_prompt_and_a_tool_that_meet_a_damaged_index_have_a_sync_started,
}

/// An environment in which the processor is a program that records its arguments and environment.
struct Installed {
    world: World,
    stop: PathBuf,
}

/// Copies a program in another process. If this process had the file open for writing, or a hook inherited the handle,
/// the program could not be executed.
fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).status().unwrap();
    assert!(copied.success());
}

impl Installed {
    /// Installs the session-start hook, and returns a function that runs it.
    fn starter(&self) -> impl Fn(&str) -> String {
        let world = &self.world;
        let start = world.home().join("bin/throughline-session-start");
        copy_program(SESSION_START, &start);
        move |session| {
            let payload = world.payload("SessionStart", session, json!({"source": "startup"}));
            world.run(&start, &payload).stdout()
        }
    }

    fn new(search: SearchMode) -> Self {
        let world = World::trusted().searched(search);
        let stop = world.home().join("bin/throughline-stop");
        fs::create_dir(world.home().join("bin")).unwrap();
        copy_program(STOP, &stop);
        let script_file = world.home().join("script");
        let processor = world.home().join("bin/throughline-processor");
        let script = "#!/bin/sh\n\
            { echo \"arguments $*\"; env; ls -l /proc/$$/fd; echo \"process $(cut -d' ' -f1,6 /proc/$$/stat)\"; } >\"$HOME/started.new\"\n\
            mv \"$HOME/started.new\" \"$HOME/started\"\n";
        fs::write(&script_file, script).unwrap();
        fs::set_permissions(&script_file, fs::Permissions::from_mode(0o755)).unwrap();
        copy_program(&script_file, &processor);
        Self { world, stop }
    }

    fn stop(&self, event: &str, more: serde_json::Value) {
        let said = self.world.run(&self.stop, &self.world.payload(event, "s", more)).stdout();
        assert_eq!(said, "", "a stop hook never speaks");
    }

    /// Returns the processor's output, if it was started.
    fn started(&self) -> Option<String> {
        let file = self.world.home().join("started");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1500) {
            if let Ok(text) = fs::read_to_string(&file) {
                fs::remove_file(&file).unwrap();
                return Some(text);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn progress(&self, inbox_bytes: u64, last_run: &str) {
        let progress = json!({"inbox_bytes": inbox_bytes, "last_run": last_run});
        fs::create_dir_all(&self.world.state().folder).unwrap();
        fs::write(&self.world.state().progress, progress.to_string()).unwrap();
    }
}

#[test]
fn a_stop_leaves_a_note_and_starts_the_processor_detached() {
    let installed = Installed::new(SearchMode::Words);
    let world = Installed { world: installed.world.with("SECRET_TOKEN", "hunter2"), ..installed };
    world.stop("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Done."}));
    assert_eq!(
        world.world.notes(),
        [json!({
            "at": NOW,
            "event": "Stop",
            "session": "s",
            "transcript": world.world.home().join("t.jsonl"),
        })]
    );
    let started = world.started().expect("the processor was started");
    assert!(started.contains(&format!("arguments sync --project {PROJECT} --background\n")));
    assert!(!started.contains("hunter2"), "keys of the session stay behind: {started}");
    assert!(started.contains("THROUGHLINE_NOW="));
    for stream in ["0 -> /dev/null", "2 -> /dev/null"] {
        assert!(started.contains(stream), "{started}");
    }
    assert!(!started.contains("pipe:"), "a handle was inherited: {started}");
    let process = started.lines().find_map(|line| line.strip_prefix("process ")).unwrap();
    let (process, session) = process.split_once(' ').unwrap();
    assert_eq!(process, session, "it leads a session of its own");
}

#[test]
fn it_is_started_when_due_and_not_before() {
    let installed = Installed::new(SearchMode::Words);
    installed.progress(0, "2026-10-02T11:58:00Z");
    installed.stop("Stop", json!({}));
    installed.stop("PreCompact", json!({"trigger": "auto"}));
    assert_eq!(installed.started(), None, "two minutes are not five");
    installed.stop("SessionEnd", json!({"reason": "other"}));
    assert!(installed.started().is_some(), "the end of a session does not wait");
    installed.progress(0, "2026-10-02T11:55:00Z");
    installed.stop("SubagentStop", json!({"agent_id": "a", "agent_type": "Explore"}));
    assert!(installed.started().is_some(), "five minutes are due");
    assert_eq!(installed.world.notes().len(), 4);
    let note = &installed.world.notes()[3];
    assert_eq!(note["agent"], "a");
    assert!(note.get("cwd").is_none(), "the inbox is the tree's: {note}");
}

#[test]
fn a_session_that_starts_under_new_settings_has_a_sync_started() {
    let installed = Installed::new(SearchMode::Words);
    let world = &installed.world;
    let begin = installed.starter();
    let prompt = |session: &str| world.prompt(session, "how are prices written down").stdout();
    let publish = || {
        let config = Stamp::of(&world.dirs.config_file());
        world.publish(&memories(), &Settings { config, ..Settings::default() });
        installed.progress(inbox_bytes(&world.state()), NOW);
    };
    publish();
    assert!(begin("a").contains("throughline-memory"));
    assert_eq!(installed.started(), None, "nothing is due");

    // Memories of this machine are still injected with this setting.
    fs::create_dir_all(&world.dirs.config).unwrap();
    fs::write(world.dirs.config_file(), "pulled = \"reviewed\"\n").unwrap();
    assert!(begin("b").contains("- ") && installed.started().is_some());
    assert!(prompt("c").contains("throughline-memory"), "{}", prompt("c"));
    fs::write(world.dirs.config_file(), "start_tokens = 900\n").unwrap();
    assert!(begin("d").contains("throughline-memory") && installed.started().is_some());
    publish();
    assert!(begin("e").contains("throughline-memory"));
    assert_eq!(installed.started(), None, "it is settled");
}

/// The damaged file is one that hooks do not open, and then one that they open.
#[test]
fn a_session_that_starts_beside_a_damaged_index_has_a_sync_started() {
    let installed = Installed::new(SearchMode::Words);
    let world = &installed.world;
    let begin = installed.starter();
    let turn =
        Passage { session: "old".into(), text: "The vat is full".into(), ..Passage::default() };
    // Without an index, the origin of the wish is unknown, so the start block contains only conventions.
    let mut memories = memories();
    let title = "Prices are integer cents".to_owned();
    memories[1] = Memory { kind: Kind::Convention, title, ..memories[1].clone() };
    world.publish_with(&memories, world.staged(false, [turn]), &Settings::default());
    installed.progress(inbox_bytes(&world.state()), NOW);
    assert!(begin("a").contains("throughline-memory"));
    assert_eq!(installed.started(), None, "nothing is due");

    let files = fs::read_dir(&world.state().index).unwrap().map(|file| file.unwrap().path());
    let mut session = 0;
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "seg")) {
        let bytes = fs::read(&path).unwrap();
        for cut in [0, bytes.len() - 1] {
            session += 1;
            fs::write(&path, &bytes[..cut]).unwrap();
            drop(begin(&format!("b{session}")));
            assert!(installed.started().is_some(), "{} cut at {cut}", path.display());
        }
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(session, 4, "memories and turns");
}

/// If a hook detects damage, the index is repaired while the session runs, because a session may last for days.
fn a_prompt_and_a_tool_that_meet_a_damaged_index_have_a_sync_started(search: SearchMode) {
    let installed = Installed::new(search);
    let world = &installed.world;
    world.publish(&memories(), &Settings::default());
    let hooks = [(PROMPT, "throughline-user-prompt-submit"), (TOOL, "throughline-post-tool-use")];
    let [prompt, tool] = hooks.map(|(program, name)| {
        let path = world.home().join("bin").join(name);
        copy_program(program, &path);
        path
    });
    let read = json!({"tool_name": "Read", "tool_input": {"file_path": world.root.join("src/rounding.rs")}, "tool_response": "x"});
    let failed =
        json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": ERROR});
    let asked = json!({"prompt": "Where are invoices archived, in Postgres?"});
    let events = [
        (&prompt, "UserPromptSubmit", asked),
        (&tool, "PostToolUse", read),
        (&tool, "PostToolUseFailure", failed),
    ];
    let settled = |last_run| installed.progress(inbox_bytes(&world.state()), last_run);
    let run = |session: &str, (hook, event, more): &(&PathBuf, &str, serde_json::Value)| {
        world.run(hook, &world.payload(event, session, more.clone())).stdout();
    };
    settled("2026-10-02T11:50:00Z");
    for event in &events {
        run("a", event);
        assert_eq!(installed.started(), None, "{}: the index is sound", event.1);
    }
    let files = fs::read_dir(&world.state().index).unwrap().map(|file| file.unwrap().path());
    let mut cuts = 0;
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "seg")) {
        let bytes = fs::read(&path).unwrap();
        for cut in [0, bytes.len() / 2] {
            fs::write(&path, &bytes[..cut]).unwrap();
            for event in &events {
                cuts += 1;
                run(&format!("b{cuts}"), event);
                assert!(installed.started().is_some(), "{}, {} cut", event.1, path.display());
            }
        }
        // If a sync has just failed to repair the index, later calls do not start another one.
        settled(NOW);
        run(&format!("c{cuts}"), &events[0]);
        assert_eq!(installed.started(), None, "{}", path.display());
        settled("2026-10-02T11:50:00Z");
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(cuts, 6, "one segment of memories");
}

#[test]
fn it_is_not_started_twice_nor_for_nothing() {
    let installed = Installed::new(SearchMode::Words);
    let project = installed.world.dirs.project(PROJECT);
    fs::create_dir_all(&project.folder).unwrap();
    let lock = fs::File::create(&project.sync_lock).unwrap();
    lock.lock().unwrap();
    installed.stop("SessionEnd", json!({}));
    assert_eq!(installed.started(), None, "one works already");
}

#[test]
fn stops_that_are_none_of_ours_leave_no_note() {
    let installed = Installed::new(SearchMode::Words);
    installed.stop("Stop", json!({"stop_hook_active": true}));
    installed.stop("SubagentStop", json!({"agent_id": "a", "agent_type": ""}));
    installed.stop("PostCompact", json!({}));
    let reading = Installed { world: installed.world.with("CI", "true"), ..installed };
    reading.stop("SessionEnd", json!({}));
    let off = Installed { world: reading.world.with("THROUGHLINE", "off"), ..reading };
    off.stop("SessionEnd", json!({}));
    assert_eq!(off.started(), None);
    assert!(!off.world.state().folder.exists());
}

#[test]
fn a_missing_processor_is_one_line_in_the_log() {
    let world = World::trusted();
    let stop = world.home().join("throughline-stop");
    copy_program(STOP, &stop);
    let payload = world.payload("SessionEnd", "s", json!({}));
    assert_eq!(world.run(&stop, &payload).stdout(), "");
    let log = fs::read_to_string(&world.state().hook_log).unwrap();
    assert!(log.starts_with(NOW) && log.contains("processor") && log.lines().count() == 1, "{log}");
    let ran = world.with("THROUGHLINE_DEBUG", "1").run(&stop, &payload);
    assert!(String::from_utf8_lossy(&ran.output.stderr).contains("processor"));
}
