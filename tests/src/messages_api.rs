//! A local stand-in for the Messages API, so that the real Claude Code client can be run without a network and without
//! an account.
//!
//! A *script* contains replies of the model. The conversation determines the reply, not the order of requests. The
//! newest user text that matches a script selects the script, and the number of assistant messages after this text
//! selects the reply. A repeated request therefore receives the same reply, a resumed session continues where it ended,
//! and a subagent that runs at the same time as its parent follows its own script.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};

/// Maximum bytes of the body of a request. The client sends a few hundred kilobytes.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Maximum number of header lines of a request.
const HEADER_LINES_MAX: usize = 200;

/// Reply to requests without a script, such as those for a session's title.
const DEFAULT_TEXT: &str = "Done.";

/// The replies of the model to a prompt that contains `prompt`.
#[derive(Clone, Debug)]
pub struct Script {
    /// Text that the prompt contains.
    pub prompt: String,
    /// The replies in order; each is a list of content blocks.
    pub replies: Vec<Vec<Value>>,
}

impl Script {
    /// Returns a script without replies for prompts that contain `prompt`.
    pub fn on(prompt: &str) -> Self {
        Self { prompt: prompt.to_owned(), replies: Vec::new() }
    }

    /// Adds a reply that contains text, which ends the turn.
    pub fn answers(self, text: &str) -> Self {
        self.replies(vec![json!({"type": "text", "text": text})])
    }

    /// Adds a reply that calls a tool.
    pub fn calls(self, tool: &str, input: Value) -> Self {
        self.replies(vec![json!({"type": "tool_use", "name": tool, "input": input})])
    }

    /// Adds a reply that contains text and calls a tool.
    pub fn answers_and_calls(self, text: &str, tool: &str, input: Value) -> Self {
        self.replies(vec![
            json!({"type": "text", "text": text}),
            json!({"type": "tool_use", "name": tool, "input": input}),
        ])
    }

    /// Adds a reply of these content blocks.
    pub fn replies(mut self, blocks: Vec<Value>) -> Self {
        self.replies.push(blocks);
        self
    }
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The path, with its query.
    pub path: String,
    /// The body.
    pub body: Value,
}

impl Request {
    /// Returns whether the request belongs to a conversation. Other requests of the client, such as those for titles,
    /// have no tools.
    pub fn is_conversation(&self) -> bool {
        self.path.starts_with("/v1/messages")
            && !self.path.contains("count_tokens")
            && self.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
    }

    /// Returns the texts of the messages in order, including results of tools.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for message in self.body["messages"].as_array().into_iter().flatten() {
            collect_texts(&message["content"], &mut texts);
        }
        texts
    }

    /// Returns the messages of the request as one text.
    pub fn text(&self) -> String {
        self.texts().join("\n\n")
    }

    /// Returns the names of its tools.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array();
        tools.into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
    }
}

fn collect_texts(content: &Value, texts: &mut Vec<String>) {
    match content {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(blocks) => {
            for block in blocks {
                if let Some(text) = block["text"].as_str() {
                    texts.push(text.to_owned());
                }
                collect_texts(&block["content"], texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// Behaviour of the stand-in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// Replies follow the scripts.
    #[default]
    Well,
    /// Replies follow the scripts, and report this number of tokens each.
    Dear(u64),
    /// Requests fail with this status, type of error and message.
    Fails(u16, &'static str, &'static str),
    /// Requests are never answered.
    Hangs,
}

#[derive(Default)]
struct State {
    mood: Mutex<Mood>,
    scripts: Mutex<Vec<Script>>,
    requests: Mutex<Vec<Request>>,
    ids: AtomicU64,
}

/// The running stand-in. Its threads end with the process.
pub struct MessagesApi {
    address: SocketAddr,
    state: Arc<State>,
}

impl MessagesApi {
    /// Starts the server on a free local port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // An error is ignored, since the client retries when a connection is broken.
                thread::spawn(move || drop(serve(stream, &state)));
            }
        });
        Ok(Self { address, state })
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds scripts. If several scripts match a prompt, the last one is used.
    pub fn script(&self, scripts: impl IntoIterator<Item = Script>) {
        lock(&self.state.scripts).extend(scripts);
    }

    /// Changes the behaviour of the server for later requests.
    pub fn feels(&self, mood: Mood) {
        *lock(&self.state.mood) = mood;
    }

    /// Returns the requests since the last call, and clears the list.
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *lock(&self.state.requests))
    }
}

/// Locks a mutex. Poisoning is ignored, since a panic leaves the value valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    while let Some((method, path, body)) = read_request(&mut reader)? {
        match method.as_str() {
            "POST" => answer_post(&mut writer, state, &path, &body)?,
            "HEAD" => write_response(&mut writer, 200, b"")?,
            _ => write_json(&mut writer, 404, &not_found())?,
        }
    }
    Ok(())
}

/// Reads one request; `None` at the end of the connection.
pub fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(String, String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(invalid("the request line"));
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut length = 0;
    let mut chunked = false;
    for _ in 0..HEADER_LINES_MAX {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| invalid("content-length"))?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.trim().eq_ignore_ascii_case("chunked");
        }
    }
    let body = if chunked { read_chunks(reader)? } else { read_bytes(reader, length)? };
    Ok(Some((method, path, body)))
}

fn read_bytes(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_BYTES_MAX {
        return Err(invalid("the length of the body"));
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| invalid("a chunk"))?;
        body.extend(read_bytes(reader, size.min(BODY_BYTES_MAX + 1))?);
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
        if body.len() > BODY_BYTES_MAX {
            return Err(invalid("the length of the body"));
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is not valid HTTP"))
}

fn not_found() -> Value {
    json!({"type": "error", "error": {"type": "not_found_error", "message": "not here"}})
}

fn write_response(writer: &mut impl Write, status: u16, body: &[u8]) -> io::Result<()> {
    write!(
        writer,
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )?;
    writer.write_all(body)
}

/// Writes a response with a JSON body.
pub fn write_json(writer: &mut impl Write, status: u16, value: &Value) -> io::Result<()> {
    write_response(writer, status, value.to_string().as_bytes())
}

fn answer_post(writer: &mut impl Write, state: &State, path: &str, body: &[u8]) -> io::Result<()> {
    let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let request = Request { path: path.to_owned(), body };
    lock(&state.requests).push(request.clone());
    if path.contains("count_tokens") {
        return write_json(writer, 200, &json!({"input_tokens": 10}));
    }
    if !path.starts_with("/v1/messages") {
        return write_json(writer, 404, &not_found());
    }
    let mood = *lock(&state.mood);
    match mood {
        Mood::Fails(status, kind, message) => {
            let error = json!({"type": "error", "error": {"type": kind, "message": message}});
            return write_json(writer, status, &error);
        }
        Mood::Hangs => loop {
            thread::park();
        },
        Mood::Well | Mood::Dear(_) => {}
    }
    let mut reply = Reply::new(state, &request);
    if let Mood::Dear(tokens) = mood {
        reply.tokens_asked = tokens;
    }
    if request.body["stream"] == Value::Bool(true) {
        reply.stream(writer)
    } else {
        write_json(writer, 200, &reply.whole())
    }
}

/// One message of the model.
struct Reply {
    id: String,
    model: Value,
    blocks: Vec<Value>,
    tokens_asked: u64,
}

impl Reply {
    fn new(state: &State, request: &Request) -> Self {
        let mut blocks = vec![json!({"type": "text", "text": DEFAULT_TEXT})];
        if request.is_conversation()
            && let Some(scripted) = scripted(&lock(&state.scripts), &request.body)
        {
            blocks = scripted;
        }
        for block in &mut blocks {
            if block["type"] == "tool_use" {
                block["id"] = fresh_id(state, "toolu").into();
            }
        }
        Self {
            id: fresh_id(state, "msg"),
            model: request.body["model"].clone(),
            blocks,
            tokens_asked: 10,
        }
    }

    fn stop_reason(&self) -> &'static str {
        let calls = self.blocks.iter().any(|block| block["type"] == "tool_use");
        if calls { "tool_use" } else { "end_turn" }
    }

    fn envelope(&self, content: Value, stop_reason: Value) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {
                "input_tokens": self.tokens_asked, "output_tokens": 5,
                "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            },
        })
    }

    fn whole(&self) -> Value {
        self.envelope(Value::Array(self.blocks.clone()), self.stop_reason().into())
    }

    /// Writes the server-sent events of a streamed message. The response ends with its last chunk, so that the
    /// connection can be used for the next request.
    fn stream(&self, writer: &mut impl Write) -> io::Result<()> {
        writer.write_all(
            b"HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let start = self.envelope(json!([]), Value::Null);
        write_event(writer, json!({"type": "message_start", "message": start}))?;
        for (index, block) in self.blocks.iter().enumerate() {
            let (empty, delta) = start_and_delta(block);
            write_event(
                writer,
                json!({"type": "content_block_start", "index": index, "content_block": empty}),
            )?;
            write_event(
                writer,
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            )?;
            write_event(writer, json!({"type": "content_block_stop", "index": index}))?;
        }
        write_event(
            writer,
            json!({
                "type": "message_delta",
                "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null},
                "usage": {"output_tokens": 5},
            }),
        )?;
        write_event(writer, json!({"type": "message_stop"}))?;
        writer.write_all(b"0\r\n\r\n")
    }
}

fn start_and_delta(block: &Value) -> (Value, Value) {
    if block["type"] == "tool_use" {
        let (id, name) = (&block["id"], &block["name"]);
        (
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
        )
    } else {
        (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
    }
}

fn write_event(writer: &mut impl Write, data: Value) -> io::Result<()> {
    let kind = data["type"].as_str().unwrap_or_default();
    let event = format!("event: {kind}\ndata: {data}\n\n");
    write!(writer, "{:x}\r\n{event}\r\n", event.len())?;
    writer.flush()
}

fn fresh_id(state: &State, prefix: &str) -> String {
    format!("{prefix}_{:024}", state.ids.fetch_add(1, Ordering::Relaxed) + 1)
}

/// Returns the reply of the script that matches the newest prompt.
fn scripted(scripts: &[Script], body: &Value) -> Option<Vec<Value>> {
    let messages = body["messages"].as_array()?;
    let mut answered = 0;
    for message in messages.iter().rev() {
        if message["role"] == "assistant" {
            answered += 1;
            continue;
        }
        if message["role"] != "user" {
            continue;
        }
        let text = prompt_text(&message["content"]);
        if let Some(script) = scripts.iter().rev().find(|script| text.contains(&script.prompt)) {
            return script.replies.get(answered).cloned();
        }
    }
    None
}

/// Returns the text of a user message. Results of tools are omitted, since they may quote a prompt.
fn prompt_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(messages: Value) -> Value {
        json!({"model": "m", "tools": [{"name": "Bash"}], "messages": messages})
    }

    #[test]
    fn a_script_is_found_from_the_conversation() {
        let scripts = [
            Script::on("first").calls("Bash", json!({"command": "true"})).answers("one"),
            Script::on("second").answers("two"),
        ];
        let text = |body: &Value| scripted(&scripts, body).map(|blocks| blocks[0].clone());
        let mut messages = json!([{"role": "user", "content": "the first prompt"}]);
        assert_eq!(text(&conversation(messages.clone())).unwrap()["name"], "Bash");

        let more = messages.as_array_mut().unwrap();
        more.push(json!({"role": "assistant", "content": []}));
        more.push(json!({"role": "user", "content": [
            {"type": "tool_result", "content": "second is only quoted here"},
        ]}));
        assert_eq!(text(&conversation(messages.clone())).unwrap()["text"], "one");

        let more = messages.as_array_mut().unwrap();
        more.push(json!({"role": "assistant", "content": []}));
        more.push(json!({"role": "user", "content": [{"type": "text", "text": "second"}]}));
        assert_eq!(text(&conversation(messages.clone())).unwrap()["text"], "two");
        assert!(text(&conversation(json!([]))).is_none());
    }

    #[test]
    fn it_answers_over_http_whole_and_streamed() {
        let api = MessagesApi::start().unwrap();
        api.script([Script::on("hello").answers("it works")]);
        for stream in [false, true] {
            let mut body = conversation(json!([{"role": "user", "content": "hello"}]));
            body["stream"] = stream.into();
            let body = body.to_string();
            let mut connection = TcpStream::connect(api.address).unwrap();
            write!(
                connection,
                "POST /v1/messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
            .unwrap();
            connection.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = String::new();
            connection.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("it works"), "{answer}");
            assert_eq!(answer.contains("message_stop"), stream, "{answer}");
        }
        assert_eq!(api.take_requests().len(), 2);
        assert!(api.take_requests().is_empty());
    }
}
