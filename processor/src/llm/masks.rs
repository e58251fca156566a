//! Masks hide parts of a text from another machine. In the answer, they are replaced by the original parts.
//!
//! A *mask* is a word that replaces a piece of personal data in one question: `EMAIL_1_9f3c`. Within a question, the
//! same piece always has the same mask, and the mask's ending occurs nowhere else. The original is kept in memory until
//! the answer has arrived. Then it is restored if the user's own files may contain it, and the usual redaction applies
//! before the answer is written anywhere. A secret is replaced by the usual placeholder instead of a mask, and is never
//! restored.

use memory_store::redact::{Class, Finding, NAME, Names, Policy, RedactOptions, Redactor};
use memory_store::settings::Settings;

/// Number of hexadecimal digits of a mask's ending.
const ENDING: usize = 4;

/// Settings for masking texts for another machine.
#[derive(Debug)]
pub struct Masks {
    /// Redactor for data that other machines must not receive.
    others: Redactor,
    /// Options for data that even the user's own files must not contain.
    own: RedactOptions,
}

/// A text as sent to another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked {
    /// The masked text.
    pub text: String,
    /// Common ending of the masks.
    ending: String,
    /// Pairs of a mask and the text that it replaces.
    masks: Vec<(String, String)>,
}

impl Masks {
    /// Creates masks from the settings. Other machines do not receive data that committed files must not contain.
    pub fn new(settings: &Settings) -> Self {
        let others = Redactor::new(&RedactOptions::for_store(settings, true));
        Self { others, own: RedactOptions::for_store(settings, false) }
    }

    /// Masks personal data and these names of people in a text.
    pub fn mask(&self, text: &str, names: Names) -> Masked {
        let mut others = self.others.clone();
        others.options.names = names;
        let ending = ending(text);
        let mut masked =
            Masked { text: String::with_capacity(text.len()), ending, masks: Vec::new() };
        let mut at = 0;
        for finding in others.findings(text) {
            masked.text.push_str(&text[at..finding.range.start]);
            let original = &text[finding.range.clone()];
            match self.kept(&finding) {
                Some(class) => masked.add(class, original),
                None => masked.text.push_str(&others.redact(original)),
            }
            at = finding.range.end;
        }
        masked.text.push_str(&text[at..]);
        // After one piece is hidden, another one may become recognisable, so the text is redacted again. Masks are not
        // recognised as personal data.
        masked.text = others.redact(&masked.text).into_owned();
        masked
    }

    /// Returns the class of a finding if the user's own files may contain it, else `None`.
    fn kept(&self, finding: &Finding) -> Option<&'static str> {
        let class = Class::from_name(finding.rule);
        let is_kept = class.is_some_and(|class| self.own.personal.of(class) == Policy::Keep);
        (is_kept || finding.rule == NAME).then_some(finding.rule)
    }
}

impl Masked {
    /// Returns the note that explains the masks to the model; empty if there are none.
    pub fn note(&self) -> String {
        match self.masks.first() {
            Some((mask, _)) => {
                format!("Words such as {mask} stand for names and addresses: copy them unchanged.")
            }
            None => String::new(),
        }
    }

    /// Restores the originals in an answer in JSON.
    pub fn restore(&self, answer: &str) -> String {
        let mut answer = answer.to_owned();
        for (mask, original) in &self.masks {
            if answer.contains(mask.as_str()) {
                let quoted = serde_json::Value::String(original.clone()).to_string();
                answer = answer.replace(mask, &quoted[1..quoted.len() - 1]);
            }
        }
        answer
    }

    /// Returns whether a text still contains a mask: one that the model changed or invented, and that therefore has no
    /// original.
    pub fn is_masked(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        self.masks.iter().any(|(mask, _)| {
            // A mask without its ending is recognised by its beginning, `EMAIL_1_`.
            let beginning = mask.len() - ENDING;
            text.contains(&self.ending) || text.contains(&mask[..beginning].to_ascii_lowercase())
        })
    }

    fn add(&mut self, class: &str, original: &str) {
        let known = self.masks.iter().find(|(_, known)| known == original);
        let mask = known.map(|(mask, _)| mask.clone()).unwrap_or_else(|| {
            let class = class.to_ascii_uppercase().replace('-', "_");
            let mask = format!("{class}_{}{}", self.masks.len() + 1, self.ending);
            self.masks.push((mask.clone(), original.to_owned()));
            mask
        });
        self.text.push_str(&mask);
    }
}

/// Returns an ending for masks that does not occur in a text. The same text always has the same ending.
fn ending(text: &str) -> String {
    let mut hash = blake3::hash(text.as_bytes());
    loop {
        let ending = format!("_{}", &hash.to_hex()[..ENDING]);
        if !text.to_ascii_lowercase().contains(&ending) {
            return ending;
        }
        hash = blake3::hash(hash.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use memory_store::settings::RedactSettings;

    use super::*;

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn masks(private: &[(&str, &str)]) -> Masks {
        let pairs = private.iter().map(|(class, policy)| ((*class).into(), (*policy).into()));
        let redact = RedactSettings {
            private: pairs.collect::<BTreeMap<_, _>>(),
            deny: vec!["zephyr".into()],
            ..RedactSettings::default()
        };
        Masks::new(&Settings { redact, ..Settings::default() })
    }

    #[test]
    fn personal_data_goes_out_masked_and_comes_back() {
        let text = "Mail ann@shop.org, then bob@shop.org, then ann@shop.org again.";
        let masked = masks(&[]).mask(text, Names::default());
        assert!(!masked.text.contains("shop.org"), "{}", masked.text);
        assert_eq!(masked.masks.len(), 2, "{masked:?}");
        assert_eq!(masked.text.matches(&masked.masks[0].0).count(), 2);
        assert!(masked.note().contains(&masked.masks[0].0));
        assert_eq!(masked.restore(&masked.text), text);
        assert!(masked.is_masked(&masked.text) && !masked.is_masked(text));
        // A mask that was not in the question is returned unchanged.
        let invented = format!("EMAIL_9{}", masked.ending);
        assert_eq!(masked.restore(&invented), invented);
        assert!(masked.is_masked(&invented.to_uppercase()));
        assert_ne!(
            masks(&[]).mask("Mail ann@shop.org.", Names::default()).masks[0],
            masked.masks[0]
        );
    }

    #[test]
    fn secrets_and_what_own_files_may_not_hold_never_come_back() {
        let text = format!("token {TOKEN}, zephyr, ann@shop.org");
        let masked = masks(&[("email", "mask")]).mask(&text, Names::default());
        assert_eq!(masked.masks, []);
        for hidden in [TOKEN, "zephyr", "ann@shop.org"] {
            assert!(!masked.text.contains(hidden), "{}", masked.text);
        }
        assert!(masked.text.contains("[redacted:denied]"), "{}", masked.text);
        assert_eq!(masked.restore(&masked.text), masked.text);
        assert_eq!(masked.note(), "");
    }

    #[test]
    fn names_that_are_known_are_masked_as_whole_words() {
        let text = "Ann Lee said so; Lee agreed, Annapolis did not.";
        let names = Names::new(vec!["Lee".into(), "Ann".into(), "Ann Lee".into()]);
        let masked = masks(&[]).mask(text, names);
        let ending = &masked.ending;
        let expected = format!("NAME_1{ending} said so; NAME_2{ending} agreed, Annapolis did not.");
        assert_eq!(masked.text, expected);
        assert_eq!(masked.restore(&masked.text), text);
    }

    #[test]
    fn an_ending_that_the_text_has_is_not_taken() {
        let text = "Mail ann@shop.org";
        let first = ending(text);
        let hash = blake3::hash(text.as_bytes());
        assert_eq!(first, format!("_{}", &hash.to_hex()[..ENDING]));
        for text in [format!("{text} {first}"), format!("{text} X{}", first.to_uppercase())] {
            assert!(!text.to_lowercase().contains(&ending(&text)));
        }
    }

    #[test]
    fn what_comes_back_stays_json() {
        let masked = Masked {
            text: String::new(),
            ending: "_ab12".into(),
            masks: vec![("EMAIL_1_ab12".into(), "\"a\\b\"@shop.org".into())],
        };
        let restored = masked.restore(r#"{"title":"Mail EMAIL_1_ab12"}"#);
        let json: serde_json::Value = serde_json::from_str(&restored).unwrap();
        assert_eq!(json["title"], "Mail \"a\\b\"@shop.org");
    }
}
