//! Processes a long history with a model that takes ten seconds for an answer, in real time. It measures the time until
//! the first usable memory and the cost of a restart, and checks that no question is repeated. `scripts/bench model`
//! runs it.

use std::io;
use std::process::{Child, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use journeys::chat_server::ChatServer;
use journeys::hook_run::Moment;
use journeys::long_history::{LongHistory, decision_text, question};

const USAGE: &str = "usage: scripts/bench model [--sessions N] [--seconds N] [--kills N]";

/// Interval at which the state is read.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for a state.
const WAIT_MAX: Duration = Duration::from_secs(600);

struct ModelOptions {
    /// Number of sessions of the history.
    sessions: usize,
    /// Seconds that the model takes for one answer.
    seconds: f64,
    /// Number of times that the sync is killed afterwards.
    kills: usize,
}

impl ModelOptions {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self { sessions: 1_000, seconds: 10.0, kills: 3 };
        while let Some(argument) = arguments.next() {
            let value = arguments.next()?;
            match argument.as_str() {
                "--sessions" => options.sessions = value.parse().ok()?,
                "--seconds" => options.seconds = value.parse().ok()?,
                "--kills" => options.kills = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(options)
    }
}

fn main() -> ExitCode {
    let Some(options) = ModelOptions::read(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match bench(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(options: &ModelOptions) -> io::Result<()> {
    let takes = Duration::from_secs_f64(options.seconds);
    let server = ChatServer::start(takes, true)?;
    let history = LongHistory::new(options.sessions, &server)?;
    print_line(&format!("{} sessions, {} s an answer", options.sessions, options.seconds));

    let bench = Bench { server: &server, history: &history };
    let begun = Instant::now();
    let mut sync = bench.starts()?;
    bench.wait(&mut sync, || Ok(!server.asked().is_empty()))?;
    print_line(&format!("first question after {:.1} s", seconds(begun)));
    let newest = options.sessions - 1;
    bench.wait(&mut sync, || bench.recalls(newest))?;
    let answered = server.asked().iter().filter(|asked| asked.is_answered).count();
    print_line(&format!(
        "first usable memory, by a hook, after {:.1} s; {answered} sessions answered",
        seconds(begun)
    ));
    bench.are_newest_first()?;

    for kill in 1..=options.kills {
        // The sync is killed while it waits for an answer, or at another moment.
        sleep(takes.mul_f64(0.37 * kill as f64));
        sync.kill()?;
        sync.wait()?;
        let before = server.asked();
        let known = before.iter().filter(|asked| asked.is_answered).count();
        let begun = Instant::now();
        sync = bench.starts()?;
        bench.wait(&mut sync, || Ok(server.asked().len() > before.len()))?;
        let took = seconds(begun);
        let cpu = cpu_seconds(sync.id());
        print_line(&format!(
            "killed with {known} answered; the next question {took:.1} s after the restart ({cpu:.1} s of the processor)"
        ));
    }
    let (before, cpu) = (server.asked().len(), cpu_seconds(sync.id()));
    bench.wait(&mut sync, || Ok(server.asked().len() >= before + 12))?;
    print_line(&format!(
        "12 more answers, and what is published between: {:.1} s of the processor",
        cpu_seconds(sync.id()) - cpu
    ));
    sync.kill()?;
    sync.wait()?;
    bench.are_newest_first()?;
    let asked = server.asked();
    let mut names: Vec<&str> = asked.iter().map(|asked| asked.said.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let again = asked.len() - names.len();
    print_line(&format!(
        "{} questions about {} sessions; {again} put again after {} kills",
        asked.len(),
        names.len(),
        options.kills
    ));
    print_line(history.run(&["status"])?.trim_end());
    if again > options.kills {
        return Err(io::Error::other("more was asked again than the kills interrupted"));
    }
    Ok(())
}

struct Bench<'a> {
    server: &'a ChatServer,
    history: &'a LongHistory,
}

impl Bench<'_> {
    /// Starts a sync that reports its progress.
    fn starts(&self) -> io::Result<Child> {
        self.history.sync().stdout(Stdio::null()).spawn()
    }

    fn wait(
        &self,
        sync: &mut Child,
        mut is_there: impl FnMut() -> io::Result<bool>,
    ) -> io::Result<()> {
        let begun = Instant::now();
        while !is_there()? {
            if sync.try_wait()?.is_some() {
                return Err(io::Error::other("the sync ended too early"));
            }
            if begun.elapsed() > WAIT_MAX {
                return Err(io::Error::other("waited for too long"));
            }
            sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Returns whether a hook injects the memory that the model made from a session.
    fn recalls(&self, number: usize) -> io::Result<bool> {
        let session = format!("asks-{:?}", Instant::now());
        let asks = Moment::prompt(&question(number));
        let run = asks.run(&self.history.environment, &self.history.root, &session)?;
        Ok(run.context().contains(&decision_text(number)) && !self.history.titles()?.is_empty())
    }

    /// Checks that in the first pass, sessions are read from the newest to the oldest.
    fn are_newest_first(&self) -> io::Result<()> {
        let mut seen: Vec<String> = Vec::new();
        for asked in self.server.asked() {
            if !seen.contains(&asked.said) {
                seen.push(asked.said);
            }
        }
        let newest: Vec<String> =
            (0..self.history.sessions).rev().map(decision_text).take(seen.len()).collect();
        match seen == newest {
            true => Ok(()),
            false => Err(io::Error::other(format!("not the newest first: {seen:#?}"))),
        }
    }
}

/// Returns the processor time of a process so far in seconds; 0 if the operating system does not report it.
fn cpu_seconds(process: u32) -> f64 {
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program may contain spaces. The first field after the name is the state.
    let fields: Vec<&str> =
        stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    (ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default()) / TICKS_PER_S
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "a measurement is read by a person")]
fn print_line(text: &str) {
    println!("{text}");
}
