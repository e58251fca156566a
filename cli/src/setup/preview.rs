//! The preview of `init`: texts that hooks would inject now. The existing sessions are read in a temporary home without
//! a model, before anything is written into the repository.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::Write;

use memory_store::handoff::{Handoff, LeftSession};
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::UserDirs;
use memory_store::recall::{Hit, Recall, Search, Tier};
use memory_store::text::{excerpt, tokens};
use memory_store::{Timestamp, short_session};
use processor::collect::archive::Archive;
use processor::sync::SyncOptions;
use serde::Serialize;

use super::elsewhere;
use super::reader::WITHOUT_MODEL;
use crate::command::sync;
use crate::failure::{AtPath as _, Result};
use crate::sessions::{self, TypedPrompt};
use crate::view::style::{CARE, QUIET, STRONG, paint};
use crate::view::{self, clock, plain, wrap};
use crate::world::World;

/// Maximum number of prompts that are shown with an answer.
const EXAMPLES_MAX: usize = 5;
/// Maximum number of prompts that are tested, and of sessions from which they are taken; the latest ones are used.
const PROMPTS_MAX: usize = 60;
const SESSIONS_MAX: usize = 40;
/// Maximum number of answers that are compared for one prompt.
const FOUND_MAX: usize = 8;
/// Minimum number of terms that an answer shares with the prompt.
const SHARED_MIN: usize = 3;
/// Maximum characters of an answer.
const ANSWER_CHARS_MAX: usize = 300;

/// Texts that would be injected into a session.
#[derive(Debug, Default, Serialize)]
pub struct InitPreview {
    /// Number of transcripts read.
    pub transcripts: usize,
    /// Messages about sessions of this path that are not used for learning, with the command to decide about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unclaimed: Vec<String>,
    /// The handoff of the last session.
    pub handoff: Option<LeftSession>,
    /// Prompts from the history with the answers of earlier sessions, newest first.
    pub examples: Vec<Example>,
}

/// A prompt and the answer from an earlier session.
#[derive(Debug, PartialEq, Serialize)]
pub struct Example {
    /// The time of the prompt.
    at: Timestamp,
    prompt: String,
    /// The time of the answer.
    answered: Timestamp,
    /// The session of the answer.
    session: String,
    answer: String,
}

/// Reads the history and searches it. Nothing is stored permanently.
pub fn of(world: &World, observed: &Observed) -> Result<InitPreview> {
    let folder = crate::world::temporary_folder()?;
    let place = |name: &str| folder.path().join(name);
    // In a home without settings, no model is used and nothing is sent to other machines.
    let dirs = UserDirs {
        data: place("data"),
        state: place("state"),
        config: place("config"),
        claude: world.dirs.claude.clone(),
        models: None,
    };
    let tree =
        identity::vouch(&dirs, observed, Some(Mode::Private), crate::world::random()?, world.now)?;
    let found = processor::collect::discover::transcripts(&dirs, &tree)?;
    let (transcripts, unclaimed) = (found.transcripts.len(), found.unclaimed.messages());
    if transcripts == 0 {
        return Ok(InitPreview { unclaimed, ..InitPreview::default() });
    }
    let shown = sync::shown();
    let options =
        SyncOptions { dirs: &dirs, ollama_host: None, ..world.sync_options(&tree, &*shown) };
    processor::sync::sync(&options)?;
    let left = Handoff::read(&dirs.tree(&tree.root).handoff);
    let archive = Archive::open(&dirs.project(tree.project));
    let prompts = sessions::typed_prompts(&archive, SESSIONS_MAX, PROMPTS_MAX)?;
    let recall = Recall::open(&dirs, &tree, None);
    let examples = examples(&recall, prompts, world.now);
    folder.close().at(&std::env::temp_dir())?;
    let handoff = left.sessions.into_iter().next();
    Ok(InitPreview { transcripts, unclaimed, handoff, examples })
}

/// Returns the prompts with the best answers in earlier sessions, newest first.
fn examples(recall: &Recall, prompts: Vec<TypedPrompt>, now: Timestamp) -> Vec<Example> {
    let answered = |prompt: TypedPrompt| answer(recall, &prompt, now).map(|hit| (prompt, hit));
    let mut found: Vec<(TypedPrompt, Hit)> = prompts.into_iter().filter_map(answered).collect();
    found.sort_by(|(_, a), (_, b)| b.score.total_cmp(&a.score));
    found.truncate(EXAMPLES_MAX);
    found.sort_by_key(|(prompt, _)| Reverse(prompt.at));
    let example = |(prompt, hit): (TypedPrompt, Hit)| Example {
        at: prompt.at,
        answered: hit.date,
        session: hit.session.unwrap_or_default(),
        answer: excerpt(&wrap::cut(&hit.text, usize::MAX), &prompt.text, ANSWER_CHARS_MAX),
        prompt: prompt.text,
    };
    found.into_iter().map(example).collect()
}

/// Returns the best answer to a prompt in earlier sessions.
fn answer(recall: &Recall, prompt: &TypedPrompt, now: Timestamp) -> Option<Hit> {
    let search = Search {
        text: prompt.text.clone(),
        tier: Tier::Passages,
        limit: FOUND_MAX,
        // Only earlier turns are searched, since otherwise the prompt itself would be the best match.
        until: Some(Timestamp(prompt.at.0 - 1)),
        ..Search::default()
    };
    let found = recall.search(&search, now).hits;
    let is_answer = |hit: &Hit| {
        hit.session.as_ref() != Some(&prompt.session)
            && shared_terms(&prompt.text, &hit.text) >= SHARED_MIN
    };
    found.into_iter().find(is_answer)
}

/// Counts the distinct terms that two texts share.
fn shared_terms(one: &str, other: &str) -> usize {
    let terms = |text: &str| -> BTreeSet<String> {
        tokens(text).into_iter().map(|token| token.term).collect()
    };
    terms(one).intersection(&terms(other)).count()
}

/// Prints the preview.
pub fn show(preview: &InitPreview, out: &mut dyn Write) -> Result {
    for unclaimed in &preview.unclaimed {
        writeln!(out, "{} {}", paint(CARE, "!"), plain(unclaimed))?;
    }
    if preview.transcripts == 0 {
        writeln!(out, "Claude Code has no session of this project yet.")?;
        return Ok(());
    }
    let read = view::plural(preview.transcripts, "transcript");
    writeln!(out, "{}", paint(STRONG, format_args!("What a session would be told, from {read}")))?;
    if let Some(left) = &preview.handoff {
        writeln!(out, "\n{}\n", paint(STRONG, "When it begins: where the work was left"))?;
        view::handoff::show(left, out)?;
    }
    if preview.examples.is_empty() {
        writeln!(out, "No prompt of this history is answered by a session before it.\n")?;
        return Ok(());
    }
    let count = view::plural(preview.examples.len(), "prompt");
    let heading = format!("{count} of this history, and what earlier sessions answer");
    writeln!(out, "{}\n", paint(STRONG, heading))?;
    for Example { at, prompt, answered, session, answer } in &preview.examples {
        let prompt = wrap::cut(&plain(prompt), wrap::room().saturating_sub(12));
        writeln!(out, "{}  {prompt}", paint(QUIET, clock::date(*at)))?;
        let from = format!("{}, session {}:", clock::date(*answered), short_session(session));
        writeln!(out, "            {} {}\n", paint(QUIET, plain(&from)), plain(answer))?;
    }
    Ok(())
}

/// Prints the preview without changing anything.
pub fn run(world: &World, observed: &Observed, json: bool, out: &mut dyn Write) -> Result {
    let preview = of(world, observed)?;
    if json {
        return view::json(&preview, out);
    }
    show(&preview, out)?;
    if preview.transcripts == 0 {
        for elsewhere in elsewhere::history(&world.dirs, &observed.root) {
            writeln!(out, "{}", elsewhere.description())?;
        }
    }
    Ok(writeln!(out, "Nothing was written, and no model was asked. {WITHOUT_MODEL}")?)
}
