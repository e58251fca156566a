use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::symlink;

use memory_store::file::MemoryFile;
use memory_store::handoff::LeftSession;
use memory_store::identity::Mode;
use memory_store::memory::{PathRef, SaidBy};
use memory_store::recall::start_rank::Age;
use memory_store::recall::{Recall, Search};
use memory_store::uses::Use;

use super::*;
use crate::for_tests::{NOW, Project, git, git_at};
use crate::publish::claude_md::GivenTexts;
use crate::publish::{self, Publication};
use crate::state::SessionState;

/// One year before now, for memories that are learned from a project's history.
const LONG_AGO: Timestamp = Timestamp(NOW.0 - 365 * DAY_MS);

/// A project with memories about files; a test calls `publish` when needed.
struct AnchoredProject {
    project: Project,
    settings: Settings,
    state: State,
    now: Timestamp,
}

impl AnchoredProject {
    fn new() -> Self {
        let project = Project::new(Mode::Committed);
        Self { project, settings: Settings::default(), state: State::default(), now: NOW }
    }

    fn with_git() -> Self {
        let bench = Self::new();
        git(bench.root(), &["init", "-q"]);
        bench
    }

    fn root(&self) -> &Path {
        self.project.root()
    }

    fn home(&self) -> ProjectDir {
        self.project.dirs.project(self.project.tree.project)
    }

    fn write(&self, path: &str, lines: std::ops::Range<u32>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = lines.map(|line| format!("line number {line}\n")).collect();
        fs::write(path, text).unwrap();
    }

    fn commit(&self, days_ago: i64) {
        git(self.root(), &["add", "-A"]);
        let date = Timestamp(NOW.0 - days_ago * DAY_MS).to_string();
        git_at(self.root(), &["commit", "-q", "--allow-empty", "-m", "x"], &date);
    }

    fn remember(&self, number: u8, kind: Kind, at: Timestamp, paths: &[&str]) -> MemoryId {
        let id = MemoryId::new(at, [number; 10]);
        let mut memory = Memory::new(id, kind, title(number), "It is so.", at);
        memory.paths =
            paths.iter().map(|path| PathRef { path: (*path).to_owned(), seen: None }).collect();
        memory.source.said_by = Some(SaidBy::Assistant);
        let folder = self.root().join(".throughline/memories");
        fs::create_dir_all(&folder).unwrap();
        let file = MemoryFile::new(memory).unwrap();
        fs::write(folder.join(format!("{number}.md")), file.text()).unwrap();
        id
    }

    /// Writes a memory whose text contains these names.
    fn remember_names(&self, number: u8, at: Timestamp, body: &str) -> MemoryId {
        self.remember_names_as(Kind::Fact, number, at, body)
    }

    fn remember_names_as(&self, kind: Kind, number: u8, at: Timestamp, body: &str) -> MemoryId {
        let id = MemoryId::new(at, [number; 10]);
        let mut memory = Memory::new(id, kind, title(number), body, at);
        memory.source.said_by = Some(SaidBy::Assistant);
        let folder = self.root().join(".throughline/memories");
        fs::create_dir_all(&folder).unwrap();
        let file = MemoryFile::new(memory).unwrap();
        fs::write(folder.join(format!("{number}.md")), file.text()).unwrap();
        id
    }

    fn write_text(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn publish(&self) {
        let Project { dirs, tree, .. } = &self.project;
        let anchors = Anchors::open(&self.home(), &self.settings, &self.state, self.now).unwrap();
        let anchors = RefCell::new(anchors);
        let publication = Publication {
            dirs,
            settings: &self.settings,
            vectors: None,
            anchors: Some(&anchors),
            distrusted: &Default::default(),
            names: &Default::default(),
            now: self.now,
        };
        publish::tree(&publication, tree, None, &GivenTexts::default()).unwrap();
        anchors.into_inner().finish().unwrap();
    }

    /// Publishes and returns the staleness that a search reports for a memory.
    fn published(&self, id: MemoryId) -> Option<String> {
        self.publish();
        self.staleness_text(id)
    }

    fn staleness_text(&self, id: MemoryId) -> Option<String> {
        let recall = Recall::open(&self.project.dirs, &self.project.tree, None);
        let search = Search { text: "copper basket".to_owned(), limit: 50, ..Search::default() };
        let hits = recall.search(&search, self.now).hits;
        let hit = hits.into_iter().find(|hit| hit.id == id).unwrap();
        assert_eq!(hit.staleness, recall.staleness(id));
        hit.staleness.map(|staleness| staleness.to_string())
    }
}

/// Returns a title that differs from all other titles in more than a value.
fn title(number: u8) -> &'static str {
    const TITLES: [&str; 9] = [
        "Copper basket weaving needs gloves",
        "Polish each copper basket weekly",
        "Rivets hold the copper basket together",
        "A copper basket conducts lightning",
        "Gulls nest in any copper basket",
        "Frost lets the paint of a copper basket peel",
        "Nobody lifts a full copper basket alone",
        "Green patina covers an old copper basket",
        "Store lamp oil beside the copper basket",
    ];
    TITLES[usize::from(number) % TITLES.len()]
}

#[test]
fn a_file_is_stale_when_most_of_it_is_new_or_it_is_gone() {
    let bench = AnchoredProject::new();
    for path in ["a.rs", "b.rs", "c.rs", "d.rs"] {
        bench.write(path, 0..40);
    }
    let [a, b, c, d] = [(1, "a.rs"), (2, "b.rs"), (3, "c.rs"), (4, "d.rs")]
        .map(|(number, path)| bench.remember(number, Kind::Fact, NOW, &[path]));
    let wish = bench.remember(5, Kind::Preference, NOW, &["b.rs"]);
    for id in [a, b, c, d, wish] {
        assert_eq!(bench.published(id), None);
    }
    bench.write("a.rs", 0..60);
    bench.write("b.rs", 30..70);
    fs::remove_file(bench.root().join("c.rs")).unwrap();
    bench.publish();
    assert_eq!(bench.staleness_text(a), None);
    assert_eq!(bench.staleness_text(b).as_deref(), Some("b.rs was rewritten since"));
    assert_eq!(bench.staleness_text(c).as_deref(), Some("c.rs is gone since"));
    assert_eq!(bench.staleness_text(d), None);
    assert_eq!(bench.staleness_text(wish), None, "a wish stays what was asked for");
    // A file that is restored unchanged is no longer stale.
    bench.write("b.rs", 0..40);
    bench.write("c.rs", 0..40);
    bench.publish();
    assert_eq!((bench.staleness_text(b), bench.staleness_text(c)), (None, None));
}

#[test]
fn half_of_the_files_decide_and_a_stale_memory_ranks_below_its_like() {
    let bench = AnchoredProject::new();
    for path in ["a.rs", "b.rs", "c.rs"] {
        bench.write(path, 0..40);
    }
    let three = bench.remember(1, Kind::Fact, NOW, &["a.rs", "b.rs", "c.rs"]);
    let two = bench.remember(2, Kind::Fact, NOW, &["a.rs", "b.rs"]);
    bench.publish();
    bench.write("a.rs", 50..90);
    bench.publish();
    assert_eq!(bench.staleness_text(three), None);
    assert_eq!(bench.staleness_text(two).as_deref(), Some("a.rs was rewritten since"));
    let recall = Recall::open(&bench.project.dirs, &bench.project.tree, None);
    let search = Search { text: "copper basket".to_owned(), limit: 50, ..Search::default() };
    let ids: Vec<MemoryId> = recall.search(&search, NOW).hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [three, two]);
    bench.write("a.rs", 0..40);
    bench.write("c.rs", 50..90);
    bench.remember(1, Kind::Fact, NOW, &["c.rs"]);
    bench.publish();
    let recall = Recall::open(&bench.project.dirs, &bench.project.tree, None);
    let ids: Vec<MemoryId> = recall.search(&search, NOW).hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, [two, three]);
}

#[test]
fn a_memory_of_long_ago_is_anchored_at_what_git_had_then() {
    let bench = AnchoredProject::with_git();
    bench.write("a.rs", 0..40);
    bench.write("b.rs", 0..40);
    bench.commit(400);
    bench.write("a.rs", 100..140);
    fs::remove_file(bench.root().join("b.rs")).unwrap();
    bench.write("later.rs", 200..240);
    bench.commit(10);
    let [a, b] = [(1, "a.rs"), (2, "b.rs")]
        .map(|(number, path)| bench.remember(number, Kind::Fact, LONG_AGO, &[path]));
    let after = bench.remember(3, Kind::Fact, Timestamp(NOW.0 - 5 * DAY_MS), &["a.rs"]);
    // Git has no such file at that time, so the memory is anchored when the file is first read.
    let unknown = bench.remember(4, Kind::Fact, LONG_AGO, &["later.rs"]);
    bench.publish();
    assert_eq!(bench.staleness_text(a).as_deref(), Some("a.rs was rewritten since"));
    assert_eq!(bench.staleness_text(b).as_deref(), Some("b.rs is gone since"));
    assert_eq!((bench.staleness_text(after), bench.staleness_text(unknown)), (None, None));
    bench.write("later.rs", 80..120);
    assert_eq!(bench.published(unknown).as_deref(), Some("later.rs was rewritten since"));
}

#[test]
fn a_renamed_file_is_named_and_its_memory_found_by_the_new_path() {
    let bench = AnchoredProject::with_git();
    bench.write("src/a.rs", 0..40);
    let id = bench.remember(1, Kind::Gotcha, NOW, &["src/a.rs"]);
    assert_eq!(bench.published(id), None);
    bench.commit(0);
    git(bench.root(), &["mv", "src/a.rs", "src/b.rs"]);
    assert_eq!(bench.published(id), None, "a deletion that nobody committed may be undone");
    bench.commit(-1);
    assert_eq!(bench.published(id).as_deref(), Some("src/a.rs moved to src/b.rs since"));
    git(bench.root(), &["mv", "src/b.rs", "c.rs"]);
    bench.commit(-2);
    assert_eq!(bench.published(id).as_deref(), Some("src/a.rs moved to c.rs since"));
    let recall = Recall::open(&bench.project.dirs, &bench.project.tree, None);
    assert_eq!(recall.file("c.rs", None, NOW, &|_| false).hits.len(), 1);
    git(bench.root(), &["rm", "-q", "c.rs"]);
    bench.commit(-3);
    assert_eq!(bench.published(id).as_deref(), Some("src/a.rs is gone since"));
}

#[test]
fn nothing_is_read_that_is_ignored_elsewhere_or_too_large() {
    let mut bench = AnchoredProject::with_git();
    bench.settings.ignore_paths = vec!["secret/**".to_owned()];
    fs::write(bench.root().join(".gitignore"), "*.env\n").unwrap();
    let outside = bench.root().parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f.rs"), "line number 1\n").unwrap();
    symlink(&outside, bench.root().join("link")).unwrap();
    symlink(outside.join("f.rs"), bench.root().join("f.rs")).unwrap();
    for path in ["x.env", "secret/a.rs", "part/a.rs"] {
        bench.write(path, 0..40);
    }
    git(&bench.root().join("part"), &["init", "-q"]);
    let size = usize::try_from(FILE_BYTES_MAX).unwrap() + 1;
    fs::write(bench.root().join("large.txt"), "line\n".repeat(size)).unwrap();
    let paths = [
        "x.env",
        "secret/a.rs",
        "part/a.rs",
        "link/f.rs",
        "f.rs",
        "large.txt",
        "../outside/f.rs",
        ".git/config",
        "src/*.rs",
    ];
    let ids: Vec<MemoryId> = (1..)
        .zip(paths)
        .map(|(number, path)| bench.remember(number, Kind::Fact, NOW, &[path]))
        .collect();
    bench.publish();
    let anchors = fs::read_to_string(&bench.home().anchors).unwrap();
    let kept: AnchorsFile = serde_json::from_str(&anchors).unwrap();
    assert!(kept.contents.is_empty(), "{anchors}");
    for path in ["x.env", "secret/a.rs", "part/a.rs", "link/f.rs"] {
        bench.write(path, 80..120);
    }
    for id in ids {
        assert_eq!(bench.published(id), None);
    }
}

#[test]
fn an_unchanged_file_is_not_read_again() {
    let bench = AnchoredProject::new();
    bench.write("a.rs", 0..40);
    let ignore = Ignore::none();
    let memory = bench.root().join("compared.json");
    let look = || {
        let mut files = Files::open(bench.root(), &ignore, memory.clone());
        files.look(["a.rs"]);
        let now = files.now("a.rs").clone();
        files.write().unwrap();
        now
    };
    let before = look();
    assert!(matches!(before, Now::Content(_)));
    // Other content with the same length and time counts as unchanged.
    let path = bench.root().join("a.rs");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    bench.write("a.rs", 0..40);
    let text = fs::read_to_string(&path).unwrap().to_uppercase();
    fs::write(&path, text).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(look(), before);
    fs::write(&path, "something else\n").unwrap();
    assert_ne!(look(), before);
}

#[test]
fn a_person_confirms_a_memory_until_its_file_changes_again() {
    let mut bench = AnchoredProject::new();
    bench.write("a.rs", 0..40);
    bench.write("b.rs", 0..40);
    let rewritten = bench.remember(1, Kind::Fact, NOW, &["a.rs"]);
    let gone = bench.remember(2, Kind::Fact, NOW, &["b.rs"]);
    bench.publish();
    bench.write("a.rs", 100..140);
    fs::remove_file(bench.root().join("b.rs")).unwrap();
    bench.publish();
    assert!(bench.staleness_text(rewritten).is_some() && bench.staleness_text(gone).is_some());
    bench.now = Timestamp(NOW.0 + 40 * DAY_MS);
    let confirmed = [rewritten, gone];
    Reviewed::change(&bench.home(), |reviewed| {
        confirmed.iter().for_each(|&id| reviewed.confirm(id, bench.now));
    })
    .unwrap();
    bench.publish();
    assert_eq!((bench.staleness_text(rewritten), bench.staleness_text(gone)), (None, None));
    bench.now = Timestamp(bench.now.0 + 40 * DAY_MS);
    bench.publish();
    assert_eq!((bench.staleness_text(rewritten), bench.staleness_text(gone)), (None, None));
    bench.write("a.rs", 200..240);
    assert!(bench.published(rewritten).is_some());
}

#[test]
fn a_session_confirms_what_it_was_given_edited_and_left_passing() {
    let at = |minutes: i64| Timestamp(NOW.0 + minutes * 60_000);
    let used = Cell::new((0, 0));
    let check = |failing: Option<&str>, edited: Timestamp, looked: Timestamp, ended: Timestamp| {
        let mut bench = AnchoredProject::new();
        bench.write("a.rs", 0..40);
        let id = bench.remember(1, Kind::Fact, NOW, &["a.rs"]);
        bench.publish();
        bench.write("a.rs", 100..140);
        let path = bench.root().join("a.rs");
        let time = std::time::UNIX_EPOCH
            + std::time::Duration::from_millis(u64::try_from(at(10).0).unwrap());
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        assert!(bench.published(id).is_some());
        let receipts = bench.project.dirs.tree(bench.root()).receipts(&at(5).date());
        fs::create_dir_all(receipts.parent().unwrap()).unwrap();
        let given = format!(
            "torn\n{{\"at\":\"{}\",\"session\":\"s\",\"memories\":[{{\"id\":\"{id}\"}}]}}\n",
            at(5)
        );
        fs::write(receipts, given).unwrap();
        let left = LeftSession {
            session: "s".to_owned(),
            last: ended,
            failing: failing.map(str::to_owned),
            ..LeftSession::default()
        };
        let session = SessionState {
            left: Some((String::new(), left)),
            edited: BTreeMap::from([("a.rs".to_owned(), edited)]),
            ..SessionState::default()
        };
        bench.state.sessions.insert("s".to_owned(), session);
        bench.now = looked;
        let is_confirmed = bench.published(id).is_none();
        let counted = uses::read(&bench.project.dirs.tree(bench.root()))[&id];
        used.set((counted.given, counted.used));
        assert_eq!(counted.last, (counted.used > 0).then_some(ended));
        is_confirmed
    };
    assert!(check(None, at(10), at(120), at(20)));
    assert_eq!(used.get(), (1, 1));
    assert!(!check(Some("cargo test"), at(10), at(120), at(20)), "something was left failing");
    assert_eq!(used.get(), (1, 0));
    assert!(!check(None, at(4), at(120), at(20)), "it was given afterwards");
    assert_eq!(used.get(), (1, 0));
    assert!(!check(None, at(10), at(40), at(20)), "it may go on");
    assert_eq!(used.get(), (1, 0));
    assert!(!check(None, at(7), at(120), at(8)), "somebody changed the file since");
    assert_eq!(used.get(), (1, 1), "it was used, but is not confirmed");
}

#[test]
fn use_and_reports_move_rank_and_age() {
    let mut bench = AnchoredProject::new();
    let old = Timestamp(NOW.0 - 400 * DAY_MS);
    let ids = [1, 2, 3].map(|number| bench.remember(number, Kind::Command, old, &[]));
    let folder = bench.root().join(".throughline/memories");
    let bodies =
        ["Amber kettles sing at dawn.", "Wide rivers carry barges.", "Cold forges cool slowly."];
    for (number, body) in (1..).zip(bodies) {
        let path = folder.join(format!("{number}.md"));
        let text = fs::read_to_string(&path).unwrap().replace("It is so.", body);
        let text = text.replace(title(number), &format!("Tests of the shop {number}{number}"));
        let command = "command:\n  line: make test\n  directory: .\n  exit_status: 0\n  passed: 2\n  last: 2026-01-01T00:00:00Z\n";
        let command = if number == 2 { command } else { "" };
        let text = text.replace("confidence: 1.0", "confidence: 0.5");
        let kind = format!("kind: command\n{command}");
        fs::write(path, text.replacen("kind: command\n", &kind, 1)).unwrap();
    }
    let tree = bench.project.dirs.tree(bench.root());
    let receipts = tree.receipts(&NOW.date());
    fs::create_dir_all(receipts.parent().unwrap()).unwrap();
    let given = format!(
        "{{\"at\":\"{NOW}\",\"session\":\"s\",\"memories\":[{{\"id\":\"{}\"}}]}}\n",
        ids[1]
    );
    fs::write(receipts, given).unwrap();
    let last = Timestamp(NOW.0 + 1000);
    let ran = PassedCommand {
        line: "make test".to_owned(),
        folder: ".".to_owned(),
        sessions: 1,
        last,
        session: "s".to_owned(),
        ..PassedCommand::default()
    };
    write_json(&bench.home().commands, &vec![ran]).unwrap();
    let left = LeftSession { session: "s".to_owned(), last, ..LeftSession::default() };
    let session = SessionState { left: Some((String::new(), left)), ..SessionState::default() };
    bench.state.sessions.insert("s".to_owned(), session);
    bench.now = Timestamp(NOW.0 + 3 * 60 * 60_000);
    Reviewed::change(&bench.home(), |reviewed| reviewed.note_use(ids[0], false)).unwrap();
    bench.publish();
    let recall = Recall::open(&bench.project.dirs, &bench.project.tree, None);
    let search = Search { text: "tests of the shop".to_owned(), ..Search::default() };
    let found = recall.search(&search, bench.now).hits;
    let confidence = |id| {
        let hit = found.iter().find(|hit| hit.id == id).unwrap();
        (hit.confidence * 100.0).round() as i32
    };
    assert_eq!(ids.map(confidence), [45, 55, 50]);
    assert_eq!(found.iter().map(|hit| hit.id).collect::<Vec<_>>(), [ids[1], ids[2], ids[0]]);
    let ages = ids.map(|id| recall.age(id, bench.now).unwrap());
    assert_eq!(ages, [Age::Aging, Age::Fresh, Age::Aging]);
    // The time of the use outlives its receipt.
    fs::remove_file(tree.receipts(&NOW.date())).unwrap();
    bench.publish();
    assert_eq!(uses::read(&tree)[&ids[1]], Use { given: 0, used: 0, last: Some(last) });
}

#[test]
fn what_is_kept_goes_with_its_memory() {
    let bench = AnchoredProject::new();
    bench.write("a.rs", 0..40);
    let id = bench.remember(1, Kind::Fact, NOW, &["a.rs"]);
    bench.publish();
    let kept = || fs::read_to_string(&bench.home().anchors).unwrap();
    assert!(kept().contains(&id.to_string()) && kept().contains("a.rs"));
    fs::remove_file(bench.root().join(".throughline/memories/1.md")).unwrap();
    bench.publish();
    assert!(!kept().contains(&id.to_string()) && !kept().contains("a.rs"));
}

/// Returns the text about a memory with a name that no longer occurs.
fn gone(name: &str) -> Option<String> {
    Some(format!("names `{name}`, which is gone"))
}

#[test]
fn a_name_that_is_in_no_file_any_more_marks_the_memories_that_have_it() {
    let mut bench = AnchoredProject::with_git();
    bench.write_text("src/a.rs", "fn retry_all() { other_thing(); }\n// --keep-alive\n");
    bench.write_text("src/b.rs", "fn other_thing() {}\nstruct Args { dry_run: bool }\n");
    bench.write_text("docs/old.md", "Nothing.\n");
    bench.commit(3);
    let at = Timestamp(NOW.0 - DAY_MS / 2);
    let bodies = [
        "Calls go through `retry_all`.",
        "Use `tool --dry-run`, with `--keep-alive`.",
        "`other_thing` is slow, see `docs/old.md`.",
        "`never_there` is of another program.",
    ];
    let ids: Vec<MemoryId> =
        (1..).zip(bodies).map(|(number, body)| bench.remember_names(number, at, body)).collect();
    let told = |bench: &AnchoredProject| {
        bench.publish();
        ids.iter().map(|id| bench.staleness_text(*id)).collect::<Vec<_>>()
    };
    assert_eq!(told(&bench), [None, None, None, None]);
    // The commit still contains the name, so the change may be reverted.
    bench.write_text("src/a.rs", "fn retry_each() { other_thing(); }\n");
    assert_eq!(told(&bench), [None, None, None, None]);
    bench.commit(2);
    assert_eq!(told(&bench), [gone("retry_all"), gone("--keep-alive"), None, None]);
    // A field counts as the flag of the same name. A renamed file is not lost. A name in a memory's own text does not
    // count.
    git(bench.root(), &["mv", "docs/old.md", "docs/new.md"]);
    bench.write_text("src/b.rs", "fn other_thing() {}\nstruct Args {}\n");
    bench.write_text("src/c.rs", "// --keep-alive\n");
    bench.commit(1);
    assert_eq!(told(&bench), [gone("retry_all"), gone("--dry-run"), None, None]);
    fs::remove_file(bench.root().join("docs/new.md")).unwrap();
    bench.write_text("src/d.rs", "fn retry_all() {}\n");
    bench.commit(0);
    assert_eq!(told(&bench), [None, gone("--dry-run"), gone("docs/old.md"), None]);
    // A person confirms that the memory is still valid.
    bench.now = Timestamp(NOW.0 + 1000);
    Reviewed::change(&bench.home(), |reviewed| reviewed.confirm(ids[1], bench.now)).unwrap();
    assert_eq!(told(&bench), [None, None, gone("docs/old.md"), None]);
}

#[test]
fn git_has_the_names_of_the_time_when_a_memory_was_learned() {
    let bench = AnchoredProject::with_git();
    bench.write_text("src/a.rs", "fn early_name() {}\n");
    bench.write_text("config/old.toml", "kept_key = 1\n");
    bench.commit(400);
    bench.write_text("src/a.rs", "fn middle_name() {}\n");
    bench.commit(360);
    fs::remove_file(bench.root().join("config/old.toml")).unwrap();
    bench.write_text("src/a.rs", "fn late_name() {}\n");
    bench.commit(10);
    let body = "See `early_name`";
    let [early, middle, late, file] = [
        (1, 380, body),
        (2, 360, "See `middle_name` and `late_name`."),
        (3, 5, "See `middle_name`, `kept_key` and `late_name`."),
        (4, 365, "See `old.toml` and `early_name`."),
    ]
    .map(|(number, days, body)| {
        bench.remember_names(number, Timestamp(NOW.0 - days * DAY_MS), body)
    });
    // Git has no content from before the first commit.
    let before = bench.remember_names(5, Timestamp(NOW.0 - 500 * DAY_MS), body);
    bench.publish();
    assert_eq!(bench.staleness_text(early), gone("early_name"));
    assert_eq!(bench.staleness_text(middle), gone("middle_name"));
    assert_eq!(bench.staleness_text(late), None);
    assert_eq!(bench.staleness_text(file), gone("old.toml"));
    assert_eq!(bench.staleness_text(before), None);
}

#[test]
fn a_name_that_the_same_session_took_away_is_no_sign_of_age() {
    let mut bench = AnchoredProject::with_git();
    bench.write_text("a.rs", "fn old_name() {}\n");
    bench.commit(1);
    let id = bench.remember_names(1, NOW, "`old_name` became `new_name`.");
    assert_eq!(bench.published(id), None);
    bench.write_text("a.rs", "fn new_name() {}\n");
    bench.commit(0);
    bench.now = Timestamp(NOW.0 + COMMITTED_MS / 2);
    assert_eq!(bench.published(id), None);
    bench.now = Timestamp(NOW.0 + COMMITTED_MS * 2);
    assert_eq!(bench.published(id), None);
}

#[test]
fn what_was_asked_for_or_rejected_stays_so_without_the_name() {
    let bench = AnchoredProject::with_git();
    bench.write_text("a.rs", "fn tried_name() {}\n");
    bench.commit(2);
    let at = Timestamp(NOW.0 - DAY_MS / 2);
    let kinds = [Kind::Gotcha, Kind::Preference, Kind::FailedApproach];
    let ids =
        kinds.map(|kind| bench.remember_names_as(kind, kind as u8 + 1, at, "No `tried_name`."));
    bench.publish();
    bench.write_text("a.rs", "fn other_name() {}\n");
    bench.commit(0);
    bench.publish();
    assert_eq!(ids.map(|id| bench.staleness_text(id)), [gone("tried_name"), None, None]);
}

#[test]
fn names_are_not_looked_for_where_nothing_may_be_read() {
    let mut bench = AnchoredProject::with_git();
    bench.settings.ignore_paths = vec!["secret/**".to_owned()];
    bench.write_text(".gitignore", "*.log\n");
    bench.write_text("secret/a.rs", "fn secret_name() {}\n");
    bench.write_text("b.log", "ignored_name\n");
    bench.write_text("c.rs", "fn open_name() {}\n");
    bench.commit(1);
    let id = bench.remember_names(1, NOW, "`secret_name`, `ignored_name` and `open_name`.");
    assert_eq!(bench.published(id), None);
    let kept = fs::read_to_string(&bench.home().anchors).unwrap();
    assert!(kept.contains(r#""open_name":"Text""#) && kept.contains(r#""secret_name":"Nowhere""#));
    assert!(kept.contains(r#""ignored_name":"Nowhere""#));
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_gone() {
    let bench = AnchoredProject::with_git();
    bench.write_text("a/a.rs", "fn first_name() {}\n");
    bench.write_text("b/b.rs", "fn second_name() {}\n");
    bench.commit(1);
    let id = bench.remember_names(1, NOW, "`first_name` calls `second_name` in `b/b.rs`.");
    assert_eq!(bench.published(id), None);
    git(bench.root(), &["sparse-checkout", "set", "a"]);
    assert!(!bench.root().join("b/b.rs").exists());
    assert_eq!(bench.published(id), None);
}
