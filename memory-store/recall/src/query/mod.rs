//! Preparation of queries for ranking: their terms, paragraphs and paths.

mod acknowledgement;
pub(crate) mod expression;
pub(crate) mod follow_up;
pub(crate) mod misspelled;
pub(crate) mod phrase;
pub(crate) mod project_name;
pub(crate) mod shape;
pub(crate) mod time_expression;
pub(crate) mod tool_call;
pub(crate) mod typo;

use crate::query::acknowledgement::is_acknowledgement;
use crate::rank::nearest::Probe;
use crate::rank::second_space::Likenesses;
use crate::signature::named_commands;
use memory_store_base::text::rarity;
use memory_store_base::text::{self, Form, term_hash};

/// Length in bytes above which the paragraphs of a prompt are searched separately.
pub(crate) const LONG_BYTES: usize = 300;
/// Maximum number of bytes of a prompt that are used.
const TEXT_BYTES_MAX: usize = 24_000;
/// Maximum number of paragraphs of a long prompt.
const PARAGRAPHS_MAX: usize = 64;
/// Minimum length of a paragraph in bytes; an empty line ends a paragraph only from this length on.
const PARAGRAPH_BYTES_MIN: usize = 60;
/// Maximum length of a paragraph, in bytes.
const PARAGRAPH_BYTES_MAX: usize = 900;
/// Maximum length of a heading that is prepended to its paragraphs, in characters.
const HEADING_CHARS_MAX: usize = 80;
/// Maximum number of distinct terms of a query.
const TERMS_MAX: usize = 512;
/// Maximum number of distinct terms of a paragraph, because each is one bit of a mask.
pub(crate) const PARAGRAPH_TERMS_MAX: usize = 64;
/// Maximum number of word pairs of a query.
const PAIRS_MAX: usize = 64;
/// Maximum number of bytes of an error that are used in addition to its most distinctive lines.
const ERROR_BYTES_MAX: usize = 1500;
/// Number of an error's most distinctive lines from which its vector is made.
const MEANT_LINES: usize = 2;
/// Number of lines of an error that are compared first.
const ERROR_LINES: usize = 6;
/// Maximum number of paths of a prompt.
const PATHS_MAX: usize = 32;

/// A word of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Key of the term in an index.
    pub hash: u64,
    /// Rarity of the term in technical text, as its inverse document frequency.
    pub background: f32,
    /// Text of the term.
    pub text: String,
}

impl Term {
    pub(crate) fn of(hash: u64, text: &str) -> Self {
        Self { hash, background: rarity::idf(hash), text: text.to_owned() }
    }
}

/// Two adjacent words of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Key of the pair in an index.
    pub hash: u32,
    /// Numbers of the two words among the query's terms; `None` for a word that is not a term.
    pub words: [Option<u16>; 2],
}

/// A prepared query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Distinct terms.
    pub terms: Vec<Term>,
    /// Distinct terms of each paragraph, as indices of `terms`.
    pub paragraphs: Vec<Vec<u16>>,
    /// For a file: number of leading terms that are names of the file. A text with one of them mentions the file.
    pub names: u16,
    /// For an error: distinct terms of each of the lines that are compared first, as indices of `terms`.
    pub lines: Vec<Vec<u16>>,
    /// Distinct word pairs; empty for a long query.
    pub pairs: Vec<Pair>,
    /// Paths named in the query.
    pub paths: Vec<String>,
    /// Commands named in the query.
    pub commands: Vec<String>,
    /// True if the query is only an acknowledgement.
    pub only_acknowledges: bool,
    /// Text from which the query's vector is made.
    pub text: String,
    /// The query's vector, if an encoder is available.
    pub(crate) probe: Option<Probe>,
    /// Similarities of memories to the query in the second space, if that space is enabled.
    pub(crate) likenesses: Option<Likenesses>,
}

impl Query {
    /// Parses a prompt or a question.
    pub fn prompt(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let text = without_wrapper(text);
        let commands = named_commands(text);
        let mut query =
            Self { paths: paths(text), commands, text: text.to_owned(), ..Self::default() };
        if text.len() <= LONG_BYTES {
            let mut assent = Assent::default();
            query.add_short(text, &mut |term, form| {
                assent.hear(term, form);
                true
            });
            query.only_acknowledges = assent.is_all(text);
        } else {
            for paragraph in paragraphs(text) {
                query.add_paragraph(&paragraph);
            }
        }
        query
    }

    /// Parses a path. The first terms are the names by which a text may mention the file.
    pub(crate) fn file(path: &str) -> Self {
        let mut query = Self::default();
        for name in names(path) {
            query.number(&name);
        }
        query.names = query.terms.len() as u16;
        // Many other files have the same folders and extension, so only the stem of the file name is used.
        let file = path.rsplit('/').next().unwrap_or(path);
        query.add_paragraph(file.split('.').find(|part| !part.is_empty()).unwrap_or(file));
        query
    }

    /// Parses a failed command and its error. Each term counts once, because errors are repetitive. Numbers, hashes and
    /// temporary names are skipped.
    pub(crate) fn error(command: &str, error: &str) -> Self {
        let telling = crate::signature::telling_lines(error, ERROR_LINES);
        let mut text = telling.join("\n");
        text.push('\n');
        text.push_str(&error[..error.floor_char_boundary(ERROR_BYTES_MAX)]);
        if !error.contains(command) {
            text.push('\n');
            text.push_str(&crate::signature::normalise_command(command));
        }
        let mut query = Self { paths: paths(&text), ..Self::default() };
        query.add_short(&text, &mut |term, _| !varies(term));
        query.lines = match telling.is_empty() {
            true => error.lines().take(ERROR_LINES).map(|line| query.known(line)).collect(),
            false => telling.iter().map(|line| query.known(line)).collect(),
        };
        // The vector is made only from the most distinctive lines, because the surrounding text has a different
        // meaning.
        query.text = if telling.is_empty() {
            text
        } else {
            telling[..telling.len().min(MEANT_LINES)].join("\n")
        };
        query
    }

    /// Parses the words of a search.
    pub(crate) fn search(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let mut query = Self { paths: paths(text), text: text.to_owned(), ..Self::default() };
        query.add_short(text, &mut |_, _| true);
        query
    }

    /// Returns whether the paragraphs of the query are searched separately.
    pub(crate) fn is_long(&self) -> bool {
        self.paragraphs.len() > 1
    }

    /// Adds a text as a paragraph.
    fn add_paragraph(&mut self, text: &str) {
        let mut paragraph = Vec::new();
        text::each_term(text, &mut |term, _| {
            self.add_to(&mut paragraph, term);
        });
        self.finish(paragraph);
    }

    /// Adds a text as a paragraph. It contains the terms that `keep` accepts; all word pairs of the text are added too.
    fn add_short(&mut self, text: &str, keep: &mut dyn FnMut(&str, Form) -> bool) {
        let (mut paragraph, mut pairs) = (Vec::new(), text::Pairs::default());
        let mut last = None;
        text::each_term(text, &mut |term, form| {
            let number = keep(term, form).then(|| self.add_to(&mut paragraph, term)).flatten();
            if let Some(hash) = pairs.next(term, form)
                && self.pairs.len() < PAIRS_MAX
                && !self.pairs.iter().any(|pair| pair.hash == hash)
            {
                self.pairs.push(Pair { hash, words: [last, number] });
            }
            if form != Form::Part {
                last = number;
            }
        });
        self.finish(paragraph);
    }

    /// Adds a term to a paragraph, unless the paragraph contains it already. Returns the term's number; `None` if the
    /// query has no room for it.
    fn add_to(&mut self, paragraph: &mut Vec<u16>, term: &str) -> Option<u16> {
        let number = self.number(term)?;
        if !paragraph.contains(&number) {
            paragraph.push(number);
        }
        Some(number)
    }

    fn finish(&mut self, mut paragraph: Vec<u16>) {
        if paragraph.len() > PARAGRAPH_TERMS_MAX {
            // The most common terms carry the least information, so they are dropped.
            let rare = |&number: &u16| self.terms[usize::from(number)].background;
            paragraph.sort_by(|a, b| rare(b).total_cmp(&rare(a)).then(a.cmp(b)));
            paragraph.truncate(PARAGRAPH_TERMS_MAX);
            paragraph.sort_unstable();
        }
        if !paragraph.is_empty() {
            self.paragraphs.push(paragraph);
        }
    }

    /// Returns the sorted, distinct numbers of those terms of a text that are already in the query.
    fn known(&self, text: &str) -> Vec<u16> {
        let mut numbers = Vec::new();
        text::each_term(text, &mut |term, _| {
            let hash = term_hash(term);
            let known = self.terms.iter().position(|known| known.hash == hash);
            numbers.extend(known.and_then(|at| u16::try_from(at).ok()));
        });
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the number of a term, and adds the term if it is new; `None` if it is new and there is no room for it.
    fn number(&mut self, term: &str) -> Option<u16> {
        let hash = term_hash(term);
        let known = self.terms.iter().position(|known| known.hash == hash);
        if known.is_none() && self.terms.len() < TERMS_MAX {
            self.terms.push(Term::of(hash, term));
            return u16::try_from(self.terms.len() - 1).ok();
        }
        known.and_then(|at| u16::try_from(at).ok())
    }
}

/// Returns a prompt without the sentences that programs add around a plan.
fn without_wrapper(text: &str) -> &str {
    let text = text.trim();
    let first_line = text.lines().next().unwrap_or_default();
    let rest = &text[first_line.len()..];
    let wraps = first_line.to_ascii_lowercase();
    let is_wrapper = wraps.ends_with(':') && wraps.contains("following plan");
    let text = if is_wrapper && !rest.trim().is_empty() { rest.trim() } else { text };
    text::without_plan_notice(text)
}

/// Splits a long text into paragraphs, each with its heading.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut heading = String::new();
    let mut current = String::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(title) = heading_of(line) {
            finish(&mut found, &heading, &mut current);
            heading = title.chars().take(HEADING_CHARS_MAX).collect();
            continue;
        }
        if line.is_empty() && current.len() >= PARAGRAPH_BYTES_MIN {
            finish(&mut found, &heading, &mut current);
            continue;
        }
        current.push_str(line);
        current.push('\n');
        if current.len() > PARAGRAPH_BYTES_MAX {
            finish(&mut found, &heading, &mut current);
        }
    }
    finish(&mut found, &heading, &mut current);
    if found.is_empty() && !heading.is_empty() {
        found.push(heading);
    }
    found
}

fn heading_of(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let marks = line.len() - title.len();
    ((1..=6).contains(&marks) && title.starts_with(' ')).then_some(title.trim())
}

fn finish(found: &mut Vec<String>, heading: &str, current: &mut String) {
    let body = current.trim();
    if !body.is_empty() && found.len() < PARAGRAPHS_MAX {
        found.push(if heading.is_empty() { body.to_owned() } else { format!("{heading}\n{body}") });
    }
    current.clear();
}

/// Returns whether a term is a number, a hash or a temporary name, which differ from one error or prompt to the next.
pub(crate) fn varies(term: &str) -> bool {
    let digits = term.bytes().filter(u8::is_ascii_digit).count();
    digits > 0
        && (digits == term.len()
            || term.bytes().all(|b| b.is_ascii_digit() || b":.-".contains(&b))
            || term.len() >= 7 && term.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
}

/// Returns the names of a file: its path, its file name, and its file name without extension if that is not an ordinary
/// word.
fn names(path: &str) -> Vec<String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or(file);
    let mut names = Vec::new();
    if path.contains('/') {
        names.push(path.to_lowercase());
    }
    if file.contains('.') {
        names.push(file.to_lowercase());
    }
    let is_code = text::tokens(stem).first().is_some_and(|token| token.form == Form::Whole);
    if is_code {
        names.push(stem.to_lowercase());
    }
    names
}

/// Detector of acknowledgements, which receives a text term by term.
#[derive(Default)]
struct Assent {
    words: usize,
    other: bool,
}

impl Assent {
    /// Adds a term of the text.
    fn hear(&mut self, term: &str, form: Form) {
        self.words += 1;
        self.other = self.other || form == Form::Bigram || !is_acknowledgement(term);
    }

    /// Returns whether the text is nothing but an acknowledgement.
    fn is_all(&self, text: &str) -> bool {
        // Stop words alone ("do it", "all of them") are not a request either.
        !self.other && (self.words > 0 || !text.trim().is_empty())
    }
}

/// Returns the distinct paths named in a text, in order.
fn paths(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let separates = |c: char| c.is_whitespace() || "`'\"()[]{}<>,;|*=".contains(c);
    for word in text.split(separates) {
        if let Some(path) = path_of(word)
            && !found.iter().any(|known| known == path)
        {
            found.push(path.to_owned());
            if found.len() == PATHS_MAX {
                break;
            }
        }
    }
    found
}

/// Returns the path in a word, without a line number, a leading `@` or `./`, and trailing punctuation; `None` if there
/// is none.
fn path_of(word: &str) -> Option<&str> {
    if !word.contains(['.', '/']) || word.contains("://") || word.len() > 300 {
        return None;
    }
    let mut path = word.trim_start_matches('@').trim_end_matches(['.', ':', '!', '?']);
    while let Some((head, tail)) = path.rsplit_once(':') {
        if tail.is_empty() || !tail.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            break;
        }
        path = head;
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = path.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    // `e.g` and `v1.2` are not files; `a/b.c` is one.
    let looks = stem.len() + extension.len() > 2 || path.contains('/');
    let extension_ok = (1..=8).contains(&extension.len())
        && extension.bytes().all(|b| b.is_ascii_alphanumeric())
        && extension.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    (looks && extension_ok).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_assent_are_no_request_and_words_of_work_are() {
        for text in [
            "ok",
            "Yes, please continue.",
            "go ahead",
            "thanks!",
            "do it",
            "2",
            "looks good",
            "try again",
        ] {
            assert!(Query::prompt(text).only_acknowledges, "{text}");
        }
        for text in
            ["commit", "push it", "run the tests", "release", "ok, now add a button", "修正"]
        {
            assert!(!Query::prompt(text).only_acknowledges, "{text}");
        }
    }

    #[test]
    fn named_paths_are_found() {
        let text = "Fix `src/net/client.rs:12`, @docs/a.md and ./x.py. See https://a.b/c.html, e.g. v1.2 or end.";
        assert_eq!(paths(text), ["src/net/client.rs", "docs/a.md", "x.py"]);
    }

    #[test]
    fn long_prompts_are_asked_by_paragraph() {
        let text = format!(
            "Implement the following plan:\n\n# Cache\n\n{}\n\n## Tests\n\n{}",
            "The reader keeps parsed files in memory. ".repeat(5),
            "Every case has a fixture of its own. ".repeat(5)
        );
        let query = Query::prompt(&text);
        assert_eq!(query.paragraphs.len(), 2);
        let words = |at: usize| -> Vec<&str> {
            query.paragraphs[at]
                .iter()
                .map(|&n| query.terms[usize::from(n)].text.as_str())
                .collect()
        };
        assert!(words(0).starts_with(&["cach", "reader"]), "{:?}", words(0));
        assert!(words(1).starts_with(&["test", "case"]), "{:?}", words(1));
    }

    #[test]
    fn a_file_is_mentioned_by_its_names_and_not_by_a_plain_word() {
        assert_eq!(
            names("src/net/HttpClient.ts"),
            ["src/net/httpclient.ts", "httpclient.ts", "httpclient"]
        );
        assert_eq!(names("src/main.rs"), ["src/main.rs", "main.rs"]);
        assert_eq!(names("Makefile"), Vec::<String>::new());
    }

    #[test]
    fn an_error_is_asked_without_what_varies() {
        let query =
            Query::error("make", "error: 12 of 3f2a9bc81d failed at 10:11:12 in `left_pad`");
        let words: Vec<_> = query.terms.iter().map(|term| term.text.as_str()).collect();
        assert_eq!(words, ["error", "fail", "left_pad", "left", "pad", "make"]);
    }
}
