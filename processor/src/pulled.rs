//! Memories that others committed: which they are, whether the user takes them unseen, and which of them
//! are new here.
//!
//! A memory file is the user's own when a program of ours wrote its text on this machine, when it was seen
//! here uncommitted, or when a commit of the user brought it. Every other is of whoever's commit brought
//! what it says, and of those who brought what a merge made it of. A file that HEAD has stays of whoever
//! brought that, though it says something else than HEAD: attributes that a commit brings along can make a
//! checkout write what nobody sees in HEAD, and a pull can put others' lines among changes of the user.

mod place;
mod remembered;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::arrived::Arrived;
use memory_store::file::FILE_BYTES_MAX;
use memory_store::identity::{Authors, Identity};
use memory_store::layout::{ProjectDir, STORE_DIR, Tree, UserDirs};
use memory_store::ledger::{Ledger, Marks, text_hash};
use memory_store::redact::Redactor;
use memory_store::settings::{Pulled, Settings};
use memory_store::store::{Store, Stored, read_below};
use memory_store::suspicion::{Quarantine, Why, Withheld, Withholding};

use crate::git;
use crate::git::committers::{self, Brought};
use crate::git::signatures;
use crate::stamp;
use crate::state::{read_json, write_json};

use place::{File, Other, Place, author_of, place};
use remembered::{Committers, Signers, Used};

/// Texts that are remembered as the user's own, and as those of others, beside those that are there now.
const REMEMBERED_MAX: usize = 20_000;
/// Files changed since HEAD whose former text is looked at; of more nobody can tell whose they are.
const CHANGED_MAX: usize = 200;
/// Commits whose signatures are checked by one judge, a program for each; what the others brought waits.
const CHECKED_MAX: usize = 200;
/// How long one judge may check signatures, and that of a command, which somebody waits for.
const CHECKING_MAX: Duration = Duration::from_secs(60);
const COMMAND_CHECKING_MAX: Duration = Duration::from_secs(5);

/// What others commit is taken as far as this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// What is given without the user having seen it.
    pub pulled: Pulled,
    /// Whose commits are trusted besides the user's own.
    pub authors: Authors,
}

impl Limits {
    /// The limits of a project: of what its trust says and what the settings say, the stricter.
    pub fn of(settings: &Settings, identity: Option<&Identity>) -> Self {
        let authors = identity.and_then(|identity| identity.authors.clone());
        let least = if authors.is_some() { Pulled::Authors } else { Pulled::All };
        Self { pulled: settings.pulled.max(least), authors: authors.unwrap_or_default() }
    }

    /// The limits of a project now.
    pub fn read(home: &ProjectDir, settings: &Settings) -> Result<Self> {
        Ok(Self::of(settings, Identity::read(home)?.as_ref()))
    }

    /// Whether anything may be withheld.
    pub fn hold(&self) -> bool {
        self.pulled != Pulled::All
    }
}

/// Judges the memory files of a project's working trees, as often as they are asked about: what is as it was at
/// the last look is not looked at again, and what was found of signatures then counts.
pub struct Judge<'a> {
    dirs: &'a UserDirs,
    home: ProjectDir,
    settings: Settings,
    limits: Limits,
    committers: Committers,
    /// Whether nothing was remembered: then nothing is new.
    is_first: bool,
    /// What is still in use; `None` when not all working trees were looked at.
    used: Option<Used>,
    /// Whether all working trees are looked at, unchanged ones too.
    settles: bool,
    /// The last look at each of the working trees that there are, by its root.
    looks: BTreeMap<PathBuf, Look>,
    /// What signatures rest on now, by hash.
    grounds: BTreeSet<String>,
    /// The keys of files by name and hash: redacting a memory for its key is what costs most.
    keys: BTreeMap<(PathBuf, String), String>,
    /// Commits whose signatures may still be checked.
    checks_left: usize,
    /// How long signatures may still be checked.
    time_left: Duration,
}

/// What was found in a working tree.
#[derive(Default)]
struct Look {
    /// The stamp of its folder of memory files, and of that of what waits aside.
    folder: String,
    /// What else it was like; `None` when git was at work, so that nothing can be compared with it.
    seal: Option<Seal>,
    /// What judging rested on.
    grounds: Grounds,
    withheld: Arc<Withholding>,
    /// What others committed: the hash of the text, its author, and whether it is held.
    others: Vec<(String, Option<String>, bool)>,
    /// Commits whose signatures wait for the next judging.
    waiting: BTreeSet<String>,
    /// Those whose signature takes too long.
    late: BTreeSet<String>,
}

/// Where git is in a working tree, and what we wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seal {
    marks: Marks,
    position: String,
    ledger: String,
}

/// What judging a working tree depends on besides its files and commits. As long as nothing may be withheld
/// that is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grounds {
    limits: Limits,
    /// What git and its keys say, in a form to compare.
    facts: String,
}

impl Grounds {
    /// What it depends on now.
    pub fn of(limits: Limits, root: &Path, now: Timestamp) -> Self {
        if !limits.hold() {
            return Self { limits, facts: String::new() };
        }
        let signed = limits.authors.signed;
        // Keys end with time, and no file tells.
        let date = if signed { now.date() } else { String::new() };
        let facts = format!("{}\n{date}", committers::grounds(root, signed));
        Self { limits, facts }
    }
}

/// Commits of those who are trusted whose signatures are not checked. What they brought is withheld.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// Those that the next judging goes on with: there were too many, or too many slow ones.
    pub waiting: usize,
    /// Those whose signature alone takes too long. They are tried again the next day, or where keys or settings
    /// change.
    pub late: usize,
}

impl<'a> Judge<'a> {
    /// Reads what is known of a project.
    pub fn open(dirs: &'a UserDirs, tree: &Tree, settings: &Settings) -> Result<Self> {
        let home = dirs.project(tree.project);
        let known = read_json::<Committers>(&home.committers());
        let is_first = known.is_none();
        let committers = known.unwrap_or_default();
        Ok(Self {
            limits: Limits::read(&home, settings)?,
            dirs,
            home,
            settings: settings.clone(),
            is_first,
            settles: committers.is_to_settle(REMEMBERED_MAX),
            committers,
            used: Some(Used::default()),
            looks: BTreeMap::new(),
            grounds: BTreeSet::new(),
            keys: BTreeMap::new(),
            checks_left: CHECKED_MAX,
            time_left: CHECKING_MAX,
        })
    }

    /// Says what is withheld in one working tree. Nothing is where memories are kept privately.
    pub fn tree(&mut self, tree: &Tree, now: Timestamp) -> Result<Arc<Withholding>> {
        let store = Store::open(self.dirs, tree)?;
        let Some(root) = store.root() else { return Ok(Arc::default()) };
        // A person may have said something else since.
        self.limits = Limits::read(&self.home, &self.settings)?;
        // Before the files are read: what changes meanwhile is looked at again, what waits aside, too.
        let folders = [store.folder(), &self.home.drafts()].map(stamp::of_folder).concat();
        let folder = blake3::hash(folders.as_bytes()).to_hex().to_string();
        let grounds = Grounds::of(self.limits.clone(), root, now);
        let is_unchanged = self.committers.looked_at.get(root) == Some(&folder);
        if is_unchanged && !self.limits.hold() && !self.settles {
            // Nothing is withheld, and nothing came.
            self.used = None;
            self.looks.insert(root.to_owned(), Look { folder, grounds, ..Look::default() });
            return Ok(Arc::default());
        }
        // Before the files are read and git is asked: what git does in between belongs to nobody yet.
        let marks = git::marks(root);
        let (position, ledger) = (git::position(root), stamp::of_file(&self.home.ledger()));
        let seal = Seal { marks, position, ledger };
        let is_same = |look: &&Look| {
            look.folder == folder && look.seal.as_ref() == Some(&seal) && look.grounds == grounds
        };
        if let Some(look) = self.looks.get(root).filter(is_same) {
            return Ok(look.withheld.clone());
        }
        let facts = grounds.facts.clone();
        let look = Look { folder, grounds, ..self.look(&store, root, seal, &facts)? };
        let withheld = look.withheld.clone();
        self.looks.insert(root.to_owned(), look);
        Ok(withheld)
    }

    fn look(&mut self, store: &Store, root: &Path, seal: Seal, facts: &str) -> Result<Look> {
        let redactor = store.redactor(&self.settings);
        let files = self.files(store, root, &redactor);
        let judged: Option<BTreeSet<String>> =
            self.limits.hold().then(|| files.iter().map(|file| file.key.clone()).collect());
        let others = self.others(root, &seal.marks, files)?;
        let own = committers::own_addresses(root);
        let trusted: BTreeSet<String> =
            self.limits.authors.trusted.iter().chain(&own).cloned().collect();
        let Checked { signers, waiting, late } = self.signers(root, &others, &trusted, facts);
        let signed = self.limits.authors.signed;
        let signer = |commit: Option<&str>| signers.get(commit?)?.as_ref();
        let is_checked =
            |commit: Option<&str>| commit.is_none_or(|commit| signers.contains_key(commit));
        let is_own = |author: Option<&str>, commit: Option<&str>| {
            author.is_some_and(|author| own.contains(author))
                && (!signed || signer(commit).is_some_and(|signer| own.contains(signer)))
        };
        let why = |author: Option<&str>, commit: Option<&str>| match (self.limits.pulled, author) {
            (Pulled::All, _) => None,
            (Pulled::Reviewed, _) => Some(Why::Review),
            (Pulled::Authors, None) => Some(Why::Author),
            (Pulled::Authors, Some(author)) if !trusted.contains(author) => Some(Why::Author),
            (Pulled::Authors, Some(_)) if signed && !is_checked(commit) => Some(Why::Unjudged),
            (Pulled::Authors, Some(_)) => {
                let has_signature = signer(commit).is_some_and(|signer| trusted.contains(signer));
                (signed && !has_signature).then_some(Why::Signature)
            }
        };
        // Those who are not the user. A text is taken when all that it rests on is.
        let strangers = |other: &Other| {
            let mut by = other.by();
            by.retain(|(author, commit)| !is_own(*author, *commit));
            by.into_iter()
                .map(|(author, commit)| (author.map(str::to_owned), why(author, commit)))
                .collect::<Vec<_>>()
        };
        let judged_others = others.into_iter().map(|other| (strangers(&other), other));
        let (others, users): (Vec<_>, Vec<_>) =
            judged_others.partition(|(strangers, _)| !strangers.is_empty());
        // What the user changed and did not commit yet is known by the time somebody else commits it.
        let changed = users.into_iter().filter(|(_, other)| !other.head.is_empty());
        self.committers.own.extend(changed.map(|(_, other)| other.file.hash));
        let mut withheld: Withholding = others
            .iter()
            .filter_map(|(strangers, other)| {
                let (author, why) =
                    strangers.iter().find_map(|(author, why)| Some((author, (*why)?)))?;
                let withheld = Withheld::new(&other.file.hash, author.as_deref(), why);
                Some((other.file.key.clone(), withheld))
            })
            .collect();
        if let Some(judged) = judged {
            withheld = withheld.of_judged(judged);
        }
        let withheld = Arc::new(withheld);
        let quarantine = Quarantine::releases(&self.home)?.withholding(withheld.clone());
        let mut told = Vec::new();
        for (strangers, other) in others {
            // Of several the one it is held for.
            let blamed = strangers.iter().find(|(_, why)| why.is_some());
            let author = blamed.or(strangers.first()).and_then(|(author, _)| author.clone());
            let is_held = quarantine.held(&other.file.stored, &redactor).is_some();
            // Of one that is changed here, what HEAD says is what came.
            let came = other.head.last().unwrap_or(&other.file.hash).clone();
            // What is stored there stays the same whatever attributes say.
            if let Some(stored) = other.head.into_iter().next().filter(|_| !other.is_seen) {
                self.committers.others.push((other.file.hash.clone(), author.clone()));
                self.committers.edits.push((other.file.hash, stored));
            }
            told.push((came, author, is_held));
        }
        let is_settled = !seal.marks.have_moved() && !seal.marks.is_unfinished();
        let seal = is_settled.then_some(seal);
        Ok(Look { seal, withheld, others: told, waiting, late, ..Look::default() })
    }

    /// The memory files of a working tree, and those that wait aside. Each is judged, those too that repeat
    /// another's id: which of them counts depends on it.
    fn files(&mut self, store: &Store, root: &Path, redactor: &Redactor) -> Vec<File> {
        let holds = self.limits.hold();
        let drafts = self.home.drafts();
        let file = |stored: Stored| {
            let is_aside = stored.path.starts_with(&drafts);
            let below = if is_aside { drafts.as_path() } else { root };
            let name = stored.path.strip_prefix(below).ok()?.to_owned();
            let (bytes, _) = read_below(below, &stored.path, FILE_BYTES_MAX).ok()?;
            let hash = text_hash(str::from_utf8(&bytes).ok()?);
            let mut key = String::new();
            if holds {
                // By the path, and not the name: it is the same file in this working tree alone.
                let entry = self.keys.entry((stored.path.clone(), hash.clone()));
                key.clone_from(entry.or_insert_with(|| Quarantine::key(&stored, redactor)));
            }
            Some(File { name, hash, key, stored, is_aside })
        };
        store.files().into_iter().filter_map(file).collect()
    }

    /// What judging a working tree rested on, by its root, where it was looked at.
    pub fn grounds(&self, root: &Path) -> Option<&Grounds> {
        self.looks.get(root).map(|look| &look.grounds)
    }

    /// How many signatures were not checked.
    pub fn unchecked(&self) -> Unchecked {
        let all = |of: fn(&Look) -> &BTreeSet<String>| {
            self.looks.values().flat_map(of).collect::<BTreeSet<_>>().len()
        };
        Unchecked { waiting: all(|look| &look.waiting), late: all(|look| &look.late) }
    }

    /// What keeps git from telling who committed what is held.
    pub fn trouble(&self) -> Option<String> {
        let holds = self.limits.hold() && self.looks.values().any(|look| !look.others.is_empty());
        holds.then(|| git::version::check().err()).flatten()
    }

    /// Writes what is known by now, and counts what was not seen here before. Whoever looks again afterwards calls
    /// this again.
    pub fn finish(&mut self, now: Timestamp) -> Result<()> {
        self.committers.signers.retain(|grounds, _| self.grounds.contains(grounds));
        self.committers.late.retain(|grounds, _| self.grounds.contains(grounds));
        let folders = self.looks.iter().map(|(root, look)| (root.clone(), look.folder.clone()));
        self.committers.looked_at = folders.collect();
        self.note_arrivals(now)?;
        if let Some(used) = &self.used {
            self.committers.shorten(used, REMEMBERED_MAX);
        }
        let mut withheld = Withholding::new();
        self.looks.values().for_each(|look| withheld.add(&look.withheld));
        Quarantine::withhold(&self.home, self.limits.hold().then_some(&withheld))?;
        write_json(&self.home.committers(), &self.committers)?;
        self.is_first = false;
        Ok(())
    }

    /// Leaves those that others committed, as far as addresses alone do not tell.
    fn others(&mut self, root: &Path, marks: &Marks, files: Vec<File>) -> Result<Vec<Other>> {
        let folder = format!("{STORE_DIR}/memories");
        let head = committers::tree(root, &folder);
        // Without marks nobody knows what git does, unless there is none.
        let is_blind = matches!(head, committers::Tree::Head(_)) && *marks == Marks::default();
        let is_moving = is_blind || marks.have_moved() || marks.is_unfinished();
        if let Some(used) = &mut self.used {
            used.texts.extend(files.iter().map(|file| file.hash.clone()));
        }
        let ledger = Ledger::open(&self.home)?;
        let written = ledger.written();
        let own: BTreeSet<String> = self.committers.own.iter().cloned().collect();
        let known: BTreeMap<String, Option<String>> =
            self.committers.others.iter().cloned().collect();
        let origins = ledger.origins();
        let author = |hash: &str| author_of(hash, &known, &origins);
        let edits: BTreeSet<(String, String)> = self.committers.edits.iter().cloned().collect();
        let is_edit = |hash: &str, says: &[String]| {
            says.iter().any(|head| edits.contains(&(hash.to_owned(), head.clone())))
        };
        let mut differing = CHANGED_MAX;
        let (mut others, mut wanted) = (Vec::new(), BTreeMap::new());
        for file in files.into_iter().filter(|file| !own.contains(&file.hash)) {
            let place = match &head {
                _ if file.is_aside => Place::Aside,
                committers::Tree::Bare => Place::Uncommitted,
                committers::Tree::Silent => Place::Unknown,
                committers::Tree::Head(head) => place(head, root, &file, &mut differing),
            };
            let author = author(&file.hash);
            let place = match place {
                Place::Uncommitted | Place::Changed { .. } if is_moving => Place::Unknown,
                // What others committed before stays theirs, whoever brought what HEAD says. What was made of
                // what HEAD says rests on that.
                Place::Changed { says, .. } if author.is_some() && !is_edit(&file.hash, &says) => {
                    Place::Uncommitted
                }
                // The user's own text, whoever committed it, which the user goes on with.
                Place::Changed { says, .. } if says.iter().any(|text| own.contains(text)) => {
                    Place::Uncommitted
                }
                place => place,
            };
            if let Some(author) = author.clone().filter(|_| !known.contains_key(&file.hash)) {
                // It is new here as a text, and nothing that came.
                self.committers.others.push((file.hash.clone(), author));
            }
            match place {
                Place::Head(id) => {
                    wanted.insert(file.name.clone(), id);
                    others.push(Other { known: author.flatten(), ..Other::of(file) });
                }
                Place::Changed { id, says } => {
                    wanted.insert(file.name.clone(), id);
                    let is_seen = author.is_some();
                    let known = author.flatten();
                    others.push(Other { known, is_seen, head: says, ..Other::of(file) });
                }
                // What others committed is theirs wherever it is put, and whoever writes it again.
                Place::Uncommitted | Place::Unknown | Place::Aside if author.is_some() => {
                    others.push(Other { known: author.flatten(), ..Other::of(file) });
                }
                Place::Aside => {}
                Place::Uncommitted => self.committers.own.push(file.hash),
                Place::Unknown if written.contains(file.hash.as_str()) => {
                    self.committers.own.push(file.hash);
                }
                Place::Unknown => others.push(Other::of(file)),
            }
        }
        // What we wrote and nobody was seen to commit before is ours, whoever commits it then.
        let is_ours = |other: &Other| {
            other.known.is_none()
                && written.contains(other.file.hash.as_str())
                && author(&other.file.hash).is_none()
        };
        let (ours, mut others): (Vec<Other>, Vec<Other>) = others.into_iter().partition(is_ours);
        self.committers.own.extend(ours.into_iter().map(|other| other.file.hash));
        self.bring(root, &folder, &wanted, &mut others);
        Ok(others)
    }

    /// Adds to each the commit that brought it; git is asked of those that are not known yet.
    fn bring(
        &mut self,
        root: &Path,
        folder: &str,
        wanted: &BTreeMap<PathBuf, String>,
        others: &mut [Other],
    ) {
        let key = |name: &Path, id: &str| format!("{id} {}", name.display());
        let bringers = &mut self.committers.brought;
        let missing: BTreeMap<PathBuf, String> = others
            .iter()
            .filter_map(|other| {
                Some((other.file.name.clone(), wanted.get(&other.file.name)?.clone()))
            })
            .filter(|(name, id)| !bringers.contains_key(&key(name, id)))
            .collect();
        if !missing.is_empty() {
            for (name, by) in committers::brought(root, folder, &missing) {
                bringers.insert(key(&name, &missing[&name]), by);
            }
        }
        for other in others {
            let Some(id) = wanted.get(&other.file.name) else { continue };
            let key = key(&other.file.name, id);
            other.brought = bringers.get(&key).cloned().unwrap_or_default();
            if let Some(used) = &mut self.used {
                used.bringers.insert(key);
            }
        }
    }

    /// Asks who signed the commits of those who are trusted, each once as long as what the answer rests on stays:
    /// whatever stands below a commit of somebody else, it is not taken.
    fn signers(
        &mut self,
        root: &Path,
        others: &[Other],
        trusted: &BTreeSet<String>,
        facts: &str,
    ) -> Checked {
        if !self.limits.authors.signed {
            return Checked::default();
        }
        let brought = others.iter().flat_map(|other| &other.brought);
        let brought = brought.filter(|brought| trusted.contains(&brought.author));
        let commits: BTreeSet<&String> = brought.map(|brought| &brought.commit).collect();
        let grounds = blake3::hash(facts.as_bytes()).to_hex().to_string();
        self.grounds.insert(grounds.clone());
        let known = self.committers.signers.entry(grounds.clone()).or_default();
        let late = self.committers.late.entry(grounds).or_default();
        let is_new = |commit: &&&String| !known.contains_key(**commit) && !late.contains(**commit);
        let new: Vec<&String> =
            commits.iter().filter(is_new).take(self.checks_left).copied().collect();
        self.checks_left -= new.len();
        let start = Instant::now();
        let found = signatures::signers(root, &new, self.time_left);
        self.time_left = self.time_left.saturating_sub(start.elapsed());
        known.extend(found.signers);
        late.extend(found.late);
        // Another commit has brought it since, which the next judging finds.
        let is_there = |brought: &Brought| !found.gone.contains(&brought.commit);
        self.committers.brought.retain(|_, brought| brought.iter().all(is_there));
        let unchecked = commits.into_iter().filter(|commit| !known.contains_key(*commit)).cloned();
        let (late, waiting) = unchecked.partition(|commit| late.contains(commit));
        Checked { signers: known.clone(), waiting, late }
    }

    /// Counts what others committed and was not seen here before.
    fn note_arrivals(&mut self, now: Timestamp) -> Result<()> {
        let mut known: BTreeSet<String> =
            self.committers.others.iter().map(|(hash, _)| hash.clone()).collect();
        for (root, look) in &self.looks {
            let (mut new, mut held) = (0, 0);
            for (hash, author, is_held) in &look.others {
                if !known.contains(hash) {
                    self.committers.others.push((hash.clone(), author.clone()));
                    new += 1;
                    held += usize::from(*is_held);
                }
            }
            known.extend(look.others.iter().map(|(hash, ..)| hash.clone()));
            if self.is_first || new == 0 {
                continue;
            }
            let state = self.dirs.tree(root);
            let before = Arrived::untold(&state).unwrap_or_default();
            let arrived = Arrived {
                at: now,
                new: before.new.saturating_add(new),
                held: before.held.saturating_add(held),
            };
            write_json(&state.arrived(), &arrived)?;
        }
        Ok(())
    }
}

/// What was found of signatures, and the commits that were not checked.
#[derive(Default)]
struct Checked {
    signers: Signers,
    waiting: BTreeSet<String>,
    late: BTreeSet<String>,
}

/// Says what a command may not give in a working tree now, whenever it was synced last. Nothing is written.
pub fn withheld(
    dirs: &UserDirs,
    tree: &Tree,
    settings: &Settings,
    now: Timestamp,
) -> Result<Arc<Withholding>> {
    // Most projects have none, and what is remembered of all committers need not be read for that.
    if !Limits::read(&dirs.project(tree.project), settings)?.hold() {
        return Ok(Arc::default());
    }
    let mut judge = Judge::open(dirs, tree, settings)?;
    judge.time_left = COMMAND_CHECKING_MAX;
    judge.tree(tree, now).context("cannot tell who committed memories")
}

#[cfg(test)]
mod tests {

    use memory_store::identity::{self, Mode};

    use super::*;
    use crate::testing::{NOW, Project, git, write_memory};

    const BOB: &str = "bob@example.com";

    /// A repository of somebody who takes only what Bob signed.
    struct Team {
        project: Project,
    }

    impl Team {
        fn new() -> Self {
            let project = Project::new(Mode::Committed);
            let team = Self { project };
            let trusted = Authors { trusted: vec![BOB.to_owned()], signed: true };
            team.limit(Some(trusted));
            team.git(&["init", "-q"]);
            team
        }

        fn limit(&self, authors: Option<Authors>) {
            let Project { dirs, tree, .. } = &self.project;
            identity::limit(dirs, tree.project, |_| Ok::<_, memory_store::Error>(authors)).unwrap();
        }

        fn git(&self, arguments: &[&str]) {
            git(self.project.root(), arguments);
        }

        fn commit(&self, number: u8, author: &str) {
            let name = format!("{number}.md");
            write_memory(self.project.root(), &name, number, &format!("Convention {number}"));
            self.git(&["add", "."]);
            self.git(&["commit", "-q", "-m", "x", &format!("--author=Somebody <{author}>")]);
        }

        fn judge(&self, checks: usize) -> Judge<'_> {
            let judge =
                Judge::open(&self.project.dirs, &self.project.tree, &Settings::default()).unwrap();
            Judge { checks_left: checks, ..judge }
        }

        /// Why each memory is withheld.
        fn why(&self, judged: Arc<Withholding>) -> Vec<Why> {
            let store = Store::open(&self.project.dirs, &self.project.tree).unwrap();
            let redactor = store.redactor(&Settings::default());
            let quarantine = Quarantine::default().withholding(judged);
            let why = |stored: &Stored| {
                quarantine.held(stored, &redactor).and_then(|held| held.withheld).unwrap().why
            };
            let mut why: Vec<Why> = store.files().iter().map(why).collect();
            why.sort_by_key(|why| format!("{why:?}"));
            why
        }
    }

    #[test]
    fn signatures_are_checked_once_and_so_many_at_a_time() {
        let team = Team::new();
        team.commit(1, BOB);
        team.commit(2, BOB);
        team.commit(3, "mallory@example.com");
        // How many wait, and why each is withheld.
        let judge = |checks: usize, now: Timestamp| {
            let mut judge = team.judge(checks);
            let judged = judge.tree(&team.project.tree, now).unwrap();
            judge.finish(now).unwrap();
            (judge.unchecked().waiting, team.why(judged))
        };
        let all = || vec![Why::Author, Why::Signature, Why::Signature];
        assert_eq!(judge(0, NOW), (2, vec![Why::Author, Why::Unjudged, Why::Unjudged]));
        assert_eq!(judge(1, NOW), (1, vec![Why::Author, Why::Signature, Why::Unjudged]));
        assert_eq!(judge(1, NOW), (0, all()));
        // What was found is not asked again, until a key may have ended.
        assert_eq!(judge(0, NOW), (0, all()));
        let tomorrow = Timestamp(NOW.0 + 86_400_000);
        assert_eq!(judge(0, tomorrow).0, 2);
        assert_eq!(judge(9, tomorrow), (0, all()));
        // Nor is one that took too long, which waits for that.
        let mut judge = team.judge(0);
        let late = judge.committers.signers.values_mut().next().unwrap().pop_first().unwrap().0;
        let rests_on = judge.committers.signers.keys().next().unwrap().clone();
        judge.committers.late.insert(rests_on, BTreeSet::from([late]));
        judge.checks_left = 9;
        let judged = judge.tree(&team.project.tree, tomorrow).unwrap();
        assert_eq!(judge.unchecked(), Unchecked { waiting: 0, late: 1 });
        assert_eq!(team.why(judged), [Why::Author, Why::Signature, Why::Unjudged]);
        assert_eq!(judge.checks_left, 9);
    }

    #[test]
    fn a_judge_that_is_asked_again_looks_only_at_what_changed() {
        let team = Team::new();
        team.commit(1, BOB);
        team.judge(9).finish(NOW).unwrap();
        let mut judge = team.judge(2);
        let first = judge.tree(&team.project.tree, NOW).unwrap();
        assert_eq!((team.why(first.clone()), judge.checks_left), (vec![Why::Signature], 1));
        assert!(Arc::ptr_eq(&judge.tree(&team.project.tree, NOW).unwrap(), &first));
        // Whatever comes in between is judged, within what is left of the one budget.
        team.commit(2, BOB);
        team.commit(3, BOB);
        let second = judge.tree(&team.project.tree, NOW).unwrap();
        assert_eq!(team.why(second), [Why::Signature, Why::Signature, Why::Unjudged]);
        assert_eq!((judge.checks_left, judge.unchecked().waiting), (0, 1));
        // A user may say something else in between.
        team.limit(None);
        assert!(judge.tree(&team.project.tree, NOW).unwrap().is_empty());
        // What came is counted once, when all was judged.
        let arrived = || {
            Arrived::last(&team.project.dirs.tree(team.project.root())).map(|arrived| arrived.new)
        };
        assert_eq!(arrived(), None);
        judge.finish(NOW).unwrap();
        assert_eq!(arrived(), Some(3));
        judge.tree(&team.project.tree, NOW).unwrap();
        judge.finish(NOW).unwrap();
        assert_eq!(arrived(), Some(3));
    }

    #[test]
    fn an_unchanged_tree_does_not_keep_what_others_have_no_more() {
        let project = Project::new(Mode::Committed);
        let (dirs, one) = (&project.dirs, &project.tree);
        let two = &Tree { root: project.root().with_file_name("two"), ..one.clone() };
        let write = |tree: &Tree, number: u8| {
            let title = format!("Number {number}");
            write_memory(&tree.root, &format!("{number}.md"), number, &title);
        };
        let path = dirs.project(one.project).committers();
        let settings = Settings { pulled: Pulled::All, ..Settings::default() };
        let sync = |trees: &[&Tree]| {
            let mut judge = Judge::open(dirs, one, &settings).unwrap();
            for tree in trees {
                judge.tree(tree, NOW).unwrap();
            }
            judge.finish(NOW).unwrap();
            read_json::<Committers>(&path).unwrap()
        };
        write(one, 1);
        write(two, 2);
        let seen = sync(&[one, two]);
        assert_eq!((seen.own.len(), seen.looked_at.len(), seen.settled), (2, 2, 2));

        // Some that were there once: they are remembered as long as they are not too many.
        let with_idle = |count: usize| {
            let idle = (0..count).map(|n| n.to_string());
            let own = seen.own.iter().cloned().chain(idle).collect();
            write_json(&path, &Committers { own, ..seen.clone() }).unwrap();
        };
        with_idle(10);
        write(two, 3);
        assert_eq!(sync(&[one, two]).own.len(), 2 + 10 + 1);
        with_idle(3 * REMEMBERED_MAX);
        let kept = sync(&[one, two]);
        assert_eq!(kept.own.len(), REMEMBERED_MAX + 3);
        assert!(seen.own.iter().all(|own| kept.own.contains(own)));
        assert_eq!(kept.settled, kept.own.len());
        // A tree that is gone is forgotten, though another is unchanged.
        assert_eq!(sync(&[one]).looked_at.len(), 1);
    }
}
