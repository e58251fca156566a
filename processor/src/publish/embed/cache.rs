//! Cache of the transformer's vectors of texts.

use std::path::Path;

use anyhow::Result;
use memory_store::custom_embedder::TextHash;
use memory_store::embed::{DIMENSIONS, Space, Vector};

use super::records::{HEADER, Records};

/// First bytes of a cache, with the version of its format. The id of the space follows.
const MAGIC: [u8; 8] = *b"TLVECS\x001";

/// An open cache.
#[derive(Debug)]
pub struct VectorCache(Records);

impl VectorCache {
    /// Opens the cache in the file `path`. A cache of another space is emptied.
    pub fn open(path: &Path, space: Space) -> Result<Self> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..].copy_from_slice(&space.0);
        Ok(Self(Records::open(path, header, DIMENSIONS)?))
    }

    /// Returns the transformer's vector of a text.
    pub fn get(&self, text: &str) -> Option<Vector> {
        let components = self.0.get(TextHash::of(text))?;
        let components: [u8; DIMENSIONS] = components.try_into().ok()?;
        Some(Vector(components.map(u8::cast_signed)))
    }

    /// Returns whether the cache has a vector of a text.
    pub fn has(&self, text: &str) -> bool {
        self.0.has(TextHash::of(text))
    }

    /// Adds the transformer's vectors of some texts.
    pub fn add(&mut self, made: &[(&str, Vector)]) -> Result<()> {
        let bytes: Vec<[u8; DIMENSIONS]> =
            made.iter().map(|(_, vector)| vector.0.map(i8::cast_unsigned)).collect();
        let made = made.iter().zip(&bytes);
        self.0.add(made.map(|((text, _), bytes)| (TextHash::of(text), &bytes[..])))
    }
}
