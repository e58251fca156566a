//! Suspicion: distinguishes memories that give instructions to a model from memories that state facts.
//!
//! A model reads everything in a memory folder, and anyone with write access can add to that folder. Recalled memories
//! are printed as data. A text that resembles an injected instruction is quarantined: it is kept and shown in `review`,
//! but not injected. A user's wish is an instruction too, so an imperative alone proves nothing. The subject decides:
//! the model's instructions, its role, its consent, what the user may know, where secrets are sent. `rules.txt` lists
//! the wordings of injected instructions.

mod decode;
mod markup;
mod rules;
mod words;

use std::fmt;

use crate::index::record::Record;
use rules::{Held, RULES};
use words::Word;

/// Minimum number of points at which a text is quarantined.
const POINTS_MIN: u8 = 2;
/// Number of words within which the points must be found.
const WINDOW_WORDS: usize = 60;
/// Maximum length of the excerpt shown to the person, in characters.
const EXCERPT_CHARS_MAX: usize = 80;
/// Maximum number of bytes of a text that are checked.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Maximum number of words of a quotation that counts as a mention instead of an instruction.
const MENTION_WORDS_MAX: usize = 8;
/// Version of the code that applies the rules. A change makes stored results invalid.
const VERSION: u32 = 7;

/// Origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextOrigin {
    /// Derived, written or released on this machine, so actions that are normal in its project are not an attack.
    Own,
    /// Written by an unknown person.
    Repository,
}

/// Reason why a text is suspicious, and the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    /// Reason for the suspicion.
    pub reason: Reason,
    /// Place of the suspicious words.
    pub place: SuspiciousPlace,
}

/// Reason for a suspicion: the subject of the injected instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Instructs the model to drop its own or the user's instructions, or to obey the text instead.
    Override,
    /// Gives the model a role without rules.
    Role,
    /// Imitates another speaker of the conversation, or its markup.
    Markup,
    /// Claims that the recalled text has ended.
    Border,
    /// Instructs the model to hide something from the user.
    Hiding,
    /// Instructs the model to reveal secrets.
    Exfiltration,
    /// Instructs the model to run commands, call tools or change settings without asking.
    Command,
    /// A fragment that forms an instruction only together with others.
    Split,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Override => "tells the model to drop its instructions",
            Self::Role => "gives the model a role without rules",
            Self::Markup => "looks like a message of the conversation",
            Self::Border => "claims that the recalled text ends",
            Self::Hiding => "wants something kept from the user",
            Self::Exfiltration => "gives secrets away",
            Self::Command => "wants commands run or settings changed without asking",
            Self::Split => "is a part of an order in several memories",
        })
    }
}

/// Place of suspicious words in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspiciousPlace {
    /// 0 for the title, otherwise the line of the text.
    pub line: usize,
    /// Name of the encoding in which the words were hidden; empty for plain text.
    pub way: &'static str,
    /// The matched words in lower case.
    pub words: String,
}

impl fmt::Display for SuspiciousPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => formatter.write_str("title")?,
            line => write!(formatter, "line {line}")?,
        }
        if !self.way.is_empty() {
            write!(formatter, ", {}", self.way)?;
        }
        write!(formatter, ": \"{}\"", self.words)
    }
}

/// Checks an index record. Returns a suspicion if the record resembles an injected instruction, given its recorded
/// origin.
pub fn of_record(record: &Record) -> Option<Suspicion> {
    let (title, body) = judged_text(record);
    let of = if record.from_repository { TextOrigin::Repository } else { TextOrigin::Own };
    suspicion(title, &body, of)
}

/// Returns the texts of a memory that are checked: its title, and its body with the sentences in its paths, tags and
/// cues.
pub fn judged_text(record: &Record) -> (&str, String) {
    let mut body = record.text.clone();
    for label in record.paths.iter().chain(&record.tags).chain(&record.cues) {
        let told = prose(label);
        if !told.is_empty() {
            body.push_str("\n\n");
            body.push_str(&told);
        }
    }
    (&record.title, body)
}

/// Returns a hash of the rules and of the version of the code that applies them.
pub fn fingerprint() -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&VERSION.to_le_bytes());
    hasher.update(include_bytes!("rules.txt"));
    *hasher.finalize().as_bytes()
}

/// Checks the name of a file, a branch or a tag, which may be a sentence with punctuation instead of spaces. Returns a
/// suspicion if the name resembles an injected instruction.
pub fn of_name(name: &str) -> Option<Suspicion> {
    suspicion("", &prose(name), TextOrigin::Own)
}

/// Returns the sentences in a name, one per line: the path components that consist of several words.
fn prose(name: &str) -> String {
    /// Minimum number of words that can form an instruction.
    const WORDS_MIN: usize = 4;
    let mut told = String::new();
    if name.contains(['<', '>']) || name.contains(char::is_whitespace) {
        told.push_str(name);
    }
    for step in name.split(['/', '\\']) {
        let words = step.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let sentence = words.join(" ");
        // A repetition of the sentence would bring words of two sentences next to each other.
        if words.len() >= WORDS_MIN && sentence != told {
            told.push('\n');
            told.push_str(&sentence);
        }
    }
    told
}

/// Checks a title and a body, given their origin. Returns `None` if they may be given to a model.
pub fn suspicion(title: &str, body: &str, of: TextOrigin) -> Option<Suspicion> {
    let body = &body[..body.floor_char_boundary(TEXT_BYTES_MAX)];
    // The title is a line and a paragraph of its own.
    let text = format!("{}\n\n{}", title.replace(['\n', '\r'], " "), body.trim_end());
    let readings = decode::readings(&text);
    readings.iter().find_map(|reading| {
        let mut suspicion = judge(&reading.text, of)?;
        let place = &mut suspicion.place;
        if !reading.way.is_empty() {
            place.way = reading.way;
            place.line = if reading.line > 0 { reading.line } else { place.line };
        }
        place.line = place.line.saturating_sub(1);
        Some(suspicion)
    })
}

fn judge(text: &str, of: TextOrigin) -> Option<Suspicion> {
    let plain = without_mentions(&words::plain(text));
    if let Some(fake) = markup::fakes(&plain).first() {
        let line = plain[..fake.at].matches('\n').count();
        let words: String = plain[fake.at..].chars().take(EXCERPT_CHARS_MAX).collect();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let reason = if fake.reason == "border" { Reason::Border } else { Reason::Markup };
        return Some(Suspicion { reason, place: SuspiciousPlace { line, way: "", words } });
    }
    let words = words::words(&plain, &|text| RULES.known(text));
    let held = RULES.held(&words, of);
    let window = heaviest(&held)?;
    let strongest = window.iter().max_by_key(|held| (held.weight, reason(held.reason)))?;
    Some(Suspicion { reason: reason(strongest.reason), place: place(&words, strongest) })
}

/// Returns the matched rules of the first window that reaches the required points, with one rule per reason; `None` if
/// no window does.
fn heaviest(held: &[Held]) -> Option<Vec<Held>> {
    (0..held.len()).find_map(|at| {
        let window: Vec<Held> = held[at..]
            .iter()
            .take_while(|next| next.first <= held[at].first + WINDOW_WORDS)
            .copied()
            .collect();
        let mut best: Vec<Held> = Vec::new();
        for held in &window {
            match best.iter_mut().find(|known| known.reason == held.reason) {
                Some(known) if known.weight < held.weight => *known = *held,
                Some(_) => {}
                None => best.push(*held),
            }
        }
        (best.iter().map(|held| held.weight).sum::<u8>() >= POINTS_MIN).then_some(best)
    })
}

fn reason(name: &str) -> Reason {
    match name {
        "role" | "freedom" => Reason::Role,
        "template" => Reason::Markup,
        "border" | "claim" => Reason::Border,
        "hide" | "lie" | "omit" => Reason::Hiding,
        "exfil" | "collect" => Reason::Exfiltration,
        "consent" | "run" | "download" | "host" | "settings" | "when" => Reason::Command,
        "split" => Reason::Split,
        _ => Reason::Override,
    }
}

fn place(words: &[Word], held: &Held) -> SuspiciousPlace {
    let end = held.end.max(held.first + 1).min(words.len());
    let mut shown = String::new();
    for word in &words[held.first..end.max((held.first + 4).min(words.len()))] {
        if shown.chars().count() + word.text.chars().count() > EXCERPT_CHARS_MAX {
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&word.text);
    }
    SuspiciousPlace { line: words[held.first].line, way: "", words: shown }
}

/// Returns a text without its short quotations if it is about attacks or tests, where quotations are only mentions.
fn without_mentions(text: &str) -> String {
    const TALK: [&str; 32] = [
        "quarantin",
        "pen test",
        "injection",
        "jailbreak",
        "attack",
        "phrase",
        "assert",
        "moderation",
        "classif",
        "reject",
        "detect",
        "fixture",
        "corpus",
        "asserts",
        "filter list",
        "blocklist",
        "red team",
        "threat",
        "seen in",
        "has no effect",
        "expects",
        "mail says",
        "banner",
        "wrote",
        "says \"",
        "begins with",
        "strings",
        "checks that",
        "test case",
        "tested",
        "prompt says",
        "is shown",
    ];
    // The name of a setting, such as `NODE_TLS_REJECT_UNAUTHORIZED`, is not talk about attacks.
    let is_talk = |(at, _): (usize, &str)| {
        !text[..at].ends_with('_') && !text[at..].starts_with("rejectunauthorized")
    };
    if !TALK.iter().any(|word| text.match_indices(word).any(is_talk)) {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '“', '„', '«', '`']) {
        let (before, quoted) = rest.split_at(at);
        result.push_str(before);
        let open = quoted.chars().next().unwrap_or('"');
        let inner = &quoted[open.len_utf8()..];
        let close = match open {
            '“' => inner.find('”'),
            '„' => inner.find(['“', '”']),
            '«' => inner.find('»'),
            _ => inner.find(open),
        };
        let Some(close) = close.filter(|close| !inner[..*close].contains("\n\n")) else {
            result.push(open);
            rest = inner;
            continue;
        };
        let end = close + inner[close..].chars().next().map_or(0, char::len_utf8);
        if inner[..close].split_whitespace().count() <= MENTION_WORDS_MAX {
            // Line breaks are kept so that later line numbers stay correct.
            result.push_str("\"x\"");
            result.extend(inner[..close].chars().filter(|c| *c == '\n'));
        } else {
            result.push(open);
            result.push_str(&inner[..end]);
        }
        rest = &inner[end..];
    }
    result.push_str(rest);
    result
}
