//! A real local model reads a small project. Its answers are bad, and only parts that the sessions contain may be
//! stored. `scripts/e2e-model` downloads the model and runs it.
//!
//! usage: e2e-model NODE SERVER.mjs MODEL.gguf CONTEXT_TOKENS THREADS

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitCode, Stdio};
use std::time::{Duration, Instant};

use journeys::checks::Checks;
use journeys::environment::TestEnvironment;
use journeys::sample_project;
use serde_json::Value;

/// Time limit of one answer in seconds, for a busy machine.
const ANSWER_S: u32 = 900;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [node, server, model, context, threads] = &arguments[..] else {
        eprintln!("usage: e2e-model NODE SERVER.mjs MODEL.gguf CONTEXT_TOKENS THREADS");
        return ExitCode::from(2);
    };
    let mut checks = Checks::default();
    let asked = ServedModel { node, server, model, context, threads };
    if let Err(error) = journey(&mut checks, &asked) {
        checks.check("the journey runs to its end", false, error);
    }
    checks.finish()
}

/// The tested model and its server.
struct ServedModel<'a> {
    node: &'a str,
    server: &'a str,
    model: &'a str,
    context: &'a str,
    threads: &'a str,
}

/// The server of the model. It ends when its stdin is closed.
struct ModelServer {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

/// One answer, with the numbers that the server reports.
#[derive(Debug)]
struct CountedAnswer {
    seconds: f64,
    tokens_in: u64,
    tokens_out: u64,
    is_cut: bool,
}

impl ModelServer {
    fn start(environment: &TestEnvironment, asked: &ServedModel<'_>) -> io::Result<Self> {
        let mut child = environment
            .command(asked.node)
            .args([asked.server, asked.model, asked.context, asked.threads])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut out = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let mut address = String::new();
        out.read_line(&mut address)?;
        Ok(Self { child, out, address: address.trim().to_owned() })
    }

    /// Ends the server and returns its answers.
    fn end(mut self) -> io::Result<Vec<CountedAnswer>> {
        drop(self.child.stdin.take());
        let lines = self.out.lines().collect::<io::Result<Vec<String>>>()?;
        self.child.wait()?;
        let answer = |line: &String| {
            let told: Value = serde_json::from_str(line).ok()?;
            Some(CountedAnswer {
                seconds: told["seconds"].as_f64()?,
                tokens_in: told["tokens_in"].as_u64()?,
                tokens_out: told["tokens_out"].as_u64()?,
                is_cut: told["is_cut"].as_bool()?,
            })
        };
        Ok(lines.iter().filter_map(answer).collect())
    }
}

fn journey(checks: &mut Checks, asked: &ServedModel<'_>) -> io::Result<()> {
    let environment = TestEnvironment::new()?.at(sample_project::NOW);
    let root = sample_project::create(&environment)?;
    environment
        .throughline(&root, &["init", "--yes", "--private", "--no-register", "--no-sync"])?;
    let world = ModelWorld { environment: &environment, root: &root };

    checks.part("A model is served on this machine");
    let server = ModelServer::start(&environment, asked)?;
    let name = Path::new(asked.model).file_stem().unwrap_or_default().to_string_lossy();
    world.is_set_up(checks, &server.address, &name, asked.context)?;
    let begun = Instant::now();
    let (report, progress) = world.sync()?;
    let took = begun.elapsed();
    let answers = server.end()?;

    checks.part("It reads the sessions");
    let questions = report["questions"].as_u64().unwrap_or_default();
    checks.check("it was asked and answered", questions > 0, &report);
    checks.contains("progress is told in lines", &progress, "asking ");
    let waiting = report["asked_later"].as_u64().unwrap_or(u64::MAX);
    let missing = report["warnings"].to_string();
    checks.check(
        "all is read, or it is told what is not",
        waiting == 0 || missing != "[]",
        &report,
    );
    print_costs(&answers, took, &report);

    world.stores_what_sessions_show(checks, &name)?;
    world.reports_costs(checks, &answers, &report)?;
    world.reports_trouble(checks)?;

    checks.part("Afterwards");
    let left = environment.wait_until_quiet();
    checks.check("no process stays", left.is_empty(), format!("{left:#?}"));
    Ok(())
}

/// Prints the costs of the model, to be recorded.
#[expect(clippy::print_stdout, reason = "a journey is read by a person")]
fn print_costs(answers: &[CountedAnswer], took: Duration, report: &Value) {
    let count = answers.len().max(1) as f64;
    let seconds: f64 = answers.iter().map(|answer| answer.seconds).sum();
    let mean = |of: fn(&CountedAnswer) -> u64| answers.iter().map(of).sum::<u64>() as f64 / count;
    let slowest = answers.iter().map(|answer| answer.seconds).fold(0.0, f64::max);
    let cut = answers.iter().filter(|answer| answer.is_cut).count();
    println!(
        "          {} answers in {:.0} s of {:.0} s: {:.1} s each, {slowest:.1} s at most; {:.0} tokens asked and {:.0} \
         answered each, {cut} cut off",
        answers.len(),
        seconds,
        took.as_secs_f64(),
        seconds / count,
        mean(|answer| answer.tokens_in),
        mean(|answer| answer.tokens_out),
    );
    println!("          warnings: {}", report["warnings"]);
}

struct ModelWorld<'a> {
    environment: &'a TestEnvironment,
    root: &'a Path,
}

impl ModelWorld<'_> {
    fn run(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.throughline(self.root, arguments)
    }

    fn json(&self, arguments: &[&str]) -> io::Result<Value> {
        Ok(serde_json::from_str(&self.run(arguments)?)?)
    }

    fn config(&self) -> PathBuf {
        self.environment.home().join(".config/throughline/config.toml")
    }

    fn is_set_up(
        &self,
        checks: &mut Checks,
        address: &str,
        name: &str,
        context: &str,
    ) -> io::Result<()> {
        let told = self.run(&["config", "llm", "openai", name, "--host", address])?;
        checks.contains("`config llm openai` takes it", &told, "Sessions are read by");
        checks.contains("and notes its small context", &told, &format!("takes {context} tokens"));
        let text = fs::read_to_string(self.config())?;
        let text = text.replace("[llm]\n", &format!("[llm]\ntimeout_s = {ANSWER_S}\n"));
        fs::write(self.config(), text)
    }

    /// Runs a sync; returns its report and its output on stderr.
    fn sync(&self) -> io::Result<(Value, String)> {
        let mut command = self.environment.command(self.environment.binary("throughline"));
        let output = command
            .current_dir(self.root)
            .env("THROUGHLINE", "full")
            .args(["sync", "--json"])
            .stdin(Stdio::null())
            .output()?;
        let progress = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(io::Error::other(progress));
        }
        let reports: Value = serde_json::from_slice(&output.stdout)?;
        Ok((reports[0].clone(), progress))
    }

    /// Checks that the quote of each memory is in the session that the memory names.
    fn stores_what_sessions_show(&self, checks: &mut Checks, name: &str) -> io::Result<()> {
        checks.part("Nothing is stored that no session shows");
        let list = self.json(&["list", "--json", "--all"])?;
        let memories = list.as_array().or_else(|| list["memories"].as_array()).cloned();
        let memories = memories.unwrap_or_default();
        let extractor = format!("openai/{name}");
        let is_of_model = |memory: &&Value| memory["source"]["extractor"] == extractor.as_str();
        let of_model: Vec<&Value> = memories.iter().filter(is_of_model).collect();
        let proposed = self.proposed()?;
        let sessions = self.sessions()?;
        let is_shown = |quote: &str| sessions.contains(&squeezed(quote).to_lowercase());
        let unshown: Vec<&(String, String)> =
            proposed.iter().filter(|(_, quote)| !is_shown(quote)).collect();
        print_memory_counts(&memories, &of_model, proposed.len(), unshown.len());
        checks.check("the model proposed memories", !proposed.is_empty(), "");
        let titles: Vec<&str> =
            of_model.iter().filter_map(|memory| memory["title"].as_str()).collect();
        let stored = unshown.iter().find(|(title, _)| titles.contains(&title.as_str()));
        checks.check(
            "none is stored whose quote no session has",
            stored.is_none(),
            format!("{stored:?}"),
        );
        let foreign_words = foreign_words(&sessions);
        let quoting = memories.iter().filter(|memory| memory["source"]["quote"].is_string());
        for memory in quoting {
            let title = memory["title"].as_str().unwrap_or_default();
            let source = &memory["source"];
            let session = source["session"].as_str().unwrap_or_default();
            let quote = squeezed(source["quote"].as_str().unwrap_or_default());
            let shown = self.session(session)?;
            checks.check(
                &format!("session {session:.8} shows: {title}"),
                !quote.is_empty() && shown.contains(&quote),
                format!("the quote is `{quote}`"),
            );
            let text = format!("{title} {}", memory["body"].as_str().unwrap_or_default());
            let foreign = foreign_words.iter().find(|word| text.to_lowercase().contains(**word));
            checks.check("and it says nothing of the example", foreign.is_none(), text);
        }
        Ok(())
    }

    /// Returns the titles and quotes of all proposals of the model, from its stored answers.
    fn proposed(&self) -> io::Result<Vec<(String, String)>> {
        let mut proposed = Vec::new();
        for (name, bytes) in sample_project::snapshot(&self.environment.data_dir())? {
            if !name.components().any(|part| part.as_os_str() == "llm") {
                continue;
            }
            let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let memories = answer["memories"].as_array().into_iter().flatten();
            proposed.extend(memories.map(|memory| {
                let text = |key: &str| memory[key].as_str().unwrap_or_default().to_owned();
                (text("title"), text("quote"))
            }));
        }
        Ok(proposed)
    }

    /// Returns the texts of a session's transcript, in one line.
    fn session(&self, session: &str) -> io::Result<String> {
        let stories = sample_project::stories()?;
        let lines = stories
            .iter()
            .filter(|story| story.session == session)
            .flat_map(|story| story.lines(self.root));
        let mut texts = Vec::new();
        for line in lines {
            collect(&serde_json::from_str(&line)?, &mut texts);
        }
        Ok(squeezed(&texts.join("\n")))
    }

    fn sessions(&self) -> io::Result<String> {
        let stories = sample_project::stories()?;
        let all: io::Result<Vec<String>> =
            stories.iter().map(|story| self.session(&story.session)).collect();
        Ok(all?.join("\n").to_lowercase())
    }

    fn reports_costs(
        &self,
        checks: &mut Checks,
        answers: &[CountedAnswer],
        report: &Value,
    ) -> io::Result<()> {
        checks.part("`status` tells what it cost");
        let status = self.json(&["status", "--json"])?;
        let cost = &status["llm_cost"];
        let today = &cost["today"];
        let sums = [
            ("questions", answers.len() as u64),
            ("tokens_in", answers.iter().map(|answer| answer.tokens_in).sum()),
            ("tokens_out", answers.iter().map(|answer| answer.tokens_out).sum()),
        ];
        for (what, counted) in sums {
            checks.check(
                &format!("{what}: {counted}, as the server counted"),
                today[what].as_u64() == Some(counted),
                today,
            );
        }
        let text = self.run(&["status"])?;
        checks.contains("in words, with the time of each", &text, " s each");
        let unusable = today["failed"].as_u64().unwrap_or_default();
        checks.check(
            &format!("{unusable} unusable answers are told"),
            (unusable > 0) == report["warnings"].to_string().contains("cannot be used")
                && (unusable > 0) == text.contains("without an answer"),
            &text,
        );
        Ok(())
    }

    /// Tests a sync after the server has ended while there is another session to read.
    fn reports_trouble(&self, checks: &mut Checks) -> io::Result<()> {
        checks.part("`status` tells what is in the way");
        let stories = sample_project::stories()?;
        let mut story = stories.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
        story.session = "99999999-9999-4999-8999-999999999999".to_owned();
        story.steps.push(serde_json::json!({"user": "Please keep a changelog from now on."}));
        story.write(&self.environment.claude_dir(), self.root)?;
        let (report, _) = self.sync()?;
        checks.contains("the sync says so", &report["warnings"].to_string(), "nothing answers at");
        let text = self.run(&["status"])?;
        checks.contains("`status` says why", &text, "nothing answers at");
        checks.contains("and what waits", &text, " to be read");
        Ok(())
    }
}

/// Words of the example in the instructions, which small models tend to repeat.
const EXAMPLE_WORDS: [&str; 5] = ["dhl", "carrier", "econnrefused", "parcel", "8089"];

/// Returns the words of the example that are in no session.
fn foreign_words(sessions: &str) -> Vec<&'static str> {
    EXAMPLE_WORDS.into_iter().filter(|word| !sessions.contains(word)).collect()
}

#[expect(clippy::print_stdout, reason = "a journey is read by a person")]
fn print_memory_counts(all: &[Value], of_model: &[&Value], proposed: usize, unshown: usize) {
    println!(
        "          the model proposed {proposed} memories, {unshown} with a quote that no session has; {} memories are \
         stored, {} of them by the model",
        all.len(),
        of_model.len(),
    );
}

/// Collects all texts of a JSON value.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a text with white space reduced to single spaces.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
