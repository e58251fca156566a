//! The version of git. An older version lacks options that prevent it from running programs that a repository names.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use super::{command, output_of};

/// Major and minor version number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GitVersion(u32, u32);

impl GitVersion {
    /// The oldest version whose answers are used. It supports settings in environment variables that override a
    /// repository's settings (`GIT_CONFIG_COUNT`).
    const LEAST: Self = Self(2, 31);

    fn parse(said: &str) -> Option<Self> {
        let mut numbers = said.strip_prefix("git version ")?.split('.');
        let mut next = || numbers.next()?.trim().parse().ok();
        Some(Self(next()?, next()?))
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

/// Returns the version of the user's git, which is queried only once; `None` if git cannot be run.
fn found() -> Option<GitVersion> {
    static FOUND: OnceLock<Option<GitVersion>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let said = output_of(command(Path::new("/")).arg("version"))?;
        GitVersion::parse(str::from_utf8(&said).ok()?)
    })
}

/// Returns whether git can be prevented from using a repository's own configuration.
pub(super) fn is_enough() -> bool {
    found() >= Some(GitVersion::LEAST)
}

/// Checks git and returns its version.
///
/// # Errors
/// A message for a person, if git cannot be run or is too old.
pub fn check() -> Result<String, String> {
    let least = GitVersion::LEAST;
    match found() {
        Some(version) if version >= least => Ok(format!("git {version}")),
        Some(version) => Err(format!("git {version} is too old: {least} or later is needed")),
        None => Err("git cannot be run, or does not say its version".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = |said: &str| GitVersion::parse(&format!("git version {said}"));
        assert_eq!(version("2.47.3\n"), Some(GitVersion(2, 47)));
        assert_eq!(version("2.50.1 (Apple Git-155)"), Some(GitVersion(2, 50)));
        assert_eq!(version("3.0.rc1"), Some(GitVersion(3, 0)));
        assert!(
            version("2.9.5") < Some(GitVersion::LEAST)
                && version("2.31.0") >= Some(GitVersion::LEAST)
        );
        assert_eq!(["", "unknown", "2"].map(version), [None; 3]);
    }
}
