//! Names of memory files. A name is readable, valid on every file system, and contains a part of the id.

use crate::memory::{Memory, Status};
use crate::redact::{PLACEHOLDER_OPEN, Redactor};

/// Maximum number of characters in the readable part of a file name.
const SLUG_CHARS_MAX: usize = 48;

/// Extension of memory files.
pub const EXTENSION: &str = "md";

/// Returns the name of a new memory's file: `<slug>-<short id>.md`. A person may rename the file, because the id inside
/// it identifies the memory. The name of a pending memory's file does not contain the title, because the title may
/// resemble a credential.
pub fn file_name(memory: &Memory) -> String {
    if memory.status == Status::Held {
        return format!("held-{}.{EXTENSION}", memory.id.short());
    }
    format!("{}-{}.{EXTENSION}", slug(&memory.title), memory.id.short())
}

/// Returns the permitted words of a title as lower-case ASCII letters and digits, joined by `-`. The short id after it
/// prevents names that Windows reserves for devices (`con`, `nul`, `lpt1`).
fn slug(title: &str) -> String {
    let mut slug = String::new();
    let clean = Redactor::default().without_suspects(title, "");
    let may_be_named = |word: &&str| !word.contains(PLACEHOLDER_OPEN) && !mixes(word);
    let words = clean.split_whitespace().filter(may_be_named);
    let words = words.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()));
    for word in words.filter(|word| !word.is_empty()) {
        let gap = usize::from(!slug.is_empty());
        if slug.len() + gap + word.len() > SLUG_CHARS_MAX {
            if slug.is_empty() {
                slug.push_str(&word[..SLUG_CHARS_MAX].to_ascii_lowercase());
            }
            break;
        }
        if gap == 1 {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { "memory".to_owned() } else { slug }
}

/// Returns whether a word mixes kinds of characters like a password or an identifier. Such words are omitted from file
/// names.
fn mixes(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let has = |is_kind: fn(&char) -> bool| inner.chars().any(|c| is_kind(&c));
    let has_inner_capital = inner
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    has(char::is_ascii_alphabetic) && has(char::is_ascii_digit)
        || has_inner_capital
        || inner.contains(['!', '#', '$', '%', '^', '&', '*', '+', '?', '~', '='])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::HeldFor;
    use crate::{Kind, MemoryId, Timestamp};

    #[test]
    fn what_is_held_has_no_title_in_its_name() {
        let (id, now) = (MemoryId([1; 16]), Timestamp(0));
        let mut memory = Memory::new(id, Kind::Fact, "The nas takes cedar-Wave-9", "", now);
        assert!(file_name(&memory).starts_with("the-nas-takes"));
        memory.hold(HeldFor::Credential);
        assert!(file_name(&memory).starts_with("held-"));
    }

    #[test]
    fn a_name_has_no_word_that_may_be_a_password() {
        assert_eq!(slug("Open the nas with cedar-Wave-9 or Moss!fern"), "open-the-nas-with-or");
        assert_eq!(slug("Unlock the vault by typing cold amber tin boats"), "unlock-the-vault-by");
        assert_eq!(slug("Tr0ut"), "memory");
    }

    #[test]
    fn names_are_short_ascii_and_never_leave_the_folder() {
        assert_eq!(slug("Use `cargo test -p X`, not make!"), "use-cargo-test-p-x-not-make");
        assert_eq!(slug("../../etc/passwd"), "etc-passwd");
        assert_eq!(slug("日本語"), "memory");
        assert_eq!(slug(&"x".repeat(300)).len(), SLUG_CHARS_MAX);
        assert!(slug(&"word ".repeat(80)).len() <= SLUG_CHARS_MAX);
        assert_eq!(slug("CON"), "con");
    }
}
