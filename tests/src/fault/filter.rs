//! The seccomp filter that passes calls to the test, and the transfer of the filter's handle from the child to the
//! test.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::point::CALLS;

/// Creates a pair of connected sockets.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: `ends` has room for two handles.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just opened and have no other owner.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Makes a command install the filter before its program starts, and send the handle of the filter.
pub(super) fn install(command: &mut Command, socket: OwnedFd) -> io::Result<()> {
    let mut program = program();
    let install = move || {
        let filter = libc::sock_fprog {
            len: u16::try_from(program.len()).map_err(io::Error::other)?,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: the arguments are integers, as prctl(2) requires.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the filter is valid, and the kernel copies it.
        let listener = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                &raw const filter,
            )
        };
        let listener = RawFd::try_from(listener).map_err(io::Error::other)?;
        if listener < 0 {
            return Err(io::Error::last_os_error());
        }
        send(socket.as_raw_fd(), listener)?;
        // SAFETY: this process owns the handle, and the sent copy keeps the listener open.
        unsafe { libc::close(listener) };
        Ok(())
    };
    // SAFETY: between fork and exec, the closure neither allocates memory nor takes a lock.
    unsafe { command.pre_exec(install) };
    Ok(())
}

/// Returns the filter program for the kernel. It passes the calls in the table to the test; the kernel executes all
/// others.
fn program() -> Vec<libc::sock_filter> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    // The number of the call is the first field of `seccomp_data`.
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for call in CALLS {
        program.push(libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: 0,
            jf: 1,
            k: call.number as u32,
        });
        program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF));
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    program
}

/// Size of the control message for one handle, computed like `CMSG_SPACE`.
const BESIDE: usize = 64;

fn message<'a>(part: &'a mut libc::iovec, beside: &'a mut [u64; BESIDE / 8]) -> libc::msghdr {
    // SAFETY: all zeros is a valid empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = beside.as_mut_ptr().cast();
    // SAFETY: the function only computes a number.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    message
}

fn send(socket: RawFd, handle: RawFd) -> io::Result<()> {
    let (mut byte, mut beside) = ([1u8], [0u64; BESIDE / 8]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let message = message(&mut part, &mut beside);
    // SAFETY: the message has room for the header and one handle, and all parts are valid during the call.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(handle);
        libc::sendmsg(socket, &raw const message, 0)
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives the handle of the filter from the child.
pub(super) fn receive(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let (mut byte, mut beside) = ([0u8], [0u64; BESIDE / 8]);
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut message = message(&mut part, &mut beside);
    // SAFETY: the message is valid, and this process owns the received handle.
    unsafe {
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) != 1 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("the child sent no handle"));
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}
