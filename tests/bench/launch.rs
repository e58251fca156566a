//! Starts one program with a file as its stdin and prints its costs: `launch PROGRAM STDIN [ARG...]`.
//!
//! Prints wall nanoseconds, CPU microseconds, peak KiB, minor page faults and the exit status. This is a separate small
//! static program, because Linux counts the memory of the starting process into the peak of the started one.
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::ptr::null;

#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [c_long; 2],
    system: [c_long; 2],
    max_rss_kib: c_long,
    shared: [c_long; 3],
    minor_faults: c_long,
    rest: [c_long; 9],
}

#[repr(C, align(16))]
struct Opaque([u8; 512]);

unsafe extern "C" {
    fn posix_spawn(
        pid: *mut c_int,
        path: *const c_char,
        actions: *const c_void,
        attributes: *const c_void,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int;
    fn posix_spawn_file_actions_init(actions: *mut c_void) -> c_int;
    fn posix_spawn_file_actions_adddup2(actions: *mut c_void, from: c_int, to: c_int) -> c_int;
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut Usage) -> c_int;
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn syscall(number: c_long, ...) -> c_long;
    static environ: *const *const c_char;
}

/// Number of the system call on this architecture.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const SCHED_SETSCHEDULER: c_long = 144;
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
const SCHED_SETSCHEDULER: c_long = 119;

/// Priority above all processes with the default scheduling.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
static PRIORITY: c_int = 1;

fn main() -> std::io::Result<()> {
    let arguments: Vec<CString> = std::env::args()
        .skip(1)
        .map(|argument| CString::new(argument).expect("arguments hold no null bytes"))
        .collect();
    let [program, stdin, rest @ ..] = arguments.as_slice() else {
        return Err(std::io::Error::other("usage: launch PROGRAM STDIN [ARG...]"));
    };
    let stdin = std::fs::File::open(stdin.to_str().unwrap_or_default())?;
    let stdout = std::fs::File::create("/dev/null")?;
    let mut pointers = vec![program.as_ptr()];
    pointers.extend(rest.iter().map(|argument| argument.as_ptr()));
    pointers.push(null());
    let mut actions = Opaque([0; 512]);
    let actions = (&raw mut actions).cast::<c_void>();
    let (mut pid, mut status, mut usage) = (0, 0, Usage::default());
    let start;
    // SAFETY: all pointers are valid for the calls; `Opaque` is larger than the C structure.
    unsafe {
        // Real-time scheduling is used if it is permitted. The system call is made directly, because the function of
        // this name in musl does nothing.
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        syscall(SCHED_SETSCHEDULER, 0, 1, &raw const PRIORITY);
        posix_spawn_file_actions_init(actions);
        posix_spawn_file_actions_adddup2(actions, stdin.as_raw_fd(), 0);
        posix_spawn_file_actions_adddup2(actions, stdout.as_raw_fd(), 1);
        start = std::time::Instant::now();
        let error =
            posix_spawn(&mut pid, program.as_ptr(), actions, null(), pointers.as_ptr(), environ);
        if error != 0 {
            return Err(std::io::Error::from_raw_os_error(error));
        }
        wait4(pid, &mut status, 0, &mut usage);
    }
    let wall = start.elapsed().as_nanos();
    let micros = |time: [c_long; 2]| time[0] * 1_000_000 + time[1];
    let cpu = micros(usage.user) + micros(usage.system);
    writeln!(
        std::io::stdout(),
        "{wall} {cpu} {} {} {status}",
        usage.max_rss_kib,
        usage.minor_faults
    )
}
