//! Compact form of contents: a hash of the whole, and a sketch of some lines, from which the remaining share can be
//! estimated later.

use memory_store::text::term_hash;
use serde::{Deserialize, Serialize};

/// Number of lines in a sketch: enough to estimate a share within some six percent.
const SKETCH_LINES: usize = 64;
/// Minimum number of letters and digits in a line with content: a brace is in every file.
const LINE_CHARS_MIN: usize = 3;
/// Number of leading bytes used to distinguish text from other content, as in git.
const TEXT_BYTES: usize = 8000;
/// Beginning of the pointer file that replaces a large one (git-lfs specification).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The hash of a content: the first 32 hexadecimal digits of its blake3.
pub type ContentHash = String;

/// A sample of the lines of a content: those with the lowest hashes, which are as good as drawn by lot
/// (bottom-k sketch, Cohen and Kaplan 2007).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sketch(Vec<u32>);

/// Hash and line hashes of a content.
#[derive(Clone, Debug)]
pub struct SketchedContent {
    /// Its hash.
    pub hash: ContentHash,
    /// Hashes of its lines, in rising order, each once.
    lines: Vec<u32>,
}

impl SketchedContent {
    /// Looks at a content; `None` for what is no text, or only stands for another file.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let is_text = !bytes[..bytes.len().min(TEXT_BYTES)].contains(&0);
        if !is_text || bytes.starts_with(POINTER) {
            return None;
        }
        let text = String::from_utf8_lossy(bytes);
        let says = |line: &&str| {
            line.chars().filter(|c| c.is_alphanumeric()).take(LINE_CHARS_MIN).count()
                == LINE_CHARS_MIN
        };
        // Indentation and line ends change without a change of meaning.
        let lines = text.lines().map(str::trim).filter(says);
        #[expect(clippy::cast_possible_truncation, reason = "half of a hash is one")]
        let mut lines: Vec<u32> = lines.map(|line| term_hash(line) as u32).collect();
        lines.sort_unstable();
        lines.dedup();
        Some(Self { hash: blake3::hash(bytes).to_hex()[..32].to_owned(), lines })
    }

    /// Returns the sketch that is kept of the content.
    pub fn sketch(&self) -> Sketch {
        Sketch(self.lines.iter().take(SKETCH_LINES).copied().collect())
    }
}

impl Sketch {
    /// Whether less than half of the lines that were there remain.
    pub fn is_rewritten(&self, now: &SketchedContent) -> bool {
        let remain = self.0.iter().filter(|line| now.lines.binary_search(line).is_ok()).count();
        remain * 2 < self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(numbers: impl IntoIterator<Item = u32>) -> SketchedContent {
        let text: String = numbers
            .into_iter()
            .map(|number| format!("    let line{number} = {number};\n"))
            .collect();
        SketchedContent::of(text.as_bytes()).unwrap()
    }

    #[test]
    fn half_of_the_lines_decide_whether_there_are_ten_or_a_thousand() {
        for count in [10, 1000] {
            let sketch = lines(0..count).sketch();
            assert!(sketch.0.len() <= SKETCH_LINES);
            // Lines that are only added or moved remove nothing.
            assert!(!sketch.is_rewritten(&lines((0..count * 5).rev())));
            assert!(!sketch.is_rewritten(&lines(0..count * 7 / 10)));
            assert!(sketch.is_rewritten(&lines(0..count * 3 / 10)));
            assert!(sketch.is_rewritten(&lines(count..count * 2)));
        }
    }

    #[test]
    fn layout_is_no_change_and_what_is_no_text_is_not_compared() {
        let sketch = SketchedContent::of(b"fn main() {\n    run();\n}\n").unwrap().sketch();
        assert_eq!(sketch.0.len(), 2);
        assert!(
            !sketch.is_rewritten(&SketchedContent::of(b"fn main() {\r\n\trun();\r\n}").unwrap())
        );
        assert!(SketchedContent::of(b"\x7fELF\0\0").is_none());
        assert!(
            SketchedContent::of(b"version https://git-lfs.github.com/spec/v1\noid x\n").is_none()
        );
        // Without a line that says anything nothing can go.
        let empty = SketchedContent::of(b"{\n}\n").unwrap();
        assert!(!empty.sketch().is_rewritten(&lines(0..3)));
    }
}
