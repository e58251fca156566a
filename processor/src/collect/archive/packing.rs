//! Moves inactive sessions into a [`SessionPack`], and moves them out again before one of them is changed or removed.
//!
//! A session either has a separate file or is in a pack. Packs are never changed. A file is removed only after the pack
//! with its text has been read back. A pack is removed only after each of its sessions has a file again. A kill can
//! therefore leave a session in both places, with the same content. If both exist, the file counts.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, read::GzDecoder};
use tempfile::NamedTempFile;

use super::pack::{self, PackMember, SessionPack};
use super::{
    ASIDE, Archive, ArchiveEntry, FILE_BYTES_MAX, LEVEL, aside_path, classify_error, each_in,
    ensure_lasting, files_in, is_damaged, open_file, read_header, sync_folder,
};
use crate::private_files::{create_private, remove_if_there};
use crate::transcript::record::Record;

/// Name extension of a pack.
const PACK_SUFFIX: &str = ".pack";

/// Maximum number of packs in memory. It is low because a step reads all sessions of one pack before those of the next.
const PACKS_KEPT_MAX: usize = 2;

/// A pack on disk.
#[derive(Clone, Debug)]
pub struct PackFile {
    /// The file of the pack.
    pub file: ArchiveEntry,
    /// The sessions in the pack; none if they cannot be determined.
    pub members: Arc<[PackMember]>,
    /// Reason why the sessions cannot be read now: an error of the disk, or a later format. A later run may succeed.
    pub unreadable: Option<String>,
    /// Whether the index is damaged.
    is_damaged: bool,
}

/// Packs that were examined earlier.
#[derive(Debug, Default)]
pub(super) struct KnownPacks {
    listed: Vec<PackFile>,
    /// The packs that were read last.
    pub(super) read: Vec<(ArchiveEntry, Arc<SessionPack>)>,
    reads: usize,
}

/// Result of packing.
#[derive(Debug, Default)]
pub struct Packed {
    /// The new pack; `None` if no session could be packed.
    pub file: Option<ArchiveEntry>,
    /// Sessions that must not be tried again while they are unchanged, because they are too long or damaged.
    pub refused: Vec<String>,
    /// Whether other sessions cannot be read now.
    pub has_failed: bool,
}

impl Archive {
    /// Returns the packs, by name.
    pub fn packs(&self) -> Vec<PackFile> {
        let folder = self.packs_folder();
        let files = match each_in(&folder, PACK_SUFFIX) {
            Ok(files) => files,
            Err(error) => {
                let file =
                    ArchiveEntry { name: String::new(), path: folder, len: 0, modified_ns: 0 };
                return vec![PackFile::of(file, Err(error))];
            }
        };
        let mut known = self.known_packs();
        let look = |(path, file): (PathBuf, Result<ArchiveEntry>)| {
            let file = match file {
                Ok(file) => file,
                Err(error) => {
                    let file = ArchiveEntry { name: String::new(), path, len: 0, modified_ns: 0 };
                    return Some(PackFile::of(file, Err(error)));
                }
            };
            let before = known.listed.iter().find(|pack| pack.file == file);
            match before.filter(|pack| pack.unreadable.is_none()) {
                Some(pack) => Some(pack.clone()),
                None => {
                    let members = members_of(&file.path).transpose()?;
                    Some(PackFile::of(file, members))
                }
            }
        };
        let listed: Vec<PackFile> = files.into_iter().filter_map(look).collect();
        known.listed.clone_from(&listed);
        listed
    }

    /// Returns the packs that cannot be read now, with the reasons. Their sessions are not lost, but cannot be changed.
    pub fn unreadable_packs(&self) -> Vec<(PathBuf, String)> {
        let packs = self.packs().into_iter();
        packs.filter_map(|pack| Some((pack.file.path, pack.unreadable?))).collect()
    }

    /// Returns the reason for each pack whose content cannot be determined.
    pub fn unlisted_packs(&self) -> Vec<String> {
        let told = |pack: PackFile| {
            let path = pack.file.path.display();
            let damaged = pack.is_damaged.then(|| {
                format!("{path}: this pack of sessions is damaged; a sync writes again what can be read of it")
            });
            pack.unreadable.or(damaged)
        };
        self.packs().into_iter().filter_map(told).collect()
    }

    /// Returns the damaged packs that were kept aside.
    pub fn packs_aside(&self) -> Vec<PathBuf> {
        let listing = files_in(&self.packs_folder(), ASIDE).unwrap_or_default();
        listing.into_iter().map(|file| file.path).collect()
    }

    /// Returns how many times packs were decompressed to read sessions in them.
    pub fn packs_read(&self) -> usize {
        self.known_packs().reads
    }

    pub(super) fn packs_folder(&self) -> PathBuf {
        self.folder().join("packs")
    }

    pub(super) fn known_packs(&self) -> MutexGuard<'_, KnownPacks> {
        self.known_packs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sorts items so that sessions of the same pack are adjacent and each pack is read only once. Otherwise the order
    /// is unchanged.
    pub fn by_pack<T>(&self, items: &mut [T], name: impl Fn(&T) -> &str) {
        let packs = self.packs();
        if packs.is_empty() {
            return;
        }
        let members = packs.iter().enumerate().flat_map(|(number, pack)| {
            pack.members.iter().map(move |member| (member.name.as_str(), number))
        });
        let pack_of: HashMap<&str, usize> = members.collect();
        let mut first = vec![None; packs.len()];
        let places = items.iter().enumerate().map(|(place, item)| {
            let pack = pack_of.get(name(item));
            let place = pack.map_or(place, |pack| *first[*pack].get_or_insert(place));
            (name(item).to_owned(), place)
        });
        let places: HashMap<String, usize> = places.collect();
        items.sort_by_key(|item| places.get(name(item)).copied());
    }

    /// Returns the text of a session in a pack, and the pack's path; `None` if no pack contains it.
    pub(super) fn packed_text(&self, name: &str) -> Result<Option<(PathBuf, Vec<u8>)>> {
        for PackFile { file, members, .. } in self.packs() {
            if !members.iter().any(|member| member.name == name) {
                continue;
            }
            // The pack may have been unpacked since the listing.
            let Some(pack) = self.read_pack(&file)? else { continue };
            let text = pack.texts().find(|(member, _)| member.name == name);
            let (_, text) = text.ok_or_else(|| {
                classify_error(
                    pack::damage("its text in the pack is not what was written"),
                    &file.path,
                )
            })?;
            return Ok(Some((file.path, text.to_owned())));
        }
        Ok(None)
    }

    /// Returns a pack from memory, or reads it from disk; `None` if the file no longer exists. The lock is kept while
    /// reading, because other threads usually need the same pack.
    fn read_pack(&self, file: &ArchiveEntry) -> Result<Option<Arc<SessionPack>>> {
        let mut known = self.known_packs();
        if let Some((_, pack)) = known.read.iter().find(|(read, _)| read == file) {
            return Ok(Some(Arc::clone(pack)));
        }
        let Some(opened) = open_file(&file.path)? else { return Ok(None) };
        let (pack, _) =
            SessionPack::read(opened).map_err(|error| classify_error(error, &file.path))?;
        let pack = Arc::new(pack);
        known.reads += 1;
        if known.read.len() == PACKS_KEPT_MAX {
            known.read.remove(0);
        }
        known.read.push((file.clone(), Arc::clone(&pack)));
        Ok(Some(pack))
    }

    /// Returns whether the index and every text of a pack are as written.
    pub fn is_sound(&self, file: &ArchiveEntry) -> Result<bool> {
        let Some(opened) = open_file(&file.path)? else { return Ok(true) };
        Ok(SessionPack::read(opened).map_err(|error| classify_error(error, &file.path))?.1)
    }

    /// Packs the first of these sessions, up to the maximum size of a pack. Their files are removed after the pack was
    /// read back from disk and compared.
    pub fn pack(&self, names: &[String]) -> Result<Packed> {
        let (mut pack, mut packed) = (SessionPack::default(), Packed::default());
        for name in names {
            match self.own_text(name, pack::TEXT_BYTES_MAX) {
                Ok(Some((file, text)))
                    if text.len() as u64 <= pack.room() && pack::is_plain(name) =>
                {
                    pack.add(name, &text, (file.len, file.modified_ns));
                }
                // The pack is full; this session is for the next pack.
                Ok(Some((_, text)))
                    if text.len() as u64 <= pack::TEXT_BYTES_MAX && pack::is_plain(name) =>
                {
                    break;
                }
                Ok(None) => {}
                Ok(Some(_)) => packed.refused.push(name.clone()),
                // A sync reports a damaged session when it reads the session.
                Err(error) if is_damaged(&error) => packed.refused.push(name.clone()),
                Err(_) => packed.has_failed = true,
            }
        }
        if pack.is_empty() {
            return Ok(packed);
        }
        let folder = self.packs_folder();
        let in_folder = || folder.display().to_string();
        create_private(&folder)?;
        let mut temporary = self.temporary()?;
        let id = pack.write(&mut temporary).with_context(in_folder)?;
        temporary.as_file().sync_all().with_context(in_folder)?;
        let written = open_file(temporary.path())?.with_context(in_folder)?;
        let (read, is_sound) = SessionPack::read(written).with_context(in_folder)?;
        ensure!(
            is_sound && read.texts().eq(pack.texts()),
            "{}: what was packed was read otherwise; nothing was changed",
            folder.display()
        );
        let path = folder.join(format!("{id}{PACK_SUFFIX}"));
        temporary.persist(&path).with_context(|| path.display().to_string())?;
        let lasting = ensure_lasting(&folder).and_then(|()| ensure_lasting(self.folder()));
        if let Err(error) = lasting {
            remove_if_there(&path)?;
            return Err(error);
        }
        for (member, _) in pack.texts() {
            // A file that was rewritten since differs from the packed one and is kept.
            let is_packed = |file: ArchiveEntry| {
                file.len == member.file_bytes && file.modified_ns == member.modified_ns
            };
            if self.own_entry(&member.name)?.is_some_and(is_packed) {
                remove_if_there(&self.path(&member.name))?;
            }
        }
        packed.file = Some(ArchiveEntry::of(id, path)?);
        Ok(packed)
    }

    /// Unpacks packs that are damaged, and packs with a session that is also stored elsewhere. Sessions are stored
    /// twice after a kill, after a backup was restored, and after a version without packs read transcripts again. Reads
    /// all packs, except those for which `believed` returns true. Each writer of sessions must call this function
    /// first. Otherwise, if a session has two texts, the writer would read one of them and replace both. Returns the
    /// packs that were kept aside, and the errors of packs that cannot be read or unpacked now.
    pub fn take_stale_apart(
        &self,
        believed: impl Fn(&ArchiveEntry) -> bool,
    ) -> (Vec<PathBuf>, Vec<(PathBuf, anyhow::Error)>) {
        let (mut aside, mut faults) = (Vec::new(), Vec::new());
        let packs = self.packs();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for member in packs.iter().flat_map(|pack| &*pack.members) {
            *places.entry(&member.name).or_default() += 1;
        }
        let is_twice =
            |member: &PackMember| places[&*member.name] > 1 || self.path(&member.name).exists();
        let settle = |pack: &PackFile| {
            if let Some(why) = &pack.unreadable {
                anyhow::bail!(why.clone());
            }
            let is_stale = pack.is_damaged || pack.members.iter().any(is_twice);
            if is_stale || !believed(&pack.file) && !self.is_sound(&pack.file)? {
                return self.take_apart(&pack.file);
            }
            Ok(None)
        };
        for pack in &packs {
            match settle(pack) {
                Ok(path) => aside.extend(path),
                Err(error) => faults.push((pack.file.path.clone(), error)),
            }
        }
        (aside, faults)
    }

    /// Unpacks the packs that contain a session, so that its file can be replaced or removed and no other copy remains.
    /// Returns the path at which a damaged pack is kept aside; `None` if there is none.
    pub fn take_out(&self, name: &str) -> Result<Option<PathBuf>> {
        let mut place = None;
        let has = |pack: &PackFile| pack.members.iter().any(|member| member.name == name);
        while let Some(pack) = self.packs().into_iter().find(has) {
            place = Some(self.take_apart(&pack.file)?.unwrap_or(pack.file.path));
        }
        Ok(place)
    }

    /// Writes the readable sessions of a pack to separate files, and removes the pack. If a text is damaged, the pack
    /// is kept aside instead, and its new path is returned. On failure the pack stays, and the written files are
    /// removed.
    pub fn take_apart(&self, file: &ArchiveEntry) -> Result<Option<PathBuf>> {
        let mut known = self.known_packs();
        let context = || file.path.display().to_string();
        let Some(opened) = open_file(&file.path)? else { return Ok(None) };
        let (pack, is_sound) = SessionPack::read(opened).with_context(context)?;
        let folder = self.packs_folder();
        let mut written = Vec::new();
        let mut take = || {
            for (member, text) in pack.texts() {
                if self.write_out(member, text)? {
                    written.push(&member.name);
                }
            }
            ensure_lasting(self.folder())?;
            if is_sound || pack.is_whole() {
                fs::remove_file(&file.path).with_context(context)?;
                return Ok(None);
            }
            let aside = aside_path(&folder, &format!("{}{PACK_SUFFIX}", file.name));
            fs::rename(&file.path, &aside).with_context(context)?;
            Ok(Some(aside))
        };
        let taken = take();
        if taken.is_err() && fs::symlink_metadata(&file.path).is_ok() {
            // If a written file cannot be removed, it has the same content as the pack.
            written.into_iter().for_each(|name| drop(remove_if_there(&self.path(name))));
            return taken;
        }
        known.read.retain(|(read, _)| read != file);
        sync_folder(&folder);
        taken
    }

    /// Writes a session of a pack to a separate file. Returns whether there was none before. If the file exists,
    /// records that only the pack contains are added to it.
    fn write_out(&self, member: &PackMember, text: &[u8]) -> Result<bool> {
        let name = &member.name;
        let own = match self.own_text(name, FILE_BYTES_MAX) {
            Err(error) if is_damaged(&error) => {
                self.put_own_aside(name)?;
                None
            }
            own => own?,
        };
        let Some((_, own)) = own else {
            let modified = u64::try_from(member.modified_ns).ok().map(Duration::from_nanos);
            let modified = modified.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
            self.write_text(name, text, modified)?;
            return Ok(true);
        };
        ensure!(
            own.len() as u64 <= FILE_BYTES_MAX,
            "{}: it is too long",
            self.path(name).display()
        );
        let united = united(text, &own);
        if united == own {
            // The file may be from a backup, so its content may not be durable yet.
            let path = self.path(name);
            let file = open_file(&path)?.with_context(|| path.display().to_string())?;
            file.sync_all().with_context(|| path.display().to_string())?;
        } else {
            self.write_text(name, &united, None)?;
        }
        Ok(false)
    }

    /// Returns the text of a session's separate file, and the file's entry; `None` if the session has none. A text
    /// longer than `most` bytes is truncated to `most` plus one.
    fn own_text(&self, name: &str, most: u64) -> Result<Option<(ArchiveEntry, Vec<u8>)>> {
        let path = self.path(name);
        let Some(entry) = self.own_entry(name)? else { return Ok(None) };
        let Some(file) = open_file(&path)? else { return Ok(None) };
        let mut text = Vec::new();
        let read = GzDecoder::new(file).take(most + 1).read_to_end(&mut text);
        read.map_err(|error| classify_error(error.into(), &path))?;
        read_header(&mut &text[..]).map_err(|error| classify_error(error, &path))?;
        Ok(Some((entry, text)))
    }

    /// Replaces the file of a session with this text. The new file is read back before it is renamed.
    fn write_text(&self, name: &str, text: &[u8], modified: Option<SystemTime>) -> Result<()> {
        let path = self.path(name);
        let context = || path.display().to_string();
        self.kept().remove(name);
        let bytes =
            crate::private_files::pack(text, Compression::new(LEVEL)).with_context(context)?;
        let mut temporary = self.temporary()?;
        temporary.write_all(&bytes).with_context(context)?;
        if let Some(modified) = modified {
            temporary.as_file().set_modified(modified).with_context(context)?;
        }
        temporary.as_file().sync_all().with_context(context)?;
        let mut read = Vec::new();
        let written = open_file(temporary.path())?.with_context(context)?;
        GzDecoder::new(written).read_to_end(&mut read).with_context(context)?;
        ensure!(read == text, "{}: what was written was read otherwise", path.display());
        temporary.persist(&path).with_context(context)?;
        Ok(())
    }

    /// Creates a temporary file, which is renamed once it is complete.
    pub(super) fn temporary(&self) -> Result<NamedTempFile> {
        let file = tempfile::Builder::new().prefix(".writing-").tempfile_in(self.folder());
        file.with_context(|| self.folder().display().to_string())
    }
}

impl PackFile {
    fn of(file: ArchiveEntry, members: Result<Vec<PackMember>>) -> Self {
        let members = members.map_err(|error| classify_error(error, &file.path));
        let is_damaged = members.as_ref().is_err_and(is_damaged);
        let (members, unreadable) = match members {
            Ok(members) => (members, None),
            Err(_) if is_damaged => (Vec::new(), None),
            Err(error) => {
                let why = format!(
                    "{}: this pack of sessions cannot be read now ({:#}); what is known of them stays as it is",
                    file.path.display(),
                    error.root_cause()
                );
                (Vec::new(), Some(why))
            }
        };
        Self { file, members: members.into(), unreadable, is_damaged }
    }
}

/// Returns the sessions in a pack; `None` if the file no longer exists.
fn members_of(path: &Path) -> Result<Option<Vec<PackMember>>> {
    match open_file(path) {
        Ok(Some(mut file)) => pack::read_index(&mut file).map(Some),
        Ok(None) => Ok(None),
        // A folder at the path is not a pack, but cannot be moved aside like a damaged pack.
        Err(error) => Err(io::Error::other(format!("{:#}", error.root_cause())).into()),
    }
}

/// Returns whether the content of a pack can be determined.
pub fn lists_pack(path: &Path) -> bool {
    matches!(members_of(path), Ok(Some(_)))
}

/// Merges two texts of one session. The result is the text with more parts, or else with more lines, followed by the
/// records that only the other text contains.
fn united(packed: &[u8], own: &[u8]) -> Vec<u8> {
    let rank = |text: &[u8]| {
        let header = read_header(&mut { text });
        (header.map_or(0, |header| header.parts), lines(text).count())
    };
    let (base, other) = if rank(packed) > rank(own) { (packed, own) } else { (own, packed) };
    let known: HashSet<Vec<u8>> = lines(base).map(key).collect();
    let mut united = base.to_vec();
    lines(other).filter(|line| !known.contains(&key(line))).for_each(|line| united.extend(line));
    united
}

/// Returns the lines after the header.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').skip(1)
}

/// Returns a key that is equal for two lines with the same record. A line that is not a record, or whose record has no
/// uuid, is its own key.
fn key(line: &[u8]) -> Vec<u8> {
    match serde_json::from_slice::<Record>(line) {
        Ok(record) if !record.uuid.is_empty() => {
            [record.uuid.as_bytes(), &record.part.to_le_bytes()].concat()
        }
        _ => line.to_vec(),
    }
}

/// Returns the texts of all sessions in a pack, for searches.
pub fn texts_of(file: fs::File) -> Result<Vec<u8>> {
    let (pack, is_sound) = SessionPack::read(file)?;
    ensure!(is_sound, "this pack of sessions is damaged");
    Ok(pack.texts().map(|(_, text)| text).collect::<Vec<_>>().concat())
}
