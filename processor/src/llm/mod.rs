//! Extraction by a language model: windows of redacted turns are sent, drafts with verbatim evidence are returned.
//! Without an answer nothing is learned, and the next run asks again.

pub mod aside;
pub mod estimate;
pub mod host;
pub mod local_models;
pub mod names;
pub mod prices;
pub mod trouble;
pub mod usage;

mod answer;
mod ask;
mod cache;
mod claude;
mod elsewhere;
mod ending;
mod fault;
mod ground;
mod http;
mod masks;
mod merge;
pub(crate) mod ollama;
mod openai;
mod overtaken;
pub mod pause;
mod program;
mod provider;
mod relations;
mod room;
mod standing;
mod topics;
mod window;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use ask::VERSION;
pub use claude::MODEL as CLAUDE_MODEL;
pub(crate) use fault::ModelFault;
pub use host::is_local;
pub use usage::Usage;

use memory_store::Timestamp;
use memory_store::memory::Memory;
use memory_store::redact::{Names, RedactOptions, Redactor};
use memory_store::settings::{self, Llm, Settings};

use crate::extract::RuleFindings;
use crate::extract::draft::Draft;
use crate::machine::Machine;
use crate::transcript::session::Session;
use aside::AsideQuestions;
use ask::ModelQuestion;
use cache::AnswerCache;
use elsewhere::ClientEnvironment;
use ending::Ending;
use fault::AfterFault;
use host::ModelServer;
use masks::Masks;
use pause::ModelPause;
use provider::{ModelReply, Provider};
use room::ModelRoom;
use topics::Topics;
use trouble::Trouble;
use usage::Meter;
use window::SessionWindow;

/// Joins texts while they are masked together; removed from them before.
const SEAM: &str = "\u{1e}";

/// Maximum number of consecutive faults of kinds that may affect all questions; after that the model is not asked
/// again.
const ROW_MAX: u32 = 2;

/// Minimum number of proposed memories before the share supported by the sessions is reported.
const PROPOSED_MIN: usize = 5;

/// Characters of a token, if a provider does not count them.
const TOKEN_CHARS: u64 = 4;

/// Returns whether a current reader found a memory: the model of the settings, or the rules, which look for wishes
/// alongside every model.
pub(crate) fn is_current_reader(memory: &Memory, settings: &Settings) -> bool {
    let is_model =
        |llm: &Llm| memory.source.reader() == Some(&format!("{}/{}", llm.provider, llm.model));
    memory.source.is_of_rules() || settings.llm.as_ref().is_some_and(is_model)
}

/// Drafts extracted from a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extracted {
    /// The model's drafts, and wishes that they do not cover.
    pub drafts: Vec<Draft>,
    /// Windows that the model did not answer; they are worth asking about again.
    pub missing: usize,
    /// The amount of work, in windows of the usual size.
    pub windows: usize,
}

/// Project and machine that a model is opened for.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// The variable `OLLAMA_HOST`, used when the settings name no host.
    pub ollama_host: Option<&'a str>,
    /// The folder of the project's answers.
    pub cache_dir: &'a Path,
    /// The file that records the costs; see [`usage::ledger`].
    pub ledger: Option<PathBuf>,
    /// The project's working trees, whose settings of Claude Code apply.
    pub roots: &'a [PathBuf],
    /// The current time, from which the day is derived.
    pub now: Timestamp,
}

/// Condition for sending questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskWhen {
    /// At any time.
    Always,
    /// Not at all.
    Never,
    /// Until then.
    Until(Instant),
    /// Until then, and once at least: a slow machine gets on, too.
    OnceUntil(Instant),
}

/// A model ready to be asked, for as many sessions as there are.
pub struct LanguageModel {
    provider: Box<dyn Provider>,
    /// The host that the settings name.
    host: String,
    cache: AnswerCache,
    room: ModelRoom,
    redactor: Redactor,
    /// The masks of windows sent to another machine, and the finder of names in them.
    masks: Option<Masks>,
    names: Option<Result<names::Finder, String>>,
    meter: Meter,
    aside: AsideQuestions,
    /// The folder of the answers, for what is written down beside them.
    folder: PathBuf,
    /// When this run began.
    now: Timestamp,
    /// Whether the last question is known to have failed.
    in_trouble: bool,
    /// The current session.
    session: String,
    /// Whether it answered anything in this run.
    answered: bool,
    /// Consecutive faults of kinds that may affect all questions.
    row: u32,
    /// Why it is asked no more.
    down: Option<ModelFault>,
    /// Until when it is asked, so that what is known by then can be used.
    asked: AskWhen,
    /// Pause for the sake of the machine, where the model runs on it.
    pause: Option<ModelPause>,
    /// Questions that were put, whatever came of them.
    put: usize,
    /// Questions that it answered.
    questions: usize,
    /// Number of memories proposed in these answers, and of those that the sessions support.
    proposed: usize,
    shown: usize,
    /// Topics of the project's memories, which an answer may choose from.
    topics: Topics,
}

impl LanguageModel {
    /// Prepares the model that the settings name for a project; `None` when they name none. Its cost is written down
    /// and held to a day's bounds.
    ///
    /// # Errors
    /// Returns the reason as text; a server on another machine needs the user's consent by name.
    pub fn open(all: &Settings, surroundings: &Surroundings<'_>) -> Result<Option<Self>, String> {
        let Some(settings) = &all.llm else { return Ok(None) };
        let Surroundings { ollama_host, cache_dir, ledger, roots, now } = surroundings;
        let provider = provider(settings, *ollama_host, roots)?;
        let masks = (!provider.is_local()).then(|| Masks::new(all));
        let names = match masks {
            Some(_) => names::Finder::open(all, *ollama_host, cache_dir).transpose(),
            None => None,
        };
        let meter = Meter::new(ledger.clone(), *now, settings, provider.is_local());
        Ok(Some(Self::with(provider, meter, cache_dir, all, masks, names, *now)))
    }

    fn with(
        provider: Box<dyn Provider>,
        meter: Meter,
        cache_dir: &Path,
        all: &Settings,
        masks: Option<Masks>,
        names: Option<Result<names::Finder, String>>,
        now: Timestamp,
    ) -> Self {
        Self {
            provider,
            host: all.llm.as_ref().map(|llm| llm.host.clone()).unwrap_or_default(),
            cache: AnswerCache::new(cache_dir),
            room: ModelRoom::of(all.llm.as_ref().unwrap_or(&Llm::default())),
            redactor: Redactor::new(&RedactOptions::for_store(all, false)),
            masks,
            names,
            meter,
            aside: AsideQuestions::read(cache_dir),
            folder: cache_dir.to_owned(),
            in_trouble: trouble::read(cache_dir).is_some(),
            now,
            session: String::new(),
            answered: false,
            row: 0,
            down: None,
            asked: AskWhen::Always,
            pause: None,
            put: 0,
            questions: 0,
            proposed: 0,
            shown: 0,
            topics: Topics::default(),
        }
    }

    /// Sets when it is asked; answers that are known count all the same.
    pub fn ask(&mut self, when: AskWhen) {
        self.asked = when;
    }

    /// Makes it pause under load of the machine, if it runs on it.
    pub fn pause_for(&mut self, machine: &Machine, on: settings::Pause) {
        self.pause = self.provider.is_local().then(|| ModelPause::new(machine, on));
    }

    /// Returns whether it is not asked again in this run because of the load of the machine.
    pub fn is_paused(&mut self) -> bool {
        self.pause.as_mut().is_some_and(ModelPause::is_on)
    }

    /// Returns the number of answered questions.
    pub fn questions(&self) -> usize {
        self.questions
    }

    /// Returns whether any question was sent to it in this run.
    pub fn was_asked(&self) -> bool {
        self.put > 0
    }

    /// Returns whether it is not asked again in this run, whatever the time.
    pub fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// Returns whether it may be asked at this moment.
    fn has_time(&mut self) -> bool {
        let has_time = match self.asked {
            AskWhen::Always => true,
            AskWhen::Never => false,
            AskWhen::Until(until) => Instant::now() < until,
            AskWhen::OnceUntil(until) => self.put == 0 || Instant::now() < until,
        };
        has_time && !self.is_paused()
    }

    /// Returns a notice for the user about the answers of this run if the sessions support few of the proposed
    /// memories.
    pub fn unshown(&self) -> Option<String> {
        let (proposed, shown) = (self.proposed, self.shown);
        (proposed >= PROPOSED_MIN && shown * 2 < proposed).then(|| {
            format!(
                "{}: of {proposed} memories that it proposed the sessions show {shown}; the others were left out. A \
                 larger model may do better.",
                self.name()
            )
        })
    }

    /// Returns the model's drafts for a session, and the `wishes` that they do not cover. The reasons for missing
    /// answers are added to `report`, each reason once.
    pub fn extract(
        &mut self,
        session: &Session,
        wishes: Vec<Draft>,
        report: &mut Vec<String>,
    ) -> Extracted {
        self.extract_part(
            session,
            session,
            RuleFindings { wishes, ..RuleFindings::default() },
            report,
        )
    }

    /// Returns the same for a part of a session that ends with `last_part`.
    pub fn extract_part(
        &mut self,
        session: &Session,
        last_part: &Session,
        found: RuleFindings,
        report: &mut Vec<String>,
    ) -> Extracted {
        self.session.clone_from(&session.id);
        let windows = window::windows(session, self.room.window_chars);
        let ending = Ending::of(last_part).text_within(self.room.ending_chars);
        let name = self.provider.name();
        let (mut proposed, mut earlier) = (Vec::new(), Vec::new());
        let mut missing = 0;
        let mut tell = |fault: ModelFault, instead: &str| {
            if matches!(fault, ModelFault::Later) {
                missing += 1;
                return;
            }
            missing += usize::from(!fault.is_settled());
            let line = format!("{name}: {fault}. {instead}");
            if !report.contains(&line) {
                report.push(line);
            }
        };
        for window in &windows {
            let questions = self.questions;
            match self.proposed(window, &ending) {
                Ok(answers) => {
                    let said = answers.len();
                    let grounded = ground::drafts(window, answers, &session.id, &name);
                    let shown = grounded.drafts;
                    shown
                        .iter()
                        .filter_map(|it| it.topic.as_deref())
                        .for_each(|it| self.topics.add(it));
                    if self.questions > questions {
                        self.proposed += said;
                        self.shown += said - grounded.unshown;
                        self.note_end(window, &ending);
                    } else if self.saw_another_end(window, &ending) {
                        earlier.extend(proposed.len()..proposed.len() + shown.len());
                    }
                    proposed.extend(shown);
                }
                Err(fault) => tell(fault, "What it has not read is not learned yet."),
            }
        }
        if let Err(fault) = self.check(&mut proposed, &earlier, &ending) {
            tell(fault, "What it said of a session that grew since stands.");
        }
        let drafts = merge::merge(found.wishes, &found.record.cures, proposed);
        Extracted { drafts, missing, windows: self.room.usual_windows(windows.len()) }
    }

    /// Returns the name of the provider and its model, in the form stored in memories.
    fn name(&self) -> String {
        self.provider.name()
    }

    fn proposed(
        &mut self,
        window: &SessionWindow,
        ending: &str,
    ) -> Result<Vec<answer::ProposedMemory>, ModelFault> {
        let text = window.text();
        let is_short = self.room.is_short;
        let around = self.around(window);
        self.asked(
            &text,
            &[ending, &text],
            |parts, note| ask::window(&parts[1], &parts[0], &format!("{around}{note}"), is_short),
            answer::read,
        )
    }

    /// Returns what a question has besides the window: its day, which dates are counted from, and the topics that there
    /// are. No answer depends on them so much that it is kept by them.
    fn around(&self, window: &SessionWindow) -> String {
        let mut around = String::new();
        if let Some(first) = window.pieces.first() {
            around.push_str(&format!("The part is of {}.\n", first.at.date()));
        }
        let may_leave = |topic: &str| {
            let masked = self.masks.as_ref().map(|masks| masks.mask(topic, Names::default()));
            masked.is_none_or(|masked| masked.text == topic)
        };
        let topics = self.topics.text_within(self.room.topic_chars, &may_leave);
        if !topics.is_empty() {
            around.push_str(&format!("Topics of the project: {topics}\n"));
        }
        around
    }

    /// Adds topics that the memories of the project have.
    pub fn add_topics<'t>(&mut self, topics: impl Iterator<Item = &'t str>) {
        topics.filter_map(answer::topic).for_each(|topic| self.topics.add(&topic));
    }

    /// Sends a question about some texts and reads the answer. The answer is cached under `key`, so that the same
    /// question is sent once. `question` gets the texts in the form for the model and a note on how they are written;
    /// `read` gets the answer in its cached form.
    fn asked<T>(
        &mut self,
        key: &str,
        texts: &[&str],
        question: impl FnOnce(&[String], &str) -> ModelQuestion,
        read: impl Fn(&str) -> Result<Vec<T>, answer::NoJson>,
    ) -> Result<Vec<T>, ModelFault>
    where
        T: answer::HasTexts,
    {
        let name = self.provider.name();
        let texts: Vec<String> = texts.iter().map(|text| text.replace(SEAM, " ")).collect();
        let shown = texts.join(SEAM);
        let known_names = match &mut self.names {
            Some(Ok(finder)) => finder.find(&shown),
            Some(Err(problem)) => Err(problem.clone()),
            None => Ok(Names::default()),
        };
        // With names in it that nobody could look for, it does not leave.
        let known_names = known_names.map_err(ModelFault::Names)?;
        // Masked in one piece, so that a mask stands for one thing in all texts.
        let masked = self.masks.as_ref().map(|masks| masks.mask(&shown, known_names));
        let read = |given: &str| {
            let mut answers = read(given)?;
            // An answer that consists of a mask has no content.
            if let Some(masked) = &masked {
                answers.retain(|answer| !answer.has(&|text| masked.is_masked(text)));
            }
            Ok::<_, answer::NoJson>(answers)
        };
        let known = self.cache.get(&name, key);
        // Settings about redaction may have changed since it was kept.
        let known = known.and_then(|given| read(&self.redactor.redact(&given)).ok());
        if let Some(answers) = known {
            return Ok(answers);
        }
        let id = AnswerCache::id(&name, key);
        if self.aside.holds(&id) {
            return Err(ModelFault::Aside);
        }
        if let Some(fault) = &self.down {
            return Err(fault.clone());
        }
        if !self.has_time() {
            return Err(ModelFault::Later);
        }
        let question = match &masked {
            Some(masked) => question(&parts(&masked.text), &masked.note()),
            None => question(&parts(&shown), ""),
        };
        self.put += 1;
        let asked = self.put(&question.within(self.room.answer_tokens));
        self.note(asked.as_ref().err());
        let answers = asked.and_then(|mut given| {
            if let Some(masked) = &masked {
                given = masked.restore(&given);
            }
            // An answer is text from outside like any other.
            let given = self.redactor.redact(&given).into_owned();
            let answers = read(&given).map_err(|answer::NoJson| {
                self.meter.note_unusable(&name, &self.session);
                ModelFault::Answer("it is no JSON".to_owned())
            })?;
            Ok((given, answers))
        });
        match answers {
            Ok((given, answers)) => {
                self.answered = true;
                self.questions += 1;
                if std::mem::take(&mut self.in_trouble) {
                    trouble::write(&self.folder, None);
                }
                self.aside.answered(&id);
                // Without a cache the question is sent again next time, which costs time only.
                drop(self.cache.put(&name, key, &given));
                Ok(answers)
            }
            Err(fault) => {
                if fault.is_of_the_question(self.answered) {
                    self.aside.failed(&id);
                }
                self.remember(&fault);
                Err(fault)
            }
        }
    }

    /// Has `status` tell why there was no answer. A bound that is reached it sees for itself.
    fn remember(&mut self, fault: &ModelFault) {
        if !matches!(fault, ModelFault::Bound(_)) {
            let why = self.redactor.redact(&fault.to_string()).into_owned();
            let (provider, host) = (self.provider.name(), self.host.clone());
            let trouble = Trouble { provider, host, at: self.now, why };
            trouble::write(&self.folder, Some(&trouble));
            self.in_trouble = true;
        }
    }

    /// Puts a question, again where that may help, within what the day may cost.
    fn put(&mut self, question: &ModelQuestion) -> Result<String, ModelFault> {
        let name = self.provider.name();
        for repeats in 0.. {
            let usd_max = self.meter.allow(&name)?;
            let begun = Instant::now();
            let ModelReply { answer, usage } = self.provider.ask(question, usd_max);
            if let Some(pause) = &self.pause {
                pause.add(begun, Instant::now());
            }
            let usage = match &answer {
                Ok(answer) if usage.tokens() == 0 => counted(question, answer, usage.usd),
                Ok(_) | Err(_) => usage,
            };
            let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.meter.note(&name, &self.session, Usage { millis, ..usage }, answer.is_err());
            match answer.as_ref().err().and_then(|fault| fault.pause(repeats)) {
                Some(pause) => std::thread::sleep(pause),
                None => return answer,
            }
        }
        unreachable!("no fault is repeated for ever")
    }

    /// Gives up on a model that is not there, or that fails again and again.
    fn note(&mut self, fault: Option<&ModelFault>) {
        let Some(fault) = fault else { return self.row = 0 };
        match fault.next() {
            AfterFault::Ask => return,
            AfterFault::AskOnce => self.row += 1,
            AfterFault::Stop => self.row = ROW_MAX,
        }
        if self.row >= ROW_MAX {
            self.down = Some(fault.clone());
        }
    }
}

/// Estimates the tokens of a question that nobody counted.
fn counted(question: &ModelQuestion, answer: &str, usd: Option<f64>) -> Usage {
    let tokens = |text: &str| text.len() as u64 / TOKEN_CHARS + 1;
    let tokens_in = tokens(question.instructions) + tokens(&question.text);
    Usage { tokens_in, tokens_out: tokens(answer), usd, millis: 0 }
}

/// Returns the provider named in the settings. `Err` contains the reason as text.
fn provider(
    settings: &Llm,
    ollama_host: Option<&str>,
    roots: &[PathBuf],
) -> Result<Box<dyn Provider>, String> {
    let model = settings.model.trim();
    if model.is_empty() {
        return Err("no model is named; set `llm.model`".to_owned());
    }
    let agreed =
        |variable| ModelServer::agreed(&settings.host, variable, &settings.consented_hosts, "llm");
    let most = (ollama::seconds(settings.timeout_s), "llm.timeout_s");
    let room = ModelRoom::of(settings);
    match settings.provider.as_str() {
        "ollama" => {
            let ollama = ollama::Ollama::new(agreed(ollama_host)?, model, most)?;
            Ok(Box::new(ollama.within(room)))
        }
        "openai" if settings.host.trim().is_empty() => {
            Err("no server is named; set `llm.host`".to_owned())
        }
        "openai" => {
            let key = key(&settings.api_key_env)?;
            Ok(Box::new(openai::OpenAi::new(agreed(None)?, model, key, most, room)?))
        }
        "claude" => {
            let server = match settings.host.trim() {
                "" => None,
                _ => Some(agreed(None)?),
            };
            let environment = ClientEnvironment::of_process();
            let claude = claude::Claude::new(environment, roots, server, model, most);
            Ok(Box::new(claude.map_err(|fault| fault.to_string())?))
        }
        other => Err(format!("`{other}` is no provider; use `ollama`, `openai` or `claude`")),
    }
}

/// Returns the key of a server, from the variable named in the settings.
#[expect(clippy::disallowed_methods, reason = "the settings name the variable")]
fn key(variable: &str) -> Result<Option<String>, String> {
    if variable.is_empty() {
        return Ok(None);
    }
    match std::env::var(variable) {
        Ok(key) if !key.trim().is_empty() => Ok(Some(key.trim().to_owned())),
        Ok(_) | Err(_) => Err(format!(
            "the environment variable {variable}, which `llm.api_key_env` names, is not set"
        )),
    }
}

/// Returns why a provider cannot be asked: no consent, no program, or another endpoint than that of the sessions at
/// `roots`. Nothing is sent.
pub fn problem(settings: &Llm, ollama_host: Option<&str>, roots: &[PathBuf]) -> Option<String> {
    provider(settings, ollama_host, roots).err()
}

/// Returns a mark that distinguishes a model's answers by context size; empty for the usual size.
pub fn context_mark(settings: &Llm) -> String {
    ModelRoom::of(settings).mark()
}

/// Returns the context size, in tokens, of the model named in the settings, if its server reports one that is smaller
/// than usual. Servers without the user's consent, in the settings or in `consent`, are not asked.
pub fn small_context(settings: &Llm, consent: &[String]) -> Option<u32> {
    if settings.provider != "openai" {
        return None;
    }
    let hosts = [&settings.consented_hosts[..], consent].concat();
    let server = ModelServer::agreed(&settings.host, None, &hosts, "llm").ok()?;
    openai::context(&server, settings.model.trim()).filter(|tokens| *tokens < room::CONTEXT_TOKENS)
}

/// Names the account that pays for questions to Claude Code.
pub fn claude_bill() -> &'static str {
    ClientEnvironment::of_process().bill()
}

/// Returns the version of the installed Claude Code, if it reports one.
pub fn claude_version() -> Option<prices::ClientVersion> {
    claude::version(&ClientEnvironment::of_process())
}

/// Splits texts joined by [`SEAM`].
fn parts(shown: &str) -> Vec<String> {
    shown.split(SEAM).map(str::to_owned).collect()
}

/// Returns the models of the Ollama at `host`, best first; without `host`, at the address in the variable
/// `OLLAMA_HOST`, or on this machine. `None` if there is no answer. No user data is sent, but another machine can
/// observe the request.
///
/// # Errors
/// Returns why it is not asked: it is another machine, and none of `consented_hosts`.
pub fn probe(
    host: &str,
    variable: Option<&str>,
    consented_hosts: &[String],
) -> Result<Option<Vec<String>>, String> {
    let server = ModelServer::named(host, variable)?;
    match server.is_allowed(consented_hosts) {
        true => Ok(ollama::models(&server)),
        false => Err(format!("{} is another machine, and nobody agreed to ask it", server.name())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use memory_store::Timestamp;
    use memory_store::memory::SaidBy;
    use memory_store::redact::{Personal, RedactOptions};

    use super::*;
    use crate::transcript::session::{Prompt, Turn};

    /// Another machine: it records its questions and quotes them.
    struct Elsewhere(Arc<Mutex<Vec<String>>>);

    impl Provider for Elsewhere {
        fn name(&self) -> String {
            "elsewhere".to_owned()
        }

        fn is_local(&self) -> bool {
            false
        }

        fn ask(&self, question: &ModelQuestion, _usd_max: Option<f64>) -> ModelReply {
            self.0.lock().unwrap().push(question.text.clone());
            let said = question.text.lines().find_map(|line| line.strip_prefix("[user] "));
            let said = said.unwrap_or_default();
            let mask = said.split_whitespace().find(|word| word.starts_with("EMAIL_"));
            let mask = mask.unwrap_or("nobody").trim_end_matches('.');
            let (wrong, _) = mask.split_at(mask.len() - 1);
            let memory = |title: String, quote: &str| serde_json::json!({"kind": "preference", "title": title, "text": "", "quote": quote});
            let memories = [
                memory(format!("Ask {mask} before releases"), said),
                memory(format!("Ask EMAIL_7_{} before releases", &mask[mask.len() - 4..]), said),
                memory(format!("Ask {wrong} before releases"), said),
            ];
            let answer = Ok(serde_json::json!({ "memories": memories }).to_string());
            ModelReply { answer, usage: Usage::default() }
        }
    }

    #[test]
    fn another_machine_is_asked_whatever_this_one_does() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("loadavg"), "900.0 900.0 900.0").unwrap();
        let machine = Machine::new(Some(folder.path().to_owned()));
        let (settings, seen) = (Settings::default(), Arc::default());
        let meter = Meter::new(None, Timestamp(0), &Llm::default(), false);
        let provider = Box::new(Elsewhere(seen));
        let cache = folder.path().join("llm");
        let mut model =
            LanguageModel::with(provider, meter, &cache, &settings, None, None, Timestamp(0));
        model.pause_for(&machine, settings::Pause::Auto);
        assert!(!model.is_paused() && model.has_time());
        for (provider, rests) in [("ollama", true), ("openai", true), ("claude", false)] {
            let provider = provider.to_owned();
            let llm = Llm { provider, host: "127.0.0.1:9".to_owned(), ..Llm::default() };
            assert_eq!(pause::strain(&llm, None, &machine).is_some(), rests, "{llm:?}");
            let llm = Llm { host: "box.example:9".to_owned(), ..llm };
            assert_eq!(pause::strain(&llm, None, &machine), None, "{llm:?}");
        }
    }

    #[test]
    fn another_machine_sees_masks_and_memories_have_what_they_stand_for() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let cache = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let meter = Meter::new(None, Timestamp(0), &Llm::default(), false);
        let provider = Box::new(Elsewhere(Arc::clone(&seen)));
        let masks = Some(Masks::new(&settings));
        let mut model = LanguageModel::with(
            provider,
            meter,
            cache.path(),
            &settings,
            masks,
            None,
            Timestamp(0),
        );
        let text = "Please ask ann@shop.org before releases, the token is ghp_16C7e42F292c6912E7710c838347Ae178B4a.";
        let prompt = Prompt { text: text.to_owned(), ..Prompt::default() };
        let turn = Turn { uuid: "p".into(), at: Timestamp(1), prompt, ..Turn::default() };
        let session = Session { id: "s".into(), turns: vec![turn], ..Session::default() };
        let mut extract = || model.extract(&session, Vec::new(), &mut Vec::new()).drafts;
        // The quote contains a placeholder for the token, so it does not occur in the session.
        assert_eq!(extract(), []);
        let saw = seen.lock().unwrap().concat();
        assert!(saw.contains("EMAIL_1_") && saw.contains("copy them unchanged"), "{saw}");
        assert!(!saw.contains("ann@shop.org") && !saw.contains("ghp_"), "{saw}");

        let text = "Please ask ann@shop.org. before releases go out";
        let mut session = session.clone();
        session.turns[0].prompt.text = text.to_owned();
        // From the answer itself, and from its cached form.
        for _ in 0..2 {
            let drafts = model.extract(&session, Vec::new(), &mut Vec::new()).drafts;
            let [draft] = &drafts[..] else { panic!("{drafts:?}") };
            assert_eq!(draft.title, "Ask ann@shop.org before releases");
            assert_eq!((draft.quote.as_str(), draft.said_by), (text, SaidBy::User));
        }
        assert_eq!(seen.lock().unwrap().len(), 2);
        // In a commit, the policy of committed files applies.
        let committed = RedactOptions { personal: Personal::COMMITTED, ..RedactOptions::default() };
        let committed = Redactor::new(&committed);
        assert_eq!(committed.redact("Ask ann@shop.org"), "Ask [redacted:email]");
    }
}
