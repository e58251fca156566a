//! The transformer's weights, in its file and in memory.

use std::sync::Arc;

use super::kernel::PANEL;
use super::math;
use crate::bytes::Cursor;
use crate::bytes::DIMENSIONS;
use crate::embed::piece::FilePiece;

/// Number of values of a token between layers.
pub const WIDTH: usize = 384;
/// Number of values of a token in the feed-forward part of a layer.
pub const INNER: usize = 1536;
/// Maximum number of tokens of a text, which have different positions.
pub const POSITIONS: usize = 128;
/// Number of attention heads.
pub(crate) const HEADS: usize = 12;
/// Number of values of a head.
pub const HEAD: usize = WIDTH / HEADS;

/// Maximum number of layers in a file.
const LAYERS_MAX: u32 = 48;

/// All weights except the token vectors.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Position embeddings: [`POSITIONS`] rows of [`WIDTH`] values.
    pub positions: Vec<f32>,
    /// Norm that is applied to the sum of token and position.
    pub norm: Norm,
    /// The layers.
    pub layers: Vec<Layer>,
    /// Projection of the transformer's own vectors to the shared space.
    pub projection: Projection,
}

/// One layer of the transformer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Map to the queries, keys and values of all heads, in this order. Queries are already multiplied by the
    /// reciprocal square root of [`HEAD`].
    pub attention: Linear,
    /// Map from the results of the heads to the token's values.
    pub output: Linear,
    /// Norm that is applied after the attention.
    pub attention_norm: Norm,
    /// Map from [`WIDTH`] to [`INNER`] values.
    pub widen: Linear,
    /// Map from [`INNER`] to [`WIDTH`] values.
    pub narrow: Linear,
    /// Norm that is applied at the end of the layer.
    pub norm: Norm,
}

/// A layer norm (Ba, Kiros and Hinton 2016).
#[derive(Clone, Debug)]
pub struct Norm {
    /// Factor of each value.
    pub gain: Vec<f32>,
    /// Number that is added to each value.
    pub bias: Vec<f32>,
}

/// A linear map with int8 weights, and a scale for each output channel.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Scale of each channel.
    pub scales: Vec<f32>,
    /// Number that is added to each channel.
    pub bias: Vec<f32>,
    /// The weights in the order of the kernels; see [`super::kernel::Kernel::tile`].
    pub panels: FilePiece,
}

/// Projection of the transformer's own vectors to the shared space, `matrix * (pooled - mean)`.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Mean of the transformer's vectors, with [`WIDTH`] values.
    pub mean: Vec<f32>,
    /// [`DIMENSIONS`] rows of [`WIDTH`] values.
    pub matrix: Vec<f32>,
}

impl Linear {
    /// Quantises a map. `weights` contains a row of `inputs` values for each channel.
    ///
    /// # Panics
    /// If the number of channels is not a multiple of [`PANEL`], or the number of inputs is odd.
    pub fn new(weights: &[f32], bias: &[f32], inputs: usize) -> Self {
        let channels = bias.len();
        assert!(channels.is_multiple_of(PANEL) && inputs.is_multiple_of(2));
        assert_eq!(weights.len(), channels * inputs);
        let (scales, steps): (Vec<f32>, Vec<Vec<i8>>) =
            weights.chunks_exact(inputs).map(crate::embed::build::steps).unzip();
        let mut panels = Vec::with_capacity(weights.len());
        for panel in steps.chunks_exact(PANEL) {
            for pair in 0..inputs / 2 {
                for channel in panel {
                    panels.extend([channel[2 * pair] as u8, channel[2 * pair + 1] as u8]);
                }
            }
        }
        Self { scales, bias: bias.to_vec(), panels: panels.into() }
    }

    /// Returns the number of bytes of a panel.
    pub(crate) fn panel_bytes(&self) -> usize {
        self.panels.len() / (self.scales.len() / PANEL)
    }

    fn decode(reader: &mut WeightReader<'_>, channels: usize, inputs: usize) -> Option<Self> {
        Some(Self {
            scales: reader.floats(channels)?,
            bias: reader.floats(channels)?,
            panels: reader.piece(channels * inputs)?,
        })
    }
}

impl Norm {
    fn decode(reader: &mut WeightReader<'_>) -> Option<Self> {
        Some(Self { gain: reader.floats(WIDTH)?, bias: reader.floats(WIDTH)? })
    }
}

impl Projection {
    /// Returns the projection to the first axes of the transformer's own space, which is used before a projection is
    /// fitted.
    pub fn first_axes() -> Self {
        let mut matrix = vec![0.0; DIMENSIONS * WIDTH];
        (0..DIMENSIONS).for_each(|axis| matrix[axis * WIDTH + axis] = 1.0);
        Self { mean: vec![0.0; WIDTH], matrix }
    }

    /// Computes the components of a vector in the shared space from the transformer's own vector.
    pub(crate) fn apply(&self, pooled: &[f32; WIDTH], components: &mut [f32; DIMENSIONS]) {
        let mut centred = *pooled;
        for (value, mean) in centred.iter_mut().zip(&self.mean) {
            *value -= mean;
        }
        for (component, row) in components.iter_mut().zip(self.matrix.as_chunks::<WIDTH>().0) {
            *component = math::dot(row, &centred);
        }
    }
}

impl Weights {
    /// Reads the weights of a file; `None` if they are invalid.
    pub(crate) fn decode(bytes: &FilePiece) -> Option<Self> {
        let mut reader = WeightReader { cursor: Cursor(bytes), all: bytes };
        let layers = reader.cursor.u32().filter(|&layers| layers <= LAYERS_MAX)?;
        let shape = [WIDTH, INNER, HEADS, POSITIONS, DIMENSIONS];
        for expected in shape {
            reader.cursor.u32().filter(|&found| found as usize == expected)?;
        }
        Some(Self {
            positions: reader.floats(POSITIONS * WIDTH)?,
            norm: Norm::decode(&mut reader)?,
            layers: (0..layers).map(|_| Layer::decode(&mut reader)).collect::<Option<_>>()?,
            projection: Projection {
                mean: reader.floats(WIDTH)?,
                matrix: reader.floats(DIMENSIONS * WIDTH)?,
            },
        })
    }

    /// Appends the weights as they are in a file.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let shape = [self.layers.len(), WIDTH, INNER, HEADS, POSITIONS, DIMENSIONS];
        shape.iter().for_each(|&number| out.extend_from_slice(&(number as u32).to_le_bytes()));
        put(out, &self.positions);
        self.norm.encode(out);
        for layer in &self.layers {
            layer.attention.encode(out);
            layer.output.encode(out);
            layer.attention_norm.encode(out);
            layer.widen.encode(out);
            layer.narrow.encode(out);
            layer.norm.encode(out);
        }
        put(out, &self.projection.mean);
        put(out, &self.projection.matrix);
    }
}

impl Linear {
    fn encode(&self, out: &mut Vec<u8>) {
        put(out, &self.scales);
        put(out, &self.bias);
        out.extend_from_slice(&self.panels);
    }
}

impl Norm {
    fn encode(&self, out: &mut Vec<u8>) {
        put(out, &self.gain);
        put(out, &self.bias);
    }
}

fn put(out: &mut Vec<u8>, numbers: &[f32]) {
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

impl Layer {
    fn decode(reader: &mut WeightReader<'_>) -> Option<Self> {
        Some(Self {
            attention: Linear::decode(reader, 3 * WIDTH, WIDTH)?,
            output: Linear::decode(reader, WIDTH, WIDTH)?,
            attention_norm: Norm::decode(reader)?,
            widen: Linear::decode(reader, INNER, WIDTH)?,
            narrow: Linear::decode(reader, WIDTH, INNER)?,
            norm: Norm::decode(reader)?,
        })
    }
}

struct WeightReader<'a> {
    cursor: Cursor<'a>,
    all: &'a FilePiece,
}

impl WeightReader<'_> {
    /// Takes bytes. Those of a mapped file are not copied.
    fn piece(&mut self, count: usize) -> Option<FilePiece> {
        let at = self.all.len() - self.cursor.0.len();
        let bytes = self.cursor.take(count)?;
        Some(match self.all {
            FilePiece::Owned(_) => bytes.to_vec().into(),
            FilePiece::Mapped(map, range) => {
                let start = range.start + at;
                FilePiece::Mapped(Arc::clone(map), start..start + count)
            }
        })
    }

    /// Takes floats; `None` if one of them is not finite.
    fn floats(&mut self, count: usize) -> Option<Vec<f32>> {
        let bytes = self.cursor.take(count.checked_mul(4)?)?;
        let numbers = bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
        numbers.map(|number| number.is_finite().then_some(number)).collect()
    }
}
