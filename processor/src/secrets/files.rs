//! Access to the stored files of a project, for searches.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use memory_store::index::segment::Segment;
use walkdir::WalkDir;

use crate::collect::archive::{PACK_MAGIC, texts_of};
use crate::private_files::GZIP_MAGIC;

/// Maximum unpacked size of one file that is read.
pub const FILE_BYTES_MAX: u64 = 1 << 30;

/// Returns the files below a folder, without following links. A file that disappears during the scan is not an error,
/// because hooks and other sessions continue to work.
pub fn files(folder: &Path) -> impl Iterator<Item = Result<PathBuf>> + use<> {
    WalkDir::new(folder).follow_root_links(false).into_iter().filter_map(|entry| match entry {
        Ok(entry) => entry.file_type().is_file().then(|| Ok(entry.into_path())),
        Err(error) => {
            let gone = error.io_error().is_some_and(|error| error.kind() == ErrorKind::NotFound);
            (!gone).then(|| Err(error.into()))
        }
    })
}

/// Opens a file, decompresses it if it is compressed, and limits reading to [`FILE_BYTES_MAX`] bytes; `None` if it does
/// not exist.
pub fn open(path: &Path) -> Result<Option<io::Take<Box<dyn Read>>>> {
    let context = || path.display().to_string();
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(context),
    };
    let mut start = Vec::new();
    (&mut file).take(PACK_MAGIC.len() as u64).read_to_end(&mut start).with_context(context)?;
    file.rewind().with_context(context)?;
    let reader: Box<dyn Read> = if start.starts_with(&GZIP_MAGIC) {
        Box::new(GzDecoder::new(file))
    } else if start == PACK_MAGIC {
        Box::new(io::Cursor::new(texts_of(file).with_context(context)?))
    } else if path.extension().is_some_and(|ending| ending == "seg") {
        // The turns in a segment are compressed, but its search structures are not.
        let turns = Segment::inflated_file(path, FILE_BYTES_MAX);
        Box::new(io::Cursor::new(turns).chain(file))
    } else {
        Box::new(file)
    };
    Ok(Some(reader.take(FILE_BYTES_MAX)))
}
