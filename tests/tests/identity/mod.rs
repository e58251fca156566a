//! The matrix of identity: situations that users of similar tools have reported, with the project, the working tree and
//! the session to which data belongs in each. Each row is a separate test of the programs. `MATRIX.md` in this folder
//! lists all rows (`THROUGHLINE_WRITE_DOCS=1 cargo nextest run -p journeys identity::`).

mod git;
mod lab;
mod messages;
mod projects;
mod slow;
mod speakers;
mod transcripts;

use std::fmt::Write as _;
use std::path::Path;

/// A situation and its expected result.
pub struct Row {
    name: &'static str,
    situation: &'static str,
    outcome: &'static str,
}

/// Declares rows. Each has the name of its test function, the situation, and the expected result.
macro_rules! rows {
    ($($name:ident: $situation:literal => $outcome:literal;)+) => {
        pub const ROWS: &[super::Row] = &[$(super::Row {
            name: stringify!($name),
            situation: $situation,
            outcome: $outcome,
        }),+];

        mod rows {
            $(#[test]
            fn $name() {
                super::$name(&$crate::identity::lab::Lab::new());
            })+
        }
    };
}
use rows;

#[test]
fn the_page_shows_the_matrix() {
    let parts = [
        ("Projects and working trees", "projects", projects::ROWS),
        ("Transcripts", "transcripts", transcripts::ROWS),
        ("Speakers", "speakers", speakers::ROWS),
        ("Git", "git", git::ROWS),
        ("Messages", "messages", messages::ROWS),
        ("Other users, many files, and chance", "slow", slow::ROWS),
    ];
    let mut page = "# Identity\n\nTo which project, working tree and session data belongs in each situation. \
        [Storage](../../../docs/storage.md#identity)\ndescribes the model. Each row is a test in this folder, which \
        writes this page\n(`THROUGHLINE_WRITE_DOCS=1 cargo nextest run -p journeys identity::`).\n"
        .to_owned();
    for (title, module, rows) in parts {
        write!(page, "\n## {title}\n\n| situation | what happens | test |\n|--|--|--|\n").unwrap();
        for Row { name, situation, outcome } in rows {
            writeln!(page, "| {situation} | {outcome} | `{module}::{name}` |").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identity/MATRIX.md");
    if std::env::var_os("THROUGHLINE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page);
}
