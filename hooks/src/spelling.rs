//! Converts the path of a file that a tool used to the form in memories: relative to the root, with `/`.
//!
//! Clients write paths in many ways: absolute, relative to the session's folder, with `.` and `..`, with backslashes,
//! with a drive letter, in the notation of MSYS, Cygwin or WSL, or below another working tree of the project.
//!
//! Hot path: a plain absolute path below the root is only compared with the root. Other paths are split into
//! components. Only for a path outside the project is the file system accessed.

use std::borrow::Cow;
use std::path::Path;

use memory_store_base::layout::{STORE_DIR, Tree, UserDirs};

/// Folder of the linked working trees that Claude Code creates, with a trailing `/`.
const WORKTREES: &str = ".claude/worktrees/";

/// Returns the path of a file below the tree's root; `None` for files elsewhere and for Throughline's memory files.
pub fn relative<'a>(
    file: &'a Path,
    cwd: &Path,
    tree: &Tree,
    dirs: &UserDirs,
) -> Option<Cow<'a, str>> {
    let roots = [&tree.root, &tree.main_root];
    let below = roots.iter().find_map(|root| file.strip_prefix(root).ok()?.to_str());
    let path = match below.filter(|below| is_plain(below)) {
        Some(below) => Cow::Borrowed(below),
        None => {
            let file = spelled_out(file.to_str()?, cwd.to_str()?);
            let below = roots.iter().find_map(|root| below_root(&file, root));
            Cow::Owned(below.or_else(|| in_another_tree(&file, tree, dirs))?)
        }
    };
    let path = match in_worktree(&path) {
        Some(inner) => Cow::Owned(inner.to_owned()),
        None => path,
    };
    (!path.is_empty() && !Path::new(path.as_ref()).starts_with(STORE_DIR)).then_some(path)
}

/// Returns whether a path is in normal form, without `\`, `.`, `..` and empty components.
fn is_plain(path: &str) -> bool {
    !path.contains('\\') && path.split('/').all(|step| !matches!(step, "" | "." | ".."))
}

/// Returns the normal form of a path: absolute, with `/`, without `.` and `..`, starting with `c:` if it has a drive.
fn spelled_out(path: &str, cwd: &str) -> String {
    let path = with_slashes(path);
    let whole = match is_absolute(&path) {
        true => path,
        false => Cow::Owned(format!("{}/{path}", with_slashes(cwd))),
    };
    let mut steps: Vec<&str> = Vec::new();
    for step in whole.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    // `/d/x`, `/cygdrive/d/x` and `/mnt/d/x` are notations of `D:\x`.
    let drive = match steps.as_slice() {
        ["mnt" | "cygdrive", letter, ..] if is_letter(letter) => Some((2, *letter)),
        [letter, ..] if is_letter(letter.trim_end_matches(':')) => Some((1, *letter)),
        _ => None,
    };
    match drive {
        Some((taken, letter)) => {
            let letter = letter.trim_end_matches(':').to_ascii_lowercase();
            format!("{letter}:/{}", steps[taken..].join("/"))
        }
        None => format!("/{}", steps.join("/")),
    }
}

/// Returns a Windows path with `/` as separator. Other paths are unchanged, because a backslash may be part of a name.
fn with_slashes(path: &str) -> Cow<'_, str> {
    match path.contains('\\') && !path.starts_with('/') {
        true => Cow::Owned(path.replace('\\', "/")),
        false => Cow::Borrowed(path),
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3) == Some(":/") && path.get(..1).is_some_and(is_letter)
}

fn is_letter(step: &str) -> bool {
    matches!(step.as_bytes(), [letter] if letter.is_ascii_alphabetic())
}

fn below_root(file: &str, root: &Path) -> Option<String> {
    let root = spelled_out(root.to_str()?, "");
    Some(file.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/')?.to_owned())
}

/// Returns the path of a file below another working tree of the same project; `None` if it is not in one. If the path
/// contains links, they are resolved.
fn in_another_tree(file: &str, tree: &Tree, dirs: &UserDirs) -> Option<String> {
    let path = Path::new(file);
    let other = Tree::find(dirs, path.parent()?).filter(|it| it.project == tree.project)?;
    below_root(file, &other.root).or_else(|| {
        let real = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
        below_root(real.to_str()?, &other.root)
    })
}

/// Returns the path below a linked working tree inside this one; `None` for other paths.
fn in_worktree(path: &str) -> Option<&str> {
    path.strip_prefix(WORKTREES)?.split_once('/').map(|(_, inner)| inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_store_base::ProjectId;
    use std::path::PathBuf;

    fn dirs() -> UserDirs {
        UserDirs::resolve(|name| (name == "HOME").then(|| "/nowhere/home".into())).unwrap()
    }

    fn check(root: &str, main_root: &str, cwd: &str, spellings: &[(&str, Option<&str>)]) {
        let root = PathBuf::from(root);
        let tree = Tree { project: ProjectId([1; 16]), root, main_root: PathBuf::from(main_root) };
        for (file, expected) in spellings {
            let found = relative(Path::new(file), Path::new(cwd), &tree, &dirs());
            assert_eq!(found.as_deref(), *expected, "{file}");
        }
    }

    #[test]
    fn every_spelling_of_a_path_is_the_same_file() {
        let file = Some("src/a.rs");
        let cwd = "/home/u/shop/web";
        let spellings = [
            ("/home/u/shop/src/a.rs", file),
            ("/home/u/shop/./src//a.rs", file),
            ("/home/u/shop/web/../src/a.rs", file),
            ("../src/a.rs", file),
            ("./../src/a.rs", file),
            (r"..\src\a.rs", file),
            ("a.rs", Some("web/a.rs")),
            ("./a.rs", Some("web/a.rs")),
            ("/home/u/shop/.claude/worktrees/feature/src/a.rs", file),
            ("/home/u/main/src/a.rs", file),
            ("/home/u/shop-other/src/a.rs", None),
            ("../../other/a.rs", None),
            ("/home/u/shop", None),
            ("/home/u/shop/.throughline/memories/x.md", None),
            ("/home/u/shop/.throughline-notes/x.md", Some(".throughline-notes/x.md")),
            // On other systems than Windows, a backslash is part of a name.
            (r"/home/u/shop/src\a.rs", Some(r"src\a.rs")),
        ];
        check("/home/u/shop", "/home/u/main", cwd, &spellings);
    }

    #[test]
    fn a_drive_is_the_same_by_each_of_its_names() {
        let file = Some("src/a.rs");
        let spellings = [
            (r"D:\Repo\src\a.rs", file),
            (r"d:\Repo\src\a.rs", file),
            ("D:/Repo/src/a.rs", file),
            ("/d/Repo/src/a.rs", file),
            ("/D/Repo/src/a.rs", file),
            ("/mnt/d/Repo/src/a.rs", file),
            ("/cygdrive/d/Repo/src/a.rs", file),
            (r"D:\Repo\web\..\src\.\a.rs", file),
            (r"src\a.rs", file),
            (r"E:\Repo\src\a.rs", None),
            (r"D:\Repository\src\a.rs", None),
        ];
        for root in ["/mnt/d/Repo", "/d/Repo", "D:/Repo", r"D:\Repo", "/cygdrive/d/Repo"] {
            check(root, root, root, &spellings);
        }
    }
}
