//! Neighbours: memories near a statement, and the statement's relation to each of them.
//!
//! Everything that adds to a store uses this module: `throughline add`, the MCP tool `remember`, consolidation and
//! `review`. The rules compare words and are cautious: statements whose relation is unknown are merely near, and no
//! memory is omitted because of a contradiction.

mod clause;
mod find;
mod role;
mod statement;
mod undecided;
mod words;

use serde::Serialize;

use self::clause::{Clause, ClauseDifference};
use self::statement::Clauses;
use crate::kind::Kind;

pub use crate::memory::CONTRADICTS;
pub use find::{NEIGHBOURS_MAX, Neighbour, contradictions, find};
pub use statement::{Place, Statement};
pub use undecided::{Undecided, undecided};
pub use words::{SHARE_WORDS_MIN, Words};

/// Minimum share of common words for two statements to be neighbours. Pairs of unrelated notes seldom reach this share.
pub const WORDS_MIN: f32 = 0.3;
/// Minimum share of common words in two titles. Later decisions often have other details in the text, so titles are
/// compared as well.
pub const TITLES_MIN: f32 = 0.4;
/// Minimum cosine of two vectors for two statements to be neighbours.
pub const COSINE_MIN: f32 = 0.5;

/// Minimum share of common words in two titles for two statements to have the same subject.
const SUBJECT_SHARE: f32 = 0.6;
/// Minimum number of common words in two titles for two statements to have the same subject.
const SUBJECT_WORDS_MIN: usize = 3;
/// Minimum number of words in the name of a removed thing, if both statements are about the same file.
const THING_WORDS_MIN: usize = 2;

/// Relation of a statement to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Both statements have the same content.
    Duplicate,
    /// The older statement contains all of the newer statement, and more.
    Within,
    /// The newer statement contains all of the older statement, and more.
    Covers,
    /// The words of the newer statement indicate that it replaces the older one.
    Update,
    /// The newer statement gives another value for the same thing: a day, a number, a version, a name.
    NewerValue,
    /// The newer statement negates the older one.
    Contradiction,
    /// The statements have similar subjects.
    Near,
}

impl Verdict {
    /// Returns the name of the relation for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Within => "within",
            Self::Covers => "covers",
            Self::Update => "update",
            Self::NewerValue => "newer-value",
            Self::Contradiction => "contradiction",
            Self::Near => "near",
        }
    }

    /// Returns the relation of a new memory to an older one, as words that precede the older one's title.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Duplicate => "says the same as",
            Self::Within => "is contained in",
            Self::Covers => "says all of, and more than",
            Self::Update => "seems to replace",
            Self::NewerValue => "differs in a value from",
            Self::Contradiction => "may contradict",
            Self::Near => "is near",
        }
    }

    /// Returns whether probably only one of the two statements is true.
    pub const fn differs(self) -> bool {
        matches!(self, Self::Update | Self::NewerValue | Self::Contradiction)
    }

    /// Returns whether one of the two statements contains all of the other.
    pub const fn repeats(self) -> bool {
        matches!(self, Self::Duplicate | Self::Within | Self::Covers)
    }
}

/// Returns the relation of a statement to an older one; `None` if they are not neighbours.
pub fn judge(newer: &Statement, older: &Statement) -> Option<Verdict> {
    judge_by(newer, older, || newer.likeness(older, None))
}

fn judge_by(
    newer: &Statement,
    older: &Statement,
    likeness: impl FnOnce() -> f32,
) -> Option<Verdict> {
    let difference = difference(newer, older);
    if let Some(difference @ (ClauseDifference::OtherValue | ClauseDifference::Opposite)) =
        difference
    {
        let replaces = newer.has_replacement_words_in_title() || names_gone(newer, older, 1);
        return Some(match difference {
            _ if replaces || is_update(newer, older) => Verdict::Update,
            ClauseDifference::OtherValue => Verdict::NewerValue,
            _ => Verdict::Contradiction,
        });
    }
    if is_update(newer, older) {
        return Some(Verdict::Update);
    }
    match difference {
        Some(ClauseDifference::Same) => Some(Verdict::Duplicate),
        Some(ClauseDifference::Within) => Some(Verdict::Within),
        Some(ClauseDifference::Covers) => Some(Verdict::Covers),
        _ => (likeness() >= 1.0).then_some(Verdict::Near),
    }
}

/// Compares the clauses of two statements: those of their titles, and those of their texts if the titles state the
/// same.
fn difference(newer: &Statement, older: &Statement) -> Option<ClauseDifference> {
    if !are_alike(newer.kind, older.kind) {
        return None;
    }
    let (new, old) = (newer.clauses(), older.clauses());
    let can_differ =
        states(newer.kind) && states(older.kind) && newer.place(older) != Place::Elsewhere;
    let other = |new: &[Clause], old: &[Clause]| {
        let is_same = |clause: &Clause, of: &[Clause]| {
            of.iter().any(|other| clause.compare(other) == Some(ClauseDifference::Same))
        };
        let left = |of: &[Clause], others: &[Clause]| -> Vec<Clause> {
            of.iter().filter(|clause| !is_same(clause, others)).cloned().collect()
        };
        let (new, old) = (left(new, old), left(old, new));
        let found = new.iter().flat_map(|clause| old.iter().map(|old| clause.compare(old)));
        let mut found = found.flatten();
        let other = found
            .find(|it| matches!(it, ClauseDifference::OtherValue | ClauseDifference::Opposite));
        (other, new.is_empty() && old.is_empty())
    };
    if can_differ {
        let (difference, is_same) = other(&new.title, &old.title);
        let of_texts = || other(&new.body, &old.body).0;
        if let Some(difference) = difference.or_else(|| is_same.then(of_texts).flatten()) {
            return Some(difference);
        }
    }
    let is_contained = |one: &Clause, by: &Clauses| {
        by.all().any(|other| {
            matches!(one.compare(other), Some(ClauseDifference::Same | ClauseDifference::Within))
        })
    };
    let is_within = |one: &Clauses, other: &Clauses| {
        one.all().next().is_some() && one.all().all(|clause| is_contained(clause, other))
    };
    match (is_within(new, old), is_within(old, new)) {
        (true, true) => Some(ClauseDifference::Same),
        (true, false) => Some(ClauseDifference::Within),
        (false, true) => Some(ClauseDifference::Covers),
        (false, false) => None,
    }
}

/// Returns whether a memory of one kind may repeat a memory of the other kind.
fn are_alike(a: Kind, b: Kind) -> bool {
    a == b && !matches!(a, Kind::Command) || states(a) && states(b)
}

/// Returns whether memories of this kind state how something should be, which may change, unlike past events.
pub(crate) fn states(kind: Kind) -> bool {
    matches!(kind, Kind::Decision | Kind::Convention | Kind::Preference | Kind::Fact)
}

/// Returns whether a statement indicates that it replaces an older statement about the same subject.
fn is_update(newer: &Statement, older: &Statement) -> bool {
    let place = newer.place(older);
    let describes = |kind: Kind| !matches!(kind, Kind::Command | Kind::Task);
    let names = match place {
        Place::File => names_gone(newer, older, THING_WORDS_MIN),
        Place::Unknown => names_gone(newer, older, 1) && shares_the_rest(newer, older),
        Place::Folder | Place::Elsewhere => false,
    };
    let chooses_anew = || {
        states(older.kind)
            && states(newer.kind)
            && matches!(place, Place::File | Place::Folder)
            && is_same_subject(newer, older)
            && newer.has_replacement_words()
    };
    names && describes(older.kind) && describes(newer.kind) || chooses_anew()
}

/// Returns whether the older statement is about a thing that, according to the newer one, was removed. At least
/// `words_min` words must match.
fn names_gone(newer: &Statement, older: &Statement, words_min: usize) -> bool {
    let is_of_it = |thing: &Words| thing.len() >= words_min && thing.is_within(&older.words);
    newer.gone().iter().any(is_of_it)
}

/// Returns whether the older title, without the removed thing, has the subject of the newer title.
fn shares_the_rest(newer: &Statement, older: &Statement) -> bool {
    newer.gone().iter().any(|thing| {
        let rest = older.title_words.without(thing);
        rest.len() < older.title_words.len()
            && !rest.is_empty()
            && rest.shared(&newer.title_words) * 2 >= rest.len()
    })
}

/// Returns whether two titles have the same subject.
fn is_same_subject(a: &Statement, b: &Statement) -> bool {
    a.title_words.shared(&b.title_words) >= SUBJECT_WORDS_MIN
        && a.title_words.overlap(&b.title_words) >= SUBJECT_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement_titled(kind: Kind, title: &str, paths: &[&str]) -> Statement {
        Statement::new(kind, title, "", paths.iter().map(|path| (*path).to_owned()).collect())
    }

    fn verdict(newer: &str, older: &str) -> Option<Verdict> {
        judge(
            &statement_titled(Kind::Decision, newer, &[]),
            &statement_titled(Kind::Decision, older, &[]),
        )
    }

    #[test]
    fn each_relation_of_two_statements_has_its_verdict() {
        let helm = "we deploy with Helm";
        for (newer, expected) in [
            ("we deploy with Kustomize", Some(Verdict::NewerValue)),
            ("we now deploy with Kustomize", Some(Verdict::Update)),
            ("we deploy with Kustomize instead of Helm", Some(Verdict::Update)),
            ("we no longer deploy with Helm", Some(Verdict::Update)),
            ("Never deploy with Helm", Some(Verdict::Contradiction)),
            ("Deploy with Helm!", Some(Verdict::Duplicate)),
            ("Deploy", None),
            ("Dates are stored in UTC", None),
        ] {
            assert_eq!(verdict(newer, helm), expected, "{newer}");
        }
        let near = verdict(
            "The deployment of the billing service waits for its database",
            "The billing service needs a database before its first request",
        );
        assert_eq!(near, Some(Verdict::Near));
    }

    #[test]
    fn an_order_to_remove_something_replaces_nothing() {
        let older = "All `*.log` files lie below `var`";
        let order = "Remove all `*.log` files below `var` every Monday";
        assert_ne!(verdict(order, older), Some(Verdict::Update));
        let gone = "We removed all `*.log` files below `var`";
        assert_eq!(verdict(gone, older), Some(Verdict::Update));
    }

    #[test]
    fn a_different_flag_or_number_is_no_duplicate() {
        let text = "Run the nightly importer with a busy timeout of 500 milliseconds";
        assert_eq!(verdict(text, &format!("{text} please")), Some(Verdict::Duplicate));
        // A longer statement covers a shorter one, not vice versa.
        let more = format!("{text} so that a slow writer never stops the whole weekend run");
        assert_eq!(verdict(&more, text), Some(Verdict::Covers));
        assert_eq!(verdict(text, &more), Some(Verdict::Within));
        let other = text.replace("500", "900");
        assert_eq!(verdict(&other, text), Some(Verdict::NewerValue));
        let fix = |title: &str| statement_titled(Kind::Fix, title, &[]);
        assert_eq!(judge(&fix(&other), &fix(text)), Some(Verdict::Near));
    }

    #[test]
    fn what_is_about_other_files_is_not_replaced() {
        let older =
            statement_titled(Kind::Decision, "The cart keeps totals as cents", &["shop/cart.rs"]);
        let title = "The cart now keeps totals as decimals";
        for (path, expected) in [
            ("shop/cart.rs", Verdict::Update),
            ("shop/total.rs", Verdict::Update),
            ("web/cart.ts", Verdict::Near),
        ] {
            let newer = statement_titled(Kind::Decision, title, &[path]);
            assert_eq!(judge(&newer, &older), Some(expected), "{path}");
        }
    }

    #[test]
    fn vectors_make_neighbours_of_what_shares_no_word() {
        let (one, other) = (
            statement_titled(Kind::Fact, "Alpha beta", &[]),
            statement_titled(Kind::Fact, "Gamma", &[]),
        );
        assert_eq!(judge(&one, &other), None);
        let likeness = || one.likeness(&other, Some(1.0));
        assert_eq!(judge_by(&one, &other, likeness), Some(Verdict::Near));
    }
}
