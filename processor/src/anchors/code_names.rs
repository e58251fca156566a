//! Names of code in the text of a memory: identifiers, flags, file names and configuration keys in backticks.
//!
//! A name is recognised by its form, without a list of words. It has at least four characters, three of them letters,
//! and consists of two words that are joined as in programs (`retry_all`, `retryAll`, `--retry-all`, `llm.retry`,
//! `src/retry.rs`, `Retry::all`). A single word counts if it has five letters and the backticks contain nothing else. A
//! common word almost always occurs somewhere in a working tree, so it makes no memory stale.

use memory_store::Memory;

/// Maximum number of names of one memory that are searched. The first names in the text are used.
const NAMES_MAX: usize = 16;
/// Maximum and minimum number of characters of a name.
const NAME_CHARS_MAX: usize = 100;
const NAME_CHARS_MIN: usize = 4;
/// Minimum number of letters of a name of several words, and of a name that is a single word.
const LETTERS_MIN: usize = 3;
const WORD_LETTERS_MIN: usize = 5;
/// Minimum number of digits of a hexadecimal number that counts as the id of a commit.
const COMMIT_DIGITS_MIN: usize = 7;

/// Returns the names in a memory's title and body, each once, in the order of the text.
pub fn of(memory: &Memory) -> Vec<String> {
    of_texts(&memory.title, &memory.body)
}

/// Returns the names in a title and the text below it.
pub fn of_texts(title: &str, body: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut is_fenced = false;
    for line in title.lines().chain(body.lines()) {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        if is_fenced {
            continue;
        }
        let pairs = line.matches('`').count() / 2;
        for span in line.split('`').skip(1).step_by(2).take(pairs) {
            let words: Vec<&str> = span.split_whitespace().collect();
            let is_alone = words.len() == 1;
            for name in words.into_iter().filter_map(|word| name(word, is_alone)) {
                if names.len() < NAMES_MAX && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
    }
    names
}

/// Returns the forms in which a file may contain a name: each is a list of texts, all of which are required.
pub fn forms(name: &str) -> Vec<Vec<String>> {
    let bare = name.trim_start_matches('-');
    let mut forms = vec![vec![bare.to_owned()]];
    if bare.contains('-') && !bare.contains(['/', '.', ':']) {
        // Parsers of arguments and configurations derive a name with hyphens from a field with underscores.
        forms.push(vec![bare.replace('-', "_")]);
    }
    let parts: Vec<String> =
        segments(bare).filter(|part| is_name(part, true)).map(str::to_owned).collect();
    if bare.contains("::") || bare.contains('.') && !bare.contains('/') && !parts.is_empty() {
        forms.extend((!parts.is_empty()).then_some(parts));
    }
    forms
}

/// Whether a name may be a path. Git can list renames of paths.
pub fn may_be_path(name: &str) -> bool {
    name.contains(['/', '.']) && !name.contains("::")
}

fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', ':']).filter(|part| !part.is_empty())
}

/// Returns the name in a word between backticks. `is_alone` is whether the backticks contain nothing else.
fn name(word: &str, is_alone: bool) -> Option<&str> {
    let quotes =
        |c: char| matches!(c, '"' | '\'' | ',' | ';' | '(' | ')' | '&' | '$' | '@' | '[' | ']');
    let word = word.trim_matches(quotes);
    let called = word.split('(').next()?;
    let is_call = called.len() < word.len();
    let word = called.split('=').next()?.trim_end_matches(['!', '?', ':', '.']);
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches('/');
    // A line number after the file name is removed.
    let word = match word.rsplit_once(':') {
        Some((file, line)) if line.chars().all(|c| c.is_ascii_digit()) => file,
        _ => word,
    };
    is_name(word, is_alone || is_call).then_some(word)
}

fn is_name(word: &str, is_alone: bool) -> bool {
    let bare = word.trim_start_matches('-');
    let is_of_name =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    let is_flag = word.starts_with("--");
    if !bare.chars().all(is_of_name)
        || word.starts_with('/')
        || word.starts_with('-') && !is_flag
        || ["..", "//", ":/"].iter().any(|text| bare.contains(text))
        || !(NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&bare.len())
        || is_commit(bare)
    {
        return false;
    }
    let letters = bare.chars().filter(char::is_ascii_alphabetic).count();
    let is_word = bare.chars().all(|c| c.is_ascii_alphabetic());
    if letters < LETTERS_MIN || bare.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    if is_word && !is_joined(bare) {
        return is_flag || is_alone && letters >= WORD_LETTERS_MIN;
    }
    // Arguments of a command often contain hyphens and refer to things outside of the project.
    is_flag || is_alone || is_joined(bare)
}

/// Whether a word consists of several words that are joined as in programs.
fn is_joined(word: &str) -> bool {
    let is_hump = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    word.contains(['_', '/', '.']) || word.contains("::") || word.as_bytes().windows(2).any(is_hump)
}

fn is_commit(word: &str) -> bool {
    word.len() >= COMMIT_DIGITS_MIN
        && word.chars().all(|c| c.is_ascii_hexdigit())
        && word.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use memory_store::{Kind, MemoryId, Timestamp};

    use super::*;

    fn of_text(body: &str) -> Vec<String> {
        let at = Timestamp(0);
        let memory =
            Memory::new(MemoryId::new(at, [1; 10]), Kind::Fact, "The `copper_basket`", body, at);
        of(&memory).into_iter().skip(1).collect()
    }

    #[test]
    fn names_are_taken_by_their_form() {
        for (text, names) in [
            (
                "calls `retry_all`, `Retry::all()` and `retryAll(x, y)`",
                &["retry_all", "Retry::all", "retryAll"][..],
            ),
            ("`cargo nextest run --retry-all -p cli src/a.rs:42`", &["--retry-all", "src/a.rs"]),
            ("set `llm.context = 16000` or `MAX_TOKENS=5`", &["llm.context", "MAX_TOKENS"]),
            (
                "the crate `memory-store` and `judge`, `./docs/limits.md`",
                &["memory-store", "judge", "docs/limits.md"],
            ),
            ("twice `judge` and `judge`", &["judge"]),
            // Words that are too short, arguments of a command, numbers, ids of commits, patterns, and paths outside of
            // the tree.
            ("`it`, `main`, `git push origin mainline`, `1.95.0`, `d7da24ef`", &[]),
            (
                "`*.rs`, `<name>`, `/etc/hosts`, `~/notes`, `https://a.example/b_c`, `a..b_c`, `-abc_d`",
                &[],
            ),
            // A single backtick, and a code block with backticks.
            ("it's a ` retry_all", &[]),
            ("```\nretry_all `x_y_z`\n```\nand `after_it`", &["after_it"]),
        ] {
            assert_eq!(of_text(text), names, "{text}");
        }
        let many: String = (0..40).map(|number| format!("`name_{number}` ")).collect();
        assert_eq!(of_text(&many).len(), NAMES_MAX - 1);
    }

    #[test]
    fn a_name_has_the_forms_that_files_give_it() {
        let joined = |name| forms(name).into_iter().map(|form| form.join(" ")).collect::<Vec<_>>();
        assert_eq!(joined("retry_all"), ["retry_all"]);
        assert_eq!(joined("--retry-all"), ["retry-all", "retry_all"]);
        assert_eq!(joined("Retry::all_of"), ["Retry::all_of", "Retry all_of"]);
        assert_eq!(joined("llm.context"), ["llm.context", "context"]);
        assert_eq!(joined("src/retry-all.rs"), ["src/retry-all.rs"]);
    }
}
