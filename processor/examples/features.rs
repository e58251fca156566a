//! Prints one line for each sentence of a gold file's sessions: whether it is evidence of a gold
//! memory, then its features. `scripts/fit-extraction` fits the weights of extraction from it.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use memory_store::redact::{RedactOptions, Redactor};
use processor::extract::score::{FEATURES, features_of};
use processor::transcript::read_folder;

fn main() -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let names: Vec<&str> = FEATURES.iter().map(|(name, _)| *name).collect();
    writeln!(out, "evidence\tsession\t{}", names.join("\t"))?;
    for gold in std::env::args().skip(1) {
        let description: serde_json::Value = serde_json::from_slice(&std::fs::read(&gold)?)?;
        let folder = description["transcripts"].as_str().context("transcripts")?;
        let folder = Path::new(&gold).parent().context("a folder")?.join(folder);
        let quotes: Vec<(&str, &str)> = description["memories"]
            .as_array()
            .context("memories")?
            .iter()
            .filter_map(|memory| memory["evidence"].as_array())
            .flatten()
            .filter_map(|evidence| Some((evidence["uuid"].as_str()?, evidence["quote"].as_str()?)))
            .collect();
        for session in read_folder(&folder, &Redactor::new(&RedactOptions::default()))? {
            for sentence in features_of(&session) {
                let evidence = quotes.iter().any(|(uuid, quote)| {
                    *uuid == sentence.uuid
                        && (sentence.raw.contains(quote) || quote.contains(&sentence.raw))
                });
                let values: Vec<String> = sentence.features.iter().map(f32::to_string).collect();
                writeln!(out, "{}\t{}\t{}", u8::from(evidence), session.id, values.join("\t"))?;
            }
        }
    }
    Ok(())
}
