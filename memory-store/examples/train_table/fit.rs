//! The rows of the table: such that the sum of a text's rows points where the transformer does.

use memory_store::embed::DIMENSIONS;

use crate::shuffle::Dice;

/// A token that makes up this share of the training text weighs half as much as a rare one (smooth
/// inverse frequency: Arora, Liang and Ma 2017).
const HALF_WEIGHT_SHARE: f32 = 3e-4;
/// Strength that holds a row to the transformer's vector of its piece alone, in texts.
const RIDGE: f32 = 0.2;
/// Steps of conjugate gradients; more bring nothing.
const STEPS: usize = 12;
/// Passes over the texts that turn rows by the gradient of the cosine.
const PASSES: usize = 6;
/// Texts between two steps of these.
const BATCH: usize = 1024;
/// The largest step, in lengths of an average row.
const RATE: f32 = 1e-2;

type Row = [f32; DIMENSIONS];

/// Returns a row for each piece. `alone` has the transformer's vectors of the pieces, `targets`
/// those of the texts: unit vectors of the space.
pub fn rows(texts: &[Vec<u32>], alone: &[f32], targets: &[f32]) -> Vec<f32> {
    let alone = as_rows(alone);
    let targets = as_rows(targets);
    // The transformer may have been stopped early.
    let texts: Vec<Vec<usize>> = texts[..texts.len().min(targets.len())]
        .iter()
        .map(|text| text.iter().map(|&token| token as usize).collect())
        .collect();
    let weights = weights(&texts, alone.len());
    let mut rows = ridge(&texts, &weights, &alone, &targets);
    for (row, weight) in rows.iter_mut().zip(&weights) {
        row.iter_mut().for_each(|value| *value *= weight);
    }
    turn(&texts, &targets, &mut rows);
    rows.concat()
}

fn as_rows(values: &[f32]) -> Vec<Row> {
    let rows = values.chunks_exact(DIMENSIONS);
    rows.map(|row| std::array::from_fn(|at| row[at])).collect()
}

fn weights(texts: &[Vec<usize>], pieces: usize) -> Vec<f32> {
    let mut counts = vec![0.5f64; pieces];
    texts.iter().flatten().for_each(|&token| counts[token] += 1.0);
    let all: f64 = counts.iter().sum();
    let share = |count: &f64| (count / all) as f32;
    counts.iter().map(|count| HALF_WEIGHT_SHARE / (HALF_WEIGHT_SHARE + share(count))).collect()
}

/// Weighted means of rows, as a matrix of texts by pieces.
struct Means<'a> {
    texts: &'a [Vec<usize>],
    weights: &'a [f32],
    /// One over the sum of a text's weights.
    norms: Vec<f32>,
}

impl Means<'_> {
    fn of(&self, rows: &[Row]) -> Vec<Row> {
        let mean = |(text, norm): (&Vec<usize>, &f32)| {
            let mut sum = [0.0; DIMENSIONS];
            text.iter().for_each(|&token| add(&mut sum, &rows[token], self.weights[token] * norm));
            sum
        };
        self.texts.iter().zip(&self.norms).map(mean).collect()
    }

    fn transposed(&self, of: &[Row], pieces: usize) -> Vec<Row> {
        let mut out = vec![[0.0; DIMENSIONS]; pieces];
        for ((text, norm), row) in self.texts.iter().zip(&self.norms).zip(of) {
            text.iter().for_each(|&token| add(&mut out[token], row, self.weights[token] * norm));
        }
        out
    }
}

fn add(to: &mut Row, row: &Row, times: f32) {
    to.iter_mut().zip(row).for_each(|(to, value)| *to += times * value);
}

fn dot(a: &Row, b: &Row) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Ridge regression from the pieces' own vectors, by conjugate gradients, for each component apart.
fn ridge(texts: &[Vec<usize>], weights: &[f32], alone: &[Row], targets: &[Row]) -> Vec<Row> {
    let norms = texts.iter().map(|text| {
        let sum: f32 = text.iter().map(|&token| weights[token]).sum();
        if sum > 0.0 { 1.0 / sum } else { 0.0 }
    });
    let means = Means { texts, weights, norms: norms.collect() };
    let mut missing = means.of(alone);
    for (missing, target) in missing.iter_mut().zip(targets) {
        missing.iter_mut().zip(target).for_each(|(value, target)| *value = target - *value);
    }
    let mut rows = alone.to_vec();
    let mut residual = means.transposed(&missing, alone.len());
    let mut direction = residual.clone();
    let mut size = products(&residual, &residual);
    for step in 0..STEPS {
        let mut image = means.transposed(&means.of(&direction), alone.len());
        image.iter_mut().zip(&direction).for_each(|(image, row)| add(image, row, RIDGE));
        let curvature = products(&direction, &image);
        let length: Row = std::array::from_fn(|at| size[at] / curvature[at].max(1e-20));
        for ((row, residual), (direction, image)) in
            rows.iter_mut().zip(&mut residual).zip(direction.iter().zip(&image))
        {
            for at in 0..DIMENSIONS {
                row[at] += length[at] * direction[at];
                residual[at] -= length[at] * image[at];
            }
        }
        let next = products(&residual, &residual);
        let keep: Row = std::array::from_fn(|at| next[at] / size[at].max(1e-20));
        for (direction, residual) in direction.iter_mut().zip(&residual) {
            for at in 0..DIMENSIONS {
                direction[at] = residual[at] + keep[at] * direction[at];
            }
        }
        size = next;
        eprintln!("ridge step {step}: residual {:.4e}", size.iter().sum::<f32>());
    }
    rows
}

/// For each component the sum of products over the rows.
fn products(a: &[Row], b: &[Row]) -> Row {
    let mut sums = [0.0f64; DIMENSIONS];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += f64::from(a * b));
    }
    sums.map(|sum| sum as f32)
}

/// Gradient steps on the cosine itself, which the regression only approximates: Adam (Kingma and Ba
/// 2015) with one second moment a row, so that a row keeps its direction's proportions.
fn turn(texts: &[Vec<usize>], targets: &[Row], rows: &mut [Row]) {
    let square: f64 = rows.iter().map(|row| f64::from(dot(row, row))).sum();
    let scale = (rows.len() as f64 / square).sqrt() as f32;
    rows.iter_mut().for_each(|row| row.iter_mut().for_each(|value| *value *= scale));
    let mut first = vec![[0.0; DIMENSIONS]; rows.len()];
    let mut second = vec![0.0f32; rows.len()];
    let mut gradient = vec![[0.0; DIMENSIONS]; rows.len()];
    let mut order: Vec<usize> = (0..texts.len()).collect();
    let mut dice = Dice::new("passes");
    let steps = PASSES * (texts.len() / BATCH);
    let mut step = 0;
    for pass in 0..PASSES {
        dice.shuffle(&mut order);
        let mut cosines = 0.0f64;
        for batch in order.chunks_exact(BATCH) {
            let mut touched = Vec::new();
            for &at in batch {
                let mut sum = [0.0; DIMENSIONS];
                texts[at].iter().for_each(|&token| add(&mut sum, &rows[token], 1.0));
                let norm = dot(&sum, &sum).sqrt().max(1e-6);
                let cosine = dot(&sum, &targets[at]) / norm;
                cosines += f64::from(cosine);
                // The derivative of -cosine with respect to the sum.
                let slope: Row = std::array::from_fn(|axis| {
                    (cosine * sum[axis] / norm - targets[at][axis]) / (norm * BATCH as f32)
                });
                for &token in &texts[at] {
                    add(&mut gradient[token], &slope, 1.0);
                    touched.push(token);
                }
            }
            touched.sort_unstable();
            touched.dedup();
            step += 1;
            let fade = 1.0 - step as f32 / (steps + 1) as f32;
            let rate = RATE * fade * (step as f32 / 20.0).min(1.0);
            for token in touched {
                let slope = std::mem::replace(&mut gradient[token], [0.0; DIMENSIONS]);
                let mean_square = dot(&slope, &slope) / DIMENSIONS as f32;
                second[token] = 0.99 * second[token] + 0.01 * mean_square;
                for axis in 0..DIMENSIONS {
                    first[token][axis] = 0.9 * first[token][axis] + 0.1 * slope[axis];
                }
                add(&mut rows[token], &first[token], -rate / (second[token].sqrt() + 1e-9));
            }
        }
        eprintln!("pass {pass}: mean cosine {:.4}", cosines / (steps / PASSES * BATCH) as f64);
    }
}
