//! Finds paths that are valid on one machine only: paths below a user's home folder, or below the folder of the working
//! tree.

/// Folders that contain the homes of users.
const HOMES: [&str; 4] = ["/home/", "/Users/", ":\\Users\\", ":/Users/"];
/// Names that examples use in place of a user name.
const ANYBODY: [&str; 7] = ["user", "username", "name", "you", "me", "someone", "USER"];

/// A path in a text that is valid on one machine only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachinePath<'a> {
    /// Start of the path in the text, in bytes.
    pub start: usize,
    /// The path.
    pub path: &'a str,
}

/// Returns the machine paths in a text, in order: those below a home folder, and those below the folders `known`.
pub fn machine_paths<'a>(text: &'a str, known: &[&str]) -> Vec<MachinePath<'a>> {
    let mut found: Vec<MachinePath<'_>> = Vec::new();
    let homes = HOMES.iter().flat_map(|home| text.match_indices(*home)).filter_map(|(at, home)| {
        // The path begins with the letter of the drive, before the colon.
        let start = if home.starts_with(':') { at.checked_sub(1)? } else { at };
        text.is_char_boundary(start).then_some(())?;
        let (name, rest) = text[at + home.len()..].split_once(['/', '\\'])?;
        let is_name = !name.is_empty() && name.chars().all(is_of_name);
        let has_more = rest.starts_with(is_of_path);
        (is_name && has_more && !ANYBODY.contains(&name)).then_some(start)
    });
    let roots = known.iter().filter(|root| root.len() > 1);
    let roots = roots.flat_map(|root| {
        text.match_indices(*root).filter_map(|(at, root)| {
            let next = text[at + root.len()..].chars().next();
            next.is_none_or(|next| !is_of_name(next)).then_some(at)
        })
    });
    let mut starts: Vec<usize> = homes.chain(roots).filter(|at| begins_path(text, *at)).collect();
    starts.sort_unstable();
    for start in starts {
        let len = text[start..].find(|c| !is_of_path(c)).unwrap_or(text.len() - start);
        let path = text[start..start + len].trim_end_matches(['.', ',', ':']);
        if found.last().is_none_or(|last| last.start + last.path.len() <= start) {
            found.push(MachinePath { start, path });
        }
    }
    found
}

/// Returns whether a path can begin at `start`, which must not be within another path or an address.
fn begins_path(text: &str, start: usize) -> bool {
    let before = &text[..start];
    before.ends_with("file://")
        || !before
            .chars()
            .next_back()
            .is_some_and(|c| is_of_path(c) && c != ':' || c == '}' || c == '>')
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_of_path(c: char) -> bool {
    is_of_name(c) || matches!(c, '/' | '\\' | ':' | '~' | '@' | '+' | '%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_a_home_or_the_working_tree_are_found_and_no_others() {
        for (text, expected) in [
            ("see /home/ada/work/src/a.rs, and b", &["/home/ada/work/src/a.rs"][..]),
            ("(/Users/ada/x) `/Users/ada/y`", &["/Users/ada/x", "/Users/ada/y"]),
            (r"in C:\Users\ada\work or D:/Users/ada/x.", &[r"C:\Users\ada\work", "D:/Users/ada/x"]),
            ("path:/home/ada/x", &["/home/ada/x"]),
            ("file:///home/ada/x", &["/home/ada/x"]),
            ("/srv/bread/src/oven.rs and /srv/bread", &["/srv/bread/src/oven.rs", "/srv/bread"]),
            // None of these is a path of one machine: placeholders, an address, a route, another folder, a path in the
            // project.
            ("/home/user/x /home/$USER/x /home/<name>/x /Users/you/x", &[]),
            ("https://example.com/home/ada/x GET /home/page", &[]),
            ("src/home/ada/x $ROOT/home/ada/x {root}/home/ada/x", &[]),
            ("/srv/breadcrumbs/x /usr/lib/x /tmp/x", &[]),
        ] {
            let found = machine_paths(text, &["/srv/bread", "/"]);
            let paths: Vec<&str> = found.iter().map(|found| found.path).collect();
            assert_eq!(paths, expected, "{text}");
            assert!(found.iter().all(|found| text[found.start..].starts_with(found.path)));
        }
    }
}
