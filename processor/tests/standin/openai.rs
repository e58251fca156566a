//! A stand-in for a server with OpenAI's chat interface and the errors of real servers, on a separate port.

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::ollama::{request, respond, respond_json};

/// Reaction of the server to one request.
#[derive(Clone)]
pub enum Act {
    /// The server answers with this text.
    Says(String),
    /// It answers with this text at once, although a stream was requested.
    SaysAtOnce(String),
    /// It fails with this status and message.
    Fails(u16, &'static str),
    /// The server returns an error with this message and a success status, as some servers do.
    FailsAsSuccess(&'static str),
    /// The server closes the connection without a response.
    Hangs,
}

/// A running server, which ends with the test's process.
pub struct OpenAi {
    /// The server's address.
    pub host: String,
    acts: Arc<Mutex<VecDeque<Act>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl OpenAi {
    /// Starts a server that supports these forms of answers, and reacts to requests with `usually`.
    pub fn start(forms: &'static [&'static str], usually: Act) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (acts, asked) =
            (Arc::new(Mutex::new(VecDeque::new())), Arc::new(Mutex::new(Vec::new())));
        let server = Self { host, acts: Arc::clone(&acts), asked: Arc::clone(&asked) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                while let Some((_, path, body)) = request(&mut reader) {
                    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
                    asked.lock().unwrap().push(body.clone());
                    let next = acts.lock().unwrap().pop_front();
                    let act = next.unwrap_or_else(|| usually.clone());
                    if !answer(&mut &stream, &path, &body, forms, &act) {
                        break;
                    }
                }
                drop(stream.shutdown(std::net::Shutdown::Both));
            }
        });
        server
    }

    /// Sets the reactions to the next requests.
    pub fn next(&self, acts: impl IntoIterator<Item = Act>) {
        self.acts.lock().unwrap().extend(acts);
    }

    /// Returns the bodies of the requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(out: &mut impl Write, path: &str, body: &Value, forms: &[&str], act: &Act) -> bool {
    let error =
        |message: &str| json!({"error": {"message": message, "type": "invalid_request_error"}});
    if path == "/v1/models" {
        let models = json!({"data": [{"id": "other"}, {"id": "tiny", "max_model_len": 4096}]});
        return respond_json(out, 200, &models);
    }
    if path != "/v1/chat/completions" {
        return respond_json(out, 404, &error("no such path"));
    }
    let form = body["response_format"]["type"].as_str().unwrap_or("none");
    if form != "none" && !forms.contains(&form) {
        let message = format!("'response_format.type' must be one of {forms:?}");
        return respond_json(out, 400, &error(&message));
    }
    match act {
        Act::Says(text) if body["stream"] == true => {
            let parts = text.split_inclusive(' ').map(|part| {
                let delta = json!({"choices": [{"index": 0, "delta": {"content": part}}]});
                format!("data: {delta}\n\n")
            });
            let events: String = parts.chain(["data: [DONE]\n\n".to_owned()]).collect();
            respond(out, 200, &events)
        }
        Act::Says(text) | Act::SaysAtOnce(text) => {
            let said = json!({
                "id": "c", "object": "chat.completion", "model": body["model"],
                "choices": [{
                    "index": 0, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
            });
            respond_json(out, 200, &said)
        }
        Act::Fails(status, message) => respond_json(out, *status, &error(message)),
        Act::FailsAsSuccess(message) => respond_json(out, 200, &error(message)),
        Act::Hangs => false,
    }
}
