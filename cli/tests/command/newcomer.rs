//! Behaviour directly after an installation.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Machine, strip};
use crate::habits::commands;

/// Starts a proxy on this machine for requests to other machines. It answers like an Ollama with one model, and counts
/// the requests.
fn proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let models = r#"{"models":[{"name":"tiny","modified_at":"","size":1}]}"#;
            let length = models.len();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{models}").as_bytes());
        }
    });
    (address, asked)
}

#[test]
fn where_no_model_is_installed_the_commands_that_get_one_are_named() {
    let ollama = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = ollama.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in ollama.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = r#"{"models":[]}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + body).as_bytes());
        }
    });
    for (host, why) in [(&*host, "Ollama has no model"), ("127.0.0.1:1", "no Ollama answers")] {
        let machine = Machine::new().with("OLLAMA_HOST", host);
        let said = machine.run(&["config", "llm", "ollama"]);
        assert_eq!(said.code, 1, "{}", said.whole());
        assert!(said.stderr.contains(why), "{}", said.whole());
        // How many models are named depends on the memory of this machine.
        assert!(said.stderr.contains("`ollama pull "), "{}", said.whole());
    }
}

#[test]
fn another_machine_is_not_asked_before_the_user_agreed() {
    let (proxy, asked) = proxy();
    let machine =
        Machine::new().with("http_proxy", proxy).with("OLLAMA_HOST", "http://models.example:11434");
    let count = || asked.load(Ordering::SeqCst);

    let shown = machine.at_terminal(&["init", "--no-sync"], &[]);
    assert!(shown.contains("models.example is another machine"), "{shown}");
    let status = machine.ok(&["status"]);
    assert!(status.contains("models.example is another machine"), "{status}");
    machine.ok(&["status", "--json"]);
    machine.run(&["doctor"]);
    let said = machine.run(&["config", "llm", "ollama"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert!(said.stderr.contains("--consent"), "{}", said.whole());
    let said = machine.run(&["init", "--yes", "--llm", "ollama"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert_eq!(count(), 0);

    // The model is configured, but the user has not consented to its host.
    machine.write(
        "home/.config/throughline/config.toml",
        "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\n",
    );
    machine.run(&["doctor"]);
    machine.ok(&["status"]);
    assert_eq!(count(), 0);

    machine.ok(&["config", "llm", "ollama", "--consent", "models.example"]);
    assert_eq!(count(), 1);
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("tiny answers"), "{doctor}");
    assert_eq!(count(), 2);
}

/// Arguments for each command; `ID` is replaced by the id of a memory.
const READING: [&[&str]; 59] = [
    &["diff"],
    &["diff", "main..feature"],
    &["check"],
    &["init", "--preview"],
    &["init", "--dry-run"],
    &["uninstall", "--purge"],
    &["trust"],
    &["projects"],
    &["link", "nowhere"],
    &["sync", "--from", "/nowhere"],
    &["search", "bread"],
    &["search", "nothing-like-it"],
    &["search", "--turns", "bread"],
    &["search", "--thinking", "bread"],
    &["resume", "bread"],
    &["status", "--stats"],
    &["timeline"],
    &["timeline", "bread"],
    &["graph", "ID"],
    &["graph", "--stats"],
    &["graph", "--bridges"],
    &["graph", "--path", "ID", "ID"],
    &["graph", "--merge", "a", "b", "--yes"],
    &["report"],
    &["blame", "src/bread.rs"],
    &["fixes"],
    &["ask", "how is bread baked?"],
    &["fixes", "bread"],
    &["fixes", "--friction"],
    &["how", "bread"],
    &["guard"],
    &["guard", "list"],
    &["guard", "test", "make"],
    &["guard", "log"],
    &["log"],
    &["statusline"],
    &["blame", "src"],
    &["resume"],
    &["show", "ID"],
    &["list"],
    &["list", "--forgotten"],
    &["list", "--pick"],
    &["browse"],
    // These commands ask for a choice, for which there is no terminal.
    &["show"],
    &["forget"],
    &["edit"],
    &["list", "--path", "/elsewhere"],
    &["list", "--forgotten"],
    &["pack"],
    &["timeline", "--handoff"],
    &["status"],
    &["why"],
    &["why", "how is bread baked?"],
    &["why", "ID"],
    &["config"],
    &["share"],
    &["redact", "src/bread.rs"],
    &["doctor"],
    &["doctor", "--selftest"],
];
/// Arguments for each command that makes changes.
const CHANGING: [&[&str]; 24] = [
    &["init", "--yes", "--no-register"],
    &["init", "--yes", "--no-sync"],
    &["init", "--register-only", "--yes"],
    &["uninstall"],
    &["uninstall", "--purge", "--yes"],
    &["trust", "--yes"],
    &["trust", "--revoke"],
    &["link", "."],
    &["sync"],
    &["sync", "--all"],
    &["add", "Bread is baked at night", "--kind", "fact"],
    &["edit", "ID", "--title", "Bread is bought"],
    &["forget", "ID"],
    &["forget", "ID", "--delete", "--yes"],
    &["restore", "ID"],
    &["review"],
    &["review", "--keep", "ID"],
    &["review", "--accept-all"],
    &["purge", "--before", "2020-01-01", "--yes"],
    &["off", "--for", "2h"],
    &["on"],
    &["share", "on"],
    &["config", "llm", "rules"],
    &["doctor", "--secrets"],
];

/// Commands without a JSON answer: they print progress without end, a script for a shell, or a protocol.
const WITHOUT_JSON: [&str; 3] = ["watch", "completions", "mcp"];

/// Returns a project with a memory, and the id of the memory. If `is_set_up` is false, the folder is not set up.
fn stand(is_set_up: bool) -> (Machine, String) {
    let machine = Machine::new();
    machine.write("home/work/src/bread.rs", "");
    if !is_set_up {
        return (machine, "aaaaaa".to_owned());
    }
    machine.ok(&["init", "--yes"]);
    let id = machine.json(&["add", "Bread is baked in the oven", "--json"])["short"].clone();
    (machine, id.as_str().unwrap().to_owned())
}

/// Runs a command with and without `--json` in the same state; fails if only one of the two works.
fn compare(args: &[&str], (machine, id): &(Machine, String)) {
    let run = |more: &[&str]| {
        let args = args.iter().map(|&arg| if arg == "ID" { id } else { arg });
        let said = machine.run(&args.chain(more.iter().copied()).collect::<Vec<_>>());
        // A hint repeats the command line, which differs between the two runs.
        let stderr = said.stderr.replace(id, "ID").replace(" --json --yes`", " --yes`");
        (said.code, said.stdout, stderr)
    };
    // Remarks on stderr, such as that there is nothing to list, are only for people.
    let plain = run(&[]);
    machine.restore();
    let json = run(&["--json"]);
    machine.restore();
    let is_known = |line: &str| plain.2.lines().any(|known| known == line);
    assert_eq!(plain.0, json.0, "{args:?}\n{plain:?}\n{json:?}");
    assert!(json.2.lines().all(is_known), "{args:?}\n{plain:?}\n{json:?}");
    let value: Result<serde_json::Value, _> = serde_json::from_str(&json.1);
    let is_told = plain.0 != 0 && json.1.is_empty();
    assert!(value.is_ok() || is_told, "{args:?}\n{json:?}");
}

/// Compares both forms of each of these commands.
fn compare_all(rows: &[&[&str]], is_set_up: bool) {
    let stand = stand(is_set_up);
    stand.0.keep();
    rows.iter().for_each(|args| compare(args, &stand));
}

#[test]
fn every_command_is_tried_with_json_or_has_none() {
    for name in commands(&Machine::new()) {
        let name = name.as_str();
        let is_tried = READING.iter().chain(&CHANGING).any(|args| args[0] == name);
        assert!(is_tried != WITHOUT_JSON.contains(&name), "`{name}` has no row, or two");
    }
}

#[test]
fn json_works_wherever_reading_does() {
    compare_all(&READING, true);
}

#[test]
fn json_works_wherever_reading_does_before_a_project_is_set_up() {
    compare_all(&READING, false);
}

#[test]
fn json_works_wherever_changing_does() {
    compare_all(&CHANGING, true);
}

#[test]
fn json_works_wherever_changing_does_before_a_project_is_set_up() {
    compare_all(&CHANGING, false);
}

#[test]
fn exit_codes_are_what_help_and_docs_say() {
    let help = Machine::new().ok(&["--help"]);
    let (_, codes) = help.split_once("Exit codes: ").unwrap();
    let codes = codes.split_whitespace().collect::<Vec<_>>().join(" ");
    let codes: Vec<&str> = codes
        .trim()
        .split(", ")
        .filter(|it| it.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let numbers = codes.iter().map(|it| it.split_once(' ').unwrap().0.to_owned());
    assert_eq!(
        numbers.collect::<Vec<_>>(),
        (0..=11).chain([130]).map(|it| it.to_string()).collect::<Vec<_>>()
    );

    let machine = Machine::new();
    let token = format!("ghp_{}", "A7b2Kq9ZxW3mN8vL5rT1cY6pD4sF0gH2jQ7u");
    machine.write("secret.txt", &format!("the key is {token}\n"));
    let secret = machine.path("secret.txt");
    let code = |args: &[&str]| machine.run(args).code;
    assert_eq!(code(&["status"]), 4);
    machine.ok(&["init", "--yes"]);
    for (args, expected) in [
        (&["list"][..], 0),
        (&["search", "nothing-like-it"], 1),
        (&["resume", "nothing-like-it"], 1),
        (&["config", "llm", "ollama"], 1),
        (&["nonsense"], 2),
        (&["list", "--kind", "nonsense"], 2),
        (&["add", " "], 2),
        (&["show"], 2),
        (&["show", "zzzzzz"], 3),
        (&["forget", "zzzzzz"], 3),
        (&["trust", "/nowhere"], 3),
        (&["link", "/nowhere"], 3),
        (&["sync", "--from", "/nowhere"], 3),
        (&["redact", "/nowhere"], 3),
        (&["-C", "/nowhere", "list"], 3),
        (&["purge", "--session", "zzzz"], 3),
        (&["redact", "--check", secret.to_str().unwrap()], 7),
    ] {
        assert_eq!(code(args), expected, "{args:?}");
    }
    machine.write("home/.config/throughline/config.toml", "alpha = \n");
    assert_eq!(code(&["config", "llm", "rules"]), 5);
    std::fs::remove_file(machine.path("bin/throughline-stop")).unwrap();
    assert_eq!(code(&["doctor"]), 6);
}

#[test]
fn people_read_times_in_their_zone_and_programs_in_utc() {
    // The time zone is given by its offset, 9.5 hours west of Greenwich, since some machines have no zone files.
    let machine = Machine::new().with("TZ", "<+0930>-9:30");
    machine.ok(&["init", "--yes"]);
    let added = machine.json(&["add", "Bread is baked at night", "--json"]);
    assert_eq!(added["created"], "2026-10-02T09:30:00Z");
    let id = added["short"].as_str().unwrap();
    assert!(machine.ok(&["show", id]).contains("2026-10-02 19:00 +09:30"));
    assert!(machine.ok(&["status"]).contains("Last sync   2026-10-02 19:00 +09:30"));
    assert_eq!(machine.json(&["status", "--json"])["last_sync"], "2026-10-02T09:30:00Z");
    assert_eq!(machine.json(&["off", "--for", "15h", "--json"])["until"], "2026-10-03T00:30:00Z");
    let said = machine.ok(&["off", "--for", "15h"]);
    assert!(said.contains("Off until 2026-10-03 10:00 +09:30."), "{said}");
    let late = [("THROUGHLINE_NOW", "2026-10-02T20:00:00Z")];
    let said = machine.run_with(&["list"], &late);
    assert!(said.stdout.contains("2026-10-02"), "{}", said.whole());
    machine.run_with(&["add", "Rolls are baked at noon"], &late);
    assert!(machine.ok(&["list"]).contains("2026-10-03"), "a day later there");
}

#[test]
fn a_word_that_is_no_command_brings_none_that_deletes() {
    let machine = Machine::new();
    for word in ["update", "install", "reset", "delete", "prune", "clean"] {
        let said = machine.run(&[word]);
        assert_eq!(said.code, 2);
        assert!(!said.stderr.contains("similar"), "{}", said.whole());
    }
    assert!(machine.run(&["serach"]).stderr.contains("'search'"));
    let said = machine.run(&["uninstall", "--prune"]);
    assert!(said.code == 2 && !said.stderr.contains("--purge"), "{}", said.whole());
}

/// Copies the project to another path, as to another disk, and removes the original.
fn project_copied(machine: &Machine) {
    let copy = machine.path("home/elsewhere/work");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let copied = std::process::Command::new("cp").arg("-r").args([&machine.work(), &copy]).status();
    assert!(copied.unwrap().success());
    std::fs::remove_dir_all(machine.work()).unwrap();
}

#[test]
fn a_private_store_whose_project_was_copied_is_found() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--private"]);
    machine.ok(&["add", "Bread is baked at night"]);
    project_copied(&machine);
    let at = machine.path("home/elsewhere/work");
    let at = at.to_str().unwrap();
    let run = |args: &[&str]| {
        let args = [&["-C", at], args].concat();
        let output = machine.command(&args).current_dir("/").output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (code, said) = run(&["list"]);
    assert_eq!(code, Some(4), "{said}");
    let told = "/home/work, which is gone: if it is this one, `throughline link ";
    assert!(said.contains(told), "{said}");
    assert!(said.contains("brings its history and its private memory"), "{said}");
    // A new setup reports the old path, and the remedy for the apparently empty store.
    let (_, said) = run(&["init", "--yes", "--private"]);
    assert!(said.contains(told), "{said}");
    let (_, said) = run(&["status"]);
    assert!(said.contains(told), "{said}");
    let id = said.split_once("`throughline link ").unwrap().1.split('`').next().unwrap();
    let (code, said) = run(&["link", id]);
    assert_eq!(code, Some(0), "{said}");
    assert!(run(&["list"]).1.contains("Bread is baked at night"));
    assert!(!run(&["status"]).1.contains("which is gone"));
}

#[test]
fn private_memories_that_are_gone_are_missed() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--private"]);
    machine.ok(&["add", "Bread is baked at night"]);
    let projects = machine.path("home/.local/share/throughline/projects");
    let project = std::fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    std::fs::rename(project.join("memories"), machine.path("home/aside")).unwrap();
    for args in [&["list"][..], &["status"], &["doctor"]] {
        let said = machine.run(args).whole();
        assert!(said.contains("private memories is gone: /home/.local/share"), "{args:?}: {said}");
    }
    let missing = machine.json(&["status", "--json"])["missing"].clone();
    assert!(missing[0].as_str().unwrap().contains("Move it back"), "{missing}");
    std::fs::rename(machine.path("home/aside"), project.join("memories")).unwrap();
    assert!(!machine.ok(&["status"]).contains("is gone"));

    // All data is in another folder, as if XDG_DATA_HOME were different.
    let data = [("XDG_DATA_HOME", machine.path("home/data"))];
    let data = data.each_ref().map(|(name, path)| (*name, path.to_str().unwrap()));
    let said = machine.run_with(&["list"], &data);
    assert_eq!(said.code, 4);
    assert!(said.stderr.contains("all that was kept in /home/data/throughline is gone"));
    assert!(said.stderr.contains("XDG_DATA_HOME"), "{}", said.whole());
}

#[test]
fn history_under_another_path_is_named_and_can_be_taken() {
    const FOLDER: &str = "home/.claude/projects/-home-ada-old-work";
    let machine = Machine::new();
    let session = "11111111-1111-4111-8111-111111111111";
    machine.transcript(&format!("{FOLDER}/{session}.jsonl"), session, "2026-09-01");
    let text = machine.read(&format!("{FOLDER}/{session}.jsonl"));
    let here = machine.work();
    let moved = text.replace(here.to_str().unwrap(), "/home/ada/old/work");
    machine.write(&format!("{FOLDER}/{session}.jsonl"), &moved);
    // According to its working directory, the transcript belongs to another project.
    let other = text.replace(here.to_str().unwrap(), "/home/ada/bakery");
    machine.write("home/.claude/projects/-home-ada-bakery/2.jsonl", &other);

    let told = "1 session of /home/ada/old/work: `throughline sync --from /home/.claude/projects/-home-ada-old-work`";
    assert!(machine.ok(&["init", "--preview"]).contains(told));
    let said = machine.ok(&["init", "--yes"]);
    assert!(said.contains(told) && !said.contains("bakery"), "{said}");
    assert!(machine.run(&["doctor"]).stdout.contains(told));
    assert!(machine.ok(&["status"]).contains(told));
    let said = machine.ok(&["sync"]);
    assert!(said.contains(told) && !said.contains("bakery"), "{said}");
    let folder = machine.path(FOLDER);
    let said = machine.ok(&["sync", "--from", folder.to_str().unwrap()]);
    assert!(said.contains("from 1 session with"), "{said}");
    assert!(!machine.ok(&["status"]).contains("old/work"));
}

#[test]
fn lines_are_broken_at_words_on_a_terminal_and_nowhere_else() {
    const TITLE: &str = "Amounts are integer cents everywhere, because floats cannot hold them exactly and invoices were wrong";
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", TITLE, "--kind", "decision"]);
    for args in [&["list"][..], &["status"], &["doctor"], &["show", "zzzzzz"], &["off"], &["sync"]]
    {
        let piped = machine.run(args);
        let shown = machine.on_screen(args, 80);
        let plain = strip(&shown);
        // A line may be longer only if it is a single word.
        let long =
            plain.lines().find(|line| line.chars().count() > 80 && line.trim().contains(' '));
        assert_eq!(long, None, "{args:?}\n{plain}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = words(&(piped.stdout + &piped.stderr));
        if args[0] != "doctor" && args[0] != "sync" {
            assert_eq!(words(&plain), all, "{args:?}: no word is broken, and none is lost");
        }
    }
    machine.ok(&["on"]);
    assert!(machine.ok(&["list"]).contains(TITLE));
    assert!(strip(&machine.on_screen(&["list"], 200)).contains(TITLE));
    let json = machine.on_screen(&["list", "--json"], 80);
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

fn set_up() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine
}

#[test]
fn an_ambiguous_id_is_answered_with_the_candidates() {
    let machine = set_up();
    let ids = ["Tides are counted", "The mill is closed"]
        .map(|title| machine.json(&["add", title, "--json"])["id"].as_str().unwrap().to_owned());
    let start = &ids[0][..9];
    assert!(ids[1].starts_with(start), "{ids:?}");
    let said = machine.run(&["show", start]);
    assert_eq!(said.code, 3);
    assert!(said.stderr.contains(&format!("begins with {start}: ")), "{}", said.stderr);
    for (id, title) in ids.iter().zip(["Tides are counted", "The mill is closed"]) {
        let named = format!("{} \"{title}\"", &id[id.len() - 6..]);
        assert!(said.stderr.contains(&named), "{}", said.stderr);
    }
}

#[test]
fn a_memory_is_read_from_stdin() {
    let machine = set_up();
    let said = machine.run_on(&["add", "-", "--json"], "Tides are counted\n\nFrom the pier.\n");
    let added: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (&added["title"], &added["body"]),
        (&"Tides are counted".into(), &"From the pier.".into())
    );
    assert_eq!(machine.run_on(&["add", "-"], "\n").code, 2);
    assert_eq!(machine.run_on(&["add", "-", "--body", "-"], "a").code, 2);
}

#[test]
fn a_search_without_words_announces_no_results_that_there_are_not() {
    let machine = set_up();
    machine.finds_nothing(&["search", "we"]);
    machine.ok(&["add", "Tides are counted"]);
    let said = machine.run(&["search", "we"]);
    assert!(said.stderr.contains("these are the latest"), "{}", said.whole());
}

#[test]
fn a_folder_that_is_a_file_is_named_with_what_helps() {
    let machine = set_up();
    machine.ok(&["add", "Tides are counted"]);
    machine.write("file", "");
    let file = machine.path("file").to_string_lossy().into_owned();
    for command in [&["list"][..], &["add", "The mill is closed"]] {
        let said = machine.run_with(command, &[("XDG_DATA_HOME", &file)]);
        assert_eq!(said.code, 1, "{}", said.whole());
        assert!(said.stderr.contains("/file is a file"), "{}", said.stderr);
        assert!(said.stderr.contains("XDG_DATA_HOME") && !said.stderr.contains("trust"));
    }
    let init = ["init", "--yes", "--no-register"];
    let said = machine.run_with(&init, &[("XDG_DATA_HOME", "/proc/nope")]);
    assert!(said.code != 0 && !said.stderr.contains("chown"), "{}", said.stderr);
    let said = machine.run_with(&["search", "zebra"], &[("XDG_STATE_HOME", &file)]);
    assert_eq!(said.code, 9, "{}", said.whole());
    assert!(said.stderr.contains("throughline sync"), "{}", said.stderr);
}

#[test]
fn a_mistyped_setting_is_answered_with_the_one_that_was_meant() {
    let machine = set_up();
    for args in
        [&["get", "star_tokens"][..], &["set", "star_tokens", "5"], &["unset", "star_tokens"]]
    {
        let said = machine.run(&[&["config"], args].concat());
        assert_eq!(said.code, 3);
        assert!(said.stderr.contains("Did you mean start_tokens?"), "{}", said.stderr);
    }
    let path = machine.ok(&["config", "path"]);
    machine.write(path.trim().trim_start_matches('/'), "star_tokens = 5\n");
    let said = machine.run(&["config", "list"]);
    assert!(said.stderr.contains("did you mean start_tokens?"), "{}", said.stderr);
    assert_eq!(said.stdout, machine.ok(&["config"]));
    assert_eq!(machine.json(&["config", "list", "--json"]), machine.json(&["config", "--json"]));
}

#[test]
fn a_limited_list_counts_the_rest() {
    let machine = set_up();
    for title in ["Tides are counted", "The mill is closed", "Ovens are cleaned"] {
        machine.ok(&["add", title]);
    }
    let said = machine.run(&["list", "-n", "1"]);
    assert_eq!((said.stdout.lines().count(), &*said.stderr), (1, "2 more: use -n 3\n"));
    assert_eq!(machine.run(&["list", "-n", "3"]).stderr, "");
}

#[test]
fn unusual_links_missing_files_and_tags_with_commas_are_noticed() {
    let machine = set_up();
    let other = machine.json(&["add", "Tides are counted", "--json"]);
    let link = format!("supportz {}", other["short"].as_str().unwrap());
    let args = [
        "add",
        "The mill is closed",
        "--relation",
        &link,
        "-p",
        "no.rs",
        "-p",
        "*.rs",
        "-t",
        "sea, mill",
    ];
    let said = machine.run(&args);
    assert_eq!(said.code, 0, "{}", said.whole());
    assert!(said.stderr.contains("did you mean `supports`?"), "{}", said.stderr);
    assert!(said.stderr.contains("No file no.rs is in the project now."), "{}", said.stderr);
    assert!(!said.stderr.contains("*.rs"), "{}", said.stderr);
    let list = machine.json(&["list", "--tag", "mill", "--json"]);
    assert_eq!(list[0]["tags"], serde_json::json!(["sea", "mill"]));
}

#[test]
fn indexing_has_a_label_and_a_count() {
    let machine = set_up();
    machine.session("a1", "2026-10-01", vec![crate::common::user("Tides are counted".into())]);
    let said = machine.run(&["sync"]);
    assert!(said.stderr.contains("indexing 1/1"), "{}", said.whole());
}
