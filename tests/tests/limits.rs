//! docs/limits.md must list all limits. The test compares it with the source: it detects values that differ, constants
//! that were removed, and limits in bytes that are missing on the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A constant, as its file and its name.
type Place = (String, String);

/// Source files whose constants are not listed, since they only apply to pieces of text that other limits bound
/// already.
const WITHIN: [&str; 10] = [
    "memory-store/recall/src/embed/",
    "memory-store/src/keywords.rs",
    "memory-store/recall/src/query/mod.rs",
    "memory-store/redact/src/",
    "memory-store/recall/src/signature/",
    "memory-store/recall/src/suspicion/decode.rs",
    "memory-store/recall/src/suspicion/mod.rs",
    "memory-store/recall/src/suspicion/rules.rs",
    "memory-store/base/src/text/",
    "processor/src/extract/",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the rows of the page: each constant, and its value with the unit.
fn documented_limits() -> BTreeMap<Place, String> {
    let page = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let mut told = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, file, name, value, beyond, _] = cells.as_slice() else { panic!("{row}") };
        assert!(!beyond.is_empty(), "{row}");
        let place = (file.trim_matches('`').to_owned(), name.trim_matches('`').to_owned());
        assert!(told.insert(place, (*value).to_owned()).is_none(), "twice: {row}");
    }
    told
}

/// Parses a value such as `16 KiB`, `20 min` or `64 files` into bytes, milliseconds or a count.
fn meant(value: &str) -> u64 {
    let (number, unit) = value.split_once(' ').unwrap_or_else(|| panic!("no unit: {value}"));
    let number: u64 = number.replace(',', "").parse().unwrap_or_else(|_| panic!("{value}"));
    number
        * match unit {
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "s" => 1000,
            "min" => 60_000,
            _ => 1,
        }
}

/// Returns the constants at the top level of a file, with their expressions.
fn constants(text: &str) -> BTreeMap<&str, &str> {
    let constant = |line| {
        let line: &str = line;
        let rest = line.strip_prefix("pub(super) ").unwrap_or(line);
        let rest = rest.strip_prefix("pub(crate) ").unwrap_or(rest);
        let rest = rest.strip_prefix("pub ").unwrap_or(rest).strip_prefix("const ")?;
        let (name, rest) = rest.split_once(": ")?;
        let (_, value) = rest.split_once(" = ")?;
        Some((name, value.strip_suffix(';')?))
    };
    text.lines().filter_map(constant).collect()
}

/// Evaluates an expression of numbers, `<<`, `*`, and constructors of durations, which result in milliseconds.
fn worth(value: &str) -> u64 {
    // The factor, which makes timeouts longer in builds for valgrind, is removed.
    let value = value.replace(" * PATIENCE as u64", "").replace("PATIENCE as u64", "1");
    // These constants are in other files, and have their own rows.
    let value = value.replace("FRONT_BYTES_MAX", "65_536").replace("SESSIONS_MAX", "20");
    if let Some(inner) =
        value.strip_suffix(')').and_then(|v| v.strip_prefix("Duration::from_secs("))
    {
        return 1000 * worth(inner);
    }
    if let Some(inner) =
        value.strip_suffix(')').and_then(|v| v.strip_prefix("Duration::from_millis("))
    {
        return worth(inner);
    }
    if let Some((number, bits)) = value.split_once(" << ") {
        return worth(number) << worth(bits);
    }
    if let Some((one, other)) = value.split_once(" * ") {
        return worth(one) * worth(other);
    }
    value.replace('_', "").parse().unwrap_or_else(|_| panic!("not understood: {value}"))
}

#[test]
fn every_limit_has_its_documented_value() {
    for ((file, name), value) in documented_limits() {
        let text = fs::read_to_string(root().join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let constants = constants(&text);
        let source = constants.get(name.as_str()).unwrap_or_else(|| panic!("{file} has no {name}"));
        assert_eq!(worth(source), meant(&value), "{file} {name} = {source}; the page says {value}");
    }
}

#[test]
fn every_bound_in_bytes_is_on_the_page() {
    let told: BTreeSet<Place> = documented_limits().into_keys().collect();
    let mut missing = Vec::new();
    let mut folders: Vec<PathBuf> = [
        "hooks",
        "processor",
        "mcp",
        "cli",
        "memory-store",
        "memory-store/base",
        "memory-store/recall",
        "memory-store/redact",
    ]
    .map(|part| root().join(part).join("src"))
    .into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            if WITHIN.iter().any(|within| file.starts_with(within)) || !file.ends_with(".rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let bounds = constants(&text).into_keys().filter(|name| name.ends_with("BYTES_MAX"));
            missing.extend(
                bounds
                    .map(|name| (file.clone(), name.to_owned()))
                    .filter(|place| !told.contains(place)),
            );
        }
    }
    assert!(missing.is_empty(), "docs/limits.md lacks {missing:?}");
}
