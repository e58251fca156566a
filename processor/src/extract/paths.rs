//! Paths of files in texts and calls, relative to their working tree.

use super::roots::Roots;
use super::words;
use crate::transcript::session::{Call, Input};

/// Returns the path of the file that a call touched.
pub fn touched(call: &Call) -> Option<&str> {
    match &call.input {
        Input::Edit { path, .. } | Input::Read { path } => Some(path),
        _ => None,
    }
}

/// Returns the paths in a text. A path must contain a folder and a file extension, so that ordinary words do not count.
pub fn named(roots: &Roots, text: &str) -> Vec<String> {
    words::PATH
        .find_iter(text)
        .map(|found| {
            found
                .as_str()
                .trim_matches(|c: char| !(c.is_alphanumeric() || c == '.' || c == '/' || c == '_'))
        })
        .map(|path| path.trim_end_matches(['.', '/']))
        .map(without_line)
        .filter(|path| {
            path.contains('/')
                && path
                    .rsplit('/')
                    .next()
                    .is_some_and(|name| has_ending(name) && !name.starts_with('.'))
        })
        .filter(|path| {
            !path.contains("://") && !path.starts_with("//") && !path.starts_with("www.")
        })
        .map(|path| of_diff(path, text).unwrap_or(path))
        .filter_map(|path| roots.relative(path))
        .filter(|path| !words::BUILT.is_match(path))
        .filter(|path| {
            !path.contains("..") && !path.starts_with('.')
                || path.starts_with(".github/")
                || path.starts_with(".claude/")
        })
        .collect()
}

/// Returns the path in a line of a git diff, which contains each path twice: `a/src/cart.rs b/src/cart.rs`.
fn of_diff<'p>(path: &'p str, text: &str) -> Option<&'p str> {
    let (side, rest) = path.split_once('/')?;
    let other = match side {
        "a" => "b",
        "b" => "a",
        _ => return None,
    };
    text.contains(&format!("{other}/{rest}")).then_some(rest)
}

/// Returns a path without the line number that follows it, as in the output of `grep -C`: `src/cart.rs-12-`.
fn without_line(path: &str) -> &str {
    let line = words::LINE_OF_GREP.captures(path).and_then(|found| found.get(1));
    line.map_or(path, |line| &path[..line.start()])
}

/// Returns whether a name has a file extension. A version or a tag does not, because it ends with a number.
fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end.starts_with(|c: char| c.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_writes_each_path_twice() {
        let diff = "diff --git a/src/cart.rs b/src/cart.rs\n--- a/src/cart.rs\n+++ b/src/cart.rs";
        let named = |text: &str| named(&Roots::default(), text);
        assert!(named(diff).iter().all(|path| path == "src/cart.rs"), "{:?}", named(diff));
        assert_eq!(named("See a/src/cart.rs"), ["a/src/cart.rs"], "a folder may have this name");
    }

    #[test]
    fn a_line_that_grep_shows_is_of_its_file() {
        let named = |text: &str| named(&Roots::default(), text);
        let shown = "src/cart.rs-12-fn total() {\nsrc/cart.rs-13-\nsrc/a-1.rs\nv/1.0-2/a.rs";
        assert_eq!(named(shown), ["src/cart.rs", "src/cart.rs", "src/a-1.rs", "v/1.0-2/a.rs"]);
    }

    #[test]
    fn only_paths_with_a_folder_and_an_ending_are_named() {
        let roots = Roots::default();
        assert_eq!(
            named(&roots, "`src/a.py`, b.py, release/0.4.1, dist/a.css and/or https://x.y/z.html"),
            ["src/a.py"]
        );
    }
}
