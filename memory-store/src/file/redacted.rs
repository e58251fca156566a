//! Redaction of a complete file: the memory, comments, and keys that people or other programs wrote.

use super::split::{FileFault, split};
use super::{MemoryFile, front, invalid, read, yaml};
use crate::error::Result;
use crate::redact::{PLACEHOLDER_OPEN, Redactor};

impl MemoryFile {
    /// Redacts the secrets in the file and returns their number. All other text is unchanged.
    ///
    /// # Errors
    /// If the file would not be a valid memory without its secrets. The file is then unchanged.
    pub(crate) fn redact(&mut self, redactor: &Redactor) -> Result<usize> {
        let mut file = self.clone();
        let mut memory = file.memory.clone();
        let found = redactor.redact_memory(&mut memory);
        // If the fields cannot be changed separately, the file is changed as plain text, and the secrets are counted in
        // that text.
        let refused = file.set(&memory).err();
        let mut hidden = if refused.is_none() { found } else { 0 };
        let (text, more) = without_secrets(&file.text, redactor);
        if more > 0 {
            hidden += more;
            file.memory = read(&text).map_err(|fault| {
                let message = format!("it cannot be written without its secret: {}", fault.message);
                invalid(&self.path, &text, &FileFault { message, ..fault })
            })?;
            file.text = text;
        }
        match refused {
            Some(error) if redactor.redacted(&file.memory) != file.memory => Err(error),
            Some(_) | None => {
                *self = file;
                Ok(hidden)
            }
        }
    }
}

/// Redacts each part of a text separately. Returns the result and the number of secrets.
fn without_secrets(text: &str, redactor: &Redactor) -> (String, usize) {
    let body = split(text).map_or(0, |split| split.body.start);
    let (mut clean, mut at, mut hidden) = (String::with_capacity(text.len()), 0, 0);
    for part in parts(text) {
        match redactor.findings(part).len() {
            0 => clean.push_str(part),
            found => {
                hidden += found;
                let hides = redactor.redact(part);
                if at < body {
                    hides.split_inclusive('\n').for_each(|line| clean.push_str(&quoted(line)));
                } else {
                    clean.push_str(&hides);
                }
            }
        }
        at += part.len();
    }
    (clean, hidden)
}

/// Returns a line of YAML in which a value that begins with a placeholder is quoted. Without quotes, it would be parsed
/// as a list.
fn quoted(line: &str) -> String {
    let ends = line.trim_end_matches(['\r', '\n']).len();
    let (said, end) = line.split_at(ends);
    let lead = said.find(PLACEHOLDER_OPEN).map(|at| said.split_at(at));
    match lead {
        Some((lead, value))
            if lead.trim_end().ends_with([':', '-']) && !lead.trim_start().starts_with('#') =>
        {
            let value = yaml::write_line(value).unwrap_or_else(|_| value.to_owned());
            format!("{lead}{value}{end}")
        }
        Some(_) | None => line.to_owned(),
    }
}

/// Splits a memory file's text into independent parts: each line of our fields, each text of several lines, each
/// foreign key with everything below it, each group of comments, and everything below the front matter. A text without
/// front matter is one part.
pub fn parts(text: &str) -> Vec<&str> {
    let body = split(text).map_or(0, |split| split.body.start);
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    let mut within = Within::Line;
    for line in text[..body].split_inclusive('\n') {
        if !within.goes_on(line) {
            parts.push(&text[start..at]);
            (start, within) = (at, Within::after(line));
        }
        at += line.len();
    }
    parts.extend([&text[start..at], &text[at..]]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// Kind of element that contains the preceding line.
enum Within {
    /// A separate line.
    Line,
    Comment,
    /// A text of several lines, below a line with this indentation.
    Block(usize),
    /// A key that is not one of the program's.
    Foreign,
}

impl Within {
    fn after(line: &str) -> Self {
        let said = line.trim();
        let key = line.split(':').next().unwrap_or_default().trim_matches(['"', '\'']);
        if said.starts_with('#') {
            return Self::Comment;
        }
        if line.contains(':') && !is_below(line) && !front::KEYS.contains(&key) {
            return Self::Foreign;
        }
        let header = said.split(" #").next().unwrap_or_default().trim_end();
        let mark = header.trim_end_matches(|at: char| at.is_ascii_digit() || "+-".contains(at));
        if mark.ends_with(['|', '>']) { Self::Block(indent(line)) } else { Self::Line }
    }

    fn goes_on(&self, line: &str) -> bool {
        let is_blank = line.trim().is_empty();
        match self {
            Self::Line => false,
            Self::Comment => line.trim_start().starts_with('#'),
            Self::Block(column) => is_blank || indent(line) > *column,
            Self::Foreign => is_blank || is_below(line),
        }
    }
}

/// Returns whether a line belongs to a key on a previous line.
fn is_below(line: &str) -> bool {
    line.starts_with([' ', '\t', '-', '#', ']', '}']) && !line.starts_with("---")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Kind, Memory, MemoryId, Timestamp};

    fn token() -> String {
        format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB")
    }

    fn key() -> String {
        let kind = "PRIVATE KEY";
        let line = "KqZ4wLr8TnB2mXc6".repeat(4);
        format!("-----BEGIN {kind}-----\n{}-----END {kind}-----", format!("{line}\n").repeat(6))
    }

    /// Returns a memory's file with foreign lines in the front matter.
    fn with(lines: &str) -> MemoryFile {
        let id = MemoryId([7; 16]);
        let memory = Memory::new(id, Kind::Fact, "Deploying", "By `make`.", Timestamp(0));
        let text = MemoryFile::new(memory).unwrap().text().replacen(
            "kind:",
            &(lines.to_owned() + "kind:"),
            1,
        );
        MemoryFile::parse(Path::new("memory.md"), text.into_bytes()).unwrap()
    }

    #[test]
    fn comments_and_keys_of_others_lose_their_secrets_and_nothing_else() {
        let (token, key, plain) = (token(), key(), "s3cr3tPassW0rd77");
        let hidden = "[redacted:github-token]";
        let below = |key: &str, lead: &str| {
            key.lines().map(|line| format!("{lead}{line}\n")).collect::<String>()
        };
        let cases = [
            (format!("# by {token}, see wiki\n"), format!("# by {hidden}, see wiki\n")),
            (format!("deploy: {token}\n"), format!("deploy: \"{hidden}\"\n")),
            (format!("deploy: \"{token}\" # old\n"), format!("deploy: \"{hidden}\" # old\n")),
            (
                format!("x: # ours\n  - {token}\n  - b\n"),
                format!("x: # ours\n  - \"{hidden}\"\n  - b\n"),
            ),
            (format!("x: [a, {token}]\n"), format!("x: [a, {hidden}]\n")),
            (
                format!("db:\n  user: tess\n  password: {plain}\n"),
                "db:\n  user: \"[redacted:account]\"\n  password: \"[redacted:assignment]\"\n"
                    .to_owned(),
            ),
            (
                format!("key: |\n{}", below(&key, "  ")),
                "key: |\n  [redacted:private-key]\n".to_owned(),
            ),
            (below(&key, "# "), "# [redacted:private-key]\n".to_owned()),
            (
                "other: 1.10 # kept\n# and this\n".to_owned(),
                "other: 1.10 # kept\n# and this\n".to_owned(),
            ),
        ];
        for (before, after) in cases {
            let mut file = with(&before);
            let (memory, expected) = (file.memory.clone(), file.text().replace(&before, &after));
            let redactor = Redactor::default();
            let found = file.redact(&redactor).unwrap();
            assert_eq!((file.text(), &file.memory), (&*expected, &memory));
            assert_eq!(found > 0, before != after, "{before}");
            assert_eq!(file.redact(&redactor).unwrap(), 0, "{expected}");
        }
    }

    #[test]
    fn fields_that_no_text_is_expected_in_are_redacted_too() {
        let mut file = with(&format!("source:\n  session: {}\n  more: x\n", token()));
        assert!(file.redact(&Redactor::default()).unwrap() > 0);
        assert_eq!(file.memory.source.session.as_deref(), Some("[redacted:github-token]"));
        assert!(file.text().contains("\n  more: x\n"), "{}", file.text());
    }

    #[test]
    fn a_secret_that_only_the_text_can_lose_is_counted_once() {
        let text = with("").text().to_owned();
        let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap();
        let fields = ["id", "kind", "created"].map(line).join(", ");
        let text = format!("---\n{{{fields}, author: \"{}\"}}\n---\n\n# Deploying\n", token());
        let mut file = MemoryFile::parse(Path::new("memory.md"), text.into_bytes()).unwrap();
        assert!(file.clone().set(&Redactor::default().redacted(&file.memory)).is_err());
        assert_eq!(file.redact(&Redactor::default()).unwrap(), 1);
        assert!(file.text().contains("[redacted:github-token]"), "{}", file.text());
    }

    #[test]
    fn what_would_be_no_memory_without_its_secret_is_refused() {
        let before = with(&format!("{{x: 1}}\n{}: a\n", token()).replace("{x: 1}\n", ""));
        let mut file = before.clone();
        let error = file.redact(&Redactor::default()).unwrap_err().to_string();
        assert!(error.contains("without its secret") && !error.contains(&token()), "{error}");
        assert_eq!(file.text(), before.text());
    }

    #[test]
    fn parts_are_lines_of_ours_and_whole_keys_of_others() {
        let text = "---\nid: a\nauthor: |-\n  b\n\n  c\n# d\n# e\ntags:\n  - f\nx:\n  - g\n  # h\n- i\nkind: j\n---\n# k\nl\n";
        let expected = [
            "---\n",
            "id: a\n",
            "author: |-\n  b\n\n  c\n",
            "# d\n# e\n",
            "tags:\n",
            "  - f\n",
            "x:\n  - g\n  # h\n- i\n",
            "kind: j\n",
            "---\n",
            "# k\nl\n",
        ];
        assert_eq!(parts(text), expected);
        assert_eq!(parts("no fields\nat all"), ["no fields\nat all"]);
        assert_eq!(parts(""), Vec::<&str>::new());
    }
}
