//! Answers intercepted system calls: each call is examined and counted, and then executed, refused, or replaced by a
//! fault.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::point::{CALLS, Call, Names, Point};
use super::{Class, Fault, Plan};

/// `SECCOMP_IOCTL_NOTIF_RECV`: `_IOWR('!', 0, struct seccomp_notif)`, of 80 bytes.
const RECEIVE: libc::c_ulong = 0xc050_2100;
/// `SECCOMP_IOCTL_NOTIF_SEND`: `_IOWR('!', 1, struct seccomp_notif_resp)`, of 24 bytes.
const SEND: libc::c_ulong = 0xc018_2101;

/// Maximum bytes that are read of a path.
const PATH_BYTES_MAX: usize = 4096;

/// The calls that were observed so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub points: u64,
    pub struck: Option<Point>,
    /// Classes of which all further calls fail.
    failing: HashSet<Class>,
}

/// Decision about a call.
enum Answer {
    /// The kernel executes the call.
    GoOn,
    /// The call fails with this error number.
    Refuse(i32),
    /// The call is not executed, but returns this result.
    Done(i64),
}

/// Answers calls until the last process under the filter has ended.
pub(super) fn all(listener: &OwnedFd, plan: &Plan, seen: &Mutex<Seen>) -> io::Result<()> {
    loop {
        let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is one structure, which is valid during the call.
        if unsafe { libc::poll(&raw mut poll, 1, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if poll.revents & libc::POLLIN == 0 {
            return Ok(());
        }
        // SAFETY: a structure of zeros is valid, and the kernel requires it.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the structure has the size that the request encodes.
        if unsafe { libc::ioctl(listener.as_raw_fd(), RECEIVE as _, &raw mut call) } != 0 {
            // The process that made the call has ended.
            continue;
        }
        let answer = {
            let mut seen = seen.lock().map_err(|_| io::Error::other("poisoned"))?;
            answer(&call, plan, &mut seen)
        };
        let mut response = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 };
        match answer {
            Answer::GoOn => response.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            Answer::Refuse(error) => response.error = -error,
            Answer::Done(value) => response.val = value,
        }
        // SAFETY: as above. An error is ignored: the process that made the call has ended.
        unsafe { libc::ioctl(listener.as_raw_fd(), SEND as _, &raw mut response) };
    }
}

fn answer(asked: &libc::seccomp_notif, plan: &Plan, seen: &mut Seen) -> Answer {
    let Some(call) = CALLS.iter().find(|call| call.number == libc::c_long::from(asked.data.nr))
    else {
        return Answer::GoOn;
    };
    let class = call.class(&asked.data.args);
    if !(plan.classes.is_empty() || plan.classes.contains(&class)) {
        return Answer::GoOn;
    }
    let Some(path) = path(asked, call).filter(|path| path.starts_with(&plan.below)) else {
        return Answer::GoOn;
    };
    let program = fs::read_link(format!("/proc/{}/exe", asked.pid)).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if plan.program.map_or(program.starts_with("git"), |name| program != name) {
        return Answer::GoOn;
    }
    seen.points += 1;
    let Some((number, fault)) = plan.fault else { return Answer::GoOn };
    if seen.points != number {
        return match fault {
            Fault::ErrorFromHere(error) if seen.failing.contains(&class) => Answer::Refuse(error),
            _ => Answer::GoOn,
        };
    }
    seen.struck = Some(Point { number, call: call.name, class, path });
    match fault {
        Fault::Error(error) => Answer::Refuse(error),
        Fault::ErrorFromHere(error) => {
            seen.failing.insert(class);
            Answer::Refuse(error)
        }
        Fault::Short => half(asked, call).map_or(Answer::GoOn, Answer::Done),
        Fault::Kill => kill(asked.pid),
        Fault::Torn => {
            half(asked, call);
            kill(asked.pid)
        }
    }
}

/// Kills the process that contains a thread.
fn kill(thread: u32) -> Answer {
    if let Some(process) = process_of(thread) {
        // SAFETY: the arguments are integers. The process waits for the answer, so its id is not reused.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }
    Answer::Refuse(libc::EIO)
}

fn process_of(thread: u32) -> Option<libc::pid_t> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Executes the first half of a write in place of the process; `None` for other calls.
fn half(asked: &libc::seccomp_notif, call: &Call) -> Option<i64> {
    if call.number != libc::SYS_write {
        return None;
    }
    let [handle, address, length, ..] = asked.data.args;
    let length = usize::try_from(length).ok()? / 2;
    let mut bytes = vec![0; length];
    fs::File::open(format!("/proc/{}/mem", asked.pid))
        .ok()?
        .read_exact_at(&mut bytes, address)
        .ok()?;
    let process = process_of(asked.pid)?;
    // SAFETY: the arguments are integers. Both calls fail or return a handle that belongs to this process.
    let theirs = unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, process, 0);
        let process = OwnedFd::from_raw_fd(i32::try_from(process).ok().filter(|&fd| fd >= 0)?);
        let file = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), handle as i32, 0);
        OwnedFd::from_raw_fd(i32::try_from(file).ok().filter(|&fd| fd >= 0)?)
    };
    // SAFETY: the bytes are valid for reads of their length.
    let written = unsafe { libc::write(theirs.as_raw_fd(), bytes.as_ptr().cast(), length) };
    Some(written as i64)
}

/// Returns the path of the file that a call concerns.
fn path(asked: &libc::seccomp_notif, call: &Call) -> Option<PathBuf> {
    let args = asked.data.args;
    let link = |name: &str| fs::read_link(format!("/proc/{}/{name}", asked.pid)).ok();
    let (folder, name) = match call.names {
        Names::Handle(at) => return link(&format!("fd/{}", args[at] as i32)),
        Names::Path(at) => (libc::AT_FDCWD, text(asked.pid, args[at])?),
        Names::At(at) => (args[at] as i32, text(asked.pid, args[at + 1])?),
    };
    if Path::new(&name).is_absolute() {
        return Some(name.into());
    }
    let folder = match folder {
        libc::AT_FDCWD => link("cwd"),
        handle => link(&format!("fd/{handle}")),
    };
    Some(folder?.join(name))
}

/// Reads a string from the memory of a process.
fn text(process: u32, address: u64) -> Option<OsString> {
    let memory = fs::File::open(format!("/proc/{process}/mem")).ok()?;
    let mut bytes = vec![0; PATH_BYTES_MAX];
    // The read may be short, since the string may be near the end of the mapped memory.
    let read = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..read].iter().position(|&byte| byte == 0)?;
    bytes.truncate(end);
    Some(OsString::from_vec(bytes))
}
