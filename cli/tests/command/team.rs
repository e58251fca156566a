//! Memory files in a team, tested with real git: changes on a branch, checks before a commit, and merges.

use std::fs;
use std::process::{Command, Output};

use crate::common::Machine;

const FOLDER: &str = "home/work/.throughline/memories";

/// Returns a machine whose project is a real repository with two memories in its first commit. No processor runs.
fn team() -> Machine {
    let machine = Machine::new();
    repository(&machine);
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    memory(
        &machine,
        "oven",
        "01JZX3P4Q5R6S7T8V9WABCDEF0",
        "decision",
        "Bread is baked in the oven",
    );
    memory(&machine, "rolls", "01JZX3P4Q5R6S7T8V9WABCDEF1", "fact", "Rolls are baked at noon");
    // `init` also writes the README, which otherwise the first memory would add.
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    commit(&machine, "first");
    machine
}

/// Makes the project a real repository.
pub fn repository(machine: &Machine) {
    fs::remove_dir_all(machine.path("home/work/.git")).unwrap();
    git(machine, &["init", "-q", "-b", "main"]);
}

/// Makes the project a repository, with a branch `feature` beside `main`.
pub fn branches(machine: &Machine) {
    repository(machine);
    commit(machine, "first");
    git(machine, &["branch", "feature"]);
}

fn memory(machine: &Machine, name: &str, id: &str, kind: &str, title: &str) {
    let text = format!(
        "---\nid: {id}\nkind: {kind}\ncreated: 2026-10-01\n---\n\n# {title}\n\nThe first line.\n\nThe second line.\n\nThe third line.\n"
    );
    machine.write(&format!("{FOLDER}/{name}.md"), &text);
}

fn change(machine: &Machine, name: &str, from: &str, to: &str) {
    let path = format!("{FOLDER}/{name}.md");
    let text = machine.read(&path);
    assert!(text.contains(from), "{text}");
    machine.write(&path, &text.replace(from, to));
}

/// Runs git in the project as the user Ada, with the home of the machine and with its programs in PATH.
fn run_git(machine: &Machine, args: &[&str]) -> Output {
    let mut git = Command::new("git");
    git.args([
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "-c",
        "commit.gpgSign=false",
    ]);
    git.args(args).current_dir(machine.work()).env_clear();
    git.env("HOME", machine.path("home")).env("TMPDIR", machine.path("tmp"));
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("THROUGHLINE_NOW", crate::common::NOW);
    git.env("PATH", format!("{}:/usr/bin:/bin", machine.path("bin").display()));
    git.output().unwrap()
}

fn output_text(output: &Output) -> String {
    String::from_utf8([&output.stdout[..], &output.stderr[..]].concat()).unwrap()
}

pub fn git(machine: &Machine, args: &[&str]) -> String {
    let output = run_git(machine, args);
    assert!(output.status.success(), "git {args:?}\n{}", output_text(&output));
    output_text(&output)
}

pub fn commit(machine: &Machine, message: &str) {
    git(machine, &["add", "-A"]);
    git(machine, &["commit", "-q", "-m", message]);
}

/// Returns an invented token that redaction detects.
fn token() -> String {
    format!("ghp_{}", "A7b2Kq9ZxW3mN8vL5rT1cY6pD4sF0gH2jQ7u")
}

#[test]
fn a_commit_without_memories_is_compared_like_any_other() {
    let machine = Machine::new();
    repository(&machine);
    machine.write("home/work/notes.txt", "Before any memory.\n");
    commit(&machine, "first");
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    memory(&machine, "rolls", "01JZX3P4Q5R6S7T8V9WABCDEF1", "fact", "Rolls are baked at noon");
    let said = machine.ok(&["diff"]);
    assert!(said.contains("Rolls are baked at noon"), "{said}");
    machine.ok(&["check", "--staged"]);
}

#[test]
fn diff_lists_the_changes_of_a_branch_and_of_the_working_tree() {
    let machine = team();
    assert_eq!(machine.remark(&["diff"]), "No memory differs between HEAD and the working tree.\n");
    git(&machine, &["switch", "-q", "-c", "feature"]);
    memory(
        &machine,
        "bagels",
        "01JZX3P4Q5R6S7T8V9WABCDEF2",
        "fact",
        "Bagels are \u{1b}[2Jboiled\u{202e}",
    );
    change(&machine, "oven", "The second line.", "Another line.\n\nAnd one more.");
    change(&machine, "oven", "kind: decision\n", "kind: decision\ntags: [oven, heat]\n");
    fs::remove_file(machine.path(&format!("{FOLDER}/rolls.md"))).unwrap();
    machine.write(&format!("{FOLDER}/broken.md"), "---\nid: [\n---\n");
    let working = machine.ok(&["diff"]);
    commit(&machine, "second");
    git(&machine, &["switch", "-q", "main"]);
    memory(&machine, "noon", "01JZX3P4Q5R6S7T8V9WABCDEF3", "fact", "Noon is at twelve");
    commit(&machine, "third");

    let said = machine.ok(&["diff", "main...feature"]);
    let body = "\n\
         decision\n  Changes BCDEF0 \"Bread is baked in the oven\": its text has 3 new lines in place of 1; it gains the tags oven, heat.\n\
         \n\
         fact\n  Adds BCDEF2 \"Bagels are [2Jboiled\".\n  Removes BCDEF1 \"Rolls are baked at noon\".\n\
         \n\
         cannot be read\n";
    let body = body.replace("BCDEF", &said[said.find("Changes ").unwrap() + 8..][..5]);
    assert!(said.contains(&body), "{said}\n{body}");
    assert!(said.starts_with(
        "1 memory added, 1 changed, 1 removed from the commit where it left main to feature\n"
    ));
    assert!(said.contains("  In feature: .throughline/memories/broken.md:"), "{said}");
    // By default, the working tree is included even before a commit. With two dots, memories that are only on main are
    // not.
    assert!(
        working.contains(&body) && working.contains("from HEAD to the working tree"),
        "{working}"
    );
    let two = machine.ok(&["diff", "main..feature"]);
    assert!(two.contains("Removes ") && two.contains("\"Noon is at twelve\"."), "{two}");
    assert!(machine.ok(&["diff", "feature..main"]).contains("Adds "));

    let json = machine.json(&["diff", "main...feature", "--json"]);
    assert_eq!(json["added"][0]["title"], "Bagels are [2Jboiled\u{202e}");
    assert_eq!(json["changed"][0]["changes"][1]["field"], "tags");
    assert_eq!(json["removed"][0]["file"], ".throughline/memories/rolls.md");
    assert_eq!(json["unreadable"][0]["side"], "feature");
    for (args, code) in [
        (&["diff", "nothing"][..], 3),
        (&["diff", "main..nothing"], 3),
        (&["diff", "main..--all"], 3),
        (&["-C", "/", "diff"], 3),
    ] {
        let said = machine.run(args);
        assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{}", said.whole());
    }
}

#[test]
fn diff_reads_a_folder_that_nobody_vouched_for_and_follows_no_link() {
    let machine = Machine::new();
    repository(&machine);
    memory(&machine, "oven", "01JZX3P4Q5R6S7T8V9WABCDEF0", "fact", "Bread is baked in the oven");
    machine.write(
        "home/outside.md",
        "---\nid: 01JZX3P4Q5R6S7T8V9WABCDEF9\nkind: fact\n---\n# Outside\n",
    );
    commit(&machine, "first");
    std::os::unix::fs::symlink(
        machine.path("home/outside.md"),
        machine.path(&format!("{FOLDER}/a.md")),
    )
    .unwrap();
    let said = machine.ok(&["diff"]);
    assert!(said.contains("a.md: it is a symbolic link") && !said.contains("Outside"), "{said}");
    assert_eq!(machine.run(&["status"]).code, 4);
}

#[test]
fn check_names_what_should_not_be_committed_and_changes_nothing() {
    let machine = team();
    assert_eq!(machine.ok(&["check"]), "2 memory files checked: all good.\n");
    let secret = token();
    change(&machine, "oven", "The third line.", &format!("It opens with {secret} alone."));
    let home = machine.path("home");
    change(&machine, "rolls", "The first line.", "See /home/ada/work/src/rolls.rs and ~/x.");
    change(&machine, "rolls", "The second line.", &format!("And {}/notes.", home.display()));
    memory(&machine, "copy", "01JZX3P4Q5R6S7T8V9WABCDEF1", "fact", "A copy");
    machine.write(&format!("{FOLDER}/broken.md"), "---\nid: [\nkind: fact\n---\n# x\n");
    memory(&machine, "half", "01JZX3P4Q5R6S7T8V9WABCDEF4", "fact", "Half");
    change(&machine, "half", "The first line.", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs");
    let before = machine.read(&format!("{FOLDER}/oven.md"));
    let said = machine.run(&["check"]);
    assert_eq!(said.code, 7, "{}", said.whole());
    assert!(!said.whole().contains(&secret), "{}", said.whole());
    let file = |name: &str| format!(".throughline/memories/{name}.md");
    for line in [
        format!("{}:13: secret: it holds what is hidden as [redacted:github-token]", file("oven")),
        format!("{}:9: path: /home/ada/work/src/rolls.rs is a path of one machine", file("rolls")),
        format!("{}:11: path: /home/notes is a path of one machine", file("rolls")),
        format!("{}: id: {} has the same id", file("copy"), file("rolls")),
        format!("{}: id: {} has the same id", file("rolls"), file("copy")),
        format!("{}:2: not valid: ", file("broken")),
        format!("{}:9: conflict: a merge left a conflict", file("half")),
    ] {
        assert!(said.stdout.contains(&line), "{line}\n{}", said.whole());
    }
    assert!(said.stderr.contains("5 of 5 memory files not ready"), "{}", said.whole());
    assert_eq!(machine.read(&format!("{FOLDER}/oven.md")), before);

    // A single file is checked from a subfolder. Files that are not memory files are skipped.
    let json = machine.run(&[
        "check",
        "--json",
        ".throughline/memories/rolls.md",
        ".throughline/README.md",
    ]);
    assert_eq!(json.code, 5);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["checked"], 1);
    assert_eq!(json["problems"][0]["problem"], "repeated-id");
    assert_eq!(machine.run(&["check", "nowhere.md"]).code, 3);
    machine.write("home/work/src/rolls.rs", "");
    assert!(
        machine
            .ok(&["check", "src", "../work/.throughline/README.md"])
            .starts_with("0 memory files")
    );
}

#[test]
fn check_prints_no_secret_from_a_name_or_a_field() {
    let machine = team();
    let secret = token();
    memory(&machine, &secret, "01JZX3P4Q5R6S7T8V9WABCDEF5", "fact", "Named");
    let said = machine.run(&["check"]);
    assert!(said.code == 7 && !said.whole().contains(&secret), "{}", said.whole());
    // The value of an invalid field is quoted in the message, but a secret in it is not printed.
    fs::remove_file(machine.path(&format!("{FOLDER}/{secret}.md"))).unwrap();
    change(&machine, "oven", "kind: decision", &format!("kind: {secret}"));
    let said = machine.run(&["check"]);
    assert!(said.code == 7 && !said.whole().contains(&secret), "{}", said.whole());
    assert!(said.stdout.contains("oven.md:3: secret: "), "{}", said.whole());
}

#[test]
fn a_pre_commit_hook_reads_what_is_staged_and_not_the_working_tree() {
    let machine = team();
    let hook = machine.path("home/work/.git/hooks/pre-commit");
    machine
        .write("home/work/.git/hooks/pre-commit", "#!/bin/sh\nexec throughline check --staged\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(hook, mode).unwrap();

    // A secret that is only in the working tree is not part of the commit.
    change(&machine, "rolls", "The first line.", "Another first line.");
    git(&machine, &["add", "-A"]);
    let secret = token();
    change(&machine, "rolls", "Another first line.", &format!("It is {secret} here."));
    git(&machine, &["commit", "-q", "-m", "clean"]);
    // The secret is staged, but no longer in the working tree.
    git(&machine, &["add", "-A"]);
    change(&machine, "rolls", &secret, "nothing");
    let output = run_git(&machine, &["commit", "-q", "-m", "secret"]);
    let told = output_text(&output);
    assert!(!output.status.success() && told.contains("rolls.md:9: secret: "), "{told}");
    assert!(!told.contains(&secret), "{told}");
    git(&machine, &["add", "-A"]);
    git(&machine, &["commit", "-q", "-m", "clean again"]);
    // With `-a`, git uses a separate index for the commit.
    change(&machine, "rolls", "nothing", &secret);
    let output = run_git(&machine, &["commit", "-q", "-a", "-m", "secret"]);
    assert!(
        !output.status.success() && output_text(&output).contains(":9: secret: "),
        "{}",
        output_text(&output)
    );
    git(&machine, &["checkout", "-q", "--", "."]);
    // Files that were committed before are not checked again, but their ids are compared.
    memory(&machine, "copy", "01JZX3P4Q5R6S7T8V9WABCDEF0", "fact", "A copy");
    git(&machine, &["add", "-A"]);
    let output = run_git(&machine, &["commit", "-q", "-m", "copy"]);
    let told = output_text(&output);
    assert!(told.contains("copy.md: id: .throughline/memories/oven.md has the same id"), "{told}");
    assert!(told.contains("1 of 1 memory file not ready"), "{told}");
    assert_eq!(machine.run(&["check", "--staged"]).code, 5);
    assert!(
        machine.ok(&["check", "--staged", ".throughline/memories/oven.md"]).starts_with("0 memory")
    );
}

/// Returns a repository with the merge driver and two branches, one with the changes `ours`, the other with `theirs`.
/// `main` is checked out.
fn parted(ours: &dyn Fn(&Machine), theirs: &dyn Fn(&Machine)) -> Machine {
    let machine = team();
    machine.ok(&["init", "--yes", "--no-sync", "--with", "merge-driver"]);
    commit(&machine, "driver");
    git(&machine, &["switch", "-q", "-c", "feature"]);
    theirs(&machine);
    commit(&machine, "theirs");
    git(&machine, &["switch", "-q", "main"]);
    ours(&machine);
    commit(&machine, "ours");
    machine
}

#[test]
fn git_merges_fields_key_by_key_and_text_by_lines() {
    let machine = parted(
        &|machine| {
            change(
                machine,
                "oven",
                "created: 2026-10-01\n",
                "created: 2026-10-01\ntags: [heat]\nupdated: 2026-10-03\n",
            );
            change(machine, "oven", "The first line.", "Our first line.");
        },
        &|machine| {
            change(
                machine,
                "oven",
                "created: 2026-10-01\n",
                "created: 2026-10-01\nupdated: 2026-10-05\ntags: [stone]\npinned: true\n",
            );
            change(machine, "oven", "The third line.", "Their third line.");
        },
    );
    git(&machine, &["merge", "-q", "--no-edit", "feature"]);
    assert_eq!(
        machine.read(&format!("{FOLDER}/oven.md")),
        "---\nid: 01JZX3P4Q5R6S7T8V9WABCDEF0\nkind: decision\ncreated: 2026-10-01\ntags:\n  - heat\n  - stone\npinned: true\n\
         updated: 2026-10-05\n---\n\n# Bread is baked in the oven\n\nOur first line.\n\nThe second line.\n\nTheir third line.\n"
    );
    assert_eq!(machine.ok(&["check"]), "2 memory files checked: all good.\n");
    assert!(machine.ok(&["diff", "HEAD~1.."]).contains("it gains the tag stone"));
}

#[test]
fn conflicts_are_left_as_git_leaves_them_and_keep_a_commit_away() {
    let machine = parted(
        &|machine| {
            change(machine, "oven", "kind: decision", "kind: convention");
            change(machine, "oven", "The second line.", "Our line.");
        },
        &|machine| {
            change(machine, "oven", "kind: decision", "kind: fact");
            change(machine, "oven", "The second line.", "Their line.");
        },
    );
    let output = run_git(&machine, &["merge", "--no-edit", "feature"]);
    assert!(output_text(&output).contains("CONFLICT (content)"), "{}", output_text(&output));
    let text = machine.read(&format!("{FOLDER}/oven.md"));
    let front =
        "---\n<<<<<<< ours\nkind: convention\n=======\nkind: fact\n>>>>>>> theirs\n\n# Bread";
    let body = "<<<<<<< ours\nOur line.\n=======\nTheir line.\n>>>>>>> theirs\n";
    assert!(text.contains(front) && text.contains(body), "{text}");
    assert!(text.contains("kind: convention\ncreated"), "{text}");
    assert_eq!(machine.run(&["check"]).code, 5);
    let staged = machine.run(&["check", "--staged"]);
    assert!(
        staged.code == 5 && staged.stdout.contains("its merge is not done"),
        "{}",
        staged.whole()
    );
    git(&machine, &["merge", "--abort"]);
    // Another memory in a file of the same name is not a version of this memory, so the files are merged as text.
    let other = parted(
        &|machine| memory(machine, "new", "01JZX3P4Q5R6S7T8V9WABCDEF6", "fact", "One"),
        &|machine| memory(machine, "new", "01JZX3P4Q5R6S7T8V9WABCDEF7", "fact", "Another"),
    );
    assert!(!run_git(&other, &["merge", "--no-edit", "feature"]).status.success());
    assert!(other.read(&format!("{FOLDER}/new.md")).contains("<<<<<<< ours\nid: "));
}

#[test]
fn the_merge_driver_answers_by_its_exit_code() {
    let machine = team();
    let base = machine.read(&format!("{FOLDER}/oven.md"));
    machine.write("home/work/base.md", &base);
    machine.write("home/work/ours.md", &base.replace("The second", "Our second"));
    machine.write("home/work/theirs.md", &base.replace("The second", "Their second"));
    let files = ["base.md", "ours.md", "theirs.md"];
    let run = |more: &[&str]| machine.run(&[&["merge-driver"], more, &files].concat());
    let said = run(&["--dry-run"]);
    assert_eq!(
        (said.code, &*said.stdout),
        (1, "Would merge with conflicts.\n"),
        "{}",
        said.whole()
    );
    assert_eq!(machine.read("home/work/ours.md"), base.replace("The second", "Our second"));
    assert_eq!(run(&["--marker-size", "9"]).code, 1);
    assert!(machine.read("home/work/ours.md").contains("\n<<<<<<<<< ours\nOur second line.\n"));
    machine.write("home/work/ours.md", &base);
    assert_eq!(run(&[]).code, 0);
    assert_eq!(machine.read("home/work/ours.md"), base.replace("The second", "Their second"));
    fs::remove_file(machine.path("home/work/theirs.md")).unwrap();
    let said = run(&[]);
    assert!(said.code == 3 && said.stderr.contains("theirs.md"), "{}", said.whole());
}

#[test]
fn the_merge_driver_is_registered_on_request_and_taken_out_without_a_trace() {
    let machine = team();
    machine.write("home/work/.gitattributes", "* text=auto");
    let (config, attributes) = ("home/work/.git/config", "home/work/.gitattributes");
    let before = (machine.read(config), machine.read(attributes));
    let doctor = |machine: &Machine| machine.run(&["doctor"]).stdout;
    assert!(!doctor(&machine).contains("merge driver"));
    let said = machine.ok(&["init", "--yes", "--no-sync", "--with", "merge-driver"]);
    assert!(said.contains("  merging     /home/work/.gitattributes\n"), "{said}");
    assert!(
        machine
            .ok(&["init", "--yes", "--no-sync", "--with", "merge-driver"])
            .contains("(as it was)")
    );
    let line = ".throughline/memories/**/*.md merge=throughline";
    assert_eq!(machine.read(attributes), format!("* text=auto\n{line}"));
    let driver = git(&machine, &["config", "--local", "--get", "merge.throughline.driver"]);
    let program = machine.path("bin/throughline");
    assert_eq!(
        driver.trim(),
        format!("'{}' merge-driver --marker-size %L %O %A %B", program.display())
    );
    assert!(
        doctor(&machine).contains("ok    merge driver registered in this repository"),
        "{}",
        doctor(&machine)
    );
    let said = machine.ok(&["uninstall"]);
    assert!(said.contains("Taken out of /home/work/.gitattributes\n"), "{said}");
    assert!(said.contains("Taken out of /home/work/.git/config\n"), "{said}");
    assert_eq!((machine.read(config), machine.read(attributes)), before);
    // A teammate has the committed line, but has not registered the driver.
    machine.write(attributes, &format!("{line}\n"));
    assert!(doctor(&machine).contains("care  merge driver not registered on this machine"));
    machine.ok(&["uninstall"]);
    assert!(!machine.path(attributes).exists(), "nothing else was in it");
    // A driver of the same name that another program registered is kept.
    git(&machine, &["config", "merge.throughline.driver", "true"]);
    machine.ok(&["uninstall"]);
    assert_eq!(git(&machine, &["config", "merge.throughline.driver"]), "true\n");
    let outside = Machine::new();
    let said = outside.run(&["init", "--register-only", "--yes", "--with", "merge-driver"]);
    assert!(said.code == 3 && said.stderr.contains("git sets no merge driver"), "{}", said.whole());
}

#[test]
fn two_people_set_up_a_project_before_either_has_pulled() {
    let machine = Machine::new();
    repository(&machine);
    machine.write("home/work/notes.txt", "first\n");
    commit(&machine, "first");
    git(&machine, &["clone", "-q", ".", "../copy"]);
    let copy = machine.path("home/copy");
    let init = ["init", "--yes", "--no-register", "--no-sync"];
    machine.ok(&init);
    machine.ok(&[&init[..], &["-C", copy.to_str().unwrap()]].concat());
    // No file of Throughline prevents git operations of either user.
    assert_eq!(git(&machine, &["status", "--short"]), "");
    assert_eq!(git(&machine, &["-C", "../copy", "status", "--short"]), "");
    machine.ok(&["add", "Bread is baked at night"]);
    for file in ["README.md", "memories"] {
        assert!(machine.path("home/work/.throughline").join(file).exists(), "{file}");
    }
    commit(&machine, "a memory");
    git(&machine, &["-C", "../copy", "pull", "-q"]);
    assert!(copy.join(".throughline/README.md").exists());
}

#[test]
fn the_folder_explains_itself_and_the_note_is_nobodys_memory() {
    let machine = team();
    let readme = "home/work/.throughline/README.md";
    let text = machine.read(readme);
    for part in [
        "is no memory",
        "`throughline trust`",
        "`throughline diff main..branch`",
        "`throughline check`",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(machine.json(&["list", "--json"]).as_array().unwrap().len(), 2);
    let doctor = |machine: &Machine| machine.run(&["doctor"]).stdout;
    assert!(doctor(&machine).contains("ok    README       /home/work/.throughline/README.md\n"));
    machine.write(readme, "Ours.\n");
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    assert_eq!(machine.read(readme), "Ours.\n");
    assert!(doctor(&machine).contains("README.md, changed by a person"));
    fs::remove_file(machine.path(readme)).unwrap();
    assert!(doctor(&machine).contains("README.md is not there"));
    machine.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    // Memories and the README are kept.
    machine.ok(&["uninstall", "--purge", "--yes"]);
    assert_eq!(machine.read(readme), text);
    assert!(machine.path(&format!("{FOLDER}/oven.md")).exists());

    let empty = Machine::new();
    repository(&empty);
    empty.ok(&["init", "--yes", "--no-register", "--no-sync"]);
    assert!(!empty.path("home/work/.throughline").exists());
    // The README is as an earlier version wrote it.
    empty.write(readme, &text);
    let said = empty.ok(&["uninstall", "--purge", "--yes"]);
    assert!(said.contains("Deleted /home/work/.throughline, which held no memory"), "{said}");
    assert!(!empty.path("home/work/.throughline").exists());
    let private = Machine::new();
    private.ok(&["init", "--yes", "--private", "--no-register", "--no-sync"]);
    assert!(!private.path(readme).exists());
    assert!(!doctor(&private).contains("README"));
}
