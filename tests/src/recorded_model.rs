//! A stand-in for a large model that Ollama runs. It is a local server with Ollama's interface that answers questions
//! about the sample project with recorded answers. A question without a recorded answer fails, and a journey fails if
//! it does not use all answers: after a change of the sample transcripts, new answers must be recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::messages_api::{read_request, write_json};

/// Name of the model.
pub const MODEL: &str = "recorded-large";

/// Placeholder for the project's folder in recorded questions.
const PROJECT: &str = "<project>";
/// Marks before and after the part of a session in a question.
const SESSION: (&str, &str) = ("<session>\n", "</session>\n");

/// A running stand-in. It ends together with the program.
pub struct RecordedModel {
    address: String,
    state: Arc<Mutex<State>>,
}

/// The recorded answers, and which of them were used.
#[derive(Default)]
struct State {
    /// The project's folder.
    root: String,
    /// For each part of a session, the name of the file and the answer.
    answers: BTreeMap<String, (String, Value)>,
    /// Titles of all memories in the answers.
    titles: BTreeSet<String>,
    /// Names of the files whose answers were used.
    asked: BTreeSet<String>,
    /// Questions without a recorded answer.
    unanswered: BTreeSet<String>,
}

impl RecordedModel {
    /// Starts a stand-in with the answers in a folder, for a project at `root`.
    pub fn start(folder: &Path, root: &Path) -> io::Result<Self> {
        let state = State::read(folder, root)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // Errors are ignored, since a client may close its connection at any time.
                thread::spawn(move || drop(serve(&stream, &state)));
            }
        });
        Ok(Self { address, state })
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns descriptions of questions without a recorded answer, and of unused answers.
    pub fn differences(&self) -> Vec<String> {
        let state = lock(&self.state);
        let unasked = state.answers.values().filter(|(name, _)| !state.asked.contains(name));
        let unasked =
            unasked.map(|(name, _)| format!("{name}: its part of a session was not asked about"));
        let unanswered = state.unanswered.iter().map(|question| {
            format!("no answer is recorded for this part of a session:\n{question}")
        });
        unasked.chain(unanswered).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Reads the answers. Each file contains the part of a session as in the question, followed by the answer.
    fn read(folder: &Path, root: &Path) -> io::Result<Self> {
        let mut state = Self { root: root.display().to_string(), ..Self::default() };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path)?;
            let invalid =
                |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {why}"));
            let (part, answer) = text
                .strip_prefix(SESSION.0)
                .and_then(|text| text.split_once(SESSION.1))
                .ok_or_else(|| invalid("no part of a session"))?;
            let answer: Value =
                serde_json::from_str(answer).map_err(|error| invalid(&error.to_string()))?;
            let memories = answer["memories"].as_array().into_iter().flatten();
            let titles = memories.filter_map(|memory| memory["title"].as_str().map(str::to_owned));
            state.titles.extend(titles);
            state.answers.insert(part.to_owned(), (name, answer));
        }
        Ok(state)
    }

    /// Returns the answer to a question; `None` if none is recorded.
    fn answer(&mut self, question: &str) -> Option<Value> {
        let question = question.replace(&self.root, PROJECT);
        let part = question.split_once(SESSION.0).and_then(|(_, rest)| rest.split_once(SESSION.1));
        let Some((part, _)) = part else { return self.relations(&question) };
        if let Some((name, answer)) = self.answers.get(part) {
            self.asked.insert(name.clone());
            return Some(answer.clone());
        }
        self.unanswered.insert(part.to_owned());
        None
    }

    /// Answers a question about notes: no recorded note repeats or supersedes another.
    fn relations(&mut self, question: &str) -> Option<Value> {
        let unknown = notes(question).find(|title| !self.titles.contains(*title));
        match unknown {
            Some(title) => {
                self.unanswered.insert(format!("a question about the note \"{title}\"\n"));
                None
            }
            None => Some(json!({"relations": [], "overtaken": []})),
        }
    }
}

/// Returns the titles of the notes in a question. A note is a line such as `N1 [fact, 2026-10-05] Ports are even`;
/// commits have no kind.
fn notes(question: &str) -> impl Iterator<Item = &str> {
    question.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" [")?;
        let number = name.strip_prefix(['N', 'E', 'D'])?;
        let is_note = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let (kind, title) = rest.split_once("] ")?;
        (is_note && kind.contains(", ")).then_some(title)
    })
}

fn serve(stream: &TcpStream, state: &Mutex<State>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((method, path, body)) = read_request(&mut reader)? {
        match (method.as_str(), path.as_str()) {
            ("GET", "/api/tags") => write_json(&mut writer, 200, &tags())?,
            ("POST", "/api/chat") => {
                let body: Value = serde_json::from_slice(&body)?;
                let messages = body["messages"].as_array().and_then(|messages| messages.last());
                let question = messages.and_then(|message| message["content"].as_str());
                let answer = lock(state).answer(question.unwrap_or_default());
                match answer {
                    Some(answer) => write_json(&mut writer, 200, &message(&answer))?,
                    None => {
                        let error = "no answer is recorded for this question";
                        write_json(&mut writer, 400, &json!({"error": error}))?;
                    }
                }
            }
            _ => write_json(&mut writer, 404, &json!({"error": "no such path"}))?,
        }
    }
    Ok(())
}

fn tags() -> Value {
    json!({"models": [{
        "name": MODEL, "model": MODEL, "modified_at": "2026-10-02T12:00:00.000000000Z", "size": 1,
        "digest": "0".repeat(64), "details": {"family": "recorded", "parameter_size": "0"},
    }]})
}

fn message(answer: &Value) -> Value {
    json!({
        "model": MODEL, "created_at": "2026-10-02T12:00:00.000000000Z",
        "message": {"role": "assistant", "content": answer.to_string()},
        "done": true, "done_reason": "stop", "total_duration": 1, "load_duration": 1,
        "prompt_eval_count": 1, "prompt_eval_duration": 1, "eval_count": 1, "eval_duration": 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_project;

    #[test]
    fn a_changed_transcript_has_no_answer_and_leaves_one_unasked() {
        let mut state = State::read(&sample_project::answers(), Path::new("/tmp/p")).unwrap();
        let parts: Vec<String> = state.answers.keys().cloned().collect();
        assert_eq!(parts.len(), sample_project::stories().unwrap().len());
        let question = |part: &str| {
            format!(
                "How it ended\n\n<session>\n{}</session>\n\nWhich?",
                part.replace(PROJECT, "/tmp/p")
            )
        };
        for part in &parts[1..] {
            assert!(state.answer(&question(part)).is_some(), "{part}");
        }
        assert_eq!(state.answer(&question(&format!("{}[user] And?\n", parts[0]))), None);
        let title = state.titles.first().unwrap().clone();
        let listed =
            |title: &str| format!("<notes>\nN1 [fact, 2026-10-05] {title}\n   x\n</notes>");
        assert!(state.answer(&listed(&title)).is_some());
        assert_eq!(state.answer(&listed("Another")), None);
        let model = RecordedModel { address: String::new(), state: Arc::new(Mutex::new(state)) };
        let told = model.differences().join("\n");
        for part in ["was not asked about", "[user] And?", "the note \"Another\""] {
            assert!(told.contains(part), "{told}");
        }
    }
}
