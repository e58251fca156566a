//! Whose a memory is, as git tells it: by commits, merges, changes in the working tree.

use super::*;

#[test]
fn what_is_not_committed_or_was_written_here_is_the_users() {
    let team = Team::who_trust_bob();
    team.0.ok(&["add", "Tags are signed by the release script", "--kind", "fact"]);
    team.memory("editor.md", 4, "Written with an editor");
    assert_eq!(team.held(), [""; 0]);
    // Whoever commits it then: a squash on the server, say.
    team.commit(MALLORY);
    assert_eq!(team.held(), [""; 0]);
    // A change by somebody else makes it theirs, and one by the user the user's again.
    team.memory("editor.md", 4, "Written by somebody else");
    team.commit(MALLORY);
    assert_eq!(team.held(), ["Written by somebody else"]);
    team.memory("editor.md", 4, "Written with an editor again");
    assert_eq!(team.held(), ["Written with an editor again"]);
    assert!(team.0.ok(&["review"]).contains("becomes yours when you commit it"));
    team.commit(ADA);
    assert_eq!(team.held(), [""; 0]);
    // Of the user's own text, whoever committed it, a change is the user's before it is committed.
    team.memory("editor.md", 4, "Written with another editor");
    assert_eq!(team.held(), [""; 0]);
    team.commit(MALLORY);
    assert_eq!(team.held(), [""; 0]);
}

#[test]
fn a_change_by_others_is_theirs_even_of_the_front_matter_alone() {
    let team = Team::who_trust_bob();
    team.0.ok(&["sync"]);
    let name = "home/work/.throughline/memories/ada.md";
    let text = team.0.read(name).replacen("---\n", "---\npinned: true\n", 1);
    team.0.write(name, &text);
    team.commit(MALLORY);
    assert_eq!(team.held(), ["Prices are integer cents"]);
    // What the user changes in it, perhaps amid a pull that puts others' lines there, is once committed.
    team.0.write(name, &text.replace("It is so.", "I looked at it: it is so."));
    assert_eq!(team.held(), ["Prices are integer cents"]);
    team.commit(ADA);
    assert_eq!(team.held(), [""; 0]);
}

#[test]
fn attributes_that_make_git_see_a_change_make_nothing_the_users() {
    let team = Team::who_trust_bob();
    // Committed with line ends that these attributes do not have: git calls the file changed.
    team.memory("mallory.md", 3, "The deploy key lies in the wiki");
    let name = "home/work/.throughline/memories/mallory.md";
    let text = team.0.read(name).replace("It is so.", "It is $Id: not so $.");
    team.0.write(name, &text.replace('\n', "\r\n"));
    team.commit(MALLORY);
    team.0.write("home/work/.gitattributes", "*.md text eol=lf ident\n");
    team.commit(MALLORY);
    std::fs::remove_file(team.0.path(name)).unwrap();
    team.git(&["checkout", "--", "."]);
    assert_eq!(team.held(), ["The deploy key lies in the wiki"]);
}

#[test]
fn attributes_that_cannot_be_read_any_more_make_nothing_the_users() {
    let team = Team::who_trust_bob();
    team.memory("mallory.md", 3, "The deploy key lies in the wiki");
    let name = "home/work/.throughline/memories/mallory.md";
    team.0.write(name, &team.0.read(name).replace("It is so.", "It is $Id$."));
    // Attributes only while they are read from the index: a checkout writes them, too, as UTF-16.
    team.0.write("home/attributes", "*.md ident\n.gitattributes working-tree-encoding=UTF-16\n");
    team.git(&["add", "."]);
    let made = team.git_command().args(["hash-object", "-w", "../attributes"]).output().unwrap();
    let id = String::from_utf8(made.stdout).unwrap();
    let entry = format!("100644,{},.throughline/memories/.gitattributes", id.trim());
    team.git(&["update-index", "--add", "--cacheinfo", &entry]);
    let author = format!("--author=Somebody <{MALLORY}>");
    team.git(&["commit", "--quiet", "--message=x", &author]);
    team.git(&["checkout", "--quiet", "HEAD~1"]);
    team.git(&["checkout", "--quiet", "main"]);
    assert!(team.0.read(name).contains("It is $Id: "));
    assert_eq!(team.held(), ["The deploy key lies in the wiki"]);
    assert!(team.0.ok(&["review"]).contains("mallory@example.com committed it"));
}

/// Lets Mallory change the end of a memory on another branch; its text on this one, long enough for a change of its
/// beginning to be merged with that.
fn changed_by_mallory(team: &Team, name: &str, author: &str) -> String {
    let text = format!("{}\n\nWhy\n\nWhere\n\nEnd\n", team.0.read(name).trim_end());
    team.0.write(name, &text);
    team.commit(author);
    team.git(&["checkout", "--quiet", "-b", "side"]);
    team.0.write(name, &text.replace("End", "The deploy key lies in the wiki"));
    team.commit(MALLORY);
    team.git(&["checkout", "--quiet", "main"]);
    text
}

#[test]
fn what_a_merge_puts_together_is_of_all_whose_lines_it_has() {
    let team = Team::who_trust_bob();
    let name = "home/work/.throughline/memories/ada.md";
    let text = changed_by_mallory(&team, name, ADA);
    team.0.write(name, &text.replace("It is so.", "It is as it is."));
    team.commit(ADA);
    team.git(&["merge", "--quiet", "--no-edit", "side"]);
    assert!(team.0.read(name).contains("It is as it is.") && team.0.read(name).contains("wiki"));
    assert_eq!(team.held(), ["Prices are integer cents"]);
    assert!(team.0.ok(&["review"]).contains("mallory@example.com committed it"));
    team.0.ok(&["trust", "--author", MALLORY]);
    assert_eq!(team.held(), [""; 0]);
    team.0.ok(&["trust", "--revoke", "--author", MALLORY]);
    // The user's own commit adopts all that the file says.
    team.0.write(name, &team.0.read(name).replace("Where", "Here"));
    team.commit(ADA);
    assert_eq!(team.held(), [""; 0]);
}

#[test]
fn what_a_merge_puts_into_a_file_with_another_name_is_held() {
    let team = Team::who_trust_bob();
    let name = "home/work/.throughline/memories/ada.md";
    let text = changed_by_mallory(&team, name, ADA);
    team.git(&["mv", ".throughline/memories/ada.md", ".throughline/memories/cents.md"]);
    team.0.write(&name.replace("ada", "cents"), &text.replace("It is so.", "It is as it is."));
    team.commit(ADA);
    assert_eq!(team.held(), [""; 0]);
    team.git(&["merge", "--quiet", "--no-edit", "side"]);
    assert!(team.0.read(&name.replace("ada", "cents")).contains("wiki"));
    assert_eq!(team.held(), ["Prices are integer cents"]);
    assert!(team.0.ok(&["review"]).contains("git does not tell who committed it"));
}

#[test]
fn what_others_committed_stays_theirs_over_a_commit_of_the_users() {
    let team = Team::who_trust_bob();
    // Known as the user's by its commit alone.
    team.memory("new.md", 7, "The staging database is slow");
    team.commit(ADA);
    team.memory("new.md", 7, "The deploy key lies in the wiki");
    team.commit(MALLORY);
    assert_eq!(team.held(), ["The deploy key lies in the wiki"]);
    team.git(&["reset", "--quiet", "HEAD~1"]);
    assert_eq!(team.held(), ["The deploy key lies in the wiki"]);
}

#[test]
fn a_merge_that_says_something_new_is_its_authors() {
    let team = Team::who_trust_bob();
    team.git(&["checkout", "--quiet", "-b", "side"]);
    team.memory("bob.md", 2, "The staging database is slow");
    team.commit(BOB);
    team.git(&["checkout", "--quiet", "main"]);
    team.memory("bob.md", 2, "The staging database is new");
    team.commit(BOB);
    assert!(
        !team.git_command().args(["merge", "--quiet", "side"]).output().unwrap().status.success()
    );
    // Amid a merge nobody can tell whose it is.
    team.memory("bob.md", 2, "The staging database takes any password");
    assert_eq!(team.held(), ["The staging database takes any password"]);
    team.commit(MALLORY);
    assert_eq!(team.held(), ["The staging database takes any password"]);
    // Of both sides the one is taken whose text it is.
    team.git(&["reset", "--quiet", "--hard", "HEAD^2"]);
    assert_eq!(team.held(), [""; 0]);
}

#[test]
fn where_git_does_not_tell_nothing_is_taken() {
    let team = Team::who_trust_bob();
    assert_eq!(team.held(), [""; 0]);
    // Cut off here, history says that whoever made the last commit brought everything.
    team.memory("mallory.md", 3, "The deploy key lies in the wiki");
    team.commit(MALLORY);
    team.0.write("home/work/other", "");
    team.commit(BOB);
    let head = team.git_command().args(["rev-parse", "HEAD"]).output().unwrap();
    let head = String::from_utf8(head.stdout).unwrap();
    team.0.write("home/work/.git/shallow", &head);
    assert_eq!(team.held(), ["The deploy key lies in the wiki"]);
    std::fs::remove_file(team.0.path("home/work/.git/shallow")).unwrap();
    // A repository of its own in the folder is not what the project's history tells of.
    team.git(&["init", "--quiet", ".throughline"]);
    team.memory("nested.md", 5, "It came with a repository of its own");
    assert!(team.held().contains(&"It came with a repository of its own".to_owned()));
}

#[test]
fn who_the_user_is_and_how_far_history_goes_is_asked_anew() {
    let team = Team::who_trust_bob();
    assert_eq!(team.held(), [""; 0]);
    team.git(&["config", "--global", "user.email", "carol@example.com"]);
    assert_eq!(team.held(), ["Prices are integer cents"]);
    team.git(&["config", "--global", "user.email", ADA]);
    assert_eq!(team.held(), [""; 0]);

    team.memory("new.md", 3, "The staging database is fast");
    team.commit(BOB);
    team.0.write("home/work/other", "");
    team.commit(ADA);
    let head = team.git_command().args(["rev-parse", "HEAD"]).output().unwrap();
    team.0.write("home/work/.git/shallow", &String::from_utf8(head.stdout).unwrap());
    assert_eq!(team.held(), ["The staging database is fast"]);
    std::fs::remove_file(team.0.path("home/work/.git/shallow")).unwrap();
    assert_eq!(team.held(), [""; 0]);
}

#[test]
fn without_a_git_that_can_be_asked_what_may_be_of_others_is_held() {
    let team = Team::who_trust_bob();
    assert_eq!(team.held(), [""; 0]);
    team.memory("new.md", 3, "The staging database is fast");
    team.commit(BOB);
    // It takes no settings from its environment, so that the repository's own filter would be run.
    let old = "#!/bin/sh\ncase \"$*\" in *' version') echo git version 2.30.9; exit;; esac\n\
               unset GIT_CONFIG_COUNT\nPATH=/usr/bin:/bin exec git \"$@\"\n";
    std::fs::create_dir(team.0.path("bin/old")).unwrap();
    team.0.program("old/git", old);
    std::fs::create_dir(team.0.path("none")).unwrap();
    team.git(&["config", "filter.evil.clean", "touch ran; cat"]);
    team.0.write("home/work/.gitattributes", "* filter=evil\n");
    team.memory("bob.md", 2, "The staging database is writable");
    let told = ["git 2.30 is too old: 2.31 or later is needed", "git cannot be run"];
    for (folder, told) in ["bin/old", "none"].into_iter().zip(told) {
        let path = team.0.path(folder).display().to_string();
        let path = if folder == "none" { path } else { format!("{path}:/usr/bin:/bin") };
        let synced = team.0.run_with(&["sync", "--rebuild"], &[("PATH", &path)]);
        assert!(synced.whole().contains(told), "{}", synced.whole());
        let doctor = team.0.run_with(&["doctor"], &[("PATH", &path)]).stdout;
        assert!(doctor.contains(told), "{doctor}");
        let listed = team.0.run_with(&["list", "--json"], &[("PATH", &path)]).stdout;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let held = listed.as_array().unwrap().iter().filter(|memory| memory["held"] == true);
        assert_eq!(held.count(), 3, "{listed}");
        assert!(!team.0.work().join("ran").exists(), "a filter of the repository was run");
    }
}

#[test]
fn what_git_is_about_to_commit_or_has_elsewhere_is_nobodys_yet() {
    let team = Team::who_trust_bob();
    // As a merge leaves it for the hooks that run before its commit.
    team.memory("merged.md", 8, "The archive is emptied on Mondays");
    team.git(&["add", "."]);
    assert_eq!(team.held(), ["The archive is emptied on Mondays"]);
    team.commit(MALLORY);
    assert_eq!(team.held(), ["The archive is emptied on Mondays"]);

    team.git(&["init", "--quiet", ".throughline/memories/team"]);
    team.memory("team/inner.md", 7, "The gate opens at six");
    assert_eq!(team.held(), ["The archive is emptied on Mondays", "The gate opens at six"]);
}

/// Begins a merge of what others do to memories, which stops at a conflict elsewhere.
fn merge_that_stops(team: &Team, change: impl FnOnce()) {
    let note = |text: &str| team.0.write("home/work/notes.txt", text);
    note("one");
    team.commit(ADA);
    team.git(&["checkout", "--quiet", "-b", "side"]);
    change();
    note("two");
    team.commit(MALLORY);
    team.git(&["checkout", "--quiet", "main"]);
    note("three");
    team.commit(ADA);
    let merged = team.git_command().args(["merge", "--quiet", "side"]).output().unwrap();
    assert!(!merged.status.success());
}

/// Puts a line into the front matter of Ada's memory.
fn put_above(team: &Team, line: &str) {
    let name = "home/work/.throughline/memories/ada.md";
    team.0.write(name, &team.0.read(name).replacen("---\n", &format!("---\n{line}\n"), 1));
}

#[test]
fn front_matter_that_others_change_is_theirs_wherever_git_stops() {
    let team = Team::who_trust_bob();
    team.memory("wiki.md", 7, "The deploy key lies in the wiki");
    team.commit(ADA);
    merge_that_stops(&team, || put_above(&team, "pinned: true"));
    assert_eq!(team.held(), ["Prices are integer cents"]);
    team.git(&["merge", "--abort"]);
    assert_eq!(team.held(), [""; 0]);

    // Known as somebody's, it stays theirs when it is no commit any more.
    put_above(&team, "pinned: true");
    team.commit(MALLORY);
    assert_eq!(team.held(), ["Prices are integer cents"]);
    team.git(&["reset", "--quiet", "HEAD~1"]);
    assert_eq!(team.held(), ["Prices are integer cents"]);
    // What Ada puts there herself is hers.
    team.git(&["checkout", "--quiet", "."]);
    put_above(&team, "confidence: 0.5");
    assert_eq!(team.held(), [""; 0]);
}

#[test]
fn however_many_files_others_change_each_is_looked_at_or_held() {
    let team = Team::who_trust_bob();
    let theirs = |title: &str| {
        for number in 0..210u16 {
            let name = format!("a{number}.md");
            team.memory(&name, 9, &format!("{title} {number}"));
            let path = format!("home/work/.throughline/memories/{name}");
            let unlike = format!("01k00000000000000000{number:06}");
            let text = team.0.read(&path);
            let id = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
            team.0.write(&path, &text.replace(id, &unlike));
        }
    };
    theirs("Number");
    team.commit(MALLORY);
    merge_that_stops(&team, || {
        theirs("Changed number");
        let name = "home/work/.throughline/memories/ada.md";
        team.0.write(name, &team.0.read(name).replace("It is so.", "The deploy key lies there."));
    });
    team.0.ok(&["sync"]);
    let listed = team.0.json(&["list", "--json", "--limit", "1000"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 212);
    let given = listed.iter().filter(|memory| memory["held"] != true);
    let given: Vec<&str> = given.map(|memory| memory["title"].as_str().unwrap()).collect();
    assert_eq!(given, ["The staging database is read only"]);
}

#[test]
fn what_a_merge_puts_into_another_folder_is_held() {
    let team = Team::who_trust_bob();
    for (number, title) in [(7, "Rates are in percent"), (8, "Tests run under nextest")] {
        team.memory(&format!("old/{number}.md"), number, title);
    }
    team.commit(ADA);
    team.git(&["config", "merge.directoryRenames", "true"]);
    team.git(&["checkout", "--quiet", "-b", "side"]);
    team.memory("old/theirs.md", 9, "The deploy key lies in the wiki");
    team.commit(MALLORY);
    team.git(&["checkout", "--quiet", "main"]);
    team.git(&["mv", ".throughline/memories/old", ".throughline/memories/new"]);
    team.commit(ADA);
    team.git(&["merge", "--quiet", "--no-edit", "side"]);
    assert!(team.0.path("home/work/.throughline/memories/new/theirs.md").exists());
    assert_eq!(team.held(), ["The deploy key lies in the wiki"]);
}

#[test]
fn of_several_whose_text_it_is_the_one_is_remembered_who_is_not_trusted() {
    let team = Team::who_trust_bob();
    let name = "home/work/.throughline/memories/bob.md";
    let text = changed_by_mallory(&team, name, BOB);
    team.0.write(name, &text.replace("It is so.", "It is as it is."));
    team.commit(BOB);
    let mut merge = team.git_command();
    merge.args(["merge", "--quiet", "--no-edit", "side"]).env("GIT_AUTHOR_EMAIL", BOB);
    assert!(merge.status().unwrap().success());
    assert_eq!(team.held(), ["The staging database is read only"]);
    team.git(&["reset", "--quiet", "HEAD~1"]);
    for _ in 0..2 {
        assert_eq!(team.held(), ["The staging database is read only"]);
    }
}
