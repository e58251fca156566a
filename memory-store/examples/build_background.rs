//! Builds `assets/background.bin`: how rare terms are in technical text at large.
//!
//! Reads the output of `cargo metadata` on stdin and writes the table to the file that its one
//! argument names. The text is the documentation of the packages in `Cargo.lock` that have a
//! permissive licence: doc comments, each a document, and the paragraphs of READMEs. Only hashes of
//! terms and their rarity go into the table.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};

use memory_store::recall::background_table;
use memory_store::text::{each_term, term_hash};

/// Terms that the table keeps: the most common ones. The others count as rare.
const TERMS_MAX: usize = 12_000;
/// Documents that a term must occur in.
const DOCS_MIN: u32 = 4;
/// Documents taken from one package, so that no package decides.
const PACKAGE_DOCS_MAX: usize = 400;
/// Characters that make a comment a document.
const DOC_CHARS_MIN: usize = 80;
/// Licences of which one must be on offer.
const PERMISSIVE: [&str; 8] =
    ["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "0BSD"];

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args_os().nth(1).ok_or("usage: build_background TARGET < METADATA")?;
    let mut metadata = String::new();
    std::io::stdin().read_to_string(&mut metadata)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    let mut docs = 0;
    for root in packages(&metadata) {
        for document in documents(&root)? {
            docs += 1;
            let mut terms = Vec::new();
            each_term(&document, &mut |term, _| terms.push(term_hash(term)));
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                *counts.entry(term).or_default() += 1;
            }
        }
    }
    let mut counts: Vec<(u64, u32)> =
        counts.into_iter().filter(|&(_, count)| count >= DOCS_MIN).collect();
    counts.sort_by_key(|&(hash, count)| (std::cmp::Reverse(count), hash));
    counts.truncate(TERMS_MAX);
    eprintln!("{docs} documents, {} terms", counts.len());
    std::fs::write(target, background_table(docs, &counts))?;
    Ok(())
}

/// The folders of the packages from the registry with a permissive licence, in a fixed order.
fn packages(metadata: &serde_json::Value) -> Vec<PathBuf> {
    let mut packages: Vec<(String, PathBuf)> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| !package["source"].is_null())
        .filter(|package| is_permissive(package["license"].as_str().unwrap_or_default()))
        .filter_map(|package| {
            let root = Path::new(package["manifest_path"].as_str()?).parent()?.to_owned();
            Some((package["id"].as_str()?.to_owned(), root))
        })
        .collect();
    packages.sort();
    packages.into_iter().map(|(_, root)| root).collect()
}

fn is_permissive(licence: &str) -> bool {
    licence
        .split(" OR ")
        .flat_map(|part| part.split('/'))
        .any(|part| PERMISSIVE.contains(&part.trim_matches(['(', ')', ' '])))
}

/// The documents of a package, spread over its files.
fn documents(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = walkdir::WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".rs") || name.eq_ignore_ascii_case("readme.md")
        })
        .collect();
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file)?).into_owned();
        if file.extension().is_some_and(|extension| extension == "rs") {
            found.extend(comments(&text));
        } else {
            found.extend(text.split("\n\n").map(str::to_owned));
        }
    }
    found.retain(|document| document.chars().count() >= DOC_CHARS_MIN);
    let step = found.len().div_ceil(PACKAGE_DOCS_MAX).max(1);
    Ok(found.into_iter().step_by(step).collect())
}

/// The doc comments of a source file, each run of lines one document.
fn comments(source: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in source.lines() {
        let line = line.trim_start();
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(text) => {
                if let Some(last) = found.last_mut() {
                    last.push_str(text.trim());
                    last.push('\n');
                }
            }
            None if found.last().is_some_and(|last| !last.is_empty()) => found.push(String::new()),
            None => {}
        }
    }
    found
}
