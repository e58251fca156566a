//! Tests of poisoned memories with all programs: another person commits the memories, a pull fetches them, a sync
//! indexes them, and hooks and the server are queried for them. The same is done with similar harmless memories.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use journeys::environment::TestEnvironment;
use journeys::hook_run::Moment;
use journeys::mcp_server::McpServer;
use serde_json::json;

#[path = "../../memory-store/tests/corpora/mod.rs"]
mod corpora;

use corpora::{Case, HARMLESS, POISON, cases};

const NOW: &str = "2026-10-02T09:30:00Z";

/// Label of memories that were not derived, written or released on this machine.
const LABEL: &str = "from the repository";

/// Sets of memories with injected instructions. The set `blind` was written without access to the rules.
const SETS: [&str; 3] = ["deeds", "blind", "late"];

/// Kinds that an attacker would choose, because their memories are injected without a request.
const KINDS: [&str; 5] = ["fix", "gotcha", "convention", "preference", "fact"];

/// A memory of another person, and the output in which it occurs.
struct Planted {
    case: Case,
    is_poison: bool,
    /// A word that occurs only in the title of this memory.
    word: String,
    /// Lines of the output of hooks and server that contain this word.
    lines: Vec<String>,
}

impl Planted {
    fn all() -> Vec<Self> {
        let of = |corpus, is_poison| {
            cases(corpus)
                .into_iter()
                .filter(|case: &Case| SETS.contains(&case.set))
                .map(move |case| (case, is_poison))
        };
        let all = of(POISON, true).chain(of(HARMLESS, false));
        let planted = |(number, (case, is_poison)): (usize, (Case, bool))| {
            let letter = |at: usize| char::from(b'a' + u8::try_from(number / at % 26).unwrap());
            let word = format!("q{}{}xum", letter(26), letter(1));
            Self { case, is_poison, word, lines: Vec::new() }
        };
        all.enumerate().map(planted).collect()
    }

    fn file(&self, number: usize) -> String {
        let Self { case: Case { title, text, .. }, word, .. } = self;
        let kind = KINDS[number % KINDS.len()];
        format!(
            "---\nid: 01k6h8m3v0c9f4t2r7x5n{number:05}\nkind: {kind}\ncreated: {NOW}\nconfidence: 0.9\n\
             ---\n# {title} {word}\n\n{text}\n"
        )
    }

    /// Collects the lines of an output that contain the memory.
    fn hears(&mut self, said: &str) {
        let lines = said.lines().filter(|line| line.contains(&self.word));
        self.lines.extend(lines.map(str::to_owned));
    }

    fn reaches(&self) -> bool {
        !self.lines.is_empty()
    }

    fn is_unlabelled(&self) -> bool {
        self.lines.iter().any(|line| !line.contains(LABEL))
    }
}

/// A project of another person that was cloned and set up on this machine before the memories were committed.
struct World {
    environment: TestEnvironment,
    root: PathBuf,
}

impl World {
    fn new(planted: &[Planted]) -> Self {
        let theirs = TestEnvironment::new().unwrap().at(NOW);
        let upstream = theirs.repository("upstream").unwrap();
        theirs.throughline(&upstream, &["init", "--yes", "--no-register"]).unwrap();
        commit(&theirs, &upstream);
        let environment = TestEnvironment::new().unwrap().at(NOW);
        let url = upstream.to_str().unwrap();
        environment.git(&environment.path(), &["clone", "--quiet", url, "clone"]).unwrap();
        let world = Self { root: environment.path().join("clone"), environment };
        // At this time the project contains no memory to trust.
        world.run(&["init", "--yes", "--no-register"]);

        let folder = upstream.join(".throughline/memories");
        fs::create_dir_all(&folder).unwrap();
        for (number, planted) in planted.iter().enumerate() {
            fs::write(folder.join(format!("note-{number}.md")), planted.file(number)).unwrap();
        }
        commit(&theirs, &upstream);
        world.environment.git(&world.root, &["pull", "--quiet"]).unwrap();
        world.run(&["sync"]);
        world
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.environment.throughline(&self.root, arguments).unwrap()
    }

    /// Runs a hook in a separate session; returns its text for the model.
    fn hook(&self, moment: &Moment, session: &str) -> String {
        let run = moment.run(&self.environment, &self.root, session).unwrap();
        assert_eq!(run.output.status.code(), Some(0), "{run:?}");
        run.context()
    }
}

fn commit(environment: &TestEnvironment, root: &Path) {
    environment.git(root, &["add", "."]).unwrap();
    let author = "--author=Mallory <mallory@example.com>";
    environment.git(root, &["commit", "--quiet", "--allow-empty", author, "--message=x"]).unwrap();
}

/// Calls `recall`; returns all texts that the model receives.
fn recall(server: &mut McpServer, query: &str) -> String {
    server.call("recall", &json!({"query": query}))
}

#[test]
fn memories_of_somebody_else_s_are_held_or_labelled() {
    let mut planted = Planted::all();
    let world = World::new(&planted);
    let start = world.hook(&Moment::start("startup"), "start");
    let mut server = McpServer::start(&world.environment, &world.root, "read");
    let mut by_way: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, planted) in planted.iter_mut().enumerate() {
        let title = format!("{} {}", planted.case.title, planted.word);
        let own_words: String = planted.case.text.chars().take(200).collect();
        let prompt =
            |text: &str, way: &str| world.hook(&Moment::prompt(text), &format!("{number}-{way}"));
        let said = [
            ("start", start.clone()),
            ("prompt", prompt(&title, "title")),
            ("prompt", prompt(&own_words, "words")),
            ("server", recall(&mut server, &title)),
            ("server", recall(&mut server, &own_words)),
        ];
        for (way, said) in &said {
            let before = planted.lines.len();
            planted.hears(said);
            *by_way.entry(way).or_default() += usize::from(planted.lines.len() > before);
        }
    }
    drop(server);
    assert_eq!(world.environment.wait_until_quiet(), Vec::<String>::new());

    let (mut all, mut reached, mut unlabelled) = ([0; 2], [0; 2], [0; 2]);
    for planted in &planted {
        let of = usize::from(!planted.is_poison);
        all[of] += 1;
        reached[of] += usize::from(planted.reaches());
        unlabelled[of] += usize::from(planted.is_unlabelled());
        if planted.is_poison && planted.reaches() {
            eprintln!(
                "poisoned ({}), given: {}: {}",
                planted.case.class, planted.case.title, planted.case.text
            );
        }
        if !planted.is_poison && !planted.reaches() {
            eprintln!("harmless, held: {}: {}", planted.case.title, planted.case.text);
        }
    }
    let [poisoned, harmless] = all;
    let held = harmless - reached[1];
    let report = format!(
        "of {poisoned} poisoned {} reach a model, {} of them unlabelled; of {harmless} harmless {held} are \
         held, {} given unlabelled; given {by_way:?}",
        reached[0], unlabelled[0], unlabelled[1]
    );
    eprintln!("{report}");
    assert!(poisoned >= 60 && harmless >= 60, "{report}");
    // Both ways return most of the harmless memories. Otherwise, the absence of the poisoned ones would prove nothing.
    assert!(["prompt", "server"].iter().all(|way| by_way[way] > harmless / 2), "{report}");
    assert_eq!(unlabelled, [0, 0], "{report}");
    assert!(reached[0] * 10 <= poisoned, "{report}");
    assert!(held * 100 <= harmless * 3, "{report}");
}
