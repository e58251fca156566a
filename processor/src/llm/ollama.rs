//! The provider Ollama, through `ollama-rs` with this program's HTTP client. No other file uses that library.
//!
//! The library reads responses of any length and does not return their status. Therefore a response is limited by the
//! timeout and by `num_predict`, its length is checked after reading, and errors are recognised by their text.

use std::fmt;
use std::time::Duration;

use memory_store::settings::Llm;
use ollama_rs::error::OllamaError;
use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::chat::{ChatMessage, ChatMessageFinalResponseData, ChatMessageResponse};
use ollama_rs::generation::embeddings::request::{EmbeddingsInput, GenerateEmbeddingsRequest};
use ollama_rs::generation::parameters::{FormatType, JsonStructure, KeepAlive, TimeUnit};
use ollama_rs::models::ModelOptions;
use reqwest::Client;
use tokio::runtime::Runtime;

use super::ask::ModelQuestion;
use super::fault::ModelFault;
use super::host::ModelServer;
use super::http::{self, CONNECT_TIMEOUT, HttpProblem};
use super::local_models;
use super::provider::{ModelReply, Provider};
use super::room::ModelRoom;
use super::usage::Usage;

/// Remedy if the connection is refused.
const HINT: &str = "start Ollama with `ollama serve`";
/// Timeout of a probe of the server.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// Minutes for which Ollama keeps a model loaded after a question. Its default of five may be too short between the
/// steps of a sync.
const KEPT_MINUTES: u64 = 15;
/// Maximum size of a usable answer in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Maximum number of components of a vector that is used.
const VECTOR_NUMBERS_MAX: usize = 8_192;
/// Maximum number of a server's models that are listed.
const MODELS_MAX: usize = 1_000;

/// A model that an Ollama server runs.
pub struct Ollama {
    client: ollama_rs::Ollama,
    http: Client,
    server: ModelServer,
    model: String,
    /// Timeout of an answer, and the name of its setting.
    most: (Duration, &'static str),
    room: ModelRoom,
    runtime: Runtime,
}

impl fmt::Debug for Ollama {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.model, self.server.name())
    }
}

impl Ollama {
    /// Prepares requests to `model` with the timeout `most` and the name of its setting. Nothing is sent yet.
    pub fn new(
        server: ModelServer,
        model: &str,
        most: (Duration, &'static str),
    ) -> Result<Self, String> {
        let http = http::client(&server, CONNECT_TIMEOUT.min(most.0), most.0)?;
        Ok(Self {
            client: client(&server, http.clone()),
            http,
            server,
            model: model.to_owned(),
            most,
            room: ModelRoom::of(&Llm::default()),
            runtime: http::runtime()?,
        })
    }

    /// Sets the limits for context and answer.
    pub fn within(self, room: ModelRoom) -> Self {
        Self { room, ..self }
    }

    /// Returns one vector for each text. If a text is too long for the model, the vector is that of the beginning.
    pub fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ModelFault> {
        let count = texts.len();
        let input = EmbeddingsInput::Multiple(texts);
        let request = GenerateEmbeddingsRequest::new(self.model.clone(), input);
        let given = self.runtime.block_on(self.client.generate_embeddings(request));
        let vectors = given.map_err(|error| self.fault(error))?.embeddings;
        let longest = vectors.iter().map(Vec::len).max().unwrap_or_default();
        match vectors.len() {
            _ if longest > VECTOR_NUMBERS_MAX => {
                Err(ModelFault::Answer(format!("a vector of {longest} numbers")))
            }
            given if given == count => Ok(vectors),
            given => Err(ModelFault::Answer(format!("{given} vectors for {count} texts"))),
        }
    }

    /// Sends a question and returns the answer as text, because not every model returns the requested form.
    pub fn chat(&self, question: &ModelQuestion) -> Result<String, ModelFault> {
        self.asked(question).map(|(text, _)| text)
    }

    /// Sends a question and passes the parts of the answer to `hear`. The library's own stream loses characters whose
    /// bytes arrive in two parts, so only its types are used.
    fn streamed(
        &self,
        question: &ModelQuestion,
        hear: &mut dyn FnMut(&str),
    ) -> Result<(String, Usage), ModelFault> {
        let mut body = serde_json::to_value(self.request(question))
            .map_err(|error| ModelFault::Answer(error.to_string()))?;
        body["stream"] = true.into();
        let call = self.http.post(format!("{}api/chat", self.server.url)).json(&body);
        let (mut text, mut usage, mut problem) = (String::new(), Usage::default(), None);
        let mut read = |line: &[u8]| match serde_json::from_slice::<ChatMessageResponse>(line) {
            Ok(part) => {
                hear(&part.message.content);
                text.push_str(&part.message.content);
                usage = part.final_data.as_ref().map_or(usage, counted);
            }
            Err(_) if line.is_empty() => {}
            // An error after the start of the response is a line of its own.
            Err(_) => problem = Some(self.refusal(&String::from_utf8_lossy(line))),
        };
        match self.runtime.block_on(http::lines(call, &mut read)) {
            Ok(()) => problem.map_or(Ok((text, usage)), Err),
            Err(HttpProblem::Http(error)) => Err(http::fault(error, &self.server, HINT, self.most)),
            Err(HttpProblem::Long { bytes_max }) => Err(http::long(bytes_max)),
            Err(HttpProblem::Refused(refusal)) => Err(self.refusal(&refusal.message)),
        }
    }

    fn request(&self, question: &ModelQuestion) -> ChatMessageRequest {
        let ModelQuestion { instructions, text, form } = question.clone();
        let messages = vec![ChatMessage::system(instructions.to_owned()), ChatMessage::user(text)];
        let options = ModelOptions::default()
            .temperature(0.0)
            .seed(7)
            .num_ctx(u64::from(self.room.context_tokens))
            .num_predict(i32::try_from(self.room.answer_tokens).unwrap_or(i32::MAX));
        ChatMessageRequest::new(self.model.clone(), messages)
            .options(options)
            .format(FormatType::StructuredJson(Box::new(JsonStructure::new_for_schema(form))))
            .keep_alive(KeepAlive::Until { time: KEPT_MINUTES, unit: TimeUnit::Minutes })
            .think(false)
    }

    fn asked(&self, question: &ModelQuestion) -> Result<(String, Usage), ModelFault> {
        let request = self.request(question);
        let given = self.runtime.block_on(self.client.send_chat_messages(request));
        let response = given.map_err(|error| self.fault(error))?;
        if response.message.content.len() > ANSWER_BYTES_MAX {
            return Err(http::long(ANSWER_BYTES_MAX));
        }
        let usage = response.final_data.as_ref().map(counted).unwrap_or_default();
        Ok((response.message.content, usage))
    }

    fn fault(&self, error: OllamaError) -> ModelFault {
        match error {
            OllamaError::ReqwestError(error) => http::fault(error, &self.server, HINT, self.most),
            OllamaError::JsonError(error) => ModelFault::Answer(error.to_string()),
            OllamaError::InternalError(refusal) => self.refusal(&refusal.message),
            OllamaError::Other(text) => self.refusal(&text),
            OllamaError::ToolCallError(error) => ModelFault::Answer(error.to_string()),
        }
    }

    /// Returns the fault for an error message of the server.
    fn refusal(&self, text: &str) -> ModelFault {
        let message = http::message(text);
        if message.contains("not found") && message.contains("model") {
            let hint = format!("get it with `ollama pull {}`", self.model);
            return ModelFault::NoModel {
                model: self.model.clone(),
                server: self.server.name(),
                hint,
            };
        }
        // Ollama sends this message if too many requests are waiting.
        if message.contains("server busy") {
            return ModelFault::Busy { message, wait: None };
        }
        let message = if message.is_empty() { "it gave no reason".to_owned() } else { message };
        ModelFault::Server { status: None, message }
    }
}

impl Provider for Ollama {
    fn name(&self) -> String {
        format!("ollama/{}", self.model)
    }

    fn is_local(&self) -> bool {
        self.server.is_local()
    }

    fn ask(&self, question: &ModelQuestion, _usd_max: Option<f64>) -> ModelReply {
        ModelReply::of(self.asked(question))
    }

    fn stream(
        &self,
        question: &ModelQuestion,
        _usd_max: Option<f64>,
        hear: &mut dyn FnMut(&str),
    ) -> ModelReply {
        ModelReply::of(self.streamed(question, hear))
    }
}

fn counted(data: &ChatMessageFinalResponseData) -> Usage {
    let (tokens_in, tokens_out) = (data.prompt_eval_count, data.eval_count);
    Usage { tokens_in, tokens_out, ..Usage::default() }
}

/// Returns the duration of a setting in seconds, at least one second.
pub fn seconds(setting: u32) -> Duration {
    Duration::from_secs(u64::from(setting.max(1)))
}

/// Returns the names of the models on a server, best first; `None` if the server does not answer.
pub fn models(server: &ModelServer) -> Option<Vec<String>> {
    let client = client(server, http::client(server, PROBE_TIMEOUT, PROBE_TIMEOUT).ok()?);
    let listed = http::runtime().ok()?.block_on(client.list_local_models()).ok()?;
    let listed = listed.into_iter().take(MODELS_MAX).map(|model| (model.name, model.size));
    let mut models: Vec<(String, u64)> = listed.collect();
    let memory = local_models::memory_bytes().filter(|_| server.is_local());
    local_models::sort_best_first(&mut models, memory);
    Some(models.into_iter().map(|(name, _)| name).collect())
}

fn client(server: &ModelServer, http: Client) -> ollama_rs::Ollama {
    ollama_rs::Ollama::builder().url(server.url.as_str()).reqwest_client(http).build()
}
