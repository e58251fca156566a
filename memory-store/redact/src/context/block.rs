//! Secrets that span lines: private keys in PEM armour, and text that a person marked as private.

use std::ops::{Range, RangeInclusive};

use memchr::memmem;

/// Keyword in the armour of a private key. The search ignores case, but the detector does not.
pub(crate) const PEM_KEYWORD: &str = "PRIVATE KEY";

/// Start of such armour when encoded in base 64.
pub(crate) const ENCODED_PEM_KEYWORD: &str = "LS0tLS1CRUdJTi";

/// Opening tag of text that a person does not want to be stored.
pub(crate) const PRIVATE_OPEN: &str = "<private>";
pub(crate) const PRIVATE_CLOSE: &str = "</private>";

/// Maximum length of a private key in bytes.
const PEM_BYTES_MAX: usize = 64 << 10;

/// Minimum number of characters of key material. With fewer, the armour is only mentioned, for example in a program
/// that reads it.
const PEM_MATERIAL_BYTES_MIN: usize = 24;

/// Returns the private key whose `BEGIN` line contains the keyword at `hit`. If the key is truncated, it ends with its
/// key material.
pub(crate) fn private_key(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const LABEL_BYTES_MAX: usize = 32;
    let lead = &text[hit.start.saturating_sub(BEGIN.len() + LABEL_BYTES_MAX)..hit.start];
    let Some(begin) = memmem::rfind(lead, BEGIN) else { return tail(text, hit) };
    let start = hit.start - lead.len() + begin;
    let rest = &text[hit.end..];
    let body = [b"-----".as_slice(), b" BLOCK-----"]
        .into_iter()
        .find(|end| rest.starts_with(end))
        .map(|end| hit.end + end.len())?;
    let limit = (body + PEM_BYTES_MAX).min(text.len());
    let end = match memmem::find(&text[body..limit], b"-----END ") {
        Some(found) => footer_end(text, body + found),
        None => body + material(&text[body..limit]),
    };
    let telling = text[body..end].iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    (telling >= PEM_MATERIAL_BYTES_MIN + b"END PRIVATE KEY".len()
        || !text[body..end].contains(&b'-') && telling >= PEM_MATERIAL_BYTES_MIN)
        .then_some(start..end)
}

/// Returns the end of a private key whose beginning is cut off: the lines of base 64 before its `END` line, and this
/// line.
fn tail(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    const END: &[u8] = b"-----END ";
    const LABEL_BYTES_MAX: usize = 32;
    const LINE_BYTES: RangeInclusive<usize> = 16..=80;
    let lead = &text[hit.start.saturating_sub(END.len() + LABEL_BYTES_MAX)..hit.start];
    let footer = hit.start - lead.len() + memmem::rfind(lead, END)?;
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let from = footer.saturating_sub(PEM_BYTES_MAX);
    let mut start = footer;
    while start > from {
        let line_end = trim_break(&text[from..start]) + from;
        let line = text[from..line_end].iter().rev().take_while(|byte| is_base64(byte)).count();
        let is_first = start == footer;
        let is_line = LINE_BYTES.contains(&line) || is_first && line > 0;
        if line_end == start || !is_line {
            break;
        }
        start = line_end - line;
    }
    let length = text[start..footer].iter().filter(|byte| is_base64(byte)).count();
    // If the key has its `BEGIN` line, it is found as a whole.
    let is_begun = text[..start].trim_ascii_end().ends_with(b"-----");
    (length >= PEM_MATERIAL_BYTES_MIN && !is_begun).then(|| start..footer_end(text, footer))
}

/// Returns the length of a text without the line break at its end, which may be escaped.
fn trim_break(text: &[u8]) -> usize {
    let text = text.strip_suffix(b"\\n").unwrap_or(text);
    text.strip_suffix(b"\n").map_or(text, |text| text.strip_suffix(b"\r").unwrap_or(text)).len()
}

/// Returns the base 64 encoding of a private key that begins at `hit`, including all its lines.
pub(crate) fn encoded_key(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    const BYTES_MIN: usize = 64;
    // Certificates are public, so they are skipped.
    const CERTIFICATE: &[u8] = b"BDRVJUSUZJQ0FUR";
    if text[hit.end..].starts_with(CERTIFICATE) {
        return None;
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let mut end = hit.start;
    let mut next = hit.start;
    loop {
        let line =
            text[next..].iter().take(PEM_BYTES_MAX).take_while(|byte| is_base64(byte)).count();
        end = if line > 0 { next + line } else { end };
        let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
        let goes_on = line >= 4 && padding == 0 && end - hit.start < PEM_BYTES_MAX;
        end += padding;
        let gap = text[end..].iter().take(40).take_while(|byte| b" \t\r\n".contains(byte)).count();
        let breaks = memchr::memchr_iter(b'\n', &text[end..end + gap]).count();
        if !goes_on || breaks != 1 {
            break;
        }
        next = end + gap;
        // The last line is shorter than the others. Text after it is not included.
        let following =
            text[next..].iter().take(PEM_BYTES_MAX).take_while(|byte| is_base64(byte)).count();
        let ends = text.get(next + following).is_none_or(|byte| b"= \t\r\n\"'".contains(byte));
        if following > line || following < 4 || !ends {
            break;
        }
    }
    (end - hit.start >= BYTES_MIN).then_some(hit.start..end)
}

fn footer_end(text: &[u8], footer: usize) -> usize {
    const FOOTER_BYTES_MAX: usize = 64;
    let tail = &text[footer + 5..(footer + FOOTER_BYTES_MAX).min(text.len())];
    memmem::find(tail, b"-----").map_or(footer, |dashes| footer + 5 + dashes + 5)
}

/// Returns the number of bytes at the start that may be key material: base 64, line breaks, line numbers and header
/// lines.
fn material(text: &[u8]) -> usize {
    text.split_inclusive(|byte| *byte == b'\n')
        .take_while(|line| {
            let spaces = line.trim_ascii().iter().filter(|byte| **byte == b' ').count();
            spaces <= 2
                && line.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
        })
        .map(<[u8]>::len)
        .sum()
}

/// Returns the private text whose opening tag is at `hit`. Tags can be nested, and without a closing tag the private
/// text extends to the end. A tag between backticks is only mentioned.
pub(crate) fn private_text(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    if text[..hit.start].ends_with(b"`") && text[hit.end..].starts_with(b"`") {
        return None;
    }
    let mut depth = 1usize;
    let mut at = hit.end;
    while let Some(next) = memchr::memchr(b'<', &text[at..]) {
        let tag = at + next;
        let starts = |name: &str| {
            text.get(tag..tag + name.len())
                .is_some_and(|at| at.eq_ignore_ascii_case(name.as_bytes()))
        };
        at = tag + 1;
        if starts(PRIVATE_OPEN) {
            depth += 1;
        } else if starts(PRIVATE_CLOSE) {
            depth -= 1;
            if depth == 0 {
                return Some(hit.start..tag + PRIVATE_CLOSE.len());
            }
        }
    }
    Some(hit.start..text.len())
}
