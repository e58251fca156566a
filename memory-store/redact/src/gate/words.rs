//! Sentences of a text, their words, and their quotations.

use std::ops::Range;

use memory_store_base::text::is_unspaced;

use crate::finding::placeholders;

/// Returns a text in lower case, without the names in placeholders, because they are not words of the text.
pub(super) fn lowered(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for range in placeholders(text) {
        clean.push_str(&text[at..range.start]);
        at = range.end;
    }
    clean.push_str(&text[at..]);
    clean.to_lowercase()
}

/// Returns the last words of a text.
pub(super) fn last_words(text: &str, count: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().rev().take(count).collect();
    words.into_iter().rev().collect::<Vec<_>>().join(" ")
}

/// Extends a word by the signs after it with which a password may end.
pub(super) fn with_end(text: &str, range: Range<usize>) -> Range<usize> {
    let signs = text[range.end..].bytes().take_while(|byte| b"!?#$%*".contains(byte)).count();
    range.start..range.end + signs
}

/// Returns the sentences of a text. Lines of lists, tables and code are separate sentences.
pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_own = begins_item(line);
        if is_own && at > start {
            found.push(start..at);
            start = at;
        }
        let mut chars = line.char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            let is_end = match c {
                '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
                '。' | '！' | '？' => true,
                _ => false,
            };
            if is_end {
                let end = at + offset + c.len_utf8();
                found.push(start..end);
                start = end;
            }
        }
        at += line.len();
        if is_own || line.trim().is_empty() {
            found.push(start..at);
            start = at;
        }
    }
    found.push(start..at);
    found.retain(|range| !text[range.clone()].trim().is_empty());
    found
}

/// Returns whether a line is an item of a list, a row of a table, a heading or code.
fn begins_item(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.bytes().take_while(u8::is_ascii_digit).count();
    line.starts_with("    ")
        || line.starts_with('\t')
        || text.starts_with(['|', '#', '>', '-', '*', '+', '`', '$', '│'])
        || number > 0 && text[number..].starts_with(['.', ')'])
}

/// Returns the ranges of a sentence's words, without signs around them.
pub(super) fn words(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    let is_unspaced = |c: char| is_unspaced(c) && !is_hangul(c);
    let is_edge = |c: char| match c {
        ' ' | '\t'..='\r' | '"' | '\'' | '`' | '<' | '>' | '|' => true,
        '\0'..='\x7f' => false,
        _ => {
            c.is_whitespace()
                || is_unspaced(c)
                || "«»„“”‚‘’‹›「」『』、，：；（）。！？│–—×→".contains(c)
        }
    };
    let mut found = Vec::new();
    let mut start = sentence.start;
    let mut take = |start: usize, end: usize| {
        let word = &text[start..end];
        let inner = word.trim_start_matches(['(', '[', '{', '*', '_', '=', ',', ';']);
        let from = start + word.len() - inner.len();
        let inner =
            inner.trim_end_matches(['.', ',', ':', ';', '!', '?', ')', ']', '}', '*', '_', '…']);
        if !inner.is_empty() {
            let is_placeholder =
                text[..from].ends_with('<') && text[from + inner.len()..].starts_with('>');
            if !is_placeholder {
                found.push(from..from + inner.len());
            }
        }
    };
    for (offset, c) in text[sentence.clone()].char_indices() {
        if is_edge(c) {
            take(start, sentence.start + offset);
            start = sentence.start + offset + c.len_utf8();
        }
    }
    take(start, sentence.end);
    found
}

/// Returns whether a letter is Korean; Korean has spaces between words.
fn is_hangul(c: char) -> bool {
    ('\u{AC00}'..='\u{D7AF}').contains(&c)
}

/// Returns the ranges of the text inside quotes in a sentence.
pub(super) fn quoted(text: &str, sentence: &Range<usize>) -> Vec<Range<usize>> {
    const PAIRS: [(char, char); 9] = [
        ('"', '"'),
        ('`', '`'),
        ('«', '»'),
        ('»', '«'),
        ('「', '」'),
        ('『', '』'),
        ('“', '”'),
        ('„', '“'),
        ('‘', '’'),
    ];
    let mut found = Vec::new();
    for (open, close) in PAIRS {
        let mut at = sentence.start;
        while let Some(start) = text[at..sentence.end].find(open) {
            let start = at + start + open.len_utf8();
            let Some(length) = text[start..sentence.end].find(close) else { break };
            let inner = &text[start..start + length];
            let lead = inner.len() - inner.trim_start().len();
            // Between two quotations in a line there are spaces at the ends.
            if inner.trim() == inner || !open.is_ascii() {
                found.push(start + lead..start + lead + inner.trim().len());
            }
            at = start + length + close.len_utf8();
        }
    }
    found
}
