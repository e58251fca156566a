//! Measures the relations of two statements: compares the program's judgements of labelled pairs with the labels of
//! their authors, both without a model and with one.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use journeys::messages_api::{read_request, write_json};
use memory_store::embed::Table;
use memory_store::memory::{SaidBy, Scope};
use memory_store::neighbour::{Verdict, judge};
use memory_store::settings::{Llm, Settings};
use memory_store::time::DAY_MS;
use memory_store::{Kind, MemoryId, ProjectId, Timestamp, settings_file};
use processor::consolidate::{DraftRelation, memory_id};
use processor::extract::draft::Draft;
use processor::llm::{LanguageModel, Surroundings};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::{print_to_stderr, set};

/// The labels in the order of the output.
const LABELS: [&str; 5] = ["same", "within", "newer-value", "contrary", "near"];

/// Judges pairs of statements with labels, and prints how many are right for each label.
#[derive(Debug, Args)]
pub struct RelationPairs {
    /// The folder of the set: pairs.jsonl
    set: PathBuf,
    /// Ask the language model of your settings about each pair
    #[arg(long)]
    llm: bool,
    /// Use a stand-in with the answers of this file, one `{"id", "answer"}` a line
    #[arg(long, value_name = "FILE", conflicts_with = "llm")]
    answers: Option<PathBuf>,
    /// Print each pair that is judged otherwise than its label
    #[arg(long)]
    misses: bool,
}

/// Two statements and their label.
#[derive(Clone, Debug, Deserialize)]
struct LabelledStatements {
    id: String,
    relation: String,
    older: String,
    newer: String,
}

#[derive(Deserialize)]
struct RecordedAnswer {
    id: String,
    answer: Value,
}

/// Runs the measurement.
pub fn run(args: &RelationPairs, machine: &Machine) -> Result<()> {
    let pairs: Vec<LabelledStatements> = set::rows(&args.set.join("pairs.jsonl"))?;
    let cache = tempfile::tempdir()?;
    let mut model = match (&args.answers, args.llm) {
        (Some(answers), _) => {
            let settings = recorded(answers, &pairs)?;
            open(&settings, cache.path(), machine)?
        }
        (None, true) => open(&settings_file::load(&machine.dirs, None).0, cache.path(), machine)?,
        (None, false) => None,
    };
    let table = Table::installed(&machine.dirs);
    let (mut right, mut of_label) = (0, BTreeMap::<&str, (usize, usize)>::new());
    let (mut false_same, mut problems) = (0, Vec::new());
    for pair in &pairs {
        let Some(&label) = LABELS.iter().find(|label| **label == pair.relation) else {
            bail!("{}: no such relation: {}", pair.id, pair.relation);
        };
        let judged = match &mut model {
            Some(model) => asked(pair, model, table.as_ref(), &mut problems),
            None => by_words(pair),
        };
        let (is_right, count) = (judged == label, of_label.entry(label).or_default());
        (count.0, count.1) = (count.0 + usize::from(is_right), count.1 + 1);
        right += usize::from(is_right);
        false_same += usize::from(judged == "same" && !is_right);
        if args.misses && !is_right {
            print_to_stderr(format_args!("{}: {judged}: {} | {}", pair.id, pair.older, pair.newer));
        }
    }
    problems.iter().for_each(print_to_stderr);
    for label in LABELS {
        let (right, all) = of_label.get(label).copied().unwrap_or_default();
        print_to_stderr(format_args!("{label}: {right} of {all}"));
    }
    print_to_stderr(format_args!(
        "{right} of {} right, {false_same} falsely the same",
        pairs.len()
    ));
    Ok(())
}

fn open(settings: &Settings, cache: &Path, machine: &Machine) -> Result<Option<LanguageModel>> {
    let surroundings = Surroundings {
        ollama_host: machine.ollama_host.as_deref(),
        cache_dir: cache,
        ledger: None,
        roots: &[],
        now: machine.now,
    };
    let model = LanguageModel::open(settings, &surroundings).map_err(anyhow::Error::msg)?;
    Ok(Some(model.context("no LLM is set: run `throughline config llm`")?))
}

/// Returns the label that the program gives a pair without a model.
fn by_words(pair: &LabelledStatements) -> &'static str {
    let [older, newer] = drafts(pair);
    match judge(&newer.statement(), &older.statement()) {
        Some(Verdict::Duplicate) => "same",
        Some(Verdict::Within | Verdict::Covers) => "within",
        Some(Verdict::Update | Verdict::NewerValue) => "newer-value",
        Some(Verdict::Contradiction) => "contrary",
        Some(Verdict::Near) | None => "near",
    }
}

/// Returns the label that a model gives a pair. If a pair needs no question, it is judged by words, as in a sync.
fn asked(
    pair: &LabelledStatements,
    model: &mut LanguageModel,
    table: Option<&Table>,
    problems: &mut Vec<String>,
) -> &'static str {
    let project = ProjectId([0; 16]);
    let drafts = drafts(pair);
    let name = |draft: &Draft| memory_id(project, draft);
    let embed = |text: &str| table?.embed(text).ok().flatten();
    let relations = model.relations(&name, &drafts.each_ref(), &embed, problems);
    let [older, newer]: [MemoryId; 2] = drafts.each_ref().map(name);
    let told = relations.told.get(&(newer, older)).or_else(|| relations.told.get(&(older, newer)));
    match told {
        Some(DraftRelation::Same) => "same",
        Some(DraftRelation::Within) => "within",
        Some(DraftRelation::Replaces | DraftRelation::Finishes | DraftRelation::NewerValue) => {
            "newer-value"
        }
        Some(DraftRelation::Contradicts) => "contrary",
        Some(
            DraftRelation::Supports
            | DraftRelation::Refines
            | DraftRelation::CausedBy
            | DraftRelation::PartOf,
        ) => "near",
        None if relations.asked.contains(&newer) => "near",
        None => by_words(pair),
    }
}

/// Returns the two statements as drafts from two sessions.
fn drafts(pair: &LabelledStatements) -> [Draft; 2] {
    [("older", &pair.older, 1), ("newer", &pair.newer, 30)].map(|(session, title, day)| Draft {
        kind: Kind::Fact,
        title: title.clone(),
        body: String::new(),
        scope: Scope::Project,
        occurred: Timestamp(day * DAY_MS),
        confidence: 0.8,
        session: session.to_owned(),
        turns: vec![session.to_owned()],
        ordinal: 0,
        quote: String::new(),
        said_by: SaidBy::User,
        paths: Vec::new(),
        tags: Vec::new(),
        signatures: Vec::new(),
        extractor: "set".to_owned(),
        worth: 0.0,
        importance: Some(0.8),
        standing: true,
        cues: Vec::new(),
        entities: Vec::new(),
        facts: Vec::new(),
        topic: None,
    })
}

/// Starts a stand-in for Ollama with recorded answers, and returns settings that use it. A question without a recorded
/// answer fails.
fn recorded(file: &Path, pairs: &[LabelledStatements]) -> Result<Settings> {
    let answers: Vec<RecordedAnswer> = set::rows(file)?;
    let of_pair = |answer: RecordedAnswer| {
        let pair = pairs.iter().find(|pair| pair.id == answer.id)?;
        Some((pair.clone(), answer.answer))
    };
    let answers: Arc<Vec<_>> = Arc::new(answers.into_iter().filter_map(of_pair).collect());
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let host = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = Arc::clone(&answers);
            thread::spawn(move || drop(serve(&stream, &answers)));
        }
    });
    let (provider, model) = ("ollama".to_owned(), "recorded".to_owned());
    let llm = Llm { provider, model, host, ..Llm::default() };
    Ok(Settings { llm: Some(llm), ..Settings::default() })
}

fn serve(stream: &TcpStream, answers: &[(LabelledStatements, Value)]) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((method, _, body)) = read_request(&mut reader)? {
        if method == "GET" {
            write_json(&mut writer, 200, &json!({"models": [{"name": "recorded"}]}))?;
            continue;
        }
        let body: Value = serde_json::from_slice(&body)?;
        let messages = body["messages"].as_array().and_then(|messages| messages.last());
        let question = messages.and_then(|message| message["content"].as_str()).unwrap_or_default();
        let asks = |text: &str| question.contains(&format!("] {text}\n"));
        let found = answers.iter().find(|(pair, _)| asks(&pair.older) && asks(&pair.newer));
        match found {
            Some((_, answer)) => write_json(&mut writer, 200, &message(answer))?,
            None => write_json(&mut writer, 400, &json!({"error": "no answer is recorded"}))?,
        }
    }
    Ok(())
}

fn message(answer: &Value) -> Value {
    json!({
        "model": "recorded", "created_at": "2026-10-02T12:00:00.000000000Z",
        "message": {"role": "assistant", "content": answer.to_string()},
        "done": true, "done_reason": "stop", "total_duration": 1, "load_duration": 1,
        "prompt_eval_count": 1, "prompt_eval_duration": 1, "eval_count": 1, "eval_duration": 1,
    })
}
