//! Splits a Markdown text into units: paragraphs, list items with their introduction, and table rows with the names of
//! their columns. Units that belong together are joined up to a maximum length, and each unit has its heading.
//! Decorations, logs and long listings of code are omitted.

use memory_store::text::{Form, tokens};

/// Maximum number of characters of a passage.
pub const CHARS_MAX: usize = 600;
/// Length in characters below which a text has little content without its neighbour.
const SHORT_CHARS: usize = 160;
/// Maximum length in characters of short texts that are joined. Three such passages fit into an injection for a prompt.
const JOINED_CHARS_MAX: usize = 340;
/// Maximum length in characters of a heading, or of the introduction of a list, in front of a unit.
const LEAD_CHARS_MAX: usize = 160;
/// Maximum number of lines of code that are kept with the paragraph before it.
const CODE_LINES_MAX: usize = 6;
/// Maximum number of characters of this code.
const CODE_CHARS_MAX: usize = 300;
/// Minimum number of equal marks in a row that count as decoration.
const ORNAMENT_MIN: usize = 5;
/// Maximum number of words of a decorated line. A longer line is a sentence.
const LABEL_WORDS_MAX: usize = 3;
/// Minimum number of lines of a paragraph that may be a log.
const LOG_LINES_MIN: usize = 4;
/// Maximum number of units of one text. A longer text is probably a pasted document.
const UNITS_MAX: usize = 200;

/// A unit of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkdownUnit {
    /// The preceding heading; may be empty.
    pub heading: String,
    /// The words of the unit.
    pub text: String,
}

impl MarkdownUnit {
    /// Returns the text with its heading, if both fit into a passage.
    pub fn whole(&self) -> String {
        let lead = cut(&self.heading, LEAD_CHARS_MAX);
        let between = if self.text.starts_with("- ") { ":\n" } else { ": " };
        match lead.is_empty() || lead.chars().count() + self.text.chars().count() + 2 > CHARS_MAX {
            true => self.text.clone(),
            false => format!("{lead}{between}{}", self.text),
        }
    }
}

/// A block of a Markdown text.
#[derive(Debug)]
enum MarkdownBlock {
    Heading(String),
    Paragraph(String),
    Item { depth: usize, text: String },
    Row(Vec<String>),
    Code(String),
}

/// Returns the units of a text in their order. No unit is longer than [`CHARS_MAX`] characters.
pub fn units(markdown: &str) -> Vec<MarkdownUnit> {
    let blocks = blocks(markdown);
    let mut units: Vec<MarkdownUnit> = Vec::new();
    let mut heading = String::new();
    let mut at = 0;
    while at < blocks.len() && units.len() < UNITS_MAX {
        let mut end = at + 1;
        let texts = match &blocks[at] {
            MarkdownBlock::Heading(text) => {
                heading.clone_from(text);
                Vec::new()
            }
            MarkdownBlock::Code(_) => Vec::new(),
            MarkdownBlock::Row(names) => {
                let rows = blocks[end..].iter().map_while(|block| match block {
                    MarkdownBlock::Row(cells) => Some(row(names, cells)),
                    _ => None,
                });
                let rows: Vec<String> = rows.collect();
                end += rows.len();
                match rows.as_slice() {
                    [row] => vec![row.clone()],
                    _ => {
                        let lead = heading.chars().count().min(LEAD_CHARS_MAX) + 2;
                        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                        in_groups(&rows, CHARS_MAX.saturating_sub(lead))
                    }
                }
            }
            MarkdownBlock::Paragraph(text) => {
                end = list_end(&blocks, at + 1, 0);
                match text.ends_with([':', '：']) && end > at + 1 {
                    true => with_items(text, &blocks[at + 1..end]),
                    false => {
                        end = at + 1;
                        vec![with_code(text, &blocks, &mut end)]
                    }
                }
            }
            MarkdownBlock::Item { text, depth } => {
                end = list_end(&blocks, at + 1, depth + 1);
                match end > at + 1 {
                    true => with_items(text, &blocks[at + 1..end]),
                    false => vec![with_code(text, &blocks, &mut end)],
                }
            }
        };
        let texts = texts.into_iter().filter(|text| !is_log(text));
        for part in texts.flat_map(|text| split(&text)) {
            units.push(MarkdownUnit { heading: heading.clone(), text: part });
        }
        at = end;
    }
    units.truncate(UNITS_MAX);
    with_answers(units)
}

/// Joins a question with the next unit below the same heading, and short neighbouring texts, if both fit.
fn with_answers(units: Vec<MarkdownUnit>) -> Vec<MarkdownUnit> {
    let mut joined: Vec<MarkdownUnit> = Vec::new();
    for unit in units {
        if let Some(last) = joined.last_mut()
            && last.heading == unit.heading
            && belong_together(&last.text, &unit.text)
        {
            last.text.push('\n');
            last.text.push_str(&unit.text);
        } else {
            joined.push(unit);
        }
    }
    joined
}

/// Returns whether a text must be read together with the next one.
fn belong_together(text: &str, next: &str) -> bool {
    let lengths = [text, next].map(|text| text.chars().count());
    let is_short = lengths.iter().any(|&length| length < SHORT_CHARS);
    let most = if asks(text) { CHARS_MAX } else { JOINED_CHARS_MAX };
    (is_short || asks(text)) && lengths[0] + lengths[1] < most
}

/// Returns whether a text ends with a question, in any script.
pub fn asks(text: &str) -> bool {
    let end = text.trim_end().trim_end_matches(['*', '_', '"', '”', ')', '`']);
    end.ends_with(['?', '？', '؟', '՞'])
}

/// Returns the index after the items that begin at `from` and are indented by at least `depth`.
fn list_end(blocks: &[MarkdownBlock], from: usize, depth: usize) -> usize {
    let items = blocks[from..].iter();
    let is_below = |block: &&MarkdownBlock| matches!(block, MarkdownBlock::Item { depth: of, .. } if *of >= depth);
    from + items.take_while(is_below).count()
}

/// Returns the introduction of a list with all its items, or with groups of items if they do not fit together.
fn with_items(head: &str, items: &[MarkdownBlock]) -> Vec<String> {
    let items = items.iter().filter_map(|block| match block {
        MarkdownBlock::Item { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let items: Vec<&str> = items.collect();
    let whole = format!("{head}\n- {}", items.join("\n- "));
    if whole.chars().count() <= CHARS_MAX {
        return vec![whole];
    }
    let head = cut(head, LEAD_CHARS_MAX);
    let room = CHARS_MAX.saturating_sub(head.chars().count() + 1);
    in_groups(&items, room).iter().map(|group| format!("{head}\n{group}")).collect()
}

/// Groups consecutive items, up to `room` characters per group. Short items of one list usually have a common subject.
fn in_groups(items: &[&str], room: usize) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut length = 0;
    for item in items {
        let more = item.chars().count() + 3;
        if !open.is_empty() && length + more > room {
            groups.push(format!("- {}", open.join("\n- ")));
            (length, open) = (0, Vec::new());
        }
        length += more;
        open.push(item);
    }
    if !open.is_empty() {
        groups.push(format!("- {}", open.join("\n- ")));
    }
    groups
}

/// Returns a text with the code block after it, if both fit.
fn with_code(text: &str, blocks: &[MarkdownBlock], end: &mut usize) -> String {
    if let Some(MarkdownBlock::Code(code)) = blocks.get(*end)
        && text.chars().count() + code.chars().count() < CHARS_MAX
    {
        *end += 1;
        return format!("{text}\n{code}");
    }
    text.to_owned()
}

/// Returns the text of a table row, with the names of the columns.
fn row(names: &[String], cells: &[String]) -> String {
    let told = names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
    let told: Vec<String> = told
        .map(|(name, cell)| if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") })
        .collect();
    told.join("; ")
}

fn blocks(markdown: &str) -> Vec<MarkdownBlock> {
    let mut blocks = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut fence: Option<(&str, Vec<&str>)> = None;
    for line in markdown.lines() {
        let trimmed = line.trim();
        if let Some((mark, code)) = &mut fence {
            if trimmed.starts_with(*mark) && trimmed.trim_end_matches(['`', '~']).is_empty() {
                let short = code.len() <= CODE_LINES_MAX;
                let code = code.join("\n");
                let code = Some(code).filter(|it| short && it.chars().count() <= CODE_CHARS_MAX);
                blocks.extend(code.map(MarkdownBlock::Code));
                fence = None;
            } else {
                code.push(line);
            }
            continue;
        }
        let is_fence = |mark: &&str| trimmed.starts_with(*mark);
        if let Some(mark) = ["```", "~~~"].into_iter().find(is_fence) {
            finish(&mut open, &mut blocks);
            fence = Some((mark, Vec::new()));
            continue;
        }
        if is_ornament(trimmed) {
            finish(&mut open, &mut blocks);
        } else if let Some(title) = heading_of(trimmed) {
            finish(&mut open, &mut blocks);
            blocks.push(MarkdownBlock::Heading(title));
        } else if trimmed.starts_with('|') && trimmed.ends_with('|') && trimmed.len() > 2 {
            finish(&mut open, &mut blocks);
            let cells = trimmed[1..trimmed.len() - 1].split('|').map(|cell| bare(cell.trim()));
            let cells: Vec<String> = cells.collect();
            let is_rule = cells.iter().all(|cell| cell.trim_matches(['-', ':', ' ']).is_empty());
            if !is_rule {
                blocks.push(MarkdownBlock::Row(cells));
            }
        } else if let Some(text) = item_of(trimmed) {
            finish(&mut open, &mut blocks);
            let depth = (line.len() - line.trim_start().len()) / 2;
            blocks.push(MarkdownBlock::Item { depth, text: bare(text) });
        } else if let Some(MarkdownBlock::Item { text, .. }) = blocks.last_mut()
            && open.is_empty()
            && line.starts_with([' ', '\t'])
            && !trimmed.is_empty()
        {
            text.push(' ');
            text.push_str(&bare(trimmed));
        } else {
            open.push(trimmed.trim_start_matches('>').trim().to_owned());
        }
        if trimmed.is_empty() {
            finish(&mut open, &mut blocks);
        }
    }
    finish(&mut open, &mut blocks);
    blocks
}

/// Adds the open paragraph to the blocks.
fn finish(open: &mut Vec<String>, blocks: &mut Vec<MarkdownBlock>) {
    let text = bare(open.join("\n").trim());
    open.clear();
    if !text.is_empty() {
        blocks.push(MarkdownBlock::Paragraph(text));
    }
}

/// Returns a text without bold marks. A link to a file is replaced by its words if these contain the file's name.
fn bare(text: &str) -> String {
    let mut left = text;
    let mut bare = String::with_capacity(text.len());
    while let Some(start) = left.find('[') {
        let (before, link) = left.split_at(start);
        bare.push_str(before);
        let is_index = before.ends_with(|c: char| c.is_alphanumeric() || c == '`');
        match link_of(link).filter(|_| !is_index) {
            Some((words, length)) => {
                bare.push_str(words);
                left = &link[length..];
            }
            None => {
                bare.push('[');
                left = &link[1..];
            }
        }
    }
    bare.push_str(left);
    without_bold(&bare)
}

/// Returns a text without the marks around bold words. Other double stars, for example in a path pattern, are kept.
fn without_bold(text: &str) -> String {
    let mut parts = text.split("**").peekable();
    let mut bare = String::with_capacity(text.len());
    while let Some(part) = parts.next() {
        bare.push_str(part);
        let Some(next) = parts.peek() else { break };
        let (before, after) = (bare.chars().next_back(), next.chars().next());
        let is_open = before.is_none_or(|c| c.is_whitespace() || "([\"'“".contains(c))
            && after.is_some_and(|c| c.is_alphanumeric() || "`\"'“(@#".contains(c));
        let is_end = before.is_some_and(|c| !c.is_whitespace() && c != '/')
            && after.is_none_or(|c| !c.is_alphanumeric() && !"/*_`".contains(c));
        if !is_open && !is_end {
            bare.push_str("**");
        }
    }
    bare
}

/// Returns the words of a link at the beginning of a text, and the length of the link. `None` unless the link leads to
/// a file whose name is in the words.
fn link_of(text: &str) -> Option<(&str, usize)> {
    let (words, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (target, _) = rest.strip_prefix('(')?.split_once(')')?;
    let path = target.split([':', '#']).next().unwrap_or(target);
    let name = path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())?;
    let is_file = !target.contains("://") && !target.contains(char::is_whitespace);
    (is_file && !words.is_empty() && words.contains(name))
        .then_some((words, words.len() + target.len() + 4))
}

/// Returns the title of a heading, or of a line that is completely bold.
fn heading_of(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#');
    let marks = line.len() - title.len();
    if (1..=6).contains(&marks) && title.starts_with(' ') {
        return Some(title.trim().trim_matches('*').to_owned());
    }
    let bold = line.strip_prefix("**")?.strip_suffix("**")?;
    (!bold.is_empty() && !bold.contains("**") && !bold.ends_with(['.', '?', '!']))
        .then(|| bold.trim_end_matches(':').to_owned())
}

/// Returns the text of a list item.
fn item_of(line: &str) -> Option<&str> {
    let bare = line.strip_prefix(['-', '*', '+', '•']);
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = line.len() - rest.len();
        (1..=3).contains(&digits).then(|| rest.strip_prefix(['.', ')']))?
    };
    let text = bare.or_else(numbered)?;
    text.starts_with(' ').then(|| text.trim()).filter(|text| !text.is_empty())
}

/// Returns whether a line is decoration: a rule, which may contain a label.
fn is_ornament(line: &str) -> bool {
    let mut run = 0;
    let (mut longest, mut last) = (0, None);
    for c in line.chars().filter(|c| !c.is_whitespace()) {
        let mark = !c.is_alphanumeric();
        run = if mark && last == Some(c) { run + 1 } else { usize::from(mark) };
        longest = longest.max(run);
        last = Some(c);
    }
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
    let words = line.split_whitespace().filter(is_word).count();
    let is_rule = !line.is_empty() && line.chars().all(|c| !c.is_alphanumeric());
    is_rule && longest >= 3 || longest >= ORNAMENT_MIN && words <= LABEL_WORDS_MAX
}

/// Returns whether a paragraph is a log or a dump: most of its lines begin like the output of programs, or contain few
/// letters.
fn is_log(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() < LOG_LINES_MIN || text.starts_with("- ") || text.contains("\n- ") {
        return false;
    }
    let is_machine = |line: &&&str| {
        let line = line.trim_start();
        let digits = line.bytes().take(12).filter(u8::is_ascii_digit).count();
        let letters = line.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
        digits >= 4
            || line.starts_with(['[', '{', '}', '<', '$', '%', '#', '+', '@', '|', '│', '├'])
            || line.starts_with("at ")
            || letters * 10 < line.chars().count() * 6
    };
    lines.iter().filter(is_machine).count() * 2 >= lines.len()
}

/// Splits a long text between sentences, so that each part has at most [`CHARS_MAX`] characters.
fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while rest.chars().count() > CHARS_MAX {
        let end = rest.char_indices().nth(CHARS_MAX).map_or(rest.len(), |(end, _)| end);
        let at = sentence_end(&rest[..end]).unwrap_or_else(|| {
            let blank = rest[..end].rfind(char::is_whitespace).filter(|&blank| blank > 0);
            blank.unwrap_or(end)
        });
        parts.push(rest[..at].trim().to_owned());
        rest = rest[at..].trim();
    }
    if !rest.is_empty() {
        parts.push(rest.to_owned());
    }
    parts
}

/// Returns the end of the last complete sentence of a text.
fn sentence_end(text: &str) -> Option<usize> {
    let mut last = None;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let end = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => characters.peek().is_some_and(|(_, next)| next.is_whitespace()),
            '\n' => true,
            _ => false,
        };
        if ends {
            last = Some(end);
        }
    }
    last
}

/// Returns the beginning of a text, truncated between words.
pub fn cut(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return text.to_owned() };
    let head = &text[..end];
    let blank = head.rfind(char::is_whitespace).filter(|&blank| blank * 2 > end);
    format!("{}…", head[..blank.unwrap_or(end)].trim_end())
}

/// Returns the number of words of a text in any script, without stop words.
pub fn count_words(text: &str) -> usize {
    tokens(text).iter().filter(|token| token.form != Form::Part).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_texts(markdown: &str) -> Vec<String> {
        units(markdown).iter().map(MarkdownUnit::whole).collect()
    }

    #[test]
    fn paragraphs_items_and_rows_are_units_below_their_heading() {
        let text = "## Cache\n\nThe cache lives in memory.\n\nIt has two limits:\n- 10 MB for texts\n- 5 MB for images\n\n\
                    | name | port |\n|--|--|\n| proxy | 8080 |\n\nLast.";
        assert_eq!(
            unit_texts(text),
            [
                "Cache: The cache lives in memory.\nIt has two limits:\n- 10 MB for texts\n- 5 MB for images\n\
              name: proxy; port: 8080\nLast."
            ]
        );
        let long = "A sentence of the cache that has quite some words, as they are. ".repeat(5);
        let text = format!(
            "# Cache\n\n{long}\n\nIt has two limits:\n- 10 MB for texts, and {long}\n- {long}"
        );
        let long = long.trim();
        assert_eq!(
            unit_texts(&text),
            [
                format!("Cache: {long}"),
                format!("Cache: It has two limits:\n- 10 MB for texts, and {long}"),
                format!("Cache: It has two limits:\n- {long}"),
            ]
        );
    }

    #[test]
    fn a_question_keeps_what_follows_it() {
        assert_eq!(
            unit_texts(&format!(
                "Why is it slow?\n\nIt opens {}.\n\n{}.",
                "a file ".repeat(50),
                "More ".repeat(40)
            )),
            [
                format!("Why is it slow?\nIt opens {}.", "a file ".repeat(50)),
                format!("{}.", "More ".repeat(40))
            ]
        );
        assert_eq!(unit_texts("なぜ遅いのか？\n\n毎回開くから。").len(), 1);
    }

    #[test]
    fn decorations_logs_and_long_code_are_left_out() {
        let text = "`★ Insight ─────────────────────`\nThe lock is held too long.\n`─────────────────────────`\n\n---\n\n\
                    2026-01-02 10:00:01 INFO start\n2026-01-02 10:00:02 INFO load\n2026-01-02 10:00:03 WARN slow\n\
                    2026-01-02 10:00:04 ERROR stop\n\nRun:\n```\nmake all\n```\n\n```\na\nb\nc\nd\ne\nf\ng\n```";
        assert_eq!(unit_texts(text), ["The lock is held too long.\nRun:\nmake all"]);
    }

    #[test]
    fn links_to_files_and_bold_marks_are_left_out_and_code_stays() {
        assert_eq!(
            unit_texts(
                "**The cause** is in [desk.rs:12](src/desk.rs:12) and [the hook](src/hook.rs), see \
                 [issue 7](https://example.com/7): `table[row](cell)` of src/**/*.rs."
            ),
            [
                "The cause is in desk.rs:12 and [the hook](src/hook.rs), see [issue 7](https://example.com/7): \
              `table[row](cell)` of src/**/*.rs."
            ]
        );
    }

    #[test]
    fn rows_of_a_table_stay_together_while_they_fit() {
        let row = |number: usize| format!("| proxy {number} | {} |\n", "1234567890".repeat(20));
        let rows: String = (0..4).map(row).collect();
        let units = unit_texts(&format!("## Ports\n\n| name | port |\n|--|--|\n{rows}"));
        assert_eq!(units.len(), 2);
        assert!(units[0].starts_with("Ports:\n- name: proxy 0; port: 12"), "{units:?}");
        assert!(units[1].contains("proxy 3") && !units[1].contains("proxy 1"));
    }

    #[test]
    fn no_unit_is_too_long_and_sentences_stay_whole() {
        let long = "A sentence of some words stands here. ".repeat(60);
        let units = unit_texts(&long);
        assert!(units.len() > 3);
        assert!(units.iter().all(|unit| unit.chars().count() <= CHARS_MAX && unit.ends_with('.')));
        let dense = "字".repeat(2000);
        assert!(unit_texts(&dense).iter().all(|unit| unit.chars().count() <= CHARS_MAX));
        let items: String =
            (0..40).map(|n| format!("- item {n} has a text of its own here\n")).collect();
        let listed = unit_texts(&format!("All of these:\n{items}"));
        assert!(
            listed.len() > 2 && listed.iter().all(|unit| unit.starts_with("All of these:\n- item"))
        );
    }
}
