//! A session in the preview: its subject, prompts, memories and injections.

use std::io::Write;

use memory_store::short_session;
use processor::transcript::record::RecordWhat;
use processor::transcript::session::PromptBy;

use crate::command::log::LogEntry;
use crate::command::resume;
use crate::failure::Result;
use crate::receipts;
use crate::sessions::{self, PastSessions};
use crate::stores::Stores;
use crate::view::given::GivenItems;
use crate::view::style::{CARE, NAME, QUIET, STRONG, paint};
use crate::view::{self, clock, plain, wrap};

/// Maximum prompts shown.
const PROMPTS_MAX: usize = 40;
/// Columns of a prompt.
const PROMPT_COLUMNS: usize = 200;
/// Maximum injections shown.
const INJECTIONS_MAX: usize = 20;

/// Prints a session.
pub fn show(id: &str, stores: &Stores, out: &mut dyn Write) -> Result {
    let (archive, sessions) = (sessions::archive(stores), PastSessions::open(stores));
    let records = sessions::transcript_records(&archive, id);
    let Some((session, records)) = sessions.of(id).zip(records) else {
        writeln!(out, "{}", paint(CARE, "It cannot be read; `throughline doctor` says why."))?;
        return Ok(());
    };
    let wish = wrap::cut(&plain(&session.subject()), PROMPT_COLUMNS);
    writeln!(out, "{}\n", paint(STRONG, wish))?;
    let mut field = |name: &str, value: &str| -> Result {
        if !value.is_empty() {
            writeln!(out, "{} {}", paint(QUIET, format_args!("{name:<11}")), plain(value))?;
        }
        Ok(())
    };
    field("session", &session.session)?;
    field("branch", &session.branch)?;
    field("folder", &view::folder(&session.folder, &stores.world.home))?;
    field("began", &clock::time(session.first))?;
    field("ended", &clock::time(session.last))?;
    match session.is_resumable {
        true => {
            let command = plain(&resume::command(session, &stores.world.cwd));
            writeln!(out, "{} {}", paint(QUIET, "resume     "), paint(NAME, command))?;
        }
        false => writeln!(
            out,
            "{}",
            paint(CARE, "its transcript is gone, so Claude Code cannot resume it")
        )?,
    }
    let prompts: Vec<&str> = records
        .iter()
        .filter_map(|record| match &record.what {
            RecordWhat::Prompt { text, by: PromptBy::User, .. } => Some(text.trim()),
            _ => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    heading("Asked", prompts.len(), out)?;
    for prompt in prompts.iter().take(PROMPTS_MAX) {
        writeln!(out, "- {}", wrap::cut(&plain(prompt), PROMPT_COLUMNS))?;
    }
    let memories = stores.list()?.memories;
    let of_it = |source: Option<&str>| source == Some(session.session.as_str());
    let learned = memories.iter().filter(|it| of_it(it.memory.source.session.as_deref()));
    let learned: Vec<_> = learned.collect();
    heading("Learned", learned.len(), out)?;
    learned.iter().try_for_each(|stored| view::line(&stored.memory, out))?;
    let tree = stores.state();
    let given = receipts::last(&tree, INJECTIONS_MAX, |it| of_it(Some(&it.session)));
    let items = GivenItems::of(stores, &given)?;
    heading("Given", given.len(), out)?;
    for receipt in &given {
        writeln!(
            out,
            "{}",
            LogEntry::of(receipt, &items)
                .line(clock::ago(receipt.at, stores.world.now), PROMPT_COLUMNS)
        )?;
    }
    if let Some(turn) = prompts.len().checked_sub(PROMPTS_MAX + 1) {
        let id = short_session(&session.session);
        let told = format!("{} more prompts: `throughline search --turns session:{id}`", turn + 1);
        writeln!(out, "\n{}", paint(QUIET, told))?;
    }
    Ok(())
}

/// Prints the heading of a section, unless the section is empty.
fn heading(name: &str, count: usize, out: &mut dyn Write) -> Result {
    if count > 0 {
        writeln!(out, "\n{}", paint(QUIET, format_args!("{name} ({count})")))?;
    }
    Ok(())
}
