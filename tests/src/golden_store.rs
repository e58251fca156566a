//! Creates a home with stores that contain every kind of memory, written by the programs under test. The homes that
//! released versions wrote are in `tests/fixtures/stores`; `testutils::golden` copies one of them into a temporary
//! folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::environment::TestEnvironment;
use crate::hook_run::Moment;
use crate::metadata;
use crate::sample_project::{self, copy, memories_dir};

/// Name of the project without git, whose memories are private.
const DIARY: &str = "diary";

/// Name of the project that commits its memories.
const TIDELOG: &str = "tidelog";

/// Settings of the user, with comments that a migration must keep.
const SETTINGS: &str = "# Settings of this machine.\n\nstart_tokens = 700 # enough\n\n[half_life_days]\n# Fixes stay useful.\nfix = 400\n";

/// A memory that a person wrote with an editor, with an unknown key and comments.
const BY_HAND: &str = "---\nid: 01m7w000000000000000000h4d\nkind: fact # checked twice\nticket: TIDE-7\ntags: [tables]\n---\n\n# Tide tables are printed in January\n\nThe printer needs them by the tenth.\n";

/// Names of files that are not copied into a fixture: locks, and files that a sync derives from the archive.
const LEFT_OUT: [&str; 5] = ["store.lock", "sync.lock", "writer.lock", "mined", ".git"];

/// Returns the folder of the fixture of a version.
pub fn folder(version: &str) -> PathBuf {
    metadata::root().join("tests/fixtures/stores").join(version)
}

/// Writes the fixture of a version, using the programs under test.
pub fn write(version: &str) -> io::Result<()> {
    let environment = TestEnvironment::new()?.at(sample_project::NOW);
    let golden = Golden { environment: &environment };
    golden.user()?;
    golden.committed()?;
    golden.private()?;
    golden.keep(&folder(version))
}

struct Golden<'a> {
    environment: &'a TestEnvironment,
}

impl Golden<'_> {
    fn run(&self, root: &Path, arguments: &[&str]) -> io::Result<String> {
        self.environment.throughline(root, arguments)
    }

    /// Adds a memory and returns its id.
    fn add(&self, root: &Path, arguments: &[&str]) -> io::Result<String> {
        let printed = self.run(root, &[&["add", "--json"], arguments].concat())?;
        let printed: Value = serde_json::from_str(&printed)?;
        let id = printed["id"].as_str().or_else(|| printed["memory"]["id"].as_str());
        id.map(str::to_owned).ok_or_else(|| io::Error::other(format!("no id: {printed}")))
    }

    /// Runs git at a fixed time, so that the same content results in the same commits.
    fn git(&self, root: &Path, arguments: &[&str]) -> io::Result<String> {
        self.environment.git(root, arguments)
    }

    fn commit(&self, root: &Path, message: &str) -> io::Result<()> {
        self.git(root, &["add", "--all"])?;
        self.git(root, &["commit", "--quiet", "--message", message]).map(drop)
    }

    /// Writes memories and settings of the user.
    fn user(&self) -> io::Result<()> {
        let config = self.environment.home().join(".config/throughline/config.toml");
        fs::create_dir_all(config.parent().ok_or(io::ErrorKind::NotFound)?)?;
        fs::write(config, SETTINGS)
    }

    /// Writes a project with a repository: memories in every state.
    fn committed(&self) -> io::Result<()> {
        let root = sample_project::create(self.environment)?;
        let mut stories = sample_project::stories()?;
        let last = stories.pop().ok_or(io::ErrorKind::NotFound)?;
        let waits = stories.pop().ok_or(io::ErrorKind::NotFound)?;
        for story in [&last, &waits] {
            let path = crate::story::transcript_path(
                &self.environment.claude_dir(),
                &root,
                &story.session,
            );
            fs::remove_file(path)?;
        }
        self.run(&root, &["init", "--yes", "--no-sync"])?;
        // The sync learns memories, some of which are pending because the rules made them from prose. One pending
        // memory is accepted, and one is rejected.
        self.run(&root, &["sync"])?;
        let waiting = self.waiting(&root)?;
        if let [accepted, rejected, ..] = waiting.as_slice() {
            self.run(&root, &["review", "--accept", accepted])?;
            self.run(&root, &["review", "--reject", rejected])?;
        }
        // Memories added by the user: a fact, a pinned memory, a superseded one, one for all projects, and an archived
        // one.
        self.add(&root, &["The staging gauge is number 31", "--kind", "fact", "--tag", "gauge"])?;
        self.add(
            &root,
            &["Never restart the collector at high water", "--kind", "convention", "--pin"],
        )?;
        let old = self.add(&root, &["The collector listens on port 7441", "--kind", "fact"])?;
        let new = ["The collector listens on port 7442", "--kind", "fact", "--supersedes", &old];
        self.add(&root, &new)?;
        self.add(&root, &["Answer in short sentences", "--kind", "preference", "--user", "--pin"])?;
        let aside = self.add(&root, &["Drafts go to the printer", "--kind", "fact", "--user"])?;
        self.run(&root, &["forget", &aside])?;
        let aside = self.add(&root, &["The harbour office closes at noon", "--kind", "fact"])?;
        self.run(&root, &["forget", &aside])?;
        fs::write(memories_dir(&root).join("tide-tables.md"), BY_HAND)?;
        self.commit(&root, "Keep memories")?;
        // Learned memories that are deleted, edited with an editor, and edited by the program.
        let files = self.files(&root, "extractor: rules")?;
        let [deleted, edited, by_program, ..] = files.as_slice() else {
            return Err(io::Error::other(format!("too few learned memories: {files:?}")));
        };
        fs::remove_file(deleted)?;
        let text = fs::read_to_string(edited)?;
        fs::write(edited, format!("{text}\nChecked by hand in November.\n"))?;
        let id = id_of(&fs::read_to_string(by_program)?);
        self.run(&root, &["edit", &id, "--body", "Agreed again in November."])?;
        self.run(&root, &["sync"])?;
        self.commit(&root, "Correct memories")?;
        // From here on, all new memories are pending.
        self.run(&root, &["config", "set", "promote", "review"])?;
        waits.write(&self.environment.claude_dir(), &root)?;
        last.write(&self.environment.claude_dir(), &root)?;
        self.run(&root, &["sync"])?;
        self.edit_waiting()?;
        // This memory is not committed.
        self.add(&root, &["The mail server is called petrel", "--kind", "fact"])?;
        self.run(&root, &["share", "on"])?;
        for moment in
            [Moment::start("startup"), Moment::prompt("On which port does the collector listen?")]
        {
            moment.run(self.environment, &root, &last.session)?;
        }
        drop(self.environment.wait_until_quiet());
        Ok(())
    }

    /// Writes a project without a repository, whose memories are in the data folder.
    fn private(&self) -> io::Result<()> {
        let root = self.environment.folder(DIARY)?;
        let mut stories = sample_project::stories()?;
        let (mut later, mut first) = (stories.remove(2), stories.remove(1));
        first.session = "c3000001-0000-4000-8000-000000000000".to_owned();
        later.session = "c3000002-0000-4000-8000-000000000000".to_owned();
        first.write(&self.environment.claude_dir(), &root)?;
        self.run(&root, &["init", "--yes", "--private", "--no-register", "--no-sync"])?;
        self.run(&root, &["config", "set", "promote", "auto"])?;
        self.run(&root, &["sync"])?;
        self.run(&root, &["config", "set", "promote", "review"])?;
        self.add(&root, &["The diary is kept in ISO weeks", "--kind", "convention", "--pin"])?;
        let aside = self.add(&root, &["The old notebook is full", "--kind", "fact"])?;
        self.run(&root, &["forget", &aside])?;
        later.write(&self.environment.claude_dir(), &root)?;
        self.run(&root, &["sync"]).map(drop)
    }

    /// Returns the short ids of pending memories.
    fn waiting(&self, root: &Path) -> io::Result<Vec<String>> {
        let printed: Value = serde_json::from_str(&self.run(root, &["list", "--json"])?)?;
        let all = printed.as_array().into_iter().flatten();
        let waits = all.filter(|memory| memory["status"] == "draft");
        Ok(waits.filter_map(|memory| memory["id"].as_str().map(str::to_owned)).collect())
    }

    /// Returns the memory files that contain a text, sorted by name.
    fn files(&self, root: &Path, text: &str) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(memories_dir(root))? {
            let path = entry?.path();
            if fs::read_to_string(&path)?.contains(text) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Adds a comment and a sentence to the first pending memory, as a person does with an editor.
    fn edit_waiting(&self) -> io::Result<()> {
        let projects = self.environment.data_dir().join("projects");
        let mut drafts = Vec::new();
        for project in fs::read_dir(projects)? {
            let Ok(folder) = fs::read_dir(project?.path().join("drafts")) else { continue };
            for draft in folder {
                drafts.push(draft?.path());
            }
        }
        drafts.sort();
        let draft = drafts.first().ok_or(io::ErrorKind::NotFound)?;
        let text = fs::read_to_string(draft)?;
        let text = text.replacen("status: draft", "status: draft # not sure yet", 1);
        fs::write(draft, format!("{text}\nAsk the harbour master first.\n"))
    }

    /// Copies the home and the projects into the folder of the fixture.
    fn keep(&self, folder: &Path) -> io::Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        let root = self.environment.path();
        copy(&root, folder)?;
        let bundle = folder.join(format!("{TIDELOG}.bundle"));
        let bundle = bundle.display().to_string();
        self.git(&root.join(TIDELOG), &["bundle", "create", "--quiet", &bundle, "main"])?;
        leave_out(folder)?;
        // Claude Code deletes transcripts after a month, so the fixture does not contain them; the archive contains
        // their records.
        fs::remove_dir_all(folder.join("home/.claude/projects"))?;
        let programs = self.environment.binary("");
        let places = format!("{}\n{}\n", root.display(), programs.display());
        fs::write(folder.join("PLACES"), places.replace("/\n", "\n"))
    }
}

fn leave_out(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, is_folder) = (entry.path(), entry.file_type()?.is_dir());
        let is_left_out = LEFT_OUT.iter().any(|name| entry.file_name() == *name);
        match (is_left_out, is_folder) {
            (true, true) => fs::remove_dir_all(path)?,
            (true, false) => fs::remove_file(path)?,
            (false, true) => leave_out(&path)?,
            (false, false) => {}
        }
    }
    Ok(())
}

fn id_of(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("id: "));
    line.unwrap_or_default().trim().to_owned()
}
