//! Contexts of secrets as data: the tables in `data/contexts.toml`. Each table is read by one module.

use std::sync::{LazyLock, Mutex, PoisonError};

use serde::de::DeserializeOwned;

static TABLES: LazyLock<Mutex<toml::Table>> = LazyLock::new(|| {
    // The tests of the modules that read the tables verify this.
    let tables = include_str!("../../data/contexts.toml").parse();
    Mutex::new(tables.expect("the built-in contexts are valid"))
});

/// Removes the rows of a table from the parsed file and returns them. Each table is read once.
pub(crate) fn of<T: DeserializeOwned>(table: &str) -> T {
    let rows = TABLES.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    let rows = rows.unwrap_or_else(|| toml::Value::Array(Vec::new())).try_into();
    rows.expect("the built-in contexts are valid")
}
