//! Starting the processor: a process of its own, which shares nothing with the session.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use memory_store_base::ProjectId;
use memory_store_base::background::{PROGRAM, is_passed_on};

use crate::program;

/// Starts the processor for a project and does not wait for it. `moved_to` is a working tree of it that has no record at
/// its path yet.
pub fn start(project: ProjectId, moved_to: Option<&Path>) -> io::Result<()> {
    let program = beside_this_program()?;
    let project = project.to_string();
    let mut arguments = ["sync", "--project", &project, "--background"].map(OsStr::new).to_vec();
    if let Some(root) = moved_to {
        arguments.extend([OsStr::new("--tree"), root.as_os_str()]);
    }
    close_on_exec_all();
    spawn_detached(&program, &arguments)
}

fn beside_this_program() -> io::Result<CString> {
    let this = program::path().ok_or(io::ErrorKind::NotFound)?;
    let program = this.with_file_name(PROGRAM);
    c_string(program.as_os_str())
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::other)
}

/// Flags of the new process: a session of its own.
#[cfg(not(target_os = "macos"))]
const FLAGS: libc::c_int = libc::POSIX_SPAWN_SETSID as libc::c_int;
/// Flags of the new process: a session of its own (the number stands in the system's `spawn.h` since macOS 10.15, and
/// not in the library), with no handle but those that it is given.
#[cfg(target_os = "macos")]
const FLAGS: libc::c_int = 0x0400 | libc::POSIX_SPAWN_CLOEXEC_DEFAULT;

/// Marks every handle beyond the standard ones as not to be inherited: Claude Code would wait for
/// its pipes to be closed. On macOS [`FLAGS`] say so.
#[cfg(target_os = "macos")]
fn close_on_exec_all() {}

/// Marks every handle beyond the standard ones as not to be inherited: Claude Code would wait for
/// its pipes to be closed.
#[cfg(not(target_os = "macos"))]
fn close_on_exec_all() {
    // SAFETY: the call only sets a flag on handles.
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked == 0 {
        return;
    }
    // Linux before 5.11: one by one, as far as handles usually go.
    for file in 3..1024 {
        // SAFETY: as above; unused numbers are refused.
        unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Starts a program in a session of its own, with null for its standard streams.
fn spawn_detached(program: &CString, arguments: &[&OsStr]) -> io::Result<()> {
    let arguments = std::iter::once(Ok(program.clone()))
        .chain(arguments.iter().map(|argument| c_string(argument)))
        .collect::<io::Result<Vec<_>>>()?;
    let environment = environment()?;
    let (mut pid, null) = (0, c"/dev/null");
    let mut actions = std::mem::MaybeUninit::uninit();
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: the structures are initialised before use, and all strings outlive the call. After an error they are not
    // destroyed: that leaks a few bytes of a process that ends at once. Neither destroys anything that the new process uses.
    unsafe {
        check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
        check(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
        for (file, mode) in [(0, libc::O_RDONLY), (1, libc::O_WRONLY), (2, libc::O_WRONLY)] {
            check(libc::posix_spawn_file_actions_addopen(
                actions.as_mut_ptr(),
                file,
                null.as_ptr(),
                mode,
                0,
            ))?;
        }
        check(libc::posix_spawnattr_setflags(attributes.as_mut_ptr(), FLAGS as libc::c_short))?;
        let spawned = libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            actions.as_ptr(),
            attributes.as_ptr(),
            pointers(&arguments).as_ptr(),
            pointers(&environment).as_ptr(),
        );
        libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
        libc::posix_spawnattr_destroy(attributes.as_mut_ptr());
        check(spawned)
    }
}

fn check(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// The variables that the processor gets, as `NAME=value`.
fn environment() -> io::Result<Vec<CString>> {
    std::env::vars_os()
        .filter(|(name, _)| is_passed_on(name))
        .map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            c_string(&name)
        })
        .collect()
}

/// A C array of strings, ended by null. It borrows them.
fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr().cast_mut())
        .chain(std::iter::once(std::ptr::null_mut()))
        .collect()
}
