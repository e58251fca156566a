//! A file of JSON objects, one on each line, that a measurement writes.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use memory_store::error::At as _;
use serde::Serialize;

/// The file.
pub struct Lines<'a> {
    file: BufWriter<File>,
    path: &'a Path,
}

impl<'a> Lines<'a> {
    /// Creates the file.
    pub fn create(path: &'a Path) -> Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path).at(path)?), path })
    }

    /// Writes a line.
    pub fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(line).with_context(|| self.path.display().to_string())?;
        Ok(writeln!(self.file, "{text}").at(self.path)?)
    }

    /// Writes the rest of the buffer; unlike dropping the file, this reports errors.
    pub fn end(mut self) -> Result<()> {
        Ok(self.file.flush().at(self.path)?)
    }
}
