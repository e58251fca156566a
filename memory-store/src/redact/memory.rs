//! Redacting all parts of a memory.

use crate::memory::Memory;

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
        let mut hidden = 0;
        let mut clean = |text: &mut String| {
            let found = self.findings(text).len();
            if found > 0 {
                hidden += found;
                *text = self.redact(text).into_owned();
            }
        };
        clean(&mut memory.title);
        clean(&mut memory.body);
        memory.source.quote.iter_mut().for_each(&mut clean);
        memory.topic.iter_mut().for_each(&mut clean);
        memory.tags.iter_mut().for_each(&mut clean);
        memory.entities.iter_mut().for_each(&mut clean);
        memory.paths.iter_mut().for_each(|path| clean(&mut path.path));
        for fact in &mut memory.facts {
            clean(&mut fact.subject);
            clean(&mut fact.predicate);
            clean(&mut fact.object);
        }
        if let Some(command) = &mut memory.command {
            clean(&mut command.line);
        }
        hidden
    }
}
