//! Contexts of secrets, read from `data/contexts.toml`: what stands around a secret, as rows of data.

use std::sync::LazyLock;

use serde::Deserialize;

use super::assignment::Form;
use super::gate;
use super::printed::Output;
use super::rule::Rule;

/// The file of contexts.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    /// Secrets that their place tells: pairs, options, dialogues, formats of files.
    pub rule: Vec<Rule>,
    /// Values beside a name.
    pub form: Vec<Form>,
    /// Sentences that give a credential, for the gate.
    pub suspect: Vec<gate::Row>,
    /// Commands and files that contain secrets.
    pub output: Output,
}

pub(crate) static CONTEXTS: LazyLock<Contexts> = LazyLock::new(|| {
    // Proved by the test `the_table_of_rules_is_sound`.
    toml::from_str(include_str!("../data/contexts.toml")).expect("the built-in contexts are valid")
});
