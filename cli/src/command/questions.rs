//! The questions of `init`, at most three, all asked before anything is written. Each has a flag.

use std::io::Write;

use memory_store::identity::Mode;

use super::ignore_lines::Consent;
use super::init_options::Init;
use super::plan::{Plan, Question};
use super::reader::{self, Chosen};
use super::scene::Scene;
use super::{ask, view};
use crate::claude::places::Scope;
use crate::failure::{Failure, Result};
use crate::world::World;

/// Answers: by a flag, by what was chosen before, or by the person.
pub struct Answers {
    /// Reader of sessions; `None` where that stays as it was.
    pub reader: Option<Chosen>,
    /// How memories are kept.
    pub mode: Mode,
    /// Whether they wait for a review before they come into the repository.
    pub drafts: bool,
    /// Owner of the settings that the hooks go into.
    pub scope: Scope,
    /// Whether the lines of the plan are written that keep memories out of packages.
    pub ignore_lines: bool,
}

/// Asks what the plan leaves open. `chosen` is the reader where that is not asked.
pub fn answers(
    args: &Init,
    world: &World,
    scene: &Scene,
    plan: &Plan,
    chosen: Option<Chosen>,
    out: &mut dyn Write,
) -> Result<Answers> {
    let mode = args.mode().or(scene.mode()).unwrap_or(Mode::Committed);
    let mut answers = Answers {
        reader: chosen,
        mode,
        drafts: args.drafts,
        scope: args.scope(scene),
        ignore_lines: matches!(plan.consent(args), Consent::Given | Consent::WithMemories),
    };
    for question in &plan.questions {
        match question {
            Question::Reader => {
                let reader = reader::ask(world, &scene.found, out)?.ok_or_else(left)?;
                answers.reader = Some(reader::look_at(world, &reader, false)?);
            }
            Question::Memories => {
                (answers.mode, answers.drafts) = memories(!plan.ignore_lines.is_empty())?;
            }
            Question::Hooks => answers.scope = hooks(world, scene)?,
            Question::Packages => {
                let question = "Add these lines, so that packages are made without memories?";
                answers.ignore_lines = ask::confirm(world, question, true)?;
            }
        }
    }
    Ok(answers)
}

fn memories(has_lines: bool) -> Result<(Mode, bool)> {
    select(
        match has_lines {
            true => "Where are memories to be kept (in the repository: with the lines above)?",
            false => "Where are memories to be kept?",
        },
        &[
            (
                (Mode::Committed, false),
                "Into the repository, for the team to review and commit".to_owned(),
            ),
            (
                (Mode::Committed, true),
                "Drafts first: `throughline review` takes them into the repository".to_owned(),
            ),
            ((Mode::Private, false), "Private: into your data directory".to_owned()),
        ],
    )
}

fn hooks(world: &World, scene: &Scene) -> Result<Scope> {
    let root = &scene.observed.root;
    let name = |scope| {
        let path = world.claude.settings(scope, root);
        match path.strip_prefix(root) {
            Ok(below) if scope != Scope::User => view::path(below),
            Ok(_) | Err(_) => view::folder(&path, &world.home),
        }
    };
    select(
        "Whom are the hooks for?",
        &[
            (Scope::User, format!("You, in every project that is set up ({})", name(Scope::User))),
            (Scope::Local, format!("You, in this project ({})", name(Scope::Local))),
            (
                Scope::Project,
                format!("Everybody in this project ({}, which you commit)", name(Scope::Project)),
            ),
        ],
    )
}

fn select<T: Copy>(prompt: &str, items: &[(T, String)]) -> Result<T> {
    let labels: Vec<String> = items.iter().map(|(_, text)| text.clone()).collect();
    let chosen = ask::select(prompt, &labels, 0)?;
    chosen.and_then(|at| items.get(at)).map(|(answer, _)| *answer).ok_or_else(left)
}

/// Says that a question was left.
fn left() -> Failure {
    Failure::new("nothing was set up")
        .hint("`throughline init --dry-run` shows what it would do; `--help` names the flags.")
}
