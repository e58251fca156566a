//! Sentences from the documentation of packages.

use std::fs;
use std::path::Path;

use regex::Regex;
use walkdir::WalkDir;

use crate::Result;

/// Characters of a sentence: longer ones cost the teacher more than they teach.
const CHARS_MAX: usize = 180;
/// Words of a sentence.
const WORDS: std::ops::RangeInclusive<usize> = 3..=32;
/// Share of a sentence's characters that are letters or spaces: below it is a table or code.
const LETTERS_MIN: f32 = 0.75;

/// Takes sentences out of files, each by its kind.
pub struct Reader {
    code_block: Regex,
    blank: Regex,
    item: Regex,
    link: Regex,
    linked_code: Regex,
    role: Regex,
    tag: Regex,
    address: Regex,
    sentence_end: Regex,
    docstring: Regex,
    js_comment: Regex,
    js_margin: Regex,
    js_tag: Regex,
    section: Regex,
}

/// Text of one package.
#[derive(Default)]
pub struct Text {
    /// Sentences of documentation.
    pub sentences: Vec<String>,
    /// Names of functions and the first sentences of their docstrings.
    pub functions: Vec<(String, String)>,
}

impl Reader {
    pub fn new() -> Result<Self> {
        Ok(Self {
            code_block: Regex::new(r"(?s)```.*?(```|\z)")?,
            blank: Regex::new(r"\n\s*\n")?,
            item: Regex::new(r"\n\s*[-*+] ")?,
            link: Regex::new(r"\[([^\]\n]*)\](?:\([^)\n]*\)|\[[^\]\n]*\])")?,
            linked_code: Regex::new(r"\[`([^`\n]*)`\]")?,
            role: Regex::new(r":[a-z:+]+:`~?\.?([^`]*)`")?,
            tag: Regex::new(r"<[^>\n]{1,80}>")?,
            address: Regex::new(r"https?://\S+")?,
            sentence_end: Regex::new(r#"[.!?]\s+[A-Z"'(]"#)?,
            docstring: Regex::new(r#"(?s)(?:def (\w+)\([^"]{0,400}?\n\s*)?[rR]?"""(.*?)""""#)?,
            js_comment: Regex::new(r"(?s)/\*\*(.*?)\*/")?,
            js_margin: Regex::new(r"\n\s*\* ?")?,
            js_tag: Regex::new(r"(?m)^\s*@\w+ (\{[^}]*\} )?")?,
            section: Regex::new(
                r"^(Parameters|Returns|Examples?|Notes?|See Also|Raises|References|Args)\b[:\n][^\n]*\n?",
            )?,
        })
    }

    /// Reads the documentation below a folder, files in the order of their paths.
    pub fn read(&self, root: &Path) -> Result<Text> {
        let mut text = Text::default();
        for entry in WalkDir::new(root).sort_by_file_name() {
            let entry = entry?;
            let path = entry.path().strip_prefix(root)?.to_string_lossy().into_owned();
            // Other people's code inside a package has a licence of its own.
            let foreign = ["node_modules/", "vendor", "_vendored", "third_party", "tests/"];
            if !entry.file_type().is_file() || foreign.iter().any(|part| path.contains(part)) {
                continue;
            }
            let read = || -> Result<String> {
                Ok(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"))
            };
            if path.ends_with(".rs") {
                self.rust(&read()?, &mut text.sentences);
            } else if path.ends_with(".py") {
                self.python(&read()?, &mut text);
            } else if path.ends_with(".d.ts") {
                self.typescript(&read()?, &mut text.sentences);
            } else if path.ends_with(".md") || path.ends_with(".rst") {
                self.prose(&read()?, &mut text.sentences);
            }
        }
        Ok(text)
    }

    fn rust(&self, source: &str, out: &mut Vec<String>) {
        let mut comment = String::new();
        for line in source.lines().chain([""]) {
            let line = line.trim_start();
            match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
                Some(text) => {
                    comment.push_str(text.trim());
                    comment.push('\n');
                }
                None if !comment.is_empty() => {
                    self.paragraphs(&comment).for_each(|text| self.sentences(text, out));
                    comment.clear();
                }
                None => {}
            }
        }
    }

    fn python(&self, source: &str, text: &mut Text) {
        for found in self.docstring.captures_iter(source) {
            let margin: Vec<&str> = found[2].lines().map(str::trim).collect();
            let mut first = found.get(1).map(|name| name.as_str());
            for paragraph in self.paragraphs(&margin.join("\n")) {
                let paragraph = self.section.replace(paragraph.trim_start(), "");
                if paragraph.contains(">>>") || paragraph.contains("----") {
                    continue;
                }
                let start = text.sentences.len();
                self.sentences(&paragraph, &mut text.sentences);
                if let (Some(name), Some(sentence)) = (first.take(), text.sentences.get(start)) {
                    text.functions.push((name.to_owned(), sentence.clone()));
                }
            }
        }
    }

    fn typescript(&self, source: &str, out: &mut Vec<String>) {
        for found in self.js_comment.captures_iter(source) {
            let comment = self.js_margin.replace_all(&found[1], "\n");
            let comment = self.js_tag.replace_all(&comment, "");
            self.paragraphs(&comment).for_each(|text| self.sentences(text, out));
        }
    }

    fn prose(&self, source: &str, out: &mut Vec<String>) {
        for paragraph in self.paragraphs(source) {
            let listed = format!("\n{paragraph}");
            self.item.split(&listed).for_each(|item| self.sentences(item, out));
        }
    }

    /// The paragraphs outside code and tables.
    fn paragraphs(&self, text: &str) -> impl Iterator<Item = String> {
        let text = self.code_block.replace_all(text, "");
        let paragraphs: Vec<String> = self.blank.split(&text).map(str::to_owned).collect();
        paragraphs.into_iter().filter(|paragraph| {
            let start = paragraph.trim_start();
            !paragraph.starts_with("    ")
                && ![">>>", "|", "..", "+-"].iter().any(|mark| start.starts_with(mark))
        })
    }

    fn sentences(&self, paragraph: impl AsRef<str>, out: &mut Vec<String>) {
        let text = self.linked_code.replace_all(paragraph.as_ref(), "$1");
        let text = self.link.replace_all(&text, "$1");
        let text = self.role.replace_all(&text, "$1");
        let text = text.replace('`', "").replace("**", "");
        let text = self.tag.replace_all(&text, " ");
        let text = self.address.replace_all(&text, "");
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        let text = text.trim_matches([' ', '*', '#', '-', '=', '>', '|']);
        let mut start = 0;
        for end in
            self.sentence_end.find_iter(text).map(|found| found.start() + 1).chain([text.len()])
        {
            let sentence = text[start..end].trim();
            start = end;
            if is_prose(sentence) {
                out.push(sentence.to_owned());
            }
        }
    }
}

fn is_prose(sentence: &str) -> bool {
    let chars = sentence.chars().count();
    let letters = sentence.chars().filter(|char| char.is_alphabetic() || *char == ' ').count();
    chars <= CHARS_MAX
        && WORDS.contains(&sentence.split(' ').count())
        && letters as f32 >= LETTERS_MIN * chars as f32
}

/// Entries of a dictionary.
#[derive(Default)]
pub struct Dictionary {
    /// A word and what it means.
    pub meanings: Vec<(String, String)>,
    /// Phrases and sentences that show words in use.
    pub examples: Vec<String>,
    /// Plain nouns, for templates.
    pub nouns: Vec<String>,
}

/// Reads the data files of WordNet: `offset .. word .. | meaning; "example"; "example"`.
pub fn dictionary(root: &Path) -> Result<Dictionary> {
    let mut found = Dictionary::default();
    for part in ["noun", "verb", "adj", "adv"] {
        let text = fs::read_to_string(root.join(format!("package/dict/data.{part}")))?;
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            let Some((head, gloss)) = line.split_once(" | ") else { continue };
            let Some(word) = head.split(' ').nth(4) else { continue };
            let word = word.split('(').next().unwrap_or(word).replace('_', " ");
            // Text between quotation marks is an example, the rest explains.
            let mut meaning = String::new();
            for (at, part) in gloss.split('"').enumerate() {
                if at % 2 == 0 {
                    meaning.push_str(part);
                } else if part.split(' ').count() >= 3 {
                    found.examples.push(part.to_owned());
                }
            }
            let meaning = meaning.trim_matches([' ', ';', ':']).to_owned();
            let is_plain = word.len() > 3 && word.len() < 12;
            if part == "noun" && is_plain && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                found.nouns.push(word.clone());
            }
            if !meaning.is_empty() && meaning.chars().count() <= CHARS_MAX {
                found.meanings.push((word, meaning));
            }
        }
    }
    Ok(found)
}

/// Reads what is said in YAML files of conversations: the items of their lists.
pub fn conversations(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in WalkDir::new(root).sort_by_file_name() {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_none_or(|ext| ext != "yml")
            || !path.to_string_lossy().contains("/english/")
        {
            continue;
        }
        for line in fs::read_to_string(path)?.lines() {
            let line = line.trim_start();
            let Some(said) = line.strip_prefix("- ") else { continue };
            let said = said.trim_start_matches("- ").trim_matches(['"', '\'', ' ']);
            if said.split(' ').count() >= 2 && said.chars().count() <= CHARS_MAX {
                found.push(said.to_owned());
            }
        }
    }
    Ok(found)
}
