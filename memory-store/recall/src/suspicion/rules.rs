//! The rules of `rules.txt`, which are patterns of words.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::TextOrigin;
use super::words::Word;

/// Maximum number of words in a phrase that belongs to a class.
const PHRASE_WORDS_MAX: usize = 4;
/// Minimum number of bytes of a stem.
const STEM_BYTES_MIN: usize = 3;
const STEM_BYTES_MAX: usize = 32;
/// Line of the file after which rules apply only to memories from the repository.
const FROM_REPOSITORY: &str = "[from the repository]";

/// A rule that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// Weight of the rule, in points.
    pub weight: u8,
    /// Reason that the rule names.
    pub reason: &'static str,
    /// Index of the first matched word.
    pub first: usize,
    /// Index after the last matched word.
    pub end: usize,
}

/// A step of a pattern.
#[derive(Clone, Debug)]
enum RuleStep {
    /// A word or phrase in one of these classes.
    Any { classes: Vec<u16>, optional: bool },
    /// The next word is in none of these classes.
    Not { classes: Vec<u16> },
    /// At most this many words. They may be in several sentences if `crosses` is set.
    Gap { words: usize, crosses: bool },
    /// The start of a clause.
    Begin,
    /// The end of the text.
    End,
}

#[derive(Debug)]
struct OrderRule {
    /// Origin of the texts to which the rule applies.
    of: TextOrigin,
    weight: u8,
    reason: &'static str,
    /// True if the rule does not match after a negation.
    negated: bool,
    steps: Vec<RuleStep>,
    /// True if the steps may be in any order within one sentence.
    anywhere: bool,
}

/// All compiled rules.
#[derive(Debug)]
pub(crate) struct Rules {
    rules: Vec<OrderRule>,
    /// Classes of each word or phrase (`a_b`).
    exact: HashMap<&'static str, Vec<u16>>,
    stems: HashMap<&'static str, Vec<u16>>,
    /// Rules whose first word may be in a class, by class.
    by_class: HashMap<u16, Vec<u16>>,
    /// Known words of languages without spaces between words, by their first character.
    unspaced: HashMap<char, Vec<&'static str>>,
}

/// The built-in rules.
pub(crate) static RULES: LazyLock<Rules> = LazyLock::new(|| {
    // The test `the_rules_are_sound` verifies this.
    Rules::parse(include_str!("rules.txt")).expect("the built-in rules are valid")
});

/// A class, and the number of words of the phrase that is in it.
type RuleMark = (u16, usize);

impl Rules {
    /// Parses rules. The error names the invalid line.
    pub(crate) fn parse(text: &'static str) -> Result<Self, String> {
        let mut rules = Self {
            rules: Vec::new(),
            exact: HashMap::new(),
            stems: HashMap::new(),
            by_class: HashMap::new(),
            unspaced: HashMap::new(),
        };
        let mut classes: BTreeMap<&'static str, u16> = BTreeMap::new();
        let mut of = TextOrigin::Own;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line == FROM_REPOSITORY {
                of = TextOrigin::Repository;
                continue;
            }
            let wrong = |what: &str| format!("line {}: {what}", number + 1);
            if let Some((name, entries)) = line.split_once(" = ") {
                let class = rules.class_of(name, &mut classes);
                entries.split_whitespace().for_each(|entry| rules.add(entry, class));
            } else {
                let (anywhere, parts) = match line.split_once(" & ") {
                    Some(parts) => (true, Some(parts)),
                    None => (false, line.split_once(" | ")),
                };
                let (head, pattern) = parts.ok_or_else(|| wrong("no rule"))?;
                let (weight, reason) = head.split_once(' ').ok_or_else(|| wrong("no reason"))?;
                let weight = weight.parse().map_err(|_| wrong("no weight"))?;
                let steps = pattern
                    .split_whitespace()
                    .map(|step| rules.step(step, &mut classes).ok_or_else(|| wrong(step)))
                    .collect::<Result<Vec<RuleStep>, String>>()?;
                let (negated, reason) = match reason.strip_prefix('!') {
                    Some(reason) => (true, reason),
                    None => (false, reason),
                };
                rules.begin(&steps).ok_or_else(|| wrong("begins with no word"))?;
                rules.rules.push(OrderRule { of, weight, reason, negated, steps, anywhere });
            }
        }
        for list in rules.unspaced.values_mut() {
            list.sort_by_key(|word| std::cmp::Reverse(word.len()));
        }
        Ok(rules)
    }

    fn class_of(&self, name: &'static str, classes: &mut BTreeMap<&'static str, u16>) -> u16 {
        let next = classes.len() as u16;
        *classes.entry(name).or_insert(next)
    }

    fn add(&mut self, entry: &'static str, class: u16) {
        if let Some(c) = entry.chars().next()
            && (memory_store_base::text::is_unspaced(c) || entry.len() >= 2 && entry.is_ascii())
        {
            let word = entry.trim_end_matches('*');
            let list = self.unspaced.entry(c).or_default();
            if !list.contains(&word) {
                list.push(word);
            }
        }
        let map =
            if entry.len() > 1 && entry.ends_with('*') { &mut self.stems } else { &mut self.exact };
        let word = if entry.len() > 1 { entry.trim_end_matches('*') } else { entry };
        let list = map.entry(word).or_default();
        if !list.contains(&class) {
            list.push(class);
        }
    }

    fn step(
        &mut self,
        text: &'static str,
        classes: &mut BTreeMap<&'static str, u16>,
    ) -> Option<RuleStep> {
        if text == "^" {
            return Some(RuleStep::Begin);
        }
        if text == "$" {
            return Some(RuleStep::End);
        }
        if let Some(words) = text.strip_prefix("..") {
            return Some(RuleStep::Gap { words: words.parse().ok()?, crosses: false });
        }
        if let Some(words) = text.strip_prefix('~')
            && let Ok(words) = words.parse()
        {
            return Some(RuleStep::Gap { words, crosses: true });
        }
        if let Some(text) = text.strip_prefix('!') {
            let class = self.class_of(text, classes);
            self.add(text, class);
            return Some(RuleStep::Not { classes: vec![class] });
        }
        let (text, optional) = match text.strip_suffix('?') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let text = text.trim_start_matches('(').trim_end_matches(')');
        let mut found = Vec::new();
        for part in text.split('|') {
            let class = if part.starts_with('@') && part != "@claude" {
                *classes.get(part)?
            } else {
                let class = self.class_of(part, classes);
                self.add(part, class);
                class
            };
            found.push(class);
        }
        Some(RuleStep::Any { classes: found, optional })
    }

    /// Records with which classes a new rule may begin; `None` if the rule does not begin with a word.
    fn begin(&mut self, steps: &[RuleStep]) -> Option<()> {
        let number = self.rules.len() as u16;
        for step in steps {
            match step {
                RuleStep::Begin => {}
                RuleStep::Any { classes, optional } => {
                    for &class in classes {
                        self.by_class.entry(class).or_default().push(number);
                    }
                    if !optional {
                        return Some(());
                    }
                }
                RuleStep::Gap { .. } | RuleStep::End | RuleStep::Not { .. } => return None,
            }
        }
        None
    }

    /// Returns the number of bytes of the longest known word at the start of a text without spaces; `None` if there is
    /// none.
    pub(crate) fn known(&self, text: &str) -> Option<usize> {
        let list = self.unspaced.get(&text.chars().next()?)?;
        list.iter().find(|word| text.starts_with(**word)).map(|word| word.len())
    }

    /// Returns the rules that match these words of a text with origin `of`.
    pub(crate) fn held(&self, words: &[Word], of: TextOrigin) -> Vec<Held> {
        let marks: Vec<Vec<RuleMark>> = (0..words.len()).map(|at| self.marks(words, at)).collect();
        let mut held = Vec::new();
        for first in 0..words.len() {
            for &(class, _) in &marks[first] {
                for &number in self.by_class.get(&class).into_iter().flatten() {
                    let rule = &self.rules[usize::from(number)];
                    if rule.of > of {
                        continue;
                    }
                    let end = match rule.anywhere {
                        true => together(&rule.steps, words, &marks, first),
                        false => matches(&rule.steps, words, &marks, first, first),
                    };
                    if let Some(end) = end
                        && !(rule.reason == "consent" && is_first_person(words, first))
                        && !(rule.negated && is_negated(words, first))
                    {
                        held.push(Held { weight: rule.weight, reason: rule.reason, first, end });
                    }
                }
            }
        }
        held.dedup();
        held
    }

    fn marks(&self, words: &[Word], at: usize) -> Vec<RuleMark> {
        let mut marks = Vec::new();
        let mut phrase = String::new();
        for length in 1..=PHRASE_WORDS_MAX.min(words.len() - at) {
            let word = &words[at + length - 1];
            if word.sentence != words[at].sentence {
                break;
            }
            if length > 1 {
                phrase.push('_');
            }
            phrase.push_str(&word.text);
            let classes = self.exact.get(phrase.as_str()).into_iter().flatten();
            marks.extend(classes.map(|&class| (class, length)));
            for end in STEM_BYTES_MIN..=phrase.len().min(STEM_BYTES_MAX) {
                if phrase.is_char_boundary(end)
                    && let Some(classes) = self.stems.get(&phrase[..end])
                {
                    marks.extend(classes.iter().map(|&class| (class, length)));
                }
            }
        }
        marks
    }
}

/// Returns the end of the match of a pattern that starts at word `at`; `None` if it does not match.
fn matches(
    steps: &[RuleStep],
    words: &[Word],
    marks: &[Vec<RuleMark>],
    at: usize,
    first: usize,
) -> Option<usize> {
    let Some((step, rest)) = steps.split_first() else { return Some(at) };
    let go = |at: usize| matches(rest, words, marks, at, first);
    let same = |at: usize| {
        at == 0 || words.get(at).is_none_or(|word| word.sentence == words[at - 1].sentence)
    };
    match step {
        RuleStep::Begin => (at >= words.len() || words[at].begins).then(|| go(at)).flatten(),
        RuleStep::Not { classes } => {
            let here = marks.get(at).into_iter().flatten();
            let is = here.into_iter().any(|(class, _)| classes.contains(class));
            (!is).then(|| go(at)).flatten()
        }
        RuleStep::End => (at == words.len()).then(|| go(at)).flatten(),
        RuleStep::Any { classes, optional } => {
            let here = marks.get(at).into_iter().flatten();
            let adjacent = at == first || same(at);
            let found = here
                .filter(|(class, _)| adjacent && classes.contains(class))
                .find_map(|&(_, length)| go(at + length));
            found.or_else(|| optional.then(|| go(at)).flatten())
        }
        RuleStep::Gap { words: gap, crosses } => {
            for skip in 0..=*gap {
                if at + skip > words.len() {
                    break;
                }
                if !crosses && at > first && (at..=at + skip).any(|at| !same(at)) {
                    // A gap at the end of a rule extends to the end of the sentence.
                    return rest.is_empty().then_some(at);
                }
                // If a gap crosses sentences, the next word may start a new sentence.
                let from = if *crosses { at + skip } else { first };
                if let Some(end) = matches(rest, words, marks, at + skip, from) {
                    return Some(end);
                }
            }
            None
        }
    }
}

/// Returns the index after the words that match all steps in any order, near the word `first` and in its sentence;
/// `None` if a step does not match.
fn together(
    steps: &[RuleStep],
    words: &[Word],
    marks: &[Vec<RuleMark>],
    first: usize,
) -> Option<usize> {
    const AROUND: usize = 14;
    let sentence = words[first].sentence;
    let near = first.saturating_sub(AROUND)..(first + AROUND).min(words.len());
    let near: Vec<usize> = near.filter(|at| words[*at].sentence == sentence).collect();
    let all = steps.iter().all(|step| match step {
        RuleStep::Any { classes, .. } => {
            near.iter().any(|at| marks[*at].iter().any(|(class, _)| classes.contains(class)))
        }
        RuleStep::Gap { .. } | RuleStep::Begin | RuleStep::End | RuleStep::Not { .. } => true,
    });
    all.then(|| near.last().map_or(first, |last| last + 1))
}

/// Returns whether a sentence is in the first person, such as "without asking me", which is a wish of the user.
fn is_first_person(words: &[Word], at: usize) -> bool {
    const PERSONS: [&str; 16] = [
        "me", "my", "i", "us", "mir", "mich", "mein", "moi", "mon", "mi", "mim", "meu", "io",
        "меня", "мне", "я",
    ];
    let sentence = words[at].sentence;
    let near = &words[at.saturating_sub(12)..(at + 12).min(words.len())];
    near.iter().any(|word| word.sentence == sentence && PERSONS.contains(&word.text.as_str()))
}

/// Returns whether a match is negated, or is reported as an attempt, a test or something to be prevented.
fn is_negated(words: &[Word], first: usize) -> bool {
    const NEGATIONS: [&str; 20] = [
        "not",
        "never",
        "don't",
        "no",
        "cannot",
        "can't",
        "won't",
        "doesn't",
        "without",
        "mustn't",
        "shouldn't",
        "didn't",
        "nicht",
        "nor",
        "не",
        "нe",
        "nao",
        "non",
        "ne",
        "n'",
    ];
    const TOLD: [&str; 34] = [
        "refuse",
        "refuses",
        "reject",
        "rejects",
        "tried",
        "tries",
        "trying",
        "try",
        "asked",
        "asking",
        "test",
        "tests",
        "asserts",
        "checks",
        "blocks",
        "block",
        "detects",
        "prevents",
        "prevent",
        "against",
        "attempts",
        "attempted",
        "phrases",
        "phrase",
        "like",
        "contains",
        "feeds",
        "injection",
        "strings",
        "attackers",
        "cannot",
        "rejected",
        "if",
        "told",
    ];
    let before = |span: usize| {
        words[first.saturating_sub(span)..first]
            .iter()
            .rev()
            .take_while(|word| word.sentence == words[first].sentence)
    };
    let near = before(2).take_while({
        let mut open = true;
        move |word| {
            std::mem::replace(&mut open, !word.begins || NEGATIONS.contains(&word.text.as_str()))
        }
    });
    near.into_iter().any(|word| NEGATIONS.contains(&word.text.as_str()))
        || before(7).any(|word| TOLD.contains(&word.text.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suspicion::words;

    #[test]
    fn the_rules_are_sound() {
        const REASONS: [&str; 20] = [
            "override", "role", "freedom", "hide", "lie", "omit", "consent", "address", "obey",
            "task", "exfil", "collect", "run", "download", "host", "when", "settings", "border",
            "claim", "split",
        ];
        for rule in &RULES.rules {
            assert!(REASONS.contains(&rule.reason) && matches!(rule.weight, 1 | 2), "{rule:?}");
        }
        assert!(Rules::parse("1 run | ..3 a").is_err());
        assert!(Rules::parse("1 run | @nobody").is_err());
        assert!(Rules::parse("one").is_err());
    }

    #[test]
    fn a_pattern_matches_words_by_their_positions() {
        fn held(rule: &'static str, text: &str) -> bool {
            let rules = Rules::parse(rule).unwrap();
            let words = words::words(&words::plain(text), &|text| rules.known(text));
            !rules.held(&words, TextOrigin::Own).is_empty()
        }
        let rule = "@drop = drop let_go\n2 !run | @drop ..2 rule*|law";
        assert!(held(rule, "Please drop all the rules."));
        assert!(held(rule, "let go, the law!"));
        assert!(!held(rule, "drop one or two or three rules"), "the gap is too long");
        assert!(!held(rule, "Drop it. Rules stay."), "another sentence");
        assert!(!held(rule, "never drop the rules"), "a negation");
        assert!(held("1 run | drop ~3 rules", "Drop it. Rules stay."));
        assert!(held("1 run & rules drop", "these rules we drop"));
        assert!(!held("1 run | ^ drop", "we drop"));
        assert!(held("1 run | ^ drop", "We go; drop it"));
        assert!(held("1 run | drop it $", "now drop it"));
        assert!(!held("1 run | drop !not it", "drop not it"));
        assert!(held("1 run | 规则 忽略", "规则忽略"));
        assert!(!held("[from the repository]\n1 run | drop it", "drop it"));
        assert!(held("1 run | drop it\n[from the repository]\n1 run | keep it", "drop it"));
    }
}
