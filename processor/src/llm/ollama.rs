//! Ollama, through its HTTP interface. The only file that knows its client library, whose forms of
//! requests and responses are used; the exchange itself is ours, because the library takes in
//! whatever a server sends, however long it is.

use std::fmt;
use std::time::Duration;

use memory_store::settings::Llm;
use ollama_rs::generation::chat::request::ChatMessageRequest;
use ollama_rs::generation::chat::{ChatMessage, ChatMessageResponse};
use ollama_rs::generation::embeddings::GenerateEmbeddingsResponse;
use ollama_rs::generation::embeddings::request::{EmbeddingsInput, GenerateEmbeddingsRequest};
use ollama_rs::generation::parameters::{FormatType, JsonStructure};
use ollama_rs::models::{LocalModel, ModelOptions};
use reqwest::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use super::ask::Question;
use super::host::Server;
use super::http::{self, CONNECT_TIMEOUT, Problem, Refusal};
use super::room::Room;
use super::{Fault, Provider, Reply, Usage};

/// Remedy when nobody listens.
const HINT: &str = "start Ollama with `ollama serve`";
/// Time for a look whether anybody is there.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
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
    room: Room,
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
            client: http::client(&server, CONNECT_TIMEOUT.min(most.0), most.0)?,
            server,
            model: model.to_owned(),
            most,
            room: Room::of(&Llm::default()),
            runtime: http::runtime()?,
        })
    }

    /// Asks within this room from now on.
    pub fn within(self, room: Room) -> Self {
        Self { room, ..self }
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
    pub fn chat(&self, question: &Question) -> Result<String, Fault> {
        self.asked(question).map(|(text, _)| text)
    }

    fn asked(&self, question: &Question) -> Result<(String, Usage), Fault> {
        let Question { instructions, text, form } = question.clone();
        let messages = vec![ChatMessage::system(instructions.to_owned()), ChatMessage::user(text)];
        let options = ModelOptions::default()
            .temperature(0.0)
            .seed(7)
            .num_ctx(u64::from(self.room.context_tokens))
            .num_predict(i32::try_from(self.room.answer_tokens).unwrap_or(i32::MAX));
        let request = ChatMessageRequest::new(self.model.clone(), messages)
            .options(options)
            .format(FormatType::StructuredJson(Box::new(JsonStructure::new_for_schema(form))))
            .think(false);
        let response: ChatMessageResponse = self.post("api/chat", &request, CHAT_BYTES_MAX)?;
        let counted = response.final_data.as_ref();
        let usage = Usage {
            tokens_in: counted.map_or(0, |data| data.prompt_eval_count),
            tokens_out: counted.map_or(0, |data| data.eval_count),
            usd: None,
            millis: 0,
        };
        Ok((response.message.content, usage))
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
        let given = self.runtime.block_on(http::exchange(request, bytes_max));
        let given = given.map_err(|problem| self.fault(problem))?;
        serde_json::from_slice(&given).map_err(|error| Fault::Answer(error.to_string()))
    }

    fn fault(&self, problem: Problem) -> Fault {
        match problem {
            Problem::Http(error) => http::fault(error, &self.server, HINT, self.most),
            Problem::Long { bytes_max } => http::long(bytes_max),
            Problem::Refused(refusal) => self.refusal(refusal),
        }
    }

    fn refusal(&self, refusal: Refusal) -> Fault {
        let message = &refusal.message;
        if message.contains("not found") && message.contains("model") {
            let hint = format!("get it with `ollama pull {}`", self.model);
            return Fault::NoModel { model: self.model.clone(), server: self.server.name(), hint };
        }
        refusal.fault()
    }
}

impl Provider for Ollama {
    fn name(&self) -> String {
        format!("ollama/{}", self.model)
    }

    fn is_local(&self) -> bool {
        self.server.is_local()
    }

    fn ask(&self, question: &Question, _usd_max: Option<f64>) -> Reply {
        Reply::of(self.asked(question))
    }
}

/// The time that a setting in seconds gives; at least one.
pub fn seconds(setting: u32) -> Duration {
    Duration::from_secs(u64::from(setting.max(1)))
}

/// The names of the models on a server; `None` when nobody answers there.
pub fn models(server: &Server) -> Option<Vec<String>> {
    let client = http::client(server, PROBE_TIMEOUT, PROBE_TIMEOUT).ok()?;
    let request = client.get(format!("{}api/tags", server.url));
    let given = http::runtime().ok()?.block_on(http::exchange(request, MODELS_BYTES_MAX)).ok()?;
    let listed: ModelList = serde_json::from_slice(&given).ok()?;
    Some(listed.models.into_iter().map(|model| model.name).collect())
}

/// The models that a server lists.
#[derive(Deserialize)]
struct ModelList {
    models: Vec<LocalModel>,
}
