//! Costs with an upper bound: one more turn in sessions of two lengths, the disk space for sessions of 1 MB, lines and
//! memory files that are ten times as long, a git that hangs, a lock that another process has, and commands over many
//! memories.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use memory_store::Timestamp;
use memory_store::file::MemoryFile;
use memory_store::redact::Redactor;
use processor::transcript::SessionBuilder;
use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::measure::{Cost, run as run_to_its_end, used_ms};
use crate::{Bench, Options, end, megabytes};

/// Number of bytes in a megabyte.
const MB: u64 = 1_000_000;
/// Size in megabytes of a session of usual length.
const USUAL_MB: u64 = 4;
/// Number of sessions of 1 MB that a first sync reads.
const FIRST_SESSIONS: u32 = 100;
/// Number of sessions to which the measured disk space is scaled.
const SESSIONS: u32 = 1_000;
/// Number of sessions of 1 MB for which the disk space is measured.
const SESSIONS_MADE: u32 = 300;
/// Maximum number of syncs until all sessions are packed.
const SYNCS_MAX: usize = 20;
/// Number of memories for the measured commands.
const MEMORIES: u32 = 2_700;
/// Exit code of a command that waited too long for a lock.
const LOCKED: i32 = 10;

/// Upper bounds.
mod most {
    /// Seconds of processor time for one more turn in a session of usual length.
    pub const USUAL_TURN_S: f64 = 0.2;
    /// Seconds of processor time for one more turn in a long session of any length.
    pub const LONG_TURN_S: f64 = 1.0;
    /// Memory in MiB for one more turn in a long session.
    pub const LONG_TURN_MIB: f64 = 200.0;
    /// Megabytes of data and state for 1,000 sessions of 1 MB.
    pub const ROOM_MB: f64 = 100.0;
    /// Seconds of processor time for a first sync of sessions of 1 MB, without vectors.
    pub const FIRST_S: f64 = 6.0;
    /// Ratio of the times for an input and for one that is ten times as long.
    pub const TENFOLD: f64 = 20.0;
    /// Seconds for a sync in which git hangs: the limit of one call, and the sync itself.
    pub const HUNG_S: f64 = 25.0;
    /// Seconds for the next sync, which does not call git again.
    pub const HUNG_AGAIN_S: f64 = 5.0;
    /// Seconds for a command if another process has its lock.
    pub const LOCKED_S: f64 = 12.0;
    /// Seconds of processor time for `list`, `status` and `show`.
    pub const COMMAND_S: f64 = 0.1;
}

/// A measured value.
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    /// Upper bound of the value; `None` if there is none.
    most: Option<f64>,
}

impl Row {
    fn new(what: String, value: f64, unit: &'static str) -> Self {
        Self { what, value, unit, most: None }
    }

    fn at_most(mut self, most: f64) -> Self {
        self.most = Some(most);
        self
    }

    fn is_missed(&self) -> bool {
        self.most.is_some_and(|most| self.value > most)
    }

    fn print(&self) {
        let Self { what, value, unit, most } = self;
        let bound = most.map_or_else(String::new, |most| format!("  at most {most}"));
        let missed = if self.is_missed() { ", MISSED" } else { "" };
        println!("{what:<58} {value:>10.2} {unit:<6}{bound}{missed}");
    }

    fn to_json(&self) -> Value {
        json!({
            "what": self.what, "value": self.value, "unit": self.unit, "most": self.most,
            "missed": self.is_missed(),
        })
    }
}

/// Measures and prints all rows. Returns an error if a value exceeds its bound and `--judge` is set.
pub fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for megabytes in [USUAL_MB, options.long] {
        rows.extend(growth(megabytes, options.rounds)?);
    }
    rows.extend(first()?);
    rows.extend(room()?);
    rows.extend(salvage()?);
    rows.extend(keys()?);
    rows.extend(hung_git()?);
    match &options.program {
        Some(program) => {
            rows.push(locked(program)?);
            rows.extend(commands(program)?);
        }
        None => eprintln!("without --program FILE no command of `throughline` is measured"),
    }
    if options.json {
        println!("{}", rows.iter().map(Row::to_json).collect::<Value>());
    } else {
        rows.iter().for_each(Row::print);
    }
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    if options.judge && missed > 0 {
        bail!("{missed} of {} rows are beyond their bounds", rows.len());
    }
    Ok(())
}

fn home() -> Result<(tempfile::TempDir, Bench)> {
    let home = tempfile::tempdir()?;
    let bench = Bench::open(home.path(), Options::parse(std::iter::empty())?)?;
    Ok((home, bench))
}

/// Measures one more turn in a session of this size, as the median of some rounds.
fn growth(megabytes: u64, rounds: u32) -> Result<Vec<Row>> {
    let (_home, bench) = home()?;
    let turns = write_session(&bench, 0, megabytes * MB)?;
    let first = bench.sync()?;
    let mut costs = Vec::new();
    for (turn, _) in (turns..).zip(0..rounds) {
        append_turns(&bench, 0, turn..turn + 1)?;
        costs.push(bench.sync()?);
    }
    costs.sort_by(|a: &Cost, b| a.cpu_ms.total_cmp(&b.cpu_ms));
    let median = costs.get(costs.len() / 2).context("no rounds")?;
    let row =
        |what: &str, value, unit| Row::new(format!("{megabytes} MB session, {what}"), value, unit);
    let turn_s = if megabytes > USUAL_MB { most::LONG_TURN_S } else { most::USUAL_TURN_S };
    Ok(vec![
        row("first sync", first.cpu_ms / 1e3, "s CPU"),
        row("first sync", first.peak_kib as f64 / 1024.0, "MiB"),
        row("a turn more", median.cpu_ms / 1e3, "s CPU").at_most(turn_s),
        row("a turn more", median.peak_kib as f64 / 1024.0, "MiB").at_most(most::LONG_TURN_MIB),
    ])
}

/// Measures a first sync of many sessions, without vectors.
fn first() -> Result<Vec<Row>> {
    let (_home, bench) = home()?;
    fs::remove_dir_all(bench.home.join("models"))?;
    for session in 0..FIRST_SESSIONS {
        write_session(&bench, session, MB)?;
    }
    let cost = bench.sync()?;
    let what = || format!("{FIRST_SESSIONS} sessions of 1 MB, first sync, no vectors");
    Ok(vec![
        Row::new(what(), cost.cpu_ms / 1e3, "s CPU").at_most(most::FIRST_S),
        Row::new(what(), cost.peak_kib as f64 / 1024.0, "MiB"),
    ])
}

/// Measures the disk space of data and state for sessions of 1 MB.
fn room() -> Result<Vec<Row>> {
    let (_home, bench) = home()?;
    for session in 0..SESSIONS_MADE {
        write_session(&bench, session, MB)?;
    }
    // Because of this newer session, the others count as inactive.
    write_session(&bench, SESSIONS - 1, 1)?;
    bench.sync()?;
    let project = bench.dirs.project(bench.tree.project);
    let own_files = megabytes(&project.archive)?;
    // Only syncs without a waiting person pack sessions.
    let mut packing = Vec::new();
    for _ in 0..SYNCS_MAX {
        let before = megabytes(&project.archive)?;
        let cost = bench.sync_in_background()?;
        if megabytes(&project.archive)? == before {
            break;
        }
        packing.push(cost);
    }
    let state = bench.dirs.tree(&bench.tree.root);
    let scale = f64::from(SESSIONS) / f64::from(SESSIONS_MADE);
    let dearest = |of: fn(&Cost) -> f64| packing.iter().map(of).fold(0.0, f64::max);
    let mut rows = vec![
        Row::new(
            format!("{SESSIONS} sessions of 1 MB: archive, not packed"),
            own_files * scale,
            "MB",
        ),
        Row::new("a sync that packs".to_owned(), dearest(|cost| cost.cpu_ms / 1e3), "s CPU"),
        Row::new(
            "a sync that packs".to_owned(),
            dearest(|cost| cost.peak_kib as f64 / 1024.0),
            "MiB",
        ),
    ];
    let folders = [
        ("all", vec![bench.dirs.data.clone(), bench.dirs.state.clone()]),
        ("archive", vec![project.archive.clone()]),
        ("mined", vec![project.mined.clone()]),
        ("ledger", vec![project.ledger.clone()]),
        ("index", vec![state.index.clone()]),
        ("thinking", vec![state.thinking.clone()]),
    ];
    for (what, places) in folders {
        let there = places.iter().filter(|place| place.exists());
        let sum: f64 = there.map(|place| megabytes(place)).sum::<Result<f64>>()?;
        let row = Row::new(format!("{SESSIONS} sessions of 1 MB: {what}"), sum * scale, "MB");
        rows.push(if what == "all" { row.at_most(most::ROOM_MB) } else { row });
    }
    Ok(rows)
}

/// Measures a damaged line of nested records, and one that is ten times as long.
fn salvage() -> Result<Vec<Row>> {
    let nested = |levels: usize| {
        let broken = "{\"type\":\"user\",\"a\":".repeat(levels);
        format!("{{\"type\":\"user\",\"uuid\":\"u\",\"x\":{broken}")
    };
    let redactor = Redactor::default();
    ratio("a broken line", |times| {
        let line = nested(20_000 * times);
        used_ms(|| SessionBuilder::new(&redactor).line(line.as_bytes()))
    })
}

/// Measures a memory file with many keys, and one with ten times as many.
fn keys() -> Result<Vec<Row>> {
    ratio("a memory file of many keys", |times| {
        let keys: String = (0..600 * times).map(|key| format!("k{key}: v\n")).collect();
        let file =
            format!("---\nid: 01arz3ndektsv4rrffq69g5fav\nkind: fact\n{keys}---\n\n# A title\n");
        let parse = || MemoryFile::parse(Path::new("memory.md"), file.clone().into_bytes());
        used_ms(|| (0..20).for_each(|_| drop(parse())))
    })
}

fn ratio(what: &str, cost_ms: impl Fn(usize) -> f64) -> Result<Vec<Row>> {
    // The first run compiles patterns, so it does not count.
    cost_ms(1);
    let (once, tenfold) = (cost_ms(1), cost_ms(10));
    ensure!(once > 0.0, "{what}: too short to be measured");
    Ok(vec![
        Row::new(format!("{what}, ten times as long"), tenfold / 1e3, "s CPU"),
        Row::new(format!("{what}, ten times as long"), tenfold / once, "times")
            .at_most(most::TENFOLD),
    ])
}

/// Measures a sync of a repository in which git hangs, and the next sync.
fn hung_git() -> Result<Vec<Row>> {
    let (_home, bench) = home()?;
    write_session(&bench, 0, MB)?;
    let config = bench.tree.root.join(".git").join("config");
    fs::remove_file(&config)?;
    ensure!(Command::new("mkfifo").arg(&config).status()?.success(), "mkfifo failed");
    let first = bench.sync()?;
    append_turns(&bench, 1, 0..1)?;
    let second = bench.sync()?;
    let row =
        |what: &str, cost: Cost| Row::new(format!("git hangs, {what}"), cost.wall_ms / 1e3, "s");
    Ok(vec![
        row("first sync", first).at_most(most::HUNG_S),
        row("next sync", second).at_most(most::HUNG_AGAIN_S),
    ])
}

/// Measures a command that writes while another process has the lock.
fn locked(program: &Path) -> Result<Row> {
    let (_home, bench) = home()?;
    bench.sync()?;
    let path = bench.dirs.project(bench.tree.project).folder.join("store.lock");
    let lock = OpenOptions::new().create(true).append(true).open(path)?;
    lock.lock()?;
    let started = Instant::now();
    let mut command = Command::new(program);
    command.args(["add", "The pier has forty poles", "--kind", "fact"]);
    let status = quiet(&bench, &mut command).status()?;
    ensure!(status.code() == Some(LOCKED), "{command:?} ended with {status}");
    let row = Row::new("lock held, `add`".to_owned(), started.elapsed().as_secs_f64(), "s");
    Ok(row.at_most(most::LOCKED_S))
}

/// Measures commands over a store with many memories. Each command is run twice, and the second run counts.
fn commands(program: &Path) -> Result<Vec<Row>> {
    let (_home, bench) = home()?;
    let folder = bench.tree.store().join("memories");
    fs::create_dir_all(&folder)?;
    let id = |number: u32| format!("01arz3ndektsv4rrffq69{number:05}");
    for number in 0..MEMORIES {
        let (id, text) = (id(number), bench.corpus.text(u64::from(number), 6));
        let file =
            format!("---\nid: {id}\nkind: decision\n---\n\n# Part {number} is kept\n\n{text}\n");
        fs::write(folder.join(format!("part-{number}.md")), file)?;
    }
    bench.sync()?;
    let shown = id(MEMORIES / 2);
    let asked: [&[&str]; 3] = [&["list"], &["status"], &["show", &shown]];
    asked
        .iter()
        .map(|arguments| {
            let cost = || {
                let mut command = Command::new(program);
                run_to_its_end(quiet(&bench, command.args(*arguments)))
            };
            cost()?;
            let what = format!("{MEMORIES} memories, `{}`", arguments[0]);
            Ok(Row::new(what, cost()?.cpu_ms / 1e3, "s CPU").at_most(most::COMMAND_S))
        })
        .collect()
}

/// Returns a command in the sealed home's project, with its output suppressed.
fn quiet<'c>(bench: &Bench, command: &'c mut Command) -> &'c mut Command {
    bench
        .sealed(command)
        .current_dir(&bench.tree.root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

/// Writes a session of this size in bytes. Returns the number of turns.
fn write_session(bench: &Bench, session: u32, bytes: u64) -> Result<u32> {
    let mut turns = 0;
    while append_turns(bench, session, turns..turns + 1)? < bytes {
        turns += 1;
    }
    Ok(turns + 1)
}

/// Appends turns to the transcript of a session. Returns the size of the file in bytes.
fn append_turns(bench: &Bench, session: u32, turns: std::ops::Range<u32>) -> Result<u64> {
    fs::create_dir_all(bench.transcripts())?;
    let id = format!("{session:08x}-0000-4000-8000-000000000000");
    let path = bench.transcripts().join(format!("{id}.jsonl"));
    let file = OpenOptions::new().create(true).append(true).open(&path)?;
    let mut out = BufWriter::new(file);
    for number in turns {
        turn(&mut out, &bench.corpus, (&id, session), &bench.tree.root, number)?;
    }
    out.flush()?;
    Ok(fs::metadata(&path)?.len())
}

/// Writes a turn with typical large content: files that are read, edits with the whole file, thinking.
fn turn(
    out: &mut impl Write,
    corpus: &Corpus,
    (id, session): (&str, u32),
    root: &Path,
    number: u32,
) -> Result<()> {
    let at = end()?.0 - i64::from(1_000 - session) * 1_000_000 + i64::from(number) * 60_000;
    let seed = u64::from(session) << 40 | u64::from(number) << 8;
    let text = |part: u64, lines: usize| corpus.text(seed | part, lines);
    let path = format!("{}/src/part{}.rs", root.display(), number % 40);
    let (read, old, new, whole) = (text(1, 90), text(2, 4), text(3, 5), text(4, 120));
    let call = |step: u32| format!("toolu_{session}_{number}_{step}");
    let asks = |step: u32, tool: &str, input: Value| json!({"type": "tool_use", "id": call(step), "name": tool, "input": input});
    let gives = |step: u32, text: &str| json!([{"type": "tool_result", "tool_use_id": call(step), "content": text}]);
    let read_result = json!({"type": "text", "file": {"filePath": path, "content": read}});
    let edit_result =
        json!({"filePath": path, "oldString": old, "newString": new, "originalFile": whole});
    let steps = [
        (
            "user",
            json!(format!("What does part {number} do?\n```\n{}\n```", text(0, 2))),
            Value::Null,
        ),
        (
            "assistant",
            json!([{"type": "thinking", "thinking": text(5, 10), "signature": "x"}]),
            Value::Null,
        ),
        ("assistant", json!([asks(2, "Read", json!({"file_path": path}))]), Value::Null),
        ("user", gives(2, &read), read_result),
        (
            "assistant",
            json!([asks(
                4,
                "Edit",
                json!({"file_path": path, "old_string": old, "new_string": new})
            )]),
            Value::Null,
        ),
        ("user", gives(4, "The file has been updated."), edit_result),
        ("assistant", json!([{"type": "text", "text": text(6, 6)}]), Value::Null),
    ];
    let uuid = |number: u32, step: u32| format!("{}-{number:04x}-4000-8000-{step:012x}", &id[..8]);
    let last = u32::try_from(steps.len())? - 1;
    for (step, (kind, content, result)) in (0..).zip(steps) {
        let parent = match (number, step) {
            (0, 0) => Value::Null,
            (_, 0) => json!(uuid(number - 1, last)),
            (_, _) => json!(uuid(number, step - 1)),
        };
        let message = format!("msg_{session}_{number}_{step}");
        let mut record = json!({
            "type": kind, "uuid": uuid(number, step), "parentUuid": parent, "sessionId": id, "isSidechain": false,
            "userType": "external", "cwd": root, "version": "2.1.330", "gitBranch": "main",
            "timestamp": Timestamp(at + i64::from(step) * 5_000).to_string(),
            "message": {"role": kind, "id": message, "content": content},
        });
        if !result.is_null() {
            record["toolUseResult"] = result;
        }
        serde_json::to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
