//! `bench-hooks`: measures the durations of the hooks as whole processes. `scripts/bench hooks` runs it.
#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use journeys::bench::Result;
use journeys::bench::cold;
use journeys::bench::corpus::{self, SplitMix};
use journeys::bench::run::{Launcher, ProcessSample, Promise, Row, argument, median};
use journeys::bench::store::{self, BenchStore};
use journeys::bench::table::{self, TableLine};
use memory_store::layout::UserDirs;
use memory_store::recall::Recall;
use memory_store::recall::passages::{Already, MEMORIES_ENOUGH};
use serde_json::{Value, json};

const USAGE: &str = "usage: bench-hooks --programs DIR [--against DIR] [--sizes N[:P],..] [--long] \
    [--rounds N] [--cold N] [--json] [--keep DIR]";

/// Number of the round whose payloads are kept. It is not one of the measured rounds.
const KEPT_ROUND: usize = 100_000;

/// Default numbers of memories and passages of the measured stores.
const USUAL_SIZES: [StoreSize; 2] = [StoreSize::new(1000, 10_000), StoreSize::new(10_000, 160_000)];
/// Additional store that is measured with `--long`. Building its graphs takes half an hour.
const LONG_SIZE: StoreSize = StoreSize::new(100_000, 1_000_000);
/// Number of passages for each memory, if only the number of memories is given.
const PASSAGES_PER_MEMORY: u32 = 10;
/// Maximum number of prompts that are tried to find one that passages answer, and memories do not.
const TRIED_MAX: u64 = 100;

fn main() -> ExitCode {
    match HooksOptions::parse(std::env::args().skip(1)).and_then(|options| bench(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-hooks: {error}");
            ExitCode::from(2)
        }
    }
}

/// Numbers of memories and passages of a store.
#[derive(Clone, Copy)]
struct StoreSize {
    memories: u64,
    passages: u32,
}

impl StoreSize {
    const fn new(memories: u64, passages: u32) -> Self {
        Self { memories, passages }
    }

    /// Parses `MEMORIES` or `MEMORIES:PASSAGES`.
    fn parse(text: &str) -> Result<Self> {
        if let Some((memories, passages)) = text.split_once(':') {
            return Ok(Self::new(memories.parse()?, passages.parse()?));
        }
        let memories: u32 = text.parse()?;
        let passages = memories.checked_mul(PASSAGES_PER_MEMORY).ok_or("too many passages")?;
        Ok(Self::new(memories.into(), passages))
    }
}

struct HooksOptions {
    programs: PathBuf,
    /// Folder with the hooks of another build, with which these are compared.
    against: Option<PathBuf>,
    sizes: Vec<StoreSize>,
    rounds: usize,
    /// Number of rounds before which all files that a row reads are dropped from the page cache.
    cold_rounds: usize,
    json: bool,
    /// Folder for stores, which later runs reuse, and for one payload of each row, to be used with `strace` and `perf`.
    keep: Option<PathBuf>,
}

impl HooksOptions {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            programs: PathBuf::new(),
            against: None,
            sizes: USUAL_SIZES.to_vec(),
            rounds: 300,
            cold_rounds: 0,
            json: false,
            keep: None,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            match argument.as_str() {
                "--programs" => options.programs = value()?.into(),
                "--against" => options.against = Some(value()?.into()),
                "--long" => options.sizes.push(LONG_SIZE),
                "--cold" => options.cold_rounds = value()?.parse()?,
                "--sizes" => {
                    options.sizes =
                        value()?.split(',').map(StoreSize::parse).collect::<Result<_>>()?;
                }
                "--rounds" => options.rounds = value()?.parse()?,
                "--json" => options.json = true,
                "--keep" => options.keep = Some(value()?.into()),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }
}

/// Runs all rows and prints the table; returns whether all rows are within their limits.
fn bench(options: &HooksOptions) -> Result<bool> {
    let launcher = Launcher::new(options.programs.join("launch"))?;
    let models = models()?;
    let build = |size: &StoreSize| match &options.keep {
        Some(kept) => BenchStore::open_or_build(kept, size.memories, size.passages, &models),
        None => BenchStore::build(size.memories, size.passages, &models),
    };
    let stores = options.sizes.iter().map(build).collect::<Result<Vec<_>>>()?;
    let mut rows =
        vec![plain("empty static program", vec![argument(&options.programs.join("empty"))])];
    for store in &stores {
        rows.extend(hooks(&options.programs, "", store, &models));
        if let Some(against) = &options.against {
            rows.extend(hooks(against, ", other build", store, &models));
        }
    }
    rows.extend(interpreters());
    rows.iter_mut().try_for_each(|row| launcher.check(row))?;
    let warm = launcher.interleave(&mut rows, 1..options.rounds + 1, &|_| Ok(()))?;
    let mut lines = lines(&rows, &warm, false);
    if options.cold_rounds > 0 {
        let rounds = options.rounds + 1..options.rounds + 1 + options.cold_rounds;
        let cold =
            launcher.interleave(&mut rows, rounds, &|files| chill(&stores, &models, files))?;
        lines.extend(self::lines(&rows, &cold, true));
    }
    print(options, &stores, &lines)?;
    if options.keep.is_some() {
        keep(&mut rows)?;
    }
    Ok(lines.iter().all(TableLine::keeps_its_promise))
}

/// Summarises the samples of all rows. The first row is the empty program.
fn lines(rows: &[Row<'_>], samples: &[Vec<ProcessSample>], cold: bool) -> Vec<TableLine> {
    let walls = samples.first().into_iter().flatten().map(|sample| sample.wall_us);
    let empty_us = median(walls.collect());
    let lines = rows.iter().zip(samples);
    lines.map(|(row, samples)| TableLine::new(row, samples, empty_us, cold)).collect()
}

/// Returns the folder of the embedder's files of this build.
fn models() -> Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory-store/assets").canonicalize()?)
}

/// Drops the files of a row, of the embedder and of all stores from the page cache.
fn chill(stores: &[BenchStore], models: &Path, files: &[&Path]) -> Result<()> {
    for file in files {
        cold::forget(file)?;
    }
    let mut files = store::files_below(models)?;
    for store in stores {
        files.extend(store.files()?);
    }
    for file in files {
        cold::forget(&file)?;
        if cold::is_kept(&file) == Some(true) {
            return Err(format!("{} cannot be dropped from memory", file.display()).into());
        }
    }
    Ok(())
}

fn print(options: &HooksOptions, stores: &[BenchStore], lines: &[TableLine]) -> Result<()> {
    if options.json {
        let rows: Vec<Value> = lines.iter().map(TableLine::to_json).collect();
        let store = |store: &BenchStore| {
            Ok(json!({
                "memories": store.size,
                "passages": store.passages,
                "index_bytes": store.index_bytes()?,
                "built_s": store.built_s,
            }))
        };
        let stores: Vec<Value> = stores.iter().map(store).collect::<Result<_>>()?;
        println!("{}", json!({ "rounds": options.rounds, "stores": stores, "rows": rows }));
        return Ok(());
    }
    println!("{}", table::head());
    lines.iter().for_each(|line| println!("{}", line.to_text()));
    for store in stores {
        println!(
            "{} memories, {} passages: index {:.1} MB, built in {:.1} s",
            store.size,
            store.passages,
            store.index_bytes()? as f64 / 1e6,
            store.built_s,
        );
    }
    if options.cold_rounds > 0 {
        println!("cold: bytes of programs, indexes and state not in memory; names of files are");
    }
    Ok(())
}

/// Writes instructions for running each row without the bench.
fn keep(rows: &mut [Row<'_>]) -> Result<()> {
    for (number, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.size.is_some()) {
        let payload = row.home.join(format!("payload-{number}.json"));
        std::fs::write(&payload, (row.prepare)(KEPT_ROUND)?)?;
        let variables =
            row.environment().map(|(name, value)| format!("{name}={}", value.display()));
        let variables = variables.collect::<Vec<_>>().join(" ");
        let command = row.command.join(" ");
        eprintln!("{}: {variables} {command} <{}", row.name, payload.display());
    }
    Ok(())
}

/// Returns the row of a program that reads no payload.
fn plain(name: &str, command: Vec<String>) -> Row<'static> {
    Row {
        name: name.into(),
        size: None,
        command,
        promise: None,
        home: std::env::temp_dir(),
        models: None,
        prepare: Box::new(|_| Ok(Vec::new())),
        speaks: Some(false),
    }
}

/// Returns the rows of the installed interpreters in which hooks are often written.
fn interpreters() -> Vec<Row<'static>> {
    let programs = [("node", ["-e", "0"]), ("python3", ["-c", "0"]), ("bun", ["-e", "0"])];
    programs
        .into_iter()
        .filter_map(|(name, arguments)| {
            let Some(program) = find_program(name) else {
                eprintln!("bench-hooks: {name} is not installed, so there is no row for it");
                return None;
            };
            let mut command = vec![program];
            command.extend(arguments.map(str::to_owned));
            Some(plain(&format!("{name} {}", arguments.join(" ")), command))
        })
        .collect()
}

/// Returns the path of the program itself: wrappers of version managers start even more slowly.
fn find_program(name: &str) -> Option<String> {
    let paths = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&paths)
        .map(|folder| folder.join(name))
        .filter(|path| !path.to_string_lossy().contains("/shims/"))
        .find(|path| path.is_file())?;
    Some(argument(&found))
}

/// Returns the rows of the five hooks of one build with one store; `build` is appended to their names.
fn hooks<'a>(
    programs: &Path,
    build: &'static str,
    store: &'a BenchStore,
    models: &Path,
) -> Vec<Row<'a>> {
    let size = store.size;
    let row = |name: &'static str, hook: &'static str, speaks: bool, payload: Payload<'a>| Row {
        name: format!("{name}{build}"),
        size: Some(size),
        command: vec![argument(&programs.join(format!("throughline-{hook}")))],
        promise: promise(hook, name, store).filter(|_| build.is_empty()),
        home: store.home.clone(),
        models: Some(models.to_owned()),
        prepare: Box::new(move |round| {
            store.catch_up()?;
            let session = format!("{name}{build}-{round}");
            payload(store, &Round { number: round as u64, session })
        }),
        speaks: Some(speaks),
    };
    let prompt = "user-prompt-submit";
    let before = "pre-tool-use";
    let tool = "post-tool-use";
    let by_words =
        row("user-prompt-submit, with hits, by words", prompt, true, Box::new(prompt_that_hits));
    vec![
        row("user-prompt-submit, with hits", prompt, true, Box::new(prompt_that_hits)),
        // The root of the project contains no models.
        Row { models: Some(store.root.clone()), ..by_words },
        row(PASSAGES, prompt, true, Box::new(prompt_for_passages(models))),
        row(SILENT, prompt, false, Box::new(silent_prompt)),
        row("session-start", "session-start", true, Box::new(session_start)),
        row("post-tool-use, file without memories", tool, false, Box::new(file_without_memories)),
        row("post-tool-use, file with memories", tool, true, Box::new(file_with_memories)),
        row("post-tool-use, known error", tool, true, Box::new(known_error)),
        row("pre-tool-use, nothing known", before, false, Box::new(edit_without_memories)),
        row("pre-tool-use, file with memories", before, true, Box::new(edit_with_memories)),
        row("stop, not due", "stop", false, Box::new(stop)),
    ]
}

/// Name of the row with a prompt for which memories and then passages are searched, and passages are injected.
const PASSAGES: &str = "user-prompt-submit, passages given";
/// Name of the row with a prompt for which nothing is injected.
const SILENT: &str = "user-prompt-submit, silent";

/// Returns the limits of a hook in a store.
fn promise(hook: &str, row: &str, store: &BenchStore) -> Option<Promise> {
    let size = store.size;
    let ratio = match (size, store.passages) {
        (1000, 10_000) => Some(4.5),
        (10_000, 160_000) => Some(6.0),
        (100_000, 1_000_000) => Some(9.0),
        _ => None,
    };
    // For a silent prompt, all indexes are searched too, but no text is read or printed.
    let ratio = match row {
        PASSAGES => ratio,
        SILENT => ratio.map(|ratio| ratio * 0.9),
        _ => None,
    };
    if let Some(ratio) = ratio {
        return Some(Promise { ratio, cpu_us: 3000.0, peak_kib: 4.0 * 1024.0 });
    }
    let (ratio, cpu_us, peak_mib) = match (hook, row, size) {
        ("user-prompt-submit", "user-prompt-submit, with hits, by words", 1000) => {
            (3.0, 3000.0, 8.0)
        }
        ("user-prompt-submit", _, 1000) => (4.0, 3000.0, 8.0),
        ("user-prompt-submit", _, 10_000) => (6.0, 3000.0, 12.0),
        ("user-prompt-submit", _, 100_000) => (10.0, f64::INFINITY, 12.0),
        ("session-start", _, 1000) => (3.0, 3000.0, 8.0),
        ("post-tool-use", "post-tool-use, file without memories", 1000) => (2.0, 3000.0, 8.0),
        ("post-tool-use", _, 1000) => (3.0, 3000.0, 8.0),
        ("pre-tool-use", "pre-tool-use, nothing known", 1000) => (1.6, 3000.0, 8.0),
        ("pre-tool-use", _, 1000) => (2.8, 3000.0, 8.0),
        ("pre-tool-use", _, 100_000) => (3.2, 3000.0, 12.0),
        ("stop", _, 1000) => (2.0, 3000.0, 8.0),
        _ => return None,
    };
    Some(Promise { ratio, cpu_us, peak_kib: peak_mib * 1024.0 })
}

/// A run of a row.
struct Round {
    /// Number of the round. Rows of two builds with the same name use the same prompt in the same round.
    number: u64,
    /// Session of this run only.
    session: String,
}

/// A function that returns the payload of a round.
type Payload<'a> = Box<dyn Fn(&BenchStore, &Round) -> Result<Vec<u8>> + 'a>;

fn payload(store: &BenchStore, event: &str, session: &str, more: &Value) -> Result<Vec<u8>> {
    let mut payload = json!({
        "session_id": session,
        "transcript_path": store.root.join("transcript.jsonl"),
        "cwd": store.root,
        "prompt_id": "55fbe2e3-7d67-45af-9544-f03a55a57244",
        "permission_mode": "default",
        "hook_event_name": event,
    });
    let members = payload.as_object_mut().ok_or("not an object")?;
    members.extend(more.as_object().ok_or("not an object")?.clone());
    Ok(payload.to_string().into_bytes())
}

fn prompt_that_hits(store: &BenchStore, round: &Round) -> Result<Vec<u8>> {
    store.begin(&round.session)?;
    // The prompt contains a memory's title among common words, as in a question of a user.
    let title = store.memory(round.number * 7).title;
    let prompt = format!("{} {title}?", SplitMix(round.number).common(4));
    payload(store, "UserPromptSubmit", &round.session, &json!({ "prompt": prompt }))
}

/// Returns prompts that too few memories answer, so that passages are searched too, and injected.
fn prompt_for_passages<'a>(
    models: &Path,
) -> impl Fn(&BenchStore, &Round) -> Result<Vec<u8>> + use<'a> {
    let models = models.to_owned();
    move |store, round| {
        store.begin(&round.session)?;
        let dirs = UserDirs { models: Some(models.clone()), ..store.dirs.clone() };
        let recall = Recall::open(&dirs, &store.tree, None);
        for tried in 0..TRIED_MAX {
            let number = (round.number * TRIED_MAX + tried) * 7 % u64::from(store.passages);
            let names = corpus::names(u32::try_from(number)?);
            let prompt = format!("{} {names}?", SplitMix(number).common(6));
            let memories = recall.prompt(&prompt, None, store.now(), &|_| false).hits.len();
            let brings_passages =
                || !recall.passages(&prompt, store.now(), &Already::NOTHING).is_empty();
            if memories < MEMORIES_ENOUGH && brings_passages() {
                let more = json!({ "prompt": prompt });
                return payload(store, "UserPromptSubmit", &round.session, &more);
            }
        }
        Err(format!("of {TRIED_MAX} prompts none brings passages").into())
    }
}

fn silent_prompt(store: &BenchStore, round: &Round) -> Result<Vec<u8>> {
    store.begin("silent")?;
    let word = SplitMix(round.number).common(1);
    let prompt =
        format!("Before lunch, please tell me in simple words what a {word} means to you.");
    payload(store, "UserPromptSubmit", "silent", &json!({ "prompt": prompt }))
}

fn session_start(store: &BenchStore, round: &Round) -> Result<Vec<u8>> {
    payload(store, "SessionStart", &round.session, &json!({ "source": "startup" }))
}

fn read_of(store: &BenchStore, session: &str, file: &str) -> Result<Vec<u8>> {
    let path = store.root.join(file);
    let lines = SplitMix(7).text(400);
    payload(
        store,
        "PostToolUse",
        session,
        &json!({
            "tool_name": "Read",
            "tool_use_id": "toolu_01",
            "tool_input": { "file_path": path },
            "tool_response": { "type": "text", "file": { "filePath": path, "content": lines } },
        }),
    )
}

fn file_without_memories(store: &BenchStore, _round: &Round) -> Result<Vec<u8>> {
    read_of(store, "no-hit", "src/nothing/known.rs")
}

fn file_with_memories(store: &BenchStore, round: &Round) -> Result<Vec<u8>> {
    let files = store.size.div_ceil(5);
    read_of(store, &round.session, &corpus::file(round.number % files))
}

fn edit_without_memories(store: &BenchStore, _round: &Round) -> Result<Vec<u8>> {
    edit_of(store, "no-hit", "src/nothing/known.rs")
}

fn edit_with_memories(store: &BenchStore, round: &Round) -> Result<Vec<u8>> {
    let files = store.size.div_ceil(5);
    edit_of(store, &round.session, &corpus::file(round.number % files))
}

fn edit_of(store: &BenchStore, session: &str, file: &str) -> Result<Vec<u8>> {
    payload(
        store,
        "PreToolUse",
        session,
        &json!({
            "tool_name": "Edit",
            "tool_use_id": "toolu_03",
            "tool_input": {
                "file_path": store.root.join(file),
                "old_string": "use std::fs;",
                "new_string": "use std::fs;\nuse std::io;\n\nfn read() {}\n",
            },
        }),
    )
}

fn known_error(store: &BenchStore, round: &Round) -> Result<Vec<u8>> {
    // One memory in eight is a fix: those with the numbers 2, 10, 18 and so on.
    let fixes = store.size.div_ceil(8);
    let number = round.number % fixes * 8 + 2;
    payload(
        store,
        "PostToolUseFailure",
        &round.session,
        &json!({
            "tool_name": "Bash",
            "tool_use_id": "toolu_02",
            "tool_input": { "command": "cargo test --quiet" },
            "error": corpus::error(number),
        }),
    )
}

fn stop(store: &BenchStore, _round: &Round) -> Result<Vec<u8>> {
    payload(
        store,
        "Stop",
        "stop",
        &json!({ "stop_hook_active": false, "last_assistant_message": "Done." }),
    )
}
