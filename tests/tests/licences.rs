//! Tests of the dependencies and their licences.

use std::fs;

use journeys::metadata;

/// The only package whose licence is not permissive; NOTICE describes the consequences.
const COPYLEFT: &str = "keyword_extraction";

/// Licences that only require their text to be kept.
const PERMISSIVE: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

#[test]
fn notice_lists_what_we_are_built_from() {
    let notice = fs::read_to_string(metadata::root().join("NOTICE")).unwrap();
    let missing: Vec<_> = metadata::licences()
        .unwrap()
        .iter()
        .map(|(name, licence)| format!("{name}: {licence}"))
        .filter(|line| !notice.lines().any(|listed| listed.trim() == line))
        .collect();
    assert!(missing.is_empty(), "run scripts/licences; NOTICE lacks {missing:#?}");
}

#[test]
fn all_terms_but_one_are_permissive() {
    let strict: Vec<_> = metadata::licences()
        .unwrap()
        .into_iter()
        .filter(|(name, licence)| name != COPYLEFT && !is_permissive(licence))
        .collect();
    assert!(strict.is_empty(), "{strict:?}");
}

/// Returns whether one alternative of an expression such as `MIT OR (Apache-2.0 AND ISC)` is permissive.
fn is_permissive(expression: &str) -> bool {
    let mut alternatives = expression.split(" OR ").flat_map(|part| part.split('/'));
    alternatives.any(|alternative| {
        let mut terms = alternative.split(" AND ");
        terms.all(|term| {
            let term =
                term.trim_matches(['(', ')', ' ']).split(" WITH ").next().unwrap_or_default();
            PERMISSIVE.contains(&term)
        })
    })
}
