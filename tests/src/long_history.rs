//! A project with a long history: many short sessions, in each of which the user makes one decision.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::chat_server::{ChatServer, MODEL};
use crate::environment::TestEnvironment;
use crate::story::Story;

/// The current time, some hours after the end of the newest session.
pub const NOW: &str = "2026-11-20T09:00:00Z";
/// Hours between two sessions.
const APART_H: i64 = 6;

const METALS: [&str; 10] =
    ["copper", "brass", "iron", "nickel", "zinc", "tin", "silver", "cobalt", "titanium", "chrome"];
const PARTS: [&str; 10] = [
    "valve",
    "pump",
    "turbine",
    "gauge",
    "piston",
    "bearing",
    "boiler",
    "filter",
    "compressor",
    "manifold",
];
const PLACES: [&str; 10] = [
    "harbour",
    "quarry",
    "observatory",
    "greenhouse",
    "foundry",
    "orchard",
    "lighthouse",
    "brewery",
    "shipyard",
    "windmill",
];

/// A project with sessions that were not read yet, and a model that can read them.
pub struct LongHistory {
    /// The environment.
    pub environment: TestEnvironment,
    /// The root of the project.
    pub root: PathBuf,
    /// Number of sessions.
    pub sessions: usize,
}

impl LongHistory {
    /// Creates a project with this number of sessions, which the model `server` can read.
    pub fn new(sessions: usize, server: &ChatServer) -> io::Result<Self> {
        let environment = TestEnvironment::new()?.at(NOW);
        let root = environment.repository("plant")?;
        for number in 0..sessions {
            story(number, sessions)?.write(&environment.claude_dir(), &root)?;
        }
        environment
            .throughline(&root, &["init", "--yes", "--private", "--no-register", "--no-sync"])?;
        environment
            .throughline(&root, &["config", "llm", "openai", MODEL, "--host", server.address()])?;
        Ok(Self { environment, root, sessions })
    }

    /// Runs `throughline` and returns its output.
    pub fn run(&self, arguments: &[&str]) -> io::Result<String> {
        self.environment.throughline(&self.root, arguments)
    }

    /// Returns the command `throughline sync`, as a user runs it.
    pub fn sync(&self) -> Command {
        let mut command = self.environment.command(self.environment.binary("throughline"));
        command
            .current_dir(&self.root)
            .env("THROUGHLINE", "full")
            .args(["sync"])
            .stdin(Stdio::null());
        command
    }

    /// Starts a sync whose output is discarded.
    pub fn starts_sync(&self) -> io::Result<Child> {
        self.sync().stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// Returns the titles of the memories that the model wrote.
    pub fn titles(&self) -> io::Result<Vec<String>> {
        let list: Value = serde_json::from_str(&self.run(&["list", "--all", "--json"])?)?;
        let list = list.as_array().or_else(|| list["memories"].as_array()).cloned();
        let extractor = format!("openai/{MODEL}");
        Ok(list
            .unwrap_or_default()
            .iter()
            .filter(|memory| memory["source"]["extractor"] == extractor.as_str())
            .filter_map(|memory| memory["title"].as_str().map(str::to_owned))
            .collect())
    }
}

/// Returns the user's decision in a session. Each decision has different words.
pub fn decision_text(number: usize) -> String {
    let (metal, part, place) =
        (METALS[number % 10], PARTS[number / 10 % 10], PLACES[number / 100 % 10]);
    format!(
        "The {metal} {part} of the {place} is tested with {} pulses before each start",
        100 + number
    )
}

/// Returns a question that only one session answers.
pub fn question(number: usize) -> String {
    let (metal, part, place) =
        (METALS[number % 10], PARTS[number / 10 % 10], PLACES[number / 100 % 10]);
    format!("How is the {metal} {part} of the {place} tested before a start?")
}

fn story(number: usize, sessions: usize) -> io::Result<Story> {
    let now: Timestamp = NOW.parse().map_err(io::Error::other)?;
    let hours = i64::try_from(sessions - number).map_err(io::Error::other)? * APART_H;
    let at = now.checked_sub(SignedDuration::from_hours(hours)).map_err(io::Error::other)?;
    let path = Path::new("src").join(format!("{}.rs", PARTS[number / 10 % 10]));
    let steps = vec![
        json!({"user": decision_text(number)}),
        json!({"read": path, "holds": "pub const PULSES: u32 = 0;\n"}),
        json!({"edit": path, "old": "PULSES: u32 = 0", "new": format!("PULSES: u32 = {}", 100 + number)}),
        json!({"bash": "cargo test", "prints": "test result: ok. 3 passed; 0 failed"}),
        json!({"claude": "Done: it is tested so before each start, and the tests pass."}),
    ];
    let session = format!("{number:08}-0000-4000-8000-{number:012}");
    Ok(Story { session, at, branch: "main".to_owned(), steps })
}
