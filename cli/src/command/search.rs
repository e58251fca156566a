//! `throughline search`: finds memories, passages of sessions, or what was thought in them.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::layout::{ProjectDir, Tree};
use memory_store::mode::Mode;
use memory_store::recall::{
    Collection, Hit, Recall, Recalled, Search as Wanted, Span, WEAK, time_named,
};
use memory_store::text::excerpt;
use memory_store::trust::LABEL;
use memory_store::{Kind, MemoryId, ProjectId, Timestamp, identity, short_session, thinking};
use processor::collect::whole_turn;
use processor::progress::Silent;
use serde::Serialize;

use super::view::{self, plain};
use crate::clock;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::world::World;

/// Characters of a hit's text that are shown to a person.
const SNIPPET_CHARS_MAX: usize = 200;
/// Characters of a passage that are shown: nearly all of it.
const PASSAGE_CHARS_MAX: usize = 500;
/// Characters of a turn before or after one.
const NEIGHBOUR_CHARS_MAX: usize = 100;

/// Finds memories; with --turns what was said in sessions, with --thinking what Claude thought.
///
/// Words rank; "words in quotes" must stand there like that; -word excludes; AND, OR, NOT and
/// parentheses demand. Filters may stand in the text: kind:fix tag:ci path:src/a.rs session:3f2a
/// since:2026-10-01 before:yesterday on:"last week" before:"the migration".
/// A search that begins with a dash comes after `--`.
#[derive(Debug, Args)]
pub struct Search {
    /// Words; in single quotes when there is a -word or a "phrase" among them
    #[arg(required_unless_present_any = ["kind", "tag", "path", "session", "since", "until"])]
    text: Vec<String>,
    /// Words of sessions as they were said (redacted), instead of memories
    #[arg(long, conflicts_with = "kind")]
    turns: bool,
    /// Thoughts of Claude in sessions (redacted), as far as its transcripts tell, instead of memories
    #[arg(long, hide_short_help = true, conflicts_with_all = ["kind", "turns"])]
    thinking: bool,
    /// Only this kind; may be repeated
    #[arg(long, short = 'k', value_parser = super::kind, add = super::complete::kinds())]
    kind: Vec<Kind>,
    /// Only what has this tag; may be repeated
    #[arg(long, short = 't', hide_short_help = true)]
    tag: Vec<String>,
    /// Only what is about this file; may be repeated
    #[arg(long, short = 'p')]
    path: Vec<String>,
    /// Only of the Claude Code session whose id begins like this
    #[arg(long, hide_short_help = true, value_name = "ID")]
    session: Option<String>,
    /// Nothing older: a date, or for example "last week"
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Nothing newer: a date, or for example "last week"
    #[arg(long, hide_short_help = true, value_name = "DATE")]
    until: Option<String>,
    /// In all your projects instead of this one (`throughline projects` lists them)
    #[arg(long, conflicts_with = "thinking")]
    all: bool,
    /// Include memories that a newer one replaces
    #[arg(long, hide_short_help = true)]
    superseded: bool,
    /// At most this many
    #[arg(long, short = 'n', default_value_t = 10, value_name = "COUNT", value_parser = super::count)]
    limit: usize,
    /// Whole texts, of a passage its whole turn, instead of the place that fits
    #[arg(long, hide_short_help = true)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FoundDocument {
    hits: Vec<HitView>,
    notes: Vec<String>,
    weak: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
    stale: bool,
}

#[derive(Serialize)]
struct HitView {
    id: String,
    short: String,
    kind: Kind,
    collection: &'static str,
    title: String,
    text: String,
    date: Timestamp,
    paths: Vec<String>,
    tags: Vec<String>,
    file: PathBuf,
    confidence: f32,
    score: f32,
    why: String,
    superseded: bool,
    draft: bool,
    held: bool,
    from_repository: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

impl HitView {
    fn new(hit: Hit) -> Self {
        let text = |near: Option<&Hit>| near.map(|near| near.text.clone());
        let is_turn = matches!(hit.collection, Collection::Passages | Collection::Thinking);
        Self {
            turn: is_turn.then_some(hit.turn + 1),
            before: text(neighbour(&hit, |turn| turn < hit.turn)),
            after: text(neighbour(&hit, |turn| turn > hit.turn)),
            id: hit.id.to_string(),
            short: hit.id.short(),
            kind: hit.kind,
            collection: match hit.collection {
                Collection::Memories => "memories",
                Collection::User => "user",
                Collection::Passages => "passages",
                Collection::Thinking => "thinking",
            },
            title: hit.title,
            text: hit.text,
            date: hit.date,
            paths: hit.paths,
            tags: hit.tags,
            file: hit.file,
            confidence: (hit.confidence * 100.0).round() / 100.0,
            score: hit.score,
            why: hit.why,
            superseded: hit.superseded,
            draft: hit.draft,
            held: hit.held,
            from_repository: hit.from_repository,
            stale: hit.staleness.as_ref().map(ToString::to_string),
            superseded_by: hit.superseded_by.map(|id| id.to_string()),
            session: hit.session,
        }
    }
}

/// The turn before a turn that was found, or the one after it.
fn neighbour(hit: &Hit, is_it: impl Fn(u32) -> bool) -> Option<&Hit> {
    hit.neighbours.iter().find(|near| is_it(near.turn))
}

/// Runs the command.
pub fn run(args: &Search, world: &World, out: &mut dyn Write) -> Result {
    if args.all {
        return in_all_projects(args, world, out);
    }
    let tree = world.tree()?;
    let wanted = args.wanted(world.now)?;
    if wanted.thinking {
        index_thinking(world, &tree)?;
    }
    let recalled = args.search_in(&tree, &wanted, world);
    // Memories lie in files as well; turns lie nowhere else where a search looks.
    let finds_nothing = recalled.hits.is_empty() || recalled.weak;
    let damage = recalled.degraded.clone().filter(|_| wanted.turns || wanted.thinking);
    if args.json {
        view::json(&found(recalled), out)?;
    } else {
        show(&recalled, &args.text.join(" "), args.full, out)?;
    }
    match damage {
        None if finds_nothing => Err(Failure::silent(exit::NOTHING)),
        None => Ok(()),
        Some(damage) => Err(incomplete(&damage)),
    }
}

/// Returns the failure of a search that could not read all of the index.
pub fn incomplete(damage: &str) -> Failure {
    Failure::new(format!("what was found may not be all: {damage}"))
        .code(exit::DEGRADED)
        .hint("Run `throughline sync`, which makes the index again.")
}

/// What was found in one project.
#[derive(Serialize)]
struct FoundInProject {
    project: ProjectId,
    root: PathBuf,
    #[serde(flatten)]
    found: FoundDocument,
}

/// Searches all projects of this user that have a working tree, the current one first. A project in which only weak hits
/// were found is left out, and the user's own memories are listed once.
fn in_all_projects(args: &Search, world: &World, out: &mut dyn Write) -> Result {
    let wanted = args.wanted(world.now)?;
    let here = Tree::find(&world.dirs, &world.cwd);
    let known = identity::list(&world.dirs)?;
    let others = known.iter().filter_map(|known| known.trees.first().cloned());
    let mut trees: Vec<Tree> = here.iter().cloned().collect();
    trees.extend(others.filter(|tree| here.as_ref().is_none_or(|it| it.project != tree.project)));
    let (mut all, mut damaged) = (Vec::new(), Vec::new());
    for tree in trees {
        let mut recalled = args.search_in(&tree, &wanted, world);
        damaged.extend(recalled.degraded.clone().map(|damage| (tree.root.clone(), damage)));
        if !all.is_empty() {
            recalled.hits.retain(|hit| hit.collection != Collection::User);
        }
        if !recalled.hits.is_empty() && !recalled.weak {
            all.push((tree, recalled));
        }
    }
    let finds_nothing = all.is_empty();
    if args.json {
        let all = all.into_iter().map(|(tree, recalled)| FoundInProject {
            project: tree.project,
            root: tree.root,
            found: found(recalled),
        });
        view::json(&all.collect::<Vec<_>>(), out)?;
    } else if finds_nothing {
        writeln!(out, "Nothing is known of this in any project.")?;
    } else {
        for (tree, recalled) in &all {
            writeln!(out, "{}", paint(STRONG, view::path(&tree.root)))?;
            show(recalled, &args.text.join(" "), args.full, out)?;
        }
    }
    match damaged.first() {
        None if finds_nothing => Err(Failure::silent(exit::NOTHING)),
        None => Ok(()),
        Some((root, damage)) => Err(Failure::new(format!(
            "what was found may not be all, in {}: {damage}",
            view::path(root)
        ))
        .code(exit::DEGRADED)
        .hint("Run `throughline sync` there, which makes the index again.")),
    }
}

/// Memories that are found while a text is typed.
const TYPED_MAX: usize = 100;
/// Share of the best one's score that the others have: everything means a little of anything, and a list that is
/// searched is to become shorter. Chosen by eye.
const TYPED_SHARE: f32 = 0.25;

/// Finds memories by a text, best first, also what was replaced. A text that is not understood yet is a failure.
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

/// Puts whole turns in the place of their passages, as far as the archive has them.
fn tell_whole_turns(home: &ProjectDir, hits: &mut [Hit]) {
    for hit in hits.iter_mut().filter(|hit| hit.collection == Collection::Passages) {
        let session = hit.session.as_deref().unwrap_or_default();
        if let Ok(Some(turn)) = whole_turn::text(home, session, hit.date) {
            hit.text = turn;
        }
    }
}

/// Has what Claude thought indexed, which is done once somebody asks for it.
fn index_thinking(world: &World, tree: &Tree) -> Result {
    let state = world.dirs.tree(&tree.root);
    let is_wanted = world.mode == Mode::Full && thinking::want(&state).is_ok();
    if !is_wanted || thinking::is_there(&state) {
        return Ok(());
    }
    let report = processor::sync::sync(&world.sync_options(tree, &Silent));
    report.map(drop).map_err(|error| Failure::new(format!("{error:#}")))
}

impl Search {
    /// Searches one project. With `--full`, passages are replaced by their whole turns.
    fn search_in(&self, tree: &Tree, wanted: &Wanted, world: &World) -> Recalled {
        let recall = world.with_second(tree, Recall::open(&world.dirs, tree, None));
        let mut recalled = recall.search(wanted, world.now);
        if self.full {
            tell_whole_turns(&world.dirs.project(tree.project), &mut recalled.hits);
        }
        recalled
    }

    fn wanted(&self, now: Timestamp) -> Result<Wanted> {
        let wanted = Wanted {
            text: self.text.join(" "),
            exact: true,
            kinds: self.kind.clone(),
            tags: self.tag.clone(),
            paths: self.path.clone(),
            limit: self.limit,
            since: self
                .since
                .as_deref()
                .map(|text| time(text, now))
                .transpose()?
                .and_then(|span| span.from),
            // The last moment of the day, week or month that was named.
            until: self
                .until
                .as_deref()
                .map(|text| time(text, now))
                .transpose()?
                .and_then(|span| span.to)
                .map(|to| Timestamp(to.0 - 1)),
            session: self.session.clone(),
            sessions: Vec::new(),
            turns: self.turns,
            thinking: self.thinking,
            without_held: false,
            superseded: self.superseded,
        };
        match wanted.problem(now) {
            Some(problem) => Err(Failure::new(problem).code(exit::USAGE)),
            None => Ok(wanted),
        }
    }
}

/// A time, as it is typed.
fn time(text: &str, now: Timestamp) -> Result<Span> {
    if let Some(span) = time_named(text, now) {
        return Ok(span);
    }
    match super::time(text) {
        Ok(at) => Ok(Span { from: Some(at), to: Some(Timestamp(at.0 + 1)) }),
        Err(problem) => {
            Err(Failure::new(format!("{problem}, or for example \"last week\"")).code(exit::USAGE))
        }
    }
}

fn found(recalled: Recalled) -> FoundDocument {
    FoundDocument {
        hits: recalled.hits.into_iter().map(HitView::new).collect(),
        notes: recalled.notes,
        weak: recalled.weak,
        degraded: recalled.degraded,
        stale: recalled.stale,
    }
}

fn show(recalled: &Recalled, asked: &str, full: bool, out: &mut dyn Write) -> Result {
    if let Some(degraded) = &recalled.degraded {
        writeln!(out, "{} {}", paint(CARE, "degraded:"), plain(degraded))?;
    }
    for note in &recalled.notes {
        writeln!(out, "{}", paint(QUIET, plain(note)))?;
    }
    if recalled.weak {
        writeln!(out, "{}", paint(QUIET, WEAK))?;
    }
    if recalled.hits.is_empty() {
        writeln!(out, "Nothing found.")?;
    }
    for hit in &recalled.hits {
        show_hit(hit, asked, full, out)?;
    }
    if recalled.stale {
        writeln!(
            out,
            "{} files changed since they were indexed; run `throughline sync`.",
            paint(CARE, "!")
        )?;
    }
    Ok(())
}

fn show_hit(hit: &Hit, asked: &str, full: bool, out: &mut dyn Write) -> Result {
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
        Collection::Passages | Collection::Thinking => {
            let session = short_session(hit.session.as_deref().unwrap_or_default());
            writeln!(out, "{}  {date}  turn {}", paint(NAME, plain(session)), hit.turn + 1)?;
        }
    }
    if hit.from_repository {
        writeln!(out, "        {}", paint(CARE, LABEL))?;
    }
    if hit.held {
        let label = "held back; `throughline review` says why";
        writeln!(out, "        {}", paint(CARE, label))?;
    }
    if let Some(staleness) = &hit.staleness {
        writeln!(out, "        {}", paint(CARE, view::why_stale(staleness)))?;
    }
    if hit.superseded {
        let by = hit.superseded_by.map(|id| format!(" by {}", id.short())).unwrap_or_default();
        writeln!(out, "        {}", paint(CARE, format_args!("replaced{by}")))?;
    }
    near(out, "before", neighbour(hit, |turn| turn < hit.turn))?;
    if full {
        plain(&hit.text).lines().try_for_each(|line| writeln!(out, "        {line}"))?;
    } else {
        let chars_max = match hit.collection {
            Collection::Memories | Collection::User => SNIPPET_CHARS_MAX,
            Collection::Passages | Collection::Thinking => PASSAGE_CHARS_MAX,
        };
        let text = excerpt(&one_line(&hit.text), asked, chars_max);
        if !text.is_empty() {
            writeln!(out, "        {text}")?;
        }
    }
    near(out, "after", neighbour(hit, |turn| turn > hit.turn))
}

/// How the turn before or after one begins.
fn near(out: &mut dyn Write, label: &str, near: Option<&Hit>) -> Result {
    if let Some(near) = near {
        let text = cut(&near.text, NEIGHBOUR_CHARS_MAX);
        writeln!(out, "        {}", paint(QUIET, format_args!("({label}) {text}")))?;
    }
    Ok(())
}

/// The beginning of a text, in one line.
fn cut(text: &str, chars_max: usize) -> String {
    let text = one_line(text);
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
