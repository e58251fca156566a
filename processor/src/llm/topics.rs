//! Topics of a project's memories. Questions about windows contain them, so that answers can use existing topics.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Topics of two levels, with the number of memories of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topics(BTreeMap<String, usize>);

impl Topics {
    /// Adds one memory to the count of a topic.
    pub fn add(&mut self, topic: &str) {
        *self.0.entry(topic.to_owned()).or_default() += 1;
    }

    /// Returns the topics as a text of at most `chars_max` characters, without incomplete topics. Topics with most
    /// memories are first. Topics for which `may_be_shown` returns false are omitted.
    pub fn text_within(&self, chars_max: usize, may_be_shown: &dyn Fn(&str) -> bool) -> String {
        let mut topics: Vec<(&String, &usize)> = self.0.iter().collect();
        topics.sort_by_key(|(topic, count)| (Reverse(**count), *topic));
        let mut text = String::new();
        for (topic, _) in topics.into_iter().filter(|(topic, _)| may_be_shown(topic)) {
            let gap = if text.is_empty() { "" } else { ", " };
            if text.chars().count() + gap.len() + topic.chars().count() > chars_max {
                break;
            }
            text.push_str(gap);
            text.push_str(topic);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_most_memories_are_shown_as_far_as_they_fit() {
        let mut topics = Topics::default();
        for topic in ["carts/storage", "api/errors", "people/ann", "carts/storage"] {
            topics.add(topic);
        }
        let shown = |chars_max| topics.text_within(chars_max, &|topic| !topic.contains("ann"));
        assert_eq!(shown(600), "carts/storage, api/errors");
        assert_eq!(shown(24), "carts/storage");
        assert_eq!(shown(5), "");
    }
}
