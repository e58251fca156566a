//! Commands that succeeded in sessions, found by the words of an explicit search such as "how do I run the tests".

use std::collections::BTreeSet;
use std::path::Path;

use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::memory::SaidBy;
use memory_store_base::passed_commands::PassedCommand;
use memory_store_base::text;

use crate::search::hit::Hit;

/// Maximum number of commands in an answer to a search with words.
const SHOWN_MAX: usize = 3;
/// Minimum share of a search's words that a command must cover.
const FIT_MIN: f32 = 0.6;
/// Words of a request for a command. They count as words of every command.
const OF_ALL: &str = "run command";

/// Returns the commands that cover most words of a search, best first, and equal ones by number of sessions. Without
/// words, all commands are returned by number of sessions.
pub(crate) fn find(path: &Path, words: &str, limit: usize) -> Vec<Hit> {
    let wanted = terms(words);
    let fitting = PassedCommand::read_all(path).into_iter().filter_map(|command| {
        let fit = share(&wanted, &command);
        (fit >= FIT_MIN).then_some((fit, command))
    });
    let mut fitting: Vec<(f32, PassedCommand)> = fitting.collect();
    fitting.sort_by(|(one, a), (other, b)| {
        other
            .total_cmp(one)
            .then(b.sessions.cmp(&a.sessions))
            .then(b.last.cmp(&a.last))
            .then_with(|| (&a.line, &a.folder).cmp(&(&b.line, &b.folder)))
    });
    let shown = if wanted.is_empty() { limit } else { SHOWN_MAX.min(limit) };
    fitting.into_iter().take(shown).map(|(_, command)| hit(command)).collect()
}

/// Returns the command with this id; `None` if there is none.
pub(crate) fn of_id(path: &Path, id: MemoryId) -> Option<Hit> {
    PassedCommand::read_all(path).into_iter().map(hit).find(|hit| hit.id == id)
}

fn terms(text: &str) -> BTreeSet<String> {
    text::tokens(text).into_iter().map(|token| token.term).collect()
}

/// Returns the share of the wanted words that a command covers; 0 if it covers none except those of [`OF_ALL`].
fn share(wanted: &BTreeSet<String>, command: &PassedCommand) -> f32 {
    if wanted.is_empty() {
        return 1.0;
    }
    let own = terms(&format!("{} {} {}", command.line, command.folder, command.purpose));
    let of_all = terms(OF_ALL);
    let own_count = wanted.intersection(&own).count();
    let count = wanted.iter().filter(|term| own.contains(*term) || of_all.contains(*term)).count();
    if own_count == 0 { 0.0 } else { count as f32 / wanted.len() as f32 }
}

/// Converts a command to a hit.
fn hit(command: PassedCommand) -> Hit {
    let sessions = match command.sessions {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    };
    let name = blake3::hash(format!("{}\0{}", command.folder, command.line).as_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(&name.as_bytes()[..16]);
    Hit {
        text: format!("{} passed in {sessions}, last on {}", command.shown(), command.last.date()),
        why: "it passed in sessions".to_owned(),
        said_by: Some(SaidBy::Tool),
        session: Some(command.session),
        ..Hit::of_session(MemoryId(id), Kind::Command, command.last)
    }
}

#[cfg(test)]
mod tests {
    use memory_store_base::time::Timestamp;

    use super::*;

    fn command(line: &str, purpose: &str, sessions: usize) -> PassedCommand {
        PassedCommand {
            line: line.to_owned(),
            folder: ".".to_owned(),
            purpose: purpose.to_owned(),
            sessions,
            last: Timestamp(0),
            session: "s".to_owned(),
        }
    }

    #[test]
    fn a_command_is_found_by_its_words_and_by_its_purpose() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("commands.json");
        let all = [
            command("cargo nextest run --workspace", "test", 4),
            command("cargo test --doc", "test", 2),
            command("cargo build --release", "build", 9),
            command("cargo run --bin tide", "run", 9),
        ];
        std::fs::write(&path, serde_json::to_vec(&all).unwrap()).unwrap();
        let found = |words: &str| -> Vec<String> {
            let hits = find(&path, words, 10).into_iter();
            hits.map(|hit| hit.text.split('`').nth(1).unwrap().to_owned()).collect()
        };
        let tests = ["cargo nextest run --workspace", "cargo test --doc"];
        assert_eq!(found("cargo nextest"), tests[..1]);
        assert_eq!(found("how do I run the tests"), tests);
        assert_eq!(found("which command builds it")[0], "cargo build --release");
        for words in ["why are the cents wrong", "run the migration of the harbour", "command"] {
            assert_eq!(found(words), [""; 0], "{words}");
        }
        assert_eq!(found("").len(), 4);
        let id = find(&path, "cargo nextest", 10)[0].id;
        let text = of_id(&path, id).unwrap().text;
        assert_eq!(
            text,
            "`cargo nextest run --workspace` passed in 4 sessions, last on 1970-01-01"
        );
    }
}
