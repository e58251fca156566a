//! Registers the merge driver for memory files in a repository's own configuration, at a person's request. This is the
//! only write to a repository's `.git`; index and HEAD are unchanged.

use std::path::Path;

use super::{line, succeeds};

/// The setting with the driver's name, and the name that git prints in messages.
const NAME: (&str, &str) = ("merge.throughline.name", "memory files, key by key");
const DRIVER: &str = "merge.throughline.driver";

/// Returns the driver's command from the repository's own configuration; `None` if it is not registered.
pub fn registered(root: &Path) -> Option<String> {
    line(root, &["config", "--local", "--get", DRIVER])
}

/// Registers the driver with a command. Returns `false` if git fails.
pub fn register(root: &Path, command: &str) -> bool {
    succeeds(root, &["config", "--local", NAME.0, NAME.1])
        && succeeds(root, &["config", "--local", DRIVER, command])
}

/// Removes the driver. Git also removes the section if it is empty. Returns `false` if git fails.
pub fn unregister(root: &Path) -> bool {
    let is_set = |key: &str| line(root, &["config", "--local", "--get", key]).is_some();
    let unset =
        |key: &str| !is_set(key) || succeeds(root, &["config", "--local", "--unset-all", key]);
    unset(NAME.0) && unset(DRIVER)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::for_tests::git;

    #[test]
    fn the_configuration_comes_back_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        git(&root, &["init", "-q"]);
        let before = fs::read(root.join(".git/config")).unwrap();
        assert_eq!(registered(&root), None);
        assert!(register(&root, "'/a b/throughline' merge-driver %O %A %B"));
        assert!(register(&root, "'/a b/throughline' merge-driver %O %A %B"), "twice is once");
        assert_eq!(registered(&root).unwrap(), "'/a b/throughline' merge-driver %O %A %B");
        assert!(unregister(&root) && unregister(&root));
        assert_eq!(fs::read(root.join(".git/config")).unwrap(), before);
        let nowhere = tempfile::tempdir().unwrap();
        assert!(!register(nowhere.path(), "x"));
    }
}
