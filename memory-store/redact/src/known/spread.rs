//! Which values may be looked for elsewhere: those that mean nothing else there. A password that is a word,
//! a name of a program or a number would take everyday text with it.

use crate::{drawn, shape};
use memory_store_base::text::{self, rarity};

/// Shorter values are words, and longer ones texts.
pub(super) const VALUE_BYTES_MIN: usize = 8;
pub(super) const VALUE_BYTES_MAX: usize = 512;

/// Letters that a rare word has at least.
const RARE_LETTERS_MIN: usize = 9;

/// Digits behind an everyday word that make nothing else of it: `postgres16`, `release2024`.
const EVERYDAY_DIGITS_MAX: usize = 4;

/// Words that name users, programs, places and stages, and stand where passwords stand in examples.
const EVERYDAY: [&str; 72] = [
    "account",
    "admin",
    "administrator",
    "alpine",
    "android",
    "app",
    "application",
    "backend",
    "backup",
    "base",
    "beta",
    "build",
    "change",
    "changeit",
    "changeme",
    "client",
    "cluster",
    "container",
    "database",
    "debian",
    "debug",
    "default",
    "demo",
    "dev",
    "development",
    "docker",
    "elastic",
    "example",
    "foobar",
    "frontend",
    "grafana",
    "guest",
    "host",
    "http",
    "https",
    "kafka",
    "key",
    "kubernetes",
    "letmein",
    "local",
    "localhost",
    "login",
    "main",
    "mariadb",
    "master",
    "minio",
    "mongo",
    "mongodb",
    "mysql",
    "node",
    "oracle",
    "pass",
    "passw0rd",
    "password",
    "port",
    "postgres",
    "postgresql",
    "prod",
    "production",
    "python",
    "rabbitmq",
    "redis",
    "release",
    "root",
    "secret",
    "server",
    "service",
    "staging",
    "test",
    "testing",
    "user",
    "version",
];

/// Certainty that a value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// A rule found it by its look and by what stands beside it.
    Rule,
    /// The user gave it when asked for a secret: a rare word may be one.
    Answer,
}

/// Returns whether a value that was recognised may be looked for elsewhere.
pub(crate) fn may_spread(value: &str, evidence: Evidence) -> bool {
    let bytes = value.as_bytes();
    if drawn::is_drawn_number(bytes)
        || drawn::is_drawn_phrase(bytes)
        || drawn::is_joined_phrase(bytes)
    {
        return true;
    }
    if !(VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&bytes.len())
        || bytes.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
        || stands_for_something(bytes)
        || is_everyday(value)
        || is_name_of_words(bytes)
    {
        return false;
    }
    if drawn::is_drawn(bytes) {
        return true;
    }
    if bytes.iter().any(|byte| b"\"'`\\<>(){}[]".contains(byte)) {
        return false;
    }
    let longest = parts(value).max_by_key(|part| part.len()).unwrap_or_default();
    shape::is_random(longest.as_bytes(), VALUE_BYTES_MIN)
        || shape::has_random_part(bytes, 20)
        || has_signs_of_passwords(bytes)
        || evidence == Evidence::Answer && (is_rare_word(value) || is_mixed_name(bytes))
}

/// Returns whether this is a placeholder, a number, a path, an address, a version, a time or a short hash of git's.
fn stands_for_something(value: &[u8]) -> bool {
    let is_time = value.len() >= 10
        && value[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let is_short_hash = value.len() <= 12 && value.iter().all(u8::is_ascii_hexdigit);
    drawn::stands_for_something(value) || is_time || is_short_hash
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty())
}

/// Returns whether all that it is made of are everyday words and a few digits.
pub(crate) fn is_everyday(value: &str) -> bool {
    parts(value).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let word = word.to_ascii_lowercase();
        part.len() - word.len() <= EVERYDAY_DIGITS_MAX
            && (word.is_empty() || EVERYDAY.contains(&word.as_str()))
    })
}

/// Returns whether this is the name of a user, a program or a stage, as documentation has it for a password.
pub(crate) fn is_trade_word(value: &[u8]) -> bool {
    EVERYDAY.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// `TestBlendsColour256Fallback`: a name in code, made of words, with a number.
fn is_name_of_words(value: &[u8]) -> bool {
    const WORDS_MIN: usize = 4;
    const LETTERS_MIN: usize = 3;
    const DIGITS_MAX: usize = 4;
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let runs = value.chunk_by(|_, next| next.is_ascii_lowercase());
    let words = runs.filter(|run| run.len() >= LETTERS_MIN && run[0].is_ascii_alphabetic()).count();
    value.iter().all(u8::is_ascii_alphanumeric) && digits <= DIGITS_MAX && words >= WORDS_MIN
}

/// Returns whether there are letters and digits, and signs among them that names, paths and versions have not.
fn has_signs_of_passwords(value: &[u8]) -> bool {
    const SIGNS: &[u8] = b"!#$%^&*+?~@|,;";
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let signs = value.iter().filter(|byte| SIGNS.contains(byte)).count();
    // `user@host1`, `@scope/name-2`, `a,b,c1` and queries have only one kind of them.
    let kinds = SIGNS.iter().filter(|sign| value.contains(sign)).count();
    let changes = shape::case_changes(value);
    let is_one = signs == 1 && !value.contains(&b'@') && !value.contains(&b',') && digits > 0;
    letters >= 2 && (kinds >= 2 && digits > 0 || is_one && (digits >= 2 || changes > 0))
}

/// Returns whether a word of letters is known to nobody who writes about technical things.
fn is_rare_word(value: &str) -> bool {
    let bytes = value.as_bytes();
    let is_word = bytes.len() >= RARE_LETTERS_MIN
        && bytes.iter().all(u8::is_ascii_alphabetic)
        && shape::case_changes(bytes) == 0;
    is_word && text::tokens(value).iter().all(|token| rarity::is_unknown(&token.term))
}

/// `mailgrove-77-xu`: words and digits that were put together.
fn is_mixed_name(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    digits >= 2 && letters >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_values_are_told_from_secrets() {
        for value in [
            "admin",
            "postgres",
            "localhost",
            "changeme",
            "changeme123",
            "postgres16",
            "release2024",
            "release-2024-11",
            "localhost8080",
            "development",
            "password123",
            "Validation",
            "12345678",
            "1234567890",
            "1732668131",
            "20261002120000",
            "2024-11-23T10:00:00Z",
            "1a2b3c4",
            "1a2b3c4d5e6f",
            "/run/secrets/db1",
            "src/main.rs",
            "https://a.example.com/x1",
            "getAccessToken",
            "Uint8Array",
            "my_db_pass_1",
            "user-service-v2",
            "${DB_PASSWORD}",
            "your-key-here-1",
            "correcthorsebattery",
            "hunter2",
            "user@host1.test",
            "^1.22.333",
            "foo(bar1234)",
            "TestTruncateTranscript",
            "TestBlendsColour256Fallback",
            "x86_64-unknown-linux-gnu",
            "app_test_2",
            "a,b,c1,d2",
            "npm:@scope/name-2",
            "quillthornbasket",
        ] {
            assert!(!may_spread(value, Evidence::Rule), "{value}");
        }
        for value in [
            "Cobaltheron6629",
            "8203947156",
            "Kq7vLm 2xRt9Wz",
            "harborwalnut5519",
            "xR4kTw81Lmqz",
            "Tr0ub4dor&3x",
            "k7#Pq!2z$Lw9",
            "sk-live-8fQz71LmPq",
            "0f8b6d1c9a7e4f52b3d8e6a1c4f7b2d9",
            "Summer!2024",
            "blue!Kettle42",
            "3f1c9a6e-55b1-4d0c-9f3a-7be21c6a90d4",
            "copper-thistle-walnut-gravel",
        ] {
            assert!(may_spread(value, Evidence::Rule), "{value}");
        }
    }

    #[test]
    fn a_rare_word_that_was_asked_for_is_a_secret() {
        for value in ["quillthornbasket", "mailgrove-77-xu"] {
            assert!(may_spread(value, Evidence::Answer), "{value}");
        }
        for value in ["development", "encryption", "keyring", "changeme", "postgres16", "skip"] {
            assert!(!may_spread(value, Evidence::Answer), "{value}");
        }
    }
}
