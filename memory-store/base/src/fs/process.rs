//! The process itself, and those it starts: system calls that are about no file.

use std::io;
use std::process::Command;

/// Has a command run in a process group of its own (`setpgid`), so that signals to the group of the caller do not reach
/// it.
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

/// Pools from which threads take memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const POOLS: libc::c_int = 2;

/// Has all threads take memory from few pools (`mallopt`): each keeps what was freed in it, and by default every new thread begins one
/// of its own. To be called before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn use_few_pools() {
    // SAFETY: it changes a number of the allocator's, which nobody else uses meanwhile.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, POOLS) };
}

/// Elsewhere there are no such pools.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn use_few_pools() {}

/// Gives back freed memory (`malloc_trim`), which would stay with this process for hours, and the pages of its code
/// (`madvise`), which are read again where they are needed.
#[cfg(target_os = "linux")]
pub fn give_back() {
    // SAFETY: it has no arguments that could be wrong.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    for (start, bytes) in code(&maps) {
        // SAFETY: nobody can have written to these pages, so that all of them are still in their files.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_DONTNEED) };
    }
}

/// Elsewhere nothing is known to help.
#[cfg(not(target_os = "linux"))]
pub fn give_back() {}

/// Start and length of what is mapped from files to be run. What may only be read is left alone: some of it was
/// written to when the program began.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
