//! System calls of a hook. All platform-specific code of hooks is here or in `memory-store/base/src/fs/`.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Ends the process (`_exit`). Nothing is flushed or freed.
pub fn exit() -> ! {
    // SAFETY: `_exit` may always be called.
    unsafe { libc::_exit(0) }
}

/// Returns the first argument after the program's name; `None` if it is null.
///
/// # Safety
/// `arguments` must be those of C's `main`, with at least two elements.
pub unsafe fn first_argument<'a>(arguments: *const *const c_char) -> Option<&'a CStr> {
    // SAFETY: the array has a second element.
    let first = unsafe { *arguments.add(1) };
    // SAFETY: the C library ends each argument with a zero byte and keeps the argument until the process ends.
    (!first.is_null()).then(|| unsafe { CStr::from_ptr(first) })
}

/// Sets the handling of signals (`signal`). A crash or a time-out ends the process with status 0, because Claude Code
/// would show any other status as a hook error. A missing reader or an exceeded file size limit does not end the
/// process but makes the call fail.
pub fn quiet_signals() {
    extern "C" fn end(_signal: c_int) {
        exit()
    }
    let set = |signal, handler| {
        // SAFETY: signal and handler are valid. The handler only calls `_exit`, which is permitted in a signal handler.
        unsafe { libc::signal(signal, handler) };
    };
    for signal in [libc::SIGALRM, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGSEGV] {
        set(signal, end as *const () as libc::sighandler_t);
    }
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        set(signal, libc::SIG_IGN);
    }
}

/// Sets the timer (`setitimer`). When it expires, its signal ends the process.
pub fn set_timer(after: Duration) {
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval {
        it_interval: never,
        it_value: libc::timeval {
            tv_sec: after.as_secs() as libc::time_t,
            tv_usec: after.subsec_micros() as libc::suseconds_t,
        },
    };
    // SAFETY: the timer is valid for reads, and a null old value is permitted.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

/// Returns the time since an unspecified point before the process started (`CLOCK_MONOTONIC`); it never decreases.
pub fn since_boot() -> Duration {
    time(libc::CLOCK_MONOTONIC)
}

/// Returns the time since 1970 by the machine's clock (`CLOCK_REALTIME`); zero if the clock is set to an earlier time.
pub fn since_1970() -> Duration {
    time(libc::CLOCK_REALTIME)
}

/// Reads a clock by a system call (0.2 us). The C library avoids the system call by code that the kernel maps into each
/// process. That code accesses further pages and page tables, so it is faster only after about thirty calls, and a hook
/// makes six.
fn time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is valid for writes, and both clocks always exist.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time);
        #[cfg(not(target_os = "linux"))]
        libc::clock_gettime(clock, &raw mut time);
    }
    // A clock set to a time before 1970 counts as unset.
    let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
}

/// Returns whether stdin, stdout and stderr are open (`poll`). If one is closed, the next opened file would get its
/// number, and output for Claude Code would be written to that file.
pub fn standard_streams_are_open() -> bool {
    let mut streams = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: the array is valid for its length, and the call returns immediately.
    unsafe { libc::poll(streams.as_mut_ptr(), 3, 0) };
    streams.iter().all(|stream| stream.revents & libc::POLLNVAL == 0)
}

/// Empties the buffer and reads once from stdin, up to the buffer's capacity (`read`). Returns the bytes read, which
/// are empty at the end of the input; `None` on an error. Memory pages are allocated only if bytes are written to them.
pub fn read_stdin(buffer: &mut Vec<u8>) -> Option<&[u8]> {
    buffer.clear();
    let room = buffer.spare_capacity_mut();
    loop {
        // SAFETY: the unused capacity is valid for writes of its whole length.
        let got = unsafe { libc::read(libc::STDIN_FILENO, room.as_mut_ptr().cast(), room.len()) };
        if let Ok(len) = usize::try_from(got) {
            // SAFETY: `read` has just written this many bytes.
            unsafe { buffer.set_len(len) };
            return Some(buffer);
        }
        if !was_interrupted() {
            return None;
        }
    }
}

/// Writes all bytes to stdout (`write`), in one call unless the system accepts fewer bytes.
pub fn write_stdout(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the bytes are valid for reads of their length.
        let written =
            unsafe { libc::write(libc::STDOUT_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) if was_interrupted() => {}
            Err(_) => return,
        }
    }
}

fn was_interrupted() -> bool {
    io::Error::last_os_error().kind() == ErrorKind::Interrupted
}

/// Renames a file unless a file with the new name exists (`renameat2`).
#[cfg(target_os = "linux")]
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (c_string(from.as_os_str())?, c_string(to.as_os_str())?);
    // SAFETY: both paths end with a null byte.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Fails, because only Linux can rename a file on condition that the new name does not exist.
#[cfg(not(target_os = "linux"))]
pub fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Returns the path by which this program was started (`getauxval`); `None` if the kernel stored none.
#[cfg(target_os = "linux")]
pub fn started_as() -> Option<PathBuf> {
    // SAFETY: the call only reads a value that the kernel stored for the process.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const c_char;
    if path.is_null() {
        return None;
    }
    // SAFETY: the path is a string that ends with a zero byte and exists as long as the process.
    let path = unsafe { CStr::from_ptr(path) };
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

/// Returns `None`, because only Linux stores the path by which a program was started.
#[cfg(not(target_os = "linux"))]
pub fn started_as() -> Option<PathBuf> {
    None
}

/// Flag of a new process: it starts in a new session.
#[cfg(not(target_os = "macos"))]
const SPAWN_FLAGS: c_int = libc::POSIX_SPAWN_SETSID as c_int;
/// Flags of a new process. It starts in a new session (the system's `spawn.h` has contained this number since macOS
/// 10.15, but the library does not), and it inherits no handles except those passed to it.
#[cfg(target_os = "macos")]
const SPAWN_FLAGS: c_int = 0x0400 | libc::POSIX_SPAWN_CLOEXEC_DEFAULT;

/// Starts a program with this environment in a new session (`posix_spawn`) and does not wait for it. Its standard
/// streams are `/dev/null`, and it inherits no other handles.
pub fn spawn_detached(
    program: &Path,
    arguments: &[&OsStr],
    environment: impl Iterator<Item = std::ffi::OsString>,
) -> io::Result<()> {
    close_on_exec_all();
    let program = c_string(program.as_os_str())?;
    let arguments = std::iter::once(Ok(program.clone()))
        .chain(arguments.iter().map(|argument| c_string(argument)))
        .collect::<io::Result<Vec<_>>>()?;
    let environment =
        environment.map(|variable| c_string(&variable)).collect::<io::Result<Vec<_>>>()?;
    let (mut pid, null) = (0, c"/dev/null");
    let mut actions = std::mem::MaybeUninit::uninit();
    let mut attributes = std::mem::MaybeUninit::uninit();
    // SAFETY: the structures are initialised before use, and all strings outlive the call. After an error the
    // structures are not destroyed, which leaks a few bytes of a process that exits immediately. They own no resource
    // that the new process uses.
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
        check(libc::posix_spawnattr_setflags(
            attributes.as_mut_ptr(),
            SPAWN_FLAGS as libc::c_short,
        ))?;
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

/// Does nothing: on macOS, [`SPAWN_FLAGS`] already prevents the new process from inheriting handles.
#[cfg(target_os = "macos")]
fn close_on_exec_all() {}

/// Marks all handles except the standard ones as not inherited (`close_range`). Otherwise Claude Code would wait until
/// the new process closes its pipes.
#[cfg(not(target_os = "macos"))]
fn close_on_exec_all() {
    // SAFETY: the call only sets a flag on handles.
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked == 0 {
        return;
    }
    // Linux before 5.11 lacks the call, so each handle in the usual range is marked.
    for file in 3..1024 {
        // SAFETY: the call only sets a flag; it fails for unused numbers.
        unsafe { libc::fcntl(file, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

fn check(error: c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::other)
}

/// Returns a null-terminated C array of pointers to the strings, which must outlive it.
fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    let pointers = strings.iter().map(|string| string.as_ptr().cast_mut());
    pointers.chain(std::iter::once(std::ptr::null_mut())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_are_those_of_the_standard_library() {
        #[expect(clippy::disallowed_methods, reason = "what ours is compared with")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(since_1970().abs_diff(now) < Duration::from_secs(60));
        let before = since_boot();
        assert!(since_boot() >= before);
    }
}
