//! Clocks that are set back: because of an empty battery, a suspended virtual machine, or a file from another machine.
//! Files on the disk then have times in the future, and later files have earlier times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use journeys::hook_run::Moment;
use journeys::sample_project::{Sample, stories};

/// Times that are years before and years after the sample's clock.
const LONG_AGO: &str = "2021-01-01T00:00:00Z";
const FUTURE: Duration = Duration::from_secs(2_200_000_000);
const PAST: Duration = Duration::from_secs(1_000_000_000);

/// Sets the time of every file below a folder.
fn set_times(folder: &Path, to: SystemTime) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            set_times(&entry.path(), to);
        } else if entry.file_type().unwrap().is_file() {
            let file = fs::File::options().append(true).open(entry.path()).unwrap();
            file.set_modified(to).unwrap();
        }
    }
}

/// Returns the memories that a hook injects. The block about unfinished work is removed, because it depends on the
/// clock.
fn given_memories(sample: &Sample, moment: &Moment, session: &str) -> Vec<String> {
    let run = moment.run(&sample.environment, &sample.root, session).unwrap();
    assert_eq!(run.output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&run.output.stderr), "");
    run.context().lines().filter(|line| line.starts_with("- [")).map(str::to_owned).collect()
}

#[test]
fn a_clock_that_goes_back_loses_nothing_and_keeps_nothing_from_being_learned() {
    let sample = Sample::with_history().unwrap();
    sample.sync().unwrap();
    sample.run(&["review", "--accept-all"]).unwrap();
    sample.sync().unwrap();
    let prompt =
        Moment::prompt("Should the archive import insert from several threads in parallel?");
    assert!(!given_memories(&sample, &Moment::start("startup"), "before").is_empty());
    let wanted = given_memories(&sample, &prompt, "asked");
    assert!(!wanted.is_empty());
    let before = sample.memories().unwrap();

    // The files of index, journal, session state, receipts, ledger and transcripts have times in the future.
    for folder in [
        sample.environment.data_dir(),
        sample.environment.state_dir(),
        sample.environment.claude_dir(),
    ] {
        set_times(&folder, UNIX_EPOCH + FUTURE);
    }
    let Sample { environment, root } = sample;
    let sample = Sample { environment: environment.at(LONG_AGO), root };

    // A memory is not injected again into a continued session, but all memories are injected into a new one.
    assert_eq!(given_memories(&sample, &prompt, "asked"), Vec::<String>::new());
    assert_eq!(given_memories(&sample, &prompt, "new"), wanted);
    assert!(!given_memories(&sample, &Moment::start("startup"), "newer").is_empty());
    given_memories(&sample, &Moment::stop(), "new");
    assert_eq!(sample.environment.wait_until_quiet(), Vec::<String>::new());
    assert_eq!(sample.memories().unwrap(), before);

    // This transcript is older than the last one that was read.
    let mut story = stories().unwrap().remove(2);
    story.session = "c3000003-0000-4000-8000-000000000000".to_owned();
    let step = story.steps.iter_mut().find(|step| step["claude"].is_string()).unwrap();
    step["claude"] =
        "Decision: log lines go to the journal of systemd, because the Pi has no disk to \
                      fill."
            .into();
    let transcript = story.write(&sample.environment.claude_dir(), &sample.root).unwrap();
    let file = fs::File::options().append(true).open(transcript).unwrap();
    file.set_modified(UNIX_EPOCH + PAST).unwrap();
    sample.sync().unwrap();
    let after = sample.memories().unwrap();
    assert!(text(&after).contains("journal of systemd"), "{:?}", after.keys());
    let list = sample.run(&["list", "--forgotten", "--json"]).unwrap();
    assert_eq!(list.trim(), "[]");

    // A person edits a memory, and the file then has an earlier time than before.
    let name = after.keys().find(|name| text_of(&after, name).contains("busy_timeout")).unwrap();
    let short = name.to_str().unwrap().trim_end_matches(".md").rsplit('-').next().unwrap();
    let path = sample.memories_dir().join(name);
    let edited = fs::read_to_string(&path).unwrap() + "\nMeasured again by hand: zwieback.\n";
    fs::write(&path, &edited).unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(UNIX_EPOCH + PAST).unwrap();
    sample.sync().unwrap();
    assert!(sample.run(&["search", "zwieback"]).unwrap().contains(short));
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
}

fn text_of(files: &BTreeMap<PathBuf, Vec<u8>>, name: &Path) -> String {
    String::from_utf8_lossy(&files[name]).into_owned()
}

fn text(files: &BTreeMap<PathBuf, Vec<u8>>) -> String {
    files.keys().map(|name| text_of(files, name)).collect()
}
