//! Extraction by a language model. Windows of redacted turns are sent to the model, which returns drafts with verbatim
//! evidence. If there is no answer, nothing is learned, and the next run sends the question again.

pub mod aside;
pub mod estimate;
pub mod host;
pub mod local_models;
pub mod person_names;
pub mod prices;
pub mod question;
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
use masks::{Masked, Masks};
use pause::ModelPause;
use provider::{ModelReply, Provider};
use room::ModelRoom;
use topics::Topics;
use trouble::Trouble;
use usage::Meter;
use window::SessionWindow;

/// Separator between texts that are masked together. It is removed from the texts first.
const SEAM: &str = "\u{1e}";

/// Maximum number of consecutive faults of kinds that may affect all questions. After that, the model gets no more
/// questions.
const ROW_MAX: u32 = 2;

/// Minimum number of proposed memories for a report about the share that the sessions support.
const PROPOSED_MIN: usize = 5;

/// Number of bytes that count as one token if a provider does not report the number of tokens.
const TOKEN_CHARS: u64 = 4;

/// Returns whether a memory was found by the model in the current settings or by rules. Rules find wishes with any
/// model.
pub(crate) fn is_current_reader(memory: &Memory, settings: &Settings) -> bool {
    let is_model =
        |llm: &Llm| memory.source.reader() == Some(&format!("{}/{}", llm.provider, llm.model));
    memory.source.is_of_rules() || settings.llm.as_ref().is_some_and(is_model)
}

/// Drafts extracted from a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extracted {
    /// The model's drafts, and wishes that these do not include.
    pub drafts: Vec<Draft>,
    /// Number of windows that the model did not answer and that must be sent again.
    pub missing: usize,
    /// The amount of work, as a number of windows of the usual size.
    pub windows: usize,
}

/// The project and the machine for which a model is opened.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    /// The value of the variable `OLLAMA_HOST`, used if the settings name no host.
    pub ollama_host: Option<&'a str>,
    /// The folder with the cached answers of the project.
    pub cache_dir: &'a Path,
    /// The file in which costs are recorded; see [`usage::ledger`].
    pub ledger: Option<PathBuf>,
    /// The project's working trees, whose Claude Code settings apply.
    pub roots: &'a [PathBuf],
    /// The current time. It also determines the day for cost limits.
    pub now: Timestamp,
}

/// Condition for sending questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskWhen {
    /// Questions are sent at any time.
    Always,
    /// No questions are sent.
    Never,
    /// Questions are sent until this time.
    Until(Instant),
    /// Questions are sent until this time, but at least one, so that a slow machine makes progress as well.
    OnceUntil(Instant),
}

/// An opened model, which answers questions about any number of sessions.
pub struct LanguageModel {
    provider: Box<dyn Provider>,
    /// The host in the settings.
    host: String,
    cache: AnswerCache,
    room: ModelRoom,
    redactor: Redactor,
    /// Masks texts for another machine; `None` if the model is on this machine.
    masks: Option<Masks>,
    names: Option<Result<person_names::Finder, String>>,
    meter: Meter,
    aside: AsideQuestions,
    /// The folder of the cached answers. It also contains other records of this module.
    folder: PathBuf,
    /// Time when this run started.
    now: Timestamp,
    /// Whether the stored status reports that the last question failed.
    in_trouble: bool,
    /// Id of the current session; empty for a question about the project.
    session: String,
    /// Whether the model answered any question in this run.
    answered: bool,
    /// Number of consecutive faults of kinds that may affect all questions.
    row: u32,
    /// Reason why the model gets no more questions.
    down: Option<ModelFault>,
    /// Condition for sending questions. A time limit ensures that the answers so far are published.
    asked: AskWhen,
    /// Pauses questions because of battery or load, if the model is on this machine.
    pause: Option<ModelPause>,
    /// Number of questions that were sent, with or without an answer.
    put: usize,
    /// Number of questions that were answered.
    questions: usize,
    /// Number of memories proposed in the answers, and number of those that the sessions support.
    proposed: usize,
    shown: usize,
    /// Topics of the project's memories, from which an answer may choose.
    topics: Topics,
}

impl LanguageModel {
    /// Prepares the model that the settings name for a project; `None` if they name none. Its costs are recorded and
    /// limited per day.
    ///
    /// # Errors
    /// Returns the reason as text. A server on another machine requires the user's consent by name.
    pub fn open(all: &Settings, surroundings: &Surroundings<'_>) -> Result<Option<Self>, String> {
        let Some(settings) = &all.llm else { return Ok(None) };
        let Surroundings { ollama_host, cache_dir, ledger, roots, now } = surroundings;
        let provider = provider(settings, *ollama_host, roots)?;
        let masks = (!provider.is_local()).then(|| Masks::new(all));
        let names = match masks {
            Some(_) => person_names::Finder::open(all, *ollama_host, cache_dir).transpose(),
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
        names: Option<Result<person_names::Finder, String>>,
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

    /// Sets when questions are sent. Cached answers are used in any case.
    pub fn ask(&mut self, when: AskWhen) {
        self.asked = when;
    }

    /// Enables pauses because of the machine's battery or load, if the model is on this machine.
    pub fn pause_for(&mut self, machine: &Machine, on: settings::Pause) {
        self.pause = self.provider.is_local().then(|| ModelPause::new(machine, on));
    }

    /// Returns whether the model gets no more questions in this run because of battery or load.
    pub fn is_paused(&mut self) -> bool {
        self.pause.as_mut().is_some_and(ModelPause::is_on)
    }

    /// Returns the number of answered questions.
    pub fn questions(&self) -> usize {
        self.questions
    }

    /// Returns whether any question was sent to the model in this run.
    pub fn was_asked(&self) -> bool {
        self.put > 0
    }

    /// Returns whether the model gets no more questions in this run because of a fault.
    pub fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// Returns whether a question may be sent now.
    fn has_time(&mut self) -> bool {
        let has_time = match self.asked {
            AskWhen::Always => true,
            AskWhen::Never => false,
            AskWhen::Until(until) => Instant::now() < until,
            AskWhen::OnceUntil(until) => self.put == 0 || Instant::now() < until,
        };
        has_time && !self.is_paused()
    }

    /// Returns a notice for the user if the sessions support less than half of the memories proposed in this run, else
    /// `None`.
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

    /// Returns the model's drafts for a session, and the `wishes` that these do not include. The reasons for missing
    /// answers are added to `report`, without duplicates.
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

    /// Like [`Self::extract`], for a part of a session whose last part is `last_part`.
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

    /// Returns the name of the provider and model, in the form that is stored in memories.
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

    /// Returns the parts of a question besides the window: the day, to which relative dates refer, and the existing
    /// topics. They hardly affect the answer, so they are not part of the cache key.
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

    /// Adds topics of the project's memories.
    pub fn add_topics<'t>(&mut self, topics: impl Iterator<Item = &'t str>) {
        topics.filter_map(answer::topic).for_each(|topic| self.topics.add(&topic));
    }

    /// Sends a question about some texts and parses the answer. The answer is cached under `key`, so that the same
    /// question is sent only once. `question` creates the question from the masked texts and a note about masks; `read`
    /// parses the answer.
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
        let shown = joined(texts);
        let masked = self.masked(&shown)?;
        let read = |given: &str| {
            let mut answers = read(given)?;
            // An answer with a remaining mask is useless.
            if let Some(masked) = &masked {
                answers.retain(|answer| !answer.has(&|text| masked.is_masked(text)));
            }
            Ok::<_, answer::NoJson>(answers)
        };
        let known = self.cache.get(&name, key);
        // The redaction settings may have changed since the answer was cached, so the answer is redacted again.
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
        let asked = self.put(&question.within(self.room.answer_tokens), None);
        self.note(asked.as_ref().err());
        let answers = asked.and_then(|mut given| {
            if let Some(masked) = &masked {
                given = masked.restore(&given);
            }
            // An answer is redacted like any other text from outside.
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
                // If caching fails, the question is sent again next time, which only costs time.
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

    /// Returns a text with masks for another machine; `None` if the model is on this machine. All texts of a question
    /// are masked together, so that a mask has the same meaning in all of them. If the search for names fails, the text
    /// must not be sent.
    fn masked(&mut self, shown: &str) -> Result<Option<Masked>, ModelFault> {
        let known_names = match &mut self.names {
            Some(Ok(finder)) => finder.find(shown),
            Some(Err(problem)) => Err(problem.clone()),
            None => Ok(Names::default()),
        };
        let known_names = known_names.map_err(ModelFault::Names)?;
        Ok(self.masks.as_ref().map(|masks| masks.mask(shown, known_names)))
    }

    /// Stores the reason why there was no answer, so that `status` can print it. A reached cost limit is not stored,
    /// because `status` computes it.
    fn remember(&mut self, fault: &ModelFault) {
        if !matches!(fault, ModelFault::Bound(_)) {
            let why = self.redactor.redact(&fault.to_string()).into_owned();
            let (provider, host) = (self.provider.name(), self.host.clone());
            let trouble = Trouble { provider, host, at: self.now, why };
            trouble::write(&self.folder, Some(&trouble));
            self.in_trouble = true;
        }
    }

    /// Sends a question, repeatedly if that may help, within the day's cost limit. `hear` receives the parts of the
    /// answer as they arrive; after the first one, the question is not repeated.
    fn put(
        &mut self,
        question: &ModelQuestion,
        mut hear: Option<&mut dyn FnMut(&str)>,
    ) -> Result<String, ModelFault> {
        let name = self.provider.name();
        for repeats in 0.. {
            let usd_max = self.meter.allow(&name)?;
            let begun = Instant::now();
            let mut is_heard = false;
            let ModelReply { answer, usage } = match &mut hear {
                None => self.provider.ask(question, usd_max),
                Some(hear) => self.provider.stream(question, usd_max, &mut |part| {
                    is_heard |= !part.is_empty();
                    hear(part);
                }),
            };
            if let Some(pause) = &self.pause {
                pause.add(begun, Instant::now());
            }
            let usage = match &answer {
                Ok(answer) if usage.tokens() == 0 => counted(question, answer, usage.usd),
                Ok(_) | Err(_) => usage,
            };
            let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.meter.note(&name, &self.session, Usage { millis, ..usage }, answer.is_err());
            let fault = answer.as_ref().err().filter(|_| !is_heard);
            match fault.and_then(|fault| fault.pause(repeats)) {
                Some(pause) => std::thread::sleep(pause),
                None => return answer,
            }
        }
        unreachable!("no fault is repeated for ever")
    }

    /// Records the outcome of a question. The model gets no more questions if it is unreachable or fails repeatedly.
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

/// Estimates the number of tokens of a question if the provider does not report it.
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

/// Returns the key for a server from the variable that the settings name; `None` if they name no variable.
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

/// Returns the reason why the provider cannot be used: no consent, no program, or an endpoint that differs from that of
/// the sessions at `roots`. Returns `None` if it can be used. Nothing is sent.
pub fn problem(settings: &Llm, ollama_host: Option<&str>, roots: &[PathBuf]) -> Option<String> {
    provider(settings, ollama_host, roots).err()
}

/// Returns a suffix that distinguishes answers with different context sizes; empty for the usual size.
pub fn context_mark(settings: &Llm) -> String {
    ModelRoom::of(settings).mark()
}

/// Returns the context size, in tokens, of the model in the settings, if its server reports a size that is smaller than
/// usual. The server is queried only with the user's consent, in the settings or in `consent`.
pub fn small_context(settings: &Llm, consent: &[String]) -> Option<u32> {
    if settings.provider != "openai" {
        return None;
    }
    let hosts = [&settings.consented_hosts[..], consent].concat();
    let server = ModelServer::agreed(&settings.host, None, &hosts, "llm").ok()?;
    openai::context(&server, settings.model.trim()).filter(|tokens| *tokens < room::CONTEXT_TOKENS)
}

/// Returns the name of the account that pays for questions to Claude Code.
pub fn claude_bill() -> &'static str {
    ClientEnvironment::of_process().bill()
}

/// Returns the version of the installed Claude Code; `None` if it reports none.
pub fn claude_version() -> Option<prices::ClientVersion> {
    claude::version(&ClientEnvironment::of_process())
}

/// Joins texts by [`SEAM`].
fn joined(texts: &[&str]) -> String {
    texts.iter().map(|text| text.replace(SEAM, " ")).collect::<Vec<_>>().join(SEAM)
}

/// Splits texts joined by [`SEAM`].
fn parts(shown: &str) -> Vec<String> {
    shown.split(SEAM).map(str::to_owned).collect()
}

/// Returns the models of the Ollama server at `host`, best first. If `host` is empty, the address is taken from the
/// variable `OLLAMA_HOST`, or else is this machine's. `None` if there is no answer. No user data is sent, but another
/// machine can observe the request.
///
/// # Errors
/// If the server is on another machine and not in `consented_hosts`. It is not queried then.
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

    /// A model on another machine. It records its questions, and quotes them in its answers.
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
        // The quote contains a placeholder instead of the token, so it does not occur in the session, and the draft is
        // dropped.
        assert_eq!(extract(), []);
        let saw = seen.lock().unwrap().concat();
        assert!(saw.contains("EMAIL_1_") && saw.contains("copy them unchanged"), "{saw}");
        assert!(!saw.contains("ann@shop.org") && !saw.contains("ghp_"), "{saw}");

        let text = "Please ask ann@shop.org. before releases go out";
        let mut session = session.clone();
        session.turns[0].prompt.text = text.to_owned();
        // The first draft is from the answer, the second from the cache.
        for _ in 0..2 {
            let drafts = model.extract(&session, Vec::new(), &mut Vec::new()).drafts;
            let [draft] = &drafts[..] else { panic!("{drafts:?}") };
            assert_eq!(draft.title, "Ask ann@shop.org before releases");
            assert_eq!((draft.quote.as_str(), draft.said_by), (text, SaidBy::User));
        }
        assert_eq!(seen.lock().unwrap().len(), 2);
        // In a commit, the rules for committed files apply.
        let committed = RedactOptions { personal: Personal::COMMITTED, ..RedactOptions::default() };
        let committed = Redactor::new(&committed);
        assert_eq!(committed.redact("Ask ann@shop.org"), "Ask [redacted:email]");
    }
}
