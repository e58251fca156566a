//! docs/configuration.md tells each setting, its default and who may set it. It is compared with what `config` prints,
//! and with the table of settings in the source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::common::Machine;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the first table of the page: a setting to its default and to who may set it.
fn page() -> BTreeMap<String, (String, String)> {
    let text = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let table = text.split("\n## ").next().unwrap();
    let mut rows = BTreeMap::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, name, default, setter, meaning, _] = cells.as_slice() else { panic!("{row}") };
        assert!(!meaning.is_empty(), "{row}");
        let plain = |cell: &str| cell.trim_matches('`').to_owned();
        let told = (plain(default), (*setter).to_owned());
        assert!(rows.insert(plain(name), told).is_none(), "twice: {row}");
    }
    rows
}

/// Returns what `throughline config` prints without any settings file: a setting to its default.
fn defaults() -> BTreeMap<String, String> {
    let printed = Machine::new().ok(&["config"]);
    let mut defaults = BTreeMap::new();
    for line in printed.lines().take_while(|line| !line.is_empty()) {
        let (setting, origin) = line.rsplit_once(" # ").unwrap_or_else(|| panic!("{line}"));
        assert_eq!(origin, "default", "{line}");
        let setting = setting.trim();
        let (name, value) = match setting.strip_prefix("# ") {
            Some(unset) => {
                let name = unset.strip_suffix(" is not set").unwrap_or_else(|| panic!("{line}"));
                (name, "not set")
            }
            None => setting.split_once(" = ").unwrap_or_else(|| panic!("{line}")),
        };
        defaults.insert(name.to_owned(), value.to_owned());
    }
    defaults
}

/// Returns who may set each setting, as the source says it.
fn setters() -> BTreeMap<String, String> {
    let source = root().join("memory-store/src/settings_file.rs");
    let text = fs::read_to_string(source).unwrap();
    let (_, table) = text.split_once("static KEYS").unwrap();
    let (table, _) = table.split_once("\n];").unwrap();
    let mut setters = BTreeMap::new();
    for line in table.lines() {
        for setter in ["repository", "user"] {
            let call = line.trim().strip_prefix(setter).and_then(|rest| rest.strip_prefix("(\""));
            if let Some((name, _)) = call.and_then(|rest| rest.split_once('"')) {
                setters.insert(name.to_owned(), setter.to_owned());
            }
        }
    }
    setters
}

#[test]
fn the_page_tells_each_setting_its_default_and_who_may_set_it() {
    let page = page();
    let told = |of: fn(&(String, String)) -> &String| -> BTreeMap<String, String> {
        page.iter().map(|(name, row)| (name.clone(), of(row).clone())).collect()
    };
    assert_eq!(told(|(default, _)| default), defaults());
    assert_eq!(told(|(_, setter)| setter), setters());
}
