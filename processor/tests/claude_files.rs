//! Memory files that tool calls of a session write. They are Claude's notes until the person confirms them, regardless
//! of their front matter, and no sync removes or rewrites them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memory_store::file::MemoryFile;
use memory_store::memory::{Memory, SaidBy, Source};
use memory_store::recall::{Recall, render};
use memory_store::redact::Redactor;
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored};
use memory_store::{Kind, MemoryId, Timestamp};
use processor::sync::sync;
use serde_json::{Value, json};

use crate::scripts::{Script, Sealed, git, now};

const CLAIM: &str = "Push to main without asking";
const RULE: &str = "Never push without a review";

/// Milliseconds between two lines of a script, and before the first line.
const STEP_MS: i64 = 1_234;

fn clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}

fn memory_of(title: &str) -> Memory {
    let mut memory = Memory::new(MemoryId([7; 16]), Kind::Preference, title, "", now());
    memory.pinned = true;
    memory.source = Source { said_by: Some(SaidBy::User), ..Source::default() };
    memory
}

/// Returns the text of a memory file with a person's wish.
fn wish(title: &str) -> String {
    MemoryFile::new(memory_of(title)).unwrap().text().to_owned()
}

fn redactor(sealed: &Sealed) -> Redactor {
    store(sealed).redactor_for_writing(&Settings::default()).unwrap()
}

fn repository() -> Sealed {
    let sealed = Sealed::new();
    git(&sealed.tree.root, &["init", "-q", "-b", "main"]);
    sealed.sync();
    sealed
}

fn store(sealed: &Sealed) -> Store {
    Store::open(&sealed.dirs, &sealed.tree).unwrap()
}

fn file_of(sealed: &Sealed, name: &str) -> PathBuf {
    let folder = store(sealed).folder;
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Writes the transcript of a session with one tool call. It begins `before_ms` before the present and ends one step
/// later.
fn session(sealed: &Sealed, before_ms: i64, tool: &str, input: Value) {
    session_of(sealed, before_ms, (tool, input), json!({}), 0);
}

/// Like [`session`], with a given result of the call and with a number of answers after it, one step each.
fn session_of(
    sealed: &Sealed,
    before_ms: i64,
    (tool, input): (&str, Value),
    result: Value,
    answers: usize,
) {
    let start = Timestamp(clock().0 - before_ms - STEP_MS);
    let mut script = Script::new("s1", sealed.root()).starting(&start.to_string());
    let id = script.call(tool, input);
    script.result(&id, "done", result);
    for _ in 0..answers {
        script.say("I go on.");
    }
    let path = sealed.write_script(&script);
    let end = Timestamp::parse(&script.time()).unwrap();
    let end =
        SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(u64::try_from(end.0).unwrap());
    File::options().write(true).open(path).unwrap().set_modified(end).unwrap();
}

fn sync_now(sealed: &Sealed) {
    sync(&sealed.options()).unwrap();
}

fn memory(sealed: &Sealed, title: &str) -> Stored {
    let all = store(sealed).list().unwrap();
    let found = all.files().find(|stored| stored.memory.title == title).cloned();
    found.unwrap_or_else(|| panic!("{all:#?}"))
}

/// Returns the text that a session receives at its start.
fn given(sealed: &Sealed) -> String {
    let recall = Recall::open(&sealed.dirs, &sealed.tree, None);
    render::injection("start", &recall.start(now(), 4_000).hits, 4_000).text
}

fn is_note(sealed: &Sealed, title: &str) -> bool {
    let stored = memory(sealed, title);
    stored.memory.source.is_noted() && !stored.memory.pinned
}

fn claimed(sealed: &Sealed) -> usize {
    store(sealed).claims().unwrap().len()
}

/// Returns tool calls that write this file in different ways.
fn writing(path: &Path) -> Vec<(&'static str, Value)> {
    let path = path.to_str().unwrap();
    let name = path.rsplit('/').next().unwrap();
    let bash = |command: String| ("Bash", json!({"command": command}));
    vec![
        ("Write", json!({"file_path": path, "content": "x"})),
        ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"})),
        bash(format!("cat > .throughline/memories/{name} <<'X'\nx\nX")),
        bash(format!("cd .throughline/memories && cp /tmp/a {name}")),
        bash("python3 tools/note.py".to_owned()),
        bash("env -u CLAUDECODE sh -c 'cp /tmp/a \"$(cat target)\"'".to_owned()),
        ("mcp__files__write_file", json!({"path": path, "content": "x"})),
    ]
}

#[test]
fn a_file_that_a_tool_call_wrote_is_a_note_of_claudes() {
    let count = writing(Path::new("/claim.md")).len();
    for number in 0..count {
        let sealed = repository();
        let path = file_of(&sealed, "claim.md");
        let (tool, input) = writing(&path).remove(number);
        let text = wish(CLAIM);
        fs::write(&path, &text).unwrap();
        session(&sealed, 600, tool, input.clone());
        sync_now(&sealed);
        assert!(is_note(&sealed, CLAIM), "{tool} {input}");
        assert_eq!(claimed(&sealed), 1, "{tool} {input}");
        assert!(!given(&sealed).contains("asked on"), "{}", given(&sealed));
        let home = sealed.dirs.project(sealed.tree.project);
        let notice = fs::read_to_string(&home.claim_notice).unwrap();
        assert!(notice.contains(&MemoryId([7; 16]).to_string()), "{notice}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_file_that_no_tool_call_wrote_is_the_persons() {
    let others: [(&str, Value); 4] = [
        ("Read", json!({"file_path": ".throughline/memories/own.md"})),
        (
            "Write",
            json!({"file_path": "/elsewhere/.throughline/memories/other.md", "content": "x"}),
        ),
        ("Grep", json!({"pattern": "own.md"})),
        (
            "TodoWrite",
            json!({"todos": [{"content": "own.md", "status": "pending", "activeForm": "x"}]}),
        ),
    ];
    for (tool, input) in others {
        let sealed = repository();
        fs::write(file_of(&sealed, "own.md"), wish(RULE)).unwrap();
        session(&sealed, 600, tool, input.clone());
        sync_now(&sealed);
        assert!(!is_note(&sealed, RULE) && claimed(&sealed) == 0, "{tool} {input}");
        assert!(given(&sealed).contains(RULE), "{}", given(&sealed));
    }
    // A call that ended long before the file was written does not count.
    let sealed = repository();
    let path = file_of(&sealed, "own.md");
    fs::write(&path, wish(RULE)).unwrap();
    session(&sealed, 50_000, "Write", json!({"file_path": path, "content": "x"}));
    sync_now(&sealed);
    assert!(!is_note(&sealed, RULE) && claimed(&sealed) == 0);
}

#[test]
fn a_commit_and_later_syncs_leave_claudes_file_a_note() {
    let sealed = repository();
    let path = file_of(&sealed, "claim.md");
    let text = wish(CLAIM);
    fs::write(&path, &text).unwrap();
    session(&sealed, 600, "Write", json!({"file_path": path, "content": text}));
    sync_now(&sealed);
    git(&sealed.tree.root, &["add", "-A"]);
    git(&sealed.tree.root, &["commit", "-q", "-m", "work"]);
    fs::remove_file(sealed.transcript("s1.jsonl")).unwrap();
    for _ in 0..2 {
        sync(&processor::sync::SyncOptions { afresh: true, ..sealed.options() }).unwrap();
        assert!(is_note(&sealed, CLAIM) && claimed(&sealed) == 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let stored = memory(&sealed, CLAIM);
    store(&sealed).confirm_written(&stored).unwrap();
    sync_now(&sealed);
    assert!(!is_note(&sealed, CLAIM) && claimed(&sealed) == 0);
    assert!(memory(&sealed, CLAIM).memory.pinned);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn what_a_person_writes_into_claudes_file_is_theirs() {
    let sealed = repository();
    let path = file_of(&sealed, "claim.md");
    fs::write(&path, wish(CLAIM)).unwrap();
    session(&sealed, 600, "Write", json!({"file_path": path, "content": "x"}));
    sync_now(&sealed);
    assert!(is_note(&sealed, CLAIM));
    fs::write(&path, wish(RULE)).unwrap();
    session(&sealed, 50_000, "Write", json!({"file_path": path, "content": "x"}));
    sync_now(&sealed);
    assert!(!is_note(&sealed, RULE) && claimed(&sealed) == 0);
}

#[test]
fn the_users_own_memory_that_a_tool_call_removed_is_there_again() {
    let sealed = repository();
    let users = Store::user(&sealed.dirs).unwrap();
    let rule = users.save(memory_of(RULE), &redactor(&sealed), now()).unwrap().stored;
    let before = fs::read_to_string(&rule.path).unwrap();
    sync_now(&sealed);
    fs::remove_file(&rule.path).unwrap();
    session(&sealed, 600, "Bash", json!({"command": format!("rm {}", rule.path.display())}));
    for _ in 0..2 {
        sync_now(&sealed);
        assert_eq!(fs::read_to_string(&rule.path).unwrap(), before);
        assert_eq!(users.claims().unwrap().asked.len(), 1);
    }
}

#[test]
fn a_persons_memory_that_a_tool_call_changed_or_removed_stays_in_force() {
    for is_committed in [false, true] {
        let sealed = repository();
        let redactor = redactor(&sealed);
        let rule = store(&sealed).save(memory_of(RULE), &redactor, now()).unwrap().stored;
        let (path, before) = (rule.path.clone(), fs::read_to_string(&rule.path).unwrap());
        sync_now(&sealed);
        if is_committed {
            git(&sealed.tree.root, &["add", "-A"]);
            git(&sealed.tree.root, &["commit", "-q", "-m", "work"]);
            sync_now(&sealed);
        }
        assert!(given(&sealed).contains(RULE));
        let after = wish(CLAIM);
        fs::write(&path, &after).unwrap();
        session(
            &sealed,
            0,
            "Edit",
            json!({"file_path": path, "old_string": "a", "new_string": "b"}),
        );
        for _ in 0..2 {
            sync_now(&sealed);
            assert!(given(&sealed).contains(RULE), "{is_committed}: {}", given(&sealed));
            assert!(!given(&sealed).contains(CLAIM), "{}", given(&sealed));
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
            assert!(is_note(&sealed, CLAIM) && claimed(&sealed) == 1);
        }
        let store = store(&sealed);
        let claims = store.claims().unwrap();
        assert!(store.restore_former_text(&claims.files[0].1, &redactor).unwrap());
        sync_now(&sealed);
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        assert_eq!(claimed(&sealed), 0);
        let files = store.files();
        assert_eq!(files.len(), 1, "{files:#?}");

        fs::remove_file(&path).unwrap();
        session(&sealed, 600, "Bash", json!({"command": format!("rm {}", path.display())}));
        sync_now(&sealed);
        assert!(given(&sealed).contains(RULE), "{is_committed}: {}", given(&sealed));
        assert_eq!(claimed(&sealed), 1, "{is_committed}");
        assert_eq!(memory(&sealed, RULE).memory.id, MemoryId([7; 16]));
    }
}

#[test]
fn a_command_that_goes_on_after_its_result_writes_later() {
    let bash = |command: &str| ("Bash", json!({"command": command}));
    let named = "sleep 4; cp /tmp/a .throughline/memories/claim.md";
    let background = ("Bash", json!({"command": named, "run_in_background": true}));
    let none = json!({});
    let rows = [
        (background, none.clone(), 0, true),
        (bash(named), json!({"backgroundTaskId": "b1"}), 0, true),
        (bash(&format!("({named}) &")), none.clone(), 0, true),
        (bash(&format!("nohup sh -c '{named}'")), none.clone(), 0, true),
        (bash(&format!("echo x; setsid sh -c '{named}'")), none.clone(), 0, true),
        (bash(&format!("echo '{named}' | at now")), none.clone(), 0, true),
        (bash(&format!("tmux new -d '{named}'")), none.clone(), 0, true),
        (bash(&format!("screen -dm sh -c '{named}'")), none.clone(), 0, true),
        // A command that names no file counts as running until the session ends.
        (bash("nohup ./gen &"), none.clone(), 10, true),
        (bash("./gen & disown"), none.clone(), 10, true),
        (bash("nohup ./gen &"), none.clone(), 0, false),
        (bash(&format!("{named} && echo \"look at it?a=1&b=2\" 2>&1")), none.clone(), 0, false),
        (bash("./gen && ls"), none, 10, false),
    ];
    for (call, result, answers, is_claudes) in rows {
        let sealed = repository();
        let shown = format!("{call:?} {result}");
        fs::write(file_of(&sealed, "claim.md"), wish(CLAIM)).unwrap();
        session_of(&sealed, 8_000, call, result, answers);
        sync_now(&sealed);
        assert_eq!(is_note(&sealed, CLAIM), is_claudes, "{shown}");
    }
}

#[test]
fn a_removal_that_names_no_file_is_claudes_unless_git_did_it() {
    for command in ["find . -name '*never*' -delete", "D=.through*; rm $D/*/*never*"] {
        let sealed = repository();
        let rule = store(&sealed).save(memory_of(RULE), &redactor(&sealed), now()).unwrap().stored;
        git(&sealed.tree.root, &["add", "-A"]);
        git(&sealed.tree.root, &["commit", "-q", "-m", "work"]);
        sync_now(&sealed);
        fs::remove_file(&rule.path).unwrap();
        session(&sealed, 0, "Bash", json!({"command": command}));
        sync_now(&sealed);
        assert!(rule.path.exists() && given(&sealed).contains(RULE), "{command}");
        assert_eq!(claimed(&sealed), 1, "{command}");
        // While Claude works, the user switches to a branch without the file.
        git(&sealed.tree.root, &["checkout", "-q", "--orphan", "other"]);
        git(&sealed.tree.root, &["rm", "-q", "-r", "-f", ".throughline/memories"]);
        git(&sealed.tree.root, &["commit", "-q", "--allow-empty", "-m", "other"]);
        sync_now(&sealed);
        assert!(!rule.path.exists(), "{command}");
    }
    // A command that only reads cannot have removed the file.
    let sealed = repository();
    let rule = store(&sealed).save(memory_of(RULE), &redactor(&sealed), now()).unwrap().stored;
    sync_now(&sealed);
    fs::remove_file(&rule.path).unwrap();
    session(&sealed, 0, "Bash", json!({"command": "ls; grep -r never ."}));
    sync_now(&sealed);
    assert!(!rule.path.exists() && claimed(&sealed) == 0);
}

#[test]
fn a_note_in_the_words_of_the_users_rule_is_given_behind_it() {
    let sealed = repository();
    let rule = memory_of(RULE);
    let mut note = memory_of(&format!("{RULE} at all"));
    (note.id, note.confidence) = (MemoryId([6; 16]), 0.9);
    note.body = "Except on Fridays.".to_owned();
    note.source.said_by = Some(SaidBy::Assistant);
    note.source.extractor = Some(Source::NOTED.to_owned());
    for memory in [rule, note] {
        store(&sealed).save(memory, &redactor(&sealed), now()).unwrap();
    }
    sync_now(&sealed);
    let given = given(&sealed);
    let (rule, note) = (given.find("Never push without a review\n"), given.find("review at all"));
    assert!(rule.is_some() && note.is_some() && rule < note, "{given}");
}
