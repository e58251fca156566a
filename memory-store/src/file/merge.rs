//! Merge of two versions of a memory file that have a common ancestor. Front matter is merged key by key, so that two
//! branches that each add a tag do not conflict. The caller merges the text below the front matter line by line.

use super::split::split;
use super::yaml::{self, Style, YamlKey, YamlNode, YamlValue};
use super::{FILE_BYTES_MAX, read};
use crate::memory::Entity;
use crate::time::Timestamp;

/// Keys with times of which the later is used.
const LATER: [&str; 3] = ["updated", "occurred", "last"];
/// Keys with times of which the earlier is used.
const EARLIER: [&str; 1] = ["created"];
/// Keys with numbers of which the higher is used.
const HIGHER: [&str; 1] = ["confidence"];

/// Two versions of a memory file with their front matter merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedFront {
    /// The front matter with both fences.
    head: String,
    /// Keys that both sides changed differently. `head` contains the values of our side.
    conflicts: Vec<FrontConflict>,
    /// True if both sides changed a key differently.
    pub has_conflicts: bool,
    /// The text below our front matter, with `\n` line endings.
    pub ours: String,
    /// The text below the ancestor's front matter.
    pub base: String,
    /// The text below the front matter of the other side.
    pub theirs: String,
    line_ending: &'static str,
}

/// A key that both sides changed differently, with the lines of both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FrontConflict {
    /// The lines of our side; empty if the key was removed.
    ours: String,
    /// The lines of the other side; empty if the key was removed.
    theirs: String,
}

impl MergedFront {
    /// Returns the merged file. Conflicts of the front matter are placed above the body, so that the file can still be
    /// parsed as a memory. Conflict markers contain the names of our side, the ancestor and the other side;
    /// `marker_size` is the number of times that a marker's character is repeated.
    pub fn with_body(&self, body: &str, names: [&str; 3], marker_size: usize) -> String {
        let [our_name, _, their_name] = names;
        let mut text = self.head.clone();
        let marker = |character: char, name: &str| {
            let marker: String = std::iter::repeat_n(character, marker_size).collect();
            if name.is_empty() { format!("{marker}\n") } else { format!("{marker} {name}\n") }
        };
        for FrontConflict { ours, theirs } in &self.conflicts {
            text.push_str(&marker('<', our_name));
            text.push_str(ours);
            text.push_str(&marker('=', ""));
            text.push_str(theirs);
            text.push_str(&marker('>', their_name));
        }
        text.push_str(body);
        if self.line_ending == "\n" { text } else { text.replace('\n', self.line_ending) }
    }
}

/// Merges the front matter of `ours` and `theirs`. Returns `None` if one of them is not a memory, if they are different
/// memories, or if their fields are not on separate lines. The caller should then merge the files as text. An ancestor
/// that is not a memory counts as empty.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Option<MergedFront> {
    let is_memory = |text: &str| read(text).ok().map(|memory| memory.id);
    if is_memory(ours)? != is_memory(theirs)? {
        return None;
    }
    let line_ending = split(ours).ok()?.line_ending;
    let base = base.replace("\r\n", "\n");
    let (ours, theirs) = (ours.replace("\r\n", "\n"), theirs.replace("\r\n", "\n"));
    let (our_side, their_side) = (MergeSide::of(&ours)?, MergeSide::of(&theirs)?);
    let base_side = MergeSide::of(&base).unwrap_or_default();
    let mut merge = Merge { base: &base_side, conflicts: Vec::new() };
    let front = merge.front(&our_side, &their_side)?;
    let (before, after) = our_side.fences;
    let head = format!("{before}{front}{after}");
    if head.len() > FILE_BYTES_MAX || read(&head).is_err() {
        return None;
    }
    Some(MergedFront {
        has_conflicts: !merge.conflicts.is_empty(),
        conflicts: merge.conflicts,
        ours: our_side.body.to_owned(),
        base: base_side.body.to_owned(),
        theirs: their_side.body.to_owned(),
        head,
        line_ending,
    })
}

/// One version of the file, split into its parts.
#[derive(Default)]
struct MergeSide<'a> {
    /// Text before and after the front matter: the fences with their line endings.
    fences: (&'a str, &'a str),
    /// Text above the first key.
    preamble: &'a str,
    fields: Vec<FrontField<'a>>,
    body: &'a str,
}

/// A key of the front matter.
struct FrontField<'a> {
    name: String,
    /// Lines of the key, including comments and blank lines after it.
    lines: &'a str,
    value: YamlNode,
}

impl<'a> MergeSide<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let parts = split(text).ok()?;
        let front = &text[parts.front.clone()];
        let root = yaml::read(front).ok()?;
        let YamlValue::Map(mut entries) = root.value else { return None };
        if root.flow && !entries.is_empty() {
            return None;
        }
        entries.sort_by_key(|(key, _)| key.span.start);
        let line_start = |at: usize| front[..at].rfind('\n').map_or(0, |end| end + 1);
        let starts: Vec<usize> =
            entries.iter().map(|(key, _)| line_start(key.span.start)).collect();
        if !starts.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let ends = starts.iter().skip(1).copied().chain([front.len()]).collect::<Vec<_>>();
        let preamble = &front[..starts.first().copied().unwrap_or(front.len())];
        let fields = entries.into_iter().zip(starts.into_iter().zip(ends));
        let fields = fields.map(|((YamlKey { name, .. }, value), (start, end))| FrontField {
            name,
            lines: &front[start..end],
            value,
        });
        let fences = (&text[..parts.front.start], &text[parts.front.end..parts.body.start]);
        let body = &text[parts.body];
        Some(Self { fences, preamble, fields: fields.collect(), body })
    }

    fn field(&self, name: &str) -> Option<&FrontField<'a>> {
        self.fields.iter().find(|field| field.name == name)
    }
}

struct Merge<'a> {
    base: &'a MergeSide<'a>,
    conflicts: Vec<FrontConflict>,
}

impl Merge<'_> {
    fn front(&mut self, ours: &MergeSide<'_>, theirs: &MergeSide<'_>) -> Option<String> {
        let mut merged: Vec<(&str, String)> = Vec::new();
        for field in &ours.fields {
            let name = &*field.name;
            if let Some(lines) = self.field(name, Some(field), theirs.field(name))? {
                merged.push((name, lines));
            }
        }
        let mut previous: Option<&str> = None;
        for field in &theirs.fields {
            let name = &*field.name;
            if ours.field(name).is_none()
                && let Some(lines) = self.field(name, None, Some(field))?
            {
                // The key is inserted after the key that precedes it in the other version.
                let behind = |it: &str| merged.iter().position(|(name, _)| *name == it);
                let at = previous.and_then(behind).map_or(0, |at| at + 1);
                merged.insert(at, (name, lines));
            }
            if merged.iter().any(|(merged, _)| *merged == name) {
                previous = Some(name);
            }
        }
        let preamble = match (self.base.preamble, ours.preamble, theirs.preamble) {
            (_, ours, theirs) if ours == theirs => ours,
            (base, ours, theirs) if base == ours => theirs,
            (base, ours, theirs) if base == theirs => ours,
            (_, ours, theirs) => {
                self.conflict(ours, theirs);
                ours
            }
        };
        Some(merged.into_iter().fold(preamble.to_owned(), |front, (_, lines)| front + &lines))
    }

    /// Returns the merged lines of a key. Returns `Some(None)` if the key is removed, and `None` if it cannot be
    /// written.
    fn field(
        &mut self,
        name: &str,
        ours: Option<&FrontField<'_>>,
        theirs: Option<&FrontField<'_>>,
    ) -> Option<Option<String>> {
        let base = self.base.field(name);
        let lines = |field: Option<&FrontField<'_>>| field.map(|field| field.lines.to_owned());
        let (base_lines, our_lines, their_lines) = (lines(base), lines(ours), lines(theirs));
        if our_lines == their_lines || base_lines == their_lines {
            return Some(our_lines);
        }
        if base_lines == our_lines {
            return Some(their_lines);
        }
        let value = |field: Option<&FrontField<'_>>| field.map(|field| field.value.clone());
        let (base, our_value, their_value) = (value(base), value(ours), value(theirs));
        let merged = united(name, base.as_ref(), our_value.as_ref(), their_value.as_ref());
        let Some(merged) = merged else {
            let text = |lines: &Option<String>| lines.clone().unwrap_or_default();
            self.conflict(&text(&our_lines), &text(&their_lines));
            return Some(our_lines);
        };
        let says = |field: &Option<YamlNode>| match (&merged, field) {
            (Some(merged), Some(field)) => merged.is_equivalent(field),
            (merged, field) => merged.is_none() && field.is_none(),
        };
        if says(&our_value) {
            return Some(our_lines);
        }
        if says(&their_value) {
            return Some(their_lines);
        }
        // A person's comment next to a value must not be lost, so this is a conflict.
        let has_comment = |lines: &Option<String>| {
            lines.as_deref().is_some_and(|it| !yaml::comments(it).is_empty())
        };
        if has_comment(&our_lines) || has_comment(&their_lines) {
            let text = |lines: &Option<String>| lines.clone().unwrap_or_default();
            self.conflict(&text(&our_lines), &text(&their_lines));
            return Some(our_lines);
        }
        let Some(merged) = merged else { return Some(None) };
        let map = YamlNode::new(YamlValue::Map(vec![(
            YamlKey { name: name.to_owned(), span: 0..0 },
            merged,
        )]));
        yaml::write(&map, Style::Blocks).ok().map(Some)
    }

    fn conflict(&mut self, ours: &str, theirs: &str) {
        let whole = |lines: &str| match lines {
            "" => String::new(),
            lines if lines.ends_with('\n') => lines.to_owned(),
            lines => format!("{lines}\n"),
        };
        self.conflicts.push(FrontConflict { ours: whole(ours), theirs: whole(theirs) });
    }
}

/// Merges two different values. Returns `Some(None)` if the value is removed, and `None` for a conflict.
fn united(
    name: &str,
    base: Option<&YamlNode>,
    ours: Option<&YamlNode>,
    theirs: Option<&YamlNode>,
) -> Option<Option<YamlNode>> {
    let same = |a: Option<&YamlNode>, b: Option<&YamlNode>| match (a, b) {
        (Some(a), Some(b)) => a.is_equivalent(b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    if same(ours, theirs) || same(base, theirs) {
        return Some(ours.cloned());
    }
    if same(base, ours) {
        return Some(theirs.cloned());
    }
    let value = |node: Option<&YamlNode>| node.map(|node| node.value.clone());
    match (value(ours), value(theirs)) {
        (Some(YamlValue::List(ours)), Some(YamlValue::List(theirs))) => {
            list(name, base, &ours, &theirs)
        }
        (Some(YamlValue::List(ours)), None) => list(name, base, &ours, &[]),
        (None, Some(YamlValue::List(theirs))) => list(name, base, &[], &theirs),
        (Some(YamlValue::Map(ours)), Some(YamlValue::Map(theirs))) => map(base, &ours, &theirs),
        (Some(YamlValue::Text(our)), Some(YamlValue::Text(their))) => {
            let is_ours = prefers_ours(name, &our, &their)?;
            Some(if is_ours { ours.cloned() } else { theirs.cloned() })
        }
        _ => None,
    }
}

/// Returns whether the text of our side is used; `None` if a person has to decide.
fn prefers_ours(name: &str, ours: &str, theirs: &str) -> Option<bool> {
    let times = || Some((Timestamp::parse(ours)?, Timestamp::parse(theirs)?));
    if LATER.contains(&name) {
        return times().map(|(ours, theirs)| ours >= theirs);
    }
    if EARLIER.contains(&name) {
        return times().map(|(ours, theirs)| ours <= theirs);
    }
    if HIGHER.contains(&name) {
        let number = |text: &str| text.parse::<f32>().ok();
        return Some(number(ours)? >= number(theirs)?);
    }
    None
}

/// Merges lists. Entries that one side added are included, and entries that one side removed are not. An entry that is
/// in both lists in different forms is merged as well.
fn list(
    name: &str,
    base: Option<&YamlNode>,
    ours: &[YamlNode],
    theirs: &[YamlNode],
) -> Option<Option<YamlNode>> {
    let base: &[YamlNode] = match base.map(|base| &base.value) {
        Some(YamlValue::List(items)) => items,
        Some(YamlValue::Null | YamlValue::Text(_) | YamlValue::Map(_)) | None => &[],
    };
    let find = |list: &'_ [YamlNode], item: &YamlNode| -> Option<usize> {
        list.iter().position(|other| is_entry(name, other, item))
    };
    let mut items: Vec<YamlNode> = Vec::new();
    for our in ours {
        match (find(base, our), find(theirs, our)) {
            (Some(_), None) => {}
            (None, None) => items.push(our.clone()),
            (before, Some(their)) => {
                let before = before.map(|at| &base[at]);
                items.push(entry(name, before, our, &theirs[their])?);
            }
        }
    }
    let new = theirs.iter().filter(|it| find(base, it).is_none() && find(ours, it).is_none());
    items.extend(new.cloned());
    Some((!items.is_empty()).then(|| YamlNode::new(YamlValue::List(items))))
}

/// Merges two forms of one entry. Returns `None` for a conflict. Two forms of a path do not conflict if they differ
/// only in the recorded state of the file.
fn entry(
    name: &str,
    base: Option<&YamlNode>,
    ours: &YamlNode,
    theirs: &YamlNode,
) -> Option<YamlNode> {
    if name == "facts" {
        return united("", base, Some(ours), Some(theirs))?;
    }
    let of_type = |node: &YamlNode| match &node.value {
        YamlValue::Text(text) if name == "entities" => Entity::read(text).of_type,
        _ => None,
    };
    let keeps = |node: &YamlNode| base.is_some_and(|base| base.is_equivalent(node));
    match (of_type(ours), of_type(theirs)) {
        (Some(our), Some(their)) if our != their && keeps(ours) => Some(theirs.clone()),
        (Some(our), Some(their)) if our != their && !keeps(theirs) => None,
        (None, Some(_)) => Some(theirs.clone()),
        (Some(_) | None, Some(_) | None) => Some(ours.clone()),
    }
}

/// Returns whether two list entries are the same: paths regardless of the recorded state of the file, names regardless
/// of their type, and facts regardless of their dates.
fn is_entry(name: &str, one: &YamlNode, other: &YamlNode) -> bool {
    if one.is_equivalent(other) {
        return true;
    }
    let text = |node: Option<&YamlNode>| match &node?.value {
        YamlValue::Text(text) => Some(text.clone()),
        YamlValue::Null | YamlValue::List(_) | YamlValue::Map(_) => None,
    };
    let key = |node: &YamlNode| -> Option<Vec<String>> {
        match name {
            "entities" => Some(vec![Entity::read(&text(Some(node))?).name.to_lowercase()]),
            "facts" => ["subject", "predicate", "object"]
                .map(|part| text(node.get(part)))
                .into_iter()
                .collect(),
            // Guards of one path may differ in everything else.
            "guard" => None,
            _ => text(Some(node)).or_else(|| text(node.get("path"))).map(|path| vec![path]),
        }
    };
    key(one).is_some_and(|key_of| Some(key_of) == key(other))
}

fn map(
    base: Option<&YamlNode>,
    ours: &[(YamlKey, YamlNode)],
    theirs: &[(YamlKey, YamlNode)],
) -> Option<Option<YamlNode>> {
    let value = |entries: &[(YamlKey, YamlNode)], name: &str| {
        entries.iter().find(|(key, _)| key.name == name).map(|(_, node)| node.clone())
    };
    let more = theirs.iter().filter(|(key, _)| value(ours, &key.name).is_none());
    let mut merged = Vec::new();
    for (key, _) in ours.iter().chain(more) {
        let name = &*key.name;
        let (ours, theirs) = (value(ours, name), value(theirs, name));
        let base = base.and_then(|base| base.get(name));
        if let Some(node) = united(name, base, ours.as_ref(), theirs.as_ref())? {
            merged.push((key.clone(), node));
        }
    }
    Some((!merged.is_empty()).then(|| YamlNode::new(YamlValue::Map(merged))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "id: 01JZX3P4Q5R6S7T8V9WABCDEFG\n";
    const NAMES: [&str; 3] = ["main", "base", "feature"];

    fn file(front: &str) -> String {
        format!("---\n{ID}kind: fact\n{front}---\n\n# Bread\n\nIt is baked.\n")
    }

    fn merged(base: &str, ours: &str, theirs: &str) -> MergedFront {
        merge(&file(base), &file(ours), &file(theirs)).unwrap()
    }

    fn front(merged: &MergedFront) -> String {
        let head = merged.head.replacen(&format!("---\n{ID}kind: fact\n"), "", 1);
        head.strip_suffix("---\n").unwrap().to_owned()
    }

    #[test]
    fn each_key_is_merged_by_itself() {
        for (base, ours, theirs, expected) in [
            // Only one side changed.
            ("", "tags: [a]\n", "", "tags: [a]\n"),
            ("", "", "tags: [a] # theirs\n", "tags: [a] # theirs\n"),
            ("pinned: true\n", "", "pinned: true\n", ""),
            ("topic: a/b\n", "topic: a/b\n", "", ""),
            // Both sides changed different keys.
            ("", "topic: a/b\n", "pinned: true\n", "pinned: true\ntopic: a/b\n"),
            ("topic: a\nx: 1\n", "topic: b\nx: 1\n", "topic: a\nx: 2\n", "topic: b\nx: 2\n"),
            // Both sides made the same change.
            ("", "tags: [a]\n", "tags:\n  - a\n", "tags: [a]\n"),
            // Lists.
            ("", "tags: [a]\n", "tags: [b]\n", "tags:\n  - a\n  - b\n"),
            (
                "tags: [a, b]\n",
                "tags: [a, b, c]\n",
                "tags: [b, d]\n",
                "tags:\n  - b\n  - c\n  - d\n",
            ),
            ("tags: [a]\n", "", "tags: [a, b]\n", "tags:\n  - b\n"),
            // An owner, and relations of which each side adds one.
            ("", "agent: reviewer\n", "", "agent: reviewer\n"),
            (
                "",
                "relations:\n  - kind: refines\n    to: 01JZX3P4Q5R6S7T8V9WABCDEFH\n",
                "relations:\n  - kind: part-of\n    to: 01JZX3P4Q5R6S7T8V9WABCDEFH\n",
                "relations:\n  - kind: refines\n    to: 01JZX3P4Q5R6S7T8V9WABCDEFH\n  - kind: part-of\n    to: 01JZX3P4Q5R6S7T8V9WABCDEFH\n",
            ),
            // Guards of one path, of which each side adds one.
            (
                "",
                "guard:\n  - action: ask\n    path: src\n",
                "guard:\n  - action: warn\n    path: src\n    content: unsafe\n",
                "guard:\n  - action: ask\n    path: src\n  - action: warn\n    path: src\n    content: unsafe\n",
            ),
            // Times and numbers.
            (
                "updated: 2026-01-01\n",
                "updated: 2026-03-01\n",
                "updated: 2026-02-01\n",
                "updated: 2026-03-01\n",
            ),
            (
                "created: 2026-03-01\n",
                "created: 2026-02-01\n",
                "created: 2026-01-01\n",
                "created: 2026-01-01\n",
            ),
            ("confidence: 0.5\n", "confidence: 0.6\n", "confidence: 0.9\n", "confidence: 0.9\n"),
            // A path whose file had other contents on each side.
            (
                "paths:\n  - path: a.rs\n    seen: \"1\"\n",
                "paths:\n  - path: a.rs\n    seen: \"2\"\n",
                "paths:\n  - path: a.rs\n    seen: \"3\"\n  - b.rs\n",
                "paths:\n  - path: a.rs\n    seen: \"2\"\n  - b.rs\n",
            ),
            // Names, with and without a type.
            (
                "entities: [Redis]\n",
                "entities: [Redis, Helm (tool)]\n",
                "entities: [Redis (service), helm]\n",
                "entities:\n  - Redis (service)\n  - Helm (tool)\n",
            ),
            // Facts. Each side adds one; of another fact, one side sets the end and the other the beginning.
            (
                "facts:\n  - {subject: a, predicate: uses, object: b}\n",
                "facts:\n  - {subject: a, predicate: uses, object: b, to: 2026-03-01}\n  - {subject: c, predicate: is, object: d}\n",
                "facts:\n  - {subject: a, predicate: uses, object: b, from: 2026-01-01}\n  - {subject: e, predicate: is, object: f}\n",
                "facts:\n  - subject: a\n    predicate: uses\n    object: b\n    to: \"2026-03-01\"\n    from: \"2026-01-01\"\n  - subject: c\n    predicate: is\n    object: d\n  - subject: e\n    predicate: is\n    object: f\n",
            ),
            (
                "facts:\n  - {subject: a, predicate: uses, object: b}\n  - {subject: c, predicate: is, object: d}\n",
                "facts:\n  - {subject: a, predicate: uses, object: b}\n",
                "facts:\n  - {subject: a, predicate: uses, object: b, to: 2026-03-01}\n  - {subject: c, predicate: is, object: d}\n",
                "facts:\n  - subject: a\n    predicate: uses\n    object: b\n    to: \"2026-03-01\"\n",
            ),
            // Maps.
            (
                "source:\n  session: s\n",
                "source:\n  session: s\n  said_by: user\n",
                "source:\n  session: s\n  turns: [t]\n",
                "source:\n  session: s\n  said_by: user\n  turns:\n    - t\n",
            ),
        ] {
            let merged = merged(base, ours, theirs);
            assert_eq!(merged.conflicts, [], "{base}{ours}{theirs}");
            assert_eq!(front(&merged), expected, "{base}{ours}{theirs}");
        }
    }

    #[test]
    fn a_key_that_both_changed_is_a_conflict_above_the_text() {
        let merged = merged("topic: a/b\n", "topic: a/c\n", "topic: a/d\n");
        let text = merged.with_body(&merged.ours, NAMES, 7);
        assert_eq!(
            text,
            file("topic: a/c\n").replace(
                "---\n\n# Bread",
                "---\n<<<<<<< main\ntopic: a/c\n=======\ntopic: a/d\n>>>>>>> feature\n\n# Bread"
            )
        );
        assert!(read(&text).is_ok());
        // The comment is next to a list that would be rewritten.
        let commented = merge(&file(""), &file("tags: [a] # ours\n"), &file("tags: [b]\n"));
        assert_eq!(commented.unwrap().conflicts.len(), 1);
        // A fact with different end dates, and a name with different types.
        for (base, ours, theirs) in [
            (
                "facts:\n  - {subject: a, predicate: uses, object: b}\n",
                "facts:\n  - {subject: a, predicate: uses, object: b, to: 2026-03-01}\n",
                "facts:\n  - {subject: a, predicate: uses, object: b, to: 2026-04-01}\n",
            ),
            ("", "entities: [Redis (tool)]\n", "entities: [Redis (service)]\n"),
        ] {
            let merged = merge(&file(base), &file(ours), &file(theirs)).unwrap();
            assert_eq!(merged.conflicts.len(), 1, "{ours}");
            assert_eq!(front(&merged), ours);
        }
        let removed = merge(&file("topic: a\n"), &file(""), &file("topic: b\n")).unwrap();
        assert_eq!(
            removed.conflicts,
            [FrontConflict { ours: "".into(), theirs: "topic: b\n".into() }]
        );
    }

    #[test]
    fn line_ends_are_ours_and_an_ancestor_may_be_missing() {
        let ours = file("tags: [a]\n").replace('\n', "\r\n");
        let merged = merge("", &ours, &file("tags: [b]\n")).unwrap();
        let text = merged.with_body(&merged.ours, NAMES, 7);
        assert_eq!(text, file("tags:\n  - a\n  - b\n").replace('\n', "\r\n"));
        assert_eq!(merged.base, "");
    }

    #[test]
    fn what_are_no_versions_of_one_memory_is_left_to_others() {
        let other = file("").replace("EFG", "EFH");
        for (ours, theirs) in [
            (file(""), other),
            (file(""), "# No front matter\n".to_owned()),
            (
                file(""),
                "---\n{id: 01JZX3P4Q5R6S7T8V9WABCDEFG, kind: fact}\n---\n# Bread\n".to_owned(),
            ),
            (file("tags: [\n"), file("")),
        ] {
            assert_eq!(merge(&file(""), &ours, &theirs), None, "{ours}{theirs}");
        }
    }
}
