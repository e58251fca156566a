//! Assignments of secrets: a name such as `DB_PASSWORD`, `apiKey` or `client-secret`, an operator, and a value. They
//! are detected by code that starts at the keyword, because such names are frequent in code and nearly all of them have
//! a harmless value.

mod form;
mod promise;
mod said;

use std::ops::Range;

use crate::context::cue;
use crate::value::{self, Promise, ValuePlace, drawn, judge, shape, stand_in, word};
use crate::vocabulary::WORDS;
use promise::{promise, promise_at, promise_in_prose};

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 80;

/// Maximum length in bytes of a value that is hidden.
const VALUE_BYTES_MAX: usize = 16 << 10;

/// Maximum number of bytes of a value that are judged.
const JUDGED_BYTES_MAX: usize = 512;

/// Maximum number of bytes of a value that are judged if names are close together.
const DENSE_BYTES_MAX: usize = 64;

/// Minimum number of words in an unquoted passphrase that only its name identifies.
const PHRASE_WORDS_MIN: usize = 4;

/// Maximum number of spaces between name, operator and value.
const SPACES_MAX: usize = 24;

/// Operator style of an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Join {
    /// `NAME=value` at the start of a line or after `export`, as in an `.env` file.
    Env,
    /// `name=value` without spaces: a query, a flag, a connection string.
    Tight,
    /// With spaces or a colon, as in code, YAML and JSON.
    Loose,
    /// `<name>value</name>`.
    Element,
    /// `key=value;` among other pairs of this form, as in a connection string.
    Connection,
}

/// Returns the secret value of the assignment whose name contains the keyword at `hit`; `None` if there is none.
///
/// If such names are close together (`is_dense`), so that each is inside the value of the previous one, fewer bytes of
/// each value are read.
pub(crate) fn find(text: &[u8], hit: &Range<usize>, is_dense: bool) -> Option<Range<usize>> {
    let name = name_around(text, hit)?;
    if is_verdict(text, &name) || is_folder(text, &name) {
        return None;
    }
    if let Some(value) = assigned(text, &name, is_dense) {
        return Some(value);
    }
    part_of_name(text, &name, hit)
        .or_else(|| form::bytes(text, &name, || promise_at(text, &name)))
        .or_else(|| {
            let promise = promise_in_prose(text, &name)?;
            form::find(text, &name, promise).or_else(|| near(text, &name, promise))
        })
        .filter(|_| !is_in_template(text, &name))
}

/// Returns a value after or before the name of a secret in the same line. `pwd` counts only after `;`, because it may
/// also be a folder.
fn near(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let is_folder =
        text[name.clone()].eq_ignore_ascii_case(b"pwd") && !text[..name.start].ends_with(b";");
    (promise != Promise::SomeKey && !is_folder)
        .then(|| said::near(text, name.end, promise).or_else(|| cue::before(text, name.start)))?
}

/// Returns a value within the name of a file or a branch: `notes-password-<value>.txt`.
fn part_of_name(text: &[u8], name: &Range<usize>, hit: &Range<usize>) -> Option<Range<usize>> {
    const BYTES_MIN: usize = 10;
    const TURNS_MIN: usize = 4;
    let rest = &text[hit.end..name.end];
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let at = hit.end + word + 1;
    let is_password = || promise(&text[hit.start..hit.end + word]) == Some(Promise::Password);
    if !matches!(rest.get(word), Some(b'-' | b'_')) || word > 4 || !is_password() {
        return None;
    }
    let length = text[at..name.end].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let value = &text[at..at + length];
    let turns =
        value.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit());
    let is_drawn = turns.count() >= TURNS_MIN
        && value.iter().any(u8::is_ascii_uppercase)
        && value.iter().any(u8::is_ascii_lowercase);
    let is_drawn = is_drawn || drawn::is_mixed(value) && shape::is_random(value, BYTES_MIN);
    (length >= BYTES_MIN && is_drawn).then_some(at..at + length)
}

/// Returns the secret value that is assigned to a name, or that a sentence gives for it.
fn assigned(text: &[u8], name: &Range<usize>, is_dense: bool) -> Option<Range<usize>> {
    let judged = if is_dense { DENSE_BYTES_MAX } else { JUDGED_BYTES_MAX };
    // The operator is searched for first: most of these words have none, and splitting a name takes longer.
    let upper = !text[name.clone()].iter().any(u8::is_ascii_lowercase);
    let Some((at, join)) = operator(text, name, upper) else {
        return said::find(text, name, promise_at(text, name)?);
    };
    let promise = promise_at(text, name)?;
    if let Some(value) = config_value(text, name, at, judged) {
        return Some(value);
    }
    if promise == Promise::Password
        && let Some(value) = word::with_signs(text, at)
            .or_else(|| word::with_braces(text, at))
            .or_else(|| (join != Join::Env).then(|| word::drawn(text, at))?)
    {
        return Some(value);
    }
    if join == Join::Loose
        && said::is_abroad(&text[name.clone()])
        && let Some(value) = said::assigned(text, at)
    {
        return Some(value);
    }
    if join == Join::Loose
        && text[name.clone()].to_ascii_lowercase().ends_with(b"passphrase")
        && let Some(value) = said::phrase(text, at, PHRASE_WORDS_MIN)
    {
        return Some(value);
    }
    let (value, quoted) = value_at(text, at, join, judged)?;
    let content = &text[value.start..value.end.min(value.start + judged)];
    if stand_in::is_other_thing(content) {
        return None;
    }
    if promise == Promise::SomeKey {
        let is_secret = some_key_is_secret(text, name, content);
        return is_secret
            .then(|| if quoted { value } else { to_its_end(text, value, join, judged) });
    }
    let place = match (quoted, join) {
        (true, _) | (false, Join::Element) => ValuePlace::Quoted(promise, upper),
        (false, Join::Env | Join::Connection) => ValuePlace::Setting(promise),
        (false, Join::Tight | Join::Loose) => {
            let next = text.get(value.end).copied().unwrap_or(b' ');
            ValuePlace::Bare(promise, next, join == Join::Tight)
        }
    };
    let secret = judge(content, place).is_secret();
    secret.then(|| if quoted { value } else { to_its_end(text, value, join, judged) })
}

/// Returns the second secret of a sentence that contains two: "from this to that".
pub(crate) fn next_secret(text: &[u8], at: usize) -> Option<Range<usize>> {
    said::next(text, at)
}

/// Returns whether the name of a column indicates a secret. The name may contain spaces.
pub(crate) fn names_secret(text: &[u8], name: &Range<usize>) -> bool {
    let words = text[name.clone()].to_ascii_lowercase();
    let joined: Vec<u8> =
        words.iter().map(|byte| if *byte == b' ' { b'_' } else { *byte }).collect();
    matches!(promise(&joined), Some(Promise::Password | Promise::Key))
}

/// Returns whether a word is the name of a password, or of a secret of another kind.
pub(crate) fn names_password(word: &[u8]) -> bool {
    let is_french = word.eq_ignore_ascii_case(b"passe");
    is_french || matches!(promise(word), Some(Promise::Password | Promise::Key))
}

/// Returns the passwords whose names are not ASCII.
pub(crate) fn abroad(text: &[u8]) -> Vec<Range<usize>> {
    if text.is_ascii() {
        return Vec::new();
    }
    let names = WORDS.name_abroad.automaton_for(text).find_iter(text);
    // `lösenordet`
    let ending =
        |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let value = |name: Range<usize>| {
        said::abroad(text, &name)
            .or_else(|| form::find(text, &name, Promise::Password))
            .or_else(|| said::near(text, name.end + ending(name.end), Promise::Password))
            .or_else(|| cue::before(text, name.start))
            .or_else(|| said::by_means_of(text, &name))
    };
    names.filter_map(|name| value(name.range())).collect()
}

/// Returns whether a name is a result that a test runner prints: `PASS: test_name`.
fn is_verdict(text: &[u8], name: &Range<usize>) -> bool {
    if !matches!(&text[name.clone()], b"PASS" | b"XPASS") {
        return false;
    }
    let at = skip_spaces(text, name.end + usize::from(text.get(name.end) == Some(&b':')));
    let rest = text.get(at..).unwrap_or_default();
    let length =
        rest.iter().take(JUDGED_BYTES_MAX).take_while(|b| !b.is_ascii_whitespace()).count();
    let told = &rest[..length];
    let is_test = told.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"test"));
    at > name.end
        && text.get(name.end) != Some(&b'=')
        && (is_test
            || text[..name.start].ends_with(b"--- ")
            || !(drawn::is_mixed(told) && shape::is_random(told, 10)))
}

/// Returns whether `pwd` is the working directory, or part of a setting about that.
fn is_folder(text: &[u8], name: &Range<usize>) -> bool {
    const VALUE_BYTES_MAX: usize = 64;
    const PASSWORD_BYTES_MIN: usize = 6;
    let said = &text[name.clone()];
    if !said.eq_ignore_ascii_case(b"pwd") && !said.eq_ignore_ascii_case(b"oldpwd") {
        return false;
    }
    let is_sign = |byte: &&u8| b"\"'`:=)] \t*".contains(byte);
    let at = name.end + text[name.end..].iter().take(SPACES_MAX).take_while(is_sign).count();
    // `pwd=b"..."`
    let is_bytes = text[at..].starts_with(b"b\"") || text[at..].starts_with(b"b'");
    let at = at + if is_bytes { 2 } else { 0 };
    let rest = text[at..].iter().take(VALUE_BYTES_MAX);
    let length =
        rest.take_while(|byte| !byte.is_ascii_whitespace() && !b"\"'`".contains(byte)).count();
    let value = &text[at..at + length];
    let escapes = value.windows(2).any(|pair| {
        pair[0] == b'\\' && pair[1].is_ascii_alphanumeric() && !b"nrt".contains(&pair[1])
    });
    let is_rooted = matches!(value, [b'/' | b'~' | b'.', ..] | [b'\\', b'\\', ..])
        || matches!(value, [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    let is_assigned = text[name.end..at].iter().any(|byte| b":=".contains(byte));
    is_rooted || escapes || is_assigned && value.len() < PASSWORD_BYTES_MIN
}

/// Returns whether a name is in a template, with filters after it: `{{ .Values.auth.password | b64enc }}`.
fn is_in_template(text: &[u8], name: &Range<usize>) -> bool {
    const LEAD_BYTES: usize = 64;
    const REST_BYTES: usize = 64;
    let lead = &text[name.start.saturating_sub(LEAD_BYTES)..name.start];
    let lead = &lead[memchr::memrchr(b'\n', lead).map_or(0, |at| at + 1)..];
    let Some(open) = memchr::memrchr(b'{', lead).filter(|at| lead[..*at].ends_with(b"{")) else {
        return false;
    };
    let rest = &text[name.end..text.len().min(name.end + REST_BYTES)];
    // Code also has braces, but then there is a quote before the name or an assignment after it.
    let is_plain = |byte: &u8| !b"\"'`:=}\n".contains(byte);
    let end = rest.iter().take_while(|byte| is_plain(byte)).count();
    lead[open..].iter().all(is_plain) && rest[end..].starts_with(b"}}")
}

/// Returns the value in a line of a settings file, unless it resembles code.
fn config_value(
    text: &[u8],
    name: &Range<usize>,
    at: usize,
    judged: usize,
) -> Option<Range<usize>> {
    const LEAD_BYTES_MAX: usize = 24;
    let lead = &text[name.start.saturating_sub(LEAD_BYTES_MAX)..name.start];
    let begins_line =
        lead.iter().rev().find(|byte| !b" \t".contains(byte)).is_none_or(|b| *b == b'\n');
    let rest = text.get(at..)?;
    let length = rest.iter().take(judged).take_while(|b| !b.is_ascii_whitespace()).count();
    let value = &rest[..length];
    let is_code = value.iter().any(|byte| b"(){}[]<>\"'`;|&$".contains(byte));
    (begins_line && !is_code && value::has_many_signs(value)).then_some(at..at + length)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

/// Returns the whole name that contains the keyword at `hit`.
fn name_around(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    let before = text[..hit.start].iter().rev().take(NAME_BYTES_MAX).take_while(|b| is_name(**b));
    let mut start = hit.start - before.count();
    let after = text[hit.end..].iter().take(NAME_BYTES_MAX).take_while(|b| is_name(**b)).count();
    // The `n` of an escaped line break is not part of the name.
    if start > 0 && text[start - 1] == b'\\' && b"nrt".contains(&text[start]) && start < hit.start {
        start += 1;
    }
    let end = hit.end + after;
    (end - start <= NAME_BYTES_MAX).then_some(start..end)
}

/// Returns the start of the value and the operator style; `None` if there is no operator.
fn operator(text: &[u8], name: &Range<usize>, upper: bool) -> Option<(usize, Join)> {
    if text[..name.start].ends_with(b"<") && text[name.end..].starts_with(b">") {
        let space = text[name.end + 1..].iter().take(SPACES_MAX);
        return Some((
            name.end + 1 + space.take_while(|byte| byte.is_ascii_whitespace()).count(),
            Join::Element,
        ));
    }
    let mut at = name.end;
    while text.get(at).is_some_and(|byte| b"\\\"'`])".contains(byte)) && at < name.end + 6 {
        at += 1;
    }
    let closed = at;
    at = skip_spaces(text, at);
    let at_operator = skip_type(text, at);
    let opened = text[..name.start].last();
    let is_quoted =
        opened.is_some_and(|quote| b"\"'`".contains(quote) && text.get(name.end) == Some(quote));
    let Some(length) = operator_length(&text[at_operator..], is_quoted) else {
        // `--password value`.
        let is_flag = at > closed && is_flag(text, name);
        return is_flag.then_some((at, Join::Tight));
    };
    let after = at_operator + length;
    let value = skip_spaces(text, after);
    if ends_its_own_string(text, name, closed, value) {
        return None;
    }
    let tight = at_operator == name.end && value == after && text[at_operator] == b'=';
    let join = match tight {
        true if upper && starts_line(text, name.start) => Join::Env,
        true if text[..name.start].ends_with(b";") => Join::Connection,
        true => Join::Tight,
        false if text[at_operator] == b'=' && is_among_settings(text, name, value) => {
            Join::Connection
        }
        false => Join::Loose,
    };
    Some((value, join))
}

/// Returns whether a value ends with `;` and follows a user name, as in a connection string with spaces.
fn is_among_settings(text: &[u8], name: &Range<usize>, value: usize) -> bool {
    const LEAD_BYTES: usize = 80;
    const USERS: [&[u8]; 3] = [b"user id=", b"uid=", b"username="];
    let lead = text[name.start.saturating_sub(LEAD_BYTES)..name.start].to_ascii_lowercase();
    let rest = text.get(value..).unwrap_or_default();
    let length = rest.iter().take(128).take_while(|b| !b";\"' \n".contains(b)).count();
    rest.get(length) == Some(&b';')
        && USERS.iter().any(|user| memchr::memmem::find(&lead, user).is_some())
}

/// Returns the length of the operator at the start; `None` if there is none. After a quoted name the operator may be a
/// comma, as in `set("name", "value")`; before a quoted value it may be the word `is`.
fn operator_length(text: &[u8], name_is_quoted: bool) -> Option<usize> {
    let is_quote = |byte: Option<&u8>| byte.is_some_and(|byte| b"\"'`".contains(byte));
    match text {
        [b',', rest @ ..] if name_is_quoted => {
            let value = rest.trim_ascii_start();
            // Names in backticks are a list in prose, and a quoted text before a colon is the next name.
            let end =
                value.iter().skip(1).take(NAME_BYTES_MAX).position(|byte| b"\"'".contains(byte));
            let is_name = end.is_some_and(|end| value.get(end + 2) == Some(&b':'));
            (is_quote(value.first()) && value.first() != Some(&b'`') && !is_name).then_some(1)
        }
        [b'i', b's', b' ', rest @ ..] => is_quote(rest.first()).then_some(3),
        [b'-', b' ', rest @ ..] => is_quote(rest.first()).then_some(2),
        _ => {
            let signs = text.iter().take(5).take_while(|byte| b"=:!+.?|&>".contains(byte)).count();
            let known: [&[u8]; 17] = [
                b"=", b":", b"==", b"=>", b"!=", b":=", b"?=", b"+=", b".=", b"===", b"!==",
                b"::=", b"||=", b"&&=", b"??=", b":::=", b"=:",
            ];
            known.contains(&&text[..signs]).then_some(signs)
        }
    }
}

/// Returns whether the name is at the end of a string, so that the quote after it closes that string:
/// `label: "Password:", hint: "..."`.
fn ends_its_own_string(text: &[u8], name: &Range<usize>, closed: usize, value: usize) -> bool {
    let opened = text[..name.start].last().filter(|byte| b"\"'`".contains(byte));
    opened.is_some() && closed == name.end && text.get(value) == opened
}

fn skip_spaces(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take(SPACES_MAX).take_while(|byte| b" \t".contains(byte)).count()
}

/// Skips `: type` or `type` before an `=`, as in `let password: &str = "..."` and in `var password string = "..."`.
fn skip_type(text: &[u8], at: usize) -> usize {
    const TYPE_BYTES_MAX: usize = 40;
    let (rest, at_type) = match text.get(at..) {
        Some([b':', rest @ ..]) => (rest, at + 1),
        Some(rest) if text[..at].ends_with(b" ") => (rest, at),
        Some(_) | None => return at,
    };
    let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b" &_<>[]|.?':".contains(&byte);
    let length = rest.iter().take(TYPE_BYTES_MAX).take_while(|byte| is_type(**byte)).count();
    let named = rest[..length].iter().any(u8::is_ascii_alphabetic);
    let assigned = rest.get(length) == Some(&b'=') && rest.get(length + 1) != Some(&b'=');
    if named && assigned && rest[..length].ends_with(b" ") { at_type + length } else { at }
}

fn is_flag(text: &[u8], name: &Range<usize>) -> bool {
    text[name.clone()].starts_with(b"--")
        && text[..name.start].last().is_none_or(u8::is_ascii_whitespace)
}

/// Returns whether only `export`, `set` or `-e` is before this offset in the line.
fn starts_line(text: &[u8], at: usize) -> bool {
    const LEAD_BYTES_MAX: usize = 48;
    let lead = &text[at.saturating_sub(LEAD_BYTES_MAX)..at];
    let line = lead.iter().rposition(|byte| *byte == b'\n').map_or(lead, |end| &lead[end + 1..]);
    if line.len() == LEAD_BYTES_MAX {
        return false;
    }
    let line = line.strip_suffix(b"\\n").map_or(line, |_| b"".as_slice());
    matches!(
        line.trim_ascii(),
        b"" | b"export" | b"set" | b"-e" | b"ENV" | b"ARG" | b"#" | b"+" | b"-" | b">" | b"$"
    )
}

/// Returns the value at `at`, and whether it is quoted; `None` if there is none.
fn value_at(text: &[u8], at: usize, join: Join, judged: usize) -> Option<(Range<usize>, bool)> {
    let mut open = at;
    // Skip prefixes of string literals.
    if let [b'b' | b'r' | b'f' | b'u' | b'@' | b'L', b'"' | b'\'', ..] = text.get(open..)? {
        open += 1;
    }
    let escapes = text[open..].iter().take(4).take_while(|byte| **byte == b'\\').count();
    if let Some(quote @ (b'"' | b'\'' | b'`')) = text.get(open + escapes).copied() {
        let start = open + escapes + 1;
        let end = closing(text, start, quote, escapes > 0)?;
        return (end > start).then_some((start..end, true));
    }
    // At first only the judged part is read, because a text may contain many such names, each inside the value of the
    // previous one.
    let bare = text[at..].iter().take(judged);
    let length = bare.take_while(|byte| !ends_bare(**byte, join)).count();
    let length = length + beyond_quotes(&text[at + length..], length, join);
    (length > 0).then_some((at..at + length, false))
}

/// Returns the length of the rest of a settings value after a quote inside it, which does not open a string there.
fn beyond_quotes(rest: &[u8], length: usize, join: Join) -> usize {
    const BYTES_MAX: usize = 64;
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let mut at = 0;
    while length > 0
        && join == Join::Env
        && rest.get(at).is_some_and(|byte| b"\"'`".contains(byte))
        && is_part(rest.get(at + 1))
        && at < BYTES_MAX
    {
        let more = rest[at + 1..].iter().take_while(|byte| !ends_bare(**byte, join)).count();
        at += 1 + more;
    }
    // A quote at the end closes one that was opened before the name.
    at
}

/// Extends an unquoted value to its end.
fn to_its_end(text: &[u8], value: Range<usize>, join: Join, judged: usize) -> Range<usize> {
    let rest = text[value.end..].iter().take(VALUE_BYTES_MAX);
    let more = rest.take_while(|byte| !ends_bare(**byte, join)).count();
    value.start..value.end + if value.len() < judged { 0 } else { more }
}

/// Returns whether a byte ends an unquoted value.
fn ends_bare(byte: u8, join: Join) -> bool {
    match join {
        Join::Env => byte.is_ascii_whitespace() || b"\"'`\\".contains(&byte),
        Join::Element => byte == b'<' || byte.is_ascii_whitespace(),
        Join::Connection => b";\"'\\\n\r".contains(&byte),
        Join::Tight | Join::Loose => {
            byte.is_ascii_whitespace() || b"\"'`\\,;&)(}{[]<>|".contains(&byte)
        }
    }
}

/// Returns the end of the string that starts at `start`, which is before its closing quote on the same line. If the
/// text itself is escaped (`nested`), there are backslashes before the closing quote.
fn closing(text: &[u8], start: usize, quote: u8, nested: bool) -> Option<usize> {
    let mut backslashes = 0;
    for (offset, &byte) in text[start..].iter().enumerate().take(VALUE_BYTES_MAX) {
        match byte {
            b'\n' => return None,
            b'\\' => backslashes += 1,
            _ if byte == quote && (nested || backslashes % 2 == 0) => {
                return Some(start + offset - if nested { backslashes } else { 0 });
            }
            _ => backslashes = 0,
        }
    }
    None
}

/// Returns whether the value of a name that ends in `key` is secret. It must be long and random, and must not be a
/// content hash, unless an API is mentioned shortly before.
fn some_key_is_secret(text: &[u8], name: &Range<usize>, value: &[u8]) -> bool {
    const BYTES_MIN: usize = 20;
    const HASH_BYTES_MIN: usize = 32;
    const LEAD_BYTES: usize = 80;
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.:".contains(byte);
    // `linux-cargo-` and the hash of a lock file.
    let content = value.rsplit(|byte| b"-_:.".contains(byte)).next().unwrap_or_default();
    let content = if content.len() >= HASH_BYTES_MIN { content } else { value };
    let is_hash = || content.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let lead = text[name.start.saturating_sub(LEAD_BYTES)..name.start].to_ascii_lowercase();
    value.iter().all(is_token)
        && !lead.ends_with(b"public ")
        && memchr::memmem::find(value, b"::").is_none()
        && shape::has_random_part(value, if lead.ends_with(b"api ") { 16 } else { BYTES_MIN })
        && (!is_hash() || memchr::memmem::find(&lead, b"api").is_some())
}
