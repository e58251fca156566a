//! The space of the product's vectors, from the transformer's outputs.

use memory_store::embed::DIMENSIONS;

use crate::shuffle::Dice;

/// Values of the transformer's output.
const WIDTH: usize = 384;

/// Texts that decide on the space; more do not move it.
const TEXTS: usize = 12_288;

/// Rounds of the eigenvalue iteration: each sweep of Jacobi rotations about squares the rest.
const SWEEPS: usize = 12;

/// Returns the mean of the outputs and, after it, [`DIMENSIONS`] rows: their principal axes, turned
/// by a fixed random rotation so that all components matter alike.
pub fn projection(pooled: &[f32]) -> Vec<f32> {
    let pooled = &pooled[..pooled.len().min(TEXTS * WIDTH)];
    let count = pooled.len() / WIDTH;
    let mut mean = vec![0.0f64; WIDTH];
    for row in pooled.chunks_exact(WIDTH) {
        mean.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    mean.iter_mut().for_each(|sum| *sum /= count as f64);
    let mut covariance = vec![0.0f64; WIDTH * WIDTH];
    let mut off = vec![0.0f64; WIDTH];
    for row in pooled.chunks_exact(WIDTH) {
        for ((off, &value), mean) in off.iter_mut().zip(row).zip(&mean) {
            *off = f64::from(value) - mean;
        }
        for (at, sums) in covariance.chunks_exact_mut(WIDTH).enumerate() {
            sums.iter_mut().zip(&off).for_each(|(sum, other)| *sum += off[at] * other);
        }
    }
    let axes = principal_axes(covariance);
    let rotation = rotation();
    let mut out: Vec<f32> = mean.iter().map(|&value| value as f32).collect();
    for turn in rotation.chunks_exact(DIMENSIONS) {
        for column in 0..WIDTH {
            let sum: f64 =
                turn.iter().enumerate().map(|(axis, &by)| by * axes[axis * WIDTH + column]).sum();
            out.push(sum as f32);
        }
    }
    out
}

/// The eigenvectors with the largest eigenvalues, by Jacobi's rotations (Golub and Van Loan, 8.5).
fn principal_axes(mut matrix: Vec<f64>) -> Vec<f64> {
    let at = |row: usize, column: usize| row * WIDTH + column;
    // Rows are the eigenvectors.
    let mut vectors = vec![0.0f64; WIDTH * WIDTH];
    (0..WIDTH).for_each(|axis| vectors[at(axis, axis)] = 1.0);
    for _ in 0..SWEEPS {
        for p in 0..WIDTH {
            for q in p + 1..WIDTH {
                let off = matrix[at(p, q)];
                if off == 0.0 {
                    continue;
                }
                let theta = (matrix[at(q, q)] - matrix[at(p, p)]) / (2.0 * off);
                let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let sine = tangent * cosine;
                rotate_rows(&mut matrix, p, q, cosine, sine);
                for row in 0..WIDTH {
                    let (a, b) = (matrix[at(row, p)], matrix[at(row, q)]);
                    matrix[at(row, p)] = cosine * a - sine * b;
                    matrix[at(row, q)] = sine * a + cosine * b;
                }
                rotate_rows(&mut vectors, p, q, cosine, sine);
            }
        }
    }
    let mut order: Vec<usize> = (0..WIDTH).collect();
    order.sort_by(|&a, &b| matrix[at(b, b)].total_cmp(&matrix[at(a, a)]));
    let axes = order[..DIMENSIONS].iter();
    axes.flat_map(|&axis| vectors[at(axis, 0)..at(axis, 0) + WIDTH].to_vec()).collect()
}

fn rotate_rows(matrix: &mut [f64], p: usize, q: usize, cosine: f64, sine: f64) {
    let (head, tail) = matrix.split_at_mut(q * WIDTH);
    let (first, second) = (&mut head[p * WIDTH..(p + 1) * WIDTH], &mut tail[..WIDTH]);
    for (a, b) in first.iter_mut().zip(second) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

/// A random rotation: random rows, made orthonormal one after another (Gram and Schmidt).
fn rotation() -> Vec<f64> {
    let mut dice = Dice::new("rotation");
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(DIMENSIONS);
    for _ in 0..DIMENSIONS {
        let mut row: Vec<f64> = (0..DIMENSIONS).map(|_| dice.normal()).collect();
        // Twice is enough for full precision.
        for _ in 0..2 {
            for before in &rows {
                let along: f64 = row.iter().zip(before).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(before).for_each(|(value, before)| *value -= along * before);
            }
        }
        let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        row.iter_mut().for_each(|value| *value /= norm);
        rows.push(row);
    }
    rows.concat()
}

/// From the transformer's outputs to unit vectors of the space.
pub struct Space {
    mean: Vec<f32>,
    matrix: Vec<f32>,
}

impl Space {
    pub fn new(projection: &[f32]) -> Self {
        let (mean, matrix) = projection.split_at(WIDTH);
        Self { mean: mean.to_vec(), matrix: matrix.to_vec() }
    }

    pub fn project(&self, pooled: &[f32]) -> Vec<f32> {
        let mut out = Vec::with_capacity(pooled.len() / WIDTH * DIMENSIONS);
        for row in pooled.chunks_exact(WIDTH) {
            let start = out.len();
            for axis in self.matrix.chunks_exact(WIDTH) {
                let terms =
                    row.iter().zip(&self.mean).zip(axis).map(|((x, mean), by)| (x - mean) * by);
                out.push(terms.sum::<f32>());
            }
            let norm = out[start..].iter().map(|value| value * value).sum::<f32>().sqrt();
            if norm > 0.0 {
                out[start..].iter_mut().for_each(|value| *value /= norm);
            }
        }
        out
    }
}
