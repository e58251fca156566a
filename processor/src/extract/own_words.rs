//! Finds the sentences of a prompt that its author addresses to Claude. All other text is *material*: pasted or quoted
//! text, or text that Claude must work on. Material never contains wishes, regardless of its words. A sentence counts
//! as material in case of doubt.
//!
//! The decision depends on structure. Material with marks (a fence, `>`, an element, quotation marks) ends at its
//! closing mark. Material in the form of a document (a chat, a log, a mail, a table, code) ends with its paragraph. A
//! pasted paragraph has neither. Therefore the prompt is searched for a sentence that *points* to a text: the sentence
//! ends with a colon, asks for work on a text ("translate"), or contains "this", "below" or "following". If a prompt
//! points to a text without marks, only the sentences that ask for the work are the author's.

use std::ops::Range;
use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};
use super::wishes::{has_wish, stands};
use super::words;

/// Minimum number of words in a quotation or an element that counts as a statement. A shorter one is a name or a value.
const QUOTED_WORDS_MIN: usize = 4;
/// Maximum size of one quotation in bytes.
const QUOTATION_BYTES_MAX: usize = 4 << 10;
/// Maximum number of elements whose end is searched for.
const ELEMENTS_MAX: usize = 200;
/// Maximum number of sentences in a paragraph that contains no request but is next to one. A longer paragraph counts as
/// a document.
const BESIDE_SENTENCES_MAX: usize = 3;
/// Maximum number of words in such a paragraph.
const BESIDE_WORDS_MAX: usize = 60;
/// Maximum number of characters of a name in front of a statement.
const LABEL_CHARS_MAX: usize = 24;
/// Placeholder for each byte of material with marks.
const MASK: char = '\u{1}';

/// Returns the sentences that the author of a prompt addresses to Claude, each as a separate paragraph.
pub fn own_words(prompt: &str) -> String {
    let prompt = CutPrompt::read(prompt);
    let parts = prompt.own_segments().into_iter().flat_map(|at| prompt.parts(at));
    let own = parts.filter(|part| part.is_own).filter_map(|part| {
        // The author may quote example words in a wish. In any other sentence, a quotation contains another person's
        // words.
        match is_wish(&outside_quotations(&prompt.text[part.range.clone()])) {
            true => {
                prompt.is_own_wish(&part.range).then(|| prompt.text[part.range].trim().to_owned())
            }
            false => Some(prompt.without_marked(part.range).trim().to_owned()),
        }
    });
    own.filter(|sentence| !sentence.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the part of a prompt that asks for work, without material. If the prompt contains only material, returns the
/// first question in it.
pub fn request(prompt: &str) -> String {
    let prompt = CutPrompt::read(prompt);
    let own = prompt.own_segments();
    let at = own.iter().copied().find(|&at| prompt.asks(at)).or(own.first().copied());
    let Some(at) = at.or_else(|| prompt.asking_end()) else { return prompt.first_question() };
    let parts = prompt.parts(at).into_iter();
    parts.map(|part| prompt.without_marked(part.range)).collect::<String>().trim().to_owned()
}

/// Returns a sentence without its quotations.
pub fn outside_quotations(sentence: &str) -> String {
    masked(sentence).chars().filter(|&c| c != MASK).collect()
}

/// Form of a group of lines in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineForm {
    /// Sentences.
    Prose,
    /// Items of a list.
    List,
    /// Lines of a document, a chat, a log, a mail, a table or code.
    Formal,
    /// Material with marks, and no other text.
    Marked,
}

/// Lines that belong together.
#[derive(Clone, Debug)]
struct LineGroup {
    range: Range<usize>,
    form: LineForm,
}

/// A prompt, cut into segments.
struct CutPrompt<'p> {
    text: &'p str,
    /// The text, with each byte of material with marks replaced by a placeholder. Offsets are the same as in the text.
    masked: String,
    segments: Vec<LineGroup>,
}

impl<'p> CutPrompt<'p> {
    fn read(text: &'p str) -> Self {
        let masked = masked(text);
        let segments = segments(&masked);
        Self { text, masked, segments }
    }

    fn of(&self, at: usize) -> &str {
        self.masked[self.segments[at].range.clone()].trim()
    }

    fn is(&self, at: usize, form: LineForm) -> bool {
        self.segments.get(at).is_some_and(|segment| segment.form == form)
    }

    /// Returns a part of the text, with an ellipsis in place of material with marks.
    fn without_marked(&self, range: Range<usize>) -> String {
        let mut told = String::new();
        for (at, c) in self.text[range.clone()].char_indices() {
            match self.masked.as_bytes().get(range.start + at) {
                Some(1) if told.ends_with('…') => {}
                Some(1) => told.push('…'),
                _ => told.push(c),
            }
        }
        told
    }

    /// Returns the indexes of the segments of prose.
    fn prose(&self) -> Vec<usize> {
        (0..self.segments.len()).filter(|&at| self.is(at, LineForm::Prose)).collect()
    }

    /// Returns the indexes of the segments that the author addresses to Claude.
    fn own_segments(&self) -> Vec<usize> {
        let prose = self.prose();
        let (Some(&first), Some(&last)) = (prose.first(), prose.last()) else { return Vec::new() };
        let has_document = self.segments.iter().any(|segment| segment.form == LineForm::Formal);
        let lists: Vec<usize> =
            (0..self.segments.len()).filter(|&at| self.is(at, LineForm::List)).collect();
        // A list of rules by the author: an introduction such as "From now on:", followed by items.
        if !has_document && prose == [0] && lists == [1] && self.lists_own_rules(0) {
            return vec![0, 1];
        }
        if prose.len() == 1 && !has_document && lists.is_empty() {
            return prose;
        }
        // Material after an announcement extends to the end of the prompt.
        if let Some(&announcing) = prose.iter().find(|&&at| self.announces(at)) {
            let before = &prose[..=prose.partition_point(|&at| at < announcing)];
            let is_plain = before.iter().enumerate().all(|(number, &at)| at == number)
                && before[..before.len() - 1].iter().all(|&at| !self.points(at));
            return if is_plain { before.to_vec() } else { Vec::new() };
        }
        let pointing: Vec<usize> = prose.iter().copied().filter(|&at| self.points(at)).collect();
        let asking = self.asking_end();
        if pointing.is_empty() && !has_document && lists.is_empty() {
            // Next to a request, a segment counts as addressed to Claude if it asks for something, or if it is short
            // and addresses Claude.
            let is_said = |&at: &usize| self.asks(at) || self.is_short(at) && self.is_addressed(at);
            let is_all_said = prose.iter().all(is_said);
            return if is_all_said { prose } else { asking.into_iter().collect() };
        }
        // The text that a segment points to is after the first segment or before the last one.
        let is_at_end = pointing.iter().all(|&at| Some(at) == asking);
        let ends_prompt = asking.is_some_and(|at| at == first && at == 0 || at == last);
        if is_at_end && ends_prompt { asking.into_iter().collect() } else { Vec::new() }
    }

    /// Returns whether no other part of the prompt attributes a wish to another person. Each other sentence must
    /// address Claude, must not name a source, and must not ask for work on a text. No sentence after the wish may ask
    /// about the wish.
    fn is_own_wish(&self, wish: &Range<usize>) -> bool {
        let shown = (0..self.segments.len()).filter(|&at| !self.is(at, LineForm::Marked));
        let mut others =
            shown.flat_map(|at| self.sentences(at)).filter(|range| range.start != wish.start);
        is_wish_of_author(&outside_quotations(&self.text[wish.clone()]))
            && others.all(|range| {
                let is_behind = range.start > wish.start;
                speaks_to_claude(self.masked[range].trim(), is_behind)
            })
    }

    /// Returns the first sentence in the first or last segment that asks for something and contains no wish. Either
    /// segment may be material.
    fn first_question(&self) -> String {
        let prose = self.prose();
        let ends = prose.first().into_iter().chain(prose.last());
        let sentences = ends.flat_map(|&at| self.sentences(at));
        let mut asking = sentences.filter(|range| {
            let sentence = self.masked[range.clone()].trim();
            asks(sentence) && !has_wish(sentence) && Report::of(sentence) == Report::None
        });
        asking.next().map_or(String::new(), |range| self.without_marked(range).trim().to_owned())
    }

    /// Returns the segment of prose that asks for something: the first or the last one of the prompt. Returns `None` if
    /// both ask for something, or neither.
    fn asking_end(&self) -> Option<usize> {
        let prose = self.prose();
        let (first, last) = (*prose.first()?, *prose.last()?);
        match (self.asks(first), self.asks(last)) {
            _ if first == last => Some(first),
            (true, false) => Some(first),
            (false, true) => Some(last),
            (true, true) | (false, false) => None,
        }
    }

    /// Returns whether a segment ends with a colon and material without marks follows.
    fn announces(&self, at: usize) -> bool {
        let is_marked = self.is(at + 1, LineForm::Marked) || at + 1 >= self.segments.len();
        self.of(at).ends_with([':', '：']) && !is_marked
    }

    /// Returns whether a segment points to an adjacent text that has no marks.
    fn points(&self, at: usize) -> bool {
        let is_marked = self.is(at + 1, LineForm::Marked)
            || at > 0 && self.is(at - 1, LineForm::Marked)
            || self.of(at).contains(MASK);
        !is_marked && (WORKS_ON_TEXT.is_match(self.of(at)) || points(self.of(at)))
    }

    /// Returns whether a segment asks Claude for something.
    fn asks(&self, at: usize) -> bool {
        self.sentences(at).into_iter().any(|range| asks(self.masked[range].trim()))
    }

    /// Returns whether a segment is short enough to be a remark next to a request.
    fn is_short(&self, at: usize) -> bool {
        let sentences = self.sentences(at).len();
        sentences <= BESIDE_SENTENCES_MAX && count(self.of(at)) <= BESIDE_WORDS_MAX
    }

    /// Returns whether a segment addresses Claude or mentions this project.
    fn is_addressed(&self, at: usize) -> bool {
        ADDRESSED.is_match(self.of(at))
    }

    /// Returns whether a segment introduces rules of the author.
    fn lists_own_rules(&self, at: usize) -> bool {
        let head = self.of(at);
        head.ends_with([':', '：']) && OWN_RULES.is_match(head) && !WORKS_ON_TEXT.is_match(head)
    }

    /// Returns the sentences of a segment.
    fn sentences(&self, at: usize) -> Vec<Range<usize>> {
        let range = self.segments[at].range.clone();
        if self.is(at, LineForm::List) {
            return vec![range];
        }
        let start = range.start;
        let sentences = sentences(&self.masked[range]).into_iter();
        sentences.map(|sentence| start + sentence.start..start + sentence.end).collect()
    }

    /// Returns the parts of a segment that are the author's words: sentences without reported speech, and the text
    /// before reported speech. Text after a colon, and text to work on, may extend over several sentences.
    fn parts(&self, at: usize) -> Vec<OwnPart> {
        let sentences = self.sentences(at);
        let text = |range: &Range<usize>| self.masked[range.clone()].trim();
        // A segment with several labels, such as "Story: ... Acceptance: ...", is a completed form.
        let is_named = |name: &str| !is_own_head(name) && !SPEAKS.is_match(name);
        let named =
            sentences.iter().filter_map(|range| label(text(range))).filter(|it| is_named(it));
        if named.count() > 1 && !self.is(at, LineForm::List) {
            return Vec::new();
        }
        let is_alone = self.segments.len() == 1 && !self.masked.contains(MASK);
        let mut parts = Vec::new();
        let mut goes_on = false;
        for (number, range) in sentences.iter().enumerate() {
            let sentence = text(range);
            if goes_on {
                let is_question = sentence.ends_with(['?', '？']) && !parts.is_empty();
                parts.extend(is_question.then(|| OwnPart { range: range.clone(), is_own: false }));
                continue;
            }
            let report = Report::of(sentence);
            let is_of_text = WORKS_ON_TEXT.is_match(sentence) || asks(sentence) && points(sentence);
            let is_last = number + 1 == sentences.len();
            goes_on = report == Report::Open || is_alone && !is_last && is_of_text;
            let is_own = report == Report::None;
            let end = match speech_of(&self.masked[range.clone()]) {
                Some(colon) => range.start + colon,
                None if is_own => range.end,
                None => continue,
            };
            parts.push(OwnPart { range: range.start..end, is_own });
        }
        parts
    }
}

/// A part of a prompt with words of the author.
struct OwnPart {
    range: Range<usize>,
    /// Whether the part is a whole sentence that the author addresses to Claude.
    is_own: bool,
}

/// Reported speech in a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Report {
    /// There is no reported speech.
    None,
    /// The reported speech ends with the sentence, or with marks within the sentence.
    Closed,
    /// The reported speech may continue in the next sentence.
    Open,
}

impl Report {
    fn of(sentence: &str) -> Self {
        let is_marked = sentence.contains(MASK);
        match (speech_of(sentence), has_reported_speech(sentence)) {
            (None, false) => Self::None,
            (Some(_), _) if is_marked => Self::Closed,
            (_, true) if is_marked => Self::Closed,
            (Some(_), _) | (_, true) => Self::Open,
        }
    }
}

/// Returns the position of the colon before reported speech or before text to work on; `None` if there is none.
fn speech_of(sentence: &str) -> Option<usize> {
    let colon = sentence.find(": ").or_else(|| sentence.find('：'));
    let at = colon.or_else(|| sentence.trim_end().strip_suffix(':').map(str::len))?;
    let (head, tail) = (sentence[..at].trim(), &sentence[at..]);
    // A wish may follow a topic or an introduction by the author.
    let is_own = || is_own_head(head) || !has_wish(tail);
    (is_others(head) || !is_own()).then_some(at)
}

/// Returns whether the words before a colon are an author's introduction to a wish.
fn is_own_head(head: &str) -> bool {
    is_topic(head) || stands(head) || SELF.is_match(head) || LEADS_IN.is_match(head)
}

/// Returns whether a few words before a colon name the topic of a wish.
fn is_topic(head: &str) -> bool {
    TOPIC.is_match(head) && !OF_DOCUMENTS.is_match(head) && !SPEAKS.is_match(head)
}

/// Returns whether the words before a colon attribute the text after it to another person.
fn is_others(head: &str) -> bool {
    OLD.is_match(head)
        || !SELF.is_match(head)
            && !stands(head)
            && !is_topic(head)
            && (SPEAKS.is_match(head)
                || WORKS_ON_TEXT.is_match(head)
                || OWNED.is_match(head)
                || LABEL.is_match(head)
                || asks(head)
                || has_reported_speech(head))
}

/// Returns whether a sentence reports another person's statement.
fn has_reported_speech(sentence: &str) -> bool {
    [&ACCORDING_TO, &TELLS, &TELLS_THAT, &OLD].iter().any(|it| it.is_match(sentence))
        && !BETWEEN_US.is_match(sentence)
}

/// Returns whether a sentence asks Claude for something.
fn asks(sentence: &str) -> bool {
    sentence.trim_end_matches(['"', ')', '\'']).ends_with(['?', '？'])
        || words::REQUEST.is_match(sentence)
        || ASKS.is_match(sentence)
        || WORKS_ON_TEXT.is_match(sentence)
}

/// Returns whether a sentence contains a wish or describes a habit.
fn is_wish(sentence: &str) -> bool {
    has_wish(sentence) || words::HABIT.is_match(sentence)
}

/// Returns whether a wish is its author's: it is not attributed to another person and not intended as part of a text.
fn is_wish_of_author(wish: &str) -> bool {
    // A wish may ask for a text to be inserted or displayed. That text follows the verb.
    let is_put_in = PUTS_IN.find(wish).is_some_and(|found| match found.start() {
        0 => !is_wish(found.as_str()),
        start => !is_wish(&wish[..start]),
    });
    // A wish after a comma may be part of a request to work on a text.
    let head = wish.split([',', '，']).next().unwrap_or_default();
    let names_text =
        || head.split(' ').any(|word| ["it", "them", "das", "es", "ça", "lo"].contains(&word));
    let is_behind_request =
        head.len() < wish.len() && !is_wish(head) && (asks(head) || names_text());
    let is_material = [&SOURCE, &DOUBT, &ROLE, &STARTS_INSIDE, &EXPLAINS, &WORKS_ON_TEXT]
        .iter()
        .any(|it| it.is_match(wish));
    !is_put_in && !is_behind_request && !is_material
}

/// Returns whether a sentence next to a wish addresses Claude about the work, and names no text or person that may be
/// the source of the wish.
fn speaks_to_claude(sentence: &str, is_behind_wish: bool) -> bool {
    /// Maximum number of words of a request whose only object is a pronoun such as "it".
    const SHORT_WORDS_MAX: usize = 8;
    if is_wish(sentence) {
        return is_wish_of_author(sentence);
    }
    let is_about_wish = is_behind_wish
        && (sentence.contains(['?', '？'])
            || count(sentence) <= SHORT_WORDS_MAX && PRONOUN.is_match(sentence));
    let is_head = sentence.ends_with([':', '：']) && OWN_RULES.is_match(sentence);
    let is_said =
        is_head || asks(sentence) || ADDRESSED.is_match(sentence) || INTERJECTS.is_match(sentence);
    let is_material = [&SOURCE, &DOUBT, &ROLE, &NAMES_TEXT, &EXPLAINS, &WORKS_ON_TEXT]
        .iter()
        .any(|it| it.is_match(sentence));
    is_said && !is_about_wish && !is_material
}

/// Returns whether a text points to an adjacent text.
fn points(text: &str) -> bool {
    POINTS.find_iter(text).any(|found| {
        let rest = text[found.end()..].trim_start();
        let next: Vec<&str> = rest.split_whitespace().take(2).collect();
        // "This bug" and "this project" are not references to a text.
        let is_of_code = next.iter().any(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            OF_CODE.contains(&word.trim_end_matches('s')) || OF_CODE.contains(&word.as_str())
        });
        !is_of_code
    })
}

/// Returns the number of words. In scripts without spaces, two characters count as one word.
pub fn count(text: &str) -> usize {
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
    let is_dense = |c: &char| matches!(u32::from(*c), 0x3040..=0x30FF | 0x3400..=0x9FFF);
    let of_word = |word: &str| word.chars().filter(is_dense).count().div_ceil(2).max(1);
    words.map(of_word).sum()
}

/// Replaces material with marks by placeholders: elements, fenced text, quoted lines, and quotations.
fn masked(text: &str) -> String {
    let mut masked = text.to_owned();
    for find in [elements, fences, quoted_lines, quotations] {
        let mut next = String::with_capacity(masked.len());
        let mut done = 0;
        for range in find(&masked) {
            next.push_str(&masked[done..range.start]);
            for c in masked[range.clone()].chars() {
                match c {
                    '\n' => next.push('\n'),
                    c => next.extend(std::iter::repeat_n(MASK, c.len_utf8())),
                }
            }
            done = range.end;
        }
        next.push_str(&masked[done..]);
        masked = next;
    }
    masked
}

/// Returns the ranges of elements, such as `<article>...</article>`. An unclosed element that opens on a separate line
/// extends to the end.
fn elements(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut done = 0;
    for open in ELEMENT.captures_iter(text).take(ELEMENTS_MAX) {
        let (Some(tag), name) = (open.get(0), &open[1]) else { continue };
        if tag.start() < done || DRESS.contains(&name.to_ascii_lowercase().as_str()) {
            continue;
        }
        let close = format!("</{name}>");
        let is_own_line = text[..tag.start()].trim_end_matches([' ', '\t']).ends_with('\n')
            && text[tag.end()..].starts_with('\n');
        let end = match text[tag.end()..].find(&close) {
            Some(length) => tag.end() + length + close.len(),
            None if is_own_line => text.len(),
            None => continue,
        };
        if count(&text[tag.end()..end]) >= QUOTED_WORDS_MIN {
            found.push(tag.start()..end);
            done = end;
        }
    }
    found
}

/// Returns the ranges of fenced lines. An unclosed fence extends to the end.
fn fences(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (start, line) in lines(text) {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (open, mark) {
            (None, Some(mark)) => open = Some((start, mark)),
            (Some((from, opened)), Some(mark)) if opened == mark => {
                found.push(from..start + line.len());
                open = None;
            }
            (None | Some(_), _) => {}
        }
    }
    found.extend(open.map(|(from, _)| from..text.len()));
    found
}

/// Returns the ranges of lines that start with `>`.
fn quoted_lines(text: &str) -> Vec<Range<usize>> {
    let quoted = lines(text).filter(|(_, line)| line.trim_start().starts_with('>'));
    quoted.map(|(start, line)| start..start + line.len()).collect()
}

/// Returns the ranges of quotations of several words, including their marks.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut done = 0;
    for (at, c) in text.char_indices() {
        let Some((_, closing)) = MARKS.iter().find(|(open, _)| *open == c && at >= done) else {
            continue;
        };
        let Some((end, mark)) = quotation_end(text, at, c, closing) else { continue };
        // A quotation after a colon may be short.
        let is_speech = text[..at].ends_with(": ");
        if is_speech || count(&text[at + c.len_utf8()..end]) >= QUOTED_WORDS_MIN {
            done = end + mark.len_utf8();
            found.push(at..done);
        }
    }
    found
}

/// Returns the end of a quotation that opens at `at`, and its closing mark; `None` if it is not closed.
fn quotation_end(text: &str, at: usize, open: char, closing: &[char]) -> Option<(usize, char)> {
    let is_plain = matches!(open, '"' | '\'' | '`' | '‘' | '»');
    let before = text[..at].chars().next_back();
    let inner = &text[at + open.len_utf8()..];
    let opens =
        before.is_none_or(|c| !c.is_alphanumeric()) && !inner.starts_with(char::is_whitespace);
    if is_plain && !opens {
        return None;
    }
    let inner = &inner[..inner.floor_char_boundary(QUOTATION_BYTES_MAX)];
    let closes = |(end, c): &(usize, char)| {
        let after = inner[end + c.len_utf8()..].chars().next();
        closing.contains(c) && (!is_plain || after.is_none_or(|c| !c.is_alphanumeric()))
    };
    let (end, mark) = inner.char_indices().find(closes)?;
    // Otherwise an apostrophe could be matched with one in a later paragraph.
    let crosses = is_plain && inner[..end].contains("\n\n");
    (!crosses).then_some((at + open.len_utf8() + end, mark))
}

/// Returns the lines with their byte offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line.trim_end_matches(['\n', '\r']))
    })
}

/// Cuts a text with placeholders into segments.
fn segments(text: &str) -> Vec<LineGroup> {
    let mail = mail_lines(text);
    let labelled = lines(text).filter(|(_, line)| label(line).is_some()).count() > 1;
    let mut segments: Vec<LineGroup> = Vec::new();
    // Whether the next line continues the current paragraph.
    let mut goes_on = false;
    for (number, (start, line)) in lines(text).enumerate() {
        if line.trim().is_empty() {
            goes_on = false;
            continue;
        }
        let range = start..start + line.len();
        let last = segments.last_mut().filter(|_| goes_on);
        let form = match last.as_ref().map(|last| last.form) {
            // A document extends to the end of the paragraph.
            Some(LineForm::Formal) => LineForm::Formal,
            _ if mail[number] || labelled && label(line).is_some() => LineForm::Formal,
            Some(LineForm::List) if line.starts_with([' ', '\t']) => LineForm::List,
            _ => form_of(line),
        };
        goes_on = true;
        match last {
            Some(last)
                if last.form == form
                    && (form != LineForm::Prose || is_broken(&text[last.range.clone()], line)) =>
            {
                last.range.end = range.end;
            }
            _ if is_greeting(line) || THANKS.is_match(line) => goes_on = false,
            _ => segments.push(LineGroup { range, form }),
        }
    }
    segments
}

/// Returns whether a line continues the sentence of the previous line, because the text was wrapped.
fn is_broken(above: &str, line: &str) -> bool {
    /// Minimum number of characters of a wrapped line.
    const LONG_CHARS_MIN: usize = 50;
    let ends = ['.', '!', '?', ':', '…', ';', '。', '！', '？', '：', '"', '”', '»', ')', MASK];
    let last = above.lines().next_back().unwrap_or_default();
    let goes_on = line.trim_start().starts_with(char::is_lowercase)
        || last.trim_end().ends_with(',')
        || last.chars().count() >= LONG_CHARS_MIN;
    !last.trim_end().ends_with(ends) && goes_on
}

fn form_of(line: &str) -> LineForm {
    let has_words = line.contains(char::is_alphanumeric);
    if !has_words && line.contains(MASK) {
        LineForm::Marked
    } else if !has_words || DOCUMENT.is_match(line) || MACHINE_LINE.is_match(line) {
        LineForm::Formal
    } else if ITEM.is_match(line) {
        LineForm::List
    } else {
        LineForm::Prose
    }
}

/// Returns the name at the start of a line in a chat or in a list of statements; `None` if there is none.
fn label(line: &str) -> Option<&str> {
    let found = NAMED_LINE.captures(line)?;
    let name = found.get(1).or(found.get(2))?;
    (name.as_str().chars().count() <= LABEL_CHARS_MAX).then(|| &line[name.range()])
}

/// Returns whether a line greets Claude, or greets without a name.
fn is_greeting(line: &str) -> bool {
    GREETING.is_match(line) && (TO_CLAUDE.is_match(line) || count(line) == 1)
}

/// Returns, for each line, whether it is part of a mail. A mail extends from its header to the end of the prompt, or
/// from its greeting to its closing and the name after that.
fn mail_lines(text: &str) -> Vec<bool> {
    /// Maximum number of lines with name and address below the closing of a mail.
    const NAME_LINES_MAX: usize = 3;
    let lines: Vec<&str> = lines(text).map(|(_, line)| line).collect();
    let mut mail = vec![false; lines.len()];
    let fields: Vec<usize> = (0..lines.len()).filter(|&at| FIELD.is_match(lines[at])).collect();
    if let Some(pair) = fields.windows(2).find(|pair| pair[1] <= pair[0] + 2) {
        mail[pair[0]..].fill(true);
        return mail;
    }
    let greets = |line: &&str| GREETING.is_match(line) && !is_greeting(line);
    let greeting = lines.iter().position(greets);
    let farewell = lines.iter().rposition(|line| FAREWELL.is_match(line));
    if let Some(at) = farewell {
        let below = lines[at + 1..].iter();
        let named = below.take(NAME_LINES_MAX).take_while(|line| !line.trim().is_empty()).count();
        // Without a greeting, the mail begins after the first paragraph, which is the author's own.
        let gap = lines[..at].iter().position(|line| line.trim().is_empty());
        let first = greeting.filter(|&first| first < at).or(gap).unwrap_or(at);
        mail[first..=at + named].fill(true);
    } else if let Some(at) = greeting {
        mail[at] = true;
    }
    mail
}

/// Returns the sentences of a paragraph with placeholders. Sentences need not start with a capital letter.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let rest = &text[end..];
        let is_end = match c {
            '.' | '!' | '?' | '…' => {
                let close = rest.trim_start_matches(['"', '\'', ')', '”', '’', '*', MASK]);
                (close.is_empty() || close.starts_with(char::is_whitespace))
                    && !is_abbreviation(&text[start..end])
                    && begins_sentence(close.trim_start(), &text[start..end])
            }
            '。' | '！' | '？' => true,
            '\n' => text[start..at].trim_end().ends_with(['.', '!', '?', ':']),
            // Closing marks after the end of a sentence belong to the sentence.
            _ => false,
        };
        if is_end && end > start {
            let close = rest.len() - rest.trim_start_matches(['"', '\'', ')', '”', '’', '*']).len();
            found.push(start..end + close);
            start = end + close;
        }
    }
    if !text[start.min(text.len())..].trim().is_empty() {
        found.push(start..text.len());
    }
    found.retain(|range| !text[range.clone()].trim().is_empty());
    found
}

fn is_abbreviation(text: &str) -> bool {
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = last.trim_start_matches(['(', '"', '\'', '*']).trim_end_matches('.');
    let is_number = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let known =
        ["e.g", "i.e", "etc", "vs", "cf", "approx", "no", "fig", "resp", "mr", "dr", "incl"];
    text.ends_with('.') && (is_number || known.contains(&word.to_ascii_lowercase().as_str()))
}

/// Returns whether a sentence may begin here. It may begin with a small letter only if the previous sentence did.
fn begins_sentence(rest: &str, before: &str) -> bool {
    let is_small = |text: &str| text.trim_start().starts_with(char::is_lowercase);
    !is_small(rest) || is_small(before)
}

/// Nouns for texts that are written for human readers.
const TEXT: &str = r"(?:(?:e-?)?mails?|messages?|tickets?|letters?|articles?|posts?|threads?|transcripts?|tweets?|texts?|paragraphs?|sentences?|minutes|polic(?:y|ies)|spec(?:ification)?s?|assignments?|poems?|haikus?|stor(?:y|ies)|speech(?:es)?|ads?|adverts?|announcements?|notices?|clauses?|contracts?|licen[cs]es?|faqs?|subtitles?|lyrics|quotes?|quotations?|snippets?|repl(?:y|ies)|excerpts?|translations?|chats?|conversations?|instructions|guidelines|readme|handbooks?|wiki|feedback|reviews?|reports?|interviews?|surveys?|dialogues?|scripts? of|recipes?|leaflets?|brochures?|slides|essays?|abstracts?|blurbs?|bios?|captions?|testimonials?)";

/// Returns a pattern in which `TEXT` is replaced by the nouns in [`TEXT`].
fn with_text(text: &str) -> Pattern {
    pattern(&text.replace("TEXT", TEXT))
}

macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $make:ident($text:expr $(,)?);)*) => {
        $($(#[$doc])* static $name: LazyLock<Pattern> = LazyLock::new(|| $make($text));)*

        /// All patterns of this file, for the test that compares their forms.
        #[cfg(test)]
        pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[$(&$name),*];
    };
}

patterns! {
    /// Another person, or a statement of another person. Each language has one line.
    SOURCE = pattern(r"(?ix)\b(?:the|an?|our|my|your|his|her|their|this|some|one|from|by)\ (?:(?:new|old|other|senior|former)\ )?(?:customers?|clients?|boss|managers?|bosses|colleagues?|co-?workers?|team\ ?mates?|interns?|consultants?|contractors?|reviewers?|suppliers?|competitors?|lawyers?|auditors?|legal|compliance|hr|qa|cto|ceo|po|product\ owner|stakeholders?|friends?|brother|sister|wife|husband|mother|father|mum|mom|dad|grandma|grandpa|teacher|professor|landlord|neighbou?rs?|tenants?|character|narrator|hero|villain|captain|other\ (?:session|model|agent|claude))\b
        |\b(?:compliance|legal|chatgpt|gpt-?[0-9]\w*|copilot|gemini|grandma|grandpa|somebody|someone|anybody|anyone|everybody\ says|people\ say)\b|\b(?:wrote|told|said|says|asked|mailed|emailed|pinged|insists|insisted|claims|mentioned|quote[sd]?|dictated?)\b
        |\b(?:der|die|den|dem|vom|von|ein\w*|mein\w*|unser\w*|sein\w*|ihr\w*)\ (?:chef\w*|kund\w+|kolleg\w*|vorgesetzte\w*|mandant\w*|praktikant\w*|berater\w*|lieferant\w*|freund\w*|oma|opa|figur)\b|\b(?:zitat|jemand|meinte|sagte|sagt|schrieb|schreibt)\b
        |\b(?:(?:le|la|les|mon|ma|mes|un|une|notre|nos|du|des)\ (?:chef\w*|patronn?e?|client\w*|collègues?|stagiaire|fournisseur|ami\w*|personnage)|quelqu['’]un|citation|m['’]a\ (?:écrit|dit)|a\ (?:écrit|dit)|disait)\b
        |\b(?:(?:el|la|los|las|un|una|mi|mis|nuestr\w+|del|o|os|as|um|uma|meus?|minhas?|do|da)\ (?:jef[ea]|cliente\w*|colega\w*|compañer\w*|becari\w*|proveedor\w*|amig[oa]\w*|personaje|chefe|estagiári[oa]|fornecedor\w*|personagem)|alguien|cita|dijo|dice|escribió|me\ lo\ dejó)\b
        |\b(?:(?:il|la|i|gli|le|un|una|mi[oa]|nostr\w+|del|dal)\ (?:capo|client[ei]|collega|colleghi|tirocinante|fornitore|amic[oai]|personaggio)|qualcuno|citazione|ha\ (?:scritto|detto)|dice|diceva)\b
        |\b(?:alguém|citação|disse|diz|escreveu)\b
        |上司|部長|課長|社長|同僚|顧客|お客|取引先|先輩|友達|友人|誰か|引用|と言|と書|登場人物|老板|客户|客戶|同事|经理|朋友|有人|他说|她说|고객|상사|동료");
    /// Words for hypothetical or undecided statements.
    DOUBT = pattern(r"(?ix)\b(?:just|only)\ (?:testing|a\ test|an\ example|kidding)\b|\btest\ (?:prompt|sentence|input|message)\b|\bseriously\b|\b(?:ignore|disregard)\ (?:this|that|it|the)\b|\b(?:joke|joking|kidding|lol|haha|hypothetical\w*|suppose|supposing|imagine|pretend|fiction\w*|for\ example|e\.g\.)\b|\b(?:have\ not|haven['’]t|not|un)(?:\ yet)?\ ?(?:decided|sure)\b|\bI\ (?:do\ not|don['’]t)\ know\b|\b(?:maybe|perhaps|possibly|might)\b|\bwhat\ if\b|\bif\ (?:I|you|we|he|she|they|some\w+|any\w+)\ (?:said|say|told|wrote|were|asked)\b|\bused\ to\b|\b(?:other|last|previous|old|former)\ (?:job|company|employer|team|project)\b
        |\b(?:nur\ ein\ test|zum\ testen|nicht\ ernst|angenommen|vielleicht|stell\ dir\ vor|noch\ nicht\ entschieden|unsicher|nicht\ sicher|ignorier\w*)\b
        |\b(?:juste\ un\ test|pas\ (?:au\ sérieux|sûr|décidé)|imagine\w*|suppos\w*|peut-être|ignore\w*)\b
        |\b(?:solo\ (?:una\ prueba|un\ test)|en\ serio|imagina\w*|supon\w*|quizás?|tal\ vez|no\ (?:estoy\ segur[oa]|he\ decidido)|sul\ serio|immagina|supponi|forse|non\ ho\ deciso|só\ um\ teste|a\ sério|imagine|suponha|talvez)\b
        |テスト(?:です|だ|入力)|冗談|仮に|もし|かもしれ|まだ決め|测试一下|开玩笑|假设|如果|也许");
    /// The author speaks in a role, as in a user story ("As an admin, I ...").
    ROLE = pattern(r"(?ix)^\W*(?:[\p{Lu}0-9-]+:?\ )?(?:as\ an?\ [\w\ -]{2,30}?,?\ I\b|als\ [\p{L}\ -]{2,30}?\ (?:möchte|will|kann)\ ich\b|en\ tant\ qu|como\ \p{L}+,?\ (?:quiero|quero)\b|come\ \p{L}+,?\ voglio\b)|として、?私は");
    /// A verb of output directly before the words of a wish. The words are part of a text to be written, so the wish is
    /// not the author's.
    PUTS_IN = pattern(r"(?ix)\b(?:repl(?:y|ies)|say|says|saying|read|reads|reading|contains?|includes?|states?|stating|print|prints|display|displays|shows?|orders?|goes|begins|starts|ends|called|titled|text|slogan|label|motto|is|write|writes|write\ that|schreib\w*\ dass|sagt|steht|lautet|heißt|dit|dise|dice|diga|dica|diz|diga)\b[\s:,]*(?:(?:that|dass|que|che)\ )?(?:[\w.-]+\ ){0,2}?(?:please\ |must\ |should\ )?(?:from\ now|always\b|never\b|going\ forward|ab\ (?:jetzt|sofort)|immer\b|nie(?:mals)?\b|à\ partir|désormais|toujours\b|jamais\b|a\ partir|siempre\b|nunca\b|d['’]ora|sempre\b|mai\b)|と(?:答え|返|表示|書)|という");
    /// Words of a wish that begin with a capital letter inside a sentence, which means that they are quoted without
    /// marks.
    STARTS_INSIDE = pattern(r"[\p{L}\p{N}),]\s+(?:From (?:now|here|today)|Always|Never|Going forward|In (?:the )?future|Please|Remember|Whenever|Do not|Don['’]t|Ab (?:jetzt|sofort|heute)|Immer|Niemals|Nie|Künftig|À partir|Désormais|Toujours|Jamais|A partir|Siempre|Nunca|D['’]ora|Sempre|Mai|Da (?:ora|oggi)|De agora)\s");
    /// A request to explain a text.
    EXPLAINS = pattern(r"(?ix)^\W*(?:please\ |can\ you\ |could\ you\ )?(?:explain|interpret|decode|discuss|continue|analy[sz]e|rate|comment|guess|react|erklär\w*|deute|expli\w+|spiega\w*|interpret\w*|comenta\w*|continu\w*)\b|説明|解释|続き");
    /// A pronoun as the only object of a request.
    PRONOUN = pattern(r"(?i)\b(?:it|this|that|these|those|them|one|some|each|both|es|das|dies\w*|daraus|davon|ça|cela|ceci|en|lo|esto|eso|questo|quello|isto|isso)\b|これ|それ|这个|它");
    /// A text for readers, or a part of one.
    NAMES_TEXT = with_text(r"(?ix)\b(?:TEXT|notes?|docs?|documentation|changelog|slogans?|banners?|toasts?|prompts?|taglines?|posters?|signs?|labels?|tooltips?|memos?|scenes?|characters?|dialogs?|action\ items|acceptance\ criteria|versions?\ of\ it|(?:catchier|shorter|nicer|better|funnier|longer|simpler)\ versions?|inbox|slack|memes?|jokes?|songs?|acts?|user\ stor\w+|claude\.md|contributing\w*|agents\.md|cursor\ rules?|(?:lint|eslint)\ rules?|style\ guide|commit\ that|homework
        |e-?mails?|nachricht\w*|brief\w*|text\w*|satz|sätze|gedicht\w*|geschichte|anleitung|protokoll|aushang|schild|zitat|courriels?|lettres?|texte|phrases?|poèmes?|histoire|affiche|compte\ rendu|cartas?|textos?|frases?|poemas?|historia|cartel|actas?|lettera|testo|frase|poesia|storia|cartello|verbale|mensagem|mensagens|texto|história)\b|メール|手紙|文章|文|詩|物語|議事録|看板|邮件|信|句|诗|故事|메일|글");
    /// A remark to Claude next to a request.
    INTERJECTS = pattern(r"(?ix)^\W*(?:ok(?:ay)?|yes|yep|no|nope|hey|hi|hello|thanks|thank\ you|great|good|nice|perfect|cool|all\ ?right|fine|sorry|well|right|true|not\ like|one\ more|two\ more|another\ thing|btw|by\ the\ way|also|ja|nein|gut|danke|super|übrigens|oui|non|merci|parfait|sí|gracias|perfecto|sì|grazie|perfetto|sim|não|obrigad[oa]|perfeito|dzięki|спасибо)\b[^.]{0,60}[.!,…:]*$|[,;]\ (?:so\ )?(?:please|can\ you|could\ you|bitte|por\ favor|per\ favore)\b|^\W*(?:はい|いいえ|ありがとう|了解|好的|谢谢|네|감사)");
    /// A sentence that asks for work on a text, in all languages in which standing wishes are recognised.
    WORKS_ON_TEXT = with_text(r"(?ix)^\W*(?:(?:please|now|then|and|also|ok(?:ay)?|so|can|could|would|will|you|i|we|need|needs?|want|have|like|to|help|me|us|just|quickly|kannst|könntest|du|bitte|mir|peux|peut|tu|pouvez|vous|puedes|podrías|por|favor|você|pode|puoi|potresti|per|favore|kun|je|możesz|czy|можешь|пожалуйста)\b[\s,.!:-]*)*(?:
        (?:turn|make|convert|change|bring|put)\b.{1,80}\binto\b|translate|summari[sz]e|proof-?read|rephrase|reword|paraphrase|spell-?check|shorten|condense|classify|transcribe|rewrite|polish|punctuate|
        (?:fix|correct|check|review|improve|revise|clean\ up|edit)\b.{0,40}\b(?:grammar|spelling|typos?|wording|punctuation|style|tone|docstring|comment|label|heading|caption|title|TEXT)\b|
        (?:draft|compose|write)\b.{0,30}\b(?:repl(?:y|ies)|answers?|responses?)\b|(?:answer|reply\ to|respond\ to)\ (?:this|that|the|these|those|him|her|them|his|their|my|our|each|all)\b|
        (?:change|add|set|print|show|render|return|expect|assert)\b.{0,30}\b(?:docstring|string|label|heading|caption|title|text|message)\b\s*(?:to|here|below|with)?|
        übersetz\w*|korrigier\w*|formulier\w*|kürz\w*|lektorier\w*|beantworte\w*|fass\w*\b.{0,60}\bzusammen|(?:diese|die|den|das|meine|seine|ihre|unsere)\w*\b.{0,40}\b(?:formulieren|übersetzen|korrigieren|kürzen|zusammenfassen|beantworten)|schreib\w*\b.{0,30}\bantwort|
        tradui\w*|résum\w*|corrige\w*|reformule\w*|relis\w*|relire|raccourci\w*|répon\w*\ (?:à|au|aux)|
        traduc\w*|resum\w*|corrig\w*|correg\w*|reformul\w*|acort\w*|revis\w*\ (?:o|a|os|as|el|la|los|las|este|esta)|
        traduz\w*|corrij\w*|reescrev\w*|riassum\w*|correggi\w*|riscriv\w*|riformul\w*|accorci\w*|
        vertaal\w*|herschrijf\w*|corrigeer\w*|vat\b.{0,60}\bsamen|przetłumacz\w*|streść|streszcz\w*|popraw\w*|zredaguj\w*|skróć|odpowiedz\w*|odpisz\w*|
        přelož\w*|shrň\w*|oprav\w*|översätt\w*|oversæt\w*|oversett\w*|sammanfatta\w*)\b
        |\b(?:переведи\w*|перевести|исправь\w*|перефразируй\w*|отредактируй\w*|сократи\w*|переклади\w*|перекласти|çevir\w*|özetle\w*|düzelt\w*)\b|翻訳|要約|訳して|校正|添削|書き直|翻译|翻譯|总结|總結|概括|润色|校对|改写|번역|요약|교정|고쳐");
    /// Words that point to an adjacent text.
    POINTS = with_text(r"(?ix)\b(?:this|these|those)\b|\bthat\ TEXT\b|\b(?:below|above|as\ follows|following|attached|pasted|quoted)\b|\bhere(?:['’]s|\ is|\ are|\ comes?)\b|\bis\ here\b|^\W*that(?:['’]s|\ is)\ (?:what|how)\b|^\s*\^|\b(?:he|she|they)\ (?:wants?|says?|means?|asks?|wrote|talk\w*)\b|\bare\ they\ (?:talking|saying|asking)\b|\b(?:his|her|their)\ (?:points?|comments?|questions?|requests?|TEXT)\b
        |\b(?:the|our|my|an?|[\p{L}]+['’]s)\s+(?:[\w-]+\s+){0,2}?TEXT\b
        |\bdies(?:e[rmns]?)?\b|\bfolgende[rmns]?\b|\bunten\b|\bobige[rmns]?\b|\bhier\ (?:ist|sind|kommt)\b|\b(?:cet|cette|ces)\b|\bce\ (?:message|mail|courriel|texte|compte|billet|document)\b|\bci-(?:dessous|dessus|joint)\b|\bsuivante?s?\b|\bvoici\b
        |\b(?:esta|estos|estas|este)\b|\bsiguientes?\b|\b(?:abajo|abaixo|acima)\b|\b(?:essa|esse|estes|essas?)\b|\bseguintes?\b|\bquest[oaie]\b|\bseguent[ei]\b|\bsotto\b|\becco\b|\b(?:deze|dit|hieronder|onderstaande|bovenstaande)\b
        |\b(?:ten|tę|tego|tej|tych|te)\b|\bponiższ\w+|\bnastępując\w+|\bpowyższ\w+|\b(?:poniżej|oto)\b|\b(?:tento|tuto|toto|níže)\b|\bnásledující\w*|\b(?:denna|detta|dessa|följande|nedan|denne|dette|disse|følgende|nedenfor)\b
        |\bэт(?:от|у|ой|и|ого|их|о)\b|\bследующ\w+|\b(?:ниже|вот|цей|цю|нижче)\b|\b(?:şu|bu|aşağıdaki|yukarıdaki|şunu|bunu)\b|次の|この|以下|下記|上記|これを|这个|这段|这封|这篇|这些|下面|上面|以上|다음|아래|이\ (?:글|메일|문장|내용)");
    /// Words that address Claude or are about the project that it works in.
    ADDRESSED = pattern(r"(?ix)\b(?:in|for|throughout|of)\ (?:this|my|our)\ (?:\w+\ )?(?:repo(?:sitory)?|project|code\ ?base|code|session|workspace)\b|\bI(?:['’]d|\ would|\ do\ not|\ don['’]?t|\ never|\ always)?\ (?:want|like|need|expect|prefer)\b.{0,60}\byou\b|\b(?:tell|ask|asking|show|give|answer|remind|warn|let)\ me\b|\bmy\ code\b|\byour\ (?:answers?|repl(?:y|ies)|code|changes?|commits?|summar(?:y|ies)|comments?|work|messages?|plans?)\b
        |\b(?:when(?:ever)?|every\ time|each\ time|before|after|if)\ you\ (?:write|add|change|touch|edit|commit|push|run|create|rename|delete|remove|finish|report|fix|make|use|install|refactor|test|start|generate|move)\b|\bclaude\b
        |\bin\ diesem\ (?:projekt|repo)|\b(?:frag|sag|zeig|antworte)e?\ mir\b|\bfrag\ mich\b|\bdans\ ce\ (?:projet|dépôt)|\b(?:dis|demande|montre|réponds)-moi\b|\ben\ este\ (?:proyecto|repositorio)|\b(?:dime|pregúntame|muéstrame|respóndeme)\b|\bneste\ (?:projeto|repositório)|\bin\ questo\ (?:progetto|repository)|\bw\ tym\ (?:projekcie|repozytorium)|このプロジェクト|このリポジトリ|这个项目|这个仓库");
    /// A request in languages other than English.
    ASKS = pattern(r"(?ix)^\W*(?:(?:und|jetzt|nun|et|maintenant|y|ahora|e|agora|ora|en|nu|i|a|teraz|и|теперь|bitte|por\ favor|per\ favore|proszę|пожалуйста)\b[\s,]*)*(?:kannst\ du|könntest\ du|schreib|mach|füge|benenne|ändere|prüf|erklär|such|finde|lösche|erstelle|bau|repariere|zeig
        |peux-tu|pouvez-vous|écris|ajoute|explique|cherche|trouve|supprime|crée|renomme|montre|vérifie|extrais
        |puedes|escribe|añade|agrega|explica|busca|borra|crea|pasa|cambia|muestra|comprueba|haz|pode|escreva|adicione|explique|procure|apague|crie|mude|mostre|faça|puoi|scrivi|aggiungi|spiega|cerca|cancella|mostra|fai
        |kun\ je|schrijf|voeg|leg|zoek|verwijder|maak|toon|napisz|dodaj|usuń|sprawdź|zmień|stwórz|czy\ możesz|pokaż|zrób|напиши|добавь|удали|проверь|сделай|объясни|найди|можешь|покажи)\w*\b
        |\b(?:misin|mısın|musun)\b|(?:ください|下さい|くれますか|お願いします)[。\s]*$|^\W*(?:请|帮我)|(?:주세요|해줘)[.\s]*$|^\W*(?:turn|make|use|put|save|parse|group|answer|start|just|get|pull|list|tell|give|summari[sz]e|translate|delete|keep|name|count|see|apply|adapt|link|deploy|send|print|help|tidy|collect|cut|look\ up|compare|format|check|which|what|how|why|where|when|who|is|are|does|do|did|can|could|should)\b");
    /// Before a colon: words for a statement by another person, who is the author of the text after the colon.
    SPEAKS = pattern(r"(?ix)^\W*(?:it|they|he|she)\b|\b(?:goes|went|went\ like)\b|\b(?:wrote|writes|said|says|stated|states|reads|commented|comments\ that|replied|replies|answered|claims|claimed|complained|reported|demands|demanded|posted|sent|forwarded|told\ (?:me|us)|asked\ (?:me|us)|recommends|advises|suggests|according\ to
        |schrieb|schreibt|sagt|sagte|meint|meinte|steht|écrit|dit|escribió|escribe|dijo|dice|scrive|scritto|escreveu|escreve|disse|diz|schreef|schrijft|zegt|zei|napisała?|pisze|powiedziała?|mówi|пишет|написала?|говорит|сказала?|yazdı|yazmış|diyor|dedi)\b|写道|说|写了|曰く|書いて|言って|によると");
    /// The author refers to their own statement.
    SELF = pattern(r"(?i)\b(?:I|we)\s+(?:\w+\s+){0,2}(?:wrote|write|said|say|told|asked|agreed|mentioned|stated|repeat)\b|\bmy\s+(?:\w+\s+){0,2}(?:rules?|conventions?|wish(?:es)?|preferences?)\b|\b(?:ich|wir)\s+(?:sagte|schrieb)|\bnote to (?:self|you)\b");
    /// Before a colon: a few words that name the topic of a wish.
    TOPIC = pattern(r"(?i)^\W*(?:(?:in|for|about|with|on)\s+(?:[\w-]+\s+){0,4}[\w-]+|(?:[\p{L}-]+\s+){0,2}[\p{L}-]*[^\Ws]s)$");
    /// Words for the parts of a document.
    OF_DOCUMENTS = pattern(r"(?i)\b(?:requirements|rules|instructions|guidelines|criteria|terms|conditions|notes|minutes|values|principles|lyrics|news|answers|results|lines|examples|options|tips|hints|details|contents|quotes|comments|thoughts|ideas|inputs|outputs|texts|words|sentences|this|these|those|following|below)\b");
    /// Before a colon: words that introduce a wish.
    LEADS_IN = pattern(r"(?i)^\W*(?:(?:and|also|but|oh|ok(?:ay)?|so|no|yes|thanks)\b[\s,]*)*(?:(?:a|one|another|two|three|some)\s+(?:\w+\s+){0,2}(?:things?|notes?|points?|wish(?:es)?|requests?|remarks?)\b.*|by the way|btw|p\.?s\.?|in general|generally|remember(?: this)?|please (?:note|remember)|note(?: to (?:self|you).*)?|important|reminder|(?:this is )?(?:how|what) (?:I|we) (?:want|like|agreed|need)\b.*|übrigens|noch (?:was|etwas)|wichtig|bitte merken|merk dir|au fait|à noter|important|por cierto|importante|a propósito|przy okazji|ważne|кстати|важно)\s*$|^\W*no$");
    /// Phrases for an outdated rule.
    OLD = pattern(r"(?ix)\bused\ to\ (?:say|have|do|be|write|require|follow|demand)\b
        |\b(?:rule|convention|advice|policy|wish|guideline)\s+(?:was|were|used\ to)\b
        |\b(?:rules?|conventions?|advice|polic(?:y|ies)|wish(?:es)?|guidelines?|this|that|it|which)\s+(?:(?:is|are|was|were|does|do|has|have)\s+)?(?:holds?\ no\ longer|(?:no\ longer|n['’]?t\ .{0,12}any\ ?more|not\ .{0,12}any\ ?more|not)\s*(?:hold|holds|apply|applies|valid|true|in\ force|stand|stands|count|counts)\b)
        |\bholds?\ no\ longer\b|\bgilt\ nicht\ mehr\b|\bne\ s['’]applique\ plus\b|\bya\ no\ (?:vale|aplica)\b|\bnon\ vale\ più\b|\bnão\ vale\ mais\b");
    /// Before a colon: a text of another person, such as "Olga's comment".
    OWNED = with_text(r"^\W*(?:\w+\s){0,2}?\p{Lu}\w+['’]s\s+(?:\w+\s+)?(?i:TEXT|answer|comment|question|rule|advice)\b[^.]*$");
    /// Before a colon: the label of a text by a program or on a web page, such as "error message".
    LABEL = pattern(r"(?i)^\W*(?:(?:the|this|its)\s)?(?:commit|pr|pull request|mr|merge request|error|warning|log|lint|review|issue|ticket|release|exception|panic|chat|failure)\s(?:message|description|comment|title|text|line|entry|output|body|subject)\s*$");
    /// A sentence that names its source.
    ACCORDING_TO = pattern(r"(?i)^\W*(?:according to|as per|laut|selon|d['’]après|según|secondo|segundo|według|volgens|по словам|согласно)\b|^\W*(?:根据|據|によると)");
    /// A sentence in which another person gives an instruction.
    TELLS = pattern(r"(?ix)^\W*(?:(?:the|an?|his|her|their|some|one|my|our|\p{Lu}\w+['’]s|der|die|das|mein|meine|unser|unsere|le|la|les|mon|ma|notre|el|los|mi|nuestro|il|mio|nosso|meu|o)\s+)?(?:[\p{L}\p{N}_.-]+\s+){1,3}?(?:
        (?:said|says|wrote|writes|claims|claimed|argues|argued|insists|insisted|suggested|suggests|recommends|recommended|thinks|believes|demands|demanded)\s+(?:that\s+)?(?:we|you|they|it|one|everyone|everybody|nobody|i|to|all|every|the|never|always)\b
        |(?:wants|expects|asked|told|tells|reminded|reminds|asks)\s+(?:us|me|everyone|everybody|all|that|you)\b
        |(?:sagt|meint|will|möchte|verlangt|schreibt),?\s+(?:dass|wir|man|alle)\b|(?:dit|veut|demande|exige|écrit)\s+(?:qu['’]|que|de)|(?:dice|quiere|pide|exige|escribe)\s+que\b|(?:vuole|chiede|scrive)\s+che\b|(?:diz|quer|pede|escreve)\s+que\b|(?:mówi|chce|pisze),?\s+że(?:by)?\b|(?:говорит|хочет|пишет),?\s+что(?:бы)?\b)");
    /// A clause that reports a statement.
    TELLS_THAT = pattern(r"(?ix)\b(?:says?|said|states?|stated|writes?|wrote|claims?|claimed|announces?|announced|explains?|explained|mentions?|mentioned|requires?|required|recommends?|recommended|advises?|advised|demands?|demanded|insists?|insisted|replied|answered|posted|(?:sent|mailed|emailed)(?:\ (?:around|out|us|me|everyone))?|(?:told|tells|informed|reminded)\ (?:us|me|everyone|everybody|all|them|him|her))\s+that\b
        |\b(?:schreibt|schrieb|sagt|sagte|verlangt|fordert|erklärt|teilte\ mit),?\s+dass\b|\b(?:dit|écrit|exige|demande|précise|annonce)\s+qu(?:e\b|['’])|\b(?:dice|exige|pide|anuncia|diz|pede|anuncia)\s+que\b|\b(?:dice|scrive|chiede|annuncia)\s+che\b|\b(?:mówi|pisze|wymaga),?\s+że(?:by)?\b|\b(?:говорит|пишет|требует),?\s+что(?:бы)?\b");
    /// A sentence about earlier statements in this session.
    BETWEEN_US = pattern(r"(?i)^\W*(?:but |and |so |as |like )?(?:you|I|we)\b");
    /// A line of a document: a heading, a table, code, a list of commits, subtitles, or the header of a chat message.
    DOCUMENT = pattern(r#"(?x)^\s{0,3}\#{1,6}\s|^\s*\|.*\||^(?:\ {4}|\t)\s*\S|^\s*\S+\s*-->|^[0-9]+\s*$|^[0-9a-f]{7,40}\s|^\s*§
        |^\s*(?:[{}]|\[\s*["'{\[0-9]|//|/\*|\*/|--\s|"[^"]*"\s*:|\(\s*[0-9'"]|</?[\w-]+[^<>]*>\s*$|<.*>\s*$|\$\s|>>>\s)|[;{}]\s*$|^[+]\S|^-[^-\s]|^@@\s|^(?:diff\ --git|index\ [0-9a-f]+|[-+]{3}\s[ab/])
        |^\s*(?i:INSERT\ INTO|SELECT\s.+\sFROM|UPDATE\s.+\sSET|CREATE\s(?:TABLE|INDEX)|DELETE\ FROM)\b
        |^\s*\[[^\]]{0,30}[0-9]{1,2}:[0-9]{2}[^\]]{0,20}\]|^\s*\[?[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4},?\s+[0-9]{1,2}:[0-9]{2}|^\s*\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\]?\s+[<@]?\p{L}[\w.-]+>?:\s
        |^\s*@?\p{L}[\w.\ -]{0,24},?\s+\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AP]M)?\]?\s*$
        |^\s*@?\p{L}[\w.\ -]{0,30}\s(?:commented|wrote|replied|posted|said|asked)\s(?:on\s|at\s|an?\s|[0-9]+\s|yesterday|today|last\s|just\s).{0,40}$
        |^\s*(?:-{2,}|_{2,}|={2,})\s?(?i:original|forwarded|ursprüngliche|weitergeleitete|message|mensaje)"#);
    /// A line written by a program, with a time, a level or a location before the message. A date without a time is
    /// typical of a person, and so is "Warning" with a capital letter, because programs write it in small letters.
    MACHINE_LINE = pattern(r"(?x)^\s*(?:
        \[?[0-9]{4}[-/][0-9][0-9][-/][0-9][0-9][T\ ][0-9][0-9]:[0-9][0-9](?::[0-9][0-9](?:[.,][0-9]+)?)?\s?(?:Z|[+-][0-9][0-9]:?[0-9][0-9])?\]?[\s:,|-]
        |(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+[0-9]{1,2}\s[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\s
        |\[[0-9]{1,2}:[0-9][0-9](?::[0-9][0-9])?(?:[.,][0-9]+)?\]\s|[0-9][0-9]:[0-9][0-9]:[0-9][0-9](?:[.,][0-9]+)?\s|\[\s*[0-9]+\.[0-9]+\]\s
        |[IWEF][0-9]{4}\s[0-9][0-9]:[0-9][0-9]:[0-9][0-9]|(?:time|ts|level)=\S+\s
        |\[(?i:error|err|warn|warning|info|debug|trace|fatal|notice|critical)\]
        |(?:ERROR|ERR|WARN|INFO|DEBUG|TRACE|FATAL|CRITICAL)(?::|\s+[\[|-])|WARNING:[A-Za-z0-9_]+:
        |[A-Za-z0-9_-]{1,40}-[0-9]{1,3}\s+\|\s
        |(?:E\s+)?(?:[A-Za-z0-9_.]*(?:Error|Exception)|error(?:\[[A-Za-z0-9_]{1,12}\]|\s[A-Z]{0,4}[0-9]+)?|[Ff]atal(?:\ error)?|FATAL|panic|warning|hint|remote):\s
        |npm\ (?:ERR!|error|WARN|warn)\s|make(?:\[[0-9]+\])?:\ \*\*\*
        |\S+\.[A-Za-z0-9_]{1,8}:[0-9]+(?::[0-9]+)?:\s
        )");
    /// An item of a list.
    ITEM = pattern(r"^\s*(?:[-*+•◦]\s|\(?(?:[0-9]{1,3}|[A-Za-z])[.)]\s)");
    /// A line that begins with a name, as in a chat, in minutes, or in questions and answers.
    NAMED_LINE = pattern(r"^\s*(?:[-*•]\s+)?(?:<([\w.@+-]+)>|@?(\p{L}[\p{L}\p{N}_.'’ -]*?)(?:\s\([^)]{1,20}\))?\s?:)(?:\s|$)");
    /// A header line of a mail or an issue.
    FIELD = pattern(r"(?i)^\W{0,4}(?:from|to|cc|subject|date|sent|reply-to|von|an|betreff|gesendet|de|para|à|objet|asunto|oggetto|data|от|кому|тема|title|reporter|reported by|assignee|author|labels?|status|priority|steps to reproduce|expected(?: behaviou?r)?|actual(?: behaviou?r)?)\W{0,3}:");
    /// The first and the last line of a mail.
    GREETING = pattern(r"(?i)^\s*(?:hi|hello|hey|dear|good (?:morning|day)|hallo|guten tag|lieber?|sehr geehrte\w*|bonjour|cher|chère|hola|estimad[oa]s?|ciao|caro|cara|gentile|olá|prezad[oa]s?|cześć|dzień dobry|witam|здравствуйте|привет|您好|你好)\b[^.?:]{0,40}[,!]?\s*$");
    FAREWELL = pattern(r"(?i)^\s*(?:(?:with )?(?:best|kind|warm|many)? ?(?:regards|wishes|greetings)|best|sincerely|yours(?: \w+)?|mit freundlichen grüßen|(?:viele|liebe|beste|schöne) grüße|grüße|gruß|mfg|lg|cordialement|bien à (?:vous|toi)|salutations|(?:un )?saludos?|atentamente|cordiali saluti|distinti saluti|atenciosamente|abraços?|pozdrawiam|с уважением|此致|敬具|よろしくお願い(?:いた)?します)\b[ ,.!]*(?:\p{Lu}\w+.{0,20})?$");
    /// Thanks after a request.
    THANKS = pattern(r"(?i)^\s*(?:thanks|thank you|thx|cheers|danke|merci|gracias|grazie|obrigad[oa]|dzięki|bedankt|спасибо|ありがとう|谢谢)\b.{0,20}$");
    /// Claude's name.
    TO_CLAUDE = pattern(r"(?i)\bclaude\b");
    /// The opening tag of an element.
    ELEMENT = pattern(r"<([A-Za-z][A-Za-z0-9_-]{1,40})(?:\s[^<>]*)?>");
    /// Words with which an author introduces their own rules.
    OWN_RULES = pattern(r"(?i)\b(?:from now on|from here on|going forward|in (?:the )?future|for (?:this|all|every|the rest)|in (?:this|all|every)|my|remember|(?:two|three|four|some|a few|more) (?:more )?(?:things?|points?|rules?)|ab (?:jetzt|sofort)|künftig|à partir de maintenant|désormais|a partir de ahora|a partir de agora|d['’]ora in|od teraz|отныне|впредь)\b|これから|今後|从现在");
}

/// Nouns for code and work. "This" before one of them does not point to a text.
const OF_CODE: [&str; 76] = [
    "project",
    "repo",
    "repository",
    "codebase",
    "code",
    "session",
    "folder",
    "directory",
    "workspace",
    "machine",
    "file",
    "function",
    "method",
    "class",
    "module",
    "test",
    "bug",
    "crash",
    "build",
    "branch",
    "commit",
    "pr",
    "feature",
    "component",
    "endpoint",
    "query",
    "script",
    "change",
    "error",
    "warning",
    "failure",
    "task",
    "work",
    "step",
    "time",
    "week",
    "month",
    "way",
    "package",
    "library",
    "dependency",
    "server",
    "service",
    "app",
    "version",
    "release",
    "command",
    "option",
    "flag",
    "setting",
    "variable",
    "type",
    "struct",
    "field",
    "migration",
    "one",
    "approach",
    "works",
    "looks",
    "should",
    "model",
    "schema",
    "route",
    "projekt",
    "datei",
    "funktion",
    "fehler",
    "projet",
    "dépôt",
    "fichier",
    "fonction",
    "proyecto",
    "repositorio",
    "archivo",
    "progetto",
    "repositório",
];

/// Elements that only format the author's words.
const DRESS: [&str; 14] = [
    "br",
    "em",
    "strong",
    "kbd",
    "sub",
    "sup",
    "span",
    "div",
    "ul",
    "ol",
    "li",
    "details",
    "summary",
    "user-memory-input",
];

/// Opening quotation marks with their closing marks. Marks with other uses are checked further.
const MARKS: [(char, &[char]); 11] = [
    ('“', &['”']),
    ('„', &['“', '”']),
    ('«', &['»']),
    ('»', &['«']),
    ('‹', &['›']),
    ('「', &['」']),
    ('『', &['』']),
    ('‘', &['’']),
    ('"', &['"']),
    ('\'', &['\'']),
    ('`', &['`']),
];

#[cfg(test)]
#[path = "own_words_tests.rs"]
mod tests;
