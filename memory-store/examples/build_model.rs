//! Makes the embedder's files, and applies them: what `scripts/build-model` is made of.
//!
//! ```text
//! build_model transformer SAFETENSORS VOCABULARY PROJECTION|- OUT
//! build_model table VOCABULARY ROWS TRANSFORMER CUT OUT
//! build_model place TRANSFORMER TABLE DIR
//! build_model pooled TRANSFORMER         < texts > 384 floats a text
//! build_model vectors TRANSFORMER|TABLE  < texts > 256 int8 a text
//! build_model tokens TRANSFORMER|TABLE   < texts > token numbers, a line a text
//! ```
//!
//! Texts are lines of stdin. Floats are little-endian, 32 bits. PROJECTION holds the mean, 384
//! values, and 256 rows of 384 values; `-` stands for the first 256 axes. ROWS holds 256 values for
//! each piece of VOCABULARY, a text file of one piece a line. CUT is the sum of 1 for cutting at
//! humps and 2 for cutting before digits.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use memory_store::embed::build;
use memory_store::embed::transformer::{
    HEAD, INNER, Layer, Linear, Norm, POSITIONS, Projection, WIDTH, Weights,
};
use memory_store::embed::wordpiece::WordCut;
use memory_store::embed::{DIMENSIONS, Table, Transformer};
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["transformer", weights, vocabulary, projection, out] => {
            transformer(weights, vocabulary, projection, out)
        }
        ["table", vocabulary, rows, model, cut, out] => table(vocabulary, rows, model, cut, out),
        ["place", model, table, dir] => {
            build::place(Path::new(dir), &fs::read(table)?, &fs::read(model)?)?;
            Ok(())
        }
        ["pooled", model] => {
            let model = Transformer::open_file(Path::new(model))?;
            each_text(|text| Ok(model.pooled(text)?.iter().flat_map(|x| x.to_le_bytes()).collect()))
        }
        ["vectors", model] => {
            let model = Either::open(model)?;
            each_text(|text| Ok(model.embed(text)?.iter().map(|&x| x as u8).collect()))
        }
        ["tokens", model] => {
            let model = Either::open(model)?;
            each_text(|text| {
                let numbers = model.tokens(text)?;
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                Ok(format!("{}\n", numbers.join(" ")).into_bytes())
            })
        }
        _ => Err("see the head of examples/build_model.rs for the arguments".into()),
    }
}

/// A file of either kind.
enum Either {
    Table(Table),
    Transformer(Box<Transformer>),
}

impl Either {
    fn open(path: &str) -> Result<Self> {
        let path = Path::new(path);
        Ok(match Table::open_file(path) {
            Ok(table) => Self::Table(table),
            Err(_) => Self::Transformer(Box::new(Transformer::open_file(path)?)),
        })
    }

    fn embed(&self, text: &str) -> Result<[i8; DIMENSIONS]> {
        let vector = match self {
            Self::Table(table) => table.embed(text)?,
            Self::Transformer(transformer) => transformer.embed(text)?,
        };
        Ok(vector.map_or([0; DIMENSIONS], |vector| vector.0))
    }

    fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        Ok(match self {
            Self::Table(table) => table.tokens(text)?,
            Self::Transformer(transformer) => transformer.tokens(text)?,
        })
    }
}

/// Writes what `work` makes of each line of stdin, on all processors.
fn each_text(work: impl Fn(&str) -> Result<Vec<u8>> + Sync) -> Result<()> {
    let mut input = String::new();
    std::io::stdin().lock().read_to_string(&mut input)?;
    let texts: Vec<&str> = input.lines().collect();
    let threads = std::thread::available_parallelism()?.get();
    let mut out = BufWriter::new(std::io::stdout().lock());
    // In portions, so that the results need not all be kept.
    for texts in texts.chunks(4096) {
        let next = AtomicUsize::new(0);
        let worker = || -> Result<Vec<(usize, Vec<u8>)>> {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(text) = texts.get(at) else { return Ok(done) };
                done.push((at, work(text)?));
            }
        };
        let mut results = vec![Vec::new(); texts.len()];
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            for worker in workers {
                for (at, result) in worker.join().map_err(|_| "a thread panicked")?? {
                    results[at] = result;
                }
            }
            Ok(())
        })?;
        for result in results {
            out.write_all(&result)?;
        }
    }
    Ok(out.flush()?)
}

fn pieces(vocabulary: &str) -> Vec<&str> {
    vocabulary.lines().collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect()
}

fn table(vocabulary: &str, rows: &str, model: &str, cut: &str, out: &str) -> Result<()> {
    let vocabulary = fs::read_to_string(vocabulary)?;
    let space = Transformer::open_file(Path::new(model))?.space();
    let cut = match cut {
        "0" | "1" | "2" | "3" => WordCut { humps: "13".contains(cut), digits: "23".contains(cut) },
        _ => return Err("CUT is 0 to 3".into()),
    };
    let file = build::table_file(&pieces(&vocabulary), &floats(&fs::read(rows)?), space, cut);
    Ok(fs::write(out, file)?)
}

fn transformer(weights: &str, vocabulary: &str, projection: &str, out: &str) -> Result<()> {
    let tensors = Tensors::read(weights)?;
    let vocabulary = fs::read_to_string(vocabulary)?;
    let projection = if projection == "-" {
        Projection::first_axes()
    } else {
        let numbers = floats(&fs::read(projection)?);
        if numbers.len() != WIDTH + DIMENSIONS * WIDTH {
            return Err("PROJECTION has another length than it should".into());
        }
        let (mean, matrix) = numbers.split_at(WIDTH);
        Projection { mean: mean.to_vec(), matrix: matrix.to_vec() }
    };
    let layers = (0..).take_while(|layer| tensors.has(*layer)).map(|layer| tensors.layer(layer));
    let weights = Weights {
        positions: tensors.positions()?,
        norm: tensors.norm("embeddings.LayerNorm")?,
        layers: layers.collect::<Result<_>>()?,
        projection,
    };
    let rows = tensors.get("embeddings.word_embeddings.weight")?;
    Ok(fs::write(out, build::transformer_file(&pieces(&vocabulary), &rows, &weights))?)
}

/// The tensors of a safetensors file: the length of a JSON header, the header, the values.
struct Tensors {
    header: HashMap<String, Value>,
    values: Vec<u8>,
}

impl Tensors {
    fn read(path: &str) -> Result<Self> {
        let bytes = fs::read(path)?;
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or("an empty file")?;
        let length = usize::try_from(u64::from_le_bytes(*length))?;
        let (header, values) = rest.split_at_checked(length).ok_or("a cut file")?;
        Ok(Self { header: serde_json::from_slice(header)?, values: values.to_vec() })
    }

    fn get(&self, name: &str) -> Result<Vec<f32>> {
        let missing = || format!("no 32-bit tensor {name}");
        let tensor = self.header.get(name).filter(|tensor| tensor["dtype"] == "F32");
        let offset = |at: usize| tensor?["data_offsets"][at].as_u64()?.try_into().ok();
        let range = offset(0).ok_or_else(missing)?..offset(1).ok_or_else(missing)?;
        Ok(floats(self.values.get(range).ok_or_else(missing)?))
    }

    fn has(&self, layer: usize) -> bool {
        self.header.contains_key(&format!("encoder.layer.{layer}.output.dense.weight"))
    }

    /// The positions' vectors; the vector that marks a first sentence is added, as there is no
    /// second.
    fn positions(&self) -> Result<Vec<f32>> {
        let mut positions = self.get("embeddings.position_embeddings.weight")?;
        positions.truncate(POSITIONS * WIDTH);
        let first = self.get("embeddings.token_type_embeddings.weight")?;
        for row in positions.chunks_exact_mut(WIDTH) {
            row.iter_mut().zip(&first).for_each(|(value, first)| *value += first);
        }
        Ok(positions)
    }

    fn norm(&self, name: &str) -> Result<Norm> {
        Ok(Norm {
            gain: self.get(&format!("{name}.weight"))?,
            bias: self.get(&format!("{name}.bias"))?,
        })
    }

    fn linear(&self, name: &str, inputs: usize) -> Result<Linear> {
        let weights = self.get(&format!("{name}.weight"))?;
        Ok(Linear::new(&weights, &self.get(&format!("{name}.bias"))?, inputs))
    }

    fn layer(&self, layer: usize) -> Result<Layer> {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        Ok(Layer {
            attention: self.attention(&name("attention.self"))?,
            output: self.linear(&name("attention.output.dense"), WIDTH)?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"))?,
            widen: self.linear(&name("intermediate.dense"), WIDTH)?,
            narrow: self.linear(&name("output.dense"), INNER)?,
            norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    /// Queries, keys and values in one map, the queries scaled as attention wants them.
    fn attention(&self, name: &str) -> Result<Linear> {
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for (part, factor) in
            [("query", (HEAD as f32).sqrt().recip()), ("key", 1.0), ("value", 1.0)]
        {
            let scaled = |values: Vec<f32>| values.into_iter().map(move |value| value * factor);
            weights.extend(scaled(self.get(&format!("{name}.{part}.weight"))?));
            bias.extend(scaled(self.get(&format!("{name}.{part}.bias"))?));
        }
        Ok(Linear::new(&weights, &bias, WIDTH))
    }
}
