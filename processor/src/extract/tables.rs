//! Tables: a small table in a plan or an answer says much in little room. One that only lists the
//! day's edits is none of it.

use memory_store::Kind;

use super::draft::Draft;
use super::episode::Statement;
use super::pool::{Pool, TEXT_CHARS_MAX};
use super::score::Channel;
use super::{Miner, Said};

/// What a table is worth.
const TABLE_WORTH: f32 = 1.2;

pub fn mine(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Option<Draft> {
    let episode = pool.episode;
    let table = pool.left().find(|statement| is_told(statement))?;
    let heading = table.sentence.heading.split(['(', ':']).next().unwrap_or_default().trim();
    let title = match episode.name() {
        "" => heading.to_owned(),
        name => format!("{heading}: {name}"),
    };
    let body = table.text().to_owned();
    if title.chars().count() + body.chars().count() > TEXT_CHARS_MAX {
        return None;
    }
    let said = Said {
        kind: Kind::Fact,
        title,
        body,
        evidence: vec![table],
        confidence: 0.7,
        worth: TABLE_WORTH,
    };
    let draft = miner.draft(episode, said);
    pool.tell(&[table]);
    draft
}

/// Whether a table has a name and was meant to last: in an accepted plan, or at the end of a turn.
fn is_told(statement: &Statement) -> bool {
    matches!(statement.channel, Channel::Plan | Channel::Final)
        && statement.sentence.is_table()
        && statement.sentence.heading.chars().any(char::is_alphanumeric)
}
