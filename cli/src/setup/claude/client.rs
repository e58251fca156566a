//! The installed Claude Code client, whose version determines which events can be registered.

use std::path::{Path, PathBuf};
use std::time::Duration;

use processor::programs;

use crate::answer;
use crate::world::World;

/// Time limit for reading the client's version.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// A version of Claude Code: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaudeCodeVersion(pub u32, pub u32, pub u32);

impl std::fmt::Display for ClaudeCodeVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl ClaudeCodeVersion {
    /// Parses the output of `claude --version`, such as `2.1.330 (Claude Code)`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split_whitespace().next()?.split('.').map(|part| {
            let digits = part.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            digits.parse().ok()
        });
        Some(Self(parts.next()??, parts.next()??, parts.next()??))
    }
}

/// Returns the client found in `PATH`.
pub fn find(world: &World) -> Option<PathBuf> {
    programs::find(world.path.as_deref(), "claude")
}

/// Runs the client to determine its version. Returns `None` if the run exceeds the time limit or the output is invalid.
pub fn version(client: &Path) -> Option<ClaudeCodeVersion> {
    ClaudeCodeVersion::parse(&answer::version(client, ANSWER_MAX)?)
}

#[cfg(test)]
mod tests {
    use super::ClaudeCodeVersion;

    #[test]
    fn versions_are_read_and_compared() {
        assert_eq!(
            ClaudeCodeVersion::parse("2.1.330 (Claude Code)\n"),
            Some(ClaudeCodeVersion(2, 1, 330))
        );
        assert_eq!(ClaudeCodeVersion::parse("2.1.4-beta"), Some(ClaudeCodeVersion(2, 1, 4)));
        assert_eq!(ClaudeCodeVersion::parse("claude: not found"), None);
        assert_eq!(ClaudeCodeVersion::parse("2.1"), None);
        assert!(ClaudeCodeVersion(2, 1, 9) < ClaudeCodeVersion(2, 1, 139));
    }
}
