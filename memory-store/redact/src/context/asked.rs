//! Answers: the user's reply to a request for a secret. The question determines the meaning of the answer, so a short
//! word can be a password in an answer, but nowhere else.

use std::borrow::Cow;
use std::ops::Range;

use crate::engine::Redactor;
use crate::finding::{ASSIGNMENT, Finding, united};
use crate::value::spread::{SpreadEvidence, may_spread, trimmed};
use crate::value::{ValuePlace, judge, stand_in};
use crate::vocabulary::WORDS;
use memory_store_base::text::{self, rarity};

/// Rule name of values that are hidden because of the question.
pub(crate) const ANSWER: &str = "answer";

/// Maximum number of bytes that are read at the end of a question.
const QUESTION_BYTES_MAX: usize = 2_000;

/// Maximum number of words in an answer that may be a passphrase.
const PHRASE_WORDS_MAX: usize = 8;

/// Origin of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Free text in reply to the question.
    Freely,
    /// One of the offered options. It is a secret only if it resembles one.
    Offered,
    /// The next prompt, which may be unrelated to the question.
    InWords,
    /// A later prompt, which contains a secret only if it resembles one.
    Later,
}

/// An answer with its secrets hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'t> {
    /// Text of the answer without its secrets.
    pub text: Cow<'t, str>,
    /// Values that were hidden because of the question. They are returned to be hidden elsewhere too, where no question
    /// is near a repetition.
    pub hidden: Vec<&'t str>,
    /// Secrets of the answer that have no other meaning in other texts.
    pub recognised: Vec<String>,
}

impl Redactor {
    /// Redacts an answer, using its question.
    pub fn redact_answer<'t>(&self, question: &str, answer: &'t str, given: Given) -> Answer<'t> {
        let mut found = Vec::new();
        let asks = match given {
            Given::InWords if is_request(question) => Some(Asks::ForIt),
            Given::Freely | Given::Offered | Given::InWords | Given::Later => asks(question),
        };
        let is_free = given == Given::Freely && !is_about_ids(question);
        if asks == Some(Asks::WayIn) && given != Given::Freely || asks.is_none() && is_free {
            found = drawn(answer);
        } else if let Some(asks) = asks {
            found = self.beside_name(answer);
            found.extend(telling(answer));
            match given {
                Given::Freely if asks == Asks::ForIt => found.extend(answered_secret(answer)),
                Given::InWords if asks == Asks::ForIt && is_no_word(answer) => {
                    found.extend(answered_secret(answer));
                }
                Given::Freely | Given::Offered | Given::InWords | Given::Later => {}
            }
        }
        if !found.is_empty() {
            // Hiding one value may remove the context of the next value: "Old password ..., new one ...".
            found.extend(
                self.findings(answer).into_iter().filter(|it| crate::engine::is_learned(it.rule)),
            );
            found.sort_by_key(|finding| finding.range.start);
            found = united(found);
            found.retain(|finding| {
                let value = &answer[finding.range.clone()];
                !value.contains(crate::finding::PLACEHOLDER_OPEN)
                    && !self.is_harmless(value.as_bytes())
            });
        }
        let hidden: Vec<&str> =
            found.iter().map(|finding| &answer[finding.range.clone()]).collect();
        let (text, more) = match found.is_empty() {
            true => self.redact_and_recognise(answer),
            // The rest of the answer may contain other secrets.
            false => {
                let left = self.replace(answer, &found);
                let (text, more) = self.redact_and_recognise(&left);
                (Cow::Owned(text.into_owned()), more)
            }
        };
        let answered = hidden.iter().map(|value| trimmed(value));
        let answered = answered.filter(|value| may_spread(value, SpreadEvidence::Answer));
        let recognised = answered.map(str::to_owned).chain(more).collect();
        Answer { text, hidden, recognised }
    }

    /// Returns the secrets that an answer would contain if it followed the name of a secret.
    fn beside_name(&self, answer: &str) -> Vec<Finding> {
        const NAME: &str = "password: ";
        let text = format!("{NAME}{answer}");
        let behind = |finding: Finding| {
            let start = finding.range.start.checked_sub(NAME.len())?;
            let range = start..finding.range.end - NAME.len();
            // After the name of a secret, any word may be a secret. Here, the question decides whether words are.
            let is_word = answer[range.clone()].bytes().all(|byte| byte.is_ascii_alphabetic());
            let is_name = finding.rule == ASSIGNMENT && is_algorithm(&answer[range.clone()]);
            (crate::engine::is_learned(finding.rule) && !is_word && !is_name)
                .then_some(Finding { rule: ANSWER, range })
        };
        self.findings(&text).into_iter().filter_map(behind).collect()
    }
}

/// Subject of a question about a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// The question asks for the secret.
    ForIt,
    /// The question is about a property of the secret.
    AboutIt,
    /// The question is about access.
    WayIn,
}

/// Returns the sentence near the end of a text that requests a secret, or else its final question.
pub fn request(text: &str) -> Option<&str> {
    const SENTENCES_MAX: usize = 4;
    const TAIL_BYTES_MAX: usize = 800;
    const ENDS: [char; 8] = ['.', '!', '?', '。', '！', '？', ':', '：'];
    let text = text.trim_end();
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES_MAX))..];
    let mut starts = vec![0];
    for (at, sign) in tail.char_indices() {
        let before = &tail[..at];
        let ends = match sign {
            '\n' => true,
            ' ' => before.ends_with(ENDS) && !is_item_number(before),
            _ => before.ends_with(['。', '！', '？']),
        };
        starts.extend(ends.then_some(at));
    }
    starts.push(tail.len());
    let sentence = |from: usize, to: usize| tail[from..to].trim().trim_end_matches(ENDS);
    let asked = sentence(starts[starts.len() - 2], tail.len());
    let is_question = tail.ends_with(['?', '？', ':', '：']);
    if is_question && asks(asked).is_some() {
        return Some(asked);
    }
    // First choice: a sentence that names the secret and requests it. Second choice: a sentence that names the secret,
    // together with the next one, which requests it.
    let near = &starts[starts.len().saturating_sub(SENTENCES_MAX + 1)..];
    let pairs = || near.windows(3).rev().map(|pair| sentence(pair[0], pair[2]));
    let single = near.windows(2).rev().map(|pair| sentence(pair[0], pair[1]));
    let asked = single.chain(pairs()).find(|sentence| is_request(sentence));
    // Third choice: the last sentence about access.
    asked.or_else(|| {
        let all = sentence(near[0], tail.len());
        let lower = all.to_lowercase();
        let words = words_of(&lower);
        let is_asking = is_question || is_requesting(&lower, &words);
        (is_asking && is_way_in(&lower, &words)).then_some(all)
    })
}

/// Returns whether a text ends with the number of a list item: `1.`
fn is_item_number(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default().trim_start();
    line.strip_suffix('.').is_some_and(|number| {
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns whether a prompt corrects the previous prompt, so that its value is of the same kind.
pub fn corrects(prompt: &str) -> bool {
    let prompt = prompt.to_lowercase();
    WORDS.correcting.are_in(&prompt, &words_of(&prompt))
}

/// Returns whether a question is about access, or about a step towards it.
fn is_way_in(question: &str, words: &[&str]) -> bool {
    WORDS.question_way_in.are_in(question, words)
}

/// Returns whether a question is about an id or a version, because these also appear random.
fn is_about_ids(question: &str) -> bool {
    let question = question.to_lowercase();
    words_of(&question).iter().any(|word| WORDS.question_id.has(word))
}

/// Returns words of an answer that appear random, although the question does not request such a value.
fn drawn(answer: &str) -> Vec<Finding> {
    let words = words(answer).into_iter();
    let drawn =
        words.filter(|word| judge(answer[word.clone()].as_bytes(), ValuePlace::Cue).is_secret());
    drawn.map(|range| Finding { rule: ANSWER, range }).collect()
}

/// Returns whether a sentence contains a word that expresses a request.
fn is_requesting(sentence: &str, words: &[&str]) -> bool {
    WORDS.requesting.are_in(sentence, words)
}

/// Returns whether a sentence, not necessarily a question, requests a secret.
fn is_request(sentence: &str) -> bool {
    let sentence = &sentence[..sentence.floor_char_boundary(QUESTION_BYTES_MAX)].to_lowercase();
    let words = words_of(sentence);
    names_secret(sentence, &words)
        && !words.iter().any(|word| WORDS.question_about.has(word))
        && is_requesting(sentence, &words)
}

/// Returns the words of a question, in lower case.
fn words_of(question: &str) -> Vec<&str> {
    let is_sign = |c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’');
    question.split(is_sign).filter(|word| !word.is_empty()).collect()
}

/// Returns whether a question names a secret.
fn names_secret(question: &str, words: &[&str]) -> bool {
    let names_it = |(at, word): (usize, &&str)| {
        let is_open = *word == "key"
            && at.checked_sub(1).is_some_and(|before| WORDS.question_open_key.has(words[before]));
        WORDS.question_secret.has(word) && !is_open
    };
    // A Latin name may be surrounded by letters of another script.
    let is_unspaced = || question.chars().any(|c| ('\u{2E80}'..'\u{AC00}').contains(&c));
    words.iter().enumerate().any(names_it)
        || WORDS.question_secret.are_in(question, &[])
        || is_unspaced() && ["token", "password"].iter().any(|name| question.contains(name))
}

fn asks(question: &str) -> Option<Asks> {
    let question = &question[..question.floor_char_boundary(QUESTION_BYTES_MAX)];
    // Options may follow on the next lines.
    let question = question.lines().next().unwrap_or_default().to_lowercase();
    let words = words_of(&question);
    if !names_secret(&question, &words) {
        return is_way_in(&question, &words).then_some(Asks::WayIn);
    }
    let is_about = words.iter().any(|word| WORDS.question_about.has(word));
    let is_wanted = words.iter().any(|word| WORDS.wanting.has(word));
    let is_yes_or_no = words.iter().any(|word| WORDS.yes_or_no.has(word)) && !is_wanted;
    Some(if is_about || is_yes_or_no { Asks::AboutIt } else { Asks::ForIt })
}

/// Returns whether an answer is a single word that is unknown or contains other characters than letters.
fn is_no_word(answer: &str) -> bool {
    let answer = answer.trim();
    let is_plain = answer.bytes().all(|byte| byte.is_ascii_alphabetic());
    // A stop word yields no terms.
    let is_unknown = || {
        let terms = text::tokens(answer);
        !terms.is_empty() && terms.iter().all(|token| rarity::is_unknown(&token.term))
    };
    !answer.contains(char::is_whitespace) && (!is_plain || answer.len() >= 4 && is_unknown())
}

/// Returns words of an answer that appear random.
fn telling(answer: &str) -> Vec<Finding> {
    const COMMIT_BYTES: usize = 40;
    let is_telling = |word: &&Range<usize>| {
        let value = &answer[(*word).clone()];
        let is_commit =
            value.len() == COMMIT_BYTES && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        may_spread(value, SpreadEvidence::Rule) && !is_commit && !is_algorithm(value)
    };
    let words = words(answer);
    let telling = words.iter().filter(is_telling).cloned();
    telling.map(|range| Finding { rule: ANSWER, range }).collect()
}

/// Returns the secret in an answer: the whole answer if it is not a sentence, otherwise the words that are unusual in a
/// sentence.
fn answered_secret(answer: &str) -> Vec<Finding> {
    let words = words(answer);
    let is_prose = |word: &Range<usize>| {
        let word = answer[word.clone()].to_lowercase();
        let word = word.replace('’', "'");
        WORDS.answer_prose.has(word)
    };
    let is_all =
        !words.is_empty() && words.len() <= PHRASE_WORDS_MAX && !words.iter().any(is_prose);
    if is_all && !stand_in::is_placeholder(answer.trim().as_bytes()) {
        let (start, end) = (words[0].start, words[words.len() - 1].end);
        return vec![Finding { rule: ANSWER, range: start..end }];
    }
    let is_mixed = |word: &&Range<usize>| {
        let word = &answer[(*word).clone()];
        word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic())
            || word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mixed = words.iter().filter(is_mixed).cloned();
    mixed.map(|range| Finding { rule: ANSWER, range }).collect()
}

/// Returns the words of an answer, without quotes and punctuation around them.
fn words(answer: &str) -> Vec<Range<usize>> {
    let is_around = |c: char| matches!(c, '"' | '\'' | '`' | '*' | '(' | ')' | ',' | ';');
    let of_word = |word: &str| {
        let start = word.as_ptr() as usize - answer.as_ptr() as usize;
        let inner = word.trim_start_matches(is_around);
        let start = start + (word.len() - inner.len());
        let inner = inner.trim_end_matches(is_around).trim_end_matches(['.', ':']);
        (!inner.is_empty()).then_some(start..start + inner.len())
    };
    answer.split_whitespace().filter_map(of_word).collect()
}

/// Returns whether a word is the name of an algorithm: `SHA-256`, `RS256`, `xchacha20poly1305`.
fn is_algorithm(word: &str) -> bool {
    let letters = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
    let start = word[..letters].to_ascii_lowercase();
    letters < word.len() && WORDS.algorithm.has(start)
}

#[cfg(test)]
mod tests;
