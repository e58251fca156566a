//! Costs that have a bound: one more turn in sessions of two lengths, the room that sessions of 1 MB take,
//! and lines and memory files that are ten times as long.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use memory_store::Timestamp;
use memory_store::file::parse_bytes;
use memory_store::redact::Redactor;
use processor::transcript::SessionBuilder;
use serde_json::{Value, json};

use crate::corpus::Corpus;
use crate::measure::{Cost, used_ms};
use crate::{Bench, Options, end, megabytes};

/// Bytes of a megabyte here.
const MB: u64 = 1_000_000;
/// Megabytes of the session that is no long one.
const USUAL_MB: u64 = 4;
/// Sessions to which the room that they take is scaled.
const SESSIONS: u32 = 1_000;
/// Sessions of 1 MB that are synced for that.
const SESSIONS_MADE: u32 = 40;

/// A row: what was measured, and the unit.
type Row = (String, f64, &'static str);

/// Measures and prints all rows.
pub fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for megabytes in [USUAL_MB, options.long] {
        rows.extend(growth(megabytes, options.rounds)?);
    }
    rows.extend(room()?);
    rows.extend(salvage()?);
    rows.extend(keys()?);
    if options.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(what, value, unit)| json!({"what": what, "value": value, "unit": unit}))
            .collect();
        println!("{}", Value::from(rows));
    } else {
        for (what, value, unit) in rows {
            println!("{what:<58} {value:>10.2} {unit}");
        }
    }
    Ok(())
}

fn home() -> Result<(tempfile::TempDir, Bench)> {
    let home = tempfile::tempdir()?;
    let bench = Bench::open(home.path(), Options::parse(std::iter::empty())?)?;
    Ok((home, bench))
}

/// A turn more in a session of so many megabytes, the median of some rounds.
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
    let row = |what: &str, value, unit| (format!("{megabytes} MB session, {what}"), value, unit);
    Ok(vec![
        row("first sync", first.cpu_ms / 1e3, "s CPU"),
        row("first sync", first.peak_kib as f64 / 1024.0, "MiB"),
        row("a turn more", median.cpu_ms / 1e3, "s CPU"),
        row("a turn more", median.peak_kib as f64 / 1024.0, "MiB"),
    ])
}

/// Measures the room that data and state take for sessions of 1 MB.
fn room() -> Result<Vec<Row>> {
    let (_home, bench) = home()?;
    for session in 0..SESSIONS_MADE {
        write_session(&bench, session, MB)?;
    }
    bench.sync()?;
    let project = bench.dirs.project(bench.tree.project);
    let state = bench.dirs.tree(&bench.tree.root);
    let scale = f64::from(SESSIONS / SESSIONS_MADE);
    let mut rows = Vec::new();
    let folders = [
        ("all", vec![bench.dirs.data.clone(), bench.dirs.state.clone()]),
        ("archive", vec![project.archive()]),
        ("mined", vec![project.mined()]),
        ("ledger", vec![project.ledger()]),
        ("index", vec![state.index()]),
        ("thinking", vec![state.thinking()]),
    ];
    for (what, places) in folders {
        let there = places.iter().filter(|place| place.exists());
        let sum: f64 = there.map(|place| megabytes(place)).sum::<Result<f64>>()?;
        rows.push((format!("{SESSIONS} sessions of 1 MB: {what}"), sum * scale, "MB"));
    }
    Ok(rows)
}

/// A broken line of records nested in one another, and one ten times as long.
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

/// A memory file of many keys, and one of ten times as many.
fn keys() -> Result<Vec<Row>> {
    ratio("a memory file of many keys", |times| {
        let keys: String = (0..600 * times).map(|key| format!("k{key}: v\n")).collect();
        let file =
            format!("---\nid: 01arz3ndektsv4rrffq69g5fav\nkind: fact\n{keys}---\n\n# A title\n");
        used_ms(|| (0..20).for_each(|_| drop(parse_bytes(file.as_bytes()))))
    })
}

fn ratio(what: &str, cost_ms: impl Fn(usize) -> f64) -> Result<Vec<Row>> {
    // The first run compiles patterns.
    cost_ms(1);
    let (once, tenfold) = (cost_ms(1), cost_ms(10));
    ensure!(once > 0.0, "{what}: too short to be measured");
    Ok(vec![
        (format!("{what}, ten times as long"), tenfold / 1e3, "s CPU"),
        (format!("{what}, ten times as long"), tenfold / once, "times"),
    ])
}

/// Writes a session of so many bytes; returns its turns.
fn write_session(bench: &Bench, session: u32, bytes: u64) -> Result<u32> {
    let mut turns = 0;
    while append_turns(bench, session, turns..turns + 1)? < bytes {
        turns += 1;
    }
    Ok(turns + 1)
}

/// Appends turns to the transcript of a session; returns its bytes.
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

/// A turn with what takes the room in life: files that are read, edits with the whole file beside them, thoughts.
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
