//! Splits text into words, and code names into their parts.

use super::fold::{fold, is_unspaced, is_word};
use super::{Form, TERM_BYTES_MAX, placeholder};

/// Calls `emit` with each word in lower case, including stop words. A code name is emitted whole, followed by its
/// parts; any other word is emitted once.
pub fn each_word(text: &str, emit: &mut dyn FnMut(&str, Form)) {
    let text = fold(text);
    let mut lower = String::with_capacity(TERM_BYTES_MAX);
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| is_word(c) || c == '-' || c == '_') {
        at += start;
        // Dashes form a flag only at the start of a word; `a--b` is prose.
        let inside = text[..at].chars().next_back().is_some_and(is_word);
        let end = at + run_end(&text[at..]);
        let run = &text[at..end];
        // A redaction placeholder contains no information about the subject of a text.
        if let Some(length) = placeholder::name_len(&text[..at], run, &text[end..]) {
            at = end + length;
            continue;
        }
        one_run(if inside { run.trim_start_matches('-') } else { run }, &mut lower, emit);
        at = end;
    }
}

/// Returns the end of the run at the start of `text`: word characters of one kind of script, with single joiners
/// between them and up to two dashes before them. Never 0.
fn run_end(text: &str) -> usize {
    let dashes = text.bytes().take(2).take_while(|&b| b == b'-').count();
    let mut end = dashes;
    let mut unspaced = None;
    loop {
        let word = word_len(&text[end..], &mut unspaced);
        if word == 0 {
            break;
        }
        end += word;
        end += joiner_len(&text[end..]);
    }
    end.max(text.chars().next().map_or(0, char::len_utf8))
}

/// Returns the number of bytes of the word characters at the start. A change between spaced and unspaced scripts ends a
/// word.
fn word_len(text: &str, unspaced: &mut Option<bool>) -> usize {
    text.find(|c: char| {
        let kind = is_unspaced(c);
        !(c == '_' || is_word(c) && *unspaced.get_or_insert(kind) == kind)
    })
    .unwrap_or(text.len())
}

/// Returns the length in bytes of the joiner at the start if a word character follows it; otherwise 0. `key:value` and
/// `file:12` are two words, `a::b` is one.
fn joiner_len(text: &str) -> usize {
    let length = match text.as_bytes() {
        [b':', b':', ..] => 2,
        [b'-' | b'.' | b'/' | b'\\' | b'\'' | b'@' | b'+', ..] => 1,
        _ => return 0,
    };
    let followed = text[length..].chars().next().is_some_and(|c| is_word(c) || c == '_');
    if followed { length } else { 0 }
}

/// Emits the words of one run.
fn one_run(run: &str, lower: &mut String, emit: &mut dyn FnMut(&str, Form)) {
    if run.chars().next().is_some_and(is_unspaced) {
        return bigrams(run, emit);
    }
    let run = run.trim_end_matches(|c: char| !is_word(c));
    let flag = run.starts_with('-');
    let name = run.trim_start_matches(['-', '_']);
    if name.is_empty() {
        return;
    }
    match shape(name, flag) {
        Shape::Word => lowered(name.split('\'').next().unwrap_or(name), name, lower, emit),
        Shape::Sentence => name.split('.').for_each(|word| one_run(word, lower, emit)),
        Shape::Initials => {}
        Shape::Code => {
            put(run, Form::Whole, lower, emit);
            parts(name, lower, emit);
        }
    }
}

/// Shape of a run.
enum Shape {
    /// One word, possibly with an apostrophe.
    Word,
    /// Two words joined by a full stop without a space.
    Sentence,
    /// Abbreviations such as `e.g` and `i.e`.
    Initials,
    /// A code name, path, version, flag or hyphenated word.
    Code,
}

fn shape(name: &str, flag: bool) -> Shape {
    let has = |byte: u8| name.as_bytes().contains(&byte);
    let joined = name.bytes().any(|b| matches!(b, b'_' | b'/' | b'\\' | b':' | b'@' | b'+' | b'-'));
    if flag || joined {
        return Shape::Code;
    }
    if has(b'.') {
        if name.split('.').all(|part| part.len() == 1 && part.as_bytes()[0].is_ascii_lowercase()) {
            return Shape::Initials;
        }
        // In `end.Then`, a capital follows the full stop and a lower-case letter precedes it, as in prose.
        let prose =
            name.split('.').skip(1).all(|part| {
                let mut characters = part.chars();
                characters.next().is_some_and(char::is_uppercase)
                    && characters.clone().next().is_some()
                    && characters.all(char::is_lowercase)
            }) && name.split('.').next().is_some_and(|first| first.chars().all(char::is_lowercase));
        return if prose { Shape::Sentence } else { Shape::Code };
    }
    if has(b'\'') || !has_humps(name) { Shape::Word } else { Shape::Code }
}

/// Returns whether a name is written in camelCase, `PascalCase` or `HTTPServer` style.
fn has_humps(name: &str) -> bool {
    let mut bytes = name.bytes();
    let Some(mut last) = bytes.next() else { return false };
    for byte in bytes {
        if byte.is_ascii_uppercase() && (last.is_ascii_lowercase() || last.is_ascii_digit()) {
            // `E0308X` and `SHA256` are codes, not names, so a lower-case letter is required.
            return name.bytes().any(|b| b.is_ascii_lowercase());
        }
        if byte.is_ascii_lowercase() && last.is_ascii_uppercase() {
            // In `HTTPServer`, two or more capitals precede a lower-case letter.
            let capitals = name.bytes().take_while(u8::is_ascii_uppercase).count();
            if capitals > 1 {
                return name.len() > capitals + 1;
            }
        }
        last = byte;
    }
    false
}

/// Emits a word with an apostrophe: the whole word if it is a contraction among the stop words, otherwise the part
/// before the apostrophe.
fn lowered(stem: &str, whole: &str, lower: &mut String, emit: &mut dyn FnMut(&str, Form)) {
    if stem.len() != whole.len() {
        set_lower(whole, lower);
        if super::is_stop_word(lower) {
            return emit(lower, Form::Word);
        }
    }
    put(stem, Form::Word, lower, emit);
}

/// Emits the parts of a code name, which is split at joiners and then at humps. For a path, the file name is emitted
/// too.
fn parts(name: &str, lower: &mut String, emit: &mut dyn FnMut(&str, Form)) {
    // The single numbers of a version have no meaning.
    if name.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return;
    }
    for step in name.split(['/', '\\']) {
        let is_file = step.len() < name.len() && step.contains('.');
        if is_file {
            put(step, Form::Part, lower, emit);
        }
        for piece in step.split(['.', '-', ':', '_', '@', '+', '\'']) {
            humps(piece, lower, emit);
        }
    }
}

fn humps(piece: &str, lower: &mut String, emit: &mut dyn FnMut(&str, Form)) {
    let bytes = piece.as_bytes();
    let mut start = 0;
    for at in 1..bytes.len() {
        let (last, this, next) = (bytes[at - 1], bytes[at], bytes.get(at + 1));
        let rises = !last.is_ascii_uppercase() && last.is_ascii() && this.is_ascii_uppercase();
        let ends_capitals = last.is_ascii_uppercase()
            && this.is_ascii_uppercase()
            && next.is_some_and(u8::is_ascii_lowercase);
        if (rises && piece.bytes().any(|b| b.is_ascii_lowercase())) || ends_capitals {
            part(&piece[start..at], lower, emit);
            start = at;
        }
    }
    part(&piece[start..], lower, emit);
}

/// Emits a part, unless it is a single letter or digit.
fn part(piece: &str, lower: &mut String, emit: &mut dyn FnMut(&str, Form)) {
    if piece.chars().nth(1).is_some() || !piece.is_ascii() {
        put(piece, Form::Part, lower, emit);
    }
}

fn put(word: &str, form: Form, lower: &mut String, emit: &mut dyn FnMut(&str, Form)) {
    if word.is_empty() || word.len() > TERM_BYTES_MAX {
        return;
    }
    set_lower(word, lower);
    emit(lower, form);
}

fn set_lower(word: &str, lower: &mut String) {
    lower.clear();
    if word.is_ascii() {
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// Emits each pair of neighbouring characters. A text of one character is emitted as it is.
fn bigrams(run: &str, emit: &mut dyn FnMut(&str, Form)) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (mut first, mut second) = (starts.next().unwrap_or(0), starts.next().unwrap_or(0));
    let mut pairs = 0;
    for third in starts {
        emit(&run[first..third], Form::Bigram);
        (first, second) = (second, third);
        pairs += 1;
    }
    if pairs == 0 && first < second {
        emit(&run[first..second], Form::Bigram);
    }
}
