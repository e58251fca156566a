//! Contexts of secrets as data: the tables of `data/contexts.toml`, each of which is read by one module.

use std::sync::{LazyLock, Mutex, PoisonError};

use serde::de::DeserializeOwned;

static TABLES: LazyLock<Mutex<toml::Table>> = LazyLock::new(|| {
    // Verified by the tests of the modules that read them.
    let tables = include_str!("../../data/contexts.toml").parse();
    Mutex::new(tables.expect("the built-in contexts are valid"))
});

/// Takes the rows of a table out of the file. Each table is read once.
pub(crate) fn of<T: DeserializeOwned>(table: &str) -> T {
    let rows = TABLES.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    let rows = rows.unwrap_or_else(|| toml::Value::Array(Vec::new())).try_into();
    rows.expect("the built-in contexts are valid")
}
