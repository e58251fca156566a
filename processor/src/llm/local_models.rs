//! Models for this machine: the order in which installed models are listed, and proposals for installation.
//!
//! Of models of the same generation, a larger one gives better results if it fits into memory together with all other
//! programs. No local model has been measured with this project (docs/language-models.md).

pub use memory_store::fs::process::memory_bytes;

/// Number of quarters of a machine's memory that a model may use.
const SHARE: u64 = 3;
/// Memory in bytes that a model uses in addition to its weights, for a context of about 14,000 tokens.
const CONTEXT_BYTES: u64 = 2 << 30;
/// Maximum number of models that are proposed.
const PROPOSED_MAX: usize = 3;

/// Models in Ollama's library, the largest first, with the sizes listed there, in tenths of a GB.
const LIBRARY: [(&str, u64); 8] = [
    ("qwen3:30b", 190),
    ("gemma3:27b", 170),
    ("qwen3:14b", 93),
    ("gemma3:12b", 81),
    ("qwen3:8b", 52),
    ("gemma3:4b", 33),
    ("qwen3:4b", 26),
    ("llama3.2:3b", 20),
];

/// Sorts models: first those that fit into memory, the largest first, then those that do not fit, the smallest first.
/// If the memory is unknown, or the models are on another machine, all models count as fitting.
pub(super) fn sort_best_first(models: &mut [(String, u64)], memory: Option<u64>) {
    models.sort_by_key(|(_, bytes)| {
        let is_too_large = memory.is_some_and(|memory| !fits(*bytes, memory));
        (is_too_large, if is_too_large { *bytes } else { u64::MAX - bytes })
    });
}

/// Returns the models in Ollama's library that fit into this memory, the largest first.
pub fn proposed(memory: u64) -> Vec<&'static str> {
    let fitting = LIBRARY.iter().filter(|(_, size)| fits(size * 100_000_000, memory));
    fitting.map(|(name, _)| *name).take(PROPOSED_MAX).collect()
}

fn fits(model: u64, memory: u64) -> bool {
    model.saturating_add(CONTEXT_BYTES) <= memory / 4 * SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    #[test]
    fn the_largest_that_fits_comes_first() {
        let sorted = |memory| {
            let mut models = [("b", 2), ("d", 40), ("a", 5), ("c", 20)]
                .map(|(name, size)| (name.into(), size * GB));
            sort_best_first(&mut models, memory);
            models.map(|(name, _)| name).concat()
        };
        assert_eq!(sorted(Some(16 * GB)), "abcd");
        assert_eq!(sorted(Some(32 * GB)), "cabd");
        assert_eq!(sorted(Some(4 * GB)), "bacd");
        assert_eq!(sorted(None), "dcab");
    }

    #[test]
    fn what_is_proposed_fits() {
        assert!(LIBRARY.is_sorted_by(|larger, smaller| larger.1 > smaller.1));
        assert_eq!(proposed(8 << 30), ["gemma3:4b", "qwen3:4b", "llama3.2:3b"]);
        assert_eq!(proposed(16 << 30), ["qwen3:14b", "gemma3:12b", "qwen3:8b"]);
        assert_eq!(proposed(64 << 30), ["qwen3:30b", "gemma3:27b", "qwen3:14b"]);
        assert!(proposed(4 << 30).is_empty());
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 26));
    }
}
