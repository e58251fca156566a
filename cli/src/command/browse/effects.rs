//! Effects of the browser: reading rows and previews, and running commands on a memory.

use dialoguer::console::strip_ansi_codes;
use memory_store::MemoryId;
use memory_store::counts;
use memory_store::short_session;
use memory_store::store::Stored;

use super::filters::{StandingFilter, Traits};
use super::session;
use super::state::{Act, BrowseRow, Effect, RowKey, Tab};
use crate::command::log::LogEntry;
use crate::command::review::decisions::Decisions;
use crate::command::review::learned::{self, LearnedWord};
use crate::command::review::verdict;
use crate::command::{restore, search, why};
use crate::editor;
use crate::failure::{Failure, Result};
use crate::receipts::{self, InjectionReceipt};
use crate::sessions::{PastSessions, on_branch};
use crate::stores::Stores;
use crate::view::changes::line;
use crate::view::given::GivenItems;
use crate::view::known::MemoryFacts;
use crate::view::listing::{self, ListFilter, ListMarks};
use crate::view::style::{CARE, NAME, QUIET, paint};
use crate::view::{self, clock, plain, plural};
use crate::world::World;

/// Maximum injections in the list.
const INJECTIONS_MAX: usize = 500;
/// Columns of a line about an injection, before the frame truncates it.
const LINE_COLUMNS: usize = 400;
/// Columns of the text with the number of prompts.
const PROMPTS_COLUMNS: usize = 11;
/// Columns of a time.
const TIME_COLUMNS: usize = 15;

/// The stores and the index from which rows are read, and the data read from them.
pub struct BrowseSource {
    stores: Stores,
    known: MemoryFacts,
    memories: Vec<Stored>,
    marks: ListMarks,
    receipts: Vec<InjectionReceipt>,
    items: GivenItems,
    decisions: Decisions<MemoryId>,
}

impl BrowseSource {
    /// Opens the stores.
    pub fn open(world: &World) -> Result<Self> {
        let stores = Stores::open(world)?;
        Ok(Self {
            known: MemoryFacts::open(&stores),
            stores,
            memories: Vec::new(),
            marks: ListMarks::default(),
            receipts: Vec::new(),
            items: GivenItems::default(),
            decisions: Decisions::default(),
        })
    }

    /// Reads the rows of a tab; also returns a message about unreadable data.
    pub fn rows(&mut self, tab: Tab) -> Result<(Vec<BrowseRow>, Option<String>)> {
        match tab {
            Tab::Memories => self.memory_rows(),
            Tab::Sessions => Ok((self.session_rows()?, None)),
            Tab::Injections => Ok((self.injection_rows()?, None)),
        }
    }

    fn memory_rows(&mut self) -> Result<(Vec<BrowseRow>, Option<String>)> {
        // The stores are opened again to include the changes of other programs.
        self.stores = Stores::open(&self.stores.world)?;
        self.known = MemoryFacts::open(&self.stores);
        let listed = ListFilter::every().read(&self.stores)?;
        let aside = listing::archived(&self.stores)?;
        let broken = listed.broken.len() + aside.broken.len();
        self.marks = listed.marks;
        self.memories = listed.memories;
        let there = self.memories.len();
        self.memories.extend(aside.memories);
        let rows = self.memories.iter().enumerate();
        let rows = rows.map(|(at, stored)| self.memory_row(stored, at >= there));
        let rows = rows.collect::<Result<_>>()?;
        let told = format!(
            "{} cannot be read; `throughline list` names what is wrong.",
            plural(broken, "memory file")
        );
        Ok((rows, (broken > 0).then_some(told)))
    }

    fn memory_row(&self, stored: &Stored, is_aside: bool) -> Result<BrowseRow> {
        let memory = &stored.memory;
        let mut marks = self.marks.words(stored);
        if !is_aside {
            marks.push_str(listing::standing_word(memory, self.stores.world.now));
        }
        let mut line = Vec::new();
        view::marked_line(memory, &marks, &mut line)?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        let standing = match counts::Standing::of(memory, self.stores.world.now) {
            _ if is_aside => StandingFilter::Aside,
            counts::Standing::InForce => StandingFilter::Active,
            counts::Standing::Held => StandingFilter::Waits,
            counts::Standing::Replaced | counts::Standing::Expired => StandingFilter::Replaced,
        };
        let paths: Vec<String> = memory.paths.iter().map(|path| path.path.clone()).collect();
        let words = [&*strip_ansi_codes(&line), &*memory.tags.join(" "), &*paths.join(" ")];
        let words = words.join(" ").to_lowercase();
        let traits = Traits {
            kind: memory.kind,
            standing,
            scope: memory.scope,
            paths,
            is_held: self.marks.is_held(stored),
            is_stale: self.marks.staleness(stored).is_some(),
        };
        let title = format!("{} {}", memory.id.short(), plain(&memory.title));
        let key = RowKey::Memory(memory.id);
        Ok(BrowseRow { key, line, title, words, traits: Some(traits) })
    }

    fn session_rows(&self) -> Result<Vec<BrowseRow>> {
        let sessions = PastSessions::open(&self.stores);
        let rows = sessions.iter().map(|(session, _)| {
            let branch = on_branch(&session.branch);
            let at = format!("{:<TIME_COLUMNS$}", clock::ago(session.last, self.stores.world.now));
            let prompts = plural(session.prompts, "prompt");
            let prompts = format!("{prompts:>PROMPTS_COLUMNS$}");
            let wish = line(&session.subject());
            let line = format!(
                "{}  {}  {}  {branch}{wish}",
                paint(QUIET, at),
                paint(NAME, plain(short_session(&session.session))),
                paint(QUIET, prompts)
            );
            let words = strip_ansi_codes(&line).to_lowercase() + " " + &session.session;
            BrowseRow {
                key: RowKey::Session(session.session.clone()),
                line,
                title: wish,
                words,
                traits: None,
            }
        });
        Ok(rows.collect())
    }

    fn injection_rows(&mut self) -> Result<Vec<BrowseRow>> {
        let tree = self.stores.state();
        self.receipts = receipts::last(&tree, INJECTIONS_MAX, |_| true);
        self.items = GivenItems::of(&self.stores, &self.receipts)?;
        let rows = self.receipts.iter().enumerate().map(|(at, receipt)| {
            let entry = LogEntry::of(receipt, &self.items);
            let line = entry.line(clock::ago(receipt.at, self.stores.world.now), LINE_COLUMNS);
            let words = [&*strip_ansi_codes(&line), &*entry.titles.join(" ")].join(" ");
            let words = words.to_lowercase();
            let title = entry.titles.join(", ");
            BrowseRow { key: RowKey::Injection(at), line, title, words, traits: None }
        });
        Ok(rows.collect())
    }

    /// Returns the preview of a row: the output of `show` for a memory, a summary of a session, or the output of `why`
    /// for an injection.
    pub fn preview(&self, key: &RowKey) -> String {
        let mut text = Vec::new();
        let done = match key {
            RowKey::Memory(id) => self.show(*id, &mut text),
            RowKey::Session(id) => session::show(id, &self.stores, &mut text),
            RowKey::Injection(at) => match self.receipts.get(*at) {
                Some(receipt) => why::show(receipt, &self.items, false, &mut text),
                None => Ok(()),
            },
        };
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if let Err(failure) = done {
            text.push_str(&format!("{}\n", paint(CARE, failure_line(&failure))));
        }
        text
    }

    fn show(&self, id: MemoryId, out: &mut Vec<u8>) -> Result {
        let stored = self.memories.iter().find(|stored| stored.memory.id == id);
        stored.map_or(Ok(()), |stored| {
            self.known.show(stored, self.marks.is_pulled(stored), &self.stores, out)
        })
    }

    /// Searches memories; returns their ids, best first.
    pub fn find(&self, text: &str) -> Result<Vec<MemoryId>> {
        search::as_typed(text, &self.known.used.recall, self.stores.world.now)
    }

    /// Executes an effect; returns a sentence about the result.
    pub fn run(&mut self, effect: &Effect) -> Result<String> {
        let mut out = Vec::new();
        let mut decisions = std::mem::take(&mut self.decisions);
        let ids = effect.memories();
        let said = match ids.first() {
            Some(&first) => {
                let about = self.about(first);
                decisions
                    .make(&self.stores, &ids, (first, about), || self.carry_out(effect, &mut out))
            }
            None => Ok(None),
        };
        self.decisions = decisions;
        let said = said?;
        let text = in_a_line(&out);
        Ok(said.filter(|_| text.is_empty()).unwrap_or(text))
    }

    /// Undoes the last decision; returns a sentence about the result, and the memory concerned.
    pub fn undo(&mut self) -> Result<(String, Option<MemoryId>)> {
        let mut out = Vec::new();
        let about = self.decisions.undo(&self.stores, &mut out)?;
        Ok((in_a_line(&out), about))
    }

    fn about(&self, id: MemoryId) -> String {
        let found = self.memories.iter().find(|stored| stored.memory.id == id);
        let title = found.map(|stored| plain(&stored.memory.title)).unwrap_or_default();
        format!("{} {title}", id.short())
    }

    fn carry_out(&self, effect: &Effect, out: &mut Vec<u8>) -> Result<Option<String>> {
        match effect {
            Effect::Act(act, id) => self.act(*act, *id, out),
            Effect::Supersede { older, newer } => {
                let (_, older) = self.stores.find(&older.to_string())?;
                let waits = self.waits(&older)?;
                learned::supersede(&self.stores, &older, waits, *newer, out)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Runs a command on the current file of a memory. Returns a message for commands that print nothing.
    fn act(&self, act: Act, id: MemoryId, out: &mut Vec<u8>) -> Result<Option<String>> {
        let name = id.to_string();
        match act {
            Act::Accept | Act::Keep => self.decide(&name, LearnedWord::Keep, out)?,
            Act::Forget => self.decide(&name, LearnedWord::Drop, out)?,
            Act::Edit => self.decide(&name, LearnedWord::Edit, out)?,
            Act::Helped(helped) => learned::note_use(&self.stores, id, helped, out)?,
            Act::Restore => restore::one(&self.stores.world, &name, out)?,
            Act::Release => {
                // Only the text that was shown is released: if its file changed since, the memory stays withheld.
                let shown = self.memories.iter().find(|stored| stored.memory.id == id);
                let release = shown.and_then(|stored| self.marks.release(stored));
                let release = release.unwrap_or(&name).to_owned();
                verdict::release_by_id(&self.stores, &release, out)?;
            }
            Act::Open => return self.open_file(&name).map(Some),
        }
        Ok((act == Act::Keep).then(|| format!("Kept {}.", id.short())))
    }

    fn decide(&self, name: &str, word: LearnedWord, out: &mut dyn std::io::Write) -> Result {
        let (_, stored) = self.stores.find(name)?;
        let is_stale = self.known.used.recall.staleness(stored.memory.id).is_some();
        let how = (self.waits(&stored)?, is_stale);
        learned::decide(&self.stores, &stored, how, word, out).map(drop)
    }

    fn waits(&self, stored: &Stored) -> Result<bool> {
        let drafts = self.stores.project.drafts()?.memories;
        Ok(drafts.iter().any(|draft| draft.memory.id == stored.memory.id))
    }

    fn open_file(&self, name: &str) -> Result<String> {
        let (_, stored, _) = self.stores.find_or_archived(name)?;
        let file = view::folder(&stored.path, &self.stores.world.home);
        Ok(match editor::open_file(&stored.path)? {
            true => format!("{file} was changed; `throughline sync` takes it in."),
            false => format!("{file} is as it was."),
        })
    }
}

/// Joins the lines of a command's output to one line.
fn in_a_line(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    strip_ansi_codes(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a failure as one line.
pub fn failure_line(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{failure}. {hint}"),
        None => failure.to_string(),
    }
}
