//! The file `MODEL` in the folder of models, which lists the embedder's files.
//!
//! The name of each file contains the version of its format and a hash of its contents, so that the files of two builds
//! can be in one folder. `MODEL` names the two files that belong together.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use super::header::damaged;
use memory_store_base::error::{At, Result};

/// The name of the file.
pub const FILE_NAME: &str = "MODEL";

/// First line of the file.
const FIRST_LINE: &str = "throughline model 1";

/// Maximum length of the file.
const BYTES_MAX: u64 = 4096;

/// The names of the embedder's files in the folder of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedderModel {
    /// The table of token vectors.
    pub table: String,
    /// The transformer.
    pub transformer: String,
}

impl EmbedderModel {
    /// Reads the names of the files in `dir`.
    ///
    /// # Errors
    /// Returns an error if `dir` contains no model, or if `MODEL` has another format.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE_NAME);
        let mut text = String::with_capacity(256);
        File::open(&path).at(&path)?.take(BYTES_MAX).read_to_string(&mut text).at(&path)?;
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err(damaged(&path, format!("it should begin with `{FIRST_LINE}`")));
        }
        let name = |key: &str| {
            let mut values = lines.clone().filter_map(|line| line.split_once(' '));
            let (_, name) = values.find(|(name, _)| *name == key)?;
            is_file_name(name).then(|| name.to_owned())
        };
        let model = name("table").zip(name("transformer"));
        let (table, transformer) =
            model.ok_or_else(|| damaged(&path, "it should name a table and a transformer"))?;
        Ok(Self { table, transformer })
    }

    /// Reads the names of the files in `dir`, and compares both files with the hashes in their
    /// names.
    pub fn verify(dir: &Path) -> Result<Self> {
        let model = Self::read(dir)?;
        for (name, kind) in [(&model.table, "table"), (&model.transformer, "transformer")] {
            let path = dir.join(name);
            let bytes = std::fs::read(&path).at(&path)?;
            if *name != super::build::file_name(kind, &bytes) {
                return Err(damaged(&path, "its content is not what its name says"));
            }
        }
        Ok(model)
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        format!("{FIRST_LINE}\ntable {}\ntransformer {}\n", self.table, self.transformer)
    }
}

/// Returns whether a name cannot refer outside its folder.
fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<EmbedderModel> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
        EmbedderModel::read(dir.path())
    }

    #[test]
    fn it_names_two_files_of_its_folder() {
        let text = "throughline model 1\nlater thing\ntransformer b.bin\ntable a.bin\n";
        let model = read(text).unwrap();
        assert_eq!((&*model.table, &*model.transformer), ("a.bin", "b.bin"));
        for text in [
            "",
            "throughline model 2\ntable a.bin\ntransformer b.bin\n",
            "throughline model 1\ntable a.bin\n",
            "throughline model 1\ntable ../a.bin\ntransformer b.bin\n",
            "throughline model 1\ntable /a.bin\ntransformer b.bin\n",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("MODEL: it should"), "{error}");
        }
    }
}
