//! `throughline search`: finds memories and passages of sessions, or Claude's thinking in them.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use clap::Args;
use memory_store::layout::{ProjectDir, Tree};
use memory_store::mode::Mode;
use memory_store::recall::{
    Collection, Hit, QueryShape, Recall, Recalled, Search as Wanted, Tier, render::tokens,
};
use memory_store::store::Stored;
use memory_store::text::excerpt;
use memory_store::trust::LABEL;
use memory_store::{Kind, MemoryId, ProjectId, Timestamp, identity, short_session, thinking};
use processor::collect::whole_turn;
use processor::progress::Silent;
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::knowledge::as_of;
use crate::stores::Stores;
use crate::typed::DateRange;
use crate::view::changes::line;
use crate::view::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::view::{self, MemoryView, clock, passage, plain};
use crate::world::World;

/// Maximum characters of a hit's text when the output is for people.
const SNIPPET_CHARS_MAX: usize = 200;
/// Maximum characters of a passage, which is usually shorter.
const PASSAGE_CHARS_MAX: usize = 500;

/// Maximum tokens of an answer without `--limit`, and the number of hits that are requested for such an answer.
const ANSWER_TOKENS_MAX: u32 = 1_200;
const FITTING_MAX: usize = 40;

/// Find memories and passages of earlier sessions
///
/// TEXT consists of words, "phrases", -excluded words, AND, OR, NOT and parentheses. Filters: kind:fix tag:ci
/// path:src/a.rs session:3f2a since:2026-10-01 before:yesterday on:"last week" before:"the migration". If TEXT
/// starts with a dash, write `--` before it.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words and filters; put "phrases" and -excluded words in single quotes
    #[arg(required_unless_present_any = ["kind", "tag", "topic", "path", "session", "since", "until"])]
    text: Vec<String>,
    /// Only passages of sessions (redacted)
    #[arg(long, conflicts_with = "kind")]
    turns: bool,
    /// Only Claude's thinking, if transcripts contain it (redacted)
    #[arg(long, hide_short_help = true, conflicts_with_all = ["kind", "turns"])]
    thinking: bool,
    /// Only memories of this kind (repeatable)
    #[arg(long, short = 'k', value_parser = crate::typed::kind())]
    kind: Vec<Kind>,
    /// Only memories with this tag (repeatable)
    #[arg(long, short = 't', hide_short_help = true, add = crate::complete::tags())]
    tag: Vec<String>,
    /// Only memories of this topic or area (repeatable)
    #[arg(long, hide_short_help = true)]
    topic: Vec<String>,
    /// Only results about this file (repeatable)
    #[arg(long, short = 'p')]
    path: Vec<String>,
    /// Only results from this session
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::sessions())]
    session: Option<String>,
    #[command(flatten)]
    when: DateRange,
    /// Search the memories that were recorded and in force on this date
    #[arg(long, hide_short_help = true, value_name = "DATE")]
    as_of: Option<String>,
    /// Search all of your projects
    #[arg(long, conflicts_with = "thinking")]
    all: bool,
    /// Include superseded memories
    #[arg(long, hide_short_help = true)]
    superseded: bool,
    /// Maximum number of results [default: as many as fit into 1,200 tokens]
    #[arg(long, short = 'n', value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: Option<usize>,
    /// Print the full text of each memory and the full turn of each passage
    #[arg(long, hide_short_help = true)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FoundDocument<'a> {
    hits: Vec<HitView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'static str>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<&'a str>,
    stale: bool,
}

#[derive(Serialize)]
struct HitView<'a> {
    #[serde(flatten)]
    found: FoundItem<'a>,
    collection: &'static str,
    score: f32,
    why: &'a str,
    superseded: bool,
    /// Ids of memories with which this memory forms an undecided pair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs_from: Vec<MemoryId>,
}

/// A hit in JSON. A memory has the fields that `list` and `show` print, a passage those of a turn.
#[derive(Serialize)]
#[serde(untagged)]
enum FoundItem<'a> {
    Memory(Box<MemoryView<'a>>),
    Indexed(IndexedView<'a>),
    Passage(PassageView<'a>),
}

/// A memory whose file was removed after it was indexed.
#[derive(Serialize)]
struct IndexedView<'a> {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: &'a str,
    body: &'a str,
    created: Timestamp,
    file: &'a Path,
}

/// A passage of a session.
#[derive(Serialize)]
struct PassageView<'a> {
    id: MemoryId,
    /// Name of the passage's turn, as `show` accepts it.
    short: String,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    turn: u32,
    at: Timestamp,
    title: &'a str,
    text: &'a str,
    paths: &'a [String],
}

impl<'a> HitView<'a> {
    fn new(hit: &'a Hit, file: Option<&'a Stored>) -> Self {
        let (id, short, kind, title) = (hit.id, hit.id.short(), hit.kind, &*hit.title);
        let (collection, is_memory) = match hit.collection {
            Collection::Memories => ("memories", true),
            Collection::User => ("user", true),
            Collection::Passages => ("passages", false),
            Collection::Thinking => ("thinking", false),
        };
        let found = match (is_memory, file) {
            (true, Some(stored)) => FoundItem::Memory(Box::new(
                MemoryView::from(stored)
                    .held(hit.held)
                    .labelled(hit.from_repository)
                    .stale(hit.staleness.as_ref())
                    .aged(hit.age),
            )),
            (true, None) => FoundItem::Indexed(IndexedView {
                id,
                short,
                kind,
                title,
                body: &hit.text,
                created: hit.date,
                file: &hit.file,
            }),
            (false, _) => FoundItem::Passage(PassageView {
                id,
                short: passage::name(hit),
                kind,
                session: hit.session.as_deref(),
                turn: hit.turn + 1,
                at: hit.date,
                title,
                text: &hit.text,
                paths: &hit.paths,
            }),
        };
        Self {
            found,
            collection,
            score: hit.score,
            why: &hit.why,
            superseded: hit.superseded && hit.undecided.is_empty(),
            differs_from: hit.undecided.iter().map(|(id, _)| *id).collect(),
        }
    }
}

/// Runs the command.
pub fn run(args: &SearchArgs, world: &World, out: &mut dyn Write) -> Result {
    if args.all {
        return in_all_projects(args, world, out);
    }
    let tree = world.tree()?;
    let wanted = args.wanted(world.now)?;
    if wanted.tier == Tier::Thinking {
        index_thinking(world, &tree)?;
    }
    let recalled = args.search_in(&tree, &wanted, world)?;
    let finds_nothing = recalled.hits.is_empty();
    // If the index is damaged, memories are read from their files, but passages are only in the index.
    let is_part = wanted.tier != Tier::Both || finds_nothing;
    let damage = recalled.degraded.clone().filter(|_| is_part);
    if args.json {
        let files = files(&recalled, &tree, world);
        view::json(&found(&recalled, &files), out)?;
    } else {
        show(&recalled, args, out)?;
    }
    match damage {
        None => Failure::of_empty(finds_nothing),
        Some(damage) => Err(incomplete(&damage)),
    }
}

/// Returns the failure of a search that could not read the whole index.
pub fn incomplete(damage: &str) -> Failure {
    Failure::new(format!("what was found may not be all: {damage}"))
        .code(exit::DEGRADED)
        .hint("Run `throughline sync`, which makes the index again.")
}

/// Hits in one project.
#[derive(Serialize)]
struct FoundInProject<'a> {
    project: ProjectId,
    root: &'a Path,
    #[serde(flatten)]
    found: FoundDocument<'a>,
}

/// Searches all projects of this user that have a working tree, the current project first. The user's own memories are
/// listed only once.
fn in_all_projects(args: &SearchArgs, world: &World, out: &mut dyn Write) -> Result {
    let wanted = args.wanted(world.now)?;
    let here = Tree::find(&world.dirs, &world.cwd);
    let known = identity::list(&world.dirs)?;
    let others = known.iter().filter_map(|known| known.trees.first().cloned());
    let mut trees: Vec<Tree> = here.iter().cloned().collect();
    trees.extend(others.filter(|tree| here.as_ref().is_none_or(|it| it.project != tree.project)));
    let (mut all, mut damaged) = (Vec::new(), Vec::new());
    for tree in trees {
        let mut recalled = args.search_in(&tree, &wanted, world)?;
        damaged.extend(recalled.degraded.clone().map(|damage| (tree.root.clone(), damage)));
        if !all.is_empty() {
            recalled.hits.retain(|hit| hit.collection != Collection::User);
        }
        if !recalled.hits.is_empty() {
            all.push((tree, recalled));
        }
    }
    let finds_nothing = all.is_empty();
    if args.json {
        let files: Vec<_> = all.iter().map(|(tree, it)| files(it, tree, world)).collect();
        let all = all.iter().zip(&files).map(|((tree, recalled), files)| FoundInProject {
            project: tree.project,
            root: &tree.root,
            found: found(recalled, files),
        });
        view::json(&all.collect::<Vec<_>>(), out)?;
    } else if finds_nothing {
        view::remark("Nothing is known about this in any project.");
    } else {
        for (tree, recalled) in &all {
            writeln!(out, "{}", paint(STRONG, view::path(&tree.root)))?;
            show(recalled, args, out)?;
        }
    }
    match damaged.first() {
        None => Failure::of_empty(finds_nothing),
        Some((root, damage)) => Err(Failure::new(format!(
            "what was found may not be all, in {}: {damage}",
            view::path(root)
        ))
        .code(exit::DEGRADED)
        .hint("Run `throughline sync` there, which makes the index again.")),
    }
}

/// Maximum memories that are found while the user types a query.
const TYPED_MAX: usize = 100;
/// Minimum score relative to the best hit. Vectors match everything a little, but the list should become shorter while
/// the user types. The value was chosen by eye.
const TYPED_SHARE: f32 = 0.25;

/// Finds memories by a query, including replaced ones, best first. Fails if the query is invalid, such as an unfinished
/// phrase.
pub fn as_typed(text: &str, recall: &Recall, now: Timestamp) -> Result<Vec<MemoryId>> {
    let wanted = Wanted {
        text: text.to_owned(),
        exact: true,
        limit: TYPED_MAX,
        superseded: true,
        ..Wanted::default()
    };
    match wanted.problem(now) {
        Some(problem) => Err(Failure::new(problem).code(exit::USAGE)),
        None => {
            let mut hits = recall.search(&wanted, now).hits;
            let best = hits.first().map_or(0.0, |hit| hit.score);
            hits.retain(|hit| hit.score >= TYPED_SHARE * best);
            Ok(hits.into_iter().map(|hit| hit.id).collect())
        }
    }
}

/// Returns the turn of a passage.
fn turn_of(hit: &Hit) -> (Collection, Option<&str>, u32) {
    (hit.collection, hit.session.as_deref(), hit.turn)
}

/// Replaces passages by their whole turns, if the archive contains them.
fn expand_to_whole_turns(home: &ProjectDir, hits: &mut Vec<Hit>) {
    // The passages of a turn are adjacent in the list.
    hits.dedup_by(|hit, before| {
        hit.collection == Collection::Passages && turn_of(hit) == turn_of(before)
    });
    for hit in hits.iter_mut().filter(|hit| hit.collection == Collection::Passages) {
        let session = hit.session.as_deref().unwrap_or_default();
        if let Ok(Some(turn)) = whole_turn::text(home, session, hit.date) {
            hit.text = turn;
        }
    }
}

/// Requests an index of Claude's thinking, which is built only on request.
fn index_thinking(world: &World, tree: &Tree) -> Result {
    let state = world.dirs.tree(&tree.root);
    let is_wanted = world.mode == Mode::Full && thinking::want(&state).is_ok();
    if !is_wanted || thinking::is_there(&state) {
        return Ok(());
    }
    let report = processor::sync::sync(&world.sync_options(tree, &Silent));
    report.map(drop).map_err(|error| Failure::new(format!("{error:#}")))
}

/// Searches one project, as it was at a time or is now.
pub fn at_time(
    at: Option<Timestamp>,
    tree: &Tree,
    wanted: &Wanted,
    world: &World,
) -> Result<Recalled> {
    let mut recall = world.with_second(tree, Recall::open(&world.dirs, tree, None));
    if let Some(at) = at {
        let stores = Stores::at(world, tree.clone())?;
        let trust = stores.trust(&stores.project)?;
        let store = &stores.project;
        let expired = store.expired(&trust, &stores.settings, &recall, tree, world.now);
        recall = recall.as_of(at).with_documents(expired, at);
    }
    Ok(recall.search(wanted, at.unwrap_or(world.now)))
}

impl SearchArgs {
    /// Returns the time of `--as-of`, or of a question about the state at a time.
    fn time(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        let named = as_of(self.as_of.as_deref(), now)?;
        Ok(named.or_else(|| QueryShape::as_of(&self.text.join(" "), now)))
    }

    /// Searches one project. With `--full`, passages are replaced by their whole turns.
    fn search_in(&self, tree: &Tree, wanted: &Wanted, world: &World) -> Result<Recalled> {
        let mut recalled = at_time(self.time(world.now)?, tree, wanted, world)?;
        if self.full {
            expand_to_whole_turns(&world.dirs.project(tree.project), &mut recalled.hits);
        }
        Ok(recalled)
    }

    fn wanted(&self, now: Timestamp) -> Result<Wanted> {
        let when = self.when.span(now)?;
        let wanted = Wanted {
            text: self.text.join(" "),
            exact: true,
            kinds: self.kind.clone(),
            tags: self.tag.clone(),
            topics: self.topic.clone(),
            paths: self.path.clone(),
            limit: self.limit.unwrap_or(if self.json || self.full { 0 } else { FITTING_MAX }),
            since: when.from,
            // The last moment of the day, week or month that was named.
            // Passages have no validity, so those after the time of `--as-of` are excluded.
            until: when.to.map(|to| Timestamp(to.0 - 1)).into_iter().chain(self.time(now)?).min(),
            session: self.session.clone(),
            tier: match (self.turns, self.thinking) {
                (true, _) => Tier::Passages,
                (false, true) => Tier::Thinking,
                (false, false) => Tier::Both,
            },
            superseded: self.superseded,
            ..Wanted::default()
        };
        match wanted.problem(now) {
            Some(problem) => Err(Failure::new(problem).code(exit::USAGE)),
            None => Ok(wanted),
        }
    }
}

/// Reads the files of the memories among the hits, so that the JSON output has all their fields. A memory whose file
/// was removed after it was indexed is omitted.
fn files(recalled: &Recalled, tree: &Tree, world: &World) -> HashMap<MemoryId, Stored> {
    let is_memory = |hit: &&Hit| matches!(hit.collection, Collection::Memories | Collection::User);
    let ids: Vec<String> =
        recalled.hits.iter().filter(is_memory).map(|hit| hit.id.to_string()).collect();
    if ids.is_empty() {
        return HashMap::new();
    }
    let Ok(stores) = Stores::at(world, tree.clone()) else { return HashMap::new() };
    let found = stores.find_all(&ids).or_else(|_| stores.list().map(|all| all.memories));
    let found = found.unwrap_or_default().into_iter();
    found.map(|stored| (stored.memory.id, stored)).collect()
}

fn found<'a>(recalled: &'a Recalled, files: &'a HashMap<MemoryId, Stored>) -> FoundDocument<'a> {
    FoundDocument {
        hits: recalled.hits.iter().map(|hit| HitView::new(hit, files.get(&hit.id))).collect(),
        shape: recalled.shape.as_ref().map(QueryShape::name),
        notes: &recalled.notes,
        degraded: recalled.degraded.as_deref(),
        stale: recalled.stale,
    }
}

fn show(recalled: &Recalled, args: &SearchArgs, out: &mut dyn Write) -> Result {
    let (asked, full) = (args.text.join(" "), args.full);
    let is_limited = args.limit.is_some() || full;
    if let Some(degraded) = &recalled.degraded {
        view::on_stderr(format_args!("{} {}", paint(CARE, "degraded:"), plain(degraded)));
    }
    if let Some(shape) = &recalled.shape {
        view::remark(paint(QUIET, plain(&format!("This asks for {shape}."))));
    }
    for note in &recalled.notes {
        view::remark(paint(QUIET, plain(note)));
    }
    if recalled.hits.is_empty() && recalled.degraded.is_none() {
        view::remark("Nothing is known about this.");
    }
    let mut room = match &recalled.shape {
        _ if is_limited => u32::MAX,
        Some(QueryShape::List) => 2 * ANSWER_TOKENS_MAX,
        _ => ANSWER_TOKENS_MAX,
    };
    let mut before = None;
    for (number, hit) in recalled.hits.iter().enumerate() {
        let mut text = Vec::new();
        show_hit(hit, before.map(turn_of) == Some(turn_of(hit)), &asked, full, &mut text)?;
        let tokens = tokens(&String::from_utf8_lossy(&text));
        if tokens > room && number > 0 {
            break;
        }
        room = room.saturating_sub(tokens);
        out.write_all(&text)?;
        before = Some(hit);
    }
    if recalled.stale {
        view::remark(format_args!(
            "{} files changed since they were indexed; run `throughline sync`.",
            paint(CARE, "!")
        ));
    }
    Ok(())
}

/// Prints a hit. A passage of the same turn as the previous one is printed without a heading.
fn show_hit(hit: &Hit, is_same_turn: bool, asked: &str, full: bool, out: &mut dyn Write) -> Result {
    let date = paint(QUIET, clock::date(hit.date));
    match hit.collection {
        Collection::Memories | Collection::User => writeln!(
            out,
            "{}  {date}  {:<15} {}{}",
            paint(NAME, hit.id.short()),
            hit.kind.name(),
            plain(&hit.title),
            paint(QUIET, if hit.draft { view::WAITS } else { "" }),
        )?,
        Collection::Passages if hit.kind == Kind::Command => {
            return Ok(writeln!(out, "{}   {date}  {}", paint(NAME, "command"), plain(&hit.text))?);
        }
        Collection::Passages | Collection::Thinking if is_same_turn => {}
        Collection::Passages | Collection::Thinking => {
            let session = short_session(hit.session.as_deref().unwrap_or_default());
            let title = match hit.title.as_str() {
                "" => String::new(),
                title => format!(" of \"{}\"", plain(title)),
            };
            writeln!(out, "{}  {date}  turn {}{title}", paint(NAME, plain(session)), hit.turn + 1)?;
        }
    }
    if hit.from_repository {
        writeln!(out, "        {}", paint(CARE, LABEL))?;
    }
    if hit.held {
        let label = "withheld; `throughline review` prints the reason";
        writeln!(out, "        {}", paint(CARE, label))?;
    }
    if let Some(staleness) = &hit.staleness {
        writeln!(out, "        {}", paint(CARE, view::why_stale(staleness)))?;
    }
    for (id, title) in &hit.undecided {
        let newer = if hit.superseded { ", which is newer" } else { "" };
        let (id, title) = (id.short(), plain(title));
        let label = format!("differs from {id} \"{title}\"{newer}: not decided");
        writeln!(out, "        {}", paint(CARE, label))?;
    }
    if hit.superseded && hit.undecided.is_empty() {
        let by = hit.superseded_by.map(|id| format!(" by {}", id.short())).unwrap_or_default();
        writeln!(out, "        {}", paint(CARE, format_args!("replaced{by}")))?;
    }
    if full {
        plain(&hit.text).lines().try_for_each(|line| writeln!(out, "        {line}"))?;
    } else {
        let chars_max = match hit.collection {
            Collection::Memories | Collection::User => SNIPPET_CHARS_MAX,
            Collection::Passages | Collection::Thinking => PASSAGE_CHARS_MAX,
        };
        let text = excerpt(&line(&hit.text), asked, chars_max);
        if !text.is_empty() {
            writeln!(out, "        {text}")?;
        }
    }
    Ok(())
}
