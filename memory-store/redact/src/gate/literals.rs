//! Literals of patterns. Each match of a pattern contains one of the pattern's literals, so a text that contains none
//! need not be compared with the pattern.

use std::collections::BTreeMap;

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::word_search::WordSearch;

/// Maximum number of texts that a part of a pattern may match exactly. If combining parts would exceed it, shorter
/// literals are used.
const EXACT_MAX: usize = 64;

/// Maximum number of literals for a pattern.
const LITERALS_MAX: usize = 512;

/// Letters that equal an ASCII letter if case is ignored. A text that contains one is compared with every pattern.
const FOLDED: [char; 2] = ['ſ', '\u{212A}'];

/// A character of a literal, or a word boundary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LiteralUnit {
    Char(char),
    /// An ASCII letter in any case.
    Letter(char),
    Boundary,
}

type Literal = Vec<LiteralUnit>;

/// Literals of a part of a pattern.
struct Literals {
    /// All texts that the part matches, if they are few.
    exact: Option<Vec<Literal>>,
    /// Literals, at least one of which each match contains.
    required: Option<Vec<Literal>>,
}

impl Literals {
    const NONE: Self = Self { exact: None, required: None };

    fn exact(texts: Vec<Literal>) -> Self {
        Self { required: Some(texts.clone()), exact: Some(texts) }
    }

    fn of(pattern: &Hir) -> Self {
        match pattern.kind() {
            HirKind::Empty => Self::exact(vec![Vec::new()]),
            HirKind::Look(look) => Self::exact(vec![match look {
                Look::WordUnicode => vec![LiteralUnit::Boundary],
                _ => Vec::new(),
            }]),
            HirKind::Literal(literal) => match str::from_utf8(&literal.0) {
                Ok(text) => Self::exact(vec![text.chars().map(LiteralUnit::Char).collect()]),
                Err(_) => Self::NONE,
            },
            HirKind::Class(class) => of_class(class),
            HirKind::Capture(group) => Self::of(&group.sub),
            HirKind::Repetition(repetition) => {
                let one = Self::of(&repetition.sub);
                match (repetition.min, repetition.max, one.exact) {
                    (0, Some(1), Some(mut texts)) => {
                        texts.push(Vec::new());
                        Self::exact(texts)
                    }
                    (0, ..) => Self::NONE,
                    (1, Some(1), Some(texts)) => Self::exact(texts),
                    _ => Self { exact: None, required: one.required },
                }
            }
            HirKind::Alternation(parts) => {
                let parts: Vec<Self> = parts.iter().map(Self::of).collect();
                let exact: Option<Vec<_>> = parts.iter().map(|part| part.exact.clone()).collect();
                let exact = exact.map(|texts| texts.concat()).filter(|it| it.len() <= EXACT_MAX);
                let required: Option<Vec<_>> =
                    parts.into_iter().map(|part| part.required).collect();
                let required = required.map(|literals| literals.concat());
                Self { exact, required: required.filter(|it| it.len() <= LITERALS_MAX) }
            }
            HirKind::Concat(parts) => of_sequence(parts),
        }
    }
}

/// Returns the literals for a character class.
fn of_class(class: &Class) -> Literals {
    let Class::Unicode(class) = class else { return Literals::NONE };
    let ranges = class.ranges();
    if ranges.iter().map(|range| range.len()).sum::<usize>() > EXACT_MAX {
        return Literals::NONE;
    }
    let has = |c: char| ranges.iter().any(|range| (range.start()..=range.end()).contains(&c));
    let chars = ranges.iter().flat_map(|range| range.start()..=range.end());
    let mut units: Vec<LiteralUnit> = chars
        .filter_map(|c| match c {
            'ſ' if has('s') => None,
            '\u{212A}' if has('k') => None,
            c if has(c.to_ascii_lowercase()) && has(c.to_ascii_uppercase()) => {
                let is_letter = c.is_ascii_alphabetic();
                Some(if is_letter {
                    LiteralUnit::Letter(c.to_ascii_lowercase())
                } else {
                    LiteralUnit::Char(c)
                })
            }
            c => Some(LiteralUnit::Char(c)),
        })
        .collect();
    units.sort_unstable();
    units.dedup();
    Literals::exact(units.into_iter().map(|unit| vec![unit]).collect())
}

/// Returns the literals for consecutive parts.
fn of_sequence(parts: &[Hir]) -> Literals {
    let mut run: Vec<Literal> = vec![Vec::new()];
    let mut best: Option<Vec<Literal>> = None;
    let mut is_exact = true;
    for part in parts {
        let Literals { exact, required } = Literals::of(part);
        match exact {
            Some(texts) if run.len() * texts.len() <= EXACT_MAX => {
                let joined = |start: &Literal| {
                    let start = start.clone();
                    texts.iter().map(move |text| [start.as_slice(), text].concat())
                };
                run = run.iter().flat_map(joined).collect();
            }
            exact => {
                is_exact = false;
                best = better(best, Some(run));
                best = better(best, required);
                run = exact.unwrap_or_else(|| vec![Vec::new()]);
            }
        }
    }
    let exact = is_exact.then(|| run.clone());
    Literals { exact, required: better(best, Some(run)) }
}

/// Returns the better literals, which occur in fewer texts.
fn better(one: Option<Vec<Literal>>, other: Option<Vec<Literal>>) -> Option<Vec<Literal>> {
    // `max_by_key` returns the last of equal elements.
    other.into_iter().chain(one).max_by_key(|it| (weight(it), std::cmp::Reverse(it.len())))
}

/// Returns the estimated rarity, by length, of the most frequent of these literals.
fn weight(literals: &[Literal]) -> usize {
    let weight = |literal: &Literal| {
        let unit = |unit: &LiteralUnit| match unit {
            LiteralUnit::Char(c) if !c.is_ascii() => 3,
            LiteralUnit::Char(' ') | LiteralUnit::Boundary => 1,
            LiteralUnit::Char(_) | LiteralUnit::Letter(_) => 2,
        };
        let has_char = literal.iter().any(|unit| *unit != LiteralUnit::Boundary);
        if has_char { literal.iter().map(unit).sum() } else { 0 }
    };
    literals.iter().map(weight).min().unwrap_or_default()
}

/// The pattern that contains a literal, and the conditions for an occurrence of the literal.
#[derive(Clone)]
struct Use {
    pattern: usize,
    units: Literal,
    begins_word: bool,
    ends_word: bool,
}

/// Finds the patterns that may match a text.
pub(super) struct PatternFilter {
    search: WordSearch,
    /// Uses of each literal.
    uses: Vec<Vec<Use>>,
    /// Patterns without literals, one bit each.
    always: u64,
    /// All patterns, one bit each.
    all: u64,
}

impl PatternFilter {
    /// Returns the filter for these patterns, of which there must be at most 64.
    pub(super) fn new<'p>(patterns: impl Iterator<Item = &'p str>) -> Self {
        const WEIGHT_MIN: usize = 3;
        let mut literals: BTreeMap<String, Vec<Use>> = BTreeMap::new();
        let (mut always, mut all) = (0, 0);
        for (pattern, text) in patterns.enumerate() {
            all |= 1 << pattern;
            let hir = regex_syntax::parse(text);
            let required = hir.ok().and_then(|hir| Literals::of(&hir).required);
            let Some(required) = required.filter(|it| weight(it) >= WEIGHT_MIN) else {
                always |= 1 << pattern;
                continue;
            };
            for literal in required {
                let (text, used) = used(pattern, &literal);
                literals.entry(text).or_default().push(used);
            }
        }
        let search = WordSearch::new(literals.keys().cloned());
        Self { search, uses: literals.into_values().collect(), always, all }
    }

    /// Returns the patterns that may match a text, one bit each.
    pub(super) fn may_match(&self, text: &str) -> u64 {
        if !text.is_ascii() && text.contains(FOLDED) {
            return self.all;
        }
        let mut may = self.always;
        for hit in self.search.automaton_for(text).find_overlapping_iter(text) {
            for used in &self.uses[hit.pattern().as_usize()] {
                if may >> used.pattern & 1 == 0 && used.is_at(text, hit.start(), hit.end()) {
                    may |= 1 << used.pattern;
                }
            }
        }
        may
    }

    /// Returns the number of patterns that are compared with every text.
    #[cfg(test)]
    pub(super) fn unfiltered(&self) -> u32 {
        self.always.count_ones()
    }
}

/// Returns the text of a literal, and the literal's use.
fn used(pattern: usize, literal: &[LiteralUnit]) -> (String, Use) {
    let units: Literal =
        literal.iter().copied().filter(|it| *it != LiteralUnit::Boundary).collect();
    let text: String = units.iter().map(|unit| unit.char().to_ascii_lowercase()).collect();
    let is_word = |unit: Option<&LiteralUnit>| unit.is_some_and(|unit| is_of_word(unit.char()));
    let begins_word = literal.first() == Some(&LiteralUnit::Boundary) && is_word(units.first());
    let ends_word = literal.last() == Some(&LiteralUnit::Boundary) && is_word(units.last());
    (text, Use { pattern, units, begins_word, ends_word })
}

impl LiteralUnit {
    fn char(self) -> char {
        match self {
            Self::Char(c) | Self::Letter(c) => c,
            Self::Boundary => ' ',
        }
    }
}

impl Use {
    /// Returns whether an occurrence matches the literal's case and word boundaries.
    fn is_at(&self, text: &str, start: usize, end: usize) -> bool {
        let is_cased = |(unit, c): (&LiteralUnit, char)| match unit {
            LiteralUnit::Char(known) => *known == c,
            LiteralUnit::Letter(_) | LiteralUnit::Boundary => true,
        };
        (!self.begins_word || !text[..start].ends_with(is_of_word))
            && (!self.ends_word || !text[end..].starts_with(is_of_word))
            && self.units.iter().zip(text[start..end].chars()).all(is_cased)
    }
}

/// Returns whether a character is certainly a word character in regular expressions.
fn is_of_word(c: char) -> bool {
    c.is_alphabetic() || c.is_ascii_digit() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::PatternFilter;

    fn may(pattern: &str, text: &str) -> bool {
        PatternFilter::new([pattern].into_iter()).may_match(text) == 1
    }

    #[test]
    fn a_pattern_may_match_only_where_a_literal_of_it_occurs() {
        let pattern = r"(?i)\b(?:vault|pass(?:word)?|seed)\b[^\n]{0,9}\s([a-z]+)";
        for text in ["the Vault takes x", "PASSWORD x", "pass x", "paſs x", "seed"] {
            assert!(may(pattern, text), "{text}");
        }
        for text in ["vaults take x", "the compass x", "nothing", "seeds"] {
            assert!(!may(pattern, text), "{text}");
        }
        let pattern = r"\b[A-Z]+_(?:KEY|TOKEN)=(\S+)";
        assert!(may(pattern, "A_KEY=x") && may(pattern, "B_TOKEN=x"));
        assert!(!may(pattern, "a_key=x"));
        assert!(may(r"[a-z]+[0-9]+", ""), "a pattern without literals is always compared");
        assert!(may(r"(?i)ключ\s(\S+)", "Ключ x") && !may(r"(?i)ключ\s(\S+)", "замок x"));
    }
}
