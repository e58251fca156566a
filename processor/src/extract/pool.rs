//! What is left of an episode's statements to tell: each is told once, where it fits best.

use std::collections::BTreeSet;

use memory_store::text;

use super::clean::cut;
use super::episode::{Episode, Statement};
use super::score::Channel;
use super::words;

/// Characters of a memory's title and body together: what a reader, and a hook, take in at once.
pub const TEXT_CHARS_MAX: usize = 360;

/// Two sentences that share this much of their words say the same.
const SAME_SHARE: f32 = 0.65;

/// A sentence of which a memory holds this much is told.
const SAID_SHARE: f32 = 0.85;

/// What a sentence beside a chosen one gains: its subject stands there.
const NEIGHBOUR_GAIN: f32 = 0.3;

/// What a sentence that points at its predecessor loses when that one is not told.
const DANGLING_LOSS: f32 = 0.8;

/// A sentence worth less than this is not told at all.
const SCORE_MIN: f32 = -0.4;

/// With less room than this left, nothing more fits.
const ROOM_CHARS_MIN: usize = 40;

/// The words of a text.
pub type Words = BTreeSet<String>;

/// The statements of an episode, and which of them are told already.
#[derive(Debug)]
pub struct Pool<'a> {
    /// The episode.
    pub episode: &'a Episode<'a>,
    /// Whether the words of the request are told already.
    pub asked: bool,
    used: Vec<bool>,
    words: Vec<Words>,
}

impl<'a> Pool<'a> {
    /// Takes an episode's statements.
    pub fn new(episode: &'a Episode<'a>) -> Self {
        let words = episode.statements.iter().map(|statement| word_set(statement.text())).collect();
        Self { episode, asked: false, used: vec![false; episode.statements.len()], words }
    }

    /// The statements that are not told yet and say something.
    pub fn left(&self) -> impl Iterator<Item = &'a Statement> + '_ {
        self.episode
            .statements
            .iter()
            .filter(|statement| !self.used[statement.order] && !statement.transient)
    }

    /// Marks statements as told; those of other episodes are none of it.
    pub fn tell(&mut self, told: &[&Statement]) {
        for statement in told {
            let own = self.episode.statements.get(statement.order);
            if own.is_some_and(|own| std::ptr::eq(own, *statement)) {
                self.used[statement.order] = true;
            }
        }
    }

    /// Marks what a memory says nearly word for word.
    pub fn tell_said(&mut self, memory: &str) {
        self.tell_said_in(&[word_set(memory)]);
    }

    /// The same of several memories, whose words these are.
    pub fn tell_said_in(&mut self, memories: &[Words]) {
        self.tell_within(memories, SAID_SHARE);
    }

    /// Marks what says the same as an already told text.
    pub fn tell_text(&mut self, told: &str) {
        self.tell_alike(&[word_set(told)]);
    }

    /// The same of several texts, whose words these are: a long session tells hundreds, and each is
    /// compared with all that comes after it.
    pub fn tell_alike(&mut self, told: &[Words]) {
        self.tell_within(told, SAME_SHARE);
    }

    fn tell_within(&mut self, told: &[Words], share: f32) {
        for (used, words) in self.used.iter_mut().zip(&self.words) {
            *used = *used || told.iter().any(|told| within(words, told) >= share);
        }
    }

    /// Chooses statements that fit into `room` characters beside `lead`, best first, and returns
    /// all of them in the order they are told.
    pub fn fill(
        &self,
        title: &str,
        lead: &[&'a Statement],
        mut room: usize,
        wanted: &dyn Fn(&Statement) -> bool,
    ) -> Vec<&'a Statement> {
        let mut chosen: Vec<&'a Statement> = lead.to_vec();
        let title = word_set(title);
        for statement in lead {
            room = room.saturating_sub(statement.text().chars().count() + 1);
        }
        while room >= ROOM_CHARS_MIN {
            let best = self
                .left()
                .filter(|statement| wanted(statement))
                .filter(|statement| statement.text().chars().count() < room)
                .filter(|statement| !chosen.iter().any(|known| known.order == statement.order))
                .filter(|statement| !self.repeats(statement, &chosen, &title))
                .filter(|statement| !is_open(statement))
                .map(|statement| (self.gain(statement, &chosen), statement))
                .filter(|(gain, _)| *gain >= SCORE_MIN)
                .max_by(|(a, left), (b, right)| a.total_cmp(b).then(right.order.cmp(&left.order)));
            let Some((_, statement)) = best else { break };
            room = room.saturating_sub(statement.text().chars().count() + 1);
            chosen.push(statement);
        }
        chosen.sort_by_key(|statement| (rank(statement.channel), statement.order));
        chosen
    }

    /// Whether a statement speaks of the same things as a text with these terms.
    pub fn shares(&self, statement: &Statement, subject: &BTreeSet<String>) -> bool {
        let sentence = &statement.sentence;
        // What an item is about often stands above its list.
        let above = if sentence.list { sentence.heading.as_str() } else { "" };
        shared_subject(&subject_of(&format!("{above} {}", sentence.text)), subject)
    }

    fn gain(&self, statement: &Statement, chosen: &[&Statement]) -> f32 {
        let beside = chosen.iter().any(|known| {
            known.uuid == statement.uuid
                && known.order.abs_diff(statement.order) == 1
                && known.channel == statement.channel
        });
        let follows = chosen
            .iter()
            .any(|known| known.uuid == statement.uuid && known.order + 1 == statement.order);
        let dangling = words::POINTS_BACK.is_match(statement.text()) && !follows;
        statement.score + if beside { NEIGHBOUR_GAIN } else { 0.0 }
            - if dangling { DANGLING_LOSS } else { 0.0 }
    }

    fn repeats(
        &self,
        statement: &Statement,
        chosen: &[&Statement],
        title: &BTreeSet<String>,
    ) -> bool {
        let words = &self.words[statement.order];
        within(words, title) >= SAME_SHARE
            || chosen.iter().any(|known| within(words, &self.words[known.order]) >= SAME_SHARE)
    }
}

/// Whether a statement names what is left to do: that is a task of its own.
fn is_open(statement: &Statement) -> bool {
    matches!(statement.channel, Channel::Final | Channel::Said)
        && (words::STILL_OPEN.is_match(statement.text())
            || words::labelled_open(statement.text()).is_some()
            || super::tasks::is_item_of_open(statement))
}

/// The order in which channels are told: the request and its reason first.
fn rank(channel: Channel) -> u8 {
    match channel {
        Channel::User | Channel::Plan => 0,
        Channel::Commit => 1,
        Channel::Final => 2,
        Channel::Said => 3,
        Channel::Summary => 4,
    }
}

/// The terms by which a text is known to speak of something.
pub fn subject_of(text: &str) -> BTreeSet<String> {
    text::tokens(text).into_iter().map(|token| token.term).collect()
}

/// Whether two texts speak of the same things: of one that has a name, or of two others.
pub fn shared_subject(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let is_name = |term: &str| term.contains(['.', '/', '_', ':']) || term.len() >= NAME_BYTES_MIN;
    let mut words = 0;
    a.intersection(b).any(|term| {
        words += 1;
        is_name(term) || words >= SHARED_TERMS_MIN
    })
}

/// Terms that two texts of one subject share, and bytes of one that is enough by itself.
const SHARED_TERMS_MIN: usize = 2;
const NAME_BYTES_MIN: usize = 10;

/// The set of a text's words.
pub fn word_set(text: &str) -> Words {
    text::words(text).into_iter().collect()
}

/// The share of the smaller set that the larger one holds.
pub fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller < 3 {
        return f32::from(u8::from(a == b && !a.is_empty()));
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = a.intersection(b).count() as f32 / smaller as f32;
    share
}

/// The share of the words of `a` that `b` holds.
pub fn within(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    if a.is_empty() {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let share = a.intersection(b).count() as f32 / a.len() as f32;
    share
}

/// Adds what was being worked on, where there is room for it.
pub fn situate(parts: &mut Vec<String>, when: &str, subject: &str, room: usize) {
    let told = format!("{when}: {subject}");
    let used: usize = parts.iter().map(|part| part.chars().count() + 1).sum();
    if !subject.is_empty()
        && (parts.iter().all(String::is_empty) || used + told.chars().count() < room)
    {
        parts.push(told);
    }
}

/// Joins statements into a body; sentences end with a full stop.
pub fn join(parts: &[String]) -> String {
    let mut body = String::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        if !body.is_empty() {
            body.push(' ');
        }
        body.push_str(part);
        if !part.ends_with(['.', '!', '?', ':', '…', ';']) {
            body.push('.');
        }
    }
    body
}

/// The texts of statements, each cut to what a memory may hold.
pub fn texts(statements: &[&Statement]) -> Vec<String> {
    statements
        .iter()
        .map(|statement| cut(&super::clean::capital(statement.text()), TEXT_CHARS_MAX))
        .collect()
}
