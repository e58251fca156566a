//! Values that appear random near a word about access: "the box lets you in with deploy and then ...", `user=svc
//! cred=...`, `new Client('svc', '...')`. A *cue* is such a word. Unlike the name of a password, a cue does not
//! indicate a secret, so the value itself must look like one, and its context must not label it as an id.

use std::ops::Range;

use crate::gate::sentence;
use crate::value::{ValuePlace, chosen, judge, word};
use crate::vocabulary::WORDS;

/// Bytes before and after a cue that are searched for its value.
const BEFORE_BYTES_MAX: usize = 48;
const AFTER_BYTES_MAX: usize = 80;

/// Number of bytes that are searched in the lines below a cue that is the heading of a list or an object.
const BLOCK_BYTES_MAX: usize = 200;

/// Maximum length of a value in bytes; a line of base 64 is longer.
const VALUE_BYTES_MAX: usize = 56;

/// Reads a text cue by cue. Each part is read once.
#[derive(Default)]
pub(crate) struct CueReader {
    read: usize,
    /// End of the last line that was judged as a sentence.
    judged: usize,
}

impl CueReader {
    /// Returns the values near the cue at `hit` that were not returned before.
    pub(crate) fn next(&mut self, text: &[u8], hit: &Range<usize>) -> Vec<Range<usize>> {
        if !begins_word(text, hit) {
            return Vec::new();
        }
        let mut found = self.sentence(text, hit);
        let start = hit.start.saturating_sub(BEFORE_BYTES_MAX).max(self.read);
        let window = start..window_end(text, hit.end);
        if window.len() < VALUE_BYTES_MIN || !may_hold_value(&text[window.clone()]) {
            return found;
        }
        let line = &text[window.start..hit.start.max(window.start)];
        let start = memchr::memrchr(b'\n', line).map_or(window.start, |at| window.start + at + 1);
        let start = word_start(text, start);
        self.read = window.end;
        found.extend(values(text, start..window.end));
        found
    }

    /// Returns the certain credentials in the sentences around the name or cue at `hit`.
    pub(crate) fn sentence(&mut self, text: &[u8], hit: &Range<usize>) -> Vec<Range<usize>> {
        const SIDE_BYTES: usize = 160;
        if hit.start < self.judged {
            return Vec::new();
        }
        let from = hit.start.saturating_sub(SIDE_BYTES);
        let start = memchr::memrchr(b'\n', &text[from..hit.start]).map_or(from, |at| from + at + 1);
        let to = text.len().min(hit.end + SIDE_BYTES);
        let end = memchr::memchr(b'\n', &text[hit.end..to]).map_or(to, |at| hit.end + at);
        if !has_mixed_word(&text[start..end]) {
            self.judged = end;
            return Vec::new();
        }
        // The window must not split words or characters.
        let is_space = |byte: &u8| *byte == b' ' || *byte == b'\n';
        let start = if start == from && from > 0 {
            start + text[start..hit.start].iter().position(is_space).unwrap_or(hit.start - start)
        } else {
            start
        };
        let more = text[end..].iter().take(SIDE_BYTES).position(is_space);
        let end = end + if end == to { more.unwrap_or(0) } else { 0 };
        self.judged = end;
        let Ok(line) = str::from_utf8(&text[start..end]) else { return Vec::new() };
        let found = sentence::clear(line).into_iter();
        let found = found.map(|range| start + range.start..start + range.end);
        found.filter(|value| !is_part_or_id(text, value)).collect()
    }
}

/// Returns whether a value is part of base 64, a call or an address, or is labelled as an id.
fn is_part_or_id(text: &[u8], value: &Range<usize>) -> bool {
    text.get(value.end).is_some_and(|next| b"=([".contains(next))
        || is_named_otherwise(text, value.start)
        || is_in_address(text, value)
}

/// Returns whether a line contains a word that may be a value.
fn has_mixed_word(line: &[u8]) -> bool {
    // For most lines this test suffices.
    line.iter().any(u8::is_ascii_digit)
        && line.split(|byte| byte.is_ascii_whitespace()).any(word::may_be_value)
}

/// Returns the value before the name of a password, in the same line.
pub(crate) fn before(text: &[u8], name: usize) -> Option<Range<usize>> {
    let window = name.saturating_sub(AFTER_BYTES_MAX)..name;
    if !may_hold_value(&text[window.clone()]) {
        return None;
    }
    let line = memchr::memrchr(b'\n', &text[window.clone()]);
    let start = line.map_or(window.start, |at| window.start + at + 1);
    values(text, word_start(text, start)..name).pop()
}

/// Returns the values near non-ASCII cues.
pub(crate) fn abroad(text: &[u8]) -> Vec<Range<usize>> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut reader = CueReader::default();
    let cues = WORDS.cue_abroad.automaton_for(text).find_iter(text);
    let mut found: Vec<_> = cues.flat_map(|cue| reader.next(text, &cue.range())).collect();
    let mut reader = CueReader::default();
    let names = WORDS.name_abroad.automaton_for(text).find_iter(text);
    found.extend(names.flat_map(|name| reader.sentence(text, &name.range())));
    found
}

/// Minimum length of a value in bytes.
const VALUE_BYTES_MIN: usize = 10;

/// Returns whether a cue begins a word or a part of a name.
fn begins_word(text: &[u8], hit: &Range<usize>) -> bool {
    if !text[hit.start].is_ascii_alphanumeric() {
        return true;
    }
    let Some(before) = hit.start.checked_sub(1).map(|at| text[at]) else { return true };
    let is_part = before.is_ascii_lowercase() && text[hit.start].is_ascii_uppercase();
    !before.is_ascii_alphanumeric() || is_part || text[..hit.start].ends_with(b"\\n")
}

/// Returns whether a window contains the characters of a value; most windows do not.
fn may_hold_value(window: &[u8]) -> bool {
    let (digits, capitals) = window.iter().fold((false, false), |(digits, capitals), byte| {
        (digits | byte.is_ascii_digit(), capitals | byte.is_ascii_uppercase())
    });
    // Values of random words contain neither, but have signs between the words.
    digits && capitals || memchr::memchr_iter(b'-', window).nth(2).is_some()
}

/// Returns the end of the text to read after a cue: the end of its line, or of the lines below if the cue is the
/// heading of a list.
fn window_end(text: &[u8], at: usize) -> usize {
    const HEAD_BYTES_MAX: usize = 24;
    let rest = &text[at..text.len().min(at + AFTER_BYTES_MAX)];
    let Some(line) = memchr::memchr(b'\n', rest) else { return at + rest.len() };
    let head = rest[..line].trim_ascii_end();
    let is_head = line <= HEAD_BYTES_MAX
        && head.last().is_some_and(|last| b":=[{(]>".contains(last))
        && head.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.-\"': =[{(]".contains(byte));
    if !is_head {
        return at + line;
    }
    let block = &text[at..text.len().min(at + BLOCK_BYTES_MAX)];
    at + memchr::memmem::find(block, b"\n\n").unwrap_or(block.len())
}

/// Returns the start of the word at an offset, unless the word is too long.
fn word_start(text: &[u8], at: usize) -> usize {
    let before = text[..at].iter().rev().take(VALUE_BYTES_MAX);
    at - before.take_while(|byte| !is_edge(**byte)).count()
}

/// Returns whether a byte is a separator of words in text or code.
fn is_edge(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`*([{<>=:,;|)]}".contains(&byte) || !byte.is_ascii()
}

/// Returns the values in a window that appear random. The last value may extend beyond the window.
fn values(text: &[u8], window: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = window.start;
    while at < window.end {
        let is_before = |byte: &&u8| is_edge(**byte) || **byte == b'-';
        let start = at + text[at..window.end].iter().take_while(is_before).count();
        let word = text[start..].iter().take(2 * VALUE_BYTES_MAX).take_while(|b| !is_edge(**b));
        let end = start + word.count();
        at = end.max(start + 1);
        let word = &text[start..end];
        let signs = word.iter().rev().take_while(|byte| b".!?".contains(byte)).count();
        let found_at = start..end - signs;
        let told = &text[found_at.clone()];
        let chosen = quoted_choice(text, start);
        let is_told = judge(told, ValuePlace::Cue).is_secret()
            || chosen.is_some()
            || chosen::is_lone_phrase(told) && !text[end..].starts_with(b"::")
            || (chosen::is_long_word_with_number(told)
                || word::is_chosen_with_sign(text, &found_at))
                && is_given(&text[window.start.min(start)..start]);
        let value = chosen.unwrap_or(found_at);
        if is_told && !is_part_or_id(text, &(start..value.end)) {
            found.push(value);
        }
    }
    found
}

/// Returns a quoted password at an offset that a person chose, including the sign at its end.
fn quoted_choice(text: &[u8], start: usize) -> Option<Range<usize>> {
    let value = word::quoted(text, start)?;
    chosen::is_chosen(&text[value.clone()]).then_some(value)
}

/// Returns whether the words before a value indicate that it is given.
fn is_given(lead: &[u8]) -> bool {
    let quotes = lead.iter().rev().take_while(|byte| b"\"'`*".contains(byte)).count();
    let lead = &lead[..lead.len() - quotes];
    WORDS.cue_giving.end(lead)
}

/// Returns whether the name before a value labels it as an id, a hash or another value that grants no access.
fn is_named_otherwise(text: &[u8], at: usize) -> bool {
    const LEAD_BYTES: usize = 40;
    let lead = &text[at.saturating_sub(LEAD_BYTES)..at];
    let is_sign = |byte: &&u8| b" \"'`\\:=>([{#@".contains(byte);
    let signs = lead.iter().rev().take_while(is_sign).count();
    let lead = &lead[..lead.len() - signs];
    let letters = lead.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let name = &lead[lead.len() - letters..];
    // The last word of `userId`.
    let last = name
        .iter()
        .rposition(u8::is_ascii_uppercase)
        .filter(|at| *at > 0 && name[*at - 1].is_ascii_lowercase());
    let last = last.map_or(name, |at| &name[at..]);
    let is = |word: &[u8]| WORDS.cue_id.has(word);
    is(name) || is(last) || name.ends_with(b"ID")
}

/// Returns whether a value is part of an address; other rules handle these.
fn is_in_address(text: &[u8], value: &Range<usize>) -> bool {
    const LEAD_BYTES: usize = 160;
    let lead = &text[value.start.saturating_sub(LEAD_BYTES)..value.start];
    let word = lead.rsplit(|byte| byte.is_ascii_whitespace() || b"\"'`<(".contains(byte)).next();
    word.is_some_and(|word| memchr::memmem::find(word, b"://").is_some())
}
