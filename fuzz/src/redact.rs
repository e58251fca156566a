//! Redaction of arbitrary text.

use std::borrow::Cow;

use memory_store::redact::Redactor;

/// Redacting a redacted text must not change it. Findings must be in order and within the text. Redacting a stream must
/// find secrets wherever redacting the whole text does.
pub(crate) fn run(bytes: &[u8]) {
    let redactor = Redactor::default();
    let text = String::from_utf8_lossy(bytes);
    let mut end = 0;
    for finding in redactor.findings(&text) {
        assert!(finding.range.start >= end && text.get(finding.range.clone()).is_some());
        end = finding.range.end;
    }
    let once = redactor.redact(&text);
    let twice = redactor.redact(&once);
    assert!(matches!(twice, Cow::Borrowed(_)), "{once:?} became {twice:?}");
    let mut out = Vec::new();
    redactor.redact_stream(bytes, &mut out).expect("memory takes everything");
    let out = String::from_utf8(out).expect("what is written is text");
    assert!(redactor.findings(&out).is_empty(), "{out:?}");
}
