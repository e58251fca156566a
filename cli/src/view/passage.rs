//! Formats passages of sessions. `SESSION:TURN` identifies a turn, and `throughline show` accepts it.

use std::io::Write;

use memory_store::index::document::session_bits;
use memory_store::layout::ProjectDir;
use memory_store::memory::SaidBy;
use memory_store::recall::{Hit, Recall, SESSION_CHARS_MIN};
use memory_store::{MemoryId, Timestamp, short_session};
use processor::collect::whole_turn;
use serde::Serialize;

use super::style::{NAME, QUIET, STRONG, paint};
use super::{clock, plain, wrap};
use crate::exit;
use crate::failure::{Failure, Result};

/// Returns the name of a passage's turn for `throughline show`. For a subagent, this is the id of the passage, because
/// its turns have no number in the session.
pub fn name(hit: &Hit) -> String {
    let session = hit.session.as_deref().unwrap_or_default();
    match hit.id.0.starts_with(&session_bits(session, None)) {
        true => format!("{}:{}", short_session(session), hit.turn + 1),
        false => hit.id.to_string(),
    }
}

/// Returns the speaker of a passage.
pub const fn speaker(hit: &Hit) -> &'static str {
    match hit.said_by {
        Some(SaidBy::User) => "the user",
        Some(SaidBy::Assistant) => "Claude",
        Some(SaidBy::Tool) => "a command",
        None => "session",
    }
}

/// Maximum characters of the quoted first line.
const LINE_CHARS_MAX: usize = 200;

/// Returns the name, the speaker, the date and the first line of a passage.
pub fn quotation(hit: &Hit) -> String {
    format!("{}  {}: {}", name(hit), origin(hit), first_line(hit))
}

fn origin(hit: &Hit) -> String {
    format!("{} on {}", speaker(hit), clock::date(hit.date))
}

fn first_line(hit: &Hit) -> String {
    let text = plain(&hit.text);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    wrap::cut(first, LINE_CHARS_MAX)
}

/// Prints the name, the speaker and the date of a passage, followed by its first line on a separate line.
pub fn show(hit: &Hit, indent: usize, out: &mut dyn Write) -> Result {
    let name = paint(NAME, plain(&name(hit)));
    writeln!(out, "{:indent$}{name}  {}", "", paint(QUIET, origin(hit)))?;
    Ok(writeln!(out, "{:indent$}        \"{}\"", "", first_line(hit))?)
}

/// A whole turn.
#[derive(Debug, Serialize)]
pub struct WholeTurn {
    /// Id of the session.
    session: String,
    /// Number of the turn in the session, counted from 1.
    turn: u32,
    /// Time at which the turn began.
    at: Timestamp,
    /// Text of the turn, as far as it is in the archive.
    text: String,
}

/// Parses `SESSION:TURN` into the id of the session and the number of the turn.
fn parse(name: &str) -> Option<(&str, u32)> {
    let (session, turn) = name.rsplit_once(':')?;
    let turn = turn.parse::<u32>().ok().filter(|turn| *turn > 0)?;
    let is_session = session.len() >= SESSION_CHARS_MIN
        && session.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    is_session.then_some((session, turn))
}

impl WholeTurn {
    /// Reads the turn that `SESSION:TURN` or the id of a passage identifies; `None` if `name` is neither.
    pub fn named(name: &str, recall: &Recall, home: &ProjectDir) -> Option<Result<Self>> {
        let hit = match parse(name) {
            Some((start, number)) => {
                let found = recall.session_named(start).and_then(|session| {
                    recall.turns_of(&session, number - 1, number - 1).into_iter().next()
                });
                let Some(found) = found else { return Some(Err(unknown(start, number))) };
                found
            }
            None => recall.turn_of(name.parse::<MemoryId>().ok()?)?,
        };
        Some(Ok(Self::whole(hit, home)))
    }

    fn whole(hit: Hit, home: &ProjectDir) -> Self {
        let session = hit.session.clone().unwrap_or_default();
        let is_own = hit.id.0.starts_with(&session_bits(&session, None));
        let archived = is_own.then(|| whole_turn::text(home, &session, hit.date));
        let text = match archived {
            Some(Ok(Some(text))) => text,
            Some(Ok(None) | Err(_)) | None => hit.text,
        };
        Self { session, turn: hit.turn + 1, at: hit.date, text }
    }

    /// Prints the turn.
    pub fn show(&self, out: &mut dyn Write) -> Result {
        let name = format!("{}:{}", plain(short_session(&self.session)), self.turn);
        let heading = format!("turn {} of session {}", self.turn, plain(&self.session));
        let date = paint(QUIET, clock::time(self.at));
        writeln!(out, "{}  {date}  {}", paint(NAME, name), paint(STRONG, heading))?;
        plain(&self.text).lines().try_for_each(|line| writeln!(out, "{line}"))?;
        Ok(())
    }
}

fn unknown(session: &str, turn: u32) -> Failure {
    Failure::new(format!("no turn {turn} of a session {session} is indexed"))
        .code(exit::NOT_FOUND)
        .hint(format!(
            "`throughline search --turns session:{session}` lists the turns of a session."
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_beginning_of_a_session_and_a_number() {
        assert_eq!(parse("3f2a1b2c:4"), Some(("3f2a1b2c", 4)));
        assert_eq!(parse("3f2a1b2c-0000-4000:12"), Some(("3f2a1b2c-0000-4000", 12)));
        for other in ["3f2a1b2c", "3f:1", "3f2a1b2c:0", "3f2a1b2c:x", "error: 5", "a b c d:5"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
