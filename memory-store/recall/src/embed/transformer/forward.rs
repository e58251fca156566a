//! Forward pass of the transformer.

use super::kernel::{ACTIVATION_MAX, Kernel, PANEL, Path, Portable, TILE};
use super::math::{ROUNDER, dot, exp, gelu, largest, sum};
use super::weights::{HEAD, HEADS, INNER, Layer, Linear, Norm, WIDTH, Weights};
use crate::embed::rows::EmbeddingRow;

/// Number added to a variance before taking the square root, as in the model's training.
const EPSILON: f32 = 1e-12;

/// Number of keys that are compared with a query at once.
const BLOCK: usize = 32;

/// Returns the mean of the final values of a text's tokens, scaled to length one. There are at most
/// [`super::TOKENS_MAX`] tokens.
pub(crate) fn pooled(
    path: Path,
    weights: &Weights,
    tokens: &[EmbeddingRow<WIDTH>],
) -> [f32; WIDTH] {
    match path {
        Path::Portable => run::<Portable>(weights, tokens),
        // SAFETY: this path is only chosen on a processor with AVX2.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => unsafe { run_avx2(weights, tokens) },
        // SAFETY: this path is only chosen on a processor with these instructions.
        #[cfg(target_arch = "x86_64")]
        Path::Vnni => unsafe { run_vnni(weights, tokens) },
        #[cfg(target_arch = "aarch64")]
        Path::Neon => run::<super::kernel::Neon>(weights, tokens),
    }
}

/// Runs the code compiled for wider vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2(weights: &Weights, tokens: &[EmbeddingRow<WIDTH>]) -> [f32; WIDTH] {
    run::<super::kernel::Avx2>(weights, tokens)
}

/// Runs the code compiled for vectors twice as wide as those of AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512bw,avx512vnni")]
fn run_vnni(weights: &Weights, tokens: &[EmbeddingRow<WIDTH>]) -> [f32; WIDTH] {
    run::<super::kernel::Vnni>(weights, tokens)
}

#[inline(always)]
fn run<K: Kernel>(weights: &Weights, tokens: &[EmbeddingRow<WIDTH>]) -> [f32; WIDTH] {
    let mut hidden = vec![0.0f32; tokens.len() * WIDTH];
    let rows = hidden.as_chunks_mut::<WIDTH>().0.iter_mut();
    for ((row, token), position) in rows.zip(tokens).zip(weights.positions.as_chunks::<WIDTH>().0) {
        for at in 0..WIDTH {
            row[at] = token.scale * f32::from(token.values[at]) + position[at];
        }
        normalise(row, &weights.norm);
    }
    let mut room = ForwardRoom::new(tokens.len());
    for layer in &weights.layers {
        run_layer::<K>(layer, &mut hidden, &mut room);
    }
    mean(&hidden)
}

/// Buffers that the layers share.
struct ForwardRoom {
    /// Quantised activations, two in each word, in the order of [`Kernel::tile`]: by tile, and in each tile by pair.
    words: Vec<u32>,
    /// Scale of each row of activations.
    scales: Vec<f32>,
    /// Queries, keys and values of the attention, and later the intermediate values of the feed-forward part.
    wide: Vec<f32>,
    /// Values that are added to the hidden values.
    change: Vec<f32>,
    /// The keys of a head in blocks by component, and the weights of a query for the keys.
    keys: Vec<f32>,
    shares: Vec<f32>,
}

impl ForwardRoom {
    fn new(tokens: usize) -> Self {
        let padded = tokens.next_multiple_of(BLOCK);
        Self {
            words: vec![0; tokens * INNER / 2],
            scales: vec![0.0; tokens],
            wide: vec![0.0; tokens * INNER],
            change: vec![0.0; tokens * WIDTH],
            keys: vec![0.0; padded * HEAD],
            shares: vec![0.0; padded],
        }
    }
}

#[inline(always)]
fn run_layer<K: Kernel>(layer: &Layer, hidden: &mut [f32], room: &mut ForwardRoom) {
    let tokens = hidden.len() / WIDTH;
    quantise(hidden, WIDTH, room);
    let heads = &mut room.wide[..tokens * 3 * WIDTH];
    multiply::<K>(&layer.attention, &room.words, &room.scales, heads);
    attend(room, tokens);
    let context = std::mem::take(&mut room.change);
    quantise(&context, WIDTH, room);
    room.change = context;
    multiply::<K>(&layer.output, &room.words, &room.scales, &mut room.change);
    add_and_normalise(hidden, &room.change, &layer.attention_norm);

    quantise(hidden, WIDTH, room);
    let mut inner = std::mem::take(&mut room.wide);
    multiply::<K>(&layer.widen, &room.words, &room.scales, &mut inner);
    for value in &mut inner {
        *value = gelu(*value);
    }
    quantise(&inner, INNER, room);
    room.wide = inner;
    multiply::<K>(&layer.narrow, &room.words, &room.scales, &mut room.change);
    add_and_normalise(hidden, &room.change, &layer.norm);
}

/// Quantises rows of `width` values, each relative to its own largest value.
#[inline(always)]
fn quantise(values: &[f32], width: usize, room: &mut ForwardRoom) {
    let tiles = room.words.chunks_mut(TILE * width / 2).zip(room.scales.chunks_mut(TILE));
    let mut quantised = [0u32; INNER / 2];
    for (values, (words, scales)) in values.chunks(TILE * width).zip(tiles) {
        let rows = values.len() / width;
        for (place, (row, scale)) in values.chunks_exact(width).zip(scales).enumerate() {
            let most = largest(row);
            let per_step = if most > 0.0 { ACTIVATION_MAX / most } else { 0.0 };
            *scale = most / ACTIVATION_MAX;
            for (word, pair) in quantised.iter_mut().zip(row.as_chunks::<2>().0) {
                let low = (pair[0] * per_step + ROUNDER).to_bits() & 0xffff;
                let high = (pair[1] * per_step + ROUNDER).to_bits() << 16;
                *word = low | high;
            }
            let places = words.iter_mut().skip(place).step_by(rows);
            places.zip(&quantised[..width / 2]).for_each(|(place, word)| *place = *word);
        }
    }
}

/// Multiplies all quantised rows by a linear map.
#[inline(always)]
fn multiply<K: Kernel>(linear: &Linear, words: &[u32], scales: &[f32], out: &mut [f32]) {
    let channels = linear.scales.len();
    let tokens = out.len() / channels;
    let width = linear.panel_bytes() / (2 * PANEL);
    let words = &words[..tokens * width];
    for (panel, weights) in linear.panels.chunks_exact(linear.panel_bytes()).enumerate() {
        for (tile, words) in words.chunks(TILE * width).enumerate() {
            let mut done = Tile { linear, scales, out: &mut *out, panel, token: tile * TILE };
            match words.len() / width {
                1 => done.put(K::tile(weights, words.as_chunks::<1>().0)),
                2 => done.put(K::tile(weights, words.as_chunks::<2>().0)),
                3 => done.put(K::tile(weights, words.as_chunks::<3>().0)),
                4 => done.put(K::tile(weights, words.as_chunks::<4>().0)),
                5 => done.put(K::tile(weights, words.as_chunks::<5>().0)),
                _ => done.put(K::tile(weights, words.as_chunks::<6>().0)),
            }
        }
    }
}

/// Where the sums of a tile are written.
struct Tile<'a> {
    linear: &'a Linear,
    scales: &'a [f32],
    out: &'a mut [f32],
    panel: usize,
    token: usize,
}

impl Tile<'_> {
    #[inline(always)]
    fn put<const R: usize>(&mut self, sums: [[i32; PANEL]; R]) {
        let channels = self.linear.scales.len();
        // For arrays the compiler knows the length and vectorises loops over them. Rows are indexed, because step
        // iterators were called for each row, which took as long as the row's arithmetic.
        let channel_scales = &self.linear.scales.as_chunks::<PANEL>().0[self.panel];
        let bias = &self.linear.bias.as_chunks::<PANEL>().0[self.panel];
        let row_scales = &self.scales[self.token..][..R];
        let panels = self.out[self.token * channels..][..R * channels].as_chunks_mut::<PANEL>().0;
        for r in 0..R {
            let values = &mut panels[r * (channels / PANEL) + self.panel];
            for channel in 0..PANEL {
                let scale = row_scales[r] * channel_scales[channel];
                values[channel] = sums[r][channel] as f32 * scale + bias[channel];
            }
        }
    }
}

/// Computes the attention of every token to every other token ("Attention Is All You Need", Vaswani et al. 2017). It
/// takes queries, keys and values from `room.wide` and writes the heads' results to `room.change`.
#[inline(always)]
fn attend(room: &mut ForwardRoom, tokens: usize) {
    let row =
        |token: usize, part: usize, head: usize| token * 3 * WIDTH + part * WIDTH + head * HEAD;
    for head in 0..HEADS {
        for token in 0..tokens {
            let key = &room.wide[row(token, 1, head)..][..HEAD];
            let block = &mut room.keys[token / BLOCK * BLOCK * HEAD..][..BLOCK * HEAD];
            for (value, lanes) in key.iter().zip(block.as_chunks_mut::<BLOCK>().0) {
                lanes[token % BLOCK] = *value;
            }
        }
        for token in 0..tokens {
            let query = &room.wide[row(token, 0, head)..][..HEAD];
            compare(query, &room.keys, &mut room.shares, tokens);
            let mut result = [0.0f32; HEAD];
            let values = room.wide.chunks_exact(3 * WIDTH);
            for (share, value) in room.shares[..tokens].iter().zip(values) {
                let value = &value.as_chunks::<HEAD>().0[2 * HEADS + head];
                for at in 0..HEAD {
                    result[at] += share * value[at];
                }
            }
            room.change.as_chunks_mut::<HEAD>().0[token * HEADS + head] = result;
        }
    }
}

/// Computes the softmax of a query's dot products with all keys.
#[inline(always)]
fn compare(query: &[f32], keys: &[f32], shares: &mut [f32], tokens: usize) {
    let blocks = keys.as_chunks::<{ BLOCK * HEAD }>().0;
    for (block, shares) in blocks.iter().zip(shares.as_chunks_mut::<BLOCK>().0) {
        let mut products = [0.0f32; BLOCK];
        for (value, lanes) in query.iter().zip(block.as_chunks::<BLOCK>().0) {
            for lane in 0..BLOCK {
                products[lane] += value * lanes[lane];
            }
        }
        *shares = products;
    }
    let most = shares[..tokens].iter().fold(f32::MIN, |most, &x| if x > most { x } else { most });
    for share in shares.iter_mut() {
        *share = exp(*share - most);
    }
    shares[tokens..].fill(0.0);
    let total = sum(shares);
    for share in shares.iter_mut() {
        *share /= total;
    }
}

#[inline(always)]
fn add_and_normalise(hidden: &mut [f32], change: &[f32], norm: &Norm) {
    let rows = hidden.as_chunks_mut::<WIDTH>().0.iter_mut();
    for (row, change) in rows.zip(change.as_chunks::<WIDTH>().0) {
        for at in 0..WIDTH {
            row[at] += change[at];
        }
        normalise(row, norm);
    }
}

#[inline(always)]
fn normalise(row: &mut [f32; WIDTH], norm: &Norm) {
    let mean = sum(row) / WIDTH as f32;
    for value in row.iter_mut() {
        *value -= mean;
    }
    let factor = 1.0 / (dot(row, row) / WIDTH as f32 + EPSILON).sqrt();
    let (gain, bias) = (&norm.gain[..WIDTH], &norm.bias[..WIDTH]);
    for at in 0..WIDTH {
        row[at] = row[at] * factor * gain[at] + bias[at];
    }
}

/// Returns the mean of all rows, scaled to length one.
#[inline(always)]
fn mean(hidden: &[f32]) -> [f32; WIDTH] {
    let mut mean = [0.0f32; WIDTH];
    for row in hidden.as_chunks::<WIDTH>().0 {
        for at in 0..WIDTH {
            mean[at] += row[at];
        }
    }
    let norm = dot(&mean, &mean).sqrt();
    let factor = if norm > 0.0 { 1.0 / norm } else { 0.0 };
    mean.map(|value| value * factor)
}
