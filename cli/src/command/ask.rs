//! `throughline ask`: answers a question from memories and passages by the configured model, with numbered sources.

use std::io::{BufRead as _, Write};

use clap::{Args, Parser as _};
use memory_store::mode::Mode;
use memory_store::recall::{Collection, Hit, QueryShape, Search, Tier};
use memory_store::text::excerpt;
use memory_store::{MemoryId, Timestamp};
use processor::llm::question::{Answer, QuestionSource, Statement, TypedLine};
use processor::llm::{LanguageModel, Surroundings, usage};
use serde::Serialize;
use serde_json::json;

use super::{add, search};
use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::knowledge::{FactView, ReadKnowledge, as_of};
use crate::setup::installation;
use crate::stores::Stores;
use crate::view::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, passage, plain};
use crate::world::World;

/// Maximum memories and passages that are sources.
const HITS_MAX: usize = 16;
/// Maximum facts that are sources.
const FACTS_MAX: usize = 8;
/// Maximum characters of a source in output for people.
const SOURCE_CHARS_MAX: usize = 160;
/// Text of an answer without statements.
const NOT_KNOWN: &str = "Not known: no memory and no session shows it.";

/// Answer a question from memories and sessions, with sources
///
/// The model of `throughline config llm` answers; each sentence has the numbers of its sources. Without QUESTION, each
/// typed line is a question: follow-ups are completed, and a statement is offered as a memory.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// Question [default: read lines from the terminal or stdin]
    question: Vec<String>,
    /// Answer as of this date
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A source.
#[derive(Serialize)]
struct Citation {
    n: usize,
    source: &'static str,
    /// Id of the memory or passage.
    id: MemoryId,
    /// Name for `throughline show`.
    short: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    at: Timestamp,
    text: String,
    /// Kind, state and date, for the model.
    #[serde(skip)]
    label: String,
}

impl Citation {
    fn of_fact(fact: FactView) -> Self {
        let end = fact.to.map(|to| format!(", until {}", to.date())).unwrap_or_default();
        Self {
            n: 0,
            source: "fact",
            id: fact.memory,
            short: fact.memory.short(),
            session: None,
            turn: None,
            at: fact.from,
            text: fact.sentence(),
            label: format!("fact, since {}{end}", fact.from.date()),
        }
    }

    fn of_hit(hit: Hit) -> Self {
        let is_memory = matches!(hit.collection, Collection::Memories | Collection::User);
        let state = match () {
            () if hit.superseded && hit.undecided.is_empty() => ", replaced since",
            () if !hit.undecided.is_empty() => ", contradicted by another note",
            () if hit.draft => ", not confirmed",
            () if hit.from_repository => ", from the repository",
            () => "",
        };
        let kind = if is_memory { hit.kind.name() } else { passage::speaker(&hit) };
        Self {
            n: 0,
            source: if is_memory { "memory" } else { "passage" },
            id: hit.id,
            short: if is_memory { hit.id.short() } else { passage::name(&hit) },
            turn: (!is_memory).then_some(hit.turn + 1),
            at: hit.date,
            label: format!("{kind}, {}{state}", hit.date.date()),
            text: match (is_memory, hit.text.is_empty()) {
                (true, true) => hit.title,
                (true, false) => format!("{}. {}", hit.title.trim_end_matches('.'), hit.text),
                (false, _) => hit.text,
            },
            session: hit.session,
        }
    }

    fn show(&self, asked: &str, out: &mut dyn Write) -> Result {
        let text = excerpt(&view::changes::line(&self.text), asked, SOURCE_CHARS_MAX);
        let what = self.label.split(',').next().unwrap_or_default();
        let name = paint(NAME, plain(&self.short));
        let date = paint(QUIET, clock::date(self.at));
        Ok(writeln!(out, "  [{}] {name}  {date}  {what}: {}", self.n, plain(&text))?)
    }
}

/// A conversation, or a single question.
struct Conversation<'a> {
    args: &'a AskArgs,
    stores: Stores,
    /// `Err` has the reason why no model can be asked.
    model: Result<LanguageModel, String>,
    /// Questions so far, with their answers.
    turns: Vec<(String, String)>,
}

/// Runs the command.
pub fn run(args: &AskArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let model = open_model(&stores);
    let mut conversation = Conversation { args, stores, model, turns: Vec::new() };
    if !args.question.is_empty() {
        let question = args.question.join(" ");
        return conversation.answer(&question, &question, out);
    }
    if world.interactive {
        view::remark(paint(QUIET, "A question or a statement on each line; Ctrl-D ends."));
    }
    loop {
        if world.interactive {
            ask::prompt(">")?;
        }
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            continue;
        }
        match conversation.hear(line.trim(), out) {
            Err(failure) if failure.code == exit::INTERRUPTED => return Err(failure),
            Err(failure) if !failure.message.is_empty() => {
                view::on_stderr(format_args!("{} {failure}", paint(CARE, "error:")));
            }
            Err(_) | Ok(()) => {}
        }
        out.flush()?;
    }
}

/// Opens the model in the settings; `Err` has the reason why there is none.
fn open_model(stores: &Stores) -> Result<LanguageModel, String> {
    let Stores { world, tree, settings, .. } = stores;
    if world.mode != Mode::Full {
        return Err("THROUGHLINE does not permit writing here, and so no model is asked".to_owned());
    }
    let roots = [tree.root.clone(), tree.main_root.clone()];
    let surroundings = Surroundings {
        ollama_host: world.ollama_host.as_deref(),
        cache_dir: &world.dirs.project(tree.project).llm,
        ledger: Some(usage::ledger(&world.dirs)),
        roots: &roots,
        now: world.now,
    };
    LanguageModel::open(settings, &surroundings)?
        .ok_or_else(|| "no model is configured: `throughline config llm` names one".to_owned())
}

impl Conversation<'_> {
    /// Answers a line, or offers it as a memory.
    fn hear(&mut self, line: &str, out: &mut dyn Write) -> Result {
        // A first line that is a question needs no context.
        let is_plain = self.turns.is_empty() && line.ends_with('?');
        let model = self.model.as_mut().ok().filter(|_| !is_plain);
        // If the model fails, the question about the line fails, too, and prints the reason.
        let meant = model.and_then(|model| model.complete(&self.turns, line).ok());
        match meant.unwrap_or_else(|| TypedLine::Question(line.to_owned())) {
            TypedLine::Question(resolved) => {
                if resolved != line && !self.args.json {
                    view::remark(paint(QUIET, plain(&format!("Asked: {resolved}"))));
                }
                self.answer(line, &resolved, out)
            }
            TypedLine::Statement(text) => self.offer(&text, out),
        }
    }

    /// Offers a statement as a memory, which the person saves.
    fn offer(&mut self, text: &str, out: &mut dyn Write) -> Result {
        let world = &self.stores.world;
        self.turns.push((text.to_owned(), String::new()));
        if ask::confirm(world, &format!("Save as a memory: \"{}\"?", plain(text)), true)? {
            let typed = super::Args::parse_from(["throughline", "add", "--", text]);
            if let Some(super::Command::Add(args)) = &typed.command {
                return add::run(args, world, out);
            }
        }
        let text = installation::word(text);
        writeln!(out, "Not saved. `throughline add {}` saves it.", plain(&text))?;
        Ok(())
    }

    /// Answers a question. `resolved` is understandable without the conversation.
    fn answer(&mut self, typed: &str, resolved: &str, out: &mut dyn Write) -> Result {
        let world = &self.stores.world;
        let named = as_of(self.args.as_of.as_deref(), world.now)?;
        let at = named.or_else(|| QueryShape::as_of(resolved, world.now));
        let (sources, shape) = self.sources(resolved, at)?;
        let shown = sources.iter().map(|source| QuestionSource {
            label: source.label.clone(),
            text: source.text.clone(),
        });
        let shown: Vec<QuestionSource> = shown.collect();
        let json = self.args.json;
        let mut told = Ok(());
        let answered = match &mut self.model {
            _ if sources.is_empty() => Ok(Answer::default()),
            Err(problem) => Err(problem.clone()),
            Ok(model) => model.answer(resolved, &shown, &mut |statement| {
                if !json && told.is_ok() {
                    told = show_statement(statement, out);
                }
            }),
        };
        told?;
        let answer = answered.as_ref().ok();
        let statements = answer.map_or(&[][..], |answer| &answer.statements);
        let is_cited = |it: &&Citation| statements.iter().any(|one| one.sources.contains(&it.n));
        let citations: Vec<&Citation> =
            sources.iter().filter(|it| answered.is_err() || is_cited(it)).collect();
        let text: Vec<String> = statements.iter().map(cited).collect();
        let dropped = answer.map_or(0, |answer| answer.dropped);
        if json {
            let view = json!({
                "question": typed,
                "resolved": resolved,
                "shape": shape.as_ref().map(QueryShape::name),
                "as_of": at,
                "known": !statements.is_empty(),
                // Without an answer of the model, all sources are listed.
                "answer": answer.map(|_| text.join(" ")),
                "statements": statements,
                "dropped": dropped,
                "citations": citations,
                "problem": answered.as_ref().err(),
            });
            view::json(&view, out)?;
        } else {
            if let Some(shape) = &shape {
                view::remark(paint(QUIET, plain(&format!("This asks for {shape}."))));
            }
            if dropped > 0 {
                let left = view::plural(dropped, "sentence");
                view::remark(paint(QUIET, format!("{left} that no source shows: left out.")));
            }
            match answered {
                Ok(_) if statements.is_empty() => writeln!(out, "{NOT_KNOWN}")?,
                Err(_) => writeln!(out, "{}", paint(STRONG, "Sources found:"))?,
                Ok(_) => {}
            }
            citations.iter().try_for_each(|it| it.show(resolved, out))?;
        }
        let is_known = !statements.is_empty();
        self.turns.push((resolved.to_owned(), text.join(" ")));
        match answered {
            Ok(_) if is_known => Ok(()),
            Ok(_) => Err(Failure::silent(exit::NOTHING)),
            Err(problem) => Err(Failure::new(format!("no answer: {problem}"))),
        }
    }

    /// Returns the numbered sources for a question: facts about its names, then memories and passages.
    fn sources(
        &self,
        question: &str,
        at: Option<Timestamp>,
    ) -> Result<(Vec<Citation>, Option<QueryShape>)> {
        let Stores { world, tree, .. } = &self.stores;
        let read = ReadKnowledge::quietly(&self.stores)?;
        let facts = read.facts_named(question, at.unwrap_or(world.now), FACTS_MAX);
        let wanted = Search {
            text: question.to_owned(),
            tier: Tier::Both,
            limit: HITS_MAX,
            until: at,
            without_held: true,
            ..Search::default()
        };
        if let Some(problem) = wanted.problem(world.now) {
            return Err(Failure::new(problem).code(exit::USAGE));
        }
        let recalled = search::at_time(at, tree, &wanted, world)?;
        let hits = recalled.hits.into_iter().map(Citation::of_hit);
        let all = facts.into_iter().map(Citation::of_fact).chain(hits);
        let numbered = (1..).zip(all).map(|(n, source)| Citation { n, ..source });
        Ok((numbered.collect(), recalled.shape))
    }
}

/// Returns a statement with the numbers of its sources.
fn cited(statement: &Statement) -> String {
    let numbers = statement.sources.iter().map(|number| format!("[{number}]"));
    format!("{} {}", statement.text, numbers.collect::<String>())
}

/// Prints a statement as soon as it has arrived.
fn show_statement(statement: &Statement, out: &mut dyn Write) -> Result {
    let mark = match statement.unshown {
        true => paint(CARE, " (a number in it is in no source)"),
        false => String::new(),
    };
    writeln!(out, "{}{mark}", plain(&cited(statement)))?;
    Ok(out.flush()?)
}
