//! Reading the payload: one JSON object on stdin, of which a hook needs a few short members.
//!
//! A payload may be 50 MB long (a tool's output) and truncated anywhere, so it is scanned in chunks as it arrives.
//! Wanted strings are decoded into small buffers; everything else is skipped without being stored. Values that are
//! complete before an error or the end of the input are used.

use crate::deadline::Deadline;
use crate::platform;
use crate::wire::{Overlong, WANTED, WantedMember};

/// Size of the first read in bytes; most payloads are not longer.
const FIRST_BYTES: usize = 4 << 10;

/// Size of further reads in bytes, which is the capacity of a pipe.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum number of bytes of a member's name that are stored; no wanted name is longer.
const NAME_BYTES_MAX: usize = 64;

/// The values of the wanted members of a payload.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Payload {
    values: [Option<String>; WANTED.len()],
}

impl Payload {
    /// Reads the payload from stdin until its object ends, the input ends, or the time limit passes. Input that is not
    /// an object is read to its end too: if the pipe were closed early, its writer would report a failed hook.
    pub fn read(deadline: &Deadline) -> Self {
        let mut scanner = Scanner::default();
        let mut buffer = Vec::with_capacity(FIRST_BYTES);
        while !scanner.is_done() && !deadline.has_waited() {
            match platform::read_stdin(&mut buffer) {
                Some(bytes) if !bytes.is_empty() => scanner.feed(bytes),
                _ => break,
            }
            if buffer.len() == buffer.capacity() {
                buffer.reserve_exact(CHUNK_BYTES);
            }
        }
        scanner.finish()
    }

    /// Scans a payload that is already in memory.
    pub fn from_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut scanner = Scanner::default();
        chunks.into_iter().for_each(|bytes| scanner.feed(bytes));
        scanner.finish()
    }

    /// Returns the value of a member: the text of a string, or the JSON of a number or boolean. `None` if the member is
    /// missing.
    pub fn get(&self, member: WantedMember) -> Option<&str> {
        self.values.get(member as usize)?.as_deref()
    }

    /// Takes the value of a member; `None` if the member is missing or was taken before.
    pub fn take(&mut self, member: WantedMember) -> Option<String> {
        self.values.get_mut(member as usize)?.take()
    }

    /// Returns whether a member is `true`.
    pub fn is_true(&self, member: WantedMember) -> bool {
        self.get(member) == Some("true")
    }
}

/// State of the scanner between two bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScanState {
    /// Before the object.
    #[default]
    Start,
    /// In a container, before a name, a value, a separator or its end.
    Between,
    /// In the string of a member's name.
    Name(Escape),
    /// After a name, before its colon.
    AfterName,
    /// Before a member's value.
    BeforeValue,
    /// In a string value.
    Text(Escape),
    /// In a number or a word such as `true`.
    Word,
    /// Outside the object after invalid input, so the rest is skipped.
    Lost,
    /// After the object.
    Done,
}

/// State of a string between two bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    /// Outside an escape sequence.
    #[default]
    None,
    /// After a backslash.
    Backslash,
    /// In the digits of `\uXXXX`.
    Unicode { digits: u8, value: u16 },
}

/// A push parser that stores the wanted members of one JSON object.
///
/// Names are compared in the outermost object, and in those objects within it that contain wanted members. Elsewhere
/// only brackets and strings are recognised.
#[derive(Debug, Default)]
struct Scanner {
    state: ScanState,
    /// Number of open containers.
    depth: u32,
    /// True if names are read at the current depth.
    names: bool,
    /// The name of the outermost member that is being read, if it contains wanted members.
    inside: Option<&'static str>,
    /// The wanted member whose value is next or being read.
    member: Option<usize>,
    /// The decoded bytes of the current name or value.
    text: Vec<u8>,
    /// True if the current name or value is longer than its limit.
    overlong: bool,
    /// A high surrogate whose low surrogate has not been read yet.
    surrogate: Option<u16>,
    values: [Option<String>; WANTED.len()],
}

impl Scanner {
    const fn is_done(&self) -> bool {
        matches!(self.state, ScanState::Done)
    }

    /// Returns the values of the wanted members; a truncated value is omitted.
    fn finish(self) -> Payload {
        Payload { values: self.values }
    }

    /// Scans the next bytes.
    fn feed(&mut self, mut bytes: &[u8]) {
        while !self.is_done() {
            let rest = match self.state {
                ScanState::Name(escape) | ScanState::Text(escape) => self.string(escape, bytes),
                ScanState::Lost => return,
                _ => self.step(bytes),
            };
            match rest {
                Some(rest) => bytes = rest,
                None => return,
            }
        }
    }

    /// Processes one byte outside strings. Returns the bytes after it; `None` if there are no bytes.
    fn step<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (&byte, rest) = bytes.split_first()?;
        match self.state {
            ScanState::Start => match byte {
                b'{' => self.open(byte),
                // The bytes of a byte order mark are skipped like white space.
                b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => {}
                _ => self.state = ScanState::Lost,
            },
            ScanState::Between => self.between(byte),
            ScanState::AfterName => match byte {
                b':' => self.state = ScanState::BeforeValue,
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => self.state = ScanState::Lost,
            },
            ScanState::BeforeValue => match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => self.value(byte),
            },
            ScanState::Word => match byte {
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' => {
                    self.end_word();
                    self.between(byte);
                }
                _ => self.keep(&[byte]),
            },
            ScanState::Name(_) | ScanState::Text(_) | ScanState::Lost | ScanState::Done => {}
        }
        Some(rest)
    }

    /// Processes a byte that is not part of a string or word.
    fn between(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(),
            b'"' if self.names => self.begin(ScanState::Name(Escape::None)),
            b'"' => self.state = ScanState::Text(Escape::None),
            _ => {}
        }
    }

    /// Processes the first byte of a member's value.
    fn value(&mut self, byte: u8) {
        self.state = ScanState::Between;
        match byte {
            b'"' => self.begin(ScanState::Text(Escape::None)),
            b'{' | b'[' | b'}' | b']' | b',' => {
                self.member = None;
                self.between(byte);
            }
            _ => {
                self.begin(ScanState::Word);
                self.keep(&[byte]);
            }
        }
    }

    fn begin(&mut self, state: ScanState) {
        self.text.clear();
        self.overlong = false;
        self.surrogate = None;
        if matches!(state, ScanState::Name(_)) {
            self.member = None;
        }
        self.state = state;
    }

    fn open(&mut self, bracket: u8) {
        self.depth = self.depth.saturating_add(1);
        if self.depth == 2 && bracket == b'[' {
            self.inside = None;
        }
        self.names = self.depth == 1 || self.depth == 2 && self.inside.is_some();
        self.state = ScanState::Between;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        match self.depth {
            0 => self.state = ScanState::Done,
            1 => {
                self.names = true;
                self.inside = None;
            }
            // `inside` is set if the second level is an object with wanted members.
            2 => self.names = self.inside.is_some(),
            _ => {}
        }
    }

    /// Returns whether the current string or word has to be stored.
    const fn keeps(&self) -> bool {
        matches!(self.state, ScanState::Name(_)) || self.member.is_some()
    }

    fn bytes_max(&self) -> usize {
        match self.member.and_then(|member| WANTED.get(member)) {
            Some(wanted) if !matches!(self.state, ScanState::Name(_)) => wanted.bytes_max,
            _ => NAME_BYTES_MAX,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if !self.keeps() || self.overlong {
            return;
        }
        let room = self.bytes_max().saturating_sub(self.text.len());
        self.overlong = bytes.len() > room;
        self.text.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// Processes the bytes of a string. Returns the bytes after the string; `None` if the string continues after these
    /// bytes.
    fn string<'a>(&mut self, mut escape: Escape, mut bytes: &'a [u8]) -> Option<&'a [u8]> {
        loop {
            let Some((&byte, rest)) = bytes.split_first() else {
                self.state = match self.state {
                    ScanState::Name(_) => ScanState::Name(escape),
                    _ => ScanState::Text(escape),
                };
                return None;
            };
            match escape {
                Escape::None => {
                    let plain = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
                    if let Some(run) = bytes.get(..plain).filter(|run| !run.is_empty()) {
                        self.flush_surrogate();
                        self.keep(run);
                    }
                    bytes = bytes.get(plain..).unwrap_or_default();
                    match bytes.split_first() {
                        Some((b'"', rest)) => {
                            self.flush_surrogate();
                            self.end_string();
                            return Some(rest);
                        }
                        Some((_, rest)) => {
                            escape = Escape::Backslash;
                            bytes = rest;
                        }
                        None => {}
                    }
                }
                Escape::Backslash => {
                    escape = self.escaped(byte);
                    bytes = rest;
                }
                Escape::Unicode { digits, value } => {
                    escape = self.unicode(digits, value, byte);
                    bytes = rest;
                }
            }
        }
    }

    /// Processes the byte after a backslash. Returns the new state of the string.
    fn escaped(&mut self, byte: u8) -> Escape {
        let meant = match byte {
            b'u' => return Escape::Unicode { digits: 0, value: 0 },
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            other => other,
        };
        self.flush_surrogate();
        self.keep(&[meant]);
        Escape::None
    }

    /// Processes a digit of `\uXXXX`. Returns the new state of the string.
    fn unicode(&mut self, digits: u8, value: u16, byte: u8) -> Escape {
        let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
        let value = value << 4 | digit.unwrap_or(0);
        if digits < 3 {
            return Escape::Unicode { digits: digits + 1, value };
        }
        self.unit(value);
        Escape::None
    }

    /// Adds a UTF-16 unit; a surrogate without its counterpart becomes U+FFFD.
    fn unit(&mut self, unit: u16) {
        match (self.surrogate.take(), unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                let code = 0x1_0000 + (u32::from(high - 0xd800) << 10) + u32::from(unit - 0xdc00);
                self.keep_char(char::from_u32(code));
            }
            (None, 0xd800..=0xdbff) => self.surrogate = Some(unit),
            (Some(_), 0xd800..=0xdbff) => {
                self.keep_char(None);
                self.surrogate = Some(unit);
            }
            (lone, _) => {
                if lone.is_some() {
                    self.keep_char(None);
                }
                self.keep_char(char::from_u32(u32::from(unit)));
            }
        }
    }

    fn keep_char(&mut self, char: Option<char>) {
        let mut utf8 = [0; 4];
        self.keep(char.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8).as_bytes());
    }

    fn flush_surrogate(&mut self) {
        if self.surrogate.take().is_some() {
            self.keep_char(None);
        }
    }

    fn end_string(&mut self) {
        if matches!(self.state, ScanState::Name(_)) {
            self.end_name();
            self.state = ScanState::AfterName;
        } else {
            self.store();
            self.state = ScanState::Between;
        }
    }

    /// Determines from the current name the wanted member to which the next value belongs, if any.
    fn end_name(&mut self) {
        let name = str::from_utf8(&self.text).ok().filter(|_| !self.overlong);
        if self.depth == 1 {
            self.inside =
                WANTED.iter().find_map(|wanted| wanted.inside.filter(|&outer| Some(outer) == name));
        }
        let inside = if self.depth == 1 { None } else { self.inside };
        self.member =
            WANTED.iter().position(|wanted| wanted.inside == inside && Some(wanted.name) == name);
    }

    fn end_word(&mut self) {
        if self.text == b"null" {
            self.member = None;
        }
        self.store();
        self.state = ScanState::Between;
    }

    /// Stores the finished value, if it is wanted.
    fn store(&mut self) {
        let Some(member) = self.member.take() else { return };
        let (Some(wanted), Some(value)) = (WANTED.get(member), self.values.get_mut(member)) else {
            return;
        };
        let text = std::mem::take(&mut self.text);
        *value = match (self.overlong, wanted.overlong) {
            (true, Overlong::Drop) => None,
            (true, Overlong::Cut) => Some(cut(&text)),
            (false, _) => Some(decode(text)),
        };
    }
}

/// Returns bytes as text; invalid UTF-8 becomes U+FFFD.
fn decode(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the beginning of a longer text, without an incomplete character at the end.
fn cut(bytes: &[u8]) -> String {
    let whole = match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    String::from_utf8_lossy(bytes.get(..whole).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Payload {
        Payload::from_chunks([text.as_bytes()])
    }

    #[test]
    fn wanted_members_are_kept_and_others_passed_over() {
        let payload = scan(
            r#" {"x":{"prompt":"no","tool_input":{"command":"no"}},"prompt":"a\n\u00e9\ud83d\ude00\"b",
               "a":[{"prompt":"no"},"prompt",[1,2]],"stop_hook_active":true,"agent_id":null,
               "tool_input":{"deep":{"command":"no"},"list":[{"command":"no"}],"command":"ls -l"},
               "command":"no","session_id":"s"} {"session_id":"other"}"#,
        );
        assert_eq!(payload.get(WantedMember::Prompt), Some("a\né😀\"b"));
        assert_eq!(payload.get(WantedMember::Command), Some("ls -l"));
        assert_eq!(payload.get(WantedMember::SessionId), Some("s"));
        assert_eq!(payload.get(WantedMember::AgentId), None);
        assert!(payload.is_true(WantedMember::StopHookActive));
    }

    #[test]
    fn what_came_before_the_cut_is_used() {
        let payload = scan(r#"{"session_id":"s","prompt":"half a prom"#);
        assert_eq!(payload.get(WantedMember::SessionId), Some("s"));
        assert_eq!(payload.get(WantedMember::Prompt), None);
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        let payload = scan(r#"{"prompt":"a\ud83d b\udc00\ud83d\ud83d\ude00\ud83d"}"#);
        assert_eq!(
            payload.get(WantedMember::Prompt),
            Some("a\u{fffd} b\u{fffd}\u{fffd}😀\u{fffd}")
        );
    }

    #[test]
    fn overlong_values_are_cut_or_dropped() {
        let wanted = WANTED[WantedMember::Prompt as usize].bytes_max;
        let long = "é".repeat(wanted);
        let payload = scan(&format!(r#"{{"prompt":"x{long}","session_id":"{long}","cwd":"/"}}"#));
        let prompt = payload.get(WantedMember::Prompt).unwrap();
        assert_eq!(prompt.len(), wanted - 1);
        assert!(prompt.ends_with('é'));
        assert_eq!(payload.get(WantedMember::SessionId), None);
        assert_eq!(payload.get(WantedMember::Cwd), Some("/"));
    }

    #[test]
    fn foreign_input_holds_nothing() {
        for text in
            ["", "   ", "[]", "[{\"prompt\":\"x\"}]", "\"prompt\"", "null", "{", "{}", "nonsense"]
        {
            assert_eq!(scan(text), Payload::default(), "{text}");
        }
    }
}
