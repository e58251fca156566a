//! Sentences of a Markdown text, each with its context: paragraph or list, preceding heading, and position.

use std::sync::LazyLock;

use super::clean::{plain, without_filler};

use super::pattern::{Pattern, pattern};

/// Maximum number of sentences of one text. A longer text is probably a pasted document.
const SENTENCES_MAX: usize = 400;

/// Maximum number of characters of a list that is joined with its introduction to one sentence.
const JOINED_CHARS_MAX: usize = 260;

/// A sentence, or a list item, with its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ProseSentence {
    /// The text without Markdown syntax.
    pub text: String,
    /// The text as written.
    pub raw: String,
    /// The preceding heading, or the text that introduces the list. It may be empty.
    pub heading: String,
    /// Whether it is a list item or a table row.
    pub list: bool,
    /// The number of its paragraph.
    pub block: usize,
    /// Whether it contained a code span.
    pub code: bool,
}

/// Separator between the rows of a table that is added as one statement.
const ROW_MARK: &str = " · ";

/// A block of Markdown: lines that belong together.
#[derive(Debug)]
pub enum ProseBlock {
    /// The text of a heading, or of a line in bold.
    Heading(String),
    /// Lines up to an empty line.
    Paragraph(String),
    /// A list item and its indentation.
    Item {
        /// The text of the item.
        text: String,
        /// Number of characters before the item's mark.
        depth: usize,
    },
    /// The cells of a table row.
    Row(Vec<String>),
}

static FENCE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\s*(```+|~~~+)"));
static HEADING: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\s{0,3}#{1,6}\s+(.+?)\s*#*\s*$"));
static BOLD_HEADING: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"^\s*\*\*([^*]{2,80})\*\*:?\s*$"));
static ITEM: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"^(\s*)(?:[-*+•]|[0-9]{1,3}[.)])\s+(.*)$"));
static ROW: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\s*\|(.+)\|\s*$"));
static RULE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"^\s*(?:[-=_*]\s*){3,}$|^\s*\|?[\s:|-]+\|[\s:|-]*$"));
static CHECKBOX: LazyLock<Pattern> = LazyLock::new(|| pattern(r"^\[[ xX]\]\s+"));
static NUMBER: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"^(?:(?:step|phase|part)\s+)?[0-9]+(?:\.[0-9]+)*[.):]?\s+"));

/// Returns the sentences of a Markdown text, without code blocks.
pub fn sentences(markdown: &str) -> Vec<ProseSentence> {
    let blocks = blocks(markdown);
    let mut sentences = Vec::new();
    let mut heading = String::new();
    let mut header: Option<Vec<String>> = None;
    let mut at = 0;
    while at < blocks.len() && sentences.len() < SENTENCES_MAX {
        match &blocks[at] {
            ProseBlock::Heading(text) => heading = plain(NUMBER.replace(text, "").as_ref()),
            ProseBlock::Paragraph(text) => {
                let (items, end) = list_after(&blocks, at + 1);
                push_paragraph(&mut sentences, text, &heading, at);
                if let Some(joined) = joined(&mut sentences, at, &items) {
                    sentences.push(joined);
                    at = end - 1;
                }
            }
            ProseBlock::Item { text, .. } => {
                let under = announced(&sentences, &heading, at);
                push_item(&mut sentences, text, &under, at);
            }
            ProseBlock::Row(cells) => match &header {
                None => header = Some(cells.clone()),
                Some(names) => {
                    let (rows, end) = rows_from(&blocks, at);
                    push_rows(&mut sentences, names, &rows, &heading, at);
                    at = end - 1;
                }
            },
        }
        if !matches!(blocks[at], ProseBlock::Row(_)) {
            header = None;
        }
        at += 1;
    }
    sentences
}

/// Returns the blocks of a text, without code blocks.
pub fn blocks(markdown: &str) -> Vec<ProseBlock> {
    let mut blocks = Vec::new();
    let mut paragraph = String::new();
    let mut fence: Option<String> = None;
    for line in markdown.lines() {
        if let Some(open) = FENCE.captures(line).map(|found| found[1].to_owned()) {
            match &fence {
                Some(mark) if open.starts_with(mark.as_str()) => fence = None,
                Some(_) => {}
                None => {
                    flush(&mut blocks, &mut paragraph);
                    fence = Some(open);
                }
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        if line.trim().is_empty() || RULE.is_match(line) {
            flush(&mut blocks, &mut paragraph);
        } else if let Some(found) = HEADING.captures(line).or_else(|| BOLD_HEADING.captures(line)) {
            flush(&mut blocks, &mut paragraph);
            blocks.push(ProseBlock::Heading(found[1].to_owned()));
        } else if let Some(found) = ROW.captures(line) {
            flush(&mut blocks, &mut paragraph);
            blocks.push(ProseBlock::Row(
                found[1].split('|').map(|cell| cell.trim().to_owned()).collect(),
            ));
        } else if let Some(found) = ITEM.captures(line) {
            flush(&mut blocks, &mut paragraph);
            let text = CHECKBOX.replace(&found[2], "").into_owned();
            blocks.push(ProseBlock::Item { text, depth: found[1].len() });
        } else {
            match blocks.last_mut() {
                // An indented line continues the previous item.
                Some(ProseBlock::Item { text, .. })
                    if paragraph.is_empty() && line.starts_with([' ', '\t']) =>
                {
                    text.push(' ');
                    text.push_str(line.trim());
                }
                _ => {
                    if !paragraph.is_empty() {
                        paragraph.push('\n');
                    }
                    paragraph.push_str(line.trim_start_matches('>').trim());
                }
            }
        }
    }
    flush(&mut blocks, &mut paragraph);
    blocks
}

fn flush(blocks: &mut Vec<ProseBlock>, paragraph: &mut String) {
    if !paragraph.trim().is_empty() {
        blocks.push(ProseBlock::Paragraph(std::mem::take(paragraph)));
    }
    paragraph.clear();
}

/// Returns the items of the list that begins at `from`, and the index after it.
fn list_after(blocks: &[ProseBlock], from: usize) -> (Vec<&str>, usize) {
    let mut items = Vec::new();
    let mut end = from;
    let mut top = usize::MAX;
    while let Some(ProseBlock::Item { text, depth }) = blocks.get(end) {
        top = top.min(*depth);
        items.push(text.as_str());
        end += 1;
    }
    (items, end)
}

/// Joins a short list with its introduction to one sentence, because neither is clear without the other. Returns `None`
/// if there is no introduction or the list is too long.
fn joined(
    sentences: &mut Vec<ProseSentence>,
    block: usize,
    items: &[&str],
) -> Option<ProseSentence> {
    let last = sentences.last().filter(|last| last.block == block && last.text.ends_with(':'))?;
    if items.is_empty()
        || super::words::NARRATION.is_match(&last.text)
        || super::words::ANNOUNCES.is_match(&last.text)
    {
        return None;
    }
    let told: Vec<String> =
        items.iter().map(|item| plain(item).trim_end_matches(['.', ';']).to_owned()).collect();
    let text = format!("{} {}.", last.text, told.join("; "));
    if text.chars().count() > JOINED_CHARS_MAX {
        return None;
    }
    let last = sentences.pop()?;
    let code = last.code || items.iter().any(|item| item.contains('`'));
    Some(ProseSentence { text, list: false, code, ..last })
}

/// Returns the text that introduces a list item: the sentence before the list, or the heading.
fn announced(sentences: &[ProseSentence], heading: &str, block: usize) -> String {
    let before = sentences
        .iter()
        .rev()
        .take_while(|sentence| sentence.block + SENTENCES_MAX > block)
        .find(|sentence| !sentence.list);
    match before {
        Some(sentence) if sentence.text.ends_with(':') && sentence.heading == heading => {
            sentence.text.trim_end_matches(':').to_owned()
        }
        _ => heading.to_owned(),
    }
}

/// Returns the rows of a table that begins at `from`, and the index after it.
fn rows_from(blocks: &[ProseBlock], from: usize) -> (Vec<String>, usize) {
    let rows: Vec<String> = blocks[from..]
        .iter()
        .map_while(|block| match block {
            ProseBlock::Row(cells) => Some(row_text(cells)),
            ProseBlock::Heading(_) | ProseBlock::Paragraph(_) | ProseBlock::Item { .. } => None,
        })
        .collect();
    let end = from + rows.len();
    (rows, end)
}

/// Adds a small table as one statement, or each row of a larger table.
fn push_rows(
    sentences: &mut Vec<ProseSentence>,
    names: &[String],
    rows: &[String],
    heading: &str,
    block: usize,
) {
    let whole = rows.join(ROW_MARK);
    let subject = if names.is_empty() { "" } else { names[0].as_str() };
    if rows.len() > 1
        && whole.chars().count() <= TABLE_CHARS_MAX
        && !super::words::CHORE_TABLE.is_match(subject)
    {
        push(sentences, &whole, heading, block, false);
        return;
    }
    for row in rows {
        push(sentences, row, heading, block, true);
    }
}

/// Maximum number of characters of a table that is added as one statement.
const TABLE_CHARS_MAX: usize = 330;

fn row_text(cells: &[String]) -> String {
    let told: Vec<&str> =
        cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
    match told.split_first() {
        Some((first, rest)) if !rest.is_empty() => format!("{first}: {}", rest.join("; ")),
        _ => told.concat(),
    }
}

fn push_paragraph(sentences: &mut Vec<ProseSentence>, text: &str, heading: &str, block: usize) {
    for raw in split(text) {
        push(sentences, raw, heading, block, false);
    }
}

fn push_item(sentences: &mut Vec<ProseSentence>, text: &str, heading: &str, block: usize) {
    // The sentences of an item stay together, because the first one contains their subject.
    push(sentences, text, heading, block, true);
}

fn push(sentences: &mut Vec<ProseSentence>, raw: &str, heading: &str, block: usize, list: bool) {
    let cleaned = plain(raw);
    let text = without_filler(&cleaned).to_owned();
    if text.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return;
    }
    sentences.push(ProseSentence {
        text,
        raw: raw.trim().to_owned(),
        heading: heading.to_owned(),
        list,
        block,
        code: raw.contains('`'),
    });
}

/// Marks that may end a sentence.
const ENDS: [char; 4] = ['.', '!', '?', '…'];

/// Returns the sentences of a paragraph as slices.
pub fn split(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut ticks = false;
    let mut depth = 0usize;
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        // The closing quotation mark belongs to the sentence, even if the quotation ends with a full stop.
        if at < start {
            continue;
        }
        match c {
            '`' => ticks = !ticks,
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '\n' if ends_line(text, at) => {
                sentences.push(&text[start..at]);
                (start, ticks, depth) = (at + 1, false, 0);
            }
            _ if ENDS.contains(&c) && !ticks && depth == 0 => {
                let end = at + c.len_utf8();
                let closes = bytes.get(end).is_none_or(|next| {
                    next.is_ascii_whitespace() || matches!(next, b'"' | b'\'' | b'*')
                });
                if closes && !is_abbreviation(&text[start..end]) && begins_sentence(&text[end..]) {
                    let end =
                        end + text[end..].find(char::is_whitespace).unwrap_or(text.len() - end);
                    sentences.push(&text[start..end]);
                    start = end;
                }
            }
            _ => {}
        }
    }
    sentences.push(text.get(start..).unwrap_or_default());
    sentences.retain(|sentence| !sentence.trim().is_empty());
    sentences
}

/// Returns whether a line break ends a sentence: the line ends with punctuation, or the next line begins with bold
/// text.
fn ends_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end();
    let after = text[at + 1..].trim_start();
    let closed = before.ends_with(['.', ':', '!', '?']);
    closed || after.starts_with("**")
}

fn is_abbreviation(text: &str) -> bool {
    let last = text
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
        .trim_start_matches(['(', '"', '\'', '*']);
    matches!(
        last.to_ascii_lowercase().as_str(),
        "e.g."
            | "i.e."
            | "etc."
            | "vs."
            | "cf."
            | "approx."
            | "no."
            | "fig."
            | "resp."
            | "mr."
            | "dr."
            | "incl."
    ) || last.strip_suffix(ENDS).is_some_and(is_short_number)
}

/// Returns whether a text is empty or a list number. A full stop after it then does not end a sentence.
fn is_short_number(text: &str) -> bool {
    text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn begins_sentence(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '\'', '*', '”', '’']).trim_start();
    // Some names begin with a small letter and contain a capital letter.
    let word = rest.split_whitespace().next().unwrap_or_default();
    let is_name = word.chars().all(char::is_alphanumeric) && word.chars().any(char::is_uppercase);
    rest.chars().next().is_none_or(|c| {
        is_name || c.is_uppercase() || c.is_ascii_digit() || !c.is_alphabetic() || !c.is_ascii()
    })
}

/// All patterns of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] =
    &[&FENCE, &HEADING, &BOLD_HEADING, &ITEM, &ROW, &RULE, &CHECKBOX, &NUMBER];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::tests::any_prose;
    use proptest::prelude::*;

    fn texts(markdown: &str) -> Vec<String> {
        sentences(markdown).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn paragraphs_become_sentences() {
        assert_eq!(
            texts("The lock, e.g. `a.b`, is kept. It is v1.2 of `x. Y`! Why?"),
            ["The lock, e.g. a.b, is kept.", "It is v1.2 of `x. Y`!", "Why?"]
        );
    }

    #[test]
    fn a_short_list_is_joined_to_its_announcement() {
        assert_eq!(
            texts("It writes two files:\n- `a.txt`\n- `b.txt`"),
            ["It writes two files: a.txt; b.txt."]
        );
        assert_eq!(
            texts("Here is a summary of the changes:\n- One thing is so.\n- Two."),
            ["Here is a summary of the changes:", "One thing is so.", "Two."]
        );
    }

    #[test]
    fn items_and_rows_know_what_they_stand_under() {
        let found = sentences(
            "## 2. Root cause\n\n- the key was cached\n\n| File | Change |\n|--|--|\n| a.rs | new |",
        );
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|sentence| sentence.heading == "Root cause" && sentence.list));
        assert_eq!(found[1].text, "a.rs: new");
    }

    #[test]
    fn code_blocks_are_left_out() {
        assert_eq!(texts("Before.\n```rust\nfn main() {}\n```\nAfter."), ["Before.", "After."]);
    }

    #[test]
    fn marks_of_several_bytes_are_cut_between_characters() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<&str> = split(text).into_iter().map(str::trim).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("Running the tests … Done.", &["Running the tests … Done."]);
        check("Running the tests… Done.", &["Running the tests…", "Done."]);
        check("It is step 2. Then “go”… Ünder", &["It is step 2. Then “go”…", "Ünder"]);
        check(
            "It said \"no.\"Yes.\"Go. Then it went.",
            &["It said \"no.\"Yes.\"Go.", "Then it went."],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Only white space is removed, and no text is repeated.
        #[test]
        fn any_text_is_split_into_all_of_its_words(text in any_prose()) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let parts = split(&text);
            let told: Vec<&str> = parts.iter().flat_map(|part| part.split_whitespace()).collect();
            prop_assert_eq!(told, words);
            sentences(&text);
        }
    }
}
