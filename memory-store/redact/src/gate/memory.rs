//! Redaction of all fields of a memory.

use std::ops::Range;

use memory_store_base::memory::{HeldFor, Memory};

use crate::engine::Redactor;
use crate::known::{KEY_BYTES, Known};

impl Redactor {
    /// Returns a memory in the form that is stored in an index, judged and released: without its secrets and, if it is
    /// pending because of a credential, without the suspected parts.
    pub fn redacted(&self, memory: &Memory) -> Memory {
        let mut memory = memory.clone();
        self.redact_memory(&mut memory);
        if memory.held_for == Some(HeldFor::Credential) {
            self.hide_suspects(&mut memory);
        }
        memory
    }

    /// Returns the parts of a memory that resemble credentials although no rule redacts them.
    pub fn suspects_in(&self, memory: &Memory) -> Vec<MemorySuspect> {
        let around = around(memory);
        // Names, tags and cues repeat words of the text in lower case; these words are judged in their original form in
        // the text.
        let written = [&*memory.title, &*memory.body].join("\n").to_lowercase();
        let mut found: Vec<MemorySuspect> = Vec::new();
        for (field, text) in texts(&mut memory.clone()) {
            for suspect in self.suspects(text, &around) {
                let value = text[suspect.range.clone()].to_owned();
                let is_repeated = ["tag", "entity", "cue", "topic"].contains(&field)
                    && written.contains(&value.to_lowercase());
                if !is_repeated && !found.iter().any(|known| known.value == value) {
                    let reasons = suspect.reasons.clone();
                    found.push(MemorySuspect {
                        field,
                        line: line_of(text, &suspect.range),
                        value,
                        reasons,
                    });
                }
            }
        }
        found
    }

    /// Replaces suspected credentials in every text of a memory, including names and tags that repeat them.
    pub fn hide_suspects(&self, memory: &mut Memory) {
        let around = around(memory);
        let values: Vec<String> =
            self.suspects_in(memory).into_iter().map(|suspect| suspect.value).collect();
        let repeated = Known::new([0; KEY_BYTES]);
        for value in &values {
            repeated.learn(value);
        }
        for (_, text) in texts(memory) {
            let own = self.suspects(text, &around).into_iter().map(|suspect| suspect.range);
            let own = own.filter(|range| values.iter().any(|value| *value == text[range.clone()]));
            let again = repeated.find(text).into_iter().map(|finding| finding.range);
            self.hold_back(text, own.chain(again).collect());
        }
    }

    /// Redacts every text of a memory. Returns the number of secrets.
    pub fn redact_memory(&self, memory: &mut Memory) -> usize {
        let mut texts: Vec<&mut String> = texts(memory).into_iter().map(|(_, text)| text).collect();
        self.redact_together(&mut texts)
    }
}

/// A part of a memory that resembles a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySuspect {
    /// Name of the field that contains it.
    pub field: &'static str,
    /// Line that contains it, shortened.
    pub line: String,
    /// The suspected text.
    pub value: String,
    /// Reasons for the suspicion.
    pub reasons: Vec<&'static str>,
}

/// Returns the context for a memory's fields: the title and the topic.
fn around(memory: &Memory) -> String {
    format!("{}\n{}", memory.title, memory.topic.as_deref().unwrap_or_default())
}

/// Returns every text of a memory with the name of the field. The title is first, because it may explain the other
/// texts.
fn texts(memory: &mut Memory) -> Vec<(&'static str, &mut String)> {
    let mut texts = vec![("title", &mut memory.title), ("text", &mut memory.body)];
    texts.extend(memory.source.quote.as_mut().map(|text| ("quote", text)));
    texts.extend(memory.topic.as_mut().map(|text| ("topic", text)));
    texts.extend(memory.agent.as_mut().map(|text| ("agent", text)));
    texts.extend(memory.relations.iter_mut().map(|link| ("relation", &mut link.kind)));
    texts.extend(memory.tags.iter_mut().map(|text| ("tag", text)));
    texts.extend(memory.cues.iter_mut().map(|text| ("cue", text)));
    texts.extend(memory.entities.iter_mut().map(|text| ("entity", text)));
    texts.extend(memory.paths.iter_mut().map(|path| ("path", &mut path.path)));
    for fact in &mut memory.facts {
        let parts = [&mut fact.subject, &mut fact.predicate, &mut fact.object];
        texts.extend(parts.map(|text| ("fact", text)));
    }
    for guard in &mut memory.guards {
        let parts = [&mut guard.command, &mut guard.path, &mut guard.content, &mut guard.branch];
        texts.extend(parts.into_iter().flatten().map(|text| ("guard", text)));
    }
    texts.extend(memory.author.as_mut().map(|text| ("author", text)));
    // Signatures contain no addresses, so a redacted signature still matches.
    texts.extend(memory.signatures.iter_mut().map(|text| ("signature", text)));
    if let Some(command) = &mut memory.command {
        texts.extend([("command", &mut command.line), ("directory", &mut command.directory)]);
    }
    texts
}

/// Returns the shortened line that contains a part of a text.
fn line_of(text: &str, range: &Range<usize>) -> String {
    const CHARS_MAX: usize = 160;
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    text[start..end].trim().chars().take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RedactOptions;
    use memory_store_base::memory::{CommandRecord, Fact, PathRef, Relation};
    use memory_store_base::settings::Settings;
    use memory_store_base::{Kind, MemoryId, Timestamp};

    #[test]
    fn what_a_memory_is_held_for_is_not_given() {
        let text = "Login of the nas is ops/cedar-Wave-9, and the port is 5001.";
        let id = MemoryId([1; 16]);
        let mut memory = Memory::new(id, Kind::Fact, "The nas", text, Timestamp(0));
        memory.tags.push("cedar-wave-9".to_owned());
        let redactor = Redactor::default();
        let found = redactor.suspects_in(&memory);
        assert_eq!((found.len(), found[0].field, &*found[0].value), (1, "text", "cedar-Wave-9"));
        assert!(found[0].line.starts_with("Login of the nas"), "{found:?}");
        assert_eq!(redactor.redacted(&memory), memory, "it is given once a person accepted it");
        memory.hold(HeldFor::Credential);
        let given = redactor.redacted(&memory);
        assert_eq!(
            given.body,
            "Login of the nas is ops/[redacted:held-back], and the port is 5001."
        );
        assert_eq!(given.tags, ["[redacted:held-back]"]);
        assert!(redactor.suspects_in(&given).is_empty());
    }

    #[test]
    fn no_text_of_a_memory_is_left_out() {
        const SECRET: &str = "tess@harbour.co.uk";
        let text = || format!("by {SECRET} here");
        let mut memory = Memory::new(MemoryId([1; 16]), Kind::Fix, text(), text(), Timestamp(0));
        memory.source.quote = Some(text());
        memory.topic = Some(text());
        memory.author = Some(text());
        memory.agent = Some(text());
        memory.relations.push(Relation { kind: text(), to: MemoryId([2; 16]) });
        for list in
            [&mut memory.tags, &mut memory.cues, &mut memory.entities, &mut memory.signatures]
        {
            list.push(text());
        }
        memory.paths.push(PathRef { path: text(), seen: None });
        let [subject, predicate, object] = [text(), text(), text()];
        memory.facts.push(Fact { subject, predicate, object, ..Fact::default() });
        memory.command = Some(CommandRecord {
            line: text(),
            directory: text(),
            exit_status: 0,
            passed: 1,
            last: Timestamp(0),
        });
        let redactor = Redactor::new(&RedactOptions::for_store(&Settings::default(), true));
        let clean = redactor.redacted(&memory);
        assert_eq!(format!("{memory:?}").matches(SECRET).count(), 17);
        assert_eq!(format!("{clean:?}").matches(SECRET).count(), 0);
        assert_eq!(redactor.redact_memory(&mut memory), 17);
    }
}
