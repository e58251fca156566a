//! Background work that a hook starts: without output, with low priority and limited time, and one run at a time per
//! project. The process ends when its work is done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use memory_store::background::has_unprocessed;
use memory_store::exchange::note::Note;
use memory_store::fs::process::lower_priority;
use memory_store::layout::{Tree, UserDirs};
use memory_store::redact::known::Known;
use memory_store::redact::{RedactOptions, Redactor};
use memory_store::{ProjectId, Timestamp, format_version, settings_file};

use crate::collect::inbox;
use crate::collect::trees;
use crate::lock::Busy;
use crate::log;
use crate::machine::Machine;
use crate::sync::{SyncOptions, sync};
use crate::upkeep::housekeeping;

/// Time limit of a run. The next run does the remaining work.
const RUN_MAX: Duration = Duration::from_secs(20 * 60);
/// Maximum memory of a run in bytes, far more than a long history needs.
const MEMORY_BYTES_MAX: u64 = 4 << 30;
/// Interval between checks of time and memory.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Maximum number of syncs in one run. Notes that arrive during a sync are processed by the next sync of the same run.
const ROUNDS_MAX: usize = 5;
/// Delay before a sync, because Claude Code writes a transcript shortly after it calls a hook.
const LAG: Duration = Duration::from_millis(250);
/// Number of bytes at the end of the inbox that are read to find transcripts that may still grow.
const NOTES_BYTES_MAX: u64 = 64 << 10;

/// Updates a project in the background. Failures are counted and stored, and the next session announces them.
/// `moved_to` is the folder to which the project was moved, if it was.
pub fn run(
    dirs: &UserDirs,
    (project, moved_to): (ProjectId, Option<&Path>),
    (ollama_host, machine): (Option<&str>, &Machine),
    clock: impl Fn() -> Timestamp + Send + Copy + 'static,
) -> Result<()> {
    step_back();
    // If a later version wrote the state, no failure is stored, because this version must not change it. Hooks detect
    // this case themselves.
    format_version::check_project(dirs, project)?;
    if let Some(root) = moved_to {
        trees::adopt(dirs, project, root)?;
    }
    trees::review(dirs, project)?;
    let main = trees::main(dirs, project)
        .context("none of this project's working trees is there any more")?;
    let watched = (dirs.clone(), main.clone());
    let work = || guarded(|| rounds(dirs, &main, (ollama_host, machine), clock));
    let result = within(RUN_MAX, clock, watched, work);
    if let Err(error) = &result {
        note_failure(dirs, &main, &format!("{error:#}"), clock());
    }
    result
}

/// Runs `work`. A panic becomes an error.
fn guarded(work: impl FnOnce() -> Result<()>) -> Result<()> {
    // Files on disk are consistent at any moment, and no data in memory is used after a panic.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|fault| {
        let text = fault.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("no reason");
        Err(anyhow!("a fault in this program; please report it: {text}"))
    })
}

fn rounds(
    dirs: &UserDirs,
    main: &Tree,
    (ollama_host, machine): (Option<&str>, &Machine),
    clock: impl Fn() -> Timestamp,
) -> Result<()> {
    for _ in 0..ROUNDS_MAX {
        let lengths = transcripts(dirs, main);
        let options = SyncOptions {
            ollama_host,
            machine: Some(machine),
            ..SyncOptions::new(dirs, main, Busy::Leave, clock())
        };
        let report = sync(&options)?;
        if report.busy {
            return Ok(());
        }
        note_warnings(dirs, main, &report.warnings, options.now);
        std::thread::sleep(LAG);
        let new = waiting(dirs, main) || transcripts(dirs, main) != lengths;
        let embeds = report.embedding_waits && report.embedded > 0
            || report.second_waits && report.second_embedded > 0;
        if !new && !embeds && !report.goes_on() {
            break;
        }
    }
    for tree in trees::present(dirs, main) {
        housekeeping::sweep(&dirs.tree(&tree.root), clock());
    }
    housekeeping::sweep_edits(&dirs.user_state(), clock());
    Ok(())
}

/// Returns whether the inbox of any working tree contains unprocessed notes.
fn waiting(dirs: &UserDirs, main: &Tree) -> bool {
    trees::present(dirs, main).iter().any(|tree| has_unprocessed(&dirs.tree(&tree.root)))
}

/// Returns the transcripts that the last notes name, with their lengths in bytes.
fn transcripts(dirs: &UserDirs, main: &Tree) -> Vec<(PathBuf, u64)> {
    let mut named: Vec<PathBuf> = trees::present(dirs, main)
        .iter()
        .flat_map(|tree| inbox::last_notes(&dirs.tree(&tree.root), NOTES_BYTES_MAX))
        .map(|note: Note| PathBuf::from(note.transcript))
        .filter(|path| path.is_absolute())
        .collect();
    named.sort();
    named.dedup();
    named
        .into_iter()
        .map(|path| (path.clone(), std::fs::metadata(path).map_or(0, |file| file.len())))
        .collect()
}

/// Runs `work`. If it exceeds the limit of time or memory, records this as a failure and ends the process. Ending is
/// safe, because files on disk are consistent at any moment.
fn within<T>(
    most: Duration,
    clock: impl Fn() -> Timestamp + Send + 'static,
    watched: (UserDirs, Tree),
    work: impl FnOnce() -> T,
) -> T {
    let (done, watch) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let begun = Instant::now();
        while watch.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            if let Some(failure) = overrun(begun.elapsed(), most, resident_bytes()) {
                note_failure(&watched.0, &watched.1, &failure, clock());
                std::process::exit(1);
            }
        }
    });
    let result = work();
    drop(done);
    result
}

/// Returns a message if a run exceeds a limit, else `None`.
fn overrun(elapsed: Duration, most: Duration, resident: Option<u64>) -> Option<String> {
    const REMEDY: &str = "run `throughline sync` and watch what takes so";
    if elapsed >= most {
        let minutes = most.as_secs() / 60;
        return Some(format!("it was not done after {minutes} minutes; {REMEDY} long"));
    }
    let gib = MEMORY_BYTES_MAX >> 30;
    (resident? > MEMORY_BYTES_MAX)
        .then(|| format!("it took more than {gib} GiB of memory; {REMEDY} much"))
}

/// Returns the memory of this process in bytes; `None` if the operating system does not report it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
}

fn note_failure(dirs: &UserDirs, main: &Tree, failure: &str, now: Timestamp) {
    let redactor = redactor(dirs, main);
    let failure = log::line(failure, &redactor);
    for tree in trees::present(dirs, main) {
        let state = dirs.tree(&tree.root);
        // An error is ignored: if the failure cannot be stored, other checks report the problem of the disk.
        let _ = inbox::failed(&state, &failure, now);
        let _ = log::append(
            &state,
            log::LineKind::Failure,
            std::slice::from_ref(&failure),
            &redactor,
            now,
        );
    }
}

fn note_warnings(dirs: &UserDirs, main: &Tree, warnings: &[String], now: Timestamp) {
    let redactor = redactor(dirs, main);
    for tree in trees::present(dirs, main) {
        let state = dirs.tree(&tree.root);
        // An error is ignored, because the sync itself was completed.
        let _ = log::append(&state, log::LineKind::Warning, warnings, &redactor, now);
    }
}

/// Returns the redactor for the log. It hides the same data as in other private files, including matches of the user's
/// own patterns.
fn redactor(dirs: &UserDirs, main: &Tree) -> Redactor {
    let (settings, _) = settings_file::load(dirs, Some(main));
    let known = Known::read_file(dirs, &dirs.project(main.project));
    Redactor::new(&RedactOptions { known, ..RedactOptions::for_store(&settings, false) })
}

/// Lowers the priority of this process, so that the user's programs run first.
fn step_back() {
    lower_priority();
    let threads = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    // An error is ignored: a thread pool that exists already is used.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_bound_of_time_and_one_of_memory() {
        let minute = Duration::from_secs(60);
        assert_eq!(overrun(Duration::ZERO, minute, Some(MEMORY_BYTES_MAX)), None);
        assert_eq!(overrun(Duration::ZERO, minute, None), None);
        let late = overrun(minute, minute, None).unwrap();
        assert!(late.contains("after 1 minutes"), "{late}");
        let large = overrun(Duration::ZERO, minute, Some(MEMORY_BYTES_MAX + 1)).unwrap();
        assert!(large.contains("4 GiB"), "{large}");
        let resident = resident_bytes();
        assert!(!cfg!(target_os = "linux") || resident.is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert!(guarded(|| Ok(())).is_ok());
        let number = Vec::<u8>::new().len();
        for (error, text) in [
            (guarded(|| panic!("on purpose")), "on purpose"),
            (guarded(|| panic!("{number} on purpose")), "0 on purpose"),
        ] {
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("a fault") && error.ends_with(text), "{error}");
        }
    }
}
