//! The roots of a project's working trees. Paths relative to these are the same on every machine.

use super::words;

/// The roots of a project's working trees as recorded, with `/` as separator. A Windows drive is `/d`.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<String>);

/// Folder of Claude Code's worktrees inside the main tree.
const WORKTREES: &str = "/.claude/worktrees/";

impl Roots {
    /// Creates roots from the folders recorded in transcripts.
    pub fn new(roots: impl IntoIterator<Item = String>) -> Self {
        let mut roots: Vec<String> =
            roots.into_iter().map(|root| unified(&root).trim_end_matches('/').to_owned()).collect();
        let owners: Vec<String> = roots
            .iter()
            .filter_map(|root| Some(root.split_once(WORKTREES)?.0.to_owned()))
            .collect();
        roots.extend(owners);
        roots.retain(|root| root.len() > 1);
        // The longest root is first, because a worktree may be inside the main tree.
        roots.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        roots.dedup();
        Self(roots)
    }

    /// Returns these roots. If a session ran outside of all of them, the uppermost of its folders is added, because it
    /// is probably a removed clone or a clone on another machine.
    pub fn with_folders<'a>(&self, folders: impl Iterator<Item = &'a str>) -> Self {
        Self::new(self.0.iter().cloned().chain(self.outside(folders)))
    }

    /// Returns the uppermost of the folders outside of all roots; `None` if there is none.
    pub fn outside<'a>(&self, folders: impl Iterator<Item = &'a str>) -> Option<String> {
        let outside = folders.map(unified).filter(|folder| self.inner(folder).is_none());
        outside.min_by_key(String::len)
    }

    /// Returns the part of an absolute path below a root; empty for the root itself, `None` outside of all roots.
    fn inner(&self, path: &str) -> Option<String> {
        let inner = self.0.iter().find_map(|root| {
            let (head, rest) = path.split_at_checked(root.len())?;
            (head.eq_ignore_ascii_case(root) && (rest.is_empty() || rest.starts_with('/')))
                .then(|| rest.trim_start_matches('/').to_owned())
        })?;
        // A worktree has the same files as the tree that contains it.
        match format!("/{inner}").split_once(WORKTREES) {
            Some((_, rest)) => Some(rest.split_once('/').map_or("", |(_, rest)| rest).to_owned()),
            None => Some(inner),
        }
    }

    /// Returns a recorded path relative to its working tree; `None` outside of all working trees.
    pub fn relative(&self, path: &str) -> Option<String> {
        let path = unified(path.trim());
        let path = path.trim_start_matches("./");
        if !path.starts_with(['/', '~']) {
            return (!path.is_empty() && !path.starts_with("..")).then(|| path.to_owned());
        }
        self.inner(path).filter(|inner| !inner.is_empty())
    }

    /// Returns a text with all paths below the working trees made relative, in any spelling.
    pub fn strip(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for root in &self.0 {
            for spelling in spellings(root) {
                text = stripped(&text, &spelling);
            }
        }
        words::IN_WORKTREE.replace_all(&text, "").into_owned()
    }

    /// Returns the folder of a command relative to its working tree; `.` for the root, `None` outside.
    pub fn directory(&self, cwd: &str, inner: &str) -> Option<String> {
        let inner = unified(inner);
        let whole = match inner.as_str() {
            "" => unified(cwd),
            inner if inner.starts_with(['/', '~', '$']) => inner.to_owned(),
            inner => folded(&format!("{}/{inner}", unified(cwd).trim_end_matches('/')))?,
        };
        let inside = self.inner(whole.trim_end_matches('/'))?;
        Some(if inside.is_empty() { ".".to_owned() } else { inside })
    }
}

/// Returns a path with `/` as separator and a drive as the first folder.
fn unified(path: &str) -> String {
    let path = path.replace('\\', "/");
    match path.as_bytes() {
        [drive, b':', rest @ ..]
            if drive.is_ascii_alphabetic() && matches!(rest.first(), None | Some(b'/')) =>
        {
            format!("/{}{}", char::from(drive.to_ascii_lowercase()), &path[2..])
        }
        _ => path,
    }
}

/// Returns a path without `.` and `..`; `None` if `..` leads above its beginning.
fn folded(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// Returns the spellings of a root: as stored and, for a path on a drive, as on Windows.
fn spellings(root: &str) -> Vec<String> {
    let mut spellings = vec![root.to_owned()];
    let drive = root.as_bytes();
    if drive.len() > 2 && drive[1].is_ascii_alphabetic() && drive[2] == b'/' {
        let windows = format!("{}:{}", char::from(drive[1].to_ascii_uppercase()), &root[2..]);
        spellings.push(windows.replace('/', "\\"));
        spellings.push(windows.replace('/', "\\\\"));
        spellings.push(windows);
    }
    spellings
}

/// Returns a text with all occurrences of a root removed, ignoring case.
fn stripped(text: &str, root: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let root = root.to_ascii_lowercase();
    let mut told = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices(&root) {
        let end = at + root.len();
        let inside = text[end..].starts_with(['/', '\\']);
        let goes_on = text[end..]
            .starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && !text[end..].starts_with(". ");
        let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '/' || c == ':');
        if at < from || goes_on || !begins {
            continue;
        }
        told.push_str(&text[from..at]);
        let slashes = text[end..].len() - text[end..].trim_start_matches(['/', '\\']).len();
        from = if inside { end + slashes } else { end };
        if !inside {
            told.push('.');
        }
    }
    told.push_str(&text[from..]);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_their_working_tree() {
        let roots = Roots::new(["/home/a/shop".to_owned(), "/home/a/shop/trees/x".to_owned()]);
        assert_eq!(roots.relative("/home/a/shop/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.relative("/home/a/shop/trees/x/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.relative("/etc/passwd"), None);
        assert_eq!(roots.relative("src/a.py").as_deref(), Some("src/a.py"));
        let folder = |cwd: &str, inner: &str| roots.directory(cwd, inner);
        assert_eq!(folder("/home/a/shop", "").as_deref(), Some("."));
        assert_eq!(folder("/home/a/shop", "web").as_deref(), Some("web"));
        assert_eq!(folder("/home/a/shop/web", "../api").as_deref(), Some("api"));
        assert_eq!(folder("/home/a/shop/web", "").as_deref(), Some("web"));
        assert_eq!(folder("/home/a/other", ""), None);
        assert_eq!(folder("/home/a/shop", "$(mktemp -d)"), None);
    }

    #[test]
    fn a_drive_is_written_in_many_ways() {
        let roots = Roots::new([r"D:\shop".to_owned()]);
        for path in
            [r"D:\shop\src\a.py", "D:/shop/src/a.py", "/d/shop/src/a.py", r"d:\Shop\src\a.py"]
        {
            assert_eq!(roots.relative(path).as_deref(), Some("src/a.py"), "{path}");
            let text = format!("It is in `{path}`, not in {path}.");
            let told = roots.strip(&text).replace('\\', "/");
            assert_eq!(told, "It is in `src/a.py`, not in src/a.py.", "{path}");
        }
        assert_eq!(roots.relative(r"C:\Users\a\x.py"), None);
        assert_eq!(roots.relative(r"D:\shopping\a.py"), None);
        assert_eq!(roots.strip("cd /d/shop && cd /d/shopping"), "cd . && cd /d/shopping");
        let tree = r"D:\shop\.claude\worktrees\calm-cat-1\src\a.py";
        assert_eq!(roots.relative(tree).as_deref(), Some("src/a.py"));
        assert_eq!(roots.strip(&format!("See {tree}")), r"See src\a.py");
    }

    #[test]
    fn a_clone_that_is_gone_is_a_root_of_its_session() {
        let roots = Roots::new(["/home/a/shop".to_owned()])
            .with_folders(["/Users/b/code/shop/web", "/Users/b/code/shop"].into_iter());
        assert_eq!(roots.relative("/Users/b/code/shop/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(roots.relative("/home/a/shop/src/a.py").as_deref(), Some("src/a.py"));
    }
}
