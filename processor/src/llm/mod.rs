//! Extraction by a local language model, beside the rules: windows of redacted turns go out, drafts
//! with verbatim evidence come back. Whatever fails, the rules' drafts stand.

pub mod host;
pub mod names;

mod answer;
mod ask;
mod cache;
mod ending;
mod ground;
mod masks;
mod merge;
pub(crate) mod ollama;
mod relations;
mod window;

use std::path::Path;
use std::time::{Duration, Instant};

pub use ask::VERSION;

use memory_store::redact::{Names, Redactor};
use memory_store::settings::Settings;

use crate::extract::draft::Draft;
use crate::transcript::session::Session;
use ask::Question;
use cache::Cache;
use ending::Ending;
use host::Server;
use masks::Masks;
use window::Window;

/// The only provider so far, as settings name it.
const OLLAMA: &str = "ollama";

/// Joins texts while they are masked together; taken out of them before.
const SEAM: &str = "\u{1e}";

/// Answers in a row that came too late, after which the model is asked no more.
const SLOW_MAX: u32 = 2;

/// Something that can be asked about a window.
trait Extractor {
    /// What memories name as their extractor.
    fn name(&self) -> String;
    /// Asks a question; the answer is JSON more or less.
    fn ask(&self, question: Question) -> Result<String, Fault>;
}

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// Nobody listens there.
    #[error("nothing answers at {server}; start Ollama with `ollama serve`")]
    Unreachable { server: String },
    /// The server does not have the model.
    #[error("{server} has no model `{model}`; get it with `ollama pull {model}`")]
    NoModel { model: String, server: String },
    /// No answer in time.
    #[error("no answer within {} s; use a smaller model or raise `{setting}`", wait.as_secs_f32())]
    Slow { wait: Duration, setting: &'static str },
    /// Names of people could not be looked for in what was to leave this machine.
    #[error("it was not asked, because names of people could not be found first: {0}")]
    Names(String),
    /// It was not asked in this run.
    #[error("it is asked by a later run")]
    Later,
    /// The answer cannot be used.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
}

/// What was extracted from a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extracted {
    /// The drafts of the rules and of the model.
    pub drafts: Vec<Draft>,
    /// Windows that the model did not answer; they are worth asking about again.
    pub missing: usize,
    /// Windows of the session: the amount of work.
    pub windows: usize,
}

/// A model ready to be asked, for as many sessions as there are.
pub struct Model {
    extractor: Box<dyn Extractor>,
    cache: Cache,
    redactor: Redactor,
    /// How windows are masked, where they leave this machine, and who finds the names in them.
    masks: Option<Masks>,
    names: Option<Result<names::Finder, String>>,
    slow: u32,
    /// Why it is asked no more.
    down: Option<Fault>,
    /// When it is asked no more in this run, so that what is known by then can be used.
    until: Option<Instant>,
    /// Questions that it answered.
    questions: usize,
}

impl Model {
    /// Prepares the model that the settings name; `None` when they name none. `ollama_host` is the
    /// variable `OLLAMA_HOST`, used when the settings name no host. `Err` says in words what stands
    /// in the way; a server on another machine needs the user's consent by name.
    pub fn open(
        all: &Settings,
        ollama_host: Option<&str>,
        cache_dir: &Path,
    ) -> Result<Option<Self>, String> {
        let Some(settings) = &all.llm else { return Ok(None) };
        if settings.provider != OLLAMA {
            return Err(format!("`{}` is no provider; use `{OLLAMA}`", settings.provider));
        }
        if settings.model.trim().is_empty() {
            return Err("no model is named; set `llm.model`".to_owned());
        }
        let server = Server::agreed(&settings.host, ollama_host, &settings.consented_hosts, "llm")?;
        let masks = (!server.is_local()).then(|| Masks::new(all));
        let names = match masks {
            Some(_) => names::Finder::open(all, ollama_host, cache_dir).transpose(),
            None => None,
        };
        let most = (ollama::seconds(settings.timeout_s), "llm.timeout_s");
        let extractor = ollama::Ollama::new(server, settings.model.trim(), most)?;
        Ok(Some(Self {
            extractor: Box::new(extractor),
            cache: Cache::new(cache_dir),
            redactor: Redactor::private(all),
            masks,
            names,
            slow: 0,
            down: None,
            until: None,
            questions: 0,
        }))
    }

    /// Sets when it is asked no more; answers that are known count all the same.
    pub fn ask_until(&mut self, until: Option<Instant>) {
        self.until = until;
    }

    /// Returns how many questions it answered.
    pub fn questions(&self) -> usize {
        self.questions
    }

    /// Whether it may be asked at this moment.
    pub fn has_time(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }

    /// Returns the drafts of the rules and of the model for a session. Why it has no answer is added to
    /// `report`, each reason once.
    pub fn extract(
        &mut self,
        session: &Session,
        drafts: Vec<Draft>,
        report: &mut Vec<String>,
    ) -> Extracted {
        let windows = window::windows(session);
        let ending = Ending::of(session).text();
        let name = self.extractor.name();
        let mut proposed = Vec::new();
        let mut answered = Vec::new();
        let mut missing = 0;
        for window in &windows {
            match self.proposed(window, &ending) {
                Ok(answers) => {
                    proposed.extend(ground::drafts(window, answers, &session.id, &name));
                    answered.push(window);
                }
                Err(Fault::Later) => missing += 1,
                Err(fault) => {
                    missing += 1;
                    let line = format!("{name}: {fault}. The rules stand in where it is missing.");
                    if !report.contains(&line) {
                        report.push(line);
                    }
                }
            }
        }
        let drafts = merge::merge(drafts, proposed, &answered);
        Extracted { drafts, missing, windows: windows.len() }
    }

    /// The name of the provider and its model, as memories carry it.
    fn name(&self) -> String {
        self.extractor.name()
    }

    fn proposed(&mut self, window: &Window, ending: &str) -> Result<Vec<answer::Proposed>, Fault> {
        let text = window.text();
        let key = text.clone();
        self.asked(
            &key,
            &[ending, &text],
            |parts, note| ask::window(&parts[1], &parts[0], note),
            answer::read,
        )
    }

    /// Asks a question about some texts and reads the answer. The answer is kept under `key`, so that the
    /// same is asked once. `question` gets the texts as the model may see them and a note on how they are
    /// written; `read` is given the answer as it is kept.
    fn asked<T>(
        &mut self,
        key: &str,
        texts: &[&str],
        question: impl FnOnce(&[String], &str) -> Question,
        read: impl Fn(&str) -> Result<Vec<T>, answer::NoJson>,
    ) -> Result<Vec<T>, Fault>
    where
        T: answer::Texts,
    {
        let name = self.extractor.name();
        let texts: Vec<String> = texts.iter().map(|text| text.replace(SEAM, " ")).collect();
        let shown = texts.join(SEAM);
        let known_names = match &mut self.names {
            Some(Ok(finder)) => finder.find(&shown),
            Some(Err(problem)) => Err(problem.clone()),
            None => Ok(Names::default()),
        };
        // With names in it that nobody could look for, it does not leave.
        let known_names = known_names.map_err(Fault::Names)?;
        // Masked in one piece, so that a mask stands for one thing in all texts.
        let masked = self.masks.as_ref().map(|masks| masks.mask(&shown, known_names));
        let read = |given: &str| {
            let mut answers = read(given)?;
            // An answer made of a mask says nothing.
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
        if let Some(fault) = &self.down {
            return Err(fault.clone());
        }
        if !self.has_time() {
            return Err(Fault::Later);
        }
        let question = match &masked {
            Some(masked) => question(&parts(&masked.text), &masked.note()),
            None => question(&parts(&shown), ""),
        };
        let asked = self.extractor.ask(question);
        self.note(asked.as_ref().err());
        let mut given = asked?;
        if let Some(masked) = &masked {
            given = masked.restore(&given);
        }
        // An answer is text from outside like any other.
        let given = self.redactor.redact(&given);
        let answers =
            read(&given).map_err(|answer::NoJson| Fault::Answer("it is no JSON".to_owned()))?;
        self.questions += 1;
        // Without a cache the model is asked again next time, which costs time only.
        drop(self.cache.put(&name, key, &given));
        Ok(answers)
    }

    /// Gives up on a model that is not there, or that is too slow again and again.
    fn note(&mut self, fault: Option<&Fault>) {
        match fault {
            None => self.slow = 0,
            Some(Fault::Answer(_) | Fault::Names(_) | Fault::Later) => {}
            Some(fault @ Fault::Slow { .. }) => {
                self.slow += 1;
                if self.slow >= SLOW_MAX {
                    self.down = Some(fault.clone());
                }
            }
            Some(fault @ (Fault::Unreachable { .. } | Fault::NoModel { .. })) => {
                self.down = Some(fault.clone());
            }
        }
    }
}

/// Takes texts apart that [`SEAM`] joined.
fn parts(shown: &str) -> Vec<String> {
    shown.split(SEAM).map(str::to_owned).collect()
}

/// The models of the Ollama that answers at `host` (the variable `OLLAMA_HOST`, or this machine);
/// `None` when none does. Nothing of the user's is sent.
pub fn probe(host: Option<&str>) -> Option<Vec<String>> {
    ollama::models(&Server::named("", host).ok()?)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use memory_store::Timestamp;
    use memory_store::memory::SaidBy;
    use memory_store::redact::{Personal, RedactOptions};

    use super::*;
    use crate::transcript::session::{Prompt, Turn};

    /// Another machine: it notes what it sees and quotes it.
    struct Elsewhere(Arc<Mutex<Vec<String>>>);

    impl Extractor for Elsewhere {
        fn name(&self) -> String {
            "elsewhere".to_owned()
        }

        fn ask(&self, question: Question) -> Result<String, Fault> {
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
            Ok(serde_json::json!({ "memories": memories }).to_string())
        }
    }

    #[test]
    fn another_machine_sees_masks_and_memories_have_what_they_stand_for() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let cache = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let mut model = Model {
            extractor: Box::new(Elsewhere(Arc::clone(&seen))),
            cache: Cache::new(cache.path()),
            redactor: Redactor::private(&settings),
            masks: Some(Masks::new(&settings)),
            names: None,
            slow: 0,
            down: None,
            until: None,
            questions: 0,
        };
        let text = "Please ask ann@shop.org before releases, the token is ghp_16C7e42F292c6912E7710c838347Ae178B4a.";
        let prompt = Prompt { text: text.to_owned(), ..Prompt::default() };
        let turn = Turn { uuid: "p".into(), at: Timestamp(1), prompt, ..Turn::default() };
        let session = Session { id: "s".into(), turns: vec![turn], ..Session::default() };
        let mut extract = || model.extract(&session, Vec::new(), &mut Vec::new()).drafts;
        // The quote has a placeholder for the token, so it stands nowhere.
        assert_eq!(extract(), []);
        let saw = seen.lock().unwrap().concat();
        assert!(saw.contains("EMAIL_1_") && saw.contains("copy them unchanged"), "{saw}");
        assert!(!saw.contains("ann@shop.org") && !saw.contains("ghp_"), "{saw}");

        let text = "Please ask ann@shop.org. before releases go out";
        let mut session = session.clone();
        session.turns[0].prompt.text = text.to_owned();
        // From the answer itself, and from what was kept of it.
        for _ in 0..2 {
            let drafts = model.extract(&session, Vec::new(), &mut Vec::new()).drafts;
            let [draft] = &drafts[..] else { panic!("{drafts:?}") };
            assert_eq!(draft.title, "Ask ann@shop.org before releases");
            assert_eq!((draft.quote.as_str(), draft.said_by), (text, SaidBy::User));
        }
        assert_eq!(seen.lock().unwrap().len(), 2);
        // Where it is committed, that place's policy holds as ever.
        let committed = RedactOptions { personal: Personal::COMMITTED, ..RedactOptions::default() };
        let committed = Redactor::new(&committed);
        assert_eq!(committed.redact("Ask ann@shop.org"), "Ask [redacted:email]");
    }
}
