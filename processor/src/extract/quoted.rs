//! Words of others in a prompt: what a person pasted, quoted, or asked to have written. They are no wish of the
//! person's, whatever they say. What a person says about them is.
//!
//! A passage counts as another's by a sign that it is: a mark of quotation, a line that announces it, the form of a
//! mail, a diff, a chat or a log. In doubt it is the person's.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::pattern::{Pattern, pattern};
use super::{prose, words};

/// Words of a quotation or an element that can say something; fewer are a name or a value.
const WORDS_MIN: usize = 4;
/// Bytes of one quotation.
const QUOTATION_BYTES_MAX: usize = 4 << 10;
/// Elements that are looked for their end.
const ELEMENTS_MAX: usize = 200;
/// Stands in place of what was left out.
const LEFT_OUT: &str = "…";

/// Nouns for texts that somebody else wrote.
const NOUN: &str = r"(?:(?:e-?)?mails?|messages?|issues?|tickets?|reports?|articles?|posts?|threads?|comments?|reviews?|feedback|transcripts?|logs?|letters?|tweets?|pages?|readme|docs?|documentation|faq|snippets?|answers?|repl(?:y|ies)|questions?|chats?|conversations?|spec|papers?|excerpts?|quotes?|citations?|texts?|paragraphs?|sentences?|notes?|diffs?|patch(?:es)?|translations?|descriptions?)";

/// Returns a pattern with the word `NOUN` in it.
fn with_noun(text: &str) -> Pattern {
    pattern(&text.replace("NOUN", NOUN))
}

/// Before a colon: somebody said or wrote what follows.
static REPORTS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b(?:wrote|writes|said|says|stated|states|reads|commented|comments\ that|replied|replies|answered|claims|claimed|complained|reported|demands|demanded|posted|sent|forwarded|told\ (?:me|us)|asked\ (?:me|us)|recommends|advises|suggests
        |schrieb|schreibt|sagt|sagte|meint|meinte|steht|écrit|dit|escribió|escribe|dijo|dice|scrive|scritto|escreveu|escreve|disse|diz|пишет|написала?|говорит|сказала?)\b|写道|说|写了|曰く|書いて|言って",
    )
});
/// The person speaks of words of their own.
static SELF: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:I|we)\s+(?:\w+\s+){0,2}(?:wrote|write|said|say|told|asked|agreed|mentioned|stated|repeat)\b|\b(?:my|our)\s+(?:\w+\s+){0,2}(?:rules?|conventions?|polic(?:y|ies)|guides?|guidelines?|wish(?:es)?|preferences?|agreements?|standards?)\b|\b(?:ich|wir)\s+(?:sagte|schrieb)|\bnote to (?:self|you)\b",
    )
});
/// Phrases for a rule that no longer holds.
static OLD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)\bused\ to\ (?:say|have|do|be|write|require|follow|demand)\b
        |\b(?:rule|convention|advice|policy|wish|guideline)\s+(?:was|were|used\ to)\b
        |\b(?:rules?|conventions?|advice|polic(?:y|ies)|wish(?:es)?|guidelines?|this|that|it|which)\s+(?:(?:is|are|was|were|does|do|has|have)\s+)?(?:holds?\ no\ longer|(?:no\ longer|n['’]?t\ .{0,12}any\ ?more|not\ .{0,12}any\ ?more|not)\s*(?:hold|holds|apply|applies|valid|true|in\ force|stand|stands|count|counts)\b)
        |\bholds?\ no\ longer\b|\bgilt\ nicht\ mehr\b|\bne\ s['’]applique\ plus\b|\bya\ no\ (?:vale|aplica)\b|\bnon\ vale\ più\b|\bnão\ vale\ mais\b",
    )
});
/// A sentence that takes back the one before it.
static TAKES_BACK: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)^\W*(?:but\ |and\ |however,?\ )?(?:that|this|it|which|the)(?:\s(?:old\ )?(?:rule|one|advice|convention|policy|wish))?\s+(?:(?:is|was|has\ been)\s+(?:now\s+|long\s+)?(?:obsolete|outdated|superseded|repealed|withdrawn|void|history|dropped|over)\b
        |(?:is\ |does\ )?(?:no\ longer|holds\ no\ longer|n['’]?t\ .{0,12}any\ ?more|not\ .{0,12}any\ ?more|doesn['’]t\ .{0,12}any\ ?more))",
    )
});
/// Before a colon: what is to be done with the text behind it.
static WORKS_ON: LazyLock<Pattern> = LazyLock::new(|| {
    with_noun(
        r"(?ix)^\W*(?:please\ |can\ you\ |could\ you\ |now\ |then\ |und\ |bitte\ )*(?:
        (?:translate|übersetze?|traduis|traduisez|traduce|traduci|traduza|переведи|summari[sz]e|proof-?read|rephrase|reword|paraphrase|spell-?check|shorten|classify|transcribe|корректируй)\b
        |(?:fix|correct|change|rewrite|replace|add|insert|write|set|render|print|show|explain|check|review|use|make|put|return|test|assert|expect)\b.*\b(?:typos?|grammar|wording|spelling|docstring|string|label|title|heading|caption|NOUN)\s*(?:here|below|above|to)?\s*$)",
    )
});
/// Before a colon at the end of a line: the text of somebody else follows.
static ANNOUNCES: LazyLock<Pattern> = LazyLock::new(|| {
    with_noun(
        r"(?ix)\b(?:this|these|that|the\ following|following)\s+(?:\w+\s+){0,2}?NOUN\b|\bhere(?:['’]s|\ is|\ are|\ comes)\s+(?:[\w'’]+\s+){0,3}?NOUN\b|\b(?:is|was)\s+(?:the|an?|his|her|their|[\w]+['’]s)\s+(?:\w+\s+){0,2}?NOUN\b|\b(?:got|received|pasted)\s+(?:this|that|an?|the|it|these)\b|['’]s\s+(?:\w+\s+)?NOUN\s*$|\bNOUN\s+(?:below|from\s.+)$
        |^\W*from\s+(?:(?:the|an?|my|our)\s+)?(?:\w+\s+)?(?:forum|wiki|customer|client|user|vendor|support|colleague|manual|website|blog|NOUN)$",
    )
});
/// Before a colon: whose text it is.
static OWNED: LazyLock<Pattern> = LazyLock::new(|| {
    with_noun(r"^\W*(?:\w+\s){0,2}?\p{Lu}\w+['’]s\s+(?:\w+\s+)?(?i:NOUN)\b[^.]*$")
});
/// A line about a place or a subject announces what holds there.
static ABOUT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:for|in|on|at|about|regarding|with|within|inside|when|whenever|if|from now on)\b",
    )
});
/// A sentence that tells what another says, and stands for nothing itself.
static TELLS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)^\W*(?:according\ to|as\ per|laut|selon|d['’]après|según|secondo|segundo|по\ словам|согласно|根据|據)\b
        |^\W*(?:the|an?|his|her|their|some|one|my|our|\p{Lu}\w+['’]s)?\s*(?:[\w-]+\s+){1,3}?(?:said|says|wrote|writes|claims|claimed|argues|argued|insists|insisted|suggested|suggests|recommends|recommended)\s+(?:that\s+)?(?:we|you|they|it|one|everyone|everybody|I|to)\b",
    )
});
/// A sentence about what was said in the session.
static BETWEEN_US: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^\W*(?:but\ |and\ |so\ )?(?:you|I|we)\b"));
/// A source that Claude read, in front of what it says.
static SOURCE: LazyLock<Pattern> = LazyLock::new(|| {
    with_noun(
        r"(?ix)\b(?:says?|states?|reads?|tells?\ (?:us|me)|instructs?|asks?|demands?|recommends?|insists?|wrote|writes|said)\b|\baccording\ to\b|\bas\ per\b|\b(?:from|in|of)\s+(?:the|its?|an?)\s+(?:[\w.-]+\s+){0,2}?(?:website|site|wiki|handbook|manual|file|web|server|NOUN)\b",
    )
});
/// An order: what is to be done each time, at the beginning of a clause.
static ORDER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r#"(?i)\b(?:from now on|going forward|from here on|in (?:the )?future|in (?:all|every|each|future) (?:future )?sessions?)\b|(?:^\s*|[:,;.!"“«'`—–-]\s*|\bthat\s+|\bto\s+)(?:please\s+)?(?:you (?:must|should|have to|need to)|(?:one|we|claude|agents?|assistants?) (?:must|should)|must|always|never|do not|don['’]t|make sure|be sure)\s+(?:always\s+|never\s+|to\s+)?\p{L}+"#,
    )
});
/// A name behind a dash, at the end of what it said.
static SIGNED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r#"[.!?"”»]\s+(?:—|–|--|-)\s?\p{Lu}[\w.]+(?:\s\p{Lu}[\w.]+){0,2}\.?\s*$"#)
});
/// A line that a program wrote: with the time, a level or a place before the message. A date alone is a person's,
/// and so is a warning: programs write that small.
static MACHINE_LINE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)^\s*(?:
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
        )",
    )
});
/// A label over one text of a program or of a page, which begins with a capital.
static LABEL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?x)^\W*(?i:(?:the|this|its)\s)?(?i:commit|pr|pull\ request|mr|merge\ request|error|warning|log|lint|review|issue|ticket|release|exception|panic|chat|failure)\s(?i:message|description|comment|title|text|line|entry|output|body|subject)\s?:\s+[\p{Lu}\x22']",
    )
});
/// A line over what somebody said in a chat: the name and the time.
static SPEAKER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"^\s*@?\p{L}[\w. -]+,?\s+\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AP]M)?\]?\s*$")
});
/// Characters of a speaker's name.
const SPEAKER_CHARS_MAX: usize = 21;

/// A line of a chat, with its time and its speaker.
static CHAT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^\s*(\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AP]M)?\]?\s*)?[<@]?(\p{L}[\w.-]+)>?(?:\s\(.{1,20}\))?:\s",
    )
});
/// A line at the head of a mail or an issue.
static FIELD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W{0,4}(?:from|to|cc|subject|date|sent|reply-to|von|an|betreff|gesendet|de|para|à|objet|asunto|oggetto|data|от|кому|тема|title|reporter|reported by|assignee|author|labels?|status|priority|steps to reproduce|expected(?: behaviou?r)?|actual(?: behaviou?r)?)\W{0,3}:",
    )
});
/// The first and the last line of a mail.
static GREETING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s*(?:hi|hello|hey|dear|good (?:morning|day)|hallo|guten tag|lieber?|sehr geehrte\w*|bonjour|cher|chère|hola|estimad[oa]s?|ciao|caro|cara|gentile|olá|prezad[oa]s?|здравствуйте|привет|您好|你好)\b[^.?:]{0,40}[,!]?\s*$",
    )
});
static FAREWELL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s*(?:(?:with )?(?:best|kind|warm|many)? ?(?:regards|wishes|greetings)|best|sincerely|yours(?: \w+)?|mit freundlichen grüßen|(?:viele|liebe|beste|schöne) grüße|grüße|gruß|mfg|lg|cordialement|bien à (?:vous|toi)|salutations|(?:un )?saludos?|atentamente|cordiali saluti|distinti saluti|atenciosamente|abraços?|с уважением|此致|敬具|よろしくお願い(?:いた)?します)\b[ ,.!]*(?:\p{Lu}\w+.{0,20})?$",
    )
});
/// Claude is greeted: the mail is to it.
static TO_CLAUDE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)\bclaude\b"));
/// The beginning of an element.
static ELEMENT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"<([A-Za-z][A-Za-z0-9_-]{1,40})(?:\s[^<>]*)?>"));
/// Elements that only dress a person's own words.
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
/// Marks of quotation; those that also are something else are looked at closer.
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

/// Returns a prompt without what its author only passed on.
pub fn own_words(prompt: &str) -> String {
    let text = without_lines(&without_elements(prompt));
    let text = without_quotations(&text);
    let lines: Vec<String> = text.lines().map(without_reports).collect();
    lines.join("\n")
}

fn count(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// Whether a text says itself that its author wishes for something.
fn wishes(text: &str) -> bool {
    words::FOR_ALL_TIMES.is_match(text) || words::HABIT.is_match(text)
}

/// Leaves out what stands in an element: `<article>...</article>`.
fn without_elements(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for open in ELEMENT.captures_iter(text).take(ELEMENTS_MAX) {
        let (Some(tag), name) = (open.get(0), &open[1]) else { continue };
        if tag.start() < done || DRESS.contains(&name.to_ascii_lowercase().as_str()) {
            continue;
        }
        let close = format!("</{name}>");
        let Some(length) = text[tag.end()..].find(&close) else { continue };
        if count(&text[tag.end()..tag.end() + length]) < WORDS_MIN {
            continue;
        }
        result.push_str(&text[done..tag.start()]);
        result.push_str(LEFT_OUT);
        done = tag.end() + length + close.len();
    }
    result.push_str(&text[done..]);
    result
}

/// Leaves out the lines that are quoted, of a diff, a chat, a mail or a log, or announced as somebody else's.
fn without_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut others = vec![false; lines.len()];
    mark_chat(&lines, &mut others);
    mark_mail(&lines, &mut others);
    let mut fenced = false;
    let mut diff = false;
    let mut announced = false;
    for (at, line) in lines.iter().enumerate() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            fenced = !fenced;
        }
        if fenced || start.starts_with("```") || start.starts_with("~~~") {
            others[at] = true;
            continue;
        }
        diff = match diff {
            true => line.is_empty() && is_of_diff(lines.get(at + 1)) || is_of_diff(Some(line)),
            false => opens_diff(line),
        };
        if announced || diff || start.starts_with('>') {
            others[at] = true;
            continue;
        }
        // A chat goes on to its end.
        others[at] |= SPEAKER.is_match(line) || MACHINE_LINE.is_match(line) || LABEL.is_match(line);
        announced = others[at] && SPEAKER.is_match(line)
            || !others[at] && announces(line) && !is_marked(&lines[at + 1..]);
    }
    let kept = lines.iter().zip(&others).filter(|(_, other)| !**other).map(|(line, _)| *line);
    kept.collect::<Vec<_>>().join("\n")
}

/// Whether what comes next says by its own marks where it ends.
fn is_marked(lines: &[&str]) -> bool {
    let next = lines.iter().map(|line| line.trim_start()).find(|line| !line.is_empty());
    next.is_none_or(|next| {
        next.starts_with(['>', '“', '„', '«', '"', '「', '…']) || next.starts_with("```")
    })
}

/// Whether a line announces that the lines below it are somebody else's.
fn announces(line: &str) -> bool {
    let line = line.trim().trim_end_matches(['*', '_']);
    let Some(head) = line.strip_suffix(':').or_else(|| line.strip_suffix('：')) else {
        // A request about the text below it.
        return false;
    };
    let last = prose::split(head).last().map_or(head, |last| last.trim());
    is_others(last) || !ABOUT.is_match(last) && ANNOUNCES.is_match(last)
}

/// Whether what stands before a colon makes what follows somebody else's.
fn is_others(head: &str) -> bool {
    if OLD.is_match(head) {
        return true;
    }
    !SELF.is_match(head)
        && (REPORTS.is_match(head) && !wishes(head)
            || WORKS_ON.is_match(head) && !wishes(head)
            || OWNED.is_match(head)
            || tells(head))
}

/// Whether a sentence tells what somebody else says.
fn tells(sentence: &str) -> bool {
    TELLS.is_match(sentence) && !SELF.is_match(sentence) && !BETWEEN_US.is_match(sentence)
}

fn opens_diff(line: &str) -> bool {
    let comments = ["//", "#", "/*", "*", "<!--", "--"];
    ["diff --git ", "@@ -", "+++ ", "--- a/"].iter().any(|start| line.starts_with(start))
        || line.strip_prefix('+').is_some_and(|rest| {
            rest.starts_with(|c: char| !c.is_whitespace() && !c.is_ascii_digit())
        })
        || line.strip_prefix('-').is_some_and(|rest| comments.iter().any(|it| rest.starts_with(it)))
            && !line.starts_with("---")
}

fn is_of_diff(line: Option<&&str>) -> bool {
    line.is_some_and(|line| {
        line.starts_with(['+', '-', ' ', '\\'])
            || line.starts_with("@@")
            || line.starts_with("index ")
    })
}

/// Marks the lines of a chat: with times, or of speakers who speak again.
fn mark_chat(lines: &[&str], others: &mut [bool]) {
    let speakers: Vec<Option<(bool, String)>> = lines
        .iter()
        .map(|line| {
            let found = CHAT.captures(line)?;
            // The pattern has no such bound: each repetition would be a copy of Unicode's letters.
            if found[2].chars().count() > SPEAKER_CHARS_MAX {
                return None;
            }
            Some((found.get(1).is_some(), found[2].to_lowercase()))
        })
        .collect();
    let said = || speakers.iter().flatten();
    let names: BTreeSet<&str> = said().map(|(_, name)| name.as_str()).collect();
    let timed = said().any(|(timed, _)| *timed);
    let again = names.len() > 1 && said().count() > names.len();
    if !timed && !again {
        return;
    }
    for (other, speaker) in others.iter_mut().zip(&speakers) {
        *other |= speaker.is_some();
    }
}

/// Marks the lines of a mail: from its head on, or from its greeting to its farewell and the name below it.
fn mark_mail(lines: &[&str], others: &mut [bool]) {
    /// Lines of a name and an address below a farewell.
    const NAME_LINES_MAX: usize = 3;
    let fields: Vec<usize> = (0..lines.len()).filter(|at| FIELD.is_match(lines[*at])).collect();
    if let Some(pair) = fields.windows(2).find(|pair| pair[1] <= pair[0] + 2) {
        others[pair[0]..].fill(true);
        return;
    }
    let Some(farewell) = lines.iter().position(|line| FAREWELL.is_match(line)) else { return };
    let greeting = lines[..farewell].iter().position(|line| GREETING.is_match(line));
    let first = match greeting {
        Some(at) if TO_CLAUDE.is_match(lines[at]) => return,
        Some(at) => at,
        // Below the paragraph in which the person speaks.
        None => match lines[..farewell].iter().position(|line| line.trim().is_empty()) {
            Some(at) if lines[at..farewell].iter().any(|line| !line.trim().is_empty()) => at,
            Some(_) | None => return,
        },
    };
    let below = lines[farewell + 1..].iter();
    let named = below.take(NAME_LINES_MAX).take_while(|line| !line.trim().is_empty()).count();
    others[first..=farewell + named].fill(true);
}

/// Leaves out what stands in marks of quotation, where the sentence around it does not wish for something itself.
fn without_quotations(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (at, c) in text.char_indices() {
        if at < done {
            continue;
        }
        let Some((_, closing)) = MARKS.iter().find(|(open, _)| *open == c) else { continue };
        let Some(end) = quotation_end(text, at, c, closing) else { continue };
        let inner = at + c.len_utf8()..end;
        if count(&text[inner.clone()]) < WORDS_MIN || is_meant(text, at, end) {
            continue;
        }
        result.push_str(&text[done..inner.start]);
        result.push_str(LEFT_OUT);
        done = end;
    }
    result.push_str(&text[done..]);
    result
}

/// Where a quotation that opens at a place ends: the place of its closing mark.
fn quotation_end(text: &str, at: usize, open: char, closing: &[char]) -> Option<usize> {
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
    let (end, _) = inner.char_indices().find(closes)?;
    // A mark that closes nothing would swallow the paragraphs after it.
    let crosses = is_plain && inner[..end].contains("\n\n");
    (!crosses).then_some(at + open.len_utf8() + end)
}

/// Whether the person means a quotation as their own words, or only names it within their wish.
fn is_meant(text: &str, open: usize, close: usize) -> bool {
    let ends = ['.', '!', '?', '\n', '。'];
    let before = &text[..open];
    let start = before.trim_end().rfind(ends).unwrap_or(0);
    let before = before[start..].trim_start_matches(ends);
    let after = &text[close..];
    let after = &after[..after.find(ends).unwrap_or(after.len())];
    if is_others(before.trim().trim_end_matches([':', '：', ' '])) {
        return false;
    }
    wishes(&format!("{before} {after}")) || SELF.is_match(before)
}

/// Whether a text of Claude's retells an order that stands in something it read. Who wrote that is no user, and
/// Claude's words make it no fact: what is so can be retold, what is to be done cannot.
pub fn retells_order(text: &str) -> bool {
    let sentences: Vec<&str> = prose::split(text).into_iter().map(str::trim).collect();
    (0..sentences.len()).any(|at| {
        let Some(source) = SOURCE.find(sentences[at]) else { return false };
        let said = &sentences[at][source.end()..];
        // The order after a colon may stand in the next sentence.
        let next = sentences.get(at + 1).filter(|_| said.ends_with(':') || said.contains(": "));
        ORDER.is_match(said) || next.is_some_and(|next| ORDER.is_match(next))
    })
}

/// Speech of another within a line, and where it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speech {
    /// Ended, or not begun.
    None,
    /// Without marks: up to the end of the line, since it may have several sentences.
    Unmarked,
    /// Up to one of these marks.
    Marked(&'static [char]),
}

impl Speech {
    /// Returns what goes on behind a sentence, given its part from the colon on.
    fn behind(said: &str) -> Self {
        let said = said.trim_start_matches([':', '：', ' ']);
        let Some((open, closing)) = MARKS.iter().find(|(open, _)| said.starts_with(*open)) else {
            return Self::Unmarked;
        };
        let inner = &said[open.len_utf8()..];
        if inner.contains(*closing) { Self::None } else { Self::Marked(closing) }
    }
}

/// Leaves out of a line what its sentences tell of others.
fn without_reports(line: &str) -> String {
    if SIGNED.is_match(line) {
        return String::new();
    }
    let sentences = prose::split(line);
    let mut kept: Vec<String> = Vec::new();
    let mut speech = Speech::None;
    for (at, sentence) in sentences.iter().enumerate() {
        let taken_back = sentences.get(at + 1).is_some_and(|next| TAKES_BACK.is_match(next));
        let goes_on = speech != Speech::None;
        if let Speech::Marked(closing) = speech
            && sentence.contains(closing)
        {
            speech = Speech::None;
        }
        if goes_on || taken_back || tells(sentence) {
            continue;
        }
        let colon = sentence.find(": ").or_else(|| sentence.find('：'));
        match colon.filter(|&colon| is_others(&sentence[..colon])) {
            // The quoted speech may have several sentences.
            Some(colon) => {
                kept.push(format!("{}: {LEFT_OUT}", &sentence[..colon]));
                speech = Speech::behind(&sentence[colon..]);
            }
            None => kept.push((*sentence).to_owned()),
        }
    }
    kept.concat()
}

/// Every pattern of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[
    &REPORTS,
    &SELF,
    &OLD,
    &TAKES_BACK,
    &WORKS_ON,
    &ANNOUNCES,
    &OWNED,
    &ABOUT,
    &TELLS,
    &BETWEEN_US,
    &SOURCE,
    &ORDER,
    &SIGNED,
    &MACHINE_LINE,
    &LABEL,
    &SPEAKER,
    &CHAT,
    &FIELD,
    &GREETING,
    &FAREWELL,
    &TO_CLAUDE,
    &ELEMENT,
];

#[cfg(test)]
#[path = "quoted_tests.rs"]
mod tests;
