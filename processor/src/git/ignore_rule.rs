//! Finds the rule by which git ignores the memory folder. Ignored memories cannot be committed, so they reach no other
//! person.

use std::path::Path;

use memory_store::layout::STORE_DIR;

use super::{answer_to, command};

/// A rule by which git ignores memory files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreRule {
    /// The file that contains the rule, and the line number.
    pub place: String,
    /// The pattern of the rule.
    pub pattern: String,
    /// A line for the repository's `.gitignore` that cancels the rule.
    pub remedy: String,
}

impl IgnoreRule {
    /// Describes the effect of the rule and its remedy.
    pub fn description(&self) -> String {
        let Self { place, pattern, remedy } = self;
        format!(
            "git ignores it by the rule `{pattern}` in {place}, so that nobody else gets these memories: the line \
             `{remedy}` at the end of .gitignore lifts that"
        )
    }
}

/// Returns the rule by which git ignores new memory files of a working tree. Returns `None` if they are not ignored, or
/// if there is no repository. If the folder does not exist, git cannot match rules that apply only to folders, so a
/// different rule may be returned.
pub fn of_memories(root: &Path) -> Option<IgnoreRule> {
    let memories = format!("{STORE_DIR}/memories");
    let file = format!("{memories}/a-memory.md");
    let of_file = matching(root, &file)?;
    // A rule about a folder must be cancelled for the folder: git does not examine the files in an ignored folder.
    let folders = [(STORE_DIR, format!("!{STORE_DIR}/")), (&memories, format!("!{memories}/"))];
    let of_folder = folders
        .into_iter()
        .find_map(|(path, remedy)| matching(root, path).map(|rule| (rule, remedy)));
    let ((place, pattern), remedy) = of_folder.unwrap_or((of_file, format!("!{memories}/*")));
    Some(IgnoreRule { place, pattern, remedy })
}

/// Returns the file, the line and the pattern of the rule that excludes a path; `None` if the path is not excluded.
fn matching(root: &Path, path: &str) -> Option<(String, String)> {
    let mut git = command(root);
    git.args(["check-ignore", "-v", "-z", "--stdin"]);
    let (status, text) = answer_to(&mut git, path.as_bytes().to_vec())?;
    let text = String::from_utf8_lossy(&text);
    let [file, line, pattern, ..] = text.split('\0').collect::<Vec<_>>()[..] else { return None };
    let is_excluded = status.success() && !pattern.is_empty() && !pattern.starts_with('!');
    is_excluded.then(|| (format!("{file}:{line}"), pattern.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::for_tests::git;

    #[test]
    fn each_rule_is_named_with_the_line_that_lifts_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(of_memories(&root), None);
        git(&root, &["init", "-q"]);
        fs::create_dir_all(root.join(".throughline/memories")).unwrap();
        assert_eq!(of_memories(&root), None);
        for pattern in
            [".*", ".throughline", "/.throughline/", "memories/", "*.md", ".throughline/**"]
        {
            fs::write(root.join(".gitignore"), format!("target\n{pattern}\n")).unwrap();
            let rule = of_memories(&root).unwrap();
            assert_eq!((&*rule.place, &*rule.pattern), (".gitignore:2", pattern));
            let mut text = format!("target\n{pattern}\n");
            // Several levels may each be matched by the rule.
            for _ in 0..3 {
                let Some(rule) = of_memories(&root) else { break };
                text += &format!("{}\n", rule.remedy);
                fs::write(root.join(".gitignore"), &text).unwrap();
            }
            assert_eq!(of_memories(&root), None, "{text}");
        }
    }
}
