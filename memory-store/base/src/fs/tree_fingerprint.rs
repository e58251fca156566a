//! Fingerprint of a working tree, which reveals whether a folder is still the trusted one.
//!
//! A path may later belong to another folder: another clone, or a folder of another user. Therefore the root of a
//! working tree and its `.git` are identified by creation time and owner. Device numbers are unsuitable, because they
//! may change when a machine restarts.

use std::fmt;
use std::path::Path;

use super::process::user;

/// Identity of a working tree's root and its `.git`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFingerprint {
    folder: FileMark,
    git: Option<FileMark>,
}

/// Identity of a file or folder among all that have had its path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileMark {
    /// Creation time, or the inode if the file system does not store creation times.
    birth: Birth,
    /// Id of the owner.
    owner: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Birth {
    /// Seconds since 1970, and nanoseconds.
    At(i64, u32),
    Inode(u64),
}

impl TreeFingerprint {
    /// Returns the fingerprint of a working tree; `None` if the tree does not exist. This takes two system calls.
    pub fn of(root: &Path) -> Option<Self> {
        Some(Self { folder: FileMark::of(root)?, git: FileMark::of(&root.join(".git")) })
    }

    /// Parses the output of [`fmt::Display`]; `None` if it is not valid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let folder = FileMark::parse(&mut parts)?;
        let git = match parts.clone().next() {
            Some(_) => Some(FileMark::parse(&mut parts)?),
            None => None,
        };
        parts.next().is_none().then_some(Self { folder, git })
    }

    /// Returns whether the working tree with the fingerprint `now` is still the trusted one. A tree without git may
    /// have become a repository since, if the repository has the same owner.
    pub fn holds(&self, now: &Self) -> bool {
        let git = match (&self.git, &now.git) {
            (Some(git), Some(now)) => git.holds(now),
            (Some(_), None) => false,
            (None, now) => now.as_ref().is_none_or(|now| is_owner(now.owner, self.folder.owner)),
        };
        git && self.folder.holds(&now.folder)
    }

    /// Returns whether root and `.git` belong to the owner of another working tree, or to the user of this program.
    pub fn is_owned_as(&self, other: &Self) -> bool {
        self.is_owned_by(other.folder.owner)
    }

    fn is_owned_by(&self, owner: u32) -> bool {
        [Some(&self.folder), self.git.as_ref()]
            .into_iter()
            .flatten()
            .all(|mark| is_owner(mark.owner, owner))
    }

    /// Returns whether root and `.git` belong to the user of this program.
    pub fn is_ours(&self) -> bool {
        self.is_owned_by(user())
    }

    /// Returns whether the working tree has a `.git`.
    pub const fn has_git(&self) -> bool {
        self.git.is_some()
    }
}

impl fmt::Display for TreeFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.folder)?;
        self.git.as_ref().map_or(Ok(()), |git| write!(f, " {git}"))
    }
}

/// Returns a key made of creation time and inode. It is unique among the folders of this machine and independent of the
/// path. `None` if the file system does not store creation times.
pub fn folder_key(path: &Path) -> Option<String> {
    match sys::look(path)? {
        (FileMark { birth: Birth::At(seconds, ns), .. }, inode) => {
            Some(format!("{seconds}.{ns:09} {inode}"))
        }
        (FileMark { birth: Birth::Inode(_), .. }, _) => None,
    }
}

/// Returns the creation time of a file or folder in milliseconds since 1970; `None` if the file system does not store
/// it.
pub fn born_ms(path: &Path) -> Option<i64> {
    match sys::look(path)?.0.birth {
        Birth::At(seconds, ns) => Some(seconds * 1000 + i64::from(ns) / 1_000_000),
        Birth::Inode(_) => None,
    }
}

impl FileMark {
    fn of(path: &Path) -> Option<Self> {
        sys::look(path).map(|(mark, _)| mark)
    }

    fn parse<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<Self> {
        let (birth, owner) = (parts.next()?, parts.next()?.parse().ok()?);
        let birth = match birth.split_once('.') {
            Some((seconds, ns)) => Birth::At(seconds.parse().ok()?, ns.parse().ok()?),
            None => Birth::Inode(birth.parse().ok()?),
        };
        Some(Self { birth, owner })
    }

    fn holds(&self, now: &Self) -> bool {
        self.birth == now.birth && is_owner(now.owner, self.owner)
    }
}

impl fmt::Display for FileMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.birth {
            Birth::At(seconds, ns) => write!(f, "{seconds}.{ns:09} {}", self.owner),
            Birth::Inode(inode) => write!(f, "{inode} {}", self.owner),
        }
    }
}

/// Returns whether the owner of a file is still the same or is the user of this program, because user ids differ in
/// containers.
fn is_owner(now: u32, before: u32) -> bool {
    now == before || now == user()
}

/// The finding that another folder is at the path of a trusted working tree. Background work records it, and hooks
/// announce it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedTree {
    /// Fingerprint of the folder that was found.
    pub fingerprint: TreeFingerprint,
    /// Reason why the folder is not the trusted one.
    pub why: String,
}

impl UntrustedTree {
    /// Reads a finding; `None` if there is none.
    pub fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let (fingerprint, why) = text.trim_end().split_once('\n')?;
        Some(Self { fingerprint: TreeFingerprint::parse(fingerprint)?, why: why.to_owned() })
    }

    /// Returns the contents of the file for this finding: two lines.
    pub fn text(&self) -> String {
        format!("{}\n{}\n", self.fingerprint, self.why)
    }
}

#[cfg(target_os = "linux")]
mod sys {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::{Birth, FileMark};

    /// The 256 bytes that statx(2) returns.
    #[derive(Default)]
    #[repr(C)]
    struct StatResult {
        mask: u32,
        _block_size: u32,
        _attributes: u64,
        _links: u32,
        owner: u32,
        _group: u32,
        _mode: [u16; 2],
        inode: u64,
        _size: [u64; 3],
        _access: Time,
        birth: Time,
        _rest: [u64; 20],
    }

    #[derive(Default)]
    #[repr(C)]
    struct Time {
        seconds: i64,
        ns: u32,
        _unused: i32,
    }

    const _: () = assert!(size_of::<StatResult>() == 256);

    const STATX_UID: u32 = 0x8;
    const STATX_INO: u32 = 0x100;
    const STATX_BTIME: u32 = 0x800;

    /// Returns the identity of a file or folder, and its inode; `None` if it does not exist.
    pub(crate) fn look(path: &Path) -> Option<(FileMark, u64)> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        let mut found = StatResult::default();
        // SAFETY: the path ends with a zero byte, and the structure has the size that the call writes.
        let failed = unsafe {
            libc::syscall(
                libc::SYS_statx,
                libc::AT_FDCWD,
                name.as_ptr(),
                libc::AT_SYMLINK_NOFOLLOW,
                STATX_UID | STATX_INO | STATX_BTIME,
                &raw mut found,
            )
        } != 0;
        if failed {
            // The call is missing in Linux before 4.11, and some containers do not permit it.
            let found = std::fs::symlink_metadata(path).ok()?;
            let mark = FileMark { birth: Birth::Inode(found.ino()), owner: found.uid() };
            return Some((mark, found.ino()));
        }
        let birth = match found.mask & STATX_BTIME {
            0 => Birth::Inode(found.inode),
            _ => Birth::At(found.birth.seconds, found.birth.ns),
        };
        Some((FileMark { birth, owner: found.owner }, found.inode))
    }
}

#[cfg(not(target_os = "linux"))]
mod sys {
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::time::UNIX_EPOCH;

    use super::{Birth, FileMark};

    /// Returns the identity of a file or folder, and its inode; `None` if it does not exist.
    pub(crate) fn look(path: &Path) -> Option<(FileMark, u64)> {
        let found = std::fs::symlink_metadata(path).ok()?;
        let born = found.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born = born.and_then(|born| Some((i64::try_from(born.as_secs()).ok()?, born)));
        let birth = match born {
            Some((seconds, born)) => Birth::At(seconds, born.subsec_nanos()),
            None => Birth::Inode(found.ino()),
        };
        Some((FileMark { birth, owner: found.uid() }, found.ino()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_seal_holds_for_the_same_folder_only() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("work");
        fs::create_dir(&root).unwrap();
        let bare = TreeFingerprint::of(&root).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        let sealed = TreeFingerprint::of(&root).unwrap();
        // A folder may become a repository and be worked in, but it may not lose its `.git`.
        assert!(bare.holds(&sealed) && sealed.holds(&sealed) && !sealed.holds(&bare));
        for fingerprint in [&bare, &sealed] {
            assert_eq!(
                TreeFingerprint::parse(&fingerprint.to_string()).as_ref(),
                Some(fingerprint)
            );
        }

        fs::rename(&root, home.path().join("moved")).unwrap();
        assert_eq!(TreeFingerprint::of(&root), None);
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::create_dir_all(root.join(".git")).unwrap();
        assert!(!sealed.holds(&TreeFingerprint::of(&root).unwrap()));
        fs::remove_dir_all(&root).unwrap();
        fs::rename(home.path().join("moved"), &root).unwrap();
        assert!(sealed.holds(&TreeFingerprint::of(&root).unwrap()));
        fs::remove_dir(root.join(".git")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        assert!(!sealed.holds(&TreeFingerprint::of(&root).unwrap()));
    }

    #[test]
    fn another_owner_breaks_it() {
        let fingerprint = |text: &str| TreeFingerprint::parse(text).unwrap();
        let stranger = user() + 7;
        let sealed = fingerprint("17.000000005 4000 18.000000000 4000");
        assert!(sealed.holds(&sealed) && sealed.is_owned_by(4000));
        let ours = format!("17.000000005 {0} 18.000000000 {0}", user());
        assert!(sealed.holds(&fingerprint(&ours)));
        for changed in [
            format!("17.000000005 {stranger} 18.000000000 4000"),
            format!("17.000000005 4000 18.000000000 {stranger}"),
            "17.000000006 4000 18.000000000 4000".to_owned(),
            "17 4000 18.000000000 4000".to_owned(),
        ] {
            assert!(!sealed.holds(&fingerprint(&changed)), "{changed}");
        }
        assert!(!fingerprint(&format!("1 4000 2 {stranger}")).is_owned_by(4000));
        assert!(!fingerprint("1 4000").holds(&fingerprint(&format!("1 4000 2 {stranger}"))));
        for broken in ["", "1", "1 2 3", "1 2 3 4 5", "x 1", "1.x 1", "unknown", "1 2 "] {
            assert_eq!(TreeFingerprint::parse(broken), None, "{broken}");
        }
    }
}
