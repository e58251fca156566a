//! Process groups for git: programs that git runs end with it, and git ends with us.
//!
//! A check of a signature may wait for a key or a smart card for ever, so git and what it runs have a process
//! group of their own that can be ended as a whole. A terminal's Ctrl-C does not reach such a group: it is
//! passed on.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Calls of git at one time that a signal is passed on to; there is one for each thread that asks.
const RUNNING_MAX: usize = 64;

/// The groups that run, 0 for none.
static RUNNING: [AtomicI32; RUNNING_MAX] = [const { AtomicI32::new(0) }; RUNNING_MAX];

/// The signals that end a program when nobody says otherwise.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Programs that are being started: not yet among those that run, and perhaps at work.
static STARTING: AtomicUsize = AtomicUsize::new(0);

/// The signal that came while a program was being started, 0 for none.
static HELD: AtomicI32 = AtomicI32::new(0);

/// A group that a signal is passed on to, until it is dropped.
#[derive(Debug)]
pub struct Watched(Option<&'static AtomicI32>);

/// Starts a program as the leader of a group that signals are passed on to.
pub fn start(command: &mut Command) -> io::Result<(Child, Watched)> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| SIGNALS.into_iter().for_each(install));
    // A signal that comes before the group is known waits until it is: else what was started would go on.
    STARTING.fetch_add(1, Ordering::SeqCst);
    let child = command.process_group(0).spawn();
    let watched = child.as_ref().map_or(Watched(None), watch);
    STARTING.fetch_sub(1, Ordering::SeqCst);
    let held = HELD.load(Ordering::SeqCst);
    if held != 0 {
        // SAFETY: raise touches no memory of ours.
        unsafe { libc::raise(held) };
    }
    Ok((child?, watched))
}

fn watch(child: &Child) -> Watched {
    let group = group(child);
    let is_taken = |slot: &&AtomicI32| {
        slot.compare_exchange(0, group, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    Watched(RUNNING.iter().find(is_taken))
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            slot.store(0, Ordering::Release);
        }
    }
}

/// Ends a child and its group. Nobody may have waited for it: its number could be another's by then.
pub fn end(child: &mut Child) {
    // SAFETY: kill touches no memory of ours, and as nobody waited for the child, its number is no
    // other group's.
    unsafe { libc::kill(-group(child), libc::SIGKILL) };
    let _ = child.wait();
}

fn group(child: &Child) -> libc::pid_t {
    libc::pid_t::try_from(child.id()).expect("the number of a process fits")
}

/// Has a signal passed on, unless the program was started so that it means something else.
fn install(signal: libc::c_int) {
    // SAFETY: all zeros are a valid sigaction, both pointers are to such, and the handler does only what
    // signal-safety(7) allows.
    unsafe {
        let mut known: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &raw mut known) == 0
            && known.sa_sigaction == libc::SIG_DFL
        {
            let mut passing: libc::sigaction = std::mem::zeroed();
            passing.sa_sigaction = pass_on as *const () as libc::sighandler_t;
            libc::sigaction(signal, &raw const passing, std::ptr::null_mut());
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
            // SAFETY: kill is allowed in a handler and touches no memory of ours.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    }
    // SAFETY: both are allowed in a handler. The signal comes again when this returns, and ends us.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::super::answer_from;

    const NOTE: &str = "THROUGHLINE_TEST_GROUP_NOTE";

    /// Started again by the test below: runs something that never ends, and that notes its number.
    #[test]
    #[ignore = "only the test below starts it"]
    fn one_that_waits() {
        #[expect(clippy::disallowed_methods, reason = "set by the test below")]
        let Some(note) = std::env::var_os(NOTE) else { return };
        let mut sleep = Command::new("sh");
        sleep
            .args(["-c", "sleep 1000 & echo $! >\"$0.part\"; mv \"$0.part\" \"$0\"; wait"])
            .arg(note);
        answer_from(sleep.stdout(Stdio::piped()), Vec::new(), Duration::from_secs(100));
    }

    fn runs(process: &str) -> bool {
        let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat"));
        stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_signal_ends_what_git_runs() {
        for signal in super::SIGNALS {
            let folder = tempfile::tempdir().unwrap();
            let note = folder.path().join("note");
            let mut waiting = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "git::group::tests::one_that_waits", "--ignored"])
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
            let number = libc::pid_t::try_from(waiting.id()).unwrap();
            // SAFETY: kill touches no memory of ours.
            assert_eq!(unsafe { libc::kill(number, signal) }, 0);
            assert_eq!(waiting.wait().unwrap().signal(), Some(signal));
            while runs(&process) {
                pause();
            }
        }
    }
}
