//! Measures names, facts and graph of many memories that were read already: `scripts/bench graph`.
//!
//! usage: graph [--memories N] [--facts N] [--rounds N]
//!
//! The memories are made up: each states facts about a few of many things, in changing spellings, with several values of
//! predicates that have one value at a time, and refers to files, sessions and other memories. It exits with 1 if the
//! median takes more processor time than the bound.

#![expect(clippy::print_stdout, reason = "it prints its results")]

use std::process::ExitCode;

use memory_store::knowledge::graph::SessionWork;
use memory_store::knowledge::{ConfirmedNames, Graph, Knowledge, KnowledgeOptions};
use memory_store::memory::{Fact, PathRef, Relation};
use memory_store::settings::KnowledgeSettings;
use memory_store::time::DAY_MS;
use memory_store::{Kind, Memory, MemoryId, Timestamp};

/// Bound for 10,000 memories with five facts each, in milliseconds of processor time.
const MS_MAX: f64 = 100.0;

const ADJECTIVES: [&str; 16] = [
    "amber", "brisk", "coral", "dusty", "eager", "frosty", "gentle", "hollow", "ivory", "jolly",
    "keen", "lunar", "mellow", "noble", "olive", "proud",
];
const NOUNS: [&str; 16] = [
    "ledger", "parcel", "basket", "garden", "harbor", "kitchen", "lantern", "market", "needle",
    "orchard", "pencil", "quarry", "ribbon", "saddle", "teapot", "window",
];
const ROLES: [&str; 8] =
    ["service", "worker", "importer", "gateway", "scheduler", "cache", "queue", "client"];
const PREDICATES: [&str; 8] =
    ["uses", "requires", "is stored in", "port", "runs on", "part of", "calls", "version"];

/// A small generator, so that each run measures the same.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }

    fn name(&mut self) -> String {
        let parts = [
            ADJECTIVES[self.below(ADJECTIVES.len())],
            NOUNS[self.below(NOUNS.len())],
            ROLES[self.below(ROLES.len())],
        ];
        match self.below(4) {
            0 => parts.join("-"),
            1 => parts.join("_"),
            _ => parts.join(" "),
        }
    }
}

fn memories(count: usize, facts: usize) -> Vec<Memory> {
    let mut random = Random(7);
    let id = |number: usize| {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&(number as u64).to_be_bytes());
        MemoryId(bytes)
    };
    let memories = (0..count).map(|number| {
        let at = Timestamp(1_700_000_000_000 + (number as i64 % 700) * DAY_MS);
        let mut memory = Memory::new(id(number), Kind::Fact, format!("Note {number}"), "", at);
        memory.topic = Some(format!("area/topic-{}", random.below(40)));
        memory.entities = (0..3).map(|_| format!("{} (component)", random.name())).collect();
        let path = format!("src/{}.rs", random.below(count / 5 + 1));
        memory.paths = vec![PathRef { path, seen: None }];
        memory.source.session = Some(format!("session-{}", random.below(count / 20 + 1)));
        if random.below(10) == 0 {
            let to = id(random.below(count));
            memory.relations = vec![Relation { kind: "refines".to_owned(), to }];
        }
        memory.facts = (0..facts)
            .map(|_| {
                let predicate = PREDICATES[random.below(PREDICATES.len())];
                let object = match predicate {
                    "port" => format!("{}", 8000 + random.below(100)),
                    "version" => format!("1.{}", random.below(40)),
                    _ => random.name(),
                };
                let (subject, predicate) = (random.name(), predicate.to_owned());
                Fact { subject, predicate, object, ..Fact::default() }
            })
            .collect();
        memory
    });
    memories.collect()
}

fn cpu_ms() -> f64 {
    // SAFETY: numbers alone, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the system writes a usage to a valid place.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, usual: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(usual)
    };
    let (count, facts) = (number("--memories", 10_000), number("--facts", 5));
    let all = memories(count, facts);
    let refs: Vec<&Memory> = all.iter().collect();
    let sessions: Vec<SessionWork> = (0..count / 20)
        .map(|number| SessionWork {
            session: format!("session-{number}"),
            at: Timestamp(1_700_000_000_000),
            written: vec![format!("src/{number}.rs")],
            ..SessionWork::default()
        })
        .collect();
    let (settings, confirmed) = (KnowledgeSettings::default(), ConfirmedNames::default());
    let options = KnowledgeOptions {
        settings: &settings,
        confirmed: &confirmed,
        embed: &|_| None,
        hold_both: &|_, _| false,
    };
    let now = Timestamp(1_700_000_000_000 + 800 * DAY_MS);
    let mut rounds = Vec::new();
    for _ in 0..number("--rounds", 9) {
        let start = cpu_ms();
        let knowledge = Knowledge::of(&refs, &options);
        let read = cpu_ms();
        let graph = Graph::of(&refs, &sessions, &knowledge.entities, &knowledge.book, now);
        let built = cpu_ms();
        let node = graph.find("amber ledger service", &knowledge.entities);
        let reached = node.map_or(0, |node| graph.within(node, 5).len());
        let bridges = graph.bridges().len();
        let end = cpu_ms();
        rounds.push((end - start, read - start, built - read, end - built, reached, bridges));
    }
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (all_ms, read, built, asked, reached, bridges) = rounds[rounds.len() / 2];
    println!("{count} memories with {facts} facts each, milliseconds of processor time, median");
    println!("names and facts              {read:>8.1}");
    println!("graph                        {built:>8.1}");
    println!("depth 5 ({reached} nodes), bridges ({bridges}) {asked:>8.1}");
    println!("together                     {all_ms:>8.1}  (at most {MS_MAX} for 10,000)");
    match count <= 10_000 && all_ms > MS_MAX {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
