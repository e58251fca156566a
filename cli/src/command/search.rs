//! `throughline search`: finds memories, or turns of sessions.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::recall::{Collection, Hit, Recall, Recalled, Search as Wanted};
use memory_store::{Kind, Timestamp};
use serde::Serialize;

use super::view::{self, plain};
use crate::failure::Result;
use crate::style::{CARE, NAME, QUIET, paint};
use crate::world::World;

/// Characters of a hit's text that are shown to a person.
const SNIPPET_CHARS_MAX: usize = 200;

/// Finds memories, or with --turns what was said in sessions.
#[derive(Debug, Args)]
pub struct Search {
    /// Words
    #[arg(required = true)]
    text: Vec<String>,
    /// What was said in sessions, word for word (redacted), instead of memories
    #[arg(long, conflicts_with = "kind")]
    turns: bool,
    /// Only this kind; may be repeated
    #[arg(long, short = 'k', value_parser = super::kind)]
    kind: Vec<Kind>,
    /// Only what is about this file; may be repeated
    #[arg(long, short = 'p')]
    path: Vec<String>,
    /// Only of this Claude Code session, as its id starts
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Nothing older than this date
    #[arg(long, value_name = "DATE", value_parser = super::time)]
    since: Option<Timestamp>,
    /// Nothing newer than this date
    #[arg(long, value_name = "DATE", value_parser = super::time)]
    until: Option<Timestamp>,
    /// Also what was replaced by something newer
    #[arg(long)]
    all: bool,
    /// At most this many
    #[arg(long, short = 'n', default_value_t = 10, value_name = "COUNT")]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    hits: Vec<HitView>,
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
    file: PathBuf,
    confidence: f32,
    score: f32,
    why: String,
    superseded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

impl From<Hit> for HitView {
    fn from(hit: Hit) -> Self {
        Self {
            id: hit.id.to_string(),
            short: hit.id.short(),
            kind: hit.kind,
            collection: match hit.collection {
                Collection::Memories => "memories",
                Collection::User => "user",
                Collection::Turns => "turns",
            },
            title: hit.title,
            text: hit.text,
            date: hit.date,
            paths: hit.paths,
            file: hit.file,
            confidence: hit.confidence,
            score: hit.score,
            why: hit.why,
            superseded: hit.superseded,
            session: hit.session,
        }
    }
}

/// Runs the command.
pub fn run(args: &Search, world: &World, out: &mut dyn Write) -> Result {
    let tree = world.tree()?;
    let recall = Recall::open(&world.dirs, &tree);
    let recalled = recall.search(&args.wanted(), world.now);
    if args.json {
        return view::json(&found(recalled), out);
    }
    show(&recalled, out)
}

impl Search {
    fn wanted(&self) -> Wanted {
        Wanted {
            text: self.text.join(" "),
            kinds: self.kind.clone(),
            paths: self.path.clone(),
            limit: self.limit,
            since: self.since,
            until: self.until,
            session: self.session.clone(),
            turns: self.turns,
            superseded: self.all,
        }
    }
}

fn found(recalled: Recalled) -> Found {
    Found {
        hits: recalled.hits.into_iter().map(HitView::from).collect(),
        degraded: recalled.degraded,
        stale: recalled.stale,
    }
}

fn show(recalled: &Recalled, out: &mut dyn Write) -> Result {
    if let Some(degraded) = &recalled.degraded {
        writeln!(out, "{} {}", paint(CARE, "degraded:"), plain(degraded))?;
    }
    if recalled.hits.is_empty() {
        writeln!(out, "Nothing found.")?;
    }
    recalled.hits.iter().try_for_each(|hit| show_hit(hit, out))?;
    if recalled.stale {
        writeln!(
            out,
            "{} files changed since they were indexed; run `throughline sync`.",
            paint(CARE, "!")
        )?;
    }
    Ok(())
}

fn show_hit(hit: &Hit, out: &mut dyn Write) -> Result {
    let date = paint(QUIET, hit.date.date());
    match hit.collection {
        Collection::Memories | Collection::User => writeln!(
            out,
            "{}  {date}  {:<15} {}",
            paint(NAME, hit.id.short()),
            hit.kind.name(),
            plain(&hit.title)
        )?,
        Collection::Turns => {
            let session: String = hit.session.iter().flat_map(|id| id.chars()).take(8).collect();
            writeln!(out, "{}  {date}  turn {}", paint(NAME, plain(&session)), hit.turn + 1)?;
        }
    }
    let text = plain(&hit.text).split_whitespace().collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        let cut: String = text.chars().take(SNIPPET_CHARS_MAX).collect();
        let more = if cut.len() < text.len() { "..." } else { "" };
        writeln!(out, "        {cut}{more}")?;
    }
    Ok(())
}
