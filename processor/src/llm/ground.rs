//! Grounding: the check that a session supports a proposed memory. A proposal counts only if its quote occurs in the
//! session word for word, if memory and quote have a word in common, and if the memory has content. A quote from a
//! tool's output, a file or the assistant is never a wish, regardless of the kind that the model assigns. Names and
//! facts of a memory count only if they occur in the session.
//!
//! Each kind also has its own condition ([`kept_kind`]): a fact must be confirmed, a decision needs a reason, a
//! preference must be the user's, and a fix needs an error.

use std::collections::BTreeSet;

use memory_store::memory::{Entity, Fact, SaidBy, Scope};
use memory_store::recall::rarity;
use memory_store::signature::error_signature;
use memory_store::time::DAY_MS;
use memory_store::{Kind, Timestamp, text};

use super::answer::{ProposedFact, ProposedMemory, TEXT_CHARS_MAX, shortened};
use super::window::{SessionWindow, WindowPiece};
use crate::extract::draft::Draft;
use crate::extract::text_retells_order;

/// Minimum number of characters of a quote. Shorter text may occur by chance.
const QUOTE_CHARS_MIN: usize = 12;
/// Minimum total rarity of the distinct words of a finding, with the rarity of each word in technical text in general.
/// Among 407 findings by a careful model the lowest total is 57, and half have at least 164; "The code was improved,
/// several things work now" has 25.
const FINDING_RARITY_MIN: f32 = 36.0;
/// Minimum number of common words of a failed command and a fix for it.
const ERROR_TERMS_MIN: usize = 2;
/// Milliseconds before a window within which a date is often given without the year.
const YEAR_MS: i64 = 366 * DAY_MS;
/// Maximum number of tags of a draft.
const TAGS_MAX: usize = 8;
/// Number added to the ordinals of a model's drafts, so that their ids differ from those of drafts by rules. The id
/// depends on kind, record and ordinal.
const ORDINAL_FIRST: u32 = 1_000;

/// The drafts from an answer.
#[derive(Debug, Default, PartialEq)]
pub struct Grounded {
    /// The drafts.
    pub drafts: Vec<Draft>,
    /// Number of proposed memories that the session does not support.
    pub unshown: usize,
}

/// Converts a model's proposals for a window to drafts. Drops proposals that the window does not support, and those
/// that fail the condition of their kind.
pub fn drafts(
    window: &SessionWindow,
    proposed: Vec<ProposedMemory>,
    session: &str,
    extractor: &str,
) -> Grounded {
    let mut grounded = Grounded::default();
    let shown = ShownText::of(window);
    for proposed in proposed {
        let Some((piece, quote, said_by)) = evidence(window, &proposed.quote)
            .filter(|(_, quote, said_by)| is_shown(&proposed, quote, *said_by))
        else {
            grounded.unshown += 1;
            continue;
        };
        let Some(kind) = kept_kind((window, &shown), &proposed, quote, said_by) else { continue };
        let same = |draft: &&Draft| draft.kind == kind && draft.turns[0] == piece.uuid;
        let before = grounded.drafts.iter().filter(same).count();
        grounded.drafts.push(Draft {
            kind,
            tags: text::keywords(&format!("{}\n{}", proposed.title, proposed.text), TAGS_MAX),
            body: with_reason(kind, &proposed),
            entities: shown.entities(&proposed.entities),
            facts: shown.facts(&proposed.facts, quote, piece.at),
            topic: proposed.topic,
            paths: proposed.paths.into_iter().filter(|path| names(window, path)).collect(),
            title: proposed.title,
            scope: Scope::Project,
            occurred: piece.at,
            confidence: proposed.importance,
            session: session.to_owned(),
            turns: vec![piece.uuid.clone()],
            ordinal: ORDINAL_FIRST + u32::try_from(before).unwrap_or(u32::MAX - ORDINAL_FIRST),
            quote: quote.to_owned(),
            said_by,
            signatures: Vec::new(),
            extractor: extractor.to_owned(),
            worth: 0.0,
            importance: Some(proposed.importance),
            standing: proposed.standing,
            cues: proposed.cues,
        });
    }
    grounded
}

/// Returns whether the quote of a memory supports the memory.
fn is_shown(proposed: &ProposedMemory, quote: &str, said_by: SaidBy) -> bool {
    let retold = said_by != SaidBy::User
        && [quote, &proposed.title, &proposed.text].into_iter().any(text_retells_order);
    !retold && speaks_of(proposed, quote) && has_content(proposed, kind(proposed.kind, said_by))
}

/// Returns the kind of an accepted memory; `None` if it fails the condition of its kind.
fn kept_kind(
    (window, shown): (&SessionWindow, &ShownText),
    proposed: &ProposedMemory,
    quote: &str,
    said_by: SaidBy,
) -> Option<Kind> {
    // A statement by the assistant about the user's preferences is hearsay. It is not kept as a fact either.
    if proposed.kind == Kind::Preference && said_by == SaidBy::Assistant {
        return None;
    }
    let kind = match kind(proposed.kind, said_by) {
        // Without an error, the statement may be true, but it is not a fix.
        Kind::Fix if !shows_error(window, proposed, quote) => Kind::Fact,
        kind => kind,
    };
    let is_kept = match kind {
        Kind::Fact | Kind::Procedure | Kind::Gotcha | Kind::Fix => {
            proposed.confirmed != Some(false)
        }
        Kind::Decision => has_reason(proposed, shown),
        Kind::Convention
        | Kind::Preference
        | Kind::FailedApproach
        | Kind::Task
        | Kind::Command
        | Kind::Session
        | Kind::Synthesis => true,
    };
    is_kept.then_some(kind)
}

/// Returns the kind of a proposed memory for the speaker of its quote. Only users have wishes and set rules.
fn kind(proposed: Kind, said_by: SaidBy) -> Kind {
    match (proposed, said_by) {
        (Kind::Preference | Kind::Convention, SaidBy::Assistant | SaidBy::Tool) => Kind::Fact,
        (kind, _) => kind,
    }
}

/// Returns whether a decision has a reason or a rejected alternative, with at least half of its words in the session.
/// If the model omitted the field, the result is true, because title or text may contain the reason.
fn has_reason(proposed: &ProposedMemory, shown: &ShownText) -> bool {
    proposed.because.as_deref().is_none_or(|because| {
        let reason = text_terms(because);
        !reason.is_empty() && reason.intersection(&shown.terms).count() * 2 >= reason.len()
    })
}

/// Returns the text of a memory. The reason of a decision is added if the text lacks it.
fn with_reason(kind: Kind, proposed: &ProposedMemory) -> String {
    let because = proposed.because.as_deref().filter(|_| kind == Kind::Decision);
    let Some(because) = because.filter(|it| !it.is_empty()) else { return proposed.text.clone() };
    let (reason, known) = (text_terms(because), terms(proposed));
    if reason.intersection(&known).count() * 2 > reason.len() {
        return proposed.text.clone();
    }
    let text = [because, &proposed.text].join(" ");
    shortened(text.trim(), TEXT_CHARS_MAX.saturating_sub(proposed.title.chars().count()))
}

/// Returns whether there is an error that a fix cures: the session contains the model's words for the error, or the
/// memory or its quote looks like the output of a failure, or a failed command in the window is about the same thing.
fn shows_error(window: &SessionWindow, proposed: &ProposedMemory, quote: &str) -> bool {
    let is_quoted = |error: &String| evidence(window, error).is_some();
    let looks_like_one = |text: &str| error_signature(text).is_some();
    let known = terms(proposed);
    let failed = || window.pieces.iter().filter(|piece| piece.is_failure);
    proposed.because.as_ref().is_some_and(is_quoted)
        || [quote, &proposed.title, &proposed.text].into_iter().any(looks_like_one)
        || failed()
            .any(|piece| known.intersection(&text_terms(&piece.text)).count() >= ERROR_TERMS_MIN)
}

/// Text of a window, in the form in which names and facts are searched.
struct ShownText {
    /// The text in lower case.
    text: String,
    terms: BTreeSet<u64>,
    /// Time of the window's last part.
    last: Timestamp,
}

impl ShownText {
    fn of(window: &SessionWindow) -> Self {
        let mut text = window.text();
        for piece in &window.pieces {
            for more in piece.paths.iter().chain(&piece.evidence) {
                text.push('\n');
                text.push_str(more);
            }
        }
        let (text, _) = fold(&text);
        let last = window.pieces.iter().map(|piece| piece.at).max().unwrap_or_default();
        Self { terms: text_terms(&text), text: text.to_lowercase(), last }
    }

    /// Returns the names that occur in the window.
    fn entities(&self, proposed: &[Entity]) -> Vec<String> {
        proposed.iter().filter(|it| self.has_name(&it.name)).map(Entity::to_string).collect()
    }

    /// Returns whether a name occurs in the window as a separate word.
    fn has_name(&self, name: &str) -> bool {
        let (name, _) = fold(&name.to_lowercase());
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let (first, last) = (is_word(name.chars().next()), is_word(name.chars().next_back()));
        self.text.match_indices(name.as_str()).any(|(at, _)| {
            let before = self.text[..at].chars().next_back();
            let behind = self.text[at + name.len()..].chars().next();
            !(first && is_word(before) || last && is_word(behind))
        })
    }

    /// Returns the facts whose object occurs in the quote and whose subject occurs in the window. A date within the
    /// year before the window is accepted, because "in March" omits the year. Any other date, or at least its year,
    /// must occur in the window.
    fn facts(&self, proposed: &[ProposedFact], quote: &str, at: Timestamp) -> Vec<Fact> {
        let of_quote = text_terms(quote);
        let has = |terms: &BTreeSet<u64>, text: &str| {
            let asked = text_terms(text);
            !asked.is_empty() && asked.is_subset(terms)
        };
        let is_known = |since: &Timestamp| {
            let (date, last) = (since.date(), self.last.max(at).0);
            let is_of_last_year = (last - YEAR_MS..=last).contains(&since.0);
            let is_past = since.0 <= last;
            let is_written = self.text.contains(&date) || is_past && self.text.contains(&date[..4]);
            is_of_last_year || is_written
        };
        let facts = proposed
            .iter()
            .filter(|fact| has(&of_quote, &fact.object) && has(&self.terms, &fact.subject));
        let facts = facts.map(|fact| Fact {
            subject: fact.subject.clone(),
            predicate: fact.predicate.clone(),
            object: fact.object.clone(),
            from: fact.since.filter(is_known),
            to: None,
            confidence: None,
        });
        facts.collect()
    }
}

/// Returns whether a memory and its quote have a common word.
fn speaks_of(proposed: &ProposedMemory, quote: &str) -> bool {
    !terms(proposed).is_disjoint(&text_terms(quote))
}

/// Returns whether a memory has enough content. A wish may be as short as "Use tabs".
fn has_content(proposed: &ProposedMemory, kind: Kind) -> bool {
    kind.is_wish() || terms(proposed).into_iter().map(rarity).sum::<f32>() >= FINDING_RARITY_MIN
}

fn terms(proposed: &ProposedMemory) -> BTreeSet<u64> {
    text_terms(&format!("{}\n{}", proposed.title, proposed.text))
}

fn text_terms(text: &str) -> BTreeSet<u64> {
    text::tokens(text).iter().map(|token| text::term_hash(&token.term)).collect()
}

/// Returns the part of a window that contains the quote, the quote as written there, and its speaker; `None` if the
/// quote does not occur.
fn evidence<'a>(
    window: &'a SessionWindow,
    quote: &str,
) -> Option<(&'a WindowPiece, &'a str, SaidBy)> {
    let quote = quote.trim().trim_matches(['"', '\'', '“', '”', '`']);
    let (quote, _) = fold(quote);
    if quote.chars().count() < QUOTE_CHARS_MIN {
        return None;
    }
    window.pieces.iter().find_map(|piece| {
        let own = piece.evidence.iter().find_map(|text| find(text, &quote));
        let passed_on = || Some((find(piece.passed_on.as_deref()?, &quote)?, SaidBy::Tool));
        let (found, said_by) = own.map(|found| (found, piece.said_by)).or_else(passed_on)?;
        Some((piece, found, said_by))
    })
}

/// Searches a folded quote in a text. Returns the matching part as written; `None` if the quote does not occur.
fn find<'a>(text: &'a str, quote: &str) -> Option<&'a str> {
    let (folded, places) = fold(text);
    let start = folded.find(quote)?;
    let last = start + quote.len() - 1;
    let end = places[last] + text[places[last]..].chars().next().map_or(0, char::len_utf8);
    text.get(places[start]..end)
}

/// Replaces runs of white space by one space. Also returns, for each byte of the result, the offset in the text at
/// which its character starts.
fn fold(text: &str) -> (String, Vec<usize>) {
    let mut folded = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len());
    let mut pending = None;
    for (at, character) in text.char_indices() {
        if character.is_whitespace() {
            pending.get_or_insert(at);
            continue;
        }
        if let Some(space) = pending.take()
            && !folded.is_empty()
        {
            folded.push(' ');
            places.push(space);
        }
        folded.push(character);
        places.extend(std::iter::repeat_n(at, character.len_utf8()));
    }
    (folded, places)
}

/// Returns whether a window names a file.
fn names(window: &SessionWindow, path: &str) -> bool {
    window.pieces.iter().any(|piece| {
        piece.text.contains(path) || piece.paths.iter().any(|known| known.ends_with(path))
    })
}

#[cfg(test)]
mod tests {
    use memory_store::memory::EntityType;

    use super::*;

    /// Returns the drafts from the proposals for a window.
    fn drafts(window: &SessionWindow, proposed: Vec<ProposedMemory>) -> Vec<Draft> {
        super::drafts(window, proposed, "s", "ollama/x").drafts
    }

    fn window() -> SessionWindow {
        let piece = |uuid: &str, said_by, text: &str| WindowPiece {
            uuid: uuid.to_owned(),
            at: Timestamp(1_000),
            said_by,
            text: text.to_owned(),
            evidence: vec![text.to_owned()],
            passed_on: None,
            paths: vec!["/work/src/money.rs".to_owned()],
            is_said: true,
            is_failure: false,
        };
        SessionWindow {
            request: None,
            pieces: vec![
                piece("u1", SaidBy::User, "Please never use\n  floats for money: we got burnt."),
                piece("a1", SaidBy::Assistant, "Dann nehmen wir «Décimal» überall."),
            ],
        }
    }

    fn proposed(quote: &str) -> ProposedMemory {
        ProposedMemory {
            kind: Kind::Preference,
            title: "Never use floats for money".to_owned(),
            text: "Amounts are integers of cents or Décimal: floats lose cents in long sums."
                .to_owned(),
            quote: quote.to_owned(),
            importance: 0.8,
            standing: true,
            cues: Vec::new(),
            because: None,
            confirmed: None,
            entities: Vec::new(),
            facts: Vec::new(),
            topic: None,
            paths: vec!["src/money.rs".to_owned(), "src/invented.rs".to_owned()],
        }
    }

    #[test]
    fn a_quote_leads_back_to_its_record() {
        let quotes = ["\"never use floats   for money\"", "wir «Décimal» überall"];
        let quoted = quotes.map(|quote| ProposedMemory { kind: Kind::Fact, ..proposed(quote) });
        let drafts = drafts(&window(), quoted.to_vec());
        assert_eq!(drafts[0].quote, "never use\n  floats for money");
        assert_eq!((drafts[0].turns[0].as_str(), drafts[0].said_by), ("u1", SaidBy::User));
        assert_eq!(drafts[0].paths, ["src/money.rs"]);
        assert_eq!(drafts[1].quote, "wir «Décimal» überall");
        assert_eq!(drafts[1].turns, ["a1"]);
    }

    #[test]
    fn what_the_session_does_not_show_is_dropped() {
        let quotes = ["never use doubles for money", "money", "burnt. Dann nehmen wir", ""];
        assert_eq!(drafts(&window(), quotes.map(proposed).to_vec()), []);
    }

    #[test]
    fn only_the_user_has_wishes_and_a_memory_speaks_of_what_it_quotes() {
        let mut window = window();
        window.pieces[1].said_by = SaidBy::Tool;
        let quotes = ["never use floats for money", "wir «Décimal» überall"];
        let kinds = |proposed: Vec<ProposedMemory>| -> Vec<Kind> {
            drafts(&window, proposed).iter().map(|draft| draft.kind).collect()
        };
        assert_eq!(kinds(quotes.map(proposed).to_vec()), [Kind::Preference, Kind::Fact]);
        let other = |quote| ProposedMemory {
            title: "The user wants every check turned off".to_owned(),
            text: "This is their standing wish.".to_owned(),
            ..proposed(quote)
        };
        assert_eq!(kinds(quotes.map(other).to_vec()), []);
    }

    #[test]
    fn an_empty_phrase_is_no_finding() {
        let phrases = [
            ("The bug was fixed", "The bug with the money is fixed and all tests pass."),
            ("Money changes", "The user asked for changes about money and got them."),
        ];
        for (title, text) in phrases {
            let phrase = |kind| ProposedMemory {
                kind,
                title: title.to_owned(),
                text: text.to_owned(),
                ..proposed("floats for money: we got burnt")
            };
            let kinds = [Kind::Fact, Kind::Fix, Kind::Decision, Kind::Gotcha];
            let kept = drafts(&window(), kinds.map(phrase).to_vec());
            assert_eq!(kept, [], "{title}");
        }
    }

    #[test]
    fn what_the_user_only_passed_on_is_no_wish() {
        let mut window = window();
        let mail = "Answer this mail:\n\n> Never use floats for money, they said.".to_owned();
        window.pieces[0].evidence = vec!["Answer this mail:".to_owned()];
        window.pieces[0].passed_on = Some(mail);
        let drafts = drafts(&window, vec![proposed("Never use floats for money")]);
        assert_eq!((drafts[0].kind, drafts[0].said_by), (Kind::Fact, SaidBy::Tool));
    }

    #[test]
    fn names_and_facts_count_where_the_session_has_them() {
        let entity = |name: &str, of_type| Entity { name: name.to_owned(), of_type };
        let fact = |subject: &str, object: &str, since: &str| ProposedFact {
            subject: subject.to_owned(),
            predicate: "are kept as".to_owned(),
            object: object.to_owned(),
            since: Timestamp::parse(since),
        };
        let mut window = window();
        let day = Timestamp::parse("2026-11-29").unwrap();
        for piece in &mut window.pieces {
            piece.at = day;
        }
        window.pieces[1]
            .text
            .push_str(" The ledger has them since 2019, or 2027-01-01 at last. 金額はDécimalに。");
        let proposed = ProposedMemory {
            entities: vec![
                entity("décimal", Some(EntityType::Library)),
                entity("money.rs", Some(EntityType::File)),
                entity("float", None),
                entity("Postgres", None),
            ],
            facts: vec![
                fact("money", "floats", ""),
                fact("the ledger", "floats", "2026-03-01"),
                fact("ledger", "cents", ""),
                fact("Postgres", "floats", ""),
                fact("ledger", "floats", "2019-05-01"),
                fact("ledger", "floats", "2027-01-01"),
                fact("ledger", "floats", "2018-05-01"),
                fact("ledger", "floats", "2027-01-02"),
            ],
            topic: Some("money/types".to_owned()),
            ..proposed("never use floats for money")
        };
        let [draft] = &drafts(&window, vec![proposed])[..] else { panic!() };
        // In this window, "float" occurs only inside another word.
        assert_eq!(draft.entities, ["décimal (library)", "money.rs (file)"]);
        let facts: Vec<(&str, Option<Timestamp>)> =
            draft.facts.iter().map(|fact| (fact.subject.as_str(), fact.from)).collect();
        let known = |date: &str| ("ledger", Timestamp::parse(date));
        assert_eq!(
            facts,
            [
                ("money", None),
                ("the ledger", Timestamp::parse("2026-03-01")),
                known("2019-05-01"),
                known("2027-01-01"),
                known(""),
                known(""),
            ]
        );
        assert_eq!(draft.topic.as_deref(), Some("money/types"));
    }

    #[test]
    fn what_is_only_thought_is_no_fact() {
        let thought = |kind| ProposedMemory {
            kind,
            confirmed: Some(false),
            because: Some("floats for money".to_owned()),
            ..proposed("never use floats for money")
        };
        let kinds = |proposed: Vec<ProposedMemory>| -> Vec<Kind> {
            drafts(&window(), proposed).iter().map(|draft| draft.kind).collect()
        };
        let all = [
            Kind::Fact,
            Kind::Procedure,
            Kind::Gotcha,
            Kind::Fix,
            Kind::Decision,
            Kind::Convention,
            Kind::Preference,
            Kind::FailedApproach,
            Kind::Task,
        ];
        assert_eq!(kinds(all.map(thought).to_vec()), all[4..]);
        let silent = |kind| ProposedMemory { confirmed: None, ..thought(kind) };
        assert_eq!(
            kinds(vec![silent(Kind::Fact), silent(Kind::Gotcha)]),
            [Kind::Fact, Kind::Gotcha]
        );
        // The session supports the proposal, so it is not counted as unsupported.
        let grounded = super::drafts(&window(), vec![thought(Kind::Fact)], "s", "ollama/x");
        assert_eq!((grounded.drafts.len(), grounded.unshown), (0, 0));
        let invented =
            super::drafts(&window(), vec![proposed("no such words here")], "s", "ollama/x");
        assert_eq!((invented.drafts.len(), invented.unshown), (0, 1));
    }

    #[test]
    fn a_decision_has_its_reason_and_keeps_it() {
        let decision = |text: &str, because: Option<&str>| ProposedMemory {
            kind: Kind::Decision,
            text: text.to_owned(),
            because: because.map(str::to_owned),
            ..proposed("never use floats for money")
        };
        let bodies = |proposed| -> Vec<String> {
            drafts(&window(), vec![proposed]).into_iter().map(|draft| draft.body).collect()
        };
        let reason = "we got burnt by floats twice";
        let text = "Amounts are integers of cents or Décimal in each ledger.";
        assert_eq!(bodies(decision(text, Some(reason))), [format!("{reason} {text}")]);
        let with_it = format!("{text} For {reason}.");
        assert_eq!(bodies(decision(&with_it, Some(reason))), [with_it.as_str()]);
        // If the model omits the field, the title or the text may contain the reason.
        assert_eq!(bodies(decision(text, None)), [text]);
        for because in ["", "...", "unspecified rationale, whichever applies"] {
            assert_eq!(bodies(decision(text, Some(because))), [""; 0], "{because:?}");
        }
    }

    #[test]
    fn a_preference_is_the_users_and_a_fix_has_an_error() {
        let kinds = |window: &SessionWindow, proposed: ProposedMemory| -> Vec<Kind> {
            drafts(window, vec![proposed]).iter().map(|draft| draft.kind).collect()
        };
        assert_eq!(kinds(&window(), proposed("wir «Décimal» überall")), []);
        assert_eq!(kinds(&window(), proposed("never use floats for money")), [Kind::Preference]);

        let fix = |because: &str| ProposedMemory {
            kind: Kind::Fix,
            because: Some(because.to_owned()),
            ..proposed("never use floats for money")
        };
        assert_eq!(kinds(&window(), fix("")), [Kind::Fact], "no error is there");
        assert_eq!(kinds(&window(), fix("no such words in it")), [Kind::Fact]);
        assert_eq!(kinds(&window(), fix("for money: we got burnt.")), [Kind::Fix]);
        let mut failing = window();
        failing.pieces[1].is_failure = true;
        failing.pieces[1].text = "$ pruefe geld (failed)\nDécimal: floats lose Amounts".to_owned();
        assert_eq!(kinds(&failing, fix("")), [Kind::Fix]);
        failing.pieces[1].text = "$ ls tmp (failed)".to_owned();
        assert_eq!(kinds(&failing, fix("")), [Kind::Fact], "another failure");
    }

    #[test]
    fn several_drafts_of_one_record_have_distinct_ordinals() {
        let quotes = ["never use floats for money", "never use floats for money"];
        let drafts = drafts(&window(), quotes.map(proposed).to_vec());
        assert_eq!((drafts[0].ordinal, drafts[1].ordinal), (1_000, 1_001));
    }
}
