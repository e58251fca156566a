//! Judgement of values: for every place in a text, one function decides whether a value is a secret. Each kind of place
//! has a table of reasons for and against. Each matching reason adds its points. Decisive reasons are first; if one
//! matches, the others are skipped.

use crate::vocabulary::WORDS;
use spread::SpreadEvidence;

pub(crate) mod chosen;
pub(crate) mod drawn;
pub(crate) mod segments;
pub(crate) mod shape;
pub(crate) mod spread;
pub(crate) mod stand_in;
pub(crate) mod word;

/// What the name of a value, or a sentence near it, indicates about the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// A password that a person chose. Any value is possible.
    Password,
    /// A key or token, which is random.
    Key,
    /// A key of any kind. The value itself must resemble a secret.
    SomeKey,
}

/// Place of a value. It determines the form that the value must have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValuePlace {
    /// Next to a name, without a word or sign in between.
    Beside(Promise),
    /// After a name and a word or sign that introduces the value.
    Given(Promise),
    /// As [`Given`](Self::Given), but hexadecimal digits also count as a key.
    Told(Promise),
    /// In quotes; `true` if the name is in upper case.
    Quoted(Promise, bool),
    /// In a settings file, after `NAME=`.
    Setting(Promise),
    /// Without quotes, where code is possible. The fields are the byte after the value, and whether the sign before it
    /// has no spaces around it.
    Bare(Promise, u8, bool),
    /// Anywhere in the same line after a name.
    Near,
    /// Near a word about access, which does not indicate the form of the value.
    Cue,
    /// Where only the place indicates a secret: the match of a rule, a column, an argument.
    Rule,
    /// In a context about opening something. Any style of generated passwords and keys is possible.
    Styled,
    /// In texts other than the one in which the value was found.
    Elsewhere(SpreadEvidence),
}

/// Verdict about a value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueVerdict {
    points: i32,
    /// Indexes of the matching reasons, one bit each.
    held: u32,
    #[cfg_attr(not(test), expect(dead_code, reason = "for people who ask why, and for tests"))]
    table: &'static [ValueReason],
}

impl ValueVerdict {
    /// Returns whether the value counts as a secret.
    pub(crate) fn is_secret(self) -> bool {
        self.points >= ENOUGH
    }

    /// Returns the matching reasons, for and against.
    #[cfg(test)]
    pub(crate) fn reasons(self) -> impl Iterator<Item = &'static str> {
        let held = move |at: &usize| self.held >> at & 1 == 1;
        (0..self.table.len()).filter(held).map(move |at| self.table[at].what)
    }
}

/// Reason for or against a value.
#[derive(Debug)]
pub(crate) struct ValueReason {
    /// Feature of the value, in words.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people who ask why, and for tests"))]
    what: &'static str,
    points: i32,
    holds: fn(&JudgedValue<'_>) -> bool,
}

/// Value with the context of its place.
#[derive(Clone, Copy)]
struct JudgedValue<'t> {
    bytes: &'t [u8],
    promise: Promise,
    /// True if a word or sign introduces the value, or if the value's name is in upper case.
    is_given: bool,
    /// Byte after the value.
    next: u8,
}

/// Minimum number of points for a value to count as a secret.
const ENOUGH: i32 = 2;

/// Points of a decisive reason.
const DECISIVE: i32 = 100;

const fn yes(what: &'static str, holds: fn(&JudgedValue<'_>) -> bool) -> ValueReason {
    ValueReason { what, points: DECISIVE, holds }
}

const fn no(what: &'static str, holds: fn(&JudgedValue<'_>) -> bool) -> ValueReason {
    ValueReason { what, points: -DECISIVE, holds }
}

/// Signs that occur in passwords but not in names in code.
pub(crate) const SIGNS: &[u8] = b"&!#%^*?~+@$";

/// Judges a value in its place.
pub(crate) fn judge(value: &[u8], place: ValuePlace) -> ValueVerdict {
    use ValuePlace::*;
    let asked = |promise, is_given| JudgedValue { bytes: value, promise, is_given, next: b' ' };
    let (table, asked): (&'static [ValueReason], JudgedValue<'_>) = match place {
        Beside(promise) => (&NAMED, asked(promise, false)),
        Given(promise) => (&NAMED, asked(promise, true)),
        Told(promise) => (&TOLD, asked(promise, true)),
        Quoted(promise, upper) => (&QUOTED, asked(promise, upper)),
        Setting(promise) => (&SETTING, asked(promise, true)),
        Bare(promise, next, is_tight) => (&BARE, JudgedValue { next, ..asked(promise, is_tight) }),
        Near => (&NEAR, asked(Promise::Password, false)),
        Cue => (&CUE, asked(Promise::Password, false)),
        Rule => (&RULE, asked(Promise::Password, true)),
        Styled => (&STYLED, asked(Promise::Password, true)),
        Elsewhere(evidence) => {
            (&spread::TABLE, asked(Promise::Password, evidence == SpreadEvidence::Answer))
        }
    };
    let mut verdict = ValueVerdict { table, ..ValueVerdict::default() };
    for (at, reason) in table.iter().enumerate() {
        if (reason.holds)(&asked) {
            verdict.points += reason.points;
            verdict.held |= 1 << at;
            if reason.points.abs() >= DECISIVE {
                break;
            }
        }
    }
    verdict
}

/// Reasons for and against a value next to a name.
static NAMED: [ValueReason; 13] = [
    // `xqzkvpwrtm`
    yes("letters drawn at random", |it| {
        const LETTERS_MIN: usize = 8;
        let is_letters = || {
            let value = it.unpadded();
            value.len() >= LETTERS_MIN && value.iter().all(u8::is_ascii_lowercase)
        };
        it.is_given && it.is_password() && is_letters() && drawn::is_drawn(it.unpadded())
    }),
    yes("signs of a template in random text", |it| {
        it.is_password() && has_braces_inside(it.unpadded())
    }),
    yes("drawn at random", |it| it.is_password() && is_drawn_beside_name(it.unpadded())),
    yes("words drawn by lot", |it| it.is_password() && chosen::is_joined_phrase(it.unpadded())),
    no("no digit, or no letter", |it| {
        let has = |is_kind: fn(&u8) -> bool| it.unpadded().iter().any(is_kind);
        !has(u8::is_ascii_alphabetic) || !has(u8::is_ascii_digit)
    }),
    no("too short", |it| it.unpadded().len() < 6),
    no("signs of code", |it| {
        let is_sign = |byte: &u8| !byte.is_ascii_graphic() || b"(){}[]<>|/\\\"'`=;,".contains(byte);
        it.unpadded().iter().any(is_sign)
    }),
    no("a placeholder, a version or an algorithm", |it| {
        let value = it.unpadded();
        stand_in::is_stand_in(value)
            || stand_in::is_version_or_colour(value)
            || stand_in::is_numbered_algorithm(value)
    }),
    no("a name in code", |it| drawn::is_name_with_digits(it.unpadded()) || is_chain(it.unpadded())),
    no("no key of random letters and digits", |it| {
        let value = it.unpadded();
        let is_key = || shape::is_random(value, 16) && !value.iter().all(u8::is_ascii_hexdigit);
        !it.is_password() && !is_key()
    }),
    no("words joined without a random part", |it| {
        let value = it.unpadded();
        let has_sign = value.iter().any(|byte| SIGNS.contains(byte));
        let is_compound = value.iter().any(|byte| b"-_.:".contains(byte)) && !has_sign;
        it.is_password() && is_compound && !shape::has_random_part(value, 12)
    }),
    no("nothing but a few letters and digits", |it| {
        let value = it.unpadded();
        let is_compound = value.iter().any(|byte| b"-_.:".contains(byte));
        let has_sign = value.iter().any(|byte| SIGNS.contains(byte));
        let is_telling = || has_sign || drawn::is_mixed(value) || turns(value) >= 3;
        it.is_password()
            && !it.is_given
            && (has_sign || !is_compound)
            && (value.len() < 8 || !is_telling())
    }),
    yes("letters and digits", |_| true),
];

/// Reasons for and against a value after a name and a word that introduces the value.
static TOLD: [ValueReason; 3] = [
    yes("looks like what its name promises", |it| {
        it.promise != Promise::SomeKey && judge(it.bytes, ValuePlace::Given(it.promise)).is_secret()
    }),
    yes("a long random part", |it| {
        const KEY_BYTES_MIN: usize = 24;
        let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
        // The value of a key of any kind is often the name of something, but a long value with letters of both cases is
        // not.
        let is_kind = match it.promise {
            Promise::Password => false,
            Promise::Key => true,
            Promise::SomeKey => shape::case_changes(it.bytes) >= 4,
        };
        is_kind
            && it.bytes.len() >= KEY_BYTES_MIN
            && it.bytes.iter().all(is_key)
            && !stand_in::is_path(it.bytes)
            && shape::has_random_part(it.bytes, KEY_BYTES_MIN)
    }),
    yes("looks like a password", |it| {
        const SHORT_BYTES_MIN: usize = 12;
        it.promise == Promise::Key
            && it.bytes.len() >= SHORT_BYTES_MIN
            && judge(it.bytes, ValuePlace::Beside(Promise::Password)).is_secret()
    }),
];

/// Reasons for a value in quotes.
static QUOTED: [ValueReason; 8] = [
    yes("a phrase of plain words", |it| {
        let is_constant = it.is_given && it.is_password() && it.bytes.len() >= 8;
        let is_phrase =
            || is_constant || is_passphrase(it.bytes) || drawn::is_drawn_phrase(it.bytes);
        it.bytes.contains(&b' ') && is_phrase()
    }),
    no("spaces, or too short", |it| {
        it.bytes.iter().any(u8::is_ascii_whitespace) || it.bytes.len() < 4
    }),
    // In `staging#shop`, the sign between the words does not join words in messages and file names. Routes have this
    // form too, but their names are not names of secrets.
    no("several words", |it| {
        let is_telling =
            it.promise == Promise::Key && it.bytes.contains(&b'#') && !it.bytes.starts_with(b"#");
        shape::is_several_words(it.bytes)
            && !is_telling
            && !(it.promise != Promise::SomeKey && chosen::is_joined_phrase(it.bytes))
    }),
    no("a word", |it| {
        let is_small = || it.bytes.iter().all(u8::is_ascii_lowercase);
        it.is_password() && it.is_plain() && !(it.bytes.len() >= 6 && (it.is_given || is_small()))
    }),
    yes("a value in quotes", |it| it.is_password()),
    no("short letters", |it| {
        let bytes_min = if it.is_given { 8 } else { 16 };
        it.is_plain() && !shape::is_random(it.bytes, 12) && it.bytes.len() < bytes_min
    }),
    yes("letters", |it| it.is_plain()),
    yes("a key in quotes", |it| it.bytes.len() >= 6 && !shape::is_numeric(it.bytes)),
];

/// Reasons for a value after `NAME=` in a settings file.
static SETTING: [ValueReason; 2] = [
    yes("a password", |it| {
        it.is_password() && it.bytes.len() >= 3 && !spread::is_trade_word(it.bytes)
    }),
    yes("a key", |it| {
        !it.is_password()
            && it.bytes.len() >= 6
            && !shape::is_numeric(it.bytes)
            && !shape::is_several_words(it.bytes)
    }),
];

/// Reasons for a value without quotes, where code is possible.
static BARE: [ValueReason; 8] = [
    no("a call, an index, a reference, a type", |it| {
        let is_type = it.bytes.starts_with(b"__");
        b"([{<".contains(&it.next) || b"&*!?@#.".contains(&it.bytes[0]) || is_type
    }),
    yes("many signs", |it| has_many_signs(it.bytes)),
    no("a chain of names", |it| {
        is_member(it.unstopped()) || memchr::memmem::find(it.unstopped(), b"::").is_some()
    }),
    no("no random key", |it| !it.is_password() && !shape::is_random(it.unstopped(), 12)),
    yes("a random key", |it| !it.is_password()),
    yes("a number", |it| {
        let value = it.unstopped();
        let is_line = || value.iter().all(u8::is_ascii_digit) && it.next.is_ascii_whitespace();
        shape::is_numeric(value) && it.bytes.len() >= 6 && (it.is_given || is_line())
    }),
    yes("letters and digits", |it| {
        let value = it.unstopped();
        let has = |is_kind: fn(&u8) -> bool| value.iter().any(is_kind);
        let is_drawn = || shape::is_random(value, 12) || drawn::is_mixed(value);
        !shape::is_numeric(value)
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && value.len() >= 5
            && (it.is_given || !value[0].is_ascii_uppercase() || is_drawn())
    }),
    yes("words drawn by lot, or a number and a sign at the end", |it| {
        let value = it.unstopped();
        !shape::is_numeric(value)
            && (chosen::is_joined_phrase(value) || chosen::ends_as_chosen(value))
    }),
];

/// Reasons for a value after a name in the same line, whatever is in between.
static NEAR: [ValueReason; 1] = [yes("drawn at random where code may stand", |it| {
    const TURNS_MIN: usize = 4;
    kind_turns(it.bytes) >= TURNS_MIN
        && drawn::is_drawn_in_code(it.bytes)
        && is_drawn_beside_name(it.bytes)
})];

/// Reasons for a value near a word about access. It must look unlike names in code and have no signs of code.
static CUE: [ValueReason; 5] = [
    no("too short, too long, or signs of code", |it| {
        const BYTES: std::ops::RangeInclusive<usize> = 10..=56;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || is_cue_sign(*byte);
        !BYTES.contains(&it.bytes.len())
            || !it.bytes[0].is_ascii_alphanumeric()
            || !it.bytes.iter().all(is_part)
    }),
    no("no scrambled part", |it| {
        const TURNS_MIN: usize = 4;
        // No digit precedes a letter, as in names.
        const MANY_TURNS_MIN: usize = 6;
        const PART_BYTES_MIN: usize = 6;
        let is_inside = |pair: &[u8]| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic();
        let is_scrambled = |part: &[u8]| {
            part.len() >= PART_BYTES_MIN
                && (kind_turns(part) >= TURNS_MIN && part.windows(2).any(is_inside)
                    || kind_turns(part) >= MANY_TURNS_MIN)
        };
        !it.bytes.split(|byte| is_cue_sign(*byte)).any(is_scrambled)
    }),
    // `SaslScram256Auth`, `ApikeysV2alpha1`
    no("a name of words", |it| segments::has_word(it.bytes) || is_name_of_words(it.bytes)),
    no("an id or an escape", |it| {
        let is_encoded = it.bytes.windows(3).any(|escape| {
            escape[0] == b'%' && escape[1].is_ascii_hexdigit() && escape[2].is_ascii_hexdigit()
        });
        is_encoded || it.bytes.starts_with(b"0x") || is_id(it.bytes)
    }),
    yes("drawn at random where code may stand", |it| judge(it.bytes, ValuePlace::Near).is_secret()),
];

/// Reasons for a value where only the place indicates a secret.
static RULE: [ValueReason; 2] = [
    yes("looks like a password", |it| {
        judge(it.bytes, ValuePlace::Given(Promise::Password)).is_secret()
    }),
    yes("looks like a token", |it| {
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-.:".contains(byte);
        shape::has_random_part(it.bytes, 20)
            && it.bytes.iter().all(is_token)
            && !stand_in::is_placeholder(it.bytes)
            && !stand_in::is_path(it.bytes)
    }),
];

/// Reasons for a value in a context about opening something: words drawn by lot, digits of a hash, words with a sign or
/// a number.
static STYLED: [ValueReason; 6] = [
    no("too short, a stand-in or another thing", |it| {
        it.bytes.len() < 8 || stand_in::is_other_thing(it.bytes) || shape::is_numeric(it.bytes)
    }),
    yes("words drawn by lot", |it| chosen::is_joined_phrase(it.bytes)),
    yes("a long run of hexadecimal digits", |it| {
        const DIGITS_MIN: usize = 20;
        let is_digit = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
        let digits = it.bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
        it.bytes.len() >= DIGITS_MIN && digits >= 4 && it.bytes.iter().all(is_digit)
    }),
    yes("looks like a password", |it| {
        judge(it.bytes, ValuePlace::Beside(Promise::Password)).is_secret()
    }),
    yes("random letters and digits", |it| {
        it.bytes.len() >= 10
            && it.bytes.iter().all(u8::is_ascii_alphanumeric)
            && turns(it.bytes) >= 3
    }),
    yes("words with a number", |it| {
        chosen::is_chosen(it.bytes) || chosen::are_words_with_number(it.bytes)
    }),
];

impl<'t> JudgedValue<'t> {
    fn is_password(&self) -> bool {
        self.promise == Promise::Password
    }

    fn is_plain(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_alphabetic)
    }

    /// Returns the value without the padding of base 64.
    fn unpadded(&self) -> &'t [u8] {
        let value = self.bytes;
        value.strip_suffix(b"=").map_or(value, |it| it.strip_suffix(b"=").unwrap_or(it))
    }

    /// Returns the value without final punctuation.
    fn unstopped(&self) -> &'t [u8] {
        self.bytes.strip_suffix(b".").unwrap_or(self.bytes)
    }
}

/// Returns the number of changes between digits and letters.
fn turns(value: &[u8]) -> usize {
    let is_turn = |pair: &&[u8]| {
        pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic()
            || pair[0].is_ascii_alphabetic() && pair[1].is_ascii_digit()
    };
    value.windows(2).filter(is_turn).count()
}

/// Returns the number of changes between digits, upper-case letters and other bytes.
fn kind_turns(value: &[u8]) -> usize {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    value.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

/// Returns whether a value looks random next to a name that indicates a secret. Signs of code make this less likely.
pub(crate) fn is_drawn_beside_name(value: &[u8]) -> bool {
    let is_code = value.iter().any(|byte| b"(){}[]<>|,;=/:&".contains(byte));
    let is_drawn =
        if is_code { drawn::is_drawn_in_code(value) } else { drawn::is_drawn_and_mixed(value) };
    is_drawn && !is_chain(value) && word::length(value) == value.len()
}

/// Returns whether a value that a sentence gives as a password is a number.
pub(crate) fn is_numeric_password(value: &[u8], promise: Promise) -> bool {
    promise == Promise::Password
        && (6..=20).contains(&value.len())
        && value.iter().all(u8::is_ascii_digit)
        && !stand_in::is_placeholder(value)
}

/// Returns whether a value has braces inside a random string, like a template: `aB3${x}9Kq`. Types and calls also have
/// braces, but no digits or upper-case letters among lower-case letters on both sides of them.
pub(crate) fn has_braces_inside(value: &[u8]) -> bool {
    const BYTES_MIN: usize = 6;
    let Some(brace) = value.iter().position(|byte| b"{}".contains(byte)) else { return false };
    let is_variable = brace > 0 && b"$#%@{".contains(&value[brace - 1]);
    let is_type = value[0].is_ascii_uppercase() && !is_variable;
    let has_inside = value[brace + 1..].iter().any(u8::is_ascii_alphanumeric);
    let core: Vec<u8> = value.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    let is_part = |byte: &u8| byte.is_ascii_graphic() && !b"()[]<>|\"'`\\,;:=/".contains(byte);
    value[0].is_ascii_alphanumeric()
        && !is_type
        && has_inside
        && value.iter().all(is_part)
        && core.len() >= BYTES_MIN
        && shape::case_changes(&core) >= 2
        && value.split(|byte| !byte.is_ascii_alphanumeric()).any(shape::is_scrambled)
        && !stand_in::is_placeholder(value)
        && !stand_in::is_fake(value)
}

/// Returns whether a value has more signs than a name or an expression: `A,.:-*@?!`.
pub(crate) fn has_many_signs(value: &[u8]) -> bool {
    const SIGNS_MIN: usize = 4;
    let signs = b"@*?!#$%^~".iter().filter(|sign| value.contains(sign)).count();
    value.len() >= 8
        && value[0].is_ascii_alphanumeric()
        && signs + usize::from(!value.is_ascii()) >= SIGNS_MIN
}

/// Returns whether a value is a member access: `self.password`, `config.db.token2`.
fn is_member(value: &[u8]) -> bool {
    let name = |part: &[u8]| {
        part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && !shape::is_random(part, 12)
    };
    value.contains(&b'.') && value.split(|byte| *byte == b'.').all(name)
}

/// Returns whether a value is a chain of names; parts that mix digits and letters are excluded.
fn is_chain(value: &[u8]) -> bool {
    let mixed = value.split(|byte| *byte == b'.').filter(|part| shape::is_scrambled(part));
    is_member(value) && mixed.count() < 2
}

/// Returns whether a value in quotes is a passphrase: a few plain words that are not a message to the reader.
fn is_passphrase(value: &[u8]) -> bool {
    const PARTS: std::ops::RangeInclusive<usize> = 3..=10;
    let is_word = |word: &&[u8]| {
        word.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && word.first().is_some_and(u8::is_ascii_lowercase)
    };
    let words: Vec<&[u8]> = value.split(|byte| *byte == b' ').collect();
    PARTS.contains(&words.len())
        && words.iter().all(is_word)
        && !words.iter().any(|word| WORDS.message.has(word))
}

/// Returns whether all words in a value begin with an upper-case letter, or one is longer than chance would allow:
/// `Web3Signer`, `isEnrolledIn2Sv`.
fn is_name_of_words(value: &[u8]) -> bool {
    const WORD_BYTES_MIN: usize = 3;
    const LONG_BYTES_MIN: usize = 7;
    let is_long = |word: &[u8]| word.len() >= LONG_BYTES_MIN;
    let is_word = |run: &[u8]| run.len() >= WORD_BYTES_MIN && run[0].is_ascii_uppercase();
    let runs = value.chunk_by(|_, next| next.is_ascii_lowercase());
    let mut letters = runs.filter(|run| run[0].is_ascii_alphabetic());
    value.split(|byte| !byte.is_ascii_lowercase()).any(is_long) || letters.all(is_word)
}

/// Returns whether a value is an id with a prefix that names its kind: `cus_Nff8dGh2kL`, `toolu_01Ab`. Node ids in
/// GitHub's GraphQL API have upper-case prefixes: `PR_kwDOABCD12Mz5oXk4Q`.
fn is_id(value: &[u8]) -> bool {
    let Some(sign) = value.iter().position(|byte| b"_-".contains(byte)) else { return false };
    let (kind, rest) = (&value[..sign], &value[sign + 1..]);
    let is_node = rest.starts_with(b"kw") || rest.starts_with(b"kg");
    sign >= 2 && kind.iter().all(u8::is_ascii_lowercase)
        || is_node && kind.iter().all(u8::is_ascii_uppercase)
}

/// Returns whether a byte is a sign that a value near a word about access may contain.
fn is_cue_sign(byte: u8) -> bool {
    b"!#$^*?~-_@%&".contains(&byte)
}
