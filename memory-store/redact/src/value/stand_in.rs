//! Values that are not secrets but replace one: placeholders, templates, variables, paths, versions.

use super::{segments, shape};
use crate::vocabulary::WORDS;

/// Returns whether a value is a placeholder for a secret.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    // In a shell, quotes end before a variable and begin again after it.
    let value = match value {
        [b'\'' | b'"', inner @ .., b'\'' | b'"'] => inner,
        _ => value,
    };
    WORDS.placeholder.occur_in(value) && !is_long_beside_words(value)
        || WORDS.reference.begin(value)
        || is_template(value)
        || is_call_in_braces(value)
        || is_expression_for_text(value)
        || is_variable(value)
        || has_few_characters(value)
        || is_filter(value)
        || is_label(value)
        || is_stop_word(value)
            && value.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
}

/// Returns whether a value is a note or a template expression in brackets: `[FILTERED]`,
/// `[parameters('adminPassword')]`.
fn is_filter(value: &[u8]) -> bool {
    let [b'[', inner @ .., b']'] = value else { return false };
    let name = inner.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    name > 0 && (name == inner.len() || inner[name] == b'(' && inner.ends_with(b")"))
}

/// Returns whether a value is a regular expression: `kst_[A-Za-z0-9_-]{32,48}`.
fn is_expression_for_text(value: &[u8]) -> bool {
    const CLASSES: [&[u8]; 5] = [b"[A-Z", b"[a-z", b"[0-9", b"[^", b"[a-f"];
    CLASSES.iter().any(|class| memchr::memmem::find(value, class).is_some())
        && value.iter().any(|byte| b"]-".contains(byte))
}

/// Returns whether a value is a call in a Python template: `{quote(password)}`.
fn is_call_in_braces(value: &[u8]) -> bool {
    let Some(call) = value.strip_prefix(b"{").and_then(|it| it.strip_suffix(b")}")) else {
        return false;
    };
    let is_name = |byte: &u8| byte.is_ascii_alphabetic() || b"_.".contains(byte);
    let name = call.iter().take_while(|byte| is_name(byte)).count();
    name > 0
        && call.get(name) == Some(&b'(')
        && call[name + 1..].iter().all(|byte| is_name(byte) || b"(), ".contains(byte))
}

/// Returns whether a value is words in a script without capitals, as in form labels. No password is typed like this.
fn is_label(value: &[u8]) -> bool {
    const LEAD_MIN: u8 = 0xE0;
    value.first().is_some_and(|byte| *byte >= LEAD_MIN)
        && value.iter().all(|byte| !byte.is_ascii_alphanumeric())
}

/// Opening and closing signs of templates.
const TEMPLATES: [(&[u8], &[u8]); 8] = [
    (b"${{", b"}}"),
    (b"${", b"}"),
    (b"$(", b")"),
    (b"{{", b"}}"),
    (b"#{", b"}"),
    (b"<%", b"%>"),
    (b"%(", b")s"),
    (b"((", b"))"),
];

/// Returns whether a value is a template, or consists of templates and plain words. A value that merely contains the
/// signs of templates is not one. A template may be cut off at a space.
fn is_template(value: &[u8]) -> bool {
    const PLAIN_BYTES_MAX: usize = 12;
    let (mut at, mut plain, mut templates) = (0, Vec::new(), 0);
    while at < value.len() {
        let rest = &value[at..];
        let Some((open, close)) = TEMPLATES.iter().find(|(open, _)| rest.starts_with(open)) else {
            plain.push(value[at]);
            at += 1;
            continue;
        };
        let inside = &rest[open.len()..];
        let end = memchr::memmem::find(inside, close);
        let is_cut = end.is_none() && at > 0;
        if is_cut || !is_expression(&inside[..end.unwrap_or(inside.len())]) {
            plain.push(value[at]);
            at += 1;
            continue;
        }
        templates += 1;
        // The words before and after a template are separate words.
        plain.push(b' ');
        at += open.len() + end.map_or(inside.len(), |end| end + close.len());
    }
    templates > 0
        && !plain.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| {
            word.len() > PLAIN_BYTES_MAX || shape::is_random(word, 6) || shape::is_scrambled(word)
        })
}

/// Returns whether a text is possible inside a template, which is so if it begins like a name or a call and does not
/// look random.
fn is_expression(inside: &[u8]) -> bool {
    let inside = inside.trim_ascii();
    let inside = inside.strip_prefix(b"=").unwrap_or(inside).trim_ascii_start();
    let name = inside
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_".contains(byte))
        .count();
    inside.first().is_none_or(|byte| byte.is_ascii_alphabetic() || b"_./'\"$-<!@".contains(byte))
        && !shape::is_random(&inside[..name], 10)
}

/// Returns whether a word such as `example` occurs in a value by chance or as decoration, because the rest is a token
/// of full length with all kinds of characters.
fn is_long_beside_words(value: &[u8]) -> bool {
    const REST_BYTES_MIN: usize = 24;
    const CHANCE: [&str; 4] = ["example", "your", "dummy", "redacted"];
    let lower = value.to_ascii_lowercase();
    let words: usize = CHANCE
        .iter()
        .map(|word| memchr::memmem::find_iter(&lower, word.as_bytes()).count() * word.len())
        .sum();
    let signs = value.iter().filter(|byte| b"${}()<>* ".contains(byte)).count();
    words > 0
        && signs == 0
        && memchr::memmem::find(&lower, b"xxxx").is_none()
        && value.len() >= words + REST_BYTES_MIN
        && (shape::has_random_part(value, REST_BYTES_MIN) || shape::case_changes(value) >= 6)
}

/// Returns whether a value indicates that it is made up.
pub(crate) fn is_fake(value: &[u8]) -> bool {
    // `$first$second` is a text composed of variables.
    let is_name = |part: &[u8]| {
        part.first().is_some_and(u8::is_ascii_alphabetic)
            && part.iter().all(u8::is_ascii_alphabetic)
    };
    let is_joined =
        || value.strip_prefix(b"$").is_some_and(|rest| rest.split(|b| *b == b'$').all(is_name));
    WORDS.fake.occur_in(value) || is_joined()
}

/// Returns whether a value is a variable: `$NAME`, `%NAME%`, `%s`, `{name}`, `@name@`.
fn is_variable(value: &[u8]) -> bool {
    let named = |rest: &[u8]| {
        rest.first().is_some_and(u8::is_ascii_alphabetic)
            && rest.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_:-".contains(byte))
    };
    match value {
        [b'$', rest @ ..] => {
            named(rest) && (stands_for_something(rest) || !segments::is_scrambled(rest))
                || rest.len() <= 1
        }
        [b'%', inner @ .., b'%'] | [b'{', inner @ .., b'}'] | [b'@', inner @ .., b'@'] => {
            named(inner)
        }
        [b'%', rest @ ..] => rest.len() <= 2,
        _ => false,
    }
}

/// Returns whether a value consists of one or two different characters: `****`, `------`, `aaaaaaaa`.
fn has_few_characters(value: &[u8]) -> bool {
    let mut seen: Vec<u8> = Vec::with_capacity(3);
    for &byte in value {
        if !seen.contains(&byte) {
            seen.push(byte);
        }
        if seen.len() > 2 {
            return false;
        }
    }
    seen.len() == 1 || value.len() > 4
}

/// Returns whether a value is a word that is never a secret.
pub(crate) fn is_stop_word(value: &[u8]) -> bool {
    WORDS.stop.has(value)
}

/// Returns whether a value is the name of a hash algorithm with a number: `bcrypt14`, `argon2`.
pub(crate) fn is_numbered_algorithm(value: &[u8]) -> bool {
    let letters = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    WORDS.hash_name.has(&value[..letters])
        && value[letters..].iter().all(|byte| byte.is_ascii_digit() || b"-_".contains(byte))
}

/// Returns whether a value is a file path: several segments, none of which is random.
pub(crate) fn is_path(value: &[u8]) -> bool {
    if let [drive, b':', b'\\' | b'/', rest @ ..] = value
        && drive.is_ascii_alphabetic()
    {
        return !rest.split(|byte| b"\\/".contains(byte)).any(|part| shape::is_random(part, 16));
    }
    if is_namespaced(value) || is_relative(value) {
        return true;
    }
    let rooted =
        [b"/".as_slice(), b"./", b"../", b"~/"].iter().any(|start| value.starts_with(start));
    let segments = || value.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty());
    rooted && segments().count() > 1 && !segments().any(|segment| shape::is_random(segment, 16))
}

/// Returns whether a value is the name of an entry in a key-value store, which ends with a number:
/// `blocklist:2026-11-20`, `rl:user:42`.
fn is_namespaced(value: &[u8]) -> bool {
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b':').collect();
    let Some((number, names)) = parts.split_last() else { return false };
    let is_name = |part: &&[u8]| {
        !part.is_empty()
            && part.iter().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(byte))
    };
    // `eu3`
    let is_short = |part: &[u8]| {
        part.len() <= 4 && part.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    let is_number = |part: &[u8]| !part.is_empty() && shape::is_numeric(part);
    names.first().is_some_and(is_name)
        && names.iter().all(|part| is_name(part) || is_number(part))
        && (is_number(number) || names.len() > 1 && is_short(number))
}

/// Returns whether a value is a relative path of lower-case letters and few digits: `osc7/file`.
fn is_relative(value: &[u8]) -> bool {
    const DIGITS_MAX: usize = 2;
    let is_name = |part: &[u8]| {
        part.len() >= 3
            && part[0].is_ascii_lowercase()
            && part.iter().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(byte)
            })
    };
    value.contains(&b'/')
        && value.split(|byte| *byte == b'/').all(is_name)
        && value.iter().filter(|byte| byte.is_ascii_digit()).count() <= DIGITS_MAX
}

/// Returns whether a value is a version range or a colour: `^1.2.3`, `>=4`, `#d0f948`.
pub(crate) fn is_version_or_colour(value: &[u8]) -> bool {
    match value {
        [b'#', digits @ ..] => {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.iter().all(u8::is_ascii_hexdigit)
        }
        [b'^' | b'~', rest @ ..] | [b'>' | b'<', b'=', rest @ ..] => {
            rest.contains(&b'.') && shape::is_numeric(rest)
        }
        _ => false,
    }
}

/// Returns whether a value is a placeholder, a path, an address, a number or an id.
pub(crate) fn stands_for_something(value: &[u8]) -> bool {
    is_other_thing(value)
        || shape::is_numeric(value)
        || memchr::memmem::find(value, b"://").is_some()
}

/// Returns whether a value is a placeholder, a made-up value or a word without significance.
pub(crate) fn is_stand_in(value: &[u8]) -> bool {
    is_placeholder(value) || is_fake(value) || is_stop_word(value)
}

/// Returns whether a value is a stand-in, a path, a version range or a colour.
pub(crate) fn is_other_thing(value: &[u8]) -> bool {
    is_stand_in(value) || is_path(value) || is_version_or_colour(value)
}

#[cfg(test)]
mod tests {
    use super::super::shape::*;
    use super::*;

    #[test]
    fn placeholders_are_distinguished_from_secrets() {
        for text in [
            "xxxxxxxx",
            "<your-key>",
            "example-key",
            "REDACTED",
            "${VAR}",
            "$TOKEN",
            "$(pass show x)",
            "********",
            "{{ secrets.X }}",
            "YOUR_API_KEY",
            "%TOKEN%",
            "[redacted:jwt]",
            "aaaaaaaa",
            "...",
            "process.env.TOKEN",
            "op://vault/item",
        ] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in
            ["test-${id}", "${A}-${B}", "<%= name %>", "#{name}", "%(name)s", "$(cat", "{{ x }}"]
        {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["v2-${id}", "Pass123${i}", "sha256=${sum}", "sk_test_${i}"] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["Kq7${9}vLm2xRt", "p4{{ss7w0rd", "a9}}b8c7", "x$(7kQ2z", "Kq7vLm2xRt${id}"] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["aB3${x}9Kq", "ab${x}Kq9xzL", "${x}9Kq", "ab${1}Kq9x!zL2"] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["hunter2", "s3cr3tV4lue", "p$ssw0rd", "%41bcdefgh", "a9b8c7d6e5f4"] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn paths_and_words_are_recognised() {
        assert!(is_path(b"/run/secrets/db_password"));
        assert!(is_path(br"C:\Users\tess\src2"));
        assert!(!is_path(b"/9jR4tQ81LmZx0PqW7vN2"));
        assert!(is_several_words(b"auth.password.label"));
        assert!(is_several_words(b"DB_PASSWORD"));
        assert!(!is_several_words(b"swordfish"));
    }
}
