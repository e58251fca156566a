//! Redacting all parts of a memory.

use memory_store_base::memory::Memory;

use super::Redactor;

impl Redactor {
    /// Returns a memory as an index holds it, and as it is judged and released: without its secrets.
    pub fn redacted(&self, memory: &Memory) -> Memory {
        let mut memory = memory.clone();
        self.redact_memory(&mut memory);
        memory
    }

    /// Takes secrets out of every text of a memory; returns how many there were.
    pub fn redact_memory(&self, memory: &mut Memory) -> usize {
        // The title first: it may say what the others are.
        let mut texts = vec![&mut memory.title, &mut memory.body];
        texts.extend(&mut memory.source.quote);
        texts.extend(&mut memory.topic);
        texts.extend(&mut memory.tags);
        texts.extend(&mut memory.cues);
        texts.extend(&mut memory.entities);
        texts.extend(memory.paths.iter_mut().map(|path| &mut path.path));
        for fact in &mut memory.facts {
            texts.extend([&mut fact.subject, &mut fact.predicate, &mut fact.object]);
        }
        texts.extend(&mut memory.author);
        // Signatures have no addresses, so that what is left in place still finds them.
        texts.extend(&mut memory.signatures);
        if let Some(command) = &mut memory.command {
            texts.extend([&mut command.line, &mut command.directory]);
        }
        self.redact_together(&mut texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RedactOptions;
    use memory_store_base::memory::{CommandRecord, Fact, PathRef};
    use memory_store_base::settings::Settings;
    use memory_store_base::{Kind, MemoryId, Timestamp};

    #[test]
    fn no_text_of_a_memory_is_left_out() {
        const SECRET: &str = "tess@harbour.co.uk";
        let text = || format!("by {SECRET} here");
        let mut memory = Memory::new(MemoryId([1; 16]), Kind::Fix, text(), text(), Timestamp(0));
        memory.source.quote = Some(text());
        memory.topic = Some(text());
        memory.author = Some(text());
        for list in
            [&mut memory.tags, &mut memory.cues, &mut memory.entities, &mut memory.signatures]
        {
            list.push(text());
        }
        memory.paths.push(PathRef { path: text(), seen: None });
        let [subject, predicate, object] = [text(), text(), text()];
        memory.facts.push(Fact { subject, predicate, object, from: None, to: None });
        memory.command = Some(CommandRecord {
            line: text(),
            directory: text(),
            exit_status: 0,
            passed: 1,
            last: Timestamp(0),
        });
        let redactor = Redactor::new(&RedactOptions::for_store(&Settings::default(), true));
        let clean = redactor.redacted(&memory);
        assert_eq!(format!("{memory:?}").matches(SECRET).count(), 15);
        assert_eq!(format!("{clean:?}").matches(SECRET).count(), 0);
        assert_eq!(redactor.redact_memory(&mut memory), 15);
    }
}
