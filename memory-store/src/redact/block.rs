//! Secrets that span lines: private keys in PEM armour, and what a person marked as private.

use std::ops::Range;

use memchr::memmem;

/// The word by which the armour of a private key is found; case is ignored by the search, not here.
pub(super) const PEM_KEYWORD: &str = "PRIVATE KEY";

/// The tag around text that a person does not want to be kept.
pub(super) const PRIVATE_OPEN: &str = "<private>";
pub(super) const PRIVATE_CLOSE: &str = "</private>";

/// The longest private key that is looked for.
const PEM_BYTES_MAX: usize = 64 << 10;

/// Characters of key material below which armour is only mentioned, as in a program that reads it.
const PEM_MATERIAL_BYTES_MIN: usize = 24;

/// Finds the private key whose `BEGIN` line contains the keyword at `hit`. One that was cut off
/// ends where its material ends.
pub(super) fn private_key(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const LABEL_BYTES_MAX: usize = 32;
    let lead = &text[hit.start.saturating_sub(BEGIN.len() + LABEL_BYTES_MAX)..hit.start];
    let start = hit.start - lead.len() + memmem::rfind(lead, BEGIN)?;
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

fn footer_end(text: &[u8], footer: usize) -> usize {
    const FOOTER_BYTES_MAX: usize = 64;
    let tail = &text[footer + 5..(footer + FOOTER_BYTES_MAX).min(text.len())];
    memmem::find(tail, b"-----").map_or(footer, |dashes| footer + 5 + dashes + 5)
}

/// Bytes at the start that may be key material: base 64, line breaks, line numbers, header lines.
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

/// Finds the end of the private text whose opening tag stands at `hit`; tags nest, and one that is
/// never closed reaches to the end. A tag between backticks is only mentioned.
pub(super) fn private_text(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
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
