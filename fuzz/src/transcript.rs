//! Lines of a transcript.

use std::borrow::Cow;

use processor::transcript::{Redact, SessionBuilder, place};

struct Nothing;

impl Redact for Nothing {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }
}

/// Any bytes can be read as lines, some of which are records. Reading in two parts must give the same result as reading
/// the whole.
pub(crate) fn run(bytes: &[u8]) {
    let mut whole = SessionBuilder::new(&Nothing);
    let consumed = whole.read(bytes).expect("memory can be read");
    assert!(consumed <= bytes.len() as u64);
    for line in bytes.split(|&byte| byte == b'\n') {
        place(line);
    }
    let sessions = whole.sessions("session", None);
    let middle = bytes.iter().take(bytes.len() / 2).rposition(|&byte| byte == b'\n');
    let (first, second) = bytes.split_at(middle.map_or(0, |at| at + 1));
    let mut begun = SessionBuilder::new(&Nothing);
    begun.read(first).expect("memory can be read");
    let mut cut = SessionBuilder::resume(begun.into_records(), &Nothing);
    cut.read(second).expect("memory can be read");
    assert_eq!(cut.sessions("session", None), sessions);
}
