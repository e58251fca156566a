//! A stand-in for a slow language model: a local server with OpenAI's chat interface. For each part of a session it
//! returns one memory that quotes the first statement of the user. For questions about relations it returns none.

use std::fs;
use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::messages_api::{read_request, write_json};

/// Name of the model.
pub const MODEL: &str = "slow";

/// Reported numbers of tokens for each request and answer.
pub const TOKENS: (u64, u64) = (1_000, 50);

/// The behaviour of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// One memory for each part of a session.
    Notes,
    /// The same memory, but in other words.
    OtherWords,
    /// A memory for each sentence that gives a rule, a decision or a reason.
    Sentences,
    /// No memory.
    Nothing,
    /// Text that is not JSON.
    Garbage,
}

/// A question that the server received.
#[derive(Clone, Debug)]
pub struct Asked {
    /// First words of the user in this part of the session; empty for other questions.
    pub said: String,
    /// Time of arrival.
    pub at: Instant,
    /// Whether the answer was written.
    pub is_answered: bool,
}

/// A running stand-in. It ends together with the program.
pub struct ChatServer {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    answers: Arc<Mutex<Answers>>,
}

impl ChatServer {
    /// Starts a stand-in that takes the time `takes` for an answer about a session. Questions about notes take the same
    /// time if `notes_too` is true; otherwise they are answered immediately.
    pub fn start(takes: Duration, notes_too: bool) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(Answers::Notes));
        let (shared, behaviour) = (Arc::clone(&asked), Arc::clone(&answers));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, answers) = (Arc::clone(&shared), Arc::clone(&behaviour));
                // Errors are ignored, since a killed client closes its connection early.
                thread::spawn(move || drop(serve(&stream, (&asked, &answers), takes, notes_too)));
            }
        });
        Ok(Self { address, asked, answers })
    }

    /// Starts a stand-in with [`Answers::Sentences`], and configures it as the model in the settings of a home.
    pub fn reads_for(home: &Path) -> io::Result<Self> {
        let server = Self::start(Duration::ZERO, true)?;
        server.answers(Answers::Sentences);
        let path = home.join(".config/throughline/config.toml");
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let llm = format!(
            "[llm]\nprovider = \"openai\"\nmodel = \"{MODEL}\"\nhost = \"{}/v1\"\n",
            server.address
        );
        fs::write(path, llm)?;
        Ok(server)
    }

    /// Changes the behaviour of the model for later questions.
    pub fn answers(&self, answers: Answers) {
        *lock(&self.answers) = answers;
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the questions so far about parts of sessions, in the order of their arrival.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).iter().filter(|asked| !asked.said.is_empty()).cloned().collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    stream: &TcpStream,
    (asked, answers): (&Mutex<Vec<Asked>>, &Mutex<Answers>),
    takes: Duration,
    notes_too: bool,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((method, path, body)) = read_request(&mut reader)? {
        match (method.as_str(), path.as_str()) {
            ("GET", "/v1/models") => write_json(&mut writer, 200, &models())?,
            ("POST", "/v1/chat/completions") => {
                let body: Value = serde_json::from_slice(&body)?;
                let text = body["messages"][1]["content"].as_str().unwrap_or_default();
                let said = first_user_text(text);
                let at = Instant::now();
                let number = {
                    let mut asked = lock(asked);
                    asked.push(Asked { said: said.clone(), at, is_answered: false });
                    asked.len() - 1
                };
                if notes_too || !said.is_empty() {
                    thread::sleep(takes);
                }
                let answers = *lock(answers);
                write_json(&mut writer, 200, &answer(&said, text, answers))?;
                lock(asked)[number].is_answered = true;
            }
            _ => write_json(&mut writer, 404, &json!({"error": {"message": "no such path"}}))?,
        }
    }
    Ok(())
}

/// Mark that precedes the part of the session in a question.
const SESSION: &str = "<session>";

/// Returns the first words of the user in the session part of a question.
fn first_user_text(question: &str) -> String {
    let part = question.split_once(SESSION).map_or("", |(_, part)| part);
    let said = part.lines().find_map(|line| line.strip_prefix("[user] "));
    said.unwrap_or_default().trim().to_owned()
}

/// Words by which a sentence is recognised as a rule, a decision or a reason.
const TELLING: [&str; 8] =
    ["From now on", "ever ", "lways ", "Decision", "Gotcha", "because", "so that", CURES];

/// Word by which a sentence is recognised as the cure of an error.
const CURES: &str = "cured";

/// Returns a memory for each sentence in the session part of a question that contains a word of [`TELLING`].
fn sentences(question: &str) -> Vec<Value> {
    let part = question.split_once(SESSION).map_or("", |(_, part)| part);
    let mut is_user = false;
    let mut memories = Vec::new();
    for line in part.lines() {
        is_user = line.starts_with("[user] ") || is_user && !line.starts_with('[');
        let is_tool = line.starts_with("[tool] ");
        let text = ["[user] ", "[assistant] "].iter().find_map(|it| line.strip_prefix(it));
        let sentences = text.unwrap_or(line).split_inclusive(". ").map(str::trim);
        let told = sentences.filter(|it| !is_tool && TELLING.iter().any(|word| it.contains(word)));
        memories.extend(told.filter(|it| it.len() > 20).map(|sentence| {
            let is_path = |word: &&str| word.contains('/') || word.ends_with(".rs");
            let paths: Vec<&str> = sentence
                .split_whitespace()
                .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/'))
                .filter(is_path)
                .collect();
            let kind = match (is_user, sentence.contains(CURES)) {
                (true, _) if sentence.contains("in this project") => "convention",
                (true, _) => "preference",
                (false, true) => "gotcha",
                (false, false) => "decision",
            };
            json!({
                "kind": kind,
                "title": sentence.chars().take(180).collect::<String>().trim_end_matches('.'),
                "text": "", "quote": sentence, "paths": paths, "importance": 90,
                "standing": true, "cues": [],
            })
        }));
    }
    memories
}

fn answer(said: &str, question: &str, answers: Answers) -> Value {
    let title = match answers {
        Answers::OtherWords => format!("As the user put it: {said}"),
        Answers::Notes | Answers::Sentences | Answers::Nothing | Answers::Garbage => {
            said.to_owned()
        }
    };
    let memory = json!({
        "kind": "decision", "title": title, "text": "The user laid it down.", "quote": said,
        "paths": [], "importance": 90, "standing": true, "cues": [],
    });
    let text = match (said, answers) {
        (_, Answers::Sentences) if question.contains(SESSION) => {
            json!({"memories": sentences(question)})
        }
        ("", _) | (_, Answers::Sentences) => json!({"relations": []}),
        (_, Answers::Nothing) => json!({"memories": []}),
        (_, Answers::Garbage) => json!("I would rather talk about the weather."),
        (_, Answers::Notes | Answers::OtherWords) => json!({"memories": [memory]}),
    };
    let (asked, answered) = TOKENS;
    json!({
        "id": "c", "object": "chat.completion", "created": 0, "model": MODEL,
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": text.to_string()},
        }],
        "usage": {
            "prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered,
        },
    })
}

fn models() -> Value {
    json!({"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 32_768}]})
}
