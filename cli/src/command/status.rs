//! `throughline status`: shows the state of a project, in full or (`throughline` without a command) on one screen.

use std::cmp::Reverse;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::counts::{MemoryCounts, Standing};
use memory_store::exchange::pull_notice::Arrived;
use memory_store::index::health::Depth;
use memory_store::layout::Tree;
use memory_store::mode::Mode;
use memory_store::progress::Progress;
use memory_store::recall::Recall;
use memory_store::store::Stored;
use memory_store::trust::LABEL;
use memory_store::{Kind, MemoryId, Timestamp, background, identity, settings_file};
use processor::collect::archive::Archive;
use processor::collect::discover;
use processor::log;
use serde::Serialize;
use serde_json::json;

use crate::command::off;
use crate::command::review::{self, ReviewCounts};
use crate::exit;
use crate::failure::{Failure, Result};
use crate::inspect::stats::{self, Numbers};
use crate::inspect::{checks, custom_embedder, damage, meaning, ollama};
use crate::receipts;
use crate::setup::claude::plugin::Plugin;
use crate::setup::claude::register;
use crate::setup::elsewhere::{self, Elsewhere, MovedFolder};
use crate::setup::reader::{self, ReadingCost};
use crate::stores::Stores;
use crate::view::style::{CARE, GOOD, NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, wrap};
use crate::world::World;

/// Maximum receipts that the summary counts.
const RECEIPTS_MAX: usize = 200;
/// Maximum memories listed as the latest.
const LATEST_MAX: usize = 3;

/// Show what is stored, what is due and what failed
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Also print memories by month, injections and their outcomes, hook durations and model costs
    #[arg(long)]
    stats: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// State of the project.
#[derive(Serialize)]
struct StatusSummary {
    set_up: bool,
    /// The working tree.
    root: PathBuf,
    project: String,
    folder: PathBuf,
    /// Storage of memories: `committed` or `private`.
    mode: &'static str,
    /// Whether Throughline is turned off.
    off: bool,
    /// End of `throughline off`; `None` if there is no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    off_until: Option<Timestamp>,
    /// Whether an environment variable turns Throughline off; `throughline on` does not change that.
    #[serde(skip)]
    off_by_variable: bool,
    /// Whether every new memory is pending until a review.
    review: bool,
    /// Active memories of the project.
    memories: usize,
    #[serde(flatten)]
    counts: MemoryCounts,
    /// Memories that exist only in the folders of other working trees.
    elsewhere_in_project: usize,
    /// Memories that a person archived.
    forgotten: usize,
    waiting_for_review: usize,
    held_back: usize,
    /// Memories that were neither learned, written nor released on this machine.
    from_repository: usize,
    settings_changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrived: Option<Arrived>,
    broken_files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    index_damage: Option<String>,
    settings_problems: Vec<String>,
    archived_sessions: usize,
    /// Sessions of folders elsewhere that have the same name, if this project has no session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elsewhere: Vec<Elsewhere>,
    /// Folders that are missing or were moved, with the remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    lost_sessions: usize,
    /// Messages about sessions of this path that are not used for learning, with the command to decide about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unclaimed: Vec<String>,
    /// Packs of the archive whose contents cannot be listed, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unlisted_packs: Vec<String>,
    archive_bytes: u64,
    /// Time of the last reading of transcripts.
    last_sync: Option<Timestamp>,
    unprocessed_bytes: u64,
    failures: u32,
    failure: Option<String>,
    warning: Option<String>,
    hooks_registered: bool,
    /// Path of a registered hook program that does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_gone: Option<PathBuf>,
    server_registered: bool,
    /// Whether Claude Code's plugin provides hooks and server.
    by_plugin: bool,
    injections: usize,
    injected_tokens_mean: u64,
    recall: String,
    second_space: Option<String>,
    llm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    llm_cost: Option<ReadingCost>,
    ollama: Option<String>,
    /// Latest active memories, newest first.
    latest: Vec<LatestMemory>,
    /// Numbers of memories to review, by reason.
    to_review: ReviewCounts,
    /// Problems that require an action of the user, each as a sentence.
    problems: Vec<String>,
    /// A suggested command.
    next: &'static str,
    #[serde(skip)]
    next_means: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Numbers>,
}

/// A memory with its title.
#[derive(Serialize)]
struct LatestMemory {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: String,
}

/// Runs the command.
pub fn run(args: &StatusArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let mut summary = summarise(&stores)?;
    // The overview omits unclaimed sessions, because the search for transcripts takes too long.
    summary.unclaimed = discover::transcripts(&world.dirs, &stores.tree)?.unclaimed.messages();
    summary.problems = summary.find_problems();
    if args.stats {
        summary.stats = Some(stats::numbers(&stores)?);
    }
    // Suggests a model on this machine if none is chosen.
    if summary.llm.is_none() {
        summary.ollama = ollama::offer(world);
    }
    if args.json {
        return view::json(&summary, out);
    }
    show(&summary, Extent::Full, world, out)
}

/// Shows the state on one screen, for `throughline` without a command.
pub fn overview(json: bool, world: &World, out: &mut dyn Write) -> Result {
    let tree = match world.tree() {
        Ok(tree) => tree,
        Err(failure) if failure.code == exit::NOT_SET_UP => return outside(&failure, json, out),
        Err(failure) => return Err(failure),
    };
    let summary = summarise(&Stores::at(world, tree)?)?;
    if json { view::json(&summary, out) } else { show(&summary, Extent::Short, world, out) }
}

/// Reports a folder that is not set up, and the next step.
fn outside(failure: &Failure, as_json: bool, out: &mut dyn Write) -> Result {
    if as_json {
        let Failure { message, hint, .. } = failure;
        view::json(&json!({"set_up": false, "message": message, "hint": hint}), out)?;
    } else {
        writeln!(out, "{}.", failure.message)?;
        writeln!(out, "{}", failure.hint.as_deref().unwrap_or("Run `throughline init`."))?;
        writeln!(out, "{}", paint(QUIET, "`throughline --help` lists all commands."))?;
    }
    out.flush()?;
    Err(Failure::silent(exit::NOT_SET_UP))
}

/// Collects the state without running a program or contacting another machine.
fn summarise(stores: &Stores) -> Result<StatusSummary> {
    let tree = &stores.tree;
    let survey = stores.survey()?;
    let listing = &survey.project;
    let state = stores.world.dirs.tree(&tree.root);
    let progress = Progress::read(&state.progress);
    let inbox_bytes = background::inbox_bytes(&state);
    let (settings, problems) = settings_file::load(&stores.world.dirs, Some(tree));
    let recall = Recall::open(&stores.world.dirs, tree, None);
    let grave = problems.iter().filter(|problem| problem.is_grave);
    let given = receipts::last(&state, RECEIPTS_MAX, |_| true);
    let (archived_sessions, archive_bytes) = archive(&stores.world, tree)?;
    let counts = stores.counts(listing, &survey.user, stores.world.now);
    let aside = stores.project.archived()?.memories.len() + stores.user.archived()?.memories.len();
    let has_history = archived_sessions > 0;
    let elsewhere = if has_history {
        Vec::new()
    } else {
        elsewhere::history(&stores.world.dirs, &tree.main_root)
    };
    let mut missing: Vec<String> = elsewhere::missing_folder(&stores.project).into_iter().collect();
    if !has_history && listing.memories.is_empty() {
        missing.extend(
            elsewhere::moved(&stores.world.dirs, &tree.main_root)
                .iter()
                .map(MovedFolder::description),
        );
    }
    let from_repository = survey.unreleased_count();
    let hooks = register::find_hooks(&stores.world, &tree.root);
    let mut summary = StatusSummary {
        set_up: true,
        elsewhere,
        missing,
        root: tree.root.clone(),
        project: tree.project.to_string(),
        folder: stores.project.folder.clone(),
        mode: view::mode(identity::mode(&stores.world.dirs, tree.project)?),
        off: off::until(&stores.world).is_some() || stores.world.mode == Mode::Off,
        off_until: off::until(&stores.world).flatten(),
        off_by_variable: stores.world.mode == Mode::Off,
        review: settings.review,
        waiting_for_review: counts.held,
        elsewhere_in_project: stores.elsewhere(listing),
        forgotten: aside,
        held_back: survey.held()?.len(),
        from_repository,
        settings_changed: recall.is_outdated(),
        // The last arrival is omitted if all memories from the repository are released.
        arrived: Arrived::last(&state).filter(|_| from_repository > 0),
        memories: counts.project(),
        broken_files: listing.broken.len(),
        index_damage: damage::of_indexes(&stores.world, tree, Depth::Headers)
            .map(|it| it.to_string()),
        settings_problems: grave.map(ToString::to_string).collect(),
        counts,
        archived_sessions,
        unclaimed: Vec::new(),
        lost_sessions: damage::lost(&stores.world.dirs.project(tree.project)).len(),
        unlisted_packs: damage::unlisted_packs(&stores.world.dirs.project(tree.project)),
        archive_bytes,
        last_sync: (progress.last_run != Timestamp::default()).then_some(progress.last_run),
        unprocessed_bytes: inbox_bytes.saturating_sub(progress.inbox_bytes),
        failures: progress.failures,
        failure: progress.failure,
        warning: log::last_warning(&state, stores.world.warnings_since())
            .map(|warning| format!("{}: {}", warning.at.date(), warning.text)),
        by_plugin: Plugin::find(&stores.world, &tree.root).is_on(),
        hook_gone: checks::gone_program(&hooks),
        hooks_registered: hooks
            .iter()
            .any(|file| file.hooks.as_ref().is_ok_and(|hooks| !hooks.is_empty())),
        server_registered: register::find_server(&stores.world, &tree.root)
            .is_ok_and(|found| found.is_some()),
        injections: given.len(),
        injected_tokens_mean: given.iter().map(|receipt| receipt.tokens).sum::<u64>()
            / given.len().max(1) as u64,
        recall: meaning::of(&stores.world, tree).to_string(),
        second_space: settings
            .embedder
            .as_ref()
            .map(|embedder| custom_embedder::shown(&stores.world, tree, embedder)),
        ollama: None,
        llm_cost: settings
            .llm
            .as_ref()
            .map(|llm| reader::cost(&stores.world, &stores.world.dirs.project(tree.project), llm)),
        llm: settings.llm.map(|llm| format!("{} ({})", llm.model, llm.provider)),
        latest: latest(
            survey.project.memories.iter().chain(&survey.user.memories),
            stores.world.now,
        ),
        to_review: review::counts(stores)?,
        problems: Vec::new(),
        next: "",
        next_means: "",
        stats: None,
    };
    summary.problems = summary.find_problems();
    (summary.next, summary.next_means) = summary.find_next();
    Ok(summary)
}

/// Returns the latest active memories.
fn latest<'a>(memories: impl Iterator<Item = &'a Stored>, now: Timestamp) -> Vec<LatestMemory> {
    let memories = memories.map(|stored| &stored.memory);
    let mut memories: Vec<_> =
        memories.filter(|memory| Standing::of(memory, now) == Standing::InForce).collect();
    memories.sort_by_key(|memory| (Reverse(view::date(memory)), memory.id));
    let named = memories.into_iter().take(LATEST_MAX).map(|memory| LatestMemory {
        id: memory.id,
        short: memory.id.short(),
        kind: memory.kind,
        title: memory.title.clone(),
    });
    named.collect()
}

impl StatusSummary {
    fn find_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.off {
            problems.push(match self.off_until {
                _ if self.off_by_variable => {
                    "Everything is off by the variable THROUGHLINE: unset it.".to_owned()
                }
                Some(until) => {
                    format!("Everything is off until {}: `throughline on`.", clock::time(until))
                }
                None => "Everything is off: `throughline on`.".to_owned(),
            });
        }
        if !self.hooks_registered && !self.by_plugin {
            problems.push("The hooks are not registered: run `throughline init`.".to_owned());
        }
        if let Some(gone) = &self.hook_gone {
            let gone = view::path(gone);
            problems.push(format!("{gone} is registered, but is not there: `throughline init`."));
        }
        problems.extend(self.missing.iter().map(|missing| format!("{missing}.")));
        problems.extend(self.elsewhere.iter().map(Elsewhere::description));
        problems.extend(self.unclaimed.iter().map(|unclaimed| format!("{unclaimed}.")));
        problems.extend(self.settings_problems.iter().cloned());
        problems.extend(self.llm_cost.iter().flat_map(ReadingCost::warnings));
        if self.broken_files > 0 {
            let files = view::plural(self.broken_files, "file");
            problems.push(format!("{files} cannot be read: `throughline doctor`."));
        }
        if self.lost_sessions > 0 {
            let count = self.lost_sessions;
            problems.push(format!(
                "{} of the archive {} lost, the memories stay: `throughline doctor`.",
                view::plural(count, "session"),
                view::are(count)
            ));
        }
        problems
            .extend(self.unlisted_packs.iter().map(|why| format!("{why}: `throughline doctor`.")));
        if let Some(damage) = &self.index_damage {
            problems.push(format!("{damage}; run `throughline sync`."));
        }
        if self.failures > 0 {
            let why = self.failure.as_deref().unwrap_or("no reason was noted");
            let times = view::plural(self.failures as usize, "time");
            problems.push(format!("Background work failed {times} in a row: {why}"));
        }
        if let Some(warning) = &self.warning {
            problems.push(format!("Background work warned on {warning}"));
        }
        problems
    }

    /// Returns the most useful next command and its purpose.
    fn find_next(&self) -> (&'static str, &'static str) {
        let ReviewCounts { waiting, stale, contradictions, held, new, .. } = self.to_review;
        if self.off_by_variable {
            ("unset THROUGHLINE", "end the silence of this environment")
        } else if self.off {
            ("throughline on", "end the silence")
        } else if self.last_sync.is_none() {
            ("throughline sync", "read the sessions that are there")
        } else if !self.problems.is_empty() {
            ("throughline doctor", "check every part, each with a remedy")
        } else if waiting + stale + contradictions + held + new > 0 {
            ("throughline review", "look at them, one key each")
        } else if self.memories == 0 {
            ("throughline add \"we deploy with X\"", "tell it something, or work as usual")
        } else {
            ("throughline search \"words\"", "find what was learned")
        }
    }

    /// Returns the number of memories of each kind, in words.
    fn kinds(&self) -> String {
        let by_kind = &self.counts.by_kind;
        let kinds =
            Kind::ALL.iter().filter_map(|kind| Some(kind.counted(*by_kind.get(kind.name())?)));
        kinds.collect::<Vec<_>>().join(", ")
    }

    /// Returns the number of recent injections, in words.
    fn given(&self) -> String {
        match self.injections {
            0 => "nothing to a session yet".to_owned(),
            count => {
                let (times, tokens) = (view::plural(count, "time"), self.injected_tokens_mean);
                format!("{times} lately, {tokens} tokens on average")
            }
        }
    }

    /// Returns the numbers of memories to review, in words.
    fn review(&self) -> String {
        let counts = &self.to_review;
        let parts = [
            (counts.waiting, format!("{} pending", counts.waiting)),
            (counts.new, format!("{} not looked at yet", counts.new)),
            (counts.stale, format!("{} may be true no longer", counts.stale)),
            (counts.contradictions, view::plural(counts.contradictions, "undecided pair")),
            (counts.held, format!("{} withheld", counts.held)),
            (counts.secrets, format!("{} with a known secret", counts.secrets)),
            (counts.by_claude, format!("{} by Claude", view::plural(counts.by_claude, "change"))),
        ];
        let parts = view::counted(parts);
        if parts.is_empty() { "nothing to review".to_owned() } else { parts }
    }
}

/// Returns the number of archived sessions, and the archive's size in bytes.
fn archive(world: &World, tree: &Tree) -> Result<(usize, u64)> {
    let archive = Archive::open(&world.dirs.project(tree.project));
    let entries = fs::read_dir(archive.folder()).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    let packs = archive.packs().into_iter().map(|pack| pack.file.len);
    Ok((archive.entries()?.len(), sizes.chain(packs).sum()))
}

/// Amount of status information to print.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// One screen; each line fits the terminal's width.
    Short,
    Full,
}

/// Prints the status: the short lines, all other facts if the full status is requested, and the next step.
fn show(summary: &StatusSummary, extent: Extent, world: &World, out: &mut dyn Write) -> Result {
    let counts = &summary.counts;
    let kept = match (summary.mode, counts.held) {
        ("private", _) => "private".to_owned(),
        (_, 0) => "committed with the project".to_owned(),
        (_, held) => format!("committed with the project but for {held} held"),
    };
    let root = view::folder(&summary.root, &world.home);
    let memories = format!("{}, {kept}", view::plural(summary.memories, "memory"));
    writeln!(out, "{}  {}\n", paint(STRONG, root), paint(QUIET, memories))?;
    show_short(summary, extent, world, out)?;
    if extent == Extent::Full {
        for (label, text) in details(summary) {
            view::labelled(label, &view::plain(&text), out)?;
        }
    }
    if let Some(numbers) = &summary.stats {
        writeln!(out)?;
        stats::show(numbers, world, out)?;
    }
    writeln!(out)?;
    let next = format!("{}  {}", paint(NAME, summary.next), paint(QUIET, summary.next_means));
    view::labelled("Next", &next, out)
}

fn show_short(
    summary: &StatusSummary,
    extent: Extent,
    world: &World,
    out: &mut dyn Write,
) -> Result {
    let counts = &summary.counts;
    let known = if counts.by_kind.is_empty() { "nothing yet".to_owned() } else { summary.kinds() };
    let yours = match counts.user_memories {
        0 => String::new(),
        count => format!("; {count} of yours for every project"),
    };
    view::labelled("Known", &format!("{known}{yours}"), out)?;
    let widest = summary.latest.iter().map(|named| named.kind.name().len()).max();
    for (number, LatestMemory { short, kind, title, .. }) in summary.latest.iter().enumerate() {
        let kind = format!("{:<1$}", kind.name(), widest.unwrap_or_default());
        let before = view::LABEL_COLUMNS + short.len() + kind.len() + 4;
        let title = match extent {
            Extent::Short => wrap::cut(&view::plain(title), wrap::room().saturating_sub(before)),
            Extent::Full => view::plain(title),
        };
        let label = if number == 0 { "Latest" } else { "" };
        let line = format!("{}  {}  {title}", paint(NAME, short), paint(QUIET, kind));
        view::labelled(label, &line, out)?;
    }
    view::labelled("Review", &summary.review(), out)?;
    view::labelled("Given", &summary.given(), out)?;
    let problem = |text: &str| format!("{} {text}", paint(CARE, "!"));
    match (extent, summary.problems.as_slice()) {
        (_, []) => {
            let last = summary.last_sync.map(|at| clock::ago(at, world.now));
            let last = last.map_or("no sync yet".to_owned(), |ago| format!("last sync {ago}"));
            view::labelled("Health", &format!("{}, {last}", paint(GOOD, "good")), out)
        }
        (Extent::Short, [first, others @ ..]) => {
            let more = match others.len() {
                0 => String::new(),
                more => format!(" ({more} more)"),
            };
            let room = wrap::room().saturating_sub(view::LABEL_COLUMNS + 2 + more.len());
            let first = wrap::cut(&view::plain(first), room);
            view::labelled("Health", &(problem(&first) + &more), out)
        }
        (Extent::Full, problems) => {
            let labels = std::iter::once("Health").chain(std::iter::repeat(""));
            labels.zip(problems).try_for_each(|(label, text)| {
                view::labelled(label, &problem(&view::plain(text)), out)
            })
        }
    }
}

/// Returns the facts that only the full status contains, as pairs of label and text.
fn details(summary: &StatusSummary) -> Vec<(&'static str, String)> {
    let counts = &summary.counts;
    let (there, folder) = (counts.in_repository + counts.private, summary.folder.display());
    let stored = match counts.held {
        0 => format!("{} in {folder} ({})", summary.memories, summary.mode),
        _ => format!("{}, {there} of them in {folder} ({})", summary.memories, summary.mode),
    };
    let mut details = vec![("Stored", stored)];
    if counts.held > 0 {
        let held = counts.held;
        let text = format!("{held} pending, private until accepted in `throughline review`");
        details.push(("", text));
    }
    let inactive = view::counted(
        [
            (counts.replaced, "replaced"),
            (counts.expired, "expired"),
            (summary.forgotten, "archived"),
            (summary.elsewhere_in_project, "in other working trees alone"),
        ]
        .map(|(count, what)| (count, format!("{count} {what}"))),
    );
    if !inactive.is_empty() {
        details.push(("Besides", inactive));
    }
    if summary.held_back > 0 {
        details
            .push(("Withheld", format!("{}: `throughline review` explains it", summary.held_back)));
    }
    if summary.from_repository > 0 {
        let count = summary.from_repository;
        let text = format!("{count} {LABEL}: `throughline trust` shows and releases them");
        details.push(("Not yours", text));
    }
    if summary.settings_changed {
        let text = "changed since the last sync: memories that they withhold are withheld now, those that they \
                    allow are recalled after `throughline sync`";
        details.push(("Settings", text.to_owned()));
    }
    if let Some(arrived) = &summary.arrived {
        // The number is reduced by the memories that were released after the arrival.
        let arrived = Arrived { held: arrived.held.min(summary.held_back), ..*arrived };
        details.push(("Pulled", format!("{}: {arrived}", clock::date(arrived.at))));
    }
    let sessions = view::plural(summary.archived_sessions, "session");
    details.push(("Archive", format!("{sessions}, {} KiB", summary.archive_bytes >> 10)));
    let last = summary.last_sync.map_or("never".to_owned(), clock::time);
    let waiting = if summary.unprocessed_bytes > 0 { ", new turns wait" } else { "" };
    details.push(("Last sync", format!("{last}{waiting}")));
    details.push(("Recall", summary.recall.clone()));
    details.extend(summary.second_space.iter().map(|second| ("2nd space", second.clone())));
    let extraction = match (&summary.llm, &summary.ollama) {
        (Some(llm), _) => llm.clone(),
        (None, Some(offer)) => format!("{} {offer}", reader::WITHOUT_MODEL),
        (None, None) => reader::WITHOUT_MODEL.to_owned(),
    };
    details.push(("Model", extraction));
    details.extend(summary.llm_cost.iter().flat_map(ReadingCost::lines).map(|line| ("", line)));
    details
}
