//! Selection of values that may be searched for in other texts, because they have no other meaning there. Searching for
//! a password that is a word, a program name or a number would hide everyday text.

use super::{
    JudgedValue, ValuePlace, ValueReason, chosen, drawn, judge, segments, shape, stand_in,
};
use crate::vocabulary::WORDS;
use memory_store_base::text::{rarity, tokens};

/// Limits of the length in bytes: shorter values are words, and longer ones are texts.
pub(crate) const VALUE_BYTES_MIN: usize = 8;
pub(crate) const VALUE_BYTES_MAX: usize = 512;

/// Minimum number of letters of a rare word.
const RARE_LETTERS_MIN: usize = 9;

/// Maximum number of digits after an everyday word that do not change its meaning: `postgres16`, `release2024`.
const EVERYDAY_DIGITS_MAX: usize = 4;

/// Evidence that a value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpreadEvidence {
    /// A rule found the value by its form and by the text near it.
    Rule,
    /// The value is the user's answer to a request for a secret, so it may be a rare word.
    Answer,
}

/// Reasons for and against searching for a value in other texts. Entropy, kinds of characters, and words of no language
/// count in favour of it. Names in code, paths, versions, times, everyday words and placeholders count against it. A
/// value that is random as a whole outweighs all other reasons.
pub(super) static TABLE: [ValueReason; 15] = [
    reason("a number that nobody counted", 20, |it| drawn::is_drawn_number(it.bytes)),
    reason("parts that are drawn at random", 20, |it| drawn::is_drawn_phrase(it.bytes)),
    reason("rare words drawn by lot", 20, |it| chosen::is_joined_phrase(it.bytes)),
    reason("too short or too long", -10, |it| {
        !(VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&it.bytes.len())
    }),
    reason("several words", -10, |it| {
        it.bytes.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control())
    }),
    reason("a placeholder, path, version, number or time", -10, |it| {
        stands_for_something(it.bytes)
    }),
    reason("everyday words", -10, |it| is_everyday(text(it))),
    reason("signs of code", -10, |it| {
        let has_signs = it.bytes.iter().any(|byte| b"\"'`\\<>(){}[]".contains(byte));
        has_signs && !drawn::is_drawn(it.bytes)
    }),
    reason("a name of words", -10, |it| is_name_of_words(it.bytes) || is_identifier(it.bytes)),
    reason("drawn at random as a whole", 2, |it| drawn::is_drawn(it.bytes)),
    reason("a random part", 2, |it| {
        let longest = parts(text(it)).max_by_key(|part| part.len()).unwrap_or_default();
        shape::is_random(longest.as_bytes(), VALUE_BYTES_MIN)
    }),
    reason("a long random part", 2, |it| shape::has_random_part(it.bytes, 20)),
    reason("signs that passwords have", 2, |it| has_signs_of_passwords(it.bytes)),
    reason("a rare word that was asked for", 12, |it| it.is_given && is_rare_word(text(it))),
    reason("words and digits that were asked for", 12, |it| it.is_given && is_mixed_name(it.bytes)),
];

const fn reason(
    what: &'static str,
    points: i32,
    holds: fn(&JudgedValue<'_>) -> bool,
) -> ValueReason {
    ValueReason { what, points, holds }
}

fn text<'t>(it: &JudgedValue<'t>) -> &'t str {
    str::from_utf8(it.bytes).unwrap_or_default()
}

/// Returns whether a recognised value may be searched for in other texts.
pub(crate) fn may_spread(value: &str, evidence: SpreadEvidence) -> bool {
    judge(value.as_bytes(), ValuePlace::Elsewhere(evidence)).is_secret()
}

/// Returns a value without the signs around it.
pub(crate) fn trimmed(value: &str) -> &str {
    value.trim_matches(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
}

/// Returns whether a value is a placeholder, a number, a path, an address, a version, a time or a short git hash.
fn stands_for_something(value: &[u8]) -> bool {
    let is_time = value.len() >= 10
        && value[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let is_short_hash = value.len() <= 12 && value.iter().all(u8::is_ascii_hexdigit);
    stand_in::stands_for_something(value) || is_time || is_short_hash
}

fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()).filter(|p| !p.is_empty())
}

/// Returns whether a value consists of everyday words and a few digits.
pub(crate) fn is_everyday(value: &str) -> bool {
    parts(value).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let word = word.to_ascii_lowercase();
        part.len() - word.len() <= EVERYDAY_DIGITS_MAX
            && (word.is_empty() || WORDS.everyday.has(word))
    })
}

/// Returns whether a value is the name of a user, a program or a stage that documentation uses as a password.
pub(crate) fn is_trade_word(value: &[u8]) -> bool {
    WORDS.everyday.has(value)
}

/// Returns whether a value is a name in code that consists of words and a number: `TestBlendsColour256Fallback`.
fn is_name_of_words(value: &[u8]) -> bool {
    const WORDS_MIN: usize = 4;
    const LETTERS_MIN: usize = 3;
    const DIGITS_MAX: usize = 4;
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let runs = value.chunk_by(|_, next| next.is_ascii_lowercase());
    let words = runs.filter(|run| run.len() >= LETTERS_MIN && run[0].is_ascii_alphabetic()).count();
    value.iter().all(u8::is_ascii_alphanumeric) && digits <= DIGITS_MAX && words >= WORDS_MIN
}

/// Pairs of letters that do not occur in words of European languages.
const UNNATURAL: &str = "bq bx cb cf cg cj cv cx dq dx fb fc fd fj fk fm fp fq fv fw fx fz gq gv gx hj hq hx jb jc jd jf \
                         jg jj jl jm jq jr jt jv jw jx jz kj kq kx kz lq lx mj mq mx pj pq pz qb qc qd qe qf qg qh qj \
                         qk qm qn qo qp qq qs qt qv qw qx qy qz rx sx tq tx vb vc vd vf vg vh vj vk vm vp vq vt vw vx \
                         vz wj wq wv wx xd xg xj xk xq xr xv xz yj yq yv yx zc zf zg zj zq zx";

/// Returns whether a value is a name in code or settings that consists of words and a few digits: `dunning-queue-eu1`,
/// `SessionBroker9Test`, `mq.refunds.retry5`.
fn is_identifier(value: &[u8]) -> bool {
    const SIGNS: &[u8] = b"_-./:";
    const DIGITS_MAX: usize = 4;
    const LETTERS_MIN: usize = 3;
    const WORDS_PERCENT_MIN: usize = 60;
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || SIGNS.contains(byte);
    if !value.iter().all(is_part) || chosen::is_word_with_number(value) {
        return false;
    }
    let (mut all, mut in_words) = (0, 0);
    for segment in segments::segments(value) {
        all += segment.len();
        if segment[0].is_ascii_digit() {
            if segment.len() > DIGITS_MAX {
                return false;
            }
        } else if segment.len() >= LETTERS_MIN {
            if segment.len() > LETTERS_MIN && !is_natural(segment) {
                return false;
            }
            in_words += segment.len();
        }
    }
    in_words * 100 >= all * WORDS_PERCENT_MIN
}

/// Returns whether the sequence of letters is possible in a word of some language.
fn is_natural(word: &[u8]) -> bool {
    const CONSONANTS_MAX: usize = 5;
    const VOWELS_MAX: usize = 4;
    let word = word.to_ascii_lowercase();
    let is_vowel = |byte: &u8| b"aeiouy".contains(byte) || !byte.is_ascii();
    let runs = |of_vowels: bool| {
        word.chunk_by(|one, next| is_vowel(one) == is_vowel(next))
            .filter(|run| is_vowel(&run[0]) == of_vowels && run[0].is_ascii())
            .map(<[u8]>::len)
            .max()
            .unwrap_or_default()
    };
    let is_unnatural = |pair: &[u8]| UNNATURAL.as_bytes().windows(2).any(|known| known == pair);
    word.iter().any(is_vowel)
        && runs(false) <= CONSONANTS_MAX
        && runs(true) <= VOWELS_MAX
        && !word.ends_with(b"q")
        && !word.windows(2).any(is_unnatural)
}

/// Returns whether a value has letters, digits, and signs among them that names, paths and versions do not have.
fn has_signs_of_passwords(value: &[u8]) -> bool {
    const SIGNS: &[u8] = b"!#$%^&*+?~@|,;";
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let signs = value.iter().filter(|byte| SIGNS.contains(byte)).count();
    // `user@host1`, `@scope/name-2`, `a,b,c1` and queries have only one kind of these signs.
    let kinds = SIGNS.iter().filter(|sign| value.contains(sign)).count();
    let changes = shape::case_changes(value);
    let is_one = signs == 1 && !value.contains(&b'@') && !value.contains(&b',') && digits > 0;
    letters >= 2 && (kinds >= 2 && digits > 0 || is_one && (digits >= 2 || changes > 0))
}

/// Returns whether a word of letters does not occur in technical texts.
fn is_rare_word(value: &str) -> bool {
    let bytes = value.as_bytes();
    let is_word = bytes.len() >= RARE_LETTERS_MIN
        && bytes.iter().all(u8::is_ascii_alphabetic)
        && shape::case_changes(bytes) == 0;
    is_word && tokens(value).iter().all(|token| rarity::is_unknown(&token.term))
}

/// Returns whether a value is words and digits joined together: `mailgrove-77-xu`.
fn is_mixed_name(value: &[u8]) -> bool {
    let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = value.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    digits >= 2 && letters >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_values_are_distinguished_from_secrets() {
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
            "TicketQueue47",
            "billing_core_v3",
            "InvoiceTotal",
            "Keycloak26",
            "LoginForm2Field",
            "Bip39Words24",
            "TokenBucket4J",
            "LaneStore2Dev",
            "kestrel-inbox-eu2",
            "lagerbestand_2024",
            "PaketRouter12",
            "OrderSaga3Test",
            "mq.parcels.retry5",
            "src/auth/Login3Page.tsx",
            "4.18.0-rc2",
        ] {
            assert!(
                !may_spread(value, SpreadEvidence::Rule),
                "{value}: {:?}",
                judge(value.as_bytes(), ValuePlace::Elsewhere(SpreadEvidence::Rule))
                    .reasons()
                    .collect::<Vec<_>>()
            );
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
            "hujfyb-9kynqe-byrBax",
            "Brightotter7714",
            "t4kz9qpl2m",
            "QwZkRtPlMnBx",
        ] {
            assert!(
                may_spread(value, SpreadEvidence::Rule),
                "{value}: {:?}",
                judge(value.as_bytes(), ValuePlace::Elsewhere(SpreadEvidence::Rule))
                    .reasons()
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_rare_word_that_was_asked_for_is_a_secret() {
        for value in ["quillthornbasket", "mailgrove-77-xu"] {
            assert!(may_spread(value, SpreadEvidence::Answer), "{value}");
        }
        for value in ["development", "encryption", "keyring", "changeme", "postgres16", "skip"] {
            assert!(!may_spread(value, SpreadEvidence::Answer), "{value}");
        }
    }
}
