//! Redaction of streams of any length in bounded memory.
//!
//! A stream is read in blocks. The end of each block is kept and read again with the next block, so that a secret
//! across the border is found.

use std::io::{self, Read, Write};

use crate::context::block::{PRIVATE_CLOSE, PRIVATE_OPEN};
use crate::engine::Redactor;
use crate::finding::{Finding, PRIVATE_TEXT, placeholder};

/// Size of a block in bytes.
const BLOCK_BYTES: usize = 512 << 10;

/// Number of bytes at the end of a block that are kept for the next block. It exceeds the longest secret, except
/// private text.
pub const OVERLAP_BYTES: usize = 96 << 10;

/// Number of bytes before a secret that may contain the secret's name.
const CONTEXT_BYTES: usize = 1 << 10;

/// Maximum length in bytes of private text that is kept while its end is searched for.
const HELD_BYTES_MAX: usize = 1 << 20;

impl Redactor {
    /// Copies `input` to `output` without secrets. Returns the number of hidden secrets. Bytes that are not UTF-8
    /// become U+FFFD.
    pub fn redact_stream(&self, mut input: impl Read, mut output: impl Write) -> io::Result<usize> {
        let mut held: Vec<u8> = Vec::new();
        let mut inside = 0usize;
        let mut hidden = 0;
        loop {
            let before = held.len();
            (&mut input).take(BLOCK_BYTES as u64).read_to_end(&mut held)?;
            let is_last = held.len() - before < BLOCK_BYTES;
            if inside > 0 {
                skip_private(&mut held, &mut inside, is_last);
                if inside > 0 {
                    if is_last {
                        return Ok(hidden);
                    }
                    continue;
                }
            }
            let whole = if is_last { held.len() } else { whole_characters(&held) };
            let text = String::from_utf8_lossy(&held[..whole]);
            let (cut, found, is_open) = self.cut(&text, is_last);
            hidden += found.len();
            output.write_all(self.redact_found(&text[..cut], found).as_bytes())?;
            if is_open {
                output.write_all(placeholder(PRIVATE_TEXT).as_bytes())?;
                hidden += 1;
                let mut rest = text.as_bytes()[cut..].to_vec();
                rest.extend_from_slice(&held[whole..]);
                rest.drain(..PRIVATE_OPEN.len());
                (held, inside) = (rest, 1);
                skip_private(&mut held, &mut inside, is_last);
            } else {
                let mut rest = text.as_bytes()[cut..].to_vec();
                rest.extend_from_slice(&held[whole..]);
                held = rest;
            }
            if is_last && held.is_empty() {
                output.flush()?;
                return Ok(hidden);
            }
        }
    }

    /// Returns an offset at which the text can be cut without dividing a secret, the findings before it, and whether
    /// the text after it is private text that does not end here and is too long to keep.
    fn cut(&self, text: &str, is_last: bool) -> (usize, Vec<Finding>, bool) {
        let mut findings = self.findings(text);
        if is_last {
            return (text.len(), findings, false);
        }
        let mut cut = text.floor_char_boundary(text.len().saturating_sub(OVERLAP_BYTES));
        // The cut is between lines, because rules read the text before a value in the same line.
        if let Some(line) = memchr::memrchr(b'\n', &text.as_bytes()[..cut]) {
            cut = line + 1;
        }
        // The cut is moved, because the name of the next secret may be in one of the lines before it.
        let next = findings.iter().find(|f| f.range.start >= cut).map(|f| f.range.start);
        if let Some(next) = next.filter(|next| *next < cut + CONTEXT_BYTES) {
            let before = &text.as_bytes()[..next.saturating_sub(CONTEXT_BYTES).min(cut)];
            cut = memchr::memrchr(b'\n', before).map_or(0, |line| line + 1);
        }
        let across = findings.iter().find(|f| f.range.start < cut && f.range.end > cut);
        let is_open = across.is_some_and(|finding| {
            finding.rule == PRIVATE_TEXT
                && finding.range.end == text.len()
                && text.len() - finding.range.start > HELD_BYTES_MAX
        });
        cut = across.map_or(cut, |finding| finding.range.start);
        findings.retain(|finding| finding.range.end <= cut);
        (cut, findings, is_open)
    }
}

/// Drops private text up to its closing tag; `inside` counts the tags that are still open.
fn skip_private(held: &mut Vec<u8>, inside: &mut usize, is_last: bool) {
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'<', &held[at..]) {
        let tag = &held[at + next..];
        let starts = |name: &str| {
            tag.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
        };
        if tag.len() < PRIVATE_CLOSE.len() && !is_last {
            // The tag may continue in the next block.
            held.drain(..at + next);
            return;
        }
        at += next + 1;
        if starts(PRIVATE_OPEN) {
            *inside += 1;
        } else if starts(PRIVATE_CLOSE) {
            *inside -= 1;
            if *inside == 0 {
                held.drain(..at - 1 + PRIVATE_CLOSE.len());
                return;
            }
        }
    }
    held.clear();
}

/// Returns the length in bytes without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    const CHARACTER_BYTES_MAX: usize = 4;
    let is_start = |byte: &u8| *byte < 0x80 || *byte >= 0xC0;
    let from = bytes.len().saturating_sub(CHARACTER_BYTES_MAX - 1);
    match bytes[from..].iter().rposition(is_start) {
        Some(at) if bytes[from + at] >= 0xC0 => from + at,
        Some(_) | None => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns a few bytes at a time, as a pipe does.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.1.min(buffer.len()).min(self.0.len());
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    fn stream(text: &[u8], at_once: usize) -> String {
        let mut out = Vec::new();
        Redactor::default().redact_stream(Slow(text, at_once), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_stream_is_redacted_like_its_text_wherever_the_blocks_end() {
        let secret = format!("token {}_{}", "ghp", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
        let line = "KqZ4wLr8TnB2mXc6".repeat(4);
        let kind = "PRIVATE KEY";
        let key = format!(
            "-----BEGIN {kind}-----\n{}-----END {kind}-----\n",
            format!("{line}\n").repeat(40)
        );
        for near in [BLOCK_BYTES, BLOCK_BYTES - OVERLAP_BYTES] {
            for before in [5, 700, 2_900] {
                let mut text = "an ordinary line of text, äöü\n".repeat(near / 33);
                text.push_str(&"x ".repeat(near.saturating_sub(text.len() + before) / 2));
                text.push_str(&format!("\n{secret}\n{key}"));
                text.push_str(&"and another line\n".repeat(20_000));
                let expected = Redactor::default().redact(&text).into_owned();
                assert!(expected.contains("[redacted:github-token]\n[redacted:private-key]"));
                assert!(stream(text.as_bytes(), 77_777) == expected, "{near} {before}");
            }
        }
    }

    #[test]
    fn a_name_and_its_value_stay_together_wherever_the_blocks_end() {
        let secret = ["Kq7vLm", "2xRt9w"].concat();
        let filler = "an ordinary line of text\n";
        let lines = (BLOCK_BYTES - OVERLAP_BYTES) / filler.len();
        for before in 0..8 {
            let mut text = filler.repeat(lines - 4 + before);
            text.push_str(&format!("The password:\n\n```\n{secret}\n```\n"));
            text.push_str(&filler.repeat(lines));
            assert!(!stream(text.as_bytes(), 1 << 16).contains(&secret), "{before}");
        }
    }

    #[test]
    fn private_text_of_any_length_is_dropped() {
        let long = "what nobody may keep <b> ".repeat(HELD_BYTES_MAX / 16);
        for end in ["</private> after", ""] {
            let text = format!("before <private>{long}{end}");
            let out = stream(text.as_bytes(), 1 << 16);
            let after = if end.is_empty() { "" } else { " after" };
            assert_eq!(out, format!("before [redacted:private]{after}"));
        }
    }

    #[test]
    fn what_is_no_text_passes_as_replacement_characters() {
        assert_eq!(stream(b"a\xFFb", 1), "a\u{FFFD}b");
        assert_eq!(stream("ä".as_bytes(), 1), "ä");
        assert_eq!(stream(b"", 1), "");
    }
}
