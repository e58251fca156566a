//! Texts that Claude Code itself adds to every session: `CLAUDE.md` with its imports, and the loaded part of its auto
//! memory. A memory whose content is in these texts is not injected.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use memory_store::MemoryId;
use memory_store::fs::open_regular::{self, Links};
use memory_store::layout::{Tree, UserDirs};
use memory_store::memory::Memory;
use memory_store::store::Stored;
use memory_store::text::{self, Form};

use crate::transcript::SOURCE;

/// Maximum number of files that are read.
const FILES_MAX: usize = 64;
/// Maximum number of bytes that are read from one file.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// Maximum depth of imports that are followed, the same as in Claude Code.
const IMPORT_DEPTH: usize = 4;
/// Maximum number of lines and bytes of its auto memory that Claude Code loads.
const AUTO_LINES_MAX: usize = 200;
const AUTO_BYTES_MAX: usize = 25 << 10;
/// Number of consecutive lines in a window that is compared with a memory.
const WINDOW_LINES: usize = 8;
/// Minimum percentage of a memory's words that a window must contain.
const SAID_PERCENT: usize = 85;
/// Minimum number of words of a memory for this comparison.
const WORDS_MIN: usize = 3;

/// Texts that Claude Code adds to a session.
#[derive(Debug, Default)]
pub struct GivenTexts {
    /// The texts, in the order in which they were found.
    texts: Vec<String>,
    /// The files that were read.
    read: BTreeSet<PathBuf>,
}

impl GivenTexts {
    /// Reads the texts that every session in a working tree receives.
    pub fn of_tree(dirs: &UserDirs, tree: &Tree) -> Self {
        let mut known = Self::of_user(dirs);
        let mut above: Vec<&Path> = tree.root.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            known.read_with_imports(&folder.join("CLAUDE.md"), &tree.root, 0);
        }
        for name in ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"] {
            known.read_with_imports(&tree.root.join(name), &tree.root, 0);
        }
        let auto = SOURCE.folder(&dirs.claude).join(folder_name(&tree.main_root));
        if let Some(text) = read(&auto.join("memory/MEMORY.md")) {
            let text = &text[..text.floor_char_boundary(AUTO_BYTES_MAX)];
            let lines: Vec<&str> = text.lines().take(AUTO_LINES_MAX).collect();
            known.texts.push(lines.join("\n"));
        }
        known
    }

    /// Reads the texts that every session of the user receives, in any folder.
    pub fn of_user(dirs: &UserDirs) -> Self {
        let mut known = Self::default();
        known.read_with_imports(&dirs.claude.join("CLAUDE.md"), &dirs.claude, 0);
        known
    }

    /// Returns the texts, as input for a fingerprint.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Returns the memories that these texts already contain: nearly all of a memory's words are in a few neighbouring
    /// lines.
    pub fn contained_memories(&self, memories: &[Stored]) -> BTreeSet<MemoryId> {
        let windows = Windows::new(&self.texts);
        let memories = memories.iter().map(|stored| &stored.memory);
        memories.filter(|memory| windows.say(memory)).map(|memory| memory.id).collect()
    }

    /// Reads a file and its imports. Only imports below `root` are followed, because the user may not have permitted
    /// other ones.
    fn read_with_imports(&mut self, path: &Path, root: &Path, depth: usize) {
        if depth > IMPORT_DEPTH || self.read.len() >= FILES_MAX {
            return;
        }
        let Ok(path) = path.canonicalize() else { return };
        if !self.read.insert(path.clone()) {
            return;
        }
        let Some(text) = read(&path) else { return };
        let folder = path.parent().unwrap_or(root).to_owned();
        let imported: Vec<PathBuf> = imports(&text).map(|import| folder.join(import)).collect();
        self.texts.push(text);
        for import in imported {
            if import.canonicalize().is_ok_and(|import| import.starts_with(root)) {
                self.read_with_imports(&import, root, depth + 1);
            }
        }
    }
}

/// Returns the name of Claude Code's folder for a project.
fn folder_name(root: &Path) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    root.to_string_lossy().chars().map(plain).collect()
}

fn read(path: &Path) -> Option<String> {
    let file = open_regular::open(path, Links::Follow).ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the files that a text imports with `@path`, except in code.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    });
    lines
        .flat_map(|line| line.split('`').step_by(2))
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.strip_prefix('@'))
        .filter(|path| !path.is_empty())
}

/// Map from each word to the windows that contain it. A window consists of neighbouring lines without an empty line.
struct Windows {
    of_word: HashMap<u64, Vec<usize>>,
}

impl Windows {
    fn new(texts: &[String]) -> Self {
        let mut of_word: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut number = 0;
        for text in texts {
            let lines: Vec<BTreeSet<u64>> = text.lines().map(words).collect();
            for paragraph in lines.split(BTreeSet::is_empty) {
                let width = paragraph.len().clamp(1, WINDOW_LINES);
                for window in paragraph.windows(width) {
                    for word in window.iter().flatten().collect::<BTreeSet<_>>() {
                        of_word.entry(*word).or_default().push(number);
                    }
                    number += 1;
                }
            }
        }
        Self { of_word }
    }

    fn say(&self, memory: &Memory) -> bool {
        let mut wanted = words(&memory.title);
        wanted.extend(words(&memory.body));
        if wanted.len() < WORDS_MIN {
            return false;
        }
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for window in wanted.iter().filter_map(|word| self.of_word.get(word)).flatten() {
            *counts.entry(*window).or_default() += 1;
        }
        counts.values().any(|count| count * 100 >= wanted.len() * SAID_PERCENT)
    }
}

/// Returns the stemmed words of a text, without stop words.
fn words(text: &str) -> BTreeSet<u64> {
    let mut words = BTreeSet::new();
    text::each_term(text, &mut |term, form| {
        if form != Form::Part {
            words.insert(text::term_hash(term));
        }
    });
    words
}

#[cfg(test)]
mod tests {
    use std::fs;

    use memory_store::fs::file_stamp::Stamp;
    use memory_store::identity::Mode;
    use memory_store::{Kind, Timestamp};

    use super::*;
    use crate::for_tests::Project;

    fn stored(number: u8, title: &str, body: &str) -> Stored {
        let id = MemoryId::new(Timestamp(0), [number; 10]);
        let memory = Memory::new(id, Kind::Convention, title, body, Timestamp(0));
        Stored { path: PathBuf::new(), memory, stamp: Stamp::default(), text: String::new() }
    }

    fn project() -> Project {
        let project = Project::new(Mode::Private);
        fs::create_dir(project.root().join("docs")).unwrap();
        fs::create_dir_all(&project.dirs.claude).unwrap();
        project
    }

    #[test]
    fn a_memory_in_another_word_order_is_contained_and_one_with_more_is_not() {
        let Project { dirs, tree, .. } = &project();
        let text = "# Style\n\n- Amounts of money are never stored as float.\n- Tabs.\n";
        fs::write(tree.root.join("CLAUDE.md"), text).unwrap();
        let memories = [
            stored(1, "Never store money as a float amount", ""),
            stored(2, "Never store money as float", "The rounding of invoices broke in March."),
            stored(3, "Use tabs", ""),
        ];
        let said = GivenTexts::of_tree(dirs, tree).contained_memories(&memories);
        assert_eq!(said, BTreeSet::from([memories[0].memory.id]));
        assert_eq!(GivenTexts::of_user(dirs).contained_memories(&memories), BTreeSet::new());
    }

    #[test]
    fn words_that_are_strewn_over_a_text_do_not_say_it() {
        let Project { dirs, tree, .. } = &project();
        let text = "Never guess.\n\nThe store is small.\n\nWe talk of money.\n\nA float sinks.\n";
        fs::write(tree.root.join("CLAUDE.md"), text).unwrap();
        let memories = [stored(1, "Never store money as float", "")];
        assert_eq!(GivenTexts::of_tree(dirs, tree).contained_memories(&memories), BTreeSet::new());
    }

    #[test]
    fn imports_and_the_loaded_part_of_auto_memory_count() {
        let Project { dirs, tree, .. } = &project();
        fs::write(tree.root.join("CLAUDE.md"), "See @docs/style.md and `@docs/code.md`.\n")
            .unwrap();
        // This file imports the first file again, but each file is read only once.
        let style = "Feature branches carry the ticket number.\n@../CLAUDE.md @../../outside.md\n";
        fs::write(tree.root.join("docs/style.md"), style).unwrap();
        fs::write(tree.root.join("docs/code.md"), "Release tags carry the build date.\n").unwrap();
        let outside = tree.root.parent().unwrap().join("outside.md");
        fs::write(outside, "Nightly jobs carry the owner's name.\n").unwrap();
        let auto = SOURCE.folder(&dirs.claude).join(folder_name(&tree.main_root)).join("memory");
        assert!(auto.to_str().unwrap().contains("-my-work"));
        fs::create_dir_all(&auto).unwrap();
        let lines = "- something else\n".repeat(AUTO_LINES_MAX - 1);
        let text =
            format!("- Staging listens on port 7440\n{lines}- Production uses cluster blue\n");
        fs::write(auto.join("MEMORY.md"), text).unwrap();
        let memories = [
            stored(1, "Feature branches carry the ticket number", ""),
            stored(2, "Release tags carry the build date", ""),
            stored(3, "Nightly jobs carry the owner's name", ""),
            stored(4, "Staging listens on port 7440", ""),
            stored(5, "Production uses cluster blue", ""),
        ];
        let said = GivenTexts::of_tree(dirs, tree).contained_memories(&memories);
        assert_eq!(said, BTreeSet::from([memories[0].memory.id, memories[3].memory.id]));
    }
}
