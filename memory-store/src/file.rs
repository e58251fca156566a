//! Memory files: YAML front matter and a Markdown body.
//!
//! People may edit a file. Parsing is lenient, and a rewrite changes only the lines of our keys whose values changed:
//! the body, comments, the order of keys, unknown keys and line endings are preserved byte for byte. If this is
//! impossible, the file is not rewritten.

mod edit;
mod engine;
mod fields;
mod front;
mod heading;
mod merge;
mod name;
mod redacted;
mod split;
mod yaml;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::memory::Memory;

pub use merge::{MergedFront, merge};
pub use name::{EXTENSION, file_name};
pub use redacted::parts;
pub use split::FRONT_BYTES_MAX;

use split::FileFault;
use yaml::Style;

/// Maximum size of a memory file in bytes.
pub const FILE_BYTES_MAX: usize = 256 << 10;

/// A memory with the bytes of its file.
#[derive(Clone, Debug)]
pub struct MemoryFile {
    /// The memory in the file.
    pub memory: Memory,
    path: PathBuf,
    text: String,
}

impl MemoryFile {
    /// Parses a memory file. An error names the file, the line and the column.
    pub fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let before = String::from_utf8_lossy(&bytes[..valid]).into_owned();
                return Err(invalid(path, &before, &FileFault::new(valid, "this is no UTF-8")));
            }
        };
        let memory = read(&text).map_err(|fault| invalid(path, &text, &fault))?;
        Ok(Self { memory, path: path.to_owned(), text })
    }

    /// Creates the file of a new memory. The memory is normalised: its title is one line, and its body has no blank
    /// lines at the start or end.
    pub fn new(memory: Memory) -> Result<Self> {
        let path = PathBuf::from(file_name(&memory));
        let memory = normal_form(memory);
        // Memories come from transcripts and may contain any text. Therefore the text is parsed before it is used, to
        // ensure that it contains the same memory.
        let mut fault = FileFault::new(0, "its text does not survive being written as YAML");
        for style in Style::ALL {
            let text = new_text(&memory, style).map_err(|fault| invalid(&path, "", &fault))?;
            match read(&text) {
                Ok(read_back) if read_back == memory => return Ok(Self { memory, path, text }),
                Ok(_) => {}
                Err(found) => fault = found,
            }
        }
        Err(invalid(&path, "", &fault))
    }

    /// Returns the text that [`MemoryFile::new`] tries first. Parsing it may result in a different memory.
    pub(crate) fn first_form(memory: &Memory) -> Option<String> {
        new_text(&normal_form(memory.clone()), Style::ALL[0]).ok()
    }

    /// Changes the file in place so that it contains `memory`. Only the program's keys that changed are rewritten. If
    /// other data would be lost, returns an error and changes nothing.
    pub fn set(&mut self, memory: &Memory) -> Result<()> {
        let memory = normal_form(memory.clone());
        if memory == self.memory {
            return Ok(());
        }
        let text = edit::rewrite(&self.text, &self.memory, &memory)
            .map_err(|fault| invalid(&self.path, &self.text, &fault))?;
        self.text = text;
        self.memory = memory;
        Ok(())
    }

    /// Replaces the status `draft`, which version 0.1.0 wrote, by `held`. Nothing else in the file changes. Returns
    /// whether the file contained `draft`.
    pub(crate) fn renew_status(&mut self) -> Result<bool> {
        let fault = |fault: FileFault| invalid(&self.path, &self.text, &fault);
        let front = split::split(&self.text).map_err(fault)?.front;
        let root = yaml::read(&self.text[front.clone()]).map_err(fault)?;
        let Some(status) = root.get("status").filter(|status| status.is_text("draft")) else {
            return Ok(false);
        };
        let place = front.start + status.span.start..front.start + status.span.end;
        let text = format!("{}held{}", &self.text[..place.start], &self.text[place.end..]);
        let renewed = Self::parse(&self.path, text.into_bytes())?;
        if renewed.memory != self.memory {
            return Err(fault(FileFault::new(
                place.start,
                "its status cannot be renewed in place",
            )));
        }
        *self = renewed;
        Ok(true)
    }

    /// Returns the text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn new_text(memory: &Memory, style: Style) -> Result<String, FileFault> {
    let front = front::write(memory, style).map_err(|message| FileFault::new(0, message))?;
    let body = heading::write(&memory.title, &memory.body, "\n");
    Ok(format!("---\n{front}---\n{body}"))
}

/// Returns a memory in the normal form for a file.
fn normal_form(mut memory: Memory) -> Memory {
    memory.title = heading::one_line(&memory.title);
    memory.body = heading::plain_text(&memory.body);
    memory.confidence = match memory.confidence {
        confidence if confidence.is_finite() => {
            (confidence.clamp(0.0, 1.0) * CONFIDENCE_STEPS).round() / CONFIDENCE_STEPS
        }
        _ => 0.0,
    };
    memory
}

/// Number of steps between no confidence and full confidence, so that files contain no rounding errors.
const CONFIDENCE_STEPS: f32 = 1000.0;

fn read(text: &str) -> Result<Memory, FileFault> {
    if text.len() > FILE_BYTES_MAX {
        let limit = FILE_BYTES_MAX >> 10;
        return Err(FileFault::new(FILE_BYTES_MAX, format!("the file is longer than {limit} KiB")));
    }
    let split = split::split(text)?;
    let front_text = &text[split.front.clone()];
    let body = heading::read(&text[split.body]);
    let front = match engine::read(front_text) {
        Ok(front) => front,
        Err(message) => {
            // Only an invalid file is parsed a second time, to find the position of the error.
            let fault = yaml::read(front_text).err().unwrap_or(FileFault::new(0, message));
            return Err(FileFault::new(split.front.start + fault.offset, fault.message));
        }
    };
    fields::memory(&front, body.title, body.text).map_err(|wrong| {
        let offset = yaml::read(front_text).map_or(0, |root| root.locate(&wrong.path));
        FileFault::new(split.front.start + offset, wrong.to_string())
    })
}

fn invalid(path: &Path, text: &str, fault: &FileFault) -> Error {
    Error::Memory {
        path: path.to_owned(),
        place: split::place(text, fault.offset),
        message: fault.message.clone(),
    }
}
