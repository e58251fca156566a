//! `throughline review`: shows the memories that need a person's decision:
//!
//! * memories learned since the last review;
//! * pending memories: standing wishes, and all new memories with `review = true`;
//! * memories that rules of earlier versions left in the repository;
//! * memories that may be outdated because their files changed;
//! * memories withheld because they resemble an instruction to the model or are from the repository.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use memory_store::MemoryId;
use memory_store::id::is_abbreviation;
use memory_store::memory::{HeldFor, Relation};
use memory_store::store::Stored;
use memory_store::trust::Trust;
use processor::secrets::SecretDecision;
use serde::Serialize;

use self::claims::{ChangeVerdict as Claimed, ClaudeChange};
use self::contradictions::UndecidedPair;
use self::dialogue::ReviewQuestion;
use crate::credentials;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::stores::{HeldFile, Stores};
use crate::typed::WriteOptions;
use crate::view::changes::line;
use crate::view::style::{CARE, QUIET, paint};
use crate::view::{self, MemoryView, plain};
use crate::world::World;

pub mod claims;
pub mod contradictions;
pub mod decisions;
pub mod dialogue;
mod fact_conflicts;
pub mod in_git;
pub mod learned;
pub mod links;
pub mod made_by_rules;
pub mod removal;
pub mod verdict;

/// Review memories that need a decision
///
/// Shows memories that are new since the last review, possibly outdated, contradictory, pending or withheld. At a
/// terminal, one key decides about each memory, and `u` undoes the last decision. Options decide about single memories
/// without questions, for example in scripts.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Accept a pending memory (repeatable); if it may contain a credential, pass the ID@MARK
    /// printed by `review`
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    accept: Vec<String>,
    /// Reject a pending memory (repeatable)
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    reject: Vec<String>,
    /// Make an accepted memory pending and private again, unless git contains its file (repeatable)
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    hold: Vec<String>,
    /// Confirm a memory that may be outdated (repeatable)
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    keep: Vec<String>,
    /// Archive unedited memories that rules of earlier versions created
    #[arg(long, hide_short_help = true)]
    drop_rules: bool,
    /// Accept all pending memories
    #[arg(long, conflicts_with_all = ["accept", "reject"])]
    accept_all: bool,
    /// Release a withheld memory until its text changes (repeatable); ID@MARK releases it only if
    /// the text is still the one shown
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    release: Vec<String>,
    /// Keep this memory and replace those that contradict or repeat it (repeatable)
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    prefer: Vec<String>,
    /// Keep this memory and those that contradict or repeat it (repeatable)
    #[arg(long, value_name = "ID", add = crate::complete::ids())]
    both: Vec<String>,
    /// Add the links that a model proposes to this memory (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    link: Vec<String>,
    /// Drop the links that a model proposes for this memory (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    no_link: Vec<String>,
    /// Redact the values in this memory that became known secrets (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    hide: Vec<String>,
    /// Mark the values that --hide would redact as not secret (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    keep_value: Vec<String>,
    /// Accept the change that Claude made to this memory of yours (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    agree: Vec<String>,
    /// Undo the change that Claude made to this memory of yours (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    refuse: Vec<String>,
    #[command(flatten)]
    write: WriteOptions,
}

impl ReviewArgs {
    /// Returns whether the options contain a decision, so that the output reports what was done.
    pub fn is_answered(&self) -> bool {
        self.has_decision()
    }

    /// Returns whether the command makes a decision that only a person may make: by its options, or by keys at a
    /// terminal.
    pub fn decides(&self, world: &World) -> bool {
        let asks = world.interactive && !self.write.json;
        (self.has_decision() || asks) && !self.write.dry_run
    }
}

/// The verdict of an option on the memories that the option names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Release,
    Accept,
    Hide,
    KeepValue,
    Agree,
    Refuse,
    Reject,
    Hold,
    Keep,
    Prefer,
    Both,
    Link,
    NoLink,
}

impl Verb {
    /// Finds a memory by the id that a person typed.
    fn find(self, stores: &Stores, typed: &str) -> Result<Stored> {
        match self {
            Self::Release => verdict::held_by_id(stores, typed),
            Self::Accept => waiting(stores, typed.split_once('@').map_or(typed, |(id, _)| id)),
            Self::Reject => waiting(stores, typed),
            Self::Hold => verdict::accepted_by_id(stores, typed),
            _ => Ok(stores.find(typed)?.1),
        }
    }
}

impl ReviewArgs {
    /// Returns each verdict with its words and the ids that its option names. The order is that in which the verdicts are
    /// executed: a released memory stays where it was found, and accepting moves it.
    fn named(&self) -> [(Verb, &'static str, &[String]); 13] {
        [
            (Verb::Release, "release", &self.release),
            (Verb::Accept, "accept", &self.accept),
            (Verb::Hide, "hide known secrets in", &self.hide),
            (Verb::KeepValue, "keep the values of", &self.keep_value),
            (Verb::Agree, "agree to the change by Claude to", &self.agree),
            (Verb::Refuse, "refuse the change by Claude to", &self.refuse),
            (Verb::Reject, "turn down", &self.reject),
            (Verb::Hold, "make pending again", &self.hold),
            (Verb::Keep, "confirm", &self.keep),
            (Verb::Prefer, "prefer", &self.prefer),
            (Verb::Both, "keep beside the other one", &self.both),
            (Verb::Link, "add the proposed links to", &self.link),
            (Verb::NoLink, "drop the proposed links of", &self.no_link),
        ]
    }

    /// Looks up all ids before any verdict is executed, so that a mistyped id changes nothing.
    fn find(&self, stores: &Stores) -> Result<Vec<(Verb, Stored)>> {
        let mut found: Vec<(Verb, Stored)> = Vec::new();
        for (verb, _, ids) in self.named() {
            for id in ids {
                let named = (verb, verb.find(stores, id)?);
                if !found.contains(&named) {
                    found.push(named);
                }
            }
        }
        let accepted = found.iter().filter(|(verb, _)| *verb == Verb::Accept);
        let rejected = |stored: &Stored| found.contains(&(Verb::Reject, stored.clone()));
        if let Some((_, both)) = accepted.into_iter().find(|(_, stored)| rejected(stored)) {
            let id = both.memory.id.short();
            return Err(Failure::new(format!("{id} cannot be both accepted and rejected"))
                .code(exit::USAGE)
                .hint("Nothing was done. Say one of both."));
        }
        Ok(found)
    }

    /// Executes the verdicts and reports the results.
    fn decide(&self, named: &[(Verb, Stored)], stores: &Stores, out: &mut dyn Write) -> Result {
        for (verb, stored) in named {
            let id = stored.memory.id;
            match verb {
                Verb::Release => verdict::release(stores, stored, out)?,
                Verb::Accept => {
                    let seen = self.has_seen(stored)?;
                    verdict::accept_seen(stores, stored, seen, out)?;
                }
                Verb::Hide => credentials::decide_by_id(stores, id, SecretDecision::Hide, out)?,
                Verb::KeepValue => {
                    credentials::decide_by_id(stores, id, SecretDecision::Keep, out)?
                }
                Verb::Agree => claims::decide_by_id(stores, id, Claimed::Agree, out)?,
                Verb::Refuse => claims::decide_by_id(stores, id, Claimed::Refuse, out)?,
                Verb::Reject => verdict::reject(stores, stored, out)?,
                Verb::Hold => verdict::hold(stores, stored, out)?,
                Verb::Keep => learned::confirm(stores, stored, out)?,
                Verb::Link => links::settle(stores, stored, true, out)?,
                Verb::NoLink => links::settle(stores, stored, false, out)?,
                Verb::Prefer | Verb::Both => {
                    let held = ids_of(&stores.held()?);
                    contradictions::settle_all(stores, id, *verb == Verb::Both, &held, out)?;
                }
            }
        }
        if self.drop_rules {
            made_by_rules::drop_all(stores, out)?;
        }
        if self.accept_all {
            let waiting = stores.project.drafts()?.memories;
            if waiting.is_empty() {
                view::remark("Nothing that was learned is to be reviewed.");
            }
            for stored in &waiting {
                // A memory held because of a credential needs a separate review.
                match stored.memory.held_for {
                    Some(HeldFor::Credential) => verdict::print_left_pending(stored, out)?,
                    _ => verdict::accept_or_leave(stores, stored, out)?,
                }
            }
        }
        Ok(())
    }

    /// Returns whether the person has seen the current text of the memory to accept.
    fn has_seen(&self, stored: &Stored) -> Result<bool> {
        let id = stored.memory.id.to_string();
        let marks = self.accept.iter().filter_map(|asked| asked.split_once('@'));
        let mut marks = marks.filter(|(asked, _)| is_abbreviation(asked, &id));
        let Some((asked, mark)) = marks.next() else { return Ok(false) };
        if mark != Trust::mark(stored) {
            return Err(Failure::new(format!(
                "{asked} says something else than what you were shown"
            ))
            .hint(format!("`throughline show {asked}` shows it as it is now.")));
        }
        Ok(true)
    }

    /// Returns whether an option contains a decision, so that nothing is listed.
    fn has_decision(&self) -> bool {
        let names_any = self.named().iter().any(|(_, _, ids)| !ids.is_empty());
        self.accept_all || self.drop_rules || names_any
    }

    /// Reports the effect of the options on the memories that they name.
    fn would(&self, stores: &Stores, named: &[(Verb, Stored)], out: &mut dyn Write) -> Result {
        let all = if self.accept_all { stores.project.drafts()?.memories } else { Vec::new() };
        let dropped = if self.drop_rules { made_by_rules::all(stores)? } else { Vec::new() };
        let words = self.named();
        let words = |verb: &Verb| words.iter().find(|(it, ..)| it == verb).map_or("", |it| it.1);
        let told = (named.iter().map(|(verb, stored)| (words(verb), stored)))
            .chain(all.iter().map(|stored| ("accept", stored)))
            .chain(dropped.iter().map(|stored| ("archive", stored)));
        let told = told.map(|(verb, Stored { memory, .. })| {
            format!("{verb} {} \"{}\"", memory.id.short(), line(&memory.title))
        });
        view::would(&told.collect::<Vec<_>>(), self.write.json, out)
    }
}

/// Runs the command.
pub fn run(args: &ReviewArgs, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let named = args.find(&stores)?;
    if args.write.dry_run {
        return args.would(&stores, &named, out);
    }
    // With JSON, the memories that are still pending afterwards are printed.
    let told: &mut dyn Write = if args.write.json { &mut std::io::sink() } else { &mut *out };
    args.decide(&named, &stores, told)?;
    if args.write.json {
        return print_json(&stores, out);
    }
    if args.has_decision() {
        return Ok(());
    }
    let waiting = stores.project.drafts()?.memories;
    let held = stores.held()?;
    let claimed = claims::all(&stores)?;
    let asked_apart = elsewhere(&held, &claimed);
    let items = learned::items(&stores, &waiting, &asked_apart)?;
    let pairs = contradictions::pairs(&stores, &asked_apart)?;
    let proposed = credentials::proposals(&stores)?;
    let by_rules = made_by_rules::all(&stores)?;
    let links = links::all(&stores)?;
    let is_empty = items.is_empty() && held.is_empty() && pairs.is_empty() && by_rules.is_empty();
    let is_empty = is_empty && links.is_empty();
    if is_empty && proposed.is_empty() && claimed.is_empty() {
        view::remark("Nothing is to be reviewed.");
        return if waiting.is_empty() { Ok(()) } else { list(&stores, &waiting, out) };
    }
    show_held(&stores, &held, out)?;
    made_by_rules::list(&by_rules, out)?;
    if world.interactive && world.is_seen {
        if !credentials::go_through(&stores, &proposed, out)?
            || !claims::go_through(&stores, &claimed, out)?
            || !links::go_through(&stores, &links, out)?
        {
            return Ok(());
        }
        return dialogue::run(&stores, questions(&stores, held, pairs, items)?, out);
    }
    links::list(&links, out)?;
    credentials::list(&proposed, out)?;
    claims::list(&stores, &claimed, out)?;
    contradictions::list(&pairs, out)?;
    learned::list(&items, out)?;
    if waiting.is_empty() { Ok(()) } else { list(&stores, &waiting, out) }
}

/// Prints all memories that need a decision.
fn print_json(stores: &Stores, out: &mut dyn Write) -> Result {
    let waiting = stores.project.drafts()?.memories;
    let held = stores.held()?;
    let claimed = claims::all(stores)?;
    let asked_apart = elsewhere(&held, &claimed);
    let mut learned = learned::items(stores, &waiting, &asked_apart)?;
    learned.retain(|item| !item.waits);
    let by_rules = made_by_rules::all(stores)?;
    let is_held = |id| held.iter().any(|held| held.stored.memory.id == id);
    let pairs = contradictions::pairs(stores, &asked_apart)?;
    let links = links::all(stores)?;
    let mut views: Vec<WaitingView<'_>> =
        waiting
            .iter()
            .filter(|stored| !is_held(stored.memory.id))
            .map(|stored| WaitingView::new(stored, None))
            .chain(learned.iter().map(|item| WaitingView {
                new: item.new,
                stale: item.stale.as_ref().map(ToString::to_string),
                ..WaitingView::new(&item.stored, None)
            }))
            .chain(by_rules.iter().map(|stored| WaitingView {
                made_by_rules: true,
                ..WaitingView::new(stored, None)
            }))
            .chain(held.iter().map(|held| WaitingView::new(&held.stored, Some(held))))
            .chain(claimed.iter().map(|claim| WaitingView {
                by_claude: Some(claim.why()),
                ..WaitingView::new(claim.stored(), None)
            }))
            .collect();
    for UndecidedPair { newer, older, verdict, .. } in &pairs {
        let at = views.iter().position(|view| view.id == newer.memory.id).unwrap_or_else(|| {
            views.push(WaitingView::new(newer, None));
            views.len() - 1
        });
        let sides =
            if verdict.differs() { &mut views[at].contradicts } else { &mut views[at].repeats };
        sides.push(older.memory.id);
    }
    for links::ProposedLink { stored, link, .. } in &links {
        let at = views.iter().position(|view| view.id == stored.memory.id).unwrap_or_else(|| {
            views.push(WaitingView::new(stored, None));
            views.len() - 1
        });
        views[at].proposed_links.push(link);
    }
    view::json(&views, out)
}

/// Number of memories to review, by reason.
#[derive(Debug, Default, Serialize)]
pub struct ReviewCounts {
    /// Memories learned since the last review.
    pub new: usize,
    /// Pending memories.
    pub waiting: usize,
    /// Possibly outdated memories: their files changed, or a name in them no longer exists.
    pub stale: usize,
    /// Undecided pairs: memories that contradict or repeat each other.
    pub contradictions: usize,
    /// Withheld memories.
    pub held: usize,
    /// The user's memories that contain a value found to be a secret.
    pub secrets: usize,
    /// Changes by Claude that await the user's decision.
    pub by_claude: usize,
    /// Unreviewed memories written by rules of earlier versions.
    pub by_rules: usize,
}

/// Counts the memories that this command would show.
pub fn counts(stores: &Stores) -> Result<ReviewCounts> {
    let waiting = stores.project.drafts()?.memories;
    let held = stores.held()?;
    let claimed = claims::all(stores)?;
    let asked_apart = elsewhere(&held, &claimed);
    let items = learned::items(stores, &waiting, &asked_apart)?;
    let count =
        |is_it: fn(&learned::LearnedItem) -> bool| items.iter().filter(|item| is_it(item)).count();
    Ok(ReviewCounts {
        new: count(|item| item.new && !item.waits),
        waiting: count(|item| item.waits),
        stale: count(|item| item.stale.is_some() && !item.new && !item.waits),
        contradictions: contradictions::pairs(stores, &asked_apart)?.len(),
        held: held.len(),
        secrets: credentials::proposals(stores)?.len(),
        by_claude: claimed.len(),
        by_rules: made_by_rules::all(stores)?.len(),
    })
}

/// A memory to review, with the reason if it is withheld.
#[derive(Serialize)]
struct WaitingView<'a> {
    #[serde(flatten)]
    memory: MemoryView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_back: Option<HeldView>,
    /// Whether the memory is active and was learned since the last review.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    new: bool,
    /// Whether rules of an earlier version wrote the memory, and no person has reviewed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    made_by_rules: bool,
    /// Changes to the memory's files since it was learned, if they are large.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
    /// A change by Claude that awaits the user's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_claude: Option<String>,
    /// Links to other memories that a model proposes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    proposed_links: Vec<&'a Relation>,
    /// Memories that this one contradicts, until a person decides which one is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contradicts: Vec<MemoryId>,
    /// Memories that repeat this memory or that this memory repeats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repeats: Vec<MemoryId>,
    #[serde(skip)]
    id: MemoryId,
}

#[derive(Serialize)]
struct HeldView {
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The value of `--release` that releases the current text of this memory.
    release: String,
}

impl<'a> WaitingView<'a> {
    fn new(stored: &'a Stored, held: Option<&HeldFile>) -> Self {
        let memory = MemoryView::from(stored).held(held.is_some());
        let held_back = held.map(|HeldFile { why, release, .. }| HeldView {
            reason: match &why.order {
                Some(order) => order.reason.to_string(),
                None => why.to_string(),
            },
            place: why.order.as_ref().map(|order| order.place.to_string()),
            release: release.clone(),
        });
        let id = stored.memory.id;
        Self {
            memory,
            held_back,
            new: false,
            made_by_rules: false,
            stale: None,
            by_claude: None,
            proposed_links: Vec::new(),
            contradicts: Vec::new(),
            repeats: Vec::new(),
            id,
        }
    }
}

fn show_held(stores: &Stores, held: &[HeldFile], out: &mut dyn Write) -> Result {
    if held.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{} withheld, because each resembles an instruction to the model, or is from the repository and not released:\n",
        held.len()
    )?;
    let counting = stores.counting()?;
    for HeldFile { stored, why, release } in held {
        view::line(&stored.memory, out)?;
        writeln!(out, "        {}", paint(CARE, plain(&why.to_string())))?;
        if !counting.contains(&stored.path) {
            writeln!(
                out,
                "        {} has the id of a memory that counts, or its name but for case, and is not read: remove it, or give \
                 it another",
                view::path(&stored.path)
            )?;
        } else {
            writeln!(out, "        {}", paint(QUIET, format!("--release {release}")))?;
        }
    }
    writeln!(
        out,
        "\nNone of them is given to a session. `throughline show ID` shows one, `throughline review --release ID` \
         releases it (with the mark after the id, only in the text shown), `throughline forget ID` archives it.\n"
    )?;
    if held.iter().any(|held| held.why.order.is_none()) {
        writeln!(
            out,
            "`throughline trust` shows and releases all that is held only because it is from the repository.\n"
        )?;
    }
    Ok(())
}

/// Finds a pending memory by its id.
fn waiting(stores: &Stores, id: &str) -> Result<Stored> {
    let (_, stored) = stores.find(id)?;
    let drafts = stores.project.drafts()?.memories;
    match drafts.into_iter().find(|draft| draft.memory.id == stored.memory.id) {
        Some(draft) => Ok(draft),
        None => Err(does_not_wait(stores, &stored)?),
    }
}

fn does_not_wait(stores: &Stores, stored: &Stored) -> Result<Failure> {
    let id = stored.memory.id.short();
    let helps = match stores.held_as(stored)? {
        Some(_) => format!(
            "It is withheld: `throughline review --release {id}` releases it, `throughline forget {id}` archives it."
        ),
        None if stored.memory.superseded_by.is_some() => {
            format!("Something newer replaces it; `throughline forget {id}` archives it.")
        }
        None => format!(
            "It was accepted already, or written by hand; `throughline forget {id}` archives it."
        ),
    };
    Ok(Failure::new(format!("{id} does not wait for review")).hint(helps))
}

fn list(stores: &Stores, waiting: &[Stored], out: &mut dyn Write) -> Result {
    let count = waiting.len();
    let are = view::are(count);
    writeln!(out, "\n{count} {are} pending: given to sessions, but private.\n")?;
    let redactor = stores.project.redactor(&stores.settings);
    for stored in waiting {
        // The text is redacted, since the list may be printed in a session.
        view::line(&redactor.redacted(&stored.memory), out)?;
        writeln!(out, "        {}", paint(QUIET, view::held(&stored.memory)))?;
        credentials::explain(stores, stored, out)?;
    }
    Ok(writeln!(
        out,
        "\n`throughline review --accept ID` takes one into {}, `--accept-all` all of them; `--reject ID` drops one. \
         They may stay as they are.",
        stores.project.folder.display()
    )?)
}

/// Lists the questions to the person: first about withheld memories, then about contradictions, then about learned
/// memories.
fn questions(
    stores: &Stores,
    held: Vec<HeldFile>,
    pairs: Vec<UndecidedPair>,
    items: Vec<learned::LearnedItem>,
) -> Result<Vec<ReviewQuestion>> {
    // A file that does not count is skipped: a decision would archive the other file with the same id.
    let counting = stores.counting()?;
    let held = held.into_iter().filter(|held| counting.contains(&held.stored.path));
    let held = held.map(|held| ReviewQuestion::Held(Box::new(held)));
    let pairs = pairs.into_iter().map(|pair| ReviewQuestion::Pair(Box::new(pair)));
    let items = items.into_iter().map(|item| ReviewQuestion::Learned(Box::new(item)));
    Ok(held.chain(pairs).chain(items).collect())
}

/// Returns the memories that other questions concern: about withheld memories, and about changes by Claude.
fn elsewhere(held: &[HeldFile], claimed: &[ClaudeChange<'_>]) -> BTreeSet<MemoryId> {
    ids_of(held).into_iter().chain(claims::ids(claimed)).collect()
}

fn ids_of(held: &[HeldFile]) -> BTreeSet<MemoryId> {
    held.iter().map(|held| held.stored.memory.id).collect()
}
