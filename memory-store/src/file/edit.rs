//! Rewrites a file in place: only our data is changed, in as few bytes as possible.
//!
//! Three trees determine the changes: the tree of the file, and the trees of the front matter for the memory before and
//! after the change. A value is changed only if the last two trees differ. The result is parsed again, and rejected if
//! any text of a person would be lost.

use std::ops::Range;

use super::split::{FileFault, Split, split};
use super::yaml::{self, Style, YamlKey, YamlNode, YamlValue};
use super::{front, heading, read};
use crate::memory::Memory;

/// Returns the text with the changes from `old` to `new`.
pub(super) fn rewrite(text: &str, old: &Memory, new: &Memory) -> Result<String, FileFault> {
    rewrite_in(text, old, new, Style::Blocks).or_else(|_| rewrite_in(text, old, new, Style::Quotes))
}

fn rewrite_in(text: &str, old: &Memory, new: &Memory, style: Style) -> Result<String, FileFault> {
    let parts = split(text)?;
    let front = &text[parts.front.clone()];
    let new_front = edit_front(front, old, new, style, parts.line_ending)
        .map_err(|fault| FileFault::new(parts.front.start + fault.offset, fault.message))?;
    let new_body = edit_body(&text[parts.body.clone()], old, new, parts.line_ending);
    let edited = join(text, &parts, &new_front, &new_body);

    let says = read(&edited).map_err(|fault| refusal(&fault.message))?;
    if says != *new {
        return Err(refusal("the file would say something else afterwards"));
    }
    Ok(edited)
}

fn refusal(why: &str) -> FileFault {
    FileFault::new(0, format!("cannot be edited in place: {why}; edit the file by hand"))
}

fn join(text: &str, parts: &Split, front: &str, body: &str) -> String {
    let before = &text[..parts.front.start];
    let fence = &text[parts.front.end..parts.body.start];
    // If the file ends with its closing fence, a line break is needed before a body.
    let gap = if fence.ends_with('\n') || body.is_empty() { "" } else { parts.line_ending };
    format!("{before}{front}{fence}{gap}{body}")
}

fn edit_body(body: &str, old: &Memory, new: &Memory, line_ending: &str) -> String {
    if (&old.title, &old.body) == (&new.title, &new.body) {
        return body.to_owned();
    }
    let parts = heading::read(body);
    let Some(title) = parts.heading else {
        return heading::write(&new.title, &new.body, line_ending);
    };
    let (above, below) = (&body[..title.start], &body[title.end..]);
    if old.body == new.body {
        return format!("{above}{}{below}", new.title);
    }
    if !heading::plain_text(above).trim_start_matches('#').trim().is_empty() {
        return heading::write(&new.title, &new.body, line_ending);
    }
    let text = match new.body.as_str() {
        "" => String::new(),
        text => format!("\n{text}\n"),
    };
    format!("{above}{}\n{text}", new.title).replace("\r\n", "\n").replace('\n', line_ending)
}

fn edit_front(
    front: &str,
    old: &Memory,
    new: &Memory,
    style: Style,
    line_ending: &str,
) -> Result<String, FileFault> {
    let (before, after) = (written(old, style)?, written(new, style)?);
    let root = yaml::read(front)?;
    let mut edit = TextEdit { text: front, line_ending, changes: Vec::new() };
    edit.map(&root, &before, &after, &front::KEYS)?;
    if edit.changes.is_empty() {
        return Ok(front.to_owned());
    }
    let edited = edit.apply()?;
    let edited_root = yaml::read(&edited).map_err(|fault| refusal(&fault.message))?;
    if !all_in(foreign(&root), foreign(&edited_root)) {
        return Err(refusal("keys that are not Throughline's would be lost"));
    }
    if !all_in(comments(front), comments(&edited)) {
        return Err(refusal("a comment would be lost"));
    }
    Ok(edited)
}

/// A value of the front matter as this program writes it, with the text of the front matter.
struct WrittenValue {
    text: String,
    root: YamlNode,
}

fn written(memory: &Memory, style: Style) -> Result<WrittenValue, FileFault> {
    let text = front::write(memory, style).map_err(|message| FileFault::new(0, message))?;
    let root = yaml::read(&text)?;
    Ok(WrittenValue { text, root })
}

struct TextEdit<'a> {
    text: &'a str,
    line_ending: &'a str,
    changes: Vec<(Range<usize>, String)>,
}

impl TextEdit<'_> {
    /// Records the changes to a map of the file.
    fn map(
        &mut self,
        file: &YamlNode,
        before: &WrittenValue,
        after: &WrittenValue,
        keys: &[&str],
    ) -> Result<(), FileFault> {
        self.map_at(file, Some(&before.root), Some(&after.root), &after.text, keys)
    }

    fn map_at(
        &mut self,
        file: &YamlNode,
        before: Option<&YamlNode>,
        after: Option<&YamlNode>,
        after_text: &str,
        keys: &[&str],
    ) -> Result<(), FileFault> {
        let mut previous = None;
        for &key in keys {
            let was = before.and_then(|node| node.get(key));
            let is = after.and_then(|node| node.entry(key));
            let in_file = file.entry(key);
            let same = match (was, is) {
                (Some(was), Some((_, is))) => was.is_equivalent(is),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !same {
                if file.flow {
                    return Err(refusal("its keys stand between braces"));
                }
                match (in_file, is) {
                    (Some(entry), Some(is)) => self.replace(entry, was, is, after_text)?,
                    (Some(entry), None) => self.remove(entry),
                    (None, Some(is)) => self.insert(file, previous, is, after_text),
                    (None, None) => {}
                }
            }
            previous = in_file.or(previous);
        }
        Ok(())
    }

    fn replace(
        &mut self,
        entry: &(YamlKey, YamlNode),
        was: Option<&YamlNode>,
        is: &(YamlKey, YamlNode),
        after_text: &str,
    ) -> Result<(), FileFault> {
        let (key, node) = entry;
        if let Some(change) = self.inline(key, node, is, after_text) {
            self.changes.push(change);
            return Ok(());
        }
        match (&node.value, &is.1.value) {
            (YamlValue::Map(_), YamlValue::Map(_)) if !node.flow => {
                let keys = front::keys_inside(&key.name);
                self.map_at(node, was, Some(&is.1), after_text, keys)
            }
            (YamlValue::List(items), YamlValue::List(new_items))
                if !node.flow && !items.is_empty() =>
            {
                // The entries are compared with the text that this program would have written, so that an entry to
                // which a person added something still counts as the same entry.
                let known = match was.map(|was| &was.value) {
                    Some(YamlValue::List(known)) if known.len() == items.len() => known,
                    _ => items,
                };
                if !self.items(items, known, new_items, after_text) {
                    self.replace_lines(entry, is, after_text);
                }
                Ok(())
            }
            _ => {
                self.replace_lines(entry, is, after_text);
                Ok(())
            }
        }
    }

    /// Replaces a value within its line, so that a comment after it is preserved.
    fn inline(
        &self,
        key: &YamlKey,
        node: &YamlNode,
        (new_key, is): &(YamlKey, YamlNode),
        after_text: &str,
    ) -> Option<(Range<usize>, String)> {
        let written = match (&node.value, &is.value) {
            (YamlValue::Text(_), YamlValue::Text(text)) => {
                if is_plain_gap(after_text.get(new_key.span.end..is.span.start)?) {
                    after_text.get(is.span.clone())?.to_owned()
                } else {
                    yaml::write_line(text).ok()?
                }
            }
            (YamlValue::List(_), YamlValue::List(items)) if node.flow => {
                let texts: Option<Vec<&str>> = items
                    .iter()
                    .map(|item| match &item.value {
                        YamlValue::Text(text) => Some(text.as_str()),
                        YamlValue::Null | YamlValue::List(_) | YamlValue::Map(_) => None,
                    })
                    .collect();
                yaml::write_flow(&texts?).ok()?
            }
            _ => return None,
        };
        let in_line = is_plain_gap(self.text.get(key.span.end..node.span.start)?);
        (in_line && !written.contains('\n')).then(|| (node.span.clone(), written))
    }

    fn replace_lines(
        &mut self,
        entry: &(YamlKey, YamlNode),
        is: &(YamlKey, YamlNode),
        after_text: &str,
    ) {
        let range = self.entry_lines(entry);
        let indent = self.column(entry.0.span.start);
        let lines = self.reindented(after_text, &entry_lines(after_text, is), indent);
        self.changes.push((range, lines));
    }

    fn remove(&mut self, entry: &(YamlKey, YamlNode)) {
        self.changes.push((self.entry_lines(entry), String::new()));
    }

    fn insert(
        &mut self,
        file: &YamlNode,
        previous: Option<&(YamlKey, YamlNode)>,
        is: &(YamlKey, YamlNode),
        after_text: &str,
    ) {
        let entries = match &file.value {
            YamlValue::Map(entries) => entries.as_slice(),
            YamlValue::Null | YamlValue::Text(_) | YamlValue::List(_) => &[],
        };
        let neighbour = previous.or(entries.last());
        let (at, indent) = match neighbour {
            Some(entry) => (self.entry_lines(entry).end, self.column(entry.0.span.start)),
            None => (self.text.len(), 0),
        };
        let lines = self.reindented(after_text, &entry_lines(after_text, is), indent);
        self.changes.push((at..at, lines));
    }

    /// Replaces the entries of a block list that differ. Returns whether this was possible.
    fn items(
        &mut self,
        items: &[YamlNode],
        known: &[YamlNode],
        new_items: &[YamlNode],
        after_text: &str,
    ) -> bool {
        let pairs = known.iter().zip(new_items);
        let first = pairs.take_while(|(a, b)| a.is_equivalent(b)).count();
        let rest = items.len().min(new_items.len()) - first;
        let pairs = known.iter().rev().zip(new_items.iter().rev());
        let last = pairs.take(rest).take_while(|(a, b)| a.is_equivalent(b)).count();

        let Some(dash) = items.iter().map(|item| self.dash(item)).collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        let removed = &items[first..items.len() - last];
        let added = &new_items[first..new_items.len() - last];
        let mut lines = String::new();
        for item in added {
            let Some(range) = item_lines(after_text, item) else { return false };
            lines += &self.reindented(after_text, &range, dash[0]);
        }
        for item in removed {
            self.changes.push((self.item_lines(item), String::new()));
        }
        let at = match first.checked_sub(1) {
            Some(before) => self.item_lines(&items[before]).end,
            None => self.item_lines(&items[0]).start,
        };
        if !lines.is_empty() {
            self.changes.push((at..at, lines));
        }
        true
    }

    /// Returns the column of the dash before an entry, if the entry begins on the line of its dash.
    fn dash(&self, item: &YamlNode) -> Option<usize> {
        let start = line_start(self.text, item.span.start);
        let lead = &self.text[start..item.span.start];
        let indent = lead.len() - lead.trim_start_matches(' ').len();
        (lead.trim() == "-").then_some(indent)
    }

    fn item_lines(&self, item: &YamlNode) -> Range<usize> {
        lines_of(self.text, item.span.start..content_end(self.text, item))
    }

    fn entry_lines(&self, entry: &(YamlKey, YamlNode)) -> Range<usize> {
        entry_lines(self.text, entry)
    }

    fn column(&self, offset: usize) -> usize {
        offset - line_start(self.text, offset)
    }

    /// Returns lines of the new text with the indentation and the line endings of the file.
    fn reindented(&self, source: &str, range: &Range<usize>, indent: usize) -> String {
        let lines = &source[range.clone()];
        let own = lines.len() - lines.trim_start_matches(' ').len();
        let mut moved = String::new();
        for line in lines.lines() {
            // Blank lines in a block scalar may be shorter than the indentation.
            let line = line.get(own..).unwrap_or_default();
            if !line.is_empty() {
                moved.extend(std::iter::repeat_n(' ', indent));
                moved.push_str(line);
            }
            moved.push_str(self.line_ending);
        }
        moved
    }

    fn apply(mut self) -> Result<String, FileFault> {
        // The sort is stable, so insertions at the same place keep their order.
        self.changes.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = String::with_capacity(self.text.len() + 256);
        let mut done = 0;
        for (range, new) in &self.changes {
            if range.start < done {
                return Err(refusal("two changes meet in one place"));
            }
            text.push_str(&self.text[done..range.start]);
            text.push_str(new);
            done = range.end;
        }
        text.push_str(&self.text[done..]);
        Ok(text)
    }
}

/// Returns whether only spaces are between a key and its value, without an anchor, a tag or a block scalar indicator.
fn is_plain_gap(gap: &str) -> bool {
    gap.strip_prefix(':').is_some_and(|gap| gap.bytes().all(|byte| byte == b' '))
}

/// Returns the lines of a key and its value, without comments after them.
fn entry_lines(text: &str, (key, node): &(YamlKey, YamlNode)) -> Range<usize> {
    lines_of(text, key.span.start..content_end(text, node).max(key.span.end))
}

fn item_lines(text: &str, item: &YamlNode) -> Option<Range<usize>> {
    let start = line_start(text, item.span.start);
    // The first line of a block scalar is the line with its indicator, not the first line of its text.
    let dash_line = if text[start..item.span.start].contains('-') {
        start
    } else {
        line_start(text, start.checked_sub(1)?)
    };
    Some(dash_line..lines_of(text, item.span.start..content_end(text, item)).end)
}

/// Returns the offset at which the text of a value ends. The span of a block list or map extends further, up to the
/// text that follows.
fn content_end(text: &str, node: &YamlNode) -> usize {
    match &node.value {
        YamlValue::Null => node.span.start,
        YamlValue::Text(_) => {
            let end = node.span.start + text[node.span.clone()].trim_end().len();
            // A block scalar of blank lines ends with the line that contains its indicator.
            end - usize::from(end == node.span.start && text[..end].ends_with('\n'))
        }
        _ if node.flow => node.span.end,
        YamlValue::List(items) => {
            items.iter().map(|item| content_end(text, item)).max().unwrap_or(node.span.end)
        }
        YamlValue::Map(entries) => entries
            .iter()
            .map(|(key, node)| content_end(text, node).max(key.span.end))
            .max()
            .unwrap_or(node.span.end),
    }
}

fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns the range of all complete lines that overlap with a range.
fn lines_of(text: &str, range: Range<usize>) -> Range<usize> {
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at + 1);
    line_start(text, range.start)..end
}

/// Returns the keys of the file that this program does not use.
fn foreign(root: &YamlNode) -> Vec<String> {
    let mut found = Vec::new();
    collect_foreign(root, &front::KEYS, &mut found);
    found
}

fn collect_foreign(node: &YamlNode, keys: &[&str], found: &mut Vec<String>) {
    match &node.value {
        YamlValue::Null | YamlValue::Text(_) => {}
        YamlValue::List(items) => items.iter().for_each(|item| collect_foreign(item, keys, found)),
        YamlValue::Map(entries) => {
            for (key, value) in entries {
                if keys.contains(&key.name.as_str()) {
                    collect_foreign(value, front::keys_inside(&key.name), found);
                } else {
                    found.push(format!("{}: {}", key.name, plain(value)));
                }
            }
        }
    }
}

/// Returns a value without its position, to compare contents.
fn plain(node: &YamlNode) -> String {
    match &node.value {
        YamlValue::Null => "null".to_owned(),
        YamlValue::Text(text) => format!("{text:?}"),
        YamlValue::List(items) => format!("{:?}", items.iter().map(plain).collect::<Vec<_>>()),
        YamlValue::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (&key.name, plain(value)));
            format!("{:?}", entries.collect::<Vec<_>>())
        }
    }
}

fn comments(front: &str) -> Vec<String> {
    yaml::comments(front)
        .into_iter()
        .filter_map(|range| Some(front.get(range)?.to_owned()))
        .collect()
}

/// Returns whether `after` contains every element of `before` at least as often.
fn all_in(before: Vec<String>, mut after: Vec<String>) -> bool {
    before.iter().all(|wanted| match after.iter().position(|found| found == wanted) {
        Some(at) => {
            after.swap_remove(at);
            true
        }
        None => false,
    })
}
