//! Ollama, through its HTTP interface. The only file that knows its client library, whose forms of
//! requests and responses are used; the exchange itself is ours, because the library takes in
//! whatever a server sends, however long it is.

use std::fmt;
use std::time::Duration;

use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::chat::{ChatMessage, ChatMessageResponse};
use ollama_rs::generation::embeddings::GenerateEmbeddingsResponse;
use ollama_rs::generation::embeddings::request::{EmbeddingsInput, GenerateEmbeddingsRequest};
use ollama_rs::generation::parameters::{FormatType, JsonStructure};
use ollama_rs::models::{LocalModel, ModelOptions};
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use super::ask::Question;
use super::host::Server;
use super::{Extractor, Fault};

/// Time to connect. A server that is up answers in a few milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for a look whether anybody is there.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// Tokens of question and answer together; Ollama's default would cut a window silently.
pub const CONTEXT_TOKENS: u64 = 12_288;
/// Tokens of an answer.
const ANSWER_TOKENS_MAX: i32 = 2_048;
/// Characters of a server's error message that are repeated.
const MESSAGE_CHARS_MAX: usize = 200;
/// Bytes of a server's error message that are read.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Bytes of a response to a question: of its text a quarter is read, and JSON makes it longer.
const CHAT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a response with vectors: sixteen of 8,192 numbers each.
const VECTORS_BYTES_MAX: usize = 8 << 20;
/// Bytes of a list of models.
const MODELS_BYTES_MAX: usize = 1 << 20;

/// A model that an Ollama server runs.
pub struct Ollama {
    client: Client,
    server: Server,
    model: String,
    /// How long an answer may take, and the setting that says so.
    most: (Duration, &'static str),
    runtime: Runtime,
}

impl fmt::Debug for Ollama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.model, self.server.name())
    }
}

impl Ollama {
    /// Prepares to ask `model`, whose answers may take `most`, as the setting of that name says; nothing
    /// is sent yet.
    pub fn new(
        server: Server,
        model: &str,
        most: (Duration, &'static str),
    ) -> Result<Self, String> {
        Ok(Self {
            client: client(&server, CONNECT_TIMEOUT.min(most.0), most.0)?,
            server,
            model: model.to_owned(),
            most,
            runtime: runtime()?,
        })
    }

    /// The vectors of some texts, one for each; of what is too long for the model, its beginning
    /// counts.
    pub fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        let count = texts.len();
        let input = EmbeddingsInput::Multiple(texts);
        let request = GenerateEmbeddingsRequest::new(self.model.clone(), input);
        let response: GenerateEmbeddingsResponse =
            self.post("api/embed", &request, VECTORS_BYTES_MAX)?;
        match response.embeddings.len() {
            given if given == count => Ok(response.embeddings),
            given => Err(Fault::Answer(format!("{given} vectors for {count} texts"))),
        }
    }

    /// Asks a question; the answer is text, for no model can be relied upon.
    pub fn chat(&self, question: Question) -> Result<String, Fault> {
        let Question { instructions, text, form } = question;
        let messages = vec![ChatMessage::system(instructions.to_owned()), ChatMessage::user(text)];
        let options = ModelOptions::default()
            .temperature(0.0)
            .seed(7)
            .num_ctx(CONTEXT_TOKENS)
            .num_predict(ANSWER_TOKENS_MAX);
        let request = ChatMessageRequest::new(self.model.clone(), messages)
            .options(options)
            .format(FormatType::StructuredJson(Box::new(JsonStructure::new_for_schema(form))))
            .think(false);
        let response: ChatMessageResponse = self.post("api/chat", &request, CHAT_BYTES_MAX)?;
        Ok(response.message.content)
    }

    /// Sends a request and reads the response to it.
    fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        request: &impl serde::Serialize,
        bytes_max: usize,
    ) -> Result<T, Fault> {
        let address = format!("{}{path}", self.server.url);
        let request = self.client.post(address).json(request);
        let given = self.runtime.block_on(exchange(request, bytes_max));
        let given = given.map_err(|problem| self.fault(problem))?;
        serde_json::from_slice(&given).map_err(|error| Fault::Answer(error.to_string()))
    }

    fn fault(&self, problem: Problem) -> Fault {
        match problem {
            Problem::Http(error) if error.is_connect() => {
                Fault::Unreachable { server: self.server.name() }
            }
            Problem::Http(error) if error.is_timeout() => {
                let (wait, setting) = self.most;
                Fault::Slow { wait, setting }
            }
            Problem::Http(error) => Fault::Answer(error.to_string()),
            Problem::Long { bytes_max } => {
                Fault::Answer(format!("it has more than {} KiB", bytes_max >> 10))
            }
            Problem::Refused(text) => self.refusal(&message(&text)),
        }
    }

    fn refusal(&self, message: &str) -> Fault {
        let about_model = message.contains("not found") && message.contains("model");
        if about_model {
            return Fault::NoModel { model: self.model.clone(), server: self.server.name() };
        }
        Fault::Answer(message.chars().take(MESSAGE_CHARS_MAX).collect())
    }
}

impl Extractor for Ollama {
    fn name(&self) -> String {
        format!("ollama/{}", self.model)
    }

    fn ask(&self, question: Question) -> Result<String, Fault> {
        self.chat(question)
    }
}

/// The time that a setting in seconds gives; at least one.
pub fn seconds(setting: u32) -> Duration {
    Duration::from_secs(u64::from(setting.max(1)))
}

/// The names of the models on a server; `None` when nobody answers there.
pub fn models(server: &Server) -> Option<Vec<String>> {
    let client = client(server, PROBE_TIMEOUT, PROBE_TIMEOUT).ok()?;
    let request = client.get(format!("{}api/tags", server.url));
    let given = runtime().ok()?.block_on(exchange(request, MODELS_BYTES_MAX)).ok()?;
    let listed: Listed = serde_json::from_slice(&given).ok()?;
    Some(listed.models.into_iter().map(|model| model.name).collect())
}

/// The models that a server lists.
#[derive(Deserialize)]
struct Listed {
    models: Vec<LocalModel>,
}

/// Why there is no response.
enum Problem {
    /// It did not come.
    Http(reqwest::Error),
    /// It is longer than anything that was asked for.
    Long { bytes_max: usize },
    /// The server sent an error instead.
    Refused(String),
}

/// Sends a request and reads the response, up to a number of bytes.
async fn exchange(request: RequestBuilder, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let response = request.send().await.map_err(Problem::Http)?;
    if response.status().is_success() {
        return read(response, bytes_max).await;
    }
    let text = read(response, MESSAGE_BYTES_MAX).await.unwrap_or_default();
    Err(Problem::Refused(String::from_utf8_lossy(&text).into_owned()))
}

async fn read(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let mut given = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Problem::Http)? {
        if given.len() + chunk.len() > bytes_max {
            return Err(Problem::Long { bytes_max });
        }
        given.extend_from_slice(&chunk);
    }
    Ok(given)
}

/// A client with timeouts. A redirect could lead redacted text to
/// another host, and a proxy is no place for what is meant for this machine.
fn client(server: &Server, connect: Duration, answer: Duration) -> Result<Client, String> {
    let mut http = Client::builder()
        .connect_timeout(connect)
        .read_timeout(answer)
        .timeout(answer)
        .redirect(reqwest::redirect::Policy::none());
    if server.is_local() {
        http = http.no_proxy();
    }
    http.build().map_err(|error| format!("the HTTP client: {error}"))
}

fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime: {error}"))
}

/// The message of an error that the server sent as JSON, or its text.
fn message(text: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let message = json.as_ref().and_then(|json| json.get("error")?.as_str()).unwrap_or(text);
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
