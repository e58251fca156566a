//! Syntax of explicit search, in addition to plain words.
//!
//! ```text
//! parser comments                 either word; more matches rank higher
//! "keeps comments" parser         these words in this order; `parser` only ranks
//! parser -lexer                   documents without `lexer`
//! parser AND (comments OR NOT x)  all conditions must match; adjacent words are joined by AND too
//! kind:fix tag:ci path:src/a.rs since:2026-10-01 before:"last week" session:3f2a parser
//! ```
//!
//! Operators are written in capitals, to distinguish them from prose.

use crate::query::time_expression::{self, Span};
use memory_store_base::kind::Kind;
use memory_store_base::memory::Scope;
use memory_store_base::time::Timestamp;

/// Maximum number of characters of a text that may contain operators. Longer texts are error messages or prose.
const CHARS_MAX: usize = 600;
/// Maximum depth of parentheses.
const DEPTH_MAX: usize = 16;

/// A parsed search.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expression {
    /// Words for ranking, without those that are excluded.
    pub words: String,
    /// Conditions that a document must satisfy.
    pub must: Vec<Node>,
    /// True if conditions are joined by AND, OR or NOT, so that a document without any of the words may match.
    pub operators: bool,
    /// Words that look like a filter with a mistyped name.
    pub mistyped: Vec<String>,
}

/// A condition on a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// The document has this word.
    Word(String),
    /// The document has these words verbatim in this order.
    Phrase(String),
    /// The document passes the filter.
    Filter(Filter),
    /// The document does not satisfy the condition.
    Not(Box<Node>),
    /// The document satisfies all conditions.
    All(Vec<Node>),
    /// The document satisfies one of the conditions.
    Any(Vec<Node>),
}

/// A filter: a property that a document must have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// Kind of the document.
    Kind(Kind),
    /// One of the document's tags.
    Tag(String),
    /// Topic of the document, or the area of its topic.
    Topic(String),
    /// Scope of the document.
    Scope(ScopeName),
    /// File that the document is about.
    Path(String),
    /// Session of the document, by the start or end of its id.
    Session(String),
    /// Time of the document's event.
    When(Span),
    /// A time before or after the memory that matches the words best.
    Event {
        /// Search words for that memory.
        words: String,
        /// True for a time before it.
        before: bool,
    },
}

/// Name of the scope of a memory in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeName {
    /// Everywhere in the project.
    Project,
    /// In every project of the user.
    User,
    /// Where certain files are touched.
    Paths,
    /// In one subagent.
    Agent,
}

impl ScopeName {
    /// All names.
    pub const ALL: [(&str, Self); 4] = [
        ("project", Self::Project),
        ("user", Self::User),
        ("paths", Self::Paths),
        ("agent", Self::Agent),
    ];

    /// Returns the scope with a name.
    pub fn named(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, scope)| scope)
    }

    /// Returns the scope of a memory, by its field and its owner.
    pub fn of(scope: Scope, agent: Option<&str>) -> Self {
        match (agent, scope) {
            (Some(_), _) => Self::Agent,
            (None, Scope::Project) => Self::Project,
            (None, Scope::User) => Self::User,
            (None, Scope::Paths) => Self::Paths,
        }
    }
}

/// Parses a search. `exact` enables the syntax above for all text. Text that may be an error message is full of flags,
/// quotes and words in capitals: without `exact`, dashes exclude nothing, quotes require nothing, and `NOT NULL` is no
/// operator.
///
/// # Errors
///
/// A sentence for the user if the value of a filter is invalid.
pub(crate) fn parse(text: &str, now: Timestamp, exact: bool) -> Result<Expression, String> {
    if text.chars().nth(CHARS_MAX).is_some() {
        return Ok(Expression { words: text.to_owned(), ..Expression::default() });
    }
    let pieces = pieces(text, now, exact)?;
    let operators = pieces.iter().any(|piece| {
        matches!(piece, ExpressionToken::And | ExpressionToken::Or | ExpressionToken::Not)
    });
    let words = ranking(&pieces, operators);
    let must = if operators {
        let mut reader = ExpressionReader { pieces: &pieces, at: 0, depth: 0 };
        let mut all = Vec::new();
        while reader.at < pieces.len() {
            // A superfluous parenthesis is skipped.
            let before = reader.at;
            all.extend(reader.any());
            reader.at = reader.at.max(before + 1);
        }
        all
    } else {
        requirements(&pieces, exact)
    };
    let is_word = |piece: &ExpressionToken| match piece {
        ExpressionToken::Word(word) => mistyped_filter(word).map(str::to_owned),
        _ => None,
    };
    let mistyped = pieces.iter().filter_map(is_word).collect();
    Ok(Expression { words, must, operators, mistyped })
}

impl Node {
    /// Calls `each` with every word and phrase in the condition.
    pub(crate) fn each_text<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Word(text) | Self::Phrase(text) => each(text),
            Self::Filter(_) => {}
            Self::Not(node) => node.each_text(each),
            Self::All(nodes) | Self::Any(nodes) => {
                nodes.iter().for_each(|node| node.each_text(each));
            }
        }
    }

    /// Returns whether the condition consists only of topics.
    pub(crate) fn is_of_topics(&self) -> bool {
        match self {
            Self::Filter(filter) => matches!(filter, Filter::Topic(_)),
            Self::Word(_) | Self::Phrase(_) => false,
            Self::Not(node) => node.is_of_topics(),
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().all(Self::is_of_topics),
        }
    }

    /// Returns whether the condition consists only of filters, without words.
    pub(crate) fn is_filter(&self) -> bool {
        match self {
            Self::Word(_) | Self::Phrase(_) => false,
            Self::Filter(_) => true,
            Self::Not(node) => node.is_filter(),
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().all(Self::is_filter),
        }
    }

    /// Calls `each` with every topic in the condition.
    pub(crate) fn each_topic<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Filter(Filter::Topic(topic)) => each(topic),
            Self::Word(_) | Self::Phrase(_) | Self::Filter(_) => {}
            Self::Not(node) => node.each_topic(each),
            Self::All(nodes) | Self::Any(nodes) => {
                nodes.iter().for_each(|node| node.each_topic(each));
            }
        }
    }

    /// Returns whether the condition contains a filter for a file.
    pub(crate) fn asks_for_file(&self) -> bool {
        match self {
            Self::Filter(Filter::Path(_)) => true,
            Self::Word(_) | Self::Phrase(_) | Self::Filter(_) => false,
            Self::Not(node) => node.asks_for_file(),
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().any(Self::asks_for_file),
        }
    }

    /// Returns the part of the condition that is never dropped to find more: exclusions and filters. `None` if there is
    /// none.
    pub(crate) fn strict(&self) -> Option<Self> {
        match self {
            Self::Word(_) | Self::Phrase(_) => None,
            Self::Filter(_) | Self::Not(_) => Some(self.clone()),
            Self::All(nodes) => one_of(nodes.iter().filter_map(Self::strict).collect(), Self::All),
            Self::Any(nodes) => nodes.iter().all(Self::is_filter).then(|| self.clone()),
        }
    }
}

/// Token of a search.
#[derive(Clone, Debug, PartialEq)]
enum ExpressionToken {
    Word(String),
    Phrase(String),
    Filter(Filter),
    Minus,
    Open,
    Close,
    And,
    Or,
    Not,
}

fn pieces(text: &str, now: Timestamp, exact: bool) -> Result<Vec<ExpressionToken>, String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        rest = match rest.strip_prefix('-') {
            Some(after) if exact && excludes(after) => {
                pieces.push(ExpressionToken::Minus);
                after
            }
            _ => rest,
        };
        rest = piece(rest, now, &mut pieces)?.trim_start();
    }
    if !exact {
        quieten(&mut pieces);
    }
    Ok(pieces)
}

/// Treats operators before a word in capitals as words, as in `NOT NULL` and `INSERT OR REPLACE`.
fn quieten(pieces: &mut [ExpressionToken]) {
    for at in 0..pieces.len() {
        let name = match pieces[at] {
            ExpressionToken::And => "AND",
            ExpressionToken::Or => "OR",
            ExpressionToken::Not => "NOT",
            _ => continue,
        };
        let shouts =
            |word: &str| word.chars().any(char::is_uppercase) && word == word.to_uppercase();
        if matches!(pieces.get(at + 1), Some(ExpressionToken::Word(word)) if shouts(word)) {
            pieces[at] = ExpressionToken::Word(name.to_owned());
        }
    }
}

/// Returns whether a dash excludes the text after it: a word or a quotation, not a flag (`-n`, `--all`).
fn excludes(after: &str) -> bool {
    let mut characters = after.chars();
    match (characters.next(), characters.next()) {
        (Some('"' | '\u{201c}'), _) => true,
        (Some(first), Some(second)) => first.is_alphanumeric() && !second.is_whitespace(),
        _ => false,
    }
}

/// Reads one token. Returns the text after it.
fn piece<'a>(
    text: &'a str,
    now: Timestamp,
    pieces: &mut Vec<ExpressionToken>,
) -> Result<&'a str, String> {
    if let Some((phrase, rest)) = quoted(text) {
        if !phrase.trim().is_empty() {
            pieces.push(ExpressionToken::Phrase(phrase.trim().to_owned()));
        }
        return Ok(rest);
    }
    if let Some(rest) = text.strip_prefix('(') {
        pieces.push(ExpressionToken::Open);
        return Ok(rest);
    }
    if let Some(rest) = text.strip_prefix(')') {
        pieces.push(ExpressionToken::Close);
        return Ok(rest);
    }
    if let Some((key, value, rest)) = keyed(text)
        && let Some(filter) = filter(key, value, now)?
    {
        pieces.push(ExpressionToken::Filter(filter));
        return Ok(rest);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    // A parenthesis after a word does not belong to the word, but `f(x)` is one word.
    let word = &text[..end];
    let closing = word.len() - word.trim_end_matches(')').len();
    let opening = word.bytes().filter(|&byte| byte == b'(').count();
    let end = end - closing.saturating_sub(opening);
    pieces.push(match &text[..end] {
        "AND" => ExpressionToken::And,
        "OR" => ExpressionToken::Or,
        "NOT" => ExpressionToken::Not,
        word => ExpressionToken::Word(word.to_owned()),
    });
    Ok(&text[end..])
}

/// Returns the quoted text at the start, and the rest; `None` if there is none or the quotation is not closed.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let close = match text.chars().next()? {
        '"' => '"',
        '\u{201c}' => '\u{201d}',
        _ => return None,
    };
    let inner = &text[text.chars().next()?.len_utf8()..];
    let (phrase, rest) = inner.split_once(close)?;
    Some((phrase, rest))
}

/// Parses `key:value` at the start, where the value may be quoted. Returns key, value and rest; `None` if there is no
/// such text.
fn keyed(text: &str) -> Option<(&str, &str, &str)> {
    let (key, rest) = text.split_once(':')?;
    if !key.bytes().all(|byte| byte.is_ascii_lowercase()) || key.is_empty() {
        return None;
    }
    let (value, rest) = quoted(rest)
        .unwrap_or_else(|| rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())));
    let value = value.trim();
    (!value.is_empty() && !value.starts_with(':')).then_some((key, value, rest))
}

/// Returns the filter for a key and a value; `None` if the key is unknown.
fn filter(key: &str, value: &str, now: Timestamp) -> Result<Option<Filter>, String> {
    let owned = || value.to_owned();
    let time = |what: &dyn Fn(Span) -> Span, before: Option<bool>| {
        match (time_expression::whole(value, now), before) {
            (Some(span), _) => Ok(Filter::When(what(span))),
            // A value such as "the migration" means the time of the memory about it.
            (None, Some(before)) if value.contains(char::is_alphabetic) => {
                Ok(Filter::Event { words: owned(), before })
            }
            (None, _) => {
                Err(format!("`{value}` is no date; write {}", time_expression::TIME_FORMS))
            }
        }
    };
    Ok(Some(match key {
        "kind" => Filter::Kind(Kind::from_name(value).ok_or_else(|| {
            format!("`{value}` is no kind; there are: {}", Kind::ALL.map(Kind::name).join(", "))
        })?),
        "tag" => Filter::Tag(owned()),
        "topic" => Filter::Topic(owned()),
        "scope" => Filter::Scope(ScopeName::named(value).ok_or_else(|| {
            let known = ScopeName::ALL.map(|(name, _)| name).join(", ");
            format!("`{value}` is no scope; there are: {known}")
        })?),
        "path" | "file" => Filter::Path(owned()),
        "session" => Filter::Session(owned()),
        "since" => time(&|span| Span { from: span.from, to: None }, Some(false))?,
        "after" => time(&|span| Span { from: span.to, to: None }, Some(false))?,
        "before" => time(&|span| Span { from: None, to: span.from }, Some(true))?,
        "until" => time(&|span| Span { from: None, to: span.to }, None)?,
        "on" => time(&|span| span, None)?,
        _ => return Ok(None),
    }))
}

/// The names of filters.
pub(crate) const FILTERS: [&str; 12] = [
    "kind", "tag", "topic", "scope", "path", "file", "session", "since", "after", "before",
    "until", "on",
];

/// Minimum length of a filter name that may be mistyped. Shorter names are similar to too many words.
const NEAR_LETTERS_MIN: usize = 3;

/// Returns the name before a colon if it is nearly the name of a filter: one letter is wrong, or further letters follow
/// it, as in `filepath:`. `None` otherwise, and for texts such as `std::vector` and `http://host`.
fn mistyped_filter(word: &str) -> Option<&str> {
    let (name, value, _) = keyed(word)?;
    if value.starts_with("//") || name.len() < NEAR_LETTERS_MIN {
        return None;
    }
    let is_near = |known: &&str| {
        known.len() >= NEAR_LETTERS_MIN
            && (strsim::osa_distance(known, name) == 1
                || known.len() > NEAR_LETTERS_MIN && name.starts_with(*known))
    };
    FILTERS.iter().any(is_near).then_some(name)
}

/// Returns the words that are used for ranking.
fn ranking(pieces: &[ExpressionToken], operators: bool) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut excluded = false;
    for piece in pieces {
        match piece {
            ExpressionToken::Word(text) | ExpressionToken::Phrase(text) if !excluded => {
                words.push(text)
            }
            ExpressionToken::Not if operators => {
                excluded = true;
                continue;
            }
            ExpressionToken::Minus => {
                excluded = true;
                continue;
            }
            // After `NOT` or a dash, a parenthesis may follow, as in `NOT (a b)`. Its words are used for ranking; the
            // conditions exclude it as a whole.
            _ => {}
        }
        excluded = false;
    }
    words.join(" ")
}

/// Returns the conditions of a search without operators: phrases and filters must hold, and exclusions must not occur;
/// words are only for ranking. Several values of one key are alternatives.
fn requirements(pieces: &[ExpressionToken], exact: bool) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    let mut filters: Vec<Vec<Filter>> = Vec::new();
    let mut excluded = false;
    for piece in pieces {
        let node = match piece {
            ExpressionToken::Minus => {
                excluded = true;
                continue;
            }
            ExpressionToken::Word(text) if excluded => Some(Node::Word(text.clone())),
            ExpressionToken::Phrase(text) if exact => Some(Node::Phrase(text.clone())),
            ExpressionToken::Filter(filter) if excluded => Some(Node::Filter(filter.clone())),
            ExpressionToken::Filter(filter) => {
                match filters.iter_mut().find(|same| alternatives(&same[0], filter)) {
                    Some(same) => same.push(filter.clone()),
                    None => filters.push(vec![filter.clone()]),
                }
                None
            }
            ExpressionToken::Word(_)
            | ExpressionToken::Phrase(_)
            | ExpressionToken::Open
            | ExpressionToken::Close => None,
            ExpressionToken::And | ExpressionToken::Or | ExpressionToken::Not => None,
        };
        all.extend(node.map(|node| if excluded { Node::Not(Box::new(node)) } else { node }));
        excluded = false;
    }
    all.extend(filters.into_iter().map(|same| {
        let mut same: Vec<Node> = same.into_iter().map(Node::Filter).collect();
        if same.len() == 1 { same.remove(0) } else { Node::Any(same) }
    }));
    all
}

/// Returns whether two filters are alternative values of the same property. `since` and `before` are combined instead.
fn alternatives(a: &Filter, b: &Filter) -> bool {
    matches!(
        (a, b),
        (Filter::Kind(_), Filter::Kind(_))
            | (Filter::Tag(_), Filter::Tag(_))
            | (Filter::Topic(_), Filter::Topic(_))
            | (Filter::Scope(_), Filter::Scope(_))
            | (Filter::Path(_), Filter::Path(_))
            | (Filter::Session(_), Filter::Session(_))
    )
}

/// Parser of operators. NOT binds most closely, then AND and adjacent words, then OR.
struct ExpressionReader<'a> {
    pieces: &'a [ExpressionToken],
    at: usize,
    depth: usize,
}

impl ExpressionReader<'_> {
    fn any(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        loop {
            nodes.extend(self.all());
            if self.pieces.get(self.at) != Some(&ExpressionToken::Or) {
                break;
            }
            self.at += 1;
        }
        one_of(nodes, Node::Any)
    }

    fn all(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        loop {
            match self.pieces.get(self.at) {
                Some(ExpressionToken::And) => self.at += 1,
                Some(ExpressionToken::Or | ExpressionToken::Close) | None => break,
                Some(_) => nodes.extend(self.one()),
            }
        }
        one_of(nodes, Node::All)
    }

    fn one(&mut self) -> Option<Node> {
        let piece = self.pieces.get(self.at)?;
        self.at += 1;
        match piece {
            ExpressionToken::Word(text) => Some(Node::Word(text.clone())),
            ExpressionToken::Phrase(text) => Some(Node::Phrase(text.clone())),
            ExpressionToken::Filter(filter) => Some(Node::Filter(filter.clone())),
            ExpressionToken::Not | ExpressionToken::Minus => match self.pieces.get(self.at) {
                // An operator is in a place where a condition is expected.
                Some(ExpressionToken::And | ExpressionToken::Or | ExpressionToken::Close)
                | None => None,
                Some(_) if self.depth < DEPTH_MAX => {
                    self.depth += 1;
                    let node = self.one().map(|node| Node::Not(Box::new(node)));
                    self.depth -= 1;
                    node
                }
                Some(_) => None,
            },
            ExpressionToken::Open if self.depth < DEPTH_MAX => {
                self.depth += 1;
                let node = self.any();
                self.depth -= 1;
                // A parenthesis that is not closed extends to the end of the text.
                self.at += usize::from(self.pieces.get(self.at) == Some(&ExpressionToken::Close));
                node
            }
            ExpressionToken::Open
            | ExpressionToken::Close
            | ExpressionToken::And
            | ExpressionToken::Or => None,
        }
    }
}

fn one_of(mut nodes: Vec<Node>, many: impl Fn(Vec<Node>) -> Node) -> Option<Node> {
    match nodes.len() {
        0 => None,
        1 => nodes.pop(),
        _ => Some(many(nodes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Expression {
        parse(text, Timestamp::parse("2026-10-14").unwrap(), true).unwrap()
    }

    /// Returns the conditions as one line.
    fn shown(node: &Node) -> String {
        let list = |nodes: &[Node], with: &str| {
            format!("({})", nodes.iter().map(shown).collect::<Vec<_>>().join(with))
        };
        match node {
            Node::Word(word) => word.clone(),
            Node::Phrase(phrase) => format!("\"{phrase}\""),
            Node::Filter(filter) => format!("{filter:?}"),
            Node::Not(node) => format!("!{}", shown(node)),
            Node::All(nodes) => list(nodes, " & "),
            Node::Any(nodes) => list(nodes, " | "),
        }
    }

    fn must(text: &str) -> String {
        parsed(text).must.iter().map(shown).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn words_only_rank_and_quotes_and_dashes_are_required() {
        assert_eq!(
            (parsed("why cents?").words.as_str(), must("why cents?")),
            ("why cents?", String::new())
        );
        let text = "\"keeps comments\" parser -lexer -\"old one\"";
        assert_eq!(parsed(text).words, "keeps comments parser");
        assert_eq!(must(text), "\"keeps comments\"; !lexer; !\"old one\"");
        // Flags, dashes in prose and unclosed quotes are not operators.
        for text in ["tail -n 5", "git commit --no-verify", "a - b", "the 5\" disk", "(see above)"]
        {
            assert_eq!(must(text), "", "{text}");
        }
        for text in ["cc -lfoo failed", "unexpected \"}\" here", "NOT NULL constraint failed"] {
            assert_eq!(parse(text, Timestamp(0), false).unwrap().must, [], "{text}");
        }
        assert_eq!(parse("a AND NOT b", Timestamp(0), false).unwrap().must.len(), 1);
    }

    #[test]
    fn operators_bind_as_usual() {
        assert_eq!(must("a AND b OR c AND NOT d"), "((a & b) | (c & !d))");
        assert_eq!(must("a AND (b OR c) d"), "(a & (b | c) & d)");
        assert_eq!(must("NOT \"x y\" AND f(x)"), "(!\"x y\" & f(x))");
        assert_eq!(must("a OR -beta"), "(a | !beta)");
        assert_eq!(parsed("a AND NOT b").words, "a");
        assert_eq!(must("salt and pepper or not"), "");
    }

    #[test]
    fn broken_operators_are_read_as_well_as_possible() {
        for (text, expected) in [
            ("AND", ""),
            ("a AND", "a"),
            ("OR a", "a"),
            ("a AND )", "a"),
            ("(a AND b", "(a & b)"),
            (") a AND b)", "(a & b)"),
            ("NOT NOT a", "!!a"),
            ("NOT AND a", "a"),
        ] {
            assert_eq!(must(text), expected, "{text}");
        }
        must(&format!("{} a AND b", "(".repeat(500)));
        must(&format!("{}a", "NOT ".repeat(140)));
    }

    #[test]
    fn filters_are_read_and_those_of_one_key_are_alternatives() {
        let text =
            "kind:fix kind:gotcha path:\"src/a b.rs\" since:2026-10-01 before:yesterday busy";
        assert_eq!(parsed(text).words, "busy");
        assert_eq!(
            must(text),
            "(Kind(Fix) | Kind(Gotcha)); Path(\"src/a b.rs\"); \
             When(Span { from: Some(Timestamp(1790812800000)), to: None }); \
             When(Span { from: None, to: Some(Timestamp(1791849600000)) })"
        );
        assert_eq!(must("-tag:ci x"), "!Tag(\"ci\")");
        assert_eq!(
            must("before:\"the migration\""),
            "Event { words: \"the migration\", before: true }"
        );
        assert_eq!(must("std::fs error: kind: http://x tag: y"), "");
        let wrong = |text: &str| parse(text, Timestamp(0), true).unwrap_err();
        assert!(wrong("kind:poem").contains("failed-approach"));
        assert!(wrong("on:soon").contains("2026-10-02"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "(a|b|AND|OR|NOT|\\(|\\)|\"|-| |kind:|since:|é|“|”){0,40}") {
            let _ = parse(&text, Timestamp(0), true);
        }
    }
}
