//! Tests of setup and removal: `init`, `uninstall`, `trust`, `link`, `doctor`, `config`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Machine, files};

const SETTINGS: &str = "home/.claude/settings.json";

#[test]
fn init_registers_everything_and_uninstall_restores_every_byte() {
    let machine = Machine::new();
    machine.write(SETTINGS, "{\n    \"model\": \"opus\",   \n  \"hooks\": {}\n}\n");
    machine.write("home/.claude.json", "{\n  \"numStartups\": 3\n}");
    let before = files(&machine.path("home"));

    let said = machine.run(&["init", "--yes"]);
    insta::assert_snapshot!(said.whole(), @r#"
    code: 0
    Throughline for ~/work
      found       no session of this project yet
      memories    in ~/work/.throughline (`--private` keeps them elsewhere)
      hooks       for 9 events, in ~/.claude/settings.json; a copy is kept beside it
      MCP server  in ~/.claude.json
      read by     nobody (`throughline config llm` chooses a model)
      then        your next session is the first to be learned from
      undo        `throughline uninstall` takes it out again
    Throughline is set up.
      sessions    none of this project yet
                  No folder ~/.claude/projects: Claude Code has written no transcript there. CLAUDE_CONFIG_DIR names its folder if it is another one; `throughline sync --from DIR` takes all transcripts of a folder.
    No model reads sessions: nothing is written into the repository until one is chosen (`throughline config llm`) or somebody uses `throughline add`.

    Next: work as usual. `throughline` shows what is known, `throughline why` what Claude was given.
    CLAUDE.md is never written, and Claude's auto memory is read but never changed. Throughline adds what sessions showed where it fits a prompt, a file or an error.
    More: `throughline init --with skill,agents,rules` lets Claude know when to use memory; `--with merge-driver` lets git merge memory files key by key.
    ---
    "#);
    let settings: serde_json::Value = serde_json::from_str(&machine.read(SETTINGS)).unwrap();
    let stop = &settings["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(stop["command"], machine.path("bin/throughline-stop").to_str().unwrap());
    assert_eq!(stop["args"], serde_json::json!([]));
    let state: serde_json::Value =
        serde_json::from_str(&machine.read("home/.claude.json")).unwrap();
    assert_eq!(
        state["mcpServers"]["throughline"]["command"],
        machine.path("bin/throughline-mcp").to_str().unwrap()
    );
    assert!(!machine.path("home/work/.throughline").exists(), "it comes with the first memory");

    let again = machine.ok(&["init", "--yes"]);
    assert!(again.contains("settings.json and /home/.claude.json are as they were."), "{again}");
    assert_eq!(machine.read(SETTINGS), serde_json_text(&machine, SETTINGS));
    machine.ok(&["add", "Bread is baked at night"]);
    assert!(machine.read("home/work/.throughline/README.md").contains("Throughline"));

    let said = machine.run(&["uninstall", "--yes"]);
    insta::assert_snapshot!(said.whole(), @r#"
    code: 0
    Taken out of /home/.claude.json
    Taken out of /home/.claude/settings.json
    Your memories and the archive stay where they are; `throughline uninstall --purge` deletes what lies outside of repositories.
    ---
    "#);
    assert_eq!(files(&machine.path("home")), before);
    assert!(machine.path("home/work/.throughline/README.md").exists());
}

#[test]
fn init_names_the_project_that_a_tree_might_belong_to() {
    let machine = Machine::new();
    let remote = "[remote \"origin\"]\n\turl = https://git.example/billing.git\n";
    for folder in ["home/work", "home/copy"] {
        fs::create_dir_all(machine.path(folder)).unwrap();
        let made = std::process::Command::new("git")
            .args(["init", "-q"])
            .current_dir(machine.path(folder))
            .status();
        assert!(made.unwrap().success());
        let config = format!("{}{remote}", machine.read(&format!("{folder}/.git/config")));
        machine.write(&format!("{folder}/.git/config"), &config);
    }
    let first = machine.ok(&["init", "--yes", "--no-register"]);
    assert!(!first.contains("throughline link"), "{first}");
    let copy = machine.path("home/copy");
    let in_copy = ["-C", copy.to_str().unwrap(), "init", "--yes", "--no-register"];
    let link = "`throughline link /home/work`";
    let second = machine.ok(&in_copy);
    assert!(second.contains(link), "{second}");
    assert!(!machine.ok(&in_copy).contains(link), "said once");
}

#[test]
fn a_second_clone_joins_by_name_and_leaves_private_what_is_private() {
    let machine = Machine::new();
    let git = |folder: &str, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-C"])
            .arg(machine.path(folder))
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(git.status().unwrap().success(), "{args:?}");
    };
    let upstream = machine.path("upstream");
    git("home/work", &["init", "-q"]);
    git("home/work", &["commit", "-q", "--allow-empty", "-m", "first"]);
    git("", &["clone", "-q", "--bare", "home/work", "upstream"]);
    git("home/work", &["remote", "add", "origin", upstream.to_str().unwrap()]);
    git("", &["clone", "-q", "upstream", "home/copy"]);
    let copy = machine.path("home/copy");
    let in_copy = |args: &[&str]| {
        let place = ["-C", copy.to_str().unwrap()];
        machine.ok(&[&place, args].concat())
    };
    let committed = |folder: &str| {
        let folder = machine.path(folder).join(".throughline/memories");
        fs::read_dir(folder).map_or(0, Iterator::count)
    };

    machine.ok(&["init", "--yes", "--private", "--no-register"]);
    machine.ok(&["add", "--kind", "fact", "The staging host is moss"]);
    let said = in_copy(&["init", "--yes", "--no-register"]);
    assert!(said.contains("joins /home/work (memories private)"), "{said}");
    assert!(said.contains("(private)") && !said.contains('!'), "{said}");
    machine.ok(&["sync"]);
    in_copy(&["sync"]);
    assert_eq!((committed("home/work"), committed("home/copy")), (0, 0));
    // A second setup does not mention the join again, and changes nothing.
    assert!(!in_copy(&["init", "--yes", "--no-register"]).contains("joins"));

    let said = in_copy(&["init", "--yes", "--committed", "--no-register"]);
    assert!(said.contains("What was private is written into .throughline"), "{said}");
    in_copy(&["sync"]);
    assert_eq!(committed("home/work") + committed("home/copy"), 1);
    let said = in_copy(&["init", "--yes", "--private", "--no-register"]);
    assert!(said.contains("are not read any more"), "{said}");
}

#[test]
fn a_folder_in_the_place_of_another_is_not_read_until_a_person_links_it() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "The staging host is moss"]);
    assert!(machine.ok(&["list"]).contains("moss"));
    let (work, aside) = (machine.work(), machine.path("home/aside"));
    fs::rename(&work, &aside).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::create_dir_all(work.join(".git")).unwrap();
    fs::rename(aside.join(".throughline"), work.join(".throughline")).unwrap();

    let said = machine.run(&["list"]);
    let refused = "/home/work is not the folder that you trusted: it is another folder";
    assert_eq!(said.code, 4, "{}", said.whole());
    assert!(said.stderr.contains(refused) && !said.whole().contains("moss"), "{}", said.whole());
    let doctor = machine.run(&["doctor"]).whole();
    assert!(doctor.contains(refused) && doctor.contains("throughline link"), "{doctor}");
    let link = said.stderr.split('`').nth(1).unwrap().split(' ').nth(2).unwrap().to_owned();
    machine.ok(&["link", &link]);
    assert!(machine.ok(&["list"]).contains("moss"));

    // When the folder is moved back, it is the same project again.
    fs::rename(&work, machine.path("home/other")).unwrap();
    fs::rename(&aside, &work).unwrap();
    assert!(machine.remark(&["list"]).contains("No memories"));
    machine.ok(&["trust", "--revoke"]);
    assert!(machine.run(&["list"]).stderr.contains("is not set up"));
}

#[test]
fn an_unusable_entry_of_the_memory_folder_is_reported_with_the_remedy() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    let memories = machine.path("home/work/.throughline/memories");
    fs::create_dir_all(&memories).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", memories.join("link.md")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(memories.join("socket.md")).unwrap());
    let pipe = memories.join("pipe.md");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    machine.write("home/work/.throughline/memories/long.md", &"x".repeat(300 << 10));
    machine.write("home/work/.throughline/memories/CON.md", "x");
    let told = machine.run(&["doctor"]).stdout;
    for (name, remedy) in [
        ("link.md: this is a symbolic link", "-> Remove the link, or put what it leads to"),
        ("pipe.md: this is no regular", "-> Remove it, or move it away."),
        ("socket.md: this is no regular", "-> Remove it, or move it away."),
        ("long.md: longer than 256 KiB", "-> Shorten it, or move it away."),
        ("CON.md: ", "-> Rename it."),
    ] {
        let at = told.find(name).unwrap_or_else(|| panic!("{name}: {told}"));
        assert!(told[at..].lines().nth(1).unwrap().contains(remedy), "{name}: {told}");
    }

    fs::rename(machine.path("home/work/.throughline"), machine.path("elsewhere")).unwrap();
    let store = machine.path("home/work/.throughline");
    std::os::unix::fs::symlink(machine.path("elsewhere"), &store).unwrap();
    let told = machine.run(&["doctor"]).stdout;
    assert!(told.contains("/.throughline: this folder is a symbolic link"), "{told}");
    assert!(told.contains("-> Remove the link and put the folder itself in its place."), "{told}");
    assert!(told.contains("config.toml: .throughline: this is a symbolic link"), "{told}");
    assert!(!told.contains("with any editor"), "{told}");
}

#[test]
fn nobody_vouches_for_a_memory_folder_that_leads_elsewhere() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("elsewhere/memories")).unwrap();
    std::os::unix::fs::symlink(machine.path("elsewhere"), machine.path("home/work/.throughline"))
        .unwrap();
    for command in [&["init", "--yes"][..], &["trust"]] {
        let said = machine.run(command).whole();
        assert!(said.contains("symbolic link") && !said.contains("code: 0"), "{said}");
    }
    assert!(!machine.path("home/.local/share/throughline/by-path").exists());
    // A private project does not need the folder in the repository.
    machine.ok(&["init", "--yes", "--private"]);
}

/// Returns the text of a file after a second `init`, which must not change the file.
fn serde_json_text(machine: &Machine, below: &str) -> String {
    machine.ok(&["init", "--yes", "--no-sync"]);
    machine.read(below)
}

#[test]
fn a_project_without_settings_gets_them_and_loses_them_again() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--settings", "local"]);
    let text = machine.read("home/work/.claude/settings.local.json");
    assert!(text.contains("throughline-session-start"), "{text}");
    let state: serde_json::Value =
        serde_json::from_str(&machine.read("home/.claude.json")).unwrap();
    let work = machine.work();
    assert!(state["projects"][work.to_str().unwrap()]["mcpServers"]["throughline"].is_object());
    machine.ok(&["uninstall"]);
    assert!(!work.join(".claude").exists());
    assert!(!machine.path("home/.claude.json").exists());
}

#[test]
fn what_the_client_wrote_since_stays_when_we_leave() {
    let machine = Machine::new();
    machine.write("home/.claude.json", "{\n  \"numStartups\": 3,\n  \"projects\": {}\n}");
    machine.write(SETTINGS, "{\n  \"model\": \"opus\"\n}\n");
    machine.ok(&["init", "--yes"]);
    for (file, before, after) in [
        ("home/.claude.json", "\"numStartups\": 3", "\"numStartups\": 4"),
        (SETTINGS, "\"model\": \"opus\"", "\"model\": \"sonnet\",\n  \"cleanupPeriodDays\": 90"),
    ] {
        let text = machine.read(file);
        assert!(text.contains("throughline"), "{text}");
        machine.write(file, &text.replace(before, after));
    }
    machine.ok(&["uninstall"]);
    assert_eq!(
        machine.read("home/.claude.json"),
        "{\n  \"numStartups\": 4,\n  \"projects\": {}\n}"
    );
    assert_eq!(
        machine.read(SETTINGS),
        "{\n  \"model\": \"sonnet\",\n  \"cleanupPeriodDays\": 90\n}\n"
    );
}

#[test]
fn hooks_that_would_run_twice_are_noticed() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    assert!(!machine.run(&["doctor"]).stdout.contains("runs twice"));
    machine.ok(&["init", "--yes", "--settings", "project"]);
    assert!(machine.run(&["doctor"]).stdout.contains("each hook runs twice"));
}

#[test]
fn a_private_project_stays_private_when_it_is_set_up_again() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--private", "--no-register"]);
    assert!(machine.ok(&["init", "--yes", "--no-register"]).contains("(private)"));
    assert!(!machine.path("home/work/.throughline").exists());
    assert!(!machine.ok(&["init", "--yes", "--no-register", "--committed"]).contains("(private)"));
}

#[test]
fn committed_settings_name_no_path_of_this_machine() {
    let machine = Machine::new();
    let said = machine.ok(&["init", "--yes", "--settings", "project"]);
    assert!(said.contains("has to be in everybody's PATH"), "{said}");
    for file in ["home/work/.claude/settings.json", "home/work/.mcp.json"] {
        let text = machine.read(file);
        assert!(text.contains("throughline"), "{text}");
        assert!(!text.contains(machine.path("").to_str().unwrap()), "{text}");
    }
    assert!(!machine.path(SETTINGS).exists());
}

#[test]
fn another_place_for_claude_codes_files_is_honoured() {
    let machine = Machine::new();
    let moved = machine.path("home/elsewhere");
    let variables = [("CLAUDE_CONFIG_DIR", moved.to_str().unwrap())];
    assert_eq!(machine.run_with(&["init", "--yes"], &variables).code, 0);
    assert!(moved.join("settings.json").exists() && moved.join(".claude.json").exists());
    assert!(!machine.path("home/.claude").exists() && !machine.path("home/.claude.json").exists());
    assert_eq!(machine.run_with(&["uninstall"], &variables).code, 0);
    assert!(!moved.exists());
}

#[test]
fn registering_alone_needs_no_project() {
    let machine = Machine::new();
    let said = machine.ok(&[
        "init",
        "--register-only",
        "--yes",
        "-C",
        machine.path("tmp").to_str().unwrap(),
    ]);
    assert!(said.contains("Registered with Claude Code"), "{said}");
    assert!(machine.read(SETTINGS).contains("throughline-stop"));
    assert!(!machine.path("tmp/.throughline").exists());
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("is yours alone"), "{doctor}");
    machine.ok(&["uninstall"]);
    assert!(!machine.path(SETTINGS).exists());
}

#[test]
fn settings_that_do_not_parse_are_refused_and_left() {
    let machine = Machine::new();
    machine.write(SETTINGS, "{\n  \"model\": opus\n}\n");
    insta::assert_snapshot!(machine.run(&["init", "--yes"]).stderr, @r#"
    throughline: /home/.claude/settings.json:2:12: Unexpected word
    hint: Correct the file and run the command again; it was left as it is.
    "#);
    let said = machine.run(&["init", "--yes"]);
    assert_eq!((said.code, &*said.stdout), (5, ""));
    assert_eq!(machine.run(&["status"]).code, 4, "nothing was vouched for");
    assert_eq!(machine.read(SETTINGS), "{\n  \"model\": opus\n}\n");
    assert!(!machine.path("home/.claude.json").exists());
}

#[test]
fn the_home_folder_is_no_project() {
    let machine = Machine::new();
    let home = machine.path("home");
    let said = machine.run(&["init", "--yes", "-C", home.to_str().unwrap()]);
    insta::assert_snapshot!(said.whole(), @r#"
    code: 2
    ---
    throughline: /home is no project
    hint: Change to the project's folder, or name it with --project.
    "#);
}

/// `scripts/install` puts the embedder's files beside private ones.
#[test]
fn a_folder_that_an_installer_made_is_closed_to_others() {
    let machine = Machine::new();
    let data = machine.path("home/.local/share/throughline");
    fs::create_dir_all(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    machine.ok(&["init", "--yes", "--no-register"]);
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn private_memories_leave_no_trace_in_the_repository() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--private", "--no-register"]);
    machine.ok(&["add", "Rates are fetched at noon"]);
    assert!(!machine.path("home/work/.throughline").exists());
    assert!(!machine.path(SETTINGS).exists());
    assert_eq!(machine.json(&["list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_folder_that_came_with_the_repository_is_not_read_before_somebody_vouches_for_it() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "The cache lives in memory"]);
    machine.ok(&["trust", "--revoke"]);
    let said = machine.run(&["list"]);
    insta::assert_snapshot!(said.whole(), @r#"
    code: 4
    ---
    throughline: /home/work is not set up
    hint: There is a memory folder that is not trusted on this machine: look at it, then run `throughline trust`.
    "#);
    machine.ok(&["trust", "--no-release"]);
    assert!(machine.ok(&["list"]).contains("The cache lives in memory"));
    assert!(machine.ok(&["projects"]).contains("/home/work"));
    let known = machine.json(&["projects", "--json"]);
    let read = known.as_array().unwrap().iter().filter(|known| known["paths"][0].is_string());
    assert_eq!(read.count(), 1, "{known:#}");
}

#[test]
fn a_copy_joins_a_project_at_the_users_request() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--private", "--no-register"]);
    machine.ok(&["add", "Learned in the first tree"]);
    let copy = machine.path("home/copy");
    fs::create_dir_all(copy.join(".git")).unwrap();
    let copy = copy.to_str().unwrap();
    assert_eq!(machine.run(&["list", "-C", copy]).code, 4);
    machine.ok(&["link", machine.work().to_str().unwrap(), "-C", copy]);
    assert!(machine.ok(&["list", "-C", copy]).contains("Learned in the first tree"));
    assert_eq!(machine.run(&["link", "nosuchproject", "-C", copy]).code, 3);
}

#[test]
fn projects_are_listed_and_searched_together() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["add", "The oven is preheated for bread"]);
    machine.ok(&["add", "An oven is never left alone", "--user"]);
    let other = machine.path("home/other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let other = other.to_str().unwrap();
    machine.ok(&["init", "--yes", "--private", "--no-register", "-C", other]);
    machine.ok(&["add", "The oven of the bakery burns wood", "-C", other]);

    let known = machine.json(&["projects", "--json"]);
    let of = |place: &str| {
        let is_it = |known: &&serde_json::Value| {
            known["paths"][0].as_str().is_some_and(|path| path.ends_with(place))
        };
        known.as_array().unwrap().iter().find(is_it).unwrap()
    };
    assert_eq!((&of("work")["memories"], &of("work")["here"]), (&1.into(), &true.into()));
    assert_eq!((&of("other")["memories"], &of("other")["mode"]), (&1.into(), &"private".into()));
    let listed = machine.ok(&["projects"]);
    assert!(listed.contains("1 memory") && listed.contains("(here)"), "{listed}");

    let here = machine.ok(&["search", "oven"]);
    assert!(!here.contains("wood"), "{here}");
    let all = machine.ok(&["search", "--all", "oven"]);
    let (first, second) = (all.find("bread").unwrap(), all.find("wood").unwrap());
    assert!(first < second && all.contains("home/other"), "{all}");
    assert_eq!(all.matches("never left alone").count(), 1, "{all}");
    let nothing = machine.run(&["search", "--all", "xyzzyplugh"]);
    assert_eq!(nothing.code, 1, "{}", nothing.whole());
    assert!(nothing.stderr.contains("in any project"), "{}", nothing.whole());
}

#[test]
fn doctor_names_what_is_broken_and_what_helps() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    machine.ok(&["add", "A good one"]);
    machine.ok(&["sync"]);
    let healthy = machine.run(&["doctor", "--json"]);
    assert_eq!(healthy.code, 0, "{}\n{}", healthy.stdout, healthy.stderr);

    machine.write("home/work/.throughline/memories/bad.md", "---\nkind: [\n---\n# Bad\n");
    machine.program("throughline-stop", "#!/bin/sh\nexit 3\n");
    fs::remove_file(machine.path("bin/throughline-mcp")).unwrap();
    let said = machine.run(&["doctor", "--json"]);
    assert_eq!(said.code, 6);
    let checks: Vec<serde_json::Value> = serde_json::from_str(&said.stdout).unwrap();
    let bad = |name: &str, seen: &str| {
        checks.iter().any(|check| {
            check["name"] == name
                && check["state"] == "bad"
                && check["seen"].as_str().unwrap().contains(seen)
                && check["remedy"].is_string()
        })
    };
    assert!(bad("memories", "bad.md:"), "{checks:#?}");
    assert!(bad("dry run", "throughline-stop: ends with"), "{checks:#?}");
    assert!(bad("programs", "throughline-mcp is missing"), "{checks:#?}");
    assert!(bad("MCP server", "is not there"), "{checks:#?}");
}

#[test]
fn doctor_suggests_to_install_again_in_the_same_way() {
    let machine = Machine::new();
    fs::remove_file(machine.path("bin/throughline-mcp")).unwrap();
    let remedy = || {
        let said = machine.run(&["doctor", "--json"]);
        let checks: Vec<serde_json::Value> = serde_json::from_str(&said.stdout).unwrap();
        let programs = checks.into_iter().find(|check| check["name"] == "programs").unwrap();
        programs["remedy"].as_str().unwrap().to_owned()
    };
    assert_eq!(remedy(), "Run `scripts/install` again, in the folder of the sources.");
    machine.write("share/throughline/ORIGIN", "--base-url https://example.com/it\n");
    // The folder of the test, which is the prefix of the installation, is removed from the text before the comparison.
    assert_eq!(
        remedy(),
        "Install the archive again: `sh /share/throughline-release/get --base-url https://example.com/it --prefix `."
    );
    machine.write("share/throughline/ORIGIN", "source /src/it\n");
    assert_eq!(remedy(), "Run `cd /src/it && scripts/install --bin-dir /bin`.");
    // Several missing programs are reported in one line.
    fs::remove_file(machine.path("bin/throughline-stop")).unwrap();
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("/bin: throughline-stop, throughline-mcp\n"), "{doctor}");
}

#[test]
fn a_second_space_without_its_server_is_reported_and_blocks_nothing() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    machine.write("home/.config/throughline/config.toml", "[embedder]\n");
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("second space") && doctor.contains("ollama serve"), "{doctor}");
    let status = machine.ok(&["status"]);
    assert!(status.contains("nomic-embed-text (ollama)"), "{status}");
    machine.ok(&["add", "--kind", "fact", "The zebra parser keeps comments"]);
    machine.ok(&["sync"]);
    assert!(machine.ok(&["search", "zebra"]).contains("keeps comments"));
}

#[test]
fn doctor_finds_a_program_of_another_build_and_a_mode_that_means_nothing() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    machine.program("throughline-processor", "#!/bin/sh\nexit 1\n");
    let said = machine.run_with(&["doctor"], &[("THROUGHLINE", "fulll")]);
    assert_eq!(said.code, 6);
    let old = "throughline-processor is too old to say its version";
    assert!(said.stdout.contains(old), "{}", said.stdout);
    assert!(said.stdout.contains("THROUGHLINE is `fulll`"), "{}", said.stdout);
    machine.program("throughline-processor", "#!/bin/sh\necho throughline-processor 0.0.1\n");
    let said = machine.run(&["doctor"]);
    assert!(said.stdout.contains("throughline-processor is version 0.0.1"), "{}", said.stdout);
}

#[test]
fn doctor_without_init_suggests_init() {
    let machine = Machine::new();
    let said = machine.run(&["doctor"]);
    assert_eq!(said.code, 6);
    assert!(said.stdout.contains("Run `throughline init`"), "{}", said.stdout);
}

#[test]
fn folders_that_cannot_be_read_or_written_are_named() {
    const DATA: &str = "home/.local/share/throughline";
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-register"]);
    machine.ok(&["sync"]);
    machine.ok(&["add", "Bread is baked at night"]);
    let run = |args: &[&str]| machine.run_with_few_rights(args);
    let folders = |said: &str| -> Vec<String> {
        let lines = said.lines().filter(|line| line.contains(" folders "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(
        folders(&run(&["doctor"]).stdout),
        ["ok    folders      all can be read and written"]
    );

    machine.chmod("a-w", "home/work/.throughline");
    let doctor = run(&["doctor"]);
    assert_eq!(run(&["add", "x"]).code, 1);
    let told = folders(&doctor.stdout);
    assert!(doctor.code == 6 && told.len() == 1, "{told:?}");
    assert!(
        told[0].starts_with("bad ") && told[0].contains("memories cannot be written: "),
        "{told:?}"
    );
    machine.chmod("u+w", "home/work/.throughline");

    machine.chmod("a-w", DATA);
    let doctor = run(&["doctor"]);
    assert_eq!(run(&["sync"]).code, 1);
    assert!(doctor.code == 6 && folders(&doctor.stdout).len() > 1, "{}", doctor.stdout);

    machine.chmod("000", DATA);
    let status = run(&["status"]);
    assert!(status.stderr.contains("cannot read what was set up: "), "{}", status.stderr);
    assert!(!status.stderr.contains("throughline trust"), "{}", status.stderr);
    let doctor = run(&["doctor"]);
    assert!(doctor.code == 6 && doctor.stdout.contains("throughline cannot be read: "));
    assert!(!doctor.stdout.contains("is not there yet"), "{}", doctor.stdout);
    machine.chmod("700", DATA);
    assert_eq!(run(&["status"]).code, 0);
}

#[test]
fn a_failed_setup_is_not_reported_as_done() {
    let machine = Machine::new();
    machine.chmod("a-w", "home/work");
    let said = machine.run_with_few_rights(&["init", "--yes", "--no-register"]);
    assert!(said.code == 1 && said.stdout.is_empty(), "{}", said.stdout);
    assert!(said.stderr.contains("/home/work cannot be written: "), "{}", said.stderr);
    assert_eq!(machine.run_with_few_rights(&["status"]).code, 4, "nothing was vouched for");
    machine.chmod("u+w", "home/work");
    assert_eq!(machine.run_with_few_rights(&["init", "--yes", "--no-register"]).code, 0);

    // The folder exists as if another person had committed it.
    let machine = Machine::new();
    machine.write("home/work/.throughline/memories/.keep", "");
    machine.chmod("a-w", "home/work/.throughline/memories");
    let said = machine.run_with_few_rights(&["init", "--yes", "--no-register"]);
    assert!(said.code == 1 && said.stdout.is_empty(), "{}", said.stdout);
    assert!(said.stderr.contains("/memories cannot be written: "), "{}", said.stderr);
    assert_eq!(machine.run_with_few_rights(&["status"]).code, 4, "nothing was vouched for");
    machine.chmod("u+w", "home/work/.throughline/memories");
}

#[test]
fn config_prints_what_can_be_written_and_values_as_they_are() {
    let machine = Machine::new();
    let text = "half_life_days = { fix = 90 }\npulled = \"reviewed\"\nkinds = [\"fix\"]\n";
    machine.write("home/.config/throughline/config.toml", text);
    let shown = machine.ok(&["config"]);
    let (settings, _) = shown.split_once("\n\n").unwrap();
    machine.write("home/.config/throughline/config.toml", settings);
    let said = machine.run(&["config"]);
    assert_eq!(said.stderr, "", "what is printed can be put into the file");
    assert!(
        said.stdout.contains("# llm is not set") && said.stdout.contains("pulled = \"reviewed\"")
    );

    machine.write("home/.config/throughline/config.toml", text);
    let printed = machine.json(&["config", "--json"]);
    let value = |key: &str| {
        let lines = printed.as_array().unwrap();
        lines.iter().find(|line| line["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!((value("start_tokens"), value("alpha")), (300.into(), 0.05.into()));
    assert_eq!((value("notice"), value("pulled")), ("first".into(), "reviewed".into()));
    assert_eq!(value("llm"), serde_json::Value::Null);
    assert_eq!(value("index"), serde_json::json!({"search": "auto"}));
    assert_eq!(
        (value("kinds")[0].clone(), value("half_life_days")["fix"].clone()),
        ("fix".into(), 90.into())
    );
}

#[test]
fn config_chooses_a_model_and_lists_the_origin_of_settings() {
    let machine = Machine::new();
    machine.write("home/.config/throughline/config.toml", "# mine\nnotice = \"off\"\ntypo = 1\n");
    machine.ok(&["config", "llm", "ollama", "small-model"]);
    let said = machine.run(&["config"]);
    assert!(said.stderr.contains("typo"), "{}", said.stderr);
    let line = said.stdout.lines().find(|line| line.starts_with("notice")).unwrap();
    assert!(line.contains("\"off\"") && line.contains("config.toml"), "{line}");
    assert!(said.stdout.contains("small-model"), "{}", said.stdout);
    assert!(machine.read("home/.config/throughline/config.toml").starts_with("# mine\n"));
    machine.ok(&["config", "llm", "rules"]);
    assert!(!machine.ok(&["config"]).contains("small-model"));
}

#[test]
fn the_reader_of_sessions_is_chosen_and_its_cost_is_reported() {
    let machine = Machine::new();
    // There is no terminal for the question, so no model is chosen. Claude Code is not installed on this machine.
    assert!(machine.ok(&["init", "--yes"]).contains("read by     nobody"));
    let said = machine.run(&["config", "llm", "claude"]);
    assert!(said.stderr.contains("Claude Code is not installed"), "{}", said.stderr);
    machine.write("home/.local/bin/claude", "#!/bin/sh\nexit 1\n");
    let program = machine.path("home/.local/bin/claude");
    let may_run = Permissions::from_mode(0o755);
    fs::set_permissions(&program, may_run).unwrap();
    machine.write(
        "home/work/.claude/settings.json",
        "{\"env\": {\"CLAUDE_CODE_USE_BEDROCK\": \"1\"}}",
    );
    let said = machine.run(&["init", "--yes", "--llm", "claude"]);
    let told = "`CLAUDE_CODE_USE_BEDROCK` in ";
    assert!(
        said.stderr.contains(told) && said.stderr.contains("work/.claude/settings.json"),
        "{}",
        said.stderr
    );
    assert!(!machine.ok(&["config"]).contains("haiku"));
    machine.write("home/work/.claude/settings.json", "{}");
    let said = machine.ok(&["init", "--yes", "--llm", "claude"]);
    assert!(said.contains("read by     Claude Code (haiku)"), "{said}");
    assert!(!machine.ok(&["init", "--yes"]).contains("read by"), "it is chosen once");

    machine.ok(&["config", "llm", "claude", "--usd-per-day", "0.5", "--tokens-per-day", "9000"]);
    let spent = "{\"day\":\"2026-10-02\",\"provider\":\"claude/haiku\",\"session\":\"aaaabbbbcccc\",\
                 \"questions\":2,\"tokens_in\":8000,\"tokens_out\":1000,\"usd\":0.25}\n";
    machine.write("home/.local/share/throughline/llm-usage.jsonl", spent);
    let status = machine.ok(&["status"]);
    for told in [
        "haiku (claude)",
        "today 2 questions, 9000 tokens, $0.2500 (at most 9000 tokens and $0.50 a day)",
        "2026-10-02 session aaaabbbb by claude/haiku: 2 questions, 9000 tokens, $0.2500",
        "the rest waits for tomorrow",
    ] {
        assert!(status.contains(told), "{told}: {status}");
    }
    let status: serde_json::Value =
        serde_json::from_str(&machine.ok(&["status", "--json"])).unwrap();
    assert_eq!(status["llm_cost"]["today"]["usd"], 0.25);
    assert!(machine.run(&["doctor"]).stdout.contains("haiku (claude) can be asked"));

    let server =
        ["config", "llm", "openai", "m", "--host", "localhost:8080", "--key-env", "MY_KEY"];
    machine.ok(&server);
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("MY_KEY") && doctor.contains("is not set"), "{doctor}");
    machine.ok(&["config", "llm", "ollama", "small", "--host", "localhost:9"]);
    let kept = machine.read("home/.config/throughline/config.toml");
    assert!(!kept.contains("api_key_env") && kept.contains("usd_per_day = 0.5"), "{kept}");
    machine.ok(&["sync", "--retry"]);
    machine.ok(&["config", "llm", "rules"]);
    assert!(machine.ok(&["config"]).contains("# llm is not set"));
}

#[test]
fn purging_leaves_nothing_but_what_is_in_the_repository() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    machine.ok(&["add", "Stays in the repository"]);
    machine.ok(&["add", "--user", "Goes with the rest"]);
    // There is no terminal for the question, so nothing is removed.
    let before = files(&machine.path("home"));
    let said = machine.run(&["uninstall", "--purge"]);
    assert_eq!(said.code, 11);
    assert!(said.stderr.contains("nothing was changed"), "{}", said.whole());
    let told = "/home/.local/share/throughline: archive, ledger, trust, 1 memory of your own, 0 of private";
    assert!(said.stderr.contains(told), "{}", said.whole());
    let (code, shown) =
        machine.declined_at_terminal(&["uninstall", "--purge"], &[("all of this?", "n\n")]);
    assert_eq!(code, Some(1), "{shown}");
    assert_eq!(files(&machine.path("home")), before, "not even the hooks were taken out");
    assert!(machine.path("home/.local/share/throughline").exists());
    machine.ok(&["uninstall", "--purge", "--yes"]);
    let left: Vec<_> = files(&machine.path("home/.local"));
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_dir(machine.path("home/work/.throughline/memories")).unwrap().count(), 1);
}

#[test]
fn purging_leaves_the_programs_own_files() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes"]);
    // `scripts/install` installs these files next to ~/.local/bin.
    let share = machine.path("home/.local/share/throughline");
    for name in ["MODEL", "NOTICE", "table-v1-00.bin"] {
        fs::write(share.join(name), "x").unwrap();
    }
    let models = [("THROUGHLINE_MODELS", share.to_str().unwrap())];
    let said = machine.run_with(&["uninstall", "--purge", "--yes"], &models);
    assert!(said.stdout.contains("but the programs' own files, which stay"), "{}", said.whole());
    let mut left: Vec<_> =
        fs::read_dir(&share).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["MODEL", "NOTICE", "table-v1-00.bin"]);
}

#[test]
fn uninstall_names_the_file_that_it_cannot_read_and_goes_on_with_the_others() {
    let machine = Machine::new();
    machine.ok(&["init", "--yes", "--no-sync"]);
    let settings = machine.path("home/.claude/settings.json");
    fs::remove_file(&settings).unwrap();
    fs::create_dir(&settings).unwrap();
    let said = machine.run(&["uninstall"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.contains("Taken out of /home/.claude.json"), "{}", said.whole());
    assert!(said.stderr.contains("/home/.claude/settings.json"), "{}", said.whole());
    assert!(said.stderr.contains("by hand"), "{}", said.whole());
    assert!(!machine.path("home/.claude.json").exists(), "it was not there before");
}

#[test]
fn uninstall_removes_all_that_it_can_and_reports_each_failure() {
    let machine = Machine::new();
    machine.write("home/work/.mcp.json", "{ damaged by somebody, and none of ours\n");
    machine.ok(&["init", "--yes", "--no-sync", "--with", "skill,agents"]);
    // Throughline wrote both files, but they are not valid UTF-8.
    let skill = "home/.claude/skills/throughline/SKILL.md";
    for file in [skill, "home/work/AGENTS.md"] {
        let mut bytes = fs::read(machine.path(file)).unwrap();
        bytes.push(0xff);
        fs::write(machine.path(file), bytes).unwrap();
    }
    for args in [&["uninstall"][..], &["uninstall", "--purge", "--yes"]] {
        let said = machine.run(args);
        assert_eq!(said.code, 5, "{}", said.whole());
        for told in ["2 parts", "SKILL.md: not UTF-8", "AGENTS.md: not UTF-8", "uninstall` again"] {
            assert!(said.stderr.contains(told), "{told}: {}", said.whole());
        }
        assert_eq!(said.stderr.contains("nothing was deleted"), args.len() > 1, "{}", said.whole());
    }
    assert!(!machine.path(SETTINGS).exists(), "hooks go whatever else fails");
    assert!(machine.path("home/.local/share/throughline/projects").exists());
    // A file that is not UTF-8 and contains no Throughline part needs no change.
    fs::write(machine.path("home/work/AGENTS.md"), b"R\xe8gles\n").unwrap();
    let said = machine.run(&["uninstall", "--json"]);
    assert_eq!(said.code, 5, "{}", said.whole());
    let done: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(done["failed"].as_array().unwrap().len(), 1, "{done:#}");
    fs::remove_file(machine.path(skill)).unwrap();
    machine.ok(&["uninstall", "--purge", "--yes"]);
    assert!(!machine.path("home/.local/share/throughline").exists());
}

#[test]
fn settings_that_were_damaged_meanwhile_are_restored_once_they_are_mended() {
    let machine = Machine::new();
    let before = "{\n    // mine\n    \"model\":   \"opus\",\n}\n";
    machine.write(SETTINGS, before);
    machine.ok(&["init", "--yes", "--no-sync"]);
    let ours = machine.read(SETTINGS);
    machine.write(SETTINGS, &format!("{ours}}}"));
    for args in [&["uninstall", "--dry-run"][..], &["uninstall"]] {
        let said = machine.run(args);
        assert_eq!(said.code, 5, "{}", said.whole());
        assert!(said.stderr.contains("settings.json:"), "{}", said.whole());
    }
    machine.write(SETTINGS, &ours);
    machine.ok(&["uninstall"]);
    assert_eq!(machine.read(SETTINGS), before, "what is known of it outlived the failure");
    // A dry run reports each file for which the real run would fail.
    machine.ok(&["init", "--yes", "--no-sync", "--with", "agents"]);
    let paragraph = machine.read("home/work/AGENTS.md");
    let damaged = [b"R\xe8gles\n".as_slice(), paragraph.as_bytes()].concat();
    fs::write(machine.path("home/work/AGENTS.md"), damaged).unwrap();
    for args in [&["uninstall", "--dry-run"][..], &["uninstall"]] {
        let said = machine.run(args);
        assert_ne!(said.code, 0, "{}", said.whole());
        assert!(said.stderr.contains("AGENTS.md:"), "{}", said.whole());
    }
}

/// Returns all files in the home, with their modes.
fn whole_home(machine: &Machine) -> Vec<(std::path::PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![machine.path("home")];
    while let Some(folder) = folders.pop() {
        let mode = folder.metadata().unwrap().permissions().mode();
        found.push((folder.clone(), mode, Vec::new()));
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.clone(), 0, fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn without_a_terminal_and_a_yes_nothing_changes_anywhere() {
    let machine = Machine::new();
    let session = "33333333-3333-4333-8333-333333333333";
    let transcript = format!("home/.claude/projects/-home-work/{session}.jsonl");
    machine.transcript(&transcript, session, "2026-10-01");
    let before = whole_home(&machine);
    for args in [
        &["init"][..],
        &["init", "--private"],
        &["init", "--committed", "--llm", "rules", "--settings", "project"],
        &["init", "--drafts", "--with", "skill,agents,rules,merge-driver"],
        &["init", "--no-register", "--no-sync"],
        &["init", "--register-only"],
        &["init", "--json"],
        &["init", "--register-only", "--json"],
    ] {
        let said = machine.run(args);
        let typed = args.join(" ");
        assert_eq!(said.code, 11, "{}", said.whole());
        assert!(said.stderr.contains(&format!("`throughline {typed} --yes`")), "{}", said.whole());
        assert!(!said.stdout.is_empty(), "the plan is shown: {}", said.whole());
        assert_eq!(whole_home(&machine), before, "{typed}");
    }
    let plan = machine.run(&["init"]).stdout;
    assert!(plan.contains("for 9 events, in ~/.claude/settings.json"), "{plan}");
    assert!(plan.contains("these sessions are read"), "{plan}");
    assert!(plan.ends_with("Nothing was written yet.\n"), "{plan}");
}

#[test]
fn commands_that_ask_change_nothing_without_an_answer() {
    let machine = Machine::new();
    let session = "33333333-3333-4333-8333-333333333333";
    let transcript = format!("home/.claude/projects/-home-work/{session}.jsonl");
    machine.transcript(&transcript, session, "2026-10-01");
    machine.ok(&["init", "--yes"]);
    machine.ok(&["add", "Bread is baked at night"]);
    let before = whole_home(&machine);
    for args in [
        &["uninstall", "--purge"][..],
        &["purge", "--session", "3333"],
        &["purge", "--before", "2026-12-01"],
        &["purge", "--everything"],
        // The project was set up with other options.
        &["init", "--private"],
    ] {
        let said = machine.run(args);
        assert!(said.code == 11 && said.stderr.contains("--yes"), "{args:?}\n{}", said.whole());
        assert_eq!(whole_home(&machine), before, "{args:?}");
    }
    // No id is given.
    for args in [&["forget"][..], &["forget", "--delete"], &["edit"]] {
        assert_eq!(machine.run(args).code, 2, "{args:?}");
        assert_eq!(whole_home(&machine), before, "{args:?}");
    }
    machine.ok(&["trust", "--revoke"]);
    let before = whole_home(&machine);
    for args in [&["trust"][..], &["trust", "--json"]] {
        let said = machine.run(args);
        assert_eq!(said.code, 11, "{}", said.whole());
        assert!(said.stdout.contains("vouch for /home/work"), "{}", said.whole());
        assert_eq!(whole_home(&machine), before, "{args:?}");
    }
}
