//! How much a sentence is worth keeping, told by its form and place.
//!
//! The weights are on a logistic scale, rounded by hand from a fit on labelled projects; they are
//! a start, not constants. `scripts/fit-extraction GOLD.json...` fits them on any gold files and
//! prints what it finds beside what is in use.

use super::pattern::Pattern;
use super::prose::Sentence;
use super::words;

/// Where a sentence was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// The user typed it.
    User,
    /// A plan that the user accepted.
    Plan,
    /// A commit message.
    Commit,
    /// The last message of a turn.
    Final,
    /// A message on the way.
    Said,
    /// The summary of a compaction.
    Summary,
}

/// A short sentence has fewer characters, a long one more.
const SHORT_CHARS: usize = 40;
const LONG_CHARS: usize = 120;

/// The features of a sentence: their names, for fitting, and their weights.
pub const FEATURES: [(&str, f32); 23] = [
    ("user", 0.8),
    ("plan", 0.5),
    ("commit", 0.5),
    ("final", 0.4),
    ("summary", -0.6),
    ("path", 0.6),
    ("position", 0.6),
    ("relative position", -0.4),
    ("wish", 0.5),
    ("rule", 0.5),
    ("long", 0.4),
    ("length", 0.35),
    ("short", -0.5),
    ("fails", 0.35),
    ("cause", 0.5),
    ("cure", 0.25),
    ("negation", 0.25),
    ("code span", 0.25),
    ("decides", 0.3),
    ("list item", -0.3),
    ("under a heading", -0.3),
    ("narration", -0.7),
    ("ends with a colon", -0.7),
];

/// A sentence with what is needed to weigh it.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    /// The sentence.
    pub sentence: &'a Sentence,
    /// Where it was said.
    pub channel: Channel,
    /// Its number in its text.
    pub index: usize,
    /// How many sentences its text has.
    pub of: usize,
}

/// Returns the features of a sentence, in the order of [`FEATURES`].
pub fn features(placed: Placed<'_>) -> [f32; FEATURES.len()] {
    let text = placed.sentence.text.as_str();
    let chars = text.chars().count();
    let flag = f32::from;
    let channel = |channel: Channel| flag(u8::from(placed.channel == channel));
    let says = |pattern: &Pattern| flag(u8::from(pattern.is_match(text)));
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let (index, of, length) = (placed.index as f32, placed.of.max(1) as f32, chars as f32);
    [
        channel(Channel::User),
        channel(Channel::Plan),
        channel(Channel::Commit),
        channel(Channel::Final),
        channel(Channel::Summary),
        says(&words::PATH),
        (-index / 6.0).exp(),
        index / of,
        says(&words::WISH),
        says(&words::RULE),
        flag(u8::from(chars > LONG_CHARS)),
        (length / 100.0).min(3.0),
        flag(u8::from(chars < SHORT_CHARS)),
        says(&words::FAILS),
        says(&words::CAUSE),
        says(&words::CURE),
        says(&words::NOT),
        flag(u8::from(placed.sentence.code)),
        says(&words::DECIDES),
        flag(u8::from(placed.sentence.list)),
        flag(u8::from(!placed.sentence.heading.is_empty())),
        says(&words::NARRATION),
        flag(u8::from(text.ends_with(':'))),
    ]
}

/// Returns the worth of a sentence.
pub fn score(placed: Placed<'_>) -> f32 {
    features(placed).iter().zip(&FEATURES).map(|(value, (_, weight))| value * weight).sum()
}

/// A sentence of a session with its features, for fitting.
#[derive(Clone, Debug)]
pub struct Featured {
    /// The record that holds it.
    pub uuid: String,
    /// The sentence as it was written.
    pub raw: String,
    /// Its features, in the order of [`FEATURES`].
    pub features: [f32; FEATURES.len()],
}

/// Returns the features of all sentences of a session that may be told.
pub fn features_of(session: &crate::transcript::session::Session) -> Vec<Featured> {
    let mut featured = Vec::new();
    for episode in super::episode::episodes(session) {
        let mut from = 0;
        while let Some(first) = episode.statements.get(from) {
            let text = &episode.statements[from..];
            let of = text.iter().take_while(|statement| statement.uuid == first.uuid).count();
            for (index, statement) in text[..of].iter().enumerate() {
                let placed =
                    Placed { sentence: &statement.sentence, channel: statement.channel, index, of };
                featured.push(Featured {
                    uuid: statement.uuid.clone(),
                    raw: statement.sentence.raw.clone(),
                    features: features(placed),
                });
            }
            from += of.max(1);
        }
    }
    featured
}
