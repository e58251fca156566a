//! Requests to a model's server, with limits for time and size and without redirects.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response};
use tokio::runtime::Runtime;

use super::ModelFault;
use super::host::ModelServer;

/// Timeout for connecting. A running server answers in a few milliseconds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of characters of a server's error message that are shown.
const MESSAGE_CHARS_MAX: usize = 200;
/// Maximum size of a response in parts, in bytes. Each part is one token in an object of its own.
const STREAM_BYTES_MAX: usize = 8 << 20;
/// Maximum number of bytes of a server's error message that are read.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Reason why there is no response.
#[derive(Debug)]
pub enum HttpProblem {
    /// The request failed.
    Http(reqwest::Error),
    /// The response exceeds the limit.
    Long { bytes_max: usize },
    /// The server sent an error instead.
    Refused(Refusal),
}

/// An error reported by a server.
#[derive(Debug)]
pub struct Refusal {
    /// The status of the response.
    pub status: u16,
    /// The waiting time that the server requests, if any.
    pub wait: Option<Duration>,
    /// The server's message on one line.
    pub message: String,
}

impl Refusal {
    /// Returns the general fault for this error, for use if no more specific fault applies.
    pub fn fault(self) -> ModelFault {
        let Self { status, wait, message } = self;
        match status {
            429 => ModelFault::Busy { message, wait },
            408 | 500..=599 => ModelFault::Server { status: Some(status), message },
            _ => ModelFault::Answer(message),
        }
    }
}

/// Sends a request and reads the response up to `bytes_max` bytes.
pub async fn exchange(request: RequestBuilder, bytes_max: usize) -> Result<Vec<u8>, HttpProblem> {
    read(sent(request).await?, bytes_max).await
}

/// Sends a request, and passes each line of the response to `read` as soon as it is complete.
pub async fn lines(
    request: RequestBuilder,
    read: &mut dyn FnMut(&[u8]),
) -> Result<(), HttpProblem> {
    let mut response = sent(request).await?;
    let (mut line, mut bytes) = (Vec::new(), 0);
    while let Some(chunk) = response.chunk().await.map_err(HttpProblem::Http)? {
        bytes += chunk.len();
        if bytes > STREAM_BYTES_MAX {
            return Err(HttpProblem::Long { bytes_max: STREAM_BYTES_MAX });
        }
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                read(std::mem::take(&mut line).trim_ascii());
            }
        }
    }
    read(line.trim_ascii());
    Ok(())
}

async fn sent(request: RequestBuilder) -> Result<Response, HttpProblem> {
    let response = request.send().await.map_err(HttpProblem::Http)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let wait = wait.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    let text = read(response, MESSAGE_BYTES_MAX).await.unwrap_or_default();
    let message = message(&String::from_utf8_lossy(&text));
    let message = if message.is_empty() { status.to_string() } else { message };
    Err(HttpProblem::Refused(Refusal { status: status.as_u16(), wait, message }))
}

async fn read(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, HttpProblem> {
    let mut given = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(HttpProblem::Http)? {
        if given.len() + chunk.len() > bytes_max {
            return Err(HttpProblem::Long { bytes_max });
        }
        given.extend_from_slice(&chunk);
    }
    Ok(given)
}

/// Creates a client with timeouts. It follows no redirects, because these could lead redacted text to another host. For
/// a server on this machine it uses no proxy, because the text must not leave the machine.
pub fn client(server: &ModelServer, connect: Duration, answer: Duration) -> Result<Client, String> {
    let mut http = Client::builder()
        .connect_timeout(connect)
        .read_timeout(answer)
        .timeout(answer)
        .redirect(reqwest::redirect::Policy::none());
    if server.is_local() {
        http = http.no_proxy();
        // The name must resolve to this machine, regardless of the resolver's answer.
        if let Some(name) = server.url.domain() {
            let here = [(Ipv4Addr::LOCALHOST, 0).into(), (Ipv6Addr::LOCALHOST, 0).into()];
            http = http.resolve_to_addrs(name, &here);
        }
    }
    http.build().map_err(|error| format!("the HTTP client: {error}"))
}

/// Creates the asynchronous runtime for requests.
pub fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime: {error}"))
}

/// Returns the fault for a failed exchange with `server`. `hint` explains how to start the server; `most` is the
/// timeout with the name of its setting.
pub fn fault(
    error: reqwest::Error,
    server: &ModelServer,
    hint: &'static str,
    most: (Duration, &'static str),
) -> ModelFault {
    if error.is_connect() {
        return ModelFault::Unreachable { server: server.name(), hint };
    }
    if error.is_timeout() {
        return ModelFault::Slow { wait: most.0, setting: most.1 };
    }
    // The library adds the address to the message. It is removed, because it may contain private data.
    ModelFault::Broken(error.without_url().to_string())
}

/// Returns the fault for a response that exceeds the limit.
pub fn long(bytes_max: usize) -> ModelFault {
    ModelFault::Answer(format!("it has more than {} KiB", bytes_max >> 10))
}

/// Returns the error in a response with a success status; `None` if there is none. LM Studio sends some errors in this
/// way.
pub fn refused(given: &[u8]) -> Option<Refusal> {
    let json: serde_json::Value = serde_json::from_slice(given).ok()?;
    let is_error = json.get("choices").is_none() && json.get("error").is_some_and(|e| !e.is_null());
    let message = || message(&String::from_utf8_lossy(given));
    is_error.then(|| Refusal { status: 400, wait: None, message: message() })
}

/// Returns the message of a server's error, from its JSON in the usual forms, or else its text.
pub fn message(text: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let error = json.as_ref().and_then(|json| json.get("error"));
    let message = error.and_then(|error| error.as_str().or_else(|| error.get("message")?.as_str()));
    let message = message.or_else(|| json.as_ref()?.get("message")?.as_str());
    line(message.unwrap_or(text))
}

/// Returns the beginning of a text from outside, on one line.
pub fn line(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MESSAGE_CHARS_MAX).collect()
}
