//! docs/configuration.md lists each setting with its default, its range and the files that may contain it. The tables
//! of the page are generated from the parser's table (`THROUGHLINE_WRITE_DOCS=1`), and compared with the output of
//! `config`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use memory_store::settings_file::{Form, describe};

use super::common::Machine;

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md")
}

/// Formats a number for the page with commas, and in whole units for a size in bytes.
fn number(name: &str, number: u64) -> String {
    if name.contains("bytes") {
        for (unit, bits) in [("PiB", 50), ("GiB", 30), ("MiB", 20), ("KiB", 10)] {
            if number >= 1 << bits && number.is_multiple_of(1 << bits) {
                return format!("{} {unit}", number >> bits);
            }
        }
    }
    let digits = number.to_string();
    let mut written = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// Formats the range of a setting, which is appended to its meaning.
fn range(name: &str, form: &Form) -> String {
    match form {
        Form::Whole { least, most: Some(most) } => {
            format!("; {} to {}", number(name, *least), number(name, *most))
        }
        Form::Number { least, most } => {
            format!("; {} to {}", number(name, *least as u64), number(name, *most as u64))
        }
        Form::Map { value, .. } => range(name, value),
        _ => String::new(),
    }
}

/// Adds a link to the page that a meaning names.
fn linked(meaning: &str) -> String {
    match meaning.rsplit_once("docs/").and_then(|(_, page)| page.strip_suffix(".md")) {
        Some(name) => meaning.replace(&format!("docs/{name}.md"), &format!("[{name}]({name}.md)")),
        None => meaning.to_owned(),
    }
}

/// Returns the tables of the page, each with its heading; the first table has none.
fn tables() -> Vec<(String, String)> {
    let mut main = "| setting | default | may set it | meaning |\n|--|--|--|--|\n".to_owned();
    let mut tables = Vec::new();
    for setting in describe() {
        let default = setting.default.map_or("not set".to_owned(), |value| format!("`{value}`"));
        let setter = if setting.in_repository { "repository" } else { "user" };
        let (name, form) = (setting.name, &setting.form);
        let (meaning, range) = (linked(setting.meaning), range(name, form));
        writeln!(main, "| `{name}` | {default} | {setter} | {meaning}{range} |").unwrap();
        let Form::Table(fields) = form else { continue };
        let mut table = "| key | default | meaning |\n|--|--|--|\n".to_owned();
        for field in fields {
            let default = match field.default {
                Some(value) => format!(" `{value}` "),
                None if field.is_required => " ".to_owned(),
                None => " not set ".to_owned(),
            };
            let (name, range) = (field.name, self::range(field.name, &field.form));
            writeln!(table, "| `{name}` |{default}| {}{range} |", field.meaning).unwrap();
        }
        tables.push((format!("## `[{name}]`\n"), table));
    }
    tables.insert(0, (String::new(), main));
    tables
}

/// Replaces the first table after a heading of the page.
fn with_table(page: &str, heading: &str, table: &str) -> Option<String> {
    let (before, section) = page.split_at(page.find(heading)?);
    let start = before.len() + section.find("\n| ")? + 1;
    let end = page[start..].find("\n\n").map_or(page.len(), |end| start + end + 1);
    Some(format!("{}{table}{}", &page[..start], &page[end..]))
}

#[test]
fn the_page_lists_each_setting_as_the_table_does() {
    let before = fs::read_to_string(page()).unwrap();
    let mut expected = before.clone();
    for (heading, table) in tables() {
        expected = with_table(&expected, &heading, &table)
            .unwrap_or_else(|| panic!("no table behind {heading}"));
    }
    if std::env::var_os("THROUGHLINE_WRITE_DOCS").is_some() {
        fs::write(page(), &expected).unwrap();
    }
    assert_eq!(fs::read_to_string(page()).unwrap(), expected);
}

#[test]
fn the_meaning_of_a_setting_names_each_choice() {
    for setting in describe() {
        let Form::OneOf(texts) = &setting.form else { continue };
        for text in texts {
            let quoted = format!("`\"{text}\"`");
            assert!(setting.meaning.contains(&quoted), "{}: {quoted}", setting.name);
        }
    }
}

#[test]
fn config_prints_the_defaults_of_the_table() {
    let printed = Machine::new().ok(&["config"]);
    let lines: Vec<&str> = printed.lines().take_while(|line| !line.is_empty()).collect();
    let told = describe().into_iter().map(|setting| match setting.default {
        Some(value) => format!("{} = {value}", setting.name),
        None => format!("# {} is not set", setting.name),
    });
    let told: Vec<String> = told.map(|setting| format!("{setting:<40} # default")).collect();
    assert_eq!(lines, told);
}
