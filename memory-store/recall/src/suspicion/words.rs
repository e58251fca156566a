//! Tokenisation for the rules: normalised words, with the starts of sentences and clauses.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use memory_store_base::text::{is_invisible, is_unspaced, placeholder};

use super::{TextOrigin, suspicion};

/// Maximum number of words of a text that are checked.
const WORDS_MAX: usize = 8192;

/// A word, or a mark such as `‹url›` in place of text that is not a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case, without accents and invisible characters, and with look-alikes replaced.
    pub text: String,
    /// Line of the text that contains the word, counted from 0.
    pub line: usize,
    /// Number of the sentence that contains the word.
    pub sentence: u32,
    /// True if the word begins a clause.
    pub begins: bool,
}

/// Returns a text in lower case and NFKC, without invisible characters and accents. In words that also contain Latin
/// letters, Cyrillic and Greek letters are replaced by the Latin letters that they resemble. Line breaks are kept.
pub(crate) fn plain(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut latin = false;
    for c in text.chars().filter(|c| !is_invisible(*c)).map(unframed).nfkd() {
        match c {
            '\u{2018}' | '\u{2019}' | '\u{2bc}' => folded.push('\''),
            '\u{2010}'..='\u{2012}' => folded.push('-'),
            _ if is_combining_mark(c) && latin => {}
            _ => {
                latin = c.is_ascii_alphabetic() || look_alike(c).is_some();
                folded.extend(c.to_lowercase());
            }
        }
    }
    let folded: String = folded.nfc().collect();
    if folded.is_ascii() { folded } else { unmixed(&folded) }
}

/// Returns the letter for a symbol that normal forms do not replace: a letter in a filled circle or square, half of a
/// flag, or a small capital. Other characters are returned unchanged.
fn unframed(c: char) -> char {
    const SMALL_CAPITALS: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ-ʏᴢ";
    let letter = |first: u32| char::from_u32(u32::from('a') + u32::from(c) - first).unwrap_or(c);
    match u32::from(c) {
        0x1f150..=0x1f169 => letter(0x1f150),
        0x1f170..=0x1f189 => letter(0x1f170),
        0x1f1e6..=0x1f1ff => letter(0x1f1e6),
        0x250..=0x2af | 0x1d00..=0x1d2b | 0xa730..=0xa7af => {
            let at = SMALL_CAPITALS.chars().position(|capital| capital == c);
            at.and_then(|at| char::from_u32(u32::from('a') + at as u32)).unwrap_or(c)
        }
        _ => c,
    }
}

/// Returns a text without look-alikes, if at least one word mixes them with Latin letters. They are then also replaced
/// in words that consist only of look-alikes.
fn unmixed(text: &str) -> String {
    let is_mixed = |word: &str| {
        word.chars().any(|c| c.is_ascii_alphabetic())
            && word.chars().any(|c| look_alike(c).is_some())
    };
    let is_alike = |word: &str| word.chars().all(|c| c.is_ascii() || look_alike(c).is_some());
    let mixed = text.split(|c: char| !c.is_alphanumeric()).any(is_mixed);
    if !mixed {
        return text.to_owned();
    }
    let mut result = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        if is_mixed(piece) || is_alike(piece) {
            result.extend(piece.chars().map(|c| look_alike(c).unwrap_or(c)));
        } else {
            result.push_str(piece);
        }
    }
    result
}

/// Returns the Latin letter that a lower-case Cyrillic, Greek or Armenian letter resembles; `None` if there is none.
fn look_alike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' | 'є' | 'ε' => 'e',
        'ɡ' | 'ց' => 'g',
        'һ' | 'н' => 'h',
        'і' | 'ї' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' | 'μ' => 'm',
        'п' | 'η' | 'ո' => 'n',
        'о' | 'ο' | 'σ' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'ᴢ' => 'z',
        _ => return None,
    })
}

/// Splits normalised text into words. `known` returns the number of bytes of the longest known word at the start of a
/// text without spaces.
pub(crate) fn words(text: &str, known: &dyn Fn(&str) -> Option<usize>) -> Vec<Word> {
    let mut cutter = WordCutter { words: Vec::new(), sentence: 0, begins: true, known };
    let mut blank = false;
    for (line, content) in text.lines().enumerate() {
        let content = content.trim();
        // A single line break counts as a space. An empty line, a list item or a heading ends a sentence.
        if blank || content.starts_with(['#', '-', '*', '>', '|']) {
            cutter.end();
        }
        blank = content.is_empty();
        cutter.line(&spaced_tags(&marked_substitutions(content)), line);
    }
    mark_downloads(&mut cutter.words);
    unmark_labels(&mut cutter.words);
    cutter.words
}

/// Inserts a mark before a download whose output is passed to a command, as in `sh -c "$(curl ...)"` and `bash <(curl
/// ...)`.
fn marked_substitutions(line: &str) -> Cow<'_, str> {
    let begins = ["$(curl ", "$(wget ", "<(curl ", "<(wget "];
    if !begins.iter().any(|begin| line.contains(begin)) {
        return Cow::Borrowed(line);
    }
    let marked =
        |line: String, begin: &&str| line.replace(begin, &format!(" ‹put› {}", &begin[2..]));
    Cow::Owned(begins.iter().fold(line.to_owned(), marked))
}

/// Returns whether a word is a program that runs its input.
fn is_interpreter(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    matches!(
        name,
        "sh" | "bash" | "zsh" | "dash" | "iex" | "node" | "perl" | "ruby" | "eval" | "source"
    ) || name.starts_with("python")
}

/// Replaces the pipe, or the mark, of a download that is run by `‹pipe›`, as in `curl ... | sh` and `sh -c "$(curl
/// ...)"`.
fn mark_downloads(words: &mut [Word]) {
    const WORDS_BETWEEN: usize = 12;
    for at in 0..words.len() {
        let is_run =
            || words[at.saturating_sub(3)..at].iter().any(|word| is_interpreter(&word.text));
        if words[at].text == "‹put›" && is_run() {
            "‹pipe›".clone_into(&mut words[at].text);
        }
    }
    let is_download = |word: &Word| matches!(word.text.as_str(), "curl" | "wget" | "iwr" | "fetch");
    let starts: Vec<usize> = (0..words.len()).filter(|at| is_download(&words[*at])).collect();
    for start in starts {
        let until = (start + WORDS_BETWEEN).min(words.len());
        let Some(pipe) = (start..until).find(|at| words[*at].text == "|") else { continue };
        let runs = words[pipe + 1..].iter().take(3).any(|word| is_interpreter(&word.text));
        if runs {
            "‹pipe›".clone_into(&mut words[pipe].text);
        }
    }
}

/// Replaces the marks of role labels that are only mentioned, as in `User: and Assistant: labels`, which is not a turn.
fn unmark_labels(words: &mut [Word]) {
    let is_label = |next: &[Word]| {
        let after = next.get(2).map_or("and", |word| word.text.as_str());
        next[0].text == "‹turn›" && matches!(after, "and" | "or" | "‹turn›" | "labels" | "lines")
    };
    let Some(first) = (0..words.len()).find(|at| is_label(&words[*at..])) else { return };
    for word in words[first..].iter_mut().filter(|word| word.text == "‹turn›") {
        "‹label›".clone_into(&mut word.text);
    }
}

/// Inserts spaces around tags and pipes.
fn spaced_tags(line: &str) -> String {
    let mut result = String::with_capacity(line.len() + 16);
    let mut rest = line;
    while let Some(at) = rest.find(['<', '|', ']']) {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let tag = tag_length(rest).unwrap_or(0);
        let step = tag.max(1);
        let spaced = tag > 0 || rest.starts_with('|');
        if spaced {
            result.push(' ');
        }
        // A space inside a tag is replaced, because it would split the tag.
        result.extend(rest[..step].chars().map(|c| if spaced && c == ' ' { '_' } else { c }));
        if spaced {
            result.push(' ');
        }
        rest = &rest[step..];
    }
    result.push_str(rest);
    result
}

/// Returns the number of bytes of the tag at the start of a text; `None` if there is no tag.
fn tag_length(text: &str) -> Option<usize> {
    const TAG_BYTES_MAX: usize = 48;
    if text.starts_with("]]>") {
        return Some(3);
    }
    let inner = text.strip_prefix('<')?;
    let close = inner.bytes().take(TAG_BYTES_MAX).position(|byte| byte == b'>')?;
    let name = inner[..close].trim_start_matches(['/', '|', '<', ' ', '!', '-']);
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(close + 2)
}

struct WordCutter<'a> {
    words: Vec<Word>,
    sentence: u32,
    begins: bool,
    known: &'a dyn Fn(&str) -> Option<usize>,
}

impl WordCutter<'_> {
    fn end(&mut self) {
        self.sentence += 1;
        self.begins = true;
    }

    fn push(&mut self, text: &str, line: usize) {
        if text.is_empty() || self.words.len() >= WORDS_MAX {
            return;
        }
        let begins = std::mem::replace(&mut self.begins, opens_clause(text));
        self.words.push(Word { text: text.to_owned(), line, sentence: self.sentence, begins });
    }

    fn line(&mut self, line: &str, number: usize) {
        for chunk in line.split_whitespace() {
            self.chunk(chunk, number);
        }
    }

    /// Adds the text between two spaces, which is one word, or several words separated by colons.
    fn chunk(&mut self, chunk: &str, line: usize) {
        let Some(first) = glued_colon(chunk).filter(|_| mark(chunk).is_none()) else {
            return self.piece(chunk, line);
        };
        let (head, mut rest) = (&chunk[..first], &chunk[first + 1..]);
        let is_bracketed = head.contains('[');
        self.piece(head, line);
        loop {
            self.begins = true;
            let end = glued_colon(rest);
            let piece = &rest[..end.unwrap_or(rest.len())];
            if is_bracketed {
                piece
                    .split('-')
                    .filter(|word| !word.is_empty())
                    .for_each(|word| self.piece(word, line));
            } else {
                self.piece(piece, line);
            }
            let Some(end) = end else { break };
            rest = &rest[end + 1..];
        }
    }

    fn piece(&mut self, chunk: &str, line: usize) {
        if let Some(mark) = mark(chunk) {
            for part in mark {
                self.push(part, line);
            }
            if chunk.ends_with(['.', '!', '?']) {
                self.end();
            }
            return;
        }
        let lead = |c: char| {
            c.is_ascii_punctuation() && !matches!(c, '.' | '~' | '/' | '-' | '@' | '*')
                || matches!(c, '“' | '„' | '«' | '»' | '”' | '…' | '—' | '–' | '•')
        };
        let trail = |c: char| {
            c.is_ascii_punctuation() && !matches!(c, '~' | '/' | '*')
                || matches!(c, '“' | '„' | '«' | '»' | '”' | '…' | '—' | '–')
        };
        let word = chunk.trim_start_matches(lead);
        if word.len() < chunk.len() || chunk.starts_with(['—', '–']) {
            self.begins = true;
        }
        let core = word.trim_end_matches(trail).trim_start_matches("*").trim_matches('_');
        let tail = &word[word.trim_end_matches(trail).len()..];
        let core = core.strip_suffix("**").unwrap_or(core);
        let owner = core.strip_suffix("'s").filter(|word| word.len() > 3 && *word != "that");
        let core = owner.unwrap_or(core);
        if core.is_empty() && matches!(chunk, "|" | "*" | "~") {
            self.push(chunk, line);
        } else if tail.starts_with(':') && tail.len() == 1 && is_role(core) {
            self.push("‹turn›", line);
            self.push(core, line);
        } else if core.chars().any(is_unspaced) || is_run_together(core) {
            self.unspaced(core, line);
        } else {
            self.push(core, line);
        }
        if tail.contains(['.', '!', '?', '。', '！', '？']) && !tail.starts_with("...") {
            self.end();
        } else if !tail.is_empty() || core.is_empty() {
            self.begins = true;
        }
    }

    /// Adds words that are not separated by spaces: the known words, and each text between known words as one word.
    fn unspaced(&mut self, text: &str, line: usize) {
        let mut rest = text;
        let mut unknown = String::new();
        while let Some(c) = rest.chars().next() {
            let ends = matches!(c, '。' | '！' | '？' | '!' | '?');
            let cuts = ends
                || matches!(c, '、' | '，' | ',' | '；' | '：' | ':' | '「' | '」' | '“' | '”');
            let length = (!cuts).then(|| (self.known)(rest)).flatten();
            if cuts || length.is_some() {
                self.push(&std::mem::take(&mut unknown), line);
            }
            if ends {
                self.end();
            }
            let step = length.unwrap_or(c.len_utf8());
            match length {
                Some(length) => self.push(&rest[..length], line),
                None if cuts => self.begins = true,
                None => unknown.push(c),
            }
            rest = &rest[step..];
        }
        self.push(&unknown, line);
    }
}

/// Returns the place of a colon that separates two words without a space; `None` if there is none. `://`, `::`, `12:30`
/// and redaction placeholders do not count.
fn glued_colon(chunk: &str) -> Option<usize> {
    chunk.match_indices(':').map(|(at, _)| at).find(|&at| {
        let (before, rest) = chunk.split_at(at);
        let opens = |c: char| c.is_alphabetic() || matches!(c, '"' | '\'' | '`' | '*' | '“' | '„');
        let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        before.ends_with(char::is_alphanumeric)
            && rest[1..].starts_with(opens)
            // If the text ends before the closing bracket, the name may be the first word of a sentence in brackets.
            && placeholder::name_len(&before[..start], &before[start..], rest)
                .filter(|_| rest.contains([']', '…']))
                .is_none_or(|length| is_order(&rest[1..length]))
    })
}

/// Returns whether the name of a placeholder is an instruction, because a forged placeholder may contain one.
fn is_order(name: &str) -> bool {
    suspicion("", &name.replace('-', " "), TextOrigin::Repository).is_some()
}

/// Returns whether an instruction may begin after this word.
fn opens_clause(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "then"
            | "also"
            | "please"
            | "kindly"
            | "always"
            | "immediately"
            | "instead"
            | "quietly"
            | "now"
            | "just"
            | "next"
            | "must"
            | "should"
            | "you"
            | "never"
            | "first"
            | "to"
            | "will"
            | "shall"
            | "|"
    ) || word.starts_with('‹')
}

/// Returns whether a word is so long that it may consist of several words without spaces.
fn is_run_together(word: &str) -> bool {
    const WORD_BYTES_MAX: usize = 20;
    word.len() > WORD_BYTES_MAX && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_role(word: &str) -> bool {
    matches!(
        word,
        "system" | "user" | "human" | "assistant" | "ai" | "llm" | "claude" | "developer"
    )
}

/// Returns the marks for a text that is not a word, such as an address or a tag; `None` for words.
fn mark(chunk: &str) -> Option<Vec<&'static str>> {
    let bare = chunk.trim_matches(|c: char| {
        matches!(c, '"' | '`' | '\'' | '(' | ')' | ',' | ';' | '.' | '!' | '?' | '“' | '”')
            && c != '!'
    });
    if let Some(at) = bare.find("://") {
        let rest = &bare[at + 3..];
        let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
        let mut marks = Vec::new();
        if bare.contains("![") {
            marks.push("‹image›");
        }
        marks.push("‹url›");
        if host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok()) {
            marks.push("‹ip›");
        }
        if asks_for_talk(rest)
            || rest.contains("=<")
            || rest.ends_with('=')
            || rest.contains("={")
            || rest.contains("=$")
        {
            marks.push("‹query›");
        }
        return Some(marks);
    }
    if bare.starts_with('<') && bare.ends_with('>') || bare == "]]>" {
        return Some(vec![if bare.starts_with("</") || bare == "]]>" {
            "‹close›"
        } else {
            "‹open›"
        }]);
    }
    if chunk.starts_with("[system") || chunk.contains("<<<") {
        return Some(vec!["‹system›"]);
    }
    if let Some((name, host)) = bare.split_once('@')
        && !name.is_empty()
        && host.contains('.')
    {
        return Some(vec!["‹mail›"]);
    }
    if is_host(bare) {
        return Some(vec!["‹host›"]);
    }
    if let Some((address, _)) = bare.split_once('/')
        && address.parse::<std::net::Ipv4Addr>().is_ok()
    {
        return Some(vec!["‹ip›"]);
    }
    let (left, right) = bare.split_once('/')?;
    let small = |text: &str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit());
    (small(left) && small(right)).then(|| vec!["‹of›"])
}

/// Returns whether a web address has a parameter that may carry text of the conversation.
fn asks_for_talk(address: &str) -> bool {
    const TALK: [&str; 14] = [
        "answer",
        "api_key",
        "apikey",
        "context",
        "conversation",
        "env",
        "history",
        "last_prompt",
        "message",
        "prompt",
        "question",
        "secret",
        "summary",
        "token",
    ];
    let value = |part: &str| part.split(['&', '#', ')']).next().unwrap_or_default().to_owned();
    address.split('=').skip(1).any(|part| TALK.contains(&value(part).as_str()))
}

fn is_host(word: &str) -> bool {
    const ENDS: [&str; 18] = [
        "com", "org", "net", "io", "example", "top", "xyz", "ru", "cn", "biz", "cc", "info",
        "site", "online", "link", "club", "tk", "ly",
    ];
    let host = word.split('/').next().unwrap_or_default();
    host.split_once('.').is_some_and(|(first, _)| !first.is_empty())
        && host.rsplit('.').next().is_some_and(|end| ENDS.contains(&end))
}
