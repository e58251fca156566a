//! A stand-in for Ollama: the part of its HTTP interface that the processor uses, with its forms and errors, on a
//! separate port. A function that the test passes generates the model's answers.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Maximum number of bytes of a request's body.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Number of components of an embedding.
const DIMENSIONS: usize = 8;

/// Behaviour of the server for chat requests.
#[derive(Clone)]
pub enum Behaviour {
    /// The server answers with the result of this function for the last message.
    Says(fn(&str) -> String),
    /// The server waits, then answers with the result of this function for the last message.
    Slowly(Duration, fn(&str) -> String),
    /// The server sends half of its response and closes the connection.
    BreaksOff,
    /// The server returns an error, as if the model does not fit into memory.
    Fails(u16, &'static str),
    /// The server redirects the client to this address.
    Redirects(String),
}

/// Function that returns the vector of a text.
type Embeds = fn(&str) -> Vec<f32>;

/// A running server, which ends with the test's process.
pub struct Ollama {
    /// The server's address, in the form of `OLLAMA_HOST`.
    pub host: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    behaviour: Arc<Mutex<Behaviour>>,
    embeds: Arc<Mutex<Embeds>>,
}

impl Ollama {
    /// Starts a server with these models.
    pub fn start(models: &[&str], behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let behaviour = Arc::new(Mutex::new(behaviour));
        let embeds = Arc::new(Mutex::new(embedding as Embeds));
        let server = Serving {
            embeds: Arc::clone(&embeds),
            models: models.iter().map(|&name| name.to_owned()).collect(),
            requests: Arc::clone(&requests),
            behaviour: Arc::clone(&behaviour),
        };
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || server.serve(connection));
            }
        });
        Self { host, requests, behaviour, embeds }
    }

    /// Changes the behaviour of the server for later requests.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    /// Replaces the function that returns the vector of a text.
    pub fn embed_by(&self, embeds: Embeds) {
        *self.embeds.lock().unwrap() = embeds;
    }

    /// Returns the bodies of the requests at this path so far.
    pub fn asked(&self, path: &str) -> Vec<Value> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }
}

#[derive(Clone)]
struct Serving {
    models: Vec<String>,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    behaviour: Arc<Mutex<Behaviour>>,
    embeds: Arc<Mutex<Embeds>>,
}

impl Serving {
    /// Answers the requests of one connection, which may stay open for several requests.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some((method, path, body)) = request(&mut reader) {
            let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
            self.requests.lock().unwrap().push((path.clone(), body.clone()));
            let mut out = &stream;
            let goes_on = match (method.as_str(), path.as_str()) {
                ("GET", "/") => respond(&mut out, 200, "Ollama is running"),
                ("GET", "/api/version") => {
                    respond_json(&mut out, 200, &json!({"version": "0.13.0"}))
                }
                ("GET", "/api/tags") => respond_json(&mut out, 200, &self.tags()),
                ("POST", "/api/chat") => self.chat(&mut out, &body),
                ("POST", "/api/embed") => self.embed(&mut out, &body),
                _ => respond(&mut out, 404, "404 page not found"),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn tags(&self) -> Value {
        let models = self.models.iter().map(|name| {
            json!({
                "name": name, "model": name, "modified_at": "2026-10-02T12:00:00.000000000Z",
                "size": 1_321_098_329, "digest": "baf6a787fdffd633537aa2eb51cfd54cb93ff08e28040095462bb63daf552878",
                "details": {
                    "parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"],
                    "parameter_size": "1.2B", "quantization_level": "Q8_0",
                },
            })
        });
        json!({"models": models.collect::<Vec<_>>()})
    }

    /// Returns whether the server has the model. The name may omit `:latest`.
    fn has(&self, model: &str) -> bool {
        let latest = format!("{model}:latest");
        self.models.iter().any(|known| known == model || *known == latest)
    }

    fn chat(&self, out: &mut impl Write, body: &Value) -> bool {
        let model = body["model"].as_str().unwrap_or_default();
        if model.is_empty() {
            return respond_json(out, 400, &json!({"error": "model is required"}));
        }
        if !self.has(model) {
            return respond_json(out, 404, &json!({"error": format!("model '{model}' not found")}));
        }
        let last = body["messages"].as_array().and_then(|all| all.last()).cloned();
        let question = last.as_ref().and_then(|last| last["content"].as_str()).unwrap_or_default();
        let behaviour = self.behaviour.lock().unwrap().clone();
        let said = match behaviour {
            Behaviour::Says(says) => says(question),
            Behaviour::Slowly(time, says) => {
                std::thread::sleep(time);
                says(question)
            }
            Behaviour::BreaksOff => {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n{\"model\":\"m\",\"mess";
                let _gone = out.write_all(head.as_bytes());
                return false;
            }
            Behaviour::Fails(status, message) => {
                return respond_json(out, status, &json!({"error": message}));
            }
            Behaviour::Redirects(to) => {
                let head = format!(
                    "HTTP/1.1 307 Temporary Redirect\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
                );
                return out.write_all(head.as_bytes()).is_ok();
            }
        };
        // With a schema, the grammar of the real server only permits JSON in that form.
        let said = if body["format"].is_object() { shaped(&said, &body["format"]) } else { said };
        // Streaming is the default, as in the real server.
        if body["stream"] == false {
            return respond_json(out, 200, &answer(model, &said, true));
        }
        let words = said.split_inclusive(' ').map(|word| answer(model, word, false));
        let lines = words.chain([answer(model, "", true)]).map(|line| format!("{line}\n"));
        stream(out, &lines.collect::<String>())
    }

    fn embed(&self, out: &mut impl Write, body: &Value) -> bool {
        let model = body["model"].as_str().unwrap_or_default();
        if !self.has(model) {
            let error = format!("model \"{model}\" not found, try pulling it first");
            return respond_json(out, 404, &json!({"error": error}));
        }
        let texts: Vec<&str> = match &body["input"] {
            Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
            Value::String(text) => vec![text],
            _ => Vec::new(),
        };
        match self.behaviour.lock().unwrap().clone() {
            Behaviour::Fails(status, message) => {
                return respond_json(out, status, &json!({"error": message}));
            }
            Behaviour::Slowly(time, _) => std::thread::sleep(time),
            Behaviour::Says(_) | Behaviour::BreaksOff | Behaviour::Redirects(_) => {}
        }
        let embeds = *self.embeds.lock().unwrap();
        let embeddings: Vec<Vec<f32>> = texts.iter().map(|text| embeds(text)).collect();
        respond_json(out, 200, &json!({"model": model, "embeddings": embeddings}))
    }
}

/// Returns the answer to one question, with the fields of the real server.
fn answer(model: &str, said: &str, done: bool) -> Value {
    let mut answer = json!({
        "model": model, "created_at": "2026-10-02T12:00:00.000000000Z",
        "message": {"role": "assistant", "content": said}, "done": done,
    });
    if done {
        let end = json!({
            "done_reason": "stop", "total_duration": 1_000_000, "load_duration": 1_000,
            "prompt_eval_count": 26, "prompt_eval_duration": 1_000, "eval_count": 9,
            "eval_duration": 1_000,
        });
        answer.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
    }
    answer
}

/// Returns an answer in the form that a grammar for the schema would enforce: a text that is not a JSON object becomes
/// the smallest valid object.
fn shaped(said: &str, schema: &Value) -> String {
    if said.trim_start().starts_with('{') {
        return said.to_owned();
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    let empty = fields.map(|(name, field)| {
        let value = match field["type"].as_str() {
            Some("array") => json!([]),
            Some("string") => json!(""),
            _ => json!(0),
        };
        (name.clone(), value)
    });
    Value::Object(empty.collect()).to_string()
}

/// Returns a vector of length one that depends only on the text.
fn embedding(text: &str) -> Vec<f32> {
    let mut vector = [0.0f32; DIMENSIONS];
    for (at, byte) in text.bytes().enumerate() {
        vector[(at + usize::from(byte)) % DIMENSIONS] += f32::from(byte);
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter().map(|x| x / length).collect()
}

/// Reads a request: method, path and body. Returns `None` if the client has disconnected.
pub fn request(reader: &mut impl BufRead) -> Option<(String, String, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; std::cmp::min(length, BODY_BYTES_MAX)];
    reader.read_exact(&mut body).ok()?;
    Some((method, path, body))
}

pub fn respond_json(out: &mut impl Write, status: u16, body: &Value) -> bool {
    respond(out, status, &body.to_string())
}

/// Sends a body in chunks that end anywhere, also inside a character.
fn stream(out: &mut impl Write, body: &str) -> bool {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = body.as_bytes().chunks(7).map(|chunk| {
        let mut sent = format!("{:x}\r\n", chunk.len()).into_bytes();
        sent.extend_from_slice(chunk);
        sent.extend_from_slice(b"\r\n");
        sent
    });
    let mut all =
        [head.as_bytes().to_vec()].into_iter().chain(chunks).chain([b"0\r\n\r\n".to_vec()]);
    all.all(|part| out.write_all(&part).and_then(|()| out.flush()).is_ok())
}

pub fn respond(out: &mut impl Write, status: u16, body: &str) -> bool {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    out.write_all(head.as_bytes()).and_then(|()| out.write_all(body.as_bytes())).is_ok()
}
