//! Points for the words of a sentence, by their form and by the words near them.

use std::cell::{LazyCell, OnceCell};
use std::ops::Range;
use std::sync::LazyLock;

use memory_store_base::text;

use super::forms;
use super::looks::{Looks, is_joined_words, is_named_thing, is_plain, is_plain_phrase, is_year};
use super::words::{last_words, lowered, quoted, sentences, with_end, words};
use crate::finding::PLACEHOLDER_OPEN;
use crate::value::{Promise, ValuePlace, chosen, judge, word};
use crate::vocabulary::{WORDS, WordClasses};

/// A part of a text that resembles a credential although no redaction rule finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Range in the text, in bytes.
    pub range: Range<usize>,
    /// Sum of the points of all reasons.
    pub points: i32,
    /// Reasons, those with the most points first.
    pub reasons: Vec<&'static str>,
}

/// Minimum number of points for a word to make a memory pending.
pub(super) const ENOUGH: i32 = 3;

/// Number of bytes before and after a value that are compared with the word lists, whose longest entry has 40 bytes.
const NEAR_BYTES_MAX: usize = 240;

/// Classes of words in a text, one bit each.
#[derive(Clone, Copy)]
struct Classes(u8);

impl Classes {
    const ACCESS: u8 = 1;
    const OPENING: u8 = 1 << 1;
    const VAULT: u8 = 1 << 2;
    /// Words that introduce a phrase; see [`ScoredSentence::opening_phrase`].
    const PHRASE: u8 = 1 << 3;

    /// Returns the classes of a lower-case text.
    fn of(lowered: &str) -> Self {
        Self(CLASSES.in_text(&format!("{lowered} ")))
    }

    fn has(self, classes: u8) -> bool {
        self.0 & classes > 0
    }
}

static CLASSES: LazyLock<WordClasses> = LazyLock::new(|| {
    let access = [&WORDS.gate_access, &WORDS.gate_role, &WORDS.gate_phrase, &WORDS.gate_opens];
    let mut classes = WordClasses::default();
    access.into_iter().for_each(|words| classes.add(words, Classes::ACCESS));
    classes.add(&WORDS.gate_opening, Classes::OPENING);
    classes.add(&WORDS.gate_vault, Classes::VAULT);
    let phrase = [&WORDS.gate_phrase, &WORDS.gate_opens, &WORDS.gate_vault];
    phrase.into_iter().for_each(|words| classes.add_anywhere(words, Classes::PHRASE));
    classes
});

/// A sentence, or a line of a list, a table or code.
pub(super) struct ScoredSentence<'t> {
    text: &'t str,
    range: Range<usize>,
    /// Related text, such as a title.
    title: &'t str,
    own: OnceCell<Classes>,
    around: OnceCell<Classes>,
}

impl<'t> ScoredSentence<'t> {
    pub(super) fn of(text: &'t str, range: Range<usize>, title: &'t str) -> Self {
        Self { text, range, title, own: OnceCell::new(), around: OnceCell::new() }
    }

    /// Returns the classes of the sentence's words.
    fn own(&self) -> Classes {
        *self.own.get_or_init(|| Classes::of(&lowered(&self.text[self.range.clone()])))
    }

    /// Returns the classes of the words in and near the sentence.
    fn around(&self) -> Classes {
        const NEAR_BYTES: usize = 200;
        *self.around.get_or_init(|| {
            let Self { text, range, title, .. } = self;
            let start = text.floor_char_boundary(range.start.saturating_sub(NEAR_BYTES));
            let end = text.ceil_char_boundary((range.end + NEAR_BYTES).min(text.len()));
            Classes::of(&lowered(&format!("{title}\n{}", &text[start..end])))
        })
    }

    pub(super) fn suspects(&self) -> Vec<Suspect> {
        let words = words(self.text, &self.range);
        let mut found: Vec<Suspect> = self.phrases(&words);
        found.extend(words.iter().filter_map(|word| self.judge(word)));
        found
    }

    /// Returns the points of one word with their reasons; `None` if it has none.
    fn judge(&self, word: &Range<usize>) -> Option<Suspect> {
        if is_plain(&self.text[word.clone()]) {
            return None;
        }
        let (range, is_pair) = self.second_of_pair(word);
        let value = &self.text[range.clone()];
        let looks = Looks::of(value)?;
        let lead = self.lead(range.start);
        let behind = self.behind(range.end);
        let mut score = Score::default();
        score.add(looks.points(), looks.reason());
        let is_named = last_words(&lead, 4);
        let kind = if looks == Looks::Words { last_words(&lead, 2) } else { is_named.clone() };
        if looks != Looks::Sign && WORDS.gate_kinds.is_in_whole(&kind) {
            score.add(-3, "named as something else");
        }
        let is_number = looks == Looks::Number;
        let is_port = is_number && range.start > word.start;
        if is_port || is_number && (WORDS.gate_units.begins(behind.trim_start()) || is_year(value))
        {
            return None;
        }
        score.add(self.access(is_number), "a way in is named");
        let has_role = if is_number { code_before(&lead) } else { role_before(&is_named, &lead) };
        if has_role {
            score.add(if is_number { 3 } else { 2 }, "a secret is named right before it");
        } else if is_number && WORDS.gate_role.is_in(&format!("{} ", last_words(&lead, 5))) {
            score.add(1, "a secret is named before it");
        }
        let is_told =
            self.text[..range.start].trim_end().ends_with([':', '→', '：']) || is_login(&lead);
        let given = given(&lead, &behind, true).max(i32::from(is_told));
        score.add(if self.has_way_in() { given } else { 0 }, "it is given");
        if is_pair && !is_number {
            score.add(1, "a user is named right before it");
        }
        if !is_number && follows_address(&lead) {
            score.add(2, "an address is named right before it");
        }
        Some(Suspect {
            range: with_end(self.text, range),
            points: score.points,
            reasons: score.reasons,
        })
    }

    fn has_way_in(&self) -> bool {
        const WAYS_IN: u8 = Classes::ACCESS | Classes::OPENING;
        self.own().has(WAYS_IN) || self.around().has(WAYS_IN)
    }

    /// Returns the points for words about access, in or near this sentence. A number is a code only near the name of a
    /// lock.
    fn access(&self, is_number: bool) -> i32 {
        match self.own().has(Classes::OPENING) {
            true if is_number => 2,
            _ => i32::from(self.has_way_in()),
        }
    }

    /// Returns phrases of plain words that are in quotes and follow the name of a secret or a lock, or a verb for
    /// opening.
    fn phrases(&self, words: &[Range<usize>]) -> Vec<Suspect> {
        const WORDS_MIN: usize = 3;
        const WORDS_MAX: usize = 8;
        const CHARS_MIN: usize = 4;
        let mut found = Vec::new();
        for range in quoted(self.text, &self.range) {
            let phrase = &self.text[range.clone()];
            let count = phrase.split_whitespace().count();
            let lead = self.lead(range.start);
            let is_phrase = (WORDS_MIN..=WORDS_MAX).contains(&count) && is_plain_phrase(phrase);
            let is_entered = || self.has_way_in() && given(&lead, "", false) > 0;
            let is_named = || role_before(&last_words(&lead, 6), &lead) || is_entered();
            // Directly after the name of a phrase, any text may be the phrase.
            let is_told = || {
                let is_text = count <= WORDS_MAX && phrase.chars().count() >= CHARS_MIN;
                is_text
                    && WORDS.gate_phrase.ends(WORDS.gate_copula.stripped(&lead))
                    && !is_named_thing(phrase)
            };
            if is_phrase && is_named() || is_told() {
                let reasons = vec!["a phrase of plain words where a secret is given"];
                found.push(Suspect { range, points: ENOUGH, reasons });
            }
        }
        found.extend(self.joined_phrase(words));
        found.extend(self.opening_phrase());
        for (range, reason) in forms::find(&self.text[self.range.clone()]) {
            let range = self.range.start + range.start..self.range.start + range.end;
            found.push(Suspect { range, points: ENOUGH, reasons: vec![reason] });
        }
        found
    }

    /// Returns a joined phrase such as `walnut-anchor-dusk`, if the sentence names a phrase and gives it.
    fn joined_phrase(&self, words: &[Range<usize>]) -> Option<Suspect> {
        const BETWEEN_MAX: usize = 6;
        let is_given = |range: &&Range<usize>| {
            // The fast test is first, because most words are not joined.
            if !is_joined_words(&self.text[(*range).clone()]) {
                return false;
            }
            let lead = self.lead(range.start);
            let is_told = self.text[..range.start].trim_end().ends_with([':', '：']);
            (is_told || WORDS.gate_copula.ends(&lead))
                && WORDS.gate_phrase.is_in(&format!("{} ", last_words(&lead, BETWEEN_MAX)))
        };
        let range = words.iter().find(is_given)?.clone();
        let reasons = vec!["a phrase of plain words where a secret is given"];
        Some(Suspect { range, points: ENOUGH, reasons })
    }

    /// Returns the words after "opens with" up to the end of the sentence, unless they form a clause.
    fn opening_phrase(&self) -> Option<Suspect> {
        const WORDS_MIN: usize = 4;
        let is_stop = |c: char| ",;.:(".contains(c);
        let is_code = |c: char| c.is_ascii_digit() || c.is_uppercase() || "`'\"/_".contains(c);
        let sentence = &self.text[self.range.clone()];
        // The name of a lock or phrase may be in a placeholder, which has no classes.
        let may_open = LazyCell::new(|| {
            sentence.contains(PLACEHOLDER_OPEN) || self.own().has(Classes::PHRASE)
        });
        let (mut at, mut stop, mut code) = (0, 0, 0);
        for word in sentence.split_inclusive(' ') {
            at += word.len();
            let (lead, rest) = sentence.split_at(at);
            if stop < at {
                stop = rest.find(is_stop).map_or(sentence.len(), |found| at + found);
            }
            if code < at {
                code = rest.find(is_code).map_or(sentence.len(), |found| at + found);
            }
            let phrase = &sentence[at..stop];
            let is_long = phrase.split_whitespace().nth(WORDS_MIN - 1).is_some();
            if code < stop || !is_long || !*may_open {
                continue;
            }
            let is_listed = lead.ends_with(": ");
            let start = lead.floor_char_boundary(at.saturating_sub(NEAR_BYTES_MAX));
            let lead = lead[start..].trim_end_matches([' ', ':']).to_lowercase();
            let is_opened = opens_with(&lead)
                && (self.own().has(Classes::VAULT) || self.around().has(Classes::VAULT));
            let named = WORDS.gate_copula.stripped(&lead);
            let is_said = is_listed || named.len() < lead.len();
            // After the name of a phrase, all text belongs to the phrase, but a sentence about a vault may be a
            // description.
            let is_phrase = is_said && WORDS.gate_phrase.ends(named);
            let is_told =
                || is_said && WORDS.gate_vault.is_in(&format!("{} ", last_words(named, 3)));
            if !is_opened && !is_phrase && !is_told() {
                continue;
            }
            let mut words = phrase.split_whitespace();
            // An article indicates a sentence that describes a lock.
            let is_clause = match (is_phrase && is_listed, is_opened) {
                (true, _) => false,
                (false, true) => words.next().is_some_and(text::is_stop_word),
                (false, false) => words.any(text::is_stop_word),
            };
            if !is_clause {
                return Some(Suspect {
                    range: self.range.start + at..self.range.end,
                    points: ENOUGH,
                    reasons: vec!["plain words open a lock"],
                });
            }
        }
        None
    }

    /// Returns the range of the value in `user:value`, `user/value` and `name=value`, and whether a user is named
    /// before it.
    fn second_of_pair(&self, word: &Range<usize>) -> (Range<usize>, bool) {
        let text = &self.text[word.clone()];
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        for sign in [':', '/', '='] {
            let mut parts = text.splitn(2, sign);
            let (Some(name), Some(value)) = (parts.next(), parts.next()) else { continue };
            let is_rest_plain = sign == '=' || !value.contains(['/', ':']);
            if is_name(name) && !value.is_empty() && is_rest_plain {
                let at = word.start + name.len() + 1;
                return (at..word.end, sign != '=');
            }
        }
        let lead = self.text[self.range.start..word.start].trim_end();
        let is_pair = lead.ends_with('/') && lead.trim_end_matches('/').ends_with(' ');
        (word.clone(), is_pair)
    }

    /// Returns the text before an offset in the sentence, in lower case, without signs around the value.
    fn lead(&self, at: usize) -> String {
        let start = self.range.start.max(at.saturating_sub(NEAR_BYTES_MAX));
        let lead = lowered(&self.text[self.text.ceil_char_boundary(start)..at]);
        let is_sign = |c: char| c.is_whitespace() || "\"'`*_([{<«„“‘‹「『:=→-–—/（：".contains(c);
        lead.trim_end_matches(is_sign).to_owned()
    }

    /// Returns the text after an offset in the sentence, in lower case, without signs around the value.
    fn behind(&self, at: usize) -> String {
        let end = self.range.end.min(at + NEAR_BYTES_MAX);
        let behind = lowered(&self.text[at..self.text.floor_char_boundary(end)]);
        let is_sign = |c: char| c.is_whitespace() || "\"'`*_)]}>»”’›」』）,!?".contains(c);
        format!("{} ", behind.trim_start_matches(is_sign))
    }
}

/// Returns the words of a line that are so certainly credentials that they are redacted, instead of making a memory
/// pending.
pub(crate) fn clear(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for part in sentences(line) {
        let mut sentence = None;
        for word in words(line, &part).into_iter().filter(|word| may_be_clear(&line[word.clone()]))
        {
            let sentence =
                sentence.get_or_insert_with(|| ScoredSentence::of(line, part.clone(), ""));
            let suspect = sentence.judge(&word).map(|suspect| behind_name(line, suspect));
            let is_clear =
                |suspect: &Suspect| is_clear(&line[suspect.range.clone()], suspect.points);
            found.extend(suspect.filter(is_clear).map(|suspect| suspect.range));
        }
    }
    found
}

/// Removes the name before an assigned value: `sid=x`.
fn behind_name(line: &str, mut suspect: Suspect) -> Suspect {
    let value = &line[suspect.range.clone()];
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let name = value.split('=').next().unwrap_or_default();
    let is_assigned =
        name.len() < value.len() && name.starts_with(|c: char| c.is_ascii_lowercase());
    if is_assigned && name.chars().all(is_name) {
        suspect.range.start += name.len() + 1;
    }
    suspect
}

/// Returns whether a word may be a clear credential. Faster than judging its context.
fn may_be_clear(word: &str) -> bool {
    let looks = |value: &str| Looks::of(value).is_some_and(|looks| looks != Looks::Number);
    word::may_be_value(word.as_bytes())
        && (looks(word) || word.rsplit([':', '/', '=']).next().is_some_and(looks))
}

/// Returns whether a value with these points is certain enough to be redacted. Values in the form of ids and hashes
/// need more points, and a number is never certain enough.
fn is_clear(value: &str, points: i32) -> bool {
    const BYTES_MIN: usize = 8;
    const DRAWN_BYTES_MIN: usize = 10;
    const HASH_BYTES_MIN: usize = 32;
    let Some(looks) = Looks::of(value) else { return false };
    let bytes = value.as_bytes();
    // `Granite~badger_33` is not a name from code, where words have capitals or signs, but not both with a number at
    // the end.
    let is_made = || chosen::are_words_with_number(value.as_bytes());
    let points_min = match looks {
        Looks::CodeSign | Looks::Words if is_made() => 3,
        Looks::Sign | Looks::CodeSign | Looks::Drawn | Looks::Words | Looks::Spelled => 4,
        Looks::Digits => 5,
        Looks::Encoded | Looks::DrawnId => 6,
        Looks::Number => return false,
    };
    // `linux-cargo-` followed by the hash of a lock file.
    let is_content = bytes.rsplit(|byte| b"-_".contains(byte)).next().is_some_and(|end| {
        end.len() < bytes.len()
            && end.len() >= HASH_BYTES_MIN
            && end.iter().all(u8::is_ascii_hexdigit)
    });
    // `2026-11-20T10:02:11Z`
    let is_time = bytes.windows(8).any(|date| {
        let is_sign = |at: usize| date[at] == b'-';
        is_sign(4) && is_sign(7) && date[..4].iter().all(u8::is_ascii_digit)
    });
    let is_beside = || judge(bytes, ValuePlace::Beside(Promise::Password)).is_secret();
    // `Argon2Id{salt`, whose end was removed as punctuation of the sentence.
    let count = |signs: &[char]| value.matches(signs).count();
    let (open, closed) = (count(&['{', '(', '[', '<']), count(&['}', ')', ']', '>']));
    points >= points_min
        && bytes.len() >= BYTES_MIN
        && !is_time
        // The value is the end of a base 64 text.
        && !value.ends_with('=')
        && !value.contains("&#")
        && open == closed
        && (open == 0 || is_beside())
        // The value is a name: `profile-1.0#PasswordText`.
        && !WORDS.naming.occur_in(bytes)
        && !is_content
        && (looks != Looks::Drawn || bytes.len() >= DRAWN_BYTES_MIN && is_beside())
        && (looks != Looks::Words || bytes[0].is_ascii_uppercase() || !value.is_ascii())
}

/// Sum of points, and their reasons.
#[derive(Default)]
struct Score {
    points: i32,
    reasons: Vec<&'static str>,
}

impl Score {
    fn add(&mut self, points: i32, reason: &'static str) {
        self.points += points;
        if points > 0 {
            self.reasons.push(reason);
        }
    }
}

/// Returns whether the last words before a value contain the name of a secret and no other name.
fn role_before(last: &str, lead: &str) -> bool {
    WORDS.gate_role.is_in(&format!("{last} ")) || WORDS.gate_role.ends(lead)
}

/// Returns whether the name of a code precedes a number, with at most a word such as `is` in between.
fn code_before(lead: &str) -> bool {
    const NO_CODES: [&str; 4] = ["token", "tokens", "key", "secret"];
    let lead = WORDS.gate_copula.stripped(lead);
    let last = last_words(lead, 1);
    WORDS.gate_role.ends(lead) && !NO_CODES.contains(&last.as_str())
}

/// Returns the points for words that give a value. Verbs for opening have the most points. Words other than verbs count
/// only if `copulas` is true.
fn given(lead: &str, behind: &str, copulas: bool) -> i32 {
    let opens = opens_with(lead) || WORDS.gate_opens.is_in(&format!("{} ", last_words(lead, 1)));
    let is_given = WORDS.gate_giving.ends(lead)
        || WORDS.gate_after.begins(behind)
        || copulas && WORDS.gate_copula.ends(lead);
    match () {
        () if opens => 2,
        () if is_given => 1,
        () => 0,
    }
}

/// Returns whether a mail address precedes a value: `tess@example.org with`, `tess@example.org –`.
fn follows_address(lead: &str) -> bool {
    let lead = WORDS.gate_copula.stripped(lead);
    let word = last_words(lead.trim_end_matches([',', '-', '–', '/', '|', ' ']), 1);
    word.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'))
}

/// Returns whether a value follows a command with a user, such as `login svc`.
fn is_login(lead: &str) -> bool {
    let mut words = lead.rsplit(char::is_whitespace);
    let (user, command) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_name = user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte));
    is_name && !user.starts_with('-') && WORDS.gate_access.is_in(&format!("{command} "))
}

/// Returns whether the text ends with `opens with` or `opens for ops with`.
fn opens_with(lead: &str) -> bool {
    const BETWEEN_MAX: usize = 6;
    WORDS.gate_with.ends(lead)
        && WORDS.gate_opens.is_in(&format!("{} ", last_words(lead, BETWEEN_MAX)))
}
