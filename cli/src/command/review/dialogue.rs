//! The dialogue of `throughline review` at a terminal: one question after another, each answered by a key. The user
//! can go back, and undo the last decisions. No single key publishes a memory to the repository or releases it from
//! quarantine.

use std::collections::BTreeMap;
use std::io::Write;

use dialoguer::console::{Key, Term};
use memory_store::MemoryId;
use memory_store::recall::Recall;
use memory_store::store::{Forget, Stored};

use super::contradictions::{self, PairVerdict, UndecidedPair};
use super::decisions::Decisions;
use super::learned::{self, LearnedItem, LearnedWord};
use super::{removal, verdict};
use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::neighbours;
use crate::stores::{HeldFile, Stores};
use crate::view::style::{CARE, GOOD, QUIET, STRONG, paint};
use crate::view::{self, plain};

/// A question to the user.
pub enum ReviewQuestion {
    /// A question about a withheld memory.
    Held(Box<HeldFile>),
    /// A question about two memories that contradict each other.
    Pair(Box<UndecidedPair>),
    /// A question about a memory that is new, pending or stale.
    Learned(Box<LearnedItem>),
}

/// A decision in answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewWord {
    Release,
    PutAside,
    Settle(PairVerdict),
    Learned(LearnedWord),
    Supersede,
    Helped(bool),
}

/// A key of the dialogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewReply {
    Next,
    Back,
    Undo,
    Quit,
    Decide(ReviewWord),
}

impl ReviewQuestion {
    /// Returns the memories in question; of a pair, the newer one is first.
    fn ids(&self) -> Vec<MemoryId> {
        match self {
            Self::Held(held) => vec![held.stored.memory.id],
            Self::Pair(pair) => vec![pair.newer.memory.id, pair.older.memory.id],
            Self::Learned(item) => vec![item.stored.memory.id],
        }
    }

    /// Describes the question, for a line about an undone decision.
    fn about(&self) -> String {
        let memory = match self {
            Self::Held(held) => &held.stored.memory,
            Self::Pair(pair) => &pair.newer.memory,
            Self::Learned(item) => &item.stored.memory,
        };
        format!("{} {}", memory.id.short(), plain(&memory.title))
    }

    /// Returns a description of the keys that answer the question.
    fn keys(&self) -> &'static str {
        match self {
            Self::Held(_) => "[r]elease  [d]rop",
            Self::Pair(_) => "[b]oth hold  [1] only the first  [2] only the second",
            Self::Learned(item) if item.waits => {
                "[a]ccept  stay [p]rivate  [e]dit  [d]rop  [s]upersede  helped [+] or not [-]"
            }
            Self::Learned(_) => {
                "[y]es, it holds  [e]dit  [d]rop  [s]upersede  helped [+] or not [-]"
            }
        }
    }

    /// Returns the decision that a key makes; `None` for other keys.
    fn word(&self, key: char) -> Option<ReviewWord> {
        Some(match (self, key) {
            (Self::Held(_), 'r') => ReviewWord::Release,
            (Self::Held(_), 'd') => ReviewWord::PutAside,
            (Self::Pair(_), 'b') => ReviewWord::Settle(PairVerdict::Both),
            (Self::Pair(_), '1') => ReviewWord::Settle(PairVerdict::Newer),
            (Self::Pair(_), '2') => ReviewWord::Settle(PairVerdict::Older),
            (Self::Learned(item), 'a') if item.waits => ReviewWord::Learned(LearnedWord::Keep),
            (Self::Learned(item), 'p') if item.waits => ReviewWord::Learned(LearnedWord::Leave),
            (Self::Learned(item), 'y') if !item.waits => ReviewWord::Learned(LearnedWord::Keep),
            (Self::Learned(_), 'e') => ReviewWord::Learned(LearnedWord::Edit),
            (Self::Learned(_), 'd') => ReviewWord::Learned(LearnedWord::Drop),
            (Self::Learned(_), 's') => ReviewWord::Supersede,
            (Self::Learned(_), '+') => ReviewWord::Helped(true),
            (Self::Learned(_), '-') => ReviewWord::Helped(false),
            _ => return None,
        })
    }

    /// Returns the confirmation question for a decision that publishes a memory or injects it into sessions.
    fn confirmation(&self, word: ReviewWord) -> Option<&'static str> {
        match (self, word) {
            (Self::Held(_), ReviewWord::Release) => Some("Give it to sessions?"),
            (Self::Learned(item), ReviewWord::Learned(LearnedWord::Keep)) if item.waits => {
                Some("Take it into the repository?")
            }
            _ => None,
        }
    }
}

/// The questions, and the decisions so far.
struct Dialogue<'a> {
    stores: &'a Stores,
    recall: Recall,
    questions: Vec<ReviewQuestion>,
    /// The decided questions, by their index, with a description of each decision.
    decided: BTreeMap<usize, &'static str>,
    decisions: Decisions<usize>,
}

/// Asks each question. Each decision is executed immediately, so it is kept if the user leaves or the program ends.
pub fn run(stores: &Stores, questions: Vec<ReviewQuestion>, out: &mut dyn Write) -> Result {
    let recall = stores.recall();
    let (decided, decisions) = Default::default();
    let mut dialogue = Dialogue { stores, recall, questions, decided, decisions };
    let mut at = 0;
    loop {
        let Some(here) = dialogue.open_from(at)? else {
            if !dialogue.is_over(out)? {
                return Ok(());
            }
            match dialogue.undo(out)? {
                Some(place) => at = place,
                None => at = dialogue.before(dialogue.questions.len()).unwrap_or_default(),
            }
            continue;
        };
        at = here;
        dialogue.show(at, out)?;
        match dialogue.ask(at)? {
            ReviewReply::Quit => return Ok(()),
            ReviewReply::Next => at += 1,
            ReviewReply::Back => at = dialogue.before(at).unwrap_or(at),
            ReviewReply::Undo => at = dialogue.undo(out)?.unwrap_or(at),
            ReviewReply::Decide(word) => {
                if dialogue.decide(at, word, out)? {
                    at += 1;
                }
            }
        }
    }
}

impl Dialogue<'_> {
    /// Returns the first question at or after an index that is still open, or was decided in this run.
    fn open_from(&mut self, from: usize) -> Result<Option<usize>> {
        for at in from..self.questions.len() {
            if self.decided.contains_key(&at) || self.is_open(at)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns the index of the previous question.
    fn before(&mut self, at: usize) -> Option<usize> {
        (0..at).rev().find(|&earlier| {
            self.decided.contains_key(&earlier) || self.is_open(earlier).unwrap_or_default()
        })
    }

    /// Reads the memories of a question again. Returns whether the question is still open, since another decision may
    /// have answered it.
    fn is_open(&mut self, at: usize) -> Result<bool> {
        let find = |stored: &mut Stored| -> Result<bool> {
            let id = stored.memory.id.to_string();
            let Ok((_, now)) = self.stores.find(&id) else { return Ok(false) };
            let is_current = now.memory.superseded_by.is_none();
            *stored = now;
            Ok(is_current)
        };
        match &mut self.questions[at] {
            ReviewQuestion::Held(held) => {
                Ok(self.stores.held_as(&held.stored)?.is_some() && held.stored.path.exists())
            }
            ReviewQuestion::Pair(pair) => Ok(find(&mut pair.newer)? && find(&mut pair.older)?),
            ReviewQuestion::Learned(item) => find(&mut item.stored),
        }
    }

    fn show(&self, at: usize, out: &mut dyn Write) -> Result {
        let place = format!("{} of {}", at + 1, self.questions.len());
        match &self.questions[at] {
            ReviewQuestion::Held(held) => {
                writeln!(out, "\n{}", paint(STRONG, place))?;
                view::whole(&held.stored, out)?;
                let why = plain(&held.why.to_string());
                writeln!(out, "{}", paint(CARE, format!("withheld: {why}")))?;
            }
            ReviewQuestion::Pair(pair) => {
                writeln!(
                    out,
                    "\n{} {}",
                    paint(STRONG, place),
                    paint(QUIET, format!("the first {} the second", pair.verdict.words()))
                )?;
                for (side, stored) in [("1", &pair.newer), ("2", &pair.older)] {
                    writeln!(out, "\n{}", paint(QUIET, side))?;
                    view::whole(stored, out)?;
                }
                pair.facts.iter().try_for_each(|conflict| conflict.print(out))?;
            }
            ReviewQuestion::Learned(item) => self.show_learned(&place, item, out)?,
        }
        if let Some(decided) = self.decided.get(&at) {
            writeln!(out, "{}", paint(GOOD, format!("decided: {decided}")))?;
        }
        out.flush()?;
        Ok(())
    }

    fn show_learned(&self, place: &str, item: &LearnedItem, out: &mut dyn Write) -> Result {
        let memory = &item.stored.memory;
        let waiting = if item.waits { ", private so far" } else { "" };
        let kind = paint(QUIET, memory.kind.name());
        writeln!(out, "\n{} {kind}{waiting}", paint(STRONG, place))?;
        view::whole(&item.stored, out)?;
        if let Some(stale) = &item.stale {
            writeln!(out, "{}", paint(CARE, view::why_stale(stale)))?;
        }
        let near = neighbours::near(&self.recall, &self.stores.world, memory);
        near.iter().filter(|near| near.asks()).try_for_each(|near| neighbours::line(near, out))
    }

    /// Waits for a valid key.
    fn ask(&self, at: usize) -> Result<ReviewReply> {
        let question = &self.questions[at];
        let is_decided = self.decided.contains_key(&at);
        let keys = if is_decided { "" } else { question.keys() };
        let gap = if is_decided { "" } else { "  " };
        loop {
            let reply =
                reply(&format!("{keys}{gap}[j] next  [k] back  [u]ndo  [q]uit > "), |key| {
                    if is_decided { None } else { question.word(key).map(ReviewReply::Decide) }
                })?;
            let ReviewReply::Decide(word) = reply else { return Ok(reply) };
            match question.confirmation(word) {
                Some(asked) if !confirm(asked)? => {}
                Some(_) | None => return Ok(reply),
            }
        }
    }

    /// Executes a decision; returns whether it answers the question.
    fn decide(&mut self, at: usize, word: ReviewWord, out: &mut dyn Write) -> Result<bool> {
        let stores = self.stores;
        let question = &self.questions[at];
        let mut ids = question.ids();
        // The user chooses the replacement before the state for an undo is read, because the decision also changes the
        // replacement.
        let newer = match (question, word) {
            (ReviewQuestion::Learned(item), ReviewWord::Supersede) => {
                match learned::replacement(stores, &item.stored.memory) {
                    Ok(Some(newer)) => Some(newer),
                    Ok(None) => return Ok(false),
                    Err(failure) => return print_failure(&failure, out).map(|()| false),
                }
            }
            _ => None,
        };
        ids.extend(newer);
        let done =
            self.decisions.make(stores, &ids, (at, question.about()), || match (question, word) {
                (ReviewQuestion::Held(held), ReviewWord::Release) => {
                    verdict::release(stores, &held.stored, out).map(|()| true)
                }
                (ReviewQuestion::Held(held), ReviewWord::PutAside) => {
                    let store = stores.store_of(&held.stored);
                    removal::put_aside(stores, store, &held.stored, Forget::Archive, out)
                        .map(|()| true)
                }
                (ReviewQuestion::Pair(pair), ReviewWord::Settle(settled)) => {
                    contradictions::settle(stores, pair, settled, out).map(|()| true)
                }
                (ReviewQuestion::Learned(item), ReviewWord::Learned(word)) => {
                    let how = (item.waits, item.stale.is_some());
                    learned::decide(stores, &item.stored, how, word, out)
                }
                (ReviewQuestion::Learned(item), ReviewWord::Supersede) => {
                    let Some(newer) = newer else { return Ok(false) };
                    learned::supersede(stores, &item.stored, item.waits, newer, out).map(|()| true)
                }
                // The question stays open.
                (ReviewQuestion::Learned(item), ReviewWord::Helped(helped)) => {
                    learned::note_use(stores, item.stored.memory.id, helped, out).map(|()| false)
                }
                _ => Ok(false),
            });
        match done {
            Ok(true) => {
                self.decided.insert(at, word.done());
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(failure) => print_failure(&failure, out).map(|()| false),
        }
    }

    /// Undoes the last decision; returns the index of its question.
    fn undo(&mut self, out: &mut dyn Write) -> Result<Option<usize>> {
        match self.decisions.undo(self.stores, out) {
            Ok(Some(at)) => {
                self.decided.remove(&at);
                Ok(Some(at))
            }
            Ok(None) => Ok(None),
            Err(failure) => print_failure(&failure, out).map(|()| None),
        }
    }

    /// Prints that no question is left. If there were decisions, waits for a key so that the user can go back; returns
    /// whether the user does.
    fn is_over(&self, out: &mut dyn Write) -> Result<bool> {
        writeln!(out, "That was all.")?;
        out.flush()?;
        if self.decisions.is_empty() {
            return Ok(false);
        }
        Ok(reply("[u]ndo  [Enter] done > ", |_| None)? == ReviewReply::Undo)
    }
}

impl ReviewWord {
    /// Describes an executed decision.
    const fn done(self) -> &'static str {
        match self {
            Self::Release => "released",
            Self::PutAside => "archived",
            Self::Settle(PairVerdict::Both) => "both hold",
            Self::Settle(PairVerdict::Newer) => "only the first holds",
            Self::Settle(PairVerdict::Older) => "only the second holds",
            Self::Learned(LearnedWord::Keep) => "accepted",
            Self::Learned(LearnedWord::Leave) => "stays private",
            Self::Learned(LearnedWord::Drop) => "dropped",
            Self::Supersede => "replaced",
            Self::Helped(_) => "reported",
            Self::Learned(LearnedWord::Edit) => "edited",
        }
    }
}

/// Prints the failure of a decision, after which the dialogue continues. Ctrl-C ends the dialogue.
fn print_failure(failure: &Failure, out: &mut dyn Write) -> Result {
    if failure.code == exit::INTERRUPTED {
        return Err(failure.clone());
    }
    writeln!(out, "{}", paint(CARE, failure.to_string()))?;
    if let Some(hint) = &failure.hint {
        writeln!(out, "{hint}")?;
    }
    Ok(())
}

/// Waits for a key of the dialogue, or a key that `word` accepts. Movement keys always move.
fn reply(keys: &str, word: impl Fn(char) -> Option<ReviewReply>) -> Result<ReviewReply> {
    let terminal = Term::stderr();
    let failed = |error: std::io::Error| Failure::new(format!("the terminal: {error}"));
    ask::prompt(keys)?;
    loop {
        let reply = match ask::key()? {
            Key::Char('j' | 'n' | ' ') | Key::ArrowDown | Key::ArrowRight | Key::Enter => {
                ReviewReply::Next
            }
            Key::Char('k') | Key::ArrowUp | Key::ArrowLeft | Key::Backspace => ReviewReply::Back,
            Key::Char('u') => ReviewReply::Undo,
            Key::Char('q') | Key::Escape => ReviewReply::Quit,
            Key::Char(key) => match word(key) {
                Some(reply) => reply,
                None => continue,
            },
            _ => continue,
        };
        terminal.write_line("").map_err(failed)?;
        return Ok(reply);
    }
}

/// Asks for confirmation; only `y` counts as yes.
fn confirm(question: &str) -> Result<bool> {
    let terminal = Term::stderr();
    let failed = |error: std::io::Error| Failure::new(format!("the terminal: {error}"));
    ask::prompt(&format!("{question} [y]es, any other key: no > "))?;
    let is_yes = ask::key()? == Key::Char('y');
    terminal.write_line("").map_err(failed)?;
    Ok(is_yes)
}
