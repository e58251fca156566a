//! Parses YAML to a tree of plain texts with their positions. Only this module uses the YAML library.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, StrInput, StructureStyle};

use super::fields::ValueStep;
use super::split::{FRONT_BYTES_MAX, FileFault};

/// Maximum number of nodes in front matter, including each repetition by an alias.
const NODES_MAX: usize = 10_000;

/// Maximum size in bytes of the text in front matter, including each repetition by an alias.
const TEXT_BYTES_MAX: usize = 4 * FRONT_BYTES_MAX;

/// Maximum nesting depth of lists and maps in front matter.
const DEPTH_MAX: usize = 16;

/// A value with its position.
#[derive(Clone, Debug)]
pub(super) struct YamlNode {
    /// Byte range in the parsed text. The range of a block list or map may extend to the start of the following text.
    pub span: Range<usize>,
    pub value: YamlValue,
    /// True if the value is written in brackets or braces.
    pub flow: bool,
}

#[derive(Clone, Debug)]
pub(super) enum YamlValue {
    Null,
    Text(String),
    List(Vec<YamlNode>),
    /// Keys with their values, in file order.
    Map(Vec<(YamlKey, YamlNode)>),
}

#[derive(Clone, Debug)]
pub(super) struct YamlKey {
    pub name: String,
    pub span: Range<usize>,
}

/// Serialises the value, not its original notation: a text that looks like a number is quoted.
impl Serialize for YamlNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            YamlValue::Null => serializer.serialize_none(),
            YamlValue::Text(text) => serializer.serialize_str(text),
            YamlValue::List(items) => serializer.collect_seq(items),
            YamlValue::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, node)| map.serialize_entry(&key.name, node))?;
                map.end()
            }
        }
    }
}

impl YamlNode {
    /// Returns a value that has no position in a text.
    pub(crate) fn new(value: YamlValue) -> Self {
        Self { span: 0..0, value, flow: false }
    }

    /// Returns the value of a key; `None` if this is not a map or does not contain the key.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, node)| node)
    }

    /// Returns the entry of a key; `None` if this is not a map or does not contain the key.
    pub(crate) fn entry(&self, name: &str) -> Option<&(YamlKey, Self)> {
        match &self.value {
            YamlValue::Map(entries) => entries.iter().find(|(key, _)| key.name == name),
            YamlValue::Null | YamlValue::Text(_) | YamlValue::List(_) => None,
        }
    }

    /// Returns whether this is a text that equals `expected`.
    pub(crate) fn is_text(&self, expected: &str) -> bool {
        matches!(&self.value, YamlValue::Text(text) if text == expected)
    }

    /// Returns whether two values are equal, regardless of position and notation.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (YamlValue::Null, YamlValue::Null) => true,
            (YamlValue::Text(a), YamlValue::Text(b)) => a == b,
            (YamlValue::List(a), YamlValue::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_equivalent(b))
            }
            (YamlValue::Map(a), YamlValue::Map(b)) => {
                let theirs: HashMap<&str, &Self> =
                    b.iter().map(|(key, value)| (key.name.as_str(), value)).collect();
                a.len() == b.len()
                    && a.iter().all(|(key, value)| {
                        let theirs = theirs.get(key.name.as_str());
                        theirs.is_some_and(|theirs| value.is_equivalent(theirs))
                    })
            }
            (YamlValue::Null | YamlValue::Text(_) | YamlValue::List(_) | YamlValue::Map(_), _) => {
                false
            }
        }
    }

    /// Returns the byte offset of the value at a path, or of the last value on the path that exists.
    pub(crate) fn locate(&self, path: &[ValueStep]) -> usize {
        let Some((step, rest)) = path.split_first() else { return self.span.start };
        let inner = match (step, &self.value) {
            (ValueStep::Key(name), _) => self.get(name),
            (ValueStep::Item(item), YamlValue::List(items)) => items.get(*item),
            // A single value may be written instead of a list.
            (ValueStep::Item(0), _) => Some(self),
            (ValueStep::Item(_), _) => None,
        };
        inner.map_or(self.span.start, |inner| inner.locate(rest))
    }

    /// Returns the size of this node, including everything inside it.
    fn size(&self) -> Size {
        let one = Size { nodes: 1, text_bytes: 0 };
        match &self.value {
            YamlValue::Null => one,
            YamlValue::Text(text) => Size::of_text(text),
            YamlValue::List(items) => items.iter().map(Self::size).fold(one, Size::plus),
            YamlValue::Map(entries) => entries
                .iter()
                .map(|(key, node)| Size::of_text(&key.name).plus(node.size()))
                .fold(one, Size::plus),
        }
    }
}

/// Size of a value, in the units of the limits.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    nodes: usize,
    text_bytes: usize,
}

impl Size {
    fn of_text(text: &str) -> Self {
        Self { nodes: 1, text_bytes: text.len() }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            text_bytes: self.text_bytes.saturating_add(other.text_bytes),
        }
    }
}

/// Parses one document. An empty document is an empty map.
pub(super) fn read(text: &str) -> Result<YamlNode, FileFault> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
        disallow_directives: true,
    };
    let mut reader = YamlReader {
        events: Parser::new_from_str_with_options(text, options),
        text,
        anchors: HashMap::new(),
        read: Size::default(),
    };
    let root = reader.document()?;
    Ok(root.unwrap_or(YamlNode {
        span: 0..text.len(),
        value: YamlValue::Map(Vec::new()),
        flow: false,
    }))
}

/// Returns the byte ranges of the comments, including `#`.
pub(super) fn comments(text: &str) -> Vec<Range<usize>> {
    let parser = Parser::new_from_str(text);
    parser
        .map_while(Result::ok)
        .filter_map(|(event, span)| match event {
            Event::Comment(..) => span.byte_range(),
            _ => None,
        })
        .collect()
}

/// Style in which texts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Long texts and texts of several lines are written as blocks, which are readable.
    Blocks,
    /// Every text is on one line and quoted if necessary. This style is for texts that a block cannot contain, such as
    /// texts with carriage returns.
    Quotes,
}

impl Style {
    /// All styles, the most readable first.
    pub(crate) const ALL: [Self; 2] = [Self::Blocks, Self::Quotes];
}

/// Writes a value as block YAML, with one key per line, and `\n` at the end of each line.
pub(super) fn write(value: &impl Serialize, style: Style) -> Result<String, String> {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: false,
        prefer_block_scalars: style == Style::Blocks,
    };
    serde_saphyr::to_string_with_options(value, options).map_err(|error| error.to_string())
}

/// Writes a list of texts in brackets, on one line.
pub(super) fn write_flow(items: &[&str]) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&serde_saphyr::FlowSeq(items), options)
        .map(|text| text.trim_end().to_owned())
        .map_err(|error| error.to_string())
}

/// Writes a text on one line, with quotes if necessary.
pub(super) fn write_line(text: &str) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&text, options)
        .map(|text| text.trim_end_matches('\n').to_owned())
        .map_err(|error| error.to_string())
}

struct YamlReader<'a> {
    events: Parser<'a, StrInput<'a>>,
    text: &'a str,
    anchors: HashMap<usize, YamlNode>,
    read: Size,
}

impl<'a> YamlReader<'a> {
    fn document(&mut self) -> Result<Option<YamlNode>, FileFault> {
        let mut root = None;
        loop {
            let Some((event, span)) = self.next()? else { return Ok(root) };
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(..) if root.is_some() => {
                    return Err(FileFault::new(span.start, "the front matter holds two documents"));
                }
                Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::MappingStart(..)
                | Event::Alias(_) => root = Some(self.node(event, span, 0)?),
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<Option<(Event<'a>, Range<usize>)>, FileFault> {
        match self.events.next_event() {
            None => Ok(None),
            Some(Ok((event, span))) => {
                let end = self.text.len();
                let range = span.byte_range().unwrap_or(end..end);
                Ok(Some((event, range)))
            }
            Some(Err(error)) => {
                let offset = error.marker().byte_offset().unwrap_or(self.text.len());
                Err(FileFault::new(offset, error.info()))
            }
        }
    }

    fn node(
        &mut self,
        event: Event<'a>,
        span: Range<usize>,
        depth: usize,
    ) -> Result<YamlNode, FileFault> {
        if depth > DEPTH_MAX {
            return Err(FileFault::new(
                span.start,
                format!("nested deeper than {DEPTH_MAX} levels"),
            ));
        }
        match event {
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(FileFault::new(span.start, "this alias has no anchor"));
                };
                // The size is checked before the copy, because aliases in a short line may expand to a large value.
                self.read = within(self.read.plus(node.size()), &span)?;
                Ok(YamlNode { span, ..node.clone() })
            }
            Event::Scalar(text, style, anchor, _) => {
                self.count(Size::of_text(&text), &span)?;
                let plain = matches!(style, ScalarStyle::Plain);
                let value = match &*text {
                    "" | "~" | "null" | "Null" | "NULL" if plain => YamlValue::Null,
                    text => YamlValue::Text(text.to_owned()),
                };
                Ok(self.anchored(anchor, YamlNode { span, value, flow: false }))
            }
            Event::SequenceStart(style, anchor, _) => {
                self.count(Size { nodes: 1, text_bytes: 0 }, &span)?;
                let (items, end) = self.items(depth)?;
                let node = YamlNode {
                    span: span.start..end,
                    value: YamlValue::List(items),
                    flow: matches!(style, StructureStyle::Flow),
                };
                Ok(self.anchored(anchor, node))
            }
            Event::MappingStart(style, anchor, _) => {
                self.count(Size { nodes: 1, text_bytes: 0 }, &span)?;
                let (entries, end) = self.entries(depth)?;
                let node = YamlNode {
                    span: span.start..end,
                    value: YamlValue::Map(entries),
                    flow: matches!(style, StructureStyle::Flow),
                };
                Ok(self.anchored(anchor, node))
            }
            _ => Err(FileFault::new(span.start, "expected a value")),
        }
    }

    fn items(&mut self, depth: usize) -> Result<(Vec<YamlNode>, usize), FileFault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Some((Event::SequenceEnd, span)) => return Ok((items, span.end)),
                Some((event, span)) => items.push(self.node(event, span, depth + 1)?),
                None => return Err(FileFault::new(self.text.len(), "this list does not end")),
            }
        }
    }

    fn entries(&mut self, depth: usize) -> Result<(Vec<(YamlKey, YamlNode)>, usize), FileFault> {
        let mut entries: Vec<(YamlKey, YamlNode)> = Vec::new();
        let mut names = HashSet::new();
        loop {
            let (event, span) = match self.next()? {
                Some((Event::MappingEnd, span)) => return Ok((entries, span.end)),
                Some((Event::Scalar(text, ..), span)) => (text.into_owned(), span),
                Some((_, span)) => return Err(FileFault::new(span.start, "a key must be a text")),
                None => return Err(FileFault::new(self.text.len(), "this map does not end")),
            };
            if !names.insert(event.clone()) {
                return Err(FileFault::new(
                    span.start,
                    format!("the key `{event}` stands here twice"),
                ));
            }
            self.count(Size::of_text(&event), &span)?;
            let Some((value, value_span)) = self.next()? else {
                return Err(FileFault::new(span.end, "this key has no value"));
            };
            let value = self.node(value, value_span, depth + 1)?;
            entries.push((YamlKey { name: event, span }, value));
        }
    }

    fn anchored(&mut self, anchor: usize, node: YamlNode) -> YamlNode {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        node
    }

    fn count(&mut self, size: Size, span: &Range<usize>) -> Result<(), FileFault> {
        self.read = within(self.read.plus(size), span)?;
        Ok(())
    }
}

/// Returns an error if front matter exceeds the limits.
fn within(read: Size, span: &Range<usize>) -> Result<Size, FileFault> {
    let message = if read.nodes > NODES_MAX {
        format!("the front matter holds more than {NODES_MAX} values")
    } else if read.text_bytes > TEXT_BYTES_MAX {
        let limit = TEXT_BYTES_MAX >> 10;
        format!("the aliases of the front matter make more than {limit} KiB of text")
    } else {
        return Ok(read);
    };
    Err(FileFault::new(span.start, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_stay_the_text_that_was_written() {
        let node =
            read("a: 1.10\nb: 007\nc: 1234e56\nd: yes\ne: 2026-10-02\nf:\ng: \"~\"\n").unwrap();
        let text = |name: &str| match &node.get(name).unwrap().value {
            YamlValue::Text(text) => Some(text.clone()),
            _ => None,
        };
        assert_eq!(text("a").as_deref(), Some("1.10"));
        assert_eq!(text("b").as_deref(), Some("007"));
        assert_eq!(text("c").as_deref(), Some("1234e56"));
        assert_eq!(text("d").as_deref(), Some("yes"));
        assert_eq!(text("e").as_deref(), Some("2026-10-02"));
        assert_eq!(text("f"), None);
        assert_eq!(text("g").as_deref(), Some("~"));
    }

    /// The maps have the maximum number of keys. A key is looked up in a map instead of being compared with all others.
    #[test]
    fn maps_with_many_keys_are_compared_by_key() {
        let keys: String = (0..4_900).map(|number| format!("k{number}: {number}\n")).collect();
        let one = read(&keys).unwrap();
        let other = read(&keys.lines().rev().fold(String::new(), |all, line| all + line + "\n"));
        assert!(one.is_equivalent(&other.unwrap()));
        assert!(!one.is_equivalent(&read(&keys.replace("k7: 7\n", "k7: 8\n")).unwrap()));
        assert!(!one.is_equivalent(&read(&keys.replace("k7: 7\n", "seven: 7\n")).unwrap()));
        let fault = read(&(keys + "k12: 3\n")).unwrap_err();
        assert_eq!(fault.message, "the key `k12` stands here twice");
    }

    #[test]
    fn bombs_are_refused() {
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            laughs += &format!("a{level}: &a{level} [{}]\n", vec![alias; 9].join(", "));
        }
        assert!(read(&laughs).unwrap_err().message.contains("more than 10000 values"));
        assert!(read(&"[".repeat(60_000)).is_err());
        assert!(read(&"- ".repeat(30_000)).is_err());
        let mut nested = String::new();
        for level in 0..200 {
            nested += &format!("{}a:\n", " ".repeat(level));
        }
        assert!(read(&nested).is_err());
        assert!(read(&"- x\n".repeat(15_000)).is_err());
    }

    #[test]
    fn a_long_text_is_not_repeated_without_end() {
        let long = "x".repeat(32 << 10);
        let bomb = format!("z: &a {long}\ntags: [{}]\n", vec!["*a"; 4900].join(", "));
        assert!(bomb.len() < FRONT_BYTES_MAX);
        assert!(read(&bomb).unwrap_err().message.contains("more than 256 KiB of text"));
        let maps = format!("z: &a {{k: {long}}}\nb: [{}]\n", vec!["*a"; 1000].join(", "));
        assert!(read(&maps).unwrap_err().message.contains("more than 256 KiB of text"));
        let twice = format!("z: &a {long}\ntags: [*a, *a]\n");
        assert!(read(&twice).is_ok());
    }

    #[test]
    fn odd_documents_are_refused_with_a_place() {
        assert_eq!(read("a: 1\nb: 2\na: 3\n").unwrap_err().offset, 10);
        assert_eq!(read("a: 1\nb: c: d\n").unwrap_err().offset, 9);
        assert!(read("a: *nobody\n").is_err());
        assert!(read("? [a]\n: b\n").is_err());
        assert!(read("").unwrap().get("a").is_none());
    }
}
