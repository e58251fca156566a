//! Packages of Cargo.

use std::path::{Path, PathBuf};

use memory_store::layout::STORE_DIR;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::{IgnoreLine, Maker, is_ignored, read};
use crate::exit;
use crate::failure::{Failure, Result};

/// The pattern of `exclude`, which begins at the package's root.
fn pattern() -> String {
    format!("/{STORE_DIR}/")
}

/// Returns the line that a package lacks.
pub fn lacking(root: &Path) -> Option<IgnoreLine> {
    let file = PathBuf::from("Cargo.toml");
    let document: DocumentMut = read(&root.join(&file))?.parse().ok()?;
    let package = document.get("package")?.as_table_like()?;
    let is_kept = match package.get("publish") {
        Some(publish) => {
            publish.as_bool() == Some(false) || publish.as_array().is_some_and(Array::is_empty)
        }
        None => false,
    };
    // With `include` nothing else comes in.
    if is_kept || package.get("include").is_some() {
        return None;
    }
    if let Some(exclude) = package.get("exclude") {
        // Something else is the workspace's.
        let mut excluded = exclude.as_array()?.iter().filter_map(Value::as_str);
        if excluded.any(is_ignored) {
            return None;
        }
    }
    Some(IgnoreLine { maker: Maker::Cargo, file, line: format!("exclude = [\"{}\"]", pattern()) })
}

/// Returns the manifest with the memory folder excluded; its formatting stays.
///
/// # Errors
/// When it is no manifest of a package.
pub fn with_exclude(path: &Path, text: &str) -> Result<String> {
    let invalid = |why: &str| {
        Failure::new(format!("{}: {why}", path.display()))
            .code(exit::INVALID)
            .hint("Correct the file and run the command again; it was left as it is.")
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| invalid(error.message()))?;
    let package = document.get_mut("package").and_then(Item::as_table_like_mut);
    let package = package.ok_or_else(|| invalid("there is no [package]"))?;
    let exclude = package.entry("exclude").or_insert(toml_edit::value(Array::new()));
    let exclude = exclude.as_array_mut().ok_or_else(|| invalid("`exclude` is no list"))?;
    let mut pattern = Value::from(pattern());
    // In a list with a line for each entry it gets a line, too.
    match broken(exclude) {
        Some(before) => {
            pattern.decor_mut().set_prefix(before);
            exclude.push_formatted(pattern);
        }
        None => exclude.push(pattern),
    }
    Ok(written(&document, text))
}

/// Returns a changed document with the line ends of the text that it was read from: toml_edit knows LF alone.
fn written(document: &DocumentMut, text: &str) -> String {
    let written = document.to_string();
    if text.contains("\r\n") { written.replace('\n', "\r\n") } else { written }
}

/// Returns the text before the last entry of a list, where that stands on a line of its own.
fn broken(list: &Array) -> Option<String> {
    let prefix = list.iter().last()?.decor().prefix()?.as_str()?;
    prefix.contains('\n').then(|| prefix.to_owned())
}

/// Returns the manifest without the pattern, as far as it can be read.
pub fn without_exclude(text: &str) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    let package = document.get_mut("package").and_then(Item::as_table_like_mut);
    let Some(package) = package else { return text.to_owned() };
    let Some(exclude) = package.get_mut("exclude").and_then(Item::as_array_mut) else {
        return text.to_owned();
    };
    let before = exclude.len();
    exclude.retain(|entry| entry.as_str() != Some(&*pattern()));
    if exclude.len() == before {
        return text.to_owned();
    }
    if exclude.is_empty() {
        package.remove("exclude");
    }
    written(&document, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_excluded_in_the_style_of_the_file_and_taken_in_again() {
        let package = "[package]\nname = \"a\" # mine\n";
        for (before, after) in [
            ("", "exclude = [\"/.throughline/\"]\n"),
            ("exclude = [\"a\"]\n", "exclude = [\"a\", \"/.throughline/\"]\n"),
            ("exclude = [\"a\", \"b\"]\n", "exclude = [\"a\", \"b\", \"/.throughline/\"]\n"),
            (
                "exclude = [\n    \"a\",\n    \"b\",\n]\n",
                "exclude = [\n    \"a\",\n    \"b\",\n    \"/.throughline/\",\n]\n",
            ),
            (
                "exclude = [\n    \"a\",\n]\n",
                "exclude = [\n    \"a\",\n    \"/.throughline/\",\n]\n",
            ),
        ] {
            for rest in ["", "\n[dependencies]\nserde = \"1\"\n"] {
                let (before, after) =
                    (format!("{package}{before}{rest}"), format!("{package}{after}{rest}"));
                assert_eq!(with_exclude(Path::new("Cargo.toml"), &before).unwrap(), after);
                assert_eq!(without_exclude(&after), before);
                assert_eq!(without_exclude(&before), before);
                let [before, after] = [before, after].map(|text| text.replace('\n', "\r\n"));
                assert_eq!(with_exclude(Path::new("Cargo.toml"), &before).unwrap(), after);
                assert_eq!(without_exclude(&after), before);
            }
        }
        for bad in ["[package]\nexclude = 1\n", "[workspace]\n", "no"] {
            let refused = with_exclude(Path::new("Cargo.toml"), bad).unwrap_err();
            assert_eq!(refused.code, exit::INVALID, "{bad}");
        }
    }
}
