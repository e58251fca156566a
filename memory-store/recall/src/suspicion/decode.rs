//! Hidden readings of a text: other spellings of it, and its encoded parts.

use memory_store_base::text::{base64, is_invisible};

/// Maximum depth of nested encodings that are decoded.
const DEPTH_MAX: usize = 3;
/// Maximum number of readings of a text.
const READINGS_MAX: usize = 48;
/// Maximum total length of all readings in bytes.
const READING_BYTES_MAX: usize = 256 << 10;
/// Minimum length of a run of base64 or hexadecimal digits. A shorter run cannot contain an instruction.
const RUN_BYTES_MIN: usize = 20;
/// Minimum number of escapes in a text that counts as escaped.
const ESCAPES_MIN: usize = 4;

/// Words of which every instruction to a model contains at least one. A text is reversed or rotated (ROT13) only if the
/// result contains one.
const CORE: [&str; 22] = [
    "ignor",
    "disregard",
    "forget",
    "instruct",
    "system",
    "prompt",
    "rules",
    "guideline",
    "command",
    "obey",
    "user",
    "secret",
    "password",
    "token",
    "keys",
    "you are",
    "your",
    "curl",
    "model",
    "assistant",
    ".env",
    "credential",
];

/// A reading of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DecodedReading {
    /// The text as read.
    pub text: String,
    /// Name of the encoding, for display; empty for the original text.
    pub way: &'static str,
    /// Line of the original text that contains the reading, counted from 0; the first one if there are several.
    pub line: usize,
}

/// Returns the text itself, and all other readings of it that might have a meaning.
pub(crate) fn readings(text: &str) -> Vec<DecodedReading> {
    let mut readings = vec![DecodedReading { text: text.to_owned(), way: "", line: 0 }];
    let mut bytes = text.len();
    let mut from = 0;
    for depth in 0..DEPTH_MAX {
        let until = readings.len();
        for at in from..until {
            let reading = readings[at].clone();
            for mut found in others(&reading.text, depth == 0) {
                bytes += found.text.len();
                let known = readings.iter().any(|reading| reading.text == found.text);
                if known || readings.len() >= READINGS_MAX || bytes > READING_BYTES_MAX {
                    continue;
                }
                if !reading.way.is_empty() {
                    (found.way, found.line) = (reading.way, reading.line);
                }
                readings.push(found);
            }
        }
        from = until;
    }
    readings
}

/// Returns the decoded parts of a text and, if `as_it_stands`, other spellings of the whole text.
fn others(text: &str, as_it_stands: bool) -> Vec<DecodedReading> {
    let mut found = decoded(text);
    if as_it_stands {
        found.extend(respelled(text));
    }
    found
}

/// Returns the readings of a whole text that is spelled in another way.
fn respelled(text: &str) -> Vec<DecodedReading> {
    let mut found = Vec::new();
    let mut add = |text: Option<String>, way| {
        if let Some(text) = text {
            found.push(DecodedReading { text, way, line: 0 });
        }
    };
    add(spelled(text), "letter by letter");
    add(leet(text, 'i'), "digits for letters");
    add(leet(text, 'l'), "digits for letters");
    let lower = text.to_ascii_lowercase();
    let says = |word: String| lower.contains(&word);
    if CORE.iter().any(|word| says(word.chars().map(rot13).collect())) {
        add(Some(text.chars().map(rot13).collect()), "ROT13");
    }
    if CORE.iter().any(|word| says(reversed(word))) {
        add(Some(text.lines().map(reversed).collect::<Vec<_>>().join("\n")), "backwards");
    }
    let tags: String = text.chars().filter_map(tag_character).collect();
    add((tags.len() >= 4).then_some(tags), "tag characters");
    found
}

fn reversed(line: &str) -> String {
    line.chars().rev().collect()
}

fn rot13(c: char) -> char {
    let turn = |base: u8| char::from((c as u8 - base + 13) % 26 + base);
    match c {
        'a'..='z' => turn(b'a'),
        'A'..='Z' => turn(b'A'),
        _ => c,
    }
}

/// Returns the ASCII character that an invisible tag character encodes; `None` for other characters.
fn tag_character(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xe0000)?;
    (0x20..0x7f).contains(&code).then(|| char::from_u32(code)).flatten()
}

/// Returns a text with joined words if some are spelled letter by letter (`i g n o r e`, `i.g.n.o.r.e`); otherwise
/// `None`.
fn spelled(text: &str) -> Option<String> {
    const LETTERS_MIN: usize = 3;
    let is_separator =
        |c: char| matches!(c, '.' | '_' | '-' | '*' | '|' | '\u{b7}' | '/' | '~' | '+');
    let joined = |chunk: &str| {
        let separator = chunk.chars().nth(1).filter(|c| is_separator(*c))?;
        let single = chunk.trim_end_matches([',', ';', ':', '!', '?', '.']).split(separator);
        let letters: Option<String> = single
            .map(|part| {
                part.chars().next().filter(|c| c.is_alphanumeric() && part.len() == c.len_utf8())
            })
            .collect();
        letters.filter(|letters| letters.chars().count() >= LETTERS_MIN)
    };
    let mut changed = false;
    let mut result = String::with_capacity(text.len());
    for line in text.lines() {
        // If letters are separated by one space, words are separated by two.
        let mut letters = String::new();
        for chunk in line.split(' ') {
            let mut chars = chunk.chars().filter(|c| !is_invisible(*c));
            match (chars.next(), chars.next()) {
                (None, _) => {
                    if !letters.is_empty() {
                        letters.push('\n');
                    }
                }
                (Some(c), None) if c.is_alphanumeric() => letters.push(c),
                _ => {
                    changed |= put_letters(&mut letters, &mut result);
                    match joined(chunk) {
                        Some(word) => {
                            result.push_str(&word);
                            changed = true;
                        }
                        None => result.push_str(chunk),
                    }
                    result.push(' ');
                }
            }
        }
        changed |= put_letters(&mut letters, &mut result);
        result.push('\n');
    }
    changed.then_some(result)
}

/// Appends single letters, joined to words if there are enough of them. Returns whether there were enough. A line break
/// among the letters separates words.
fn put_letters(letters: &mut String, result: &mut String) -> bool {
    const LETTERS_MIN: usize = 5;
    let many = letters.chars().filter(|c| *c != '\n').count() >= LETTERS_MIN;
    for word in letters.split('\n').filter(|word| !word.is_empty()) {
        if many {
            result.push_str(word);
        } else {
            word.chars().for_each(|c| result.extend([c, ' ']));
        }
        result.push(' ');
    }
    letters.clear();
    many
}

/// Returns a text in which digits and signs are replaced by the letters that they represent; `None` if it has too few.
fn leet(text: &str, one: char) -> Option<String> {
    let letter = |c: char| match c {
        '0' => 'o',
        '1' | '!' => one,
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        '8' => 'b',
        '9' => 'g',
        c => c,
    };
    let mut changed = 0;
    let mut result = String::with_capacity(text.len());
    for chunk in text.split_inclusive(char::is_whitespace) {
        let word =
            chunk.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '!' | '.' | ','));
        let mixed = word.chars().any(char::is_alphabetic) && word.chars().any(|c| letter(c) != c);
        changed += usize::from(mixed);
        let digits = word.chars().all(|c| letter(c) != c);
        if mixed || digits {
            result.extend(word.chars().map(letter));
            result.push_str(&chunk[word.len()..]);
        } else {
            result.push_str(chunk);
        }
    }
    (changed >= 2).then_some(result)
}

/// Returns the decoded parts of a text, one reading for each.
fn decoded(text: &str) -> Vec<DecodedReading> {
    let mut found = Vec::new();
    for (whole, way) in [
        (percent(text), "percent encoding"),
        (entities(text), "character references"),
        (escapes(text), "escapes"),
    ] {
        found.extend(whole.map(|text| DecodedReading { text, way, line: 0 }));
    }
    for (line, run) in runs(text) {
        let hex = hexadecimal(&run).and_then(readable);
        found.extend(hex.map(|text| DecodedReading { text, way: "hexadecimal digits", line }));
        // The first part of a base64 text may be missing, so that the groups of the rest are shifted.
        for skip in 0..4.min(run.len()) {
            let digits = run[skip..].trim_end_matches('=').as_bytes();
            let plain = base64::bytes(digits).collect::<Option<_>>().and_then(readable);
            if let Some(text) = plain {
                found.push(DecodedReading { text, way: "base64", line });
                break;
            }
        }
    }
    found
}

/// Returns the runs of base64 or hexadecimal digits, also joined over lines or bytes, with their line numbers.
fn runs(text: &str) -> Vec<(usize, String)> {
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    let mut runs = Vec::new();
    let mut spaced: Option<(usize, String)> = None;
    let mut lines: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        for chunk in line.split(|c: char| !is_digit(c)).filter(|chunk| !chunk.is_empty()) {
            let chunk = chunk.strip_prefix("0x").unwrap_or(chunk);
            if chunk.len() >= RUN_BYTES_MIN {
                runs.push((number, chunk.to_owned()));
            }
            let byte = chunk.len() == 2 && chunk.bytes().all(|byte| byte.is_ascii_hexdigit());
            match (&mut spaced, byte) {
                (Some((_, run)), true) => run.push_str(chunk),
                (None, true) => spaced = Some((number, chunk.to_owned())),
                (_, false) => runs.extend(spaced.take()),
            }
        }
        let run = line.trim();
        let is_run = !run.is_empty() && run.chars().all(is_digit);
        match (&mut lines, is_run) {
            (Some((_, joined)), true) => joined.push_str(run),
            (None, true) => lines = Some((number, run.to_owned())),
            (_, false) => runs.extend(lines.take()),
        }
    }
    runs.extend(spaced);
    runs.extend(lines);
    runs.retain(|(_, run)| run.len() >= RUN_BYTES_MIN);
    runs
}

fn hexadecimal(run: &str) -> Option<Vec<u8>> {
    if !run.len().is_multiple_of(2) || !run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..run.len()).step_by(2).map(|at| u8::from_str_radix(run.get(at..at + 2)?, 16).ok()).collect()
}

/// Returns bytes as text if they are readable. At either end, one character may be broken.
fn readable(bytes: Vec<u8>) -> Option<String> {
    const BROKEN_MAX: usize = 3;
    let text = String::from_utf8_lossy(&bytes);
    let strange =
        text.chars().filter(|c| *c == '\u{fffd}' || c.is_control() && !c.is_whitespace()).count();
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    (strange <= BROKEN_MAX.min(text.chars().count() / 8) && letters * 2 > text.chars().count())
        .then(|| text.into_owned())
}

fn percent(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut escapes = 0;
    while let Some((&first, tail)) = rest.split_first() {
        let code =
            tail.get(..2).filter(|_| first == b'%').and_then(|code| str::from_utf8(code).ok());
        let byte = code.filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = byte.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(first));
        escapes += usize::from(byte.is_some());
        rest = &rest[if byte.is_some() { 3 } else { 1 }..];
    }
    (escapes >= ESCAPES_MIN).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Decodes HTML's character references: the numeric ones, and the few named ones that can hide a tag. Returns `None` if
/// there are none.
fn entities(text: &str) -> Option<String> {
    const NAMED: [(&str, char); 6] = [
        ("lt;", '<'),
        ("gt;", '>'),
        ("amp;", '&'),
        ("quot;", '"'),
        ("nbsp;", ' '),
        ("apos;", '\''),
    ];
    let mut result = String::with_capacity(text.len());
    let mut changed = false;
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        result.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let named = NAMED.iter().find(|(name, _)| tail.starts_with(name));
        let found = named.map(|(name, c)| (name.len(), *c)).or_else(|| numbered(tail));
        match found {
            Some((length, c)) => {
                result.push(c);
                rest = &tail[length..];
                changed = true;
            }
            None => {
                result.push('&');
                rest = tail;
            }
        }
    }
    result.push_str(rest);
    changed.then_some(result)
}

/// Returns the length and the character of a reference such as `#105;` or `#x69;`; `None` if it is invalid.
fn numbered(text: &str) -> Option<(usize, char)> {
    let digits = text.strip_prefix('#')?;
    let end = digits.bytes().take(8).position(|byte| byte == b';')?;
    let code = match digits[..end].strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits[..end].parse().ok()?,
    };
    Some((end + 2, char::from_u32(code)?))
}

/// Decodes escapes such as `\u0069`, `\u{69}` and `\x69`. Returns `None` if there are too few.
fn escapes(text: &str) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut escapes = 0;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        result.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        match escape(tail) {
            Some((length, c)) => {
                result.push(c);
                rest = &tail[length..];
                escapes += 1;
            }
            None => {
                result.push('\\');
                rest = tail;
            }
        }
    }
    result.push_str(rest);
    (escapes >= ESCAPES_MIN).then_some(result)
}

fn escape(text: &str) -> Option<(usize, char)> {
    let hex = |text: &str| u32::from_str_radix(text, 16).ok().and_then(char::from_u32);
    let (kind, digits) = (text.chars().next()?, text.get(1..)?);
    match kind {
        'u' | 'U' if digits.starts_with('{') => {
            let end = digits.bytes().take(9).position(|byte| byte == b'}')?;
            Some((end + 2, hex(&digits[1..end])?))
        }
        'u' => Some((5, hex(digits.get(..4)?)?)),
        'U' => Some((9, hex(digits.get(..8)?)?)),
        'x' => Some((3, hex(digits.get(..2)?)?)),
        _ => None,
    }
}
