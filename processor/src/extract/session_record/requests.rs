//! Requests of a session, and the title that is derived from them.

use super::record::{AcceptedPlan, ITEM_CHARS_MAX, ITEMS_MAX, TEXT_CHARS_MAX};
use crate::extract::Landed;
use crate::extract::episode::{asked, handed_plan, plan_in, title_of_plan, words_of};
use crate::extract::{cut, goes_on, plain};
use crate::transcript::session::{Input, Session, StepKind, Turn};

/// Maximum number of characters of a title.
const TITLE_CHARS_MAX: usize = 120;

/// Returns the request of a turn; `None` if the prompt only continues the work, or contains only material.
fn request_of(turn: &Turn) -> Option<String> {
    let words = words_of(turn);
    let request = asked(words);
    let request = request.trim();
    (!request.is_empty() && !goes_on(words)).then(|| cut(request, TEXT_CHARS_MAX))
}

/// Returns the text of the first prompt that only continues the work. It is used if no prompt contains a request.
/// Pasted material is excluded, because it may be another person's.
fn any_words(turns: &[Turn]) -> String {
    let mut words = turns.iter().map(words_of);
    let words = words.find(|words| !words.trim().is_empty() && goes_on(words));
    cut(&plain(words.unwrap_or_default()), TEXT_CHARS_MAX)
}

/// Returns the first request.
pub fn first(turns: &[Turn]) -> String {
    turns.iter().find_map(request_of).unwrap_or_else(|| any_words(turns))
}

/// Returns the last request.
pub fn last(turns: &[Turn]) -> String {
    turns.iter().rev().find_map(request_of).unwrap_or_else(|| any_words(turns))
}

/// Returns the title of a session: the title in its transcript, or its first request, or the heading of its plan, or
/// the subject of its first commit. Texts that only continue the work, contain a plan or are a slash command are
/// skipped, because they do not describe the work.
pub fn title(session: &Session, plan: Option<&AcceptedPlan>, commits: &[Landed]) -> String {
    let turns = &session.turns;
    let given = session.title.as_deref().map(plain).filter(|title| is_title(title));
    let title = given
        .or_else(|| turns.iter().find_map(request_of))
        .or_else(|| plan.map(|plan| plan.title.clone()).filter(|title| !title.is_empty()))
        .or_else(|| commits.first().map(|commit| commit.subject.clone()))
        .unwrap_or_else(|| any_words(turns));
    cut(&title, TITLE_CHARS_MAX)
}

fn is_title(text: &str) -> bool {
    let hands_over = handed_plan(&format!("{text}:")).or_else(|| handed_plan(text)).is_some();
    !hands_over && !goes_on(text) && !text.starts_with(['/', '<'])
}

/// Returns the last plan that the user accepted, either in plan mode or by a prompt that contains the plan.
pub fn plan(turns: &[Turn]) -> Option<AcceptedPlan> {
    let of_turn = |turn: &Turn| {
        let steps = turn.steps.iter().rev();
        let mut plans = steps.filter_map(|step| match &step.what {
            StepKind::Call(call) if !call.failed && !call.denied && !call.interrupted => {
                match &call.input {
                    Input::Plan { plan } => Some(plan.clone()),
                    _ => None,
                }
            }
            _ => None,
        });
        plans.next().or_else(|| plan_in(words_of(turn)).map(str::to_owned))
    };
    let plan = turns.iter().rev().find_map(of_turn)?;
    let items = plan.lines().filter_map(item).take(ITEMS_MAX).collect();
    Some(AcceptedPlan { title: cut(&title_of_plan(&plan), TITLE_CHARS_MAX), items })
}

/// Returns the text of a list item; `None` for other lines.
fn item(line: &str) -> Option<String> {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = || line[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0);
    let marked = ["- [ ] ", "- [x] ", "- ", "* ", "+ "].iter().find_map(|it| line.strip_prefix(it));
    let text = plain(marked.or_else(numbered)?.trim());
    (!text.is_empty()).then(|| cut(&text, ITEM_CHARS_MAX))
}
