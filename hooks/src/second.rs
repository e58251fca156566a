//! The second space in a hook: the vector of a prompt, from a model on this machine, within a deadline
//! that the user set. Off unless they did.
//!
//! A plain HTTP/1.0 request, which the server answers in one piece and with the end of the connection
//! (RFC 1945): no library is worth its weight in a process that lives for a millisecond.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use memory_store::recall::Recall;
use memory_store::second::Ask;
use memory_store::settings::Embedder;
use serde::Deserialize;

use crate::clock;
use crate::hook::Hook;

/// What is left of the hook's time for everything after the answer.
const RESERVE: Duration = Duration::from_millis(10);
/// Bytes of a prompt that are sent: a question stands at its beginning or is not one.
const PROMPT_BYTES_MAX: usize = 2 << 10;
/// Bytes of an answer: a vector of 8,192 numbers in words.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Lets a prompt be compared in the second space, where the settings ask for it.
pub fn with_second(hook: &Hook, recall: Recall) -> Recall {
    let Some(embedder) = recall.settings().embedder.clone() else { return recall };
    let Some(address) = loopback(&embedder) else { return recall };
    let left = hook.deadline.remaining().saturating_sub(RESERVE);
    let most = left.min(Duration::from_millis(u64::from(embedder.hook_ms)));
    recall.with_second(Box::new(Local { embedder, address, most }))
}

/// The address that may be asked: on this machine, whatever the manifest says.
fn loopback(embedder: &Embedder) -> Option<SocketAddr> {
    let address: SocketAddr = embedder.hook_address.parse().ok()?;
    (embedder.hook_ms > 0 && address.ip().is_loopback()).then_some(address)
}

/// A model on this machine.
#[derive(Debug)]
struct Local {
    embedder: Embedder,
    address: SocketAddr,
    /// How long it may take, connecting included.
    most: Duration,
}

#[derive(Deserialize)]
struct Answer {
    embeddings: Vec<Vec<f32>>,
}

impl Ask for Local {
    fn vector(&self, text: &str) -> Result<Vec<f32>, String> {
        let until = clock::since_boot() + self.most;
        let text = &text[..text.floor_char_boundary(PROMPT_BYTES_MAX)];
        let body = serde_json::json!({
            "model": self.embedder.model, "input": self.embedder.query(text),
        });
        let given = self.exchange(&body.to_string(), until);
        let given = given.map_err(|error| format!("{}: {error}", self.address))?;
        let text =
            body_of(&given).ok_or_else(|| format!("{}: no vector came back", self.address))?;
        let answer: Option<Answer> = serde_json::from_slice(text).ok();
        let vector = answer.and_then(|mut answer| answer.embeddings.pop());
        vector.ok_or_else(|| format!("{}: no vector came back", self.address))
    }
}

impl Local {
    /// Sends a request and reads what comes back, until the time is over.
    fn exchange(&self, body: &str, until: Duration) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, left(until)?)?;
        let request = format!(
            "POST /api/embed HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.set_write_timeout(Some(left(until)?))?;
        stream.write_all(request.as_bytes())?;
        let mut given = Vec::new();
        let mut buffer = [0; 4096];
        while given.len() < ANSWER_BYTES_MAX {
            stream.set_read_timeout(Some(left(until)?))?;
            let count = stream.read(&mut buffer)?;
            given.extend_from_slice(&buffer[..count]);
            if count == 0 || is_whole(&given) {
                return Ok(given);
            }
        }
        Err(std::io::ErrorKind::FileTooLarge.into())
    }
}

/// The time that is left.
fn left(until: Duration) -> std::io::Result<Duration> {
    let left = until.saturating_sub(clock::since_boot());
    if left < Duration::from_millis(1) {
        return Err(std::io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// What stands below the head of a response that says all is well.
fn body_of(given: &[u8]) -> Option<&[u8]> {
    let (head, body) = cut(given)?;
    let status = head.split(|byte| *byte == b' ').nth(1)?;
    (head.starts_with(b"HTTP/1.") && status == b"200").then_some(body)
}

/// Whether as much has come as the head announces: some servers leave the connection open.
fn is_whole(given: &[u8]) -> bool {
    let Some((head, body)) = cut(given) else { return false };
    let announced = head.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked(15)?;
        let is_it = name.eq_ignore_ascii_case(b"content-length:");
        is_it.then(|| str::from_utf8(value).ok()?.trim().parse::<usize>().ok())?
    });
    announced.is_some_and(|announced| body.len() >= announced)
}

/// The head and what follows it.
fn cut(given: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memmem::find(given, b"\r\n\r\n")?;
    Some((&given[..end], &given[end + 4..]))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A model that answers each request with these bytes, and keeps the connection open.
    fn answering(bytes: &'static [u8]) -> Local {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let count = stream.read(&mut request).unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..count]).into_owned();
                assert!(request.starts_with("POST /api/embed HTTP/1.0\r\n"), "{request}");
                assert!(request.contains("\"search_query: why?\""), "{request}");
                stream.write_all(bytes).unwrap();
                open.push(stream);
            }
        });
        Local { embedder: Embedder::default(), address, most: Duration::from_secs(20) }
    }

    #[test]
    fn a_vector_comes_back_without_waiting_for_the_end() {
        let local = answering(
            b"HTTP/1.0 200 OK\r\ncontent-LENGTH: 26\r\nX: y\r\n\r\n{\"embeddings\":[[1, -0.25]]}",
        );
        assert_eq!(local.vector("why?"), Ok(vec![1.0, -0.25]));
    }

    #[test]
    fn whatever_else_comes_back_is_a_reason_to_go_on_without() {
        for bytes in [
            &b"HTTP/1.0 404 Not Found\r\nContent-Length: 17\r\n\r\n{\"error\":\"model\"}"[..],
            b"HTTP/1.0 200 OK\r\nContent-Length: 17\r\n\r\n{\"embeddings\":[]}",
            b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n{",
            b"HTTP/1.0 200\r\nContent-Length: 0\r\n\r\n",
        ] {
            let told = answering(bytes).vector("why?").unwrap_err();
            assert!(told.contains("no vector came back"), "{told}");
        }
    }

    #[test]
    fn nobody_is_waited_for_longer_than_set() {
        let local = Local { most: Duration::from_millis(30), ..answering(b"HTTP/1.0 200 OK\r\n") };
        assert!(local.vector("why?").is_err());
        let local = Local { most: Duration::ZERO, ..local };
        let told = local.vector("why?").unwrap_err();
        assert!(told.contains("timed out"), "{told}");
    }

    #[test]
    fn only_this_machine_is_asked_and_only_if_that_was_set() {
        let embedder = |address: &str, hook_ms| Embedder {
            hook_address: address.to_owned(),
            hook_ms,
            ..Embedder::default()
        };
        assert!(loopback(&embedder("127.0.0.1:11434", 20)).is_some());
        assert!(loopback(&embedder("[::1]:11434", 20)).is_some());
        for (address, hook_ms) in
            [("127.0.0.1:11434", 0), ("10.0.0.2:11434", 20), ("", 20), ("localhost:11434", 20)]
        {
            assert_eq!(loopback(&embedder(address, hook_ms)), None, "{address}");
        }
    }
}
