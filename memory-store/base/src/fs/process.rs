//! System calls that concern this process and its children instead of files.

use std::fs::Metadata;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command};
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Returns the id of the user whose rights the program has (`geteuid`).
pub fn user() -> u32 {
    // SAFETY: the call takes no arguments and changes nothing.
    unsafe { libc::geteuid() }
}

/// Returns whether a file belongs to the user whose rights the program has.
pub fn is_of_user(found: &Metadata) -> bool {
    found.uid() == user()
}

/// Makes a command run in a new process group (`setpgid`), so that signals to the caller's group do not reach it.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    std::os::unix::process::CommandExt::process_group(command, 0)
}

/// Replaces this process by a command (`execvp`). Returns only if that fails.
pub fn replace_with(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Returns the id of the process that started this one (`getppid`).
pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// Maximum number of memory pools for all threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const POOLS: libc::c_int = 2;

/// Limits all threads to few memory pools (`mallopt`). Each pool keeps freed memory, and by default every new thread
/// creates one. Must be called before threads are started.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn use_few_pools() {
    // SAFETY: the call changes a parameter of the allocator, which no other thread uses at that time.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, POOLS) };
}

/// Does nothing, because other systems do not have such pools.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn use_few_pools() {}

/// Returns freed memory to the system (`malloc_trim`), which the process would otherwise keep for hours. Also returns
/// the pages of the process's code (`madvise`), which are read again when needed.
#[cfg(target_os = "linux")]
pub fn give_back() {
    // SAFETY: the call takes only a number.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    for (start, bytes) in code(&maps) {
        // SAFETY: these pages cannot have been written to, so their contents are still in the files.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    }
}

/// Does nothing, because other systems have no known way to do this.
#[cfg(not(target_os = "linux"))]
pub fn give_back() {}

/// Returns the start and length in bytes of each executable mapping of a file. Read-only mappings are excluded, because
/// some of them were written to when the program started.
#[cfg(any(test, target_os = "linux"))]
fn code(maps: &str) -> impl Iterator<Item = (usize, usize)> {
    maps.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next()?, words.next()?);
        let is_file = words.nth(3)?.starts_with('/');
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|place| usize::from_str_radix(place, 16).ok());
        let start = start.filter(|_| rights == "r-xp" && is_file)?;
        Some((start, end?.checked_sub(start)?))
    })
}

/// Nice value of background work.
const NICENESS: libc::c_int = 10;

/// Lowers the priority of this process and of those that it starts (`setpriority`).
pub fn lower_priority() {
    // SAFETY: the call takes no pointers and changes only the priority of this process.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}

/// Gives other processes priority on the disk (`ioprio_set`, only on Linux).
pub fn yield_disk() {
    #[cfg(target_os = "linux")]
    {
        // Constants of the call: a process, and the class that uses the disk only when no other process does.
        const WHO_PROCESS: libc::c_int = 1;
        const CLASS_IDLE: libc::c_int = 3;
        const CLASS_SHIFT: u32 = 13;
        // SAFETY: the call takes only numbers.
        unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE << CLASS_SHIFT) };
    }
}

/// Returns the size of this machine's memory in bytes (`sysconf`); `None` if the system does not report it.
pub fn memory_bytes() -> Option<u64> {
    // SAFETY: the call takes and returns only a number.
    let of = |name| unsafe { libc::sysconf(name) };
    let (pages, bytes) = (of(libc::_SC_PHYS_PAGES), of(libc::_SC_PAGESIZE));
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(bytes).ok()?).filter(|bytes| *bytes > 0)
}

/// Returns whether the reader of this process's output still exists (`poll`).
pub fn has_reader() -> bool {
    let mut stdout = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
    // SAFETY: the pointer is valid, and the call returns immediately.
    unsafe { libc::poll(&raw mut stdout, 1, 0) };
    stdout.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) == 0
}

/// Termination signals (SIGINT, SIGTERM) that are blocked in this process.
#[derive(Clone, Copy)]
pub struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    /// Blocks the termination signals in this thread and in those that it starts (`pthread_sigmask`).
    pub fn block() -> io::Result<Self> {
        let set = end_signals();
        mask(libc::SIG_BLOCK, &set).map(|()| Self(set))
    }

    /// Waits for one of the blocked signals (`sigwait`).
    pub fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set and the number outlive the call.
        while unsafe { libc::sigwait(&raw const self.0, &raw mut signal) } != 0 {}
    }
}

/// Makes a command end together with this process (`prctl`, only on Linux), and unblocks the signals of
/// [`BlockedSignals`] for the command.
pub fn end_with_caller(command: &mut Command) -> &mut Command {
    let before_exec = || {
        #[cfg(target_os = "linux")]
        // SAFETY: the call takes only numbers and is permitted between fork and exec.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM)
        };
        mask(libc::SIG_UNBLOCK, &end_signals())
    };
    // SAFETY: the closure neither allocates nor takes locks.
    unsafe { std::os::unix::process::CommandExt::pre_exec(command, before_exec) }
}

fn mask(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: the set was filled, and the previous set is not requested.
    match unsafe { libc::pthread_sigmask(how, &raw const *set, null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn end_signals() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call fills the set; the others add to it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        set.assume_init()
    }
}

/// Maximum number of process groups to which a signal is passed on at the same time. There is one for each thread that
/// waits for a program.
const RUNNING_MAX: usize = 64;

/// Ids of the running groups; 0 for an unused slot.
static RUNNING: [AtomicI32; RUNNING_MAX] = [const { AtomicI32::new(0) }; RUNNING_MAX];

/// Signals that end a program by default and are passed on to the groups.
const PASSED_ON: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Number of programs that are being started. They may already run, but are not in `RUNNING` yet.
static STARTING: AtomicUsize = AtomicUsize::new(0);

/// Number of the last signal to be passed on; 0 for none. If a program is being started, the signal is raised again
/// afterwards.
static HELD: AtomicI32 = AtomicI32::new(0);

/// A process group to which signals are passed on until this value is dropped.
#[derive(Debug)]
pub struct WatchedGroup(Option<&'static AtomicI32>);

/// Starts a program as the leader of a new process group (`setpgid`). The group ends when a signal ends this process,
/// because a terminal's Ctrl-C does not reach the group.
pub fn start_group(command: &mut Command) -> io::Result<(Child, WatchedGroup)> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| PASSED_ON.into_iter().for_each(install));
    // A signal that arrives before the group is registered is deferred. Otherwise the program would continue to run
    // after this process has ended.
    STARTING.fetch_add(1, Ordering::SeqCst);
    let child = in_own_group(command).spawn();
    let watched = child.as_ref().map_or(WatchedGroup(None), watch);
    STARTING.fetch_sub(1, Ordering::SeqCst);
    let held = HELD.load(Ordering::SeqCst);
    if held != 0 {
        // SAFETY: `raise` does not access the memory of this process.
        unsafe { libc::raise(held) };
    }
    Ok((child?, watched))
}

fn watch(child: &Child) -> WatchedGroup {
    let is_taken = |slot: &&AtomicI32| {
        slot.compare_exchange(0, group(child), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    WatchedGroup(RUNNING.iter().find(is_taken))
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.store(0, Ordering::Release);
        }
    }
}

/// Kills a child that leads a process group, and the whole group (`kill` with SIGKILL). The child's status must not
/// have been collected yet, because its id could then belong to another process.
pub fn end_group(child: &mut Child) {
    signal_group(child, libc::SIGKILL);
    // A process cannot ignore SIGKILL, so waiting ends.
    let _ = child.wait();
}

/// Asks a child that leads a process group, and the whole group, to end (`kill` with SIGTERM). The child's status must
/// not have been collected yet, as for [`end_group`].
pub fn ask_group_to_end(child: &Child) {
    signal_group(child, libc::SIGTERM);
}

fn signal_group(child: &Child, signal: libc::c_int) {
    // SAFETY: `kill` does not access the memory of this process. The child's status was not collected, so no other
    // group has its id.
    unsafe { libc::kill(-group(child), signal) };
}

fn group(child: &Child) -> libc::pid_t {
    child.id().cast_signed()
}

/// Installs the handler of a signal, unless the program was started with another handling of that signal.
fn install(signal: libc::c_int) {
    // SAFETY: all zeros are a valid sigaction, and both pointers refer to one. The handler only calls functions that
    // signal-safety(7) permits.
    unsafe {
        let mut known: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut known) == 0
            && known.sa_sigaction == libc::SIG_DFL
        {
            let mut passing: libc::sigaction = std::mem::zeroed();
            passing.sa_sigaction = pass_on as *const () as libc::sighandler_t;
            libc::sigaction(signal, &raw const passing, null_mut());
        }
    }
}

extern "C" fn pass_on(signal: libc::c_int) {
    HELD.store(signal, Ordering::SeqCst);
    if STARTING.load(Ordering::SeqCst) > 0 {
        return;
    }
    for group in &RUNNING {
        let group = group.load(Ordering::Acquire);
        if group > 0 {
            // SAFETY: `kill` is permitted in a handler and does not access the memory of this process.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
    // SAFETY: both calls are permitted in a handler. When the handler returns, the signal is delivered again and ends
    // the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::Stdio;
    use std::time::Duration;

    use super::*;

    const NOTE: &str = "THROUGHLINE_TEST_GROUP_NOTE";

    #[test]
    fn only_code_that_lies_in_files_is_given_back() {
        let maps = "\
            5000-7000 r--p 00000000 fe:00 7 /usr/bin/some program\n\
            7000-9000 r-xp 00002000 fe:00 7 /usr/bin/some program\n\
            9000-a000 rw-p 00004000 fe:00 7 /usr/bin/some program\n\
            a000-b000 rwxp 00004000 fe:00 7 /usr/bin/some program\n\
            c000-d000 r-xp 00000000 00:00 0 \n\
            e000-f000 r-xp 00000000 00:00 0 [vdso]\n\
            broken\n";
        assert_eq!(code(maps).collect::<Vec<_>>(), [(0x7000, 0x2000)]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_goes_on_without_its_pages() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(code(&maps).count() > 0);
        give_back();
        assert_eq!("still here".split(' ').count(), 2);
    }

    /// Runs in a child process of the test below. It starts a program that never ends, and writes the program's id to a
    /// file.
    #[test]
    #[ignore = "only the test below starts it"]
    fn one_that_waits() {
        #[expect(clippy::disallowed_methods, reason = "set by the test below")]
        let Some(note) = std::env::var_os(NOTE) else { return };
        let mut sleep = Command::new("sh");
        sleep
            .args(["-c", "sleep 1000 & echo $! >\"$0.part\"; mv \"$0.part\" \"$0\"; wait"])
            .arg(note);
        let (mut child, _watched) = start_group(&mut sleep).unwrap();
        child.wait().unwrap();
    }

    fn runs(process: &str) -> bool {
        let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
        stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_signal_ends_the_groups_that_run() {
        for signal in PASSED_ON {
            let folder = tempfile::tempdir().unwrap();
            let note = folder.path().join("note");
            let mut waiting = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "fs::process::tests::one_that_waits", "--ignored"])
                .env(NOTE, &note)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            let pause = || std::thread::sleep(Duration::from_millis(5));
            while !note.exists() {
                assert!(waiting.try_wait().unwrap().is_none(), "it ended by itself");
                pause();
            }
            let process = std::fs::read_to_string(&note).unwrap().trim().to_owned();
            assert!(runs(&process));
            // SAFETY: `kill` does not access the memory of this process.
            assert_eq!(unsafe { libc::kill(group(&waiting), signal) }, 0);
            assert_eq!(waiting.wait().unwrap().signal(), Some(signal));
            while runs(&process) {
                pause();
            }
        }
    }
}
