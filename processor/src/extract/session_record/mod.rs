//! Session record: a summary of a session. Rules derive it from the structure of the turns (prompts, tool calls, todo
//! lists, the last message), never from patterns of prose. A model that reads the session adds decisions and open
//! tasks.
//!
//! Each part of a long session has its own record, as has each subagent. `session_records` merges the records of one
//! session.

mod ending;
mod outcome;
mod record;
mod requests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use memory_store::Timestamp;

use super::landed::Landed;
use super::{Roots, commands, fixes};
use crate::transcript::Speaker;
use crate::transcript::session::{Call, Input, PromptBy, Session, StepKind, Todo, Turn};
use ending::{open_question, rejected, stopped};
use record::{ITEM_CHARS_MAX, ITEMS_MAX, ordered};

pub use ending::{answer_of, last_text, question_of};
pub use record::{
    AcceptedPlan, Cure, RejectedCall, SessionRecord, TouchedFile, VERSION, is_done, is_sound,
    settles,
};

impl SessionRecord {
    /// Returns the record of a session. `roots` are the project's working trees.
    pub fn of(session: &Session, roots: &Roots) -> Self {
        let roots = &with_folders(session, roots);
        Self {
            commands: commands::mine(session, roots),
            cures: fixes::mine(session, roots).into_iter().map(|(_, cure)| cure).collect(),
            ..Self::outlined(session, roots)
        }
    }

    /// Returns the calls of a session that failed and were cured.
    pub fn cures<'a>(session: &'a Session, roots: &Roots) -> Vec<(&'a Call, Cure)> {
        fixes::mine(session, &with_folders(session, roots))
    }

    /// Returns the record without the commands that passed and the cures, because finding these is slow.
    pub fn outline(session: &Session, roots: &Roots) -> Self {
        Self::outlined(session, &with_folders(session, roots))
    }

    fn outlined(session: &Session, roots: &Roots) -> Self {
        let turns = &session.turns;
        let last = turns.last();
        let commits = Landed::of(session);
        let files = files(turns, roots);
        let changed = !commits.is_empty()
            || files.iter().any(|file| file.edits > 0)
            || calls(turns).any(fixes::has_changed);
        let (speaker, prompts) = speaker(turns);
        let plan = requests::plan(turns);
        let mut record = Self {
            version: VERSION,
            session: session.id.clone(),
            agent: session.agent.clone(),
            speaker,
            first: turns.first().map_or(Timestamp::default(), |turn| turn.at),
            last: last.map_or(Timestamp::default(), |turn| {
                turn.steps.last().map_or(turn.at, |step| step.at)
            }),
            folder: turns.first().map(|turn| turn.cwd.clone()).unwrap_or_default(),
            branch: last.map(|turn| turn.branch.clone()).unwrap_or_default(),
            title: requests::title(session, plan.as_ref(), &commits),
            first_request: requests::first(turns),
            last_request: requests::last(turns),
            prompts,
            changed,
            files,
            failing: ending::failing(turns, roots),
            passing: ending::passing(turns),
            commits,
            plan,
            tasks: tasks(turns),
            rejected: rejected(turns, roots),
            question: open_question(turns),
            stopped: stopped(turns),
            answer: super::plain(&turns.iter().rev().find_map(answer_of).unwrap_or_default()),
            ..Self::default()
        };
        outcome::add(&mut record, turns);
        record
    }
}

/// Returns the title of a session, the same as in its record.
pub fn title_of(session: &Session) -> String {
    requests::title(session, requests::plan(&session.turns).as_ref(), &Landed::of(session))
}

fn with_folders(session: &Session, roots: &Roots) -> Roots {
    roots.with_folders(session.turns.iter().map(|turn| turn.cwd.as_str()))
}

fn calls(turns: &[Turn]) -> impl Iterator<Item = &Call> {
    turns.iter().flat_map(|turn| &turn.steps).filter_map(|step| match &step.what {
        StepKind::Call(call) => Some(call.as_ref()),
        StepKind::Text { .. } | StepKind::Thinking { .. } | StepKind::Queued { .. } => None,
    })
}

/// Returns the speaker of the turns, and the number of prompts by this speaker.
fn speaker(turns: &[Turn]) -> (Option<Speaker>, usize) {
    let Some(speaker) = turns.iter().filter_map(|it| Speaker::of_prompt(it.prompt.by)).min() else {
        return (None, 0);
    };
    let is_prompt = |turn: &&Turn| {
        turn.prompt.by != PromptBy::Command
            && Speaker::of_prompt(turn.prompt.by) == Some(speaker)
            && !turn.prompt.text.trim().is_empty()
    };
    (Some(speaker), turns.iter().filter(is_prompt).count())
}

/// Returns the files that the turns read or edited, the most recent first.
fn files(turns: &[Turn], roots: &Roots) -> Vec<TouchedFile> {
    let mut files: BTreeMap<String, TouchedFile> = BTreeMap::new();
    for step in turns.iter().flat_map(|turn| &turn.steps) {
        let StepKind::Call(call) = &step.what else { continue };
        if call.failed || call.denied || call.interrupted {
            continue;
        }
        let (path, edits) = match &call.input {
            Input::Edit { path, .. } => (path, true),
            Input::Read { path } => (path, false),
            _ => continue,
        };
        let Some(path) = roots.relative(path) else { continue };
        let file = files.entry(path.clone()).or_default();
        file.path = path;
        file.last = step.at;
        if edits {
            file.edits += 1;
            file.edited = Some(step.at);
        } else {
            file.reads += 1;
        }
    }
    ordered(files.into_values().collect())
}

/// Returns the last todo list that is not empty.
pub fn todos(turns: &[Turn]) -> &[Todo] {
    let lists = calls(turns).filter_map(|call| match &call.input {
        Input::Todos { items } if !items.is_empty() => Some(items.as_slice()),
        _ => None,
    });
    lists.last().unwrap_or_default()
}

fn tasks(turns: &[Turn]) -> Vec<Todo> {
    let mut items = todos(turns).to_vec();
    // If the list is too long, completed items are omitted first.
    if items.len() > ITEMS_MAX {
        items.sort_by_key(is_done);
        items.truncate(ITEMS_MAX);
    }
    for item in &mut items {
        item.text = super::cut(&super::plain(&item.text), ITEM_CHARS_MAX);
    }
    items
}
