//! Ollama, through its HTTP interface. The only file that knows its client library.

use std::fmt;
use std::time::Duration;

use ollama_rs::Ollama as Client;
use ollama_rs::error::OllamaError;
use ollama_rs::generation::chat::ChatMessage;
use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::embeddings::request::{EmbeddingsInput, GenerateEmbeddingsRequest};
use ollama_rs::generation::parameters::{FormatType, JsonStructure};
use ollama_rs::models::ModelOptions;
use tokio::runtime::Runtime;

use super::ask::{AnswerForm, INSTRUCTIONS, question};
use super::host::Server;
use super::{Extractor, Fault};

/// Time to connect. A server that is up answers in a few milliseconds.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for a look whether anybody is there.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// Tokens of question and answer together; Ollama's default would cut a window silently.
const CONTEXT_TOKENS: u64 = 8_192;
/// Tokens of an answer.
const ANSWER_TOKENS_MAX: i32 = 2_048;
/// Characters of a server's error message that are repeated.
const MESSAGE_CHARS_MAX: usize = 200;

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
    /// Prepares to ask `model`, whose answers may take `most`, as the setting `setting` says; nothing
    /// is sent yet.
    pub fn new(
        server: Server,
        model: &str,
        most: Duration,
        setting: &'static str,
    ) -> Result<Self, String> {
        Ok(Self {
            client: client(&server, CONNECT_TIMEOUT.min(most), most)?,
            server,
            model: model.to_owned(),
            most: (most, setting),
            runtime: runtime()?,
        })
    }

    /// The vectors of some texts, one for each; of what is too long for the model, its beginning
    /// counts.
    pub fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        let count = texts.len();
        let input = EmbeddingsInput::Multiple(texts);
        let request = GenerateEmbeddingsRequest::new(self.model.clone(), input);
        let response = self
            .runtime
            .block_on(self.client.generate_embeddings(request))
            .map_err(|error| self.fault(error))?;
        match response.embeddings.len() {
            given if given == count => Ok(response.embeddings),
            given => Err(Fault::Answer(format!("{given} vectors for {count} texts"))),
        }
    }

    fn fault(&self, error: OllamaError) -> Fault {
        match error {
            OllamaError::ReqwestError(error) if error.is_timeout() && !error.is_connect() => {
                let (wait, setting) = self.most;
                Fault::Slow { wait, setting }
            }
            OllamaError::ReqwestError(error) if error.is_connect() => {
                Fault::Unreachable { server: self.server.name() }
            }
            OllamaError::ReqwestError(error) => Fault::Answer(error.to_string()),
            OllamaError::JsonError(error) => Fault::Answer(error.to_string()),
            OllamaError::InternalError(error) => self.refusal(&error.message),
            OllamaError::Other(text) => self.refusal(&message(&text)),
            OllamaError::ToolCallError(error) => Fault::Answer(error.to_string()),
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

    fn ask(&self, window: &str) -> Result<String, Fault> {
        let messages =
            vec![ChatMessage::system(INSTRUCTIONS.to_owned()), ChatMessage::user(question(window))];
        let options = ModelOptions::default()
            .temperature(0.0)
            .seed(7)
            .num_ctx(CONTEXT_TOKENS)
            .num_predict(ANSWER_TOKENS_MAX);
        let request = ChatMessageRequest::new(self.model.clone(), messages)
            .options(options)
            .format(FormatType::StructuredJson(Box::new(JsonStructure::new::<AnswerForm>())))
            .think(false);
        let response = self
            .runtime
            .block_on(self.client.send_chat_messages(request))
            .map_err(|error| self.fault(error))?;
        Ok(response.message.content)
    }
}

/// The names of the models on a server; `None` when nobody answers there.
pub fn models(server: &Server) -> Option<Vec<String>> {
    let client = client(server, PROBE_TIMEOUT, PROBE_TIMEOUT).ok()?;
    let models = runtime().ok()?.block_on(client.list_local_models()).ok()?;
    Some(models.into_iter().map(|model| model.name).collect())
}

/// A client with timeouts, which the library's own has not. A redirect could lead redacted text to
/// another host, and a proxy is no place for what is meant for this machine.
fn client(server: &Server, connect: Duration, answer: Duration) -> Result<Client, String> {
    let mut http = reqwest::Client::builder()
        .connect_timeout(connect)
        .read_timeout(answer)
        .timeout(answer)
        .redirect(reqwest::redirect::Policy::none());
    if server.is_local() {
        http = http.no_proxy();
    }
    let http = http.build().map_err(|error| format!("the HTTP client: {error}"))?;
    Ok(Client::builder().url(server.url.clone()).reqwest_client(http).build())
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
