//! Options of redaction, for files that only this user reads and for committed ones.

use memory_store_base::settings::{RedactSettings, Settings};

use crate::known::Known;
use crate::known::deny::{DenyPatterns, PatternError};
use crate::known::names::Names;
use crate::personal::{Class, Personal, Policy};

/// Options of redaction.
#[derive(Clone, Debug, Default)]
pub struct RedactOptions {
    /// Values that a person declared harmless, such as the password of a local test database.
    pub harmless: Vec<String>,
    /// Regular expressions for text that a person does not want to be stored.
    pub deny: DenyPatterns,
    /// Policies for personal data.
    pub personal: Personal,
    /// Names of people to hide.
    pub names: Names,
    /// Secrets that were recognised elsewhere.
    pub known: Known,
}

/// Reason why redaction settings are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A pattern in `deny` is invalid.
    #[error("deny: {0}")]
    Pattern(#[from] PatternError),
    /// The class of personal data is unknown.
    #[error("`{0}` is no class; there are: {classes}", classes = Class::ALL.map(Class::name).join(", "))]
    Class(String),
    /// The policy is unknown.
    #[error("{class}: `{policy}` is no policy; there are: keep, mask, drop")]
    Policy {
        /// The class for which the policy is set.
        class: String,
        /// The policy in the settings.
        policy: String,
    },
}

impl RedactOptions {
    /// Returns the options for a store. The settings were checked when their file was read; if they are invalid
    /// nevertheless, the defaults are used.
    pub fn for_store(settings: &Settings, is_committed: bool) -> Self {
        let personal = if is_committed { Personal::COMMITTED } else { Personal::PRIVATE };
        Self::of(&settings.redact, is_committed).unwrap_or(Self { personal, ..Self::default() })
    }

    /// Returns the options for committed files, or for files that only this user reads.
    ///
    /// # Errors
    /// If a pattern, a class or a policy is invalid.
    pub fn of(settings: &RedactSettings, is_committed: bool) -> Result<Self, OptionsError> {
        let (mut personal, policies) = match is_committed {
            true => (Personal::COMMITTED, &settings.committed),
            false => (Personal::PRIVATE, &settings.private),
        };
        for (name, policy) in policies {
            let class = Class::from_name(name).ok_or_else(|| OptionsError::Class(name.clone()))?;
            let policy = Policy::from_name(policy).ok_or_else(|| OptionsError::Policy {
                class: name.clone(),
                policy: policy.clone(),
            })?;
            personal = personal.with(class, policy);
        }
        let deny = DenyPatterns::new(&settings.deny)?;
        let (harmless, names) = (settings.harmless.clone(), Names::default());
        Ok(Self { harmless, deny, personal, names, known: Known::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn policies(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(class, policy)| ((*class).to_owned(), (*policy).to_owned())).collect()
    }

    #[test]
    fn committed_files_are_held_to_more_and_settings_change_both() {
        let none = RedactSettings::default();
        let of = |options: Result<RedactOptions, OptionsError>, class| {
            options.unwrap().personal.of(class)
        };
        assert_eq!(of(RedactOptions::of(&none, false), Class::Email), Policy::Keep);
        assert_eq!(of(RedactOptions::of(&none, true), Class::Email), Policy::Mask);
        let some = RedactSettings {
            private: policies(&[("email", "drop")]),
            committed: policies(&[("ip", "keep")]),
            ..RedactSettings::default()
        };
        assert_eq!(of(RedactOptions::of(&some, false), Class::Email), Policy::Drop);
        assert_eq!(of(RedactOptions::of(&some, true), Class::Ip), Policy::Keep);
    }

    #[test]
    fn an_unknown_class_or_policy_is_reported() {
        let told = |pairs: &[(&str, &str)]| {
            let settings = RedactSettings { private: policies(pairs), ..RedactSettings::default() };
            RedactOptions::of(&settings, false).unwrap_err().to_string()
        };
        assert!(
            told(&[("mail", "mask")]).starts_with("`mail` is no class; there are: email, phone")
        );
        assert_eq!(
            told(&[("email", "hide")]),
            "email: `hide` is no policy; there are: keep, mask, drop"
        );
    }
}
