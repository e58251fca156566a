//! `bench-mcp`: measures time, processor time and memory of the MCP server, as a client experiences them.
//! `scripts/bench mcp` runs it.
//!
//! For each size of store, it measures the time from start to the first answer, and the processor time of a `recall`
//! with a loaded model, of `remember`, `forget` and `status`. It measures memory before the first recall, after 1,000
//! recalls, and with 100 recalls in flight. Then 50 clients run at the same time, and two of five of their calls write.
//! At the end all servers are idle for ten minutes, after which they must have released the model (not with
//! `--no-idle`).
//!
//! Exit codes: 0, all figures are within their limits; 1, some are not; 2, a measurement failed.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use journeys::bench::Result;
use journeys::bench::run::{median, quantile};
use journeys::bench::store::BenchStore;
use memory_store::file::MemoryFile;
use memory_store::index::Index;
use memory_store::index::health::{Depth, inspect};
use memory_store::index::journal::Entry;
use memory_store::ledger::Ledger;
use memory_store::settings::Settings;
use memory_store::store::Store;
use memory_store::trust::Trust;
use serde_json::{Value, json};

const USAGE: &str = "usage: bench-mcp --program FILE --models DIR [--sizes N,..] [--clients N] [--operations N] [--no-idle] [--keep DIR] [--json]";

/// Number of measured starts.
const STARTS: usize = 15;
/// Number of calls for each row of processor time.
const CALLS: usize = 60;
/// Number of recalls after which memory is measured again.
const RECALLS: usize = 1_000;
/// Number of recalls that are sent before the first is answered.
const IN_FLIGHT: usize = 100;
/// Idle time before the last measurement. The model is released after five minutes.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// Maximum number of faults of a store that are printed.
const FAULTS_SHOWN: usize = 10;

fn main() -> ExitCode {
    match McpOptions::parse(std::env::args().skip(1)).and_then(|options| bench(&options)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("bench-mcp: {missed} figure(s) above what they should be");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("bench-mcp: {error}");
            ExitCode::from(2)
        }
    }
}

struct McpOptions {
    program: PathBuf,
    models: PathBuf,
    sizes: Vec<u64>,
    clients: usize,
    operations: usize,
    idle: bool,
    /// Folder for stores, which later runs reuse.
    keep: Option<PathBuf>,
    json: bool,
}

impl McpOptions {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            program: PathBuf::new(),
            models: PathBuf::new(),
            sizes: vec![1_000, 10_000, 100_000],
            clients: 50,
            operations: 10_000,
            idle: true,
            keep: None,
            json: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(USAGE);
            match argument.as_str() {
                "--program" => options.program = value()?.into(),
                "--models" => options.models = value()?.into(),
                "--sizes" => {
                    options.sizes = value()?
                        .split(',')
                        .map(str::parse)
                        .collect::<std::result::Result<_, _>>()?;
                }
                "--clients" => options.clients = value()?.parse()?,
                "--operations" => options.operations = value()?.parse()?,
                "--idle" => options.idle = true,
                "--no-idle" => options.idle = false,
                "--keep" => options.keep = Some(value()?.into()),
                "--json" => options.json = true,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }
}

/// One figure.
struct Figure {
    what: String,
    figure: f64,
    unit: &'static str,
    /// Upper limit.
    most: f64,
}

impl Figure {
    /// Returns whether the figure is within its limit; false if it is not a number.
    fn is_met(&self) -> bool {
        self.figure <= self.most
    }
}

/// Measures all figures and prints them; returns how many exceed their limits.
fn bench(options: &McpOptions) -> Result<usize> {
    let mut rows = Vec::new();
    let mut idle = Vec::new();
    for &size in &options.sizes {
        let store = match &options.keep {
            Some(kept) => {
                BenchStore::open_or_build(kept, size, u32::try_from(size)?, &options.models)?
            }
            None => BenchStore::build(size, u32::try_from(size)?, &options.models)?,
        };
        let server = one_client(options, &store, &mut rows)?;
        if options.idle {
            idle.push((store, server));
        }
    }
    if options.clients > 0 {
        let store = BenchStore::build(1_000, 1_000, &options.models)?;
        many_clients(options, &store, &mut rows)?;
    }
    if !idle.is_empty() {
        // All servers are idle at the same time.
        std::thread::sleep(IDLE);
    }
    for (store, server) in &idle {
        let what = format!("resident after ten idle minutes, {} memories", store.size);
        rows.push(Figure { what, figure: server.resident_mib()?, unit: "MiB", most: 15.0 });
    }
    print(options.json, &rows);
    Ok(rows.iter().filter(|row| !row.is_met()).count())
}

fn print(as_json: bool, rows: &[Figure]) {
    if as_json {
        let json = |row: &Figure| {
            // An infinite limit is omitted, since JSON cannot represent infinity.
            let most = row.most.is_finite().then_some(row.most);
            json!({
                "what": row.what, "figure": row.figure, "unit": row.unit, "most": most, "met": row.is_met(),
            })
        };
        println!("{}", rows.iter().map(json).collect::<Value>());
        return;
    }
    for row in rows {
        let Figure { what, figure, unit, most } = row;
        let mark = if row.is_met() { "" } else { "  above" };
        let most = if most.is_finite() { format!("  (at most {most})") } else { String::new() };
        println!("{what:<56} {figure:>9.2} {unit:<4}{most}{mark}");
    }
}

/// Measures a server with one client; returns the server in its final state.
fn one_client(
    options: &McpOptions,
    store: &BenchStore,
    rows: &mut Vec<Figure>,
) -> Result<RunningServer> {
    let size = store.size;
    let mut row = |what: &str, figure, unit, most| {
        rows.push(Figure { what: format!("{what}, {size} memories"), figure, unit, most });
    };
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let mut server = RunningServer::start(options, store)?;
        server.call("status", &json!({}))?;
        starts.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    row("start to first answer", median(starts), "ms", 15.0);

    let mut server = RunningServer::start(options, store)?;
    row("resident before the first recall", server.resident_mib()?, "MiB", 8.0);
    let query = |number: usize| {
        let memory = store.memory(number as u64 * 37);
        let words: Vec<&str> = memory.title.split_whitespace().take(4).collect();
        json!({"query": words.join(" ")})
    };
    server.call("recall", &query(0))?;
    let cpu =
        server.cpu_of(CALLS, |server, number| server.call("recall", &query(number)).map(drop))?;
    row("processor of a warm recall", cpu, "ms", if size <= 10_000 { 4.0 } else { 8.0 });
    let mut ids = Vec::new();
    let cpu = server.cpu_of(CALLS, |server, number| {
        let arguments = json!({
            "kind": "fact", "title": format!("Bench fact number {number} of this run"),
            "text": format!("It was saved as number {number} to see what that takes."),
            "format": "json",
        });
        let saved: Value = serde_json::from_str(&server.call("remember", &arguments)?)?;
        ids.push(saved["id"].as_str().unwrap_or_default().to_owned());
        Ok(())
    })?;
    row("processor of remember", cpu, "ms", 10.0);
    let cpu = server.cpu_of(CALLS, |server, number| {
        server.call("forget", &json!({"id": ids[number]})).map(drop)
    })?;
    row("processor of forget", cpu, "ms", 10.0);
    let cpu = server.cpu_of(CALLS, |server, _| server.call("status", &json!({})).map(drop))?;
    row("processor of status", cpu, "ms", 10.0);
    for number in 0..RECALLS {
        server.call("recall", &query(number))?;
    }
    row("resident after 1,000 recalls", server.resident_mib()?, "MiB", 60.0);
    for number in 0..IN_FLIGHT {
        server.send("recall", &query(number))?;
    }
    let mut most = 0.0f64;
    for _ in 0..IN_FLIGHT {
        most = most.max(server.resident_mib()?);
        server.receive()?;
    }
    row("resident with 100 recalls in flight", most, "MiB", 60.0);
    Ok(server)
}

/// Title and file of a memory that the server has acknowledged.
type Acknowledged = (String, PathBuf);
/// The duration of each `remember` in seconds, and the acknowledged memories.
type Told = std::result::Result<(Vec<f64>, Vec<Acknowledged>), String>;

fn one_of_many(
    options: &McpOptions,
    store: &BenchStore,
    client: usize,
    operations: usize,
) -> Result<(Vec<f64>, Vec<Acknowledged>)> {
    let mut server = RunningServer::start(options, store)?;
    let (mut times, mut files) = (Vec::new(), Vec::new());
    for number in 0..operations {
        if number % 5 >= 2 {
            server.call("recall", &json!({"query": format!("number {number}")}))?;
            continue;
        }
        let title = format!("Client {client} noted number {number}");
        let arguments = json!({"kind": "fact", "title": title, "format": "json"});
        let begin = Instant::now();
        let saved: Value = serde_json::from_str(&server.call("remember", &arguments)?)?;
        times.push(begin.elapsed().as_secs_f64());
        files.push((title, store.root.join(saved["file"].as_str().unwrap_or_default())));
    }
    Ok((times, files))
}

/// Measures many clients at the same time. Afterwards, all acknowledged memories must exist and the store must be
/// valid.
fn many_clients(options: &McpOptions, store: &BenchStore, rows: &mut Vec<Figure>) -> Result<()> {
    let each = options.operations / options.clients;
    let begin = Instant::now();
    let of_all: Vec<Told> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients)
            .map(|client| {
                // The error is converted to text, since its type may not be sent between threads.
                let told = move || one_of_many(options, store, client, each);
                scope.spawn(move || told().map_err(|error| error.to_string()))
            })
            .collect();
        let join = |client: std::thread::ScopedJoinHandle<'_, Told>| {
            client.join().unwrap_or_else(|_| Err("a client panicked".to_owned()))
        };
        clients.into_iter().map(join).collect()
    });
    let seconds = begin.elapsed().as_secs_f64();
    let (mut times, mut acknowledged) = (Vec::new(), Vec::new());
    for client in of_all {
        let (of_client, files) = client?;
        times.extend(of_client);
        acknowledged.extend(files);
    }
    let lost = acknowledged.iter().filter(|(title, file)| !is_memory(file, title)).count();
    let faults = faults(store, &acknowledged)?;
    for fault in faults.iter().take(FAULTS_SHOWN) {
        eprintln!("bench-mcp: {fault}");
    }
    let what = format!("{} clients, {} operations", options.clients, each * options.clients);
    let mut row = |figure_of: &str, figure, unit, most| {
        rows.push(Figure { what: format!("{what}: {figure_of}"), figure, unit, most });
    };
    row("p95 of remember", quantile(&mut times, 0.95), "s", 1.0);
    row("acknowledged and lost", lost as f64, "", 0.0);
    row("faults of the store", faults.len() as f64, "", 0.0);
    row("all of it", seconds, "s", f64::INFINITY);
    Ok(())
}

fn is_memory(path: &Path, title: &str) -> bool {
    let file = fs::read(path).map(|bytes| MemoryFile::parse(path, bytes));
    file.is_ok_and(|file| file.is_ok_and(|file| file.memory.title == title))
}

/// Returns the faults of a store after concurrent saves, in the index, the journal, the ledger, or the folder of files.
fn faults(store: &BenchStore, acknowledged: &[Acknowledged]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let index = Index::open(&store.state.index)?.ok_or("the index is gone")?;
    let damage = inspect(&store.state.index, Depth::Bytes).damage();
    faults.extend(damage.map(|error| error.to_string()));
    let journalled: BTreeSet<&str> = index
        .journal
        .entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Put(document) => Some(document.record.title.as_str()),
            Entry::Remove(_) => None,
        })
        .collect();
    let missing = acknowledged.iter().filter(|(title, _)| !journalled.contains(title.as_str()));
    faults.extend(missing.map(|(title, _)| format!("{title}: the journal does not know it")));
    let ledger = Ledger::open(&store.project)?;
    if ledger.damaged > 0 {
        faults.push(format!("{} lines of the ledger are damaged", ledger.damaged));
    }
    let files = Store::open(&store.dirs, &store.tree)?;
    let trust = Trust::of(&files, &Settings::default())?;
    let known = files.files();
    let known: BTreeMap<_, _> = known.iter().map(|stored| (&stored.path, stored)).collect();
    let unknown = acknowledged
        .iter()
        .filter(|(_, file)| known.get(file).is_none_or(|stored| trust.is_from_repository(stored)));
    faults.extend(unknown.map(|(title, _)| format!("{title}: the ledger does not know its text")));
    let folder = acknowledged.first().and_then(|(_, file)| file.parent());
    for entry in folder.map(fs::read_dir).into_iter().flatten().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".md") {
            faults.push(format!("{name} lies among the memories"));
        }
    }
    Ok(faults)
}

/// A running server.
struct RunningServer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl RunningServer {
    fn start(options: &McpOptions, store: &BenchStore) -> Result<Self> {
        let mut child = Command::new(&options.program)
            .env_clear()
            .env("HOME", &store.home)
            .env("THROUGHLINE", "full")
            .env("THROUGHLINE_MODELS", &options.models)
            .current_dir(&store.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| format!("{}: {error}", options.program.display()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (stdin, stdout) = stdin.zip(stdout).ok_or("no pipes")?;
        let mut server = Self { child, stdin, stdout: BufReader::new(stdout), next: 0 };
        let hello = json!({
            "jsonrpc": "2.0", "id": "hello", "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        });
        writeln!(server.stdin, "{hello}")?;
        server.receive()?;
        writeln!(server.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(server)
    }

    fn send(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.next += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let request =
            json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
        Ok(writeln!(self.stdin, "{request}")?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        self.send(tool, arguments)?;
        let answer = self.receive()?;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        match result["isError"].as_bool() {
            Some(false) => Ok(text.to_owned()),
            Some(true) | None => Err(format!("{tool} {arguments}: {answer}").into()),
        }
    }

    /// Returns the processor milliseconds of each of `count` calls.
    fn cpu_of(
        &mut self,
        calls: usize,
        mut call: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<f64> {
        let before = self.cpu_ms()?;
        for number in 0..calls {
            call(self, number)?;
        }
        Ok((self.cpu_ms()? - before) / calls as f64)
    }

    /// Returns the processor time so far in milliseconds, including threads that have ended.
    fn cpu_ms(&self) -> Result<f64> {
        let time = cpu_clock(self.child.id().cast_signed())
            .ok_or("the processor time of the server cannot be read here")?;
        Ok(time.as_secs_f64() * 1e3)
    }

    fn resident_mib(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 =
            line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
        Ok(kib / 1024.0)
    }
}

/// Reads the processor time of a process, in nanoseconds. `/proc/PID/stat` is not used, because its resolution is ten
/// milliseconds.
#[cfg(target_os = "linux")]
fn cpu_clock(pid: libc::pid_t) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: each call writes one number to the given place.
    let is_read = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let seconds = u64::try_from(time.tv_sec).ok().filter(|_| is_read)?;
    Some(Duration::new(seconds, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(target_os = "linux"))]
fn cpu_clock(_pid: libc::pid_t) -> Option<Duration> {
    None
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // Errors are ignored, since all answers were received.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_figure_within_its_limit_meets_it() {
        let row = |figure, most| Figure { what: String::new(), figure, unit: "ms", most };
        for (figure, most, met) in [
            (15.0, 15.0, true),
            (15.1, 15.0, false),
            (f64::NAN, 15.0, false),
            (1.0, 0.0, false),
            (900.0, f64::INFINITY, true),
        ] {
            assert_eq!(row(figure, most).is_met(), met, "{figure} of {most}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_of_a_process_goes_on_while_it_works() {
        let own = std::process::id().cast_signed();
        let begin = cpu_clock(own).unwrap();
        let mut sum = 0u64;
        while cpu_clock(own).unwrap() == begin {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(cpu_clock(own).unwrap() > begin);
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        assert_eq!(cpu_clock(ended.id().cast_signed()), None);
    }

    #[test]
    fn everything_with_an_aim_is_measured_unless_an_option_excludes_it() {
        let parsed = |text: &str| McpOptions::parse(text.split_whitespace().map(str::to_owned));
        let options = parsed("").unwrap();
        assert_eq!(options.sizes, [1_000, 10_000, 100_000]);
        assert_eq!((options.clients, options.operations, options.idle), (50, 10_000, true));
        let options = parsed("--sizes 5,6 --clients 2 --operations 9 --no-idle --json").unwrap();
        assert_eq!(options.sizes, [5, 6]);
        assert_eq!((options.clients, options.idle, options.json), (2, false, true));
        assert_eq!(parsed("--keep stores").unwrap().keep, Some("stores".into()));
        assert!(parsed("--poem").is_err());
    }
}
