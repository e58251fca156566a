//! The list of memories with their marks, for `list` and the browser.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::Write;

use clap::{Args, ValueEnum};
use memory_store::counts::Standing;
use memory_store::knowledge::time::History;
use memory_store::memory::{Memory, Status};
use memory_store::recall::ScopeName;
use memory_store::recall::start_rank::Age;
use memory_store::staleness::Staleness;
use memory_store::store::{Listing, Stored};
use memory_store::trust::LABEL;
use memory_store::{Kind, MemoryId, Timestamp};

use super::MemoryView;
use super::known::KnownUse;
use super::style::{CARE, paint};
use crate::failure::{Failure, Result};
use crate::knowledge::as_of;
use crate::setup::elsewhere;
use crate::stores::{StoreSurvey, Stores};
use crate::typed::DateRange;
use crate::view;
use crate::world::World;

/// Memories that are asked for.
#[derive(Debug, Default, Args)]
pub struct ListFilter {
    /// Only memories of this kind (repeatable)
    #[arg(long, short = 'k', value_parser = crate::typed::kind(), value_name = "KIND")]
    kind: Vec<Kind>,
    /// Only memories with this tag (repeatable; all tags must match)
    #[arg(long, short = 't', value_name = "TAG", add = crate::complete::tags())]
    tag: Vec<String>,
    /// Only memories of this topic or area (repeatable)
    #[arg(long, value_name = "TOPIC")]
    topic: Vec<String>,
    /// Only memories of this subagent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only memories of this scope: project, user, paths or agent
    #[arg(long, value_parser = scope, value_name = "SCOPE")]
    scope: Option<ScopeName>,
    #[command(flatten)]
    when: DateRange,
    /// Only memories about this file, folder or path prefix
    #[arg(long, short = 'p', value_name = "PATH")]
    path: Option<String>,
    /// Only memories of this age: fresh, aging or stale; `archive` for stale ones that no session
    /// used and no report praised
    #[arg(long, value_enum, value_name = "AGE")]
    age: Option<AgeFilter>,
    /// Include superseded, expired and rejected memories
    #[arg(long)]
    all: bool,
    /// Only memories that were recorded and in force on this date
    #[arg(long, value_name = "DATE", conflicts_with = "all")]
    as_of: Option<String>,
    /// Maximum number of memories [default: all]
    #[arg(long, short = 'n', value_name = "COUNT", allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: Option<usize>,
}

/// Ages of memories that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AgeFilter {
    Fresh,
    Aging,
    Stale,
    Archive,
}

/// Parses the name of a scope.
fn scope(name: &str) -> Result<ScopeName, String> {
    ScopeName::named(name).ok_or_else(|| {
        let known = ScopeName::ALL.map(|(name, _)| name).join(", ");
        format!("`{name}` is no scope; there are: {known}")
    })
}

/// Listed memories with their marks.
pub struct ListedMemories {
    /// The memories, newest first.
    pub memories: Vec<Stored>,
    /// Number of memories that pass the filter without its limit.
    pub found: usize,
    /// The marks of the listed files.
    pub marks: ListMarks,
    /// Unreadable memory files.
    pub broken: Vec<memory_store::Error>,
}

impl ListFilter {
    /// Returns the filter for all memories, replaced ones included.
    pub fn every() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Returns whether the filter excludes any memory, so that an empty result does not mean that there are none.
    fn is_search(&self) -> bool {
        !self.kind.is_empty()
            || !self.tag.is_empty()
            || self.path.is_some()
            || self.when.is_given()
            || self.as_of.is_some()
            || self.age.is_some()
    }

    /// Reads the memories that pass the filter.
    pub fn read(&self, stores: &Stores) -> Result<ListedMemories> {
        let survey = stores.survey()?;
        let known = KnownUse::open(stores);
        let marks = ListMarks::of(&survey, &known)?;
        let Listing { mut memories, broken, .. } = survey.listing();
        let path = self.path.as_deref();
        let path = path.map(|path| crate::typed::project_path(stores, path)).transpose()?;
        let when = self.when.span(stores.world.now)?;
        let at = as_of(self.as_of.as_deref(), stores.world.now)?;
        let in_force = at.map(|at| {
            let history = History::of(memories.iter().map(|stored| &stored.memory));
            let was = |stored: &&Stored| history.was_in_force(&stored.memory, at);
            memories.iter().filter(was).map(|it| it.memory.id).collect::<HashSet<MemoryId>>()
        });
        memories.retain(|stored| {
            let is_current = match &in_force {
                Some(in_force) => in_force.contains(&stored.memory.id),
                None => self.is_current(stored, stores.world.now),
            };
            is_current
                && when.has(view::date(&stored.memory))
                && self.wants(stored, path.as_deref())
                && self.age.is_none_or(|age| match age {
                    AgeFilter::Fresh => known.age(stored) == Age::Fresh,
                    AgeFilter::Aging => known.age(stored) == Age::Aging,
                    AgeFilter::Stale => known.age(stored) == Age::Stale,
                    AgeFilter::Archive => known.may_be_archived(stored),
                })
        });
        newest_first(&mut memories);
        let found = memories.len();
        memories.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(ListedMemories { memories, found, marks, broken })
    }
}

fn newest_first(memories: &mut [Stored]) {
    memories.sort_by_key(|stored| (Reverse(view::date(&stored.memory)), stored.memory.id));
}

/// Returns the archived memories of both stores, newest first.
pub fn archived(stores: &Stores) -> Result<Listing> {
    let mut listing = stores.archived()?;
    newest_first(&mut listing.memories);
    Ok(listing)
}

/// Prints the memories that pass the filter, or a message if there are none.
pub fn print(filter: &ListFilter, json: bool, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let ListedMemories { memories, found, marks, broken } = filter.read(&stores)?;
    view::warn_broken(&broken);
    if found > memories.len() {
        view::remark(format_args!("{} more: use -n {found}", found - memories.len()));
    }
    if json {
        let views: Vec<MemoryView> =
            memories.iter().map(|stored| view_of(stored, &marks)).collect();
        view::json(&views, out)?;
        return filter.found(views.is_empty(), out);
    }
    if memories.is_empty() {
        view::remark(if filter.is_search() { "No memory fits." } else { "No memories." });
        if let Some(missing) = elsewhere::missing_folder(&stores.project) {
            view::on_stderr(format_args!("{} {missing}.", paint(CARE, "!")));
        }
    }
    // The list is written in one piece: standard output is flushed after each line, and after each piece where colours
    // are removed.
    let mut page = Vec::new();
    memories.iter().try_for_each(|stored| {
        let words = marks.words(stored) + standing_word(&stored.memory, world.now);
        view::marked_line(&stored.memory, &words, &mut page)
    })?;
    if anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never {
        page = anstream::adapter::strip_bytes(&page).into_vec();
    }
    out.write_all(&page)?;
    filter.found(memories.is_empty(), out)
}

/// Returns the mark for an inactive memory.
pub fn standing_word(memory: &Memory, now: Timestamp) -> &'static str {
    match Standing::of(memory, now) {
        Standing::Replaced => " [replaced]",
        Standing::Expired => " [expired]",
        Standing::InForce | Standing::Held => "",
    }
}

/// Marks of the listed files.
#[derive(Default)]
pub struct ListMarks {
    /// For each withheld file, the argument of `throughline review --release`.
    held: HashMap<OsString, String>,
    pulled: HashSet<OsString>,
    stale: HashMap<OsString, Staleness>,
    ages: HashMap<OsString, Age>,
}

impl ListMarks {
    fn of(survey: &StoreSurvey, known: &KnownUse) -> Result<Self> {
        let stale = survey.project.memories.iter().filter_map(|stored| {
            let staleness = known.recall.staleness(stored.memory.id)?;
            Some((stored.path.clone().into_os_string(), staleness))
        });
        let memories = survey.project.memories.iter().chain(&survey.user.memories);
        let ages = memories.map(|stored| (stored.path.clone().into_os_string(), known.age(stored)));
        let memories = survey.project.memories.iter().chain(&survey.user.memories);
        let pulled = memories.filter(|stored| survey.is_pulled(stored));
        let held = survey
            .held()?
            .into_iter()
            .map(|held| (held.stored.path.into_os_string(), held.release));
        Ok(Self {
            held: held.collect(),
            pulled: pulled.map(|stored| stored.path.clone().into_os_string()).collect(),
            stale: stale.collect(),
            ages: ages.collect(),
        })
    }

    /// Returns whether a memory is withheld.
    pub fn is_held(&self, stored: &Stored) -> bool {
        self.release(stored).is_some()
    }

    /// Returns the argument that releases the current text of a withheld memory.
    pub fn release(&self, stored: &Stored) -> Option<&str> {
        self.held.get(stored.path.as_os_str()).map(String::as_str)
    }

    /// Returns whether a memory is from the repository.
    pub fn is_pulled(&self, stored: &Stored) -> bool {
        self.pulled.contains(stored.path.as_os_str())
    }

    /// Returns the evidence that a memory is stale.
    pub fn staleness(&self, stored: &Stored) -> Option<&Staleness> {
        self.stale.get(stored.path.as_os_str())
    }

    /// Returns the marks of a memory in words.
    pub fn words(&self, stored: &Stored) -> String {
        let origin = if self.is_pulled(stored) { format!(" [{LABEL}]") } else { String::new() };
        let held = if self.is_held(stored) { " [withheld]" } else { "" };
        let stale = match (self.staleness(stored), self.age(stored)) {
            (Some(stale), _) => format!(" [{}]", view::plain(&stale.mark())),
            (None, Age::Fresh) => String::new(),
            (None, age) => format!(" [{}]", age.name()),
        };
        origin + held + &stale
    }

    fn age(&self, stored: &Stored) -> Age {
        self.ages.get(stored.path.as_os_str()).copied().unwrap_or_default()
    }
}

fn view_of<'a>(stored: &'a Stored, marks: &ListMarks) -> MemoryView<'a> {
    MemoryView::from(stored)
        .held(marks.is_held(stored))
        .labelled(marks.is_pulled(stored))
        .stale(marks.staleness(stored))
        .aged(marks.age(stored))
}

impl ListFilter {
    /// Fails like a search without results if the command is a search and its result is empty.
    fn found(&self, is_empty: bool, out: &mut dyn Write) -> Result {
        out.flush()?;
        Failure::of_empty(is_empty && self.is_search())
    }

    fn is_current(&self, stored: &Stored, now: Timestamp) -> bool {
        let memory = &stored.memory;
        let current = memory.status != Status::Archived && Standing::of(memory, now).is_current();
        current || self.all
    }

    /// Returns whether a memory passes the filter. `path` is relative to the root, as in memories.
    fn wants(&self, stored: &Stored, path: Option<&str>) -> bool {
        let memory = &stored.memory;
        (self.kind.is_empty() || self.kind.contains(&memory.kind))
            && self.tag.iter().all(|tag| memory.tags.contains(tag))
            && (self.topic.is_empty()
                || self.topic.iter().any(|topic| memory.is_about_topic(topic)))
            && self.agent.as_deref().is_none_or(|name| {
                memory.agent.as_deref().is_some_and(|agent| agent.eq_ignore_ascii_case(name))
            })
            && self
                .scope
                .is_none_or(|scope| ScopeName::of(memory.scope, memory.agent.as_deref()) == scope)
            && path.is_none_or(|start| memory.paths.iter().any(|path| path.path.starts_with(start)))
    }
}
