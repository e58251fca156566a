//! Sessions that rest move together into a [`Pack`]. In place of its file each leaves a *pointer*, a file of the same
//! name with the name of the pack: who lists the archive sees what was there, and an older version of this program is
//! told that it cannot read it. Where the file of a session is no pointer to a pack, what that has of it does not
//! count.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder, read::GzDecoder};
use serde_json::json;
use tempfile::NamedTempFile;

use super::pack::{self, Member, Pack, damaged};
use super::{
    ASIDE, Archive, Entry, First, HEADER_BYTES_MAX, LEVEL, PACKED_FORMAT, is_damaged, read_first,
    sync_folder, told,
};
use crate::private_files::modified_ns;

/// The end of the name of a pack.
pub(super) const PACK_SUFFIX: &str = ".pack";

/// Packs that are kept in memory, as those who read one session of a pack mostly read another one.
const KEPT_MAX: usize = 2;

/// A pack on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackFile {
    /// Its name without the ending.
    pub id: String,
    /// Its length in bytes.
    pub len: u64,
    /// When it was written, in nanoseconds since 1970.
    pub modified_ns: i128,
}

/// Outcome of packing.
#[derive(Debug, Default)]
pub struct Packed {
    /// The pack and what is in it; `None` where there were too few.
    pub pack: Option<(PackFile, Vec<Member>)>,
    /// Why sessions were left out that cannot be read.
    pub warnings: Vec<String>,
}

impl Archive {
    /// Its packs, by name.
    pub fn packs(&self) -> Result<Vec<PackFile>> {
        let mut packs = Vec::new();
        for (id, _) in self.listing(PACK_SUFFIX)? {
            packs.push(self.pack_file(id)?);
        }
        packs.sort();
        Ok(packs)
    }

    fn pack_file(&self, id: String) -> Result<PackFile> {
        let path = self.pack_path(&id);
        let metadata = fs::metadata(&path).with_context(|| path.display().to_string())?;
        Ok(PackFile { id, len: metadata.len(), modified_ns: modified_ns(&metadata) })
    }

    /// Where a pack is.
    pub fn pack_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}{PACK_SUFFIX}"))
    }

    /// The pack that has the text of a session; `None` where its own file has it, or nothing.
    pub fn pack_of(&self, name: &str) -> Result<Option<String>> {
        let path = self.path(name);
        let Some(mut reader) = super::open(&path)? else { return Ok(None) };
        match read_first(&mut reader) {
            Ok(First::Pack(id)) => Ok(Some(id)),
            Ok(First::Header(_)) => Ok(None),
            Err(error) => Err(told(error, &path)),
        }
    }

    /// Puts together what is read together: first what has files of its own, then pack by pack. To read across packs
    /// would be to decompress them again and again.
    pub fn by_pack<T>(&self, items: Vec<T>, name: impl Fn(&T) -> &str) -> Vec<Vec<T>> {
        if self.packs().is_ok_and(|packs| packs.is_empty()) {
            return vec![items];
        }
        let mut groups: BTreeMap<Option<String>, Vec<T>> = BTreeMap::new();
        for item in items {
            let pack = self.pack_of(name(&item)).ok().flatten();
            groups.entry(pack).or_default().push(item);
        }
        groups.into_values().collect()
    }

    /// Its files as [`Self::entries`] tells them, in the order in which they are read at once.
    pub fn entries_by_pack(&self) -> Result<Vec<Entry>> {
        Ok(self.by_pack(self.entries()?, |entry| &entry.name).concat())
    }

    /// Packs that were put aside because they were damaged.
    pub fn packs_aside(&self) -> Vec<PathBuf> {
        let aside = self.listing(&format!("{PACK_SUFFIX}{ASIDE}")).unwrap_or_default();
        aside.into_iter().map(|(_, file)| file.path()).collect()
    }

    /// What is in a pack, as its index says.
    pub fn members(&self, id: &str) -> Result<Vec<Member>> {
        pack::read_members(&mut self.open_pack(id)?)
            .map_err(|error| told(error, &self.pack_path(id)))
    }

    /// What is in a pack, if all of it is sound and counts; `None` where it is to be taken apart.
    pub fn whole_pack(&self, id: &str) -> Result<Option<Vec<Member>>> {
        let pack = match self.unpack(id) {
            Err(error) if is_damaged(&error) => return Ok(None),
            read => read?,
        };
        for member in &pack.members {
            if !self.points_to(&member.name, id, false)? {
                return Ok(None);
            }
        }
        Ok(Some(pack.members.clone()))
    }

    /// Opens the text of a packed session.
    pub(super) fn open_packed(&self, id: &str, name: &str) -> Result<Box<dyn BufRead>> {
        let pack = self.unpack(id)?;
        let text = pack.text_of(name).ok_or_else(|| damaged("its pack does not have it"))?;
        Ok(Box::new(Cursor::new(text.to_owned())))
    }

    fn open_pack(&self, id: &str) -> Result<BufReader<File>> {
        let path = self.pack_path(id);
        match File::open(&path) {
            Ok(file) => Ok(BufReader::new(file)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(told(damaged("there is no such pack"), &path))
            }
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    /// Reads a pack, or takes it from those that were read before. Others wait meanwhile: mostly for the same one.
    fn unpack(&self, id: &str) -> Result<Arc<Pack>> {
        let mut kept = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pack)) = kept.iter().find(|(known, _)| known == id) {
            return Ok(Arc::clone(pack));
        }
        let path = self.pack_path(id);
        let pack = Pack::read(self.open_pack(id)?).map_err(|error| told(error, &path))?;
        if !pack.is_whole() {
            return Err(told(damaged("texts in it are not what was written"), &path));
        }
        let pack = Arc::new(pack);
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push((id.to_owned(), Arc::clone(&pack)));
        Ok(pack)
    }

    /// Whether the text of a session counts that a pack has; `if_damaged` where nothing can be told of its file.
    fn points_to(&self, name: &str, id: &str, if_damaged: bool) -> Result<bool> {
        match self.pack_of(name) {
            Err(error) if is_damaged(&error) => Ok(if_damaged),
            pack => Ok(pack?.is_some_and(|pack| pack == id)),
        }
    }

    /// Packs the first of these sessions, as many as there is room for. What was packed is read again and compared
    /// before the files go.
    pub fn pack(&self, names: &[String]) -> Result<Packed> {
        let (mut pack, mut packed) = (Pack::default(), Packed::default());
        for name in names {
            match self.plain(name, pack.room()) {
                Ok(Some((text, bytes))) => pack.add(name, bytes, &text),
                Ok(None) if pack.room() < pack::TEXT_BYTES_MAX / 2 => break,
                Ok(None) => {}
                Err(error) => packed.warnings.push(format!("{error:#}")),
            }
        }
        if pack.members.len() < 2 {
            return Ok(packed);
        }
        let mut temporary = self.temporary()?;
        let in_folder = || self.folder.display().to_string();
        let id = pack.write(&mut temporary).with_context(in_folder)?;
        temporary.as_file().sync_all().with_context(in_folder)?;
        let members = pack.members.clone();
        let text = pack.into_text();
        let read = Pack::read(File::open(temporary.path()).with_context(in_folder)?)?;
        anyhow::ensure!(
            read.is_whole() && read.members == members && read.into_text() == text,
            "{}: what was packed was read otherwise; nothing was changed",
            self.folder.display()
        );
        let path = self.pack_path(&id);
        temporary.persist(&path).with_context(|| path.display().to_string())?;
        sync_folder(&self.folder);
        let pointer = json!({ "format": PACKED_FORMAT, "pack": id }).to_string() + "\n";
        for member in &members {
            self.replace_text(&member.name, pointer.as_bytes())?;
        }
        sync_folder(&self.folder);
        packed.pack = Some((self.pack_file(id)?, members));
        Ok(packed)
    }

    /// Reads the text of a session that has a file of its own, and the length of that; `None` where it has none, or
    /// the text is longer than `most`.
    fn plain(&self, name: &str, most: u64) -> Result<Option<(Vec<u8>, u64)>> {
        let path = self.path(name);
        let Some(file) = super::open_file(&path)? else { return Ok(None) };
        let len = file.metadata().with_context(|| path.display().to_string())?.len();
        let mut text = Vec::new();
        let read = GzDecoder::new(file).take(most + 1).read_to_end(&mut text);
        read.map_err(|error| told(error.into(), &path))?;
        if text.len() as u64 > most {
            return Ok(None);
        }
        let mut first = (&text[..]).take(HEADER_BYTES_MAX);
        match read_first(&mut first).map_err(|error| told(error, &path))? {
            First::Header(_) => Ok(Some((text, len))),
            First::Pack(_) => Ok(None),
        }
    }

    /// Writes the sessions of a pack that count into files of their own again, and removes it with all others that it
    /// has. A damaged one is put aside, and what is sound of it written. Returns whether it was sound.
    pub fn take_apart(&self, id: &str) -> Result<bool> {
        let path = self.pack_path(id);
        let pack = match Pack::read(self.open_pack(id)?).map_err(|error| told(error, &path)) {
            Err(error) if is_damaged(&error) => None,
            read => Some(read?),
        };
        for member in pack.iter().flat_map(|pack| &pack.members) {
            let text = pack.as_ref().and_then(|pack| pack.text_of(&member.name));
            // A damaged pointer costs nothing while there is the pack.
            if let Some(text) = text
                && self.points_to(&member.name, id, true)?
            {
                self.replace_text(&member.name, text)?;
            }
        }
        sync_folder(&self.folder);
        let is_whole = pack.is_some_and(|pack| pack.is_whole());
        let gone = if is_whole {
            fs::remove_file(&path)
        } else {
            fs::rename(&path, self.folder.join(format!("{id}{PACK_SUFFIX}{ASIDE}")))
        };
        gone.with_context(|| path.display().to_string())?;
        self.unpacked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        sync_folder(&self.folder);
        Ok(is_whole)
    }

    /// Replaces the file of a session by one with this text, written when that was.
    fn replace_text(&self, name: &str, text: &[u8]) -> Result<()> {
        let path = self.path(name);
        let context = || path.display().to_string();
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
        let mut temporary = self.temporary()?;
        let mut gzip = GzBuilder::new().mtime(0).write(&mut temporary, Compression::new(LEVEL));
        gzip.write_all(text).and_then(|()| gzip.finish()?.flush()).with_context(context)?;
        let file = temporary.as_file();
        modified.and_then(|modified| file.set_modified(modified)).with_context(context)?;
        file.sync_all().with_context(context)?;
        temporary.persist(&path).with_context(context)?;
        Ok(())
    }

    /// Begins a file that is to be renamed once it is whole.
    pub(super) fn temporary(&self) -> Result<NamedTempFile> {
        let file = tempfile::Builder::new().prefix(".writing-").tempfile_in(&self.folder);
        file.with_context(|| self.folder.display().to_string())
    }
}

/// Returns the texts of all sessions in a pack, for those who look for something in it.
pub fn texts_of(file: File) -> Result<Cursor<Vec<u8>>> {
    let pack = Pack::read(file)?;
    if !pack.is_whole() {
        return Err(damaged("texts in it are not what was written"));
    }
    Ok(Cursor::new(pack.into_text()))
}
