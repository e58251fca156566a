//! The corpus of the bench: meaningless text with the structure of real memories and turns.
//!
//! Words have two to four syllables. As in natural language, the n-th most frequent of 6,000 words occurs about 1/n
//! times as often as the first. One word in three is a common word of developers. A memory has a title of six words and
//! a body of 40; five memories concern one file; one memory in eight is a fix with the signature of an error. A turn
//! has 90 words, of which the first four occur in no memory. The seed determines the whole text.

use memory_store::index::document::Passage;
use memory_store::memory::{PathRef, Scope};
use memory_store::{Kind, Memory, MemoryId, Timestamp};

/// Number of different words.
const WORDS: u64 = 6000;

/// Words that do not distinguish memories, because half of the memories contain them.
const EVERYWHERE: [&str; 96] = [
    "add",
    "api",
    "argument",
    "base",
    "branch",
    "build",
    "cache",
    "call",
    "case",
    "change",
    "check",
    "class",
    "client",
    "code",
    "command",
    "commit",
    "config",
    "crate",
    "data",
    "database",
    "date",
    "default",
    "delete",
    "deploy",
    "docs",
    "endpoint",
    "error",
    "example",
    "fail",
    "feature",
    "field",
    "file",
    "fix",
    "folder",
    "format",
    "function",
    "handle",
    "id",
    "import",
    "index",
    "input",
    "install",
    "issue",
    "job",
    "key",
    "library",
    "line",
    "list",
    "load",
    "log",
    "main",
    "merge",
    "message",
    "method",
    "migration",
    "model",
    "module",
    "name",
    "number",
    "option",
    "output",
    "package",
    "page",
    "parse",
    "path",
    "project",
    "query",
    "read",
    "release",
    "remove",
    "rename",
    "request",
    "response",
    "result",
    "return",
    "review",
    "run",
    "schema",
    "script",
    "server",
    "service",
    "session",
    "set",
    "string",
    "struct",
    "table",
    "test",
    "time",
    "type",
    "update",
    "upload",
    "user",
    "value",
    "version",
    "work",
    "write",
];

const SYLLABLES: [&str; 24] = [
    "ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "xa",
    "zel", "bri", "cro", "dun", "fal", "gri", "ple", "stu",
];

const KINDS: [Kind; 8] = [
    Kind::Decision,
    Kind::Convention,
    Kind::Fix,
    Kind::Gotcha,
    Kind::Fact,
    Kind::Command,
    Kind::Preference,
    Kind::FailedApproach,
];

/// Pseudo-random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Shuffles items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Returns a random rank, starting at 0, with the distribution of words in natural language.
    fn rank(&mut self, ranks: u64) -> u64 {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((ranks as f64).powf(uniform) - 1.0) as u64
    }

    /// Returns words, separated by spaces.
    pub fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words)
            .map(|_| match self.below(3) {
                0 => self.everywhere().to_owned(),
                _ => word(self.rank(WORDS)),
            })
            .collect();
        words.join(" ")
    }

    /// Returns words common among developers, separated by spaces.
    pub fn common(&mut self, words: usize) -> String {
        let words: Vec<&str> = (0..words).map(|_| self.everywhere()).collect();
        words.join(" ")
    }

    fn everywhere(&mut self) -> &'static str {
        EVERYWHERE[self.rank(EVERYWHERE.len() as u64) as usize]
    }
}

/// Returns the word with a rank.
fn word(rank: u64) -> String {
    let mut random = SplitMix(rank);
    let mut rest = rank;
    let mut word = String::new();
    for _ in 0..2 + random.below(2) {
        word.push_str(SYLLABLES[(rest % 24) as usize]);
        rest = rest / 24 + random.below(24);
    }
    word.push_str(SYLLABLES[(random.below(24)) as usize]);
    word
}

/// Returns the path of a file that memories concern.
pub fn file(number: u64) -> String {
    format!("src/{}/{}.rs", word(number % 37), word(WORDS + number))
}

/// Returns the output of a failed command; a fix has the signature of this error.
pub fn error(number: u64) -> String {
    format!(
        "Exit code 101\nerror: cannot find `{}` in `{}`\n  --> src/main.rs:{}:9\n",
        word(2000 + number),
        word(WORDS + number),
        number % 400
    )
}

/// Returns a memory.
pub fn memory(number: u64, now: Timestamp, user: bool) -> Memory {
    let mut random = SplitMix(number ^ if user { 1 << 40 } else { 0 });
    let kind = KINDS[(number % 8) as usize];
    let created = Timestamp(now.0 - random.below(300 * 86_400_000) as i64);
    let mut entropy = [0; 10];
    entropy[2..].copy_from_slice(&random.next().to_le_bytes());
    let mut memory = Memory::new(
        MemoryId::new(created, entropy),
        kind,
        random.text(6),
        random.text(40),
        created,
    );
    memory.confidence = 0.5 + random.below(50) as f32 / 100.0;
    memory.tags = random.text(3).split(' ').map(str::to_owned).collect();
    if user {
        memory.kind = Kind::Preference;
        memory.scope = Scope::User;
    } else {
        memory.paths = vec![PathRef { path: file(number / 5), seen: None }];
        if kind == Kind::Fix {
            memory.signatures.extend(memory_store::signature::error_signature(&error(number)));
        }
    }
    memory
}

/// Returns words of one passage that no memory contains, like names that occur only once.
pub fn names(number: u32) -> String {
    let name = |place: u64| word(2 * WORDS + 4 * u64::from(number) + place);
    (0..4).map(name).collect::<Vec<_>>().join(" ")
}

/// Returns a turn of a session.
pub fn turn(number: u32, now: Timestamp) -> Passage {
    let mut random = SplitMix(u64::from(number) ^ 1 << 41);
    Passage {
        session: format!("bench-{}", number / 40),
        turn: number % 40,
        at: Timestamp(now.0 - random.below(300 * 86_400_000) as i64),
        text: format!("{} {}", names(number), random.text(86)),
        ..Passage::default()
    }
}
