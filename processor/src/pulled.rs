//! Memories that others committed: which they are, whether the user takes them unseen, and which of them
//! are new here.
//!
//! A memory file is the user's own when a program of ours wrote its text on this machine, when it was seen
//! here uncommitted, or when a commit of the user brought it. Every other is of whoever's commit brought
//! what it says. A file that HEAD has is only taken for the user's when it says something else than HEAD:
//! attributes that a commit brings along can make git call a file changed which nobody touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memory_store::arrived::Arrived;
use memory_store::file::{FILE_BYTES_MAX, parse_bytes};
use memory_store::identity::{Authors, Identity};
use memory_store::layout::{ProjectDir, STORE_DIR, Tree, UserDirs};
use memory_store::ledger::{Ledger, Marks, text_hash};
use memory_store::redact::Redactor;
use memory_store::settings::{Pulled, Settings};
use memory_store::store::{Store, Stored, read_below};
use memory_store::suspicion::{Quarantine, Why, Withheld, Withholding};
use memory_store::{Memory, Timestamp};
use serde::{Deserialize, Serialize};

use crate::git;
use crate::git::committers::{self, Brought, Head};
use crate::git::signatures;
use crate::stamp;
use crate::state::{read_json, write_json};

/// Texts that are remembered as the user's own, and as those of others, beside those that are there now.
const REMEMBERED_MAX: usize = 20_000;
/// Files changed since HEAD whose former text is looked at; more count as unchanged.
const CHANGED_MAX: usize = 200;
/// Commits whose signatures are checked by one judging, a program for each; what the others brought waits.
const CHECKED_MAX: usize = 200;
/// How long one judging may check signatures, and that of a command, which somebody waits for.
const CHECKING_MAX: Duration = Duration::from_secs(60);
const COMMAND_CHECKING_MAX: Duration = Duration::from_secs(5);

/// Whose good signature stands below a commit, by its id; `None` where there is none.
type Signers = BTreeMap<String, Option<String>>;

/// What others commit is taken as far as this.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The limits of a tree's project.
    fn read(dirs: &UserDirs, tree: &Tree, settings: &Settings) -> Result<Self> {
        Ok(Self::of(settings, Identity::read(&dirs.project(tree.project))?.as_ref()))
    }

    /// Whether anything may be withheld.
    pub fn hold(&self) -> bool {
        self.pulled != Pulled::All
    }
}

/// What is remembered of who committed memories. Losing it costs an announcement and the knowledge of what
/// was the user's own before it was committed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Committers {
    /// The hashes of texts that were the user's own before any commit, the oldest first.
    own: Vec<String>,
    /// Those of texts that others committed, with their address as far as git told it.
    others: Vec<(String, Option<String>)>,
    /// The commits that brought the files of the working trees, by id and path.
    brought: BTreeMap<String, Brought>,
    /// What the folder of memory files of each working tree was like when it was last looked at.
    looked_at: BTreeMap<PathBuf, String>,
    /// What was found of signatures, by the hash of what that rests on: keys, settings and the day.
    signers: BTreeMap<String, Signers>,
    /// The commits whose signatures take longer to check than git may, by the same hash.
    late: BTreeMap<String, BTreeSet<String>>,
    /// How much was remembered when all working trees were last looked at.
    settled: usize,
}

impl Committers {
    fn remembered(&self) -> usize {
        self.own.len() + self.others.len() + self.brought.len()
    }

    /// Whether so much came that all working trees are to be looked at, unchanged ones too: only then it is
    /// known what is not in use.
    fn is_to_settle(&self, texts_max: usize) -> bool {
        self.remembered() > self.settled.saturating_add(texts_max)
    }

    /// Forgets the oldest of what is not in use, as far as there is too much of it. What is there now is never
    /// forgotten, however much it is (the store has bounds of its own): it would be new at each sync.
    fn shorten(&mut self, used: &Used, texts_max: usize) {
        fn keep<T>(list: &mut Vec<T>, texts_max: usize, is_used: impl Fn(&T) -> bool) {
            let idle = list.iter().filter(|item| !is_used(item)).count();
            let mut surplus = idle.saturating_sub(texts_max);
            list.retain(|item| {
                let stays = is_used(item) || surplus == 0;
                surplus -= usize::from(!stays);
                stays
            });
        }
        keep(&mut self.own, texts_max, |hash| used.texts.contains(hash));
        keep(&mut self.others, texts_max, |(hash, _)| used.texts.contains(hash));
        self.brought.retain(|key, _| used.brought.contains(key));
        self.settled = self.remembered();
    }
}

/// What of [`Committers`] is about files that are there.
#[derive(Debug, Default)]
struct Used {
    texts: BTreeSet<String>,
    brought: BTreeSet<String>,
}

/// Judges the memory files of a project's working trees.
pub struct Judge<'a> {
    dirs: &'a UserDirs,
    home: ProjectDir,
    settings: &'a Settings,
    limits: Limits,
    committers: Committers,
    /// Whether nothing was remembered: then nothing is new.
    is_first: bool,
    /// What is still in use; `None` when not all working trees were looked at.
    used: Option<Used>,
    /// Whether all working trees are looked at, unchanged ones too.
    settles: bool,
    /// The working trees that there are.
    roots: BTreeSet<PathBuf>,
    withheld: Withholding,
    /// What signatures rest on now, by hash.
    grounds: BTreeSet<String>,
    /// Commits whose signatures may still be checked.
    checks_left: usize,
    /// How long signatures may still be checked.
    time_left: Duration,
    /// Those whose signatures would have to be checked, too.
    unchecked: Unchecked,
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
    pub fn open(dirs: &'a UserDirs, tree: &Tree, settings: &'a Settings) -> Result<Self> {
        let home = dirs.project(tree.project);
        let known = read_json::<Committers>(&home.committers());
        let is_first = known.is_none();
        let committers = known.unwrap_or_default();
        Ok(Self {
            limits: Limits::read(dirs, tree, settings)?,
            dirs,
            home,
            settings,
            is_first,
            settles: committers.is_to_settle(REMEMBERED_MAX),
            committers,
            used: Some(Used::default()),
            roots: BTreeSet::new(),
            withheld: Withholding::new(),
            grounds: BTreeSet::new(),
            checks_left: CHECKED_MAX,
            time_left: CHECKING_MAX,
            unchecked: Unchecked::default(),
        })
    }

    /// Says what is withheld in one working tree. Nothing is where memories are kept privately.
    pub fn tree(&mut self, tree: &Tree, now: Timestamp) -> Result<Withholding> {
        let store = Store::open(self.dirs, tree)?;
        let Some(root) = store.root() else { return Ok(Withholding::new()) };
        self.roots.insert(root.to_owned());
        // Before the files are read: what changes meanwhile is looked at again.
        let look = blake3::hash(stamp::of_folder(store.folder()).as_bytes()).to_hex().to_string();
        let is_unchanged = self.committers.looked_at.get(root) == Some(&look);
        if is_unchanged && !self.limits.hold() && !self.settles {
            // Nothing is withheld, and nothing came.
            self.used = None;
            return Ok(Withholding::new());
        }
        let redactor = store.redactor(self.settings);
        // Before the files are read and git is asked: what git does in between belongs to nobody yet.
        let marks = git::marks(root);
        let files = files(&store, root);
        let key = |stored: &Stored| Quarantine::key(stored, &redactor);
        let judged: Option<BTreeSet<String>> =
            self.limits.hold().then(|| files.iter().map(|file| key(&file.stored)).collect());
        let others = self.others(root, &marks, files, &redactor)?;
        let own = committers::own_addresses(root);
        let trusted: BTreeSet<String> =
            self.limits.authors.trusted.iter().chain(&own).cloned().collect();
        let signers = self.signers(root, &others, &trusted, now);
        let signed = self.limits.authors.signed;
        let signer = |other: &Other| signers.get(&other.brought.as_ref()?.commit)?.as_ref();
        let is_checked = |other: &Other| {
            other.brought.as_ref().is_none_or(|brought| signers.contains_key(&brought.commit))
        };
        let is_users = |other: &Other| {
            let author = other.author();
            author.is_some_and(|author| own.contains(author))
                && (!signed || signer(other).is_some_and(|signer| own.contains(signer)))
        };
        let why = |other: &Other| match (self.limits.pulled, other.author()) {
            (Pulled::All, _) => None,
            (Pulled::Reviewed, _) => Some(Why::Review),
            (Pulled::Authors, None) => Some(Why::Author),
            (Pulled::Authors, Some(author)) if !trusted.contains(author) => Some(Why::Author),
            (Pulled::Authors, Some(_)) if signed && !is_checked(other) => Some(Why::Unjudged),
            (Pulled::Authors, Some(_)) => {
                let has_signature = signer(other).is_some_and(|signer| trusted.contains(signer));
                (signed && !has_signature).then_some(Why::Signature)
            }
        };
        let others: Vec<Other> = others.into_iter().filter(|other| !is_users(other)).collect();
        let mut withheld: Withholding = others
            .iter()
            .filter_map(|other| {
                let withheld = Withheld::new(
                    &other.file.hash,
                    other.author().map(|author| &**author),
                    why(other)?,
                );
                Some((key(&other.file.stored), withheld))
            })
            .collect();
        if let Some(judged) = judged {
            withheld = withheld.of_judged(judged);
        }
        let quarantine = Quarantine::releases(&self.home)?.withholding(withheld.clone().into());
        let is_held = |stored: &Stored| quarantine.held(stored, &redactor).is_some();
        self.note_arrivals(tree, &others, is_held, now)?;
        self.committers.looked_at.insert(root.to_owned(), look);
        self.withheld.add(&withheld);
        Ok(withheld)
    }

    /// How many signatures were not checked.
    pub fn unchecked(&self) -> Unchecked {
        self.unchecked
    }

    /// Writes what is known by now.
    pub fn finish(mut self) -> Result<()> {
        self.committers.signers.retain(|grounds, _| self.grounds.contains(grounds));
        self.committers.late.retain(|grounds, _| self.grounds.contains(grounds));
        self.committers.looked_at.retain(|root, _| self.roots.contains(root));
        if let Some(used) = &self.used {
            self.committers.shorten(used, REMEMBERED_MAX);
        }
        Quarantine::withhold(&self.home, self.limits.hold().then_some(&self.withheld))?;
        write_json(&self.home.committers(), &self.committers)
    }

    /// Leaves those that others committed, as far as addresses alone do not tell.
    fn others(
        &mut self,
        root: &Path,
        marks: &Marks,
        files: Vec<File>,
        redactor: &Redactor,
    ) -> Result<Vec<Other>> {
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
        let mut differing = CHANGED_MAX;
        let (mut others, mut wanted) = (Vec::new(), BTreeMap::new());
        for file in files.into_iter().filter(|file| !own.contains(&file.hash)) {
            let place = match &head {
                committers::Tree::Bare => Place::Uncommitted,
                committers::Tree::Silent => Place::Unknown,
                committers::Tree::Head(head) => place(head, root, &file, redactor, &mut differing),
            };
            let place = match place {
                Place::Uncommitted if is_moving => Place::Unknown,
                place => place,
            };
            let author = known.get(&file.hash);
            match place {
                Place::Head(id) => {
                    wanted.insert(file.name.clone(), id);
                    others.push(Other { known: author.cloned().flatten(), ..Other::of(file) });
                }
                // What others committed is theirs wherever it is put, and whoever writes it again.
                Place::Uncommitted | Place::Unknown if author.is_some() => {
                    others.push(Other { known: author.cloned().flatten(), ..Other::of(file) });
                }
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
                && !known.contains_key(&other.file.hash)
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
        let brought = &mut self.committers.brought;
        let missing: BTreeMap<PathBuf, String> = others
            .iter()
            .filter_map(|other| {
                Some((other.file.name.clone(), wanted.get(&other.file.name)?.clone()))
            })
            .filter(|(name, id)| !brought.contains_key(&key(name, id)))
            .collect();
        if !missing.is_empty() {
            for (name, by) in committers::brought(root, folder, &missing) {
                brought.insert(key(&name, &missing[&name]), by);
            }
        }
        for other in others {
            let Some(id) = wanted.get(&other.file.name) else { continue };
            let key = key(&other.file.name, id);
            other.brought = brought.get(&key).cloned();
            if let Some(used) = &mut self.used {
                used.brought.insert(key);
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
        now: Timestamp,
    ) -> Signers {
        if !self.limits.authors.signed {
            return Signers::new();
        }
        let brought = others.iter().filter_map(|other| other.brought.as_ref());
        let brought = brought.filter(|brought| trusted.contains(&brought.author));
        let commits: BTreeSet<&String> = brought.map(|brought| &brought.commit).collect();
        // Keys end with time, and no file tells.
        let grounds = format!("{}\n{}", committers::grounds(root, true), now.date());
        let grounds = blake3::hash(grounds.as_bytes()).to_hex().to_string();
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
        for commit in commits {
            if late.contains(commit) {
                self.unchecked.late += 1;
            } else if !known.contains_key(commit) {
                self.unchecked.waiting += 1;
            }
        }
        // Another commit has brought it since, which the next judging finds.
        self.committers.brought.retain(|_, brought| !found.gone.contains(&brought.commit));
        known.clone()
    }

    /// Counts what was not seen here before.
    fn note_arrivals(
        &mut self,
        tree: &Tree,
        others: &[Other],
        is_held: impl Fn(&Stored) -> bool,
        now: Timestamp,
    ) -> Result<()> {
        let known: BTreeSet<String> =
            self.committers.others.iter().map(|(hash, _)| hash.clone()).collect();
        let new: Vec<&Other> =
            others.iter().filter(|other| !known.contains(&other.file.hash)).collect();
        let author = |other: &Other| other.author().cloned();
        self.committers
            .others
            .extend(new.iter().map(|other| (other.file.hash.clone(), author(other))));
        if self.is_first || new.is_empty() {
            return Ok(());
        }
        let state = self.dirs.tree(&tree.root);
        let before = Arrived::untold(&state).unwrap_or_default();
        let held = new.iter().filter(|other| is_held(&other.file.stored)).count();
        let arrived = Arrived {
            at: now,
            new: before.new.saturating_add(new.len()),
            held: before.held.saturating_add(held),
        };
        write_json(&state.arrived(), &arrived)
    }
}

/// Says what a command may not give in a working tree now, whenever it was synced last. Nothing is written.
pub fn withheld(
    dirs: &UserDirs,
    tree: &Tree,
    settings: &Settings,
    now: Timestamp,
) -> Result<Withholding> {
    // Most projects have none, and what is remembered of all committers need not be read for that.
    if !Limits::read(dirs, tree, settings)?.hold() {
        return Ok(Withholding::new());
    }
    let mut judge = Judge::open(dirs, tree, settings)?;
    // As if for the first time: what is new is announced by the sync that publishes it.
    judge.is_first = true;
    judge.time_left = COMMAND_CHECKING_MAX;
    judge.tree(tree, now).context("cannot tell who committed memories")
}

/// A memory file.
#[derive(Clone, Debug)]
struct File {
    /// From the root on.
    name: PathBuf,
    hash: String,
    stored: Stored,
}

/// The memory files of a working tree, without those that lie elsewhere, as drafts do. Each is judged, those
/// too that repeat another's id: which of them counts depends on it.
fn files(store: &Store, root: &Path) -> Vec<File> {
    let file = |stored: Stored| {
        let name = stored.path.strip_prefix(root).ok()?.to_owned();
        let (bytes, _) = read_below(root, &stored.path, FILE_BYTES_MAX).ok()?;
        let hash = text_hash(str::from_utf8(&bytes).ok()?);
        Some(File { name, hash, stored })
    };
    store.files().into_iter().filter_map(file).collect()
}

/// One that others committed.
#[derive(Clone, Debug)]
struct Other {
    file: File,
    /// Whose it was when it was seen before.
    known: Option<String>,
    brought: Option<Brought>,
}

impl Other {
    fn of(file: File) -> Self {
        Self { file, known: None, brought: None }
    }

    fn author(&self) -> Option<&String> {
        self.brought.as_ref().map(|brought| &brought.author).or(self.known.as_ref())
    }
}

/// Where a file's text is.
enum Place {
    /// In HEAD, where it has this id.
    Head(String),
    /// In the working tree alone.
    Uncommitted,
    /// Git does not tell, or is amid something.
    Unknown,
}

fn place(
    head: &Head,
    root: &Path,
    file: &File,
    redactor: &Redactor,
    differing: &mut usize,
) -> Place {
    // A repository within this one has a HEAD of its own, which nobody asks.
    let is_nested = file.name.ancestors().skip(1).any(|folder| {
        !folder.as_os_str().is_empty()
            && (head.files.contains_key(folder) || root.join(folder).join(".git").exists())
    });
    let is_open = !head.is_squashed && !is_nested && !head.staged.contains(&file.name);
    let local = if is_open { Place::Uncommitted } else { Place::Unknown };
    let Some(id) = head.files.get(&file.name) else { return local };
    if *differing > 0 && head.changed.contains(&file.name) {
        *differing -= 1;
        let says = Quarantine::says(&file.stored.memory, redactor);
        let contents = committers::contents(root, &file.name);
        let said: Vec<Memory> =
            contents.iter().filter_map(|bytes| parse_bytes(bytes).ok()).collect();
        if said.is_empty() {
            return Place::Unknown;
        }
        if !said.iter().any(|memory| Quarantine::says(memory, redactor) == says) {
            return local;
        }
    }
    Place::Head(id.clone())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use memory_store::file::MemoryFile;
    use memory_store::identity::{self, Mode, Observed};
    use memory_store::{Kind, MemoryId};

    use super::*;

    const BOB: &str = "bob@example.com";

    #[test]
    fn signatures_are_checked_once_and_so_many_at_a_time() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().canonicalize().unwrap();
        let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| path.clone().into())).unwrap();
        let root = path.join("work");
        std::fs::create_dir_all(root.join(".throughline/memories")).unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(&root).args(["-c", "user.name=X", "-c", "user.email=x@example.com"]);
            git.args(["-c", "commit.gpgSign=false"]).args(arguments);
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        };
        let now = Timestamp(1_790_000_000_000);
        let commit = |number: u8, author: &str| {
            let id = MemoryId::new(now, [number; 10]);
            let title = format!("Convention number {number}");
            let memory = Memory::new(id, Kind::Convention, &title, "It is so.", now);
            let file = MemoryFile::new(memory).unwrap();
            let name = format!(".throughline/memories/{number}.md");
            std::fs::write(root.join(name), file.text()).unwrap();
            git(&["add", "."]);
            git(&["commit", "-q", "-m", "x", &format!("--author=Somebody <{author}>")]);
        };
        git(&["init", "-q"]);
        commit(1, BOB);
        commit(2, BOB);
        commit(3, "mallory@example.com");
        let observed = Observed { root: root.clone(), ..Observed::default() };
        let tree = identity::init(&dirs, &observed, Mode::Committed, [1; 16], now).unwrap();
        let settings = Settings::default();
        // How many wait, and why each is withheld.
        let judge = |checks: usize, now: Timestamp| {
            let mut judge = Judge::open(&dirs, &tree, &settings).unwrap();
            judge.checks_left = checks;
            judge.limits = Limits {
                pulled: Pulled::Authors,
                authors: Authors { trusted: [BOB.to_owned()].into(), signed: true },
            };
            let judged = judge.tree(&tree, now).unwrap();
            let unchecked = judge.unchecked().waiting;
            judge.finish().unwrap();
            let store = Store::open(&dirs, &tree).unwrap();
            let redactor = store.redactor(&settings);
            let quarantine = Quarantine::default().withholding(judged.into());
            let why = |stored: &Stored| {
                quarantine.held(stored, &redactor).and_then(|held| held.withheld).unwrap().why
            };
            let mut why: Vec<Why> = store.files().iter().map(why).collect();
            why.sort_by_key(|why| format!("{why:?}"));
            (unchecked, why)
        };
        let all = || vec![Why::Author, Why::Signature, Why::Signature];
        assert_eq!(judge(0, now), (2, vec![Why::Author, Why::Unjudged, Why::Unjudged]));
        assert_eq!(judge(1, now), (1, vec![Why::Author, Why::Signature, Why::Unjudged]));
        assert_eq!(judge(1, now), (0, all()));
        // What was found is not asked again, until a key may have ended.
        assert_eq!(judge(0, now), (0, all()));
        assert_eq!(judge(0, Timestamp(now.0 + 86_400_000)).0, 2);
    }

    #[test]
    fn what_is_there_is_never_forgotten_and_of_the_rest_the_oldest_goes() {
        let texts = |range: std::ops::Range<u8>| range.map(|n| n.to_string());
        let mut committers = Committers {
            own: texts(0..6).collect(),
            others: texts(0..6).map(|hash| (hash, None)).collect(),
            ..Committers::default()
        };
        let used = Used { texts: texts(0..3).collect(), ..Used::default() };
        committers.shorten(&used, 2);
        assert_eq!(committers.own, ["0", "1", "2", "4", "5"]);
        assert_eq!(committers.others.len(), 5);
        // More than there may be: they would be told again each time.
        committers.shorten(&used, 0);
        assert_eq!(committers.own, ["0", "1", "2"]);
        assert_eq!(committers.others.len(), 3);
    }

    #[test]
    fn an_unchanged_tree_does_not_keep_what_others_have_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let home = |name: &str| (name == "HOME").then(|| base.clone().into_os_string());
        let dirs = UserDirs::resolve(home).unwrap();
        let root = base.join("one");
        std::fs::create_dir(&root).unwrap();
        let observed = Observed { root, ..Observed::default() };
        let now = Timestamp(1_790_000_000_000);
        let one = identity::init(&dirs, &observed, Mode::Committed, [7; 16], now).unwrap();
        let two = Tree { root: base.join("two"), ..one.clone() };
        let write = |tree: &Tree, n: u8| {
            let memory = Memory::new(MemoryId([n; 16]), Kind::Fact, format!("Number {n}"), "", now);
            let folder = tree.root.join(".throughline/memories");
            std::fs::create_dir_all(&folder).unwrap();
            let text = MemoryFile::new(memory).unwrap().text().to_owned();
            std::fs::write(folder.join(format!("{n}.md")), text).unwrap();
        };
        let path = dirs.project(one.project).committers();
        let settings = Settings { pulled: Pulled::All, ..Settings::default() };
        let sync = |trees: &[&Tree]| {
            let mut judge = Judge::open(&dirs, &one, &settings).unwrap();
            for tree in trees {
                judge.tree(tree, now).unwrap();
            }
            judge.finish().unwrap();
            read_json::<Committers>(&path).unwrap()
        };
        write(&one, 1);
        write(&two, 2);
        let seen = sync(&[&one, &two]);
        assert_eq!((seen.own.len(), seen.looked_at.len(), seen.settled), (2, 2, 2));

        // Some that were there once: they are remembered as long as they are not too many.
        let with_idle = |count: usize| {
            let idle = (0..count).map(|n| n.to_string());
            let own = seen.own.iter().cloned().chain(idle).collect();
            write_json(&path, &Committers { own, ..seen.clone() }).unwrap();
        };
        with_idle(10);
        write(&two, 3);
        assert_eq!(sync(&[&one, &two]).own.len(), 2 + 10 + 1);
        with_idle(3 * REMEMBERED_MAX);
        let kept = sync(&[&one, &two]);
        assert_eq!(kept.own.len(), REMEMBERED_MAX + 3);
        assert!(seen.own.iter().all(|own| kept.own.contains(own)));
        assert_eq!(kept.settled, kept.own.len());
        // A tree that is gone is forgotten, though another is unchanged.
        assert_eq!(sync(&[&one]).looked_at.len(), 1);
    }
}
