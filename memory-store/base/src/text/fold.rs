//! Normalisation of equivalent characters.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Returns the text in NFKC, with Latin letters without their accents and with typographic apostrophes and hyphens in
/// their plain forms. ASCII text, the usual case, is returned unchanged.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut folded = String::with_capacity(text.len());
    let mut latin = false;
    for c in text.nfkd() {
        match c {
            '\u{2018}' | '\u{2019}' => folded.push('\''),
            '\u{2010}' | '\u{2011}' => folded.push('-'),
            // Accents on Latin letters are dropped; in other scripts such marks are significant.
            _ if is_combining_mark(c) && latin => {}
            _ => {
                latin = c.is_ascii_alphabetic();
                folded.push(c);
            }
        }
    }
    Cow::Owned(folded.nfc().collect())
}

/// Returns whether a character's script is written without spaces between words. Pairs of characters are then used
/// instead of words.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        // Thai, Lao, Myanmar, Khmer.
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF
        // Hiragana, Katakana, Bopomofo, Hangul jamo, ideographs and their extensions.
        | 0x3040..=0x30FF | 0x3100..=0x31BF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF | 0x3005..=0x3007)
}

/// Returns whether a character belongs to a word.
pub(crate) fn is_word(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() || is_combining_mark(c)
    }
}
