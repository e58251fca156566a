//! Rows of the matrix that take long: with a second user, with many files, and with random combinations.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use journeys::hook_run::Moment;
use serde_json::Value;

use super::lab::{LEARNED, Lab, Ran, Session, session_id};
use super::transcripts::as_python;

super::rows! {
    read_only_settings: "`~/.claude/settings.json` is a link to a file that the user cannot write"
        => "The project and the MCP server are set up; `init` fails and names `--settings local`, as does `doctor`";
    private_folders_of_another_user: "The data or the state folder belongs to another user, as after a run by `sudo`"
        => "The start hook and `doctor` print the folder and the command that repairs it";
    read_only_project: "The user cannot write to the project's folder"
        => "`init` fails and names `init --private`, which works; hooks and `doctor` work, too";
    transcripts_without_rights: "A transcript cannot be read by this user"
        => "The others are read; the sync lists it";
    many_foreign_transcripts: "50,000 transcripts of subagents of other projects"
        => "They are only listed, with few open files; the project's session is read";
    random_combinations: "100 random combinations of layout, spelling, place of the transcript and configuration folder"
        => "Each session is read or listed";
}

/// Number of a user that has no files on the machine.
const USER: u32 = 4242;

fn is_root() -> bool {
    // SAFETY: `geteuid` has no arguments and changes nothing.
    unsafe { libc::geteuid() == 0 }
}

/// If this process runs as root, gives all files of the lab to the other user.
fn give_away(lab: &Lab) {
    if is_root() {
        let owner = format!("{USER}:{USER}");
        let mut chown = Command::new("chown");
        assert!(chown.args(["-Rh", &owner]).arg(lab.at("")).status().unwrap().success());
    }
    fs::set_permissions(lab.at(""), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Makes a folder inaccessible to the user of the lab: if this process runs as root, root becomes its owner; otherwise
/// its permissions are removed.
fn take_away(folder: &Path) {
    if is_root() {
        let mut chown = Command::new("chown");
        assert!(chown.args(["-R", "0:0"]).arg(folder).status().unwrap().success());
    }
    let mode = if is_root() { 0o700 } else { 0 };
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
}

fn give_back(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    if is_root() {
        let owner = format!("{USER}:{USER}");
        let mut chown = Command::new("chown");
        assert!(chown.args(["-R", &owner]).arg(folder).status().unwrap().success());
    }
}

/// Makes a command run as a user to whom file modes apply.
fn with_few_rights(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(USER).gid(USER) } else { command }
}

fn run(lab: &Lab, root: &Path, arguments: &[&str]) -> Ran {
    let mut command = lab.environment.command(lab.environment.binary("throughline"));
    lab.run_command(with_few_rights(&mut command).current_dir(root).args(arguments))
}

/// Returns the output of the start hook.
fn start(lab: &Lab, root: &Path, session: &str) -> String {
    let payload = lab.at("payload.json");
    let text = Moment::start("startup").payload(&lab.environment, root, session).to_string();
    fs::write(&payload, text).unwrap();
    let mut shell = lab.environment.command("/bin/sh");
    let hook = lab.environment.binary("throughline-session-start");
    let line = format!("exec '{}' <'{}'", hook.display(), payload.display());
    lab.run_command(with_few_rights(&mut shell).args(["-c", &line])).ok()
}

fn read_only_settings(lab: &Lab) {
    lab.repository(&lab.root);
    let (store, claude) = (lab.at("store"), lab.environment.claude_dir());
    fs::create_dir_all(&claude).unwrap();
    fs::create_dir(&store).unwrap();
    fs::write(store.join("settings.json"), "{}\n").unwrap();
    symlink(store.join("settings.json"), claude.join("settings.json")).unwrap();
    give_away(lab);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o555)).unwrap();
    if is_root() {
        let mut chown = Command::new("chown");
        assert!(chown.args(["-R", "0:0"]).arg(&store).status().unwrap().success());
    }
    let told = run(lab, &lab.root, &["init", "--yes"]);
    assert_ne!(told.code, 0, "{}", told.text);
    let told = told.assert_contains(&["hooks are not registered", "store", "--settings local"]);
    assert!(!told.text.contains("Next: work as usual"), "{}", told.text);
    run(lab, &lab.root, &["status"]).ok();
    run(lab, &lab.root, &["doctor"])
        .assert_contains(&["--settings local", "MCP server   registered in"]);
    assert_eq!(fs::read_to_string(claude.join("settings.json")).unwrap(), "{}\n");
    run(lab, &lab.root, &["init", "--yes", "--settings", "local"]).ok();
    let checked = run(lab, &lab.root, &["doctor"]).assert_contains(&["all registered in"]).text;
    assert!(!checked.contains("--settings local"), "{checked}");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o755)).unwrap();
}

fn private_folders_of_another_user(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    give_away(lab);
    for (number, folder) in
        [lab.environment.data_dir(), lab.environment.state_dir()].into_iter().enumerate()
    {
        assert!(start(lab, &lab.root, &format!("before-{number}")).contains(LEARNED));
        take_away(&folder);
        let remedy = if is_root() { "sudo chown -R 4242" } else { "chmod -R u+rwX" };
        let told = start(lab, &lab.root, &format!("closed-{number}"));
        let name = folder.to_str().unwrap();
        assert!(told.contains(name) && told.contains(remedy), "{told}");
        let synced = run(lab, &lab.root, &["sync"]);
        assert!(synced.code != 0 && synced.text.contains("hint: "), "{}", synced.text);
        let checked =
            run(lab, &lab.root, &["doctor"]).assert_contains(&[name, "sudo chown -R"]).text;
        assert!(!checked.contains("no sync has run yet"), "{checked}");
        give_back(&folder);
    }
    run(lab, &lab.root, &["sync"]).ok();
    assert!(start(lab, &lab.root, "after").contains(LEARNED));
}

fn read_only_project(lab: &Lab) {
    lab.repository(&lab.root);
    lab.session(1, &lab.root);
    give_away(lab);
    fs::set_permissions(&lab.root, fs::Permissions::from_mode(0o555)).unwrap();
    let refused =
        run(lab, &lab.root, &["init", "--yes"]).assert_contains(&["throughline init --private"]);
    assert_ne!(refused.code, 0, "{}", refused.text);
    run(lab, &lab.root, &["init", "--yes", "--private", "--earlier", "take"]).ok();
    run(lab, &lab.root, &["list"]).assert_contains(&[LEARNED]).ok();
    assert!(start(lab, &lab.root, "private").contains(LEARNED));
    run(lab, &lab.root, &["doctor"]).ok();
    fs::set_permissions(&lab.root, fs::Permissions::from_mode(0o755)).unwrap();
}

fn transcripts_without_rights(lab: &Lab) {
    lab.project();
    let closed = lab.session(2, &lab.root);
    lab.session(1, &lab.root);
    give_away(lab);
    take_away(&closed);
    let synced = run(lab, &lab.root, &["sync"]).assert_contains(&[closed.to_str().unwrap()]).ok();
    assert!(synced.contains("1 session "), "{synced}");
    assert!(run(lab, &lab.root, &["list"]).ok().contains(LEARNED));
    // If this is the only reason, it is printed only once.
    fs::remove_file(lab.file(1)).unwrap();
    let other = lab.at("other");
    fs::create_dir(&other).unwrap();
    give_away(lab);
    take_away(&closed);
    let told = run(lab, &other, &["init", "--yes", "--no-register"]).ok();
    assert_eq!(told.matches("permission denied").count(), 1, "{told}");
    let synced = run(lab, &other, &["sync"]).ok();
    assert_eq!(synced.matches("permission denied").count(), 1, "{synced}");
}

fn many_foreign_transcripts(lab: &Lab) {
    const FILES: usize = 50_000;
    lab.project();
    let folder = lab.environment.claude_dir().join("projects/-y");
    let folder = folder.join(session_id(7)).join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let record = Session::new(7, &lab.at("other")).records().remove(0).to_string() + "\n";
    for number in 0..FILES {
        fs::write(folder.join(format!("agent-{number}.jsonl")), &record).unwrap();
    }
    lab.session(1, &lab.root);
    let sync = |open_files: usize| {
        let program = lab.environment.binary("throughline");
        let line = format!("ulimit -n {open_files} && exec '{}' sync", program.display());
        let mut shell = lab.environment.command("/bin/sh");
        lab.run_command(shell.current_dir(&lab.root).args(["-c", &line])).ok()
    };
    sync(64);
    assert!(lab.list(&lab.root).contains(LEARNED));
    // These files have not changed, so their content is not read again.
    for number in (0..FILES).step_by(100) {
        fs::File::options()
            .write(true)
            .open(folder.join(format!("agent-{number}.jsonl")))
            .unwrap()
            .set_len(0)
            .unwrap();
    }
    assert!(sync(64).contains("Nothing new in 1 session"));
    assert!(lab.start(&lab.root).context().contains(LEARNED));
}

/// Pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    /// Returns a number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        // The multiplier of PCG and the increment of Knuth.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The folders of a combination: for `init`, for the session, and for later work.
struct Roots {
    set_up: PathBuf,
    ran_in: PathBuf,
    /// New path, if the project is moved between the session and the sync.
    moves_to: Option<PathBuf>,
    /// Whether the session belongs to another project, so that the sync reports it.
    is_named: bool,
}

/// Creates the folders of a layout below `at`.
fn layout(lab: &Lab, at: &Path, number: u64, dice: &mut Dice) -> (u64, Roots) {
    let names = ["plain", "with blank", "caf\u{e9}", "価格", "a.b_c-d", "quo\"te"];
    let root = at.join(names[usize::try_from(dice.roll(6)).unwrap()]);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let same = |root: &Path| Roots {
        set_up: root.to_owned(),
        ran_in: root.to_owned(),
        moves_to: None,
        is_named: false,
    };
    let kind = dice.roll(10);
    let roots = match kind {
        0 => {
            fs::create_dir_all(&root).unwrap();
            same(&root)
        }
        1 => {
            lab.repository(&root);
            same(&root)
        }
        2 => {
            lab.repository(&root);
            lab.repository(&at.join("lib"));
            lab.git(&root, &["submodule", "--quiet", "add", &text(&at.join("lib")), "sub"]);
            same(&root.join("sub"))
        }
        3 => {
            lab.repository(&at.join("lib"));
            lab.git(at, &["clone", "-q", "--bare", "lib", "p.git"]);
            lab.git(&at.join("p.git"), &["worktree", "add", "-q", &text(&root), "main"]);
            same(&root)
        }
        4 => {
            lab.repository(&root);
            let side = at.join("side");
            lab.git(&root, &["worktree", "add", "-q", &text(&side)]);
            Roots { ran_in: side, ..same(&root) }
        }
        5 => {
            lab.repository(&at.join("lib"));
            let target = text(&root);
            lab.git(at, &["clone", "-q", "--separate-git-dir", "apart.git", "lib", &target]);
            same(&root)
        }
        6 => {
            lab.repository(&root);
            symlink(&root, at.join("alias")).unwrap();
            Roots { ran_in: at.join("alias"), ..same(&root) }
        }
        7 => {
            lab.repository(&root);
            let deep = root.join("src/deep");
            fs::create_dir_all(&deep).unwrap();
            Roots { ran_in: deep, ..same(&root) }
        }
        8 => {
            lab.repository(&root);
            Roots { moves_to: Some(at.join(format!("moved-{number}"))), ..same(&root) }
        }
        _ => {
            lab.repository(&root);
            let inner = root.join("vendor/inner");
            lab.repository(&inner);
            Roots { ran_in: inner, is_named: true, ..same(&root) }
        }
    };
    (kind, roots)
}

/// Writes a session in one of many formats of JSON.
fn spell(session: &Session, file: &Path, kind: u64) {
    match kind {
        0 => session.write(file),
        1 => session.write_as(file, |record| as_python(record).into_bytes()),
        2 => {
            session.write_as(file, |record| record.to_string().replace('/', "\\/").into_bytes());
        }
        3 => {
            session.write(file);
            let text = fs::read_to_string(file).unwrap().replace('\n', "\r\n");
            fs::write(file, format!("\u{feff}{text}")).unwrap();
        }
        4 => {
            session.write(file);
            let torn = [&[0; 4000][..], &fs::read(file).unwrap(), b"{\"parentUuid\":\"0"].concat();
            fs::write(file, torn).unwrap();
        }
        5 => session.write_as(file, |record| {
            let mut record = record.clone();
            let time: jiff::Timestamp = record["timestamp"].as_str().unwrap().parse().unwrap();
            record["timestamp"] = time.as_millisecond().into();
            record.to_string().into_bytes()
        }),
        _ => session.write_as(file, |record| {
            let mut record = record.clone();
            let cwd = record["cwd"].as_str().unwrap().replace('\u{e9}', "e\u{301}");
            record["cwd"] = Value::from(cwd);
            record.to_string().into_bytes()
        }),
    }
}

/// Writes the transcript into a folder that a client, a synchronisation service or a person may use.
fn place(folder: &Path, number: u64, kind: u64, write: &dyn Fn(&Path)) {
    let id = session_id(u32::try_from(number).unwrap());
    let (projects, name) = (folder.join("projects"), format!("{id}.jsonl"));
    let own = projects.join(format!("-p{number}"));
    match kind {
        0 => write(&own.join(name)),
        // A folder that many projects share.
        1 => write(&projects.join("-shared").join(name)),
        2 => {
            let elsewhere = folder.join(format!("dotfiles-{number}"));
            write(&elsewhere.join(name));
            fs::create_dir_all(&projects).unwrap();
            symlink(elsewhere, own).unwrap();
        }
        3 => {
            let elsewhere = folder.join(format!("file-{number}"));
            write(&elsewhere.join(&name));
            fs::create_dir_all(&own).unwrap();
            symlink(elsewhere.join(&name), own.join(name)).unwrap();
        }
        _ => {
            write(&own.join(name));
            write(&own.join(format!("{id} (1).jsonl")));
        }
    }
}

fn random_combinations(lab: &Lab) {
    const COMBINATIONS: u64 = 100;
    let mut dice = Dice(0x5eed);
    let configurations = [lab.environment.claude_dir(), lab.at("work"), lab.at("private")];
    for number in 1..=COMBINATIONS {
        let at = lab.at(&format!("case-{number}"));
        fs::create_dir_all(&at).unwrap();
        let (layout, roots) = layout(lab, &at, number, &mut dice);
        let (spelling, placing, account) = (dice.roll(7), dice.roll(5), dice.roll(3));
        let case = format!("{number}: layout {layout}, {spelling}, {placing}, {account}");
        let account = &configurations[usize::try_from(account).unwrap()];
        lab.init(&roots.set_up).ok();
        let session = Session::new(u32::try_from(number).unwrap(), &roots.ran_in);
        place(account, number, placing, &|file| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            spell(&session, file, spelling);
        });
        let root = roots.moves_to.as_ref().unwrap_or(&roots.set_up);
        if root != &roots.set_up {
            fs::rename(&roots.set_up, root).unwrap();
        }
        let mut command = lab.environment.command(lab.environment.binary("throughline"));
        command.current_dir(root).env("CLAUDE_CONFIG_DIR", account).arg("sync");
        let synced = lab.run_command(&mut command).ok();
        let listed = lab.list(root);
        let expected = usize::from(!roots.is_named);
        assert_eq!(listed.matches(LEARNED).count(), expected, "{case}\n{synced}\n{listed}");
        if roots.is_named {
            assert!(synced.contains("not learned from"), "{case}\n{synced}");
            assert!(synced.contains("vendor/inner"), "{case}\n{synced}");
        }
    }
}
