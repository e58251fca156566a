//! The notice about newly known secrets, and how background work handled them. The hook of the next session start
//! announces it once.

use serde::{Deserialize, Serialize};

use crate::fs::open_regular::read_short;
use crate::layout::TreeDir;
use crate::time::Timestamp;

/// Numbers of redacted files and of pending decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretNotice {
    /// Time at which the processor learned the secrets.
    pub at: Timestamp,
    /// Number of private files written by the program that were redacted.
    pub cleaned: usize,
    /// Number of the user's memories that contain a secret and stay unchanged until the user decides.
    pub proposed: usize,
}

impl SecretNotice {
    /// Reads the notice that a hook has just marked as announced; `None` if it is missing or damaged.
    pub fn announced(state: &TreeDir) -> Option<Self> {
        serde_json::from_str(&read_short(&state.secret_notice_told)?).ok()
    }

    /// Returns a sentence about the results and the next step; `None` if nothing was changed.
    pub fn message(&self) -> Option<String> {
        let files = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let cleaned = (self.cleaned > 0).then(|| {
            let files = files(self.cleaned, "private file", "private files");
            format!("it was taken out of {files} of this project")
        });
        let proposed = (self.proposed > 0).then(|| {
            let files =
                files(self.proposed, "memory of yours contains", "memories of yours contain");
            format!("{files} it and stay as written until `throughline review` shows the change")
        });
        let done: Vec<String> = cleaned.into_iter().chain(proposed).collect();
        (!done.is_empty()).then(|| {
            format!(
                "a secret became known: {}. If it is none, add it to `harmless` below `[redact]` in your config.toml",
                done.join("; ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_names_what_to_do() {
        let told =
            |cleaned, proposed| SecretNotice { cleaned, proposed, ..Default::default() }.message();
        assert_eq!(told(0, 0), None);
        let both = told(3, 1).unwrap();
        assert!(both.contains("3 private files") && both.contains("1 memory of yours"), "{both}");
        assert!(both.contains("throughline review") && both.contains("`harmless`"), "{both}");
        assert!(!told(1, 0).unwrap().contains("review"));
    }
}
