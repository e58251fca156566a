//! Grounding: a proposed memory counts only if its quote stands in the session word for word, if it speaks of what it
//! quotes, and if it says something. What is quoted from a tool's output, a file or the assistant is nobody's
//! wish, whatever a model calls it.

use std::collections::BTreeSet;

use memory_store::Kind;
use memory_store::memory::{SaidBy, Scope};
use memory_store::recall::rarity;
use memory_store::text;

use super::answer::Proposed;
use super::window::{Piece, Window};
use crate::extract::draft::Draft;
use crate::extract::text_retells_order;

/// Characters that a quote has at least: anything shorter stands somewhere by chance.
const QUOTE_CHARS_MIN: usize = 12;
/// Summed rarity, in technical text at large, of the distinct words with which a finding says at least something. Of 407
/// findings of a careful model the poorest has 57 and half have 164; "The code was improved, several things work now" has 25.
const FINDING_RARITY_MIN: f32 = 36.0;
/// Tags of a draft.
const TAGS_MAX: usize = 8;
/// Numbers drafts of a model apart from those of the rules: an id depends on kind, record and this.
const ORDINAL_FIRST: u32 = 1_000;

/// Makes drafts of what a model proposed for a window; what is not shown by it is dropped.
pub fn drafts(
    window: &Window,
    proposed: Vec<Proposed>,
    session: &str,
    extractor: &str,
) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for proposed in proposed {
        let Some((piece, quote, said_by)) = evidence(window, &proposed.quote) else { continue };
        let kind = kind(proposed.kind, said_by);
        let retold = said_by != SaidBy::User
            && [quote, &proposed.title, &proposed.text].into_iter().any(text_retells_order);
        if retold || !speaks_of(&proposed, quote) || !says_something(&proposed, kind) {
            continue;
        }
        let same = |draft: &&Draft| draft.kind == kind && draft.turns[0] == piece.uuid;
        let before = drafts.iter().filter(same).count();
        drafts.push(Draft {
            kind,
            tags: text::keywords(&format!("{}\n{}", proposed.title, proposed.text), TAGS_MAX),
            paths: proposed.paths.into_iter().filter(|path| names(window, path)).collect(),
            title: told(proposed.kind, kind, said_by, proposed.title),
            body: proposed.text,
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
    drafts
}

/// Returns the kind of a proposed memory, given the speaker of its quote: only users have wishes and lay down
/// how things are done.
fn kind(proposed: Kind, said_by: SaidBy) -> Kind {
    match (proposed, said_by) {
        (Kind::Preference | Kind::Convention, SaidBy::Assistant | SaidBy::Tool) => Kind::Fact,
        (kind, _) => kind,
    }
}

/// Says of a rule that stood in a file, a page or an output that it is that source's.
fn told(proposed: Kind, kind: Kind, said_by: SaidBy, title: String) -> String {
    if said_by == SaidBy::Tool && proposed != kind {
        return format!("Read by Claude: {title}");
    }
    title
}

/// Whether a memory shares a word with what it quotes: one that does not is about something else.
fn speaks_of(proposed: &Proposed, quote: &str) -> bool {
    !terms(proposed).is_disjoint(&text_terms(quote))
}

/// Whether a memory is more than an empty phrase. A wish may be as short as "Use tabs".
fn says_something(proposed: &Proposed, kind: Kind) -> bool {
    kind.is_wish() || terms(proposed).into_iter().map(rarity).sum::<f32>() >= FINDING_RARITY_MIN
}

fn terms(proposed: &Proposed) -> BTreeSet<u64> {
    text_terms(&format!("{}\n{}", proposed.title, proposed.text))
}

fn text_terms(text: &str) -> BTreeSet<u64> {
    text::tokens(text).iter().map(|token| text::term_hash(&token.term)).collect()
}

/// The part of a window that holds the quote, the quote as it stands there, and who said it.
fn evidence<'a>(window: &'a Window, quote: &str) -> Option<(&'a Piece, &'a str, SaidBy)> {
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

/// Finds a folded quote in a text, and returns it as it stands there.
fn find<'a>(text: &'a str, quote: &str) -> Option<&'a str> {
    let (folded, places) = fold(text);
    let start = folded.find(quote)?;
    let last = start + quote.len() - 1;
    let end = places[last] + text[places[last]..].chars().next().map_or(0, char::len_utf8);
    text.get(places[start]..end)
}

/// Folds runs of white space into one space. For each byte of the result: the byte of the text
/// where its character starts.
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

/// Whether a window names a file.
fn names(window: &Window, path: &str) -> bool {
    window.pieces.iter().any(|piece| {
        piece.text.contains(path) || piece.paths.iter().any(|known| known.ends_with(path))
    })
}

#[cfg(test)]
mod tests {
    use memory_store::memory::SaidBy;
    use memory_store::{Kind, Timestamp};

    use super::*;

    fn window() -> Window {
        let piece = |uuid: &str, said_by, text: &str| Piece {
            uuid: uuid.to_owned(),
            at: Timestamp(1_000),
            said_by,
            text: text.to_owned(),
            evidence: vec![text.to_owned()],
            passed_on: None,
            paths: vec!["/work/src/money.rs".to_owned()],
            is_said: true,
        };
        Window {
            request: None,
            pieces: vec![
                piece("u1", SaidBy::User, "Please never use\n  floats for money: we got burnt."),
                piece("a1", SaidBy::Assistant, "Dann nehmen wir «Décimal» überall."),
            ],
        }
    }

    fn proposed(quote: &str) -> Proposed {
        Proposed {
            kind: Kind::Preference,
            title: "Never use floats for money".to_owned(),
            text: "Amounts are integers of cents or Décimal: floats lose cents in long sums."
                .to_owned(),
            quote: quote.to_owned(),
            importance: 0.8,
            standing: true,
            cues: Vec::new(),
            paths: vec!["src/money.rs".to_owned(), "src/invented.rs".to_owned()],
        }
    }

    #[test]
    fn a_quote_leads_back_to_its_record() {
        let quotes = ["\"never use floats   for money\"", "wir «Décimal» überall"];
        let drafts = drafts(&window(), quotes.map(proposed).to_vec(), "s", "ollama/x");
        assert_eq!(drafts[0].quote, "never use\n  floats for money");
        assert_eq!((drafts[0].turns[0].as_str(), drafts[0].said_by), ("u1", SaidBy::User));
        assert_eq!(drafts[0].paths, ["src/money.rs"]);
        assert_eq!(drafts[1].quote, "wir «Décimal» überall");
        assert_eq!(drafts[1].turns, ["a1"]);
    }

    #[test]
    fn what_the_session_does_not_show_is_dropped() {
        let quotes = ["never use doubles for money", "money", "burnt. Dann nehmen wir", ""];
        assert_eq!(drafts(&window(), quotes.map(proposed).to_vec(), "s", "ollama/x"), []);
    }

    #[test]
    fn only_the_user_has_wishes_and_a_memory_speaks_of_what_it_quotes() {
        let mut window = window();
        window.pieces[1].said_by = SaidBy::Tool;
        let quotes = ["never use floats for money", "wir «Décimal» überall"];
        let kinds = |proposed: Vec<Proposed>| -> Vec<Kind> {
            drafts(&window, proposed, "s", "ollama/x").iter().map(|draft| draft.kind).collect()
        };
        assert_eq!(kinds(quotes.map(proposed).to_vec()), [Kind::Preference, Kind::Fact]);
        let other = |quote| Proposed {
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
            let phrase = |kind| Proposed {
                kind,
                title: title.to_owned(),
                text: text.to_owned(),
                ..proposed("floats for money: we got burnt")
            };
            let kinds = [Kind::Fact, Kind::Fix, Kind::Decision, Kind::Gotcha];
            let kept = drafts(&window(), kinds.map(phrase).to_vec(), "s", "ollama/x");
            assert_eq!(kept, [], "{title}");
        }
    }

    #[test]
    fn what_the_user_only_passed_on_is_no_wish() {
        let mut window = window();
        let mail = "Answer this mail:\n\n> Never use floats for money, they said.".to_owned();
        window.pieces[0].evidence = vec!["Answer this mail:".to_owned()];
        window.pieces[0].passed_on = Some(mail);
        let drafts = drafts(&window, vec![proposed("Never use floats for money")], "s", "ollama/x");
        assert_eq!((drafts[0].kind, drafts[0].said_by), (Kind::Fact, SaidBy::Tool));
    }

    #[test]
    fn several_drafts_of_one_record_are_told_apart() {
        let quotes = ["never use floats for money", "never use floats for money"];
        let drafts = drafts(&window(), quotes.map(proposed).to_vec(), "s", "ollama/x");
        assert_eq!((drafts[0].ordinal, drafts[1].ordinal), (1_000, 1_001));
    }
}
