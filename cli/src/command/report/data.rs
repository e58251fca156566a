//! Data of a report, gathered from stores, index, receipts and archive.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use memory_store::memory::{Memory, Status};
use memory_store::recall::Recall;
use memory_store::store::Stored;
use memory_store::time::DAY_MS;
use memory_store::{Kind, MemoryId, Timestamp, identity, short_session};
use serde::Serialize;

use super::graph::Network;
use super::timings::{self, Timing};
use crate::command::review::contradictions::{self, UndecidedPair};
use crate::command::{VERSION, blame};
use crate::failure::Result;
use crate::inspect::stats::{self, Numbers, Outcomes};
use crate::receipts::{self, InjectionReceipt};
use crate::sessions::{PastSession, PastSessions};
use crate::stores::{StoreSurvey, Stores};
use crate::view::given::GivenItems;
use crate::view::{self, clock, plain};

/// Maximum characters of a memory's text; `throughline show` prints all.
const BODY_CHARS_MAX: usize = 2_000;
/// Maximum characters of a session's subject.
const WISH_CHARS_MAX: usize = 120;
/// Maximum weeks shown.
const WEEKS_MAX: i64 = 52;
/// Minimum weeks shown, even without data.
const WEEKS_MIN: usize = 8;
/// Maximum memories and turns listed by number of injections.
const GIVEN_MAX: usize = 50;
/// Maximum files listed by number of memories.
const FILES_MAX: usize = 50;

/// Upper bounds of the ages of memories in days, with their labels; the last age is unlimited.
pub const AGES: [(i64, &str); 5] =
    [(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"), (i64::MAX, "older")];

/// All contents of a report.
#[derive(Serialize)]
pub struct Overall {
    /// Time of the report.
    pub made: Timestamp,
    /// The program's version.
    pub version: &'static str,
    /// The working tree.
    pub root: String,
    /// Storage mode of memories: `committed` or `private`.
    pub mode: &'static str,
    /// The numbers that `throughline status --stats` prints.
    pub numbers: Numbers,
    /// Number of archived sessions.
    pub sessions: usize,
    /// Number of withheld memories.
    pub held: usize,
    /// Number of pending memories.
    pub waiting: usize,
    /// Number of files that are not valid memories.
    pub broken: usize,
    /// Memories by kind and age.
    pub ages: Vec<KindAges>,
    /// The last weeks, oldest first.
    pub weeks: Vec<Week>,
    /// Memories and turns with the most injections.
    pub given: Vec<GivenMost>,
    /// Number of memories and turns that were injected at least once.
    pub given_count: usize,
    /// Undecided pairs of memories that contradict each other.
    pub contradictions: Vec<Sides>,
    /// Files named by the most memories.
    pub files: Vec<KnownFile>,
    /// Number of files that memories or sessions concern.
    pub file_count: usize,
    /// Durations of hooks.
    pub timings: Vec<Timing>,
    /// Graph of memories, files and sessions.
    pub graph: Network,
    /// All memories, newest first.
    pub memories: Vec<ReportEntry>,
}

/// Memories of a kind by age, in the order of [`AGES`].
#[derive(Serialize)]
pub struct KindAges {
    /// The kind.
    pub kind: Kind,
    /// Number of memories of each age.
    pub counts: [usize; AGES.len()],
}

/// Events in a week of the user's zone.
#[derive(Clone, Default, Serialize)]
pub struct Week {
    /// Date of the week's Monday.
    pub week: String,
    /// Number of sessions that ended.
    pub sessions: usize,
    /// Number of memories learned.
    pub learned: usize,
    /// Number of injections.
    pub injections: usize,
}

/// An injected memory or turn, with the later actions of the sessions.
#[derive(Serialize)]
pub struct GivenMost {
    /// Id of the memory or turn.
    pub id: MemoryId,
    /// Title of the memory or turn.
    pub title: String,
    /// Number of injections.
    pub times: usize,
    /// Time of the last injection.
    pub last: Timestamp,
    /// Numbers of injections by the later actions of their sessions.
    pub outcome: Outcomes,
}

/// Two memories that contradict each other.
#[derive(Serialize)]
pub struct Sides {
    /// The newer memory.
    pub newer: MemoryId,
    /// The older memory.
    pub older: MemoryId,
}

/// A file with memories or sessions.
#[derive(Serialize)]
pub struct KnownFile {
    /// Path or glob, as written in memories.
    pub path: String,
    /// Number of memories that name the file.
    pub memories: usize,
    /// Number of sessions that read or edited the file.
    pub sessions: usize,
    /// Number of edits.
    pub edits: usize,
    /// Number of reads.
    pub reads: usize,
}

/// A memory in a report. Its texts contain no control characters or direction marks, and so are safe to display.
#[derive(Serialize)]
pub struct ReportEntry {
    /// Id of the memory.
    pub id: MemoryId,
    /// Short form of the id.
    pub short: String,
    /// Kind of the memory.
    pub kind: Kind,
    /// Title of the memory.
    pub title: String,
    /// Text of the memory, possibly truncated.
    pub body: String,
    /// Whether the text is truncated.
    pub cut: bool,
    /// Time at which the memory was created.
    pub created: Timestamp,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// Files that the memory concerns.
    pub paths: Vec<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// A quote from the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The session in which the memory was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// File of the memory.
    pub file: String,
    /// Words about the memory's state, such as `pinned` or `stale`.
    pub marks: Vec<&'static str>,
    /// Reason why the memory may be stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Memories that contradict this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<MemoryId>,
    /// The memory that superseded this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
    /// Number of injections.
    pub given: usize,
    /// Number of injections after which the session used the memory's files or command.
    pub followed: usize,
}

/// A session with its accesses to files.
pub struct Touching {
    /// The session.
    pub session: PastSession,
    /// Numbers of edits and reads by file, with paths as in memories.
    pub files: BTreeMap<String, (usize, usize)>,
}

/// Snapshot of all sources.
pub struct ReportSources {
    /// Memories that count, in any state.
    pub memories: Vec<Stored>,
    /// Sessions, newest first.
    pub sessions: Vec<Touching>,
    /// Receipts, newest first.
    pub receipts: Vec<InjectionReceipt>,
}

impl Overall {
    /// Reads all sources once.
    pub fn gather(stores: &Stores) -> Result<Self> {
        let survey = stores.survey()?;
        view::warn_broken(&survey.project.broken);
        view::warn_broken(&survey.user.broken);
        let broken = survey.project.broken.len() + survey.user.broken.len();
        let receipts = receipts::last(&stores.state(), usize::MAX, |_| true);
        let numbers = stats::numbers_of(&survey.project, &survey.user, &receipts, stores)?;
        let marked = Marked::of(stores, &survey)?;
        let recall = stores.recall();
        let mut memories = survey.listing().memories;
        memories.retain(|stored| stored.memory.status != Status::Rejected);
        memories.sort_by_key(|stored| (Reverse(stored.memory.created), stored.memory.id));
        let pairs =
            contradictions::pairs_among(&memories, stores, &marked.held_ids, stores.world.now);
        let pairs: Vec<UndecidedPair> =
            pairs.into_iter().filter(|pair| pair.verdict.differs()).collect();
        let sources = ReportSources { memories, sessions: touching(stores), receipts };
        let given = GivenCounts::count(&sources.receipts);
        let entries =
            entries(&sources, &marked, &pairs, &given, &numbers, &recall, &stores.world.home);
        let (files, file_count) = known_files(&sources);
        Ok(Self {
            made: stores.world.now,
            version: VERSION,
            root: view::folder(&stores.tree.root, &stores.world.home),
            mode: view::mode(identity::mode(&stores.world.dirs, stores.tree.project)?),
            sessions: sources.sessions.len(),
            held: marked.held_ids.len(),
            waiting: marked.waiting.len(),
            broken,
            ages: ages(&entries, stores.world.now),
            weeks: weeks(&sources, stores.world.now),
            given_count: given.0.len(),
            given: given.most(&sources, &numbers, &recall),
            contradictions: pairs
                .iter()
                .map(|pair| Sides { newer: pair.newer.memory.id, older: pair.older.memory.id })
                .collect(),
            files,
            file_count,
            timings: timings::of(&sources.receipts),
            graph: Network::of(&sources),
            memories: entries,
            numbers,
        })
    }

    /// Returns the memories that may be stale.
    pub fn stale(&self) -> impl Iterator<Item = &ReportEntry> {
        self.memories.iter().filter(|entry| entry.stale.is_some())
    }

    /// Returns the memory with an id.
    pub fn find(&self, id: MemoryId) -> Option<&ReportEntry> {
        self.memories.iter().find(|entry| entry.id == id)
    }
}

/// Ids of the memories in certain states.
struct Marked {
    held: BTreeSet<std::path::PathBuf>,
    held_ids: BTreeSet<MemoryId>,
    pulled: BTreeSet<std::path::PathBuf>,
    waiting: BTreeSet<MemoryId>,
}

impl Marked {
    fn of(stores: &Stores, survey: &StoreSurvey) -> Result<Self> {
        let held = survey.held()?;
        let files = survey.project.memories.iter().chain(&survey.user.memories);
        let pulled = files.filter(|stored| survey.is_pulled(stored));
        let drafts = stores.project.drafts()?.memories;
        Ok(Self {
            held_ids: held.iter().map(|held| held.stored.memory.id).collect(),
            held: held.into_iter().map(|held| held.stored.path).collect(),
            pulled: pulled.map(|stored| stored.path.clone()).collect(),
            waiting: drafts.into_iter().map(|draft| draft.memory.id).collect(),
        })
    }
}

/// For each memory, the number of injections and the time of the last one.
struct GivenCounts(BTreeMap<MemoryId, (usize, Timestamp)>);

impl GivenCounts {
    fn count(receipts: &[InjectionReceipt]) -> Self {
        let mut given: BTreeMap<MemoryId, (usize, Timestamp)> = BTreeMap::new();
        for receipt in receipts {
            for memory in &receipt.memories {
                let (times, last) = given.entry(memory.id).or_default();
                *times += 1;
                *last = (*last).max(receipt.at);
            }
        }
        Self(given)
    }

    fn most(&self, sources: &ReportSources, numbers: &Numbers, recall: &Recall) -> Vec<GivenMost> {
        let mut most: Vec<_> = self.0.iter().collect();
        most.sort_by_key(|(id, (times, last))| (Reverse((*times, *last)), **id));
        most.truncate(GIVEN_MAX);
        let memories = sources.memories.iter().map(|stored| &stored.memory);
        let known = memories.map(|memory| (memory.id, memory.kind, memory.title.clone()));
        let items = GivenItems::among(known, recall, &sources.receipts);
        most.into_iter()
            .map(|(id, (times, last))| GivenMost {
                id: *id,
                title: plain(items.title(*id)),
                times: *times,
                last: *last,
                outcome: numbers.by_memory.get(id).copied().unwrap_or_default(),
            })
            .collect()
    }
}

fn entries(
    sources: &ReportSources,
    marked: &Marked,
    pairs: &[UndecidedPair],
    given: &GivenCounts,
    numbers: &Numbers,
    recall: &Recall,
    home: &Path,
) -> Vec<ReportEntry> {
    let mut against: BTreeMap<MemoryId, Vec<MemoryId>> = BTreeMap::new();
    for pair in pairs {
        let (newer, older) = (pair.newer.memory.id, pair.older.memory.id);
        against.entry(newer).or_default().push(older);
        against.entry(older).or_default().push(newer);
    }
    let entry = |stored: &Stored| {
        let memory = &stored.memory;
        let counts = memory.superseded_by.is_none() && memory.status == Status::Active;
        let stale = recall.staleness(memory.id).filter(|_| counts);
        let contradicts = against.remove(&memory.id).unwrap_or_default();
        let marks = [
            (memory.pinned, "pinned"),
            (marked.waiting.contains(&memory.id), "pending"),
            (memory.superseded_by.is_some(), "replaced"),
            (marked.held.contains(&stored.path), "withheld"),
            (marked.pulled.contains(&stored.path), "from the repository"),
            (stale.is_some(), "stale"),
            (!contradicts.is_empty(), "contradicted"),
        ];
        let (body, cut) = shortened(&memory.body, BODY_CHARS_MAX);
        ReportEntry {
            id: memory.id,
            short: memory.id.short(),
            kind: memory.kind,
            title: plain(&memory.title),
            body,
            cut,
            created: memory.created,
            confidence: memory.confidence,
            paths: memory.paths.iter().map(|path| plain(&path.path)).collect(),
            tags: memory.tags.iter().map(|tag| plain(tag)).collect(),
            quote: memory.source.quote.as_deref().map(|quote| shortened(quote, BODY_CHARS_MAX).0),
            session: memory.source.session.as_deref().map(|id| plain(short_session(id))),
            file: view::folder(&stored.path, home),
            marks: marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect(),
            stale: stale.as_ref().map(view::why_stale),
            contradicts,
            superseded_by: memory.superseded_by,
            given: given.0.get(&memory.id).map_or(0, |(times, _)| *times),
            followed: numbers.by_memory.get(&memory.id).map_or(0, |outcome| outcome.followed),
        }
    };
    sources.memories.iter().map(entry).collect()
}

/// Returns the beginning of a text without unsafe characters, and whether the text was truncated.
fn shortened(text: &str, chars_max: usize) -> (String, bool) {
    let text = text.trim();
    let end = text.char_indices().nth(chars_max).map(|(end, _)| end);
    (plain(&text[..end.unwrap_or(text.len())]), end.is_some())
}

/// Returns the subject of a session.
pub fn wish(session: &PastSession) -> String {
    let subject = session.subject();
    let line = subject.trim().lines().next().unwrap_or_default();
    let (text, is_cut) = shortened(line, WISH_CHARS_MAX);
    if is_cut { format!("{text}...") } else { text }
}

fn touching(stores: &Stores) -> Vec<Touching> {
    let sessions = PastSessions::open(stores);
    let touching = sessions.iter().map(|(session, record)| {
        let files = record.files.iter();
        let files = files.map(|file| (file.path.clone(), (file.edits, file.reads))).collect();
        Touching { session: session.clone(), files }
    });
    touching.collect()
}

fn ages(entries: &[ReportEntry], now: Timestamp) -> Vec<KindAges> {
    let mut ages = Kind::ALL.map(|kind| KindAges { kind, counts: [0; AGES.len()] });
    for entry in entries {
        let days = (now.0.saturating_sub(entry.created.0)) / DAY_MS;
        let age = AGES.iter().position(|(most, _)| days < *most).unwrap_or(AGES.len() - 1);
        if let Some(of_kind) = ages.iter_mut().find(|of_kind| of_kind.kind == entry.kind) {
            of_kind.counts[age] += 1;
        }
    }
    ages.into_iter().filter(|of_kind| of_kind.counts.iter().any(|count| *count > 0)).collect()
}

fn weeks(sources: &ReportSources, now: Timestamp) -> Vec<Week> {
    let mut weeks: BTreeMap<String, Week> = clock::last_weeks(now, WEEKS_MAX)
        .into_iter()
        .map(|week| (week.clone(), Week { week, ..Week::default() }))
        .collect();
    let mut on = |at: Timestamp, add: fn(&mut Week)| {
        if let Some(week) = weeks.get_mut(&clock::week(at)) {
            add(week);
        }
    };
    for touching in &sources.sessions {
        on(touching.session.last, |week| week.sessions += 1);
    }
    for stored in &sources.memories {
        on(stored.memory.created, |week| week.learned += 1);
    }
    for receipt in &sources.receipts {
        on(receipt.at, |week| week.injections += 1);
    }
    let weeks: Vec<Week> = weeks.into_values().collect();
    let is_quiet = |week: &Week| week.sessions + week.learned + week.injections == 0;
    let quiet = weeks.iter().take_while(|week| is_quiet(week)).count();
    let skipped = quiet.min(weeks.len().saturating_sub(WEEKS_MIN));
    weeks[skipped..].to_vec()
}

/// Returns whether a memory is neither superseded nor rejected.
pub fn stands(memory: &Memory) -> bool {
    memory.superseded_by.is_none()
}

/// Returns the files that the most memories name, and the number of all files.
fn known_files(sources: &ReportSources) -> (Vec<KnownFile>, usize) {
    let mut by_path: BTreeMap<&str, BTreeSet<MemoryId>> = BTreeMap::new();
    let standing = sources.memories.iter().map(|stored| &stored.memory);
    for memory in standing.filter(|memory| stands(memory)) {
        for path in &memory.paths {
            by_path.entry(path.path.trim_end_matches('/')).or_default().insert(memory.id);
        }
    }
    let count = by_path.len();
    let mut most: Vec<(&str, usize)> =
        by_path.into_iter().map(|(path, memories)| (path, memories.len())).collect();
    most.sort_by_key(|(path, memories)| (Reverse(*memories), *path));
    most.truncate(FILES_MAX);
    let known = most.into_iter().map(|(path, memories)| {
        let mut known = KnownFile { path: plain(path), memories, sessions: 0, edits: 0, reads: 0 };
        for touching in &sources.sessions {
            let of_file = touching.files.iter().filter(|(file, _)| blame::names(path, file));
            let (edits, reads) =
                of_file.fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1));
            known.edits += edits;
            known.reads += reads;
            known.sessions += usize::from(edits + reads > 0);
        }
        known
    });
    (known.collect(), count)
}
