//! The system calls that are points, and which of their arguments names the file.

use std::path::PathBuf;

/// Classes of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Opening a file to read it.
    Open,
    /// Opening a file to write to it, or creating it.
    Create,
    /// Reading a file or a folder.
    Read,
    /// Writing to a file, or changing its length.
    Write,
    /// Renaming or linking a file.
    Rename,
    /// Waiting until data is on the disk.
    Sync,
    /// Taking a lock.
    Lock,
    /// Removing a file or folder.
    Remove,
    /// Creating a folder.
    Folder,
    /// Reading or changing length, mode and times.
    Look,
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 10] = [
        Self::Open,
        Self::Create,
        Self::Read,
        Self::Write,
        Self::Rename,
        Self::Sync,
        Self::Lock,
        Self::Remove,
        Self::Folder,
        Self::Look,
    ];

    /// Returns whether calls of this class change something.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Open | Self::Read | Self::Look | Self::Lock)
    }
}

/// A counted call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Number of the point, counted from 1.
    pub number: u64,
    /// Name of the system call.
    pub call: &'static str,
    /// Class of the system call.
    pub class: Class,
    /// Path of the file.
    pub path: PathBuf,
}

/// The argument of a call that names the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Names {
    /// A handle in this argument.
    Handle(usize),
    /// A path in this argument, relative to the working directory.
    Path(usize),
    /// A folder's handle in this argument, and a path in the next argument.
    At(usize),
}

/// An intercepted call.
pub(super) struct Call {
    pub number: libc::c_long,
    pub name: &'static str,
    class: Class,
    pub names: Names,
}

impl Call {
    /// Returns the class of a call with these arguments.
    pub fn class(&self, arguments: &[u64; 6]) -> Class {
        let flags = match self.names {
            Names::At(at) => arguments[at + 2],
            Names::Path(at) => arguments[at + 1],
            Names::Handle(_) => 0,
        };
        let writing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;
        match self.class {
            Class::Open if flags & writing != 0 => Class::Create,
            class => class,
        }
    }
}

const fn call(number: libc::c_long, name: &'static str, class: Class, names: Names) -> Call {
    Call { number, name, class, names }
}

/// All calls that access files, except `close` and mappings, which the programs do not use.
#[rustfmt::skip]
pub(super) const CALLS: &[Call] = &[
    call(libc::SYS_openat, "openat", Class::Open, Names::At(0)),
    call(libc::SYS_read, "read", Class::Read, Names::Handle(0)),
    call(libc::SYS_readv, "readv", Class::Read, Names::Handle(0)),
    call(libc::SYS_pread64, "pread64", Class::Read, Names::Handle(0)),
    call(libc::SYS_getdents64, "getdents64", Class::Read, Names::Handle(0)),
    call(libc::SYS_readlinkat, "readlinkat", Class::Read, Names::At(0)),
    call(libc::SYS_write, "write", Class::Write, Names::Handle(0)),
    call(libc::SYS_writev, "writev", Class::Write, Names::Handle(0)),
    call(libc::SYS_pwrite64, "pwrite64", Class::Write, Names::Handle(0)),
    call(libc::SYS_ftruncate, "ftruncate", Class::Write, Names::Handle(0)),
    call(libc::SYS_copy_file_range, "copy_file_range", Class::Write, Names::Handle(2)),
    call(libc::SYS_sendfile, "sendfile", Class::Write, Names::Handle(0)),
    call(libc::SYS_renameat, "renameat", Class::Rename, Names::At(2)),
    call(libc::SYS_renameat2, "renameat2", Class::Rename, Names::At(2)),
    call(libc::SYS_linkat, "linkat", Class::Rename, Names::At(2)),
    call(libc::SYS_symlinkat, "symlinkat", Class::Rename, Names::At(1)),
    call(libc::SYS_fsync, "fsync", Class::Sync, Names::Handle(0)),
    call(libc::SYS_fdatasync, "fdatasync", Class::Sync, Names::Handle(0)),
    call(libc::SYS_flock, "flock", Class::Lock, Names::Handle(0)),
    call(libc::SYS_unlinkat, "unlinkat", Class::Remove, Names::At(0)),
    call(libc::SYS_mkdirat, "mkdirat", Class::Folder, Names::At(0)),
    call(libc::SYS_fchmod, "fchmod", Class::Look, Names::Handle(0)),
    call(libc::SYS_fchmodat, "fchmodat", Class::Look, Names::At(0)),
    call(libc::SYS_statx, "statx", Class::Look, Names::At(0)),
    call(libc::SYS_newfstatat, "newfstatat", Class::Look, Names::At(0)),
    call(libc::SYS_fstat, "fstat", Class::Look, Names::Handle(0)),
    call(libc::SYS_faccessat, "faccessat", Class::Look, Names::At(0)),
    call(libc::SYS_faccessat2, "faccessat2", Class::Look, Names::At(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, "open", Class::Open, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_readlink, "readlink", Class::Read, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", Class::Rename, Names::Path(1)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, "link", Class::Rename, Names::Path(1)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_symlink, "symlink", Class::Rename, Names::Path(1)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, "unlink", Class::Remove, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, "rmdir", Class::Remove, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", Class::Folder, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chmod, "chmod", Class::Look, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_stat, "stat", Class::Look, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_lstat, "lstat", Class::Look, Names::Path(0)),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_access, "access", Class::Look, Names::Path(0)),
];
