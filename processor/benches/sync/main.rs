//! Cost of a whole sync that adds ten turns to a long history.
//!
//! `scripts/bench sync [--turns N] [--session N] [--rounds N] [--rebuild] [--keep DIR]`. Transcripts with N turns, made
//! of lines of this project's own sources and documents, are synced by `throughline-processor` in twelve portions, one
//! for each month. After each portion, Claude Code's own files of the month are removed, as in real use. Therefore
//! archive, state, ledger, index and memory files are those of the product. Then, in each round, the last session grows
//! by ten turns, and the program is run again. The models' folder contains only the table, so all vectors are the
//! table's; `scripts/bench publish` measures the transformer.
//!
//! Times are processor times of processes, over all threads and including git, so that other work of the machine does
//! not count. In each round, a second run is made by this program itself. It receives the stages of the sync and prints
//! the time of each stage. `--rebuild` deletes the index at the end, and measures the rebuild.
//!
//! `--bounds [--long MB] [--rounds N] [--program FILE] [--judge] [--json]` measures other costs and prints each with
//! its upper bound:
//!
//! - one more turn in a session of 4 MB and in one of `--long` MB (CPU and memory, median; the default is 40, while
//!   2,000 needs minutes and 4 GB of disk);
//! - a first sync of 100 MB without vectors;
//! - the disk space of data and state for 1,000 sessions of 1 MB, by folder (scaled from 300);
//! - a damaged line and a memory file with many keys, compared with ones that are ten times as long (seconds and
//!   ratio);
//! - two syncs with a git that hangs;
//! - with the `throughline` program in FILE: a command whose lock another process has, and `list`, `status` and `show`
//!   over 2,700 memories.
//!
//! With `--judge`, a value above its bound is an error.
#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod bounds;
#[path = "../corpus/mod.rs"]
#[expect(dead_code, reason = "this bench has transcripts, and no passages")]
mod corpus;
mod measure;
mod turn;

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use memory_store::identity::{self, Mode};
use memory_store::index::{Index, segment::Segment};
use memory_store::layout::{STORE_DIR, Tree, UserDirs};
use memory_store::time::DAY_MS;
use memory_store::{ProjectId, Timestamp, mode};
use processor::collect::trees;
use processor::git;
use processor::lock::Busy;
use processor::sync::{SyncOptions, sync};

use corpus::Corpus;
use measure::{Cost, Stages, run};

/// Number of turns that a round adds.
const ADDED: u32 = 10;
/// Number of portions in which the history is synced, one for each month.
const MONTHS: u32 = 12;
/// End of the history.
const END: &str = "2026-11-20T12:00:00Z";
/// The project's id.
const PROJECT: [u8; 16] = [7; 16];

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    if let Some(home) = &options.stages {
        return stages(home);
    }
    if options.bounds {
        return bounds::run(&options);
    }
    let temporary = tempfile::tempdir()?;
    let home = options.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    let bench = Bench::open(&home, options)?;
    if !bench.done().exists() {
        bench.make()?;
    }
    bench.sizes()?;
    bench.rounds()?;
    if bench.options.rebuild { bench.rebuild() } else { Ok(()) }
}

struct Options {
    turns: u32,
    session: u32,
    rounds: u32,
    rebuild: bool,
    /// Whether only the costs with an upper bound are measured.
    bounds: bool,
    /// Size in megabytes of a long session.
    long: u64,
    json: bool,
    /// Whether a value above its bound is an error.
    judge: bool,
    /// The command line program, for the rows that measure commands.
    program: Option<PathBuf>,
    keep: Option<PathBuf>,
    /// The home in which this process itself syncs and reports the stages.
    stages: Option<PathBuf>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            turns: 50_000,
            session: 40,
            rounds: 10,
            rebuild: false,
            bounds: false,
            long: 40,
            json: false,
            judge: false,
            program: None,
            keep: None,
            stages: None,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                // Cargo adds this argument.
                "--bench" => continue,
                "--rebuild" => {
                    options.rebuild = true;
                    continue;
                }
                "--bounds" => {
                    options.bounds = true;
                    continue;
                }
                "--json" => {
                    options.json = true;
                    continue;
                }
                "--judge" => {
                    options.judge = true;
                    continue;
                }
                _ => {}
            }
            let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--turns" => options.turns = value.parse()?,
                "--session" => options.session = value.parse()?,
                "--rounds" => options.rounds = value.parse()?,
                "--long" => options.long = value.parse()?,
                "--program" => options.program = Some(value.into()),
                "--keep" => options.keep = Some(value.into()),
                "--stages" => options.stages = Some(value.into()),
                _ => bail!("there is no option {argument}"),
            }
        }
        Ok(options)
    }
}

/// Syncs the project in `home` like the program, and prints the time of each stage.
fn stages(home: &Path) -> Result<()> {
    let dirs = dirs(home)?;
    let project = ProjectId(PROJECT);
    trees::review(&dirs, project)?;
    let tree = trees::main(&dirs, project).context("the project's working tree is gone")?;
    let stages = Stages::begin();
    let report = sync(&SyncOptions {
        progress: &stages,
        ..SyncOptions::new(&dirs, &tree, Busy::Leave, end()?)
    })?;
    ensure!(!report.busy && !report.nothing_new, "there was nothing to do: {report:?}");
    stages.print();
    Ok(())
}

fn end() -> Result<Timestamp> {
    Timestamp::parse(END).context("the end of the history is no time")
}

/// Returns the user's folders below `home`. The models' folder contains only the table.
fn dirs(home: &Path) -> Result<UserDirs> {
    let get = |name: &str| match name {
        "HOME" => Some(home.into()),
        "THROUGHLINE_MODELS" => Some(home.join("models").into()),
        _ => None,
    };
    Ok(UserDirs::resolve(get).context("there is no home")?.with_models(get, None))
}

/// A home with one project.
struct Bench {
    options: Options,
    home: PathBuf,
    dirs: UserDirs,
    tree: Tree,
    corpus: Corpus,
}

impl Bench {
    fn open(home: &Path, options: Options) -> Result<Self> {
        fs::create_dir_all(home)?;
        let home = home.canonicalize()?;
        let dirs = dirs(&home)?;
        let root = home.join("work");
        if !root.exists() {
            repository(&root)?;
            link_table(&home.join("models"))?;
        }
        let tree = match Tree::find(&dirs, &root) {
            Some(tree) => tree,
            None => identity::vouch(
                &dirs,
                &git::observe(&root),
                Some(Mode::Committed),
                PROJECT,
                end()?,
            )?,
        };
        Ok(Self { options, home, dirs, tree, corpus: Corpus::read()? })
    }

    /// Returns the path of a file that marks the history as complete.
    fn done(&self) -> PathBuf {
        self.home.join("done")
    }

    fn sessions(&self) -> u32 {
        (self.options.turns / self.options.session).max(MONTHS)
    }

    /// Creates the history.
    fn make(&self) -> Result<()> {
        let mut sum = Cost::default();
        for month in 0..MONTHS {
            let of = |month: u32| {
                (u64::from(self.sessions()) * u64::from(month) / u64::from(MONTHS)) as u32
            };
            let before = self.transcripts();
            if before.exists() {
                fs::remove_dir_all(before)?;
            }
            for session in of(month)..of(month + 1) {
                self.grow(session, 0..self.options.session)?;
            }
            let cost = self.sync()?;
            sum.cpu_ms += cost.cpu_ms;
            sum.wall_ms += cost.wall_ms;
            sum.peak_kib = sum.peak_kib.max(cost.peak_kib);
        }
        fs::write(self.done(), "")?;
        sum.print("all of it, in portions");
        Ok(())
    }

    fn transcripts(&self) -> PathBuf {
        self.dirs.claude.join("projects").join("-work")
    }

    /// Appends turns to the transcript of a session.
    fn grow(&self, session: u32, turns: std::ops::Range<u32>) -> Result<()> {
        fs::create_dir_all(self.transcripts())?;
        let name = format!("{session:08x}-0000-4000-8000-000000000000");
        let path = self.transcripts().join(format!("{name}.jsonl"));
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut out = BufWriter::new(file);
        let ago = i64::from(self.sessions() - session) * 360 * DAY_MS / i64::from(self.sessions());
        for turn in turns {
            let at = end()?.0 - ago + i64::from(turn) * 60_000;
            turn::write(&mut out, &self.corpus, &name, &self.tree.root, turn, at)?;
        }
        Ok(out.flush()?)
    }

    /// Runs the program.
    fn sync(&self) -> Result<Cost> {
        self.process(&["sync"])
    }

    /// Runs the program as hooks start it, without a waiting person.
    fn sync_in_background(&self) -> Result<Cost> {
        self.process(&["sync", "--background"])
    }

    fn process(&self, what: &[&str]) -> Result<Cost> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_throughline-processor"));
        command.args(what).args(["--project", &ProjectId(PROJECT).to_string()]);
        run(self.sealed(&mut command))
    }

    fn sealed<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("THROUGHLINE_MODELS", self.home.join("models"))
            .env("THROUGHLINE_NOW", END)
            .env(mode::VARIABLE, "full")
    }

    fn sizes(&self) -> Result<()> {
        let project = self.dirs.project(self.tree.project);
        let index = self.dirs.tree(&self.tree.root).index;
        let memories = self.tree.store().join("memories");
        let memories = fs::read_dir(memories).map_or(0, |listing| listing.count());
        let segments = Index::open(&index)?.context("there is no index")?.passages().0;
        let passages: u32 = segments.iter().map(Segment::docs).sum();
        println!(
            "{} turns in {} sessions, {passages} passages, {memories} memories; MB: archive {:.0}, what was mined {:.0}, index {:.0}, transcripts {:.0}",
            self.sessions() * self.options.session,
            self.sessions(),
            megabytes(&project.archive)?,
            megabytes(&project.mined)?,
            megabytes(&index)?,
            megabytes(&self.transcripts())?,
        );
        Ok(())
    }

    /// Adds ten turns at a time.
    fn rounds(&self) -> Result<()> {
        let session = self.sessions() - 1;
        let mut turn = self.options.session + self.turns_grown()?;
        let mut costs = Vec::new();
        for _ in 0..self.options.rounds {
            self.grow(session, turn..turn + ADDED)?;
            costs.push(self.sync()?);
            turn += ADDED;
        }
        Cost::print_head();
        Cost::print_all("ten turns more", costs.clone());
        self.grow(session, turn..turn + ADDED)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--stages").arg(&self.home);
        run(self.sealed(&mut command))?.print("the same, by stages (above)");
        fs::write(self.home.join("grown"), (turn + ADDED - self.options.session).to_string())?;
        self.sync()?.print("nothing new");
        Ok(())
    }

    /// Returns the number of turns by which earlier runs extended the last session.
    fn turns_grown(&self) -> Result<u32> {
        let path = self.home.join("grown");
        if path.exists() { Ok(fs::read_to_string(path)?.parse()?) } else { Ok(0) }
    }

    fn rebuild(&self) -> Result<()> {
        fs::remove_dir_all(self.dirs.tree(&self.tree.root).index)?;
        self.sync()?.print("the index made again");
        Ok(())
    }
}

/// Creates a repository with one commit. Only some kinds of memories are enabled, because randomly combined lines
/// result in an unrealistic number of findings. With these kinds there are about as many memories as in other benches.
fn repository(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join(STORE_DIR))?;
    fs::write(root.join(STORE_DIR).join("config.toml"), "kinds = [\"decision\"]\n")?;
    fs::write(root.join("README.md"), "A project.\n")?;
    for arguments in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.com",
            "commit",
            "--quiet",
            "-m",
            "Begin",
        ],
    ] {
        let status = Command::new("git").arg("-C").arg(root).args(arguments).status()?;
        ensure!(status.success(), "git {arguments:?} failed");
    }
    Ok(())
}

fn link_table(models: &Path) -> Result<()> {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/assets");
    let assets = std::env::var_os("THROUGHLINE_MODELS").map_or(assets, PathBuf::from);
    fs::create_dir_all(models)?;
    for entry in fs::read_dir(assets.canonicalize()?)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("transformer") {
            std::os::unix::fs::symlink(entry.path(), models.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn megabytes(folder: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in walkdir::WalkDir::new(folder) {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes as f64 / 1e6)
}
