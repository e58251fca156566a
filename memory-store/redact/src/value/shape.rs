//! Form of a value: a placeholder, a reference, a path, a word, or a random string.

use super::drawn;
use crate::vocabulary::WORDS;

/// Returns the Shannon entropy in bits per byte.
pub(crate) fn entropy(text: &[u8]) -> f32 {
    let mut counts = [0u32; 256];
    for &byte in text {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// Returns whether a value is a placeholder for a secret.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    // A shell's quotes end and begin again around a variable.
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

/// Returns whether a value is a note or a template expression: `[FILTERED]`, `[parameters('adminPassword')]`.
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

/// Returns whether a value consists of words in a caseless script, such as labels of a form: passwords are not typed
/// so.
fn is_label(value: &[u8]) -> bool {
    const LEAD_MIN: u8 = 0xE0;
    value.first().is_some_and(|byte| *byte >= LEAD_MIN)
        && value.iter().all(|byte| !byte.is_ascii_alphanumeric())
}

/// Starts and ends of templates.
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

/// Returns whether a value is a template, or consists of templates and plain words; a value that only contains their
/// signs does not count. A template may be truncated at a space.
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
        // The words before and after a template are separate.
        plain.push(b' ');
        at += open.len() + end.map_or(inside.len(), |end| end + close.len());
    }
    templates > 0
        && !plain
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(|word| word.len() > PLAIN_BYTES_MAX || is_random(word, 6) || is_scrambled(word))
}

/// Returns whether a short piece mixes digits and letters of both cases unlike a name: `9Kq`, `aB3`. In `Pass123` and
/// `userId1` the digits follow a word.
pub(crate) fn is_scrambled(word: &[u8]) -> bool {
    const NAME_BYTES_MIN: usize = 4;
    let has = |is_kind: fn(&u8) -> bool| word.iter().any(is_kind);
    let letters = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_numbered = word[letters..].iter().all(u8::is_ascii_digit)
        && (letters >= NAME_BYTES_MIN || case_changes(&word[..letters]) == 0);
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && !is_numbered
}

/// Returns whether this is possible inside a template: it begins like a name or a call, not like a random string.
fn is_expression(inside: &[u8]) -> bool {
    let inside = inside.trim_ascii();
    let inside = inside.strip_prefix(b"=").unwrap_or(inside).trim_ascii_start();
    let name = inside
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_".contains(byte))
        .count();
    inside.first().is_none_or(|byte| byte.is_ascii_alphabetic() || b"_./'\"$-<!@".contains(byte))
        && !is_random(&inside[..name], 10)
}

/// Returns whether a word such as `example` is chance or decoration: without it a token of full length and with all
/// kinds of characters remains.
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
        && (has_random_part(value, REST_BYTES_MIN) || case_changes(value) >= 6)
}

/// Returns whether the value itself marks it as made up.
pub(crate) fn is_fake(value: &[u8]) -> bool {
    // `$first$second`: a text composed of variables.
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
        [b'$', rest @ ..] => named(rest) && !drawn::is_scrambled(rest) || rest.len() <= 1,
        [b'%', inner @ .., b'%'] | [b'{', inner @ .., b'}'] | [b'@', inner @ .., b'@'] => {
            named(inner)
        }
        [b'%', rest @ ..] => rest.len() <= 2,
        _ => false,
    }
}

/// Returns whether a value consists of one or two characters: `****`, `------`, `aaaaaaaa`.
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

/// Returns whether this is a word without information about a secret.
pub(crate) fn is_stop_word(value: &[u8]) -> bool {
    WORDS.stop.has(value)
}

/// Returns whether a value is a hash algorithm with its strength: `bcrypt14`, `argon2`.
pub(crate) fn is_numbered_algorithm(value: &[u8]) -> bool {
    let letters = value.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    WORDS.hash_name.has(&value[..letters])
        && value[letters..].iter().all(|byte| byte.is_ascii_digit() || b"-_".contains(byte))
}

/// Returns whether this consists of words: letters with `.`, `-`, `_`, `/`, `:` or spaces between them, as in
/// `auth.password.label`, `access-token`, `DB_PASSWORD` or `Token::Ident`.
pub(crate) fn is_several_words(value: &[u8]) -> bool {
    let separator = |byte: &u8| b".-_/:# ?!".contains(byte);
    value.iter().any(separator)
        && value.iter().all(|byte| byte.is_ascii_alphabetic() || separator(byte))
        && value.split(separator).all(|word| word.len() <= 16 && case_changes(word) <= 3)
}

/// Returns whether this is a file path: several segments, none of them random.
pub(crate) fn is_path(value: &[u8]) -> bool {
    if let [drive, b':', b'\\' | b'/', rest @ ..] = value
        && drive.is_ascii_alphabetic()
    {
        return !rest.split(|byte| b"\\/".contains(byte)).any(|part| is_random(part, 16));
    }
    if is_namespaced(value) || is_relative(value) {
        return true;
    }
    let rooted =
        [b"/".as_slice(), b"./", b"../", b"~/"].iter().any(|start| value.starts_with(start));
    let segments = || value.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty());
    rooted && segments().count() > 1 && !segments().any(|segment| is_random(segment, 16))
}

/// Returns whether a value is the key of an entry in a key-value store, ending with a number: `blocklist:2026-11-20`,
/// `rl:user:42`.
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
    let is_number = |part: &[u8]| !part.is_empty() && is_numeric(part);
    names.first().is_some_and(is_name)
        && names.iter().all(|part| is_name(part) || is_number(part))
        && (is_number(number) || names.len() > 1 && is_short(number))
}

/// Returns whether a value is a path below the current folder, of lower-case letters and hardly a digit: `osc7/file`.
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

/// Returns whether a value is a range of versions or a colour: `^1.2.3`, `>=4`, `#d0f948`.
pub(crate) fn is_version_or_colour(value: &[u8]) -> bool {
    match value {
        [b'#', digits @ ..] => {
            matches!(digits.len(), 3 | 4 | 6 | 8) && digits.iter().all(u8::is_ascii_hexdigit)
        }
        [b'^' | b'~', rest @ ..] | [b'>' | b'<', b'=', rest @ ..] => {
            rest.contains(&b'.') && is_numeric(rest)
        }
        _ => false,
    }
}

/// Returns whether this is a number, a version or a date.
pub(crate) fn is_numeric(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_digit() || b".,_-:+".contains(byte))
}

/// Returns whether this appears random: at least `bytes_min` long, with digits among letters; or long, and with
/// upper-case letters in places unusual for a name.
pub(crate) fn is_random(value: &[u8], bytes_min: usize) -> bool {
    const ONLY_LETTERS_BYTES_MIN: usize = 20;
    if value.len() < bytes_min {
        return false;
    }
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 && value.len() < ONLY_LETTERS_BYTES_MIN {
        return false;
    }
    let has_letters = || value.iter().filter(|byte| byte.is_ascii_alphabetic()).count() >= 2;
    let changes = case_changes(value);
    let has_capitals = || {
        let pairs = value.windows(2).filter(|pair| pair.iter().all(u8::is_ascii_uppercase));
        pairs.count() >= 2
    };
    let is_mixed = (digits >= 3 || digits >= 1 && changes >= 2) && has_letters()
        || value.len() >= ONLY_LETTERS_BYTES_MIN && changes >= 6 && has_capitals();
    // Last, because a logarithm for each character costs more than all other tests.
    is_mixed && entropy(value) >= 2.6
}

/// Returns whether a part between signs appears random, in a text of at least `bytes_min`; a chain of words and
/// versions does not.
pub(crate) fn has_random_part(value: &[u8], bytes_min: usize) -> bool {
    const PART_BYTES_MIN: usize = 8;
    value.len() >= bytes_min
        && value
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(|part| is_random(part, PART_BYTES_MIN))
        && entropy(value) >= 3.2
}

/// Returns the number of case changes between adjacent letters, beyond `Word` and `WORD`.
pub(crate) fn case_changes(value: &[u8]) -> usize {
    let changes = value
        .windows(2)
        .filter(|pair| {
            pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
                || pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase()
        })
        .count();
    changes.saturating_sub(usize::from(value.first().is_some_and(u8::is_ascii_uppercase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_secrets() {
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
    fn random_text_is_told_from_names() {
        for text in ["a9b8c7d6e5f4", "qWeRTyUIoPaSdFgHjKLz", "3f2a91bc77e0", "Zx81kQp09Lm"] {
            assert!(is_random(text.as_bytes(), 8), "{text}");
        }
        for text in ["getAccessToken", "next_token", "Uint8Array", "CamelCaseName", "token_v2"] {
            assert!(!is_random(text.as_bytes(), 8), "{text}");
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
