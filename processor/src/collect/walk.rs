//! Scan of folders for transcripts. Links are followed, because users move histories to other disks or share them with
//! dotfiles. Each folder and file is read only once, so that loops end.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use memory_store::fs::file_stamp::file_number;

use super::discover::{Discovery, Transcript};
use crate::private_files::modified_ns;
use crate::transcript::SOURCE;
use crate::transcript::name::TranscriptName;

/// Maximum number of transcripts. A year of heavy use produces about ten thousand.
const TRANSCRIPTS_MAX: usize = 200_000;

/// Maximum depth of folders below `projects` that are read.
const DEPTH_MAX: usize = 8;

/// Maximum number of other files and folders that are read through one link. If there are more, the link probably leads
/// to unrelated data.
const BEHIND_LINK_MAX: usize = 20_000;

/// Returns all transcripts below `folder`. Unreadable entries are skipped.
pub fn transcripts_in(folder: &Path) -> Result<Discovery> {
    let mut walk = TranscriptWalk::default();
    walk.enter(folder.to_owned(), 0, None).with_context(|| folder.display().to_string())?;
    while let Some(link) = walk.links.pop_front() {
        walk.follow(link);
    }
    let mut found = walk.found;
    found.transcripts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// A link to a folder.
struct FolderLink {
    path: PathBuf,
    depth: usize,
}

/// State of a scan.
#[derive(Default)]
struct TranscriptWalk {
    found: Discovery,
    /// Folders and files that were found so far, by device and inode.
    met: HashSet<(u64, u64)>,
    /// Links to folders. They are followed last, so that a file is found first by its path without links.
    links: VecDeque<FolderLink>,
}

impl TranscriptWalk {
    /// Scans a folder and the folders below it. `left` is the number of entries that may still be read through a link;
    /// `None` outside of links.
    fn enter(
        &mut self,
        folder: PathBuf,
        depth: usize,
        mut left: Option<&mut usize>,
    ) -> io::Result<()> {
        let metadata = fs::metadata(&folder)?;
        if !self.met.insert(file_number(&metadata)) {
            return Ok(());
        }
        let mut entries: Vec<_> = fs::read_dir(&folder)?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if left.as_deref() == Some(&0) {
                return Ok(());
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let name = SOURCE.name(&path);
            if name.is_none()
                && let Some(left) = left.as_deref_mut()
            {
                *left -= 1;
            }
            if kind.is_dir() {
                if depth + 1 < DEPTH_MAX {
                    let entered = self.enter(path.clone(), depth + 1, left.as_deref_mut());
                    entered.unwrap_or_else(|error| self.miss(path, &error, left.is_some()));
                }
            } else if kind.is_symlink() {
                self.link(path, name, depth);
            } else if let (Some(name), Ok(metadata)) = (name, entry.metadata()) {
                self.take(path, name, &metadata);
            }
        }
        Ok(())
    }

    /// Records a link. A link to a folder is followed later, and a dangling link is ignored.
    fn link(&mut self, path: PathBuf, name: Option<TranscriptName>, depth: usize) {
        match (fs::metadata(&path), name) {
            (Ok(metadata), _) if metadata.is_dir() && depth + 1 < DEPTH_MAX => {
                self.links.push_back(FolderLink { path, depth: depth + 1 });
            }
            (Ok(metadata), Some(name)) => self.take(path, name, &metadata),
            (Ok(_) | Err(_), _) => {}
        }
    }

    fn follow(&mut self, link: FolderLink) {
        let mut left = BEHIND_LINK_MAX;
        let entered = self.enter(link.path.clone(), link.depth, Some(&mut left));
        entered.unwrap_or_else(|error| self.miss(link.path.clone(), &error, true));
        if left == 0 {
            self.found.warnings.push(format!(
                "{}: this link leads to a folder with more than {BEHIND_LINK_MAX} files that are no transcripts; the \
                 rest of it is not looked through. Link to the folder of the transcripts itself",
                link.path.display()
            ));
        }
    }

    fn take(&mut self, path: PathBuf, name: TranscriptName, metadata: &Metadata) {
        let is_full = self.found.transcripts.len() >= TRANSCRIPTS_MAX;
        if !metadata.is_file() || is_full || !self.met.insert(file_number(metadata)) {
            return;
        }
        let modified_ns = modified_ns(metadata);
        self.found.newest_ns = self.found.newest_ns.max(Some(modified_ns));
        let (len, inode) = (metadata.len(), file_number(metadata).1);
        self.found.transcripts.push(Transcript { path, name, len, inode, modified_ns });
    }

    /// Adds an unreadable folder to the warnings. A folder that no longer exists is not reported, because a session may
    /// end and be removed during the scan. Folders behind a link are not reported, because they may belong to other
    /// users.
    fn miss(&mut self, folder: PathBuf, error: &io::Error, is_behind_link: bool) {
        if error.kind() == io::ErrorKind::NotFound || is_behind_link {
            return;
        }
        let told = folder.display();
        self.found
            .warnings
            .push(format!("{told}: {error}; its transcripts are left out until it can be read"));
        self.found.unreadable.push(folder);
    }
}

#[cfg(test)]
mod tests {
    use memory_store::fs::disk::permissions;

    use crate::for_tests::{as_nobody, symlink};

    use super::*;

    #[test]
    fn a_folder_that_cannot_be_looked_at_does_not_keep_the_others() {
        let home = tempfile::tempdir().unwrap();
        let (good, bad) = (home.path().join("a-good"), home.path().join("b-bad"));
        let id = "0a1b2c3d-0000-4000-8000-000000000001";
        for folder in [&good, &bad] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(good.join(format!("{id}.jsonl")), "{}\n").unwrap();
        let open = |path: &Path, mode: u32| {
            fs::set_permissions(path, permissions(mode)).unwrap();
        };
        open(home.path(), 0o755);
        open(&bad, 0o000);
        let found = std::thread::scope(|threads| {
            let look = || {
                as_nobody();
                transcripts_in(home.path())
            };
            threads.spawn(look).join().unwrap().unwrap()
        });
        open(&bad, 0o700);
        assert_eq!(found.transcripts.len(), 1);
        assert_eq!(found.unreadable, std::slice::from_ref(&bad));
        assert!(found.warnings[0].contains(bad.to_str().unwrap()), "{:?}", found.warnings);
    }

    #[test]
    fn links_are_followed_once_and_a_path_of_its_own_comes_first() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        let (projects, dot) = (base.join("projects"), base.join("dot"));
        for (folder, id) in [(projects.join("-x"), "1"), (dot.join("-y"), "2")] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("{id}.jsonl")), "{}\n").unwrap();
        }
        symlink(&base, projects.join("-all")).unwrap();
        symlink(&projects, projects.join("-x/loop")).unwrap();
        symlink("nowhere", projects.join("-dangling")).unwrap();
        symlink(dot.join("-y/2.jsonl"), projects.join("-x/3.jsonl")).unwrap();
        let found = transcripts_in(&projects).unwrap();
        let paths: Vec<&Path> = found.transcripts.iter().map(|it| it.path.as_path()).collect();
        assert_eq!(paths, [projects.join("-x/1.jsonl"), projects.join("-x/3.jsonl")]);
        assert_eq!(found.warnings, Vec::<String>::new());
        fs::remove_file(projects.join("-x/3.jsonl")).unwrap();
        let found = transcripts_in(&projects).unwrap();
        assert_eq!(found.transcripts[0].path, projects.join("-all/dot/-y/2.jsonl"));
    }
}
