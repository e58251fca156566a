//! Findings: places of secrets in a text, the names of rules, and placeholders.

use std::ops::Range;

use memchr::memmem;

/// Prefix of a redaction placeholder.
pub const PLACEHOLDER_OPEN: &str = "[redacted:";

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule, used in the placeholder.
    pub rule: &'static str,
    /// Range in bytes.
    pub range: Range<usize>,
}

/// Rule name of a password that is recognised by its position.
pub(crate) const LOGIN: &str = "login";

/// Rule name of a user name that is hidden because it belongs to a password.
pub(crate) const ACCOUNT: &str = "account";

/// Rules whose secrets are used together with a user name or an id.
pub(crate) const WITH_LOGIN: [&str; 6] = [
    "azure-storage-key",
    ASSIGNMENT,
    "auth0-secret",
    "google-oauth",
    "aws-secret-key",
    "azure-client-secret",
];

/// Names of rules that are implemented in code, not listed as patterns.
pub(crate) const PRIVATE_KEY: &str = "private-key";
pub(crate) const ENCODED_KEY: &str = "private-key-in-base64";
pub(crate) const PRIVATE_TEXT: &str = "private";
pub(crate) const ASSIGNMENT: &str = "assignment";
pub(crate) const COOKIE: &str = "session-cookie";
pub(crate) const ENCODED: &str = "encoded-secret";

/// Rule name of a secret that was recognised elsewhere.
pub(crate) const KNOWN: &str = "known-secret";
/// Rule name of matches of a user's own patterns.
pub(crate) const DENIED: &str = "denied";

/// Rule name of hidden names of people.
pub const NAME: &str = "name";

/// Merges overlapping findings. `found` is sorted by specificity; the most specific finding determines the rule's name.
pub(crate) fn united(found: Vec<Finding>) -> Vec<Finding> {
    let mut ranked: Vec<(usize, Finding)> = found.into_iter().enumerate().collect();
    ranked.sort_by_key(|(rank, finding)| (finding.range.start, *rank));
    let mut kept: Vec<(usize, Finding)> = Vec::new();
    for (rank, finding) in ranked {
        match kept.last_mut() {
            Some((known, last)) if overlap(&last.range, &finding.range) => {
                last.range.end = last.range.end.max(finding.range.end);
                if rank < *known {
                    (*known, last.rule) = (rank, finding.rule);
                }
            }
            Some(_) | None => kept.push((rank, finding)),
        }
    }
    kept.into_iter().map(|(_, finding)| finding).collect()
}

/// Returns whether a range overlaps with one of the `ordered` ranges.
pub(crate) fn touches(ordered: &[Range<usize>], range: &Range<usize>) -> bool {
    let first = ordered.partition_point(|known| known.end <= range.start);
    ordered.get(first).is_some_and(|known| overlap(known, range))
}

pub(crate) fn overlap(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start < right.end && right.start < left.end
}

/// Returns the ranges of the placeholders in a text, in bytes.
pub(crate) fn placeholders(text: &str) -> Vec<Range<usize>> {
    memmem::find_iter(text.as_bytes(), PLACEHOLDER_OPEN)
        .filter_map(|start| {
            let name = &text.as_bytes()[start + PLACEHOLDER_OPEN.len()..];
            let length =
                name.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
            (name.get(length) == Some(&b']'))
                .then_some(start..start + PLACEHOLDER_OPEN.len() + length + 1)
        })
        .collect()
}

/// Returns the placeholder for a rule's finding.
pub(crate) fn placeholder(rule: &str) -> String {
    format!("{PLACEHOLDER_OPEN}{rule}]")
}
