//! A trial of users' files. A project with committed, accepted, edited, pinned and private memories goes through
//! changes of reader and settings, git operations, kills, rebuilds and concurrent writers.
//!
//! After each step, every memory file of a person must have the bytes that the person wrote. The file is in a working
//! tree, a commit or a stash; if git has another file at its path, it is in the private folder of the project. The keys
//! that link a memory to newer ones are ignored in this comparison, since the program sets them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::Random;
use crate::chat_server::{Answers, ChatServer, MODEL};
use crate::environment::TestEnvironment;
use crate::sample_project::memories_dir;
use crate::story::Story;

/// The current time of all programs.
const NOW: &str = "2026-11-20T09:00:00Z";
/// Initial number of sessions.
const SESSIONS: usize = 6;
/// Keys that a sync may set in a file of a person.
const LINK_KEYS: [&str; 3] = ["superseded_by:", "valid_until:", "relations:"];

const METALS: [&str; 8] = ["copper", "brass", "iron", "nickel", "zinc", "tin", "silver", "cobalt"];
const PARTS: [&str; 7] = ["valve", "pump", "gauge", "piston", "bearing", "boiler", "filter"];

/// An action of the trial. A step combines two actions of different groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Rules,
    Model(Answers),
    Kinds,
    ShortRetention,
    Review(bool),
    DefaultSettings,
    SwitchBranch,
    Rebase,
    Stash,
    CleanOne,
    CleanTwo,
    Worktree,
    SecondClone,
    Revert,
    Kill,
    Rebuild,
    Writer,
    Session,
    LostState,
}

const READERS: [Action; 5] = [
    Action::Rules,
    Action::Model(Answers::Notes),
    Action::Model(Answers::OtherWords),
    Action::Model(Answers::Nothing),
    Action::Model(Answers::Garbage),
];
const SETTINGS: [Action; 5] = [
    Action::Kinds,
    Action::ShortRetention,
    Action::Review(true),
    Action::Review(false),
    Action::DefaultSettings,
];
const GIT: [Action; 8] = [
    Action::SwitchBranch,
    Action::Rebase,
    Action::Stash,
    Action::CleanOne,
    Action::CleanTwo,
    Action::Worktree,
    Action::SecondClone,
    Action::Revert,
];
const PROGRAM: [Action; 5] =
    [Action::Kill, Action::Rebuild, Action::Writer, Action::Session, Action::LostState];

/// The outcome of a trial.
#[derive(Debug, Default)]
pub struct Kept {
    /// Number of executed steps.
    pub steps: u32,
    /// Number of comparisons between a person's file and its expected bytes.
    pub compared: usize,
    /// Files that a step lost or changed, each with the previous steps.
    pub faults: Vec<String>,
}

/// Runs this number of steps.
///
/// # Errors
/// Returns an error if a program of the trial cannot be run.
pub fn kept(steps: u32, seed: u64) -> io::Result<Kept> {
    let mut random = Random::new(seed);
    let mut outcome = Kept::default();
    let server = ChatServer::start(Duration::ZERO, true)?;
    // A new project is created after some steps, so that one fault does not hide others.
    const STEPS_OF_WORLD: u32 = 20;
    while outcome.steps < steps {
        let mut world = World::new(&server)?;
        let mut done = Vec::new();
        for _ in 0..STEPS_OF_WORLD.min(steps - outcome.steps) {
            let pair = pair(&mut random);
            done.push(pair);
            world.step(pair, &mut random)?;
            outcome.steps += 1;
            outcome.compared += world.owned.len();
            let lost = world.compare()?;
            if !lost.is_empty() {
                let trace: Vec<_> = done.iter().rev().take(4).rev().collect();
                outcome.faults.extend(lost.iter().map(|lost| format!("{lost} after {trace:?}")));
                break;
            }
        }
    }
    Ok(outcome)
}

/// Chooses two actions of different groups.
fn pair(random: &mut Random) -> [Action; 2] {
    let groups: [&[Action]; 4] = [&READERS, &SETTINGS, &GIT, &PROGRAM];
    let first = random.below(4);
    let second = (first + 1 + random.below(3)) % 4;
    [first, second].map(|group| {
        let group = groups[usize::try_from(group).unwrap_or_default()];
        random.one_of(group).copied().unwrap_or(Action::Session)
    })
}

/// A memory file of a person.
#[derive(Clone, Debug)]
struct Owned {
    /// How the file became the person's.
    how: &'static str,
    /// Text of the file.
    text: String,
}

/// A project and the state of its user's actions.
struct World<'a> {
    environment: TestEnvironment,
    root: PathBuf,
    server: &'a ChatServer,
    owned: BTreeMap<String, Owned>,
    sessions: usize,
    settings: BTreeMap<&'static str, String>,
    branches: usize,
}

impl<'a> World<'a> {
    fn new(server: &'a ChatServer) -> io::Result<Self> {
        server.answers(Answers::Notes);
        let environment = TestEnvironment::new()?.at(NOW);
        let root = environment.repository("plant")?;
        let mut world = Self {
            environment,
            root,
            server,
            owned: BTreeMap::new(),
            sessions: 0,
            settings: BTreeMap::new(),
            branches: 0,
        };
        for _ in 0..SESSIONS {
            world.session()?;
        }
        world.read_by(&format!("{MODEL}-first"))?;
        world.run(&["init", "--yes", "--no-register"])?;
        world.decide()?;
        Ok(world)
    }

    /// Makes one user decision of each type about memories.
    fn decide(&mut self) -> io::Result<()> {
        self.run(&["add", "The gauge of the boiler sticks below four bar", "--kind", "gotcha"])?;
        self.run(&["add", "I read logs from the end", "--kind", "preference", "--user"])?;
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-qm", "memories"])?;
        self.own_all(&memories_dir(&self.root), "committed")?;
        self.set("review", Some("true"))?;
        self.session()?;
        self.session()?;
        self.run(&["sync"])?;
        self.run(&["review", "--accept-all"])?;
        self.own_all(&memories_dir(&self.root), "accepted")?;
        self.set("review", None)?;
        for how in ["edited", "pinned"] {
            self.session()?;
            self.run(&["sync"])?;
            let new: Vec<PathBuf> = files(&memories_dir(&self.root))?
                .into_iter()
                .filter(|path| id_of(path).is_ok_and(|id| !self.owned.contains_key(&id)))
                .collect();
            for path in new {
                let text = fs::read_to_string(&path)?;
                let text = match how {
                    "pinned" => text.replacen("kind:", "pinned: true\nkind:", 1),
                    _ => format!("{}\nAnd the hall is cold.\n", text.trim_end()),
                };
                fs::write(&path, text)?;
            }
            self.own_all(&memories_dir(&self.root), how)?;
        }
        let user = self.environment.data_dir().join("user/memories");
        self.own_all(&user, "private")?;
        self.run(&["sync"])?;
        Ok(())
    }

    /// Records that all memory files in a folder belong to the user from now on.
    fn own_all(&mut self, folder: &Path, how: &'static str) -> io::Result<()> {
        for path in files(folder)? {
            let (id, text) = (id_of(&path)?, fs::read_to_string(&path)?);
            self.owned.entry(id).or_insert(Owned { how, text });
        }
        Ok(())
    }

    /// Selects the model that reads sessions.
    fn read_by(&mut self, name: &str) -> io::Result<()> {
        let host = self.server.address();
        let llm = format!("{{ provider = \"openai\", model = \"{name}\", host = \"{host}/v1\" }}");
        self.set("llm", Some(&llm))
    }

    fn step(&mut self, pair: [Action; 2], random: &mut Random) -> io::Result<()> {
        for action in pair {
            self.act(action, random)?;
        }
        // A sync may fail because of the daily limits, but must not lose a file.
        drop(self.run(&["sync"]));
        drop(self.run(&["sync"]));
        Ok(())
    }

    fn act(&mut self, action: Action, random: &mut Random) -> io::Result<()> {
        match action {
            Action::Rules => self.set("llm", None),
            Action::Model(answers) => {
                self.server.answers(answers);
                // Answers are stored for each model, so a model with a new name is asked again.
                self.read_by(&format!("{MODEL}-{}", random.below(1000)))
            }
            Action::Kinds => self.repository_setting("kinds = [\"fact\"]\n"),
            Action::ShortRetention => self.set("retention_days", Some("1")),
            Action::Review(true) => self.set("review", Some("true")),
            Action::Review(false) => self.set("review", Some("false")),
            Action::DefaultSettings => {
                self.settings.clear();
                self.set("llm", None)?;
                self.repository_setting("")
            }
            Action::SwitchBranch => self.switch_branch(),
            Action::Rebase => self.rebase(),
            Action::Stash => self.stash(),
            Action::CleanOne => self.clean(1),
            Action::CleanTwo => self.clean(2),
            Action::Worktree => self.worktree(),
            Action::SecondClone => self.second_clone(),
            Action::Revert => self.revert(),
            Action::Kill => self.kill(random),
            Action::Rebuild => self.run(&["sync", "--rebuild"]).map(drop).or(Ok(())),
            Action::Writer => self.writer(random),
            Action::Session => self.session(),
            Action::LostState => fs::remove_dir_all(self.environment.state_dir()).or(Ok(())),
        }
    }

    /// Writes the transcript of a session that contains a wish of the user and the cure of a failed command.
    fn session(&mut self) -> io::Result<()> {
        let number = self.sessions;
        self.sessions += 1;
        let (metal, part) = (METALS[number % 8], PARTS[number / 8 % 7]);
        let wish = format!(
            "From now on, always order the {part} of {metal} from the yard, number {number}."
        );
        let begun: Timestamp = NOW.parse().map_err(io::Error::other)?;
        let hours = i64::try_from(400 - number).unwrap_or(1);
        let steps = [
            json!({"user": wish}),
            json!({"claude": "I order it there."}),
            json!({"bash": format!("make {part}-{number}"), "fails": format!("{part}-{number}: no rule to make it")}),
            json!({"bash": format!("make yard && make {part}-{number}"), "prints": "done"}),
            json!({"claude": format!("Done.\n\nGotcha: the {part} of {metal} needs the yard's list {number} first, or nothing is made.")}),
        ];
        let story = Story {
            session: format!("{number:08x}-0000-4000-8000-00000000{number:04x}"),
            at: begun - SignedDuration::from_hours(hours),
            branch: "main".to_owned(),
            steps: steps.to_vec(),
        };
        story.write(&self.environment.claude_dir(), &self.root).map(drop)
    }

    fn run(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.throughline(&self.root, arguments)
    }

    fn git(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.git(&self.root, arguments)
    }

    /// Sets or removes a key of the user's settings.
    fn set(&mut self, key: &'static str, value: Option<&str>) -> io::Result<()> {
        match value {
            Some(value) => drop(self.settings.insert(key, value.to_owned())),
            None => drop(self.settings.remove(key)),
        }
        let path = self.environment.home().join(".config/throughline/config.toml");
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let text: String =
            self.settings.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        fs::write(path, text)
    }

    /// Writes the repository's settings.
    fn repository_setting(&self, text: &str) -> io::Result<()> {
        let path = self.root.join(".throughline/config.toml");
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)
    }

    /// Runs git; returns whether it succeeded. It may fail because of an unfinished change in the working tree.
    fn try_git(&self, arguments: &[&str]) -> bool {
        self.git(arguments).is_ok()
    }

    fn switch_branch(&mut self) -> io::Result<()> {
        self.branches += 1;
        let name = format!("topic-{}", self.branches);
        if self.try_git(&["switch", "-qc", &name]) {
            self.session()?;
            drop(self.run(&["sync"]));
            self.commit()?;
            drop(self.run(&["sync"]));
            self.try_git(&["switch", "-q", "main"]);
            drop(self.run(&["sync"]));
            if self.branches.is_multiple_of(2) {
                self.try_git(&["switch", "-q", &name]);
            }
        }
        Ok(())
    }

    /// Commits all files, as a person does. All memory files of the working tree then belong to the user.
    fn commit(&mut self) -> io::Result<()> {
        self.git(&["add", "-A"])?;
        self.try_git(&["commit", "-qm", "work"]);
        self.own_all(&memories_dir(&self.root), "committed")
    }

    fn rebase(&mut self) -> io::Result<()> {
        self.branches += 1;
        let name = format!("rebased-{}", self.branches);
        let start = self.git(&["symbolic-ref", "--short", "HEAD"])?.trim().to_owned();
        if !self.try_git(&["switch", "-qc", &name]) {
            return Ok(());
        }
        self.commit()?;
        self.try_git(&["switch", "-q", &start]);
        fs::write(self.root.join(format!("note-{}", self.branches)), "a\n")?;
        self.git(&["add", &format!("note-{}", self.branches)])?;
        self.git(&["commit", "-qm", "a note"])?;
        drop(self.run(&["sync"]));
        if self.try_git(&["switch", "-q", &name]) && !self.try_git(&["rebase", "-q", &start]) {
            self.try_git(&["rebase", "--abort"]);
        }
        Ok(())
    }

    fn stash(&mut self) -> io::Result<()> {
        if self.try_git(&["stash", "-qu"]) {
            drop(self.run(&["sync"]));
            self.try_git(&["stash", "pop", "-q"]);
        }
        Ok(())
    }

    /// Leaves this number of memory files untracked, and removes them with `git clean`.
    fn clean(&mut self, loose: usize) -> io::Result<()> {
        self.commit()?;
        drop(self.run(&["sync"]));
        self.commit()?;
        for number in 0..loose {
            let fact = format!("The crane of hall {} {number} lifts nine tons", self.sessions);
            self.run(&["add", &fact, "--kind", "fact"])?;
            self.sessions += 1;
        }
        self.own_all(&memories_dir(&self.root), "added")?;
        drop(self.run(&["sync"]));
        self.git(&["clean", "-fdq"]).map(drop)
    }

    fn worktree(&mut self) -> io::Result<()> {
        self.branches += 1;
        let folder = self.environment.path().join(format!("tree-{}", self.branches));
        let path = folder.display().to_string();
        let branch = format!("tree-{}", self.branches);
        self.git(&["worktree", "add", "-q", "-b", &branch, &path])?;
        let fact = format!("The lathe of hall {} runs dry", self.sessions);
        self.sessions += 1;
        drop(self.environment.throughline(&folder, &["add", &fact, "--kind", "fact"]));
        self.own_all(&memories_dir(&folder), "added")?;
        drop(self.environment.throughline(&folder, &["sync"]));
        self.git(&["worktree", "remove", "--force", &path]).map(drop)
    }

    fn second_clone(&mut self) -> io::Result<()> {
        self.branches += 1;
        let folder = self.environment.path().join(format!("clone-{}", self.branches));
        let path = folder.display().to_string();
        self.git(&["clone", "-q", ".", &path])?;
        let clone = |arguments: &[&str]| drop(self.environment.throughline(&folder, arguments));
        clone(&["init", "--yes", "--no-register"]);
        clone(&["sync"]);
        fs::remove_dir_all(&folder)
    }

    /// Reverts the last commit if it added memories. The revert is a decision of the user about these memories.
    fn revert(&mut self) -> io::Result<()> {
        self.commit()?;
        drop(self.run(&["sync"]));
        let fact = format!("The kiln of hall {} is lit on Mondays", self.sessions);
        self.sessions += 1;
        self.run(&["add", &fact, "--kind", "fact"])?;
        self.commit()?;
        drop(self.run(&["sync"]));
        let touched = self.git(&["diff", "--name-only", "HEAD~1", "HEAD", "--", ".throughline"])?;
        let touched: Vec<String> =
            touched.lines().filter_map(|path| id_of(&self.root.join(path)).ok()).collect();
        if self.try_git(&["revert", "--no-edit", "HEAD"]) {
            // Memories that the commit added are now removed, and memories that it changed are as before; the user
            // decided so.
            touched.iter().for_each(|id| drop(self.owned.remove(id)));
            self.own_all(&memories_dir(&self.root), "reverted")?;
        }
        Ok(())
    }

    fn kill(&mut self, random: &mut Random) -> io::Result<()> {
        self.session()?;
        let mut sync = self.sync_command().spawn()?;
        sleep(Duration::from_millis(random.below(400)));
        drop(sync.kill());
        sync.wait().map(drop)
    }

    /// Adds memories while a sync runs.
    fn writer(&mut self, random: &mut Random) -> io::Result<()> {
        self.session()?;
        let mut sync = self.sync_command().spawn()?;
        for _ in 0..=random.below(3) {
            let fact = format!("The hoist of hall {} needs two people", self.sessions);
            self.sessions += 1;
            self.run(&["add", &fact, "--kind", "fact"])?;
        }
        sync.wait()?;
        let is_added = |path: &PathBuf| {
            fs::read_to_string(path).is_ok_and(|text| text.contains("needs two people"))
        };
        for path in files(&memories_dir(&self.root))?.into_iter().filter(is_added) {
            let (id, text) = (id_of(&path)?, fs::read_to_string(&path)?);
            self.owned.entry(id).or_insert(Owned { how: "added", text });
        }
        Ok(())
    }

    fn sync_command(&self) -> Command {
        let mut command = self.environment.command(self.environment.binary("throughline"));
        command.current_dir(&self.root).env("THROUGHLINE", "full").arg("sync");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Returns the memories whose expected bytes are in none of the permitted places.
    fn compare(&self) -> io::Result<Vec<String>> {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut folders = vec![memories_dir(&self.root)];
        let data = self.environment.data_dir();
        folders.push(data.join("user/memories"));
        for project in fs::read_dir(data.join("projects"))?.flatten() {
            // If git has another file at the path of a memory, the memory is parked in this folder.
            folders.push(project.path().join("drafts"));
        }
        for path in folders.iter().flat_map(|folder| files(folder).unwrap_or_default()) {
            if let Ok(id) = id_of(&path) {
                places.entry(id).or_default().push(fs::read_to_string(&path)?);
            }
        }
        let mut lost = Vec::new();
        for (id, owned) in &self.owned {
            let wanted = without_links(&owned.text);
            let found = places.get(id).map(Vec::as_slice).unwrap_or_default();
            let is_kept = found.iter().any(|text| without_links(text) == wanted)
                || self.commits_have(id, &wanted)?;
            if !is_kept {
                let seen = found.first().map_or("nothing is left", |_| "it has other bytes");
                lost.push(format!("{} memory {id}: {seen}", owned.how));
            }
        }
        Ok(lost)
    }

    /// Returns whether a branch or a stash contains a file of this memory with this text.
    fn commits_have(&self, id: &str, wanted: &str) -> io::Result<bool> {
        let short = &id[id.len().saturating_sub(6)..];
        let refs =
            self.git(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/stash"])?;
        for name in refs.lines().chain(["refs/stash^3"]) {
            let Ok(list) = self.git(&["ls-tree", "-r", "--name-only", name, "--", ".throughline"])
            else {
                continue;
            };
            for path in list.lines().filter(|path| path.ends_with(&format!("{short}.md"))) {
                let text = self.git(&["show", &format!("{name}:{path}")])?;
                if without_links(&text) == wanted {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Returns the Markdown files below a folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    Ok(files)
}

/// Returns the id in a memory file.
fn id_of(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix("id: "));
    line.map(|id| id.trim_matches('"').to_owned()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Returns the text of a memory file without the keys that link it to newer memories.
fn without_links(text: &str) -> String {
    let mut kept = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        let is_link = LINK_KEYS.iter().any(|key| line.starts_with(key));
        is_inside = is_link || is_inside && line.starts_with([' ', '-']);
        if !is_inside {
            kept.push(line);
        }
    }
    kept.join("\n")
}
