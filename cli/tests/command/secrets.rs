//! Redacting and finding secrets: `redact`, `doctor --secrets`. The values are invented and assembled at run time, so
//! that scanners do not report this file.

use std::path::PathBuf;

use crate::common::Machine;

fn token() -> String {
    format!("{}_{}", "ghp", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB")
}

#[test]
fn text_and_lines_are_redacted() {
    let machine = Machine::new();
    let token = token();
    machine.write("work/notes.txt", &format!("use {token} here\nand tess@harbour.co.uk\n"));
    let path = machine.path("work/notes.txt");
    let path = path.to_str().unwrap();
    assert_eq!(
        machine.ok(&["redact", path]),
        "use [redacted:github-token] here\nand tess@harbour.co.uk\n"
    );
    assert!(
        machine.ok(&["redact", path, "--for", "committed"]).ends_with("and [redacted:email]\n")
    );
    let told = machine.json(&["redact", path, "--json"]);
    assert_eq!(told[0]["rule"], "github-token");
    assert_eq!((&told[0]["line"], &told[0]["column"]), (&1.into(), &5.into()));
    assert!(!told.to_string().contains(&token));
    assert_eq!(machine.run(&["redact", path, "--check"]).code, 7);
    assert!(machine.run(&["redact", "/"]).stderr.contains("/ is a folder"));
    machine.write("work/lines.jsonl", &format!("{{\"id\":7,\"text\":\"{token}\"}}\n\n"));
    let lines = machine.path("work/lines.jsonl");
    let answered = machine.ok(&["redact", "--jsonl", lines.to_str().unwrap()]);
    assert_eq!(answered, "{\"id\":7,\"redacted\":\"[redacted:github-token]\"}\n");
    machine.write("work/lines.jsonl", "{\"id\":7}\n");
    assert_eq!(machine.run(&["redact", "--jsonl", lines.to_str().unwrap()]).code, 5);
}

#[test]
fn a_file_is_looked_for_in_the_folder_that_is_named() {
    let machine = Machine::new();
    machine.write("home/work/src/note.md", &format!("key {}\n", token()));
    let said = machine.ok(&["-C", "src", "redact", "note.md"]);
    assert!(said.contains("[redacted:"), "{said}");
    let said = machine.run_on(&["redact", "-"], &format!("key {}\n", token()));
    assert!(said.stdout.contains("[redacted:"), "{}", said.whole());
}

#[test]
fn the_user_s_own_patterns_and_policies_hold() {
    let machine = Machine::new();
    machine.write(
        "home/.config/throughline/config.toml",
        "[redact]\ndeny = [\"(?i)zephyr\"]\n[redact.private]\nemail = \"mask\"\n",
    );
    machine.write("work/notes.txt", "Zephyr, by tess@harbour.co.uk\n");
    let path = machine.path("work/notes.txt");
    assert_eq!(
        machine.ok(&["redact", path.to_str().unwrap()]),
        "[redacted:denied], by [redacted:email]\n"
    );
}

#[test]
fn what_a_person_adds_is_redacted_too() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    let said = machine.ok(&["add", &format!("deploy with {}", token())]);
    assert!(said.contains("1 secret or personal value(s) were taken out"), "{said}");
    assert!(!machine.ok(&["list", "--json"]).contains(&token()));
}

/// Returns the only file in the memory folder.
fn memory_file(machine: &Machine) -> PathBuf {
    let folder = machine.work().join(".throughline/memories");
    std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

/// Returns the files of this machine that contain a text.
fn holding(machine: &Machine, text: &str) -> Vec<PathBuf> {
    let mut folders = vec![machine.path("home")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(text)
            {
                found.push(entry.path());
            }
        }
    }
    found
}

/// Returns a project with one memory that contains no secret.
fn with_a_memory() -> Machine {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "The deploy key is kept in the vault"]);
    machine.ok(&["sync"]);
    machine
}

#[test]
fn what_a_person_edits_is_redacted_too() {
    let machine = with_a_memory();
    let id = machine.json(&["list", "--json"])[0]["short"].as_str().unwrap().to_owned();
    let said = machine.ok(&["edit", &id, "--body", &format!("It is {}.", token())]);
    assert!(said.contains("1 secret or personal value(s) were taken out"), "{said}");
    let script = format!(
        "#!/bin/sh\nsed -i '2i wiki: {0} # or {0}' \"$1\"\necho 'Or ask tess@harbour.co.uk for {0}.' >> \"$1\"\n",
        token()
    );
    machine.program("editor", &script);
    let editor = machine.path("bin/editor").display().to_string();
    let said = machine.run_with(&["edit", &id], &[("EDITOR", &editor)]);
    assert!(said.stdout.contains("4 secret or personal value(s)"), "{}", said.whole());
    let text = std::fs::read_to_string(memory_file(&machine)).unwrap();
    assert!(text.contains("Or ask [redacted:email] for [redacted:github-token]."), "{text}");
    assert!(text.contains("\nwiki: \"[redacted:github-token]"), "{text}");
    for secret in [token().as_str(), "tess@harbour"] {
        assert_eq!(holding(&machine, secret), Vec::<PathBuf>::new());
    }
}

#[test]
fn what_comes_back_comes_without_its_secrets() {
    let machine = with_a_memory();
    let file = memory_file(&machine);
    let text = std::fs::read_to_string(&file).unwrap().replace("the vault", &token());
    std::fs::write(&file, text.replace("kind:", &format!("# by {}\nkind:", token()))).unwrap();
    let id = machine.json(&["list", "--json"])[0]["short"].as_str().unwrap().to_owned();
    machine.ok(&["forget", &id]);
    machine.ok(&["restore", &id]);
    assert!(machine.ok(&["search", "deploy key"]).contains("[redacted:github-token]"));
    assert_eq!(holding(&machine, &token()), Vec::<PathBuf>::new());
    assert!(std::fs::read_to_string(memory_file(&machine)).unwrap().contains("\n# by [redacted:"));
}

#[test]
fn nothing_comes_back_or_in_while_what_is_to_be_hidden_is_not_known() {
    let machine = with_a_memory();
    let id = machine.json(&["list", "--json"])[0]["short"].as_str().unwrap().to_owned();
    machine.ok(&["forget", &id]);
    let settings = "home/.config/throughline/config.toml";
    machine.write(settings, "[redact]\ndeny = [\"(\"]\n");
    let said = machine.run(&["restore", &id]);
    assert_eq!(said.code, 5, "{}", said.whole());
    assert!(said.stderr.contains("nothing is written into the repository"), "{}", said.stderr);
    let folder = machine.work().join(".throughline/memories");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    machine.write(settings, "");
    machine.ok(&["restore", &id]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_draft_is_redacted_for_those_who_will_read_it() {
    let machine = with_a_memory();
    let file = memory_file(&machine);
    let project = holding(&machine, "\"root_commits\"").remove(0);
    let draft = project.with_file_name("drafts").join(file.file_name().unwrap());
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("kind:", "status: draft\nasked: tess@harbour.co.uk # not a friend\nkind:")
        .replace("the vault", "what tess@harbour.co.uk has");
    std::fs::create_dir_all(draft.parent().unwrap()).unwrap();
    std::fs::write(&draft, text).unwrap();
    std::fs::remove_file(file).unwrap();
    machine.ok(&["review", "--accept-all"]);
    let text = std::fs::read_to_string(memory_file(&machine)).unwrap();
    assert!(text.contains("what [redacted:email] has") && !text.contains("tess@"), "{text}");
    assert!(text.contains("asked: \"[redacted:email] # not a friend\"\n"), "{text}");
}

#[test]
fn an_audit_finds_what_is_stored_and_in_history_and_cleans_the_files() {
    let machine = Machine::new();
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git")
            .arg("-C")
            .arg(machine.work())
            .args(["-c", "user.name=Tess", "-c", "user.email=tess@example.org"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    git(&["init", "--quiet"]);
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "The deploy key is kept in the vault"]);
    assert_eq!(machine.json(&["doctor", "--secrets", "--json"])["found"], serde_json::json!([]));
    // A user wrote a secret into the file with an editor, and committed it.
    let file = memory_file(&machine);
    let text = std::fs::read_to_string(&file).unwrap().replace("the vault", &token());
    std::fs::write(&file, text).unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "x"]);
    let said = machine.run(&["doctor", "--secrets"]);
    assert_eq!(said.code, 7, "{}", said.stderr);
    assert!(said.stdout.contains("github-token") && !said.stdout.contains(&token()));
    assert!(said.stdout.contains("`gitleaks git`"), "{}", said.stdout);
    let said = machine.run(&["doctor", "--secrets", "--fix"]);
    assert_eq!(said.code, 0, "{}", said.whole());
    assert!(said.stdout.contains("git's history keeps what was committed"), "{}", said.stdout);
    assert!(
        said.stdout.contains("1 file cleaned") && !said.stdout.contains("In files:"),
        "{}",
        said.stdout
    );
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&token()));
}

/// Returns the page of `throughline report` for a project with memories whose texts end where a secret could begin.
fn reported(machine: &Machine) -> PathBuf {
    machine.ok(&["init", "--yes", "--no-register"]);
    for title in [
        "PASSWORD=",
        "Rotate the API key every month",
        "client_secret:",
        "passphrase",
        "AWS_SECRET_ACCESS_KEY",
        "The header is Authorization: Bearer",
        "export SECRET_KEY=",
    ] {
        machine.ok(&["add", title, "--both", "--body", title, "--path", "src/token.rs"]);
    }
    let aside = machine.json(&["add", "The token:", "--both", "--json"])["short"].clone();
    machine.ok(&["forget", aside.as_str().unwrap()]);
    let session = "33333333-3333-4333-8333-333333333333";
    machine.transcript(&format!("home/.claude/projects/-w/{session}.jsonl"), session, "2026-10-01");
    machine.ok(&["sync"]);
    machine.receipt(&serde_json::json!({ "at": "2026-10-01T10:01:00Z", "event": "SessionStart",
        "session": session, "tokens": 40, "memories": [] }));
    machine.ok(&["report"]);
    let trees = machine.path("home/.local/state/throughline/trees");
    std::fs::read_dir(trees).unwrap().next().unwrap().unwrap().path().join("report.html")
}

#[test]
fn an_audit_takes_nothing_of_the_programs_own_for_a_secret() {
    let machine = Machine::new();
    let page = reported(&machine);
    assert!(page.is_file(), "{}", page.display());
    let said = machine.run(&["doctor", "--secrets"]);
    assert!(said.code == 0 && said.stdout.contains("No secret was found."), "{}", said.whole());
}

#[test]
fn a_secret_in_a_report_is_found_wherever_it_is_and_taken_out() {
    let machine = Machine::new();
    let page = reported(&machine);
    let before = std::fs::read_to_string(&page).unwrap();
    let token = token();
    let password = "password: Amber#slate204xQ";
    for (from, to) in [
        // Secrets in a text, an attribute, data, a script, a style, a separate line, and a comment.
        (">PASSWORD=<", format!(">{password}<")),
        ("<main", format!("<main title=\"{token}\"")),
        ("\"title\":\"passphrase\"", format!("\"title\":\"{password}\"")),
        ("<script>", format!("<script>\nconst key = \"{token}\";\n")),
        ("<style>", format!("<style>/* {token} */")),
        ("</html>", format!("</html>\n{password}\n")),
        ("<body>", format!("<!-- {token} --><body>")),
        // Secrets with characters that the page contains in escaped form.
        (">passphrase<", ">password: Amber&amp;slate&lt;204xQ<".to_owned()),
    ] {
        assert!(before.contains(from), "{from}");
        std::fs::write(&page, before.replacen(from, &to, 1)).unwrap();
        let said = machine.run(&["doctor", "--secrets"]);
        assert!(said.code == 7 && said.stdout.contains("report.html:"), "{to}\n{}", said.whole());
        machine.ok(&["doctor", "--secrets", "--fix"]);
        let after = std::fs::read_to_string(&page).unwrap();
        assert!(!after.contains(&token) && !after.contains("Amber"), "{to}");
        assert_eq!(after.len(), before.replacen(from, &to, 1).len(), "{to}");
    }
}

#[test]
fn files_that_an_audit_cannot_clean_or_read_are_reported_with_the_remedy() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.write("home/work/.throughline/notes.txt", &token());
    // A file name that another person chose is printed safely and in one line.
    machine.write("home/work/.throughline/a\u{1b}[2J\nNo secret was found.txt", &token());
    let said = machine.run(&["doctor", "--secrets"]);
    let lines = said.stdout.lines().filter(|line| line.contains("github-token"));
    assert!(lines.count() == 2 && !said.stdout.contains("\u{1b}[2J"), "{}", said.stdout);
    std::fs::remove_file(machine.work().join(".throughline/a\u{1b}[2J\nNo secret was found.txt"))
        .unwrap();
    assert!(
        said.stdout.contains("`throughline doctor --secrets --fix` redacts them."),
        "{}",
        said.stdout
    );
    let said = machine.run(&["doctor", "--secrets", "--fix"]);
    assert_eq!(said.code, 7, "{}", said.whole());
    assert!(said.stdout.contains("Change or remove the files by hand."), "{}", said.stdout);
    std::fs::remove_file(machine.work().join(".throughline/notes.txt")).unwrap();
    let project =
        std::fs::read_dir(machine.path("home/.local/share/throughline/projects")).unwrap();
    let archive = project.map(Result::unwrap).next().unwrap().path().join("archive");
    std::fs::create_dir_all(&archive).unwrap();
    std::fs::write(archive.join("s.jsonl.damaged"), b"\x1f\x8b\x08\0cut off").unwrap();
    let said = machine.run(&["doctor", "--secrets"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert!(said.stdout.contains("s.jsonl.damaged") && !said.stdout.contains("No secret"));
}

#[test]
fn where_nothing_is_learned_nothing_is_cleaned_or_purged() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.transcript("home/.claude/projects/-work/s1.jsonl", "s1", "2026-10-01");
    let archive = || holding(&machine, "").iter().any(|file| file.ends_with("s1.jsonl.gz"));
    for args in [&["doctor", "--secrets", "--fix"][..], &["purge", "--everything", "--yes"]] {
        let said = machine.run_with(args, &[("THROUGHLINE", "read")]);
        assert_eq!(said.code, 1, "{}", said.whole());
        assert!(said.stderr.contains("THROUGHLINE=full") && !archive(), "{}", said.whole());
    }
    assert_eq!(machine.run_with(&["doctor", "--secrets"], &[("THROUGHLINE", "read")]).code, 0);
    machine.ok(&["doctor", "--secrets", "--fix"]);
    assert!(archive());
}

#[test]
fn a_file_that_is_not_there_has_a_code_of_its_own() {
    let machine = Machine::new();
    let said = machine.run(&["redact", "/nowhere"]);
    assert_eq!(said.code, 3, "{}", said.whole());
    assert!(said.stderr.contains("/nowhere"), "{}", said.whole());
}
