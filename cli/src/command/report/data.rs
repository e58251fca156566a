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

/// Characters of a memory's text; `throughline show` has the rest.
const BODY_CHARS_MAX: usize = 2_000;
/// Characters of what a session was about.
const WISH_CHARS_MAX: usize = 120;
/// Weeks that are shown.
const WEEKS_MAX: i64 = 52;
/// Weeks that are shown however little there is.
const WEEKS_MIN: usize = 8;
/// Memories and turns that were given most.
const GIVEN_MAX: usize = 50;
/// Files about which most is known.
const FILES_MAX: usize = 50;

/// Ages of memories in days, the last one open.
pub const AGES: [(i64, &str); 5] =
    [(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year"), (i64::MAX, "older")];

/// Everything that a report shows.
#[derive(Serialize)]
pub struct Overall {
    /// When it was made.
    pub made: Timestamp,
    /// The program's version.
    pub version: &'static str,
    /// The working tree.
    pub root: String,
    /// Where memories are kept: `committed` or `private`.
    pub mode: &'static str,
    /// Figures of `throughline stats`.
    pub numbers: Numbers,
    /// Sessions of the archive.
    pub sessions: usize,
    /// Memories that are held back.
    pub held: usize,
    /// Memories that wait to be taken in.
    pub waiting: usize,
    /// Files that are no valid memories.
    pub broken: usize,
    /// Memories by kind and age.
    pub ages: Vec<KindAges>,
    /// The last weeks, oldest first.
    pub weeks: Vec<Week>,
    /// Memories and turns that were given most.
    pub given: Vec<GivenMost>,
    /// Memories and turns that were given at all.
    pub given_count: usize,
    /// Pairs of which most likely only one holds.
    pub contradictions: Vec<Sides>,
    /// Files about which most is known.
    pub files: Vec<KnownFile>,
    /// Files about which something is known.
    pub file_count: usize,
    /// How long hooks took.
    pub timings: Vec<Timing>,
    /// Memories, files and sessions, and how they belong together.
    pub graph: Network,
    /// All memories, newest first.
    pub memories: Vec<ReportEntry>,
}

/// Memories of a kind by age, in the order of [`AGES`].
#[derive(Serialize)]
pub struct KindAges {
    /// The kind.
    pub kind: Kind,
    /// How many of each age.
    pub counts: [usize; AGES.len()],
}

/// Events in a week of the user's zone.
#[derive(Clone, Default, Serialize)]
pub struct Week {
    /// The Monday.
    pub week: String,
    /// Sessions that ended.
    pub sessions: usize,
    /// Memories that were learned.
    pub learned: usize,
    /// Injections.
    pub injections: usize,
}

/// A memory or turn that was given, and what sessions did then.
#[derive(Serialize)]
pub struct GivenMost {
    /// Its id.
    pub id: MemoryId,
    /// Its name.
    pub title: String,
    /// How often it was given.
    pub times: usize,
    /// When last.
    pub last: Timestamp,
    /// Actions of the archive's sessions after that.
    pub outcome: Outcomes,
}

/// Two memories that contradict each other.
#[derive(Serialize)]
pub struct Sides {
    /// The newer one.
    pub newer: MemoryId,
    /// The older one.
    pub older: MemoryId,
}

/// A file about which something is known.
#[derive(Serialize)]
pub struct KnownFile {
    /// Its path or glob, as memories name it.
    pub path: String,
    /// Memories that name it.
    pub memories: usize,
    /// Sessions that read or edited it.
    pub sessions: usize,
    /// Edits.
    pub edits: usize,
    /// Reads.
    pub reads: usize,
}

/// A memory as a report shows it. Its texts are safe to show: control characters and marks of direction are gone.
#[derive(Serialize)]
pub struct ReportEntry {
    /// Its id.
    pub id: MemoryId,
    /// Its short id.
    pub short: String,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// Its text, perhaps cut.
    pub body: String,
    /// Whether the text is cut.
    pub cut: bool,
    /// When it was written.
    pub created: Timestamp,
    /// How sure we are, 0 to 1.
    pub confidence: f32,
    /// The files it is about.
    pub paths: Vec<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// A quote of the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The session it was learned in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file it lies in.
    pub file: String,
    /// Words about its state, such as `pinned` or `stale`.
    pub marks: Vec<&'static str>,
    /// Why it may be true no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Memories that it contradicts, or that contradict it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<MemoryId>,
    /// The memory that replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
    /// How often it was given.
    pub given: usize,
    /// How often the session touched its files or ran its command then.
    pub followed: usize,
}

/// A session, and the files that it touched: how often it edited and read each.
pub struct Touching {
    /// The session.
    pub session: PastSession,
    /// Edits and reads by file, as memories name it.
    pub files: BTreeMap<String, (usize, usize)>,
}

/// Everything read at one time.
pub struct ReportSources {
    /// Memories that count, whatever their state.
    pub memories: Vec<Stored>,
    /// Sessions, newest first.
    pub sessions: Vec<Touching>,
    /// Receipts, newest first.
    pub receipts: Vec<InjectionReceipt>,
}

impl Overall {
    /// Reads everything once.
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

    /// The memories that may be true no longer.
    pub fn stale(&self) -> impl Iterator<Item = &ReportEntry> {
        self.memories.iter().filter(|entry| entry.stale.is_some())
    }

    /// The memory with this id.
    pub fn find(&self, id: MemoryId) -> Option<&ReportEntry> {
        self.memories.iter().find(|entry| entry.id == id)
    }
}

/// Ids of memories in a state that a report marks.
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

/// How often each memory was given, and when last.
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
        let titles = memories.map(|memory| (memory.id, memory.title.clone()));
        let items = GivenItems::among(titles, recall, &sources.receipts);
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
            (marked.held.contains(&stored.path), "held back"),
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

/// The beginning of a text without what a page should not show, and whether there is more.
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

/// Whether a memory stands: it is neither replaced nor turned down.
pub fn stands(memory: &Memory) -> bool {
    memory.superseded_by.is_none()
}

/// The files about which most is known, and how many there are.
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
