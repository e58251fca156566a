//! Units of a Markdown text: whole paragraphs, list items and table rows, each with the words it stands
//! under. What a memory says is one of them, never sentences picked from several.

use super::clean::{capital, plain, without_filler};
use super::prose::{self, Block};
use super::sets::names;
use super::words;

/// Characters of a unit that can be a memory; a longer one is left out.
pub const CHARS_MAX: usize = 620;

/// Words of a unit that says something.
const WORDS_MIN: usize = 10;

/// Words of a sentence that can be a title, and characters it may have.
const TITLE_WORDS_MIN: usize = 4;
const TITLE_CHARS_MAX: usize = 180;

/// Characters of a title that is a whole sentence no clause of which can stand alone.
const SENTENCE_CHARS_MAX: usize = 260;

/// Characters of a sentence that only says that the work is done.
const ACCOMPANIES_CHARS_MAX: usize = 90;

/// Words of a bold head that can stand in front of the sentence after it.
const HEAD_WORDS_MIN: usize = 2;

/// Units taken from one text; a text beyond this is a pasted document.
const UNITS_MAX: usize = 200;

/// A paragraph, a list item or a table row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// The heading above it; may be empty.
    pub heading: String,
    /// Its bold first words, without the marks; may be empty.
    pub head: String,
    /// Its text without Markdown's dress, its head included.
    pub text: String,
    /// Its text as it was written.
    pub raw: String,
    /// Whether it is a list item or a table row.
    pub item: bool,
}

/// Returns the units of a text, code blocks left out.
pub fn units(markdown: &str) -> Vec<Unit> {
    let blocks = prose::blocks(markdown);
    let mut units: Vec<Unit> = Vec::new();
    let mut heading = String::new();
    let mut header: Option<&[String]> = None;
    let mut at = 0;
    while at < blocks.len() && units.len() < UNITS_MAX {
        let (unit, next) = match &blocks[at] {
            Block::Heading(text) => {
                heading = plain(text);
                (None, at + 1)
            }
            Block::Paragraph(text) => {
                let end = list_end(&blocks, at + 1, 0);
                let announces =
                    text.trim_end().trim_end_matches('*').ends_with(':') && end > at + 1;
                let whole = announces.then(|| with_items(text, &blocks[at + 1..end])).flatten();
                match whole {
                    Some(whole) => (Some(unit(&whole, &heading, false)), end),
                    None => (Some(unit(text, &heading, false)), at + 1),
                }
            }
            Block::Item { text, depth } => {
                let end = list_end(&blocks, at + 1, depth + 1);
                match with_items(text, &blocks[at + 1..end]) {
                    Some(whole) => (Some(unit(&whole, &heading, true)), end),
                    None => (Some(unit(text, &heading, true)), at + 1),
                }
            }
            Block::Row(cells) => {
                let row = header.map(|names| unit(&row(names, cells), &heading, true));
                header = header.or(Some(cells));
                (row, at + 1)
            }
        };
        if !matches!(blocks[at], Block::Row(_)) {
            header = None;
        }
        units.extend(unit);
        at = next;
    }
    units
}

/// Where the items that stand at least `depth` deep end.
fn list_end(blocks: &[Block], from: usize, depth: usize) -> usize {
    let items = blocks[from..].iter();
    from + items
        .take_while(|block| matches!(block, Block::Item { depth: of, .. } if *of >= depth))
        .count()
}

/// A text with the items below it, where both fit into one memory.
fn with_items(text: &str, items: &[Block]) -> Option<String> {
    let items = items.iter().filter_map(|block| match block {
        Block::Item { text, .. } => Some(text.trim().trim_end_matches(['.', ';'])),
        _ => None,
    });
    let told = items.collect::<Vec<_>>().join("; ");
    let whole = if told.is_empty() { text.to_owned() } else { format!("{text} {told}.") };
    (whole.chars().count() <= CHARS_MAX).then_some(whole)
}

/// A row with the names of its columns.
fn row(names: &[String], cells: &[String]) -> String {
    let mut parts = names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let Some((_, first)) = parts.next() else { return String::new() };
    let rest: Vec<String> = parts
        .map(|(name, cell)| if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") })
        .collect();
    format!("{first}: {}", rest.join("; "))
}

/// Characters of a bold head.
const HEAD_CHARS_MAX: usize = 160;

/// Whether bold text is short enough to be a head.
fn is_head(bold: &str) -> bool {
    bold.chars().count() <= HEAD_CHARS_MAX
}

fn unit(raw: &str, heading: &str, item: bool) -> Unit {
    let bold = words::BOLD_LEAD.captures(raw).filter(|found| is_head(&found[1]));
    let head = bold.as_ref().map_or(String::new(), |found| plain(&found[1]));
    Unit {
        heading: heading.to_owned(),
        head: head.trim_end_matches(['.', ':', ';', ',', '—', '–', '-', ' ']).to_owned(),
        text: match bold {
            Some(_) => plain(&words::BOLD_LEAD.replace(raw, "$1 ")),
            None => plain(raw),
        },
        raw: raw.trim().to_owned(),
        item,
    }
}

impl Unit {
    /// Returns it without the sentences at its ends that only accompany the work: that it is done, what comes next.
    pub fn trimmed(&self) -> Self {
        let text = without_filler(&self.text);
        let sentences = prose::split(text);
        let accompanies = |sentence: &&&str| {
            let sentence = sentence.trim();
            let short = sentence.chars().count() <= ACCOMPANIES_CHARS_MAX;
            short && [&words::STATUS, &words::OPENS].iter().any(|says| says.is_match(sentence))
        };
        let goes_on = |sentence: &&&str| {
            let sentence = sentence.trim();
            words::NARRATION.is_match(sentence) || words::QUESTION.is_match(sentence)
        };
        let front = sentences.iter().take_while(accompanies).count();
        let rest = &sentences[front..];
        let end = rest.iter().rev().take_while(|it| accompanies(it) || goes_on(it)).count();
        let text = join(&rest[..rest.len() - end]);
        let label = words::LABEL.find(&text).map_or(0, |label| label.end());
        Self { text: capital(&text[label..]), ..self.clone() }
    }

    /// Its title and what it says beside it: a sentence of it names it, or its own bold head. `None` where neither
    /// can stand alone.
    pub fn told(&self) -> Option<(String, String)> {
        let (title, rest) = self.split()?;
        let fits = self.text.chars().count() <= CHARS_MAX
            && self.text.split_whitespace().count() >= WORDS_MIN
            && !self.text.trim_end().ends_with(':');
        // The text below a unit may name what its own head leaves unnamed.
        let named = !self.head.is_empty() && words::NAMED.is_match(&self.text);
        let coded = spans(&self.raw).any(|span| title.contains(span));
        let stands =
            stands_alone(&title) || (named || coded || self.is_labelled()) && !points(&title);
        (fits && stands).then_some((title, rest))
    }

    /// Whether its writer called it a trap, a rule, a decision or the like.
    pub fn is_labelled(&self) -> bool {
        let head = format!("{}:", self.head);
        [&self.raw, &self.text, &head].into_iter().any(|text| words::LABELLED.is_match(text))
    }

    fn split(&self) -> Option<(String, String)> {
        let sentences = prose::split(&self.text);
        let first = sentences.first()?.trim();
        let count = |text: &str| text.split_whitespace().count();
        let chars = |text: &str| text.chars().count();
        let mut taken = 1;
        let mut title = first.to_owned();
        if count(first) < TITLE_WORDS_MIN {
            let next = sentences.get(1)?.trim();
            let both = format!("{}: {next}", first.trim_end_matches(['.', ':']));
            if count(first) < HEAD_WORDS_MIN {
                return None;
            }
            if chars(&both) <= TITLE_CHARS_MAX {
                (title, taken) = (both, 2);
            }
        } else if chars(first) > TITLE_CHARS_MAX {
            let long_head = count(&self.head) >= HEAD_WORDS_MIN && first.starts_with(&self.head);
            if !long_head {
                return clause(first, &sentences[1..]);
            }
            let rest = first[self.head.len()..]
                .trim_start_matches(['.', ':', ';', ',', '—', '–', '-', ' ']);
            let rest = format!("{} {}", capital(rest), join(&sentences[1..]));
            return Some((self.head.clone(), rest.trim().to_owned()));
        }
        Some((title, join(&sentences[taken..])))
    }
}

/// The first clause of a long sentence where it can stand alone, or else the sentence, and what follows.
fn clause(first: &str, others: &[&str]) -> Option<(String, String)> {
    match super::clean::clause(first, TITLE_CHARS_MAX) {
        Some((title, rest)) => {
            Some((title, format!("{} {}", rest.trim(), join(others)).trim().to_owned()))
        }
        None => {
            (first.chars().count() <= SENTENCE_CHARS_MAX).then(|| (first.to_owned(), join(others)))
        }
    }
}

fn join(sentences: &[&str]) -> String {
    sentences.iter().map(|sentence| sentence.trim()).collect::<Vec<_>>().join(" ")
}

/// The code in a Markdown text that is long enough to be a name.
fn spans(raw: &str) -> impl Iterator<Item = &str> {
    raw.split('`').skip(1).step_by(2).filter(|span| span.len() >= SPAN_BYTES_MIN)
}

/// Bytes of code that can be a name.
const SPAN_BYTES_MIN: usize = 4;

/// Whether a sentence can be read without what stood before it: it names a thing and points at none.
pub fn stands_alone(sentence: &str) -> bool {
    !points(sentence) && words::NAMED.is_match(sentence)
}

/// Whether a sentence points at what stood before it, or asks. "The fix" is one that names what it is about.
fn points(sentence: &str) -> bool {
    let the = sentence.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("the "));
    let named = the && names(sentence).len() >= NAMES_MIN;
    words::POINTS_BACK.is_match(sentence)
        || words::POINTS_AT.is_match(sentence) && !named
        || words::QUESTION.is_match(sentence)
}

/// Names by which a sentence says what it is about.
const NAMES_MIN: usize = 2;

/// Whether each sentence of a unit says something: it neither tells what is done next, nor asks, and names no path
/// of one machine.
pub fn says(unit: &Unit) -> bool {
    prose::split(&unit.text).iter().all(|sentence| {
        let sentence = sentence.trim();
        !words::NARRATION.is_match(sentence) && !words::QUESTION.is_match(sentence)
    }) && !names_machine(&unit.raw)
}

/// Whether a text names a path of somebody's machine.
pub fn names_machine(text: &str) -> bool {
    words::MACHINE_PATH.is_match(text)
}
