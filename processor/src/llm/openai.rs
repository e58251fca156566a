//! Servers with OpenAI's chat interface, for example llama.cpp, LM Studio, vLLM and hosted services.

use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::ask::ModelQuestion;
use super::fault::ModelFault;
use super::host::ModelServer;
use super::http::{self, CONNECT_TIMEOUT, HttpProblem, Refusal};
use super::provider::{ModelReply, Provider};
use super::room::ModelRoom;
use super::usage::Usage;

/// Remedy if the connection is refused.
const HINT: &str = "start the server, or correct `llm.host`";
/// Maximum size of a response in bytes. The answer's text is limited to a quarter of this size; JSON makes it longer.
const CHAT_BYTES_MAX: usize = 1 << 20;
/// Maximum size of a list of models in bytes.
const MODELS_BYTES_MAX: usize = 1 << 20;
/// Timeout for reading the list of models.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// Words in error messages about a question that is longer than the model's context.
const LENGTH_WORDS: [&str; 4] =
    ["context size", "context length", "context window", "maximum context"];
/// Words in error messages about an unsupported form of answer.
const FORM_WORDS: [&str; 5] =
    ["response_format", "json_schema", "json_object", "schema", "grammar"];

/// A model on a server with OpenAI's interface.
pub struct OpenAi {
    client: Client,
    server: ModelServer,
    model: String,
    /// The key, if the server requires one. It is never printed.
    key: Option<String>,
    /// Timeout of an answer, and the name of its setting.
    most: (Duration, &'static str),
    room: ModelRoom,
    /// The best form that the server accepted so far.
    form: Cell<AnswerForm>,
    runtime: Runtime,
}

/// Ways to request the form of the answer, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerForm {
    /// The request contains the JSON schema of the answer.
    Schema,
    /// The request asks for any JSON object; the schema is in the instructions.
    Object,
    /// Only the instructions contain the schema.
    Words,
}

impl AnswerForm {
    /// Returns the next form to try if the server rejected this one; `None` if there is none.
    fn simpler(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Object),
            Self::Object => Some(Self::Words),
            Self::Words => None,
        }
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.model, self.server.name())
    }
}

/// The fields of a response that are read.
#[derive(Deserialize)]
struct Response {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<TokenUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: ChatMessage,
}

#[derive(Deserialize)]
struct ChatMessage {
    #[serde(default)]
    content: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Cost in US dollars, which some hosts report.
    cost: Option<f64>,
}

impl OpenAi {
    /// Prepares requests to `model` with the timeout `most` and the name of its setting. Nothing is sent yet.
    pub fn new(
        server: ModelServer,
        model: &str,
        key: Option<String>,
        most: (Duration, &'static str),
        room: ModelRoom,
    ) -> Result<Self, String> {
        Ok(Self {
            client: http::client(&server, CONNECT_TIMEOUT.min(most.0), most.0)?,
            server,
            model: model.to_owned(),
            key,
            most,
            room,
            form: Cell::new(AnswerForm::Schema),
            runtime: http::runtime()?,
        })
    }

    /// Sends a question in the best form that the server accepts.
    fn asked(
        &self,
        question: &ModelQuestion,
        mut hear: Option<&mut dyn FnMut(&str)>,
    ) -> Result<(String, Usage), ModelFault> {
        loop {
            let form = self.form.get();
            let request = self.request(question, form);
            let answered = match &mut hear {
                Some(hear) => self.streamed(request, *hear),
                None => self.post(&request),
            };
            let refusal = match answered {
                Ok(given) => match http::refused(&given) {
                    Some(refusal) => refusal,
                    None => return read(&given),
                },
                Err(HttpProblem::Refused(refusal)) => refusal,
                Err(HttpProblem::Long { bytes_max }) => return Err(http::long(bytes_max)),
                Err(HttpProblem::Http(error)) => {
                    return Err(http::fault(error, &self.server, HINT, self.most));
                }
            };
            match form.simpler().filter(|_| is_about_form(&refusal)) {
                Some(simpler) => self.form.set(simpler),
                None => return Err(self.refusal(refusal)),
            }
        }
    }

    fn request(&self, question: &ModelQuestion, form: AnswerForm) -> Value {
        let mut instructions = question.instructions.to_owned();
        if form != AnswerForm::Schema {
            instructions.push_str(&format!(
                "\n\nAnswer with one JSON object that fits this JSON schema, and with nothing else:\n{}",
                question.form.as_value()
            ));
        }
        let mut request = json!({
            "model": self.model,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": question.text},
            ],
            "temperature": 0,
            "max_tokens": self.room.answer_tokens,
            "stream": false,
        });
        let wanted = match form {
            AnswerForm::Schema => json!({
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": question.form},
            }),
            AnswerForm::Object => json!({"type": "json_object"}),
            AnswerForm::Words => return request,
        };
        request["response_format"] = wanted;
        request
    }

    fn call(&self, request: &Value) -> RequestBuilder {
        let address = address(&self.server, "chat/completions");
        let call = self.client.post(address).json(request);
        match &self.key {
            Some(key) => call.bearer_auth(key),
            None => call,
        }
    }

    fn post(&self, request: &Value) -> Result<Vec<u8>, HttpProblem> {
        self.runtime.block_on(http::exchange(self.call(request), CHAT_BYTES_MAX))
    }

    /// Sends a request for a stream of events, passes the parts of the answer to `hear`, and returns the response that
    /// they amount to. A server without streams returns a response as usual.
    fn streamed(
        &self,
        mut request: Value,
        hear: &mut dyn FnMut(&str),
    ) -> Result<Vec<u8>, HttpProblem> {
        request["stream"] = true.into();
        let (mut text, mut usage, mut plain) = (String::new(), Value::Null, Vec::new());
        let mut read = |line: &[u8]| match line.strip_prefix(b"data:") {
            Some(event) => {
                let event: Value = serde_json::from_slice(event).unwrap_or_default();
                let part = event.pointer("/choices/0/delta/content").and_then(Value::as_str);
                if let Some(part) = part {
                    hear(part);
                    text.push_str(part);
                }
                if event["usage"].is_object() {
                    usage = event["usage"].clone();
                }
                if event.get("error").is_some_and(|error| !error.is_null()) {
                    plain = event.to_string().into_bytes();
                }
            }
            None if line.starts_with(b":") || line.starts_with(b"event:") => {}
            None => plain.extend_from_slice(line),
        };
        self.runtime.block_on(http::lines(self.call(&request), &mut read))?;
        if plain.is_empty() {
            let response = json!({"choices": [{"message": {"content": text}}], "usage": usage});
            return Ok(response.to_string().into_bytes());
        }
        if let Ok((answer, _)) = self::read(&plain) {
            hear(&answer);
        }
        Ok(plain)
    }

    fn refusal(&self, refusal: Refusal) -> ModelFault {
        let server = self.server.name();
        let message = refusal.message.to_lowercase();
        let is_missing = ["not found", "not exist", "not loaded", "no model"];
        if matches!(refusal.status, 401 | 403) {
            return ModelFault::Key { server, message: refusal.message };
        }
        if refusal.status < 500
            && message.contains("model")
            && is_missing.iter().any(|words| message.contains(words))
        {
            let hint = "name one that it has in `llm.model`".to_owned();
            return ModelFault::NoModel { model: self.model.clone(), server, hint };
        }
        if is_about_length(&refusal) {
            return ModelFault::TooLong { server, message: refusal.message };
        }
        if refusal.status == 402 || message.contains("insufficient_quota") {
            return ModelFault::Limit(refusal.message);
        }
        refusal.fault()
    }
}

/// Returns whether a server rejected the form of the answer, not the question.
fn is_about_form(refusal: &Refusal) -> bool {
    let message = refusal.message.to_lowercase();
    matches!(refusal.status, 400 | 404 | 415 | 422 | 500 | 501)
        && FORM_WORDS.iter().any(|word| message.contains(word))
}

/// Returns whether a server rejected a question that is longer than the model's context. The words are from llama.cpp,
/// vLLM, LM Studio and hosted services.
fn is_about_length(refusal: &Refusal) -> bool {
    let message = refusal.message.to_lowercase();
    LENGTH_WORDS.iter().any(|words| message.contains(words))
}

fn read(given: &[u8]) -> Result<(String, Usage), ModelFault> {
    let response: Response =
        serde_json::from_slice(given).map_err(|error| ModelFault::Answer(error.to_string()))?;
    let counted = response.usage.unwrap_or_default();
    let usage = Usage {
        tokens_in: counted.prompt_tokens,
        tokens_out: counted.completion_tokens,
        usd: counted.cost.filter(|usd| usd.is_finite() && *usd >= 0.0),
        millis: 0,
    };
    let said = response.choices.into_iter().next().and_then(|choice| choice.message.content);
    Ok((said.unwrap_or_default(), usage))
}

/// Returns the context size in tokens that a server reports for its model, in the fields of vLLM and others; `None` if
/// the server reports none. No user data is sent.
pub fn context(server: &ModelServer, model: &str) -> Option<u32> {
    let client = http::client(server, PROBE_TIMEOUT, PROBE_TIMEOUT).ok()?;
    let call = client.get(address(server, "models"));
    let given = http::runtime().ok()?.block_on(http::exchange(call, MODELS_BYTES_MAX)).ok()?;
    let listed: Value = serde_json::from_slice(&given).ok()?;
    let models = listed.get("data")?.as_array()?;
    let model = models.iter().find(|one| one.get("id").and_then(Value::as_str) == Some(model))?;
    let fields = ["/max_model_len", "/loaded_context_length", "/meta/n_ctx", "/context_length"];
    let tokens = fields.iter().find_map(|field| model.pointer(field)?.as_u64())?;
    u32::try_from(tokens).ok()
}

/// Returns the address of a path of the interface. The user may have given the base address with or without the
/// version.
fn address(server: &ModelServer, path: &str) -> String {
    let base = server.url.as_str();
    let version = if base.ends_with("/v1/") { "" } else { "v1/" };
    format!("{base}{version}{path}")
}

impl Provider for OpenAi {
    fn name(&self) -> String {
        format!("openai/{}", self.model)
    }

    fn is_local(&self) -> bool {
        self.server.is_local()
    }

    fn ask(&self, question: &ModelQuestion, _usd_max: Option<f64>) -> ModelReply {
        ModelReply::of(self.asked(question, None))
    }

    fn stream(
        &self,
        question: &ModelQuestion,
        _usd_max: Option<f64>,
        hear: &mut dyn FnMut(&str),
    ) -> ModelReply {
        ModelReply::of(self.asked(question, Some(hear)))
    }
}
