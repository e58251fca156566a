//! Sketches of file contents: a hash of the content and a sample of its lines. From the sample, the share of remaining
//! lines can be estimated later.

use memory_store::text::term_hash;
use serde::{Deserialize, Serialize};

/// Number of lines in a sketch; enough to estimate a share with an error of about six percent.
const SKETCH_LINES: usize = 64;
/// Minimum number of letters and digits of a line that is compared. Shorter lines, such as a brace, occur in every
/// file.
const LINE_CHARS_MIN: usize = 3;
/// Number of leading bytes used to distinguish text from other content, as in git.
const TEXT_BYTES: usize = 8000;
/// Beginning of a pointer file, which replaces a large file (git-lfs specification).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The hash of a content: the first 32 hexadecimal digits of its BLAKE3 hash.
pub type ContentHash = String;

/// A sample of the lines of a content: the lines with the lowest hashes, which are equivalent to a random sample
/// (bottom-k sketch, Cohen and Kaplan 2007).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sketch(Vec<u32>);

/// Hash of a content, with the hashes of its lines.
#[derive(Clone, Debug)]
pub struct SketchedContent {
    /// Hash of the content.
    pub hash: ContentHash,
    /// Hashes of the lines, in ascending order, without duplicates.
    lines: Vec<u32>,
}

impl SketchedContent {
    /// Hashes a content. Returns `None` if it is not text, or is a pointer to another file.
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
        // Changes of indentation or of line ends do not change the meaning.
        let lines = text.lines().map(str::trim).filter(says);
        #[expect(clippy::cast_possible_truncation, reason = "half of a hash is one")]
        let mut lines: Vec<u32> = lines.map(|line| term_hash(line) as u32).collect();
        lines.sort_unstable();
        lines.dedup();
        Some(Self { hash: blake3::hash(bytes).to_hex()[..32].to_owned(), lines })
    }

    /// Returns the sketch of the content.
    pub fn sketch(&self) -> Sketch {
        Sketch(self.lines.iter().take(SKETCH_LINES).copied().collect())
    }
}

impl Sketch {
    /// Whether less than half of the sampled lines remain in `now`.
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
            // If lines are only added or moved, no line was removed.
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
        // A content without comparable lines cannot be rewritten.
        let empty = SketchedContent::of(b"{\n}\n").unwrap();
        assert!(!empty.sketch().is_rewritten(&lines(0..3)));
    }
}
